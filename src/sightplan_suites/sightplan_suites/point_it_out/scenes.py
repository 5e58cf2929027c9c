"""Scenes of our own: found by the name of their maker, and traces carried out in them.

A maker is an entry point of the group ``sightplan.scenes``: something that is called without
arguments and gives a ``sightplan.model.scene.SceneSource``, such as its class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from sightplan.console.progress import with_progress
from sightplan.model import InputError, plugins
from sightplan.model.region import Point
from sightplan.model.scene import PointingScene, SceneSource, TraceTask

GROUP = 'sightplan.scenes'
MOST_SCENES = 100_000
"""Largest number of scenes of one seed; the next seed's scenes begin after them."""


def make_source(name: str) -> SceneSource:
    """The maker of a name.

    Raises:
        InputError: none of that name is installed, or it cannot be used.
    """
    if name not in plugins.entry_points(GROUP):
        raise plugins.unknown('maker of scenes', name, plugins.entry_points(GROUP))
    return _scene_source(name)


@functools.cache
def _scene_source(name: str) -> SceneSource:
    return cast(SceneSource, plugins.load_object('maker of scenes', name, GROUP)())


def draw_scenes(source: str, count: int, seed: int, *, traces: bool,
                left_out: Callable[[str, str], None] = lambda scene, task: None,
                ) -> Iterator[PointingScene]:
    """Held-out scenes of a seed, one after another.

    Args:
        source: name of their maker.
        count: how many.
        seed: one seed always gives the same scenes; another one gives others.
        traces: whether their tasks to draw traces are wanted. Each of them is tried: one that its
            own oracle's trace does not do is left out.
        left_out: is told scene and text of what is left out.

    Raises:
        InputError: there is no such maker.
    """
    maker = make_source(source)
    for number in with_progress(range(count), 'scenes drawn', count):
        scene = maker.scene(seed * MOST_SCENES + number, held_out=True)
        kept = []
        for task in scene.traces if traces else ():
            if maker.follow(scene.id, task, task.oracle)['done']:
                kept.append(task)
            else:
                left_out(scene.id, task.text)
        yield replace(scene, traces=tuple(kept))


def follow(task: Mapping[str, Any], trace: tuple[Point, ...]) -> dict[str, Any] | None:
    """Carry out a trace in the simulator.

    Args:
        task: as ``s3.json`` has it of a scene of our own.
        trace: in unit coordinates.

    Returns:
        What ``SceneSource.follow`` returns; None where the maker of the scene is not installed.
    """
    try:
        maker = make_source(task['source'])
    except InputError:
        return None
    return maker.follow(task['scene'], TraceTask(
        task['text'], (task['start'][0], task['start'][1]),
        tuple((x, y) for x, y in task['oracle']), task['piece'], dict(task['goal'])), trace)
