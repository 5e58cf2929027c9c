"""Motions to draw: a thing is moved next to another one, around an obstacle."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Point, pixel
from sightplan.model.scene import TraceTask
from sightplan_sim.meshes import Floats
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.tabletop.meshes import hulls_of
from sightplan_sim.tabletop.paths import Plane
from sightplan_sim.tabletop.shapes import Placed
from sightplan_sim.tabletop.table import footprint_area, turned
from sightplan_sim.tabletop.tasks import Asker
from sightplan_sim.tabletop.visible import Visible
from sightplan_sim.tabletop.wording import wording

MOST_TRACES = 2
"""Motions that a scene asks for at most."""
REACH_M = 0.05
"""Largest distance at which one thing is next to another [m]."""
_END_GAP_M = (0.016, 0.032)
"""Smallest and largest distance from the goal at which an oracle's trace ends [m]."""
_LARGEST_M2 = 0.024
_LOW_M = 0.02
"""Height up to which a thing counts as flat on the table [m]."""
_OVERLAP_M2 = 1.5e-4
"""Things meet well if their outlines overlap by this."""
_GOALS = 12
"""Places beside a goal that are tried."""


@dataclass(frozen=True, slots=True)
class _Motion:
    """A motion: the moved thing, its goal, the obstacle, and the path."""

    moved: str
    goal: str
    obstacle: str
    path: tuple[Floats, ...]


def to_picture(view: View[Pinhole], ground: Floats) -> tuple[Point, ...]:
    """Points (N, 2) of the table's plane in unit coordinates of the picture."""
    pixels = view.project(np.column_stack([ground, np.zeros(len(ground))])) + 0.5
    return tuple((float(x) / view.optics.width, float(y) / view.optics.height) for x, y in pixels)


def in_picture(view: View[Pinhole], ground: Floats) -> NDArray[np.bool_]:
    """(N,) whether points (N, 2) of the table's plane are in the picture, not at its edge."""
    pixels = view.project(np.column_stack([ground, np.zeros(len(ground))])) + 0.5
    unit = pixels / (view.optics.width, view.optics.height)
    return np.asarray((np.abs(unit - 0.5) < 0.49).all(axis=1))  # NaN is not


def to_table(view: View[Pinhole], trace: tuple[Point, ...]) -> Floats:
    """(N, 2) where the rays through unit coordinates meet the table's plane.

    NaN where a ray does not come down to it.
    """
    rays = rays_of(view, trace)
    with np.errstate(divide='ignore', invalid='ignore'):
        far = np.where(rays[:, 2] < -1e-6, -view.position_m[2] / rays[:, 2], np.nan)
    return np.asarray(view.position_m[:2] + far[:, None] * rays[:, :2])


def rays_of(view: View[Pinhole], trace: tuple[Point, ...]) -> Floats:
    """(N, 3) directions in the table's frame through unit coordinates of the picture."""
    optics = view.optics
    offsets = (np.array(trace, np.float64) - 0.5) * (optics.width, optics.height)
    local = np.column_stack([offsets / optics.focal_px, np.ones(len(offsets))])
    return np.asarray(local @ view.axes.T)


def ask_traces(asker: Asker, visible: Visible, rng: np.random.Generator) -> tuple[TraceTask, ...]:
    """Draw trace tasks whose motion is not a straight line.

    Args:
        asker: finds words.
        visible: what is seen.
        rng: chooses.
    """
    table = visible.table
    tasks = []
    for motion in itertools.islice(_motions(asker, visible, rng), MOST_TRACES):
        named = {'thing': motion.moved, 'other': motion.goal, 'third': motion.obstacle}
        trace = to_picture(visible.view, np.array(motion.path))
        tasks.append(TraceTask(
            asker.phrase(wording().traces, {}, named), trace[0], trace, motion.moved,
            {'next_to': motion.goal, 'reach_m': REACH_M, 'obstacle': motion.obstacle,
             'avoid': [one.name for one in table.things
                       if one.name not in (motion.moved, motion.goal)
                       and one.inside not in (motion.goal,)]}))
    return tuple(tasks)


def _motions(asker: Asker, visible: Visible, rng: np.random.Generator) -> Iterator[_Motion]:
    """Yield at most one motion of each thing that can be moved."""
    table = visible.table
    known = [one for one in asker.nameable() if not one.inside]
    holders = {one.inside for one in table.things}
    movable = [one for one in known if one.name not in holders
               and footprint_area(one.thing) < _LARGEST_M2]
    for moved in _shuffled(rng, movable):
        others = [one for one in table.things if one is not moved and not one.inside]
        if not _is_on(visible, moved, np.array(moved.pose.position[:2])):
            continue
        plane = Plane(moved, others, table.look.half_m, lambda at: in_picture(visible.view, at))
        for goal in _shuffled(rng, [one for one in known if one is not moved]):
            motion = _motion(plane, moved, goal, others, known, rng)
            if motion is not None:
                yield motion
                break


def _motion(plane: Plane, moved: Placed, goal: Placed, others: Sequence[Placed],
            known: Sequence[Placed], rng: np.random.Generator) -> _Motion | None:
    """A way to a place beside the goal that is not straight, if there is one."""
    start = np.array(moved.pose.position[:2])
    gap = plane.gaps[goal.name]
    cells = np.argwhere((gap > _END_GAP_M[0]) & (gap < _END_GAP_M[1])
                        & plane.within)
    for row, column in rng.permutation(cells)[:_GOALS].tolist():
        end = plane.point((row, column))
        obstacle = _in_the_way(plane, moved, others, end, goal.name)
        if any(one.name == obstacle for one in known):
            path = plane.path(start, (row, column))
            return _Motion(moved.name, goal.name, obstacle, tuple(path))
    return None


def _in_the_way(plane: Plane, moved: Placed, others: Sequence[Placed], end: Floats,
                goal: str) -> str:
    """The one thing that a straight move would run into; '' if none or several."""
    start = np.array(moved.pose.position[:2])
    if plane.least(plane.clearance, start, end) > 0.0:
        return ''
    hit = [other for other in others if plane.least(plane.gaps[other.name], start, end) <= 0.0]
    if len(hit) != 1 or hit[0].name == goal or not _blocks(moved, hit[0], end - start):
        return ''
    return hit[0].name


def _blocks(moved: Placed, other: Placed, way: Floats) -> bool:
    """Whether things would meet close to the table, well enough to be no mere touch.

    A handle or the belly of a bowl may pass above something flat.
    """
    swept = [cv2.convexHull(np.concatenate([foot, foot + way.astype(np.float32)]))
             for foot in _feet(moved)]
    return any(cv2.intersectConvexConvex(one, two)[0] > _OVERLAP_M2
               for one in swept for two in _feet(other))


def _feet(placed: Placed) -> list[NDArray[np.float32]]:
    """Outlines (N, 1, 2) of the parts of a placed thing that are close to the table."""
    feet = []
    for part in placed.thing.parts:
        for piece in hulls_of(part.solid):
            low = piece[piece[:, 2] < _LOW_M][:, :2]
            if len(low) > 2:
                ground = turned(low, placed.pose.yaw) + placed.pose.position[:2]
                hull = cv2.convexHull(ground.astype(np.float32))
                feet.append(np.asarray(hull, np.float32))
    return feet


def _is_on(visible: Visible, placed: Placed, at: Floats) -> bool:
    """Whether a point (2,) of the plane is seen where the thing is seen."""
    (x, y), = to_picture(visible.view, at[None])
    mask = visible.thing(placed.name)
    row, column = pixel(y * mask.shape[0]), pixel(x * mask.shape[1])
    return (0 <= row < mask.shape[0] and 0 <= column < mask.shape[1]
            and bool(mask[row, column]))


def _shuffled(rng: np.random.Generator, things: list[Placed]) -> list[Placed]:
    return [things[k] for k in rng.permutation(len(things))]

