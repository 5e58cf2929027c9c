"""noisy_reader scored as a model would be: how near it comes to the published numbers.

Its pieces are read with the published frequencies. Board-state inference then matches what was
read with what is there so that least is wrong, and may take a misread piece for another one:
so fewer colours and shapes are wrong than were misread, and an invented piece is often matched
with one that was missed. What remains is asserted here, number by number.
"""

from __future__ import annotations

import functools
import json
import math
import random

import pytest

from sightplan.domains.sliding.boards import Board, cell_names, next_atoms
from sightplan.model import State
from sightplan_models import noisy_reader
from sightplan_models.noisy_reader import Backend, Settings
from sightplan_suites.ivispar.inference import COLOURS, SHAPES, Items, Placed, compare

COUNTS = ('correct', 'missed', 'hallucinated', 'coordinate', 'colour', 'shape', 'format')
PUBLISHED = json.loads(noisy_reader._RATES.read_text('utf-8'))['models']
N = 1000

_FIT = {'correct': 0.03, 'coordinate': 0.09}
"""How much fewer or more there may be besides chance, as a fraction of the published number."""


@functools.cache
def boards() -> tuple[tuple[tuple[Placed, ...], State], ...]:
    """As many with each number of pieces from 2 to 11, 6.5 on average."""
    rng, names, found = random.Random(7), cell_names(4), []
    kinds = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    for number in range(N):
        count = 2 + number % 10
        cells, pieces = rng.sample(range(16), count), rng.sample(kinds, count)
        placed = tuple(Placed(names[cell], *kind) for cell, kind in zip(
            cells, pieces, strict=True))
        board = Board(4, tuple('_'.join(kind) for kind in pieces),
                      tuple(shape for _, shape in pieces))
        found.append((placed, board.facts(tuple(cells)) | next_atoms(4)))
    return tuple(found)


class NoTruth:
    """Never asked: states are given."""

    def state(self, stamp_ns: int | None = None) -> State:
        raise AssertionError(stamp_ns)

    def last_outcome(self) -> str:
        return ''


def scored(table: str, view: str) -> dict[str, float]:
    """Mean counts a board."""
    reader = Backend(Settings(table=table, view=view, repeat=0.0, seed=11), NoTruth())
    sums = dict.fromkeys(COUNTS, 0)
    for number, (board, state) in enumerate(boards()):
        read = reader._reading(state, False, f'{number:016x}')
        if read is None:  # each piece is a format error, as without "Solution:"
            sums['format'] += len(board)
            continue
        said = tuple(Placed(cell, *piece.split('_')) for piece, cell in sorted(read))
        found = compare(Items(said, {}), board)
        for name in COUNTS[:-1]:
            sums[name] += getattr(found, name)
    return {name: count / N for name, count in sums.items()}


@pytest.mark.parametrize('view', ['3d', '2d'])
@pytest.mark.parametrize('table', [
    table if number == 0 else pytest.param(table, marks=pytest.mark.slow)
    for number, table in enumerate(PUBLISHED)])
def test_every_published_number(table: str, view: str) -> None:
    published = dict(zip(COUNTS, PUBLISHED[table][view], strict=True))
    found = scored(table, view)
    for name, fraction in _FIT.items():
        chance = 4.0 * math.sqrt(1.3 * published[name] / N)  # 4 standard errors, as below
        assert found[name] == pytest.approx(
            published[name], abs=fraction * published[name] + chance), name
    # Each of the 2 to 11 pieces of a board that is not read at all is an error.
    assert found['format'] == pytest.approx(
        published['format'], abs=4.0 * math.sqrt(7.8 * published['format'] / N))
    for name in ('colour', 'shape'):  # up to a quarter are explained by another piece
        assert (0.72 * published[name] - 0.05 <= found[name]
                <= 1.1 * published[name] + 0.08), name
    # An invented piece takes the place of one that was missed: both become fewer, alike.
    invented, gone = published['hallucinated'], published['missed'] - found['missed']
    assert -0.05 <= found['hallucinated'] <= invented
    assert -0.1 <= gone <= invented + 0.1
    assert gone == pytest.approx(invented - found['hallucinated'], abs=0.12)


def test_a_perfect_reader_scores_all_and_nothing_else() -> None:
    assert scored('perfect', '3d') == {**dict.fromkeys(COUNTS, 0.0), 'correct': 6.5}
