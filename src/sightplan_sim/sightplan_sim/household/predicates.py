"""True atoms of a home from its geometry: one function for each predicate.

Definitions follow ViPlan's (its code on iGibson; here "the reference"), where not said otherwise.
The arm's work zone is explained at ``reachable``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

import cv2
import numpy as np

from sightplan.model import Atom, Problem, State
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.homes_geometry import NEXT_TO
from sightplan_sim.household.robot import Robot
from sightplan_sim.household.rotations import Floats
from sightplan_sim.household.scene import Box, Scene
from sightplan_sim.household.shapes import BASE
from sightplan_sim.pinhole import View

OPEN_FRACTION = 0.05
"""Past this fraction of its range a joint is open (the reference's)."""
NEXT_TO_M = 1.0
"""Largest horizontal distance at which neighbours are searched for [m]."""
BEARS = math.sin(math.radians(5.0))
"""A contact carries a thing if the upward part of its unit normal is greater than this."""
WEDGES = -0.5
"""Two contacts wedge a thing if the scalar product of their normals' horizontal parts is less than
this: they face each other."""
HIGHER_M = 0.001
"""A thing on top of a body is higher at its bottom than that body's by at least this [m]."""

_AROUND = np.array([(math.cos(a), math.sin(a), 0.0)
                    for a in np.linspace(0.0, 2 * math.pi, 16, endpoint=False)])
_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
_EDGES = tuple((i, i | bit) for i in range(8) for bit in (1, 2, 4) if not i & bit)
_NEAR_M = 0.05


def is_open(scene: Scene, container: str) -> bool:
    """Whether any joint is past 5 % of its range (reference: the same); never without joints."""
    return any(opening > OPEN_FRACTION for opening in scene.openings(container))


def inside(scene: Scene, thing: str, container: str) -> bool:
    """Whether a thing's centre is in the room inside a container that opens, between its walls.

    Reference: the centre is in the container's bounding box and rays from it hit the container
    both ways on at least two axes. Here the room is the container's cavities, which move with
    drawers, because a bounding box with open leaves holds half of the kitchen; and the axes are
    the container's own. A container without joints holds nothing, as there.
    """
    if not scene.model(container).openable or scene.is_parked(thing):
        return False
    centre = scene.centre(thing)
    return any(room.contains(centre, 0.01) and _walled(scene, container, room, centre)
               for room in scene.cavities(container))


def ontop(scene: Scene, thing: str, support: str) -> bool:
    """Whether a thing is borne by another that it touches, and is not inside it.

    It is borne if a contact's normal points upward by more than 5 degrees, or if it is wedged
    between contacts from opposite sides, as an apple in the mouth of a mug; and its lowest point
    is higher than the other's: so never both ways. On top of a bowl is what lies in it and what
    lies across its rim; a bowl is not on top of the apple that nestles under its flank.

    Reference: contact, and a vertical ray of 5 m from the thing's middle hits the other below and
    not above. Such a ray falls through the bowl under a plate, misses the pan under an apple
    that lies off its middle, and meets its rim both ways; and the boards of a shelf lie above
    each other. What is inside a container stands on its bottom, but is not said to be on top.
    """
    if scene.aabb(thing)[0][2] <= scene.aabb(support)[0][2] + HIGHER_M:
        return False
    normals = scene.normals(thing, support)
    level = normals[:, :2]
    borne = (normals[:, 2] > BEARS).any() or (level @ level.T < WEDGES).any()
    return bool(borne) and not inside(scene, thing, support)


def nextto(scene: Scene, one: str, other: str) -> bool:
    """Whether two bodies are side by side.

    Reference: the gap between their bounding boxes is at most a sixth of the mean of their summed
    extents, and a horizontal ray of at most 1 m from one's middle meets the other first. Here
    the boxes are those of the bases, because an open leaf belongs to a bounding box that what
    stands before the furniture is in. Between a thing and what it is on, in or held by it is
    false here (see ``true_atoms``): there a bowl can be next to the cabinet it is in.
    """
    (a_low, a_high), (b_low, b_high) = scene.base_aabb(one), scene.base_aabb(other)
    if gap(scene, one, other) > NEXT_TO * float(((a_high - a_low) + (b_high - b_low)).mean()):
        return False
    return _meets(scene, one, other) or _meets(scene, other, one)


def gap(scene: Scene, one: str, other: str) -> float:
    """Distance of the bounding boxes of two bases [m]."""
    (a_low, a_high), (b_low, b_high) = scene.base_aabb(one), scene.base_aabb(other)
    apart = np.maximum(np.maximum(a_low - b_high, b_low - a_high), 0.0)
    return float(np.linalg.norm(apart))


def reachable(scene: Scene, robot: Robot, name: str, visible: frozenset[str] | None = None,
              ) -> bool:
    """Whether the arm can reach a body from the robot's station.

    Reference: it is visible, and from the shoulder to the nearest face centre of its bounding box
    are less than 1.5 m. With ``navigation: reference`` that is all.

    With ``navigation: pddl`` it must be in the arm's *work zone*, within the same distance, not
    shut in, and on a free line. The work zone is what the arm has been set up for: navigating to
    something makes it that and, if it is an open container, its contents; opening a container
    adds its contents, closing one takes them out. Nothing else changes it, so that what is
    reachable after an action is what the action's PDDL says; what happens to stand near the
    target is not reachable before the robot turns to it. (In the reference it is, against its
    own PDDL: nearly half of its successful navigations contradict that visibly.)

    Args:
        scene: the home.
        robot: where it stands, its work zone, and what it holds.
        name: of a body.
        visible: what is visible, for the reference's definition; None for ours.
    """
    if visible is not None:
        return name in visible and within_reach(scene, robot, name)
    return name in robot.zone and (robot.held == name or (
        within_reach(scene, robot, name) and not shut_in(scene, name)
        and free_line(scene, robot, name)))


def within_reach(scene: Scene, robot: Robot, name: str) -> bool:
    """Whether the nearest face centre of its bounding box is closer than the arm is long."""
    return face_distance(scene, name, robot.shoulder) < robot.body.reach


def face_distance(scene: Scene, name: str, point: Floats) -> float:
    """Distance from a point to the nearest of the six face centres of a bounding box [m]."""
    return float(np.linalg.norm(_face_centres(scene, name) - point, axis=1).min())


def shut_in(scene: Scene, name: str) -> bool:
    """Whether a body is in a container that is closed."""
    return any(not is_open(scene, other) for other in holders(scene, name))


def holders(scene: Scene, name: str) -> list[str]:
    """Containers that a body is inside of."""
    return [other for other in scene.containers if other != name and inside(scene, name, other)]


def free_line(scene: Scene, robot: Robot, name: str) -> bool:
    """Whether one of a few straight lines from the arm to a body is free.

    They go from the shoulder to its middle, its nearest face and its top, and to points above it
    and then down. What it stands on and what contains it are no obstacles, but the container's
    other leaves and drawers are. No counterpart in the reference, whose arm reaches through walls.
    """
    low, high = scene.aabb(name)
    centre = (low + high) / 2
    shoulder = robot.shoulder
    faces = _face_centres(scene, name)
    nearest = faces[int(np.linalg.norm(faces - shoulder, axis=1).argmin())]
    top = np.array([centre[0], centre[1], high[2]])
    inner = centre + 0.25 * (nearest - centre)
    above = [top + np.array([0.0, 0.0, height]) for height in (0.08, 0.2, 0.4)]
    back = shoulder - centre
    back[2] = 0.0
    back /= max(float(np.linalg.norm(back)), 1e-6)
    above += [point + 0.12 * back for point in above]
    starts = np.array([shoulder] * 4 + [shoulder] * len(above) + above)
    ends = np.array([centre, inner, nearest, top] + above + [top] * len(above))
    below = supports(scene, name)
    within = [other for other in below if inside(scene, name, other)]
    rooms = [(other, room.link) for other in within for room in scene.cavities(other)
             if room.contains(centre, 0.01)]
    hits = scene.first_hits(starts, ends, [other for other in below if other not in within],
                            [*rooms, *((other, BASE) for other in within)])
    free = [hit in ('', name) for hit in hits]
    n = len(above)
    return any(free[:4]) or any(a and b for a, b in zip(free[4:4 + n], free[4 + n:], strict=True))


def supports(scene: Scene, name: str) -> list[str]:
    """Bodies that a thing stands on or is in; empty for a body that does not move."""
    if name not in scene.things:
        return []
    low, _ = scene.aabb(name)
    found = holders(scene, name)
    found += [other for other in scene.names
              if other not in found and other != name and scene.aabb(other)[0][2] < low[2]
              and scene.touching(name, other)]
    return found


def true_atoms(scene: Scene, robot: Robot, problem: Problem,
               visible: frozenset[str] | None = None) -> State:
    """All true atoms (closed world); no atom relates an object to itself.

    Relations have a movable thing first, as in the reference (but what the problem's init has on
    top of something, such as a carton on a table, is there); ``nextto`` holds both ways where both
    are movable. What the gripper holds is on, in and next to nothing. ``visible`` is as for
    ``reachable``.
    """
    movable = [name for name in problem.of_type('movable') if name != robot.held]
    containers = problem.of_type('container')
    found = {Atom('open', (name,)) for name in containers if is_open(scene, name)}
    if robot.held:
        found.add(Atom('holding', (robot.held,)))
    related = set()
    stood = {atom.args[0] for atom in problem.init if atom.predicate == 'ontop'}
    for thing, other in itertools.product(
            (name for name in problem.objects if name in movable or name in stood),
            problem.objects):
        if thing in (other, robot.held) or other == robot.held:
            continue
        if other in containers and inside(scene, thing, other):
            found.add(Atom('inside', (thing, other)))
        elif ontop(scene, thing, other):
            found.add(Atom('ontop', (thing, other)))
        else:
            continue
        related |= {(thing, other), (other, thing)}
    for thing, other in itertools.product(movable, problem.objects):
        if (thing == other or other == robot.held or (thing, other) in related
                or Atom('nextto', (thing, other)) in found):
            continue
        if nextto(scene, thing, other):
            found.add(Atom('nextto', (thing, other)))
            if other in movable:
                found.add(Atom('nextto', (other, thing)))
    found |= {Atom('reachable', (name,)) for name in problem.objects
              if reachable(scene, robot, name, visible)}
    return frozenset(found)


def visible(pixels: Mapping[str, int], hulls: Mapping[str, float], fraction: float,
            ) -> frozenset[str]:
    """Names in view: an object shows at least a fraction of its projected box's hull.

    Reference: pixels of a segmentation, with the robot hidden, over the area of the convex hull
    of the projected three-dimensional box, cut at the picture's edges [px]; at least .08.
    """
    return frozenset(name for name, count in pixels.items()
                     if count and count >= fraction * max(hulls.get(name, math.inf), 1.0))


def hull_px(view: View[Camera], box: Box) -> float:
    """Area of the convex hull of a projected box within the picture [px]; 0 behind the camera.

    What is behind the camera is cut off 5 cm before it.
    """
    local = view.to_optical(box.point(_CORNERS * box.half))
    near = local[:, 2] >= _NEAR_M
    points = [local[near]]
    for i, j in _EDGES:
        if near[i] != near[j]:
            fraction = (_NEAR_M - local[i, 2]) / (local[j, 2] - local[i, 2])
            points.append((local[i] + fraction * (local[j] - local[i]))[None])
    kept = np.concatenate(points)
    if len(kept) < 3:
        return 0.0
    k = view.optics.matrix()
    pixels = kept[:, :2] / kept[:, 2:] * k[0, 0] + (k[0, 2], k[1, 2])
    hull = cv2.convexHull(np.clip(pixels, -1e5, 1e5).astype(np.float32))
    w, h = view.optics.width, view.optics.height
    frame = np.array([(-0.5, -0.5), (w - 0.5, -0.5), (w - 0.5, h - 0.5), (-0.5, h - 0.5)],
                     np.float32)
    area, _ = cv2.intersectConvexConvex(hull, frame)
    return float(area)


def _face_centres(scene: Scene, name: str) -> Floats:
    low, high = scene.aabb(name)
    centre, half = (low + high) / 2, (high - low) / 2
    return np.concatenate([centre + np.diag(half), centre - np.diag(half)])


def _walled(scene: Scene, container: str, room: Box, centre: Floats) -> bool:
    """Whether the container is met both ways on at least two of the room's axes."""
    ways = 2.0 * float(room.half.max()) + 0.3
    ends = np.concatenate([centre + ways * room.rotation.T, centre - ways * room.rotation.T])
    hit = scene.crossed(container, np.repeat(centre[None], 6, axis=0), ends)
    return int((hit[:3] & hit[3:]).sum()) >= 2


def _meets(scene: Scene, one: str, other: str) -> bool:
    """Whether a horizontal ray from one's middle meets the other before anything else."""
    own_low, own_high = scene.base_aabb(one)
    centre = (own_low + own_high) / 2
    low, high = scene.base_aabb(other)
    if not low[2] <= centre[2] <= high[2]:
        return False
    toward = np.clip(centre, low, high) - centre
    toward[2] = 0.0
    ways = _AROUND
    length = float(np.linalg.norm(toward))
    if length > 1e-6:
        ways = np.concatenate([_AROUND, toward[None] / length])
    starts = np.repeat(centre[None], len(ways), axis=0)
    hits = scene.first_hits(starts, starts + NEXT_TO_M * ways, ignore=(one,))
    return other in hits


def contents(scene: Scene, container: str, names: Iterable[str]) -> list[str]:
    """Subset of things that are inside a container."""
    return [name for name in names if name != container and inside(scene, name, container)]
