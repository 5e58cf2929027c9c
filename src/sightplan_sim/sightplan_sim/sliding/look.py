"""Everything random in a picture of a board, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sightplan_sim.blocksworld.look import Look as Film

Rgb = tuple[float, float, float]
"""sRGB colour, each channel in [0, 255]."""


@dataclass(frozen=True, slots=True)
class Look:
    """All random factors of a picture; the default is the nominal look (strength 0).

    Attributes:
        light_azimuth_deg: where the light comes from: 0 from the camera's side, positive right.
        light_elevation_deg: its height above the board.
        light_rgb: its colour, 1 is white.
        ambient, diffuse, specular: coefficients of the reflection model.
        shadow: darkness of the pieces' shadows on the board, 0 is none.
        light_cell, dark_cell, rim: colours of the board.
        tints: what is added to the colour of each piece, in the board's order; none: nothing.
        azimuth_deg: camera turned around the board, positive to the right.
        elevation_deg: camera raised around the board.
        film: exposure, noise and blur (its other fields do not matter here).
    """

    light_azimuth_deg: float = 30.0
    light_elevation_deg: float = 50.0
    light_rgb: Rgb = (1.0, 1.0, 1.0)
    ambient: float = 0.46
    diffuse: float = 0.60
    specular: float = 0.28
    shadow: float = 0.42
    light_cell: Rgb = (222.0, 220.0, 214.0)
    dark_cell: Rgb = (118.0, 122.0, 132.0)
    rim: Rgb = (52.0, 54.0, 62.0)
    tints: tuple[Rgb, ...] = ()
    azimuth_deg: float = 0.0
    elevation_deg: float = 0.0
    film: Film = field(default_factory=Film)


def sample_look(rng: np.random.Generator, strength: float, pieces: int) -> Look:
    """Draw the random appearance of a board.

    Strength 0 is the nominal look exactly, 1 what an episode uses, 2 the training range, in which
    the camera moves, too. The same state of the generator gives the same look.

    Args:
        rng: source of chance.
        strength: in [0, 3].
        pieces: how many tints to draw.
    """
    nominal = Look()
    if strength == 0.0:
        return nominal

    def spread(width: float, limit: float = np.inf) -> float:
        """A number around 0, wider with the strength."""
        return float(rng.uniform(-1.0, 1.0)) * min(width * strength, limit)

    def near(rgb: Rgb, width: float, limit: float) -> Rgb:
        """A colour as light or dark as before, give or take a little, and slightly tinted."""
        common = spread(width, limit)
        red, green, blue = (min(255.0, max(0.0, v + common + spread(width / 3, limit / 3)))
                            for v in rgb)
        return red, green, blue

    swing = max(0.0, strength - 1.0)
    return Look(
        light_azimuth_deg=nominal.light_azimuth_deg + spread(35.0, 75.0),
        light_elevation_deg=nominal.light_elevation_deg + spread(8.0, 15.0),
        light_rgb=(1.0 + spread(0.03), 1.0 + spread(0.03), 1.0 + spread(0.03)),
        ambient=nominal.ambient + spread(0.04, 0.08),
        diffuse=nominal.diffuse + spread(0.05, 0.10),
        specular=nominal.specular + spread(0.12, 0.24),
        shadow=nominal.shadow + spread(0.12, 0.24),
        light_cell=near(nominal.light_cell, 12.0, 24.0),
        dark_cell=near(nominal.dark_cell, 10.0, 20.0),
        rim=near(nominal.rim, 14.0, 28.0),
        tints=tuple((spread(6.0, 12.0), spread(6.0, 12.0), spread(6.0, 12.0))
                    for _ in range(pieces)),
        azimuth_deg=4.0 * swing * float(rng.uniform(-1.0, 1.0)),
        elevation_deg=3.0 * swing * float(rng.uniform(-1.0, 1.0)),
        film=Film(gain=1.0 + spread(0.05, 0.10),
                  noise=min(1.5 * strength, 4.0) * float(rng.random()),
                  blur_px=0.6 * min(swing, 1.0) * float(rng.random()),
                  texture_seed=int(rng.integers(2**31))))
