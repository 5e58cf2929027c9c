"""The node experiment over a scripted agent and recorder."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.parameter import Parameter
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode, RunExperiment
from sightplan_interfaces.srv import (
    FinishRun,
    Ground,
    LoadProblem,
    ProposePlan,
    StartRun,
)
from std_srvs.srv import Trigger

from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.domains import load_domain
from sightplan.metrics import measures
from sightplan.model import (
    BusyError,
    CancelledError,
    DeadlineError,
    InfrastructureError,
    InputError,
    RefusedError,
    SpendingCapError,
    Usage,
    WorldError,
)
from sightplan.records import messages
from sightplan.runs import RunSettings
from sightplan.runs.protocols import apply
from sightplan_nodes import names, qos
from sightplan_nodes.calls import ActionCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.experiment import ExperimentNode
from sightplan_nodes.failures import fill_error, raise_error


class Others:
    """All nodes that experiment speaks to, as far as it does, but those that are ``without``."""

    def __init__(self, *without: str) -> None:
        def node(name: str) -> Node:
            return Node(name if name not in without else f'not_{name}')
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
        self.planner, self.vlm_planner = node(names.SYMBOLIC_PLANNER), node(names.VLM_PLANNER)
        for node, values in (
                (self.agent, {'method_options': '', 'plan_timeout_s': 60.0,
                              'ground_timeout_s': 60.0, 'propose_timeout_s': 90.0}),
                (self.sim, {'world_options': 'look=0.5', 'camera.width': 320, 'camera.height': 0}),
                (self.planner, {'search': 'lama-first'}),
                (self.grounder, {'backend': 'noisy_oracle', 'model': 'scripted', 'answers':
                                 'strict', 'backend_settings': '{"table": "perfect"}'}),
                (self.vlm_planner, {'backend': 'scripted', 'model': 'scripted-2',
                                    'backend_settings': '{"script": "s.yaml"}'})):
            for name, value in values.items():
                node.declare_parameter(name, value)
        self.grounder.create_service(Ground, '~/ground', lambda request, response: response)
        self.vlm_planner.create_service(ProposePlan, '~/plan', lambda request, response: response)
        self.carried: list[tuple[str, str, Usage | None]] = []
        self.spent = Usage(3, 40, 5, 0.25)
        self.scores: dict[str, object] = {}
        for node in (self.grounder, self.vlm_planner):
            node.create_service(StartRun, '~/start_run', lambda request, response, n=node: (
                self.carried.append((n.get_name(), request.out,
                                     messages.usage_from_msg(request.spent))),
                response)[1])
        self.loaded: list[LoadProblem.Request] = []
        self.shown: dict[str, object] = {}  # of the world's replies
        self.sim.create_service(LoadProblem, '~/load_problem', self._load)
        self.server = ActionServer(self.agent, RunEpisode, '~/run_episode', self._run,
                                   cancel_callback=lambda _: CancelResponse.ACCEPT)
        self.results = self.recorder.create_publisher(
            msg.EpisodeResult, '~/episode_result', qos.RESULTS)
        self.recorder.create_service(StartRun, '~/start_run', self._start)
        self.recorder.create_service(FinishRun, '~/finish_run', self._finish)
        self.start_error: Exception | None = None
        self.busy = 0  # so often the recorder says that an episode is under way
        self.nodes = [self.agent, self.recorder, self.sim, self.grounder, self.planner,
                      self.vlm_planner]

    def _load(self, request: LoadProblem.Request, response: LoadProblem.Response):
        self.loaded.append(request)
        for name, value in self.shown.items():
            setattr(response, name, value)
        return response

    def _start(self, request: StartRun.Request, response: StartRun.Response):
        self.started.append(request)
        if self.start_error is not None:
            return fill_error(response, self.start_error)
        if self.busy >= len(self.started):
            return fill_error(response, BusyError('episode e/7 is under way'))
        response.session = 'this run'
        response.out, response.committed = request.out, self.committed
        response.spent = MESSAGES.usage_to_msg(self.spent)
        return response

    def _finish(self, request: FinishRun.Request, response: FinishRun.Response):
        from sightplan.runs import summarise
        notes = {'planned': request.planned, 'problems': request.problems,
                 'problems_skipped': list(request.problems_skipped),
                 'interrupted': request.interrupted, 'stopped_by': request.stopped_by}
        self.finished.append(notes)
        summary = {**summarise([], None), **notes, 'repeated_lines': [], 'out': 'there',
                   'episodes': len(self.goals), 'scored': len(self.goals) - len(self.errors),
                   'errors': len(self.errors), 'items': len(self.goals),
                   'success_rate': 1.0, 'sem': 0.0,
                   **self.scores}
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
        stop = ('plan_done' if error is None else
                'cancelled' if isinstance(error, CancelledError) else 'error')
        line = {'id': goal.episode_id, 'kind': 'episode', 'stop': stop, 'cause': None,
                'measures': {'solved': 1.0 if error is None else None}, 'error': (
                    None if error is None else f'{type(error).__name__}: {error}'),
                'steps': 3, 'seconds': 1.0}
        if not self.silent:
            self.results.publish(msg.EpisodeResult(episode_id='someone else', result_json='{}'))
            self.results.publish(msg.EpisodeResult(
                episode_id=goal.episode_id, scored=measures.scored(line),
                result_json=json.dumps(line)))
        if error is not None:
            result.stop_reason = stop
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
    assert [goal.problem for goal in others.goals] == ['problem_00', 'problem_16', 'problem_08']
    assert {goal.method for goal in others.goals} == {'ground'}
    # The world is told the whole problem, the agent all but its initial state.
    assert [r.episode_id for r in others.loaded] == [goal.episode_id for goal in others.goals]

    domain = load_domain('blocksworld')
    assert all(domain.parse_problem(r.problem_pddl, 'p').init for r in others.loaded)
    assert not any(domain.parse_problem(g.problem_pddl, 'p').init for g in others.goals)
    assert {goal.max_actions for goal in others.goals} == {20}
    assert {goal.session for goal in others.goals} == {'this run'}
    assert others.finished == [{'planned': 3, 'problems': 25, 'problems_skipped': [],
                                'interrupted': False, 'stopped_by': ''}]
    assert others.carried == [
        ('grounder', others.started[0].out, Usage(3, 40, 5, 0.25))], 'before the first episode'
    out = capsys.readouterr()
    assert '[3/3]' in out.err
    assert 'ETA' in out.err
    assert 'episodes' in out.out


def test_the_first_picture_waits_for_who_shows_it(made: Callable) -> None:
    others = Others()
    with made(others, rerun='shown.rrd') as (node, _):
        eventually(lambda: others.started, 'the run')
        time.sleep(0.3)
        assert not others.goals
        others.sim.create_service(Trigger, f'/{names.VIEWER_READY}',
                                  lambda request, response: response)
        assert ended(node) == 0
    assert len(others.goals) == 3


def test_a_viewer_that_does_not_come_is_not_waited_for_long(
        made: Callable, monkeypatch, capfd) -> None:
    monkeypatch.setattr('sightplan_nodes.experiment._VIEWER_COMES_S', 0.1)
    with made(Others(), rerun='shown.rrd') as (node, _):
        assert ended(node) == 0
    assert 'rerun_viewer has not found sim_bridge within 0.1 s' in capfd.readouterr().err


def test_a_model_that_was_started_again_is_told_what_was_spent(made: Callable) -> None:
    others = Others()
    spending = [others.grounder.create_publisher(msg.Usage, '~/spending', qos.LATCHED)]

    def load(request: LoadProblem.Request, response: LoadProblem.Response):
        if len(others.loaded) == 1:  # in the second episode
            others.grounder.destroy_publisher(spending[0])
            spending[:] = [others.grounder.create_publisher(msg.Usage, '~/spending',
                                                            qos.LATCHED)]
        return others._load(request, response)
    others.sim.destroy_service(next(s for s in others.sim.services
                                    if s.srv_name.endswith('load_problem')))
    others.sim.create_service(LoadProblem, '~/load_problem', load)
    with made(others) as (node, _):
        assert ended(node) == 0
    assert [node for node, _, _ in others.carried] == ['grounder'] * 2
    assert len({out for _, out, _ in others.carried}) == 1


def test_the_record_holds_what_the_nodes_say(made: Callable) -> None:
    others = Others()
    with made(others) as (node, _):
        ended(node)
    request = others.started[0]
    identity, session = json.loads(request.run_json).values()
    assert identity['backend'] == {'name': 'noisy_oracle', 'table': 'perfect', 'split': 'auto',
                                   'cot': 'no', 'seed': 0, 'repeat': 0.45} | identity['backend']
    assert identity['model'] == 'scripted'
    assert identity['world'] == {'look': 0.5, 'width': 320}
    assert session['graph']['sim_bridge']['camera.width'] == 320
    assert session['commit']


def test_committed_episodes_are_skipped(made: Callable) -> None:
    others = Others()
    others.committed = ['blocksworld/simple/problem_16#0']
    with made(others) as (node, _):
        ended(node)
    assert [goal.problem for goal in others.goals] == ['problem_00', 'problem_08']


@pytest.mark.parametrize('closed', ['node', 'ROS', ''])
def test_a_node_that_is_closed_does_not_blame_those_it_cannot_ask_any_more(
        made: Callable, monkeypatch, capsys, closed: str) -> None:
    def walk(*arguments: object) -> None:
        raise InfrastructureError('agent cannot be asked any more')
    others = Others()
    with made(others) as (node, _):
        ended(node)
        capsys.readouterr()
        monkeypatch.setattr(node, 'walk', walk)
        if closed == 'node':
            node._stop.set()
        if closed == 'ROS':
            monkeypatch.setattr(node.context, 'ok', lambda: False)
        node._autostart()
        assert node.exit_code == 1
        assert ('cannot be asked' in capsys.readouterr().err) is not bool(closed)
        monkeypatch.undo()


def test_an_error_of_one_episode_does_not_stop_the_others_but_is_exit_code_1(
        made: Callable, capsys) -> None:
    """As ``sightplan run`` ends with 1, since an episode is not scored."""
    others = Others()
    others.errors = {2: WorldError('fell over')}
    with made(others) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 3
    said = capsys.readouterr().err
    assert 'not scored (WorldError: fell over)' in said
    assert '1 of 3 episodes ended in an error and are not scored' in said


@pytest.mark.parametrize(('describes', 'said'), [
    (False, 'looks at pictures, but this world draws none (world option pictures=none)'),
    (True, 'cannot answer yes/no questions about a description')])
def test_a_model_that_would_see_nothing_is_refused_before_the_first_episode(
        made: Callable, capsys, describes: bool, said: str) -> None:
    others = Others()
    others.shown = {'no_pictures': 'pictures=none', 'describes': describes}
    others.grounder.set_parameters([Parameter('backend', value='embedded'),
                                    Parameter('backend_settings', value='{}')])
    with made(others) as (node, _):
        assert ended(node) == 2
    assert not others.goals
    assert said in capsys.readouterr().err


def test_a_model_that_needs_no_pictures_is_not_refused(made: Callable) -> None:
    others = Others()
    others.shown = {'no_pictures': 'pictures=none'}
    with made(others) as (node, _):
        assert ended(node) == 0


def test_an_episode_that_another_cancels_is_missing_in_the_end(made: Callable, capsys) -> None:
    """It leaves no line, so that the run is not done, and says so."""
    others = Others()
    others.errors[2] = CancelledError('another client wanted no more of it')
    with made(others) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 3, 'the others are run'
    assert others.finished[0]['interrupted'] is True
    said = capsys.readouterr().err
    assert 'cancelled by someone else' in said and 'broken off after' in said


def test_a_silent_node_stops_the_run(made: Callable, capsys) -> None:
    others = Others()
    others.errors = {2: DeadlineError('grounder did not answer')}
    with made(others) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 2
    assert others.finished[0]['interrupted']
    assert 'grounder did not answer' in capsys.readouterr().err


def test_a_limit_on_spending_stops_the_run_cleanly(made: Callable, capsys) -> None:
    others = Others()
    others.errors = {2: SpendingCapError('5 of 5 USD are spent; raise max_cost_usd')}
    with made(others) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 2, 'it is not tried again and again'
    assert others.finished[0]['interrupted']
    assert 'raise max_cost_usd' in others.finished[0]['stopped_by']
    err = capsys.readouterr().err
    assert 'raise max_cost_usd' in err
    assert 'goes on from there' in err
    assert '[2/3]' not in err, 'the broken off episode is no result'


def test_the_third_refusal_in_a_row_ends_the_run_with_the_remedy(made: Callable, capsys) -> None:
    """As it ends a run without ROS."""
    others = Others()
    others.errors = dict.fromkeys((1, 3, 4, 5), RefusedError('wrong key; set OPENAI_API_KEY'))
    with made(others, episodes=7) as (node, _):
        assert ended(node) == 1
    assert len(others.goals) == 5, 'one success between them begins the count anew'
    assert others.finished[0]['interrupted']
    assert others.finished[0]['stopped_by'] == (
        '3 refusals in a row, so that no more was tried: wrong key; set OPENAI_API_KEY')
    assert 'set OPENAI_API_KEY' in capsys.readouterr().err


def test_a_method_whose_model_plans_needs_neither_grounder_nor_planner(made: Callable) -> None:
    others = Others(names.GROUNDER, names.SYMBOLIC_PLANNER)
    with made(others, method='plan', startup_timeout_s=LIMIT_S) as (node, _):
        assert ended(node) == 0
    request = others.started[0]
    identity, session = json.loads(request.run_json).values()
    assert identity['backend'] == {'name': 'scripted', 'script': 's.yaml'}
    assert identity['model'] == 'scripted-2'
    assert (identity['answers'], identity['planner']) == (None, None)
    assert (identity['prompt']['name'], identity['stop_at_goal']) == ('plan', {'simple': True})
    assert session['settings']['propose_timeout_s'] == 90.0
    assert 'grounder' not in session['graph']
    assert [node for node, _, _ in others.carried] == ['vlm_planner']
    assert {(goal.max_actions, goal.stop_at_goal) for goal in others.goals} == {(10, True)}


@pytest.mark.parametrize(('method', 'given_', 'stops'), [
    ('plan', 'no', False), ('ground', 'suite', False), ('ground', 'yes', True)])
def test_whether_episodes_stop_at_the_goal(made: Callable, method: str, given_: str,
                                           stops: bool) -> None:
    others = Others()
    with made(others, method=method, stop_at_goal=given_, episodes=1) as (node, _):
        assert ended(node) == 0
    assert [goal.stop_at_goal for goal in others.goals] == [stops]


@pytest.mark.parametrize(('given_', 'expected'), [('suite', 'none'), ('always', 'always')])
def test_privileged_facts_are_granted_by_the_world(made: Callable, given_: str,
                                                   expected: str) -> None:
    """What the agent is told of it, the world is told first, and the record has it."""
    others = Others()
    with made(others, privileged=given_, episodes=1) as (node, _):
        assert ended(node) == 0
    assert [r.privileged for r in others.loaded] == [expected]
    assert [g.privileged for g in others.goals] == [expected]
    identity = json.loads(others.started[0].run_json)['identity']
    assert identity['privileged'] == {'simple': expected}


@pytest.mark.parametrize(('method', 'answers'), [('ground', 'prefix'), ('plan', None)])
def test_a_protocol_is_recorded_where_every_node_follows_it(made: Callable, method: str,
                                                            answers: str | None) -> None:
    others = Others()
    wanted = apply(RunSettings(protocol='paper', method=method, backend='scripted'))
    others.agent.set_parameters([Parameter('method_options', value=json.dumps(
        dict(wanted.method_options)))])
    others.sim.set_parameters([
        Parameter('camera.width', value=0),
        Parameter('world_options', value=json.dumps({**wanted.world_options}))])
    others.grounder.set_parameters([Parameter('answers', value=wanted.answers)])
    with made(others, protocol='paper', method=method, episodes=1) as (node, _):
        assert ended(node) == 0
    identity = json.loads(others.started[0].run_json)['identity']
    assert identity['protocol'] == 'paper' and identity['answers'] == answers
    assert identity['method']['on_unparsed'] == 'stop'


def test_a_protocol_that_a_node_does_not_follow_is_refused(made: Callable, capsys) -> None:
    others = Others()
    others.sim.set_parameters([Parameter('camera.width', value=0),
                               Parameter('world_options', value='')])
    with made(others, protocol='paper') as (node, _):
        assert ended(node) == 2
    assert not others.goals and not others.started
    said = capsys.readouterr().err
    assert "protocol 'paper' sets " in said
    assert 'start the graph with protocol:=paper' in said


def test_a_silent_recorder_is_named(made: Callable, capsys) -> None:
    others = Others()
    others.silent = True
    with made(others, result_timeout_s=0.2) as (node, _):
        assert ended(node) == 1
    assert 'metrics_recorder did not commit' in capsys.readouterr().err


def test_a_recorder_that_was_started_again_ends_the_run(made: Callable, capsys) -> None:
    """It does not know of the run: what it records is elsewhere."""
    others = Others()
    others.silent = True
    again = []

    def restart(goal: object) -> object:
        # The first one is on the graph still: it was killed.
        again.append(others.sim.create_publisher(
            msg.EpisodeResult, names.EPISODE_RESULT, qos.RESULTS))
        return GoalResponse.ACCEPT
    others.server.register_goal_callback(restart)
    with made(others) as (node, _):
        assert ended(node) == 1
    said = capsys.readouterr().err
    assert 'metrics_recorder has ended, or was started again' in said
    assert len(others.goals) == 1


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
    others = Others(missing)
    with made(others, startup_timeout_s=2.0) as (node, _):
        assert ended(node) == 1
    assert f'{missing} is not there' in capsys.readouterr().err
    assert not others.goals


@pytest.mark.parametrize(('settings', 'words'), [
    ({'split': 'easy'}, 'easy'), ({'problems': '/nowhere'}, '/nowhere'),
    ({'method': 'guess'}, 'guess'), ({'domain_file': '/d.pddl'}, 'domain_file'),
    ({'suite': 'viplam'}, 'viplam'), ({'suite': '/nowhere/mine'}, '/nowhere/mine/suite.yaml'),
    ({'suite': 'predicates', 'method': 'ground'}, 'acts in episodes; for samples choose')])
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


def test_an_episode_that_nobody_waits_for_is_waited_for(made: Callable) -> None:
    others = Others()
    others.busy = 2
    with made(others) as (node, _):
        assert ended(node) == 0
    assert len(others.started) == 3
    assert len(others.goals) == 3


def test_an_episode_of_somebody_else_ends_with_code_one(made: Callable, capsys) -> None:
    others = Others()
    others.busy = 1_000_000
    with made(others, call_timeout_s=1.0) as (node, _):
        assert ended(node) == 1
    assert 'e/7 is under way' in capsys.readouterr().err
    assert not others.goals


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
                               seed=4, privileged='initial'), LIMIT_S, feedback=seen.append)
        assert result.error_code == 0, result.error_msg
        assert (result.episodes, result.errors) == (2, 0)
        eventually(lambda: len(seen) == 3, 'feedback')
        bad = client.call(RunExperiment.Goal(domain='blocksworld', split='easy'), LIMIT_S)
        with pytest.raises(InputError, match='easy'):
            raise_error(bad, names.EXPERIMENT)
    assert [goal.split for goal in others.goals] == ['hard', 'hard']
    assert [goal.privileged for goal in others.goals] == ['initial', 'initial']
    assert [f.done for f in seen] == [0, 1, 2]
    assert {f.total for f in seen} == {2}


@pytest.mark.parametrize('autostart', [True, False])
def test_a_run_of_which_nothing_can_be_read_fails(made: Callable, capsys, autostart) -> None:
    others = Others()
    others.scores = {'replies': {'read': 0, 'all': 9}}
    with made(others, autostart=autostart) as (node, client):
        if autostart:
            assert ended(node) == 1
            assert 'not one of 9 replies could be read' in capsys.readouterr().err
            return
        result = client.call(RunExperiment.Goal(
            domain='blocksworld', split='simple', method='ground', episodes=1), LIMIT_S)
    assert result.error_code == InfrastructureError.code and 'not one of 9' in result.error_msg


@pytest.fixture
def own_suite(tmp_path: Path) -> Path:
    """The folder of a suite that grants 7 actions in one split."""
    folder = tmp_path / 'mine'
    folder.mkdir()
    (folder / 'suite.yaml').write_text(
        'title: Mine\npaper: none\nkind: episodes\n'
        'domains: {blocksworld: {splits: [hard], max_actions: 7}}\n')
    return folder


def test_a_suite_by_its_folder(made: Callable, own_suite: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own_suite.parent)
    others = Others()
    with made(others, suite='mine/', split='hard', episodes=1) as (node, _):
        assert ended(node) == 0
    assert [goal.max_actions for goal in others.goals] == [7]
    (request,) = others.started
    assert json.loads(request.run_json)['identity']['suite'] == 'mine'
    assert json.loads(request.run_json)['session']['settings']['suite'] == str(own_suite)


def test_a_suite_of_a_goal(made: Callable, own_suite: Path) -> None:
    others = Others()
    with made(others, autostart=False) as (_, client):
        def run(suite: str, split: str) -> RunExperiment.Result:
            return client.call(RunExperiment.Goal(
                suite=suite, domain='blocksworld', split=split, method='ground', episodes=1),
                LIMIT_S)
        for suite in (str(own_suite), 'viplan', ''):
            assert run(suite, 'hard').error_code == 0
        for suite, words in ((str(own_suite), 'simple'), ('predicates', 'for samples choose')):
            with pytest.raises(InputError, match=words):
                raise_error(run(suite, 'simple'), names.EXPERIMENT)
    assert [goal.max_actions for goal in others.goals] == [7, 20, 20]
    assert [json.loads(request.run_json)['identity']['suite'] for request in others.started] == [
        'mine', 'viplan', 'viplan']


def test_a_model_made_for_another_domain_is_refused(made: Callable) -> None:
    """The domain of a goal is free, the model was chosen when its node was started."""
    others = Others()
    others.grounder.declare_parameter('model_domain', 'blocksworld')
    with made(others, autostart=False) as (_, client):
        def run(domain: str) -> RunExperiment.Result:
            return client.call(RunExperiment.Goal(
                domain=domain, split='simple', method='ground', episodes=1), LIMIT_S)
        with pytest.raises(InputError, match=r"grounder's model scripted was made for domain "
                                             r"'blocksworld', .* start grounder with "
                                             r'domain:=household'):
            raise_error(run('household'), names.EXPERIMENT)
        assert not others.started and not others.loaded
        assert run('blocksworld').error_code == 0
    assert len(others.goals) == 1


def test_an_agent_with_other_prompts_is_refused(made: Callable, tmp_path: Path, capsys) -> None:
    (tmp_path / 'ground.txt').write_text('<system>Look.</system><user>{image}</user>')
    others = Others()
    with made(others, prompts=str(tmp_path), method='ground') as (node, _):
        assert ended(node) == 2
    assert "for agent they are '': start both with the same prompts:=" in capsys.readouterr().err
    assert not others.goals


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
