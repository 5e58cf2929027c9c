"""The authors' result files, read from a user's copy of their ``results/final``.

A file holds the episodes of one model on one split: for each problem what was answered, planned
and done (``GroundEntry``, of the model as grounder), or only what was done (``PlanEntry``, of the
model as planner). What a file does not say is None here, never a guess.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pydantic
from pydantic import BeforeValidator, PlainValidator

from sightplan.domains import load_domain
from sightplan.model import Atom, FeedbackStatus, InputError
from sightplan.model.json_text import load_json
from sightplan.model.paths import visible_folders
from sightplan.model.reading import validated
from sightplan.model.yes_no_text import parse_prefix
from sightplan.runs.dataset import Skipped, skip

DOMAINS = {'blocksworld': 'blocksworld', 'igibson': 'household'}
"""Names of our domains by the authors' folders."""
SETTINGS = {'final_no_cot': ('', 0.0), 'final_cot': ('_cot', 0.0),
            'final_fail01_no_cot': ('', 0.1)}
"""End of the method's name, and failure probability of actions, by the authors' folders."""
METHODS = {'predicates': 'ground', 'vila': 'plan'}
"""Methods without chains of thought, by the authors' folders."""
SPLITS = ('simple', 'medium', 'hard')

_PLACE = 'DOMAIN/SETTING/KIND/SPLIT/MODEL/results_*.json'
_FORM = (f'{_PLACE} with DOMAIN one of {", ".join(DOMAINS)}, SETTING one of '
         f'{", ".join(SETTINGS)}, KIND one of {", ".join(METHODS)} and SPLIT one of '
         f'{", ".join(SPLITS)}')
_MOST_BYTES = 64 * 2 ** 20
"""Largest file that is read; decoded it takes several times as much memory."""
FIGURES = ('task_accuracy', 'fail_ratio', 'predicate_accuracy', 'macro_predicate_accuracy',
           'action_accuracy', 'enumeration_accuracy')
"""Figures that a file states about its episodes."""
_NO_PROBLEMS = {*FIGURES, 'problem_stats', 'predicate_stats', 'statistics', 'metadata'}
_NOT_LEGAL = 'not legal'
_UNKNOWN = 'does not exist'


# ------------------------------------------------------------------------------ where files are


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """The place of a result file, and what its episodes are of.

    Attributes:
        path: of the file.
        place: the path from the authors' folder of the domain on.
        domain: our name of the domain.
        method: our name of the method.
        failure_probability: of actions.
        split: simple, medium or hard.
        model: name of the model's folder.
    """

    path: Path
    place: str
    domain: str
    method: str
    failure_probability: float
    split: str
    model: str


def find_files(folder: Path) -> tuple[list[OfficialFile], list[OfficialFile], list[Skipped]]:
    """Find the result files below a folder, which may be any folder of the authors' tree.

    Hidden folders are not looked through.

    Returns:
        the file that counts for each model folder (the last one by name); the earlier ones; and
        the files that lie where no result file belongs.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder (give the authors' results/final)")
    counting: dict[str, OfficialFile] = {}
    earlier: list[OfficialFile] = []
    skipped: list[Skipped] = []
    for path in sorted(path for place in visible_folders(folder.resolve())
                       for path in place.glob('results_*.json')):
        found = _placed(path)
        if found is None:
            skipped.append(skip(str(path), f'lies where no result file belongs; put it at '
                                           f'{_FORM}'))
            continue
        key = found.place.rpartition('/')[0]
        if key in counting:
            earlier.append(counting[key])
        counting[key] = found
    return list(counting.values()), earlier, skipped


def _placed(path: Path) -> OfficialFile | None:
    """A file by its path; None if that is none of a result file."""
    parts = path.parts
    if len(parts) < 6:
        return None
    domain, setting, kind, split, model = parts[-6:-1]
    if not (domain in DOMAINS and setting in SETTINGS and kind in METHODS and split in SPLITS):
        return None
    ending, failures = SETTINGS[setting]
    return OfficialFile(path, '/'.join(parts[-6:]), DOMAINS[domain], METHODS[kind] + ending,
                        failures, split, model)


# -------------------------------------------------------------------------------------- answers

_ANSWER = 'the answer'


class OfficialAnswer(NamedTuple):
    """An answer to a yes/no question.

    Attributes:
        says: True for yes, False for no, None for what could not be read.
        truth: whether the atom held; None: the file does not tell, as of unreadable answers about
            actions.
        right: whether the answer says what was true; None: not known.
        expected: whether the atom should have held for the action; None: not known, and of
            enumerations.
        p_yes: P(yes) at the first token; None where the file has none.
        p_no: likewise P(no).
    """

    says: bool | None
    truth: bool | None
    right: bool | None
    expected: bool | None = None
    p_yes: float | None = None
    p_no: float | None = None

    @property
    def mismatch(self) -> bool:
        """Whether it says something else than was expected, or cannot be read."""
        return self.says is None or self.expected not in (None, self.says)


def _says(value: object) -> bool | None:
    """The answer that a file has; a text is read as the authors read it, and null as unreadable.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        return _read(value)
    return _flag(value, _ANSWER)


@functools.lru_cache(maxsize=1024)
def _read(text: str) -> bool | None:
    return parse_prefix(text).says


def _flag(value: object, what: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ValueError(f'{what} is {value!r:.60}; it must be true, false or null'
                     + (', or a text' if what == _ANSWER else ''))


def _probability(value: object) -> float | None:
    return value if isinstance(value, float) and 0.0 <= value <= 1.0 else (
        float(value) if value in (0, 1) and type(value) is int else None)


def _answer(value: object) -> OfficialAnswer:
    """An answer: [answer, truth], or the seven values of a question about an action."""
    if isinstance(value, list) and len(value) == 2:
        says, truth = _says(value[0]), _flag(value[1], 'the truth')
        return OfficialAnswer(says, truth, None if truth is None else says is truth)
    if not isinstance(value, list) or len(value) != 7:
        raise ValueError('must be [answer, truth], or [answer, P(yes), P(no), explanation, '
                         'matches PDDL, raw text, matches truth]')
    answer, p_yes, p_no, _, fits, _, right = value
    says = _says(answer)
    fits, right = _flag(fits, 'matches PDDL'), _flag(right, 'matches truth')
    if says is None:
        return OfficialAnswer(None, None, False)
    return OfficialAnswer(says, None if right is None else says is right, right,
                          None if fits is None else says is fits, _probability(p_yes),
                          _probability(p_no))


Answers = dict[str, Annotated[OfficialAnswer, PlainValidator(_answer)]]
"""Atom to answer."""


@functools.lru_cache(maxsize=4096)
def check_atom(key: str, domain: str) -> None:
    """Check that a key such as ``on r,g`` is an atom of a domain.

    Raises:
        InputError: it is none.
    """
    known = load_domain(domain).schema.predicates
    try:
        atom = Atom.parse(key)
    except ValueError:
        atom = None
    if atom is None or atom.predicate not in known:
        raise InputError(f'{key!r} is no atom of {domain}; write "PREDICATE ARGUMENT,ARGUMENT" '
                         f'with one of {", ".join(known)}')


# -------------------------------------------------------------------------------------- entries


def _or_empty(value: object) -> object:
    return {} if value is None else value


def _or_empty_list(value: object) -> object:
    return [] if value is None else value


_Answers = Annotated[Answers, BeforeValidator(_or_empty)]


class _Read(pydantic.BaseModel):
    """Base of what is read: further fields may be there."""

    model_config = pydantic.ConfigDict(extra='ignore', frozen=True)


class Enumeration(_Read):
    """``initial_state_enum``: the questions about the initial state, and their answers."""

    results: _Answers = {}


def _info(value: object) -> str:
    """Reply of the environment to an action: a text, or the last one of several values."""
    if isinstance(value, (list, tuple)):
        value = next((part for part in reversed(value) if isinstance(part, str)), '')
    return value if isinstance(value, str) else ''


def _named(value: object) -> object:
    """The text of an action, given as text or as a name with parameters."""
    if not isinstance(value, dict):
        return value
    parameters = value.get('parameters') or {}
    given = (parameters.values() if isinstance(parameters, dict) else
             parameters if isinstance(parameters, list) else [parameters])
    return f'{value.get("action")}({", ".join(map(str, given))})'


_Action = Annotated[str, BeforeValidator(_named)]


class OfficialAction(_Read):
    """An entry of ``action_results``: an action, its checks, and what became of it."""

    action: _Action
    preconditions: _Answers = pydantic.Field({}, alias='preconditions_results')
    effects: _Answers = pydantic.Field({}, alias='effects_results')
    hidden: Annotated[dict[str, Any], BeforeValidator(_or_empty)] = pydantic.Field(
        {}, alias='non_visible_precond_results')
    info: Annotated[str, BeforeValidator(_info)] = pydantic.Field('', alias='action_info')

    @property
    def withheld(self) -> bool:
        """Whether it was not carried out: a precondition was judged, or known to be, false."""
        return not self.effects and (
            any(one.mismatch for one in self.preconditions.values()) or any(
                isinstance(one, list) and one[:1] == [False] for one in self.hidden.values()))

    @property
    def illegal(self) -> bool:
        """Whether the environment refused it."""
        return not self.withheld and self.info == _NOT_LEGAL

    @property
    def mismatch(self) -> bool:
        """Whether an answer about its effects differs from what was expected."""
        return any(one.mismatch for one in self.effects.values())

    @property
    def unread(self) -> bool:
        """Whether an answer about it could not be read, which ends an episode."""
        return any(one.says is None
                   for one in (*self.preconditions.values(), *self.effects.values()))

    @property
    def setback(self) -> bool:
        """Whether a new plan was needed after it."""
        return self.withheld or self.illegal or self.mismatch


class Replan(_Read):
    """An entry of ``replans``: the questions, and the new plan; None: there was none."""

    results: _Answers = pydantic.Field({}, alias='enum_results')
    actions: list[Any] | None = None


class GroundEntry(_Read):
    """A problem with the model as grounder."""

    goal_reached: bool
    first: Enumeration | None = pydantic.Field(None, alias='initial_state_enum')
    action_results: Annotated[list[OfficialAction], BeforeValidator(_or_empty_list)] = []
    replans: Annotated[list[Replan], BeforeValidator(_or_empty_list)] = []
    remaining_actions: list[Any] | pydantic.NonNegativeInt | None = None

    @property
    def remaining(self) -> int | None:
        """Number of actions that were still planned at the end; None: not known."""
        left = self.remaining_actions
        return len(left) if isinstance(left, list) else left


class Attempt(_Read):
    """An entry of ``actions``: an action that the model planned, and what became of it."""

    action: _Action
    success: bool
    info: Annotated[str, BeforeValidator(_info)] = ''

    @property
    def status(self) -> FeedbackStatus:
        """Outcome of the action; "rejected" where wrong parameters look like illegal actions."""
        return (FeedbackStatus.EXECUTED if self.success else FeedbackStatus.INVALID
                if _UNKNOWN in self.info else FeedbackStatus.REJECTED)


class PlanEntry(_Read):
    """A problem with the model as planner."""

    completed: bool
    plans: Annotated[list[Any], BeforeValidator(_or_empty_list)] = []
    actions: Annotated[list[Attempt], BeforeValidator(_or_empty_list)] = []
    previous_actions: list[Any] | None = None

    @property
    def attempts(self) -> list[Attempt]:
        """``actions``, without the second ones of entries that were counted twice.

        The authors' code writes some invalid actions twice into ``actions``, and once into
        ``previous_actions``; where a file lacks these, all entries count.
        """
        over = 0 if self.previous_actions is None else (
            len(self.actions) - len(self.previous_actions))
        kept: list[Attempt] = []
        for one in self.actions:
            if over > 0 and kept and one == kept[-1] and not one.success:
                over -= 1
                continue
            kept.append(one)
        return kept


# ---------------------------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class Content:
    """A file that was read.

    Attributes:
        sha256: of the file.
        entries: of each problem, by its name.
        figures: those of ``FIGURES`` that the file states.
        worlds: the world of each problem: its name, without the number of an instance, which
            never reached the authors' simulator.
    """

    sha256: str
    entries: Mapping[str, GroundEntry | PlanEntry]
    figures: Mapping[str, float]
    worlds: Mapping[str, str]


def sha256_of(path: Path) -> str:
    """Hash of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open('rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); put it there again'
                         ) from error


def read_official(file: OfficialFile) -> Content:
    """Read a result file.

    Raises:
        InputError: it cannot be read, or is none; names file, problem, field and remedy.
    """
    path = file.path
    content = _bytes(path)
    try:
        data = load_json(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path}: is no whole JSON in UTF-8 ({error}); it was cut off or '
                         'changed: copy it again') from error
    if not isinstance(data, dict):
        raise InputError(f'{path}: is no mapping of problems; copy it again')
    kind: Any = GroundEntry if file.method.startswith('ground') else PlanEntry
    entries: dict[str, GroundEntry | PlanEntry] = {}
    worlds: dict[str, str] = {}
    for key, value in data.items():
        if key in _NO_PROBLEMS or not ('.pddl' in key or _is_entry(value)):
            continue
        name, where = problem_name(key), f'{path}: problem {key!r}'
        if name in entries:
            raise InputError(f'{where}: is there twice under the name {name}; remove one of them')
        entries[name] = _entry(kind, value, where)
        worlds[name] = problem_name(re.sub(r'(\.pddl_.+)_\d+\Z', r'\1', key))
        for atom in _atoms(entries[name]):
            try:
                check_atom(atom, file.domain)
            except InputError as error:
                raise InputError(f'{where}: {error}') from error
    if not entries:
        raise InputError(f'{path}: holds no problem; copy it again')
    return Content(hashlib.sha256(content).hexdigest(), entries, {
        name: float(data[name]) for name in FIGURES
        if isinstance(data.get(name), (int, float)) and not isinstance(data[name], bool)}, worlds)


def _is_entry(value: object) -> bool:
    """Whether a value of a file is what became of a problem, whatever its key is."""
    return isinstance(value, dict) and not value.keys().isdisjoint(('goal_reached', 'completed'))


def _entry(kind: Any, value: object, where: str) -> GroundEntry | PlanEntry:
    """An entry; a wrong one is named with its fields."""
    try:
        entry: GroundEntry | PlanEntry = kind.model_validate(value)
    except pydantic.ValidationError:  # checked once more, for an error in words
        try:
            entry = validated(kind, value, where)
        except InputError as error:
            said = str(error).replace(f'\n{where}: ', '; ')  # the place once, not at each field
            raise InputError(f'{said}; correct it, or copy the file again') from error
    return entry


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InputError(f'{path}: has {size / 2 ** 20:.0f} MiB, and result files have at '
                             f'most {_MOST_BYTES >> 20}; copy it again')
        return path.read_bytes()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); put it there again'
                         ) from error


def _atoms(entry: GroundEntry | PlanEntry) -> Iterator[str]:
    """Keys of the answers of an entry."""
    if isinstance(entry, GroundEntry):
        tables = [entry.first.results if entry.first else {},
                  *(replan.results for replan in entry.replans)]
        for one in entry.action_results:
            tables += [one.preconditions, one.effects]
        for table in tables:
            yield from table


def problem_name(key: str) -> str:
    """Name of a problem by its key: the file's name, and of homes scene and instance behind it."""
    return re.sub(r'\.pddl(?=_|$)', '', key.replace('\\', '/').rpartition('/')[2])
