"""Choice of the path that suits a known vector of preferences best.

In a pair, a descriptor counts if it differs significantly (``labels``), and counts for as many
thresholds as it differs; what is for and what is against a path is added up (its *net*). The best
path is that which wins most pairs, a tie counting half; of those that win equally many that with
the larger sum of nets. ``critic`` does the same for vectors that are only believed.
Where that leaves several, here all differences count, significant or not: a robot must take one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sightplan.model import InputError
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.labels import ORDER, PATHEVAL, Thresholds, Vector, check_vector
from sightplan_suites.paths.maps import WORLD, FloatArray, ObstacleMap

LENGTHS = ('minimum_clearance', 'maximum_clearance', 'average_clearance', 'path_length')
"""Descriptors in the unit of the map."""

_DIGITS = 6
_LEAST_UNIT = 1e-9


def vector_from_text(text: str, where: str = 'vector') -> Vector:
    """A vector from seven numbers ``0,1,0,-1,0,0,0``, or ``path_length=-1,sharp_turns=-1``.

    Numbers are in the order of vectors; what is not named does not matter.

    Args:
        text: one of the two forms.
        where: what to call it in messages.

    Raises:
        InputError: it has another form, or names no descriptor.
    """
    parts = [part.strip() for part in text.split(',') if part.strip()]
    named = dict.fromkeys(ORDER, 0)
    try:
        if any('=' in part for part in parts):
            for part in parts:
                name, _, sign = (word.strip() for word in part.partition('='))
                if name not in named:
                    raise InputError(f'{where}: {name!r} is not a descriptor (choose among '
                                     f'{", ".join(ORDER)})')
                if named[name]:
                    raise InputError(f'{where}: {name} is named twice (name it once)')
                named[name] = int(sign)
            vector: Vector = tuple(named.values())
        else:
            vector = tuple(int(part) for part in parts)
    except ValueError:
        raise InputError(f'{where}: {text!r} (give seven numbers, or NAME=SIGN,... with 1 where '
                         'more is better and -1 where less is)') from None
    check_vector(vector, where)
    return vector


def thresholds_on(item: ObstacleMap) -> Thresholds:
    """The thresholds that PathEval published, in the unit of a map.

    They are for maps 80 wide; those of lengths and clearances are scaled by the longer side.
    """
    box = item.bounds
    side = max(box.x_max - box.x_min, box.y_max - box.y_min)
    scale = side / (WORLD.x_max - WORLD.x_min)
    return dataclasses.replace(PATHEVAL, **{
        name: getattr(PATHEVAL, name) * scale for name in LENGTHS})


def order_paths(paths: Sequence[Descriptors], vector: Vector, thresholds: Thresholds = PATHEVAL,
                ) -> tuple[int, ...]:
    """Order paths by a vector of preferences; see the module.

    Args:
        paths: descriptors of one or more.
        vector: what is better, in the order of ``labels.ORDER``.
        thresholds: from which difference on a descriptor is significant; all above 0.

    Returns:
        Positions from 0, the best first; of paths that are equal in all that matters the earlier
        one comes first.

    Raises:
        InputError: there are no paths, a descriptor is not finite, the vector is none, or a
            threshold is not above 0.
    """
    check_vector(vector, 'vector')
    if not paths:
        raise InputError('paths: there are none (give one or more)')
    values, apart = in_thresholds(paths, thresholds)
    net = (apart @ np.array(vector)).round(_DIGITS)
    wins = ((net > 0) + 0.5 * (net == 0)).sum(axis=1)
    whole = (values @ np.array(vector)).round(_DIGITS)
    return tuple(int(at) for at in np.lexsort((-whole, -net.sum(axis=1), -wins)))


def in_thresholds(paths: Sequence[Descriptors], thresholds: Thresholds, *, strict: bool = False,
                  ) -> tuple[FloatArray, FloatArray]:
    """Descriptors of paths and their significant differences, in units of thresholds.

    Args:
        paths: n of them.
        thresholds: from which difference on a descriptor is significant.
        strict: a difference must exceed its threshold, not only reach it.

    Returns:
        (n, 7); and (n, n, 7), the first path less the second, 0 where that is not significant.

    Raises:
        InputError: a threshold is not above 0, or a descriptor is not finite.
    """
    units = np.array([getattr(thresholds, name) for name in ORDER], dtype=np.float64)
    usable = (units >= _LEAST_UNIT) & np.isfinite(units)
    if not usable.all():
        name = ORDER[int(np.argmin(usable))]
        raise InputError(f'threshold of {name} is {getattr(thresholds, name)} (give a number '
                         f'above 0, of {_LEAST_UNIT:g} or more)')
    values: FloatArray = np.array([[getattr(path, name) for name in ORDER] for path in paths],
                                  dtype=np.float64)
    if not np.isfinite(values).all():
        at, which = np.argwhere(~np.isfinite(values))[0]
        raise InputError(f'paths[{at}]: {ORDER[which]} is {values[at, which]} (give descriptors '
                         'that are finite numbers)')
    apart = values[:, None] - values[None]
    counts = abs(apart) > units if strict else abs(apart) >= units
    return values / units, np.where(counts, apart / units, 0.0)
