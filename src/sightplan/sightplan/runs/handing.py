"""Samples as methods get them: what is shown, under names that tell nothing.

A name of a sample or of its picture tells which one it is (``boards_3d/SGP_b_4_g_7_c1_12_c2_3``:
the board of a file, 12 moves from its goal), so that somebody who has the data looks the answer
up. And what loads a picture knows the scene that it shows. See ``model.sealing``.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InfrastructureError, InputError
from sightplan.model.sample import Choice, Picture, Sample, SampleReply
from sightplan.model.sealing import Sealed

GUESS = SampleReply()
"""What a method gets and gives back for a reply at random, which the run draws only then: what is
drawn for a sample would tell which one it is."""


class Handed:
    """The samples of one batch at a time, and what was handed out in their place."""

    def __init__(self) -> None:
        """Nothing is handed out yet."""
        self._samples: dict[str, tuple[Sample, Sample]] = {}

    def hand_out(self, samples: Sequence[Sample]) -> list[Sample]:
        """The same samples for a method, in their order; earlier ones are forgotten.

        Samples of one cluster still have one cluster, and one picture still has one name. What
        is behind the options of a choice, and what decides, is left out.
        """
        names: dict[str, str] = {}

        def anew(kind: str, name: str) -> str:
            return names.setdefault(f'{kind} {name}', f'{kind} {secrets.token_hex(8)}')

        def picture(part: Picture) -> Picture:
            return Picture(anew('picture', part.name), Sealed(_loader(part)),
                           Sealed(part.load_depth) if part.load_depth else None, part.camera)

        self._samples = {}
        handed = []
        for sample in samples:
            given = dataclasses.replace(
                sample, id=anew('sample', sample.id), cluster=anew('cluster', sample.cluster),
                parts=tuple(picture(part) if isinstance(part, Picture) else part
                            for part in sample.parts),
                details={name: sample.details[name] for name in sample.told
                         if name in sample.details},
                choices=tuple(Choice(one.options) for one in sample.choices))
            self._samples[given.id] = sample, given
            handed.append(given)
        return handed

    def real(self, given: Sample) -> Sample:
        """The sample that was handed out as ``given``, or that a method made something else of.

        Raises:
            InputError: it is none of the batch.
        """
        if given.id not in self._samples:
            raise InputError('the method gave a sample back that it was not handed for this batch')
        sample, whole = self._samples[given.id]
        return dataclasses.replace(
            given, id=sample.id, cluster=sample.cluster, details=sample.details,
            choices=sample.choices if given.choices == whole.choices else given.choices)


def _loader(picture: Picture) -> Callable[[], NDArray[np.uint8]]:
    """What loads a picture for a method; a file that cannot be read costs its own samples alone.

    A suite that loads its pictures otherwise says by an InputError that its data are wrong.
    """
    if picture.file is None:
        return picture.load

    def load() -> NDArray[np.uint8]:
        try:
            return picture.load()
        except InputError as error:
            raise InfrastructureError(f'picture {picture.name!r}: {error}') from error
    return load
