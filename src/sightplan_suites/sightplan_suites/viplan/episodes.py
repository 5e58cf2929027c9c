"""ViPlan's problems as files: ``DOMAIN/SPLIT/NAME.pddl`` below a folder of data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightplan.domains import Domain, load_domain, read_folder
from sightplan.domains.problem_files import named_domain
from sightplan.model import InputError, Problem
from sightplan.planning.splits import draw_split
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan.runs.suite_parts import CheckReport


def check(data: Path) -> CheckReport:
    """Count the problem files at any depth of a folder, and name those that cannot be used.

    Raises:
        InputError: there is no such folder.
    """
    counts: Counter[str] = Counter()
    skipped: list[dict[str, str]] = []
    for folder in _folders(data):
        _, problems, errors = _read(folder)
        counts['problems'] += len(problems)
        counts[str(folder.relative_to(data))] += len(problems)
        skipped += errors
    return CheckReport({'problems': 0, **counts}, skipped)


def generate(out: Path, count: int, seed: int) -> dict[str, Any]:
    """Generate problems like those of the benchmark, ``count`` for each domain and split.

    Args:
        out: folder; holds no problems yet.
        count: of each domain and split.
        seed: where to begin; one seed always gives the same files.

    Raises:
        InputError: the folder holds problems already or cannot be written, or there are too few
            such problems.
        PlannerError: the planner could not be started.
    """
    if count < 1 or seed < 0:
        raise InputError(f'count = {count}, seed = {seed}: count must be at least 1, and seed at '
                         'least 0')
    written = 0
    with FastDownwardPlanner() as planner:
        for name, rules in _suite().domains.items():
            domain = load_domain(name)
            for split in rules.splits:
                settings, problems = draw_split(domain, split, count, seed, planner)
                written += domain.generator.write_folder(domain, out / name / split, settings,
                                                         problems)
    return {'problems': written}


def problems(data: Path) -> dict[str, tuple[Domain, Problem]]:
    """The usable problems of a folder, by their path below it without ``.pddl``.

    Raises:
        InputError: there is no such folder, or not one usable problem.
    """
    found = {}
    for folder in _folders(data):
        domain, usable, _ = _read(folder)
        for problem in usable:
            assert domain is not None
            found[str((folder / problem.name).relative_to(data))] = (domain, problem)
    if not found:
        raise InputError(f'{data}: there is not one usable problem (see "sightplan suite viplan '
                         'check")')
    return found


def _suite() -> Suite:
    return load_suite(Path(__file__).parent.name)


def _folders(data: Path) -> Iterator[Path]:
    """The folders at or below one that hold problem files."""
    if not data.is_dir():
        raise InputError(f'{data}: no such folder (give one with *.pddl problem files)')
    yield from sorted({path.parent for path in data.rglob('*.pddl')
                       if 'domain' not in path.stem.lower()})


def _read(folder: Path) -> tuple[Domain | None, list[Problem], list[dict[str, str]]]:
    """Domain of a folder's problems, the usable ones, and errors of the others.

    The domain is that of the first file which names one of the suite's.
    """
    ours = {theirs: name for name in _suite().domains
            for theirs in sorted(load_domain(name).names)}
    named = {path: named_domain(path.read_text('utf-8', 'replace'))
             for path in sorted(folder.glob('*.pddl'))}
    name = next((ours[theirs] for theirs in named.values() if theirs in ours), None)
    if name is None:
        return None, [], [{'file': str(path), 'reason': f'its domain {theirs!r} is none of '
                           f'{", ".join(ours)}'} for path, theirs in named.items()]
    domain = load_domain(name)
    usable, errors = read_folder(domain, folder)
    return domain, usable, [_place_and_reason(str(error)) for error in errors]


def _place_and_reason(error: str) -> dict[str, str]:
    """File (with the line) and reason of a ProblemError."""
    place, _, reason = error.partition(': ')
    return {'file': place, 'reason': reason}
