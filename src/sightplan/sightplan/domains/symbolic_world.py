"""A minimal world: it keeps a state and executes actions by the PDDL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.episodic_world import Episode, EpisodicWorld, check_probability
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.model import (
    Action,
    EpisodeSpec,
    Feedback,
    InputError,
    Observation,
    Problem,
    State,
    WorldError,
)

STEP_S = 0.1
"""Simulated time of an observation, an action or a reset in a symbolic world [s]."""


@dataclass(kw_only=True)
class _Episode(Episode):
    """Episode of a symbolic world, with transition model, random generator and current state."""

    model: InstantiatedModel
    chance: np.random.Generator
    state: State


class SymbolicWorld(EpisodicWorld[_Episode]):
    """A world without bodies: its state is a set of atoms, and actions do what the PDDL says.

    It implements the ports World and TruthSource over simulated time, which passes only when it
    is used. A subclass draws what its camera sees (``picture``) and says what is in view
    (``visible``). A legal action fails with the episode's probability: then nothing happens.

    Attributes:
        frame_id: optical frame of the pictures.
    """

    frame_id = 'camera'
    reset_s = observe_s = reject_s = STEP_S

    def close(self) -> None:
        """Do nothing; the world holds no resources."""

    @property
    def pictures(self) -> bool:
        """Whether the world's pictures show anything: a subclass draws them."""
        return type(self).picture is not SymbolicWorld.picture

    def picture(self, problem: Problem, state: State) -> NDArray[np.uint8]:
        """Draw the picture that the camera sees.

        Args:
            problem: whose objects there are.
            state: the atoms that are true.

        Returns:
            (H, W, 3) uint8 RGB; here a black picture.
        """
        return np.zeros((48, 64, 3), np.uint8)

    def visible(self, problem: Problem, state: State) -> tuple[str, ...] | None:
        """Return the names of the objects in view; None, as here, if all are."""
        return None

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin an episode in the problem's initial state.

        Raises:
            WorldError: the failure probability is not in [0, 1].
        """
        check_probability(spec)
        with self._lock:
            self._start(_Episode(
                spec=spec, model=InstantiatedModel(spec.problem),
                chance=np.random.default_rng(spec.seed), state=spec.problem.init))

    def execute(self, action: Action) -> Feedback:
        """Execute an action by the PDDL; an action that it does not allow is rejected.

        The outcome is ``success``, ``no_op`` (the execution failed) or ``illegal``.
        """
        with self._lock:
            episode = self._current()
            try:
                after = episode.model.apply(action, episode.state)
            except InputError as error:
                return self._reject(episode, str(error))
            fails = episode.chance.random() < episode.spec.failure_probability
            if not fails:
                episode.state = after
            return self._finish(episode, 'no_op' if fails else 'success', STEP_S)

    def _read_state(self, episode: _Episode) -> State:
        return episode.state

    def _picture(self, episode: _Episode) -> Observation:
        problem = episode.spec.problem
        image = self.picture(problem, episode.state)
        if (not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3
                or image.shape[2] != 3):
            raise WorldError(f'{type(self).__name__}.picture must return an array of shape '
                             f'(H, W, 3) of type uint8')
        return Observation(image.copy(), 0, self.frame_id,
                           visible_objects=self.visible(problem, episode.state))
