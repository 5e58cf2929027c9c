"""Board-state inference: comparison of a model's description of a board with the board.

An answer is ``Solution: a3 green sphere, d1 blue cylinder``; the domain's ``readings`` reads it.

The items that remain are matched with the pieces of the true board: a pair must agree in colour or
shape, as many pairs as possible are formed, and the number of unequal fields of all pairs (cell,
colour, shape) is as small as it can be. Of equally good matchings the one with fewer wrong colours
and shapes counts, so that two pieces that were swapped are two wrong cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sightplan.domains.sliding.boards import TILE, Arrangement, cell_names
from sightplan.domains.sliding.readings import COLOURS as COLOURS
from sightplan.domains.sliding.readings import FORMAT_ERRORS as FORMAT_ERRORS
from sightplan.domains.sliding.readings import SHAPES as SHAPES
from sightplan.domains.sliding.readings import Items as Items
from sightplan.domains.sliding.readings import Placed as Placed
from sightplan.domains.sliding.readings import Vocabulary as Vocabulary
from sightplan.domains.sliding.readings import read_answer as read_answer
from sightplan.domains.sliding.readings import read_description as read_description

_UNEQUAL, _FORBIDDEN = 1000, 1_000_000  # costs: of one unequal field; of a pair that may not be


@dataclass(frozen=True, slots=True)
class Inference:
    """Comparison of an answer with the pieces on the board.

    Attributes:
        correct: pieces with cell, colour and shape right.
        missed: pieces that no item was matched with.
        hallucinated: items that no piece was matched with.
        coordinate: matched pairs with another cell.
        colour: matched pairs with another colour.
        shape: matched pairs with another shape.
        format: number of format errors by kind, keys of ``FORMAT_ERRORS``.
    """

    correct: int = 0
    missed: int = 0
    hallucinated: int = 0
    coordinate: int = 0
    colour: int = 0
    shape: int = 0
    format: Mapping[str, int] = field(default_factory=dict)

    @property
    def format_errors(self) -> int:
        """Number of all format errors."""
        return sum(self.format.values())


def pieces_on(size: int, pieces: Sequence[str], arrangement: Arrangement) -> tuple[Placed, ...]:
    """Pieces on a board by cell; tiles are left out, as they have no colour to infer.

    Args:
        size: of the board [cells a side].
        pieces: names such as ``light_blue_prism``.
        arrangement: their cells.
    """
    found = []
    for piece, cell in sorted(zip(pieces, arrangement, strict=True), key=lambda pair: pair[1]):
        colour, _, shape = piece.rpartition('_')
        if colour != TILE:
            found.append(Placed(cell_names(size)[cell], colour.replace('_', ' '), shape))
    return tuple(found)


def perfect_answer(board: Sequence[Placed]) -> str:
    """The right answer about a board."""
    return 'Solution: ' + ', '.join(map(str, board))


# --------------------------------------------------------------------------------------- matching


def compare(items: Items, board: Sequence[Placed], cells: int | None = None) -> Inference:
    """Match items with the true board, and count.

    No board has more pieces than cells: of a longer list only as many items can be right, the
    first ones, and all others are hallucinated.

    An answer without "Solution:" costs one format error for each piece, and nothing counts as
    missed: this is inferred from the totals of the paper's table 5.

    Args:
        items: of the answer.
        board: what is true.
        cells: of the board; None: any number of items.
    """
    if not items.marked:
        return Inference(format={'E8': len(board)} if board else {})
    pairs = _matched(items.placed[:cells], board)
    unequal = Counter(name for item, true in pairs for name in ('cell', 'colour', 'shape')
                      if getattr(item, name) != getattr(true, name))
    return Inference(
        correct=sum(item == true for item, true in pairs), missed=len(board) - len(pairs),
        hallucinated=len(items.placed) - len(pairs), coordinate=unequal['cell'],
        colour=unequal['colour'], shape=unequal['shape'], format=items.errors)


def _matched(items: Sequence[Placed], board: Sequence[Placed]) -> list[tuple[Placed, Placed]]:
    """Pairs of item and piece by minimum cost (Hungarian algorithm)."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    if not items or not board:
        return []
    costs = np.array([[_cost(item, true) for true in board] for item in items])
    rows, columns = linear_sum_assignment(costs)
    return [(items[row], board[column]) for row, column in zip(rows, columns, strict=True)
            if costs[row, column] < _FORBIDDEN]


def _cost(item: Placed, true: Placed) -> int:
    other_piece = (item.colour != true.colour) + (item.shape != true.shape)
    if other_piece == 2:
        return _FORBIDDEN
    return _UNEQUAL * ((item.cell != true.cell) + other_piece) + other_piece
