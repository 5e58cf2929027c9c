"""Names of cells and numbers of tiles as strokes, to be drawn lying on a board."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model.reading import read_data
from sightplan_sim.lettering import glyph

Floats = NDArray[np.float64]

WEIGHT = 0.17
"""Width of a stroke in heights of a capital."""

_CAPITAL = 6.0
_GAP = 1.9


@functools.cache
def _capitals() -> dict[str, list[Floats]]:
    data = read_data(Path(__file__).with_suffix('.yaml'))
    return {letter: [np.array(stroke, np.float64) for stroke in strokes]
            for letter, strokes in data.items()}


@functools.cache
def strokes(text: str) -> tuple[Floats, ...]:
    """The strokes of a text around its centre, x to the right and y up.

    Args:
        text: capitals from A to F, and digits.

    Returns:
        of each stroke its points (N, 2) in heights of a capital; read-only.
    """
    found: list[Floats] = []
    cursor = 0.0
    for letter in text:
        shape = _capitals().get(letter) or [np.array(stroke) for stroke in glyph(letter)]
        found += [points + np.array([cursor, 0.0]) for points in shape]
        cursor += max(float(points[:, 0].max()) for points in shape) + _GAP
    every = np.concatenate(found)
    middle = np.array([(every[:, 0].min() + every[:, 0].max()) / 2, _CAPITAL / 2])
    centred = tuple((points - middle) / _CAPITAL for points in found)
    for points in centred:
        points.setflags(write=False)
    return centred
