"""Noun phrases of instructions: from words to descriptions of things."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightplan.grounding.instructions.uses import doubtful_for, noun_at, use_at
from sightplan.grounding.instructions.wishes import Relation, Things, Where
from sightplan.grounding.instructions.words import (
    COMMA,
    SENTENCE_END,
    Noun,
    Phrases,
    lexicon,
    noun_phrases,
)
from sightplan.model import InputError
from sightplan.queries.detect import CABINET, DRAWER, DRAWERS, PLACES

ONE = 'one'
"""Name of the head of a phrase such as "the red one", whose kind an earlier noun tells."""
PENDING = (('?',),)
"""Kinds of a description whose kind an earlier noun tells."""
IT = (('it',),)
"""Kinds of an anchor that is a pronoun."""


class UnreadError(InputError):
    """Raised for an instruction that the reader cannot read; the message names the part."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase.

    Attributes:
        things: what it describes; without kinds where ``head`` tells that they are another's.
        head: '' for a noun; ``one`` for "the red one" or "the red"; ``it``, ``them``, ``table``,
            ``rest``, ``drawer``.
        as_place: what the noun means where something is put in or on it.
        start, end: its words.
        pointed: whether "that" or "the same" points at something named before.
        bare: whether there are no words but an article, a number and the noun.
        only_count: whether it only repeats how many there are, as "both of them" does.
    """

    things: Things
    head: str
    as_place: tuple[tuple[str, ...], ...]
    start: int
    end: int
    pointed: bool = False
    bare: bool = False
    only_count: bool = False


@functools.cache
def before_words() -> Phrases:
    """Return the words before a noun that tell where something is."""
    return Phrases(
        (word, Relation(name)) for name, words in lexicon().where_before.items() for word in words
    )


@functools.cache
def after_words() -> Phrases:
    """Return the phrases after a noun that tell where something is."""
    return Phrases(
        (phrase, Relation(name))
        for name, phrases in lexicon().where_after.items()
        for phrase in phrases
    )


@functools.cache
def related_words() -> Phrases:
    """Return the phrases that tell where something is beside something else."""
    return Phrases(
        (phrase, Relation(name))
        for name, phrases in lexicon().related.items()
        for phrase in phrases
    )


@functools.cache
def relative_words() -> Phrases:
    """Return the words that begin a relative clause."""
    return Phrases((phrase, '') for phrase in lexicon().relative)


@functools.cache
def but_words() -> Phrases:
    """Return the words that leave something out."""
    return Phrases((phrase, '') for phrase in lexicon().but)


_QUANTIFIERS = ('all', 'both', 'every', 'each', 'any', 'some', 'whatever', 'whichever')
_POINTING = ('that', 'this', 'these', 'those', 'same')
_MODAL_AFTER_CAN = (
    'go',
    'be',
    'you',
    'stay',
    'i',
    'we',
    'have',
    'also',
    'just',
    'end',
    'stand',
    'sit',
    'lie',
    'all',
    'come',
    'both',
    'then',
    'u',
    'please',
    'keep',
    'remain',
)


class PhraseReader:
    """Reads noun phrases at positions of a text.

    Args:
        tokens: its words.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tuple(tokens)
        self._mention = 0

    def word(self, index: int) -> str:
        """Return the word at an index; '' after the last."""
        return self._tokens[index] if 0 <= index < len(self._tokens) else ''

    def said(self, start: int, end: int) -> str:
        """Return the words from one index to another."""
        return ' '.join(self._tokens[start:end])

    def read(self, start: int, nested: bool = False) -> Phrase | None:
        """Return the noun phrase that begins at an index; None if there is none.

        Raises:
            UnreadError: a noun phrase begins there that cannot be read; says why.
        """
        return _At(self, start, nested).phrase()

    def related(self, phrase: Phrase) -> Phrase:
        """Return a phrase with "next to the bowl" after it, which another clause could not use."""
        found = related_words().at(self._tokens, phrase.end)
        inner = None if found is None else self.read(phrase.end + found[0], nested=True)
        if found is None or inner is None or inner.head == 'table':
            return phrase
        where = Where(Relation(str(found[1])), (anchor_of(inner, phrase.things),))
        things = replace(
            phrase.things, where=(*phrase.things.where, where), total=None, any_of=False
        )
        return replace(phrase, things=things, end=inner.end, bare=False)

    def next_mention(self) -> int:
        """Return the number of a new description."""
        self._mention += 1
        return self._mention

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words."""
        return self._tokens


class _At:
    """The reading of one noun phrase."""

    def __init__(self, reader: PhraseReader, start: int, nested: bool) -> None:
        self._reader, self._start, self._at, self._nested = reader, start, start, nested
        self._words = lexicon()
        self._colours: list[str] = []
        self._where: list[Where] = []
        self._numbers: list[int] = []
        self._without: list[str] = []
        self._level = self._vague = self._rest = self._quantifier = ''
        self._opened: bool | None = None
        self._definite = self._pointed = self._indefinite = self._modified = False

    def _word(self, ahead: int = 0) -> str:
        return self._reader.word(self._at + ahead)

    def _use(self) -> Phrase | None:
        """Read "what one eats with", or a noun that names a use."""
        tokens = self._reader.tokens
        found = use_at(tokens, self._start, self._ends_use)
        if found is None:
            k = self._start
            while self._reader.word(k) in ('the', 'all', 'our', 'of', 'my'):
                k += 1
            kinds = noun_at(tokens, k)
            found = None if kinds is None else (k + 1, kinds, False)
        if found is None:
            return None
        self._at, kinds, any_of = found
        things = Things(
            (kinds,),
            number=1 if any_of else None,
            any_of=any_of,
            plural=not any_of,
            by_use=True,
            doubtful=doubtful_for(kinds),
            mention=self._reader.next_mention(),
            said=self._reader.said(self._start, self._at),
        )
        return Phrase(things, '', (kinds,), self._start, self._at)

    def _ends_use(self, index: int) -> bool:
        """Whether what is wanted of the described things begins at an index."""
        word = self._reader.word(index)
        if word in (
            'should',
            'must',
            'belongs',
            'belong',
            'goes',
            'go',
            'stays',
            'please',
            'ready',
        ):
            return True
        if (word, self._reader.word(index + 1)) in (
            ('has', 'to'),
            ('have', 'to'),
            ('is', 'to'),
            ('are', 'to'),
            ('needs', 'to'),
        ):
            return self._reader.word(index + 2) in ('be', 'go', 'lie', 'stay')
        if word in ('in', 'into', 'on', 'onto', 'to'):
            place = self._reader.read(index + 1, nested=True)
            if place is None:
                return False
            if place.head in (DRAWER, 'it'):
                return word != 'to'
            return bool(place.things.kinds) and place.things.kinds[0][0] in (*PLACES, CABINET)
        return False

    def phrase(self) -> Phrase | None:
        words = self._words
        tokens = self._reader.tokens
        use = self._use()
        if use is not None:
            return use
        everything = Phrases((w, '') for w in words.everything).at(tokens, self._at)
        if everything:
            self._at += everything[0]
            rest = ''
            if self._word() in ('else', 'other'):
                rest, self._at = 'else', self._at + 1
            self._quantifier = 'all'
            while self._word() in words.colours and not self._noun_at(self._at + 1):
                self._colours.append(words.colours[self._word()])
                self._at += 1
            return self._finish(Noun((), (), True), '', rest=rest)
        if self._word() in words.pronouns and not self._has_noun_after_pointing():
            return self._pronoun()
        part = self._part()
        if part is not None:
            return part
        self._before_noun()
        return self._head()

    # --- pronouns and parts ----------------------------------------------------------------------

    def _has_noun_after_pointing(self) -> bool:
        """Whether "this", "that", "these" or "those" stands before a noun or an adjective."""
        if self._word() not in _POINTING:
            return False
        probe = _At(self._reader, self._at + 1, True)
        probe._definite = True
        probe._before_noun()
        if (
            self._word(1) in self._words.numbers
            and probe._at == self._at + 2
            and not self._noun_at(probe._at)
            and self._reader.word(probe._at) != 'of'
        ):
            return False  # "these two"
        return (
            probe._at > self._at + 1
            or noun_phrases().at(self._reader.tokens, self._at + 1) is not None
            or self._word(1) in ('one', 'ones', *self._words.drawer, *self._words.table)
        )

    def _pronoun(self) -> Phrase:
        word = self._word()
        self._at += 1
        number = None
        if self._word() in ('both', 'all') and self._word(1) != 'of':
            number = 2 if self._word() == 'both' else None
            self._at += 1
            if self._word() in self._words.numbers and self._word() != 'one':
                number = self._words.numbers[self._word()]
                self._at += 1
        if word in ('these', 'those') and self._word() in self._words.numbers:
            number = self._words.numbers[self._word()]
            self._at += 1
        things = Things(
            plural=not self._words.pronouns[word],
            number=number,
            said=self._reader.said(self._start, self._at),
        )
        return Phrase(
            things, 'it' if self._words.pronouns[word] else 'them', (), self._start, self._at
        )

    def _part(self) -> Phrase | None:
        """Read "two of the mugs", "the rest of them", "both of them", "all three"."""
        at, words = self._at, self._words
        k = at + (
            self._reader.word(at) in ('the', 'any', 'just', 'all', 'only', 'those')
            and self._reader.word(at + 1) != 'of'
        )
        number, rest, quantifier = None, '', ''
        if self._reader.word(at) == 'all':
            quantifier = 'all'
        word = self._reader.word(k)
        if (
            word in ('rest', 'remainder', 'remaining')
            and self._reader.word(k + 1) != 'one'
            and (word != 'remaining' or self._reader.word(k + 1) == '')
        ):
            rest, k = 'rest', k + 1
        elif word in ('others',):
            rest, k = 'others', k + 1
        elif word == 'other' and (
            self._reader.word(k + 1) in words.numbers
            and self._reader.word(k + 1) != 'one'
            and not self._noun_at(k + 2)
        ):
            rest, number, k = 'others', words.numbers[self._reader.word(k + 1)], k + 2
        elif (
            word in words.numbers
            and self._reader.word(k + 1) == 'other'
            and (not self._noun_at(k + 2) and self._reader.word(k + 2) not in ('one', 'ones'))
        ):
            rest, number, k = 'others', words.numbers[word], k + 2
        elif word in ('both', 'all', 'each', 'any', 'some', 'either'):
            quantifier, k = word, k + 1
            number = 2 if word == 'both' else None
            if self._reader.word(k) in words.numbers and word == 'all':
                number, k = words.numbers[self._reader.word(k)], k + 1
        elif word in ('every', 'each') and self._reader.word(k + 1) in ('one', 'single'):
            quantifier, k = 'all', k + 2
            k += self._reader.word(k) == 'one'
        elif (side := self._side_of(k)) is not None:
            self._where.append(Where(side[1]))
            number, quantifier, k = 1, 'one', side[0]
        elif word in words.numbers:
            quantifier = 'all' if self._reader.word(at) == 'all' else 'some'
            number, k = words.numbers[word], k + 1
        elif word == 'couple' or (word == 'a' and self._reader.word(k + 1) == 'couple'):
            quantifier, number, k = 'some', 2, k + 1 + (word == 'a')
        elif word == 'of':
            return None
        else:
            return None
        pointed = self._reader.word(at) in ('the', 'those')
        if self._reader.word(k) != 'of':
            follows = self._reader.word(k)
            headless = (
                rest
                or (quantifier in ('both', 'all') and number is not None)
                or quantifier in ('both',)
            ) and not self._continues(k)
            if not headless or (not rest and follows in ('one', 'ones')):
                return None
            things = Things(
                plural=number != 1,
                number=number,
                rest=rest,
                mention=self._reader.next_mention(),
                said=self._reader.said(at, k),
            )
            only = not rest
            return Phrase(things, 'rest' if rest else 'them', (), at, k, only_count=only)
        inner = self._reader.read(k + 1, nested=True)
        if inner is None:
            return None
        if quantifier == 'both' and number == 2 and inner.head in ('them', 'it'):
            return Phrase(
                replace(inner.things, number=2), 'them', (), at, inner.end, only_count=True
            )
        if inner.head in ('them', 'it'):
            if quantifier in ('all', 'each'):
                return Phrase(
                    replace(inner.things, number=number, plural=True),
                    'them',
                    (),
                    at,
                    inner.end,
                    only_count=True,
                )
            if rest:
                return Phrase(
                    Things(
                        plural=number != 1,
                        number=number,
                        rest='others',
                        mention=self._reader.next_mention(),
                    ),
                    'rest',
                    (),
                    at,
                    inner.end,
                )
            if number is not None and not pointed:
                return Phrase(
                    Things(
                        PENDING,
                        plural=number > 1,
                        number=number,
                        any_of=True,
                        mention=self._reader.next_mention(),
                        said=self._reader.said(at, inner.end),
                    ),
                    ONE,
                    (),
                    at,
                    inner.end,
                )
            return None
        things = inner.things
        end = inner.end
        if rest:
            things = replace(
                things, rest='others', number=number, total=None, plural=number != 1, any_of=False
            )
        elif quantifier == 'both':
            things = replace(things, number=2, total=2, plural=True)
        elif quantifier in ('all', 'each'):
            things = replace(things, plural=True, number=number, total=number or things.total)
        elif quantifier in ('any', 'some', 'either') and number is None:
            if quantifier == 'some':
                raise UnreadError(f'of {self._reader.said(at, end)!r} it is not clear how many')
            things = replace(things, any_of=True, number=1, plural=False)
        else:
            inner_where = things.where
            own = tuple(self._where)
            nearest = inner_where and inner_where[-1].relation in _CHOOSING
            total = things.total if things.total is not None else things.number
            chosen = bool(own) or bool(nearest) or (pointed and things.any_of)
            things = replace(
                things,
                where=(*own, *inner_where),
                number=number,
                total=total,
                plural=(number or 1) > 1,
                any_of=not chosen,
            )
        things = replace(
            things, mention=self._reader.next_mention(), said=self._reader.said(at, end)
        )
        return replace(inner, things=things, start=at, end=end, bare=False)

    def _side_of(self, k: int) -> tuple[int, Relation] | None:
        """Return the index of "of" and the side in "the left one of the two balls"."""
        found = before_words().at(self._reader.tokens, k)
        if found is None:
            return None
        k += found[0]
        k += self._reader.word(k) == 'one'
        relation = Relation(str(found[1]))
        return (k, relation) if self._reader.word(k) == 'of' else None

    def _continues(self, k: int) -> bool:
        """Whether a noun phrase goes on at an index."""
        probe = _At(self._reader, k, True)
        probe._before_noun()
        return probe._at > k or self._noun_at(k) or self._reader.word(k) in ('one', 'ones')

    def _noun_at(self, k: int) -> bool:
        return (
            noun_phrases().at(self._reader.tokens, k) is not None
            or self._reader.word(k) in (*self._words.drawer, 'one', 'ones')
            or self._reader.word(k) in self._words.colours
        )

    # --- before the noun -------------------------------------------------------------------------

    def _before_noun(self) -> None:
        words = self._words
        while True:
            word, begin = self._word(), self._at
            if word in ('each', 'every') and self._word(1) == 'and':
                self._at += 1
            elif word in _QUANTIFIERS:
                self._quantifier = word
                self._definite |= word == 'whichever'
                if word == 'both':
                    self._numbers.append(2)
            elif word in words.articles and not (word in _POINTING and self._at > self._start):
                if word in _POINTING:
                    self._pointed = True
                if word in ('a', 'an'):
                    self._indefinite = True
                else:
                    self._definite = True
            elif word == 'of' and self._quantifier:
                pass
            elif word == 'same':
                self._pointed = True
            elif word in ('not', 'non') and self._word(1) in words.colours:
                self._without.append(words.colours[self._word(1)])
                self._at += 1
            elif word in ('one', 'ones') and (
                self._definite
                or self._where
                or self._colours
                or self._level
                or self._numbers
                or self._rest
            ):
                break
            elif word in words.numbers:
                if word == 'one' and not self._noun_follows(self._at + 1):
                    break
                self._numbers.append(words.numbers[word])
            elif word in words.colours:
                if (
                    self._word(1) == 'and'
                    and self._word(2) in words.colours
                    and (
                        noun_phrases().at(self._reader.tokens, self._at + 3)
                        or self._word(3) in ('one', 'ones')
                    )
                ):
                    self._colours += [words.colours[word], words.colours[self._word(2)]]
                    self._at += 2
                else:
                    self._colours.append(words.colours[word])
            elif word in words.parts and self._colours and self._noun_follows(self._at + 1):
                pass
            elif word in words.levels and self._drawer_follows():
                self._level = words.levels[word]
            elif word in words.cabinet and self._level and self._word(1) in words.drawer:
                pass
            elif word in words.single:
                self._definite = True
            elif word in words.other:
                self._rest = 'others'
            elif (
                word in ('open', 'opened', 'closed', 'shut')
                and (self._at > self._start or self._nested)
                and self._noun_follows(self._at + 1)
            ):
                self._opened = word in ('open', 'opened')
            elif word in words.shades and self._word(1) in words.colours:
                pass
            elif word in words.descriptive and (
                self._at > self._start or self._noun_follows(self._at + 1)
            ):
                if noun_phrases().at(self._reader.tokens, self._at) and not self._noun_follows(
                    self._at + 1
                ):
                    break
                self._vague = word
            elif (found := before_words().at(self._reader.tokens, self._at)) and (
                self._definite or self._quantifier or self._noun_follows(self._at + found[0])
            ):
                if noun_phrases().at(self._reader.tokens, self._at + found[0]) or self._word(
                    found[0]
                ) in (
                    *words.colours,
                    *words.numbers,
                    *words.descriptive,
                    'one',
                    'ones',
                    'hand',
                    *words.drawer,
                    *words.single,
                    *(w.split()[0] for w in words.where_before['leftmost']),
                    'right',
                ):
                    self._where.append(Where(found[1]))  # type: ignore[arg-type]
                    self._at += found[0] - 1
                elif self._definite and word.endswith('most'):
                    self._where.append(Where(found[1]))  # type: ignore[arg-type]
                    self._at += found[0]
                    break
                else:
                    break
            else:
                break
            self._at += 1
            self._modified |= self._at > begin and word not in words.articles

    def _noun_follows(self, at: int) -> bool:
        """Whether a noun, or words before one, stand at an index."""
        word, words = self._reader.word(at), self._words
        return (
            bool(noun_phrases().at(self._reader.tokens, at))
            or word
            in (
                *words.colours,
                *words.descriptive,
                *words.numbers,
                *words.drawer,
                'one',
                'ones',
                *words.single,
                *words.other,
                *words.table,
                *words.levels,
            )
            or bool(before_words().at(self._reader.tokens, at))
        )

    def _drawer_follows(self) -> bool:
        """Whether a level at this position is that of a drawer."""
        after = self._word(1)
        if after in (*self._words.drawer, *self._words.cabinet, 'one', 'of'):
            return True
        return not (
            noun_phrases().at(self._reader.tokens, self._at + 1)
            or after in (*self._words.colours, 'left', 'right', 'corner', 'shelf')
        )

    # --- the noun and what follows ---------------------------------------------------------------

    def _head(self) -> Phrase | None:
        words, tokens = self._words, self._reader.tokens
        word = self._word()
        if (
            word == 'can'
            and self._word(1) in _MODAL_AFTER_CAN
            and not (self._modified or self._definite or self._indefinite)
        ):
            return None
        if word in words.drawer:
            self._at += 1
            return self._drawer(word != words.drawer[0])
        if self._level:
            if word == 'one':
                self._at, word = self._at + 1, self._word(1)
            if (
                word == 'of'
                and self._word(1) in ('the', 'these', 'those')
                and (self._word(2) in ('two', 'drawers'))
            ):
                self._at += 3 + (self._word(2) == 'two')
            return self._drawer(False)
        if word in words.table:
            self._at += 1
            return Phrase(Things(said='table'), 'table', (), self._start, self._at)
        if word == 'one' and self._opened is not None:
            self._at += 1
            return self._drawer(False)
        if word in ('one', 'ones'):
            self._at += 1
            return self._finish(Noun((), (), word == 'ones'), ONE)
        found = noun_phrases().at(tokens, self._at)
        if found is not None and not (
            word == 'can' and self._word(1) in _MODAL_AFTER_CAN and self._modified
        ):
            self._at += found[0]
            noun = found[1]
            assert isinstance(noun, Noun)
            if noun.kinds and self._word() in ('one', 'ones'):
                return None
            return self._finish(noun, '')
        if (
            self._colours
            or self._without
            or self._where
            or (self._rest and self._definite)
            or (self._numbers and self._quantifier)
        ):
            if self._word() in ('handle', 'side', 'corner', 'hand'):
                return None
            plural = None if not self._numbers else self._numbers[-1] > 1
            if self._quantifier in ('all', 'both', 'every'):
                plural = True
            return self._finish(Noun((), (), bool(plural)), ONE)
        return None

    def _drawer(self, plural: bool) -> Phrase:
        words = self._words
        above = Phrases(
            (phrase, level) for level, phrases in _LEVEL_AFTER.items() for phrase in phrases
        ).at(self._reader.tokens, self._at)
        if above is not None and not self._level:
            self._level, self._at = str(above[1]), self._at + above[0]
        kinds = (f'{DRAWER}:{self._level}',) if self._level else DRAWERS
        if (
            self._word() == 'of'
            and self._word(1) in ('the', 'that')
            and self._word(2) in (*words.cabinet, 'grey', 'green', *words.colours)
        ):
            inner = self._reader.read(self._at + 1, nested=True)
            if inner is not None and inner.things.kinds == (('cabinet',),):
                self._at = inner.end
        elif (
            self._word() in ('in', 'on')
            and self._word(1) == 'the'
            and (self._word(2) in words.cabinet)
        ):
            self._at += 3
        at = self._at
        if self._word() in (COMMA,):
            at += 1
        if self._quantifier == 'whichever' and self._reader.word(at) == 'is':
            at -= 1
        state = at + 2 + (self._reader.word(at + 2) in ('already', 'still', 'currently', 'now'))
        if (
            (self._reader.word(at) in ('which', 'that') or self._quantifier == 'whichever')
            and self._reader.word(at + 1) in ('is', 'stands', 'was', 'are')
            and self._reader.word(state) in ('open', 'opened', 'closed', 'shut')
            and self._reader.word(state + 1) not in ('in', 'then')
        ):
            self._opened = self._reader.word(state) in ('open', 'opened')
            self._at = state + 1
            self._at += self._word() in ('already', 'now')
        wheres = tuple(self._where)
        if wheres or self._colours:
            raise UnreadError(f'no drawer is told by {self._reader.said(self._start, self._at)!r}')
        several = (
            plural
            or self._quantifier in ('all', 'both', 'every', 'each')
            or (bool(self._numbers) and self._numbers[-1] > 1)
        )
        if self._quantifier == 'any':
            raise UnreadError('it does not tell which drawer')
        things = Things(
            (kinds,),
            opened=self._opened,
            plural=several,
            rest=self._rest,
            mention=self._reader.next_mention(),
            said=self._reader.said(self._start, self._at),
        )
        return Phrase(
            things,
            DRAWER,
            (kinds,),
            self._start,
            self._at,
            pointed=self._pointed,
            bare=not self._level and self._opened is None and not several,
        )

    def _finish(self, noun: Noun, head: str, rest: str = '') -> Phrase:
        colours = tuple(
            dict.fromkeys(
                [*self._colours, *([noun.colour] if noun.colour and not self._colours else ())]
            )
        )
        if (
            len(
                {where.relation for where in self._where} & {Relation.LEFTMOST, Relation.RIGHTMOST}
            )
            > 1
        ):
            raise UnreadError(f'{self._reader.said(self._start, self._at)!r} is left and right')
        if len(self._numbers) > 1:
            raise UnreadError(
                f'it does not know how many {self._reader.said(self._start, self._at)!r} are'
            )
        if len(self._colours) > 1 and self._reader.said(self._start, self._at).count(' and ') < 1:
            raise UnreadError(f'two colours stand in {self._reader.said(self._start, self._at)!r}')
        every = self._quantifier in ('every', 'each', 'all', 'whatever')
        number = self._numbers[-1] if self._numbers else None
        plural = bool(noun.plural) or every or (number or 1) > 1
        if self._quantifier in ('any', 'some') and number is None:
            if self._quantifier == 'some' and plural:
                raise UnreadError(
                    f'it does not tell how many of {self._reader.said(self._start, self._at)!r}'
                )
            number, self._indefinite = (None if plural else 1), True
            if self._quantifier == 'any' and plural:
                self._indefinite, every = False, True
        if self._quantifier == 'both' and noun.plural is False:  # "both the cup and the mug"
            number, self._quantifier = None, ''
        if number is not None and number > 1 and noun.plural is False and not every:
            raise UnreadError(f'{self._reader.said(self._start, self._at)!r} is several and one')
        rest = rest or self._rest
        definite = self._definite or every or self._quantifier == 'both'
        any_of = self._indefinite and not self._where and not rest
        if number is not None and not definite and not any_of and not rest:
            any_of = not self._where
        if head == ONE and not (
            definite or self._colours or self._where or self._without or rest or noun.plural
        ):
            any_of = True
        total = None
        if definite and not self._where and not rest and not any_of:
            total = number or (None if plural else 1)
        if not plural and number is None:
            number = 1
        kinds = PENDING if head == ONE else noun.kinds
        things = Things(
            kinds,
            colours,
            tuple(self._without),
            number,
            total,
            any_of,
            plural,
            self._opened,
            self._vague,
            tuple(self._where),
            rest=rest,
            mention=self._reader.next_mention(),
        )
        if self._opened is not None:
            raise UnreadError('only drawers are open or closed')
        things = self._after(things)
        things = replace(things, said=self._reader.said(self._start, self._at))
        bare = not (
            things.colours or things.without or things.where or rest or self._without or things.but
        )
        return Phrase(things, head, noun.as_place, self._start, self._at, self._pointed, bare)

    # --- after the noun --------------------------------------------------------------------------

    def _after(self, things: Things) -> Things:
        """Read what follows the noun and tells which: place in the picture, colour, exceptions."""
        while (more := self._one_after(things)) is not None:
            things = more
        return things

    def _one_after(self, things: Things) -> Things | None:
        tokens, begin = self._reader.tokens, self._at
        at = begin
        if (
            self._reader.word(at) == COMMA
            and relative_words().at(tokens, at + 1)
            and (self._reader.word(at + 1) == 'the')
        ):
            at += 1
        if things.plural and self._quantifier in (
            'all',
            'every',
            'each',
            'any',
            'both',
            'whatever',
        ):
            shown = Phrases((one, '') for one in self._words.seen).at(tokens, at)
            if shown is not None:
                self._at = at + shown[0]
                return things
        if self._reader.word(at) == 'over' and after_words().at(tokens, at + 1):
            at += 1
        if (
            self._reader.word(at) == 'whose'
            and self._reader.word(at + 1) in self._words.parts
            and self._reader.word(at + 2) in ('is', 'are')
            and self._reader.word(at + 3) in self._words.colours
        ):
            self._at = at + 4
            return replace(things, colours=(self._words.colours[self._reader.word(at + 3)],))
        if self._reader.word(at) in ('that', 'which') and (
            self._reader.word(at + 1) in ('has', 'have')
        ):
            return self._coloured_part(things, at + 2)
        starter = relative_words().at(tokens, at)
        lying = False
        if starter and self._reader.word(at) not in (COMMA, SENTENCE_END):
            at += starter[0]
            lying = True
        if self._quantifier == 'whichever' and self._reader.word(at) in ('is', 'are'):
            at, lying = at + 1, True
        while self._reader.word(at) in self._words.lying and (
            lying or self._reader.word(at) not in ('is', 'are')
        ):
            at, lying = at + 1, True
        while (
            self._reader.word(at) in ('just', 'right', 'already', 'over', 'all', 'currently')
            and lying
            and not (related_words().at(tokens, at) or after_words().at(tokens, at))
        ):
            at += 1
        return self._where_at(things, at, lying)

    def _where_at(self, things: Things, at: int, lying: bool) -> Things | None:
        tokens = self._reader.tokens
        word = self._reader.word(at)
        if lying and word == 'not' and self._reader.word(at + 1) in self._words.colours:
            self._at = at + 2
            return replace(
                things,
                without=(*things.without, self._words.colours[self._reader.word(at + 1)]),
                total=None,
            )
        if lying and word in self._words.colours and not self._noun_at(at + 1):
            self._at = at + 1
            return replace(things, colours=(self._words.colours[word],), total=things.total)
        placed = after_words().at(tokens, at)
        related = related_words().at(tokens, at)
        if placed and not self._tells_more(placed[0], related, at):
            self._at = at + placed[0]
            return self._chosen(things, Where(placed[1]))  # type: ignore[arg-type]
        if related is not None and (lying or related[1] is not Relation.NEAR):
            return self._relation(things, at + related[0], Relation(str(related[1])))
        if word == 'with':
            return self._coloured_part(things, at + 1)
        if lying:
            found = Phrases((w, '') for w in (*self._words.into, *self._words.onto)).at(tokens, at)
            if found:
                inner = self._reader.read(at + found[0], nested=True)
                if inner is not None and inner.head in ('', 'table', DRAWER):
                    self._at = inner.end
                    if inner.head == 'table':
                        return things
                    return self._chosen(things, Where(Relation.INSIDE, (placed_in(inner),)))
        but = but_words().at(tokens, at + (word == COMMA))
        if but is None and word == 'but' and things.plural and self._but_names_one(at + 1):
            but = 1, ''
        if but is not None:
            inner = self._reader.read(at + (word == COMMA) + but[0], nested=True)
            inner = inner and self._reader.related(inner)
            if inner is not None and inner.head in ('', ONE):
                if not things.plural:
                    return None
                if inner.pointed and inner.bare:
                    raise UnreadError(f'it does not tell which {inner.things.said!r} is')
                self._at = inner.end
                left_out = inner.things
                if inner.head == ONE:
                    left_out = replace(
                        left_out, kinds=things.kinds, colours=left_out.colours or things.colours
                    )
                return replace(things, but=(*things.but, left_out), total=None, number=None)
        return None

    def _tells_more(self, length: int, related: tuple[int, object] | None, at: int) -> bool:
        """Whether more than a place in the picture is told: "on the left of the bowl"."""
        if self._reader.word(at + length) == 'of':
            return True
        if related is None or length > related[0]:
            return False
        return length < related[0] or self._reader.read(at + related[0], nested=True) is not None

    def _but_names_one(self, at: int) -> bool:
        """Whether after "but" a thing is named and nothing is said of it."""
        inner = self._reader.read(at, nested=True)
        if inner is None or inner.head not in ('', ONE):
            return False
        follows = self._reader.word(inner.end)
        return self._quantifier in ('all', 'every', 'each') and follows not in (
            'stay',
            'stays',
            'is',
            'are',
            'should',
            'can',
            'must',
            'alone',
        )

    def _chosen(self, things: Things, where: Where) -> Things:
        """Return the description with one more condition; a number then counts what is left."""
        return replace(
            things,
            where=(*things.where, where),
            total=None if things.total == (things.number or 1) else things.total,
            any_of=False,
        )

    def _relation(self, things: Things, at: int, relation: Relation) -> Things | None:
        inner = self._reader.read(at, nested=True)
        if inner is None or inner.head == 'table':
            return None
        anchors = [anchor_of(inner, things)]
        end = inner.end
        if relation is Relation.BETWEEN:
            if self._reader.word(end) == 'and':
                other = self._reader.read(end + 1, nested=True)
                if other is None:
                    return None
                anchors.append(anchor_of(other, things))
                end = other.end
            elif not inner.things.plural or inner.things.number not in (2, None):
                return None
        self._at = end
        return self._chosen(things, Where(relation, tuple(anchors)))

    def _coloured_part(self, things: Things, at: int) -> Things | None:
        """Read "with the red handle"."""
        words = self._words
        while self._reader.word(at) in ('the', 'a', 'an', 'its', *words.descriptive):
            at += 1
        word = self._reader.word(at)
        if word in words.colours and self._reader.word(at + 1) in words.parts:
            self._at = at + 2
            return replace(things, colours=(words.colours[word],))
        return None


_LEVEL_AFTER = {
    'top': ('at the top', 'on the top', 'on top', 'that is on top', 'up top', 'at the very top'),
    'bottom': (
        'at the bottom',
        'on the bottom',
        'that is at the bottom',
        'down below',
        'at the very bottom',
    ),
}
"""Phrases after "drawer" that tell which."""
_CHOOSING = (
    Relation.NEAREST,
    Relation.FARTHEST,
    Relation.LEFTMOST,
    Relation.RIGHTMOST,
    Relation.FRONT,
    Relation.BACK,
)


def placed_in(phrase: Phrase) -> Things:
    """Return what a phrase means where something is in or on it."""
    return replace(phrase.things, kinds=phrase.as_place or phrase.things.kinds)


def anchor_of(phrase: Phrase, of: Things) -> Things:
    """Return what a phrase means where something of a kind is told by it.

    Raises:
        UnreadError: it is a pronoun.
    """
    if phrase.head == 'them':
        raise UnreadError(f'it does not tell what {phrase.things.said!r} is')
    if phrase.head == 'it':
        return replace(phrase.things, kinds=IT)
    if phrase.things.kinds == PENDING or phrase.head == 'rest':
        return replace(phrase.things, kinds=of.kinds)
    return phrase.things


def bound(things: Things, it: Things) -> Things:
    """Return a description in which anchors that are pronouns stand for a description."""
    return replace(
        things,
        where=tuple(
            replace(
                one, anchors=tuple(it if anchor.kinds == IT else anchor for anchor in one.anchors)
            )
            for one in things.where
        ),
    )


def has_it(things: Things) -> bool:
    """Whether an anchor of a description is a pronoun."""
    return any(anchor.kinds == IT for one in things.where for anchor in one.anchors)


def filled(things: Things, kinds: tuple[tuple[str, ...], ...]) -> Things:
    """Return a description, and all in it, with the kinds of an earlier noun where they lack."""
    return replace(
        things,
        kinds=kinds if things.kinds == PENDING else things.kinds,
        where=tuple(
            replace(one, anchors=tuple(filled(anchor, kinds) for anchor in one.anchors))
            for one in things.where
        ),
        but=tuple(filled(one, kinds) for one in things.but),
    )
