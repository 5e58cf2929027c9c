"""Samples as methods get them: only what is shown, under random names.

The original name of a sample or picture identifies it (``boards_3d/SGP_b_4_g_7_c1_12_c2_3``: the
board of a file, 12 moves from its goal), so that the answer could be looked up in the data. The
function that loads a picture may know the scene, too. See ``model.sealing``.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InfrastructureError, InputError
from sightplan.model.sample import Choice, Picture, Sample, SampleReply, SampleTask, Words
from sightplan.model.sealing import Sealed, sealed
from sightplan.runs.samples import SamplePlan, read_reply


class Handed:
    """The samples of one batch at a time, and the copies that were handed out in their place."""

    def __init__(self, plan: SamplePlan) -> None:
        """Hand out nothing yet.

        Args:
            plan: plan of the run whose samples are handed out.
        """
        self._plan = plan
        self._samples: dict[str, tuple[Sample, Sample]] = {}
        self._choices: dict[tuple[str, ...], Choice] = {}
        self._names: dict[str, str] = {}

    def hand_out(self, samples: Sequence[Sample]) -> list[Sample]:
        """Return the same samples for a method, in their order; earlier ones are forgotten.

        Samples of one cluster still share a cluster, and a picture still has one name. The
        subjects and properties of a choice are left out.
        """
        self._samples, self._choices, self._names = {}, {}, {}
        return [self._hand(sample, sample.id) for sample in samples]

    def _hand(self, sample: Sample, name: str) -> Sample:
        """Return a sample for a method, under a new name."""
        given = dataclasses.replace(
            sample, id=self._anew('sample', name), cluster=self._anew('cluster', sample.cluster),
            parts=tuple(self._picture(part) if isinstance(part, Picture) else part
                        for part in sample.parts),
            details={name: sample.details[name] for name in sample.told
                     if name in sample.details},
            choices=tuple(self._choice(one) for one in sample.choices),
            wording=self._plan.prompts.wording(sample),
            task=sealed(SampleTask, _Task(self, self._plan, sample)))
        self._samples[given.id] = sample, given
        return given

    def _anew(self, kind: str, name: str) -> str:
        return self._names.setdefault(f'{kind} {name}', f'{kind} {secrets.token_hex(8)}')

    def _picture(self, part: Picture) -> Picture:
        return Picture(self._anew('picture', part.name), Sealed(_loader(part)),
                       Sealed(part.load_depth) if part.load_depth else None, part.camera)

    def _choice(self, choice: Choice) -> Choice:
        """Return a choice of the same options whose random subjects only identify it."""
        subjects = tuple(f'subject {secrets.token_hex(8)}' for _ in choice.options)
        self._choices[subjects] = choice
        return Choice(choice.options, subjects)

    def choice(self, subjects: tuple[str, ...]) -> Choice | None:
        """Return the original of the choice that was handed out with these subjects, or None."""
        return self._choices.get(subjects)

    def shown(self, sample: Sample, swap: bool, neutral: bool) -> Sample:
        """Return a sample of the batch shown in another way, see ``SamplePlan.shown``."""
        return self._hand(self._plan.shown(sample, swap, neutral),
                          f'{sample.id} swap={swap} neutral={neutral}')

    def real(self, given: Sample) -> Sample:
        """Return the original of a handed-out sample, with the changes that a method made to it.

        Raises:
            InputError: the sample is none of the batch.
        """
        if given.id not in self._samples:
            raise InputError('the method gave a sample back that it was not handed for this batch')
        sample, whole = self._samples[given.id]
        return dataclasses.replace(
            given, id=sample.id, cluster=sample.cluster, details=sample.details, task=None,
            choices=sample.choices if given.choices == whole.choices else given.choices)


def _loader(picture: Picture) -> Callable[[], NDArray[np.uint8]]:
    """Return a function that loads a picture for a method.

    For a picture file it raises InfrastructureError if the file cannot be read, so that only the
    samples of this picture fail. A picture without a file is loaded by the suite's own function,
    whose InputError passes through and means that the suite's data are wrong.
    """
    if picture.file is None:
        return picture.load

    def load() -> NDArray[np.uint8]:
        try:
            return picture.load()
        except InputError as error:
            raise InfrastructureError(f'picture {picture.name!r}: {error}') from error
    return load


class _Task:
    """A suite's prompts and readers for one sample; implements ``SampleTask``."""

    def __init__(self, handed: Handed, plan: SamplePlan, sample: Sample) -> None:
        self._handed, self._plan, self._sample = handed, plan, sample

    def prompt(self, name: str) -> Words:
        return self._plan.prompts.around(name, self._sample)

    def read(self, reply: SampleReply) -> tuple[Any, str]:
        return read_reply(self._plan.suite, self._sample, reply)

    def shown(self, swap: bool, neutral: bool) -> Sample:
        return self._handed.shown(self._sample, swap, neutral)
