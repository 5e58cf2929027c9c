"""Drawers as a depth camera sees them, and the motions that slide them: planned, not made.

A drawer is an upright front with a bar or a knob before it. Where the front is, which way it
faces, and where the handle is comes from the points of one picture; how far it is out is told from
the cabinet's top and from other fronts beside or above it. Frames: the table's, metres.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import hand_down, make_pose, rotation_from_vector
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory, Vector
from sightplan_arm.skills.clearance import Box
from sightplan_arm.skills.drawer_values import MOTIONS, SIGHT
from sightplan_arm.skills.motions import (
    Motion,
    MotionSequence,
    NoRoomError,
    PathPlanner,
    first_that_works,
)
from sightplan_arm.skills.seen import NothingThereError
from sightplan_arm.skills.solids import solids
from sightplan_arm.skills.surface import CELL_M, Mask, Surface
from sightplan_arm.surroundings import Around
from sightplan_arm.trajectories import UnreachableError

Normals = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Drawer:
    """A drawer as the camera sees it.

    Attributes:
        surface: in which it is seen.
        at_m: (2,) middle of the front's face.
        out: (2,) unit vector out of the front.
        half_m: half its width.
        low_m, high_m: heights between which the front is seen.
        handle_m: (3,) middle of what can be gripped; None: nothing is seen.
        handle_width_m: extent of that along the front.
        opened_m: how far the front is before where it is when closed.
        depth_m: of the cabinet behind its face; 0 where its top is not seen.
        is_upper: whether it is the uppermost, as far as the cabinet's top is seen.
    """

    surface: Surface
    at_m: Vector
    out: Vector
    half_m: float
    low_m: float
    high_m: float
    handle_m: Vector | None
    handle_width_m: float
    opened_m: float
    depth_m: float
    is_upper: bool = False

    @property
    def along(self) -> Vector:
        """(2,) unit vector along the front."""
        return np.array([-self.out[1], self.out[0]])

    def distances(self, points: NDArray[np.float32]) -> tuple[Vector, Vector]:
        """Distances of points (..., 2 or 3) before the front, and along it [m]."""
        off = points[..., :2].astype(np.float64) - self.at_m
        return off @ self.out, off @ self.along


def see_drawer(surface: Surface, pixels: Mask) -> Drawer:
    """The drawer whose front is in the pixels (H, W).

    Raises:
        NothingThereError: they show no upright front.
    """
    normals = _normals(surface)
    with np.errstate(invalid='ignore'):
        upright = (np.abs(normals[:, :, 2]) < SIGHT.upright) & (surface.points_m[:, :, 2] > 0.006)
    shown = pixels & upright & (surface.cells >= 0)
    points = surface.points_m[shown].astype(np.float64)
    fitted = _line(points[:, :2], normals[shown][:, :2].astype(np.float64))
    if fitted is None:
        raise NothingThereError('no upright front is seen there')
    at, out, inside = fitted
    if out @ (surface.eye_m[:2] - at) < 0:
        out = -out
    along = np.array([-out[1], out[0]])
    u = (points[inside, :2] - at) @ along
    left, right = (float(v) for v in np.percentile(u, (2, 98)))
    low, high = _heights(points[inside, 2])
    if right - left < SIGHT.least_front_m:
        raise NothingThereError('what is seen there is too narrow for a front')
    front = Drawer(surface, at + (left + right) / 2 * along, out, (right - left) / 2, low, high,
                   None, 0.0, 0.0, 0.0)
    front, handle, width = _handle(front, pixels)
    opened, depth, is_upper = _opened(front, upright)
    return replace(front, handle_m=handle, handle_width_m=width, opened_m=opened, depth_m=depth,
                   is_upper=is_upper)


def front_again(surface: Surface, drawer: Drawer, reach_m: float) -> float | None:
    """Distance by which a front has moved out since it was seen [m]; None if it is not found.

    Args:
        surface: what is seen now.
        drawer: as it was.
        reach_m: it moved by no more than this, in or out.
    """
    normals = _normals(surface)
    with np.errstate(invalid='ignore'):
        upright = np.abs(normals[:, :, 2]) < SIGHT.upright
        facing = normals[:, :, :2] @ drawer.out > 0.8
        height = surface.points_m[:, :, 2]
        margin = 0.15 * (drawer.high_m - drawer.low_m)
        level = (height > drawer.low_m + margin) & (height < drawer.high_m - margin)
    before, along = drawer.distances(surface.points_m)
    with np.errstate(invalid='ignore'):
        near = (np.abs(along) < drawer.half_m) & (np.abs(before) < reach_m + 0.02)
    found = before[upright & facing & level & near]
    if len(found) < SIGHT.least_px:
        return None
    edges = np.arange(-reach_m - 0.02, reach_m + 0.02, 0.003)
    counts = np.convolve(np.histogram(found, edges)[0], np.ones(3), 'same')
    peak = edges[int(np.argmax(counts))] + 0.0015
    return float(np.median(found[np.abs(found - peak) < 0.006]))


def _normals(surface: Surface) -> Normals:
    """(H, W, 3) unit, towards the camera; NaN where points are unknown or far apart."""
    points, w = surface.points_m, SIGHT.window_px
    normals = np.full(points.shape, np.nan, np.float32)
    right = points[w:-w, 2 * w:] - points[w:-w, :-2 * w]
    down = points[2 * w:, w:-w] - points[:-2 * w, w:-w]
    with np.errstate(invalid='ignore', divide='ignore'):
        cross = np.cross(down, right)
        length = np.linalg.norm(cross, axis=2, keepdims=True)
        apart = np.maximum(np.linalg.norm(right, axis=2), np.linalg.norm(down, axis=2))
        unit = np.where((apart < SIGHT.jump_m)[:, :, None], cross / length, np.float32(np.nan))
    normals[w:-w, w:-w] = unit
    return normals


def _line(points: Vector, normals: Vector) -> tuple[Vector, Vector, Mask] | None:
    """The line with the most points (N, 2) whose normals are perpendicular to it.

    Returns:
        a point of it (2,), its unit normal (2,), and which points are on it; None: there is none.
    """
    if len(points) < SIGHT.least_px:
        return None
    random = np.random.default_rng(0)
    best: tuple[int, Vector, Vector] | None = None
    sample = random.permutation(len(points))[:600]
    few, few_normals = points[sample], normals[sample]
    for a, b in random.integers(len(few), size=(SIGHT.rounds, 2)):
        way = few[b] - few[a]
        length = float(np.linalg.norm(way))
        if length < 0.6 * SIGHT.least_front_m:
            continue
        normal = np.array([-way[1], way[0]]) / length
        on = ((np.abs((few - few[a]) @ normal) < SIGHT.on_front_m)
              & (np.abs(few_normals @ normal) > 0.7))
        count = int(on.sum())
        if best is None or count > best[0]:
            best = count, few[a], normal
    if best is None:
        return None
    _, at, normal = best
    for _ in range(3):
        on = ((np.abs((points - at) @ normal) < SIGHT.on_front_m)
              & (np.abs(normals @ normal) > 0.6))
        if on.sum() < SIGHT.least_px:
            return None
        at = points[on].mean(axis=0)
        _, _, axes = np.linalg.svd(points[on] - at, full_matrices=False)
        normal = axes[1]
    return at, normal, on


def _heights(heights: Vector) -> tuple[float, float]:
    """Lowest and highest point of a front, from heights of its points.

    Those at the edges may be others.
    """
    edges = np.arange(0.0, float(heights.max()) + 2 * CELL_M, CELL_M)
    counts = np.histogram(heights, edges)[0]
    full = np.nonzero(counts > 0.5 * np.percentile(counts[counts > 0], 90))[0]
    kept = heights[(heights >= edges[full[0]]) & (heights <= edges[full[-1] + 1])]
    low, high = np.percentile(kept, (1, 99))
    return float(low), float(high)


def _handle(front: Drawer, pixels: Mask) -> tuple[Drawer, Vector | None, float]:
    """Handle of a front; of several the one at the height of the pixels' middle.

    Returns:
        the front without what belongs to other handles, the middle (3,) of the handle, and its
        width; None and 0 if none is seen.
    """
    side = 2 * SIGHT.handle_px + 1
    near = cv2.dilate(pixels.astype(np.uint8), np.ones((side, side), np.uint8)) > 0
    points = front.surface.points_m
    before, along = front.distances(points)
    with np.errstate(invalid='ignore'):
        shown = (near & (before > SIGHT.handle_m[0]) & (before < SIGHT.handle_m[1])
                 & (np.abs(along) < front.half_m) & (points[:, :, 2] > front.low_m - 0.004)
                 & (points[:, :, 2] < front.high_m + 0.004))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(shown.astype(np.uint8))
    large = [label for label in range(1, count)
             if stats[label, cv2.CC_STAT_AREA] >= SIGHT.least_handle_px]
    if not large:
        return front, None, 0.0
    meant = _pointed(front, pixels)
    places = {one: np.array([np.median(along[labels == one]),
                             np.median(points[:, :, 2][labels == one])]) for one in large}
    own = labels == min(large, key=lambda one: _off_front(front, places[one] - meant))
    low, high = (float(v) for v in np.percentile(points[:, :, 2][own], (5, 95)))
    middle_m = (low + high) / 2
    for _, height in places.values():
        between = (height + middle_m) / 2
        if height > high:
            front = replace(front, high_m=min(front.high_m, float(between)))
        elif height < low:
            front = replace(front, low_m=max(front.low_m, float(between)))
    far = float(np.percentile(before[own], 90))
    left, right = np.percentile(along[own & (before > far - 0.012)], (5, 95))
    middle = front.at_m + (far - SIGHT.bar_m) * front.out + (left + right) / 2 * front.along
    return front, np.array([*middle, middle_m]), float(right - left)


def _off_front(front: Drawer, off: Vector) -> float:
    """Distance of a handle from the places where a front (2,) can have one.

    It may be anywhere along the front, but for its ends; of two alike the nearer one counts.
    """
    along, height = abs(float(off[0])), float(off[1])
    return (math.hypot(max(0.0, along - SIGHT.handle_at * front.half_m), height)
            + SIGHT.nearer * along)


def _pointed(front: Drawer, pixels: Mask) -> Vector:
    """(2,) where the middle of some pixels is on a front: along it, and its height."""
    ys, xs = np.nonzero(pixels)
    surface = front.surface
    ray = surface.rays[(ys.min() + ys.max()) // 2, (xs.min() + xs.max()) // 2].astype(np.float64)
    steep = float(ray[:2] @ front.out)
    length = float((front.at_m - surface.eye_m[:2]) @ front.out) / min(steep, -1e-3)
    place = surface.eye_m + length * ray
    return np.array([(place[:2] - front.at_m) @ front.along, place[2]])


def _opened(front: Drawer, upright: Mask) -> tuple[float, float, bool]:
    """Opening of a drawer, depth of the cabinet behind its face, and whether it is the uppermost.

    All as far as they are seen.
    """
    face, depth, top = _top(front)
    if depth <= 0:
        return 0.0, 0.0, False
    is_upper = front.high_m > top - 0.025
    plate_m = SIGHT.plate_m if is_upper and -face > SIGHT.plate_m + 0.003 else 0.0
    opened = max(0.0, -face - plate_m)
    other = _other_front(front, upright, opened)
    return (opened if other is None else max(0.0, -other)), depth, is_upper


def _top(front: Drawer) -> tuple[float, float, float]:
    """Begin of the cabinet's top, counted from the front outward, its depth, and its height [m].

    Zeros where none is seen.
    """
    surface = front.surface
    rows, columns = np.nonzero(np.isfinite(surface.top_m))
    places = surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5)
    before, along = front.distances(places)
    strip = (np.abs(along) < 0.7 * front.half_m) & (before < 0.0) & (before > -0.45)
    heights = surface.top_m[rows, columns]
    high = strip & (heights > front.high_m - 0.01)
    if high.sum() < SIGHT.least_px:
        return 0.0, 0.0, 0.0
    top = float(np.percentile(heights[high], 60))
    level = strip & (np.abs(heights - top) < SIGHT.level_m)
    edges = np.arange(-0.45, CELL_M, CELL_M)
    wide = 1.4 * front.half_m / CELL_M
    full = np.histogram(before[level], edges)[0] > 0.5 * wide
    runs, start = [], None
    gap = 0
    for index, filled in enumerate(full):
        if filled:
            start = index if start is None else start
            gap = 0
        elif start is not None:
            gap += 1
            if gap >= SIGHT.gap_cells:
                runs.append((start, index - gap + 1))
                start = None
    if start is not None:
        runs.append((start, len(full) - gap))
    if not runs:
        return 0.0, 0.0, 0.0
    first, last = max(runs, key=lambda run: run[1] - run[0])
    return float(edges[last]), CELL_M * (last - first), top


def _other_front(front: Drawer, upright: Mask, opened_m: float) -> float | None:
    """Place of another, closed front, counted outward from this one [m]; None if none is seen."""
    points = front.surface.points_m
    before, along = front.distances(points)
    height = points[:, :, 2]
    with np.errstate(invalid='ignore'):
        shown = (upright & (np.abs(along) < front.half_m)
                 & ((height > front.high_m + 0.008) | (height < front.low_m - 0.008))
                 & (np.abs(before + opened_m) < SIGHT.reference_m))
    found = before[shown]
    if len(found) < 3 * SIGHT.least_px:
        return None
    edges = np.arange(-opened_m - SIGHT.reference_m, -opened_m + SIGHT.reference_m + 0.001, 0.002)
    counts = np.convolve(np.histogram(found, edges)[0], np.ones(3), 'same')
    peak = edges[int(np.argmax(counts))] + 0.001
    near = found[np.abs(found - peak) < 0.004]
    return float(np.median(near)) if len(near) > 0.4 * len(found) else None


def obstacles(drawer: Drawer) -> tuple[list[Box], list[Box]]:
    """Obstacles of a hand at a drawer: fixed ones, and those that move with the drawer.

    Fixed are all things but the drawer. Things that stick out of the drawer move with it.
    """
    surface = drawer.surface
    shape = surface.top_m.shape
    places = surface.low_m + CELL_M * (np.stack(np.meshgrid(
        np.arange(shape[1]), np.arange(shape[0])), axis=-1) + 0.5)
    before, along = drawer.distances(places)
    own = ((np.abs(along) < drawer.half_m + 0.012) & (before > -drawer.opened_m - 0.002)
           & (before < SIGHT.handle_m[1]))
    at = drawer.at_m if drawer.handle_m is None else drawer.handle_m[:2]
    boxes = [box for box in surface.boxes(own, MOTIONS.tile_m) if box.size_m[2] > MOTIONS.low_m
             and float(np.linalg.norm(box.centre_m[:2] - at)) < MOTIONS.around_m]
    fixed, riding = _neighbours(drawer)
    return boxes + fixed, riding


def _neighbours(drawer: Drawer) -> tuple[list[Box], list[Box]]:
    """Handles and fronts above or below a drawer, and things that stick out of it.

    Boxes of their own heights. What is high and as near to the cabinet's face as a handle may be
    is taken for one, unless there is no drawer above.
    """
    points = drawer.surface.points_m
    before, along = drawer.distances(points)
    height = points[:, :, 2]
    fixed: list[Box] = []
    riding: list[Box] = []
    with np.errstate(invalid='ignore'):
        region = ((np.abs(along) < drawer.half_m + 0.012) & (before < SIGHT.handle_m[1])
                  & (before > -drawer.opened_m + 0.008))
        above = region & (height > drawer.high_m + 0.006)
        near = above & (before < -drawer.opened_m + SIGHT.handle_m[1]) & (not drawer.is_upper)
        inside = above & ~near & (before < SIGHT.on_front_m)
        parts = ((inside, riding), (above & ~inside, fixed),
                 (region & (height < drawer.low_m - 0.006) & (height > 0.01), fixed))
    for part, boxes in parts:
        count, labels, stats, _ = cv2.connectedComponentsWithStats(part.astype(np.uint8))
        for label in range(1, count):
            if stats[label, cv2.CC_STAT_AREA] < SIGHT.least_handle_px:
                continue
            one = labels == label
            (d0, d1), (u0, u1), (z0, z1) = (np.percentile(values[one], (1, 99))
                                            for values in (before, along, height))
            middle = drawer.at_m + (d0 + d1) / 2 * drawer.out + (u0 + u1) / 2 * drawer.along
            boxes.append(Box(np.array([*middle, (z0 + z1) / 2]),
                             np.array([max(u1 - u0, 0.004), max(d1 - d0, 0.004),
                                       max(z1 - z0, 0.004)]),
                             math.atan2(drawer.along[1], drawer.along[0])))
    return fixed, riding


def _taken_along(drawer: Drawer, boxes: Sequence[Box], way_m: float) -> list[Box]:
    """Boxes that move with a drawer, shifted by ``way_m`` (outwards if positive)."""
    shift = np.append(max(way_m, -drawer.opened_m) * drawer.out, 0.0)
    return [replace(box, centre_m=box.centre_m + shift) for box in boxes]


@dataclass(frozen=True, eq=False)
class SlideMoves:
    """The planned motions with which a drawer is moved.

    Attributes:
        opening_m: to which the fingers open before they go around the handle; 0: they stay
            closed, and push against the front.
        fetch: to the handle, or to before the front.
        slide: with the handle in the fingers, or the front before them, piece by piece.
        leaves: away from where each piece ends, and back to where the camera sees everything;
            the first is from where ``fetch`` ends.
    """

    opening_m: float
    fetch: tuple[Motion, ...]
    slide: tuple[Motion, ...]
    leaves: tuple[tuple[Motion, ...], ...]


class SlidePlanner:
    """Plans motions that slide drawers.

    Args:
        robot: its configuration.
        paths: finds paths among boxes.
        check: raises ArmStoppedError for a trajectory that the gate would refuse, with what is
            around.
        carry_speed: part of the speed close to things.
        room_m: distance kept to things on the way.
    """

    def __init__(self, robot: RobotConfig, paths: PathPlanner,
                 check: Callable[[JointTrajectory, Around], None], *, carry_speed: float,
                 room_m: float) -> None:
        self._robot, self._paths, self._check = robot, paths, check
        self._slow, self._room_m = carry_speed, room_m

    def plan(self, drawer: Drawer, move_m: float) -> SlideMoves:
        """The motions that take a drawer by its handle and move it.

        What is to be closed and cannot be taken by its handle is pushed at its front.

        Args:
            drawer: with a handle, if it is to be opened.
            move_m: how far, outwards if positive.

        Raises:
            NoRoomError: the arm would come too near to things.
            UnreachableError: the arm cannot do it.
        """
        others, riding = obstacles(drawer)
        opening = min(drawer.handle_width_m + 2 * MOTIONS.spare_m, self._robot.gripper.open_m)
        ways = [] if drawer.handle_m is None else [
            functools.partial(self._tilted, drawer, move_m, 0.0, others, riding,
                              grip_pose(drawer, tilt, turn), opening)
            for tilt in MOTIONS.tilts_rad for turn in MOTIONS.turns_rad]
        if move_m < 0.0:
            gap = self._robot.gripper.hand.finger_half_width_m + MOTIONS.before_m
            ways += [functools.partial(self._tilted, drawer, move_m, MOTIONS.before_m, others,
                                       riding, push_pose(drawer, part, gap, tilt, turn), 0.0)
                     for part in MOTIONS.pushed_at for tilt in MOTIONS.tilts_rad
                     for turn in MOTIONS.turns_rad]
        return first_that_works(ways, 'the handle cannot be reached' if move_m > 0.0 else
                                'neither handle nor front can be reached')

    def _tilted(self, drawer: Drawer, move_m: float, gap_m: float, others: Sequence[Box],
                riding: Sequence[Box], low: Vector, opening_m: float) -> SlideMoves:
        high, end = low.copy(), low.copy()
        high[:3, 3] -= MOTIONS.retreat_m * low[:3, 2]
        end[:2, 3] += (move_m - gap_m) * drawer.out
        for pose, taken in ((low, riding), (end, _taken_along(drawer, riding, move_m))):
            self._paths.check_hand(pose, [*others, *taken], MOTIONS.least_m)
        return first_that_works([
            functools.partial(self._join, drawer, move_m, gap_m, others, riding, opening_m, path)
            for path in self._paths.rise(low, high, [*others, *riding], MOTIONS.room_m)],
            'no way is found to the drawer')

    def _join(self, drawer: Drawer, move_m: float, gap_m: float, others: Sequence[Box],
              riding: Sequence[Box], opening_m: float, path: Vector) -> SlideMoves:
        boxes = [box for box in drawer.surface.boxes() if box.size_m[2] > MOTIONS.low_m]

        def around(*more: Box) -> Around:
            return Around(solids([*others, *more], self._robot.table.block_m),
                          opening_m=opening_m)
        sequence = MotionSequence(self._paths, self._robot.arm.park, around(*riding))
        sequence.out('approach', 'to before the drawer', path[-1], boxes, self._room_m)
        sequence.along('approach', 'around the handle' if opening_m else 'to the front',
                       path[::-1], self._slow)
        fetch = sequence.take()
        back = self._paths.pose(path[-1]) - self._paths.pose(path[0])
        leaves = [self._leave(sequence, back, boxes)]
        start = self._paths.pose(path[0])
        hand_m = move_m - gap_m
        count = max(1, math.ceil(abs(hand_m) / MOTIONS.piece_m))
        slide: list[Motion] = []
        for number in range(1, count + 1):
            pose = start.copy()
            way_m = hand_m * number / count
            pose[:2, 3] += way_m * drawer.out
            taken = _taken_along(drawer, riding, min(0.0, way_m + gap_m) if gap_m else way_m)
            line = self._paths.straight(sequence.posture, pose)
            room = min(self._paths.clearance.least_m(line, others, MOTIONS.least_m),
                       self._paths.clearance.least_m(line[-1:], taken, MOTIONS.least_m))
            if room < MOTIONS.least_m:
                raise NoRoomError(f'the arm would come to {1e3 * room:.0f} mm from a thing')
            # Including the drawer's content, which moves, too: see ``room``.
            sequence.around = around()
            sequence.along('slide', 'pull the drawer' if move_m > 0 else 'push the drawer', line,
                           self._slow)
            slide += sequence.take()
            sequence.around = around(*taken)
            leaves.append(self._leave(sequence, back, boxes))
        moves = SlideMoves(opening_m, fetch, tuple(slide), tuple(leaves))
        for motion in (*moves.fetch, *moves.slide, *(one for leave in leaves for one in leave)):
            try:
                self._check(motion.trajectory, motion.around)
            except ArmStoppedError as error:
                raise UnreachableError(f'{error} ({error.cause})') from error
        return moves

    def _leave(self, sequence: MotionSequence, back: Vector,
               boxes: Sequence[Box]) -> tuple[Motion, ...]:
        """Back along the fingers, and to park."""
        leave = sequence.branch()
        pose = self._paths.pose(leave.posture) + back
        leave.along('retreat', 'away from the handle',
                    self._paths.straight(leave.posture, pose), self._slow)
        leave.home('retreat', boxes, self._room_m)
        return leave.take()


def grip_pose(drawer: Drawer, tilt: float, turn: float = 0.0) -> Vector:
    """(4, 4) pose of the tip around a handle.

    Args:
        drawer: with a handle.
        tilt: how far the fingers point towards the front, from straight down [rad].
        turn: of the hand about itself, 0 or half a turn.
    """
    assert drawer.handle_m is not None
    return _towards(drawer, drawer.handle_m, tilt, turn)


def push_pose(drawer: Drawer, part: float, before_m: float, tilt: float,
              turn: float = 0.0) -> Vector:
    """(4, 4) pose of the tip before a front, at half of its height.

    Args:
        drawer: any.
        part: where along the front, from -1 to 1.
        before_m: distance of the tip from the front.
        tilt: as in ``grip_pose``.
        turn: likewise.
    """
    at = drawer.at_m + part * drawer.half_m * drawer.along + before_m * drawer.out
    return _towards(drawer, np.array([*at, 0.5 * (drawer.low_m + drawer.high_m)]), tilt, turn)


def _towards(drawer: Drawer, at_m: Vector, tilt: float, turn: float) -> Vector:
    """(4, 4) pose of the tip at a point (3,), the fingers towards a drawer."""
    along = drawer.along
    down = hand_down(at_m, math.atan2(-along[0], along[1]))[:3, :3]
    # The axis out of the hand turns from straight down towards the front.
    axis = np.cross((0.0, 0.0, -1.0), (*-drawer.out, 0.0))
    rotation = (rotation_from_vector(tilt * axis) @ down
                @ rotation_from_vector((0.0, 0.0, turn)))
    return make_pose(at_m, rotation)
