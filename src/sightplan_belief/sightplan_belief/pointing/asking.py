"""Asking a model that points until it is clear where a target is.

Example::

    pointer = Pointer(model)
    found = pointer.locate(Locate(image, Target('the red mug'), depth_m), camera)
    if found.sure:
        grasp(found.regions[0])
    else:
        print(found.doubt)
    pointer.learn(found, right=lifted_the_right_thing)

Each asking has a number, and so words of its own; askings show the whole picture and closer views
in turn. Existence is believed, not assumed: the target may be nowhere, and a model that answers
yes/no questions is also asked whether there is such a thing. Nothing is sure on the strength of
votes alone: a check, or what the model itself tells of the existence of such a thing, must confirm
the place, and the model must know every word of the target. A model that answers from ground truth
(``Traits.truth``) is always shown the whole picture, because that is what its truth is about.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sightplan.model import (
    BackendError,
    DeadlineError,
    Form,
    Region,
    Target,
    Verdict,
    check_settings,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Model, ask_one, can_ask, traits_of
from sightplan.model.region import Mask
from sightplan.model.whereabouts import UNLIKE, Whereabouts, is_foreign
from sightplan.model.yes_no_text import probabilities_apply
from sightplan.queries import Answer, Exists, Locate, LocateReply
from sightplan.queries import Check as CheckQuery
from sightplan_belief.pointing.choosing import EXISTS, POINT, Asking, next_asking
from sightplan_belief.pointing.depth_pieces import Camera
from sightplan_belief.pointing.pieces import Pieces, propose_pieces
from sightplan_belief.pointing.places import Places
from sightplan_belief.pointing.reliability import Reliability
from sightplan_belief.pointing.votes import ABSENT, Answers, Belief, Check, believe
from sightplan_belief.pointing.windows import Window, windows

_LOG = logging.getLogger(__name__)
_MOST_UNREAD = 2
"""Number of unreadable replies in a row after which a question is not asked again."""
_MOST_CHECKS = 2
"""Number of times that one place is checked."""
_MOST_EXISTENCE = 3
"""Number of times that the model is asked whether there is such a thing."""
_CONFIRMED = 0.5
"""Smallest mean probability of "yes" at which answers confirm a place. What a model tells by
itself about existence, at even odds, must be larger, too."""

_EVEN = 0.5
"""Probability of absence from which the answer may be that the target is not there."""

CANNOT_TELL = 'cannot tell: '
"""Begins the doubt about a target without a place where it cannot be told whether it is there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An asking and its reply.

    Attributes:
        asking: what was asked.
        reply: of the model; places are in coordinates of the whole picture.
        unread: why it is no evidence; '' if it is.
    """

    asking: Asking
    reply: LocateReply | Answer
    unread: str = ''


@dataclass(frozen=True, eq=False)
class Located:
    """Result of locating a target.

    Attributes:
        target: what was looked for.
        regions: in unit coordinates, the best first; none: it is not there, or nothing that was
            said could be read (``unread``).
        probability: that the target exists and is at the piece or spot that was chosen; that it
            is not there, if there are no regions. It says nothing about which part of a piece is
            meant. 0 if ``unread``.
        sure: whether that is as much as was to be accepted, a check confirmed the place, if there
            is one, and the model knows every word of the target.
        abstained: whether it is so little that one had better do nothing.
        place: index of the piece or spot (from the number of pieces), or ABSENT; None if
            ``unread``, or if the model only said that it does not know the words.
        mask: (H, W) bool, the piece; None if it is none of the pieces.
        belief: about all places, and about the target's being in the picture at all.
        asked: all askings, in order.
        unread: why nothing can be said; '' if something can.
        doubt: why it is not sure, in words; '' if it is, or if ``unread``. It begins with
            ``CANNOT_TELL`` where there are no regions, and it cannot be told whether it is there.
        unknown: words of the target that the model does not know.
    """

    target: Target
    regions: tuple[Region, ...]
    probability: float
    sure: bool
    abstained: bool
    place: int | None
    mask: Mask | None
    belief: Belief
    asked: tuple[Asked, ...]
    unread: str = ''
    doubt: str = ''
    unknown: tuple[str, ...] = ()

    @property
    def whereabouts(self) -> Whereabouts:
        """Answer: here, not here, or that it cannot be told."""
        return whereabouts_of(self.regions, self.unread, self.unknown, self.doubt)

    @property
    def present(self) -> float | None:
        """Probability that the target is in the picture, wherever; None where nothing is known."""
        return self.belief.present if self.belief.answers.any else None

    @property
    def askings(self) -> int:
        """Number of times that the model was asked to point."""
        return sum(not asked.asking.is_check for asked in self.asked)

    @property
    def checks(self) -> int:
        """Number of times that the model was asked whether a place is right, or it exists."""
        return sum(asked.asking.is_check for asked in self.asked)

    def to_reply(self) -> LocateReply:
        """The result as a reply to the query, with the text of the first reply."""
        text = next((asked.reply.text for asked in self.asked), '')
        return LocateReply(self.regions, text, None if self.place is None else self.probability,
                           self.unread, unknown=self.unknown)


class Pointer:
    """Locates targets by asking a model several times.

    Args:
        model: points. One that cannot check a place (``queries.Check``) is not asked whether
            places are right: only votes count.
        settings: how long it is asked.
        reliability: of the model; None: nothing is known of it.
        clock: tells the time [s].

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, model: Model, settings: PointerSettings | None = None,
                 reliability: Reliability | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.reliability = reliability or Reliability.default()
        self._settings = settings or PointerSettings()
        check_settings(self._settings)
        self._model = model
        self._clock = clock

    def locate(self, query: Locate, camera: Camera | None = None,
               pieces: Pieces | None = None, timeout_s: float | None = None) -> Located:
        """Locate a target by asking until the place is sure, or the askings are used up.

        A trace is asked for once: which of several is right, no vote tells.

        Args:
            query: what to find; its ``attempt`` is the number of the first asking.
            camera: intrinsics of image and depth (fx, fy, cx, cy) [px].
            pieces: of the picture, if they are known; ``propose_pieces`` makes them.
            timeout_s: wall-clock limit of all askings together [s]. When it is reached, or the
                model fails, what is known by then is the answer.

        Raises:
            InputError: depth and picture do not fit together, or the model refuses.
            BackendError: the model could not answer even once.
            DeadlineError: not even one answer came within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """
        end = None if timeout_s is None else self._clock() + timeout_s
        if pieces is None:
            pieces = propose_pieces(query.image, query.depth_m, camera)
        dialogue = _Dialogue(self._model, query, pieces, self._settings)
        trace = query.target.form is Form.TRACE
        left = 1 if trace else self._settings.max_askings
        present = self._settings.prior_present
        belief = believe(dialogue.answers, self.reliability, present)
        while left:
            asking = self._next(dialogue, belief, left)
            if asking is None:
                break
            left_s = None if end is None else end - self._clock()
            if left_s is not None and left_s <= 0 and not dialogue.answered:
                raise DeadlineError(f'{query.target.text!r} was not located within '
                                    f'{timeout_s:g} s; allow more time')
            try:
                dialogue.ask(asking, left_s)
            except (BackendError, DeadlineError) as error:
                if not dialogue.answered:
                    raise
                _LOG.warning('%s: asked %d times about %r, not more: %s', self._model.name,
                             len(dialogue.asked), query.target.text, error)
                break
            left -= 1
            belief = believe(dialogue.answers, self.reliability, present)
        return dialogue.located(belief)

    def _next(self, dialogue: _Dialogue, belief: Belief, left: int) -> Asking | None:
        """Choose what to ask next.

        None if the place is sure, or no answer would change anything, or the model says that it
        does not know the words.
        """
        if not dialogue.asked:
            return POINT
        if dialogue.cannot_tell:
            return None
        options = dialogue.options()
        if not dialogue.answered or belief.probability < self._settings.accept:
            return next_asking(belief, options, left)
        confirming = Asking(belief.best)
        if belief.best == ABSENT or dialogue.confirmed(belief.best):
            return None
        return next((asking for asking in (confirming, EXISTS) if asking in options), None)

    def learn(self, located: Located, right: bool | None = None) -> None:
        """Learn from a target how reliable the model is; call it once for each target.

        Args:
            located: the target.
            right: whether the place that was chosen turned out to be right; None: nobody knows,
                so that only answers that agree or not teach something.
        """
        chosen = () if located.place is None else (located.place,)
        belief = believe(located.belief.answers, self.reliability, self._settings.prior_present)
        truth = chosen[0] if right and chosen else None
        self.reliability = belief.learned(truth, chosen if right is False else ())


class _Dialogue:
    """Questions and answers about one target."""

    def __init__(self, model: Model, query: Locate, pieces: Pieces,
                 settings: PointerSettings) -> None:
        self.answers = Answers(pieces.count)
        self.asked: list[Asked] = []
        self._unknown: tuple[str, ...] = ()
        self._model = model
        self._checks = settings.checks and can_ask(model, CheckQuery)
        self._existence = settings.checks and can_ask(model, Exists)
        self._query = query
        self._settings = settings
        self._places = Places(pieces)
        height, width = query.image.shape[:2]
        whole = [Window.whole(width, height)]
        one_view = not settings.views or bool(traits_of(model).truth)
        self._windows = whole if one_view else windows(pieces)

    @property
    def cannot_tell(self) -> bool:
        """Whether the picture is foreign, or the last reply names unknown words, and no place."""
        if self.foreign:
            return True
        last = self.asked[-1].reply if self.asked else None
        return isinstance(last, LocateReply) and bool(last.unknown) and not last.regions

    @property
    def foreign(self) -> bool:
        """Whether the picture is none of the kind that the model was made for.

        The first reply tells, which is about the whole picture.
        """
        first = self.asked[0].reply if self.asked else None
        return isinstance(first, LocateReply) and is_foreign(first.foreign)

    @property
    def answered(self) -> bool:
        """Whether there is any evidence."""
        return self.answers.any

    def options(self) -> list[Asking]:
        """Askings that are possible next."""
        wanted = [POINT]
        if self._checks:
            wanted += [Asking(place) for place in range(self.answers.places)
                       if self._number(Asking(place)) < _MOST_CHECKS]
        if self._existence and self._number(EXISTS) < _MOST_EXISTENCE:
            wanted.append(EXISTS)
        return [asking for asking in wanted if self._is_readable(asking)]

    def confirmed(self, place: int) -> bool:
        """Whether it was confirmed that a place is right.

        Its checks say "yes" rather than "no"; without any, the answers on existence do; without
        these, the model tells, apart from pointing, that such a thing exists.
        """
        said = ([check.yes for check in self.answers.checks if check.place == place]
                or self.answers.existence)
        if said:
            return sum(said) / len(said) > _CONFIRMED
        told = self.answers.told_existence
        return told is not None and told > _CONFIRMED

    def ask(self, asking: Asking, left_s: float | None) -> None:
        """Ask the model, and keep its reply.

        Raises:
            DeadlineError: no time is left, or the model took too long.
        """
        if left_s is not None and left_s <= 0:
            raise DeadlineError('the time limit has passed')
        if asking.exists:
            asked = self._ask_existence(left_s)
        elif asking.place is None:
            asked = self._ask_where(left_s)
        else:
            asked = self._ask_whether(asking.place, left_s)
        self.asked.append(asked)

    def located(self, belief: Belief) -> Located:
        """Make the result of the dialogue from the belief."""
        target, settings = self._query.target, self._settings
        if not self.answered and self.cannot_tell:
            return Located(target, (), 0.0, False, True, None, None, belief, tuple(self.asked),
                           doubt=doubt_of(None, settings.accept, self._unknown, True, absent=True,
                                          foreign=self.foreign), unknown=self._unknown)
        if not self.answered:
            unread = next((asked.unread for asked in self.asked if asked.unread), 'nothing asked')
            return Located(target, (), 0.0, False, True, None, None, belief, tuple(self.asked),
                           unread)
        place, chance = belief.best, belief.probability
        regions = tuple(dataclasses.replace(region, probability=chance, label=region.label
                                            or target.text)
                        for region in self._places.regions(place, target.form))
        pieces = self._places.pieces
        mask = pieces.mask(place) if 0 <= place < pieces.count else None
        doubt = doubt_of(chance, settings.accept, self._unknown,
                         place == ABSENT or self.confirmed(place), absent=not regions)
        return Located(target, regions, chance, not doubt, chance < settings.least,
                       place, mask, belief, tuple(self.asked), doubt=doubt,
                       unknown=self._unknown)

    def _ask_where(self, left_s: float | None) -> Asked:
        number = self._number(POINT)
        window = self._windows[number % len(self._windows)]
        query = dataclasses.replace(self._query, attempt=self._query.attempt + number)
        reply = window.reply(ask_one(self._model, window.query(query), left_s))
        vote = (None if not number and is_foreign(reply.foreign)
                else self._places.vote(reply, query.target.form))
        self._unknown = tuple(dict.fromkeys((*self._unknown, *reply.unknown)))
        if vote is not None:
            self.answers = self.answers.voted(vote)
        return Asked(POINT, reply, reply.unread)

    def _ask_whether(self, place: int, left_s: float | None) -> Asked:
        asking, query, places = Asking(place), self._query, self._places
        is_piece = self._settings.mark == 'piece' and place < places.pieces.count
        region = places.mark(place) if is_piece else Region(Form.POINT, (places.point(place),))
        reply = ask_one(self._model, CheckQuery(
            query.image, query.target, region, places.pieces.mask(place) if is_piece else None,
            query.attempt + self._number(asking)), left_s)
        yes = probability_of_yes(reply)
        if yes is None:
            return Asked(asking, reply, f'{reply.text!r} is neither yes nor no')
        self.answers = self.answers.checked(Check(place, yes))
        return Asked(asking, reply)

    def _ask_existence(self, left_s: float | None) -> Asked:
        query = self._query
        reply = ask_one(self._model, Exists(query.image, query.target,
                                            query.attempt + self._number(EXISTS)), left_s)
        yes = probability_of_yes(reply)
        if yes is None:
            return Asked(EXISTS, reply, f'{reply.text!r} is neither yes nor no')
        self.answers = self.answers.asked_existence(yes)
        return Asked(EXISTS, reply)

    def _number(self, asking: Asking) -> int:
        """Number of times that this was asked already."""
        return sum(asked.asking == asking for asked in self.asked)

    def _is_readable(self, asking: Asking) -> bool:
        """Whether the last replies to it could be read."""
        last = [asked for asked in self.asked if asked.asking == asking][-_MOST_UNREAD:]
        return len(last) < _MOST_UNREAD or not all(asked.unread for asked in last)


def whereabouts_of(regions: Sequence[Region], unread: str, unknown: Sequence[str],
                   doubt: str) -> Whereabouts:
    """Answer about a target: here, not here, or that it cannot be told.

    Args:
        regions: where it is; none: nowhere.
        unread: why nothing that the model said can be used; '' if something can.
        unknown: words of the target that the model does not know.
        doubt: why it is not sure, see ``doubt_of``.
    """
    if unread or unknown or doubt.startswith(CANNOT_TELL):
        return Whereabouts.CANNOT_TELL
    return Whereabouts.HERE if regions else Whereabouts.NOT_HERE


def doubt_of(chance: float | None, accept: float, unknown: Sequence[str], confirmed: bool, *,
             absent: bool = False, foreign: bool = False) -> str:
    """Explain in words why a place is not sure; '' if it is.

    Args:
        chance: that it is right; None where nobody offers a probability.
        accept: from which probability on it may be sure.
        unknown: words of the target that the model does not know.
        confirmed: whether a check confirmed that the target is there.
        absent: whether there is no place. Where words are unknown, or it is likelier there than
            not, nobody can tell then.
        foreign: whether the picture is none of the kind that the model was made for: nobody can
            tell anything about it.
    """
    if foreign:
        return f'{CANNOT_TELL}{UNLIKE}'
    doubts = []
    if unknown:
        words = ', '.join(map(repr, unknown)) if any(unknown) else 'a target without words'
        doubts.append(f'the model does not know {words}')
        if absent:
            return f'{CANNOT_TELL}{doubts[0]}'
    if absent and chance is not None and chance < _EVEN:
        return f'{CANNOT_TELL}it is likelier there than not, but no place is known'
    if chance is None:
        doubts.append('the model offers no probability')
    elif chance < accept:
        doubts.append(f'the probability is below {accept:g}')
    if not confirmed:
        doubts.append('no check confirmed that it is there')
    return '; '.join(doubts)


def probability_of_yes(reply: Answer) -> float | None:
    """Weight of a "yes" in a reply to a check, 0 to 1.

    A model's probabilities count where it gives them, else its words do.

    Returns:
        None: neither yes nor no, or that it cannot be told.
    """
    verdict = reply.verdict
    if verdict is Verdict.UNKNOWN or not probabilities_apply(reply.text, verdict):
        return None
    if reply.yes_probability is not None:
        return reply.yes_probability
    if verdict in (Verdict.YES, Verdict.NO):
        return float(verdict is Verdict.YES)
    return None


__all__ = ['ABSENT', 'CANNOT_TELL', 'Asked', 'Located', 'Pointer', 'PointerSettings', 'doubt_of',
           'whereabouts_of', 'probability_of_yes']
