"""Plans whose every step points at the picture: from goals over what is seen.

Things are told apart first, and the goal is about instances, not names; a symbolic planner plans
stage by stage, and each step has the place of its instance, so that no two steps can mean the same
one by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sightplan.domains import Domain
from sightplan.grounding.instructions import DRAWER, Instance, Stage
from sightplan.model import (
    Action,
    Atom,
    InputError,
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

_SEARCH = 'optimal'
_SURFACE, _CONTAINER, _THING = 'surface', 'container', 'thing'
_TYPES: Mapping[str, str] = {
    'tray': _SURFACE, 'plate': _SURFACE, 'bowl': _CONTAINER, 'crate': _CONTAINER,
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
        InputError: a goal can never be reached; says which.
        PlannerError: the planner did not end within its limits.
    """
    world = {one.name: one for one in seen}
    types = {name: _TYPES.get(_category(one), _THING) for name, one in world.items()}
    needed = _needed(stages, types)
    objects = {name: types[name] for name in needed}
    told: dict[str, bool | None] = {}
    for stage in stages:  # only the first one about a drawer tells how it was before them all
        told.setdefault(stage.drawer, stage.was_open)
    state = _state(needed, world, types, told)
    steps: list[GroundedStep] = []
    for stage in stages:
        problem = Problem('stage', domain.reference, objects, state, _goal(stage, types),
                          domain.pddl)
        found = plan(PlanningTask(domain.pddl, domain.write_problem(problem), _SEARCH))
        if found.status is PlanningStatus.UNSOLVABLE:
            raise InputError(f'no plan reaches {_said(problem.goal)}')
        if found.status is not PlanningStatus.SOLVED:
            raise PlannerError(f'no plan was found for {_said(problem.goal)}: {found.message}')
        model = domain.model(problem)
        for action in found.plan:
            state = model.apply(action, state)
            steps.append(_step(action, world))
    return tuple(steps)


def _category(one: Instance) -> str:
    return max(one.categories, key=one.categories.__getitem__, default='')


def _needed(stages: Sequence[Stage], types: Mapping[str, str]) -> list[str]:
    """Names of what the goals are about, and of all drawers."""
    names = [name for stage in stages for pair in stage.placements for name in pair]
    names += [stage.drawer for stage in stages if stage.drawer]
    names += [name for name, kind in types.items() if kind == DRAWER]
    return sorted(set(names))


def _state(names: Sequence[str], world: Mapping[str, Instance], types: Mapping[str, str],
           told: Mapping[str, bool | None]) -> State:
    """What is taken to hold at the beginning: by what is told, else by what is seen."""
    atoms = {Atom('handempty')}
    drawers = {name: _category(world[name]) for name in names if types[name] == DRAWER}
    opened = {name for name in drawers if (
        (world[name].opened or 0.0) >= 0.5 if told.get(name) is None else told[name])}
    over = [(upper, lower) for upper, one in drawers.items() for lower, other in drawers.items()
            if (one, other) == (f'{DRAWER}:top', f'{DRAWER}:bottom')]
    hung = {lower for upper, lower in over if upper in opened}
    atoms |= {Atom('open', (name,)) for name in opened}
    atoms |= {Atom('clear', (name,)) for name in drawers if name not in hung}
    atoms |= {Atom('over', pair) for pair in over}
    return frozenset(atoms)


def _goal(stage: Stage, types: Mapping[str, str]) -> tuple[Literal, ...]:
    goal = []
    for thing, place in stage.placements:
        if types[thing] != _THING or types[place] == _THING:
            raise InputError(f'{thing} cannot be put in or on {place}')
        goal.append(Literal(Atom('on' if types[place] == _SURFACE else 'in', (thing, place))))
    if stage.drawer:
        goal.append(Literal(Atom('open', (stage.drawer,)), not stage.closed))
    return tuple(goal)


def _step(action: Action, world: Mapping[str, Instance]) -> GroundedStep:
    """An action with the place of what it is about."""
    primitive = Primitive(action.name.partition('-')[0])
    about = world[action.args[-1]]
    if primitive is Primitive.PLACE:
        return GroundedStep(primitive, about.name, Region(Form.POINT, (about.region.centre,)))
    return GroundedStep(primitive, about.name, about.region)


def _said(goal: Sequence[Literal]) -> str:
    return ' and '.join(map(str, goal))
