"""Images as files: for servers, and for people."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError, InputError
from sightplan.model.picture_files import MOST_PIXELS

_FORMATS = ('PNG', 'JPEG', 'WEBP', 'BMP', 'GIF', 'TIFF', 'PPM')
"""Kinds of files that are read; Pillow knows others, and starts programs to read some of them."""
_DAMAGED = (OSError, EOFError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError,
            AttributeError, MemoryError, RuntimeError, struct.error, zlib.error)
"""What Pillow makes of damaged files."""
MEDIA = {'png': 'image/png', 'jpeg': 'image/jpeg'}
"""Formats and their media types; png is exact, jpeg is not."""
_JPEG_QUALITY = 95


def read_image(path: Path) -> NDArray[np.uint8]:
    """A picture's file as (H, W, 3) uint8 RGB, turned as its EXIF data says.

    Raises:
        InputError: it is missing or no picture; names it.
    """
    from PIL import ImageOps

    with opened(path) as image:
        return np.asarray(ImageOps.exif_transpose(image).convert('RGB'))


@contextlib.contextmanager
def opened(path: Path, remedy: str = 'give a PNG or JPEG file') -> Iterator[Any]:
    """A picture's file as an image of Pillow; what is done with it may fail likewise.

    Args:
        path: of the file.
        remedy: for the message.

    Raises:
        InputError: it is missing, no picture, damaged or too large; names it.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f'it has {image.width} x {image.height} pixels; at most '
                                 f'{MOST_PIXELS} are read')
            yield image
    except InputError:
        raise
    except UnidentifiedImageError as error:
        raise InputError(f'{path}: is not a picture that can be read ({remedy})') from error
    except (*_DAMAGED, Image.DecompressionBombError) as error:
        raise InputError(f'{path}: cannot be read: {getattr(error, "strerror", None) or error} '
                         f'({remedy})') from error


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
