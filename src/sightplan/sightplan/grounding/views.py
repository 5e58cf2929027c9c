"""Other views of one picture, for a model that says the same about the same picture.

Asking again about an unchanged picture is useless: at temperature 0 the answer is the same. An
agent may instead make other views of its copy of the picture: a little larger or smaller, shifted,
lighter or darker. All that was in the picture stays in it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Alteration, Observation

_ZOOM, _SHIFT, _GAMMA = (0.86, 1.06), 0.04, 0.22
_GOLDEN = (0.7548776662466927, 0.5698402909980532, 0.4198, 0.8566748838545029)
"""Step sizes whose multiples modulo 1 cover several dimensions evenly (Roberts 2018)."""


def view(observation: Observation, number: int) -> Observation:
    """A view of an observation.

    Args:
        observation: observation of the whole scene.
        number: 0: the observation itself; else one of as many other views as are wanted.

    Returns:
        an observation with another picture (another ``image_id``) and the same time; itself where
        it has no picture.
    """
    if not number or observation.image is None:
        return observation
    u = [(0.5 + number * step) % 1.0 for step in _GOLDEN]
    zoom = _ZOOM[0] + (_ZOOM[1] - _ZOOM[0]) * u[0]
    altered = Alteration(zoom, (2.0 * u[1] - 1.0) * _SHIFT, (2.0 * u[2] - 1.0) * _SHIFT,
                         1.0 + (2.0 * u[3] - 1.0) * _GAMMA)
    return dataclasses.replace(observation, image=alter(observation.image, altered),
                               unlabelled=None, depth_m=None, altered=altered, _digest=[])


def alter(image: NDArray[np.uint8], how: Alteration) -> NDArray[np.uint8]:
    """Return a picture zoomed about its centre, shifted, and with other tones; bilinear.

    Args:
        image: (H, W, 3) uint8 RGB.
        how: it is altered.

    Returns:
        (H, W, 3) uint8; what lies outside has the colour of the upper left pixel.
    """
    height, width = image.shape[:2]
    rows = (np.arange(height) - (height - 1) / 2 - how.down * height) / how.zoom + (
        height - 1) / 2
    columns = (np.arange(width) - (width - 1) / 2 - how.right * width) / how.zoom + (
        width - 1) / 2
    source = image.astype(np.float32)
    found = _along(_along(source, rows, 0), columns, 1)
    outside = (rows < -0.5) | (rows > height - 0.5)
    found[outside] = source[0, 0]
    found[:, (columns < -0.5) | (columns > width - 0.5)] = source[0, 0]
    tones = np.round(255.0 * (np.arange(256) / 255.0) ** how.gamma).astype(np.uint8)
    return tones[np.clip(np.round(found), 0, 255).astype(np.uint8)]


def _along(image: NDArray[np.float32], at: NDArray[np.float64], axis: int,
           ) -> NDArray[np.float32]:
    """Return an image sampled along an axis, linearly."""
    at = np.clip(at, 0.0, image.shape[axis] - 1.0)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, image.shape[axis] - 1)
    shape = [1, 1, 1]
    shape[axis] = len(at)
    part = (at - low).astype(np.float32).reshape(shape)
    below, above = np.take(image, low, axis), np.take(image, high, axis)
    return np.asarray(below * (1.0 - part) + above * part, np.float32)
