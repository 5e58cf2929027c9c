"""Failed episodes of runs, counted by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics import Cause, measures
from sightplan.metrics.intervals import Fraction, fraction_of
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan_report.grouping import grouped
from sightplan_report.lines import SAMPLE, EpisodeLine, SampleLine, wrong_field

_BEFORE, _AFTER = 4, 3
"""Actions that are shown around the one of a failure."""


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """A failed episode: its run directory and its line of results."""

    folder: Path
    line: Mapping[str, Any]

    @property
    def failure(self) -> Mapping[str, Any]:
        """Field ``failure`` of the line of results."""
        found: Mapping[str, Any] = self.line['failure']
        return found


@dataclass(frozen=True, slots=True)
class Column:
    """The episodes of one run and split.

    Attributes:
        run: name of the run directory.
        method: of the run.
        model: that answered or planned; '' for none.
        split: of the problems; '' for those of a folder.
        episodes: number of all episodes.
        solved: number of solved ones.
        failed: the failed ones, in order.
    """

    run: str
    method: str
    model: str
    split: str
    episodes: int
    solved: int
    failed: Sequence[FailedEpisode] = field(repr=False)

    def counts(self) -> dict[str, int]:
        """Number of failed episodes of each cause, in the order of ``Cause``."""
        counts = Counter(episode.failure['cause'] for episode in self.failed)
        return {cause.value: counts[cause.value] for cause in Cause if counts[cause.value]}

    def fraction(self, cause: str) -> Fraction:
        """Fraction of failed episodes with a cause; episodes of one problem are a cluster."""
        return fraction_of([episode.failure['cause'] == cause for episode in self.failed],
                           [episode.line['cluster'] for episode in self.failed])

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON data, with fractions of the failed episodes and 95 % intervals."""
        n = len(self.failed)
        return {
            'run': self.run, 'method': self.method, 'model': self.model, 'split': self.split,
            'episodes': self.episodes, 'solved': self.solved, 'failed': n,
            'causes': {cause: {'count': k, 'fraction': k / n,
                               'interval95': list(self.fraction(cause).interval)}
                       for cause, k in self.counts().items()},
            'failures': [{'id': episode.line['id'], 'stop': episode.line['stop'],
                          **episode.failure} for episode in self.failed]}


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run directories that are named, or lie anywhere below a directory that is.

    Raises:
        InputError: a path is no directory, or there is no run in it.
    """
    found: list[Path] = []
    for path in paths:
        remedy = 'give the run directory that "sightplan run --out" wrote'
        if not path.is_dir():
            raise InputError(f'{path}: is not a directory; {remedy}')
        below = ([path] if (path / 'episodes.jsonl').is_file() else
                 sorted(p.parent for p in path.rglob('episodes.jsonl')))
        if not below:
            raise InputError(f'{path}: holds no run (no episodes.jsonl in it or below); {remedy}')
        found += below
    return list(dict.fromkeys(found))


def read_columns(paths: Iterable[Path], note: Callable[[str], None] = lambda text: None,
                 ) -> list[Column]:
    """Read runs, one column for each run and split.

    A run without a finished episode that lies below a named directory is left out.

    Args:
        paths: see ``run_folders``.
        note: is told of each run that is left out.

    Raises:
        InputError: a path holds no run, a file of it is damaged, or no episode is finished in a
            run that is named itself, or in any; names it.
    """
    named = list(paths)
    columns = []
    for folder in run_folders(named):
        store = RunStore(folder)
        every = store.lines()
        for text in store.warnings:
            note(text)
        lines = [line for line in every if line.get('kind') != SAMPLE]
        for number, line in enumerate(every, 1):
            wrong = wrong_field(SampleLine if line.get('kind') == SAMPLE else EpisodeLine, line)
            if wrong:
                raise InputError(f'{folder / "episodes.jsonl"}: episode {number}: {wrong} is '
                                 'missing or wrong; remove its line, and resume the run')
        if not lines:
            text = (f'{folder}: holds samples, whose causes are not those of episodes; "sightplan '
                    'report" counts and shows them, and summary.json has the counts' if every
                    else f'{folder}: has no finished episode yet')
            if folder in named:
                raise InputError(text)
            note(f'left out: {text}')
            continue
        # An episode that broke before the first answer does not know its model.
        first = next((line['model'] for line in lines if line['model']), '')
        groups = grouped(({**line, 'model': line['model'] or first} for line in lines),
                         lambda line: (line['method'], line['model'], line['split']))
        columns += [Column(
            folder.name, *key, len(group), sum(bool(measures.solved(line)) for line in group),
            [FailedEpisode(folder, line) for line in group if line['failure']])
            for key, group in groups.items()]
    if not columns:
        raise InputError(f'{", ".join(map(str, named))}: no run has a finished episode yet')
    return columns


def matching(columns: Sequence[Column], cause: str = '', episode: str = '',
             ) -> list[tuple[Column, FailedEpisode]]:
    """The failed episodes of a cause, or with an id that contains a text; '' is all.

    Raises:
        InputError: an episode is asked for that did not fail, or is not there.
    """
    found = [(column, failed) for column in columns for failed in column.failed
             if episode in failed.line['id']
             and (not cause or failed.failure['cause'] == cause)]
    if episode and not found:
        known = [failed.line['id'] for column in columns for failed in column.failed]
        raise InputError(
            f'no failed episode{f" of cause {cause}" if cause else ""} has an id with '
            f'{episode!r}; failed are: {", ".join(known[:8]) or "none"}'
            + (f' and {len(known) - 8} more' if len(known) > 8 else ''))
    exact = [pair for pair in found if pair[1].line['id'] == episode]
    return exact or found


def history(line: Mapping[str, Any], around: int | None = None,
            ) -> list[tuple[int, Mapping[str, Any]]]:
    """The numbered actions of an episode around a step; None: all of them."""
    steps = list(enumerate(line['actions']))
    if around is None:
        return steps
    around = min(around, len(steps) - 1)
    return steps[max(0, around - _BEFORE):around + _AFTER + 1]
