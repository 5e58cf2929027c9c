"""A plain stroke font of our own for plates and labels: every OpenCV draws the same letters.

(OpenCV 4 and 5 write in different fonts.) A glyph is some strokes on a grid: x to the right from
0, y up from the baseline at 0; small letters are 4 high, capitals and digits 6.
"""

from __future__ import annotations

import functools
import math

import cv2
import numpy as np
from numpy.typing import NDArray

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


def _line(*points: tuple[float, float]) -> Stroke:
    return points


def _dot(x: float, y: float) -> Stroke:
    return ((x, y), (x, y + 0.01))


_ROUND = _arc(2, 2, 2, 2, 0, 360)
_ARCH = (*_arc(2, 2, 2, 2, 180, 0), (4.0, 0.0))

_GLYPHS: dict[str, tuple[Stroke, ...]] = {
    'a': (_ROUND, _line((4, 4), (4, 0))),
    'b': (_line((0, 6), (0, 0)), _ROUND),
    'c': (_arc(2, 2, 2, 2, 48, 312),),
    'd': (_ROUND, _line((4, 6), (4, 0))),
    'e': ((*_line((0, 2.1), (4, 2.1)), *_arc(2, 2, 2, 2, 3, 310)),),
    'f': ((*_line((1.2, 0),), *_arc(2.6, 4.6, 1.4, 1.4, 180, 75)), _line((0, 4), (2.7, 4))),
    'g': (_ROUND, (*_line((4, 4),), *_arc(2, -0.4, 2, 1.6, 0, -150))),
    'h': (_line((0, 6), (0, 0)), _ARCH),
    'i': (_line((0.5, 4), (0.5, 0)), _dot(0.5, 5.7)),
    'j': ((*_line((1.4, 4),), *_arc(0.2, -0.8, 1.2, 1.2, 0, -100)), _dot(1.4, 5.7)),
    'k': (_line((0, 6), (0, 0)), _line((3.5, 4), (0, 1.3)), _line((1.3, 2.3), (3.7, 0))),
    'l': ((*_line((0.3, 6),), *_arc(1.4, 1.1, 1.1, 1.1, 180, 280)),),
    'm': (_line((0, 4), (0, 0)), (*_arc(1.6, 2.4, 1.6, 1.6, 180, 0), (3.2, 0.0)),
          (*_arc(4.8, 2.4, 1.6, 1.6, 180, 0), (6.4, 0.0))),
    'n': (_line((0, 4), (0, 0)), _ARCH),
    'o': (_ROUND,),
    'p': (_line((0, 4), (0, -2)), _ROUND),
    'q': (_ROUND, _line((4, 4), (4, -2))),
    'r': (_line((0, 4), (0, 0)), _arc(1.9, 2.1, 1.9, 1.9, 180, 60)),
    's': ((*_arc(1.9, 3, 1.8, 1, 25, 270), *_arc(1.9, 1, 1.9, 1, 90, -155)),),
    't': ((*_line((1.2, 5.6),), *_arc(2.3, 1.1, 1.1, 1.1, 180, 290)), _line((0, 4), (2.8, 4))),
    'u': (((0.0, 4.0), *_arc(2, 2, 2, 2, 180, 360)), _line((4, 4), (4, 0))),
    'v': (_line((0, 4), (1.9, 0), (3.8, 4)),),
    'w': (_line((0, 4), (1.5, 0), (3, 4), (4.5, 0), (6, 4)),),
    'x': (_line((0, 4), (3.6, 0)), _line((3.6, 4), (0, 0))),
    'y': (_line((0, 4), (1.9, 0)), _line((3.8, 4), (1.0, -2))),
    'z': (_line((0, 4), (3.6, 4), (0, 0), (3.6, 0)),),
    '0': (_arc(2, 3, 2, 3, 0, 360),),
    '1': (_line((0.4, 4.6), (2.1, 6), (2.1, 0)), _line((0.5, 0), (3.7, 0))),
    '2': ((*_arc(2, 4.1, 1.9, 1.9, 165, -35), (0.0, 0.0), (4.0, 0.0)),),
    '3': ((*_arc(1.8, 4.5, 1.8, 1.5, 150, -90), *_arc(1.8, 1.5, 2.1, 1.5, 90, -150)),),
    '4': (_line((3, 0), (3, 6), (0, 1.7), (4.2, 1.7)),),
    '5': ((*_line((3.6, 6), (0.6, 6), (0.4, 3.2)), *_arc(1.9, 1.9, 2.1, 1.9, 135, -150)),),
    '6': (_arc(2, 1.9, 2, 1.9, 0, 360), _arc(3.4, 1.9, 3.4, 4.1, 92, 180)),
    '7': (_line((0, 6), (4, 6), (1.4, 0)),),
    '8': (_arc(2, 4.5, 1.7, 1.5, 0, 360), _arc(2, 1.5, 2.1, 1.5, 0, 360)),
    '9': (_arc(2, 4.1, 2, 1.9, 0, 360), _arc(0.6, 4.1, 3.4, 4.1, -88, 0)),
    '_': (_line((0, -0.6), (3.6, -0.6)),),
    '-': (_line((0.2, 2.3), (2.8, 2.3)),),
    '.': (_dot(0.4, 0.2),),
}
_UNKNOWN: tuple[Stroke, ...] = (_line((0, 0), (4, 0), (4, 6), (0, 6), (0, 0)),)


def glyph(letter: str) -> tuple[Stroke, ...]:
    """The strokes of a letter; capitals are drawn small, unknown ones as a box."""
    return _GLYPHS.get(letter.lower(), _UNKNOWN)


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
