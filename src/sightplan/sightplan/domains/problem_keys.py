"""Names of problems by their content."""

from __future__ import annotations

import hashlib

from sightplan.domains.domain import load_domain
from sightplan.model import Problem


def problem_key(problem: Problem) -> str:
    """Names a problem by its content, without its initial state: 12 hex digits.

    In a domain where problems with the same facts are different ones, by its name, too. It is for
    records and for those who make problems and runs, and never for a method: from it somebody who
    has the problems learns which one is played, goals that are hidden included.
    """
    facts: tuple[object, ...] = (problem.domain_name, sorted(problem.objects.items()),
                                 sorted(map(str, problem.goal)))
    if load_domain(problem.domain).instances:
        facts = (*facts, problem.name)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
