"""Scenes to take pictures of: fresh problems, some actions after their start.

Every picture has a problem, a world and a walk of its own, all functions of domain, split, seed
and number. Problems are drawn by the domain's generator as those of the split are, from other
seeds; one that the split itself holds is passed over. A walk begins with up to three actions, each
of a kind that was used least in it so far. Then it goes on until an action of the picture's turn
was carried out (pictures take turns: none, then each kind of action of the domain), so that all
predicates take both values; at most ``MOST_STEPS`` actions.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain
from sightplan.model import (
    Atom,
    EpisodeSpec,
    FeedbackStatus,
    InputError,
    Observation,
    Problem,
    State,
    TruthSource,
    World,
)
from sightplan.model.query import close
from sightplan.runs.worlds import make_world

MOST_STEPS = 10
FIRST_STEPS = 4
"""Upper limit of the number of actions before the first picture."""
STRIDE = 101
"""Seeds between one picture's problem and the next one's; prime, so that tasks take turns."""
TRIES = 20
"""Number of scenes without any possible question after which drawing fails."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture and the truth about it.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        atoms: that may hold and whose objects are all in view; at least one.
        state: all that is true.
    """

    image: NDArray[np.uint8]
    atoms: tuple[Atom, ...]
    state: State


class Studio:
    """Takes pictures of a domain's split. Use as a context manager.

    Args:
        domain: with a generator and an installed world.
        split: of the domain.
        seed: of all pictures.

    Raises:
        InputError: the domain has no such split, or no world of it is installed.
    """

    def __init__(self, domain: Domain, split: str, seed: int) -> None:
        self._domain, self._split, self._seed = domain, split, seed
        splits = domain.generator.SPLITS
        if split not in splits:
            raise InputError(f'the generator of domain {domain.name} draws no split {split!r} '
                             f'(it has {", ".join(splits) or "none"})')
        self._how = splits[split].settings
        self._known = () if domain.instances else tuple(
            (problem.init, frozenset(problem.goal)) for problem in domain.split_problems(split))
        world = make_world(domain.reference)
        self._stack = ExitStack()
        self._stack.callback(close, world)
        if not isinstance(world, TruthSource):
            self._stack.close()
            raise InputError(f'the world of domain {domain.name} provides no truth, so that its '
                             'pictures cannot be scored')
        self._world: World = world
        self._truth: TruthSource = world

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def scene(self, number: int) -> Scene:
        """The scene of a number.

        Raises:
            InputError: the world has no camera, or shows nothing that can be asked about.
            WorldError: it cannot show a problem.
        """
        for attempt in range(TRIES):
            name = f'{self._domain.name}/{self._split}/{self._seed}/{number}/{attempt}'
            observation, problem = self._walk(name, number, attempt)
            if observation.image is None:
                raise InputError(f'the world of domain {self._domain.name} has no camera')
            atoms = tuple(atom for atom in self._domain.worth_asking(problem)
                          if observation.in_view(atom))
            if atoms:
                return Scene(observation.image, atoms, self._truth.state(observation.stamp_ns))
        raise InputError(f'domain {self._domain.name}, split {self._split}, picture {number}: '
                         f'nothing can be asked about {TRIES} scenes in a row; choose another '
                         'seed')

    def _walk(self, name: str, number: int, attempt: int) -> tuple[Observation, Problem]:
        rng = random.Random(name)
        problem = self._problem(number, attempt)
        self._world.reset(EpisodeSpec(name, problem, 'picture', self._split,
                                      int.from_bytes(_digest(name)[:4], 'big')))
        model = self._domain.model(problem)
        kinds = sorted(self._domain.schema.actions)
        turn = (None, *kinds)[number % (len(kinds) + 1)]
        if turn not in {action.name for action in model.actions}:
            turn = None
        first, used = int(rng.random() * FIRST_STEPS), Counter[str]()
        for step in range(MOST_STEPS):
            if step >= first and turn is None:
                break
            state = self._truth.state()
            able = [action for action in model.actions if model.applicable(action, state)]
            if not able:
                break
            least = min(used[action.name] for action in able)
            wanted = [action for action in able if step >= first and action.name == turn]
            choice = wanted or [action for action in able if used[action.name] == least]
            action = choice[int(rng.random() * len(choice))]
            used[action.name] += 1
            if (self._world.execute(action).status is FeedbackStatus.EXECUTED and wanted):
                break
        return self._world.observe(), problem

    def _problem(self, number: int, attempt: int) -> Problem:
        """Generate a problem of the split's kind that is not in the split."""
        name = f'{self._domain.name}/{self._split}/{self._seed}'
        first = 1_000_000 + int.from_bytes(_digest(name)[:4], 'big')
        seed = first + STRIDE * (number + 1_000 * attempt)
        drawn = self._domain.generator.generate(
            self._domain, self._how, 1, seed,
            accept=lambda problem: (problem.init, frozenset(problem.goal)) not in self._known)
        problem: Problem = next(iter(drawn))[1]
        return problem


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
