"""How much of a 3D board its picture shows: hidden pieces, and what an ideal reader can know.

Use::

    python studies/sliding_ceiling.py

The tables ``hidden`` and ``ceiling`` of ``studies/sliding.md`` come from exact masks of the
shipped puzzles: a mask says which piece each pixel shows. No model is asked. The number of boards
that can be read whole is stored in ``studies/data``, for the tables of ``sliding_study.py``.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import Arrangement, Board
from sightplan.domains.sliding.readings import SHAPES
from sightplan.metrics.intervals import wilson
from sightplan_sim.sliding.drawing import make_scene
from sightplan_sim.sliding.pieces import Piece, pieces_of
from sightplan_sim.sliding.scene3d import Scene3D
from sightplan_sim.sliding.solids import FILLING, SMALL
from study_document import DATA, STUDIES, commit, rewrite, store

DOCUMENT = 'sliding.md'
LEAST_PX = (10, 50, 200, 400)
"""Pixels in which two boards must differ so that a reader tells them apart; 200 are about one
patch of 14 x 14 pixels of a vision transformer."""
HIDDEN = (0.25, 0.5, 0.75)
"""Fractions of a piece that count as hidden."""
WIDTH, HEIGHT = 640, 480
CEILING = DATA / 'sliding' / 'ceiling.json'
"""Boards that a reader who needs ``LEAST_PX[0]`` pixels can read whole, by piece size: how many of
how many, of starts and of goals."""
_Mask = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece in the picture of a board.

    Attributes:
        hidden: fraction of its pixels that other pieces hide.
        colour: pixels in which its board differs from one where it has another colour, which are
            those that show it.
        shape: the least number of pixels in which its board differs from one where it has
            another shape.
        cell: the same for another, free cell.
    """

    hidden: float
    colour: int
    shape: int
    cell: int

    def known(self, least_px: int, fields: Sequence[str] = ('colour', 'shape', 'cell')) -> bool:
        """Whether a reader who needs so many pixels knows all these fields."""
        return all(getattr(self, name) >= least_px for name in fields)


def boards(split: str = 'geoms') -> Iterator[tuple[str, Board, Arrangement]]:
    """The start (``start``) and the goal (``goal``) of every puzzle."""
    for problem in load_domain('sliding').split_problems(split):
        board = Board.of(problem)
        yield 'start', board, board.arrangement(problem.init)
        yield 'goal', board, board.goal(problem)


@functools.cache
def silhouette(kind: str, cell: int, board_size: int, size: float) -> NDArray[np.bool_]:
    """(H, W) bool: where a piece alone on a board is seen."""
    piece = Piece(kind, kind, (255, 0, 0))
    scene = make_scene('3d', board_size, (piece,), width=WIDTH, height=HEIGHT, piece_size=size)
    return np.asarray(scene.segmentation((cell,)) == 1, np.bool_)


@functools.cache
def drawing_order(board_size: int) -> tuple[int, ...]:
    """Turn in which each cell's piece is drawn, from the farthest to the nearest."""
    cells = tuple(range(board_size ** 2))
    scene = Scene3D(board_size, [Piece('cube', 'cube', (255, 0, 0))] * len(cells))
    turns = {cell: turn for turn, (cell, _) in enumerate(scene.far_to_near(cells))}
    return tuple(turns[cell] for cell in cells)


def mask_of(kinds: Sequence[str], arrangement: Arrangement, board_size: int, size: float) -> _Mask:
    """(H, W) uint8: which piece each pixel shows, its index + 1; 0 where none is."""
    found = np.zeros((HEIGHT, WIDTH), np.uint8)
    turns = drawing_order(board_size)
    for index in sorted(range(len(kinds)), key=lambda one: turns[arrangement[one]]):
        np.copyto(found, np.uint8(index + 1),
                  where=silhouette(kinds[index], arrangement[index], board_size, size))
    return found


def shown_pieces(board: Board, arrangement: Arrangement, size: float) -> list[Shown]:
    """What the picture of a board shows of each of its pieces.

    Args:
        board: whose pieces they are.
        arrangement: where they are.
        size: piece size.
    """
    pieces, kinds = pieces_of(board, 'a board'), board.kinds
    truth = mask_of(kinds, arrangement, board.size, size)
    free = sorted({*range(board.size ** 2)} - {*arrangement})
    found = []
    for index, piece in enumerate(pieces):
        alone = int(silhouette(piece.kind, arrangement[index], board.size, size).sum())
        seen = int((truth == index + 1).sum())
        shapes = [mask_of((*kinds[:index], other, *kinds[index + 1:]), arrangement, board.size,
                          size) for other in other_shapes(piece, pieces)]
        cells = [mask_of(kinds, (*arrangement[:index], cell, *arrangement[index + 1:]),
                         board.size, size) for cell in free]
        found.append(Shown(1 - seen / alone, seen, least_difference(truth, shapes),
                           least_difference(truth, cells)))
    return found


def other_shapes(piece: Piece, pieces: Sequence[Piece]) -> list[str]:
    """Shapes that a piece may be taken for: there is none of its colour on the board."""
    there = {(other.kind, other.rgb) for other in pieces}
    return [kind for kind in SHAPES if (kind, piece.rgb) not in there]


def least_difference(truth: _Mask, others: Sequence[_Mask]) -> int:
    """The least number of pixels in which a mask differs from others; all of it without any."""
    return min((int((truth != other).sum()) for other in others), default=truth.size)


# ---------------------------------------------------------------------------------------- tables


Read = list[tuple[str, list[Shown]]]
"""``start`` or ``goal``, and the pieces, of each board."""


def read_boards() -> dict[float, Read]:
    """What the pictures of all boards show, by piece size."""
    return {size: [(when, shown_pieces(board, arrangement, size))
                   for when, board, arrangement in boards()] for size in (FILLING, SMALL)}


def make_tables(every: Mapping[float, Read]) -> dict[str, str]:
    """The two tables, by name."""
    note = (f'Commit {commit()}; {WIDTH} x {HEIGHT} pixels, nominal camera; 95 % intervals '
            '(Wilson).')
    return {'hidden': f'{hidden_table(every)}\n\n{note}',
            'ceiling': f'{ceiling_table(every)}\n\n{note}'}


def whole_boards(every: Mapping[float, Read]) -> dict[str, dict[str, list[int]]]:
    """The content of ``CEILING``."""
    return {f'{size:g}': {when: [sum(known), len(known)] for when in ('start', 'goal')
                          for known in [[all(one.known(LEAST_PX[0]) for one in found)
                                         for name, found in read if name == when]]}
            for size, read in every.items()}


def hidden_table(every: Mapping[float, Read]) -> str:
    """Hidden pieces of start and goal boards by piece size."""
    heads = ('piece size', 'boards', 'pieces', *(f'hidden by {part:g}' for part in HIDDEN),
             'most hidden')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for size, read in every.items():
        for when in ('start', 'goal'):
            hidden = np.array([one.hidden for name, pieces in read if name == when
                               for one in pieces])
            rows.append(f'| {size:g} | {when} | {len(hidden)} | ' + ' | '.join(
                f'{(hidden >= part).mean():.3f}' for part in HIDDEN) + f' | {hidden.max():.2f} |')
    return '\n'.join(rows)


def ceiling_table(every: Mapping[float, Read]) -> str:
    """Pieces and boards that an ideal reader knows, by piece size and pixels it needs."""
    heads = ('piece size', 'pixels needed', 'colour', 'shape', 'cell', 'all three',
             'whole boards')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for size, read in every.items():
        pieces = [one for _, found in read for one in found]
        for least in LEAST_PX:
            parts = [rate([one.known(least, [name]) for one in pieces])
                     for name in ('colour', 'shape', 'cell')]
            parts.append(rate([one.known(least) for one in pieces]))
            parts.append(rate([all(one.known(least) for one in found) for _, found in read]))
            rows.append(f'| {size:g} | {least} | {" | ".join(parts)} |')
    return '\n'.join(rows)


def rate(known: Sequence[bool]) -> str:
    """How many of how many, and the interval of the rate."""
    low, high = wilson(sum(known), len(known))
    return f'{sum(known)} of {len(known)} ({low:.3f}-{high:.3f})'


def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate both tables; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/sliding_ceiling.py',
        description='Measure what pictures of boards show, and write it into studies/sliding.md.')
    parser.add_argument('--out', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where {DOCUMENT} is (default: studies)')
    arguments = parser.parse_args(argv)
    every = read_boards()
    store(CEILING, whole_boards(every))
    for line in rewrite(arguments.out / DOCUMENT, make_tables(every)):
        print(line)
    return 0


if __name__ == '__main__':
    sys.exit(main())
