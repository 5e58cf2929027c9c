"""Results of a replay as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.model import InputError

RESULT = 'replay_result.json'


def write_tables(folder: Path, result: Mapping[str, Any],
                 tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write a result as JSON.

    Raises:
        InputError: a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULT).write_text(json.dumps(result, indent=2, allow_nan=False) + '\n', 'utf-8')
    except OSError as error:
        raise InputError(f'{folder}: cannot be written ({error.strerror}); choose another '
                         f'--out') from error
