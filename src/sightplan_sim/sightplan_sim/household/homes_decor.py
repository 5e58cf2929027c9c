"""Decor of a home: what its rooms hold besides the problem's objects."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from sightplan_sim.household import decor
from sightplan_sim.household.catalog import make_decor, make_model
from sightplan_sim.household.homes_geometry import overlap, placed_box
from sightplan_sim.household.homes_plan import Item, NoRoomError, Plan
from sightplan_sim.household.parts import shade, still, trim, vary
from sightplan_sim.household.rooms import ROOMS
from sightplan_sim.household.shapes import Model, Placed

Generators = Callable[[str], np.random.Generator]

_FREE = ('coffee_table',)
_IN_CORNER = ('plant', 'lamp')


def support_kinds(categories: frozenset[str]) -> tuple[str, ...]:
    """Decor that can carry loose things and cannot be confused with an object of the problem."""
    return tuple(sorted(kind for kind in {k for room in ROOMS.kinds.values() for k in room.seats}
                        if not categories & set(ROOMS.taken_for.get(kind, ()))))


def loose_support(plan: Plan, rng: Random, generator: np.random.Generator, name: str,
                  categories: frozenset[str]) -> Item:
    """A piece of decor for loose things to lie on, with room for a robot before it."""
    kinds = support_kinds(categories)
    fitting = [k for room in plan.rooms for k in ROOMS.kinds[room.kind].seats
               if k in kinds]
    kind = rng.choice(fitting or kinds)
    return Item(name, make_decor(kind, generator), how='any' if kind in _FREE else 'wall')


def furnish(plan: Plan, rng: Random, generators: Generators, categories: frozenset[str]) -> None:
    """Put decor into all rooms where there is room for it."""
    for index, room in enumerate(plan.rooms):
        for kind, most in ROOMS.kinds[room.kind].decor.items():
            if categories & set(ROOMS.taken_for.get(kind, ())):
                continue
            for number in range(most):
                if number and rng.random() < 0.4:
                    break
                name = f'{kind} {index + 1}.{number + 1}'
                _add(plan, rng, generators(name), name, kind, index)


def _add(plan: Plan, rng: Random, generator: np.random.Generator, name: str, kind: str,
         room: int) -> None:
    height = 0.0
    how = 'any' if kind in _FREE else 'corner' if kind in _IN_CORNER else 'wall'
    if kind == 'window':
        model, how = make_model('window', 'container', generator), 'in wall'
        height = rng.uniform(0.84, 0.96)
    else:
        model = make_decor(kind, generator)
    if kind == 'picture':
        height = rng.uniform(1.35, 1.5)
    if kind == 'rug':
        how = 'free'
    item = Item(name, model, spaced=False, how=how, fronted=False, floor=height)
    try:
        plan.add(item, [room], tries=25)
    except NoRoomError:
        return


def yards(plan: Plan, generators: Generators) -> list[Placed]:
    """Grass and sky that are seen through outer doors."""
    found: list[Placed] = []
    for body in plan.bodies:
        inner = plan.neighbour(body.room, body.side) is not None
        if inner or body.placed.model.category != 'door':
            continue
        number = len(found) + 1
        width = body.placed.model.size[0]
        for wide, deep in ((1.0, 1.0), (0.4, 0.7), (0.0, 0.3)):
            model = _yard(width + wide, deep, generators(f'yard {number}'))
            placed = Placed(f'yard {number}', model, body.placed.position, body.placed.yaw)
            if not any(overlap(placed_box(placed).rect, (*room.low, *room.high), -0.02)
                       for room in plan.rooms):
                found.append(placed)
                break
    return found


def _yard(width: float, depth: float, rng: np.random.Generator) -> Model:
    """Grass, a hedge and the sky behind a wall, seen from -y; none of them is solid."""
    sky, grass = vary(rng, (0.62, 0.81, 0.96), 0.03), vary(rng, (0.40, 0.62, 0.32), 0.05)
    hedge = shade(grass, 0.7)
    w, near, far, hedge_top, top = width / 2, 0.08, 0.08 + depth, 0.75, decor.CEILING - 0.05
    parts = [trim((-w, w), (near, far), (-0.03, -0.01), grass),
             trim((-w, w), (near, far), (top - 0.01, top), sky)]
    for x, y in (((-w, w), (far, far + 0.02)), ((-w - 0.02, -w), (near, far)),
                 ((w, w + 0.02), (near, far))):
        parts += [trim(x, y, (0.0, hedge_top), hedge), trim(x, y, (hedge_top, top), sky)]
    return still('yard', parts, (width, depth, top))
