"""Scenes of our own: found by the name of their maker, and turned into tasks.

A maker is an entry point of the group ``sightplan.grounded_plan_scenes``: something that is
called without arguments and gives a ``sightplan.model.grounded_plan.GroundedPlanSource``.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sightplan.console.progress import with_progress
from sightplan.model import InputError, plugins
from sightplan.model.grounded_plan import GroundedPlanScene, GroundedPlanSource, GroundedPlanTask
from sightplan.model.region import Mask
from sightplan.runs.dataset import (
    Entry,
    PictureFiles,
)
from sightplan_suites.grounded_plan.coordinates import Box, Coords
from sightplan_suites.grounded_plan.records import (
    DEPTH,
    IMAGES,
    INSTRUCTION_KINDS,
    Dataset,
    Item,
    entry_of,
    horizon_of,
    read_entries,
)

GROUP = 'sightplan.grounded_plan_scenes'
MOST_SCENES = 100_000
"""Largest number of scenes of one seed; the next seed's scenes begin after them."""
_MOST_FRUITLESS = 50
"""Scenes in a row without a wanted task after which the search ends with an error."""


def make_source(name: str) -> GroundedPlanSource:
    """The maker of a name.

    Raises:
        InputError: none of that name is installed, or it cannot be used.
    """
    if name not in plugins.entry_points(GROUP):
        raise plugins.unknown('maker of scenes for grounded plans', name,
                              plugins.entry_points(GROUP))
    return _scene_source(name)


@functools.cache
def _scene_source(name: str) -> GroundedPlanSource:
    return cast(GroundedPlanSource, plugins.load_object(
        'maker of scenes for grounded plans', name, GROUP)())


@dataclass(frozen=True, eq=False)
class DrawnScene:
    """A scene as files and tasks.

    Attributes:
        items: its tasks that are wanted.
        files: content by name: picture and depth.
        skipped: what is left out, and why, as ``Dataset.skipped``.
    """

    items: tuple[Item, ...]
    files: dict[str, bytes]
    skipped: tuple[dict[str, str], ...]


def draw_scenes(source: str, horizon: str, count: int, seed: int, *, held_out: bool = True,
                ) -> Iterator[DrawnScene]:
    """Scenes of a seed until there are enough tasks, one after another.

    Args:
        source: name of their maker.
        horizon: short, medium or long.
        count: so many tasks with explicit instructions, and as many with implicit ones. Up to
            half of the explicit ones are about the scenes of the implicit ones.
        seed: one seed always gives the same scenes; another one gives others.
        held_out: see ``GroundedPlanSource.scene``.

    Raises:
        InputError: there is no such maker, or it makes no such tasks.
    """
    maker = make_source(source)
    explicit, implicit = INSTRUCTION_KINDS

    number = 0

    def scenes(kind: str, missing: dict[str, int]) -> Iterator[DrawnScene]:
        nonlocal number
        idle = 0
        while missing[kind]:
            scene = maker.scene(seed * MOST_SCENES + number, horizon, held_out=held_out,
                                explicit=kind == explicit)
            drawn = _drawn(scene, horizon, f'{kind[0]}{number:05}', missing)
            number += 1
            idle = 0 if drawn.items else idle + 1
            if idle > _MOST_FRUITLESS or number >= MOST_SCENES:
                raise InputError(
                    f'scenes {source!r}, {horizon}: {number} scenes of seed {seed} leave '
                    f'{missing[kind]} {kind} tasks missing (ask for fewer, or for another maker)')
            if drawn.items or drawn.skipped:
                yield drawn

    shared = {implicit: count, explicit: count // 2}
    def all_scenes() -> Iterator[DrawnScene]:
        yield from scenes(implicit, shared)
        yield from scenes(explicit, {explicit: count - count // 2 + shared[explicit]})

    yield from with_progress(all_scenes(), f'{horizon} tasks drawn', 2 * count,
                             lambda scene: len(scene.items))


def _drawn(scene: GroundedPlanScene, horizon: str, label: str, missing: dict[str, int],
           ) -> DrawnScene:
    """The tasks of a scene that are still missing, and its files."""
    height, width = scene.image.shape[:2]
    name = f'{horizon}/{label}'
    image, depth = f'{IMAGES}/{horizon}_{label}.png', f'{DEPTH}/{horizon}_{label}.png'
    things = tuple((piece.name, box) for piece in scene.pieces
                   if (box := mask_box(piece.mask)) is not None)
    items, skipped = [], []
    for index, task in enumerate(scene.tasks):
        kind = INSTRUCTION_KINDS[0] if task.explicit else INSTRUCTION_KINDS[1]
        if horizon_of(task.horizon) != horizon:
            skipped.append({'file': scene.id, 'reason': f'{task.instruction!r} has '
                            f'{task.horizon} primitives, which is not {horizon}'})
        elif missing.get(kind):
            missing[kind] -= 1
            items.append(Item(f'{name}/{index}-{kind}', scene.id, image, (width, height),
                              Coords.PIXEL_XYXY, _with_pair(task, name), things, depth,
                              scene.camera))
    files = {image: png(scene.image), depth: _depth_file(scene)} if items else {}
    return DrawnScene(tuple(items), files, tuple(skipped))


def _with_pair(task: GroundedPlanTask, name: str) -> GroundedPlanTask:
    return replace(task, pair=f'{name}/{task.pair}')


def mask_box(mask: Mask) -> Box | None:
    """The tight box of a mask, None if it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    height, width = mask.shape
    return (float(columns[0] / width), float(rows[0] / height),
            float((columns[-1] + 1) / width), float((rows[-1] + 1) / height))


def drawn_dataset(source: str, horizon: str, count: int, seed: int) -> Dataset:
    """Held-out scenes as a data set, the same as if they had been written and read."""
    entries: list[Entry] = []
    skipped: list[dict[str, str]] = []
    held: dict[str, bytes] = {}
    for scene in draw_scenes(source, horizon, count, seed):
        entries += [(item.scene, entry_of(item), '') for item in scene.items]
        skipped += scene.skipped
        held |= scene.files
    read = read_entries(source, entries)
    return replace(read, skipped=(*skipped, *read.skipped), files=PictureFiles(held=held))


def written(item: Item) -> dict[str, Any]:
    """The record of a task of ours, with where it is from."""
    return {**entry_of(item), 'source': {'dataset': 'sightplan', 'license': 'Apache-2.0'}}


def png(image: NDArray[np.uint8] | NDArray[np.uint16]) -> bytes:
    """A PNG file; pictures with noise hardly get smaller by more than a quick compression."""
    from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, 'PNG', compress_level=1)
    return buffer.getvalue()


def _depth_file(scene: GroundedPlanScene) -> bytes:
    """Depth as a PNG of 16-bit millimetres (REP 118), 0 where it is not known."""
    millimetres = np.nan_to_num(scene.depth_m * 1000.0, nan=0.0, posinf=0.0, neginf=0.0)
    return png(np.clip(np.rint(millimetres), 0, 65_535).astype(np.uint16))
