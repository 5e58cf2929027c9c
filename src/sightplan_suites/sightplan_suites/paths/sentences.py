"""A small reader of English sentences about paths, without a model: what a task wants of a path.

``read_sentence`` makes wishes (which of the seven descriptors should be large or small), limits,
areas to keep out of, a side and trade-offs of a sentence such as "Not through the nursery, at
least half a metre from anything, and with few turns, unless that is 10 m longer".

It goes clause by clause. Quantities, limits and trade-offs are taken out first
(``sentence_numbers``). Each phrase that ``sentence_words.yaml`` knows becomes a tag; words after a
determiner or a preposition are names; rows of tags are read by the rules of the same file. What
jobs, loads and vehicles imply stands in ``sentence_catalogue.yaml``; most of it holds only where
nothing is said in words about paths.

It does not guess. A clause from which something is read must have no word left that it does not
know. A clause from which nothing is read is a remark ("the boys are on the other end of them") if
it has no word about paths, no negation and asks for nothing; remarks are reported, and decide
nothing. All else is refused, with the words that were not understood.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sightplan.grounding.instructions.words import Phrases
from sightplan.model import InputError
from sightplan.model.reading import Record, read_file
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.descriptors import WORDS
from sightplan_suites.paths.labels import ORDER, Vector
from sightplan_suites.paths.limits import (
    ABOVE_LEAST,
    ABSOLUTE,
    AT_LEAST,
    NO_LIMITS,
    TIMES_LEAST,
    Limit,
    PathLimits,
)
from sightplan_suites.paths.sentence_numbers import (
    TAKEN,
    TRADED,
    normalised,
    take_limits,
)

_WORDS, _CATALOGUE = (Path(__file__).with_name(f'sentence_{name}.yaml')
                      for name in ('words', 'catalogue'))
_NAME, _UNKNOWN = 'N', 'U'
_SILENT = frozenset({'F', 'V', 'DUTY'})
"""Tags of words that rules do not see."""
_NEUTRAL = frozenset({
    'AND', 'OR', 'FROM', 'OFTO', 'THRU', 'ROUND', 'OUT', 'KEEP', 'N', 'NUM', 'DONE', 'WELL', 'WAY',
    'ALONE', 'NAMED', 'OBST', 'AREA', 'COVER', 'GROUND', 'SCMIN', 'SCAVG', 'SCMAX', 'SCALL',
    'SCTOTAL', 'LEAVE', 'BETTER', 'TOO'})
"""Tags of words that may stay unread beside something that is read."""
_REMARK = (_NEUTRAL - {'BETTER'}) | {
    'U', 'BAD', 'OFFW', 'FARV', 'CORNERS', 'COUNT', 'LEAVE', 'MORE', 'LESS', 'TOO', 'STEEPEST',
    'GENTLE'}
"""Tags of words that may stand in a remark."""


class UnreadSentenceError(InputError):
    """A sentence about paths is not understood; the message names the words."""


class _Rule(Record):
    tags: str
    wants: str = ''
    negated: str = ''
    avoid: str = ''
    keep_out: str = ''
    side: str = ''
    ignore: str = ''


class _Words(Record):
    """Content of ``sentence_words.yaml``, which explains its fields."""

    sets: dict[str, str]
    tags: dict[str, str]
    effects: dict[str, dict[str, int]]
    rules: tuple[_Rule, ...]


class _Fact(Record):
    why: str
    wants: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    always: bool = False
    negated: bool = False


class _Catalogue(Record):
    """Content of ``sentence_catalogue.yaml``, which explains its fields."""

    facts: tuple[_Fact, ...]


@dataclass(frozen=True)
class Reading:
    """Wishes and limits that a sentence is taken to mean.

    Attributes:
        wants: sign of each descriptor that is wanted large (1) or small (-1).
        limits: that a path must keep, areas by their names in the sentence, and trade-offs.
        implied: why something is wanted that is not said, such as "little energy".
        assumed: what was assumed of words without a number.
        remarks: clauses that decide nothing.
    """

    wants: Mapping[str, int]
    limits: PathLimits = NO_LIMITS
    implied: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def vector(self) -> Vector:
        """The wishes in the order of ``labels.ORDER``."""
        return tuple(self.wants.get(name, 0) for name in ORDER)


@functools.cache
def _words() -> _Words:
    return read_file(_Words, _WORDS)


@functools.cache
def _set(name: str) -> frozenset[str]:
    """A set of single words of ``sentence_words.yaml``."""
    return frozenset(word.strip() for word in _words().sets[name].split(','))


@functools.cache
def _facts() -> tuple[tuple[_Fact, tuple[re.Pattern[str], ...]], ...]:
    return tuple((fact, tuple(_any_of(group) for group in fact.words))
                 for fact in read_file(_Catalogue, _CATALOGUE).facts)


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r'(?<![a-z])(?:' + '|'.join(
        re.escape(one) for one in sorted(phrases, key=len, reverse=True)) + r')(?![a-z])')


@functools.cache
def _tags() -> Phrases:
    found: dict[str, tuple[str, ...]] = {}
    for tag, phrases in _words().tags.items():
        for phrase in phrases.split(','):
            spelled = normalised(phrase)
            found[spelled] = (*found.get(spelled, ()), tag)
    found["'s"] = ('F',)
    return Phrases((phrase, tags) for phrase, tags in found.items() if phrase)


_BETWEEN = '(?:(?:OFTO|FROM|THRU|N[|][A-Z]+|SC[A-Z|]+) )*'
"""Tags of names and of scopes that may stand between the words of a rule without a name."""


_NAMED = re.compile(r'\bN\b')


@functools.cache
def _rules() -> tuple[tuple[_Rule, re.Pattern[str]], ...]:
    def pattern(tags: str) -> str:
        tight = re.sub(r'(?<=[)?*+]) ', '', tags)
        between = '' if _NAMED.search(tags) else _BETWEEN
        return re.sub(r'([A-Z]+) ?', rf'(?:[A-Z|]*\\b\1\\b[A-Z|]* {between})', tight)
    return tuple((rule, re.compile(pattern(rule.tags))) for rule in _words().rules)


@dataclass
class _Token:
    """A phrase of a clause, with its possible tags."""

    text: str
    tags: tuple[str, ...]
    read: bool = False
    names: tuple[str, ...] = ()

    def has(self, *tags: str) -> bool:
        return any(tag in self.tags for tag in tags)


@dataclass
class _Found:
    """Wishes, areas, sides, reasons and unread words of the clauses so far.

    ``excepted`` is a limit to which a trade-off makes an exception, '' if there is none.
    """

    wants: dict[str, set[int]] = field(default_factory=dict)
    keep_out: list[str] = field(default_factory=list)
    side: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)
    facts: list[_Fact] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    last: _Token | None = None
    excepted: str = ''

    def said(self) -> tuple[int, int, int]:
        """Number of areas, sides and wishes or their denials so far."""
        return (len(self.keep_out), len(self.side),
                sum(map(len, self.wants.values())) + len(self.ignored))

    def want(self, effects: Iterable[str], turned: bool = False) -> None:
        for effect in effects:
            sign = (-1 if effect[0] == '-' else 1) * (-1 if turned else 1)
            for name, way in _words().effects[effect.lstrip('+-')].items():
                self.wants.setdefault(name, set()).add(sign * way)


def read_sentence(text: str) -> Reading:
    """Read what a sentence, or some of them, want of a path.

    Raises:
        UnreadSentenceError: nothing of it is about paths, words of it are not understood, or it
            wants a thing and its opposite; names the words.
    """
    found = _Found()
    rest, limits, assumed = take_limits(normalised(text))
    _read_clauses(_clauses(rest), found)
    if found.unread:
        raise UnreadSentenceError(
            f'cannot read {text.strip()!r}: not understood: {"; ".join(found.unread)} (say it in '
            'other words, or give --vector and --limit)')
    if found.excepted:
        raise UnreadSentenceError(
            f'cannot read {text.strip()!r}: it makes an exception to the limit '
            f'{found.excepted!r}, and limits hold whatever they cost (leave the exception out, or '
            'wish for it instead, as in "well clear of the beds, unless that is 10 m longer")')
    found.facts += [fact for negated in (False, True) for fact in _facts_of(rest, negated)
                    if not fact.always]
    reading = _reading(found, limits, assumed, text)
    if not reading.limits and not reading.wants:
        raise UnreadSentenceError(
            f'cannot read {text.strip()!r}: nothing of it tells what the path should be like (say '
            'how long, how straight or how far from things it should be)')
    return reading


_SUBORDINATORS = (
    'because', 'since', 'as long as', 'so that', 'when', 'while', 'whereas', 'although', 'though',
    'where', 'who(?! cares)', 'which', 'but', 'then', 'in case', 'in order', 'otherwise',
    'or else',
    r'as (?:it|he|she|they|there|we|i|you|the|my|our|his|her|their|its|some|people|folk)')
"""Words at which a clause ends, beside commas and ends of sentences."""


def _clauses(text: str) -> list[str]:
    """The clauses of a normalised sentence."""
    if re.search(r'(?<!\S)(?:rather|sooner|prefer)(?!\S)', text):
        text = re.sub(r'(?<!rather )(?<!\S)than(?!\S)', 'rather than', text)
        text = re.sub(r'(?<!\S)(prefer\b[^.;,]*) over(?!\S)', r'\1 unlike', text)
    text = re.sub(r'\bso as\b', 'so that', text)
    text = re.sub(r'(?<!\S)(?<!not )so(?! (?:long|as|that|close|near|far|much|many|tight|sharp|'
                  r'wide|narrow|fast)\b)(?!\S)', '; hence', text)
    text = re.sub(r'(?<!\S)not (?=(?:(?:the|a|so|very) )?(?:short|quick|fast|direct|straight|'
                  r'smooth|wide)\w*(?: [a-z]+)? but(?!\S))', 'instead of ', text)
    text = re.sub(r'(?<!\S)(anything|everything|nothing|all|anywhere|everywhere) but(?!\S)',
                  r'\1 except', text)
    text = re.sub(r'(?<!\S)(?<!even )(?<!mind )(?<!care )(?<!matter )(?:if|unless|'
                  r'until(?! further| tomorrow))(?!\S)', '; whether', text)
    parts = re.split(rf'(?<!\S)(?:[.;,]|{"|".join(_SUBORDINATORS)})(?!\S)', text)
    return _appended([part.strip() for part in parts if part.strip()])


def _appended(clauses: Sequence[str]) -> list[str]:
    """Join clauses that only say something of the clause before, such as "fine"."""
    found: list[str] = []
    for clause in clauses:
        tokens = _tagged(clause)
        if found and any(token.has('NOMATTER', 'OFFLIMITS') for token in tokens) and all(
                token.has('NOMATTER', 'OFFLIMITS', *_SILENT) for token in tokens):
            found[-1] += f' {clause}'
        else:
            found.append(clause)
    return found


def _read_clauses(clauses: Sequence[str], found: _Found) -> None:
    """Read all clauses, and refuse a trade-off that would make an exception to a limit.

    A trade-off is about the clause that it stands in, else about the one before, or at the
    beginning about the one after. Limits hold whatever they cost: "not through the nursery, unless
    that is 10 m longer" cannot be kept by a limit and a preference beside it.
    """
    said = ''
    limited = waiting = False
    for clause in clauses:
        before = found.said()
        _read_clause(clause, found)
        words = clause.split()
        rest = ' '.join(word for word in words if word != TRADED)
        areas, sides, wishes = (new - old for new, old in zip(found.said(), before, strict=True))
        if TAKEN in words or areas or sides or wishes:
            said, limited = rest, TAKEN in words or bool(areas or sides)
        if TRADED in words and not said:
            waiting = True
        elif limited and (waiting or TRADED in words):
            found.excepted = said.replace(TAKEN, '...')
            return
        elif said:
            waiting = False


def _read_clause(clause: str, found: _Found) -> None:
    tokens = _named(_tagged(clause), found)
    first = next((token for token in tokens if not token.has(*_SILENT, 'AND')), tokens[0])
    if first.has('CONCEDE'):
        _concede(tokens, found)
        return
    if clause.startswith('whether ') and not any(token.has('NOMATTER') for token in tokens):
        _refuse_condition(tokens, found)
        return
    _apply_rules(tokens, found)
    _read_bare_clearance(tokens, found)
    facts = _facts_of(clause, any(token.has('NEG') and not token.read for token in tokens))
    found.facts += [fact for fact in facts if fact.always]
    for part in _segments(tokens):
        _account(part, bool(facts), found)


def _read_bare_clearance(tokens: Sequence[_Token], found: _Found) -> None:
    """Read "clearance" and "max clearance", of which nothing else is said, as wishes for it."""
    for part in _segments(tokens):
        left = [token for token in part if not token.read and (
            token.has('NUM') or not _allowed(token, _NEUTRAL | _SILENT))]
        if len(left) == 1 and left[0].text in _set('bare_clearance'):
            found.want(('+room',))
            left[0].read = True


def _refuse_condition(tokens: Sequence[_Token], found: _Found) -> None:
    """Refuse conditions, such as "if the nursery is empty"; "if possible" says nothing."""
    if any(not token.has(*_SILENT, 'DONE') or (token.has('DUTY') and token.text != 'please')
           for token in tokens):
        found.unread.append(' '.join(token.text for token in tokens))


def _is_story(tokens: Sequence[_Token]) -> bool:
    """Whether a clause tells what happened, or what somebody wants for himself."""
    words = [word for token in tokens for word in token.text.split()]
    if any(token.has('NEG') or token.text in _set('addressed') for token in tokens):
        return False
    if _set('told') & set(words):
        return False
    if _set('past') & set(words):
        return True
    about = any(not _allowed(token, _REMARK | _SILENT) for token in tokens)
    return not about and bool(words) and words[0] in _set('speakers') and not any(
        token.has('THRU', 'OUT', 'ROUND', 'OFFW') for token in tokens)


def _denies_of_thing(tokens: Sequence[_Token]) -> bool:
    """Whether a clause only says what a thing does not do, as "the joint will not take it"."""
    at = next(k for k, token in enumerate(tokens) if token.has('NEG'))
    return any(token.has(_NAME, _UNKNOWN) for token in tokens[:at]) and not any(
        token.has(_NAME, 'THRU', 'OUT', 'ROUND') for token in tokens[at + 1:])


def _concede(tokens: Sequence[_Token], found: _Found) -> None:
    """Note of "even if it is longer" that length is not to count; all else of it says nothing."""
    for tag, effect in (('LONG', 'length'), ('LEN', 'length'), ('TURN', 'turn'),
                        ('TWISTY', 'turn')):
        if any(token.has(tag) for token in tokens):
            found.ignored |= set(_words().effects[effect])


def _segments(tokens: Sequence[_Token]) -> list[list[_Token]]:
    """The parts of a clause between "and" and its like."""
    found: list[list[_Token]] = [[]]
    for token in tokens:
        if token.has('AND', 'OR'):
            found.append([])
        else:
            found[-1].append(token)
    return [part for part in found if part]


_MUST_BE_READ = ('hence', 'therefore', 'whether')
"""Words that begin what is asked for, and conditions of it: no remarks."""


def _account(tokens: Sequence[_Token], implies: bool, found: _Found) -> None:
    """Note which words of a part of a clause are not understood, or that it is a remark."""
    if any(token.read or token.has('DONE') for token in tokens):
        left = [token.text for token in tokens if not token.read
                and not _allowed(token, _NEUTRAL | _SILENT)
                and not (token.has('NOMATTER') and any(one.has('DONE') for one in tokens))]
        if left:
            found.unread.append(' '.join(left))
        return
    text = ' '.join(token.text for token in tokens)
    if implies:
        return
    if not any(token.has(_UNKNOWN, _NAME) or not _allowed(token, _SILENT | _NEUTRAL)
               for token in tokens):
        return
    if tokens[0].text != 'whether' and _is_story(tokens):
        found.remarks.append(text)
        return
    denied = any(token.has('NEG') for token in tokens) and not _denies_of_thing(tokens)
    brings = not denied and any(_set('destinations') & set(token.text.split()) for token in tokens)
    if denied or any((token.has('DUTY') and not brings) or token.text in _MUST_BE_READ
                     for token in tokens) or any(
            not _allowed(token, _REMARK | _SILENT | {'NEG'}) for token in tokens):
        found.unread.append(text)
    elif any(token.has('U', 'N') for token in tokens):
        found.remarks.append(text)
    elif any(token.has('NUM') and not _allowed(token, _NEUTRAL) for token in tokens):
        found.unread.append(text)


def _allowed(token: _Token, tags: frozenset[str] | set[str]) -> bool:
    if token.has('NUM'):
        quantity = '[a-z]*' if _UNKNOWN in tags else '(min)?'  # remarks may have quantities
        return re.fullmatch(rf'#[\d.]+{quantity}', token.text) is not None
    return all(tag in tags for tag in token.tags) or (
        token.has(*_SILENT, 'DONE') or (token.has(_UNKNOWN) and token.text.endswith('ly')))


def _tagged(clause: str) -> list[_Token]:
    words, found, at = clause.split(), [], 0
    phrases = _tags()
    while at < len(words):
        if words[at] in (TAKEN, TRADED):
            found.append(_Token(TAKEN, ('DONE',)))
        elif words[at].startswith('#'):
            found.append(_Token(words[at], ('NUM',)))
        elif (match := phrases.at(words, at)) is not None:
            length, tags = match
            found.append(_Token(' '.join(words[at:at + length]), tags))  # type: ignore[arg-type]
            at += length - 1
        else:
            found.append(_Token(words[at], (_UNKNOWN,)))
        at += 1
    return found


_ADJECTIVES = ('SHORT', 'LONG', 'NARROW', 'ROOMY', 'SHARPADJ', 'GENTLE', 'STRAIGHT', 'SMOOTH',
               'MORE', 'LESS', 'FAST', 'TWISTY', 'STEEPEST', 'FARV', 'NEAR')
_HEADS = (_UNKNOWN, 'OBST', 'AREA')
_OPENERS = ('FROM', 'OFTO', 'THRU', 'ROUND', 'OUT', 'NEAR', 'TOUCH', 'STICKTO', 'SHUN', 'OFFW')


def _named(tokens: Sequence[_Token], found: _Found) -> list[_Token]:
    """Join what follows a determiner or preposition to names."""
    named: list[_Token] = []
    at = 0
    while at < len(tokens):
        token, end = tokens[at], _end_of_name(tokens, at)
        if end > at:
            named.append(_name(tokens[at:end]))
            found.last = named[-1]
            at = end
        elif (token.text in _set('pronouns') and found.last is not None and at
              and tokens[at - 1].has('THRU', 'OUT', 'ROUND', 'TOUCH', 'NEAR', 'OFTO')):
            named.append(found.last)
            at += 1
        else:
            named.append(token)
            at += 1
    return _joined(named)


def _end_of_name(tokens: Sequence[_Token], at: int) -> int:
    """Index after the name that begins at an index; the index itself if none does."""
    determined = tokens[at].text in _set('determiners') or bool(
        re.fullmatch(r'#[\d.]+', tokens[at].text))
    opened = determined or (at and tokens[at - 1].has(*_OPENERS)) or (
        (not at or tokens[at - 1].has('AND', 'OR')) and at + 1 < len(tokens)
        and tokens[at].has('ROOMY', 'LONG', 'SHARPADJ', 'GENTLE', 'NARROW')
        and tokens[at + 1].has(*_HEADS))
    start = end = at + determined
    if not opened:
        if tokens[at].has('AREA') and at + 1 < len(tokens) and tokens[at + 1].has('NUM'):
            return at + 2
        return at + 1 if tokens[at].has('OBST', 'AREA') and not tokens[at].has(
            *_ADJECTIVES, 'WAY', 'V', 'KEEP', 'TOUCH', 'F') else at
    while end < len(tokens) and end - start < 5 and (
            tokens[end].has(*_ADJECTIVES, *_HEADS, 'NUM', 'TOUCH')
            or tokens[end].text in _set('determiners') or tokens[end].text in _set('fillers')
            or _is_room(tokens, end)):
        end += 1
    while end > start and not (tokens[end - 1].has(*_HEADS) or _is_room(tokens, end - 1)):
        end -= 1
    if start < end < len(tokens) and tokens[end].has('NUM') and tokens[end].text[1:].isdigit():
        end += 1
    inside = tokens[start:end]
    if any(one.has(*_ADJECTIVES) and one.text.endswith('est') for one in inside):
        return at
    if inside and any(one.has(*_ADJECTIVES) for one in inside) and inside[-1].has('WAY'):
        return at
    return end if end > start else at


def _is_room(tokens: Sequence[_Token], at: int) -> bool:
    """Whether "room" is the place, as in "the meeting room", not room to move."""
    numbered = at + 1 < len(tokens) and tokens[at + 1].has('NUM')
    return tokens[at].text in ('room', 'rooms') and (
        numbered or tokens[at - 1].has(_UNKNOWN, 'OBST', 'AREA'))


def _name(tokens: Sequence[_Token]) -> _Token:
    kind = next((kind for token in reversed(tokens) for kind in ('AREA', 'OBST')
                 if token.has(kind)), 'NAMED')
    text = ' '.join(token.text for token in tokens)
    return _Token(text, (_NAME, kind), names=(text,))


def _joined(tokens: list[_Token]) -> list[_Token]:
    """Join names in a row, "the aisle with the wet paint", "towers and tents"."""
    found: list[_Token] = []
    for at, token in enumerate(tokens):
        if (token.has(_NAME) and len(found) > 1 and found[-2].has(_NAME)
                and found[-1].text in _set('joints') and not (
                    found[-1].has('AND', 'OR') and _is_subject(tokens, at))):
            one, word = found[-2], found[-1].text
            names = ((*one.names, *token.names) if word in ('and', 'or', 'nor') else
                     (*one.names[:-1], f'{one.names[-1]} {word} {token.names[0]}'))
            found[-2:] = [_Token(f'{one.text} {word} {token.text}', one.tags, names=names)]
        elif token.has(_NAME) and found and found[-1].has(_NAME):
            text = f'{found[-1].text} {token.text}'
            found[-1] = _Token(text, token.tags, names=(text,))
        elif token.has(_UNKNOWN) and found and found[-1].has(_NAME) and re.search(
                r'(?:ing|ed)$', token.text):
            text = f'{found[-1].text} {token.text}'
            found[-1] = _Token(text, found[-1].tags, names=(*found[-1].names[:-1], text))
        else:
            found.append(token)
    return found


def _is_subject(tokens: Sequence[_Token], at: int) -> bool:
    """Whether a verb follows a name, so that it begins a clause of its own."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return after is not None and (after.text in _set('auxiliaries') or after.has('V', 'NEG'))


def _apply_rules(tokens: Sequence[_Token], found: _Found) -> None:
    """Read rows of tags by the rules, and mark the tokens that were read."""
    seen = [token for token in tokens if not token.has(*_SILENT)
            or (token.has('KEEP') and not token.has('F'))]
    seen.insert(0, _Token('', ('START',)))
    row = ''.join(f'{"|".join(token.tags)} ' for token in seen)
    starts = [0]
    for token in seen:
        starts.append(starts[-1] + len('|'.join(token.tags)) + 1)
    at = 0
    while at < len(seen):
        best: tuple[int, _Rule] | None = None
        for rule, pattern in _rules():
            match = pattern.match(row, starts[at])
            if match and match.end() > starts[at]:
                length = starts.index(match.end()) - at
                while seen[at + length - 1].has('OFTO', 'FROM', 'THRU'):
                    length -= 1
                if best is None or (length, bool(_NAMED.search(rule.tags))) > (
                        best[0], bool(_NAMED.search(best[1].tags))):
                    best = length, rule
        if best is None:
            at += 1
            continue
        length, rule = best
        if _effect(rule, seen[at:at + length], seen[:at], _segment_at(seen, at), found):
            for token in seen[at:at + length]:
                token.read = True
        at += length


def _effect(rule: _Rule, tokens: Sequence[_Token], before: Sequence[_Token],
            segment: Sequence[_Token], found: _Found) -> bool:
    """Note what a rule says of its tokens."""
    names = [token for token in tokens if token.has(_NAME)]
    negation = next((token for token in reversed(before) if not token.has('KEEP')), None)
    if negation is not None and (not negation.has('NEG') or negation.read):
        negation = None
    if rule.ignore:
        found.ignored |= set(_words().effects[rule.ignore])
    elif rule.wants:
        instead = negation is not None and negation.text in _INSTEAD
        if negation is not None and not rule.negated:
            return False
        if negation is not None and not instead and any(
                token.text.endswith('est') for token in tokens):
            return False  # "not the shortest" is not "the longest"
        if (before and before[-1].has('TOO')) or (negation is None and tokens[0].has('TOO')):
            return False  # "that is too long" finds fault with a path
        if negation is None and rule.wants in ('+length', '+turn') and _in_denied_list(before):
            return False
        if (tokens[-1].text in ('long', 'short', 'longer', 'shorter') and before
                and before[-1].has(_NAME)):  # "the ladder is long" is not said of the path
            return False
        if rule.wants == '+least' and names and names[0].has('AREA') and any(
                token.has('NEAR') for token in tokens):
            found.keep_out += names[0].names
            return True
        if rule.wants == '-far' and names and any(
                token.text in ('close', 'near by') for token in tokens[:-1]):
            return False
        if rule.wants == '-far' and names and not any(token.has('STRAY') for token in tokens) and (
                names[0].has('AREA') or (names[0].has('NAMED') and tokens[0].has('STICKTO'))):
            return False
        if (instead and rule.wants in _USUAL) or (rule.wants == '+length' and any(
                token.text == 'rather than' and not token.read and token not in before
                for token in segment)):  # "rather long than tight" bears with length
            found.ignored |= set(_words().effects[rule.wants[1:]])
        else:
            found.want(_scoped(rule.wants, segment), negation is not None)
        if negation is not None:
            negation.read = True
    elif rule.avoid:
        if negation is not None:
            return False
        if (names[0].has('AREA') or (rule.avoid == 'keep_out' and not names[0].has('OBST'))) and (
                not any(token.has('WELL') for token in tokens)):
            found.keep_out += names[0].names
        else:
            found.want(('+room',))
    elif rule.keep_out:
        if tokens[0].has('ROUND') and name_words(names[0].text) & _set('rims'):
            return False
        kept = names if any(token.has('OR') for token in tokens) else names[:1]
        found.keep_out += [name for token in kept for name in token.names]
    else:
        # "with the trees on your right", "the second door on the right" are no sides of the way
        if (names and names[0].has('OBST')) or tokens[0].has('FROM') or (
                before[-1:] and before[-1].has(_NAME) and not any(
                    token.has('STICKTO', 'NEAR') for token in before)):
            return False
        words = ' '.join(token.text for token in tokens)
        found.side.add('left' if 'left' in words or 'port' in words.split() else 'right')
    return True


_INSTEAD = ('rather than', 'instead of')
_USUAL = ('-length', '-turn', '-total', '+room')
"""Effects that are not turned by "rather than": "smooth rather than short" wants no long path."""


def _in_denied_list(before: Sequence[_Token]) -> bool:
    """Whether what follows may be of a denied list, as in "avoid turns and detours"."""
    if len(before) < 2 or not before[-1].has('AND', 'OR'):
        return False
    for token in reversed(before[:-1]):
        if not token.read:
            return False
        if token.has('NEG', 'SHUN', 'LESS'):
            return True
    return False


def _segment_at(tokens: Sequence[_Token], at: int) -> list[_Token]:
    """The tokens around an index up to the next "and" on both sides."""
    ends = [k for k, token in enumerate(tokens) if token.has('AND')]
    begin = max((k for k in ends if k <= at), default=-1)
    return list(tokens[begin + 1:min((k for k in ends if k > at), default=len(tokens))])


def _scoped(effect: str, segment: Sequence[_Token]) -> tuple[str, ...]:
    """An effect on distances, where words say at which places they count."""
    least, mean, most = (any(token.has(tag) for token in segment)
                         for tag in ('SCMIN', 'SCAVG', 'SCMAX'))
    sign, name = effect[0], effect[1:]
    if name == 'room' and (least or mean or most):
        return tuple(f'{sign}{one}' for one, said in (
            ('least', least), ('mean', mean), ('most', most)) if said)
    if name == 'far' and mean != (most or least):
        return (f'{sign}mean',) if mean else (f'{sign}most',)
    return (effect,)


def _facts_of(clause: str, negated: bool) -> list[_Fact]:
    text = re.sub(r'#([\d.]+)([a-z]*)', r'\1 \2', clause)
    return [fact for fact, groups in _facts() if fact.negated == negated
            and all(group.search(text) for group in groups)]


def _reading(found: _Found, limits: PathLimits, assumed: tuple[str, ...], text: str) -> Reading:
    said = bool(found.wants)
    implied = []
    for fact in found.facts:
        if fact.always or (not said and not limits.limits):
            found.want(fact.wants)
            implied.append(fact.why)
    both = [name for name, signs in found.wants.items() if len(signs) > 1]
    if both:
        raise UnreadSentenceError(f'cannot read {text.strip()!r}: it wants '
                                  f'{WORDS[both[0]][0]} to be both small and large (say which)')
    wants = {name: signs.pop() for name, signs in found.wants.items() if name not in found.ignored}
    if len(found.side) > 1:
        raise UnreadSentenceError(f'cannot read {text.strip()!r}: left and right (say one)')
    limits = limits.joined(PathLimits((), tuple(dict.fromkeys(found.keep_out)),
                                      ''.join(found.side)))
    if not wants and limits.limits:
        wants = {limit.name: 1 if limit.relation == '>=' else -1 for limit in limits.limits}
        if 'maximum_angle' in wants:
            wants['sharp_turns'] = -1
    return Reading(wants, limits, tuple(dict.fromkeys(implied)), assumed, tuple(found.remarks))


def named_in(reading: Reading, areas: Sequence[Area]) -> PathLimits:
    """The limits of a reading, with the areas that it names called as they are given.

    A name of a sentence is that of the area whose words it shares: "the old nursery" is
    ``nursery``, "the aisle" is ``painted aisle`` if no other aisle is given.

    Raises:
        InputError: no area, or more than one, fits a name; names those that are given.
    """
    return dataclasses.replace(reading.limits, keep_out=tuple(dict.fromkeys(
        _area_of(name, areas) for name in reading.limits.keep_out)))


def _area_of(name: str, areas: Sequence[Area]) -> str:
    said = name_words(name)
    given = {area.name: name_words(area.name) for area in areas}
    for exactly in (True, False):
        found = [area for area, words in given.items() if words and (
            words == said if exactly else words <= said or said <= words)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f'the sentence keeps out of {name!r}, which may be '
                             f'{" or ".join(found)} (name one of them)')
    raise InputError(f'the sentence keeps out of {name!r}, but there is no such area (there '
                     f'{"are " + ", ".join(given) if given else "is none: give areas"})')


def name_words(name: str) -> frozenset[str]:
    """The telling words of the name of an area, without articles, cases and plurals."""
    words = (word.rstrip('s') for word in normalised(name).replace("'s", ' ').split()
             if word.isalpha() and word not in _set('determiners') and word not in _set('fillers'))
    return frozenset(words)


def taken_words(wants: Mapping[str, int], limits: PathLimits = NO_LIMITS,
                reading: Reading | None = None) -> str:
    """Say what a task was taken to want, so that a person can object."""
    said = [_WANTED[name, sign] for name, sign in wants.items() if sign]
    for both, one in _TOGETHER:
        if all(part in said for part in both):
            said = [one, *(part for part in said if part not in both)]
    said += [_limit_words(limit) for limit in limits.limits]
    said += [f'not through {name}' for name in limits.keep_out]
    said += [f'on the {limits.keep_side}'] if limits.keep_side else []
    said += [f'not if {WORDS[trade.cost][0]} becomes more than '
             f'{f"{100 * trade.most:g} %" if trade.relative else f"{trade.most:g}"} above the '
             'least' for trade in limits.trade_offs]
    text = f'Taken to want: {"; ".join(said) or "nothing in particular"}.'
    if reading is not None:
        for title, words in (('Because of', reading.implied), ('Assumed', reading.assumed),
                             ('Not used', reading.remarks)):
            text += f' {title}: {"; ".join(words)}.' if words else ''
    return text


def _limit_words(limit: Limit) -> str:
    value = {ABSOLUTE: f'{limit.value:g}', TIMES_LEAST: f'{limit.value:g} times the least',
             ABOVE_LEAST: f'{limit.value:g} more than the least'}[limit.reference]
    relation = 'at least' if limit.relation == AT_LEAST else 'at most'
    if limit.name == 'minimum_clearance' and limit.relation == AT_LEAST:
        return f'at least {value} from anything'
    return f'{WORDS[limit.name][0]} {relation} {value}{WORDS[limit.name][3]}'


_WANTED = {
    ('average_clearance', 1): 'much room on the whole',
    ('average_clearance', -1): 'close to things on the whole',
    ('minimum_clearance', 1): 'room at the tightest place',
    ('minimum_clearance', -1): 'close to things at the nearest place',
    ('maximum_clearance', 1): 'far from things somewhere',
    ('maximum_clearance', -1): 'never far from things',
    ('path_length', 1): 'a long path', ('path_length', -1): 'a short path',
    ('sharp_turns', 1): 'many sharp turns', ('sharp_turns', -1): 'few sharp turns',
    ('maximum_angle', 1): 'a steep sharpest turn', ('maximum_angle', -1): 'no steep turn',
    ('smoothness', 1): 'much turning in total', ('smoothness', -1): 'little turning in total'}
_TOGETHER = (
    (('few sharp turns', 'no steep turn', 'little turning in total'),
     'few and gentle turns'),
    (('much room on the whole', 'room at the tightest place'), 'room to all things'),
    (('close to things on the whole', 'never far from things'), 'close to things all along'))
