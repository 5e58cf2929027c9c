"""Trials of ``sightplan bench hearing``: a record of each killed node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.model.journal import Journal

WHOLE, FIXED, ENDED, SILENT = 'whole', 'fixed', 'ended', 'silent'
"""Outcomes of a graph: all nodes hear each other again; they do after a restart of a deaf node;
the graph ended and named the node; none of these."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of killing one node.

    Attributes:
        number: from 0.
        session: number of the graph, from 0.
        node: that was killed.
        outcome: WHOLE, FIXED, ENDED or SILENT.
        seconds: from the kill to that.
        said: by what keeps the graph, of deaf nodes and of the one with which it ended.
        episode: '' if an episode over the graph afterwards went well, else what went wrong; None
            if there was none.
        load: of the machine, in the last minute.
        commit: of the code; None where it is not known.
    """

    number: int
    session: int
    node: str
    outcome: str
    seconds: float
    said: Sequence[str]
    episode: str | None
    load: float
    commit: str | None = None


def read_trials(journal: Journal) -> list[Trial]:
    """Read the trials made so far.

    Raises:
        InputError: they cannot be read.
    """
    return [Trial(**line.data) for line in journal.read()]
