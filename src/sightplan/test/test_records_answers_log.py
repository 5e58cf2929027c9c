"""The log of answers and actions with the truth."""

from __future__ import annotations

import dataclasses
import json

import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner, two_blocks
from sightplan.domains.problem_keys import problem_key
from sightplan.model import WorldError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan_models import noisy_oracle

ANSWER = {'episode', 'split', 'problem', 'domain', 'model', 'questions_sha256', 'prompt', 'step',
          'image', 'stamp_ns', 'purpose', 'atom', 'answer', 'p_yes', 'p_no', 'truth'}
ACTION = {'episode', 'problem', 'domain', 'step', 'action', 'status', 'outcome', 'before', 'after'}


@pytest.fixture
def folder(tmp_path):
    """A folder with two problems."""
    for name in 'ab':
        (tmp_path / f'{name}.pddl').write_text(TWO_BLOCKS)
    return tmp_path


@pytest.fixture
def go(folder):
    def call(cancelled=lambda: False, world=None, **values):
        settings = RunSettings(**{'problems': str(folder), 'method': 'ground',
                                  'backend': 'noisy_oracle', 'out': str(folder / 'run'),
                                  'answers_log': True, **values})
        return run(settings, cancelled=cancelled, world=world or MemoryWorld(),
                   planner=SearchPlanner())
    return call


def read(folder):
    return [json.loads(line) for line in (folder / 'run/answers.jsonl').read_text().splitlines()]


def test_every_answer_and_action_has_a_line(go, folder):
    summary = go(backend_options={'table': 'gemma-3-27b-it'})
    lines = read(folder)
    answers = [line for line in lines if 'atom' in line]
    actions = [line for line in lines if 'action' in line]
    assert len(answers) == summary['questions'] and len(answers) + len(actions) == len(lines)
    assert all(set(line) == ANSWER for line in answers)
    assert all(set(line) == ACTION for line in actions)
    wrong = sum((line['answer'] == 'yes') is not line['truth'] for line in answers)
    assert wrong == sum(len(line['wrong']) for line in RunStore(folder / 'run').lines())
    assert {line['episode'] for line in answers} == {'blocksworld/-/a#0', 'blocksworld/-/b#0'}
    assert {line['model'] for line in answers} == {summary['model']}
    assert {line['questions_sha256'] for line in answers} == {summary['questions_sha256']}
    assert {line['problem'] for line in lines} == {problem_key(two_blocks())}


@pytest.mark.parametrize('reads_prompt', [True, False])
def test_answers_name_the_prompt_that_they_depend_on(go, folder, monkeypatch, reads_prompt):
    monkeypatch.setattr(noisy_oracle.Backend, 'traits', dataclasses.replace(
        noisy_oracle.Backend.traits, prompt=reads_prompt))
    go(method='ground_cot')
    prompt = MemoryWorld().domain.prompt_id('ground_cot') if reads_prompt else ''
    assert {line['prompt'] for line in read(folder) if 'atom' in line} == {prompt}


def test_actions_have_the_true_states_around_them(go, folder):
    go()
    problem = two_blocks()
    first, second = [line for line in read(folder) if 'action' in line][:2]
    assert first['action'] == 'moveblock(r, c2)' and first['step'] == 0
    assert (first['status'], first['outcome']) == ('executed', 'success')
    assert first['before'] == sorted(map(str, problem.init))
    after = MemoryWorld().domain.model(problem).apply(
        MemoryWorld().domain.model(problem).actions[1], problem.init)
    assert {'incolumn r,c2'} <= set(first['after']) - set(first['before'])
    assert first['after'] == sorted(map(str, after)) == second['before']


def test_a_failed_action_changes_nothing(go, folder):
    go(failure_probability=1.0, max_actions=2)
    actions = [line for line in read(folder) if 'action' in line]
    assert actions and all(line['outcome'] == 'no_op' and line['before'] == line['after']
                           for line in actions)


def test_without_the_option_there_is_no_log(go, folder):
    go(answers_log=False)
    assert not (folder / 'run/answers.jsonl').exists()


def test_a_resumed_run_has_every_episodes_lines_once(go, folder):
    go()
    whole = read(folder)
    path = folder / 'run/episodes.jsonl'
    # As if the second episode's lines were written, and torn, before its commit.
    path.write_text(path.read_text().splitlines()[0] + '\n')
    with (folder / 'run/answers.jsonl').open('a') as file:
        file.write('{"episode": "blocksworld/-/a#0", "ans')
    go()
    assert read(folder) == whole


def test_it_is_no_part_of_a_runs_identity(go, folder):
    go(answers_log=False, episodes=1)
    go(episodes=2)
    assert {line['episode'] for line in read(folder)} == {'blocksworld/-/b#0'}


def test_a_broken_off_episode_leaves_no_lines(go, folder):
    calls = iter(range(1_000))
    go(cancelled=lambda: next(calls) > 3)
    assert not (folder / 'run/answers.jsonl').exists() or read(folder) == []


class Forgetful(MemoryWorld):
    def last_outcome(self):
        raise WorldError('nobody knows')


def test_what_has_no_truth_is_left_out(go, folder):
    go(world=Forgetful())
    assert read(folder) and not any('action' in line for line in read(folder))


class ForgetfulOnce(MemoryWorld):
    """A world that cannot tell the state after its first action."""

    outcomes = 0

    def last_outcome(self):
        self.outcomes += 1
        return super().last_outcome()

    def state(self, stamp_ns=None):
        if stamp_ns is None and self.outcomes == 1:
            self.outcomes += 1
            raise WorldError('nobody knows')
        return super().state(stamp_ns)


def test_no_action_starts_from_a_state_before_one_that_is_not_known(go, folder):
    go(world=ForgetfulOnce(), episodes=1)
    lines = read(folder)
    assert max(line['step'] for line in lines) >= 2
    assert not [line for line in lines if 'action' in line and line['step'] < 2]
