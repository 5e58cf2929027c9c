"""The choice of the items that a worker makes next, and the handling of failed items.

Workers take batches of items: each goes on with its own run as long as that lasts, then begins
another, then helps at one that others work at, so that nobody is idle as long as there is an
item to make. Batches become smaller towards the end of a run.

An item that ends in an error is tried again a few times, and so is one during which its worker
died; after that it is given up and named, and the others go on.

A model that answers no more (a server that is down) would cost each item all its patience. So
after some of its errors in a row, of whatever runs, its runs are left for the next command; after
a few refusals in a row always, because it would refuse the rest, too.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sightplan.model import BackendError, DeadlineError, RefusedError
from sightplan.runs import MOST_REFUSALS, RunSettings
from sightplan.sweeps.batch import Batch, Outcome

DEATHS = 3
"""Number of workers that may die at an item, or at opening a run, before it is given up."""
PATIENCE = 5
"""Errors of one model in a row that end its runs, or twice the workers if that is more."""
CAP_OF_RUN, CAP_OF_SWEEP, STORAGE = 'cap of a run', 'cap of the sweep', 'storage'
"""Reasons that stop a whole sweep."""
_OF_MODELS = tuple(f'{error.__name__}: ' for error in (
    BackendError, DeadlineError, RefusedError))
_REFUSED = f'{RefusedError.__name__}: '
_MOST = 8
"""The most items of a batch, except for samples of one cluster, which stay together."""
_NONE = ''
"""Stands for no item, in counts of failures before an item begins."""
_DIED = 'the process that ran it died {} times (killed, or out of memory)'


@dataclass
class Job:
    """A run to be made.

    Attributes:
        name: name of the run.
        settings: settings of the run.
        items: ids of all its items, in order.
        model: key that distinguishes its model from others, '' if it has none.
        clusters: id of each sample to its cluster, which is asked together; empty for episodes.
        whole: whether one worker makes all of it.
        error: what ended it, '' for nothing.
        stopped_by: why it stopped itself, as at a spending cap; '' if it did not.
        given_up: id to error of items that are not committed and not tried again.
    """

    name: str
    settings: RunSettings
    items: tuple[str, ...]
    model: str = ''
    clusters: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    error: str = ''
    stopped_by: str = ''
    given_up: dict[str, str] = field(default_factory=dict)
    waiting: deque[str] = field(default_factory=deque)
    running: int = 0
    attempt: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    deaths: Counter[str] = field(default_factory=Counter)

    @property
    def over(self) -> bool:
        """Whether no item of the run is left to be made, or an error ended it."""
        return bool(self.error) or not (self.waiting or self.running)

    def cluster(self, item: str) -> str:
        """Return the cluster of a sample, or the item itself for an episode."""
        return self.clusters.get(item, item)


class Schedule:
    """Hands out batches, and takes their outcomes.

    Attributes:
        jobs: the runs.
        halted: whether no more batches are handed out.
        stopped_by: the reason for that in words; '' if a person stopped it.
        stopped_kind: one of ``CAP_OF_RUN``, ``CAP_OF_SWEEP`` and ``STORAGE``, or ''.
    """

    def __init__(self, jobs: Iterable[Job], committed: Mapping[str, Collection[str]], *,
                 workers: int, retries: int, command: str, lock: str, graph: bool = False,
                 patience: int | None = None) -> None:
        """Begin.

        Args:
            jobs: runs, in their order; those that are over stay so.
            committed: run to ids of the items that need not be made.
            workers: how many there are.
            retries: how often an item that ended in an error is tried again.
            command: id of the command.
            lock: the sweep's lock file.
            graph: whether episodes are made by ROS graphs.
            patience: so many errors of one model in a row end its runs; 0: none do; None:
                ``PATIENCE``. Whatever it is, ``MOST_REFUSALS`` refusals in a row end them.
        """
        self.jobs = list(jobs)
        self.halted = False
        self.stopped_by = self.stopped_kind = ''
        self._patience = max(PATIENCE, 2 * workers) if patience is None else patience
        self._in_a_row: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._workers, self._retries = workers, retries
        self._command, self._lock, self._graph = command, lock, graph
        self._by_name = {job.name: job for job in self.jobs}
        self._finished: list[Job] = []
        for job in self.jobs:
            there = committed.get(job.name, ())
            job.waiting = deque(id_ for id_ in job.items if id_ not in there)

    def next(self, before: str = '') -> Batch | None:
        """The next batch for a worker that worked at the run ``before`` last.

        Returns:
            None if there is nothing to hand out now.
        """
        if self.halted:
            return None
        ready = [job for job in self.jobs if job.waiting and not job.error
                 and not (job.running and (job.whole or self._graph))]
        own = [job for job in ready if job.name == before]
        fresh = [job for job in ready if not job.running]
        job = next(iter(own or fresh), max(ready, key=lambda job: len(job.waiting), default=None))
        return None if job is None else self._take(job)

    def over(self, batch: Batch, outcome: Outcome) -> None:
        """A batch is over."""
        job = self._by_name[batch.name]
        if outcome.stopped_by:
            job.stopped_by = outcome.stopped_by
            if outcome.error:
                self.halt(outcome.stopped_by, STORAGE)
            else:
                self._finished.append(job)
                self.halt(f'{job.name}: {outcome.stopped_by}', CAP_OF_RUN)
        failed = [item for item, _ in outcome.errors]
        job.failures.update(failed)
        if outcome.made:
            job.failures[_NONE] = job.deaths[_NONE] = 0
        if outcome.error:
            job.failures[_NONE] += 1
            if outcome.lasting or job.failures[_NONE] > self._retries:
                job.error = outcome.error
        self._put_back(job, [item for item in batch.items if item not in outcome.made],
                       [item for item in failed if item not in batch.last])
        self._heed_errors(job, outcome)

    def died(self, batch: Batch, began: str, committed: Collection[str]) -> None:
        """The worker of a batch died.

        Args:
            batch: what it was at.
            began: id of the last item that it began; '' if it began none.
            committed: ids of the items of the run that are committed.
        """
        job = self._by_name[batch.name]
        job.attempt += 1
        left = [item for item in batch.items if item not in committed]
        if began in left:
            job.deaths[began] += 1
            if job.deaths[began] >= DEATHS:
                job.given_up[began] = _DIED.format(DEATHS)
                left.remove(began)
        elif left:
            job.deaths[_NONE] += 1
            if job.deaths[_NONE] >= DEATHS * (self._workers + 1):
                job.error = _DIED.format(job.deaths[_NONE])
        self._put_back(job, left, [])

    def halt(self, why: str, kind: str = '') -> None:
        """Hand out nothing more; the arguments are ``stopped_by`` and ``stopped_kind``."""
        self.halted = True
        if not self.stopped_by:
            self.stopped_by, self.stopped_kind = why, kind

    def running(self) -> list[str]:
        """Names of the runs that workers are at."""
        return [job.name for job in self.jobs if job.running]

    def finished(self) -> list[Job]:
        """The runs that were finished since the last call."""
        found, self._finished = self._finished, []
        return list({job.name: job for job in found}.values())

    def _heed_errors(self, job: Job, outcome: Outcome) -> None:
        """Count a model's errors without a success between them; too many end all its runs."""
        model = job.model
        errors = {(job.cluster(item), error) for item, error in outcome.errors}
        if outcome.error:
            errors.add((_NONE, outcome.error))
        of_model = [error for _, error in errors if error.startswith(_OF_MODELS)]
        if len(outcome.made) > len(outcome.errors):
            self._in_a_row[model] = self._refusals[model] = 0
        if not of_model:
            return
        self._in_a_row[model] += len(of_model)
        refused = all(error.startswith(_REFUSED) for error in of_model)
        self._refusals[model] = self._refusals[model] + len(of_model) if refused else 0
        if self._refusals[model] < MOST_REFUSALS and not (
                0 < self._patience <= self._in_a_row[model]):
            return
        count = (f'{self._refusals[model]} refusals' if self._refusals[model] >= MOST_REFUSALS else
                 f'{self._in_a_row[model]} errors')
        why = (f'{count} in a row of the model (backend {job.settings.backend}), so that no more '
               f'was tried: {of_model[-1]}; the same command then goes on')
        for other in self.jobs:
            if other.model == model and not other.over:
                other.error = why
                if not other.running:
                    self._finished.append(other)

    def _take(self, job: Job) -> Batch:
        waiting = job.waiting
        size = (len(waiting) if job.whole or self._graph else
                max(1, min(_MOST, len(waiting) // (2 * self._workers))))
        items = [waiting.popleft()]
        # One at which a worker died is alone.
        while waiting and not job.deaths[items[0]] and not job.deaths[waiting[0]] and (
                len(items) < size or job.cluster(items[-1]) == job.cluster(waiting[0])):
            items.append(waiting.popleft())
        job.running += 1
        return Batch(job.name, job.settings, tuple(items),
                     frozenset(item for item in items if job.failures[item] >= self._retries),
                     self._command, self._lock, job.attempt, self._graph)

    def _put_back(self, job: Job, left: list[str], again: list[str]) -> None:
        job.waiting.extendleft(reversed(left))
        job.waiting.extend(again)
        job.running -= 1
        if job.over:
            self._finished.append(job)
