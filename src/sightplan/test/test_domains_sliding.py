"""Boards of sliding puzzles: searches against brute force, and known facts decided early."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.domains.sliding import boards, marks, planner
from sightplan.domains.sliding.configs import Config
from sightplan.domains.sliding.formats import problem_of
from sightplan.domains.sliding.generator import COLOURS, SHAPES, Settings, draw
from sightplan.model import Atom, InputError, Literal, PlanningStatus

SLIDING = load_domain('sliding')
GEOMS = [f'{colour}_{shape}' for colour in COLOURS for shape in SHAPES]


def distances_from(size, start):
    """Moves to every arrangement that can be reached, breadth first."""
    found, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for move in boards.legal_moves(size, here):
            after = boards.slide(size, here, move)
            if after not in found:
                found[after] = found[here] + 1
                queue.append(after)
    return found


def puzzle(size, start, goal):
    pieces = tuple(GEOMS[:len(start)])
    kinds = tuple(name.partition('_')[2] for name in pieces)
    return problem_of(SLIDING, Config('p', size, pieces, kinds, start, goal, None, None, {}), 'p')


@pytest.mark.parametrize('count', [1, 2, 3, 4])
def test_all_boards_of_4_cells_are_solved_as_brute_force_solves_them(count):
    arrangements = list(itertools.permutations(range(4), count))
    for start in arrangements:
        reached = distances_from(2, start)
        for goal in arrangements:
            found = boards.shortest(2, start, goal)
            assert boards.solvable(2, start, goal) is (goal in reached)
            assert (None if found.moves is None else len(found.moves)) == reached.get(goal)
            assert found.complete


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(9)), st.permutations(range(9)), st.integers(1, 2),
       st.floats(1.0, 5.0))
def test_plans_are_shortest_legal_and_within_the_weight(start, goal, count, weight):
    start, goal = tuple(start[:count]), tuple(goal[:count])
    moves = boards.shortest(3, start, goal, weight=weight).moves
    here = start
    for move in moves:
        here = boards.slide(3, here, move)
    optimal = distances_from(3, start)[goal]
    assert here == goal
    assert optimal <= len(moves) <= weight * optimal
    assert boards.manhattan(3, start, goal) <= optimal
    assert len(boards.shortest(3, start, goal).moves) == optimal


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 3), st.data())
def test_known_facts_decided_early_change_nothing(size, data):
    count = data.draw(st.integers(1, size * size - 1))
    start, goal = (tuple(data.draw(st.permutations(range(size * size)))[:count])
                   for _ in range(2))
    problem = puzzle(size, start, goal)
    early = SLIDING.model(problem)
    late = SLIDING.model(dataclasses.replace(problem, known=frozenset()))
    state = problem.init
    assert early.actions == late.actions
    for _ in range(6):
        legal = [action for action in late.actions if late.applicable(action, state)]
        assert legal == [action for action in early.actions if early.applicable(action, state)]
        assert len(legal) == len(boards.legal_moves(size, boards.Board.of(problem).arrangement(
            state)))
        for action in late.actions:
            assert early.effects(action, state) == late.effects(action, state)
        if not legal:
            return
        action = data.draw(st.sampled_from(legal))
        assert early.apply(action, state) == late.apply(action, state)
        state = early.apply(action, state)
    assert not any(atom.predicate == 'next' for atom in early.conditions())


@pytest.mark.parametrize('search', ['', 'short', 'optimal'])
def test_the_planner_solves_and_knows_the_other_parity(search):
    problem = puzzle(3, (0, 1, 2), (2, 1, 0))
    result = planner.plan(problem, search)
    assert SLIDING.model(problem).first_flaw(result.plan, problem.init, problem.goal) is None
    odd = puzzle(2, (0, 1, 2), (1, 0, 2))
    assert planner.plan(odd, search).status is PlanningStatus.UNSOLVABLE


@pytest.mark.parametrize(('change', 'message'), [
    (lambda p: {'init': p.init - {Atom('next', ('a1', 'b1', 'right'))}}, 'next'),
    (lambda p: {'init': p.init - {Atom('at', ('red_cube', 'a1'))}}, 'red_cube is nowhere'),
    (lambda p: {'init': p.init | {Atom('at', ('red_cube', 'b2'))}}, 'red_cube is at two cells'),
    (lambda p: {'goal': p.goal[1:]}, 'red_cube is nowhere'),
    (lambda p: {'goal': (*p.goal, Literal(Atom('at', ('red_cube', 'b1')), False))}, 'contradicts'),
])
def test_the_planner_leaves_what_is_no_whole_board_to_others(change, message):
    problem = puzzle(2, (0, 2), (1, 2))
    with pytest.raises(InputError, match=message):
        planner.plan(dataclasses.replace(problem, **change(problem)), '')


@pytest.mark.parametrize('what', [marks.PAST, marks.ACTIVE, marks.GOAL])
def test_marks_replace_the_background_alone(what):
    image = np.full((120, 160, 3), marks.TINTS[marks.ACTIVE], np.uint8)
    image[60:80, 20:60] = (1, 2, 3)
    image[100, 100] = (82, 138, 175)  # nearly the background
    before = image.copy()
    marked = marks.mark(image, what)
    assert (image == before).all()
    assert (marked[60:80, 20:60] == (1, 2, 3)).all()
    assert tuple(marked[100, 100]) == (82, 138, 175)
    assert tuple(marked[119, 0]) == marks.TINTS[what]
    assert (marked[:30, 90:] == 255).all(axis=-1).any()


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_seed_draws_one_puzzle_of_the_wanted_length(seed, tiles):
    wanted = Settings(tiles=tiles, size=3, min_pieces=2, max_pieces=5, min_length=2, max_length=6)
    found = draw(wanted, seed)
    assert found == draw(wanted, seed)
    if found is not None:
        assert len(boards.shortest(3, found.start, found.goal).moves) == found.c1
        assert found.c1 == 2 + seed % 5
