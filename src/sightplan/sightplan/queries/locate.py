"""``Locate``: where something is in a picture."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model.query import Chat, Query, Reply, Rgb
from sightplan.model.region import Region, Target


@dataclass(frozen=True, slots=True)
class LocateReply(Reply):
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

    def summary(self) -> str:
        """How many places it names, or what it said instead."""
        if self.unread:
            return f'unread: {self.unread}'
        sure = '' if self.probability is None else f' ({self.probability:.2f})'
        places = [f'{region.form} {region.points}' for region in self.regions[:3]]
        return (', '.join(places) or 'nothing') + sure


@dataclass(frozen=True, eq=False)
class Locate(Query[LocateReply]):
    """Find something in a picture.

    Attributes:
        image: (H, W, 3) uint8 RGB.
        target: what to find, in words, and what is asked for: point, points, box or trace.
        depth_m: (H, W) float32 distance along the optical axis [m], 0 where unknown; None
            without.
        start: first point of a trace in unit coordinates, where it is prescribed.
        attempt: number of this query about the same thing, from 0; each has a wording of its
            own, and a model that draws its replies at random draws another one for each.
    """

    image: Rgb
    target: Target
    depth_m: NDArray[np.float32] | None = None
    start: tuple[float, float] | None = None
    attempt: int = 0

    kind: ClassVar[str] = 'locate'
    reply_type: ClassVar[type[Reply]] = LocateReply

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.image.shape[1], self.image.shape[0]

    def summary(self) -> str:
        """What is to be found."""
        return f'{self.target.form} of {self.target.text!r}, asking {self.attempt + 1}'

    def as_chat(self, style: Any) -> Chat[LocateReply]:
        """The words of the model's pointing family, and the picture."""
        from sightplan.queries import pointing

        seen = pointing.seen_size(style.pointing, functools.partial(style.resized, self.image))
        prompt = pointing.compose(self, style.pointing, seen)
        return Chat(prompt.query(self.attempt), functools.partial(
            pointing.read_places, self, style.pointing, seen))
