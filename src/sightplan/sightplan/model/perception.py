"""What a sensor gave, what was asked about it, and what was answered."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightplan.model.symbols import Atom


@dataclass(frozen=True, eq=False)
class Observation:
    """One look at the world; every part is optional, because suites differ.

    Attributes:
        image: (H, W, 3) uint8 RGB, or None.
        stamp_ns: time of the sensor reading on the world's clock [ns].
        frame_id: optical frame of the camera (REP 103: x right, y down, z forward).
        depth_m: (H, W) float32, metres along the optical axis, NaN where unknown; or None.
        text: a textual observation, or None.
        visible_objects: names known to be in view, or None when the world does not say.
        told: facts the world grants as privileged information (empty unless a suite does).
    """

    image: NDArray[np.uint8] | None = None
    stamp_ns: int = 0
    frame_id: str = ''
    depth_m: NDArray[np.float32] | None = None
    text: str | None = None
    visible_objects: tuple[str, ...] | None = None
    told: Mapping[Atom, bool] = field(default_factory=dict)
    _digest: list[str] = field(default_factory=list, repr=False)

    @property
    def image_id(self) -> str:
        """SHA-256 over shape and exact bytes of the image, first 16 hex digits; '' without."""
        if self.image is None:
            return ''
        if not self._digest:
            digest = hashlib.sha256(repr(self.image.shape).encode())
            digest.update(np.ascontiguousarray(self.image).tobytes())
            self._digest.append(digest.hexdigest()[:16])
        return self._digest[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A yes/no question about one ground atom.

    Attributes:
        atom: what is asked.
        text: the wording given to the model.
    """

    atom: Atom
    text: str


class Verdict(enum.Enum):
    """What an answer says about its atom."""

    YES = 'yes'
    NO = 'no'
    UNPARSED = 'unparsed'


class AskPurpose(enum.Enum):
    """Why a question was asked (metrics separate them, ViPlan section 4)."""

    ENUMERATION = 'enumeration'
    PRECONDITION = 'precondition'
    EFFECT = 'effect'
    GOAL = 'goal'


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a question.

    Attributes:
        atom: what was asked.
        verdict: the parsed answer.
        p_yes: probability of "yes" in [0, 1]; None when the backend offers none (never a guess).
        p_no: probability of "no", likewise; the two need not sum to 1.
        text: the raw reply.
    """

    atom: Atom
    verdict: Verdict
    p_yes: float | None = None
    p_no: float | None = None
    text: str = ''
