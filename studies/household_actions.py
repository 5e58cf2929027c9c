"""Measure how often actions fail, contradict their PDDL or change other facts, and their cost.

    python studies/household_actions.py --help

Walks: first towards the goal, by what a person would do next; then random legal actions.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sightplan.domains import load_domain
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.metrics.intervals import fraction_interval
from sightplan.model import Action, Atom, EpisodeSpec, Literal, Problem, State
from sightplan_sim.household import make_world
from sightplan_sim.household.world import HouseholdWorld

ROWS = ('navigate-to', 'grasp', 'place-on', 'place-next-to', 'place-inside', 'open-container',
        'close-container')


@dataclass
class Tally:
    """Counts of one action.

    Attributes:
        n: how often it was carried out, without injected failures.
        problems: of each problem, a statistical cluster, how often it failed, and how
            often it was carried out.
        failed: how often its main effect was not there, by reason.
        succeeded: how often it was.
        against: of these, how often an effect on visible objects contradicted the PDDL.
        against_hidden: of these, how often any effect did.
        frame: how often a fact changed that the action does not list, by predicate.
        examples: of contradictions.
    """

    n: int = 0
    problems: dict[str, tuple[int, int]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    succeeded: int = 0
    against: int = 0
    against_hidden: int = 0
    frame: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


def next_action(problem: Problem, state: State) -> Action | None:
    """Action that brings the first unmet literal of the goal nearer; None if all hold."""
    unmet = [literal for literal in problem.goal if not literal.holds_in(state)]
    held = next((atom.args[0] for atom in state if atom.predicate == 'holding'), '')
    unmet.sort(key=lambda literal: (not literal.positive, literal.atom.args[0] != held))
    return _towards(unmet[0], state, held) if unmet else None


def _towards(goal: Literal, state: State, held: str) -> Action:
    def reach(name: str, then: Action) -> Action:
        return then if Atom('reachable', (name,)) in state else Action('navigate-to', (name,))
    atom = goal.atom
    if atom.predicate == 'open':
        verb = 'open-container' if goal.positive else 'close-container'
        return reach(atom.args[0], Action(verb, atom.args))
    thing, place = atom.args
    if held == thing:
        verb = {'inside': 'place-inside', 'nextto': 'place-next-to'}.get(atom.predicate,
                                                                         'place-on')
        return reach(place, Action(verb, (thing, place)))
    if atom.predicate == 'inside' and Atom('open', (place,)) not in state:
        return reach(place, Action('open-container', (place,)))
    for fact in sorted(state):
        if (fact.predicate == 'inside' and fact.args[0] == thing
                and Atom('open', fact.args[1:]) not in state):
            return reach(fact.args[1], Action('open-container', fact.args[1:]))
    return reach(thing, Action('grasp', (thing,)))


def walk(world: HouseholdWorld, problem: Problem, seed: int, random_steps: int,
         tallies: dict[str, Tally], costs_s: list[float]) -> bool:
    """Walk to the goal and then about, and count.

    Returns:
        Whether the goal was reached, within three times the shortest plan.
    """
    model = load_domain('household').model(problem)
    world.reset(EpisodeSpec(f'measure/{problem.name}', problem, 'measure', seed=seed))
    reached = False
    for _ in range(3 * (problem.optimal_length or 15)):
        state = world.state()
        action = next_action(problem, state)
        if action is None:
            reached = True
            break
        if not model.applicable(action, state):
            break
        _count(world, model, action, tallies, costs_s)
    rng = random.Random(f'{problem.name}/{seed}')
    for _ in range(random_steps):
        state = world.state()
        legal = defaultdict(list)
        for action in model.actions:
            if model.applicable(action, state):
                legal[action.name].append(action)
        _count(world, model, rng.choice(legal[rng.choice(sorted(legal))]), tallies, costs_s)
    return reached


def _count(world: HouseholdWorld, model: InstantiatedModel, action: Action,
           tallies: dict[str, Tally], costs_s: list[float]) -> None:
    before = world.state()
    expected = model.effects(action, before)
    start = time.process_time()
    world.execute(action)
    seen = world.observe()
    costs_s.append(time.process_time() - start)
    after, outcome = world.state(), world.last_outcome()
    tally = tallies.setdefault(action.name, Tally())
    tally.n += 1
    failed, n = tally.problems.get(world.problem_name, (0, 0))
    tally.problems[world.problem_name] = failed + (outcome != 'success'), n + 1
    if outcome != 'success':
        tally.failed[outcome] += 1
        if len(tally.examples) < 40:
            tally.examples.append(f'{world.problem_name}: {action} {outcome}')
        return
    tally.succeeded += 1
    wrong = [atom for atom, value in expected.items() if (atom in after) is not value]
    tally.against_hidden += bool(wrong)
    if any(seen.in_view(atom) for atom in wrong):
        tally.against += 1
        tally.examples.append(f'{world.problem_name}: {action} ' + ', '.join(
            f'({a}) is {a in after}' for a in wrong))
    tally.frame.update({atom.predicate for atom in before ^ after if atom not in expected})


def report(tallies: dict[str, Tally]) -> str:
    """A table in Markdown."""
    lines = ['| action | n | failed | 95 % | contradicted visibly | at all | unlisted changes |',
             '|---|---|---|---|---|---|---|']
    total = Tally()
    for name in [*(row for row in ROWS if row in tallies), 'all']:
        t = tallies.get(name, total)
        k = sum(t.failed.values())
        low, high = fraction_interval(t.problems.values())
        frame = ', '.join(f'{p} {100 * c / max(t.succeeded, 1):.1f} %'
                          for p, c in t.frame.most_common()) or '–'
        ok = max(t.succeeded, 1)
        lines.append(f'| {name} | {t.n} | {100 * k / max(t.n, 1):.1f} % | '
                     f'{100 * low:.1f}-{100 * high:.1f} % | {100 * t.against / ok:.2f} % | '
                     f'{100 * t.against_hidden / ok:.2f} % | {frame} |')
        if name != 'all':
            total.n += t.n
            for problem, (failed, n) in t.problems.items():
                before = total.problems.get(problem, (0, 0))
                total.problems[problem] = before[0] + failed, before[1] + n
            total.failed.update(t.failed)
            total.succeeded += t.succeeded
            total.against += t.against
            total.against_hidden += t.against_hidden
            total.frame.update(t.frame)
    return '\n'.join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(
        prog='python studies/household_actions.py', description=__doc__.split('\n', 1)[0])
    parser.add_argument('--split', action='append', help='only this split (may be repeated)')
    parser.add_argument('--seeds', type=int, default=1, help='walks per problem')
    parser.add_argument('--steps', type=int, default=12, help='random actions per walk')
    parser.add_argument('--every', type=int, default=1, help='only every n-th problem')
    parser.add_argument('--navigation', choices=('pddl', 'reference'), default='pddl')
    parser.add_argument('--home', type=int, default=0, help='which homes')
    parser.add_argument('--pictures', action='store_true',
                        help='draw pictures, to measure the cost of a step')
    parser.add_argument('--examples', action='store_true', help='list what went wrong')
    options = parser.parse_args(arguments)
    domain = load_domain('household')
    tallies: dict[str, Tally] = {}
    costs_s: list[float] = []
    walks = reached = 0
    with make_world(pictures='pybullet' if options.pictures else 'none',
                    navigation=options.navigation, home=options.home) as world:
        problems = [problem for split in options.split or domain.splits
                    for problem in domain.split_problems(split)][::options.every]
        for problem in problems:
            for seed in range(options.seeds):
                walks += 1
                reached += walk(world, problem, seed, options.steps, tallies, costs_s)
    print(report(tallies))
    reasons: Counter[str] = Counter()
    for tally in tallies.values():
        reasons.update(tally.failed)
    summary: dict[str, Any] = {
        'walks': walks, 'goals reached': reached, 'reasons': dict(reasons.most_common()),
        'cpu_ms_per_step': {'median': round(1e3 * statistics.median(costs_s), 1),
                            'most': round(1e3 * max(costs_s), 1)},
        'pictures': options.pictures, 'navigation': options.navigation}
    print(json.dumps(summary, indent=2))
    if options.examples:
        for tally in tallies.values():
            print('\n'.join(tally.examples))
    return 0


if __name__ == '__main__':
    sys.exit(main())
