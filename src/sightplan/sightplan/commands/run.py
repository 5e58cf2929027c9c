"""``sightplan run``: the command line of the runner."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
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
from sightplan.commands.table_argument import OF_TABLES, backend_with
from sightplan.console.progress import ProgressBar
from sightplan.console.results_table import show
from sightplan.model import InputError, plugins, settings_fields

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


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan run``."""
    from sightplan.agent import every_method
    from sightplan.commands.domain_argument import add_domain
    from sightplan.grounding import PARSERS
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
    add(what, 'method', choices=every_method())
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
                       'the Rerun viewer while they come: FILE.rrd, "spawn" (a viewer on this '
                       'machine) or the URL of one that runs (make extras)')


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
    from sightplan.runs import run, why_useless
    from sightplan.runs.suite_finding import sample_suite
    with stop_flag() as stop, ExitStack() as stack:
        settings = settings_from(arguments)
        if arguments.rerun and sample_suite(settings.suite, settings.split) is not None:
            raise InputError(f'--rerun shows episodes, and split {settings.split!r} of suite '
                             f'{settings.suite} has samples; leave it out')
        bar = stack.enter_context(ProgressBar())
        viewers = [stack.enter_context(
            plugins.part('rerun', 'sightplan_report').RerunLog(arguments.rerun)
        )] if arguments.rerun else []
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
