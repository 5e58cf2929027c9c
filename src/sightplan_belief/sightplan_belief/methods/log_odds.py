"""``log_odds``: each atom apart, answers pooled as log-odds, one plan for all likely states.

For comparison with ``belief``: the recipe of RoVLaP, from a description of its public logs. Every
step all atoms that matter are asked, also about a picture that was asked about before;
``logit <- .8 logit + .2 logit(answer)``, from even odds; "unknown" leaves an atom as it is. The
most probable joint states of independent atoms are collected until they hold .8 of the
probability, and a plan is made that works in all of them, where a step that cannot be done does
nothing; else in fewer. A refused action teaches nothing.

Ours are: what is out of view is not asked (setting ``hidden``); an executed action moves the
probabilities of what it sets; after a refused one, which the plan allows for, its rest is gone on
with; an answer without probabilities counts as ``sure``; at most ``states`` are collected; the
plan is put together from Fast Downward's plans; the episode ends when the goal holds in all
collected states, or where not even the likeliest one has a plan (where theirs asked the model for
an action).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.asking import ask_atoms, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop, offering_unknown, without_plan
from sightplan.domains import InstantiatedModel
from sightplan.domains.instantiation import AllOf, Ground
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Literal,
    Observation,
    State,
    StopReason,
    Verdict,
    param,
)
from sightplan.model.odds import log_odds, probability
from sightplan_belief.methods._believing import relevant_atoms
from sightplan_belief.methods._conformant import ConformantPlanner, Plan, likely_states

_CLAMP = 1e-6


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the method ``log_odds``."""

    weight: float = param(0.2, 'Weight of the new answer against what was believed', low=0.0,
                          high=1.0)
    sure: float = param(0.9, 'Probability that an answer without probabilities stands for',
                        low=0.5, high=0.999)
    hidden: str = param('unknown', 'Assumed answer about objects out of view, which are not asked '
                        'about here: unknown, or no (as most models say)',
                        choices=('unknown', 'no'))
    mass: float = param(0.8, 'Probability of the joint states that a plan must work in', low=0.01,
                        high=0.999)
    unknown: bool = param(False, 'Whether the model may answer that it cannot tell')
    states: int = param(256, 'Most joint states that are collected', low=1, high=4096)
    search: str = param('short', "Search of the planner; '' for what the other methods get")


def pooled(old: float, answer: float, weight: float) -> float:
    """P(true) after an answer: the weighted mean of the log-odds.

    Args:
        old: P(true) before.
        answer: P(true) that the answer gives; both are clamped to [1e-6, 1 - 1e-6].
        weight: of the answer, in [0, 1].
    """
    total = (1.0 - weight) * log_odds(old, _CLAMP) + weight * log_odds(answer, _CLAMP)
    return probability(total)


def p_true(answer: Answer, sure: float) -> float | None:
    """P(true) by an answer; None if it says "unknown", or cannot be read."""
    if answer.verdict.says is None:
        return None
    if answer.yes_probability is None:
        return sure if answer.verdict is Verdict.YES else 1.0 - sure
    return answer.yes_probability


class Policy(PolicyBase):
    """Pool answers, plan for all that is likely, act."""

    needs_grounder = needs_planner = True
    prompt = 'ground'

    def __init__(self, settings: Settings) -> None:
        """Keep the settings, and choose the prompt."""
        self._settings = settings
        if settings.unknown:
            self.prompt = offering_unknown(self.prompt)
        self._plan: Plan = ()

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return len(self._plan)

    def begin(self, context: WorldContext) -> Stop | None:
        """Observe the scene; every atom starts at P = 1/2."""
        self._plan = ()
        relevant = relevant_atoms(context)
        self._p = {atom: 0.5 for atom in context.model.atoms if atom in relevant}
        self._plans: dict[State, Plan | None] = {}
        self._planner = ConformantPlanner(
            context.model, tuple(self._p), context.problem.goal,
            lambda state: self._planned(context, state))
        self._observe(context)
        return None

    def decide(self, context: WorldContext) -> Decision:
        """Ask everything again, and take the first step of a plan for all that is likely."""
        asked = [atom for atom in self._p if self._observation.in_view(atom)]
        if self._settings.hidden == 'no':
            self._p |= {atom: pooled(p, 1.0 - self._settings.sure, self._settings.weight)
                        for atom, p in self._p.items() if not self._observation.in_view(atom)}
        answers = ask_atoms(context, asked, AskPurpose.ENUMERATION, None, None,
                            self._observation) if asked else {}
        for atom, answer in answers.items():
            said = p_true(answer, self._settings.sure)
            if said is not None:
                self._p[atom] = pooled(self._p[atom], said, self._settings.weight)
        states, weights = likely_states(list(self._p.values()), self._settings.mass,
                                        self._settings.states)
        likeliest = frozenset(atom for atom, true in zip(self._p, states[0], strict=True) if true)
        context.believe(likeliest, self._p)
        if self._plan:
            return Act(self._plan[0])
        found = self._planner.solve(states)
        if found is None:
            return Stop(StopReason.GAVE_UP, 'no plan leads to the goal from the likeliest state')
        self._plan, count = found
        if self._plan:
            return Act(self._plan[0])
        return Stop(StopReason.PLAN_DONE, f'the goal holds in {count} of {len(states)} collected '
                    f'states, of probability {weights.sum():.3f}')

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Move the atoms that an executed action may set, and observe."""
        self._plan = self._plan[1:]
        if feedback.status is FeedbackStatus.EXECUTED:
            self._plan = ()
            self._p.update(moved(self._p, context.model, action))
            self._observe(context)
        return None

    def _observe(self, context: WorldContext) -> None:
        self._observation: Observation = context.observe()
        self._p.update((atom, float(value)) for atom, value in
                       self._observation.privileged_facts.items() if atom in self._p)
        self._p = {atom: _clamped(p) for atom, p in self._p.items()}

    def _planned(self, context: WorldContext, state: State) -> Plan | None:
        if state not in self._plans:
            result = plan_from(context, state, self._settings.search)
            self._plans[state] = None if without_plan(result) else tuple(result.plan)
        return self._plans[state]


def moved(p: dict[Atom, float], model: InstantiatedModel, action: Action) -> dict[Atom, float]:
    """P(true) of the atoms that an executed action may set, each separately.

    Args:
        p: P(true) of each atom before; an atom that is none of them is false.
        model: what actions do.
        action: its preconditions are taken to have held.
    """
    before = p | {literal.atom: float(literal.positive) for literal in model.preconditions(action)}
    sets: dict[Atom, dict[bool, float]] = {}
    for atom, value, condition in model.ground(action).effects:
        if atom in p:
            chances = sets.setdefault(atom, {True: 0.0, False: 0.0})
            chance = _chance(condition, before)
            chances[value] = 1.0 - (1.0 - chances[value]) * (1.0 - chance)
    return {atom: _clamped(c[True] + (1.0 - c[True]) * (1.0 - c[False]) * before[atom])
            for atom, c in sets.items()} | {
        literal.atom: _clamped(float(literal.positive))
        for literal in model.preconditions(action)
        if literal.atom in p and literal.atom not in sets}


def _chance(condition: Ground, p: dict[Atom, float]) -> float:
    """P(a condition holds) of independent atoms."""
    if isinstance(condition, Literal):
        true = p.get(condition.atom, 0.0)
        return true if condition.positive else 1.0 - true
    parts: Sequence[float] = [_chance(part, p) for part in condition.parts]
    if isinstance(condition, AllOf):
        return math.prod(parts)
    return 1.0 - math.prod(1.0 - part for part in parts)


def _clamped(p: float) -> float:
    return min(max(p, _CLAMP), 1.0 - _CLAMP)

