"""Read JSON from untrusted sources: integers of more than 100 characters become floats.

Python's integers have no bound, and one that is too large for a float raises an OverflowError
wherever it becomes one. JSON knows only numbers: what has more digits than anybody counts with is
a float from the beginning, infinite if need be, as 1e999 is, and refused where a finite number or
an integer is needed.
"""

from __future__ import annotations

import json
import re
from typing import Any

MOST_DIGITS = 100
"""Most characters of an integer in JSON or YAML."""


def load_json(text: str | bytes) -> Any:
    """Return the data of a JSON text; integers of more than MOST_DIGITS characters are floats.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_int=_integer)


_TEXT = r'(?P<text>"(?:[^"\\]|\\.)*+")'
_BESIDE = (re.compile(_TEXT + r'|//[^\n]*|/\*.*?\*/', re.DOTALL),
           re.compile(_TEXT + r'|,(?=\s*[\]}])', re.DOTALL))
"""A text in quotes; or what is no JSON and often stands in files: comments, and last commas."""


def load_commented_json(text: str) -> Any:
    """Read JSON with comments (``//``, ``/* */``) and commas after last entries, as ``load_json``.

    Raises:
        ValueError: it is no JSON even without them; says what is wrong with the text as it is.
        RecursionError: it is nested too deeply.
    """
    try:
        return load_json(text)
    except ValueError as error:
        plain = text
        for pattern in _BESIDE:
            plain = pattern.sub(lambda found: found['text'] or '', plain)
        try:
            return load_json(plain)
        except ValueError:
            raise error from None


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= MOST_DIGITS else float(text)
