"""Make problems of tidying a table from the scenes of a simulator.

One seed gives one problem: that of the scene of this seed, as a source of the group
``sightplan.grounded_plan_scenes`` makes it. The problem's name tells how to make the scene again.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sightplan.domains.domain import Domain
from sightplan.domains.domain import write_folder as write_folder
from sightplan.domains.problem_generator import Seeds, Split
from sightplan.model import InputError, Problem, param

SOURCES = 'sightplan.grounded_plan_scenes'
"""Group of entry points for makers of scenes."""
VAIN_SEEDS = 200  # so many in a row without a problem that is wanted: there are no more


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the generator: the length of the plans, and how they are asked for."""

    horizon: str = param('short', 'how long the plans are: short, medium or long',
                         choices=('short', 'medium', 'long'))
    instruction: str = param('explicit', 'what the instruction says: what is to be done, or what '
                             'somebody wants (problems to which only one goal is right)',
                             choices=('explicit', 'implicit'))


SPLITS = {horizon: Split(Settings(horizon)) for horizon in ('short', 'medium', 'long')}


def generate(domain: Domain, settings: Settings, count: int, first_seed: int = 0, *,
             accept: Callable[[Problem], bool] = lambda _: True) -> Iterator[tuple[int, Problem]]:
    """Make problems from the scenes of one seed after the other.

    Args:
        domain: tabletop.
        settings: what the problems are like.
        count: how many.
        first_seed: where to begin.
        accept: a further condition on a problem.

    Yields:
        Seed and problem (with its optimal length).

    Raises:
        InputError: no simulator makes such scenes, or there are too few such problems.
    """
    seeds = Seeds(count, first_seed, VAIN_SEEDS, 'problems', 'nothing that is wanted',
                  'ask for fewer')
    with _source() as source:
        for seed in seeds:
            problem: Problem | None = source.problem(
                domain, seed, settings.horizon, explicit=settings.instruction == 'explicit')
            if problem is not None and accept(problem):
                seeds.gave()
                yield seed, problem


def _source() -> Any:
    """Return the maker of scenes for this domain; InputError if none is installed."""
    for entry in importlib.metadata.entry_points(group=SOURCES, name='tabletop'):
        return entry.load()()
    raise InputError(f'no installed package makes scenes of tables: none has an entry point '
                     f'tabletop of the group {SOURCES} (install sightplan_sim)')
