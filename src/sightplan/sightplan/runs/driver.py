"""The one walk over a run: what is specified minus what is committed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sightplan.model import CancelledError
from sightplan.runs.work import Item, Line

I = TypeVar('I', bound=Item)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Walked:
    """The end of a walk.

    Attributes:
        interrupted: whether the walk ended before its last item.
        stopped_by: what ended it early, with the remedy (such as a spending cap); '' for a person.
    """

    interrupted: bool = False
    stopped_by: str = ''


WALKED = Walked()
"""The end of a walk that made all of its items."""


def singly(items: Sequence[I]) -> Iterable[Sequence[I]]:
    """Batches of one."""
    return ((item,) for item in items)


def walk(items: Sequence[I], committed: Container[str],
         make: Callable[[Sequence[I], Callable[[], bool]], Sequence[Line]],
         commit: Callable[[Line], object], *,
         cancelled: Callable[[], bool] = lambda: False,
         began: Callable[[str], None] = lambda item: None,
         progress: Callable[[Line], None] = lambda line: None,
         batches: Callable[[Sequence[I]], Iterable[Sequence[I]]] = singly) -> Walked:
    """Make and commit the items that are not committed yet, batch by batch.

    Args:
        items: all items of the run, in order.
        committed: ids of the items that are done.
        make: makes the lines of a batch; raises CancelledError if it was broken off, with the
            lines that were made before as its ``partial``.
        commit: writes a line to disk.
        cancelled: called before each batch and passed to ``make``; once true, the walk ends.
        began: receives the id of each item whose batch begins.
        progress: receives each line that was committed.
        batches: cuts the missing items into batches.

    Raises:
        InfrastructureError: nothing more can be made or committed.
        KeyboardInterrupt: as it is; what was committed stays.
    """
    for batch in batches([item for item in items if item.id not in committed]):
        if cancelled():
            return Walked(True)
        for item in batch:
            began(item.id)
        over: Walked | None = None
        try:
            lines = make(batch, cancelled)
        except CancelledError as error:
            over, lines = Walked(True, '' if cancelled() else str(error)), error.partial
        for line in lines:
            commit(line)
            progress(line)
        if over is not None:
            return over
    return WALKED
