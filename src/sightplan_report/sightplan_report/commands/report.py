"""``sightplan report``: one HTML file and tables about runs and sweeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, Result, add_command, note
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError, user_path

if TYPE_CHECKING:
    from sightplan_report.results import Results

_HTML = 'report.html'
_EPISODES = ('failed', 'all', 'none')
_EXPORTS = ('inspect',)

_EXAMPLES = """\
examples:
  sightplan report runs/ground
  sightplan report runs/smoke --out report --title "First look"
  sightplan report runs/smoke --only method=ground,belief split=hard --most 5
  sightplan report runs/ground --export inspect

Writes DIR/report.html, one file that opens without a network, and DIR/tables: the same tables as
CSV, Parquet and Markdown. Episodes get a page each, with every question, if their bags were
recorded (sightplan run --bags failed); without bags it has what the results hold. Samples get one
each with picture, question, truth and answer, which their suite draws again. "sightplan explain"
writes the page of any one alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportArguments:
    """Arguments of ``sightplan report``."""

    runs: tuple[str, ...] = argument(
        'run directory, sweep directory, or a directory that holds some', metavar='RUN_OR_SWEEP')
    out: str = option(
        '', 'where to write it (default: report, in the first directory)', metavar='DIR')
    title: str = option('', 'title of the page', metavar='TEXT')
    episodes: str = option(
        _EPISODES[0], 'which episodes and samples get a page of their own: of each method some '
        'failures of each cause and some that are right, or all if there are 20 or fewer (failed, '
        'the default), all, or none', choices=_EPISODES)
    most: int = option(2, 'failed episodes of each cause and method that get a page', low=1)
    most_samples: int = option(
        10, 'wrong samples of each cause, method and split that get a page', low=1)
    most_mb: float = option(
        15.0, 'size of all pages of episodes together, and of all of samples, about; what does '
        'not fit is left out, and the page says so', low=0.001, metavar='MB')
    only: tuple[str, ...] = option(
        (), 'only runs with this domain, method, backend, model, split, seed, or value of '
        'another axis of a sweep (several with commas)', metavar='KEY=VALUE', listed=True)
    export: tuple[str, ...] = option(
        (), 'write the runs in the formats of other tools, too: inspect (logs that "inspect view" '
        'of inspect_ai opens, in DIR/inspect)', choices=_EXPORTS, listed=True)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan report``."""
    add_command(
        subparsers, 'report', write_report, 'one HTML file and tables about runs and sweeps',
        'Write a report about runs and sweeps: tables, plots, pages of episodes and samples.',
        settings=ReportArguments, examples=_EXAMPLES,
        exits='0 done; 1 the report cannot be written; 2 bad usage, or not a run')


def write_report(arguments: ReportArguments) -> Result:
    """Read runs, make tables and pages, and write the report."""
    from sightplan_report.lines import EPISODE, SAMPLE
    from sightplan_report.results import gather
    from sightplan_report.tables.pairs import unpaired
    began = time.monotonic()
    results = only(gather(arguments.runs), arguments.only)
    results = replace(results, warnings=(*results.warnings, *unpaired(results)))
    for warning in results.warnings:
        note(f'sightplan report: {warning}')
    done = _write_all(results, arguments)
    counts = {kind: sum(len(run.lines) for run in results.of_kind(kind).runs)
              for kind in (EPISODE, SAMPLE)}
    done |= {'runs': len(results.runs), 'episodes': counts[EPISODE], 'samples': counts[SAMPLE],
             'warnings': len(results.warnings), 'bytes': Path(done['html']).stat().st_size,
             'seconds': round(time.monotonic() - began, 3)}
    logs = f'{len(done["logs"])} logs for "inspect view"; ' if done['logs'] else ''
    told = [f'{done["pages"]} of {done["episodes"]} episodes have a page'] if (
        done['episodes'] or not done['samples']) else []
    told += [f'{done["sample_pages"]} of {done["samples"]} samples have a page'] if (
        done['samples']) else []
    print(f'{done["html"]}: {done["bytes"] / 1e6:.1f} MB, {", ".join(told)}; '
          f'{len(done["tables"])} files of tables; {logs}'
          f'{done["seconds"]:.1f} s')
    return done, DONE


def _write_all(results: Results, arguments: ReportArguments) -> dict[str, Any]:
    from sightplan_report.export import export
    from sightplan_report.html import write_page
    from sightplan_report.inspect_log import write_logs
    from sightplan_report.page import Settings, build
    from sightplan_report.tables import make_tables
    out = (user_path(arguments.out) if arguments.out else
           _folder(user_path(arguments.runs[0])) / 'report')
    out.mkdir(parents=True, exist_ok=True)
    tables = make_tables(results)
    with EpisodeBar(transient=True) as bar:
        page = build(results, tables, Settings(
            arguments.title or f'Report: {", ".join(_names(arguments.runs))}',
            arguments.episodes, arguments.most, arguments.most_samples,
            round(arguments.most_mb * 1e6)),
            lambda done, total: bar.stage('pages', done, total))
    files = export(results, out, tables)
    logs = write_logs(results, out) if 'inspect' in arguments.export else ()
    write_page(out / _HTML, page.html)
    if page.left_out:
        note(f'sightplan report: {page.left_out} episodes did not fit into '
             f'{arguments.most_mb:g} MB; --most-mb takes more')
    if page.samples_left_out:
        note(f'sightplan report: {page.samples_left_out} samples did not fit into '
             f'{arguments.most_mb:g} MB; --most-mb takes more')
    return {'html': str(out / _HTML), 'tables': [str(file) for file in files],
            'logs': [str(file) for file in logs], 'pages': page.episodes,
            'left_out': page.left_out, 'sample_pages': page.samples,
            'samples_left_out': page.samples_left_out}


def only(results: Results, conditions: Sequence[str]) -> Results:
    """The runs that have the given values, and of them the episodes of the given splits.

    Raises:
        InputError: a condition is not of the form KEY=VALUE, no run has such a key, or nothing is
            left.
    """
    from sightplan_report.results import split_of
    runs = list(results.runs)
    for condition in conditions:
        key, equals, text = condition.partition('=')
        if not equals or not key or not text:
            raise InputError(f'--only {condition}: write KEY=VALUE, for example method=ground')
        wanted = set(text.split(','))
        known = {name for run in results.runs for name in _values(run)} | {'split'}
        if key not in known:
            raise InputError(f'--only {condition}: no run has {key!r}; there are '
                             f'{", ".join(sorted(known))}')
        if key == 'split':
            runs = [replace(run, lines=lines) for run in runs if (lines := tuple(
                line for line in run.lines if split_of(line) in wanted))]
        else:
            runs = [run for run in runs if _values(run).get(key) in wanted]
        if not runs:
            raise InputError(f'--only {condition}: nothing is left; {key} has the values '
                             + ', '.join(sorted({split_of(line) for run in results.runs
                                                 for line in run.lines} if key == 'split' else
                                                {_values(run).get(key, '-')
                                                 for run in results.runs})))
    return replace(results, runs=tuple(runs), waiting=None if conditions else results.waiting)


def _values(run: Any) -> dict[str, str]:
    """Fields by which a run can be chosen, as text."""
    found = {'domain': run.domain, 'method': run.method, 'backend': run.backend,
             'model': run.model, 'failure_probability': f'{run.failure_probability:g}',
             'seed': str(run.seed), 'run': run.name}
    return {**{str(key): f'{value:g}' if isinstance(value, float) else str(value)
               for key, value in run.labels.items() if key != 'split'}, **found}


def _names(paths: Sequence[str]) -> list[str]:
    """Names of the given paths, for a title; at most ``most`` of them."""
    names = list(dict.fromkeys(user_path(path).resolve().name for path in paths))
    return names if len(names) <= 3 else [*names[:3], f'and {len(names) - 3} more']


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
