"""Learning a domain's priors: frequencies of true atoms, and of results of actions.

In each problem a walk begins with what a robot sees first and goes on with actions of which half
lead to the goal and half are any legal ones, so that the states are such as a robot comes to that
does not always know what to do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml

from sightplan.domains import Domain
from sightplan.model import Action, Atom, EpisodeSpec, FeedbackStatus, Observation, Problem, State
from sightplan_belief.learning.rollouts import random_action
from sightplan_belief.priors import ANY, category_of, read_priors, situation_of
from sightplan_belief.visibility import VisibilityRule, cases_of

_MANY, _RARE = 100, 0.1
"""A category gets its own rate if it was seen this often, and its rate is below this fraction of
the rate of all categories."""

_LEAST_STRENGTH = 2.0
"""Smallest strength of a rate's distribution over models: few models must not pass for a law."""


@dataclass
class Counts:
    """Counts over states, actions and sights.

    Attributes:
        atoms: true atoms and all atoms, by when (``start``, ``later``), predicate and situation.
        categories: at the start, true atoms and all atoms of several arguments, by predicate and
            category of the last one.
        actions: executions of each schema.
        nothing: those after which nothing had changed.
        effects: effects that came about and all that should have, by schema and predicate, among
            executions after which something had changed.
        refusals: applicable actions that were refused, all applicable ones, others that were
            carried out, all others.
        sights: of each rule, exceptions and cases.
        states: number of states.
        homes: number of problems.
    """

    atoms: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    categories: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    nothing: Counter[str] = field(default_factory=Counter)
    effects: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    sights: Counter[tuple[int, str]] = field(default_factory=Counter)
    states: int = 0
    homes: int = 0

    def see(self, when: str, atoms: Iterable[Any], seen: Observation, state: State) -> None:
        """Count a state, by which of its objects are in view."""
        self.states += 1
        for atom in atoms:
            if when == 'start' and len(atom.args) > 1:
                category = category_of(atom.args[-1])
                self.categories[atom.predicate, category, 'all'] += 1
                self.categories[atom.predicate, category, 'true'] += atom in state
            visible = seen.visible_objects
            situations = [ANY]
            if visible is not None:
                situations.append(situation_of(atom, visible))
            for situation in situations:
                key = (when, atom.predicate, situation)
                self.atoms[*key, 'all'] += 1
                self.atoms[*key, 'true'] += atom in state

    def act(self, action: Action, wanted: Mapping[Any, bool], before: State, after: State) -> None:
        """Count the result of an executed action."""
        changes = {atom: value for atom, value in wanted.items() if (atom in before) != value}
        if not changes:
            return
        self.actions[action.name] += 1
        done = {atom: (atom in after) == value for atom, value in changes.items()}
        if not any(done.values()):
            self.nothing[action.name] += 1
            return
        for atom, value in changes.items():
            if value:
                self.effects[action.name, atom.predicate, 'all'] += 1
                self.effects[action.name, atom.predicate, 'done'] += done[atom]

    def sight(self, rules: Sequence[VisibilityRule], atoms: Sequence[Atom], seen: Observation,
              state: State) -> None:
        """Count the cases and exceptions of rules about what is in view."""
        if seen.visible_objects is None:
            return
        for number, rule in enumerate(rules):
            for case in cases_of(rule, atoms):
                if case.applies(state, seen.visible_objects):
                    self.sights[number, 'all'] += 1
                    self.sights[number, 'exceptions'] += (
                        (case.thing in seen.visible_objects) is not rule.in_view)


def walk(counts: Counts, domain: Domain, world: Any, problem: Problem, steps: int,
         plan: Callable[[Problem, State], Sequence[Action]], rng: random.Random) -> None:
    """Walk through one problem's world and count.

    Args:
        counts: where to.
        domain: of the problem.
        world: a world that is a source of truth, too.
        problem: where to walk.
        steps: actions.
        plan: a plan from a state to the problem's goal; empty if there is none.
        rng: which actions.
    """
    model, atoms = domain.model(problem), domain.worth_asking(problem)
    rules = read_priors(domain).sights
    world.reset(EpisodeSpec(f'priors/{problem.name}', problem, 'random',
                            seed=rng.getrandbits(32)))
    counts.homes += 1
    counts.see('start', atoms, world.observe(), world.state())
    for _ in range(steps):
        before = world.state()
        draw = rng.random()
        path = plan(problem, before) if draw < 0.5 else ()
        action = (path[0] if path else rng.choice(model.actions) if draw > 0.9
                  else random_action(model, before, rng))
        if action is None:
            return
        feedback = world.execute(action)
        after = world.state()
        done = feedback.status is FeedbackStatus.EXECUTED
        if model.applicable(action, before):
            counts.refusals['applicable'] += 1
            counts.refusals['refused'] += not done
            if done:
                counts.act(action, model.effects(action, before), before, after)
        else:
            counts.refusals['inapplicable'] += 1
            counts.refusals['carried out'] += done
        seen = world.observe()
        counts.see('later', atoms, seen, after)
        counts.sight(rules, atoms, seen, after)


def answers_of(tables: Iterable[Mapping[str, tuple[float, float]]],
               ) -> dict[str, dict[str, float]]:
    """Beta distribution of each rate of answers over models, fitted by moments.

    Args:
        tables: of each model, by predicate P(yes | true) and P(yes | false).

    Returns:
        By predicate means ``yes_true``, ``yes_false`` and strengths ``n_true``, ``n_false``.
    """
    rows: dict[str, list[tuple[float, float]]] = {}
    for table in tables:
        for predicate, pair in table.items():
            rows.setdefault(predicate, []).append(pair)
    found = {}
    for predicate, pairs in sorted(rows.items()):
        if len(pairs) < 3:
            continue
        mean, variance = np.mean(pairs, axis=0), np.var(pairs, axis=0, ddof=1)
        strength = np.maximum(mean * (1.0 - mean) / np.maximum(variance, 1e-6) - 1.0,
                              _LEAST_STRENGTH)
        found[predicate] = {
            'yes_true': _rounded(mean[0]), 'n_true': round(float(strength[0]), 1),
            'yes_false': _rounded(mean[1]), 'n_false': round(float(strength[1]), 1)}
    return found


def as_yaml(counts: Counts, answers: Mapping[str, Mapping[str, float]], origin: str,
            rules: Sequence[VisibilityRule] = ()) -> str:
    """The text of a ``priors.yaml``; rates with half a case added on either side."""
    tables: dict[str, dict[str, dict[str, float]]] = {'start': {}, 'later': {}}
    for when, predicate, situation, what in sorted(counts.atoms):
        if what == 'all':
            key = (when, predicate, situation)
            tables[when].setdefault(predicate, {})[situation] = _rate(
                counts.atoms[*key, 'true'], counts.atoms[*key, 'all'])
    actions: dict[str, dict[str, Any]] = {}
    for name, n in sorted(counts.actions.items()):
        nothing = _rate(counts.nothing[name], n)
        effects = {f'{predicate} +': _rate(counts.effects[name, predicate, 'done'], total)
                   for (schema, predicate, what), total in sorted(counts.effects.items())
                   if schema == name and what == 'all'
                   and counts.effects[name, predicate, 'done'] < total}
        actions[name] = {'success': round(1.0 - nothing, 4), 'no_op': nothing, 'slip': 0.0,
                         **({'effects': effects} if effects else {}), 'n': float(n)}
    lines = [f'# {line}' for line in origin.splitlines()]
    refusals = counts.refusals
    lines.append(f'rejection: {_rate(refusals["refused"], refusals["applicable"])}')
    lines.append('execution_if_inapplicable: '
                 f'{_rate(refusals["carried out"], refusals["inapplicable"])}')
    parts = {**tables, 'categories': _never(counts, tables['start']), 'actions': actions,
             'answers': answers}
    for part, content in parts.items():
        if content:
            lines.append(f'{part}:')
            for name, row in content.items():
                text = yaml.safe_dump(dict(row), default_flow_style=True, sort_keys=False,
                                      width=10_000).strip()
                lines.append(f'  {name}: {text}')
    if rules:
        lines.append('sights:')
        for number, rule in enumerate(rules):
            known = _rate(counts.sights[number, 'exceptions'], counts.sights[number, 'all'])
            text = yaml.safe_dump({**rule.model_dump(mode='json'), 'exceptions': known},
                                  default_flow_style=True, sort_keys=False, width=10_000)
            lines.append(f'  - {text.strip()}')
    return '\n'.join(lines) + '\n'


def _never(counts: Counts, start: Mapping[str, Mapping[str, float]],
           ) -> dict[str, dict[str, float]]:
    """Rates by predicate and category, where they are far below the predicate's own rate."""
    found: dict[str, dict[str, float]] = {}
    for predicate, category, what in sorted(counts.categories):
        cases = counts.categories[predicate, category, 'all']
        rate = _rate(counts.categories[predicate, category, 'true'], cases)
        if what == 'all' and cases >= _MANY and rate < _RARE * start[predicate][ANY]:
            found.setdefault(predicate, {})[category] = rate
    return found


def _rate(cases: int, total: int) -> float:
    return _rounded((cases + 0.5) / (total + 1.0))


def _rounded(p: float) -> float:
    return min(max(round(float(p), 4), 0.0001), 0.9999)
