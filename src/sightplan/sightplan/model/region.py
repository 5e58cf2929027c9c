"""Places in a picture: points, boxes and traces, in one convention.

Everywhere inside sightplan a place is in *unit coordinates*: x to the right and y down, both from
0 at the picture's left or top edge to 1 at the other edge, whatever the picture's size. Replies
of models are converted once, by ``sightplan.queries.coordinates``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightplan.model.errors import InputError

Point = tuple[float, float]
"""A point (x, y)."""
Mask = NDArray[np.bool_]
"""A mask (H, W), True on the pixels of the thing."""

PIXEL_ROUNDING = 1e-6
"""Added before a coordinate in pixels is rounded down, so that 0.3 * 10 is pixel 3."""

LEAST_TO_ACT = 0.9
"""Least probability, as a model tells it, with which an arm moves to a thing: that the thing
exists, and that it exists and is at the place."""


class Form(enum.StrEnum):
    """Kind of region that a query asks for.

    A *point* is one place, *points* are one or more, a *box* is an upright rectangle, and a
    *trace* is a polyline from its first to its last point.
    """

    POINT = 'point'
    POINTS = 'points'
    BOX = 'box'
    TRACE = 'trace'


@dataclass(frozen=True, slots=True)
class Region:
    """A place in a picture.

    Attributes:
        form: point, box or trace.
        points: in unit coordinates. One for a point; top left and bottom right corner for a box;
            two or more for a trace.
        label: what it is, in words; '' where nobody said.
        probability: that it is what was asked for; None where nobody offers one.
    """

    form: Form
    points: tuple[Point, ...]
    label: str = ''
    probability: float | None = None

    def __post_init__(self) -> None:
        """Refuse invalid regions, and convert numbers of numpy or torch to ``float``.

        Raises:
            ValueError: says what is wrong.
        """
        chance = self.probability
        if self.form not in list(Form):
            raise ValueError(f'form = {self.form!r} must be one of '
                             f'{", ".join(form for form in Form if form is not Form.POINTS)}')
        try:
            points = tuple((float(x), float(y)) for x, y in self.points)
            chance = None if chance is None else float(chance)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f'points = {self.points!r} must be pairs of finite numbers, such as '
                             f'((0.5, 0.5),), and probability = {chance!r} a number or None'
                             ) from error
        for name, value in (('form', Form(self.form)), ('points', points),
                            ('probability', chance)):
            object.__setattr__(self, name, value)
        count = len(self.points)
        if self.form is Form.POINTS:
            raise ValueError('a region is one point, box or trace; several points are several '
                             'regions')
        if (self.form is Form.POINT and count != 1) or (self.form is Form.BOX and count != 2) or (
                self.form is Form.TRACE and count < 2):
            raise ValueError(f'a {self.form} cannot have {count} points')
        if not all(all(map(math.isfinite, point)) for point in self.points):
            raise ValueError(f'{self.points} must be pairs of finite numbers')

    @property
    def centre(self) -> Point:
        """The point, the middle of the box, or the start of the trace."""
        if self.form is Form.BOX:
            (x1, y1), (x2, y2) = self.points
            return (x1 + x2) / 2, (y1 + y2) / 2
        return self.points[0]

    def pixels(self, width: int, height: int) -> tuple[tuple[int, int], ...]:
        """Return the points as pixels (column, row), rounded down; they may lie outside."""
        return tuple((pixel(x * width), pixel(y * height)) for x, y in self.points)

    def to_json(self) -> dict[str, Any]:
        """Return the region as plain JSON data."""
        data: dict[str, Any] = {'form': str(self.form),
                                'points': [list(point) for point in self.points]}
        if self.label:
            data['label'] = self.label
        if self.probability is not None:
            data['probability'] = self.probability
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Region:
        """Read a region from the JSON data that ``to_json`` gives.

        Raises:
            InputError: it is not what ``to_json`` gives.
        """
        try:
            chance = data.get('probability')
            return cls(Form(data['form']), tuple((float(x), float(y)) for x, y in data['points']),
                       str(data.get('label', '')), None if chance is None else float(chance))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f'is no region ({error}); write it as {{"form": "point", "points": '
                             f'[[x, y]]}} with x and y from 0 to 1: {data!r}') from error


def box_iou(one: Region, other: Region) -> float:
    """Return the intersection over union of two boxes; 0 where both are empty."""
    (left, top), (right, bottom) = one.points
    (left2, top2), (right2, bottom2) = other.points
    width = max(min(right, right2) - max(left, left2), 0.0)
    height = max(min(bottom, bottom2) - max(top, top2), 0.0)
    union = (right - left) * (bottom - top) + (right2 - left2) * (bottom2 - top2) - width * height
    return width * height / union if union > 0.0 else 0.0


def pixel(value: float) -> int:
    """Return the pixel in which a coordinate in pixels lies."""
    return math.floor(value + PIXEL_ROUNDING)


@dataclass(frozen=True, slots=True)
class Target:
    """Description of what to find in a picture.

    Attributes:
        text: in words, such as "the red mug" or "where to grip the pan".
        form: what is asked for.
    """

    text: str
    form: Form = Form.POINT


class Presence(enum.StrEnum):
    """Statement of a prompt about whether the target is in the picture.

    *open*: it may be missing, and the prompt says how to reply then; *unsaid*: nothing; *stated*:
    that it is there.
    """

    OPEN = 'open'
    UNSAID = 'unsaid'
    STATED = 'stated'


@dataclass(frozen=True, slots=True)
class GivenWords:
    """Words of a user's file, in place of those that a model's pointing family has.

    ``{target}`` stands for what is to be found, ``{start}`` for the start of a trace, ``{width}``
    and ``{height}`` for the size of the picture in pixels.

    Attributes:
        system: text of the system role, '' for none.
        before: text before the picture.
        after: text behind it.
        max_tokens: most tokens of the reply.
        json_schema: schema of the reply, where structured output can be had; None for none.
    """

    system: str = ''
    before: str = ''
    after: str = ''
    max_tokens: int = 1024
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PlaceWording:
    """Statements of a prompt about a target besides its name; only models that read text see them.

    Attributes:
        presence: what it says about whether the target is there.
        start_mark: what is painted in the picture where a trace begins, such as "a red square";
            '' for nothing.
        given: words of a user's file, which then say all; None for none.
    """

    presence: Presence = Presence.OPEN
    start_mark: str = ''
    given: GivenWords | None = None


PLAIN_WORDING = PlaceWording()
"""The wording of which nobody says anything else."""


@dataclass(frozen=True, eq=False)
class TargetMasks:
    """True masks of the target and of the other things in a picture.

    Attributes:
        target: of what is asked for.
        others: of each other thing.
    """

    target: Mask
    others: tuple[Mask, ...] = ()


class MaskSource(Protocol):
    """Ground truth about where things are; for scoring and simulated models only."""

    def masks(self, target: str) -> TargetMasks:
        """Return the true masks for a target in the current picture.

        Raises:
            InputError: nothing is known of such a target.
        """


@dataclass(frozen=True, eq=False)
class TrueThing:
    """A thing in a picture, as it really is: ground truth.

    Attributes:
        mask: (H, W) bool, its visible pixels.
        category: what it is; ``drawer:top`` and ``drawer:bottom`` for drawers.
        colour: word for its colour, or for that of its coloured part; '' for drawers.
        opened: whether it stands open; None for what does not open.
    """

    mask: Mask
    category: str
    colour: str = ''
    opened: bool | None = None


@runtime_checkable
class ThingSource(Protocol):
    """Ground truth about all that is in a picture; for simulated models only."""

    def things(self) -> tuple[TrueThing, ...]:
        """Return all things in the current picture.

        Raises:
            InputError: nothing is known of that picture.
        """
