"""The fifteen tasks by number; see ``sightplan_suites.paths.scenarios``."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from sightplan.model import InputError
from sightplan_suites.paths.labels import ORDER, Vector
from sightplan_suites.paths.scenarios import ABSTRACT, SPELLED, Scenario, load_scenarios
from sightplan_suites.paths.sentences import UnreadSentenceError, read_sentence


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


def form_of(texts: Iterable[str]) -> str:
    """Form of the sentences of tasks: spelled out if one of them is ours of that form.

    Sentences of others count as abstract: the paper's are.
    """
    spelled = {text for one in scenarios().values() for text in one.wordings(SPELLED)}
    return ABSTRACT if spelled.isdisjoint(texts) else SPELLED


@functools.cache
def read_task(sentence: str) -> tuple[tuple[str, int], ...]:
    """Wishes that ``paths.sentences`` finds in a task, as ``Item.properties``.

    Empty where it understands nothing.
    """
    try:
        wants = read_sentence(sentence).wants
    except UnreadSentenceError:
        return ()
    return tuple((name, wants[name]) for name in ORDER if wants.get(name))


def vectors() -> dict[int, Vector]:
    """Vectors of preferences of all scenarios, by number."""
    return {number: one.vector for number, one in scenarios().items()}
