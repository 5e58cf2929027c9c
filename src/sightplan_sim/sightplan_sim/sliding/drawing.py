"""Choice of the scene class that draws a view."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan_sim.sliding.look import Look
from sightplan_sim.sliding.pieces import Piece
from sightplan_sim.sliding.scene import Options, Scene
from sightplan_sim.sliding.scene2d import Scene2D
from sightplan_sim.sliding.scene3d import Scene3D
from sightplan_sim.sliding.solids import FILLING


def make_scene(view: str, size: int, pieces: Sequence[Piece], look: Look = Look(),  # noqa: B008
               *, width: int = 640, height: int = 480, labels: str = 'both',
               samples: int = 3, piece_size: float = FILLING) -> Scene:
    """Make the scene that draws a view of a board.

    Args:
        view: ``3d`` or ``2d``.
        size: of the board [cells a side].
        pieces: in the order of arrangements.
        look: every random factor.
        width: of the picture [px].
        height: of the picture [px].
        labels: ``both``, ``edge``, ``cell`` or ``none``.
        samples: per pixel and direction.
        piece_size: width of the cubes in 3D [cells]; see ``solids``.
    """
    kind = {'3d': Scene3D, '2d': Scene2D}[view]
    return kind(size, pieces, look, Options(width, height, labels, samples, piece_size))
