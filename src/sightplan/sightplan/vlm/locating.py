"""Requests to point at something in a picture, and replies to them.

A place can be checked, too: is it what was looked for? A backend with a way of its own has a
method ``check``; any other one that answers yes/no questions is shown the place with a red mark
(:func:`check`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightplan.model.perception import Observation, Question
from sightplan.model.region import Form, Region, Target
from sightplan.model.symbols import Atom

if TYPE_CHECKING:
    from sightplan.vlm.api import Backend, YesNoReply


@dataclass(frozen=True, eq=False)
class LocateRequest:
    """Find something in a picture.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what to find, in words, and what is asked for: point, points, box or trace.
        depth_m: (H, W) float32 distance along the optical axis [m], 0 where unknown; None
            without.
        start: first point of a trace in unit coordinates, where it is prescribed.
        attempt: number of this request about the same thing, from 0; each has a wording of its
            own, and a model that draws its replies at random draws another one for each.
        timeout_s: wall-clock limit [s]; None for the backend's own.
    """

    image: NDArray[np.uint8]
    target: Target
    depth_m: NDArray[np.float32] | None = None
    start: tuple[float, float] | None = None
    attempt: int = 0
    timeout_s: float | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.image.shape[1], self.image.shape[0]


@dataclass(frozen=True, slots=True)
class LocateReply:
    """Where it is.

    Attributes:
        regions: in unit coordinates; the first is the best. Empty: the model says that it is not
            there, or the reply cannot be read (then ``unread`` says why).
        text: what the model said; '' for a model that does not speak.
        probability: that the first region is right; None where the backend has none.
        unread: why the reply cannot be used; '' if it can.
        rounded: how many coordinates lay just beyond an edge and were set to it.
        unknown: words of the target that the model does not know; a model that reads any text
            has none.
        named: that a word of the target names the kind of thing that is at the first region, as
            the model tells apart from pointing; None where it does not.
    """

    regions: tuple[Region, ...] = ()
    text: str = ''
    probability: float | None = None
    unread: str = ''
    rounded: int = 0
    unknown: tuple[str, ...] = ()
    named: float | None = None


@runtime_checkable
class PlaceChecker(Protocol):
    """A backend that tells in a way of its own whether a marked place is right."""

    def check(self, request: CheckRequest) -> YesNoReply:
        """Whether a marked place is what was looked for.

        Raises:
            InputError: the place cannot be checked, such as a trace.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """


@dataclass(frozen=True, eq=False)
class CheckRequest:
    """Is a marked place what was looked for?

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what was looked for.
        region: the place.
        mask: (H, W) bool, the piece that is meant, where it is known; it is marked by its
            outline, else the region is marked.
        attempt: see ``LocateRequest``.
        timeout_s: likewise.
    """

    image: NDArray[np.uint8]
    target: Target
    region: Region
    mask: NDArray[np.bool_] | None = None
    attempt: int = 0
    timeout_s: float | None = None


def can_check(backend: Backend) -> bool:
    """Whether a backend may be asked if a marked place is right.

    One that has no way of its own for it, and writes no text, was made for other questions and
    would answer this one at random.
    """
    return isinstance(backend, PlaceChecker) or backend.generates


def check(backend: Backend, request: CheckRequest) -> YesNoReply:
    """Ask a backend whether a marked place is what was looked for.

    Without a way of its own, the backend is shown the surroundings of the place, enlarged if they
    are small, with a red mark: the outline of the mask, a frame around the box, or a cross whose
    strokes leave the point itself free. ``attempt`` chooses the wording of the question.

    Args:
        backend: any that answers yes/no questions.
        request: the place.

    Raises:
        InputError: the place is a trace, or the mask is of another size than the picture.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if isinstance(backend, PlaceChecker):
        return backend.check(request)
    from sightplan.vlm.api import YesNoRequest
    from sightplan.vlm.marks import marked
    from sightplan.vlm.pointing import check_question

    picture, mark = marked(request)
    text, prompt = check_question(request.target.text.strip(), mark, request.attempt)
    [answer] = backend.answer(YesNoRequest(
        Observation(picture), (Question(Atom('located', (_slug(request.target.text),)), text),),
        request.timeout_s, prompt))
    return answer


def _slug(text: str) -> str:
    """A text as a name of PDDL."""
    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-') or 'target'


__all__ = ['CheckRequest', 'Form', 'LocateReply', 'LocateRequest', 'PlaceChecker', 'Region',
           'Target', 'can_check', 'check']
