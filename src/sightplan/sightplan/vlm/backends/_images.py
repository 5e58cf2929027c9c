"""Images as files: for servers, and for people."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError, InputError

MEDIA = {'png': 'image/png', 'jpeg': 'image/jpeg'}
"""Formats and their media types; png is exact, jpeg is not."""
_JPEG_QUALITY = 95


def read_image(path: Path) -> NDArray[np.uint8]:
    """A picture's file as (H, W, 3) uint8 RGB, turned as its EXIF data says.

    Raises:
        InputError: it is missing or no picture; names it.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert('RGB'))
    except UnidentifiedImageError as error:
        raise InputError(f'{path}: is not a picture that can be read (give a PNG or JPEG '
                         f'file)') from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f'{path}: cannot be read: {getattr(error, "strerror", None) or error} '
                         f'(give a PNG or JPEG file)') from error


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
