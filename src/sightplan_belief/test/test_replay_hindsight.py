"""Recorded episodes in hindsight, and a calibration from them."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest

from doubles import MemoryWorld, SearchPlanner
from replay_doubles import recorded_run, without_truth
from sightplan import cli
from sightplan.domains import load_domain
from sightplan.model import Asked, Atom, InputError
from sightplan.replay.sources import Sources
from sightplan.runs import RunSettings, run
from sightplan_belief.observation_model import ObservationModel, read_observation_model
from sightplan_belief.replay.hindsight import recorded

HOME = load_domain('household')
PROBLEM = """(define (problem doors{number}) (:domain household)
  (:objects door_1 door_2 - container)
  (:init {init}) (:goal (and (not (open door_1)) (not (open door_2)))))
"""
TABLE = """
rates:
  open: {p_yes_true: 0.3, p_yes_false: 0.1}
  default: {p_yes_true: 0.8, p_yes_false: 0.2}
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Eight houses with doors to be closed; the model rarely sees that one is open."""
    folder = tmp_path_factory.mktemp('doors')
    (folder / 'problems').mkdir()
    for number in range(8):
        init = ' '.join(f'(open door_{i})' for i in (1, 2) if number % 4 + 1 & i)
        (folder / f'problems/p{number}.pddl').write_text(PROBLEM.format(number=number, init=init))
    (folder / 'table.yaml').write_text(TABLE)
    world = MemoryWorld(HOME, lambda problem, state: set(problem.objects))
    run(RunSettings(domain='household', problems=str(folder / 'problems'), method='belief',
                    method_options={'min_gain': 0.0, 'settle': 1.0}, backend='noisy_oracle',
                    backend_options={'table': str(folder / 'table.yaml'), 'together': 0.0},
                    privileged='none', max_actions=8, bags='all', answers_log=True,
                    out=str(folder / 'run')), world=world, planner=SearchPlanner(HOME))
    return folder


def test_what_is_known_in_hindsight_is_nearly_the_truth(folder):
    episodes = recorded(Sources.find([folder / 'run']).read())
    assert len(episodes) == 8 and all(e.domain == 'household' for e in episodes)
    said, known = [], []
    for episode in episodes:
        found = episode(ObservationModel.default())
        assert len(found.answers) == len(found.truths) == len(found.unchanged) > 0
        assert [(a.atom, a.verdict) for a in found.answers] == [
            (atom, a.verdict) for event in episode.source.episode.events
            if isinstance(event, Asked) for atom, a in event.by_atom.items()]
        for values, p in ((0, 1.0 - found.truths), (1, found.truths)):
            assert (found.unchanged[:, values] <= p + 1e-9).all()
        for p, answer in zip(found.truths, found.answers, strict=True):
            if answer.atom.predicate == 'open':
                said.append(answer.verdict.says is answer.truth)
                known.append(bool(p > 0.5) is answer.truth)
    assert sum(said) / len(said) < 0.85 < 0.95 < sum(known) / len(known)


def test_nobody_looks_at_the_truth(folder):
    [episode, *_] = sources = list(Sources.find([folder / 'run']).read())
    seen, blind = (recorded([s])[0](ObservationModel.default())
                   for s in (episode, without_truth(episode)))
    assert np.array_equal(seen.truths, blind.truths) and len(sources) == 8
    assert all(a.truth is None for a in blind.answers)
    unstarted = dataclasses.replace(episode, episode=dataclasses.replace(
        episode.episode, spec=dataclasses.replace(
            episode.episode.spec, problem=dataclasses.replace(
                episode.episode.spec.problem, init=frozenset()))))
    assert np.array_equal(recorded([unstarted])[0](ObservationModel.default()).truths,
                          seen.truths)


def test_answers_of_two_models_in_one_episode_are_refused(folder):
    source = next(iter(Sources.find([folder / 'run']).read()))
    first = next(i for i, e in enumerate(source.episode.events) if isinstance(e, Asked))
    events = list(source.episode.events)
    events.append(dataclasses.replace(events[first], model='another'))
    mixed = dataclasses.replace(source, episode=dataclasses.replace(
        source.episode, events=tuple(events)))
    with pytest.raises(InputError, match='several models'):
        recorded([mixed])


def test_where_joint_states_are_listed_there_is_no_hindsight(tmp_path):
    assert recorded(recorded_run(tmp_path, problems=1, method='belief')) == []


@pytest.fixture
def calibrate(folder, tmp_path, capsys):
    """Exit code, report, standard error."""
    def call(*arguments, path=folder / 'run'):
        code = cli.main(['calibrate', '--run', str(path), '--out', str(tmp_path / 'cal.json'),
                         '--problems', str(folder / 'problems'), '--json',
                         *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]) if code < 2 else None, err
    return call


@pytest.mark.slow
def test_a_calibration_from_bags_comes_close_to_that_from_labels(calibrate, tmp_path):
    code, labels, _ = calibrate()
    assert code == 0 and labels['learned'] == 'labels' and not labels['episodes']
    code, report, _ = calibrate('--em')
    assert code == 0 and report['learned'] == 'em' and report['episodes'] == 8
    assert report['answers'] == labels['answers'] and 1 < report['iterations'] <= 5
    for rate in ('yes_true', 'yes_false'):
        assert report['predicates']['open'][rate] == pytest.approx(
            labels['predicates']['open'][rate], abs=0.1)
    found = read_observation_model(tmp_path / 'cal.json')
    assert found.learned == 'em' and len(found.problems) == labels['problems']
    found.check(report['model'], HOME)


def test_other_models_and_prompts_are_not_in_the_bags(calibrate):
    code, _, err = calibrate('--em', '--model', 'gpt-9')
    assert code == 2 and 'there are only episodes of noisy_oracle' in err
    code, _, err = calibrate('--em', '--prompt', 'ground_cot')
    assert code == 2 and '--prompt' in err


def test_bags_alone_will_do_and_a_run_without_bags_has_answers(calibrate, folder, tmp_path):
    code, report, _ = calibrate('--em', path=folder / 'run/bags')
    assert code == 0 and report['episodes'] == 8
    plain = tmp_path / 'plain'
    plain.mkdir()
    for name in ('run.json', 'episodes.jsonl', 'answers.jsonl'):
        (plain / name).write_bytes((folder / 'run' / name).read_bytes())
    code, report, err = calibrate('--em', path=plain)
    assert code == 0 and report['episodes'] == 0 and report['learned'] == 'em'
    assert f'{plain}: no recorded episode can be used (run again with --bags all)' in err
    assert Atom('open', ('door_1',)).predicate in report['predicates']


@pytest.mark.parametrize('broken', [7, 8])
def test_bags_that_cannot_be_read_are_named_once_and_exit_code_1(calibrate, folder, tmp_path,
                                                                 broken):
    copy = tmp_path / 'copy'
    shutil.copytree(folder / 'run', copy)
    bags = sorted(copy.glob('bags/**/*.mcap'))
    assert len(bags) == 8
    for bag in bags[:broken]:
        bag.write_bytes(b'nothing')
    code, report, err = calibrate('--em', path=copy)
    assert code == 1 and report['episodes'] == 8 - broken and report['learned'] == 'em'
    for bag in bags[:broken]:
        assert err.count(f'bags/{bag.parent.name}') == 1, err
    assert (f'{copy}: no recorded episode can be used' in err) is (broken == 8)


def test_answers_alone_are_learned_from_with_a_note_where_states_are_listed(tmp_path, capsys):
    (tmp_path / 'script.yaml').write_text("answers: {default: 'No'}")
    out = tmp_path / 'run'
    run(RunSettings(method='belief', episodes=1, max_actions=1, backend='scripted',
                    backend_options={'script': str(tmp_path / 'script.yaml')}, bags='all',
                    answers_log=True, out=str(out)), world=MemoryWorld(), planner=SearchPlanner())
    code = cli.main(['calibrate', '--em', '--run', str(out), '--out', str(tmp_path / 'c.json')])
    err = capsys.readouterr().err
    assert code == 0 and f'{out}: no recorded episode can be used (the constraints' in err
