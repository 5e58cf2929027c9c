"""Measures of an iVISPAR episode, from the exact distances to the goal after each step.

``distances[t]`` is the number of moves of a shortest way to the goal after ``t`` actions, so
``distances[0]`` is the puzzle's length c1; None: not known. At the first 0 an episode is over, and
what follows does not count. One that ends unsolved before its last step keeps its last distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 20
"""Actions that an episode has after ``start``."""

Distance = int | None


@dataclass(frozen=True, slots=True)
class Curves:
    """An episode step by step, ``STEPS + 1`` numbers each, from before the first action.

    Attributes:
        distance: to the goal; 0 once it was reached.
        regret: see ``regrets``; the last value once it was reached.
        progress: see ``progress`` [per cent]; 100 once it was reached.
    """

    distance: tuple[Distance, ...]
    regret: tuple[Distance, ...]
    progress: tuple[float | None, ...]


def until_solved(distances: Sequence[Distance], steps: int = STEPS) -> tuple[Distance, ...]:
    """Distances up to the first 0, at most those before and after ``steps`` actions.

    Raises:
        ValueError: there is none, or one is negative.
    """
    if not distances or any(d is not None and d < 0 for d in distances):
        raise ValueError('distances are numbers from 0, beginning with that of the start')
    within = tuple(distances[:steps + 1])
    return within[:within.index(0) + 1] if 0 in within else within


def completed_optimally(distances: Sequence[Distance], steps: int = STEPS) -> bool | None:
    """Whether the goal was reached after exactly c1 actions; None: c1 is not known."""
    kept = until_solved(distances, steps)
    return None if kept[0] is None else kept[-1] == 0 and len(kept) - 1 == kept[0]


def regrets(distances: Sequence[Distance], steps: int = STEPS) -> tuple[Distance, ...]:
    """R(t) = d(s_t) - (d(s_0) - t), until the goal is reached (section 4.6 of the paper)."""
    kept = until_solved(distances, steps)
    return tuple(None if now is None or kept[0] is None else now - (kept[0] - t)
                 for t, now in enumerate(kept))


def deviation(distances: Sequence[Distance], steps: int = STEPS) -> Distance:
    """The step deviation of the paper's tables: R at t = c1, which is d(s_c1).

    It is 0 for a shortest solution. No episode is penalised for more than what is left after c1
    actions.
    """
    kept = until_solved(distances, steps)
    return None if kept[0] is None else kept[min(kept[0], len(kept) - 1)]


def minimum(distances: Sequence[Distance], steps: int = STEPS) -> Distance:
    """The smallest distance that was reached."""
    return min((d for d in until_solved(distances, steps) if d is not None), default=None)


def progress(distances: Sequence[Distance], steps: int = STEPS) -> float | None:
    """100 (1 - d / c1) at the end [per cent]; less than 0 farther away than at the start."""
    kept = until_solved(distances, steps)
    return _progress(kept[-1], kept[0])


def _progress(now: Distance, c1: Distance) -> float | None:
    if now == 0:
        return 100.0
    return None if now is None or not c1 else 100.0 * (1.0 - now / c1)


def curves(distances: Sequence[Distance], steps: int = STEPS) -> Curves:
    """An episode step by step, padded to ``steps`` actions with the last values."""
    kept = until_solved(distances, steps)
    more = steps + 1 - len(kept)
    regret = regrets(distances, steps)
    shares = [_progress(now, kept[0]) for now in kept]
    return Curves(kept + kept[-1:] * more, regret + regret[-1:] * more,
                  tuple(shares + shares[-1:] * more))
