"""Tables laid by hand, for tests of what is drawn on them and asked about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from sightplan_sim.tabletop.catalogue import make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.look import Look, fitted, sample_look
from sightplan_sim.tabletop.shapes import Placed, Pose, Thing
from sightplan_sim.tabletop.table import Table, outline_points

SEEDS = (0, 1, 2, 3)


def thing(category: str, colour: str, seed: int = 0, held_out: bool = False) -> Thing:
    """One of a category and a colour."""
    return make_thing(Draw(np.random.default_rng(seed), held_out), category, colour)


def table(things: Mapping[str, tuple[Thing, float, float]], **look: float) -> Table:
    """A table with things at (x, y), seen from the front unless ``look`` says otherwise."""
    placed = tuple(Placed(name, what, Pose((x, y, 0.0))) for name, (what, x, y) in things.items())
    return Table(0, False, placed, front(placed, **look))


def front(placed: tuple[Placed, ...], **changes: float) -> Look:
    """A look from the front on some things."""
    points = outline_points(placed)
    drawn = sample_look(np.random.default_rng(0), points)
    return fitted(dataclasses.replace(drawn, **{
        'azimuth_deg': 0.0, 'elevation_deg': 50.0, 'roll_deg': 0.0, 'half_m': (0.5, 0.4),
        **changes}), points, 0.9)
