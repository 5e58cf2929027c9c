"""Failed episodes and samples of runs, counted by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics import Cause, measures
from sightplan.metrics.intervals import Fraction, fraction_of
from sightplan.model import InputError, did_you_mean
from sightplan.records import RunStore
from sightplan.records.evidence import failure_picture
from sightplan.runs.suite import Suite
from sightplan.runs.summary import model_that_replied, suite_of_run
from sightplan_report.grouping import grouped
from sightplan_report.lines import EPISODE, SAMPLE, EpisodeLine, SampleLine, wrong_field
from sightplan_report.sample_page import SamplesOfRuns, SampleView, is_right, view

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

    @property
    def cause(self) -> str:
        """Name of the cause."""
        return str(self.failure['cause'])

    def picture(self, samples: SamplesOfRuns) -> bytes | None:
        """Picture of the failure, as PNG; None without one."""
        return failure_picture(self.folder, self.line)

    def to_json(self) -> dict[str, Any]:
        """Id, end and failure as JSON data."""
        return {'id': self.line['id'], 'stop': self.line['stop'], **self.failure}


@dataclass(frozen=True, slots=True)
class FailedSample:
    """A sample that was answered wrongly: its run directory, its line of results, and its run."""

    folder: Path
    line: Mapping[str, Any]
    info: Mapping[str, Any] = field(repr=False)
    suite: Suite | None = field(repr=False)

    @property
    def cause(self) -> str:
        """Name of the cause, in the words of the suite."""
        return str(self.line['cause'])

    def to_json(self) -> dict[str, Any]:
        """Id, cause, answer and truth as JSON data."""
        return {name: self.line.get(name) for name in (
            'id', 'cause', 'answer', 'truth', 'unread', 'reply')}

    def picture(self, samples: SamplesOfRuns) -> bytes | None:
        """Picture with truth and answer, as PNG; None without one."""
        return samples.picture(self.folder, self.info, self.suite, self.line)

    def view(self, samples: SamplesOfRuns, key: str = 'sample') -> SampleView:
        """The page of the sample.

        Args:
            samples: of the runs.
            key: id of the section.
        """
        return view(self.line, self.folder, self.info, self.suite, samples, key)


Failed = FailedEpisode | FailedSample


@dataclass(frozen=True, slots=True)
class Column:
    """The episodes, or the samples, of one run and split.

    Attributes:
        run: name of the run directory.
        method: of the run.
        model: that answered or planned; '' for none.
        split: of the problems; '' for those of a folder.
        episodes: number of all episodes, or samples.
        solved: number of solved episodes, or of samples that were answered rightly.
        failed: the failed ones, in order.
        kind: ``episode`` or ``sample``.
    """

    run: str
    method: str
    model: str
    split: str
    episodes: int
    solved: int
    failed: Sequence[Failed] = field(repr=False)
    kind: str = EPISODE

    def counts(self) -> dict[str, int]:
        """Number of failed items of each cause: in the order of ``Cause``, then by frequency."""
        counts = Counter(one.cause for one in self.failed)
        ours = {cause.value: counts[cause.value] for cause in Cause if counts[cause.value]}
        return ours | dict(counts.most_common())

    def fraction(self, cause: str) -> Fraction:
        """Fraction of failed items with a cause; items of one cluster are not independent."""
        return fraction_of([one.cause == cause for one in self.failed],
                           [one.line['cluster'] for one in self.failed])

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON data, with fractions of the failed episodes and 95 % intervals."""
        n, samples = len(self.failed), self.kind == SAMPLE
        return {
            'run': self.run, 'method': self.method, 'model': self.model, 'split': self.split,
            **({'samples': self.episodes, 'right': self.solved} if samples else
               {'episodes': self.episodes, 'solved': self.solved}), 'failed': n,
            'causes': {cause: {'count': k, 'fraction': k / n,
                               'interval95': list(self.fraction(cause).interval)}
                       for cause, k in self.counts().items()},
            'failures': [one.to_json() for one in self.failed]}


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
        for number, line in enumerate(every, 1):
            wrong = wrong_field(SampleLine if line.get('kind') == SAMPLE else EpisodeLine, line)
            if wrong:
                raise InputError(f'{folder / "episodes.jsonl"}: episode {number}: {wrong} is '
                                 'missing or wrong; remove its line, and resume the run')
        if not every:
            text = f'{folder}: has no finished episode yet'
            if folder in named:
                raise InputError(text)
            note(f'left out: {text}')
        columns += [*_of_episodes(folder, every), *_of_samples(store, every)]
    if not columns:
        raise InputError(f'{", ".join(map(str, named))}: no run has a finished episode yet')
    return columns


def _of_episodes(folder: Path, every: Sequence[Mapping[str, Any]]) -> list[Column]:
    lines = [line for line in every if line.get('kind') != SAMPLE]
    # An episode that broke before the first answer does not know its model.
    first = next((line['model'] for line in lines if line['model']), '')
    groups = grouped(({**line, 'model': line['model'] or first} for line in lines),
                     lambda line: (line['method'], line['model'], line['split']))
    return [Column(
        folder.name, *key, len(group), sum(bool(measures.solved(line)) for line in group),
        [FailedEpisode(folder, line) for line in group if line['failure']])
        for key, group in groups.items()]


def _of_samples(store: RunStore, every: Sequence[Mapping[str, Any]]) -> list[Column]:
    lines = [line for line in every if line.get('kind') == SAMPLE]
    if not lines:
        return []
    folder, info = store.folder, store.run_info()
    try:
        suite = suite_of_run(info)
    except InputError:  # it is not installed: the lines hold the causes
        suite = None
    model = model_that_replied(info['identity'], lines)
    groups = grouped(lines, lambda line: (line['method'], line['split']))
    return [Column(
        folder.name, method, model, split, len(group),
        sum(bool(is_right(line)) for line in group),
        [FailedSample(folder, line, info, suite) for line in group if is_right(line) is False],
        SAMPLE) for (method, split), group in groups.items()]


def matching(columns: Sequence[Column], cause: str = '', episode: str = '',
             ) -> list[tuple[Column, Failed]]:
    """The failed items of a cause, or with a text in id or name of the picture; '' is all.

    Raises:
        InputError: an item is asked for that did not fail, or is not there, or no rule and no
            suite has a cause of this name.
    """
    causes = sorted({*(one.value for one in Cause),
                     *(one for column in columns for one in column.counts())})
    if cause and cause not in causes:
        raise InputError(f'--cause {cause}: is unknown; choose one of '
                         f'{", ".join(causes)}{did_you_mean(cause, causes)}')
    found = [(column, failed) for column in columns for failed in column.failed
             if any(episode in text for text in _names_of(failed.line))
             and (not cause or failed.cause == cause)]
    if episode and not found:
        known = [failed.line['id'] for column in columns for failed in column.failed]
        what = items_word(columns)[:-1]
        raise InputError(
            f'no failed {what}{f" of cause {cause}" if cause else ""} has an id with '
            f'{episode!r}; failed are: {", ".join(known[:8]) or "none"}'
            + (f' and {len(known) - 8} more' if len(known) > 8 else ''))
    exact = [pair for pair in found if pair[1].line['id'] == episode]
    return exact or found


def _names_of(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Names by which a person may ask for an item: its id, and the name of a sample's picture."""
    return line['id'], str((line.get('details') or {}).get('picture') or '')


def items_word(columns: Iterable[Column]) -> str:
    """Unit of the columns: ``episodes``, ``samples``, or ``items`` where they count both."""
    kinds = {column.kind for column in columns}
    return 'items' if len(kinds) > 1 else f'{kinds.pop()}s'


def history(line: Mapping[str, Any], around: int | None = None,
            ) -> list[tuple[int, Mapping[str, Any]]]:
    """The numbered actions of an episode around a step; None: all of them."""
    steps = list(enumerate(line['actions']))
    if around is None:
        return steps
    around = min(around, len(steps) - 1)
    return steps[max(0, around - _BEFORE):around + _AFTER + 1]
