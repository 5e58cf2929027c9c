"""What "unknown" does to a belief, in every kind of inference."""

from __future__ import annotations

import pytest

from doubles import two_blocks
from sightplan.domains import load_domain
from sightplan.model import Answer, Atom, Literal, Verdict
from sightplan_belief.estimator import Estimator, EstimatorSettings, Evidence
from sightplan_belief.joint_belief import FilterSettings
from sightplan_belief.listed_belief import FactorisedBelief, ListedBelief
from sightplan_belief.observation_model import AnswerRates, ObservationModel
from sightplan_belief.sampled_belief import SampledBelief

BLOCKS = load_domain('blocksworld')
KINDS = pytest.mark.parametrize('kind', [ListedBelief, FactorisedBelief, SampledBelief])
TELLING = ObservationModel(other=AnswerRates(unknown_true=0.7, unknown_false=0.1))
HELD = Atom('on', ('r', 'g'))


def belief(kind, rates=None):
    problem = two_blocks()
    estimator = Estimator(BLOCKS, problem, observation_model=rates,
                          settings=EstimatorSettings(k=256, window=100.0, limit=1000))
    return kind(estimator, BLOCKS.model(problem), FilterSettings(k=256))


def after(kind, *verdicts, rates=None):
    """P(the red block is on the green one) after answers about as many pictures."""
    tracked = belief(kind, rates)
    for number, verdict in enumerate(verdicts):
        tracked.observe(f'picture {number}')
        tracked.answer({HELD: Answer(verdict=verdict)})
    return tracked.probability([Literal(HELD)])


@KINDS
def test_by_default_unknown_says_nothing(kind):
    assert after(kind, Verdict.UNKNOWN) == pytest.approx(after(kind), abs=0.08)


@KINDS
def test_where_true_facts_are_seldom_told_unknown_makes_them_likelier(kind):
    before, told = after(kind, rates=TELLING), after(kind, Verdict.UNKNOWN, rates=TELLING)
    assert told / (1.0 - told) == pytest.approx(7.0 * before / (1.0 - before), rel=0.35)


@KINDS
def test_after_unknown_an_answer_counts_as_a_first_one(kind):
    once = after(kind, Verdict.UNKNOWN, Verdict.YES)
    assert once == pytest.approx(after(kind, Verdict.YES), abs=0.08)
    # Nor does it come between two answers that say the same.
    assert after(kind, Verdict.YES, Verdict.UNKNOWN, Verdict.YES) == pytest.approx(
        after(kind, Verdict.YES, Verdict.YES), abs=0.08)


def test_an_estimate_reads_it_like_the_others():
    estimator = Estimator(BLOCKS, two_blocks(), observation_model=TELLING)
    nothing, told = (estimator.estimate(evidence).marginals[HELD] for evidence in (
        [], [Evidence(HELD, Answer('Unknown'), 'picture')]))
    assert told > 2.0 * nothing
    unknown, plain = (estimator.estimate([*evidence, Evidence(HELD, Answer('Yes'), 'b')])
                      for evidence in ([Evidence(HELD, Answer(), 'a')], []))
    assert unknown.marginals[HELD] == pytest.approx(plain.marginals[HELD])
