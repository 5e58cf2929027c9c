"""What a method that does samples is, and what it may see and do.

The module of a method (``agent.policy``) says that it does samples by a class ``Answerer`` with
the class attributes below (``AnswererBase`` has them with their usual values). Its settings are
the module's ``Settings``, or ``SampleSettings`` where those of episodes are others. It is built
as ``Answerer(settings)``, or as ``Answerer(settings, truth)`` when it declares ``needs_truth``
(only ``oracle`` does). All that it may do comes through its ``Desk``. Samples have no names that
tell anything, and of their details those only that they name as ``told``; neither they nor the
desk hold anything else (``sightplan.model.sealing``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sightplan.grounding.instructions import Instance
from sightplan.model import (
    CancelledError,
    InputError,
    PlanningResult,
    PlanningTask,
    SightplanError,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Query, R
from sightplan.model.region import Region
from sightplan.model.sample import Sample, SampleReply


class Desk(Protocol):
    """What an answerer works with; the run implements it."""

    def ask(self, samples: Sequence[Sample], prompt: str, suite_prompt: str,
            ) -> list[SampleReply]:
        """Let the model reply to samples that are shown alike; those about one picture at once.

        Args:
            samples: with or without their pictures.
            prompt: name of the domain's prompt around yes/no questions, such as ``ground``.
            suite_prompt: name of the suite's prompt around all other samples, such as ``ask``.

        Returns:
            a reply to each; where the model could not answer, or not in time, or a limit on
            spending is reached, with an ``error``: it does not cost the others.

        Raises:
            InputError: the model cannot reply to such samples; the message says what can.
        """

    def ask_query(self, sample: Sample, query: Query[R]) -> R:
        """Ask the run's model anything about a sample: a query of any kind, also one's own.

        Args:
            sample: what the query is about.
            query: what is asked, for example with a picture that ``Picture.load`` gives.

        Raises:
            InputError: the model does not answer such queries.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def locate(self, sample: Sample, settings: PointerSettings, backend: str = '',
               ) -> SampleReply:
        """Let the model find what a sample asks for, in several askings.

        Args:
            sample: one with a ``target``.
            settings: how long it is asked.
            backend: another model than the run's: name of its backend and options, such as
                ``transformers model=DIR``; '' for the run's.

        Raises:
            InputError: the model cannot point; names those that can.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def read(self, sample: Sample, reply: SampleReply) -> tuple[Any, str]:
        """A reply as the suite reads it.

        Returns:
            the answer, as plain JSON data; and why it cannot be read, '' if it can.
        """

    def marked(self, sample: Sample, boxes: Sequence[Region]) -> Sample:
        """The same sample with numbered frames around boxes in its picture, from 1."""

    def tell_apart(self, sample: Sample, looks: int, backend: str = '') -> tuple[Instance, ...]:
        """Let the model find all things in a sample's picture, and tell them apart.

        Args:
            sample: one with a picture.
            looks: how often it looks, each time at another view of the picture.
            backend: as for ``locate``.

        Raises:
            InputError: the sample has no picture, or the model cannot; names those that can.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def propose_goal(self, sample: Sample, seen: Sequence[Instance], tries: int) -> str:
        """Let the run's model say what a sample's instruction wants of the things in its picture.

        Args:
            sample: one with a picture and an instruction.
            seen: the things, told apart.
            tries: how often it is asked at most.

        Returns:
            a reply that ``sightplan.grounding.instructions.read_goal`` reads.

        Raises:
            InputError: no reply could be used, or the model writes no text; says why.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def plan(self, task: PlanningTask) -> PlanningResult:
        """Search for a plan, with the run's planner and limits.

        Raises:
            InputError: the task's texts cannot be used.
            PlannerError: the planner could not be started.
        """

    def compare(self, sample: Sample, orders: str, neutral: bool) -> SampleReply:
        """Let the model choose between two, such that its bias to a place or a name cancels.

        Args:
            sample: one with one choice.
            orders: ``both``, or ``one`` for the order in which it is.
            neutral: whether the two get names that mean nothing.

        Raises:
            InputError: the sample can be shown in one way only, or the model cannot choose.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """

    def guess(self, sample: Sample) -> SampleReply:
        """A reply at random, of all valid ones, by the run's seed and the sample's id.

        The run draws it when the method has given it back: here it is empty.
        """


def failed(error: SightplanError) -> SampleReply:
    """An empty reply that carries the error because of which a sample has no reply."""
    return SampleReply(error=f'{type(error).__name__}: {error}',
                       stopped=isinstance(error, CancelledError))


def each(samples: Sequence[Sample], reply: Callable[[Sample], SampleReply]) -> list[SampleReply]:
    """Reply to samples one after another; one that fails does not cost the others.

    Args:
        samples: to be replied to, in order.
        reply: replies to one; what it raises becomes the ``error`` of the sample's reply.

    Raises:
        InputError: the first one of ``reply``: the settings are wrong, for all samples.
    """
    def tried(sample: Sample) -> SampleReply:
        try:
            return reply(sample)
        except InputError:
            raise
        except SightplanError as error:
            return failed(error)
    return [tried(sample) for sample in samples]


class SampleTruth(Protocol):
    """The truth about samples: for scoring and the answerer ``oracle`` only."""

    def reply(self, sample: Sample) -> SampleReply:
        """The reply that says what is true, in the form that the suite reads."""


class Answerer(Protocol):
    """A method for samples; one instance serves all samples of a run."""

    needs_truth: bool
    """Whether it is an oracle that must be given the truth."""

    needs_model: bool
    """Whether a vision-language model replies for it; if not, none need be loaded."""

    sees_pictures: bool
    """Whether the model is shown the pictures."""

    prompt: str
    """Name of the domain's prompt around yes/no questions; '' if it needs no model."""

    suite_prompt: str
    """Name of the suite's prompt around all other samples; likewise."""

    instruction_prompt: str
    """Name of the suite's prompt around instructions about a picture, where it has one of its own
    for these; '' if not."""

    tells_apart: bool
    """Whether its replies depend on what the run's model tells apart in a picture."""

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Reply to samples, in their order.

        Args:
            samples: of one batch: about one picture, where it is questions about pictures.
            desk: see there.

        Raises:
            SightplanError: see ``Desk``.
        """


class AnswererBase:
    """Base of answerers: one that shows samples to a model; see ``Answerer``."""

    needs_truth: bool = False
    needs_model: bool = True
    sees_pictures: bool = True
    prompt: str = 'ground'
    suite_prompt: str = 'ask'
    instruction_prompt: str = ''
    tells_apart: bool = False


class Unasking(AnswererBase):
    """Base of answerers that ask no model."""

    needs_model = sees_pictures = False
    prompt = suite_prompt = ''

    def __init__(self, settings: object) -> None:
        """Take no settings."""
