"""Sliding puzzles for people: list the pieces and read typed commands.

The commands are those of iVISPAR's application; see ``replies``. A word for "move" may be missing.
A line is carried out only if every word of it belongs to its command: what a person did not mean
would count as a move.
"""

from __future__ import annotations

import re
from typing import Any

from sightplan.domains.sliding.boards import DIRECTIONS, TILE, Board
from sightplan.domains.sliding.configs import ring_colour
from sightplan.domains.sliding.replies import (
    ABSENT,
    COUNTS,
    DONE,
    FLAT_SHAPES,
    MOVE,
    NO_COLOUR,
    NO_DIRECTION,
    NO_OBJECT,
    NUMBERS,
    RESET,
    START,
    Command,
    named_move,
    read_command,
)
from sightplan.model import Action, InputError, Problem, excerpt

RULES = ('Bring every piece to its place in the goal. One piece at a time moves, into the cell '
         'next to it, which must be free. A move that is refused counts, too.')
"""Rules that a person reads before the first puzzle."""

EXAMPLES = {False: 'red cube left, blue sphere up 2', True: 'tile 5 down, tile 3 left 2'}
"""Example of a typed line, by whether the board has tiles."""

_REFUSALS = {'destination occupied': 'the next cell is taken',
             'destination out of bounds': 'there is no next cell'}
_REASONS = {
    NO_OBJECT: 'it names no piece',
    NO_COLOUR: 'it lacks the colour of the piece, or the number of the tile',
    NO_DIRECTION: f'it lacks a direction ({", ".join(DIRECTIONS)})',
    ABSENT: 'there is no such piece'}

_VERB = re.compile(r'^(?:move|push|slide|shift) ')
_FILLERS = frozenset({'the', 'a', 'an', 'to', 'time', 'times', 'cell', 'cells', 'step', 'steps'})
_ANY_NUMBER = re.compile(r'[-+]?[0-9][0-9.]*')
_JOINT = re.compile(r'_|(?<=[a-z])-(?=[a-z])')  # between words: red_cube, light-blue


def pieces(problem: Problem) -> list[dict[str, Any]]:
    """Return the movable pieces as plain JSON data, in the order of the problem's objects.

    Each has ``name``, ``words``, ``colour`` (a name of CSS), ``shape`` and ``number`` (of a tile,
    else None).
    """
    board = Board.of(problem)
    return [_piece(name, kind, board.size)
            for name, kind in zip(board.pieces, board.kinds, strict=True)]


def example(problem: Problem) -> str:
    """Return an example of a typed line for a problem."""
    return EXAMPLES[TILE in Board.of(problem).kinds]


def move(problem: Problem, piece: str, direction: str) -> Action:
    """Return the action that moves a piece in a direction.

    Raises:
        InputError: there is no such piece or direction.
    """
    if piece not in Board.of(problem).pieces:
        raise InputError(f'{piece!r}: there is no such piece')
    if direction not in DIRECTIONS:
        raise InputError(f'{direction!r}: no direction; there are {", ".join(DIRECTIONS)}')
    return Action('move', (piece, direction))


def read_line(problem: Problem, line: str) -> list[Action | str]:
    """Read a typed line as actions and the words ``start`` and ``done``, in order.

    Raises:
        InputError: a part of it cannot be read as a whole, or names what is not there; says which,
            and why.
    """
    found: list[Action | str] = []
    for part in re.split(r'[,;\n]', line):
        if part.strip():
            found += _read_part(problem, part.strip())
    if not found:
        raise InputError(f'type a command, such as: {example(problem)}')
    return found


def refusal(message: str) -> str:
    """Return the reason why a move was refused, in words for people."""
    return _REFUSALS.get(message, message)


def words(action: Action) -> str:
    """Return a move in words: ``red cube left``."""
    return ' '.join(action.args).replace('_', ' ')


def _read_part(problem: Problem, part: str) -> list[Action | str]:
    said = _JOINT.sub(' ', part.lower()).strip(' .!"\'')
    if said in (START, DONE):
        return [said]
    if said == RESET:
        raise InputError(f'"{excerpt(part)}": a puzzle cannot be started again')
    command = read_command(part)
    if command.verb != MOVE:
        command = read_command(f'{MOVE} {part}')
    named = named_move(command, Board.of(problem).pieces)
    reason = (_reason(command, named) if isinstance(named, str)
              else _left_over(said, *named, command.times))
    if reason or isinstance(named, str):
        raise InputError(f'"{excerpt(part)}": {reason}; type it as in: {example(problem)}')
    return [move(problem, *named)] * command.times


def _left_over(said: str, piece: str, direction: str, times: int) -> str:
    """Return a complaint about words that do not belong to a move; '' if all belong to it.

    Args:
        said: the words, in small letters.
        piece: that is moved.
        direction: where.
        times: how often.
    """
    rest = _VERB.sub('', ' '.join(said.split()), count=1)
    count = '|'.join((str(times), *(word for word, n in COUNTS.items() if n == times)))
    for part in (_spellings(piece), f'{direction}(?: (?:{count}))?'):
        rest = re.sub(rf'(?<!\S)(?:{part})(?!\S)', ' ', rest, count=1)
    left = [word for word in rest.split() if word not in _FILLERS]
    if not left:
        return ''
    if _ANY_NUMBER.fullmatch(left[0]):
        return (f'"{excerpt(left[0], 20)}" does not belong to it: how often a piece moves stands '
                f'behind the direction, 1 to {max(COUNTS.values())}')
    return (f'"{excerpt(" ".join(left), 40)}" does not belong to it (commas separate several '
            'moves)')


def _spellings(piece: str) -> str:
    """Return a pattern of a piece's possible names: also with a flat shape, or tile numbers."""
    colour, _, shape = piece.rpartition('_')
    if colour == TILE:
        numbers = [word for word, n in NUMBERS.items() if n == int(shape)]
        return rf'{TILE} ?(?:number |no |nr )?#?(?:{"|".join((f"0*{shape}", *numbers))})'
    shapes = (shape, *(flat for flat, solid in FLAT_SHAPES.items() if solid == shape))
    return (' ?'.join(re.escape(letter) for letter in colour.replace('_', ''))
            + rf'(?: colou?red)? (?:{"|".join(shapes)})')


def _reason(command: Command, reason: str) -> str:
    if reason == ABSENT and not command.reason:
        named = f'{TILE} {command.number}' if command.shape == TILE else (
            f'{command.colour} {command.shape}')
        return f'there is no {named}'
    return _REASONS[reason]


def _piece(name: str, kind: str, size: int) -> dict[str, Any]:
    number = int(name.removeprefix(f'{TILE}_')) if kind == TILE else None
    colour = (ring_colour(size, number) if number is not None
              else name.rpartition('_')[0].replace('_', ''))
    return {'name': name, 'words': name.replace('_', ' '), 'colour': colour, 'shape': kind,
            'number': number}
