"""Settings as frozen dataclasses whose fields carry description and bounds.

One definition serves the command line, YAML files and ROS parameters.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sightplan.model.errors import InputError
from sightplan.model.type_words import type_in_words

T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting's name, type, default, description and bounds."""

    name: str
    type: type
    default: Any
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    identity: bool = True
    auto: Any = None

    def value(self, given: Any) -> Any:
        """The value that is meant: the word ``auto`` stands for one where the setting has it."""
        return self.auto if given == 'auto' and self.auto is not None else given


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of a plugin that has none."""


def param(default: Any, description: str, *, low: float | None = None,
          high: float | None = None, choices: Sequence[str] | None = None,
          identity: bool = True, auto: Any = None) -> Any:
    """Declare a field of a settings dataclass with its description and bounds.

    Args:
        default: its default, which also gives its type.
        description: for people.
        low: least value.
        high: greatest value.
        choices: the only values.
        identity: whether results depend on it; a run may be resumed with another value of a
            setting that only says how fast, how patiently or how expensively it is done.
        auto: the value for which people write ``auto``; None: there is none.
    """
    metadata = {'description': description, 'low': low, 'high': high,
                'choices': tuple(choices) if choices else None, 'identity': identity,
                'auto': auto}
    if isinstance(default, (list, tuple)):
        default = tuple(default)
    return dataclasses.field(default=default, metadata=metadata)


def settings_fields(cls: type) -> tuple[SettingField, ...]:
    """Return the declared fields of a settings dataclass, in order, with types of defaults."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(
            SettingField(f.name, type(f.default), f.default, f.metadata['description'],
                         f.metadata['low'], f.metadata['high'], f.metadata['choices'],
                         f.metadata['identity'], f.metadata.get('auto'))
            for f in dataclasses.fields(cls) if 'description' in f.metadata)
    return _FIELDS[cls]


_FIELDS: weakref.WeakKeyDictionary[type, tuple[SettingField, ...]] = weakref.WeakKeyDictionary()
"""Cache of the setting fields of each class that was asked about."""


def picked(cls: type[T], source: object) -> T:
    """An object of a dataclass with those of its fields that another object has by name.

    Args:
        cls: whose fields are looked for; those that ``source`` lacks keep their defaults.
        source: such as the arguments of a command, or the settings of a plugin.
    """
    return cls(**{field.name: getattr(source, field.name)
                  for field in dataclasses.fields(cls)  # type: ignore[arg-type]
                  if hasattr(source, field.name)})


def identity_values(settings: Any) -> dict[str, Any]:
    """Return the values of the settings that results depend on, by name."""
    return {field.name: getattr(settings, field.name)
            for field in settings_fields(type(settings)) if field.identity}


def check_settings(settings: Any, source: str = '') -> None:
    """Check every field's type, bounds and choices.

    Args:
        settings: an instance of a settings dataclass.
        source: file or command the values came from, for the message.

    Raises:
        InputError: a value is of the wrong type or out of bounds; names field and bounds.
    """
    where = f'{source}: ' if source else ''
    for field in settings_fields(type(settings)):
        value = getattr(settings, field.name)
        wanted = (int, float) if field.type is float else field.type
        if not isinstance(value, wanted) or (isinstance(value, bool) and field.type is not bool):
            raise InputError(f'{where}{field.name} = {value!r} must be '
                             f'{type_in_words(field.type)} ({field.description})')
        if field.choices is not None and value not in field.choices:
            raise InputError(f'{where}{field.name} = {value!r} must be one of '
                             f'{", ".join(field.choices)} ({field.description})')
        problem = bounds_problem(field, value)
        if problem:
            raise InputError(f'{where}{field.name} = {value!r} {problem}')


def bounds_problem(field: SettingField, value: Any) -> str:
    """Return what is wrong with a number outside its setting's bounds; '' if it is within them."""
    if not isinstance(value, (int, float)) or (
            (field.low is None or value >= field.low)
            and (field.high is None or value <= field.high)):
        return ''
    bounds = ' and '.join(f'{words} {bound}' for words, bound in (
        ('at least', field.low), ('at most', field.high)) if bound is not None)
    return f'is out of bounds, it must be {bounds}: {field.description}'
