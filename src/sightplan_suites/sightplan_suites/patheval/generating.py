"""Folders of our own data, written map by map, so that an interrupted command can continue.

What is written depends on ``count``, ``seed`` and ``view`` alone. As long as a folder is not
finished a file ``UNFINISHED`` in it says what it is for; the same command then reads the maps
whose paths are there and plans the others.
"""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan_suites.patheval import building, official, records, segments
from sightplan_suites.patheval.items import View
from sightplan_suites.patheval.scenarios import vectors
from sightplan_suites.paths.maps import ObstacleMap, Polygon
from sightplan_suites.paths.path_files import PathRun, read_path_runs
from sightplan_suites.paths.scenarios import ABSTRACT

UNFINISHED = 'UNFINISHED'
"""A file that is there until a folder is finished."""

Stage = Callable[[str, int, int], None]
"""Callback for progress: name of the stage, number done, and total."""

_AHEAD = 2
"""Number of maps for each worker that are planned ahead."""

Runs = tuple[PathRun, ...]


def generate(out: Path, count: int, seed: int, view: View = '2d', workers: int = 1,
             stage: Stage = lambda what, done, total: None, form: str = ABSTRACT,
             ) -> dict[str, int]:
    """Write a folder of data: environments, planned paths, records with pictures, and segments.

    Args:
        out: the folder; it is made. It must not hold data yet, unless it is unfinished and for
            the same arguments.
        count: items of each scenario, and pairs of each kind of segment.
        seed: of all; one seed always gives the same files.
        view: of the records' pictures.
        workers: processes that plan; what is written does not depend on them.
        stage: see ``Stage``.
        form: of the sentences of tasks, see ``paths.scenarios``.

    Returns:
        how many there are of each kind.

    Raises:
        InputError: the folder holds other data already or cannot be written, or a bad number.
    """
    if workers < 1:
        raise InputError(f'workers = {workers} (give 1 or more)')
    building.check_numbers(count, seed)
    _begin(out, {'count': count, 'seed': seed, 'view': view, 'form': form})
    maps = _Maps(out, seed)
    found = maps.each(workers)

    def least_found(least: int) -> None:
        if maps.planned:  # maps that were read from files say nothing about the remaining time
            stage('items of each scenario', min(least, count), count)
    try:
        built = building.build(count, seed, vectors(), maps=found, least_found=least_found)
    finally:
        found.close()
    items = [building.item_of(one, form=form) for one in built.items]
    written = {'environments': len(built.runs), 'paths': sum(map(len, built.runs.values())),
               **records.write_records(out, items, view, keep=True, progress=lambda done: stage(
                   'records', done, len(items))),
               **official.write_segments(out, segments.segment_pairs(count, seed))}
    for name in maps.names - set(built.runs):  # no item is about them
        official.environment_file(out, name).unlink()
        official.paths_file(out, name).unlink()
    (out / UNFINISHED).unlink()
    return written


def _begin(out: Path, wanted: dict[str, object]) -> None:
    """Make the folder, or see that it is an unfinished one for the same arguments."""
    note = out / UNFINISHED
    try:
        begun = load_json(note.read_text('utf-8'))
    except FileNotFoundError:
        official.check_empty(out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(wanted) + '\n', 'utf-8')
        except OSError as error:
            raise InputError(f'{out}: cannot be written: {error.strerror} (name another folder)'
                             ) from error
        return
    except (OSError, ValueError) as error:
        raise InputError(f'{note}: cannot be read: {error} (name a new folder)') from error
    if begun != wanted:
        raise InputError(f'{out}: is unfinished and for {begun}, not for {wanted} (give the same '
                         'arguments to go on, or name a new folder)')


class _Maps:
    """The maps of a seed with their paths: read where they are written, else planned and written.

    Attributes:
        names: of the maps so far.
        planned: how many of them were planned now.
    """

    def __init__(self, out: Path, seed: int) -> None:
        self._out, self._seed = out, seed
        self.names: set[str] = set()
        self.planned = 0

    def each(self, workers: int) -> Generator[tuple[ObstacleMap, Runs]]:
        """Yield all maps with their runs in order, without end."""
        with contextlib.ExitStack() as stack:
            pool = stack.enter_context(_pool(workers)) if workers > 1 else None
            begun: deque[tuple[ObstacleMap, Callable[[], Runs], bool]] = deque()
            for item in building.maps_of(self._seed):
                begun.append(self._begin(item, pool))
                if pool is None or len(begun) > _AHEAD * workers:
                    yield self._end(*begun.popleft())

    def _begin(self, item: ObstacleMap, pool: ProcessPoolExecutor | None,
               ) -> tuple[ObstacleMap, Callable[[], Runs], bool]:
        """Return a map, a function that gives its paths, and whether the paths are new."""
        file = official.paths_file(self._out, item.name)
        if file.exists():
            return item, functools.partial(read_path_runs, file), False
        if pool is None:
            return item, functools.partial(building.planned, item, self._seed), True
        future = pool.submit(_planned, item.name, item.polygons, self._seed)
        return item, future.result, True

    def _end(self, item: ObstacleMap, give: Callable[[], Runs], new: bool,
             ) -> tuple[ObstacleMap, Runs]:
        runs = give()
        if new:
            official.write_environment(self._out, item, runs)
            self.planned += 1
        self.names.add(item.name)
        return item, runs


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that plan; they end with this one, and leave interrupts to it."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context('spawn'), _begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _planned(name: str, polygons: tuple[Polygon, ...], seed: int) -> Runs:
    return building.planned(ObstacleMap(name, polygons), seed)
