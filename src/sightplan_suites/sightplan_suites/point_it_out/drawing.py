"""Pictures of answers: of traces for judges, the task above, and of places and traces for pages.

A trace always runs from red at its start to blue at its end.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, Region
from sightplan.model.region import Point
from sightplan_suites.point_it_out import masks

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
TRUE, ANSWER = (0, 158, 115), (0, 114, 178)
"""RGB of true and of answered places on pages: Okabe and Ito's bluish green and blue."""
NARROWEST_PX = 560
"""Least width of a picture on a page."""
_RING_PX, _DOTS_PX = 9, 11.0


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


def draw_place(image: NDArray[np.uint8], regions: Sequence[Region],
               rings: Sequence[Sequence[float]]) -> NDArray[np.uint8]:
    """Draw the true place as a green area, and answered places in blue.

    Args:
        image: (H, W, 3) uint8 RGB.
        regions: boxes or points of the answer; the first box is the thick one.
        rings: of the true mask, in pixels of the picture.

    Returns:
        a picture of at least ``NARROWEST_PX`` pixels in width.
    """
    import cv2
    height, width = image.shape[:2]
    mask = masks.fill(rings, (width, height))
    drawn = np.ascontiguousarray(image).copy()
    drawn[mask] = (0.45 * drawn[mask] + 0.55 * np.array(TRUE)).astype(np.uint8)
    drawn, factor = _enlarged(drawn)
    outlines, _ = cv2.findContours(mask.repeat(factor, 0).repeat(factor, 1).astype(np.uint8),
                                   cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    for ink, thick in ((_PAPER, 3), (TRUE, 1)):
        cv2.drawContours(drawn, outlines, -1, ink, thick, cv2.LINE_AA)
    for number, region in enumerate(regions):
        places = _pixels(region.points, drawn)
        for ink, thick in ((_PAPER, 4 if number else 6), (ANSWER, 1 if number else 3)):
            if region.form is Form.BOX:
                cv2.rectangle(drawn, places[0], places[1], ink, thick, cv2.LINE_AA)
            else:
                cv2.drawMarker(drawn, places[0], ink, cv2.MARKER_TILTED_CROSS,
                               18 if ink == ANSWER else 22, thick if not number else thick + 1,
                               cv2.LINE_AA)
    return drawn


def draw_s3(image: NDArray[np.uint8], regions: Sequence[Region], truth: Mapping[str, Any],
            ) -> NDArray[np.uint8]:
    """Draw an answered trace, the start it should have, and a trace that is known to be right.

    Args:
        image: (H, W, 3) uint8 RGB.
        regions: of the answer; what is no trace is not drawn.
        truth: see ``samples.truth_of``.

    Returns:
        a picture of at least ``NARROWEST_PX`` pixels in width.
    """
    import cv2
    drawn, _ = _enlarged(image)
    task = truth['task']
    if task is not None:
        places = _pixels(_dense(task['oracle'], drawn), drawn)
        for ink, radius in ((_PAPER, 4), (TRUE, 2)):
            for place in places:
                cv2.circle(drawn, place, radius, ink, -1, cv2.LINE_AA)
    for region in regions:
        if region.form is Form.TRACE:
            drawn = _traced(drawn, region.points, edge=True)
    if truth['start'] is not None:
        (place,) = _pixels([truth['start']], drawn)
        for ink, thick in ((_INK, 5), (_PAPER, 2)):
            cv2.circle(drawn, place, _RING_PX, ink, thick, cv2.LINE_AA)
    return drawn


def _enlarged(image: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """A copy of a picture, enlarged by a whole factor where it is narrow, and the factor."""
    factor = -(-NARROWEST_PX // image.shape[1])
    return np.ascontiguousarray(image.repeat(factor, 0).repeat(factor, 1)).copy(), factor


def _pixels(points: Sequence[Sequence[float]], image: NDArray[np.uint8]) -> list[list[int]]:
    """Points in pixels; what is far beside the picture is clipped."""
    places = np.clip(np.array(points, np.float64), -1.0, 2.0) * image.shape[1::-1]
    found: list[list[int]] = np.floor(places).astype(int).tolist()
    return found


def _dense(points: Sequence[Sequence[float]], image: NDArray[np.uint8]) -> list[list[float]]:
    """Points of a trace at equal distances of about ``_DOTS_PX``."""
    places = np.array(points, np.float64)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(
        places * image.shape[1::-1], axis=0).T))])
    at = np.linspace(0.0, along[-1], max(2, int(along[-1] / _DOTS_PX) + 1))
    found: list[list[float]] = np.stack(
        [np.interp(at, along, places[:, axis]) for axis in range(2)], axis=1).tolist()
    return found


def _traced(image: NDArray[np.uint8], trace: Sequence[Point], edge: bool = False,
            ) -> NDArray[np.uint8]:
    """A copy of a picture with a trace, with a white edge if wanted."""
    import cv2
    drawn = np.ascontiguousarray(image).copy()
    places = np.clip(np.array(trace, np.float64), -1.0, 2.0) * (image.shape[1], image.shape[0])
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
    count = max(2, int(along[-1] / _STEP_PX) + 1)
    at = np.union1d(along, np.linspace(0.0, along[-1], count))
    path = np.stack([np.interp(at, along, places[:, axis]) for axis in range(2)], axis=1)
    pixels = np.floor(path).astype(int).tolist()
    total = along[-1] or 1.0
    if edge:
        cv2.polylines(drawn, [np.array(pixels)], False, _PAPER, WIDTH_PX + 4, cv2.LINE_AA)
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
