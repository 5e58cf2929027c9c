"""The answer to a yes/no question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from sightplan.model.perception import Verdict
from sightplan.model.query import Reply
from sightplan.model.yes_no_text import parse_yes_no

YES_NO = 'yes_no'
"""Kind of the queries that are yes/no questions, ``queries.YesNo``."""


@dataclass(frozen=True, slots=True)
class Answer(Reply):
    """A model's answer to a yes/no question; what was asked stands in its query.

    Attributes:
        text: the raw reply.
        p_yes: probability of "yes" in [0, 1], summed over its spellings; None when the model
            offers none (never a guess).
        p_no: probability of "no", in the same form; the two need not sum to 1.
        p_unknown: probability of "unknown"; None also when the prompt does not offer that answer.
        bounded: whether the smaller of ``p_yes`` and ``p_no`` is only the most that it may be,
            because the model's server does not list that word. P(yes) among yes and no then lies
            between ``p_yes / (p_yes + p_no)`` and the nearer one of 0 and 1.
        cut_at: limit of tokens at which the reply was cut off; 0: it was not cut off.
        verdict: what the text says; read from it by ``parse_yes_no`` unless it is given.
    """

    text: str = ''
    p_yes: float | None = None
    p_no: float | None = None
    p_unknown: float | None = None
    bounded: bool = False
    cut_at: int = 0
    verdict: Verdict = field(default=cast(Verdict, None), kw_only=True)

    def __post_init__(self) -> None:
        """Read the text, where no verdict is given."""
        Reply.__post_init__(self)
        given: object = self.verdict
        if given is None:
            object.__setattr__(self, 'verdict', parse_yes_no(self.text))

    @property
    def at_most(self) -> bool:
        """Whether ``p_yes`` is only the most that it may be; see ``bounded``."""
        return self.bounded and (self.p_yes or 0.0) <= (self.p_no or 0.0)

    def p_yes_text(self, digits: int = 3, missing: str = '-') -> str:
        """``p_yes`` as people read it: ``0.930``, or ``≤ 0.080`` where that is only a bound."""
        return missing if self.p_yes is None else (
            f'{"≤ " if self.at_most else ""}{self.p_yes:.{digits}f}')

    def summary(self) -> str:
        """The verdict, with the probability of "yes"."""
        return self.verdict.value + ('' if self.p_yes is None else f' ({self.p_yes_text(2)})')
