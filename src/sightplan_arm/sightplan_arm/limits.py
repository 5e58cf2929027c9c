"""Limits of a trajectory, all proven: numbers, times, joints, workspace box and bodies.

Joints follow cubic splines, whose greatest positions, velocities and accelerations are known in
closed form. How far a point of the arm strays from the straight line between two samples is
bounded from above, so that a path is let through only if all of it lies in the box; nothing is
merely sampled. How bodies are proven to keep apart is told in ``sightplan_arm.bodies``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.bodies import Conflict, bodies_of
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory, Vector
from sightplan_arm.surroundings import HELD, NOTHING, OBSTACLES, SIDES, TABLE, Around
from sightplan_arm.trajectories import Spline, extremes

if TYPE_CHECKING:
    from sightplan_arm.kinematics import Kinematics

SLACK = 1e-9
"""Excess that rounding may give a position [rad] or a velocity [rad/s]."""

SLACK_ACCELERATION = 1e-6
"""Excess that rounding may give an acceleration [rad/s2], which is divided by a squared time
step."""

MIN_STEP_S = 1e-3
"""Least time between two points; shorter steps turn round-off into accelerations."""

REST_RAD_S = 1e-9
"""Velocity that counts as rest at the end of a trajectory."""

RESOLUTION_M = 1e-4
"""Distance from the box's sides up to which a path inside of it may be refused [m]."""

MOST_SAMPLES = 200_000
"""Largest number of samples of one path; only motions that no arm makes need more."""


class Limits:
    """Checks trajectories of one arm, and measured states.

    Attributes:
        bodies: what the arm consists of, and how far it keeps from what.
    """

    def __init__(self, robot: RobotConfig, kinematics: Kinematics, max_points: int = 5000,
                 max_duration_s: float = 60.0) -> None:
        self._arm, self._safety, self._kinematics = robot.arm, robot.safety, kinematics
        self._points = robot.safety.points
        self._max_points, self._max_duration_s = max_points, max_duration_s
        self._reach = reaches(robot)  # (F, N)
        self.bodies = bodies_of(robot, kinematics)
        self._file = robot.file
        order = np.arange(len(robot.arm.joints))
        # The later of two joints bounds the second derivative by their angles.
        self._reach_of_pairs = self._reach[:, np.maximum.outer(order, order)]  # (F, N, N)

    def check(self, trajectory: JointTrajectory, around: Around = NOTHING) -> None:
        """Raise ArmStoppedError if the trajectory breaks a limit; its cause says which.

        Nothing of the present is looked at: it may be asked at any time, for any trajectory.

        Args:
            trajectory: of the joints.
            around: what it is checked against besides the arm itself.
        """
        self._check_form(trajectory)
        with np.errstate(over='ignore', invalid='ignore'):  # values that overflow are refused
            self._check_joints(trajectory)
            spline = Spline.of(trajectory)
            self._check_box(spline)
            conflict = self.bodies.conflict(spline, around)
        if conflict is not None:
            raise _refused('workspace' if conflict.other.kind == SIDES else 'collision',
                           self._conflict_text(conflict))

    def check_bodies(self, positions: Vector, slack_m: float) -> float:
        """Raise ArmStoppedError if bodies are measured to overlap.

        Args:
            positions: (N,) of the joints [rad].
            slack_m: by which they may be nearer than their margins.

        Returns:
            how far any point of the arm may go before they can be [m].
        """
        conflict, room_m = self.bodies.measured(positions, slack_m)
        if conflict is not None:
            one, other = conflict.one, conflict.other
            raise _refused('measured_workspace' if other.kind == SIDES else 'measured_contact',
                           f'{one.name} is at {_gap_text(conflict.distance_m)} {other.name}; the '
                           f'margin is {1e3 * conflict.margin_m:g} mm')
        return room_m

    def _conflict_text(self, conflict: Conflict) -> str:
        """Describe both bodies, their distance and margin, and the remedy."""
        one, other = conflict.one, conflict.other
        kinds = {one.kind, other.kind}
        begins = ('begins too close, must lead away only, and ' if conflict.leaving else '')
        if conflict.leaving:
            remedy = ('lead it away first, by a motion that does nothing else or by the '
                      "robot's own means (hand guiding)")
        elif OBSTACLES in kinds:
            remedy = (f'take it away or go around it; what always stands there is in {self._file} '
                      '(safety.bodies.obstacles)')
        elif SIDES in kinds:
            remedy = ('choose another posture or place; where more is free, enlarge '
                      f'safety.box_min_m or box_max_m in {self._file}')
        elif TABLE in kinds:
            remedy = f'stay higher, or correct table.pose in {self._file}'
        elif HELD in kinds:
            remedy = 'take it another way, or choose another posture'
        else:
            remedy = ('choose another posture; if the shapes of the URDF are too large there, '
                      f'give the pair a margin of its own in {self._file} (safety.bodies.pairs)')
        what = f'what is held ({one.name})' if one.kind == HELD else one.name
        return (f'the motion {begins}would bring {what} to {_gap_text(conflict.distance_m)} '
                f'{other.name} after {conflict.time_s:.2f} s; the margin is '
                f'{1e3 * conflict.margin_m:g} mm: {remedy}')

    def check_measured(self, positions: Vector, velocities: Vector, position_slack_rad: float,
                       velocity_slack: float, box_slack_m: float) -> None:
        """Raise ArmStoppedError if a measured state (N,), (N,) is outside the limits.

        Args:
            positions: of the joints [rad].
            velocities: of the joints [rad/s].
            position_slack_rad: by which a position may exceed its limit.
            velocity_slack: part of its limit by which a velocity may exceed it.
            box_slack_m: how far outside the box a frame may be.
        """
        arm = self._arm
        over = np.maximum(positions - arm.upper, arm.lower - positions) - position_slack_rad
        if not (over <= 0).all():
            raise _refused('measured_position', f'{self._worst(over)} is at '
                           f'{positions[_argmax(over)]:.3f} rad, outside its limits')
        over = np.abs(velocities) - (1.0 + velocity_slack) * arm.max_velocity
        if not (over <= 0).all():
            raise _refused('measured_velocity', f'{self._worst(over)} moves with '
                           f'{velocities[_argmax(over)]:.3f} rad/s, faster than its limit')
        margins = self._margins(positions[None])[0] + box_slack_m  # (F,)
        if not (margins >= 0).all():
            worst = int(np.argmin(np.nan_to_num(margins, nan=-np.inf)))
            raise _refused('measured_workspace', f'{self._points[worst]} is '
                           f'{1e3 * (box_slack_m - margins[worst]):.0f} mm outside the workspace')

    def _check_form(self, trajectory: JointTrajectory) -> None:
        times, n = trajectory.times_s, len(self._arm.joints)
        arrays = (times, trajectory.positions, trajectory.velocities)
        if not all(type(x) is np.ndarray and x.dtype == np.float64 for x in arrays):
            raise _refused('invalid', 'times, positions and velocities must be arrays of float64')
        shapes = tuple(x.shape for x in arrays)
        points = shapes[0][0] if len(shapes[0]) == 1 else 0
        if points < 2 or shapes[1:] != ((points, n), (points, n)):
            raise _refused('invalid', f'shapes {shapes} are not (K,), (K, {n}), (K, {n}) with '
                           'two points or more')
        if points > self._max_points:
            raise _refused('invalid', f'{points} points are more than {self._max_points}')
        if not all(np.isfinite(x).all() for x in arrays):
            raise _refused('invalid', 'a number is not finite')
        if times[0] != 0.0 or np.diff(times).min() < MIN_STEP_S:
            raise _refused('invalid', 'times must begin at 0 and increase by '
                           f'{1e3 * MIN_STEP_S:g} ms or more from point to point')
        if times[-1] > self._max_duration_s:
            raise _refused('invalid', f'{times[-1]:.1f} s are longer than '
                           f'{self._max_duration_s:g} s')
        if np.abs(trajectory.velocities[-1]).max() > REST_RAD_S:
            raise _refused('invalid', 'it does not end at rest')

    def _check_joints(self, trajectory: JointTrajectory) -> None:
        arm, found = self._arm, extremes(trajectory)
        # Written so that NaN, as of numbers that overflow, is refused.
        over = np.maximum(found.upper - arm.upper, arm.lower - found.lower)
        if not (over <= SLACK).all():
            raise _refused('position_limit', f'{self._worst(over)} would be '
                           f'{over.max():.6f} rad outside its limits')
        over = found.velocity - arm.max_velocity
        if not (over <= SLACK).all():
            raise _refused('velocity_limit', f'{self._worst(over)} would move with '
                           f'{found.velocity[_argmax(over)]:.6f} rad/s, faster than its limit')
        over = found.acceleration - arm.max_acceleration
        if not (over <= SLACK_ACCELERATION).all():
            raise _refused('acceleration_limit', f'{self._worst(over)} would accelerate with '
                           f'{found.acceleration[_argmax(over)]:.6f} rad/s2, more than its limit')

    def _check_box(self, spline: Spline) -> None:
        """Prove that all checked points stay in the box.

        On a stretch of h seconds a point strays from the chord between the ends by at most
        h^2 / 8 times its greatest acceleration; the chord is as far inside as the nearer of its
        ends, for a box is convex. Stretches for which this does not suffice are cut.
        """
        pieces = np.arange(len(spline.lengths_s))
        zero = np.zeros(len(pieces))
        ends = spline.positions(pieces[-1:], spline.lengths_s[-1:])
        margins = self._margins(np.concatenate([spline.a, ends]))
        self._require_inside(margins)
        piece, low, high = pieces, zero, spline.lengths_s
        at_low, at_high = margins[:-1], margins[1:]
        samples = len(margins)
        while True:
            strays = self._strays(spline, piece, low, high)  # (M, F)
            room = np.minimum(at_low, at_high)
            open_ = ~(strays <= room).all(axis=1)
            if not open_.any():
                return
            piece, low, high = piece[open_], low[open_], high[open_]
            at_low, at_high = at_low[open_], at_high[open_]
            strays, room = strays[open_], np.maximum(room[open_], 0.25 * RESOLUTION_M)
            if ((strays < RESOLUTION_M).all(axis=1).any() or samples > MOST_SAMPLES
                    or not np.isfinite(strays).all()):
                raise _refused('workspace', 'a part of the arm would come too close to a side '
                               'of the workspace box')
            parts = int(np.clip(np.ceil(np.sqrt((strays / room).max())), 2, 64))
            width = (high - low) / parts
            inner = low[:, None] + width[:, None] * np.arange(1, parts)  # (M, parts - 1)
            margins = self._margins(spline.positions(
                np.repeat(piece, parts - 1), inner.ravel()))
            samples += len(margins)
            self._require_inside(margins)
            margins = margins.reshape(len(piece), parts - 1, -1)
            at = np.concatenate([at_low[:, None], margins, at_high[:, None]], axis=1)
            cuts = np.concatenate([low[:, None], inner, high[:, None]], axis=1)
            piece = np.repeat(piece, parts)
            low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
            at_low = at[:, :-1].reshape(len(piece), -1)
            at_high = at[:, 1:].reshape(len(piece), -1)

    def _strays(self, spline: Spline, piece: NDArray[np.intp], low: Vector, high: Vector,
                ) -> Vector:
        """(M, F) upper bounds of a frame's distance from the chord of each stretch.

        A point of a chain of rotary joints has the acceleration
        sum_j J_j q''_j + sum_jk H_jk q'_j q'_k with |J_j| <= r_j, the reach from axis j, and
        |H_jk| = |a_j x (a_k x r)| <= r_max(j,k).
        """
        h = high - low
        c, d = spline.c[piece], spline.d[piece]
        v0, v1 = spline.velocities(piece, low), spline.velocities(piece, high)
        hardest = 2.0 * np.maximum(np.abs(c + 3.0 * low[:, None] * d),
                                   np.abs(c + 3.0 * high[:, None] * d))
        fastest = np.maximum(np.abs(v0), np.abs(v1)) + 0.75 * (h * h)[:, None] * np.abs(d)
        turning = np.matmul(fastest, self._reach_of_pairs)  # (F, M, N)
        bound = hardest @ self._reach.T + np.einsum('fmn,mn->mf', turning, fastest)
        return np.asarray(0.125 * (h * h)[:, None] * bound)

    def _margins(self, positions: Vector) -> Vector:
        """(M, F) distance of each point from the nearest side of the box, negative outside."""
        points = self._kinematics.fk_many(positions, self._points)
        return np.asarray(np.minimum(points - self._safety.box_min_m,
                                     self._safety.box_max_m - points).min(axis=2))

    def _require_inside(self, margins: Vector) -> None:
        if not (margins >= 0.0).all():
            worst = int(np.argmin(np.nan_to_num(margins, nan=-np.inf).min(axis=0)))
            raise _refused('workspace', f'{self._points[worst]} would leave the '
                           f'workspace box by {-1e3 * float(margins.min()):.1f} mm or more')

    def _worst(self, over: Vector) -> str:
        return self._arm.joints[_argmax(over)]


def _gap_text(distance_m: float) -> str:
    """A distance or overlap in words, to be followed by the name of the other body."""
    if distance_m < 0.0:
        return f'an overlap of {-1e3 * distance_m:.1f} mm with'
    return f'{1e3 * distance_m:.1f} mm from'


def _argmax(over: Vector) -> int:
    return int(np.argmax(np.nan_to_num(over, nan=np.inf)))


def _refused(cause: str, message: str) -> ArmStoppedError:
    return ArmStoppedError(cause, message)


def reaches(robot: RobotConfig) -> Vector:
    """(F, N) upper bounds of the distance of each checked point from each joint's axis [m].

    Zero where a joint does not move a point. The bound adds up the lengths of the links between.

    Raises:
        InputError: a joint of the arm is not rotary.
    """
    model: Any = pinocchio.buildModelFromUrdf(str(robot.urdf))
    found = np.zeros((len(robot.safety.points), len(robot.arm.joints)))
    for row, point in enumerate(robot.safety.points):
        frame = model.frames[model.getFrameId(point.frame)]
        joint, offset, reach = frame.parentJoint, frame.placement.act(
            np.array(point.xyz_m)), 0.0
        while joint:
            kind, length = model.joints[joint].shortname(), float(np.linalg.norm(offset))
            if model.names[joint] in robot.arm.joints:
                axis = 'XYZ'.find(kind[-1])
                if not kind.startswith('JointModelR'):
                    raise InputError(f'{robot.file}: arm.joints: {model.names[joint]} is not a '
                                     'rotary joint; only those are supported')
                across = length if axis < 0 else float(np.linalg.norm(np.delete(offset, axis)))
                found[row, robot.arm.joints.index(model.names[joint])] = reach + across
            elif kind.startswith('JointModelP'):  # a finger: as far as it can be driven out
                index = model.joints[joint].idx_q
                length += float(max(abs(model.lowerPositionLimit[index]),
                                    abs(model.upperPositionLimit[index])))
            reach += length
            offset, joint = model.jointPlacements[joint].translation, model.parents[joint]
    return found
