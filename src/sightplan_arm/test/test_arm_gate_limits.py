"""What the gate's limits let through: exact on joints, proven for the box, sampled by others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_doubles import way
from sightplan_arm.config import BodiesConfig, PairConfig
from sightplan_arm.gate import CAUSES
from sightplan_arm.geometry import hand_down, rotation_from_rpy
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory
from sightplan_arm.limits import Limits, reaches
from sightplan_arm.trajectories import Spline

LIMIT = ('position_limit', 'velocity_limit', 'acceleration_limit')


def refusal(checks, trajectory):
    """Cause of the refusal, '' if there is none."""
    try:
        checks.check(trajectory)
    except ArmStoppedError as error:
        return error.cause if error.cause in CAUSES and not error.latched else repr(error)
    return ''


@pytest.fixture(scope='module')
def checks(panda, panda_kinematics):
    return Limits(panda, panda_kinematics)


@pytest.fixture
def go(panda):
    return way(panda, panda.arm.park, panda.arm.ready)


def cubic(robot, joint, distance, duration):
    """One joint from rest to rest in one cubic, from ``ready``."""
    q = np.stack([robot.arm.ready, robot.arm.ready])
    q[1, joint] += distance
    return JointTrajectory(np.array([0.0, duration]), q, 0 * q)


# --- form -------------------------------------------------------------------------------------


@pytest.mark.parametrize('spoil', [
    lambda t, q, v: (t[:1], q[:1], v[:1]),
    lambda t, q, v: (t[:0], q[:0], v[:0]),
    lambda t, q, v: (t, q[:, :-1], v[:, :-1]),
    lambda t, q, v: (t, q, v[:-1]),
    lambda t, q, v: (t, q, np.zeros((0, 7))),
    lambda t, q, v: (t[:, None], q, v),
    lambda t, q, v: (list(t), q, v),
    lambda t, q, v: (t, q.astype(np.float32), v),
    lambda t, q, v: (t, q.astype(object), v),
    lambda t, q, v: (t, np.ma.masked_array(q), v),
    lambda t, q, v: (t + 0.001, q, v),
    lambda t, q, v: (t - 1e-12, q, v),
    lambda t, q, v: (t[::-1].copy(), q, v),
    lambda t, q, v: (np.where(np.arange(len(t)) == 5, t[4] + 9e-4, t), q, v),
    lambda t, q, v: (np.where(np.arange(len(t)) == 5, t[4], t), q, v),
    lambda t, q, v: (t * 100, q, v / 100),
    lambda t, q, v: (t, q, v + 1e-8),
    lambda t, q, v: (np.linspace(0, 50.0, 5001), np.repeat(q[:1], 5001, 0), np.zeros((5001, 7))),
    *(lambda t, q, v, x=x: (np.where(np.arange(len(t)) == 3, x, t), q, v)
      for x in (np.nan, np.inf, -1.0)),
    *(lambda t, q, v, x=x: (t, np.where(np.eye(*q.shape, -3) > 0, x, q), v)
      for x in (np.nan, np.inf, -np.inf)),
    *(lambda t, q, v, x=x: (t, q, np.where(np.eye(*q.shape, -3) > 0, x, v))
      for x in (np.nan, np.inf, -np.inf))])
def test_malformed_trajectories_are_invalid(checks, go, spoil):
    spoilt = JointTrajectory(*spoil(go.times_s, go.positions, go.velocities))
    assert refusal(checks, spoilt) == 'invalid'
    assert refusal(checks, go) == ''


@pytest.mark.parametrize('huge', [1e30, 1e200, 1.7e308])
def test_numbers_that_overflow_are_refused(checks, go, huge):
    for name in ('positions', 'velocities'):
        array = getattr(go, name).copy()
        array[3, 3] = huge
        assert refusal(checks, replace(go, **{name: array})) in LIMIT


# --- joints -----------------------------------------------------------------------------------


@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('sign', [-1, 1])
def test_joint_limits_are_exact_to_a_millionth(panda, checks, joint, sign):
    arm = panda.arm
    fast, hard = arm.max_velocity[joint], arm.max_acceleration[joint]
    far = 8 / 3 * fast**2 / hard  # a cubic this long meets both limits
    for excess, caught in ((1e-6, True), (-1e-6, False)):
        found = {refusal(checks, cubic(panda, joint, sign * 1.2 * far,
                                       1.5 * 1.2 * far / (fast + excess))),
                 'velocity_limit' if caught else ''}
        assert found <= {'velocity_limit', 'workspace'} if caught else found <= {'', 'workspace'}
        found = refusal(checks, cubic(panda, joint, sign * 0.02 * far,
                                      (6 * 0.02 * far / (hard + 10 * excess))**0.5))
        assert found == ('acceleration_limit' if caught else '')
        limit = arm.upper[joint] if sign > 0 else arm.lower[joint]
        distance = limit + sign * excess - arm.ready[joint]
        found = refusal(checks, cubic(panda, joint, distance, 15.0))
        assert (found == 'position_limit') is caught


@pytest.mark.parametrize('joint', range(7))
def test_overshoot_between_sound_points_is_seen(panda, checks, joint):
    """Three points at the same place near a limit; the velocity of the middle one throws out."""
    arm = panda.arm
    q = np.repeat(arm.ready[None], 3, 0)
    q[:, joint] = arm.upper[joint] - 0.01
    v = np.zeros_like(q)
    v[1, joint] = 0.9 * arm.max_velocity[joint]
    times = np.array([0.0, 1.0, 2.0])
    assert refusal(checks, JointTrajectory(times, q, v)) == 'position_limit'
    v[1, joint] = 0.06  # by 4/27 of it
    assert refusal(checks, JointTrajectory(times, q, v)) in ('', 'workspace')


def test_velocity_between_slow_points_is_seen(panda, checks):
    fastest_s = 1.5 * 1.0 / panda.arm.max_velocity[6]
    assert refusal(checks, cubic(panda, 6, 1.0, 0.995 * fastest_s)) == 'velocity_limit'
    assert refusal(checks, cubic(panda, 6, 1.0, 1.005 * fastest_s)) == ''


# --- the box ----------------------------------------------------------------------------------


def tight(robot, kinematics, joint, distance, duration, room_m, frame=0):
    """A cubic of one joint, and limits whose box ends ``room_m`` beyond the way's highest z."""
    trajectory = cubic(robot, joint, distance, duration)
    s = np.linspace(0.0, 1.0, 2001)[:, None]
    q = robot.arm.ready + (3 * s**2 - 2 * s**3) * (trajectory.positions[1] - robot.arm.ready)
    points = kinematics.fk_many(q, robot.safety.checked_frames)[:, frame]
    box = robot.safety.box_min_m.copy()
    box[2] = points[:, 2].min() - room_m
    frames = (robot.safety.checked_frames[frame],)
    return trajectory, Limits(replace(robot, safety=replace(
        robot.safety, box_min_m=box, checked_frames=frames, checked_points=())), kinematics)


@pytest.mark.parametrize('room_m', [2e-4, 1e-3, 0.02, 1e-6, -1e-6, -1e-5, -1e-3])
def test_the_lowest_point_of_an_arc_between_two_points_counts(panda, panda_kinematics, room_m):
    """The wrist swings the tip through its lowest point, far from both ends."""
    swing = np.repeat(panda.arm.ready[None], 301, 0)
    swing[:, 5] += np.linspace(-1.5, 1.5, 301)
    heights = panda_kinematics.fk_many(swing, (panda.tip_frame,))[:, 0, 2]
    ready = swing[np.argmin(heights)] + 0.65 * np.eye(7)[5]
    robot = replace(panda, arm=replace(panda.arm, ready=ready))
    trajectory, checks = tight(robot, panda_kinematics, 5, -1.3, 6.0, room_m)
    ends = panda_kinematics.fk_many(trajectory.positions, (panda.tip_frame,))[:, 0, 2]
    assert ends.min() > checks._safety.box_min_m[2] + 0.02, 'both ends are well inside'
    assert refusal(checks, trajectory) == ('' if room_m > 1e-4 else 'workspace')


POINTS_ALONE = BodiesConfig(pairs=tuple(
    PairConfig((name, 'box'), None, 'only points are looked at here')
    for name in ('hand', 'panda_link5', 'panda_link4')))


@pytest.mark.parametrize('frame', range(4))
def test_every_checked_frame_and_side_counts(panda, panda_kinematics, go, frame):
    name = panda.safety.checked_frames[frame]
    points = panda_kinematics.fk_many(go.positions, (name,))[:, 0]
    for axis in range(3):
        for side, extreme in (('box_min_m', points.min(0)), ('box_max_m', points.max(0))):
            for room, cause in ((0.01, ''), (-0.01, 'workspace')):
                box = {'box_min_m': np.full(3, -2.0), 'box_max_m': np.full(3, 2.0)}
                box[side][axis] = extreme[axis] + (-room if side == 'box_min_m' else room)
                safety = replace(panda.safety, checked_frames=(name,), checked_points=(),
                                 bodies=POINTS_ALONE, **box)
                found = Limits(replace(panda, safety=safety), panda_kinematics)
                assert refusal(found, go) == cause


@pytest.mark.parametrize('tilt', [0.5, 1.0])
def test_a_tilted_hand_may_not_touch_the_table(panda, panda_kinematics, checks, tilt):
    """Its tip is in the box, but a finger or a corner of the hand would not be."""
    upright = hand_down((0.0, 0.0, 0.025), 0.3)
    tilted = upright.copy()
    tilted[:3, :3] = upright[:3, :3] @ rotation_from_rpy((tilt, 0.0, 0.0))
    found = []
    for pose in (upright, tilted):
        q = panda_kinematics.ik(panda.table.pose @ pose, panda.arm.ready)
        found.append(refusal(checks, JointTrajectory(
            np.array([0.0, 0.1]), np.stack([q, q]), np.zeros((2, 7)))))
    assert found == ['', 'workspace']


def test_reaches_bound_every_frame_and_joint(arm):
    """No derivative of a frame's place by a joint angle is greater, wherever the arm is."""
    robot, kinematics = arm
    bounds, frames = reaches(robot), robot.safety.points
    rng = np.random.default_rng(3)
    q = rng.uniform(robot.arm.lower, robot.arm.upper, (300, len(robot.arm.joints)))
    for joint in range(q.shape[1]):
        step = np.zeros(q.shape[1])
        step[joint] = 1e-6
        slopes = np.linalg.norm(kinematics.fk_many(q + step, frames)
                                - kinematics.fk_many(q - step, frames), axis=2) / 2e-6
        assert (slopes.max(axis=0) <= bounds[:, joint] + 1e-8).all()
        assert (slopes.max(axis=0) >= 0.4 * bounds[:, joint] - 1e-8).all(), 'needlessly loose'


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(-2.5, 0.3), st.booleans())
def test_no_frame_strays_further_from_its_chord_than_the_bound(
        panda, panda_kinematics, checks, seed, size, even):
    """Random cubics, also such without acceleration, where only turning bends the way."""
    rng = np.random.default_rng(seed)
    n = len(panda.arm.joints)
    h = np.array([10.0**rng.uniform(-1.5, 0.0)])
    a, b, c, d = (rng.normal(0.0, 1.0, (1, n)) * scale for scale in (1.0, *(
        10.0**size * h**-power for power in (1, 2, 3))))
    if even:
        c, d = 0 * c, 0 * d
    spline = Spline(h, a, b, c, d)
    piece, u = np.zeros(101, dtype=int), np.linspace(0.0, h[0], 101)
    points = panda_kinematics.fk_many(spline.positions(piece, u), panda.safety.points)
    part = (u / h[0])[:, None, None]
    away = np.linalg.norm(points - (1 - part) * points[0] - part * points[-1], axis=2).max(0)
    bound = checks._strays(spline, piece[:1], np.zeros(1), h)[0]
    assert (away <= bound + 1e-12).all()


def test_arms_with_other_joints_are_refused_with_a_reason(panda, tmp_path):
    urdf = tmp_path / 'slide.urdf'
    urdf.write_text(panda.urdf.read_text().replace(
        '<joint name="panda_joint3" type="revolute">',
        '<joint name="panda_joint3" type="prismatic">'))
    with pytest.raises(Exception, match='panda_joint3 is not a rotary joint'):
        reaches(replace(panda, urdf=urdf))


# --- measured states --------------------------------------------------------------------------


def test_measured_states_may_exceed_limits_by_their_slack_only(panda, checks):
    arm, zero = panda.arm, np.zeros(7)

    def cause(q, dq, position=0.02, velocity=0.2, box=0.01):
        try:
            checks.check_measured(q, dq, position, velocity, box)
        except ArmStoppedError as error:
            return error.cause
        return ''
    assert cause(arm.ready, zero) == ''
    for joint in range(7):
        dq = zero.copy()
        dq[joint] = -1.19 * arm.max_velocity[joint]
        assert cause(arm.ready, dq) == ''
        dq[joint] *= 1.21 / 1.19
        assert cause(arm.ready, dq) == 'measured_velocity'
        dq[joint] = np.nan
        assert cause(arm.ready, dq) == 'measured_velocity'
        q = arm.ready.copy()
        q[joint] = arm.lower[joint] - 0.021
        assert cause(q, zero) == 'measured_position'
        q[joint] = np.nan
        assert cause(q, zero) == 'measured_position'
    q = arm.ready.copy()
    q[6] = arm.upper[6] + 0.019
    assert cause(q, zero) == ''
    q[0] = -2.8
    assert cause(q, zero) == 'measured_workspace'
    assert cause(q, zero, box=5.0) == ''
