"""Acting on a belief over an arrangement: the method ``belief`` for such domains.

Everything is asked at once, as a reading of the whole picture, and read again in other views until
the best arrangement is likely enough or the number of looks is spent. A goal that is shown as a
picture is read in the same way. The world helps: what it refuses cannot be done, and an episode
that goes on is not at its goal, so that neither the state nor the goal is what they would be then.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from sightplan.agent.asking import ask_atoms, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.methods.ground import PICTURED
from sightplan.agent.policy import Act, Decision, Stop, without_plan
from sightplan.domains import InstantiatedModel
from sightplan.grounding.views import view
from sightplan.model import (
    Action,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Literal,
    Observation,
    StopReason,
)
from sightplan_belief.arrangement import (
    LISTED,
    ArrangementBelief,
    Placement,
    Structure,
    neighbours,
    targets,
    wanted_places,
)
from sightplan_belief.observation_model import ObservationModel

_PLANNED = 3  # states, and goals, that are planned for
_LEAST_WEIGHT, _LIKELY = 1e-3, 0.5
_PREFERENCE = 0.05
"""Log odds of a thing's goal against any other place, before anything is read [nats]."""


@dataclass(frozen=True, slots=True)
class ArrangingSettings:
    """Settings of acting on an arrangement.

    Attributes:
        looks: most readings of one state.
        goal_looks: most readings of the picture of the goal.
        memory: whether earlier readings count.
        settle: probability of the best arrangement at which reading ends.
        accept: probability of the goal at which an episode is ended that does not end itself.
        near: how many times likelier a wrong yes is about a place next to the right one.
        patience: how much less likely a goal may be for each action that it is nearer [nats].
        search: of the planner.
    """

    looks: int
    goal_looks: int
    memory: bool
    settle: float
    accept: float
    near: float
    patience: float
    search: str


class Arranging:
    """State of one episode of ``belief`` on an arrangement.

    Args:
        structure: things and places.
        model: what actions do.
        rates: what answers and actions are worth.
        settings: see there.
    """

    def __init__(self, structure: Structure, model: InstantiatedModel, rates: ObservationModel,
                 settings: ArrangingSettings) -> None:
        self._structure, self._settings = structure, settings
        self._rates = rates
        self._next_to = neighbours(structure, model)
        self._state = self._belief()
        self._goal: ArrangementBelief | None = None
        self._plan: deque[Action] = deque()
        self._refused: set[Action] = set()  # since the last action that was carried out
        self._views = 0
        self._new_state = True
        self._targets: dict[Action, tuple[str, tuple[int | None, ...]]] = {}
        self._plans: dict[tuple[Placement, Placement | None], tuple[Action, ...] | None] = {}

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return len(self._plan)

    def _belief(self) -> ArrangementBelief:
        return ArrangementBelief(self._structure, self._rates, self._next_to, self._settings.near)

    # --- reading --------------------------------------------------------------------------------

    def read_goal(self, context: WorldContext) -> None:
        """Read the picture of the goal, in as many views as it takes; a description once."""
        self._goal = self._belief()
        seen = context.goal_observation()
        for number in range(self._settings.goal_looks):
            self._read(context, self._goal, view(seen, number), AskPurpose.PICTURED_GOAL)
            if seen.described or self._goal.best(1)[0][1] >= self._settings.settle:
                return

    def _expect_goal(self, context: WorldContext) -> None:
        """Prefer the goal's places for things that are never seen, before the first answer."""
        self._state.prefer(wanted_places(self._structure, (
            literal.atom for literal in context.problem.goal if literal.positive))
            if self._goal is None else self._goal.best(1)[0][0], _PREFERENCE)

    def look(self, context: WorldContext, purpose: AskPurpose, action: Action | None = None,
             ) -> None:
        """Read the state, in as many views as it takes; a description, which has none, once."""
        if not self._settings.memory:
            self._state = self._belief()
        if not self._state.read:
            self._expect_goal(context)
        for _ in range(self._settings.looks):
            seen = view(context.observe(), self._views)
            self._views += 1
            self._read(context, self._state, seen, purpose, action)
            if seen.described or self._state.best(1)[0][1] >= self._settings.settle:
                break
        context.believe(self._structure.state(self._state.best(1)[0][0]),
                        self._state.marginals())

    def _read(self, context: WorldContext, belief: ArrangementBelief, seen: Observation,
              purpose: AskPurpose, action: Action | None = None) -> None:
        expected: list[bool | None] | None = None
        if purpose is not AskPurpose.PICTURED_GOAL and self._views > 1:
            likely = self._structure.state(belief.best(1)[0][0])
            expected = [atom in likely for atom in self._structure.atoms]
        belief.answer(ask_atoms(
            context, self._structure.atoms, purpose, expected, action, seen))

    # --- deciding -------------------------------------------------------------------------------

    def decide(self, context: WorldContext) -> Decision:
        """The first action of a plan from the likeliest state to the likeliest goal."""
        states = self._state.best(LISTED)
        if context.spec.stop_at_goal:
            if self._goal is not None and self._new_state:  # it goes on: this is not the goal
                self._new_state = False
                for placement, weight in states:
                    if weight > _LEAST_WEIGHT:
                        self._goal.exclude(placement, weight)
        elif (stop := self._at_goal(context, states)) is not None:
            return stop
        found = self._chosen(context, states)
        if found is None:
            return Stop(StopReason.GAVE_UP, 'nothing is known that leads to the goal')
        self._plan = deque(found)
        return Act(found[0])

    def _at_goal(self, context: WorldContext, states: list[tuple[Placement, float]],
                 ) -> Stop | None:
        """Decide to stop once the goal is probable enough; None to go on."""
        if self._goal is None:
            probability = sum(weight for placement, weight in states if context.problem.goal_met(
                self._structure.state(placement)))
        else:
            goals = dict(self._goal.best(LISTED))
            probability = sum(weight * goals.get(placement, 0.0) for placement, weight in states)
        likeliest = states[0][0] == self._goal.best(1)[0][0] if self._goal is not None else (
            context.problem.goal_met(self._structure.state(states[0][0])))
        if probability < self._settings.accept and not (likeliest and probability >= _LIKELY):
            return None
        return Stop(StopReason.PLAN_DONE, f'the goal holds with P = {probability:.3f}')

    def _chosen(self, context: WorldContext, states: list[tuple[Placement, float]],
                ) -> tuple[Action, ...] | None:
        """A plan from the likeliest states on whose first action was not refused."""
        if self._goal is None and context.spec.stop_at_goal:  # it goes on
            states = [(placement, weight) for placement, weight in states
                      if not context.problem.goal_met(self._structure.state(placement))] or states
        for placement, _ in states[:_PLANNED]:
            found = self._best_plan(context, placement)
            if found and found[0] not in self._refused:
                return found
        others = [action for action in context.model.actions if action not in self._refused
                  and context.model.applicable(action, self._structure.state(states[0][0]))]
        return (context.rng.choice(others),) if others else None

    def _best_plan(self, context: WorldContext, placement: Placement) -> tuple[Action, ...] | None:
        """A plan from a state to the goal; of several goals, to one that is likely and near."""
        if self._goal is None:
            return self._planned(context, placement, None)
        best: tuple[float, Placement, tuple[Action, ...]] | None = None
        for goal, weight in self._goal.best(_PLANNED):
            if goal == placement or weight <= 0.0:
                continue
            score = math.log(weight)
            apart = sum(a != b for a, b in zip(goal, placement, strict=True))
            if best is not None and score - self._settings.patience * apart <= best[0]:
                continue  # each thing that is elsewhere takes one action at least
            self._adopt(context, goal)
            found = self._planned(context, placement, goal)
            if found:
                value = score - self._settings.patience * len(found)
                if best is None or value > best[0]:
                    best = value, goal, found
        if best is None:
            return None
        self._adopt(context, best[1])
        return best[2]

    def _adopt(self, context: WorldContext, goal: Placement) -> None:
        """Plan for a goal from now on, and record it in the context."""
        context.adopt_goal([Literal(Atom(self._structure.predicate, pair)) for pair in zip(
            self._structure.things, (self._structure.places[p] for p in goal), strict=True)],
            PICTURED)

    def _planned(self, context: WorldContext, placement: Placement, goal: Placement | None,
                 ) -> tuple[Action, ...] | None:
        """A plan to a state.

        The rest of an earlier plan serves from the state that it has reached.
        """
        if (placement, goal) not in self._plans:
            result = plan_from(context, self._structure.state(placement), self._settings.search)
            if without_plan(result) is not None:
                self._plans[placement, goal] = None
            for number, action in enumerate(result.plan):
                self._plans.setdefault((placement, goal), tuple(result.plan[number:]))
                placement = self._after(context, placement, action)
            self._plans.setdefault((placement, goal), ())
            return tuple(result.plan) or None
        return self._plans[placement, goal]

    def _after(self, context: WorldContext, placement: Placement, action: Action) -> Placement:
        thing, target = self._target(context, action)
        row = self._structure.things.index(thing)
        place = target[placement[row]]
        return placement if place is None else (*placement[:row], place, *placement[row + 1:])

    # --- learning -------------------------------------------------------------------------------

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> None:
        """Move the belief by an action, or learn from its refusal; then observe."""
        thing, target = self._target(context, action)
        row = self._structure.things.index(thing)
        if feedback.status is FeedbackStatus.EXECUTED:
            self._state.move(row, target, self._rates.action(action.name).success)
            self._refused.clear()
            self._views, self._new_state = 0, True
            if self._plan and self._plan[0] == action:
                self._plan.popleft()
            self.look(context, AskPurpose.EFFECT, action)
        else:
            self._state.refused(row, target, self._rates.rejection)
            self._refused.add(action)
            self._plan.clear()
            self.look(context, AskPurpose.PRECONDITION, action)

    def _target(self, context: WorldContext, action: Action) -> tuple[str, tuple[int | None, ...]]:
        """The thing that an action moves, and where it takes it from each place."""
        if action not in self._targets:
            thing = next(name for name in action.args if name in self._structure.things)
            self._targets[action] = thing, targets(self._structure, context.model, action, thing)
        return self._targets[action]
