"""Batches of items that the workers of a sweep are given, and the outcomes that they return."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.runs import RunSettings
from sightplan.sweeps.serving import Address

LOCK = '.sweep.lock'
"""File in a sweep's directory that the command which runs it keeps locked, and has its id in."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Items for a worker to make.

    Attributes:
        name: name of the run.
        settings: settings of the run.
        items: ids of the items, in the order in which to make them.
        last: ids of the items that are not tried again: they are committed even if they end in an
            error.
        command: id of the command that wants them.
        lock: the sweep's lock file.
        attempt: grows when a worker died at this run: what it left behind is to be cleared away.
        graph: whether they are to be made by a ROS graph.
        served: address and exact name of the model, where a server has it; None: the worker loads
            it.
    """

    name: str
    settings: RunSettings
    items: tuple[str, ...]
    last: frozenset[str] = frozenset()
    command: str = ''
    lock: str = ''
    attempt: int = 0
    graph: bool = False
    served: Address | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a batch.

    Attributes:
        made: ids of the items that are over: committed, or in ``errors``, or both.
        errors: id to error of the items that could not be scored; the batch ends after the first.
        error: what kept the other items from being made, '' for nothing.
        lasting: whether trying again cannot help.
        stopped_by: why the run stopped itself, as at a spending cap, or why no run can go on, as
            on a full disk; '' if neither.
    """

    made: tuple[str, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    error: str = ''
    lasting: bool = False
    stopped_by: str = ''
