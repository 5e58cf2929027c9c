"""Words of instructions: the lexicon, and how a text becomes a list of known spellings."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightplan.model.reading import Record, read_file

FILE = Path(__file__).with_name('lexicon.yaml')
SENTENCE_END, COMMA, COLON = '.', ',', ':'
ENDS = (SENTENCE_END, COMMA, COLON, '')
"""Marks that end a clause; the empty one stands for the end of the text."""
_LEAST_LETTERS = 5
"""Fewest letters of a noun whose spelling is corrected by one letter."""


class NounWords(Record):
    """Nouns with one meaning.

    Attributes:
        words: singulars and plurals.
        means: sets of categories, the likeliest first.
        as_place: the same, where things are put in or on it; empty: as ``means``.
        colour: that the noun says besides; '' for none.
    """

    words: tuple[str, ...]
    means: tuple[tuple[str, ...], ...]
    as_place: tuple[tuple[str, ...], ...] = ()
    colour: str = ''


class Lexicon(Record):
    """Content of ``lexicon.yaml``, which explains its fields."""

    things: tuple[NounWords, ...]
    groups: tuple[NounWords, ...]
    places: tuple[NounWords, ...]
    cabinet: tuple[str, ...]
    drawer: tuple[str, ...]
    table: tuple[str, ...]
    anything: tuple[str, ...]
    everything: tuple[str, ...]
    colours: dict[str, str]
    shades: tuple[str, ...]
    parts: tuple[str, ...]
    numbers: dict[str, int]
    articles: tuple[str, ...]
    descriptive: tuple[str, ...]
    single: tuple[str, ...]
    other: tuple[str, ...]
    levels: dict[str, str]
    where_before: dict[str, tuple[str, ...]]
    where_after: dict[str, tuple[str, ...]]
    related: dict[str, tuple[str, ...]]
    seen: tuple[str, ...]
    relative: tuple[str, ...]
    lying: tuple[str, ...]
    into: tuple[str, ...]
    onto: tuple[str, ...]
    toward: tuple[str, ...]
    off: tuple[str, ...]
    but: tuple[str, ...]
    verbs: dict[str, tuple[str, ...]]
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    gone: tuple[str, ...]
    there: tuple[str, ...]
    pronouns: dict[str, int]
    nothing_moved: tuple[str, ...]
    idle: tuple[str, ...]
    idle_first: tuple[str, ...]
    connectives: tuple[str, ...]
    inherits: tuple[str, ...]
    remarks: tuple[str, ...]
    people: tuple[str, ...]
    said_of_things: tuple[str, ...]
    heavy: tuple[str, ...]
    spellings: dict[str, str]


@functools.cache
def lexicon() -> Lexicon:
    """Read the lexicon; the file is read once a process."""
    return read_file(Lexicon, FILE)


@dataclass(frozen=True, slots=True)
class Noun:
    """Meaning of a noun.

    Attributes:
        kinds: sets of categories, the likeliest first; empty: anything.
        as_place: the same where something is put in or on it.
        plural: whether its form is a plural's; None where the form does not tell.
        colour: that it says besides.
    """

    kinds: tuple[tuple[str, ...], ...]
    as_place: tuple[tuple[str, ...], ...]
    plural: bool | None
    colour: str = ''


class Phrases:
    """Finds the longest of some phrases at a position of a text.

    Args:
        phrases: each with what it stands for.
    """

    def __init__(self, phrases: Iterable[tuple[str, object]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], object]]] = {}
        for phrase, value in phrases:
            words = tuple(phrase.split())
            self._by_first.setdefault(words[0], []).append((words, value))
        for options in self._by_first.values():
            options.sort(key=lambda one: -len(one[0]))

    def at(self, tokens: Sequence[str], index: int) -> tuple[int, object] | None:
        """Return length and value of the longest phrase at an index; None if there is none."""
        for words, value in self._by_first.get(tokens[index], ()) if index < len(tokens) else ():
            if tuple(tokens[index : index + len(words)]) == words:
                return len(words), value
        return None


@functools.cache
def nouns() -> Mapping[str, Noun]:
    """Return all nouns by their words."""
    words = lexicon()
    found: dict[str, Noun] = {}
    for group, plural in ((words.things, None), (words.places, None), (words.groups, True)):
        for one in group:
            for form in one.words:
                number = _is_plural(form) if plural is None else plural
                found[form] = Noun(one.means, one.as_place or one.means, number, one.colour)
    for form in words.anything:
        found[form] = Noun((), (), form == 'stuff' or _is_plural(form))
    for form in words.cabinet:
        found[form] = Noun((('cabinet',),), (('cabinet',),), False)
    return found


def _is_plural(form: str) -> bool:
    first = form.split(' of ')[0]
    return first.endswith('s') and not first.endswith(('ss',)) and first not in ('chest',)


@functools.cache
def noun_phrases() -> Phrases:
    """Return the nouns as phrases."""
    return Phrases(nouns().items())


@functools.cache
def known_words() -> frozenset[str]:
    """Return all words that stand in the lexicon."""
    found: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, str):
            found.update(value.split())
        elif isinstance(value, Mapping):
            for key, one in value.items():
                collect(key)
                collect(one)
        elif isinstance(value, NounWords):
            collect(value.words)
        elif isinstance(value, Iterable):
            for one in value:
                collect(one)

    words = lexicon()
    for name in Lexicon.model_fields:
        collect(getattr(words, name))
    return frozenset(found)


@functools.cache
def _spelled() -> Mapping[str, str]:
    """Return wrong spellings, by one letter too many, too few or two swapped, of long nouns."""
    found: dict[str, str] = {}
    words = {word for form in nouns() for word in form.split()} | {
        *lexicon().colours,
        'drawer',
        'drawers',
    }
    for word in sorted(words):
        if len(word) < _LEAST_LETTERS:
            continue
        wrong = {word[:k] + word[k + 1 :] for k in range(1, len(word))}
        wrong |= {word[:k] + word[k + 1] + word[k] + word[k + 2 :] for k in range(len(word) - 1)}
        wrong |= {word[:k] + word[k] + word[k:] for k in range(len(word))}
        for one in wrong:
            if one not in known_words():
                found[one] = '' if found.get(one, word) != word else word
    return {wrong: right for wrong, right in found.items() if right}


def normalised(text: str) -> list[str]:
    """Return the words of a text in known spellings.

    Commas, dashes and brackets become ``,``; colons stay ``:``; ends of sentences
    become ``.``. Pictograms are left out.
    """
    plain = text.lower().replace('\u2019', "'").replace('\u2018', "'")
    plain = re.sub(
        '[\U0001f000-\U0001ffff\u2600-\u27bf\ufe0f\u200d]|(?<!\\w)[:;]-?[)(dp](?!\\w)', ' ', plain
    )
    plain = re.sub('["\u201c\u201d*_]', '', plain.replace('\u2026', '...'))
    plain = re.sub(r"(cabinet|cupboard|chest)'s (?=\w+ drawer|drawer)", '', plain)
    plain = re.sub(r'-colou?red\b', '', plain)
    plain = re.sub(r'(?<=\w)-(?=\w)', ' ', plain)
    plain = re.sub(r'([a-z])\1{2,}', r'\1', plain)
    plain = re.sub(r'[.!?\n]+', ' . ', plain)
    plain = re.sub(r'\s-+\s|[\u2013\u2014()]|--+|;', ' , ', plain)
    plain = plain.replace(':', ' : ')
    raw = re.findall(r"[a-z']+|\d+|[^\sa-z\d']", plain)
    found: list[str] = []
    for word in raw:
        found += _respelled(word)
    return found


def _respelled(word: str) -> list[str]:
    words = lexicon()
    word = word.strip("'") if word not in words.spellings else word
    if word in words.spellings:
        return words.spellings[word].split()
    if word.isdigit():
        return [
            next(
                (
                    name
                    for name, value in words.numbers.items()
                    if str(value) == word and name not in ('both', 'pair')
                ),
                word,
            )
        ]
    for ending, full in (
        ("n't", 'not'),
        ("'re", 'are'),
        ("'ve", 'have'),
        ("'ll", 'will'),
        ("'d", 'would'),
        ("'m", 'am'),
        ("'s", 'is'),
    ):
        if word.endswith(ending) and word != ending:
            stem = word.removesuffix(ending)
            stem = {'ca': 'can', 'wo': 'will'}.get(stem, stem)
            if (stem, full) == ('let', 'is'):
                return ['let', 'us']
            return [*_respelled(stem), full]
    if not word:
        return []
    return [_spelled().get(word, word)]
