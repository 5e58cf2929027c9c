"""Files of iVISPAR's puzzles: ``NAME.json`` below a folder of data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightplan.domains import Domain, load_domain
from sightplan.domains.sliding.configs import (
    Config,
    disagreements,
    load_config,
    optimal_length,
)
from sightplan.model import InputError, Problem, ProblemError
from sightplan.planning.splits import draw_split
from sightplan.runs.suite_parts import CheckReport

_DOMAIN = 'sliding'


def check(data: Path) -> CheckReport:
    """Count the puzzle files at any depth of a folder, and name those that cannot be used.

    Files that say something of their puzzle that is not so (``disagreements``) are counted, and
    named with it, but can be used.

    Raises:
        InputError: there is no such folder.
    """
    counts: Counter[str] = Counter()
    skipped: list[dict[str, str]] = []
    noted: list[dict[str, str]] = []
    for path, config in _read(data):
        if isinstance(config, ProblemError):
            skipped.append({'file': str(path), 'reason': str(config).replace(f'{path}: ', '')})
            continue
        counts['problems'] += 1
        counts[f'{len(config.pieces)} pieces'] += 1
        wrong = disagreements(config, optimal_length(config))
        counts['disagreements'] += bool(wrong)
        noted += [{'file': str(path), 'reason': what} for what in wrong]
    return CheckReport({'problems': 0, 'disagreements': 0, **counts}, skipped, noted)


def generate(out: Path, count: int, seed: int) -> dict[str, Any]:
    """Generate puzzles like those of the benchmark, ``count`` for each split.

    Args:
        out: folder; holds no puzzles yet.
        count: of each split.
        seed: where to begin; one seed always gives the same files.

    Raises:
        InputError: the folder holds puzzles already or cannot be written, or there are too few.
    """
    if count < 1 or seed < 0:
        raise InputError(f'count = {count}, seed = {seed}: count must be at least 1, and seed at '
                         'least 0')
    domain, written = load_domain(_DOMAIN), 0
    for split in domain.splits:
        settings, drawn = draw_split(domain, split, count, seed)
        written += domain.generator.write_folder(domain, out / _DOMAIN / split, settings, drawn)
    return {'problems': written}


def problems(data: Path) -> dict[str, tuple[Domain, Problem]]:
    """The usable puzzles of a folder, by their path below it without ``.json``.

    Raises:
        InputError: there is no such folder, or not one usable puzzle.
    """
    domain, found = load_domain(_DOMAIN), {}
    for path, config in _read(data):
        if not isinstance(config, ProblemError):
            found[str(path.relative_to(data).with_suffix(''))] = (
                domain, domain.read_problem(path))
    if not found:
        raise InputError(f'{data}: there is not one usable puzzle (see "sightplan suite ivispar '
                         'check")')
    return found


def _read(data: Path) -> Iterator[tuple[Path, Config | ProblemError]]:
    """Puzzle files of a folder with their content, or with their error."""
    if not data.is_dir():
        raise InputError(f'{data}: no such folder (give one with puzzles, *.json)')
    for path in sorted(data.rglob('*.json')):
        try:
            yield path, load_config(path)
        except ProblemError as error:
            yield path, error
