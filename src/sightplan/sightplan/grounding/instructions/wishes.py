"""Wishes of an instruction: things by description, and the places where they are to be."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Choice(enum.StrEnum):
    """Choice among the things that fit a description. Left and right are the picture's."""

    ALL = 'all'
    LEFTMOST = 'leftmost'
    RIGHTMOST = 'rightmost'
    NEAREST = 'nearest'
    ALL_BUT = 'all_but'


@dataclass(frozen=True, slots=True)
class Place:
    """A described place where things are to be, or that something is near.

    Attributes:
        kind: category, such as ``tray``, or ``drawer``.
        colour: '' where it is not said.
        level: level of a drawer, ``top`` or ``bottom``; '' where it is not said.
    """

    kind: str
    colour: str = ''
    level: str = ''


@dataclass(frozen=True, slots=True)
class Things:
    """A description of things.

    Attributes:
        categories: possible categories; several for a group such as "the fruit".
        colour: '' where it is not said.
        choice: among those that fit.
        count: number of things that are meant; None where the choice alone tells.
        total: number of things that fit, if the instruction tells it; else None.
        anchor: place from which ``nearest`` is measured.
        but: description of the things that ``all_but`` leaves out.
    """

    categories: tuple[str, ...]
    colour: str = ''
    choice: Choice = Choice.ALL
    count: int | None = None
    total: int | None = None
    anchor: Place | None = None
    but: Things | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """The state that is to hold at the end of one stage of an instruction.

    Attributes:
        goods: descriptions, each with the place where the things it means are to be.
        drawer: the drawer that the stage is about; None without.
        closed: whether the drawer is to be closed at the end, or open.
        was_open: whether the drawer is open at the beginning ("open it" implies that it is
            closed); None where the words do not tell.
    """

    goods: tuple[tuple[Things, Place], ...]
    drawer: Place | None = None
    closed: bool = False
    was_open: bool | None = None
