"""The port Grounder over a vision-language backend."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.grounding.parsing import Parser, parse_yes_no
from sightplan.model import (
    BARE,
    Answer,
    BackendError,
    GroundingPrompt,
    Observation,
    Question,
)
from sightplan.vlm.api import Backend, BackendUser, YesNoRequest


class BackendGrounder(BackendUser):
    """Ask a backend all questions in one batch and read its replies.

    Probabilities are passed on as the backend gave them; where it gave none there are none.
    """

    def __init__(self, backend: Backend, parse: Parser = parse_yes_no) -> None:
        """Wrap ``backend`` (see ``sightplan.vlm.api.make_backend``); ``parse`` reads replies."""
        super().__init__(backend)
        self._parse = parse

    @property
    def reads_prompt(self) -> bool:
        """Whether answers depend on the prompt around the questions."""
        return bool(getattr(self._backend, 'reads_prompt', True))

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        """Answer all questions about one image, in order; contract in the port.

        Raises:
            BackendError: the backend failed, or broke its contract (wrong number of replies, a
                probability outside [0, 1]).
            DeadlineError: no reply within timeout_s.
        """
        if not questions:
            return []
        request = YesNoRequest(observation, tuple(questions), timeout_s,
                               prompt or BARE)
        replies = self._backend.answer(request)
        if len(replies) != len(questions):
            raise BackendError(f'{self.model} gave {len(replies)} replies to '
                               f'{len(questions)} questions')
        answers = []
        for question, reply in zip(questions, replies, strict=True):
            for name, value in (('p_yes', reply.p_yes), ('p_no', reply.p_no),
                                ('p_unknown', reply.p_unknown)):
                if value is not None and not 0.0 <= value <= 1.0:
                    raise BackendError(f'{self.model} gave {name} = {value!r} for '
                                       f'{question.text!r}; a probability lies in [0, 1]')
            answers.append(Answer(question.atom, self._parse(reply.text), reply.p_yes,
                                  reply.p_no, reply.text, reply.p_unknown))
        return answers
