"""Plans with a place in the picture for each step, and scenes with true plans.

A plan is a list of primitives, each with one place in the picture: ``grasp``, ``open`` and
``close`` with a box, ``place`` with a point. It is compared with the truth in units: a grasp with
its place is one unit, an opening or a closing another. Where the order of units is free they are
one unordered block (GroundedPlanBench, section II).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sightplan.model.region import Region
from sightplan.model.scene import RenderedScene


class Primitive(enum.StrEnum):
    """The action of a step of a grounded plan."""

    GRASP = 'grasp'
    PLACE = 'place'
    OPEN = 'open'
    CLOSE = 'close'


class UnitKind(enum.StrEnum):
    """Kinds of plan units; a unit is scored as a whole."""

    PICK_PLACE = 'pick_place'
    OPEN = 'open'
    CLOSE = 'close'


@dataclass(frozen=True, slots=True)
class GroundedStep:
    """A step of a plan, with its place in the picture.

    Attributes:
        action: what is to be done, as it was said; for the most part a ``Primitive``.
        target: the thing, or what is placed upon or into, in words; never scored.
        region: where: a box, or for ``place`` a point; None where it was not said, or cannot be
            read.
    """

    action: str
    target: str = ''
    region: Region | None = None

    @property
    def primitive(self) -> Primitive | None:
        """Primitive of the step; None if there is none of its name."""
        try:
            return Primitive(self.action.strip().lower())
        except ValueError:
            return None

    def to_json(self) -> dict[str, Any]:
        """The step as JSON data."""
        return {'action': self.action, 'target': self.target,
                'region': None if self.region is None else self.region.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GroundedStep:
        """Read a step from the JSON data that ``to_json`` gives."""
        region = data['region']
        return cls(data['action'], data['target'],
                   None if region is None else Region.from_json(region))


@dataclass(frozen=True, slots=True)
class PlanUnit:
    """A unit of the true plan.

    Attributes:
        kind: of the unit.
        target: what is grasped, opened or closed: in words, and unique in its scene.
        region: box of the target.
        destination: what it is placed in or on; '' without a place.
        place: box of the destination's region in which a point is right; None without a place.
        others: name and box of other destinations that are as right.
    """

    kind: UnitKind
    target: str
    region: Region
    destination: str = ''
    place: Region | None = None
    others: tuple[tuple[str, Region], ...] = ()

    @property
    def places(self) -> tuple[Region, ...]:
        """Boxes in any of which a point is right."""
        return () if self.place is None else (self.place, *(region for _, region in self.others))

    @property
    def primitives(self) -> int:
        """Number of primitives in the unit: 2 for pick and place, otherwise 1."""
        return 2 if self.kind is UnitKind.PICK_PLACE else 1


@dataclass(frozen=True, slots=True)
class PlanBlock:
    """Units of a plan, in the given order or in any order.

    Attributes:
        units: one or more.
        unordered: whether any order of them is right.
        after: numbers of the earlier blocks of its plan, from 0, that are done before this one is
            begun; others may come before, after or between. None: all earlier blocks.
    """

    units: tuple[PlanUnit, ...]
    unordered: bool = False
    after: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class GroundedPlanTask:
    """An instruction with its true plan.

    Attributes:
        instruction: what is to be done, in words.
        explicit: whether it names actions and things, or states only what is wanted.
        blocks: the plan; a right one has the units of each block, block after block, or as
            ``PlanBlock.after`` tells.
        pair: what explicit and implicit wordings of one task share.
        others: other plans that are as right.
        intentions: names of what an implicit instruction is about, where they are known.
    """

    instruction: str
    explicit: bool
    blocks: tuple[PlanBlock, ...]
    pair: str
    others: tuple[tuple[PlanBlock, ...], ...] = ()
    intentions: tuple[str, ...] = ()

    @property
    def plans(self) -> tuple[tuple[PlanBlock, ...], ...]:
        """All right plans; the first one decides the horizon."""
        return (self.blocks, *self.others)

    @property
    def horizon(self) -> int:
        """Number of primitives: a grasp and its place count separately."""
        return sum(unit.primitives for block in self.blocks for unit in block.units)


class GroundedPlanScene(RenderedScene[GroundedPlanTask]):
    """A rendered scene with instructions to plan for."""


class GroundedPlanSource(Protocol):
    """A maker of scenes with grounded plans.

    It is found as an entry point of the group ``sightplan.grounded_plan_scenes``, which is called
    without arguments.
    """

    def scene(self, seed: int, horizon: str, *, held_out: bool = True,
              explicit: bool = True) -> GroundedPlanScene:
        """Return the scene of a seed; one seed always gives the same scene and tasks.

        Args:
            seed: any number from 0.
            horizon: ``short`` (1 to 4 primitives), ``medium`` (5 to 8) or ``long`` (9 to 26).
            held_out: whether things and wordings are those that no model of ours is trained on,
                or those for training.
            explicit: kind of instruction that one of the tasks has; another task may have the
                other one.

        Raises:
            InputError: there is no such horizon.
        """
