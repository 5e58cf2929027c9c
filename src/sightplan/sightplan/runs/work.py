"""What a run consists of: items, and the work that makes their lines of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sightplan.records import RunStore
from sightplan.runs.suite import Suite
from sightplan.vlm.api import Backend

T = TypeVar('T')
Line = dict[str, Any]
"""A line of results, plain JSON data; see ``docs``."""


class Item(Protocol):
    """An episode or a sample: what a run walks over."""

    @property
    def id(self) -> str:
        """Unique within the run."""

    @property
    def cluster(self) -> str:
        """Its statistical cluster, such as its problem or its picture."""

    @property
    def split(self) -> str:
        """Name of its split, '' without."""


class Plan(Protocol):
    """What a run consists of, as far as its settings say; nothing is loaded or started for it."""

    @property
    def suite(self) -> Suite | None:
        """The suite that the items belong to, None for none."""

    @property
    def kind(self) -> str:
        """What the items are: ``episodes`` or ``samples``."""

    @property
    def items(self) -> Sequence[Any]:
        """All of the run, in order."""

    @property
    def skipped(self) -> Sequence[str]:
        """What could not be used, and why, for people."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What ``summary.json`` says besides scores, such as the number of problems."""

    def identity(self, model: str | None) -> dict[str, Any]:
        """All that changes results: a resumed run must agree in it. Plain JSON data.

        Args:
            model: exact name of the model that answers, '' for none; None: it is not loaded yet,
                and the rest is wanted.

        Raises:
            InputError: something it depends on cannot be read.
        """


class Work(Protocol):
    """Makes the lines of a run's items."""

    @property
    def plan(self) -> Plan:
        """What the run consists of."""

    @property
    def backend(self) -> Backend | None:
        """The model that answers, None where none is needed."""

    def session(self) -> dict[str, Any]:
        """What is noted about this start besides time, provenance and settings."""

    def begin(self, store: RunStore) -> None:
        """The run is open: begin what else is written to its directory."""

    def batches(self, missing: Sequence[Any]) -> Iterable[Sequence[Any]]:
        """The items that are missing, in order, cut into what is made at once.

        That is one episode, or as many samples as one request takes.
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

    def close(self) -> None:
        """End what was started for it."""


class Progress(Protocol):
    """Is told how a run goes; called from the running thread."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """The run is open: lines committed by earlier sessions, items in all, bad problems."""

    def item(self, line: Mapping[str, Any]) -> None:
        """One more item is committed."""


def closing(stack: ExitStack, thing: T) -> T:
    """The thing, which the stack will close if it can be closed."""
    close = getattr(thing, 'close', None)
    if callable(close):
        stack.callback(close)
    return thing


class Silent:
    """Progress that nobody sees."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """Say nothing."""

    def item(self, line: Mapping[str, Any]) -> None:
        """Say nothing."""
