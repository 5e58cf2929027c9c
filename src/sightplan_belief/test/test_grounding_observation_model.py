"""The observation model: likelihoods of answers, and its file."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import two_blocks
from sightplan.domains import load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import Answer, InputError, Verdict
from sightplan_belief.observation_model import (
    ActionReliability,
    AnswerRates,
    ObservationModel,
    Platt,
    read_observation_model,
)

YES, NO, UNPARSED, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNPARSED, Verdict.UNKNOWN
RATE = st.floats(0.001, 0.999)


@st.composite
def rates(draw: st.DrawFn) -> AnswerRates:
    platt = draw(st.none() | st.builds(Platt, st.floats(-3, 3), st.floats(-5, 5)))
    return AnswerRates(*(draw(RATE) for _ in range(7)), platt=platt)


def model_of(answer_rates: AnswerRates) -> ObservationModel:
    return ObservationModel(predicates={'on': answer_rates})


@given(rates(), st.none() | st.sampled_from(Verdict))
def test_the_chances_of_all_verdicts_sum_to_one(r: AnswerRates,
                                                last: Verdict | None) -> None:
    for value in (0, 1):
        assert sum(r.likelihoods(v, last)[value] for v in Verdict) == pytest.approx(1.0)


@given(rates())
def test_repeating_keeps_the_long_run_fraction_of_errors(r: AnswerRates) -> None:
    # The fraction of errors is a fixed point of the chain of wrong and right answers.
    for value, error in ((0, r.yes_false), (1, 1.0 - r.yes_true)):
        wrong, right = (YES, NO) if value == 0 else (NO, YES)
        after = [r.yes(last)[value] if value == 0 else 1.0 - r.yes(last)[value]
                 for last in (wrong, right)]
        assert error * after[0] + (1.0 - error) * after[1] == pytest.approx(error)
        assert after[0] >= max(error, r.repeat) - 1e-12


@given(rates(), st.sampled_from(Verdict), st.sampled_from(Verdict),
       st.none() | st.floats(0, 1), st.none() | st.floats(0, 1))
def test_likelihoods_are_finite_and_at_most_one(r: AnswerRates, verdict: Verdict, last: Verdict,
                                                p_yes: float | None, p_no: float | None) -> None:
    model = model_of(r)
    answer = Answer('', p_yes, p_no, verdict=verdict)
    for pair in (model.log_likelihoods('on', answer), model.log_likelihoods('on', answer, last)):
        assert all(math.isfinite(x) and x < math.log(2) for x in pair)


def test_a_first_answer_is_worth_its_rates() -> None:
    model = model_of(AnswerRates(yes_true=0.8, yes_false=0.3, unread_true=0.5, unread_false=0.1,
                                 unknown_true=0.4, unknown_false=0.25))
    assert model.log_likelihoods('on', Answer('Yes')) == pytest.approx(
        (math.log(0.3 * 0.75 * 0.9), math.log(0.8 * 0.6 * 0.5)))
    assert model.log_likelihoods('on', Answer('No')) == pytest.approx(
        (math.log(0.7 * 0.75 * 0.9), math.log(0.2 * 0.6 * 0.5)))
    assert model.log_likelihoods('on', Answer('Unknown')) == pytest.approx(
        (math.log(0.25 * 0.9), math.log(0.4 * 0.5)))
    assert model.log_likelihoods('on', Answer()) == pytest.approx((math.log(0.1), math.log(0.5)))
    assert model.rates('on').yes() == (0.3, 0.8)


@pytest.mark.parametrize('verdict', [UNPARSED, UNKNOWN])
def test_by_default_an_answer_of_neither_says_nothing(verdict: Verdict) -> None:
    low, high = ObservationModel.default().log_likelihoods(
        'whatever', Answer('', 0.9, 0.1, verdict=verdict))
    assert low == high


def test_repeated_answers_follow_the_chain_of_errors() -> None:
    model = model_of(AnswerRates(0.9, 0.1, 0.01, 0.01, repeat=0.5))
    readable = math.log(0.99 * 0.99)
    # "yes" after "yes": right again at a true atom, wrong again at a false one.
    low, high = model.log_likelihoods('on', Answer('Yes'), YES)
    assert low == pytest.approx(math.log(0.5) + readable)
    assert high == pytest.approx(math.log(1 - 0.1 * 0.5 / 0.9) + readable)
    # "no" after "yes": an error has gone, or a new one has come.
    low, high = model.log_likelihoods('on', Answer('No'), YES)
    assert low == pytest.approx(math.log(0.5) + readable)
    assert high == pytest.approx(math.log(0.1 * 0.5 / 0.9) + readable)


@pytest.mark.parametrize('last', [UNPARSED, UNKNOWN])
def test_after_an_answer_of_neither_the_next_is_a_first_one(last: Verdict) -> None:
    model = model_of(replace(AnswerRates(), platt=Platt(0.5, 0.25)))
    for verdict in Verdict:
        answer = Answer('', 0.8, 0.1, verdict=verdict)
        assert model.log_likelihoods('on', answer, last) == model.log_likelihoods('on', answer)


@given(rates(), st.sampled_from([YES, NO]))
def test_repetition_below_the_error_rate_is_independence(r: AnswerRates, last: Verdict) -> None:
    independent = replace(r, repeat=0.001, platt=None)
    model = model_of(independent)
    for verdict, value, error in ((NO, 1, 1 - r.yes_true), (YES, 0, r.yes_false)):
        answer = Answer(verdict=verdict)
        wrong_again = model.log_likelihoods('on', answer, verdict)[value]
        first = model.log_likelihoods('on', answer)[value]
        assert wrong_again == pytest.approx(first) or error < 0.001


def test_probabilities_count_only_where_learned() -> None:
    plain, platt = AnswerRates(), replace(AnswerRates(), platt=Platt(0.5, 0.25))
    answer = Answer('Yes', 0.6, 0.4)
    assert (model_of(plain).log_likelihoods('on', answer)
            == model_of(plain).log_likelihoods('on', Answer('Yes')))
    low, high = model_of(platt).log_likelihoods('on', answer)
    assert high - low == pytest.approx(0.5 * math.log(0.6 / 0.4) + 0.25)
    # Its scale is that of the verdict, so that evidences can be compared.
    assert math.exp(low) + math.exp(high) == pytest.approx(sum(plain.likelihoods(YES)))
    repeated = model_of(platt).log_likelihoods('on', answer, YES)
    assert 0 < repeated[1] - repeated[0] < high - low


def full_model() -> ObservationModel:
    return ObservationModel(
        {'on': AnswerRates(0.97, 0.02, 0.05, 0.03, 0.2, 0.1, 0.4, Platt(0.7, -0.1), 30.5, 200.0,
                           'labels')},
        AnswerRates(0.85), {'moveblock': ActionReliability(
            0.9, 0.06, 0.04, {'on +': 0.99, 'clear -': 0.98}, 120.0)},
        rejection=0.02, model='m', questions_sha256='q', prompt='ground@0a1b',
        domain='blocksworld', learned='labels', answers=230, problems=('0123456789ab',))


def test_the_file_gives_back_what_was_written(tmp_path) -> None:
    path = tmp_path / 'deep' / 'cal.json'
    full_model().write(path)
    found = read_observation_model(path)
    assert found == full_model()
    assert found.action('moveblock').effect('on', True) == 0.99
    assert found.action('moveblock').effect('on', False) == 1.0
    assert found.action('other') == ActionReliability()
    assert found.rates('clear') == AnswerRates(0.85)


@pytest.mark.parametrize(('change', 'message'), [
    ({'model': ''}, 'must say what'),
    ({'learned': 'guess'}, "learned = 'guess'"),
    ({'predicates': {'on': {'yes': 0.9}}}, 'predicates.on.yes is unknown'),
    ({'other': {'platt': {'slope': 1.0}}}, 'other.platt.intercept is missing'),
    ({'predicates': {'on': 3}}, 'predicates.on = 3'),
    ({'other': {'unknown_true': 1.5}}, 'other.unknown_true = 1.5'),
    ({'predicates': {'on': {'unknown_false': 0}}}, 'predicates.on.unknown_false = 0'),
    ({'other_action': {'success': 0.9, 'no_op': 0.0, 'slip': 0.0, 'n': 0, 'effects': {}}},
     'is 0.9, not 1'),
    ({'actions': {'a': {'success': 1, 'no_op': 0, 'slip': 0, 'n': 0, 'effects': {'on': 1}}}},
     'actions.a.effects.on'),
])
def test_a_malformed_file_is_refused_by_field(tmp_path, change, message) -> None:
    path = tmp_path / 'cal.json'
    path.write_text(json.dumps({**full_model().to_json(), **change}))
    with pytest.raises(InputError, match='cal.json') as error:
        read_observation_model(path)
    assert message in str(error.value) and 'sightplan calibrate' in str(error.value)


def test_what_a_file_leaves_out_is_as_in_the_defaults(tmp_path) -> None:
    path = tmp_path / 'cal.json'
    path.write_text('{"predicates": {"on": {"yes_true": 0.8}}, "rejection": 0.1}')
    found = read_observation_model(path)
    assert found == ObservationModel({'on': AnswerRates(0.8)}, rejection=0.1)


def test_it_refuses_other_models_questions_and_domains() -> None:
    domain = load_domain('blocksworld')
    ours = replace(full_model(), model='sim(m, repeat 0.4, seed 0)',
                   questions_sha256=domain.question_hash)
    ours.check('sim(m, repeat 0.4, seed 17)', domain)
    ObservationModel.default().check('anything', domain)
    for other, model, what in (
            (ours, 'sim(m, repeat 0.5, seed 0)', 'model'),
            (replace(ours, questions_sha256='old'), ours.model, 'wording'),
            (replace(ours, domain='household'), ours.model, 'domain')):
        with pytest.raises(InputError, match=f'another {what}.*calibrate again'):
            other.check(model, domain)


def test_it_refuses_answers_to_another_prompt() -> None:
    domain = load_domain('blocksworld')
    ours = replace(full_model(), questions_sha256=domain.question_hash)
    ours.check('m', domain, 'ground@0a1b')
    for prompt in ('ground_cot@0a1b', 'ground@9999', 'bare'):
        with pytest.raises(InputError, match=f"another prompt.*'ground@0a1b', this is '{prompt}'"):
            ours.check('m', domain, prompt)
    ours.check('m', domain, '')  # answers do not depend on it
    replace(ours, prompt='').check('m', domain, 'ground@0a1b')


def test_a_file_that_says_nothing_of_the_prompt_serves_models_that_read_none(tmp_path) -> None:
    domain = load_domain('blocksworld')
    data = replace(full_model(), questions_sha256=domain.question_hash).to_json()
    data['prompt'] = None
    path = tmp_path / 'old.json'
    path.write_text(json.dumps(data))
    old = read_observation_model(path)
    old.check('m', domain, '')
    with pytest.raises(InputError, match='does not say for which prompt.*sightplan calibrate'):
        old.check('m', domain, 'ground@0a1b')
    old.write(tmp_path / 'copy.json')
    assert read_observation_model(tmp_path / 'copy.json') == old


def test_a_key_names_a_problem_by_what_is_to_be_done_not_by_where_it_starts() -> None:
    problem = two_blocks()
    assert problem_key(problem) == problem_key(problem.for_agent())
    assert problem_key(problem) != problem_key(replace(problem, goal=problem.goal[1:]))


def test_rates_beyond_doubt_are_a_defect() -> None:
    with pytest.raises(ValueError, match='yes_true'):
        AnswerRates(yes_true=1.0)


def test_a_crash_leaves_the_old_file_or_none(tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'cal.json'
    crash = False

    def dumped(*arguments: object) -> None:
        assert (not path.exists()) or read_observation_model(path).rejection == 0.03
        raise OSError(28, 'No space left on device')
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(os, 'fsync', dumped)
            with pytest.raises(InputError, match='cannot be written'):
                replace(ObservationModel.default(), rejection=0.5).write(path)
        assert path.exists() is crash and len(list(tmp_path.iterdir())) == int(crash)
        ObservationModel.default().write(path)
        crash = True
    assert read_observation_model(path) == ObservationModel.default()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_link_to_a_calibration_stays_one(tmp_path: Path) -> None:
    (tmp_path / 'there').mkdir()
    (tmp_path / 'link.json').symlink_to(tmp_path / 'there' / 'cal.json')
    ObservationModel.default().write(tmp_path / 'link.json')
    assert (tmp_path / 'link.json').is_symlink()
    assert [p.name for p in (tmp_path / 'there').iterdir()] == ['cal.json']


def test_a_calibration_can_be_written_into_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        ObservationModel.default().write(f'/dev/fd/{writer}')
        found = json.loads(os.read(reader, 1 << 16))
    finally:
        os.close(reader)
        os.close(writer)
    assert found == ObservationModel.default().to_json()
    with pytest.raises(InputError, match='Is a directory'):
        ObservationModel.default().write(tmp_path)
