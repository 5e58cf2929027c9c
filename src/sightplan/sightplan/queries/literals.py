"""Lists, objects and numbers within free text, in the notations of JSON and of Python.

Models mix the two: tuples in JSON, single quotes, comments, commas at the end. So this reads what
either notation means, as data only: nothing is evaluated, and depth and length are bounded.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MOST_CHARS = 100_000
"""Most characters of a text that is read."""
MOST_DEPTH = 12
"""Deepest nesting of brackets that is read."""

_START = re.compile(r'[\[{]|(?<!\w)\(')
_GAP = re.compile(r'(?:\s|//[^\n]*|#[^\n]*)*+')
_SCALAR = re.compile(r"""
    (?P<string> "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' )
  | (?P<number> [-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?(?![\w.])
              | [-+]?(?:nan|inf(?:inity)?)\b )
  | (?P<word> (?:true|false|null|none)\b )
""", re.VERBOSE | re.DOTALL | re.IGNORECASE)
_KEY = re.compile(r'[A-Za-z_]\w*')
_WORDS = {'true': True, 'false': False, 'null': None, 'none': None}
_CLOSING = {'[': ']', '(': ')', '{': '}'}

Value = object
"""A dict with texts as keys, a list, a tuple (of round brackets), str, float, bool or None."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A list or object.

    Attributes:
        value: the value of the literal.
        start: index of its first character in the text.
        end: index after its last character.
    """

    value: Value
    start: int
    end: int


class _NoLiteralError(Exception):
    """Raised where the text holds no literal.

    Args:
        at_end: whether the text ended before the literal did.
    """

    def __init__(self, at_end: bool = False) -> None:
        super().__init__()
        self.at_end = at_end


def find_literals(text: str) -> tuple[list[Literal], bool]:
    """All outermost lists and objects of a text, in order.

    Args:
        text: ``MOST_CHARS`` characters at most.

    Returns:
        the literals; and whether one is damaged: the text ends within it, or it breaks off after a
        list or object that it holds. What stands within a damaged one is not the whole answer.
    """
    found: list[Literal] = []
    damaged = False
    place = 0
    while (start := _START.search(text, place)) is not None:
        parser = _Parser(text)
        try:
            value, place = parser.value(start.start(), 0)
            found.append(Literal(value, start.start(), place))
        except _NoLiteralError as error:
            damaged |= parser.any_value if error.at_end else (
                parser.any_nested and start.group() != '(')
            place = start.end()
    return found, damaged


class _Parser:
    """Reads one literal.

    Attributes:
        any_value: whether a scalar or a nested literal was read.
        any_nested: whether a nested list or object was read to its end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.any_value = False
        self.any_nested = False

    def value(self, place: int, depth: int) -> tuple[Value, int]:
        """Return a value and the index at which it ends."""
        opening = self._text[place:place + 1]
        if opening not in _CLOSING:
            return self._scalar(place)
        if depth >= MOST_DEPTH:
            raise _NoLiteralError
        found, place = (self._object if opening == '{' else self._list)(place, depth)
        self.any_nested |= depth > 0
        self.any_value |= depth > 0
        return found, place

    def _scalar(self, place: int) -> tuple[Value, int]:
        found = _SCALAR.match(self._text, place)
        if found is None:
            raise _NoLiteralError(place >= len(self._text))
        self.any_value = True
        raw = found.group()
        if found['number'] is not None:
            return float(raw), found.end()
        if found['word'] is not None:
            return _WORDS[raw.lower()], found.end()
        return _plain_text(raw), found.end()

    def _list(self, place: int, depth: int) -> tuple[Value, int]:
        opening = self._text[place]
        items: list[Value] = []
        place = self._gap(place + 1)
        while self._next(place) != _CLOSING[opening]:
            item, place = self.value(place, depth + 1)
            items.append(item)
            place = self._separator(place, _CLOSING[opening])
        return (tuple(items) if opening == '(' else items), place + 1

    def _object(self, place: int, depth: int) -> tuple[Value, int]:
        items: dict[str, Value] = {}
        place = self._gap(place + 1)
        while self._next(place) != '}':
            key, place = self._key(place)
            place = self._gap(place)
            if self._next(place) != ':':
                raise _NoLiteralError
            item, place = self.value(self._gap(place + 1), depth + 1)
            if key in items and items[key] != item:
                raise _NoLiteralError
            items[key] = item
            place = self._separator(place, '}')
        return items, place + 1

    def _key(self, place: int) -> tuple[str, int]:
        bare = _KEY.match(self._text, place)
        if bare is not None:
            return bare.group(), bare.end()
        key, place = self._scalar(place)
        return str(key), place

    def _separator(self, place: int, closing: str) -> int:
        """Return the index at which the next item, or the closing bracket, begins."""
        place = self._gap(place)
        if self._next(place) == ',':
            return self._gap(place + 1)
        if self._next(place) != closing:
            raise _NoLiteralError
        return place

    def _next(self, place: int) -> str:
        if place >= len(self._text):
            raise _NoLiteralError(at_end=True)
        return self._text[place]

    def _gap(self, place: int) -> int:
        """Return the index at which white space and comments end."""
        found = _GAP.match(self._text, place)
        return place if found is None else found.end()


def _plain_text(raw: str) -> str:
    """Return the content of a text in quotes."""
    if raw[0] == '"':
        try:
            return str(json.loads(raw, strict=False))
        except ValueError:
            pass
    return re.sub(r'\\(.)', r'\1', raw[1:-1], flags=re.DOTALL)
