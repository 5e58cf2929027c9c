"""What a worker does: some episodes of one run.

A worker is a process (or a Ray actor); several of them may work at one run at the same time. Each
keeps the run it worked at last open, and the world, the planner and the model that it made, since
the next episodes mostly want the same ones. After an error it makes everything anew.
"""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.agent import needs_model, needs_planner
from sightplan.metrics import measures
from sightplan.model import InputError, SightplanError
from sightplan.model.journal import STORAGE_ERRORS, StorageError
from sightplan.runs import (
    Line,
    OpenRun,
    RunSettings,
    make_planner,
    resolved_backend_options,
    worlds,
)
from sightplan.vlm.api import backend_can_be_shared, make_backend

LOCK = '.sweep.lock'
"""File in a sweep's directory that the command which runs it keeps locked, and has its id in."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Episodes for a worker to make.

    Attributes:
        name: of the run.
        settings: of the run.
        episodes: their ids, in the order in which to make them.
        last: ids of those that are not tried again: they are committed even if they end in an
            error.
        command: id of the command that wants them.
        lock: the sweep's lock file.
        attempt: grows when a worker died at this run: what it left behind is to be cleared away.
        graph: whether they are to be made by a ROS graph.
    """

    name: str
    settings: RunSettings
    episodes: tuple[str, ...]
    last: frozenset[str] = frozenset()
    command: str = ''
    lock: str = ''
    attempt: int = 0
    graph: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a chunk.

    Attributes:
        made: ids of the episodes that are over: committed, or in ``errors``, or both.
        errors: id to error of those that could not be scored; after one of them the chunk ends.
        error: what kept the others from being made, '' for nothing.
        lasting: whether trying again cannot help.
        stopped_by: why the run stopped itself, as at a spending cap, or why no run can go on, as
            on a full disk; '' if neither.
    """

    made: tuple[str, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    error: str = ''
    lasting: bool = False
    stopped_by: str = ''


class Maker:
    """Makes chunks, one after another."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        """Nothing is made yet; once ``stopped``, episodes are broken off."""
        self._stopped = stopped
        self._run: tuple[Any, OpenRun] | None = None
        self._parts: dict[str, tuple[str, Any]] = {}

    def make(self, chunk: Chunk, began: Callable[[str], None] = lambda episode: None) -> Outcome:
        """Make a chunk; whatever goes wrong is told in the outcome.

        Args:
            chunk: what to make.
            began: is told the id of each episode that begins.
        """
        made: list[str] = []
        errors: list[tuple[str, str]] = []
        try:
            if chunk.graph:
                from sightplan.sweeps.graphs import make_graph
                return make_graph(chunk, self._stopped)
            stopped_by = self._episodes(chunk, began, made, errors)
            return Outcome(tuple(made), tuple(errors), stopped_by=stopped_by)
        except (StorageError, OSError) as caught:
            self._discard()
            if isinstance(caught, OSError) and caught.errno not in STORAGE_ERRORS:
                return _unexpected(chunk, made, errors, caught)
            error = (str(caught) if isinstance(caught, StorageError) else
                     str(StorageError.about(caught.filename or chunk.settings.out, caught)))
            return Outcome(tuple(made), tuple(errors), error, True, error)
        except SightplanError as caught:
            self._discard()
            return Outcome(tuple(made), tuple(errors), f'{type(caught).__name__}: {caught}',
                           isinstance(caught, InputError))
        except Exception as caught:  # a defect in one run must not end the others
            self._discard()
            return _unexpected(chunk, made, errors, caught)

    def close(self) -> None:
        """End everything that was made."""
        self._discard()

    def _episodes(self, chunk: Chunk, began: Callable[[str], None], made: list[str],
                  errors: list[tuple[str, str]]) -> str:
        opened = self._opened(chunk)
        items = {item.id: item for item in opened.work.plan.items}
        with opened.store.locked() as done:
            made.extend(item for item in chunk.episodes if item in done)

        def note(line: Line) -> None:
            made.append(line['id'])
            if not measures.scored(line):
                errors.append((line['id'], str(line['error'])))

        walked = opened.walk(
            [items[item] for item in chunk.episodes],
            began=began, progress=note,
            # After an error, whether to go on is the schedule's to say.
            cancelled=lambda: bool(errors) or self._stopped(),
            keep=lambda line: measures.scored(line) or line['id'] in chunk.last)
        if errors:
            self._discard()
        return walked.stopped_by

    def _opened(self, chunk: Chunk) -> OpenRun:
        key = (chunk.name, chunk.command, chunk.attempt)
        if self._run is None or self._run[0] != key:
            self._close_run()
            settings = chunk.settings
            world = self._part('world', [settings.domain, dict(settings.world_options)], lambda: (
                worlds.make_world(settings.domain, settings.world_options)))
            planner = (self._part('planner', settings.planner_search,
                                  lambda: make_planner(settings))
                       if needs_planner(settings.method) else None)
            self._run = key, OpenRun(
                settings, world=world, planner=planner, backend=self._backend(settings),
                command=chunk.command, fence=lambda: check_fence(chunk))
        return self._run[1]

    def _backend(self, settings: RunSettings) -> Any:
        """The model, if runs can share it."""
        if not needs_model(settings.method) or not backend_can_be_shared(settings.backend):
            return None
        options = resolved_backend_options(settings)
        return self._part('backend', [settings.backend, options],
                          lambda: make_backend(settings.backend, options))

    def _part(self, kind: str, what: Any, make: Callable[[], Any]) -> Any:
        """The one of its kind that was made last, if it is the same; else a new one."""
        key = json.dumps(what, sort_keys=True)
        there = self._parts.get(kind)
        if there is None or there[0] != key:
            if there is not None:
                self._end(self._parts.pop(kind))
            self._parts[kind] = key, make()
        return self._parts[kind][1]

    @staticmethod
    def _end(part: tuple[str, Any]) -> None:
        close = getattr(part[1], 'close', None)
        if callable(close):
            with contextlib.suppress(SightplanError, OSError):
                close()

    def _close_run(self) -> None:
        if self._run is not None:
            run, self._run = self._run[1], None
            with contextlib.suppress(OSError):  # what could not be written was told before
                run.close()

    def _discard(self) -> None:
        self._close_run()
        while self._parts:
            self._end(self._parts.popitem()[1])


def _unexpected(chunk: Chunk, made: list[str], errors: list[tuple[str, str]],
                caught: Exception) -> Outcome:
    _LOG.error('%s: %s', chunk.name, ''.join(traceback.format_exception(caught)))
    return Outcome(tuple(made), tuple(errors), f'unexpected {type(caught).__name__}: {caught}',
                   True)


def check_fence(chunk: Chunk) -> None:
    """Check that the sweep's directory still belongs to the command that wants a chunk.

    Raises:
        InputError: another command has taken it over, so that nothing more may be written.
    """
    if not chunk.lock:
        return
    try:
        there = json.loads(Path(chunk.lock).read_text('utf-8')).get('command')
    except (OSError, ValueError):
        there = None
    if there != chunk.command:
        raise InputError(f'{chunk.lock}: another command has taken over this sweep')
