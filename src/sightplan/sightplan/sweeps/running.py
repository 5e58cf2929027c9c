"""Making what is missing of a sweep, by several workers.

Each cell is a run directory below the sweep's, named by what its results depend on. Workers commit
episodes there themselves, one by one, so that whoever dies takes nothing along that was finished;
running a sweep again does what is missing, no more. Sweeps may share a directory, one after the
other; cells that they have in common are run once.

A run that stops itself, as at a spending cap, stops the sweep: the other runs would only spend on.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sightplan.metrics import measures
from sightplan.model import CancelledError, InputError, SightplanError, Usage
from sightplan.model.journal import StorageError
from sightplan.model.whole_files import replacing
from sightplan.records import RunStore
from sightplan.runs import (
    RunSettings,
    Walked,
    canonical_summary,
    ordered,
    specify,
    write_summary,
)
from sightplan.sweeps.calibrations import calibration_runs, learn, learned
from sightplan.sweeps.cells import Calibration, Cell, Sweep, slug
from sightplan.sweeps.engines import Engine, LocalEngine, Worker, WorkerDiedError
from sightplan.sweeps.graphs import check_graph
from sightplan.sweeps.schedule import CAP_OF_SWEEP, STORAGE, Job, Schedule
from sightplan.sweeps.work import LOCK

METRICS = 'metrics.json'
"""Scores of all cells of the sweep that was run last, without what depends on its history."""
_FORMAT = 1
_POLL_S = 0.25
_COUNTED = ('requests', 'prompt_tokens', 'completion_tokens', 'cost_usd')


@dataclass(frozen=True, slots=True)
class Tick:
    """How a stage of a sweep goes.

    Attributes:
        done: episodes that are committed.
        failed: those among them that could not be scored.
        running: names of the runs that workers are at.
        spent: what models cost so far, of all runs together; None where nobody counted.
    """

    done: int
    failed: int = 0
    running: tuple[str, ...] = ()
    spent: Usage | None = None


class Watcher(Protocol):
    """Is told how a sweep goes; called from the thread that runs it."""

    def begin(self, what: str, episodes: int, done: int) -> None:
        """A stage begins, of so many episodes, some of which are there already."""

    def tick(self, tick: Tick) -> None:
        """How it goes; called a few times a second."""

    def finished(self, name: str, error: str) -> None:
        """A run is over; '' for no error."""


class _Silent:
    def begin(self, what: str, episodes: int, done: int) -> None:
        pass

    def tick(self, tick: Tick) -> None:
        pass

    def finished(self, name: str, error: str) -> None:
        pass


def default_jobs() -> int:
    """As many as there are CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class How:
    """How a sweep is run; no result depends on it.

    Attributes:
        jobs: number of workers; 0: one per CPU.
        retries: how often an episode that ended in an error is tried again.
        graph: whether workers make episodes by ROS graphs.
        max_tokens: cap on the tokens of all runs together; 0: that of the file.
        max_cost_usd: cap on what they cost [USD]; 0: that of the file.
        patience: so many errors of one model in a row leave its runs for the next call; 0: none
            do; None: ``schedule.PATIENCE``, or twice the workers if that is more.
        engine: makes the engine for so many workers; CancelledError: it was stopped meanwhile.
    """

    jobs: int = 0
    retries: int = 2
    graph: bool = False
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    patience: int | None = None
    engine: Callable[[int], Engine] = lambda workers: LocalEngine()


def run_sweep(sweep: Sweep, out: Path, how: How | None = None, watcher: Watcher | None = None,
              stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Make what is missing of a sweep.

    Args:
        sweep: what to run.
        out: directory of the sweep.
        how: by how many workers, where, how patiently.
        watcher: is told how it goes.
        stopped: once true, running episodes are broken off (a later call repeats them).

    Returns:
        plain JSON data: see ``status``, and ``new`` (episodes that were committed since this
        call), ``seconds`` (of this call), ``interrupted``, ``stopped_by`` (what interrupted it,
        with the remedy; '' for a person), ``stopped_kind`` (``CAP_OF_RUN``, ``CAP_OF_SWEEP`` or
        ``STORAGE`` of ``sweeps.schedule``, or ''), ``failures``: ``error`` of what could not be
        made or written and, if it is about one, ``cell``, and ``episode`` or ``episodes`` (those
        that could not be scored for the same reason), ``metrics`` (path of ``metrics.json``) and
        ``metrics_sha256`` ('' if that could not be written).

    Raises:
        InputError: ``out`` cannot be used, or another command is running a sweep there.
    """
    began = time.monotonic()
    how = how or How()
    out = out.expanduser().resolve()
    if how.graph:
        for cell in sweep.cells:
            check_graph(cell.settings)
    with _locked(out) as command:
        before = status(sweep, out)['done']
        stage = _Stage(sweep, out, how, watcher or _Silent(), stopped, command)
        failures: list[dict[str, Any]] = []
        metrics = ''
        try:
            _write_index(sweep, out)
            failures += stage.calibrations()
            failures += stage.cells({item['calibration'] for item in failures})
        except (StorageError, OSError) as error:
            failures.append({'error': stage.full(out, error)})
        finally:
            stage.close()
        tails = _read(sweep, out)
        found = _counts(sweep, out, tails)
        failures += _unscored(tails)
        failures += [item for item in damaged(sweep, out) if not any(
            item['cell'] == there.get('cell') and item['error'] in there['error']
            for there in failures)]
        given_up = sum('episode' in item for item in failures)
        try:
            metrics = write_metrics(sweep, out)
        except (StorageError, OSError) as error:
            failures.append({'error': stage.full(out / METRICS, error)})
        return {**found, 'new': found['done'] - before,
                'failed_infrastructure': found['failed_infrastructure'] + given_up,
                'seconds': round(time.monotonic() - began, 3), 'interrupted': stage.halted,
                'stopped_by': stage.stopped_by, 'stopped_kind': stage.stopped_kind,
                'failures': failures, 'metrics': str(out / METRICS), 'metrics_sha256': metrics}


def status(sweep: Sweep, out: Path) -> dict[str, Any]:
    """How far a sweep is.

    Returns:
        plain JSON data: ``sweep``, ``out``, ``cells``, ``episodes`` (of all cells), ``done``
        (those that are committed), ``duplicates`` (episodes that stand in a run more than once:
        never), ``failed_infrastructure`` (unscored ones), ``scored``, ``solved``, and ``spent``:
        what models cost, None where nobody counted.
    """
    out = out.expanduser().resolve()
    return _counts(sweep, out, _read(sweep, out))


def _read(sweep: Sweep, out: Path) -> list[_Tail]:
    """What is committed to each cell."""
    tails = [_Tail(out / cell.name) for cell in sweep.cells]
    for tail in tails:
        tail.update()
    return tails


def _counts(sweep: Sweep, out: Path, tails: Sequence[_Tail]) -> dict[str, Any]:
    duplicates = unscored = scored = solved = done = 0
    spent: Usage | None = None
    for tail in tails:
        done += len(tail.scored)
        duplicates += tail.lines - len(tail.scored)
        unscored += tail.unscored
        scored += tail.lines - tail.unscored
        solved += tail.solved
        spent = _sum(spent, tail.spent)
    return {'sweep': sweep.name, 'out': str(out), 'cells': len(sweep.cells),
            'episodes': sweep.episodes, 'done': done, 'duplicates': duplicates,
            'failed_infrastructure': unscored, 'scored': scored, 'solved': solved,
            'spent': None if spent is None else dataclasses.asdict(spent)}


def _unscored(tails: Sequence[_Tail]) -> list[dict[str, Any]]:
    """Committed episodes that could not be scored, by run and error."""
    found: dict[tuple[str, str], list[str]] = {}
    for tail in tails:
        for episode, error in tail.errors.items():
            found.setdefault((tail.folder.name, error), []).append(episode)
    return [{'cell': name, 'episodes': episodes, 'error': error}
            for (name, error), episodes in found.items()]


def damaged(sweep: Sweep, out: Path) -> list[dict[str, Any]]:
    """Runs whose files cannot be read: ``cell`` and ``error``, with the remedy."""
    found = []
    for cell in sweep.every:
        store = RunStore(out / cell.name)
        if store.folder.is_dir():
            try:
                store.lines()
                if (store.folder / 'run.json').exists():
                    store.run_info()
            except InputError as error:
                found.append({'cell': cell.name, 'error': str(error)})
    return found


def leftovers(sweep: Sweep, out: Path) -> list[str]:
    """Names of run directories in ``out`` that belong to no cell: of other versions, mostly.

    Cells of other sweeps that share the directory, by their index files, are none.
    """
    known = {cell.name for cell in sweep.every}
    for path in sorted(out.expanduser().glob('*.sweep.json')):
        if path.name != _index_name(sweep):
            with suppress(OSError, ValueError, KeyError, TypeError):
                known |= {cell['dir'] for cell in json.loads(path.read_text('utf-8'))['cells']}
    return [path.parent.name for path in sorted(out.expanduser().glob('*/run.json'))
            if path.parent.name not in known]


def write_metrics(sweep: Sweep, out: Path) -> str:
    """Write ``metrics.json``: the scores of all cells of the file, in its order.

    They are the same bytes by however many workers, in whatever order, and with however many
    interruptions the episodes were made.

    A run whose lines of results are not readable has none.

    Returns:
        its SHA-256.

    Raises:
        StorageError: it cannot be written.
    """
    cells = []
    for cell in sweep.every:
        settings = cell.settings
        plan = specify(settings)
        known = {item.id for item in plan.items}
        try:
            there = RunStore(out / cell.name).lines()
        except InputError:
            there = []
        lines = [line for line in ordered(there, plan.items) if line['id'] in known]
        cells.append({'dir': cell.name, 'labels': dict(cell.labels), 'episodes': cell.episodes,
                      'metrics': canonical_summary(lines, plan.suite) if lines else None})
    content = json.dumps({'format': _FORMAT, 'sweep': sweep.name, 'cells': cells}, indent=1,
                         allow_nan=False) + '\n'
    _replace(out / METRICS, content)
    return hashlib.sha256(content.encode()).hexdigest()


class _Stage:
    """Runs jobs with workers that stay from one stage to the next."""

    def __init__(self, sweep: Sweep, out: Path, how: How, watcher: Watcher,
                 stopped: Callable[[], bool], command: str) -> None:
        self._sweep, self._out, self._how, self._watcher = sweep, out, how, watcher
        self._asked, self._command = stopped, command
        self._count = how.jobs or default_jobs()
        self._engine: Engine | None = None
        self._workers: list[Worker] = []
        self._tails: dict[str, _Tail] = {}
        self.halted = False
        self.stopped_by = self.stopped_kind = ''
        for calibration in sweep.calibrations:
            folder = out / 'calibrations' / 'runs'
            for path in folder.glob(f'{calibration.stem}-*'):
                self._tail(path.name, path).update()
        for cell in sweep.cells:
            self._tail(cell.name, out / cell.name).update()

    def calibrations(self) -> list[dict[str, Any]]:
        """Make the calibrations that are missing; what went wrong."""
        failures: list[dict[str, Any]] = []
        wanted: list[tuple[Calibration, list[Job]]] = []
        for calibration in self._sweep.calibrations:
            try:
                if learned(self._out, calibration):
                    continue
                wanted.append((calibration, [
                    self._job(Path(s.out).name, s)
                    for s in calibration_runs(self._out, calibration)]))
            except InputError as error:
                failures.append({'calibration': calibration.stem, 'cell': calibration.stem,
                                 'error': str(error)})
        if not wanted:
            return failures
        self._execute('calibrations', [job for _, jobs in wanted for job in jobs], graph=False)
        if self.halted:
            return failures
        for calibration, jobs in wanted:
            wrong = next((gap for job in jobs if (gap := job.error or _gap(job))), '')
            if not wrong:
                try:
                    learn(self._out, calibration, [job.settings for job in jobs])
                except SightplanError as error:
                    wrong = f'{type(error).__name__}: {error}'
            if wrong:
                self._watcher.finished(calibration.stem, wrong)
                failures.append({'calibration': calibration.stem, 'cell': calibration.stem,
                                 'error': wrong})
        return failures

    def cells(self, failed: set[str]) -> list[dict[str, Any]]:
        """Make the cells' episodes, but for those of failed calibrations; what went wrong."""
        failures: list[dict[str, Any]] = []
        jobs: list[Job] = []
        for cell in self._sweep.cells:
            if cell.calibration is not None and cell.calibration.stem in failed:
                failures.append({'cell': cell.name,
                                 'error': 'its calibration could not be learned'})
            else:
                jobs.append(self._job(cell.name, cell.settled(self._out)))
        if not self.halted:
            self._execute('episodes', jobs, self._how.graph)
        failures += [{'cell': job.name, 'error': job.error} for job in jobs if job.error]
        return failures + [{'cell': job.name, 'episode': episode, 'error': error}
                           for job in jobs for episode, error in job.given_up.items()]

    def full(self, path: Path, error: Exception) -> str:
        """Stop, since nothing can be written any more; what to say about it."""
        why = str(error if isinstance(error, StorageError) or not isinstance(error, OSError) else
                  StorageError.about(error.filename or path, error))
        self.halted = True
        if not self.stopped_by:
            self.stopped_by, self.stopped_kind = why, STORAGE
        return why

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()
        if self._engine is not None:
            self._engine.close()

    def _job(self, name: str, settings: RunSettings) -> Job:
        # Of a recording there is one writer.
        return Job(name, settings, tuple(item.id for item in specify(settings).items),
                   settings.record or settings.record_images)

    def _tail(self, name: str, folder: Path) -> _Tail:
        return self._tails.setdefault(name, _Tail(folder))

    def _execute(self, what: str, jobs: list[Job], graph: bool) -> None:
        """Make runs; each job is given what went wrong."""
        tails = {job.name: self._tail(job.name, Path(job.settings.out)) for job in jobs}
        for tail in tails.values():
            tail.update()
        committed = {name: {episode for episode, scored in tail.scored.items() if scored}
                     for name, tail in tails.items()}
        self._watcher.begin(what, sum(len(job.episodes) for job in jobs),
                            sum(map(len, committed.values())))
        schedule = Schedule(jobs, committed, workers=self._count, retries=self._how.retries,
                            command=self._command, lock=str(self._out / LOCK), graph=graph,
                            patience=self._how.patience)
        touched = {job.name for job in jobs if job.waiting}
        if touched:
            self._heed_caps(schedule)
        if touched and not schedule.halted:
            self._work(schedule, tails)
        for job in jobs:
            folder = Path(job.settings.out)
            if (folder / 'run.json').is_file() and (
                    job.name in touched or not (folder / 'summary.json').is_file()):
                _summarise(job, schedule)
        self.halted = schedule.halted
        self.stopped_by, self.stopped_kind = schedule.stopped_by, schedule.stopped_kind

    def _work(self, schedule: Schedule, tails: dict[str, _Tail]) -> None:
        """Have the workers do what the schedule holds."""
        if self._engine is None:
            try:
                self._engine = self._how.engine(self._count)
            except CancelledError:
                schedule.halt('')
                return
        while len(self._workers) < min(self._count, sum(len(j.waiting) for j in schedule.jobs)):
            self._workers.append(self._engine.worker())
        problems: list[BaseException] = []
        over = threading.Event()
        threads = [threading.Thread(target=_slot, args=(worker, schedule, tails, problems, over),
                                    name=f'worker {number}', daemon=True)
                   for number, worker in enumerate(self._workers, start=1)]
        told = False
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                if over.wait(_POLL_S):
                    over.clear()
                    time.sleep(_POLL_S / 10)  # until the thread has ended, too
                self._tell(schedule, tails)
                if self._asked():
                    schedule.halt('')
                if schedule.halted and not told:
                    told = True
                    for worker in self._workers:
                        worker.stop()
        except BaseException:
            schedule.halt('')
            for worker in self._workers:
                worker.stop(now=True)
            raise
        finally:
            for thread in threads:
                thread.join()
        self._tell(schedule, tails)
        if problems:
            raise problems[0]

    def _tell(self, schedule: Schedule, tails: dict[str, _Tail]) -> None:
        """Tell the watcher how it goes, and heed the caps."""
        running = schedule.running()
        finished = schedule.finished()
        for name in {*running, *(job.name for job in finished)}:
            tails[name].update()
        given_up = sum(len(job.given_up) for job in schedule.jobs)
        self._watcher.tick(Tick(
            sum(sum(tail.scored.values()) for tail in tails.values()),
            given_up + sum(tail.unscored for tail in tails.values()), tuple(running),
            self._spent()))
        for job in finished:
            failed = {**tails[job.name].errors, **job.given_up}
            self._watcher.finished(job.name, job.error or job.stopped_by or _told(failed))
        self._heed_caps(schedule)

    def _spent(self) -> Usage | None:
        spent: Usage | None = None
        for tail in self._tails.values():
            spent = _sum(spent, tail.spent)
        return spent

    def _heed_caps(self, schedule: Schedule) -> None:
        spent = self._spent()
        if spent is not None and (why := self._over_cap(spent)):
            schedule.halt(why, CAP_OF_SWEEP)

    def _over_cap(self, spent: Usage) -> str:
        """Why nothing more may be spent, '' if it may."""
        how, sweep = self._how, self._sweep
        tokens = spent.prompt_tokens + spent.completion_tokens
        most_tokens = how.max_tokens or sweep.max_tokens
        most_usd = how.max_cost_usd or sweep.max_cost_usd
        remedy = ('raise it{} in the file, or {} on the command line; the same command then goes '
                  'on')
        if most_tokens and tokens >= most_tokens:
            return (f'the cap of the sweep is reached: {tokens} tokens of max_tokens = '
                    f'{most_tokens} are spent; '
                    + remedy.format(' (max_tokens)', '--max-tokens'))
        if most_usd and (spent.cost_usd or 0.0) >= most_usd:
            return (f'the cap of the sweep is reached: {spent.cost_usd:.4f} USD of max_cost_usd = '
                    f'{most_usd:g} are spent; '
                    + remedy.format(' (max_cost_usd)', '--max-cost-usd'))
        return ''


def _slot(worker: Worker, schedule: Schedule, tails: dict[str, _Tail],
          problems: list[BaseException], over: threading.Event) -> None:
    """Have a worker make chunks until there are none, then say so; a thread for each."""
    before = ''
    try:
        while (chunk := schedule.next(before)) is not None:
            before = chunk.name
            try:
                outcome = worker.make(chunk)
            except WorkerDiedError as error:
                tail = _Tail(tails[chunk.name].folder)
                tail.update()
                left = [e for e in chunk.episodes if e not in tail.scored]
                began = error.began if error.began is not None else next(iter(left), '')
                schedule.died(chunk, began, tail.scored)
            else:
                schedule.over(chunk, outcome)
    except BaseException as error:  # a defect here must not look like the end
        problems.append(error)
        schedule.halt('')
    finally:
        over.set()


@dataclass
class _Tail:
    """What is committed to a run, read on from where it ended the last time.

    Attributes:
        folder: the run directory.
        scored: id of each committed episode to whether it was scored.
        lines: number of committed lines.
        unscored: those that were not scored.
        solved: those whose episode was solved.
        errors: id to error of the unscored ones.
        spent: what models cost, also on episodes that are not committed; None where nobody
            counted.
    """

    folder: Path
    scored: dict[str, bool] = field(default_factory=dict)
    lines: int = 0
    unscored: int = 0
    solved: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    spent: Usage | None = None
    _file: tuple[int, int] = (0, 0)
    _run_file: tuple[int, int] = (0, 0)
    _told: Usage | None = None
    _counted: Usage | None = None

    def update(self) -> None:
        """Read what is new; a line that is not whole yet is left for the next time."""
        self._read_lines()
        self._read_spent()
        self.spent = self._counted or self._told

    def _read_lines(self) -> None:
        try:
            with (self.folder / 'episodes.jsonl').open('rb') as file:
                info = os.fstat(file.fileno())
                inode, known = self._file
                if inode != info.st_ino or known > info.st_size:
                    self.scored, self.lines, self.unscored, self.solved = {}, 0, 0, 0
                    self.errors, self._told, known = {}, None, 0
                file.seek(known)
                raw = file.read()
        except OSError:
            return
        whole = raw[:raw.rfind(b'\n') + 1]
        self._file = info.st_ino, known + len(whole)
        for line in whole.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                self._take(json.loads(line))

    def _read_spent(self) -> None:
        """What a backend with caps says, which knows also what no line tells."""
        with suppress(OSError, InputError, TypeError):
            info = os.stat(self.folder / 'run.json')
            if self._run_file != (info.st_ino, info.st_mtime_ns):
                spent = RunStore(self.folder).run_info().get('spent')
                self._counted = None if spent is None else Usage(**spent)
                self._run_file = info.st_ino, info.st_mtime_ns

    def _take(self, line: dict[str, Any]) -> None:
        self.scored[line['id']] = measures.scored(line)
        self.lines += 1
        self.unscored += not measures.scored(line)
        self.solved += bool(measures.solved(line))
        if not measures.scored(line):
            self.errors[line['id']] = str(
                line.get('error') or line.get('message') or 'no reason is known')
        if line.get('usage'):
            self._told = _sum(self._told, Usage(*(line['usage'][key] for key in _COUNTED)))


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return other if one is None else one if other is None else one + other


def _told(errors: Mapping[str, str]) -> str:
    """Episodes that could not be scored, by reason, '' for none."""
    by_reason: dict[str, list[str]] = {}
    for episode, error in errors.items():
        by_reason.setdefault(error, []).append(episode)
    return '; '.join(f'{len(episodes)} could not be scored ({some_of(episodes)}): {error}'
                     for error, episodes in by_reason.items())


def some_of(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    return ', '.join(names[:most]) + (
        f' and {len(names) - most} more' if len(names) > most else '')


def _summarise(job: Job, schedule: Schedule) -> None:
    """Write a run's summary; what goes wrong is told in the job."""
    missing = bool(job.waiting or job.running or job.given_up or job.error)
    try:
        write_summary(RunStore(job.settings.out), specify(job.settings),
                      Walked(missing, schedule.stopped_by if missing else ''))
    except SightplanError as error:
        job.error = job.error or str(error)
        if isinstance(error, StorageError):
            schedule.halt(str(error), STORAGE)


def _gap(job: Job) -> str:
    """What a run lacks to be learned from, '' for nothing."""
    try:
        lines = RunStore(job.settings.out).lines()
    except InputError as error:
        return str(error)
    scored = {line['id'] for line in lines if measures.scored(line)}
    if scored.issuperset(job.episodes):
        return ''
    errors = dict.fromkeys((*job.given_up.values(), *(
        str(line['error']) for line in lines if not measures.scored(line))))
    return (f'{job.name}: {len(scored)} of {len(job.episodes)} episodes could be scored'
            + (f' ({"; ".join(errors)})' if errors else '')
            + '; it is learned from all of them: the same command makes the others')


@contextmanager
def _locked(out: Path) -> Iterator[str]:
    """The sweep's directory is this command's as long as this lasts; yields the command's id.

    Raises:
        InputError: another command has it, or it cannot be written.
    """
    path = out / LOCK
    command = uuid.uuid4().hex
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _not_writable(out, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f'{out}: is in use: {_holder(path)} is running a sweep there; wait '
                             f'for it, end it, or choose another --out') from error
        content = {'command': command, 'pid': os.getpid(), 'host': socket.gethostname()}
        # In place, since the lock is on this file; who reads half of it takes it for another's.
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(content).encode(), 0)
            os.fsync(handle)
        except OSError as error:
            raise _not_writable(out, error) from error
        yield command
    finally:
        os.close(handle)


def _holder(path: Path) -> str:
    try:
        content = json.loads(path.read_text('utf-8'))
        return f'process {content["pid"]} on {content["host"]}'
    except (OSError, ValueError, KeyError, TypeError):
        return 'another process'


def _index_name(sweep: Sweep) -> str:
    return f'{slug(sweep.name)}.sweep.json'


def _write_index(sweep: Sweep, out: Path) -> None:
    """``<name>.sweep.json``: directory, labels and settings of all cells, for reports."""
    def entry(cell: Cell) -> dict[str, Any]:
        return {'dir': cell.name, 'labels': dict(cell.labels), 'episodes': cell.episodes,
                'calibration': cell.calibration.stem if cell.calibration else None,
                'settings': dataclasses.asdict(cell.settings)}
    index = {'sweep': sweep.name, 'source': sweep.source, 'cells': [
        entry(cell) for cell in sweep.every]}
    _replace(out / _index_name(sweep), json.dumps(index, indent=1, allow_nan=False) + '\n')


def _replace(path: Path, content: str) -> None:
    """Write a file whose content is either the old or the new one.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        with replacing(path, synced=True) as temporary:
            temporary.write_text(content, 'utf-8')
    except OSError as error:
        raise StorageError.about(path, error) from error


def _not_writable(out: Path, error: OSError) -> InputError:
    return InputError(f'{out}: cannot be written ({error.strerror}); choose another --out')
