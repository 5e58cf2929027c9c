"""Initial facts of a household problem, checked: where each object is at the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sightplan.model import Atom, Problem, WorldError
from sightplan_sim.household.catalog import category_of

MOVABLE = 'movable'
IN_WALL = ('door', 'window')
MOST_OBJECTS = 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """Initial facts that a home must satisfy.

    Attributes:
        kinds: PDDL type of each object, in the order of the file.
        inside, ontop: object to what it is in or on.
        beside: pairs that are next to each other.
        opened: containers that are open.
        uses: object to predicates that init or goal wants of it: ``inside`` and ``ontop`` are
            about what goes in and on it, ``inside:`` and ``ontop:`` about itself.
        holds: for each container or support, how many things init and goal ever put there.
    """

    kinds: Mapping[str, str]
    inside: Mapping[str, str]
    ontop: Mapping[str, str]
    beside: tuple[tuple[str, str], ...]
    opened: frozenset[str]
    uses: Mapping[str, frozenset[str]]
    holds: Mapping[str, int]

    def place(self, name: str) -> str:
        """Name of the object that holds or supports an object; '' for none."""
        return self.inside.get(name, '') or self.ontop.get(name, '')

    def moves(self, name: str) -> bool:
        """Whether an object is a thing that lies about, rather than furniture."""
        return self.kinds[name] == MOVABLE

    @property
    def furniture(self) -> tuple[str, ...]:
        """Objects that stay where they are."""
        return tuple(name for name in self.kinds if not self.moves(name))

    @property
    def things(self) -> tuple[str, ...]:
        """Objects that can be moved; holders come before the things that they hold."""
        names = [name for name in self.kinds if self.moves(name)]
        return tuple(sorted(names, key=self._depth))

    def _depth(self, name: str) -> int:
        depth = 0
        while name := self.place(name):
            depth += 1
        return depth


def read_wanted(problem: Problem) -> Wanted:
    """Read a problem's initial state.

    Raises:
        WorldError: there are too many objects, or no home can begin like that; says why.
    """
    def refuse(why: str) -> WorldError:
        return WorldError(f'{problem.source or problem.name}: no home can be made: {why}')

    kinds = dict(problem.objects)
    if len(kinds) > MOST_OBJECTS:
        raise refuse(f'{len(kinds)} objects are too many (leave out all but {MOST_OBJECTS})')
    places: dict[str, dict[str, str]] = {'inside': {}, 'ontop': {}}
    beside, opened = [], set()
    for atom in sorted(problem.init):
        match atom:
            case Atom('inside' | 'ontop' as how, (name, other)):
                if name == other:
                    raise refuse(f'{name} cannot be {how} itself (remove ({how} {name} {name}))')
                if name in places[how]:
                    raise refuse(f'{name} is {how} {places[how][name]} and {other} at once '
                                 f'(keep one of them)')
                places[how][name] = other
            case Atom('nextto', (name, other)):
                if name == other:
                    raise refuse(f'{name} cannot be next to itself (remove it)')
                if kinds[name] != MOVABLE:
                    raise refuse(f'its init has ({atom}), but only of movable things it is said '
                                 f'what they are next to (name one first, or remove the fact)')
                beside.append((name, other))
            case Atom('open', (name,)):
                opened.add(name)
            case Atom('holding' | 'reachable' as what, (name,)):
                raise refuse(f'it begins with an empty hand and nothing in reach, but its init '
                             f'has ({what} {name}) (remove it; let the plan begin with '
                             f'{"grasp" if what == "holding" else "navigate-to"})')
            case _:
                raise refuse(f'its init has ({atom}), which no home shows (remove it)')
    inside, ontop = places['inside'], places['ontop']
    for name in sorted(inside.keys() & ontop.keys()):
        raise refuse(f'{name} is inside {inside[name]} and on top of {ontop[name]} at once '
                     f'(keep one of them)')
    _check_places(kinds, inside, ontop, opened, refuse)
    uses: dict[str, set[str]] = {name: set() for name in kinds}
    holds: dict[str, set[str]] = {name: set() for name in kinds}
    wishes = [literal.atom for literal in problem.goal if literal.positive]
    for atom in (*sorted(problem.init), *wishes):
        if atom.predicate in ('inside', 'ontop'):
            name, other = atom.args
            uses[name].add(f'{atom.predicate}:')
            uses[other].add(atom.predicate)
            holds[other].add(name)
        elif atom.predicate in ('open', 'nextto', 'holding'):
            uses[atom.args[0]].add(atom.predicate)
    for literal in problem.goal:
        if literal.atom.predicate == 'open':
            uses[literal.atom.args[0]].add('open')
    return Wanted(kinds, inside, ontop, tuple(beside), frozenset(opened),
                  {name: frozenset(found) for name, found in uses.items()},
                  {name: len(found) for name, found in holds.items()})


def _check_places(kinds: Mapping[str, str], inside: Mapping[str, str], ontop: Mapping[str, str],
                  opened: set[str], refuse: Callable[[str], WorldError]) -> None:
    place = {**inside, **ontop}
    for name, other in place.items():
        how = 'inside' if name in inside else 'ontop'
        if category_of(name) in IN_WALL:
            raise refuse(f'{name} sits in a wall and cannot be {how} {other} (remove it)')
        if category_of(other) in IN_WALL:
            raise refuse(f'nothing can be {how} {other}, which sits in a wall (remove ({how} '
                         f'{name} {other}))')
        if kinds[name] != MOVABLE and name in inside:
            raise refuse(f'{name} is a {kinds[name]} and does not fit into {other} (only movable '
                         f'things are kept inside)')
        seen = {name}
        while other:
            if other in seen:
                raise refuse(f'{", ".join(sorted(seen))} are in or on each other in a circle '
                             f'(remove one of these facts)')
            seen.add(other)
            other = place.get(other, '')
    for name in ontop:
        if ontop[name] in inside:
            raise refuse(f'{name} is on top of {ontop[name]}, which is inside '
                         f'{inside[ontop[name]]} (put {name} inside it, too, or elsewhere)')
