"""Requests to choose among options, replies to them, and asking so that a model's bias cancels.

Models that are shown two things side by side tend to name one place or one name whatever is there
(PathEval, table 2: GPT-4o-mini named the second path 1,016 times of 1,050). :func:`compare` asks
about a pair in both orders, under neutral names if wanted, and adds what each order says as
evidence: a preference for a place or for a name is in both with opposite signs, and cancels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from sightplan.model import BackendError, InputError

if TYPE_CHECKING:
    from sightplan.vlm.api import Backend, Part

MOST_OPTIONS = 16
HARD = 0.95
"""Probability that a choice counts for where a model offers none."""

_LEAST = 1e-6
_LETTER = re.compile(
    r'\W*(?:ANSWER\W+)?(?:([A-Z])\W*(?:[.:,;)\n]|$|\s(?:IS|HAS|WOULD|BECAUSE|SINCE|FOR)\b)'
    r'|([B-HJ-Z])\b)')
"""A reply that is one letter or begins with one; A and I may begin a sentence as words, too."""
_ANSWER = re.compile(r'answer\W*:', re.IGNORECASE)
_EXPLANATION = re.compile(r'explanation\W*:', re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class ChoiceRequest:
    """Which of several options is it?

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
        timeout_s: wall-clock limit [s]; None for the backend's own.
    """

    parts: tuple[Part, ...]
    options: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    properties: tuple[tuple[str, int], ...] = ()
    system: str = ''
    max_tokens: int = 512
    timeout_s: float | None = None

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


@dataclass(frozen=True, slots=True)
class ChoiceReply:
    """What was chosen.

    Attributes:
        probabilities: of each option, in the request's order; they sum to 1. None: the model
            offers none, or the reply cannot be read (then ``unread`` says why).
        chosen: index of the option that the model names; None: unread.
        text: what it said; '' for a model that does not speak.
        unread: why the reply cannot be used; '' if it can.
    """

    probabilities: tuple[float, ...] | None = None
    chosen: int | None = None
    text: str = ''
    unread: str = ''


class Chooser(Protocol):
    """A backend with its own way to choose; any other that replies in free text is read."""

    chooses: bool
    """Whether it has: true."""

    def choose(self, request: ChoiceRequest) -> ChoiceReply:
        """Choose among options.

        Raises:
            InputError: it cannot compare such things; the message says what it can.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """


class PreferenceSource(Protocol):
    """Ground truth about pairs; for scoring and simulated models only."""

    def better(self, first: str, second: str) -> int:
        """1 if the first subject is the better one, -1 if the second is, 0 if neither.

        Raises:
            InputError: nothing is known of one of them.
        """


def can_choose(backend: object) -> bool:
    """Whether a backend, or its class, chooses among options, in a way of its own or in words."""
    return bool(getattr(backend, 'chooses', False) or getattr(backend, 'generates', False))


def choose(backend: Backend, request: ChoiceRequest) -> ChoiceReply:
    """Let a backend choose; one without a way of its own replies in free text, which is read.

    Raises:
        InputError: the backend can do neither.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if getattr(backend, 'chooses', False):
        return cast(Chooser, backend).choose(request)
    if not backend.generates:
        raise InputError(f'model {backend.model} answers yes/no questions only, it cannot choose '
                         'among options; choose a backend that does')
    from sightplan.vlm.api import TextRequest

    reply = backend.generate(TextRequest(request.system, request.parts, request.max_tokens,
                                         request.timeout_s))
    return read_choice(reply.text, request.options)


def read_choice(text: str, options: Sequence[str]) -> ChoiceReply:
    """The option that a free reply names.

    What stands after the last ``Answer:`` and before ``Explanation:`` counts, where they are
    there. It must be an option's name, apart from spaces, case and
    marks; or name exactly one of them.

    Args:
        text: the reply.
        options: their names.
    """
    words = _bare(_EXPLANATION.split(_ANSWER.split(text)[-1])[0])
    bare = [_bare(option) for option in options]
    if words in bare:
        return ChoiceReply(None, bare.index(words), text)
    named = [index for index, name in enumerate(bare)
             if re.search(rf'(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])', words)]
    if len(named) == 1:
        return ChoiceReply(None, named[0], text)
    return ChoiceReply(text=text, unread='empty reply' if not words else
                       'names several options' if named else 'names no option')


LETTERS = 'ABCDEFGHIJKLMNOP'
"""By these the options are called where a model is asked for one letter."""


def lettered(request: ChoiceRequest) -> tuple[Part, ...]:
    """What to show a model that shall reply with one letter, whose probabilities can be read."""
    listed = ', '.join(f'{letter} for {option}' for letter, option in zip(
        LETTERS, request.options, strict=False))
    return (*request.parts, f'Reply with one letter and nothing else: {listed}.')


def read_letter(text: str, masses: Sequence[float] | None, request: ChoiceRequest) -> ChoiceReply:
    """The choice of a model that was asked for one letter.

    Args:
        text: what it said.
        masses: probability of each option's letter as the first word, which may sum to less than
            1; None where the model offers none.
        request: what was asked.

    Raises:
        BackendError: the probabilities are no numbers.
    """
    found = _LETTER.match(text.upper())
    named = LETTERS.find(found[1] or found[2]) if found else -1
    read = (ChoiceReply(None, named, text) if 0 <= named < len(request.options)
            else read_choice(text, request.options))
    total = 0.0 if masses is None else math.fsum(masses)
    if not math.isfinite(total):
        raise BackendError(f'the probabilities of the options are no numbers ({masses}): the '
                           'model has failed; load it in another precision')
    if masses is None or total <= 0:
        return read
    chances = tuple(mass / total for mass in masses)
    return ChoiceReply(chances, max(range(len(chances)), key=chances.__getitem__), text)


def _bare(text: str) -> str:
    """Lower-case words with single spaces, without marks."""
    return ' '.join(re.sub(r'[^a-z0-9]+', ' ', text.lower()).split())


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a model says about a pair when it is asked in both orders.

    Attributes:
        probability: that the first of the pair is the better one, in (0, 1).
        agreed: whether both orders name the same one; None where a reply could not be read.
        replies: to the pair as it is, and the other way round.
    """

    probability: float
    agreed: bool | None
    replies: tuple[ChoiceReply, ...]

    @property
    def log_odds(self) -> float:
        """Log-odds that the first of the pair is the better one."""
        return _logit(self.probability)


def compare(backend: Backend, ask: Callable[[int, int], ChoiceRequest],
            orders: str = 'both') -> Comparison:
    """Ask which of two things is the better one, so that bias for a place or name cancels.

    The evidence of each order is its log-odds; they add up. Of a model with a constant bias b to
    the first place the orders say e1 + b and e2 - b about the first thing: the sum is free of b,
    and of evidence whose noise differs between the orders it has sqrt(2) times the sensitivity of
    one (d' of signal detection). A reply that cannot be read says nothing.

    Args:
        backend: what chooses.
        ask: makes the request that shows ``(first, second)``; called with (0, 1) and (1, 0).
        orders: ``both``, or ``one`` for the pair as it is only.

    Raises:
        InputError: the backend cannot choose, or no such ``orders``.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if orders not in ('both', 'one'):
        raise InputError(f'orders = {orders!r} must be both or one')
    replies = [choose(backend, ask(0, 1))]
    evidence = _evidence(replies[0])
    chosen = [replies[0].chosen]
    if orders == 'both':
        replies.append(choose(backend, ask(1, 0)))
        evidence -= _evidence(replies[1])
        other = replies[1].chosen
        chosen.append(None if other is None else 1 - other)
    agreed = None if None in chosen else len(set(chosen)) == 1
    return Comparison(1 / (1 + math.exp(-evidence)), agreed, tuple(replies))


def _evidence(reply: ChoiceReply) -> float:
    """Log-odds of the first of two options."""
    if reply.probabilities is not None:
        return _logit(reply.probabilities[0] / max(sum(reply.probabilities[:2]), _LEAST))
    if reply.chosen is None:
        return 0.0
    return _logit(HARD if reply.chosen == 0 else 1 - HARD)


def _logit(probability: float) -> float:
    inside = min(max(probability, _LEAST), 1 - _LEAST)
    return math.log(inside / (1 - inside))
