"""``sightplan constraints``: propose the rules of a domain, and check them."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import option, option_like
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    add_group,
    note,
    print_table,
)
from sightplan.commands.shared_flags import domain_flag
from sightplan.console.progress import EpisodeBar
from sightplan.domains import Domain, load_domain
from sightplan.model import (
    InputError,
    Problem,
    TruthSource,
    check_settings,
)
from sightplan.model.query import close
from sightplan.model.settings import picked
from sightplan_belief.learning.rollouts import RolloutSettings, model_states, world_states

if TYPE_CHECKING:
    from sightplan_belief.constraints import Constraints, Rule
    from sightplan_belief.learning.constraints import Count, Learned, LearnedRule, Sample

_EXAMPLES = """\
examples:
  sightplan constraints learn --domain blocksworld --out proposal.yaml
  sightplan constraints check --domain blocksworld
  sightplan constraints check --domain blocksworld --world --constraints proposal.yaml --json
"""

_ABOUT_CHECK = """\
Count how often the rules of constraints.yaml apply and how often they are broken, in random
rollouts of the PDDL model and, with --world, in the true states of the world while it carries out
random legal actions. A hard rule must never be broken, nor where any problem begins. A soft rule's
violation_rate must lie in the 95 % interval (Wilson) of what is measured: in the world if there is
one, else in the model. Then all states that the rules allow in the smallest problem are counted,
and those that actions can reach there.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RolloutArguments:
    """Arguments of every sub-command of ``sightplan constraints``."""

    domain: str = domain_flag()
    split: tuple[str, ...] = option(
        (), 'draw problems of this split only (may be repeated)', metavar='SPLIT')
    problems: int = option_like(RolloutSettings, 'problems')
    rollouts: int = option_like(RolloutSettings, 'rollouts')
    steps: int = option_like(RolloutSettings, 'steps')
    seed: int = option_like(RolloutSettings, 'seed')


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnArguments(_RolloutArguments):
    """Arguments of ``sightplan constraints learn``."""

    min_support: int = option_like(RolloutSettings, 'min_support')
    out: Path | None = option(
        None, 'write the proposal there (default: standard output)', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments(_RolloutArguments):
    """Arguments of ``sightplan constraints check``."""

    constraints: Path | None = option(
        None, "check these rules (default: the domain's constraints.yaml)", metavar='FILE')
    world: bool = option(False, 'check the true states of the installed world, too')
    failure_probability: float = option(
        0.1, 'chance that the execution of a legal action fails', low=0.0, high=1.0, metavar='P')
    limit: int = option(5000, 'stop counting possible states there', low=1)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan constraints`` with its own sub-commands."""
    commands = add_group(
        subparsers, 'constraints', 'propose and check the rules that tell possible states',
        'Propose and check the rules of a domain (constraints.yaml): which joint states of its '
        'atoms are possible.', _EXAMPLES)

    add_command(
        commands, 'learn', learn_rules, 'propose rules from random rollouts of the PDDL model',
        'Propose rules from random rollouts of the PDDL model. What is proposed must be reviewed: '
        'chance may have hidden what is possible.', settings=LearnArguments)
    add_command(
        commands, 'check', check_rules, 'check rules on rollouts of the model and the world',
        _ABOUT_CHECK, settings=CheckArguments,
        exits='0 done; 1 a rule is broken, or its rate of violation is not the declared one; '
        '2 bad usage')


def learn_rules(arguments: LearnArguments) -> Result:
    """Learn rules from random rollouts, and print or write the proposal."""
    from sightplan_belief.learning.constraints import learn, to_yaml
    if arguments.out is not None and arguments.out.exists():
        raise InputError(f'--out {arguments.out}: there is such a file (rules are reviewed by a '
                         'person, so nothing is overwritten: name another file)')
    domain = load_domain(arguments.domain)
    settings = picked(RolloutSettings, arguments)
    splits = _splits(arguments, domain)
    with EpisodeBar(transient=True) as bar:
        learned = learn(domain, splits, settings, bar.stage)
    text = to_yaml(learned, f'random rollouts of {domain.name} ({", ".join(splits)}; '
                            f'seed {settings.seed})')
    if arguments.out is not None:
        try:
            arguments.out.write_text(text, encoding='utf-8')
        except OSError as error:
            raise InputError(f'--out {arguments.out}: cannot be written: {error}') from error
    for item in learned.rejected:
        note(f'only held-out states break: {item.rule.name} ({item.held_out.broken} of '
             f'{item.held_out.cases} cases)')
    note(f'{learned.candidates} candidates, {learned.unbroken} unbroken, '
         f'{len(learned.rejected)} broken by held-out states, {learned.redundant} that follow '
         f'from others, {len(learned.rules)} rules in {learned.seconds:.1f} s'
         + (f': {arguments.out}' if arguments.out else ''))
    if arguments.out is None:
        print(text, end='')
    return _learned_json(domain, settings, learned, arguments.out), DONE


def _learned_json(domain: Domain, settings: RolloutSettings, learned: Learned, out: Path | None,
                  ) -> dict[str, Any]:
    from sightplan_belief.constraints import form

    def rules(items: Sequence[LearnedRule]) -> list[dict[str, Any]]:
        return [{'name': item.rule.name, **form(item.rule),
                 'training': dataclasses.asdict(item.training),
                 'held_out': dataclasses.asdict(item.held_out)} for item in items]

    return {
        'domain': domain.name, 'out': str(out) if out else None,
        'settings': dataclasses.asdict(settings), 'rules': rules(learned.rules),
        'rejected': rules(learned.rejected), 'candidates': learned.candidates,
        'unbroken': learned.unbroken, 'redundant': learned.redundant,
        'training_states': learned.training_states, 'held_out_states': learned.held_out_states,
        'seconds': learned.seconds}


def _splits(arguments: _RolloutArguments, domain: Domain) -> tuple[str, ...]:
    splits = tuple(dict.fromkeys(arguments.split or domain.splits))
    for split in splits:
        domain.split_folder(split)  # an unknown one is an error
    return splits


def check_rules(arguments: CheckArguments) -> Result:
    """Check rules; returns the report, and 1 if one is broken."""
    from sightplan_belief.constraints import read_constraints
    from sightplan_belief.learning.constraints import Sample, completeness
    start = time.monotonic()
    settings = picked(RolloutSettings, arguments)
    check_settings(settings, 'constraints')
    domain = load_domain(arguments.domain)
    constraints = read_constraints(domain, arguments.constraints)
    if not constraints.rules:
        raise InputError(f'{constraints.source}: there are no rules to check (write some, or let '
                         '"sightplan constraints learn" propose them)')
    splits = _splits(arguments, domain)
    rng = random.Random(f'check/{settings.seed}')
    listed = [problem for split in splits for problem in domain.split_problems(split)]
    every = rng.sample(listed, len(listed))
    problems = sorted(every[:settings.problems], key=lambda problem: len(problem.objects))
    with EpisodeBar(transient=True) as bar:
        def sampled(what: str, states: Callable[[Problem], Any]) -> list[Sample]:
            samples = []
            for number, problem in enumerate(problems):
                bar.stage(what, number, len(problems))
                samples.append(Sample.of(problem, domain.schema, states(problem)))
            return samples

        model = sampled('problems in the model', lambda problem: model_states(
            problem, settings.rollouts, settings.steps, rng))
        # How the others begin, too: for rules that are never broken, not for rates of others.
        begun = [*model, *(Sample.of(problem, domain.schema, model_states(problem, 1, 0, rng))
                           for problem in every[settings.problems:])]
        world = None
        if arguments.world:
            with _open_world(domain) as states:
                world = sampled('problems in the world', lambda problem: states(
                    problem, settings, rng, arguments.failure_probability))
        bar.stage('possible states', 0, 1)
        smallest = min(listed, key=lambda problem: len(domain.model(problem).atoms))
        complete = completeness(constraints, domain.schema, smallest, arguments.limit)
    rows = [_checked(rule, model if rule.violation_rate else begun, world)
            for rule in constraints.rules]
    good = all(row['ok'] for row in rows)
    report = {
        'domain': domain.name, 'constraints': constraints.source, 'sha256': constraints.sha256,
        'settings': {**dataclasses.asdict(settings), 'splits': splits},
        'problems': len(every),
        'states': {'model': sum(len(s.states) for s in begun),
                   'world': None if world is None else sum(len(s.states) for s in world)},
        'rules': rows,
        'completeness': {**dataclasses.asdict(complete), 'exact': complete.exact},
        'ok': good, 'seconds': time.monotonic() - start}
    _show(report, constraints)
    return report, DONE if good else FAILED


@contextmanager
def _open_world(domain: Domain) -> Iterator[Callable[..., Any]]:
    """Yields a function that gives the true states of the world, for a problem."""
    from sightplan.runs import make_world
    world = make_world(domain.reference)
    try:
        if not isinstance(world, TruthSource):
            raise InputError(f'the world of domain {domain.name} offers no ground truth (leave '
                             'out --world)')
        yield lambda problem, settings, rng, failures: world_states(
            world, world, problem, settings.rollouts, settings.steps, rng, failures)
    finally:
        close(world)


def _checked(rule: Rule, model: Sequence[Sample], world: Sequence[Sample] | None,
             ) -> dict[str, Any]:
    """A rule's line of the report."""
    from sightplan_belief.learning.constraints import count_all, find_violation
    declared = rule.violation_rate
    counts: dict[str, dict[str, Any] | None] = {'model': _counted(count_all(rule, model)),
                                                'world': None}
    if world is not None:
        counts['world'] = _counted(count_all(rule, world))
    found = [count for count in counts.values() if count is not None]
    measured = found[-1]
    example = None
    if not any(count['cases'] for count in found):
        verdict, good = 'not seen', True
    elif not declared:
        good = not any(count['broken'] for count in found)
        verdict = 'holds' if good else 'broken'
        violation = find_violation(rule, [*model, *(world or ())])
        if violation is not None:
            example = {'problem': violation.problem,
                       'atoms': {str(atom): true for atom, true in violation.atoms.items()}}
    else:
        good = measured['low'] <= declared <= measured['high']
        verdict = 'fits' if good else 'off'
    return {'name': rule.name, 'violation_rate': declared, **counts, 'ok': good,
            'verdict': verdict, 'example': example}


def _counted(count: Count) -> dict[str, Any]:
    from sightplan.metrics import wilson
    low, high = wilson(count.broken, count.cases)
    return {'cases': count.cases, 'broken': count.broken,
            'rate': count.broken / count.cases if count.cases else None, 'low': low, 'high': high}


def _show(report: dict[str, Any], constraints: Constraints) -> None:
    places = [where for where, number in report['states'].items() if number is not None]
    states = ', '.join(f'{report["states"][where]} states of the {where}' for where in places)

    def bounds(row: Mapping[str, Any]) -> str:
        low, high = row[places[-1]]['low'], row[places[-1]]['high']
        return f'{low:.4f}-{high:.4f}' if low else f'< {high:.4f}'

    print_table(('rule', 'declared', *places, '95 %', 'verdict'), [
        (row['name'], f'{row["violation_rate"]:g}' if row['violation_rate'] else 'never',
         *(f'{row[where]["broken"]}/{row[where]["cases"]}' for where in places), bounds(row),
         row['verdict'] if row['ok'] else row['verdict'].upper()) for row in report['rules']],
        f'{constraints.source}\n{states}; {report["problems"]} problems')
    for row in report['rules']:
        if row['example'] is not None:
            atoms = ', '.join(f'{"" if true else "not "}{atom}'
                              for atom, true in row['example']['atoms'].items())
            print(f'"{row["name"]}" is broken in {row["example"]["problem"]}: {atoms}')
    complete = report['completeness']
    allowed, reachable = (
        f'{"at least " if complete[key] >= complete["limit"] else ""}{complete[key]}'
        for key in ('allowed', 'reachable'))
    forbidden = f'; they forbid {complete["forbidden"]} of these' if complete['forbidden'] else ''
    print(f'{complete["problem"]}: the rules allow {allowed} states, {reachable} can be reached '
          f'from its start{forbidden}')
