"""The first-load check of a model that points, and answers no yes/no questions.

It is asked for a red and a blue square in two plain pictures, in which they stand the other way
round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightplan.commands.check import Check
from sightplan.model import Region, Target, excerpt
from sightplan.model.query import (
    Model,
    Rgb,
    ask_one,
    check_pictures,
    picture_check,
    pictures_lost,
)
from sightplan.queries import Locate, LocateReply

WIDTH, HEIGHT, EDGE = 320, 224, 64
"""Size of the pictures, and edge of the squares in them [px]."""
LEFT, RIGHT = 48, 208
"""First column of a square [px]."""
TOP = 80
"""First row of the squares [px]."""


@dataclass(frozen=True)
class _Asked:
    """A target in one of the pictures, where it is, and the reply."""

    words: str
    left: int
    reply: LocateReply

    @property
    def place(self) -> Region | None:
        """The best place of the reply; None without."""
        return self.reply.regions[0] if self.reply.regions and not self.reply.unread else None

    @property
    def right(self) -> bool:
        """Whether the best place is on the target."""
        if self.place is None:
            return False
        x, y = self.place.centre
        return (self.left <= x * WIDTH <= self.left + EDGE) and (TOP <= y * HEIGHT <= TOP + EDGE)

    @property
    def said(self) -> str:
        """The reply in words."""
        if self.reply.unknown and self.place is None:
            return f'it does not know {", ".join(map(repr, self.reply.unknown))}'
        return 'not there' if self.place is None and self.reply.usable and not (
            self.reply.unread) else self.reply.summary()


def pointed(model: Model, colours: Mapping[str, tuple[int, int, int]],
            measured: dict[str, Any]) -> Iterator[Check]:
    """Ask a model for places, and judge the replies.

    Args:
        model: answers ``Locate``.
        colours: two colours by their names, RGB.
        measured: is given what was measured, as plain data.
    """
    check_pictures(model)
    if lost := pictures_lost(model):
        yield Check('pictures', False, lost, 'do as the message says')
        return
    started = time.monotonic()
    asked = [_Asked(f'the {colour} square', left, ask_one(model, Locate(
        _picture(colours, places), Target(f'the {colour} square'))))
        for places in ((LEFT, RIGHT), (RIGHT, LEFT))
        for colour, left in zip(colours, places, strict=True)]
    seconds = (time.monotonic() - started) / len(asked)
    found = [one for one in asked if one.place is not None]
    measured |= {'next_s': round(seconds, 3), 'asked': len(asked),
                 'right': sum(one.right for one in asked)}
    yield _answers(asked, found)
    if found:
        yield _pictures(asked, picture_check(model))
        told = '; '.join(f'{one.words}: {excerpt(one.said)}' for one in asked if not one.right)
        yield Check('sense', not told, f'{measured["right"]} of {len(asked)} places are on the '
                    f'thing{f" ({told})" if told else ""}', 'look where it points: sightplan '
                    'locate PICTURE "WORDS" --out marked.png' if told else '')
    yield Check('seconds', True, f'{seconds:.2f} for each place')


def _picture(colours: Mapping[str, tuple[int, int, int]], places: Sequence[int]) -> Rgb:
    image = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    for rgb, left in zip(colours.values(), places, strict=True):
        image[TOP:TOP + EDGE, left:left + EDGE] = rgb
    return image


def _answers(asked: Sequence[_Asked], found: Sequence[_Asked]) -> Check:
    detail = f'{len(found)} of {len(asked)} replies are places'
    if len(found) == len(asked):
        return Check('answers', True, detail)
    other = next(one for one in asked if one.place is None)
    unknown = all(one.reply.unknown for one in asked if one.place is None)
    return Check('answers', unknown or bool(found), f'{detail}; of {other.words!r}: {other.said}',
                 'ask it for what it knows: sightplan locate PICTURE "WORDS"' if unknown else
                 'see what it replies: sightplan locate PICTURE "WORDS" --json')


def _pictures(asked: Sequence[_Asked], known: str) -> Check:
    """Whether a thing is elsewhere in the other picture, where it really is."""
    half = len(asked) // 2
    differ = any(one.place != other.place
                 for one, other in zip(asked[:half], asked[half:], strict=True))
    known = f'; {known}' if known else ''
    return Check('pictures', differ, f'two pictures get {"other" if differ else "the same"} '
                 f'places{known}', '' if differ else 'the pictures do not reach the model, or it '
                 'does not look at them (query.image)')
