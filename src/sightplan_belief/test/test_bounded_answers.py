"""Answers one of whose probabilities is only bounded: belief, calibration and scores."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Answer, Atom, Observation, Question, Verdict
from sightplan.model.logged import LoggedAnswer
from sightplan.queries import YesNo
from sightplan.records.answers_reading import parse_answer
from sightplan_belief.learning import calibration
from sightplan_belief.observation_model import ObservationModel, Platt, logit

RATIOS = st.floats(0.01, 0.99)


@pytest.mark.parametrize(('platt', 'p_yes', 'expected'), [
    (Platt(1.0, 0.0), 0.9, math.log(9.0)), (Platt(1.0, 0.0), 0.1, -math.log(9.0)),
    (Platt(1.0, -3.0), 0.9, 0.0), (Platt(1.0, 3.0), 0.1, 0.0),
    (Platt(1.0, 1.0), 0.9, math.log(9.0) + 1.0), (Platt(0.0, 1.0), 0.9, 1.0)])
def test_a_bounded_answer_weighs_as_little_as_its_bound_allows(
        platt: Platt, p_yes: float, expected: float) -> None:
    assert platt.log_ratio(p_yes, '≥' if p_yes > 0.5 else '≤') == pytest.approx(expected)


@given(st.floats(-2.0, 2.0), st.floats(-4.0, 4.0), RATIOS, st.floats(0.0, 1.0))
def test_no_probability_within_the_bound_would_weigh_less(
        slope: float, intercept: float, p_yes: float, fraction: float) -> None:
    platt = Platt(slope, intercept)
    bounded = platt.log_ratio(p_yes, '≥' if p_yes >= 0.5 else '≤')
    end = 1.0 if p_yes >= 0.5 else 0.0
    within = p_yes + fraction * (end - p_yes)
    ratio = platt.log_ratio(within)
    assert abs(bounded) <= abs(ratio) + 1e-9 and bounded * ratio >= 0.0


def test_the_belief_takes_the_least_informative_likelihood() -> None:
    model = ObservationModel()
    rates = dataclasses.replace(model.other, platt=Platt(1.0, -3.0))
    model = dataclasses.replace(model, other=rates)
    answer = Answer('Yes', 0.9, 0.1, bounded=True)
    exact = model.log_likelihoods('on', Answer('Yes', 0.9, 0.1))
    bounded = model.log_likelihoods('on', answer)
    assert exact[1] < exact[0] and bounded[1] == pytest.approx(bounded[0])
    again = model.log_likelihoods('on', answer, Verdict.YES)
    assert again[1] == pytest.approx(again[0])


def logged(p_yes: float, truth: bool, bounded: bool = False) -> LoggedAnswer:
    return LoggedAnswer(Atom('on', ('a', 'b')), Answer(
        'Yes' if p_yes > 0.5 else 'No', p_yes, 1.0 - p_yes, bounded=bounded), truth)


def test_a_calibration_learns_nothing_from_a_bound() -> None:
    rng = np.random.default_rng(3)
    exact = []
    for p in rng.uniform(0.05, 0.95, 300):
        odds = 0.5 * logit(float(p))
        exact.append(logged(float(p), bool(rng.random() < 1 / (1 + math.exp(-odds)))))
    bound = [logged(0.99, False, bounded=True) for _ in range(200)]
    fits = [calibration._fit_platt(answers, np.array([float(bool(one.truth)) for one in answers]))
            for answers in (exact, [*exact, *bound])]
    assert fits[0] is not None and fits[0] == fits[1]
    assert fits[0].slope > 0.0


def test_a_bound_is_read_from_a_log() -> None:
    entry = {'atom': 'on a,b', 'answer': 'yes', 'p_yes': 0.9, 'p_no': 0.1}
    assert parse_answer({**entry, 'bounded': True}, 'here').answer.bounded
    assert not parse_answer(entry, 'here').answer.bounded


def test_scores_say_how_much_bounds_leave_open() -> None:
    scoring = pytest.importorskip('sightplan_suites.predicates.scoring')
    def line(probability: float | None, **values: Any) -> dict[str, Any]:
        return {'id': str(probability), 'cluster': 'c', 'domain': 'd', 'split': 's',
                'details': {'predicate': 'on'}, 'measures': {
                    **{measure.name: None for measure in scoring.MEASURES},
                    'probability': probability}, **values}
    lines = [line(0.9, bounded=True), line(0.2, bounded=True), line(0.6), line(None), line(0.5)]
    found = scoring.summarise(lines)
    assert found['bounded'] == {'n': 2, 'width': pytest.approx((0.1 + 0.2) / 4)}
    assert 'bounded' not in scoring.summarise(lines[2:])


@pytest.mark.parametrize('answer', [Answer('Yes', -0.5, -0.3), Answer('Yes', -0.5, 0.3)])
def test_a_negative_number_is_no_probability(answer: Answer) -> None:
    assert YesNo(Observation(), Question.of_words('Is it red?')).fault_of(answer)
