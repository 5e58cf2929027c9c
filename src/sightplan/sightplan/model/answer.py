"""The answer to a yes/no question."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from sightplan.model.perception import Verdict
from sightplan.model.query import Reply
from sightplan.model.reply_text import why_cannot_tell
from sightplan.model.yes_no_text import parse_yes_no

YES_NO = 'yes_no'
"""Kind of the queries that are yes/no questions, ``queries.YesNo``."""
_BESIDE_TEXT = ('p_unknown', 'bounded', 'cut_at', 'verdict', 'reason')
"""Fields of an answer that a line has where the text does not tell them."""


@dataclass(frozen=True, slots=True)
class Answer(Reply):
    """A model's answer to a yes/no question; what was asked stands in its query.

    Its probabilities are the model's own, as it gave them: nothing here calibrates them
    (docs/ask.md, "Where a probability comes from").

    Attributes:
        text: the raw reply.
        p_yes: probability that the reply is "yes", in [0, 1], summed over its spellings; None when
            the model offers none (never a guess). People are shown ``yes_probability`` instead.
        p_no: probability that it is "no", in the same form; the two need not sum to 1, since a
            model may say something else.
        p_unknown: probability of "unknown"; None also when the prompt does not offer that answer.
        bounded: whether the smaller of ``p_yes`` and ``p_no`` is only the most that it may be,
            because the model's server does not list that word. ``yes_probability`` then lies
            between what it is and the nearer one of 0 and 1.
        cut_at: limit of tokens at which the reply was cut off; 0: it was not cut off.
        verdict: what the text says; read from it by ``parse_yes_no`` unless it is given. The text
            is the likeliest reply, and a word has several spellings: it may say "no" although
            ``p_yes`` is larger.
        reason: why it cannot be told, where the verdict is UNKNOWN and the model says why: the
            picture is unlike those that it was made for, it does not know a word, the thing is
            hidden or outside the picture. '' where it does not say. An answer that cannot tell is
            evidence neither of yes nor of no.
    """

    text: str = ''
    p_yes: float | None = None
    p_no: float | None = None
    p_unknown: float | None = None
    bounded: bool = False
    cut_at: int = 0
    verdict: Verdict = field(default=cast(Verdict, None), kw_only=True)
    reason: str = field(default='', kw_only=True)

    def __post_init__(self) -> None:
        """Read the text, where no verdict is given."""
        Reply.__post_init__(self)
        given: object = self.verdict
        if given is None:
            object.__setattr__(self, 'verdict', parse_yes_no(self.text))
            if self.verdict is Verdict.UNKNOWN and not self.reason:
                object.__setattr__(self, 'reason', why_cannot_tell(self.text))

    @classmethod
    def cannot_tell(cls, reason: str) -> Self:
        """Return the answer that it cannot be told, with the reason."""
        return cls('Unknown', verdict=Verdict.UNKNOWN, reason=reason)

    def to_line(self) -> dict[str, Any]:
        """Return the answer as fields of a sample's line in a run's results.

        ``p_yes`` and ``p_no`` always; of all else but the text what that does not tell.
        """
        own, told = self.to_json(), type(self)(self.text).to_json()
        return {'p_yes': self.p_yes, 'p_no': self.p_no, **{
            name: own[name] for name in _BESIDE_TEXT
            if name in own and own[name] != told.get(name)}}

    @classmethod
    def of_line(cls, line: Mapping[str, Any]) -> Self:
        """Return the answer that a sample's line has: its text is ``reply``; see ``to_line``.

        Raises:
            InputError: a field is something else.
        """
        return cls.from_json({'text': line.get('reply') or '', **{
            name: line[name] for name in ('p_yes', 'p_no', *_BESIDE_TEXT)
            if line.get(name) is not None}})

    def opposite(self) -> Self:
        """Return the answer to the opposite question: yes for no, and no for yes."""
        turned = {Verdict.YES: Verdict.NO, Verdict.NO: Verdict.YES}.get(self.verdict)
        return self if turned is None else dataclasses.replace(
            self, text=turned.value.capitalize(), verdict=turned, p_yes=self.p_no,
            p_no=self.p_yes)

    @property
    def yes_probability(self) -> float | None:
        """P(yes) among yes and no: ``yes_probability`` of ``p_yes`` and ``p_no``."""
        return yes_probability(self.p_yes, self.p_no)

    @property
    def bound(self) -> str:
        """Side of a ``yes_probability`` that is only bounded: '≤', '≥', or '' for exact."""
        if not self.bounded:
            return ''
        return '≤' if (self.p_yes or 0.0) <= (self.p_no or 0.0) else '≥'

    @property
    def p_yes_shown(self) -> float | None:
        """P(yes) for people: ``yes_probability``, or ``p_yes`` where that is all there is."""
        return self.p_yes if self.yes_probability is None else self.yes_probability

    def p_yes_text(self, digits: int = 3, missing: str = '-') -> str:
        """P(yes) as people read it: ``0.930``, or ``≤ 0.118`` where it is only bounded."""
        p = self.p_yes_shown
        return missing if p is None else f'{self.bound} {p:.{digits}f}'.lstrip()

    def summary(self) -> str:
        """The verdict, with the probability of "yes", or why it cannot be told."""
        if self.reason:
            return f'{self.verdict.value}: {self.reason}'
        p_yes = self.p_yes_text(2, missing='')
        return self.verdict.value + (f' ({p_yes})' if p_yes else '')


def yes_probability(p_yes: float | None, p_no: float | None) -> float | None:
    """P(yes) among yes and no: ``p_yes / (p_yes + p_no)``.

    Beliefs, calibrations, scores and all that people are shown take this number from an answer.

    Args:
        p_yes: see ``Answer``.
        p_no: likewise.

    Returns:
        None where one of the two is missing, or both are 0.
    """
    if p_yes is None or p_no is None or not p_yes + p_no > 0.0:
        return None
    return p_yes / (p_yes + p_no)
