"""Runs made of the release's outputs of models, one for each file."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sightplan
from sightplan.agent import answerer_settings
from sightplan.model import InputError
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan.runs.imported_runs import BACKEND, import_session, is_imported, write_imported
from sightplan.runs.suite_finding import load_suite
from sightplan.runs.suite_rules import SAMPLES
from sightplan_suites.patheval.outputs import (
    METHOD,
    SPLIT,
    SUITE,
    KnownRecords,
    OutputFile,
    lines_of,
    read_outputs,
)

PROTOCOL = 'paper'


@dataclass
class Imported:
    """Result of importing the files of a folder.

    Attributes:
        runs: directories that were written, in order.
        kept: directories that held the same file already.
        samples: number of lines in ``runs``.
        skipped: files and outputs that cannot be used, and why.
        notes: contradictions between outputs and records.
    """

    runs: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    samples: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_outputs(path: Path, out: Path, known: KnownRecords,
                   progress: Callable[[int, int], None] = lambda done, total: None) -> Imported:
    """Turn files of outputs into run directories.

    Args:
        path: a file, or a folder that is searched at whatever depth.
        out: folder for the run directories; it is made.
        known: the records that the outputs are about, as far as there are any.
        progress: is told the number of files that are done, and of all.

    Raises:
        InputError: there is not one file of outputs.
    """
    suite = load_suite(SUITE)
    files, skipped = read_outputs(path, suite.published)
    done, session = Imported(skipped=skipped), import_session()
    out.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files):
        progress(number, len(files))
        folder = out / '-'.join(_place(file, path).with_suffix('').parts)
        try:
            kept = is_imported(folder, _sha256(file, known))
        except InputError as error:
            done.skipped.append(skip(str(file.path), reason_of(error, str(file.path))))
            continue
        made = lines_of(file, known)
        done.skipped += [*file.skipped, *made.skipped]
        done.notes += made.notes
        if kept:
            done.kept.append(folder)
        elif made.lines:
            identity = identity_of(file, path, known, len(made.lines))
            write_imported(folder, suite, identity, made.lines, session)
            done.runs.append(folder)
            done.samples += len(made.lines)
    progress(len(files), len(files))
    return done


def _place(file: OutputFile, path: Path) -> Path:
    return file.path.relative_to(path) if path.is_dir() else Path(file.path.name)


def _sha256(file: OutputFile, known: KnownRecords) -> str:
    """Hash of all that the lines of a file depend on."""
    return hashlib.sha256(f'{file.sha256} {known.sha256}'.encode()).hexdigest()


def identity_of(file: OutputFile, path: Path, known: KnownRecords, count: int) -> dict[str, Any]:
    """The identity of the run of a file with ``count`` lines; ``path`` is what was imported."""
    return {
        'sightplan': sightplan.__version__, 'suite': SUITE, 'kind': SAMPLES, 'domain': '',
        'protocol': PROTOCOL, 'split': SPLIT,
        'samples': {'count': count, SPLIT: {
            'sha256': "the benchmark's records", 'variant': file.variant, 'view': file.view,
            'form': 'abstract', 'explained': PROTOCOL, 'granted': 'nothing'}},
        'questions_sha256': {},
        'method': {'name': METHOD, **dataclasses.asdict(answerer_settings(METHOD, {}))},
        'backend': {'name': BACKEND}, 'model': file.model, 'prompt': None, 'seed': None,
        'imported': {'file': _place(file, path).as_posix(), 'sha256': _sha256(file, known)}}
