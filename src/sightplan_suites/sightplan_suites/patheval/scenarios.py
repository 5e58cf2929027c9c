"""The fifteen tasks by number; see ``sightplan_suites.paths.scenarios``."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from sightplan.model import InputError
from sightplan_suites.paths.labels import Vector
from sightplan_suites.paths.scenarios import Scenario, load_scenarios


@functools.cache
def scenarios() -> Mapping[int, Scenario]:
    """All scenarios by number; the file is read once a process."""
    return {one.id: one for one in load_scenarios()}


def scenario(number: int) -> Scenario:
    """Find a scenario by number.

    Raises:
        InputError: there is none of this number.
    """
    if number not in scenarios():
        raise InputError(f'scenario {number} (choose 1 to {len(scenarios())})')
    return scenarios()[number]


def vectors() -> dict[int, Vector]:
    """Vectors of preferences of all scenarios, by number."""
    return {number: one.vector for number, one in scenarios().items()}
