"""``sightplan run``: the command line of the runner."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sightplan.commands.progress import EpisodeBar
from sightplan.metrics import measures
from sightplan.model import InfrastructureError, InputError, settings_fields

_DONE, _FAILED, _USAGE = 0, 1, 2

_EXAMPLES = """\
examples:
  sightplan run --split simple --episodes 5
  sightplan run --split hard --method ground --table gpt-4.1 --seed 3
  sightplan run --method plan_cot --backend transformers --backend-option model=DIR
  sightplan run --method action --backend scripted --backend-option script=replies.yaml
  sightplan run --method oracle --split all --json
  sightplan run --split hard --bags failed
  sightplan run --method belief --rerun episode.rrd --episodes 1
  sightplan run --problems my_problems/ --domain-file my_domain.pddl --out runs/mine

results (in --out): run.json (what was run), episodes.jsonl (a line per finished episode),
summary.json (scores); with --bags, bags/ (all that happened, for "sightplan replay" and viewers).
The same command with the same --out takes up a run that was broken off.

exit codes: 0 done; 1 the run failed (broken off, or not one episode could be scored); 2 bad usage.
"""


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan run``."""
    from sightplan.agent import method_names
    from sightplan.domains import domain_names
    from sightplan.grounding import PARSERS
    from sightplan.report.rerun_log import TARGETS
    from sightplan.runs import RunSettings
    from sightplan.vlm.api import backend_names
    about = {f.name: f for f in settings_fields(RunSettings)}
    parser = subparsers.add_parser(
        'run', help='run episodes in this process and score them',
        description='Run a method on the problems of a split (or a folder) and score it against '
                    'ground truth.',
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(group: Any, name: str, **extra: Any) -> None:
        info = about[name]
        extra.setdefault('help', info.description.replace('%', '%%') + (
            f' (default: {info.default})' if info.default not in ('', 0) else ''))
        group.add_argument(f'--{name.replace("_", "-")}', default=info.default,
                           type=info.type, **extra)

    what = parser.add_argument_group('what to run')
    add(what, 'suite', metavar='NAME|FOLDER')
    add(what, 'domain', choices=domain_names())
    add(what, 'split')
    add(what, 'problems', metavar='DIR')
    add(what, 'domain_file', metavar='FILE')
    add(what, 'method', choices=method_names())
    what.add_argument('--method-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the method (repeatable), such as on_unparsed=stop')
    add(what, 'backend', choices=backend_names())
    what.add_argument('--backend-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the backend (repeatable)')
    add(what, 'answers', choices=tuple(PARSERS))
    what.add_argument('--table', metavar='NAME', help='short for --backend noisy_oracle '
                      '--backend-option table=NAME: "perfect", a model such as gpt-4.1, or the '
                      'path of a .json or .yaml file')
    what.add_argument('--world-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the simulated world (repeatable)')
    what.add_argument('--suite-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of a suite of samples (repeatable), such as data=DIR')
    how = parser.add_argument_group('how much, how long')
    for name in ('episodes', 'seed', 'max_actions'):
        add(how, name)
    for name in ('stop_at_goal', 'privileged'):
        add(how, name, choices=about[name].choices)
    for name in ('failure_probability', 'planner_search', 'planner_timeout_s',
                 'grounder_timeout_s', 'propose_timeout_s'):
        add(how, name)
    where = parser.add_argument_group('results')
    add(where, 'out', metavar='DIR')
    where.add_argument('--no-resume', dest='resume', action='store_false',
                       help='refuse to take up a run that is already in --out')
    where.add_argument('--retry-errors', action=argparse.BooleanOptionalAction, default=True,
                       help=about['retry_errors'].description)
    where.add_argument('--answers-log', action='store_true',
                       help=about['answers_log'].description)
    where.add_argument('--failure-images', action=argparse.BooleanOptionalAction, default=True,
                       help=about['failure_images'].description)
    add(where, 'bags', choices=about['bags'].choices)
    where.add_argument('--record', action='store_true', help=about['record'].description)
    where.add_argument('--record-images', action='store_true',
                       help=about['record_images'].description)
    where.add_argument('--rerun', metavar='TARGET', help='show image, belief, plan and answers in '
                       f'the Rerun viewer while they come: {TARGETS} (make extras)')
    where.add_argument('--json', action='store_true',
                       help='print the summary as one JSON object, the last line of standard '
                            'output; all else goes to standard error')
    parser.set_defaults(main=main)


def settings_from(arguments: argparse.Namespace) -> Any:
    """The RunSettings of parsed arguments.

    Raises:
        InputError: an option cannot be read; names it.
    """
    from sightplan.agent import policy_settings
    from sightplan.runs import RunSettings
    from sightplan.vlm.api import backend_settings
    values = {f.name: getattr(arguments, f.name) for f in settings_fields(RunSettings)}
    pairs = list(arguments.backend_option)
    if arguments.table is not None:
        values['backend'] = 'noisy_oracle'
        pairs.append(f'table={arguments.table}')
    return RunSettings(
        **values,
        backend_options=read_options(
            pairs, type(backend_settings(values['backend'])), '--backend-option'),
        method_options=read_options(
            arguments.method_option, type(policy_settings(values['method'])), '--method-option'),
        world_options=read_options(arguments.world_option, None, '--world-option'),
        suite_options=read_options(arguments.suite_option, None, '--suite-option'))


def read_options(pairs: Sequence[str], settings: type | None, flag: str) -> dict[str, Any]:
    """Read KEY=VALUE pairs; values get the type of the setting they are for.

    Args:
        pairs: as on the command line.
        settings: settings dataclass; None: values are read as JSON, else taken as text.
        flag: name of the option, for messages.

    Raises:
        InputError: a pair has no "=", an unknown key, or a value of another type.
    """
    fields = {f.name: f for f in settings_fields(settings)} if settings is not None else {}
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition('=')
        if not equals or not key:
            raise InputError(f'{flag} {pair!r} must have the form KEY=VALUE')
        if settings is None:
            try:
                options[key] = json.loads(text)
            except ValueError:
                options[key] = text
            continue
        if key not in fields:
            raise InputError(f'{flag}: there is no setting {key!r}; there are '
                             f'{", ".join(fields) or "none"}')
        options[key] = _convert(text, fields[key].type, f'{flag} {pair!r}')
    return options


def _convert(text: str, kind: type, where: str) -> Any:
    if kind is bool:
        if text.lower() not in ('true', 'false'):
            raise InputError(f'{where}: must be true or false')
        return text.lower() == 'true'
    try:
        return kind(text)
    except ValueError as error:
        raise InputError(f'{where}: must be a {kind.__name__}') from error


def main(arguments: argparse.Namespace) -> int:
    """Run, show, report; returns the exit code."""
    from sightplan.report.rerun_log import RerunLog
    from sightplan.runs import run
    with stop_flag() as stop:
        try:
            settings = settings_from(arguments)
            with ExitStack() as stack:
                bar = stack.enter_context(ProgressBar())
                viewers = [stack.enter_context(RerunLog(target))
                           for target in (arguments.rerun,) if target]
                summary = run(settings, bar, cancelled=stop, recorders=viewers)
        except InputError as error:
            print(f'sightplan run: {error}', file=sys.stderr)
            return _USAGE
        except InfrastructureError as error:
            print(f'sightplan run: {type(error).__name__}: {error}', file=sys.stderr)
            return _FAILED
        except KeyboardInterrupt:
            print('sightplan run: interrupted; finished episodes are kept', file=sys.stderr)
            return _FAILED
    show(summary, sys.stderr if arguments.json else sys.stdout)
    if summary['interrupted']:
        if summary['stopped_by']:
            print(f'sightplan run: {summary["stopped_by"]}', file=sys.stderr)
        print(f'sightplan run: broken off after {summary["episodes"]} of {summary["planned"]} '
              f'episodes; the same command with --out {summary["out"]} goes on from there',
              file=sys.stderr)
    if arguments.json:
        print(json.dumps(summary, allow_nan=False), flush=True)
    return _FAILED if summary['interrupted'] or not summary['scored'] else _DONE


def show(summary: Mapping[str, Any], stream: Any) -> None:
    """Print a run's scores as a table."""
    from rich.console import Console
    from rich.table import Table
    console = Console(file=stream)
    table = Table(title=f'{summary["out"]}', title_justify='left', show_header=False)
    table.add_column(justify='left')
    table.add_column(justify='left', overflow='fold')
    for name, value in rows(summary):
        table.add_row(name, value)
    console.print(table)


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of the final table."""
    low, high = summary['interval95']
    accuracy = summary['predicate_accuracy']
    lines = [('episodes', f'{summary["episodes"]} of {summary["planned"]}')]
    if summary['scored']:
        rate, error = summary['success_rate'], summary['sem']
        text = f'{summary["solved"]} of {summary["scored"]}: {rate:.3f}'
        text += f', 95 % interval {low:.3f} to {high:.3f}, standard error {error:.3f}'
        lines.append(('solved', text))
    for split, success in summary.get('splits', {}).items():
        if success['success_rate'] is not None:
            low, high = success['interval95']
            lines.append((f'  {split}', f'{success["success_rate"]:.3f}, {low:.3f} to {high:.3f}'))
    if accuracy['overall'] is not None:
        lines.append(('predicate accuracy', f'{accuracy["overall"]:.4f}'))
        counts = summary['predicates']['enumeration']
        for predicate, value in accuracy['per_predicate'].items():
            yes, no = (counts[predicate][f'{side}_accuracy'] for side in ('yes', 'no'))
            sides = f'true atoms {_share(yes)}, false atoms {_share(no)}'
            lines.append((f'  {predicate}', f'{_share(value)} ({sides})'))
    if summary['action_accuracy'] is not None:
        lines.append(('action accuracy', f'{summary["action_accuracy"]:.3f}'))
    if summary['proposals']:
        kinds = ', '.join(f'{k} {v}' for k, v in summary['proposals'].items())
        lines.append(('proposals', kinds + (f' ({summary["repaired"]} after a repair)'
                                            if summary['repaired'] else '')))
        lines.append(('executable actions', f'{_share(summary["executable"])}'))
    ratio = summary['plans']['length_ratio']
    if ratio['mean'] is not None:
        lines.append(('actions / optimum', f'mean {ratio["mean"]:.2f}, most {ratio["max"]:.2f}'))
    if summary['questions']:
        lines.append(('questions', f'{summary["questions"]} '
                      f'({summary["questions_per_episode"] or 0:.1f} per episode)'
                      + (f', {summary["unparsed"]} unreadable answers'
                         if summary['unparsed'] else '')))
    if summary['told']:
        facts = summary['told_per_episode'] or 0
        lines.append(('told', f'{facts:.1f} facts about what is out of view per episode'))
    lines.append(('ended by', ', '.join(f'{k} {v}' for k, v in summary['stops'].items()) or '-'))
    if summary['failures']['causes']:
        lines.append(('failed by', ', '.join(
            f'{cause} {n}' for cause, n in summary['failures']['causes'].items())))
    if summary['usage']:
        used = summary['usage']
        cost = '' if used['cost_usd'] is None else f', {used["cost_usd"]:.4f} USD'
        tokens = f'{used["prompt_tokens"]} tokens in, {used["completion_tokens"]} out'
        lines.append(('usage', f'{used["requests"]} requests, {tokens}{cost}'))
    if summary['errors']:
        lines.append(('errors', f'{summary["errors"]} episodes (not scored)'))
    if summary['problems_skipped']:
        lines.append(('skipped problems', '\n'.join(summary['problems_skipped'])))
    stages = ', '.join(f'{stage} {seconds:.1f}'
                       for stage, seconds in summary['stage_seconds'].items())
    lines.append(('seconds', f'{summary["seconds"]:.1f}' + (f' ({stages})' if stages else '')))
    return lines


def _share(value: float | None) -> str:
    return '-' if value is None else f'{value:.4f}'


class ProgressBar(EpisodeBar):
    """Progress on standard error: a bar on a terminal, a line per episode elsewhere."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """Open the bar."""
        for text in skipped:
            self.say(f'skipped: {text}')
        self.say(f'results: {out}'
                 + (f' ({len(done)} episodes are there already)' if done else ''))
        self._solved, self._scored = (sum(bool(key(line)) for line in done)
                                      for key in (measures.solved, measures.scored))
        self.begin('episodes', total, len(done))

    def item(self, line: Mapping[str, Any]) -> None:
        """Advance."""
        self._scored += measures.scored(line)
        self._solved += bool(measures.solved(line))
        self.update(self.done + 1, f'solved {self._solved} of {self._scored}')
        if self.plain:
            verdict = ('solved' if measures.solved(line) else 'not solved') if (
                measures.scored(line)) else (
                f'not scored ({line["error"]})')
            self.say(f'[{self.done}/{self.total}] {line["id"]}: {verdict}, '
                     f'{line["steps"]} actions, {line["stop"]}, {line["seconds"]:.1f} s, '
                     f'ETA {self.time_left}')


class _Stop:
    """Becomes true at the first Ctrl-C or SIGTERM; the second one interrupts at once."""

    def __init__(self) -> None:
        self._set = False

    def __call__(self) -> bool:
        return self._set

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self._set:
            raise KeyboardInterrupt
        self._set = True
        print('\nstopping after the current step; once more to stop at once', file=sys.stderr)


@contextmanager
def stop_flag() -> Iterator[_Stop]:
    """Turn signals into a flag, and put the handlers back afterwards."""
    stop = _Stop()
    try:
        before = {number: signal.signal(number, stop.handle)
                  for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: the caller has the signals
        yield stop
        return
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
