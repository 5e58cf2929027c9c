"""Replies of a model as votes for places, and places as replies.

Places are the pieces of a picture and the spots beside them that were pointed at. Points that are
near each other are one spot, so that without any pieces votes are counted by clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sightplan.model import Form, Region
from sightplan.model.region import Point
from sightplan.queries.locate import LocateReply
from sightplan_belief.pointing.pieces import Pieces
from sightplan_belief.pointing.votes import ABSENT, SPOTS, Vote

SPOT_RADIUS = 0.5 / math.sqrt(SPOTS)
"""Points no farther from the first one of a spot belong to it, as a fraction of the edges."""

UNTOLD = 0.5
"""Probability of existence that a model tells for words that it does not know."""


class Places:
    """Places in one picture that were pointed at for one target.

    Args:
        pieces: of the picture.
    """

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self._spots: list[Point] = []
        self._regions: list[tuple[int, Region]] = []
        self._replies: list[tuple[int, LocateReply]] = []

    def vote(self, reply: LocateReply, form: Form) -> Vote | None:
        """Vote of a reply.

        Where several points were asked for, each has the same weight; else the first region
        counts.

        Args:
            reply: in coordinates of the whole picture.
            form: what was asked for.

        Returns:
            None: it cannot be read, or the model names no place because it does not know the
            words; that is no vote.
        """
        if reply.unread or (reply.unknown and not reply.regions):
            return None
        if not reply.regions:
            return Vote.at(ABSENT, reply.probability, reply.exists)
        counted = reply.regions if form is Form.POINTS else reply.regions[:1]
        on: dict[int, float] = {}
        for region in counted:
            weights = self.pieces.weights(region) or {self._spot(region.centre): 1.0}
            self._regions.append((max(weights, key=weights.__getitem__), region))
            for place, weight in weights.items():
                on[place] = on.get(place, 0.0) + weight / len(counted)
        self._replies.append((max(on, key=on.__getitem__), reply))
        return Vote(on, reply.probability, UNTOLD if reply.unknown else reply.exists)

    def regions(self, place: int, form: Form) -> tuple[Region, ...]:
        """Regions of a place, in the form that was asked for.

        What was said about a place comes first: of points the one in the middle of the others, of
        boxes the one that fits best. A piece that nobody pointed at is its innermost point, or
        the box around it.

        Returns:
            none for what is not in the picture; and for a place without a trace, where one was
            asked for.
        """
        if place == ABSENT:
            return ()
        if form in (Form.POINTS, Form.TRACE):
            for voted, reply in self._replies:
                if voted == place:
                    return reply.regions
            if form is Form.TRACE:
                return ()
        said = [region for voted, region in self._regions if voted == place]
        if form is Form.BOX:
            return (self._best_box(place, said),)
        return (Region(Form.POINT, (self.point(place),)),)

    def mark(self, place: int) -> Region:
        """The box around a piece, or the point of a spot."""
        if place < self.pieces.count:
            return self.pieces.box(place)
        return Region(Form.POINT, (self.point(place),))

    def point(self, place: int) -> Point:
        """A point on a place."""
        said = [region.centre for voted, region in self._regions if voted == place]
        if place < self.pieces.count:
            said = [point for point in said if self.pieces.on(point, place)]
        return _medoid(said) if said else self.pieces.inner_point(place)

    def _spot(self, point: Point) -> int:
        """The spot of a point beside all pieces."""
        for index, (x, y) in enumerate(self._spots):
            if math.hypot(point[0] - x, point[1] - y) <= SPOT_RADIUS:
                return self.pieces.count + index
        self._spots.append(point)
        return self.pieces.count + len(self._spots) - 1

    def _best_box(self, place: int, said: Sequence[Region]) -> Region:
        boxes = [region for region in said if region.form is Form.BOX]
        if place < self.pieces.count:
            return max(boxes, key=lambda box: self.pieces.box_iou(box, place),
                       default=self.pieces.box(place))
        return boxes[0] if boxes else said[0]


def _medoid(points: Sequence[Point]) -> Point:
    """The point that is nearest to all others; the first of several."""
    return min(points, key=lambda point: sum(math.dist(point, other) for other in points))
