"""Making what is missing of a sweep, in several processes.

Each cell is a run directory below the sweep's, named by its settings, in which ``runner.run``
commits episode by episode: running a sweep again does what is missing, no more. Sweeps may share a
directory; cells that they have in common are run once.

A run that stops itself, as at a spending cap, stops the sweep: the other runs would only spend on.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any, Protocol

from sightplan.model import InputError, SightplanError
from sightplan.records import RunStore
from sightplan.runner import RunSettings, run
from sightplan.sweeps.calibrations import calibration_runs, learn, learned
from sightplan.sweeps.cells import Calibration, Sweep, slug

_ATTEMPTS = 2
_POLL_S = 0.5
_LOG = logging.getLogger(__name__)

class Watcher(Protocol):
    """Is told how a sweep goes; called from the thread that runs it."""

    def begin(self, what: str, episodes: int, done: int) -> None:
        """A stage begins, of so many episodes, some of which are there already."""

    def tick(self, done: int, running: Sequence[str]) -> None:
        """So many episodes are committed by now; these runs are in progress."""

    def finished(self, name: str, error: str) -> None:
        """A run is over; '' for no error."""


@dataclass
class _Job:
    """One run to be made."""

    name: str
    settings: RunSettings
    episodes: int
    attempts: int = 0
    error: str | None = None


@dataclass
class _Halt:
    """Whether the sweep is to stop, and why."""

    asked: Callable[[], bool]
    by: str = ''

    def __call__(self) -> bool:
        return bool(self.by) or self.asked()


class Flag(Protocol):
    """What tells workers to stop."""

    def set(self) -> None:
        """Tell them."""

    def is_set(self) -> bool:
        """Whether they were told."""


Pool = Callable[[int], tuple[Executor, Flag]]
"""Makes a pool of so many workers, and the flag that stops them."""


def default_jobs() -> int:
    """As many as there are CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def process_pool(jobs: int) -> tuple[Executor, Flag]:
    """A pool of fresh processes, each with one thread for linear algebra."""
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
        os.environ[name] = '1'  # read by the libraries of the processes that start now
    context = multiprocessing.get_context('spawn')
    stop = context.Event()
    return ProcessPoolExecutor(jobs, context, start_worker, (stop,)), stop


_STOP: Flag = threading.Event()


def start_worker(stop: Flag) -> None:
    """Make a process (or thread) a worker: it runs until ``stop`` is set, or its parent ends."""
    global _STOP
    _STOP = stop
    parent = multiprocessing.parent_process()
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    """End with the parent, however that ended; committed episodes are on disk."""
    connection.wait([sentinel])
    os._exit(1)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How making a run went.

    Attributes:
        error: '' for none.
        trace: traceback of an unexpected error.
        stopped_by: why the run stopped itself before its end, '' if it did not.
    """

    error: str = ''
    trace: str = ''
    stopped_by: str = ''


def _work(settings: RunSettings) -> _Outcome:
    """Make a run; one that stops itself stops all others, too."""
    try:
        summary = run(settings, cancelled=_STOP.is_set)
    except SightplanError as caught:
        return _Outcome(f'{type(caught).__name__}: {caught}')
    except Exception as caught:  # a defect in one cell must not end the others
        return _Outcome(f'unexpected {type(caught).__name__}: {caught}', traceback.format_exc())
    if summary['interrupted'] and summary['stopped_by']:
        _STOP.set()
        return _Outcome(stopped_by=summary['stopped_by'])
    return _Outcome()


def run_sweep(sweep: Sweep, out: Path, jobs: int = 0, watcher: Watcher | None = None,
              stopped: Callable[[], bool] = lambda: False, pool: Pool = process_pool,
              ) -> dict[str, Any]:
    """Make what is missing of a sweep.

    Args:
        sweep: what to run.
        out: directory of the sweep.
        jobs: number of processes; 0: one per CPU.
        watcher: is told how it goes.
        stopped: once true, running episodes are broken off (a later call repeats them).
        pool: makes the pool of workers.

    Returns:
        plain JSON data: ``sweep``, ``out``, ``cells``, ``episodes`` (of all cells), ``done``
        (those that are committed), ``new`` (since this call), ``duplicates`` (episodes that
        stand in a run more than once: never), ``failed_infrastructure`` (unscored ones),
        ``scored``, ``solved``, ``seconds`` (of this call), ``interrupted``, ``stopped_by`` (what
        interrupted it, with the remedy: a spending cap; '' for a person), and ``failures``:
        ``cell`` and ``error`` of each run that ended in an error.

    Raises:
        InputError: ``out`` cannot be written.
    """
    began = time.monotonic()
    watcher = watcher or _Silent()
    out = out.expanduser()
    _write_index(sweep, out)
    before = status(sweep, out)['done']
    jobs = jobs or default_jobs()
    halt = _Halt(stopped)
    failures = _prepare(sweep, out, jobs, watcher, halt, pool)
    failed = {item['calibration'] for item in failures}
    todo = []
    for cell in sweep.cells:
        if cell.calibration is not None and cell.calibration.stem in failed:
            failures.append({'cell': cell.name, 'error': 'its calibration could not be learned'})
        else:
            todo.append(_Job(cell.name, cell.settled(out), cell.episodes))
    if not halt():
        _execute('episodes', todo, jobs, watcher, halt, pool)
    failures += [{'cell': job.name, 'error': job.error} for job in todo if job.error]
    return {**status(sweep, out, before), 'seconds': round(time.monotonic() - began, 3),
            'interrupted': halt(), 'stopped_by': halt.by, 'failures': failures}


def status(sweep: Sweep, out: Path, before: int = 0) -> dict[str, Any]:
    """How far a sweep is: counts over its cells, see ``run_sweep``."""
    duplicates = unscored = scored = solved = done = 0
    for cell in sweep.cells:
        lines = RunStore(out / cell.name).lines()
        distinct = {line['episode_id'] for line in lines}
        done += len(distinct)
        duplicates += len(lines) - len(distinct)
        unscored += sum(not line['scored'] for line in lines)
        scored += sum(bool(line['scored']) for line in lines)
        solved += sum(bool(line['solved']) for line in lines)
    return {'sweep': sweep.name, 'out': str(out), 'cells': len(sweep.cells),
            'episodes': sweep.episodes, 'done': done, 'new': done - before,
            'duplicates': duplicates, 'failed_infrastructure': unscored, 'scored': scored,
            'solved': solved}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left of a sweep.

    Attributes:
        missing: number of episodes.
        seconds: how long they take one after another; None: nothing was measured yet.
        guessed: episodes among them of methods or splits that nothing was measured of.
    """

    missing: int
    seconds: float | None
    guessed: int


def estimate(sweep: Sweep, out: Path) -> Estimate:
    """Estimate the time that is left from the episodes in ``out``.

    An episode takes as long as those of its method and split did in the mean, else as those of
    its method, else as all.
    """
    sums: dict[tuple[str, ...], tuple[float, int]] = {}
    missing: Counter[tuple[str, str]] = Counter()
    for cell in sweep.cells:
        # Episodes that ended in an error are repeated.
        lines = [line for line in RunStore(out / cell.name).lines() if line['scored']]
        method, split = cell.settings.method, cell.settings.problems or cell.settings.split
        missing[method, split] += max(0, cell.episodes - len(lines))
        for key in ((method, split), (method,), ()):
            seconds, n = sums.get(key, (0.0, 0))
            sums[key] = (seconds + sum(line['seconds'] for line in lines), n + len(lines))

    def pace(*key: str) -> float | None:
        seconds, n = sums.get(key, (0.0, 0))
        return seconds / n if n else None

    total, guessed = 0.0, 0
    for (method, split), n in missing.items():
        exact = pace(method, split)
        known = exact if exact is not None else pace(method)
        known = known if known is not None else pace()
        guessed += n if exact is None else 0
        if known is None:
            return Estimate(missing.total(), None, missing.total())
        total += n * known
    return Estimate(missing.total(), total, guessed)


class _Silent:
    def begin(self, what: str, episodes: int, done: int) -> None:
        pass

    def tick(self, done: int, running: Sequence[str]) -> None:
        pass

    def finished(self, name: str, error: str) -> None:
        pass


def _write_index(sweep: Sweep, out: Path) -> None:
    """``<name>.sweep.json``: directory, labels and settings of all cells, for reports."""
    index = {'sweep': sweep.name, 'source': sweep.source, 'cells': [
        {'dir': cell.name, 'labels': dict(cell.labels), 'episodes': cell.episodes,
         'calibration': cell.calibration.stem if cell.calibration else None,
         'settings': dataclasses.asdict(cell.settings)}
        for cell in (*sweep.cells, *sweep.others)]}
    path = out / f'{slug(sweep.name)}.sweep.json'
    try:
        out.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f'.{path.name}.new')
        temporary.write_text(json.dumps(index, indent=1, allow_nan=False) + '\n', 'utf-8')
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f'{out}: cannot be written ({error.strerror}); choose another '
                         f'--out') from error


def _prepare(sweep: Sweep, out: Path, jobs: int, watcher: Watcher, halt: _Halt, pool: Pool,
             ) -> list[dict[str, Any]]:
    """Make the calibrations that are missing; what went wrong."""
    failures: list[dict[str, Any]] = []
    wanted: list[tuple[Calibration, list[_Job]]] = []
    for calibration in sweep.calibrations:
        try:
            if learned(out, calibration):
                continue
            runs = calibration_runs(out, calibration)
            wanted.append((calibration, [_Job(
                Path(s.out).name, s, s.episodes or calibration.problems) for s in runs]))
        except InputError as error:
            failures.append({'calibration': calibration.stem, 'cell': calibration.stem,
                             'error': str(error)})
    if not wanted:
        return failures
    _execute('calibrations', [job for _, items in wanted for job in items], jobs, watcher,
             halt, pool)
    if halt():
        return failures
    for calibration, items in wanted:
        errors = [gap for job in items if (gap := job.error or _gap(job))]
        if not errors:
            try:
                learn(out, calibration, [job.settings for job in items])
            except SightplanError as error:
                errors = [f'{type(error).__name__}: {error}']
        if errors:
            watcher.finished(calibration.stem, errors[0])
            failures.append({'calibration': calibration.stem, 'cell': calibration.stem,
                             'error': errors[0]})
    return failures


def _gap(job: _Job) -> str:
    """What a run lacks to be learned from, '' for nothing."""
    lines = RunStore(job.settings.out).lines()
    scored = {line['episode_id'] for line in lines if line['scored']}
    if len(scored) >= job.episodes:
        return ''
    errors = dict.fromkeys(str(line['error']) for line in lines if not line['scored'])
    return (f'{job.name}: {len(scored)} of {job.episodes} episodes could be scored'
            + (f' ({"; ".join(errors)})' if errors else '')
            + '; it is learned from all of them: the same command makes the others')


def _execute(what: str, todo: Sequence[_Job], jobs: int, watcher: Watcher, halt: _Halt,
             pool: Pool) -> None:
    """Make runs; each job is given its error, '' for none, None if it was not finished.

    A worker that dies takes the pool with it. The runs that were in progress are then tried
    again alone, so that only the deadly one is given up.
    """
    counts = {job.name: _committed(job) for job in todo}
    watcher.begin(what, sum(job.episodes for job in todo), sum(counts.values()))
    while not halt():
        waiting = [job for job in todo if job.error is None]
        suspects = [job for job in waiting if job.attempts]
        batch = suspects[:1] or waiting
        if not batch:
            return
        for job in _one_pool(batch, min(jobs, len(batch)), counts, watcher, halt, pool):
            job.attempts += 1
            if job.attempts >= _ATTEMPTS:
                job.error = 'the process that ran it died (killed, or out of memory)'
                watcher.finished(job.name, job.error)


def _one_pool(batch: Sequence[_Job], jobs: int, counts: dict[str, int], watcher: Watcher,
              halt: _Halt, pool: Pool) -> list[_Job]:
    """Make runs with one pool until they are over or it breaks; those in progress then."""
    executor, stop = pool(jobs)
    running: list[_Job] = []
    try:
        pending = {executor.submit(_work, job.settings): job for job in batch}
        while pending:
            over, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            if halt():
                stop.set()
                for future in pending:
                    future.cancel()
            broken = False
            for future in over:
                job = pending[future]
                if future.cancelled():
                    del pending[future]
                elif isinstance(future.exception(), BrokenProcessPool):
                    broken = True
                else:
                    del pending[future]
                    counts[job.name] = _committed(job)
                    _conclude(job, future, watcher, halt)
            if broken:
                # Futures count as running that only wait in the pool's own queue.
                begun = [job for job in running if (Path(job.settings.out) / 'run.json').exists()]
                return begun or running or list(pending.values())
            running = [job for future, job in pending.items() if future.running()]
            for job in running:
                counts[job.name] = _committed(job)
            watcher.tick(sum(counts.values()), [job.name for job in running])
        return []
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _conclude(job: _Job, future: Future[_Outcome], watcher: Watcher, halt: _Halt) -> None:
    error = future.exception()
    outcome = (future.result() if error is None else
               _Outcome(f'unexpected {type(error).__name__}: {error}'))
    if outcome.trace:
        _LOG.error('%s: %s', job.name, outcome.trace)
    if outcome.stopped_by:
        halt.by = halt.by or f'{job.name}: {outcome.stopped_by}'
    else:
        job.error = outcome.error
    watcher.finished(job.name, outcome.error or outcome.stopped_by)


def _committed(job: _Job) -> int:
    """Number of committed episodes, counted by lines."""
    try:
        return (Path(job.settings.out) / 'episodes.jsonl').read_bytes().count(b'\n')
    except OSError:
        return 0
