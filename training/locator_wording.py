"""Rewordings of tasks, so that a locator learns the meaning and not the wording.

``locator_wording.yaml`` lists the phrasings that mean the same. None of them is a phrasing that
scenes keep for tests; ``check`` finds those that are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_suffix('.yaml')
SENTENCE_RATE, NAME_RATE, PHRASE_RATE, BEGIN_RATE, END_RATE, NOISE_RATE, DROP_RATE = (
    0.6, 0.5, 0.3, 0.25, 0.1, 0.1, 0.04)
"""Chances of other sentences, names and phrases, of a beginning, an end, a word that there is not,
and of losing a little word."""
_LITTLE = frozenset({'the', 'a', 'an', 'this', 'that', 'please', 'is', 'of', 'to', 'at'})
_COLOURS = ('red', 'orange', 'yellow', 'green', 'blue', 'purple', 'pink', 'brown', 'black',
            'white', 'grey')
_SLOT = re.compile(r'\{(\w+)\}')


class Wording:
    """Rewords tasks at random.

    Args:
        nouns: names of categories, which may follow a colour.
    """

    def __init__(self, nouns: Iterable[str]) -> None:
        known = '|'.join(map(re.escape, sorted(nouns, key=len, reverse=True))) or '(?!)'
        found = _read()
        slots = {'n': f'(?:pair of )?(?:{known})', 'c': '|'.join(_COLOURS), 'p': r'\w+'}
        self._names = [([_pattern(way, slots) for way in group[:2]], group)
                       for group in found['names']]
        self._sentences = [([_pattern(way, {}) for way in group], group)
                           for group in found['sentences']]
        self._begin, self._end = found['begin'], found['end']
        self._groups: dict[str, list[Sequence[str]]] = {}
        for group in found['phrases']:
            for phrase in group:
                self._groups.setdefault(phrase, []).append(group)
        longest = sorted(self._groups, key=len, reverse=True)
        self._phrases = re.compile(r'\b(' + '|'.join(map(re.escape, longest)) + r')\b')

    def reworded(self, text: str, rng: random.Random) -> str:
        """Return ``text`` with some words and phrases exchanged at random, often unchanged."""
        text = ' '.join(text.lower().split())
        text = self._named(self._sentence(text, rng), rng)

        def other(match: re.Match[str]) -> str:
            phrase = match[0]
            return (rng.choice(rng.choice(self._groups[phrase]))
                    if rng.random() < PHRASE_RATE else phrase)

        words = [word for word in self._phrases.sub(other, text).split()
                 if word not in _LITTLE or rng.random() >= DROP_RATE]
        if rng.random() < NOISE_RATE:
            words.insert(rng.randrange(len(words) + 1), made_up(rng))
        begin = [rng.choice(self._begin)] if rng.random() < BEGIN_RATE else []
        end = [rng.choice(self._end)] if rng.random() < END_RATE else []
        return ' '.join([*begin, *words, *end])

    def _sentence(self, text: str, rng: random.Random) -> str:
        """Another sentence of the same meaning."""
        if rng.random() >= SENTENCE_RATE:
            return text
        for patterns, group in self._sentences:
            for pattern in patterns:
                match = pattern.fullmatch(text)
                if match:
                    fits = [way for way in group
                            if set(_SLOT.findall(way)) == set(match.groupdict())]
                    return _filled(rng.choice(fits), match)
        return text

    def _named(self, text: str, rng: random.Random) -> str:
        """Other names of the things in a sentence."""
        done = ''
        for patterns, group in self._names:
            for pattern in patterns:
                match = pattern.search(text)
                if match:
                    if rng.random() < NAME_RATE:
                        done = _filled(rng.choice(group), match)
                        return (self._named(text[:match.start()], rng) + done
                                + self._named(text[match.end():], rng))
                    return text[:match.end()] + self._named(text[match.end():], rng)
        return text


def _pattern(way: str, slots: dict[str, str]) -> re.Pattern[str]:
    """Pattern that finds a phrasing, with a named group for each slot."""
    parts = _SLOT.split(way.lower())
    return re.compile(r'(?<!\w)' + ''.join(
        f'(?P<{part}>{slots.get(part, ".+")})' if k % 2 else re.escape(part)
        for k, part in enumerate(parts)) + r'(?!\w)')


def _filled(way: str, match: re.Match[str]) -> str:
    return _SLOT.sub(lambda slot: match[slot[1]], way.lower())


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return found


def check(held_out: Iterable[str]) -> list[str]:
    """List our phrasings that scenes keep for tests, whatever the names of their slots."""
    def bare(way: str) -> str:
        return ' '.join(re.findall(r'[a-z]+|_', _SLOT.sub('_', way.lower())))  # deaf to signs

    kept = {bare(way) for way in held_out}
    found = _read()
    return [*(way for part in ('sentences', 'names') for group in found[part] for way in group
              if bare(way) in kept),
            *(way for way in found['begin'] if bare(f'{way} _') in kept),
            *(way for way in found['end'] if bare(f'_ {way}') in kept)]


def made_up(rng: random.Random) -> str:
    """A word that there is not."""
    return ''.join(rng.choice('bcdfghklmnprstvwz') + rng.choice('aeiou')
                   for _ in range(rng.randint(1, 3)))
