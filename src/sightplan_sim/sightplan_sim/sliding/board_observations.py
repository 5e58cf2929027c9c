"""Observations of boards: pictures or texts of an arrangement of pieces."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightplan.domains.sliding.boards import Arrangement, Board
from sightplan.model import GOAL_NS, InputError, Observation, Problem, WorldError
from sightplan_sim.sliding.look import Look
from sightplan_sim.sliding.pieces import Piece, text_view
from sightplan_sim.sliding.settings import Settings

if TYPE_CHECKING:
    from sightplan_sim.sliding.scene import Scene


@dataclass(frozen=True, eq=False)
class Shown:
    """A board as an episode shows it.

    Attributes:
        board: whose pieces they are.
        pieces: as far as they can be seen, in its order.
        look: every random factor.
        scene: what draws them; None without pictures.
    """

    board: Board
    pieces: tuple[Piece, ...]
    look: Look
    scene: Scene | None


class Showing:
    """Maker of observations of boards, by the settings of a world.

    Attributes:
        renderer: what draws the pictures, for the records of a run.
        pictures: whether there is anything to be seen in them.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = s = settings
        self.pictures = s.pictures != 'none' and s.view != 'text'
        self.renderer = 'none'
        if self.pictures:
            import cv2  # without pictures it is not needed
            self.renderer = (f'sliding {s.view}, OpenCV {cv2.__version__}, {s.width}x{s.height}, '
                             f'supersampling {s.supersampling}'
                             + (f', pieces {s.size:g} of a cell' if s.view == '3d' else ''))

    def begin(self, board: Board, pieces: tuple[Piece, ...], look: Look) -> Shown:
        """Prepare the observations of an episode."""
        scene = None
        if self.pictures:
            from sightplan_sim.sliding.drawing import make_scene  # needs OpenCV
            s = self._settings
            scene = make_scene(s.view, board.size, pieces, look, width=s.width, height=s.height,
                               labels=s.labels, samples=s.supersampling, piece_size=s.size)
        return Shown(board, pieces, look, scene)

    def observe(self, shown: Shown, cells: Sequence[int | None], stamp_ns: int = 0) -> Observation:
        """Observation of pieces in their cells; pieces without a cell (None) are left out."""
        if None in cells:
            shown = self._only(shown, [i for i, cell in enumerate(cells) if cell is not None])
        arrangement: Arrangement = tuple(cell for cell in cells if cell is not None)
        s = self._settings
        if s.view == 'text':
            return Observation(text=text_view(shown.board, arrangement, s.text_order),
                               stamp_ns=stamp_ns)
        if shown.scene is not None:
            image = shown.scene.render(arrangement)
        else:
            # Nothing is drawn, so the pieces have no size: the bytes stay the same at any.
            settings = repr(s).replace(f', size={s.size!r}', '')
            key = f'({settings}, {shown.board!r}, {arrangement!r}, {shown.look!r})'
            digest = hashlib.sha256(key.encode()).digest()
            image = np.frombuffer(digest[:12], np.uint8).reshape(2, 2, 3)
        image.setflags(write=False)
        return Observation(image, stamp_ns, s.frame_id)

    def goal(self, shown: Shown, problem: Problem) -> Observation:
        """The goal as it would be observed: same camera, light, colours and labels.

        Raises:
            WorldError: the goal does not give every piece one cell.
        """
        try:
            goal = shown.board.goal(problem)
        except InputError as error:
            raise WorldError(str(error)) from error
        return self.observe(shown, goal, GOAL_NS)

    def _only(self, shown: Shown, kept: Sequence[int]) -> Shown:
        """Observations of the same board with only some of its pieces."""
        board, look = shown.board, shown.look
        if look.tints:
            look = dataclasses.replace(look, tints=tuple(look.tints[i] for i in kept))
        return self.begin(Board(board.size, tuple(board.pieces[i] for i in kept),
                                tuple(board.kinds[i] for i in kept)),
                          tuple(shown.pieces[i] for i in kept), look)
