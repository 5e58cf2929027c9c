"""Reading the problem that a request carries as PDDL text."""

from __future__ import annotations

import dataclasses
from typing import Any

from sightplan.domains import Domain, load_domain
from sightplan.model import Problem
from sightplan_nodes import conversions


def read_problem(message: Any) -> tuple[Domain, Problem]:
    """Domain and problem of a ResetWorld request, RunEpisode goal or EpisodeEvent.

    The texts in the message are used, not files, so that nodes on other machines, and bags
    replayed later, need none.

    Raises:
        DomainError, ProblemError: a text cannot be used.
    """
    domain = load_domain(message.domain)
    if message.domain_pddl and message.domain_pddl != domain.pddl:
        domain = load_domain(message.domain, domain_pddl=message.domain_pddl)
    problem = domain.parse_problem(message.problem_pddl, message.problem,
                                   f'problem {message.problem!r} of the request')
    if hasattr(message, 'optimal_length'):
        problem = dataclasses.replace(
            problem, optimal_length=conversions.optimal_length(message))
    return domain, problem
