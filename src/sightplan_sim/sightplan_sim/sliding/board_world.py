"""Base of the two sliding worlds: pictures of the board, of now and of the goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from sightplan.domains.episodic_world import Episode, EpisodicWorld
from sightplan.domains.sliding.boards import Board, next_atoms
from sightplan.model import GOAL_NS, Observation, State
from sightplan_sim.sliding.board_observations import Showing, Shown
from sightplan_sim.sliding.settings import Settings


@dataclass(kw_only=True)
class BoardEpisode(Episode):
    """State of an episode on a board."""

    board: Board
    shown: Shown


B = TypeVar('B', bound=BoardEpisode)


class BoardWorld(EpisodicWorld[B]):
    """A world that shows a board, and its goal in the same way.

    Attributes:
        settings: as given.
    """

    settings: Settings
    _showing: Showing

    @property
    def view(self) -> str:
        """Kind of observation: ``3d``, ``2d`` or ``text``."""
        return self.settings.view

    @property
    def describes(self) -> bool:
        """Whether an observation is a description of the board instead of a picture."""
        return self.settings.view == 'text'

    @property
    def no_pictures(self) -> str:
        """Setting because of which there are no pictures; '' if there are."""
        if self._showing.pictures:
            return ''
        return 'view=text' if self.describes else 'pictures=none'

    def goal_observation(self) -> Observation:
        """The goal as it would be observed: same camera, light, colours and labels.

        Raises:
            WorldError: there is no episode, or its goal does not give every piece one cell.
        """
        with self._lock:
            episode = self._current()
            return self._showing.goal(episode.shown, episode.spec.problem)

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a time, or at the goal; contract in the port.

        Raises:
            InputError: of the goal: it does not give every piece one cell.
        """
        if stamp_ns != GOAL_NS:
            return super().state(stamp_ns)
        with self._lock:
            board, problem = self._current().board, self._current().spec.problem
            return board.facts(board.goal(problem)) | next_atoms(board.size)
