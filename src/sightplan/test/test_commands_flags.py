"""Flags made from a dataclass: types, defaults, bounds, errors and the help text."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from sightplan.commands.flags import (
    REQUIRED,
    CommandParser,
    add_flags,
    argument,
    option,
    option_like,
    read_flags,
)
from sightplan.model import InputError, param
from sightplan.model.settings import picked


class Colour(enum.Enum):
    RED = 'red'
    GREEN = 'green'


@dataclass(frozen=True)
class WalkSettings:
    steps: int = param(12, 'actions of a walk', low=1, high=100)
    pace: str = param('slow', 'how fast', choices=('slow', 'fast'))
    silent: bool = param(False, 'whether it says nothing')


def numbers(text: str) -> int:
    if text == 'bad':
        raise InputError('bad is no number; write 1')
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    picture: Path = argument('a picture')
    targets: tuple[str, ...] = argument('what to find', default=(), metavar='TARGET')
    out: str = option(REQUIRED, 'where it goes', metavar='FILE')
    count: int = option(3, 'how many', low=1, high=9)
    factor: float | None = option(None, 'by what', low=0.0)
    checks: bool = option(True, 'whether it is checked')
    quiet: bool = option(False, '100 % silence', names=('-q',))
    part: bool | None = option(None, 'whether a part is meant (default: it depends)')
    colour: str = option('red', 'a colour', choices=tuple(Colour))
    view: Literal['2d', '3d'] = option('2d', 'what is shown')
    name: str = option('', 'whose', choices=lambda: ('ann', 'bob'))
    set: tuple[str, ...] = option((), 'a setting', metavar='KEY=VALUE')
    only: tuple[int, ...] = option((), 'numbers', listed=True, low=0)
    at: tuple[float, float] | None = option(None, 'a place')
    read: int = option(0, 'read by a function', read=numbers)
    steps: int = option_like(WalkSettings, 'steps', default=50)
    pace: str = option_like(WalkSettings, 'pace', group='walking')
    here: bool = option(False, 'it is here', exclusive='place')
    there: bool = option(False, 'it is there', exclusive='place')


def parser() -> CommandParser:
    made = CommandParser(prog='try')
    add_flags(made, Arguments)
    return made


def read(*argv: str) -> Arguments:
    return read_flags(Arguments, parser().parse_args(argv))


def test_what_is_not_given_has_the_default_of_the_dataclass() -> None:
    assert read('p.png', '--out', 'o') == Arguments(picture=Path('p.png'), out='o')


def test_values_have_the_types_of_the_annotations() -> None:
    found = read('p.png', 'a', 'b', '--out=o', '--count', '9', '--factor', '2', '--no-checks',
                 '-q', '--no-part', '--colour', 'green', '--view', '3d', '--name', 'bob',
                 '--set', 'a=1', '--set', 'b=2', '--only', '1', '2', '--only', '3',
                 '--at', '1', '2', '--read', '7', '--steps', '100', '--pace', 'fast')
    assert found == Arguments(
        picture=Path('p.png'), targets=('a', 'b'), out='o', count=9, factor=2.0, checks=False,
        quiet=True, part=False, colour='green', view='3d', name='bob', set=('a=1', 'b=2'),
        only=(1, 2, 3), at=(1.0, 2.0), read=7, steps=100, pace='fast')
    assert isinstance(found.factor, float)


@pytest.mark.parametrize(('argv', 'words'), [
    (['--count', '0'],
     '--count 0 is out of bounds, it must be at least 1 and at most 9: how many'),
    (['--factor', '-1'], '--factor -1.0 is out of bounds, it must be at least 0.0'),
    (['--factor', 'nan'], '--factor nan is out of bounds'),
    (['--steps', '101'], '--steps 101 is out of bounds'),
    (['--only', '1', '-1'], '--only -1 is out of bounds')])
def test_a_value_out_of_bounds_names_flag_value_and_bounds(argv: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        read('p.png', '--out', 'o', *argv)
    assert words in str(caught.value)


@pytest.mark.parametrize(('argv', 'words'), [
    ([], 'the following arguments are required: PICTURE, --out'),
    (['p.png', '--out', 'o', '--count', 'x'], "argument --count: invalid int value: 'x'"),
    (['p.png', '--out', 'o', '--pace', 'fsat'],
     "argument --pace: invalid choice: 'fsat'; did you mean 'fast'? (choose from slow, fast)"),
    (['p.png', '--out', 'o', '--colour', 'blue'], '(choose from red, green)'),
    (['p.png', '--out', 'o', '--view', '4d'], '(choose from 2d, 3d)'),
    (['p.png', '--out', 'o', '--name', 'bo'], "did you mean 'bob'?"),
    (['p.png', '--out', 'o', '--read', 'bad'], 'argument --read: bad is no number; write 1'),
    (['p.png', '--out', 'o', '--at', '1'], 'argument --at: expected 2 arguments'),
    (['p.png', '--out', 'o', '--here', '--there'], 'not allowed with argument --here'),
    (['p.png', '--out', 'o', '--clour', 'red'],
     "unrecognized arguments: --clour red; did you mean '--colour'?")])
def test_an_error_is_one_line_with_the_remedy(capsys: Any, argv: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as end:
        read(*argv)
    out, err = capsys.readouterr()
    assert end.value.code == 2 and not out
    assert words in err and err.startswith('try: ') and err.count('\n') == 1


def test_the_help_text_names_defaults_and_groups() -> None:
    text = ' '.join(parser().format_help().split())
    for words in ('--out FILE where it goes', '--count N how many (default: 3)',
                  '--at X X a place',
                  '--factor X by what', '--checks, --no-checks', '-q, --quiet 100 % silence',
                  '--part, --no-part whether a part is meant (default: it depends)',
                  '--colour {red,green} a colour (default: red)', '--name {ann,bob} whose',
                  '--set KEY=VALUE a setting', '--steps N actions of a walk (default: 50)',
                  'walking: --pace {slow,fast} how fast (default: slow)', 'PICTURE a picture'):
        assert words in text, words


def test_a_dataclass_of_settings_alone_gives_flags() -> None:
    made = CommandParser(prog='try')
    add_flags(made, WalkSettings)
    assert read_flags(WalkSettings, made.parse_args(['--pace', 'fast', '--silent'])) == (
        WalkSettings(pace='fast', silent=True))
    with pytest.raises(SystemExit):
        made.parse_args(['--pace', 'quick'])


def test_settings_are_picked_from_arguments_of_the_same_name() -> None:
    assert picked(WalkSettings, read('p.png', '--out', 'o', '--pace', 'fast')) == (
        WalkSettings(steps=50, pace='fast'))
