"""Agreement of two raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa: the agreement beyond that of chance (Cohen 1960, eq. 1).

    Args:
        pairs: (N,) the two ratings of each thing.

    Returns:
        (p - e) / (1 - e) with the fraction p of agreement and the fraction e that chance would
        give, in [-1, 1]; None if e is 1 (both always say the same one thing), or without pairs.
    """
    n, same = len(pairs), sum(a == b for a, b in pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    # n * n times the fraction of chance: whole numbers, so that "all alike" is seen exactly.
    chance = sum(first[value] * second[value] for value in first)
    return (n * same - chance) / (n * n - chance) if n * n > chance else None
