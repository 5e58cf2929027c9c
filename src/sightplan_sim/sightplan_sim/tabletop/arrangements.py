"""Tables to tidy, drawn by seed: clauses of the task, things for it, and their places.

Nothing is rendered here, and nothing is put into words.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.model.errors import InputError
from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.cabinet import CABINET, DRAWERS, swept
from sightplan_sim.tabletop.catalogue import category_of, colours_of, make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.graspable import is_graspable
from sightplan_sim.tabletop.instructions import instruction_words
from sightplan_sim.tabletop.look import Look, sample_look
from sightplan_sim.tabletop.packing import Destination, destinations_of, spots
from sightplan_sim.tabletop.shapes import Placed, Pose, Thing
from sightplan_sim.tabletop.table import (
    CELL_M,
    Grid,
    Table,
    footprint,
    footprint_area,
    outline_points,
    turned,
)

HORIZONS = {'short': (1, 4), 'medium': (5, 8), 'long': (9, 26)}
"""Fewest and most primitives of a plan."""
FEWEST, MOST = 6, 14
"""Smallest and largest number of things on a table."""
AREA_HALF_M = (0.40, 0.27)
"""Half the area of the table that things stand on (x, y)."""
BASE_M = (0.0, 0.5)
"""Position (x, y) of the arm's base [m]."""
REACH_M = (0.32, 0.74)
"""Smallest and largest distance from the base to a thing's or destination's middle [m]."""
GAP_M = 0.025
"""Smallest distance between two things [m]."""
MIDDLE_M, AROUND_M = 0.08, 0.23
"""Largest distance from the table's middle of what stands there, and smallest of all else [m]."""
EVERYWHERE = (0.0, math.inf)
LAYOUTS = 12
"""Number of layouts tried with the same things before other things are drawn."""
_TRIES = 60
_MOST_MOVED = 9

GOES_INTO = {
    'tray': (
        'mug',
        'cup',
        'can',
        'jar',
        'bottle',
        'box',
        'apple',
        'banana',
        'napkin',
        'fork',
        'knife',
        'spoon',
        'screwdriver',
        'hammer',
    ),
    'crate': (
        'mug',
        'cup',
        'can',
        'jar',
        'bottle',
        'apple',
        'banana',
        'ball',
        'napkin',
        'fork',
        'knife',
        'spoon',
        'screwdriver',
        'hammer',
    ),
    'bowl': ('apple', 'ball'),
    'plate': ('mug', 'cup', 'can', 'apple', 'napkin'),
    'drawer': ('apple', 'ball', 'banana', 'napkin', 'spoon', 'fork', 'screwdriver'),
}
"""Categories of things that each kind of destination takes."""
MOST_IN = {'tray': 6, 'crate': 6, 'bowl': 3, 'plate': 2, 'drawer': 4}
"""Largest number of things that come to each kind of destination."""
MOVED = tuple(dict.fromkeys(itertools.chain.from_iterable(GOES_INTO.values())))
"""Categories of things that are moved."""
_ALIKE = ({'red', 'pink', 'orange'}, {'red', 'brown', 'orange'}, {'orange', 'yellow'},
          {'blue', 'purple'}, {'purple', 'pink'}, {'white', 'grey'}, {'black', 'grey'},
          {'black', 'brown'}, {'white', 'yellow'})
"""Sets of colours that may be confused: things of one kind never have two of one set."""

# --- what is to be done --------------------------------------------------------------------------

PUT, SORT, STOW, LEAVE, SHUT, FILL, OPEN, CLOSE = (
    'put', 'sort', 'stow', 'leave', 'shut', 'fill', 'open', 'close')
_FINDS_OPEN = frozenset({SHUT, FILL, CLOSE})
_LEAVES_OPEN = frozenset({LEAVE, FILL, OPEN})
_OWN_STEPS = {PUT: 0, SORT: 0, STOW: 2, LEAVE: 1, SHUT: 1, FILL: 0, OPEN: 1, CLOSE: 1}
_WEIGHTS = {
    'short': {PUT: 4, SORT: 1.5, STOW: 2, LEAVE: 1, SHUT: 1, FILL: 0.7, OPEN: 0.4, CLOSE: 0.4},
    'medium': {PUT: 4, SORT: 2, STOW: 3.5, LEAVE: 1, SHUT: 1, FILL: 0.7},
    'long': {PUT: 4, SORT: 1.2, STOW: 3, LEAVE: 0.6, SHUT: 0.6, FILL: 0.3},
}
_CLAUSES = {'short': (1, 1, 1, 2), 'medium': (1, 1, 2, 2), 'long': (2, 2, 3, 3)}
_MOST_OF = {'short': 2, 'medium': 4, 'long': 5}
_POOLS = {1: {'one': 2.0, 'some': 3.0},
          2: {'same': 2.0, 'some': 2.5, 'all_but': 1.0, 'kind': 1.0, 'group': 1.5, 'list': 1.0}}


@dataclass(frozen=True, slots=True)
class Pool:
    """Things of which some, or all, are moved.

    Attributes:
        kind: ``one`` (tells itself from all others), ``same`` (all of some identical ones),
            ``some`` (of identical ones, told by where they stand), ``kind`` (all of a category),
            ``all_but`` (all of a category but one), ``group`` (all of a group of categories),
            or ``list`` (several of the first two).
        names: of all of them; of ``list``, those of each in turn.
        count: how many are moved.
        group: name of the group.
        but: name of the one that ``all_but`` leaves where it is.
    """

    kind: str
    names: tuple[str, ...]
    count: int
    group: str = ''
    but: str = ''


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of the task, which ends before the next one starts.

    Attributes:
        action: ``put`` or ``sort`` (several kinds, each somewhere else, in any order) things into
            what does not open; ``stow`` them in a closed drawer and close it; ``leave`` it open;
            ``shut`` and ``fill``: the same for one that stands open; ``open``, ``close``.
        goods: things with the names of their destinations; none for ``open`` and ``close``.
        drawer: its name, '' without one.
    """

    action: str
    goods: tuple[tuple[Pool, str], ...]
    drawer: str = ''


@dataclass(frozen=True, slots=True)
class Want:
    """An intention about the things of a table, see ``intentions``.

    Attributes:
        name: of the intention.
        sentence: its words; {into} and {in} name the place.
        choices: names of things that are taken; each choice is as right, the first is the plan's.
        homes: all these things, each with the name of the place where the plan puts it.
        drawers: names of drawers that are as right, the plan's first; none without a drawer.
        ends: whether the drawer is left ``open`` or ``closed``; '' without one.
        others: things, each with the names of other places that are as right.
    """

    name: str
    sentence: str
    choices: tuple[tuple[str, ...], ...]
    homes: tuple[tuple[str, str], ...]
    drawers: tuple[str, ...] = ()
    ends: str = ''
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Arrangement:
    """A table with the clauses of its task, or with what somebody wants.

    Attributes:
        table: things and look.
        clauses: in their order.
        destinations: all there are, by name.
        wants: of an implicit instruction, in any order.
    """

    table: Table
    clauses: tuple[Clause, ...]
    destinations: dict[str, Destination]
    wants: tuple[Want, ...] = ()

    @property
    def drawers(self) -> dict[str, bool]:
        """Drawers that the task is about, each with whether its plan leaves it closed."""
        ends = {one.drawer: one.action not in _LEAVES_OPEN for one in self.clauses if one.drawer}
        return ends | {name: one.ends == 'closed' for one in self.wants for name in one.drawers}


class NoRoomError(Exception):
    """Raised if a draw fails; the next one may succeed."""


def draw_numbers(
    seed: int, horizon: str, held_out: bool, attempt: int
) -> tuple[tuple[int, int, int, int], int]:
    """Return the numbers that decide a draft of a table, and which layout of it is tried.

    Args: as of ``arrange``.

    Raises:
        InputError: there is no such horizon.
    """
    if horizon not in HORIZONS:
        raise InputError(f'there is no horizon {horizon!r}; there are {", ".join(HORIZONS)}')
    draft, layout = divmod(attempt, LAYOUTS)
    return (seed, int(held_out), list(HORIZONS).index(horizon), draft), layout


def arrange(seed: int, horizon: str, held_out: bool, attempt: int = 0) -> Arrangement:
    """Draw a table to tidy.

    Args:
        seed: any number from 0.
        horizon: ``short``, ``medium`` or ``long``.
        held_out: see ``sample_table``.
        attempt: which of the draws of this seed.

    Raises:
        InputError: there is no such horizon.
        NoRoomError: there is no table of these numbers; try the next attempt.
    """
    numbers, layout = draw_numbers(seed, horizon, held_out, attempt)
    drafted = _drafted(numbers)
    if drafted is None:
        raise NoRoomError
    things, clauses, destinations = drafted
    opened = next((one.drawer for one in clauses if one.action in _FINDS_OPEN), '')
    table = laid_out(
        seed, held_out, np.random.default_rng([*numbers, layout, 732]), things, opened
    )
    return Arrangement(table, clauses, destinations)


def laid_out(
    seed: int,
    held_out: bool,
    rng: np.random.Generator,
    things: Mapping[str, Thing],
    opened: str,
    middle: Sequence[str] = (),
) -> Table:
    """Draw places for things on a table, and a look at them.

    Args:
        seed: of the table.
        held_out: see ``sample_table``.
        rng: draws.
        things: by name.
        opened: name of the drawer that stands open; '' for none.
        middle: names of things that stand in the middle of the table, where then nothing else is.

    Raises:
        NoRoomError: no places were found.
    """
    placed = _placed(rng, things, opened, middle)
    return Table(seed, held_out, placed, _look(rng, placed))


_Drafted = tuple[dict[str, Thing], tuple[Clause, ...], dict[str, Destination]]


@functools.lru_cache(maxsize=4)
def _drafted(numbers: tuple[int, ...]) -> _Drafted | None:
    """Things, clauses and destinations of one draw; None if it failed."""
    try:
        return Drafting(np.random.default_rng([*numbers, 731]), bool(numbers[1])).drafted(
            tuple(HORIZONS)[numbers[2]]
        )
    except NoRoomError:
        return None


def _placed(rng: np.random.Generator, things: Mapping[str, Thing], opened: str,
            middle: Sequence[str]) -> tuple[Placed, ...]:
    laying = Laying(rng)
    order = sorted(things, key=lambda name: (
        name not in middle, things[name].category != CABINET, -footprint_area(things[name])))
    away = {True: (0.0, MIDDLE_M), False: (AROUND_M, math.inf)}
    poses = {name: laying.place(things[name], away[name in middle] if middle else EVERYWHERE)
             for name in order}
    if middle and not _is_between([poses[name] for name in things if name not in middle]):
        raise NoRoomError
    placed = []
    for name, thing in things.items():
        out: tuple[tuple[str, float], ...] = ()
        if opened and thing.category == CABINET:
            slide = next(part.slide for part in thing.parts if part.name == opened)
            assert slide is not None
            out = ((opened, slide.upper),)
        placed.append(Placed(name, thing, poses[name], opened=out))
    return tuple(placed)


def _is_between(around: Sequence[Pose]) -> bool:
    """Whether things stand on either side of the table's middle, which tells where it is."""
    sides = [pose.position[0] for pose in around]
    return min(sides) < -AROUND_M / 2 and max(sides) > AROUND_M / 2


def _look(rng: np.random.Generator, things: tuple[Placed, ...]) -> Look:
    """Draw a look that shows all things, and all drawers when they are open."""
    points = [outline_points(things)]
    points += [_drawers_out(one) for one in things if one.thing.category == CABINET]
    return sample_look(rng, np.concatenate(points))


def _shapes(rng: np.random.Generator, horizon: str) -> list[tuple[str, tuple[int, ...]]]:
    """Actions, each with the numbers of things of its pools, that sum up to the horizon."""
    low, high = HORIZONS[horizon]
    weights = _WEIGHTS[horizon]
    chances = np.array(list(weights.values())) / sum(weights.values())
    while True:
        shapes: list[tuple[str, tuple[int, ...]]] = []
        for _ in range(int(rng.choice(_CLAUSES[horizon]))):
            action = str(rng.choice(list(weights), p=chances))
            pools = {OPEN: 0, CLOSE: 0, SORT: int(rng.integers(2, 4))}.get(action, 1)
            most = (
                2
                if action == SORT
                else min(_MOST_OF[horizon], MOST_IN['drawer'] if action not in (PUT, SORT) else 9)
            )
            shapes.append((action, tuple(int(rng.integers(1, most + 1)) for _ in range(pools))))
        moved = sum(sum(counts) for _, counts in shapes)
        length = sum(_OWN_STEPS[action] + 2 * sum(counts) for action, counts in shapes)
        drawers = [action for action, _ in shapes if action not in (PUT, SORT)]
        sensible = (len(drawers) <= len(DRAWERS)
                    and not any(action in _LEAVES_OPEN for action in drawers[:-1])
                    and not any(action in _FINDS_OPEN for action in drawers[1:]))
        if sensible and moved <= _MOST_MOVED and low <= length <= high:
            return shapes


class Drafting:
    """Draw of a task, the things for it, and their places."""

    def __init__(self, rng: np.random.Generator, held_out: bool) -> None:
        self._rng, self._held_out = rng, held_out
        self._draw = Draw(rng, held_out)
        self._things: dict[str, Thing] = {}
        self._destinations: dict[str, Destination] = {}
        self._whole: set[str] = set()
        self._banned: set[str] = {'drawer box'}

    def drafted(self, horizon: str) -> _Drafted:
        """Things by name, clauses, and destinations by name."""
        shapes = _shapes(self._rng, horizon)
        if any(action not in (PUT, SORT) for action, _ in shapes) or self._draw.chance(0.2):
            self._add(make_thing(self._draw, CABINET, self._draw.pick(
                colours_of(CABINET, self._held_out))))
        order = [str(name) for name in self._rng.permutation(DRAWERS)]
        clauses = []
        for action, counts in shapes:
            drawer = '' if action in (PUT, SORT) else order.pop()
            clauses.append(Clause(action, tuple(self._goods(counts, drawer)), drawer))
        self._add_distractors()
        if not FEWEST <= len(self._things) <= MOST:
            raise NoRoomError
        return self._things, tuple(clauses), self._destinations

    # --- things ----------------------------------------------------------------------------------

    def _add(self, thing: Thing) -> str:
        number = 1 + sum(one.category == thing.category for one in self._things.values())
        name = f'{thing.category} {number}'
        self._things[name] = thing
        for one in destinations_of(name, thing):
            self._destinations[one.name] = one
        return name

    def _goods(self, counts: Sequence[int], drawer: str) -> Iterator[tuple[Pool, str]]:
        """Pools with their destinations."""
        for count in counts:
            for _ in range(_TRIES):
                kind = (
                    'drawer'
                    if drawer
                    else self._draw.pick(
                        [kind for kind in MOST_IN if kind != 'drawer' and count <= MOST_IN[kind]]
                    )
                )
                if found := self._one_goods(kind, count, drawer):
                    yield found
                    break
            else:
                raise NoRoomError

    def _one_goods(self, kind: str, count: int, drawer: str) -> tuple[Pool, str] | None:
        """A pool of things that fits into a destination; its things are added to the table."""
        before = dict(self._things), dict(self._destinations)
        whole, banned = set(self._whole), set(self._banned)
        pool = self._pool(kind, count)
        if pool is not None:
            # Where only some are meant they are identical, so it does not matter which.
            things = [(name, self._things[name]) for name in pool.names
                      if name != pool.but][:count]
            if drawer:
                if spots(self._destinations[drawer], things) is not None:
                    return pool, drawer
            else:
                for _ in range(4):
                    name = self._new_destination(kind, things)
                    if name:
                        return pool, name
        self._things, self._destinations = before
        self._whole, self._banned = whole, banned
        return None

    def _new_destination(self, kind: str, things: Sequence[tuple[str, Thing]]) -> str:
        colours = self._free_colours(kind)
        if not colours or (kind == 'crate' and self._has('box')):
            return ''
        thing = make_thing(self._draw, kind, self._draw.pick(colours))
        if spots(Destination('', kind, thing), things) is None:
            return ''
        return self._add(thing)

    def _free_colours(self, category: str) -> list[str]:
        """Colours of a category that cannot be confused with those of its things on the table."""
        taken = [one.colour for one in self._things.values() if one.category == category]
        return [colour for colour in colours_of(category, self._held_out)
                if not any(confusable(colour, other) for other in taken)]

    def _free(self, categories: Iterable[str]) -> list[str]:
        """Categories that can join the table without being confused with one that is there."""
        present = {one.category for one in self._things.values()}
        families = {category_of(one).family for one in present}
        return [one for one in categories
                if one not in self._banned and one not in self._whole
                and (one in present or category_of(one).family not in families)
                and not (one == 'box' and self._has('crate'))]

    def _has(self, category: str) -> bool:
        return any(one.category == category for one in self._things.values())

    def _make(self, category: str, colour: str) -> Thing:
        """Make a thing that the hand can take."""
        for _ in range(_TRIES):
            thing = make_thing(self._draw, category, colour)
            if is_graspable(thing):
                return thing
        raise NoRoomError

    # --- pools -----------------------------------------------------------------------------------

    def _pool(self, kind: str, count: int) -> Pool | None:
        options = _POOLS[min(count, 2)]
        chances = np.array(list(options.values())) / sum(options.values())
        how = str(self._rng.choice(list(options), p=chances))
        if how == 'group':
            return self._group(kind, count)
        if how == 'list':
            return self._list(kind, count)
        fresh = [one for one in self._free(GOES_INTO[kind]) if not self._has(one)]
        if how in ('kind', 'all_but'):
            extra = int(how == 'all_but')
            fresh = [one for one in fresh if len(self._apart(one)) > extra]
        if not fresh:
            return None
        category = self._draw.pick(fresh)
        if how in ('one', 'same', 'some'):
            extra = {'one': 0, 'same': 0}.get(how, int(self._rng.integers(1, 3)))
            if count + extra > 5:
                return None
            names = self._add_identical(category, count + extra)
            return Pool(how, names, count)
        self._whole.add(category)
        colours = self._apart(category)
        but = ''
        if how == 'all_but':
            but = self._add(self._make(category, colours.pop()))
        names = self._coloured(category, count, colours)
        return Pool(how, (*names, but) if but else names, count, but=but)

    def _apart(self, category: str) -> list[str]:
        """Colours of a category in random order, no two of which can be confused."""
        kept: list[str] = []
        for colour in self._rng.permutation(self._free_colours(category)).tolist():
            if not any(confusable(colour, other) for other in kept):
                kept.append(colour)
        return kept

    def _add_identical(self, category: str, count: int, colour: str = '') -> tuple[str, ...]:
        """Add identical things of a category."""
        if not colour:
            colours = self._free_colours(category)
            if not colours:
                raise NoRoomError
            colour = self._draw.pick(colours)
        thing = self._make(category, colour)
        return tuple(self._add(thing) for _ in range(count))

    def _coloured(self, category: str, count: int, colours: Sequence[str]) -> tuple[str, ...]:
        """Add things of a category in several colours; those of one colour are identical."""
        chosen = [colours[int(self._rng.integers(len(colours)))] for _ in range(count)]
        return tuple(name for colour in dict.fromkeys(chosen)
                     for name in self._add_identical(category, chosen.count(colour), colour))

    def _list(self, kind: str, count: int) -> Pool | None:
        """Several of other categories, identical ones among them."""
        names: list[str] = []
        for part in _parts(self._rng, count):
            fresh = [one for one in self._free(GOES_INTO[kind]) if not self._has(one)]
            if not fresh:
                return None
            names += self._add_identical(self._draw.pick(fresh), part)
        return Pool('list', tuple(names), count)

    def _group(self, kind: str, count: int) -> Pool | None:
        """All of a group, of two or more categories."""
        groups = instruction_words().groups
        name = self._draw.pick(sorted(groups))
        group = groups[name]
        fits = [one for one in group.categories if one in GOES_INTO[kind]]
        present = {one.category for one in self._things.values()}
        families = {category_of(one).family for one in present}
        if len(fits) < 2 or present & {*group.categories, *group.unless} or any(
                category_of(one).family in families for one in fits):
            return None
        self._whole |= set(group.categories)
        self._banned |= set(group.unless)
        parts = _parts(self._rng, count)
        chosen = self._rng.permutation(fits).tolist()[:len(parts)]
        if len(chosen) < 2:
            return None
        names: list[str] = []
        for category, part in zip(itertools.cycle(chosen), parts, strict=False):
            colours = [one for one in colours_of(category, self._held_out) if not any(
                thing.category == category and confusable(one, thing.colour)
                for thing in self._things.values())]
            if not colours:
                return None
            names += self._add_identical(category, part, self._draw.pick(colours))
        return Pool('group', tuple(names), count, group=name)

    def _add_distractors(self) -> None:
        """Add distractors: other colours of the moved things, other things, other destinations."""
        count = len(self._things)
        least = max(FEWEST, count + 1)
        wanted = min(MOST, int(self._rng.integers(least, max(least, min(count + 4, 11)) + 1)))
        for _ in range(_TRIES):
            if len(self._things) >= wanted:
                return
            if self._draw.chance(0.12):
                kind = self._draw.pick(tuple(one for one in MOST_IN if one != 'drawer'))
                if (
                    (colours := self._free_colours(kind))
                    and kind not in self._banned
                    and not (kind == 'crate' and self._has('box'))
                ):
                    self._add(make_thing(self._draw, kind, self._draw.pick(colours)))
                continue
            present = sorted({one.category for one in self._things.values()} & set(MOVED))
            options = self._free(present if self._draw.chance(0.6) else MOVED)
            if not options:
                continue
            category = self._draw.pick(options)
            if colours := self._free_colours(category):
                self._add_identical(
                    category, min(1 + int(self._draw.chance(0.3)), wanted - len(self._things)),
                    self._draw.pick(colours))


def _drawers_out(placed: Placed) -> Floats:
    """(N, 3) around a cabinet's drawers while they are open, in the table's frame."""
    x, y, h = placed.thing.size
    slide = next(part.slide for part in placed.thing.parts if part.slide)
    front = np.array([(side * x / 2, -y / 2 - slide.upper) for side in (-1, 1)])
    ground = turned(front, placed.pose.yaw) + placed.pose.position[:2]
    return np.concatenate([np.column_stack([ground, np.full(2, z)]) for z in (0.0, h)])


def confusable(one: str, other: str) -> bool:
    """Whether one of two colours can be confused with the other."""
    return one == other or any({one, other} <= pair for pair in _ALIKE)


def _parts(rng: np.random.Generator, count: int) -> list[int]:
    """Random parts that sum to a number, each at least of a given size."""
    pieces = int(rng.integers(2, min(count, 3) + 1)) if count > 2 else count
    cuts = sorted(rng.choice(np.arange(1, count), pieces - 1, replace=False).tolist())
    return [int(b - a) for a, b in itertools.pairwise([0, *cuts, count])]


class Laying:
    """Finds places on the table, one after another."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        margin = 0.08
        self._grid = Grid((AREA_HALF_M[0] + margin, AREA_HALF_M[1] + margin), CELL_M)
        self._taken = self._grid.empty()
        self._clearance = self._grid.clearance(self._taken)
        x, y = (low + CELL_M * (np.arange(count) + 0.5) for low, count in zip(
            self._grid.low, self._grid.shape[::-1], strict=True))
        away = np.hypot(x - BASE_M[0], y[:, None] - BASE_M[1])
        self._within = ((np.abs(x) < AREA_HALF_M[0]) & (np.abs(y[:, None]) < AREA_HALF_M[1])
                        & (away > REACH_M[0]) & (away < REACH_M[1]))

    def place(self, thing: Thing, away_m: tuple[float, float] = EVERYWHERE) -> Pose:
        """A free place that the arm reaches.

        Args:
            thing: what is placed.
            away_m: smallest and largest distance of its middle from that of the table [m].

        Raises:
            NoRoomError: none was found.
        """
        outline = footprint(thing)
        sides = outline.max(axis=0) - outline.min(axis=0)
        least = GAP_M + 0.45 * float(sides.min())
        for _ in range(_TRIES):
            if thing.category == CABINET:
                at, yaw = self._for_cabinet(thing)
                shape = turned(swept(thing), yaw) + at
            else:
                yaw = float(self._rng.uniform(-math.pi, math.pi))
                at = self._free_cell(least)
                shape = turned(outline, yaw) + at
            if not self._reached(shape, thing) or not away_m[0] <= math.hypot(*at) <= away_m[1]:
                continue
            cells = self._grid.empty()
            self._grid.fill(cells, shape)
            if self._clearance[cells > 0].min(initial=math.inf) >= GAP_M:
                self._taken |= cells
                self._clearance = self._grid.clearance(self._taken)
                return Pose((float(at[0]), float(at[1]), 0.0), yaw)
        raise NoRoomError

    def _free_cell(self, least_m: float) -> Floats:
        """Middle (x, y) of a random place with enough free space around it.

        Raises:
            NoRoomError: there is no such place.
        """
        free = np.flatnonzero((self._clearance > least_m) & self._within)
        if not len(free):
            raise NoRoomError
        row, column = divmod(int(self._rng.choice(free)), self._grid.shape[1])
        jitter = self._rng.uniform(0.0, 1.0, 2)
        return np.asarray(self._grid.low + (np.array([column, row]) + jitter) * CELL_M)

    def _for_cabinet(self, thing: Thing) -> tuple[Floats, float]:
        """Draw a pose at the back to one side, its front towards the middle of the near edge."""
        side = 1.0 if self._rng.random() < 0.5 else -1.0
        x = float(self._rng.uniform(0.17, 0.29))
        y = float(self._rng.uniform(0.13, 0.19))
        return np.array([side * x, y]), -side * float(self._rng.uniform(0.0, 0.30))

    def _reached(self, shape: Floats, thing: Thing) -> bool:
        low, high = shape.min(axis=0), shape.max(axis=0)
        inside = (low >= -np.array(AREA_HALF_M)).all() and (high <= AREA_HALF_M).all()
        if thing.category == CABINET:
            return bool((np.abs(shape[:, 0]) <= AREA_HALF_M[0]).all())
        away = math.dist((low + high) / 2, BASE_M)
        return bool(inside) and REACH_M[0] <= away <= REACH_M[1]
