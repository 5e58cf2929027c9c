"""Pieces of a board: their shapes, colours, numbers and names."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from sightplan.domains.sliding.boards import (
    TILE,
    Arrangement,
    Board,
    cell_names,
    next_atoms,
)
from sightplan.domains.sliding.configs import ring_colour
from sightplan.model import InputError, Problem
from sightplan.model.reading import read_data

Byte3 = tuple[int, int, int]

_COMMON = ('red', 'green', 'blue', 'yellow', 'orange', 'purple', 'pink', 'cyan', 'brown', 'black',
           'white', 'gray')


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a board, as it looks and is named.

    Attributes:
        kind: its PDDL type: a shape, or ``tile``.
        words: what it is called in a text: ``light blue prism``, ``tile 5``.
        rgb: its nominal colour, sRGB.
        number: of a tile, else 0.
    """

    kind: str
    words: str
    rgb: Byte3
    number: int = 0


@functools.cache
def colours() -> dict[str, Byte3]:
    """Every colour that can be shown: CSS's names without blanks, sRGB in [0, 255]."""
    found = {}
    for name, code in read_data(Path(__file__).with_name('colours.yaml')).items():
        red, green, blue = bytes.fromhex(code[1:])
        found[name] = red, green, blue
    return found


def pieces_of(board: Board, where: str) -> tuple[Piece, ...]:
    """The pieces of a board, in its order.

    Args:
        board: whose names and types they have.
        where: what to call it in messages.

    Raises:
        InputError: a name is not ``<colour>_<type>`` or ``tile_<number>``, its colour is unknown,
            its number is none of this board, or two pieces look the same.
    """
    found: dict[tuple[str, Byte3, int], str] = {}
    pieces = []
    for name, kind in zip(board.pieces, board.kinds, strict=True):
        piece = (_tile if kind == TILE else _solid)(name, kind, board.size, where)
        twin = found.setdefault((piece.kind, piece.rgb, piece.number), name)
        if twin != name:
            raise InputError(f'{where}: {twin} and {name} look the same (give one another colour)')
        pieces.append(piece)
    return tuple(pieces)


def text_view(board: Board, arrangement: Arrangement, order: str = 'board') -> str:
    """A board as a text: one line for each piece, such as ``B4 red cube``.

    Args:
        board: whose pieces they are.
        arrangement: where they are.
        order: ``board``: by their cells from a1 on, row by row; ``engine``: as the board lists
            them.
    """
    names = cell_names(board.size)
    lines = [(cell, f'{names[cell].upper()} {piece.replace("_", " ")}')
             for cell, piece in zip(arrangement, board.pieces, strict=True)]
    if order == 'board':
        lines.sort()
    return '\n'.join(line for _, line in lines)


def _solid(name: str, kind: str, size: int, where: str) -> Piece:
    colour, _, shape = name.rpartition('_')
    if shape != kind or not colour:
        raise InputError(f'{where}: {name} is a {kind}, which its name does not say (call it '
                         f'<colour>_{kind})')
    rgb = colours().get(colour.replace('_', ''))
    if rgb is None:
        raise InputError(
            f'{where}: the colour of {name} is unknown (known: {", ".join(_COMMON)} and all other '
            'names of CSS, with or without underscores, such as light_blue)')
    return Piece(kind, name.replace('_', ' '), rgb)


def _tile(name: str, kind: str, size: int, where: str) -> Piece:
    match = re.fullmatch(r'tile_([1-9]\d?)', name)
    number = int(match[1]) if match else 0
    if not 1 <= number <= size * size:
        raise InputError(f'{where}: {name} is not a tile of a board of {size} x {size} cells '
                         f'(call it tile_1 to tile_{size * size})')
    return Piece(kind, f'tile {number}', colours()[ring_colour(size, number)], number)


def read_problem(problem: Problem) -> tuple[Board, tuple[Piece, ...], Arrangement]:
    """Board, pieces and their first arrangement.

    Raises:
        InputError: it is no board with pieces that can be shown, or its init contradicts itself
            or leaves something out; says what to change.
    """
    where = problem.source or problem.name
    if problem.domain_name != 'sliding':
        raise InputError(f'{where}: a problem of domain {problem.domain!r}; this world shows '
                         'sliding')
    board = Board.of(problem)
    pieces = pieces_of(board, where)
    arrangement = board.arrangement(problem.init, f'{where}: init')
    state = board.facts(arrangement) | next_atoms(board.size)
    for atoms, wrong in ((problem.init - state, 'has ({}), which this board contradicts'),
                         (state - problem.init, 'lacks ({})')):
        if atoms:
            raise InputError(f'{where}: init ' + wrong.format(min(atoms)) + ' (correct it)')
    return board, pieces, arrangement
