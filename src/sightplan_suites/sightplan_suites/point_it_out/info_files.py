"""Reader of published result folders, which can execute nothing.

The release keeps the answers to an item in ``<s1|s2|s3>/<run>/<tag>/info.npy``, which NumPy 1
pickled. For s1 and s2 it is an object array of dictionaries, one for each model that was asked:
``ans`` is its answer in unit coordinates, x first, ``vlm_name`` its name. For s3 it is an object
array of the points of one trace, objects of the release's class ``vlms.base.Point_Float``, and the
run's folder alone names the model. The tag is the item's index + 1.

A pickle is a program. Here only its instructions that build plain data are carried out
(``_Machine``), with bounds on sizes; of names it may look up those with which NumPy builds
arrays, and those of the release's points, and gets classes of this module instead, which keep
what they are handed. Only such arrays and points are given a state, and only texts are keys.
Bytes become numbers where the answer needs them, and nowhere else.
"""

from __future__ import annotations

import ast
import math
import pickletools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from sightplan.model import InputError
from sightplan.queries.coordinates import Coordinates
from sightplan_suites.point_it_out.official import PLACES, TRACES
from sightplan_suites.point_it_out.predictions import Prediction

NAME = 'info.npy'
STAGES = ('s1', 's2', 's3')
MOST_BYTES = 64 * 2**20
MOST_INSTRUCTIONS = 1_000_000
MOST_ANSWERS = 1000
"""Dictionaries in one file, and numbers in one answer."""
_MOST_DEPTH = 8
_MOST_HEADER = 10_000

_MAGIC = b'\x93NUMPY'
_LITERALS = frozenset((
    'INT', 'BININT', 'BININT1', 'BININT2', 'LONG1', 'FLOAT', 'BINFLOAT', 'UNICODE', 'BINUNICODE',
    'SHORT_BINUNICODE', 'BINBYTES', 'SHORT_BINBYTES'))
"""Instructions that put their argument on the stack."""
_CONSTANTS: Mapping[str, Any] = {'NONE': None, 'NEWTRUE': True, 'NEWFALSE': False,
                                 'EMPTY_TUPLE': ()}
_KINDS = {f'{kind}{size}': np.dtype(f'{kind}{size}') for kind, sizes in {
    'f': (2, 4, 8), 'i': (1, 2, 4, 8), 'u': (1, 2, 4, 8), 'b': (1,)}.items() for size in sizes}
"""Admitted data types of numbers, by the names that pickles use."""


class RefusedError(InputError):
    """A file holds more than numbers, texts, lists and dictionaries, or is damaged."""


# ------------------------------------------------------------------------- building plain data


class _Array:
    """State of a pickled array; see ``numpy.ndarray.__setstate__``."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = None

    def set_state(self, state: Any) -> None:
        """Keep version, shape, kind of numbers, whether columns come first, and content."""
        self.state = state


class _Dtype:
    """State of a pickled data type; see ``numpy.dtype.__reduce__``."""

    def __init__(self, name: Any, *_: Any) -> None:
        if type(name) is not str:
            raise RefusedError('it has a kind of numbers without a name')
        self.name, self.order = name, '='

    def set_state(self, state: Any) -> None:
        """Keep the byte order; refuse structures, subarrays and dates."""
        # Version, byte order, and what those have besides.
        if not (isinstance(state, tuple) and len(state) == 8 and isinstance(state[1], str)
                and all(part is None for part in state[2:5])):
            raise RefusedError('it has a kind of numbers that is not plain')
        self.order = state[1]


class _Scalar:
    """A pickled number: its data type and its bytes."""

    def __init__(self, kind: Any, content: Any) -> None:
        self.kind, self.content = kind, content


class _Point:
    """A point of a trace: the state of a pydantic model with fields ``x`` and ``y``."""

    def __init__(self, *_: Any) -> None:
        self.pair: tuple[Any, Any] | None = None

    def set_state(self, state: Any) -> None:
        """Keep x and y; all else that pydantic keeps beside the fields is left alone."""
        fields = state.get('__dict__', state) if isinstance(state, dict) else None
        if not isinstance(fields, dict) or not {'x', 'y'} <= set(fields):
            raise RefusedError('it has a point without x and y')
        self.pair = fields['x'], fields['y']


@dataclass(frozen=True, slots=True)
class _Builder:
    """Stands for a function or class that a pickle may name."""

    build: Callable[..., Any]


_POINT_CLASSES = ('Point', 'Point_Float', 'Point_Int')
"""The release's classes of points, of its module ``vlms.base``."""
_POINT, _SET = _Builder(_Point), _Builder(list)
_RECONSTRUCT, _SCALAR, _DTYPE, _NDARRAY = map(_Builder, (_Array, _Scalar, _Dtype, _Array))
_NAMES: Mapping[tuple[str, str], _Builder] = {
    **{(f'numpy.{core}.multiarray', name): builder for core in ('core', '_core')
       for name, builder in (('_reconstruct', _RECONSTRUCT), ('scalar', _SCALAR))},
    ('numpy', 'ndarray'): _NDARRAY, ('numpy', 'dtype'): _DTYPE,
    **{('vlms.base', name): _POINT for name in _POINT_CLASSES},
    **{(module, 'set'): _SET for module in ('builtins', '__builtin__')}}
"""Global names that a pickle may use, and their stand-ins."""


class _Machine:
    """Interpreter of those instructions of a pickle that build plain data; it imports nothing.

    Python's own unpickler is not used: it would call whatever it finds, take memory for all slots
    below a great number, and hash whatever stands where a key should be.
    """

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._slots: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        """Carry out a pickle's instructions and return the object that it builds.

        Raises:
            RefusedError: it has an instruction that is not admitted, or too many.
            Exception: of any kind: it is damaged.
        """
        for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            if count >= MOST_INSTRUCTIONS:
                raise RefusedError(f'it has more than {MOST_INSTRUCTIONS} instructions')
            self._carry_out(instruction.name, argument)
        return self._stack.pop()

    def _carry_out(self, name: str, argument: Any) -> None:
        stack = self._stack
        match name:
            case 'PROTO' | 'FRAME' | 'STOP':
                pass
            case _ if name in _LITERALS:
                stack.append(argument)
            case _ if name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            case 'EMPTY_LIST' | 'EMPTY_DICT' | 'EMPTY_SET':
                stack.append({} if name == 'EMPTY_DICT' else [])
            case 'MARK':
                self._marks.append(len(stack))
            case 'POP':
                stack.pop()
            case 'TUPLE' | 'LIST':
                values = self._since_mark()
                stack.append(tuple(values) if name == 'TUPLE' else values)
            case 'TUPLE1' | 'TUPLE2' | 'TUPLE3':
                stack.append(tuple(self._last(int(name[-1]))))
            case 'APPEND' | 'APPENDS' | 'ADDITEMS':
                self._extend(self._last(1) if name == 'APPEND' else self._since_mark())
            case 'SETITEM' | 'SETITEMS':
                self._set(self._last(2) if name == 'SETITEM' else self._since_mark())
            case 'PUT' | 'BINPUT' | 'LONG_BINPUT':
                self._slots[int(argument)] = stack[-1]
            case 'MEMOIZE':
                self._slots[len(self._slots)] = stack[-1]
            case 'GET' | 'BINGET' | 'LONG_BINGET':
                stack.append(self._slots[int(argument)])
            case 'GLOBAL':
                stack.append(_named(*argument.split(' ', 1)))
            case 'STACK_GLOBAL':
                stack.append(_named(*self._last(2)))
            case 'REDUCE' | 'NEWOBJ':
                self._call(*self._last(2))
            case 'BUILD':
                self._build(*self._last(1))
            case _:
                raise RefusedError(f'it has the instruction {name}')

    def _last(self, count: int) -> list[Any]:
        """Take some from the stack."""
        if len(self._stack) - (self._marks[-1] if self._marks else 0) < count:
            raise RefusedError('its pickle is damaged (too little on the stack)')
        values = self._stack[-count:]
        del self._stack[-count:]
        return values

    def _since_mark(self) -> list[Any]:
        """Take all above the last mark."""
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def _extend(self, values: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            raise RefusedError('it appends to something that is not a list')
        self._stack[-1].extend(values)

    def _set(self, entries: list[Any]) -> None:
        """Add keys and values, one after another, to the dictionary on top."""
        if type(self._stack[-1]) is not dict or not all(type(key) is str for key in entries[::2]):
            raise RefusedError('it has a dictionary whose keys are not texts')
        self._stack[-1].update(zip(entries[::2], entries[1::2], strict=True))

    def _call(self, function: Any, arguments: Any) -> None:
        if not isinstance(function, _Builder) or type(arguments) is not tuple:
            raise RefusedError('it calls something that builds neither array nor point')
        self._stack.append(function.build(*arguments))

    def _build(self, state: Any) -> None:
        built = self._stack[-1]
        if not isinstance(built, (_Array, _Dtype, _Point)):
            raise RefusedError('it gives a state to something that has none')
        built.set_state(state)


def _named(module: Any, name: Any) -> Any:
    """Stand-in for a global name of a pickle.

    Raises:
        RefusedError: it is none of those that arrays of numbers and points of traces need.
    """
    if type(module) is not str or type(name) is not str or (module, name) not in _NAMES:
        raise RefusedError(f'it names {str(module)[:80]}.{str(name)[:80]}, which neither an '
                           'array of numbers nor a point of a trace needs')
    return _NAMES[module, name]


def unpickled(content: bytes) -> Any:
    """Plain data of a pickle; arrays stay the state that the pickle holds of them.

    Raises:
        RefusedError: it is damaged, or does more than build plain data.
    """
    try:
        return _Machine().run(content)
    except RefusedError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise RefusedError(f'its pickle is damaged ({type(error).__name__}: {error})') from error


# ---------------------------------------------------------------------------------- the files


def read_info(path: Path) -> list[Mapping[str, Any]]:
    """The dictionaries of an ``info.npy``; their numbers may still be bytes, see ``numbers_of``.

    An array of a trace's points becomes a dictionary with these points as ``ans``.

    Raises:
        RefusedError: it is too large, damaged, or an array neither of dictionaries nor of points.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RefusedError(f'{path}: has more than {MOST_BYTES} bytes')
        content = path.read_bytes()
    except OSError as error:
        raise RefusedError(f'{path}: cannot be read ({error.strerror})') from error
    try:
        return _dictionaries(content)
    except RefusedError as error:
        raise RefusedError(f'{path}: {error}; only object arrays of dictionaries of plain data, '
                           'or of the points of a trace, are read') from error


def _dictionaries(content: bytes) -> list[Mapping[str, Any]]:
    shape, start = _header(content)
    array = unpickled(content[start:])
    if not isinstance(array, _Array):
        raise RefusedError('its pickle is not an array')
    values = _objects(array)
    if len(values) != math.prod(shape):
        raise RefusedError('it has not as many elements as its head says')
    points = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if points and all(isinstance(value, _Point) for value in points):
        return [{'ans': points}]
    if not all(isinstance(value, dict) for value in values):
        raise RefusedError('its elements are neither all dictionaries nor all points')
    return cast(list[Mapping[str, Any]], values)


def _header(content: bytes) -> tuple[tuple[int, ...], int]:
    """Shape of an object array, and where its pickle begins (NumPy's format, version 1 or 2)."""
    width = {b'\1\0': 2, b'\2\0': 4}.get(content[6:8])
    if content[:6] != _MAGIC or width is None:
        raise RefusedError('it is not a NumPy file of version 1 or 2')
    start = 8 + width
    length = int.from_bytes(content[8:start], 'little')
    if length > _MOST_HEADER or start + length > len(content):
        raise RefusedError('its head is damaged')
    try:
        head = ast.literal_eval(content[start:start + length].decode('latin1').strip())
        shape, kind = head['shape'], head['descr']
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise RefusedError(f'its head is damaged ({error})') from error
    if kind not in ('|O', 'O') or not isinstance(shape, tuple) or len(shape) > 2 or not all(
            type(size) is int and 0 <= size <= MOST_ANSWERS for size in shape) or not (
            0 < math.prod(shape) <= MOST_ANSWERS):
        raise RefusedError(f'it holds {kind!r} of shape {shape!r}, not up to {MOST_ANSWERS} '
                           'objects')
    return shape, start + length


def _objects(array: _Array) -> Sequence[Any]:
    """The elements of an object array."""
    _, kind, content = _state(array)
    if kind.name not in ('O', 'O8') or not isinstance(content, list):
        raise RefusedError('it is not an object array')
    return content


def _state(array: _Array) -> tuple[tuple[int, ...], _Dtype, Any]:
    """Shape, kind and content of an array."""
    state = array.state
    if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[1], tuple)
            and isinstance(state[2], _Dtype) and len(state[1]) <= _MOST_DEPTH
            and all(type(size) is int and size >= 0 for size in state[1])):
        raise RefusedError('an array of it is damaged')
    return state[1], state[2], state[4]


def numbers_of(value: Any) -> list[tuple[float, ...]]:
    """Rows of numbers: of a list of rows, or of one row.

    Args:
        value: numbers in lists, tuples and arrays, as ``read_info`` gives them.

    Raises:
        RefusedError: it holds something else, or too much.
    """
    plain = _plain(value, [MOST_ANSWERS], 0)
    if not isinstance(plain, list):
        raise RefusedError('the answer is a single number')
    rows = plain if all(isinstance(row, list) for row in plain) else [plain]
    if not all(isinstance(number, float) for row in rows for number in row):
        raise RefusedError('the answer is not a list of numbers, or of rows of numbers')
    return [tuple(row) for row in rows]


def _plain(value: Any, left: list[int], depth: int) -> Any:
    """Numbers as floats, everything else as lists; ``left`` limits the number of values."""
    left[0] -= 1
    if left[0] < 0 or depth > _MOST_DEPTH:
        raise RefusedError(f'the answer has more than {MOST_ANSWERS} parts')
    if isinstance(value, _Array):
        value = _array(value)
    elif isinstance(value, _Scalar):
        value = _decoded(value.kind, value.content, 1)[0]
    elif isinstance(value, _Point):
        value = value.pair
    if isinstance(value, (list, tuple)):
        return [_plain(part, left, depth + 1) for part in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise RefusedError('a number of the answer is too large') from error
    raise RefusedError(f'the answer holds {type(value).__name__.lstrip("_")}')


def _array(array: _Array) -> Any:
    """The elements of an array as nested lists."""
    shape, kind, content = _state(array)
    count = math.prod(shape)
    if count > MOST_ANSWERS or (count == 0 and shape != (0,)) or len(shape) > 2:
        raise RefusedError(f'an array of the answer has the shape {shape}')
    if isinstance(content, list):
        values = list(_objects(array))
        if len(values) != count:
            raise RefusedError('an array of the answer is damaged')
    else:
        values = _decoded(kind, content, count)
    if not shape:
        return values[0]
    if len(shape) == 1:
        return values
    by_column = array.state[3] and not isinstance(content, list)  # objects never are
    rows, columns = shape
    return [[values[column * rows + row if by_column else row * columns + column]
             for column in range(columns)] for row in range(rows)]


def _decoded(kind: Any, content: Any, count: int) -> list[Any]:
    """Numbers that bytes hold, by their data type."""
    known = _KINDS.get(kind.name) if isinstance(kind, _Dtype) else None
    if known is None or not isinstance(content, bytes) or len(content) != known.itemsize * count:
        raise RefusedError('numbers of the answer are damaged, or of no plain kind')
    if kind.order == '>':
        known = known.newbyteorder('>')
    return cast(list[Any], np.frombuffer(content, known).tolist())


# ----------------------------------------------------------------------------------- importing


def import_results(folder: Path, run: str = '', model: str = '',
                   ) -> tuple[list[Prediction], list[dict[str, str]]]:
    """The answers of published result folders as predictions, of one model.

    Args:
        folder: is searched with all folders below it.
        run: only folders of this run; '': all.
        model: only answers of this model, by ``vlm_name``; '': the only one that is named, and
            those that name none, which are called like their run.

    Returns:
        the predictions, by id; and what was skipped: ``file`` and ``reason``.

    Raises:
        InputError: there is no such folder, it holds no such files, the answers are of several
            models or none is of the one that is wanted (names them), or two files answer one item.
    """
    if not folder.is_dir():
        raise InputError(f'{folder}: is not a folder; name one with published results')
    files = sorted(path for path in folder.rglob(NAME) if _stage(path) and run in ('', _run(path)))
    if not files:
        raise InputError(f'{folder}: holds no {"|".join(STAGES)}/{run or "RUN"}/TAG/{NAME}; name '
                         'the folder above them')
    answers: list[tuple[Path, str, Prediction]] = []
    skipped = []
    for path in files:
        try:
            answers += [(path, name, prediction) for name, prediction in _predictions(path)]
        except InputError as error:
            skipped.append({'file': str(path),
                            'reason': str(error).removeprefix(f'{path}: ')})
    names = sorted({name for _, name, _ in answers if name})
    if len(names) > 1 and not model:
        raise InputError(f'{folder}: holds answers of several models: {", ".join(names)}; choose '
                         'one with --model NAME, and import each into a file of its own')
    if model and model not in names:
        raise InputError(f'{folder}: holds no answer of model {model!r} (it has '
                         f'{", ".join(names) or "none that is named"})')
    found: dict[str, tuple[Path, Prediction]] = {}
    for path, name, prediction in answers:
        if model and not name:
            skipped.append({'file': str(path), 'reason': 'names no model, so that it is not '
                            f'known to be of {model}'})
        elif name in ('', model or name):
            if prediction.id in found:
                raise InputError(f'{path}: answers {prediction.id}, and so does '
                                 f'{found[prediction.id][0]}; choose one of the runs with --run '
                                 'NAME')
            found[prediction.id] = path, prediction
    return [prediction for _, prediction in sorted(
        found.values(), key=lambda pair: _order(pair[1].id))], skipped


def _stage(path: Path) -> str:
    """The stage that a file belongs to, '' for none."""
    return path.parts[-4] if len(path.parts) > 3 and path.parts[-4] in STAGES else ''


def _run(path: Path) -> str:
    return path.parts[-3]


def _order(name: str) -> tuple[str, int]:
    kind, _, index = name.partition('/')
    return kind, int(index)


def _predictions(path: Path) -> list[tuple[str, Prediction]]:
    """The answer of each model to one item, with the model's name, '' if none is named.

    Raises:
        RefusedError: the file cannot be used, or does not tell whose of several answers are.
    """
    tag, stage = path.parent.name, _stage(path)
    if not re.fullmatch(r'[1-9][0-9]{0,8}', tag):
        raise RefusedError(f'{path}: its folder {tag!r} is not a number from 1')
    kind = TRACES if stage == 's3' else PLACES
    entries = read_info(path)
    names = [name if isinstance(name := entry.get('vlm_name'), str) else '' for entry in entries]
    if len(entries) > 1 and (not all(names) or len(set(names)) < len(names)):
        raise RefusedError(f'{path}: it has {len(entries)} answers, and "vlm_name" does not '
                           f'distinguish them ({", ".join(map(repr, names))})')
    return [(name, _prediction(path, f'{kind}/{int(tag) - 1}', kind, name or _run(path), entry))
            for name, entry in zip(names, entries, strict=True)]


def _prediction(path: Path, item: str, kind: str, model: str, entry: Mapping[str, Any],
                ) -> Prediction:
    """Prediction of one entry; ``kind`` says whether its item asks for a place or for a trace."""
    if 'ans' not in entry:
        raise RefusedError('a dictionary of it has no "ans"')
    rows = numbers_of(entry['ans'])
    widths = {len(row) for row in rows}
    fields: dict[str, Any]
    if not rows or (widths != {2} and (widths != {4} or kind == TRACES)):
        raise RefusedError(f'{path}: ans has rows of {sorted(widths)} numbers; a point has 2, a '
                           'box of s1 and s2 has 4')
    if kind == TRACES:
        fields = {'trace': tuple(rows)}
    else:
        fields = {'boxes' if widths == {4} else 'points': tuple(rows)}
    text = entry.get('lang')
    return Prediction(id=item, coordinates=Coordinates.UNIT_XY, model=model,
                      text=text if isinstance(text, str) else '', **fields)
