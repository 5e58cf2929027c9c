"""``sightplan priors``: learn the prior probabilities of a domain."""

from __future__ import annotations

import random
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import option
from sightplan.commands.frame import DONE, Result, add_command, add_group, note, read_options
from sightplan.commands.shared_flags import domain_flag, settings_flag
from sightplan.console.progress import EpisodeBar
from sightplan.domains import Domain, load_domain
from sightplan.model import Action, InputError, PlanningTask, Problem, State, TruthSource
from sightplan.model.plugins import part

if TYPE_CHECKING:
    from sightplan.planning.symbolic import FastDownwardPlanner

_NO_MODEL = 'perfect'  # name of the model in a table without errors

_LARGEST = 2**31 - 1

_EXAMPLES = """\
examples:
  sightplan priors learn --domain household --out priors.yaml --world-option pictures=none
  sightplan priors learn --domain household --leave-out gpt-4.1 --problems 10
"""

_ABOUT = """\
Learn the prior probabilities of a domain's atoms by what is in view, and what becomes of its
actions, from walks through generated problems that are in none of its splits; and how models
answer about it, from the confusion tables that come with the package. The domain's folder holds
the result as priors.yaml.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnArguments:
    """Arguments of ``sightplan priors learn``."""

    domain: str = domain_flag()
    split: tuple[str, ...] = option(
        (), 'problems like those of this split only (may be repeated)', metavar='SPLIT')
    problems: int = option(40, 'problems to walk through, of each split', low=1, high=_LARGEST)
    steps: int = option(12, 'actions in each', low=0, high=_LARGEST)
    first_seed: int = option(100_000, 'seed of the first problem', low=0, high=_LARGEST)
    seed: int = option(0, 'seed of the walks', low=0, high=_LARGEST)
    leave_out: tuple[str, ...] = option(
        (), 'do not learn from this model, or from those whose names begin so (may be repeated)',
        metavar='MODEL')
    world_option: tuple[str, ...] = settings_flag('the world')
    out: Path | None = option(None, 'write it there (default: standard output)', metavar='FILE')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan priors`` with its sub-command."""
    commands = add_group(subparsers, 'priors', 'learn what a domain lets one expect',
                         'Prior probabilities of the atoms of a domain.', _EXAMPLES)
    add_command(commands, 'learn', learn_priors, 'learn a priors.yaml', _ABOUT,
                settings=LearnArguments)


def _command(arguments: LearnArguments, domain: str, splits: Sequence[str]) -> str:
    """Command line that makes the same file again."""
    parts = ['sightplan', 'priors', 'learn', '--domain', domain]
    for flag, values in (
            ('--split', splits), ('--problems', [arguments.problems]),
            ('--steps', [arguments.steps]), ('--first-seed', [arguments.first_seed]),
            ('--seed', [arguments.seed]), ('--leave-out', arguments.leave_out),
            ('--world-option', arguments.world_option)):
        for value in values:
            parts += [flag, str(value)]
    return shlex.join(parts)


def learn_priors(arguments: LearnArguments) -> Result:
    """Learn priors from rollouts, and write them."""
    from sightplan.planning.symbolic import FastDownwardPlanner
    from sightplan.runs import make_world
    from sightplan_belief.learning.priors import Counts, answers_of, as_yaml, walk
    from sightplan_belief.priors import read_priors
    if arguments.out is not None:
        _check_writable(arguments.out)
    domain = load_domain(arguments.domain)
    splits = tuple(dict.fromkeys(arguments.split or domain.splits))
    for split in splits:
        domain.split_folder(split)
    world = make_world(domain.reference, read_options(
        arguments.world_option, None, '--world-option'))
    if not isinstance(world, TruthSource):
        raise InputError(f'the world of domain {domain.name} offers no ground truth')
    left_out = tables_left_out(arguments.leave_out)
    names, tables = confusion_rates(domain, left_out)
    problems = list(_problems(domain, splits, arguments.problems, arguments.first_seed))
    counts, rng = Counts(), random.Random(f'priors/{arguments.seed}')
    with FastDownwardPlanner() as planner, EpisodeBar(transient=True) as bar:
        def plan(problem: Problem, state: State) -> Sequence[Action]:
            return _plan(planner, domain, problem, state)

        for number, problem in enumerate(problems):
            bar.stage('problems', number, len(problems))
            walk(counts, domain, world, problem, arguments.steps, plan, rng)
    text = as_yaml(counts, answers_of(tables), (
        f'Made by "{_command(arguments, domain.name, splits)}": {counts.homes} problems of '
        f'{", ".join(splits)} from seed {arguments.first_seed} on,\nnone of them in a split; '
        f'{counts.states} states of walks of {arguments.steps} actions, half towards the goal. '
        f'Situations: + in view, - not, for\neach argument. Answers: confusion tables of '
        f'{len(tables)} models'
        + (f', without {", ".join(left_out)}' if left_out else '') + '.'),
        read_priors(domain).sights)
    if arguments.out is None:
        print(text, end='')
    else:
        try:
            arguments.out.write_text(text, 'utf-8')
        except OSError as error:
            raise _unwritable(arguments.out, error) from error
    note(f'{counts.homes} problems, {counts.states} states, {len(tables)} models'
         + (f': {arguments.out}' if arguments.out else ''))
    return {'domain': domain.name, 'problems': counts.homes, 'states': counts.states,
            'models': names, 'out': str(arguments.out) if arguments.out else None}, DONE


def _check_writable(path: Path) -> None:
    """Check that a new file can be written.

    Raises:
        InputError: there is such a file, or it cannot be written.
    """
    try:
        path.open('x').close()
        path.unlink()
    except FileExistsError as error:
        raise InputError(f'--out {path}: there is such a file (name another one)') from error
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f'--out {path}: cannot be written ({error.strerror or error}); name a file '
                      'in a folder that is there and that you may write to')


def _problems(domain: Domain, splits: Sequence[str], count: int, first: int,
              ) -> Iterator[Problem]:
    from sightplan.domains.problem_keys import problem_key
    known = {problem_key(problem) for split in domain.splits
             for problem in domain.split_problems(split)}
    generator = domain.generator
    for split in splits:
        settings = generator.SPLITS[split].settings
        for _, problem in generator.generate(
                domain, settings, count, first, accept=lambda p: problem_key(p) not in known):
            yield problem


def _plan(planner: FastDownwardPlanner, domain: Domain, problem: Problem, state: State,
          ) -> Sequence[Action]:
    text = domain.write_problem(problem, state)
    return planner.plan(PlanningTask(domain.pddl, text), 20.0).plan


def tables_left_out(wanted: Sequence[str]) -> list[str]:
    """Names of confusion tables that begin with one of the given texts, in any case.

    Raises:
        InputError: a text begins no name; lists the names.
    """
    names = [name for name in _tables().table_names() if name != _NO_MODEL]
    for text in wanted:
        if not text or not any(name.lower().startswith(text.lower()) for name in names):
            raise InputError(f'--leave-out {text!r}: there is no such model (choose among '
                             f'{", ".join(names)})')
    return [name for name in names
            if any(name.lower().startswith(text.lower()) for text in wanted)]


def _tables() -> Any:
    """The module with the published rates of errors of many models."""
    return part('confusion', 'sightplan_models')


def confusion_rates(domain: Domain, left_out: Collection[str],
                    ) -> tuple[list[str], list[dict[str, tuple[float, float]]]]:
    """Names of models and, by predicate, P(yes | true) and P(yes | false) of each.

    Args:
        domain: whose predicates count.
        left_out: exact names of models that do not.
    """
    tables, names, found = _tables(), [], []
    for name in tables.table_names():
        if name == _NO_MODEL or name in left_out:
            continue
        rates = tables.load_table(name, pseudo_count=0.5).pooled
        row = {}
        for predicate in domain.schema.predicates:
            if predicate in rates:
                missed, invented = rates[predicate].error_true, rates[predicate].error_false
                if missed is not None and invented is not None:
                    row[predicate] = (1.0 - missed, invented)
        if row:
            names.append(name)
            found.append(row)
    return names, found
