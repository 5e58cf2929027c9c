"""Plans whose every step points at the picture: from goals over what is seen.

Things are told apart first, and the goal is about instances, not names; a symbolic planner plans
stage by stage, and each step has the place of its instance, so that no two steps can mean the same
one by mistake. The instruction becomes a goal by a small reader of plain instructions, which is no
model of language, or by a vision-language model, which is shown the things by number
(``sightplan.grounding.instructions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sightplan.domains import Domain
from sightplan.grounding.instructions import DRAWER, Stage
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
from sightplan.model.region import Form, Region

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
    f'{DRAWER}:top': DRAWER, f'{DRAWER}:bottom': DRAWER}
"""Types of places by category, as the domain has them; all else is moved."""


def grounded_steps(stages: Sequence[Stage], seen: Sequence[Instance], domain: Domain,
                   plan: PlanIt) -> tuple[GroundedStep, ...]:
    """Plan for goals over instances, and give each step its place.

    Args:
        stages: each is to hold before the next one is begun.
        seen: all instances in the picture.
        domain: with the types thing, surface, container and drawer, the predicates on, in, open,
            clear (no open drawer hangs over it), over and handempty, and actions whose names
            begin with grasp, place, open and close, and whose last argument is what is acted
            upon.
        plan: the planner.

    Returns:
        The steps; a place is pointed at in the middle of its box.

    Raises:
        InputError: a goal can never be reached, or no plan for it was found in time; says which.
        PlannerError: the planner failed: that says nothing about the goals.
    """
    world = {one.name: one for one in seen}
    work = staged(stages, seen)
    state, steps = work.state, list[GroundedStep]()
    for goal in work.goals:
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
            about = world[action.args[-1]]
            steps.append(GroundedStep(primitive_of(action), about.name,
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
           known_open: Mapping[str, bool] | None = None) -> Staged:
    """Return the goals of stages over the instances in a picture, as a problem of the domain.

    Args:
        stages: each is to hold before the next one is begun.
        seen: all instances in the picture.
        known_open: whether a drawer stands open, by name, where that is known.

    Raises:
        InputError: a stage puts something where nothing can be put, or opens or closes what
            cannot be opened.
    """
    types = {one.name: _TYPES.get(one.category, _THING) for one in seen}
    names = {name for stage in stages for pair in stage.placements for name in pair}
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


def believed(seen: Sequence[Instance], stages: Sequence[Stage]) -> tuple[Instance, ...]:
    """Return the instances that are taken to be there, given that the stages are right.

    An instance that stages open or close keeps only its categories that are drawers; one that they
    use as a place keeps only its categories that are places; both keep all if they have no such
    category. Any other instance is left out if its probabilities sum to less than 0.5, unless a
    stage moves it.
    """
    drawers = {stage.drawer for stage in stages}
    places = {place for stage in stages for _, place in stage.placements}
    things = {thing for stage in stages for thing, _ in stage.placements}
    found = []
    for one in seen:
        kinds = [kind for kind in one.categories if one.name in drawers | places
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
    if stage.drawer:
        if types[stage.drawer] != DRAWER:
            raise InputError(f'{stage.drawer} cannot be opened or closed')
        goal.append(Literal(Atom('open', (stage.drawer,)), not stage.closed))
    return tuple(goal)


def primitive_of(action: Action) -> Primitive:
    """Return the primitive of an action of the domain: that of ``place-in`` is ``place``."""
    return Primitive(action.name.partition('-')[0])


def place_of(action: Action, about: Instance) -> Region:
    """Return the region of an action in the picture.

    That is the middle of the place's box, a point, if something is placed, else the instance's
    region.
    """
    if primitive_of(action) is Primitive.PLACE:
        return Region(Form.POINT, (about.region.centre,))
    return about.region


def _said(goal: Sequence[Literal]) -> str:
    return ' and '.join(map(str, goal))
