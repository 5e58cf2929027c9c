"""Grasps of a thing from above by a parallel gripper, found from heights alone.

A grasp is a place between the finger tips, a turn about the vertical, and how far the fingers
open before they go down. Frames: the table's, metres. *Across* is the line along which the fingers
open, *along* is the level line at right angles to it.

At a level z, in a strip as wide as a finger, the heights along *across* fall into runs that reach
above z. A run of the wanted thing is a grasp at this level, if

- it is narrow enough for the open fingers, and high enough above z for them to hold it;
- on both sides there is room for a finger from above down to z;
- nothing under the hand's body is higher than the fingers are long;
- its sides are steep enough there to be pressed, and nearly parallel.

So the wall of a bowl is a run as well as a whole can, a knob, or a handle that lies flat. What the
camera does not see is taken to be free, and costs a grasp some of its rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import param
from sightplan_arm.config import GripperConfig
from sightplan_arm.geometry import hand_down
from sightplan_arm.hardware import Vector
from sightplan_arm.skills.grasp_values import GRASPS
from sightplan_arm.skills.seen import axis_m
from sightplan_arm.skills.surface import CELL_M, Mask, Surface


@dataclass(frozen=True, slots=True)
class GraspSettings:
    """Settings of how grasps are chosen."""

    turns: int = param(16, 'Turns of the hand that are tried, over half a circle', low=2, high=90)
    table_m: float = param(0.003, 'Height of the finger ends above the table, at least [m]',
                           low=0.0, high=0.05)
    deep_m: float = param(0.030, 'How far the fingers reach down beside a thing, if they can [m]',
                          low=0.005, high=0.08)


@dataclass(frozen=True, eq=False)
class Grasp:
    """A way to take a thing.

    Attributes:
        pose: (4, 4) of the tip in the table's frame, pointing down.
        yaw_rad: see ``hand_down``.
        width_m: of what is between the fingers, as seen.
        opening_m: to which the fingers open before they go down.
        deep_m: so far do the fingers reach down beside it.
        score: the higher the better; only good for comparisons within one picture.
    """

    pose: Vector
    yaw_rad: float
    width_m: float
    opening_m: float
    deep_m: float
    score: float

    @property
    def at_m(self) -> Vector:
        """(3,) where the tip is."""
        return np.asarray(self.pose[:3, 3])


def propose(surface: Surface, thing: Mask, gripper: GripperConfig, settings: GraspSettings,
            near_m: Vector | None = None) -> list[Grasp]:
    """Ways to take a thing, the best first.

    Args:
        surface: what is seen.
        thing: (rows, columns) cells of the thing.
        gripper: the hand.
        settings: how to choose.
        near_m: (2,) where to take it; None: near its middle, so that it is in balance.
    """
    rows, columns = np.nonzero(thing)
    if not len(rows):
        return []
    heights = np.nan_to_num(surface.top_m[rows, columns])
    places = surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5)
    wanted = axis_m(surface, thing) if near_m is None else np.asarray(near_m, np.float64)[:2]
    if wanted is None:
        wanted = np.average(places, axis=0, weights=np.maximum(heights, 1e-3))
    size = float(np.linalg.norm(np.ptp(places, axis=0))) + CELL_M
    found: list[Grasp] = []
    for turn in range(settings.turns):
        yaw = math.pi * turn / settings.turns
        view = _Turned(surface, thing, places, yaw, gripper)
        found += view.grasps(settings, wanted, size, near_m is not None)
    found.sort(key=lambda grasp: -grasp.score)
    return _distinct(found)


def _distinct(grasps: list[Grasp], most: int = 24) -> list[Grasp]:
    """Grasps that differ clearly from every better one, at most ``most``."""
    kept: list[Grasp] = []
    for one in grasps:
        if not any(float(np.linalg.norm(one.at_m - other.at_m)) < 0.01
                   and abs(math.remainder(one.yaw_rad - other.yaw_rad, math.pi)) < 0.25
                   for other in kept):
            kept.append(one)
            if len(kept) == most:
                break
    return kept


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of cells above a level, along the line on which the fingers open.

    Attributes:
        row: of the turned heights.
        start, end: columns, half-open.
        level: where the finger ends are.
        free_m: room on the side where there is less.
    """

    row: int
    start: int
    end: int
    level: float
    free_m: float

    @property
    def width_m(self) -> float:
        """Length of the run [m]."""
        return CELL_M * (self.end - self.start)


class _Turned:
    """Heights around a thing, turned so that the fingers open along the columns."""

    def __init__(self, surface: Surface, thing: Mask, places: Vector, yaw: float,
                 gripper: GripperConfig) -> None:
        self._yaw, self._gripper = yaw, gripper
        # hand_down: the fingers open along (-sin yaw, cos yaw).
        self._across = np.array([-math.sin(yaw), math.cos(yaw)])
        self._along = np.array([math.cos(yaw), math.sin(yaw)])
        across, along = places @ self._across, places @ self._along
        self._low = np.array([across.min(), along.min()]) - GRASPS.margin_m
        shape = tuple(math.ceil((float(np.ptp(side)) + 2 * GRASPS.margin_m) / CELL_M)
                      for side in (along, across))
        v, u = np.meshgrid(*(CELL_M * (np.arange(count) + 0.5) for count in shape), indexing='ij')
        points = ((self._low[0] + u)[..., None] * self._across
                  + (self._low[1] + v)[..., None] * self._along)
        index = (points - surface.low_m) / CELL_M - 0.5
        x, y = index[..., 0].astype(np.float32), index[..., 1].astype(np.float32)

        def turned(array: NDArray[np.float32], outside: float) -> NDArray[np.float32]:
            return np.asarray(cv2.remap(array, x, y, cv2.INTER_NEAREST, None,
                                        cv2.BORDER_CONSTANT, outside), np.float32)

        known = np.isfinite(surface.top_m)
        top = np.where(known, surface.top_m, np.float32(0))
        self._top = turned(top, 0.0)
        self._hidden = turned((~known).astype(np.float32), 0.0) > 0.5
        self._thing = turned(thing.astype(np.float32), 0.0) > 0.5
        hand = gripper.hand
        side = 2 * round(hand.finger_half_width_m / CELL_M - 0.5) + 1
        strip = np.ones((side, 1), np.uint8)
        self._strip = cv2.dilate(self._top, strip)
        self._thing_top = np.where(self._thing, self._top, np.float32(0))
        self._strip_thing = cv2.dilate(self._thing_top, strip)
        own = self._thing.astype(np.uint8)
        self._near = cv2.dilate(own, np.ones((3, 3), np.uint8)) > 0
        fringe = cv2.dilate(own, np.ones((5, 5), np.uint8)) > 0
        self._strip_other = cv2.dilate(np.where(fringe, np.float32(0), self._top), strip)
        self._strip_hidden = cv2.boxFilter(self._hidden.astype(np.float32), -1, (1, side))
        body = np.ones((2 * round(hand.half_width_m / CELL_M) + 1,
                        2 * round(hand.half_length_m / CELL_M) + 1), np.uint8)
        self._under_hand = cv2.dilate(self._top, body)

    def grasps(self, settings: GraspSettings, wanted: Vector, size_m: float,
               exact: bool) -> Iterator[Grasp]:
        """Yield all grasps at this turn of the hand."""
        off_cost = (GRASPS.per_m_off_pointed if exact else
                    GRASPS.per_m_off_balance + 1.0 / max(size_m, 0.05))
        goal = np.array([wanted @ self._across, wanted @ self._along])
        for row in np.nonzero(self._thing.any(axis=1))[0][::2]:
            for run in self._runs(int(row), settings):
                at = self._low + CELL_M * np.array([(run.start + run.end) / 2, row + 0.5])
                cost = self._cost(run, settings)
                if cost is not None:
                    off = off_cost * float(np.linalg.norm(at - goal))
                    yield self._grasp(run, at, settings, -cost - off)

    def _runs(self, row: int, settings: GraspSettings) -> Iterator[_Run]:
        """Yield the runs of a strip that fit between the fingers, at all levels."""
        tallest = float(self._strip_thing[row].max())
        widest = self._gripper.open_m - 2 * GRASPS.least_spare_m
        level = settings.table_m
        while level < tallest - GRASPS.least_deep_m:
            high = self._strip[row] > level + GRASPS.over_m
            edges = np.diff(high.astype(np.int8), prepend=0, append=0)
            starts, ends = np.nonzero(edges > 0)[0], np.nonzero(edges < 0)[0]
            for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
                free = min(start - (ends[number - 1] if number else 0),
                           (starts[number + 1] if number + 1 < len(starts) else len(high)) - end)
                run = _Run(row, int(start), int(end), level, CELL_M * float(free))
                if run.width_m <= widest and self._belongs_to_thing(run):
                    yield run
            level += 0.006

    def _belongs_to_thing(self, run: _Run) -> bool:
        """Whether a run of cells belongs to the thing alone.

        At the thing's edge cells may have been taken for something else's, or the other way round.
        """
        place = np.s_[run.row, run.start:run.end]
        if (self._strip_thing[place].max() <= run.level
                or self._strip_other[place].max() > run.level + GRASPS.over_m):
            return False
        lines = slice(max(0, run.row - GRASPS.pad_rows), run.row + GRASPS.pad_rows + 1)
        high = self._top[lines, run.start:run.end] > run.level + GRASPS.over_m
        foreign = high & ~self._near[lines, run.start:run.end]
        return bool(foreign.sum() <= GRASPS.foreign * high.sum())

    def _cost(self, run: _Run, settings: GraspSettings) -> float | None:
        """Cost of taking a run; None if it cannot be taken."""
        hand, open_m = self._gripper.hand, self._gripper.open_m
        deep, spare = self._depth_m(run), self._spare_m(run, settings)
        middle = min((run.start + run.end) // 2, self._top.shape[1] - 1)
        palm = run.level + hand.fingers_m - GRASPS.palm_m
        if (deep < GRASPS.least_deep_m or spare < GRASPS.least_spare_m
                or self._under_hand[run.row, middle] > palm):
            return None
        lean = self._lean(run, min(deep, 0.02))
        taper, aside = self._sides(run)
        if lean > GRASPS.steep or taper > GRASPS.most_taper or aside > GRASPS.most_aside:
            return None
        shallow = 1.0 - min(deep, settings.deep_m) / settings.deep_m
        too_deep = max(0.0, deep - settings.deep_m) / settings.deep_m
        tight = max(0.0, GRASPS.easy_m - spare) / GRASPS.easy_m
        hidden = self._hidden_part(run, spare + hand.finger_thickness_m)
        return (shallow + 0.15 * too_deep + 1.5 * lean + 0.4 * taper + 0.15 * aside + 0.4 * tight
                + 0.35 * hidden + 0.25 * run.width_m / open_m)

    def _grasp(self, run: _Run, at: Vector, settings: GraspSettings, score: float) -> Grasp:
        """The grasp of a run, at a place (2,) across and along."""
        x, y = at[0] * self._across + at[1] * self._along
        tip = np.array([x, y, run.level + self._gripper.hand.below_tip_m])
        return Grasp(hand_down(tip, self._yaw), self._yaw, run.width_m,
                     min(self._gripper.open_m, run.width_m + 2 * self._spare_m(run, settings)),
                     self._depth_m(run), score)

    def _spare_m(self, run: _Run, settings: GraspSettings) -> float:
        """Room between a run and each open finger [m]."""
        return min(GRASPS.spare_m, (self._gripper.open_m - run.width_m) / 2,
                   run.free_m - self._gripper.hand.finger_thickness_m)

    def _depth_m(self, run: _Run) -> float:
        """Depth to which the fingers reach beside the lowest line of a run under the pads [m]."""
        rows = slice(max(0, run.row - GRASPS.pad_rows), run.row + GRASPS.pad_rows + 1)
        pads = self._thing_top[rows, run.start:run.end]
        return float(pads.max(axis=1).min()) - run.level

    def _hidden_part(self, run: _Run, finger_m: float) -> float:
        """Part of the places of both fingers that is not seen."""
        reach, hidden = round(finger_m / CELL_M), self._strip_hidden[run.row]
        return float(np.r_[hidden[max(0, run.start - reach):run.start],
                           hidden[run.end:run.end + reach]].mean())

    def _sides(self, run: _Run) -> tuple[float, float]:
        """Change of the grasped part's outline along the fingers, as tangents.

        Returns:
            how fast its width grows, and how fast its middle moves aside: 0 for sides that are
            parallel, and for sides that face the fingers squarely.
        """
        lines = slice(max(0, run.row - GRASPS.taper_rows), run.row + GRASPS.taper_rows + 1)
        inside = self._thing_top[lines, run.start:run.end] > run.level
        widths = inside.sum(axis=1)
        rows = np.arange(len(widths)) - (len(widths) - 1) / 2
        taper = float(abs(rows @ widths) / (rows @ rows))
        shown = widths > 0
        if shown.sum() < 3:
            return taper, 0.0
        middles = (inside[shown] @ np.arange(run.end - run.start)) / widths[shown]
        rows = rows[shown] - rows[shown].mean()
        return taper, float(abs(rows @ middles) / (rows @ rows))

    def _lean(self, run: _Run, deep_m: float) -> float:
        """Lean of the sides, as a tangent: 0 for upright ones."""
        heights = self._strip_thing[run.row, run.start:run.end]
        upper = np.nonzero(heights > run.level + 0.75 * deep_m)[0]
        if not len(upper):
            return math.inf
        inset = CELL_M * max(int(upper[0]), len(heights) - 1 - int(upper[-1]))
        return float(max(0.0, inset - 0.5 * CELL_M) / (0.75 * deep_m))
