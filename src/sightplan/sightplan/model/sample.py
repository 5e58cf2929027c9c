"""A sample: one request to a model, one reply, one score. Its truth is kept apart from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sightplan.model.answer import Answer
from sightplan.model.grounded_plan import GroundedStep
from sightplan.model.perception import Question
from sightplan.model.picture_files import read_image
from sightplan.model.query import Reply
from sightplan.model.region import PLAIN_WORDING, PlaceWording, Point, Region, Target


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that is loaded or rendered only when ``load`` is called.

    Attributes:
        name: unique within its suite, such as the path below the data folder.
        load: gives (H, W, 3) uint8 RGB; may raise InputError naming the file.
        load_depth: gives (H, W) float32, distance along the optical axis [m], 0 where unknown;
            None without.
        camera: (fx, fy, cx, cy) in pixels, from the top left pixel's corner; None if not known.
        file: where it lies, so that a run finds out before it begins that it is not there; None
            for a picture that is no file. A method does not get it.
    """

    name: str
    load: Callable[[], NDArray[np.uint8]]
    load_depth: Callable[[], NDArray[np.float32]] | None = None
    camera: tuple[float, float, float, float] | None = None
    file: Path | None = None

    @classmethod
    def of_file(cls, path: Path, name: str = '') -> Picture:
        """Return the picture in a PNG or JPEG file.

        Args:
            path: of the file.
            name: '' for that of the file, without its folder.
        """
        return cls(name or path.name, lambda: read_image(path), file=path)


@dataclass(frozen=True, slots=True)
class Choice:
    """The options of a sample, for models that can only choose among options.

    Attributes:
        options: their names, as they stand in the sample's parts, in the order shown.
        subjects: what is behind each; identities that tell nothing of what is better. Empty: the
            suite has no pairs that anybody knows the better one of.
        properties: what decides, by name, with 1 where more of it is better and -1 where less
            is; for models that read no sentences. Empty: only the parts say it.
    """

    options: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    properties: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """The words around what a model is shown of a sample.

    Attributes:
        system: text of the system role, '' for none.
        before: text before the sample's parts.
        after: text after them.
        max_tokens: most tokens of the reply.
        pictures_only: whether the sample's own texts are left out.
    """

    system: str = ''
    before: str = ''
    after: str = ''
    max_tokens: int = 1024
    pictures_only: bool = False


class SampleTask(Protocol):
    """The part of a suite that a method may use for one sample."""

    def prompt(self, name: str) -> Words:
        """Return the suite's words around samples that are no yes/no questions about atoms.

        Args:
            name: of the suite's prompt, such as ``ask``.

        Raises:
            InputError: there is none of that name.
        """

    def read(self, reply: SampleReply) -> tuple[Any, str]:
        """Read a reply by the rules of the suite.

        Returns:
            The answer, as plain JSON data; and why it cannot be read, '' if it can.
        """

    def shown(self, swap: bool, neutral: bool) -> Sample:
        """Return the sample with its options swapped or renamed.

        Args:
            swap: whether the two options of its choice change places.
            neutral: whether the two get names that mean nothing.

        Raises:
            InputError: the suite's samples can be shown in one way only.
        """


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample: everything but the truth.

    A method gets it without names: ``id``, ``cluster``, the names of pictures and the subjects of
    choices are others, which mean nothing (``runs.handing``).

    Attributes:
        id: unique within its suite and split, such as ``blocksworld/simple/0007/on(a,b)``.
        split: name of its split.
        cluster: its statistical cluster, such as the picture; the unit of the bootstrap.
        parts: what a model is shown, texts and pictures in their order.
        question: the yes/no question, where it is one, about one ground atom or in words; then
            its text is the last part, and answers carry probabilities where the backend offers
            them.
        domain: reference of the domain of the question's atom; '' for a question in words, and
            where there is none.
        target: what is to be found in the one picture, where the answer is a place in it; then its
            text is the last part.
        start: first point of a trace that is to be drawn, in unit coordinates, where it is
            prescribed.
        wording: what prompts that ask for its place or trace say besides.
        tries: how often a model that is asked for it once is asked at most, as long as a reply
            cannot be read, or names no place although ``wording`` does not offer that.
        details: plain JSON data for tables and for the suite's own modules (predicate, kind of
            map, ...). A method gets those of ``told`` only.
        questions: yes/no questions about its one picture, of ``domain``, for models that answer
            nothing else: out of their answers the suite makes the sample's (``Suite.compose``).
            Empty: there is no such way to ask it.
        choices: the choices among options, for models that can only choose; the suite makes the
            sample's answer of the replies. Empty: there is no such way to ask it.
        told: names of those details that a method may know, such as an instruction.
        prompt: name of the suite's prompt around it, where that is not the one of the method, such
            as ``level1``; ``ask_cot`` then uses ``level1_cot``. Without a prompt of this name that
            of the method is used.
        task: what its suite offers for it; None before it is handed to a method.
    """

    id: str
    split: str
    cluster: str
    parts: tuple[str | Picture, ...]
    question: Question | None = None
    domain: str = ''
    target: Target | None = None
    start: Point | None = None
    wording: PlaceWording = PLAIN_WORDING
    tries: int = 1
    details: dict[str, Any] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    choices: tuple[Choice, ...] = ()
    told: tuple[str, ...] = ()
    prompt: str = ''
    task: SampleTask | None = field(default=None, repr=False)

    @classmethod
    def yes_no(cls, name: str, split: str, picture: Picture, text: str, *, cluster: str = '',
               details: dict[str, Any] | None = None) -> Sample:
        """A yes/no question in words about a picture, which belongs to no domain.

        What is true of it (``Samples.truth``) is True or False.

        Args:
            name: its id, unique within its suite and split.
            split: name of its split.
            picture: that the question is about.
            text: the question alone; prompts say how to answer it.
            cluster: see the class; '' for the name of the picture.
            details: see the class; ``question`` and ``picture`` are added.
        """
        return cls(name, split, cluster or picture.name, (picture, text), Question.of_words(text),
                   details={'question': text, 'picture': picture.name, **(details or {})})

    def blind(self) -> Sample:
        """Return the sample without its pictures."""
        texts = tuple(part for part in self.parts if isinstance(part, str))
        return dataclasses.replace(self, parts=texts)


SHOWN_HASH = 'shown_sha256'
"""Name of the hash, in the identity of samples, of all but their truths; ``sha256``: of all."""
SampleData = Sequence[Reply] | Sequence[GroundedStep]
"""A reply as data: replies to queries, or the steps of a grounded plan."""


@dataclass(frozen=True, eq=False)
class SampleReply:
    """A method's reply to a sample.

    Attributes:
        text: the reply, as a model wrote it; what a suite's ``read`` takes. '' where a model gave
            data and said nothing.
        data: what a model or a planner gave as data, so that nothing has to be read: answers to
            the sample's ``questions``, replies to its ``choices``, or the steps of a grounded
            plan; a suite's ``compose`` makes the answer of it. None: read the text.
        answer: the answer to the sample's yes/no question, with its probabilities; None where the
            sample is none or was not answered.
        regions: places in the picture, where a place was asked for; None: read them from the text.
        probability: that the first of them is right; None where the backend has none.
        unread: why the places cannot be used; '' if they can.
        unknown: words of the target that the model does not know.
        error: why there is no reply (the machinery failed); '' if there is one.
        stopped: whether that was the end of the run, such as a spending cap: the sample was not
            replied to, and is left to the next session.
    """

    text: str = ''
    data: SampleData | None = field(default=None, kw_only=True)
    answer: Answer | None = field(default=None, kw_only=True)
    regions: tuple[Region, ...] | None = None
    probability: float | None = None
    unread: str = ''
    unknown: tuple[str, ...] = ()
    error: str = ''
    stopped: bool = False

    @classmethod
    def of_answer(cls, answer: Answer) -> Self:
        """Return the reply that is a model's answer to a yes/no question."""
        return cls(answer.text, answer=answer)

    @property
    def yes_probability(self) -> float | None:
        """``Answer.yes_probability`` of the answer, if there is one."""
        return None if self.answer is None else self.answer.yes_probability


GUESS = SampleReply()
"""Reply of a method that asks for a random valid reply.

The run draws it from its own seed and the sample's id, after the method returned: a method that
saw the drawn value could tell which sample it has.
"""
