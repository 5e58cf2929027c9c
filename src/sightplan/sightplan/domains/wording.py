"""The wording of a domain: names of objects, questions about atoms, and goals in words."""

from __future__ import annotations

import functools
import hashlib
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pydantic
import yaml

from sightplan.domains.problem_files import read_text
from sightplan.domains.schema import Schema
from sightplan.model import Atom, DomainError, InputError, Problem, ProblemError, Question
from sightplan.model.reading import Record, validated
from sightplan.model.yaml_text import error_line, load_yaml

R = TypeVar('R', bound=Record)

_NAME = r'[^\s"?]+'
"""Regular expression of the name of an object."""
_BAD_TEXT = (LookupError, ValueError, AttributeError, TypeError)
"""Exceptions that ``str.format`` raises for a wrong placeholder."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises:
        DomainError: it is missing or holds something else; names file and line.
    """
    try:
        data = load_yaml(read_text(path, DomainError))
    except yaml.YAMLError as error:
        raise DomainError(f'{path}:{error_line(error)}: not YAML: {error} '
                          '(correct the syntax)') from error
    if not isinstance(data, dict):
        raise DomainError(f'{path}:1: not a mapping (write "key: value" lines)')
    return data


def read_record(kind: type[R], path: Path) -> R:
    """Read a YAML file as an instance of a model.

    Raises:
        DomainError: it is missing, or a field of it is wrong; names file, field and remedy.
    """
    return checked(kind, read_yaml(path), path)


def checked(kind: type[R], data: object, path: Path) -> R:
    """Check a file's data and return it as an instance of a model.

    Raises:
        DomainError: a field is wrong; names file, field and remedy.
    """
    try:
        return validated(kind, data, f'{path}:1')
    except InputError as error:
        raise DomainError(str(error)) from error


def _folded(value: Any) -> Any:
    """Return the names of a list, or a mapping's keys, in lower case, as PDDL has them."""
    if isinstance(value, tuple):
        return tuple(name.lower() for name in value)
    found = {name.lower(): content for name, content in value.items()}
    if len(found) < len(value):
        raise ValueError('names one thing twice (names of PDDL fold case; keep one)')
    return found


BY_NAME = pydantic.AfterValidator(_folded)
"""Validator that lower-cases PDDL names: those of a list, or the keys of a mapping."""

Names = Annotated[tuple[str, ...], BY_NAME]
"""PDDL names, accepted in any case."""


def check_names(path: Path, key: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that all names in a file are known.

    Raises:
        DomainError: one is unknown; names file, key and what is known.
    """
    known = tuple(known)
    for name in names:
        if name not in known:
            raise DomainError(f'{path}:1: {key}: unknown name {name!r} '
                              f'(known: {", ".join(known)}; quote "on")')


class _Names(Record):
    words: dict[str, str] = pydantic.Field(default={})
    named: str | None = None
    unnamed: str


class _Questions(Record):
    predicates: Annotated[dict[str, str], BY_NAME]
    objects: Annotated[dict[str, _Names], BY_NAME] = pydantic.Field(default={})


class _Goal(Record):
    sentence: str
    separator: str
    last_separator: str
    facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    negated_facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})


_IN_SENTENCE = {'0': 'the object', 'facts': 'its facts'}
_IN_UNNAMED = {'name': 'its name', 'spoken': 'its name as words', 'upper': 'in upper case'}
_IN_NAMED = {'word': 'its word', **_IN_UNNAMED}
"""Meanings of the placeholders of the sentence and of objects' names."""


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """Words and templates that name the objects of one type.

    Attributes:
        kind: the type.
        words: the words for objects with a meaning, by key, for example ``r: red``.
        named: template with {word} for those, or what ``unnamed`` may have.
        unnamed: template for all others with {name}, {spoken} (its parts as words: ``red cube`` of
            ``red_cube``) or {upper} (in upper case).
    """

    kind: str
    words: Mapping[str, str]
    named: str
    unnamed: str

    def key(self, name: str) -> str | None:
        """Return the key that an object's name stands for: ``r`` for r, red, red_block, block-r.

        A full word counts before a key, so ``b_red`` is red. None if no key or several fit.
        """
        parts = {part for part in re.split(r'[-_.]+', name) if part != self.kind}
        letters = set(re.split(r'[-_.0-9]+', name))
        spelt = letters | {part.removeprefix(self.kind) for part in letters} | {
            part.removesuffix(self.kind) for part in letters}
        found = {key for key, word in self.words.items() if word in spelt}
        if not found and len(parts) == 1:
            found = parts & self.words.keys()
        return found.pop() if len(found) == 1 else None

    def text(self, name: str) -> str:
        """Return the object's name in a sentence, without an article."""
        key = self.key(name)
        forms = {'name': name, 'spoken': name.replace('_', ' '), 'upper': name.upper()}
        return (self.unnamed.format(**forms) if key is None
                else self.named.format(word=self.words[key], **forms))


class Wording:
    """A domain's ``questions.yaml`` and ``goal.yaml``.

    Args:
        folder: the domain folder.
        schema: its vocabulary.

    Attributes:
        question_hash: SHA-256 of ``questions.yaml``, first 12 hex digits.
        templates: the question about each predicate, with {0}, {1}, ... for objects.

    Raises:
        DomainError: a file is missing, or does not cover every predicate.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._schema = schema
        path = folder / 'questions.yaml'
        questions = read_record(_Questions, path)
        self.question_hash = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        check_templates(path, 'predicates', questions.predicates, schema, complete=True)
        for kind, rule in questions.objects.items():
            check_text(path, f'objects.{kind}.named', rule.named or '', _IN_NAMED)
            check_text(path, f'objects.{kind}.unnamed', rule.unnamed, _IN_UNNAMED)
        self.templates: Mapping[str, str] = questions.predicates
        self._names = {kind: ObjectNames(kind, rule.words, rule.named or rule.unnamed,
                                         rule.unnamed)
                       for kind, rule in questions.objects.items()}
        path = folder / 'goal.yaml'
        self._goal = read_record(_Goal, path)
        check_text(path, 'sentence', self._goal.sentence, _IN_SENTENCE, needed=True)
        self._facts = {True: self._goal.facts, False: self._goal.negated_facts}
        check_templates(path, 'facts', self._goal.facts, schema)
        check_templates(path, 'negated_facts', self._goal.negated_facts, schema)

    def object_text(self, name: str, kind: str) -> str:
        """Return the name of an object of a type in a sentence, without an article."""
        while kind not in self._names and kind in self._schema.types:
            kind = self._schema.types[kind]
        return self._names[kind].text(name) if kind in self._names else name

    def identify(self, problem: Problem, kind: str) -> dict[str, str]:
        """Return the key of each object of a type, in blocksworld ``r`` for ``red_block``.

        Raises:
            ProblemError: an object stands for no key, or two for the same.
        """
        keys: dict[str, str] = {}
        names = self._names.get(kind)
        for name in problem.of_type(kind):
            key = names.key(name) if names else None
            known = ', '.join(f'{k} ({w})' for k, w in names.words.items()) if names else 'none'
            if key is None:
                raise ProblemError(f'{_place(problem, name)}: the name of {kind} '
                                   f'"{name}" says nothing about it (known: {known})')
            if key in keys.values():
                raise ProblemError(f'{_place(problem, name)}: two objects of type '
                                   f'{kind} stand for "{key}" (known: {known})')
            keys[name] = key
        return keys

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019 (domains are kept)
    def question(self, atom: Atom) -> Question:
        """Return the yes/no question about an atom.

        Raises:
            InputError: the atom does not fit the vocabulary.
        """
        return Question(atom, self.fill(self.templates, atom))

    def knows(self, atom: Atom) -> bool:
        """Whether an atom fits the vocabulary: its predicate, and the number of its objects."""
        predicate = self._schema.predicates.get(atom.predicate)
        return predicate is not None and len(atom.args) == len(predicate.parameters)

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019 (domains are kept)
    def check_question(self, question: Question) -> None:
        """Check that a question worded as the domain's asks about its atom, not about another.

        A question in other words passes: only a model can read it.

        Raises:
            InputError: the atom does not fit the vocabulary, or the text is another atom's.
        """
        atom, text = question.atom, question.text.strip()
        own = self.question(atom).text
        found = {name: match for name, form in self._forms.items()
                 if (match := form.fullmatch(text))}
        match, known = found.get(atom.predicate), self._forms[atom.predicate].fullmatch(own)
        if not found or known is None:
            return
        if match is not None:
            keys = [atom.args[int(field.removeprefix('name'))]
                    for field in _fields(self.templates[atom.predicate])]
            if _plain(match.groups()) in (_plain(known.groups()), _plain(keys)):
                return
        raise InputError(f'the question {text!r} is not about {atom}: ask {own!r}, in words of '
                         'your own, or about the atom that is meant')

    def is_question(self, text: str) -> bool:
        """Whether a text is one of the domain's questions, with any names of objects."""
        return any(form.fullmatch(text.strip()) for form in self._forms.values())

    @functools.cached_property
    def _forms(self) -> dict[str, re.Pattern[str]]:
        """Regular expressions of the questions about each predicate; groups are the objects."""
        return {
            name: _pattern(template, {
                **{str(index): self._object_pattern(kind)
                   for index, kind in enumerate(self._schema.predicates[name].types)},
                **{f'name{index}': _NAME for index in range(
                    len(self._schema.predicates[name].types))}})
            for name, template in self.templates.items()}

    def _object_pattern(self, kind: str) -> str:
        """Return a regular expression for the names of objects of a type and its subtypes."""
        types = self._schema.types
        found = set[str]()
        for below in {kind, *types}:
            above = [below]
            while above[-1] in types:
                above.append(types[above[-1]])
            names = next((self._names[one] for one in above if one in self._names), None)
            if kind not in above:
                continue
            if names is None:
                found.add(_NAME)
                continue
            parts = {'name': _NAME, 'spoken': r'[\w.-]+(?: [\w.-]+)*', 'upper': _NAME}
            words = '|'.join(map(re.escape, names.words.values())) or '(?!)'
            found |= {_expression(names.unnamed, parts),
                      _expression(names.named, {**parts, 'word': words})}
        return '|'.join(sorted(found))

    def goal_text(self, problem: Problem) -> str:
        """Return the goal in words: a sentence for each object with goal facts, in order.

        Raises:
            InputError: there are no words for a goal fact; names the problem's file.
        """
        goal, sentences = self._goal, []
        for name in (*problem.objects, *self._schema.constants):
            try:
                facts = [self.fill(self._facts[literal.positive], literal.atom)
                         for literal in problem.goal if literal.atom.args[:1] == (name,)]
            except InputError as error:
                raise InputError(f'{problem.source or problem.name}: goal: {error}') from error
            if facts:
                kind = problem.objects.get(name) or self._schema.constants[name]
                joined = goal.separator.join(facts[:-1])
                joined = goal.last_separator.join(part for part in (joined, facts[-1]) if part)
                sentences.append(goal.sentence.format(self.object_text(name, kind), facts=joined))
        return '\n'.join(sentences)

    def fill(self, templates: Mapping[str, str], atom: Atom) -> str:
        """Return the template of an atom, filled with the names of its objects.

        Raises:
            InputError: the atom does not fit the vocabulary, or has no template.
        """
        predicate = self._schema.predicates.get(atom.predicate)
        if predicate is None or len(atom.args) != len(predicate.parameters):
            known = ', '.join(f'{p.name}/{len(p.parameters)}'
                              for p in self._schema.predicates.values())
            raise InputError(f'{atom}: not an atom of this domain (known: {known})')
        if atom.predicate not in templates:
            raise InputError(f'{atom}: no wording for {atom.predicate} (add it to goal.yaml)')
        texts = [self.object_text(name, kind)
                 for name, kind in zip(atom.args, predicate.types, strict=True)]
        names = {f'name{index}': name for index, name in enumerate(atom.args)}
        return templates[atom.predicate].format(*texts, **names)


def _pattern(template: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Return a pattern that matches a filled template, with a group for each placeholder.

    Args:
        template: with placeholders.
        parts: what matches that which may stand for each of them, without groups.
    """
    return re.compile(_expression(template, parts, '('), re.IGNORECASE)


def _expression(template: str, parts: Mapping[str, str], opening: str = '(?:') -> str:
    """Return the regular expression of a filled template; see ``_pattern``."""
    return ''.join(
        re.escape(text) + ('' if field is None else f'{opening}{parts[field]})')
        for text, field, _, _ in string.Formatter().parse(template))


def _fields(template: str) -> list[str]:
    """Return the placeholders of a template, in their order."""
    return [field for _, field, _, _ in string.Formatter().parse(template) if field is not None]


def _plain(names: Iterable[str]) -> list[str]:
    """Return names in small letters, with a space for all that is no letter or digit."""
    return [re.sub(r'[\W_]+', ' ', name).strip().casefold() for name in names]


def _place(problem: Problem, name: str) -> str:
    """Return ``file:line`` of an object's declaration; line 1 if it cannot be found."""
    line = 1
    try:
        text = re.sub(r';[^\n]*', '', Path(problem.source).read_text('utf-8'))
    except (OSError, ValueError):  # a text without a file
        text = ''
    declared = re.search(rf'\(\s*:objects[^)]*?\s({re.escape(name)})[\s)]', text, re.IGNORECASE)
    if declared:
        line += text.count('\n', 0, declared.start(1))
    return f'{problem.source or problem.name}:{line}'


def check_text(path: Path, key: str, text: str, known: Mapping[str, str], *,
               needed: bool = False) -> None:
    """Check the placeholders of a text.

    Args:
        path: the file, for messages.
        key: where in the file it is.
        text: with placeholders such as {0} or {facts}.
        known: the placeholders without braces, and what they stand for.
        needed: whether the text must have all of them.

    Raises:
        DomainError: one is wrong or missing, or the braces do not match.
    """
    choices = ', '.join(f'{{{name}}} ({words})' for name, words in known.items())
    try:
        found = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        for name in found:
            if name not in known:
                raise DomainError(f'{path}:1: {key}: bad placeholder {{{name}}} in {text!r} '
                                  f'(use {choices})')
        text.format(*[''] * len(known), **dict.fromkeys(known, ''))
    except _BAD_TEXT as error:  # braces that do not match, or a wrong format
        raise DomainError(f'{path}:1: {key}: bad placeholder in {text!r} (use {choices})'
                          ) from error
    missing = [f'{{{name}}}' for name in known if name not in found]
    if needed and missing:
        raise DomainError(f'{path}:1: {key}: {" and ".join(missing)} missing in {text!r} '
                          f'(use {choices})')


def check_templates(path: Path, key: str, templates: Mapping[str, str], schema: Schema, *,
                    complete: bool = False) -> None:
    """Check texts about predicates with {0}, {1}, ... and {name0}, {name1}, ...

    Args:
        path: the file, for messages.
        key: where in the file they are.
        templates: by predicate.
        schema: the vocabulary.
        complete: whether every predicate must have a text.

    Raises:
        DomainError: a predicate is unknown or missing, or a placeholder wrong.
    """
    check_names(path, key, templates, schema.predicates)
    for name, text in templates.items():
        count = len(schema.predicates[name].parameters)
        try:
            text.format(*[''] * count, **{f'name{i}': '' for i in range(count)})
        except _BAD_TEXT as error:
            raise DomainError(f'{path}:1: {key}.{name}: bad placeholder in {text!r} '
                              f'(it has {count} arguments)') from error
    missing = [name for name in schema.predicates if name not in templates]
    if complete and missing:
        raise DomainError(f'{path}:1: {key}: nothing about {", ".join(missing)} (add it)')
