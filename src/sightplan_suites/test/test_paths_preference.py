"""The order of measured paths under a vector: the critic's rule, and what it adds."""

import dataclasses
import random

import pytest

from sightplan.model import InputError
from sightplan_suites.paths import (
    ORDER,
    Bounds,
    Descriptors,
    ObstacleMap,
    Thresholds,
    order_paths,
    thresholds_on,
    vector_from_text,
)
from sightplan_suites.paths.critic import rank_paths
from sightplan_suites.paths.wishes import certain


def drawn(rng):
    """Descriptors that often differ significantly, and often do not."""
    return Descriptors(rng.uniform(0, 3), rng.uniform(5, 8), rng.uniform(2, 6),
                       rng.uniform(90, 250), rng.uniform(0, 400), rng.randrange(4),
                       rng.uniform(0, 120))


def path(**changed):
    return dataclasses.replace(Descriptors(
        minimum_clearance=1.0, maximum_clearance=4.0, average_clearance=2.0, path_length=100.0,
        smoothness=90.0, sharp_turns=1, maximum_angle=95.0), **changed)


def vector(**signs):
    return tuple(signs.get(name, 0) for name in ORDER)


def test_the_best_is_one_of_the_critics_best():
    rng = random.Random(4)
    alone = 0
    for _ in range(300):
        paths = [drawn(rng) for _ in range(rng.randrange(2, 9))]
        wanted = tuple(rng.choice((-1, 0, 0, 1)) for _ in ORDER)
        if not any(wanted):
            continue
        ranked = rank_paths(paths, certain(wanted))
        order = order_paths(paths, wanted)
        assert sorted(order) == list(range(len(paths)))
        assert ranked.best[order[0]] == max(ranked.best)
        if ranked.best.count(max(ranked.best)) == 1:
            alone += 1
            assert order[0] == ranked.order[0]
    assert alone > 50


def test_what_is_significant_comes_before_all_else():
    near, far = path(minimum_clearance=1.0), path(minimum_clearance=2.0, path_length=140.0)
    wanted = vector(minimum_clearance=1, path_length=-1)
    assert order_paths([near, far], wanted) == (1, 0)  # 40 longer is not significant
    longer = path(minimum_clearance=2.0, path_length=200.0)
    assert order_paths([near, longer], wanted) == (0, 1)  # 2 thresholds against 1.25


def test_small_differences_decide_where_nothing_else_does():
    paths = [path(path_length=length) for length in (120.0, 100.0, 110.0)]
    assert order_paths(paths, vector(path_length=-1)) == (1, 2, 0)
    assert order_paths(paths, vector(path_length=1)) == (0, 2, 1)
    assert order_paths(paths, vector(sharp_turns=-1)) == (0, 1, 2)
    assert order_paths(paths[:1], vector(sharp_turns=-1)) == (0,)


def test_thresholds_are_those_of_the_critic():
    item = ObstacleMap('home', (), Bounds(0.0, 0.0, 8.0, 4.0))
    assert thresholds_on(item).minimum_clearance == pytest.approx(0.08)
    assert thresholds_on(item).smoothness == 90.0


@pytest.mark.parametrize('text', ['0,1,0,-1,0,0,0', 'minimum_clearance=1, path_length=-1'])
def test_vectors_are_read_as_the_critic_reads_them(text):
    assert vector_from_text(text) == (0, 1, 0, -1, 0, 0, 0)


@pytest.mark.parametrize(('text', 'message'), [
    ('breadth=1', "option: 'breadth' is not a descriptor"),
    ('path_length=short', "option: 'path_length=short' .*NAME=SIGN"),
    ('path_length=2', 'option: .*give -1, 0 or 1'),
    ('path_length=-1,path_length=1', 'option: path_length is named twice'),
    ('1,2', 'option'),
    ('0,0,0,0,0,0,0', 'no descriptor matters'),
])
def test_bad_vectors_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        vector_from_text(text, 'option')


def test_nothing_to_order_and_useless_thresholds_are_refused():
    with pytest.raises(InputError, match='there are none'):
        order_paths([], vector(path_length=-1))
    with pytest.raises(InputError, match='threshold of path_length is 0'):
        order_paths([path()], vector(path_length=-1), Thresholds(path_length=0.0))
