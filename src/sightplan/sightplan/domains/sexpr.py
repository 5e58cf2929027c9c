"""Read parenthesised text (PDDL) into nested groups with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sightplan.model import SightplanError

MAX_DEPTH = 50
"""Deepest nesting that is read, against stack overflow; real files stay below 15."""

_NAME = re.compile(r'[a-z0-9][a-z0-9_.-]*\Z')
_TOKEN = re.compile(r'[()]|;[^\n]*|[^\s();]+')


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a PDDL text in lower case, with its line, counted from 1."""

    text: str
    line: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list, with the line of its opening parenthesis."""

    items: tuple[Word | Group, ...]
    line: int

    @property
    def head(self) -> str:
        """The first item if it is a word, else ''."""
        return self.items[0].text if self.items and isinstance(self.items[0], Word) else ''

    @property
    def tail(self) -> tuple[Word | Group, ...]:
        """The items after the first."""
        return self.items[1:]

    def __str__(self) -> str:
        text = ' '.join(str(item) for item in self.items)
        return f'({text if len(text) <= 40 else text[:37] + "..."})'


Node = Word | Group


class Source:
    """A text with a name, which raises errors with line numbers.

    Args:
        text: the PDDL text.
        name: what to call it in messages: a path or a description.
        error: the class of errors to raise.
    """

    def __init__(self, text: str, name: str, error: type[SightplanError]) -> None:
        self.text = text.replace('\r\n', '\n').replace('\r', '\n')
        self.name = name
        self.error = error

    def fail(self, where: Node | int, reason: str, remedy: str) -> NoReturn:
        """Raise the source's error as ``file:line: reason (remedy)``."""
        line = where if isinstance(where, int) else where.line
        raise self.error(f'{self.name}:{line}: {reason} ({remedy})') from None

    def read(self) -> Group:
        """The text's only group.

        Raises:
            SightplanError: the class given, if the text is not one balanced group.
        """
        if '\0' in self.text:
            self.fail(self.text[:self.text.index('\0')].count('\n') + 1,
                      'the file holds a NUL byte', 'save it as plain UTF-8 text')
        stack: list[tuple[int, list[Node]]] = []
        result: Group | None = None
        line, position = 1, 0
        for match in _TOKEN.finditer(self.text):
            line += self.text.count('\n', position, match.start())
            position = match.start()
            token = match.group()
            if token[0] == ';':
                continue
            if result is not None:
                self.fail(line, f'{token!r} after the end of the definition',
                          'remove it, or the closing parenthesis too many before it')
            if token == '(':
                stack.append((line, []))
                if len(stack) > MAX_DEPTH:
                    self.fail(line, f'nested more than {MAX_DEPTH} deep', 'flatten it')
            elif not stack:
                self.fail(line, f'{token!r} where the text should begin with "(define"',
                          'remove it, or add the opening parenthesis')
            elif token == ')':
                start, items = stack.pop()
                group = Group(tuple(items), start)
                if stack:
                    stack[-1][1].append(group)
                else:
                    result = group
            else:
                stack[-1][1].append(Word(token.lower(), line))
        if stack:
            self.fail(stack[-1][0], 'this parenthesis is never closed', 'add the missing ")"')
        if result is None:
            self.fail(1, 'the file is empty', 'write a PDDL definition into it')
        return result

    def words(self, items: Sequence[Node]) -> list[Word]:
        """Return the items as words; raises the source's error if one is a group."""
        found: list[Word] = []
        for item in items:
            if isinstance(item, Group):
                self.fail(item, f'{item} where a name belongs', 'write a plain name')
            found.append(item)
        return found

    def typed(self, items: Sequence[Node], default: str) -> list[tuple[Word, Word]]:
        """Return a typed list, ``a b - block c - column``, as (name, type) pairs in order."""
        pairs: list[tuple[Word, Word]] = []
        waiting: list[Word] = []
        words = iter(_unglued(items))
        for item in words:
            if isinstance(item, Word) and item.text == '-':
                kind = next(words, None)
                if isinstance(kind, Group):
                    self.fail(kind, f'{kind} as a type', 'name a single type')
                if kind is None or kind.text == '-' or not waiting:
                    self.fail(item, '"-" without names before or a type after it',
                              'write "name ... - type"')
                pairs.extend((name, kind) for name in waiting)
                waiting = []
            else:
                waiting.extend(self.words((item,)))
        pairs.extend((name, Word(default, name.line)) for name in waiting)
        return pairs


def _unglued(items: Sequence[Node]) -> Iterator[Node]:
    """Yield the items of a typed list, with "-type" split into hyphen and type."""
    for item in items:
        if isinstance(item, Word) and item.text.startswith('-') and item.text != '-':
            yield Word('-', item.line)
            yield Word(item.text[1:], item.line)
        else:
            yield item


def check_name(source: Source, word: Word) -> str:
    """Return the word's text; raises the source's error if it is no valid name."""
    if not _NAME.match(word.text):
        source.fail(word, f'"{word}" cannot be a name',
                    'use letters, digits, "_", "-" and ".", beginning with a letter or digit')
    return word.text
