"""Read picture files, and the picture size in their headers.

A few bytes may claim to be gigabytes; and numbers that are not those of a picture with 8 bits a
channel must not become one in silence.
"""

from __future__ import annotations

import contextlib
import io
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model.errors import InputError, reason_of

MOST_PIXELS = 100_000_000
"""Most pixels of a picture that is read."""

_PNG, _JPEG, _BMP = b'\x89PNG\r\n\x1a\n', b'\xff\xd8', b'BM'
_PNM = re.compile(rb'P[1-6](?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})')
_NO_FRAME = (0xC4, 0xC8, 0xCC)
"""JPEG markers between C0 and CF that do not begin a frame."""

_FORMATS = ('PNG', 'JPEG', 'WEBP', 'BMP', 'GIF', 'TIFF', 'PPM')
"""Formats that are read; Pillow knows more, and starts programs to read some of them."""
_DAMAGED = (OSError, EOFError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError,
            AttributeError, MemoryError, RuntimeError, struct.error, zlib.error)
"""Exceptions that Pillow raises for damaged files."""
_REMEDY = 'give a PNG or JPEG file'
_FTYP = slice(4, 8)
"""Place of the letters ``ftyp`` in a file of ISO media (HEIC, AVIF); its format follows."""
_PHONE_FORMATS = {
    **dict.fromkeys((b'heic', b'heix', b'heim', b'heis', b'mif1', b'msf1'), 'HEIC'),
    b'avif': 'AVIF', b'avis': 'AVIF'}
"""Formats that telephones write and that are not read, by their four letters in the file."""
_WHITE = 65_535
"""White in a picture with 16 bits a channel."""
_LEAST_LIGHT = 64
"""Least brightest value of a picture with 16 bits a channel [1/256 of white].

A file whose values are all darker holds a picture with fewer bits (10, 12 or 14), or depth.
"""
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
"""The TIFF tag for the meaning of pixel values, and its value for negatives."""


def read_image(path: Path, content: bytes | None = None) -> NDArray[np.uint8]:
    """A picture's file as (H, W, 3) uint8 RGB, turned as its EXIF data says.

    16 bits a channel are scaled to 8 (65,535 is white); what is transparent is laid on white.

    Args:
        path: of the file; only its name is used if there is a content.
        content: of the file, where it is not read from disk.

    Raises:
        InputError: it is missing or no picture, or its numbers are not those of a picture:
            floating point, 32 bits, or 16 bits of which a quarter at most is used; names it.
    """
    from PIL import Image, ImageOps

    with opened(path, content=content) as image:
        deep = _is_deep(image)
        negative = getattr(image, 'tag_v2', {}).get(_PHOTOMETRIC) == _WHITE_IS_ZERO
        turned = ImageOps.exif_transpose(image)
        if turned.mode.startswith('I;16') or turned.mode in ('I', 'F'):
            wide = image.format == 'TIFF' and turned.mode == 'I'
            grey = _scaled(np.asarray(turned), wide, path)
            grey = 255 - grey if negative else grey
            pixels, deep = np.repeat(grey[:, :, None], 3, axis=2), True
        elif turned.has_transparency_data:
            shown = turned.convert('RGBA')
            if not shown.getchannel('A').getextrema()[1]:
                raise InputError(f'{path}: is transparent everywhere: there is nothing to be seen '
                                 '(write it without transparency)')
            white = Image.new('RGBA', shown.size, 'white')
            pixels = np.asarray(Image.alpha_composite(white, shown).convert('RGB'))
        else:
            pixels = np.asarray(turned.convert('RGB'))
        if deep and int(pixels.max()) < _LEAST_LIGHT:
            raise InputError(
                f'{path}: has 16 bits a channel, but its brightest pixel is at most '
                f'{(int(pixels.max()) + 1) / 256:.3f} of white: it is depth, or of a camera with '
                'fewer bits (scale it, and write it with 8 bits a channel)')
        return pixels


def checked_rgb(image: NDArray[Any]) -> NDArray[np.uint8]:
    """The array itself, if it is a picture: (H, W, 3) uint8 RGB.

    Raises:
        InputError: it is not.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise InputError(f'the picture is {image.dtype} of shape {image.shape}; give (height, '
                         'width, 3) uint8 RGB')
    return image


def _is_deep(image: Any) -> bool:
    """Whether the file of a Pillow image, not decoded yet, has 16 bits a channel."""
    for tile in image.tile:
        mode, *rest = (tile.args,) if isinstance(tile.args, str) else tile.args
        if ';16' in str(mode) or (image.format == 'PPM' and rest[:1] > [255]):
            return True
    return False


def _scaled(values: NDArray[Any], wide: bool, path: Path) -> NDArray[np.uint8]:
    """Return 16-bit values scaled to 8 bits.

    Args:
        values: pixel values.
        wide: whether the file has 32 bits for each value.
        path: of the file, for the message.

    Raises:
        InputError: they are floating point, have 32 bits, or are out of range.
    """
    if wide or values.dtype.kind == 'f' or not 0 <= values.min() <= values.max() <= _WHITE:
        kind = 'floating point' if values.dtype.kind == 'f' else f'{8 * values.itemsize} bits'
        raise InputError(f'{path}: holds numbers of {kind}, from {values.min():g} to '
                         f'{values.max():g}, of which it is not known which is white (write it '
                         'with 8 bits a channel)')
    return np.asarray(values >> 8, np.uint8)


@contextlib.contextmanager
def opened(path: Path, remedy: str = _REMEDY, content: bytes | None = None) -> Iterator[Any]:
    """Open a picture file as a Pillow image; damage found in the ``with`` block raises, too.

    Args:
        path: of the file.
        remedy: for the message.
        content: of the file, where it is not read from disk.

    Raises:
        InputError: it is missing, no picture, damaged or too large; names it.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path if content is None else io.BytesIO(content),
                        formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f'it has {image.width} x {image.height} pixels; at most '
                                 f'{MOST_PIXELS} are read')
            yield image
    except InputError:
        raise
    except UnidentifiedImageError as error:
        raise InputError(f'{path}: is not a picture that can be read '
                         f'({_remedy_for(path, content) or remedy})') from error
    except (*_DAMAGED, Image.DecompressionBombError) as error:
        raise InputError(f'{path}: cannot be read: {reason_of(error)} '
                         f'({remedy})') from error


def _remedy_for(path: Path, content: bytes | None) -> str:
    """Remedy for a file in a format that telephones write and that is not read; '' for others."""
    if content is None:
        with contextlib.suppress(OSError), open(path, 'rb') as file:
            content = file.read(_FTYP.stop + 4)
    kind = (content or b'')[_FTYP.stop:_FTYP.stop + 4]
    if (content or b'')[_FTYP] != b'ftyp' or kind not in _PHONE_FORMATS:
        return ''
    return f'it is {_PHONE_FORMATS[kind]}; convert it to JPEG'


def picture_size(content: bytes) -> tuple[int, int]:
    """Return width and height from the header of a PNG, JPEG, BMP, PBM, PGM or PPM file.

    Raises:
        ValueError: it is none of these, is damaged, or claims more than ``MOST_PIXELS``.
    """
    try:
        width, height = _claimed(content)
    except struct.error:
        raise ValueError('it is truncated') from None
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise ValueError(f'it says that it has {width} x {height} pixels; at least one and at '
                         f'most {MOST_PIXELS} are read')
    return width, height


def _claimed(content: bytes) -> tuple[int, int]:
    if content.startswith(_PNG):
        return struct.unpack_from('>II', content, 16)
    if content.startswith(_JPEG):
        return _of_jpeg(content)
    if content.startswith(_BMP):
        width, height = struct.unpack_from('<ii', content, 18)
        return width, abs(height)
    found = _PNM.match(content[:4096])
    if found is None:
        raise ValueError('it is no PNG, JPEG, BMP, PBM, PGM or PPM file')
    return int(found[1]), int(found[2])


def _of_jpeg(content: bytes) -> tuple[int, int]:
    """Return width and height of a JPEG's first frame, found by walking its segments."""
    at = 2
    while True:
        while content[at:at + 1] == b'\xff':
            at += 1
        marker, length = struct.unpack_from('>BH', content, at)
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from('>HH', content, at + 4)
            return width, height
        if length < 2:
            raise ValueError('it is a damaged JPEG file')
        at += 1 + length
