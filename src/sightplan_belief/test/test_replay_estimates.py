"""Estimators over recorded answers."""

from __future__ import annotations

import dataclasses
import math
import shutil

import pytest

from replay_doubles import hidden_run, recorded_run, without_truth
from sightplan.commands.frame import read_options
from sightplan.domains import load_domain
from sightplan.model import (
    Answer,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    FeedbackStatus,
    InputError,
    Observed,
    Privileged,
    Stepped,
)
from sightplan.replay.batches import Truth, batches, with_batches
from sightplan_belief.observation_model import ObservationModel
from sightplan_belief.replay.estimates import ESTIMATORS, RAW, Estimating, estimate, flat_rows

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


def relevant(source):
    """The atoms that can matter."""
    problem, domain = source.episode.spec.problem, source.episode.domain
    return (domain.model(problem).conditions() | {g.atom for g in problem.goal}).intersection(
        domain.worth_asking(problem))


def test_right_answers_leave_nothing_to_estimate(right):
    found = estimate(right, ALL, resamples=50)
    moments = sum(1 for s in right for _ in batches(s))
    assert (found['episodes'], found['moments']) == (2, moments)
    for name, scores in found['estimators'].items():
        assert scores['accuracy'] == scores['exact_states'] == scores['agreement'] == 1., name
        assert scores['gain']['difference'] == 0. and scores['brier'] < 1e-2
        assert scores['atoms'] == sum(
            len(relevant(s)) for s in right for _ in batches(s))
        assert scores['left_out'] == sum(
            len(s.episode.domain.worth_asking(s.episode.spec.problem)) - len(relevant(s))
            for s in right for _ in batches(s)) > 0
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


def follow(source, method):
    """What an estimator believes after each batch, and what the method published after it."""
    tracker, moved, found, published = Estimating(method).track(source.episode), False, [], []
    for event in source.episode.events:
        if isinstance(event, Observed):
            tracker.observe(event.observation, moved)
        elif isinstance(event, Asked):
            tracker.answer(event)
            found.append(tracker.believed()[0])
            published.append(None)
        elif isinstance(event, BeliefUpdated) and published:
            # What is told with a later look is published, too, before anything is asked.
            if events_since(source, event) == 0:
                published[-1] = event.belief.state
        elif isinstance(event, Stepped) and event.action is not None:
            tracker.act(event.action, event.feedback.status)
            moved = moved or event.feedback.status is FeedbackStatus.EXECUTED
    return found, published


def events_since(source, belief):
    """Number of looks and actions between a belief and the answers before it."""
    events = source.episode.events
    place = next(i for i, event in enumerate(events) if event is belief)
    since = 0
    while not isinstance(events[place], Asked):
        since += isinstance(events[place], (Observed, Stepped))
        place -= 1
    return since


@pytest.mark.parametrize('method', ['ground', 'decode'])
@pytest.mark.parametrize('level', [None, Privileged.NONE, Privileged.INITIAL, Privileged.ALWAYS])
def test_states_are_those_that_the_method_itself_believed(tmp_path, method, level):
    sources = (hidden_run(method, level, error=.1) if level is not None else
               recorded_run(tmp_path, method=method, seed=4, max_actions=12,
                            backend_options={'table': 'gemma-3-27b-it'}))
    compared = 0
    for source in sources:
        for found, published in zip(*follow(source, method), strict=True):
            assert found == published
            compared += 1
    assert compared >= 8


def test_actions_do_what_they_should_where_answers_say_nothing(right):
    def mute(batch):
        if batch.event.purpose is AskPurpose.ENUMERATION:
            return batch.event
        return dataclasses.replace(batch.event, replies=tuple(
            Answer('?') for a in batch.event.answers))
    found = estimate([with_batches(s, mute) for s in right], ALL, resamples=0)
    assert all(s['exact_states'] == 1. for s in found['estimators'].values())


def test_what_is_told_is_known():
    """With all told that is hidden, and a model that does not err, nothing is left to doubt."""
    told = hidden_run('ground', Privileged.ALWAYS)
    assert any(s.episode.events[1].observation.privileged_facts for s in told)
    for scores in estimate(told, ALL, resamples=0)['estimators'].values():
        assert scores['accuracy'] == scores['exact_states'] == 1.
    untold = estimate(hidden_run('ground', Privileged.NONE), ALL, resamples=0)['estimators']
    assert all(scores['accuracy'] < 1. for scores in untold.values())


@pytest.mark.slow
@pytest.mark.parametrize('hidden', [False, True])
def test_the_filter_is_that_of_the_method_belief(tmp_path, hidden):
    """Whatever the method believed after its answers is found again, to the last digits."""
    if hidden:
        sources = hidden_run('belief', Privileged.INITIAL, error=.1)
    else:
        medium = load_domain('blocksworld').split_folder('medium')
        problems = sorted(medium.glob('*.pddl'))[:2]
        there = tmp_path / 'problems'
        there.mkdir()
        for number, path in enumerate(problems):
            shutil.copy(path, there / f'm{number}.pddl')
        sources = recorded_run(tmp_path, method='belief', seed=4, max_actions=8,
                               backend_options={'table': 'gemma-3-27b-it'})
    compared = 0
    for source in sources:
        tracker, moved, asked = Estimating('belief').track(source.episode), False, False
        for event in source.episode.events:
            if isinstance(event, Observed):
                tracker.observe(event.observation, moved)
            elif isinstance(event, Asked):
                tracker.answer(event)
            elif isinstance(event, BeliefUpdated) and asked:
                state, found = tracker.believed()
                assert found == pytest.approx(event.belief.probabilities, rel=1e-9, abs=1e-12)
                assert state == event.belief.state and set(found) == relevant(source)
                compared += 1
            elif isinstance(event, Stepped) and event.action is not None:
                tracker.act(event.action, event.feedback.status)
                moved = moved or event.feedback.status is FeedbackStatus.EXECUTED
            asked = isinstance(event, Asked)
    assert compared > 10


def test_unreadable_answers_and_strange_atoms_are_borne(faulty):
    def broken(batch):
        answers = tuple(Answer('?') if n % 2 else a
                        for n, a in enumerate(batch.event.answers))
        odd = Atom('on', ('r', 'nobody'))
        query = dataclasses.replace(batch.event.queries[0], question=dataclasses.replace(
            batch.event.questions[0], atom=odd))
        return dataclasses.replace(batch.event, queries=(*batch.event.queries, query),
                                   replies=(*answers, Answer('yes')),
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

        def of(self, image_id, atom):
            return {'ann': 'yes'} if self.truth(image_id, atom) else {}

    found = estimate([without_truth(s) for s in faulty], ALL, Truth(One()), resamples=10)
    assert set(found['estimators']['belief']['predicates']) == {'clear'}
    assert found['estimators']['belief']['atoms'] == found['moments']
    assert found['estimators']['belief']['exact_states'] is None


def test_a_calibration_must_fit_the_answers(faulty, tmp_path):
    event = next(batches(faulty[0])).event
    domain = faulty[0].episode.domain
    path = tmp_path / 'cal.json'
    ours = dataclasses.replace(
        ObservationModel.default(), model=event.model, domain=domain.name,
        questions_sha256=domain.question_hash, prompt=event.prompt)
    for change, what in (({'model': 'someone else'}, 'model'), ({'domain': 'elsewhere'}, 'domain'),
                         ({'questions_sha256': 'old'}, 'wording'),
                         ({'prompt': 'ground_cot@1'}, 'prompt')):
        dataclasses.replace(ours, **change).write(path)
        for method in ('belief', 'decode'):
            with pytest.raises(InputError, match=f'another {what}'):
                estimate(faulty, [Estimating(method, {'calibration': str(path)})])
    ours.write(path)
    found = estimate(faulty, [Estimating('belief', {'calibration': str(path)})], resamples=10)
    assert found['estimators']['belief']['accuracy'] > .5


def test_methods_without_estimators_and_wrong_options_are_refused():
    with pytest.raises(InputError, match='no estimator'):
        Estimating('plan')
    with pytest.raises(InputError, match='unknown'):
        Estimating('plen')
    with pytest.raises(InputError):
        Estimating('belief', {'k': 0})
    from sightplan_belief.replay.estimates import options_of
    given = {'constraints': 'false', 'k': '8'}
    assert options_of('decode', given, read_options) == {'constraints': False}
    assert options_of('belief', given, read_options) == {'constraints': False, 'k': 8}
    assert options_of('ground', given, read_options) == {}


def test_batches_of_other_purposes_can_be_left_out(faulty):
    only = [with_batches(s, lambda b: b.event if b.event.purpose is AskPurpose.ENUMERATION
                         else None) for s in faulty]
    assert 0 < estimate(only, [], resamples=0)['moments'] < estimate(
        faulty, [], resamples=0)['moments']
