"""The file of a sweep, and the cells it stands for; its form is described in ``docs/sweeps.md``.

Run directories are named by what results depend on, as far as that is known before a model is
loaded: settings, and the content of what they refer to (problems, domain, questions, prompts,
tables, recipes of calibrations, shipped weights, the version of sightplan). What was changed is
run anew, beside what was there. Caps, time limits, concurrency and what else is written
(``record``, ``answers_log``, ``bags``) may be changed: the sweep then goes on where it was.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, model_validator

from sightplan.agent import (
    answerer_class,
    method_names,
    needs_grounder,
    needs_model,
    needs_visual_planner,
    policy_settings,
    prompt_name,
)
from sightplan.domains import load_domain
from sightplan.model import (
    InputError,
    Privileged,
    config_files,
    did_you_mean,
    excerpt,
    settings_fields,
    user_path,
)
from sightplan.model.reading import Record, read_data, validated
from sightplan.model.yaml_text import load_yaml
from sightplan.runs import (
    Plan,
    RunSettings,
    protocols,
    specify,
)
from sightplan.runs.samples import SamplePlan
from sightplan.runs.settings import OURS, prompts_folder
from sightplan.runs.suite_domain import with_domain_of_suite, with_split_of_domain
from sightplan.runs.suite_finding import sample_suite
from sightplan.runs.worlds import describes
from sightplan.sweeps.exclusions import Exclusions
from sightplan.vlm.api import backend_content, backend_reads_prompt, backend_settings

AUTO, EACH = 'auto', 'each'
_OPTIONS = ('backend_options', 'method_options', 'world_options', 'suite_options')
_ALIASES = ('table', 'calibration')
_MODEL = 'model'
"""The easy name of ``backend_options.model``."""
_ABOUT = re.compile(r'^about: *(.+?) *$', re.MULTILINE)
_NOT_SWEPT = ('out', 'resume', 'retry_errors')
_ABOUT_MODEL = ('table', 'backend', 'record', 'record_images')
_ABOUT_QUESTIONS = ('answers', 'grounder_timeout_s', 'calibration')
_ABOUT_PROPOSALS = ('propose_timeout_s',)
_OF_PROBLEMS = ('protocol', 'split', 'problems', 'max_actions', 'stop_at_goal', 'privileged',
                'goal', 'seed', 'failure_probability', 'method')
"""Keys of a run's identity that a calibration sets by itself."""
_WORDS = (('no', 'yes'), ('off', 'on'))
"""Words that YAML reads as false and true."""
_DISJOINT_SEED = 1_000_000
_FOLDER_NAME = re.compile(r'\w[\w.-]*')

Fields = dict[str, Any]
"""Settings by dotted name."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A recipe for learning a calibration: runs of ``ground`` on problems drawn for it alone.

    Attributes:
        name: its name in the file.
        table: confusion table of the model, or the backend where there is no table.
        like: splits whose sizes the problems have.
        problems: number of problems for each of these splits.
        episodes: number of episodes for each of these splits, 0: one per problem.
        seed: seed of noise and failures, and the first seed from which problems are drawn.
        failure_probability: probability that an action fails.
        base: further settings of the runs.
        content: hash of what these settings refer to.
    """

    name: str
    table: str
    like: tuple[str, ...]
    problems: int = 10
    episodes: int = 0
    seed: int = _DISJOINT_SEED
    failure_probability: float = 0.0
    base: tuple[tuple[str, Any], ...] = ()
    content: str = ''

    @property
    def stem(self) -> str:
        """Name of its file, of content: another recipe is another file."""
        backend = str(dict(self.base)['backend'])
        base = tuple((key, value) for key, value in self.base
                     if key.partition('.')[0] != 'backend_options'
                     or key.partition('.')[2] in _identity_settings(backend))
        content = repr(dataclasses.replace(self, base=base))
        return f'{slug(self.name)}-{slug(_stem(self.table))}-{_digest(content)}'


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of a sweep.

    Attributes:
        settings: settings of the run, without ``out`` and the path of a calibration.
        labels: axis to value, for tables and plots; axes that do not matter are left out.
        calibration: calibration that the method uses; None for none.
        episodes: number of items of the run.
        content: all that is known and that results depend on, as plain JSON data.
    """

    settings: RunSettings
    labels: Mapping[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    episodes: int = 0
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the run directory: readable parts, and a hash over what results depend on."""
        s = self.settings
        parts: list[Any] = [s.method, *(f'{key}_{value}' for key, value in sorted(
            s.method_options.items()) if value != '' and s.protocol == OURS)]
        if s.protocol != OURS:  # it sets most options of the method
            parts.append(s.protocol)
        if self.content['backend'] is not None:
            parts.append(_stem(str(s.backend_options.get('table', s.backend))))
        if s.domain != RunSettings().domain:
            parts.append(s.domain)
        parts.append(Path(s.problems).name if s.problems else s.split)
        if s.failure_probability:
            parts.append(f'fail{s.failure_probability:g}')
        text = '-'.join(slug(str(part)) for part in parts)[:100]
        return f'{text}-{_digest(self._key())}'

    def _key(self) -> str:
        changed: Fields = {
            f.name: getattr(self.settings, f.name) for f in settings_fields(RunSettings)
            if f.identity and getattr(self.settings, f.name) != f.default}
        return json.dumps([changed, self.content,
                           self.calibration.stem if self.calibration else ''], sort_keys=True)

    def incidentals(self) -> Fields:
        """The settings that no result depends on, by dotted name."""
        s = self.settings
        values = {f.name: getattr(s, f.name) for f in settings_fields(RunSettings)
                  if not f.identity}
        if self.content['backend'] is not None:
            backend = backend_settings(s.backend, s.backend_options)
            values |= {f'backend_options.{f.name}': getattr(backend, f.name)
                       for f in settings_fields(type(backend)) if not f.identity}
        return values

    def settled(self, out: Path) -> RunSettings:
        """The settings with all paths, for a sweep in ``out``."""
        options = dict(self.settings.method_options)
        if self.calibration is not None:
            options['calibration'] = str(calibration_file(out, self.calibration))
        return dataclasses.replace(self.settings, out=str(out / self.name),
                                   method_options=options)

    def value(self, key: str) -> Any:
        """A label, or a field of the settings by its dotted name.

        Raises:
            KeyError: it has neither.
        """
        if key in self.labels:
            return self.labels[key]
        head, dot, option = key.partition('.')
        if dot and head in _OPTIONS:
            return getattr(self.settings, head)[option]
        if key in _plain_fields():
            return getattr(self.settings, key)
        raise KeyError(key)


@dataclass(frozen=True, slots=True)
class Sweep:
    """All cells of a file, each once, and the calibrations that they use.

    Attributes:
        name: the file's stem.
        cells: the cells to run.
        source: the file.
        every: all cells of the file, in its order.
        max_tokens: cap on all tokens that models take, in and out; 0: none.
        max_cost_usd: cap on the price of these tokens [USD]; 0: none.
    """

    name: str
    cells: tuple[Cell, ...]
    source: str = ''
    every: tuple[Cell, ...] = ()
    max_tokens: int = 0
    max_cost_usd: float = 0.0

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """The calibrations that cells use, each once, with the caps of its first cell."""
        found: dict[str, Calibration] = {}
        for cell in self.cells:
            if cell.calibration is not None:
                found.setdefault(cell.calibration.stem, cell.calibration)
        return tuple(found.values())

    @property
    def episodes(self) -> int:
        """Number of episodes of all cells."""
        return sum(cell.episodes for cell in self.cells)

    def only(self, conditions: Iterable[str]) -> Sweep:
        """The cells that fit all conditions.

        Args:
            conditions: ``KEY=VALUE`` or ``KEY=VALUE,VALUE``; the key is an axis or a field.

        Raises:
            InputError: a condition has another form, names nothing, or no cell is left.
        """
        cells = list(self.cells)
        for condition in conditions:
            key, equals, text = condition.partition('=')
            if not equals or not key:
                raise InputError(f'--only {condition!r} must have the form KEY=VALUE')
            found: dict[str, str] = {}
            for cell in self.cells:
                with suppress(KeyError):
                    found[cell.name] = _text(cell.value(key))
            if not found:
                raise InputError(f'--only {condition!r}: no cell has {key!r}; axes are '
                                 f'{", ".join(self.axes)}')
            wanted = text.split(',')
            cells = [cell for cell in cells if found.get(cell.name) in wanted]
            if not cells:
                raise InputError(f'--only {condition!r}: no cell is left; values of {key} are '
                                 f'{", ".join(dict.fromkeys(found.values()))}')
        return dataclasses.replace(self, cells=tuple(cells))

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of all labels."""
        return tuple(dict.fromkeys(key for cell in self.cells for key in cell.labels))


# ----------------------------------------------------------------------------------- reading


class _Recipe(Record):
    """The recipe of calibrations in a sweep's file; see ``Calibration``."""

    table: str
    like: str | list[str] = ''
    problems: int = Field(10, ge=1)
    episodes: int = Field(0, ge=0)
    seed: int = Field(_DISJOINT_SEED, ge=0)
    failure_probability: Annotated[float, Field(ge=0, le=1)] | Literal['same'] = 'same'
    method: str = 'ground'


class _File(Record):
    """The content of a sweep's file."""

    name: str = ''
    about: str = ''
    base: Fields = Field(default_factory=dict)
    axes: Fields = Field(default_factory=dict)
    exclude: list[Fields] = Field(default_factory=list)
    cells: list[Fields] = Field(default_factory=list)
    calibrations: dict[str, _Recipe] = Field(default_factory=dict)
    max_tokens: float = Field(0.0, ge=0, allow_inf_nan=False)
    max_cost_usd: float = Field(0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode='before')
    @classmethod
    def _filled(cls, value: Any) -> Any:
        """Fields without the keys that stand in a file with nothing behind them."""
        return ({key: item for key, item in value.items() if item is not None}
                if isinstance(value, dict) else value)


def read_sweep(path: Path, changes: Iterable[str] = ()) -> Sweep:
    """Read a sweep's file.

    Args:
        path: the file, or the name of an installed one, see ``find_sweep``.
        changes: ``KEY=VALUE``: fields of ``base`` that are other than in the file; the value is
            read as YAML. With another backend the options of the file's are left out.

    Raises:
        InputError: it is missing or wrong; names file, cell, field and remedy.
    """
    path = find_sweep(path)
    return parse_sweep(read_data(path), path.stem, str(path), dict(map(_change, changes)))


def installed_sweeps() -> dict[str, str]:
    """Return what each installed sweep is about, in a line, by its name."""
    found = {}
    for name, path in config_files('sweeps').items():
        with suppress(OSError, ValueError):
            about = _ABOUT.search(path.read_text('utf-8'))
            found[name] = '' if about is None else about[1].strip('\'"')
    return found


def find_sweep(path: Path) -> Path:
    """The path of a sweep's file that is given by its path, or by the name of an installed one.

    Raises:
        InputError: there is neither (names the installed ones), or nothing can be at the path.
    """
    path = user_path(path)
    if path.is_file():
        return path
    installed = config_files('sweeps')
    if str(path) in installed:
        return installed[str(path)]
    names = (f'the name of an installed one: {", ".join(installed)}'
             f'{did_you_mean(path.stem, tuple(installed))}' if installed else
             'build the workspace (make build), which installs some that have names')
    raise InputError(f'{path}: cannot be read (there is no such file); give the path of a sweep '
                     f'file, or {names}')


def _change(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition('=')
    if not equals or not key:
        raise InputError(f'--set {text!r} must have the form KEY=VALUE')
    try:
        return key, load_yaml(value)
    except yaml.YAMLError as error:
        raise InputError(f'--set {text!r}: the value is not YAML: {error}') from error


def _check_places(data: Any, source: str) -> None:
    """Check that no field of a run stands beside ``base`` instead of in it.

    Raises:
        InputError: one does.
    """
    fields = {*_plain_fields(), *_ALIASES, 'model'} - set(_File.model_fields)
    if isinstance(data, Mapping) and (found := [key for key in data if key in fields]):
        raise InputError(f'{source}: {", ".join(found)}: fields of runs stand below base, or, '
                         'with a list of values, below axes')


def parse_sweep(data: Any, name: str, source: str,
                changes: Mapping[str, Any] = MappingProxyType({})) -> Sweep:
    """Make the cells of a sweep.

    Args:
        data: content of the file.
        name: of the sweep, if the file gives none.
        source: what to call the file in messages.
        changes: fields of ``base`` that are other than in the file, see ``read_sweep``.

    Raises:
        InputError: see ``read_sweep``.
    """
    _check_places(data, source)
    file, base = validated(_File, data, source), {}
    name = _checked_name(file.name, name, source)
    exclusions, left_out = Exclusions(file.exclude, source), 0
    changes = _named(changes, '--set')
    for key, value in _named(file.base, source).items():
        of_backend = key == 'table' or key.partition('.')[0] == 'backend_options'
        if not (of_backend and changes.get('backend', file.base.get('backend'))
                != file.base.get('backend')):
            base[key] = value
    base |= changes
    axes = {axis: _axis(axis, values, source) for axis, values in file.axes.items()}
    cells: dict[str, Cell] = {}
    for labels, fields in itertools.chain(
            _product(base, axes) if axes else (),
            *(_extra(base, _named(fields, source)) for fields in file.cells)):
        _check_names(fields, source)
        words = _words(fields)
        labels, fields = _in_words(labels, words), _in_words(fields, words)
        if exclusions.match(labels, fields, functools.partial(_in_words, words=words)):
            left_out += 1
            continue
        where = cell_place(source, labels)
        cell = _cell(labels, fields, file.calibrations, where)
        same = cells.setdefault(cell.name, cell)
        _check_same(cell, same, where)
    if not axes and not file.cells:
        _check_names(base, source)
        _cell({}, _in_words(base, _words(base)), file.calibrations, f'{source}: base')
        raise InputError(f'{source}: there is not one cell; give axes or cells')
    if changes:  # what the file itself sets may be excluded, also where it is changed
        exclusions.match({}, file.base)
    exclusions.check((*_ALIASES, *_plain_fields()), _OPTIONS)
    if not cells:
        raise InputError(f'{source}: there is not one cell; ' + (
            f'exclude leaves out all {left_out}; remove an entry, or give it more fields'
            if left_out else 'a list of cells is empty; give it values'))
    every = tuple(cells.values())
    return Sweep(name, every, source, every, int(file.max_tokens), file.max_cost_usd)


def _checked_name(given: str, stem: str, source: str) -> str:
    """The name of a sweep, which names a folder: that of the file, or else its stem.

    Raises:
        InputError: it could be more than one folder, or another one.
    """
    if _FOLDER_NAME.fullmatch(given) or (not given and stem.strip('.')):
        return given or stem
    raise InputError(f'{source}: name = {excerpt(repr(given or stem))}: must be the name of one '
                     f'folder, of letters, digits, ".", "_" and "-", and not begin with "." or '
                     f'"-"; correct it')


def cell_place(source: str, labels: Mapping[str, Any]) -> str:
    """Return a cell's name in messages: its file and its labels."""
    return f'{source}: cell {", ".join(f"{key}={_text(value)}" for key, value in labels.items())}'


def _named(fields: Mapping[str, Any], source: str) -> Fields:
    """Return fields with the full name of what ``model`` is short for.

    Raises:
        InputError: it is given by both names.
    """
    full = f'backend_options.{_MODEL}'
    if _MODEL in fields and full in fields:
        raise InputError(f'{source}: {_MODEL} is short for {full}, which is given, too; leave one '
                         f'of the two out')
    return {full if key == _MODEL else key: value for key, value in fields.items()}


def _check_names(fields: Fields, source: str) -> None:
    """The names by which everything else is looked up are texts."""
    for key in ('method', 'backend'):
        if not isinstance(value := fields.get(key, ''), str):
            raise InputError(f'{source}: {key} = {excerpt(repr(value))} must be a name; write it '
                             f'as a text, in quotes')


def _of_tables(fields: Fields) -> str:
    """The backend that ``table`` is short for in a cell."""
    method = fields.get('method', RunSettings().method)
    plans = method in method_names() and needs_visual_planner(method)
    return 'noisy_planner' if plans else 'noisy_oracle'


def _words(fields: Fields) -> dict[str, tuple[str, str]]:
    """The settings that choose between words which YAML makes false and true, with the words."""
    backend = _of_tables(fields) if 'table' in fields else fields.get(
        'backend', RunSettings().backend)
    kinds: dict[str, type] = {'': RunSettings}
    with suppress(InputError):  # what is unknown is named where the cell is made
        kinds['backend_options.'] = type(backend_settings(backend))
        kinds['method_options.'] = type(policy_settings(
            fields.get('method', RunSettings().method)))
    return {prefix + setting.name: words for prefix, kind in kinds.items()
            for setting in settings_fields(kind) for words in _WORDS
            if set(words) <= set(setting.choices or ())}


def _in_words(fields: Fields, words: Mapping[str, tuple[str, str]]) -> Fields:
    """Fields with the words that were in the file in place of false and true."""
    def word(key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [word(key, item) for item in value]
        return words[key][value] if isinstance(value, bool) else value
    return {key: word(key, value) if key in words else value for key, value in fields.items()}


def _check_same(cell: Cell, same: Cell, where: str) -> None:
    ours, others = cell.incidentals(), same.incidentals()
    if different := [key for key in ours if ours[key] != others[key]]:
        key = different[0]
        raise InputError(f'{where}: differs from another cell only in {", ".join(different)}, on '
                         f'which no result depends ({key}: {_text(ours[key])} and '
                         f'{_text(others[key])}); give both the same')


def _identity_settings(backend: str) -> frozenset[str]:
    """The settings of a backend that results depend on."""
    return frozenset(f.name for f in settings_fields(type(backend_settings(backend)))
                     if f.identity)


def _axis(axis: str, values: object, source: str) -> list[tuple[Any, Fields]]:
    """Label and fields of each of its values."""
    if isinstance(values, dict) and values and all(
            isinstance(fields, dict | None) for fields in values.values()):
        return [(label, _named(fields or {}, source)) for label, fields in values.items()]
    if isinstance(values, list) and values:
        return [(value, _named({axis: value}, source)) for value in values]
    raise InputError(f'{source}: axes: {axis}: give a list of values, or names with the fields '
                     f'that each sets')


def _product(base: Fields, axes: Mapping[str, list[tuple[Any, Fields]]],
             ) -> Iterator[tuple[Fields, Fields]]:
    for choice in itertools.product(*axes.values()):
        fields = dict(base)
        for _, more in choice:
            fields.update(more)
        yield dict(zip(axes, (label for label, _ in choice), strict=True)), fields


def _extra(base: Fields, fields: Fields) -> Iterator[tuple[Fields, Fields]]:
    several = {key: [(value, {key: value}) for value in values]
               for key, values in fields.items() if isinstance(values, list)}
    for labels, more in _product({**base, **fields}, several):
        yield {**{key: value for key, value in fields.items() if key not in several},
               **labels}, more


def _plain_fields() -> tuple[str, ...]:
    return tuple(f.name for f in settings_fields(RunSettings) if f.name not in _NOT_SWEPT)


def _cell(labels: Fields, fields: Fields, recipes: Mapping[str, _Recipe], where: str) -> Cell:
    """Resolve one cell; what its method has no use for is dropped.

    Raises:
        InputError: a field is unknown, or its value is wrong.
    """
    fields = dict(fields)
    wanted = fields.pop('calibration', None)
    table = fields.pop('table', None)
    method = fields.get('method', RunSettings().method)
    try:
        if table is not None:
            of_tables = _of_tables(fields)
            if (backend := fields.get('backend', of_tables)) != of_tables:
                raise InputError(f'table: {excerpt(table)} is short for backend {of_tables}, but '
                                 f'backend is {backend!r}; leave one of the two out')
            fields |= {'backend': of_tables, 'backend_options.table': str(table)}
        if refused := [key for key in _NOT_SWEPT if key in fields]:
            raise InputError(f'{refused[0]}: is not for sweeps, which have their own directory '
                             f'(--out) and go on where they were; leave it out')
        useless = _useless(method, RunSettings(suite=str(fields.get('suite', '')), split=str(
            fields.get('split', RunSettings().split))))
        fields = {key: value for key, value in fields.items() if not useless(key)}
        labels = {key: value for key, value in labels.items() if not useless(key)}
        fields = with_split_of_domain(with_domain_of_suite(fields, fields), fields)
        settings = run_settings(fields)
        settings.check()
        settings = protocols.apply(settings, fields)
        plan = specify(settings)
        options = plan.model_options()
        content = {**plan.identity(None), 'refers_to': (
            '' if options is None else backend_content(settings.backend, options))}
    except InputError as error:
        raise InputError(f'{where}: {error}') from error
    calibration = None
    if isinstance(plan, SamplePlan) or 'calibration' not in {f.name for f in settings_fields(
            type(policy_settings(method, settings.method_options)))}:
        labels = {key: value for key, value in labels.items() if key != 'calibration'}
    elif needs_grounder(method) and wanted:
        calibration = _calibration(str(wanted), settings, recipes, where, content)
    return Cell(settings, labels, calibration, len(plan.items), content)


def is_samples(settings: RunSettings) -> bool:
    """Whether a run is one of samples."""
    return sample_suite(settings.suite, settings.split) is not None


def sample_clusters(plan: Plan) -> dict[str, str]:
    """Return the cluster of each sample by id, which is asked together; empty for episodes."""
    return ({sample.id: f'{sample.cluster} {sample.domain}' for sample in plan.items}
            if isinstance(plan, SamplePlan) else {})


def run_settings(fields: Mapping[str, Any]) -> RunSettings:
    """Settings from fields by dotted name; not checked but for their names.

    Raises:
        InputError: a field is unknown.
    """
    values: Fields = {name: {} for name in _OPTIONS}
    for key, value in fields.items():
        head, dot, option = key.partition('.')
        if dot and head in _OPTIONS:
            values[head][option] = value
        elif key in _plain_fields() or key == 'out':
            values[key] = value
        elif key in _OPTIONS:
            option = next(iter(value), 'NAME') if isinstance(value, dict) else 'NAME'
            raise InputError(f'{key}: is not given as a whole; write {key}.{option}, a line for '
                             f'each')
        else:
            known = (*_ALIASES, _MODEL, *_plain_fields())
            raise InputError(f'{key}: is unknown{did_you_mean(key, known)}; there are '
                             f'{", ".join(known)}, and options such as method_options.NAME')
    return RunSettings(**values)


def _useless(method: str, settings: RunSettings) -> Callable[[str], bool]:
    """Whether a method of a suite has no use for a field."""
    if is_samples(settings):
        asks, plans, model = True, True, answerer_class(method).needs_model
    else:
        asks, plans, model = (needs_grounder(method), needs_visual_planner(method),
                              needs_model(method))
    dropped = (*(() if model else _ABOUT_MODEL), *(() if asks and model else _ABOUT_QUESTIONS),
               *(() if plans and model else _ABOUT_PROPOSALS))
    return lambda key: key in dropped or (not model and key.startswith('backend_options.'))


def _calibration(wanted: str, settings: RunSettings, recipes: Mapping[str, _Recipe],
                 where: str, content: Mapping[str, Any]) -> Calibration:
    """The calibration of a name, or that of the cell's table (or backend, if it has none)."""
    table = settings.backend_options.get('table', settings.backend)
    fitting = [name for name, recipe in recipes.items()
               if wanted in (AUTO, name) and recipe.table in (EACH, table)]
    if not fitting:
        raise InputError(f'{where}: calibration: {wanted}: there is none for table {table!r}; add '
                         f'one under "calibrations:", with "table: {EACH}" for every table')
    recipe = recipes[fitting[0]]
    asked_by, prompt = recipe.method, prompt_name(settings.method, settings.method_options)
    if (backend_reads_prompt(settings.backend)
            and prompt_name(asked_by) != prompt):
        raise InputError(
            f'{where}: calibrations: {fitting[0]}: method: {asked_by!r} asks with the prompt '
            f'{prompt_name(asked_by)!r}, but {settings.method!r} with '
            f'{prompt!r}, to which the model answers otherwise; name a '
            f'method that asks as {settings.method!r} does')
    base: Fields = {'domain': settings.domain, 'backend': settings.backend,
                    'answers': settings.answers,
                    'method': asked_by}
    base |= {f'backend_options.{k}': v for k, v in settings.backend_options.items()
             if k not in ('seed', 'split')}
    if settings.prompts:
        base['prompts'] = settings.prompts
    base |= {f'world_options.{k}': v for k, v in settings.world_options.items()}
    # Problems of one's own have no suite: what it grants is written out.
    granted = content['privileged'].get(settings.split, 'none')
    if granted != Privileged.NONE.value:
        base['privileged'] = granted
    shared = {key: value for key, value in content.items() if key not in _OF_PROBLEMS}
    if shared['prompt'] is not None:
        shared['prompt'] = load_domain(settings.domain, prompts=prompts_folder(
            settings)).prompt_hash(prompt_name(asked_by), describes(
                settings.domain, settings.world_options))
    like = recipe.like or settings.split
    return Calibration(
        fitting[0], str(table), (like,) if isinstance(like, str) else tuple(like),
        recipe.problems, recipe.episodes, recipe.seed,
        settings.failure_probability if isinstance(recipe.failure_probability, str) else
        recipe.failure_probability,
        tuple(sorted(base.items())), _digest(json.dumps(shared, sort_keys=True)))


def slug(text: str) -> str:
    """A text as a part of a file name."""
    return re.sub(r'[^A-Za-z0-9.]+', '_', text).strip('_')


def _stem(table: str) -> str:
    """A table's name, or that of its file."""
    path = Path(table)
    return path.stem if path.suffix in ('.json', '.yaml', '.yml') else path.name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def calibration_file(out: Path, calibration: Calibration) -> Path:
    """Return the absolute path of a calibration of a sweep in ``out``."""
    return (out / 'calibrations' / f'{calibration.stem}.json').resolve()
