"""Read YAML from untrusted sources: no text can end the process or fill the memory.

PyYAML's composers recurse: the fast one ends the process at some ten thousand levels, the other
one with a RecursionError. Aliases can stand for each other, so that a few lines are billions of
values. Its parsers of events do neither, so both are checked with these before. What its
constructors raise for values that are none, such as the date 2026-99-99, is an error of YAML, too,
and so is an integer that no float can hold. So is a key that stands twice in one mapping, of which
YAML would silently take the last; one beside a merged mapping (``<<``) that has it overrides it.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from sightplan.model.errors import excerpt
from sightplan.model.json_text import MOST_DIGITS

DEEPEST = 100
"""Most levels of nesting in a YAML text; no file here has as many as ten."""
MOST_VALUES = 200_000
"""Most values in a YAML text.

Reading so many takes a second; larger data belongs in JSON, which is read faster.
"""
MOST_REPEATED = 100_000
"""Most values and characters that the aliases of a text may repeat, all together."""

_LONG_INTEGER = re.compile(r'[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(?::[0-9_]+)*)')
_INT = 'tag:yaml.org,2002:int'
_MERGE, _VALUE = 'tag:yaml.org,2002:merge', 'tag:yaml.org,2002:value'
_NO_VALUE = (ValueError, ArithmeticError, TypeError, AttributeError, LookupError, RecursionError)


def error_line(error: yaml.YAMLError) -> int:
    """Return the line, from 1, of an error in a text; 1 where the error does not name it."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return mark.line + 1 if mark else 1


class DuplicateKeyError(yaml.constructor.ConstructorError):
    """Error for a key that stands twice in one mapping; its message is one line."""

    def __str__(self) -> str:
        """Line, key and remedy."""
        assert self.problem_mark is not None
        return f'line {self.problem_mark.line + 1}: {self.problem}'


class _Loader(yaml.CSafeLoader):
    """The fast loader; refuses a key that stands twice in one mapping."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._checked: set[yaml.Node] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged mappings into one, which is called before a mapping is read or merged.

        Afterwards the keys that were merged stand among its own.
        """
        if node not in self._checked:
            self._checked.add(node)
            self._check_keys(node)
        super().flatten_mapping(node)

    def _check_keys(self, node: yaml.MappingNode) -> None:
        lines: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            # What "=" stands for is a text, too, once the mapping is flattened.
            name = key.value if key.tag == _VALUE else self.construct_object(key)
            line = key.start_mark.line + 1
            if name in lines:
                raise DuplicateKeyError(
                    None, None, f'the key {excerpt(key.value)!r} stands twice in one mapping, '
                    f'first in line {lines[name]}; keep one', key.start_mark)
            lines[name] = line


def load_yaml(source: Any) -> Any:
    """Return the data of a YAML text.

    Args:
        source: the text, its bytes, or an open file.

    Raises:
        yaml.YAMLError: it is not YAML, nested more than DEEPEST levels deep, its aliases
            repeat too much, or a key stands twice in one mapping.
    """
    text = checked(source)
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except yaml.YAMLError:
        raise
    except _NO_VALUE as error:
        raise _no_value(error) from error


def compose_yaml(source: Any) -> yaml.Node | None:
    """Return the root node of a YAML text, whose nodes know their lines; None if it is empty.

    Whether a key stands twice is for the caller to see.

    Raises:
        yaml.YAMLError: see ``load_yaml``.
    """
    text = checked(source)
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        return node
    except yaml.YAMLError:
        raise
    except _NO_VALUE as error:
        raise _no_value(error) from error


def load_first(source: Any) -> Any:
    """Return the data of the first document of a YAML text; None if it is empty.

    Raises:
        yaml.YAMLError: see ``load_yaml``.
    """
    text = checked(source)
    try:
        return next(iter(yaml.load_all(text, _Loader)), None)
    except yaml.YAMLError:
        raise
    except _NO_VALUE as error:
        raise _no_value(error) from error


def _no_value(error: Exception) -> yaml.YAMLError:
    return yaml.YAMLError(f'it holds a value that is none of its kind ({str(error)[:200]}); quote '
                          'what is meant as a text')


def checked(source: Any) -> Any:
    """Check the limits of a YAML text and return the text; an open file is read.

    Raises:
        yaml.YAMLError: it is nested more than DEEPEST levels deep, an alias stands in what it
            stands for, aliases repeat more than MOST_REPEATED values and characters, it holds
            more than MOST_VALUES values, or an integer has more than MOST_DIGITS digits.
    """
    text = source.read() if hasattr(source, 'read') else source
    known: dict[str, int] = {}  # anchors, and how much stands for each
    opened: list[tuple[str | None, int]] = []  # collections: anchor, how much came before
    much = repeated = values = 0
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    while True:
        try:
            event = next(events, None)
        except (yaml.YAMLError, ValueError):  # the loader says it in its own words
            return text
        if event is None:
            return text
        values += isinstance(event, yaml.NodeEvent)
        if values > MOST_VALUES:
            raise yaml.YAMLError(f'{_line(event)}: more than {MOST_VALUES} values (split it, or '
                                 'write JSON where that is read, too)')
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, much))
            if len(opened) > DEEPEST:
                raise yaml.YAMLError(f'{_line(event)}: nested more than {DEEPEST} levels deep')
            much += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                known[anchor] = much - before
        elif isinstance(event, yaml.ScalarEvent):
            if len(event.value) > MOST_DIGITS and _is_integer(event):
                raise yaml.YAMLError(f'{_line(event)}: an integer of {len(event.value)} digits; '
                                     f'write one of at most {MOST_DIGITS}, or quote what is meant '
                                     'as a text')
            own = 1 + len(event.value)
            much += own
            if event.anchor is not None:
                known[event.anchor] = own
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise yaml.YAMLError(f'{_line(event)}: *{event.anchor} stands in what it stands '
                                     'for')
            own = known.get(event.anchor or '', 1)
            much += own
            repeated += own
            if repeated > MOST_REPEATED:
                raise yaml.YAMLError(f'{_line(event)}: aliases repeat more than {MOST_REPEATED} '
                                     'values and characters')


def _is_integer(event: yaml.ScalarEvent) -> bool:
    """Whether YAML reads a scalar as an integer."""
    return event.tag == _INT or (event.implicit[0]
                                 and _LONG_INTEGER.fullmatch(event.value) is not None)


def _line(event: Any) -> str:
    return f'line {1 + (event.start_mark.line if event.start_mark else 0)}'
