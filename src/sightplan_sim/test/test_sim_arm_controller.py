"""Between commands and motors: trajectories are followed as ros2_control does, fingers as told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import WorldError
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.trajectories import sample
from sightplan_sim.arm.controller import (
    GripperController,
    SetPointController,
    TrajectoryController,
)

N = 3


def trajectory(seed: int = 0, points: int = 5) -> JointTrajectory:
    rng = np.random.default_rng(seed)
    velocities = rng.normal(size=(points, N))
    velocities[-1] = 0.0
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 1.0, points - 1))])
    return JointTrajectory(times, rng.normal(size=(points, N)), velocities)


def test_cubic_splines_through_positions_and_velocities():
    given = trajectory()
    controller = TrajectoryController(np.zeros(N))
    controller.start(given, 10.0, np.zeros(N), np.zeros(N))
    for t in np.linspace(0.0, given.duration_s - 1e-6, 57):
        at, speed, _ = sample(given, float(t))
        assert np.allclose(controller.desired(10.0 + float(t)), (at, speed), atol=1e-9)


def test_without_velocities_it_goes_in_straight_lines():
    given = JointTrajectory(np.array([0.0, 2.0, 3.0]), np.array([[0.0] * N, [4.0] * N, [1.0] * N]),
                            np.zeros((0, N)))
    controller = TrajectoryController(np.zeros(N))
    controller.start(given, 0.0, np.zeros(N), np.zeros(N))
    assert np.allclose(controller.desired(1.5), ([3.0] * N, [2.0] * N))
    assert np.allclose(controller.desired(2.5), ([2.5] * N, [-3.0] * N))


def test_a_late_first_point_is_joined_to_where_the_arm_is():
    given = trajectory()
    late = JointTrajectory(given.times_s + 1.0, given.positions, given.velocities)
    controller = TrajectoryController(np.zeros(N))
    here, speed = np.full(N, 0.5), np.full(N, -0.25)
    controller.start(late, 5.0, here, speed)
    assert np.allclose(controller.desired(5.0), (here, speed))
    assert np.allclose(controller.desired(6.0), (given.positions[0], given.velocities[0]))


def test_it_holds_at_the_end_and_a_new_trajectory_replaces_the_running_one():
    controller = TrajectoryController(np.ones(N))
    assert np.allclose(controller.desired(3.0), (np.ones(N), np.zeros(N)))
    assert not controller.active(3.0)
    first, second = trajectory(1), trajectory(2)
    controller.start(first, 0.0, np.ones(N), np.zeros(N))
    assert controller.active(0.01)
    controller.start(second, 0.5, np.ones(N), np.zeros(N))
    assert np.allclose(controller.desired(0.5)[0], second.positions[0])
    after = 0.5 + second.duration_s
    assert np.allclose(controller.desired(after + 9.0), (second.positions[-1], np.zeros(N)))
    assert not controller.active(after)
    controller.hold(np.full(N, 7.0))
    assert np.allclose(controller.desired(after), (np.full(N, 7.0), np.zeros(N)))


@pytest.mark.parametrize(('change', 'message'), [
    ({'times_s': np.zeros(0)}, 'no points'),
    ({'times_s': np.array([0.0, 1.0, 1.0, 2.0, 3.0])}, 'increase'),
    ({'times_s': np.array([-1.0, 0.0, 1.0, 2.0, 3.0])}, 'increase'),
    ({'positions': np.zeros((5, N + 1))}, '3 joints'),
    ({'positions': np.full((5, N), np.nan)}, 'finite'),
    ({'velocities': np.zeros((4, N))}, 'velocities'),
])
def test_an_unsound_trajectory_is_refused_and_the_running_one_goes_on(change, message):
    running, bad = trajectory(1), trajectory(2)
    controller = TrajectoryController(np.zeros(N))
    controller.start(running, 0.0, np.zeros(N), np.zeros(N))
    fields = {'times_s': bad.times_s, 'positions': bad.positions, 'velocities': bad.velocities}
    with pytest.raises(WorldError, match=message):
        controller.start(JointTrajectory(**(fields | change)), 0.0, np.zeros(N), np.zeros(N))
    assert np.allclose(controller.desired(0.05)[0], sample(running, 0.05)[0])


def test_the_gripper_moves_at_its_speed_within_its_opening():
    gripper = GripperController(0.08, 0.08, 0.2, 40.0)
    assert not gripper.active
    gripper.start(0.02, 15.0)
    assert gripper.active and gripper.force_n == 15.0
    assert gripper.step(0.1) == pytest.approx(0.06)
    for _ in range(5):
        gripper.step(0.1)
    assert gripper.opening_m == pytest.approx(0.02) and not gripper.active
    gripper.start(5.0, 900.0)
    assert gripper.force_n == 40.0
    for _ in range(9):
        gripper.step(0.1)
    assert gripper.opening_m == pytest.approx(0.08)


@pytest.mark.parametrize(('opening', 'force'), [
    (float('nan'), 10.0), (0.02, 0.0), (0.02, float('inf')), (0.02, -1.0)])
def test_the_gripper_refuses_what_is_no_number(opening, force):
    with pytest.raises(WorldError, match='cannot go'):
        GripperController(0.08, 0.08, 0.2, 40.0).start(opening, force)


@given(st.lists(st.tuples(st.floats(-2.0, 2.0), st.integers(1, 40)), min_size=1, max_size=12))
def test_set_points_are_reached_within_the_limits(set_points):
    fastest, strongest, step_s = np.array([1.0, 2.0]), np.array([10.0, 30.0]), 1 / 128
    controller = SetPointController(np.zeros(2), np.zeros(2), fastest, strongest)
    at, speed = np.zeros(2), np.zeros(2)
    for goal, steps in [*set_points, (0.5, 128 * 8)]:
        controller.start(np.full(2, goal))
        for _ in range(steps):
            now, new = controller.step(step_s)
            assert (np.abs(new) <= fastest + 1e-9).all()
            assert (np.abs(new - speed) <= strongest * step_s + 1e-9).all()
            at, speed = now, new
    assert np.allclose(at, 0.5, atol=1e-3) and np.allclose(speed, 0.0, atol=1e-2)


@pytest.mark.parametrize('physics_hz', [60.0, 128.0, 1024.0])
@pytest.mark.parametrize('way', [0.01, 0.19, 2.0])
def test_a_far_set_point_is_not_overshot(physics_hz, way):
    controller = SetPointController(np.zeros(1), np.zeros(1), np.array([1.4]), np.array([20.0]))
    controller.start(np.array([way]))
    reached = [controller.step(1.0 / physics_hz)[0][0] for _ in range(int(4.0 * physics_hz))]
    assert max(reached) < way + 0.004 and abs(reached[-1] - way) < 1e-4


@pytest.mark.parametrize('positions', [np.zeros(3), np.array([0.0, np.nan])])
def test_what_is_no_set_point_changes_nothing(positions):
    controller = SetPointController(np.zeros(2), np.zeros(2), np.ones(2), np.ones(2))
    with pytest.raises(WorldError, match='not positions of 2 joints'):
        controller.start(positions)
    assert np.allclose(controller.step(0.01), 0.0)
