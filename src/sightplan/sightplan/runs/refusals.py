"""Ends a run whose model's server refuses what it is asked, and would refuse the rest."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.model import CancelledError, RefusedError
from sightplan.runs.work import Line

MOST_REFUSALS = 3
"""Number of batches in a row (an episode, or the samples of a picture) that may end in a
RefusedError; then a run ends."""
_REFUSED = f'{RefusedError.__name__}: '


class Refusals:
    """Counts the batches in a row that ended in a RefusedError.

    Args:
        most: number of them that ends the run; 0: none does.
    """

    def __init__(self, most: int = MOST_REFUSALS) -> None:
        self._most, self._count = most, 0

    def heed(self, lines: Sequence[Line]) -> None:
        """Count a batch.

        Args:
            lines: of the batch.

        Raises:
            CancelledError: the server refused this batch and those before it, and would refuse
                others; the lines are its ``partial``.
        """
        errors = [str(line['error'] or '') for line in lines]
        refused = bool(errors) and all(error.startswith(_REFUSED) for error in errors)
        self._count = self._count + 1 if refused else 0
        if self._most and self._count >= self._most:
            stop = CancelledError(f'{self._count} refusals in a row, so that no more was tried: '
                                  f'{errors[-1].removeprefix(_REFUSED)}')
            stop.partial = lines
            raise stop
