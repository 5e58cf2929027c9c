"""Estimators over recorded answers."""

from __future__ import annotations

import dataclasses
import math

import pytest

from replay_doubles import recorded_run, without_truth
from sightplan.grounding.observation_model import ObservationModel
from sightplan.model import (
    Answer,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    InputError,
    Stepped,
    Verdict,
)
from sightplan.replay.batches import Truth, batches, with_batches
from sightplan.replay.estimates import (
    ESTIMATORS,
    RAW,
    Estimating,
    _Filtered,
    estimate,
    flat_rows,
)
from sightplan.run_cli import read_options

ALL = [Estimating(name) for name in ESTIMATORS]


@pytest.fixture(scope='module')
def faulty(tmp_path_factory):
    """Two episodes of ground with many wrong answers."""
    return recorded_run(tmp_path_factory.mktemp('faulty'), problems=2, seed=4, max_actions=12,
                        backend_options={'table': 'gemma-3-27b-it'})


@pytest.fixture(scope='module')
def right(tmp_path_factory):
    """Two episodes with right answers."""
    return recorded_run(tmp_path_factory.mktemp('right'), problems=2)


def test_right_answers_leave_nothing_to_estimate(right):
    found = estimate(right, ALL, resamples=50)
    moments = sum(1 for s in right for _ in batches(s))
    assert (found['episodes'], found['moments']) == (2, moments)
    for name, scores in found['estimators'].items():
        assert scores['accuracy'] == scores['exact_states'] == scores['agreement'] == 1., name
        assert scores['gain']['difference'] == 0. and scores['brier'] < 1e-2
        assert scores['atoms'] == sum(
            len(s.episode.domain.worth_asking(s.episode.spec.problem))
            for s in right for _ in batches(s))
    assert found['estimators'][RAW]['log_loss'] == pytest.approx(-math.log1p(-1e-4))


def test_joint_estimation_mends_wrong_answers(faulty):
    found = estimate(faulty, ALL, resamples=50)['estimators']
    assert found[RAW]['accuracy'] < found['decode']['accuracy'] < found['belief']['accuracy']
    assert found['belief']['exact_states'] > found[RAW]['exact_states']
    assert found['belief']['gain']['difference'] == pytest.approx(
        found['belief']['accuracy'] - found[RAW]['accuracy'])
    assert found['belief']['gain']['groups'] == 2 and found['belief']['agreement'] < 1.
    assert found['belief']['log_loss'] < found[RAW]['log_loss']
    rows = flat_rows({'estimators': found})
    assert [row['estimator'] for row in rows] == list(ESTIMATORS)
    assert rows[0]['gain'] == 0. and rows[0]['accuracy_on'] < 1.


def test_raw_answers_are_what_the_method_believed(faulty):
    """The state that ``ground`` itself published after each batch is the one found again."""
    for source in faulty:
        published, after = [], False
        for event in source.episode.events:
            if isinstance(event, BeliefUpdated) and after:
                published.append(event.belief.state)
            after = isinstance(event, Asked)
        truth = source.episode.truth
        atoms = source.episode.domain.worth_asking(source.episode.spec.problem)
        exact = [all((atom in state) == truth.holds(atom, batch.event.observation.stamp_ns)
                     for atom in atoms)
                 for state, batch in zip(published, batches(source), strict=True)]
        share = [(atom in state) == truth.holds(atom, batch.event.observation.stamp_ns)
                 for state, batch in zip(published, batches(source), strict=True)
                 for atom in atoms]
        found = estimate([source], [], resamples=0)['estimators'][RAW]
        assert found['exact_states'] == sum(exact) / len(exact)
        assert found['accuracy'] == pytest.approx(sum(share) / len(share))


def test_decoded_states_are_what_the_method_decode_believed(tmp_path):
    sources = recorded_run(tmp_path, problems=2, method='decode', seed=4, max_actions=6,
                           backend_options={'table': 'gemma-3-27b-it'})
    for source in sources:
        last, exact = None, []
        asked = list(batches(source))
        published = []
        for event in source.episode.events:
            if isinstance(event, Asked):
                if last is not None:
                    published.append(last)
                last = None
            elif isinstance(event, BeliefUpdated):
                last = event.belief.state
        published.append(last)
        atoms = source.episode.domain.worth_asking(source.episode.spec.problem)
        truth = source.episode.truth
        for state, batch in zip(published, asked, strict=True):
            exact.append([(a in state) == truth.holds(a, batch.event.observation.stamp_ns)
                          for a in atoms])
        flat = [right for rights in exact for right in rights]
        found = estimate([source], [Estimating('decode')], resamples=0)['estimators']['decode']
        assert found['accuracy'] == pytest.approx(sum(flat) / len(flat))


def test_the_filter_is_that_of_the_method_belief(tmp_path):
    """On a problem all of whose atoms matter, the method's own beliefs are found again."""
    sources = recorded_run(tmp_path, problems=1, method='belief', seed=2,
                           backend_options={'table': 'gpt-4.1'})
    source = sources[0]
    published = [e.belief for e in source.episode.events if isinstance(e, BeliefUpdated)]
    tracker = Estimating('belief').track(source.episode)
    assert isinstance(tracker, _Filtered)
    for event in source.episode.events:
        if hasattr(event, 'observation') and not isinstance(event, Asked):
            tracker.look(event.observation, False)
        elif isinstance(event, Asked):
            tracker.answer(event)
        elif isinstance(event, Stepped):
            tracker.act(event.action, event.feedback.status)
    state, p = tracker.believed()
    last = published[-1]
    assert last.state <= state
    for atom, probability in last.probabilities.items():
        assert p[atom] == pytest.approx(probability, abs=.02)


def test_unreadable_answers_and_strange_atoms_are_borne(faulty):
    def broken(batch):
        answers = tuple(Answer(a.atom, Verdict.UNPARSED, text='?') if n % 2 else a
                        for n, a in enumerate(batch.event.answers))
        odd = Atom('on', ('r', 'nobody'))
        question = dataclasses.replace(batch.event.questions[0], atom=odd)
        return dataclasses.replace(batch.event, questions=(*batch.event.questions, question),
                                   answers=(*answers, Answer(odd, Verdict.YES)),
                                   expected=(*batch.event.expected, None))
    found = estimate([with_batches(s, broken) for s in faulty], ALL, resamples=10)
    assert all(0. < s['accuracy'] < 1. for s in found['estimators'].values())


def test_without_truth_estimators_are_compared_with_the_answers(faulty):
    found = estimate([without_truth(s) for s in faulty], ALL, resamples=10)['estimators']
    assert found[RAW]['agreement'] == 1. and 0. < found['belief']['agreement'] < 1.
    assert found['belief']['accuracy'] is found['belief']['exact_states'] is None

    class One:
        def truth(self, image_id, atom):
            return True if atom == Atom('clear', ('r',)) else None
    found = estimate([without_truth(s) for s in faulty], ALL, Truth(One()), resamples=10)
    assert set(found['estimators']['belief']['predicates']) == {'clear'}
    assert found['estimators']['belief']['atoms'] == found['moments']
    assert found['estimators']['belief']['exact_states'] is None


def test_a_calibration_must_fit_the_answers(faulty, tmp_path):
    model = next(batches(faulty[0])).event.model
    domain = faulty[0].episode.domain
    path = tmp_path / 'cal.json'
    other = dataclasses.replace(
        ObservationModel.default(), model='someone else', domain=domain.name,
        questions_sha256=domain.question_hash, prompt='')
    other.write(path)
    with pytest.raises(InputError, match='another model'):
        estimate(faulty, [Estimating('belief', {'calibration': str(path)})])
    dataclasses.replace(other, model=model).write(path)
    found = estimate(faulty, [Estimating('belief', {'calibration': str(path)})], resamples=10)
    assert found['estimators']['belief']['accuracy'] > .5


def test_methods_without_estimators_and_wrong_options_are_refused():
    with pytest.raises(InputError, match='no estimator'):
        Estimating('plan')
    with pytest.raises(InputError, match='unknown'):
        Estimating('plen')
    with pytest.raises(InputError):
        Estimating('belief', {'k': 0})
    from sightplan.replay.estimates import options_of
    given = {'constraints': 'false', 'k': '8'}
    assert options_of('decode', given, read_options) == {'constraints': False}
    assert options_of('belief', given, read_options) == {'constraints': False, 'k': 8}
    assert options_of('ground', given, read_options) == {}


def test_batches_of_other_purposes_can_be_left_out(faulty):
    only = [with_batches(s, lambda b: b.event if b.event.purpose is AskPurpose.ENUMERATION
                         else None) for s in faulty]
    assert 0 < estimate(only, [], resamples=0)['moments'] < estimate(
        faulty, [], resamples=0)['moments']
