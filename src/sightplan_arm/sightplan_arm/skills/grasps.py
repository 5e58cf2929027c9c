"""Where a parallel gripper can take a thing from above: from heights alone.

A grasp is a place between the finger tips, a turn about the vertical, and how far the fingers
open before they go down. Frames: the table's, metres. *Across* is the line along which the fingers
open, *along* is the level line at right angles to it.

At a level z, in a strip as wide as a finger, the heights along *across* fall into runs that reach
above z. A run of the wanted thing is a grasp at this level, if

- it is narrow enough for the open fingers, and high enough above z for them to hold it;
- on both sides there is room for a finger from above down to z;
- nothing under the hand's body is higher than the fingers are long;
- its sides are steep enough there to be pressed.

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
from sightplan_arm.skills.surface import CELL_M, Heights, Mask, Surface

_MARGIN_M = 0.14  # around the thing, for the hand
_PAD_ROWS = 2  # lines of cells on both sides of a finger's middle that it has to touch


@dataclass(frozen=True, slots=True)
class GraspSettings:
    """How grasps are chosen."""

    turns: int = param(16, 'Turns of the hand that are tried, over half a circle', low=2, high=90)
    spare_m: float = param(0.009, 'How much wider than the thing the fingers open on each side, '
                           'if they can [m]', low=0.002, high=0.03)
    least_spare_m: float = param(0.0035, 'The least of that [m]', low=0.0, high=0.03)
    table_m: float = param(0.003, 'Height of the finger ends above the table, at least [m]',
                           low=0.0, high=0.05)
    deep_m: float = param(0.030, 'How far the fingers reach down beside a thing, if they can [m]',
                          low=0.005, high=0.08)
    least_deep_m: float = param(0.005, 'The least of that [m]', low=0.002, high=0.05)
    palm_m: float = param(0.004, "Room between the hand's body and what is under it [m]",
                          low=0.0, high=0.03)
    steep: float = param(0.7, 'Greatest lean of the sides that are pressed, as a tangent',
                         low=0.05, high=2.0)


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
    wanted = (np.average(places, axis=0, weights=np.maximum(heights, 1e-3)) if near_m is None
              else np.asarray(near_m, np.float64)[:2])
    size = float(np.linalg.norm(np.ptp(places, axis=0))) + CELL_M
    found: list[Grasp] = []
    for turn in range(settings.turns):
        yaw = math.pi * turn / settings.turns
        view = _Turned(surface, thing, places, yaw, gripper)
        found += view.grasps(settings, wanted, size, near_m is not None)
    found.sort(key=lambda grasp: -grasp.score)
    return _unlike(found)


def _unlike(grasps: list[Grasp], most: int = 24) -> list[Grasp]:
    """Those that are not nearly the same as a better one, at most so many."""
    kept: list[Grasp] = []
    for one in grasps:
        if not any(float(np.linalg.norm(one.at_m - other.at_m)) < 0.01
                   and abs(math.remainder(one.yaw_rad - other.yaw_rad, math.pi)) < 0.25
                   for other in kept):
            kept.append(one)
            if len(kept) == most:
                break
    return kept


class _Turned:
    """Heights around a thing, turned so that the fingers open along the columns."""

    def __init__(self, surface: Surface, thing: Mask, places: Vector, yaw: float,
                 gripper: GripperConfig) -> None:
        self._yaw, self._gripper = yaw, gripper
        # hand_down: the fingers open along (-sin yaw, cos yaw).
        self._across = np.array([-math.sin(yaw), math.cos(yaw)])
        self._along = np.array([math.cos(yaw), math.sin(yaw)])
        across, along = places @ self._across, places @ self._along
        self._low = np.array([across.min(), along.min()]) - _MARGIN_M
        shape = tuple(math.ceil((float(np.ptp(side)) + 2 * _MARGIN_M) / CELL_M)
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
        self._strip_other = cv2.dilate(np.where(self._thing, np.float32(0), self._top), strip)
        self._strip_hidden = cv2.boxFilter(self._hidden.astype(np.float32), -1, (1, side))
        body = np.ones((2 * round(hand.half_width_m / CELL_M) + 1,
                        2 * round(hand.half_length_m / CELL_M) + 1), np.uint8)
        self._under_hand = cv2.dilate(self._top, body)

    def grasps(self, settings: GraspSettings, wanted: Vector, size_m: float,
               exact: bool) -> Iterator[Grasp]:
        """All grasps at this turn."""
        goal = np.array([wanted @ self._across, wanted @ self._along])
        for row in np.nonzero(self._thing.any(axis=1))[0][::2]:
            tallest = float(self._strip_thing[row].max())
            level = settings.table_m
            while level < tallest - settings.least_deep_m:
                yield from self._at_level(int(row), level, settings, goal, size_m, exact)
                level += 0.006 if tallest < 0.05 else 0.01

    def _at_level(self, row: int, level: float, settings: GraspSettings, goal: Vector,
                  size_m: float, exact: bool) -> Iterator[Grasp]:
        """The grasps of one strip with the finger ends at one height."""
        gripper, hand = self._gripper, self._gripper.hand
        heights = self._strip[row]
        high = heights > level + 0.001
        edges = np.diff(high.astype(np.int8), prepend=0, append=0)
        starts, ends = np.nonzero(edges > 0)[0], np.nonzero(edges < 0)[0]
        fingers = hand.fingers_m
        widest = gripper.open_m - 2 * settings.least_spare_m
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            width = CELL_M * (end - start)
            if width > widest:
                continue
            pads = self._thing_top[max(0, row - _PAD_ROWS):row + _PAD_ROWS + 1, start:end]
            deep = float(pads.max(axis=1).min()) - level  # of the least high line under the pads
            if deep < settings.least_deep_m:
                continue
            if float(self._strip_other[row, start:end].max()) > level + 0.001:
                continue  # something else would be between the fingers, too
            before = CELL_M * (start - (ends[number - 1] if number else 0))
            after = CELL_M * ((starts[number + 1] if number + 1 < len(starts) else len(heights))
                              - end)
            spare = min(settings.spare_m, (gripper.open_m - width) / 2,
                        min(before, after) - hand.finger_thickness_m)
            if spare < settings.least_spare_m:
                continue
            middle = (start + end) / 2
            column = min(int(middle), len(heights) - 1)
            if float(self._under_hand[row, column]) > level + fingers - settings.palm_m:
                continue
            lean = self._lean(row, int(start), int(end), level, min(deep, 0.02))
            if lean > settings.steep:
                continue
            at = np.array([self._low[0] + CELL_M * middle, self._low[1] + CELL_M * (row + 0.5)])
            away = float(np.linalg.norm(at - goal))
            reach = round((spare + hand.finger_thickness_m) / CELL_M)
            slots = np.r_[self._strip_hidden[row, max(0, start - reach):start],
                          self._strip_hidden[row, end:end + reach]]
            hidden = float(slots.mean()) if len(slots) else 0.0
            score = (1.0 * min(deep, settings.deep_m) / settings.deep_m
                     - (12.0 if exact else 1.0) * away / (0.05 if exact else max(size_m, 0.05))
                     - 6.0 * away
                     - 0.6 * lean - 0.35 * hidden
                     - 0.4 * max(0.0, 0.008 - spare) / 0.008
                     - 0.15 * max(0.0, deep - settings.deep_m) / settings.deep_m)
            xy = at[0] * self._across + at[1] * self._along
            tip = np.array([*xy, level + hand.below_tip_m])
            yield Grasp(hand_down(tip, self._yaw), self._yaw, float(width),
                        float(min(gripper.open_m, width + 2 * spare)), deep, score)

    def _lean(self, row: int, start: int, end: int, level: float, deep: float) -> float:
        """How far the sides lean, as a tangent: 0 for upright ones."""
        upper = np.nonzero(self._strip_thing[row, start:end] > level + 0.75 * deep)[0]
        if not len(upper):
            return math.inf
        inset = CELL_M * max(int(upper[0]), end - start - 1 - int(upper[-1]))
        return float(max(0.0, inset - 0.5 * CELL_M) / (0.75 * deep))


def heights_of(surface: Surface, thing: Mask) -> Heights:
    """Heights of a thing's cells."""
    return np.asarray(surface.top_m[thing])
