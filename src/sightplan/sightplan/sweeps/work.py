"""A worker of a sweep, which makes batches of the items of one run.

A worker is a process; several of them may work at one run at the same time. Each keeps the run it
worked at last open, and the world, the planner and the model that it made, since the next items
mostly want the same ones. After an error it makes everything anew.
"""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sightplan.agent import needs_planner
from sightplan.metrics import measures
from sightplan.model import InputError, SightplanError
from sightplan.model.journal import STORAGE_ERRORS, StorageError
from sightplan.model.query import close
from sightplan.model.redaction import without_secrets
from sightplan.runs import Line, OpenRun, make_planner, specify, worlds
from sightplan.sweeps.batch import Batch, Outcome
from sightplan.sweeps.cells import is_samples
from sightplan.sweeps.graphs import make_graph
from sightplan.sweeps.serving import Served
from sightplan.vlm.api import backend_can_be_shared, make_backend

_LOG = logging.getLogger(__name__)


class Worker:
    """A worker that makes batches, one after another."""

    def __init__(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Make nothing yet; once ``stopped`` returns true, items are broken off."""
        self._stopped = stopped
        self._run: tuple[Any, OpenRun] | None = None
        self._parts: dict[str, tuple[str, Any]] = {}

    def make(self, batch: Batch, began: Callable[[str], None] = lambda item: None) -> Outcome:
        """Make a batch; errors are in the outcome.

        Args:
            batch: the batch to make.
            began: is called with the id of each item that begins.
        """
        made: list[str] = []
        errors: list[tuple[str, str]] = []
        error, lasting, stopped_by = '', False, ''
        try:
            if batch.graph:
                return make_graph(batch, self._stopped)
            stopped_by = self._walk(batch, began, made, errors)
        except (StorageError, OSError) as caught:
            lasting = True
            if isinstance(caught, OSError) and caught.errno not in STORAGE_ERRORS:
                error = _unexpected(batch, caught)
            else:
                error = stopped_by = str(
                    caught if isinstance(caught, StorageError) else
                    StorageError.about(caught.filename or batch.settings.out, caught))
        except SightplanError as caught:
            error = without_secrets(f'{type(caught).__name__}: {caught}')
            lasting = isinstance(caught, InputError)
        except Exception as caught:  # a defect in one run must not end the others
            error, lasting = _unexpected(batch, caught), True
        except BaseException:
            self.close()
            raise
        if error or errors:
            self.close()
        return Outcome(tuple(made), tuple(errors), error, lasting, stopped_by)

    def close(self) -> None:
        """End everything that was made."""
        self._close_run()
        while self._parts:
            _end(self._parts.popitem()[1][1])

    def _walk(self, batch: Batch, began: Callable[[str], None], made: list[str],
              errors: list[tuple[str, str]]) -> str:
        opened = self._opened(batch)
        items = {item.id: item for item in opened.work.plan.items}
        with opened.store.locked() as done:
            made.extend(item for item in batch.items if item in done)

        def note(line: Line) -> None:
            made.append(line['id'])
            if not measures.scored(line):
                errors.append((line['id'], str(line['error'])))

        return opened.walk(
            [items[item] for item in batch.items],
            began=began, progress=note,
            # After an error, whether to go on is the schedule's to say.
            cancelled=lambda: bool(errors) or self._stopped(),
            keep=lambda line: measures.scored(line) or line['id'] in batch.last).stopped_by

    def _opened(self, batch: Batch) -> OpenRun:
        key = (batch.name, batch.command, batch.attempt)
        if self._run is None or self._run[0] != key:
            self._close_run()
            settings = batch.settings
            world = planner = None
            if not is_samples(settings):
                world = self._part('world', [settings.domain, dict(settings.world_options)],
                                   lambda: worlds.make_world(settings.domain,
                                                             settings.world_options))
                if needs_planner(settings.method):
                    planner = self._part('planner', [settings.domain, settings.planner_search],
                                         lambda: make_planner(settings))
            self._run = key, OpenRun(
                settings, world=world, planner=planner, backend=self._backend(batch),
                command=batch.command, fence=lambda: check_fence(batch))
        return self._run[1]

    def _backend(self, batch: Batch) -> Any:
        """The model, if runs can share it."""
        settings, address = batch.settings, batch.served
        options = specify(settings).model_options()
        if options is None or not backend_can_be_shared(settings.backend):
            return None
        if address is not None:
            return self._part('backend', [settings.backend, options, address.url],
                              lambda: Served(address))
        return self._part('backend', [settings.backend, options],
                          lambda: make_backend(settings.backend, options))

    def _part(self, kind: str, what: Any, make: Callable[[], Any]) -> Any:
        """The one of its kind that was made last, if it is the same; else a new one."""
        key = json.dumps(what, sort_keys=True)
        there = self._parts.get(kind)
        if there is None or there[0] != key:
            if there is not None:
                _end(self._parts.pop(kind)[1])
            self._parts[kind] = key, make()
        return self._parts[kind][1]

    def _close_run(self) -> None:
        if self._run is not None:
            run, self._run = self._run[1], None
            with contextlib.suppress(OSError):  # the outcome says what could not be written
                run.close()


def _end(part: Any) -> None:
    with contextlib.suppress(SightplanError, OSError):
        close(part)


def _unexpected(batch: Batch, caught: Exception) -> str:
    _LOG.error('%s: %s', batch.name,
               without_secrets(''.join(traceback.format_exception(caught))))
    return without_secrets(f'unexpected {type(caught).__name__}: {caught}')


def check_fence(batch: Batch) -> None:
    """Check that the sweep's directory still belongs to the command that wants a batch.

    Raises:
        InputError: another command has taken it over, so that nothing more may be written.
    """
    if not batch.lock:
        return
    try:
        there = json.loads(Path(batch.lock).read_text('utf-8')).get('command')
    except (OSError, ValueError):
        there = None
    if there != batch.command:
        raise InputError(f'{batch.lock}: another command has taken over this sweep')
