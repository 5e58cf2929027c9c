"""Search for one episode or sample in a run, sweep, bag or folder: by id, its part, or number."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError, user_path
from sightplan.records.bag_reading import find_bags
from sightplan.records.bag_recorder import UNDER_WAY
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.replay.rescored import rescore
from sightplan.replay.sources import Sources, run_of
from sightplan_report.episode_reader import read_recorded
from sightplan_report.episode_words import result_text
from sightplan_report.lines import SAMPLE
from sightplan_report.results import EPISODES, RunResults, gather
from sightplan_report.sample_page import result_of

_MOST_LISTED, _NEAREST = 60, 3


@dataclass(frozen=True, eq=False)
class Found:
    """An episode that can be read, or a sample.

    Attributes:
        id: its id.
        title: its id and, where several have it, where it is.
        outcome: how it ended, in words.
        run: what is known of its run; None for bags that stand alone.
        line: its line of results; None where no run has one.
        episode: what a bag tells, where that was read already.
        where: the run directory, or the bag.
    """

    id: str
    title: str
    outcome: str
    where: Path
    run: RunResults | None = None
    line: Mapping[str, Any] | None = None
    episode: RecordedEpisode | None = None

    @property
    def folder(self) -> Path | None:
        """The run directory; None for bags that stand alone."""
        return self.run.folder if self.run is not None else run_of(self.where)

    @property
    def is_sample(self) -> bool:
        """Whether it is a sample: then it has a run and a line."""
        return self.line is not None and self.line.get('kind') == SAMPLE

    def read(self) -> tuple[RecordedEpisode | None, str]:
        """Recorded episode of the bag, or None; and the reason for None."""
        if self.episode is not None:
            return self.episode, ''
        assert self.run is not None and self.line is not None
        return read_recorded(self.line, self.run.folder, self.run.imported)


def find_episodes(path: Path | str) -> list[Found]:
    """All episodes and samples at or below a path, in order.

    Raises:
        InputError: there is none; names the path and the remedy.
    """
    place = user_path(path)
    has_results = place.name == EPISODES or (place.is_dir() and next(
        place.rglob(EPISODES), None) is not None)
    return _of_runs(place) if has_results else _of_bags(place)


def _of_runs(place: Path) -> list[Found]:
    try:
        results = gather(place)
    except InputError:  # a run that was killed before its first episode was finished
        folder = place.parent if place.is_file() else place
        if not any(b'\n' in file.read_bytes() for file in folder.rglob(EPISODES)) and (
                broken_off := list(_broken_off(folder))):
            return broken_off
        raise
    found: list[Found] = []
    several = len(results.runs) > 1
    for run in results.runs:
        for line in run.lines:
            sample = line.get('kind') == SAMPLE
            found.append(Found(
                line['id'], f'{line["id"]} ({run.name})' if several else line['id'],
                result_of(line) if sample else result_text(line), run.folder, run, line))
        found += _left(run)
    read = {run.folder.resolve() for run in results.runs}
    if place.is_dir():
        for file in sorted(place.rglob(EPISODES)):
            if file.parent.resolve() not in read and b'\n' not in file.read_bytes():
                found += _broken_off(file.parent)
    return found


def _left(run: RunResults) -> Iterator[Found]:
    """Episodes of bags that no line of results names: they were broken off."""
    folder = run.folder / 'bags'
    if folder.is_dir():
        yield from _broken_off(folder, {(run.folder / str(line['bag'])).resolve()
                                        for line in run.lines if line.get('bag')}, run)


def _broken_off(folder: Path, named: AbstractSet[Path] = frozenset(),
                run: RunResults | None = None) -> Iterator[Found]:
    """Episodes of bags, including those that a killed run was writing."""
    bags = list[Path]()
    for place in (folder, *sorted(folder.rglob(f'{UNDER_WAY}*'))):
        with contextlib.suppress(InputError):
            bags += find_bags(place)
    for bag in bags:
        if named.isdisjoint((bag.resolve(), *bag.resolve().parents)):
            with contextlib.suppress(InputError):
                for episode in read_episodes(bag):
                    yield Found(episode.spec.id, f'{episode.spec.id} ({bag.name})',
                                f'{_ended(episode)}; no result names its bag', bag, run, None,
                                episode)


def _of_bags(place: Path) -> list[Found]:
    sources = Sources.find([place])
    found = []
    for source in sources.read():
        live = sources.live(source)
        bag = source.episode.bag
        title = f'{source.title} ({source.name})' if len(sources.bags) > 1 else source.title
        found.append(Found(source.episode.spec.id, title,
                           result_text(live) if live else _ended(source.episode), bag,
                           _results_of(sources, source.name), live, source.episode))
    if not found:
        raise InputError('\n'.join(text for texts in sources.warnings.values() for text in texts)
                         or f'{place}: holds no episode; give a run directory, or a bag of one')
    return found


def _results_of(sources: Sources, bag: str) -> RunResults | None:
    folder = next((place.run for place in sources.bags if place.name == bag), None)
    if folder is None:
        return None
    try:
        return gather(folder).runs[0]
    except InputError:
        return None


def _ended(episode: RecordedEpisode) -> str:
    end = episode.timeline.end
    if end is None:
        return 'cut off'
    return f'ended by {end.reason.value.replace("_", " ")}'


def choose(found: Sequence[Found], wanted: str, path: Path | str) -> Found:
    """The episode or sample that is wanted.

    Args:
        found: all there are.
        wanted: its id, its number in the list (from 1), a beginning of its id or of its last part,
            or any part of it, if only one has that; '' if there is only one.
        path: where they were found, for messages.

    Raises:
        InputError: none or several are meant; lists them, or the nearest.
    """
    if not wanted:
        if len(found) == 1:
            return found[0]
        raise InputError(f'{path}: holds {len(found)} {_what(found)}s; add the id of one, its '
                         f'number, or a part of its id that no other has:\n{_listed(found)}')
    same = [one for one in found if wanted in (one.id, one.title)]
    if not same and wanted.isdecimal():
        if not 1 <= int(wanted) <= len(found):
            raise InputError(f'{path}: has no {_what(found)} number {wanted}; there are '
                             f'{len(found)}, from 1:\n{_listed(found)}')
        return found[int(wanted) - 1]
    for fits in (lambda one: one.id.startswith(wanted),
                 lambda one: one.id.rpartition('/')[2] == wanted,
                 lambda one: one.id.rpartition('/')[2].startswith(wanted),
                 lambda one: wanted in one.title):
        same = same or [one for one in found if fits(one)]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(f'{path}: {len(same)} {_what(found)}s fit {wanted!r}; give the number of '
                         f'one:\n{_listed(found, same)}')
    names = {name: one for one in found for name in (one.id.rpartition('/')[2], one.id)}
    near = dict.fromkeys(names[name].id for name in difflib.get_close_matches(
        wanted, list(names), _NEAREST, 0.4))
    raise InputError(f'{path}: has no {_what(found)} {wanted!r}' + (
        f'; the nearest are {", ".join(near)}' if near else f':\n{_listed(found)}'))


def _what(found: Sequence[Found]) -> str:
    return 'sample' if found and all(one.is_sample for one in found) else 'episode'


def _listed(found: Sequence[Found], only: Sequence[Found] | None = None) -> str:
    """Numbers, ids and outcomes."""
    rows = [(number, one) for number, one in enumerate(found, 1) if only is None or one in only]
    width = max(len(one.title) for _, one in rows)
    lines = [f'  {number:>4}  {one.title:<{width}}  {one.outcome}'
             for number, one in rows[:_MOST_LISTED]]
    more = len(rows) - _MOST_LISTED
    return '\n'.join([*lines, *([f'  and {more} more'] if more > 0 else [])])


def line_of(found: Found, episode: RecordedEpisode) -> Mapping[str, Any]:
    """Line of results of the episode: the run's own, or one scored again from the bag."""
    if found.line is not None:
        return found.line
    return rescore(episode, None if found.run is None else found.run.suite)
