"""A domain: one folder with everything the core knows about a field of problems."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pydantic
import yaml

from sightplan.domains.instantiation import InstantiatedModel
from sightplan.domains.paraphrases import Meaning, Paraphrases
from sightplan.domains.problem_files import (
    Closure,
    check_same_vocabulary,
    parse,
    read_text,
    write,
)
from sightplan.domains.problem_generator import Generator
from sightplan.domains.prompts import Prompts
from sightplan.domains.schema import OBJECT, Schema, read_schema
from sightplan.domains.wording import BY_NAME, Names, Wording, check_names, read_record
from sightplan.model import (
    BARE,
    Atom,
    DomainError,
    InputError,
    Literal,
    Problem,
    ProblemError,
    State,
    did_you_mean,
    excerpt,
    plugins,
    prompt_id,
    settings_fields,
)
from sightplan.model.reading import Record
from sightplan.model.settings import picked

GROUP = 'sightplan.domains'
"""Group of entry points for other packages' domains; also the package of our own domains."""

_ROOT = Path(__file__).resolve().parent
_MARKER = 'domain.pddl'
_DOMAIN_TITLE = re.compile(rb'\(\s*define\s*\(\s*domain\s', re.IGNORECASE)


class _Asked(Record):
    """Types that a predicate's arguments must have, and whether they must differ."""

    types: tuple[str, ...] | None = None
    distinct: bool = False


class _Settings(Record):
    """``domain.yaml``."""

    splits: tuple[str, ...] = ()
    world: str = ''
    instances: bool = False
    views: Names = ()
    closure: Closure = Closure()
    known: Names = ()
    goal: Names = ()
    errors_together: Annotated[float, pydantic.Field(ge=0.0, le=1.0)] = 0.0
    asked: Annotated[dict[str, _Asked], BY_NAME] = pydantic.Field(default={})
    also_called: tuple[str, ...] = ()

    def check(self, path: Path, schema: Schema) -> None:
        """Check that the settings fit the domain's vocabulary.

        Raises:
            DomainError: a field does not fit; names file, field and what is known.
        """
        check_names(path, 'views', self.views, schema.actions)
        binary = [p.name for p in schema.predicates.values() if len(p.parameters) == 2]
        check_names(path, 'closure', (*self.closure.transitive, *itertools.chain.from_iterable(
            self.closure.inverse.items())), binary)
        check_names(path, 'known', self.known, sorted(schema.static))
        check_names(path, 'goal', self.goal, schema.predicates)
        check_names(path, 'asked', self.asked, schema.predicates)
        for name, rule in self.asked.items():
            wide = schema.predicates[name].types
            if rule.types is not None and not (
                    len(rule.types) == len(wide)
                    and all(kind in (*schema.types, OBJECT) and schema.is_a(kind, wanted)
                            for kind, wanted in zip(rule.types, wide, strict=True))):
                raise DomainError(f'{path}:1: asked.{name}.types = {list(rule.types)} must '
                                  f'narrow {list(wide)}')


class _Indexed(Record):
    model_config = pydantic.ConfigDict(extra='ignore')

    optimal_length: int
    instruction: str = ''


class _Index(Record):
    """Fields of ``index.yaml`` that are read; others are ignored."""

    model_config = pydantic.ConfigDict(extra='ignore')

    problems: dict[str, _Indexed]


class Domain:
    """A domain: the content of its folder.

    Args:
        folder: holds ``domain.pddl``, ``questions.yaml``, ``goal.yaml``, ``prompts.yaml``,
            ``problems/<split>/`` and, if it has them, ``domain.yaml``, ``constraints.yaml``,
            ``generator.py``, ``drawing.py``, ``world.py``, ``planner.py`` (see
            ``planning.own``), ``proposals.py`` and ``marks.py`` (see ``planning.visual``),
            ``readings.py`` (see ``grounding.backend_grounder``), ``formats.py`` and templates of
            its own in ``prompts/``. ``formats.py`` reads and writes problem files of another form:
            ``SUFFIX`` (such as ``.json``), ``read(domain, text, name, source)`` and
            ``write(domain, problem)``.
        domain_file: another domain file of the same vocabulary to use instead.
        domain_pddl: text of such a domain file (a request from another machine carries no files).
        prompts: folder of prompts to use instead of the domain's own; see ``PromptFolder``.

    Attributes:
        name: what results call it.
        names: what problem files may call it, lower case: the names in the domain file and in the
            folder's own, and those of ``domain.yaml`` (``also_called``).
        reference: what ``load_domain`` finds it by from any working directory: its name, or, of
            a domain that is not installed, the absolute path of its folder.
        folder: where it is.
        world: name of the installed world that shows its problems; '': its own.
        views: names of the actions that give another view of the scene.
        instances: whether problems with the same facts are still different ones: their worlds
            differ in what the facts do not say, which is made from a problem's name.
        goal_predicates: those that a goal may be about, where it is read from a picture.
        errors_together: how strongly a model's errors on one picture of it hang together, from 0
            to 1: see the backend ``noisy_oracle``.
        pddl: text of the domain file.
        settings_hash: SHA-256 of ``domain.yaml``, ``priors.yaml`` and ``calibrations/``, as far as
            there are any, first 12 hex digits.
        question, is_question, check_question, goal_text, identify, question_hash: see ``Wording``.
        grounding_prompt, planning_prompt, memory, became, prompt_names, prompt_hash: see
            ``Prompts``.

    Raises:
        DomainError: a file is missing or wrong; names file, line and remedy.
    """

    def __init__(self, folder: Path | plugins.Folder, domain_file: Path | None = None,
                 domain_pddl: str | None = None, prompts: Path | None = None) -> None:
        found = plugins.Folder.at(folder) if isinstance(folder, Path) else folder
        self._found, self.name, self.reference = found, found.name, found.reference
        self.folder = folder = found.path
        own = folder / 'domain.pddl'
        source = str(domain_file or own) if domain_pddl is None else 'the given domain text'
        self.pddl = (read_text(domain_file or own, DomainError) if domain_pddl is None
                     else domain_pddl)
        self.schema: Schema = read_schema(self.pddl, source)
        usual = self.schema
        self._further_types: dict[str, str] = {}
        if domain_file is not None or domain_pddl is not None:
            usual = read_schema(read_text(own, DomainError), str(own))
            self._further_types = check_same_vocabulary(usual, self.schema, source)
        self.wording = words = Wording(folder, self.schema)
        self.question_hash: str = words.question_hash
        self.question, self.goal_text = words.question, words.goal_text
        self.is_question, self.check_question = words.is_question, words.check_question
        self._paraphrases = Paraphrases(folder, self.schema, words.templates, words.object_text)
        self.identify = words.identify
        self.prompts = told = Prompts(folder, self.schema, words, self.reference, prompts)
        self.prompt_names, self.prompt_hash = told.names, told.sha256
        self.grounding_prompt, self.planning_prompt = told.grounding, told.planning
        self.memory, self.became = told.memory, told.became
        path = folder / 'domain.yaml'
        settings = read_record(_Settings, path) if path.is_file() else _Settings()
        settings.check(path, self.schema)
        self.names = frozenset({self.schema.name, usual.name,
                                *(name.lower() for name in settings.also_called)})
        self._closure, self._known = settings.closure, frozenset(settings.known)
        self.goal_predicates: tuple[str, ...] = settings.goal or tuple(self.schema.predicates)
        self.splits: tuple[str, ...] = settings.splits or tuple(sorted(
            place.name for place in folder.glob('problems/*') if place.is_dir()))
        self.views: tuple[str, ...] = settings.views
        self.world: str = settings.world
        self._asked = settings.asked
        files = (path, folder / 'priors.yaml', *sorted((folder / 'calibrations').glob('*.json')))
        self.settings_hash: str = hashlib.sha256(b''.join(
            file.read_bytes() for file in files if file.is_file())).hexdigest()[:12]
        self.instances: bool = settings.instances
        self.errors_together: float = settings.errors_together
        self._cache: dict[str, tuple[Problem, ...]] = {}

    def read_question(self, text: str) -> Meaning | None:
        """Return the question of the domain that a text asks; None if it asks none.

        A domain with ``paraphrases.yaml`` reads what that has, about objects whose names it knows;
        any other its own wordings alone.
        """
        if self._paraphrases.known:
            return self._paraphrases.read(text)
        return Meaning(text.strip()) if self.is_question(text) else None

    def split_folder(self, split: str) -> Path:
        """Return the folder of a split's problem files.

        Raises:
            InputError: there is no such split, or it has no folder.
        """
        place = self.folder / 'problems'
        if not self.splits:
            raise InputError(f'domain {self.name} has no problems: {place} holds no folder (put '
                             f'problem files into {place}/NAME; NAME is the split)')
        if split not in self.splits:
            raise InputError(f'split {split!r} is unknown in domain {self.name} (choose one of '
                             f'{", ".join(self.splits)}){did_you_mean(split, self.splits)}')
        if not (place / split).is_dir():
            raise InputError(f'split {split!r} of domain {self.name}: {place / split} is missing '
                             f'(put its problem files there, or correct splits in '
                             f'{self.folder / "domain.yaml"})')
        return place / split

    def split_problems(self, split: str) -> list[Problem]:
        """Return a split's problems in order, with optimal lengths and instructions of the index.

        Raises:
            InputError: there is no such split.
            ProblemError: a file of the split cannot be used.
        """
        if split not in self._cache:
            folder = self.split_folder(split)
            index = _indexed(folder)
            self._cache[split] = tuple(
                _with_index(self.read_problem(path), index)
                for path in self.problem_files(folder))
        return list(self._cache[split])

    def problem_files(self, folder: Path) -> list[Path]:
        """Return the problem files of a folder, sorted: PDDL files and those of the domain's form.

        Hidden files (macOS leaves some when it copies) and domain files are left out.
        """
        own = self._formats
        return sorted(
            path for path in folder.iterdir() if not path.name.startswith('.') and (
                (path.suffix.lower() == '.pddl' and not _holds_domain(path))
                or (own is not None and path.suffix.lower() == own.SUFFIX)))

    def read_problem(self, path: Path) -> Problem:
        """Read a problem file; its name is the file's stem.

        Raises:
            ProblemError: it cannot be used; ``file:line: reason (remedy)``.
        """
        own = self._formats
        if own is not None and path.suffix.lower() == own.SUFFIX:
            found: Problem = own.read(self, read_text(path, ProblemError), path.stem, str(path))
            return found
        return self.parse_problem(read_text(path, ProblemError), path.stem, str(path))

    def parse_problem(self, text: str, name: str, source: str = '', *,
                      needs_init: bool = True) -> Problem:
        """Read a problem's text; case is folded and declared closures are applied.

        The last problems that were read are kept: the same text gives the same problem.

        Args:
            text: PDDL.
            name: what to call the problem.
            source: where the text came from, for messages.
            needs_init: whether the section ``:init`` must be there.

        Raises:
            ProblemError: it cannot be used; ``source:line: reason (remedy)``.
        """
        return _parsed(self, text, name, source or name, needs_init)

    def problem_of(self, goal: str, objects: Mapping[str, str]) -> Problem:
        """Return the problem of a goal alone: nothing is known of the initial state.

        Args:
            goal: a condition in PDDL, such as ``(and (on r g) (not (clear g)))``; the outer
                parentheses may be missing, and '' is no condition.
            objects: type of each object that there is, by name.

        Raises:
            ProblemError: goal or objects cannot be used; says why.
        """
        condition = goal.strip() or '(and)'
        if not condition.startswith('('):
            condition = f'({condition})'
        named = ' '.join(f'{name} - {kind}' for name, kind in objects.items())
        try:
            return self.parse_problem(
                f'(define (problem goal) (:domain {self.schema.name}) (:objects {named}) (:init) '
                f'(:goal {condition}))', 'goal', f'goal "{excerpt(goal)}"')
        except ProblemError as error:
            there = ', '.join(f'{name} ({kind})' for name, kind in objects.items())
            raise ProblemError(f'{error}; there are {there}') from error

    def write_problem(self, problem: Problem, init: State | None = None) -> str:
        """Return the PDDL text of a problem; the same facts give the same bytes.

        The last texts that were written are kept.

        Args:
            problem: what to write.
            init: an initial state instead of the problem's. For each static predicate (one
                that no action changes) of which it holds no atom, the problem's own facts
                are added.
        """
        return _written(self, problem.name, tuple(problem.objects.items()), problem.init,
                        problem.goal, init)

    def problem_file(self, problem: Problem) -> tuple[str, str]:
        """Return name and text of a problem's file, in the domain's own form if it has one."""
        own = self._formats
        if own is None:
            return f'{problem.name}.pddl', self.write_problem(problem)
        return f'{problem.name}{own.SUFFIX}', own.write(self, problem)

    def own_suffix(self, template: str) -> str:
        """Return the template filled with the suffix of the domain's own form; '' without one."""
        return '' if self._formats is None else template.format(self._formats.SUFFIX)

    def prompt_id(self, name: str, described: bool = False) -> str:
        """Return name and hash of a prompt for events: ``ground@0123456789ab``; '': no prompt."""
        return prompt_id(name, self.prompt_hash(name, described)) if name else BARE.name

    def worth_asking(self, problem: Problem) -> tuple[Atom, ...]:
        """Return the ground atoms that may hold and are not known, in the model's order.

        In ``domain.yaml``, ``asked`` excludes atoms that never hold, and ``known`` lists static
        predicates whose facts are known.
        """
        types = {**self.schema.constants, **problem.objects}

        def may_hold(atom: Atom) -> bool:
            rule = self._asked.get(atom.predicate)
            return rule is None or (
                all(self.schema.is_a(types[name], kind)
                    for name, kind in zip(atom.args, rule.types or (), strict=False))
                and not (rule.distinct and len(set(atom.args)) < len(atom.args)))

        return tuple(atom for atom in self.model(problem).atoms
                     if atom.predicate not in self._known and may_hold(atom))

    def model(self, problem: Problem) -> InstantiatedModel:
        """Return the transition model of one of the domain's problems.

        Problems with the same objects and known facts share one, and what it has grounded.
        """
        return _model(problem.domain, problem.domain_pddl, tuple(problem.objects.items()),
                      problem.known)

    def part(self, name: str) -> ModuleType | None:
        """Import a module of the domain's folder, such as ``generator``; None if there is none.

        Raises:
            InputError: the module cannot be imported.
        """
        return self._found.module(name)

    @functools.cached_property
    def _formats(self) -> ModuleType | None:
        """The domain's module ``formats`` for problem files of its own form; None without one."""
        return self.part('formats')

    @property
    def generator(self) -> Generator:
        """The domain's problem generator.

        Raises:
            InputError: it has none, or its module lacks a part; names the file.
        """
        module, file = self.part('generator'), self.folder / 'generator.py'
        if module is None:
            raise InputError(f'domain {self.name} has no problem generator (add {file})')
        missing = [name for name in ('Settings', 'generate', 'write_folder')
                   if name not in vars(module)]
        if missing:
            raise InputError(f'{file}: has no {", ".join(missing)}; add it')
        return picked(Generator, module)


@functools.lru_cache(maxsize=16)
def _model(domain: str, domain_pddl: str, objects: tuple[tuple[str, str], ...],
           known: State) -> InstantiatedModel:
    return InstantiatedModel(Problem('', domain, dict(objects), frozenset(), (), domain_pddl,
                                     known=known))


@functools.lru_cache(maxsize=256)
def _parsed(domain: Domain, text: str, name: str, source: str, needs_init: bool) -> Problem:
    problem = parse(domain.schema, domain._closure, text, name=name, domain=domain.reference,
                    domain_pddl=domain.pddl, source=source, known=domain._known,
                    names=domain.names, needs_init=needs_init)
    further = domain._further_types
    return problem if not further else dataclasses.replace(problem, objects={
        thing: further.get(kind, kind) for thing, kind in problem.objects.items()})


@functools.lru_cache(maxsize=256)
def _written(domain: Domain, name: str, objects: tuple[tuple[str, str], ...], init: State,
             goal: tuple[Literal, ...], other_init: State | None) -> str:
    return write(domain.schema, Problem(name, '', dict(objects), init, goal), other_init)


def domain_names() -> tuple[str, ...]:
    """Return the names of the installed domains: folders beside this file, and other packages'.

    Each holds a ``domain.pddl``; another package declares its own as entry points of the group
    ``sightplan.domains``.
    """
    return tuple(plugins.folders(_ROOT, _MARKER, GROUP))


def domain_reference(name: str) -> str:
    """Return a reference that works in any working directory: name, or path of the folder.

    Args:
        name: one of ``domain_names()``, or the path of a folder.

    Raises:
        DomainError: there is no such domain.
    """
    return _find(name).reference


def load_domain(name: str, domain_file: Path | None = None, domain_pddl: str | None = None,
                prompts: Path | None = None) -> Domain:
    """Load a domain.

    Args:
        name: one of ``domain_names()``, or the path of a folder.
        domain_file: another domain file of the same vocabulary to use instead of the folder's.
        domain_pddl: text of such a domain file to use instead of the folder's.
        prompts: folder of prompts to use instead of the domain's own; see ``PromptFolder``.

    Raises:
        DomainError: there is no such domain, or its files cannot be used.
        InputError: the folder of prompts holds none of the domain.
    """
    return _load(domain_reference(name), domain_file, domain_pddl,
                 None if prompts is None else prompts.expanduser().absolute())


@functools.lru_cache(maxsize=16)
def _load(reference: str, domain_file: Path | None, domain_pddl: str | None,
          prompts: Path | None) -> Domain:
    return Domain(_find(reference), domain_file, domain_pddl, prompts)


def _find(name: str) -> plugins.Folder:
    try:
        found = _found.get(name) or plugins.find_folder('domain', name, _ROOT, _MARKER, GROUP)
    except InputError as error:
        raise DomainError(str(error)) from error
    _found[found.reference] = found
    return found


_found: dict[str, plugins.Folder] = {}
"""Cache of found folders by reference, so that installed packages are searched only once."""


def _holds_domain(path: Path) -> bool:
    """Whether a file is a domain file by its name and content."""
    if 'domain' not in path.stem.lower():
        return False
    try:
        return _DOMAIN_TITLE.search(path.read_bytes()) is not None
    except OSError:
        return False  # it is named when it is read as a problem


def read_folder(domain: Domain, folder: Path) -> tuple[list[Problem], list[ProblemError]]:
    """Read all problem files of a folder; bad ones never stop the others.

    Optimal lengths, and instructions in words, are taken from an ``index.yaml`` beside the files,
    if there is one.

    Args:
        domain: whose problems they are.
        folder: where to look, not in folders below.

    Returns:
        The problems in the order of their names, and what is wrong with the other files.

    Raises:
        InputError: the folder does not exist or holds no problem file.
    """
    if not folder.is_dir():
        raise InputError(f'{folder}: no such folder (give one with *.pddl problem files)')
    problems: list[Problem] = []
    errors: list[ProblemError] = []
    try:
        index = _indexed(folder)
    except DomainError as error:
        index = {}
        errors.append(ProblemError(str(error)))
    paths = domain.problem_files(folder)
    if not paths:
        raise InputError(f'{folder}: no problem files (their names end in .pddl'
                         f'{domain.own_suffix(" or in {}")}; domain files are none)')
    for path in paths:
        try:
            problem = domain.read_problem(path)
        except ProblemError as error:
            errors.append(error)
        else:
            problems.append(_with_index(problem, index))
    return problems, errors


def find_problem(domain: Domain, name: str) -> Problem:
    """Return a problem by ``SPLIT/NAME`` or by the path of its file.

    Raises:
        InputError: there is none.
        ProblemError: the file cannot be used.
    """
    split, _, stem = name.partition('/')
    if split in domain.splits and stem and not Path(name).is_file():
        for problem in domain.split_problems(split):
            if problem.name == stem:
                return problem
        raise InputError(f'{name}: no such problem (see "sightplan problems list --domain '
                         f'{domain.name}")')
    if not Path(name).is_file():
        raise InputError(f'{name}: no such file, nor a problem such as '
                         f'{next(iter(domain.splits), "SPLIT")}/NAME '
                         f'(see "sightplan problems list --domain {domain.name}")')
    return domain.read_problem(Path(name))


def write_folder(domain: Domain, folder: Path, settings: object,
                 problems: Iterable[tuple[int, Problem]],
                 notes: Mapping[str, Mapping[str, int]] | None = None) -> int:
    """Write problem files and their ``index.yaml``.

    Args:
        domain: whose problems they are.
        folder: where; it is made.
        settings: settings dataclass that the problems are drawn with.
        problems: seeds and problems, as ``generate`` gives them, in the order of the index.
        notes: by problem, further entries of the index besides seed and optimal length.

    Returns:
        The number of problems.

    Raises:
        InputError: the folder holds problem files already, or cannot be written.
    """
    if folder.is_dir() and (files := domain.problem_files(folder)):
        raise InputError(f'{folder}: holds *{files[0].suffix} files already (name an empty '
                         'folder)')
    problems = list(problems)
    index = {
        'settings': {field.name: getattr(settings, field.name)
                     for field in settings_fields(type(settings))},
        'problems': {problem.name: {'seed': seed, 'optimal_length': problem.optimal_length,
                                    **({'instruction': problem.instruction}
                                       if problem.instruction else {}),
                                    **(notes or {}).get(problem.name, {})}
                     for seed, problem in problems}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for _, problem in problems:
            name, text = domain.problem_file(problem)
            (folder / name).write_text(text, encoding='utf-8', newline='\n')
        (folder / 'index.yaml').write_text(
            '# Written by "sightplan problems generate": one seed gives one problem.\n'
            + yaml.safe_dump(index, sort_keys=False), encoding='utf-8', newline='\n')
    except OSError as error:
        raise InputError(f'{folder}: cannot be written: {error.strerror} '
                         '(choose another folder)') from error
    return len(problems)


def _with_index(problem: Problem, index: Mapping[str, _Indexed]) -> Problem:
    """Return a problem with the optimal length and instruction of its index entry, if any."""
    entry = index.get(problem.name)
    if entry is None:
        return problem
    return dataclasses.replace(problem, optimal_length=entry.optimal_length,
                               instruction=entry.instruction)


def _indexed(folder: Path) -> Mapping[str, _Indexed]:
    path = folder / 'index.yaml'
    if not path.is_file():
        return {}
    return read_record(_Index, path).problems
