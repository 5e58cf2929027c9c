"""``sightplan bench robustness``: spoilt files and replies, given to every reader.

A reader may accept an input, refuse it with a clear error (one that it documents, and that names
the file), or skip what is wrong of it and say so. Anything else is a defect: another exception,
the end of the process, no end within the time limit, or memory without a bound.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.commands.flags import option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError, user_path
from sightplan_bench.hostile.catalogue import prepare, targets
from sightplan_bench.hostile.targets import KINDS, Outcome
from sightplan_bench.hostile.workers import (
    LIMIT_S,
    MEMORY_MIB,
    Read,
    Work,
    read_again,
    read_all,
)

COUNT = 10_000
_NAMES = {
    'pddl': 'PDDL', 'yaml': 'YAML', 'lines': 'JSON lines', 'bags': 'bags',
    'pictures': 'pictures, depth, maps', 'calibrations': 'calibrations', 'robots': 'robot files',
    'suites': "suites' data", 'replies': 'replies of models'}
_HEADINGS = ('good / spoilt', 'inputs', 'accepted', 'refused', 'skipped', 'crashed', 'hung',
             'slowest, ms', 'memory, MiB')
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench robustness``."""

    count: int = option(COUNT, 'spoilt inputs; kinds and their readers take turns')
    seed: int = option(0, 'one seed gives one version the same inputs', metavar='S')
    first: int = option(
        0, 'number of the first spoilt input; good ones are read, too, where it is 0')
    only: tuple[str, ...] = option(
        (), f'only inputs of this kind (repeatable): {", ".join(KINDS)}', metavar='KIND',
        choices=KINDS)
    workers: int = option(1, 'processes that read')
    keep: str = option('hostile', 'keeps every input that crashed or hung', metavar='DIR')
    again: str | None = option(
        None, 'read inputs again that --keep kept, and nothing else', metavar='DIR')


@dataclass
class Row:
    """Counts of the inputs of one kind.

    Attributes:
        kind: of them.
        good, spoilt: how many there were of each outcome.
        slowest_ms: most processor time that reading one took [ms].
        peak_mib: most memory that reading one took in addition [MiB].
    """

    kind: str
    good: Counter[Outcome] = field(default_factory=Counter)
    spoilt: Counter[Outcome] = field(default_factory=Counter)
    slowest_ms: float = 0.0
    peak_mib: float = 0.0

    def add(self, read: Read) -> None:
        """Count the result of an input."""
        (self.good if read.good else self.spoilt)[read.outcome] += 1
        self.slowest_ms = max(self.slowest_ms, read.ms)
        self.peak_mib = max(self.peak_mib, read.mib)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.good.total() + self.spoilt.total()

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON data."""
        return {'kind': self.kind,
                **{name: {'inputs': counts.total(),
                          **{outcome.value: counts[outcome] for outcome in Outcome}}
                   for name, counts in (('good', self.good), ('spoilt', self.spoilt))},
                'slowest_ms': round(self.slowest_ms, 1), 'peak_mib': round(self.peak_mib, 1)}


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    add_command(
        subparsers, 'robustness', measure, 'hostile input: spoilt files and replies',
        'Spoil good files and replies in many ways, and give them to every reader: each must be '
        'accepted, refused with a clear error, or skipped, within '
        f'{LIMIT_S:g} s of processor time and {MEMORY_MIB} MiB.',
        settings=Arguments,
        exits='0 done; 1 something crashed or hung, or a person interrupted; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Read all inputs, and print the results."""
    if arguments.count < 1 or arguments.workers < 1 or arguments.first < 0:
        raise InputError('--count and --workers must be at least 1, --first at least 0')
    kinds = tuple(kind for kind in KINDS if kind in (arguments.only or KINDS))
    with tempfile.TemporaryDirectory(prefix='sightplan-hostile-') as scratch:
        prepared = Path(scratch) / 'good'
        prepared.mkdir()
        note('writing good input ...')
        prepare(prepared, KINDS if arguments.again else kinds)
        if arguments.again:
            return _repeat_kept(user_path(arguments.again), prepared)
        work = Work(prepared, kinds, arguments.seed, user_path(arguments.keep))
        good = 0 if arguments.first else sum(
            len(target.seeds) for target in targets(prepared, kinds))
        numbers = range(arguments.first - good, arguments.first + arguments.count)
        with EpisodeBar() as bar:
            rows, bad = run(work, numbers, Path(scratch) / 'workers', arguments.workers, bar)
    _print(rows, bad, work.keep)
    read = sum(row.inputs for row in rows)
    if read < len(numbers):
        note(f'interrupted: {read} of {len(numbers)} inputs were read')
    return {'seed': work.seed, 'first': arguments.first, 'count': arguments.count,
            'limit_s': work.limit_s, 'memory_mib': work.memory_mib,
            'kinds': [row.to_json() for row in rows],
            'bad': [dataclasses.asdict(read) for read in bad]}, (
                FAILED if bad or read < len(numbers) else DONE)


def run(work: Work, numbers: Sequence[int], scratch: Path, workers: int = 1,
        bar: EpisodeBar | None = None) -> tuple[list[Row], list[Read]]:
    """Read inputs until all are done or a person interrupts.

    Args:
        work: what the inputs are.
        numbers: of the inputs, below 0 of good ones.
        scratch: folder for what the workers write.
        workers: how many read at the same time.
        bar: shows how far it is.

    Returns:
        what became of each kind, and what must not happen.
    """
    rows = {kind: Row(kind) for kind in work.kinds}
    bad: list[Read] = []
    with contextlib.suppress(KeyboardInterrupt):
        for done, read in enumerate(read_all(work, numbers, scratch, workers), 1):
            rows[read.kind].add(read)
            if read.bad:
                bad.append(read)
            if bar is not None:
                bar.stage('inputs', done, len(numbers))
    return [*rows.values()], sorted(bad, key=lambda read: read.number)


def _print(rows: Iterable[Row], bad: Sequence[Read], folder: Path | None) -> None:
    print_table(_HEADINGS, [
        (_NAMES[row.kind], f'{row.good.total()} / {row.spoilt.total()}',
         *(f'{row.good[outcome]} / {row.spoilt[outcome]}' for outcome in Outcome),
         f'{row.slowest_ms:.0f}', f'{row.peak_mib:.0f}') for row in rows])
    for read in bad[:_MOST_SHOWN]:
        print(f'{read.outcome}: input {read.number}, {read.target}: {read.error[:300]}')
    if bad:
        print(f'{len(bad)} crashed or hung, kept in {folder}{os.sep}; read them again with '
              f'--again {folder}')


def _repeat_kept(folder: Path, prepared: Path) -> Result:
    found = read_again(folder, prepared)
    if not found:
        raise InputError(f'{folder}: holds no kept input (name the folder of --keep)')
    for read in found:
        print(f'{read.outcome}: input {read.number}, {read.target}: {read.error[:1000]}')
    bad = any(read.bad for read in found)
    return {'read': [dataclasses.asdict(read) for read in found]}, FAILED if bad else DONE
