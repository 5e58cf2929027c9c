"""JSON description of a directory of results, beside its journal; a resumed command must agree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.model.journal import StorageError
from sightplan.model.json_text import load_json
from sightplan.model.sample import SHOWN_HASH
from sightplan.model.whole_files import replacing

FORMAT = 3
_MOST_NAMED = 5


class Description:
    """A file of ``identity`` (what changes results), ``sessions`` (one per start) and notes."""

    def __init__(self, path: Path, what: str) -> None:
        """Name the file, and what it describes ("run"); nothing is touched."""
        self._path, self._what = path, what

    def read(self) -> dict[str, Any]:
        """Return the content of the file.

        Raises:
            InputError: the file is missing or damaged.
        """
        path = self._path
        try:
            info = load_json(path.read_text('utf-8'))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InputError(f'{path}: is missing; {path.parent} holds no {self._what}') from error
        except OSError as error:
            raise InputError(f'{path}: cannot be read ({error.strerror})') from error
        except (ValueError, RecursionError) as error:
            raise InputError(f'{path}: is damaged ({error}); choose another --out') from error
        if not isinstance(info, dict) or info.get('format') != FORMAT or not isinstance(
                info.get('sessions', []), list):
            raise InputError(f'{path}: is not a {self._what} of format {FORMAT}; choose another '
                             f'--out')
        return info

    def take_up(self, identity: Mapping[str, Any], results: Path, empty: bool, *,
                resume: bool = True) -> dict[str, Any]:
        """Return the content to go on from, which is not written yet.

        Args:
            identity: all that changes results, plain JSON data.
            results: the journal beside it.
            empty: whether that holds nothing.
            resume: if False, a directory that is described already is an error.

        Raises:
            InputError: the directory holds another run or replay; the message names what differs.
        """
        identity = plain(identity)
        if not self._path.exists():
            if not empty:
                raise InputError(f'{results}: exists without {self._path.name}; choose another '
                                 f'--out')
            return {'format': FORMAT, 'identity': identity, 'sessions': []}
        info = self.read()
        if not resume:
            raise InputError(f'{self._path.parent}: holds a {self._what} already; resume it or '
                             f'choose another --out')
        self._check(info['identity'], identity)
        return info

    def write(self, content: Mapping[str, Any]) -> None:
        """Replace the file as a whole.

        Raises:
            StorageError: it cannot be written; the old content is still there.
        """
        write_json(self._path, content)

    def note(self, key: str, value: object) -> None:
        """Set one top-level field."""
        info = self.read()
        if key not in info or info[key] != value:
            self.write({**info, key: value})

    def _check(self, there: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        differences = [*_changed_samples(there, identity), *_differences(there, identity)]
        if not differences:
            return
        more = len(differences) - _MOST_NAMED
        different = 'Different: ' + '; '.join(differences[:_MOST_NAMED]) + (
            f'; and {more} more' if more > 0 else '')
        raise InputError(f'{self._path.parent}: holds another {self._what} and cannot be resumed '
                         f'with these settings; choose another --out, or settings as they '
                         f'were. {different}')


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file so that a crash leaves either the old or the new content.

    Raises:
        StorageError: it cannot be written.
    """
    text = json.dumps(content, indent=2, allow_nan=False) + '\n'
    try:
        with replacing(path, synced=True) as temporary:
            temporary.write_text(text, 'utf-8')
    except OSError as error:
        raise StorageError.about(path, error) from error


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data as JSON reads them back (tuples become lists), so that they compare."""
    found: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return found


def _changed_samples(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Changes in the samples of each split, in words, where their hashes tell them."""
    found = []
    now = new.get('samples') or {}
    for split, before in (old.get('samples') or {}).items():
        after = now.get(split)
        if not (isinstance(before, Mapping) and isinstance(after, Mapping)
                and SHOWN_HASH in before):
            continue
        if before[SHOWN_HASH] != after.get(SHOWN_HASH):
            found.append(f'a picture or a question of split {split} has changed')
        elif before != after:
            found.append(f'a truth of split {split} has changed ("sightplan suite NAME score '
                         '--new-truths" scores the answers that are there by it)')
    return found


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
