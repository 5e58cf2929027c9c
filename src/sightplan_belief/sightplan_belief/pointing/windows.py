"""Parts of a picture that a model is shown, and places in them as places in the whole picture.

A window shows all pieces, so that what it is asked for can be in it, and words such as "the left
mug" mean the same as in the whole picture.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from sightplan.model import Region
from sightplan.queries.locate import Locate, LocateReply
from sightplan_belief.pointing.pieces import Pieces

_MARGINS = (0.1, 0.3)
"""Margins of windows around all pieces, as fractions of the longer edge of their extent."""
_LARGEST = 0.8
"""Windows with more of the picture are not worth being shown."""
_LEAST_PX = 64
"""Nor are smaller ones."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a picture.

    Attributes:
        left: first column [px].
        top: first row.
        right: column behind the last one.
        bottom: row behind the last one.
        width: of the whole picture.
        height: of the whole picture.
    """

    left: int
    top: int
    right: int
    bottom: int
    width: int
    height: int

    @classmethod
    def whole(cls, width: int, height: int) -> Window:
        """Window that shows the whole picture."""
        return cls(0, 0, width, height, width, height)

    @property
    def fraction(self) -> float:
        """Fraction of the picture's area that the window shows."""
        return ((self.right - self.left) * (self.bottom - self.top)
                / (self.width * self.height))

    def query(self, query: Locate) -> Locate:
        """A query about the whole picture as one about this part."""
        rows, columns = slice(self.top, self.bottom), slice(self.left, self.right)
        return dataclasses.replace(
            query, image=query.image[rows, columns],
            depth_m=None if query.depth_m is None else query.depth_m[rows, columns])

    def region(self, region: Region) -> Region:
        """A place in this part as one in the whole picture, in unit coordinates of each."""
        wide, high = self.right - self.left, self.bottom - self.top
        return dataclasses.replace(region, points=tuple(
            ((self.left + x * wide) / self.width, (self.top + y * high) / self.height)
            for x, y in region.points))

    def reply(self, reply: LocateReply) -> LocateReply:
        """A reply about this part as one about the whole picture."""
        return dataclasses.replace(reply, regions=tuple(map(self.region, reply.regions)))


def windows(pieces: Pieces) -> list[Window]:
    """The whole picture, then closer views that show all pieces."""
    height, width = pieces.labels.shape
    found = [Window.whole(width, height)]
    if not pieces.count:
        return found
    lefts, tops, rights, bottoms = zip(*pieces.extents, strict=True)
    left, top, right, bottom = min(lefts), min(tops), max(rights), max(bottoms)
    for fraction in _MARGINS:
        margin = round(fraction * max(right - left, bottom - top))
        window = Window(max(left - margin, 0), max(top - margin, 0), min(right + margin, width),
                        min(bottom + margin, height), width, height)
        if window.fraction <= _LARGEST and min(window.right - window.left,
                                               window.bottom - window.top) >= _LEAST_PX:
            found.append(window)
    return found
