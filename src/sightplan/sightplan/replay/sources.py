"""The recorded episodes of bags, runs, sweeps, and folders of any of these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.model import InputError, Observed, user_path
from sightplan.records import RunStore
from sightplan.records.bag_reading import find_bags
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.replay.batches import Source

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BagPlace:
    """A bag.

    Attributes:
        path: its folder or file.
        name: unique among all that are replayed; from the given folder on.
        run: the run directory that the bag belongs to; None if it belongs to none.
    """

    path: Path
    name: str
    run: Path | None


@dataclass
class Sources:
    """The bags of a replay, with the warnings from reading them.

    Attributes:
        bags: the bags, in order.
        left_out: bags of runs that no line of results names: of episodes that were broken off, or
            repeated later.
        warnings: name of a bag to what is wrong with it, in words; grows while they are read.
        unreadable: names of the bags of which nothing could be read.
        whole: runs whose every bag was asked for, not some of them.
    """

    bags: tuple[BagPlace, ...]
    left_out: tuple[Path, ...] = ()
    warnings: dict[str, list[str]] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    whole: frozenset[Path] = frozenset()
    _lines: dict[Path, list[dict[str, Any]]] = field(default_factory=dict)
    _live: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def find(cls, paths: Iterable[Path | str]) -> Sources:
        """Find the bags at or below some paths.

        Raises:
            InputError: there are none, or the results of a run are damaged.
        """
        places: dict[Path, BagPlace] = {}
        left_out: list[Path] = []
        runs: dict[Path, _Lines] = {}
        names: dict[str, int] = {}
        live: dict[tuple[str, str], dict[str, Any]] = {}
        roots = [user_path(given).resolve() for given in paths]
        for root in roots:
            for bag in (path.resolve() for path in find_bags(root)):
                if bag in places:
                    continue
                run = run_of(bag)
                if run is not None and run not in runs:
                    runs[run] = _Lines(run)
                own = [] if run is None else runs[run].of(bag)
                if run is not None and not own and bag != root:
                    left_out.append(bag)
                    continue
                name = _name(bag, root, run)
                names[name] = names.get(name, 0) + 1
                if names[name] > 1:
                    name = f'{name}~{names[name]}'
                places[bag] = BagPlace(bag, name, run)
                live |= {(name, line['id']): line for line in own}
        if not places:
            raise InputError(f'{", ".join(map(str, paths))}: there is no bag of a finished '
                             f'episode ({len(left_out)} of episodes that were broken off; name '
                             f'such a bag itself to replay it)')
        return cls(tuple(places.values()), tuple(dict.fromkeys(left_out)),
                   whole=frozenset(run for run in runs if any(
                       root in (run, *run.parents) for root in roots)),
                   _lines={run: lines.every for run, lines in runs.items()}, _live=live)

    @property
    def runs(self) -> tuple[Path | None, ...]:
        """The run directories, in order; None stands for bags that belong to none."""
        return tuple(dict.fromkeys(bag.run for bag in self.bags))

    def lines(self, run: Path | None) -> list[dict[str, Any]]:
        """The committed lines of results of a run; none for bags that stand alone."""
        return self._lines.get(run, []) if run is not None else []

    def live(self, source: Source) -> Mapping[str, Any] | None:
        """The line of results that was committed live for an attempt, if there is one."""
        if not source.settled:
            return None
        return self._live.get((source.name, source.episode.spec.id))

    def read(self, bags: Sequence[BagPlace] | None = None) -> Iterator[Source]:
        """The episodes, bag by bag; what is wrong with them is noted in ``warnings``."""
        for bag in self.bags if bags is None else bags:
            warnings: list[str] = []
            self.warnings.pop(bag.name, None)
            self.unreadable.discard(bag.name)
            found = 0
            try:
                for source in _attempts(bag.name, list(read_episodes(bag.path))):
                    found += 1
                    warnings += _warnings(source.episode)
                    yield source
            except InputError as error:
                warnings.append(str(error))
                if not found:
                    self.unreadable.add(bag.name)
            if not found and not warnings:
                warnings.append('holds no episode')
                self.unreadable.add(bag.name)
            if warnings:
                self.warnings[bag.name] = list(dict.fromkeys(warnings))

    def digests(self) -> dict[str, str]:
        """SHA-256 over the content of each bag, first 16 hex digits, by name.

        Raises:
            InputError: a file of a bag cannot be read.
        """
        return {bag.name: _digest(bag.path) for bag in self.bags}


def _attempts(name: str, episodes: Sequence[RecordedEpisode]) -> Iterator[Source]:
    """The episodes of a bag, with the attempts at each numbered."""
    spaces: dict[str, list[str]] = {}
    for episode in episodes:
        spaces.setdefault(episode.spec.id, []).append(episode.namespace)
    numbers = dict.fromkeys(spaces, 0)
    for episode in episodes:
        own, number = spaces[episode.spec.id], numbers[episode.spec.id]
        numbers[episode.spec.id] += 1
        yield Source(name, episode, number, number == len(own) - 1 and len(set(own)) == 1)


def _warnings(episode: RecordedEpisode) -> tuple[str, ...]:
    if episode.events and episode.timeline.end is None and not episode.warnings:
        return ('the end of the episode is missing',)
    return episode.warnings


def run_of(bag: Path) -> Path | None:
    """Return the run directory above a bag; None if there is none."""
    return next((folder for folder in list(bag.parents)[:3]
                 if (folder / 'episodes.jsonl').is_file()), None)


class _Lines:
    """The lines of results of a run, by the bag that they name."""

    def __init__(self, run: Path) -> None:
        self.every = RunStore(run).lines()
        self._named: dict[Path, list[dict[str, Any]]] = {}
        for line in self.every:
            if line.get('bag'):
                self._named.setdefault((run / str(line['bag'])).resolve(), []).append(line)

    def of(self, bag: Path) -> list[dict[str, Any]]:
        """Return the lines that name a bag; all lines of the run if none names any bag."""
        if not self._named:
            return self.every
        return next((self._named[path] for path in (bag, *bag.parents) if path in self._named), [])


def _name(bag: Path, root: Path, run: Path | None) -> str:
    base = (run or bag).parent if bag == root else root.parent
    return bag.relative_to(base).as_posix() if base in bag.parents else bag.name


def _digest(bag: Path) -> str:
    digest = hashlib.sha256()
    try:
        files = [bag] if bag.is_file() else sorted(
            file for file in bag.rglob('*') if file.is_file() and not file.name.startswith('.'))
        for file in files:
            digest.update(f'{file.name}\0{file.stat().st_size}\0'.encode())
            with file.open('rb') as content:
                while chunk := content.read(_CHUNK):
                    digest.update(chunk)
    except OSError as error:
        raise InputError(f'{error.filename or bag}: cannot be read ({error.strerror}); make it '
                         f'readable, or leave its bag out') from error
    return digest.hexdigest()[:16]


def describe(source: Source) -> dict[str, Any]:
    """Describe the content of a bag as plain JSON data.

    Returns:
        ``bag``, ``episode``, ``attempt`` (from 0), ``namespace`` (of its topics), ``domain``,
        ``split``, ``method``, ``model`` ('' if none answered), ``steps``, ``questions``,
        ``observations``, ``images`` (distinct ones), ``pictures`` (whether the first is
        there), ``truth`` (whether the bag has any), ``ended`` (why; '' if the end is missing),
        ``warnings``.
    """
    episode = source.episode
    timeline = episode.timeline
    asked = [moment.event for moment in timeline.batches]
    seen = [event.observation for event in timeline.events(Observed)]
    return {
        'bag': source.name, 'episode': episode.spec.id,
        'attempt': source.attempt, 'namespace': episode.namespace,
        'domain': episode.domain.name, 'split': episode.spec.split,
        'method': episode.spec.method,
        'model': ', '.join(dict.fromkeys(event.model for event in asked if event.model)),
        'steps': len(timeline.steps) - 1,
        'questions': sum(len(event.questions) for event in asked), 'observations': len(seen),
        'images': len({one.image_id for one in seen if one.image_id}),
        'pictures': any(episode.image(one) is not None for one in seen[:1]),
        'truth': episode.truth is not None,
        'ended': timeline.end.reason.value if timeline.end is not None else '',
        'warnings': list(_warnings(episode))}
