"""What a household's model reads and is asked: words, ground atoms, balanced and hard sampling."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

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
"""Ways to say the same; the domain's own questions are among them."""
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
_WEIGHTS = (18, 10, 16, 20, 18, 18)
_PAD = ID['<pad>']
_HOLDING = PREDICATES.index('holding')


class SceneTruth:
    """What holds between the objects that are in view.

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
        """What the predicate may say something about, its second argument if it has two."""
        return (self.seen, self.things, self.boxes, self.seen, self.seen, self.boxes)[predicate]


def sample(rng: random.Random, truth: SceneTruth, natural: float,
           ) -> tuple[list[int], int, int, int, tuple[int, int]] | None:
    """One question: (token ids, answer position, answer id, predicate, the objects' indices).

    With probability ``natural`` it is any ground atom of the predicate, as the grounder asks them.
    Else yes and no are equally likely wherever the scene allows it, and "no" prefers near misses:
    things that are close in the picture, or of the same kind as one for which it holds.
    None: nothing of the predicate can be asked here.
    """
    predicate = rng.choices(range(6), _WEIGHTS)[0]
    second = truth.domain(predicate)
    if not second:
        return None
    plain = rng.random() < natural
    if predicate < 3:
        table = truth.unary[predicate]
        a, b = rng.choice(second), -1
        if not plain:
            wanted = rng.random() < 0.5
            fits = [k for k in second if bool(table[k]) is wanted]
            a = rng.choice(fits) if fits else a
        answer = bool(table[a])
        ids = [truth.token[a], _PREDICATE[predicate], _END, _PAD]
        if predicate == _HOLDING:  # the robot comes first: is it holding the bowl?
            ids[:2] = ids[1::-1]
        return ids, 2, YES if answer else NO, predicate, (a, b)
    table = truth.binary[predicate - 3]
    first = truth.things if rng.random() < 0.95 else truth.seen
    pairs = [(x, y) for x in first for y in second if x != y]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    if not plain:
        right = [pair for pair in pairs if table[pair]]
        if right and rng.random() < 0.5:
            a, b = rng.choice(right)
        else:
            wrong = [pair for pair in pairs if not table[pair]]
            kind = rng.random()
            near: list[tuple[int, int]] = []
            if kind < 0.5:
                near = [pair for pair in wrong if truth.gap[pair] < 40]
            elif kind < 0.8:
                alike = {(x, truth.category[y]) for x, y in right} | {
                    (truth.category[x], y) for x, y in right}
                near = [(x, y) for x, y in wrong if (x, truth.category[y]) in alike
                        or (truth.category[x], y) in alike]
            a, b = rng.choice(near or wrong or pairs)
    answer = bool(table[a, b])
    ids = [truth.token[a], _PREDICATE[predicate], truth.token[b], _END]
    return ids, 3, YES if answer else NO, predicate, (a, b)
