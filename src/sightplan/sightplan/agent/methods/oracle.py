"""``oracle``: plans on ground truth, or says what is true; anchors a suite at its maximum."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.answerer import SampleTruth, Unasking
from sightplan.agent.asking import plan_from
from sightplan.agent.context import Context, WorldContext
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop, without_plan
from sightplan.model import (
    Action,
    Feedback,
    FeedbackStatus,
    State,
    StopReason,
    TruthSource,
    param,
)
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``oracle``."""

    search: str = param('short', "Search of the planner: short (an anchor should not be held back "
                        "by detours), lama-first, or '' for what the other methods get")


SampleSettings = NoSettings


class Policy(PolicyBase):
    """Plan from the true state; plan again whenever an action had another effect than expected.

    This is the only method that is given ground truth. It asks no questions.
    """

    needs_truth = needs_planner = True

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Keep the source of truth."""
        self._search = settings.search
        self._truth = truth
        self._queue: deque[Action] = deque()
        self._state: State = frozenset()

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return len(self._queue)

    def begin(self, context: WorldContext) -> Stop | None:
        """Read the initial state and plan."""
        self._queue.clear()
        return self._replan(context)

    def decide(self, context: WorldContext) -> Decision:
        """Carry out the plan."""
        return Act(self._queue[0])

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Compare the true state with the expected one."""
        expected = context.model.apply(action, self._state)
        if feedback.status is not FeedbackStatus.EXECUTED or self._true_state() != expected:
            return self._replan(context)
        self._queue.popleft()
        self._state = expected
        context.believe(self._state)
        return None if self._queue else Stop(StopReason.PLAN_DONE)

    def _true_state(self) -> State:
        return self._truth.state()

    def _replan(self, context: WorldContext) -> Stop | None:
        self._state = self._true_state()
        context.believe(self._state)
        result = plan_from(context, self._state, self._search)
        self._queue = deque(result.plan)
        if (stop := without_plan(result)) is not None:
            return stop
        return None if self._queue else Stop(StopReason.PLAN_DONE, 'the goal holds')


class Answerer(Unasking):
    """Reply with the truth, which tests reading and scoring."""

    needs_truth = True

    def __init__(self, settings: NoSettings, truth: SampleTruth) -> None:
        """Keep the source of truth."""
        self._truth = truth

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Read the truth."""
        return [self._truth.reply(sample) for sample in samples]
