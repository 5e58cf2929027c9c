"""An arm whose reported velocities are checked against the differences of its positions.

Some drivers report a velocity of zero for every joint, whatever the joint does, and others report
velocities that are late or scaled. Whether an arm moves must not depend on that alone.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan_arm.hardware import Arm, JointState, JointTrajectory, Vector

log = logging.getLogger(__name__)

WINDOW_S = 0.1
"""Differences of positions are taken of the measurements of this time [s]."""

SLACK_RAD_S = 0.05
"""Largest difference between a joint's reported velocity and the velocity of its positions
[rad/s]."""

DISTRUST_S = 0.2
"""Time after which velocities that do not fit the positions are reported, and after which
velocities that fit are trusted again [s]."""

_GAP_S = 2.0 * WINDOW_S  # largest gap between two measurements that are compared
_LEAST_SPAN_S = 0.5 * WINDOW_S  # shortest span to judge by, as positions are noisy
_LEAST = 3  # measurements


class CheckedArm:
    """The arm that is given, but for the velocities in ``state``; implements the protocol Arm.

    A joint's reported velocities fit if the velocity that its positions show lies between the
    least and the greatest that was reported in the same time. One that does not fit and is too
    slow is replaced by what the positions show, so that an arm that moves never counts as one at
    rest. One that is too fast stays, for whoever looks whether the arm moves errs on the safe
    side; ``moves_with`` says how fast the arm moves for all that is known.

    The velocity that positions show is a median of differences, which neither a wrong measurement
    nor a jump changes much. It lags by half of ``WINDOW_S``.

    Args:
        arm: that is measured and moved.
        joints: names of its joints, in order.
    """

    def __init__(self, arm: Arm, joints: Sequence[str]) -> None:
        self._arm, self._joints = arm, tuple(joints)
        self._lock = threading.Lock()
        self._seen: deque[JointState] = deque()
        self._shown = np.zeros(len(self._joints))  # velocities that the positions show
        self._off = np.zeros(len(self._joints), dtype=bool)  # whose velocities do not fit now
        self._unfit_s = np.zeros(len(self._joints))  # time for which they have not fitted
        self._distrusted: NDArray[np.bool_] = np.zeros(len(self._joints), dtype=bool)

    def state(self) -> JointState | None:
        """The newest measurement, with corrected velocities; None before the first."""
        with self._lock:
            state = self._arm.state()
            if state is None:
                return None
            if not self._seen or state.stamp_s != self._seen[-1].stamp_s:
                self._look(state)
            slow = self._off & (np.abs(self._shown) > np.abs(state.velocities))
            if not slow.any():
                return state
            return dataclasses.replace(
                state, velocities=np.where(slow, self._shown, state.velocities))

    def moves_with(self, state: JointState) -> Vector:
        """Velocities (N,) from which to brake [rad/s]: of a state that was measured just now."""
        with self._lock:
            return np.where(self._off, self._shown, state.velocities)

    def distrusted(self) -> tuple[str, ...]:
        """Names of the joints whose reported velocities do not fit their positions."""
        with self._lock:
            return tuple(name for name, bad in zip(self._joints, self._distrusted, strict=True)
                         if bad)

    def now_s(self) -> float:
        """The clock of motions."""
        return self._arm.now_s()

    def state_age_s(self) -> float:
        """Wall-clock seconds since a measurement came."""
        return self._arm.state_age_s()

    def command(self, trajectory: JointTrajectory) -> None:
        """Start a motion now; contract in the protocol Arm."""
        self._arm.command(trajectory)

    def grip(self, opening_m: float, force_n: float) -> None:
        """Move the fingers; contract in the protocol Arm."""
        self._arm.grip(opening_m, force_n)

    def wait(self, seconds: float) -> None:
        """Let time pass on the arm's clock."""
        self._arm.wait(seconds)

    # Inside. The lock is held.

    def _look(self, state: JointState) -> None:
        """Compare velocities and positions of the last measurements."""
        seen = self._seen
        if seen and not 0.0 < state.stamp_s - seen[-1].stamp_s <= _GAP_S:
            seen.clear()
        if not (np.isfinite(state.positions).all() and np.isfinite(state.velocities).all()):
            seen.clear()  # whoever looks at it sees that it is not sound
            self._off = np.zeros_like(self._off)
            return
        passed_s = state.stamp_s - seen[-1].stamp_s if seen else 0.0
        seen.append(state)
        while len(seen) > _LEAST and seen[1].stamp_s <= state.stamp_s - WINDOW_S:
            seen.popleft()
        if len(seen) < _LEAST or state.stamp_s - seen[0].stamp_s < _LEAST_SPAN_S:
            self._off = np.zeros_like(self._off)
            return
        stamps_s = np.array([one.stamp_s for one in seen])
        positions = np.array([one.positions for one in seen])
        reported = np.array([one.velocities for one in seen])
        apart = max(1, (len(seen) - 1) // 3)  # so that a jump affects fewer than half of them
        self._shown = np.median((positions[apart:] - positions[:-apart])
                                / (stamps_s[apart:] - stamps_s[:-apart])[:, None], axis=0)
        self._off = ((self._shown < reported.min(axis=0) - SLACK_RAD_S)
                     | (self._shown > reported.max(axis=0) + SLACK_RAD_S))
        self._judge(passed_s)

    def _judge(self, passed_s: float) -> None:
        """Update the joints with distrusted velocities. A joint at rest changes nothing."""
        moving = np.abs(self._shown) > SLACK_RAD_S
        change = np.where(self._off, passed_s, np.where(moving, -passed_s, 0.0))
        self._unfit_s = np.clip(self._unfit_s + change, 0.0, DISTRUST_S)
        before = self._distrusted
        self._distrusted = (self._unfit_s >= DISTRUST_S) | (before & (self._unfit_s > 0.0))
        for number in np.flatnonzero(self._distrusted & ~before):
            log.warning('%s: the reported velocity does not fit the positions, which show %.2f '
                        'rad/s: see to the driver', self._joints[number], self._shown[number])
