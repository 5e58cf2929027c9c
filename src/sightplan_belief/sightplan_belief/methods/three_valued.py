"""``three_valued``: every atom known true, known false or unknown; what is unknown is looked for.

For comparison with ``belief``: the idea of "Seeing is Believing: Belief-Space Planning with
Foundation Models as Uncertainty Estimators" (arXiv 2504.03245), without probabilities, constraints
or calibration. Answers, effects and refusals make atoms known; plans are made in the space of what
is known, optimistically; what a plan needs and is unknown is found out before it is acted on. The
details:

* **Knowledge.** A yes or no makes its atom known; any other answer leaves it. An executed
  action makes its preconditions and effects known, and an atom that it may have changed
  unknown. A refused one makes known what kept it from being applicable, once only one
  explanation is left; where none is, the answers that it contradicts are forgotten.
* **Planning.** An unknown atom is assumed to be false, one of the goal to be as it should not be
  (it has to be made true, or to be seen). The shortest plan from there is made; when its
  first action was just refused, or there is no plan, from other assumptions: those that explain
  the refusal.
* **Gathering.** Asked are literals of the goal, and atoms on which the plan depends (it would fail
  if they were otherwise), if they are unknown and in view; about one picture once, and all in
  view where no plan is found. What the next action needs and cannot be asked about, because the
  thing that it is about is out of view, is looked for: by the first steps of the plan that would
  do if the thing were there, until it comes into view, or its place is in view without it, which
  is taken for a no. A thing that is in view is taken not to be with one that is not. If nothing is
  left to look at, one acts on the assumption.
* **End.** The episode ends when all literals of the goal are known to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.agent.asking import ask_atoms, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop, offering_unknown, without_plan
from sightplan.domains.batches import BatchModel
from sightplan.model import (
    Action,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Observation,
    State,
    StopReason,
    Verdict,
    param,
)
from sightplan_belief.methods._believing import relevant_atoms
from sightplan_belief.methods._knowledge import Knowledge

Bools = NDArray[np.bool_]
Plan = tuple[Action, ...]
Assumptions = Mapping[Atom, bool]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the method ``three_valued``."""

    search: str = param('short', "Search of the planner; '' for what the other methods get")
    unknown: bool = param(False, 'Whether the model may answer that it cannot tell')


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan, never empty, and the state that it was made from."""

    plan: Plan
    start: State


class Policy(PolicyBase):
    """Policy that plans with known facts, and asks for what the plan needs."""

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
        """Observe the scene; nothing is known yet."""
        self._plan = ()
        self._knowledge = Knowledge(context.model, context.domain.worth_asking(context.problem))
        relevant = relevant_atoms(context)
        self._relevant = tuple(atom for atom in context.model.atoms if atom in relevant)
        self._number = {atom: number for number, atom in enumerate(self._relevant)}
        self._batch = BatchModel(context.model, self._relevant)
        self._refused: set[Action] = set()  # since the last action that was carried out
        self._plans: dict[State, Plan | Stop] = {}
        self._observe(context)
        return None

    def decide(self, context: WorldContext) -> Decision:
        """Ask while answers are new; then return the first step of a plan."""
        while True:
            decision = self._decided(context)
            if decision is not None:
                return decision

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Take in the action's result, and observe."""
        self._plan = self._plan[1:]
        if feedback.status is FeedbackStatus.EXECUTED:
            self._refused.clear()
            self._knowledge.executed(action)
            self._observe(context)
        else:
            self._refused.add(action)
            self._knowledge.refused(action)
        self._publish(context)
        return None

    def _decided(self, context: WorldContext) -> Decision | None:
        """Decide what to do; None if something was asked and the decision must be made anew."""
        self._plan = ()
        goal = context.problem.goal
        if self._ask(context, [literal.atom for literal in goal], AskPurpose.GOAL):
            return None
        if all(self._knowledge.value(literal) for literal in goal):
            return Stop(StopReason.PLAN_DONE, 'the goal is known to hold')
        candidate = self._candidate(context, {}) or self._explaining(context)
        if candidate is None:
            if self._ask(context, self._relevant, AskPurpose.ENUMERATION):
                return None
            return self._elsewhere(context)
        if self._clear(context, candidate):
            return None
        looks = self._looks(context, candidate)
        if looks:
            atom, candidate = min(looks, key=lambda look: (len(look[1].plan), look[0]))
            if self._clear(context, candidate):
                return None
            if atom.args[0] in candidate.plan[0].args and self._place_in_view(atom):
                self._knowledge.answer(atom, False)
                return None
        self._plan = candidate.plan
        return Act(candidate.plan[0])

    # --- plans ----------------------------------------------------------------------------------

    def _candidate(self, context: WorldContext, assumptions: Assumptions) -> _Candidate | None:
        """A plan under assumptions; None without one whose first action is new."""
        state = self._state(context, assumptions)
        if state not in self._plans:
            result = plan_from(context, state, self._settings.search)
            self._plans[state] = without_plan(result) or tuple(result.plan)
        found = self._plans[state]
        if isinstance(found, Stop) or not found or found[0] in self._refused:
            return None
        return _Candidate(found, state)

    def _explaining(self, context: WorldContext) -> _Candidate | None:
        """The shortest plan under an assumption that explains a refusal."""
        found = [candidate for refusal in self._knowledge.refusals for part in refusal
                 for candidate in [self._candidate(context, {
                     literal.atom: literal.positive for literal in part})] if candidate]
        return min(found, key=lambda candidate: len(candidate.plan), default=None)

    def _state(self, context: WorldContext, assumptions: Assumptions) -> State:
        """Initial state of plans: known and assumed facts.

        Other literals of the goal do not hold.
        """
        missed = {literal.atom: not literal.positive for literal in context.problem.goal}
        return self._knowledge.assumed({**missed, **assumptions})

    # --- gathering ------------------------------------------------------------------------------

    def _clear(self, context: WorldContext, candidate: _Candidate) -> bool:
        """Ask about the assumptions without which a plan would fail."""
        askable = self._askable(self._relevant)
        states = np.tile([atom in candidate.start for atom in self._relevant], (len(askable), 1))
        states[np.arange(len(askable)), [self._number[atom] for atom in askable]] ^= True
        works = self._works(context, candidate.plan, states)
        return self._ask(
            context, [atom for atom, fine in zip(askable, works, strict=True) if not fine],
            AskPurpose.PRECONDITION, candidate.plan[0])

    def _works(self, context: WorldContext, plan: Plan, states: Bools) -> Bools:
        """(K,) from which states (K, n) a plan can be carried out and leads to the goal."""
        fine = np.ones(len(states), np.bool_)
        for action in plan:
            fine &= self._batch.applicable(action, states)
            states = self._batch.effects(action, states)
        return fine & self._batch.holds(context.problem.goal, states)

    def _looks(self, context: WorldContext, candidate: _Candidate,
               ) -> list[tuple[Atom, _Candidate]]:
        """Plans for finding out whether a thing that the next action needs is somewhere.

        Of an atom about something out of view that names no other place nothing can be looked at.
        """
        action, seen = candidate.plan[0], self._observation.visible_objects
        found: list[tuple[Atom, _Candidate]] = []
        if seen is None:
            return found
        for atom in sorted(context.model.involved(action)):
            if (len(atom.args) > 1 and atom.args[0] not in seen and self._knowledge.unknown(atom)
                    and not context.model.applicable(
                        action, candidate.start.symmetric_difference({atom}))):
                other = self._candidate(context, {atom: True})
                if other:
                    found.append((atom, other))
        return found

    def _place_in_view(self, atom: Atom) -> bool:
        seen = self._observation.visible_objects
        return seen is not None and all(name in seen for name in atom.args[1:])

    def _elsewhere(self, context: WorldContext) -> Decision:
        """An action that gives another view, about which all can be asked again."""
        for action in context.model.actions:
            if action.name in context.domain.views and action not in self._refused and (
                    self._knowledge.value(context.model.ground(action).precondition) is not False):
                return Act(action)
        return Stop(StopReason.GAVE_UP, 'no plan is known, and nothing is left to look at')

    # --- looking and asking ---------------------------------------------------------------------

    def _observe(self, context: WorldContext) -> None:
        self._observation: Observation = context.observe()
        self._asked: set[Atom] = set()  # about this picture
        for atom, value in self._observation.privileged_facts.items():
            self._knowledge.know(atom, value)

    def _askable(self, atoms: Iterable[Atom]) -> list[Atom]:
        return [atom for atom in atoms if atom not in self._asked
                and self._knowledge.unknown(atom) and self._observation.in_view(atom)]

    def _ask(self, context: WorldContext, atoms: Iterable[Atom], purpose: AskPurpose,
             action: Action | None = None) -> bool:
        """Ask about the unknown, visible ones of some atoms; returns whether there were any."""
        asked = self._askable(atoms)
        if asked:
            self._asked.update(asked)
            answers = ask_atoms(context, asked, purpose, None, action, self._observation)
            for atom, answer in answers.items():
                if answer.verdict in (Verdict.YES, Verdict.NO):
                    self._knowledge.answer(atom, answer.verdict is Verdict.YES)
            self._publish(context)
        return bool(asked)

    def _publish(self, context: WorldContext) -> None:
        context.believe(self._knowledge.assumed({}))
