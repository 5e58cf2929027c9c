"""Finds things on a table by a place in the camera's picture, and finds them again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from sightplan.model import Form, InputError, Region
from sightplan_arm.hardware import Vector
from sightplan_arm.skills.seen_values import SEEN
from sightplan_arm.skills.surface import CELL_M, RAISED_M, Mask, Surface


class NothingThereError(Exception):
    """Raised if no thing is at the pointed place, or at a thing's last place."""


@dataclass(frozen=True, eq=False)
class Thing:
    """A thing to be taken, as the camera sees it.

    Attributes:
        surface: in which it is seen.
        cells: (rows, columns) of the height map.
        centre_m: (2,) the middle of its cells.
        rgb: (3,) mean colour.
        near_m: (2,) where it shall be taken; None: where it is in balance.
    """

    surface: Surface
    cells: Mask
    centre_m: Vector
    rgb: Vector
    near_m: Vector | None = None


def base_m(surface: Surface, cells: Mask) -> float:
    """Height of the surface under a thing, from the cells around it; 0 for the table."""
    side = 2 * SEEN.around_cells + 1
    ring = (cv2.dilate(cells.astype(np.uint8), np.ones((side, side), np.uint8)) > 0) & ~cells
    around = surface.top_m[ring & np.isfinite(surface.top_m)]
    base = float(np.percentile(around, 30)) if len(around) else 0.0
    return 0.0 if base < RAISED_M else max(0.0, min(base, top_m(surface, cells) - 0.005))


def top_m(surface: Surface, cells: Mask) -> float:
    """Height of a thing's top above the table, without noise of single cells."""
    heights = surface.top_m[cells]
    heights = heights[np.isfinite(heights)]
    return float(np.percentile(heights, 98)) if len(heights) else 0.0


def _part_m(surface: Surface, cells: Mask, part: float) -> float:
    """Height above the table at a part of a thing's own height."""
    base = base_m(surface, cells)
    return base + part * (top_m(surface, cells) - base)


def axis_m(surface: Surface, cells: Mask) -> Vector | None:
    """(2,) the axis of a thing that stands upright, being higher than wide; None: it is not.

    Of the sides of such a thing the camera sees one, but its top as a whole: the axis goes through
    the middle of the top.
    """
    rows, columns = np.nonzero(cells)
    if not len(rows):
        return None
    heights = np.nan_to_num(surface.top_m[rows, columns])
    places = surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5)
    wide = min(cv2.minAreaRect(places.astype(np.float32))[1]) + CELL_M
    base, top = base_m(surface, cells), top_m(surface, cells)
    if top - base <= SEEN.upright * wide:
        return None
    return np.asarray(places[heights > base + SEEN.top * (top - base)].mean(axis=0))


def top_footprint(thing: Thing) -> Vector:
    """(N, 2) middles of the cells that show a thing's turn best: its top, if it stands."""
    places, heights = footprint(thing)
    if axis_m(thing.surface, thing.cells) is None:
        return places
    return np.asarray(places[
        np.nan_to_num(heights) > _part_m(thing.surface, thing.cells, SEEN.top)])


def footprint(thing: Thing) -> tuple[Vector, Vector]:
    """(N, 2) middles of the cells that a thing takes up, and (N,) how high it is there [m].

    What is higher than wide is taken to be alike on both sides of its axis.
    """
    rows, columns = np.nonzero(thing.cells)
    places = thing.surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5)
    heights = thing.surface.top_m[rows, columns].astype(np.float64)
    axis = axis_m(thing.surface, thing.cells)
    if axis is None:
        return places, heights
    return (np.concatenate([places, 2.0 * axis - places]), np.concatenate([heights, heights]))


def find(surface: Surface, where: Region | Mask, part: bool = False) -> Thing:
    """Find the thing that a region, or some pixels, show.

    A point, or the start of a trace, means all that hangs together there, seen from above; a box
    means what is in it of the piece that fits it best: it may also show a part of something that
    is larger and stands before. Pixels mean just what they show, and, if that
    is flat, what it hangs on.

    Args:
        surface: what is seen.
        where: a region in unit coordinates, or pixels (H, W).
        part: whether it shall be taken just there.

    Raises:
        InputError: the pixels are of another size than the picture.
        NothingThereError: nothing stands there.
    """
    if not isinstance(where, Region):
        if where.shape != surface.shape:
            raise InputError(f'pixels of shape {where.shape} for a picture of {surface.shape}')
        pixels, middle = _with_touching_pieces(surface, np.asarray(where, bool)), None
    else:
        pixels = _pixels(surface, where)
        middle = where.centre
    ys, xs = np.nonzero(pixels & surface.raised)
    if not len(ys):
        raise NothingThereError('nothing stands on the table where it was pointed')
    if not part:
        return _thing(surface, pixels)
    height, width = surface.shape
    x, y = (xs.mean(), ys.mean()) if middle is None else (middle[0] * width, middle[1] * height)
    nearest = int(np.argmin(np.hypot(xs - x, ys - y)))
    return _thing(surface, pixels,
                  surface.points_m[ys[nearest], xs[nearest], :2].astype(np.float64))


def _with_touching_pieces(surface: Surface, pixels: Mask) -> Mask:
    """Pixels of a flat thing, with the pieces that they touch, as seen from above.

    A blade is hardly higher than the table; it is taken by the handle that it ends at.
    """
    shown = pixels & (surface.cells >= 0)
    heights = surface.points_m[:, :, 2][shown]
    if not len(heights) or float(np.percentile(heights, 90)) > SEEN.flat_m:
        return pixels
    cells = np.zeros(surface.top_m.size, np.uint8)
    cells[surface.cells[shown]] = 1
    side = 2 * round(SEEN.touches_m / CELL_M) + 1
    around = cv2.dilate(cells.reshape(surface.top_m.shape), cv2.getStructuringElement(
        cv2.MORPH_ELLIPSE, (side, side))) > 0
    for label in np.unique(surface.labels[around]):
        if label:
            pixels = pixels | surface.pixels_of(int(label))
    return pixels


def _pixels(surface: Surface, region: Region) -> Mask:
    height, width = surface.shape
    if region.form is not Form.BOX:
        (column, row), = Region(Form.POINT, (region.centre,)).pixels(width, height)
        label = surface.label_at(column, row)
        return surface.pixels_of(label) if label else np.zeros(surface.shape, bool)
    inside = box_pixels(surface, region)
    label = label_in(surface, inside)
    return surface.pixels_of(label) & inside if label else np.zeros(surface.shape, bool)


def box_pixels(surface: Surface, box: Region) -> Mask:
    """(H, W) the pixels of a box."""
    height, width = surface.shape
    (x1, y1), (x2, y2) = box.pixels(width, height)
    inside = np.zeros(surface.shape, bool)
    inside[max(0, y1):max(0, y2 + 1), max(0, x1):max(0, x2 + 1)] = True
    return inside


def label_in(surface: Surface, inside: Mask) -> int:
    """The piece that the pixels (H, W) of a box fit best; 0: they show none.

    By intersection over union: a box may also show a part of something that is larger and stands
    before what is meant.
    """
    labels = surface.labels.ravel()[surface.cells[inside & surface.raised]]
    labels, shown = np.unique(labels[labels > 0], return_counts=True)
    found = [(count / (shown.sum() + (surface.pixels_of(label) & ~inside).sum()), label)
             for label, count in zip(labels.tolist(), shown.tolist(), strict=True)
             if count >= SEEN.least_part * shown.sum()]
    return int(max(found)[1]) if found else 0


def _thing(surface: Surface, pixels: Mask, near_m: Vector | None = None) -> Thing:
    cells = surface.cells_of(pixels)
    rows, columns = np.nonzero(cells)
    middle = surface.low_m + CELL_M * (np.array([columns.mean(), rows.mean()]) + 0.5)
    colours = surface.rgb[pixels & surface.raised]
    return Thing(surface, cells, middle, colours.mean(axis=0).astype(np.float64), near_m)


def find_again(surface: Surface, thing: Thing, near_m: Vector | None = None) -> Thing:
    """A thing where it was, or a little beside: after a grasp that failed, or a push.

    Args:
        surface: what is seen now.
        thing: as it was.
        near_m: (2,) where its middle should be; None: where it was.

    Raises:
        NothingThereError: nothing like it is there.
    """
    if near_m is None and float(_unchanged(surface, thing).mean()) > SEEN.same:
        shown = np.zeros(surface.shape, bool)
        inside = surface.cells >= 0
        shown[inside] = thing.cells.ravel()[surface.cells[inside]]
        if (shown & surface.raised).any():
            return _thing(surface, shown, thing.near_m)
    middle = thing.centre_m if near_m is None else near_m
    best: tuple[float, Thing] | None = None
    for label in np.unique(surface.labels[surface.labels > 0]):
        pixels = surface.pixels_of(int(label))
        if not pixels.any():
            continue
        one = _thing(surface, pixels)
        away = float(np.linalg.norm(one.centre_m - middle))
        unlike = float(np.linalg.norm(one.rgb - thing.rgb))
        if away < SEEN.strayed_m and unlike < SEEN.strayed_rgb:
            cost = away / SEEN.strayed_m + unlike / SEEN.strayed_rgb
            if best is None or cost < best[0]:
                best = (cost, one)
    if best is None:
        raise NothingThereError('it is not found again')
    return best[1]


def is_gone(surface: Surface, thing: Thing) -> bool:
    """Whether a thing is no longer where it was, as far as the camera sees that place.

    What is lifted straight up is still over its place: it is gone if little of it is as high as
    before. Its upper half tells: what was taken for the lower one may be a tray under it.
    """
    with np.errstate(invalid='ignore'):
        upper = thing.cells & (
            thing.surface.top_m > _part_m(thing.surface, thing.cells, SEEN.high))
    return bool(_unchanged(surface, replace(thing, cells=upper)).mean() < SEEN.still)


def _unchanged(surface: Surface, thing: Thing) -> Mask:
    """(N,) whether each of a thing's cells has its former height; hidden cells have not."""
    before, now = thing.surface.top_m[thing.cells], surface.top_m[thing.cells]
    known = np.isfinite(before)
    if not known.any():
        return np.zeros(1, bool)
    before, now = before[known], now[known]
    with np.errstate(invalid='ignore'):
        return np.asarray(np.abs(now - before) < np.clip(0.4 * before, 0.003, SEEN.unchanged_m))
