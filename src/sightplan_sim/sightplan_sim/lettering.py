"""A plain stroke font of our own for plates and labels: every OpenCV draws the same letters.

(OpenCV 4 and 5 write in different fonts.)
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model.reading import read_data

Stroke = tuple[tuple[float, float], ...]

_ASCENT, _DESCENT = 6.0, -2.0
_GAP = 1.75
_WEIGHT = 0.95
_SHIFT = 4


def _arc(x: float, y: float, rx: float, ry: float, start_deg: float, end_deg: float) -> Stroke:
    steps = max(2, round(abs(end_deg - start_deg) / 12))
    angles = (math.radians(start_deg + (end_deg - start_deg) * k / steps)
              for k in range(steps + 1))
    return tuple((x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles)


def _stroke(pieces: list[list[float]]) -> Stroke:
    """A stroke of points (two numbers each) and arcs (six)."""
    found: list[tuple[float, float]] = []
    for piece in pieces:
        found += _arc(*piece) if len(piece) == 6 else [(piece[0], piece[1])]
    return tuple(found)


@functools.cache
def _glyphs() -> dict[str, tuple[Stroke, ...]]:
    """Strokes of every letter, from ``lettering.yaml``, which explains them."""
    data = read_data(Path(__file__).with_suffix('.yaml'))
    return {letter: tuple(map(_stroke, strokes)) for letter, strokes in data.items()}


_UNKNOWN: tuple[Stroke, ...] = (((0, 0), (4, 0), (4, 6), (0, 6), (0, 0)),)


def glyph(letter: str) -> tuple[Stroke, ...]:
    """The strokes of a letter; capitals are drawn small, unknown ones as a box."""
    return _glyphs().get(letter.lower(), _UNKNOWN)


def text_aspect(text: str) -> float:
    """Width over height of the plate that a text fills best."""
    width = sum(max(x for stroke in glyph(letter) for x, _ in stroke) + _GAP for letter in text)
    return 0.80 * (width - _GAP + _WEIGHT) / (0.88 * (_ASCENT - _DESCENT + _WEIGHT))


@functools.lru_cache(maxsize=256)
def letter_plate(text: str, aspect: float, height_px: int) -> NDArray[np.uint8]:
    """A plate with centred text, as large as fits.

    Args:
        text: what to write.
        aspect: width over height of the plate.
        height_px: height of the plate [px].

    Returns:
        (height_px, width) uint8 coverage of the ink, 255 where there is ink; read-only.
    """
    strokes: list[Stroke] = []
    cursor = 0.0
    for letter in text:
        shape = glyph(letter)
        strokes += [tuple((x + cursor, y) for x, y in stroke) for stroke in shape]
        cursor += max(x for stroke in shape for x, _ in stroke) + _GAP
    width_px = max(8, round(height_px * aspect))
    canvas = np.zeros((height_px, width_px), np.uint8)
    if strokes:
        xs, ys = (np.array([p[k] for stroke in strokes for p in stroke]) for k in (0, 1))
        low = min(0.0, float(ys.min()))
        scale = min(0.80 * height_px / (_ASCENT - low + _WEIGHT),
                    0.88 * width_px / (float(np.ptp(xs)) + _WEIGHT))
        left = (width_px - 1) / 2 - scale * (xs.min() + xs.max()) / 2
        base = (height_px - 1) / 2 + scale * (_ASCENT + low) / 2
        lines = [np.round(2**_SHIFT * np.array([(left + scale * x, base - scale * y)
                                                for x, y in stroke])).astype(np.int32)
                 for stroke in strokes]
        cv2.polylines(canvas, lines, False, (255,), max(1, round(_WEIGHT * scale)), cv2.LINE_AA,
                      _SHIFT)
    canvas.setflags(write=False)
    return canvas
