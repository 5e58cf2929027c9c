"""The run directory: crash safe, resumable, readable at any time.

``run.json``
    what was run: ``identity`` (all that changes results; a resumed run must agree), and a list of
    ``sessions`` (one per start: time, commit, versions, settings).
``episodes.jsonl``
    one line per finished episode, written with one call, flushed and synced before the next
    begins. A line cut off by a crash is dropped when the run is resumed, and its episode repeated.
``summary.json``
    scores of the lines so far, and what was run by which commit and versions; replaced
    atomically.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sightplan.model import InfrastructureError, InputError, user_path

FORMAT = 1
_ORIGIN = ('method', 'backend', 'model', 'domain', 'split', 'seed', 'domain_sha256',
           'domain_settings_sha256', 'questions_sha256', 'privileged')


class RunStore:
    """One run's directory. Reading needs no ``open``; only one process may have it open to write.

    Use as a context manager, or call ``close``.
    """

    def __init__(self, folder: Path | str) -> None:
        """Name the directory; nothing is touched.

        Raises:
            InputError: ``~name`` names no user.
        """
        self.folder = user_path(folder).resolve()
        self._file: int | None = None
        self._done: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self, identity: Mapping[str, Any], session: Mapping[str, Any] | None = None,
             resume: bool = True) -> set[str]:
        """Create the run, or take it up again.

        Args:
            identity: all that changes results, plain JSON data.
            session: what else to note about this start (time, commit, versions).
            resume: if False, a directory that holds a run already is an error.

        Returns:
            ids of the episodes that are already committed.

        Raises:
            InputError: the directory holds another run (the message names what differs), is in use
                by another process, or cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.folder / 'episodes.jsonl',
                                 os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f'{self.folder}: cannot be written ({error.strerror}); '
                             f'choose another --out') from error
        try:
            self._lock()
            self._take_up(_plain(identity), _plain(session or {}), resume)
        except BaseException:
            self.close()
            raise
        return set(self._done)

    def close(self) -> None:
        """Let go of the directory."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def append(self, line: Mapping[str, Any]) -> None:
        """Commit one finished episode; when this returns, it is on disk.

        Raises:
            ValueError: the episode is committed already, or the run is not open.
            InfrastructureError: the line could not be written (disk full); nothing is left of it.
        """
        episode_id = line['episode_id']
        if self._file is None:
            raise ValueError('the run is not open')
        if episode_id in self._done:
            raise ValueError(f'episode {episode_id!r} is committed already')
        content = _encode(line)
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise InfrastructureError(f'{self.folder}: an episode could not be committed '
                             f'({error.strerror})') from error
        self._done.add(episode_id)

    def lines(self) -> list[dict[str, Any]]:
        """All committed episodes, in order; a torn last line is left out.

        Raises:
            InputError: a line in the middle is not readable; names file and line.
        """
        try:
            raw = (self.folder / 'episodes.jsonl').read_bytes()
        except FileNotFoundError:
            return []
        lines, _ = _parse(raw, self.folder / 'episodes.jsonl')
        return lines

    def done(self) -> set[str]:
        """Ids of the committed episodes."""
        return {line['episode_id'] for line in self.lines()}

    def drop_unscored(self) -> int:
        """Forget committed episodes that ended in an error or were cancelled, to repeat them.

        Returns:
            how many were dropped.

        Raises:
            ValueError: the run is not open.
        """
        if self._file is None:
            raise ValueError('the run is not open')
        lines = self.lines()
        kept = [line for line in lines if line['scored']]
        if len(kept) < len(lines):
            path = self.folder / 'episodes.jsonl'
            _replace(path, b''.join(map(_encode, kept)))
            os.close(self._file)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND)
            self._lock()
            self._done = {line['episode_id'] for line in kept}
        return len(lines) - len(kept)

    def run_info(self) -> dict[str, Any]:
        """Content of ``run.json``.

        Raises:
            InputError: it is missing or damaged.
        """
        path = self.folder / 'run.json'
        try:
            info = json.loads(path.read_text('utf-8'))
        except FileNotFoundError as error:
            raise InputError(f'{path}: is missing; {self.folder} holds no run') from error
        except ValueError as error:
            raise InputError(f'{path}: is damaged ({error})') from error
        if not isinstance(info, dict) or info.get('format') != FORMAT:
            raise InputError(f'{path}: is not a run of format {FORMAT}')
        return info

    def note(self, key: str, value: object) -> None:
        """Set one top-level field of ``run.json`` (for example skipped problems)."""
        self._write_json('run.json', {**self.run_info(), key: value})

    def write_summary(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Replace ``summary.json`` atomically; says what was run, too (see ``origin``).

        Returns:
            what was written.

        Raises:
            InputError: ``run.json`` is missing or damaged.
        """
        whole = {**summary, **{key: value for key, value in self.origin().items()
                               if key not in summary}}
        self._write_json('summary.json', whole)
        return whole

    def origin(self) -> dict[str, Any]:
        """What a result must name, from ``run.json``: what was run, and by what.

        Returns:
            ``method``, ``backend``, ``model``, ``domain``, ``split``, ``seed``, ``privileged``
            and the hashes, each as far as the identity has it; ``provenance``: what the last
            session noted, without its settings; ``other_commits``: those of earlier sessions
            that differ.
        """
        info = self.run_info()
        identity, sessions = info['identity'], info['sessions']
        found = {key: identity[key] for key in _ORIGIN if key in identity}
        if isinstance(identity.get('problems'), dict):
            found['problems_sha256'] = identity['problems'].get('sha256')
        last = sessions[-1] if sessions else {}
        found['provenance'] = {key: last[key] for key in last if key != 'settings'}
        found['other_commits'] = [
            commit for commit in dict.fromkeys(session.get('commit') for session in sessions)
            if commit != last.get('commit')]
        return found

    def _lock(self) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f'{self.folder}: another process is writing this run; wait for it, '
                             f'or choose another --out') from error

    def _take_up(self, identity: dict[str, Any], session: dict[str, Any], resume: bool) -> None:
        assert self._file is not None
        path = self.folder / 'episodes.jsonl'
        raw = path.read_bytes()
        if (self.folder / 'run.json').exists():
            info = self.run_info()
            if not resume:
                raise InputError(f'{self.folder}: holds a run already; resume it or choose '
                                 f'another --out')
            differences = _differences(info['identity'], identity)
            if set(info['identity']) != set(identity):
                raise InputError(f'{self.folder}: was begun by another version of sightplan and '
                                 f'cannot be resumed by this one; choose another --out. '
                                 f'Different: ' + '; '.join(differences))
            if differences:
                raise InputError(f'{self.folder}: holds another run and cannot be resumed with '
                                 f'these settings; choose another --out, or settings as they '
                                 f'were. Different: ' + '; '.join(differences))
        elif raw:
            raise InputError(f'{path}: exists without run.json; choose another --out')
        else:
            info = {'format': FORMAT, 'identity': identity, 'sessions': []}
        info['sessions'] = [*info['sessions'], session]
        self._write_json('run.json', info)
        lines, good = _parse(raw, path)
        if good < len(raw):
            os.ftruncate(self._file, good)
            os.fsync(self._file)
        self._done = {line['episode_id'] for line in lines}

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, indent=2, allow_nan=False) + '\n'
        _replace(self.folder / name, text.encode())


def _parse(raw: bytes, path: Path) -> tuple[list[dict[str, Any]], int]:
    """Committed lines, and the number of bytes they take; a torn last line is not committed."""
    lines: list[dict[str, Any]] = []
    good = 0
    pieces = raw.split(b'\n')
    for number, piece in enumerate(pieces[:-1], start=1):
        line = None
        with contextlib.suppress(ValueError):
            line = json.loads(piece)
        if not isinstance(line, dict) or 'episode_id' not in line:
            if number == len(pieces) - 1 and not pieces[-1]:
                break
            raise InputError(f'{path}:{number}: is not a line of results; remove it by hand')
        lines.append(line)
        good += len(piece) + 1
    return lines, good


def _encode(line: Mapping[str, Any]) -> bytes:
    return (json.dumps(line, allow_nan=False) + '\n').encode()


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """As it will be when read back (tuples become lists), so that it can be compared."""
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return plain


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = '') -> list[str]:
    found = []
    for key in dict.fromkeys((*old, *new)):
        before, now = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            found += _differences(before, now, f'{prefix}{key}.')
        elif before != now:
            found.append(f'{prefix}{key} was {_short(before)}, now {_short(now)}')
    return found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + '...'


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves either the old or the new content."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
