"""Sliding puzzles for people: what can be moved, and how a typed line is read.

The commands are those of iVISPAR's application; see ``replies``. A word for "move" may be missing.
"""

from __future__ import annotations

import re
from typing import Any

from sightplan.domains.sliding.boards import DIRECTIONS, TILE, Board
from sightplan.domains.sliding.configs import ring_colour
from sightplan.domains.sliding.replies import (
    ABSENT,
    DONE,
    MOVE,
    NO_COLOUR,
    NO_COMMAND,
    NO_DIRECTION,
    NO_OBJECT,
    RESET,
    START,
    Command,
    named_move,
    read_command,
)
from sightplan.model import Action, InputError, Problem, excerpt

RULES = ('Bring every piece to its place in the goal. One piece at a time moves, into the cell '
         'next to it, which must be free. A move that is refused counts, too.')
"""What a person is told before the first puzzle."""

EXAMPLES = {False: 'red cube left, blue sphere up 2', True: 'tile 5 down, tile 3 left 2'}
"""A line that can be typed, for boards without and with tiles."""

_REFUSALS = {'destination occupied': 'the next cell is taken',
             'destination out of bounds': 'there is no next cell'}
_REASONS = {
    NO_OBJECT: 'it names no piece',
    NO_COLOUR: 'it lacks the colour of the piece, or the number of the tile',
    NO_DIRECTION: f'it lacks a direction ({", ".join(DIRECTIONS)})',
    ABSENT: 'there is no such piece'}


def pieces(problem: Problem) -> list[dict[str, Any]]:
    """What can be moved, in the order of the problem's objects, as plain JSON data.

    Each has ``name``, ``words``, ``colour`` (a name of CSS), ``shape`` and ``number`` (of a tile,
    else None).
    """
    board = Board.of(problem)
    return [_piece(name, kind, board.size)
            for name, kind in zip(board.pieces, board.kinds, strict=True)]


def example(problem: Problem) -> str:
    """A line that can be typed."""
    return EXAMPLES[TILE in Board.of(problem).kinds]


def move(problem: Problem, piece: str, direction: str) -> Action:
    """A piece and a direction as an action.

    Raises:
        InputError: there is no such piece or direction.
    """
    if piece not in Board.of(problem).pieces:
        raise InputError(f'{piece!r}: there is no such piece')
    if direction not in DIRECTIONS:
        raise InputError(f'{direction!r}: no direction; there are {", ".join(DIRECTIONS)}')
    return Action('move', (piece, direction))


def read_line(problem: Problem, line: str) -> list[Action | str]:
    """What a typed line says to do: actions, and the words ``start`` and ``done``.

    Raises:
        InputError: a part of it cannot be read, or names what is not there; says which, and why.
    """
    found: list[Action | str] = []
    for part in re.split(r'[,;\n]', line):
        if part.strip():
            found += _read_part(problem, part.strip())
    if not found:
        raise InputError(f'type a command, such as: {example(problem)}')
    return found


def refusal(message: str) -> str:
    """Why a move was refused, in words for people."""
    return _REFUSALS.get(message, message)


def words(action: Action) -> str:
    """A move in words: ``red cube left``."""
    return ' '.join(action.args).replace('_', ' ')


def _read_part(problem: Problem, part: str) -> list[Action | str]:
    command = read_command(part)
    if command.reason == NO_COMMAND:
        command = read_command(f'{MOVE} {part}')
    if command.verb in (START, DONE):
        return [command.verb]
    if command.verb == RESET:
        raise InputError(f'"{excerpt(part)}": a puzzle cannot be started again')
    named = named_move(command, Board.of(problem).pieces)
    if isinstance(named, str):
        raise InputError(f'"{excerpt(part)}": {_reason(command, named)}; type it as in: '
                         f'{example(problem)}')
    return [move(problem, *named)] * command.times


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
