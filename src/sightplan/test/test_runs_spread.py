"""Which problems a part of a split has."""

import itertools
from collections import Counter

import pytest

from sightplan.runs import RunSettings, specify
from sightplan.runs.spread import chosen, spread


def problems_of(**settings):
    return [(item.split, item.problem.name) for item in specify(RunSettings(**settings)).items]


@pytest.mark.parametrize(('split', 'tasks'), [('simple', 5), ('medium', 6), ('hard', 5)])
def test_a_part_of_a_household_split_has_all_tasks_equally_often(split, tasks):
    for rounds in (1, 2):
        found = problems_of(domain='household', split=split, episodes=rounds * tasks)
        of_task = Counter(name.rstrip('0123456789') for _, name in found)
        assert len(of_task) == tasks and set(of_task.values()) == {rounds}


def test_a_part_of_all_splits_has_each_of_them_equally_often():
    found = problems_of(domain='blocksworld', split='all', episodes=7)
    assert Counter(split for split, _ in found) == {'simple': 3, 'medium': 2, 'hard': 2}


def test_a_larger_part_begins_with_the_smaller_one_and_is_spread_over_the_list():
    parts = [problems_of(split='simple', episodes=count) for count in range(1, 25)]
    assert all(longer[:-1] == part for part, longer in itertools.pairwise(parts))
    numbers = [int(name[-2:]) for _, name in parts[3]]
    assert sorted(numbers) == [0, 8, 16, 24], 'not the first four'


def test_whole_rounds_keep_the_order_of_the_problems_and_a_part_of_one_follows():
    pairs = [(item.split, item.problem) for item in specify(RunSettings(split='simple')).items]
    assert chosen(25, pairs) == [(0, index) for index in range(25)]
    assert chosen(52, pairs)[50:] == [(2, 0), (2, 16)]
    assert sorted(spread(pairs)) == list(range(25)), 'each once'
