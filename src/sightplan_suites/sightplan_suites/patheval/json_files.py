"""The JSON files of a folder of data, told apart by their content."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.runs.dataset import Skipped, reason_of, skip

SEGMENTS = 'segments.json'
FIRST, SECOND = 'Path 1', 'Path 2'
OUTPUT = '_output'
"""End of the key under which a model's whole reply stands."""


class Kind(enum.Enum):
    """Kind of the entries of a JSON file: records, pair samples or outputs of models."""

    RECORDS = 'records'
    PAIRS = 'pairs'
    OUTPUTS = 'outputs'


@dataclass(frozen=True, eq=False)
class JsonFile:
    """A list of entries.

    Attributes:
        path: of the file.
        kind: what the entries are.
        entries: plain data, at least one.
    """

    path: Path
    kind: Kind
    entries: list[Any]


@dataclass(frozen=True, eq=False)
class JsonFiles:
    """The JSON files of a folder.

    Attributes:
        files: those with entries.
        skipped: those that hold no list, or cannot be read.
        damaged: number of those that cannot be read.
    """

    files: list[JsonFile]
    skipped: list[Skipped]
    damaged: int

    def of(self, kind: Kind) -> list[JsonFile]:
        """The files of a kind."""
        return [file for file in self.files if file.kind is kind]


def read_json_files(folder: Path) -> JsonFiles:
    """Read all JSON files of a folder but its segments."""
    files: list[JsonFile] = []
    skipped: list[Skipped] = []
    damaged = 0
    for path in sorted(folder.rglob('*.json')):
        if path.name == SEGMENTS:
            continue
        try:
            content = read_json(path)
        except InputError as error:
            skipped.append(skip(str(path), reason_of(error, str(path))))
            damaged += 1
            continue
        if isinstance(content, dict) and kind_of([content]) is not Kind.RECORDS:
            content = [content]  # one pair, or one output, alone
        if not isinstance(content, list):
            skipped.append(skip(str(path), 'is not a list of records'))
        elif content:
            files.append(JsonFile(path, kind_of(content), content))
    return JsonFiles(files, skipped, damaged)


def read_json(path: Path) -> Any:
    """Read the plain data of a JSON file.

    Raises:
        InputError: it cannot be read; names the file.
    """
    try:
        return load_json(path.read_text('utf-8-sig'))
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path}: is not JSON ({error}); correct it') from error


def kind_of(entries: list[Any]) -> Kind:
    """Return the kind of a file's entries; those of an unknown kind count as records."""
    for entry in _objects(entries):
        if 'conversations' in entry:
            return Kind.RECORDS
        if FIRST in entry and SECOND in entry:
            return Kind.PAIRS
        if any(key.endswith(OUTPUT) for key in entry):
            return Kind.OUTPUTS
    return Kind.RECORDS


def _objects(entries: list[Any]) -> Iterator[dict[str, Any]]:
    return (entry for entry in entries if isinstance(entry, dict))
