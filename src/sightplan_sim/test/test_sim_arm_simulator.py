"""The simulated arm: moved by motors, blocks by physics, the same in every process."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from sightplan.model import InputError, WorldError
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import hand_down, inverse, make_pose
from sightplan_arm.hardware import Arm
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import joint_line, timed
from sightplan_sim.arm.meshes import meshes_of, panda_meshes
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import SimulatedArm

BLOCK_M = 0.05
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def make(robot=None, **settings) -> SimulatedArm:
    return SimulatedArm(robot or load_robot('panda'), HardwareSettings(**settings),
                        block_m=BLOCK_M, table_y_m=(-0.06, 0.2))


@pytest.fixture(scope='module')
def shared() -> Iterator[SimulatedArm]:
    with make() as arm:
        yield arm


@pytest.fixture
def arm(shared: SimulatedArm) -> SimulatedArm:
    shared.reset({'r': (0.0, 0.0, BLOCK_M / 2, *UPRIGHT)})
    return shared


def go(arm: SimulatedArm, posture, extra_s: float = 0.3) -> None:
    robot = arm.robot.arm
    motion = timed(joint_line(arm.state().positions, np.asarray(posture)), robot.max_velocity,
                   robot.max_acceleration)
    arm.command(motion)
    arm.wait(motion.duration_s + extra_s)


def above(arm: SimulatedArm, x: float, z: float):
    """Joints with the tip above a place on the row."""
    table = arm.robot.table.pose
    found = Kinematics(arm.robot).ik(table @ hand_down([x, 0.0, z]), arm.robot.arm.ready)
    assert found is not None
    return found


def test_it_is_an_arm_that_begins_parked_and_open(arm):
    assert isinstance(arm, Arm)
    state = arm.state()
    assert np.allclose(state.positions, arm.robot.arm.park, atol=1e-3)
    assert np.allclose(state.velocities, 0.0, atol=1e-3)
    assert state.opening_m == pytest.approx(0.08, abs=1e-3)
    assert state.stamp_s == arm.now_s() and arm.state_age_s() == 0.0


def test_its_links_are_where_the_kinematics_of_the_robots_file_has_them(arm):
    robot, kinematics = arm.robot, Kinematics(arm.robot)
    go(arm, robot.arm.ready)
    q = np.array(arm.poses().joints[:7])
    for frame in ('panda_link3', 'panda_link5', 'panda_link7', 'panda_hand'):
        expected = inverse(robot.table.pose) @ kinematics.fk(q, frame)
        assert np.allclose(arm.poses().links[frame][:3], expected[:3, 3], atol=1e-5)
    fingers = arm.poses().links['panda_leftfinger'], arm.poses().links['panda_rightfinger']
    tip = inverse(robot.table.pose) @ kinematics.fk(q)
    middle = (np.array(fingers[0][:3]) + fingers[1][:3]) / 2
    aside = np.linalg.inv(tip) @ np.append(middle, 1.0)
    assert np.allclose(aside[:2], 0.0, atol=1e-4)  # the tip lies below the fingers' middle
    apart = np.linalg.inv(tip)[:3, :3] @ (np.array(fingers[0][:3]) - fingers[1][:3])
    assert abs(apart[1]) == pytest.approx(0.08, abs=1e-3)  # y is the line on which they open


def test_it_follows_a_trajectory_closely_and_holds_at_its_end(arm):
    robot = arm.robot.arm
    motion = timed(joint_line(arm.state().positions, robot.ready), robot.max_velocity,
                   robot.max_acceleration)
    start = arm.now_s()
    arm.command(motion)
    assert arm.poses().moving
    worst = 0.0
    while arm.now_s() < start + motion.duration_s:
        arm.wait(0.02)
        t = min(arm.now_s() - start, motion.duration_s)
        desired = [np.interp(t, motion.times_s, motion.positions[:, k]) for k in range(7)]
        worst = max(worst, float(np.abs(arm.state().positions - desired).max()))
    assert worst < 0.03
    arm.wait(1.0)
    assert np.abs(arm.state().positions - robot.ready).max() < 2e-3
    assert not arm.poses().moving


def test_a_block_is_held_by_friction_and_falls_when_it_is_let_go(arm):
    go(arm, arm.robot.arm.ready)
    go(arm, above(arm, 0.0, 0.15))
    go(arm, above(arm, 0.0, 0.025))
    arm.grip(0.0, 20.0)
    arm.wait(1.0)
    assert arm.state().opening_m == pytest.approx(BLOCK_M, abs=1.5e-3)
    go(arm, above(arm, 0.0, 0.15))
    height = arm.poses().blocks['r'][2]
    assert height == pytest.approx(0.15, abs=0.01)
    arm.wait(5.0)
    assert arm.poses().blocks['r'][2] == pytest.approx(height, abs=2e-3)  # it does not slip
    arm.grip(0.08, 20.0)
    arm.wait(1.0)
    assert arm.poses().blocks['r'][2] < 0.04


def test_without_friction_nothing_is_lifted():
    with make(friction=0.0) as slippery:
        slippery.reset({'r': (0.0, 0.0, BLOCK_M / 2, *UPRIGHT)})
        go(slippery, above(slippery, 0.0, 0.15))
        go(slippery, above(slippery, 0.0, 0.025))
        slippery.grip(0.0, 20.0)
        slippery.wait(1.0)
        go(slippery, above(slippery, 0.0, 0.15))
        assert slippery.poses().blocks['r'][2] < 0.05


def test_the_table_stops_the_hand(arm):
    go(arm, above(arm, 0.09, 0.10))
    wanted = above(arm, 0.09, 0.02)
    low = wanted + (wanted - above(arm, 0.09, 0.06))  # about 4 cm deeper: into the table
    go(arm, low, 1.0)
    assert np.abs(arm.state().positions - low).max() > 0.01
    for finger in ('panda_leftfinger', 'panda_rightfinger'):
        assert arm.poses().links[finger][2] > 0.03  # 5 cm above its tip


def test_a_reset_begins_anew_but_does_not_turn_back_time(arm):
    go(arm, arm.robot.arm.ready)
    before = arm.now_s()
    arm.reset({'b': (0.1, 0.0, BLOCK_M / 2, *UPRIGHT)})
    assert arm.now_s() >= before and set(arm.poses().blocks) == {'b'}
    assert np.allclose(arm.state().positions, arm.robot.arm.park, atol=1e-6)


def test_measured_joints_are_noisy_if_wanted_and_the_noise_is_the_seeds(arm):
    with make(joint_noise_rad=0.01) as noisy:
        noisy.reset({}, seed=1)
        noisy.wait(0.1)
        one = noisy.state().positions
        assert np.array_equal(one, noisy.state().positions)  # of the step, not of the look
        errors = []
        for _ in range(60):
            noisy.wait(1 / 128)
            errors.append(noisy.state().positions - noisy.robot.arm.park)
        assert 0.007 < float(np.std(errors)) < 0.013
        noisy.reset({}, seed=1)
        noisy.wait(0.1)
        assert np.array_equal(one, noisy.state().positions)
        noisy.reset({}, seed=2)
        noisy.wait(0.1)
        assert not np.array_equal(one, noisy.state().positions)


_SAME = '''
import sys
sys.path.insert(0, sys.argv[1])
import test_sim_arm_simulator as cases
with cases.make(joint_noise_rad=0.001) as arm:
    for _ in range(int(sys.argv[2])):
        arm.reset({'r': (0.0, 0.0, 0.025, 0.0, 0.0, 0.0, 1.0),
                   'g': (0.003, 0.0, 0.0752, 0.0, 0.0, 0.1, 0.995)}, seed=4)
        cases.go(arm, cases.above(arm, 0.0, 0.075))
        arm.grip(0.0, 20.0)
        arm.wait(0.5)
        cases.go(arm, arm.robot.arm.ready)
    poses = arm.poses()
    print(poses.joints, sorted(poses.blocks.items()), arm.state().positions.tolist())
'''


def test_the_same_seed_gives_the_same_bits_in_every_process():
    from pathlib import Path
    here = str(Path(__file__).parent)
    one, two = (subprocess.run([sys.executable, '-c', _SAME, here, repeats], text=True,
                               capture_output=True, check=True).stdout for repeats in '12')
    assert one == two and "'r'" in one


def test_in_real_time_a_thread_lets_time_pass_and_wait_waits():
    with make(realtime_factor=4.0) as live:
        live.run()
        before, since = live.now_s(), time.monotonic()
        live.wait(0.4)
        assert live.now_s() - before >= 0.4 - 1 / 128
        assert time.monotonic() - since >= 0.08  # 0.1 at four times the wall's speed
        failures = []

        def wait() -> None:
            try:
                live.wait(1e6)
            except WorldError as error:
                failures.append(str(error))

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.05)
        live.close()
        waiting.join(240.0)
        assert not waiting.is_alive() and 'closed' in failures[0]


def test_time_goes_no_farther_than_it_may():
    with make() as slow:
        bounds = iter([0.0, 0.0, 0.02, 0.02, 0.1])  # the last one stays
        last = [0.0]

        def until_s() -> float:
            last[0] = next(bounds, last[0])
            assert slow.now_s() <= last[0]
            return last[0]
        slow.until_s = until_s
        slow.advance(0.1 - 1 / 128)
        assert slow.now_s() == pytest.approx(0.1, abs=1.01 / 128)
        waiting = threading.Thread(target=slow.advance, args=(1.0,), daemon=True)
        waiting.start()
        waiting.join(0.1)
        assert waiting.is_alive() and slow.now_s() <= 0.1
        slow.until_s = lambda: float('inf')
        waiting.join(240.0)
        assert slow.now_s() > 1.0


def test_a_robot_without_two_fingers_that_slide_is_refused_by_name(tmp_path):
    robot = load_robot('ur5e')
    text = robot.urdf.read_text()
    urdf = tmp_path / 'stiff.urdf'
    urdf.write_text(text.replace('type="prismatic"', 'type="fixed"'))
    with pytest.raises(InputError, match=r'ur5e.*stiff.urdf has 0 finger joints .*that slide'):
        make(dataclasses.replace(robot, urdf=urdf))


@pytest.mark.parametrize('name', ['ur5e', 'ur5e_tabletop'])
def test_a_ur5e_takes_a_block_up_and_lets_it_go(name):
    with make(load_robot(name)) as arm:
        arm.reset({'r': (0.0, 0.0, BLOCK_M / 2, *UPRIGHT)})
        robot, kinematics = arm.robot, Kinematics(arm.robot)
        assert arm.state().opening_m == pytest.approx(robot.gripper.open_m, abs=1e-3)
        go(arm, robot.arm.ready)
        poses = arm.poses()
        for frame in ('base_link', 'forearm_link', 'wrist_3_link', 'gripper_base'):
            expected = inverse(robot.table.pose) @ kinematics.fk(np.array(poses.joints[:6]), frame)
            assert np.allclose(poses.links[frame][:3], expected[:3, 3], atol=1e-5)
        go(arm, above(arm, 0.0, 0.15))
        go(arm, above(arm, 0.0, 0.025))
        arm.grip(0.0, 20.0)
        arm.wait(1.0)
        assert arm.state().opening_m == pytest.approx(BLOCK_M, abs=1.5e-3)
        go(arm, above(arm, 0.0, 0.15))
        assert arm.poses().blocks['r'][2] == pytest.approx(0.15, abs=0.01)
        arm.grip(robot.gripper.open_m, 20.0)
        arm.wait(1.0)
        assert arm.poses().blocks['r'][2] < 0.04


def test_an_arm_is_seen_as_the_primitives_of_its_urdf():
    meshes = meshes_of(load_robot('ur5e'))
    assert {mesh.shade for mesh in meshes} == {'white', 'dark'}
    forearm = np.concatenate([mesh.vertices_m for mesh in meshes if mesh.link == 'forearm_link'])
    assert forearm.min(axis=0)[0] == pytest.approx(-0.3922, abs=1e-4)
    for mesh in meshes:
        assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0)
        a, b, c = (mesh.vertices_m[mesh.triangles[:, k]] for k in range(3))
        out = np.einsum('ij,ij->i', np.cross(b - a, c - a), mesh.normals[mesh.triangles].mean(1))
        assert (out > 0).all(), mesh.link
    assert meshes_of(load_robot('panda')) is panda_meshes()


def test_poses_are_in_the_tables_frame(arm):
    base = inverse(arm.robot.table.pose)
    assert np.allclose(arm.poses().links['panda_link0'][:3], base[:3, 3])
    assert np.allclose(arm.poses().links['panda_link1'][:3],
                       (base @ make_pose([0.0, 0.0, 0.333]))[:3, 3], atol=1e-6)
