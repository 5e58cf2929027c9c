"""The sliding world: pieces on a board, of which one at a time is pushed to the next cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.episodic_world import check_probability
from sightplan.domains.sliding.boards import (
    DIRECTIONS,
    Arrangement,
    Board,
    neighbours,
    next_atoms,
)
from sightplan.model import (
    Action,
    EpisodeSpec,
    Feedback,
    InputError,
    Observation,
    State,
    WorldError,
    check_settings,
)
from sightplan.model.ports import Shown
from sightplan_sim.arm.settings import refuse_without_arm
from sightplan_sim.episodes import check_names, generator, pose_matrix
from sightplan_sim.pinhole import CameraInfo
from sightplan_sim.sliding.board_observations import Showing
from sightplan_sim.sliding.board_world import BoardEpisode, BoardWorld
from sightplan_sim.sliding.look import sample_look
from sightplan_sim.sliding.pieces import read_problem
from sightplan_sim.sliding.settings import Settings

if TYPE_CHECKING:
    from sightplan_sim.sliding.arm_world import ArmSlidingWorld

MOVE_S = 1.0
"""Time by which the simulated clock advances at each move [s]."""

ACTION = 'move'
OCCUPIED, OUT_OF_BOUNDS = 'destination occupied', 'destination out of bounds'
"""Reasons for which moves are rejected."""


class SlidingWorld(BoardWorld['_Episode']):
    """Implements the ports World and TruthSource over an arrangement of pieces.

    A legal move fails with the episode's probability: then nothing happens. The n-th legal move
    of an episode has the same luck at every probability.

    Outcomes: ``success``; ``no_op``; ``illegal``, with the message ``destination occupied`` or
    ``destination out of bounds``.

    Attributes:
        settings: as given.
        renderer: what draws the pictures, for the records of a run.
        pictures: whether there is anything to be seen in them.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, settings: Settings | None = None,
                 clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(clock_ns)
        self.settings = settings or Settings()
        check_settings(self.settings)
        self._showing = Showing(self.settings)
        self.pictures, self.renderer = self._showing.pictures, self._showing.renderer

    def close(self) -> None:
        """End the episode."""
        with self._lock:
            self._episode = None

    def check(self, specs: Sequence[EpisodeSpec]) -> None:
        """Check before the first of some episodes that this world can show them.

        Raises:
            InputError: one of them it cannot show; says what to change.
        """
        for spec in specs:
            board, _, _ = read_problem(spec.problem)
            if spec.pictured_goal:
                board.goal(spec.problem)

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Put the pieces at their initial cells; the look is drawn from seed and name.

        Raises:
            WorldError: the problem cannot be shown (see ``read_problem``), or the failure
                probability is not in [0, 1].
        """
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            check_probability(spec)
            try:
                board, pieces, arrangement = read_problem(spec.problem)
            except InputError as error:
                raise WorldError(str(error)) from error
            look = sample_look(generator('sliding', spec, 'look'), self.settings.look, len(pieces))
            self._start(_Episode(
                spec=spec, board=board, arrangement=arrangement,
                failures=generator('sliding', spec, 'failures'),
                shown=self._showing.begin(board, pieces, look)))

    def execute(self, action: Action) -> Feedback:
        """Push a piece, or let the push fail; the feedback does not reveal which.

        An unknown action or object and an illegal move are REJECTED, and nothing moves.
        """
        with self._lock:
            episode = self._current()
            problem = _unknown(action, episode.board)
            if problem:
                return self._reject(episode, problem)
            piece, direction = episode.board.pieces.index(action.args[0]), action.args[1]
            here = episode.arrangement
            target = dict(neighbours(episode.board.size)[here[piece]]).get(direction)
            if target is None:
                return self._reject(episode, OUT_OF_BOUNDS)
            if target in here:
                return self._reject(episode, OCCUPIED)
            if episode.failures.random() < episode.spec.failure_probability:
                return self._finish(episode, 'no_op', MOVE_S)
            episode.arrangement = (*here[:piece], target, *here[piece + 1:])
            return self._finish(episode, 'success', MOVE_S)

    # --- inside -------------------------------------------------------------------------------

    def _read_state(self, episode: _Episode) -> State:
        return episode.board.facts(episode.arrangement) | next_atoms(episode.board.size)

    def _picture(self, episode: _Episode) -> Observation:
        return self._showing.observe(episode.shown, episode.arrangement)


class SolidSlidingWorld(SlidingWorld):
    """A sliding world of solid pieces, which a pinhole camera sees; a cell is a metre wide."""

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        from sightplan_sim.sliding.scene3d import CAMERA_SIZE, camera  # needs OpenCV
        s = self.settings
        return camera(CAMERA_SIZE, s.width, s.height).optics.info(s.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in this episode [m].

        The world's x and y run along the board's edges, from the outer corner of its first cell.
        """
        from sightplan_sim.sliding.scene3d import Scene3D  # needs OpenCV
        with self._lock:
            scene = self._current().shown.scene
        assert isinstance(scene, Scene3D), 'see make_world'
        return pose_matrix(scene.view.axes, scene.view.position_m)


@dataclass(kw_only=True)
class _Episode(BoardEpisode):
    """State of one episode."""

    arrangement: Arrangement
    failures: np.random.Generator


def _unknown(action: Action, board: Board) -> str:
    """Explain why an action does not exist on this board; '' if it does."""
    if action.name != ACTION:
        return f'unknown action {action.name}'
    if len(action.args) != 2:
        return f'{ACTION} takes a piece and a direction'
    piece, direction = action.args
    if piece not in board.pieces:
        return f'{piece} is not a piece'
    if direction not in DIRECTIONS:
        return f'{direction} is not a direction'
    return ''


def make_world(clock_ns: Callable[[], int] | None = None,
               **settings: Any) -> SlidingWorld | ArmSlidingWorld:
    """Make a world from fields of ``Settings``; the entry point ``sliding`` names this function.

    It is also a TruthSource. Close it, or use it in a ``with`` statement.

    Raises:
        InputError: a setting is unknown or out of bounds, or needs an arm; names it.
    """
    check_names(Settings, settings, 'sliding')
    chosen = Settings(**settings)
    if chosen.execution == 'arm':
        from sightplan_sim.sliding.arm_world import ArmSlidingWorld  # needs Pinocchio
        return ArmSlidingWorld(chosen, clock_ns)
    refuse_without_arm(chosen)
    solid = chosen.view == '3d' and chosen.pictures == 'own'
    return (SolidSlidingWorld if solid else SlidingWorld)(chosen, clock_ns)


def shown_with(options: Mapping[str, Any]) -> Shown:
    """Contents of observations with some options; contract in ``sightplan.runs.worlds``."""
    if options.get('view') == 'text':
        return Shown('view=text', describes=True)
    return Shown('pictures=none' if options.get('pictures') == 'none' else '')


def world_identity(options: Mapping[str, Any]) -> dict[str, Any]:
    """Hashes of files that change results as settings do; see ``robot_identity``.

    Raises:
        InputError: a file cannot be read.
    """
    if options.get('execution') != 'arm':
        return {}
    from sightplan_sim.arm.world import robot_identity  # needs Pinocchio
    return robot_identity(options, Settings().robot)
