"""Base of the methods ``belief`` and ``blind``, which act on a joint belief."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightplan.agent.asking import ask_atoms, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop, offering_unknown, without_plan
from sightplan.model import (
    Action,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Privileged,
    State,
    StopReason,
    param,
)
from sightplan_belief.estimator import Estimator, EstimatorSettings
from sightplan_belief.joint_belief import FilterSettings, JointBelief
from sightplan_belief.listed_belief import FactorisedBelief, ListedBelief
from sightplan_belief.methods._estimators import Estimators
from sightplan_belief.methods._plan_values import PlanEvaluator
from sightplan_belief.priors import Priors, read_priors
from sightplan_belief.sampled_belief import SampledBelief
from sightplan_belief.solver import Bools

if TYPE_CHECKING:
    from sightplan.domains import Domain

_KINDS: dict[str, type[JointBelief]] = {
    'listed': ListedBelief, 'sampled': SampledBelief, 'factorised': FactorisedBelief}

_MAX_BATCH = 8
_LEAST_WEIGHT = 1e-4
"""Least probability of a joint state that a plan is judged on, or that counts as open."""
_LIKELY = 0.3
_CONSIDERED = 48  # joint states that a plan is judged on
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0  # its multiples modulo 1 lie evenly spread


@dataclass(frozen=True, slots=True)
class BelievingSettings:
    """Settings of a method that acts on a joint belief."""

    calibration: str = param('', 'Calibration file of the model (see "sightplan calibrate"); '
                             "empty: the domain's priors, else generic rates")
    constraints: bool = param(True, "Whether to use the domain's constraints")
    priors: bool = param(True, "Whether to use the domain's priors (else what is out of view at "
                         'first has .2, and all other atoms are as likely as not)')
    reliability: str = param('uncertain', 'Rates of answers: uncertain (learned within an '
                             'episode) or fixed (for comparison)', choices=('uncertain', 'fixed'))
    look_ahead: bool = param(True, 'Whether plans are judged on all likely states '
                             '(else the plan from the likeliest one is followed)')
    inference: str = param('auto', 'How joint states are kept: listed (the most probable ones), '
                           'sampled, factorised (log-odds per atom, projected; for comparison), '
                           "or auto: listed where the domain's constraints demand that something "
                           'holds, sampled where they only forbid',
                           choices=('auto', *_KINDS))
    correlated: bool = param(True, 'Whether errors about a common thing in one picture are taken '
                             'to hang together as the domain says (else to be independent)')
    repeats: str = param('dependent', 'Answers about a new image: dependent on the last ones, or '
                         'independent (for comparison)', choices=('dependent', 'independent'))
    k: int = param(256, 'Most joint states kept', low=1, high=4096)
    accept: float = param(0.97, 'Probability of the goal at which the episode is ended', low=0.5,
                          high=1.0)
    settle: float = param(0.9, 'Probability that the plan works at which asking ends', low=0.5,
                          high=1.0)
    min_gain: float = param(0.02, 'Least expected information of a question: about the plan, '
                            'and a tenth of that about the state [bit]', low=0.0,
                            high=1.0)
    goal_gain: float = param(0.1, 'Least expected information of a question about the goal, where '
                             'the plan is likely to work whatever the answer [bit]', low=0.0,
                             high=1.0)
    other_views: int = param(2, 'Most observations from elsewhere before the goal is accepted, '
                             'where the domain has actions for that', low=0, high=100)
    search: str = param('short', "Search of the planner; '' for what the other methods get")
    worth: float = param(0.01, 'Least gain in the probability of the goal for which one acts on',
                         low=0.0, high=1.0)
    unknown: bool = param(False, 'Whether the model may answer that it cannot tell')
    window: float = param(10.0, 'States are listed down to this far below the best one [nats]',
                          low=0.5, high=100.0)


def relevant_atoms(context: WorldContext) -> frozenset[Atom]:
    """The atoms that can matter in an episode: of conditions of actions and of the goal."""
    return (context.model.conditions() | {
        literal.atom for literal in context.problem.goal}).intersection(
            context.domain.worth_asking(context.problem))


def make_estimator(context: WorldContext, estimators: Estimators, settings: BelievingSettings,
                   ) -> Estimator:
    """The estimator of an episode's belief, over the atoms that can matter."""
    return estimators.get(
        context, EstimatorSettings(k=settings.k, window=settings.window, limit=2 * settings.k,
                                   correlated=settings.correlated),
        relevant_atoms(context))


def make_filter(context: WorldContext, estimators: Estimators, settings: BelievingSettings,
                ) -> JointBelief:
    """The belief of an episode, over the atoms that can matter, before anything is seen.

    Raises:
        InputError: the domain's constraints do not allow the kind that is asked for.
    """
    estimator = make_estimator(context, estimators, settings)
    kind = settings.inference
    if kind in ('auto', 'sampled'):
        may_all_be_false = estimator.possible(np.zeros(len(estimator.atoms), np.bool_))
        if kind == 'sampled' and not may_all_be_false:
            raise InputError(f'inference = sampled does not work in {context.problem.name}: the '
                             f'constraints of {context.domain.name} demand that something holds '
                             f'(set it to auto or listed)')
        kind = 'sampled' if may_all_be_false else 'listed'
    return _KINDS[kind](
        estimator, context.model, FilterSettings(
            k=settings.k, repeats=settings.repeats, reliability=settings.reliability))


def expect(belief: JointBelief, domain: Domain, observation: Observation | None,
           settings: BelievingSettings) -> None:
    """Set the prior probabilities of an episode, before any answer.

    Args:
        belief: before it has been told anything.
        domain: of the episode.
        observation: the first one; None for who does not look.
        settings: whether to use the domain's priors.
    """
    priors = read_priors(domain) if settings.priors else Priors()
    belief.expect(priors.at_start(belief.atoms, observation),
                  None if observation is None else observation.visible_objects)


def condition_on(belief: JointBelief, domain: Domain, observation: Observation, first: bool,
                 settings: BelievingSettings) -> None:
    """Condition a belief on an observation: its picture, visible objects and privileged facts."""
    belief.observe(observation.image_id)
    if first:
        expect(belief, domain, observation, settings)
    elif observation.visible_objects is not None and settings.priors:
        belief.see(read_priors(domain), observation.visible_objects)
    belief.provide(observation.privileged_facts)


def use_rates_of_model(belief: JointBelief, context: WorldContext, estimators: Estimators,
                       settings: BelievingSettings, model: str, prompt: str) -> bool:
    """Switch a belief to the error rates that the domain has of the answering model.

    Args:
        belief: of the episode, before its first answer.
        context: of the episode.
        estimators: those of the belief so far.
        settings: of the method.
        model: exact name of the model that answers.
        prompt: see ``ObservationModel.check``.

    Returns:
        whether the domain has any.
    """
    found = estimators.answering(context.domain, model, prompt)
    if found is estimators:
        return False
    belief.use_rates(make_estimator(context, found, settings))
    return True


class BelievingPolicy(PolicyBase):
    """Act on the most probable joint state; ask what can change the plan.

    The loop: ask until the plan in hand works with probability ``settle`` in the belief, or no
    question is worth ``min_gain``; act; move the belief by the action model; take a new picture,
    and ask again. The goal is accepted at probability ``accept``. Below, of the plans from the
    likeliest states that fit the budget the one is followed that promises most in all likely
    states (``_plan_values``); where none promises more than to end, another view is sought, and
    the episode ends.
    """

    needs_grounder = needs_planner = True
    prompt = 'ground'

    def __init__(self, settings: BelievingSettings) -> None:
        """Read the calibration, and set up the estimators.

        Raises:
            InputError: it cannot be read.
        """
        self._settings = settings
        if settings.unknown and self.prompt:
            self.prompt = offering_unknown(self.prompt)
        self._estimators = Estimators(settings.calibration, settings.constraints, settings.priors)
        self._queue: deque[Action] = deque()

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return len(self._queue)

    # --- the port Policy ------------------------------------------------------------------------

    def begin(self, context: WorldContext) -> Stop | None:
        """Observe, and ask until a plan is likely to work."""
        if self.needs_grounder and context.answering_model:
            self._check_calibration(context)
        self._queue.clear()
        self._plans: dict[State, tuple[Action, ...] | Stop] = {}
        self._other_views = self._actions = 0
        self._knows_model = False
        self._refused: set[Action] = set()  # since the last action that was carried out
        self._relevant = relevant_atoms(context)
        self._goal_atoms = frozenset(literal.atom for literal in context.problem.goal)
        self._plan_values: PlanEvaluator | None = None
        self._filter = make_filter(context, self._estimators, self._settings)
        if not self.needs_grounder:
            expect(self._filter, context.domain, None, self._settings)
        self._observe(context, first=True)
        self._ascertain(context, AskPurpose.ENUMERATION)
        return None

    def decide(self, context: WorldContext) -> Decision:
        """The next action of a plan from the most probable state, once it is likely to work."""
        if self._at_goal(context) >= 0.5:
            self._queue.clear()
            self._ascertain(context, AskPurpose.GOAL)
        elif (0 < len(self._queue) <= self._left(context)
              and self._confidence(context) >= self._settings.settle):
            return Act(self._queue[0])
        probability = self._at_goal(context)
        if probability >= self._settings.accept:
            return Stop(StopReason.PLAN_DONE, f'the goal holds with P = {probability:.3f}')
        candidate = self._candidate(context) if self._settings.look_ahead else ()
        candidate = candidate or self._plan_of_likeliest(context)
        if candidate:
            self._queue = deque(candidate)
            return Act(candidate[0])
        look = self._way_to_another_view(context, self._filter.state)
        if look is None and self.needs_grounder and probability < 0.5:
            look = self._view(context, context.model.actions)
        if look is not None:
            return Act(look)
        if probability >= 0.5:
            return Stop(StopReason.PLAN_DONE, f'the goal holds with P = {probability:.3f}, and '
                        f'nothing is known that makes it likelier')
        return Stop(StopReason.GAVE_UP, f'the goal holds with P = {probability:.3f}, and nothing '
                    f'is known that leads there')

    def _at_goal(self, context: WorldContext) -> float:
        return float(self._filter.weights @ self._filter.holds(context.problem.goal))

    def _likely(self) -> dict[State, float]:
        """The likeliest joint states, with their probabilities among themselves.

        Of equally likely ones those are taken that lie evenly spread in the sample, whose parts
        were drawn in different orders.
        """
        likely: dict[State, float] = {}
        for state, weight in zip(self._filter.states, self._filter.weights, strict=True):
            likely[state] = likely.get(state, 0.0) + float(weight)
        spread = {state: number * _GOLDEN % 1.0 for number, state in enumerate(likely)}
        best = sorted(likely, key=lambda state: (-round(likely[state], 6), spread[state]))
        best = [state for state in best[:_CONSIDERED] if likely[state] > _LEAST_WEIGHT]
        total = sum(likely[state] for state in best)
        return {state: likely[state] / total for state in best}

    def _plan_of_likeliest(self, context: WorldContext) -> tuple[Action, ...]:
        """Plan from the likeliest state; empty if there is none, or the goal is likely.

        Nor is one begun that the budget does not allow for, where the goal may hold by now: that
        would be undone for nothing.
        """
        probability = self._at_goal(context)
        if probability >= 0.5 or self._have_plan(context, self._filter.state):
            return ()
        if len(self._queue) > self._left(context) and probability >= self._settings.worth:
            return ()
        return tuple(self._queue)

    def _left(self, context: WorldContext) -> int:
        """Actions that the budget still allows."""
        return context.spec.max_actions - self._actions

    def _candidate(self, context: WorldContext) -> tuple[Action, ...]:
        """First actions of the most promising plan; empty if none is worth starting."""
        if self._plan_values is None:
            def plan(state: State) -> tuple[Action, ...] | None:
                if state not in self._plans:
                    self._plans[state] = self._search(context, state)
                found = self._plans[state]
                return None if isinstance(found, Stop) else found

            self._plan_values = PlanEvaluator(
                context.model, context.problem, plan, self._filter.success, self._settings.worth)
        return self._plan_values.best(self._likely(), self._left(context),
                                      frozenset(self._refused), tuple(self._queue)).plan

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Move the belief by an action, observe, and ask what matters now."""
        self._actions += 1
        if feedback.status is FeedbackStatus.EXECUTED:
            self._go_on_with_plans(context, action)
        self._filter.act(action, feedback.status)
        if feedback.status is not FeedbackStatus.EXECUTED:
            self._refused.add(action)
            self._queue.clear()
            self._ascertain(context, AskPurpose.PRECONDITION)
            return None
        self._refused.clear()
        if self._queue and self._queue[0] == action:
            self._queue.popleft()
        else:
            self._queue.clear()
        self._observe(context)
        self._ascertain(context, AskPurpose.EFFECT, action)
        return None

    # --- looking and asking ---------------------------------------------------------------------

    def _observe(self, context: WorldContext, first: bool = False) -> None:
        """Observe the world and condition the belief on it.

        Methods without a grounder observe only when facts are provided.
        """
        if self.needs_grounder or context.spec.privileged is not Privileged.NONE:
            self._observation = context.observe()
            if self.needs_grounder:
                condition_on(self._filter, context.domain, self._observation, first,
                             self._settings)
            else:
                self._filter.observe('')
                self._filter.provide(self._observation.privileged_facts)
        self._publish(context)

    def _ascertain(self, context: WorldContext, purpose: AskPurpose, action: Action | None = None,
                   ) -> None:
        """Ask about the picture until the plan in hand is likely to work.

        Even then it may do what has been done: about the goal is asked if an answer tells much.

        After an action the first question is asked whatever the confidence, if it is worth its
        gain: a belief must not drift away unseen.
        """
        if not self.needs_grounder:
            return
        probe = action is not None
        while True:
            works = self._plan_works(context)
            confidence = self._confidence(context, works)
            enough = (self._settings.accept if works is not None and not self._queue
                      else self._settings.settle)
            settled = confidence > enough and not probe
            candidates = [atom for atom in self._askable()
                          if not settled or atom in self._goal_atoms]
            least = self._settings.goal_gain if settled else self._settings.min_gain
            chosen = [atom for atom, gain in self._filter.informative(
                candidates, works, 1 if probe else self._batch(), valued=self._goal_atoms)
                if gain >= least]
            if not chosen:
                return
            probe = False
            self._ask(context, chosen, purpose, action)

    def _check_calibration(self, context: WorldContext) -> None:
        """Refuse rates of another model, wording, prompt or domain."""
        self._estimators.rates.check(context.answering_model, context.domain,
                                     context.answering_prompt)

    def _ask(self, context: WorldContext, atoms: Sequence[Atom], purpose: AskPurpose,
             action: Action | None) -> None:
        state = self._filter.state
        answers = ask_atoms(context, atoms, purpose, [atom in state for atom in atoms], action,
                              self._observation)
        self._check_calibration(context)
        self._use_rates_of_model(context)
        self._filter.answer(answers)
        self._filter.escape()
        self._publish(context)

    def _use_rates_of_model(self, context: WorldContext) -> None:
        """Once it has answered for the first time, take the rates that the domain has of it.

        Not before: there are grounders on ROS that cannot say earlier which model they have.
        """
        if not self._knows_model and use_rates_of_model(
                self._filter, context, self._estimators, self._settings,
                context.answering_model, context.answering_prompt):
            context.model_known(context.answering_model, context.answering_prompt)
        self._knows_model = True

    def _askable(self) -> list[Atom]:
        """Atoms that can matter, with all objects in view as far as the world reports it."""
        return [atom for atom in self._filter.atoms
                if atom in self._relevant and self._observation.in_view(atom)]

    def _batch(self) -> int:
        """Number of questions to ask at once: half the bits that are open."""
        weights = self._filter.weights
        weights = weights[weights > _LEAST_WEIGHT]
        bits = float(-(weights * np.log2(weights)).sum())
        return max(1, min(_MAX_BATCH, math.ceil(bits / 2.0)))

    def _way_to_another_view(self, context: WorldContext, state: State) -> Action | None:
        """An action that gives another view of the least certain fact of the goal.

        None if the domain has no such action, or has none that is likely to be applicable.
        """
        if self._other_views >= self._settings.other_views or not self.needs_grounder:
            return None
        belief = self._filter
        weakest = min(context.problem.goal,
                      key=lambda literal: (belief.probability([literal]), literal))
        found = self._view(context, [action for action in context.model.actions
                                     if set(action.args) & set(weakest.atom.args)
                                     and context.model.applicable(action, state)])
        self._other_views += found is not None
        return found

    def _view(self, context: WorldContext, actions: Sequence[Action]) -> Action | None:
        """The likeliest applicable one of some actions that give another view; None if none is."""
        chances = {action: self._filter.probability(context.model.preconditions(action))
                   for action in actions
                   if action.name in context.domain.views and action not in self._refused}
        likely = [action for action, chance in chances.items() if chance > _LIKELY]
        return max(likely, key=lambda action: (chances[action], action), default=None)

    # --- planning -------------------------------------------------------------------------------

    def _go_on_with_plans(self, context: WorldContext, action: Action) -> None:
        """Keep the rests of plans that began with this action, for the states after it."""
        for state in self._likely():
            found = self._plans.get(state)
            if not found or isinstance(found, Stop) or found[0] != action:
                continue
            self._plans.setdefault(context.model.apply(action, state), found[1:])

    def _plan_works(self, context: WorldContext) -> Bools | None:
        """(K,) in which joint states the plan from the most probable one reaches the goal.

        None if there is no plan: then the state itself is asked for.
        """
        if self._have_plan(context, self._filter.state) is not None:
            return None
        return self._filter.reaches(self._queue, context.problem.goal)

    def _confidence(self, context: WorldContext, works: Bools | None = None) -> float:
        """P(the plan in hand reaches the goal); 0 without a plan."""
        works = self._plan_works(context) if works is None else works
        return 0.0 if works is None else float(self._filter.weights @ works)

    def _have_plan(self, context: WorldContext, state: State) -> Stop | None:
        """Find a plan from ``state``, or keep the present one if it is as good.

        A Stop if there is none. Nor is one that begins with what the world has just refused: it
        would refuse it again.
        """
        if state not in self._plans:
            self._plans[state] = self._search(context, state)
        found = self._plans[state]
        if self._queue and self._keeps_plan(context, found):
            return None
        if isinstance(found, Stop):
            self._queue.clear()
            return found
        if found and found[0] in self._refused:
            self._queue.clear()
            return Stop(StopReason.GAVE_UP, f'{found[0]} was refused, and nothing else is known '
                        f'that leads on')
        self._queue = deque(found)
        return None

    def _keeps_plan(self, context: WorldContext, found: tuple[Action, ...] | Stop) -> bool:
        """Whether the plan in hand is at least as likely to work as another one.

        One that is shorter is better if it works wherever that in hand does, or that in hand is
        too long for what is left of the budget.
        """
        goal = context.problem.goal
        if isinstance(found, Stop) or (found[:1] and found[0] in self._refused):
            return not context.model.first_flaw(tuple(self._queue), self._filter.state, goal)
        works, weights = self._filter.reaches(self._queue, goal), self._filter.weights
        other = self._filter.reaches(found, goal)
        if len(found) < len(self._queue) and (
                len(self._queue) > self._left(context)
                or weights @ (works & ~other) < self._settings.worth):
            return False
        return bool(weights @ works >= weights @ other)

    def _search(self, context: WorldContext, state: State) -> tuple[Action, ...] | Stop:
        if context.problem.goal_met(state):
            return ()
        result = plan_from(context, state, self._settings.search)
        return without_plan(result) or tuple(result.plan)

    # --- the belief -----------------------------------------------------------------------------

    def _publish(self, context: WorldContext) -> None:
        context.believe(self._filter.state, self._filter.marginals())
