"""Random numbers for training and for held-out scenes, of which neither has the other's."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sightplan_sim.tabletop.shapes import Rgb

STRIPES = 10
"""Every range is cut into this many stripes ..."""
EVERY = 3
"""... and every third, from the third on, is held out."""

_HELD_OUT = tuple(k for k in range(STRIPES) if k % EVERY == EVERY - 1)
_TRAINING = tuple(k for k in range(STRIPES) if k % EVERY != EVERY - 1)

_Range = tuple[float, float]
COLOURS: dict[str, tuple[_Range, _Range, _Range]] = {
    # hue [deg], saturation, value
    'red': ((-8.0, 6.0), (0.80, 0.95), (0.62, 0.90)),
    'orange': ((20.0, 31.0), (0.88, 1.0), (0.90, 1.0)),
    'yellow': ((50.0, 58.0), (0.72, 1.0), (0.92, 1.0)),
    'green': ((100.0, 150.0), (0.55, 0.90), (0.38, 0.72)),
    'blue': ((208.0, 232.0), (0.65, 0.95), (0.45, 0.90)),
    'purple': ((266.0, 288.0), (0.45, 0.80), (0.40, 0.72)),
    'pink': ((328.0, 344.0), (0.32, 0.55), (0.92, 1.0)),
    'brown': ((17.0, 28.0), (0.55, 0.75), (0.28, 0.44)),
    'black': ((0.0, 360.0), (0.0, 0.20), (0.07, 0.14)),
    'white': ((30.0, 60.0), (0.0, 0.07), (0.93, 1.0)),
    'grey': ((200.0, 230.0), (0.0, 0.09), (0.42, 0.60)),
}
"""Shades that go by each word for a colour."""

T = TypeVar('T')


class Draw:
    """Random shapes and shades of one kind: those for training, or those held out.

    Attributes:
        held_out: which of the two.
        rng: for what both may share.
        drawn: fractions drawn since the last ``start``, by name.
    """

    def __init__(self, rng: np.random.Generator, held_out: bool) -> None:
        self.rng = rng
        self.held_out = held_out
        self.drawn: dict[str, float] = {}

    def start(self) -> None:
        """Begin a new thing."""
        self.drawn = {}

    def span(self, name: str, low: float, high: float) -> float:
        """Draw a number from the part of a range that training or held-out things may use."""
        stripes = _HELD_OUT if self.held_out else _TRAINING
        fraction = (int(self.rng.choice(stripes)) + self.rng.uniform(0.02, 0.98)) / STRIPES
        self.drawn[name] = fraction
        return float(low + fraction * (high - low))

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of several options, which training and held-out things share."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Draw whether something happens; training and held-out things have one probability."""
        return bool(self.rng.random() < probability)

    def shade(self, colour: str) -> Rgb:
        """Draw a shade of a colour: sRGB in [0, 1]."""
        hue, saturation, value = (self.span(f'{colour} {name}', *limits) for name, limits in zip(
            ('hue', 'saturation', 'value'), COLOURS[colour], strict=True))
        return colorsys.hsv_to_rgb(hue / 360.0 % 1.0, saturation, value)
