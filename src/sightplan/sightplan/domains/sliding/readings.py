"""Boards in free text: ``Solution: a3 green sphere, d1 blue cylinder``.

What follows the last ``Solution:`` is split at commas, semicolons and line breaks; each part is
one item. (iVISPAR's paper asks for commas alone. A list with one item a line is still a list, so
we read it.) An item that is not a cell, a colour and a shape of the vocabulary, in this order, is
a format error of one of eight kinds (appendix A.6.1 of the paper), and names nothing. A tile is
written with its number for a shape: ``b2 tile 5``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sightplan.domains.sliding.boards import LARGEST, cell_names
from sightplan.domains.sliding.boards import SHAPES as EVERY_SHAPE
from sightplan.domains.sliding.replies import plain_text
from sightplan.model import Atom
from sightplan.model.reply_text import after_thoughts, refuses

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
"""Shapes of the pieces on the paper's boards."""

_SOLUTION = re.compile(r'solution\s*:')
_CELL = re.compile('[a-z][0-9]{1,2}')
_NOTHING = frozenset({'empty', 'blank', 'none', 'no', 'nothing', 'vacant', 'free', 'null'})
_SEVERAL = frozenset({'multicolored', 'multicoloured', 'multicolor', 'multicolour', 'multi'})
_AT, _EMPTY = 'at', 'empty'
_LONGEST = 6  # words of an item; what is longer is prose


@dataclass(frozen=True, slots=True, order=True)
class Placed:
    """A piece on a cell, such as ``a3 green sphere``."""

    cell: str
    colour: str
    shape: str

    def __str__(self) -> str:
        """Return the item in the form in which answers write it."""
        return f'{self.cell} {self.colour} {self.shape}'

    @property
    def piece(self) -> str:
        """Name of the piece."""
        return f'{self.colour} {self.shape}'.replace(' ', '_')


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Board size, colours and shapes that an item of an answer may name.

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
    """Items read from an answer, and counts of format errors.

    Attributes:
        placed: items that are right in form.
        errors: number of the others by kind, keys of ``FORMAT_ERRORS``.
        marked: whether there was a "Solution:".
    """

    placed: tuple[Placed, ...]
    errors: Mapping[str, int]
    marked: bool = True


def read_scene(text: str, atoms: Iterable[Atom], truncated: bool = False,
               ) -> dict[Atom, bool] | None:
    """Return the truth values of atoms according to a reply that lists a whole board.

    Whether a piece is on a cell, and whether a cell is empty, follow from the items: what is not
    listed is not there. Items about other pieces say which cells are taken.

    Args:
        text: the reply, see the module.
        atoms: ``at(piece, cell)`` and ``empty(cell)``.
        truncated: whether the reply was cut off, so that items may be missing at its end.

    Returns:
        whether each holds; an atom of another predicate is left out. None: the reply cannot be
        read: it was cut off, has no "Solution:", or nothing but format errors after it.
    """
    atoms = tuple(atoms)
    items = read_answer(text, vocabulary_of(
        atom.args[0] for atom in atoms if atom.predicate == _AT))
    if truncated or not items.marked or (items.errors and not items.placed):
        return None
    there = {(placed.piece, placed.cell) for placed in items.placed}
    taken = {cell for _, cell in there}
    return {atom: atom.args in there if atom.predicate == _AT else atom.args[0] not in taken
            for atom in atoms if atom.predicate in (_AT, _EMPTY)}


def vocabulary_of(pieces: Iterable[str]) -> Vocabulary:
    """Return a vocabulary for boards of any size: the default words and those of the pieces.

    Args:
        pieces: names such as ``light_blue_prism`` and ``tile_5``.
    """
    colours, shapes = dict.fromkeys(COLOURS), dict.fromkeys(EVERY_SHAPE)
    for piece in pieces:
        colour, _, shape = piece.rpartition('_')
        colours[colour.replace('_', ' ')] = shapes[shape] = None
    return Vocabulary(LARGEST, tuple(colours), tuple(shapes))


def read_answer(answer: str, vocabulary: Vocabulary | None = None) -> Items:
    """Read the items after the last "Solution:" outside thoughts; none if the reply refuses."""
    text = plain_text(after_thoughts(answer))
    ends = [found.end() for found in _SOLUTION.finditer(text)]
    if not ends or refuses(text):
        return Items((), {'E8': 1}, marked=False)
    return _items(text[ends[-1]:], vocabulary or Vocabulary())


def read_description(text: str, vocabulary: Vocabulary | None = None) -> Items:
    """Read the items of a list without "Solution:", such as that after ``description:``."""
    return _items(plain_text(text), vocabulary or Vocabulary())


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
    """Return the words of an item; a colour of two words counts as one."""
    text = ' '.join(''.join(mark if mark.isalnum() else ' ' for mark in part).split())
    for colour in vocabulary.colours:
        if ' ' in colour:
            text = re.sub(rf'\b{re.escape(colour)}\b', colour.replace(' ', '\0'), text)
    return [word.replace('\0', ' ') for word in text.split(' ') if word]


def _item(words: Sequence[str], vocabulary: Vocabulary) -> Placed | str:
    """Return an item, or the kind of its format error, a key of ``FORMAT_ERRORS``."""
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
    """Return the kind of format error of an item that begins with a cell.

    Args:
        words: all words of the item.
        rest: the words other than cells.
        colours: the colours in ``rest``.
        shapes: the shapes in ``rest``.
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
