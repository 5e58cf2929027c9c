"""Places for a held thing near a place in the picture, and the motions to put it there.

What counts is heights: the thing, turned with the hand, goes down where what is under it is level
and free, the fingers find room beside it, and the hand's body above. Where walls keep the fingers
from going down all the way, the thing falls the rest: the less, the better. Frames: the table's,
metres.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import param
from sightplan_arm.config import GripperConfig, RobotConfig
from sightplan_arm.geometry import inverse, make_pose, rotation_from_vector
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory, Vector
from sightplan_arm.skills.clearance import Box
from sightplan_arm.skills.grasp_paths import GraspPlanner, Moves
from sightplan_arm.skills.grasps import Grasp
from sightplan_arm.skills.motions import (
    GUARDED,
    STEP_M,
    Motion,
    MotionSequence,
    PathPlanner,
    first_that_works,
)
from sightplan_arm.skills.placement_values import COSTS, LIMITS, MOTIONS
from sightplan_arm.skills.pointing import PointingSettings
from sightplan_arm.skills.seen import Thing, axis_m, base_m, footprint, top_footprint, top_m
from sightplan_arm.skills.solids import put_down, solids, thing_in_hand
from sightplan_arm.skills.surface import CELL_M, RAISED_M, Heights, Mask, Surface
from sightplan_arm.surroundings import Around
from sightplan_arm.trajectories import UnreachableError

_Kind = TypeVar('_Kind', bound=np.generic)
_Window = tuple[slice, slice]
"""A rectangle of cells: its rows and its columns."""

_SPECK = np.ones((3, 3), np.uint8)
"""Pieces of a floor that are narrower than three cells are no floor."""


@dataclass(frozen=True, slots=True)
class PlaceSettings(PointingSettings):
    """Settings of choosing places."""

    around_m: float = param(0.14, 'How far from where it was pointed a thing may be put [m]',
                            low=0.01, high=0.3)


@dataclass(frozen=True, eq=False)
class Carried:
    """Thing in the hand, as it was when the fingers closed.

    Attributes:
        thing: as it was seen.
        pose: (4, 4) of the tip around it.
        hang_m: how far it hangs below the tip.
        width_m: of what is between the fingers.
    """

    thing: Thing
    pose: Vector
    hang_m: float
    width_m: float

    def outline(self) -> Vector:
        """(N, 2) its cells, from the tip."""
        return np.asarray(footprint(self.thing)[0] - self.pose[:2, 3])


def carried(thing: Thing, pose: Vector, width_m: float) -> Carried:
    """Thing in the hand after the fingers closed around it at a pose of the tip."""
    base = base_m(thing.surface, thing.cells)
    return Carried(thing, np.asarray(pose), float(pose[2, 3]) - base, width_m)


@dataclass(frozen=True, eq=False)
class Spot:
    """A way to put a thing down.

    Attributes:
        tip_m: (3,) where the tip lets it go.
        turn_rad: how far the hand is turned about the vertical from how it took it.
        lean_rad: how far it leans then, about the line that lies across its fingers: positive, if
            the side to which the tip's y axis points goes up.
        rest_m: (2,) where the thing's middle will be.
        support_m: height of what it will stand on.
        fall_m: how far it falls.
        opening_m: to which the fingers open to let it go.
        cost: the lower, the better.
    """

    tip_m: Vector
    turn_rad: float
    lean_rad: float
    rest_m: Vector
    support_m: float
    fall_m: float
    opening_m: float
    cost: float


def propose_spots(surface: Surface, held: Carried, place_m: Vector, meant: Mask | None,
                  gripper: GripperConfig, hand: Sequence[tuple[Vector, Vector]],
                  settings: PlaceSettings, most: int = 16) -> list[Spot]:
    """Ways to put a thing down near a place, the best first.

    Args:
        surface: what is seen, without the arm.
        held: what is put down.
        place_m: (2,) where somebody points.
        meant: (rows, columns) cells of what it is put in or on, see ``room_at``; None: the bare
            table.
        gripper: its fingers.
        hand: boxes around the rest of the hand, see ``PathPlanner.hand``.
        settings: how to choose.
        most: number of proposals.
    """
    grids = _Heights(surface, place_m, meant, settings, held, gripper, hand)
    found = [spot for turn in grids.turns() for spot in grids.spots(turn)]
    found.sort(key=lambda spot: spot.cost)
    if grids.may_lean and (not found or found[0].fall_m > LIMITS.lean_fall_m):
        best = list(dict.fromkeys(spot.turn_rad for spot in found))[:LIMITS.lean_turns]
        found += [spot for turn in best or grids.turns()
                  for spot in grids.spots(turn, LIMITS.leans_rad)]
        found.sort(key=lambda spot: spot.cost)
    kept: list[Spot] = []
    for one in found:
        if not any(alike(one, other) for other in kept):
            kept.append(one)
            if len(kept) == most:
                break
    return kept


def alike(one: Spot, other: Spot) -> bool:
    """Whether two ways to put a thing down are about the same."""
    return (float(np.linalg.norm(one.tip_m[:2] - other.tip_m[:2])) < LIMITS.same_m and
            abs(one.lean_rad - other.lean_rad) < LIMITS.same_lean_rad and
            abs(math.remainder(one.turn_rad - other.turn_rad, 2 * math.pi)) < LIMITS.same_rad)


class _Heights:
    """Height map around a place, with the room for a thing that is lowered there."""

    def __init__(self, surface: Surface, place_m: Vector, meant: Mask | None,
                 settings: PlaceSettings, held: Carried, gripper: GripperConfig,
                 hand: Sequence[tuple[Vector, Vector]]) -> None:
        self._held, self._gripper, self._hand = held, gripper, hand
        self._outline = held.outline()
        axis = axis_m(held.thing.surface, held.thing.cells)
        self._centre = (held.thing.centre_m if axis is None else axis) - held.pose[:2, 3]
        self._on_table = meant is None
        self._radius = LIMITS.on_table_m if meant is None else settings.around_m
        reach = (float(np.linalg.norm(self._outline, axis=1).max()) + self._radius
                 + max((float(np.linalg.norm(np.abs(middle[:2]) + half[:2]))
                        for middle, half in hand), default=0.0))
        count = math.ceil(reach / CELL_M)
        column, row = np.floor((np.asarray(place_m) - surface.low_m) / CELL_M).astype(int)
        top = _without_gaps(surface.top_m)
        self._top = _cut(top, row, column, count)
        self._meant = _cut(surface.labels == 0 if meant is None else meant, row, column, count)
        self._level = 0.0 if meant is None else float(np.percentile(
            self._top[self._meant], 25)) if self._meant.any() else 0.0
        self._depth = cv2.distanceTransform(
            np.pad(self._meant, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1] * CELL_M
        self._half_m = 0.5 * float(min(cv2.minAreaRect(self._outline.astype(np.float32))[1]))
        # What stands on a step of height u leans by about u over its width 2 r, and falls when the
        # middle of its height has gone as far as r; a third of that, for it also swings.
        high_m = (top_m(held.thing.surface, held.thing.cells)
                  - base_m(held.thing.surface, held.thing.cells))
        slender = high_m > LIMITS.slender * self._half_m
        across_m = 2.0 * self._half_m
        self.may_lean = (axis is None and held.width_m < LIMITS.round_ratio * across_m
                         and across_m < LIMITS.round_ratio * high_m
                         and high_m < LIMITS.round_ratio * across_m)
        self._fall_m = min(LIMITS.fall_m, LIMITS.tall_fall_m) if slender else LIMITS.fall_m
        self._inner = self._outline if meant is None else _shrunk(self._outline)
        # Beside walls little of the way is left; what is higher is passed in swing.
        self._high = np.where(self._top > self._level + LIMITS.high_m, self._top, np.float32(0.0))
        self._swing_m = MOTIONS.swing * max(0.0, held.hang_m - MOTIONS.hangs_m)
        self._close = COSTS.no_room_standing if slender else COSTS.no_room_lying
        self._highest_m = self._level + LIMITS.floor_m if slender and meant is not None else np.inf
        self._step_m = 4.0 * self._half_m ** 2 / (3.0 * high_m) if slender else np.inf
        self._low = surface.low_m + CELL_M * (np.array([column, row]) - count)
        self._place = np.asarray(place_m)
        self._along: float | None = None
        self._side_axes: list[tuple[Vector, Vector, float]] = []
        self._askew = self._across = 0.0
        if not self._on_table and self._meant.any():
            floor = self._floor()
            place = _cells(floor if floor.any() else self._meant)
            thing = top_footprint(held.thing)
            self._along = _side_rad(place) - _side_rad(thing)
            # What lies would come upon walls.
            if axis is not None and _has_sides(place) and _has_sides(thing):
                self._askew, self._side_axes = COSTS.per_rad_askew, _side_axes(place, self._low)
                self._across = COSTS.crosswise if _is_long(place) and _is_long(thing) else 0.0

    def _floor(self) -> Mask:
        """Cells of the meant place and of the things on it, without rim and handles."""
        above = self._top - self._level
        floor = self._meant & (above > -LIMITS.below_floor_m) & (above < LIMITS.floor_m)
        corners = cv2.convexHull(_cells(self._meant).astype(np.int32))
        inside = cv2.fillConvexPoly(np.zeros(floor.shape, np.uint8), corners, (1,)) > 0
        whole = (floor | (inside & (above > LIMITS.wall_m))).astype(np.uint8)
        return np.asarray(cv2.morphologyEx(whole, cv2.MORPH_OPEN, _SPECK) > 0)

    def turns(self) -> list[float]:
        """Turns of the hand to try: all around, and along the sides of the meant place."""
        turns = [math.pi * turn / 8 for turn in range(16)]
        if self._along is not None:
            turns += [math.remainder(self._along + math.pi * quarter / 2, 2 * math.pi)
                      for quarter in range(4)]
        return turns

    def _off_sides(self, turn: float) -> float:
        """Cost of not standing along the sides of the place.

        What stands askew takes up more room than it needs, which the next thing will lack.
        """
        off = turn - (self._along or 0.0)
        return (self._askew * abs(math.remainder(off, math.pi / 2))
                + self._across * math.sin(off) ** 2)

    def _side_cost(self, rests: Vector, spin: Vector) -> Vector:
        """Cost of not standing at the sides near which it was pointed.

        Args:
            rests: (rows, columns, 2) where its middle may be.
            spin: (2, 2) by which it is turned.
        """
        cost = np.zeros(rests.shape[:2])
        turned = (self._outline - self._centre) @ spin.T
        for middle, along, half in self._side_axes:
            reach = half - float(np.abs(turned @ along).max())
            off = float((self._place - middle) @ along)
            if reach - LIMITS.near_side_m < abs(off) and LIMITS.off_middle * reach < abs(off):
                outward = math.copysign(1.0, off) * along
                cost += COSTS.per_m_from_side * np.maximum(0.0, reach - LIMITS.beside_m
                                            - (rests - middle) @ outward)
        return cost

    def spots(self, turn: float, leans: Sequence[float] = (0.0,)) -> Iterator[Spot]:
        """Yield the spots for one turn of the hand and some leans; see ``Spot``."""
        cos, sin = math.cos(turn), math.sin(turn)
        spin = np.array([[cos, -sin], [sin, cos]])
        rows, columns = np.mgrid[:self._top.shape[0], :self._top.shape[1]]
        places = self._low + CELL_M * (np.stack([columns, rows], axis=-1) + 0.5)
        rests = places + spin @ self._centre
        off = np.linalg.norm(rests - self._place, axis=2)
        inside = np.floor((rests - self._low) / CELL_M).astype(int)
        size = np.array(self._top.shape)[::-1]
        able = ((inside >= 0) & (inside < size)).all(axis=2) & (off < self._radius)
        inside = np.clip(inside, 0, size - 1)
        able &= self._meant[inside[..., 1], inside[..., 0]]
        if not able.any():
            return
        window = _bounds(able)
        able = able[window]
        whole = _kernel(self._outline @ spin.T, 0.0).astype(np.float32)
        mean = cv2.filter2D(self._top, -1, whole / whole.sum(),
                            borderType=cv2.BORDER_REPLICATE)[window]
        opens = spin @ self._held.pose[:2, 1]
        opens = opens / max(float(np.linalg.norm(opens)), 1e-6)
        bodies = [(lean, self._under_body(opens, lean, window)) for lean in leans]
        own = (COSTS.per_m_off * off
               + COSTS.per_rad_turned * abs(math.remainder(turn, 2 * math.pi))
               + self._off_sides(turn))
        if not self._on_table:
            depth = self._depth[inside[..., 1], inside[..., 0]]
            own += (COSTS.per_m_over_edge * np.maximum(0.0, self._half_m - depth)
                    + self._side_cost(rests, spin))
        own, first = own[window], (window[0].start, window[1].start)
        cost = np.full(self._top.shape, np.inf)
        for roomy in LIMITS.room_fractions:
            opening, support, fingers = self._support_heights(spin, opens, roomy, window)
            level = able & (support - mean < self._step_m) & (support < self._highest_m)
            if self._on_table:
                level &= support < RAISED_M + 0.001
            above_m = np.maximum(0.0, support - self._level - 0.5 * LIMITS.floor_m)
            uneven_m = np.maximum(0.0, support - mean - COSTS.free_unevenness_m)
            uneven = (own + COSTS.per_m_above_floor * above_m + COSTS.per_m_uneven * uneven_m
                      + self._close * (1.0 - roomy))
            for lean, body in bodies:
                lowest, fall = self._lowest_tip(opening, support, fingers, body, lean)
                cost[window] = np.where(
                    level & (fall < self._fall_m), uneven + COSTS.per_m_fall * fall
                    + COSTS.leaning * bool(lean), np.inf)
                order = np.argsort(cost, axis=None)[:400:20]
                for row, column in zip(*np.unravel_index(order, cost.shape), strict=True):
                    if not np.isfinite(cost[row, column]):
                        break
                    at = row - first[0], column - first[1]
                    yield Spot(
                        np.array([*places[row, column], lowest[at]], np.float64), turn,
                        lean, np.asarray(rests[row, column]), float(support[at]),
                        float(fall[at]), opening, float(cost[row, column]))

    def _under_body(self, opens: Vector, lean: float, window: _Window) -> Heights:
        """Least height of the tip for the hand's body.

        Args:
            opens: (2,) along which the fingers open.
            lean: see ``Spot``.
            window: the cells for which it is wanted.
        """
        least: Heights = np.array(-np.inf, np.float32)
        up, aside = math.cos(lean), math.sin(lean)
        for middle, halves in self._hand:
            above = -float(middle[2] + halves[2])  # its lower side above the tip
            pieces = 1 if not lean else 2 * math.ceil(halves[1] / LIMITS.body_piece_m)
            half = float(halves[1]) / pieces
            for at in middle[1] + half * np.arange(1 - pieces, pieces, 2):
                piece = _rectangle((up * at - aside * above) * opens, opens, half,
                                   float(abs(middle[0]) + halves[0]))
                low = up * above + aside * at - abs(aside) * half
                least = np.maximum(least, _highest(
                    self._top, _kernel(piece, LIMITS.body_room_m), window) - low)
        return least

    def _support_heights(self, spin: Vector, opens: Vector,
                         roomy: float, window: _Window) -> tuple[float, Heights, Heights]:
        """Heights under a thing and under the fingers around it.

        Args:
            spin: (2, 2) by which the thing is turned.
            opens: (2,) along which the fingers open.
            roomy: how much of the room beside a thing and for the fingers there is to be, from 0
                to 1.
            window: the cells for which they are wanted.

        Returns:
            To which the fingers open; heights of what the thing stands on, and what fingers have
            under them.
        """
        hand = self._gripper.hand
        beside_m = roomy * LIMITS.beside_m
        under = _highest(self._top, _kernel(
            self._inner @ spin.T, LIMITS.beside_m if self._on_table else beside_m), window)
        passed = _highest(self._high, _kernel(
            self._outline @ spin.T, beside_m + self._swing_m), window)
        support = np.asarray(np.maximum(under, passed) - 0.001, np.float32)
        opening = min(self._gripper.open_m, self._held.width_m + LIMITS.least_release_m + roomy * (
            LIMITS.release_m - LIMITS.least_release_m))
        fingers: Heights = np.array(0.0, np.float32)
        near, far = self._held.width_m / 2, opening / 2 + hand.finger_thickness_m  # as they open
        for side in (-1.0, 1.0):
            finger = _rectangle(side * (near + far) / 2 * opens, opens, (far - near) / 2,
                                hand.finger_half_width_m)
            for heights, margin in ((self._top, 0.0), (self._high, LIMITS.finger_room_m)):
                fingers = np.maximum(fingers, _highest(heights, _kernel(finger, margin), window))
        return opening, support, fingers

    def _lowest_tip(self, opening: float, support: Heights, fingers: Heights, body: Heights,
                    lean: float) -> tuple[Heights, Heights]:
        """Lowest heights of the tip, and the heights from which the thing falls.

        Args:
            opening: see ``_support_heights``.
            support: likewise.
            fingers: likewise.
            body: see ``_under_body``.
            lean: see ``Spot``.
        """
        hand, aside = self._gripper.hand, abs(math.sin(lean))  # so much lower is one side
        tip = (support + self._held.hang_m + LIMITS.drop_m
               + aside * self._held.width_m / 2)
        far = opening / 2 + hand.finger_thickness_m
        lowest = np.maximum(tip, np.maximum(
            fingers + hand.below_tip_m + aside * far, body) + LIMITS.above_seen_m)
        return lowest, lowest - tip


def _side_rad(points: NDArray[Any]) -> float:
    """Direction of the longer side of the smallest rectangle around points (N, 2)."""
    _, (wide, high), angle = cv2.minAreaRect(points.astype(np.float32))
    return math.radians(angle + 90.0 * (high > wide))


def _cells(mask: Mask) -> NDArray[np.float32]:
    """(N, 2) columns and rows of some cells."""
    return np.argwhere(mask)[:, ::-1].astype(np.float32)


def _side_axes(cells: NDArray[np.float32], low_m: Vector) -> list[tuple[Vector, Vector, float]]:
    """The two directions of the smallest rectangle around cells (N, 2).

    Returns:
        for each its middle (2,), the direction (2,), and half its length in it.
    """
    middle, size, angle = cv2.minAreaRect(cells)
    return [(low_m + CELL_M * (np.array(middle) + 0.5),
             np.array([math.cos(math.radians(turn)), math.sin(math.radians(turn))]),
             CELL_M * (length + 1.0) / 2)
            for length, turn in zip(size, (angle, angle + 90.0), strict=True)]


def _is_long(points: NDArray[Any]) -> bool:
    """Whether the smallest rectangle around points (N, 2) is clearly longer than wide."""
    sides = cv2.minAreaRect(points.astype(np.float32))[1]
    return min(sides) < LIMITS.long_ratio * max(sides)


def _has_sides(points: NDArray[Any]) -> bool:
    """Whether points (N, 2), seen as a whole, are rather a rectangle than a disc."""
    hull = cv2.convexHull(points.astype(np.float32))
    wide, high = cv2.minAreaRect(hull)[1]
    return _is_long(points) or cv2.contourArea(hull) > LIMITS.rectangle_fill * wide * high


def _shrunk(points: Vector) -> Vector:
    """Cells (N, 2) of a thing, narrower by one cell: cells at its edges are half empty."""
    (x, y), sides, angle = cv2.minAreaRect(points.astype(np.float32))
    turn = math.radians(angle)
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    inner = np.maximum(1.0 - CELL_M / np.maximum(sides, CELL_M), 0.5)
    return np.asarray((((points - (x, y)) @ axes.T) * inner) @ axes + (x, y))


def room_at(surface: Surface, place_m: Vector, piece: Mask) -> Mask:
    """Cells (rows, columns) of the part of a piece that takes things up around a pointed place.

    That is what hangs together around there and is about as low as the lowest of it: the inside of
    a bowl or a drawer, also where somebody points at its rim or at a thing that stands in it.

    Args:
        surface: what is seen.
        place_m: (2,) where somebody points.
        piece: (rows, columns) cells of the whole.
    """
    top = _without_gaps(surface.top_m)
    column, row = np.floor((np.asarray(place_m) - surface.low_m) / CELL_M).astype(int)
    around = np.zeros(piece.shape, np.uint8)
    cv2.circle(around, (int(column), int(row)), round(LIMITS.pointed_m / CELL_M), (1,), cv2.FILLED)
    near = (around > 0) & piece
    if not near.any():
        return piece
    level = float(np.percentile(top[near], 20))
    low = (piece & (top < level + LIMITS.wall_m)).astype(np.uint8)
    number, labels = cv2.connectedComponents(low, connectivity=4)
    counts = np.bincount(labels[near], minlength=number)[1:]
    return filled(labels == 1 + int(np.argmax(counts))) if counts.any() else piece


def filled(cells: Mask) -> Mask:
    """Cells with all holes filled."""
    contours, _ = cv2.findContours(cells.astype(np.uint8), cv2.RETR_EXTERNAL,
                                   cv2.CHAIN_APPROX_NONE)
    out = np.zeros(cells.shape, np.uint8)
    cv2.drawContours(out, contours, -1, (1,), cv2.FILLED)
    return np.asarray(out > 0)


def _without_gaps(top: Heights) -> Heights:
    """Heights in which unknown cells have the height of the nearest known cell."""
    missing = ~np.isfinite(top)
    if not missing.any():
        return top
    _, labels = cv2.distanceTransformWithLabels(
        missing.astype(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL)
    values = np.zeros(int(labels.max()) + 1, np.float32)
    values[labels[~missing]] = top[~missing]
    return np.asarray(np.where(missing, values[labels], top), np.float32)


def _cut(array: NDArray[_Kind], row: int, column: int, count: int) -> NDArray[_Kind]:
    """The square of ``count`` cells to each side of a cell, zeros where the array ends."""
    padded = np.pad(array, count + 1)
    row, column = (int(np.clip(v, 0, n - 1)) + count + 1 for v, n in zip(
        (row, column), array.shape, strict=True))
    return np.ascontiguousarray(padded[row - count:row + count + 1,
                                       column - count:column + count + 1])


def _bounds(mask: Mask) -> _Window:
    """The smallest window that has all cells of a mask, of which some are set."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def _highest(heights: Heights, kernel: NDArray[np.uint8], window: _Window) -> Heights:
    """Greatest height under a kernel laid on each cell of a window."""
    half = kernel.shape[0] // 2
    begins = [max(0, cut.start - half) for cut in window]
    around = heights[tuple(slice(begin, cut.stop + half)
                           for begin, cut in zip(begins, window, strict=True))]
    inner = tuple(slice(cut.start - begin, cut.stop - begin)
                  for begin, cut in zip(begins, window, strict=True))
    return np.asarray(cv2.dilate(np.ascontiguousarray(around), kernel)[inner], np.float32)


def _kernel(points: Vector, margin_m: float) -> NDArray[np.uint8]:
    """Square mask of the cells at points (N, 2) and within ``margin_m`` of them."""
    cells = np.round(points / CELL_M).astype(int)
    half = int(np.abs(cells).max()) + math.ceil(margin_m / CELL_M) + 1
    kernel = np.zeros((2 * half + 1, 2 * half + 1), np.uint8)
    kernel[cells[:, 1] + half, cells[:, 0] + half] = 1
    side = 2 * round(margin_m / CELL_M) + 1
    if side > 1:
        kernel = np.asarray(cv2.dilate(kernel, cv2.getStructuringElement(
            cv2.MORPH_ELLIPSE, (side, side))), np.uint8)
    return np.asarray(cv2.morphologyEx(kernel, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)),
                      np.uint8)


def _rectangle(middle: Vector, along: Vector, half_along: float, half_across: float) -> Vector:
    """(N, 2) points that fill a rectangle at less than the size of a cell apart."""
    across = np.array([-along[1], along[0]])
    u, v = (np.linspace(-half, half, max(2, math.ceil(3 * half / CELL_M)))
            for half in (half_along, half_across))
    grid = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    return np.asarray(middle + grid[:, :1] * along + grid[:, 1:] * across)


@dataclass(frozen=True, eq=False)
class PlaceMoves:
    """The planned motions with which a thing is put down.

    Attributes:
        spot: where.
        bring: to just above the place with the thing in the hand; guarded on the way down.
        lower: the rest of the way down, piece by piece, guarded.
        leave: from there to where the camera sees everything.
        way: (K, N) postures on the way up from the place, the lowest first.
    """

    spot: Spot
    bring: tuple[Motion, ...]
    lower: tuple[Motion, ...]
    leave: tuple[Motion, ...]
    way: Vector


class PlacePlanner:
    """Plans motions that carry a thing out of view, and put it down.

    Args:
        robot: its configuration.
        paths: finds paths among boxes.
        check: raises ArmStoppedError for a trajectory that the gate would refuse, with what is
            around.
        carry_speed: part of the speed with a thing in the hand.
        room_m: distance kept to things on the way.
        settings: how places are chosen.
    """

    def __init__(self, robot: RobotConfig, paths: PathPlanner,
                 check: Callable[[JointTrajectory, Around], None], *, carry_speed: float,
                 room_m: float, settings: PlaceSettings) -> None:
        self._robot, self._paths, self._check = robot, paths, check
        self._slow, self._room_m, self._settings = carry_speed, room_m, settings
        self._base_m = inverse(robot.table.pose)[:3, 3]

    def away(self, posture: Vector, boxes: Sequence[Box], hang_m: float,
             around: Around) -> tuple[Motion, ...]:
        """Move from above where a thing was taken to where the camera sees everything.

        Args:
            posture: in which the arm holds it.
            boxes: to keep away from.
            hang_m: how far it hangs below the tip, at most.
            around: what the gate checks the motions against.

        Raises:
            UnreachableError: the arm cannot do it.
        """
        sequence = MotionSequence(self._paths, posture, around)
        sequence.home('transfer', boxes, self._room(hang_m), self._pace(hang_m))
        return self._checked(sequence.take())

    def place(self, surface: Surface, held: Carried, spot: Spot) -> PlaceMoves:
        """Plan the motions that put the held thing down at a spot.

        Raises:
            NoRoomError: the arm would come too near to things.
            UnreachableError: the arm cannot do it.
        """
        others = self._high(surface)
        # What stands upright would lean with the hand.
        stands = axis_m(held.thing.surface, held.thing.cells) is not None
        tilts = (0.0,) if stands or spot.lean_rad else MOTIONS.tilts_rad
        return first_that_works([functools.partial(self._tilted, held, spot, others, tilt)
                                 for tilt in tilts], 'the place cannot be reached')

    def _tilted(self, held: Carried, spot: Spot, others: Sequence[Box],
                tilt: float) -> PlaceMoves:
        out = spot.tip_m - self._base_m
        axis = np.array([-out[1], out[0], 0.0]) / max(float(np.hypot(*out[:2])), 1e-6)
        turned = rotation_from_vector((0.0, 0.0, spot.turn_rad)) @ held.pose[:3, :3]
        lean = spot.lean_rad * np.cross((*turned[:2, 1], 0.0), (0.0, 0.0, 1.0))
        rotation = rotation_from_vector(-tilt * axis) @ rotation_from_vector(lean) @ turned
        low = make_pose(spot.tip_m, rotation)
        self._paths.check_hand(low, others, MOTIONS.least_room_m)
        return first_that_works([functools.partial(self._lifted, held, spot, others, low, lift)
                                 for lift in MOTIONS.lifts_m], 'the place cannot be reached')

    def _lifted(self, held: Carried, spot: Spot, others: Sequence[Box], low: Vector,
                lift_m: float) -> PlaceMoves:
        high = low.copy()
        high[2, 3] += lift_m
        self._paths.check_hand(high, others, MOTIONS.least_room_m)
        return first_that_works([functools.partial(self._join, held, spot, others, path)
                                 for path in self._paths.rise(low, high, others, MOTIONS.room_m)],
                                'no way is found over the table')

    def _join(self, held: Carried, spot: Spot, others: Sequence[Box],
              path: Vector) -> PlaceMoves:
        known = solids(others, self._robot.table.block_m)
        thing = thing_in_hand(held.thing, held.pose)
        sequence = MotionSequence(self._paths, self._robot.arm.park,
                                  Around(known, thing, held.width_m))
        sequence.out('transfer', 'with the thing to above its place', path[-1], others,
                     self._room(held.hang_m), self._pace(held.hang_m))
        sequence.around = replace(sequence.around, touches=put_down(
            thing, self._paths.pose(path[0]), known, None))
        felt, above = self._paths.cut(path, MOTIONS.felt_m, MOTIONS.piece_m)
        high_m = self._high_m(held, spot, others) - MOTIONS.felt_m
        beside = above[:1]
        if high_m > 0.0:
            beside, above = self._paths.cut(above, high_m, STEP_M)
        sequence.along('place', 'down to above its place', above[::-1], self._slow, guarded=True)
        sequence.along('place', 'down beside what is high', beside[::-1], GUARDED * self._slow,
                       guarded=True)
        bring = sequence.take()
        for here, below in itertools.pairwise(felt[::-1]):
            sequence.along('place', 'down with the thing', np.stack([here, below]), self._slow,
                           guarded=True)
        lower = sequence.take()
        way = np.concatenate([felt, beside[1:], above[1:]])
        sequence.around = Around(known, opening_m=spot.opening_m)
        sequence.along('retreat', 'up from the thing', way, self._slow)
        sequence.home('retreat', others, self._room_m)
        moves = PlaceMoves(spot, bring, lower, sequence.take(), way)
        self._checked((*moves.bring, *moves.lower, *moves.leave))
        return moves

    def leave_from(self, moves: PlaceMoves, posture: Vector) -> tuple[Motion, ...]:
        """Plan the motions that leave a place after something was in the hand's way.

        Args:
            moves: that put a thing down.
            posture: in which the arm stands, on or beside the way down.
        """
        up, *home = moves.leave
        higher = (self._paths.heights(moves.way)
                  > self._paths.heights(posture[None])[0] + MOTIONS.piece_m)
        higher[-1] = True
        sequence = MotionSequence(self._paths, posture, up.around)
        sequence.along(up.phase, up.what, np.concatenate([posture[None], moves.way[higher]]),
                       self._slow)
        return (*sequence.take(), *home)

    def _high_m(self, held: Carried, spot: Spot, others: Sequence[Box]) -> float:
        """Height above its place down to which a thing or the hand must pass neighbours [m]."""
        outline = held.outline() - (held.thing.centre_m - held.pose[:2, 3])
        fingers_m = spot.opening_m / 2 + self._robot.gripper.hand.finger_thickness_m
        reach = MOTIONS.beside_m + max(float(np.linalg.norm(outline, axis=1).max()), fingers_m)
        tops = [float(box.centre_m[2] + box.size_m[2] / 2) for box in others
                if np.linalg.norm(box.centre_m[:2] - spot.rest_m) < reach]
        return max(tops, default=0.0) + held.hang_m - float(spot.tip_m[2]) + STEP_M

    def _room(self, hang_m: float) -> float:
        return self._room_m + max(0.0, hang_m - self._robot.gripper.hand.below_tip_m)

    def _pace(self, hang_m: float) -> float:
        """Fraction of the speed for a thing that hangs ``hang_m`` below the tip."""
        hangs = MOTIONS.hangs_m / max(hang_m, MOTIONS.hangs_m)
        return self._slow * max(hangs ** 2, MOTIONS.slowest)

    def _high(self, surface: Surface) -> list[Box]:
        least = self._robot.gripper.hand.fingers_m - MOTIONS.below_body_m
        return [box for box in surface.boxes(None, MOTIONS.tile_m)
                if float(box.size_m[2]) > least]

    def _checked(self, motions: tuple[Motion, ...]) -> tuple[Motion, ...]:
        for motion in motions:
            try:
                self._check(motion.trajectory, motion.around)
            except ArmStoppedError as error:
                raise UnreachableError(f'{error} ({error.cause})') from error
        return motions


class FetchPlanner(GraspPlanner):
    """Plans grasps after which the thing is carried out of the camera's view.

    Args:
        robot, paths, check, lift_m, carry_speed, room_m: see ``GraspPlanner``.
        places: plans the way out of view.
    """

    lifts: ClassVar[tuple[float, ...]] = (1.0, 1.6, 0.8, 0.6)  # higher over what is tall

    def __init__(self, robot: RobotConfig, paths: PathPlanner,
                 check: Callable[[JointTrajectory, Around], None], places: PlacePlanner, *,
                 lift_m: float, carry_speed: float, room_m: float) -> None:
        super().__init__(robot, paths, check, lift_m=lift_m, carry_speed=carry_speed,
                         room_m=room_m)
        self._places = places

    def _lift(self, thing: Thing, grasp: Grasp, boxes: Sequence[Box], path: Vector) -> Moves:
        moves = super()._lift(thing, grasp, boxes, path)
        away = self._places.away(path[-1], boxes, float(grasp.pose[2, 3]), moves.lift[0].around)
        return replace(moves, lift=(*moves.lift, *away))
