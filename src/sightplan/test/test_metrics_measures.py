"""Measures: from lines of results to numbers with intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.metrics import wilson
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures, ratio_of
from sightplan.metrics.intervals import Fraction, effective_n
from sightplan.metrics.measures import (
    MEAN,
    STATISTIC,
    Measure,
    aggregate,
    aggregates,
    columns,
    scored,
    solved,
    solved_of,
)

SOLVED = Measure('solved', 'goal reached', primary=True)
STEPS = Measure('steps', 'steps', MEAN, None)


def line(cluster='c', **values):
    return {'cluster': cluster, 'measures': values}


def test_a_line_is_scored_in_at_least_one_measure_or_not_at_all():
    assert scored(line(solved=None, steps=3.0)) and not scored(line(solved=None, steps=None))
    assert not scored(line())
    assert [solved(line(solved=value)) for value in (1.0, 0.0, None)] == [True, False, None]
    assert solved(line(accuracy=1.0)) is None


def test_what_is_not_scored_counts_neither_way():
    found = aggregate([line(solved=1.0), line(solved=None), line(solved=0.0)], SOLVED)
    assert (found.value, found.n) == (.5, 2)
    assert aggregate([line(solved=None)], SOLVED).as_json() == {
        'value': None, 'interval95': None, 'n': 0, 'clusters': 0}
    assert aggregate([], STEPS).value is None


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_fraction_has_the_wilson_interval(values):
    found = aggregate([line(str(n), solved=float(value)) for n, value in enumerate(values)],
                      SOLVED)
    assert found.value == pytest.approx(sum(values) / len(values))
    assert (found.low, found.high) == wilson(sum(values), len(values))


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-50, 50)), min_size=1, max_size=40))
@settings(max_examples=40)
def test_a_means_interval_lies_between_its_clusters_and_is_that_of_the_same_lines(pairs):
    lines = [line(f'c{cluster}', steps=value) for cluster, value in pairs]
    found = aggregate(lines, STEPS, resamples=50)
    assert found.value == pytest.approx(math.fsum(v for _, v in pairs) / len(pairs), abs=1e-9)
    clusters = {c for c, _ in pairs}
    assert (found.n, found.clusters) == (len(pairs), len(clusters))
    if len(clusters) == 1:
        assert (found.low, found.high) == (None, None)  # nothing is known of other clusters
        return
    means = [math.fsum(own) / len(own) for own in (
        [v for c, v in pairs if c == cluster] for cluster in clusters)]
    assert min(means) - 1e-9 <= found.low <= found.high <= max(means) + 1e-9
    assert aggregate(lines, STEPS, resamples=50) == found


def test_items_that_share_their_luck_make_the_interval_wider():
    apart = [line(str(n), steps=float(n % 2)) for n in range(100)]
    together = [line(str(n % 2 + 2 * (n // 20)), steps=float(n % 2)) for n in range(100)]
    one, other = (aggregate(lines, STEPS) for lines in (apart, together))
    assert one.value == other.value == .5
    assert other.high - other.low > 1.5 * (one.high - one.low)


def test_a_statistic_is_of_all_items_and_not_a_mean_of_theirs():
    accuracy = Measure('accuracy', '', STATISTIC, statistic=ratio_of('right', 'asked'))
    lines = [line('a', right=1.0, asked=1.0), line('b', right=0.0, asked=9.0)]
    assert aggregate(lines, accuracy).value == pytest.approx(.1)
    assert aggregate([line('a', right=0.0, asked=0.0)], accuracy).value is None  # undefined
    for there in ({'steps': 1.0}, {'right': 1.0}, {'asked': 1.0}):  # a column is missing
        assert aggregate([line('a', **there)], accuracy).value is None


def test_the_bootstrap_is_that_of_drawing_clusters_with_replacement():
    rng = np.random.default_rng(3)
    lines = [line(f'c{rng.integers(6)}', right=float(rng.integers(4)), asked=4.0)
             for _ in range(40)]
    clusters = list(dict.fromkeys(each['cluster'] for each in lines))
    found = []
    for row in np.random.default_rng(5).integers(len(clusters), size=(200, len(clusters))):
        drawn = [each['measures'] for number in row for each in lines
                 if each['cluster'] == clusters[number]]
        found.append(sum(each['right'] for each in drawn) / sum(each['asked'] for each in drawn))
    measure = Measure('accuracy', '', STATISTIC, statistic=ratio_of('right', 'asked'))
    by_hand = aggregate(lines, measure, resamples=200, seed=5)
    assert (by_hand.low, by_hand.high) == pytest.approx(np.percentile(found, [2.5, 97.5]))


def test_columns_hold_nan_where_a_line_has_nothing():
    found = columns([line(steps=2), line(solved=1.0)], ('steps', 'solved'))
    assert found['steps'][0] == 2.0 and math.isnan(found['steps'][1])
    assert math.isnan(found['solved'][0]) and found['solved'][1] == 1.0


def test_an_episodes_measures_come_from_what_was_counted():
    counts = {'asked': 5, 'right': 3, 'unparsed': 1, 'unknown': 0}
    counted = {'steps': 4, 'questions': 9, 'executed': 3, 'optimal_length': 2,
               'predicates': {'enumeration': {'on': counts, 'clear': counts},
                              'effect': {'on': counts}}}
    found = episode_measures(counted, True)
    assert found == {'solved': 1.0, 'steps': 4, 'questions': 9, 'optimality': 1.5,
                     'answers_right': 6, 'answers_read': 8}
    assert episode_measures(counted, False)['optimality'] is None
    assert set(episode_measures(counted, None).values()) == {None}
    summary = aggregates([line('p', **found)], EPISODE_MEASURES)
    assert summary['predicate_accuracy']['value'] == .75
    assert [m.name for m in EPISODE_MEASURES if m.primary] == ['solved']


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_trials_that_share_their_luck_are_worth_no_more_than_as_many(trials):
    values, clusters = zip(*trials, strict=True)
    worth = effective_n(values, clusters)
    assert 0 < worth <= len(trials)
    assert worth == pytest.approx(effective_n(*zip(*reversed(trials), strict=True)))
    assert worth == pytest.approx(effective_n([not value for value in values], clusters))
    assert effective_n(values, range(len(values))) == len(values)
    found = Fraction(sum(values), len(values), worth)
    assert 0 <= found.low <= found.rate <= found.high <= 1
    assert (found.rate == 1) is (found.high == 1) and (found.rate == 0) is (found.low == 0)


@given(st.integers(1, 60), st.integers(1, 60))
def test_whatever_all_solved_trials_are_worth_there_is_an_interval(n, clusters):
    lines = [{'cluster': str(number % clusters), 'measures': {'solved': 1.0}}
             for number in range(n)]
    found = solved_of(lines)
    assert found.high == 1.0 == found.rate and 0 < found.low < 1
    assert aggregate(lines, SOLVED).low == found.low


def test_what_depends_on_the_problem_alone_is_worth_fewer_trials_than_problems():
    values = [problem != 3 for problem in range(8) for _ in range(10)]
    clusters = [problem for problem in range(8) for _ in range(10)]
    assert 5 < effective_n(values, clusters) <= 8
    lines = [{'cluster': str(cluster), 'measures': {'solved': float(value)}}
             for value, cluster in zip(values, clusters, strict=True)]
    found = solved_of(lines)
    assert (found.successes, found.n) == (70, 80)
    assert found.low < wilson(70, 80)[0] - 0.1 and found.high > wilson(70, 80)[1]
    fewer = [{**line, 'measures': {'solved': float(number > 0)}}
             for number, line in enumerate(lines)]
    assert solved_of(fewer).low < solved_of([
        {**line, 'measures': {'solved': 1.0}} for line in lines]).low + 0.05


@pytest.mark.parametrize(('sizes', 'least'), [
    ([5] * 20, 0.93), ([3] * 50, 0.93), ([10] * 5, 0.93), ([20] * 3, 0.93), ([25] * 2, 0.93),
    ([30] * 3 + [1] * 20, 0.83), ([1, 2, 4, 8, 16, 32], 0.83)])
@pytest.mark.parametrize('shape', [(1.0, 1.0), (0.5, 2.0), (1000.0, 1000.0)])
def test_the_interval_holds_what_it_promises_where_rounds_are_alike(sizes, least, shape):
    """Rates of problems are drawn; of 400 runs some 95 % have their mean in the interval."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    mean, held = shape[0] / sum(shape), 0
    for _ in range(400):
        values = rng.random(len(clusters)) < rng.beta(*shape, len(sizes))[clusters]
        found = Fraction(int(values.sum()), len(values),
                         effective_n(values.tolist(), clusters.tolist()))
        held += found.low <= mean <= found.high
    assert held / 400 > least, held / 400
