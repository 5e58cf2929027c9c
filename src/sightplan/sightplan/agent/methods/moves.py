"""``moves``: carries out a sequence of actions that came with the problem, right or wrong.

iVISPAR's files hold three: ``shortest_move_sequence``, ``random_valid_move_sequence`` and
``random_invalid_move_sequence``. It checks a world, a file and a scorer: what the file says must
come out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, Planless, Stop
from sightplan.model import Action, InputError, StopReason, TruthSource, param


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``moves``."""

    sequence: str = param('shortest_move_sequence', 'Name of the sequence, as the problem file '
                          'has it')


class Policy(Planless):
    """Act by the book, whatever the world says."""

    needs_truth = True  # stored plans are no agent's business

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Keep the settings."""
        super().__init__(settings)
        self._sequence = settings.sequence
        self._queue: deque[Action] = deque()

    def begin(self, context: WorldContext) -> Stop | None:
        """Look the sequence up.

        Raises:
            InputError: the problem has none of that name.
        """
        plans = context.problem.plans
        if self._sequence not in plans:
            raise InputError(f'{context.problem.name} has no sequence {self._sequence!r} (it has '
                             f'{", ".join(plans) or "none"}); set sequence to one of these')
        self._queue = deque(plans[self._sequence])
        return None

    def decide(self, context: WorldContext) -> Decision:
        """The next action."""
        if not self._queue:
            return Stop(StopReason.PLAN_DONE, 'the sequence is at its end')
        return Act(self._queue.popleft())
