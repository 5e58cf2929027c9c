"""Texts as the ``embedded`` locator reads them: words it knows, and pieces of all words.

A word that was never learned from still has pieces (runs of 3 to 5 letters, beginning and end
marked) that other words have, too, as in fastText (arXiv 1607.04606).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

MOST_WORDS = 40
"""Later words of a text are not read."""
UNKNOWN = 0
"""Id of all words that are not known."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LEAST, _LONGEST, _MOST = 3, 5, 40
_MIRRORED = {'left': 'right', 'leftmost': 'rightmost', 'leftward': 'rightward',
             'lefthand': 'righthand', 'leftwards': 'rightwards', 'westernmost': 'easternmost',
             'clockwise': 'counterclockwise'}
_MIRROR = _MIRRORED | {right: left for left, right in _MIRRORED.items()}


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in lower case; of none at all, one empty word."""
    return tuple(_WORD.findall(text.lower())[:MOST_WORDS]) or ('',)


@lru_cache(maxsize=65536)
def pieces(word: str, count: int) -> tuple[int, ...]:
    """Which of ``count`` kinds of pieces a word has; the first one is the word as a whole."""
    marked = f'<{word}>'
    found = [marked, *(marked[i:i + size] for size in range(_LEAST, _LONGEST + 1)
                       for i in range(len(marked) - size + 1))]
    return tuple(zlib.crc32(piece.encode()) % count for piece in found[:_MOST])


def ids_of(words: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """Ids of words."""
    return [known.get(word, UNKNOWN) for word in words]


def mirrored(words: Sequence[str]) -> tuple[str, ...]:
    """What a text says of the picture's mirror image."""
    return tuple(_MIRROR.get(word, word) for word in words)
