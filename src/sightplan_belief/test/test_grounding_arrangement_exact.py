"""Beliefs over arrangements on small boards, against exact enumeration of all of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import Board, cell_names, next_atoms, slide
from sightplan.model import Action, Answer, Atom, Literal, Problem, Verdict
from sightplan_belief.arrangement import (
    LISTED,
    ArrangementBelief,
    Structure,
    k_best,
    neighbours,
    structure_of,
    targets,
)
from sightplan_belief.constraints import read_constraints
from sightplan_belief.observation_model import ObservationModel

PIECES = ('red_cube', 'blue_sphere', 'green_pyramid')
DIRECTIONS = ('left', 'right', 'up', 'down')
SLIDING = load_domain('sliding')


class Small:
    """A board of 2x2 cells with two pieces, or of 3x3 with three."""

    def __init__(self, size: int) -> None:
        self.size, pieces = size, PIECES[:size]
        kinds = tuple(piece.rpartition('_')[2] for piece in pieces)
        board = Board(size, pieces, kinds)
        cells = cell_names(size)
        start = tuple(range(size))
        self.problem = Problem(
            'small', 'sliding', {**dict(zip(pieces, kinds, strict=True)),
                                 **dict.fromkeys(cells, 'cell')},
            board.facts(start) | next_atoms(size),
            tuple(Literal(Atom('at', (piece, cells[cell]))) for piece, cell in zip(
                pieces, start, strict=True)), SLIDING.pddl, known=next_atoms(size))
        self.model = SLIDING.model(self.problem)
        found = structure_of(SLIDING, self.problem, read_constraints(SLIDING))
        assert found is not None
        self.structure: Structure = found
        self.all = list(itertools.permutations(range(size * size), size))
        self.targets = {(thing, way): targets(self.structure, self.model, Action(
            'move', (piece, way)), piece) for thing, piece in enumerate(self.structure.things)
            for way in DIRECTIONS}

    def belief(self, table: np.ndarray | None = None) -> ArrangementBelief:
        found = ArrangementBelief(self.structure, ObservationModel.default(),
                                  neighbours(self.structure, self.model))
        if table is not None:
            found.table[:] = table
        return found

    def weights(self, table: np.ndarray) -> dict[tuple[int, ...], float]:
        return {p: math.exp(sum(table[row, place] for row, place in enumerate(p)))
                for p in self.all}


BOARDS = {size: Small(size) for size in (2, 3)}


def agrees(belief: ArrangementBelief, exact: dict[tuple[int, ...], float],
           tolerance: float = 1e-6) -> None:
    """The listed arrangements are the weightiest ones, with their share among these."""
    found = dict(belief.best(LISTED))
    total = sum(exact[placement] for placement in found)
    for placement, weight in found.items():
        assert weight == pytest.approx(exact[placement] / total, abs=tolerance)
    left = max((weight for p, weight in exact.items() if p not in found), default=0.0)
    assert left <= min(exact[p] for p in found) * (1 + 1e-3) + tolerance * total


def tables(size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(-6.0, 0.0), min_size=size ** 3, max_size=size ** 3).map(
        lambda values: np.array(values).reshape(size, size * size))


cases = st.sampled_from(list(BOARDS)).flatmap(
    lambda size: st.tuples(st.just(BOARDS[size]), tables(size)))


def test_targets_and_neighbours_are_those_of_the_board() -> None:
    for board in BOARDS.values():
        for (thing, way), target in board.targets.items():
            for place, other in enumerate(target):
                alone = tuple(place if row == thing else -1 - row
                              for row in range(len(board.structure.things)))
                moved = slide(board.size, alone, (thing, way))
                assert other == (None if moved is None else moved[thing])
        assert neighbours(board.structure, board.model) == {
            place: frozenset(target[place] for (thing, _), target in board.targets.items()
                             if thing == 0 and target[place] is not None)
            for place in range(board.size ** 2)}


def test_states_hold_what_the_board_says() -> None:
    for board in BOARDS.values():
        for placement in board.all:
            drawn = Board(board.size, board.structure.things, ('',) * board.size)
            assert board.structure.state(placement) == drawn.facts(placement)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_the_best_arrangements_of_a_table_are_those_of_enumeration(case) -> None:
    board, table = case
    agrees(board.belief(table), board.weights(table))


@settings(max_examples=60, deadline=None)
@given(cases, st.integers(0, 2), st.sampled_from(DIRECTIONS), st.data())
def test_moving_a_piece_whose_place_is_known_is_bayes(case, thing, way, data) -> None:
    """Whatever is believed of the others: they are not where it was, nor where it is."""
    board, table = case
    thing %= board.size
    target = board.targets[thing, way]
    place = data.draw(st.sampled_from([p for p, other in enumerate(target) if other is not None]))
    table[thing] = -30.0
    table[thing, place] = 0.0
    belief = board.belief(table)
    exact = dict.fromkeys(board.all, 0.0)
    for placement, weight in board.weights(table).items():
        moved = slide(board.size, placement, (thing, way))
        if moved is not None:
            exact[moved] += weight
    belief.move(thing, target, 1.0 - 1e-9)
    agrees(belief, exact, 1e-4)


@settings(max_examples=40, deadline=None)
@given(cases, st.lists(st.tuples(st.sampled_from('armexp'), st.integers(0, 2),
                                 st.integers(0, 8), st.sampled_from(DIRECTIONS),
                                 st.sampled_from(list(Verdict))), max_size=8))
def test_whatever_is_learnt_a_belief_is_a_distribution_over_arrangements(case, learnt) -> None:
    board, table = case
    belief = board.belief(table - table.max(axis=1, keepdims=True))
    for what, thing, place, way, verdict in learnt:
        thing, place = thing % board.size, place % board.size ** 2
        target = board.targets[thing, way]
        if what == 'a':
            atom = board.structure.atoms[thing * board.size ** 2 + place]
            belief.answer({atom: Answer(verdict=verdict)})
        elif what == 'e':
            belief.answer({board.structure.empties[place]: Answer(verdict=verdict)})
        elif what == 'm':
            belief.move(thing, target, 0.9)
        elif what == 'r':
            belief.refused(thing, target, 0.05)
        elif what == 'x':
            belief.exclude(belief.best(1)[0][0], 0.7)
        else:
            belief.prefer(board.all[place], 0.05)
        assert np.isfinite(belief.table).all()
        assert belief.table.max(axis=1) == pytest.approx(np.zeros(board.size))
        best = belief.best(LISTED)
        assert sum(weight for _, weight in best) == pytest.approx(1.0)
        assert [w for _, w in best] == sorted((w for _, w in best), reverse=True)
        assert len({placement for placement, _ in best}) == len(best)
        assert all(len(set(placement)) == board.size for placement, _ in best)
        marginals = np.array(list(belief.marginals().values())).reshape(table.shape)
        assert marginals.sum(axis=1) == pytest.approx(np.ones(board.size), abs=2e-3)
        assert marginals.sum(axis=0).max() <= 1.0 + 2e-3, 'one piece a cell'


def test_equal_weights_are_listed_once_each() -> None:
    found = k_best(np.zeros((3, 5)), 100)
    assert sorted(placement for placement, _ in found) == list(
        itertools.permutations(range(5), 3))


@pytest.mark.parametrize('shape', [(3, 3), (4, 4), (1, 1)])
def test_a_full_board_has_as_many_arrangements_as_permutations(shape: tuple[int, int]) -> None:
    table = np.random.default_rng(5).normal(0.0, 3.0, shape)
    found = k_best(table, 100)
    wanted = sorted((sum(table[row, c] for row, c in enumerate(p))
                     for p in itertools.permutations(range(shape[1]))), reverse=True)
    assert [score for _, score in found] == pytest.approx(wanted)


def test_places_that_cannot_be_are_not_listed() -> None:
    table = np.zeros((2, 3))
    table[0, 1:] = -1e6
    assert {placement for placement, _ in k_best(table, 10)} == {(0, 1), (0, 2)}
