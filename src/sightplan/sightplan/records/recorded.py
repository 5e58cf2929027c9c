"""Episodes as their bags tell them: the events of the loop, the truth, and the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain
from sightplan.model import Atom, EpisodeEvent, EpisodeSpec, Observation, State


class RecordedTruth:
    """A TruthSource out of a bag; an absent one knows nothing and says so."""

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a world time that the live scorer looked at.

        Raises:
            WorldError: the bag has no truth for that time.
        """
        raise NotImplementedError

    def last_outcome(self) -> str:
        """What became of the last action that was passed (see ``rescoring``)."""
        raise NotImplementedError

    def holds(self, atom: Atom, stamp_ns: int) -> bool | None:
        """Whether an atom held at a world time; None where that is not known."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """One episode out of a bag.

    Attributes:
        bag: the bag.
        spec: what identified it; its problem has no initial state if the recorder had none.
        domain: of the problem, with the PDDL text of the bag.
        events: in order, EpisodeStarted first; their observations have ids and stamps and what was
            known about the look, and no image (see ``image``). Without EpisodeEnded as the last
            one it was cut off.
        truth: None if none was recorded (a real robot).
        complaints: what is missing or damaged, in words; empty for a whole episode.
    """

    bag: Path
    spec: EpisodeSpec
    domain: Domain
    events: tuple[EpisodeEvent, ...]
    truth: RecordedTruth | None
    complaints: tuple[str, ...] = ()

    def image(self, observation: Observation) -> NDArray[np.uint8] | None:
        """The picture of a look, as models saw it: (H, W, 3) uint8 RGB; None if absent."""
        raise NotImplementedError

    def with_image(self, observation: Observation) -> Observation:
        """The look with its picture (as it is if that is absent)."""
        raise NotImplementedError


def read_episodes(bag: Path | str) -> Iterator[RecordedEpisode]:
    """The episodes of a bag, in order; most bags hold one.

    Raises:
        InputError: it is no bag, or nothing of it can be read.
    """
    raise NotImplementedError
