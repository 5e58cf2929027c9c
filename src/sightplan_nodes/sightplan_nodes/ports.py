"""The core's ports as ROS clients: the episode loop runs over these as it runs in process.

Every call blocks the calling thread, which must not be the executor's, for at most its deadline;
then DeadlineError names the node that is silent.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image
from sightplan_interfaces import msg
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.srv import (
    GetState,
    GetView,
    Plan,
    ProposePlan,
    ResetWorld,
)

from sightplan.domains import Domain
from sightplan.model import (
    GOAL_NS,
    Action,
    Atom,
    CancelledError,
    DeadlineError,
    EpisodeEvent,
    EpisodeSpec,
    Feedback,
    Observation,
    PlanningResult,
    PlanningTask,
    Proposal,
    State,
    VisualTask,
    param,
)
from sightplan.records import messages, topics
from sightplan.records.messages import EpisodeMessages, raw_stamp_ns
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.calls import (
    ActionCaller,
    ServiceCaller,
    never,
    run_in_executor,
)
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import dropping
from sightplan_nodes.remote_model import ModelClient, Published, PublishedPicture, nowhere
from sightplan_nodes.stamped_images import MixedCameraDetector

_PUBLISHED_KEPT = 64
"""Number of the newest pictures whose topic and stamp are kept."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Wall-clock limits of single calls [s].

    Attributes:
        reset_s, observe_s, act_s: the world's; observe_s also of the call that asks what is in
            view.
        ground_s, propose_s: in use when the caller sets no limit.
        plan_s: added to the limit that the caller sets, for the way there and back.
    """

    reset_s: float = 90.0
    observe_s: float = 10.0
    act_s: float = 30.0
    ground_s: float = 60.0
    propose_s: float = 120.0
    plan_s: float = 10.0


class Camera:
    """The newest image on a topic, kept undecoded until it is wanted."""

    def __init__(self, node: Node, world: str = names.SIM_BRIDGE,
                 topic: str = names.CAMERA_IMAGE, profile: QoSProfile = qos.SENSOR) -> None:
        """Subscribe to an image, the raw one at first, which the node ``world`` publishes."""
        self._node, self._profile = node, profile
        self._arrived = threading.Condition()
        self._world = world
        self._came_s = -math.inf
        self._subscription: Subscription | None = None
        self.topic = ''
        self._subscribe(topic)

    def watch(self, topic: str, timeout_s: float) -> None:
        """Take pictures from another topic from now on; contract of the thread as in the module.

        Raises:
            InfrastructureError: the node is not spinning; the topic is the one before.
        """
        if topic != self.topic:
            run_in_executor(self._node, lambda: self._subscribe(topic), timeout_s)

    def _subscribe(self, topic: str) -> None:
        def take(data: bytes) -> None:
            with self._arrived:
                if topic == self.topic:  # else a late one of the topic before
                    self._data, self._stamp_ns = data, raw_stamp_ns(data)
                    self._came_s = time.monotonic()
                    self._cameras.note(data)
                    self._arrived.notify_all()

        with self._arrived:
            if topic == self.topic:
                return  # by an earlier call that was given up
            old, self._subscription = self._subscription, self._node.create_subscription(
                Image, topic, dropping(self._node, topic, take), self._profile, raw=True,
                callback_group=ReentrantCallbackGroup())
            self.topic, self._data, self._stamp_ns = topic, b'', -1
            self._cameras = MixedCameraDetector(self._node)
        if old is not None:
            self._node.destroy_subscription(old)

    def age_s(self) -> float:
        """Time since the newest image came [s]; infinite before the first."""
        return time.monotonic() - self._came_s

    def newest(self, not_before_ns: int, timeout_s: float,
               cancelled: Callable[[], bool] = never) -> Observation:
        """The newest image that is not older than a world time.

        Raises:
            DeadlineError: none came in time.
            CancelledError: cancelled while waiting.
            WorldError: pictures of two cameras come.
        """
        end = time.monotonic() + timeout_s
        with self._arrived:
            while self._stamp_ns < not_before_ns:
                if cancelled():
                    raise CancelledError('cancelled while waiting for an image')
                left = end - time.monotonic()
                if left <= 0.0:
                    seen = ('no image came' if self._stamp_ns < 0 else
                            f'the newest is of {self._stamp_ns} ns')
                    raise DeadlineError(
                        f'{self._world} published no image on {self.topic} of world time '
                        f'{not_before_ns} ns or later within {timeout_s:g} s ({seen}); it hangs '
                        'or has died')
                self._arrived.wait(min(left, 0.1))
            self._cameras.check(self.topic)
            data = self._data
        return messages.observation_from_msg(deserialize_message(data, Image))


class RosWorld:
    """The port World over sim_bridge, or arm_bridge with the same names.

    Attributes:
        on_begun: callback with each action before it is carried out, or None.
    """

    def __init__(self, node: Node, deadlines: Deadlines,
                 cancelled: Callable[[], bool] = never, world: str = names.SIM_BRIDGE) -> None:
        """Create the clients of the node ``world``."""
        self._camera = Camera(node, world)
        self._goal = Camera(node, world, names.GOAL_IMAGE, qos.LATCHED)
        self._deadlines, self._cancelled = deadlines, cancelled
        self._reset = ServiceCaller(node, ResetWorld, names.reset(world), world)
        self._skill = ActionCaller(node, ExecuteSkill, names.EXECUTE_SKILL, world)
        self._get_view = ServiceCaller(node, GetView, names.get_view(world), world,
                                       repeatable=True)
        self.on_begun: Callable[[Action], None] | None = None
        self._not_before_ns = self._begun_ns = 0
        self._has_view = self._only_text = False
        self._as_it_stands: ResetWorld.Request | None = None
        self._begun: ResetWorld.Response | None = None  # reply that the next reset takes
        self._published: OrderedDict[str, PublishedPicture] = OrderedDict()

    @property
    def labelled(self) -> bool:
        """Whether the images come from the topic of pictures with labels."""
        return self._camera.topic == names.CAMERA_LABELLED

    @property
    def describes(self) -> bool:
        """Whether the world of the episode that was begun last is observed in words."""
        return self._only_text

    def published(self, image_id: str) -> PublishedPicture | None:
        """Topic and stamp of the picture of an id; None: it was not published, or too long ago.

        A picture that was altered since, or of the goal, was published nowhere.
        """
        return self._published.get(image_id)

    def picture_age_s(self) -> float:
        """Time since the newest picture came [s]; infinite before the first."""
        return self._camera.age_s()

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the world's node.

        Raises:
            DeadlineError: it is not there in time.
        """
        self._reset.wait_until_there(timeout_s, self._cancelled)
        self._skill.wait_until_there(timeout_s, self._cancelled)

    def carry_on(self, request: ResetWorld.Request) -> ResetWorld.Response:
        """Begin the next episode in the world as it stands; its ``reset`` takes this reply.

        Args:
            request: what the episode is about.

        Returns:
            the world's reply: what it was built for, or was about before.
        """
        self._as_it_stands, self._begun = request, None
        self._begun = self._reset.checked(request, self._deadlines.reset_s, self._cancelled)
        return self._begun

    def begin_again(self) -> None:
        """Let the next ``reset`` ask the world once more, since ``carry_on`` was long ago."""
        self._begun = None

    def build(self) -> None:
        """Let the next episodes begin in a world that is built for them."""
        self._as_it_stands = self._begun = None

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin the episode in the world that was built for it, or as it stands.

        The rest of the contract is in the port. This side of it does not know that state.
        """
        reply, self._begun = self._begun, None
        if reply is None:
            reply = self._reset.checked(
                self._as_it_stands or ResetWorld.Request(episode_id=spec.id),
                self._deadlines.reset_s, self._cancelled)
        self._not_before_ns = self._begun_ns = messages.time_from_msg(reply.stamp)
        self._has_view, self._only_text = reply.has_view, reply.only_text
        self._camera.watch(names.CAMERA_LABELLED if reply.labelled else names.CAMERA_IMAGE,
                           self._deadlines.observe_s)

    def observe(self) -> Observation:
        """The newest image; it shows the result of the last reset or action.

        Where the world says more about its observations, what is in view comes with it. Depth,
        and the picture without labels, stay on their topics. A world that has no pictures is
        observed in words.
        """
        if self._only_text:
            return self._in_words(0)
        seen = self._camera.newest(self._not_before_ns, self._deadlines.observe_s, self._cancelled)
        self._published[seen.image_id] = PublishedPicture(self._camera.topic, seen.stamp_ns,
                                                          seen.frame_id)
        while len(self._published) > _PUBLISHED_KEPT:
            self._published.popitem(last=False)
        if not self._has_view:
            return seen
        return messages.with_knowledge(seen, self._view(seen.stamp_ns))

    def _view(self, stamp_ns: int) -> msg.Observation:
        """The world's knowledge about the observation of a time [ns]; 0: about the newest."""
        reply: GetView.Response = self._get_view.checked(
            GetView.Request(stamp=MESSAGES.time_to_msg(stamp_ns)), self._deadlines.observe_s,
            self._cancelled)
        return reply.observation

    def _in_words(self, stamp_ns: int) -> Observation:
        view = self._view(stamp_ns)
        return messages.with_knowledge(
            Observation(stamp_ns=stamp_ns or messages.time_from_msg(view.header.stamp)), view)

    def goal_observation(self) -> Observation:
        """The picture of the goal of the episode that was begun last; contract in the port."""
        if self._only_text:
            return self._in_words(GOAL_NS)
        seen = self._goal.newest(self._begun_ns, self._deadlines.observe_s, self._cancelled)
        return dataclasses.replace(seen, stamp_ns=GOAL_NS)

    def execute(self, action: Action) -> Feedback:
        """Carry out an action; contract in the port."""
        if self.on_begun is not None:
            self.on_begun(action)
        result = self._skill.checked(ExecuteSkill.Goal(action=MESSAGES.action_to_msg(action)),
                                     self._deadlines.act_s, self._cancelled)
        if result.status == 0:
            raise CancelledError(f'{action} was cancelled before it began')
        self._not_before_ns = messages.time_from_msg(result.stamp)
        return conversions.feedback_from_result(result)


class _Client:
    """Base of ports that call one service of another node."""

    def __init__(self, node: Node, srv_type: type, name: str, cancelled: Callable[[], bool],
                 repeatable: bool = False) -> None:
        """Create the client of a service, whose name begins with that of its node."""
        self._service = ServiceCaller(node, srv_type, name, name.rpartition('/')[0], repeatable)
        self._cancelled = cancelled

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the service (a model's appears when its node is active).

        Raises:
            DeadlineError: it is not there in time.
        """
        self._service.wait_until_there(timeout_s, self._cancelled)

    def is_there(self) -> bool:
        """Whether the service is discovered."""
        return self._service.is_there()

    def _call(self, request: Any, timeout_s: float) -> Any:
        return self._service.checked(request, timeout_s, self._cancelled)


class RosVisualPlanner(ModelClient):
    """The port VisualPlanner over the node vlm_planner."""

    def __init__(self, node: Node, deadlines: Deadlines, cancelled: Callable[[], bool] = never,
                 published: Published = nowhere) -> None:
        super().__init__(node, ProposePlan, names.PROPOSE_PLAN, deadlines.propose_s, cancelled,
                         published)
        self.domain: Domain | None = None

    @property
    def model(self) -> str:
        """The model that proposed last; '' where that is not known yet."""
        return self._model

    def propose(self, observation: Observation, task: VisualTask,
                timeout_s: float | None = None) -> Proposal:
        """Let the model propose a plan or the next action; contract in the port."""
        assert self.domain is not None, "the episode's domain must be set first"
        problem_pddl = self.domain.write_problem(task.problem.for_agent())

        def show(request: ProposePlan.Request, send: bool) -> None:
            request.observation = self._shown(observation, send)
            conversions.fill_visual_task(request, task, problem_pddl,
                                         partial(self._shown, send=send))
        reply = self._send(ProposePlan.Request(), show, timeout_s)
        proposal = messages.proposal_from_msg(reply.proposal)
        self._model = proposal.model
        return proposal


class RosPlanner(_Client):
    """The port SymbolicPlanner over the node symbolic_planner."""

    def __init__(self, node: Node, deadlines: Deadlines,
                 cancelled: Callable[[], bool] = never) -> None:
        super().__init__(node, Plan, names.PLAN, cancelled)
        self._more_s = deadlines.plan_s

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        """Search for a plan; contract in the port."""
        request = Plan.Request(domain_pddl=task.domain_pddl, problem_pddl=task.problem_pddl,
                               search=task.search, timeout_s=timeout_s)
        return messages.from_msg(PlanningResult, self._call(request, timeout_s + self._more_s))


@dataclass(frozen=True, slots=True)
class TruthSettings:
    """Parameters that say where ground truth is, of the recorder and of models that need it."""

    world: str = param(names.SIM_BRIDGE, 'Node that is the world', choices=names.WORLDS)
    hardware: str = param(names.REAL, 'What arm_bridge moves: a real robot or a simulated one',
                          choices=(names.REAL, names.SIMULATED))
    truth: str = param(names.AUTO, 'Service of ground truth (GetState); empty: there is none; '
                       "auto: the simulator's, if there is one")

    @property
    def service(self) -> str:
        """Name of the service; '' where there is no truth."""
        return names.truth_service(self.world, self.hardware, self.truth)


_TRUTH_TIMEOUT_S = 10.0
"""Limit of a request for ground truth or privileged facts [s]."""


class RosTruth(_Client):
    """The port TruthSource over a simulator: for the oracle, noisy_oracle and metrics only."""

    def __init__(self, node: Node, cancelled: Callable[[], bool] = never,
                 service: str = names.GET_STATE, timeout_s: float = _TRUTH_TIMEOUT_S) -> None:
        super().__init__(node, GetState, service, cancelled, repeatable=True)
        self._timeout_s = timeout_s
        self._episode_id = ''
        self._outcome_stamp_ns = 0

    @property
    def episode_id(self) -> str:
        """Episode of the state that was read last."""
        return self._episode_id

    def select_outcome(self, stamp_ns: int) -> None:
        """Make ``last_outcome`` tell of the action that ended at this world time; 0: the last.

        Events reach a recorder late: the world may have gone on since.
        """
        self._outcome_stamp_ns = stamp_ns

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a world time; contract in the port."""
        return messages.state_from_msg(self._read(stamp_ns or 0).state)

    def last_outcome(self) -> str:
        """The true outcome of the last action; contract in the port."""
        return str(self._read(self._outcome_stamp_ns).last_outcome)

    def _read(self, stamp_ns: int) -> GetState.Response:
        reply: GetState.Response = self._call(
            GetState.Request(stamp=MESSAGES.time_to_msg(stamp_ns)), self._timeout_s)
        self._episode_id = reply.episode_id
        return reply


class RosPrivileged(_Client):
    """The port PrivilegedSource over sim_bridge, which answers what the episode grants."""

    def __init__(self, node: Node, cancelled: Callable[[], bool] = never) -> None:
        super().__init__(node, GetView, names.PROVIDE_FACTS, cancelled, repeatable=True)

    def provide(self, observation: Observation) -> Mapping[Atom, bool]:
        """Facts about objects out of view; contract in the port."""
        request = GetView.Request(stamp=MESSAGES.time_to_msg(observation.stamp_ns))
        reply = self._call(request, _TRUTH_TIMEOUT_S)
        return messages.facts_from_msg(reply.observation.privileged_facts)


class RosRecorder:
    """The port Recorder over topics: ``~/episode``, ``~/observation``, ``~/asked`` and so on.

    The domain of an episode must be set in ``messages`` before it starts.
    """

    def __init__(self, node: Node, labelled: Callable[[], bool] = never) -> None:
        """Create the publishers of a node (the agent).

        Args:
            node: the node.
            labelled: whether observations show pictures with labels, which have a topic of
                their own.
        """
        self.messages = EpisodeMessages(MESSAGES, labelled)
        self.publishers = {
            topic: node.create_publisher(getattr(msg, name.rpartition('/')[2]),
                                         f'~/{topic.rpartition("/")[2]}', qos.EVENTS)
            for topic, name in topics.EVENTS.items()}

    def record(self, event: EpisodeEvent) -> None:
        """Publish one event."""
        topic, message = self.messages.message(event)
        self.publishers[topic].publish(message)
