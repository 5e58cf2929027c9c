"""Runs in process and the ``sightplan run`` command."""

import copy
import dataclasses
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from doubles import TWO_BLOCKS, EventList, MemoryWorld, SearchPlanner
from sightplan import cli
from sightplan.commands import run as run_cli
from sightplan.commands.flags import settings_of
from sightplan.domains import Domain, load_domain
from sightplan.model import (
    BackendError,
    BeliefUpdated,
    InputError,
    PlanningResult,
    PlanningStatus,
    Privileged,
    WorldError,
)
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.records import RunStore
from sightplan.runs import (
    EpisodePlan,
    RunSettings,
    default_out,
    episodes,
    identity,
    load_suite,
    resolved_backend_options,
    run,
    select_problems,
    world_identity,
    worlds,
)
from sightplan.runs import rules as rules_of_runs
from sightplan.runs.suite_rules import MethodRules
from sightplan.vlm.api import make_backend

HERE = Path(__file__).parent


@pytest.fixture
def problems(tmp_path):
    """A folder with three problems."""
    folder = tmp_path / 'problems'
    folder.mkdir()
    for name in 'abc':
        (folder / f'{name}.pddl').write_text(TWO_BLOCKS)
    return folder


@pytest.fixture
def go(tmp_path, problems):
    """Run with test doubles; keyword arguments are settings."""
    def call(progress=None, cancelled=lambda: False, world=None, planner=None, **values):
        settings = RunSettings(**{
            'problems': str(problems), 'method': 'ground', 'backend': 'noisy_oracle',
            'out': str(tmp_path / 'run'), **values})
        return run(settings, progress, cancelled=cancelled, world=world or MemoryWorld(),
                   planner=planner or SearchPlanner())
    return call


class Watcher:
    def __init__(self):
        self.lines, self.starts = [], []

    def started(self, out, done, total, skipped):
        self.starts.append((len(done), total, list(skipped)))

    def item(self, line):
        self.lines.append(line)


def test_a_run_solves_scores_and_leaves_its_files(go, tmp_path):
    watcher = Watcher()
    summary = go(watcher)
    assert (summary['episodes'], summary['solved'], summary['success_rate']) == (3, 3, 1.)
    assert summary['predicate_accuracy']['overall'] == 1.
    assert watcher.starts == [(0, 3, [])] and len(watcher.lines) == 3
    folder = tmp_path / 'run'
    assert json.loads((folder / 'summary.json').read_text()) == summary
    assert summary['out'] == str(folder)
    assert summary['method']['name'] == 'ground' and summary['backend']['table'] == 'perfect'
    assert {'commit', 'dirty', 'packages'} <= set(summary['provenance'])
    assert summary['seed'] == 0 and summary['model'] and summary['questions_sha256']
    info = RunStore(folder).run_info()
    assert info['identity']['backend']['table'] == 'perfect'
    assert info['identity']['model'].startswith('noisy_oracle(perfect')
    assert info['identity']['questions_sha256'] and info['identity']['domain_sha256']
    [session] = info['sessions']
    assert session['renderer'] == 'none (test double)'
    assert {'commit', 'dirty', 'packages', 'python', 'platform', 'started',
            'settings'} <= set(session)
    assert [line['id'] for line in RunStore(folder).lines()] == [
        f'blocksworld/-/{name}#0' for name in 'abc']


def test_a_backend_that_looks_at_pictures_needs_a_world_that_draws_them(go, tmp_path):
    world = MemoryWorld()
    world.pictures = False
    with pytest.raises(InputError, match='pictures=none.*noisy_oracle'):
        go(world=world, backend='embedded')
    assert not (tmp_path / 'run').exists()
    assert go(world=world)['solved'] == 3


def test_the_same_seed_gives_the_same_results(go, tmp_path):
    def lines(out, **values):
        table = tmp_path / 't.json'
        table.write_text('{"rates": {"default": {"p_yes_true": 0.9, "p_yes_false": 0.1}}}')
        go(out=str(tmp_path / out), backend_options={'table': str(table)}, **values)
        keep = ('id', 'seed', 'measures', 'stop', 'actions', 'predicates')
        return [{k: line[k] for k in keep} for line in RunStore(tmp_path / out).lines()]
    first = lines('one')
    assert first == lines('two')
    assert first != lines('three', seed=1)


def test_the_runs_seed_seeds_the_noise_unless_told_otherwise():
    settings = RunSettings(backend='noisy_oracle', seed=7)
    assert resolved_backend_options(settings)['seed'] == 7
    settings = dataclasses.replace(settings, backend_options={'seed': 3})
    assert resolved_backend_options(settings)['seed'] == 3


@pytest.mark.parametrize(('method', 'kind'), [
    ('ground', 'plain'), ('ground_mem', 'plain'), ('belief', 'plain'), ('ground_cot', 'cot'),
    ('ground_mem_cot', 'cot')])
def test_the_methods_prompt_chooses_the_kind_of_errors(method, kind):
    def model(**options):
        settings = RunSettings(method=method, backend='noisy_oracle',
                               backend_options={'table': 'gpt-4.1', **options})
        resolved = resolved_backend_options(settings)
        return make_backend('noisy_oracle', resolved, MemoryWorld()).name
    assert model() == model(cot='auto') == f'noisy_oracle(gpt-4.1/{kind}, repeat 0.45, seed 0)'
    assert '/plain,' in model(cot='no') and '/cot,' in model(cot='yes')


def test_the_rules_of_the_suite_are_part_of_the_identity(monkeypatch):
    """As resolved: that of each split, wherever it comes from."""
    settings = RunSettings(method='plan', backend='scripted', split='all')

    def rules(settings):
        found = EpisodePlan(settings).identity('m')
        return found['max_actions'], found['stop_at_goal']
    splits = ('simple', 'medium', 'hard')
    assert rules(settings) == (dict(zip(splits, (10, 20, 30), strict=True)),
                               dict.fromkeys(splits, True))
    given = dataclasses.replace(settings, max_actions=10, stop_at_goal='no')
    assert rules(given) == (dict.fromkeys(splits, 10), dict.fromkeys(splits, False))
    suite = load_suite('viplan')
    own = suite.domains['blocksworld']
    others = own.model_copy(update={'method_rules': (
        MethodRules(methods=('plan',), max_actions={'simple': 3}),)})
    other = copy.copy(suite)
    other.domains = {'blocksworld': others}
    monkeypatch.setattr(rules_of_runs, 'suite_for', lambda *_: other)
    assert rules(settings) == ({'simple': 3, 'medium': 20, 'hard': 20},
                               dict.fromkeys(splits, False))


def test_what_a_domain_says_beside_its_pddl_is_part_of_the_identity(tmp_path):
    settings = RunSettings(method='idle')
    domain, pairs, _ = select_problems(settings)
    shutil.copytree(domain.folder, tmp_path / domain.name)
    other = Domain(tmp_path / domain.name)

    def found(domain):
        return identity(settings, None, domain, pairs, '')
    assert found(other) == found(domain)
    with (other.folder / 'domain.yaml').open('a') as file:
        file.write('instances: true\n')
    other = Domain(other.folder)
    assert {key for key, value in found(domain).items() if found(other)[key] != value} == {
        'domain_settings_sha256'}


def test_when_facts_are_told_is_as_set_or_as_the_suite_grants_it(go, tmp_path, monkeypatch):
    settings = RunSettings(method='blind', split='all')

    def levels(**values):
        plan = EpisodePlan(dataclasses.replace(settings, **values))
        found = plan.identity('')['privileged']
        specs = {spec.split: spec.privileged.value for spec in plan.items}
        assert found == specs
        return found
    splits = ('simple', 'medium', 'hard')
    assert levels() == dict.fromkeys(splits, 'none')
    assert levels(privileged='initial') == dict.fromkeys(splits, 'initial')
    monkeypatch.setattr(type(load_suite('viplan')), 'privileged',
                        lambda *_: Privileged.ALWAYS)
    assert levels() == dict.fromkeys(splits, 'always')
    assert levels(privileged='none') == dict.fromkeys(splits, 'none')


def test_a_run_tells_what_is_out_of_view_and_says_so(go, tmp_path):
    world = MemoryWorld(visible=lambda problem, state: set(problem.objects) - {'r'})
    summary = go(world=world, method='ground', privileged='always', max_actions=1)
    assert json.loads((tmp_path / 'run' / 'run.json').read_text())['identity']['privileged'] == {
        '-': 'always'}
    for line in RunStore(tmp_path / 'run').lines():
        assert line['privileged'] == 'always' and line['privileged_facts'] > 0
    assert summary['privileged_facts'] == 3 * summary['privileged_facts_per_episode'] > 0
    assert summary['errors'] == 0


def specs(**values):
    return EpisodePlan(RunSettings(**values)).items


def test_more_episodes_than_problems_go_round_with_other_seeds(problems):
    found = specs(episodes=7, problems=str(problems))
    assert [s.id.rpartition('#')[2] for s in found] == list('0001112')
    assert len({s.id for s in found}) == len({s.seed for s in found}) == 7
    assert len({s.cluster for s in found}) == 3


def test_an_episodes_seed_depends_on_nothing_but_its_id_and_the_runs_seed():
    two = specs(episodes=2)
    assert specs(episodes=5)[:2] == two
    assert [s.seed for s in specs(episodes=2, seed=1)] != [s.seed for s in two]


def test_budget_is_the_suites_unless_set():
    assert specs()[0].max_actions == 20
    assert specs(max_actions=7)[0].max_actions == 7


def test_budget_and_end_at_the_goal_depend_on_the_method():
    def rules(**values):
        return sorted({(spec.max_actions, spec.stop_at_goal)
                       for spec in specs(**{'method': 'action', 'split': 'all', **values})})
    assert rules() == [(10, True), (20, True), (30, True)]
    assert rules(stop_at_goal='no', max_actions=7) == [(7, False)]
    assert rules(method='ground') == [(20, False)]
    assert rules(method='ground', stop_at_goal='yes') == [(20, True)]


def test_problems_of_ones_own_have_no_suite(problems):
    spec = specs(method='plan', problems=str(problems))[0]
    assert (spec.max_actions, spec.stop_at_goal) == (20, False)


SCRIPT = '''
- '{"plan": [{"action": "moveblock", "parameters": {"block": "r", "column": "c2"}}]}'
- 'I would rather not.'
- {"action": "moveblock", "parameters": {"block": "g", "column": "c2"}}
- '{"plan": []}'
'''


@pytest.mark.parametrize(('stop_at_goal', 'stop', 'proposals'), [
    ('yes', 'goal_reached', {'planned': 2, 'unparsed': 1}),
    ('suite', 'empty_plan', {'planned': 2, 'unparsed': 1, 'empty': 1})])
def test_a_run_whose_model_plans(go, tmp_path, stop_at_goal, stop, proposals):
    (tmp_path / 'replies.yaml').write_text(SCRIPT)

    class NoPlanner:
        def plan(self, task, timeout_s):
            raise AssertionError('a symbolic planner was asked')
    summary = go(method='plan', backend='scripted', stop_at_goal=stop_at_goal, planner=NoPlanner(),
                 backend_options={'script': str(tmp_path / 'replies.yaml')})
    assert (summary['solved'], summary['scored'], summary['repaired']) == (3, 3, 3)
    assert summary['stops'] == {stop: 3}
    assert {k: n / 3 for k, n in summary['proposals'].items() if n} == proposals
    store = RunStore(tmp_path / 'run')
    identity = store.run_info()['identity']
    assert identity['stop_at_goal'] == {'-': stop_at_goal == 'yes'}
    assert identity['max_actions'] == {'-': 20}
    assert identity['prompt'] == {'name': 'plan', 'sha256': load_domain(
        'blocksworld').prompt_hash('plan')}
    assert identity['answers'] is None and identity['backend']['name'] == 'scripted'
    assert identity['model'].startswith('scripted(replies.yaml')
    for line in store.lines():
        assert line['stop_at_goal'] is (stop_at_goal == 'yes') and line['steps'] == 3


@pytest.mark.parametrize('method', ['plan', 'plan_cot', 'action', 'action_cot'])
def test_a_backend_that_cannot_plan_is_refused_before_anything_starts(go, tmp_path, method):
    with pytest.raises(InputError, match="'noisy_oracle' cannot plan.*scripted"):
        go(method=method)
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize('method', ['ground', 'ground_cot', 'ground_mem', 'ground_mem_cot'])
def test_the_grounding_methods_run_with_the_errors_of_a_real_model(go, method):
    summary = go(method=method, backend_options={'table': 'Qwen2.5-VL-7B-Instruct'}, seed=3,
                 problems='', split='simple', episodes=4)
    assert summary['scored'] == 4 and not summary['errors']
    assert summary['method']['name'] == method


def test_a_limit_on_proposals_reaches_the_model(go, tmp_path, monkeypatch):
    (tmp_path / 'replies.yaml').write_text(SCRIPT)
    seen = []
    propose = BackendVisualPlanner.propose

    def spy(self, observation, task, timeout_s=None):
        seen.append(timeout_s)
        return propose(self, observation, task, timeout_s)
    monkeypatch.setattr(BackendVisualPlanner, 'propose', spy)
    go(method='plan', backend='scripted', propose_timeout_s=7.5, episodes=1,
       backend_options={'script': str(tmp_path / 'replies.yaml')})
    assert set(seen) == {7.5}


def test_all_splits_are_walked_and_scored_apart(go):
    summary = go(problems='', split='all', method='idle')
    assert summary['episodes'] == 75 and summary['solved'] == 0
    assert set(summary['splits']) == {'simple', 'medium', 'hard'}


def test_a_malformed_problem_is_skipped_reported_and_counted(go, problems, tmp_path):
    (problems / 'bad.pddl').write_text('(define (problem bad)\n (:domain blocksworld)\n (:objects')
    watcher = Watcher()
    summary = go(watcher)
    assert summary['episodes'] == 3
    [told] = summary['problems_skipped']
    assert 'bad.pddl' in told
    assert watcher.starts == [(0, 3, [told])]
    assert RunStore(tmp_path / 'run').run_info()['problems_skipped'] == [told]


def test_a_folder_without_a_usable_problem_is_an_input_error(go, tmp_path):
    folder = tmp_path / 'bad'
    folder.mkdir()
    (folder / 'x.pddl').write_text('nonsense')
    with pytest.raises(InputError, match=r'not one usable problem[\s\S]*x\.pddl'):
        go(problems=str(folder))


@pytest.mark.parametrize('values', [
    {'method': 'magic'}, {'backend': 'magic'}, {'domain': 'magic'},
    {'split': 'magic', 'problems': ''},
    {'failure_probability': 1.5}, {'episodes': -1}, {'problems': '/nowhere'},
    {'domain_file': 'x.pddl', 'problems': ''}, {'backend_options': {'x': 1}},
    {'method_options': {'x': 1}}, {'backend_options': {'table': 'gpt-99'}},
    {'planner_timeout_s': 0.}])
def test_wrong_settings_are_input_errors_and_leave_no_directory(go, tmp_path, values):
    with pytest.raises(InputError):
        go(**values)
    assert not (tmp_path / 'run').exists()


def test_resuming_runs_only_what_is_missing(go, tmp_path):
    go(episodes=1)
    world = MemoryWorld()
    watcher = Watcher()
    summary = go(watcher, world=world)
    assert world.resets == 2 and watcher.starts == [(1, 3, [])]
    assert summary['episodes'] == 3
    ids = [line['id'] for line in RunStore(tmp_path / 'run').lines()]
    assert len(ids) == len(set(ids)) == 3


@pytest.mark.parametrize(('values', 'message'), [
    ({'seed': 5}, 'seed was 0, now 5'), ({'failure_probability': .1}, 'failure_probability'),
    ({'method': 'random'}, 'method.name'), ({'max_actions': 3}, 'max_actions'),
    ({'backend_options': {'repeat': .3}}, 'backend.repeat was 0.45, now 0.3')])
def test_another_run_is_not_mixed_in(go, values, message):
    go(episodes=1)
    with pytest.raises(InputError, match=message):
        go(**values)


def test_other_problems_are_another_run(go, problems):
    go(episodes=1)
    (problems / 'd.pddl').write_text(TWO_BLOCKS)
    with pytest.raises(InputError, match='problems'):
        go()


def test_cancelling_keeps_finished_episodes_and_drops_the_broken_one(go, tmp_path):
    watcher = Watcher()
    summary = go(watcher, cancelled=lambda: len(watcher.lines) >= 2)
    assert summary['interrupted'] and summary['episodes'] == 2
    assert json.loads((tmp_path / 'run' / 'summary.json').read_text())['interrupted']
    assert go()['episodes'] == 3


def test_an_interrupt_in_mid_episode_leaves_a_summary_and_can_be_resumed(go, tmp_path):
    class Interrupted(MemoryWorld):
        def execute(self, action):
            if self.resets == 2:
                raise KeyboardInterrupt
            return super().execute(action)
    with pytest.raises(KeyboardInterrupt):
        go(world=Interrupted())
    summary = json.loads((tmp_path / 'run' / 'summary.json').read_text())
    assert summary['episodes'] == 1 and summary['interrupted']
    assert go()['episodes'] == 3


def test_errors_are_committed_apart_and_can_be_repeated(go):
    class Broken(MemoryWorld):
        def execute(self, action):
            if self.resets == 2:
                raise WorldError('lost the arm')
            return super().execute(action)
    summary = go(world=Broken())
    assert (summary['episodes'], summary['errors'], summary['scored']) == (3, 1, 2)
    assert summary['success_rate'] == 1.
    assert go(retry_errors=False)['errors'] == 1
    assert go()['errors'] == 0


def test_a_method_that_asks_nothing_loads_no_model(go, monkeypatch):
    def refuse(*arguments):
        raise BackendError('loaded')
    monkeypatch.setattr(episodes, 'make_backend', refuse)
    summary = go(method='oracle')
    assert summary['solved'] == 3 and summary['questions'] == 0
    with pytest.raises(BackendError):
        go(out='elsewhere')


def test_a_world_without_truth_cannot_be_scored(go):
    class Blind:
        def reset(self, spec): ...
        def observe(self): ...
        def execute(self, action): ...
    with pytest.raises(InputError, match='no ground truth'):
        go(world=Blind())


def test_a_missing_world_says_what_to_do(monkeypatch):
    monkeypatch.setattr(worlds.plugins, 'entry_points', lambda group: {})
    with pytest.raises(InputError, match='blocksworld'):
        worlds.make_world('blocksworld')


def test_unsolvable_beliefs_are_failures_not_errors(go):
    class Hopeless:
        def plan(self, task, timeout_s):
            return PlanningResult(PlanningStatus.UNSOLVABLE)
    summary = go(planner=Hopeless(), suite='viplan')
    assert (summary['solved'], summary['errors'], summary['stops']) == (0, 0, {'no_plan': 3})
    assert summary['action_accuracy'] == 0. and summary['plans']['never_planned'] == 3


KILLED = """
import sys, time
sys.path.insert(0, {here!r})
from doubles import MemoryWorld, SearchPlanner
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
STORE = RunStore({out!r})
class Hanging(MemoryWorld):
    def execute(self, action):
        if len(STORE.run_info()['sessions']) == 1 and len(STORE.lines()) == 3:
            time.sleep(600)
        return super().execute(action)
run(RunSettings(problems={problems!r}, method='ground', backend='noisy_oracle', out={out!r},
                episodes=12), world=Hanging(), planner=SearchPlanner())
"""


def test_after_sigkill_a_rerun_has_every_episode_exactly_once(problems, tmp_path):
    out = tmp_path / 'run'
    command = [sys.executable, '-c',
               KILLED.format(here=str(HERE), problems=str(problems), out=str(out))]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 240
    while len(RunStore(out).lines()) < 3 and time.monotonic() < deadline:
        time.sleep(.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = len(RunStore(out).lines())
    assert done == 3
    subprocess.run(command, check=True)
    ids = [line['id'] for line in RunStore(out).lines()]
    assert len(ids) == len(set(ids)) == 12
    assert json.loads((out / 'summary.json').read_text())['episodes'] == 12
    assert len(RunStore(out).run_info()['sessions']) == 2


# The command

@pytest.fixture
def command(monkeypatch, tmp_path, problems):
    """Call ``sightplan run`` with test doubles: exit code."""
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
    import sightplan.planning.symbolic as symbolic
    monkeypatch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        defaults = ['--problems', str(problems), '--table', 'perfect', '--out',
                    str(tmp_path / 'run')]
        return cli.main(['run', *defaults, *arguments])
    return call


def test_json_is_the_last_line_and_all_else_goes_to_stderr(command, capsys):
    assert command('--json') == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert out.count('\n') == 1
    assert {'episodes', 'solved', 'success_rate', 'interval95', 'predicate_accuracy', 'questions',
            'errors', 'seconds', 'out'} <= set(summary)
    assert summary['predicate_accuracy']['per_predicate']['on'] == 1.
    assert '[3/3]' in err and 'solved' in err


def test_without_json_the_table_is_printed(command, capsys):
    assert command() == 0
    out, _ = capsys.readouterr()
    assert 'predicate accuracy' in out and '3 of 3' in out
    assert 'answers to enumerations of the state' in ' '.join(out.split())


def test_options_reach_the_settings():
    arguments = cli.make_parser().parse_args([
        'run', '--table', 'gpt-4.1', '--backend-option', 'repeat=0.3', '--backend-option',
        'cot=yes', '--method-option', 'on_unparsed=stop', '--world-option', 'look=0.5',
        '--world-option', 'frame_id=cam', '--split', 'hard', '--episodes', '4', '--seed', '9',
        '--failure-probability', '0.1', '--max-actions', '30', '--no-resume'])
    settings = run_cli.settings_from(settings_of(arguments))
    assert (settings.backend, settings.backend_options) == (
        'noisy_oracle', {'repeat': .3, 'cot': 'yes', 'table': 'gpt-4.1'})
    assert settings.method_options == {'on_unparsed': 'stop'}
    assert settings.world_options == {'look': .5, 'frame_id': 'cam'}
    assert (settings.split, settings.episodes, settings.seed, settings.failure_probability,
            settings.max_actions, settings.resume) == ('hard', 4, 9, .1, 30, False)


@pytest.mark.parametrize('arguments', [
    ['--backend-option', 'repeat'], ['--backend-option', 'x=1'], ['--backend-option', 'repeat=x'],
    ['--backend-option', 'cot=maybe'], ['--method-option', 'x=1'], ['--table', 'gpt-99'],
    ['--failure-probability', '2'], ['--problems', '/nowhere']])
def test_bad_usage_is_exit_code_2_with_a_message(command, capsys, arguments):
    assert command(*arguments) == 2
    assert 'sightplan run: ' in capsys.readouterr().err


@pytest.mark.parametrize(('arguments', 'words'), [
    (['--backend', 'embedded', '--table', 'perfect'], 'noisy_oracle, not embedded'),
    (['--backend', 'noisy_critic', '--table', 'perfect'], 'noisy_oracle, not noisy_critic'),
    (['--method', 'plan', '--backend', 'noisy_oracle', '--table', 'perfect'],
     'noisy_planner, not noisy_oracle'),
    (['--method', 'plan', '--table', 'gpt-99'], "no table 'gpt-99'"),
    (['--method', 'action', '--table', 'gpt-4.1', '--world-option', 'pictures=none'],
     "no success of GPT-4.1 with method 'action' was published"),
    (['--table', 'perfect', '--backend-option', 'table=gpt-4.1'], 'say the same'),
    (['--suite', 'predicates', '--method', 'ask', '--rerun', 'x.rrd'], 'shows episodes'),
    (['--table', 'perfect', '--method', 'ground', '--goal', 'pictured', '--world-option',
      'pictures=none'], 'goal=told')])
def test_what_cannot_go_together_is_bad_usage(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert cli.main(['run', *arguments, '--out', 'r', '--episodes', '1']) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.glob('**/episodes.jsonl')) and not list(tmp_path.glob('*.rrd'))


@pytest.mark.parametrize('arguments', [
    ['--method', 'magic'], ['--backend', 'magic'], ['--domain', 'magic'], ['--episodes', 'x'],
    ['--nonsense']])
def test_arguments_argparse_refuses_are_exit_code_2(command, arguments):
    with pytest.raises(SystemExit) as caught:
        command(*arguments)
    assert caught.value.code == 2


@pytest.mark.parametrize('arguments', [
    ['--out', '~nouser/x'], ['--problems', '~nouser/x'], ['--table', '~nouser/x.json'],
    ['--domain-file', '~nouser/x.pddl', '--problems', 'x']])
def test_a_home_of_nobody_is_exit_code_2(command, capsys, tmp_path, problems, arguments):
    usual = ['--problems', str(problems), '--table', 'perfect', '--out', str(tmp_path / 'r')]
    assert cli.main(['run', *usual, *arguments]) == 2
    assert '~nouser/x' in capsys.readouterr().err


def test_a_run_that_cannot_start_is_exit_code_1(command, monkeypatch, capsys):
    def broken(name, options=None):
        raise WorldError('no renderer')
    monkeypatch.setattr(worlds, 'make_world', broken)
    assert command() == 1
    assert 'no renderer' in capsys.readouterr().err


def test_a_run_without_one_scored_episode_is_exit_code_1(command, monkeypatch, capsys):
    class Broken(MemoryWorld):
        def reset(self, spec):
            raise WorldError('stuck')
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: Broken())
    assert command('--json') == 1
    assert json.loads(capsys.readouterr().out)['errors'] == 3


def test_ctrl_c_is_exit_code_1_with_readable_results_and_resumes(command, monkeypatch, capsys,
                                                                 tmp_path):
    class Pressing(MemoryWorld):
        def execute(self, action):
            if self.resets == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return super().execute(action)
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: Pressing())
    assert command('--json') == 1
    assert signal.getsignal(signal.SIGINT) is before
    out, err = capsys.readouterr()
    assert json.loads(out)['episodes'] == 1 and 'goes on from there' in err
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
    assert command('--json') == 0
    assert json.loads(capsys.readouterr().out)['episodes'] == 3
    assert command('--episodes', '1') == 0
    assert '2 of the 3 stand in this run from earlier' in capsys.readouterr().err


def test_without_out_a_new_directory_below_runs_is_made(command, monkeypatch, tmp_path, problems):
    assert cli.main(['run', '--problems', str(problems), '--table', 'perfect']) == 0
    [made] = (tmp_path / 'runs').iterdir()
    assert made.name.endswith('-blocksworld-problems-ground')


def test_runs_of_the_same_second_get_directories_of_their_own(monkeypatch, tmp_path):
    class Clock:
        @staticmethod
        def now():
            return datetime.datetime(2026, 1, 2, 3, 4, 5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules['sightplan.runs.run'], 'datetime',
                        types.SimpleNamespace(datetime=Clock))
    names = []
    for _ in range(3):
        names.append(default_out(RunSettings()))
        Path(names[-1]).mkdir(parents=True)
    first = 'runs/20260102-030405-blocksworld-simple-ground'
    assert names == [first, f'{first}-2', f'{first}-3']


def test_help_explains(capsys):
    for arguments in (['--help'], ['run', '--help']):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 0
    out = capsys.readouterr().out
    for word in ('--split', '--backend', 'exit codes', 'examples', 'noisy_oracle'):
        assert word in out


def test_every_subcommand_is_there():
    text = cli.make_parser().format_help()
    assert all(name in text for name in ('run', 'problems', 'bench'))


def test_a_world_that_wants_to_hears_every_belief(problems, tmp_path):
    class Listening(MemoryWorld):
        def __init__(self):
            super().__init__()
            self.heard = []

        def expect(self, belief):
            self.heard.append(belief)

    world, events = Listening(), EventList()
    run(RunSettings(problems=str(problems), method='belief', backend='noisy_oracle',
                    out=str(tmp_path / 'run')), world=world, planner=SearchPlanner(),
        recorders=[events])
    assert world.heard == [event.belief for event in events.of(BeliefUpdated)]
    assert max(world.heard[-1].probabilities.values()) > 0.9


def test_the_identity_of_a_symbolic_run_holds_the_options_of_its_world_and_no_more():
    for options in ({}, {'width': 64}, {'execution': 'symbolic', 'look': 0.5}):
        assert world_identity('blocksworld', options) == options


def test_the_identity_of_a_run_with_an_arm_knows_the_robots_file(tmp_path):
    found = world_identity('blocksworld', {'execution': 'arm'})
    assert found['execution'] == 'arm' and len(found['robot_sha256']) == 12


def test_what_a_world_cannot_show_is_known_before_the_first_episode(tmp_path, capsys):
    code = cli.main(['run', '--method', 'oracle', '--split', 'simple', '--episodes', '2',
                     '--failure-probability', '0.1', '--world-option', 'execution=arm',
                     '--out', str(tmp_path / 'run')])
    assert code == 2 and 'failure_probability is 0.1' in capsys.readouterr().err
    assert not (tmp_path / 'run' / 'episodes.jsonl').exists()
