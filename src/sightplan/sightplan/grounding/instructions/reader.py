"""A small reader of plain instructions: words it knows, read by where they stand.

It knows things by category and colour, counts, "all but", left and right, "nearest to", places,
drawers, and stages in sentences of their own; the words are in ``lexicon.yaml``. It was written
for instructions about tidying a table, and is no model of language: it reports any sentence that
it cannot read. A sentence with an unused word is refused, since that word may be "not".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sightplan.grounding.instructions.wishes import Choice, Place, Things, Wish
from sightplan.model import InputError
from sightplan.model.reading import Record, read_file
from sightplan.queries.detect import DRAWER

FILE = Path(__file__).with_name('lexicon.yaml')
LONGEST = 2000
"""Most characters of an instruction that is read."""


_PLACING = ('on', 'onto', 'in', 'into', 'inside')
_VAGUE = ('it', 'inside', 'there')


class UnreadError(InputError):
    """Raised for an instruction that the reader cannot read; the message names the part."""


class _End(Record):
    closed: bool
    words: tuple[str, ...]


class _Lexicon(Record):
    things: dict[str, tuple[str, ...]]
    places: dict[str, tuple[str, ...]]
    groups: dict[str, tuple[str, ...]]
    colours: tuple[str, ...]
    parts: tuple[str, ...]
    numbers: dict[str, int]
    articles: tuple[str, ...]
    before: tuple[str, ...]
    levels: dict[str, str]
    nearest: tuple[str, ...]
    leftmost: tuple[str, ...]
    rightmost: tuple[str, ...]
    but: tuple[str, ...]
    ignored: tuple[str, ...]
    wanting: tuple[str, ...]
    only_with: dict[str, tuple[str, ...]]
    phrases: tuple[str, ...]
    openers: tuple[str, ...]
    asked: tuple[str, ...]
    drawer_ends: tuple[_End, ...]
    drawer_is_open: tuple[str, ...]
    opens_drawer: tuple[str, ...]


@functools.cache
def _lexicon() -> _Lexicon:
    return read_file(_Lexicon, FILE)


@functools.cache
def _nouns() -> dict[str, tuple[tuple[str, ...], bool]]:
    """Return each noun's categories, and whether it is a place."""
    words = _lexicon()
    found = {form: ((category,), False) for category, forms in words.things.items()
             for form in forms}
    found |= {form: ((category,), True) for category, forms in words.places.items()
              for form in forms}
    return found | {group: (members, False) for group, members in words.groups.items()}


@dataclass(frozen=True, slots=True)
class _Mention:
    """A description in a sentence.

    Attributes:
        start, end: its tokens; ``noun`` is the index of its noun.
        before: the tokens before the noun that belong to it.
        colour: '' where none is said.
    """

    start: int
    noun: int
    end: int
    before: tuple[str, ...]
    colour: str


def read_instruction(text: str) -> tuple[Wish, ...]:
    """Read the wishes of an instruction, stage by stage.

    Args:
        text: one or more sentences; each is a stage, which is over before the next begins.

    Raises:
        UnreadError: the text is empty or too long, or a sentence holds a word that has no part in
            what was read, nothing that can be read, or leaves open which things go where.
    """
    if len(text) > LONGEST:
        raise UnreadError(f'the instruction has {len(text)} characters; at most {LONGEST} '
                          'are read')
    sentences = [part for part in re.split(r'(?<=[.!?])\s+', text.lower()) if part.strip(' .!')]
    if not sentences:
        raise UnreadError('the instruction is empty')
    return tuple(_Sentence(part).wish() for part in sentences)


class _Sentence:
    """A sentence of an instruction, which is one stage."""

    def __init__(self, text: str) -> None:
        self._text = text.strip()
        plain = re.sub(r'-colou?red\b', '', self._text)
        plain = re.sub(r'-(\w+)d\b', r' \1', plain)  # "red-handled spoons"
        asked = re.match(rf'(?:please )?(?:{"|".join(_lexicon().asked)}) (.*?)\??$', plain)
        plain = asked[1] if asked else plain
        self._tokens = re.findall(r"[a-z'\u2019]+|[^\sa-z'\u2019]", plain.rstrip(' .!'))
        self._mask_drawers()
        self._used: set[int] = set()

    def _mask_drawers(self) -> None:
        """Replace what names a drawer by one token, such as ``drawer:top``."""
        levels, tokens, k = _lexicon().levels, self._tokens, 0
        masked: list[str] = []
        while k < len(tokens):
            level = levels.get(tokens[k], '')
            after = tokens[k + 1:k + 5]
            used = 0
            if level and after[:1] == ['drawer']:
                used = 2
            elif level and after[:4] == ['of', 'the', 'two', 'drawers']:
                used = 5
            elif tokens[k] == 'drawer':
                used, level = 1, ''
            if used:
                if masked and masked[-1] == 'the':
                    masked.pop()
                masked.append(f'{DRAWER}:{level}')
                k += used
                if tokens[k:k + 3] == ['of', 'the', 'cabinet']:
                    k += 3
                continue
            masked.append(tokens[k])
            k += 1
        self._tokens = masked

    def wish(self) -> Wish:
        """Return the wish of the sentence.

        Raises:
            UnreadError: the sentence cannot be read.
        """
        drawers = [self._drawer(k) for k, token in enumerate(self._tokens)
                   if token.startswith(f'{DRAWER}:')]
        if len(set(drawers)) > 1:
            raise self._unread('it names two drawers')
        goods = self._goods()
        self._refuse_unknown()
        if goods and not self._says(_lexicon().wanting):
            raise self._unread('it does not tell what is wanted')
        if not drawers:
            if not goods:
                raise self._unread('it names nothing that is known, and no drawer')
            return Wish(goods)
        closed = self._ends_closed()
        return Wish(goods, drawers[0], closed, self._was_open() if goods else closed)

    def _refuse_unknown(self) -> None:
        """Refuse a sentence in which a word has no part: negations, other relations, alternatives.

        Raises:
            UnreadError: there is such a word; says which.
        """
        words = _lexicon()
        ends = [phrase for end in words.drawer_ends for phrase in end.words]
        for phrase in (*words.phrases, *words.wanting, *ends, *words.drawer_is_open,
                       *words.opens_drawer):
            if phrase not in words.only_with:
                for begin in self._where(phrase):
                    self._use(begin, len(phrase.split()))
        for phrase in words.openers:
            if 0 in self._where(phrase):
                self._use(0, len(phrase.split()))
        for place, (at, said) in enumerate(self._words()):
            if said in words.only_with:
                if self._says(words.only_with[said]):
                    continue
                raise self._unread(f'{said!r} is known only together with '
                                   f'{" or ".join(map(repr, words.only_with[said]))}')
            if at in self._used or said == '_' or said in words.ignored:
                continue
            if said.isdigit():
                raise self._unread(f'numbers are read as words, not as {said!r}')
            around = ' '.join(word for _, word in self._words()[max(0, place - 1):place + 2])
            raise self._unread(f'it does not know {said!r} in {around!r}')

    def _words(self) -> list[tuple[int, str]]:
        """Places and words without punctuation, "_" for what names a drawer."""
        return [(k, '_' if token.startswith(f'{DRAWER}:') else token)
                for k, token in enumerate(self._tokens) if token not in (',', ';', ':')]

    def _where(self, phrase: str) -> list[int]:
        """Return the indices of the words at which a phrase begins."""
        said, parts = [word for _, word in self._words()], phrase.split()
        return [k for k in range(len(said) - len(parts) + 1) if said[k:k + len(parts)] == parts]

    def _use(self, begin: int, count: int) -> None:
        """Note that ``count`` words from ``begin`` on have a part in what was read."""
        self._used.update(at for at, _ in self._words()[begin:begin + count])

    # --- drawers ---------------------------------------------------------------------------------

    def _drawer(self, index: int) -> Place:
        return Place(DRAWER, level=self._tokens[index].partition(':')[2])

    def _ends_closed(self) -> bool:
        """Return whether the drawer is to be closed at the end.

        Raises:
            UnreadError: the sentence tells neither, or both open and closed.
        """
        found: list[tuple[int, int, int, bool]] = []  # list of phrases, first word, end, closed
        for number, end in enumerate(_lexicon().drawer_ends):
            for phrase in end.words:
                for at in self._where(phrase):
                    last = at + len(phrase.split())
                    if not any(one < number and at < stop and begin < last
                               for one, begin, stop, _ in found):
                        found.append((number, at, last, end.closed))
        if not found:
            raise self._unread('it does not tell whether the drawer is to be open or closed')
        first = min(found)
        opens = len(_lexicon().drawer_ends) - 1  # it may be opened before it is closed
        for number, at, _, closed in found:
            if closed is not first[3] and (number != opens or at > first[1]):
                raise self._unread('it tells both that the drawer is to be open and closed')
        return first[3]

    def _was_open(self) -> bool | None:
        """Return whether the drawer is open at the beginning; None if the words do not tell."""
        if self._says(_lexicon().drawer_is_open):
            return True
        return False if self._says(_lexicon().opens_drawer) else None

    def _says(self, phrases: Sequence[str]) -> bool:
        """Whether any of some phrases is in the sentence; "_" stands for the drawer."""
        return any(self._where(phrase) for phrase in phrases)

    # --- things and places -----------------------------------------------------------------------

    def _goods(self) -> tuple[tuple[Things, Place], ...]:
        """Return descriptions with their places: things named before a place go there."""
        places: list[tuple[int, Place]] = [
            (k, self._drawer(k)) for k, token in enumerate(self._tokens)
            if token.startswith(f'{DRAWER}:')]
        things: list[tuple[int, Things]] = []
        skip_to = 0
        for mention in self._mentions():
            if mention.start < skip_to:
                continue
            categories, is_place = _nouns()[self._tokens[mention.noun]]
            if is_place:
                places.append((mention.start, self._place(mention, categories[0])))
                self._used.update(range(mention.start, mention.end))
                continue
            if self._tokens[mention.start - 1:mention.start] and self._tokens[
                    mention.start - 1] in _PLACING:
                raise self._unread(f'nothing is put {self._tokens[mention.start - 1]} a '
                                   f'{self._tokens[mention.noun]}')
            described, skip_to = self._describe(mention, categories)
            self._used.update(range(mention.start, skip_to))
            things.append((mention.start, described))
        distinct = list(dict.fromkeys(place for _, place in places))
        if not things:
            return ()
        if not distinct:
            raise self._unread('it does not tell where they go')
        if len(distinct) == 1:
            return tuple((one, distinct[0]) for _, one in things)
        if any(place.kind == DRAWER for place in distinct):
            raise self._unread('beside a drawer it names another place: make two sentences of it')
        if vague := self._vague():
            raise self._unread(f'of several places it does not tell which {vague!r} is')
        goods = []
        for start, one in things:
            after = [place for at, place in sorted(places, key=lambda item: item[0]) if at > start]
            if not after:
                raise self._unread('it does not tell where all of them go')
            goods.append((one, after[0]))
        for place in distinct:
            if all(place != where for _, where in goods):
                raise self._unread(f'nothing goes to the {place.kind}')
        return tuple(goods)

    def _vague(self) -> str:
        """Return a word that stands for one of several places; '' if there is none."""
        said = [word for _, word in self._words()]
        for phrase in _lexicon().phrases:
            for at in self._where(phrase):
                said[at:at + len(phrase.split())] = [''] * len(phrase.split())
        return next((word for word in said if word in _VAGUE), '')

    def _place(self, mention: _Mention, kind: str) -> Place:
        words = _lexicon()
        for said in mention.before:
            if said not in words.articles and said != mention.colour:
                raise self._unread(f'it does not know {said!r} before {kind!r}')
        return Place(kind, mention.colour)

    def _mentions(self) -> Iterator[_Mention]:
        end = 0
        for k, token in enumerate(self._tokens):
            if token in _nouns() and k >= end:
                mention = self._mention(k)
                yield mention
                end = mention.end

    def _mention(self, noun: int) -> _Mention:
        """The description around a noun, without what says which of those that fit."""
        words, tokens = _lexicon(), self._tokens
        known = {*words.articles, *words.before, *words.numbers, *words.colours, *words.parts}
        start = noun
        while start > 0 and tokens[start - 1] in known:
            start -= 1
        before = tuple(tokens[start:noun])
        colour = next((token for token in reversed(before) if token in words.colours), '')
        end = noun + 1
        if not colour:
            colour, end = self._with_part(end)
        return _Mention(start, noun, end, before, colour)

    def _with_part(self, at: int) -> tuple[str, int]:
        """Return the colour in "with the red handle" at a token, and the index where that ends."""
        words, tokens = _lexicon(), self._tokens
        if tokens[at:at + 1] == ['with']:
            k = at + 2 if tokens[at + 1:at + 2] == ['the'] else at + 1
            if tokens[k:k + 1] and tokens[k] in words.colours and (
                    tokens[k + 1:k + 2] and tokens[k + 1] in words.parts):
                return tokens[k], k + 2
        return '', at

    def _describe(self, mention: _Mention, categories: tuple[str, ...]) -> tuple[Things, int]:
        """Return the things that a description means, and the token index at which it ends."""
        words = _lexicon()
        numbers = [words.numbers[token] for token in mention.before if token in words.numbers]
        singular = self._is_singular(mention)
        things = Things(categories, mention.colour,
                        total=numbers[-1] if numbers and numbers[-1] > 1 else None)
        end = mention.end
        if self._tokens[end:end + 1] and self._tokens[end] in ('that', 'which') and (
                self._tokens[end + 1:end + 2] and self._tokens[end + 1] in ('is', 'are')):
            end += 2
        before = mention.before
        sided = {*words.leftmost, *words.rightmost} & {*before}
        if len({*before} & {*words.colours}) > 1 or len(numbers) > 1 + ('of' in before):
            raise self._unread(f'of {" ".join(before)!r} it does not know what is meant')
        anchored = self._anchored(end)
        if anchored is not None:
            if sided or not (singular or numbers):
                raise self._unread('it does not tell how many of them, or by which of two')
            anchor, end = anchored
            several = len(numbers) > 1
            count = 1 if singular else numbers[0] if numbers else 1
            return replace(things, choice=Choice.NEAREST, anchor=anchor, count=count,
                           total=numbers[-1] if several else None), end
        but = self._starts(end, words.but)
        if but:
            if sided:
                raise self._unread('it does not know left or right together with "but"')
            if not {'all', 'every', 'each'} & {*before}:
                raise self._unread('it knows "but" only after "all"')
            left_out, end = self._one(end + but, categories, mention.colour)
            return replace(things, choice=Choice.ALL_BUT, but=left_out, total=None), end
        side, used = self._side(before, mention.end)
        some = before[:before.index('of')] if 'of' in before else ()
        if side is not None:
            if not singular and (not sided & {*some} or {*words.numbers} & {*some} - {'one'}):
                raise self._unread('it knows one thing on the left or right, not several')
            return replace(things, choice=side, count=1), mention.end + used
        if not {'all', 'every', 'each', 'both'} & {*some} and {*words.numbers} & {*some}:
            raise self._unread('it does not tell which of them')
        if numbers and numbers[-1] == 1 and not singular and not {'every', 'each'} & {*before}:
            raise self._unread('it does not tell which one')
        return replace(things, total=things.total or (1 if singular else None)), mention.end

    def _is_singular(self, mention: _Mention) -> bool:
        """Whether one thing is meant by its noun's form, and not each of several."""
        noun = self._tokens[mention.noun]
        return not {'every', 'each'} & {*mention.before} and any(
            forms[0] == noun for forms in _lexicon().things.values())

    def _starts(self, at: int, options: Sequence[str]) -> int:
        """Return the length of the first phrase that begins at a token; 0 if none does."""
        for option in options:
            parts = option.split()
            if self._tokens[at:at + len(parts)] == parts:
                return len(parts)
        return 0

    def _anchored(self, at: int) -> tuple[Place, int] | None:
        """Return the place after "nearest to" at a token, and its end; None without the words."""
        used = self._starts(at, _lexicon().nearest)
        if not used:
            return None
        at += used
        if self._tokens[at:at + 1] and self._tokens[at].startswith(f'{DRAWER}:'):
            return self._drawer(at), at + 1
        for k in range(at, min(at + 6, len(self._tokens))):
            if self._tokens[k] in _nouns():
                mention = self._mention(k)
                return self._place(mention, _nouns()[self._tokens[k]][0][0]), mention.end
        raise self._unread('it does not tell what they are nearest to')

    def _side(self, before: Sequence[str], after: int) -> tuple[Choice | None, int]:
        """Return left or right, said before a noun or from a token on, and its token count."""
        words = _lexicon()
        if len({*words.leftmost, *words.rightmost} & {*before}) > 1:
            raise self._unread(f'{" ".join(before)!r} is left and right')
        for choice, options in ((Choice.LEFTMOST, words.leftmost),
                                (Choice.RIGHTMOST, words.rightmost)):
            if any(option in before for option in options):
                return choice, 0
            used = self._starts(after, [option for option in options if ' ' in option])
            if used:
                return choice, used
        return None, 0

    def _one(self, at: int, categories: tuple[str, ...], colour: str) -> tuple[Things, int]:
        """Return the left-out thing described from a token on, and the index where that ends."""
        words, tokens = _lexicon(), self._tokens
        known = {*words.articles, *words.before, *words.colours, *words.parts}
        k = at
        while k < len(tokens) and tokens[k] in known:
            k += 1
        if k == len(tokens) or tokens[k] != 'one':
            raise self._unread('it does not tell which one is left out')
        own = next((token for token in tokens[at:k] if token in words.colours), '')
        end = k + 1
        if not own:
            own, end = self._with_part(end)
        things = Things(categories, own or colour, total=1)
        anchored = self._anchored(end)
        if anchored is not None:
            return replace(things, choice=Choice.NEAREST, anchor=anchored[0],
                           count=1, total=None), anchored[1]
        side, used = self._side(tokens[at:k], end)
        if side is not None:
            return replace(things, choice=side, count=1, total=None), end + used
        if not own:
            raise self._unread('it does not tell which one is left out')
        return things, end

    def _unread(self, why: str) -> UnreadError:
        return UnreadError(f'cannot read {self._text!r}: {why}; the reader of instructions knows '
                           'few words and forms: a model of language may read it')
