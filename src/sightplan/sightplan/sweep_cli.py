"""``sightplan sweep``: the command line of sweeps."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sightplan.model import InputError
from sightplan.pace import Pace, duration
from sightplan.run_cli import stop_flag

_DONE, _FAILED, _USAGE = 0, 1, 2

_EXAMPLES = """\
examples:
  sightplan sweep config/sweeps/smoke.yaml --out runs/smoke --jobs 2
  sightplan sweep config/sweeps/belief.yaml --out runs/belief --dry-run
  sightplan sweep config/sweeps/belief.yaml --out runs/belief --only method=belief split=hard

Every finished episode is on disk at once. The same command again does what is missing, no more.

exit codes: 0 all episodes are done; 1 some are not; 2 bad usage.
"""


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan sweep``."""
    parser = subparsers.add_parser(
        'sweep', help='run many experiments described by one file',
        description='Run every cell of a sweep file that is not done yet, in several processes.',
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file', type=Path, metavar='FILE', help='sweep file, see config/sweeps')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR',
                        help='directory of all its runs')
    parser.add_argument('--jobs', type=int, default=0, metavar='N',
                        help='number of processes (default: one per CPU)')
    parser.add_argument('--only', nargs='+', action='extend', default=[], metavar='KEY=VALUE',
                        help='only cells with this value of an axis or a field (several values '
                             'with commas)')
    parser.add_argument('--dry-run', action='store_true',
                        help='say what is left, and how long it will take by what was measured '
                             'so far')
    parser.add_argument('--json', action='store_true',
                        help='print the result as one JSON object, the last line of standard '
                             'output; all else goes to standard error')
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """Run, show, report; returns the exit code."""
    from sightplan.sweeps import read_sweep, run_sweep
    try:
        if arguments.jobs < 0:
            raise InputError(f'--jobs {arguments.jobs}: must be 1 or more')
        sweep = read_sweep(arguments.file).only(arguments.only)
        if arguments.dry_run:
            return _plan(sweep, arguments)
        with stop_flag() as stop, SweepProgress() as progress:
            result = run_sweep(sweep, arguments.out, arguments.jobs, progress, stop)
    except InputError as error:
        print(f'sightplan sweep: {error}', file=sys.stderr)
        return _USAGE
    except KeyboardInterrupt:
        print('sightplan sweep: interrupted; finished episodes are kept', file=sys.stderr)
        return _FAILED
    _show(result, sys.stderr if arguments.json else sys.stdout)
    if result['stopped_by']:
        print(f'sightplan sweep: {result["stopped_by"]} (settings of the backend stand in '
              f'{arguments.file}, as backend_options.NAME)', file=sys.stderr)
    if result['interrupted']:
        print('sightplan sweep: broken off; the same command goes on from there', file=sys.stderr)
    if arguments.json:
        print(json.dumps(result, allow_nan=False), flush=True)
    complete = result['done'] == result['episodes'] and not (
        result['failures'] or result['failed_infrastructure'] or result['duplicates'])
    return _DONE if complete else _FAILED


def _plan(sweep: Any, arguments: argparse.Namespace) -> int:
    """Say what is left to do."""
    from sightplan.sweeps import default_jobs, estimate, status
    jobs = arguments.jobs or default_jobs()
    left = estimate(sweep, arguments.out)
    seconds = None if left.seconds is None else left.seconds / jobs
    result = {**status(sweep, arguments.out), 'missing': left.missing, 'jobs': jobs,
              'calibrations': len(sweep.calibrations), 'guessed': left.guessed,
              'seconds': None if seconds is None else round(seconds, 1)}
    stream = sys.stderr if arguments.json else sys.stdout
    for cell in sweep.cells:
        labels = ', '.join(f'{key} {value}' for key, value in cell.labels.items())
        print(f'{cell.name}: {cell.episodes} episodes ({labels})', file=stream)
    pace = ('nothing was measured yet' if seconds is None else
            f'about {duration(seconds)} with {jobs} processes'
            + (f' ({left.guessed} episodes guessed from others)' if left.guessed else ''))
    print(f'{len(sweep.cells)} cells, {sweep.episodes} episodes, {left.missing} missing; '
          f'{len(sweep.calibrations)} calibrations; {pace}', file=stream)
    if arguments.json:
        print(json.dumps(result, allow_nan=False), flush=True)
    return _DONE


def _show(result: Mapping[str, Any], stream: Any) -> None:
    print(f'{result["sweep"]}: {result["done"]} of {result["episodes"]} episodes in '
          f'{result["cells"]} cells are done ({result["new"]} new, '
          f'{duration(result["seconds"])}); {result["solved"]} of {result["scored"]} solved; '
          f'{result["failed_infrastructure"]} not scored; results: {result["out"]}', file=stream)
    for failure in result['failures']:
        print(f'failed: {failure["cell"]}: {failure["error"]}', file=stream)


class SweepProgress:
    """Progress on standard error: a bar on a terminal, a line per finished run elsewhere."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        console = Console(file=sys.stderr)
        self._bar = Progress(
            TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), TextColumn('ETA'), TimeRemainingColumn(),
            TextColumn('{task.fields[running]}'), console=console,
            speed_estimate_period=600.0, disable=not console.is_terminal)
        self._bar.start()
        self._task: Any = None
        self._total = self._before = self._done = 0
        self._pace = Pace()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def begin(self, what: str, episodes: int, done: int) -> None:
        """Open a bar."""
        self._total, self._before, self._done = episodes, done, done
        self._pace = Pace()
        self._task = self._bar.add_task(what, total=episodes, completed=done, running='')
        print(f'{what}: {episodes - done} of {episodes} to do', file=sys.stderr, flush=True)

    def tick(self, done: int, running: Sequence[str]) -> None:
        """Advance."""
        self._done = done
        self._bar.update(self._task, completed=done, running=running[0] if running else '')

    def finished(self, name: str, error: str) -> None:
        """Say that a run is over."""
        if error or self._bar.disable:
            left = self._pace.time_left(self._done - self._before, self._total - self._done)
            print(f'[{self._done}/{self._total}] {name}: {error or "done"}, ETA {left}',
                  file=sys.stderr, flush=True)
