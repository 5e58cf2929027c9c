"""Goals of implicit instructions, and all plans that reach them without a needless step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sightplan.model.grounded_plan import UnitKind
from sightplan_sim.tabletop.arrangements import NoRoomError, Want
from sightplan_sim.tabletop.cabinet import DRAWERS
from sightplan_sim.tabletop.meanings import Fact, FactKind, NamedBlock, NamedUnit

UPPER, LOWER = DRAWERS
Placement = tuple[str, str, tuple[str, ...]]
"""Names of a thing, of its place, and of other places that are as right."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Arrangement that is to hold in the end.

    Attributes:
        placements: of the things that are moved.
        drawers: names of drawers, each with whether it is left closed.
    """

    placements: tuple[Placement, ...]
    drawers: tuple[tuple[str, bool], ...]

    def facts(self) -> tuple[Fact, ...]:
        """The goal as facts."""
        return (*(Fact(FactKind.IN, *placement) for placement in self.placements),
                *(Fact(FactKind.CLOSED if closed else FactKind.OPEN, name)
                  for name, closed in self.drawers))


def goals_of(wants: Sequence[Want]) -> list[Goal]:
    """All goals that are as right, by the choices and drawers of each want; the plan's first."""
    options = [list(itertools.product(one.choices, one.drawers or ('',))) for one in wants]
    found: dict[Goal, None] = {}
    for picked in itertools.product(*options):
        placements: list[Placement] = []
        drawers: dict[str, bool] = {}
        for want, (names, drawer) in zip(wants, picked, strict=True):
            homes, others = dict(want.homes), dict(want.others)
            placements += [(name, drawer or homes[name], others.get(name, ())) for name in names]
            if drawer:
                drawers[drawer] = want.ends == 'closed'
        found[Goal(tuple(placements), tuple(drawers.items()))] = None
    return list(found)


def all_plans(goals: Sequence[Goal], opened: str) -> list[tuple[NamedBlock, ...]]:
    """Plans of all goals, those of the first one first, none twice; see ``plans_of``."""
    return list(dict.fromkeys(plan for goal in goals for plan in plans_of(goal, opened)))


def plans_of(goal: Goal, opened: str) -> list[tuple[NamedBlock, ...]]:
    """All shortest plans that reach a goal, as plans with partial orders.

    The lower drawer is used only while the upper one, which would hang over it, is closed: before
    that is opened, or after it was closed.

    Args:
        goal: of drawers and things that now lie on the table.
        opened: name of the drawer that stands open now; '' for none.

    Raises:
        NoRoomError: the upper drawer would have to be closed, and opened again.
    """
    drawers = dict(goal.drawers)
    fills_lower = any(place == LOWER for _, place, _ in goal.placements)
    if not (fills_lower and (UPPER in drawers or opened == UPPER)):
        return [_Blocks(goal, opened, list(drawers)).made()]
    found = []
    if UPPER in drawers and opened != UPPER:
        found.append(_Blocks(goal, opened, [LOWER, UPPER], {UPPER: LOWER}).made())
    if drawers.get(UPPER):
        found.append(_Blocks(goal, opened, [UPPER, LOWER], {LOWER: UPPER}).made())
    if not found:
        raise NoRoomError
    return found


class _Blocks:
    """Blocks of a plan: things for places that do not open, then one drawer after another.

    Args:
        goal: see ``plans_of``.
        opened: likewise.
        order: of the drawers.
        waits: name of a drawer that waits for another one: the upper one until the lower one is
            filled, or the lower one until the upper one is closed.
    """

    def __init__(self, goal: Goal, opened: str, order: Sequence[str],
                 waits: Mapping[str, str] | None = None) -> None:
        self._goal, self._opened, self._order = goal, opened, order
        self._waits = waits or {}
        self._blocks: list[NamedBlock] = []
        self._filled: dict[str, int] = {}
        self._ended: dict[str, int] = {}

    def made(self) -> tuple[NamedBlock, ...]:
        """All blocks; without partial orders where each follows the one before."""
        drawers = dict(self._goal.drawers)
        self._add(tuple(self._placing([one for one in self._goal.placements
                                       if one[1] not in drawers])), ())
        for name in self._order:
            self._session(name, drawers[name])
        if all(one.after == tuple(range(max(0, number - 1), number))
               for number, one in enumerate(self._blocks)):
            return tuple(NamedBlock(one.units, one.unordered) for one in self._blocks)
        return tuple(self._blocks)

    def _session(self, name: str, closed: bool) -> None:
        """Open a drawer, fill it, and close it, where that is to be done."""
        before: tuple[int, ...] = ()
        waits = self._waits.get(name)
        if waits == LOWER:
            before = (self._filled[LOWER],)
        if name != self._opened:
            before = self._add((NamedUnit(UnitKind.OPEN, name),), before)
        if waits == UPPER:
            before = (*before, self._ended[UPPER])
        placed = tuple(self._placing([one for one in self._goal.placements if one[1] == name]))
        if placed:
            before = self._add(placed, before)
            self._filled[name] = before[0]
        if closed:
            self._ended[name], = self._add((NamedUnit(UnitKind.CLOSE, name),), before)

    @staticmethod
    def _placing(placements: Sequence[Placement]) -> Iterator[NamedUnit]:
        return (NamedUnit(UnitKind.PICK_PLACE, *one) for one in placements)

    def _add(self, units: tuple[NamedUnit, ...], after: tuple[int, ...]) -> tuple[int, ...]:
        if units:
            self._blocks.append(NamedBlock(units, len(units) > 1, tuple(sorted(after))))
        return (len(self._blocks) - 1,)
