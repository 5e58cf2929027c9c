"""Training questions about blocksworld: truth, paraphrases, balanced and hard sampling.

A scene is a (6, 2) integer table, one row per colour in ``COLOURS`` order: column and height,
both 0-based, -1 when the block is absent.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from embedded_model import ANSWER, Words, make_tokenizer

COLOURS = ('red', 'green', 'blue', 'yellow', 'purple', 'orange')
COLUMNS = tuple(f'c{i}' for i in range(1, 9))
KEYWORDS = ('on', 'top', 'above', 'under', 'topmost', 'clear', 'nothing', 'in', 'left', 'right',
            'which', 'what', 'free', 'not', 'how', 'many', 'highest', 'uncovered')
ANSWERS = ('yes', 'no', 'table', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight')
FILLERS = (
    'a', 'an', 'answer', 'any', 'anything', 'are', 'as', 'at', 'block', 'blocks', 'colored',
    'coloured', 'column', 'columns', 'contain', 'cube', 'cubes', 'directly', 'does', 'exactly',
    'has', 'have', 'image', 'immediately', 'inside', 'is', 'it', 'its', 'itself', 'label',
    'labeled', 'labelled', 'lie', 'located', 'lying', 'marked', 'named', 'of', 'or', 'picture',
    'pile', 'placed', 'please', 'position', 'positioned', 'question', 'resting', 'see', 'side',
    'sit', 'sitting', 'stack', 'stacked', 'stand', 'standing', 'that', 'the', 'there', 'this',
    'to', 'tower', 'with', 'you')
WORDS = Words(COLOURS + COLUMNS + KEYWORDS + ANSWERS, FILLERS)

PREDICATES = ('on', 'clear', 'incolumn', 'leftof', 'rightof')
PARAPHRASES: dict[str, tuple[str, ...]] = {
    'on': (
        'Is the {a} block on top of the {b} block?',
        'Is the {a} block directly on the {b} block?',
        'Is the {a} block stacked on top of the {b} block?',
        'Is the {a} cube resting on the {b} cube?',
        'Is the {a} block immediately above the {b} block?',
        'In the image, is the {a} block on the {b} block?'),
    'clear': (
        'Is the {a} block the topmost of its column?',
        'Is the {a} block the topmost block of its stack?',
        'Is there nothing on top of the {a} block?',
        'Is the {a} block clear?',
        'Is the top of the {a} block free?',
        'Is the {a} block the highest in its column?',
        'Is the {a} block the top block of its column?',
        'Is the {a} block uncovered?'),
    'incolumn': (
        'Is the {a} block in the column labeled "{c}"?',
        'Is the {a} block in column {c}?',
        'Is the {a} block located in the column with the label {c}?',
        'Is the {a} cube in the stack labelled {c}?',
        'Is the {a} block at {c}?',
        'Does column {c} have the {a} block in it?'),
    'leftof': (
        'Is the column labeled "{c}" to the left of the column labeled "{d}"?',
        'Is column {c} left of column {d}?',
        'Is the column with the label {c} on the left side of the column with the label {d}?'),
    'rightof': (
        'Is the column labeled "{c}" to the right of the column labeled "{d}"?',
        'Is column {c} right of column {d}?',
        'Is the column with the label {c} on the right side of the column with the label {d}?'),
    'which': ('Which column is the {a} block in?',),
    'above': ('What is on top of the {a} block?',),
    'under': ('What is under the {a} block?',),
    'columns': ('How many columns are there?',),
    'top': ('What is the topmost block in the column labeled "{c}"?',),
}
LENGTH = 5
"""Tokens of the longest question, the answer token included."""
COUNTS = ('one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight')
ID = WORDS.ids
YES, NO = ID['yes'], ID['no']


@lru_cache(maxsize=1)
def _tokenizer():  # type: ignore[no-untyped-def]
    return make_tokenizer(WORDS)


@lru_cache(maxsize=100_000)
def tokens(kind: str, variant: int, a: int = -1, b: int = -1, c: int = -1,
           d: int = -1) -> tuple[tuple[int, ...], int]:
    """Token ids of one question, padded to LENGTH, and the index of its answer token."""
    text = PARAPHRASES[kind][variant].format(
        a=COLOURS[a], b=COLOURS[b], c=COLUMNS[c], d=COLUMNS[d])
    ids = _tokenizer()(text + ANSWER).input_ids
    if len(ids) > LENGTH:
        raise ValueError(f'{text!r} has {len(ids)} tokens, more than {LENGTH}')
    return tuple(ids) + (ID['<pad>'],) * (LENGTH - len(ids)), len(ids) - 1


class SceneTruth:
    """Every fact of one scene that a question may be about; absent things make an atom false."""

    def __init__(self, table: Sequence[Sequence[int]], columns: int) -> None:
        self.columns = columns
        self.place = [(int(p[0]), int(p[1])) for p in table[:6]]
        self.present = [i for i, p in enumerate(self.place) if p[0] >= 0]
        self.absent = [i for i, p in enumerate(self.place) if p[0] < 0]
        at = {p: i for i, p in enumerate(self.place) if p[0] >= 0}
        self.above = [at.get((c, h + 1), -1) if c >= 0 else -1 for c, h in self.place]
        self.below = [at.get((c, h - 1), -1) if c >= 0 else -1 for c, h in self.place]
        self.top = [-1] * 8
        for i in self.present:
            if self.above[i] < 0:
                self.top[self.place[i][0]] = i

    def on(self, a: int, b: int) -> bool:
        """Block a lies directly on block b."""
        return self.below[a] == b

    def clear(self, a: int) -> bool:
        """Whether block a is in the scene and nothing lies on it."""
        return self.place[a][0] >= 0 and self.above[a] < 0

    def incolumn(self, a: int, c: int) -> bool:
        """Block a is in column c."""
        return self.place[a][0] == c

    def leftof(self, c: int, d: int) -> bool:
        """Columns c and d are there and c is to the left of d."""
        return c < d < self.columns

    def rightof(self, c: int, d: int) -> bool:
        """Columns c and d are there and c is to the right of d."""
        return d < c < self.columns


KINDS = ('on', 'incolumn', 'clear', 'leftof', 'rightof', 'which', 'above', 'under', 'columns',
         'top')
_WEIGHTS = (30, 22, 16, 7, 7, 5, 4, 4, 2, 3)


def sample(rng: random.Random, truth: SceneTruth) -> tuple[tuple[int, ...], int, int, int]:
    """Draw a question: (token ids, answer position, answer id, index of its kind in KINDS).

    Yes and no are equally likely wherever the scene allows it. "No" prefers near misses: the
    right blocks in the wrong order, the right height in the next column, the next column.
    Some ask about blocks or columns that are not there, or about a thing and itself (no).
    """
    kind = rng.choices(KINDS, _WEIGHTS)[0]
    variant = rng.randrange(len(PARAPHRASES[kind]))
    wanted, odd = rng.random() < 0.5, rng.random()
    n = truth.columns
    a = rng.choice(truth.present)
    b = c = d = -1
    if kind == 'on':
        pairs = [(x, truth.below[x]) for x in truth.present if truth.below[x] >= 0]
        if wanted and pairs:
            a, b = rng.choice(pairs)
        elif odd < 0.08:
            b = a
        elif odd < 0.16 and truth.absent:
            b = rng.choice(truth.absent)
            a, b = (a, b) if rng.random() < 0.5 else (b, a)
        else:
            near = []
            if odd < 0.42:
                near = [(x, y) for x in truth.present for y in truth.present
                        if x != y and truth.place[x][0] == truth.place[y][0]
                        and truth.below[x] != y]
            elif odd < 0.84:
                near = [(x, y) for x in truth.present for y in truth.present
                        if truth.place[x][0] != truth.place[y][0]
                        and truth.place[x][1] - truth.place[y][1] in (0, 1)
                        and truth.below[x] >= 0]
            near = near or [(x, y) for x in truth.present for y in truth.present
                            if truth.below[x] != y]
            a, b = rng.choice(near)
        answer = truth.on(a, b)
    elif kind == 'clear':
        if odd < 0.06 and truth.absent:
            a = rng.choice(truth.absent)
        else:
            fits = [x for x in truth.present if truth.clear(x) == wanted]
            a = rng.choice(fits) if fits else a
        answer = truth.clear(a)
    elif kind == 'incolumn':
        c = truth.place[a][0]
        if not wanted:
            if odd < 0.08 and truth.absent:
                a, c = rng.choice(truth.absent), rng.randrange(n)
            elif odd < 0.16 and n < 8:
                c = rng.randrange(n, 8)
            elif odd < 0.6:
                c = rng.choice([x for x in (c - 1, c + 1) if 0 <= x < 8])
            else:
                c = rng.choice([x for x in range(8) if x != c and (x < n or n == 1)])
        answer = truth.incolumn(a, c)
    elif kind in ('leftof', 'rightof'):
        if odd < 0.08:
            c = d = rng.randrange(n)
        elif odd < 0.3 and n < 8:
            c, d = rng.randrange(n), rng.choice([n, rng.randrange(n, 8)])
            c, d = (c, d) if rng.random() < 0.5 else (d, c)
        elif n > 1:
            c, d = sorted(rng.sample(range(n), 2))
            c, d = (c, d) if wanted == (kind == 'leftof') else (d, c)
        else:
            c = d = 0
        answer = truth.leftof(c, d) if kind == 'leftof' else truth.rightof(c, d)
    else:
        if kind == 'which':
            word = COLUMNS[truth.place[a][0]]
        elif kind == 'above':
            word = COLOURS[truth.above[a]] if truth.above[a] >= 0 else 'nothing'
        elif kind == 'under':
            word = COLOURS[truth.below[a]] if truth.below[a] >= 0 else 'table'
        elif kind == 'top':
            c = rng.randrange(n)
            word = COLOURS[truth.top[c]] if truth.top[c] >= 0 else 'nothing'
        else:
            a, word = -1, COUNTS[n - 1]
        ids, position = tokens(kind, variant, a if kind != 'top' else -1, b, c, d)
        return ids, position, ID[word], KINDS.index(kind)
    ids, position = tokens(kind, variant, a, b, c, d)
    return ids, position, YES if answer else NO, KINDS.index(kind)


def scene_labels(table: NDArray[np.int8], columns: NDArray[np.int8]) -> NDArray[np.int64]:
    """Targets of the auxiliary loss: the facts that the hidden state of a name must encode.

    Args:
        table: (n, 6, 2) column and height of each colour, -1 absent.
        columns: (n,) number of columns.

    Returns:
        (n, 14, 4) int64: for the 6 colours column (8 absent), height (6 absent), block above
        (6 nothing, 7 absent), block below (6 table, 7 absent); for the 8 columns: 1 if it is
        there, number of blocks, topmost block (6 none, 7 no such column), 0.
    """
    table = table.astype(np.int64)
    n = len(table)
    labels = np.zeros((n, 14, 4), np.int64)
    column, height = table[:, :6, 0], table[:, :6, 1]
    there = column >= 0
    labels[:, :6, 0] = np.where(there, column, 8)
    labels[:, :6, 1] = np.where(there, height, 6)
    labels[:, :6, 2:] = np.where(there, 6, 7)[..., None]
    for a in range(6):
        for b in range(6):
            on = there[:, a] & (column[:, a] == column[:, b]) & (height[:, b] == height[:, a] + 1)
            labels[on, a, 2] = b
            labels[on, b, 3] = a
    for c in range(8):
        exists = columns > c
        inside = (column == c)
        count = inside.sum(1)
        top = np.where(inside, height, -1).argmax(1)
        labels[:, 6 + c, 0] = exists
        labels[:, 6 + c, 1] = count
        labels[:, 6 + c, 2] = np.where(~exists, 7, np.where(count > 0, top, 6))
    return labels
