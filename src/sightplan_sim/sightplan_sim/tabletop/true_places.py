"""True places of things in a picture: for oracles and studies of the arm, not for agents.

All places are regions in unit coordinates of the picture (``model.region``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightplan.model import Form, Region
from sightplan_sim.tabletop.grounded_scenes import box_of
from sightplan_sim.tabletop.packing import Destination
from sightplan_sim.tabletop.render import Frame

if TYPE_CHECKING:
    from sightplan.model.region import Mask
    from sightplan_sim.pinhole import Pinhole, View
    from sightplan_sim.tabletop.table import Table
    from sightplan_sim.tabletop.tidying import Tidying

EVERYWHERE = Region(Form.BOX, ((0.0, 0.0), (1.0, 1.0)))
"""Region of a thing that is not visible: the whole picture."""


def thing_box(table: Table, frame: Frame, name: str) -> Region:
    """Box of a thing's visible pixels; EVERYWHERE if none is visible."""
    return _box(frame.things == _index(table, name))


def drawer_box(found: Tidying, frame: Frame, place: Destination) -> Region:
    """Box of the visible pixels of a destination in a drawer; EVERYWHERE if none is visible."""
    return drawer_of(found.arrangement.table, frame, holder_of(found, place), place.part)


def drawer_of(table: Table, frame: Frame, cabinet: str, part: str) -> Region:
    """Box of a drawer's visible pixels, by the names of cabinet and part."""
    parts = list(table.named(cabinet).thing.indices(part))
    return _box((frame.things == _index(table, cabinet)) & np.isin(frame.parts, parts))


def spot(found: Tidying, frame: Frame, view: View[Pinhole], thing: str,
         destination: str) -> Region:
    """The pixel of a destination nearest to where there is room for a thing, as a point.

    Args:
        found: the table.
        frame: what is seen of it.
        view: of the camera, as the robot's file has it.
        thing: name of what is put there; for one that the task does not move the middle is taken.
        destination: name of where to.
    """
    place = found.arrangement.destinations[destination]
    mask = frame.things == _index(found.arrangement.table, holder_of(found, place))
    if place.part:
        parts = place.thing.parts
        floor = [k for k, part in enumerate(parts) if part.parent == place.part
                 and part.name == 'inside']
        shown = mask & np.isin(frame.parts, floor)
        mask = shown if shown.any() else mask & np.isin(
            frame.parts, list(place.thing.indices(place.part)))
    ys, xs = np.nonzero(mask)
    if not len(ys):
        return Region(Form.POINT, ((0.5, 0.5),))
    try:
        at = np.array(found.spot_pose(thing).position)
        column, row = view.project(at[None])[0]
    except KeyError:
        column, row = xs.mean(), ys.mean()
    nearest = int(np.argmin(np.hypot(xs - column, ys - row)))
    height, width = mask.shape
    return Region(Form.POINT, (((xs[nearest] + 0.5) / width, (ys[nearest] + 0.5) / height),))


def holder_of(found: Tidying, place: Destination) -> str:
    """Name of the thing that a destination is, or is a part of."""
    return next(one.name for one in found.arrangement.table.things if one.thing is place.thing)


def _index(table: Table, name: str) -> int:
    return [one.name for one in table.things].index(name)


def _box(mask: Mask) -> Region:
    return box_of(mask) if mask.any() else EVERYWHERE
