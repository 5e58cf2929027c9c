"""What an instruction says it wants: things by description, and where they are to be."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Choice(enum.StrEnum):
    """Which of the things that a description fits are meant. Left and right are the picture's."""

    ALL = 'all'
    LEFTMOST = 'leftmost'
    RIGHTMOST = 'rightmost'
    NEAREST = 'nearest'
    ALL_BUT = 'all_but'


@dataclass(frozen=True, slots=True)
class Place:
    """Where things come to, or what something is near.

    Attributes:
        kind: category, such as ``tray``, or ``drawer``.
        colour: '' where it is not said.
        level: of a drawer, ``top`` or ``bottom``; '' where it is not said.
    """

    kind: str
    colour: str = ''
    level: str = ''


@dataclass(frozen=True, slots=True)
class Things:
    """A description of things.

    Attributes:
        categories: that they may be of; several for a group such as "the fruit".
        colour: '' where it is not said.
        choice: among those that fit.
        count: how many are meant; None where the choice alone tells.
        total: how many fit, as the instruction says; None where it does not say.
        anchor: what ``nearest`` is measured from.
        but: what ``all_but`` leaves out.
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
    """What is to hold at the end of one stage of an instruction.

    Attributes:
        goods: descriptions, each with the place where what it means is to be.
        drawer: that the stage is about; None without.
        closed: whether that is to be closed at the end, or open.
        was_open: whether it is open at the beginning, where the words tell: who says "open it" has
            seen it closed. None where they do not.
    """

    goods: tuple[tuple[Things, Place], ...]
    drawer: Place | None = None
    closed: bool = False
    was_open: bool | None = None
