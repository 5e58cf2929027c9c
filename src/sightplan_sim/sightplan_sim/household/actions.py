"""The seven household actions: sampled end states free of collisions, which physics settles.

An action tries end states until one is found in which all that its PDDL promises is true; if
none is, the best of them is what became of it, and the action has failed if its main effect is
not there. What can go wrong for real: no free place, something in a leaf's way, a thing that
rolls off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Action, Atom, Problem, State
from sightplan_sim.household.placing import OPEN_ENOUGH, Placing, Spot
from sightplan_sim.household.predicates import (
    OPEN_FRACTION,
    contents,
    inside,
    reachable,
    supports,
    true_atoms,
)
from sightplan_sim.household.robot import Robot
from sightplan_sim.household.rotations import Floats
from sightplan_sim.household.scene import Scene, Snapshot
from sightplan_sim.household.shapes import Home
from sightplan_sim.household.stations import ANKLE_M, Stations

RELEASES = 5
"""Number of spots that are tried physically before a placement fails."""
VIEWS = 8
"""Number of stations from which a picture is tried before a navigation fails."""
STEP_ASIDE_M = 0.7
"""Distance that the robot steps aside to open or close furniture, or to look into it [m]."""
SWEEP = 24
"""Steps in which a leaf's way is tested."""
SWEEP_DEPTH_M = 0.01
"""Largest depth by which a moving leaf may overlap a body without being stopped [m]."""
WIDE = (0.80, 1.0)
"""Fraction of its range to which a joint is opened."""
AJAR = OPEN_ENOUGH + 0.05
"""Fraction of its range to which an open joint is opened, or left open, at least."""
FLOOR_M = ((0.45, 1.0), (0.3, 2.5))
"""Distances from the robot at which a thing falls; the second pair if the first has no room
[m]."""
RELEASE_M_S = 0.03
"""Spread of a thing's speed when it is let go [m/s]."""

Sees = Callable[[Robot], frozenset[str]]


@dataclass(frozen=True)
class Outcome:
    """Result of an action.

    Attributes:
        robot: its state afterwards; the scene is changed in place.
        text: ``success``, ``failed:<why>``, ``no_op`` or ``execution_failure:<what>``.
    """

    robot: Robot
    text: str


@dataclass(frozen=True, eq=False)
class _Ending:
    """An end state: the robot and where everything is."""

    robot: Robot
    scene: Snapshot


class Actions:
    """Carries out actions in a scene.

    Args:
        scene: the home's bodies.
        home: its rooms.
        problem: whose objects and types they are.
        half_fov: half the camera's field of view [rad].
        sees: what is visible for a robot in the scene as it is.
        reference: whether ``reachable`` is the reference's (see ``predicates.reachable``).
    """

    def __init__(self, scene: Scene, home: Home, problem: Problem, half_fov: float, sees: Sees,
                 reference: bool = False) -> None:
        self._scene = scene
        self._problem = problem
        self._sees = sees
        self._reference = reference
        self._stations = Stations(scene, home, half_fov)
        self._placing = Placing(scene, self._stations)
        self._realise: Mapping[str, Callable[..., Iterator[Robot]]] = {
            'navigate-to': self._navigate, 'grasp': self._grasp, 'place-on': self._place_on,
            'place-next-to': self._place_next_to, 'place-inside': self._place_inside,
            'open-container': self._open, 'close-container': self._close}
        self._failures: Mapping[str, Callable[..., tuple[Robot, str]]] = {
            'navigate-to': self._stray, 'grasp': self._knock, 'place-on': self._drop,
            'place-next-to': self._drop, 'place-inside': self._drop,
            'open-container': self._hardly_open, 'close-container': self._leave_ajar}

    def state(self, robot: Robot) -> State:
        """Everything that holds now."""
        return true_atoms(self._scene, robot, self._problem,
                          self._sees(robot) if self._reference else None)

    def perform(self, action: Action, robot: Robot, expected: Mapping[Atom, bool],
                rng: np.random.Generator) -> Outcome:
        """Carry out a legal action; its PDDL promises ``expected``, the main effect first."""
        with self._undone_by_errors():
            return self._perform(action, robot, expected, rng)

    def fail(self, action: Action, robot: Robot, rng: np.random.Generator) -> Outcome:
        """Let a legal action go wrong; ``no_op`` where there is no room for it to."""
        with self._undone_by_errors():
            after, what = self._failures[action.name](robot, rng, *action.args)
        return Outcome(after, f'execution_failure:{what}' if what else 'no_op')

    @contextlib.contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        """Whatever is raised, the scene is as it was."""
        before = self._scene.snapshot()
        try:
            yield
        except BaseException:
            self._scene.restore(before)
            raise

    def _perform(self, action: Action, robot: Robot, expected: Mapping[Atom, bool],
                 rng: np.random.Generator) -> Outcome:
        main = main_effect(action)
        start = _Ending(robot, self._scene.snapshot())
        best: tuple[tuple[bool, int, int], _Ending] | None = None
        why = 'no free place'
        for after in self._realise[action.name](robot, rng, *action.args):
            state = self.state(after)
            wrong = [atom for atom, value in expected.items() if (atom in state) is not value]
            missed = main in wrong
            seen: frozenset[str] = frozenset()
            if action.name in ('navigate-to', 'open-container') and not missed:
                seen = self._sees(after)
                wanted = {name for atom in expected for name in atom.args
                          if expected[atom] and atom.predicate == 'reachable'} or set(action.args)
                hidden = len(wanted - seen)
                missed |= action.name == 'navigate-to' and seen.isdisjoint(
                    (action.args[0], *self._overhead(robot, action.args[0])))
            else:
                hidden = 0
            cost = (missed, len(wrong), hidden)
            if best is None or cost < best[0]:
                best = (cost, _Ending(after, self._scene.snapshot()))
            if cost == (False, 0, 0):
                break
            why = _why(action, missed)
            self._scene.restore(start.scene)
        if best is None or (best[0][0] and action.name in (
                'navigate-to', 'open-container', 'close-container')):
            self._scene.restore(start.scene)
            return Outcome(robot, f'failed:{self._blocked or why}')
        self._scene.restore(best[1].scene)
        if best[0][0]:
            after = self._within_grasp(best[1].robot, action, rng)
            return Outcome(after, f'failed:{why}')
        return Outcome(best[1].robot, 'success')

    # --- end states: each changes the scene, yields, and finds it restored ---------------------

    _blocked = ''

    def _navigate(self, robot: Robot, rng: np.random.Generator, target: str) -> Iterator[Robot]:
        self._blocked = ''
        if target == robot.held:
            yield replace(robot, zone=frozenset({target}))
            return
        zone = self._zone(target, robot)
        views = 0
        for faced in (target, *self._overhead(robot, target)):
            for view in self._stations.facing(robot, faced, rng):
                there = replace(robot, station=view.station, zone=zone)
                if self._reference or reachable(self._scene, there, target):
                    yield there
                    views += 1
                    if views >= VIEWS:
                        return

    def _grasp(self, robot: Robot, rng: np.random.Generator, thing: str) -> Iterator[Robot]:
        self._blocked = ''
        above = self._leaning(thing)
        self._scene.park(thing)
        self._scene.settle(above)
        yield replace(robot, held=thing)

    def _place_on(self, robot: Robot, rng: np.random.Generator, thing: str, support: str,
                  ) -> Iterator[Robot]:
        return self._release(robot, thing, self._placing.on(robot, thing, support, rng), rng)

    def _place_next_to(self, robot: Robot, rng: np.random.Generator, thing: str, other: str,
                       ) -> Iterator[Robot]:
        return self._release(robot, thing, self._placing.beside(robot, thing, other, rng), rng)

    def _place_inside(self, robot: Robot, rng: np.random.Generator, thing: str, container: str,
                      ) -> Iterator[Robot]:
        """Put a thing into a container; its drawers are pulled further out if necessary."""
        fits = False
        for after in self._release(robot, thing,
                                   self._placing.inside(robot, thing, container, rng), rng):
            fits = True
            yield after
        if fits:
            return
        scene = self._scene
        held = contents(scene, container, scene.things)
        drawers = [link for link, opening in enumerate(scene.openings(container))
                   if OPEN_FRACTION < opening < WIDE[0]
                   and any(room.link == link for room in scene.cavities(container))]
        if not drawers:
            return
        goals = {link: float(rng.uniform(*WIDE)) for link in drawers}
        for there in self._swing(robot, container, goals, held, rng):
            spots = self._placing.inside(there, thing, container, rng)
            yield from self._from(scene.snapshot(), self._release(there, thing, spots, rng))

    def _open(self, robot: Robot, rng: np.random.Generator, container: str) -> Iterator[Robot]:
        self._blocked = ''
        scene = self._scene
        held = contents(scene, container, scene.things)
        links = self._links_to_open(container, held, rng)
        goals = {link: float(rng.uniform(*WIDE)) for link in links}
        robot = replace(robot, zone=robot.zone.union(held))
        for scale in (1.0, 0.75, 0.5, 0.3):
            openings = {link: max(AJAR, scale * goal) for link, goal in goals.items()}
            for after in self._swing(robot, container, openings, held, rng):
                self._blocked = ''
                yield after
            if not self._blocked.startswith('in its way'):
                return

    def _close(self, robot: Robot, rng: np.random.Generator, container: str) -> Iterator[Robot]:
        self._blocked = ''
        scene = self._scene
        held = contents(scene, container, scene.things)
        goals = {link: 0.0 for link, opening in enumerate(scene.openings(container)) if opening}
        robot = replace(robot, zone=robot.zone.difference(held))
        yield from self._swing(robot, container, goals, held, rng)

    # --- execution failures ---

    def _stray(self, robot: Robot, rng: np.random.Generator, target: str) -> tuple[Robot, str]:
        del target
        station = self._stations.anywhere(robot, rng) or robot.station
        return replace(robot, station=station, zone=frozenset()), 'went astray'

    def _knock(self, robot: Robot, rng: np.random.Generator, thing: str) -> tuple[Robot, str]:
        above = self._leaning(thing)
        scene = self._scene
        below = [name for name in supports(scene, thing) if name in self._problem.objects]
        within = [name for name in below if inside(scene, thing, name)]
        where = (within or [name for name in below if scene.surfaces(name)])[-1:]
        if where and rng.random() < 0.6:
            place = self._placing.inside if within else self._placing.on
            if self._let_go(thing, place(robot, thing, where[0], rng), rng, above):
                stays = where[0] in supports(scene, thing)
                return robot, 'knocked aside' if stays else 'knocked off'
        if self._to_floor(robot, thing, rng, above):
            return robot, 'knocked to the floor'
        return robot, ''

    def _drop(self, robot: Robot, rng: np.random.Generator, thing: str, _: str,
              ) -> tuple[Robot, str]:
        if self._to_floor(robot, thing, rng):
            return replace(robot, held=''), 'dropped'
        return robot, ''

    def _hardly_open(self, robot: Robot, rng: np.random.Generator, container: str,
                     ) -> tuple[Robot, str]:
        held = contents(self._scene, container, self._scene.things)
        self._push(robot, container, {
            link: float(rng.uniform(0.1, 0.9)) * OPEN_FRACTION
            for link in self._links_to_open(container, held, rng)}, held)
        return robot, 'stayed shut'

    def _leave_ajar(self, robot: Robot, rng: np.random.Generator, container: str,
                    ) -> tuple[Robot, str]:
        held = contents(self._scene, container, self._scene.things)
        self._push(robot, container, {
            link: min(opening, max(AJAR, float(rng.uniform(0.3, 0.7)) * opening))
            for link, opening in enumerate(self._scene.openings(container))
            if opening > OPEN_FRACTION}, held)
        return robot, 'left ajar'

    # --- inside -------------------------------------------------------------------------------

    def _zone(self, target: str, robot: Robot) -> frozenset[str]:
        """Work zone of the arm after navigating to a target."""
        scene = self._scene
        zone = {target}
        if any(opening > OPEN_FRACTION for opening in scene.openings(target)):
            zone.update(contents(scene, target, scene.things))
        return frozenset(zone)

    def _overhead(self, robot: Robot, target: str) -> list[str]:
        """Supports of a target that lies too high to be seen; the robot faces these instead."""
        high = self._scene.aabb(target)[0][2] > robot.eye[2]
        return supports(self._scene, target) if high and not self._reference else []

    def _leaning(self, thing: str) -> list[str]:
        """Things that touch a thing, directly or through others; they may move when it goes."""
        found: list[str] = []
        rest = [thing]
        while rest:
            here = rest.pop()
            for name in self._scene.near(here, 0.01):
                if name != thing and name not in found and self._scene.touching(name, here):
                    found.append(name)
                    rest.append(name)
        return found

    def _release(self, robot: Robot, thing: str, spots: Iterable[Spot],
                 rng: np.random.Generator) -> Iterator[Robot]:
        """Put a thing down at one spot after another and let it settle."""
        self._blocked = ''
        for number, spot in enumerate(spots):
            if number >= RELEASES:
                return
            self._settle(thing, spot, rng)
            yield replace(robot, held='')

    def _settle(self, thing: str, spot: Spot, rng: np.random.Generator,
                others: Iterable[str] = ()) -> None:
        self._scene.move(thing, spot.position, spot.rotation)
        push = np.append(rng.normal(0.0, RELEASE_M_S, 2), 0.0)
        self._scene.settle([thing, *self._scene.near(thing, 0.02), *others], {thing: push})

    def _let_go(self, thing: str, spots: Iterable[Spot], rng: np.random.Generator,
                others: Iterable[str] = ()) -> bool:
        """Put a thing down at the first spot."""
        for spot in spots:
            self._settle(thing, spot, rng, others)
            return True
        return False

    def _to_floor(self, robot: Robot, thing: str, rng: np.random.Generator,
                  others: Iterable[str] = ()) -> bool:
        """Let a thing fall near the robot, or farther away if there is no room."""
        return any(self._let_go(thing, self._placing.floor(robot, thing, rng, distance), rng,
                                others) for distance in FLOOR_M)

    def _from(self, scene: Snapshot, endings: Iterator[Robot]) -> Iterator[Robot]:
        """End states that each begin in a scene of their own."""
        while True:
            self._scene.restore(scene)
            after = next(endings, None)
            if after is None:
                return
            yield after

    def _within_grasp(self, robot: Robot, action: Action, rng: np.random.Generator) -> Robot:
        """Move a thing that rolled out of reach after a failed placement to the floor nearby."""
        thing = action.args[0]
        probe = replace(robot, zone=frozenset({thing}))
        stations = (view.station for view in self._stations.facing(robot, thing, rng))
        if not any(reachable(self._scene, replace(probe, station=station), thing)
                   for station in stations):
            self._to_floor(robot, thing, rng)
        return robot

    def _links_to_open(self, container: str, held: list[str], rng: np.random.Generator,
                       ) -> list[int]:
        """Links to open: all leaves; of drawers those with content, else one."""
        scene = self._scene
        model = scene.model(container)
        leaves = [i for i, link in enumerate(model.links)
                  if link.joint is not None and link.joint.kind != 'slide']
        drawers = [i for i, link in enumerate(model.links)
                   if link.joint is not None and link.joint.kind == 'slide']
        full = [link for link in drawers if self._carried(container, link, held)]
        if drawers and not full:
            full = [drawers[int(rng.integers(len(drawers)))]]
        return leaves + full

    def _carried(self, container: str, link: int, held: Iterable[str]) -> list[str]:
        """Contents of a container that move with one of its links."""
        scene = self._scene
        rooms = [room for room in scene.cavities(container) if room.link == link != 0]
        return [name for name in held
                if any(room.contains(scene.centre(name), 0.02) for room in rooms)]

    def _swing(self, robot: Robot, container: str, goals: Mapping[int, float],
               held: list[str], rng: np.random.Generator) -> Iterator[Robot]:
        """Move links to fractions of their ranges, from where the robot stands or a step aside.

        Stops without an end state, with the reason in ``_blocked``, if something is in the way.
        """
        scene = self._scene
        start = scene.snapshot()
        carried = {link: self._carried(container, link, held) for link in goals}
        here = np.array([(robot.station.x, robot.station.y)])
        clear = True
        for _ in self._sweep(container, goals, carried):
            stopped = self._stopped(container, carried)
            if stopped:
                scene.restore(start)
                self._blocked = f'in its way is {stopped[0]}'
                return
            clear &= not self._hits(robot, container, goals, here).any()
        after = scene.snapshot()
        if clear:
            yield robot
        else:
            self._blocked = 'the robot is in its way'
        scene.restore(after)
        views = list(self._stations.facing(robot, container, rng, near=STEP_ASIDE_M))
        points = np.array([(v.station.x, v.station.y) for v in views]).reshape(-1, 2)
        free = np.ones(len(points), dtype=bool)
        scene.restore(start)
        for _ in self._sweep(container, goals, carried):
            free &= ~self._hits(robot, container, goals, points)
        tries = 0
        for view in (view for view, ok in zip(views, free, strict=True) if ok):
            there = replace(robot, station=view.station)
            scene.restore(after)
            if reachable(scene, there, container):
                self._blocked = ''
                yield there
                tries += 1
            if tries >= VIEWS:
                break
        scene.restore(start)

    def _push(self, robot: Robot, container: str, goals: Mapping[int, float],
              held: list[str]) -> None:
        """Move links towards fractions of their ranges, until something stops them."""
        scene = self._scene
        carried = {link: self._carried(container, link, held) for link in goals}
        here = np.array([(robot.station.x, robot.station.y)])
        free = scene.snapshot()
        for _ in self._sweep(container, goals, carried):
            if self._stopped(container, carried) or self._hits(robot, container, goals,
                                                               here).any():
                scene.restore(free)
                return
            free = scene.snapshot()

    def _stopped(self, container: str, carried: Mapping[int, list[str]]) -> list[str]:
        """Bodies that some links of a container overlap, other than the things they carry."""
        return self._scene.overlaps(container, list(carried), SWEEP_DEPTH_M,
                                    [name for own in carried.values() for name in own])

    def _sweep(self, container: str, goals: Mapping[int, float],
               carried: Mapping[int, list[str]]) -> Iterator[int]:
        """Bring links to fractions of their ranges in small steps."""
        scene = self._scene
        begin = scene.openings(container)
        for step in range(1, SWEEP + 1):
            for link, goal in goals.items():
                opening = begin[link] + step / SWEEP * (goal - begin[link])
                scene.set_opening(container, link, opening, carried[link])
            yield step

    def _hits(self, robot: Robot, container: str, links: Iterable[int], points: Floats,
              ) -> NDArray[np.bool_]:
        """(N,) whether the robot at points (N, 2) stands in some links [m]."""
        return self._scene.disc_meets(container, links, points, robot.body.radius, ANKLE_M,
                                      robot.body.height)


_MAIN = {'navigate-to': 'reachable', 'grasp': 'holding', 'place-on': 'ontop',
         'place-next-to': 'nextto', 'place-inside': 'inside'}


def main_effect(action: Action) -> Atom:
    """The one effect without which an action has failed."""
    return Atom(_MAIN.get(action.name, 'open'), action.args)


def _why(action: Action, missed: bool) -> str:
    if not missed:
        return ''
    if action.name.startswith('place'):
        return 'did not stay'
    return 'not in sight or in reach' if action.name == 'navigate-to' else 'did not work'


