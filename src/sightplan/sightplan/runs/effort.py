"""Measured numbers of questions of an episode, for estimates: ``effort.json`` of a suite."""

from __future__ import annotations

import functools
from pathlib import Path
from statistics import fmean

import pydantic

from sightplan.model.reading import Record, read_file
from sightplan.runs.published import PublishedNumbers
from sightplan.runs.settings import OURS

PERFECT = 'perfect'
"""The model of rows without errors, which are in no mean over models."""


class Effort(Record):
    """The questions that an episode of one kind asks its model.

    Attributes:
        protocol: rule set of the suite.
        domain: name of the domain.
        split: name of the split.
        method: name of the method.
        model: name of the model whose errors were simulated.
        n: number of episodes that were counted.
        questions: mean number of yes/no questions of an episode.
        sd: standard deviation of that number between episodes.
        memory: mean number of characters that a method with memory puts before a question.
    """

    protocol: str
    domain: str
    split: str
    method: str
    model: str
    n: int
    questions: float
    sd: float
    memory: float


class EffortFile(Record):
    """Content of ``effort.json``.

    Attributes:
        about: how the rows were measured.
        with_memory: methods with memory, and the method of the rows that count for each.
        rows: the measured kinds of episodes.
    """

    about: str = ''
    with_memory: dict[str, str] = pydantic.Field({})
    rows: tuple[Effort, ...]


class EffortNumbers:
    """The measured numbers of one suite; none where there is no file, which is read when needed.

    Raises:
        InputError: (all methods) the file cannot be used; names file, field and remedy.
    """

    def __init__(self, file: Path | None = None,
                 published: PublishedNumbers | None = None) -> None:
        """Numbers of a file; None: there are none.

        Args:
            file: ``effort.json``; it may be missing.
            published: knows the other names of models.
        """
        self._path = file if file is not None and file.is_file() else None
        self._published = published or PublishedNumbers()

    def find(self, protocol: str, domain: str, split: str, method: str, model: str,
             ) -> tuple[float, float] | None:
        """Return what an episode asks: questions, and characters of memory before each.

        Args:
            protocol: rule set of the suite; one that was not measured is taken for ``ours``.
            domain: name of the domain.
            split: name of the split.
            method: name of the method.
            model: name of the model, in any form that the published numbers know; of one that was
                not measured the mean over all measured models is returned.

        Returns:
            None where no such episodes were measured.
        """
        place = domain, split, self._file.with_memory.get(method, method)
        rows = self._rows.get((protocol, *place)) or self._rows.get((OURS, *place))
        if rows is None:
            return None
        name = self._published.model_name(model)
        same = [row for row in rows if row.model == model or (
            name is not None and self._published.model_name(row.model) == name)]
        same = same or [row for row in rows if row.model != PERFECT]
        memory = fmean(row.memory for row in same)
        return (fmean(row.questions for row in same),
                memory if method in self._file.with_memory else 0.0)

    @functools.cached_property
    def _file(self) -> EffortFile:
        return (EffortFile(with_memory={}, rows=()) if self._path is None
                else read_file(EffortFile, self._path))

    @functools.cached_property
    def _rows(self) -> dict[tuple[str, str, str, str], list[Effort]]:
        found: dict[tuple[str, str, str, str], list[Effort]] = {}
        for row in self._file.rows:
            found.setdefault((row.protocol, row.domain, row.split, row.method), []).append(row)
        return found
