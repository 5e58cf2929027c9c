"""Finds the beginning of the answer in a reply: its tag, and its first token."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sightplan.model.reply_text import after_thoughts, answer_mark_spans, thought_spans

_BEGUN = re.compile(r'<answer>(?!\s*</answer>)', re.IGNORECASE)
_END = re.compile('</answer>', re.IGNORECASE)


def without_surrogates(text: str) -> str:
    """A text that can be written: each half of a character that JSON escapes left alone is U+FFFD.

    Two halves that stand together become their character, and so do the bytes that Python keeps
    as halves of characters where it reads a command line in ASCII.
    """
    try:
        return text.encode('utf-8', 'surrogateescape').decode()
    except UnicodeError:
        pass
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
    """Find the token of a reply that begins the answer: the first with a letter or digit.

    Args:
        pieces: the reply's tokens as texts.
        tagged: whether the answer stands in ``<answer>...</answer>``, of which the last one that
            is not empty counts; else the whole reply without its thoughts is the answer.

    Returns:
        Index into ``pieces``; None if there is no answer, or none that begins with a token of its
        own (one that holds the end of the tag, too, tells nothing about the answer alone).
    """
    whole = ''.join(pieces)
    parts, end = [], 0
    for begin, stop in sorted([*thought_spans(whole), *answer_mark_spans(whole)]):
        if begin < end:
            continue
        parts += [whole[end:begin], ' ' * (stop - begin)]
        end = stop
    said = ''.join((*parts, whole[end:]))
    start, limit = 0, len(said)
    if tagged:
        begun = list(_BEGUN.finditer(said))
        if not begun:
            return None
        start = begun[-1].end()
        closed = _END.search(said, start)
        limit = closed.start() if closed else limit
    end = 0
    for index, piece in enumerate(pieces):
        begin, end = end, end + len(piece)
        if any(char.isalnum() for char in said[max(begin, start):min(end, limit)]):
            return index if begin >= start and said[begin:end] == piece else None
    return None
