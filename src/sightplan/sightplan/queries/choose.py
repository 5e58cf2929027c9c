"""``Choose``: which of several options; and asking so that a model's bias cancels.

Models that are shown two things side by side tend to name one place or one name whatever is there
(PathEval, table 2: GPT-4o-mini named the second path 1,016 times of 1,050). :func:`compare` asks
about a pair in both orders, under neutral names if wanted, and adds what each order says as
evidence: a preference for a place or for a name is in both with opposite signs, and cancels.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from sightplan.model.errors import BackendError, InputError
from sightplan.model.odds import log_odds, probability
from sightplan.model.query import Chat, Model, Part, Query, Reply, ask_one
from sightplan.model.reply_text import (
    after_thoughts,
    hedges,
    refuses,
    says_cannot_tell,
    why_cannot_tell,
)
from sightplan.queries.generate import Generate

MOST_OPTIONS = 16
HARD = 0.95
"""Probability of the chosen option where the model offers no probabilities."""

_LEAST = 1e-6
_LETTER = re.compile(
    r'\W*(?:ANSWER\W+)?(?:([A-Z])\W*(?:[.:,;)\n]|$|\s(?:BECAUSE|SINCE|FOR)\b)|([B-HJ-Z])\b)')
"""A reply that is one letter or begins with one; A and I may begin a sentence as words, too."""
_ABOUT_LETTER = re.compile(r'\W*(?:ANSWER\W+)?[A-Z]\s(?:IS|ISN|HAS|WOULD|WOULDN|DOES|DOESN)\b')
"""A reply that begins with a sentence about a letter, which may say that it is not the answer."""
_ANSWER = re.compile(r'answer\W*:', re.IGNORECASE)
_EXPLANATION = re.compile(r'explanation\W*:', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChoiceReply(Reply):
    """Reply to ``Choose``: the chosen option and the probabilities of all options.

    Attributes:
        probabilities: one for each option, in the request's order; they sum to 1. None: the model
            offers none, or the reply cannot be read (then ``unread`` says why).
        chosen: index of the option that the model names; None: unread.
        text: text of the model's reply; '' for a model that does not speak.
        unread: why the reply cannot be used; '' if it can.
        cannot_tell: why it cannot be told which option it is, such as pictures unlike those that
            the model was made for; then nothing is chosen. '' if it can. It is evidence for no
            option.
    """

    probabilities: tuple[float, ...] | None = None
    chosen: int | None = None
    text: str = ''
    unread: str = ''
    cannot_tell: str = ''

    def summary(self) -> str:
        """Return the number of the option, counted from 1, and its probability, as a text."""
        if self.cannot_tell:
            return f'cannot tell: {self.cannot_tell}'
        if self.chosen is None:
            return f'unread: {self.unread}'
        chance = '' if self.probabilities is None else f' ({max(self.probabilities):.2f})'
        return f'option {self.chosen + 1}{chance}'


@dataclass(frozen=True, eq=False)
class Choose(Query[ChoiceReply]):
    """Query that asks a model to choose one of several options.

    Attributes:
        parts: what the model is shown and asked, texts and images in their order; the options
            stand in it by their names.
        options: names of the options, 2 to 16 different ones, in the order in which they are
            shown.
        subjects: what is behind each option, by an identity of the caller's own; a model that
            looks at pictures or reads never gets it. Empty: nobody needs to know.
        properties: what decides, for a backend that reads no sentences: names of properties, each
            with 1 where more of it is better and -1 where less is. Empty: only the parts say it.
        system: text of the system role, '' for none.
        max_tokens: most tokens of the reply.
    """

    parts: tuple[Part, ...]
    options: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    properties: tuple[tuple[str, int], ...] = ()
    system: str = ''
    max_tokens: int = 512

    kind: ClassVar[str] = 'choice'
    reply_type: ClassVar[type[Reply]] = ChoiceReply
    cannot_answer: ClassVar[str] = 'cannot choose among options'

    def without_hidden(self) -> Self:
        """Return the query without its subjects."""
        return dataclasses.replace(self, subjects=())

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            InputError: too few, too many or equal names, or subjects for some options only.
        """
        names = {option.strip().lower() for option in self.options}
        if not 2 <= len(self.options) <= MOST_OPTIONS or len(names) != len(self.options):
            raise InputError(f'options = {self.options!r}: a choice is among 2 to {MOST_OPTIONS} '
                             'options of different names')
        if '' in names:
            raise InputError(f'options = {self.options!r}: give every option a name')
        if self.subjects and len(self.subjects) != len(self.options):
            raise InputError(f'subjects: {len(self.subjects)} for {len(self.options)} options; '
                             'give one for each, or none')
        for name, sign in self.properties:
            if sign not in (-1, 1):
                raise InputError(f'properties: {name} has {sign!r}; give 1 where more of it is '
                                 'better, or -1 where less is')

    def summary(self) -> str:
        """Return the names of the options as a text."""
        return f'which of {", ".join(self.options)}?'

    def as_chat(self, style: Any) -> Chat[ChoiceReply]:
        """The parts as they are; the reply is read as a careful person does."""
        return Chat(Generate(self.system, self.parts, self.max_tokens),
                    lambda reply: read_choice(reply.text, self.options))


class PreferenceSource(Protocol):
    """Ground truth about pairs; for scoring and simulated models only."""

    def better(self, first: str, second: str) -> int:
        """1 if the first subject is the better one, -1 if the second is, 0 if neither.

        Raises:
            InputError: nothing is known of one of them.
        """


def read_choice(text: str, options: Sequence[str]) -> ChoiceReply:
    """Return the option that a free reply chooses, as a careful person reads it.

    Thoughts are left aside (``reply_text.after_thoughts``). What stands after the last ``Answer:``
    and before ``Explanation:`` counts, where they are there. An option is chosen if

    * that is its name and nothing else, apart from spaces, case and marks;
    * or it is the only one of which it is said that it is better, best, chosen or the like, and
      not that it is worse or not to be taken ("A is worse than B" chooses B);
    * or no other one is named, but for those that it is taken instead of ("not A but B").

    A reply that refuses or only guesses chooses nothing. So does one that says that it cannot
    tell; ``ChoiceReply.cannot_tell`` has its reason.

    Args:
        text: the reply.
        options: their names.
    """
    said = after_thoughts(text)
    part = _EXPLANATION.split(_ANSWER.split(said)[-1])[0]
    words = _bare(part)
    bare = [_bare(option) for option in options]
    whole = words.replace(' ', '')
    for index, name in enumerate(bare):
        if name and whole == name.replace(' ', ''):
            return ChoiceReply(None, index, text)
    if not words:
        return ChoiceReply(text=text, unread='the reply ends within its thoughts' if text.strip()
                           and not said.strip() else 'empty reply')
    mentions = _mentions(words, bare)
    taken = {one.option for one in mentions if one.taken} - {
        one.option for one in mentions if one.taken is False}
    named = {one.option for one in mentions}
    why = why_cannot_tell(part)
    if not taken and not refuses(said) and why and (not named or says_cannot_tell(part)):
        return ChoiceReply(text=text, cannot_tell=why)
    if refuses(said) or any(one.guessed for one in mentions) or (
            not taken and (hedges(part) or part.rstrip().endswith('?'))):
        return ChoiceReply(text=text, unread='refuses, or only guesses')
    if not taken:
        taken = named - {one.option for one in mentions if one.taken is False}
        if len(named) > 1 and any(one.taken is None and one.compared for one in mentions):
            taken = set()
    if len(taken) == 1:
        return ChoiceReply(None, taken.pop(), text)
    return ChoiceReply(text=text, unread='names several options' if len(named) > 1 else
                       'says only which option is not chosen' if named else 'names no option')


@dataclass(frozen=True, slots=True)
class _Mention:
    """A place of a reply at which an option is named.

    Attributes:
        option: its index.
        taken: whether it is said to be the better one, or not to be; None: neither.
        guessed: whether it is only a guess ("maybe A").
        compared: whether the name is only compared with other options ("A or B", "than B").
    """

    option: int
    taken: bool | None = None
    guessed: bool = False
    compared: bool = False


_GOOD = (r'(?:better|best|preferable|preferred|superior|correct|right|winner|answer|one|choice'
         r'|suitable|suited|recommended)')
_VERB = r'(?:is|was|would be|seems|looks|appears|seems to be|appears to be)'
_NEGATION = r'(?:not|no|never|hardly|barely|scarcely)'
_IS_BETTER = re.compile(
    rf'{_VERB}(?: (?!{_NEGATION}\b|less\b|least\b)\w+){{0,2}}? {_GOOD}\b|wins\b|it is\Z')
_IS_WORSE = re.compile(
    rf'{_VERB}(?: (?!{_NEGATION}\b)\w+){{0,2}}? (?:worse|worst|inferior|unsuitable|wrong)\b'
    rf'|(?:(?:{_VERB}(?: (?!{_GOOD}\b)\w+)? {_NEGATION}|isn t|wouldn t be'
    r'|(?:does not|doesn t) (?:look|seem|appear))(?: (?!less\b|least\b)\w+){0,2}?'
    rf'|{_VERB}(?: \w+)? (?:less|least)) (?:{_GOOD}|good|safe|feasible|valid)\b'
    r'|(?:(?:serves|fits|suits|satisfies|fulfils)(?: (?:the|this|that|it|task))* )?worse\b'
    r'|(?:loses|fails|collides)\b'
    r'|(?:crosses|hits|touches|intersects|enters|(?:goes|passes|runs|cuts) through)'
    r'(?: \w+){0,3} (?:obstacles?|walls?|racks?)\b'
    rf'|{_VERB}(?: (?!{_NEGATION}\b)\w+)? (?:unsafe|dangerous|infeasible|invalid|blocked)\b')
_TAKEN = re.compile(
    r'\b(?:choos(?:e|ing)|chose|pick|prefer|select|take|recommend|go (?:with|for)|opt for'
    rf'|{_GOOD}(?: \w+)? (?:is|would be)|answer|better|best)(?: the)?\Z')
_SO = re.compile(r'\b(?:so|therefore|thus|hence)(?: the)?\Z')
_GOES_ON = re.compile(r'(?:is|has|was|does|would|needs|takes|comes|passes|goes)\b')
_NOT_TAKEN = re.compile(
    r'\b(?:not|never|neither|nor|instead of|rather than|avoid|against|preferable to|superior to'
    r'|(?:anything|everything) but)(?: the)?\Z'
    r'|\bthe (?:worse|worst|wrong|inferior)(?: \w+)? (?:is|would be)(?: the)?\Z'
    r'|\A(?:worse|worst)\Z')
_NEGATED = re.compile(r'\b(?:not|never|t|cannot|avoid)(?: (?:really|ever|actually))?\Z')
_WORSE_THAN = re.compile(
    rf'(?:(?<!not )(?<!no )(?<!never )\b(?:worse|inferior)|\bless {_GOOD}) (?:than|to)(?: the)?\Z')
_THAN = re.compile(r'\b(?:than|over|with|to)(?: the)?\Z')
_NOT_THOUGHT = re.compile(r'\b(?:not|t|never) (?:think|believe|say|find)(?: that)?\Z')
_REASON = re.compile(r'(?:because|since|as|due|for)\b')
_GUESSED = re.compile(r'\b(?:maybe|perhaps|possibly|guess)(?: \w+)?\Z')
_NEAR = 40
"""Number of characters before and after a name that are searched."""
_MOST_MENTIONS = 1000


def _mentions(words: str, names: Sequence[str]) -> list[_Mention]:
    """Return the mentions of options in a text of bare words, with what it says of each."""
    pattern = re.compile('|'.join(rf'(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])'
                                  for name in sorted(filter(None, names), key=len, reverse=True))
                         or r'(?!)')
    found = []
    for match in itertools.islice(pattern.finditer(words), _MOST_MENTIONS):
        before = words[max(0, match.start() - _NEAR):match.start()].rstrip()
        after = words[match.end():match.end() + _NEAR].lstrip()
        found.append(_mention(names.index(match[0]), before, after, pattern))
    return found


def _mention(option: int, before: str, after: str, names: re.Pattern[str]) -> _Mention:
    if _GUESSED.search(before):
        return _Mention(option, guessed=True)
    if _beside(before, after, names):
        return _Mention(option, False if _NOT_TAKEN.search(before) else None, compared=True)
    if _IS_WORSE.match(after) or _NOT_TAKEN.search(before) or _NOT_THOUGHT.search(before):
        return _Mention(option, False)
    if not before and _REASON.match(after):
        return _Mention(option, True)
    if _WORSE_THAN.search(before):
        return _Mention(option, True)
    taken = _TAKEN.search(before)
    if taken and _NEGATED.search(before[:taken.start()].rstrip()):
        return _Mention(option, False)
    if taken or _IS_BETTER.match(after) or (_SO.search(before) and not _GOES_ON.match(after)):
        return _Mention(option, True)
    return _Mention(option, compared=_THAN.search(before) is not None)


def _beside(before: str, after: str, names: re.Pattern[str]) -> bool:
    """Whether a name is one of several that are offered: "A or B", "A and B"."""
    follows = re.match(r'(?:or|and|nor) ', after)
    if follows and names.match(after, follows.end()):
        return True
    leads = re.search(r' (?:or|and|nor)\Z', before)
    return leads is not None and any(found.end() == leads.start()
                                     for found in names.finditer(before))


LETTERS = 'ABCDEFGHIJKLMNOP'
"""Letters that name the options where a model is asked to reply with one letter."""
LETTER_TOKENS = 16
"""Most tokens of a reply that shall be one letter."""


def lettered(request: Choose) -> tuple[Part, ...]:
    """Return the request's parts for a model that replies with one letter, to read its odds."""
    listed = ', '.join(f'{letter} for {option}' for letter, option in zip(
        LETTERS, request.options, strict=False))
    return (*request.parts, f'Reply with one letter and nothing else: {listed}.')


def read_letter(text: str, masses: Sequence[float] | None, request: Choose) -> ChoiceReply:
    """Return the choice of a model that was asked for one letter.

    Args:
        text: what it said.
        masses: probability of each option's letter as the first word, which may sum to less than
            1; None where the model offers none.
        request: what was asked.

    Raises:
        BackendError: the probabilities are no numbers.
    """
    said = after_thoughts(text)
    sentence = _ABOUT_LETTER.match(said.upper()) is not None
    found = None if sentence else _LETTER.match(said.upper())
    named = LETTERS.find(found[1] or found[2]) if found else -1
    read = (ChoiceReply(None, named, text) if 0 <= named < len(request.options)
            else read_choice(text, LETTERS[:len(request.options)] if sentence
                             else request.options))
    total = 0.0 if masses is None else math.fsum(masses)
    if not math.isfinite(total):
        raise BackendError(f'the probabilities of the options are no numbers ({masses}): the '
                           'model has failed; load it in another precision')
    if masses is None or total <= 0 or refuses(said) or (read.chosen is None and hedges(said)):
        return read
    chances = tuple(mass / total for mass in masses)
    likeliest = max(range(len(chances)), key=chances.__getitem__)
    if sentence and read.chosen != likeliest:
        return read  # they are of the letter that the sentence is about
    return ChoiceReply(chances, likeliest, text)


def _bare(text: str) -> str:
    """Return the text in lower case with single spaces, without marks."""
    return ' '.join(re.sub(r'[^a-z0-9]+', ' ', text.lower()).split())


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing a pair, for which the model is asked in both orders.

    Attributes:
        probability: that the first of the pair is the better one, in (0, 1).
        agreed: whether both orders name the same one; None where a reply could not be read, or
            said that it cannot be told.
        replies: the reply to the pair in its own order, and the one in reversed order.
    """

    probability: float
    agreed: bool | None
    replies: tuple[ChoiceReply, ...]

    @property
    def cannot_tell(self) -> str:
        """Why none of the replies can tell; '' if one can, or cannot be read."""
        reasons = [reply.cannot_tell for reply in self.replies]
        return reasons[0] if all(reasons) else ''

    @property
    def log_odds(self) -> float:
        """Log-odds that the first of the pair is the better one."""
        return log_odds(self.probability, _LEAST)


def compare(model: Model, ask: Callable[[int, int], Choose], orders: str = 'both',
            timeout_s: float | None = None) -> Comparison:
    """Ask which of two things is the better one, so that bias for a place or name cancels.

    The evidence of each order is its log-odds, and the evidence is summed. A model with a constant
    bias b to the first place gives e1 + b and e2 - b about the first thing in the two orders, so
    that the sum is free of b. If the noise differs between the orders, the sum has sqrt(2) times
    the sensitivity of a single order (d' of signal detection). A reply that cannot be read, or
    says that it cannot be told, adds no evidence.

    Args:
        model: the model that chooses.
        ask: makes the request that shows ``(first, second)``; called with (0, 1) and (1, 0).
        orders: ``both``, or ``one`` for the pair in its own order only.
        timeout_s: wall-clock limit of each query [s]; None for the model's own.

    Raises:
        InputError: the model cannot choose, or no such ``orders``.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if orders not in ('both', 'one'):
        raise InputError(f'orders = {orders!r} must be both or one')
    replies = [ask_one(model, ask(0, 1), timeout_s)]
    evidence = _evidence(replies[0])
    chosen = [replies[0].chosen]
    if orders == 'both':
        replies.append(ask_one(model, ask(1, 0), timeout_s))
        evidence -= _evidence(replies[1])
        other = replies[1].chosen
        chosen.append(None if other is None else 1 - other)
    agreed = None if None in chosen else len(set(chosen)) == 1
    return Comparison(probability(evidence), agreed, tuple(replies))


def _evidence(reply: ChoiceReply) -> float:
    """Return the log-odds of the first of two options."""
    if reply.probabilities is not None:
        return log_odds(
            reply.probabilities[0] / max(sum(reply.probabilities[:2]), _LEAST), _LEAST)
    if reply.chosen is None:
        return 0.0
    return log_odds(HARD if reply.chosen == 0 else 1 - HARD, _LEAST)
