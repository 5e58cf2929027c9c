"""Labels of pairs of paths: the better one for a scenario, by significant differences.

The paper asks for a difference greater than a threshold, its program for one that reaches it,
which matters for sharp turns, whose threshold is one turn: ``strict`` follows the paper.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sightplan.model import InputError
from sightplan_suites.paths.descriptors import NAMES, Descriptors

ORDER = ('average_clearance', 'minimum_clearance', 'maximum_clearance', 'path_length',
         'sharp_turns', 'maximum_angle', 'smoothness')
"""Order of the descriptors in vectors of preferences, which differs from that of JSON."""

Vector = tuple[int, ...]
"""Preference for each descriptor in ``ORDER``: 1 more is better, -1 less is better, 0
indifferent."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Smallest significant difference of each descriptor; names as in ``Descriptors``."""

    minimum_clearance: float = 0.8
    maximum_clearance: float = 0.8
    average_clearance: float = 0.8
    path_length: float = 50.0
    smoothness: float = 90.0
    sharp_turns: float = 1.0
    maximum_angle: float = 30.0

    def significant(self, name: str, difference: float, *, strict: bool = False) -> bool:
        """Whether a difference counts: it reaches the threshold, or exceeds it if ``strict``."""
        threshold: float = getattr(self, name)
        return abs(difference) > threshold if strict else abs(difference) >= threshold


PATHEVAL = Thresholds()
"""The thresholds that PathEval published."""


class Unlabelled(enum.StrEnum):
    """Reasons why a pair has no label for a scenario."""

    NOT_SIGNIFICANT = 'not_significant'
    CONFLICT = 'conflict'

    @property
    def words(self) -> str:
        """The reason as a sentence."""
        return {
            Unlabelled.NOT_SIGNIFICANT: 'The paths differ too little in all that matters here.',
            Unlabelled.CONFLICT: 'Each path is better in something that matters here.',
        }[self]


@dataclass(frozen=True, slots=True)
class Label:
    """The answer to a comparison.

    Attributes:
        choice: 1 or 2, the better path; None without a label.
        reason: why there is no label; None with one.
        votes: for each descriptor with a vote, by name in ``ORDER``, the path it is for.
    """

    choice: int | None
    reason: Unlabelled | None
    votes: tuple[tuple[str, int], ...]


def label_pair(first: Descriptors, second: Descriptors, vector: Vector, *,
               thresholds: Thresholds = PATHEVAL, strict: bool = False) -> Label:
    """Label the better of two paths, if their descriptors decide.

    Every descriptor that matters and differs significantly votes for a path; the label stands if
    all votes agree.

    Args:
        first: path 1.
        second: path 2.
        vector: what is better, in ``ORDER``.
        thresholds: what is significant.
        strict: a difference must exceed its threshold, not only reach it.

    Raises:
        InputError: the vector does not hold seven of -1, 0 and 1, or only zeros.
    """
    check_vector(vector, 'vector')
    votes = []
    for name, sign in zip(ORDER, vector, strict=True):
        difference = getattr(first, name) - getattr(second, name)
        # With a threshold of 0 paths that are equal must not vote.
        if sign and difference and thresholds.significant(name, difference, strict=strict):
            votes.append((name, 1 if difference * sign > 0 else 2))
    choices = {path for _, path in votes}
    if len(choices) == 1:
        return Label(choices.pop(), None, tuple(votes))
    reason = Unlabelled.CONFLICT if choices else Unlabelled.NOT_SIGNIFICANT
    return Label(None, reason, tuple(votes))


def check_vector(vector: Vector, where: str) -> None:
    """Check a vector of preferences.

    Raises:
        InputError: it does not hold seven of -1, 0 and 1, or only zeros; names ``where``.
    """
    if len(vector) != len(ORDER) or any(sign not in (-1, 0, 1) for sign in vector):
        raise InputError(f'{where}: {vector} (give -1, 0 or 1 for each of {", ".join(ORDER)})')
    if not any(vector):
        raise InputError(f'{where}: no descriptor matters (set at least one to 1 or -1)')


def needed(vector: Vector) -> tuple[str, ...]:
    """Names of the descriptors that matter, in the order of JSON."""
    mattering = {name for name, sign in zip(ORDER, vector, strict=True) if sign}
    return tuple(name for name in NAMES if name in mattering)
