"""The node experiment over a scripted agent and recorder."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode, RunExperiment
from sightplan_interfaces.srv import FinishRun, Ground, ResetWorld, StartRun

from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.domains import load_domain
from sightplan.model import DeadlineError, InputError, WorldError
from sightplan_nodes import names, qos
from sightplan_nodes.calls import ActionCaller
from sightplan_nodes.experiment import ExperimentNode
from sightplan_nodes.failures import fill_error, raise_error


class Others:
    """All nodes that experiment speaks to, as far as it does."""

    def __init__(self, without: str = '') -> None:
        def node(name: str) -> Node:
            return Node(name if name != without else 'somebody_else')
        self.goals: list[RunEpisode.Goal] = []
        self.committed: list[str] = []
        self.started: list[StartRun.Request] = []
        self.finished: list[dict] = []
        self.errors: dict[int, Exception] = {}
        self.silent = False
        self.hang = threading.Event()
        self.hang.set()
        self.cancelled = 0
        self.agent, self.recorder = node(names.AGENT), node(names.METRICS_RECORDER)
        self.sim, self.grounder = node(names.SIM_BRIDGE), node(names.GROUNDER)
        self.planner = node(names.SYMBOLIC_PLANNER)
        for node, values in (
                (self.agent, {'method_options': '', 'plan_timeout_s': 60.0,
                              'ground_timeout_s': 60.0}),
                (self.sim, {'world_options': 'look=0.5', 'camera.width': 320, 'camera.height': 0}),
                (self.planner, {'search': 'lama-first'}),
                (self.grounder, {'backend': 'noisy_oracle', 'model': 'scripted', 'answers':
                                 'strict', 'backend_settings': '{"table": "perfect"}'})):
            for name, value in values.items():
                node.declare_parameter(name, value)
        self.grounder.create_service(Ground, '~/ground', lambda request, response: response)
        self.resets: list[ResetWorld.Request] = []
        self.sim.create_service(ResetWorld, '~/reset', self._reset)
        self.server = ActionServer(self.agent, RunEpisode, '~/run_episode', self._run,
                                   cancel_callback=lambda _: CancelResponse.ACCEPT)
        self.results = self.recorder.create_publisher(
            msg.EpisodeResult, '~/episode_result', qos.EVENTS)
        self.recorder.create_service(StartRun, '~/start_run', self._start)
        self.recorder.create_service(FinishRun, '~/finish_run', self._finish)
        self.start_error: Exception | None = None
        self.nodes = [self.agent, self.recorder, self.sim, self.grounder, self.planner]

    def _reset(self, request: ResetWorld.Request, response: ResetWorld.Response):
        self.resets.append(request)
        return response

    def _start(self, request: StartRun.Request, response: StartRun.Response):
        self.started.append(request)
        if self.start_error is not None:
            return fill_error(response, self.start_error)
        response.out, response.committed = request.out, self.committed
        return response

    def _finish(self, request: FinishRun.Request, response: FinishRun.Response):
        from sightplan.metrics import summarise
        notes = json.loads(request.notes_json)
        self.finished.append(notes)
        summary = {**summarise([]), **notes, 'out': 'there', 'episodes': len(self.goals),
                   'scored': len(self.goals) - len(self.errors), 'success_rate': 1.0, 'sem': 0.0}
        response.summary_json = json.dumps(summary)
        return response

    async def _run(self, handle) -> RunEpisode.Result:
        goal, result = handle.request, RunEpisode.Result()
        self.goals.append(goal)
        while not self.hang.wait(0.02):
            if handle.is_cancel_requested:
                self.cancelled += 1
                handle.canceled()
                return result
            # Let the executor see to the cancellation.
            from rclpy.task import Future
            future = Future()
            threading.Timer(0.02, lambda f=future: (f.set_result(None),
                                                    self.agent.executor.wake())).start()
            await future
        error = self.errors.get(len(self.goals))
        line = {'episode_id': goal.episode_id, 'stop': 'plan_done' if error is None else 'error',
                'scored': error is None, 'solved': error is None, 'error': str(error),
                'steps': 3, 'seconds': 1.0}
        if not self.silent:
            self.results.publish(msg.EpisodeResult(episode_id='someone else', result_json='{}'))
            self.results.publish(msg.EpisodeResult(
                episode_id=goal.episode_id, scored=line['scored'], result_json=json.dumps(line)))
        if error is not None:
            result.stop_reason = 'error'
            handle.abort()
            return fill_error(result, error)
        handle.succeed()
        return result


@pytest.fixture
def made(tmp_path: Path):
    @contextlib.contextmanager
    def make(others: Others, **settings: object):
        values = {'episodes': 3, 'out': str(tmp_path / 'run'), 'method': 'ground',
                  'startup_timeout_s': LIMIT_S, **settings}
        node = ExperimentNode(parameter_overrides=parameters(**values))
        client = Node('client')
        client.call = ActionCaller(client, RunExperiment, 'experiment/run_experiment',
                                   names.EXPERIMENT)
        with spinning(*others.nodes, node, client):
            yield node, client
        others.hang.set()
    return make


def ended(node: ExperimentNode) -> int:
    eventually(lambda: node.exit_code is not None, 'the end of the experiment')
    return node.exit_code


def test_all_episodes_are_run_and_reported(made: Callable, capsys) -> None:
    others = Others()
    with made(others) as (node, _):
        assert ended(node) == 0
    assert [goal.problem for goal in others.goals] == ['problem_00', 'problem_01', 'problem_02']
    assert {goal.method for goal in others.goals} == {'ground'}
    # The world is told the whole problem, the agent all but its initial state.
    assert [r.episode_id for r in others.resets] == [goal.episode_id for goal in others.goals]

    domain = load_domain('blocksworld')
    assert all(domain.parse_problem(r.problem_pddl, 'p').init for r in others.resets)
    assert not any(domain.parse_problem(g.problem_pddl, 'p').init for g in others.goals)
    assert {goal.max_actions for goal in others.goals} == {20}
    assert others.finished == [{'planned': 3, 'problems': 25, 'problems_skipped': [],
                                'interrupted': False}]
    out = capsys.readouterr()
    assert '[3/3]' in out.err
    assert 'ETA' in out.err
    assert 'episodes' in out.out


def test_the_record_holds_what_the_nodes_say(made: Callable) -> None:
    others = Others()
    with made(others) as (node, _):
        ended(node)
    request = others.started[0]
    identity, session = json.loads(request.identity_json), json.loads(request.session_json)
    assert identity['backend'] == {'name': 'noisy_oracle', 'table': 'perfect', 'split': 'auto',
                                   'cot': False, 'seed': 0, 'repeat': 0.45} | identity['backend']
    assert identity['model'] == 'scripted'
    assert identity['world'] == {'look': 0.5, 'width': 320}
    assert session['graph']['sim_bridge']['camera.width'] == 320
    assert session['commit']


def test_committed_episodes_are_skipped(made: Callable) -> None:
    others = Others()
    others.committed = ['blocksworld/simple/problem_01#0']
    with made(others) as (node, _):
        ended(node)
    assert [goal.problem for goal in others.goals] == ['problem_00', 'problem_02']


def test_an_error_of_one_episode_does_not_stop_the_others(made: Callable, capsys) -> None:
    others = Others()
    others.errors = {2: WorldError('fell over')}
    with made(others) as (node, _):
        assert ended(node) == 0
    assert len(others.goals) == 3
    assert 'not scored (fell over)' in capsys.readouterr().err


def test_a_silent_node_stops_the_run(made: Callable, capsys) -> None:
    others = Others()
    others.errors = {2: DeadlineError('grounder did not answer')}
    with made(others) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 2
    assert others.finished[0]['interrupted']
    assert 'grounder did not answer' in capsys.readouterr().err


def test_a_silent_recorder_is_named(made: Callable, capsys) -> None:
    others = Others()
    others.silent = True
    with made(others, result_timeout_s=0.2) as (node, _):
        assert ended(node) == 1
    assert 'metrics_recorder did not commit' in capsys.readouterr().err


def test_a_silent_agent_is_named(made: Callable, capsys) -> None:
    others = Others()
    others.hang.clear()
    with made(others, episode_timeout_s=0.2) as (node, _):
        assert ended(node) == 1
    assert 'agent did not finish' in capsys.readouterr().err
    assert others.cancelled == 1


@pytest.mark.parametrize('missing', [
    names.AGENT, names.METRICS_RECORDER, names.GROUNDER, names.SIM_BRIDGE])
def test_a_missing_node_is_named(made: Callable, missing: str, capsys) -> None:
    others = Others(without=missing)
    with made(others, startup_timeout_s=0.3) as (node, _):
        assert ended(node) == 1
    assert f'{missing} is not there' in capsys.readouterr().err
    assert not others.goals


@pytest.mark.parametrize(('settings', 'words'), [
    ({'split': 'easy'}, 'easy'), ({'problems': '/nowhere'}, '/nowhere'),
    ({'method': 'guess'}, 'guess'), ({'domain_file': '/d.pddl'}, 'domain_file')])
def test_wrong_settings_end_with_code_two(made: Callable, settings: dict, words: str,
                                          capsys) -> None:
    with made(Others(), **settings) as (node, _):
        assert ended(node) == 2
    assert words in capsys.readouterr().err


def test_another_run_in_the_folder_ends_with_code_two(made: Callable, capsys) -> None:
    others = Others()
    others.start_error = InputError('holds another run')
    with made(others) as (node, _):
        assert ended(node) == 2
    assert 'holds another run' in capsys.readouterr().err


def test_malformed_problems_are_skipped_and_told(made: Callable, tmp_path: Path, capsys) -> None:
    from sightplan.domains import load_domain
    domain = load_domain('blocksworld')
    folder = tmp_path / 'mine'
    folder.mkdir()
    (folder / 'good.pddl').write_text(domain.write_problem(domain.split_problems('simple')[0]))
    (folder / 'bad.pddl').write_text('(define')
    others = Others()
    with made(others, problems=str(folder), episodes=0) as (node, _):
        assert ended(node) == 0
    assert [goal.problem for goal in others.goals] == ['good']
    assert others.goals[0].split == ''
    assert 'bad.pddl' in others.finished[0]['problems_skipped'][0]
    assert 'bad.pddl' in capsys.readouterr().err


def test_as_an_action(made: Callable, tmp_path: Path) -> None:
    others = Others()
    seen = []
    with made(others, autostart=False) as (_, client):
        result = client.call(
            RunExperiment.Goal(domain='blocksworld', split='hard', method='ground', episodes=2,
                               seed=4), LIMIT_S, feedback=seen.append)
        assert result.error_code == 0, result.error_msg
        assert (result.episodes, result.errors) == (2, 0)
        eventually(lambda: len(seen) == 3, 'feedback')
        bad = client.call(RunExperiment.Goal(domain='blocksworld', split='easy'), LIMIT_S)
        with pytest.raises(InputError, match='easy'):
            raise_error(bad, names.EXPERIMENT)
    assert [goal.split for goal in others.goals] == ['hard', 'hard']
    assert [f.done for f in seen] == [0, 1, 2]
    assert {f.total for f in seen} == {2}


def test_a_cancelled_action_cancels_its_episode(made: Callable) -> None:
    others = Others()
    others.hang.clear()
    with made(others, autostart=False) as (_, client):
        result = client.call(
            RunExperiment.Goal(domain='blocksworld', split='simple', method='ground'), LIMIT_S,
            cancelled=lambda: bool(others.goals))
        assert result.error_code == 20
    assert others.cancelled == 1
    assert len(others.goals) == 1
