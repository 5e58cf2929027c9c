"""Tables to tidy as planning problems of the domain ``tabletop``."""

from __future__ import annotations

import itertools

from sightplan.domains import Domain
from sightplan.model import Atom, Literal, Problem
from sightplan_sim.tabletop.cabinet import CABINET
from sightplan_sim.tabletop.tidying import Tidying

TABLE = 'table'
SURFACES = ('tray', 'plate')
"""Categories that things are on, not in."""


def object_name(name: str) -> str:
    """Name of a thing, destination or drawer in a problem: ``mug_1``."""
    return name.replace(' ', '_')


def problem_of(found: Tidying, domain: Domain, name: str) -> Problem:
    """Problem of a table: its visible initial state, and the final state of its tasks.

    Args:
        found: the table.
        domain: ``tabletop``, or one of the same vocabulary.
        name: of the problem.
    """
    table, places = found.arrangement.table, found.arrangement.destinations
    objects = {TABLE: 'surface'}
    init = {Atom('handempty')}
    for one in table.things:
        if one.thing.category == CABINET:
            continue
        if one.name in places:
            objects[object_name(one.name)] = (
                'surface' if one.thing.category in SURFACES else 'container')
        else:
            objects[object_name(one.name)] = 'thing'
            init.add(Atom('on', (object_name(one.name), TABLE)))
    drawers = [object_name(place.name) for place in places.values() if place.part]
    opened = {object_name(name) for one in table.things for name, _ in one.opened}
    objects |= dict.fromkeys(drawers, 'drawer')
    init |= {Atom('open', (drawer,)) for drawer in opened}
    # The upper one is the first.
    over = frozenset(Atom('over', pair) for pair in itertools.pairwise(drawers))
    covered = {atom.args[1] for atom in over if atom.args[0] in opened}
    init |= over | {Atom('clear', (drawer,)) for drawer in drawers if drawer not in covered}
    return Problem(
        name=name, domain=domain.reference, objects=objects, init=frozenset(init),
        goal=tuple(_goal(found)), domain_pddl=domain.pddl,
        optimal_length=found.tasks[0].horizon, known=over,
        instruction=found.tasks[0].instruction)


def _goal(found: Tidying) -> list[Literal]:
    """Goal of a tidying problem: final places of things, and drawers that are open."""
    places, goal = found.arrangement.destinations, []
    for block in found.tasks[0].blocks:
        for unit in block.units:
            if unit.destination:
                kind = 'on' if places[unit.destination].kind in SURFACES else 'in'
                goal.append(
                    Literal(Atom(kind, (object_name(unit.target), object_name(unit.destination))))
                )
    ends = found.arrangement.drawers
    used = {
        unit.destination or unit.target for block in found.tasks[0].blocks for unit in block.units
    } & ends.keys()
    goal += [
        Literal(Atom('open', (object_name(name),)), not ends[name])
        for name in ends
        if name in used
    ]
    return goal
