"""Which of the things that were seen are which of those that are seen now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sightplan.model import Instance
from sightplan.model.region import box_iou

ALIKE = 0.2
"""A thing may be another look's thing if it is of its category with this probability."""


def matched(known: Mapping[str, Instance], seen: Sequence[Instance]) -> dict[str, Instance]:
    """Which of the things that are known are which of those that are seen now, one to one.

    Nothing is matched with what is of another kind. What overlaps more is more likely the same;
    what moved is, of all that is left, the nearest.

    Args:
        known: by name, as they were seen last.
        seen: now, under other names.
    """
    from scipy.optimize import linear_sum_assignment

    names = list(known)
    if not names or not seen:
        return {}
    never = 1e6
    cost = np.full((len(names), len(seen)), never)
    for row, name in enumerate(names):
        one = known[name]
        for column, other in enumerate(seen):
            alike = other.categories.get(one.category, 0.0)
            if alike >= ALIKE:
                (x, y), (a, b) = one.region.centre, other.region.centre
                cost[row, column] = (1.0 - box_iou(one.region, other.region)
                                     + float(np.hypot(x - a, y - b)) + 0.1 * (1.0 - alike))
    rows, columns = linear_sum_assignment(cost)
    return {names[row]: seen[column] for row, column in zip(rows, columns, strict=True)
            if cost[row, column] < never}
