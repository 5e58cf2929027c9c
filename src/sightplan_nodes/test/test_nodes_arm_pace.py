"""Simulated time that waits for those who are late: arm_bridge, arm_watcher and the hardware."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sightplan_interfaces import msg
from trajectory_msgs.msg import JointTrajectory

from arm_testing import LONG_S, Driver, patient_robot
from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.model import WorldError
from sightplan.records import messages
from sightplan_arm import pace
from sightplan_arm.config import load_robot
from sightplan_nodes import names, qos
from sightplan_nodes.arm_watcher import ArmWatcher
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.ros_arm import RosArm, RosCamera
from sightplan_nodes.simulated_hardware import SimulatedHardware
from test_nodes_arm_bridge import Bench, bench  # noqa: F401  the fixture

pytestmark = pytest.mark.usefixtures('ros')
LIMITS = {'state_timeout_s': 0.5, 'image_timeout_s': 0.5, 'heartbeat_timeout_s': 0.5}


def said_until_s(node: Node) -> dict[str, float]:
    """The newest of what each node says of how far time may go."""
    said: dict[str, float] = {}

    def hear(message: msg.Heartbeat) -> None:
        said[message.node] = messages.time_from_msg(message.header.stamp) / 1e9
    node.create_subscription(msg.Heartbeat, names.driver(names.PACE, names.SIMULATED), hear,
                             qos.HEARTBEAT)
    return said


def cause_of(b: Bench) -> str:
    return str(b.client.statuses[-1].cause)


def test_a_silence_is_too_long_in_simulated_time_only(bench, monkeypatch) -> None:  # noqa: F811
    """The wall's clock says how busy the computer is; the hardware's, how far the arm moved."""
    monkeypatch.setattr(pace, 'ALONE_S', LIMIT_S)
    with bench(LIMITS, lockstep=True) as b:
        said = said_until_s(b.client.node)
        assert b.client.load().error_msg == ''
        assert b.client.reset().error_msg == ''
        b.skills.move_s = LONG_S
        thread, _ = b.client.later()
        eventually(b.moving, 'the motion')
        b.driver.frozen = True
        b.heartbeats.close()
        time.sleep(2.0 * LIMITS['heartbeat_timeout_s'])
        assert cause_of(b) == '', 'time stands, so that nothing is late'
        b.driver.frozen = False
        eventually(lambda: cause_of(b) == 'heartbeat', 'the hold')
        thread.join(LIMIT_S)
        assert said[names.ARM_BRIDGE] > 0.0


def test_arm_bridge_has_time_wait_for_the_agent(bench) -> None:  # noqa: F811
    limit_s = LIMITS['heartbeat_timeout_s']
    with bench(LIMITS, lockstep=True) as b:
        said = said_until_s(b.client.node)
        eventually(lambda: names.ARM_BRIDGE in said)
        b.heartbeats.close()
        silent_s = time.monotonic()  # the driver's clock, which does not wait
        time.sleep(3.0 * limit_s)
        assert said[names.ARM_BRIDGE] < silent_s + 2.0 * limit_s


def test_hardware_that_dies_is_found_by_the_walls_clock(bench, monkeypatch) -> None:  # noqa: F811
    monkeypatch.setattr(pace, 'ALONE_S', 0.5)
    with bench(LIMITS, lockstep=True) as b:
        assert b.client.load().error_msg == ''
        assert b.client.reset().error_msg == ''
        b.skills.move_s = LONG_S
        thread, _ = b.client.later()
        eventually(b.moving, 'the motion')
        b.driver.frozen = True
        eventually(lambda: cause_of(b) == 'stale_state', 'the hold')
        b.driver.frozen = False
        thread.join(LIMIT_S)


def test_what_is_told_of_time_says_how_fast_it_goes(bench) -> None:  # noqa: F811
    with bench(lockstep=True) as b:
        eventually(lambda: b.bridge._side.measures._stamps.measured(time.monotonic()).n > 20)
        clock, = [one for one in b.bridge._side._guarantees() if one.name == 'clock']
        assert clock.holds and 'simulated time goes' in clock.said
        assert clock.measured['speed'] > 0.1


def test_the_watcher_says_how_far_time_may_go(tmp_path) -> None:
    robot = patient_robot(tmp_path)
    driver, listener = Driver(robot), Node('listener')
    said = said_until_s(listener)
    node = ArmWatcher(parameter_overrides=parameters(robot=robot, hardware=names.SIMULATED,
                                                     lockstep=True))
    with spinning(driver.node, listener, node):
        eventually(lambda: names.ARM_WATCHER in said)
        assert abs(said[names.ARM_WATCHER] - time.monotonic()) < LIMIT_S


@pytest.mark.parametrize(('hardware', 'lockstep'), [
    (names.REAL, True), (names.REAL, False), (names.SIMULATED, False)])
def test_a_real_robot_waits_for_nobody(hardware, lockstep) -> None:
    """Ages of a real arm are those of the wall's clock, whatever the parameter says."""
    node, robot = Node('somebody'), load_robot('panda')
    try:
        arm = RosArm(node, robot, hardware, lockstep=lockstep)
        camera = RosCamera(node, robot.camera, hardware, pace=arm.pace)
        assert (arm.pace, arm.clock, camera._clock) == (None, time.monotonic, time.monotonic)
        assert not node.count_publishers(names.driver(names.PACE, hardware))
    finally:
        node.destroy_node()


class _StillArm:
    """An arm that only says how far it may go."""

    def __init__(self) -> None:
        self.until_s = None

    def run(self) -> None:
        """Nothing."""

    def state(self) -> None:
        raise WorldError('there is none')


@pytest.mark.parametrize('lockstep', [True, False])
def test_the_hardware_goes_as_far_as_it_is_told(monkeypatch, lockstep) -> None:
    monkeypatch.setattr(SimulatedHardware, '_film', lambda self: None)
    monkeypatch.setattr(pace, 'PATIENCE_S', LIMIT_S)
    node = Node('sim_bridge')
    node.group = ReentrantCallbackGroup()
    world = SimpleNamespace(robot=load_robot('panda'), arm=_StillArm(), skills=None,
                            camera_process=list)
    side = SimpleNamespace(detach=lambda stop, rearm: None, publish_joints=None)
    hardware = SimulatedHardware(node, world, side, 10.0, lambda: 0, lambda stamp, state: None,
                                 lockstep)
    watcher = Node('watcher')
    sender = watcher.create_publisher(msg.Heartbeat, names.PACE, qos.HEARTBEAT)
    beat, command = msg.Heartbeat(node='watcher'), JointTrajectory()
    beat.header.stamp = MESSAGES.time_to_msg(1_500_000_000)
    watcher.create_timer(0.05, lambda: sender.publish(beat))
    hardware.leave_to_others()
    with spinning(node, watcher):
        if lockstep:
            assert world.arm.until_s() > 1.5
            eventually(lambda: np.isclose(world.arm.until_s(), 1.5))
            beat.header.stamp.sec = 7
            eventually(lambda: np.isclose(world.arm.until_s(), 7.5))
            beat.header.frame_id = command.header.frame_id = 'watcher 1'
            beat.header.stamp.sec = 8
            time.sleep(0.3)
            assert np.isclose(world.arm.until_s(), 7.5), 'the command is under way'
            hardware._follow(command)
            eventually(lambda: np.isclose(world.arm.until_s(), 8.5))
        else:
            assert world.arm.until_s is None
            assert not node.count_subscribers(names.PACE)
        hardware.close()
