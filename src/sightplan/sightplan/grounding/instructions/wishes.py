"""Wishes of an instruction: things by description, and the places where they are to be."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Relation(enum.StrEnum):
    """Place of a thing among those that fit a description, or beside other things.

    Left and right are the picture's; the front is its lower edge, where the speaker is.
    """

    LEFTMOST = 'leftmost'
    RIGHTMOST = 'rightmost'
    FRONT = 'front'
    BACK = 'back'
    MIDDLE = 'middle'
    BACK_LEFT = 'back left'
    BACK_RIGHT = 'back right'
    FRONT_LEFT = 'front left'
    FRONT_RIGHT = 'front right'
    NEAREST = 'nearest'
    FARTHEST = 'farthest'
    NEAR = 'near'
    BEHIND = 'behind'
    BEFORE = 'before'
    LEFT_OF = 'left of'
    RIGHT_OF = 'right of'
    BETWEEN = 'between'
    INSIDE = 'inside'


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on where a thing is.

    Attributes:
        relation: to the other things that fit, or to ``anchors``.
        anchors: descriptions of what ``nearest`` and all after it are measured from.
    """

    relation: Relation
    anchors: tuple[Things, ...] = ()


@dataclass(frozen=True, slots=True)
class Things:
    """A description of things, places or drawers.

    Attributes:
        kinds: sets of categories that the noun may mean, the likeliest first: a later one counts
            only if nothing in view fits an earlier one. Empty: anything that is moved.
        colours: any of them; empty where none is said.
        without: colours that it does not have.
        number: number of things that are meant; None where the description alone tells.
        total: number of things that fit before ``where`` chooses, if the words tell it.
        any_of: whether any ``number`` of those that fit will do.
        plural: whether several may be meant; else it is one.
        opened: whether a drawer stands open in the picture, where the words say that.
        vague: an adjective that the picture cannot tell; '' without.
        where: conditions on where they are, one after another.
        but: descriptions of those that are left out.
        rest: '' or which of those that no earlier description means: ``others`` of the kind,
            ``rest`` of the kind or of all, ``else`` of all.
        like: colours that "the other" may share with what was named before.
        by_use: whether they are told by what they are for.
        doubtful: categories, or colours and categories, that somebody might count in.
        mention: number of the description in the text; a pronoun repeats that of its antecedent.
        said: its words, for messages.
    """

    kinds: tuple[tuple[str, ...], ...] = ()
    colours: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    number: int | None = None
    total: int | None = None
    any_of: bool = False
    plural: bool = False
    opened: bool | None = None
    vague: str = ''
    where: tuple[Where, ...] = ()
    but: tuple[Things, ...] = ()
    rest: str = ''
    like: tuple[str, ...] = ()
    by_use: bool = False
    doubtful: tuple[str, ...] = ()
    mention: int = 0
    said: str = ''


class Hold(enum.StrEnum):
    """Relation of a thing to its place: in it, on it, or beside it."""

    IN = 'in'
    ON = 'on'
    BESIDE = 'beside'


@dataclass(frozen=True, slots=True)
class Place:
    """Wished place of things: in or on what a description means, or on the table beside it.

    Attributes:
        hold: how they are there.
        of: the description.
        serves: whether no place was named, so that any one that fits will do that takes a thing.
    """

    hold: Hold
    of: Things
    serves: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition that the picture must meet for a wish to count.

    Attributes:
        things: a description; of a drawer with ``opened``.
        seen: whether it must be so, or not: that the description fits something, that the drawer
            stands open or closed, or that it is empty.
        empty: whether it is about what is in the drawer.
    """

    things: Things
    seen: bool = True
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """The state that is to hold at the end of one stage of an instruction.

    Attributes:
        goods: descriptions, each with the place where the things it means are to be.
        drawer: the drawer that the stage is about; None without.
        closed: whether the drawer is to be closed at the end, or open; None where the words leave
            that open.
        was_open: whether the drawer is open at the beginning ("open it" implies that it is
            closed); None where the words do not tell.
        kept: descriptions of what is not to be moved in any stage.
        given: what must be so for the wish to count.
        sentence: number of the sentence that says it, from 0.
    """

    goods: tuple[tuple[Things, Place], ...] = ()
    drawer: Things | None = None
    closed: bool | None = None
    was_open: bool | None = None
    kept: tuple[Things, ...] = ()
    given: tuple[Condition, ...] = ()
    sentence: int = 0
