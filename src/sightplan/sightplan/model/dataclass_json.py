"""Dataclasses as plain JSON data, and back; pictures and other arrays by their ids.

One codec for queries, replies and events: texts, numbers, truth values, enumerations, tuples,
mappings, other dataclasses, and arrays. Where an array has to come with the data, the hook
``written_out`` writes it whole; such arrays are read wherever they stand.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sightplan.model.array_files import array_from_text, array_to_text
from sightplan.model.errors import InputError, SightplanError
from sightplan.model.perception import Observation
from sightplan.model.type_words import type_in_words

T = TypeVar('T')

Hook = Callable[[Any], Any]
"""Function that encodes or decodes the values of one class."""
NO_HOOKS: Mapping[Any, Hook] = {}

PICTURE, ARRAY, WRITTEN_OUT = 'image', 'array', 'npy'
"""JSON keys for the id of a picture, for the id of another array, and for an array itself."""


def is_picture(array: NDArray[Any]) -> bool:
    """Whether an array is a picture: (H, W, 3) uint8."""
    return array.dtype == np.uint8 and array.ndim == 3


class PictureElsewhere(np.ndarray[Any, Any]):
    """Placeholder, (0, 0, 3) uint8, of a picture of which only the id is known.

    Attributes:
        image_id: as ``Observation.image_id``.
    """

    image_id: str

    def __new__(cls, image_id: str) -> PictureElsewhere:
        """Return a placeholder for the picture with this id."""
        made = np.empty((0, 0, 3), np.uint8).view(cls)
        made.image_id = image_id
        return made


def picture_id(picture: NDArray[np.uint8]) -> str:
    """Return the id of a picture, as ``Observation.image_id`` computes it."""
    if isinstance(picture, PictureElsewhere):
        return picture.image_id
    return Observation(image=picture).image_id


def array_id(array: NDArray[Any]) -> str:
    """Hash of an array's shape, type and bytes, first 16 hex digits."""
    digest = hashlib.sha256(f'{array.shape} {array.dtype}'.encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def written_out(array: NDArray[Any]) -> dict[str, str]:
    """Return an array whole, as JSON data; a hook of ``encode``."""
    return {WRITTEN_OUT: array_to_text(array)}


def encode(value: Any, *, brief: bool = False, hooks: Mapping[Any, Hook] = NO_HOOKS) -> Any:
    """A value as plain JSON data.

    Args:
        value: see the module.
        brief: whether fields of dataclasses that have their defaults are left out.
        hooks: what writes the values of some classes, by class.
    """
    if type(value) in hooks:
        return hooks[type(value)](value)
    if value is None or isinstance(value, (str, bool)):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, np.ndarray):
        return ({PICTURE: picture_id(value)} if is_picture(value) else {ARRAY: array_id(value)})
    if isinstance(value, Mapping):
        return {str(name): encode(one, brief=brief, hooks=hooks) for name, one in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: encode(given, brief=brief, hooks=hooks)
                for one in _own_fields(type(value))
                if not (_is_default(given := getattr(value, one.name), one) and brief)}
    if isinstance(value, (Sequence, frozenset, set)):
        items = value if isinstance(value, Sequence) else sorted(value)
        return [encode(one, brief=brief, hooks=hooks) for one in items]
    raise TypeError(f'{type(value).__name__} cannot be written as JSON')


@functools.cache
def _own_fields(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    """Return the public fields of a dataclass that its constructor takes."""
    return tuple(one for one in dataclasses.fields(kind)
                 if one.init and not one.name.startswith('_'))


def _is_default(value: Any, of: dataclasses.Field[Any]) -> bool:
    if of.default is not dataclasses.MISSING:
        return value is of.default or (type(value) is type(of.default) and value == of.default)
    if of.default_factory is not dataclasses.MISSING:
        made = of.default_factory()
        return type(value) is type(made) and isinstance(made, (dict, list, tuple)) and (
            not value and not made)
    return False


def no_picture(name: str) -> NDArray[Any]:
    """Raise the error for a picture that cannot be looked up.

    Raises:
        InputError: always.
    """
    raise InputError(f'picture {name} is not at hand')


def decode(kind: type[T], data: Any, picture: Callable[[str], NDArray[Any]] = no_picture, *,
           hooks: Mapping[Any, Hook] = NO_HOOKS, complete: bool = False) -> T:
    """A value of a type from plain JSON data.

    Args:
        kind: its class, or another type such as ``int | None``.
        data: what ``encode`` gives.
        picture: finds a picture, or another array, by its id.
        hooks: what reads the values of some classes, by class.
        complete: whether fields of dataclasses that have defaults must be there, too.

    Raises:
        InputError: the data is of another form; names the field.
    """
    where = getattr(kind, '__name__', str(kind))
    return cast(T, _Decoder(picture, hooks, complete).read(kind, data, where))


@functools.cache
def _fields(kind: type) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((one, hints[one.name]) for one in _own_fields(kind))


class _Decoder:
    """Reads values by their types; arguments as of ``decode``."""

    def __init__(self, picture: Callable[[str], NDArray[Any]], hooks: Mapping[Any, Hook],
                 complete: bool) -> None:
        self._picture, self._hooks, self._complete = picture, hooks, complete

    def read(self, kind: Any, data: Any, where: str) -> Any:
        origin, parts = get_origin(kind), get_args(kind)
        if kind is Any:
            return data
        if kind in self._hooks:
            return self._by_hook(kind, data, where)
        if origin in (Union, types.UnionType):
            return self._one_of(parts, data, where)
        if origin is np.ndarray or kind is np.ndarray:
            return self._array(data, where)
        if origin is Literal:
            if data not in parts:
                raise _wrong(where, f'one of {", ".join(map(repr, parts))}', data)
            return data
        if origin is tuple:
            return self._tuple(parts, data, where)
        if origin in (list, Sequence, frozenset):
            items = self._list(data, where)
            return (frozenset if origin is frozenset else list)(
                self.read(parts[0], one, where) for one in items)
        if origin in (dict, Mapping):
            if not isinstance(data, Mapping):
                raise _wrong(where, 'a mapping', data)
            return {self.read(parts[0], name, where): self.read(parts[1], one, f'{where}.{name}')
                    for name, one in data.items()}
        if dataclasses.is_dataclass(kind):
            return self._dataclass(cast(type, kind), data, where)
        return _plain(kind, data, where)

    def _by_hook(self, kind: Any, data: Any, where: str) -> Any:
        try:
            return self._hooks[kind](data)
        except (KeyError, TypeError, ValueError, AttributeError, SightplanError) as error:
            raise InputError(f'{where}: {error!r}') from error

    def _one_of(self, parts: Sequence[Any], data: Any, where: str) -> Any:
        if data is None and type(None) in parts:
            return None
        kinds = [part for part in parts if part is not type(None)]
        for part in kinds[:-1]:
            try:
                return self.read(part, data, where)
            except InputError:
                continue
        return self.read(kinds[-1], data, where)

    def _array(self, data: Any, where: str) -> NDArray[Any]:
        if isinstance(data, Mapping) and len(data) == 1:
            [(key, name)] = data.items()
            if key in (PICTURE, ARRAY) and isinstance(name, str):
                return self._picture(name)
            if key == WRITTEN_OUT and isinstance(name, str):
                try:
                    return array_from_text(name)
                except ValueError as error:
                    raise InputError(f'{where}: {error}') from error
        raise _wrong(where, f'the id of a picture, {{"{PICTURE}": ...}}', data)

    def _list(self, data: Any, where: str) -> list[Any]:
        if not isinstance(data, (list, tuple)):
            raise _wrong(where, 'a list', data)
        return list(data)

    def _tuple(self, parts: Sequence[Any], data: Any, where: str) -> tuple[Any, ...]:
        items = self._list(data, where)
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(self.read(parts[0], one, f'{where}[{number}]')
                         for number, one in enumerate(items))
        if len(items) != len(parts):
            raise _wrong(where, f'a list of {len(parts)}', data)
        return tuple(self.read(part, one, f'{where}[{number}]')
                     for number, (part, one) in enumerate(zip(parts, items, strict=True)))

    def _dataclass(self, kind: type, data: Any, where: str) -> Any:
        if not isinstance(data, Mapping):
            raise _wrong(where, 'a mapping of fields', data)
        known = _fields(kind)
        names = [one.name for one, _ in known]
        if unknown := sorted(set(data) - set(names)):
            raise InputError(f'{where}: has no field {unknown[0]!r} (known: {", ".join(names)})')
        if self._complete and (missing := [name for name in names if name not in data]):
            raise InputError(f'{where}: the field {missing[0]!r} is missing')
        values = {one.name: self.read(hint, data[one.name], f'{where}.{one.name}')
                  for one, hint in known if one.name in data}
        try:
            return kind(**values)
        except SightplanError as error:
            raise InputError(f'{where}: {error}') from error
        except (TypeError, ValueError) as error:
            raise InputError(f'{where}: {error}') from error


def _plain(kind: Any, data: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(data)
        except ValueError:
            raise _wrong(where, f'one of {", ".join(str(one.value) for one in kind)}',
                         data) from None
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind in (str, int, float, bool) and type(data) is kind:
        return data
    raise _wrong(where, type_in_words(kind), data)


def _wrong(where: str, wanted: str, data: Any) -> InputError:
    return InputError(f'{where} must be {wanted}, not {str(data)[:60]!r}')
