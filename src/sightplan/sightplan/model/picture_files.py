"""How large a picture's file says that it is: a few bytes may claim to be gigabytes."""

from __future__ import annotations

import re
import struct

MOST_PIXELS = 100_000_000
"""Of a picture that is read."""

_PNG, _JPEG, _BMP = b'\x89PNG\r\n\x1a\n', b'\xff\xd8', b'BM'
_PNM = re.compile(rb'P[1-6](?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})')
_NO_FRAME = (0xC4, 0xC8, 0xCC)
"""Of the markers C0 to CF of a JPEG those that begin no frame."""


def picture_size(content: bytes) -> tuple[int, int]:
    """Width and height that the head of a PNG, JPEG, BMP, PBM, PGM or PPM file claims.

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
    """Size of the first frame: segments follow one another, each with its length."""
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
