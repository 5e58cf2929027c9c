"""Resolves the descriptions of an instruction to the things that are seen."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sightplan.grounding.instructions.wishes import Choice, Place, Things, Wish
from sightplan.model import InputError, Instance
from sightplan.model.region import box_iou
from sightplan.queries.detect import DRAWER, Detection, DetectReply, same_place

ACCEPT = 0.5
"""Least probability at which a thing counts as described, where no number is said."""
CLEAR = 0.9
"""Least probability at which a thing clearly fits a description."""
SLANT = 0.75
"""Height over width, in a picture, of a square on a table that a camera looks down on by 50
degrees: what lies behind something is further away than it looks."""
ASPECT = 4 / 3
"""Width over height of most cameras' pictures."""


class UnresolvedError(InputError):
    """Raised when nothing that is seen fits a description of an instruction."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A wish whose descriptions are resolved to instances.

    Attributes:
        placements: names of things, each with the name of the place where it is to be.
        drawer: name of the drawer that the stage is about; '' without.
        closed: whether that is to be closed at the end.
        was_open: whether it is open at the beginning, where the instruction tells; else None.
        probability: that just these things are meant, if the descriptions were read rightly; None
            where a model says what is meant, which gives no number.
    """

    placements: tuple[tuple[str, str], ...]
    drawer: str
    closed: bool
    probability: float | None
    was_open: bool | None = None


def instances_of(replies: Iterable[DetectReply]) -> tuple[Instance, ...]:
    """Merge all looks at a picture into the things that it shows.

    Each look's boxes are matched one-to-one with those of the looks before, the likeliest first.
    A thing that a look does not show has probability 0 in it; means are taken over all looks.

    Raises:
        UnresolvedError: no reply can be used; says why.
    """
    looks = list(replies)
    usable = [reply for reply in looks if not reply.unread]
    if not usable:
        raise UnresolvedError('what was said of the picture cannot be used: '
                              f'{looks[0].unread if looks else "nobody was asked"}')
    groups: list[list[Detection]] = []
    for reply in usable:
        free = list(groups)
        for found in reply.detections:
            group = max((one for one in free if same_place(
                one[0].region, one[0].category, found.region, found.category)),
                key=lambda one: box_iou(one[0].region, found.region), default=None)
            if group is None:
                groups.append([found])
                continue
            group.append(found)
            free.remove(group)
    return _named(_levelled([_merged(group, len(usable)) for group in groups]))


def _merged(group: Sequence[Detection], looks: int) -> Detection:
    """Merge one thing's detections; its categories are scaled by its mean probability."""
    best = max(group, key=lambda one: one.probability)
    categories: dict[str, float] = {}
    colours: dict[str, float] = {}
    weight = sum(one.probability for one in group) or 1.0
    for one in group:
        for name, chance in one.categories.items():
            categories[name] = categories.get(name, 0.0) + chance * one.probability / looks
        for name, chance in one.colours.items():
            colours[name] = colours.get(name, 0.0) + chance * one.probability / weight
    opened = [one.opened for one in group if one.opened is not None]
    return Detection(best.region, _capped(categories), _capped(colours), best.probability,
                     min(1.0, sum(opened) / len(opened)) if opened else None)


def _capped(chances: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities, limited to 1, which the rounding of a sum may exceed."""
    return {name: min(1.0, chance) for name, chance in chances.items()}


def _levelled(found: Sequence[Detection]) -> list[Detection]:
    """Return the detections with the likeliest two drawers as top and bottom one, by height."""
    levels = f'{DRAWER}:top', f'{DRAWER}:bottom'

    def sure(one: Detection) -> float:
        return sum(one.categories.get(level, 0.0) for level in levels)

    drawers = sorted((one for one in found if sure(one) >= ACCEPT / 2), key=sure)[-2:]
    if len(drawers) < len(levels):
        return list(found)
    drawers.sort(key=lambda one: one.region.points[0][1])
    changed = {id(one): replace(one, categories={
        **{name: chance for name, chance in one.categories.items() if name not in levels},
        level: min(1.0, sure(one))}) for one, level in zip(drawers, levels, strict=True)}
    return [changed.get(id(one), one) for one in found]


def _named(found: Sequence[Detection]) -> tuple[Instance, ...]:
    """Return instances with names by category, numbered from left to right."""
    counts: dict[str, int] = {}
    instances = []
    for one in sorted(found, key=lambda item: item.region.centre):
        kind = one.category.replace(':', '_') or 'thing'
        counts[kind] = counts.get(kind, 0) + 1
        instances.append(Instance(f'{kind}_{counts[kind]}', one.region, one.categories,
                                  one.colours, one.opened))
    return tuple(instances)


def resolve(wishes: Sequence[Wish], seen: Sequence[Instance],
            aspect: float = ASPECT) -> tuple[Stage, ...]:
    """Find the things in a picture that each wish is about.

    If the instruction says how many things fit a description, the likeliest ones are taken, as
    many as it says; else all that fit with ``ACCEPT``, and at least one. Within a stage, a thing
    that one description means is not meant by a later description in other words.

    Args:
        wishes: those of the instruction, stage by stage.
        seen: all things in the picture.
        aspect: width over height of the picture.

    Raises:
        UnresolvedError: nothing is seen that a description fits, or too little; says which.
    """
    scene = _Scene(wishes, seen, aspect)
    return tuple(scene.stage(wish) for wish in wishes)


def clear_part(wishes: Sequence[Wish], seen: Sequence[Instance],
              aspect: float = ASPECT) -> tuple[Stage, ...]:
    """Return the part of each wish that is clear from the picture, which may be empty.

    A place is clear if it fits its description with ``CLEAR``. Of a description that means all
    things of a kind, each thing that fits with ``CLEAR`` is clear. A description that chooses
    among things is clear only if all of these fit with ``CLEAR``.

    Args:
        wishes: those of the instruction, stage by stage.
        seen: all things in the picture.
        aspect: width over height of the picture.

    Returns:
        One stage for each wish, without the placements and drawers that are not clear.
    """
    scene = _Scene(wishes, seen, aspect)
    return tuple(scene.clear_part(wish) for wish in wishes)


_Words = tuple[tuple[str, ...], str]
"""Categories and colour of a description."""


class _Scene:
    """The seen things, and the totals that an instruction gives for descriptions."""

    def __init__(self, wishes: Sequence[Wish], seen: Sequence[Instance], aspect: float) -> None:
        self._seen, self._aspect = tuple(seen), aspect
        self._totals: dict[tuple[tuple[str, ...], str], int] = {}
        for things in _described(wishes):
            if things.total is not None:
                key = things.categories, things.colour
                self._totals[key] = max(things.total, self._totals.get(key, 0))

    def stage(self, wish: Wish) -> Stage:
        """Return the wish resolved to instances."""
        chance, placements = 1.0, []
        taken: dict[str, _Words] = {}
        for things, place in wish.goods:
            where, sure = self._place(place)
            meant, likely = self._meant(things, taken)
            taken |= {one.name: (things.categories, things.colour) for one in meant}
            chance *= sure * likely
            placements += [(one.name, where.name) for one in meant if one is not where]
        if wish.drawer is None:
            return Stage(tuple(placements), '', False, chance)
        drawer, sure = self._place(wish.drawer)
        return Stage(tuple(placements), drawer.name, wish.closed, chance * sure, wish.was_open)

    def clear_part(self, wish: Wish) -> Stage:
        """Return the part of the wish that is clear."""
        placements: list[tuple[str, str]] = []
        taken: dict[str, _Words] = {}
        for things, place in wish.goods:
            try:
                where, sure = self._place(place)
                meant = self._clear(things, taken) if sure >= CLEAR else []
            except UnresolvedError:
                continue
            taken |= {one.name: (things.categories, things.colour) for one in meant}
            placements += [(one.name, where.name) for one in meant if one is not where]
        drawer = ''
        if wish.drawer is not None:
            with contextlib.suppress(UnresolvedError):
                one, sure = self._place(wish.drawer)
                drawer = one.name if sure >= CLEAR else ''
        return Stage(tuple(placements), drawer, wish.closed, None, wish.was_open)

    def _clear(self, things: Things, taken: Mapping[str, _Words]) -> list[Instance]:
        """Return the things that a description clearly means."""
        words = things.categories, things.colour
        if things.choice is not Choice.ALL:
            found, _ = self._fitting(things, taken)
            clear = all(_fit(one, *words) >= CLEAR for one in found)
            return self._meant(things, taken)[0] if clear else []
        fitting = sorted((one for one in self._seen if _fit(one, *words) >= CLEAR
                          and taken.get(one.name, words) == words),
                         key=lambda one: -_fit(one, *words))
        return fitting[:self._totals.get(words)]

    def _place(self, place: Place) -> tuple[Instance, float]:
        kinds = ([f'{DRAWER}:{place.level}'] if place.kind == DRAWER and place.level else
                 [f'{DRAWER}:top', f'{DRAWER}:bottom'] if place.kind == DRAWER else [place.kind])
        best = max(self._seen, key=lambda one: _fit(one, kinds, place.colour), default=None)
        if best is None or (sure := _fit(best, kinds, place.colour)) <= 0.0:
            raise UnresolvedError(f'no {_words(place.colour, [place.kind])} is seen')
        return best, sure

    def _fitting(self, things: Things,
                 taken: Mapping[str, _Words]) -> tuple[list[Instance], float]:
        """All that a description fits, best first, and how sure that is."""
        words = things.categories, things.colour
        fits = {one.name: _fit(one, *words) if taken.get(one.name, words) == words else 0.0
                for one in self._seen}
        order = sorted(self._seen, key=lambda one: -fits[one.name])
        count = self._totals.get((things.categories, things.colour))
        if count is None:
            count = max(1, sum(fit >= ACCEPT for fit in fits.values()))
        found = [one for one in order[:count] if fits[one.name] > 0.0]
        if len(found) < count or not found:
            raise UnresolvedError(
                f'{len(found)} {_words(things.colour, things.categories)} seen, where the '
                f'instruction speaks of {count}')
        chance = math.prod(fits[one.name] for one in found) * math.prod(
            1.0 - fits[one.name] for one in order[count:])
        return found, chance

    def _meant(self, things: Things, taken: Mapping[str, _Words]) -> tuple[list[Instance], float]:
        found, chance = self._fitting(things, taken)
        match things.choice:
            case Choice.ALL:
                return found, chance
            case Choice.ALL_BUT:
                assert things.but is not None
                return [one for one in found if one not in self._left_out(things.but, found)], (
                    chance)
            case Choice.NEAREST:
                assert things.anchor is not None
                anchor, sure = self._place(things.anchor)
                found = sorted(found, key=lambda one: self._distance(one, anchor))
                return found[:things.count or 1], chance * sure
            case Choice.LEFTMOST:
                return [min(found, key=_across)], chance
            case Choice.RIGHTMOST:
                return [max(found, key=_across)], chance

    def _distance(self, one: Instance, other: Instance) -> float:
        """Return the distance of two boxes' centres on the table, estimated from the picture."""
        (x1, y1), (x2, y2) = one.region.centre, other.region.centre
        return math.hypot((x1 - x2) * self._aspect, (y1 - y2) / SLANT)

    def _left_out(self, things: Things, among: Sequence[Instance]) -> list[Instance]:
        """Return the things that "all but" leaves out."""
        if things.choice is Choice.ALL:
            return [max(among, key=lambda one: _fit(one, things.categories, things.colour))]
        fitting = [one for one in among
                   if _fit(one, things.categories, things.colour) >= ACCEPT] or among
        scene = _Scene((), fitting if things.anchor is None else [
            *fitting, self._place(things.anchor)[0]], self._aspect)
        scene._totals[things.categories, things.colour] = len(fitting)
        return scene._meant(things, {})[0]


def _described(wishes: Sequence[Wish]) -> Iterator[Things]:
    for wish in wishes:
        for things, _ in wish.goods:
            yield things


def _fit(one: Instance, categories: Sequence[str], colour: str) -> float:
    """Return the probability that an instance is of some categories and a colour."""
    chance = sum(one.categories.get(category, 0.0) for category in categories)
    return min(1.0, chance) * (one.colours.get(colour, 0.0) if colour else 1.0)


def _across(one: Instance) -> float:
    return one.region.centre[0]


def _words(colour: str, categories: Sequence[str]) -> str:
    return f'{colour} {" or ".join(categories)}'.strip()
