"""Command-line flags made from a dataclass, so that a setting is described once.

A command declares its arguments as a frozen dataclass whose fields come from ``option``,
``argument``, ``option_like`` or ``sightplan.model.param``; the annotation of a field says what is
read: ``bool``, ``int``, ``float``, ``str``, ``Path``, ``X | None`` for what may be left out, and
``tuple[X, ...]`` for what may be repeated, and
``Literal`` for a choice. ``add_flags`` makes the flags, ``read_flags`` the
object.

Why argparse and no library on top of it: tyro prints an error as a box of eight lines that names
no remedy, pydantic-settings ends with a traceback and exit code 1 for a wrong choice, neither
reads choices that are known only at run time, and each costs the core a dependency.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, Union

from sightplan.model import InputError, SightplanError, did_you_mean, param
from sightplan.model.plugins import not_installed
from sightplan.model.settings import SettingField, bounds_problem, settings_fields

Choices = Sequence[str] | Callable[[], Sequence[str]]
"""The only values of a flag, or a function that lists them when the flag is made."""

_T = TypeVar('_T')


@dataclass(frozen=True, slots=True)
class Flag:
    """The command-line form of a field.

    Attributes:
        metavar: what stands for the value, or for each of several, in the help text; '': by the
            annotation.
        names: further names, such as ``-s``.
        group: heading below which the help text lists it; '': none.
        positional: whether it is written without a name.
        listed: whether several values may follow the name at once, instead of one each time.
        exclusive: flags of a command with the same word here exclude each other.
        choices: the only values; None: any.
        read: turns the text into the value; raises InputError. None: by the annotation.
    """

    metavar: str | tuple[str, ...] = ''
    names: tuple[str, ...] = ()
    group: str = ''
    positional: bool = False
    listed: bool = False
    exclusive: str = ''
    choices: Choices | None = None
    read: Callable[[str], Any] | None = None


def option(default: Any, description: str, *, low: float | None = None, high: float | None = None,
           choices: Choices | None = None, metavar: str | tuple[str, ...] = '',
           names: Sequence[str] = (),
           group: str = '', listed: bool = False, exclusive: str = '',
           read: Callable[[str], Any] | None = None) -> Any:
    """Declare a field that is a flag ``--name``.

    Args:
        default: its default; ``dataclasses.MISSING``: it must be given.
        description: for the help text; the default is added to it unless it says "default".
        low: least value.
        high: greatest value.
        choices: see ``Flag``, as the others are.
        metavar: see ``Flag``.
        names: see ``Flag``.
        group: see ``Flag``.
        listed: see ``Flag``.
        exclusive: see ``Flag``.
        read: see ``Flag``.
    """
    return _field(default, description, low, high, Flag(
        metavar, tuple(names), group, False, listed, exclusive, choices, read))


def argument(description: str, *, default: Any = dataclasses.MISSING, metavar: str = '',
             choices: Choices | None = None, low: float | None = None, high: float | None = None,
             group: str = '', exclusive: str = '',
             read: Callable[[str], Any] | None = None) -> Any:
    """Declare a field that is written without a name; see ``option`` for the arguments."""
    return _field(default, description, low, high, Flag(
        metavar, (), group, True, True, exclusive, choices, read))


def option_like(cls: type, name: str, *, default: Any = None, **flag: Any) -> Any:
    """Declare a flag that sets a field of another settings dataclass.

    Args:
        cls: that dataclass.
        name: of its field, which gives description, bounds, choices and default.
        default: another default; None: the field's own.
        **flag: attributes of ``Flag``.
    """
    (found,) = (field for field in settings_fields(cls) if field.name == name)
    flag.setdefault('choices', found.choices)
    return _field(found.default if default is None else default, found.description, found.low,
                  found.high, Flag(**flag))


REQUIRED: Any = dataclasses.MISSING
"""Default of a flag that must be given."""


def _field(default: Any, description: str, low: float | None, high: float | None,
           flag: Flag) -> Any:
    described = param(default, description, low=low, high=high)
    metadata = {**described.metadata, 'flag': flag}
    if default is REQUIRED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=described.default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class _Read:
    """The content of a field's annotation.

    Attributes:
        type: type of the value, or of each value.
        many: whether there are several values.
        count: number of values; None: any number.
        choices: the only values of a ``Literal``; None: any.
    """

    type: type
    many: bool = False
    count: int | None = None
    choices: tuple[str, ...] | None = None


def _annotated(hint: Any) -> _Read:
    if typing.get_origin(hint) in (Union, types.UnionType):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is typing.Literal:
        return _Read(str, choices=typing.get_args(hint))
    if typing.get_origin(hint) is not tuple:
        return _Read(hint)
    parts = typing.get_args(hint)
    return _Read(parts[0], True, None if parts[1:] == (...,) else len(parts))


def add_flags(parser: argparse.ArgumentParser, cls: type) -> None:
    """Add a flag for every described field of a settings dataclass."""
    hints = typing.get_type_hints(cls)
    groups: dict[str, Any] = {'': parser}
    exclusive: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if 'description' not in field.metadata:
            continue
        flag: Flag = field.metadata.get('flag') or Flag(choices=field.metadata['choices'])
        if flag.group not in groups:
            groups[flag.group] = parser.add_argument_group(flag.group)
        where = groups[flag.group]
        if flag.exclusive:
            if flag.exclusive not in exclusive:
                exclusive[flag.exclusive] = where.add_mutually_exclusive_group()
            where = exclusive[flag.exclusive]
        _add(where, field, flag, _annotated(hints[field.name]))


def _add(where: Any, field: dataclasses.Field[Any], flag: Flag, read: _Read) -> None:
    required = field.default is dataclasses.MISSING
    default = None if required else field.default
    words: dict[str, Any] = {'help': _help(field.metadata['description'], default)}
    if read.type is bool:
        words['action'] = 'store_true' if default is False else argparse.BooleanOptionalAction
    else:
        words['type'] = _reader(flag.read or read.type)
        choices = (flag.choices() if callable(flag.choices) else flag.choices) or read.choices
        if flag.metavar or choices is None:
            words['metavar'] = flag.metavar or (
                field.name.upper() if flag.positional
                else _METAVARS.get(read.type, field.name.upper()))
        if choices is not None:
            words['choices'] = tuple(map(_text, choices))
    if read.many:
        if flag.listed or read.count:
            words['nargs'] = read.count or ('+' if required or not flag.positional else '*')
        if not flag.positional and not read.count:
            words['action'] = 'extend' if flag.listed else 'append'
    elif flag.positional and not required:
        words['nargs'] = '?'
    if flag.positional:
        if not required:
            words['default'] = None  # else argparse calls one with nargs '*' required
        where.add_argument(field.name, **words)
    else:
        names = sorted((*flag.names, flag_name(field)), key=lambda name: name.startswith('--'))
        where.add_argument(*names, dest=field.name, required=required,
                           default=argparse.SUPPRESS, **words)  # the dataclass has the default


_METAVARS: dict[type, str] = {int: 'N', float: 'X', Path: 'PATH'}
"""Placeholders of the help text, such as N for a number, by type."""


def _text(choice: Any) -> str:
    return str(choice.value if isinstance(choice, enum.Enum) else choice)


def flag_name(field: dataclasses.Field[Any]) -> str:
    """Return a field's name on the command line: ``--name``, or the metavar of a positional."""
    flag: Flag = field.metadata.get('flag') or Flag()
    if not flag.positional:
        return f'--{field.name.replace("_", "-")}'
    return flag.metavar if flag.metavar and isinstance(flag.metavar, str) else field.name.upper()


def _help(description: str, default: Any) -> str:
    """Return the help text, with the default value where it is informative."""
    text = description.replace('%', '%%')
    says = isinstance(default, (int, float, str)) and not isinstance(default, bool) and (
        default != '') and not (default == 0 and '0:' in text) and 'default' not in text
    if not says:
        return text
    shown = f'{default:g}' if isinstance(default, float) else str(default).replace('%', '%%')
    return f'{text} (default: {shown})'


def _reader(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except SightplanError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    read.__name__ = getattr(kind, '__name__', 'value')  # argparse says "invalid int value"
    return read


def read_flags(cls: type[_T], found: argparse.Namespace) -> _T:
    """The settings that the flags of ``add_flags`` were given.

    A field ``given`` of the dataclass gets the names of the fields that were given a value.

    Raises:
        InputError: a value is out of bounds; names flag, value and bounds.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        value = getattr(found, field.name, None)
        if value is not None:
            values[field.name] = tuple(value) if isinstance(value, list) else value
            _check(field, values[field.name])
    if any(field.name == 'given' for field in dataclasses.fields(cls)):  # type: ignore[arg-type]
        values['given'] = frozenset(values)
    return cls(**values)


def settings_of(parsed: argparse.Namespace) -> Any:
    """The settings of the command that a command line names, see ``frame.add_command``.

    Raises:
        InputError: a value is out of bounds; names flag, value and bounds.
    """
    return read_flags(parsed.command_settings, parsed)


def _check(field: dataclasses.Field[Any], value: Any) -> None:
    name = flag_name(field)
    for one in value if isinstance(value, tuple) else (value,):
        problem = bounds_problem(SettingField(
            name, type(one), None, field.metadata['description'], field.metadata['low'],
            field.metadata['high']), one)
        if problem:
            raise InputError(f'{name} {one} {problem}')


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the flag or value that was probably meant."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(2, f'{self.prog}: {message} ("{self.prog} --help" tells more)\n')

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments; an unknown one is an error that names the probable flag."""
        found, left = self.parse_known_args(args, namespace)
        if left:
            self.refuse(found, left)
        return found

    def refuse(self, found: argparse.Namespace, left: Sequence[str]) -> NoReturn:
        """End with exit code 2, because of arguments that no command takes."""
        parser: argparse.ArgumentParser = getattr(found, 'command_parser', self)
        known = [name for action in parser._actions for name in action.option_strings]
        named = [action.dest for action in parser._actions if action.metavar == 'NAME:=VALUE']
        hints = [did_you_mean(word.partition('=')[0], known) for word in left
                 if word.startswith('-')]
        hints += [f'; arguments of a graph have no dashes: {word[2:].partition("=")[0]}:=VALUE'
                  for word in left if named and word.startswith('--')]
        parser.error(f'unrecognized arguments: {" ".join(left)}{next(filter(None, hints), "")}')

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, f'invalid choice: {value!r}'
                                         f'{did_you_mean(str(value), known)} (choose from '
                                         f'{", ".join(known)}){not_installed(action.dest)}')
