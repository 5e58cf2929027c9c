"""Arguments and samples of ``sightplan bench soak``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sightplan.commands.flags import option
from sightplan.model import InputError
from sightplan.model.journal import Journal
from sightplan.records.bag_policy import FOLDER, KEEP, KEPT, LAST

DOMAINS, METHODS = ('blocksworld', 'household'), ('oracle', 'belief')
RUN, LOGS = 'run', 'log'


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench soak``."""

    episodes: int = option(10_000, 'in all')
    domains: tuple[str, ...] = option(
        list(DOMAINS), f'(default: {" ".join(DOMAINS)})', metavar='D', listed=True)
    methods: tuple[str, ...] = option(
        list(METHODS), f'(default: {" ".join(METHODS)})', metavar='M', listed=True)
    split: str = option('simple', 'of each domain')
    table: str = option('perfect', 'answers of the model: a table of noisy_oracle')
    bags: str = option(LAST, 'which are kept', choices=KEEP)
    bags_kept: int = option(KEPT, 'with --bags last: how many')
    seed: int = option(0, 'of the episodes')
    out: str = option('soak', 'run, samples, logs and result', metavar='DIR')
    cpu: bool = option(
        False, 'compare the pace by the processor time of the nodes: on a machine that does '
        'other things, too')


@dataclass(frozen=True, slots=True)
class Sample:
    """The graph after some episodes.

    Attributes:
        session: number of the graph, from 0: an interrupted soak goes on with another one.
        episodes: done by this graph, from when it had done one of each kind.
        seconds: of the wall since then [s].
        cpu_s: processor time of all nodes since they began [s].
        memory_mib: resident memory of each node, with the processes that it started, without what
            it shares [MiB].
        shared_mib: shared memory that each node has touched so far [MiB]. Nearly all is the
            middleware's, in which nodes pass messages on: each has a segment of fixed size there,
            all of which is used in turn. So it has no bound here.
        disk_bytes, bag_bytes, bags: the run directory, and the bags in it.
        log_bytes: of all logs of all sessions.
        load: of the machine, the mean of a minute: processes that run or wait.
    """

    session: int
    episodes: int
    seconds: float
    cpu_s: float
    memory_mib: Mapping[str, float]
    shared_mib: Mapping[str, float]
    disk_bytes: int
    bag_bytes: int
    bags: int
    log_bytes: int
    load: float


def read_samples(path: Path) -> list[Sample]:
    """Read the samples measured so far; empty without a file.

    Raises:
        InputError: it cannot be read; names file and line.
    """
    samples = []
    for line in Journal(path).read():
        try:
            samples.append(Sample(**line.data))
        except TypeError as error:
            raise InputError(f'{line.where}: is not a sample of a soak ({error}); choose another '
                             '--out') from error
    return samples


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder, whatever comes and goes meanwhile."""
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(here, name)).st_size
            except FileNotFoundError:
                continue
    return total


def bag_count(folder: Path) -> int:
    """Number of bags of a run that are in their place."""
    try:
        return sum(not entry.name.startswith('.') for entry in os.scandir(folder / FOLDER))
    except FileNotFoundError:
        return 0


def identity(arguments: Arguments) -> str:
    """Settings, as JSON, that a soak must share with the one that it continues."""
    return json.dumps({'source': 'soak', **{name: getattr(arguments, name) for name in (
        'domains', 'methods', 'split', 'table', 'seed')}})
