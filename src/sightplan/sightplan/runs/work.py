"""The parts of a run: its items, and the work that makes their lines of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sightplan.model.query import Model, close
from sightplan.records import RunStore
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.vlm import recording
from sightplan.vlm.api import backend_settings

T = TypeVar('T')
Line = dict[str, Any]
"""A line of results, plain JSON data; see ``docs``."""


class Item(Protocol):
    """An item of a run: an episode or a sample."""

    @property
    def id(self) -> str:
        """Unique within the run."""

    @property
    def cluster(self) -> str:
        """Statistical cluster of the item, such as its problem or its picture."""

    @property
    def split(self) -> str:
        """Name of its split, '' without."""


class Plan(Protocol):
    """The content of a run as far as its settings say; making one loads and starts nothing."""

    @property
    def settings(self) -> RunSettings:
        """The settings of the run."""

    @property
    def suite(self) -> Suite | None:
        """The suite that the items belong to, None for none."""

    @property
    def kind(self) -> str:
        """The kind of the items: ``episodes`` or ``samples``."""

    @property
    def items(self) -> Sequence[Any]:
        """All items of the run, in order."""

    @property
    def skipped(self) -> Sequence[str]:
        """The problems or samples that could not be used, each with the reason, in words."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """The content of ``summary.json`` besides scores, such as the number of problems."""

    def model_options(self) -> dict[str, Any] | None:
        """Options of the backend, with what they leave open; None: the method needs no model.

        Raises:
            InputError: unknown backend, unknown option or bad value.
        """

    def identity(self, model: str | None) -> dict[str, Any]:
        """Return all that changes results, as plain JSON data; a resumed run must agree with it.

        Args:
            model: exact name of the model that answers, '' for none; None: it is not loaded yet,
                and the rest of the identity is wanted.

        Raises:
            InputError: something it depends on cannot be read.
        """


class Runner(Protocol):
    """Makes the lines of results of items of one kind, episodes or samples."""

    @property
    def plan(self) -> Plan:
        """The plan of the run."""

    def open(self, stack: ExitStack) -> None:
        """Start what the items need besides a model; ``stack`` ends it.

        Raises:
            InputError: the settings are wrong.
            InfrastructureError: it could not be started.
        """

    def load(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        """Return the model that answers.

        Args:
            options: of the backend, see ``Plan.model_options``.
            given: a model that is loaded already and stays open; None: load it.
            stack: ends what is loaded.

        Raises:
            InputError: the settings are wrong.
            InfrastructureError: it could not be loaded.
        """

    def session(self) -> dict[str, Any]:
        """Return the record of this start besides time, provenance and settings."""

    def begin(self, store: RunStore, backend: Model | None, stack: ExitStack) -> None:
        """Begin all other files that are written to the directory of an open run.

        Args:
            store: the run.
            backend: that answers from now on, which may be recorded; None: none is needed.
            stack: ends what is begun.
        """

    def batches(self, missing: Sequence[Any]) -> Iterable[Sequence[Any]]:
        """Return the missing items in order, cut into batches.

        A batch is one episode, or as many samples as one request takes.
        """

    def make(self, batch: Sequence[Any], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """The lines of a batch's items, in order; items that failed have lines with ``error``.

        Raises:
            CancelledError: the batch was broken off; the message says why, and its ``partial``
                has the lines that were made before.
            InfrastructureError: nothing more can be made.
        """

    def before(self, line: Line) -> None:
        """Write what else is kept of an item.

        Called before its line is written, which it may still change.
        """


class Work:
    """The work of a run: loads, records and ends what the items need, whatever they are.

    Attributes:
        runner: makes the lines of the items.
        plan: what the run consists of.
        backend: the model that answers, None where none is needed.
    """

    def __init__(self, runner: Runner, backend: Model | None = None) -> None:
        """Start what the items need, and load the model.

        Args:
            runner: of episodes or of samples.
            backend: instead of the one that the settings name; stays open.

        Raises:
            InputError: the settings are wrong.
            InfrastructureError: the world, the model or the planner could not be started.
        """
        self.runner, self.plan = runner, runner.plan
        with ExitStack() as stack:
            runner.open(stack)
            options = self.plan.model_options()
            self.backend = None if options is None else runner.load(options, backend, stack)
            self._stack = stack.pop_all()
        self._options = options or {}

    def session(self) -> dict[str, Any]:
        """Return the record of this start besides time, provenance and settings."""
        return self.runner.session()

    def begin(self, store: RunStore) -> None:
        """Begin all other files that are written to the directory of an open run."""
        settings, backend = self.plan.settings, self.backend
        if backend is not None and (settings.record or settings.record_images):
            backend = closing(self._stack, recording.Recorded(
                backend, store.folder / recording.NAME, name=settings.backend,
                settings=backend_settings(settings.backend, self._options),
                images=settings.record_images))
        self.runner.begin(store, backend, self._stack)

    def batches(self, missing: Sequence[Any]) -> Iterable[Sequence[Any]]:
        """Contract in ``Runner``."""
        return self.runner.batches(missing)

    def make(self, batch: Sequence[Any], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """Contract in ``Runner``."""
        return self.runner.make(batch, cancelled)

    def before(self, line: Line) -> None:
        """Contract in ``Runner``."""
        self.runner.before(line)

    def close(self) -> None:
        """End what was started for it."""
        self._stack.close()


class Progress(Protocol):
    """Receives the progress of a run; called from the running thread."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """The run is open: lines committed by earlier sessions, items in all, bad problems."""

    def item(self, line: Mapping[str, Any]) -> None:
        """Take the line of an item that was just committed."""


def closing(stack: ExitStack, thing: T) -> T:
    """The thing, which the stack will close if it can be closed."""
    stack.callback(close, thing)
    return thing


class Silent:
    """A progress receiver that shows nothing."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """Show nothing."""

    def item(self, line: Mapping[str, Any]) -> None:
        """Show nothing."""
