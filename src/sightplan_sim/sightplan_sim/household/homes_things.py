"""Placement of small things where a problem states, apart from each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from sightplan_sim.household.homes_geometry import (
    Box,
    base_box,
    gap,
    model_box,
    near_limit,
    next_to,
    placed_box,
    placed_boxes,
    region_local,
    region_point,
    swept_box,
    to_home,
)
from sightplan_sim.household.homes_plan import NoRoomError
from sightplan_sim.household.shapes import Model, Placed, Region, Vec3

_SPACING = 0.012
_TRIES = 60
_OVERHANG = 0.12
"""Length by which a long thing may jut out over a surface's usable part [m]."""
_ARM = 0.46
"""Largest distance from the front edge at which the middle of a thing is put [m]."""


class Shelving:
    """Puts things into cavities and onto surfaces."""

    def __init__(self, rng: Random, beside: Iterable[tuple[str, str]] = ()) -> None:
        self._rng = rng
        self._beside = {frozenset(pair) for pair in beside}
        self._things: list[tuple[Placed, Box]] = []
        self._boxes: dict[str, list[Box]] = {}

    @property
    def things(self) -> tuple[Placed, ...]:
        """All things placed so far, in order of placing."""
        return tuple(placed for placed, _ in self._things)

    def stand(self, placed: Placed) -> None:
        """Take notice of a thing that stands already (on the floor)."""
        self._things.append((placed, placed_box(placed)))

    def put_row(self, models: Mapping[str, Model], holder: Placed, *, inside: bool) -> bool:
        """Put several things side by side, where they would not find room at random.

        Args:
            models: of the things, by name.
            holder: what they are put in or on.
            inside: whether that is in.

        Returns:
            Whether that was possible; if not, nothing is changed.
        """
        for region in holder.model.cavities if inside else holder.model.surfaces:
            before = len(self._things)
            if self._try_row(models, holder, region, inside=inside):
                return True
            del self._things[before:]
        return False

    def _try_row(self, models: Mapping[str, Model], holder: Placed, region: Region, *,
                 inside: bool) -> bool:
        names = list(models)
        self._rng.shuffle(names)
        turns, boxes = [], []
        for name in names:
            own = model_box(models[name])
            turn = 0.0 if own.extents[0] < own.extents[1] else math.pi / 2
            if own.extents[not turn] > 2 * region.half[1] + (0.0 if inside else _OVERHANG):
                turn = math.pi / 2 - turn
            turns.append(turn + self._rng.choice((0.0, math.pi)))
            boxes.append(to_home(own, Placed(name, models[name], (0.0, 0.0, 0.0), turns[-1])))
        gaps = [near_limit(a, b) + 1.5 * _SPACING for a, b in itertools.pairwise(boxes)]
        slack = 2 * region.half[0] - sum(b.extents[0] for b in boxes) - sum(gaps)
        if slack < 0:
            return False
        cuts = sorted(self._rng.uniform(0.0, slack) for _ in names)
        at, used = -region.half[0], 0.0
        for name, turn, box, cut, more in zip(names, turns, boxes, cuts, [*gaps, 0.0],
                                              strict=True):
            at, used = at + cut - used, cut
            spot = self._spot(box, region, holder, inside=inside)
            if spot is None or (inside and box.high[2] > 2 * region.half[2]):
                return False
            position = region_point(holder, region, (at - box.low[0], spot[1], spot[2]))
            placed = Placed(name, models[name], position, turn + holder.yaw, 0.0,
                            holder.name if inside else '', '' if inside else holder.name)
            around = placed_box(placed)
            if not self._free(placed, around, holder, inside=inside):
                return False
            self._things.append((placed, around))
            at += box.extents[0] + more
        return True

    def put_inside(self, name: str, model: Model, container: Placed) -> None:
        """Put a thing into one of a container's cavities, near its front.

        Raises:
            NoRoomError: it does not fit in.
        """
        self._put(name, model, container, container.model.cavities, inside=True)

    def put_ontop(self, name: str, model: Model, support: Placed, *, named: bool = True,
                  opening: float = 0.0) -> None:
        """Put a thing on one of a body's surfaces; ``named``: which is an object of the problem.

        Raises:
            NoRoomError: there is no room left on it.
        """
        self._put(name, model, support, support.model.surfaces, inside=False, named=named,
                  opening=opening)

    def _put(self, name: str, model: Model, holder: Placed, regions: Sequence[Region], *,
             inside: bool, named: bool = True, opening: float = 0.0) -> None:
        for attempt in range(_TRIES):
            region = self._region(regions, attempt)
            yaw = self._yaw(name, attempt, holder)
            box = to_home(model_box(model), Placed(name, model, (0.0, 0.0, 0.0), yaw - holder.yaw))
            spot = (self._by_partner(name, model, holder, region, yaw)
                    or self._spot(box, region, holder, inside=inside))
            if spot is None or (inside and box.high[2] > 2 * region.half[2]):
                continue
            position = region_point(holder, region, spot)
            placed = Placed(name, model, position, yaw, opening, holder.name if inside else '',
                            '' if inside or not named else holder.name)
            around = to_home(swept_box(model), placed)
            if self._free(placed, around, holder, inside=inside):
                self._things.append((placed, around))
                return
        raise NoRoomError(f'{name} {"inside" if inside else "on top of"} {holder.name}')

    def _region(self, regions: Sequence[Region], attempt: int) -> Region:
        if not regions:
            raise NoRoomError('something without a surface')
        if attempt < _TRIES // 2 and self._rng.random() < 0.6:
            return regions[0]
        return self._rng.choice(regions)

    def _yaw(self, name: str, attempt: int, holder: Placed) -> float:
        """Draw a yaw: any at first, in later attempts along the holder's sides, where more fits.

        What must be next to something stands along the home's axes, as boxes are.
        """
        quarter = self._rng.choice((0.0, math.pi / 2, math.pi, -math.pi / 2))
        if any(name in pair for pair in self._beside):
            return quarter
        if attempt < _TRIES // 2:
            return self._rng.uniform(-math.pi, math.pi)
        return holder.yaw + quarter

    def _by_partner(self, name: str, model: Model, holder: Placed, region: Region, yaw: float,
                    ) -> Vec3 | None:
        """Position beside the partner that a thing must be next to, in the region's frame."""
        for partner, _ in self._things:
            if frozenset((name, partner.name)) in self._beside:
                around = to_home(base_box(partner.model), partner)
                own = to_home(model_box(model), Placed(name, model, (0.0, 0.0, 0.0), yaw))
                way = self._rng.randrange(4)
                axis, sign = way % 2, 1 if way < 2 else -1
                at = [around.centre[0] - own.centre[0], around.centre[1] - own.centre[1]]
                at[axis] += sign * ((around.extents[axis] + own.extents[axis]) / 2
                                    + 0.5 * near_limit(around, own))
                x, y, _ = region_local(holder, region, (at[0], at[1], around.low[2]))
                if abs(x) <= region.half[0] and abs(y) <= region.half[1]:
                    return (x, y, -region.half[2])
        return None

    def _spot(self, box: Box, region: Region, holder: Placed, *, inside: bool) -> Vec3 | None:
        """Draw a place for a thing's origin in the region's frame; None if it does not fit."""
        low_x, high_x = -region.half[0] - box.low[0], region.half[0] - box.high[0]
        low_y, high_y = -region.half[1] - box.low[1], region.half[1] - box.high[1]
        if holder.model.mass:  # a thing on a thing: in its middle
            return (0.0, 0.0, -region.half[2])
        if low_y > high_y and not inside and low_y <= high_y + _OVERHANG:
            low_y = high_y  # what is too long, such as a handle, juts out at the front
        if low_x > high_x or low_y > high_y:
            return None
        front = model_front(holder.model, region)
        if inside and region.link == 0 and front > 0.0:
            high_y = low_y + 0.45 * (high_y - low_y)
        elif not inside:
            high_y = max(low_y, min(high_y, _ARM - front - region.half[1]))
        return (self._rng.uniform(low_x, high_x), self._rng.uniform(low_y, high_y),
                -region.half[2])

    def _parts(self, holder: Placed) -> list[Box]:
        """Boxes around the parts of a body that carries others (none for a small thing)."""
        if holder.name not in self._boxes:
            self._boxes[holder.name] = [] if holder.model.mass else placed_boxes(holder)
        return self._boxes[holder.name]

    def _free(self, placed: Placed, box: Box, holder: Placed, *, inside: bool) -> bool:
        if not inside and any(box.meets(part, -0.003) for part in self._parts(holder)):
            return False
        for other, taken in self._things:
            if other.name == holder.name:
                continue
            level = box.low[2] < taken.high[2] + 0.02 and taken.low[2] < box.high[2] + 0.02
            if frozenset((placed.name, other.name)) in self._beside:
                if not next_to(placed, other):
                    return False
            elif gap(box, taken) < (near_limit(box, taken) + _SPACING if level else 0.004):
                return False
        return True


def model_front(model: Model, region: Region) -> float:
    """Distance of a fixed region's front edge behind the body's front [m]."""
    low = model_box(model).low[1]
    return region.centre[1] - region.half[1] - low
