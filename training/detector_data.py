"""Tables to learn to detect things on: shards on disk, and batches of views of them.

Arrays of a shard, for n pictures of up to THINGS instances: ``image`` (n, 240, 320, 3) uint8 and
``depth`` (n, 240, 320) uint16 [mm, 0 unknown], as the network sees them; ``owner`` (n, 240, 320)
uint8, 1 + index of the instance that is seen there, or 0 (a cabinet's drawers own their pixels);
``coloured`` (n, 9600) uint8, as bits, where the part is that a thing's colour names; ``category``
and ``colour`` (n, THINGS) str, '' for none; ``box`` (n, THINGS, 4) float32, tight boxes of visible
pixels in unit coordinates; ``opened`` (n, THINGS) float32, how far a drawer is out, as a fraction
of what it can be, else 0.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from locator_data import DEPTH_RATE, View, shown_picture
from shards import Arrays
from sightplan.model.region import Mask
from sightplan.queries.detect import COLOURS
from sightplan.queries.detect import DRAWERS as LEVELS
from sightplan_models._locator_network import COARSE, HEIGHT, WIDTH
from sightplan_models._locator_pictures import fit, put_depth, put_image
from sightplan_sim.tabletop.arrangements import HORIZONS, Arrangement, NoRoomError, arrange
from sightplan_sim.tabletop.cabinet import CABINET, DRAWERS
from sightplan_sim.tabletop.catalogue import CATEGORIES as CATALOGUE
from sightplan_sim.tabletop.catalogue import FURNITURE
from sightplan_sim.tabletop.packing import spots
from sightplan_sim.tabletop.references import arm_look
from sightplan_sim.tabletop.render import Frame, Painter
from sightplan_sim.tabletop.shapes import Placed, Pose
from sightplan_sim.tabletop.table import Table, footprint, sample_table, turned

THINGS = 24
LEAST_PIXELS = 80
"""Things with fewer visible pixels in the full picture are not learned from."""
KINDS = (*CATALOGUE, *FURNITURE, *LEVELS)
"""Categories that are learned. The detector reports those outside its catalogue as "other"."""
CATEGORY_IDS = {name: k for k, name in enumerate(KINDS, 1)}
COLOUR_IDS = {name: k for k, name in enumerate(COLOURS, 1)}
_TRIES = 48
_EVERY = 6
"""One table in this many has arbitrary things of the catalogue instead of a task to tidy."""
_ARM_RATE, _MOVED_RATE, _OPEN_RATE, _PARTLY_RATE = 0.5, 0.5, 0.35, 0.15
_SEEN = WIDTH, HEIGHT


# Drawing ---------------------------------------------------------------------------------------

def drawer_of_shards(pictures: int) -> partial[Arrays]:
    """Function that renders the shard of a seed, for ``shards.render``."""
    return partial(draw_shard, pictures)


def draw_shard(pictures: int, seed: int) -> Arrays:
    """Render a shard of tables for training."""
    with Painter() as painter:
        rows = [row(table, painter.draw(table))
                for table in itertools.islice(tables(seed), pictures)]
    return {key: np.stack([one[key] for one in rows]) for key in rows[0]}


def tables(seed: int) -> Iterator[Table]:
    """Tables of the kind for training, without end: tables to tidy, as they are and half done."""
    rng = np.random.default_rng([seed, 20_611])
    for number in itertools.count():
        own = seed * 4096 + number
        if number % _EVERY == _EVERY - 1:
            yield sample_table(own, held_out=False)
            continue
        horizon = tuple(HORIZONS)[int(rng.integers(len(HORIZONS)))]
        found = 0
        for attempt in range(_TRIES):
            try:
                arrangement = arrange(own, horizon, False, attempt)
            except NoRoomError:
                continue
            yield seen_by_arm(arrangement.table) if rng.random() < 0.15 else arrangement.table
            yield half_done(arrangement, rng)
            found += 1
            if found == 2:
                break


def seen_by_arm(table: Table) -> Table:
    """A copy of a table that is drawn as the arm's own camera shows it."""
    return dataclasses.replace(table, look=arm_look(table.look))


def half_done(arrangement: Arrangement, rng: np.random.Generator) -> Table:
    """A table while it is tidied: some things are where they belong, drawers open or closed."""
    moved: dict[str, Pose] = {}
    inside: dict[str, str] = {}
    filled = set()
    table = arrangement.table
    for clause in arrangement.clauses:
        for pool, name in clause.goods:
            names = [one for one in pool.names if one != pool.but][:pool.count]
            place = arrangement.destinations[name]
            free = spots(place, [(one, table.named(one).thing) for one in names])
            holder = next(one for one in table.things if one.thing is place.thing)
            for spot in free or ():
                if rng.random() < _MOVED_RATE:
                    moved[spot.thing] = _standing(spot.thing, spot.at_m, spot.yaw, holder, table)
                    inside[spot.thing] = holder.name
                    filled.add(name)
    things = []
    for one in table.things:
        if one.thing.category == CABINET:
            one = dataclasses.replace(one, opened=tuple(_opened(one, filled, rng)))
        if one.name in moved:
            one = dataclasses.replace(one, pose=moved[one.name], inside=inside[one.name])
        things.append(one)
    done = dataclasses.replace(table, things=tuple(things))
    return seen_by_arm(done) if rng.random() < _ARM_RATE else done


def _standing(name: str, at_m: Sequence[float], yaw: float, holder: Placed, table: Table) -> Pose:
    outline = turned(footprint(table.named(name).thing), yaw)
    middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
    x, y = (turned((np.array(at_m[:2]) - middle)[None], holder.pose.yaw)[0]
            + holder.pose.position[:2])
    return Pose((float(x), float(y), float(at_m[2])), yaw + holder.pose.yaw)


def _opened(cabinet: Placed, filled: set[str], rng: np.random.Generator,
            ) -> Iterator[tuple[str, float]]:
    """Yield drawers and how far they are open; drawers with things in them are fully open."""
    for part in cabinet.thing.parts:
        if part.name in DRAWERS and part.slide is not None:
            if part.name in filled:
                yield part.name, part.slide.upper
            elif rng.random() < _OPEN_RATE:
                partly = rng.uniform(0.6, 1.0) if rng.random() < _PARTLY_RATE else 1.0
                yield part.name, float(partly * part.slide.upper)


def row(table: Table, frame: Frame) -> dict[str, Any]:
    """The arrays of a picture."""
    view = fit(frame.rgb.shape[1::-1], _SEEN)
    instances = list(seen_instances(table, frame))[:THINGS]
    height, width = frame.things.shape
    owner = np.zeros((height, width), np.uint8)
    out: dict[str, Any] = {
        'category': np.zeros(THINGS, 'U16'), 'colour': np.zeros(THINGS, 'U8'),
        'box': np.zeros((THINGS, 4), np.float32), 'opened': np.zeros(THINGS, np.float32)}
    for k, one in enumerate(instances):
        owner[one.own] = k + 1
        out['category'][k], out['colour'][k] = one.category, one.colour
        out['opened'][k] = one.opened
        rows, columns = (np.flatnonzero(one.mask.any(axis=axis)) for axis in (1, 0))
        out['box'][k] = (columns[0] / width, rows[0] / height, (columns[-1] + 1) / width,
                         (rows[-1] + 1) / height)
    coloured = coloured_part(table, frame)
    depth = put_depth(frame.depth_m, view, _SEEN)
    return out | {
        'image': put_image(frame.rgb, view, _SEEN), 'owner': owner[::2, ::2],
        'depth': np.clip(np.round(depth * 1e3), 0, 65535).astype(np.uint16),
        'coloured': np.packbits(coloured[::2, ::2])}


@dataclasses.dataclass(frozen=True, eq=False)
class Instance:
    """A thing or drawer that is to be detected.

    Attributes:
        category, colour: words; of a drawer no colour.
        mask: (H, W) visible pixels.
        own: (H, W) those that do not count as a drawer's.
        opened: how far a drawer is out, in [0, 1].
    """

    category: str
    colour: str
    mask: Mask
    own: Mask
    opened: float = 0.0


def seen_instances(table: Table, frame: Frame) -> Iterator[Instance]:
    """The instances of a picture of which enough is seen."""
    for k, one in enumerate(table.things):
        mask = frame.things == k
        own = mask
        if one.thing.category == CABINET:
            for part, level in zip(DRAWERS, LEVELS, strict=True):
                shown = mask & np.isin(frame.parts, list(one.thing.indices(part)))
                slide = next(p.slide for p in one.thing.parts if p.name == part)
                assert slide is not None
                own = own & ~shown
                if np.count_nonzero(shown) >= LEAST_PIXELS:
                    yield Instance(level, '', shown, shown,
                                   dict(one.opened).get(part, 0.0) / slide.upper)
        if np.count_nonzero(own) >= LEAST_PIXELS:
            yield Instance(one.thing.category, one.thing.colour, mask, own)


def coloured_part(table: Table, frame: Frame) -> Mask:
    """(H, W) where the parts are that things' colours name."""
    out = np.zeros(frame.things.shape, bool)
    for k, one in enumerate(table.things):
        named = [index for index, part in enumerate(one.thing.parts)
                 if part.name == one.thing.coloured]
        out |= (frame.things == k) & np.isin(frame.parts, named)
    return out


# Batches ---------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Pictures and the things that they show.

    Attributes:
        picture: (B, CHANNELS, HEIGHT, WIDTH) float32.
        owner: (B, *COARSE) 1 + index of the instance that is there; 0 for none.
        coloured: (B, *MAP) bool, where a thing's colour is seen.
        heat: (B, *COARSE) how near an instance's centre is, 1 at it.
        where: (B, 4, *COARSE) offset to the centre and size of the instance that is there.
        at: (B, THINGS) where its centre is in the flattened map.
        category, colour: (B, THINGS) 1 + index, 0 for none.
        box: (B, THINGS, 4) left, top, right, bottom in unit coordinates.
        opened: (B, THINGS) 1 or 0; -1 for what does not open.
    """

    picture: torch.Tensor
    owner: torch.Tensor
    coloured: torch.Tensor
    heat: torch.Tensor
    where: torch.Tensor
    at: torch.Tensor
    category: torch.Tensor
    colour: torch.Tensor
    box: torch.Tensor
    opened: torch.Tensor

    def to(self, device: str) -> Batch:
        """Copy of the batch on a device."""
        return Batch(**{field.name: getattr(self, field.name).to(device, non_blocking=True)
                        for field in dataclasses.fields(self)})


def make_batch(data: Arrays, rng: np.random.Generator | None) -> Batch:
    """A batch; varied if a generator is given, else as it is."""
    rows = [_sample(data, k, rng) for k in range(len(data['image']))]
    return Batch(**{key: torch.from_numpy(np.stack([one[key] for one in rows]))
                    for key in rows[0]})


def _sample(data: Arrays, k: int, rng: np.random.Generator | None) -> dict[str, NDArray[Any]]:
    """The arrays of one picture of a batch."""
    view = View.draw(data, k, rng)
    depth = rng is None or rng.random() < DEPTH_RATE
    owner = view.warped(data['owner'][k])
    bits = np.unpackbits(data['coloured'][k]).reshape(HEIGHT, WIDTH)
    box = _moved(data['box'][k], view)
    category = np.array([CATEGORY_IDS.get(str(name), 0) for name in data['category'][k]])
    colour = np.array([COLOUR_IDS.get(str(name), 0) for name in data['colour'][k]])
    opened = np.where(np.isin(data['category'][k], LEVELS), data['opened'][k] > 0.5, -1)
    return {'picture': shown_picture(data, k, view, depth, rng),
            'coloured': view.warped(bits)[::2, ::2] > 0,
            'category': category, 'colour': colour, 'box': box.astype(np.float32),
            'opened': opened.astype(np.float32), **_dense(owner)}


def _moved(box: NDArray[np.float32], view: View) -> NDArray[np.float64]:
    """(N, 4) boxes as a view shows them."""
    corners = box.reshape(-1, 2, 2).astype(np.float64)
    if view.turn is not None:
        size = np.array([WIDTH, HEIGHT])
        corners = (corners * size @ view.turn[:, :2].T + view.turn[:, 2]) / size
    if view.flip:
        corners[:, :, 0] = 1 - corners[::1, ::-1, 0]
    return np.clip(corners.reshape(-1, 4), 0.0, 1.0)


def _dense(owner: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Targets of each place of the coarser map, and the places of centres."""
    rows, columns = COARSE
    y, x = np.mgrid[:rows, :columns]
    heat = np.zeros(COARSE, np.float32)
    where = np.zeros((4, *COARSE), np.float32)
    small = _coarse(owner)
    centres = np.full(THINGS, -1)
    for index in np.unique(small[small > 0]):
        inside = small == index
        at = np.argwhere(inside)
        middle = at.mean(0)
        row, column = at[np.argmin(((at - middle) ** 2).sum(1))]
        low, high = at.min(0), at.max(0) + 1
        wide = 0.6 + 0.08 * float(min(high - low))
        heat = np.maximum(heat, np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * wide**2)))
        where[:, inside] = np.stack([
            (column - x[inside]) / columns, (row - y[inside]) / rows,
            np.full(len(at), (high[1] - low[1]) / columns),
            np.full(len(at), (high[0] - low[0]) / rows)])
        centres[index - 1] = row * columns + column
    return {'heat': heat.astype(np.float32), 'where': where, 'at': centres,
            'owner': small.astype(np.int64)}


def _coarse(owner: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The instance map at a quarter of the size: the instance in the middle of each cell, or 0."""
    rows, columns = COARSE
    cells = owner.reshape(rows, 4, columns, 4).transpose(0, 2, 1, 3).reshape(rows, columns, 16)
    near = cells[:, :, [5, 6, 9, 10]]
    return np.asarray(np.where((near > 0).sum(2) >= 2, near.max(2), 0))
