"""A domain's own planner, before a general one.

A domain folder may hold ``planner.py`` with a function ``plan(problem, search)`` that returns a
``PlanningResult``, or raises an InputError where it cannot read the problem: then the general
planner is asked. It is for domains in which an exact search is a hundred times faster than any
general one.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from types import ModuleType

from sightplan.domains import Domain, domain_names, load_domain
from sightplan.domains.problem_files import named_domain
from sightplan.model import InputError, PlanningResult, PlanningTask, ProblemError, SymbolicPlanner
from sightplan.model.query import close
from sightplan.planning.symbolic import SEARCHES


class OwnPlanner:
    """Asks the planner of the domain that a task names, else another one.

    Args:
        general: makes the other planner, when it is first needed.
        domain: one that need not be installed; None: the installed ones only.
    """

    def __init__(self, general: Callable[[], SymbolicPlanner], domain: Domain | None = None,
                 ) -> None:
        self._make = general
        self._general: SymbolicPlanner | None = None
        self._domain = domain
        self._known: dict[str, tuple[Domain, ModuleType] | None] = {}

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        """Search for a plan; contract in the port."""
        own = self._own(named_domain(task.problem_pddl)) if task.search in (
            '', *SEARCHES) else None
        if own is not None:
            domain, module = own
        if own is not None and task.domain_pddl == domain.pddl:
            started = time.monotonic()
            try:
                result: PlanningResult = module.plan(
                    domain.parse_problem(task.problem_pddl, 'task'), task.search)
            except (InputError, ProblemError):
                pass  # not of its kind: the general planner says what is wrong with it
            else:
                return dataclasses.replace(result, seconds=time.monotonic() - started)
        if self._general is None:
            self._general = self._make()
        return self._general.plan(task, timeout_s)

    def close(self) -> None:
        """Close the general planner, if it was started."""
        close(self._general)

    def _own(self, name: str) -> tuple[Domain, ModuleType] | None:
        if name not in self._known:
            found = self._domain if self._domain and self._domain.schema.name == name else (
                load_domain(name) if name in domain_names() else None)
            module = None if found is None else found.part('planner')
            self._known[name] = (found, module) if found and module else None
        return self._known[name]


def with_own(domain: Domain, search: str, general: Callable[[], SymbolicPlanner],
             ) -> SymbolicPlanner:
    """The planner of a run: the domain's own first, unless the search is one of Fast Downward.

    Args:
        domain: domain of the run.
        search: setting of the run.
        general: makes the planner for all other tasks.
    """
    if search in ('', *SEARCHES) and domain.part('planner') is not None:
        return OwnPlanner(general, domain)
    return general()
