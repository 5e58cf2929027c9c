"""Drawing problems as those of a benchmark's split are drawn."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sightplan.domains import Domain
from sightplan.model import InputError, PlanningStatus, PlanningTask, Problem

if TYPE_CHECKING:
    from sightplan.planning.symbolic import FastDownwardPlanner

PLAN_TIMEOUT_S = 30.0


@runtime_checkable
class _AcceptsByLength(Protocol):
    """A split of a generator that keeps candidates by the length of a planner's plan."""

    def accepts(self, problem: Problem, planner_length: int) -> bool:
        """Whether a problem fits, given the length of the default planner's plan."""


def draw_split(
        domain: Domain, name: str, count: int = 0, first_seed: int = 0,
        planner: FastDownwardPlanner | None = None) -> tuple[Any, list[tuple[int, Problem]]]:
    """Problems of the kind of a split: the generator's settings, seeds and problems.

    Where the split says which lengths of the default planner's plans it ``accepts``, these decide
    which candidates are kept. Without count and seed these are the problems of the split itself.

    Args:
        domain: domain with a generator.
        name: name of the split.
        count: number of problems; 0: as many as the split has.
        first_seed: first seed to try.
        planner: the default planner, for several splits to share; without one it is started here.

    Raises:
        InputError: the domain has no generator, or that draws no such split, or there are too few
            such problems.
        PlannerError: the planner could not be started.
    """
    from sightplan.planning.symbolic import FastDownwardPlanner
    splits = domain.generator.SPLITS
    if name not in splits:
        raise InputError(f'the generator of domain {domain.name} draws no split {name!r} (it has '
                         f'{", ".join(splits)})')
    split: Any = splits[name]
    settings, wanted = split.settings, count or split.count
    if not isinstance(split, _AcceptsByLength):
        return settings, list(domain.generator.generate(domain, settings, wanted, first_seed))
    with contextlib.nullcontext(planner) if planner else FastDownwardPlanner() as shared:
        def accept(problem: Problem) -> bool:
            task = PlanningTask(domain.pddl, domain.write_problem(problem))
            result = shared.plan(task, PLAN_TIMEOUT_S)
            return (result.status is PlanningStatus.SOLVED
                    and split.accepts(problem, len(result.plan)))

        return settings, list(domain.generator.generate(
            domain, settings, wanted, first_seed, accept=accept))
