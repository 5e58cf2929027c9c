"""The common base of ``plan``, ``plan_cot``, ``action`` and ``action_cot``: the model plans.

This is the method of the ViPlan paper (section 4.2, VLM-as-planner): show the model the goal, the
actions, the steps so far and a picture; carry out the first action that it names; show it the new
picture. If it names an action that cannot be carried out, the next request says so; no other
action is done instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, Forfeit, PolicyBase, Stop
from sightplan.domains import Became
from sightplan.model import (
    Action,
    Feedback,
    FeedbackStatus,
    PastStep,
    ProposalStatus,
    StopReason,
    param,
)


@dataclass(frozen=True, slots=True)
class PlanningSettings:
    """Settings of a method that lets a vision-language model plan."""

    on_unparsed: str = param(
        'continue', 'An unreadable reply: "continue" spends one action of the budget and tells '
        'the model, "stop" ends the episode (the paper\'s rule)', choices=('continue', 'stop'))
    on_empty: str = param(
        'stop', 'A plan without actions: "stop" takes it for the end, "continue" spends one '
        'action of the budget and tells the model', choices=('stop', 'continue'))


class PlanningPolicy(PolicyBase):
    """Show the model a picture, send its first proposed action, and tell it the outcome."""

    needs_visual_planner = True

    def __init__(self, settings: PlanningSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._history: list[PastStep] = []
        self._remaining = 0

    @property
    def remaining(self) -> int:
        """Actions of the last proposal that were not carried out; each is replaced by the next."""
        return self._remaining

    def begin(self, context: WorldContext) -> Stop | None:
        """Forget the last episode."""
        self._history.clear()
        self._remaining = 0
        return None

    def decide(self, context: WorldContext) -> Decision:
        """Let the model propose."""
        proposal = context.propose(self._history)
        self._remaining = len(proposal.actions)
        if proposal.status is ProposalStatus.PLANNED:
            return Act(proposal.actions[0])
        if proposal.status is ProposalStatus.UNPARSED and self._settings.on_unparsed == 'stop':
            return Stop(StopReason.UNPARSED, f'{proposal.message}: {proposal.text[:200]!r}')
        if proposal.status is ProposalStatus.EMPTY and self._settings.on_empty == 'stop':
            return Stop(StopReason.EMPTY_PLAN, 'the model proposed to do nothing')
        self._history.append(PastStep(proposal.named, proposal.message))
        return Forfeit(f'{proposal.status.value}: {proposal.named or "-"}: {proposal.message}')

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Note the outcome for the next prompt."""
        self._remaining -= 1
        became = (Became.EXECUTED if feedback.status is FeedbackStatus.EXECUTED
                  else Became.REJECTED)
        self._history.append(PastStep(str(action), context.domain.became(self.prompt, became)))
        return None
