"""The items committed to the runs of a sweep, and the reports about all of the runs."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sightplan.metrics import measures
from sightplan.model import InputError, Usage
from sightplan.model.json_text import load_json
from sightplan.records import RunStore
from sightplan.records.description import write_json
from sightplan.runs import canonical_summary, ordered, replies_read, specify, why_unscored
from sightplan.sweeps.cells import Cell, Sweep, slug

METRICS = 'metrics.json'
"""Scores of all cells of the sweep that was run last, without what depends on its history."""
_FORMAT = 1


class _Entry(NamedTuple):
    """A committed item of a run."""

    id: str
    scored: bool
    solved: bool | None
    error: str
    usage: Usage | None
    replies: tuple[int, int]


@dataclass
class Committed:
    """The items committed to a run; each ``update`` reads on from the end of the last one.

    Attributes:
        folder: the run directory.
        entries: the committed lines, in order.
        spent: usage of models, also on items that are not committed; None if it was not counted.
    """

    folder: Path
    entries: list[_Entry] = field(default_factory=list)
    spent: Usage | None = None
    _file: tuple[int, int] = (0, 0)
    _run_file: tuple[int, int] = (0, 0)
    _by_backend: Usage | None = None

    @property
    def scored(self) -> dict[str, bool]:
        """Id of each committed item to whether it was scored."""
        return {entry.id: entry.scored for entry in self.entries}

    @property
    def errors(self) -> dict[str, str]:
        """Id of each item that was not scored to why."""
        return {entry.id: entry.error for entry in self.entries if not entry.scored}

    def update(self) -> None:
        """Read new content of the files; an incomplete last line is left for the next call."""
        self._read_lines()
        self._read_spent()
        self.spent = self._by_backend or total([entry.usage for entry in self.entries])

    def _read_lines(self) -> None:
        try:
            with (self.folder / 'episodes.jsonl').open('rb') as file:
                info, (inode, known) = os.fstat(file.fileno()), self._file
                if inode != info.st_ino or known > info.st_size:
                    self.entries, known = [], 0
                file.seek(known)
                raw = file.read()
        except OSError:
            return
        whole = raw[:raw.rfind(b'\n') + 1]
        self._file = info.st_ino, known + len(whole)
        there = {entry.id for entry in self.entries}
        for line in whole.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                entry = _entry(load_json(line))
                if entry.id not in there:  # of repeated lines the first counts, as everywhere
                    there.add(entry.id)
                    self.entries.append(entry)

    def _read_spent(self) -> None:
        """Read the usage that a backend with caps wrote, which includes uncommitted items."""
        with suppress(OSError, InputError, TypeError):
            info = os.stat(self.folder / 'run.json')
            if self._run_file != (info.st_ino, info.st_mtime_ns):
                spent = RunStore(self.folder).run_info().get('spent')
                self._by_backend = None if spent is None else Usage(**spent)
                self._run_file = info.st_ino, info.st_mtime_ns


def _entry(line: Mapping[str, Any]) -> _Entry:
    return _Entry(line['id'], measures.scored(line), measures.solved(line), why_unscored(line),
                  Usage(**line['usage']) if line.get('usage') else None, replies_read([line]))


def total(usages: Sequence[Usage | None]) -> Usage | None:
    """Return the sum of the known usages, None if none is known."""
    known = [usage for usage in usages if usage is not None]
    return sum(known[1:], known[0]) if known else None


def read_committed(sweep: Sweep, out: Path) -> list[Committed]:
    """Return the items committed to each cell of a sweep in ``out``."""
    runs = [Committed(out / cell.name) for cell in sweep.cells]
    for run in runs:
        run.update()
    return runs


def status(sweep: Sweep, out: Path) -> dict[str, Any]:
    """Return the progress of a sweep.

    Returns:
        plain JSON data: ``sweep``, ``out``, ``cells``, ``episodes`` (items of all cells), ``done``
        (committed items), ``duplicates`` (items that stand in a run more than once: never),
        ``failed_infrastructure`` (unscored items), ``scored``, ``solved`` (None where no suite has
        such a measure), and ``spent`` (usage of models, None if it was not counted).
    """
    out = out.expanduser().resolve()
    return counts(sweep, out, read_committed(sweep, out))


def counts(sweep: Sweep, out: Path, runs: Sequence[Committed]) -> dict[str, Any]:
    """Return the result of ``status`` for runs that were read already."""
    entries = [entry for run in runs for entry in run.entries]
    done, spent = sum(len(run.scored) for run in runs), total([run.spent for run in runs])
    scored = sum(entry.scored for entry in entries)
    solved = [entry.solved for entry in entries if entry.solved is not None]
    return {'sweep': sweep.name, 'out': str(out), 'cells': len(sweep.cells),
            'episodes': sweep.episodes, 'done': done, 'duplicates': len(entries) - done,
            'failed_infrastructure': len(entries) - scored, 'scored': scored,
            'solved': sum(solved) if solved or not scored else None,
            'spent': None if spent is None else dataclasses.asdict(spent)}


def unscored(runs: Sequence[Committed]) -> list[dict[str, Any]]:
    """Committed items that could not be scored: ``cell``, ``error`` and their ``episodes``."""
    return [{'cell': run.folder.name, 'episodes': items, 'error': error}
            for run in runs for error, items in by_error(run.errors).items()]


def unread(runs: Sequence[Committed]) -> list[dict[str, Any]]:
    """Runs of which not one reply could be read: ``cell`` and ``error``."""
    found = []
    for run in runs:
        read, every = (sum(numbers) for numbers in zip(
            *(entry.replies for entry in run.entries), strict=True)) if run.entries else (0, 0)
        if every and not read:
            found.append({'cell': run.folder.name, 'error': (
                f'not one of {every} replies could be read (see "unread" in summary.json, and '
                f'sightplan report)')})
    return found


def by_error(errors: dict[str, str]) -> dict[str, list[str]]:
    """Ids of the items with each error."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for item, error in errors.items():
        found[error].append(item)
    return found


def damaged(sweep: Sweep, out: Path) -> list[dict[str, Any]]:
    """Return ``cell`` and ``error``, with the remedy, of each run whose files cannot be read."""
    found = []
    for cell in sweep.every:
        store = RunStore(out / cell.name)
        if store.folder.is_dir():
            try:
                store.lines()
                if (store.folder / 'run.json').exists():
                    store.run_info()
            except InputError as error:
                found.append({'cell': cell.name, 'error': str(error)})
    return found


def leftovers(sweep: Sweep, out: Path) -> list[str]:
    """Names of run directories in ``out`` that belong to no cell: of other versions, mostly.

    Cells of other sweeps that share the directory, by their index files, are none.
    """
    known = {cell.name for cell in sweep.every}
    for path in sorted(out.expanduser().glob('*.sweep.json')):
        if path.name != _index_name(sweep):
            with suppress(OSError, ValueError, KeyError, TypeError):
                known |= {cell['dir'] for cell in load_json(path.read_text('utf-8'))['cells']}
    return [path.parent.name for path in sorted(out.expanduser().glob('*/run.json'))
            if path.parent.name not in known]


def write_metrics(sweep: Sweep, out: Path) -> str:
    """Write ``metrics.json``: the scores of all cells of the file, in its order.

    They are the same bytes by however many workers, in whatever order, and with however many
    interruptions the items were made. A run whose lines of results are not readable has none.

    Returns:
        its SHA-256.

    Raises:
        StorageError: it cannot be written.
    """
    cells = []
    for cell in sweep.every:
        plan = specify(cell.settings)
        known = {item.id for item in plan.items}
        lines = []
        with suppress(InputError):
            lines = [line for line in ordered(RunStore(out / cell.name).lines(), plan.items)
                     if line['id'] in known]
        cells.append({'dir': cell.name, 'labels': dict(cell.labels), 'episodes': cell.episodes,
                      'metrics': canonical_summary(lines, plan.suite) if lines else None})
    write_json(out / METRICS, {'format': _FORMAT, 'sweep': sweep.name, 'cells': cells})
    return hashlib.sha256((out / METRICS).read_bytes()).hexdigest()


def write_index(sweep: Sweep, out: Path) -> None:
    """Write ``<name>.sweep.json``: directory, labels and settings of all cells, for reports.

    Raises:
        StorageError: it cannot be written.
    """
    def entry(cell: Cell) -> dict[str, Any]:
        return {'dir': cell.name, 'labels': dict(cell.labels), 'episodes': cell.episodes,
                'calibration': cell.calibration.stem if cell.calibration else None,
                'settings': dataclasses.asdict(cell.settings)}
    write_json(out / _index_name(sweep), {'sweep': sweep.name, 'source': sweep.source,
                                          'cells': [entry(cell) for cell in sweep.every]})


def _index_name(sweep: Sweep) -> str:
    return f'{slug(sweep.name)}.sweep.json'

