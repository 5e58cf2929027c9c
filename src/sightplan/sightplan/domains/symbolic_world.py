"""The smallest world: it keeps a state and does what the PDDL says."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.instantiation import InstantiatedModel
from sightplan.model import (
    Action,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Problem,
    State,
    WorldError,
)

START_NS = 1_000_000_000
"""First time of a simulated clock [ns]: zero means "no time" in ROS."""

STEP_NS = 100_000_000
"""What an observation, an action or a reset takes in a symbolic world [ns]."""


class SymbolicWorld:
    """A world without bodies: its state is a set of atoms, and actions do what the PDDL says.

    It implements the ports World and TruthSource over simulated time, which passes only when it
    is used. A subclass draws what its camera sees (``picture``) and says what is in view
    (``visible``). A legal action fails with the episode's probability: then nothing happens.

    Attributes:
        frame_id: optical frame of the pictures.
    """

    frame_id = 'camera'

    def __init__(self) -> None:
        self._now_ns = START_NS
        self._problem: Problem | None = None

    @property
    def pictures(self) -> bool:
        """Whether there is anything to be seen in its pictures."""
        return type(self).picture is not SymbolicWorld.picture

    def picture(self, problem: Problem, state: State) -> NDArray[np.uint8]:
        """What the camera sees.

        Args:
            problem: whose objects there are.
            state: the atoms that are true.

        Returns:
            (H, W, 3) uint8 RGB; here a black picture.
        """
        return np.zeros((48, 64, 3), np.uint8)

    def visible(self, problem: Problem, state: State) -> tuple[str, ...] | None:
        """Names of the objects in view; None, as here: all of them."""
        return None

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin with the problem's initial state.

        Raises:
            WorldError: the failure probability is not in [0, 1].
        """
        if not 0.0 <= spec.failure_probability <= 1.0:
            raise WorldError(f'episode {spec.episode_id}: failure probability '
                             f'{spec.failure_probability} is not in [0, 1]')
        self._problem, self._spec = spec.problem, spec
        self._model = InstantiatedModel(spec.problem)
        self._chance = np.random.default_rng(spec.seed)
        self._stamps_ns, self._states, self._outcome = [self._pass()], [spec.problem.init], ''

    def observe(self) -> Observation:
        """The picture of the present state.

        Raises:
            WorldError: there was no reset, or ``picture`` drew no picture.
        """
        problem, state = self._started(), self._states[-1]
        image = self.picture(problem, state)
        if (not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3
                or image.shape[2] != 3):
            raise WorldError(f'{type(self).__name__}.picture must return an array of shape '
                             f'(H, W, 3) of type uint8')
        return Observation(image, self._pass(), self.frame_id,
                           visible_objects=self.visible(problem, state))

    def execute(self, action: Action) -> Feedback:
        """Do what the PDDL says; what it does not allow is rejected.

        Raises:
            WorldError: there was no reset.
        """
        self._started()
        stamp_ns, state = self._pass(), self._states[-1]
        try:
            after = self._model.apply(action, state)
        except InputError as error:
            self._outcome = 'illegal'
            return Feedback(FeedbackStatus.REJECTED, str(error), stamp_ns)
        fails = self._chance.random() < self._spec.failure_probability
        self._outcome = 'no_op' if fails else 'success'
        if not fails:
            self._stamps_ns.append(stamp_ns)
            self._states.append(after)
        return Feedback(FeedbackStatus.EXECUTED, '', stamp_ns)

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms now, or at a time of this episode [ns].

        Raises:
            WorldError: there was no reset, or the time is before it or still to come.
        """
        self._started()
        if stamp_ns is None:
            return self._states[-1]
        if not self._stamps_ns[0] <= stamp_ns <= self._now_ns:
            raise WorldError(f'no state at {stamp_ns} ns: episode {self._spec.episode_id} has '
                             f'lasted from {self._stamps_ns[0]} to {self._now_ns} ns so far')
        return self._states[bisect.bisect_right(self._stamps_ns, stamp_ns) - 1]

    def last_outcome(self) -> str:
        """``success``, ``no_op`` (it failed) or ``illegal``; '' before the first action."""
        self._started()
        return self._outcome

    def _started(self) -> Problem:
        if self._problem is None:
            raise WorldError('no episode: reset the world first')
        return self._problem

    def _pass(self) -> int:
        self._now_ns += STEP_NS
        return self._now_ns
