"""Plans whose every step points at the picture: from goals over what is seen.

Things are told apart first, and the goal is about instances, not names; a symbolic planner plans
stage by stage, and each step has the place of its instance, so that no two steps can mean the same
one by mistake. The instruction becomes a goal by a small reader of plain instructions, which is no
model of language, or by a vision-language model, which is shown the things by number
(``sightplan.grounding.instructions``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sightplan.domains import Domain
from sightplan.grounding.instructions import DRAWER, Stage, UnresolvedError
from sightplan.model import (
    Action,
    Atom,
    InputError,
    Instance,
    Literal,
    PlannerError,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    Problem,
    State,
)
from sightplan.model.grounded_plan import GroundedStep, Primitive
from sightplan.model.region import Form, Region, box_iou
from sightplan.queries.detect import CABINET, PLACES

PlanIt = Callable[[PlanningTask], PlanningResult]
"""Searches for a plan."""

BY_MODEL = 'model'
READERS = ('words', BY_MODEL)
READER = ('who says what the instruction wants: words, a small reader of plain instructions, or '
          "model, the run's model, which is shown the things by number")
"""The setting ``reader`` of methods that are given an instruction."""
TRIES = 'how often the model is asked for the goal, where a reply cannot be used (reader=model)'
"""The setting ``proposals`` of methods that are given an instruction."""
SEARCH = 'optimal'
"""The planner's search mode."""
SURFACE, _CONTAINER, _THING = 'surface', 'container', 'thing'
_TYPES: Mapping[str, str] = {
    'tray': SURFACE, 'plate': SURFACE, 'bowl': _CONTAINER, 'crate': _CONTAINER,
    CABINET: SURFACE, f'{DRAWER}:top': DRAWER, f'{DRAWER}:bottom': DRAWER}
"""Types of places by category, as the domain has them; all else is moved."""
_HOLLOW = ('cup', 'mug')
"""Categories of things that are moved and may hold others."""
_STACKED = ('napkin', 'box')
"""Categories of things that are moved and that others may be put upon."""
_TOP_OF_CABINET = 0.27
"""Height of the middle of a cabinet's top in its box, as a fraction from the box's upper edge: the
camera looks down on it, and sees the drawers' fronts below."""
BESIDE = 'beside-'
"""Begin of the name of the spot of the table next to a thing."""


def grounded_steps(stages: Sequence[Stage], seen: Sequence[Instance], domain: Domain,
                   plan: PlanIt, any_kind: bool = False) -> tuple[GroundedStep, ...]:
    """Plan for goals over instances, and give each step its place.

    Args:
        stages: each is to hold before the next one is begun.
        seen: all instances in the picture.
        domain: with the types thing, surface, container and drawer, the predicates on, in, open,
            clear (no open drawer hangs over it), over and handempty, and actions whose names
            begin with grasp, place, open and close, and whose last argument is what is acted
            upon.
        plan: the planner.
        any_kind: see ``staged``.

    Returns:
        The steps; a place is pointed at in the middle of its box.

    Raises:
        InputError: a goal can never be reached, or no plan for it was found in time; says which.
        PlannerError: the planner failed: that says nothing about the goals.
    """
    world = {one.name: one for one in seen}
    work = staged(stages, seen, any_kind=any_kind)
    state, steps = work.state, list[GroundedStep]()
    for goal in work.goals:
        if not goal:
            continue
        problem = Problem('stage', domain.reference, work.objects, state, goal, domain.pddl)
        found = plan(PlanningTask(domain.pddl, domain.write_problem(problem), SEARCH))
        if found.status is PlanningStatus.UNSOLVABLE:
            raise InputError(f'no plan reaches {_said(problem.goal)}')
        if found.status is PlanningStatus.TIMEOUT:
            raise InputError(f'no plan was found in time for {_said(problem.goal)}: '
                             f'{found.message}')
        if found.status is not PlanningStatus.SOLVED:
            raise PlannerError(f'the planner failed for {_said(problem.goal)}: {found.message}')
        model = domain.model(problem)
        for action in found.plan:
            state = model.apply(action, state)
            place = action.args[-1]
            if place.startswith(BESIDE):
                anchor = world[place.removeprefix(BESIDE)]
                steps.append(GroundedStep(primitive_of(action), place, free_spot(
                    world[action.args[0]], anchor, seen)))
                continue
            about = world[place]
            steps.append(GroundedStep(primitive_of(action), about.region.label or about.name,
                                      place_of(action, about)))
    return tuple(steps)


@dataclass(frozen=True)
class Staged:
    """Goals over instances, one after another, as a problem of the domain.

    Attributes:
        objects: name to type, of all objects of the goals and of all drawers.
        state: atoms taken to hold at the beginning: by the instruction, else by the picture.
        goals: each is to hold before the next one is begun.
    """

    objects: Mapping[str, str]
    state: State
    goals: tuple[tuple[Literal, ...], ...]


def staged(stages: Sequence[Stage], seen: Sequence[Instance],
           known_open: Mapping[str, bool] | None = None, any_kind: bool = False) -> Staged:
    """Return the goals of stages over the instances in a picture, as a problem of the domain.

    Args:
        stages: each is to hold before the next one is begun.
        seen: all instances in the picture.
        known_open: whether a drawer stands open, by name, where that is known.
        any_kind: whether a thing is what stages use it as, whatever its kind is: what they put
            others on holds others, and what they open or close is opened and closed.

    Raises:
        InputError: a stage puts something where nothing can be put, or opens or closes what
            cannot be opened; or one thing is moved and holds others.
    """
    types = _types(stages, seen, any_kind)
    names = {name for stage in stages for pair in stage.placements for name in pair}
    names |= {name for stage in stages for thing, anchor in stage.beside
              for name in (thing, BESIDE + anchor)}
    names |= {stage.drawer for stage in stages if stage.drawer}
    names |= {name for name, kind in types.items() if kind == DRAWER}
    told: dict[str, bool | None] = {}
    for stage in stages:  # only the first one about a drawer tells how it was before them all
        told.setdefault(stage.drawer, stage.was_open)
    drawers = [one for one in seen if types[one.name] == DRAWER]
    opened = {one.name for one in drawers if (
        (one.opened or 0.0) >= 0.5 if told.get(one.name) is None else told[one.name])}
    opened = {one.name for one in drawers
              if (known_open or {}).get(one.name, one.name in opened)}
    over = [(upper.name, lower.name) for upper in drawers for lower in drawers
            if (upper.category, lower.category) == (f'{DRAWER}:top', f'{DRAWER}:bottom')]
    hung = {lower for upper, lower in over if upper in opened}
    state = {Atom('handempty')} | {Atom('over', pair) for pair in over}
    state |= {Atom('open', (name,)) for name in opened}
    state |= {Atom('clear', (one.name,)) for one in drawers if one.name not in hung}
    return Staged({name: types[name] for name in sorted(names)}, frozenset(state),
                  tuple(_goal(stage, types) for stage in stages))


def _types(stages: Sequence[Stage], seen: Sequence[Instance], any_kind: bool,
           ) -> dict[str, str]:
    """Return the type of each instance and of each spot beside one, by what stages do with it.

    What holds others by its kind is a thing where it is moved itself, and a cup, a mug, a napkin
    or a box is a place where something is put in or on it. With ``any_kind`` all other things are
    places, too, where something is put on them, and drawers where they are opened or closed.

    Raises:
        InputError: an instance is moved, and holds something or is opened.
    """
    types = {one.name: _TYPES.get(one.category, _THING) for one in seen}
    moved = {thing for stage in stages for thing, _ in (*stage.placements, *stage.beside)}
    holding = {place for stage in stages for _, place in stage.placements}
    opened = {stage.drawer for stage in stages if stage.drawer}
    for one in seen:
        if one.name in moved & holding:
            raise UnresolvedError(f'{one.name} is to be moved, and to hold something')
        if one.name in moved and one.category in PLACES:
            types[one.name] = _THING
        elif one.name in holding and one.category in _HOLLOW:
            types[one.name] = _CONTAINER
        elif one.name in holding and (one.category in _STACKED or (
                any_kind and types[one.name] == _THING)):
            types[one.name] = SURFACE
        if any_kind and one.name in opened:
            if one.name in moved:
                raise UnresolvedError(f'{one.name} is to be moved, and to be opened or closed')
            types[one.name] = DRAWER
    return types | {BESIDE + anchor: SURFACE for stage in stages for _, anchor in stage.beside}


def believed(seen: Sequence[Instance], stages: Sequence[Stage]) -> tuple[Instance, ...]:
    """Return the instances that are taken to be there, given that the stages are right.

    An instance that stages open or close keeps only its categories that are drawers; one that they
    use as a place keeps only its categories that are places; both keep all if they have no such
    category. Any other instance is left out if its probabilities sum to less than 0.5, unless a
    stage moves it.
    """
    drawers = {stage.drawer for stage in stages}
    places = {place for stage in stages for _, place in stage.placements}
    things = {thing for stage in stages for thing, _ in (*stage.placements, *stage.beside)}
    things |= {anchor for stage in stages for _, anchor in stage.beside}
    found = []
    for one in seen:
        kinds = [kind for kind in one.categories if one.name in drawers | places - things
                 and _TYPES.get(kind) in ((DRAWER,) if one.name in drawers else _TYPES.values())]
        if kinds:
            found.append(replace(one, categories={kind: one.categories[kind] for kind in kinds}))
        elif one.name in things | drawers | places or sum(one.categories.values()) >= 0.5:
            found.append(one)
    return tuple(found)


def _goal(stage: Stage, types: Mapping[str, str]) -> tuple[Literal, ...]:
    goal = []
    for thing, place in stage.placements:
        if types[thing] != _THING or types[place] == _THING:
            raise InputError(f'{thing} cannot be put in or on {place}')
        goal.append(Literal(Atom('on' if types[place] == SURFACE else 'in', (thing, place))))
    for thing, anchor in stage.beside:
        if types[thing] != _THING:
            raise InputError(f'{thing} cannot be put next to {anchor}')
        goal.append(Literal(Atom('on', (thing, BESIDE + anchor))))
    if stage.drawer:
        if types[stage.drawer] != DRAWER:
            raise InputError(f'{stage.drawer} cannot be opened or closed')
        if stage.closed is None:
            return tuple(goal)
        goal.append(Literal(Atom('open', (stage.drawer,)), not stage.closed))
    return tuple(goal)


def primitive_of(action: Action) -> Primitive:
    """Return the primitive of an action of the domain: that of ``place-in`` is ``place``."""
    return Primitive(action.name.partition('-')[0])


def place_of(action: Action, about: Instance) -> Region:
    """Return the region of an action in the picture.

    That is the middle of the place's box, a point, if something is placed (of a cabinet, of its
    top), else the instance's region.
    """
    if primitive_of(action) is Primitive.PLACE:
        return Region(Form.POINT, (top_of(about).centre,))
    return about.region


def top_of(place: Instance) -> Region:
    """Return the part of a place's box upon which things are put: of a cabinet its top."""
    if place.category != CABINET:
        return place.region
    (left, top), (right, bottom) = place.region.points
    return Region(Form.BOX, ((left, top), (right, top + 2 * _TOP_OF_CABINET * (bottom - top))))


def free_spot(thing: Instance, anchor: Instance, seen: Sequence[Instance]) -> Region:
    """Return a point of the table next to a thing, where another one has room, as seen.

    Args:
        thing: what is put there.
        anchor: what it is to stand next to.
        seen: all instances in the picture.

    Raises:
        InputError: there is no room beside it in the picture.
    """
    (left, top), (right, bottom) = thing.region.points
    wide, high = right - left, bottom - top
    (a, b), (c, d) = anchor.region.points
    middle = (b + d) / 2
    sides = [(a - wide * _BESIDE_GAP, middle), (c + wide * _BESIDE_GAP, middle),
             ((a + c) / 2, d + high * _BESIDE_GAP), ((a + c) / 2, b - high * _BESIDE_GAP)]
    others = [one.region for one in seen if one is anchor or (
        one is not thing and one.category != CABINET)]
    here = thing.region.centre
    for x, y in sorted(sides, key=lambda one: math.dist(one, here)):
        box = Region(Form.BOX, ((x - wide / 2, y - high / 2), (x + wide / 2, y + high / 2)))
        if all(_EDGE <= value <= 1 - _EDGE for point in box.points for value in point) and all(
                box_iou(box, other) < _TOUCHING for other in others):
            return Region(Form.POINT, ((x, y),))
    raise InputError(f'beside {anchor.name} there is no room for {thing.name}')


_BESIDE_GAP = 0.7
"""Distance of the middle of what is put beside a thing from the box of that thing, in sizes of
what is put there."""
_EDGE = 0.05
"""Margin of the picture in which nothing is put down."""
_TOUCHING = 0.02
"""Least intersection over union of two boxes of which one stands in the way of the other."""


def _said(goal: Sequence[Literal]) -> str:
    return ' and '.join(map(str, goal))
