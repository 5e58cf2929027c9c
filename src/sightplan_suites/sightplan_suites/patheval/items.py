"""Items of PathEval: two paths on a map, or a picture of them, and their true descriptors."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.picture_files import read_image
from sightplan_suites.paths import drawing, drawing3d
from sightplan_suites.paths.descriptors import NAMES, Descriptors
from sightplan_suites.paths.labels import ORDER, PATHEVAL, Thresholds, Vector
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, Point

View = Literal['2d', '3d']
Image = NDArray[np.uint8]
Values = tuple[Descriptors, Descriptors]

HAND_MADE, OTHER = 'hand-made', 'other'
_FAMILY = re.compile(r'Scene(Maze|Random|Rings|Waves)_', re.IGNORECASE)
_NUMBERED = re.compile(r'Scene\d+$')

LEVELS = {'small': 1.5, 'medium': 3.0}
"""Upper limits of the levels of difficulty, in thresholds; above all of them is ``LARGE``."""
LARGE = 'large'


def family_of(name: str) -> str:
    """The family of a map by its name: maze, random, rings, waves, hand-made or other."""
    found = _FAMILY.match(name)
    if found:
        return found[1].lower()
    return HAND_MADE if _NUMBERED.match(name) else OTHER


class Pictured(Protocol):
    """Source of the pictures of two paths."""

    @property
    def name(self) -> str:
        """Unique among the pictures of a suite."""

    def halves(self, view: View) -> tuple[Image, Image]:
        """Draw or read one picture of each path, in the order of the item.

        Raises:
            InputError: they cannot be drawn or read.
        """


@dataclass(frozen=True, eq=False)
class Drawn:
    """Two paths on a map; their pictures are drawn when they are used.

    Attributes:
        name: of the pair and its order.
        map: where they lead.
        paths: points of each.
        size: longer side of a picture from above [px]; 0 for the paper's sizes.
    """

    name: str
    map: ObstacleMap
    paths: tuple[tuple[Point, ...], tuple[Point, ...]]
    size: int = 0

    def halves(self, view: View) -> tuple[Image, Image]:
        """Draw one picture of each path; see ``Pictured``."""
        first, second = (draw(self.map, path, view, self.size) for path in self.paths)
        return first, second


@dataclass(frozen=True, eq=False)
class FromFile:
    """A picture that shows the first path on its left half and the second on its right."""

    name: str
    file: Path

    def halves(self, view: View) -> tuple[Image, Image]:
        """The two halves of the file's picture, whatever the view is; see ``Pictured``."""
        image = read_image(self.file)
        middle = image.shape[1] // 2
        if middle < 1:
            raise InputError(f'{self.file}: is one pixel wide (two pictures side by side are '
                             'needed)')
        return image[:, :middle], image[:, image.shape[1] - middle:]


def draw(item: ObstacleMap, path: tuple[Point, ...] | None, view: View, size: int = 0, *,
         start: Point = START, goal: Point = GOAL) -> Image:
    """Draw one path on its map.

    Args:
        item: the map.
        path: its points; None for none.
        view: from above or in perspective.
        size: longer side of a picture from above [px], width of one in perspective; 0: the
            paper's.
        start: where the first dot is.
        goal: where the second one is.
    """
    if view == '2d':
        return drawing.draw_top(item.polygons, path, start, goal,
                                drawing.TopView(size or drawing.SIZE, item.bounds))
    width = size or drawing3d.WIDTH
    return drawing3d.draw_perspective(
        item.polygons, path, start, goal, drawing3d.PerspectiveView(
            width, round(width * drawing3d.HEIGHT / drawing3d.WIDTH), item.bounds))


@dataclass(frozen=True, eq=False)
class Item:
    """Two paths, a task, and which of them is better for it.

    Attributes:
        id: unique in its data.
        map: name of the map, the statistical cluster of its items.
        pair: name of the two paths; the same for all tasks, whichever is shown first.
        scenario: number of the task, 0 where it is none of the known ones.
        task: what the paths are wanted for, as a model reads it.
        vector: what is better, in ``labels.ORDER``; None where only the text says it.
        values: descriptors of both, in the order shown.
        better: 0 if the first one shown is better, else 1.
        votes: names of the descriptors that differ significantly and matter; without a direction.
        pictured: where pictures come from.
        thresholds: smallest differences that count.
    """

    id: str
    map: str
    pair: str
    scenario: int
    task: str
    vector: Vector | None
    values: Values
    better: int
    votes: tuple[str, ...]
    pictured: Pictured
    thresholds: Thresholds = PATHEVAL

    @property
    def properties(self) -> tuple[tuple[str, int], ...]:
        """Descriptors that decide the task, by name in ``labels.ORDER``, with their signs."""
        return () if self.vector is None else tuple(
            (name, sign) for name, sign in zip(ORDER, self.vector, strict=True) if sign)


def ratio(values: Values, name: str, thresholds: Thresholds = PATHEVAL) -> float:
    """Difference of two paths in a descriptor, as a multiple of its threshold.

    Of a threshold of 0 it is infinite, or 0 where the paths are alike.
    """
    threshold: float = getattr(thresholds, name)
    first, second = (float(getattr(one, name)) for one in values)
    if not threshold:
        return math.inf if first != second else 0.0
    return abs(first - second) / threshold


def details_of(item: Item) -> dict[str, Any]:
    """Task of an item for tables, and of a known task what decides, and how clearly."""
    if item.vector is None:
        return {'scenario': item.scenario, 'descriptors': []}
    hardest = max((ratio(item.values, name, item.thresholds) for name in item.votes),
                  default=0.0)
    return {'scenario': item.scenario, 'descriptors': list(item.votes),
            'level': level_of(hardest)}


def level_of(thresholds: float) -> str:
    """Visibility of a difference in thresholds: ``small``, ``medium`` or ``large``."""
    return next((name for name, end in LEVELS.items() if thresholds < end), LARGE)


def lower_of(values: Values) -> dict[str, int | None]:
    """Path (0 or 1) that has less of each descriptor; None if they are equal."""
    found: dict[str, int | None] = {}
    for name in NAMES:
        first, second = getattr(values[0], name), getattr(values[1], name)
        found[name] = None if first == second else int(second < first)
    return found

