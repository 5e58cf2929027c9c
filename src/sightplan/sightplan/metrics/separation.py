"""Measures of how well a score tells two kinds of things apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def auroc(positive: Sequence[float] | NDArray[np.floating],
          negative: Sequence[float] | NDArray[np.floating]) -> float:
    """Area under the ROC curve: how often one of the first scores higher than one of the others.

    Args:
        positive: scores of those that should have high ones.
        negative: scores of the others; a tie counts one half.

    Raises:
        ValueError: there are none of a kind.
    """
    high, low = np.asarray(positive, float), np.sort(np.asarray(negative, float))
    if not len(high) or not len(low):
        raise ValueError('auroc needs scores of both kinds')
    below, upto = (np.searchsorted(low, high, side) for side in ('left', 'right'))
    return float((below + upto).sum() / (2 * len(high) * len(low)))
