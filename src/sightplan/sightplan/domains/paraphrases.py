"""Other wordings of a domain's questions: ``paraphrases.yaml`` of its folder, if it has one.

A model that was made for the questions of a domain knows no others. ``Paraphrases.read`` finds the
question of the domain that a person means, so that the model is asked that. The wordings are
written out: what none of them fits is no question of the domain.

A wording is a text in small letters with {0}, {1}, ... for objects, ``(a|b)`` for one of several
texts, ``[a|b]`` for one of them or none, and ``<name>`` for what ``words`` has under the name.
NAME stands for the name of an object, or for the part of it that ``object`` puts into the name.
``presence`` has, by type of object, facts of which one holds wherever the object is in view, such
as ``incolumn {0},c1``: of a thing that is not there an opposite is not true either.
"Is ...", "does ..." and "can you tell me whether ..." need no wording of their own where a wording
begins with ``is {0}``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pydantic

from sightplan.domains.schema import Schema
from sightplan.domains.wording import BY_NAME, check_names, read_record
from sightplan.model import Atom, DomainError
from sightplan.model.reading import Record

FILE = 'paraphrases.yaml'
MOST_CHARACTERS = 200
"""Longest question that is read; a longer one is none of the domain's."""

_LEAD = (r'(?:(?:please|hey|hi|hello|so|ok|okay|now|well|and),? )*'
         r'(?:in (?:the|this) (?:image|picture|photo|photograph|scene),? )?')
_ASIDE = (r'(?:(?:(?:can|could|would) you (?:please )?|(?:please )?)'
          r'(?:tell me|see|say|check|confirm|verify) (?:if|whether|that)'
          r'|do you see (?:that|whether|if)|is it (?:true|correct|right|the case) that'
          r'|would you say that)')
_TAIL = (r'(?: (?:(?:here|there|please|currently|(?:right )?now|at the moment)'
         r'|in (?:the|this) (?:image|picture|photo|photograph|scene)))?')
_TOKENS = re.compile(r'<(?P<word>\w+)>|\{(?P<argument>\d+)\}|(?P<name>NAME)|(?P<open>[(\[])'
                     r'|(?P<close>[)\]])|(?P<bar>\|)|(?P<space> +)|(?P<text>[^<{(\[)\]| ]+)')


class _Names(Record):
    name: str
    forms: tuple[str, ...]
    object: str = 'NAME'


class _Meanings(Record):
    same: tuple[str, ...] = ()
    opposite: tuple[str, ...] = ()


class _File(Record):
    words: dict[str, str] = pydantic.Field(default={})
    objects: Annotated[dict[str, _Names], BY_NAME]
    presence: Annotated[dict[str, tuple[str, ...]], BY_NAME] = pydantic.Field(default={})
    predicates: Annotated[dict[str, _Meanings], BY_NAME]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The question of a domain that a text asks.

    Attributes:
        text: the question as the domain words it.
        opposite: whether the text asks for the opposite, so that its answer is the other one: "is
            there something on the red block?" asks whether the red block is not clear.
        presence: of an opposite, by each thing that it takes to be there (``the red block``):
            questions of the domain, of which one is answered with yes if the thing is there. Of
            things that are not there, "no" to the domain's question does not mean "yes" to this.
    """

    text: str
    opposite: bool = False
    presence: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        """Return the question in words for people."""
        return f'the opposite of {self.text!r}' if self.opposite else self.text


class Paraphrases:
    """Reads the questions of a domain in other words than its own.

    Args:
        folder: of the domain.
        schema: its vocabulary.
        templates: the domain's questions by predicate.
        object_text: gives the name of an object of a type in a sentence.

    Raises:
        DomainError: the file cannot be used; names the file and the field.
    """

    def __init__(self, folder: Path, schema: Schema, templates: Mapping[str, str],
                 object_text: Callable[[str, str], str]) -> None:
        self._path = folder / FILE
        self._schema, self._templates, self._object_text = schema, templates, object_text
        self._file = read_record(_File, self._path) if self._path.is_file() else None
        if self._file is not None:
            check_names(self._path, 'predicates', self._file.predicates, schema.predicates)
            for kind, facts in self._file.presence.items():
                check_names(self._path, f'presence.{kind}',
                            (fact.partition(' ')[0] for fact in facts), schema.predicates)
            for field_name, names in (('objects', self._file.objects),
                                      ('presence', self._file.presence)):
                check_names(self._path, field_name, names, ('object', *schema.types))

    @property
    def known(self) -> bool:
        """Whether the domain has any."""
        return self._file is not None

    def read(self, text: str) -> Meaning | None:
        """Return the question of the domain that a text asks; None if it asks none."""
        plain = _plain(text)
        if self._file is None or not plain or len(plain) > MOST_CHARACTERS:
            return None
        for predicate, opposite, patterns in self._wordings:
            for pattern in patterns:
                if (found := pattern.fullmatch(plain)) and (
                        words := self._objects(predicate, found.groupdict())):
                    return Meaning(self._templates[predicate].format(
                        *words.values(), **{f'name{at}': name for at, name in enumerate(words)}),
                        opposite, self._presence(predicate, words) if opposite else ())
        return None

    def _presence(self, predicate: str, words: Mapping[str, str],
                  ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the questions that tell whether objects are there, by what they are called.

        Args:
            predicate: whose objects they are.
            words: what each is called, by name, in order.
        """
        assert self._file is not None
        found = []
        for (name, called), kind in zip(words.items(), self._schema.predicates[predicate].types,
                                        strict=True):
            atoms = [Atom.parse(fact.format(name)) for fact in self._file.presence.get(kind, ())]
            if atoms:
                found.append((f'the {called}', tuple(map(self._question, atoms))))
        return tuple(found)

    def _question(self, atom: Atom) -> str:
        """The domain's question about an atom."""
        kinds = self._schema.predicates[atom.predicate].types
        return self._templates[atom.predicate].format(
            *map(self._object_text, atom.args, kinds),
            **{f'name{at}': name for at, name in enumerate(atom.args)})

    def _objects(self, predicate: str, found: Mapping[str, str | None]) -> dict[str, str]:
        """Names of a predicate's objects, and what they are called; empty if two are the same."""
        kinds = self._schema.predicates[predicate].types
        names = [next(text for key, text in found.items()
                      if text is not None and key.startswith(f'a{at}_'))
                 for at in range(len(kinds))]
        full = [self._rule(kind).object.replace('NAME', name)
                for name, kind in zip(names, kinds, strict=True)]
        words = {name: self._object_text(name, kind)
                 for name, kind in zip(full, kinds, strict=True)}
        return words if len(words) == len(kinds) else {}

    @functools.cached_property
    def _wordings(self) -> tuple[tuple[str, bool, tuple[re.Pattern[str], ...]], ...]:
        """Predicate, whether the opposite is asked, and the patterns of each wording."""
        assert self._file is not None
        return tuple((predicate, opposite, self._patterns(predicate, wording))
                     for predicate, meanings in self._file.predicates.items()
                     for opposite, wordings in ((False, meanings.same), (True, meanings.opposite))
                     for wording in wordings)

    def _patterns(self, predicate: str, wording: str) -> tuple[re.Pattern[str], ...]:
        """Regular expressions of a wording: as a question, and after "tell me whether"."""
        asked = re.compile(f'{_LEAD}{self._expression(wording, predicate)}{_TAIL}')
        begin = re.match(r'is (\{\d\}|there|nothing|something) ', wording)
        if begin is None:
            return (asked,)
        said = self._expression(f'{begin[1]} is {wording[begin.end():]}', predicate)
        return asked, re.compile(f'{_LEAD}{_ASIDE} {said}{_TAIL}')

    def _expression(self, wording: str, predicate: str, name: str = '') -> str:
        """Regular expression of a wording, whose groups ``a0_...`` are the objects' names.

        Args:
            wording: see the module.
            predicate: whose objects {0}, {1}, ... are; '' for a text without them.
            name: regular expression of what NAME stands for; '' for a text without it.

        Raises:
            DomainError: the wording names words or objects that there are not.
        """
        parts: list[str] = []
        closing: list[str] = []
        kinds = self._schema.predicates[predicate].types if predicate else ()
        assert self._file is not None
        for token in _TOKENS.finditer(wording):
            match token.lastgroup:
                case 'word' if token['word'] in self._file.words:
                    parts.append(f'(?:{self._expression(self._file.words[token["word"]], "")})')
                case 'argument' if int(token['argument']) < len(kinds):
                    at = int(token['argument'])
                    parts.append(self._object(kinds[at], at))
                case 'name' if name:
                    parts.append(name)
                case 'open':
                    parts.append('(?:')
                    closing.append(')?' if token['open'] == '[' else ')')
                case 'close' if closing:
                    parts.append(closing.pop())
                case 'bar':
                    parts.append('|')
                case 'space':
                    parts.append(r'\b *\b')
                case 'text':
                    parts.append(re.escape(token['text']))
                case _:
                    raise DomainError(f'{self._path}:1: {predicate or "words"}: {wording!r}: '
                                      f'{token[0]!r} stands for nothing (name it under words, or '
                                      'use {0}, {1} for objects)')
        return ''.join(parts)

    def _object(self, kind: str, at: int) -> str:
        """Regular expression of the ways to name an object of a type."""
        rule = self._rule(kind)
        return '(?:' + '|'.join(
            self._expression(form, '', f'(?P<a{at}_{number}>{rule.name})')
            for number, form in enumerate(rule.forms)) + ')'

    def _rule(self, kind: str) -> _Names:
        """Names of objects of a type, or of the nearest type above it that the file has."""
        assert self._file is not None
        while kind not in self._file.objects and kind in self._schema.types:
            kind = self._schema.types[kind]
        if kind not in self._file.objects:
            raise DomainError(f'{self._path}:1: objects: {kind} is missing (say how its objects '
                              'are named)')
        return self._file.objects[kind]


def _plain(text: str) -> str:
    """A question in small letters, without quotes, the mark at its end and more than one space."""
    folded = re.sub(r'[\"\u201c\u201d\u2018]', '', text.casefold()).replace('\u2019', "'")
    return ' '.join(re.sub(r'\s*[?.!]\s*\Z', '', folded.strip()).split())
