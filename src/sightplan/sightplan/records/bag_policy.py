"""Policies for the bags that a run keeps: none, those of failed episodes, the last, or all."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightplan.metrics import measures
from sightplan.model import InfrastructureError
from sightplan.model.journal import cannot_write
from sightplan.model.json_text import load_json
from sightplan.model.whole_files import replacing
from sightplan.records.bag import METADATA

FOLDER = 'bags'
NONE, FAILED, LAST, ALL = 'none', 'failed', 'last', 'all'
KEEP = (NONE, FAILED, LAST, ALL)
KEPT = 100
"""Default number of bags that the policy ``last`` keeps."""

NOT_KEPT = ('this bag was not kept (a run with bags=last keeps the newest ones alone), or was '
            'moved')
"""Explanation that readers give when a bag that the results name is missing."""

_REMOVED = '.removed-'
_SPARED = '.kept.json'


class BagPolicy:
    """Keeps the bags that a run wants, and removes the others; several processes may do so.

    With ``last``, all bags in the run directory are counted, of any process and any session, so
    that the limit also holds for a resumed run. The bag that is being written is not counted. Bags
    from before the run used ``last`` are never removed; a list of them is kept beside the bags.
    """

    def __init__(self, folder: Path, keep: str = ALL, kept: int = KEPT) -> None:
        """Name the run directory; nothing is touched.

        Args:
            folder: the run directory, whose bags are in ``bags/``.
            keep: one of KEEP.
            kept: number of bags that ``last`` keeps.
        """
        self._folder, self._keep, self._kept = folder / FOLDER, keep, kept
        self._numbers: dict[str, int] = {}
        self._count = itertools.count()
        self._spared: frozenset[str] | None = None

    @property
    def writes(self) -> bool:
        """Whether any bags are written at all."""
        return self._keep != NONE

    def keeps(self, line: Mapping[str, Any]) -> bool:
        """Whether the bag of an episode that has just ended is kept, by its line of results.

        Episodes that could not be scored count as failed.
        """
        return self.writes and not (self._keep == FAILED and measures.solved(line))

    def committed(self, name: str) -> None:
        """Remove the oldest bags that are too many, after a new bag was put in its place.

        Args:
            name: name of the new bag's folder.

        Raises:
            InfrastructureError: a bag cannot be removed; names it.
        """
        if self._keep != LAST:
            return
        self._numbers[name] = next(self._count)
        if self._spared is None:
            self._spared = self._spare(name)
        bags, left = [], []
        for path in self._folder.iterdir():
            if path.name.startswith(_REMOVED):
                left.append(path)  # by a process that was killed
            elif (not path.name.startswith('.') and path.name not in self._spared
                  and not path.is_symlink() and (path / METADATA).is_file()):
                bags.append(path)
        bags.sort(key=self._age)
        if bags and bags[-1].name != name:
            self._make_last(self._folder / name, bags)
        for path in bags[:-self._kept]:
            self._numbers.pop(path.name, None)
            hidden = self._folder / f'{_REMOVED}{path.name}'
            try:
                path.rename(hidden)  # first: no reader shall find half a bag
            except FileNotFoundError:
                continue  # another process was faster
            except OSError as error:
                raise _cannot_remove(path, error) from error
            left.append(hidden)
        for path in left:
            _remove(path)

    def _spare(self, first: str) -> frozenset[str]:
        """Bags that are older than the wish to keep the last ones; noted when it is first met.

        Raises:
            InfrastructureError: the list cannot be read or written; names it.
        """
        path = self._folder / _SPARED
        try:
            if path.exists():
                return frozenset(load_json(path.read_text('utf-8')))
            there = sorted({one.name for one in self._folder.iterdir()
                            if not one.name.startswith('.')} - {first})
            try:
                with replacing(path) as new:
                    new.write_text(json.dumps(there), 'utf-8')
            except OSError as error:
                raise cannot_write(path, error) from error
            return frozenset(there)
        except (OSError, ValueError, TypeError) as error:
            raise InfrastructureError(
                f'{path}: the list of bags that are not to be removed cannot be used ({error}); '
                'remove it, or let the run keep all bags') from error

    def _make_last(self, bag: Path, bags: list[Path]) -> None:
        """Date a bag after all others: the clock went back since they were closed."""
        after_ns = self._age(bags[-1])[0] + 1
        with contextlib.suppress(OSError):  # another process has removed it
            os.utime(bag, ns=(after_ns, after_ns))
        bags.sort(key=self._age)

    def _age(self, bag: Path) -> tuple[int, int]:
        """Return a sort key by age: time a bag was closed [ns], and its number in this process.

        The time is 0 if the bag is gone; the number is -1 if another process closed the bag.
        """
        try:
            closed_ns = bag.stat().st_mtime_ns
        except FileNotFoundError:  # another process removes it
            closed_ns = 0
        return closed_ns, self._numbers.get(bag.name, -1)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass  # another process was faster
    except OSError as error:
        raise _cannot_remove(folder, error) from error


def _cannot_remove(path: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(f'{path}: cannot be removed ({error.strerror}); remove it by hand, '
                               'or let the run keep all bags')
