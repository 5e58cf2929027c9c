"""``sightplan run``: the command line of the runner."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    read_options,
    stop_flag,
)
from sightplan.commands.progress import EpisodeBar
from sightplan.commands.table_argument import OF_TABLES, backend_with
from sightplan.metrics import measures
from sightplan.model import InputError, settings_fields

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
"""


_MOST_REASONS = 5
"""Most reasons for unscored items that are named while a run goes on."""


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan run``."""
    from sightplan.agent import answerer_names, method_names
    from sightplan.commands.domain_argument import add_domain
    from sightplan.grounding import PARSERS
    from sightplan.report.rerun_log import TARGETS
    from sightplan.runs import RunSettings
    from sightplan.vlm.api import backend_names
    about = {f.name: f for f in settings_fields(RunSettings)}
    parser = add_command(
        subparsers, 'run', run_episodes, 'run episodes in this process and score them',
        'Run a method on the problems of a split (or a folder) and score it against ground truth.',
        examples=_EXAMPLES, exits='0 done; 1 the run failed (broken off, or not one episode could '
        'be scored, or not one reply be read); 2 bad usage', kept='finished episodes are kept')

    def add(group: Any, name: str, **extra: Any) -> None:
        info = about[name]
        extra.setdefault('help', info.description.replace('%', '%%') + (
            f' (default: {info.default})' if info.default not in ('', 0) else ''))
        group.add_argument(f'--{name.replace("_", "-")}', default=info.default,
                           type=info.type, **extra)

    what = parser.add_argument_group('what to run')
    add(what, 'suite', metavar='NAME|FOLDER')
    add_domain(what, optional=True)
    add(what, 'split')
    add(what, 'problems', metavar='DIR')
    add(what, 'domain_file', metavar='FILE')
    add(what, 'method', choices=sorted({*method_names(), *answerer_names()}))
    what.add_argument('--method-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the method (repeatable), such as on_unparsed=stop')
    add(what, 'backend', choices=backend_names())
    parser.set_defaults(backend=None)  # so that one that is given is told from none
    what.add_argument('--backend-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the backend (repeatable)')
    add(what, 'answers', choices=tuple(PARSERS))
    what.add_argument('--table', metavar='NAME', help=f'short for --backend {OF_TABLES} '
                      '--backend-option table=NAME: "perfect", a model such as gpt-4.1, or the '
                      'path of a .json or .yaml file')
    what.add_argument('--world-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of the simulated world (repeatable)')
    what.add_argument('--suite-option', action='append', default=[], metavar='KEY=VALUE',
                      help='setting of a suite of samples (repeatable), such as data=DIR')
    how = parser.add_argument_group('how much, how long')
    for name in ('episodes', 'seed', 'max_actions'):
        add(how, name)
    for name in ('stop_at_goal', 'privileged', 'goal'):
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
    add(where, 'bags_kept')
    where.add_argument('--record', action='store_true', help=about['record'].description)
    where.add_argument('--record-images', action='store_true',
                       help=about['record_images'].description)
    where.add_argument('--rerun', metavar='TARGET', help='show image, belief, plan and answers in '
                       f'the Rerun viewer while they come: {TARGETS} (make extras)')


def settings_from(arguments: argparse.Namespace) -> Any:
    """The RunSettings of parsed arguments.

    Raises:
        InputError: an option cannot be read; names it.
    """
    from sightplan.agent import answerer_settings, policy_settings
    from sightplan.runs import RunSettings
    from sightplan.runs.suite_finding import sample_suite
    from sightplan.vlm.api import backend_settings
    values = {f.name: getattr(arguments, f.name) for f in settings_fields(RunSettings)}
    values['backend'] = (backend_with(arguments.table, arguments.backend)
                         or RunSettings().backend)
    domain = values.pop('domain')
    pairs = list(arguments.backend_option)
    if arguments.table is not None:
        if any(pair.startswith('table=') for pair in pairs):
            raise InputError('--table and --backend-option table=NAME say the same; leave one of '
                             'the two out')
        pairs.append(f'table={arguments.table}')
    suite = sample_suite(values['suite'], values['split'])
    method_settings = policy_settings if suite is None else answerer_settings
    suite_pairs = list(arguments.suite_option)
    if domain is not None and suite is None:
        values['domain'] = domain
    elif domain is not None:
        suite_pairs.append(f'domain={domain}')
    return RunSettings(
        **values,
        backend_options=read_options(
            pairs, type(backend_settings(values['backend'])), '--backend-option'),
        method_options=read_options(
            arguments.method_option, type(method_settings(values['method'])), '--method-option'),
        world_options=read_options(arguments.world_option, None, '--world-option'),
        suite_options=read_options(suite_pairs, None if suite is None else suite.settings,
                                   '--suite-option'))


def run_episodes(arguments: argparse.Namespace) -> Result:
    """Run and show; returns the summary, and 1 if the run was broken off or nothing is scored."""
    from sightplan.report.rerun_log import RerunLog
    from sightplan.runs import run, why_useless
    from sightplan.runs.suite_finding import sample_suite
    with stop_flag() as stop, ExitStack() as stack:
        settings = settings_from(arguments)
        if arguments.rerun and sample_suite(settings.suite, settings.split) is not None:
            raise InputError(f'--rerun shows episodes, and split {settings.split!r} of suite '
                             f'{settings.suite} has samples; leave it out')
        bar = stack.enter_context(ProgressBar())
        viewers = [stack.enter_context(RerunLog(target))
                   for target in (arguments.rerun,) if target]
        summary = run(settings, bar, cancelled=stop, recorders=viewers)
    show(summary)
    useless = '' if summary['interrupted'] else why_useless(summary)
    if useless:
        note(f'sightplan run: {useless}')
    if summary['interrupted']:
        if summary['stopped_by']:
            note(f'sightplan run: {summary["stopped_by"]}')
        what = 'samples' if summary['episodes'] is None else 'episodes'
        note(f'sightplan run: broken off after {summary["items"]} of {summary["planned"]} {what}; '
             f'the same command with --out {summary["out"]} goes on from there')
    return summary, FAILED if summary['interrupted'] or useless else DONE


def show(summary: Mapping[str, Any]) -> None:
    """Print a run's scores as a table."""
    from rich.console import Console
    from rich.table import Table
    console = Console()
    table = Table(title=f'{summary["out"]}', title_justify='left', show_header=False)
    table.add_column(justify='left')
    table.add_column(justify='left', overflow='fold')
    for name, value in rows(summary):
        table.add_row(name, value)
    console.print(table)


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of the final table: of any suite, then what only episodes have."""
    episodes = summary['episodes'] is not None
    lines = [('episodes' if episodes else 'samples',
              f'{summary["items"]} of {summary["planned"]}')]
    if summary['success_rate'] is not None:
        low, high = summary['interval95']
        text = f'{summary["solved"]} of {summary["scored"]}: {summary["success_rate"]:.3f}'
        text += f', 95 % interval {low:.3f} to {high:.3f}'
        if summary['sem'] is not None:
            text += f', standard error {summary["sem"]:.3f}'
        lines.append(('solved', text))
    for split, success in summary.get('splits', {}).items():
        if success['success_rate'] is not None:
            low, high = success['interval95']
            lines.append((f'  {split}', f'{success["success_rate"]:.3f}, {low:.3f} to {high:.3f}'))
    lines += [(name.replace('_', ' '), measure_text(found))
              for name, found in summary['measures'].items()
              if name != 'solved' and found['value'] is not None]
    if episodes:
        lines += _episode_rows(summary)
    if summary['unread']:
        lines.append(('unread', f'{summary["unread"]} replies (they count as wrong)'
                      + _reasons(summary, 'unread')))
    if summary['usage']:
        used = summary['usage']
        cost = '' if used['cost_usd'] is None else f', {used["cost_usd"]:.4f} USD'
        tokens = f'{used["prompt_tokens"]} tokens in, {used["completion_tokens"]} out'
        lines.append(('usage', f'{used["requests"]} requests, {tokens}{cost}'))
    if summary['errors']:
        items = 'episodes' if episodes else 'samples'
        lines.append(('errors', f'{summary["errors"]} {items} (not scored)'
                      + _reasons(summary, 'errors')))
    if summary['repeated_lines']:
        lines.append(('repeated lines', f'{len(summary["repeated_lines"])} left out: '
                      + ', '.join(summary['repeated_lines'][:5])))
    if summary['problems_skipped']:
        lines.append(('skipped problems', '\n'.join(summary['problems_skipped'])))
    stages = ', '.join(f'{stage} {seconds:.1f}'
                       for stage, seconds in summary.get('stage_seconds', {}).items())
    lines.append(('seconds', f'{summary["seconds"]:.1f}' + (f' ({stages})' if stages else '')))
    return lines


def _reasons(summary: Mapping[str, Any], kind: str) -> str:
    """The most frequent reasons, each on a line of its own."""
    return ''.join(f'\n{count} x {why}' for why, count in summary['reasons'][kind].items())


def measure_text(found: Mapping[str, Any]) -> str:
    """An aggregated measure in words: value and 95 % interval."""
    if found['value'] is None:
        return '-'
    text = f'{found["value"]:.4g}'
    if found['interval95'] is not None:
        low, high = found['interval95']
        text += f', 95 % interval {low:.4g} to {high:.4g}'
    return text


def _episode_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    for predicate, counts in summary['predicates'].get('enumeration', {}).items():
        every, yes, no = (_rate(counts[key])
                          for key in ('accuracy', 'yes_accuracy', 'no_accuracy'))
        lines.append((f'  {predicate}', f'{every} (true atoms {yes}, false atoms {no})'))
    if summary['proposals']:
        kinds = ', '.join(f'{k} {v}' for k, v in summary['proposals'].items())
        lines.append(('proposals', kinds + (f' ({summary["repaired"]} after a repair)'
                                            if summary['repaired'] else '')))
        lines.append(('executable actions', f'{_rate(summary["executable"])}'))
    if summary['questions']:
        lines.append(('all questions', f'{summary["questions"]}'
                      + (f', {summary["unparsed"]} unreadable answers'
                         if summary['unparsed'] else '')
                      + (f', {summary["unknown"]} unknown' if summary['unknown'] else '')))
    if summary['privileged_facts']:
        facts = summary['privileged_facts_per_episode'] or 0
        lines.append(('provided', f'{facts:.1f} facts about what is out of view per episode'))
    lines.append(('ended by', ', '.join(f'{k} {v}' for k, v in summary['stops'].items()) or '-'))
    if summary['failures']['causes']:
        lines.append(('failed by', ', '.join(
            f'{cause} {n}' for cause, n in summary['failures']['causes'].items())))
    return lines


def _rate(value: float | None) -> str:
    return '-' if value is None else f'{value:.4f}'


class ProgressBar(EpisodeBar):
    """Progress on standard error: a bar on a terminal, lines elsewhere."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """Open the bar."""
        for text in skipped:
            self.say(f'skipped: {text}')
        self.say(f'results: {out}' + (f' ({len(done)} items are there already)' if done else ''))
        self._said_why: set[str] = set()
        self._good = sum(map(_good, done))
        self._scored = sum(map(measures.scored, done))
        self.begin('items', total, len(done))

    def item(self, line: Mapping[str, Any]) -> None:
        """Advance."""
        self._scored += measures.scored(line)
        self._good += _good(line)
        sample = line['kind'] == 'sample'
        text = f'{"right" if sample else "solved"} {self._good} of {self._scored}'
        self.update(self.done + 1, text)
        if not measures.scored(line) and (sample or not self.plain):
            self._say_why(line)
        if not self.plain:
            return
        if sample:  # one line for every twentieth of the run
            if self.done * 20 // self.total > (self.done - 1) * 20 // self.total:
                self.say(f'[{self.done}/{self.total}] {text}, ETA {self.time_left}')
            return
        verdict = ('solved' if _good(line) else 'not solved') if measures.scored(line) else (
            f'not scored ({line["error"] or "there is no ground truth"})')
        self.say(f'[{self.done}/{self.total}] {line["id"]}: {verdict}, '
                 f'{line["steps"]} actions, {line["stop"]}, {line["seconds"]:.1f} s, '
                 f'ETA {self.time_left}')


    def _say_why(self, line: Mapping[str, Any]) -> None:
        """Name the reason for which an item is not scored, once for each of the first ones."""
        why = str(line['error'] or 'there is no ground truth')
        if why not in self._said_why and len(self._said_why) < _MOST_REASONS:
            self._said_why.add(why)
            self.say(f'{line["id"]}: not scored ({why})')


def _good(line: Mapping[str, Any]) -> bool:
    """Whether an item is scored, and nothing made it fail."""
    return measures.scored(line) and line['cause'] is None
