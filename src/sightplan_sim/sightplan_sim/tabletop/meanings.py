"""Meanings of instructions, as data: for tests, scoring and training; never for methods."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sightplan.model.grounded_plan import UnitKind


class FactKind(enum.StrEnum):
    """Kinds of facts about things and drawers that an instruction may demand."""

    IN = 'in'
    OPEN = 'open'
    CLOSED = 'closed'


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that shall hold.

    Attributes:
        kind: ``in`` says that a thing is in or on a place, the others are about drawers.
        target: name of the thing, or of the drawer.
        destination: name of the place; '' for drawers.
        others: names of places that are as right.
    """

    kind: FactKind
    target: str
    destination: str = ''
    others: tuple[str, ...] = ()


class Choice(enum.StrEnum):
    """Ways in which a phrase selects among the things that its words fit."""

    ALL = 'all'
    LEFTMOST = 'leftmost'
    RIGHTMOST = 'rightmost'
    NEAREST = 'nearest'
    ALL_BUT = 'all_but'


@dataclass(frozen=True, slots=True)
class Reference:
    """The things to which a phrase refers.

    Attributes:
        choice: among those of the category and colour. Left and right are the camera's.
        names: of the things that are meant.
        categories: that the words fit; several for a group such as "the fruit".
        colour: that the words name; '' where they name none.
        anchor: name of what ``nearest`` is measured from; '' otherwise.
        but: those that ``all_but`` leaves out.
    """

    choice: Choice
    names: tuple[str, ...]
    categories: tuple[str, ...]
    colour: str = ''
    anchor: str = ''
    but: Reference | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """Meaning of an instruction.

    A plan is right if it is a shortest sequence of units that makes all facts of the first step
    hold, then in the same way those of the second, and so on. A unit puts a thing somewhere, opens
    or closes a drawer. Things go into a drawer only while it is open, and into the lower one only
    while the upper one is closed, as that hangs over it.

    Attributes:
        steps: facts that are to hold, one step after another.
        references: of the phrases for things, in the order of the text.
        others: steps of the other meanings that are as right, where the words leave it open
            which things or places are meant.
    """

    steps: tuple[tuple[Fact, ...], ...]
    references: tuple[Reference, ...] = ()
    others: tuple[tuple[tuple[Fact, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class NamedUnit:
    """A unit of a plan by the names of its things.

    Attributes:
        kind: of the unit.
        target: name of the thing that is moved, or of the drawer.
        destination: name of the thing or drawer that it comes to; '' for drawers.
        others: names of destinations that are as right.
    """

    kind: UnitKind
    target: str
    destination: str = ''
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedBlock:
    """Units of a plan, see ``sightplan.model.grounded_plan.PlanBlock``."""

    units: tuple[NamedUnit, ...]
    unordered: bool = False
    after: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TidyTask:
    """A task before it is grounded in a picture.

    Attributes:
        instruction: in words.
        explicit: whether these name things and actions, or only what is wanted.
        meaning: of the words.
        blocks: the plan.
        others: the other plans that are as right.
        intentions: names of the intentions of an implicit instruction.
    """

    instruction: str
    explicit: bool
    meaning: Meaning
    blocks: tuple[NamedBlock, ...]
    others: tuple[tuple[NamedBlock, ...], ...] = ()
    intentions: tuple[str, ...] = ()

    @property
    def horizon(self) -> int:
        """Number of primitives: a grasp and its place count separately."""
        return sum(2 if unit.kind is UnitKind.PICK_PLACE else 1
                   for block in self.blocks for unit in block.units)
