"""Display of the progress of episodes and of the time left."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from sightplan.metrics import measures
from sightplan.model import counted

T = TypeVar('T')


class Pace:
    """Measures how fast episodes are finished, from now on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin; ``clock`` counts seconds."""
        self._clock = clock
        self._began = clock()

    def time_left(self, new: int, left: int) -> str:
        """The time that the rest will take.

        Args:
            new: episodes finished since the beginning.
            left: episodes that are to come.

        Returns:
            see ``duration``; ``unknown`` as long as nothing is finished.
        """
        if not new:
            return 'unknown'
        return duration((self._clock() - self._began) / new * max(0, left))


_BAR_WIDTH = 68
"""Columns of a terminal that a bar of episodes takes without details."""

_EVERY_S = 10.0
"""Time between two lines of progress where there is no terminal [s]."""

_MOST_REASONS = 5
"""Most reasons for unscored items that are named while a run goes on."""


def with_progress(made: Iterable[T], what: str, total: int,
                  counts: Callable[[T], int] = lambda one: 1) -> Iterator[T]:
    """Pass on what takes long to make; a line on standard error every 10 s says how far it is.

    Args:
        made: what is made, one after another.
        what: is made, such as ``scenes drawn``.
        total: of what ``counts`` counts.
        counts: how many of ``total`` one of them is.
    """
    done, pace, said = 0, Pace(), time.monotonic()
    for one in made:
        yield one
        done += counts(one)
        if time.monotonic() - said >= _EVERY_S:
            said = time.monotonic()
            print(f'[{done}/{total}] {what}, ETA {pace.time_left(done, total - done)}',
                  file=sys.stderr, flush=True)


class EpisodeBar:
    """Progress of episodes on standard error, with the time left: a bar if that is a terminal.

    The bar is drawn by rich; where that library is missing, a terminal gets lines as a file does.
    Use as a context manager. Where it is ``plain``, callers print lines instead.
    """

    def __init__(self, transient: bool = False) -> None:
        """Show nothing yet; ``transient``: the bar goes when it ends."""
        self._transient = transient

    def __enter__(self) -> Self:
        self._bar = _bar(self._transient)
        self.plain = self._bar is None
        self._room = max(0, shutil.get_terminal_size().columns - _BAR_WIDTH)
        if self._bar is not None:
            self._bar.start()
        self._task: Any = None
        self._what = ''
        self.done = self.total = self._before = 0
        self._pace = Pace()
        self._said = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, what: str, total: int, done: int) -> None:
        """A stage begins, of ``total`` episodes, some of which are ``done`` already."""
        self.total, self._before, self._pace = total, done, Pace()
        if self._bar is not None:
            self._task = self._bar.add_task(what, total=total, detail='', left='')
        self.update(done)

    def update(self, done: int, detail: str = '') -> None:
        """Show the number of done items, and ``detail`` beside it."""
        self.done = done
        if self._bar is not None:
            self._bar.update(self._task, completed=done, detail=detail[:self._room],
                             left=self.time_left)

    def stage(self, what: str, done: int, total: int) -> None:
        """Show the number of done items of a stage; a new stage begins a new bar."""
        if what != self._what:
            self._what = what
            self.begin(what, total, done)
            if self.plain and total:
                self.say(f'{what}: {total}')
        self.update(done)
        if self.plain and done and time.monotonic() - self._said >= _EVERY_S:
            self.say(f'[{done}/{total}] {what}, ETA {self.time_left}')

    def say(self, text: str) -> None:
        """Print a line, above the bar."""
        self._said = time.monotonic()
        if self._bar is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self._bar.console.print(text, markup=False, highlight=False)

    @property
    def time_left(self) -> str:
        """The time that the rest will take, see ``Pace``."""
        return self._pace.time_left(self.done - self._before, self.total - self.done)


def _bar(transient: bool) -> Any:
    """A bar of the library rich; None off terminals, and where rich is not installed."""
    if importlib.util.find_spec('rich') is None:
        return None
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn('{task.description}'), BarColumn(20), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn('ETA {task.fields[left]}'),
        TextColumn('{task.fields[detail]}'), console=console, transient=transient)


class ProgressBar(EpisodeBar):
    """Progress on standard error: a bar on a terminal, lines elsewhere."""

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """Open the bar."""
        for text in skipped:
            self.say(f'skipped: {text}')
        self.say(f'results: {out}' + (f' (done already: {len(done)})' if done else ''))
        self._said_why: set[str] = set()
        self._good = sum(map(_good, done))
        self._scored = sum(map(measures.scored, done))
        self.begin('items', total, len(done))

    def item(self, line: Mapping[str, Any]) -> None:
        """Advance."""
        self._scored += measures.scored(line)
        self._good += _good(line)
        sample = line['kind'] == 'sample'
        text = f'{"right" if sample else "solved"} {self._good} of {self._scored}'
        self.update(self.done + 1, text)
        if not measures.scored(line) and (sample or not self.plain):
            self._say_why(line)
        if not self.plain:
            return
        if sample:  # one line for every twentieth of the run
            if self.done * 20 // self.total > (self.done - 1) * 20 // self.total:
                self.say(f'[{self.done}/{self.total}] {text}, ETA {self.time_left}')
            return
        verdict = ('solved' if _good(line) else 'not solved') if measures.scored(line) else (
            f'not scored ({line["error"] or "there is no ground truth"})')
        self.say(f'[{self.done}/{self.total}] {line["id"]}: {verdict}, '
                 f'{counted(line["steps"], "action")}, {line["stop"]}, {line["seconds"]:.1f} s, '
                 f'ETA {self.time_left}')

    def _say_why(self, line: Mapping[str, Any]) -> None:
        """Name the reason for which an item is not scored, once for each of the first ones."""
        why = str(line['error'] or 'there is no ground truth')
        if why not in self._said_why and len(self._said_why) < _MOST_REASONS:
            self._said_why.add(why)
            self.say(f'{line["id"]}: not scored ({why})')


def _good(line: Mapping[str, Any]) -> bool:
    """Whether an item is scored, and nothing made it fail."""
    return measures.scored(line) and line['cause'] is None


def duration(seconds: float) -> str:
    """A time span as hours:minutes:seconds, such as 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}:{minutes:02d}:{rest:02d}'
