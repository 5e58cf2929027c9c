"""Tables for implicit instructions, drawn by seed: intentions, the things they take, and places.

Nothing is rendered here. What is ambiguous is either kept off the table (things that are doubtful
for a use), or part of the truth (any one of several mugs, either of two drawers, any place that
serves).
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightplan.domains.tabletop.uses import Purpose
from sightplan_sim.tabletop.arrangements import (
    FEWEST,
    GOES_INTO,
    HORIZONS,
    MOST,
    MOST_IN,
    Arrangement,
    Drafting,
    NoRoomError,
    Want,
    confusable,
    draw_numbers,
    laid_out,
)
from sightplan_sim.tabletop.cabinet import CABINET
from sightplan_sim.tabletop.catalogue import category_of, colours_of, make_thing
from sightplan_sim.tabletop.intentions import (
    Intention,
    intentions,
    names_place,
    takes_whole,
    uses_of,
)
from sightplan_sim.tabletop.packing import Destination, spots
from sightplan_sim.tabletop.shapes import BODY, Thing

HOLDERS = tuple(kind for kind in MOST_IN if kind != 'drawer')
"""Categories that things are put into or onto."""
MOST_GOALS = 24
"""Largest number of goals that are as right for one instruction."""
_FEWEST_ALONE = 3
_COUNTS: Mapping[str, tuple[int, ...]] = {'short': (1,), 'medium': (1, 1, 2), 'long': (1, 2, 2, 3)}
"""Numbers of intentions of one instruction, each as likely."""
_MOST_TAKEN, _MOST_IN_DRAWER, _MOST_MORE = 6, 2, 2
_MOST_PLACES = 2
"""Largest number of places that one intention fills."""
_TRIES = 12
_SAME = 12
"""Number of drafts in a row with the same intentions: easy ones do not crowd out others."""
_FIXED: Mapping[str, int] = {'one': 1, 'two': 2}
"""Numbers of things of a use that are taken."""
_MIXED = frozenset({'cutlery', 'tools'})
"""Families of which a table may have several members."""
_CLOSING = frozenset({'hide', 'high', 'low'})
"""Purposes of drawers that several intentions of one instruction may have."""


def want_table(seed: int, horizon: str, held_out: bool, attempt: int = 0) -> Arrangement:
    """Draw a table for an implicit instruction; see ``arrangements.arrange``.

    Raises:
        InputError: there is no such horizon.
        NoRoomError: there is no table of these numbers; try the next attempt.
    """
    numbers, layout = draw_numbers(seed, horizon, held_out, attempt)
    drafted = _drafted(numbers)
    if drafted is None:
        raise NoRoomError
    table = laid_out(seed, held_out, np.random.default_rng([*numbers, layout, 742]),
                     drafted.things, drafted.opened, drafted.middle)
    return Arrangement(table, (), drafted.destinations, drafted.wants)


@dataclass
class _Draft:
    """Things on a table, and what is wanted of them.

    Attributes:
        things, destinations: by name.
        wants: what is wanted.
        opened: name of the drawer that stands open; '' for none.
        middle: names of the things that stand in the middle of the table.
    """

    things: dict[str, Thing]
    destinations: dict[str, Destination]
    wants: tuple[Want, ...]
    opened: str
    middle: tuple[str, ...]


@functools.lru_cache(maxsize=4)
def _drafted(numbers: tuple[int, ...]) -> _Draft | None:
    """One draw without places on the table; None if it failed."""
    horizon = tuple(HORIZONS)[numbers[2]]
    names = np.random.default_rng([*numbers[:3], numbers[3] // _SAME, 743])
    try:
        return _WantDrafting(np.random.default_rng([*numbers, 741]), bool(numbers[1])).wanted(
            horizon, names)
    except NoRoomError:
        return None


class _WantDrafting(Drafting):
    """Draw of intentions, the things they take, their places, and other things."""

    def __init__(self, rng: np.random.Generator, held_out: bool) -> None:
        super().__init__(rng, held_out)
        self._catalogue = intentions()
        self._opened = ''
        self._middle: tuple[str, ...] = ()
        self._alone = False
        self._refused: set[str] = set()
        """Categories that no other thing on the table may have."""
        self._filled: dict[str, list[str]] = {}
        """Names of the things that come to each place."""

    def wanted(self, horizon: str, rng: np.random.Generator) -> _Draft:
        """Draw things, places and wants.

        Args:
            horizon: of the plan.
            rng: chooses the intentions.

        Raises:
            NoRoomError: this draw failed.
        """
        names = self._names(horizon, rng)
        kinds = [self._catalogue.kinds[name] for name in names]
        if any(self._purpose(kind).is_drawer for kind in kinds):
            self._add_cabinet()
        wants = [self._want_with_room(name, numbers) for name, numbers in zip(
            names, self._numbers(kinds, horizon), strict=True)]
        low, high = HORIZONS[horizon]
        if not low <= length_of(wants, self._opened) <= high or goals_of(wants) > MOST_GOALS:
            raise NoRoomError
        if not self._alone:
            self._banned |= self._refused
            if not {CABINET} & self._refused and not self._has(CABINET) and self._draw.chance(0.2):
                self._add_cabinet()
            self._add_distractors()
        self._check_colours(kinds, wants)
        if not (_FEWEST_ALONE if self._alone else FEWEST) <= len(self._things) <= MOST:
            raise NoRoomError
        return _Draft(self._things, self._destinations, tuple(map(self._with_others, wants)),
                      self._opened, self._middle)

    def _purpose(self, kind: Intention) -> Purpose:
        return self._catalogue.places[kind.place]

    def _add_cabinet(self) -> None:
        self._add(make_thing(self._draw, CABINET, self._draw.pick(
            colours_of(CABINET, self._held_out))))

    # --- which intentions, and how much ----------------------------------------------------------

    def _names(self, horizon: str, rng: np.random.Generator) -> list[str]:
        """Names of intentions that one person may have together."""
        names: list[str] = []
        for _ in range(int(rng.choice(_COUNTS[horizon]))):
            free = [name for name in self._catalogue.kinds if name not in names and all(
                self._agree(name, other) for other in names)]
            if not free:
                raise NoRoomError
            names.append(str(rng.choice(free)))
        return names

    def _agree(self, *names: str) -> bool:
        """Whether two intentions may be joined: they are about other things, and other drawers."""
        one, other = (self._catalogue.kinds[name] for name in names)
        if takes_whole(one) or takes_whole(other):
            return False
        for first, second in ((one, other), (other, one)):
            things = {category for use in uses_of(first)
                      for category in self._catalogue.uses[use].things}
            avoided = {category for use in uses_of(second) for category in (
                *self._catalogue.uses[use].things, *self._catalogue.uses[use].doubtful)}
            if things & {*avoided, *second.also_doubtful}:
                return False
            holders = set(self._purpose(first).kinds)
            if holders <= set(self._purpose(second).unless):
                return False
        purposes = [self._purpose(one), self._purpose(other)]
        drawers = sum(purpose.is_drawer for purpose in purposes)
        if drawers == 2:
            return {one.place, other.place} <= _CLOSING
        return not drawers or not any(CABINET in purpose.unless for purpose in purposes)

    def _numbers(self, kinds: Sequence[Intention], horizon: str) -> list[list[int]]:
        """Numbers of things for the parts of each intention that are not of a fixed number.

        Raises:
            NoRoomError: no numbers make a plan of the horizon's length.
        """
        low, high = HORIZONS[horizon]
        steps, owners, most = 0, [], []
        for owner, kind in enumerate(kinds):
            purpose = self._purpose(kind)
            steps += {'open': 1, 'closed': 1 + (kind.place != 'shut'), '': 0}[purpose.ends]
            for one in kind.take:
                quantity = next(iter(one)) if isinstance(one, dict) else one
                if quantity in _FIXED:
                    steps += 2 * _FIXED[quantity]
                else:
                    owners.append(owner)
                    most.append(_MOST_IN_DRAWER if purpose.is_drawer else _MOST_TAKEN)
        least = max(len(most), math.ceil((low - steps) / 2))
        largest = min(sum(most), (high - steps) // 2, least + _MOST_MORE)
        if least > largest:
            raise NoRoomError
        numbers = [1] * len(most)
        for _ in range(int(self._rng.integers(least, largest + 1)) - len(most)):
            free = [number for number, one in enumerate(numbers) if one < most[number]]
            numbers[int(self._rng.choice(free))] += 1
        return [[one for one, other in zip(numbers, owners, strict=True) if other == owner]
                for owner in range(len(kinds))]

    # --- one intention ---------------------------------------------------------------------------

    def _want_with_room(self, name: str, numbers: Sequence[int]) -> Want:
        """A want whose things fit where they go; they and their places are added to the table.

        Raises:
            NoRoomError: none was found.
        """
        for _ in range(_TRIES):
            kept = copy.copy(self._things), copy.copy(self._destinations), copy.copy(self._refused)
            whole, filled = copy.copy(self._whole), copy.deepcopy(self._filled)
            try:
                return self._want(name, iter(numbers))
            except NoRoomError:
                self._things, self._destinations, self._refused = kept
                self._whole, self._filled = whole, filled
        raise NoRoomError

    def _want(self, name: str, numbers: Iterator[int]) -> Want:
        kind = self._catalogue.kinds[name]
        purpose = self._purpose(kind)
        sentence = self._draw.pick(self._catalogue.wordings(name, self._held_out))
        named = names_place(sentence)
        self._refuse((*kind.also_doubtful, *(() if named else purpose.unless)))
        if purpose.is_drawer:
            drawers = self._drawers(kind.place, purpose)
            choices = self._choices(kind, 'drawer', numbers)
            self._fit_into_drawers(drawers, choices)
            homes = {one: drawers[0] for choice in choices for one in choice}
            return Want(name, sentence, choices, tuple(homes.items()), drawers, purpose.ends)
        holder = self._draw.pick(purpose.kinds)
        choices = self._choices(kind, holder, numbers)
        homes = self._homes(holder, choices, 1 if named else _MOST_PLACES)
        if takes_whole(kind) and kind.take != ('coloured',):
            self._refused |= {*HOLDERS, CABINET}
            self._check_no_others(set(homes.values()))
        if kind.take == ('coloured',):
            sentence = sentence.replace('{like}', self._catalogue.like(
                self._things[choices[0][0]].colour, self._held_out))
        return Want(name, sentence, choices, tuple(homes.items()))

    def _refuse(self, categories: Iterable[str]) -> None:
        """Keep categories off the table.

        Raises:
            NoRoomError: one is there already.
        """
        categories = set(categories)
        if any(one.category in categories for one in self._things.values()):
            raise NoRoomError
        self._refused |= categories

    def _check_no_others(self, homes: set[str]) -> None:
        if any(one not in homes for one in self._destinations):
            raise NoRoomError

    # --- places ----------------------------------------------------------------------------------

    def _drawers(self, name: str, purpose: Purpose) -> tuple[str, ...]:
        """Names of the drawers that serve, in random order."""
        found = [str(one) for one in self._rng.permutation(purpose.kinds)]
        if name == 'shut':
            self._opened = found[0]
            return (self._opened,)
        return tuple(found)

    def _fit_into_drawers(self, drawers: Sequence[str], choices: Sequence[Sequence[str]]) -> None:
        """Note that things come to a drawer; each of several drawers has room for them."""
        for drawer in drawers:
            self._filled.setdefault(drawer, []).extend(choices[0])
            if not all(self._has_room(drawer, [
                    *(name for name in self._filled[drawer] if name not in choices[0]), *choice])
                    for choice in choices):
                raise NoRoomError

    def _has_room(self, place: str, names: Sequence[str]) -> bool:
        where = self._destinations[place]
        things = [(name, self._things[name]) for name in names]
        return (len(things) <= MOST_IN[where.kind]
                and all(one.category in GOES_INTO[where.kind] for _, one in things)
                and (not things or spots(where, things) is not None))

    def _homes(self, kind: str, choices: Sequence[Sequence[str]], most: int) -> dict[str, str]:
        """Places of one kind for things, side by side: those that are there, or new ones.

        Raises:
            NoRoomError: they do not fit into so many.
        """
        places = [name for name, one in self._destinations.items() if one.kind == kind]
        homes: dict[str, str] = {}
        for name in choices[0]:
            homes[name] = next((place for place in places if self._has_room(
                place, [*self._filled.get(place, ()), name])), '')
            if not homes[name]:
                if kind in self._refused:
                    raise NoRoomError
                homes[name] = self._new_destination(kind, [(name, self._things[name])])
                places.append(homes[name])
            if not homes[name] or len(set(homes.values())) > most:
                raise NoRoomError
            self._filled.setdefault(homes[name], []).append(name)
        for name in itertools.chain.from_iterable(choices[1:]):
            if name not in homes:
                taken = [one for place in places for one in self._filled.get(place, ())
                         if one not in choices[0]]
                place = next((one for one in places if self._has_room(one, [*taken, name])), '')
                if not place:
                    raise NoRoomError
                homes[name] = place
        return homes

    def _with_others(self, want: Want) -> Want:
        """A want with all places on the table that are as right for its things."""
        purpose = self._purpose(self._catalogue.kinds[want.name])
        if want.drawers or names_place(want.sentence):
            return want
        others = {}
        for name, home in want.homes:
            others[name] = tuple(place for place, one in self._destinations.items() if (
                place != home and one.kind in (*purpose.kinds, *purpose.also)
                and self._has_room(place, [name])))
        return replace(want, others=tuple(others.items()))

    # --- things ----------------------------------------------------------------------------------

    def _choices(self, kind: Intention, place: str, numbers: Iterator[int],
                 ) -> tuple[tuple[str, ...], ...]:
        """Sets of things of which one is taken; the things are added to the table."""
        parts: list[list[tuple[str, ...]]] = []
        for one in kind.take:
            if one == 'coloured':
                parts.append([self._coloured_alike(place, next(numbers))])
            elif isinstance(one, str):
                parts.append([self._any_things(place, next(numbers))])
                self._alone = one == 'everything'
                self._middle = parts[-1][0] if one == 'middle' else ()
            else:
                (quantity, use), = one.items()
                parts.append(self._of_use(quantity, use, place, numbers))
        picked = [tuple(itertools.chain.from_iterable(some))
                  for some in itertools.islice(itertools.product(*parts), MOST_GOALS + 1)]
        if len(picked) > MOST_GOALS:
            raise NoRoomError
        return tuple(picked)

    def _of_use(self, quantity: str, use: str, place: str, numbers: Iterator[int],
                ) -> list[tuple[str, ...]]:
        """Choices of things of a use."""
        known = self._catalogue.uses[use]
        if quantity == 'rest':
            self._add_some(known.things, int(self._rng.integers(1, 4)))
            self._alone = True
            self._refuse(known.doubtful)
            return [self._any_things(place, next(numbers), (*known.things, *known.doubtful))]
        if any(one.category in known.things for one in self._things.values()):
            raise NoRoomError  # another intention is about them
        count = _FIXED.get(quantity, 0)
        fits = [one for one in known.things if one in GOES_INTO[place]]
        names = self._add_some(
            fits, count + int(self._rng.integers(0, 2)) if count else next(numbers))
        self._refuse(known.doubtful)
        self._refused |= set(known.things)
        return list(itertools.combinations(names, count)) if count else [names]

    def _add_some(self, categories: Iterable[str], count: int) -> tuple[str, ...]:
        """Add things of some categories, and return their names.

        Raises:
            NoRoomError: none may join the table.
        """
        free: list[str] = []
        for one in self._rng.permutation(list(categories)).tolist():
            families = {category_of(other).family for other in (
                *free, *(thing.category for thing in self._things.values()))}
            if one not in self._refused and not self._has(one) and (
                    category_of(one).family in _MIXED or category_of(one).family not in families):
                free.append(one)
        if not free:
            raise NoRoomError
        kinds = [str(one) for one in self._rng.choice(free, count)]
        names: list[str] = []
        for one in dict.fromkeys(kinds):
            if not (colours := self._apart(one)):
                raise NoRoomError
            names += self._coloured(one, kinds.count(one), colours)
        return tuple(names)

    def _any_things(self, place: str, count: int, but: Sequence[str] = ()) -> tuple[str, ...]:
        """Add things of any categories that a place takes, but for some."""
        fits = [one for one in GOES_INTO[place] if one not in but]
        return self._add_some(fits, count)

    def _coloured_alike(self, place: str, count: int) -> tuple[str, ...]:
        """Add things of one colour, of several categories."""
        colour = ''
        names: list[str] = []
        for one in self._rng.permutation(list(GOES_INTO[place])).tolist():
            families = {category_of(other.category).family for other in self._things.values()}
            colours = self._free_colours(one)
            if len(names) >= count or category_of(one).family in families or (
                    colour or next(iter(colours), '')) not in colours:
                continue
            chosen = colour or self._draw.pick(colours)
            thing = self._make(one, chosen)
            if thing.coloured == BODY:
                colour = chosen
                names.append(self._add(thing))
        if len(names) < count:
            raise NoRoomError
        return tuple(names)

    def _check_colours(self, kinds: Sequence[Intention], wants: Sequence[Want]) -> None:
        """Check that nothing else looks as if it had a colour that is asked for.

        Raises:
            NoRoomError: something does.
        """
        for kind, want in zip(kinds, wants, strict=True):
            if kind.take == ('coloured',):
                colour = self._things[want.choices[0][0]].colour
                if any(confusable(colour, one.colour) for name, one in self._things.items()
                       if name not in want.choices[0]):
                    raise NoRoomError


def goals_of(wants: Iterable[Want]) -> int:
    """Number of goals that are as right, but for other places of single things."""
    return math.prod(len(want.choices) * max(1, len(want.drawers)) for want in wants)


def length_of(wants: Sequence[Want], opened: str) -> int:
    """Number of primitives of the plan for the first choice and the first drawer of each want."""
    drawers = {want.drawers[0]: want.ends for want in wants if want.drawers}
    steps = sum((name != opened) + (ends == 'closed') for name, ends in drawers.items())
    return steps + 2 * sum(len(want.choices[0]) for want in wants)

