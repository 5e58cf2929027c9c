"""Measures: from lines of results to numbers with intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.metrics import wilson
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures, ratio_of
from sightplan.metrics.intervals import (
    clustered_intervals,
    fraction_interval,
    fraction_of,
    fraction_of_counts,
    percentile_interval,
    pooled,
)
from sightplan.metrics.measures import (
    FRACTION,
    MEAN,
    SHARE,
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
    assert (by_hand.low, by_hand.high) == pytest.approx(percentile_interval(found, len(clusters)))
    low, high = np.percentile(found, [2.5, 97.5])
    assert by_hand.low < low and by_hand.high > high  # plain ones are too narrow


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
def test_a_fractions_interval_holds_it_and_knows_no_order_and_no_side(trials):
    values, clusters = zip(*trials, strict=True)
    found = fraction_of(values, clusters)
    assert 0 <= found.low < found.high <= 1 and found.low <= found.rate <= found.high
    assert (found.rate == 1) is (found.high == 1) and (found.rate == 0) is (found.low == 0)
    assert fraction_of(*zip(*reversed(trials), strict=True)).interval == found.interval
    other = fraction_of([not value for value in values], clusters)
    assert (other.low, other.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)
    low, high = wilson(found.successes, found.n)
    assert found.low <= low + 1e-9 and found.high >= high - 1e-9  # never worth more than trials
    assert fraction_of(values, range(len(values))).interval == (low, high)
    assert fraction_of(values, ['one'] * len(values)).interval == (low, high)


@given(st.integers(1, 60), st.integers(1, 60))
def test_whatever_all_solved_trials_are_worth_there_is_an_interval(n, clusters):
    lines = [{'cluster': str(number % clusters), 'measures': {'solved': 1.0}}
             for number in range(n)]
    found = solved_of(lines)
    assert found.high == 1.0 == found.rate and 0 < found.low < 1
    assert aggregate(lines, SOLVED).low == found.low


def test_what_depends_on_the_problem_alone_is_worth_about_as_many_trials_as_problems():
    values = [float(problem != 3) for problem in range(8) for _ in range(10)]
    lines = [{'cluster': str(number // 10), 'measures': {'solved': value}}
             for number, value in enumerate(values)]
    found = solved_of(lines)
    assert (found.successes, found.n) == (70, 80)
    assert (found.low, found.high) == pytest.approx(wilson(7, 8), abs=0.1)
    assert found.low < wilson(70, 80)[0] - 0.1 and found.high > wilson(70, 80)[1]


def test_many_answers_of_few_episodes_are_worth_more_than_episodes():
    """12298 of 12418 right in 25 episodes, errors here and there: a bootstrap has .988 to .993."""
    errors = [2, 9, 4, 5, 3, 6, 7, 5, 1, 4, 8, 5, 2, 6, 5, 4, 10, 3, 5, 6, 2, 7, 4, 3, 4]
    sizes = [497] * 18 + [496] * 7
    found = fraction_of_counts((str(number), size - wrong, size)
                               for number, (size, wrong) in enumerate(zip(
                                   sizes, errors, strict=True)))
    assert (found.successes, found.n) == (12298, 12418)
    assert found.low == pytest.approx(.988, abs=.001) and found.high == pytest.approx(
        .9925, abs=.001)


def test_fractions_are_pooled_cluster_by_cluster():
    one, other = (fraction_of([1, 1, 0, 0], names) for names in ('aabb', 'bbaa'))
    both = pooled((one, other))
    assert (both.successes, both.n) == (4, 8)
    assert both.clusters == {'a': (2, 4), 'b': (2, 4)}
    assert fraction_interval([]) == (0., 1.) == fraction_of([], []).interval
    with pytest.raises(ValueError, match='more successes than trials'):
        fraction_interval([(3, 2), (0, 1)])


LAYOUTS = {'25 equal': [20] * 25, '25 unequal': np.geomspace(5, 500, 25).astype(int).tolist(),
           '200': [5] * 200, '5 equal': [50] * 5, '5 unequal': [5, 10, 20, 100, 500],
           '3 large of 23': [30] * 3 + [1] * 20}
FEW = {'5 equal', '5 unequal', '3 large of 23'}


@pytest.mark.parametrize('p', [*(pytest.param(p, marks=pytest.mark.slow) for p in (.5, .9)), .99])
@pytest.mark.parametrize('layout', LAYOUTS)
def test_intervals_of_fractions_hold_the_truth_in_95_of_100_cases(layout, p):
    """Rates of clusters are drawn; of 400 cases some 95 % have their mean in the interval.

    With few clusters nothing tells how alike their trials are, and a count of few of them at
    p = .99 has no interval of exactly 95 %: there, and where trials are independent, it may hold
    the truth more often. It is hardly wider than one of somebody who knows how alike they are.
    """
    sizes, rng = np.array(LAYOUTS[layout]), np.random.default_rng(0)
    for alike in (0.0, 0.05, 0.3):
        scale = (1 - alike) / alike if alike else 1e9
        rates = rng.beta(p * scale, (1 - p) * scale, (400, len(sizes)))
        counts = rng.binomial(sizes, rates)
        low, high = clustered_intervals(counts, sizes).T
        covered = np.mean((low <= p) & (p <= high))
        few = layout in FEW
        assert (.87 if few else .92) < covered <= (.985 if alike and not few else 1), (
            alike, covered)
        effect = 1 + (sizes @ sizes / sizes.sum() - 1) * alike
        rate = counts.sum(axis=1) / sizes.sum()
        known = [wilson(f * sizes.sum() / effect, sizes.sum() / effect) for f in rate]
        width = np.mean([b - a for a, b in known])  # of one who knows how alike they are
        assert np.mean(high - low) < (1.0 if layout in FEW else 1.6 * width), (alike, width)


def test_trials_that_are_all_alike_are_worth_as_many_as_clusters():
    counts = np.random.default_rng(1).binomial(1, .7, (300, 40)) * 12
    low, high = clustered_intervals(counts, [12] * 40).T
    for ours, wins in zip(zip(low, high, strict=True), (counts > 0).sum(axis=1), strict=True):
        assert ours == pytest.approx(wilson(float(wins), 40), abs=.03)


@pytest.mark.parametrize(('sizes', 'least'), [
    ([20] * 5, .88), ([10] * 10, .91), ([4] * 25, .92),
    pytest.param([1] * 100, .92, marks=pytest.mark.slow),
    (np.geomspace(5, 500, 25).astype(int).tolist(), .90)])
def test_intervals_of_means_hold_the_truth_in_95_of_100_cases(sizes, least):
    """Plain percentiles of 5 clusters hold it in 83 of 100."""
    rng, weights = np.random.default_rng(3), np.array(sizes) / sum(sizes)
    held = 0
    for _ in range(300):
        means = rng.normal(size=len(sizes))
        drawn = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=500)
        low, high = percentile_interval(drawn @ (weights * means) / (drawn @ weights), len(sizes))
        held += low <= 0 <= high
    assert least < held / 300 < .985, held / 300


def test_a_percentile_interval_needs_two_clusters():
    with pytest.raises(ValueError, match='1 clusters; an interval needs 2'):
        percentile_interval([1.0, 2.0], 1)


def test_a_share_of_nothing_or_of_all_has_a_width_as_a_fraction_has():
    for kind in (FRACTION, SHARE):
        lines = [line(str(n), arr=0.0) for n in range(5)]
        found = aggregate(lines, Measure('arr', '', kind))
        assert (found.value, found.low, found.high) == (0.0, *wilson(0, 5))
    lines = [line(str(n), arr=value) for n, value in enumerate((0.0, .5, .25, 1.0))]
    found = aggregate(lines, Measure('arr', '', SHARE))
    assert (found.low, found.high) == pytest.approx((0.0, 1.0), abs=.05)
    assert found.value == .4375
    assert aggregate(lines, Measure('arr', '', MEAN)) == found


def test_a_ratio_of_counts_has_the_interval_of_a_fraction():
    accuracy = next(m for m in EPISODE_MEASURES if m.name == 'predicate_accuracy')
    lines = [line(str(n), answers_right=8, answers_read=8) for n in range(5)]
    found = aggregate(lines, accuracy)
    assert found.value == found.high == 1.0 and .5 < found.low < wilson(40, 40)[0]
    assert (found.n, found.clusters) == (5, 5)
    assert found.low == fraction_interval([(8, 8)] * 5)[0]


def test_only_lines_with_a_value_are_counted():
    accuracy = next(m for m in EPISODE_MEASURES if m.name == 'predicate_accuracy')
    lines = [line(str(n), solved=1.0, answers_right=0, answers_read=0) for n in range(5)]
    found = aggregate([*lines, line('x', answers_right=1, answers_read=2)], accuracy)
    assert (found.value, found.n, found.clusters) == (.5, 1, 1)
    assert (aggregate(lines, accuracy).n, aggregate(lines, accuracy).clusters) == (0, 0)
    from sightplan_suites.predicates.scoring import MEASURES
    error = next(m for m in MEASURES if m.name == 'calibration_error')
    lines = [line(str(n // 4), accuracy=1.0, sensitivity=1.0,
                  probability=.75 if n < 10 else None) for n in range(40)]
    found = aggregate(lines, error)
    assert (found.value, found.n, found.clusters) == (pytest.approx(.25), 10, 3)


def test_balanced_accuracy_that_is_always_the_same_has_the_width_of_its_halves():
    from sightplan_suites.predicates.scoring import MEASURES
    balanced = next(m for m in MEASURES if m.name == 'balanced_accuracy')
    lines = [line(str(n), accuracy=1.0, sensitivity=1.0 if n < 5 else None,
                  specificity=None if n < 5 else 1.0) for n in range(15)]
    found = aggregate(lines, balanced)
    assert (found.value, found.high, found.n) == (1.0, 1.0, 15)
    assert found.low == pytest.approx((wilson(5, 5)[0] + wilson(10, 10)[0]) / 2)
    lines[0] = line('0', accuracy=0.0, sensitivity=0.0, specificity=None)
    assert aggregate(lines, balanced).low < aggregate(lines, balanced).value == .9
