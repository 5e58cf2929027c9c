"""Node of ``sightplan bench safety`` that watches and uses an arm."""

from __future__ import annotations

import collections
import contextlib
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, JointState
from sightplan_interfaces import msg
from sightplan_interfaces.action import ExecuteSkill, GraspAt
from sightplan_interfaces.srv import Confirm, GetView, LoadProblem, ResetWorld
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sightplan.graphs.hearing import Hearing, Lost
from sightplan.model import Action, DeadlineError, Problem, SightplanError, State, WorldError
from sightplan_arm.config import load_robot
from sightplan_nodes import names, qos
from sightplan_nodes.calls import ActionCaller, ServiceCaller, introduce
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import raise_error
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.ports import RosTruth
from sightplan_nodes.spin import main as run_main

WORLD = names.ARM_BRIDGE
CALL_S, RESET_S, SKILL_S = 10.0, 60.0, 60.0
_KEPT = 100_000
_BEAT_S = 0.1


@dataclass(frozen=True, slots=True)
class Sample:
    """Joint states as they came.

    Attributes:
        at_s: when [s, monotonic].
        speed: of the fastest joint of the arm [rad/s].
        positions: of the arm's joints [rad].
    """

    at_s: float
    speed: float
    positions: tuple[float, ...]


class Bench(Node):
    """Watches the simulated hardware, and is a client of all that arm_bridge offers."""

    def __init__(self, robot_name: str) -> None:
        """Connect to ``arm_bridge`` and the hardware behind it.

        Raises:
            InputError: there is no such robot.
        """
        super().__init__('bench_safety')
        self._robot = robot = load_robot(robot_name)
        self.samples: collections.deque[Sample] = collections.deque(maxlen=_KEPT)
        self.commands: collections.deque[float] = collections.deque(maxlen=_KEPT)
        self.beats: dict[str, collections.deque[float]] = {}
        self.pictures: collections.deque[float] = collections.deque(maxlen=_KEPT)
        self.status = msg.ArmStatus(state=msg.ArmStatus.REARMED)
        self.watcher = msg.ArmStatus(state=msg.ArmStatus.REARMED)
        self.breaks: Counter[str] = Counter()
        self.causes: list[str] = []
        self._hearing, self._hearing_lock = Hearing(), threading.Lock()
        self.expecting = False
        self._count = 0
        self._pool = ThreadPoolExecutor(8, 'bench')
        self._index: tuple[tuple[str, ...], list[int]] | None = None
        arm, gripper, there = robot.arm, robot.gripper, names.SIMULATED
        self.create_subscription(JointState, names.driver(arm.joint_states, there),
                                 self._take_joints, qos.DRIVER)
        for topic in (arm.trajectory_topic, gripper.trajectory_topic):
            self.create_subscription(JointTrajectory, names.driver(topic, there),
                                     self._take_command, qos.COMMANDS, raw=True)
        self.create_subscription(CameraInfo, names.driver(robot.camera.info, there),
                                 self._take_info, qos.DRIVER, raw=True)
        self.create_subscription(msg.ArmStatus, names.arm_status(WORLD), self._take_status,
                                 qos.LATCHED)
        self.create_subscription(msg.ArmStatus, names.arm_status(names.ARM_WATCHER),
                                 lambda status: setattr(self, 'watcher', status), qos.LATCHED)
        for topic in (names.HEARTBEAT, names.gate_heartbeat(WORLD)):
            self.create_subscription(msg.Heartbeat, topic, self._take_beat, qos.HEARTBEAT)
        self.create_subscription(msg.Heartbeat, names.PRESENCE, self._take_presence, qos.PRESENCE)
        self._beat_pub = self.create_publisher(msg.Heartbeat, names.HEARTBEAT, qos.HEARTBEAT)
        self._belief_pub = self.create_publisher(msg.Belief, names.AGENT_BELIEF, qos.EVENTS)
        service = names.setup_service(there)
        self._set_up = ServiceCaller(self, LoadProblem, service, service.rpartition('/')[0])
        self._truth = RosTruth(self, lambda: False, names.truth_service(WORLD, there), CALL_S)
        self._load = ServiceCaller(self, LoadProblem, names.load_problem(WORLD), WORLD)
        self._reset = ServiceCaller(self, ResetWorld, names.reset(WORLD), WORLD)
        self._view = ServiceCaller(self, GetView, names.get_view(WORLD), WORLD)
        self._stop = ServiceCaller(self, Trigger, names.stop(WORLD), WORLD)
        self._rearm = ServiceCaller(self, Trigger, names.rearm(WORLD), WORLD)
        self._confirm = ServiceCaller(self, Confirm, names.confirm(WORLD), WORLD)
        self._skill = ActionCaller(self, ExecuteSkill, names.EXECUTE_SKILL, WORLD)
        self._grasp = ActionCaller(self, GraspAt, names.GRASP_AT, WORLD)

    # What comes.

    def _take_joints(self, message: JointState) -> None:
        at_s = time.monotonic()
        names_here = tuple(message.name)
        if self._index is None or self._index[0] != names_here:
            wanted = self._robot.arm.joints
            if not set(wanted) <= set(names_here):
                return
            self._index = (names_here, [names_here.index(name) for name in wanted])
        order = self._index[1]
        self.samples.append(Sample(
            at_s, max(abs(message.velocity[i]) for i in order),
            tuple(message.position[i] for i in order)))

    def _take_command(self, data: bytes) -> None:
        self.commands.append(time.monotonic())

    def _take_info(self, data: bytes) -> None:
        self.pictures.append(time.monotonic())

    def _take_status(self, status: msg.ArmStatus) -> None:
        broken = (msg.ArmStatus.HOLDING, msg.ArmStatus.STOPPED)
        if status.state in broken and self.status.state not in broken and not self.expecting:
            self.breaks[status.cause] += 1
        if status.state in broken and status.cause not in self.causes:
            self.causes.append(status.cause)
        self.status = status

    def _take_beat(self, message: msg.Heartbeat) -> None:
        self.beats.setdefault(message.node, collections.deque(maxlen=_KEPT)).append(
            time.monotonic())

    def _take_presence(self, message: msg.Heartbeat) -> None:
        with self._hearing_lock:
            if message.header.stamp.sec or message.header.stamp.nanosec:
                self._hearing.note(message.node, message.hears)
            else:  # its last one
                self._hearing.forget(message.node)

    def lost(self) -> list[Lost]:
        """Pairs of nodes of which one has not heard the other for too long."""
        with self._hearing_lock:
            return self._hearing.lost()

    def speed(self) -> float:
        """Speed of the fastest joint now [rad/s]."""
        return self.samples[-1].speed if self.samples else 0.0

    def beat_age_s(self, node: str) -> float:
        """Seconds since a node's last heartbeat."""
        return time.monotonic() - (self.beats[node][-1] if node in self.beats else -math.inf)

    def measured_age_s(self) -> float:
        """Seconds since the last joint states."""
        return time.monotonic() - self.samples[-1].at_s if self.samples else math.inf

    def wait_for_beats(self, timeout_s: float) -> None:
        """Wait until all nodes beat that ever did.

        Raises:
            DeadlineError: one does not.
        """
        end = time.monotonic() + timeout_s
        while late := [node for node in self.beats if self.beat_age_s(node) > _BEAT_S]:
            if time.monotonic() > end:
                raise DeadlineError(f'no heartbeat of {", ".join(late)} within {timeout_s:g} s')
            time.sleep(0.01)

    # What is asked. Each call blocks; none may be made in the executor's thread.

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for arm and hardware.

        Raises:
            DeadlineError: one of them is not there in time.
        """
        for caller in (self._set_up, self._reset, self._stop, self._skill):
            caller.wait_until_there(timeout_s)

    def await_world(self, timeout_s: float) -> None:
        """Wait until the restarted arm_bridge knows this process and its stop.

        Raises:
            DeadlineError: it does not in time.
        """
        end = time.monotonic() + timeout_s
        if not introduce(self, WORLD, timeout_s):
            raise DeadlineError(f'{WORLD} does not answer within {timeout_s:g} s')
        while self.status.state != msg.ArmStatus.STOPPED:
            if time.monotonic() > end:
                raise DeadlineError(f'{WORLD} is not stopped within {timeout_s:g} s')
            time.sleep(0.01)

    @staticmethod
    def request(episode_id: str, problem: Problem, pddl: str) -> LoadProblem.Request:
        """A request that gives the whole problem."""
        return LoadProblem.Request(
            episode_id=episode_id, domain=problem.domain, problem=problem.name,
            domain_pddl=problem.domain_pddl, problem_pddl=pddl)

    def set_up(self, request: LoadProblem.Request) -> None:
        """Put the blocks where a problem has them, by magic."""
        raise_error(self._set_up(request, RESET_S), self._set_up.server)

    def state(self) -> State:
        """True state of the blocks."""
        return self._truth.state()

    def reset(self, request: LoadProblem.Request) -> None:
        """Load a problem, and reset the world."""
        raise_error(self._load(request, RESET_S), WORLD)
        raise_error(self._reset(ResetWorld.Request(episode_id=request.episode_id), RESET_S), WORLD)

    def stop(self) -> None:
        """Ask for a stop."""
        assert self._stop(Trigger.Request(), CALL_S).success

    def rearm(self) -> None:
        """End a stop by re-arming the gate."""
        reply = self._rearm(Trigger.Request(), CALL_S)
        if not reply.success:
            raise WorldError(f're-arming failed: {reply.message}')

    def execute(self, action: Action) -> Any:
        """Carry out an action.

        Raises:
            SightplanError: it was refused or broken off.
        """
        result = self._skill(ExecuteSkill.Goal(action=MESSAGES.action_to_msg(action)), SKILL_S)
        raise_error(result, WORLD)
        return result

    def begin(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in a thread of its own."""
        return self._pool.submit(call, *arguments)

    # Everything that might move the arm.

    def barrage(self, seconds: float, request: LoadProblem.Request, actions: Sequence[Action],
                ) -> int:
        """Try for some time everything in arm_bridge that might move the arm.

        Args:
            seconds: to go on [s].
            request: of an episode.
            actions: that make sense where the blocks are.

        Returns:
            number of attempts.

        Raises:
            AssertionError: arm_bridge offers something that is not tried here.
        """
        self._check_paths()
        by_name = ResetWorld.Request(episode_id=request.episode_id)

        def publish_belief() -> None:
            self._belief_pub.publish(msg.Belief(episode_id=request.episode_id))

        def publish_beats() -> None:
            for node in self.beats:
                self._beat_pub.publish(msg.Heartbeat(node=node))

        attempts: tuple[Callable[[], object], ...] = (
            lambda: self.execute(actions[self._count % len(actions)]),
            lambda: self._grasp.checked(_MIDDLE, CALL_S),
            lambda: self._grasp.checked(GraspAt.Goal(), CALL_S),  # put back
            lambda: self._load(request, CALL_S),
            lambda: self._reset(by_name, CALL_S),
            lambda: self._confirm(Confirm.Request(accept=True), CALL_S),
            lambda: self._view(GetView.Request(), CALL_S),
            publish_belief,
            publish_beats,
        )
        end, self._count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for attempt in attempts:
                self._count += 1
                with contextlib.suppress(SightplanError):  # as it should be
                    attempt()
        return self._count

    def _check_paths(self) -> None:
        """Check that arm_bridge offers no way to move the arm that the bench does not try."""
        services = {name for name, _ in self.get_service_names_and_types_by_node(WORLD, '/')}
        unknown = {name for name in services if not name.startswith(f'/{WORLD}/')} | {
            name for name in services if name.rpartition('/')[2] not in _TRIED}
        unknown -= {name for name in services
                    if {'execute_skill', 'grasp_at'} & set(name.split('/'))}
        unknown |= {name for name, kinds in self.get_subscriber_names_and_types_by_node(WORLD, '/')
                    if not set(kinds) & _HARMLESS}
        assert not unknown, f'{WORLD} takes {sorted(unknown)}, which the bench does not try'


_PARAMETERS = {'describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters',
               'set_parameters', 'set_parameters_atomically', 'get_type_description',
               'get_logger_levels', 'set_logger_levels'}
_MIDDLE = GraspAt.Goal(region=msg.Region(form=msg.Region.POINT, x=[0.5], y=[0.7]))
_TRIED = {'load_problem', 'reset', 'get_view', 'stop', 'rearm', 'confirm', 'status'} | _PARAMETERS
_HARMLESS = {f'sensor_msgs/msg/{kind}' for kind in ('JointState', 'Image', 'CameraInfo')} | {
    'sightplan_interfaces/msg/Heartbeat', 'sightplan_interfaces/msg/Belief',
    'sightplan_interfaces/msg/ArmStatus',
    'rcl_interfaces/msg/ParameterEvent', 'rosgraph_msgs/msg/Clock'}
"""Types of topics that are only measured, or are part of the barrage."""


class HeartbeatNode(Node):
    """Node that only sends heartbeats."""

    def __init__(self, name: str, needs: Sequence[str]) -> None:
        """Start the heartbeats.

        Args:
            name: of the node.
            needs: nodes that it says it needs.
        """
        super().__init__(name)
        self._heartbeats = Heartbeats(self, lambda: needs)

    def close(self) -> None:
        """Stop the heartbeats."""
        self._heartbeats.close()


if __name__ == '__main__':
    run_main(lambda: HeartbeatNode(sys.argv[1], sys.argv[2:]), [])
