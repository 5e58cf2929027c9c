"""Resolves the descriptions of an instruction to the things that are seen."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sightplan.grounding.instructions.phrases import PENDING
from sightplan.grounding.instructions.wishes import Hold, Place, Relation, Things, Where, Wish
from sightplan.model import InputError, Instance
from sightplan.model.region import box_iou
from sightplan.queries.detect import (
    CABINET,
    COLOURS,
    DRAWER,
    DRAWERS,
    MOVED,
    OTHER,
    Detection,
    DetectReply,
    same_place,
)

ACCEPT = 0.5
"""Least probability at which a thing counts as described, where no number is said."""
CLEAR = 0.9
"""Least probability at which a thing clearly fits a description."""
SLANT = 0.75
"""Height over width, in a picture, of a square on a table that a camera looks down on by 50
degrees: what lies behind something is further away than it looks."""
_LONGEST_NAME = 40
"""Most characters of an instance's name that come from a model's words for it."""
ASPECT = 4 / 3
"""Width over height of most cameras' pictures."""


class UnresolvedError(InputError):
    """Raised when nothing that is seen fits a description of an instruction."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A wish whose descriptions are resolved to instances.

    Attributes:
        placements: names of things, each with the name of the place where it is to be.
        beside: names of things, each with the name of what it is to stand next to on the table.
        drawer: name of the drawer that the stage is about; '' without.
        closed: whether that is to be closed at the end; None where it may be either.
        was_open: whether it is open at the beginning, where the instruction tells; else None.
        probability: that just these things are meant, if the descriptions were read rightly; None
            where a model says what is meant, which gives no number.
    """

    placements: tuple[tuple[str, str], ...]
    drawer: str
    closed: bool | None
    probability: float | None
    was_open: bool | None = None
    beside: tuple[tuple[str, str], ...] = ()


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
        raise UnresolvedError(
            'what was said of the picture cannot be used: '
            f'{looks[0].unread if looks else "nobody was asked"}'
        )
    groups: list[list[Detection]] = []
    for reply in usable:
        free = list(groups)
        for found in reply.detections:
            group = max(
                (
                    one
                    for one in free
                    if same_place(one[0].region, one[0].category, found.region, found.category)
                ),
                key=lambda one: box_iou(one[0].region, found.region),
                default=None,
            )
            if group is None:
                groups.append([found])
                continue
            group.append(found)
            free.remove(group)
    return named(_levelled([_merged(group, len(usable)) for group in groups]))


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
    return Detection(
        best.region,
        _capped(categories),
        _capped(colours),
        best.probability,
        min(1.0, sum(opened) / len(opened)) if opened else None,
    )


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
    changed = {
        id(one): replace(
            one,
            categories={
                **{name: chance for name, chance in one.categories.items() if name not in levels},
                level: min(1.0, sure(one)),
            },
        )
        for one, level in zip(drawers, levels, strict=True)
    }
    return [changed.get(id(one), one) for one in found]


def named(found: Sequence[Detection | Instance]) -> tuple[Instance, ...]:
    """Return instances with names by category, numbered from left to right."""
    counts: dict[str, int] = {}
    instances = []
    for one in sorted(found, key=lambda item: item.region.centre):
        kind = one.category.replace(':', '_') or 'thing'
        if one.category == OTHER:
            kind = _name_of(one.region.label) or kind
        counts[kind] = counts.get(kind, 0) + 1
        instances.append(
            Instance(f'{kind}_{counts[kind]}', one.region, one.categories, one.colours, one.opened)
        )
    return tuple(instances)


def _name_of(label: str) -> str:
    """A name that PDDL allows, from words of any language; '' if they leave nothing of it."""
    plain = unicodedata.normalize('NFKD', label).encode('ascii', 'ignore').decode().lower()
    words = [word for word in re.findall('[a-z0-9]+', plain) if word not in COLOURS]
    name = '_'.join(words)[:_LONGEST_NAME].strip('_')
    return name if name[:1].isalpha() else name and f'thing_{name}'


def resolve(
    wishes: Sequence[Wish], seen: Sequence[Instance], aspect: float = ASPECT
) -> tuple[Stage, ...]:
    """Find the things in a picture that each wish is about.

    If the instruction says how many things fit a description, the likeliest ones are taken, as
    many as it says; else all that fit with ``ACCEPT``, and at least one. Within a stage, a thing
    that one description means is not meant by a later description in other words. A description
    that means one thing, or some number of them, and fits more is not guessed.

    Args:
        wishes: those of the instruction, stage by stage.
        seen: all things in the picture.
        aspect: width over height of the picture.

    Raises:
        UnresolvedError: nothing is seen that a description fits, or too little, or too much; says
            which.
    """
    scene = _Scene(wishes, seen, aspect)
    stages = [scene.stage(wish) for wish in wishes]
    return tuple(_without_kept(stages, wishes, scene))


def clear_part(
    wishes: Sequence[Wish], seen: Sequence[Instance], aspect: float = ASPECT
) -> tuple[Stage, ...]:
    """Return the part of each wish that is clear from the picture, which may be empty.

    A place is clear if it fits its description with ``CLEAR``. Of a description that means all
    things of a kind, each thing that fits with ``CLEAR`` is clear. A description that chooses
    among things is clear only if all of these fit with ``CLEAR``. Nothing is clear of an
    instruction that says what is to be left alone, or has a condition.

    Args:
        wishes: those of the instruction, stage by stage.
        seen: all things in the picture.
        aspect: width over height of the picture.

    Returns:
        One stage for each wish, without the placements and drawers that are not clear.
    """
    if any(wish.kept or wish.given for wish in wishes):
        return tuple(Stage((), '', None, None) for _ in wishes)
    scene = _Scene(wishes, seen, aspect)
    return tuple(scene.clear_part(wish) for wish in wishes)


def _without_kept(stages: list[Stage], wishes: Sequence[Wish], scene: _Scene) -> list[Stage]:
    """Return stages without what the instruction wants left alone.

    Raises:
        UnresolvedError: all that a stage moves is to be left alone, or a thing goes to two places.
    """
    kept = {one.name for wish in wishes for things in wish.kept for one in scene.kept(things)}
    goes: dict[tuple[int, str], str] = {}
    found = []
    for stage, wish in zip(stages, wishes, strict=True):
        pairs = (*stage.placements, *stage.beside)
        for thing, place in pairs:
            first = goes.setdefault((wish.sentence, thing), place)
            if first != place and thing not in kept:
                raise UnresolvedError(f'{thing} is to go to two places, {first} and {place}')
        if pairs and all(thing in kept for thing, _ in pairs):
            raise UnresolvedError(f'{pairs[0][0]} is to be moved and to be left alone')
        found.append(
            replace(
                stage,
                placements=tuple(one for one in stage.placements if one[0] not in kept),
                beside=tuple(one for one in stage.beside if one[0] not in kept),
            )
        )
    return found


_Key = tuple[tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]
"""Kinds and colours of a description."""
_SIDE_MARGIN = 0.014
"""Least difference, in widths of the picture, by which a thing is further to one side."""
_NEAR_MARGIN = 0.9
"""Most that the distance of the nearest thing may be of that of the next one."""
_MIDDLE = 0.6
"""Most that the distance from the middle of what stands there may be of that of the next thing."""
_GAP = 2.0
"""Least ratio of the widest gap between things in a row to the next widest: a group ends there."""
_IN_HOLDERS = ('bowl', 'crate', 'tray', 'plate', 'cup', 'mug', *DRAWERS)
_ROOM: Mapping[str, float] = {'tray': 1.0, 'crate': 0.85, 'plate': 0.5, 'bowl': 0.5}
"""Part of a place's length that is room for things: a crate has walls, a bowl is round."""
_NEVER_INTO: Mapping[str, tuple[str, ...]] = {
    'tray': ('ball',),
    'crate': ('box',),
    'plate': tuple(kind for kind in MOVED if kind not in ('mug', 'cup', 'can', 'apple', 'napkin')),
    'bowl': tuple(kind for kind in MOVED if kind not in ('apple', 'ball')),
}
"""Things that each kind of place does not take: too large for it, or they would roll off."""
_ON_HOLDERS = ('tray', 'plate', 'bowl', 'crate', 'napkin', 'box', CABINET, *DRAWERS)


def _key(things: Things) -> _Key:
    return things.kinds, things.colours, things.without


class _Scene:
    """The seen things, and the totals that an instruction gives for descriptions."""

    def __init__(self, wishes: Sequence[Wish], seen: Sequence[Instance], aspect: float) -> None:
        self._seen, self._aspect = tuple(seen), aspect
        self._totals: dict[_Key, int] = {}
        self._meanings: dict[int, tuple[list[Instance], float]] = {}
        self._named: list[tuple[int, Instance]] = []
        for things in _described(wishes):
            if things.total is not None:
                key = _key(things)
                self._totals[key] = max(things.total, self._totals.get(key, 0))

    def stage(self, wish: Wish) -> Stage:
        """Return the wish resolved to instances."""
        if not self._holds(wish):
            return Stage((), '', None, 1.0)
        chance, placements, beside = 1.0, [], []
        taken: dict[str, _Key] = {}
        for things, place in wish.goods:
            meant, likely = self._meant(things, taken)
            taken |= {one.name: _key(things) for one in meant}
            self._named += [(things.mention, one) for one in meant]
            if place.serves:
                pairs, sure = self._served(place.of, meant)
            else:
                where, sure = self._place(place, meant)
                self._check_everything(things, where)
                pairs = [(one.name, where.name) for one in meant if one is not where]
            chance *= sure * likely
            if place.hold is Hold.BESIDE:
                beside += pairs
            else:
                placements += pairs
        if wish.drawer is None:
            return Stage(tuple(placements), '', None, chance, beside=tuple(beside))
        drawer, sure = self._drawer(wish.drawer, wish.closed if not wish.goods else True)
        return Stage(
            tuple(placements),
            drawer.name,
            wish.closed,
            chance * sure,
            wish.was_open,
            tuple(beside),
        )

    def kept(self, things: Things) -> list[Instance]:
        """Return the things that a description of what is to be left alone means."""
        try:
            return self._meant(things, {})[0]
        except UnresolvedError:
            if things.rest:
                return []
            raise

    def _holds(self, wish: Wish) -> bool:
        """Whether the conditions of a wish hold in the picture."""
        for condition in wish.given:
            things = condition.things
            if any(kind in DRAWERS for kind in things.kinds[0]):
                drawer, _ = self._drawer(replace(things, opened=None), None)
                if condition.empty:
                    if self._is_empty(drawer) is not condition.seen:
                        return False
                    continue
                found = ((drawer.opened or 0.0) >= ACCEPT) is things.opened
            else:
                found = any(self._fit_of(one, things) >= ACCEPT for one in self._seen)
            if found is not condition.seen:
                return False
        return True

    def _is_empty(self, drawer: Instance) -> bool:
        """Whether nothing is seen in a drawer.

        Raises:
            UnresolvedError: it is closed, so that nobody sees what is in it.
        """
        if (drawer.opened or 0.0) < ACCEPT:
            raise UnresolvedError(f'what is in {drawer.name} cannot be seen: it is closed')
        return not any(
            _holds(drawer, one) for one in self._seen if _chance(one, (CABINET, *DRAWERS)) < ACCEPT
        )

    def clear_part(self, wish: Wish) -> Stage:
        """Return the part of the wish that is clear."""
        placements: list[tuple[str, str]] = []
        beside: list[tuple[str, str]] = []
        taken: dict[str, _Key] = {}
        for things, place in wish.goods:
            try:
                meant = self._clear(things, taken)
                self._named += [(things.mention, one) for one in meant]
                if place.serves:
                    pairs, sure = self._served(place.of, meant)
                else:
                    where, sure = self._place(place, meant)
                    pairs = [(one.name, where.name) for one in meant if one is not where]
            except UnresolvedError:
                continue
            if sure < CLEAR:
                continue
            taken |= {one.name: _key(things) for one in meant}
            if place.hold is Hold.BESIDE:
                beside += pairs
            else:
                placements += pairs
        drawer = ''
        if wish.drawer is not None:
            with contextlib.suppress(UnresolvedError):
                one, sure = self._drawer(wish.drawer, wish.closed if not wish.goods else True)
                drawer = one.name if sure >= CLEAR else ''
        return Stage(tuple(placements), drawer, wish.closed, None, wish.was_open, tuple(beside))

    def _clear(self, things: Things, taken: Mapping[str, _Key]) -> list[Instance]:
        """Return the things that a description clearly means."""
        if things.where or things.but or things.any_of or things.rest:
            found, _ = self._fitting(things, taken)
            clear = all(self._fit_of(one, things) >= CLEAR for one in found)
            return self._meant(things, taken)[0] if clear else []
        key = _key(things)
        fitting = sorted(
            (
                one
                for one in self._seen
                if self._fit_of(one, things) >= CLEAR and taken.get(one.name, key) == key
            ),
            key=lambda one: -self._fit_of(one, things),
        )
        return fitting[: self._totals.get(key)]

    # --- places ----------------------------------------------------------------------------------

    def _place(self, place: Place, goods: Sequence[Instance]) -> tuple[Instance, float]:
        """Return the place that a wish means.

        Raises:
            UnresolvedError: there is none, or several, or it holds nothing.
        """
        of = place.of
        if of.kinds and of.kinds[0][0] in DRAWERS:
            return self._drawer(of, True)
        best, sure = self._one(of, avoid=goods)
        kind = max(best.categories, key=best.categories.__getitem__)
        if place.hold is Hold.BESIDE:
            return best, sure
        stacked = kind in ('cup', 'mug') and all(one.category in ('cup', 'mug') for one in goods)
        holders = (
            _IN_HOLDERS
            if place.hold is Hold.IN
            else (*_ON_HOLDERS, *(('cup', 'mug') if stacked else ()))
        )
        if not any(best.categories.get(one, 0.0) > 0.0 for one in holders):
            raise UnresolvedError(f'nothing is put {place.hold.value} a {kind}')
        return best, sure

    def _served(
        self, of: Things, goods: Sequence[Instance]
    ) -> tuple[list[tuple[str, str]], float]:
        """Return things with the places that serve them: the roomiest of those that take them.

        Raises:
            UnresolvedError: there is none; says for which.
        """
        kinds = tuple(kind for kinds in of.kinds for kind in kinds)
        places = [one for one in self._seen if _chance(one, kinds) >= ACCEPT]
        pairs, chance = [], 1.0
        for thing in goods:
            fitting = [
                (self._length(one) * _ROOM[kind], one)
                for one in places
                if (kind := max(kinds, key=lambda name: one.categories.get(name, 0.0)))
                and thing.category not in _NEVER_INTO[kind]
            ]
            if not fitting:
                raise UnresolvedError(f'no {" or ".join(kinds)} is seen that takes {thing.name}')
            _, best = max(fitting, key=lambda pair: pair[0])
            pairs.append((thing.name, best.name))
            chance = min(chance, _chance(best, kinds))
        return pairs, chance

    def _length(self, one: Instance) -> float:
        """Return the longer side of a thing on the table, in widths of the picture."""
        (left, top), (right, bottom) = one.region.points
        return max(right - left, (bottom - top) / self._aspect / SLANT)

    def _one(self, things: Things, avoid: Sequence[Instance] = ()) -> tuple[Instance, float]:
        """Return the one thing that a description of a place means, and how sure that is."""
        if things.where or things.rest or things.mention in self._meanings or things.but:
            found, sure = self._meant(things, {})
            if len(found) != 1:
                raise UnresolvedError(f'{len(found)} fit {_said(things)!r}')
            return found[0], sure
        kinds = self._kinds(things)

        def fit(one: Instance) -> float:
            return self._fit(one, kinds, things)

        order = sorted((one for one in self._seen if one not in avoid), key=fit, reverse=True)
        if not order or (sure := fit(order[0])) <= 0.0:
            raise UnresolvedError(f'no {_said(things)} is seen')
        if len(order) > 1 and fit(order[1]) >= CLEAR and not things.any_of:
            raise UnresolvedError(f'several things are seen that may be the {_said(things)}')
        self._meanings[things.mention] = [order[0]], sure
        return order[0], sure

    def _drawer(self, things: Things, opens: bool | None) -> tuple[Instance, float]:
        """Return the drawer that a description means.

        Args:
            things: the description.
            opens: where it tells no level: whether an open one is meant, to be closed or filled,
                or a closed one, to be opened.
        """
        kinds = things.kinds[0]
        order = sorted(self._seen, key=lambda one: _chance(one, kinds), reverse=True)
        sure = [one for one in order if _chance(one, kinds) > 0.0]
        if not sure:
            raise UnresolvedError(f'no {_said(things)} is seen')
        if len(kinds) == 1:
            return sure[0], _chance(sure[0], kinds)
        drawers = [one for one in sure if _chance(one, kinds) >= ACCEPT] or sure[:1]
        wanted = things.opened if things.opened is not None else opens
        if len(drawers) > 1 and wanted is not None:
            drawers = [one for one in drawers if ((one.opened or 0.0) >= ACCEPT) is wanted]
        if len(drawers) != 1:
            raise UnresolvedError(f'it does not tell which drawer {_said(things)!r} is')
        return drawers[0], _chance(drawers[0], kinds)

    # --- things ----------------------------------------------------------------------------------

    def _kinds(self, things: Things) -> tuple[str, ...]:
        """Return the categories that a noun means here: the first ones that something fits."""
        options = things.kinds if things.kinds not in ((), PENDING) else (MOVED,)
        for kinds in options:
            if any(self._fit(one, kinds, things) >= ACCEPT for one in self._seen):
                return kinds
        for kinds in options:
            if any(self._fit(one, kinds, things) > 0.0 for one in self._seen):
                return kinds
        return options[0]

    def _fit_of(self, one: Instance, things: Things) -> float:
        return self._fit(one, self._kinds(things), things)

    def _fit(self, one: Instance, kinds: Sequence[str], things: Things) -> float:
        """Return the probability that an instance fits kinds and colours of a description."""
        chance = min(1.0, _chance(one, kinds))
        if things.colours:
            chance *= min(1.0, sum(one.colours.get(colour, 0.0) for colour in things.colours))
        for colour in things.without:
            chance *= 1.0 - one.colours.get(colour, 0.0)
        return chance

    def _fitting(self, things: Things, taken: Mapping[str, _Key]) -> tuple[list[Instance], float]:
        """Return all that a description fits, best first, and how sure that is."""
        key, kinds = _key(things), self._kinds(things)
        named = self._excluded(things)
        fits = {
            one.name: self._fit(one, kinds, things)
            if taken.get(one.name, key) == key and one.name not in named
            else 0.0
            for one in self._seen
        }
        order = sorted(self._seen, key=lambda one: -fits[one.name])
        count = (
            self._totals.get(key)
            if not things.rest and not (things.any_of and things.total is None)
            else None
        )
        if count is None:
            count = max(1, sum(fit >= ACCEPT for fit in fits.values()))
        elif len(order) > count and fits[order[count].name] >= CLEAR:
            raise UnresolvedError(
                f'more than {count} {_said(things)} are seen: it does not tell which are meant'
            )
        found = [one for one in order[:count] if fits[one.name] > 0.0]
        if len(found) < count or not found:
            raise UnresolvedError(
                f'{len(found)} {_said(things)} seen, where the instruction speaks of {count}'
            )
        if (
            things.vague
            and things.plural
            and (things.number is None or len(found) != things.number)
            and not things.where
        ):
            raise UnresolvedError(f'it cannot tell which are {things.vague}')
        chance = math.prod(fits[one.name] for one in found) * math.prod(
            1.0 - fits[one.name] for one in order[count:]
        )
        return found, chance

    def _excluded(self, things: Things) -> set[str]:
        """Return the names of what an earlier description meant, where a description says so."""
        if not (things.rest or things.any_of):
            return set()
        return {one.name for mention, one in self._named if mention != things.mention}

    def _meant(self, things: Things, taken: Mapping[str, _Key]) -> tuple[list[Instance], float]:
        """Return the things that a description means, and how sure that is.

        Raises:
            UnresolvedError: too few or too many fit; says which.
        """
        if things.mention and things.mention in self._meanings:
            return self._meanings[things.mention]
        if things.rest in ('rest', 'else') and things.kinds:
            things = self._whole_rest(things)
        if things.like:
            things = self._alike(things)
        found, chance = self._fitting(things, taken)
        for where in things.where:
            found = self._chosen(things, where, found)
        if things.doubtful:
            self._check_doubtful(things)
        for one in things.but:
            left_out, _ = self._left_out(one, found)
            found = [other for other in found if other not in left_out]
        found = self._counted(things, found)
        if things.mention:
            self._meanings[things.mention] = found, chance
        return found, chance

    def _check_doubtful(self, things: Things) -> None:
        """Refuse a description by use where something is seen that somebody might count in.

        Raises:
            UnresolvedError: such a thing is seen; says which.
        """
        for name in things.doubtful:
            *colours, kind = name.split()
            other = Things(((kind,),), tuple(colours))
            for one in self._seen:
                if self._fit(one, (kind,), other) >= ACCEPT:
                    raise UnresolvedError(
                        f'it does not tell whether {one.name} is meant by {things.said!r}'
                    )

    def _check_everything(self, things: Things, place: Instance) -> None:
        """Refuse "everything" onto a tray beside a plate or a bowl: is that meant, too?

        Raises:
            UnresolvedError: such a thing is seen.
        """
        if things.kinds or things.rest or not things.plural or place.category != 'tray':
            return
        for one in self._seen:
            if (
                one is not place
                and self._fit(one, ('plate', 'bowl'), things) >= ACCEPT
                and (not any(self._fit_of(one, but) >= ACCEPT for but in things.but))
            ):
                raise UnresolvedError(f'it does not tell whether {one.name} is meant, too')

    def _alike(self, things: Things) -> Things:
        """Return what "the other" means: of the same colour as what was named, or of any."""
        named = self._excluded(things)
        alike = replace(things, colours=things.like, like=())
        any_colour = replace(things, like=())
        same, all_of_kind = (
            [
                one
                for one in self._seen
                if one.name not in named and self._fit_of(one, thing) >= ACCEPT
            ]
            for thing in (alike, any_colour)
        )
        if not things.rest:
            return self._alike_one(things, alike, any_colour)
        number = things.number or (None if things.plural else 1)
        if number is not None and len(same) == number and not things.where:
            return alike
        if same and len(same) < len(all_of_kind) and not things.where and number is None:
            raise UnresolvedError(
                f'it does not tell whether {_said(things)!r} are '
                f'{" or ".join(things.like)} ones or all'
            )
        return any_colour

    def _alike_one(self, things: Things, alike: Things, any_colour: Things) -> Things:
        """Return what "the one on the left" means: of the colour named before, or of any.

        Raises:
            UnresolvedError: it makes a difference, and it does not tell.
        """
        found: list[list[Instance]] = []
        for one in (alike, any_colour):
            try:
                found.append(self._meant(replace(one, mention=0), {})[0])
            except UnresolvedError:
                found.append([])
        if things.where and found[0]:  # the same words say where each of two alike things is
            return alike
        if found[0] and found[1] and found[0] != found[1]:
            raise UnresolvedError(
                f'it does not tell whether {_said(things)!r} is {" or ".join(things.like)}'
            )
        return alike if found[0] else any_colour

    def _whole_rest(self, things: Things) -> Things:
        """Return what "the rest" means: of the kind, or of all, if these differ not at all."""
        named = self._excluded(things)
        of_all = {one.name for one in self._seen if _chance(one, MOVED) >= ACCEPT} - named
        of_kind = {one.name for one in self._seen if self._fit_of(one, things) >= ACCEPT} - named
        if things.rest == 'else' or not of_kind:
            return replace(things, kinds=())
        if of_all != of_kind:
            raise UnresolvedError(
                'it does not tell whether "the rest" is of all things, or of one kind'
            )
        return things

    def _counted(self, things: Things, found: list[Instance]) -> list[Instance]:
        """Return as many things as a description says.

        Raises:
            UnresolvedError: there are too few, or more and it does not tell which.
        """
        number = things.number if things.number is not None else None if things.plural else 1
        if not found:
            raise UnresolvedError(f'no {_said(things)} is seen')
        if number is None or len(found) == number:
            return found
        if len(found) < number:
            raise UnresolvedError(
                f'{len(found)} {_said(things)} seen, where the instruction speaks of {number}'
            )
        if not things.any_of or things.vague:
            raise UnresolvedError(
                f'{len(found)} things fit {_said(things)!r}: it does not tell which is meant'
            )
        return found[:number]

    def _left_out(self, things: Things, among: Sequence[Instance]) -> tuple[list[Instance], float]:
        """Return the things that are left out of some."""
        inside = _Scene((), tuple(among), self._aspect)
        inside._anchor_scene = self._anchor_scene or self
        if things.total == 1 and not things.where:
            best = max(among, key=lambda one: inside._fit_of(one, things), default=None)
            if best is None or inside._fit_of(best, things) <= 0.0:
                if any(
                    (self._anchor_scene or self)._fit_of(one, things) >= ACCEPT
                    for one in (self._anchor_scene or self)._seen
                ):
                    return [], 1.0
                raise UnresolvedError(f'no {_said(things)} is seen to be left out')
            if sum(inside._fit_of(one, things) >= CLEAR for one in among) > 1:
                raise UnresolvedError(f'several things fit {_said(things)!r}')
            return [best], 1.0
        return inside._meant(replace(things, mention=0), {})

    _anchor_scene: _Scene | None = None

    # --- where things are ------------------------------------------------------------------------

    def _anchor(self, things: Things, found: Sequence[Instance]) -> Instance:
        scene = self._anchor_scene or self
        if things.kinds and things.kinds[0][0] in DRAWERS:
            try:
                return scene._drawer(things, True)[0]
            except UnresolvedError:
                return scene._drawer(replace(things, kinds=((DRAWERS[0],),)), None)[0]
        if things.rest and len(found) == 2 and not things.colours:
            return found[1]
        return scene._one(things)[0]

    def _ground(self, one: Instance) -> tuple[float, float]:
        """Place of a thing on the table, in widths of the picture, estimated from its box."""
        (left, top), (right, bottom) = one.region.points
        return (left + right) / 2 * self._aspect, (top + bottom) / 2 / SLANT

    def _distance(self, one: Instance, other: Instance) -> float:
        """Return the distance of two things on the table, estimated from the picture."""
        return math.dist(self._ground(one), self._ground(other))

    def _gap(self, one: Instance, other: Instance) -> float:
        """Return the distance of two things' boxes, and a little of that of their middles."""
        (a, b), (c, d) = one.region.points
        (e, f), (g, h) = other.region.points
        across = max(0.0, e - c, a - g) * self._aspect
        along = max(0.0, f - d, b - h) / SLANT
        return math.hypot(across, along) + 0.25 * self._distance(one, other)

    def _chosen(self, things: Things, where: Where, found: list[Instance]) -> list[Instance]:
        """Return the things of which a condition holds."""
        count = things.number if things.number is not None else None if things.plural else 1
        relation = where.relation
        if relation in _DIRECTIONS:
            x, y = _DIRECTIONS[relation]

            def ahead(one: Instance) -> float:
                at = self._ground(one)
                return -(x * at[0] + y * at[1])

            return self._first(things, found, ahead, count)
        if relation is Relation.MIDDLE and not things.kinds and count is None:
            return self._in_the_middle(things, found)
        if relation is Relation.MIDDLE:
            middle = [sum(self._ground(one)[k] for one in found) / len(found) for k in (0, 1)]
            return self._first(
                things, found, lambda one: math.dist(self._ground(one), middle), count
            )
        anchors = (
            [self._anchor(one, found) for one in where.anchors]
            if (relation is not Relation.BETWEEN or len(where.anchors) > 1)
            else ((self._anchor_scene or self)._meant(where.anchors[0], {})[0])
        )
        found = [one for one in found if one not in anchors] or found
        anchor = anchors[0]
        if count is not None and len(found) == count:  # it only says more of what is known
            return found
        if relation is Relation.NEAREST:
            return self._nearest(things, found, anchor, count)
        if relation is Relation.FARTHEST:
            return self._first(things, found, lambda one: -self._distance(one, anchor), count)
        if relation is Relation.NEAR:
            return self._first(things, found, lambda one: self._gap(one, anchor), count, near=True)
        if relation is Relation.BETWEEN:
            if len(anchors) != 2:
                raise UnresolvedError(f'it does not tell what {_said(things)!r} is between')
            return self._first(things, found, lambda one: self._detour(one, *anchors), count)
        if relation is Relation.INSIDE:
            inside = [one for one in found if _holds(anchor, one)]
            if not inside:
                raise UnresolvedError(f'no {_said(things)} is seen in or on {anchor.name}')
            return inside
        return self._beyond(things, relation, found, anchor, count)

    def _in_the_middle(self, things: Things, found: list[Instance]) -> list[Instance]:
        """Return the things in the middle of all that is seen: far nearer to it than the others.

        Raises:
            UnresolvedError: no things clearly stand there.
        """
        seen = [self._ground(one) for one in self._seen]
        middle = [(min(at) + max(at)) / 2 for at in zip(*seen, strict=True)]
        order = sorted((math.dist(self._ground(one), middle), one.name, one) for one in found)
        gaps = [
            (outer[0] - inner[0], k + 1)
            for k, (inner, outer) in enumerate(itertools.pairwise(order))
            if inner[0] < _MIDDLE * outer[0]
        ]
        if not gaps:
            raise UnresolvedError(f'it does not tell how many {_said(things)!r} are')
        return [one for _, _, one in order[: max(gaps)[1]]]

    def _nearest(
        self, things: Things, found: list[Instance], anchor: Instance, count: int | None
    ) -> list[Instance]:
        """Return the things nearest to an anchor: by their middles, or as clearly by their edges.

        Raises:
            UnresolvedError: several are as near.
        """
        try:
            return self._first(
                things, found, lambda one: self._distance(one, anchor), count, near=True
            )
        except UnresolvedError:
            by_edge = self._first(
                things, found, lambda one: self._gap(one, anchor), count, near=True
            )
            by_middle = sorted(found, key=lambda one: self._distance(one, anchor))[: len(by_edge)]
            if {one.name for one in by_edge} != {one.name for one in by_middle}:
                raise
            return by_edge

    def _beyond(
        self,
        things: Things,
        relation: Relation,
        found: list[Instance],
        anchor: Instance,
        count: int | None,
    ) -> list[Instance]:
        """Return the things behind, before, left or right of an anchor."""
        x, y = {
            Relation.BEHIND: (0, -1),
            Relation.BEFORE: (0, 1),
            Relation.LEFT_OF: (-1, 0),
            Relation.RIGHT_OF: (1, 0),
        }[relation]
        ax, ay = self._ground(anchor)

        def along(one: Instance) -> float:
            at = self._ground(one)
            return x * (at[0] - ax) + y * (at[1] - ay)

        def aside(one: Instance) -> float:
            at = self._ground(one)
            return abs(y * (at[0] - ax)) + abs(x * (at[1] - ay))

        fitting = [one for one in found if along(one) > _SIDE_MARGIN]
        fitting = [one for one in fitting if aside(one) <= 2 * along(one)]
        straight = [one for one in fitting if aside(one) <= along(one)]
        if count is not None and len(fitting) > count:
            fitting = straight or fitting
        if not fitting:
            raise UnresolvedError(f'no {_said(things)} is seen {relation.value} {anchor.name}')
        if count is None or len(fitting) <= count:
            return fitting
        return self._first(
            things, fitting, lambda one: self._distance(one, anchor), count, near=True
        )

    def _detour(self, one: Instance, first: Instance, second: Instance) -> float:
        return (
            self._distance(one, first)
            + self._distance(one, second)
            - self._distance(first, second)
        )

    def _first(
        self,
        things: Things,
        found: Sequence[Instance],
        key: Callable[[Instance], float],
        count: int | None,
        near: bool = False,
    ) -> list[Instance]:
        """Return the first ``count`` things by a measure, or the group that is first.

        Raises:
            UnresolvedError: the next one is as near or as far, or it does not tell how many.
        """
        order = sorted(found, key=key)
        if count is None:
            if len(order) == 1:
                return order
            gaps = sorted(
                ((key(b) - key(a), k + 1) for k, (a, b) in enumerate(itertools.pairwise(order))),
                reverse=True,
            )
            if len(order) > 2 and gaps[0][0] > _GAP * gaps[1][0] and gaps[0][0] > 0.1:
                return order[: gaps[0][1]]
            raise UnresolvedError(f'it does not tell how many {_said(things)!r} are')
        if len(order) > count:
            inner, outer = key(order[count - 1]), key(order[count])
            if inner > _NEAR_MARGIN * outer if near else outer - inner < _SIDE_MARGIN:
                raise UnresolvedError(
                    f'{order[count - 1].name} and {order[count].name} fit {_said(things)!r} alike'
                )
        return order[:count]


_DIRECTIONS: Mapping[Relation, tuple[float, float]] = {
    Relation.LEFTMOST: (-1.0, 0.0),
    Relation.RIGHTMOST: (1.0, 0.0),
    Relation.FRONT: (0.0, 1.0),
    Relation.BACK: (0.0, -1.0),
    Relation.BACK_LEFT: (-0.7, -0.7),
    Relation.BACK_RIGHT: (0.7, -0.7),
    Relation.FRONT_LEFT: (-0.7, 0.7),
    Relation.FRONT_RIGHT: (0.7, 0.7),
}
"""Directions on the table: to the right, and to the front."""


def _described(wishes: Sequence[Wish]) -> Iterator[Things]:
    for wish in wishes:
        for things, _ in wish.goods:
            yield things


def _chance(one: Instance, kinds: Sequence[str]) -> float:
    """Return the probability that an instance is of some categories."""
    return sum(one.categories.get(kind, 0.0) for kind in kinds)


def _holds(place: Instance, thing: Instance) -> bool:
    """Whether the middle of a thing's box lies in the box of a place."""
    (x, y), ((left, top), (right, bottom)) = thing.region.centre, place.region.points
    return left <= x <= right and top <= y <= bottom


def _said(things: Things) -> str:
    """Return a description in words."""
    kinds = ' or '.join(kind for kinds in things.kinds[:1] for kind in kinds)
    return ' '.join(filter(None, (*things.colours, kinds or things.said or 'thing')))
