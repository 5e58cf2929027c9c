"""What the replies of models have in common: thoughts first, and an answer between tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

_THOUGHT = '<think>'
_THOUGHTS_END = re.compile('</think>', re.IGNORECASE)
_BEGUN = re.compile(r'<answer>(?!\s*</answer>)', re.IGNORECASE)
_END = re.compile('</answer>', re.IGNORECASE)


def after_thoughts(text: str) -> str:
    """What a reply says after its thoughts, ``<think>...</think>``.

    The opening tag may be missing, where it was the prompt that opened it. Of thoughts that do not
    end nothing is left.
    """
    rest = text[_thoughts_end(text):]
    return '' if rest.lstrip()[:len(_THOUGHT)].lower() == _THOUGHT else rest


def without_surrogates(text: str) -> str:
    """A text that can be written: each half of a character that JSON escapes left alone is U+FFFD.

    Two halves that stand together become their character.
    """
    return text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')


def begins_unknown(token: str) -> bool:
    """Whether a token in small letters begins the word "unknown", with two letters or more."""
    return len(token) > 1 and 'unknown'.startswith(token)


def is_answered(text: str) -> bool:
    """Whether an answer has been given and closed after the thoughts: a tag with a content."""
    rest = after_thoughts(text)
    begun = _BEGUN.search(rest)
    return begun is not None and _END.search(rest, begun.end()) is not None


def answer_place(pieces: Sequence[str], tagged: bool = True) -> int | None:
    """Which token of a reply begins the answer: the first that holds a letter or digit.

    Args:
        pieces: the reply's tokens as texts.
        tagged: whether the answer stands in ``<answer>...</answer>``, of which the last one that
            holds something counts; else all that follows the thoughts is the answer.

    Returns:
        Index into ``pieces``; None if there is no answer, or none that begins with a token of its
        own (one that holds the end of the tag, too, tells nothing about the answer alone).
    """
    whole = ''.join(pieces)
    if not after_thoughts(whole):
        return None
    start, limit = _thoughts_end(whole), len(whole)
    if tagged:
        begun = list(_BEGUN.finditer(whole, start))
        if not begun:
            return None
        start = begun[-1].end()
        closed = _END.search(whole, start)
        limit = closed.start() if closed else limit
    end = 0
    for index, piece in enumerate(pieces):
        begin, end = end, end + len(piece)
        if any(char.isalnum() for char in whole[max(begin, start):min(end, limit)]):
            return index if begin >= start else None
    return None


def _thoughts_end(text: str) -> int:
    return max((match.end() for match in _THOUGHTS_END.finditer(text)), default=0)
