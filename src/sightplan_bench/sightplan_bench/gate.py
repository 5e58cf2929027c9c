"""``sightplan bench gate``: random trajectories against the safety gate.

Trajectories are made that an arm could follow, that graze a limit, and that are broken. What the
gate lets through is judged by other means than its own: Hermite polynomials sampled densely in
time, and kinematics that are read from the URDF's XML and chained here. Nothing that was let
through may break a limit.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import statistics
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sightplan.commands.flags import option
from sightplan.commands.frame import Result, add_command
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError
from sightplan_bench.output import shown
from sightplan_bench.solids import SPARSE_M, Solids

if TYPE_CHECKING:
    from sightplan_arm.config import RobotConfig
    from sightplan_arm.hardware import JointState, JointTrajectory, Vector

BATCH = 2000
"""Trajectories of one random stream; results do not depend on the number of processes."""

SAMPLES = 97
"""Number of times at which the judge checks a trajectory, besides its points."""

TOLERANCE = 1e-7
"""Tolerance of the judge for rounding of positions [rad, m] and velocities [rad/s]."""

TOLERANCE_ACCELERATION = 1e-5
"""Tolerance of the judge for rounding of accelerations [rad/s2], divided by a squared time
step."""

NEEDLESS = 1e-3
"""Distance from all limits [rad, rad/s, rad/s2, m] at which a refusal was needless."""

_LIMITS = ('position_limit', 'velocity_limit', 'acceleration_limit', 'workspace', 'collision')

MOMENTS = 12
"""Times at which the judge compares bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench gate``."""

    robot: str = option('panda', 'name or file')
    trajectories: int = option(10_000, 'how many', low=0)
    seed: int = option(
        0, 'of all randomness; the same seed gives the same trajectories with any --jobs', low=0)
    jobs: int = option(1, 'processes')


@dataclass(frozen=True, eq=False)
class Trial:
    """A trajectory, and the state the arm is in when it is to begin.

    Attributes:
        kind: how it was made.
        trajectory: of the joints; may be broken.
        state: as measured.
    """

    kind: str
    trajectory: JointTrajectory
    state: JointState


@dataclass
class Tally:
    """Results of trials.

    Attributes:
        passed: number by kind.
        refused: number by cause.
        of_kind: number by kind.
        violations: what the judge found in those that passed.
        needless: refused for a limit that the judge finds kept with room to spare.
        judged_refusals: refused trajectories that the judge has seen.
        ms: of each check.
    """

    passed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    of_kind: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    needless: int = 0
    judged_refusals: int = 0
    ms: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.passed += other.passed
        self.refused += other.refused
        self.of_kind += other.of_kind
        self.violations += other.violations
        self.needless += other.needless
        self.judged_refusals += other.judged_refusals
        self.ms += other.ms

    def summary(self) -> dict[str, Any]:
        """The results as a JSON object."""
        passed, refused = sum(self.passed.values()), sum(self.refused.values())
        return {
            'trajectories': passed + refused, 'passed': passed, 'refused': refused,
            'refused_by_cause': dict(sorted(self.refused.items())),
            'passed_by_kind': {kind: f'{self.passed[kind]}/{n}'
                               for kind, n in sorted(self.of_kind.items())},
            'violations': len(self.violations), 'examples': self.violations[:5],
            'refused_needlessly': f'{self.needless}/{self.judged_refusals}',
            'check_ms_median': round(statistics.median(self.ms), 3) if self.ms else None}


class StillArm:
    """An arm that stands still, for checks alone."""

    def __init__(self) -> None:
        self.measured: JointState | None = None

    def now_s(self) -> float:
        """Time of the arm's clock: always 0."""
        return 0.0

    def state(self) -> JointState | None:
        """The state that was set; None before."""
        return self.measured

    def state_age_s(self) -> float:
        """Age of the state: always 0."""
        return 0.0

    def command(self, trajectory: JointTrajectory) -> None:
        """Fail: a check must not send a motion."""
        raise AssertionError('a check has sent a motion')

    def grip(self, opening_m: float, force_n: float) -> None:
        """Fail: a check must not move the fingers."""
        raise AssertionError('a check has moved the fingers')

    def wait(self, seconds: float) -> None:
        """Return at once."""


class Chain:
    """Forward kinematics from the URDF's XML: fixed transforms and rotations, one after another.

    Args:
        robot: its configuration.
    """

    def __init__(self, robot: RobotConfig) -> None:
        root = ElementTree.parse(robot.urdf).getroot()  # noqa: S314 - the robot's own file
        joints = {_of(joint, 'child', 'link'): joint for joint in root.findall('joint')}
        names = {name: column for column, name in enumerate(robot.arm.joints)}
        base = np.eye(4)
        for _, _, fixed in self._way(robot.base_frame, joints, {}):
            base = base @ fixed
        to_table = np.linalg.inv(base @ robot.table.pose)
        self._rotation, self._shift = to_table[:3, :3], to_table[:3, 3]
        self._points = [(np.array(point.xyz_m), self._way(point.frame, joints, names))
                        for point in robot.safety.points]

    @staticmethod
    def _way(link: str, joints: dict[str, Any], names: dict[str, int],
             ) -> list[tuple[int | None, Vector, Vector]]:
        """Column (None: fixed), cross product matrix of the axis, and origin of each joint."""
        way: list[tuple[int | None, Vector, Vector]] = []
        while link in joints:
            joint = joints[link]
            x, y, z = _numbers(_of(joint, 'axis', 'xyz', '1 0 0'))
            cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) / math.hypot(x, y, z)
            way.insert(0, (names.get(joint.get('name')), cross, _origin(joint)))
            link = _of(joint, 'parent', 'link')
        return way

    def origins(self, q: Vector) -> Vector:
        """(K, F, 3) places of the checked points in the table's frame [m] for (K, N) angles."""
        found = []
        for point, way in self._points:
            points = np.repeat(point[None], len(q), axis=0)
            for column, cross, origin in reversed(way):  # from the frame back to the root
                if column is not None:  # Rodrigues' formula
                    across = points @ cross.T
                    points = (points + np.sin(q[:, column])[:, None] * across
                              + (1.0 - np.cos(q[:, column]))[:, None] * (across @ cross.T))
                points = points @ origin[:3, :3].T + origin[:3, 3]
            found.append(points @ self._rotation.T + self._shift)
        return np.stack(found, axis=1)


def _of(joint: Any, tag: str, attribute: str, default: str = '') -> str:
    element = joint.find(tag)
    return str(default if element is None else element.get(attribute, default))


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def _origin(joint: Any) -> Vector:
    """(4, 4) of a joint in its parent: translation, yaw, pitch and roll, in this order."""
    pose = np.eye(4)
    roll, pitch, yaw = _numbers(_of(joint, 'origin', 'rpy', '0 0 0'))
    for (i, j), angle in (((0, 1), yaw), ((2, 0), pitch), ((1, 2), roll)):
        turn = np.eye(4)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[i, j], turn[j, i] = -math.sin(angle), math.sin(angle)
        pose = pose @ turn
    pose[:3, 3] = _numbers(_of(joint, 'origin', 'xyz', '0 0 0'))
    return pose


class Judge:
    """Judge of trajectories by dense sampling: do they keep to the limits?

    Args:
        robot: its configuration.
        still_rad_s: a joint slower than this is at rest.
    """

    def __init__(self, robot: RobotConfig, still_rad_s: float) -> None:
        self._robot, self._chain, self._still = robot, Chain(robot), still_rad_s
        self._solids = Solids(robot)

    def broken(self, trials: list[Trial]) -> list[str]:
        """Violation of each trial, in words; '' for none."""
        found = [self._form(trial) for trial in trials]
        rest = [i for i, wrong in enumerate(found) if not wrong]
        if rest:
            sampled = [_hermite(trials[i].trajectory) for i in rest]
            origins = self._chain.origins(np.concatenate([q for q, _, _ in sampled]))
            start = 0
            for i, (q, dq, ddq) in zip(rest, sampled, strict=True):
                found[i] = (self._over(q, dq, ddq, origins[start:start + len(q)])
                            or self._close(q[:SAMPLES]))
                start += len(q)
        return found

    def room(self, trial: Trial) -> tuple[float, ...]:
        """Smallest margins of a sound trajectory to the limits: rad, m, rad/s, rad/s2, m."""
        arm, safety = self._robot.arm, self._robot.safety
        q, dq, ddq = _hermite(trial.trajectory)
        points = self._chain.origins(q)
        bodies = self._solids.room(q[:SAMPLES][::SAMPLES // MOMENTS])
        return (float(np.minimum(q - arm.lower, arm.upper - q).min()),
                bodies - SPARSE_M,
                float((arm.max_velocity - np.abs(dq)).min()),
                float((arm.max_acceleration - np.abs(ddq)).min()),
                float(np.minimum(points - safety.box_min_m, safety.box_max_m - points).min()))

    def _form(self, trial: Trial) -> str:
        times, q, v = (trial.trajectory.times_s, trial.trajectory.positions,
                       trial.trajectory.velocities)
        if not (q.ndim == 2 and q.shape == v.shape == (len(times), len(self._robot.arm.joints))
                and len(times) >= 2):
            return f'shapes {times.shape}, {q.shape}, {v.shape}'
        if not math.isfinite(float(times.sum()) + float(q.sum()) + float(v.sum())):
            return 'numbers that are not finite'
        if times[0] != 0 or any(b <= a for a, b in itertools.pairwise(times)):
            return 'times that do not increase from zero'
        if float(np.abs(v[-1]).max()) > TOLERANCE:
            return 'no rest at the end'
        away = float(np.abs(q[0] - trial.state.positions).max())
        if away > self._robot.safety.start_tolerance_rad + TOLERANCE:
            return f'a jump of {away} rad'
        if max(float(np.abs(v[0] - trial.state.velocities).max()),
               float(np.abs(trial.state.velocities).max())) > self._still + TOLERANCE:
            return 'an arm that moves already'
        return ''

    def _close(self, q: Vector) -> str:
        """Whether two bodies come too close to one another that did not begin so."""
        rooms = self._solids.rooms(q[::SAMPLES // MOMENTS], 0.0)
        rooms[self._solids.rooms(q[:1], 0.0) < 0.0] = 0.0
        worst = int(np.argmin(rooms))
        if rooms[worst] >= -TOLERANCE:
            return ''
        return f'bodies too close by {-rooms[worst]}: {" and ".join(self._solids.pairs[worst])}'

    def _over(self, q: Vector, dq: Vector, ddq: Vector, points: Vector) -> str:
        arm, safety = self._robot.arm, self._robot.safety
        for name, excess, tolerance in (
                ('position', np.maximum(q - arm.upper, arm.lower - q), TOLERANCE),
                ('velocity', np.abs(dq) - arm.max_velocity, TOLERANCE),
                ('acceleration', np.abs(ddq) - arm.max_acceleration, TOLERANCE_ACCELERATION),
                ('box', np.maximum(safety.box_min_m - points, points - safety.box_max_m),
                 TOLERANCE)):
            worst = float(excess.max())
            if not worst <= tolerance:
                return f'{name} exceeded by {worst}'
        return ''


def _hermite(trajectory: JointTrajectory) -> tuple[Vector, Vector, Vector]:
    """Positions, velocities and accelerations (K, N) at evenly spaced times and at all points.

    By the four Hermite basis polynomials on each piece, and by their derivatives.
    """
    times = trajectory.times_s
    t = np.concatenate([np.linspace(0.0, times[-1], SAMPLES), times, times])
    piece = np.clip(np.searchsorted(times, t, side='right') - 1, 0, len(times) - 2)
    piece[-len(times) + 1:] = np.arange(len(times) - 1)  # each point as the end of a piece, too
    h = (times[piece + 1] - times[piece])[:, None]
    s = (t[:, None] - times[piece][:, None]) / h
    p0, p1 = trajectory.positions[piece], trajectory.positions[piece + 1]
    m0, m1 = h * trajectory.velocities[piece], h * trajectory.velocities[piece + 1]
    q = ((1 + 2 * s) * (1 - s)**2 * p0 + s * (1 - s)**2 * m0 + s**2 * (3 - 2 * s) * p1
         + s**2 * (s - 1) * m1)
    dq = (6 * s * (s - 1) * (p0 - p1) + (1 - s) * (1 - 3 * s) * m0 + s * (3 * s - 2) * m1) / h
    ddq = ((12 * s - 6) * (p0 - p1) + (6 * s - 4) * m0 + (6 * s - 2) * m1) / h**2
    return q, dq, ddq


class TrialGenerator:
    """Makes random trials for a robot.

    Args:
        robot: its configuration.
        rng: where randomness comes from.
        pool: postures in the box to begin with; see ``postures_in_box``.
    """

    def __init__(self, robot: RobotConfig, rng: np.random.Generator,
                 pool: tuple[Vector, Vector]) -> None:
        self._robot, self._rng, (self._inside, self._edge) = robot, rng, pool
        self._kinds: list[tuple[str, Callable[[], JointTrajectory]]] = [
            ('plausible', self._plausible), ('plausible', self._plausible),
            ('plausible', self._plausible), ('wandering', self._wandering),
            ('box_graze', self._box_graze), ('velocity_graze', self._velocity_graze),
            ('acceleration_graze', self._acceleration_graze),
            ('position_graze', self._position_graze), ('overshoot', self._overshoot),
            ('tiny_steps', self._tiny_steps), ('broken', self._broken)]

    def make(self) -> Trial:
        """Make a trial; one in twenty starts away from the arm's position, or while it moves."""
        from sightplan_arm.hardware import JointState
        rng, n = self._rng, len(self._robot.arm.joints)
        kind, make = self._kinds[rng.integers(len(self._kinds))]
        trajectory = make()
        tolerance = self._robot.safety.start_tolerance_rad
        start = (trajectory.positions[0] if trajectory.positions.shape[1:] == (n,)
                 and len(trajectory.positions) else self._inside[0])
        away = rng.uniform(-0.2, 0.2, n) * tolerance
        speed = rng.normal(0.0, 0.002, n)
        if rng.random() < 0.05:
            kind = 'start'
            joint = rng.integers(n)
            if rng.random() < 0.5:
                away[joint] = rng.choice([-1, 1]) * tolerance * rng.choice(
                    [1 - 1e-6, 1 + 1e-6, 2.0, 20.0])
            else:
                speed[joint] = rng.choice([-1, 1]) * rng.choice([0.049, 0.051, 0.5])
        return Trial(kind, trajectory, JointState(0.0, start + away, speed,
                                                  self._robot.gripper.open_m))

    # --- sound ones and such that graze a limit -----------------------------------------------

    def _plausible(self) -> JointTrajectory:
        """A smooth trajectory from rest to rest within a part of the limits, maybe by a detour."""
        start, way, bend = self._ways(self._inside)
        return self._smooth(start, way, bend, float(self._rng.uniform(0.3, 1.02)))

    def _box_graze(self) -> JointTrajectory:
        """A smooth trajectory from a posture with a frame near a side of the box."""
        start, way, bend = self._ways(self._edge)
        part = 10.0 ** self._rng.uniform(-2.5, 0.0)
        return self._smooth(start, part * way, part * bend, float(self._rng.uniform(0.3, 1.0)))

    def _wandering(self) -> JointTrajectory:
        """Random points near each other, with the velocities of a smooth curve through them."""
        rng, arm = self._rng, self._robot.arm
        points, step = int(rng.integers(3, 14)), float(rng.uniform(0.1, 0.6))
        q = np.cumsum(rng.normal(0.0, 0.06, (points, len(arm.joints))) * arm.max_velocity * step,
                      axis=0)
        q = self._pick(self._inside) + q - q[0]
        v = np.zeros_like(q)
        v[1:-1] = (q[2:] - q[:-2]) / (2.0 * step)
        return _trajectory(step * np.arange(points), q, v)

    def _velocity_graze(self) -> JointTrajectory:
        """A cubic whose greatest velocity is near a joint's limit."""
        arm = self._robot.arm
        least = 8.0 / 3.0 * arm.max_velocity**2 / arm.max_acceleration  # shorter: too hard
        return self._cubic(least * self._rng.uniform(1.0, 2.0), 1.5, 1, arm.max_velocity)

    def _acceleration_graze(self) -> JointTrajectory:
        """A cubic whose greatest acceleration is near a joint's limit."""
        arm = self._robot.arm
        most = 8.0 / 3.0 * arm.max_velocity**2 / arm.max_acceleration  # longer: too fast
        return self._cubic(most * self._rng.uniform(0.02, 1.0), 6.0, 2, arm.max_acceleration)

    def _position_graze(self) -> JointTrajectory:
        """A smooth trajectory to a position near a joint's limit; mostly the last joint's."""
        rng, arm = self._rng, self._robot.arm
        start = self._pick(self._inside)
        joint = -1 if rng.random() < 0.8 else int(rng.integers(len(start)))
        limit, sign = ((arm.upper, 1.0), (arm.lower, -1.0))[rng.integers(2)]
        way = np.zeros_like(start)
        way[joint] = limit[joint] + sign * self._little() - start[joint]
        return self._smooth(start, way, np.zeros_like(start), float(rng.uniform(0.2, 0.9)))

    def _overshoot(self) -> JointTrajectory:
        """Points that are sound, with velocities that throw the spline out between them."""
        rng, arm = self._rng, self._robot.arm
        start = self._pick(self._edge if rng.random() < 0.5 else self._inside)
        joint = int(rng.integers(len(start)))
        if rng.random() < 0.6:  # near a joint's limit, or wherever it is
            start[joint] = (arm.upper[joint] - 0.01 if rng.random() < 0.5
                            else arm.lower[joint] + 0.01)
        points, step = int(rng.integers(3, 7)), float(rng.uniform(0.2, 1.0))
        q = start + np.zeros((points, 1))
        v = np.zeros_like(q)
        v[1:-1, joint] = arm.max_velocity[joint] * rng.uniform(-1.0, 1.0, points - 2)
        return _trajectory(step * np.arange(points), q, v)

    # --- broken ones --------------------------------------------------------------------------

    def _tiny_steps(self) -> JointTrajectory:
        """A sound trajectory with one point moved close to its neighbour."""
        trajectory = self._plausible()
        times = trajectory.times_s.copy()
        k = int(self._rng.integers(1, len(times)))
        times[k:] -= times[k] - times[k - 1] - 10.0 ** self._rng.uniform(-12.0, -2.0)
        return _trajectory(times, trajectory.positions, trajectory.velocities)

    def _broken(self) -> JointTrajectory:
        """A sound trajectory with one defect."""
        rng, trajectory = self._rng, self._plausible()
        times, q, v = (trajectory.times_s.copy(), trajectory.positions.copy(),
                       trajectory.velocities.copy())
        row, column = int(rng.integers(len(q))), int(rng.integers(q.shape[1]))
        match int(rng.integers(10)):
            case 0:
                q[row, column] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 1e30, 10.0])
            case 1:
                v[row, column] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 1e30, 10.0])
            case 2:
                times[row] = rng.choice([np.nan, np.inf, -np.inf, -1.0, 1e308])
            case 3:
                times = times[::-1].copy()
            case 4:
                times += rng.choice([1e-9, 0.1, -0.1])
            case 5:
                v[-1, column] = rng.choice([1e-8, 1e-3, 0.5])
            case 6:
                q = q[:, :-1]
            case 7:
                times, q, v = times[:1], q[:1], v[:1]
            case 8:
                times, v = 1e3 * times, 1e-3 * v
            case _:
                v = v[:-1]
        return _trajectory(times, q, v)

    # --- parts --------------------------------------------------------------------------------

    def _pick(self, pool: Vector) -> Vector:
        return np.array(pool[self._rng.integers(len(pool))])

    def _little(self) -> float:
        return float(self._rng.choice([-1e-3, -1e-6, 1e-6, 1e-3]))

    def _ways(self, pool: Vector) -> tuple[Vector, Vector, Vector]:
        rng, start = self._rng, self._pick(pool)
        if rng.random() < 0.3:
            way = self._pick(self._inside) - start
        else:
            way = rng.normal(0.0, 1.0, len(start)) * 10.0 ** rng.uniform(-2.0, -0.3)
        bend = np.zeros_like(start)
        if rng.random() < 0.5:
            bend = rng.normal(0.0, 0.1, len(start))
        return start, way, bend

    def _cubic(self, ways: Vector, peak: float, power: int, limits: Vector) -> JointTrajectory:
        """A cubic from rest to rest in which one joint is driven near its limit.

        Args:
            ways: (N,) how far the joint goes, whichever it is.
            peak: its greatest derivative is ``peak * way / T ** power``.
            power: see there.
            limits: (N,) of the derivative.
        """
        rng, start = self._rng, self._pick(self._inside)
        joint = int(rng.integers(len(start)))
        share = rng.uniform(-0.9, 0.9, len(start)) * (rng.random() < 0.5)
        share[joint] = rng.choice([-1.0, 1.0])
        limit = limits[joint] + self._little()
        duration = (peak * ways[joint] / limit)**(1.0 / power)
        way = share * limits * duration**power / peak
        way[joint] = share[joint] * ways[joint]
        return _trajectory(np.array([0.0, duration]), np.stack([start, start + way]),
                           np.zeros((2, len(start))))

    def _smooth(self, start: Vector, way: Vector, bend: Vector, part: float) -> JointTrajectory:
        """A quintic along ``way`` with a detour ``bend``, as fast as ``part`` of the limits."""
        arm = self._robot.arm
        fastest = 1.875 * np.abs(way) + 3.1 * np.abs(bend)
        hardest = 5.774 * np.abs(way) + 32.0 * np.abs(bend)
        duration = max(float((fastest / arm.max_velocity).max()),
                       math.sqrt(float((hardest / arm.max_acceleration).max())), 0.05) / part
        points = int(self._rng.integers(4, 33))
        s = np.linspace(0.0, 1.0, points)[:, None]
        q = (start + s**3 * (10.0 - 15.0 * s + 6.0 * s * s) * way
             + 16.0 * s**2 * (1.0 - s)**2 * bend)
        v = (30.0 * s**2 * (1.0 - s)**2 * way + 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s) * bend)
        return _trajectory(duration * s[:, 0], q, v / duration)


def _trajectory(times: Any, q: Vector, v: Vector) -> JointTrajectory:
    from sightplan_arm.hardware import JointTrajectory
    return JointTrajectory(times, q, v)


def postures_in_box(robot: RobotConfig, rng: np.random.Generator, count: int,
                    ) -> tuple[Vector, Vector]:
    """Random postures whose checked points are in the box, and others that graze a side of it.

    Returns:
        (count, N) and (count, N) [rad].
    """
    arm, safety, chain = robot.arm, robot.safety, Chain(robot)

    def margins(q: Vector) -> Vector:
        points = chain.origins(q)
        return np.asarray(np.minimum(points - safety.box_min_m,
                                     safety.box_max_m - points).min(axis=(1, 2)))

    found: list[Vector] = []
    while sum(map(len, found)) < 2 * count:
        q = rng.uniform(arm.lower, arm.upper, (4096, len(arm.lower)))
        near = arm.ready + rng.normal(0.0, 0.5, q.shape)
        q = np.clip(np.where(rng.random((len(q), 1)) < 0.5, q, near), arm.lower, arm.upper)
        found.append(q[margins(q) > 0.0])
    inside = np.concatenate(found)[:2 * count]
    inside, low = inside[:count], inside[count:]
    # Bisect between a posture inside and one outside: what is left is inside by a hair.
    high = low.copy()
    out = np.zeros(len(low), dtype=bool)
    while not out.all():
        tries = np.clip(low + rng.normal(0.0, 0.7, low.shape), arm.lower, arm.upper)
        new = ~out & (margins(tries) < 0.0)
        high[new], out = tries[new], out | new
    for _ in range(int(rng.integers(8, 14))):
        middle = 0.5 * (low + high)
        is_in = (margins(middle) > 0.0)[:, None]
        low, high = np.where(is_in, middle, low), np.where(is_in, high, middle)
    return inside, low


def run_batch(robot_name: str, seed: int, batch: int, count: int) -> Tally:
    """Trials of one random stream."""
    from sightplan_arm.gate import Gate
    from sightplan_arm.hardware import ArmStoppedError
    from sightplan_arm.kinematics import Kinematics
    robot, pool = _prepared(robot_name, seed)
    arm = StillArm()
    gate = Gate(arm, robot, Kinematics(robot))
    gate.new_episode()
    judge = Judge(robot, gate.settings.still_rad_s)
    generator = TrialGenerator(robot, np.random.default_rng([seed, batch]), pool)
    tally, passed, refused = Tally(), [], []
    for number in range(count):
        trial = generator.make()
        arm.measured = trial.state
        tally.of_kind[trial.kind] += 1
        start = time.perf_counter()
        try:
            gate.check(trial.trajectory)
        except ArmStoppedError as error:
            tally.refused[error.cause] += 1
            if error.cause in _LIMITS and number % 4 == 0:
                refused.append(trial)
        else:
            tally.passed[trial.kind] += 1
            passed.append(trial)
        tally.ms.append(1e3 * (time.perf_counter() - start))
    for first in range(0, len(passed), 64):
        some = passed[first:first + 64]
        for trial, wrong in zip(some, judge.broken(some), strict=True):
            if wrong:
                tally.violations.append(f'{trial.kind}, batch {batch}: {wrong}')
    with np.errstate(all='ignore'):
        tally.judged_refusals = len(refused)
        tally.needless = sum(min(judge.room(trial)) > NEEDLESS for trial in refused)
    return tally


_PREPARED: dict[tuple[str, int], tuple[RobotConfig, tuple[Vector, Vector]]] = {}


def _prepared(robot_name: str, seed: int) -> tuple[RobotConfig, tuple[Vector, Vector]]:
    """Robot and postures, made once in each process."""
    from sightplan_arm.config import load_robot
    key = (robot_name, seed)
    if key not in _PREPARED:
        robot = load_robot(robot_name)
        _PREPARED[key] = robot, postures_in_box(robot, np.random.default_rng(seed), 4000)
    return _PREPARED[key]


def _run_batch(arguments: tuple[str, int, int, int]) -> Tally:
    return run_batch(*arguments)


def run(robot_name: str, trajectories: int, seed: int, jobs: int,
        progress: Callable[[int], None] = lambda done: None) -> Tally:
    """Check random trajectories with the gate and the judge.

    Args:
        robot_name: name or path, as of ``load_robot``.
        trajectories: how many.
        seed: of all randomness.
        jobs: processes.
        progress: called with the number done so far.

    Raises:
        InputError: the robot's file is wrong.
    """
    _prepared(robot_name, seed)  # errors of the file come here, and once
    work = [(robot_name, seed, batch, min(BATCH, trajectories - first))
            for batch, first in enumerate(range(0, trajectories, BATCH))]
    tally, done = Tally(), 0
    for part in _tallies(work, jobs):
        tally.add(part)
        done += sum(part.of_kind.values())
        progress(done)
    return tally


def _tallies(work: list[tuple[str, int, int, int]], jobs: int) -> Iterator[Tally]:
    if jobs == 1:
        yield from map(_run_batch, work)
        return
    with multiprocessing.get_context('spawn').Pool(jobs) as pool:
        yield from pool.imap_unordered(_run_batch, work)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench gate``."""
    add_command(
        subparsers, 'gate', measure, 'random trajectories against the safety gate of an arm',
        _DESCRIPTION, settings=Arguments, examples=_EXAMPLES,
        exits='0 done; 1 something wrong passed; 2 bad usage')


_DESCRIPTION = """\
Make random trajectories (sound ones, such that graze a limit, broken ones), have the safety gate
check them, and judge what passed by dense sampling with kinematics and shapes of its own.
Violations must be 0: else the command fails."""

_EXAMPLES = """\
examples:
  sightplan bench gate
  sightplan bench gate --trajectories 1000000 --jobs 2 --json
  sightplan bench gate --robot ur5e --seed 7
"""


def measure(arguments: Arguments) -> Result:
    """Run the trials, and print the result."""
    began = time.monotonic()
    if arguments.trajectories < 1 or arguments.jobs < 1:
        raise InputError('--trajectories and --jobs must be 1 or more')
    with EpisodeBar() as bar:
        tally = run(arguments.robot, arguments.trajectories, arguments.seed, arguments.jobs,
                    lambda done: bar.stage('trajectories', done, arguments.trajectories))
    return shown({
        'robot': arguments.robot, 'seed': arguments.seed, **tally.summary(),
        'seconds': round(time.monotonic() - began, 1)}, not tally.violations)
