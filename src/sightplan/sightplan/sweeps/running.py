"""Making what is missing of a sweep, by several workers.

Each cell is a run directory below the sweep's, named by what its results depend on. Workers commit
items there themselves, one by one, so that whoever dies takes nothing along that was finished;
running a sweep again does what is missing, no more. Sweeps may share a directory, one after the
other; cells that they have in common are run once.

A run that stops itself, as at a spending cap, stops the sweep: the other runs would only spend on.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from sightplan.metrics import measures
from sightplan.model import CancelledError, InputError, SightplanError, Usage
from sightplan.model.journal import Journal, StorageError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, Walked, specify, write_summary
from sightplan.sweeps.batch import LOCK, Batch, Outcome
from sightplan.sweeps.calibrations import calibration_runs, learn, learned
from sightplan.sweeps.cells import Sweep, sample_clusters
from sightplan.sweeps.checks import check_sweep
from sightplan.sweeps.committed import (
    METRICS,
    Committed,
    by_error,
    counts,
    damaged,
    read_committed,
    status,
    total,
    unread,
    unscored,
    write_index,
    write_metrics,
)
from sightplan.sweeps.engines import Engine, LocalEngine
from sightplan.sweeps.schedule import CAP_OF_SWEEP, STORAGE, Job, Schedule
from sightplan.sweeps.serving import Servers

_MOST_NAMED = 3
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a stage of a sweep.

    Attributes:
        done: number of scored items.
        failed: number of items that were given up, or committed without a score.
        running: names of the runs that workers are at.
        spent: usage of models so far, of all runs together; None if it was not counted.
    """

    done: int
    failed: int = 0
    running: tuple[str, ...] = ()
    spent: Usage | None = None


class Watcher(Protocol):
    """Receives the progress of a sweep; called from the thread that runs the sweep."""

    def begin(self, what: str, episodes: int, done: int) -> None:
        """Begin a stage of ``episodes`` items, of which ``done`` are done already."""

    def show(self, status: Status) -> None:
        """Show the progress of the stage; called a few times a second."""

    def finished(self, name: str, error: str) -> None:
        """A run is over; '' for no error."""


class _Silent:
    def begin(self, what: str, episodes: int, done: int) -> None:
        pass

    def show(self, status: Status) -> None:
        pass

    def finished(self, name: str, error: str) -> None:
        pass


def default_jobs() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Options:
    """Options of running a sweep; no result depends on them.

    Attributes:
        jobs: number of workers; 0: one per CPU.
        retries: how often an item that ended in an error is tried again.
        graph: whether workers make episodes by ROS graphs.
        max_tokens: cap on the tokens of all runs together; 0: that of the file.
        max_cost_usd: cap on the price of all runs together [USD]; 0: that of the file.
        patience: errors of one model in a row after which its runs are left for the next call; 0:
            no limit but for refusals; None: ``schedule.PATIENCE``, or twice the workers if that
            is more.
        serve: whether one server has the model for all workers: ``auto`` (where they share a GPU),
            ``on`` (also on a CPU), ``off``; see ``sweeps.serving``.
        engine: makes the engine for a number of workers; raises CancelledError if it is stopped.
    """

    jobs: int = 0
    retries: int = 2
    graph: bool = False
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    patience: int | None = None
    serve: str = 'auto'
    engine: Callable[[int], Engine] = lambda workers: LocalEngine()


def run_sweep(sweep: Sweep, out: Path, options: Options | None = None,
              watcher: Watcher | None = None,
              stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Make what is missing of a sweep.

    Args:
        sweep: what to run.
        out: directory of the sweep.
        options: by how many workers, where, how patiently.
        watcher: sees how it goes.
        stopped: once true, running items are broken off (a later call repeats them).

    Returns:
        plain JSON data: see ``status``, and ``new`` (items that were committed since this
        call), ``seconds`` (of this call), ``interrupted``, ``stopped_by`` (what interrupted it,
        with the remedy; '' for a person), ``stopped_kind`` (``CAP_OF_RUN``, ``CAP_OF_SWEEP`` or
        ``STORAGE`` of ``sweeps.schedule``, or ''), ``failures``: ``error`` of what could not be
        made or written and, if it is about one, ``cell``, and ``episode`` or ``episodes`` (those
        that could not be scored for the same reason), ``metrics`` (path of ``metrics.json``) and
        ``metrics_sha256`` ('' if that could not be written).

    Raises:
        InputError: a cell can never be run (see ``check_sweep``), ``out`` cannot be used, or
            another command is running a sweep there.
        StorageError: the disk is full, or broken.
    """
    start = time.monotonic()
    options = options or Options()
    out = out.expanduser().resolve()
    if status(sweep, out)['done'] < sweep.episodes:
        check_sweep(sweep, options.graph)
    with _locked(out) as command:
        before = status(sweep, out)['done']
        stages = _Stages(sweep, out, options, watcher or _Silent(), stopped, command)
        failures: list[dict[str, Any]] = []
        metrics = ''
        try:
            write_index(sweep, out)
            failures += stages.calibrations()
            failures += stages.cells({item['calibration'] for item in failures})
        except (StorageError, OSError) as error:
            failures.append({'error': stages.full(out, error)})
        finally:
            stages.close()
        runs = read_committed(sweep, out)
        found = counts(sweep, out, runs)
        failures += [*unscored(runs), *unread(runs)]
        failures += [item for item in damaged(sweep, out) if not any(
            item['cell'] == there.get('cell') and item['error'] in there['error']
            for there in failures)]
        given_up = sum('episode' in item for item in failures)
        try:
            metrics = write_metrics(sweep, out)
        except (StorageError, OSError) as error:
            failures.append({'error': stages.full(out / METRICS, error)})
        return {**found, 'new': found['done'] - before,
                'failed_infrastructure': found['failed_infrastructure'] + given_up,
                'seconds': round(time.monotonic() - start, 3), 'interrupted': stages.halted,
                'stopped_by': stages.stopped_by, 'stopped_kind': stages.stopped_kind,
                'failures': failures, 'metrics': str(out / METRICS), 'metrics_sha256': metrics}


class _Stages:
    """Runs jobs with workers that stay from one stage to the next."""

    def __init__(self, sweep: Sweep, out: Path, options: Options, watcher: Watcher,
                 stopped: Callable[[], bool], command: str) -> None:
        self._sweep, self._out, self._options, self._watcher = sweep, out, options, watcher
        self._stopped, self._command = stopped, command
        self._count = options.jobs or default_jobs()
        self._engine: Engine | None = None
        shared = self._count > 1 or options.serve == 'on'
        self._servers = Servers(options.serve if shared and not options.graph else 'off', out,
                                stopped)
        self._committed: dict[str, Committed] = {}
        self.halted = False
        self.stopped_by = self.stopped_kind = ''
        for calibration in sweep.calibrations:
            for path in (out / 'calibrations' / 'runs').glob(f'{calibration.stem}-*'):
                self._read(path)
        for cell in sweep.cells:
            self._read(out / cell.name)

    def calibrations(self) -> list[dict[str, Any]]:
        """Make the missing calibrations; return the failures."""
        failures: list[dict[str, Any]] = []

        def failed(stem: str, error: str) -> None:
            failures.append({'calibration': stem, 'cell': stem, 'error': error})

        wanted: dict[str, list[Job]] = {}
        recipes = {calibration.stem: calibration for calibration in self._sweep.calibrations}
        for stem, calibration in recipes.items():
            try:
                if not learned(self._out, calibration):
                    wanted[stem] = [_job(Path(settings.out).name, settings)
                                    for settings in calibration_runs(self._out, calibration)]
            except InputError as error:
                failed(stem, str(error))
        if wanted:
            self._execute('calibrations', [job for jobs in wanted.values() for job in jobs],
                          graph=False)
        for stem, jobs in wanted.items() if not self.halted else ():
            wrong = next((gap for job in jobs if (gap := job.error or _gap(job))), '')
            if not wrong:
                try:
                    learn(self._out, recipes[stem], [job.settings for job in jobs])
                except SightplanError as caught:
                    wrong = f'{type(caught).__name__}: {caught}'
            if wrong:
                self._watcher.finished(stem, wrong)
                failed(stem, wrong)
        return failures

    def cells(self, failed: set[str]) -> list[dict[str, Any]]:
        """Make the items of all cells whose calibration did not fail; return the failures.

        Each failure has ``cell`` and ``error``, and ``episode`` if it is about a given up item.
        """
        failures: list[dict[str, Any]] = []
        jobs: list[Job] = []
        for cell in self._sweep.cells:
            if cell.calibration is not None and cell.calibration.stem in failed:
                failures.append({'cell': cell.name,
                                 'error': 'its calibration could not be learned'})
            else:
                jobs.append(_job(cell.name, cell.settled(self._out)))
        if not self.halted:
            self._execute('episodes', jobs, self._options.graph)
        failures += [{'cell': job.name, 'error': job.error} for job in jobs if job.error]
        return failures + [{'cell': job.name, 'episode': item, 'error': error}
                           for job in jobs for item, error in job.given_up.items()]

    def full(self, path: Path, error: Exception) -> str:
        """Stop, since nothing can be written any more; return the reason in words."""
        why = str(StorageError.about(error.filename or path, error)
                  if isinstance(error, OSError) else error)
        self.halted = True
        if not self.stopped_by:
            self.stopped_by, self.stopped_kind = why, STORAGE
        return why

    def close(self) -> None:
        """End the workers, and the servers of their models."""
        if self._engine is not None:
            self._engine.close()
        self._servers.close()

    def _read(self, folder: Path) -> Committed:
        run = self._committed.setdefault(folder.name, Committed(folder))
        run.update()
        return run

    def _execute(self, what: str, jobs: list[Job], graph: bool) -> None:
        """Make runs; afterwards each job has its errors."""
        runs = {job.name: self._read(Path(job.settings.out)) for job in jobs}
        scored = {name: {item for item, scored in run.scored.items() if scored}
                  for name, run in runs.items()}
        self._watcher.begin(what, sum(len(job.items) for job in jobs),
                            sum(map(len, scored.values())))
        schedule = Schedule(jobs, scored, workers=self._count, retries=self._options.retries,
                            command=self._command, lock=str(self._out / LOCK), graph=graph,
                            patience=self._options.patience)
        touched = {job.name for job in jobs if job.waiting}
        if touched:
            self._heed_caps(schedule)
        if touched and not schedule.halted:
            self._work(schedule, runs)
        for job in jobs:
            folder = Path(job.settings.out)
            if (folder / 'run.json').is_file() and (
                    job.name in touched or not (folder / 'summary.json').is_file()):
                _summarise(job, schedule)
        self.halted = schedule.halted
        self.stopped_by, self.stopped_kind = schedule.stopped_by, schedule.stopped_kind

    def _work(self, schedule: Schedule, runs: dict[str, Committed]) -> None:
        """Have the workers make all batches of the schedule."""
        if self._engine is None:
            try:
                self._engine = self._options.engine(self._count)
            except CancelledError:
                schedule.halt('')
                return
        engine, asked = self._engine, False
        before = dict.fromkeys(range(self._count), '')
        under_way: dict[Future[Outcome], tuple[int, Batch]] = {}
        try:
            while True:
                for worker in sorted(before.keys() - {busy for busy, _ in under_way.values()}):
                    if (batch := schedule.next(before[worker])) is not None:
                        before[worker] = batch.name
                        batch = replace(batch, served=self._servers.address(batch.settings))
                        under_way[engine.submit(worker, batch)] = worker, batch
                if not under_way:
                    break
                for future in wait(under_way, _POLL_S, FIRST_COMPLETED).done:
                    self._take(schedule, runs, engine, future, *under_way.pop(future))
                self._show(schedule, runs)
                self._servers.keep()
                if self._stopped():
                    schedule.halt('')
                if schedule.halted and not asked:
                    asked = True
                    engine.stop()
        except CancelledError:
            schedule.halt('')
            engine.stop(now=True)
            return
        except BaseException:
            engine.stop(now=True)
            raise
        self._show(schedule, runs)

    @staticmethod
    def _take(schedule: Schedule, runs: dict[str, Committed], engine: Engine,
              future: Future[Outcome], worker: int, batch: Batch) -> None:
        """Take the outcome of a batch into the schedule, or the death of its worker."""
        run = runs[batch.name]
        run.update()
        try:
            schedule.over(batch, future.result())
        except engine.died:
            began = engine.replace(worker, batch)
            run.update()
            left = [item for item in batch.items if item not in run.scored]
            schedule.died(batch, next(iter(left), '') if began is None else began, run.scored)

    def _show(self, schedule: Schedule, runs: dict[str, Committed]) -> None:
        """Show the watcher the progress, and stop at a cap."""
        running = schedule.running()
        finished = schedule.finished()
        for name in {*running, *(job.name for job in finished)}:
            runs[name].update()
        given_up = sum(len(job.given_up) for job in schedule.jobs)
        self._watcher.show(Status(
            sum(sum(run.scored.values()) for run in runs.values()),
            given_up + sum(len(run.errors) for run in runs.values()), tuple(running),
            self._spent()))
        for job in finished:
            failed = by_error({**runs[job.name].errors, **job.given_up})
            self._watcher.finished(job.name, job.error or job.stopped_by or '; '.join(
                f'{len(items)} could not be scored ({some_of(items)}): {error}'
                for error, items in failed.items()))
        self._heed_caps(schedule)

    def _spent(self) -> Usage | None:
        return total([run.spent for run in self._committed.values()])

    def _heed_caps(self, schedule: Schedule) -> None:
        spent = self._spent()
        if spent is not None and (why := self._over_cap(spent)):
            schedule.halt(why, CAP_OF_SWEEP)

    def _over_cap(self, spent: Usage) -> str:
        """Return which cap forbids to spend more, in words; '' if none does."""
        tokens, cost = spent.prompt_tokens + spent.completion_tokens, spent.cost_usd or 0.0
        for name, used, shown, unit in (('max_tokens', tokens, str(tokens), 'tokens'),
                                        ('max_cost_usd', cost, f'{cost:.4f}', 'USD')):
            most = getattr(self._options, name) or getattr(self._sweep, name)
            if most and used >= most:
                return (f'the cap of the sweep is reached: {shown} {unit} of {name} = {most:.15g} '
                        f'are spent; raise it ({name}) in the file, or '
                        f'--{name.replace("_", "-")} on the command line; the same command then '
                        f'goes on')
        return ''


def _job(name: str, settings: RunSettings) -> Job:
    plan = specify(settings)
    model = plan.model_options()
    return Job(name, settings, tuple(item.id for item in plan.items),
               '' if model is None else
               f'{settings.backend} {sorted(settings.backend_options.items())}',
               sample_clusters(plan),
               settings.record or settings.record_images)  # of a recording there is one writer


def some_of(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return ', '.join(names[:_MOST_NAMED]) + (
        f' and {len(names) - _MOST_NAMED} more' if len(names) > _MOST_NAMED else '')


def _summarise(job: Job, schedule: Schedule) -> None:
    """Write a run's summary; an error goes into the job."""
    missing = bool(job.waiting or job.running or job.given_up or job.error)
    try:
        write_summary(RunStore(job.settings.out), specify(job.settings),
                      Walked(missing, schedule.stopped_by if missing else ''))
    except SightplanError as error:
        job.error = job.error or str(error)
        if isinstance(error, StorageError):
            schedule.halt(str(error), STORAGE)


def _gap(job: Job) -> str:
    """Return what keeps a run from being learned from, in words; '' for nothing."""
    try:
        lines = RunStore(job.settings.out).lines()
    except InputError as error:
        return str(error)
    scored = {line['id'] for line in lines if measures.scored(line)}
    if scored.issuperset(job.items):
        return ''
    errors = dict.fromkeys((*job.given_up.values(), *(
        str(line['error']) for line in lines if not measures.scored(line))))
    return (f'{job.name}: {len(scored)} of {len(job.items)} episodes could be scored'
            + (f' ({"; ".join(errors)})' if errors else '')
            + '; it is learned from all of them: the same command makes the others')


@contextmanager
def _locked(out: Path) -> Iterator[str]:
    """The sweep's directory is this command's as long as this lasts; yields the command's id.

    Raises:
        InputError: another command has it, or it cannot be written.
    """
    command, lock = uuid.uuid4().hex, Journal(out / LOCK)
    lock.open()
    try:
        try:
            lock.lock()
        except InputError as error:
            raise InputError(f'{out}: is in use: {_holder(lock.path)} is running a sweep there; '
                             f'wait for it, end it, or choose another --out') from error
        lock.replace([{'command': command, 'pid': os.getpid(), 'host': socket.gethostname()}])
        yield command
    finally:
        lock.close()


def _holder(path: Path) -> str:
    try:
        content = json.loads(path.read_text('utf-8'))
        return f'process {content["pid"]} on {content["host"]}'
    except (OSError, ValueError, KeyError, TypeError):
        return 'another process'
