"""A home for a problem: a function of its objects, its initial state, its goal and a variant.

Rooms, walls, furniture, small things and where the robot begins are drawn from a seed that is the
SHA-256 of all that; nothing else enters, so that every process gets the same home. At its start
the facts of the problem's init hold, and no others.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from random import Random

import numpy as np

from sightplan.model import Problem, WorldError
from sightplan_sim.household import decor
from sightplan_sim.household.catalog import category_of, make_model
from sightplan_sim.household.homes_decor import furnish, loose_support, support_kinds, yards
from sightplan_sim.household.homes_facts import IN_WALL, Wanted, read_wanted
from sightplan_sim.household.homes_plan import SIDES, YAW, Item, NoRoomError, Plan, make_rooms
from sightplan_sim.household.homes_stations import Floor, approaches, find_start
from sightplan_sim.household.homes_things import Shelving
from sightplan_sim.household.rooms import ROOMS
from sightplan_sim.household.shapes import Home, Model, Placed, Room, Vec3

_ATTEMPTS = 40
_PER_ROOM = 6
_SILL_M = (0.84, 0.96)
_FREE_STANDING = ('table', 'desk', 'coffee_table', 'carton')


def make_home(problem: Problem, variant: int = 0) -> Home:
    """Make a home that starts in the problem's initial state.

    Args:
        problem: in the vocabulary of the domain ``household``.
        variant: each gives another home.

    Raises:
        WorldError: no home can begin like that; says why, and what to do.
    """
    wanted = read_wanted(problem)
    text = '\n'.join([
        problem.name, str(variant), *(f'{n} - {t}' for n, t in problem.objects.items()),
        *map(str, sorted(problem.init)), '', *map(str, problem.goal)])
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'big')
    lacking = ''
    for attempt in range(_ATTEMPTS):
        try:
            return _Builder(problem, wanted, seed, attempt).build()
        except NoRoomError as error:
            lacking = str(error)
    raise WorldError(f'{problem.source or problem.name}: no home has room for {lacking} '
                     f'(leave objects out, or put fewer into one place)')


class _Builder:
    """Builder of a home for one attempt: it draws models, rooms, places and decor."""

    def __init__(self, problem: Problem, wanted: Wanted, seed: int, attempt: int) -> None:
        self._problem = problem
        self._wanted = wanted
        self._seed = seed
        self._rng = Random(f'{seed}/{attempt}')
        self._attempt = attempt
        self._categories = {name: category_of(name) for name in wanted.kinds}
        self._models = {name: self._model(name) for name in wanted.kinds}

    def _generator(self, what: str) -> np.random.Generator:
        digest = hashlib.sha256(f'{self._seed}/{self._attempt}/{what}'.encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], 'big'))

    def _model(self, name: str) -> Model:
        hint = {use.removesuffix(':') for use in self._wanted.uses[name] if use.endswith(':')}
        if 'holding' in self._wanted.uses[name]:
            hint.add('held')
        return make_model(name, self._wanted.kinds[name], self._generator(name),
                          hint=frozenset(hint))

    def build(self) -> Home:
        self._check_models()
        floor_things, shelved = self._loose()
        plan = self._plan(floor_things, bool(shelved))
        bodies = {body.placed.name: body.placed for body in plan.bodies if body.placed.name}
        shelving = Shelving(self._rng, self._wanted.beside)
        for name in floor_things:
            shelving.stand(bodies[name])
        supports = [p for p in bodies.values() if p.name.startswith('seat ')]
        for name in self._wanted.kinds:
            if name in shelved:
                self._put_on_any(shelving, name, supports)
        self._put_things(shelving, bodies)
        bodies |= {placed.name: placed for placed in shelving.things}
        furnish(plan, self._rng, self._generator, frozenset(self._categories.values()))
        structure = build_structure(plan, self._generator)
        everything = [*structure, *(b.placed for b in plan.bodies if b.placed.name),
                      *(p for p in shelving.things if p.name not in floor_things)]
        floor = Floor(plan.rooms, everything)
        for name in self._wanted.kinds:
            if next(approaches(bodies, floor, name), None) is None:
                raise NoRoomError(f'a robot before {name}')
        start = find_start(self._rng, bodies, floor, plan.rooms, list(self._wanted.kinds))
        if start is None:
            raise NoRoomError('a robot that begins with nothing in reach')
        named = self._wanted.kinds
        return Home(
            plan.rooms, tuple(structure),
            (*(b.placed for b in plan.bodies if b.placed.name and b.placed.name not in named),
             *yards(plan, self._generator)),
            tuple(bodies[name] for name in self._wanted.furniture),
            tuple(bodies[name] for name in self._wanted.things), start, self._light(),
            seed=self._seed)

    def _light(self) -> Vec3:
        turn = self._rng.uniform(-math.pi, math.pi)
        return (0.5 * math.cos(turn), 0.5 * math.sin(turn), 0.9)

    # --- what goes where ----------------------------------------------------------------------

    def _check_models(self) -> None:
        wanted = self._wanted

        def refuse(why: str) -> WorldError:
            return WorldError(f'{self._problem.source or self._problem.name}: no home can be '
                              f'made: {why}')

        for name, other in wanted.inside.items():
            if not self._models[other].cavities:
                raise refuse(f'nothing fits into {other}, which is a '
                             f'{self._models[other].category} (remove (inside {name} {other}))')
        for name, other in wanted.ontop.items():
            if not self._models[other].surfaces:
                raise refuse(f'nothing stays on {other}, which is a '
                             f'{self._models[other].category} (remove (ontop {name} {other}))')
        for name in wanted.opened:
            if not self._models[name].openable:
                raise refuse(f'{name} is a {self._models[name].category} and does not open '
                             f'(remove (open {name}))')

    def _loose(self) -> tuple[list[str], list[str]]:
        """Things without a stated place: those that stand on the floor, and those on decor."""
        loose = [name for name in self._wanted.things if not self._wanted.place(name)]
        beside = {name for pair in self._wanted.beside for name in pair}
        seats = bool(support_kinds(frozenset(self._categories.values())))
        floor: list[str] = []
        shelved: list[str] = []
        for name in loose:
            likes = self._categories[name] in ROOMS.on_floor
            on_floor = self._rng.random() < (0.75 if likes else 0.1)
            if name in beside or not seats or (on_floor and len(floor) < 6) or len(shelved) >= 12:
                floor.append(name)
            else:
                shelved.append(name)
        return floor, shelved

    def _plan(self, floor_things: Sequence[str], seats: bool) -> Plan:
        standing = [name for name in self._wanted.furniture if not self._on_top(name)]
        holes = [name for name in standing if self._categories[name] in IN_WALL]
        standing = [name for name in standing if name not in holes]
        count = len(standing) + 0.5 * len(floor_things) + 0.5 * len(holes)
        kinds = self._room_kinds(count)
        scale = max(1.0, count / (_PER_ROOM * len(kinds))) * (1 + 0.03 * self._attempt)
        plan = Plan(make_rooms(self._rng, kinds, min(scale, 3.0)), self._rng,
                    self._wanted.beside)
        self._holes(plan, holes)
        order = sorted(standing, key=lambda n: -self._models[n].size[0] * self._models[n].size[1])
        if self._wanted.beside:
            order.sort(key=lambda n: n not in {b for pair in self._wanted.beside for b in pair})
        for name in order:
            plan.add(self._item(name), self._rooms_for(plan, name))
        if seats:
            for number in range(1 + (len(self._wanted.things) > 5)):
                plan.add(loose_support(plan, self._rng, self._generator(f'seat {number}'),
                                       f'seat {number + 1}',
                                       frozenset(self._categories.values())),
                         self._room_order(plan, 0))
        for name in floor_things:
            plan.add(Item(name, self._models[name], how='free'), self._room_order(plan, 0))
        return plan

    def _on_top(self, name: str) -> bool:
        """Whether an object is a container that stands on another body."""
        return not self._wanted.moves(name) and name in self._wanted.ontop

    def _item(self, name: str) -> Item:
        category, rng = self._models[name].category, self._rng
        opening = rng.uniform(0.75, 1.0) if name in self._wanted.opened else 0.0
        if category in ('door', 'window'):
            sill = rng.uniform(*_SILL_M) if category == 'window' else 0.0
            return Item(name, self._models[name], opening, how='in wall', floor=sill)
        return Item(name, self._models[name], opening,
                    how='any' if category in _FREE_STANDING else 'wall')

    def _holes(self, plan: Plan, names: Sequence[str]) -> None:
        """Doors and windows, and passages between rooms that have no door."""
        linked = set()
        for name in names:
            body = plan.add(self._item(name), self._room_order(plan, None))
            if plan.neighbour(body.room, body.side) is not None:
                linked.add(body.room if body.side == 'e' else body.room - 1)
        for room in range(len(plan.rooms) - 1):
            if room not in linked:
                wide = self._rng.random() < 0.4
                width = self._rng.uniform(1.5, 2.2) if wide else self._rng.uniform(0.95, 1.15)
                plan.passage(room, 'e', width, self._rng.uniform(2.05, 2.2))

    def _room_kinds(self, count: float) -> list[str]:
        votes: dict[str, float] = {}
        for category in self._categories.values():
            for rank, kind in enumerate(ROOMS.belongs.get(category, ())):
                votes[kind] = votes.get(kind, 0.0) + 1.0 / (1 + rank)
        kinds = list(votes) or list(ROOMS.usual)
        first = self._rng.choices(kinds, [votes.get(kind, 1.0) ** 2 for kind in kinds])[0]
        number = self._rng.choice((1, 2, 2, 3) if count <= _PER_ROOM else (2, 2, 3))
        if count > 2 * _PER_ROOM:
            number = 3
        others = [kind for kind in ROOMS.usual if kind != first]
        return self._rng.sample([first, *self._rng.sample(others, number - 1)], number)

    def _rooms_for(self, plan: Plan, name: str) -> list[int]:
        likes = ROOMS.belongs.get(self._categories[name], ())
        fitting = [i for i, room in enumerate(plan.rooms) if room.kind in likes]
        first = self._rng.choice(fitting) if fitting and self._rng.random() < 0.8 else None
        return self._room_order(plan, first)

    def _room_order(self, plan: Plan, first: int | None) -> list[int]:
        order = list(range(len(plan.rooms)))
        self._rng.shuffle(order)
        if first is not None and first in order:
            order.remove(first)
            order = [first, first, *order]
        return order

    def _group(self, name: str) -> list[str]:
        """Things that share a place, if they are to be put there in a row."""
        wanted = self._wanted
        group = [n for n in wanted.things if wanted.place(n) == wanted.place(name)
                 and (n in wanted.inside) == (name in wanted.inside)]
        tight = len(group) > 2 or self._attempt > 1
        return group if tight and not wanted.beside else []

    def _put_on_any(self, shelving: Shelving, name: str, supports: Sequence[Placed]) -> None:
        for support in self._rng.sample(supports, len(supports)):
            with contextlib.suppress(NoRoomError):
                return shelving.put_ontop(name, self._models[name], support, named=False)
        raise NoRoomError(name)

    def _put_things(self, shelving: Shelving, bodies: dict[str, Placed]) -> None:
        for name in self._wanted.furniture:
            if self._on_top(name):
                shelving.put_ontop(name, self._models[name], bodies[self._wanted.ontop[name]],
                                   opening=self._item(name).opening)
                bodies |= {placed.name: placed for placed in shelving.things}
        done: set[str] = set()
        for name in self._wanted.things:
            where = self._wanted.place(name)
            if not where or name in done:
                continue
            bodies |= {placed.name: placed for placed in shelving.things}
            group = self._group(name)
            if len(group) > 1 and not bodies[where].model.mass and shelving.put_row(
                    {n: self._models[n] for n in group}, bodies[where],
                    inside=name in self._wanted.inside):
                done.update(group)
                continue
            if name in self._wanted.inside:
                shelving.put_inside(name, self._models[name], bodies[where])
            else:
                shelving.put_ontop(name, self._models[name], bodies[where])


def build_structure(plan: Plan, generator: Callable[[str], np.random.Generator],
                    ) -> list[Placed]:
    """Floors and walls of a plan."""
    structure = []
    colours = [decor.wall_colour(generator(f'wall colour {i}')) for i in range(len(plan.rooms))]
    for index, room in enumerate(plan.rooms):
        (x0, y0), (x1, y1) = room.low, room.high
        structure.append(Placed(
            f'floor {index + 1}',
            decor.floor(x1 - x0 + decor.WALL, y1 - y0 + decor.WALL, room.kind,
                        generator(f'floor {index}')),
            ((x0 + x1) / 2, (y0 + y1) / 2, 0.0)))
        for side in SIDES:
            if side == 'w' and index > 0:
                continue  # its neighbour has it
            structure.append(_wall(plan, index, side, colours))
    return structure


def _wall(plan: Plan, index: int, side: str, colours: Sequence[tuple[float, float, float]],
          ) -> Placed:
    room, other = plan.rooms[index], plan.neighbour(index, side)
    axis = 0 if side in 'ns' else 1
    rooms: Iterable[Room] = (room,) if other is None else (room, plan.rooms[other])
    low = min(r.low[axis] for r in rooms) - decor.WALL / 2
    high = max(r.high[axis] for r in rooms) + decor.WALL / 2
    if axis == 0:  # corners belong to the walls along x
        low, high = low - decor.WALL / 2, high + decor.WALL / 2
        if plan.neighbour(index, 'w') is not None:
            low += decor.WALL / 2
        if plan.neighbour(index, 'e') is not None:
            high -= decor.WALL / 2
    middle = (low + high) / 2
    x, y = plan.at_wall(index, side, middle, -decor.WALL / 2)
    sign = 1 if side in 'nw' else -1
    openings = [(sign * ((hole.low + hole.high) / 2 - middle), hole.high - hole.low,
                 hole.bottom, hole.top) for hole in plan.holes.get((index, side), ())]
    model = decor.wall(high - low, colours[index], openings,
                       other=None if other is None else colours[other])
    return Placed(f'wall {index + 1}{side}', model, (x, y, 0.0), YAW[side])
