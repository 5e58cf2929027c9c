"""Trajectories: exact bounds, travel within limits, straight lines, braking."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan_arm.geometry import distance, hand_down, inverse, transform
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import (
    UnreachableError,
    backwards,
    cartesian,
    extremes,
    joint_line,
    positions_at,
    sample,
    stopping,
    timed,
)

MAX_V, MAX_A = np.array([1.0, 0.5, 2.0]), np.array([4.0, 6.0, 3.0])
ANGLES = st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0])


def rows(low, high, numbers=ANGLES):
    return st.lists(st.tuples(numbers, numbers, numbers), min_size=low, max_size=high).map(
        lambda values: np.array(values, dtype=np.float64))


@st.composite
def trajectories(draw):
    positions = draw(rows(2, 6))
    steps = draw(st.lists(st.floats(0.01, 2.0), min_size=len(positions) - 1,
                          max_size=len(positions) - 1))
    velocities = draw(rows(len(positions), len(positions)))
    velocities[-1] = 0.0
    return JointTrajectory(np.concatenate([[0.0], np.cumsum(steps)]), positions, velocities)


def dense(trajectory, count=400):
    """Positions, velocities and accelerations at even times, and at those of the points."""
    times = np.union1d(np.linspace(0, trajectory.duration_s, count), trajectory.times_s)
    return (np.stack(part) for part in zip(*(sample(trajectory, t) for t in times), strict=True))


@settings(max_examples=40, deadline=None)
@given(trajectories())
def test_positions_of_many_times_are_those_of_each(trajectory):
    times = np.concatenate([np.linspace(-1.0, trajectory.duration_s + 1.0, 41),
                            trajectory.times_s])
    one_by_one = np.stack([sample(trajectory, t)[0] for t in times])
    scale = 1 + np.abs(one_by_one).max()
    assert np.abs(positions_at(trajectory, times) - one_by_one).max() <= 1e-9 * scale


@settings(max_examples=40, deadline=None)
@given(trajectories())
def test_extremes_bound_what_happens_and_no_more(trajectory):
    bounds = extremes(trajectory)
    q, v, a = dense(trajectory)
    scale = 1 + np.abs(a).max()
    assert (bounds.lower <= q.min(axis=0) + 1e-9 * scale).all()
    assert (bounds.upper >= q.max(axis=0) - 1e-9 * scale).all()
    assert (bounds.velocity >= np.abs(v).max(axis=0) - 1e-9 * scale).all()
    assert (bounds.acceleration >= np.abs(a).max(axis=0) - 1e-9 * scale).all()
    # Between two samples, what is missed is at most half a step times the greatest change.
    step = trajectory.duration_s / 399
    missed = bounds.velocity * step + 1e-12
    assert (bounds.lower >= q.min(axis=0) - missed).all()
    assert (bounds.upper <= q.max(axis=0) + missed).all()
    assert (bounds.velocity <= np.abs(v).max(axis=0) + bounds.acceleration * step + 1e-9).all()


@settings(deadline=None)
@given(trajectories(), st.floats(0, 1))
def test_backwards_is_the_same_way_at_the_same_pace(trajectory, part):
    back = backwards(trajectory)
    assert back.times_s[0] == 0.0 and back.duration_s == pytest.approx(trajectory.duration_s)
    t = part * trajectory.duration_s
    there, here = sample(trajectory, t), sample(back, back.duration_s - t)
    assert here[0] == pytest.approx(there[0], abs=1e-6)
    assert here[1] == pytest.approx(-there[1], abs=1e-5)


def test_extremes_between_the_points():
    """By hand: x = t^2 (3 - 2 t) from 0 to 1 is fastest, 1.5, in the middle; starts with 6."""
    smooth = JointTrajectory(np.array([0.0, 1.0]), np.array([[0.0], [1.0]]), np.zeros((2, 1)))
    found = extremes(smooth)
    assert (found.lower[0], found.upper[0]) == (0.0, 1.0)
    assert found.velocity[0] == pytest.approx(1.5)
    assert found.acceleration[0] == pytest.approx(6.0)
    swing = JointTrajectory(np.array([0.0, 2.0]), np.zeros((2, 1)), np.array([[1.0], [-1.0]]))
    found = extremes(swing)  # a parabola, 1/2 high
    assert found.upper[0] == pytest.approx(0.5)
    assert found.acceleration[0] == pytest.approx(1.0)
    there_and_back = JointTrajectory(np.array([0.0, 1.0]), np.zeros((2, 1)),
                                     np.array([[1.0], [1.0]]))
    found = extremes(there_and_back)  # t - 3 t^2 + 2 t^3: turns at (3 -+ sqrt 3) / 6
    assert found.upper[0] == pytest.approx(np.sqrt(3) / 18)
    assert found.lower[0] == pytest.approx(-np.sqrt(3) / 18)


def test_samples_of_points_and_of_the_time_around():
    trajectory = JointTrajectory(np.array([0.0, 1.0, 3.0]), np.array([[0.0], [2.0], [1.0]]),
                                 np.array([[0.5], [-0.5], [0.0]]))
    for t, q, v in zip(trajectory.times_s, trajectory.positions, trajectory.velocities,
                       strict=True):
        found = sample(trajectory, t)
        np.testing.assert_allclose(found[0], q, atol=1e-12)
        np.testing.assert_allclose(found[1], v, atol=1e-12)
    for t, q in ((-1.0, 0.0), (9.0, 1.0)):
        assert [part[0] for part in sample(trajectory, t)] == [q, 0.0, 0.0]
    h = 1e-6
    before, after = (sample(trajectory, 0.4 + sign * h) for sign in (-1, 1))
    for order in (0, 1):
        assert sample(trajectory, 0.4)[order + 1] == pytest.approx(
            (after[order] - before[order]) / 2 / h, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(rows(1, 7))
def test_timed_keeps_to_limits(path):
    trajectory = timed(path, MAX_V, MAX_A)
    found = extremes(trajectory)
    assert (found.velocity <= MAX_V).all()
    assert (found.acceleration <= MAX_A).all()
    np.testing.assert_allclose(trajectory.positions[[0, -1]], path[[0, -1]], rtol=0, atol=1e-8)
    assert not trajectory.velocities[[0, -1]].any()
    assert trajectory.times_s[0] == 0 and (np.diff(trajectory.times_s) > 0.01).all()
    if np.abs(np.diff(path, axis=0)).max(initial=0.0) > 0.1:  # about as fast as a limit lets it
        assert max((found.velocity / MAX_V).max(), (found.acceleration / MAX_A).max()) > 0.8


@pytest.mark.parametrize('way', [3e-9, 1e-6, 1e-4, 1e-3, 0.03])
def test_timed_short_ways(way):
    trajectory = timed(joint_line(np.ones(3), 1 + np.array([0.0, way, -way])), MAX_V, MAX_A)
    found = extremes(trajectory)
    assert (found.velocity <= MAX_V).all() and (found.acceleration <= MAX_A).all()
    assert 0.05 < trajectory.duration_s < 0.4
    assert trajectory.positions[-1, 1] == pytest.approx(1 + way, abs=1e-12)
    assert (np.diff(trajectory.positions[:, 1]) >= 0).all()


@settings(max_examples=25, deadline=None)
@given(rows(2, 6, st.floats(-2, 2)))
def test_timed_comes_by_every_point(path):
    steps = np.abs(np.diff(path, axis=0)).max(axis=1)
    if steps.min() < 0.2:
        return
    q = next(dense(timed(path, MAX_V, MAX_A), 1000))
    for point in path:
        assert np.abs(q - point).max(axis=1).min() < 0.05


def test_timed_is_fast():
    """A long line takes little more than the trapezoid of velocity, the least there is."""
    path = joint_line([0.0, 0.0, 0.0], [1.5, 0.1, 0.1])
    least = 1.5 / 1.0 + 1.0 / 4.0
    assert least < timed(path, MAX_V, MAX_A).duration_s < least + 0.25
    half = timed(path, MAX_V / 2, MAX_A / 4).duration_s
    assert half == pytest.approx(2 * timed(path, MAX_V, MAX_A).duration_s, rel=0.1)


def test_accelerations_do_not_jump():
    trajectory = timed(joint_line([0.0, 0.0, 0.0], [1.5, 0.1, 0.1]), MAX_V, MAX_A)
    _, _, a = dense(trajectory, 2000)
    tick = trajectory.duration_s / 1999
    assert np.abs(np.diff(a[:, 0])).max() < MAX_A[0] / 2  # within 40 ms of points, at the most
    assert np.abs(a[round(0.005 / tick), 0]) < 0.6 * MAX_A[0]


@pytest.mark.parametrize('path', [np.zeros((1, 3)), np.ones((4, 3)), np.full((2, 3), 1e-12)])
def test_timed_goes_nowhere(path):
    trajectory = timed(path, MAX_V, MAX_A)
    assert len(trajectory.times_s) == 2 and trajectory.duration_s > 0
    np.testing.assert_array_equal(trajectory.positions, path[[0, 0]])


@pytest.mark.parametrize(('path', 'velocity'), [
    ([[0.0], [np.nan]], 1.0), ([[0.0], [np.inf]], 1.0), ([[0.0], [1.0]], 0.0),
    ([[0.0], [1.0]], np.nan), ([[0.0], [1.0]], -1.0)])
def test_timed_refuses_rubbish(path, velocity):
    with pytest.raises(ValueError, match='path'):
        timed(np.array(path), np.array([velocity]), np.array([1.0]))


def above(robot, x, z, turn=0.0):
    return robot.table.pose @ hand_down((x, 0.0, z), np.pi + turn)


@pytest.mark.parametrize(('x0', 'z0', 'x1', 'z1', 'turn'), [
    (-0.18, 0.4, -0.18, 0.1, 0.0), (0.18, 0.1, 0.18, 0.4, 0.3), (-0.18, 0.4, 0.18, 0.4, -0.7)])
def test_straight_lines(arm, x0, z0, x1, z1, turn):
    """The tip of the moving arm stays on the line, and gets along it in good time."""
    robot, kinematics = arm
    start, end = above(robot, x0, z0), above(robot, x1, z1, turn)
    q = kinematics.ik(start, robot.arm.ready)
    path = cartesian(kinematics, q, start, end)
    np.testing.assert_array_equal(path[0], q)
    trajectory = timed(path, robot.arm.max_velocity, robot.arm.max_acceleration)
    assert trajectory.duration_s < 2.0
    found = extremes(trajectory)
    assert (found.velocity <= robot.arm.max_velocity).all()
    assert (found.acceleration <= robot.arm.max_acceleration).all()
    length, angle = distance(start, end)
    along = (end - start)[:3, 3] / length
    for q in next(dense(trajectory, 60)):
        pose = kinematics.fk(q)
        part = (pose - start)[:3, 3] @ along
        assert np.linalg.norm((pose - start)[:3, 3] - part * along) < 3e-4
        assert -1e-4 < part < length + 1e-4
        assert distance(start, pose)[1] == pytest.approx(angle * part / length, abs=3e-3)
    assert distance(kinematics.fk(trajectory.positions[-1]), end)[0] < 1e-4


def test_a_pick_and_place_takes_seconds(panda, panda_kinematics):
    """Down, up, across, down, up over stacks of three; the fingers' time not counted."""
    arm, kinematics = panda.arm, panda_kinematics
    poses = [above(panda, x, z) for x, z in (
        (-0.09, 0.26), (-0.09, 0.075), (-0.09, 0.26), (0.09, 0.26), (0.09, 0.125), (0.09, 0.26))]
    q = kinematics.ik(poses[0], arm.ready)
    total = timed(joint_line(arm.park, q), arm.max_velocity, arm.max_acceleration).duration_s
    for start, end in itertools.pairwise(poses):
        path = cartesian(kinematics, q, start, end)
        total += timed(path, arm.max_velocity, arm.max_acceleration).duration_s
        q = path[-1]
    total += timed(joint_line(q, arm.park), arm.max_velocity, arm.max_acceleration).duration_s
    assert 4.0 < total < 7.0


def test_lines_that_leave_the_reach(panda, panda_kinematics):
    start = above(panda, 0.0, 0.2)
    q = panda_kinematics.ik(start, panda.arm.ready)
    with pytest.raises(UnreachableError, match='cannot reach the straight way at .* of the base'):
        cartesian(panda_kinematics, q, start, above(panda, 1.0, 0.2))


@pytest.mark.parametrize(('name', 'turn'), [('panda', -2.5), ('ur5e', 2.5)])
def test_turns_at_which_the_arm_would_fold_another_way(robots, name, turn):
    """A wrist at its limit: the same poses are reached by going round the other way."""
    robot = robots[name]
    kinematics = Kinematics(robot)
    start, end = above(robot, 0.0, 0.2), above(robot, 0.0, 0.2, turn)
    q = kinematics.ik(start, robot.arm.ready)
    assert kinematics.ik(end, q) is not None
    with pytest.raises(UnreachableError, match='its joints would jump by'):
        cartesian(kinematics, q, start, end)


def test_lines_begin_where_the_tip_is(panda, panda_kinematics):
    with pytest.raises(ValueError, match='mm and .* rad from where the straight line begins'):
        cartesian(panda_kinematics, panda.arm.ready, above(panda, 0.1, 0.2),
                  above(panda, 0.1, 0.3))


@settings(max_examples=40, deadline=None)
@given(q=rows(1, 1), part=rows(1, 1, st.floats(-1, 1)))
def test_braking(q, part):
    stop = np.array([12.5, 10.0, 25.0])
    dq = part[0] * 0.08 * stop
    trajectory = stopping(q[0], dq, stop)
    assert trajectory.duration_s <= 0.08 + 1e-9
    np.testing.assert_array_equal(trajectory.positions[0], q[0])
    np.testing.assert_array_equal(trajectory.velocities[0], dq)
    assert not trajectory.velocities[-1].any()
    assert (extremes(trajectory).acceleration <= stop * (1 + 1e-4)).all()
    # On a straight line in joint space.
    np.testing.assert_allclose(np.diff(trajectory.positions, axis=0),
                               np.diff(trajectory.times_s)[:, None] * dq / 2, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(path=rows(2, 4), part=st.floats(0, 1))
def test_braking_does_not_pass_limits(path, part):
    """From a motion that keeps to limits, the arm can always be stopped within them."""
    trajectory = timed(path, MAX_V, MAX_A)
    found = extremes(trajectory)
    q, dq, _ = sample(trajectory, part * trajectory.duration_s)
    stop = extremes(stopping(q, dq, 1.2 * MAX_A, found.lower, found.upper))
    slack = 0.001 * MAX_V  # one step of time
    assert (stop.lower >= found.lower - slack).all()
    assert (stop.upper <= found.upper + slack).all()
    assert (stop.acceleration <= 1.2 * MAX_A * (1 + 1e-4)).all()


def test_only_who_must_brakes_harder():
    q, dq, stop = np.array([0.99, 0.0]), np.array([0.4, 0.8]), np.array([10.0, 10.0])
    assert stopping(q, dq, stop).positions[-1, 0] == pytest.approx(1.006)
    trajectory = stopping(q, dq, stop, np.full(2, -1.0), np.ones(2))
    assert trajectory.positions[-1] == pytest.approx([0.998, 0.032])
    assert trajectory.times_s == pytest.approx([0.0, 0.04, 0.08])


def test_braking_at_rest():
    trajectory = stopping(np.ones(2), np.zeros(2), np.ones(2))
    assert len(trajectory.times_s) == 2 and (trajectory.positions == 1.0).all()


def test_tables_and_bases(panda):
    """Lines are given in the base's frame; the table's is beside it."""
    point = transform(inverse(panda.table.pose), above(panda, 0.1, 0.2)[:3, 3])
    np.testing.assert_allclose(point, [0.1, 0.0, 0.2], atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_stopping_never_leaves_the_limits_nor_brakes_harder(seed):
    """Also from outside of them, and from velocities with which a joint could not stop in time."""
    rng = np.random.default_rng(seed)
    lower, upper, stop = -np.ones(3), np.ones(3), rng.uniform(5.0, 20.0, 3)
    q = rng.choice([-1.3, -1.0, 1.0, 1.3, 0.0], 3) + rng.normal(0.0, 1.0, 3) * 10.0**rng.uniform(
        -9.0, -1.0, 3)
    dq = 0.08 * stop * rng.uniform(-1.0, 1.0, 3) * 10.0**rng.uniform(-6.0, 0.0)
    trajectory = stopping(q, dq, stop, lower, upper)
    found = extremes(trajectory)
    assert (found.lower >= lower - 1e-12).all() and (found.upper <= upper + 1e-12).all()
    assert (found.acceleration <= stop * (1 + 1e-6)).all()
    assert (np.abs(trajectory.velocities[0]) <= np.abs(dq) + 1e-12).all()
    assert not trajectory.velocities[-1].any()
    assert trajectory.duration_s <= 0.081 + 1e-9
