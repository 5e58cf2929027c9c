"""``Check``: whether a marked place in a picture is what was looked for."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from sightplan.model.answer import Answer
from sightplan.model.perception import GroundingPrompt, Observation, Question
from sightplan.model.query import Chat, Query, Reply, Rgb
from sightplan.model.region import Mask, Region, Target
from sightplan.model.symbols import Atom
from sightplan.queries.marks import marked
from sightplan.queries.pointing import COMMON, common_words, filled, is_sentence, wording
from sightplan.queries.yes_no import YesNo


@dataclass(frozen=True, eq=False)
class Check(Query[Answer]):
    """Query whether a marked place shows the target.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what was looked for.
        region: the place.
        mask: (H, W) bool, the piece that is meant, where it is known; it is marked by its
            outline, else the region is marked.
        attempt: number of this query about the same place, from 0; each has a wording of its own.
    """

    image: Rgb
    target: Target
    region: Region
    mask: Mask | None = None
    attempt: int = 0

    kind: ClassVar[str] = 'check'
    reply_type: ClassVar[type[Reply]] = Answer
    cannot_answer: ClassVar[str] = 'cannot check places'

    def summary(self) -> str:
        """Return the question about the marked place as a short text."""
        return f'is the marked {self.region.form} {self.target.text!r}?'

    def as_chat(self, style: Any) -> Chat[Answer]:
        """A yes/no question about a picture with a red mark.

        It shows the surroundings of the place, enlarged if they are small: the outline of the
        mask, a frame around the box, or a cross whose strokes leave the point itself free.

        Raises:
            InputError: the place is a trace, or the mask is of another size than the picture.
        """
        picture, mark = marked(self.image, self.region, self.mask)
        text, prompt = check_question(self.target.text.strip(), mark, self.attempt)
        atom = Atom('located', (slug(self.target.text),))
        return Chat(YesNo(Observation(picture), Question(atom, text), prompt), as_it_is)


def check_question(target: str, mark: str, attempt: int) -> tuple[str, GroundingPrompt]:
    """The question whether a marked place is the right one, and the words around it.

    Args:
        target: what was looked for.
        mark: the drawn mark: ``mask`` (an outline), ``box`` or ``point`` (a cross).
        attempt: number of the asking.
    """
    check = common_words().check
    wordings = getattr(check, f'{mark}_sentence' if is_sentence(target) else mark)
    question = filled(wording(wordings, attempt), {'target': target})
    digest = hashlib.sha256(COMMON.read_bytes()).hexdigest()[:12]
    return question, GroundingPrompt('check', check.system, question='{question} ' + check.answer,
                                     max_tokens=check.max_tokens, sha256=digest)


def as_it_is(reply: Answer) -> Answer:
    """The answer to the yes/no question, which is the reply."""
    return reply


def slug(text: str) -> str:
    """Convert a text to a name of PDDL."""
    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-') or 'target'
