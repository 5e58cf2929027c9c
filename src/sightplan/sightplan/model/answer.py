"""The answer to a yes/no question: a reply that was read."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model.perception import Verdict
from sightplan.model.query import Reply
from sightplan.model.symbols import Atom


@dataclass(frozen=True, slots=True)
class Answer(Reply):
    """A model's answer to a question.

    Attributes:
        atom: what was asked.
        verdict: the parsed answer.
        p_yes: probability of "yes" in [0, 1]; None when the backend offers none (never a guess).
        p_no: probability of "no", in the same form; the two need not sum to 1.
        text: the raw reply.
        p_unknown: probability of "unknown"; None also when the prompt does not offer that answer.
        bounded: whether the smaller of ``p_yes`` and ``p_no`` is only the most that it may be,
            because the model's server does not list that word. P(yes) among yes and no then lies
            between ``p_yes / (p_yes + p_no)`` and the nearer one of 0 and 1.
    """

    atom: Atom
    verdict: Verdict
    p_yes: float | None = None
    p_no: float | None = None
    text: str = ''
    p_unknown: float | None = None
    bounded: bool = False

    def summary(self) -> str:
        """The verdict, with the probability of "yes"."""
        return self.verdict.value + ('' if self.p_yes is None else f' ({self.p_yes:.2f})')
