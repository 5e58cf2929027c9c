"""``sightplan run``: the command line of the runner."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from sightplan.commands.flags import option, option_like
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    read_options,
    stop_flag,
)
from sightplan.commands.shared_flags import (
    backend_flag,
    backend_with,
    domain_flag,
    settings_flag,
    table_flag,
)
from sightplan.console.progress import ProgressBar
from sightplan.console.results_table import show
from sightplan.model import InputError, plugins, settings_fields
from sightplan.runs import RunSettings

_EXAMPLES = """\
examples:
  sightplan run --split simple --episodes 5
  sightplan run --split hard --method ground --table gpt-4.1 --seed 3
  sightplan run --method plan_cot --backend transformers --backend-option model=DIR
  sightplan run --method action --backend scripted --backend-option script=replies.yaml
  sightplan run --method oracle --split all --json
  sightplan run --split hard --bags failed
  sightplan run --domain household --protocol paper --table InternVL3-78B
  sightplan run --method belief --rerun episode.rrd --episodes 1
  sightplan run --method plan --backend openai --prompts ~/ViPlan
  sightplan run --suite questions.csv --backend openai --backend-option model=NAME
  sightplan run --problems my_problems/ --domain-file my_domain.pddl --out runs/mine

results (in --out): run.json (what was run), episodes.jsonl (a line per finished episode),
summary.json (scores); with --bags, bags/ (all that happened, for "sightplan replay" and viewers).
The same command with the same --out takes up a run that was broken off.
"""


_WHAT, _HOW, _WHERE = 'what to run', 'how much, how long', 'results'
"""Headings of the help text."""


def _methods() -> Sequence[str]:
    """All methods: of episodes, and of samples."""
    from sightplan.agent import every_method
    return every_method()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """Arguments of ``sightplan run``."""

    suite: str = option_like(RunSettings, 'suite', metavar='NAME|PATH', group=_WHAT)
    domain: str | None = domain_flag(optional=True, group=_WHAT)
    split: str = option_like(RunSettings, 'split', group=_WHAT)
    problems: str = option_like(RunSettings, 'problems', metavar='DIR', group=_WHAT)
    domain_file: str = option_like(RunSettings, 'domain_file', metavar='FILE', group=_WHAT)
    prompts: str = option_like(RunSettings, 'prompts', metavar='DIR', group=_WHAT)
    protocol: str = option_like(RunSettings, 'protocol', metavar='NAME', group=_WHAT)
    method: str = option_like(RunSettings, 'method', choices=_methods, group=_WHAT)
    method_option: tuple[str, ...] = option(
        (), 'setting of the method (repeatable), such as on_unparsed=stop', metavar='KEY=VALUE',
        group=_WHAT)
    backend: str | None = backend_flag(
        None, 'vision-language backend (default: embedded)', group=_WHAT)
    backend_option: tuple[str, ...] = settings_flag('the backend', group=_WHAT)
    answers: str = option_like(RunSettings, 'answers', group=_WHAT)
    table: str | None = table_flag(group=_WHAT)
    world_option: tuple[str, ...] = settings_flag('the simulated world', group=_WHAT)
    suite_option: tuple[str, ...] = option(
        (), 'setting of a suite of samples (repeatable), such as data=DIR', metavar='KEY=VALUE',
        group=_WHAT)
    episodes: int = option_like(RunSettings, 'episodes', group=_HOW)
    seed: int = option_like(RunSettings, 'seed', group=_HOW)
    max_actions: int = option_like(RunSettings, 'max_actions', group=_HOW)
    stop_at_goal: str = option_like(RunSettings, 'stop_at_goal', group=_HOW)
    privileged: str = option_like(RunSettings, 'privileged', group=_HOW)
    goal: str = option_like(RunSettings, 'goal', group=_HOW)
    failure_probability: float = option_like(RunSettings, 'failure_probability', group=_HOW)
    planner_search: str = option_like(RunSettings, 'planner_search', group=_HOW)
    planner_timeout_s: float = option_like(RunSettings, 'planner_timeout_s', group=_HOW)
    grounder_timeout_s: float = option_like(RunSettings, 'grounder_timeout_s', group=_HOW)
    propose_timeout_s: float = option_like(RunSettings, 'propose_timeout_s', group=_HOW)
    out: str = option_like(RunSettings, 'out', metavar='DIR', group=_WHERE)
    resume: bool = option_like(RunSettings, 'resume', group=_WHERE)
    retry_errors: bool = option_like(RunSettings, 'retry_errors', group=_WHERE)
    answers_log: bool = option_like(RunSettings, 'answers_log', group=_WHERE)
    failure_images: bool = option_like(RunSettings, 'failure_images', group=_WHERE)
    bags: str = option_like(RunSettings, 'bags', group=_WHERE)
    bags_kept: int = option_like(RunSettings, 'bags_kept', group=_WHERE)
    record: bool = option_like(RunSettings, 'record', group=_WHERE)
    record_images: bool = option_like(RunSettings, 'record_images', group=_WHERE)
    rerun: str | None = option(
        None, 'show image, belief, plan and answers in the Rerun viewer while they come: '
        'FILE.rrd, "spawn" (a viewer on this machine) or the URL of one that runs (make extras)',
        metavar='TARGET', group=_WHERE)
    given: frozenset[str] = frozenset()


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan run``."""
    add_command(
        subparsers, 'run', run_episodes, 'run episodes in this process and score them',
        'Run a method on the problems of a split (or a folder) and score it against ground truth.',
        settings=RunArguments, examples=_EXAMPLES,
        exits='0 done; 1 the run failed (broken off, or an episode or sample ended in an '
        'error and is not scored: the same command with --out repeats these; or not one reply '
        'could be read); 2 bad usage', kept='finished episodes are kept')


def settings_from(arguments: RunArguments) -> RunSettings:
    """The RunSettings of parsed arguments, with what the protocol of the run sets.

    Raises:
        InputError: an option cannot be read, or contradicts the protocol; names it.
    """
    from sightplan.agent import (
        answerer_settings,
        method_names,
        needs_visual_planner,
        policy_settings,
    )
    from sightplan.runs.protocols import apply
    from sightplan.runs.suite_domain import with_domain_of_suite, with_split_of_domain
    from sightplan.runs.suite_finding import sample_suite
    from sightplan.runs.suite_rules import ALL_SAMPLES, METHOD_OF_SAMPLES
    from sightplan.vlm.api import backend_settings
    values = {f.name: getattr(arguments, f.name) for f in settings_fields(RunSettings)}
    plans = values['method'] in method_names() and needs_visual_planner(values['method'])
    values['backend'] = (backend_with(arguments.table, arguments.backend, plans)
                         or RunSettings().backend)
    values = with_domain_of_suite(values, arguments.given if values['domain'] is None else (
        *arguments.given, 'domain'))
    values = with_split_of_domain(values, arguments.given)
    domain = values.pop('domain')
    pairs = list(arguments.backend_option)
    if arguments.table is not None:
        if any(pair.startswith('table=') for pair in pairs):
            raise InputError('--table and --backend-option table=NAME say the same; leave one of '
                             'the two out')
        pairs.append(f'table={arguments.table}')
    suite = sample_suite(values['suite'], values['split'])
    if suite is not None and 'method' not in arguments.given:
        values['method'] = METHOD_OF_SAMPLES
    if suite is not None and 'split' not in arguments.given and (
            values['split'] not in suite.splits):
        if len(suite.splits) > 1:
            raise InputError(f'suite {suite.name} has several splits; add --split with one of '
                             f'{", ".join(suite.splits)}, or {ALL_SAMPLES} for all samples')
        values['split'] = suite.splits[0]
    method_settings = policy_settings if suite is None else answerer_settings
    suite_pairs = list(arguments.suite_option)
    if domain is not None and suite is None:
        values['domain'] = domain
    elif domain is not None:
        suite_pairs.append(f'domain={domain}')
    settings = RunSettings(
        **values,
        backend_options=read_options(
            pairs, type(backend_settings(values['backend'])) if pairs else None,
            '--backend-option'),
        method_options=read_options(
            arguments.method_option, type(method_settings(values['method'])), '--method-option'),
        world_options=read_options(arguments.world_option, None, '--world-option'),
        suite_options=read_options(suite_pairs, None if suite is None else suite.settings,
                                   '--suite-option'))
    return apply(settings, arguments.given)


def _is_simulated(settings: RunSettings) -> bool:
    """Whether samples are answered from their truth by a backend that errs on purpose."""
    from sightplan.agent import answerer_class
    from sightplan.model.query import traits_of
    from sightplan.vlm.api import backend_class
    return bool(answerer_class(settings.method).needs_model
                and traits_of(backend_class(settings.backend)).truth)


def run_episodes(arguments: RunArguments) -> Result:
    """Run and show; return the summary, and 1 if the run was broken off or nothing is scored."""
    from sightplan.runs import run, why_useless
    from sightplan.runs.suite_finding import sample_suite
    with stop_flag() as stop, ExitStack() as stack:
        settings = settings_from(arguments)
        samples = sample_suite(settings.suite, settings.split) is not None
        if samples and _is_simulated(settings):
            note(f'sightplan run: backend {settings.backend} is simulated: it answers from the '
                 'truth, with errors, and looks at no picture')
        if arguments.rerun and samples:
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
    elif summary['errors'] and not summary['interrupted']:
        what = 'samples' if summary['episodes'] is None else 'episodes'
        note(f'sightplan run: {summary["errors"]} of {summary["items"]} {what} ended in an error '
             f'and are not scored; the same command with --out {summary["out"]} repeats them')
    if summary['interrupted']:
        if summary['stopped_by']:
            note(f'sightplan run: {summary["stopped_by"]}')
        what = 'samples' if summary['episodes'] is None else 'episodes'
        note(f'sightplan run: broken off after {summary["items"]} of {summary["planned"]} {what}; '
             f'the same command with --out {summary["out"]} goes on from there')
    elif summary['items'] > summary['planned']:
        note(f'sightplan run: {summary["items"] - summary["planned"]} of the {summary["items"]} '
             'stand in this run from earlier, of which this command asked for '
             f'{summary["planned"]}; another --out keeps them apart')
    failed = summary['interrupted'] or useless or summary['errors']
    return summary, FAILED if failed else DONE
