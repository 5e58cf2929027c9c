"""Tidying problems: a table with plan, meaning and words of what is to be done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightplan.model.grounded_plan import UnitKind
from sightplan_sim.tabletop.arrangements import (
    CLOSE,
    FILL,
    LEAVE,
    OPEN,
    SHUT,
    STOW,
    Arrangement,
    Clause,
    NoRoomError,
)
from sightplan_sim.tabletop.instructions import Teller
from sightplan_sim.tabletop.meanings import (
    Fact,
    FactKind,
    Meaning,
    NamedBlock,
    NamedUnit,
    Reference,
    TidyTask,
)
from sightplan_sim.tabletop.packing import Spot, spots
from sightplan_sim.tabletop.references import Referring
from sightplan_sim.tabletop.shapes import Pose
from sightplan_sim.tabletop.table import footprint, turned

Steps = list[tuple[Fact, ...]]


@dataclass(frozen=True, slots=True)
class _ReferredClause:
    """A clause with its words' references.

    Attributes:
        clause: what is to be done.
        explicit, implicit: for each of its pools.
    """

    clause: Clause
    explicit: tuple[tuple[Reference, ...], ...]
    implicit: tuple[tuple[Reference, ...], ...]

    def placements(self) -> tuple[tuple[str, str], ...]:
        """Names of things, each with that of its destination."""
        return tuple((name, destination)
                     for references, (_, destination) in zip(
                         self.explicit, self.clause.goods, strict=True)
                     for reference in references for name in reference.names)


@dataclass(frozen=True)
class Tidying:
    """The tasks of a table: one with an explicit and one with an implicit instruction.

    Attributes:
        arrangement: the table.
        tasks: both.
        spots: where each thing that is moved may stand in its destination, all side by side.
    """

    arrangement: Arrangement
    tasks: tuple[TidyTask, TidyTask]
    spots: tuple[Spot, ...]

    def spot_pose(self, thing: str) -> Pose:
        """Pose of a moved thing's frame at its spot, in the table's frame.

        Raises:
            KeyError: it is not moved.
        """
        for spot in self.spots:
            if spot.thing == thing:
                break
        else:
            raise KeyError(thing)
        table = self.arrangement.table
        part = self.arrangement.destinations[spot.destination]
        holder = next(one for one in table.things if one.thing is part.thing and (
            part.part or one.name == spot.destination))
        outline = turned(footprint(table.named(thing).thing), spot.yaw)
        middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
        x, y = (turned((np.array(spot.at_m[:2]) - middle)[None], holder.pose.yaw)[0]
                + holder.pose.position[:2])
        return Pose((float(x), float(y), spot.at_m[2]), spot.yaw + holder.pose.yaw)


def tidying(arrangement: Arrangement) -> Tidying:
    """Find words, meanings and plans for the task of a table.

    Raises:
        NoRoomError: no words would mean just that, or a destination has no room for it.
    """
    table = arrangement.table
    rng = np.random.default_rng([table.seed, int(table.held_out), 732])
    referring = Referring(arrangement, rng)
    said = []
    for clause in arrangement.clauses:
        pairs = [referring.refer(pool) for pool, _ in clause.goods]
        said.append(_ReferredClause(
            clause, tuple(one for one, _ in pairs), tuple(two for _, two in pairs)))
    teller = Teller(table, rng)
    return Tidying(arrangement, (_task(said, True, teller), _task(said, False, teller)),
                   _spots(arrangement, said))


def _spots(arrangement: Arrangement, said: list[_ReferredClause]) -> tuple[Spot, ...]:
    moved: dict[str, list[str]] = {}
    for one in said:
        for name, destination in one.placements():
            moved.setdefault(destination, []).append(name)
    found: list[Spot] = []
    for destination, names in moved.items():
        free = spots(arrangement.destinations[destination],
                     [(name, arrangement.table.named(name).thing) for name in names])
        if free is None:
            raise NoRoomError
        found += free
    return tuple(found)


def _task(said: list[_ReferredClause], explicit: bool, teller: Teller) -> TidyTask:
    clauses, steps, blocks, references = [], [], [], []
    for one in said:
        chosen = one.explicit if explicit else one.implicit
        goods = [(teller.things(references), destination) for references, (_, destination) in zip(
            chosen, one.clause.goods, strict=True)]
        clauses.append(teller.clause(one.clause.action, explicit, goods, one.clause.drawer))
        references += [reference for part in chosen for reference in part]
        wanted = _steps(one)
        steps += wanted if explicit else [tuple(fact for step in wanted for fact in step
                                                if fact not in _undone(wanted))]
        blocks += _blocks(one)
    return TidyTask(teller.text(explicit, clauses), explicit,
                    Meaning(tuple(steps), tuple(references)), tuple(blocks))


def _steps(one: _ReferredClause) -> Steps:
    """Steps that explicit words demand, in order."""
    drawer, action = one.clause.drawer, one.clause.action
    steps: Steps = []
    if action in (STOW, LEAVE, OPEN):
        steps.append((Fact(FactKind.OPEN, drawer),))
    if placements := one.placements():
        steps.append(tuple(Fact(FactKind.IN, name, destination)
                           for name, destination in placements))
    if action in (STOW, SHUT, CLOSE):
        steps.append((Fact(FactKind.CLOSED, drawer),))
    if action == FILL:
        steps[-1] = (*steps[-1], Fact(FactKind.OPEN, drawer))
    return steps


def _undone(steps: Steps) -> set[Fact]:
    """Facts that later steps undo, and which an instruction therefore does not state."""
    closed = {fact.target for step in steps for fact in step if fact.kind is FactKind.CLOSED}
    return {fact for step in steps for fact in step
            if fact.kind is FactKind.OPEN and fact.target in closed}


def _blocks(one: _ReferredClause) -> list[NamedBlock]:
    drawer, action = one.clause.drawer, one.clause.action
    blocks = []
    if action in (STOW, LEAVE, OPEN):
        blocks.append(NamedBlock((NamedUnit(UnitKind.OPEN, drawer),)))
    if placements := one.placements():
        blocks.append(NamedBlock(tuple(NamedUnit(UnitKind.PICK_PLACE, name, destination)
                                       for name, destination in placements), len(placements) > 1))
    if action in (STOW, SHUT, CLOSE):
        blocks.append(NamedBlock((NamedUnit(UnitKind.CLOSE, drawer),)))
    return blocks

