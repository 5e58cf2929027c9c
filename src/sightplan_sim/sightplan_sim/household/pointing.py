"""Homes as a robot sees them as scenes to point at, with exact masks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sightplan.domains import load_domain
from sightplan.domains.household import generator
from sightplan.model import Atom, EpisodeSpec, Problem, State, WorldError
from sightplan.model.region import Mask
from sightplan.model.scene import Piece, PointingScene, PointingTask
from sightplan_sim.household.catalog import category_of
from sightplan_sim.household.settings import Settings
from sightplan_sim.household.world import HouseholdWorld
from sightplan_sim.still_scenes import StillScenes

LEAST_PIXELS = 60
"""Objects with fewer visible pixels are not asked about."""
MOST_STEPS = 5
MOST_OF_A_KIND = 4
_TRIES = 20
SPLITS = ('simple', 'medium', 'hard', 'search')

Phrasings = tuple[str, ...]
_TRAINING: dict[str, Phrasings] = {
    'object': ('the {0}', 'the only {0}', 'the {0} in this room'),
    'left': ('the leftmost {0}', 'the {0} that is furthest left'),
    'right': ('the rightmost {0}', 'the {0} that is furthest right'),
    'ontop': ('the {0} on top of the {1}', 'the {0} that is on the {1}'),
    'inside': ('the {0} inside the {1}', 'the {0} that is in the {1}'),
    'open': ('the open {0}', 'the {0} that is open'),
    'shut': ('the closed {0}', 'the {0} that is closed')}
_HELD_OUT: dict[str, Phrasings] = {
    'object': ('that {0} over there', 'where can one see the {0}'),
    'left': ('of all {0}s the one at the left',), 'right': ('of all {0}s the one at the right',),
    'ontop': ('what {0} does the {1} carry',), 'inside': ('what {0} does the {1} hold',),
    'open': ('the {0} that somebody left open',), 'shut': ('the {0} that is not open',)}


class HouseholdSource(StillScenes):
    """Makes scenes; see ``sightplan.model.scene.SceneSource``. Not safe for threads."""

    def __init__(self) -> None:
        self._world = HouseholdWorld(Settings(labels=False))

    def close(self) -> None:
        """Give the simulator back."""
        self._world.close()

    def scene(self, seed: int, *, held_out: bool = True) -> PointingScene:
        """See ``SceneSource``.

        Raises:
            WorldError: none of the homes that were tried for it could be built.
        """
        kept = 'held_out' if held_out else 'training'
        rng = random.Random(f'household {kept} {seed}')
        for attempt in range(_TRIES):
            try:
                problem = _problem(f'pointing_{kept}_{seed}_{attempt}', rng)
                self._world.reset(EpisodeSpec(problem.name, problem, 'random', seed=seed))
                break
            except WorldError:  # no home begins like this
                if attempt == _TRIES - 1:
                    raise
        model = load_domain('household').model(problem)
        for _ in range(rng.randint(1, MOST_STEPS)):
            state = self._world.state()
            legal = [action for action in model.actions if model.applicable(action, state)]
            name = rng.choice(sorted({action.name for action in legal}))
            self._world.execute(rng.choice([one for one in legal if one.name == name]))
        frame, ids = self._world.frame()
        masks = {name: mask for name, number in ids.items()
                 if (mask := frame.ids == number).sum() >= LEAST_PIXELS}
        height, width = frame.ids.shape
        matrix = self._world.camera_info().matrix
        return PointingScene(
            f'household/{kept}/{seed}', frame.rgb, np.nan_to_num(frame.depth_m, nan=0.0),
            (float(matrix[0, 0]), float(matrix[1, 1]), width / 2, height / 2),
            tuple(Piece(name, words_of(name), mask) for name, mask in masks.items()),
            tuple(_tasks(problem, masks, self._world.state(), rng,
                         _HELD_OUT if held_out else _TRAINING)))


def make_source() -> HouseholdSource:
    """A source of scenes."""
    return HouseholdSource()


def words_of(name: str) -> str:
    """Words for an object by its category: ``hardback_2`` is a ``hardback``."""
    return category_of(name).replace('_', ' ')


def _problem(name: str, rng: random.Random) -> Problem:
    """A task of the domain in a home of its own, with other containers open."""
    domain = load_domain('household')
    _, problem = generator.draw(domain, generator.Settings(rng.choice(SPLITS)),
                                rng.randrange(10**6))
    init = set(problem.init)
    for thing, kind in problem.objects.items():
        if kind == 'container' and rng.random() < 0.5:
            init ^= {Atom('open', (thing,))}
    return replace(problem, name=name, init=frozenset(init))


def _tasks(problem: Problem, masks: dict[str, Mask], state: State, rng: random.Random,
           phrasings: dict[str, Phrasings]) -> Iterator[PointingTask]:
    count = Counter(map(words_of, masks))
    kinds: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {'object': [], 'restriction': []}
    middle = {name: float(mask.nonzero()[1].mean()) for name, mask in masks.items()}
    for name in masks:
        word = words_of(name)
        like = sorted((one for one in masks if words_of(one) == word), key=middle.__getitem__)
        if count[word] == 1:
            kinds['object'].append((name, 'object', (word,)))
        for way, end in (('left', 0), ('right', -1)):
            if len(like) > 1 and like[end] == name:
                kinds['restriction'].append((name, way, (word,)))
        for way in ('ontop', 'inside'):
            for atom in state:
                if atom.predicate == way and atom.args[0] == name and atom.args[1] in masks:
                    place = words_of(atom.args[1])
                    fits = [one for one in masks if words_of(one) == word and any(
                        words_of(other) == place and Atom(way, (one, other)) in state
                        for other in masks)]
                    if fits == [name]:
                        kinds['restriction'].append((name, way, (word, place)))
        if problem.objects[name] == 'container' and len(like) > 1:
            is_open = Atom('open', (name,)) in state
            if sum((Atom('open', (one,)) in state) is is_open for one in like) == 1:
                kinds['restriction'].append((name, 'open' if is_open else 'shut', (word,)))
    for kind, asked in kinds.items():
        for name, way, words in rng.sample(asked, min(MOST_OF_A_KIND, len(asked))):
            text = rng.choice(phrasings[way]).format(*words)
            yield PointingTask(text, 's1', kind, masks[name], name)
