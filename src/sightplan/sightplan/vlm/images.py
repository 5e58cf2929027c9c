"""Images written as files: for servers, and for people."""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError

MEDIA = {'png': 'image/png', 'jpeg': 'image/jpeg'}
"""Image formats and their media types; png is lossless, jpeg is not."""
_JPEG_QUALITY = 95


def encode(image: NDArray[np.uint8], kind: str) -> bytes:
    """An image file; the same image always gives the same bytes.

    Args:
        image: (H, W, 3) uint8 RGB.
        kind: a format of ``MEDIA``.

    Raises:
        BackendError: it is no such image.
    """
    if (not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3
            or image.dtype != np.uint8 or not image.size):
        raise BackendError(f'the image is {getattr(image, "dtype", type(image).__name__)} '
                           f'{getattr(image, "shape", "")}; it must be uint8 RGB of shape '
                           f'(height, width, 3)')
    from PIL import Image

    buffer = io.BytesIO()
    extra = {'quality': _JPEG_QUALITY} if kind == 'jpeg' else {}
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, kind.upper(), **extra)
    return buffer.getvalue()
