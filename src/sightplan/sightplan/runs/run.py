"""Running what is not committed yet, in this process; and the one place where a run is opened."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from sightplan.agent import Policy
from sightplan.model import (
    BackendError,
    InputError,
    Recorder,
    SymbolicPlanner,
    Usage,
    World,
)
from sightplan.model.query import (
    Model,
    carry_over,
    check_pictures,
    picture_check,
    pictures_lost,
    traits_of,
)
from sightplan.records import RunStore
from sightplan.runs.driver import WALKED, Walked, walk
from sightplan.runs.episodes import EpisodePlan, EpisodeRunner
from sightplan.runs.identity import session
from sightplan.runs.refusals import MOST_REFUSALS, Refusals
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.summary import model_that_replied, summarise
from sightplan.runs.work import Item, Line, Plan, Progress, Silent, Work


def run(settings: RunSettings, progress: Progress | None = None, *,
        cancelled: Callable[[], bool] = lambda: False, world: World | None = None,
        planner: SymbolicPlanner | None = None, backend: Model | None = None,
        recorders: Sequence[Recorder] = (), policy: Policy | None = None) -> dict[str, Any]:
    """Run all items that are not committed yet, one batch after another.

    Args:
        settings: what to run.
        progress: is told how it goes.
        cancelled: once true, the current batch is broken off (and not committed: a resumed run
            repeats it), and the summary of the finished ones is written.
        world: of episodes: instead of the installed one for the domain.
        planner: of episodes: instead of Fast Downward.
        backend: instead of the one that the settings name; stays open.
        recorders: of episodes: take the events of all, too, after the scorer has.
        policy: of episodes: instead of the one that the settings name, see ``EpisodeRunner``.

    Returns:
        the content of ``summary.json``: see ``summary.summarise``, plus ``out``, ``problems``
        (number, of episodes), ``problems_skipped``, ``interrupted``, ``stopped_by`` (what
        interrupted it, with the remedy: a spending cap, refusals; '' for a person), ``spent``
        (by all sessions on a backend that can cap it, broken off items included; else None),
        ``pictures`` (what was found out about pictures on their way to the model, '' where
        nothing was), ``planned`` (items), and what was run by which commit and versions: see
        ``RunStore.origin``.

    Raises:
        InputError: the settings are wrong, or ``out`` holds another run.
        InfrastructureError: the world, the model or the planner could not be started.
        KeyboardInterrupt: after the summary was written.
    """
    progress = progress or Silent()
    with OpenRun(settings, world=world, planner=planner, backend=backend, recorders=recorders,
                 policy=policy, patience=MOST_REFUSALS) as opened:
        progress.started(opened.store.folder, opened.store.lines(), len(opened.work.plan.items),
                         opened.work.plan.skipped)
        walked, refused = Walked(interrupted=True), False
        try:
            walked = opened.walk(cancelled=cancelled, progress=progress.item)
        except InputError:
            refused = not opened.store.count
            raise
        finally:
            if refused:
                opened.store.discard_if_empty()
            else:
                summary = opened.summarise(walked)
    return summary


def specify(settings: RunSettings) -> Plan:
    """Return the plan of a run: of samples if its split is one of samples, else of episodes.

    Raises:
        InputError: the settings name something that does not exist.
    """
    suite = _samples(settings)
    if suite is None:
        return EpisodePlan(settings)
    from sightplan.runs.samples import SamplePlan
    samples: Plan = SamplePlan(settings, suite)
    return samples


def _samples(settings: RunSettings) -> Suite | None:
    """The suite, if it is one of samples.

    Raises:
        InputError: it is not, and there are options for one.
    """
    suite = sample_suite(settings.suite, settings.split)
    if suite is None and settings.suite_options:
        raise InputError(f'suite_options ({", ".join(settings.suite_options)}) are for suites of '
                         'samples, and these are episodes; leave them out')
    return suite


def make_work(settings: RunSettings, *, backend: Model | None = None, **parts: Any) -> Work:
    """The work of a run.

    Args:
        settings: what to run, checked.
        backend: instead of the one that the settings name; stays open.
        parts: of episodes: ``world``, ``planner``, ``recorders``, ``policy``.

    Raises:
        InputError: the settings are wrong.
        InfrastructureError: the world, the model or the planner could not be started.
    """
    suite = _samples(settings)
    if suite is None:
        return Work(EpisodeRunner(settings, **parts), backend)
    from sightplan.runs.sample_work import SampleRunner
    return Work(SampleRunner(settings, suite, backend), backend)


class OpenRun:
    """An open run directory, with all that its items need. Use as a context manager.

    Attributes:
        settings: settings of the run, with ``out`` filled in.
        work: the work that makes its items.
        store: its directory.
        done: ids of the items that were committed when it was opened.
    """

    def __init__(self, settings: RunSettings, *, world: World | None = None,
                 planner: SymbolicPlanner | None = None, backend: Model | None = None,
                 recorders: Sequence[Recorder] = (), policy: Policy | None = None,
                 command: str = '', fence: Callable[[], None] | None = None,
                 patience: int = 0) -> None:
        """Make the world, load the model, start the planner, open the run.

        Args:
            settings: what to run.
            world: instead of the installed one for the domain; stays open.
            planner: instead of Fast Downward; stays open.
            backend: instead of the one that the settings name; stays open.
            recorders: take the events of all episodes, too, after the scorer has.
            policy: of episodes: instead of the one that the settings name, see ``EpisodeRunner``.
            command: see ``RunStore.open``: several processes may make items of a run.
            fence: see ``RunStore.open``.
            patience: number of batches in a row that end in a RefusedError after which the run is
                broken off; 0: it goes on.

        Raises:
            InputError: the settings are wrong, or ``out`` holds another run.
            InfrastructureError: the world, the model or the planner could not be started.
        """
        self._refusals = Refusals(patience)
        self._noted_pictures = False
        settings.check()
        if not settings.out:
            settings = dataclasses.replace(settings, out=default_out(settings))
        self.settings = settings
        with ExitStack() as stack:
            self.work = make_work(settings, world=world, planner=planner, backend=backend,
                                  recorders=recorders, policy=policy)
            stack.callback(self.work.close)
            backend = self.work.backend
            self.store = stack.enter_context(RunStore(settings.out))
            self.done: AbstractSet[str] = self.store.open(
                self.work.plan.identity(
                    backend.name if backend else policy.model if policy else ''),
                {**session(settings), **self.work.session()}, settings.resume,
                retry_errors=settings.retry_errors, command=command, fence=fence)
            try:
                self.store.note('problems_skipped', self.work.plan.skipped)
                self._spending = _Spending(self.store, backend)
                self._model = backend
                check_pictures(backend)
                self.work.begin(self.store)
            except InputError:
                self.store.discard_if_empty()
                raise
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlock the directory, and end all that was started for the run."""
        self._stack.close()

    def walk(self, items: Sequence[Item] | None = None, *,
             cancelled: Callable[[], bool] = lambda: False,
             began: Callable[[str], None] = lambda item: None,
             progress: Callable[[Line], None] = lambda line: None,
             keep: Callable[[Line], bool] = lambda line: True) -> Walked:
        """Make and commit what is not committed yet; see ``driver.walk``.

        Args:
            items: some of ``work.plan.items``, in the order in which to make them; None: all.
            cancelled: once true, the current batch is broken off.
            began: receives the id of each item whose batch begins.
            progress: receives each line that was made.
            keep: whether to commit a line.
        """
        with self.store.locked() as there:
            done = set(there)
        return walk(self.work.plan.items if items is None else items, done, self.make,
                    lambda line: keep(line) and self.commit(line), cancelled=cancelled,
                    began=began, progress=progress, batches=self.work.batches)

    def make(self, batch: Sequence[Item],
             cancelled: Callable[[], bool] = lambda: False) -> Sequence[Line]:
        """The lines of a batch, not committed; see ``Work.make``. Notes what it cost.

        Raises:
            BackendError: the pictures of the batch did not reach the model, nor would others.
            CancelledError: the server refused this batch and those before it, and would refuse
                others; its lines are ``partial``.
        """
        self._spending.begin()
        try:
            lines = self.work.make(batch, cancelled)
        finally:
            self._spending.note()
        if lost := pictures_lost(self._model):
            raise BackendError(lost)
        if not self._noted_pictures and (found := picture_check(self._model)):
            self._noted_pictures = True
            with self.store.locked():
                self.store.note('pictures', found)
        self._refusals.heed(lines)
        return lines

    def commit(self, line: Line) -> bool:
        """Write a line to disk; return False if another process of the command wrote it before.

        Raises:
            InfrastructureError: it could not be written.
        """
        return self.store.append(line, before=lambda: self.work.before(line))

    def summarise(self, walked: Walked = WALKED) -> dict[str, Any]:
        """Write ``summary.json``, see ``run``: of all lines, in the order of the items."""
        return write_summary(self.store, self.work.plan, walked)


def write_summary(store: RunStore, plan: Plan, walked: Walked = WALKED) -> dict[str, Any]:
    """Write ``summary.json`` of a run, see ``run``.

    Args:
        store: the run.
        plan: what it consists of.
        walked: how the walk ended.

    Raises:
        InputError: ``run.json`` is missing or damaged.
    """
    info, lines = store.run_info(), ordered(store.lines(), plan.items)
    model = model_that_replied(info['identity'], lines)
    return store.write_summary({
        **summarise(lines, plan.suite, plan.kind), **({'model': model} if model else {}),
        'out': str(store.folder),
        'planned': len(plan.items), **plan.notes,
        'problems_skipped': info.get('problems_skipped', []),
        'interrupted': walked.interrupted, 'stopped_by': walked.stopped_by,
        'spent': info.get('spent'), 'pictures': info.get('pictures', '')})


def ordered(lines: Sequence[Line], items: Sequence[Item]) -> list[Line]:
    """Lines of results in the order of the items, in whatever order they were committed."""
    place = {item.id: number for number, item in enumerate(items)}
    return sorted(lines, key=lambda line: place.get(line['id'], len(place)))


def default_out(settings: RunSettings) -> str:
    """A fresh run directory below ``runs/``, named by time and content."""
    now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
    what = Path(settings.problems).name if settings.problems else settings.split
    suite = Path(settings.suite).stem if settings.suite else Path(settings.domain).name
    first = Path('runs') / f'{now}-{suite}-{what}-{settings.method}'
    names = itertools.chain((first,), (first.with_name(f'{first.name}-{n}')
                                       for n in itertools.count(2)))
    return str(next(name for name in names if not name.exists()))


class _Spending:
    """Keeps in ``run.json`` the spending of all sessions of a run on a backend that has caps.

    Beyond the lines of the items it includes the spending on items that were broken off, or that
    ended in an error and were repeated. Spending of other processes on the run counts from one
    batch to the next.
    """

    def __init__(self, store: RunStore, backend: Model | None) -> None:
        self._store = store
        self._backend = backend if backend is not None and traits_of(backend).capped else None
        self._noted = Usage()
        self.begin()
        self.note()

    def begin(self) -> None:
        """Add the spending of other processes to the backend's spending towards its cap."""
        if self._backend is not None:
            carry_over(self._backend, self._read() - self._noted)

    def note(self) -> None:
        """Write the spending since the last call to disk."""
        if self._backend is None or self._backend.usage is None:
            return
        usage = self._backend.usage
        with self._store.locked():
            self._store.note('spent', dataclasses.asdict(self._read() + (usage - self._noted)))
        self._noted = usage

    def _read(self) -> Usage:
        return Usage(**self._store.run_info().get('spent') or {})
