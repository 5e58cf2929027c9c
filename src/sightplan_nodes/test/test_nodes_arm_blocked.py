"""An arm behind simulated hardware, stopped while something keeps it in place: it stays there.

Messages go from one to the other without a graph, in simulated time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState as JointStateMsg
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg
from trajectory_msgs.msg import JointTrajectoryPoint

from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate, GateSettings, GateState
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import joint_line, timed
from sightplan_nodes.arm_side import ArmSide
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.ros_arm import ACTION, RosArm
from sightplan_nodes.simulated_hardware import SimulatedHardware
from sightplan_sim.arm.controller import TrajectoryController
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import SimulatedArm
from test_nodes_arm_ros import control  # noqa: F401

ROBOT = load_robot('panda')
BY_ACTION = dataclasses.replace(ROBOT, arm=dataclasses.replace(ROBOT.arm, interface=ACTION))
TOPIC, GOALS, SET_POINTS = 'topic', 'action', 'set points'
PHASES = np.linspace(0.05, 0.85, 20)
FREED_AFTER_S = np.random.default_rng(2).permutation(np.geomspace(0.2, 10.0, 20))
CASES = [(TOPIC, *case) for case in zip(PHASES, FREED_AFTER_S, strict=True)]
CASES += [(by, *case[1:]) for by in (GOALS, SET_POINTS) for case in CASES[1:20:3]]
STEP_S = 0.02
NEAR_RAD = 1e-4


class HardwareArm(RosArm):
    """The arm of ``arm_bridge`` before simulated hardware; joint states come as time passes.

    Attributes:
        kept_at: where something keeps the joints; None: nothing does.
        reported: what the driver makes of the velocities that it reports.
    """

    def __init__(self, node: Node, hardware: SimulatedHardware, by: str) -> None:
        super().__init__(node, BY_ACTION if by == GOALS else ROBOT)
        self._hardware, self.sim = hardware, hardware._world.arm
        self.clock = self.sim.now_s
        self.kept_at: np.ndarray | None = None
        self.reported = lambda velocities: velocities
        self._controller_of_set_points = (
            TrajectoryController(self.sim.state().positions) if by == SET_POINTS else None)
        if by == GOALS:
            self._trajectories._client.send_goal_async = self._take_goal
        else:
            self._trajectories = SimpleNamespace(send=self._take_trajectory, missing=lambda: '')
        self.sim._after_step.append(self._keep)
        self._measured()

    def now_s(self) -> float:
        return self.sim.now_s()

    def wait(self, seconds: float) -> None:
        self.sim.wait(seconds)
        if self._controller_of_set_points is not None:
            at, _ = self._controller_of_set_points.desired(self.sim.now_s())
            self._hardware._servo(JointStateMsg(name=list(ROBOT.arm.joints),
                                                position=at.tolist()))
        self._measured()

    def _measured(self) -> None:
        state = self.sim.state()
        ArmSide.publish_joints(
            SimpleNamespace(robot=ROBOT, joints_pub=SimpleNamespace(publish=self._take),
                            _node=SimpleNamespace(frames=SimpleNamespace(named=str)),
                            _show_links=lambda state, positions: None),
            dataclasses.replace(state, velocities=self.reported(state.velocities)))

    def _keep(self) -> None:
        if self.kept_at is not None:
            for joint, value in zip(self.sim._arm_joints, self.kept_at, strict=True):
                self.sim._bullet.resetJointState(self.sim._body, joint, float(value), 0.0)
            self.sim._measure()

    def _take_goal(self, goal: object) -> SimpleNamespace:
        self._hardware._follow(goal.trajectory)
        return SimpleNamespace(add_done_callback=lambda callback: None)

    def _take_trajectory(self, message: JointTrajectoryMsg, force_n: float = 0.0) -> None:
        if self._controller_of_set_points is None:
            self._hardware._follow(message)
            return
        taken = SimpleNamespace(command=lambda trajectory: self._controller_of_set_points.start(
            trajectory, self.sim.now_s(), *self._controller_of_set_points.desired(
                self.sim.now_s())))
        hardware = SimpleNamespace(
            _world=SimpleNamespace(robot=ROBOT, arm=taken), _taken={},
            _check_not_stopped=lambda: None,
            _commanding=self._hardware._commanding, _refuse=self._hardware._refuse,
            _topics=self._hardware._topics)
        SimulatedHardware._follow(hardware, message)


@pytest.fixture(scope='module')
def simulated() -> Iterator[SimulatedArm]:
    with SimulatedArm(ROBOT, HardwareSettings(), block_m=0.05, table_y_m=(-0.5, 0.5)) as arm:
        yield arm


@pytest.fixture
def make(simulated, control):  # noqa: F811
    """Makes an arm before hardware that is commanded in one of three ways, and its gate."""
    made = []

    def make(by: str) -> tuple[HardwareArm, Gate]:
        node = Node('sim_bridge')
        node.group = ReentrantCallbackGroup()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.create_task = lambda task: task()
        simulated.reset({})
        simulated.wait(0.5)
        world = SimpleNamespace(robot=ROBOT, arm=simulated, skills=None)
        side = SimpleNamespace(publish_joints=lambda state: None)
        hardware = SimulatedHardware(node, world, side, 10.0, lambda: 0, lambda *seen: None)
        arm = HardwareArm(node, hardware, by)
        made.append((arm, hardware, executor))
        gate = Gate(arm, ROBOT, Kinematics(ROBOT), GateSettings(period_s=STEP_S),
                    clock=simulated.now_s)
        gate.new_episode()
        return arm, gate
    yield make
    for arm, hardware, executor in made:
        simulated._after_step.remove(arm._keep)
        hardware.close()
        executor.shutdown()


def pass_time(arm: HardwareArm, gate: Gate, seconds: float) -> None:
    for _ in range(round(seconds / STEP_S)):
        arm.wait(STEP_S)
        gate.tick()


def stopped_at(arm: HardwareArm, gate: Gate, phase: float) -> np.ndarray:
    """Begin a motion and keep the arm in place at a part of it; returns where it stands then."""
    go = timed(joint_line(arm.sim.state().positions, ROBOT.arm.ready), ROBOT.arm.max_velocity,
               ROBOT.arm.max_acceleration)
    begin_s = arm.sim.now_s() + phase * go.duration_s

    def block() -> None:
        if arm.sim.now_s() >= begin_s:
            arm.sim._after_step.remove(block)
            arm.kept_at = arm.sim.state().positions.copy()
    arm.sim._after_step.insert(0, block)
    with pytest.raises(ArmStoppedError):
        gate.follow(go, 'a way')
    assert gate.status().state is GateState.STOPPED
    return arm.sim.state().positions.copy()


@pytest.mark.parametrize(('by', 'phase', 'freed_after_s'), [
    case if number % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow)
    for number, case in enumerate(CASES)])
def test_a_blocked_arm_that_was_stopped_stays_where_it_is_when_it_is_freed(
        make, by: str, phase: float, freed_after_s: float) -> None:
    arm, gate = make(by)
    where = stopped_at(arm, gate, phase)
    pass_time(arm, gate, freed_after_s)
    arm.kept_at = None
    pass_time(arm, gate, 0.6)
    assert np.abs(arm.sim.state().positions - where).max() < NEAR_RAD
    gate.rearm('a person')
    gate.new_episode()
    pass_time(arm, gate, 0.4)
    assert np.abs(arm.sim.state().positions - where).max() < NEAR_RAD
    assert gate.status().state is GateState.ARMED


@pytest.mark.parametrize('reported', [lambda speeds: 0.0 * speeds,
                                      lambda speeds: np.full_like(speeds, np.nan)])
def test_an_arm_whose_driver_reports_no_velocities_is_stopped_and_stays(make, reported) -> None:
    arm, gate = make(TOPIC)
    arm.reported = reported
    where = stopped_at(arm, gate, 0.5)
    pass_time(arm, gate, 2.0)
    arm.kept_at = None
    pass_time(arm, gate, 0.6)
    assert np.abs(arm.sim.state().positions - where).max() < NEAR_RAD
    side = SimpleNamespace(_gate=gate, robot=ROBOT, _hardware='', _assessed=(), _lacking=())
    diagnosis = Diagnosis()
    ArmSide.diagnose(side, diagnosis)
    named = [words for words in diagnosis.words if 'do not fit the positions' in words]
    assert len(named) == (not np.isnan(reported(np.zeros(7))).any()), 'what is missing is found'
    assert all('panda_joint' in words for words in named)


def test_a_stop_of_the_hardware_itself_has_a_blocked_arm_stay(make) -> None:
    arm, gate = make(TOPIC)
    stopped_at(arm, gate, 0.5)
    arm.kept_at = arm.sim.state().positions.copy()
    arm._hardware.stop()
    arm.kept_at = None
    arm.sim.wait(0.5)
    arm._hardware.rearm()
    where = arm.sim.state().positions.copy()
    pass_time(arm, gate, 0.5)
    assert np.abs(arm.sim.state().positions - where).max() < NEAR_RAD


def test_fingers_of_stopped_hardware_take_no_command(make) -> None:
    arm, _ = make(TOPIC)
    close = JointTrajectoryMsg(joint_names=list(ROBOT.gripper.joints),
                               points=[JointTrajectoryPoint(positions=[0.0, 0.0])])
    arm._hardware.stop()
    arm._hardware._grip(close)
    arm.sim.wait(1.0)
    assert arm.sim.state().opening_m == pytest.approx(ROBOT.gripper.open_m, abs=1e-3)
    arm._hardware.rearm()
    arm._hardware._grip(close)
    arm.sim.wait(1.0)
    assert arm.sim.state().opening_m < 1e-3
