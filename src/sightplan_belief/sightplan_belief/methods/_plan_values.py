"""Value of plans: the probability that the goal holds in the end, over all possible states.

Acting is a sensor, too: the world refuses an action whose preconditions do not hold, and that
tells apart states which pictures leave open. A plan that was made from one state is followed in
all the others at once; where the world's answers (carried out or refused) would differ, the states
part, and each group goes on with a plan of its own. What comes out is the probability that the
goal holds in the end, which is what an episode is scored by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sightplan.domains import InstantiatedModel
from sightplan.model import Action, Problem, State

_KNOWN_PLANS, _KNOWN_STEPS = 24, 200_000
_LATER = 3.0  # times the worth must be to gain for plans to be made after the world's answers
_PLANNED_LEVELS = 3  # from this depth on only plans that are already known are used

Plan = tuple[Action, ...]
Beliefs = Mapping[State, float]
"""Joint states and their probabilities; they need not sum to 1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan to start with, and its value.

    Attributes:
        plan: the actions; empty: end here.
        value: probability that the goal holds in the end.
        actions: expected number of actions until then.
    """

    plan: Plan
    value: float
    actions: float


class PlanEvaluator:
    """Judges plans in one episode.

    The planner makes the plans among which is chosen. What would be done after the world's first
    answer is judged by the plans that are known by then, where one of them works.

    Args:
        model: what actions do.
        problem: whose goal counts.
        plan: a plan from a state to the goal, None if there is none; called for few states.
        success: how often an action that is carried out does what it should. Where it does not,
            the goal counts as lost: to do again what may have been done already gains nothing.
        worth: of two plans whose values differ by less than this the shorter one is better.
        widths: how many of the likeliest states plans are made from, at each level: first
            choice, choice after the world's first answer, ...; later one is enough.
    """

    def __init__(self, model: InstantiatedModel, problem: Problem,
                 plan: Callable[[State], Plan | None], success: Callable[[Action], float],
                 worth: float = 0.01, widths: Sequence[int] = (12, 2)) -> None:
        self._model, self._problem, self._plan = model, problem, plan
        self._success, self._worth, self._widths = success, worth, widths
        self._next: dict[Action, dict[State, State | None]] = {}
        self._goal: dict[State, bool] = {}
        self._known: deque[Plan] = deque(maxlen=_KNOWN_PLANS)

    def best(self, beliefs: Beliefs, budget: int, refused: frozenset[Action] = frozenset(),
             in_hand: Plan = ()) -> Candidate:
        """The plan that promises most; to end at once is one of them.

        Args:
            beliefs: joint states and their probabilities.
            budget: actions left.
            refused: actions that the world has refused since the last one that was carried out:
                no plan begins with them.
            in_hand: a plan that was begun, if there is one.
        """
        if sum(map(len, self._next.values())) > _KNOWN_STEPS:
            self._next.clear()
            self._goal.clear()
        return self._best(dict(beliefs), budget, refused, 0, in_hand)

    def _best(self, beliefs: dict[State, float], budget: int, refused: frozenset[Action],
              level: int, rest: Plan) -> Candidate:
        candidates = [Candidate((), sum(p for s, p in beliefs.items() if self._met(s)), 0.0)]
        mass = sum(beliefs.values())
        least = self._worth * (_LATER if level else 1.0)
        if budget <= 0 or mass - candidates[0].value < least:  # too little left to gain
            return candidates[0]
        width = self._widths[level] if level < len(self._widths) else 1
        likeliest = [state for state in sorted(beliefs, key=lambda s: -beliefs[s])
                     if not self._met(state)][:width]
        if level:
            plans = [self._plan_from(state, rest, refused, level) for state in likeliest]
        else:
            plans = [rest, *map(self._plan, likeliest)]
        for plan in dict.fromkeys(plans):
            if not plan or len(plan) > budget or plan[0] in refused:
                continue
            if plan not in self._known:
                self._known.append(plan)
            value, actions = self._follow(plan, beliefs, budget, refused, level)
            candidates.append(Candidate(plan, value, actions / mass))
        enough = max(candidate.value for candidate in candidates) - self._worth * mass
        return min((candidate for candidate in candidates if candidate.value >= enough),
                   key=lambda candidate: (candidate.actions, -candidate.value))

    def _follow(self, plan: Plan, beliefs: dict[State, float], budget: int,
                refused: frozenset[Action], level: int) -> tuple[float, float]:
        """Probability of the goal, and expected actions times the mass of the beliefs."""
        value, actions = 0.0, 0.0
        for number, action in enumerate(plan, 1):
            done: dict[State, float] = {}
            kept: dict[State, float] = {}
            success = self._success(action)
            known = self._next.setdefault(action, {})
            for state, p in beliefs.items():
                after = known[state] if state in known else self._after(state, action)
                if after is None:
                    kept[state] = kept.get(state, 0.0) + p
                else:
                    done[after] = done.get(after, 0.0) + p * success
                    actions += p * (1.0 - success) * number
            left = budget - number
            if kept:
                candidate = self._best(kept, left, refused | {action}, level + 1,
                                       plan[number:])
                value += candidate.value
                mass = sum(kept.values())
                actions += mass * (number + candidate.actions)
            if not done:
                return value, actions
            beliefs, refused = done, frozenset()
        mass = sum(beliefs.values())
        candidate = self._best(beliefs, budget - len(plan), frozenset(), level + 1, ())
        return value + candidate.value, actions + mass * (len(plan) + candidate.actions)

    def _plan_from(self, state: State, rest: Plan, refused: frozenset[Action], level: int,
                   ) -> Plan | None:
        """A plan, perhaps not a shortest one: the rest of one, a known one, or a new one."""
        working = [plan for plan in (rest, *self._known)
                   if plan and plan[0] not in refused and self._works(plan, state)]
        if working:
            return min(working, key=len)
        return self._plan(state) if level < _PLANNED_LEVELS else None

    def _works(self, plan: Plan, state: State) -> bool:
        """Whether a plan leads from a state to the goal."""
        for action in plan:
            after = self._after(state, action)
            if after is None:
                return False
            state = after
        return self._met(state)

    def _met(self, state: State) -> bool:
        found = self._goal.get(state)
        if found is None:
            found = self._goal[state] = self._problem.goal_met(state)
        return found

    def _after(self, state: State, action: Action) -> State | None:
        """The state after an action; None if it is refused."""
        known = self._next.setdefault(action, {})
        if state not in known:
            known[state] = (self._model.apply(action, state)
                            if self._model.applicable(action, state) else None)
        return known[state]
