"""Run directories that are made of results of others, which every command that reads runs takes.

Nothing of this project asked the model: the backend of such a run is ``imported``, and what the
files do not record is null. Nothing can be added to it; its identity names the file that it was
made of, with its hash (``imported``).
"""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sightplan
from sightplan.model import InputError
from sightplan.records import RunStore, provenance
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.records.description import FORMAT, plain, write_json
from sightplan.runs.suite import Suite
from sightplan.runs.summary import summarise

BACKEND = 'imported'
"""Name of the backend of imported runs."""


def import_session() -> dict[str, Any]:
    """The session that an import notes in its runs: time, commit, versions."""
    return {'started': datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'),
            **provenance()}


def is_imported(folder: Path, sha256: str) -> bool:
    """Whether a directory holds the run that this version made of a file.

    Args:
        folder: the run directory.
        sha256: of the file.

    Raises:
        InputError: it holds something else.
    """
    if not folder.exists():
        return False
    identity = RunStore(folder).run_info()['identity']
    if not identity.get('imported'):
        raise InputError(f'{folder}: holds a run that was not imported; choose another --out')
    return (identity['imported'].get('sha256'), identity.get('sightplan')) == (
        sha256, sightplan.__version__)


def write_imported(folder: Path, suite: Suite, identity: Mapping[str, Any],
                   lines: Sequence[Mapping[str, Any]], session: Mapping[str, Any],
                   answers: Iterable[str] = ()) -> None:
    """Write a run directory, so that it is whole or not there; it replaces an older one.

    Args:
        folder: the run directory.
        suite: that the run belongs to.
        identity: of the run.
        lines: of results.
        session: what ``import_session`` gave.
        answers: lines of ``answers.jsonl``; without any there is no such file.
    """
    made, answers = folder.with_name(f'.{folder.name}.part'), tuple(answers)
    shutil.rmtree(made, ignore_errors=True)
    try:
        made.mkdir()
        write_json(made / 'run.json', plain({
            'format': FORMAT, 'identity': identity, 'sessions': [session],
            'problems_skipped': []}))
        (made / 'episodes.jsonl').write_text(
            ''.join(json.dumps(line, allow_nan=False) + '\n' for line in lines), 'utf-8')
        if answers:
            with (made / ANSWERS).open('w', encoding='utf-8') as file:
                file.writelines(answers)
        RunStore(made).write_summary({
            **summarise(lines, suite), 'out': str(folder), 'planned': len(lines),
            'problems_skipped': [], 'interrupted': False, 'stopped_by': '', 'spent': None,
            'pictures': ''})
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
