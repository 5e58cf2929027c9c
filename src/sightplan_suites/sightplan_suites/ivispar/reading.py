"""Replies about boards: ``Solution: a3 green sphere, d1 blue cylinder``, and back.

An answer is plain JSON data: ``items`` (cell, colour and shape of each item that is right in form)
and ``errors`` (number of the others, by kind, see ``inference.FORMAT_ERRORS``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.domains.sliding.boards import cell_names
from sightplan.model import Answer
from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import Unread
from sightplan_suites.ivispar.inference import Items, Placed, perfect_answer, read_answer
from sightplan_suites.ivispar.samples import vocabulary_of

_FEWEST, _MOST = 2, 11
"""Pieces on the paper's boards."""


def read(text: str, item: Sample) -> dict[str, Any]:
    """The items of a reply.

    Raises:
        Unread: it has no "Solution:".
    """
    found = read_answer(text, vocabulary_of(item))
    if not found.marked:
        raise Unread('no "Solution:"' if text.strip() else 'empty reply')
    return {'items': [[one.cell, one.colour, one.shape] for one in found.placed],
            'errors': dict(found.errors)}


def items_of(answer: Mapping[str, Any] | None) -> Items:
    """Items of an answer that ``read`` gave, for ``inference``; None: no "Solution:" was found."""
    if answer is None:
        return Items((), {}, marked=False)
    return Items(tuple(Placed(*entry) for entry in answer['items']), answer['errors'])


def write(truth: Sequence[Sequence[str]], item: Sample) -> str:
    """Right reply about a board."""
    return perfect_answer([Placed(*entry) for entry in truth])


def guess(item: Sample, rng: random.Random) -> str:
    """A valid reply at random: a number of different pieces, on as many cells."""
    known = vocabulary_of(item)
    kinds = list(itertools.product(known.colours, known.shapes))
    cells = cell_names(known.size)
    most = min(_MOST, len(kinds), len(cells))
    count = rng.randint(min(_FEWEST, most), most)
    return perfect_answer([Placed(cell, *kind) for cell, kind in zip(
        sorted(rng.sample(cells, count)), rng.sample(kinds, count), strict=True)])


def compose(item: Sample, answers: Sequence[Answer]) -> dict[str, Any]:
    """The items that follow from yes/no answers about every piece on every cell.

    Where answers have probabilities, a cell on which some piece is with probability 1/2 or more
    has the piece that is most likely there; else each piece whose answer is yes is listed.
    """
    placed: list[list[str]] = []
    pairs = zip(item.questions, answers, strict=True)
    for cell, found in itertools.groupby(pairs, key=lambda pair: pair[0].atom.args[1]):
        here = list(found)
        if all(answer.p_yes is not None for _, answer in here):
            chances = [answer.p_yes or 0.0 for _, answer in here]
            best = max(range(len(here)), key=chances.__getitem__)
            chosen = [here[best]] if sum(chances) >= 0.5 else []
        else:
            chosen = [pair for pair in here if pair[1].verdict.says]
        for question, _ in chosen:
            colour, _, shape = question.atom.args[0].rpartition('_')
            placed.append([cell, colour.replace('_', ' '), shape])
    return {'items': placed, 'errors': {}}
