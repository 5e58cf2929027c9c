"""Board-state inference: what a model says stands where, and what is wrong in it.

An answer is ``Solution: a3 green sphere, d1 blue cylinder``. What follows the last ``Solution:``
is split at commas, semicolons and line breaks; each part is one item. (The paper asks for commas
alone. A list with one item a line is still a list, so we read it.) An item that is not a cell, a
colour and a shape of the vocabulary, in this order, is a format error of one of eight kinds
(appendix A.6.1 of the paper), and names nothing.

The items that remain are matched with the pieces of the true board: a pair must agree in colour or
shape, as many pairs as possible are formed, and the number of unequal fields of all pairs (cell,
colour, shape) is as small as it can be. Of equally good matchings the one with fewer wrong colours
and shapes counts, so that two pieces that were swapped are two wrong cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from sightplan.domains.sliding.boards import TILE, Arrangement, cell_names
from sightplan.domains.sliding.replies import FLAT_SHAPES

FORMAT_ERRORS = {
    'E1': 'an empty cell is stated',
    'E2': 'colour or shape is missing',
    'E3': 'a colour or shape that does not exist',
    'E4': 'shape before colour',
    'E5': 'several cells, colours or shapes',
    'E6': 'a cell that is not on the board',
    'E7': 'no item of a list',
    'E8': 'no "Solution:"',
}
"""Kinds of format errors and what they mean."""

COLOURS = ('green', 'red', 'blue', 'yellow')
SHAPES = ('cube', 'sphere', 'pyramid', 'cylinder')
"""Those of the paper's boards."""

_UNEQUAL, _FORBIDDEN = 1000, 1_000_000  # costs: of one unequal field; of a pair that may not be
_SOLUTION = re.compile(r'solution\s*:')
_CELL = re.compile('[a-z][0-9]{1,2}')
_NOTHING = frozenset({'empty', 'blank', 'none', 'no', 'nothing', 'vacant', 'free', 'null'})
_SEVERAL = frozenset({'multicolored', 'multicoloured', 'multicolor', 'multicolour', 'multi'})
_LONGEST = 6  # words of an item; what is longer is prose


@dataclass(frozen=True, slots=True, order=True)
class Placed:
    """A piece on a cell, such as ``a3 green sphere``."""

    cell: str
    colour: str
    shape: str

    def __str__(self) -> str:
        """As it stands in an answer."""
        return f'{self.cell} {self.colour} {self.shape}'


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What an item may say.

    Attributes:
        size: of the board [cells a side].
        colours: known ones; two words are separated by a space.
        shapes: known ones.
    """

    size: int = 4
    colours: tuple[str, ...] = COLOURS
    shapes: tuple[str, ...] = SHAPES


@dataclass(frozen=True, slots=True)
class Items:
    """What was read.

    Attributes:
        placed: items that are right in form.
        errors: number of the others by kind, keys of ``FORMAT_ERRORS``.
        marked: whether there was a "Solution:".
    """

    placed: tuple[Placed, ...]
    errors: Mapping[str, int]
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Inference:
    """What an answer is worth.

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
    """What stands where, by cell; tiles are left out, they have no colour to infer.

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
    """The answer that says what is true."""
    return 'Solution: ' + ', '.join(map(str, board))


def infer(answer: str, board: Sequence[Placed], vocabulary: Vocabulary | None = None,
          ) -> Inference:
    """Compare an answer with the true board.

    An answer without "Solution:" costs one format error for each piece, and nothing counts as
    missed: this is inferred from the totals of the paper's table 5.

    Args:
        answer: a model's reply.
        board: what stands where.
        vocabulary: None: that of the paper.
    """
    items = read_answer(answer, vocabulary)
    if not items.marked:
        return Inference(format={'E8': len(board)} if board else {})
    return compare(items, board)


# ---------------------------------------------------------------------------------------- reading


def read_answer(answer: str, vocabulary: Vocabulary | None = None) -> Items:
    """The items after the last "Solution:"."""
    text = _normal(answer)
    ends = [found.end() for found in _SOLUTION.finditer(text)]
    if not ends:
        return Items((), {'E8': 1}, marked=False)
    return _items(text[ends[-1]:], vocabulary or Vocabulary())


def read_description(text: str, vocabulary: Vocabulary | None = None) -> Items:
    """The items of a list without mark, such as that after ``description:``."""
    return _items(_normal(text), vocabulary or Vocabulary())


def _normal(text: str) -> str:
    text = text.replace('*', '').replace('#', '').lower()
    for flat, solid in FLAT_SHAPES.items():
        text = text.replace(flat, solid)
    return text


def _items(text: str, vocabulary: Vocabulary) -> Items:
    placed, errors = [], Counter[str]()
    for part in re.split(r'[,;\n]', text):
        words = _words(part, vocabulary)
        if not words:
            continue
        item = _item(words, vocabulary)
        if isinstance(item, Placed):
            placed.append(item)
        else:
            errors[item] += 1
    return Items(tuple(placed), dict(sorted(errors.items())))


def _words(part: str, vocabulary: Vocabulary) -> list[str]:
    """The words of an item; a colour of two words is one of them."""
    text = ' '.join(''.join(mark if mark.isalnum() else ' ' for mark in part).split())
    for colour in vocabulary.colours:
        if ' ' in colour:
            text = re.sub(rf'\b{re.escape(colour)}\b', colour.replace(' ', '\0'), text)
    return [word.replace('\0', ' ') for word in text.split(' ') if word]


def _item(words: Sequence[str], vocabulary: Vocabulary) -> Placed | str:
    """An item, or the kind of its format error."""
    cells = [word for word in words if _CELL.fullmatch(word)]
    rest = [word for word in words if word not in cells]
    colours, shapes = _those(rest, vocabulary.colours), _those(rest, vocabulary.shapes)
    if not _CELL.fullmatch(words[0]) or len(words) > _LONGEST:
        return 'E7'
    if len(words) == 3 and words[1:] == [*colours, *shapes] and colours and shapes:
        on_board = words[0] in cell_names(vocabulary.size)
        return Placed(words[0], colours[0], shapes[0]) if on_board else 'E6'
    return _wrong(words, rest, colours, shapes, len(cells))


def _wrong(words: Sequence[str], rest: Sequence[str], colours: Sequence[str],
           shapes: Sequence[str], cells: int) -> str:
    """The kind of format error of an item that begins with a cell.

    Args:
        words: all of it.
        rest: its words other than cells.
        colours: those among the rest.
        shapes: likewise.
        cells: number of cells.
    """
    if not colours and not shapes and not _NOTHING.isdisjoint(rest):
        return 'E1'
    if list(words[1:3]) == [*colours[:1], *shapes[:1]] and len(words) > 3 and shapes:
        return 'E7'  # an item that is complete, and something after it
    if cells > 1 or len(colours) > 1 or len(shapes) > 1 or not _SEVERAL.isdisjoint(rest):
        return 'E5'
    if list(words[1:]) == [*shapes, *colours] and len(words) == 3:
        return 'E4'
    named = [word for word in rest if word not in _NOTHING]
    if len(named) < 2:
        return 'E2'
    return 'E3' if len(named) == 2 and len(words) == 3 else 'E7'


def _those(words: Sequence[str], known: Collection[str]) -> list[str]:
    return [word for word in words if word in known]


# --------------------------------------------------------------------------------------- matching


def compare(items: Items, board: Sequence[Placed]) -> Inference:
    """Match items with the true board, and count."""
    pairs = _matched(items.placed, board)
    unequal = Counter(name for item, true in pairs for name in ('cell', 'colour', 'shape')
                      if getattr(item, name) != getattr(true, name))
    return Inference(
        correct=sum(item == true for item, true in pairs), missed=len(board) - len(pairs),
        hallucinated=len(items.placed) - len(pairs), coordinate=unequal['cell'],
        colour=unequal['colour'], shape=unequal['shape'], format=items.errors)


def _matched(items: Sequence[Placed], board: Sequence[Placed]) -> list[tuple[Placed, Placed]]:
    """Pairs of item and piece by minimum cost (Hungarian algorithm)."""
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
