"""``replay``: the recorded replies of another backend; no model.

It answers from files written with ``sightplan run --record`` (``sightplan.vlm.recording``), so
that a run can be repeated bit for bit, on a machine without the model. A query finds its reply
by its episode and its key, which is a hash of all that the model was shown; the same query asked
several times in an episode gets the recorded replies in order. What was not asked, or less often,
in the recorded episode is refused; and a call that failed then fails again with the same error.
Only if the recording knows no such episode, a query that shows an image finds its reply by the
key alone, the last one again and again: other problems or seeds can be tried on the recorded
replies, as far as they show the same images.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sightplan.model import BackendError, InputError, Usage, param, user_path
from sightplan.model.query import Deadline, Query, Reply, Traits, known_kinds
from sightplan.vlm.recording import EVERY, Entry, Recording, read_recording

_REMEDY = ('repeat the command of the recorded run (same problems, seed, world, method and '
           'prompts), or record this one with its model and --record')

_LONGEST = 60
"""Most characters of a value in the message about a query that was not recorded."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``replay``."""

    path: str = param('', 'Recording: a file, or a folder (such as a run directory) of which all '
                      'replies*.jsonl are read')


class _Replies:
    """Replies by key, each list with the place of its next one."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._next: dict[str, int] = {}
        for entry in entries:
            self._entries.setdefault(entry.key, []).append(entry)

    def restart(self) -> None:
        self._next.clear()

    def take(self, key: str, repeat: bool = False) -> Entry | None:
        """The next reply; after the last one that once more if ``repeat``, else None."""
        entries = self._entries.get(key, [])
        place = self._next.get(key, 0)
        if place < len(entries):
            self._next[key] = place + 1
            return entries[place]
        return entries[-1] if entries and repeat else None


class Backend:
    """Answers as the recorded model did."""

    accepts: frozenset[type[Query[Any]]] = frozenset({Query})
    traits = Traits(pixels=False, texts=True, history=True)

    def __init__(self, settings: Settings) -> None:
        """Read the recording.

        Raises:
            InputError: it is not given, not there, damaged, or of several models.
        """
        self._path = settings.path
        recordings = _read(settings.path)
        self._name = recordings[0].model
        for other in recordings[1:]:
            if other.model != self._name:
                raise InputError(f'{other.path}: holds replies of {other.model!r}, but '
                                 f'{recordings[0].path} those of {self._name!r}; replay one of '
                                 f'them')
        episodes: dict[str, list[Entry]] = {}
        for recording in recordings:
            for episode, entries in recording.episodes.items():
                episodes.setdefault(episode, []).extend(entries)
        every = [entry for entries in episodes.values() for entry in entries]
        self._episodes = {name: _Replies(entries) for name, entries in episodes.items()
                          if name or entries}
        self._all = _Replies(entry for entry in every if entry.error is None)
        self._every = every
        self._images = {image for entry in every for image in entry.images}
        self._parts = {entry.kind: entry.reply.model for entry in every
                       if isinstance(entry.reply, Reply) and entry.reply.model}
        self._usage = (Usage() if any(recording.counted for recording in recordings) else None)
        self._episode = ''
        self._lock = threading.Lock()
        names = {name for recording in recordings for name in recording.accepts} | {
            entry.kind for entry in every}
        self.accepts = frozenset({Query} if EVERY in names else {
            kind for name, kind in known_kinds().items() if name in names})
        self.traits = dataclasses.replace(
            Backend.traits, texts=any(recording.texts for recording in recordings))

    @property
    def name(self) -> str:
        """Name of the recorded model."""
        return self._name

    def part_name(self, kind: type[Query[Any]]) -> str:
        """Name of the recorded model that answered a kind; contract in ``HasParts``."""
        return self._parts.get(kind.kind, self._name)

    @property
    def usage(self) -> Usage | None:
        """Usage of the replies given so far, as recorded; None if it was not counted."""
        return self._usage

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Begin an episode: its replies are given from the first one on."""
        self._episode = episode_id
        self._episodes.get(episode_id, self._all).restart()

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Give the recorded replies, in order; contract in ``Model``.

        Raises:
            BackendError: one of them was not recorded; names query and image.
            SightplanError: the recorded error.
        """
        found = [(query, self._find(query)) for query in queries]
        replies = [_decoded(query, entry) for query, entry in found]
        error = next((entry.error for _, entry in found if entry.error is not None), None)
        if error is not None:
            again = type(error)(*error.args)
            again.partial = replies
            raise again
        return cast(list[Reply], replies)

    def _find(self, query: Query[Any]) -> Entry:
        with self._lock:
            entry = None
            if self._episode in self._episodes:
                entry = self._episodes[self._episode].take(query.key)
            elif query.picture_ids:
                entry = self._all.take(query.key, repeat=True)
            if entry is not None and entry.usage is not None:
                self._usage = (self._usage or Usage()) + entry.usage
        if entry is None:
            raise self._missing(query)
        return entry

    def _nearest(self, query: Query[Any]) -> str:
        """Fields in which the most similar recorded query differs; '' if nothing is similar."""
        content = query.content()
        pairs = [(entry.content, _differing(content, entry.content)) for entry in self._every
                 if entry.kind == query.kind]
        there, differing = min(pairs, key=lambda pair: len(pair[1]), default=({}, []))
        if not pairs or len(differing) == len(content):
            return ''
        if not differing:
            return ' (it was recorded, but less often, or in another episode or prompt)'
        return '; the most similar recorded query differs in ' + ', '.join(
            f'{name} (recorded {_short(there.get(name))}, now {_short(content.get(name))})'
            for name in differing)

    def _missing(self, query: Query[Any]) -> BackendError:
        shown = query.picture_ids
        where = f' about image {", ".join(shown)}' if shown else ''
        if unknown := [image for image in shown if image not in self._images]:
            why = f'image {", ".join(unknown)} is not in the recording'
        elif self._episode not in self._episodes:
            why = 'that episode was not recorded'
        else:
            why = 'it was never asked, asked otherwise, or less often'
        why += self._nearest(query)
        return BackendError(f'replay: {self._path} holds no reply to {query.kind} '
                            f'{query.summary()[:80]!r}{where} in episode '
                            f'{self._episode or "(none)"}: {why}; {_REMEDY}')


def _short(value: object) -> str:
    text = 'nothing' if value in (None, '', [], {}) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'


def _decoded(query: Query[Any], entry: Entry) -> Reply | None:
    if entry.reply is None or isinstance(entry.reply, Reply):
        return entry.reply
    return query.reply_type.from_json(entry.reply)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of the fields in which the contents of two queries differ."""
    return [name for name in dict.fromkeys((*one, *other)) if one.get(name) != other.get(name)]


def _read(given: str) -> list[Recording]:
    if not given:
        raise InputError('backend replay: path is missing; name a recording with --backend-option '
                         'path=..., for example a run directory that was made with --record')
    path = user_path(given)
    files = sorted(path.glob('replies*.jsonl')) if path.is_dir() else [path]
    if not files:
        raise InputError(f'{path}: holds no recording (replies*.jsonl); make one with "sightplan '
                         f'run --record"')
    return [read_recording(file) for file in files]
