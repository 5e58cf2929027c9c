"""An answer to a yes/no question with the truth beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from sightplan.model.answer import Answer
from sightplan.model.episode import Asked
from sightplan.model.perception import Question


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of an episode with its question and the truth, as a timeline joins them.

    Attributes:
        event: the batch that it belongs to.
        place: number in its batch, from 0.
        step: number of actions before it.
        truth: whether the atom held when the picture was taken; None where nobody knows it, and
            for a question in words.
    """

    event: Asked
    place: int
    step: int
    truth: bool | None

    @property
    def question(self) -> Question:
        """Return the question that was asked."""
        question: Question = cast(Any, self.event.queries[self.place]).question
        return question

    @property
    def answer(self) -> Answer:
        """Return the answer that the model gave."""
        return cast(Answer, self.event.replies[self.place])

    @property
    def expected(self) -> bool | None:
        """Return the answer that the method expected; None if it expected none."""
        return self.event.expected[self.place]

    @property
    def says(self) -> bool | None:
        """Whether the atom holds, by the answer; None: it says neither yes nor no."""
        return self.answer.verdict.says

    @property
    def wrong(self) -> bool:
        """Whether the answer says neither yes nor no, or is known not to say what is true."""
        return self.says is None or self.truth not in (None, self.says)

    def to_json(self) -> dict[str, Any]:
        """The answer as a line of results lists it."""
        seen = self.event.observation
        return {'purpose': self.event.purpose.value, 'atom': str(self.question.atom),
                'answer': self.answer.verdict.value, 'truth': self.truth, 'step': self.step,
                'image_id': seen.image_id, 'stamp_ns': seen.stamp_ns}
