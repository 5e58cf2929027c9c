"""Remove secrets from texts: results, recordings, messages and logs.

A text may be anybody's: a server's, an exception's of a plug-in. What is taken out is what the
environment holds as a secret, and what has the form of one. Who shortens a text takes secrets out
first: of half of one nobody could tell that it is one.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import sys
import traceback
import urllib.parse
from pathlib import Path
from types import TracebackType

INSTEAD = '[key]'
SHORTEST_SECRET = 8
"""Fewest characters of a secret; shorter values stand for "no key", or may be plain words."""
PREFIXED = re.compile(
    r'(?<![A-Za-z0-9])(?:(?:sk|pk|nvapi|glpat|xox[bp])-[A-Za-z0-9_-]{0,200}(?=\d|[A-Z])[\w-]{6,}'
    r'|(?:xai|pplx)-[A-Za-z0-9]{16,}'
    r'|(?:gsk|hf|csk|r8|fw|gh[oprsu]|[sr]k_(?:live|test))_(?=[A-Za-z]*\d|[a-z]*[A-Z])'
    r'[A-Za-z0-9]{8,}'
    r'|github_pat_\w{8,}|ya29\.[\w-]{8,}'
    r'|AIza[\w-]{8,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{10,500}\.(?:[\w-]+(?:\.[\w-]+)?)?)')
"""Pattern of keys whose prefix identifies their provider."""
_AMBIGUOUS, _KEY_CHARS = re.compile(r'(?:gsk|hf|csk|r8|fw)_|(?:sk|pk)-'), 22
"""Ambiguous prefixes of keys, and the fewest characters of a certain key with such a prefix.

Shorter ones may be names of folders or models: they are accepted as settings, but removed from
texts, too.
"""
_AUTHORIZATION = re.compile(
    r'''(?i)\b(authorization(?:["']\s*[:=,]|\s*[:=])\s*[\[(]?(?:b?["'])?)'''
    r'''(?:(?:digest|hawk|oauth|signature|aws4-[\w-]+)\s[^\r\n]+'''
    r'''|(?:[a-z][\w-]*[ \t]+)?[^\s"',;}]+)''')
"""Pattern of an ``Authorization`` header with its value.

The value is the rest of the line for schemes with several parts, such as Digest; otherwise it is
one word, with the scheme before it if there is one.
"""
_BEARER = re.compile(r'(?i)\bbearer\s+(?=\S*[\d._-])[^\s"\',;]{8,}')
_USER = re.compile(
    r'''://(?:[^/\s"'@:\[]+:(?!\d+(?:/|$))(?:[^\s"']|["'](?=[\w@/])){0,200}|[^/\s"'@]+)@''')
"""Pattern of user name and password in a URL; a password may have any characters but blanks.

Lengths are bounded here and above, because a text from outside may hold a thousand such starts.
"""
_QUERY = re.compile(r'''(?i)([?&](?:[a-z]+[_-])*(?:api_?key|key|token|secret|password|passwd'''
                    r'''|signature)=)[^&\s"'#]+''')
_NAME = re.compile(
    r'(?i)(?:(?:^|_|api|access|secret|private|auth|account|master|encryption|openai)key'
    r'|token|secret|password|passwd|credentials?)$')
_RANDOM = re.compile(r'(?=[^/]*\d)(?=[^/]*[a-z])(?=[^/]*[A-Z])[^/.]{12,}')


def environment_secrets() -> list[str]:
    """Return the values of environment variables with names of secrets, longest first.

    Paths, numbers and plain words do not count as secrets.
    """
    found = {value.strip() for name, value in os.environ.items() if _names_a_secret(name)}
    return sorted((value for value in found if len(value) >= SHORTEST_SECRET
                   and not value.isdigit() and not value.isalpha() and not _is_path(value)),
                  key=len, reverse=True)


@functools.lru_cache(maxsize=1024)
def _names_a_secret(variable: str) -> bool:
    return _NAME.search(variable) is not None


def without(text: str, secret: str) -> str:
    """Return the text with ``[key]`` in place of a secret, plain or quoted (Python, JSON, URL)."""
    quoted = json.dumps(secret)[1:-1]
    for form in {secret, repr(secret)[1:-1], secret.replace("'", "\\'"), quoted,
                 quoted.replace('/', r'\/'),
                 *(quote(secret, safe, errors='surrogateescape') for safe in ('', '/')
                   for quote in (urllib.parse.quote, urllib.parse.quote_plus))}:
        text = text.replace(form, INSTEAD)
    return text


def without_secrets(text: str) -> str:
    """Return the text with ``[key]`` in place of the environment's secrets and likely ones."""
    for secret in environment_secrets():
        text = without(text, secret)
    text = _AUTHORIZATION.sub(rf'\1{INSTEAD}', text)
    for pattern in (_BEARER, PREFIXED):
        text = pattern.sub(INSTEAD, text)
    return _QUERY.sub(rf'\1{INSTEAD}', _USER.sub(f'://{INSTEAD}@', text))


def holds_secret(text: str) -> bool:
    """Whether a part of a text is a secret of the environment, or is certainly a key."""
    return (any(len(found[0]) >= _KEY_CHARS or not _AMBIGUOUS.match(found[0])
                for found in PREFIXED.finditer(text))
            or any(without(text, secret) != text for secret in environment_secrets()))


def print_exception(kind: type[BaseException], error: BaseException,
                    where: TracebackType | None) -> None:
    """Print an unexpected exception without secrets; usable as ``sys.excepthook``."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)
        return
    sys.stderr.write(without_secrets(''.join(traceback.format_exception(kind, error, where))))


class Formatter(logging.Formatter):
    """A log formatter that removes secrets from lines and tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted record without secrets."""
        return without_secrets(super().format(record))


def _is_path(text: str) -> bool:
    """Whether a text is a path: it has no random part, or its folder exists."""
    if '/' not in text:
        return False
    if text.startswith(('/', '~', './')) and not _RANDOM.search(text):
        return True
    try:
        path = Path(text).expanduser()
        return path.exists() or (path.is_absolute() and path.parent != Path(path.anchor)
                                 and path.parent.exists())
    except (OSError, ValueError, RuntimeError):
        return False
