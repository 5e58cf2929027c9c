"""Tidying problems: a table with plan, meaning and words of what is to be done, or is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.model.grounded_plan import UnitKind
from sightplan_sim.tabletop.arrangements import (
    CLOSE,
    FILL,
    LEAVE,
    OPEN,
    PUT,
    SHUT,
    SORT,
    STOW,
    Arrangement,
    Clause,
    NoRoomError,
    Pool,
)
from sightplan_sim.tabletop.goals import Goal, all_plans, goals_of
from sightplan_sim.tabletop.instructions import Teller
from sightplan_sim.tabletop.intentions import intentions, names_place
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
        references: for each of its pools.
    """

    clause: Clause
    references: tuple[tuple[Reference, ...], ...]

    def placements(self) -> tuple[tuple[str, str], ...]:
        """Names of things, each with that of its destination."""
        return tuple(
            (name, destination)
            for references, (_, destination) in zip(
                self.references, self.clause.goods, strict=True
            )
            for reference in references
            for name in reference.names
        )


@dataclass(frozen=True)
class Tidying:
    """The tasks of a table.

    Attributes:
        arrangement: the table.
        tasks: one with an explicit instruction; or, of a table with wants, one with an implicit
            instruction, and where words tell all its things apart the explicit one of its plan.
        spots: where each thing that is moved may stand in its destination, all side by side.
    """

    arrangement: Arrangement
    tasks: tuple[TidyTask, ...]
    spots: tuple[Spot, ...]

    @property
    def has_several_goals(self) -> bool:
        """Whether other things may be taken, or other places filled, than those of the plan."""
        meaning = self.tasks[0].meaning
        return bool(meaning.others) or any(fact.others for step in meaning.steps for fact in step)

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
    referring, teller = Referring(arrangement, rng), Teller(table, rng)
    if arrangement.wants:
        return _wanted(arrangement, referring, teller)
    said = [
        _ReferredClause(clause, tuple(referring.refer(pool) for pool, _ in clause.goods))
        for clause in arrangement.clauses
    ]
    return Tidying(
        arrangement,
        (_task(said, teller),),
        _spots(arrangement, [pair for one in said for pair in one.placements()]),
    )


def _wanted(arrangement: Arrangement, referring: Referring, teller: Teller) -> Tidying:
    """The tasks of a table with wants."""
    table, wants = arrangement.table, arrangement.wants
    opened = next((name for one in table.things for name, _ in one.opened), '')
    first, *others = goals = goals_of(wants)
    blocks, *more = all_plans(goals, opened)
    sentences = [one.sentence.format(**(
        teller.place_fields(one.homes[0][1]) if names_place(one.sentence) else {}))
        for one in wants]
    templates = intentions().joined(len(wants), table.held_out)
    text = templates[table.seed % len(templates)].format(
        **dict(zip('abc', sentences, strict=False)))
    tasks = [TidyTask(text, False, Meaning(
        (first.facts(),), others=tuple((goal.facts(),) for goal in others)), blocks, tuple(more),
        tuple(one.name for one in wants))]
    if (said := _explicit_clauses(first, opened, referring)) is not None:
        tasks.append(_task(said, teller))
    return Tidying(arrangement, tuple(tasks), _spots(
        arrangement, [(name, place) for name, place, _ in first.placements]))


def _explicit_clauses(goal: Goal, opened: str, referring: Referring,
                      ) -> list[_ReferredClause] | None:
    """Clauses that lead to a goal; None if no words mean just its things."""
    drawers = dict(goal.drawers)
    names: dict[str, list[str]] = {}
    for name, place, _ in goal.placements:
        names.setdefault(place, []).append(name)
    pools = {place: Pool('list', tuple(some), len(some)) for place, some in names.items()}
    if not all(referring.means_all(one) for one in pools.values()):
        return None
    clauses = []
    if plain := tuple((pool, place) for place, pool in pools.items() if place not in drawers):
        clauses.append(Clause(PUT if len(plain) == 1 else SORT, plain))
    for drawer, closed in drawers.items():
        if drawer in pools:
            action = ((SHUT if closed else FILL) if drawer == opened else
                      STOW if closed else LEAVE)
            clauses.append(Clause(action, ((pools[drawer], drawer),), drawer))
        else:
            clauses.append(Clause(CLOSE if closed else OPEN, (), drawer))
    return [_ReferredClause(clause, tuple(referring.refer(pool) for pool, _ in clause.goods))
            for clause in clauses]


def _spots(arrangement: Arrangement, placements: Sequence[tuple[str, str]]) -> tuple[Spot, ...]:
    moved: dict[str, list[str]] = {}
    for name, destination in placements:
        moved.setdefault(destination, []).append(name)
    found: list[Spot] = []
    for destination, names in moved.items():
        free = spots(arrangement.destinations[destination],
                     [(name, arrangement.table.named(name).thing) for name in names])
        if free is None:
            raise NoRoomError
        found += free
    return tuple(found)


def _task(said: list[_ReferredClause], teller: Teller) -> TidyTask:
    """The task with an explicit instruction."""
    teller.start()
    clauses, steps, blocks, references = [], [], [], []
    for one in said:
        goods = [
            (teller.things(references), destination)
            for references, (_, destination) in zip(one.references, one.clause.goods, strict=True)
        ]
        clauses.append(teller.clause(one.clause.action, goods, one.clause.drawer))
        references += [reference for part in one.references for reference in part]
        steps += _steps(one)
        blocks += _blocks(one)
    return TidyTask(
        teller.text(clauses), True, Meaning(tuple(steps), tuple(references)), tuple(blocks)
    )


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

