"""The rules of an episode that change a world: each rule is a wrapper around a world.

A wrapper is a ``World`` itself and passes on what it does not change, so that wrappers stack. The
rules are in the ``EpisodeSpec`` that ``reset`` is given. ``with_rules`` stacks all of them; the
episode loop does it for every world, in process and on ROS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    GoalView,
    InputError,
    Observation,
    Privileged,
    PrivilegedSource,
    World,
)
from sightplan.model.ports import TextualWorld


class WorldWrapper:
    """A world that passes everything on to another one; the base of all wrappers.

    Attributes:
        world: the world behind it, which may be a wrapper, too.
    """

    def __init__(self, world: World) -> None:
        """Wrap a world."""
        self.world = world

    def reset(self, spec: EpisodeSpec) -> None:
        """Contract in ``World``."""
        self.world.reset(spec)

    def observe(self) -> Observation:
        """Contract in ``World``."""
        return self.world.observe()

    def execute(self, action: Action) -> Feedback:
        """Contract in ``World``."""
        return self.world.execute(action)

    def goal_observation(self) -> Observation:
        """Contract in ``GoalView``.

        Raises:
            InputError: the world behind cannot show goals.
        """
        if not isinstance(self.world, GoalView):
            raise InputError(f'{type(self.world).__name__} cannot show the goal as a picture '
                             '(choose goal=told)')
        return self.world.goal_observation()

    @property
    def describes(self) -> bool:
        """Whether observations are descriptions in words; contract in ``TextualWorld``."""
        return isinstance(self.world, TextualWorld) and self.world.describes

    def is_over(self) -> bool:
        """Whether a rule of the episode ends it now."""
        return isinstance(self.world, WorldWrapper) and self.world.is_over()


class PrivilegedFacts(WorldWrapper):
    """Observations carry the facts that the episode grants (``spec.privileged``), and no others.

    Facts that a world itself puts into its observations are taken out.
    """

    def __init__(self, world: World, source: PrivilegedSource | None) -> None:
        """Wrap a world.

        Args:
            world: the world.
            source: source of facts out of view; None: there is none, and no episode may grant any.
        """
        super().__init__(world)
        self._source, self._level, self._moved = source, Privileged.NONE, False

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin an episode; raises InputError if it grants facts, but no source provides them."""
        super().reset(spec)
        self._level, self._moved = spec.privileged, False
        if self._level is not Privileged.NONE and self._source is None:
            raise InputError(f'the episode grants its policy facts about what is out of view '
                             f'(privileged: {self._level.value}), but nobody can provide them '
                             f'(give run_episode privileged, or choose {Privileged.NONE.value})')

    def observe(self) -> Observation:
        """Observe the world, and ask the source where facts are granted now."""
        observation = super().observe()
        facts: Mapping[Atom, bool] = {}
        if self._level.grants(self._moved) and self._source is not None:
            facts = dict(self._source.provide(observation))
        if facts == observation.privileged_facts == {}:
            return observation
        return replace(observation, privileged_facts=facts)

    def execute(self, action: Action) -> Feedback:
        """Carry out an action; the first one that is carried out ends ``initial`` facts."""
        feedback = super().execute(action)
        self._moved = self._moved or feedback.status is FeedbackStatus.EXECUTED
        return feedback


class PicturedGoal(WorldWrapper):
    """Shows the goal as one picture, always the same, where the episode pictures its goal."""

    def __init__(self, world: World) -> None:
        """Wrap a world."""
        super().__init__(world)
        self._pictured = False
        self._goal: Observation | None = None

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin an episode, and forget the goal of the one before."""
        super().reset(spec)
        self._pictured, self._goal = spec.pictured_goal, None

    def goal_observation(self) -> Observation:
        """Return the picture of the goal; raises InputError if the goal is not shown."""
        if not self._pictured:
            raise InputError('the goal is told, not shown')
        if self._goal is None:
            self._goal = super().goal_observation()
        return self._goal


class StopAtGoal(WorldWrapper):
    """Ends an episode with ``stop_at_goal`` once its goal holds in the true state."""

    def __init__(self, world: World, goal_reached: Callable[[], bool] | None) -> None:
        """Wrap a world.

        Args:
            world: the world.
            goal_reached: whether the goal holds in the true state now; None: this is not known.
        """
        super().__init__(world)
        self._goal_reached, self._stops = goal_reached, False

    def reset(self, spec: EpisodeSpec) -> None:
        """Begin an episode; raises InputError if it stops at its goal without ``goal_reached``."""
        super().reset(spec)
        self._stops = spec.stop_at_goal
        if self._stops and self._goal_reached is None:
            raise InputError('the episode is to stop at its goal, but nobody can tell when that '
                             'is reached (give run_episode goal_reached)')

    def is_over(self) -> bool:
        """Whether the goal is reached, in an episode that stops there."""
        return super().is_over() or (self._stops and self._goal_reached is not None
                                     and self._goal_reached())


def with_rules(world: World, goal_reached: Callable[[], bool] | None = None,
               privileged: PrivilegedSource | None = None) -> WorldWrapper:
    """A world under all rules that an episode may have.

    Args:
        world: the world.
        goal_reached: see ``StopAtGoal``.
        privileged: see ``PrivilegedFacts``.
    """
    return StopAtGoal(PicturedGoal(PrivilegedFacts(world, privileged)), goal_reached)
