"""Layers of a picture: polygons and lines in more samples than pixels, and their composition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.sliding.look import Rgb

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_SHIFT = 4
"""Fractional bits of OpenCV's coordinates."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of a picture [px]; right and lower edge are outside."""

    left: int
    upper: int
    right: int
    lower: int

    @classmethod
    def around(cls, points: Floats, width: int, height: int, margin: int = 2) -> Window:
        """The smallest one around points (N, 2) [px], within a picture of this size."""
        low = np.floor(points.min(axis=0)).astype(int) - margin
        high = np.ceil(points.max(axis=0)).astype(int) + margin + 1
        left, upper = max(0, min(int(low[0]), width - 1)), max(0, min(int(low[1]), height - 1))
        return cls(left, upper, max(left + 1, min(int(high[0]), width)),
                   max(upper + 1, min(int(high[1]), height)))

    @property
    def slices(self) -> tuple[slice, slice]:
        """The window as slices of an array (H, W, ...)."""
        return slice(self.upper, self.lower), slice(self.left, self.right)


class Layer:
    """A layer that is drawn over a picture, within a window.

    Args:
        window: of the picture.
        samples: per pixel and direction.
        channels: 4: colours and coverage; 1: coverage alone.
    """

    def __init__(self, window: Window, samples: int, channels: int = 4) -> None:
        self.window, self.samples = window, samples
        shape = ((window.lower - window.upper) * samples, (window.right - window.left) * samples)
        self.array: Bytes = np.zeros((*shape, channels) if channels > 1 else shape, np.uint8)
        self._offset = np.array([window.left, window.upper], np.float64)

    def fixed(self, points: Floats) -> NDArray[np.int32]:
        """Pixels (N, 2) of the picture, from the first one's centre, as OpenCV wants them."""
        samples = (points - self._offset + 0.5) * self.samples - 0.5
        return np.asarray(np.rint(samples * 2**_SHIFT), np.int32)

    def fill(self, fixed: NDArray[np.int32], rgb: Rgb) -> None:
        """Fill a convex polygon of ``fixed`` points."""
        cv2.fillConvexPoly(self.array, fixed, (*rgb, 255.0), cv2.LINE_8, _SHIFT)

    def polygon(self, points: Floats, rgb: Rgb) -> None:
        """Fill a convex polygon of pixels (N, 2)."""
        self.fill(self.fixed(points), rgb)

    def lines(self, lines: Sequence[Floats], thickness_px: float, rgb: Rgb,
              closed: bool = False) -> None:
        """Draw lines, each through pixels (N, 2)."""
        cv2.polylines(self.array, [self.fixed(points) for points in lines], closed,
                      (*rgb, 255.0), max(1, round(thickness_px * self.samples)), cv2.LINE_8,
                      _SHIFT)

    def averaged(self) -> Bytes:
        """The layer in pixels: (h, w, 4) colours times coverage, and coverage; or (h, w)."""
        w = self.window
        if self.samples == 1:
            return self.array
        return np.asarray(cv2.resize(self.array, (w.right - w.left, w.lower - w.upper),
                                     interpolation=cv2.INTER_AREA), np.uint8)

    def over(self, rgb: Bytes) -> Bytes:
        """Lay it over a picture (H, W, 3) in place; returns its coverage (h, w)."""
        pixels = self.averaged()
        cover = np.ascontiguousarray(pixels[:, :, 3])
        rest = cv2.bitwise_not(cover)
        part = rgb[self.window.slices]
        kept = cv2.multiply(part, cv2.merge([rest, rest, rest]), scale=1 / 255)
        rgb[self.window.slices] = cv2.add(kept, cv2.cvtColor(pixels, cv2.COLOR_RGBA2RGB))
        return cover


def filled_hull(array: Bytes, points: Floats, value: int) -> None:
    """Fill the hull of pixels (N, 2) of a picture with a value."""
    hull = cv2.convexHull(np.rint(points * 2**_SHIFT).astype(np.int32))
    cv2.fillConvexPoly(array, hull, (value,), cv2.LINE_8, _SHIFT)


def blend(part: Bytes, cover: Bytes, rgb: Rgb) -> Bytes:
    """A picture (h, w, 3) with a colour laid over it by coverage (h, w)."""
    weight = cover[:, :, None].astype(np.float32) * np.float32(1 / 255)
    mixed = part + (np.array(rgb, np.float32) - part) * weight
    return np.asarray(mixed + np.float32(0.5), np.uint8)
