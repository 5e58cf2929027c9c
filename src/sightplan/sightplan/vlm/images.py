"""Pictures for models: checked, and written as files for servers and people."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError

MEDIA = {'png': 'image/png', 'jpeg': 'image/jpeg'}
"""Image formats and their media types; png is lossless, jpeg is not."""
_JPEG_QUALITY = 95
_LEAST_PX = 16
"""Least width and height of a picture that shows anything."""


def encode(image: NDArray[np.uint8], kind: str) -> bytes:
    """An image file; the same image always gives the same bytes.

    Args:
        image: (H, W, 3) uint8 RGB.
        kind: a format of ``MEDIA``.

    Raises:
        BackendError: it is no such image.
    """
    _check_rgb(image)
    from PIL import Image

    buffer = io.BytesIO()
    extra = {'quality': _JPEG_QUALITY} if kind == 'jpeg' else {}
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, kind.upper(), **extra)
    return buffer.getvalue()


def checked_pixels(image: NDArray[np.uint8] | None, missing: str) -> NDArray[np.uint8]:
    """The picture of an observation, (H, W, 3) uint8 RGB, which shows something.

    Args:
        image: the picture; None: the observation has none.
        missing: message where there is none.

    Raises:
        BackendError: there is none, it is no such picture, or too small.
    """
    if image is None:
        raise BackendError(missing)
    _check_rgb(image)
    if min(image.shape[:2]) < _LEAST_PX:
        raise BackendError(f'an image of {image.shape[1]}x{image.shape[0]} pixels shows nothing; '
                           f'it must have {_LEAST_PX} at least (a world with pictures=none draws '
                           'none: choose pictures=pybullet)')
    return image


def _check_rgb(image: object) -> None:
    if (not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3
            or image.dtype != np.uint8 or not image.size):
        what = (f'{image.dtype} {image.shape}' if isinstance(image, np.ndarray)
                else type(image).__name__)
        raise BackendError(f'the image is {what}; it must be uint8 RGB of shape (height, width, '
                           '3)')
