"""Pictures of traces for judges: the task above, the trace from red to blue."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Point

START, END = (255, 0, 0), (0, 0, 255)
"""RGB of a trace at its start and end; the prompts of judges name these colours."""
STRIP_PX = 40
"""Height of the strip with the task; it grows with the lines of its text."""
WIDTH_PX = 2
_LINE_PX, _FONT_PX, _MARGIN_PX = 17, 14, 12
_LETTER_PX = 7.5  # about the width of a letter
_STEP_PX = 4.0
_PAPER, _INK = (255, 255, 255), (0, 0, 0)
_DOT_PX = 4


def draw_trace(image: NDArray[np.uint8], trace: Sequence[Point], text: str) -> NDArray[np.uint8]:
    """Draw a trace into a copy of a picture, below a strip with the task.

    Args:
        image: (H, W, 3) uint8 RGB.
        trace: two or more points in unit coordinates; what lies beside the picture is cut off.
        text: the task.

    Returns:
        (H + strip, W, 3) uint8 RGB; the strip is ``STRIP_PX`` high, or more for a long text.
    """
    return np.concatenate([_strip(text, image.shape[1]), _traced(image, trace)])


def _traced(image: NDArray[np.uint8], trace: Sequence[Point]) -> NDArray[np.uint8]:
    import cv2
    drawn = np.ascontiguousarray(image).copy()
    places = np.clip(np.array(trace, np.float64), -1.0, 2.0) * (image.shape[1], image.shape[0])
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
    count = max(2, int(along[-1] / _STEP_PX) + 1)
    at = np.union1d(along, np.linspace(0.0, along[-1], count))
    path = np.stack([np.interp(at, along, places[:, axis]) for axis in range(2)], axis=1)
    pixels = np.floor(path).astype(int).tolist()
    total = along[-1] or 1.0
    for one, other, distance in zip(pixels, pixels[1:], at, strict=False):
        cv2.line(drawn, one, other, _colour(distance / total), WIDTH_PX, cv2.LINE_AA)
    cv2.circle(drawn, pixels[-1], _DOT_PX, END, -1, cv2.LINE_AA)
    cv2.circle(drawn, pixels[0], _DOT_PX, START, -1, cv2.LINE_AA)
    return drawn


def _colour(fraction: float) -> tuple[int, ...]:
    """The colour at a fraction of a trace's length."""
    return tuple(round(a + (b - a) * fraction) for a, b in zip(START, END, strict=True))


def _strip(text: str, width: int) -> NDArray[np.uint8]:
    """White, with the text on as many lines as it needs."""
    from PIL import Image, ImageDraw, ImageFont
    letters = max(8, int((width - 2 * _MARGIN_PX) / _LETTER_PX))
    lines = textwrap.wrap(text, letters) or ['']
    height = max(STRIP_PX, _LINE_PX * len(lines) + _MARGIN_PX)
    strip = Image.new('RGB', (width, height), _PAPER)
    top = (height - _LINE_PX * len(lines)) // 2
    ImageDraw.Draw(strip).multiline_text((_MARGIN_PX, top), '\n'.join(lines), _INK,
                                         ImageFont.load_default(_FONT_PX), spacing=3)
    return np.asarray(strip)
