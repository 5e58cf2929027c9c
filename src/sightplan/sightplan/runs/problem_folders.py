"""Folders of problem files that a user gives, and the splits that their names tell.

A folder may hold the problem files of one split, or a folder for each split, at any depth
(``DIR/DOMAIN/SPLIT/*.pddl``), as authors publish them. Where a folder bears the name of a split of
a suite, that suite's rules for the split hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightplan.domains import Domain, read_folder
from sightplan.domains.problem_files import named_domain
from sightplan.domains.scene_instances import METADATA, posed_in, read_instances
from sightplan.model import InputError, Problem, ProblemError, user_path
from sightplan.model.paths import visible_folders
from sightplan.runs.settings import ALL_SPLITS, RunSettings
from sightplan.runs.suite_finding import load_suite, suite_for

_MOST_FOLDERS = 10_000
_MOST_HEAD = 1 << 16


@dataclass(frozen=True)
class SplitFolder:
    """A folder of problem files.

    Attributes:
        folder: where it is.
        split: name of the split that its files are; '' if nothing tells.
        assumed: whether the split was not told by the folder's name, but is the run's setting.
    """

    folder: Path
    split: str
    assumed: bool = False


def splits_of(settings: RunSettings, domain: Domain) -> tuple[str, ...]:
    """Return the splits of a run's problems; ('',) for problems that are of none."""
    if not settings.problems:
        return (domain.splits if domain.splits and settings.split == ALL_SPLITS
                else (settings.split,))
    if not user_path(settings.problems).is_dir():
        return ('',)
    return tuple(dict.fromkeys(found.split for found in split_folders(settings, domain)))


def split_folders(settings: RunSettings, domain: Domain) -> list[SplitFolder]:
    """Return the folders that hold the problem files of a run.

    If the given folder holds problem files itself, it is the only one. Else those below it count
    whose names tell the run's split, or any split if the run is of all.

    Raises:
        InputError: there is no such folder, or none of the split; names what is there.
    """
    root = user_path(settings.problems)
    if not root.is_dir() or domain.problem_files(root):
        split = _split_told(root, root, domain) if root.is_dir() else ''
        if not split and _has_split(settings, domain):
            return [SplitFolder(root, settings.split, assumed=True)]
        return [SplitFolder(root, split)]
    below = [SplitFolder(folder, _split_told(folder, root, domain))
             for folder in _folders_below(root, domain)]
    if not below:
        return [SplitFolder(root, '')]  # reading it says what is wrong
    wanted = [found for found in below if found.split and
              settings.split in (ALL_SPLITS, found.split)]
    there = ', '.join(f'{found.folder.relative_to(root)} ({found.split or "no split"})'
                      for found in below)
    if not wanted:
        usual = settings.split == RunSettings().split and settings.split not in domain.splits
        of_split = '' if usual else f'of split {settings.split!r} '  # '': nobody named a split
        raise InputError(f'{root}: has no problem files {of_split}of domain {domain.name}; there '
                         f'are {there} (choose a split, or give one of these folders)')
    for one in wanted:
        same = [str(other.folder.relative_to(root)) for other in wanted
                if other.split == one.split]
        if len(same) > 1:
            raise InputError(f'{root}: several folders hold split {one.split}: {", ".join(same)} '
                             '(give the right one)')
    order = [*domain.splits, *(found.split for found in wanted)]
    return sorted(wanted, key=lambda found: order.index(found.split))


def read_problems(settings: RunSettings, domain: Domain,
                  ) -> tuple[list[tuple[str, Problem]], list[ProblemError]]:
    """Read the problems of a run's folder.

    In a domain whose problems with the same facts are different ones (``Domain.instances``), a
    file ``metadata.json`` gives the scenes that a problem file stands for, see
    ``read_instances``; each is a problem of its own.

    Returns:
        (split, problem) pairs in order, and what is wrong with bad files.

    Raises:
        InputError: there is no such folder, no file or split in it, or its metadata is wrong.
    """
    pairs: list[tuple[str, Problem]] = []
    errors: list[ProblemError] = []
    root = user_path(settings.problems)
    for found in split_folders(settings, domain):
        problems, wrong = read_folder(domain, found.folder)
        errors += wrong
        if domain.instances and (path := _metadata(found, root)):
            stems = {_split_told(folder, root, domain): _stems(folder, domain)
                     for folder in _folders_below(path.parent, domain)}
            instances = read_instances(path, found.split, {
                **stems, found.split: _stems(found.folder, domain)})
            problems = [posed for problem in problems for posed in (
                [posed_in(problem, one) for one in instances[problem.name]]
                if problem.name in instances else [problem])]
        pairs += [(found.split, problem) for problem in problems]
    return pairs, errors


def _stems(folder: Path, domain: Domain) -> list[str]:
    return [file.stem for file in domain.problem_files(folder)]


def remark(settings: RunSettings, domain: Domain, pairs: Sequence[tuple[str, Problem]],
           suite: str, rules: Mapping[str, str]) -> str:
    """Return what a person should know about whose rules hold for problems of a folder.

    Args:
        settings: settings of the run, with a folder of problems.
        domain: domain of the run.
        pairs: (split, problem) of the run.
        suite: name of the suite whose rules hold; '' for none.
        rules: the rules that hold, in words, by split; '' for problems of no split, of which a
            suite that is named rules what all its splits have in common.
    """
    files = len({problem.source for _, problem in pairs})
    count = f'{len(pairs)} problems' + ('' if files == len(pairs) else
                                        f' (scene instances) of {files} files')
    said = '; '.join(f'{split}: {words}' if split else words for split, words in rules.items())
    if suite and '' in rules:
        return (f'{settings.problems}: {count}, with the measures of suite {suite}, and its rules '
                f'as far as all its splits of {domain.name} have the same ({said})')
    if not suite:
        named = next((found.name for split in domain.splits
                      if (found := suite_for(domain.name, split)) is not None), '')
        how = (f'; --suite {named} --split SPLIT takes the rules of a split' if named else '')
        return (f"{settings.problems}: {count}; no suite's rules hold, as no folder is named "
                f'like a split ({said}){how}')
    assumed = any(found.assumed for found in split_folders(settings, domain))
    return (f'{settings.problems}: {count}, by the rules of suite {suite} for '
            f'{", ".join(rules)}, as {"--split says" if assumed else "the folder is named"} '
            f'({said})')


def holds_problems(root: Path, domain: Domain) -> bool:
    """Whether a folder, or one below it, holds problem files of a domain."""
    return root.is_dir() and (any(_is_of(file, domain) for file in domain.problem_files(root))
                              or next(_folders_below(root, domain), None) is not None)


def _folders_below(root: Path, domain: Domain) -> Iterator[Path]:
    """Yield the folders below one that hold problem files of a domain, sorted."""
    for number, folder in enumerate(visible_folders(root)):
        if number > _MOST_FOLDERS:
            raise InputError(f'{root}: has more than {_MOST_FOLDERS} folders below (give the one '
                             'that the problem files lie in)')
        files = [] if folder == root else domain.problem_files(folder)
        if files and any(_is_of(file, domain) for file in files):
            yield folder


def _is_of(file: Path, domain: Domain) -> bool:
    """Whether a problem file says that it is of a domain; those of its own form always are."""
    if file.suffix.lower() != '.pddl':
        return True
    try:
        with file.open('rb') as opened:
            head = opened.read(_MOST_HEAD).decode('utf-8', 'replace')
    except OSError:
        return False
    return named_domain(head) in domain.names


def _split_told(folder: Path, root: Path, domain: Domain) -> str:
    """Return the split that the name of a folder tells, or that of one on the way to it.

    Of folders above the given one none counts, but that of a folder named ``problems``.
    """
    root = root.resolve()
    parts = [root.name, *folder.resolve().relative_to(root).parts]
    if root.name.lower() in ('problems', 'pddl'):
        parts.insert(0, root.parent.name)
    for part in reversed(parts):
        if suite_for(domain.name, part.lower()) is not None:
            return part.lower()
    return ''


def _has_split(settings: RunSettings, domain: Domain) -> bool:
    """Whether the suite that a run names has the run's split of the domain."""
    rules = load_suite(settings.suite).domains.get(domain.name) if settings.suite else None
    return rules is not None and settings.split in rules.splits


def _metadata(found: SplitFolder, root: Path) -> Path | None:
    """Return the file of scene instances of a folder: in it, or above it up to the given one."""
    folder = found.folder
    while True:
        if (path := folder / METADATA).is_file():
            return path
        if folder == root or root not in folder.parents:
            return None
        folder = folder.parent
