"""Finds and removes keys and passwords in texts and JSON data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sightplan.model.redaction import PREFIXED

_REDACTED = (
    (re.compile(r'(?i)\b(bearer|basic)\s+[^\s"\',;]+'), r'\1 [key]'),
    (re.compile(r'\b(?:sk|pk|key|hf|gsk|xai|nvapi)[-_][\w*.-]{4,}|\bAIza[\w*-]{4,}'), '[key]'),
)
_BEARER = re.compile(r'(?i)\b(?:bearer|basic)\s+\S{8,}')
_WORD = re.compile(r'[A-Za-z0-9]{24,}')
_HASH = re.compile(r'[0-9a-f]{40}|[0-9a-f]{64}')
"""Hash of a commit or a file, which is no secret."""
_FIELDS = frozenset(('token', 'key', 'auth', 'authorization', 'bearer', 'password', 'passwd',
                     'secret', 'credential', 'credentials'))
_ENDINGS = ('apikey', 'secretkey', 'privatekey', 'accesskey', 'accesstoken', 'authtoken',
            'hftoken', 'bearertoken', 'clientsecret', 'password', 'authorization')


def redact(text: str) -> str:
    """Return the text without anything that looks like a key or a password."""
    for pattern, instead in _REDACTED:
        text = pattern.sub(instead, text)
    return text


def holds_key(text: str) -> bool:
    """Whether a text looks as if it held a key: by its beginning, or because nobody can read it.

    Names of models, paths and hashes of commits do not count as keys.
    """
    if PREFIXED.search(text) or _BEARER.search(text):
        return True
    return any(_is_random(word) for word in _WORD.findall(text))


def secret_field(data: Any) -> str:
    """Name of the first field of JSON data that is there to hold a secret; '' if there is none."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            plain = re.sub(r'[^a-z]', '', str(name).lower())
            found = str(name) if plain in _FIELDS or plain.endswith(_ENDINGS) else ''
            if found := found or secret_field(value):
                return found
    elif isinstance(data, (list, tuple)):
        return next(filter(None, map(secret_field, data)), '')
    return ''


def texts(data: Any) -> list[str]:
    """Yield all texts in JSON data, names of fields included."""
    if isinstance(data, Mapping):
        return [text for item in data.items() for part in item for text in texts(part)]
    if isinstance(data, (list, tuple)):
        return [text for part in data for text in texts(part)]
    return [data] if isinstance(data, str) else []


def is_variable(name: str) -> bool:
    """Whether a word is one that people name environment variables with, and no key."""
    words = name.split('_')
    return (re.fullmatch(r'[A-Z_][A-Z0-9_]*', name) is not None and not holds_key(name)
            and not any(len(word) >= 16 and any(map(str.isdigit, word)) for word in words))


def _is_random(word: str) -> bool:
    digits = any(map(str.isdigit, word))
    letters = word.lower() != word.upper()
    mixed = word.lower() != word and word.upper() != word
    if re.fullmatch(r'[0-9a-fA-F]{32,}', word):
        return digits and letters and not _HASH.fullmatch(word)
    return digits and mixed
