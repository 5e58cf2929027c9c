"""Recording of a model's queries and replies, and reading them back.

A recording is a file of JSON lines, written as the replies come:

* ``recording``, the first line: format, exact name of the model, kinds that it answers, backend
  and its settings;
* ``episode``: an episode begins. If it begins once more (a resumed run repeats what was broken
  off), only what follows the last start counts;
* ``shared``: what many queries have in common, such as the words around yes/no questions, once
  per file and session; ``reply`` lines name it by its hash;
* ``reply``: one query of any kind, and the reply;
* ``failure``: a call that ended with an error of sightplan: the keys of its queries, name and
  message of the error (without keys and passwords).

A query is known by its key (``Query.key``): SHA-256 over the canonical JSON of all that a model is
shown, with images by the hash of their shape and exact bytes, and of the limits of the reply. The
backend ``replay`` answers from such a file. Each call of the model is written at once; a last line
that a crash cut off is left out by readers, and removed before more is appended. More is appended
only under the settings that replies depend on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan import queries as _kinds  # noqa: F401 (their replies are read)
from sightplan.model import (
    InfrastructureError,
    InputError,
    SightplanError,
    Usage,
    errors,
    identity_values,
    used_between,
    user_path,
)
from sightplan.model.journal import Journal, Line, read_lines
from sightplan.model.query import Deadline, Model, Query, Reply, known_kinds, traits_of
from sightplan.model.redaction import without_secrets
from sightplan.model.type_words import type_in_words
from sightplan.model.whole_files import replacing
from sightplan.vlm import _secrets
from sightplan.vlm.wrapping import Wrapper

FORMAT = 4
NAME = 'replies.jsonl'
"""Name of the recording in a run directory."""
_NO_RECORDING = ('this is no recording of replies (made with "sightplan run --record"); name '
                 'another file')
EVERY = '*'
"""Stands for every kind of query in the list of what a model accepts."""
IMAGES = 'images'
"""Folder of the images beside a recording, as ``<image_id>.png``."""


class Recorded(Wrapper):
    """A model whose queries and replies are written down; else it is the one it wraps.

    Args:
        inner: any model.
        path: the file; made, with its folder, if it is not there.
        name: name of the model's backend, for the file's first line.
        settings: the backend's settings dataclass, for the file's first line, without secrets.
        images: also write each image once, as PNG, to ``images/<image_id>.png`` beside the file.

    Raises:
        InputError: the file cannot be written, is in use, is no recording, or is one of another
            model or of other settings.
    """

    def __init__(self, inner: Model, path: Path | str, *, name: str = '',
                 settings: Any = None, images: bool = False) -> None:
        super().__init__(inner)
        self._images = images
        self._episode = ''
        self._shared: set[str] = set()
        self._drawn: set[str] = set()
        self._lock = threading.Lock()
        self.path = user_path(path).resolve()
        self._journal = _taken_up(self.path, {
            'kind': 'recording', 'format': FORMAT, 'model': inner.name, 'backend': name,
            'settings': {} if settings is None else dataclasses.asdict(settings),
            'counted': inner.usage is not None,
            'accepts': sorted(EVERY if kind is Query else kind.kind for kind in inner.accepts),
            'texts': traits_of(inner).texts},
            {} if settings is None else identity_values(settings))

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Note the episode, and tell the wrapped model if it keeps a history."""
        self._episode = episode_id
        self._journal.append({'kind': 'episode', 'episode': episode_id, 'split': split})
        super().start_episode(episode_id, split)

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the model, and write down what it replies; contract in ``Model``.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
        """
        with self._lock:
            before = self.inner.usage
            try:
                replies = self.inner.ask(queries, deadline)
            except SightplanError as error:
                partial = [*error.partial, *[None] * (len(queries) - len(error.partial))]
                failed = [query for query, reply in zip(queries, partial, strict=True)
                          if reply is None]
                self._commit([*self._lines(queries, partial), self._failure(failed, error)],
                             queries, before)
                raise
            self._commit(self._lines(queries, replies), queries, before)
        return replies

    def close(self) -> None:
        """Close the file, and the wrapped model if it can be closed."""
        self._journal.close()
        super().close()

    def _lines(self, queries: Sequence[Query[Any]], replies: Sequence[Reply | None],
               ) -> list[dict[str, Any]]:
        """Return the lines of answered queries, and of the data that they share, if new."""
        lines = []
        for query, reply in zip(queries, replies, strict=False):
            if reply is None:
                continue
            shared, digest = query.shared(), ''
            if shared:
                digest = _digest(shared)
                if digest not in self._shared:
                    self._shared.add(digest)
                    lines.append({'kind': 'shared', 'shared': digest, **shared})
            lines.append({
                'kind': 'reply', 'query': query.kind, 'episode': self._episode, 'key': query.key,
                'images': list(query.picture_ids), **({'shared': digest} if digest else {}),
                'content': query.content(), 'reply': reply.to_json()})
        return lines

    def _failure(self, queries: Sequence[Query[Any]], error: SightplanError) -> dict[str, Any]:
        """Return the line of a call that failed."""
        return {'kind': 'failure', 'episode': self._episode,
                'keys': [query.key for query in queries],
                'images': list(dict.fromkeys(
                    name for query in queries for name in query.picture_ids)),
                'error': type(error).__name__,
                'message': _secrets.redact(without_secrets(str(error)))}

    def _commit(self, lines: list[dict[str, Any]], queries: Sequence[Query[Any]],
                before: Usage | None) -> None:
        """Write the lines of one call; the last one bears what the call cost."""
        spent = used_between(before, self.inner.usage)
        if spent is not None and lines:
            lines[-1]['usage'] = dataclasses.asdict(spent)
        if self._images:
            self._draw(queries)
        self._journal.append(*lines)

    def _draw(self, queries: Sequence[Query[Any]]) -> None:
        from sightplan.vlm.images import encode

        for query in queries:
            for name, picture in zip(query.picture_ids, query.pictures, strict=False):
                if name in self._drawn:
                    continue
                self._drawn.add(name)
                path = self.path.parent / IMAGES / f'{name}.png'
                if path.exists():
                    continue
                try:
                    path.parent.mkdir(exist_ok=True)
                    with replacing(path) as whole:
                        whole.write_bytes(encode(picture, 'png'))
                except OSError as error:
                    raise InfrastructureError(f'{path}: cannot be written '
                                              f'({error.strerror})') from error


def _taken_up(path: Path, header: Mapping[str, Any], identity: Mapping[str, Any]) -> Journal:
    """Open the file for this process alone, and return it."""
    journal = Journal(path, synced=False)
    journal.open()
    try:
        journal.lock()
        lines = journal.take_up()[1].lines
        if not lines:
            journal.append(header)
            return journal
        there = _header(lines[0])
        if there['model'] != header['model']:
            raise InputError(f'{path}: holds replies of {there["model"]!r}, not of '
                             f'{header["model"]!r}; record to another file')
        if other := _difference(there, header, identity):
            raise InputError(f'{path}: was recorded with {other}; set that again, or '
                             f'record to another file')
    except BaseException:
        journal.close()
        raise
    return journal


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded reply to a query, or the error of the failed call.

    Attributes:
        key: key of the query.
        reply: reply to the query; plain JSON data if that kind of query has not been imported;
            None if the call failed.
        kind: name of the kind of query; '' if the call failed.
        images: ids of the images that the query showed.
        usage: usage of the call whose last reply this is; None if it was not counted.
        error: error with which the call failed; None if it did not.
        content: ``Query.content`` of the query; empty if the call failed.
    """

    key: str
    reply: Reply | Mapping[str, Any] | None
    kind: str = ''
    images: tuple[str, ...] = ()
    usage: Usage | None = None
    error: SightplanError | None = None
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """Content of a recording's file.

    Attributes:
        path: the file.
        model: exact name of the recorded model.
        counted: whether usage was counted.
        accepts: names of the kinds that the model answers, ``EVERY`` for all.
        texts: whether the model answers yes/no questions about texts without a picture.
        episodes: episode id ('' before any began) to the episode's entries, in order.
    """

    path: Path
    model: str
    counted: bool
    accepts: tuple[str, ...]
    texts: bool
    episodes: Mapping[str, Sequence[Entry]]


def read_recording(path: Path) -> Recording:
    """Read a file; a last line that was cut off is left out.

    Raises:
        InputError: there is no such file, or it is no recording; names file and line.
    """
    lines = read_lines(path).lines
    if not lines:
        raise InputError(f'{path}:1: {_NO_RECORDING}')
    header = _header(lines[0])
    return Recording(path, header['model'], bool(header.get('counted')),
                     tuple(map(str, header.get('accepts') or ())), bool(header.get('texts', True)),
                     _entries(lines[1:]))


def _difference(there: Mapping[str, Any], header: Mapping[str, Any],
                identity: Mapping[str, Any]) -> str:
    """Return the first backend or setting in which a recording differs, in words; '' if none."""
    if there.get('backend') and header['backend'] and there['backend'] != header['backend']:
        return f'backend {there["backend"]!r}, not {header["backend"]!r}'
    found = there.get('settings')
    old: dict[str, Any] = found if isinstance(found, dict) else {}
    for name, value in json.loads(json.dumps(identity)).items():
        if name in old and old[name] != value:
            return f'{name} = {old[name]!r}, not {value!r}'
    return ''


def _header(line: Line) -> dict[str, Any]:
    header = line.data
    if header.get('kind') != 'recording':
        raise InputError(f'{line.where}: {_NO_RECORDING}')
    if header.get('format') != FORMAT or not isinstance(header.get('model'), str):
        raise InputError(f'{line.where}: is a recording of format {header.get("format")!r}; this '
                         f'version reads format {FORMAT}')
    return header


def _entries(lines: Iterable[Line]) -> dict[str, list[Entry]]:
    episodes: dict[str, list[Entry]] = {'': []}
    for where, data, _ in lines:
        try:
            kind = data['kind']
            if kind == 'episode':
                episodes[_typed(data, 'episode', str)] = []
            elif kind == 'reply':
                episodes.setdefault(_typed(data, 'episode', str), []).append(_reply(data))
            elif kind == 'failure':
                episodes.setdefault(_typed(data, 'episode', str), []).extend(_failed(data))
            elif kind != 'shared':
                raise ValueError(f'unknown kind {kind!r}')
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise InputError(f'{where}: is not a line of a recording '
                             f'({type(error).__name__}: {error}); remove it by hand') from error
    return episodes


def _reply(data: Mapping[str, Any]) -> Entry:
    images, kind, reply = (_typed(data, 'images', list), _typed(data, 'query', str),
                           _typed(data, 'reply', dict))
    if not all(isinstance(image, str) for image in images):
        raise ValueError('images must be texts')
    known = known_kinds().get(kind)
    return Entry(_typed(data, 'key', str),
                 reply if known is None else known.reply_type.from_json(reply), kind,
                 tuple(images), _usage(data), content=_typed(data, 'content', dict))


def _failed(data: Mapping[str, Any]) -> list[Entry]:
    """Return one entry per key of a failed call; the last one has the usage of the call.

    Raises:
        ValueError: the data are not those of a failed call.
    """
    keys, images = (tuple(_typed(data, name, list)) for name in ('keys', 'images'))
    name, message = (_typed(data, name, str) for name in ('error', 'message'))
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, SightplanError)):
        raise ValueError(f'unknown error {name!r}')
    if not all(isinstance(text, str) for text in keys + images):
        raise ValueError('keys and images must be texts')
    usages = [None] * (len(keys) - 1) + [_usage(data)]
    return [Entry(key, None, '', images, usage, kind(message))
            for key, usage in zip(keys, usages, strict=False)]


def _typed(data: Mapping[str, Any], key: str, kind: type) -> Any:
    value = data[key]
    if not isinstance(value, kind):
        raise ValueError(f'{key} must be {type_in_words(kind)}')
    return value


def _usage(data: Mapping[str, Any]) -> Usage | None:
    counts = data.get('usage')
    if counts is None:
        return None
    cost = counts['cost_usd']
    requests, prompt, completion = (_typed(counts, key, int)
                                    for key in ('requests', 'prompt_tokens', 'completion_tokens'))
    return Usage(requests, prompt, completion, _number(cost))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
