"""Extents, sight lines and distances of bodies in a home: pure arithmetic, no simulator.

Boxes are given by two corners along the home's axes, rectangles on the floor by
(x low, y low, x high, y high). Lengths are metres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.household.shapes import Joint, Model, Part, Placed, Region, Vec3

Rect = tuple[float, float, float, float]
_Turn = tuple[Vec3, Vec3, Vec3]
T = TypeVar('T')
_UNIT: _Turn = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_STEPS = 8

NEXT_TO = 1 / 6
"""Largest gap of bodies next to each other, as a fraction of their mean summed extents."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box along the axes, by its lowest and its highest corner."""

    low: Vec3
    high: Vec3

    @property
    def rect(self) -> Rect:
        """Footprint of the box."""
        return (self.low[0], self.low[1], self.high[0], self.high[1])

    @property
    def centre(self) -> Vec3:
        """Centre of the box [m]."""
        (a, b, c), (d, e, f) = self.low, self.high
        return ((a + d) / 2, (b + e) / 2, (c + f) / 2)

    @property
    def extents(self) -> Vec3:
        """Lengths of the box along x, y, z [m]."""
        (a, b, c), (d, e, f) = self.low, self.high
        return (d - a, e - b, f - c)

    def corners(self) -> list[Vec3]:
        """The eight corners of the box [m]."""
        return [(x, y, z) for x in (self.low[0], self.high[0])
                for y in (self.low[1], self.high[1]) for z in (self.low[2], self.high[2])]

    def meets(self, other: Box, gap: float = 0.0) -> bool:
        """Whether two boxes come closer than a gap along every axis."""
        return (self.low[0] < other.high[0] + gap and other.low[0] < self.high[0] + gap
                and self.low[1] < other.high[1] + gap and other.low[1] < self.high[1] + gap
                and self.low[2] < other.high[2] + gap and other.low[2] < self.high[2] + gap)


def around(boxes: Iterable[Box]) -> Box:
    """The least box around some."""
    boxes = list(boxes)
    if len(boxes) == 1:
        return boxes[0]
    x0, y0, z0 = map(min, zip(*(box.low for box in boxes), strict=True))
    x1, y1, z1 = map(max, zip(*(box.high for box in boxes), strict=True))
    return Box((x0, y0, z0), (x1, y1, z1))


def gap(one: Box, other: Box) -> float:
    """Distance between two boxes."""
    return math.hypot(*(max(0.0, one.low[k] - other.high[k], other.low[k] - one.high[k])
                        for k in range(3)))


def near_limit(one: Box, other: Box) -> float:
    """Largest gap at which two bodies count as next to each other."""
    return sum(one.extents + other.extents) / 3 * NEXT_TO


def overlap(one: Rect, other: Rect, distance: float = 0.0) -> bool:
    """Whether two rectangles come closer than a distance along both axes."""
    return (one[0] < other[2] + distance and other[0] < one[2] + distance
            and one[1] < other[3] + distance and other[1] < one[3] + distance)


def within(inner: Rect, outer: Rect, margin: float = 0.0) -> bool:
    """Whether a rectangle lies in another, ``margin`` away from its edges."""
    return (inner[0] >= outer[0] + margin and inner[1] >= outer[1] + margin
            and inner[2] <= outer[2] - margin and inner[3] <= outer[3] - margin)


def disc_meets(x: float, y: float, radius: float, rect: Rect) -> bool:
    """Whether a disc touches a rectangle."""
    dx = max(rect[0] - x, 0.0, x - rect[2])
    dy = max(rect[1] - y, 0.0, y - rect[3])
    return dx * dx + dy * dy < radius * radius


def crosses(start: Vec3, end: Vec3, box: Box) -> bool:
    """Whether a segment meets a box (slab method)."""
    first, last = 0.0, 1.0
    for origin, target, low, high in zip(start, end, box.low, box.high, strict=True):
        step = target - origin
        if abs(step) < 1e-12:
            if not low <= origin <= high:
                return False
            continue
        enter, leave = (low - origin) / step, (high - origin) / step
        if enter > leave:
            enter, leave = leave, enter
        if enter > first:
            first = enter
        if leave < last:
            last = leave
        if first > last:
            return False
    return True


# --- models ------------------------------------------------------------------------------------

def _times(turn: _Turn, v: Vec3) -> Vec3:
    (a, b, c), (d, e, f), (g, h, i) = turn
    x, y, z = v
    return (a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z)


def _about(axis: Vec3, angle: float) -> _Turn:
    """Matrix of a rotation about a unit axis by an angle [rad] (Rodrigues' formula)."""
    (x, y, z), s, c = axis, math.sin(angle), math.cos(angle)
    v = 1 - c
    return ((c + x * x * v, x * y * v - z * s, x * z * v + y * s),
            (y * x * v + z * s, c + y * y * v, y * z * v - x * s),
            (z * x * v - y * s, z * y * v + x * s, c + z * z * v))


def _joint_frame(joint: Joint | None, opening: float) -> tuple[Vec3, _Turn]:
    """Origin and turn of a link's frame in the body's."""
    if joint is None:
        return (0.0, 0.0, 0.0), _UNIT
    (x, y, z), (ax, ay, az), way = joint.origin, joint.axis, joint.upper * opening
    if joint.kind == 'slide':
        return (x + ax * way, y + ay * way, z + az * way), _UNIT
    return (x, y, z), _about(joint.axis, way)


def _part_box(part: Part) -> Box:
    half = [s / 2 for s in part.size]
    if part.rpy != (0.0, 0.0, 0.0):
        squares = [[(row[k] * half[k]) ** 2 for k in range(3)]
                   for row in rotation_from_rpy(part.rpy).tolist()]
        if part.kind == 'sphere':
            half = [math.sqrt(sum(row)) for row in squares]
        elif part.kind == 'cylinder':
            half = [math.sqrt(row[0] + row[1]) + math.sqrt(row[2])
                    for row in squares]
        else:
            half = [sum(map(math.sqrt, row)) for row in squares]
    (x, y, z), (a, b, c) = part.position, half
    return Box((x - a, y - b, z - c), (x + a, y + b, z + c))


def _kept(model: Model, name: str, measure: Callable[[], T]) -> T:
    """Cached measurement of a model under a name; it is measured at the first call."""
    if name not in model.measured:
        model.measured[name] = measure()
    found: T = model.measured[name]
    return found


def _parts_of(model: Model) -> list[tuple[Joint | None, list[Part]]]:
    """Parts that count, by link: the solid ones of a thing that is carried, else all."""
    return [(link.joint, [part for part in link.parts if part.solid or not model.mass])
            for link in model.links]


def _product_range(row: Vec3, box: Box) -> tuple[float, float]:
    """Least and largest product of a row and a corner of a box."""
    (x, y, z), (x0, y0, z0), (x1, y1, z1) = row, box.low, box.high
    a, b, c = (x * x0, y * y0, z * z0)
    d, e, f = (x * x1, y * y1, z * z1)
    if a > d:
        a, d = d, a
    if b > e:
        b, e = e, b
    if c > f:
        c, f = f, c
    return a + b + c, d + e + f


def _spread(box: Box, origin: Vec3, turn: _Turn) -> Box:
    """The box around a box that is turned and then shifted."""
    if turn is _UNIT:
        low, high = box.low, box.high
    else:
        (x0, x1), (y0, y1), (z0, z1) = (_product_range(row, box) for row in turn)
        low, high = (x0, y0, z0), (x1, y1, z1)
    return Box((low[0] + origin[0], low[1] + origin[1], low[2] + origin[2]),
               (high[0] + origin[0], high[1] + origin[1], high[2] + origin[2]))


def link_boxes(model: Model, openings: Sequence[float] = (0.0,)) -> list[Box]:
    """A box around each link, in the body's frame, at some openings (fractions of the range)."""
    links = _kept(model, 'links', lambda: [
        (joint, around(map(_part_box, parts))) for joint, parts in _parts_of(model) if parts])
    return [_spread(box, *_joint_frame(joint, opening)) for joint, box in links
            for opening in (openings if joint is not None else openings[:1])]


def model_box(model: Model, opening: float = 0.0) -> Box:
    """A box around a model in its own frame."""
    if opening:
        return around(link_boxes(model, (opening,)))
    return _kept(model, 'closed', lambda: around(link_boxes(model)))


def swept_box(model: Model) -> Box:
    """A box around all that a model sweeps from closed to open, in its own frame."""
    return _kept(model, 'swept', lambda: around(
        link_boxes(model, [step / _STEPS for step in range(_STEPS + 1)])))


def base_box(model: Model) -> Box:
    """Box around the fixed parts of a model, without leaves and drawers."""
    return around(map(_part_box, _parts_of(model)[0][1])) if model.openable else model_box(model)


def to_home(box: Box, placed: Placed) -> Box:
    """A box of a body's frame, as the box along the home's axes around it."""
    return _spread(box, placed.position, _about((0.0, 0.0, 1.0), placed.yaw)
                   if placed.yaw else _UNIT)


def placed_box(placed: Placed) -> Box:
    """The box around a body as it stands."""
    return to_home(model_box(placed.model, placed.opening), placed)


def placed_boxes(placed: Placed) -> list[Box]:
    """A box around each link of a body as it stands; around each solid part, if none moves."""
    if placed.model.openable:
        return [to_home(box, placed) for box in link_boxes(placed.model, (placed.opening,))]
    solid = _kept(placed.model, 'solid', lambda: [
        _part_box(part) for part in placed.model.links[0].parts if part.solid])
    return [to_home(box, placed) for box in solid]


def clearance(one: Placed, other: Placed) -> float:
    """Least distance of the boxes around two bodies' links."""
    return min(gap(a, b) for a in placed_boxes(one) for b in placed_boxes(other))


def next_to(one: Placed, other: Placed) -> bool:
    """Whether two bodies that do not touch are clearly close enough to be next to each other."""
    a, b = (to_home(base_box(body.model), body) for body in (one, other))
    return gap(a, b) < 0.8 * near_limit(a, b) and clearance(one, other) > 0.006


def region_frame(placed: Placed, region: Region) -> tuple[Vec3, _Turn]:
    """Centre of a region in the home, and its axes (as rows that map its frame to the home's)."""
    origin, turn = _joint_frame(placed.model.links[region.link].joint, placed.opening)
    x, y, z = (a + b for a, b in zip(origin, _times(turn, region.centre), strict=True))
    yaw = _about((0.0, 0.0, 1.0), placed.yaw)
    hx, hy, hz = _times(yaw, (x, y, z))
    px, py, pz = placed.position
    rows = [tuple(sum(yaw[i][k] * turn[k][j] for k in range(3)) for j in range(3))
            for i in range(3)]
    (a, b, c), (d, e, f), (g, h, i) = rows
    return (px + hx, py + hy, pz + hz), ((a, b, c), (d, e, f), (g, h, i))


def region_point(placed: Placed, region: Region, local: Vec3) -> Vec3:
    """A point of a region's own frame (its centre is the origin) in the home."""
    centre, turn = region_frame(placed, region)
    x, y, z = (a + b for a, b in zip(centre, _times(turn, local), strict=True))
    return (x, y, z)


def region_local(placed: Placed, region: Region, point: Vec3) -> Vec3:
    """A point of the home in a region's own frame."""
    centre, turn = region_frame(placed, region)
    offset = [a - b for a, b in zip(point, centre, strict=True)]
    x, y, z = (sum(turn[k][axis] * offset[k] for k in range(3)) for axis in range(3))
    return (x, y, z)
