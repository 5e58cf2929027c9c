"""Paired comparisons: exact tests, bootstrap over groups, Holm."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.metrics.measures import MEAN, STATISTIC, Measure
from sightplan.metrics.paired import (
    compare,
    holm,
    mcnemar_exact,
    paired_bootstrap,
    sign_flip_exact,
)

COUNTS = st.integers(0, 60)


@pytest.mark.parametrize(('b', 'c', 'p'), [
    (0, 0, 1.0), (3, 3, 1.0), (1, 0, 1.0), (0, 2, .5), (5, 0, 2 / 32), (1, 9, 22 / 1024),
    (6, 10, 2 * (1 + 16 + 120 + 560 + 1820 + 4368 + 8008) / 2 ** 16)])
def test_mcnemar_by_hand(b, c, p):
    assert mcnemar_exact(b, c) == pytest.approx(p, rel=1e-12)


@given(COUNTS, COUNTS)
def test_mcnemar_is_symmetric_and_a_probability(b, c):
    p = mcnemar_exact(b, c)
    assert p == mcnemar_exact(c, b)
    assert 0.0 < p <= 1.0


def test_mcnemar_is_the_binomial_test():
    stats = pytest.importorskip('scipy.stats')
    for b in range(0, 40, 3):
        for c in range(1, 40, 2):
            expected = stats.binomtest(b, b + c, .5).pvalue
            assert mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_many_pairs_neither_overflows_nor_vanishes():
    assert 0.0 < mcnemar_exact(200, 1800) < 1e-200
    normal = math.erfc(abs(5100 - 4900) / math.sqrt(10000) / math.sqrt(2))
    assert mcnemar_exact(4900, 5100) == pytest.approx(normal, rel=.05)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_flipping_signs_of_clusters_is_counted_out(sums):
    ways = [sum(sign * value for sign, value in zip(signs, sums, strict=True))
            for signs in itertools.product((-1, 1), repeat=len(sums))]
    expected = sum(abs(total) >= abs(sum(sums)) for total in ways) / len(ways)
    assert sign_flip_exact(sums) == pytest.approx(expected, rel=1e-9)


@given(COUNTS, COUNTS)
def test_flipping_signs_of_single_pairs_is_mcnemars_test(b, c):
    expected = mcnemar_exact(b, c)
    assert sign_flip_exact([1] * b + [-1] * c + [0]) == pytest.approx(expected, rel=1e-9)


def test_repeating_a_problem_makes_nothing_more_certain():
    assert sign_flip_exact([3] * 4) == sign_flip_exact([1] * 4) == 0.125


def test_mcnemar_refuses_negative_counts():
    with pytest.raises(ValueError, match='negative'):
        mcnemar_exact(-1, 3)


def test_bootstrap_difference_and_interval_of_two_groups():
    # Differences by group: a: +1, +1; b: 0. Resamples: aa 1, ab 2/3, bb 0.
    found = paired_bootstrap([1, 1, 0], [0, 0, 0], ['a', 'a', 'b'])
    assert (found.difference, found.n, found.groups) == (pytest.approx(2 / 3), 3, 2)
    assert (found.low, found.high) == (0.0, 1.0)


def test_bootstrap_interval_is_that_of_the_binomial_distribution():
    # 30 of 100 differ by one: a resample's sum is Binomial(100, .3), quantiles 21 and 39.
    found = paired_bootstrap([1.0] * 30 + [0.0] * 70, [0.0] * 100, resamples=20000)
    assert found.low == pytest.approx(.21, abs=.0101)
    assert found.high == pytest.approx(.39, abs=.0101)


def test_pairs_of_one_problem_are_not_independent():
    rng = np.random.default_rng(1)
    per_problem = rng.random(20)
    first, groups = np.repeat(per_problem, 10), np.repeat(np.arange(20), 10)
    together = paired_bootstrap(first, np.zeros(200), groups.tolist())
    apart = paired_bootstrap(first, np.zeros(200))
    assert together.difference == pytest.approx(apart.difference)
    assert together.high - together.low > 2 * (apart.high - apart.low)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1,
                max_size=40))
@settings(max_examples=40)
def test_bootstrap_bounds_symmetry_and_repetition(rows):
    first, second, groups = ([float(row[0]) for row in rows], [float(row[1]) for row in rows],
                             [row[2] for row in rows])
    found = paired_bootstrap(first, second, groups, 200)
    assert found == paired_bootstrap(first, second, groups, 200)
    assert -1.0 <= found.low <= found.high <= 1.0
    # A percentile interval need not hold the difference itself, but mirrored it is the same.
    mirrored = paired_bootstrap(second, first, groups, 200)
    assert mirrored.difference == pytest.approx(-found.difference)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, hits, runs = np.random.default_rng(7), 0, 200
    for number in range(runs):
        first = rng.random(60) < .7
        second = rng.random(60) < .5
        found = paired_bootstrap(first, second, resamples=400, seed=number)
        hits += found.low <= .2 <= found.high
    assert .90 <= hits / runs <= .985


def test_chunks_do_not_change_what_is_drawn(monkeypatch):
    values = np.random.default_rng(3).random(50)
    whole = paired_bootstrap(values, np.zeros(50), resamples=100)
    monkeypatch.setattr('sightplan.metrics.paired._MOST_CELLS', 350)
    assert paired_bootstrap(values, np.zeros(50), resamples=100) == whole


def test_one_group_or_no_resamples_have_no_interval():
    for found in (paired_bootstrap([1, 0], [0, 0], ['a', 'a']),
                  paired_bootstrap([1, 0], [0, 0], resamples=0)):
        assert found.difference == found.low == found.high == .5


@pytest.mark.parametrize(('arguments', 'message'), [
    (([], []), 'not one pair'), (([1], [1, 2]), r'\(1,\) and \(2,\)'),
    (([1], [0], ['a', 'b']), '2 groups'), (([math.nan], [0]), 'not finite'),
    (([1], [0], None, -1), '-1 resamples')])
def test_bootstrap_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap(*arguments)


def lines_of(name, values, cluster=str):
    return {key: {'cluster': cluster(key), 'measures': {name: value}}
            for key, value in values.items()}


SOLVED = Measure('solved', 'goal reached', primary=True)


def test_a_fraction_is_compared_on_common_scored_items_only():
    first = lines_of('solved', {'a': 1., 'b': 1., 'c': 0., 'd': 1., 'x': 1., 'only here': 1.})
    second = lines_of('solved', {'d': 0., 'c': 0., 'b': 1., 'a': 0., 'x': None, 'only there': 1.})
    found = compare(first, second, SOLVED)
    assert (found.counts, found.n, found.clusters, found.p) == ((1, 2, 0, 1), 4, 4, .5)
    assert (found.first, found.second, found.difference) == (.75, .25, .5)
    assert found.low <= .5 <= found.high
    one = compare(lines_of('solved', {'a': 1., 'b': 0.}, lambda key: 'p'), second, SOLVED)
    assert (one.clusters, one.low, one.high) == (1, None, None)
    assert compare(lines_of('solved', {'a': 1.}), lines_of('solved', {'b': 1.}), SOLVED) is None


def test_problems_that_share_a_world_on_one_side_are_one_cluster():
    own = {n: {'cluster': str(n), 'measures': {'solved': 1.0}} for n in range(6)}
    theirs = {n: {'cluster': str(n // 3), 'measures': {'solved': 0.0}} for n in range(6)}
    for first, second in ((own, theirs), (theirs, own)):
        found = compare(first, second, SOLVED)
        assert (found.n, found.clusters, found.p) == (6, 2, 0.5)


def test_a_mean_has_no_mcnemar_test_and_its_interval_is_that_of_the_differences():
    first = lines_of('questions', {f'e{n}': 10. + n for n in range(40)})
    second = lines_of('questions', {f'e{n}': 8. + n for n in range(40)})
    found = compare(first, second, Measure('questions', 'questions asked', MEAN, None))
    assert (found.difference, found.low, found.high) == (2., 2., 2.)  # pairs differ all alike
    assert (found.counts, found.p) == (None, None)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=20))
@settings(max_examples=30)
def test_a_statistic_is_compared_as_the_difference_of_its_values(cells):
    ratio = Measure('accuracy', '', STATISTIC, statistic=lambda columns, weights: (
        weights @ columns['right'] / (weights @ columns['asked'])))

    def lines(side):
        return {n: {'cluster': str(n % 4), 'measures': {'right': cell[side], 'asked': 5.}}
                for n, cell in enumerate(cells)}
    found = compare(lines(0), lines(1), ratio, resamples=50)
    assert found.first == pytest.approx(sum(a for a, _ in cells) / (5 * len(cells)))
    assert found.difference == pytest.approx(found.first - found.second)
    mirrored = compare(lines(1), lines(0), ratio, resamples=50)
    assert (mirrored.low, mirrored.high) == (pytest.approx(-found.high),
                                             pytest.approx(-found.low))


def test_holm_by_hand():
    # Sorted: .01 x4 = .04, .02 x3 = .06, .03 x2 = .06, .5 x1 = .5.
    assert holm([.03, .01, .5, .02]) == pytest.approx([.06, .04, .5, .06])
    assert holm([.6, .7]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(ValueError, match='outside'):
        holm([1.2])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_the_value_and_bonferroni(values):
    for p, adjusted in zip(values, holm(values), strict=True):
        assert p <= adjusted <= min(1.0, len(values) * p) + 1e-15
