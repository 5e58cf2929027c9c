"""The wording of a domain: names of objects, questions about atoms, the goal in words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sightplan.domains.problem_files import read_text
from sightplan.domains.schema import Schema
from sightplan.model import Atom, DomainError, InputError, Problem, ProblemError, Question


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds a mapping.

    Raises:
        DomainError: it is missing or holds something else; names file and line.
    """
    try:
        data = yaml.safe_load(read_text(path, DomainError))
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        line = mark.line + 1 if mark else 1
        raise DomainError(f'{path}:{line}: not YAML: {error} (correct the syntax)') from error
    if not isinstance(data, dict):
        raise DomainError(f'{path}:1: not a mapping (write "key: value" lines)')
    return data


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """How objects of one type are called.

    Attributes:
        kind: the type.
        words: the words for objects with a meaning, by key, for example ``r: red``.
        named: template with {word} for those.
        unnamed: template with {name} for all others.
    """

    kind: str
    words: Mapping[str, str]
    named: str
    unnamed: str

    def key(self, name: str) -> str | None:
        """The key that an object's name stands for: ``r`` for r, red, red_block, block-r.

        A full word counts before a key, so ``b_red`` is red. None if there is no or no single one.
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
        """What the object is called in a sentence, without an article."""
        key = self.key(name)
        return (self.unnamed.format(name=name) if key is None
                else self.named.format(word=self.words[key], name=name))


class Wording:
    """A domain's ``questions.yaml`` and ``goal.yaml``.

    Args:
        folder: the domain folder.
        schema: its vocabulary.

    Raises:
        DomainError: a file is missing, or does not cover every predicate.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._schema = schema
        path = folder / 'questions.yaml'
        data = read_yaml(path)
        self.question_hash = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._questions = templates_of(path, data, 'predicates', schema, complete=True)
        self._names: dict[str, ObjectNames] = {}
        for kind, rule in dict(data.get('objects') or {}).items():
            try:
                unnamed = rule['unnamed']
                self._names[kind] = ObjectNames(
                    kind, dict(rule.get('words') or {}), rule.get('named', unnamed), unnamed)
            except (TypeError, KeyError, AttributeError) as error:
                raise DomainError(f'{path}:1: objects.{kind} is not usable '
                                  '(give it words, named and unnamed)') from error
        path = folder / 'goal.yaml'
        data = read_yaml(path)
        try:
            self._sentence: str = data['sentence']
            self._separator: str = data['separator']
            self._last_separator: str = data['last_separator']
        except KeyError as error:
            raise DomainError(f'{path}:1: {error} is missing (add it)') from error
        self._facts = {True: templates_of(path, data, 'facts', schema, complete=False),
                       False: templates_of(path, data, 'negated_facts', schema, complete=False)}

    def object_text(self, name: str, kind: str) -> str:
        """What an object of a type is called in a sentence, without an article."""
        while kind not in self._names and kind in self._schema.types:
            kind = self._schema.types[kind]
        return self._names[kind].text(name) if kind in self._names else name

    def identify(self, problem: Problem, kind: str) -> dict[str, str]:
        """Each object of a type and the key it stands for (``red_block``: ``r``).

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

    def question(self, atom: Atom) -> Question:
        """The yes/no question about an atom.

        Raises:
            InputError: the atom does not fit the vocabulary.
        """
        return Question(atom, self.fill(self._questions, atom))

    def goal_text(self, problem: Problem) -> str:
        """The goal in words: one sentence for each object with goal facts, in object order."""
        sentences = []
        for name in (*problem.objects, *self._schema.constants):
            facts = [self.fill(self._facts[literal.positive], literal.atom)
                     for literal in problem.goal if literal.atom.args[:1] == (name,)]
            if facts:
                kind = problem.objects.get(name) or self._schema.constants[name]
                joined = self._separator.join(facts[:-1])
                joined = self._last_separator.join(part for part in (joined, facts[-1]) if part)
                sentences.append(self._sentence.format(self.object_text(name, kind), facts=joined))
        return '\n'.join(sentences)

    def fill(self, templates: Mapping[str, str], atom: Atom) -> str:
        """An atom's template with the names of its objects.

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


def _place(problem: Problem, name: str) -> str:
    """``file:line`` where a problem's object is declared; line 1 if the file cannot be asked."""
    line = 1
    try:
        text = re.sub(r';[^\n]*', '', Path(problem.source).read_text('utf-8'))
    except (OSError, ValueError):  # a text without a file
        text = ''
    declared = re.search(rf'\(\s*:objects[^)]*?\s({re.escape(name)})[\s)]', text, re.IGNORECASE)
    if declared:
        line += text.count('\n', 0, declared.start(1))
    return f'{problem.source or problem.name}:{line}'


def templates_of(path: Path, data: Mapping[str, Any], key: str, schema: Schema, *,
                 complete: bool) -> dict[str, str]:
    """A file's mapping from predicates to texts with {0}, {1}, ... and {name0}, {name1}, ...

    Args:
        path: the file, for messages.
        data: its content.
        key: of the mapping.
        schema: the vocabulary.
        complete: whether every predicate must have a text.

    Raises:
        DomainError: a predicate is unknown or missing, or a placeholder wrong.
    """
    templates = data.get(key) or {}
    if not isinstance(templates, dict):
        raise DomainError(f'{path}:1: {key} is not a mapping (write "predicate: text" lines)')
    for name, text in templates.items():
        predicate = schema.predicates.get(str(name))
        if predicate is None:
            raise DomainError(f'{path}:1: {key}: unknown predicate {name!r} '
                              f'(known: {", ".join(schema.predicates)}; quote "on")')
        count = len(predicate.parameters)
        try:
            str(text).format(*range(count), **{f'name{i}': '' for i in range(count)})
        except (IndexError, KeyError, ValueError) as error:
            raise DomainError(f'{path}:1: {key}.{name}: bad placeholder in {text!r} '
                              f'(it has {count} arguments)') from error
    missing = [name for name in schema.predicates if name not in templates]
    if complete and missing:
        raise DomainError(f'{path}:1: {key}: nothing about {", ".join(missing)} (add it)')
    return {str(name): str(text) for name, text in templates.items()}
