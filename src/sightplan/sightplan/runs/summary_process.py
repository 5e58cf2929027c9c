"""Summarises a run in a process of its own, whose memory is given back when it ends.

All lines of a long run take some hundred megabytes once they are read: a node that runs for weeks
must not keep that. ``python -m sightplan.runs.summary_process DIR`` reads what else the summary is
to say from standard input, as JSON, and prints the summary.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.model import InfrastructureError, SightplanError
from sightplan.model.journal import StorageError
from sightplan.records import RunStore
from sightplan.runs.summary import suite_of_run, summarise

_STORAGE = 3
"""Exit code: the summary could not be written."""


def summarise_run(store: RunStore, more: Mapping[str, Any]) -> dict[str, Any]:
    """Write ``summary.json`` of a run, here and now; see ``summary.summarise``.

    Args:
        store: the run.
        more: what else it says.

    Raises:
        InputError: ``run.json`` or a line is damaged.
        StorageError: it cannot be written.
    """
    suite = suite_of_run(store.run_info())
    return store.write_summary({**summarise(store.lines(), suite), **more})


def summarise_apart(folder: Path, more: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
    """Write and return the summary of a run by a separate process.

    Args:
        folder: the run directory.
        more: further content of the summary.
        limit_s: how long to wait [s]. A process that takes longer goes on by itself, and writes
            the summary when it is done.

    Returns:
        the summary; empty if it was not done in time.

    Raises:
        StorageError: it cannot be written.
        InfrastructureError: the process failed; has what it said.
    """
    process = subprocess.Popen(
        [sys.executable, '-m', __name__, str(folder)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)  # what stops the caller leaves it alone
    try:
        printed, said = process.communicate(json.dumps(more), limit_s)
    except subprocess.TimeoutExpired:
        return {}
    if process.returncode != 0:
        kind = StorageError if process.returncode == _STORAGE else InfrastructureError
        raise kind(said.strip() or f'{folder}: cannot be summarised')
    found: dict[str, Any] = json.loads(printed)
    return found


def main(arguments: Sequence[str]) -> int:
    """Summarise the run in a directory; returns the exit code."""
    folder, = arguments
    try:
        summary = summarise_run(RunStore(folder), json.load(sys.stdin))
    except SightplanError as error:
        sys.stderr.write(f'{error}\n')
        return _STORAGE if isinstance(error, StorageError) else 1
    try:
        sys.stdout.write(json.dumps(summary) + '\n')
        sys.stdout.flush()
    except BrokenPipeError:  # nobody waits any more; the file is there
        sys.stderr.close()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
