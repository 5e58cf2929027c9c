"""Simulated hardware behind controllers of one's own, which say where each joint is to be now."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState

from nodes_testing import eventually, spinning
from sightplan_arm.config import load_robot
from sightplan_nodes import names
from sightplan_nodes.simulated_hardware import SimulatedHardware
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import SimulatedArm

pytestmark = pytest.mark.usefixtures('ros')
ROBOT = load_robot('panda')
PARK = np.array(ROBOT.arm.park)


class Controllers:
    """Publishes set points, one after the other, as ros2_control does."""

    def __init__(self) -> None:
        self.node = Node('controllers')
        self._publisher = self.node.create_publisher(JointState, names.JOINT_COMMANDS, 1)
        self.wanted, self.fingers = PARK.copy(), [0.04, 0.04]
        self._at = PARK.copy()
        self.joints, self.where, self.sent = list(ROBOT.arm.joints), lambda: self._at, 0
        self.node.create_timer(0.01, self._write)

    def _write(self) -> None:
        if np.abs(self._at - self.where()).max() < 0.1:  # else the arm is waited for
            self._at += np.clip(self.wanted - self._at, -0.005, 0.005)
        self._publisher.publish(JointState(
            name=[*reversed(self.joints), *ROBOT.gripper.joints],
            position=[*self._at[::-1].tolist(), *self.fingers]))
        self.sent += 1

    def jump(self, positions: np.ndarray) -> None:
        """Be somewhere else all at once."""
        self.wanted, self._at = positions, positions.copy()


@pytest.fixture
def commanded(monkeypatch):
    """Hardware, its arm, controllers that command it, and what was said of refused commands."""
    monkeypatch.setattr(SimulatedHardware, '_film', lambda self: None)
    node, controllers = Node('sim_bridge'), Controllers()
    node.group = ReentrantCallbackGroup()
    refused = []
    monkeypatch.setattr(node, 'get_logger', lambda: SimpleNamespace(
        info=lambda text: None, error=lambda text, **how: refused.append(text)))
    arm = SimulatedArm(ROBOT, HardwareSettings(), block_m=0.05,
                       table_y_m=(-0.5, 0.5))
    world = SimpleNamespace(robot=ROBOT, arm=arm, skills=None, camera_process=list)
    side = SimpleNamespace(detach=lambda stop, rearm: None, publish_joints=lambda state: None)
    hardware = SimulatedHardware(node, world, side, 10.0, lambda: 0, lambda stamp, state: None)
    controllers.where = lambda: arm.state().positions
    with spinning(node, controllers.node):
        eventually(lambda: hardware.driven, 'who would command the joints is heard')
        yield SimpleNamespace(hardware=hardware, arm=arm, controllers=controllers,
                              refused=refused)
        hardware.close()
    arm.close()


def is_at(arm: SimulatedArm, positions: np.ndarray) -> bool:
    state = arm.state()
    return bool(np.allclose(state.positions, positions, atol=0.005)
                and np.allclose(state.velocities, 0.0, atol=0.01))


def test_joints_go_where_controllers_say(commanded) -> None:
    there = PARK + np.array([0.3, 0.1, -0.2, 0.1, 0.0, 0.0, 0.4])
    commanded.controllers.wanted = there
    commanded.controllers.fingers = [0.01, 0.01]
    eventually(lambda: is_at(commanded.arm, there))
    eventually(lambda: math.isclose(commanded.arm.state().opening_m, 0.02, abs_tol=0.002))
    assert not commanded.refused


def test_a_jump_is_no_way_to_go(commanded) -> None:
    """As after a reset, which puts the arm where its controllers do not know it."""
    eventually(lambda: is_at(commanded.arm, PARK))
    commanded.controllers.jump(PARK + 0.5)
    eventually(lambda: commanded.refused)
    assert 'a joint would jump by 0.5' in commanded.refused[0]
    assert is_at(commanded.arm, PARK)
    commanded.controllers.jump(PARK)
    there = PARK + np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    commanded.controllers.wanted = there
    eventually(lambda: is_at(commanded.arm, there), 'sound commands are followed again')


def test_a_stopped_arm_takes_no_commands(commanded) -> None:
    eventually(lambda: is_at(commanded.arm, PARK))
    commanded.hardware.stop()
    commanded.controllers.wanted = PARK + 0.1
    threading.Event().wait(0.5)
    assert is_at(commanded.arm, PARK)
    commanded.hardware.rearm()
    eventually(lambda: is_at(commanded.arm, PARK + 0.1))


def test_what_is_no_position_moves_nothing(commanded) -> None:
    controllers = commanded.controllers
    controllers.fingers = [math.nan, math.nan]
    controllers.jump(np.full(7, math.nan))
    sent = controllers.sent
    eventually(lambda: controllers.sent > sent + 30)
    assert is_at(commanded.arm, PARK) and not commanded.refused
    assert math.isclose(commanded.arm.state().opening_m, ROBOT.gripper.open_m, abs_tol=0.002)
    controllers.jump(PARK)
    controllers.wanted, controllers.fingers = PARK + 0.1, [0.02, 0.02]
    eventually(lambda: is_at(commanded.arm, PARK + 0.1), 'numbers are followed')


def test_joints_of_other_names_are_named(commanded) -> None:
    commanded.controllers.joints = [f'other_{name}' for name in ROBOT.arm.joints]
    eventually(lambda: commanded.refused)
    assert 'they have no panda_joint1' in commanded.refused[0]
    assert 'other_panda_joint7' in commanded.refused[0]


def test_a_hand_that_a_reset_has_opened_is_closed_again(commanded) -> None:
    """The controller still says so: nobody has told it to open."""
    commanded.controllers.fingers = [0.0, 0.0]
    eventually(lambda: commanded.arm.state().opening_m < 0.002)
    commanded.arm.reset({})
    eventually(lambda: commanded.arm.state().opening_m > 0.002, 'the reset')
    eventually(lambda: commanded.arm.state().opening_m < 0.002)
