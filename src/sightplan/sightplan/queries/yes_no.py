"""``YesNo``: a yes/no question about an observation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sightplan.model.answer import Answer
from sightplan.model.episode import Asked
from sightplan.model.errors import InputError
from sightplan.model.perception import BARE, AskPurpose, GroundingPrompt, Observation, Question
from sightplan.model.query import Chat, Draws, Part, Query, Reply, Rgb
from sightplan.model.symbols import Action
from sightplan.model.usage import Usage
from sightplan.queries.generate import Generate, TextReply


@dataclass(frozen=True, slots=True)
class YesNoReply(Reply):
    """The raw reply to one question.

    Attributes:
        text: text of the reply.
        p_yes: probability of "yes", summed over its spellings; None if not offered.
        p_no: probability of "no"; None as for ``p_yes``.
        p_unknown: probability of "unknown", where the prompt offers that answer; else None.
        bounded: whether the smaller of ``p_yes`` and ``p_no`` is a bound, as in ``Answer``.
    """

    text: str
    p_yes: float | None = None
    p_no: float | None = None
    p_unknown: float | None = None
    bounded: bool = False

    def summary(self) -> str:
        """Return the text of the reply, with the probability of "yes" if there is one."""
        return self.text if self.p_yes is None else f'{self.text} ({self.p_yes:.2f})'


@dataclass(frozen=True, eq=False)
class YesNo(Query[YesNoReply]):
    """A yes/no question about an observation.

    Questions about the same observation in the same words go to a model together, so that it
    looks at the picture once.

    Attributes:
        observation: the observation that is shown to the model.
        question: the question; a real model uses its ``text`` only.
        prompt: the words around it; a model that was made for bare questions (``embedded``) or
            needs none (``noisy_oracle``) does without them.
    """

    observation: Observation
    question: Question
    prompt: GroundingPrompt = BARE

    kind: ClassVar[str] = 'yes_no'
    reply_type: ClassVar[type[Reply]] = YesNoReply

    def content(self) -> dict[str, Any]:
        """Picture, text of the observation, and the question in the prompt's words."""
        return {'image': self.observation.image_id, 'observation': self.observation.text,
                'question': self.prompt.ask(self.question.text)}

    def shared(self) -> dict[str, Any]:
        """Return the words of the prompt."""
        return _words(self.prompt)

    @property
    def pictures(self) -> tuple[Rgb, ...]:
        """The picture, if there is one."""
        image = self.observation.image
        return () if image is None else (image,)

    @property
    def picture_ids(self) -> tuple[str, ...]:
        """Id of the picture, also where the picture itself is not at hand; empty without an id."""
        name = self.observation.image_id
        return (name,) if name else ()

    @property
    def together(self) -> object:
        """Identity of the observation, and the prompt."""
        return id(self.observation), self.prompt

    def summary(self) -> str:
        """Return the text of the question."""
        return self.question.text

    def as_chat(self, style: Any) -> Chat[YesNoReply]:
        """The question as a prompt for a model that writes text."""
        prompt, seen = self.prompt, self.observation
        shown: Part | None = seen.text if seen.image is None else seen.image
        if shown is None:
            raise InputError('a model must be shown something; this observation has neither image '
                             'nor text')
        parts = (prompt.before_image, shown, prompt.after_image, prompt.ask(self.question.text))
        return Chat(Generate(prompt.system, tuple(
            part for part in parts if not isinstance(part, str) or part), prompt.max_tokens),
            _read)

    def true_reply(self, truth: Any) -> YesNoReply:
        """Whether the atom holds in the true state at the time of the observation."""
        state = truth.state(self.observation.stamp_ns)
        return YesNoReply('Yes' if self.question.atom in state else 'No')

    def wrong_reply(self, truth: Any, draw: Draws) -> YesNoReply:
        """Return the opposite answer."""
        right = self.true_reply(truth)
        return YesNoReply('No' if right.text == 'Yes' else 'Yes')


def yes_no_queries(observation: Observation, questions: Sequence[Question],
                   prompt: GroundingPrompt = BARE) -> list[YesNo]:
    """Return questions about one observation as queries that go to a model together."""
    return [YesNo(observation, question, prompt) for question in questions]


def answered(observation: Observation, questions: Sequence[Question], answers: Sequence[Answer],
             expected: Sequence[bool | None], purpose: AskPurpose, action: Action | None = None,
             seconds: float = 0.0, model: str = '', prompt: str = '', usage: Usage | None = None,
             memory: str = '', *, words: GroundingPrompt = BARE) -> Asked:
    """The event that yes/no questions about an observation were answered.

    Arguments are what the fields of ``Asked`` hold; ``words`` are the words around the questions,
    of which ``prompt`` is the name.
    """
    return Asked(observation, tuple(yes_no_queries(observation, questions, words)),
                 tuple(answers), tuple(expected), purpose, action, seconds, model, prompt, usage,
                 memory)


def _read(reply: TextReply) -> YesNoReply:
    return YesNoReply(reply.text)


@functools.lru_cache(maxsize=64)
def _words(prompt: GroundingPrompt) -> dict[str, Any]:
    return {'system': prompt.system, 'before_image': prompt.before_image,
            'after_image': prompt.after_image, 'template': prompt.question,
            'reasoning': prompt.reasoning, 'max_tokens': prompt.max_tokens}
