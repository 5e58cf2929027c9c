"""Training questions about household: words, ground atoms, and their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from embedded_model import ANSWER, Words

CATEGORIES: Mapping[str, str] = {
    **dict.fromkeys((
        'apple', 'ball', 'banana', 'basket', 'book', 'bottle', 'bowl', 'box', 'bucket', 'cloth',
        'cup', 'document', 'folder', 'fork', 'gym_shoe', 'hardback', 'knife', 'lemon', 'marker',
        'mug', 'notebook', 'orange', 'pen', 'plaything', 'plate', 'sandwich', 'saucepan',
        'snack_food', 'sock', 'spoon'), 'movable'),
    **dict.fromkeys(('cabinet', 'carton', 'door', 'drawers', 'fridge', 'window'), 'container'),
    **dict.fromkeys(('bed', 'chair', 'coffee_table', 'counter', 'desk', 'shelf', 'sink', 'sofa',
                     'stove', 'table'), 'object')}
"""Kinds of objects and their PDDL types."""
NUMBERS = tuple(str(n) for n in range(1, 9))
PREDICATES = ('reachable', 'holding', 'open', 'ontop', 'nextto', 'inside')
FILLERS = (
    'a', 'agent', 'an', 'answer', 'are', 'at', 'by', 'can', 'currently', 'directly', 'does', 'has',
    'have', 'image', 'is', 'it', 'its', 'of', 'picture', 'please', 'question', 'robot', 's', 'the',
    'there', 'this', 'to', 'you')
REWRITES = (
    (r'[._]n[._]\d+', ''),  # WordNet's suffixes: bowl.n.01_1
    (r'\b(on top of|resting on|standing on|lying on|on)\b', 'ontop'),
    (r'\b(next to|beside)\b', 'nextto'),
    (r'\b((with)?in reach|reached)\b', 'reachable'),
    (r'\b(inside of|inside|in)\b', 'inside'),
    (r'\b(holding|holds?|held)\b', 'holding'))
"""Pattern and replacement of wordings that mean the same as a predicate, the domain's own
included."""
WORDS = Words(
    ('yes', 'no', *PREDICATES, *CATEGORIES, *NUMBERS,
     *(f'{category}_{n}' for category in CATEGORIES for n in NUMBERS)),
    FILLERS, 'a-z0-9_', REWRITES,
    {f'{category}_{n}': (category, n) for category in CATEGORIES for n in NUMBERS})
ID = WORDS.ids
YES, NO = ID['yes'], ID['no']
LENGTH = 4
"""Tokens of the longest question, the answer token included."""
NAME = np.array([[ID[f'{category}_{n}'] for n in NUMBERS] for category in CATEGORIES])
"""(categories, numbers) token of each object."""
_END = ID[ANSWER]
_PREDICATE = tuple(ID[p] for p in PREDICATES)
_CLOSE_PX = 40
SHARES = (
    (0.20, 1.17, 1.81, 1.0), (0.05, 0.29, 1.35, 1.0), (0.29, 0.59, 0.37, 1.0),
    (0.12, 0.67, 4.74, 2.41), (0.24, 0.45, 4.95, 2.67), (0.10, 0.41, 0.73, 0.36))
"""For each predicate: its fraction of the loss, then the mean numbers of true, false and nearly
true atoms per training picture (nearly true: of predicates with two arguments alone)."""
_PAD = ID['<pad>']
_HOLDING = PREDICATES.index('holding')


class SceneTruth:
    """Truth about the objects that are in view.

    Args:
        scene: a row of a shard, ``number`` as it is written in the picture.
    """

    def __init__(self, scene: Mapping[str, Any]) -> None:
        self.seen = np.flatnonzero(scene['visible']).tolist()
        kind = scene['kind']
        self.things = [k for k in self.seen if kind[k] == 1]
        self.boxes = [k for k in self.seen if kind[k] == 2]
        self.token = [int(NAME[c, n - 1]) if c >= 0 else 0
                      for c, n in zip(scene['category'], scene['number'], strict=True)]
        self.category = scene['category']
        self.unary = (scene['reach'], scene['held'], scene['open'])
        self.binary = (scene['ontop'], scene['nextto'], scene['inside'])
        rect = scene['rect'].astype(np.float32)
        gap = np.maximum(np.maximum(rect[:, None, :2] - rect[None, :, 2:],
                                    rect[None, :, :2] - rect[:, None, 2:]), 0).max(-1)
        self.gap = gap

    def domain(self, predicate: int) -> list[int]:
        """Objects that may be the predicate's last argument."""
        return (self.seen, self.things, self.boxes, self.seen, self.seen, self.boxes)[predicate]


class Item(NamedTuple):
    """A question about a scene.

    Attributes:
        ids: tokens, padded.
        position: of the answer token.
        answer: id of the right answer.
        kind: index into PREDICATES.
        about: indices of the objects; -1 for none.
        near: whether a "no" nearly is a "yes": of things close in the picture, or of the same
            kind as some for which it holds.
    """

    ids: list[int]
    position: int
    answer: int
    kind: int
    about: tuple[int, int]
    near: bool


def items(truth: SceneTruth) -> list[Item]:
    """All questions that the grounder would ask about the objects in view."""
    out: list[Item] = []
    for kind, unary in enumerate(truth.unary):
        for a in truth.domain(kind):
            ids = [truth.token[a], _PREDICATE[kind], _END, _PAD]
            if kind == _HOLDING:  # the robot comes first: is it holding the bowl?
                ids[:2] = ids[1::-1]
            out.append(Item(ids, 2, YES if unary[a] else NO, kind, (a, -1), False))
    category = truth.category
    for kind, table in enumerate(truth.binary, start=3):
        pairs = [(a, b) for a in truth.things for b in truth.domain(kind) if a != b]
        alike = {(a, category[b]) for a, b in pairs if table[a, b]} | {
            (category[a], b) for a, b in pairs if table[a, b]}
        for a, b in pairs:
            holds = bool(table[a, b])
            near = not holds and (truth.gap[a, b] < _CLOSE_PX or (a, category[b]) in alike
                                  or (category[a], b) in alike)
            out.append(Item([truth.token[a], _PREDICATE[kind], truth.token[b], _END], 3,
                            YES if holds else NO, kind, (a, b), near))
    return out


def balance(item: Item, hard: float) -> float:
    """Weight of a question that makes yes and no weigh the same, whatever their frequencies.

    Args:
        item: the question.
        hard: fraction of the weight of "no" that near misses have beyond their own share.
    """
    share, yes, no, near = SHARES[item.kind]
    if item.answer == YES:
        return share / 2 / yes
    if item.kind < 3:
        return share / 2 / no
    return share / 2 * ((1 - hard) / no + hard * item.near / near)
