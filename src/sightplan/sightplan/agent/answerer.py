"""The contract of a method that does samples, and what such a method may see and do.

The module of a method (``agent.policy``) says that it does samples by a class ``Answerer`` with
the class attributes below (``AnswererBase`` has them with their usual values). Its settings are
the module's ``Settings``, or ``SampleSettings`` where those of episodes are others. It is built
as ``Answerer(settings)``, or as ``Answerer(settings, truth)`` when it declares ``needs_truth``
(only ``oracle`` does). All that it may do comes through its ``Context``, and through what its
samples' suite offers (``Sample.task``); ``sightplan.agent.sample_asking`` has what most answerers
ask for. Samples have random names, and only those of their details that they name as ``told``;
neither they nor the context hold anything else (``sightplan.model.sealing``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sightplan.agent.context import Context
from sightplan.model.sample import Sample, SampleReply


class SampleTruth(Protocol):
    """The truth about samples, only for scoring and the answerer ``oracle``."""

    def reply(self, sample: Sample) -> SampleReply:
        """Return the true reply, in the form that the suite reads."""


class Answerer(Protocol):
    """A method for samples; one instance serves all samples of a run."""

    needs_truth: bool
    """Whether it is an oracle that must be given the truth."""

    needs_model: bool
    """Whether a vision-language model replies for it; if not, no model is loaded."""

    sees_pictures: bool
    """Whether the model is shown the pictures."""

    prompt: str
    """Name of the domain's prompt around yes/no questions; '' if it needs no model."""

    suite_prompt: str
    """Name of the suite's prompt around all other samples; '' if it needs no model."""

    instruction_prompt: str
    """Name of the suite's separate prompt around instructions about a picture; '' for none."""

    tells_apart: bool
    """Whether its replies depend on the instances that the run's model detects in a picture."""

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Reply to samples, in their order.

        Args:
            samples: of one batch: about one picture, where it is questions about pictures.
            context: its tools.

        Raises:
            SightplanError: see ``agent.sample_asking``.
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
