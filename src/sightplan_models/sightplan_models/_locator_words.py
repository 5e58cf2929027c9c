"""Texts as the ``embedded`` locator reads them: words it knows, and pieces of all words.

A word that was never learned from still has pieces (runs of 3 to 5 letters, beginning and end
marked) that other words have, too, as in fastText (arXiv 1607.04606).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache

MOST_WORDS = 40
"""Later words of a text are not read."""
UNKNOWN = 0
"""Id of all words that are not known."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LEAST, _LONGEST, _MOST = 3, 5, 40
_MADE_UP = re.compile(r'(?:[bcdfghklmnprstvwz][aeiou]){1,3}')
"""Pattern of made-up words in training texts (``training/locator_wording.py``)."""
_REAL = frozenset((
    'banana', 'bare', 'be', 'before', 'beside', 'bite', 'cake', 'come', 'cube', 'do', 'game',
    'give', 'go', 'have', 'he', 'here', 'hole', 'like', 'locate', 'made', 'make', 'me', 'more',
    'move', 'no', 'safe', 'same', 'side', 'so', 'take', 'to', 'we'))
"""Real words that match ``_MADE_UP``; they are not treated as made up."""
_ASKING = frozenset((
    'are', 'could', 'is', 'kindly', 'please', 'see', 'seen', 'shown', 'that', 'the', 'there',
    'these', 'this', 'those', 'where', 'which', 'who', 'whom', 'whose', 'would', 'you', 'your'))
"""Words that neither name nor relate things: a target means the same without them."""
COLOURS = ('red', 'orange', 'yellow', 'green', 'blue', 'purple', 'pink', 'brown', 'black', 'white',
           'grey')
"""Colours that have a name."""
_TINTS = {**{name: number for number, name in enumerate(COLOURS)}, 'gray': COLOURS.index('grey')}
_MIRRORED = {'left': 'right', 'leftmost': 'rightmost', 'leftward': 'rightward',
             'lefthand': 'righthand', 'leftwards': 'rightwards', 'westernmost': 'easternmost',
             'clockwise': 'counterclockwise'}
_MIRROR = _MIRRORED | {right: left for left, right in _MIRRORED.items()}


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in lower case; of none at all, one empty word."""
    return tuple(_WORD.findall(text.lower())[:MOST_WORDS]) or ('',)


def unknown_words(text: str, known: Container[str]) -> tuple[str, ...]:
    """The words of a text that are not known or not read, each once, in their order.

    Args:
        text: any; one without words has '' as an unknown one.
        known: words that were learned from; made-up ones among them mean nothing.
    """
    words = _WORD.findall(text.lower())
    names = [word for word in words if word not in _ASKING]
    if not names:
        return ('',)
    return tuple(dict.fromkeys(word for word in (*names, *words[MOST_WORDS:])
                               if word not in known or is_made_up(word)
                               or word in words[MOST_WORDS:]))


def is_made_up(word: str) -> bool:
    """Whether a word matches the pattern of made-up training words, such as "tuba"."""
    return word not in _REAL and _MADE_UP.fullmatch(word) is not None


@lru_cache(maxsize=65536)
def pieces(word: str, count: int) -> tuple[int, ...]:
    """Indices below ``count`` of a word's pieces; the first one is the word as a whole."""
    marked = f'<{word}>'
    found = [marked, *(marked[i:i + size] for size in range(_LEAST, _LONGEST + 1)
                       for i in range(len(marked) - size + 1))]
    return tuple(zlib.crc32(piece.encode()) % count for piece in found[:_MOST])


def ids_of(words: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """Ids of words; unknown words have the id ``UNKNOWN``."""
    return [known.get(word, UNKNOWN) for word in words]


def tints(words: Sequence[str]) -> list[int]:
    """Numbers of the colours that words name; -1 for words that name none."""
    return [_TINTS.get(word, -1) for word in words]


def mirrored(words: Sequence[str]) -> tuple[str, ...]:
    """Words that describe the picture's mirror image."""
    return tuple(_MIRROR.get(word, word) for word in words)
