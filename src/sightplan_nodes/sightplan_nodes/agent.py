"""The node ``agent``: runs episodes over the other nodes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.srv import ResetWorld

from sightplan.agent import (
    Limits,
    make_policy,
    needs_grounder,
    needs_planner,
    needs_truth,
    needs_visual_planner,
    policy_settings,
    reads_instruction,
    run_episode,
)
from sightplan.domains import load_domain, read_objects
from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.model import (
    GOAL_NS,
    Action,
    Asked,
    CancelledError,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeStarted,
    FeedbackStatus,
    InfrastructureError,
    InputError,
    Observed,
    Planned,
    Privileged,
    Proposed,
    State,
    Stepped,
    StopReason,
    param,
    user_path,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.option_pairs import parse_options
from sightplan.records import messages
from sightplan_nodes import names
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_from_text, fill_error, guarded
from sightplan_nodes.goals import RESULT_KEPT_S, OneGoal, Waiting
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.memory import FreedMemory
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ports import (
    Deadlines,
    RosPlanner,
    RosPrivileged,
    RosRecorder,
    RosTruth,
    RosVisualPlanner,
    RosWorld,
)
from sightplan_nodes.remote_model import RosModel
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker

_METHOD, _OF_WORDS = 'belief', 'grounded_plan'
"""Methods, for a condition and for words, of a goal in the world as it stands that names none."""
_MAX_ACTIONS = 30
"""Budget of actions of such a goal that names none."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Parameters of ``agent``."""

    world: str = param(names.SIM_BRIDGE, 'Node that is the world', choices=names.WORLDS)
    method_options: str = param('', 'Settings of the method: key=value,... or JSON')
    prompts: str = param('', "Folder of prompts to use instead of a domain's own, as of the "
                             'experiment')
    startup_timeout_s: float = param(
        120.0, 'Limit for the other nodes to be there (a model may be loading) [s]', low=0.1,
        high=3600.0)
    reset_timeout_s: float = param(90.0, 'Limit of a reset of the world [s]', low=0.1,
                                   high=3600.0)
    observe_timeout_s: float = param(10.0, 'Limit for a fresh image [s]', low=0.1, high=3600.0)
    act_timeout_s: float = param(30.0, 'Limit of one skill [s]', low=0.1, high=3600.0)
    ground_timeout_s: float = param(60.0, 'Limit of one call of the grounder [s]', low=0.1,
                                    high=3600.0)
    propose_timeout_s: float = param(120.0, 'Limit of one plan by the vision-language model [s]',
                                     low=0.1, high=3600.0)
    plan_timeout_s: float = param(60.0, 'Limit of one search for a plan [s]', low=0.1,
                                  high=3600.0)
    episode_timeout_s: float = param(0.0, 'Limit of a whole episode [s]; 0: none', low=0.0,
                                     high=86400.0)


class AgentNode(Node):
    """Runs a method over world, grounder and planners.

    Parameters: see AgentSettings. Serves the action ``~/run_episode`` (RunEpisode), one goal at a
    time; feedback comes at each stage, and a cancelled episode ends before its next use of
    another node. Publishes ``~/episode``, ``~/observation``, ``~/adopted``, ``~/asked``,
    ``~/belief``, ``~/plan``, ``~/proposal`` and ``~/step``, and ``heartbeat``, which during an
    episode names the nodes that its method needs: an arm does not go on when one of them is gone.

    Ground truth is read in two cases, and until one of them comes there is no client for it: for
    the method ``oracle``, and for the loop (not the method) in an episode whose goal says
    ``stop_at_goal``, which the records show. Privileged facts have a client likewise only once a
    goal grants them (``privileged``).
    """

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.AGENT, **node_arguments)
        self._settings = s = declare_settings(self, AgentSettings)
        deadlines = Deadlines(s.reset_timeout_s, s.observe_timeout_s, s.act_timeout_s,
                              s.ground_timeout_s, s.propose_timeout_s)
        self.stop_signal = 0
        self._stop = threading.Event()
        self._goal = OneGoal()
        self._waiting: Waiting | None = None  # for the episode under way
        self._truth: RosTruth | None = None
        self._privileged: RosPrivileged | None = None
        self._world = RosWorld(self, deadlines, self._cancelled, s.world)
        self._model = RosModel(self, names.GROUNDER, deadlines.ground_s, self._cancelled,
                               self._world.published)
        self._planner = RosPlanner(self, deadlines, self._cancelled)
        self._visual_planner = RosVisualPlanner(self, deadlines, self._cancelled,
                                                self._world.published)
        self._recorder = RosRecorder(self, lambda: self._world.labelled)
        self._worker = Worker(self, names.AGENT)
        self._needs: tuple[str, ...] = ()
        self._memory = FreedMemory()
        self._heartbeats = Heartbeats(self, lambda: self._needs)
        self._server = ActionServer(
            self, RunEpisode, '~/run_episode', guarded(self, RunEpisode.Result, self._run),
            callback_group=ReentrantCallbackGroup(),
            goal_callback=self._goal.accept, handle_accepted_callback=self._goal.take,
            cancel_callback=lambda _: CancelResponse.ACCEPT, result_timeout=RESULT_KEPT_S)

    def close(self) -> None:
        """End an episode under way: as cancelled if somebody stops the graph, else as an error.

        It is an error when the graph breaks down, as in ``ExperimentNode.close``; which of the two
        it is does not depend on whether the experiment's cancellation comes in time.
        """
        self._stop.set()
        self._worker.close(timeout_s=5.0)
        self._heartbeats.close()

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the episode under way, and the age of the newest picture; see ``Diagnosis``."""
        handle = self._goal.handle
        diagnosis.note(episode=None if handle is None else handle.request.episode_id,
                       needs=self._needs, picture_s_ago=self._world.picture_age_s(),
                       jobs_waiting=self._worker.waiting)

    def _cancelled(self) -> bool:
        """Return whether the episode is cancelled: by its client, or by who stops this node.

        A client that has left the graph counts as one that has cancelled.

        Raises:
            InfrastructureError: the graph breaks down; no client has cancelled the episode.
        """
        if self._goal.cancelled or (self._waiting is not None and self._waiting.over()):
            return True
        if self._stop.is_set() and self.stop_signal != signal.SIGINT:
            raise InfrastructureError('the agent was stopped in mid-episode')
        return self._stop.is_set()

    async def _run(self, handle: ServerGoalHandle) -> RunEpisode.Result:
        result = RunEpisode.Result()
        try:
            goal = handle.request
            self._waiting = Waiting(self, names.RUN_EPISODE)
            if goal.as_it_stands:
                complete(goal)
            elif not goal.method:
                raise InputError(
                    'the goal names no method: set as_it_stands to reach it in the world as it '
                    'stands, or name a method for a world that was built')
            check_truth(self._settings.world, goal.method, goal.stop_at_goal, goal.privileged)
            if (needs_truth(goal.method) or goal.stop_at_goal) and self._truth is None:
                self._truth = RosTruth(self, self._cancelled)
            level = messages.privileged_from_msg(goal.privileged)
            if level is not Privileged.NONE and self._privileged is None:
                self._privileged = RosPrivileged(self, self._cancelled)
            ended = await self._worker.call(lambda: self._episode(handle))
        except Exception as error:
            if isinstance(error, CancelledError) and handle.is_cancel_requested:
                handle.canceled()
            else:
                self._report(handle, str(error))
                handle.abort()
            return fill_error(result, error)
        finally:
            self._goal.release()
        result.stop_reason, result.message = ended.reason.value, messages.text(ended.message)
        result.steps, result.seconds = ended.steps, ended.seconds
        if ended.reason is StopReason.ERROR:
            self._report(handle, ended.message)
            handle.abort()
            return fill_error(result, error_from_text(ended.message))
        if ended.reason is StopReason.CANCELLED:
            fill_error(result, self._cancellation(ended.message))
            if handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result
        handle.succeed()
        return result

    def _report(self, handle: ServerGoalHandle, message: str) -> None:
        self.get_logger().error(
            messages.text(f'episode {handle.request.episode_id}: {message}'))

    def _cancellation(self, message: str) -> CancelledError:
        """The error of an episode that its client, a limit on spending or a stop has cancelled."""
        for port in (self._model, self._visual_planner):
            if port.capped is not None and str(port.capped) == message:
                return port.capped
        stopped = self._stop.is_set() and not self._goal.cancelled
        return CancelledError(f'the agent was stopped: {message}' if stopped else message)

    def _episode(self, handle: ServerGoalHandle) -> EpisodeEnded:
        """Run one episode, in the worker's thread, and return its last event."""
        goal = handle.request
        given = self._settings.prompts
        prompts = user_path(given) if given else None
        s = self._settings
        self._world.build()
        recorder = _FeedbackRecorder(self._recorder, handle)
        recorder.report(names.WAITING_STAGE)
        options = parse_options(s.method_options, 'method_options',
                                type(policy_settings(goal.method)))
        policy = make_policy(goal.method, options, self._truth)
        needed: dict[str, _Port] = {name: port for name, port, needs in (
            (names.GROUNDER, self._model, needs_grounder),
            (names.SYMBOLIC_PLANNER, self._planner, needs_planner),
            (names.VLM_PLANNER, self._visual_planner, needs_visual_planner))
            if needs(goal.method)}
        missing = list(needed.values())
        if goal.as_it_stands:
            self._world.wait_until_there(s.startup_timeout_s)
            missing = [port for port in needed.values() if not port.is_there()]
            for port in needed.values():
                if port not in missing:
                    port.wait_until_there(s.startup_timeout_s)
            recorder.report(names.RESET_STAGE)  # for which an arm moves out of the camera's view
            look_around(goal, self._world, prompts)
            if missing:
                self._world.begin_again()  # an arm is made ready after the wait
                recorder.report(names.WAITING_STAGE)
        domain, problem = messages.read_episode_problem(goal, prompts)
        spec = messages.spec_from_msg(goal, problem)
        self._world.wait_until_there(s.startup_timeout_s)
        for port in missing:
            port.wait_until_there(s.startup_timeout_s)
        self._recorder.messages.domain = self._visual_planner.domain = domain
        self._recorder.messages.session = goal.session
        recorder.report(names.RESET_STAGE)

        def goal_reached() -> bool:
            assert self._truth is not None, 'made for an episode that stops at its goal'
            if not spec.pictured_goal:
                return problem.goal_met(self._truth.state())
            wanted.setdefault('goal', self._truth.state(GOAL_NS))
            return wanted['goal'] <= self._truth.state()
        wanted: dict[str, State] = {}
        limits = Limits(ground_s=s.ground_timeout_s, propose_s=s.propose_timeout_s,
                        plan_s=s.plan_timeout_s, episode_s=s.episode_timeout_s or None)
        self._needs, self._world.on_begun = tuple(needed), recorder.begun
        try:
            return run_episode(
                spec, policy, self._world,
                BackendGrounder(self._model, PARSERS[self._model.answers]), self._planner,
                recorder, domain,
                visual_planner=self._visual_planner,
                goal_reached=goal_reached if goal.stop_at_goal else None,
                privileged=self._privileged, cancelled=self._cancelled, limits=limits)
        finally:
            self._needs, self._world.on_begun = (), None
            self._memory.give_back()


def complete(goal: RunEpisode.Goal) -> None:
    """Fill in what a goal in the world as it stands may leave out, apart from the world's objects.

    Raises:
        InputError: there is no goal, or its method reads none of that kind.
    """
    if not (goal.goal or goal.problem_pddl or goal.instruction):
        raise InputError('the episode has no goal: give goal, such as "(on r g)", problem_pddl, '
                         'or an instruction for a method that reads one')
    if goal.problem_pddl and goal.objects:
        raise InputError('problem_pddl has objects of its own; leave objects out, or give goal '
                         'instead')
    goal.episode_id = goal.episode_id or f'goal-{time.time_ns()}'
    goal.method = goal.method or (_METHOD if goal.goal or goal.problem_pddl else _OF_WORDS)
    if not (goal.goal or goal.problem_pddl or reads_instruction(goal.method)):
        raise InputError(f'method {goal.method} reads no instructions; name {_OF_WORDS}, or give '
                         'goal, such as "(on r g)"')
    goal.problem = goal.problem or 'goal'
    goal.max_actions = goal.max_actions or _MAX_ACTIONS
    goal.optimal_length = -1


def look_around(goal: RunEpisode.Goal, world: RosWorld, prompts: Path | None) -> None:
    """Fill in the domain and the objects of the world, and let the world carry on for the goal.

    The world is asked once; twice where the goal leaves out the domain, but has other objects than
    those that the world was about before.

    Args:
        goal: of an episode that begins in the world as it stands; is changed.
        world: is told what the episode is about, without an initial state.
        prompts: folder of prompts that replace the domain's own; None for none.

    Raises:
        InputError: goal and objects do not make a problem; names what is wrong with them.
        WorldError: the world was built for nothing, and the goal names no domain.
    """
    request = ResetWorld.Request(episode_id=goal.episode_id, as_it_stands=True)
    there: ResetWorld.Response | None = None
    if not goal.domain or not (goal.problem_pddl or goal.objects):
        there = world.carry_on(request)
        if goal.domain not in ('', there.domain):
            raise InputError(f'the world is of domain {there.domain}, not {goal.domain}; leave '
                             'the domain out')
        goal.domain, goal.domain_pddl = there.domain, there.domain_pddl
        if not goal.objects:
            goal.problem_pddl = goal.problem_pddl or there.problem_pddl
    domain = load_domain(goal.domain, domain_pddl=goal.domain_pddl or None, prompts=prompts)
    goal.domain_pddl = domain.pddl
    if goal.objects:
        problem = domain.problem_of(goal.goal, read_objects(goal.objects))
    else:
        problem = domain.parse_problem(goal.problem_pddl, goal.problem, 'problem_pddl',
                                       needs_init=False)
        if goal.goal:
            wanted = domain.problem_of(goal.goal, problem.objects)
            problem = replace(problem, goal=wanted.goal)
    if not (problem.goal or goal.instruction):
        what = f'goal "{goal.goal}"' if goal.goal else 'the goal of problem_pddl'
        raise InputError(f'{what} has no condition, and would hold whatever the world looks '
                         'like; give one, such as "(on r g)"')
    goal.problem_pddl = domain.write_problem(problem.for_agent())
    request.domain, request.problem = goal.domain, goal.problem
    request.domain_pddl, request.problem_pddl = goal.domain_pddl, goal.problem_pddl
    known = {} if there is None else domain.parse_problem(
        there.problem_pddl, goal.problem, 'problem of the world').objects
    if there is None or known != problem.objects:
        world.carry_on(request)  # an arm is told by it what is on its table


def check_truth(world: str, method: str, stop_at_goal: bool, privileged: str) -> None:
    """Refuse settings that need ground truth, where the world is not simulated.

    Raises:
        InputError: says which, and what to choose instead.
    """
    if world == names.SIM_BRIDGE:
        return
    for wanted, what, remedy in (
            (needs_truth(method), f'method {method!r}', 'choose another method'),
            (stop_at_goal, 'stopping at the goal', 'set stop_at_goal:=no'),
            (privileged not in ('', Privileged.NONE.value), f'privileged:={privileged}',
             f'set privileged:={Privileged.NONE.value}')):
        if wanted:
            raise InputError(f'{what} takes ground truth, which {world} does not have: {remedy}, '
                             f'or use world:={names.SIM_BRIDGE}')


class _Port(Protocol):
    """A client of a node that a method needs."""

    def is_there(self) -> bool:
        """Whether the node offers its service."""

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait until it does; DeadlineError if that takes too long."""


class _FeedbackRecorder(EventHandler):
    """Publishes events and reports to the goal's client how far the episode is."""

    def __init__(self, recorder: RosRecorder, handle: ServerGoalHandle) -> None:
        self._recorder, self._handle = recorder, handle
        self._feedback = RunEpisode.Feedback()

    def record(self, event: EpisodeEvent) -> None:
        self._recorder.record(event)
        super().record(event)

    def begun(self, action: Action) -> None:
        """Report an action whose execution begins."""
        self._feedback.action = MESSAGES.action_to_msg(action)
        self.report('execute')

    def on_started(self, event: EpisodeStarted) -> None:
        self.report('started')

    def on_observed(self, event: Observed) -> None:
        self.report('observe')

    def on_asked(self, event: Asked) -> None:
        self.report(event.purpose.value)

    def on_planned(self, event: Planned) -> None:
        self.report('plan')

    def on_proposed(self, event: Proposed) -> None:
        self.report('propose')

    def on_stepped(self, event: Stepped) -> None:
        feedback = self._feedback
        feedback.step = event.index + 1
        feedback.action = MESSAGES.action_to_msg(event.action)
        feedback.status = messages.numbers(FeedbackStatus)[event.feedback.status]
        self.report('act')

    def report(self, stage: str) -> None:
        """Report a stage, with the action that was begun last and the number of steps."""
        self._feedback.stage = stage
        self._handle.publish_feedback(self._feedback)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(AgentNode, args)
