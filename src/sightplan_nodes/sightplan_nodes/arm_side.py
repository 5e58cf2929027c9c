"""ROS interface of an arm, in every world that has one: safety gate, skills, grasping."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import NDArray
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState as JointStateMsg
from sightplan_interfaces import msg
from sightplan_interfaces.action import GraspAt
from sightplan_interfaces.srv import Confirm
from std_msgs.msg import ColorRGBA, String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from sightplan.model import (
    Action,
    Belief,
    Feedback,
    Form,
    InputError,
    Region,
    StoppedError,
    WorldError,
    param,
)
from sightplan.model.option_pairs import parse_options
from sightplan.model.region import LEAST_TO_ACT
from sightplan.records import messages
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.config import ROBOT_HASH, load_robot
from sightplan_arm.gate import Gate, GateSettings, GateState, GateStatus, PlannedMotion
from sightplan_arm.geometry import inverse
from sightplan_arm.guarantees import Guarantee, Observed, Rate, assess, lacking
from sightplan_arm.hardware import Arm, ArmStoppedError, Camera, JointState
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.link_frames import LinkFrames
from sightplan_arm.pace import Pace
from sightplan_arm.skills import SkillReport, SkillResult, Skills, load_skills
from sightplan_arm.skills.pointing import PointingSkills
from sightplan_arm.skills.pointing import make_skills as make_pointing_skills
from sightplan_arm.skills.report import DONE
from sightplan_nodes import names, qos
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.frames import CALIBRATED, TABLE, WORLD
from sightplan_nodes.heartbeats import Beat, PaceBeat
from sightplan_nodes.latch import Latch, latch_path
from sightplan_nodes.live_measures import LiveMeasures
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ros_arm import waited_s
from sightplan_nodes.work import Worker
from sightplan_nodes.world_node import WorldNode

TICK_S = 0.005
BEAT_TICKS = 2
"""Number of cycles of the gate's thread between two of its heartbeats."""
_LINKS_S = 0.05
"""Shortest time between two messages about the poses of an arm's links [s]."""
_NO_BELIEF = Belief(frozenset(), {})
AGENT_GONE_S = 3.0
"""Silence after which the agent counts as absent [s]."""
BEATS_COME_S = 15.0
"""Time that an action or reset waits for the first heartbeat of a node that was just started [s].

Nodes that answer calls may still be unknown to others: Fast DDS announces them every 3 s."""
GUARANTEES_S = 1.0
"""Period in which the guarantees are checked [s]."""
SLOW = 0.8
"""Ratio of simulated to wall-clock time below which slowness is logged."""
WATCHER_GONE_S = 1.0
"""Silence after which the watcher is not asked to re-arm [s]."""
REARM_S = 3.0
"""Limit for the watcher to re-arm [s]."""
CLOSE_S = 3.0
"""Limit for the skill under way to end when the node is closed [s]."""

HOW_TO_REARM = 'r in the operator console, or the service ~/rearm'
_OTHERS = ('the arm is commanded by others, through the topics of its controllers, and not by '
           'this node: stop it there (the ~/stop of the node that moves it), or press its '
           'emergency stop')


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """Parameters of a node that moves an arm, besides the gate's under ``gate.``."""

    robot: str = param('panda', 'Robot: a file of config/robots/ by its name, or a path')
    skill_options: str = param('', 'Settings of the skills: key=value,... or JSON')
    pointing_options: str = param('', 'Settings of the skills that take what is pointed at: '
                                  'key=value,... or JSON')
    required: str = param(names.AGENT, 'Nodes without whose heartbeats no skill moves the arm, '
                          'separated by commas (and what they need in turn); empty: none')
    latch_file: str = param('', 'File that keeps a stop until a person re-arms, also when the '
                            'node ends; empty: one per robot file and namespace in the state '
                            'folder of the user for a real arm, none for a simulated one; none: '
                            'no file')


class ArmSide:
    """An arm behind the names that all worlds with one have.

    A stop outlasts the node: it is kept in a file (``latch_file``), with which the next one begins
    stopped.

    Parameters: see ArmSettings and, under ``gate.``, the gate's GateSettings. Publishes
    ``~/status`` (ArmStatus, latched), ``~/heartbeat`` (Heartbeat, by the gate's own thread, for
    ``arm_watcher``), ``~/markers`` (MarkerArray, latched: workspace, planned way
    of the tip), ``joint_states`` and ``skill_report`` (SkillReport). Serves ``~/stop`` and
    ``~/rearm`` (Trigger), ``~/confirm`` (Confirm) and ``~/status`` (Trigger: its message says as
    JSON what is guaranteed now, and it succeeds if the arm may be armed), and the action
    ``grasp_at`` (GraspAt), for which no problem need be loaded. Listens to ``heartbeat``, to
    ``arm_watcher/status`` and, as what the agent expects, to ``agent/belief``.

    The gate is looked after every 5 ms by a thread of its own, whatever else the node does.
    """

    def __init__(self, node: WorldNode, hardware: str = '') -> None:
        """Create topics, services and actions; ``attach`` then names the arm that they move.

        Args:
            node: whose names they are.
            hardware: REAL or SIMULATED, behind drivers and beside a watcher; '': an arm in this
                process. Stops of a real one are kept in a file if ``latch_file`` does not say.

        Raises:
            InputError: a setting or the robot's file is wrong.
        """
        self._node, self._hardware = node, hardware
        self.settings = declare_settings(node, ArmSettings)
        self.gate_settings = declare_settings(node, GateSettings, prefix='gate.')
        self._required = [name.strip() for name in self.settings.required.split(',')
                          if name.strip()]
        self._skill_options = parse_options(self.settings.skill_options, 'skill_options')
        self.robot = load_robot(self.settings.robot)
        node.declare_parameter(ROBOT_HASH, self.robot.sha256, ParameterDescriptor(
            description="Hash of the robot's file and URDF", read_only=True),
            ignore_override=True)
        self._pointing_options = parse_options(self.settings.pointing_options,
                                               'pointing_options')
        self._gate: Gate | None = None
        self._skills: Skills | None = None
        self._pointing: PointingSkills | None = None
        self._wait_for_hardware: Callable[[], None] = _ready
        self._episode_id = ''
        self._agent_heard_s = -math.inf
        self._stop_asked = ''
        self._belief_lock = threading.Lock()
        self._latch: Latch | None = None
        self._acting, self._leaving, self._detached = False, False, False
        self._others_stop: Callable[[], None] = _ready
        self._others_rearm: Callable[[], None] = _ready
        self._acts = threading.Condition()  # guards the three, and what the gate requires
        self._closing, self._showing = threading.Event(), threading.Lock()
        name = node.get_name()
        self._status_pub = node.create_publisher(msg.ArmStatus, names.arm_status(name),
                                                 qos.LATCHED)
        self._marker_pub = node.create_publisher(MarkerArray, names.markers(name), qos.LATCHED)
        self.joints_pub = node.create_publisher(JointStateMsg, names.JOINT_STATES, qos.SENSOR)
        self._described_pub = (None if hardware == names.REAL else node.create_publisher(
            String, names.ROBOT_DESCRIPTION, qos.LATCHED))
        self._links: LinkFrames | None = None
        self._links_shown_s = -math.inf
        self._report_pub = node.create_publisher(msg.SkillReport, names.SKILL_REPORT, qos.EVENTS)
        self._beat_pub = Beat(node, names.gate_heartbeat(name))
        for kind, service, callback in ((Trigger, names.stop(name), self._stop),
                                        (Trigger, names.rearm(name), self._rearm),
                                        (Confirm, names.confirm(name), self._confirm)):
            node.create_service(kind, service, self._answering(callback),
                                callback_group=node.group)
        self.measures = LiveMeasures(node, self.robot, hardware) if hardware else None
        self._watchers = ([names.ARM_WATCHER] if hardware and not self.gate_settings.dry_run
                          and 'watcher' in self.robot.safety.required else [])
        self._ticks = Rate()
        self._pace: Pace | None = None
        self._pace_beat: PaceBeat | None = None
        self._clock: Callable[[], float] = time.monotonic
        self._unreachable: Callable[[], str] | None = None
        self._lacking: list[Guarantee] = []
        self._assessed: tuple[Guarantee, ...] = ()
        self._guarantees_said = ''
        self._guarantees_pub = node.create_publisher(String, names.guarantees(name), qos.LATCHED)
        node.create_service(Trigger, names.arm_status(name), self._tell_guarantees,
                            callback_group=node.group)
        node.create_timer(GUARANTEES_S, self._show_guarantees, callback_group=node.group,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._watcher: msg.ArmStatus | None = None
        self._errands = Worker(node, f'{name} errands')
        self._rearm_watcher = ServiceCaller(node, Trigger, names.rearm(names.ARM_WATCHER),
                                            names.ARM_WATCHER, repeatable=True)
        node.create_subscription(msg.ArmStatus, names.arm_status(names.ARM_WATCHER),
                                 self._hear_watcher, qos.LATCHED, callback_group=node.group)
        node.offer(GraspAt, names.GRASP_AT, self._grasp_at,
                   lambda goal: f'to grasp {goal.label or "what is pointed at"}')
        node.create_subscription(msg.Heartbeat, names.HEARTBEAT, self._beat, qos.HEARTBEAT,
                                 callback_group=node.group)
        node.create_subscription(msg.Belief, names.AGENT_BELIEF, self._believe, qos.NEWEST,
                                 callback_group=node.group)
        self._watchdog = threading.Thread(target=self._watch, name='watchdog of the arm',
                                          daemon=True)

    def attach(self, domain: str, arm: Arm, camera: Camera,
               image_age_s: Callable[[], float] | None,
               wait_for_hardware: Callable[[], None] | None = None,
               unreachable: Callable[[], str] | None = None,
               pace: Pace | None = None,
               camera_frame: str = CALIBRATED,
               camera_covariance: NDArray[np.float64] | None = None) -> tuple[Gate, Skills]:
        """Set the arm that is moved, and begin to watch its guarantees.

        Args:
            domain: whose actions are carried out.
            arm: only the gate commands it.
            camera: what looks.
            image_age_s: see Gate.
            wait_for_hardware: waits until there are joint states and pictures; None: there are.
            unreachable: why braking would not get to the controller ('': it would); None: it
                always does.
            pace: in whose simulated time heartbeats and other ages are counted, and which is told
                of heartbeats; None: in the wall's.
            camera_frame: optical frame that is published at the pose that the robot's file has.
            camera_covariance: (6, 6) of that pose; None: as the robot's file has it.

        Raises:
            InputError: no skills for this domain are installed, or a setting is wrong.
        """
        latch, robot = self._make_latch(), self.robot
        kinematics = Kinematics(robot)
        if pace is not None:
            self._keep_pace(pace)
        gate = Gate(arm, robot, kinematics, self.gate_settings, image_age_s=image_age_s,
                    clock=self._clock, wall=time.monotonic)
        skills = load_skills(domain, robot, arm, camera, gate, kinematics, **self._skill_options)
        self._skills = skills
        self._pointing = make_pointing_skills(robot, arm, camera, gate, kinematics,
                                              **self._pointing_options)
        self._wait_for_hardware, self._unreachable = wait_for_hardware or _ready, unreachable
        gate.on_status(self._show_status)
        gate.on_plan(self._show_plan)
        self._marker_pub.publish(MarkerArray(markers=[self._box()]))
        self._show_frames(camera_frame, camera_covariance)
        if latch is not None:
            latch.restore(gate)
        self._gate, self._latch = gate, latch
        gate.on_status(lambda status: self._keep())
        if self._stop_asked:
            gate.stop('stop_request', self._stop_asked)
            self._keep()
        if self._watcher is not None:
            self._hear_watcher(self._watcher)
        if not self._watchdog.is_alive():
            self._watchdog.start()
        return gate, skills

    def detach(self, stop: Callable[[], None], rearm: Callable[[], None]) -> None:
        """Leave the arm to others; a skill of our own is broken off.

        Args:
            stop: what ``~/stop`` does from now on.
            rearm: what ``~/rearm`` does.
        """
        self._others_stop, self._others_rearm = stop, rearm
        self._detached = True
        self.cancelled('others command the arm')
        with self._acts:
            self._acts.wait_for(lambda: not self._acting, CLOSE_S)
        self._closing.set()
        if self._gate is not None:
            self._gate.close()
        self._gate = self._skills = self._pointing = None

    def close(self) -> None:
        """Hold the arm, let nothing move any more, and let go of it.

        Also when no motion is under way: between two motions of a skill the next one is refused.
        The arm is looked after until the skill under way has ended; one that does not in time is
        left to end with the process.
        """
        gate = self._gate
        with self._acts:
            self._leaving = True
            if gate is not None:
                gate.require([self._ending()])
        if gate is not None:
            gate.hold('cancelled', f'{self._node.get_name()} was stopped')
            with self._acts:
                if not self._acts.wait_for(lambda: not self._acting, CLOSE_S):
                    return
            self._show_newest(gate)  # else the watcher would take a motion to be under way
        self._closing.set()
        self._errands.close(0.1)
        if self._watchdog.is_alive():
            self._watchdog.join(1.0)
        if gate is not None:
            gate.close()
            self._keep()

    # What the node does with it, in its worker's thread.

    def reset(self, episode_id: str, begin: Callable[[], None]) -> None:
        """Begin an episode.

        Args:
            episode_id: of the episode.
            begin: resets the skills, which parks the arm.

        Raises:
            StoppedError: the arm was stopped, and nobody has re-armed it.
            CancelledError: nobody waits for the reset any more.
            WorldError: something is not ready; says what.
        """
        self.check_not_stopped()
        self._await_guarantees()
        with self._belief_lock:  # one of the old episode is taken before, or not at all
            self._episode_id = episode_id
        with self._moving(self._required if self._node.by_agent else []):
            self._node.check_cancelled()
            if self._pointing is not None:
                self._pointing.forget()
            begin()

    def let_go(self) -> None:
        """Let others move the arm until the next reset.

        Raises:
            StoppedError: the arm was stopped, and nobody has re-armed it.
            WorldError: it does not come to rest.
        """
        gate, _ = self._there()
        with _in_core_words():
            gate.end_episode()

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the state of the gate and the guarantees of a second ago; see ``Diagnosis``."""
        gate = self._gate
        status = None if gate is None else gate.status()
        diagnosis.note(robot=self.robot.name, hardware=self._hardware or 'in process',
                       gate=None if status is None else status.state.name,
                       **{f'guarantee_{one.name}': one.holds for one in self._assessed})
        if status is not None and status.state is GateState.STOPPED:
            diagnosis.error(f'the arm is stopped ({status.cause}): {status.message}; re-arm it: '
                            f'{HOW_TO_REARM}')
        elif status is not None and status.state is GateState.HOLDING:
            diagnosis.warn(f'the arm holds ({status.cause}): {status.message}')
        diagnosis.distrust(() if gate is None else gate.distrusted())
        for one in self._lacking:
            diagnosis.error(f'guarantee {one.name} does not hold: {one.said} (remedy: '
                            f'{one.remedy})')

    def is_ready(self) -> bool:
        """Whether an episode was begun, and nothing has stopped or held the arm since."""
        return self._gate is not None and self._gate.status().state is GateState.ARMED

    def check_not_stopped(self) -> None:
        """Raise StoppedError if the arm was stopped, and nobody has re-armed it."""
        gate, _ = self._there()
        status = gate.status()
        if status.state is GateState.STOPPED:
            raise StoppedError(
                f'the arm was stopped ({status.cause}: {status.message}) and stays so until a '
                f'person has seen to it and re-arms it ({HOW_TO_REARM}), also when the graph is '
                'started anew')

    def execute(self, action: Action, carry_out: Callable[[Action], Feedback]) -> Feedback:
        """Carry out an action.

        Args:
            action: the action.
            carry_out: lets the skills do it.

        Raises:
            StoppedError: the arm was stopped, and only a person can re-arm it.
            CancelledError: the action was cancelled before it began.
            WorldError: no episode has begun, or the motion was refused or broken off.
        """
        _, skills = self._there()
        if self.is_ready():  # else the gate says why nothing moves
            self._await_guarantees()
        before = len(skills.reports)
        try:
            with self._moving(self._required):
                self._node.check_cancelled()  # who cancels from now on holds the arm
                return carry_out(action)
        finally:
            for report in skills.reports[before:]:
                self._report_pub.publish(self._report_to_msg(report))

    def _grasp_at(self, goal: GraspAt.Goal) -> Callable[[GraspAt.Result], None]:
        """Take what is pointed at, follow a trace, put back, or clear the camera's view.

        The contract is in ``WorldNode.offer``.

        After a hold it goes on without a reset, and what the hand holds stays in it. Nodes in
        ``required`` but the agent must be alive; whoever asks may be a shell.

        Raises:
            InputError: the region cannot be read.
            StoppedError: the arm was stopped, and only a person can re-arm it.
            CancelledError: the goal was cancelled before it began.
            WorldError: there is no arm, an agent may act with it, or the motion was refused or
                broken off.
        """
        region = _region_of(goal)
        self.check_not_stopped()
        self._there()
        pointing = self._pointing
        if pointing is None:
            raise WorldError(_OTHERS)
        if time.monotonic() - self._agent_heard_s < AGENT_GONE_S:
            raise WorldError(f'the node {names.AGENT} is there, and may move the arm in an '
                             'episode: end its graph, and use that of "sightplan up grasp"')
        self._wait_for_hardware()
        self._await_guarantees()
        try:
            with self._moving([name for name in self._required if name != names.AGENT]):
                self._node.check_cancelled()  # who cancels from now on holds the arm
                if not self.is_ready():
                    pointing.recover()
                was_parked = pointing.is_parked()
                report = _act(pointing, region, goal).report
        finally:
            for one in pointing.reports:
                self._report_pub.publish(self._report_to_msg(one))
            pointing.reports = []
        show = self._node.moved()

        def fill(result: GraspAt.Result) -> None:
            result.cause, result.message = report.cause, messages.text(report.message)
            result.moved = goal.clear_view and report.cause == DONE and not was_parked
            result.stamp = MESSAGES.time_to_msg(show())
        return fill

    def cancelled(self, why: str) -> None:
        """Hold the arm, because the client of the action or reset has cancelled it."""
        if self._gate is not None and self._acting:
            self._gate.hold('cancelled', why)

    def publish_joints(self, state: JointState) -> None:
        """Publish a measurement of all joints."""
        arm, gripper = self.robot.arm, self.robot.gripper
        finger = gripper.joint_at(state.opening_m)
        n = len(gripper.joints)
        self.joints_pub.publish(JointStateMsg(
            header=MESSAGES.header(round(state.stamp_s * 1e9),
                                   self._node.frames.named(self.robot.base_frame)),
            name=[*arm.joints, *gripper.joints],
            position=[*map(float, state.positions), *[finger] * n],
            velocity=[*map(float, state.velocities), *[0.0] * n]))

        self._show_links(state, {
            **dict(zip(arm.joints, state.positions.tolist(), strict=True)),
            **dict.fromkeys(gripper.joints, finger)})

    # Inside.

    def _show_frames(self, camera_frame: str,
                     camera_covariance: NDArray[np.float64] | None) -> None:
        """Publish where table and camera are by the robot's file, and a simulated arm's URDF.

        Links and URDF of a real arm are left to its drivers, and frames of simulated hardware to
        its node.
        """
        robot, frames = self.robot, self._node.frames
        if self._described_pub is not None:
            self._described_pub.publish(String(data=robot.urdf.read_text('utf-8')))
        frames.show_camera(0, TABLE, CameraPose(
            robot.camera.pose, robot.camera.pose_covariance if camera_covariance is None
            else camera_covariance))
        if self._hardware == names.SIMULATED:
            return
        fixed = {TABLE: (robot.base_frame, robot.table.pose),
                 camera_frame: (TABLE, robot.camera.pose)}
        if not self._hardware:
            self._links = LinkFrames(robot)
            if self._links.root != WORLD:
                fixed[self._links.root] = (WORLD, inverse(self._links.base @ robot.table.pose))
        frames.fix(fixed)

    def _show_links(self, state: JointState, positions: Mapping[str, float]) -> None:
        """Publish the poses of a simulated arm's links, some times a second."""
        if (self._links is not None and self._node.frames.heard
                and state.stamp_s >= self._links_shown_s + _LINKS_S):
            self._links_shown_s = state.stamp_s
            self._node.frames.move(round(state.stamp_s * 1e9), self._links.poses(positions))

    def _keep_pace(self, pace: Pace) -> None:
        """Count in simulated time that waits for late nodes."""
        self._pace, self._clock = pace, pace.now_s
        if self.measures is not None:
            self.measures.keep_pace(pace)
            self._pace_beat = PaceBeat(self._node, pace)

    def _there(self) -> tuple[Gate, Skills]:
        if self._gate is None or self._skills is None:
            raise WorldError(_OTHERS if self._detached else
                             'there is no arm yet: the first problem makes it')
        return self._gate, self._skills

    @contextmanager
    def _moving(self, required: Sequence[str]) -> Iterator[None]:
        """Let skills move the arm; what the gate refuses becomes an error of the core's.

        Args:
            required: nodes that must stay alive, with what they need.
        """
        gate, _ = self._there()
        with self._acts:
            if self._leaving:
                raise WorldError(f'{self._node.get_name()} was stopped')
            gate.require([*required, *self._watchers])
            self._acting = True
        try:
            self._await_first_beats(gate)
            with _in_core_words():
                yield
        finally:
            with self._acts:
                self._acting = False
                gate.require([self._ending()] if self._leaving else [])
                self._acts.notify_all()

    def _await_guarantees(self) -> None:
        """Wait a short time until nodes that were just started fulfil the required guarantees.

        Raises:
            CancelledError: nobody waits any more.
            StoppedError: the watcher stopped the arm.
            WorldError: a required guarantee does not hold; names it, the measurement, the remedy.
        """
        end_s = time.monotonic() + BEATS_COME_S
        while missing := self._missing():
            self.check_not_stopped()
            if time.monotonic() >= end_s or self._leaving:
                raise WorldError('the arm is not armed: ' + '; '.join(
                    f'guarantee {one.name} does not hold: {one.said} (remedy: {one.remedy})'
                    for one in missing) + f'; safety.required of {self.robot.file} asks for it')
            self._node.check_cancelled()
            time.sleep(0.05)

    def _missing(self) -> list[Guarantee]:
        """Required guarantees that do not hold; none where nothing is moved through drivers."""
        return self._of_concern(self._guarantees()) if self._hardware else []

    def _of_concern(self, guarantees: Sequence[Guarantee]) -> list[Guarantee]:
        if self.gate_settings.dry_run or not self._hardware:
            return []
        return lacking(guarantees)

    def _guarantees(self) -> tuple[Guarantee, ...]:
        """All guarantees, as measured now."""
        gate, around, now_s = self._gate, self.measures, self._clock()
        more: dict[str, Any] = {}
        if gate is not None:
            more = {'gate': self._ticks.measured(now_s), 'dry_run': self.gate_settings.dry_run,
                    'checks': gate.checks()}
        if around is None:
            return assess(self.robot, Observed(
                command_limits_said='the simulated arm has no controller_manager', **more))
        around.watcher = self._watcher
        stop = self._unreachable() if self._unreachable is not None else ''
        return assess(self.robot, around.observed(
            [*self._required, *self._watchers] if self._acting else self._watchers, stop, **more))

    def _await_first_beats(self, gate: Gate) -> None:
        """Give nodes that were never heard some time; what fell silent is not waited for."""
        end_s = time.monotonic() + BEATS_COME_S
        while gate.unheard() and time.monotonic() < end_s and not self._leaving:
            self._node.check_cancelled()
            time.sleep(TICK_S)

    def _ending(self) -> str:
        """Somebody whose heartbeat never comes: needed by all motions once the node closes."""
        return f'{self._node.get_name()}: it was stopped'

    def _watch(self) -> None:
        looks = 0
        while not self._closing.wait(TICK_S):
            gate, looks = self._gate, looks + 1
            if gate is None:
                return
            try:
                gate.tick()
                self._ticks.note(self._clock())
                if looks % BEAT_TICKS == 0:
                    with contextlib.suppress(Exception):  # ROS shuts down: to others it is dead
                        self._beat_pub.publish()
                        if self._pace_beat is not None:
                            self._pace_beat.publish()
            except Exception as error:  # a watchdog that ends would leave the arm alone
                try:
                    gate.stop('stop_request', f'the watchdog failed: {type(error).__name__}')
                except Exception as second:
                    self._node.get_logger().fatal(
                        f'the arm cannot be stopped: {error_text(second)}',
                        throttle_duration_sec=1.0)
                self._node.get_logger().fatal(
                    f'the watchdog of the arm failed: {error_text(error)}',
                    throttle_duration_sec=1.0)

    def _make_latch(self) -> Latch | None:
        path = latch_path(self.settings.latch_file, self._hardware == names.REAL,
                          self.robot.file, self._node.get_namespace())
        return None if path is None else Latch(
            path, lambda text: self._node.get_logger().fatal(messages.text(text)))

    def _keep(self) -> None:
        """Keep a stop, and say so if that cannot be done; it is tried again every second."""
        latch, gate = self._latch, self._gate
        if latch is None:
            return
        before = latch.unkept
        latch.follow()
        if latch.unkept != before and gate is not None:
            self._show_newest(gate)

    def _answering(self, callback: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        """A service's callback that answers whatever goes wrong.

        Args:
            callback: sees to a request and returns what to say, or awaits it; or raises what to
                say instead.
        """
        async def answer(request: Any, response: Any) -> Any:
            try:
                said = callback(request)
                response.message = said if isinstance(said, str) else await said
                response.success = True
            except Exception as error:
                response.message = error_text(error)
                if not isinstance(error, WorldError | InputError):
                    self._node.get_logger().error(response.message, throttle_duration_sec=1.0)
            return response
        return answer

    def _stop(self, request: Trigger.Request) -> str:
        if self._detached:
            self._others_stop()
            self._node.get_logger().warning('the hardware was stopped on request')
            return 'the hardware was stopped; ~/rearm ends it'
        self._stop_asked = 'a stop was asked for'  # first: an arm that is made now sees it
        gate = self._gate
        if gate is not None:
            gate.stop('stop_request', self._stop_asked)
            self._keep()
            self._stop_asked = ''
        self._node.get_logger().warning('stopped on request')
        return 'stopped; ~/rearm ends it'

    async def _rearm(self, request: Trigger.Request) -> str:
        if self._detached:
            self._others_rearm()
            return 'the hardware follows commands again'
        gate, _ = self._there()
        stops, state = gate.stops, gate.status().state
        if state is not GateState.STOPPED:
            raise WorldError(f'nothing to re-arm: the arm is {state.name}, not stopped')
        said = 're-armed'
        if (self.measures is not None
                and self.measures.seen_of_watcher().age_s < WATCHER_GONE_S):
            reply = await self._errands.call(
                lambda: self._rearm_watcher(Trigger.Request(), REARM_S))
            if not reply.success:
                raise WorldError(reply.message)
            said = reply.message
        gate.rearm('operator', since=stops)
        self._keep()
        self._node.get_logger().warning('re-armed')
        return f'{said}; the next reset begins an episode'

    def _hear_watcher(self, status: msg.ArmStatus) -> None:
        """Hold or stop, too, where the watcher has braked or stopped the arm."""
        before, self._watcher, gate = self._watcher, status, self._gate
        if status.cause == 'gate_late' and gate is not None:
            gate.hold('gate_late', status.message)
        if status.state == msg.ArmStatus.STOPPED and gate is not None:
            repeated = (before is not None and before is not status
                        and (before.state, before.message) == (status.state, status.message))
            if not repeated or gate.status().state is not GateState.STOPPED:
                gate.stop('watcher', status.message)
                self._keep()

    def _confirm(self, request: Confirm.Request) -> str:
        gate, _ = self._there()
        gate.confirm(request.motion, request.accept)
        return ''

    def _beat(self, message: msg.Heartbeat, info: Mapping[str, int]) -> None:
        if message.node == names.AGENT:
            self._agent_heard_s = time.monotonic()
        if self._pace is None:
            self._take_beat(message, waited_s(info))
        else:
            self._pace.heard(message.node, self.robot.safety.heartbeat_timeout_s,
                             lambda: self._take_beat(message))

    def _take_beat(self, message: msg.Heartbeat, age_s: float = 0.0) -> None:
        if self.measures is not None:
            self.measures.note_beat(message)
        if self._gate is not None:
            self._gate.beat(message.node, message.needs, age_s)

    def _believe(self, message: msg.Belief) -> None:
        """Take what the agent expects; one that cannot be read leaves nothing expected."""
        with self._belief_lock:
            if self._skills is None or message.episode_id != self._episode_id:
                return
            try:
                belief = messages.belief_from_msg(message)
            except Exception:
                self._skills.expect(_NO_BELIEF)
                raise
            self._skills.expect(belief)

    # Messages.

    def _header(self) -> Any:
        return MESSAGES.header(self._node.get_clock().now().nanoseconds)

    def _show_status(self, status: GateStatus) -> None:
        with self._showing:
            self._publish_status(status)

    def _show_newest(self, gate: Gate) -> None:
        with self._showing:  # what is older than what was shown is not shown
            self._publish_status(gate.status())

    def _publish_status(self, status: GateStatus) -> None:
        if self._closing.is_set():
            return
        self._status_pub.publish(msg.ArmStatus(
            header=self._header(), state=int(status.state), cause=status.cause,
            message=messages.text(status.message), moving=status.moving,
            dry_run=status.dry_run, ready=status.ready and not self._lacking,
            waiting_for=[messages.text(what) for what in (
                *status.waiting_for,
                *(f'the guarantee {one.name}: {one.said}' for one in self._lacking),
                *([self._latch.unkept] if self._latch and self._latch.unkept else []))],
            pending=status.pending, pending_text=messages.text(status.pending_text)))

    def _show_guarantees(self) -> None:
        """Publish the guarantees that hold and those that are missing, when they have changed."""
        if self._closing.is_set():
            return
        self._keep()
        guarantees, gate = self._guarantees(), self._gate
        self._assessed = guarantees
        missing = self._of_concern(guarantees)
        changed = [one.name for one in missing] != [one.name for one in self._lacking]
        self._lacking = missing
        if changed and gate is not None:
            self._show_newest(gate)
        if self._pace_beat is not None:
            self._tell_pace(guarantees)
        said = json.dumps([(one.name, one.holds, one.required) for one in guarantees])
        if said != self._guarantees_said:
            self._guarantees_said = said
            self._guarantees_pub.publish(String(data=messages.text(
                json.dumps(self._describe(guarantees)))))

    def _tell_pace(self, guarantees: Sequence[Guarantee]) -> None:
        """Log from time to time that simulated time is slow."""
        speed = next(one.measured.get('speed') for one in guarantees if one.name == 'clock')
        if speed is not None and 0.0 <= speed < SLOW:  # below 0: the hardware was started anew
            self._node.get_logger().info(
                f'simulated time goes {speed:.2f} s per second: this computer is busy',
                throttle_duration_sec=10.0)

    def _describe(self, guarantees: Sequence[Guarantee]) -> dict[str, Any]:
        """Return the state of gate, arm and guarantees as plain JSON data."""
        gate = self._gate
        status = None if gate is None else gate.status()
        return {'node': self._node.get_name(), 'robot': self.robot.name,
                'hardware': self._hardware or 'in process',
                'state': None if status is None else status.state.name,
                'cause': '' if status is None else status.cause,
                'message': '' if status is None else status.message,
                'confirm': self.gate_settings.confirm,
                'velocities_distrusted': [] if gate is None else list(gate.distrusted()),
                'may_be_armed': not self._of_concern(guarantees),
                'guarantees': [one.to_json() for one in guarantees],
                'text': '\n'.join(map(str, guarantees))}

    def _tell_guarantees(self, request: Trigger.Request, response: Trigger.Response,
                         ) -> Trigger.Response:
        described = self._describe(self._guarantees())
        response.success = described['may_be_armed']
        response.message = messages.text(json.dumps(described))
        return response

    def _report_to_msg(self, report: SkillReport) -> msg.SkillReport:
        return msg.SkillReport(
            header=self._header(), episode_id=self._episode_id,
            action=MESSAGES.action_to_msg(report.action), cause=report.cause,
            message=messages.text(report.message), phases=list(report.phases),
            seconds=list(report.seconds), cpu_seconds=list(report.cpu_seconds))

    def _show_plan(self, plan: PlannedMotion) -> None:
        marker = self._marker('plan', Marker.LINE_STRIP, (0.1, 0.8, 0.2))
        marker.scale.x = 0.004
        marker.points = [_point(place) for place in plan.path_m]
        marker.text = messages.text(plan.what)
        self._marker_pub.publish(MarkerArray(markers=[self._box(), marker]))

    def _box(self) -> Marker:
        safety = self.robot.safety
        low, high = safety.box_min_m, safety.box_max_m
        marker = self._marker('workspace', Marker.CUBE, (0.2, 0.4, 0.9), 0.15)
        middle, size = (low + high) / 2, high - low
        marker.pose.position = _point(middle)
        marker.scale.x, marker.scale.y, marker.scale.z = map(float, size)
        return marker

    def _marker(self, namespace: str, kind: int, colour: tuple[float, float, float],
                opacity: float = 1.0) -> Marker:
        marker = Marker(header=self._header(), ns=namespace, type=kind, action=Marker.ADD)
        marker.header.frame_id = self._node.frames.named(TABLE)
        marker.pose.orientation.w = 1.0
        red, green, blue = colour
        marker.color = ColorRGBA(r=red, g=green, b=blue, a=opacity)
        return marker


@contextmanager
def _in_core_words() -> Iterator[None]:
    """Raise what the gate refuses as the core's errors."""
    try:
        yield
    except ArmStoppedError as error:
        kind = StoppedError if error.latched else WorldError
        raise kind(f'{error} ({error.cause})') from error


def _ready() -> None:
    """Return at once, since there is nothing to wait for."""


def _region_of(goal: GraspAt.Goal) -> Region | None:
    """The region of a goal; None: what is held is to be put back, or the view to be cleared.

    Raises:
        InputError: it cannot be read.
    """
    if goal.region.form:
        if goal.clear_view:
            raise InputError('clear_view: nothing is grasped then; leave the region out')
        return messages.region_from_msg(goal.region)
    if goal.region.x or goal.region.y:
        raise InputError('region: it has points, but form 0, which means to put back; set the '
                         'form')
    return None


def _too_improbable(goal: GraspAt.Goal) -> str:
    """Say why a model that found the place was not sure enough to move the arm; '' if it was.

    A probability of 0 or NaN was left out: the client vouches for the place, or for existence.
    """
    for what, chance in (('it exists', goal.present),
                         ('it exists and is at this place', goal.region.probability)):
        if 0.0 < chance < LEAST_TO_ACT:
            return (f'the probability that {what} is {chance:.3g}, and {LEAST_TO_ACT:g} is needed '
                    'to move the arm; if you have seen that it is right, give none (NaN)')
    return ''


def _act(pointing: PointingSkills, region: Region | None, goal: GraspAt.Goal) -> SkillResult:
    """Carry out what a goal asks for."""
    if goal.clear_view:
        return pointing.clear_view()
    if region is None:
        return pointing.put_back()
    if why := _too_improbable(goal):
        return pointing.refuse(goal.label, why)
    if region.form is Form.TRACE:
        return pointing.follow(region, goal.label)
    return pointing.grasp_at(region, goal.label, goal.part)


def _point(place: Any) -> Point:
    x, y, z = np.asarray(place, dtype=float)
    return Point(x=float(x), y=float(y), z=float(z))
