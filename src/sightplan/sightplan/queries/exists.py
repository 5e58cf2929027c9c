"""``Exists``: whether a picture shows such a thing at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from sightplan.model.answer import Answer
from sightplan.model.perception import GroundingPrompt, Observation, Question, Verdict
from sightplan.model.query import Chat, Query, Reply, Rgb
from sightplan.model.region import Target
from sightplan.model.reply_text import says_absent
from sightplan.model.symbols import Atom
from sightplan.queries.check import slug
from sightplan.queries.pointing import COMMON, common_words, filled, is_sentence, wording
from sightplan.queries.yes_no import YesNo


@dataclass(frozen=True, eq=False)
class Exists(Query[Answer]):
    """Query whether the target is in the picture, wherever.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what is looked for.
        attempt: number of this query about the same thing, from 0; each has a wording of its own.
    """

    image: Rgb
    target: Target
    attempt: int = 0

    kind: ClassVar[str] = 'exists'
    reply_type: ClassVar[type[Reply]] = Answer
    cannot_answer: ClassVar[str] = 'cannot tell whether there is such a thing'

    def summary(self) -> str:
        """Return the question as a short text."""
        return f'is there {self.target.text!r}?'

    def as_chat(self, style: Any) -> Chat[Answer]:
        """A yes/no question about the whole picture."""
        words, target = common_words().exists, self.target.text.strip()
        wordings = words.sentence if is_sentence(target) else words.thing
        text = filled(wording(wordings, self.attempt), {'target': target})
        digest = hashlib.sha256(COMMON.read_bytes()).hexdigest()[:12]
        prompt = GroundingPrompt('exists', words.system, question='{question} ' + words.answer,
                                 max_tokens=words.max_tokens, sha256=digest)
        atom = Atom('exists', (slug(self.target.text),))
        return Chat(YesNo(Observation(self.image), Question(atom, text), prompt), _read)


def _read(reply: Answer) -> Answer:
    """Read "there is no such thing" as no: whether there is one was the question."""
    if reply.verdict is Verdict.UNKNOWN and says_absent(reply.text):
        return Answer('No', reply.p_yes, reply.p_no, bounded=reply.bounded, model=reply.model)
    return reply
