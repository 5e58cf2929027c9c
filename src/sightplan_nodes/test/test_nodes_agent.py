"""The node agent over a scripted world, a perfect oracle and the real planner."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest
from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.srv import Ground, ProposePlan, ResetWorld

from nodes_testing import LIMIT_S, ScriptedPlanner, ScriptedWorld, eventually, parameters, spinning
from sightplan.domains import load_domain
from sightplan.model import (
    DeadlineError,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    WorldError,
)
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.failures import fill_error, raise_error
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode

TOPICS = {names.AGENT_EPISODE: msg.EpisodeEvent, names.AGENT_LOOK: msg.Look,
          names.AGENT_ANSWERS: msg.AnswerArray, names.AGENT_BELIEF: msg.Belief,
          names.AGENT_PLAN: msg.PlanStamped, names.AGENT_PROPOSAL: msg.ProposalStamped,
          names.AGENT_STEP: msg.Step}


class ModelWorld:
    """A world that follows the domain's model; its image is its state's hash."""

    def __init__(self) -> None:
        self.looks = 0

    def reset(self, spec: EpisodeSpec) -> None:
        self._model = load_domain('blocksworld').model(spec.problem)
        self._state = spec.problem.init

    def observe(self) -> Observation:
        self.looks += 1
        number = abs(hash(self._state)) % 256
        return Observation(image=np.full((4, 6, 3), number, np.uint8))

    def execute(self, action):
        if not self._model.applicable(action, self._state):
            return Feedback(FeedbackStatus.REJECTED, 'not legal')
        self._state = self._model.apply(action, self._state)
        return Feedback(FeedbackStatus.EXECUTED)

    def state(self, stamp_ns=None):
        return self._state

    def last_outcome(self) -> str:
        return 'success'

    def camera_info(self):
        return ScriptedWorld().camera_info()


class FakeGrounder(Node):
    """Answers with the world's truth."""

    def __init__(self, world: ModelWorld) -> None:
        super().__init__(names.GROUNDER)
        self._world = world
        self.requests: list[Ground.Request] = []
        self.error: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.create_service(Ground, '~/ground', self._ground)

    def _ground(self, request: Ground.Request, response: Ground.Response) -> Ground.Response:
        self.requests.append(request)
        assert self.may_go_on.wait(LIMIT_S)
        if self.error is not None:
            return fill_error(response, self.error)
        state = conversions.state_to_msg(self._world.state())
        response.model = 'fake'
        for question in request.questions:
            verdict = msg.Answer.YES if question.atom in state else msg.Answer.NO
            response.answers.append(msg.Answer(atom=question.atom, verdict=verdict, text='-'))
        return response


class Recorder(Node):
    """Collects what the agent publishes."""

    def __init__(self) -> None:
        super().__init__('listener')
        self.messages: list[object] = []
        self.feedback: list[str] = []
        for topic, kind in TOPICS.items():
            self.create_subscription(kind, topic, self.messages.append, qos.EVENTS)
        self.run = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)
        self.reset = ServiceCaller(self, ResetWorld, names.RESET, names.SIM_BRIDGE)

    def goal(self, method: str = 'ground', number: int = 0) -> RunEpisode.Goal:
        domain = load_domain('blocksworld')
        problem = domain.split_problems('simple')[number]
        spec = EpisodeSpec(f'e/{number}', problem, method, 'simple', 11, 20)
        return conversions.fill_spec(RunEpisode.Goal(), spec,
                                     domain.write_problem(problem.for_agent()))

    def give(self, number: int = 0) -> None:
        """Tell the world the whole problem, as the experiment does."""
        domain = load_domain('blocksworld')
        problem = domain.split_problems('simple')[number]
        with contextlib.suppress(DeadlineError):  # some tests have no world
            self.reset(ResetWorld.Request(
                episode_id=f'e/{number}', domain='blocksworld', problem=problem.name,
                problem_pddl=domain.write_problem(problem), seed=11), 5.0)

    def episode(self, method: str = 'ground', cancelled=lambda: False, **changes):
        goal = self.goal(method)
        self.give()
        for name, value in changes.items():
            setattr(goal, name, value)
        return self.run(goal, 120.0, cancelled, lambda f: self.feedback.append(f.stage))

    def ordered(self) -> list[object]:
        eventually(lambda: any(isinstance(m, msg.EpisodeEvent) and m.kind == m.ENDED
                               for m in self.messages), 'the end of the episode')
        end = next(m for m in self.messages if isinstance(m, msg.EpisodeEvent)
                   and m.kind == m.ENDED)
        eventually(lambda: len(self.messages) == end.sequence + 1, 'all messages')
        return sorted(self.messages, key=lambda m: m.sequence)


class Bench:
    def __init__(self, hanging: ScriptedPlanner | None, settings: dict[str, object]) -> None:
        self.world = ModelWorld()
        self.bridge = SimBridge(lambda domain, options: self.world)
        self.grounder = FakeGrounder(self.world)
        self.planner = (SymbolicPlannerNode() if hanging is None
                        else SymbolicPlannerNode(lambda settings: hanging))
        self.agent = AgentNode(parameter_overrides=parameters(**settings))
        self.listener = Recorder()


@contextlib.contextmanager
def bench(without: tuple[str, ...] = (), hanging: ScriptedPlanner | None = None,
          **settings: object):
    made = Bench(hanging, settings)
    nodes = {name: getattr(made, name)
             for name in ('bridge', 'grounder', 'planner', 'agent', 'listener')}
    for name in without:
        nodes.pop(name).destroy_node()
    with spinning(*nodes.values()):
        yield made


@pytest.fixture
def hanging():
    """A planner that is asked and does not answer."""
    planner = ScriptedPlanner()
    planner.may_go_on.clear()
    yield planner
    planner.may_go_on.set()


def test_the_agent_is_not_told_the_initial_state() -> None:
    """It is in no goal that the agent gets, and on no topic before the first answer."""
    domain = load_domain('blocksworld')
    with bench() as b:
        goal = b.listener.goal()
        assert b.listener.episode().stop_reason == 'plan_done'
        started = b.listener.ordered()[0]
        for text in (goal.problem_pddl, started.problem_pddl):
            assert domain.parse_problem(text, 'told').init == frozenset()
        # Nor can it start an episode whose problem nobody gave to the world.
        result = b.listener.run(b.listener.goal(number=1), 120.0, lambda: False, lambda f: None)
        assert 'no problem was given' in result.error_msg


def test_an_episode_is_solved_and_told() -> None:
    with bench() as b:
        result = b.listener.episode()
        assert result.error_code == 0, result.error_msg
        assert result.stop_reason == 'plan_done'
        messages = b.listener.ordered()
    assert [m.sequence for m in messages] == list(range(len(messages)))
    assert {m.episode_id for m in messages} == {'e/0'}
    started, ended = messages[0], messages[-1]
    assert started.kind == msg.EpisodeEvent.STARTED
    assert 'problem' in started.problem_pddl
    assert (ended.stop_reason, ended.steps) == ('plan_done', result.steps)
    kinds = [type(m).__name__ for m in messages]
    assert kinds.count('Step') == result.steps
    assert 0 < kinds.count('AnswerArray') <= kinds.count('Look')
    assert 'Belief' in kinds
    assert 'PlanStamped' in kinds
    assert b.listener.feedback[0] == 'waiting for the other nodes'
    assert {'reset', 'started', 'enumeration', 'plan', 'act', 'effect'} <= set(b.listener.feedback)
    answers = [m for m in messages if isinstance(m, msg.AnswerArray)]
    looks = {(m.header.stamp.sec, m.header.stamp.nanosec): m.image_id
             for m in messages if isinstance(m, msg.Look)}
    for array in answers:
        stamp = (array.header.stamp.sec, array.header.stamp.nanosec)
        assert looks[stamp] == array.image_id
        assert array.model == 'fake'
    assert {r.episode_id for r in b.grounder.requests} == {'e/0'}
    assert {r.split for r in b.grounder.requests} == {'simple'}


def test_images_are_never_older_than_the_last_action() -> None:
    with bench() as b:
        b.listener.episode()
        messages = b.listener.ordered()
    after = 0
    for message in messages:
        if isinstance(message, msg.Step):
            after = conversions.time_from_msg(message.after)
        if isinstance(message, msg.Look):
            assert conversions.time_from_msg(message.header.stamp) >= after


def test_the_oracle_needs_no_grounder() -> None:
    with bench(without=('grounder',)) as b:
        result = b.listener.episode('oracle')
        assert (result.stop_reason, result.error_code) == ('plan_done', 0)


def test_only_the_oracle_has_a_client_for_the_truth() -> None:
    def clients(node: Node) -> set[str]:
        return {name for name, _ in node.get_client_names_and_types_by_node('agent', '/')}
    with bench() as b:
        b.listener.episode()
        assert '/sim_bridge/get_state' not in clients(b.agent)
        b.listener.episode('oracle')
        assert '/sim_bridge/get_state' in clients(b.agent)


@pytest.mark.parametrize(('missing', 'name'), [
    ('bridge', 'sim_bridge'), ('grounder', 'grounder'), ('planner', 'symbolic_planner')])
def test_a_missing_node_is_named(missing: str, name: str) -> None:
    with bench(without=(missing,), startup_timeout_s=0.3) as b:
        result = b.listener.episode()
        with pytest.raises(DeadlineError, match=f'{name} is not there'):
            raise_error(result, 'agent')


def test_a_silent_grounder_is_named() -> None:
    with bench(ground_timeout_s=0.2) as b:
        b.grounder.may_go_on.clear()
        result = b.listener.episode()
        b.grounder.may_go_on.set()
        with pytest.raises(DeadlineError, match='grounder did not answer'):
            raise_error(result, 'agent')
        assert result.stop_reason == 'error'
        assert b.listener.ordered()[-1].stop_reason == 'error'


@pytest.mark.parametrize('error', [WorldError('odd'), InputError('bad')])
def test_errors_keep_their_kind(error: Exception) -> None:
    with bench() as b:
        b.grounder.error = error
        result = b.listener.episode()
        assert result.error_code == error.code
        assert 'grounder: ' in result.error_msg
        b.grounder.error = None
        assert b.listener.episode().error_code == 0, 'the agent goes on'


def test_a_bad_goal_is_an_error_not_an_episode() -> None:
    with bench() as b:
        assert b.listener.episode(problem_pddl='(define').error_code == 4
        assert b.listener.episode('no_such_method').error_code == InputError.code
        assert not b.listener.messages


def test_an_episode_can_be_cancelled(hanging: ScriptedPlanner) -> None:
    with bench(hanging=hanging) as b:
        result = b.listener.episode(cancelled=hanging.asked.is_set)
        assert not hanging.may_go_on.is_set(), 'without waiting for the planner'
        assert result.stop_reason == 'cancelled'
        assert result.error_code == 20
        assert b.listener.ordered()[-1].stop_reason == 'cancelled'


def test_one_episode_at_a_time(hanging: ScriptedPlanner) -> None:
    with bench(hanging=hanging) as b:
        done = []
        first = threading.Thread(target=lambda: done.append(b.listener.episode()))
        first.start()
        assert hanging.asked.wait(LIMIT_S)
        with pytest.raises(WorldError, match='busy'):
            b.listener.episode()
        hanging.may_go_on.set()
        first.join(LIMIT_S)
        assert done


def test_stopping_the_agent_ends_its_episode_as_an_error(hanging: ScriptedPlanner) -> None:
    with bench(hanging=hanging) as b:
        done = []
        first = threading.Thread(target=lambda: done.append(b.listener.episode()))
        first.start()
        assert hanging.asked.wait(LIMIT_S)
        b.agent.close()
        first.join(LIMIT_S)
        hanging.may_go_on.set()
        assert done[0].stop_reason == 'error'
        assert 'stopped' in done[0].message
        assert b.listener.ordered()[-1].stop_reason == 'error'


def test_a_hanging_world_is_not_waited_for_forever() -> None:
    with bench(act_timeout_s=0.3) as b:
        release = threading.Event()
        execute = b.world.execute

        def hang(action):
            assert release.wait(LIMIT_S)
            return execute(action)
        b.world.execute = hang
        result = b.listener.episode()
        release.set()
        assert result.error_code == DeadlineError.code
        assert 'sim_bridge did not finish execute_skill' in result.error_msg
