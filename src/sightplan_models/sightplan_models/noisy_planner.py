"""``noisy_planner``: a simulated model that plans from the truth, with errors of given rates.

It stands in for a vision-language model that plans itself (methods ``plan``, ``plan_cot``,
``action``, ``action_cot``), in experiments that need only its success and the way it fails. It
is given the true state where it is made, as ``noisy_oracle`` is; methods see its replies alone.
These are texts in the form that the method asks for, so that they are read as those of any model.

A right reply is a shortest plan found from the true state (the *oracle's*), or its first action. A
wrong one is of one of these kinds:

* ``illegal``: an action of the domain that cannot be carried out now, of the same name as the
  right one where there is one (the ViPlan paper, appendix A, figures 6 and 7);
* ``wrong_name``: the right action with the name of an object that is not there;
* ``unreadable``: prose instead of JSON; where reasons are asked for, a sentence that is repeated
  until the limit of tokens cuts it off (figure 8);
* ``empty``: a plan without actions, although the goal does not hold.

A proposal is wrong with probability ``error`` after a right one. After a wrong one it is wrong
again in the same way with probability ``repeat``, else drawn anew: the paper sees failed actions
that are tried until the episode ends. A repeated illegal action is the same one (figure 7), or, in
half of the episodes, alternates with another illegal one (figure 6).

The rates of models are *fitted to* the success that ViPlan publishes (tables 9 and 11 to 13); they
predict nothing. ``data/planner_rates.json`` says how. The paper prints no frequencies of kinds of
errors: the shares of kinds and ``repeat`` are ours.

Every draw is a hash of seed, episode and number of steps before the proposal.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.domains import Domain, InstantiatedModel, load_domain
from sightplan.model import (
    Action,
    BackendError,
    InputError,
    Plan,
    PlanningStatus,
    PlanningTask,
    Problem,
    State,
    TruthSource,
    param,
)
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries import Propose, TextReply
from sightplan_models._hashed_draws import uniform
from sightplan_models._planner_rates import (
    EMPTY,
    ILLEGAL,
    KINDS,
    UNREADABLE,
    WRONG_NAME,
    PlannerTable,
    load_table,
)
from sightplan_models._truths import episode_of

_SEARCH, _SEARCH_S = 'short', 30.0
_ALTERNATES = 0.5
"""Fraction of episodes in which repeated illegal actions are two that alternate."""
_REPEATS = 40
"""Number of times that a reply which is cut off repeats its sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``noisy_planner``."""

    table: str = param('perfect', 'Model whose published success it has, such as InternVL3-78B; '
                       '"perfect"; or the path of a .json or .yaml file, such as errors: '
                       '{default: 0.2}')
    split: str = param('auto', 'Split whose rate is used; "auto": that of the episode')
    seed: int = param(0, 'Seed of the errors', low=0)


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the rates; see ``api.backend_content``."""
    return hashlib.sha256(repr(load_table(settings.table)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Proposed:
    """A proposal that was made.

    Attributes:
        kind: kind of its error, '' for a right one.
        turn: how often the error was repeated before.
        begun: number of steps before the first of these errors.
        reply: its text.
    """

    kind: str
    turn: int
    begun: int
    reply: TextReply


class Backend(ModelByKind):
    """Plans from the truth, with errors."""

    traits = Traits('state', pixels=False, prompt=False, history=True)

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Load the rates.

        Raises:
            InputError: the table is unknown or malformed.
        """
        self._settings, self._truth = settings, truth
        self._table: PlannerTable = load_table(settings.table)
        self._planner = FastDownwardPlanner()
        self._split = settings.split
        self._new_episode('')

    @property
    def name(self) -> str:
        """Table and settings, for example ``noisy_planner(InternVL3 78B, repeat 0.9, seed 0)``."""
        split = '' if self._settings.split == 'auto' else f' {self._settings.split}'
        return (f'noisy_planner({self._table.name}{split}, repeat {self._table.repeat:g}, '
                f'seed {self._settings.seed})')

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Forget the last episode; with ``split: auto`` the episode's split chooses the rate."""
        self._new_episode(episode_id)
        if self._settings.split == 'auto':
            self._split = split

    def check_planning(self, domain: str, method: str) -> None:
        """Check that there are rates; contract in ``ChecksPlanning``."""
        self._table.error(domain, method, self._split)

    def close(self) -> None:
        """End the symbolic planner's process."""
        self._planner.close()

    @answers(Propose)
    def propose(self, query: Propose, deadline: Deadline) -> TextReply:
        """Reply with the oracle's plan or action, or with an error.

        Raises:
            InputError: there are no rates for the domain or the method, the goal is not told, or
                the domain's actions are replied in a form of its own.
            BackendError: the symbolic planner found no plan from the true state.
            WorldError: there is no ground truth for the time of the observation.
        """
        episode = episode_of(self._truth)
        if episode and episode != self._episode:
            self._new_episode(episode)
        step = len(query.task.history)
        if step not in self._made:
            self._made[step] = self._proposed(query, step, deadline)
        return self._made[step].reply

    def _new_episode(self, episode: str) -> None:
        self._episode = episode
        self._made: dict[int, _Proposed] = {}
        self._expected: tuple[Problem, State, Plan] | None = None

    def _proposed(self, query: Propose, step: int, deadline: Deadline) -> _Proposed:
        problem = query.task.problem
        domain = load_domain(problem.domain, domain_pddl=problem.domain_pddl or None)
        _check(query, domain)
        method = f'{"action" if query.single else "plan"}{"_cot" if query.reasoning else ""}'
        error = self._table.error(problem.domain_name, method, self._split)
        model = _model(problem)
        state = self._truth.state(query.stamp_ns)
        plan = self._plan(domain, problem, model, state, deadline)
        last = self._made.get(step - 1)
        if not plan:
            kind, turn, begun = '', 0, step  # the goal holds, and it says so
        elif last is not None and last.kind and self._draw(step, 'repeat') < self._table.repeat:
            kind, turn, begun = last.kind, last.turn + 1, last.begun
        else:
            wrong = self._draw(step, 'wrong') < error
            kind, turn, begun = self._kind(step) if wrong else '', 0, step
        if kind == ILLEGAL:
            found = self._illegal(model, state, plan, begun, turn)
            if found is None:
                kind = WRONG_NAME  # every action can be carried out
            else:
                plan = (found,)
        if kind == WRONG_NAME:
            plan = (_renamed(plan[0], problem),)
        reply = (_unreadable(query) if kind == UNREADABLE else
                 TextReply(_written(query, domain, () if kind == EMPTY else plan)))
        return _Proposed(kind, turn, begun, reply)

    def _plan(self, domain: Domain, problem: Problem, model: InstantiatedModel, state: State,
              deadline: Deadline) -> Plan:
        """Return the rest of the last plan if the state is as it promised, else a new one."""
        if self._expected is not None and self._expected[0] == problem:
            _, before, plan = self._expected
            if state == before:
                return plan
            if plan and model.applicable(plan[0], before) and (
                    model.apply(plan[0], before) == state):
                self._expected = problem, state, plan[1:]
                return plan[1:]
        limit = _SEARCH_S if deadline.left_s is None else min(_SEARCH_S, deadline.left_s)
        found = self._planner.plan(PlanningTask(
            problem.domain_pddl or domain.pddl, domain.write_problem(problem, state), _SEARCH),
            limit)
        if found.status is not PlanningStatus.SOLVED:
            raise BackendError(f'{self.name}: no plan was found from the true state '
                               f'({found.status.value}: {found.message or "no reason given"})')
        self._expected = problem, state, found.plan
        return found.plan

    def _kind(self, step: int) -> str:
        """Draw the kind of a wrong proposal."""
        drawn = self._draw(step, 'kind')
        for kind in KINDS:
            drawn -= self._table.shares.get(kind, 0.0)
            if drawn < 0.0:
                return kind
        return ILLEGAL

    def _illegal(self, model: InstantiatedModel, state: State, plan: Plan, begun: int, turn: int,
                 ) -> Action | None:
        """Return an action that cannot be carried out; None if there is none.

        The one that a run of errors began with, or, in some episodes, in turn with another one.
        """
        refused = [action for action in model.actions if not model.applicable(action, state)]
        alike = [action for action in refused if action.name == plan[0].name] or refused
        if not alike:
            return None
        other = turn % 2 if self._draw(begun, 'alternates') < _ALTERNATES else 0
        first = int(self._draw(begun, 'illegal') * len(alike))
        return alike[(first + other) % len(alike)]

    def _draw(self, step: int, *about: str) -> float:
        return uniform(str(self._settings.seed), self._episode, str(step), *about)


@functools.lru_cache(maxsize=64)
def _model_by_text(domain_pddl: str, objects: tuple[tuple[str, str], ...], known: State,
                   domain: str) -> InstantiatedModel:
    return InstantiatedModel(Problem('planned', domain, dict(objects), known, (),
                                     domain_pddl, known=known))


def _model(problem: Problem) -> InstantiatedModel:
    """The transition model of a problem; the last ones are kept."""
    pddl = problem.domain_pddl or load_domain(problem.domain).pddl
    return _model_by_text(pddl, tuple(problem.objects.items()), problem.known, problem.domain)


def _check(query: Propose, domain: Domain) -> None:
    """Refuse what cannot be simulated.

    Raises:
        InputError: the goal is not told, or single actions have a form of the domain's own.
    """
    if not query.task.problem.goal:
        raise InputError('noisy_planner: the goal is shown as a picture, and it plans for goals '
                         'that are told alone; choose goal told, or another model')
    if query.single and domain.part('proposals') is not None:
        raise InputError(f'noisy_planner: single actions of {domain.name} have a form of the '
                         "domain's own, which it does not write; choose method plan or plan_cot")


def _renamed(action: Action, problem: Problem) -> Action:
    """Return an action whose last argument is the name of nothing."""
    *others, name = action.args or ('thing',)
    stem = re.sub(r'_?\d+$', '', name)
    number = next(n for n in range(2, 1000) if f'{stem}_{n}' not in problem.objects)
    return Action(action.name, (*others, f'{stem}_{number}'))


def _written(query: Propose, domain: Domain, plan: Sequence[Action]) -> str:
    """Write a plan, or its first action, in the form that the prompt asks for."""
    steps: list[dict[str, Any]] = [
        {'action': action.name, 'parameters': _named(action, domain)} for action in plan]
    reply: dict[str, Any] = {}
    if query.reasoning:
        reply['explanation'] = f'The next step is {plan[0]}.' if plan else 'The goal is reached.'
    if query.single:
        reply |= steps[0] if steps else {'action': None, 'parameters': {}}
    else:
        reply['plan'] = steps
    return json.dumps(reply)


def _named(action: Action, domain: Domain) -> dict[str, str]:
    """The arguments of an action by the names of its parameters in replies."""
    words = domain.prompts.actions.get(action.name)
    names = list(words.parameters) if words else [str(n) for n in range(len(action.args))]
    return dict(zip(names, action.args, strict=False))


def _unreadable(query: Propose) -> TextReply:
    """A reply that no plan can be read from; with reasons it runs into its limit of tokens."""
    if not query.reasoning:
        return TextReply('I would first clear what is in the way, and then move on to the goal.')
    sentence = 'The next step must be checked again, since it may not be possible. '
    return TextReply('{"explanation": "' + sentence * _REPEATS, truncated=True)
