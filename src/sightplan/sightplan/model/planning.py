"""Requests to and replies from a symbolic planner."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sightplan.model.symbols import Plan


@dataclass(frozen=True, slots=True)
class PlanningTask:
    """A planning problem in PDDL text: self-contained, so a remote planner needs no files.

    Attributes:
        domain_pddl: text of the domain file.
        problem_pddl: text of the problem file.
        search: how to search, in the planner's own words; '' for the planner's own setting.
    """

    domain_pddl: str
    problem_pddl: str
    search: str = ''


class PlanningStatus(enum.Enum):
    """How a planning attempt ended; only SOLVED carries a plan."""

    SOLVED = 'solved'
    UNSOLVABLE = 'unsolvable'
    TIMEOUT = 'timeout'
    CRASHED = 'crashed'


@dataclass(frozen=True, slots=True)
class PlanningResult:
    """A planner's reply.

    Attributes:
        status: how it ended.
        plan: the plan; empty both when the goal already holds and when there is none.
        seconds: wall-clock time spent, 0 for a cached reply [s].
        cached: whether the reply came from the cache.
        message: the planner's own words when it did not solve the task.
    """

    status: PlanningStatus
    plan: Plan = ()
    seconds: float = 0.0
    cached: bool = False
    message: str = ''
