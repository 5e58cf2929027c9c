"""Checks of the safety gate: heartbeats, tracking of the arm, resting fingers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sightplan_arm.hardware import Arm, JointState, JointTrajectory
from sightplan_arm.trajectories import positions_at


@dataclass
class Beats:
    """Heartbeats by node: time of the last one, and the other nodes that the node needs."""

    required: set[str] = field(default_factory=set)
    last_s: dict[str, float] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def silent(self, since_s: float) -> list[tuple[str, str]]:
        """Needed nodes not heard of since, each with the node that needs it ('': required)."""
        found, seen = [], set()
        ways = [(node, '') for node in sorted(self.required)]
        while ways:
            node, by = ways.pop(0)
            if node in seen:
                continue
            seen.add(node)
            if self.last_s.get(node, -math.inf) < since_s:
                found.append((node, by))
            ways += [(other, node) for other in self.needs.get(node, ())]
        return found

    def unheard(self) -> list[str]:
        """Needed nodes of which not one heartbeat has come."""
        return [node for node, _ in self.silent(math.inf) if node not in self.last_s]


_PARTS = np.linspace(0.0, 1.0, 5)  # fractions of the delay


def off_track(state: JointState, start_s: float, trajectory: JointTrajectory, delay_s: float,
              ) -> float:
    """Largest deviation of a joint from where the trajectory wants it at the measurement [rad].

    Args:
        state: as measured.
        start_s: when the trajectory was begun, on the arm's clock.
        trajectory: that the arm follows.
        delay_s: how late it may follow: each joint is compared with all its positions within.
    """
    places = positions_at(trajectory, state.stamp_s - start_s - delay_s * _PARTS)
    return float(np.maximum(state.positions - places.max(axis=0),
                            places.min(axis=0) - state.positions).max())


class Fingers:
    """Whether fingers have come to rest, from their measurements.

    Attributes:
        opening_m: how far they were apart when they were last looked at; NaN before.
        broken_off: whether the arm was held or stopped meanwhile.
    """

    _STILL_S = 0.1
    _STILL_M = 2e-4
    _MOVED_M = 1e-3
    _THERE_M = 1e-3

    def __init__(self, start_s: float, goal_m: float, settle_s: float) -> None:
        self._start_s, self._goal_m, self._settle_s = start_s, goal_m, settle_s
        self._seen: list[tuple[float, float]] = []
        self.opening_m, self.broken_off = math.nan, False

    def settled(self, arm: Arm) -> bool:
        """Whether they stand: at the goal, or elsewhere on the way there; or time is over.

        Fingers that stand where they were have not begun to move yet, for all that is known, nor
        have those that press a little harder on what they are to let go.
        """
        state = arm.state()
        if state is None or state.stamp_s <= self._start_s:
            return False
        if not self._seen or state.stamp_s > self._seen[-1][0]:
            self._seen.append((state.stamp_s, state.opening_m))
        self.opening_m = state.opening_m
        if state.stamp_s - self._start_s >= self._settle_s:
            return True
        before = state.stamp_s - self._STILL_S
        if self._seen[0][0] > before:
            return False
        # From the last one before: measurements may be far apart, and one alone stands still.
        first = max(i for i, (s, _) in enumerate(self._seen) if s <= before)
        recent = [m for _, m in self._seen[first:]]
        begun = self._seen[0][1]
        way = math.copysign(1.0, self._goal_m - begun)
        moved = max(way * (m - begun) for _, m in self._seen) >= self._MOVED_M
        return (max(recent) - min(recent) < self._STILL_M
                and (moved or abs(state.opening_m - self._goal_m) <= self._THERE_M))
