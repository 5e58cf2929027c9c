"""The ports of the episode loop: in process plain classes, on ROS service and action clients.

An episode has a World (without truth), a Model (``model.query``), planners and a Recorder. Only
the scorer, the ``oracle`` method and the ``noisy_oracle`` backend are ever given a TruthSource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightplan.model.belief import Belief
from sightplan.model.episode import EpisodeEvent, EpisodeSpec, Feedback
from sightplan.model.perception import Observation
from sightplan.model.planning import PlanningResult, PlanningTask, Proposal, VisualTask
from sightplan.model.problem import Problem
from sightplan.model.symbols import Action, Atom, State
from sightplan.model.usage import Usage

Clock = Callable[[], float]
"""Monotonic seconds, for measuring durations."""


@runtime_checkable
class World(Protocol):
    """A world (simulator or robot) that can be reset, observed and acted on."""

    def reset(self, spec: EpisodeSpec) -> None:
        """Build the problem's initial state.

        Raises:
            WorldError: the world cannot show this problem; the message says why.
        """

    def observe(self) -> Observation:
        """Return a new observation, taken no earlier than the last action's end.

        Raises:
            WorldError: no observation came.
        """

    def execute(self, action: Action) -> Feedback:
        """Carry out one known action with known objects; illegal ones are REJECTED.

        Raises:
            WorldError: the world broke down.
        """


@runtime_checkable
class GoalView(Protocol):
    """A world that can show its problem's goal."""

    def goal_observation(self) -> Observation:
        """Return an observation of the goal as the camera would see it, with stamp GOAL_NS.

        Raises:
            WorldError: there is no episode, or no picture came.
        """


@runtime_checkable
class TextualWorld(Protocol):
    """A world that declares whether it observes pictures or descriptions."""

    @property
    def describes(self) -> bool:
        """Whether observations are descriptions (``Observation.text``), not pictures."""


@runtime_checkable
class DrawingWorld(Protocol):
    """A world that declares whether its pictures show anything; other worlds' always do."""

    @property
    def pictures(self) -> bool:
        """Whether the pictures of observations show anything."""


@runtime_checkable
class PictureOption(Protocol):
    """A world whose pictures show nothing because of an option."""

    @property
    def no_pictures(self) -> str:
        """The option that turns pictures off, such as ``execution=symbolic``."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Contents of a world's observations.

    Attributes:
        no_pictures: option of the world because of which its pictures show nothing; '' if they
            show something.
        describes: whether observations say in words what is there.
    """

    no_pictures: str = ''
    describes: bool = False


def shown_by(world: object) -> Shown:
    """Return what the observations of a world show."""
    off = isinstance(world, DrawingWorld) and not world.pictures
    option = world.no_pictures if isinstance(world, PictureOption) else 'pictures=none'
    return Shown(option if off else '', isinstance(world, TextualWorld) and world.describes)


@runtime_checkable
class RenderedWorld(Protocol):
    """A world that names the renderer of its pictures."""

    @property
    def renderer(self) -> str | Mapping[str, Any]:
        """Name and version of the renderer, for the records of a run."""


class Calibration(Protocol):
    """An ideal pinhole camera: size [px], (3, 3) matrix K [px], name of its optical frame."""

    width: int
    height: int
    matrix: NDArray[np.float64]
    frame_id: str


@runtime_checkable
class CalibratedWorld(Protocol):
    """A world that knows the calibration of its pictures."""

    def camera_info(self) -> Calibration:
        """Return the calibration of the camera."""


@runtime_checkable
class PracticeTable(Protocol):
    """A world that knows a start for problems that come without one, as for a real table."""

    def with_start(self, problem: Problem) -> Problem:
        """Return the problem with an initial state of the world's choice, if it has none.

        Raises:
            WorldError: there is no room for its objects.
        """


@runtime_checkable
class ContinuedWorld(Protocol):
    """A world whose robot has to be made ready before another episode begins as things stand."""

    def carry_on(self) -> None:
        """Make the robot ready; the things stay where they are.

        Raises:
            WorldError: it cannot be made ready, for example because its hand is not empty.
        """


@runtime_checkable
class PosedWorld(Protocol):
    """A world that knows where its camera hangs."""

    def camera_pose(self) -> NDArray[np.float64]:
        """Return the (4, 4) pose of the camera's optical frame in the world [m]."""


@runtime_checkable
class CameraUncertainty(Protocol):
    """A world with a robot whose file has the pose of the camera, but not exactly."""

    def camera_covariance(self) -> NDArray[np.float64]:
        """Return the (6, 6) covariance of that pose: position [m] and turn [rad]."""


@runtime_checkable
class LabellingWorld(Protocol):
    """A world that may draw labels into its pictures; one without this port never does."""

    labels: bool


def draws_labels(world: object) -> bool:
    """Whether a world draws labels into its pictures."""
    return isinstance(world, LabellingWorld) and world.labels


@runtime_checkable
class WorldFromAbove(Protocol):
    """A world that has a view from above for people."""

    def overview(self, size: int = 480) -> NDArray[np.uint8]:
        """Return a picture of the world from above, (size, size, 3) uint8 RGB."""


@runtime_checkable
class EpisodeCheck(Protocol):
    """A world that can tell before a run which problems it cannot show."""

    def check(self, specs: Sequence[EpisodeSpec]) -> None:
        """Check that the world can show the problems of all episodes.

        Raises:
            InputError: the world cannot show a problem; the message says why.
        """


@runtime_checkable
class BeliefDisplay(Protocol):
    """A world that uses the policy's belief, for example to display it."""

    def expect(self, belief: Belief) -> None:
        """Receive the policy's current belief."""


@runtime_checkable
class TruthSource(Protocol):
    """Ground truth: for metrics and oracles only."""

    def state(self, stamp_ns: int | None = None) -> State:
        """Return the true atoms at a world time of this episode; None: now, GOAL_NS: the goal.

        Raises:
            WorldError: there is no state for that time, or the world shows no goals.
        """

    def last_outcome(self) -> str:
        """Return the last action's true outcome: success, no_op, dropped_target, ..., illegal."""


@runtime_checkable
class WordsTruth(Protocol):
    """A truth source that knows the right answers to some questions in words."""

    @property
    def known_words(self) -> Set[Atom]:
        """Atoms of the questions in words whose right answers ``state`` tells."""


@runtime_checkable
class DetailSource(Protocol):
    """A truth source that offers details of an episode to metrics."""

    def episode_details(self) -> Mapping[str, Any]:
        """Return details of the episode so far by name, as plain JSON data; may be empty.

        Raises:
            WorldError: there is no episode.
        """


@runtime_checkable
class PastOutcomes(Protocol):
    """A truth source that knows the outcomes of all earlier actions of the episode."""

    def select_outcome(self, stamp_ns: int) -> None:
        """Make ``last_outcome`` return that of the action that ended then [ns]; 0: the last."""


@runtime_checkable
class PrivilegedSource(Protocol):
    """Privileged information: what a policy may know of objects that are out of view.

    The one way by which true facts reach a policy other than ``oracle``; the episode's spec says
    when it is open, and every line of results says so, too.
    """

    def provide(self, observation: Observation) -> Mapping[Atom, bool]:
        """Return truth values of ground atoms with at least one object out of view.

        With ``Privileged.REFERENCE`` the result holds all ground atoms.

        Args:
            observation: unless all atoms are granted the result is empty if it does not say what
                is in view.

        Raises:
            WorldError: there is no state for its time, or the episode grants nothing.
        """


@runtime_checkable
class SymbolicPlanner(Protocol):
    """A classical planner."""

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        """Search for a plan; unsolvable, timed out and crashed are different results.

        Raises:
            PlannerError: the planner could not be started at all.
        """


@runtime_checkable
class VisualPlanner(Protocol):
    """A vision-language model that plans from an image."""

    @property
    def model(self) -> str:
        """Exact name and version of the model that plans."""

    @property
    def usage(self) -> Usage | None:
        """Total usage of all calls so far; None if it is not counted."""

    def propose(self, observation: Observation, task: VisualTask,
                timeout_s: float | None = None) -> Proposal:
        """Ask the model for a plan or the next action.

        Raises:
            BackendError: the model could not answer (an unreadable or impossible reply is no
                error: it is the proposal's status).
            DeadlineError: no reply within timeout_s.
            SpendingCapError: a limit on tokens or cost is reached.
        """


@runtime_checkable
class Recorder(Protocol):
    """Takes the events of the episode loop."""

    def record(self, event: EpisodeEvent) -> None:
        """Take one event; called in order, from one thread."""
