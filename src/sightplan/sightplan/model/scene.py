"""Scenes made by a simulator: a picture with true masks of the things in it.

Truth of this kind goes to scoring, to training and to simulated models. What a method sees of a
scene is its image, its depth and its camera.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask, Point

TaskT = TypeVar('TaskT')


@dataclass(frozen=True, eq=False)
class Piece:
    """A thing that can be seen.

    Attributes:
        name: unique within the scene.
        category: what it is, such as ``mug``.
        mask: (H, W) bool, its visible pixels.
    """

    name: str
    category: str
    mask: Mask


@dataclass(frozen=True, eq=False)
class PointingTask:
    """A target to point at, with its true mask.

    Attributes:
        text: what to find, such as "the handle of the blue pan".
        stage: ``s1`` (the thing or part that the text describes) or ``s2`` (where to act).
        kind: of the stage: ``object``, ``object part``, ``restriction``, ``afd``, ``contact``, ...
        mask: (H, W) bool, all pixels that are right.
        piece: name of the thing that it is about, or is a part of; '' for a place on the table.
    """

    text: str
    stage: str
    kind: str
    mask: Mask
    piece: str = ''


@dataclass(frozen=True, eq=False)
class TraceTask:
    """A motion to draw: the thing at the start is to be moved along a trace.

    Attributes:
        text: the task, such as "slide the mug to the plate without touching the bottle".
        start: where the trace begins, in unit coordinates.
        oracle: a trace that does the task, in unit coordinates.
        piece: name of the thing that is moved.
        goal: plain JSON data with which the simulator tells whether the task is done.
    """

    text: str
    start: Point
    oracle: tuple[Point, ...]
    piece: str
    goal: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RenderedScene(Generic[TaskT]):
    """A rendered scene with its tasks.

    Attributes:
        id: unique, such as ``tabletop/held_out/7``; tells how to make it again.
        image: (H, W, 3) uint8 RGB.
        depth_m: (H, W) float32 distance along the optical axis [m].
        camera: (fx, fy, cx, cy) in pixels, from the top left pixel's corner.
        pieces: all things in view.
        tasks: what may be asked.
    """

    id: str
    image: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    camera: tuple[float, float, float, float]
    pieces: tuple[Piece, ...]
    tasks: tuple[TaskT, ...]


@dataclass(frozen=True, eq=False)
class PointingScene(RenderedScene[PointingTask]):
    """A rendered scene with targets to point at.

    Attributes:
        traces: what may be drawn.
    """

    traces: tuple[TraceTask, ...] = ()


class SceneSource(Protocol):
    """A maker of scenes, found as an entry point of the group ``sightplan.scenes``."""

    def scene(self, seed: int, *, held_out: bool = True) -> PointingScene:
        """Return the scene of a seed; one seed always gives the same scene.

        Args:
            seed: any number from 0.
            held_out: whether things and wordings are those that no model of ours is trained on,
                or those for training.
        """

    def follow(self, scene_id: str, task: TraceTask, trace: tuple[Point, ...]) -> dict[str, Any]:
        """Carry out a trace in the simulator.

        Returns:
            ``done`` (whether the task is done), ``reached``, ``touched`` (names of things that
            were moved though they should not be) and ``distance_m`` (from the goal at the end).
        """
