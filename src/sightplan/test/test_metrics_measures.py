"""Measures: from lines of results to numbers with intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.metrics import wilson
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures, ratio_of
from sightplan.metrics.intervals import effective_n
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
def test_trials_that_share_their_luck_are_worth_between_clusters_and_trials(trials):
    values, clusters = zip(*trials, strict=True)
    worth = effective_n(values, clusters)
    assert len(set(clusters)) <= worth <= len(trials) or len(set(clusters)) == 1
    assert worth == pytest.approx(effective_n(*zip(*reversed(trials), strict=True)))
    assert effective_n(values, range(len(values))) == len(values)


def test_what_depends_on_the_problem_alone_is_worth_as_many_trials_as_problems():
    values = [problem != 3 for problem in range(8) for _ in range(10)]
    clusters = [problem for problem in range(8) for _ in range(10)]
    assert effective_n(values, clusters) == pytest.approx(8, abs=1.2)
    lines = [{'cluster': str(cluster), 'measures': {'solved': float(value)}}
             for value, cluster in zip(values, clusters, strict=True)]
    found = solved_of(lines)
    assert (found.successes, found.n) == (70, 80)
    assert found.low < wilson(70, 80)[0] - 0.1 and found.high > wilson(70, 80)[1]
    alike = solved_of([{**line, 'measures': {'solved': 1.0}} for line in lines])
    assert (alike.low, alike.high) == wilson(8, 8)


def test_the_interval_holds_what_it_promises_where_rounds_are_alike():
    """Of 400 runs of 20 problems, 5 rounds each, some 95 % have the truth in their interval."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(20), 5)
    held = plain = 0
    for _ in range(400):
        chance = rng.beta(1.0, 1.0, 20)
        values = rng.random(100) < chance[clusters]
        worth = effective_n(values.astype(float).tolist(), clusters.tolist())
        low, high = wilson(values.mean() * worth, worth)
        held += low <= 0.5 <= high
        low, high = wilson(int(values.sum()), 100)
        plain += low <= 0.5 <= high
    assert held / 400 > 0.92 > plain / 400
