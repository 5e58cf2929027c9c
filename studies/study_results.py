"""Functions that studies share: runs of sweeps, scores of episodes, Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.measures import solved_of
from sightplan.model import InputError
from sightplan.records import RunStore


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a sweep, with its run as far as it exists.

    Attributes:
        run: name of the run directory; cells of several sweeps may share it.
        sweep: name of the sweep.
        settings: what is run, as in ``run.json``.
        labels: axis to value.
        lines: scored episodes; empty where it was not run.
        planned: how many episodes there should be.
        calibrated: whether the method has a calibration.
        sessions: of the run: when, with which commit and versions.
    """

    run: str
    sweep: str
    settings: Mapping[str, Any]
    labels: Mapping[str, Any]
    lines: tuple[Mapping[str, Any], ...] = field(repr=False)
    planned: int
    calibrated: bool
    sessions: tuple[Mapping[str, Any], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of some episodes.

    Attributes:
        n: number of episodes.
        rate: fraction of solved ones.
        low: lower end of its 95 % interval; the episodes of a problem are a cluster.
        high: upper end.
        questions: per episode.
        actions: per episode, all that used up budget.
        step_s: wall-clock seconds per action, all included.
    """

    n: int
    rate: float
    low: float
    high: float
    questions: float
    actions: float
    step_s: float


def read_entries(folders: Sequence[Path]) -> list[Entry]:
    """Read the cells of all sweeps in some directories, also those that were not run yet.

    Raises:
        InputError: a directory holds no sweep, or a file is damaged.
    """
    found: list[Entry] = []
    for folder in folders:
        indices = sorted(folder.glob('*.sweep.json'))
        if not indices:
            raise InputError(f'{folder}: holds no sweep; make one with "sightplan sweep FILE '
                             f'--out {folder}"')
        for index in indices:
            for cell in json.loads(index.read_text('utf-8'))['cells']:
                store = RunStore(folder / cell['dir'])
                lines = tuple(line for line in store.lines() if measures.scored(line))
                found.append(Entry(
                    cell['dir'], index.name.removesuffix('.sweep.json'), cell['settings'],
                    cell['labels'], lines, cell['episodes'],
                    cell.get('calibration') is not None,
                    tuple(store.run_info()['sessions']) if lines else ()))
    return found


def commits_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The commits that the runs were made with, in the order of the entries."""
    return tuple(dict.fromkeys(str(session['commit'])[:12] for entry in entries
                               for session in entry.sessions if session.get('commit')))


def dates_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The days on which the runs were made, in order."""
    return tuple(sorted({str(session.get('started', ''))[:10] for entry in entries
                         for session in entry.sessions}))


def origin_of(episodes: int, planned: int, runs: int, commits: Sequence[str],
              dates: Sequence[str]) -> str:
    """Sentence on the runs, commits and dates of a document's figures.

    Raises:
        InputError: there is no finished episode.
    """
    if not runs:
        raise InputError('the directories hold no finished episodes; make some with "sightplan '
                         'sweep FILE --out RUNS"')
    days = [date for date in dates if date] or ['date unknown']
    missing = planned - episodes
    return (f'{episodes} episodes in {runs} runs'
            + (f' ({missing} more are missing)' if missing else '')
            + f'; commits {", ".join(commits) or "unknown"}; '
            + ' to '.join(dict.fromkeys((days[0], days[-1]))) + '.')


def score(lines: Sequence[Mapping[str, Any]]) -> Score:
    """Score episodes; there must be at least one."""
    n, found = len(lines), solved_of(lines)
    low, high = found.interval
    steps = sum(line['steps'] for line in lines)
    return Score(n, found.successes / n, low, high,
                 sum(line['questions'] for line in lines) / n, steps / n,
                 sum(line['seconds'] for line in lines) / max(1, steps))


def effort_of(lines: Sequence[Mapping[str, Any]]) -> str:
    """Questions and actions per episode, and seconds per action."""
    if not lines:
        return '–'
    found = score(lines)
    return f'{number(found.questions)} / {number(found.actions)} / {found.step_s:.2f}'


def fraction(value: float) -> str:
    """A fraction as .79 or 1.00."""
    text = f'{value:.2f}'
    return text.removeprefix('0')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """A Markdown table; columns from number ``right`` on are aligned to the right."""
    rule = ['---' if index < right else '---:' for index in range(len(head))]
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in (head, rule, *rows))


def rate(lines: Sequence[Mapping[str, Any]]) -> str:
    """The fraction of solved episodes with its 95 % interval; a dash without any."""
    if not lines:
        return '–'
    found = score(lines)
    return f'{fraction(found.rate)} ({fraction(found.low)}–{fraction(found.high)})'


def number(value: float) -> str:
    """A mean of counts, with three digits at most."""
    return f'{value:.0f}' if value >= 100 else f'{value:.1f}'
