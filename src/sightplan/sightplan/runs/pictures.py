"""Pictures as files, exactly: what a suite of samples keeps its data in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Read an image file.

    Returns:
        (H, W, 3) uint8 RGB; transparency is dropped.

    Raises:
        InputError: it is missing, or no image; names the file.
    """
    from PIL import Image
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert('RGB'), np.uint8)
    except OSError as error:
        raise InputError(f'{path}: cannot be read as an image ({error.strerror or error})'
                         ) from error
    except (ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f'{path}: is no usable image ({error})') from error


def write_picture(path: Path, image: NDArray[np.uint8]) -> None:
    """Write an image as PNG, without loss; folders are made.

    Args:
        path: the file.
        image: (H, W, 3) uint8 RGB.

    Raises:
        InputError: it cannot be written; names the file.
    """
    from PIL import Image
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.ascontiguousarray(image)).save(path, 'PNG')
    except OSError as error:
        raise InputError(f'{path}: cannot be written ({error.strerror or error}); choose another '
                         'folder') from error
