"""Pictures of homes for training and checking, with everything that holds in them.

A shard is walks through homes: the tasks of the domain and random mixtures of objects, some of
whose containers begin open; in each a walk of legal actions, a few of which fail, that favours
what changes much, and often puts one thing next to another. Most pictures are drawn at the size
the model sees, some at the world's and reduced. Labels are not drawn yet: names are dealt out anew
whenever a picture is learned from.

Arrays of a shard, for n pictures of up to K objects (objects that are not there have kind 0):
``image`` (n, 240, 240, 3) uint8; ``depth`` (n, 240, 240) uint8, see ``depth_channel``; ``cells``
(n, 15, 15, 2) uint8, the thing and the furniture in each patch, 1 + index of the object or 0;
``category``, ``number``, ``kind`` (n, K), see ``KINDS``;
``visible``, ``open``, ``held``, ``reach`` (n, K) bool; ``ontop``, ``inside``, ``nextto``
(n, K, K) bool; ``rect`` (n, K, 4) int16 x0, y0, x1, y1 around and ``hull`` (n, K, 10, 2) float32,
the convex hull of its pixels, in a picture of 480x480; ``home`` (n,) int64, the same for pictures
of one home.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from household_questions import CATEGORIES, NUMBERS
from shards import Arrays
from sightplan.domains import load_domain
from sightplan.domains.household import generator
from sightplan.model import Action, Atom, EpisodeSpec, Problem, SightplanError, State
from sightplan_models._depth import depth_channel
from sightplan_sim.household import predicates
from sightplan_sim.household.actions import Actions
from sightplan_sim.household.catalog import category_of
from sightplan_sim.household.robot import held_name
from sightplan_sim.household.settings import Settings
from sightplan_sim.household.world import HouseholdWorld

SIZE, FULL, GRID = 240, 480, 15
MOST = 16
"""Objects of a problem at most."""
KINDS = ('none', 'movable', 'container', 'object')
CORNERS = 10
FULL_FRACTION = 0.2
WALK = 24
"""Pictures of one home."""
FAILURE_RATE = 0.06
"""Chance that the execution of an action fails."""
WEIGHTS = {'navigate-to': 2.5, 'open-container': 5.0, 'close-container': 1.0, 'grasp': 3.0,
           'place-on': 2.0, 'place-next-to': 5.0, 'place-inside': 5.0}
TASK_FRACTION = 0.5
BESIDE_FRACTION = 0.15
"""Chance at each step to start a placement next to another thing."""
NAMES = 'lesson'
"""Problems to learn from are named so that no benchmark's problem gets the same home."""


class Studio(HouseholdWorld):
    """A household world for training pictures: cheap to act in, and it reports the true state.

    Acting skips the pictures by which the world makes sure of what comes into view.
    """

    def __init__(self, size: int = SIZE) -> None:
        super().__init__(Settings(width=size, height=size, labels=False))

    def begin(self, problem: Problem) -> None:
        """Build a problem's home.

        Raises:
            WorldError: there is no such home.
        """
        self.reset(EpisodeSpec('lesson', problem, 'random'))
        episode = self._current()
        seen = frozenset(problem.objects)
        episode.actions = Actions(self._scene, episode.home, problem,
                                  np.radians(self.settings.fov_deg) / 2, lambda robot: seen)

    def legal(self) -> list[Action]:
        """Actions that are legal now."""
        episode = self._current()
        state = episode.states[-1]
        return [a for a in episode.model.actions if episode.model.applicable(a, state)]

    def act(self, action: Action, rng: np.random.Generator, fails: bool) -> None:
        """Do it, for good or ill."""
        episode = self._current()
        if fails:
            outcome = episode.actions.fail(action, episode.robot, rng)
        else:
            outcome = episode.actions.perform(
                action, episode.robot, episode.model.effects(action, episode.states[-1]), rng)
        episode.robot = outcome.robot
        episode.states[-1] = episode.actions.state(episode.robot)

    def picture(self, full: bool = False) -> dict[str, Any]:
        """Render one row of a shard, without category, number, kind and home."""
        episode = self._current()
        robot, objects = episode.robot, list(episode.spec.problem.objects)
        self._pose(robot)
        view = self._view(robot)
        size = FULL if full else SIZE
        frame = self._painter.draw(view.sized(size, size))
        image, depth = frame.rgb, depth_channel(frame.depth_m)
        if full:
            depth = depth[::FULL // SIZE, ::FULL // SIZE]
            image = np.asarray(Image.fromarray(image).resize((SIZE, SIZE),
                                                             Image.Resampling.BILINEAR))
        names = self._painter.names
        index = np.full(len(names) + 1, -1)
        for k, name in enumerate(objects):
            for shown in (name, held_name(name)):
                if shown in names:
                    index[names.index(shown)] = k
        owner = index[frame.ids]
        counts = np.bincount(owner[owner >= 0], minlength=len(objects))
        hulls = {name: predicates.hull_px(view.sized(size, size), self._scene.box(name))
                 for name in objects if name != robot.held}
        seen = predicates.visible(dict(zip(objects, counts.tolist(), strict=True)), hulls,
                                  self.settings.visible_fraction)
        seen |= {robot.held} if robot.held else frozenset()
        problem = episode.spec.problem
        return {'image': image, 'depth': depth,
                **facts(objects, problem, episode.states[-1], seen),
                'cells': cells_of(owner, [problem.objects[o] == 'movable' for o in objects]),
                'rect': rects_of(owner, len(objects), FULL // size),
                'hull': hulls_of(owner, len(objects), FULL // size)}


def facts(objects: list[str], problem: Problem, state: State, seen: frozenset[str],
          ) -> dict[str, NDArray[np.bool_]]:
    """The boolean arrays of a row."""
    at = {name: k for k, name in enumerate(objects)}
    out = {key: np.zeros(MOST, bool) for key in ('visible', 'open', 'held', 'reach')}
    out |= {key: np.zeros((MOST, MOST), bool) for key in ('ontop', 'inside', 'nextto')}
    names = {'reachable': 'reach', 'holding': 'held'}
    for name in seen:
        out['visible'][at[name]] = True
    for atom in state:
        key = names.get(atom.predicate, atom.predicate)
        out[key][tuple(at[name] for name in atom.args)] = True
    return out


def cells_of(owner: NDArray[np.int64], movable: list[bool]) -> NDArray[np.uint8]:
    """(15, 15, 2): 1 + thing and furniture in each patch; a sixteenth is enough for a thing."""
    side = owner.shape[0] // GRID
    tiles = owner.reshape(GRID, side, GRID, side).transpose(0, 2, 1, 3).reshape(GRID, GRID, -1)
    fraction = np.stack([(tiles == k).mean(-1) for k in range(len(movable))], -1)
    cells = np.zeros((GRID, GRID, 2), np.uint8)
    for layer, (wanted, least) in enumerate(((True, 1 / 16), (False, 1 / 4))):
        of_kind = np.where(np.array(movable) == wanted, fraction, 0.0)
        cells[..., layer] = np.where(of_kind.max(-1) >= least, of_kind.argmax(-1) + 1, 0)
    return cells


def rects_of(owner: NDArray[np.int64], count: int, scale: int) -> NDArray[np.int16]:
    """(K, 4) x0, y0, x1, y1 around the pixels of each object; zeros where it has none."""
    out = np.zeros((MOST, 4), np.int16)
    for k in range(count):
        mask = owner == k
        if mask.any():
            ys, xs = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
            out[k] = np.array([xs[0], ys[0], xs[-1] + 1, ys[-1] + 1]) * scale
    return out


def hulls_of(owner: NDArray[np.int64], count: int, scale: int) -> NDArray[np.float32]:
    """(K, 10, 2) convex hull of each object's pixels, simplified; the last corner repeats [px]."""
    out = np.zeros((MOST, CORNERS, 2), np.float32)
    for k in range(count):
        where = np.argwhere(owner == k)
        if not len(where):
            continue
        hull = cv2.convexHull(where[:, ::-1].astype(np.float32))
        slack = 0.25
        while len(hull) > CORNERS:
            hull, slack = cv2.approxPolyDP(hull, slack, True), 1.5 * slack
        out[k, :len(hull)], out[k, len(hull):] = hull[:, 0] * scale, hull[-1, 0] * scale
    return out


@dataclass(frozen=True)
class Recipe:
    """Settings of drawing a shard's scenes.

    Attributes:
        task_fraction: part of the homes that are the domain's tasks; the others are mixtures.
        splits: whose tasks they are.
        full_fraction: part of the pictures drawn at the world's size.
        openings: whether the containers of mixtures are windows, cartons and doors, several of a
            kind and half of them shut, with a few things.
    """

    task_fraction: float = TASK_FRACTION
    splits: tuple[str, ...] = ('simple', 'medium', 'hard')
    full_fraction: float = FULL_FRACTION
    openings: bool = False


def random_problem(seed: int, recipe: Recipe) -> Problem:
    """A problem to learn from, a function of its arguments alone."""
    rng = random.Random(f'household {seed}')
    domain = load_domain('household')
    if rng.random() < recipe.task_fraction:
        split = rng.choice(recipe.splits)
        _, problem = generator.draw(domain, generator.Settings(split), rng.randrange(10**6))
        init = set(problem.init)
        if rng.random() < 0.6:
            for name, kind in problem.objects.items():
                if kind == 'container' and rng.random() < 0.5:
                    init ^= {Atom('open', (name,))}
        return replace(problem, name=f'{NAMES}_{seed}', init=frozenset(init))
    objects: dict[str, str] = {}

    def add(category: str, kind: str) -> None:
        count = sum(name.rsplit('_', 1)[0] == category for name in objects)
        if count < len(NUMBERS):
            objects[f'{category}_{count + 1}'] = kind

    things = [c for c, kind in CATEGORIES.items() if kind == 'movable']
    boxes = [c for c, kind in CATEGORIES.items() if kind == 'container']
    furniture = [c for c, kind in CATEGORIES.items() if kind == 'object']
    favourite = rng.choice(things)
    for _ in range(rng.randint(1, 3) if recipe.openings else rng.randint(3, 8)):
        add(favourite if rng.random() < 0.3 else rng.choice(things), 'movable')
    if recipe.openings:
        boxes = ['window', 'window', 'carton', 'carton', 'door']
    favourite = rng.choice(boxes)
    for _ in range(rng.randint(2, 4) if recipe.openings else rng.randint(1, 3)):
        add(favourite if rng.random() < 0.5 else rng.choice(boxes), 'container')
    for _ in range(rng.randint(1, 2)):
        add(rng.choice(furniture), 'object')
    init = {Atom('open', (name,)) for name, kind in objects.items()
            if kind == 'container' and rng.random() < (0.5 if recipe.openings else 0.4)}
    hollow = [name for name, kind in objects.items() if kind == 'container'
              and not name.startswith(('door', 'window'))]
    flat = [name for name, kind in objects.items() if kind == 'object']
    if rng.random() < 0.6:  # much in one place: more to see in one picture
        hollow, flat = hollow[:1], flat[:1]
    for name in (name for name, kind in objects.items() if kind == 'movable'):
        draw = rng.random()
        if draw < 0.4 and hollow:
            init.add(Atom('inside', (name, rng.choice(hollow))))
        elif draw < 0.92 and flat:
            init.add(Atom('ontop', (name, rng.choice(flat))))
    return Problem(f'{NAMES}_{seed}', 'household', objects, frozenset(init), (),
                   domain_pddl=domain.pddl)


def choose(legal: list[Action], containers: frozenset[str], rng: np.random.Generator) -> Action:
    """Draw a legal action by the weight of its kind; containers are visited more often."""
    names = sorted({action.name for action in legal})
    weights = np.array([WEIGHTS[name] for name in names])
    name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    among = [action for action in legal if action.name == name]
    if rng.random() < 0.4:
        among = [action for action in among if action.args[-1] in containers] or among
    return among[int(rng.integers(len(among)))]


def beside(problem: Problem, rng: np.random.Generator) -> list[Action]:
    """Actions that put one thing next to another, most often next to a movable thing."""
    movable = problem.of_type('movable')
    if not movable:
        return []
    thing = str(rng.choice(movable))
    others = [name for name in (movable if rng.random() < 0.7 else problem.objects)
              if name != thing]
    if not others:
        return []
    other = str(rng.choice(others))
    return [Action('navigate-to', (thing,)), Action('grasp', (thing,)),
            Action('navigate-to', (other,)), Action('place-next-to', (thing, other)),
            *([Action('navigate-to', (thing,))] if rng.random() < 0.3 else [])]


def render_shard(seed: int, recipe: Recipe, count: int) -> Arrays:
    """Draw one shard; a function of its arguments alone."""
    rng = np.random.default_rng([20_27, seed])
    rows: list[dict[str, Any]] = []
    place = {name: k for k, name in enumerate(CATEGORIES)}
    with Studio() as studio:
        home = seed * 100_000
        while len(rows) < count:
            home += 1
            problem = random_problem(home, recipe)
            if len(problem.objects) > MOST:
                continue
            try:
                studio.begin(problem)
            except SightplanError:  # no home has room for such a mixture
                continue
            containers = frozenset(problem.of_type('container'))
            static: dict[str, NDArray[np.integer[Any]]] = {
                'category': np.full(MOST, -1, np.int16), 'number': np.zeros(MOST, np.int8),
                'kind': np.zeros(MOST, np.int8)}
            for k, (name, kind) in enumerate(problem.objects.items()):
                static['category'][k] = place[category_of(name)]
                static['number'][k] = int(name.rsplit('_', 1)[1])
                static['kind'][k] = KINDS.index(kind)
            last = min(count, len(rows) + WALK)
            plan: list[Action] = []
            while len(rows) < last:
                rows.append({**studio.picture(bool(rng.random() < recipe.full_fraction)), **static,
                             'home': np.int64(home)})
                legal = studio.legal()
                if not legal:
                    break
                if not plan and rng.random() < BESIDE_FRACTION:
                    plan = beside(problem, rng)
                while plan and plan[0] not in legal:
                    plan = plan[1:]
                action = plan.pop(0) if plan else choose(legal, containers, rng)
                studio.act(action, rng, bool(rng.random() < FAILURE_RATE))
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}

