"""States of a domain's problems, drawn at random: by its PDDL model, or in a world."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sightplan.domains import Domain
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.model import Action, EpisodeSpec, Problem, State, TruthSource, World, param


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Settings of drawing states from random rollouts."""

    problems: int = param(12, 'problems to draw states of; as many others are held out', low=1,
                          high=10_000)
    rollouts: int = param(2, 'rollouts of each problem', low=1, high=10_000)
    steps: int = param(30, 'random legal actions of a rollout', low=1, high=100_000)
    seed: int = param(0, 'seed of problems and actions', low=0, high=2**32 - 1)
    min_support: int = param(20, 'how often a rule must say more than each simpler rule would',
                             low=1, high=10**9)


def random_action(model: InstantiatedModel, state: State, rng: random.Random) -> Action | None:
    """Draw a legal action: first its schema, then its arguments; None if there is none."""
    found: dict[str, list[Action]] = {}
    for action in model.actions:
        if model.applicable(action, state):
            found.setdefault(action.name, []).append(action)
    return rng.choice(found[rng.choice(list(found))]) if found else None


def model_states(problem: Problem, rollouts: int, steps: int, rng: random.Random,
                 ) -> Iterator[State]:
    """The states of random rollouts from a problem's initial state, by the PDDL model."""
    model = InstantiatedModel(problem)
    for _ in range(rollouts):
        state = problem.init
        yield state
        for _ in range(steps):
            action = random_action(model, state, rng)
            if action is None:
                break
            state = model.apply(action, state)
            yield state


def world_states(world: World, truth: TruthSource, problem: Problem, rollouts: int, steps: int,
                 rng: random.Random, failure_probability: float) -> Iterator[State]:
    """The true states of a world in which random legal actions are carried out.

    Raises:
        WorldError: the world broke down or cannot show the problem.
    """
    model = InstantiatedModel(problem)
    for number in range(rollouts):
        world.reset(EpisodeSpec(f'constraints/{problem.name}#{number}', problem, 'random',
                                seed=rng.getrandbits(32),
                                failure_probability=failure_probability))
        yield truth.state()
        for _ in range(steps):
            action = random_action(model, truth.state(), rng)
            if action is None:
                break
            world.execute(action)
            yield truth.state()


def draw_problems(domain: Domain, splits: Sequence[str], count: int, rng: random.Random,
                  ) -> tuple[list[Problem], list[Problem]]:
    """Problems to learn from and others to verify with; small ones first.

    With a single problem the two are the same.
    """
    problems = [problem for split in splits for problem in domain.split_problems(split)]
    rng.shuffle(problems)
    first = min(count, (len(problems) + 1) // 2)
    chosen, others = problems[:first], problems[first:first + count]
    for some in (chosen, others):
        some.sort(key=lambda problem: len(problem.objects))
    return chosen, others or chosen
