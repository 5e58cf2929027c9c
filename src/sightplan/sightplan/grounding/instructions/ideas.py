"""Wishes that name no thing: read by kinds of ideas, such as "I am hungry, bring me what helps".

The sentences of a text are grouped into wishes; each is known by an idea, from the words of its
classes (``ideas.yaml``), and by where things are to come to. What an idea takes, and which
places serve, stands in ``uses.yaml`` of the domain ``tabletop``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sightplan.domains.tabletop.uses import uses
from sightplan.grounding.instructions.wishes import Hold, Place, Relation, Things, Where, Wish
from sightplan.grounding.instructions.words import known_words, lexicon, normalised, nouns
from sightplan.model import InputError
from sightplan.model.reading import Record, read_file
from sightplan.queries.detect import CABINET, DRAWERS, MOVED

FILE = Path(__file__).with_name('ideas.yaml')
_HOLDERS = ('crate', 'tray', 'bowl', 'plate')
"""Places where nothing tells which one serves, the largest first."""
_DRAWERS: Mapping[str, str] = dict(zip(('drawer 1', 'drawer 2'), DRAWERS, strict=True))


class Idea(Record):
    """Something that people want; ``ideas.yaml`` explains it.

    Attributes:
        use, several, twos, rest: what is taken: things of a use, one or two of each of some
            uses, or all small things that are not of a use.
        whole: ``coloured``, ``middle`` or ``everything``.
        look: of a drawer that is opened (``high``, ``low``) or closed (``shut``).
        when: classes that must all be said, one option of several.
        unless: classes of which none may be said.
        number: how many, if no word tells: ``all``, ``one``, or ``loose``: one where a word of
            ``singles`` is said.
        place: a purpose, if it is always the same.
    """

    use: str = ''
    several: tuple[str, ...] = ()
    twos: tuple[str, ...] = ()
    rest: str = ''
    whole: str = ''
    look: str = ''
    when: tuple[str, ...]
    unless: tuple[str, ...] = ()
    number: str = 'all'
    place: str = ''

    @property
    def things(self) -> frozenset[str]:
        """Categories that it is about."""
        return frozenset(
            kind
            for use in (self.use, *self.several, *self.twos)
            if use
            for kind in uses().uses[use].things
        )


class Ideas(Record):
    """Content of ``ideas.yaml``, which explains its fields."""

    words: dict[str, tuple[str, ...]]
    ideas: tuple[Idea, ...]
    two: tuple[str, ...]
    all: tuple[str, ...]
    one: tuple[str, ...]
    singles: tuple[str, ...]
    places: dict[str, tuple[str, ...]]
    asks: tuple[str, ...]
    musts: tuple[str, ...]
    wants: tuple[str, ...]
    colours: dict[str, tuple[str, ...]]
    colour_cues: tuple[str, ...]
    joins: tuple[str, ...]
    unclear: tuple[str, ...]
    beside: tuple[str, ...]
    leaves_out: tuple[str, ...]


@functools.cache
def ideas() -> Ideas:
    """Read the ideas; the file is read once a process."""
    return read_file(Ideas, FILE)


def _inflected(word: str) -> set[str]:
    """Return a word in the forms that English spelling makes of it."""
    if len(word) < 3:
        return {word}
    stem = word[:-1] if word.endswith('e') else word
    found = {word, word + 's', stem + 'ed', stem + 'ing', word + 'es'}
    if word.endswith('y'):
        found |= {word[:-1] + 'ies', word[:-1] + 'ied'}
    if word[-1] not in 'aeiouwxy':
        found |= {word + word[-1] + 'ed', word + word[-1] + 'ing'}
    return found


@functools.cache
def _pattern(words: tuple[str, ...], inflect: bool) -> re.Pattern[str]:
    """Return a pattern of words and phrases in a text whose words have single spaces between."""
    options = []
    for phrase in sorted(words, key=len, reverse=True):
        forms = [
            '|'.join(sorted(map(re.escape, _inflected(one) if inflect else {one})))
            for one in ' '.join(normalised(phrase)).split()
        ]
        options.append(' '.join(f'(?:{one})' for one in forms))
    return re.compile(f'(?<!\\S)(?:{"|".join(options)})(?!\\S)')


def _says(words: tuple[str, ...], text: str, inflect: bool = False) -> bool:
    return _pattern(words, inflect).search(text) is not None


_EAT_WITH = re.compile(
    r'(?<!\S)(?:eat|eats|ate|eaten|eating|dine|dines|dined)(?: [^ .,:]+){0,4} with\b'
)
_POINTS = re.compile(r'(?<!\S)(?:it|them|that|this|so)(?!\S)')
_WHAT_I_NEED = re.compile(r'what (?:i|he|she) (?:need|needs|can|could|require|will)(?!\S)')
_GENERAL = ('eat', 'eat_with', 'drink_from', 'repair', 'wipe')
"""Uses that a sentence may tell of what the one before it is about: "something to eat it with"."""
_SHORT = 8
"""Most words of a sentence that only adds to the one before it: "Collect it, please."."""
_NAMED_DRAWER = re.compile(r'(?<!\S)drawers?(?!\S)')
_NEGATED = re.compile(r'(?<!\S)(?:not|no|never|nothing|nobody|none|without|or|neither)(?!\S)')
_QUESTION = re.compile(
    r'(?!what about|how about)(?:what|who|whose|why|when|how|which|is|are|was|were|do|does|did|'
    r'have|has)(?!\S)'
)
"""Beginning of a question that asks for an answer: "what do you want to eat?"."""
_STAYS = re.compile(
    r'(?<!\S)(?:leave|let|keep|stay|stays|remain|remains|like|love)(?!\S)[^.]*'
    r'(?:on the table|where (?:it|they) (?:is|are|lie|stand|lies|stands)(?! put)|'
    r', leave (?:it|them))(?!\S)'
)
"""Things that are to stay where they are: "leave the fruit on the table"."""
_UNMOVED = re.compile(
    r'(?<!\S)(?:nothing|not)(?: \S+){0,2} (?:moved|touched)(?!\S)|(?<!\S)hate to(?!\S)'
)
"""The wish that nothing is moved."""
_DENIED = re.compile(
    r'(?<!\S)(?:do not|never|stop|avoid|not to|without)'
    r' (?:bring|put|pack|get|fetch|gather|clear|collect|serve|take|touch|move|hide)'
)
_TAKEN_ALONG = ('uncork', 'opener', 'shop')
"""Uses of what is taken elsewhere, unless somebody wants it brought."""
_DENIED_STATE = re.compile(r'(?<!\S)(?:am|is|are) (?:not|no longer) \S+')
"""A state that somebody or something is not in: "I am not hungry" tells of no hunger."""
_FETCHES = ('bring', 'fetch', 'get me', 'hand me', 'give me', 'pass me', 'i need', 'need', 'want')


@dataclass(slots=True)
class _Sentence:
    """A sentence, with what it tells.

    Attributes:
        raw, text: as written, and its known spellings with spaces between.
        idea: what it is about.
        asks: 2 if it asks for something, 1 if it only says what somebody wants, else 0.
    """

    raw: str
    text: str
    idea: Idea | None
    asks: int


def read_ideas(
    text: str, by_names: Callable[[str], tuple[Wish, ...]] | None = None
) -> tuple[Wish, ...] | None:
    """Read the wishes of a text by their ideas.

    Args:
        text: one or more sentences.
        by_names: reads one group of sentences that names things; raises ``InputError``.

    Returns:
        One wish for each group of sentences, those about one drawer together; None if a group has
        no idea that is known, does not tell what is to be done, or has words of something else.
    """
    groups = _grouped(list(_sentences(text)))
    counter = iter(range(1000, 10000))
    found: list[Wish] = []
    for number, group in enumerate(groups):
        wish = _wish(group, counter)
        if wish is None and by_names is not None and len(groups) > 1:
            try:
                named = by_names(' '.join(one.raw for one in group))
            except InputError:
                return None
            by_names = None  # its descriptions are numbered from 1
            found += [replace(one, sentence=number) for one in named]
        elif wish is None:
            return None
        else:
            found.append(replace(wish, sentence=number))
    return _merged(found) if found else None


def _sentences(text: str) -> Iterator[_Sentence]:
    for raw in re.split(r'(?<=[.!?])\s+', text.strip()):
        heading = re.match(r'([^:]{1,60}):\s+(?=[A-Z])', raw)
        if heading and not _asks(heading[1].lower()) and _idea(heading[1].lower()) is None:
            raw = raw[heading.end():]
        body = re.sub(r'^(and )?(another thing|one more thing|another one|secondly|firstly|first|'
                      r'second|third|thirdly|lastly|finally|also|besides|then|next|in addition|'
                      r'moreover|furthermore|on top of that|apart from that|additionally|'
                      r'after that|one last thing|last)\s*[:,-]\s*', '', raw, flags=re.I)
        tokens = normalised(body)
        words = ' '.join(tokens).removesuffix(' .')
        if not words or {*words.replace(',', ' ').replace(':', ' ').split()} <= {*ideas().joins}:
            continue
        yield _Sentence(body, words, _idea(words), _asks(words))


def _asks(text: str) -> int:
    known = ideas()
    start = r'(?:^|[,:.] |(?<!\S)(?:and|so|please|then|but|you|just|kindly|to me) )(?:please )?'
    verbs = '|'.join(known.asks)
    if re.search(f'{start}(?:{verbs})(?!\\S)', text) or _says(known.musts, text):
        return 2
    return int(_says(known.wants, text))


def _idea(text: str) -> Idea | None:
    """Return the first idea that a text tells; None if there is none."""
    return next(_told(text), None)


def _told(text: str) -> Iterator[Idea]:
    """Return all ideas that a text tells, the first one first."""
    for idea in ideas().ideas:
        if any(_tells(one, text) for one in idea.unless):
            continue
        if any(all(_tells(one, text) for one in option.split()) for option in idea.when):
            yield idea


def _mixes_ideas(text: str) -> bool:
    """Whether a text tells ideas of quite different things."""
    first, *others = _told(text)
    return bool(first.things) and any(
        one.use and one.use not in ideas().beside and not one.things & first.things
        for one in others
    ) and first.use not in ('bite', 'jam')


def _tells(name: str, text: str) -> bool:
    """Whether a text has a word of a class."""
    known = ideas()
    if name == 'COLOUR':
        return bool(_colour(text))
    if name == 'TWO':
        return _says(known.two, text)
    if name == 'BRING':
        return _says(_FETCHES, text)
    if name == 'EATWITH':
        return _EAT_WITH.search(text) is not None
    return _says(known.words[name], text, True)


def _colour(text: str) -> str:
    """Return the colour of what a text compares with; '' for none, or several."""
    known = ideas()
    as_red_as = any(f'as {one} as' in text for one in lexicon().colours)
    if not as_red_as and not _says(known.colour_cues, text):
        return ''
    found = [name for name, likes in known.colours.items() if _says(likes, text)]
    return found[0] if len(found) == 1 else ''


def _grouped(sentences: Sequence[_Sentence]) -> list[list[_Sentence]]:
    """Return sentences by wish: what is said before it is asked for, and after."""
    groups: list[list[_Sentence]] = []
    for one in sentences:
        if groups and not _begins(groups[-1], one):
            groups[-1].append(one)
        else:
            groups.append([one])
    if len(groups) > 1 and _idea_of(groups[-1]) is None and not any(
        one.asks for one in groups[-1]
    ):
        last = groups.pop()
        groups[-1] += last
    return groups


def _begins(group: Sequence[_Sentence], one: _Sentence) -> bool:
    """Whether a sentence begins another wish than that of those before it."""
    idea = _idea_of(group)
    if idea is None or not any(other.asks for other in group):
        return False
    asked = 2 if idea.look else max(other.asks for other in group)
    if asked < 2 and idea.use in _GENERAL and one.asks == 2:
        return False
    if asked < 2 and _POINTS.search(one.text) and (one.idea is None or one.idea.use in _GENERAL):
        return False
    if one.idea is not None and one.idea.whole == 'everything':
        return False
    if one.idea is None:
        return asked == 2 and not (_POINTS.search(one.text) and len(one.text.split()) <= _SHORT)
    return one.idea is not idea and not (one.idea.things & idea.things)


def _idea_of(group: Sequence[_Sentence]) -> Idea | None:
    return _idea(' . '.join(one.text for one in group))


# --- one wish --------------------------------------------------------------------------------


def _wish(group: Sequence[_Sentence], mentions: Iterator[int]) -> Wish | None:
    """Return what a group of sentences wants; None if that is not clear."""
    text = ' . '.join(one.text for one in group)
    idea = _idea(text)
    asked = any(one.asks for one in group) or _says(ideas().asks, text)
    if idea is None or not asked or _says(ideas().unclear, text):
        return None
    if (idea.look or idea.whole) and _NAMED_DRAWER.search(text):
        return None
    asking = [one for one in group if one.asks] or group
    if all(map(_is_question, asking)) or _UNMOVED.search(text):
        return None
    if not idea.rest and _STAYS.search(text) and not _NEGATED.search(text):
        return None
    if _asks_for_something_unknown(text) or (
        not idea.rest and _idea(_DENIED_STATE.sub(' ', text)) is not idea
    ):
        return None
    if idea.look:
        kinds = {'high': DRAWERS[:1], 'low': DRAWERS[1:]}.get(idea.look, DRAWERS)
        opened = True if idea.look == 'shut' else None
        return Wish((), Things((kinds,), number=1, said='drawer', opened=opened),
                    idea.look == 'shut')
    if _mixes_ideas(text) or (
        not idea.rest and _says(ideas().leaves_out, text.replace(', but', ','))
    ):
        return None
    text = _PORTION.sub(' ', text)
    named = _named_place(text)
    if named is None or not _only_about(text, idea, named[1]):
        return None
    if _DENIED.search(text) or (named[1] and _NEGATED.search(text)):
        return None
    place, ends = named[0], ''
    if place is None:
        place, ends = _inferred(text, idea, mentions)
    elif place.of.kinds[0][0] in DRAWERS:
        ends = 'closed'
    goods = tuple((things, place) for things in _taken(idea, text, group, mentions))
    if not ends:
        return Wish(goods)
    return Wish(goods, place.of, ends == 'closed')


def _is_question(sentence: _Sentence) -> bool:
    """Whether a sentence asks for an answer, and for nothing to be done."""
    return sentence.raw.rstrip().endswith('?') and _QUESTION.match(sentence.text) is not None


def _taken(
    idea: Idea, text: str, group: Sequence[_Sentence], mentions: Iterator[int]
) -> Iterator[Things]:
    """Return descriptions of what an idea takes."""
    if idea.whole == 'coloured':
        yield Things(colours=(_colour(text),), plural=True, mention=next(mentions), said='things')
    elif idea.whole == 'middle':
        yield Things(plural=True, where=(Where(Relation.MIDDLE),), mention=next(mentions),
                     said='things in the middle')
    elif idea.whole:
        yield Things(plural=True, mention=next(mentions), said='everything')
    elif idea.rest:
        use = uses().uses[idea.rest]
        but = Things((use.things,), plural=True, mention=next(mentions), said=idea.rest)
        yield Things(plural=True, but=(but,), mention=next(mentions), doubtful=use.doubtful,
                     said='the rest')
    else:
        number = _number(idea, text, group)
        for name in (idea.use, *idea.several, *idea.twos):
            if not name:
                continue
            use = uses().uses[name]
            count = 1 if idea.several else 2 if idea.twos else number
            yield Things((use.things,), number=1 if count == 0 else count, any_of=bool(count),
                         plural=count not in (0, 1), by_use=True, doubtful=use.doubtful,
                         mention=next(mentions), said=name)


def _number(idea: Idea, text: str, group: Sequence[_Sentence]) -> int | None:
    """Return how many things are taken; None for all, 0 for one if there is only one."""
    known = ideas()
    asked = ' . '.join(one.text for one in group if one.asks == 2) or text
    if idea.use in ('drink_from', 'cut', 'spear', 'soup') and _says(known.two, text):
        return 2
    if _says(known.all, asked):
        return None
    if _says(known.one, asked):
        return 1
    if _says(known.all, text):
        return None
    if idea.use in ('bite', 'drink_from', 'cut', 'wipe') and _says(known.one, text):
        return 1
    if idea.use in ('cut', 'wipe', 'drink_from') and _WHAT_I_NEED.search(asked):
        return 0
    if idea.number == 'loose':
        return 1 if _says(known.singles, text) else None
    return 1 if idea.number == 'one' else None


_PORTION = re.compile(
    r'(?<!\S)yellow fruit(?!\S)|(?<!\S)apple a day(?!\S)|'
    r'(?<!\S)(?:a|an|my|the|our|some)(?: [a-z]+)?'
    r' (?:bowl|cup|mug|glass|plate|jar|can|bottle|pot) of(?!\S)'
)
"""Portions of food: "a bowl of soup" names no thing on the table."""
_PLACE = re.compile(
    r'(?<!\S)(in|into|on|onto|inside|to|upon) (?:the|that|this|my|our|a) (?:only )?'
    r'((?:[a-z]+ ){0,3})'
    r'(tray|plate|bowl|crate|drawer)(?!\S)'
)


def _named_place(text: str) -> tuple[Place | None, str] | None:
    """Return the place that a text names, and its words; None if it names several."""
    found = list(_PLACE.finditer(text))
    if not found:
        return None, ''
    colours = lexicon().colours
    places = set()
    for one in found:
        words = one[2].split()
        if one[3] == 'drawer' and not words and ' a ' in one[0]:
            continue
        if one[3] == 'drawer':
            level = [k for k, names in enumerate((('top', 'upper', 'higher', 'first'),
                                                  ('bottom', 'lower')))
                     if {*words} & {*names}]
            if len(level) != 1 or len(words) > 1:
                return None
            places.add(Place(Hold.IN, Things(((DRAWERS[level[0]],),), number=1, said='drawer')))
            continue
        if any(word not in colours for word in words):
            return None
        hold = Hold.IN if one[3] in ('bowl', 'crate') else Hold.ON
        places.add(Place(hold, Things(((one[3],),), tuple(colours[word] for word in words),
                                      number=1, said=one[3])))
    if len(places) > 1:
        return None
    return (places.pop(), found[0][0]) if places else (None, '')


def _inferred(text: str, idea: Idea, mentions: Iterator[int]) -> tuple[Place, str]:
    """Return the place that serves, and how its drawer is to end."""
    name = idea.place or _purpose(text, idea)
    purpose = uses().purposes[name]
    if purpose.is_drawer:
        kinds = tuple(_DRAWERS[one] for one in purpose.kinds[:1])
        return Place(Hold.IN, Things((kinds,), number=1, said='drawer')), purpose.ends
    order = [one for one in _HOLDERS if one in (*purpose.kinds, *purpose.also)]
    of = Things(tuple((one,) for one in order), number=1, any_of=True, mention=next(mentions),
                said=order[0])
    return Place(Hold.IN if order[0] in ('crate', 'bowl') else Hold.ON, of, serves=True), ''


def _purpose(text: str, idea: Idea) -> str:
    """Return the name of the purpose of a place that a text tells."""
    said = {name: _says(words, text) for name, words in ideas().places.items()}
    if idea.rest or idea.whole in ('coloured', 'middle'):
        return 'away'
    if idea.whole:
        return 'pack' if said['pack'] else 'away'
    stored = _says(('cabinet', 'cupboard', 'drawer', 'shut', 'lock', 'store', 'close', 'stored',
                    'closed', 'locked', 'stow', 'stowed', 'level', 'one'), text)
    if said['high'] and stored:
        return 'high'
    if said['low'] and stored:
        return 'low'
    in_cabinet = _says(('cabinet', 'cupboard', 'drawer'), text)
    if said['ready'] and in_cabinet:
        return 'ready'
    if said['hide'] or in_cabinet:
        return 'hide'
    if said['pack'] or (idea.use in _TAKEN_ALONG and not _says(_FETCHES, text)):
        return 'pack'
    return 'serve' if said['serve'] else 'bring'


def _only_about(text: str, idea: Idea, place: str) -> bool:
    """Whether a text names no thing, place or colour beside those of its idea."""
    colours, known = {*lexicon().colours}, nouns()
    rest = text.replace(place, ' ') if place else text
    words = rest.split()
    if idea.whole == 'coloured':
        return True
    if {*words} & colours - {'orange', 'colour'}:
        return False
    said = {
        one for some in ideas().words.values() for phrase in some for one in phrase.split()
    }
    for word in words:
        noun = known.get(word)
        if noun is None or word in ('can', 'tin', 'glass') or not noun.kinds:
            continue
        kinds = {kind for some in noun.kinds for kind in some}
        named = len(noun.kinds[0]) == 1 and noun.kinds[0][0] in MOVED
        if kinds <= {CABINET} or (not named and (word in said or kinds & idea.things)):
            continue
        idiom = word in said and word not in MOVED
        if named and (idiom or (not place and kinds <= idea.things)):
            continue
        return False
    return True


_GO_ON = r'(?:and|or|i|we|he|she|they|you|that|which|what|who|on|in|into|to|from|for|with|of)\b'
"""Words with which a request goes on after the name of what it asks for."""


@functools.cache
def _object_asked_for() -> re.Pattern[str]:
    """Return a pattern of a verb that asks for something, and up to three words for what."""
    return re.compile(
        rf'(?<!\S)(?:{"|".join(ideas().asks)})'
        r'(?: (?:me|us|him|her|them))?(?: (?:up|out|away|over))?'
        r' (?:the|a|an|my|your|his|her|our|their|some|that|this)'
        rf' ((?!{_GO_ON})[a-z]+(?: (?!{_GO_ON})[a-z]+){{0,2}})'
    )


@functools.cache
def _every_word() -> frozenset[str]:
    """Return all words of ideas, in all forms, and those of the lexicon."""
    told = {
        form
        for phrases in ideas().words.values()
        for phrase in phrases
        for word in phrase.split()
        for form in _inflected(word)
    }
    return frozenset(told | known_words() | {*uses().nouns})


def _asks_for_something_unknown(text: str) -> bool:
    """Whether a thing is asked for by words that are all unknown: "bring me the newspaper"."""
    return any(
        not {*match[1].split()} & _every_word() for match in _object_asked_for().finditer(text)
    )


def _merged(wishes: Iterable[Wish]) -> tuple[Wish, ...]:
    """Return wishes with those about one drawer as one, and all others before them as one."""
    goods: list[tuple[Things, Place]] = []
    drawers: dict[object, Wish] = {}
    for wish in wishes:
        if wish.drawer is None:
            goods += wish.goods
            continue
        key = wish.drawer.kinds, wish.closed
        known = drawers.get(key)
        drawers[key] = wish if known is None else replace(known, goods=known.goods + wish.goods)
    return (*((Wish(tuple(goods)),) if goods else ()), *drawers.values())

