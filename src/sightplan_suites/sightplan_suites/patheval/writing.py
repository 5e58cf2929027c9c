"""Functions that readers and writers of folders of data share."""

from __future__ import annotations

import json
from pathlib import Path

from sightplan.model import InputError
from sightplan.model.whole_files import replacing


def check_folder(folder: Path) -> None:
    """Check that a folder is there.

    Raises:
        InputError: it is not.
    """
    if not folder.is_dir():
        raise InputError(f'{folder}: no such folder (give one with records, or with environments '
                         'Scene*Obstacles.txt)')


def json_bytes(content: object) -> bytes:
    """Plain data as the text of a JSON file."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + '\n').encode()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file as a whole; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new:
        new.write_bytes(content)
