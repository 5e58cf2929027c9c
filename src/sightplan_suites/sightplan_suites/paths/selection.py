"""Selection of the pairs of paths on a map that differ most, as PathEval does it (3.5)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.model import InputError
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.maps import FloatArray

PAIRS = 5
"""Pairs of a map in the paper; its program took one more."""


class Skipped(enum.StrEnum):
    """Reasons why a map gives no pairs."""

    TOO_FEW_PATHS = 'too_few_paths'

    @property
    def words(self) -> str:
        """The reason as a sentence."""
        return 'The map has fewer than two valid paths.'


@dataclass(frozen=True, slots=True)
class Pair:
    """Two paths to compare, by their positions among a map's paths.

    Attributes:
        first: the lesser position.
        second: the greater one.
        distance: of their scaled descriptors, 0 to sqrt(7).
    """

    first: int
    second: int
    distance: float


@dataclass(frozen=True, slots=True)
class Selection:
    """A map's pairs, the farthest first, or the reason why there are none."""

    pairs: tuple[Pair, ...]
    reason: Skipped | None = None


def scaled(paths: Sequence[Descriptors]) -> FloatArray:
    """Descriptors scaled over a map's paths: (N, 7), least 0, greatest 1; a constant one is 0."""
    values = np.array([path.values() for path in paths], dtype=np.float64)
    low, spread = values.min(axis=0), np.ptp(values, axis=0)
    found: FloatArray = (values - low) / np.where(spread > 0, spread, 1.0)
    return found


def select_pairs(paths: Sequence[Descriptors], count: int = PAIRS) -> Selection:
    """Choose pairs greedily: always the farthest two of the paths that are in no pair yet.

    Args:
        paths: descriptors of all valid paths of one map.
        count: most pairs.

    Returns:
        The pairs. Of equally far ones the one with the earlier paths comes first.

    Raises:
        InputError: ``count`` is below 1.
    """
    if count < 1:
        raise InputError(f'count = {count} pairs (give 1 or more)')
    if len(paths) < 2:
        return Selection((), Skipped.TOO_FEW_PATHS)
    points = scaled(paths)
    firsts, seconds = np.triu_indices(len(paths), 1)
    distances = np.sqrt(((points[firsts] - points[seconds]) ** 2).sum(axis=1))
    pairs: list[Pair] = []
    used: set[int] = set()
    for at in np.argsort(-distances, kind='stable').tolist():
        first, second = int(firsts[at]), int(seconds[at])
        if not used & {first, second}:
            pairs.append(Pair(first, second, float(distances[at])))
            used |= {first, second}
        if len(pairs) == count:
            break
    return Selection(tuple(pairs))
