"""The node agent over a scripted world, a perfect oracle and the real planner."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.srv import Ask, Ground, LoadProblem, ProposePlan, ResetWorld

from adversary import Library, Prying, strangers
from nodes_testing import LIMIT_S, ScriptedPlanner, ScriptedWorld, eventually, parameters, spinning
from sightplan.domains import load_domain
from sightplan.grounding import BackendGrounder
from sightplan.model import (
    Action,
    Atom,
    BackendError,
    CancelledError,
    DeadlineError,
    EpisodeEnded,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InfrastructureError,
    InputError,
    Observation,
    Privileged,
    Proposal,
    ProposalStatus,
    Question,
    SpendingCapError,
    State,
    StopReason,
    UnknownImageError,
    Usage,
    WorldError,
)
from sightplan.records import messages, topics
from sightplan_nodes import agent, names, qos
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.calls import ActionCaller, ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import fill_error, raise_error
from sightplan_nodes.ports import Camera
from sightplan_nodes.remote_model import RosModel
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode

ROOT = Path(__file__).parents[3]
TOPICS = {names.AGENT_EPISODE: msg.EpisodeEvent, names.AGENT_OBSERVATION: msg.Observation,
          names.AGENT_ASKED: msg.Asked, names.AGENT_BELIEF: msg.Belief,
          names.AGENT_PLAN: msg.PlanStamped, names.AGENT_PROPOSAL: msg.ProposalStamped,
          names.AGENT_STEP: msg.Step}


class ModelWorld:
    """A world that follows the domain's model; its image is its state's hash."""

    def __init__(self) -> None:
        self.looks = 0
        self.built = 0
        self.labels = False
        self.visible: tuple[str, ...] | None = None

    def reset(self, spec: EpisodeSpec) -> None:
        self.built += 1
        self.problem = spec.problem
        self.model = load_domain('blocksworld').model(spec.problem)
        self._state = spec.problem.init

    def observe(self) -> Observation:
        self.looks += 1
        number = abs(hash(self._state)) % 256
        image = np.full((4, 6, 3), number, np.uint8)
        seen = Observation(image=image, visible_objects=self.visible)
        if not self.labels:
            return seen
        labelled = image.copy()
        labelled[0] = (255, 0, 0)
        return dataclasses.replace(seen, image=labelled, unlabelled=image)

    def execute(self, action):
        if not self.model.applicable(action, self._state):
            return Feedback(FeedbackStatus.REJECTED, 'not legal')
        self._state = self.model.apply(action, self._state)
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
        self.forgets = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.create_service(Ground, '~/ground', self._ground)
        self.create_service(Ask, '~/ask', lambda request, response: response)

    def _ground(self, request: Ground.Request, response: Ground.Response) -> Ground.Response:
        self.requests.append(request)
        assert self.may_go_on.wait(LIMIT_S)
        if self.error is not None:
            return fill_error(response, self.error)
        if self.forgets:
            self.forgets -= 1
            return fill_error(response, UnknownImageError('gone'))
        state = {str(atom) for atom in self._world.state()}
        response.model = 'fake'
        for atom in request.atoms:
            response.verdicts.append(msg.Answer.YES if atom in state else msg.Answer.NO)
            response.texts.append('Yes' if atom in state else 'No')
        nothing = [float('nan')] * len(request.questions)
        response.p_yes = response.p_no = response.p_unknown = nothing
        return response


class FakeVlmPlanner(Node):
    """Plans with a perfect view of the world, unless it was told what to propose."""

    def __init__(self, world: ModelWorld) -> None:
        super().__init__(names.VLM_PLANNER)
        self._world = world
        self.requests: list[ProposePlan.Request] = []
        self.says: list[Proposal] = []
        self.error: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.create_service(ProposePlan, '~/plan', self._plan)

    def _plan(self, request: ProposePlan.Request,
              response: ProposePlan.Response) -> ProposePlan.Response:
        self.requests.append(request)
        assert self.may_go_on.wait(LIMIT_S)
        if self.error is not None:
            return fill_error(response, self.error)
        response.proposal = MESSAGES.to_msg(
            self.says.pop(0) if self.says else self._propose())
        response.usage = MESSAGES.usage_to_msg(Usage(1, 500, 20))
        return response

    def _propose(self) -> Proposal:
        plan = shortest_plan(self._world)
        return Proposal(ProposalStatus.PLANNED if plan else ProposalStatus.EMPTY, plan,
                        model='fake', text='{...}', prompt_sha256='abc')


def shortest_plan(world: ModelWorld) -> tuple[Action, ...]:
    """By breadth-first search over the true state."""
    paths: dict[State, tuple[Action, ...]] = {world.state(): ()}
    queue = [world.state()]
    for state in queue:
        if world.problem.goal_met(state):
            return paths[state]
        for action in world.model.actions:
            if world.model.applicable(action, state):
                after = world.model.apply(action, state)
                if after not in paths:
                    paths[after] = (*paths[state], action)
                    queue.append(after)
    raise AssertionError('the problem cannot be solved')


class Recorder(Node):
    """Collects what the agent publishes."""

    def __init__(self) -> None:
        super().__init__('listener')
        self.messages: list[object] = []
        self.feedback: list[str] = []
        self.begun: list[tuple[int, str]] = []
        for topic, kind in TOPICS.items():
            self.create_subscription(kind, topic, self.messages.append, qos.EVENTS)
        self.run = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)
        self.load = ServiceCaller(self, LoadProblem, names.load_problem(names.SIM_BRIDGE),
                                  names.SIM_BRIDGE)

    def goal(self, method: str = 'ground', number: int = 0) -> RunEpisode.Goal:
        domain = load_domain('blocksworld')
        problem = domain.split_problems('simple')[number]
        spec = EpisodeSpec(f'e/{number}', problem, method, 'simple', 11, 20)
        return messages.fill_spec(RunEpisode.Goal(), spec,
                                  domain.write_problem(problem.for_agent()))

    def give(self, number: int = 0, privileged: str = '') -> None:
        """Give the world the whole problem, as the experiment does."""
        domain = load_domain('blocksworld')
        problem = domain.split_problems('simple')[number]
        with contextlib.suppress(DeadlineError):  # some tests have no world
            self.load(LoadProblem.Request(
                episode_id=f'e/{number}', domain='blocksworld', problem=problem.name,
                problem_pddl=domain.write_problem(problem), seed=11, privileged=privileged), 5.0)

    def episode(self, method: str = 'ground', cancelled=lambda: False,
                granted: str | None = None, **changes):
        goal = self.goal(method)
        self.give(privileged=changes.get('privileged', '') if granted is None else granted)
        for name, value in changes.items():
            setattr(goal, name, value)
        return self.run(goal, 120.0, cancelled, self.hear)

    def hear(self, feedback: RunEpisode.Feedback) -> None:
        self.feedback.append(feedback.stage)
        if feedback.stage == 'execute':
            self.begun.append((feedback.step, str(feedback.action.args)))

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
        self.vlm_planner = FakeVlmPlanner(self.world)
        self.planner = (SymbolicPlannerNode() if hanging is None
                        else SymbolicPlannerNode(lambda settings: hanging))
        self.agent = AgentNode(parameter_overrides=parameters(**settings))
        self.listener = Recorder()


@contextlib.contextmanager
def bench(without: tuple[str, ...] = (), hanging: ScriptedPlanner | None = None,
          **settings: object):
    made = Bench(hanging, settings)
    nodes = {name: getattr(made, name)
             for name in ('bridge', 'grounder', 'planner', 'vlm_planner', 'agent', 'listener')}
    for name in without:
        node = nodes.pop(name)
        if hasattr(node, 'close'):
            node.close()
        node.destroy_node()
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
        assert 'no problem was loaded' in result.error_msg


def test_nothing_that_a_method_is_handed_tells_which_problem_it_has(monkeypatch) -> None:
    """See tests/contracts/test_adversary.py: the same adversary, in the agent's node."""
    problem = load_domain('blocksworld').split_problems('simple')[0]
    policy = Prying(Library([('simple', problem)]), lambda problem: ())
    monkeypatch.setattr(agent, 'make_policy', lambda *arguments: policy)
    with bench() as b:
        result = b.listener.episode()
        assert (result.error_msg, result.stop_reason) == ('', 'gave_up')
    assert [one for one in policy.seen if isinstance(one, Observation)], 'not even a picture'
    assert policy.recognised is None
    assert strangers(policy.seen) == set()
    assert {type(one).__module__.partition('.')[0] for one in policy.seen}.isdisjoint(
        {'rclpy', 'sightplan_interfaces', 'sightplan_nodes', 'sightplan_sim', 'nodes_testing'})
    words = [one for one in policy.seen if isinstance(one, str)]
    for secret in ('e/0', problem.name):
        assert not any(secret in word for word in words)


def test_the_seeds_of_world_and_method_travel_in_one_number() -> None:
    goal = RunEpisode.Goal()
    domain = load_domain('blocksworld')
    problem = domain.split_problems('simple')[0]
    for seed, policy_seed in ((0, 0), (2**32 - 1, 0), (11, 2**32 - 1), (2**32 - 1, 2**32 - 1)):
        spec = EpisodeSpec('e', problem, 'random', seed=seed, policy_seed=policy_seed)
        messages.fill_spec(goal, spec, '')
        assert messages.spec_from_msg(goal, problem) == spec


def test_the_world_is_built_once_per_episode() -> None:
    with bench() as b:
        assert b.listener.episode().error_code == 0
        assert b.world.built == 1
        assert b.listener.run(b.listener.goal(), 120.0).error_code == 0
        assert b.world.built == 2, 'begun once more without being loaded once more'


OBJECTS = ['g:block', 'b:block', 'p:block', 'c1:column', 'c2:column', 'c3:column', 'c4:column']


def counted_resets(b: Bench) -> list[ResetWorld.Request]:
    """The requests to begin an episode in the world as it stands, as they come."""
    carry_on, found = b.bridge.carry_on, list[ResetWorld.Request]()

    def noted(request: ResetWorld.Request):
        found.append(request)
        return carry_on(request)
    b.bridge.carry_on = noted
    return found


def test_a_goal_of_ones_own_is_reached_from_where_things_stand() -> None:
    """Nothing is built for it, objects are those of the world, and no fact about them is told."""
    with bench() as b:
        b.listener.give()
        for goal in ('(on g b)', '(and (on b g) (clear b))', 'clear g'):
            before = b.world.state()
            result = b.listener.run(RunEpisode.Goal(as_it_stands=True, goal=goal, method='ground'),
                                    120.0)
            assert (result.error_msg, result.stop_reason) == ('', 'plan_done'), goal
            wanted = load_domain('blocksworld').problem_of(goal, b.world.problem.objects)
            assert wanted.goal_met(b.world.state()) and not wanted.goal_met(before), goal
        assert b.world.built == 1
        started = next(m for m in b.listener.messages if isinstance(m, msg.EpisodeEvent))
        assert not load_domain('blocksworld').parse_problem(started.problem_pddl, 'told').init


@pytest.mark.parametrize('given', [
    {}, {'domain': 'blocksworld', 'objects': OBJECTS}, {'objects': OBJECTS}])
def test_one_reset_finds_the_objects_checks_the_goal_and_begins_the_episode(
        given: dict[str, object]) -> None:
    with bench() as b:
        b.listener.give()
        resets = counted_resets(b)
        result = b.listener.run(RunEpisode.Goal(as_it_stands=True, goal='(on g b)',
                                                method='ground', **given), 120.0)
        assert (result.error_msg, result.stop_reason) == ('', 'plan_done')
        assert len(resets) == 1


def test_a_goal_about_other_objects_than_the_world_tells_is_handed_to_the_world() -> None:
    with bench() as b:
        b.listener.give()
        resets = counted_resets(b)
        result = b.listener.run(RunEpisode.Goal(
            as_it_stands=True, goal='(on g b)', objects=[*OBJECTS, 'r:block']), 120.0)
        assert 'there is no r in this world' in result.error_msg
        assert [bool(request.domain) for request in resets] == [False, True]


def test_the_world_is_made_ready_again_after_a_wait_for_another_node() -> None:
    with bench(without=('grounder',)) as b:
        b.listener.give()
        resets = counted_resets(b)
        results: list[RunEpisode.Result] = []
        running = threading.Thread(target=lambda: results.append(b.listener.run(
            RunEpisode.Goal(as_it_stands=True, goal='(on g b)', method='ground'), 120.0)))
        running.start()
        eventually(lambda: len(resets) == 1, 'the check of the goal')
        grounder = FakeGrounder(b.world)
        with spinning(grounder):
            running.join(LIMIT_S)
            assert not running.is_alive()
        assert (results[0].error_msg, results[0].stop_reason) == ('', 'plan_done')
        assert len(resets) == 2


@pytest.mark.parametrize(('given', 'said'), [
    ({}, 'the episode has no goal: give goal, such as'),
    ({'as_it_stands': False}, 'names no method: set as_it_stands'),
    ({'goal': '(and)'}, 'goal "(and)" has no condition'),
    ({'problem_pddl': '(define (problem p) (:domain blocksworld) (:objects g - block) '
                      '(:goal (and)))', 'method': 'ground'}, 'has no condition'),
    ({'goal': '(onn g b)'}, 'unknown predicate "onn"'),
    ({'goal': '(on g x)'}, 'unknown object "x"'),
    ({'goal': '(on r g)', 'domain': 'blocksworld', 'objects': ['r:block', 'g:block']},
     'there is no r in this world; there are g, b'),
    ({'goal': '(on g b)', 'objects': ['g', 'b:block']}, "objects: 'g' must have the form"),
    ({'goal': '(on g b)', 'domain': 'sliding'}, 'the world is of domain blocksworld'),
    ({'instruction': 'stack them', 'method': 'belief'}, 'method belief reads no instructions')])
def test_a_goal_that_cannot_be_meant_is_refused_by_name(given: dict[str, object], said: str,
                                                        ) -> None:
    with bench() as b:
        b.listener.give()
        result = b.listener.run(RunEpisode.Goal(**{'as_it_stands': True, **given}), 120.0)
        assert said in result.error_msg and result.error_code
        assert not result.steps


def test_a_world_in_which_nothing_is_yet_says_so() -> None:
    with bench() as b:
        result = b.listener.run(RunEpisode.Goal(as_it_stands=True, goal='(on g b)'), 120.0)
        assert 'there is nothing in this world yet' in result.error_msg


@pytest.mark.parametrize('method', ['ground', 'action'])
def test_a_picture_of_the_camera_is_named_by_topic_and_stamp_and_not_sent(method: str) -> None:
    with bench() as b:
        assert b.listener.episode(method, stop_at_goal=True).error_code == 0
        shown = [request.observation for node in (b.grounder, b.vlm_planner)
                 for request in node.requests]
        looks = [m for m in b.listener.ordered() if isinstance(m, msg.Observation)]
    assert shown and all(seen.published and not seen.image for seen in shown)
    observed = [(seen.image_id, seen.header, seen.labelled) for seen in looks]
    assert all((seen.image_id, seen.header, False) in observed for seen in shown)


def test_pictures_that_are_lost_on_the_way_are_sent(capfd: pytest.CaptureFixture) -> None:
    with bench() as b:
        b.grounder.forgets = 1
        assert b.listener.episode().error_code == 0
        first, again, *others = (request.observation for request in b.grounder.requests)
    assert not first.image and again.image and not any(seen.image for seen in others)
    assert first.image_id == again.image_id
    assert capfd.readouterr().err.count('grounder takes no pictures from the camera') == 1


def test_a_picture_that_is_not_known_any_more_is_sent_again() -> None:
    with bench() as b:
        client = BackendGrounder(RosModel(b.listener, names.GROUNDER))
        b.listener.give()
        seen = Observation(np.zeros((4, 6, 3), np.uint8), 7)
        question = Question(Atom('clear', ('r',)), 'Is r clear?')
        for _ in range(2):
            client.ground(seen, [question])
        b.grounder.forgets = 1
        assert len(client.ground(seen, [question])) == 1
        assert [bool(request.observation.image) for request in b.grounder.requests] == [
            True, False, False, True]


@pytest.mark.parametrize('text', [AgentNode.__doc__, *(
    next(row for row in page.read_text('utf-8').splitlines() if row.startswith('| `agent`'))
    for page in (ROOT / 'docs/graph.md', ROOT / 'src/sightplan_nodes/README.md'))])
def test_the_agent_is_described_with_all_of_its_topics(text: str) -> None:
    published = {topic.replace(names.AGENT, '~') for topic in topics.EVENTS}
    assert set(re.findall(r'~/\w+', text)) == {*published, '~/run_episode'}


def test_an_episode_is_solved_and_told() -> None:
    with bench() as b:
        result = b.listener.episode()
        assert result.error_code == 0, result.error_msg
        assert result.stop_reason == 'plan_done'
        ordered = b.listener.ordered()
    assert [m.sequence for m in ordered] == list(range(len(ordered)))
    assert {m.episode_id for m in ordered} == {'e/0'}
    started, ended = ordered[0], ordered[-1]
    assert started.kind == msg.EpisodeEvent.STARTED
    assert 'problem' in started.problem_pddl
    assert (ended.stop_reason, ended.steps) == ('plan_done', result.steps)
    kinds = [type(m).__name__ for m in ordered]
    assert kinds.count('Step') == result.steps
    assert 0 < kinds.count('Asked') <= kinds.count('Observation')
    assert 'Belief' in kinds
    assert 'PlanStamped' in kinds
    assert b.listener.feedback[0] == 'waiting for the other nodes'
    assert {'reset', 'started', 'enumeration', 'plan', 'act', 'effect'} <= set(b.listener.feedback)
    assert b.listener.begun == [(m.index, str(m.action.args)) for m in ordered
                                if isinstance(m, msg.Step)]
    assert b.listener.feedback.index('execute') < b.listener.feedback.index('act')
    answers = [m for m in ordered if isinstance(m, msg.Asked)]
    looks = {(m.header.stamp.sec, m.header.stamp.nanosec): m.image_id
             for m in ordered if isinstance(m, msg.Observation)}
    for array in answers:
        stamp = (array.header.stamp.sec, array.header.stamp.nanosec)
        assert looks[stamp] == array.image_id
        assert array.model == 'fake'
    assert {r.episode_id for r in b.grounder.requests} == {'e/0'}
    assert {r.split for r in b.grounder.requests} == {'simple'}
    assert [r.new_episode for r in b.grounder.requests] == [
        True, *[False] * (len(b.grounder.requests) - 1)]


def test_images_are_never_older_than_the_last_action() -> None:
    with bench() as b:
        b.listener.episode()
        ordered = b.listener.ordered()
    after = 0
    for message in ordered:
        if isinstance(message, msg.Step):
            after = messages.time_from_msg(message.after)
        if isinstance(message, msg.Observation):
            assert messages.time_from_msg(message.header.stamp) >= after


def test_the_oracle_needs_no_grounder() -> None:
    with bench(without=('grounder',)) as b:
        result = b.listener.episode('oracle')
        assert (result.stop_reason, result.error_code) == ('plan_done', 0)


@pytest.mark.parametrize(('method', 'stop_at_goal'), [('oracle', False), ('plan', True),
                                                      ('ground', True)])
def test_who_has_a_client_for_the_truth(method: str, stop_at_goal: bool) -> None:
    """The oracle, and the loop where the goal of the episode says so: nobody else."""
    def clients(node: Node) -> set[str]:
        return {name for name, _ in node.get_client_names_and_types_by_node('agent', '/')}
    with bench() as b:
        assert b.listener.episode('blind' if method == 'oracle' else method).error_code == 0
        assert '/sim_bridge/get_state' not in clients(b.agent)
        result = b.listener.episode(method, stop_at_goal=stop_at_goal)
        assert result.error_code == 0, result.error_msg
        assert '/sim_bridge/get_state' in clients(b.agent)


def test_who_has_a_client_for_privileged_facts() -> None:
    """Nobody, before an episode's goal grants them; and not for the truth behind them."""
    def clients(node: Node) -> set[str]:
        return {name for name, _ in node.get_client_names_and_types_by_node('agent', '/')}
    with bench() as b:
        b.world.visible = ('r',)
        for method in ('ground', 'plan', 'belief', 'blind'):
            assert b.listener.episode(method).error_code == 0
        assert '/sim_bridge/provide_facts' not in clients(b.agent)
        assert not any(m.privileged_facts for m in b.listener.messages
                       if isinstance(m, msg.Observation))
        b.listener.episode('plan', privileged='always')
        assert '/sim_bridge/provide_facts' in clients(b.agent)
        assert '/sim_bridge/get_state' not in clients(b.agent)


@pytest.mark.parametrize('privileged', [Privileged.ALWAYS, Privileged.INITIAL])
def test_privileged_facts_reach_model_and_records(privileged: Privileged) -> None:
    domain = load_domain('blocksworld')
    with bench() as b:
        b.world.visible = ('r',)
        result = b.listener.episode('plan', stop_at_goal=True, privileged=privileged.value)
        assert result.error_code == 0, result.error_msg
        ordered = b.listener.ordered()
        truth = b.world.problem.init
    hidden = [a for a in domain.model(b.world.problem).atoms if not {*a.args} <= {'r'}]
    looks = [m for m in ordered if isinstance(m, msg.Observation)]
    facts = [messages.facts_from_msg(m.privileged_facts) for m in looks]
    assert len(facts) == result.steps > 1
    assert facts[0] == {atom: atom in truth for atom in hidden}
    assert all(bool(told) is (privileged is Privileged.ALWAYS) for told in facts[1:])
    assert [list(m.visible_objects) for m in looks] == [['r']] * len(looks)
    for request, look in zip(b.vlm_planner.requests, looks, strict=True):
        seen = request.observation
        assert (seen.privileged_facts, seen.visible_objects, seen.text) == (
                look.privileged_facts, look.visible_objects, look.text)
    starts = [m for m in ordered if isinstance(m, msg.EpisodeEvent)]
    assert {m.privileged for m in starts} == {privileged.value}


def test_facts_that_the_world_was_not_told_to_grant_are_an_error() -> None:
    with bench() as b:
        b.world.visible = ('r',)
        result = b.listener.episode('plan', privileged='always', granted='none')
        assert result.error_code == WorldError.code
        assert 'grants no facts' in result.error_msg


def test_models_are_shown_the_labelled_picture() -> None:
    with bench() as b:
        b.world.labels = True
        for number, method in enumerate(('ground', 'plan')):
            b.world.labels = not number  # the agent's camera follows
            result = b.listener.episode(method, stop_at_goal=True)
            assert result.error_code == 0, result.error_msg
        looks = [m for m in b.listener.messages if isinstance(m, msg.Observation)]
    for requests, labelled in ((b.grounder.requests, True), (b.vlm_planner.requests, False)):
        shown = {request.observation.image_id for request in requests}
        assert shown <= {m.image_id for m in looks if m.labelled is labelled}
        assert not shown & {m.image_id for m in looks if m.labelled is not labelled}


def test_a_late_image_of_the_topic_before_is_not_looked_at() -> None:
    image = MESSAGES.image_to_msg(np.zeros((2, 2, 3), np.uint8), 5)
    node = Node('viewer')
    with spinning(node):
        camera = Camera(node)
        late = camera._subscription.callback
        camera.watch(names.CAMERA_LABELLED, LIMIT_S)
        late(serialize_message(image))
        with pytest.raises(DeadlineError, match='no image on camera/image_labelled'):
            camera.newest(0, 0.05)
        camera._subscription.callback(serialize_message(image))
        assert camera.newest(0, 0.05).stamp_ns == 5


def test_half_a_picture_is_dropped() -> None:
    """One of 0 bytes may come after a process was killed; what leaves a callback ends the node."""
    node = Node('viewer')
    camera = Camera(node)
    for data in (b'', b'\0\1\0\0rubbish'):
        camera._subscription.callback(data)
    assert camera.age_s() == math.inf
    camera._subscription.callback(serialize_message(
        MESSAGES.image_to_msg(np.zeros((2, 2, 3), np.uint8), 5)))
    assert camera.newest(0, 0.05).stamp_ns == 5 and camera.age_s() < LIMIT_S
    node.destroy_node()


def test_a_topic_that_could_not_be_watched_is_tried_again() -> None:
    image = MESSAGES.image_to_msg(np.zeros((2, 2, 3), np.uint8), 5)
    node = Node('viewer')
    camera = Camera(node)
    with pytest.raises(InfrastructureError, match='viewer is not spinning'):
        camera.watch(names.CAMERA_LABELLED, 0.05)
    assert camera.topic == names.CAMERA_IMAGE
    camera._subscription.callback(serialize_message(image))
    assert camera.newest(0, 0.05).stamp_ns == 5, 'of the topic before'
    with spinning(node):
        camera.watch(names.CAMERA_LABELLED, LIMIT_S)
        (subscription,) = node.subscriptions
        assert subscription.topic_name.endswith(names.CAMERA_LABELLED)
        with pytest.raises(DeadlineError, match='no image on camera/image_labelled'):
            camera.newest(0, 0.05)


def test_an_episode_ends_at_the_goal_only_where_it_shall() -> None:
    with bench() as b:
        usual = b.listener.episode('plan')
        asked = len(b.vlm_planner.requests)
        granted = b.listener.episode('plan', stop_at_goal=True)
    assert (usual.stop_reason, granted.stop_reason) == ('empty_plan', 'goal_reached')
    assert usual.steps == granted.steps
    assert len(b.vlm_planner.requests) - asked == asked - 1, 'the last question is saved'
    assert [r.stops_at_goal for r in b.vlm_planner.requests] == (
        [False] * asked + [True] * (asked - 1))
    starts = [m for m in b.listener.messages if isinstance(m, msg.EpisodeEvent)
              and m.kind == m.STARTED]
    assert [m.stop_at_goal for m in starts] == [False, True], 'the records tell'


def test_the_model_plans() -> None:
    with bench(without=('grounder', 'planner')) as b:
        result = b.listener.episode('plan_cot', stop_at_goal=True)
        assert result.error_code == 0, result.error_msg
        assert result.stop_reason == 'goal_reached'
        ordered = b.listener.ordered()
        assert b.world.problem.goal_met(b.world.state())
    assert [m.sequence for m in ordered] == list(range(len(ordered)))
    proposals = [m for m in ordered if isinstance(m, msg.ProposalStamped)]
    steps = [m for m in ordered if isinstance(m, msg.Step)]
    assert len(proposals) == len(steps) == result.steps > 1
    looks = {messages.time_from_msg(m.header.stamp): m.image_id
             for m in ordered if isinstance(m, msg.Observation)}
    for proposal, step in zip(proposals, steps, strict=True):
        assert step.action == proposal.proposal.actions[0]
        assert looks[messages.time_from_msg(proposal.header.stamp)] == proposal.image_id != ''
        assert proposal.prompt == 'plan_cot@abc'
        assert messages.usage_from_msg(proposal.usage) == Usage(1, 500, 20)
        assert proposal.proposal.seconds > 0.0
    assert 'propose' in b.listener.feedback
    requests = b.vlm_planner.requests
    assert [r.new_episode for r in requests] == [True] + [False] * (len(requests) - 1)
    assert {(r.episode_id, r.split, r.prompt) for r in requests} == {('e/0', 'simple', 'plan_cot')}
    assert [len(r.history) for r in requests] == list(range(len(requests)))
    domain = load_domain('blocksworld')
    assert not any(domain.parse_problem(r.problem_pddl, 'told').init for r in requests)


def test_what_cannot_be_sent_is_told_to_the_model_and_nobody_else() -> None:
    unknown = Proposal(ProposalStatus.UNKNOWN_ACTION, named='fly(r)', message='no such action')
    unread = Proposal(ProposalStatus.UNPARSED, message='no JSON', text='er\0m')
    with bench() as b:
        b.vlm_planner.says = [unknown, unread]
        result = b.listener.episode('action', stop_at_goal=True)
        ordered = b.listener.ordered()
    assert result.stop_reason == 'goal_reached'
    steps = [m for m in ordered if isinstance(m, msg.Step)]
    assert [m.status for m in steps[:3]] == [msg.Step.INVALID, msg.Step.INVALID, msg.Step.EXECUTED]
    assert [m.action.name for m in steps[:2]] == ['', '']
    third = b.vlm_planner.requests[2]
    assert [(p.action, p.outcome) for p in third.history] == [
        ('fly(r)', 'no such action'), ('', 'no JSON')]


@pytest.mark.parametrize('error', [BackendError('out of memory'), InputError('bad')])
def test_errors_of_the_model_that_plans_keep_their_kind(error: Exception) -> None:
    with bench() as b:
        b.vlm_planner.error = error
        result = b.listener.episode('plan')
        ordered = b.listener.ordered()
    assert (result.error_code, result.stop_reason) == (error.code, 'error')
    assert 'vlm_planner: ' in result.error_msg
    [failed] = (m for m in ordered if isinstance(m, msg.ProposalStamped))
    assert failed.proposal.status == msg.Proposal.FAILED
    assert failed.proposal.message == f'{type(error).__name__}: {result.error_msg}'


@pytest.mark.parametrize(('method', 'node'), [('plan', 'vlm_planner'), ('ground', 'grounder')])
def test_a_limit_on_spending_cancels_the_episode(method: str, node: str) -> None:
    with bench() as b:
        getattr(b, node).error = SpendingCapError('5 USD are spent')
        result = b.listener.episode(method)
        assert b.listener.ordered()[-1].stop_reason == 'cancelled'
        assert result.stop_reason == 'cancelled'
        with pytest.raises(SpendingCapError, match=f'{node}: 5 USD are spent'):
            raise_error(result, 'agent')
        getattr(b, node).error = None
        assert b.listener.episode(method).error_code == 0, 'the agent goes on'


def test_a_silent_model_that_plans_is_named() -> None:
    with bench(propose_timeout_s=0.2) as b:
        b.vlm_planner.may_go_on.clear()
        result = b.listener.episode('plan')
        b.vlm_planner.may_go_on.set()
        with pytest.raises(DeadlineError, match='vlm_planner did not answer'):
            raise_error(result, 'agent')


@pytest.mark.parametrize(('method', 'missing', 'name'), [
    ('ground', 'bridge', 'sim_bridge'), ('ground', 'grounder', 'grounder'),
    ('ground', 'planner', 'symbolic_planner'), ('action_cot', 'vlm_planner', 'vlm_planner')])
def test_a_missing_node_is_named(method: str, missing: str, name: str) -> None:
    with bench(without=(missing,), startup_timeout_s=2.0) as b:
        result = b.listener.episode(method)
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


ODD = 'odd \ud83d and \0'


@pytest.mark.parametrize('ending', [
    EpisodeEnded(StopReason.GAVE_UP, ODD), EpisodeEnded(StopReason.CANCELLED, ODD),
    EpisodeEnded(StopReason.ERROR, f'BackendError: {ODD}'), BackendError(ODD), ValueError(ODD)])
def test_odd_text_ends_no_agent(ending: EpisodeEnded | Exception,
                                monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be neither logged nor sent is replaced, or escaped in an error of ours."""
    def odd(*arguments: object, **options: object) -> EpisodeEnded:
        if isinstance(ending, Exception):
            raise ending
        return ending
    with bench() as b:
        with monkeypatch.context() as patch:
            patch.setattr(agent, 'run_episode', odd)
            result = b.listener.episode()
        said = (r'odd \ud83d and \x00' if isinstance(ending, BackendError)
                else 'odd \ufffd and \ufffd')
        assert said in result.message + result.error_msg
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


def test_an_episode_that_nobody_waits_for_any_more_ends(hanging: ScriptedPlanner) -> None:
    """Who sent it has gone without cancelling it: the next one finds the agent free."""
    with bench(without=('listener',), hanging=hanging, plan_timeout_s=10 * LIMIT_S) as b:
        b.listener.run._client.destroy()
        events: list[msg.EpisodeEvent] = []
        b.grounder.create_subscription(msg.EpisodeEvent, names.AGENT_EPISODE, events.append,
                                       qos.EVENTS)

        def run() -> None:
            with contextlib.suppress(Exception):  # its client is taken away
                client.episode()
        client = Recorder()
        with spinning(client):
            threading.Thread(target=run, daemon=True).start()
            assert hanging.asked.wait(LIMIT_S)
            time.sleep(1.5)
            assert b.agent._goal.handle is not None, 'somebody waits'
            client.run._client.destroy()  # as with the end of its process
        eventually(lambda: b.agent._goal.handle is None, 'the end of the episode')
        eventually(lambda: events and events[-1].kind == msg.EpisodeEvent.ENDED, 'its event')
        assert events[-1].stop_reason == 'cancelled', 'and not for the planner that hangs'


@pytest.mark.parametrize(('number', 'ends_as', 'code'), [
    (signal.SIGINT, 'cancelled', CancelledError.code),
    (signal.SIGTERM, 'error', InfrastructureError.code), (0, 'error', InfrastructureError.code)])
def test_stopping_the_agent_ends_its_episode(hanging: ScriptedPlanner, number: int, ends_as: str,
                                             code: int) -> None:
    """Who stops the graph cancels the episode; when the graph breaks down it is an error."""
    with bench(hanging=hanging) as b:
        done = []
        first = threading.Thread(target=lambda: done.append(b.listener.episode()))
        first.start()
        assert hanging.asked.wait(LIMIT_S)
        b.agent.stop_signal = number
        b.agent.close()
        first.join(LIMIT_S)
        hanging.may_go_on.set()
        assert (done[0].stop_reason, done[0].error_code) == (ends_as, code)
        assert 'the agent was stopped' in done[0].error_msg
        assert b.listener.ordered()[-1].stop_reason == ends_as


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
