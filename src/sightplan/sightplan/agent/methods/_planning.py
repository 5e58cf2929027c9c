"""The common base of ``plan``, ``plan_cot``, ``action`` and ``action_cot``: the model plans.

This is the method of the ViPlan paper (section 4.2, VLM-as-planner): show the model the goal, the
actions, the steps so far and a picture; carry out the first action that it names; show it the new
picture. If it names an action that cannot be carried out, the next request says so; no other
action is done instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import REPLY_TOKENS, Act, Decision, Forfeit, PolicyBase, Stop
from sightplan.domains import Became
from sightplan.model import (
    Action,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    PastStep,
    Privileged,
    Proposal,
    ProposalForm,
    ProposalStatus,
    StopReason,
    param,
)
from sightplan.model.planning import MARKS


@dataclass(frozen=True, slots=True)
class PlanningSettings:
    """Settings of a method that lets a vision-language model plan."""

    on_unparsed: str = param(
        'continue', 'An unreadable reply: "continue" spends one action of the budget and tells '
        'the model, "stop" ends the episode (the paper\'s rule)', choices=('continue', 'stop'))
    on_empty: str = param(
        'stop', 'A plan without actions: "stop" takes it for the end, "continue" spends one '
        'action of the budget and tells the model, "repeat" does again what was decided last '
        '("stop" where there was nothing yet)', choices=('stop', 'continue', 'repeat'))
    reply_form: str = param(
        'repaired', 'How replies are read: strictly, and else "repaired" once, or as JSON from '
        'the first to the last of the "braces"', choices=('repaired', 'braces'))
    history: str = param(
        'list', 'How the model is told of earlier steps: in a numbered "list" in words, as '
        '"json", in the words of the paper\'s code, or only beside past pictures ("none")',
        choices=('list', 'json', 'none'))
    outcomes: str = param(
        'told', 'Whether the model is told in words what became of its earlier actions',
        choices=('told', 'none'))
    past: int = param(
        -1, 'Number of past pictures that the model is shown, each with what it did there; -1: as '
        'many as the prompt says', low=-1, high=16)
    lists: str = param(
        'told', 'Whether objects and actions are listed by name, where the prompt lists them',
        choices=('told', 'none'))
    marks: str = param(
        'both', 'Marks on pictures of past, present and goal, where the domain has them: a '
        '"colour" of the background, a "word" in a corner, both, or none', choices=MARKS)
    shapes: str = param(
        'solid', 'Whether the prompt calls things by their solid shapes (cube), or by the "flat" '
        'ones that flat pictures show (square), where the domain has such words',
        choices=('solid', 'flat'))
    opening: str = param(
        'none', 'With "start" the goal alone is shown first, and the model has to reply "start"; '
        'any other reply spends one action', choices=('none', 'start'))
    description: str = param(
        'no', 'Whether the model has to end its reply with a list of all that it sees, where the '
        'prompt has words for that', choices=('no', 'yes'))
    reply_tokens: int = param(0, REPLY_TOKENS, low=0, high=1 << 16)


@dataclass(frozen=True, slots=True)
class _Invalid:
    """A proposal without an action that can be sent: its step in the history, and the decision."""

    step: PastStep
    forfeit: Forfeit


class PlanningPolicy(PolicyBase):
    """Show the model a picture, send its first proposed action, and tell it the outcome."""

    needs_visual_planner = reads_visible_facts = True

    def __init__(self, settings: PlanningSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._form = ProposalForm(
            settings.history, settings.reply_form, settings.reply_tokens,
            settings.lists == 'told', settings.marks, settings.shapes == 'flat',
            settings.description == 'yes')
        self._last: Act | _Invalid | None = None
        self._history: list[PastStep] = []
        self._remaining = 0
        self._opened = True

    @property
    def remaining(self) -> int:
        """Actions of the last proposal that were not carried out; each is replaced by the next."""
        return self._remaining

    def begin(self, context: WorldContext) -> Stop | None:
        """Forget the last episode."""
        self._history.clear()
        self._remaining, self._last = 0, None
        self._opened = self._settings.opening == 'none'
        if not self._opened and not context.spec.pictured_goal:
            raise InputError('method option opening=start shows the goal first, and this goal is '
                             'told; set goal=pictured, or leave the option out')
        return None

    def decide(self, context: WorldContext) -> Decision:
        """Let the model propose."""
        if not self._opened and (refused := self._open(context)) is not None:
            return refused
        proposal = context.propose(self._history, self._observe(context), self._form,
                                   self._settings.past)
        self._remaining = len(proposal.actions)
        if proposal.status is ProposalStatus.UNPARSED and self._settings.on_unparsed == 'stop':
            return Stop(StopReason.UNPARSED, f'{proposal.message}: {proposal.text[:200]!r}')
        if proposal.status is ProposalStatus.EMPTY and self._settings.on_empty != 'continue':
            if self._settings.on_empty == 'stop' or self._last is None:
                return Stop(StopReason.EMPTY_PLAN, 'the model proposed to do nothing')
        elif proposal.status is ProposalStatus.PLANNED:
            self._last = Act(proposal.actions[0])
        else:
            self._last = self._invalid(proposal)
        if isinstance(self._last, Act):
            return self._last
        assert self._last is not None
        self._history.append(self._last.step)
        return self._last.forfeit

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Note the outcome for the next prompt."""
        self._remaining = max(0, self._remaining - 1)  # a repeated action is of no proposal
        became = (Became.EXECUTED if feedback.status is FeedbackStatus.EXECUTED
                  else Became.REJECTED)
        self._history.append(PastStep(str(action), self._told(context.domain.became(
            self.prompt, became, self._form.history == 'json', feedback.message
            if became is Became.EXECUTED else ''))))
        return None

    def _told(self, outcome: str) -> str:
        """Return the words about an outcome that the next prompt says, '' for none."""
        return outcome if self._settings.outcomes == 'told' else ''

    def _open(self, context: WorldContext) -> Decision | None:
        """Show the goal, and wait for the word that begins; None: it came."""
        wanted = self._settings.opening
        proposal = context.propose((), context.goal_observation(),
                                   replace(self._form, opening=wanted))
        self._opened = proposal.status is ProposalStatus.STARTED
        if self._opened:
            return None
        if proposal.status is ProposalStatus.UNPARSED and self._settings.on_unparsed == 'stop':
            return Stop(StopReason.UNPARSED, f'{proposal.message}: {proposal.text[:200]!r}')
        return Forfeit(f'not started: {proposal.named or "-"}: the goal was shown, and the reply '
                       f'must be {wanted!r}')

    def _observe(self, context: WorldContext) -> Observation:
        """Observe, and keep the privileged facts that a model is told."""
        observation = context.observe()
        if context.spec.privileged is not Privileged.REFERENCE:
            return observation
        return replace(observation, privileged_facts=context.domain.prompts.reference_facts(
            observation.privileged_facts, observation.in_view))

    def _invalid(self, proposal: Proposal) -> _Invalid:
        """Return the step of a proposal without an action, for the history."""
        return _Invalid(PastStep(proposal.named, self._told(proposal.message)), Forfeit(
            f'{proposal.status.value}: {proposal.named or "-"}: {proposal.message}'))
