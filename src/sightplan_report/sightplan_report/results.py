"""Finished runs and sweeps, read from disk and grouped for tables and pages.

``gather`` reads; ``Results.groups`` puts the runs together that differ in nothing but split and
seed, and tells apart what differs in anything else, however small. What a run belongs to is read
from the run alone: other runs of a report change what groups are called, not what they are.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sightplan.metrics import measures
from sightplan.model import InputError, user_path
from sightplan.model.json_text import load_json
from sightplan.records import RunStore
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.records.run_store import repeats_text, without_repeats
from sightplan.runs import Suite, load_suite, suite_for, suite_names, suite_of_run, summarise
from sightplan.runs.rules import RULES, covers
from sightplan.runs.settings import TOLD
from sightplan.runs.summary import model_that_replied
from sightplan_report import conditions
from sightplan_report.conditions import Fields
from sightplan_report.grouping import grouped
from sightplan_report.lines import (
    EPISODE,
    NOT_JSON,
    SAMPLE,
    Index,
    RunInfo,
    read_line,
    wrong_field,
)

EPISODES, INDEX = 'episodes.jsonl', '*.sweep.json'
_SKIPPED = ('bags', 'calibrations', 'failures')
_REMEDY = ('name a run directory that "sightplan run --out" wrote, a sweep directory, or a '
           'folder that holds some')

Line = Mapping[str, Any]


# ----------------------------------------------------------------------------------- one run


@dataclass(frozen=True)
class Named:
    """Names of a run, and of a group of runs, in tables.

    Attributes:
        domain: name of the domain, or of several.
        method: name of the method.
        backend: name of the backend that answered; '' for methods without a model.
        model: the model as a suite's paper calls it, or its short name; '' likewise.
        failure_probability: of actions.
        privileged: when facts about what is out of view were provided: a level, or several with
            their splits.
        calibrated: whether the method used a calibration; None: it has no use for one.
    """

    domain: str
    method: str
    backend: str
    model: str
    failure_probability: float
    privileged: str
    calibrated: bool | None

    @property
    def names(self) -> tuple[str, str, str, str, float, str, bool | None]:
        """All names, in this order."""
        return (self.domain, self.method, self.backend, self.model, self.failure_probability,
                self.privileged, self.calibrated)


@dataclass(frozen=True)
class RunResults(Named):
    """A run: its committed items, and what they were made with.

    Attributes:
        exact_model: the model as the run has it, with version or server, settings and seed.
        folder: the run directory.
        info: content of its ``run.json``.
        identity: all that results depend on; of episodes that no run planned, what they say.
        lines: committed items, each once; at least one.
        labels: axis to value, from the sweep; empty without one.
        planned: how many items the run has when it is whole; None if not known.
    """

    exact_model: str
    folder: Path
    info: Mapping[str, Any] = field(repr=False)
    identity: Mapping[str, Any] = field(repr=False)
    lines: tuple[Line, ...] = field(repr=False)
    labels: Mapping[str, Any]
    planned: int | None

    @property
    def name(self) -> str:
        """Name of the run directory."""
        return self.folder.name

    @property
    def kind(self) -> str:
        """Kind of its items: ``episode`` or ``sample``."""
        return SAMPLE if self.lines[0].get('kind') == SAMPLE else EPISODE

    @property
    def imported(self) -> bool:
        """Whether its items are results of others, read from their files."""
        return bool(self.identity.get('imported'))

    @property
    def sessions(self) -> Sequence[Mapping[str, Any]]:
        """The starts of the run: time, commit, versions, settings."""
        found: Sequence[Mapping[str, Any]] = self.info['sessions']
        return found

    @property
    def commits(self) -> tuple[str, ...]:
        """Commits that items were made with; with "+" where files had been changed."""
        return tuple(dict.fromkeys(
            f'{session["commit"]}{"+" if session.get("dirty") else ""}'
            for session in self.sessions if session.get('commit')))

    @property
    def seed(self) -> int | None:
        """Seed of the run, None if it is not known."""
        found: int | None = self.identity.get('seed')
        return found

    @property
    def calibration(self) -> str:
        """The calibration, as the identity has it."""
        return str(self.identity['method'].get('calibration'))

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Splits of the items, in order of appearance."""
        return tuple(dict.fromkeys(split_of(line) for line in self.lines))

    @property
    def rules(self) -> Mapping[str, Mapping[str, Any]]:
        """Budgets and other rules, each by split; an unrecorded goal counts as told."""
        return {name: self.identity.get(name, dict.fromkeys(self.splits, TOLD)
                                        if name == 'goal' else {}) for name in RULES}

    @cached_property
    def problems(self) -> str | None:
        """Hash of the problems; '' for the shipped ones, None if it is not known."""
        return conditions.problems_of(self.identity)

    @cached_property
    def condition(self) -> Fields:
        """Conditions other than method and model; see ``conditions.condition_of``."""
        return conditions.condition_of({**self.identity, **self.rules}, self.ruling_suite,
                                       self._settings)

    @cached_property
    def settings(self) -> Fields:
        """The method's own settings."""
        return conditions.settings_of(self.identity)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Scores of the run, see ``runs.summarise``."""
        return summarise(self.lines, self.suite)

    @cached_property
    def suite(self) -> Suite | None:
        """The suite that it belongs to; None for none, and where that is not there."""
        try:
            return suite_of_run(self.info)
        except InputError:
            return None

    @cached_property
    def ruling_suite(self) -> Suite | None:
        """Suite with whose rules and published numbers the episodes are compared; None for none.

        Episodes that no run planned name no suite: theirs is the one that has their split.
        """
        return self.suite if 'suite' in self.identity else suite_for(self.domain, self.splits[0])

    @property
    def _settings(self) -> Mapping[str, Any]:
        """The settings that the run was started with last; empty if they are not known."""
        found: Mapping[str, Any] = (self.sessions[-1].get('settings') or {}
                                    if self.sessions else {})
        return found

    def content(self, split: str) -> str | None:
        """Identity of a split's items among splits of its name."""
        return conditions.content_of(self.identity, split)

    def answers(self) -> Iterator[dict[str, Any]]:
        """The logged answers of the episodes, if the run has a log; damaged lines are left out."""
        wanted = {line['id'] for line in self.lines}
        try:
            with (self.folder / ANSWERS).open(encoding='utf-8', errors='replace') as file:
                for text in file:
                    try:
                        entry = load_json(text)
                    except (ValueError, RecursionError):
                        continue
                    if (isinstance(entry, dict) and 'atom' in entry
                            and isinstance(entry.get('episode'), str)
                            and entry['episode'] in wanted):
                        yield entry
        except OSError:
            return


def _run_of(folder: Path, info: Mapping[str, Any], lines: Sequence[Line],
            labels: Mapping[str, Any], planned: int | None) -> RunResults:
    """A run, made of its files."""
    identity, first = info['identity'], lines[0]
    settings = info['sessions'][-1].get('settings', {}) if info['sessions'] else {}
    if not identity.get('method'):
        identity = {**identity, 'domain': first['domain'], 'method': {'name': first['method']},
                    'failure_probability': first['failure_probability'],
                    **{rule: {split_of(line): line.get(rule, TOLD) for line in lines}
                       for rule in RULES}}
    method, backend = identity['method'], identity.get('backend')
    model = model_that_replied(identity, lines)
    try:
        suite = suite_of_run(info)
    except InputError:
        suite = None
    levels = {split: str(level) for split, level in identity.get('privileged', {}).items()}
    several = len(set(levels.values())) > 1
    if planned is None:
        count = settings.get('episodes') or (identity.get('problems') or {}).get('count')
        planned = count if isinstance(count, int) else None
    return RunResults(
        identity['domain'], method['name'],
        # A backend's own setting called "name" hides its name in the identity.
        (settings.get('backend') or backend['name']) if backend else '',
        short_model(model, suite),
        float(identity.get('failure_probability', 0.0)),
        ', '.join(f'{split} {level}' for split, level in levels.items()) if several else
        next(iter(levels.values()), ''),
        bool(method['calibration']) if 'calibration' in method else None, model, folder, info,
        identity, tuple(lines), labels, planned)


def split_of(line: Line) -> str:
    """The split of an item; "-" for problems of one's own."""
    return str(line['split'] or '-')


def cause_of(line: Line) -> str | None:
    """Cause of an episode's failure; None if it did not fail."""
    failure = line['failure']
    return str(failure['cause']) if failure else None


def episode_key(run: RunResults, line: Line) -> tuple[Any, ...]:
    """Key by which an episode is the same in runs of several methods.

    Id, seed of the run, problems or samples, and last the seed of the backend. Where the seed of
    the run is not known, that of the episode stands for it, which depends on it.
    """
    backend_seed = (run.identity.get('backend') or {}).get('seed')
    return (line['id'], line['seed'] if run.seed is None else run.seed,
            run.content(split_of(line)), conditions.hashable(backend_seed))


def short_model(model: str, suite: Suite | None = None) -> str:
    """Name of a model in tables: as in the paper of its suite, else shortened.

    A table of error rates is called like the model it was taken from: the backend tells them
    apart. What the suite's own paper does not name is called as in another suite's.

    Args:
        model: as results have it, for example ``Qwen/Qwen2.5-VL-7B-Instruct@cc594 bfloat16``,
            ``gpt-4.1@api.openai.com/v1``, ``noisy_oracle(InternVL3-8B/plain, seed 0)`` or
            ``noisy_reader(gpt-4o 3d, seed 0)``.
        suite: that the run belongs to, None for none.
    """
    table = _OF_TABLES.match(model)
    if table:
        name = str(next(filter(None, table.groups())))
    elif model.startswith(('embedded_model/', 'embedded_model@')):
        return 'embedded'
    elif model.startswith('scripted('):
        return 'scripted'
    else:
        name = model.partition('@')[0].strip()
    own = [] if suite is None else [suite]
    for one in itertools.chain(own, map(load_suite, suite_names())):
        if known := one.published.model_name(name):
            return known
    name = name.rstrip('/').rpartition('/')[2]
    return name if '@' in model or table else str(re.split('[ (]', name)[0])


_OF_TABLES = re.compile(
    # "NAME/plain hard, ...", "NAME/as asked, ..."; a table of one's own: "NAME@HASH, ..."
    r'noisy_oracle\(([^/@,]*?)(?:/(?:plain|cot|as asked)|@\w+|(?= \w+,)|,|\))'
    r'|noisy_reader\((.*?) (?:2d|3d|text|auto)?(?:,|\))'
    r'|noisy_locator\(([^/,]+)/|noisy_critic\(([^,]+),'
    # "NAME, ...", "NAME hard, ..."; a table of one's own: "NAME@HASH, ..."
    r'|noisy_planner\(([^@,]*?)(?: (?:simple|medium|hard))?(?:@\w+)?,')
"""Models that stand for another one's published rates; the first group holds that one's name."""


# ----------------------------------------------------------------------------- groups of runs


@dataclass(frozen=True)
class Group(Named):
    """Runs that differ in nothing but split and seed.

    Attributes:
        variant: what tells the group from others with the same names; '' for nothing.
        runs: its runs.
    """

    variant: str
    runs: tuple[RunResults, ...] = field(repr=False)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All items of the group's runs."""
        return tuple(line for run in self.runs for line in run.lines)

    @cached_property
    def scored(self) -> tuple[Line, ...]:
        """All scored items of the group's runs."""
        return tuple(line for line in self.lines if measures.scored(line))

    @cached_property
    def by_split(self) -> Mapping[str, Sequence[Line]]:
        """The items of each split, in order of appearance."""
        return grouped(self.lines, split_of)

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits of the items, in order of appearance."""
        return tuple(self.by_split)

    @property
    def imported(self) -> bool:
        """Whether its items are results of others, read from their files."""
        return self.runs[0].imported

    @property
    def exact_model(self) -> str:
        """The model with version or server and settings; without the seed of its errors."""
        return conditions.exact(self.runs[0].exact_model)

    @cached_property
    def condition(self) -> Fields:
        """Conditions other than method and model; groups with equal conditions can be compared.

        It depends on nothing but the group's own runs. Seeds, and rules that are the suite's, are
        not in it; problems only where they are not the shipped ones.
        """
        own = {'not known' if run.problems is None else run.problems
               for run in self.runs if run.kind == EPISODE} - {''}
        more = (('problems', ', '.join(sorted(own))),) if own else ()
        return tuple(sorted((*self.runs[0].condition, *more), key=lambda item: item[0]))

    @property
    def settings(self) -> Fields:
        """The method's own settings and prompt, without calibration."""
        return self.runs[0].settings

    @property
    def named(self) -> frozenset[str]:
        """Names that sweeps give the variant."""
        return frozenset(str(run.labels['variant']) for run in self.runs
                         if 'variant' in run.labels)

    @cached_property
    def summaries(self) -> Mapping[str, Mapping[str, Any]]:
        """Scores by split, see ``runs.summarise``."""
        if len(self.splits) == 1:
            return {self.splits[0]: self.summary}
        return {split: summarise(lines, self.suite) for split, lines in self.by_split.items()}

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """Scores of all items."""
        return (self.runs[0].summary if len(self.runs) == 1 else
                summarise(self.lines, self.suite))

    @property
    def suite(self) -> Suite | None:
        """The suite of its runs, None for none."""
        return self.runs[0].suite

    def suite_with(self, split: str) -> Suite | None:
        """The suite that its runs belong to, if that is one of episodes with a split."""
        suite = self.runs[0].ruling_suite
        return suite if covers(suite, self.domain, split) else None


def total(planned: Iterable[int | None]) -> int | None:
    """The sum of planned items; None if one number is not known."""
    numbers = list(planned)
    return None if None in numbers else sum(number or 0 for number in numbers)


@dataclass(frozen=True)
class Results:
    """Runs that were read, with warnings about the rest.

    Attributes:
        runs: those with at least one item, in the order in which they were named.
        warnings: what could not be used and why, each a sentence that names file and remedy.
        waiting: items planned in the runs of sweeps that have none yet; None: not known.
    """

    runs: tuple[RunResults, ...]
    warnings: tuple[str, ...] = ()
    waiting: int | None = 0

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The runs in groups that differ in split and seed only."""
        alike = grouped(self.runs, lambda run: (run.kind, *run.names))
        return tuple(group for runs in alike.values()
                     for group in _distinguished(runs))

    def of_kind(self, kind: str) -> Results:
        """The runs of ``episode`` or ``sample`` items alone."""
        runs = tuple(run for run in self.runs if run.kind == kind)
        return self if runs == self.runs else replace(self, runs=runs)

    @property
    def domains(self) -> tuple[str, ...]:
        """Domains of the runs, in order of appearance."""
        return tuple(dict.fromkeys(run.domain for run in self.runs))

    @property
    def splits(self) -> tuple[str, ...]:
        """All splits: those of suites in their order, then others."""
        present = dict.fromkeys(split for run in self.runs for split in run.splits)
        known = dict.fromkeys(
            split for domain in self.domains for split in present
            if (suite := suite_for(domain, split)) for split in suite.domains[domain].splits)
        return tuple(dict.fromkeys([*(s for s in known if s in present), *present]))


def _distinguished(runs: Sequence[RunResults]) -> list[Group]:
    """Groups of runs that look equal, each with a variant that distinguishes it."""
    alike = grouped(runs, lambda run: (conditions.exact(run.exact_model), run.settings,
                                       run.condition))
    groups = [Group(*runs[0].names, '', tuple(members)) for found in alike.values()
              for members in _grouped_by_problems(found)]
    texts = conditions.disambiguate_labels([(group.named, {
        'model': group.exact_model, **dict(group.settings), **dict(group.condition),
        **conditions.contents_of(run.identity for run in group.runs), 'calibration': ', '.join(
            sorted({run.calibration for run in group.runs if run.calibrated})) or None})
        for group in groups])
    return [replace(group, variant=text) for group, text in zip(groups, texts, strict=True)]


def _grouped_by_problems(runs: Sequence[RunResults]) -> list[list[RunResults]]:
    """Runs grouped by problems or samples, and calibration, which may differ between splits.

    Where a split has several of them, the runs of one folder belong together, else those with the
    same ones.
    """
    def own(run: RunResults, split: str) -> tuple[str, str]:
        return str(run.content(split)), run.calibration

    def several(among: Sequence[RunResults]) -> bool:
        found = grouped(((split, own(run, split)) for run in among for split in run.splits),
                        lambda pair: pair[0])
        return any(len(set(pairs)) > 1 for pairs in found.values())

    def alike(run: RunResults) -> frozenset[tuple[str, str]]:
        return frozenset(own(run, split) for split in run.splits)

    if not several(runs):
        return [list(runs)]
    parts = [part for beside in grouped(runs, lambda run: run.folder.parent).values()
             for part in (grouped(beside, alike).values() if several(beside) else [beside])]
    together = grouped(parts, lambda part: frozenset(
        (split, own(run, split)) for run in part for split in run.splits))
    return [[run for part in found for run in part] for found in together.values()]


# ------------------------------------------------------------------------------------ reading


def gather(paths: Iterable[Path | str] | Path | str) -> Results:
    """Read runs from directories.

    Args:
        paths: run directories or their ``episodes.jsonl``, sweep directories (the runs that their
            ``*.sweep.json`` list), and folders that hold some of either.

    Returns:
        all that can be read. A last line without a line end is not committed: it is left out
        silently, as a resumed run repeats its item. Anything else that is left out stands in
        ``warnings``.

    Raises:
        InputError: a path does not exist, or not one item can be read.
    """
    named = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not named:
        raise InputError(f'nothing to report: {_REMEDY}')
    reader = _Reader()
    for path in named:
        reader.take(user_path(path))
    runs = _without_repeats(reader.runs.values(), reader.warnings)
    if not runs:
        raise InputError('\n'.join([
            f'{", ".join(map(str, named))}: there is not one finished episode; {_REMEDY}',
            *reader.warnings]))
    return Results(tuple(runs), tuple(dict.fromkeys(reader.warnings)),
                   total(reader.waiting.values()))


class _Reader:
    """Walks folders; keeps each run once."""

    def __init__(self) -> None:
        self.runs: dict[Path, RunResults] = {}
        self.warnings: list[str] = []
        self.waiting: dict[Path, int | None] = {}

    def take(self, path: Path) -> None:
        """Read the runs at a path.

        Raises:
            InputError: it does not exist, or is no file of episodes.
        """
        if path.is_dir():
            self._folder(path)
        elif not path.is_file():
            raise InputError(f'{path}: does not exist; {_REMEDY}')
        elif path.name != EPISODES:
            raise InputError(f'{path}: is not a file of episodes ({EPISODES}); {_REMEDY}')
        else:
            self._run(path.parent, {}, None)

    def _folder(self, path: Path) -> None:
        if (path / EPISODES).is_file():
            self._run(path, {}, None)
        elif indices := sorted(path.glob(INDEX)):
            self._sweep(path, indices)
        else:
            try:
                below = sorted(entry for entry in path.iterdir() if entry.is_dir()
                               and not entry.is_symlink() and not entry.name.startswith('.')
                               and entry.name not in _SKIPPED)
            except OSError as error:
                self.warnings.append(f'{path}: cannot be read ({error.strerror}); left out')
                return
            for folder in below:
                self._folder(folder)

    def _sweep(self, path: Path, indices: Sequence[Path]) -> None:
        """The runs that indices list: labels of several are put together."""
        cells: dict[str, tuple[Mapping[str, Any], int | None]] = {}
        found = [self._cells(index) for index in indices]
        for cell in (cell for listed in found for cell in listed or ()):
            labels, _ = cells.get(cell['dir'], ({}, None))
            cells[cell['dir']] = {**cell['labels'], **labels}, cell['episodes']
        unlisted = [p.parent.name for p in sorted(path.glob(f'*/{EPISODES}'))
                    if p.parent.name not in cells]
        if None in found:
            cells |= dict.fromkeys(unlisted, ({}, None))
        elif unlisted:
            self.warnings.append(
                f'{path}: {len(unlisted)} of its runs are in no {INDEX} of it (a changed sweep '
                f'file?) and are left out: {_shortlist(unlisted)}; name them to include them')
        missing = []
        for name, (labels, planned) in cells.items():
            if (path / name / EPISODES).is_file():
                self._run(path / name, labels, planned)
            else:
                missing.append(name)
                self.waiting[(path / name).resolve()] = planned
        if missing:
            self.warnings.append(
                f'{path}: {len(missing)} of {len(cells)} runs of the sweep have not begun: '
                f'{_shortlist(missing)}; the same "sightplan sweep", without --only, makes them')

    def _cells(self, index: Path) -> list[dict[str, Any]] | None:
        """Cells of an index, without those in other folders; None if it is damaged."""
        try:
            content = load_json(index.read_text('utf-8'))
            wrong = wrong_field(Index, content)
        except (OSError, ValueError, RecursionError) as error:
            wrong = f'{type(error).__name__}: {error}'
        if wrong:
            self.warnings.append(f'{index}: is damaged ({wrong}); all runs beside it are read, '
                                 f'without labels; "sightplan sweep --dry-run" or a resumed '
                                 f'sweep writes it again')
            return None
        return [cell for cell in content['cells'] if _is_name(cell['dir'])]

    def _run(self, folder: Path, labels: Mapping[str, Any], planned: int | None) -> None:
        key = folder.resolve()
        if key in self.runs:
            known = self.runs[key]
            self.runs[key] = replace(known, labels={**labels, **known.labels},
                                     planned=known.planned if planned is None else planned)
            return
        info, lines = self._info(folder), self._lines(folder / EPISODES)
        if lines and info:
            run = _run_of(folder, info, lines, labels, planned)
            if run.kind == SAMPLE and run.suite is None:
                self.warnings.append(
                    f'{folder}: its suite {info["identity"].get("suite")!r} is not there, so that '
                    f'its samples cannot be scored; left out; install the suite, or put its file '
                    'back where it was')
            else:
                self.runs[key] = run
        elif not lines:
            self.waiting[key] = planned
            self.warnings.append(f'{folder}: has no finished episode yet; left out')

    def _info(self, folder: Path) -> Mapping[str, Any]:
        """Content of ``run.json``; empty if it is missing or damaged."""
        try:
            info = RunStore(folder).run_info()
            wrong = wrong_field(RunInfo, info)
        except (InputError, OSError, RecursionError) as error:
            self.warnings.append(f'{error}; the run is left out, since what it was made with is '
                                 f'not known')
            return {}
        if not wrong:
            return info
        self.warnings.append(f'{folder / "run.json"}: {wrong} is missing or wrong; the run is '
                             f'left out; correct the file')
        return {}

    def _lines(self, path: Path) -> list[Line]:
        """The lines that can be used, each item once."""
        try:
            pieces = path.read_bytes().split(b'\n')
        except OSError as error:
            self.warnings.append(f'{path}: cannot be read ({error.strerror}); left out')
            return []
        good: list[Line] = []
        bad = []
        for number, piece in enumerate(pieces, start=1):
            if not piece.strip():
                continue
            line, wrong = read_line(piece)
            if wrong == NOT_JSON and number == len(pieces):  # cut off by a crash: not committed
                break
            if wrong:
                bad.append(f'{number} ({wrong})')
            else:
                good.append(line)
        if bad:
            self.warnings.append(f'{path}: {len(bad)} damaged line'
                                 f'{"s are" if len(bad) > 1 else " is"} left out, number '
                                 f'{_shortlist(bad)}; a resumed run repeats the episodes once the '
                                 f'lines are removed')
        found, repeated = without_repeats(good)
        if repeated:
            self.warnings.append(repeats_text(path, repeated))
        return found


def _is_name(text: str) -> bool:
    """Whether a text can be the name of a file in a folder."""
    return (text not in ('', '..') and '\0' not in text and Path(text).name == text
            and len(text.encode('utf-8', 'replace')) < 256)


def _shortlist(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def _without_repeats(runs: Iterable[RunResults], warnings: list[str]) -> list[RunResults]:
    """Leave out items that another run with the same identity and seeds has already."""
    seen: dict[tuple[Any, ...], RunResults] = {}
    kept = []
    for run in runs:
        identity = (*run.names, run.exact_model, run.settings, run.condition, run.calibration)
        owners = [seen.setdefault((*identity, *episode_key(run, line)), run)
                  for line in run.lines]
        lines = tuple(line for line, owner in zip(run.lines, owners, strict=True) if owner is run)
        if len(lines) < len(run.lines):
            other = next(owner for owner in owners if owner is not run)
            warnings.append(
                f'{run.folder}: {len(run.lines) - len(lines)} of its items stand in '
                f'{other.folder} already and are counted once')
        if lines:
            kept.append(run if len(lines) == len(run.lines) else replace(run, lines=lines))
    return kept
