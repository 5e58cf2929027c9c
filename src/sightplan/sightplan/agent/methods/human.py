"""``human``: a person decides, who sees the same as any method.

``sightplan play`` gives it the person, by a local page.
"""

from __future__ import annotations

from typing import Protocol

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Planless, Stop
from sightplan.model import Action, Feedback, InputError, Observation
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Player(Protocol):
    """The connection to a person who plays. All calls come from the thread of the episode."""

    @property
    def name(self) -> str:
        """The player's name."""

    def begin(self, context: WorldContext, observation: Observation,
              goal: Observation | None) -> None:
        """Begin an episode; ``goal`` is a picture of it, None where the context has the goal."""

    def ask(self, context: WorldContext) -> Act | Stop:
        """Wait for the person's next action, or for the end.

        Raises:
            CancelledError: the person will not answer any more.
        """

    def learn(self, action: Action, feedback: Feedback, observation: Observation) -> None:
        """Take the feedback to an action, and the observation after it."""


class Policy(Planless):
    """Ask the person; look before the first action, and after each."""

    def __init__(self, settings: Settings, player: Player | None = None) -> None:
        """Keep the person.

        Raises:
            InputError: there is none.
        """
        super().__init__(settings)
        if player is None:
            raise InputError("method 'human' needs a person: use sightplan play, which takes the "
                             'same options as sightplan run')
        self._player = player

    @property
    def model(self) -> str:
        """The name of who decides in results: ``human`` and the player's name."""
        return f'human {self._player.name}'.rstrip()

    def begin(self, context: WorldContext) -> None:
        """Look at the world and the goal, and show both."""
        goal = context.goal_observation() if context.spec.pictured_goal else None
        self._player.begin(context, context.observe(), goal)

    def decide(self, context: WorldContext) -> Act | Stop:
        """Wait for the person's next action, or for the end."""
        return self._player.ask(context)

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> None:
        """Show the person the feedback and a new observation."""
        self._player.learn(action, feedback, context.observe())
