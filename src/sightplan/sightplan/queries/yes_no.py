"""``YesNo``: a yes/no question about an observation."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sightplan.model.answer import YES_NO, Answer
from sightplan.model.episode import Asked
from sightplan.model.errors import InputError
from sightplan.model.perception import BARE, AskPurpose, GroundingPrompt, Observation, Question
from sightplan.model.ports import WordsTruth
from sightplan.model.query import Chat, Draws, Part, Query, Reply, Rgb
from sightplan.model.symbols import Action, State
from sightplan.model.usage import Usage
from sightplan.queries.generate import Generate, TextReply


@dataclass(frozen=True, eq=False)
class YesNo(Query[Answer]):
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

    kind: ClassVar[str] = YES_NO
    reply_type: ClassVar[type[Reply]] = Answer
    cannot_answer: ClassVar[str] = 'answers no yes/no questions'

    def content(self) -> dict[str, Any]:
        """Picture, text of the observation, and the question in the prompt's words."""
        return {'image': self.observation.image_id, 'observation': self.observation.text,
                'question': self.prompt.ask(self.question.text)}

    def shared(self) -> dict[str, Any]:
        """Return the words of the prompt."""
        return _words(self.prompt)

    def without_hidden(self) -> Self:
        """Return the query about picture, depth and text of the observation alone."""
        seen = self.observation
        return dataclasses.replace(self, observation=Observation(
            seen.image, depth_m=seen.depth_m, text=seen.text))

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

    def as_chat(self, style: Any) -> Chat[Answer]:
        """The question as a prompt for a model that writes text."""
        prompt, seen = self.prompt, self.observation
        shown: Part | None = seen.text if seen.image is None else seen.image
        if shown is None:
            raise InputError('a model must be shown something; this observation has neither image '
                             'nor text')
        parts = (prompt.before_image, shown, prompt.after_image, prompt.ask(self.question.text))
        return Chat(Generate(prompt.system, tuple(
            part for part in parts if not isinstance(part, str) or part), prompt.max_tokens),
            functools.partial(_read, max_tokens=prompt.max_tokens))

    def true_reply(self, truth: Any) -> Answer:
        """Whether the atom holds in the true state at the time of the observation."""
        state = state_about(self.observation, [self.question], truth)
        return Answer('Yes' if self.question.atom in state else 'No')

    def wrong_reply(self, truth: Any, draw: Draws) -> Answer:
        """Return the opposite answer."""
        right = self.true_reply(truth)
        return Answer('No' if right.text == 'Yes' else 'Yes')

    def fault_of(self, reply: Answer) -> str:
        """Return that a probability lies outside [0, 1]; contract in ``Query``."""
        for name in ('p_yes', 'p_no', 'p_unknown'):
            value = getattr(reply, name)
            if value is not None and not 0.0 <= value <= 1.0:
                return (f'gave {name} = {value!r}; a probability lies in [0, 1]: the model '
                        'overflows in this precision (transformers: dtype=bfloat16 or float32), '
                        'or the server is at fault')
        return ''


def state_about(observation: Observation, questions: Sequence[Question], truth: Any) -> State:
    """Return the true state that answers to questions about an observation follow from.

    Args:
        observation: what is seen.
        questions: about it.
        truth: a ``TruthSource``; of questions in words it tells those of a ``WordsTruth``.

    Raises:
        InputError: nothing tells the right answer to a question in words.
        WorldError: there is no state for the time of the observation.
    """
    known = truth.known_words if isinstance(truth, WordsTruth) else ()
    for question in questions:
        if question.in_words and question.atom not in known:
            raise InputError(f'no ground truth answers {question.text!r}, so a simulated model '
                             'cannot be asked it; ask about atoms of the domain, or choose a '
                             'model that looks at pictures')
    state: State = truth.state(observation.stamp_ns)
    return state


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


def _read(reply: TextReply, max_tokens: int) -> Answer:
    return Answer(reply.text, cut_at=max_tokens if reply.truncated else 0)


@functools.lru_cache(maxsize=64)
def _words(prompt: GroundingPrompt) -> dict[str, Any]:
    return {'system': prompt.system, 'before_image': prompt.before_image,
            'after_image': prompt.after_image, 'template': prompt.question,
            'reasoning': prompt.reasoning, 'max_tokens': prompt.max_tokens}
