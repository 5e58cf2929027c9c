"""``sightplan sweep``: the command line of sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, stop_flag
from sightplan.console.progress import EpisodeBar, duration
from sightplan.model import InputError

if TYPE_CHECKING:
    from sightplan.sweeps import Estimate, Estimator, Status, Sweep
    from sightplan.sweeps.engines import Engine

_RUNNING_SHOWN = 2
_FAILURES_SHOWN = 3
_ESTIMATES_S = 20.0
"""Least time between two estimates of the rest [s]: each reads all results."""

_EXAMPLES = """\
examples:
  sightplan sweep smoke
  sightplan sweep viplan --set model=Qwen/Qwen2.5-VL-7B-Instruct --episodes 2
  sightplan sweep config/sweeps/belief.yaml --dry-run
  sightplan sweep config/sweeps/belief.yaml --out runs/belief --only method=belief split=hard
  sightplan sweep config/sweeps/belief.yaml --engine ray --ray-address auto --jobs 64

Every finished episode is on disk at once. The same command again does what is missing, no more.
docs/sweeps.md tells more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepArguments:
    """Arguments of ``sightplan sweep``."""

    file: Path = argument(
        'path of a sweep file, or name of an installed one, see below', metavar='FILE')
    out: Path | None = option(
        None, 'directory of all its runs (default: runs/NAME)', metavar='DIR')
    set: tuple[str, ...] = option(
        (), 'fields of "base" that are to be other than in the file, such as '
        'backend=transformers model=DIR (model: short for backend_options.model)',
        metavar='KEY=VALUE', listed=True)
    episodes: int = option(
        0, 'short for --set episodes=N: so many in each cell, spread over splits, tasks and '
        'problems, always the same ones (default: 0, as the file says)', low=0)
    protocol: str = option(
        '', 'short for --set protocol=NAME, the rule set of the suite, such as paper (default: as '
        'the file says)', metavar='NAME')
    jobs: int = option(0, 'number of workers (default: one per CPU)', low=0)
    only: tuple[str, ...] = option(
        (), 'only cells with this value of an axis or a field (several values with commas)',
        metavar='KEY=VALUE', listed=True)
    dry_run: bool = option(
        False, 'run nothing: say how far the sweep is, what it will take by what was measured so '
        'far or by a rough rule, and which run directories belong to none of its cells; both '
        'names do the same', names=('--status',))
    retries: int = option(
        2, 'how often an episode that ended in an error of the machinery is tried again', low=0)
    patience: int | None = option(
        None, 'after so many errors of one model in a row, leave its runs for the next command; '
        '0: only after three refusals in a row (default: 5, or twice the workers if that is '
        'more)', low=0)
    max_tokens: int = option(
        0, "stop when models have taken so many tokens, in and out, in all runs of the sweep "
        "together (default: the file's max_tokens, if any)", low=0)
    max_cost_usd: float = option(
        0.0, "stop when models have cost so much in all runs of the sweep together (default: "
        "the file's max_cost_usd, if any)", low=0.0, high=1e9, metavar='USD')
    engine: str = option(
        'local', 'workers are processes of this machine, or Ray actors ("make extras"); all '
        'machines need DIR under the same path', choices=('local', 'ray'))
    ray_address: str = option(
        '', 'of a running Ray cluster, or auto (default: one is started here)', metavar='ADDRESS')
    serve: str = option(
        'auto', 'one "sightplan serve" has the weights of a model for all workers of this '
        'machine: auto (where they would share a GPU), on (also on the CPU), off',
        choices=('auto', 'on', 'off'))
    graph: bool = option(
        False, 'each worker runs its episodes on ROS 2, as "sightplan up experiment", in a ROS '
        'domain of its own')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan sweep``."""
    from sightplan.sweeps.cells import installed_sweeps
    abouts = installed_sweeps()
    width = max(map(len, abouts), default=0)
    listed = '\n'.join(f'  {name:{width}}  {about}'.rstrip() for name, about in abouts.items())
    examples = f'installed sweeps:\n{listed or "  none"}\n\n{_EXAMPLES}'
    add_command(
        subparsers, 'sweep', run_file, 'run many experiments described by one file',
        'Run every episode of a sweep file that is not done yet, by several workers.',
        settings=SweepArguments, examples=examples,
        exits='0 all episodes are done; 1 some are not; 2 bad usage, or the '
        'directory is in use', kept='finished episodes are kept')


def run_file(arguments: SweepArguments) -> Result:
    """Run and show; returns the result, and 1 if episodes are missing or failed."""
    from sightplan.sweeps import Estimator, Options, check_sweep, read_sweep, run_sweep
    from sightplan.sweeps.schedule import CAP_OF_RUN
    if arguments.ray_address and arguments.engine != 'ray':
        raise InputError(f'--ray-address {arguments.ray_address}: is for --engine ray; add that, '
                         f'or leave the address out')
    if arguments.graph and arguments.engine == 'ray':
        raise InputError('--graph and --engine ray exclude each other: graphs are run by workers '
                         'of this machine; leave one of the two out')
    if arguments.serve == 'on' and (arguments.engine == 'ray' or arguments.graph):
        raise InputError('--serve on is for workers that are processes of this machine; leave it '
                         'out with --engine ray or --graph')
    changes = [*arguments.set, *(
        f'{name}={value}' for name in ('episodes', 'protocol')
        if (value := getattr(arguments, name)))]
    sweep = read_sweep(arguments.file, changes).only(arguments.only)
    out = arguments.out or Path('runs') / sweep.name
    if arguments.dry_run:
        check_sweep(sweep, arguments.graph)
        return _plan(sweep, out, arguments), DONE
    estimator = Estimator(sweep, out)
    with stop_flag() as stop, SweepProgress(_Left(sweep, estimator, arguments)) as progress:
        options = Options(arguments.jobs, arguments.retries, arguments.graph, arguments.max_tokens,
                          arguments.max_cost_usd, arguments.patience,
                          'off' if arguments.engine == 'ray' else arguments.serve,
                          lambda workers: _engine(arguments, workers, stop))
        result = run_sweep(sweep, out, options, progress, stop)
    result['estimate'] = estimator.first()
    _show(result)
    if result['stopped_by']:
        where = (f' (settings of the backend stand in {arguments.file}, as backend_options.NAME)'
                 if result['stopped_kind'] == CAP_OF_RUN else '')
        note(f'sightplan sweep: {result["stopped_by"]}{where}')
    if result['interrupted']:
        note('sightplan sweep: broken off; the same command goes on from there')
    complete = result['done'] == result['episodes'] and not (
        result['failures'] or result['failed_infrastructure'] or result['duplicates'])
    return result, DONE if complete else FAILED


def _engine(arguments: SweepArguments, workers: int,
            stopped: Callable[[], bool]) -> Engine:
    if arguments.engine == 'ray':
        from sightplan.sweeps.ray_engine import RayEngine
        return RayEngine(workers, arguments.ray_address, stopped)
    from sightplan.sweeps import LocalEngine
    return LocalEngine()


def _plan(sweep: Sweep, out: Path, arguments: SweepArguments) -> dict[str, Any]:
    """Return the plan of a sweep: its status, and an estimate of what is left to do."""
    from sightplan.sweeps import Estimator, damaged, default_jobs, leftovers, status
    jobs = arguments.jobs or default_jobs()
    left, others = Estimator(sweep, out).left(), leftovers(sweep, out)
    figures = left.as_json()
    seconds = left.total.seconds / jobs
    result = {**status(sweep, out), 'missing': left.missing, 'jobs': jobs,
              'calibrations': len(sweep.calibrations),
              'guessed': left.missing - left.measured, 'basis': left.basis,
              **{name: figure['value'] for name, figure in figures.items()},
              'seconds': round(seconds, 1), 'hours': round(seconds / 3600, 4),
              'estimate': figures, 'leftovers': others, 'failures': damaged(sweep, out)}
    for cell in sweep.cells:
        labels = ', '.join(f'{key} {value}' for key, value in cell.labels.items())
        print(f'{cell.name}: {cell.episodes} episodes ({labels})')
    print(f'{len(sweep.cells)} cells, {sweep.episodes} episodes, {left.missing} missing; '
          f'{len(sweep.calibrations)} calibrations')
    if left.missing:
        print(f'they will take about {_in_words(left, jobs)}')
    _show_failures(result['failures'])
    if others:
        print(f'{len(others)} other run directories in {out} belong to no cell of this sweep '
              f'(made by another version, or with what was changed since): {", ".join(others)}')
    return result


def _in_words(left: Estimate, jobs: int) -> str:
    """Questions, requests, tokens, price and hours of what is left, and where they are from."""
    total = left.total
    cost = ('' if not total.prompt_tokens else ' at a cost that is not known (no price)'
            if total.cost_usd is None else f' for {total.cost_usd:.2f} USD')
    guessed = left.missing - left.measured
    basis = ('measured on episodes of the same kind' if not guessed else
             f'{"" if guessed == left.missing else f"{guessed} of {left.missing} episodes "}'
             f'guessed by a rough rule, see docs/sweeps.md' + (
                 ', and corrected by what was measured' if left.corrected else ''))
    seconds = total.seconds / jobs
    return (f'{total.questions:,.0f} questions, {total.requests:,.0f} requests, '
            f'{total.prompt_tokens:,.0f} tokens in and {total.completion_tokens:,.0f} out'
            f'{cost}, and {duration(seconds)} ({seconds / 3600:.2f} hours) with {jobs} workers '
            f'({basis})')


def _show(result: Mapping[str, Any]) -> None:
    solved = ('' if result['solved'] is None else
              f'{result["solved"]} of {result["scored"]} solved; ')
    print(f'{result["sweep"]}: {result["done"]} of {result["episodes"]} episodes in '
          f'{result["cells"]} cells are done ({result["new"]} new, '
          f'{duration(result["seconds"])}); {solved}'
          f'{result["failed_infrastructure"]} could not be scored; '
          f'results: {result["out"]}')
    first, spent = result['estimate'], result['spent']
    if first and spent and result['done'] == first['episodes']:
        print(f'estimated before: {first["requests"]["value"]:,} requests, '
              f'{first["prompt_tokens"]["value"]:,} tokens in, '
              f'{first["completion_tokens"]["value"]:,} out; used: {spent["requests"]:,}, '
              f'{spent["prompt_tokens"]:,}, {spent["completion_tokens"]:,}')
    _show_failures(result['failures'])


def _show_failures(found: Sequence[Mapping[str, Any]]) -> None:
    by_error: dict[str, list[Mapping[str, Any]]] = {}
    for failure in found:
        by_error.setdefault(failure['error'], []).append(failure)
    for error, failures in by_error.items():
        where = ', '.join(_place(failure) for failure in failures[:_FAILURES_SHOWN])
        more = len(failures) - _FAILURES_SHOWN
        print(f'failed: {where}{f" and {more} more" if more > 0 else ""}{": " if where else ""}'
              f'{error}')


def _place(failure: Mapping[str, Any]) -> str:
    """Cell and episodes that a failure is about."""
    from sightplan.sweeps.running import some_of
    episodes = failure.get('episodes', [failure['episode']] if 'episode' in failure else [])
    return ' '.join(part for part in (failure.get('cell', ''), some_of(episodes)) if part)


class _Left:
    """The estimate of what is left of a sweep, in words, while it runs."""

    def __init__(self, sweep: Sweep, estimator: Estimator, arguments: SweepArguments) -> None:
        from sightplan.sweeps import default_jobs
        self._sweep, self._estimator = sweep, estimator
        self._jobs = arguments.jobs or default_jobs()
        self._due = 0.0

    def before(self, say: Callable[[str], None]) -> None:
        """Measure what a prompt takes, estimate the whole, keep and say that."""
        from sightplan.sweeps.token_probe import measure_tokens
        measure_tokens(self._sweep, self._estimator, say)
        left = self._estimator.left()
        self._estimator.keep(left)
        if left.missing:
            say(f'estimate: {left.missing} episodes will take about '
                f'{_in_words(left, self._jobs)}')

    def now(self) -> str:
        """The rest in words, at most once in ``_ESTIMATES_S``; '' between, and for no rest."""
        if time.monotonic() < self._due:
            return ''
        left = self._estimator.left()
        self._due = time.monotonic() + _ESTIMATES_S
        total = left.total
        return '' if not left.missing or not total.requests else (
            f'left: about {total.requests:,.0f} requests, '
            f'{total.prompt_tokens + total.completion_tokens:,.0f} tokens, '
            f'{duration(total.seconds / self._jobs)}')


class SweepProgress(EpisodeBar):
    """Progress on standard error: a bar on a terminal, a line per finished run elsewhere."""

    def __init__(self, left: _Left | None = None) -> None:
        """Show nothing yet; ``left`` estimates what is left."""
        super().__init__()
        self._left = left

    def begin(self, what: str, episodes: int, done: int) -> None:
        """Open the progress bar, after the estimate of the whole."""
        if self._left is not None and what == 'episodes' and done < episodes:
            self._left.before(self.say)
        super().begin(what, episodes, done)
        self.say(f'{what}: {episodes - done} of {episodes} to do')

    def show(self, status: Status) -> None:
        """Show the progress."""
        shown = ', '.join(status.running[:_RUNNING_SHOWN])
        more = len(status.running) - _RUNNING_SHOWN
        parts = [f'{status.failed} failed' if status.failed else '']
        if status.spent is not None:
            cost = status.spent.cost_usd
            tokens = status.spent.prompt_tokens + status.spent.completion_tokens
            parts.append(f'{tokens:,} tokens' + ('' if cost is None else f', {cost:.2f} USD'))
        parts.append(shown + (f' and {more} more' if more > 0 else ''))
        self.update(status.done, '; '.join(part for part in parts if part))

    def finished(self, name: str, error: str) -> None:
        """Print that a run is over."""
        if error or self.plain:
            self.say(f'[{self.done}/{self.total}] {name}: {error or "done"}, '
                     f'ETA {self.time_left}')
        if self._left is not None and (words := self._left.now()):
            self.say(words)
