"""Things on a table, from depth and colour.

The table is the plane that most of the picture lies on (random sample consensus; Fischler and
Bolles 1981). What rises from it within its outline, and is connected without a step in depth, is a
heap. A heap is cut where two surfaces meet in a crease *and* their colours differ, as things do
that touch each other (creases: Stein et al. 2014, locally convex connected patches). Parts too
thin to be things, such as handles, go back to what they border on, and heaps that lie flat are not
cut, because tools have parts of two materials and seldom touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask

Camera = tuple[float, float, float, float]
"""fx, fy, cx, cy in pixels, from the top left pixel's corner."""
Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.int32]
"""(H, W), index of the part of each pixel; -1 for none."""


@dataclass(frozen=True, slots=True)
class PieceLimits:
    """Sizes and differences by which the table, heaps and their parts are recognized.

    The values were chosen by hand on rendered pictures.
    """

    least_known: float = 0.2
    """Smallest fraction of the picture with known depth."""

    least_table: float = 0.1
    """Smallest fraction of the known depth that must lie on the table."""

    hole_px: int = 7
    """Width up to which holes get the depth beside them."""

    samples: int = 3000
    """Number of points among which the table's plane is searched for."""

    trials: int = 300
    """Number of planes through three of these points that are tried."""

    refinements: int = 3
    """Number of fits to the points on the best plane."""

    on_plane_m: float = 0.005
    """Distance from the table's plane within which points are on it."""

    least_height_m: float = 0.004
    """Height below which things are taken for the table."""

    noise: float = 4.0
    """Height below which a pixel counts as the table, in standard deviations of its depth."""

    strip_px: int = 5
    """Width below which a part of the table may be something else, ..."""

    least_part: float = 0.01
    """... and the fraction of the table's pixels below which it may."""

    beyond_m: float = 0.02
    """Largest distance by which a thing may extend beyond the table's edge."""

    step: float = 0.02
    """Relative difference in depth above which neighbouring pixels are not connected."""

    least_piece: float = 2e-4
    """Least size of a piece, as a fraction of the picture."""

    most_piece: float = 0.5
    """Greatest size of a piece, as a fraction of the picture."""

    flat_m: float = 0.05
    """Height below which heaps are not cut."""

    thin_m: float = 0.02
    """Radius of the disc that a part must contain to be a thing."""

    beside_px: int = 3
    """Distance of the points on both sides of a pixel that are compared for a crease."""

    smooth_px: int = 5
    """Width of the window over which points are averaged before normals are computed."""

    crease_deg: float = 20.0
    """Angle between two surfaces from which they meet in a crease."""

    colour: float = 18.0
    """Difference of colours, as a distance in Lab with its lightness at ``lightness``."""

    lightness: float = 0.6
    """Weight of the lightness, which shading changes, against the other two parts of a colour."""


LIMITS = PieceLimits()
"""The values that are used."""


@dataclass(frozen=True, eq=False)
class _Plane:
    """Plane normal @ x + offset = 0; heights are positive on the camera's side."""

    normal: Floats
    offset: float

    def heights(self, points: Floats) -> Floats:
        found: Floats = points @ self.normal + self.offset
        return found


def depth_labels(image: NDArray[np.uint8], depth_m: NDArray[np.float32],
                 camera: Camera | None = None) -> Labels | None:
    """The things of a picture.

    Args:
        image: (H, W, 3) uint8 RGB.
        depth_m: (H, W) distance along the optical axis [m]; 0 or not finite where unknown.
        camera: None: a focal length as long as the longer edge, and the middle of the picture.

    Returns:
        None: too little depth is known, or there is no table.
    """
    depth: Floats = np.where(np.isfinite(depth_m) & (depth_m > 0), depth_m, 0).astype(np.float64)
    known = depth > 0
    if known.sum() < max(LIMITS.least_known * known.size, 3):
        return None
    depth = _without_holes(depth)
    known = depth > 0
    height, width = depth.shape
    camera = camera or (max(height, width), max(height, width), width / 2, height / 2)
    points = _points(depth, camera)
    plane = _table(points[known])
    if plane is None:
        return None
    heights = plane.heights(points)
    on_table = known & (np.abs(heights) < LIMITS.on_plane_m)
    if on_table.sum() < max(LIMITS.least_table * known.sum(), 3):
        return None
    noise = 1.4826 * float(np.median(np.abs(heights[on_table])))
    above = known & (heights > max(LIMITS.least_height_m, LIMITS.noise * noise)) & _over(
        points, _wide(on_table), plane.normal)
    return _numbered(_cut(image, points, depth, heights, above, camera))


def _without_holes(depth: Floats) -> Floats:
    """Depth with its small holes filled from their surroundings; 0 where it stays unknown."""
    import cv2
    from scipy.ndimage import distance_transform_edt

    known = depth > 0
    closed = cv2.morphologyEx(known.astype(np.uint8), cv2.MORPH_CLOSE,
                              np.ones((LIMITS.hole_px, LIMITS.hole_px), np.uint8)) > 0
    if np.array_equal(closed, known):
        return depth
    nearest = distance_transform_edt(~known, return_distances=False, return_indices=True)
    filled: Floats = np.where(closed, depth[tuple(nearest)], depth)
    return filled


def _points(depth: Floats, camera: Camera) -> Floats:
    """(H, W, 3), in the optical frame [m]."""
    fx, fy, cx, cy = camera
    height, width = depth.shape
    x = (np.arange(width) + 0.5 - cx) / fx
    y = (np.arange(height) + 0.5 - cy) / fy
    return np.stack([x * depth, y[:, None] * depth, depth], axis=-1)


def _table(points: Floats) -> _Plane | None:
    """The plane that most of (N, 3) points lie on; None if they are all on one line."""
    rng = np.random.default_rng(0)
    sample = points[rng.permutation(len(points))[:LIMITS.samples]]
    corners = sample[rng.integers(len(sample), size=(LIMITS.trials, 3))]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    proper = lengths > 1e-9
    if not proper.any():
        return None
    normals = normals[proper] / lengths[proper, None]
    offsets = -(normals * corners[proper, 0]).sum(axis=1)
    near = (np.abs(sample @ normals.T + offsets) < LIMITS.on_plane_m).sum(axis=0)
    plane = _Plane(normals[near.argmax()], float(offsets[near.argmax()]))
    for _ in range(LIMITS.refinements):
        inliers = sample[np.abs(plane.heights(sample)) < LIMITS.on_plane_m]
        middle = inliers.mean(axis=0)
        normal = np.linalg.svd(inliers - middle, full_matrices=False)[2][-1]
        plane = _Plane(normal, float(-normal @ middle))
    return plane if plane.offset > 0 else _Plane(-plane.normal, -plane.offset)


def _wide(on_table: Mask) -> Mask:
    """Remove narrow strips where something beside the table is as high as the table."""
    import cv2

    opened = cv2.morphologyEx(on_table.astype(np.uint8), cv2.MORPH_OPEN,
                              np.ones((LIMITS.strip_px, LIMITS.strip_px), np.uint8)) > 0
    count, labels, stats, _ = cv2.connectedComponentsWithStats(opened.astype(np.uint8))
    areas = stats[1:, cv2.CC_STAT_AREA]
    wide = np.flatnonzero(areas >= LIMITS.least_part * on_table.sum()) + 1
    return np.isin(labels, wide) if count > 1 and len(wide) else on_table


def _over(points: Floats, on_table: Mask, normal: Floats) -> Mask:
    """For each point, whether it is over the table: within the convex outline of its pixels."""
    import cv2

    across = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    across /= np.linalg.norm(across)
    flat = np.stack([points @ across, points @ np.cross(normal, across)], axis=-1)
    outline = cv2.convexHull(np.ascontiguousarray(flat[on_table], np.float32)).reshape(-1, 2)
    edges = np.roll(outline, -1, axis=0) - outline
    turn = np.sign(cv2.contourArea(outline, oriented=True)) or 1.0
    over = np.ones(on_table.shape, bool)
    for (x, y), (dx, dy) in zip(outline, edges, strict=True):
        side = turn * (dx * (flat[..., 1] - y) - dy * (flat[..., 0] - x))
        over &= side >= -LIMITS.beyond_m * np.hypot(dx, dy)
    return over


def _cut(image: NDArray[np.uint8], points: Floats, depth: Floats, heights: Floats, above: Mask,
         camera: Camera) -> list[Mask]:
    """Heaps, cut into things."""
    steps = _steps(depth)
    least = LIMITS.least_piece * above.size
    heaps = _parts(above, steps, least)
    parts = _parts(above & ~_borders(image, points), steps, least)
    labels = np.full(above.shape, -1, np.int32)
    for index, part in enumerate(parts):
        labels[part] = index
    radius_m = depth / camera[0]  # of a pixel
    found = []
    for heap in heaps:
        if np.count_nonzero(heap) > LIMITS.most_piece * heap.size:
            continue
        found += ([heap] if heights[heap].max() < LIMITS.flat_m
                  else _things(heap, labels, radius_m))
    return found


def _steps(depth: Floats) -> tuple[Mask, Mask]:
    """Depth steps between each pixel and its right, and its lower neighbour."""
    most = LIMITS.step * depth
    return (np.abs(np.diff(depth, axis=1)) > most[:, 1:],
            np.abs(np.diff(depth, axis=0)) > most[1:])


def _parts(mask: Mask, steps: tuple[Mask, Mask], least: float) -> list[Mask]:
    """Connected parts of a mask with at least a number of pixels."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    number = np.full(mask.shape, -1)
    number[mask] = np.arange(np.count_nonzero(mask))
    right = mask[:, 1:] & mask[:, :-1] & ~steps[0]
    down = mask[1:] & mask[:-1] & ~steps[1]
    ends = [np.concatenate([number[:, :-1][right], number[:-1][down]]),
            np.concatenate([number[:, 1:][right], number[1:][down]])]
    count = int(np.count_nonzero(mask))
    if not count:
        return []
    graph = coo_matrix((np.ones(len(ends[0]), bool), ends), (count, count))
    of_pixel = connected_components(graph, directed=False)[1]
    labels = np.full(mask.shape, -1)
    labels[mask] = of_pixel
    return [labels == label for label, size in enumerate(np.bincount(of_pixel)) if size >= least]


def _borders(image: NDArray[np.uint8], points: Floats) -> Mask:
    """Possible borders of touching things: creases between different colours."""
    import cv2

    smooth = cv2.blur(points, (LIMITS.smooth_px, LIMITS.smooth_px))
    normals = np.cross(*(np.gradient(smooth, axis=axis) for axis in (1, 0)))
    normals = normals / (np.linalg.norm(normals, axis=-1, keepdims=True) + 1e-12)
    normals = -np.sign((normals * points).sum(axis=-1, keepdims=True)) * normals
    colours = np.asarray(cv2.cvtColor(cv2.medianBlur(image, 5).astype(np.float32) / 255,
                                      cv2.COLOR_RGB2Lab)) * np.array([LIMITS.lightness, 1, 1])
    crease, change = (np.zeros(image.shape[:2], np.uint8) for _ in range(2))
    for axis in (0, 1):
        (a, b), middle = _beside(axis)
        turn = (normals[a] * normals[b]).sum(axis=-1) < np.cos(np.radians(LIMITS.crease_deg))
        inward = ((normals[a] - normals[b]) * (points[a] - points[b])).sum(axis=-1) < 0
        crease[middle] |= turn & inward
        change[middle] |= np.linalg.norm(colours[a] - colours[b], axis=-1) > LIMITS.colour
    wide = np.ones((3, 3), np.uint8)
    found: Mask = np.logical_and(cv2.dilate(crease, wide), cv2.dilate(change, wide))
    return found


def _beside(axis: int) -> tuple[tuple[tuple[slice, slice], tuple[slice, slice]],
                                tuple[slice, slice]]:
    """The pixels on both sides of each pixel along an axis, and the pixels in between."""
    ends = slice(None, -2 * LIMITS.beside_px), slice(2 * LIMITS.beside_px, None)
    middle = slice(LIMITS.beside_px, -LIMITS.beside_px)
    every = slice(None)
    if axis == 0:
        return ((ends[0], every), (ends[1], every)), (middle, every)
    return ((every, ends[0]), (every, ends[1])), (every, middle)


def _things(heap: Mask, labels: Labels, radius_m: Floats) -> list[Mask]:
    """Grow the parts of a heap until they fill it; thin ones join a neighbour."""
    import cv2
    from scipy.ndimage import distance_transform_edt

    rows, columns = np.flatnonzero(heap.any(axis=1)), np.flatnonzero(heap.any(axis=0))
    window = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    inside = heap[window]
    seeds = np.where(inside, labels[window], -1)
    if len(np.unique(seeds[seeds >= 0])) < 2:
        return [heap]
    nearest = distance_transform_edt(seeds < 0, return_distances=False, return_indices=True)
    grown = np.where(inside, seeds[tuple(nearest)], -1)
    parts = [grown == label for label in np.unique(grown[inside])]
    sizes = [_radius(part, radius_m[window]) for part in parts]
    while len(parts) > 1 and min(sizes) < LIMITS.thin_m:
        thin = int(np.argmin(sizes))
        part = parts.pop(thin)
        sizes.pop(thin)
        around = cv2.dilate(part.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
        joined = int(np.argmax([np.count_nonzero(around & other) for other in parts]))
        parts[joined] |= part
        sizes[joined] = _radius(parts[joined], radius_m[window])
    found = []
    for part in parts:
        mask = np.zeros_like(heap)
        mask[window] = part
        found.append(mask)
    return found


def _radius(part: Mask, radius_m: Floats) -> float:
    """Radius of the largest disc within a part [m]."""
    import cv2

    inner = cv2.distanceTransform(np.pad(part, 1).astype(np.uint8), cv2.DIST_L2, 5)
    return float(inner.max() * np.median(radius_m[part]))


def _numbered(masks: list[Mask]) -> Labels | None:
    if not masks:
        return None
    labels = np.full(masks[0].shape, -1, np.int32)
    for index, mask in enumerate(masks):
        labels[mask] = index
    return labels
