"""Finished runs and sweeps, read from disk and grouped for tables and pages.

``gather`` reads; ``Results.groups`` puts the runs together that differ in nothing but split and
seed, and tells apart what differs in anything else, however small.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sightplan.metrics import summarise
from sightplan.metrics.scorer import BELIEF_BINS, COUNTS
from sightplan.model import InputError, user_path
from sightplan.records import RunStore
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.suites import load_suite, suite_for, suite_names

EPISODES, INDEX = 'episodes.jsonl', '*.sweep.json'
_SKIPPED = ('bags', 'calibrations', 'failures')
_REMEDY = ('name a run directory that "sightplan run --out" wrote, a sweep directory, or a '
           'folder that holds some')

Line = Mapping[str, Any]


# ---------------------------------------------------------------------------------- one line


def _is_number(value: object) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _each(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A list, or the values of a mapping, of which each passes."""
    return lambda value: isinstance(value, (list, dict)) and all(
        map(check, value.values() if isinstance(value, dict) else value))


def _mapping(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _having(**checks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(
        check(value.get(key)) for key, check in checks.items())


_COUNTS = _having(**dict.fromkeys(COUNTS, _is_count))
_SHAPES: Mapping[str, tuple[Callable[[Any], bool], Any]] = {
    # field: whether a value can be one, and what stands for it in a summary where it is missing
    **dict.fromkeys(('domain', 'split', 'problem', 'method', 'model', 'message'), (_is_text, '')),
    'optimal_length': (_optional(_is_count), None),
    **dict.fromkeys((
        'steps', 'executed', 'rejected', 'withheld', 'invalid', 'remaining', 'withheld_rightly',
        'actions_right', 'actions_counted', 'looks', 'questions', 'told', 'repaired'),
        (_is_count, 0)),
    'plans': (_each(_having(status=_is_text)), []),
    'actions': (_each(_having(status=_is_text)), []),
    'predicates': (_mapping(_mapping(_COUNTS)), {}),
    'enumerations': (_each(lambda value: isinstance(value, bool)), []),
    'checks': (_mapping(_mapping(_is_count)), {}),
    'timings_s': (_mapping(_is_number), {}),
    'seconds': (_is_number, 0.0),
    'wrong': (_each(lambda value: isinstance(value, list)), []),
    'enumerated_at': (_each(_is_count), []),
    'proposals': (_mapping(_is_count), {}),
    'prompts': (_mapping(_is_count), {}),
    'usage': (_optional(_having(requests=_is_count, prompt_tokens=_optional(_is_count),
                                completion_tokens=_optional(_is_count),
                                cost_usd=_optional(_is_number))), None),
    'beliefs': (lambda value: value == [] or (
        isinstance(value, list) and len(value) == BELIEF_BINS and all(
            isinstance(bin_, list) and len(bin_) == 3 and all(map(_is_number, bin_))
            for bin_ in value)), []),
    'failure': (_optional(_having(cause=_is_text)), None),
    'error': (_optional(_is_text), None),
    'goal_unmet': (_each(lambda value: isinstance(value, dict)), []),
    'privileged': (_is_text, 'none'),
    'failure_probability': (_is_number, 0.0),
    'seed': (_is_count, 0),
}
_NEEDED: Mapping[str, Callable[[Any], bool]] = {
    'episode_id': lambda value: isinstance(value, str) and bool(value),
    'scored': lambda value: isinstance(value, bool),
    'solved': lambda value: isinstance(value, bool), 'stop': _is_text}


def wrong_field(line: object) -> str:
    """What keeps a line from being one of results: the name of a field; '' for nothing.

    Fields that earlier versions did not write may be missing.
    """
    if not isinstance(line, dict):
        return 'is not a JSON object'
    for name, check in _NEEDED.items():
        if not check(line.get(name)):
            return name
    return next((name for name, (check, _) in _SHAPES.items()
                 if name in line and not check(line[name])), '')


def completed(line: Line) -> dict[str, Any]:
    """A line with the fields that its version did not write: as if nothing had been counted.

    For ``summarise`` and ``cause_of``; where an unknown number must not look like 0, read the
    line itself.
    """
    return {**{name: default for name, (_, default) in _SHAPES.items()}, **line}


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
    def summary(self) -> dict[str, Any]:
        """Scores of the run, see ``metrics.summarise``."""
        return summarise([completed(line) for line in self.lines])

    def answers(self) -> Iterator[dict[str, Any]]:
        """The logged answers of the episodes, if the run has a log; damaged lines are left out."""
        wanted = {line['episode_id'] for line in self.lines}
        try:
            with (self.folder / ANSWERS).open(encoding='utf-8', errors='replace') as file:
                for text in file:
                    try:
                        entry = json.loads(text)
                    except (ValueError, RecursionError):
                        continue
                    if (isinstance(entry, dict) and 'atom' in entry
                            and entry.get('episode') in wanted):
                        yield entry
        except OSError:
            return


def split_of(line: Line) -> str:
    """The split of an episode; "-" for problems of one's own."""
    return str(line.get('split') or '-')


def episode_key(run: RunResults, line: Line) -> tuple[Any, ...]:
    """What an episode is the same by in runs of several methods: id, seed of the run, problems.

    Where the seed of the run is not known, that of the episode, which depends on it. Problems of
    one's own are the same if all of their folder are.
    """
    own = _section(run.identity, 'problems').get('sha256') if not line.get('split') else None
    return line['episode_id'], line.get('seed') if run.seed is None else run.seed, own


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
        return tuple(line for line in self.lines if line['scored'])

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Splits of the episodes, in order of appearance."""
        return tuple(dict.fromkeys(split_of(line) for line in self.lines))

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
                            summarise([completed(line) for line in self.of_split(split)]))
        return found

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """Scores of all episodes."""
        if len(self.runs) == 1:
            return self.runs[0].summary
        return summarise([completed(line) for line in self.lines])

    @property
    def label(self) -> str:
        """Name for people, without the domain."""
        failing = f'{100 * self.failure_probability:g}% of actions fail'
        parts = [self.method, self.model, failing if self.failure_probability else '',
                 self.variant]
        return ', '.join(part for part in parts if part)


@dataclass(frozen=True)
class Results:
    """What was read.

    Attributes:
        runs: those with at least one episode, in the order in which they were named.
        complaints: what could not be used and why, each a sentence that names file and remedy.
    """

    runs: tuple[RunResults, ...]
    complaints: tuple[str, ...] = ()

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The runs, put together where they differ in nothing but split and seed."""
        return _groups(self.runs)

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
        all that can be read. A torn last line is left out silently, as a resumed run repeats its
        episode; anything else that is left out stands in ``complaints``.

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
    return Results(tuple(runs), tuple(dict.fromkeys(reader.complaints)))


class _Reader:
    """Walks folders; keeps each run once."""

    def __init__(self) -> None:
        self.runs: dict[tuple[Path, int], RunResults] = {}
        self.complaints: list[str] = []

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
            if (path / name / EPISODES).is_file():
                self._run(path / name, labels, planned)
            else:
                missing.append(name)
        if missing:
            self.complaints.append(
                f'{path}: {len(missing)} of {len(cells)} runs of the sweep have not begun: '
                f'{_some(missing)}; the same "sightplan sweep" makes them')

    def _cells(self, index: Path) -> list[dict[str, Any]] | None:
        try:
            cells = json.loads(index.read_text('utf-8'))['cells']
            good = [cell for cell in cells if isinstance(cell['dir'], str)
                    and Path(cell['dir']).name == cell['dir']]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.complaints.append(f'{index}: is damaged ({type(error).__name__}: {error}); all '
                                   f'runs beside it are read, without labels; "sightplan sweep '
                                   f'--dry-run" or a resumed sweep writes it again')
            return None
        return good

    def _run(self, folder: Path, labels: Mapping[str, Any], planned: int | None,
             path: Path | None = None) -> None:
        lines = self._lines(path or folder / EPISODES)
        info = self._info(folder) if path is None or path.name == EPISODES else {}
        identity = info.get('identity')
        for number, group in enumerate(
                [lines] if identity else _by_origin(lines)):
            if group:
                run = _run_results(folder, info, group, labels, planned)
                key = ((path or folder).resolve(), number)
                known = self.runs.get(key)
                self.runs[key] = run if known is None else replace(
                    known, labels={**run.labels, **known.labels})
        if not lines:
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

    def _lines(self, path: Path) -> list[dict[str, Any]]:
        """The lines that can be used, each episode once."""
        try:
            raw = path.read_bytes()
        except OSError as error:
            self.complaints.append(f'{path}: cannot be read ({error.strerror}); left out')
            return []
        pieces = raw.split(b'\n')
        found: dict[str, dict[str, Any]] = {}
        bad, repeated = [], []
        for number, piece in enumerate(pieces, start=1):
            if not piece.strip():
                continue
            try:
                line = json.loads(piece)
                wrong = wrong_field(line)
            except (ValueError, RecursionError):
                if number == len(pieces):  # not committed: no line end follows
                    continue
                wrong = 'is not JSON'
            if wrong:
                bad.append(f'{number} ({wrong})')
            elif line['episode_id'] in found:
                repeated.append(line['episode_id'])
            else:
                found[line['episode_id']] = line
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


def _some(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def _by_origin(lines: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Lines of unknown runs, apart by domain, method and model."""
    models = {(line.get('domain'), line.get('method')): line['model']
              for line in lines if line.get('model')}
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        origin = (line.get('domain'), line.get('method'))
        # An episode that broke before the first answer does not know its model.
        groups.setdefault((*origin, line.get('model') or models.get(origin),
                           line.get('failure_probability')), []).append(line)
    return list(groups.values())


def _run_results(folder: Path, info: Mapping[str, Any], lines: Sequence[dict[str, Any]],
                 labels: Mapping[str, Any], planned: int | None) -> RunResults:
    identity = info.get('identity')
    identity = identity if isinstance(identity, dict) else {}

    def said(name: str) -> str:
        return next((str(line[name]) for line in lines if line.get(name)), '')

    method, backend = _section(identity, 'method'), _section(identity, 'backend')
    domain = str(identity.get('domain') or said('domain'))
    name = str(method.get('name') or said('method'))
    model = short_model(str(identity.get('model') or said('model')))
    failing = identity.get('failure_probability', lines[0].get('failure_probability'))
    seed = identity.get('seed')
    privileged = identity.get('privileged')
    if not isinstance(privileged, dict):
        privileged = {split_of(line): line['privileged'] for line in lines
                      if 'privileged' in line}
    run = RunResults(
        folder, info, tuple(lines), {}, domain, name, str(backend.get('name') or ''), model,
        float(failing or 0.0) if _is_number(failing) else 0.0, seed if _is_count(seed) else None,
        _by_split(privileged), bool(method['calibration']) if 'calibration' in method else None,
        planned)
    return replace(run, labels=dict(labels) or {
        'domain': run.domain, 'split': '+'.join(run.splits), 'method': run.method,
        **({'model': run.model} if run.model else {}),
        'failure_probability': run.failure_probability},
        planned=planned if planned is not None else _planned(run))


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


_OF_SPLIT = ('max_actions', 'stop_at_goal')


def _fields(run: RunResults) -> dict[str, Any]:
    """What tells runs apart besides split and seed, by dotted name; time limits do not."""
    found: dict[str, Any] = {}
    for key, value in run.identity.items():
        if key in ('domain', 'split', 'seed', 'model', 'privileged', 'failure_probability',
                   'problems', *_OF_SPLIT):
            continue
        if isinstance(value, dict):
            found |= {f'{key}.{name}': _hashable(item) for name, item in value.items()}
        else:
            found[key] = _hashable(value)
    apart = ('method.name', 'method.calibration', 'backend.name', 'backend.seed')
    return {key: value for key, value in found.items()
            if key not in apart and not key.endswith('timeout_s')}


def _of_split(run: RunResults) -> dict[tuple[str, str], Any]:
    """What may differ from split to split: (name, split) to value."""
    found: dict[tuple[str, str], Any] = {}
    for name in _OF_SPLIT:
        for split, value in _section(run.identity, name).items():
            found[name, split] = _hashable(value)
    for split in run.splits:
        found['problems', split] = _section(run.identity, 'problems').get('sha256')
        found['calibration', split] = _section(run.identity, 'method').get('calibration')
    return found


def _hashable(value: object) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else json.dumps(
        value, sort_keys=True, default=str)


def _groups(runs: Sequence[RunResults]) -> tuple[Group, ...]:
    """Put runs together; groups that look alike are told apart by what differs."""
    visible: dict[tuple[Any, ...], list[RunResults]] = {}
    for run in runs:
        visible.setdefault((run.domain, run.method, run.backend, run.model,
                            run.failure_probability, run.privileged, run.calibrated),
                           []).append(run)
    groups = []
    for alike in visible.values():
        fields = [_fields(run) for run in alike]
        names = dict.fromkeys(name for each in fields for name in each)
        differing = [name for name in names if len({each.get(name) for each in fields}) > 1]
        by_split = [_of_split(run) for run in alike]
        values: dict[tuple[str, str], set[Any]] = {}
        for each in by_split:
            for place, value in each.items():
                values.setdefault(place, set()).add(value)
        torn = {name for (name, _), found in values.items() if len(found) > 1}
        parts: dict[tuple[Any, ...], list[RunResults]] = {}
        for run, own, splits in zip(alike, fields, by_split, strict=True):
            parts.setdefault((
                tuple(own.get(name) for name in differing),
                tuple(sorted((name, str(splits[name, split])) for name, split in splits
                             if name in torn))), []).append(run)
        texts = _variants(parts, differing, fields, alike)
        groups += [Group(members[0].domain, members[0].method, members[0].backend,
                         members[0].model, members[0].failure_probability, members[0].privileged,
                         members[0].calibrated, text, tuple(members))
                   for text, members in zip(texts, parts.values(), strict=True)]
    return tuple(groups)


def _variants(parts: Mapping[tuple[Any, ...], Sequence[RunResults]], differing: Sequence[str],
              fields: Sequence[Mapping[str, Any]], alike: Sequence[RunResults]) -> list[str]:
    """A text for each part, different from all others."""
    labels = [{str(run.labels['variant']) for run in members if 'variant' in run.labels}
              for members in parts.values()]
    named = [next(iter(found)) if len(found) == 1 else '' for found in labels]
    if len(parts) == 1 or (all(named) and len(set(named)) == len(named)):
        return named
    texts = []
    for (values, of_split), name in zip(parts, named, strict=True):
        said = [f'{key.removeprefix("method.")} {"-" if value is None else value}'
                for key, value in zip(differing, values, strict=True)]
        said += list(dict.fromkeys(f'{key} {value}' for key, value in of_split))
        texts.append(', '.join([*([name] if name else []), *said]))
    return texts


def _without_repeats(runs: Sequence[RunResults], complaints: list[str]) -> list[RunResults]:
    """Leave out episodes that another run of the same group and seed has already."""
    position = {id(run): number for number, run in enumerate(runs)}
    kept = list(runs)
    for group in _groups(runs):
        seen: dict[tuple[Any, ...], RunResults] = {}
        for run in group.runs:
            owners = [seen.setdefault(episode_key(run, line), run) for line in run.lines]
            lines = [line for line, owner in zip(run.lines, owners, strict=True) if owner is run]
            if len(lines) < len(run.lines):
                other = next(owner for owner in owners if owner is not run)
                complaints.append(
                    f'{run.folder}: {len(run.lines) - len(lines)} of its episodes stand in '
                    f'{other.folder} already and are counted once')
                kept[position[id(run)]] = replace(run, lines=tuple(lines))
    return [run for run in kept if run.lines]
