"""Draws household problems from seeds: tasks of ViPlan-HH and of search, each with its starts.

``tasks.yaml`` says what the tasks are. One seed gives one problem: the task whose turn it is, and
where its things are at the start. The home that a simulator builds for a problem depends on its
name, too, so that two problems with the same facts are still two homes.
"""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sightplan import domains
from sightplan.domains.domain import Domain
from sightplan.domains.problem_generator import Seeds, Split
from sightplan.domains.wording import read_yaml
from sightplan.model import (
    Action,
    Atom,
    DomainError,
    InputError,
    Literal,
    Problem,
    State,
    param,
)

TASKS_FILE = Path(__file__).resolve().parent / 'tasks.yaml'
T = TypeVar('T')
VAIN_SEEDS = 2000  # so many in a row without a new problem: there are no more
FLOOR, OPEN, CLOSED = 'floor', 'open', 'closed'

Start = Mapping[str, tuple[str, ...]]
"""Possible places of each thing, by name; under ``open`` the containers that are open."""


@dataclass(frozen=True, slots=True)
class Deal:
    """Random assignment of things to places, with a fixed number of things for each group.

    Attributes:
        things: names of the things.
        hands: for each group the number of things and the possible places: one place for all of
            them, or a different place for each. The numbers add up to that of the things.
    """

    things: tuple[str, ...]
    hands: tuple[tuple[int, tuple[str, ...]], ...]

    def draw(self, rng: random.Random) -> dict[str, str]:
        """Draw a place for each thing, by name."""
        places: list[str] = []
        for count, among in self.hands:
            places += _shuffled(among, rng)[:count] if len(among) > 1 else among * count
        return dict(zip(self.things, _shuffled(places, rng), strict=True))


@dataclass(frozen=True, slots=True)
class Task:
    """A task, as ``tasks.yaml`` has it.

    Attributes:
        split: it belongs to.
        name: for example ``sorting_books``.
        instances: number of its problems in the split.
        actions: of a shortest plan.
        paper_actions: the same as the paper prints it.
        objects: name to type.
        goal: what shall hold.
        starts: alternatives, each with the places of every thing; none if they are dealt.
        deals: what is dealt to places, for tasks with more starts than can be listed.
    """

    split: str
    name: str
    instances: int
    actions: int
    paper_actions: int
    objects: Mapping[str, str]
    goal: tuple[Literal, ...]
    starts: tuple[Start, ...]
    deals: tuple[Deal, ...] = ()

    @property
    def variants(self) -> int:
        """Number of the task's listed initial states."""
        return sum(_variants(start) for start in self.starts)

    def init(self, number: int) -> State:
        """Return the listed initial state with a number from 0 to ``variants`` - 1."""
        for start in self.starts:
            if number < _variants(start):
                break
            number -= _variants(start)
        facts = {Atom('open', (container,)) for container in start.get('open', ())}
        for name, places in start.items():
            if name != 'open':
                number, index = divmod(number, len(places))
                facts |= _lies(name, places[index])
        return frozenset(facts)

    def deal(self, rng: random.Random) -> State:
        """Draw an initial state by dealing the things to their places."""
        return frozenset(fact for deal in self.deals
                         for thing, place in deal.draw(rng).items()
                         for fact in _lies(thing, place))


def _lies(name: str, place: str) -> set[Atom]:
    """Return the facts about a thing at a place, or about one that is open or closed."""
    if place in (FLOOR, CLOSED):
        return set()
    relation, *other = place.split()
    return {Atom(relation, (name, *other))}


def _shuffled(items: Sequence[T], rng: random.Random) -> list[T]:
    """Return the items in random order; ``shuffle()`` may change between versions of Python."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def _variants(start: Start) -> int:
    return math.prod(len(places) for name, places in start.items() if name != 'open')


def _task(split: str, name: str, given: Mapping[str, Any]) -> Task:
    objects = {thing: kind for kind, things in given['objects'].items() for thing in things}
    common = given.get('any') or {}
    deals = tuple(_deal(deal, objects) for deal in given.get('deal') or ())
    listed = () if 'deal' in given else given['start'] or [{}]
    starts = tuple({key: tuple(places) for key, places in {**common, **start}.items()}
                   for start in listed)
    movable = {thing for thing, kind in objects.items() if kind == 'movable'}
    known = {FLOOR, *(f'{relation} {place}' for relation in ('ontop', 'inside')
                      for place in objects)}
    for start in starts:
        if set(start) - {'open'} != movable:
            raise ValueError('a start does not say where every movable thing is, and no other')
        for key, places in start.items():
            for place in places:
                if place not in (objects if key == 'open' else known):
                    raise ValueError(f'{key}: {place!r} is no place or container')
    dealt = [thing for deal in deals for thing in deal.things]
    if deals and (len(set(dealt)) < len(dealt) or not movable <= set(dealt)):
        raise ValueError('not every movable thing is dealt, or something is dealt twice')
    return Task(split, name, int(given['instances']), int(given['actions']),
                int(given.get('paper_actions', given['actions'])), objects,
                tuple(_literal(text) for text in given['goal']), starts, deals)


def _deal(given: Mapping[str, Any], objects: Mapping[str, str]) -> Deal:
    things = tuple(given['things'])
    hands = tuple((int(hand['count']), tuple(hand['of'])) for hand in given['places'])
    if any(name not in objects for name in things):
        raise ValueError('a deal is of things that the task does not have')
    opens = all(objects[name] == 'container' for name in things)
    known = {OPEN, CLOSED} if opens else {FLOOR, *(
        f'{relation} {place}' for relation in ('ontop', 'inside') for place in objects)}
    for count, places in hands:
        if not set(places) <= known:
            raise ValueError(f'{", ".join(sorted(set(places) - known))}: no such place to deal')
        if not places or 1 < len(places) < count:
            raise ValueError(f'{count} things are dealt to {len(places)} places')
    if sum(count for count, _ in hands) != len(things):
        raise ValueError(f'{len(things)} things are dealt, but the counts do not add up to that')
    return Deal(things, hands)


def _literal(text: str) -> Literal:
    fact = Action.parse(text.removeprefix('not '))
    return Literal(Atom(fact.name, fact.args), not text.startswith('not '))


@functools.cache
def tasks() -> tuple[Task, ...]:
    """Return the tasks of ``tasks.yaml``, in order.

    Raises:
        DomainError: the file is wrong; names file, split and task.
    """
    found = []
    for split, group in read_yaml(TASKS_FILE).items():
        for name, given in group.items():
            try:
                found.append(_task(split, name, given))
            except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
                raise DomainError(f'{TASKS_FILE}:1: {split}.{name}: is not usable: {error} (see '
                                  'the head of the file)') from error
    return tuple(found)


def _tasks_of(kind: str) -> tuple[Task, ...]:
    """Return the tasks of a kind; InputError if there is no such kind."""
    chosen = tuple(t for t in tasks() if kind in (t.split, f'{t.split}/{t.name}'))
    if not chosen:
        raise InputError(f'kind {kind!r} is unknown (choose one of {", ".join(KINDS)})')
    return chosen


KINDS = (*dict.fromkeys(task.split for task in tasks()),
         *(f'{task.split}/{task.name}' for task in tasks()))


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the generator: the tasks of which problems are made."""

    kind: str = param('simple', 'what the problems are about: all tasks of a split, or one as '
                      'SPLIT/TASK', choices=KINDS)


SPLITS = {split: Split(Settings(split), stretch=1.6)
          for split in dict.fromkeys(t.split for t in tasks())}


def generate(domain: Domain, settings: Settings, count: int, first_seed: int = 0, *,
             accept: Callable[[Problem], bool] = lambda _: True) -> Iterator[tuple[int, Problem]]:
    """Draw distinct problems from one seed after the other.

    In every 25 problems of a split each task comes as often as in the paper.

    Args:
        domain: household.
        settings: what the problems are about.
        count: how many.
        first_seed: where to begin.
        accept: a further condition on a problem.

    Yields:
        Seed and problem (with its optimal length).

    Raises:
        InputError: there is no such kind, or there are too few such problems.
    """
    chosen = _tasks_of(settings.kind)
    left: Counter[str] = Counter()
    seeds = Seeds(count, first_seed, VAIN_SEEDS, 'problems', 'nothing that is wanted',
                  'ask for fewer, or for another kind')
    for seed in seeds:
        if not left.total():
            left.update({task.name: task.instances for task in chosen})
        if not left[chosen[seed % len(chosen)].name]:
            continue
        task, problem = draw(domain, settings, seed)
        if accept(problem):
            left[task.name] -= 1
            seeds.gave()
            yield seed, problem


def draw(domain: Domain, settings: Settings, seed: int) -> tuple[Task, Problem]:
    """Draw a task and its problem from a seed.

    Tasks take turns. A task's problems are numbered, and the number is in the name. They go
    through all its starts, in random order, before one comes again.

    Raises:
        InputError: there is no such kind of problem.
    """
    chosen = _tasks_of(settings.kind)
    number, turn = divmod(seed, len(chosen))
    task = chosen[turn]
    if task.deals:
        init = task.deal(random.Random(f'{task.split} {task.name} {number}'))
    else:
        again, place = divmod(number, task.variants)
        rng = random.Random(f'{task.split} {task.name} {again}')
        init = task.init(_shuffled(range(task.variants), rng)[place])
    return task, Problem(
        name=f'{task.name}_{number}', domain=domain.reference, objects=dict(task.objects),
        init=init, goal=task.goal, domain_pddl=domain.pddl, optimal_length=task.actions)


def write_folder(domain: Domain, folder: Path, settings: Settings,
                 problems: Iterable[tuple[int, Problem]]) -> int:
    """Write problem files and their ``index.yaml``, which notes where the paper's lengths differ.

    See ``sightplan.domains.write_folder``.
    """
    problems = sorted(problems, key=lambda pair: pair[1].name)
    tasks = {problem.name: draw(domain, settings, seed)[0] for seed, problem in problems}
    return domains.write_folder(domain, folder, settings, problems, {
        name: {'paper_length': task.paper_actions} for name, task in tasks.items()
        if task.paper_actions != task.actions})
