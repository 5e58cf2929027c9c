"""``sightplan suite``: the benchmarks, and what can be done with the data of each."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import REQUIRED, CommandParser, option
from sightplan.commands.frame import DONE, FAILED, USAGE, Result, add_command, read_options
from sightplan.commands.shared_flags import settings_flag
from sightplan.console.results_table import measure_text
from sightplan.model import InputError, counted, user_path
from sightplan.model.settings import NoSettings

if TYPE_CHECKING:
    from sightplan.metrics.measures import Measure
    from sightplan.runs.suite import Suite
    from sightplan.runs.suite_parts import CheckReport

_EXAMPLES = """\
examples:
  sightplan suite list
  sightplan suite predicates --help
  sightplan suite predicates generate --out my_pictures --count 10 --seed 1
  sightplan suite predicates check --data my_pictures
  sightplan suite predicates score --data my_pictures --predictions answers.jsonl
  sightplan suite ./my_suite check --data my_data
  sightplan suite questions.csv contract

Every suite has contract and score; suites with folders of data have check, suites that draw data
generate, and some have more verbs of their own.

exit codes: 0 done; 1 some data cannot be used; 2 bad usage or bad files.
"""
_VERBS = ('0 done; 1 some of it cannot be used, or is not as it says; '
          '2 bad usage or bad files')


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments:
    """Arguments of a suite's verb ``check``."""

    data: Path = option(REQUIRED, "folder of data in the suite's format", metavar='DIR')


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateArguments:
    """Arguments of the verb ``generate``; a suite may derive its own in its ``commands.py``."""

    out: Path = option(REQUIRED, 'folder for the files; it is made', metavar='DIR')
    count: int = option(
        25, 'how much of it: pictures, problems, ... of each kind that the suite has')
    seed: int = option(0, 'one seed always gives the same files', metavar='S')


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreArguments:
    """Arguments of the verb ``score``; a suite may derive its own in its ``commands.py``."""

    data: Path | None = option(
        None, "folder of data in the suite's format (default: what a run of these lines had, else "
        'what the suite has by itself)', metavar='DIR')
    predictions: Path = option(
        REQUIRED, 'JSON lines: {"id": ..., "answer": the text of the reply}; of episodes the '
        "answer is the list of the actions, carried out by the rules of the suite; or a run's "
        'episodes.jsonl; the README of a suite says what else it takes', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAgainArguments(ScoreArguments):
    """Arguments of the verb ``score`` of a suite that has no such verb of its own."""

    new_truths: bool = option(
        False, "score a run's answers by truths that have been corrected since: nothing else of "
        'its samples may have changed')


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractArguments:
    """Arguments of a suite's verb ``contract``."""

    suite_option: tuple[str, ...] = settings_flag('its samples, such as data=DIR,')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan suite``; the verbs depend on the suite and are read later."""
    parser = subparsers.add_parser(
        'suite', help='list the suites; check, generate and score their data',
        description='List the suites (benchmarks), or work with the data of one.',
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('suite', metavar='list|NAME|PATH',
                        help='list them; or a suite, by its name or the path of its folder or '
                        'file, such as a table of questions (.csv)')
    parser.add_argument('verb', nargs=argparse.REMAINDER, metavar='VERB ...',
                        help='what to do with it: check, generate, score, ...')
    parser.set_defaults(main=functools.partial(main, parser.prog))


def main(prog: str, arguments: argparse.Namespace) -> int:
    """Read the verb with the suite's own parser, and run it; returns the exit code."""
    if arguments.suite == 'list':
        commands = CommandParser(prog=prog).add_subparsers(prog=prog)
        add_command(commands, 'list', list_suites, 'list the suites')
        parsed = commands.choices['list'].parse_args(arguments.verb)
    else:
        try:
            parser = verbs_of(arguments.suite, prog)
        except InputError as error:
            print(f'{prog}: {error}', file=sys.stderr)
            return USAGE
        parsed = parser.parse_args(arguments.verb)
    code: int = parsed.main(parsed)
    return code


def verbs_of(name: str, prog: str = 'sightplan suite') -> CommandParser:
    """Return a parser with the verbs of a suite: those of every suite, and its own.

    Args:
        name: name of the suite, or the path of its folder.
        prog: the command line before the name.

    Raises:
        InputError: there is no such suite, or its ``commands.py`` cannot be used.
    """
    from sightplan.runs.suite_finding import load_suite
    suite = load_suite(name)
    parser = CommandParser(prog=f'{prog} {name}')
    parser.description = f'{suite.title}: {suite.paper}' if suite.paper else suite.title
    verbs = parser.add_subparsers(dest='verb', required=True, metavar='VERB')

    own = suite.verbs
    if own.check is not None or suite.can_check:
        add_command(verbs, 'check', functools.partial(own.check or check, suite),
                    'count what is in a folder of data, and say what cannot be used and why',
                    settings=own.check_arguments or CheckArguments, exits=_VERBS)
    add_command(verbs, 'contract', functools.partial(contract, suite),
                'check that the suite itself is sound: its measures, samples, reading and '
                'scoring; no model is needed', settings=ContractArguments,
                exits='0 it is; 1 it is not, which is said; 2 bad usage or bad files')
    if own.generate is not None or suite.can_generate:
        add_command(verbs, 'generate', functools.partial(own.generate or generate, suite),
                    'write a folder of data, drawn from a seed', exits=_VERBS,
                    settings=own.generate_arguments or GenerateArguments)
    add_command(verbs, 'score', functools.partial(own.score or score, suite),
                'score answers that came from elsewhere; no model is needed', exits=_VERBS,
                settings=own.score_arguments or (
                    ScoreAgainArguments if own.score is None else ScoreArguments))
    if own.add_parsers is not None:
        own.add_parsers(verbs)
    return parser


def list_suites(settings: NoSettings) -> Result:
    """List all suites that are found by name."""
    from sightplan.runs import load_suite, suite_names
    suites: list[dict[str, Any]] = []
    unusable: list[dict[str, str]] = []
    for name in suite_names():
        try:
            suite = load_suite(name)
            measures = {kind: suite.measures(kind) for kind in suite.kinds}
        except InputError as error:
            unusable.append({'name': name, 'reason': str(error)})
            continue
        suites.append({
            'name': name, 'title': suite.title, 'paper': ' '.join(suite.paper.split()),
            'kind': suite.kind,
            'splits': list(dict.fromkeys((*(
                split for rules in suite.domains.values() for split in rules.splits),
                *suite.splits))),
            'domains': list(suite.domains),
            'measures': list(dict.fromkeys(
                measure.name for found in measures.values() for measure in found)),
            'primary': next(iter(_primary(measures)), None), 'primaries': _primary(measures),
            'folder': str(suite.folder)})
    for found in suites:
        print(f'{found["name"]:16} {found["kind"]:9} {found["title"]} '
              f'({", ".join(found["splits"])}; {", ".join(found["primaries"]) or "no measure"})')
    for wrong in unusable:
        print(f'sightplan suite: {wrong["name"]} cannot be used: {wrong["reason"]}',
              file=sys.stderr)
    return {'suites': suites, 'unusable': unusable}, FAILED if unusable else DONE


def _primary(measures: Mapping[str, Sequence[Measure]]) -> list[str]:
    """Return the names of a suite's primary measures, one for each kind of its items."""
    return [measure.name for found in measures.values() for measure in found if measure.primary]


def check(suite: Suite, arguments: CheckArguments) -> Result:
    """Count the usable and unusable entries in a folder of data."""
    return print_check(suite, arguments.data, suite.check(user_path(arguments.data)))


def print_check(suite: Suite, data: Path, report: CheckReport) -> Result:
    """Print the report on a folder of data; returns it as plain data."""
    for name, count in report.counts.items():
        print(f'{name:24} {count}')
    for word, items in (('skipped', report.skipped), ('usable, but', report.noted)):
        for item in items:
            print(f'{word}: {item["file"]}: {item["reason"]}')
    usable = any(report.counts.values()) and not report.skipped and not report.noted
    return ({'suite': suite.name, 'data': str(data), **dataclasses.asdict(report)},
            DONE if usable else FAILED)


def contract(suite: Suite, arguments: ContractArguments) -> Result:
    """Check a suite itself."""
    from sightplan.runs.suite_contract import check_suite
    options = read_options(arguments.suite_option, suite.settings, '--suite-option')
    found, count = check_suite(suite, options)
    for sentence in found:
        print(sentence)
    if not found:
        print(f'suite {suite.name} keeps its contract'
              + (f': {counted(count, "sample")}' if count else ''))
    return {'suite': suite.name, 'violations': found, 'samples': count}, FAILED if found else DONE


def generate(suite: Suite, arguments: GenerateArguments) -> Result:
    """Write a folder of data."""
    out = user_path(arguments.out)
    written = suite.generate(out, arguments.count, arguments.seed)
    print(', '.join(f'{count} {name}' for name, count in written.items()) + f' in {out}')
    return {'suite': suite.name, 'out': str(out), 'count': arguments.count,
            'seed': arguments.seed, **written}, DONE


def score(suite: Suite, arguments: ScoreArguments,
          options: Mapping[str, Any] | None = None) -> Result:
    """Score a file of predictions; ``options`` are further settings of the suite's samples."""
    from sightplan.runs.predictions import score_predictions
    found = score_predictions(suite, None if arguments.data is None else user_path(arguments.data),
                              user_path(arguments.predictions), options,
                              isinstance(arguments, ScoreAgainArguments) and arguments.new_truths)
    bounds = {measure.name: measure.bounded_by for kind in suite.kinds
              for measure in suite.measures(kind)}
    for name, measure in found['measures'].items():
        beside = f' (read it beside {bounds[name]})' if bounds.get(name) else ''
        print(f'{name:24} {measure_text(measure)}{beside}')
    print(f'{"unread":24} {found["unread"]} of {found["items"]} answers')
    for name, count in found.get('causes', {}).items():
        print(f'cause {name:18} {count}')
    if found['changed']:
        changed = counted(len(found['changed']), 'sample')
        print(f'sightplan suite: WARNING: the truth of {changed} is another one in '
              f'{arguments.data or suite.source} than it was in the run, such as that of '
              f'{found["changed"][0]}; the scores are not those of the run', file=sys.stderr)
    if found['missing']:
        print(f'sightplan suite: {len(found["missing"])} items have no answer and are not '
              f'scored, such as {found["missing"][0]}', file=sys.stderr)
    return {'suite': suite.name, **found}, DONE

