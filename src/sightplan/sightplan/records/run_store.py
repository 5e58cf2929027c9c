"""The run directory: crash safe, resumable, readable at any time.

``run.json``
    what was run: ``identity`` (all that changes results; a resumed run must agree), and a list of
    ``sessions`` (one per start: time, commit, versions, settings).
``episodes.jsonl``
    one line per finished episode, written with one call, flushed and synced before the next
    begins. A line cut off by a crash is dropped when the run is resumed, and its episode repeated.
    Of several lines of one episode, as files that were put together by hand have them, the first
    counts; readers name the others.
    A run is open in one process, or in several that work for one command: these lock the file for
    each line, and see before they write whether another one was faster.
``summary.json``
    scores of the lines so far, and what was run by which commit and versions; replaced
    atomically.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from sightplan.metrics import measures
from sightplan.metrics.failures import without_truth
from sightplan.model import InputError, user_path
from sightplan.model.journal import Journal, Line
from sightplan.records.description import Description, plain, write_json

L = TypeVar('L', bound=Mapping[str, Any])

_MOST_NAMED = 5
_ORIGIN = ('method', 'backend', 'model', 'domain', 'split', 'seed', 'domain_sha256',
           'domain_settings_sha256', 'questions_sha256', 'privileged')


def without_repeats(lines: Iterable[L]) -> tuple[list[L], list[str]]:
    """Lines of results without those whose item has a line already: the first one counts.

    Returns:
        the lines that count, in order, and the id of each line that does not.
    """
    found: dict[str, L] = {}
    repeated = []
    for line in lines:
        if line['id'] in found:
            repeated.append(line['id'])
        else:
            found[line['id']] = line
    return list(found.values()), repeated


def repeats_text(path: Path, repeated: Sequence[str]) -> str:
    """The warning about lines that ``without_repeats`` left out of a file."""
    more = len(repeated) - _MOST_NAMED
    return (f'{path}: {len(repeated)} repeated line{"s are" if len(repeated) > 1 else " is"} left '
            f'out, of {", ".join(repeated[:_MOST_NAMED])}'
            + (f' and {more} more' if more > 0 else ''))


class RunStore:
    """The directory of one run. Reading needs no ``open``.

    Only one process, or the processes of one command, may have it open to write. Use it as a
    context manager, or call ``close``.

    Attributes:
        folder: the directory.
        repeated: ids of the lines that ``lines`` left out last, since an earlier line of the
            file has the same.
    """

    def __init__(self, folder: Path | str) -> None:
        """Name the directory; nothing is touched.

        Raises:
            InputError: ``~name`` names no user.
        """
        self.folder = user_path(folder).resolve()
        self._journal = Journal(self.folder / 'episodes.jsonl')
        self._description = Description(self.folder / 'run.json', 'run')
        self.repeated: list[str] = []
        self._done: set[str] = set()
        self._shared = False
        self._is_new = False
        self._depth = 0
        self._fence: Callable[[], None] = _no_fence

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self, identity: Mapping[str, Any], session: Mapping[str, Any] | None = None,
             resume: bool = True, *, retry_errors: bool = False, command: str = '',
             fence: Callable[[], None] | None = None) -> set[str]:
        """Create the run, or take it up again.

        Args:
            identity: all that changes results, plain JSON data.
            session: what else to note about this start (time, commit, versions).
            resume: if False, a directory that holds a run already is an error.
            retry_errors: forget episodes that ended in an error, see ``drop_unscored``.
            command: id of what this process works for; others with the same id may have the run
                open at the same time. The first of them takes it up, the others join. '': alone.
            fence: called before anything is written, when no other process writes; what it
                raises keeps this process from writing.

        Returns:
            ids of the episodes that are already committed.

        Raises:
            InputError: the directory holds another run (the message names what differs), is in use
                by another process, or cannot be written.
            StorageError: the disk is full, or broken.
        """
        self._journal.open()
        self._shared, self._fence = bool(command), fence or _no_fence
        try:
            if not self._shared:
                self._journal.lock()
            with self.locked():
                self._take_up(identity, plain(session or {}), resume, retry_errors, command)
        except BaseException:
            self.close()
            raise
        return set(self._done)

    def close(self) -> None:
        """Close the directory."""
        self._journal.close()

    def discard_if_empty(self) -> None:
        """Remove a run that this process began, if no episode is committed.

        A refused run thus leaves nothing behind that would block its directory for the next run.
        The directory itself is removed if nothing else is in it.
        """
        if not self._is_new or self._shared or self._done:
            return
        for name in ('run.json', 'episodes.jsonl', 'summary.json', 'replies.jsonl'):
            (self.folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[set[str]]:
        """Keep other processes from writing while this lasts; yields ids of committed episodes.

        Raises:
            ValueError: the run is not open.
            InputError: another command has the run open.
        """
        if not self._journal.is_open:
            raise ValueError('the run is not open')
        if not self._shared or self._depth:
            yield self._done
            return
        with self._journal.locked():
            self._depth += 1
            try:
                self._fence()
                self._catch_up()
                yield self._done
            finally:
                self._depth -= 1

    def append(self, line: Mapping[str, Any],
               before: Callable[[], None] | None = None) -> bool:
        """Commit one finished episode; when this returns, it is on disk.

        Args:
            line: its results.
            before: what else is to be written about it: called first, when no other process
                writes, unless it is committed already.

        Returns:
            whether it was written; False if another process of the same command was faster.

        Raises:
            ValueError: the episode is committed already by this process, or the run is not open.
            StorageError: the line could not be written (disk full); nothing is left of it.
        """
        episode_id = line['id']
        if episode_id in self._done and not self._shared:
            raise ValueError(f'episode {episode_id!r} is committed already')
        with self.locked() as done:
            if episode_id in done:
                return False
            if before is not None:
                before()
            self._journal.append(line)
            done.add(episode_id)
        return True

    def __contains__(self, episode_id: object) -> bool:
        """Whether an episode is committed, as last read; the run must be open."""
        return episode_id in self._done

    @property
    def count(self) -> int:
        """Number of committed episodes, as last read; the run must be open."""
        return len(self._done)

    def lines(self) -> list[dict[str, Any]]:
        """All committed episodes, in order, each once; a truncated last line is left out.

        Raises:
            InputError: a line in the middle is not readable; names file and line.
        """
        lines, self.repeated = without_repeats(map(_checked, self._journal.read()))
        return lines

    @property
    def warnings(self) -> list[str]:
        """Sentences about the lines that ``lines`` left out last, each naming the file."""
        return [repeats_text(self._journal.path, self.repeated)] if self.repeated else []

    def done(self) -> set[str]:
        """Ids of the committed episodes."""
        return {line['id'] for line in self.lines()}

    def drop_unscored(self) -> int:
        """Forget committed episodes that ended in an error or were cancelled, to repeat them.

        Returns:
            how many were dropped.

        Raises:
            ValueError: the run is not open.
        """
        with self.locked():
            lines = self.lines()
            kept = [line for line in lines if measures.scored(line) or without_truth(line)]
            if len(kept) < len(lines):
                self._journal.replace(kept)
                self._done = {line['id'] for line in kept}
        return len(lines) - len(kept)

    def run_info(self) -> dict[str, Any]:
        """Content of ``run.json``.

        Raises:
            InputError: ``run.json`` is missing or damaged.
        """
        return self._description.read()

    def note(self, key: str, value: object) -> None:
        """Set one top-level field of ``run.json`` (for example skipped problems)."""
        with self.locked() if self._journal.is_open else contextlib.nullcontext():
            self._description.note(key, value)

    def write_summary(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Replace ``summary.json`` atomically; says what was run, too (see ``origin``).

        It names the repeated lines that the last call of ``lines`` left out (``repeated_lines``).

        Returns:
            what was written.

        Raises:
            InputError: ``run.json`` is missing or damaged.
        """
        origin = {key: value for key, value in self.origin().items() if key not in summary}
        whole = {**summary, 'repeated_lines': self.repeated, **origin}
        write_json(self.folder / 'summary.json', whole)
        return whole

    def origin(self) -> dict[str, Any]:
        """Return the origin that a result must name: the run's settings and its software.

        The data come from ``run.json``.

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
        found['provenance'] = {key: last[key] for key in last
                               if key not in ('settings', 'command')}
        found['other_commits'] = [
            commit for commit in dict.fromkeys(session.get('commit') for session in sessions)
            if commit != last.get('commit')]
        return found

    def _catch_up(self) -> None:
        """Read the episodes that other processes have committed."""
        anew, content = self._journal.take_up()
        if anew:
            self._done.clear()
        self._done.update(_checked(line)['id'] for line in content.lines)

    def _take_up(self, identity: Mapping[str, Any], session: dict[str, Any], resume: bool,
                 retry_errors: bool, command: str) -> None:
        journal = self._journal
        self._is_new = not (self.folder / 'run.json').exists()
        if not self._is_new and (source := self.run_info()['identity'].get('imported')):
            raise InputError(f'{self.folder}: holds results that were imported from '
                             f'{source["file"]}, and nothing can be added to them; choose another '
                             '--out')
        info = self._description.take_up(identity, journal.path, journal.empty, resume=resume)
        self._catch_up()
        if command and info['sessions'] and info['sessions'][-1].get('command') == command:
            return
        if retry_errors:
            self.drop_unscored()
        info['sessions'] = [*info['sessions'],
                            {**session, 'command': command} if command else session]
        self._description.write(info)


def _checked(line: Line) -> dict[str, Any]:
    """A line of results.

    Raises:
        InputError: it is not one.
    """
    if 'id' not in line.data:
        raise InputError(f'{line.where}: is not a line of results; remove it by hand')
    return line.data


def _no_fence() -> None:
    """Context manager that does not keep any process from writing."""
