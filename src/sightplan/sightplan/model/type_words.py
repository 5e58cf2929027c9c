"""Names of types for messages to people."""

from __future__ import annotations

_WORDS = {int: 'a whole number', float: 'a number', bool: 'true or false', str: 'a text',
          list: 'a list', tuple: 'a list', dict: 'a mapping'}


def type_in_words(kind: type) -> str:
    """A type as the end of "must be ...": "a whole number", "true or false"."""
    return _WORDS.get(kind, f'a {kind.__name__}')
