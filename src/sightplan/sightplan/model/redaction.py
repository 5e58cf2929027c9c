"""Secrets out of what is written down or said: results, recordings, messages and logs.

A text may be anybody's: a server's, an exception's of a plug-in. What is taken out is what the
environment holds as a secret, and what has the form of one.
"""

from __future__ import annotations

import logging
import os
import re

INSTEAD = '[key]'
SHORTEST_SECRET = 8
"""Characters; shorter ones stand for "no key", and may be words of answers."""
PREFIXED = re.compile(
    r'(?<![A-Za-z0-9])(?:(?:sk|pk|nvapi|glpat)-[A-Za-z0-9_-]{0,200}(?=\d|[A-Z])[\w-]{6,}'
    r'|(?:xai|pplx)-[A-Za-z0-9]{16,}'
    r'|(?:gsk|hf|csk|r8|fw|ghp|gho)_(?=[A-Za-z]*\d|[a-z]*[A-Z])[A-Za-z0-9]{8,}'
    r'|AIza[\w-]{8,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{10,}\.)')
"""Keys that say by their beginning whose they are."""
_AUTHORIZATION = re.compile(
    r'''(?i)\b(authorization["']?\s*[:=]\s*["']?)(?:(?:basic|bearer)\s+)?[^\s"',;}]+''')
_BEARER = re.compile(r'(?i)\bbearer\s+(?=\S*[\d._-])[^\s"\',;]{8,}')
_USER = re.compile(r'://[^/\s"\'@]+@')
_NAME = re.compile(r'(?i)(?:^|_)(?:(?:api|access|secret|private)?key|token|secret|password|passwd'
                   r'|credentials?)$')


def environment_secrets() -> list[str]:
    """Values of variables whose names end as those of secrets do; the longest first.

    Paths, numbers and plain words are none.
    """
    found = {value.strip() for name, value in os.environ.items() if _NAME.search(name)}
    return sorted((value for value in found if len(value) >= SHORTEST_SECRET
                   and not value.startswith(('/', '~', './'))
                   and not value.isdigit() and not value.isalpha()), key=len, reverse=True)


def without_secrets(text: str) -> str:
    """The text with ``[key]`` for what the environment holds as a secret or looks like one."""
    for secret in environment_secrets():
        text = text.replace(secret, INSTEAD)
    text = _AUTHORIZATION.sub(rf'\1{INSTEAD}', text)
    for pattern in (_BEARER, PREFIXED):
        text = pattern.sub(INSTEAD, text)
    return _USER.sub(f'://{INSTEAD}@', text)


class Formatter(logging.Formatter):
    """A log's formatter whose lines, tracebacks included, are without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        return without_secrets(super().format(record))
