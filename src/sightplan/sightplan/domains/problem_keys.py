"""Hash problems by their content."""

from __future__ import annotations

import hashlib

from sightplan.domains.domain import load_domain
from sightplan.model import Problem


def problem_key(problem: Problem) -> str:
    """Return a hash of a problem's content without its initial state: 12 hex digits.

    The hash covers the name, too, in domains with several problems of the same facts
    (``Domain.instances``). A method must never get it: with the problem files at hand, it tells
    which problem is played, hidden goals included.
    """
    facts: tuple[object, ...] = (problem.domain_name, sorted(problem.objects.items()),
                                 sorted(map(str, problem.goal)))
    if load_domain(problem.domain).instances:
        facts = (*facts, problem.name)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]
