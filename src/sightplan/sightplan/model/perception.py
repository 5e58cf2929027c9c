"""Observations of the world, questions about them, and the answers."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sightplan.model.symbols import Atom

GOAL_NS = -1
"""Stamp of what shows the goal, and the time to ask a TruthSource for to learn what holds
there."""

IN_WORDS = 'in.words'
"""Predicate of the atoms that stand for questions in words; no PDDL file can declare it."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """Parameters that turn a picture into an altered copy; ``grounding.views`` makes the copies.

    Attributes:
        zoom: about the centre; larger than 1: things get larger.
        right, down: shifts, as fractions of width and height.
        gamma: tones are taken to this power; above 1: darker.
    """

    zoom: float = 1.0
    right: float = 0.0
    down: float = 0.0
    gamma: float = 1.0


@dataclass(frozen=True, eq=False)
class Observation:
    """An observation of the world; every part is optional, because suites differ.

    Attributes:
        image: (H, W, 3) uint8 RGB, or None: what a model is shown.
        unlabelled: the same picture as the camera took it, where ``image`` has labels drawn into
            it; else None.
        stamp_ns: time of the sensor reading on the world's clock [ns]; GOAL_NS: none, it shows the
            goal.
        frame_id: optical frame of the camera (REP 103: x right, y down, z forward).
        depth_m: (H, W) float32, metres along the optical axis, NaN where unknown; or None.
        text: a textual observation, or None.
        visible_objects: names known to be in view, or None when the world does not say.
        privileged_facts: of a PrivilegedSource (empty without): about what is out of view, with
            ``Privileged.REFERENCE`` also about what is in view.
        altered: how ``image`` was made of the observed one, so that records can make it again;
            None: it is the observed one.
    """

    image: NDArray[np.uint8] | None = None
    stamp_ns: int = 0
    frame_id: str = ''
    depth_m: NDArray[np.float32] | None = None
    text: str | None = None
    visible_objects: tuple[str, ...] | None = None
    privileged_facts: Mapping[Atom, bool] = field(default_factory=dict)
    unlabelled: NDArray[np.uint8] | None = None
    altered: Alteration | None = None
    _digest: list[str] = field(default_factory=list, repr=False)

    def in_view(self, atom: Atom) -> bool:
        """Whether all objects of an atom are in view, as far as the world tells."""
        visible = self.visible_objects
        return visible is None or all(name in visible for name in atom.args)

    def without_visible_facts(self) -> Observation:
        """Return the observation without privileged facts about what is in view."""
        facts = {atom: holds for atom, holds in self.privileged_facts.items()
                 if not self.in_view(atom)}
        return (self if len(facts) == len(self.privileged_facts)
                else replace(self, privileged_facts=facts))

    @property
    def described(self) -> bool:
        """Whether a model reads it in words, because it has no picture."""
        return self.text is not None and self.image is None and not self.image_id

    @property
    def shows_goal(self) -> bool:
        """Whether the observation shows the goal instead of the current world."""
        return self.stamp_ns == GOAL_NS

    @classmethod
    def elsewhere(cls, image_id: str, stamp_ns: int, frame_id: str = '') -> Observation:
        """Return an observation of whose image only the id is known (on a topic, in a bag)."""
        return cls(stamp_ns=stamp_ns, frame_id=frame_id, _digest=[image_id] if image_id else [])

    @property
    def image_id(self) -> str:
        """SHA-256 over shape and exact bytes of the image, first 16 hex digits; '' without."""
        if not self._digest:
            if self.image is None:
                return ''
            digest = hashlib.sha256(repr(self.image.shape).encode())
            digest.update(np.ascontiguousarray(self.image).tobytes())
            self._digest.append(digest.hexdigest()[:16])
        return self._digest[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A yes/no question: about one ground atom, or in words alone (``Question.of_words``).

    Attributes:
        atom: what is asked; of a question in words an atom that stands for its text.
        text: the wording given to the model.
    """

    atom: Atom
    text: str

    @classmethod
    def of_words(cls, text: str) -> Question:
        """Return a question in words, which is about no atom of a domain."""
        return cls(Atom(IN_WORDS, (hashlib.sha256(text.encode()).hexdigest()[:16],)), text)

    @property
    def in_words(self) -> bool:
        """Whether the question is in words, about no atom of a domain."""
        return self.atom.predicate == IN_WORDS


@dataclass(frozen=True, slots=True)
class GroundingPrompt:
    """The words around yes/no questions, the same for all questions of one request.

    The model is shown: the system text; ``before_image``, the image, ``after_image``; then the
    question put into ``question``. All that questions share stands before them, so that a backend
    can encode it once.

    With ``reading`` a model that replies in free text is asked for all there is at once instead,
    and the answers follow from its one reply: no question is put.

    Attributes:
        name: name of the prompt file, such as ``ground_cot``; ``bare`` for none.
        system: text of the system role, '' for none.
        before_image: text before the image.
        after_image: text between the image and the question (memory of an earlier attempt).
        question: template of the question's text, with ``{question}``, or ``{question_cut}`` for
            the question without its last character, as official prompt files may put it.
        reasoning: whether the reply is an explanation and then an answer in
            ``<answer></answer>`` tags; else it is one word.
        max_tokens: most tokens of one reply.
        sha256: SHA-256 of the files it was made from, first 12 hex digits; '' for none.
        unknown: whether "unknown" is offered as an answer beside yes and no.
        reading: reference of the domain that reads a reply about the whole picture; '' for
            questions.
    """

    name: str = 'bare'
    system: str = ''
    before_image: str = ''
    after_image: str = ''
    question: str = '{question}'
    reasoning: bool = False
    max_tokens: int = 16
    sha256: str = ''
    unknown: bool = False
    reading: str = ''

    def ask(self, question: str) -> str:
        """The question in its template."""
        return (self.question.replace('{question}', question)
                .replace('{question_cut}', question[:-1]))


BARE = GroundingPrompt()
"""The questions alone."""


def prompt_id(name: str, sha256: str) -> str:
    """A prompt as events and calibrations name it: ``ground@0123456789ab``; or its name alone."""
    return f'{name}@{sha256}' if sha256 else name


class Verdict(enum.Enum):
    """Verdict of an answer about its atom.

    Messages number the members in this order, from 1. UNPARSED is no answer that can be read,
    UNKNOWN the answer that one cannot tell. Neither is ever right: measures of those that say yes
    or no leave both out, all others count both as wrong, and each is counted by its name.
    """

    YES = 'yes'
    NO = 'no'
    UNPARSED = 'unparsed'
    UNKNOWN = 'unknown'

    @property
    def says(self) -> bool | None:
        """Whether the atom holds, by this answer; None: it says neither yes nor no."""
        return {Verdict.YES: True, Verdict.NO: False}.get(self)


class AskPurpose(enum.Enum):
    """Purpose of a question; metrics separate the purposes (ViPlan, section 4).

    GOAL: whether the goal is reached. PICTURED_GOAL: about the picture that shows the goal. LOOK:
    what else a picture shows, no question about an atom.

    Messages number the members in this order, from 1.
    """

    ENUMERATION = 'enumeration'
    PRECONDITION = 'precondition'
    EFFECT = 'effect'
    GOAL = 'goal'
    PICTURED_GOAL = 'pictured_goal'
    LOOK = 'look'


QUESTION_PURPOSES = tuple(purpose for purpose in AskPurpose if purpose is not AskPurpose.LOOK)
"""The purposes of yes/no questions."""
