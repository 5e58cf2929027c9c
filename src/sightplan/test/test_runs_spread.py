"""Which problems a part of a split has."""

import itertools
import re
from collections import Counter

import pytest

from sightplan.runs import RunSettings, specify
from sightplan.runs import spread as spreading
from sightplan.runs.spread import chosen, kind_of_problem, spread


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
    kinds = [(split, kind_of_problem(problem.name)) for split, problem in pairs]
    assert sorted(spread(kinds)) == list(range(25)), 'each once'


def numbers_of(name):
    return tuple(map(int, re.search(r'_g_(\d+)_c1_(\d+)_', name).groups()))


@pytest.mark.parametrize('count', [2, 5, 10, 20, 50, 100])
def test_a_part_of_the_sliding_puzzles_has_all_numbers_of_pieces_and_lengths(count):
    found = [numbers_of(name) for _, name in problems_of(
        domain='sliding', split='geoms', episodes=count)]
    for values in zip(*found, strict=True):
        often = Counter(values)
        assert max(often.values()) - min(often.values()) <= 2, often
        assert len(often) == min(10, count)
        assert count > 2 or max(values) - min(values) >= 8, 'two are far apart'


def test_beginnings_of_the_sliding_puzzles_are_the_same_ones():
    parts = [problems_of(domain='sliding', split='geoms', episodes=count) for count in (1, 2, 12)]
    assert parts[2][:2] == parts[1] and parts[1][:1] == parts[0]


def test_the_kind_of_a_problem_is_its_name_and_the_numbers_in_it():
    assert kind_of_problem('sorting_books_3') == kind_of_problem('sorting_books_12')
    assert kind_of_problem('g_5_c1_7_i_012')[1:] == (5.0, 1.0, 7.0)
    assert kind_of_problem('problem_00') == ('problem',)


def test_of_many_kinds_only_some_are_weighed(monkeypatch):
    distance, measured = spreading._distance, []
    monkeypatch.setattr(spreading, '_distance',
                        lambda *kinds: measured.append(kinds) or distance(*kinds))
    monkeypatch.setattr(spreading, '_MOST_WEIGHED', 20)
    kinds = [('one', kind_of_problem(f'g_{k}_c_{c}_i_0')) for k in range(20) for c in range(20)]
    assert sorted(spread(kinds)) == list(range(400))
    assert len(measured) < 20 * 400


@pytest.mark.parametrize(('suite', 'split', 'name', 'kinds', 'drawn', 'episodes'), [
    ('ivispar', 'boards_2d', 'pieces', 10, None, 10),
    ('grounded_plan', 'short', 'instruction_type', 2, 3, 4)])
def test_a_part_of_the_samples_has_all_kinds(suite, split, name, kinds, drawn, episodes):
    pytest.importorskip('sightplan_suites')
    items = specify(RunSettings(suite=suite, split=split, method='oracle', episodes=episodes,
                                suite_options={'count': drawn} if drawn else {})).items
    assert len(items) == episodes and len({item.details[name] for item in items}) == kinds
    assert len({item.cluster for item in items}) >= episodes // 2


def test_a_part_of_all_samples_has_all_splits():
    pytest.importorskip('sightplan_suites')
    items = specify(RunSettings(suite='ivispar', split='samples', method='oracle',
                                episodes=6)).items
    assert Counter(item.split for item in items) == {'boards_3d': 3, 'boards_2d': 3}
