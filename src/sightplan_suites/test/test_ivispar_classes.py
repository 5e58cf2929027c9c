"""iVISPAR: the classes of attempted moves, by hand and against a search of all arrangements."""

from __future__ import annotations

import random

import pytest

from sightplan.domains.sliding import boards
from sightplan.domains.sliding.replies import read_command
from sightplan_suites.ivispar.classes import CLASSES, Distances, attempts, classify

PIECES = ('red_cube', 'blue_sphere', 'green_pyramid')
START = (0, 1, 5)  # a1, b1 and b2 of a board of 4 x 4 cells
GOAL = (8, 1, 6)  # a3, b1, c2


def kinds(text, started=True, arrangement=START, distances=None):
    made = attempts(read_command(text), PIECES, arrangement, distances or Distances(4, GOAL),
                    started)
    return [(one.kind, one.reason, one.distance) for one in made]


@pytest.mark.parametrize(('text', 'expected'), [
    ('move red cube up', [('EM', '', 2)]),
    ('move green pyramid right', [('EM', '', 2)]),
    ('move blue sphere right', [('IM', '', 4)]),
    ('move red cube right', [('OD', '', 3)]),
    ('move blue sphere up', [('OD', '', 3)]),
    ('move red cube left', [('OB', '', 3)]),
    ('move blue sphere down', [('OB', '', 3)]),
    ('move red sphere up', [('IC', 'absent', 3)]),
    ('move red cube', [('IC', 'no_direction', 3)]),
    ('move cube up', [('IC', 'no_colour', 3)]),
    ('move it up', [('IC', 'no_object', 3)]),
    ('hello', [('IC', 'no_command', 3)]),
    ('start', [(None, 'not_a_move', 3)]),
    ('move red cube up 3', [('EM', '', 2), ('EM', '', 1), ('IM', '', 2)]),
    ('move blue sphere right 3', [('IM', '', 4), ('IM', '', 5), ('OB', '', 5)]),
])
def test_every_class_by_hand(text, expected):
    assert kinds(text) == expected


def test_a_move_before_the_start_is_illegal():
    assert kinds('move red cube up', started=False) == [('IC', 'not_started', 3)]
    assert kinds('move red cube', started=False) == [('IC', 'no_direction', 3)]
    assert kinds('start', started=False) == [(None, 'not_a_move', 3)]


def test_a_move_into_the_way_of_another_piece_is_judged_by_the_exact_distance():
    """Two pieces trade places in a row; the sum of distances would misjudge the side step."""
    distances = Distances(2, (1, 0))
    made = classify((0, 'up'), (0, 1), distances)
    assert (made.kind, made.distance, distances.of((0, 1))) == ('EM', 3, 4)
    assert boards.manhattan(2, made.arrangement, (1, 0)) > boards.manhattan(2, (0, 1), (1, 0))


def test_where_the_distance_is_not_known_the_moved_piece_decides():
    distances = Distances(4, GOAL, limit=1)
    assert kinds('move red cube up', distances=distances) == [('EM', 'distance unknown', None)]
    assert kinds('move blue sphere right', distances=distances) == [
        ('IM', 'distance unknown', None)]
    assert kinds('move red cube left', distances=distances) == [('OB', '', None)]
    swapped = Distances(2, (1, 0, 2))  # three pieces on four cells: no way leads there
    assert swapped.of((0, 1, 2)) is None


def test_distances_are_those_of_a_search_of_all_arrangements():
    goal = (4, 0, 3, 7)
    left, ring = {goal: 0}, [goal]
    while ring:
        ring = [after for here in ring for move in boards.legal_moves(3, here)
                if (after := boards.slide(3, here, move)) not in left
                and left.setdefault(after, left[here] + 1)]
    assert len(left) == 9 * 8 * 7 * 6
    rng, distances = random.Random(3), Distances(3, goal)
    for here in rng.sample(sorted(left), 150):
        assert distances.of(here) == left[here]
    assert all(distance == left[here] for here, distance in distances._known.items())
    for here in rng.sample(sorted(left), 50):
        for move in boards.legal_moves(3, here):
            found = classify(move, here, distances)
            rises = left[found.arrangement] - left[here]
            assert (found.kind, rises) in (('EM', -1), ('IM', 1)) and found.kind in CLASSES
