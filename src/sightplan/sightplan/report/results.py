"""Finished runs and sweeps, read from disk and grouped for tables and pages.

``gather`` reads; ``Results.groups`` puts the runs together that differ in nothing but split and
seed, and tells apart what differs in anything else, however small. What a run belongs to is read
from the run alone: other runs of a report change what groups are called, not what they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.scorer import BELIEF_BINS, COUNTS
from sightplan.model import InputError, StopReason, user_path
from sightplan.records import RunStore
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.report import conditions
from sightplan.report.conditions import RULES, Fields
from sightplan.runs import Suite, load_suite, suite_for, suite_names, suite_of_run, summarise

EPISODES, INDEX = 'episodes.jsonl', '*.sweep.json'
EPISODE, SAMPLE = 'episode', 'sample'
"""Kinds of items."""
_SKIPPED = ('bags', 'calibrations', 'failures')
_REMEDY = ('name a run directory that "sightplan run --out" wrote, a sweep directory, or a '
           'folder that holds some')

UNKNOWN = 'unknown'
"""Cause of a failure that its line does not tell."""

Line = Mapping[str, Any]


# ---------------------------------------------------------------------------------- one line


_MOST = 2 ** 53
"""Up to here floats hold whole numbers exactly; sums of some hundred still fit into an int64."""
_LATEST = 2 ** 63


def _is_number(value: object) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) <= _MOST)


def _is_count(value: object) -> bool:
    return _is_whole(value) and 0 <= value <= _MOST  # type: ignore[operator]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_seed(value: object) -> bool:
    return _is_whole(value) and value >= 0  # type: ignore[operator]


def _is_stamp(value: object) -> bool:
    return _is_whole(value) and -_LATEST <= value < _LATEST  # type: ignore[operator]


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_path(value: object) -> bool:
    return isinstance(value, str) and '\0' not in value


def _anything(value: object) -> bool:
    return True


def _optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _each(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _mapping(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _having(**checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(
        check(value.get(key)) for key, check in checks.items())


def _may_have(**checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(
        check(value[key]) for key, check in checks.items() if key in value)


def _both(*checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: all(check(value) for check in checks)


def _are_counts(value: object) -> bool:
    """Counts of answers; no part exceeds its whole."""
    return isinstance(value, dict) and all(_is_count(value.get(key)) for key in COUNTS) and (
        value['right'] + value['unparsed'] <= value['asked']
        and value['yes_right'] <= value['yes_asked'] and value['no_right'] <= value['no_asked'])


def _is_belief_bin(value: object) -> bool:
    """Number of probabilities, their sum, and how many of their atoms are true."""
    return isinstance(value, list) and len(value) == 3 and all(map(_is_number, value)) and (
        0 <= value[1] <= value[0] + 1 and 0 <= value[2] <= value[0])


def _is_wrong_answer(value: object) -> bool:
    """As in ``line['wrong']``; earlier versions wrote the first four fields only."""
    if not isinstance(value, list) or len(value) not in (4, 7):
        return False
    checks = (_is_text, _is_text, _is_text, _is_count, _is_text, _is_stamp, _optional(_is_flag))
    return all(check(part) for check, part in zip(checks, value, strict=False))


_ANSWER = _having(purpose=_is_text, atom=_is_text, answer=_is_text, truth=_optional(_is_flag),
                  step=_is_count, image_id=_is_text, stamp_ns=_is_stamp)
_TOLD = _both(_having(atom=_is_text), _may_have(
    purpose=_is_text, answer=_is_text, truth=_optional(_is_flag), step=_is_count,
    image_id=_is_text, stamp_ns=_is_stamp))
_SHAPES: Mapping[str, tuple[Callable[[Any], bool], Any]] = {
    # field: whether a value can be one, and what stands for it in a summary where it is missing
    **dict.fromkeys(('domain', 'split', 'problem', 'method', 'model', 'message'), (_is_text, '')),
    **dict.fromkeys(('optimal_length', 'max_actions'), (_optional(_is_count), None)),
    **dict.fromkeys((
        'steps', 'executed', 'rejected', 'withheld', 'invalid', 'remaining',
        'withheld_true_positive',
        'actions_right', 'actions_counted', 'observations', 'questions', 'privileged_facts',
        'repaired'),
        (_is_count, 0)),
    'plans': (_each(_both(_having(status=_is_text), _may_have(
        step=_is_count, length=_optional(_is_count), seconds=_optional(_is_number)))), []),
    'actions': (_each(_both(_having(status=_is_text), _may_have(
        image_id=_is_text, stamp_ns=_is_stamp, misled=_each(_ANSWER)))), []),
    'predicates': (_mapping(_mapping(_are_counts)), {}),
    'enumerations': (_each(_is_flag), []),
    'checks': (_mapping(_mapping(_is_count)), {}),
    'timings_s': (_mapping(_is_number), {}),
    'seconds': (_is_number, 0.0),
    'wrong': (_each(_is_wrong_answer), []),
    'enumerated_at': (_each(_is_count), []),
    'proposals': (_mapping(_is_count), {}),
    'prompts': (_mapping(_is_count), {}),
    'unreadable': (_each(_anything), []),
    'usage': (_optional(_having(requests=_is_count, prompt_tokens=_is_count,
                                completion_tokens=_is_count, cost_usd=_optional(_is_number))),
              None),
    'beliefs': (lambda value: value == [] or (
        isinstance(value, list) and len(value) == BELIEF_BINS
        and all(map(_is_belief_bin, value))), []),
    'failure': (_optional(_both(_having(cause=_is_text), _may_have(
        step=_is_count, image_id=_is_text, picture=_optional(_is_path), evidence=_may_have(
            text=_is_text, stamp_ns=_is_stamp, action=_is_text, answer_count=_is_count,
            answers=_each(_TOLD))))), None),
    'error': (_optional(_is_text), None),
    'last_observation': (_optional(_having(image_id=_is_text, stamp_ns=_is_stamp)), None),
    'goal_unmet': (_each(_both(_having(literal=_is_text), _may_have(last=_optional(_ANSWER)))),
                   []),
    'bag': (_optional(_is_path), None),
    'privileged': (_is_text, 'none'),
    'failure_probability': (_is_number, 0.0),
    'seed': (_is_seed, 0),
}
_NEEDED: Mapping[str, Callable[[Any], bool]] = {
    'id': lambda value: isinstance(value, str) and bool(value),
    'cluster': _is_text, 'measures': _mapping(_optional(_is_number))}


def wrong_field(line: object) -> str:
    """What keeps a line from being one of results: the name of a field; '' for nothing.

    Fields that earlier versions did not write may be missing.
    """
    if not isinstance(line, dict):
        return 'is not a JSON object'
    needed = _NEEDED if line.get('kind') == SAMPLE else {**_NEEDED, 'stop': _is_text}
    for name, check in needed.items():
        if not check(line.get(name)):
            return name
    return next((name for name, (check, _) in _SHAPES.items()
                 if name in line and not check(line[name])), '')


def completed(line: Line) -> dict[str, Any]:
    """A line with the fields that its version did not write: as if nothing had been counted.

    For ``summarise`` and ``cause_of``; where an unknown number must not look like 0, read the
    line itself. A failure of which neither a cause nor actions nor answers were written has the
    cause ``UNKNOWN``.
    """
    found = {**{name: default for name, (_, default) in _SHAPES.items()}, **line}
    if (measures.scored(line) and not measures.solved(line)
            and line.get('kind') != SAMPLE and line['stop'] != StopReason.CANCELLED.value
            and not any(name in line for name in ('failure', 'actions', 'wrong'))):
        found['failure'] = {'cause': UNKNOWN}
    return found


def are_known(lines: Iterable[Line], *names: str) -> bool:
    """Whether a line has one of these fields: else their sums are not known."""
    return any(name in line for line in lines for name in names)


# ----------------------------------------------------------------------------------- one run


@dataclass(frozen=True)
class RunResults:
    """One run: its committed episodes and what they were made with.

    Attributes:
        folder: the run directory.
        info: content of its ``run.json``; empty if that is missing or damaged.
        lines: committed episodes, each once, as they were written: fields of later versions may
            be missing.
        labels: axis to value, from the sweep; else what the identity says.
        domain: of the episodes.
        method: of the episodes.
        backend: that answered; '' for methods without a model, and where it is not known.
        model: as a suite's paper calls it, or the short name; '' likewise.
        failure_probability: of actions.
        seed: of the run, None if it is not known.
        privileged: when facts about what is out of view were told: a level, or several with
            their splits; '' if not known.
        calibrated: whether the method used a calibration; None: it has no use for one.
        planned: how many episodes the run has when it is whole; None if not known.
    """

    folder: Path
    info: Mapping[str, Any] = field(repr=False)
    lines: tuple[Line, ...] = field(repr=False)
    labels: Mapping[str, Any]
    domain: str
    method: str
    backend: str
    model: str
    failure_probability: float
    seed: int | None
    privileged: str
    calibrated: bool | None
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
    def identity(self) -> Mapping[str, Any]:
        """All that results depend on; empty if ``run.json`` is missing."""
        found = self.info.get('identity')
        return found if isinstance(found, dict) else {}

    @property
    def sessions(self) -> tuple[Mapping[str, Any], ...]:
        """The starts of the run: time, commit, versions, settings."""
        found = self.info.get('sessions')
        return tuple(s for s in found if isinstance(s, dict)) if isinstance(found, list) else ()

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What the last session noted, without its settings: commit, versions, platform."""
        last = self.sessions[-1] if self.sessions else {}
        return {key: value for key, value in last.items() if key != 'settings'}

    @property
    def commits(self) -> tuple[str, ...]:
        """Commits that episodes were made with; with "+" where files had been changed."""
        return tuple(dict.fromkeys(
            f'{session["commit"]}{"+" if session.get("dirty") else ""}'
            for session in self.sessions if session.get('commit')))

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Splits of the episodes, in order of appearance."""
        return tuple(dict.fromkeys(split_of(line) for line in self.lines))

    @cached_property
    def exact_model(self) -> str:
        """The model as the run has it, with version or server, settings and seed."""
        found = self.identity.get('model')
        return str(found) if found else _said(self.lines, 'model')

    @property
    def backend_seed(self) -> Any:
        """Seed of a backend that has one, else None."""
        found = _section(self.identity, 'backend').get('seed')
        return found if _is_seed(found) else None

    @cached_property
    def rules(self) -> Mapping[str, Mapping[str, Any]]:
        """Budgets and the like, each by split."""
        found = {}
        for name in RULES:
            given = self.identity.get(name)
            found[name] = given if isinstance(given, dict) else {
                split_of(line): line[name] for line in self.lines if name in line}
        return found

    @cached_property
    def problems(self) -> str | None:
        """Hash of the problems, '' for those that are shipped; None: not known."""
        return conditions.problems_of(self.identity, self.domain)

    @cached_property
    def condition(self) -> Fields:
        """What was neither the method's nor the model's, see ``conditions.condition_of``."""
        return conditions.condition_of(self.identity, self.domain, self.method, self.rules)

    @cached_property
    def settings(self) -> Fields:
        """The method's own settings."""
        return conditions.settings_of(self.identity)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Scores of the run, see ``metrics.summarise``."""
        return summarise([completed(line) for line in self.lines], self.suite)

    @cached_property
    def suite(self) -> Suite | None:
        """The suite that it belongs to; None for none, and where that cannot be told."""
        try:
            return suite_of_run(self.info)
        except (InputError, KeyError):
            return None

    def answers(self) -> Iterator[dict[str, Any]]:
        """The logged answers of the episodes, if the run has a log; damaged lines are left out."""
        wanted = {line['id'] for line in self.lines}
        try:
            with (self.folder / ANSWERS).open(encoding='utf-8', errors='replace') as file:
                for text in file:
                    try:
                        entry = json.loads(text)
                    except (ValueError, RecursionError):
                        continue
                    if (isinstance(entry, dict) and 'atom' in entry
                            and isinstance(entry.get('episode'), str)
                            and entry['episode'] in wanted):
                        yield entry
        except OSError:
            return


def split_of(line: Line) -> str:
    """The split of an episode; "-" for problems of one's own."""
    return str(line.get('split') or '-')


def episode_key(run: RunResults, line: Line) -> tuple[Any, ...]:
    """What an episode is the same by in runs of several methods.

    Id, seed of the run, problems, and last the seed of the backend. Where the seed of the run is
    not known, that of the episode stands for it, which depends on it.
    """
    return (line['id'], line.get('seed') if run.seed is None else run.seed, run.problems,
            run.backend_seed)


# ----------------------------------------------------------------------------- groups of runs


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but split and seed.

    Attributes:
        domain: likewise ``method``, ``backend``, ``model``, ``failure_probability``,
            ``privileged`` and ``calibrated``: see ``RunResults``.
        variant: what tells the group from others that agree in all of these; '' for nothing.
        runs: its runs.
    """

    domain: str
    method: str
    backend: str
    model: str
    failure_probability: float
    privileged: str
    calibrated: bool | None
    variant: str
    runs: tuple[RunResults, ...] = field(repr=False)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """All episodes."""
        return tuple(line for run in self.runs for line in run.lines)

    @cached_property
    def scored(self) -> tuple[Line, ...]:
        """The scored ones."""
        return tuple(line for line in self.lines if measures.scored(line))

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Splits of the episodes, in order of appearance."""
        return tuple(dict.fromkeys(split_of(line) for line in self.lines))

    @property
    def exact_model(self) -> str:
        """The model with version or server and settings; without the seed of its errors."""
        return conditions.exact(self.runs[0].exact_model)

    @cached_property
    def condition(self) -> Fields:
        """All that was neither the method's nor the model's: groups under the same one are alike.

        It depends on nothing but the group's own runs. Seeds, and rules that are the suite's, are
        not in it; problems only where they are not the shipped ones.
        """
        own = {'not known' if run.problems is None else run.problems for run in self.runs} - {''}
        more = (('problems', ', '.join(sorted(own))),) if own else ()
        return tuple(sorted((*self.runs[0].condition, *more), key=lambda item: item[0]))

    @property
    def settings(self) -> Fields:
        """The method's own settings and prompt, without calibration."""
        return self.runs[0].settings

    @property
    def named(self) -> frozenset[str]:
        """What sweeps call the variant."""
        return frozenset(str(run.labels['variant']) for run in self.runs
                         if 'variant' in run.labels)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the runs, as far as they are known."""
        return tuple(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))

    def of_split(self, split: str) -> tuple[Line, ...]:
        """The episodes of a split."""
        return tuple(line for line in self.lines if split_of(line) == split)

    @cached_property
    def summaries(self) -> Mapping[str, Mapping[str, Any]]:
        """Scores by split, see ``metrics.summarise``."""
        found = {}
        for split in self.splits:
            runs = [run for run in self.runs if split in run.splits]
            found[split] = (runs[0].summary if len(runs) == len(runs[0].splits) == 1 else
                            summarise([completed(line) for line in self.of_split(split)],
                                      self.suite))
        return found

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """Scores of all episodes."""
        if len(self.runs) == 1:
            return self.runs[0].summary
        return summarise([completed(line) for line in self.lines], self.suite)

    @property
    def suite(self) -> Suite | None:
        """The suite of its runs, None for none."""
        return self.runs[0].suite

    @property
    def label(self) -> str:
        """Name for people, without the domain."""
        failing = f'{100 * self.failure_probability:g}% of actions fail'
        parts = [self.method, self.model, failing if self.failure_probability else '',
                 self.variant]
        return ', '.join(part for part in parts if part)


def total(planned: Iterable[int | None]) -> int | None:
    """The sum of planned episodes; None if one number is not known."""
    numbers = list(planned)
    return None if None in numbers else sum(number or 0 for number in numbers)


@dataclass(frozen=True)
class Results:
    """What was read.

    Attributes:
        runs: those with at least one episode, in the order in which they were named.
        complaints: what could not be used and why, each a sentence that names file and remedy.
        waiting: episodes planned in the runs of sweeps that have none yet; None: not known.
    """

    runs: tuple[RunResults, ...]
    complaints: tuple[str, ...] = ()
    waiting: int | None = 0

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The runs, put together where they differ in nothing but split and seed."""
        return _groups(self.runs)

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


# ------------------------------------------------------------------------------------ reading


def gather(paths: Iterable[Path | str] | Path | str) -> Results:
    """Read runs.

    Args:
        paths: run directories, sweep directories (the runs that their ``*.sweep.json`` list),
            folders that hold some of either, or single files of episodes.

    Returns:
        all that can be read. A last line without a line end is not committed: it is left out
        silently, as a resumed run repeats its episode. Anything else that is left out stands in
        ``complaints``.

    Raises:
        InputError: a path does not exist, or not one episode can be read.
    """
    named = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not named:
        raise InputError(f'nothing to report: {_REMEDY}')
    reader = _Reader()
    for path in named:
        reader.take(user_path(path))
    runs = _without_repeats(list(reader.runs.values()), reader.complaints)
    if not runs:
        raise InputError('\n'.join([
            f'{", ".join(map(str, named))}: there is not one finished episode; {_REMEDY}',
            *reader.complaints]))
    return Results(tuple(runs), tuple(dict.fromkeys(reader.complaints)),
                   total(reader.waiting.values()))


class _Reader:
    """Walks folders; keeps each run once."""

    def __init__(self) -> None:
        self.runs: dict[tuple[Path, int], RunResults] = {}
        self.complaints: list[str] = []
        self.waiting: dict[Path, int | None] = {}

    def take(self, path: Path) -> None:
        """Read what a path names.

        Raises:
            InputError: it does not exist, or is no file of episodes.
        """
        if path.is_file():
            if path.suffix != '.jsonl':
                raise InputError(f'{path}: is not a file of episodes (*.jsonl); {_REMEDY}')
            self._run(path.parent, {}, None, path)
        elif path.is_dir():
            self._folder(path)
        else:
            raise InputError(f'{path}: does not exist; {_REMEDY}')

    def _folder(self, path: Path) -> None:
        if (path / EPISODES).is_file():
            self._run(path, {}, None)
            return
        indices = sorted(path.glob(INDEX))
        if indices:
            self._sweep(path, indices)
            return
        try:
            below = sorted(entry for entry in path.iterdir() if entry.is_dir()
                           and not entry.is_symlink() and not entry.name.startswith('.')
                           and entry.name not in _SKIPPED)
        except OSError as error:
            self.complaints.append(f'{path}: cannot be read ({error.strerror}); left out')
            return
        for folder in below:
            self._folder(folder)

    def _sweep(self, path: Path, indices: Sequence[Path]) -> None:
        """The runs that indices list: labels of several are put together."""
        cells: dict[str, tuple[dict[str, Any], int | None]] = {}
        whole = True
        for index in indices:
            listed = self._cells(index)
            whole = whole and listed is not None
            for cell in listed or ():
                labels, planned = cells.get(cell['dir'], ({}, None))
                given = cell.get('labels')
                if isinstance(given, dict):
                    labels = {**given, **labels}
                count = cell.get('episodes')
                cells[cell['dir']] = (labels, count if _is_count(count) else planned)
        unlisted = [p.parent for p in sorted(path.glob(f'*/{EPISODES}'))
                    if p.parent.name not in cells]
        for folder in unlisted if not whole else ():
            cells[folder.name] = ({}, None)
        if whole and unlisted:
            self.complaints.append(
                f'{path}: {len(unlisted)} of its runs are in no {INDEX} of it (a changed sweep '
                f'file?) and are left out: {_some([folder.name for folder in unlisted])}; name '
                f'them to include them')
        missing = []
        for name, (labels, planned) in cells.items():
            if _is_file(path / name / EPISODES):
                self._run(path / name, labels, planned)
            else:
                missing.append(name)
                self.waiting[(path / name).resolve()] = planned
        if missing:
            self.complaints.append(
                f'{path}: {len(missing)} of {len(cells)} runs of the sweep have not begun: '
                f'{_some(missing)}; the same "sightplan sweep" makes them')

    def _cells(self, index: Path) -> list[dict[str, Any]] | None:
        try:
            cells = json.loads(index.read_text('utf-8'))['cells']
            good = [cell for cell in cells if isinstance(cell['dir'], str)
                    and cell['dir'] not in ('', '..') and Path(cell['dir']).name == cell['dir']]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.complaints.append(f'{index}: is damaged ({type(error).__name__}: {error}); all '
                                   f'runs beside it are read, without labels; "sightplan sweep '
                                   f'--dry-run" or a resumed sweep writes it again')
            return None
        return good

    def _run(self, folder: Path, labels: Mapping[str, Any], planned: int | None,
             path: Path | None = None) -> None:
        info = self._info(folder) if path is None or path.name == EPISODES else {}
        identity = info.get('identity')
        lines = self._lines(path or folder / EPISODES, _origin if not identity else None)
        for number, group in enumerate(
                [lines] if identity else _by_origin(lines)):
            if group:
                run = _run_results(folder, info, group, labels, planned)
                key = ((path or folder).resolve(), number)
                known = self.runs.get(key)
                self.runs[key] = run if known is None else replace(
                    known, labels={**run.labels, **known.labels})
        if not lines:
            self.waiting[folder.resolve()] = planned
            self.complaints.append(f'{folder}: has no finished episode yet; left out')

    def _info(self, folder: Path) -> dict[str, Any]:
        try:
            info = RunStore(folder).run_info()
        except (InputError, OSError, RecursionError) as error:
            self.complaints.append(f'{error}; its episodes are read, but what they were made '
                                   f'with is not known')
            return {}
        if not isinstance(info.get('identity'), dict):
            self.complaints.append(f'{folder / "run.json"}: has no identity; its episodes are '
                                   f'read, but what they were made with is not known')
        return info

    def _lines(self, path: Path, origin: Callable[[Line], Any] | None,
               ) -> list[dict[str, Any]]:
        """The lines that can be used, each episode once, or once from each origin."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            self.complaints.append(f'{path}: cannot be read ({error.strerror}); left out')
            return []
        pieces = raw.split(b'\n')
        found: dict[Any, dict[str, Any]] = {}
        bad, repeated = [], []
        for number, piece in enumerate(pieces, start=1):
            if not piece.strip():
                continue
            try:
                line = json.loads(piece)
                wrong = wrong_field(line)
            except (ValueError, RecursionError):
                if number == len(pieces):  # cut off by a crash: not committed
                    break
                wrong = 'is not JSON'
            if wrong:
                bad.append(f'{number} ({wrong})')
                continue
            key = line['id'], origin and (origin(line), line.get('seed'))
            if key in found:
                repeated.append(line['id'])
            else:
                found[key] = line
        if bad:
            self.complaints.append(f'{path}: {len(bad)} damaged line'
                                   f'{"s are" if len(bad) > 1 else " is"} left out, number '
                                   f'{_some(bad)}; a resumed run repeats the episodes once the '
                                   f'lines are removed')
        if repeated:
            self.complaints.append(f'{path}: {len(repeated)} repeated line'
                                   f'{"s are" if len(repeated) > 1 else " is"} left out, of '
                                   f'{_some(repeated)}')
        return list(found.values())


def _is_file(path: Path) -> bool:
    """As ``Path.is_file``; names that no file can have are none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _some(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def _origin(line: Line) -> tuple[Any, ...]:
    """What a line says about the run that it is from, without model and seed."""
    domain, method, split = str(line.get('domain')), str(line.get('method')), split_of(line)
    return (domain, method, line.get('failure_probability'), *(
        None if line.get(rule) == conditions.laid_down(rule, domain, method, split)
        else str(line.get(rule)) for rule in RULES))


def _by_origin(lines: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Lines of unknown runs, apart by all that they say about their run.

    The seed of an episode depends on that of the run and on the episode, so that it tells runs
    apart only where an episode is there with several.
    """
    models = {_origin(line): line['model'] for line in lines if line.get('model')}
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    seeds: dict[tuple[Any, ...], dict[Any, int]] = {}
    for line in lines:
        # An episode that broke before the first answer does not know its model.
        origin = (*_origin(line), line.get('model') or models.get(_origin(line)))
        known = seeds.setdefault((*origin, line['id']), {})
        number = known.setdefault(line.get('seed'), len(known))
        groups.setdefault((*origin, number), []).append(line)
    return list(groups.values())


def _run_results(folder: Path, info: Mapping[str, Any], lines: Sequence[dict[str, Any]],
                 labels: Mapping[str, Any], planned: int | None) -> RunResults:
    identity = info.get('identity')
    identity = identity if isinstance(identity, dict) else {}

    method, backend = _section(identity, 'method'), _section(identity, 'backend')
    domain = str(identity.get('domain') or _said(lines, 'domain'))
    name = str(method.get('name') or _said(lines, 'method'))
    model = short_model(str(identity.get('model') or _said(lines, 'model')))
    failing = identity.get('failure_probability', lines[0].get('failure_probability'))
    seed = identity.get('seed')
    privileged = identity.get('privileged')
    if not isinstance(privileged, dict):
        privileged = {split_of(line): line['privileged'] for line in lines
                      if 'privileged' in line}
    run = RunResults(
        folder, info, tuple(lines), {}, domain, name, str(backend.get('name') or ''), model,
        float(failing or 0.0) if _is_number(failing) else 0.0, seed if _is_seed(seed) else None,
        _by_split(privileged), bool(method['calibration']) if 'calibration' in method else None,
        planned)
    # A backend's own setting of that name can hide its name in the identity.
    named = _section(run.sessions[-1], 'settings').get('backend') if run.sessions else None
    if backend and isinstance(named, str) and named:
        run = replace(run, backend=named)
    return replace(run, labels=dict(labels) or {
        'domain': run.domain, 'split': '+'.join(run.splits), 'method': run.method,
        **({'model': run.model} if run.model else {}),
        'failure_probability': run.failure_probability},
        planned=planned if planned is not None else _planned(run))


def _said(lines: Sequence[Line], name: str) -> str:
    return next((str(line[name]) for line in lines if line.get(name)), '')


def _section(identity: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = identity.get(name)
    return found if isinstance(found, dict) else {}


def _by_split(values: Mapping[str, Any]) -> str:
    """One value where all splits have the same, else each with its split."""
    if len(set(map(str, values.values()))) <= 1:
        return next(iter(map(str, values.values())), '')
    return ', '.join(f'{split} {value}' for split, value in values.items())


def _planned(run: RunResults) -> int | None:
    """Number of episodes that the last session was to make."""
    settings = _section(run.sessions[-1], 'settings') if run.sessions else {}
    count = settings.get('episodes') or _section(run.identity, 'problems').get('count')
    return count if _is_count(count) else None


def short_model(model: str) -> str:
    """What a model is called in tables: as in a suite's paper if that has it, else shortened.

    A table of error rates is called like the model it was taken from: the backend tells them
    apart.

    Args:
        model: as results have it, for example ``Qwen/Qwen2.5-VL-7B-Instruct@cc594 bfloat16``,
            ``gpt-4.1@api.openai.com/v1`` or ``noisy_oracle(InternVL3-8B/plain, seed 0)``.
    """
    table = re.match(r'noisy_oracle\((.*?)(?:/(plain|cot|as asked))?(?:\+[0-9.e-]+)?[ ,)]', model)
    name = table.group(1) if table else model
    name = name.split('@')[0].strip()
    if not table:
        name = name.split(' ')[0]
    if name.startswith('embedded_model/') or name == 'embedded_model':
        return 'embedded'
    if name.startswith('scripted('):
        return 'scripted'
    name = name.rstrip('/').rsplit('/', 1)[-1]
    for suite in map(load_suite, suite_names()):
        known = suite.model_name(name)
        if known:
            return known
    return name


# ----------------------------------------------------------------------------------- grouping


def _groups(runs: Sequence[RunResults]) -> tuple[Group, ...]:
    """Put runs together; groups that look alike are told apart by what differs."""
    visible: dict[tuple[Any, ...], dict[tuple[Any, ...], list[RunResults]]] = {}
    for run in runs:
        visible.setdefault(_visible(run), {}).setdefault((
            conditions.exact(run.exact_model), run.settings, run.condition), []).append(run)
    groups = []
    for found in visible.values():
        parts = [part for alike in found.values() for part in _untorn(alike)]
        similar = [Group(*_visible(members[0]), '', tuple(members)) for members in parts]
        texts = conditions.texts_apart([(group.named, {
            'model': group.exact_model, **dict(group.settings), **dict(group.condition),
            'calibration': ', '.join(sorted({str(value) for run in group.runs
                                             if (value := _calibration(run))})) or None})
            for group in similar])
        groups += [replace(group, variant=text)
                   for group, text in zip(similar, texts, strict=True)]
    return tuple(groups)


def _visible(run: RunResults,
             ) -> tuple[str, str, str, str, float, str, bool | None]:
    return (run.domain, run.method, run.backend, run.model, run.failure_probability,
            run.privileged, run.calibrated)


def _calibration(run: RunResults) -> Any:
    return _section(run.identity, 'method').get('calibration')


def _untorn(runs: Sequence[RunResults]) -> list[list[RunResults]]:
    """Runs that differ in what may differ from split to split: problems and calibration.

    Where a split has several, those of one folder belong together, else those that are the same.
    """
    def parts(key: Callable[[RunResults], Any], among: Sequence[RunResults],
              ) -> list[list[RunResults]]:
        found: dict[Any, list[RunResults]] = {}
        for run in among:
            found.setdefault(key(run), []).append(run)
        return list(found.values())

    def own(run: RunResults) -> tuple[str, str]:
        return str(run.problems), str(_calibration(run))

    def torn(among: Sequence[RunResults]) -> bool:
        return any(len({own(run) for run in among if split in run.splits}) > 1
                   for split in {split for run in among for split in run.splits})

    if not torn(runs):
        return [list(runs)]
    found: dict[frozenset[Any], list[RunResults]] = {}
    for beside in parts(lambda run: run.folder.parent, runs):
        for part in parts(own, beside) if torn(beside) else [beside]:
            found.setdefault(frozenset((split, own(run)) for run in part for split in run.splits),
                             []).extend(part)
    return list(found.values())


def _without_repeats(runs: Sequence[RunResults], complaints: list[str]) -> list[RunResults]:
    """Leave out episodes that another run with the same identity and seeds has already."""
    seen: dict[tuple[Any, ...], RunResults] = {}
    kept = []
    for run in runs:
        identity = (*_visible(run), run.exact_model, run.settings, run.condition,
                    str(_calibration(run)))
        owners = [seen.setdefault((*identity, *episode_key(run, line)), run)
                  for line in run.lines]
        lines = tuple(line for line, owner in zip(run.lines, owners, strict=True) if owner is run)
        if len(lines) < len(run.lines):
            other = next(owner for owner in owners if owner is not run)
            complaints.append(
                f'{run.folder}: {len(run.lines) - len(lines)} of its episodes stand in '
                f'{other.folder} already and are counted once')
        if lines:
            kept.append(run if len(lines) == len(run.lines) else replace(run, lines=lines))
    return kept
