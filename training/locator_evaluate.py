#!/usr/bin/env python3
"""Measure a locator on held-out scenes through the backend, and calibrate its probability.

Held-out scenes have things and phrasings that none for training has. Each task is asked with depth
and without; what counts is whether the point is on the mask, pixel by pixel. Intervals are 95 %,
by a bootstrap over scenes. ``--calibrate`` first fits, on other scenes for training, reworded as
in training, how likely a point is right, and how likely the target is in the picture at all, and
writes that to the model folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sightplan.model.query import ask_one

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
from numpy.typing import NDArray

from locator_data import scene_source
from locator_wording import Wording
from sightplan.metrics.calibration import reliability
from sightplan.metrics.measures import SHARE, Measure, aggregate
from sightplan.model import Form, Region, Target
from sightplan.model.region import Mask
from sightplan.model.scene import PointingScene
from sightplan.queries.locate import Locate
from sightplan_models._unlike import SHIPPED
from sightplan_models.embedded import LOCATOR, Backend, Settings

FIRST, FIRST_CALIBRATION = 500_000, 900_000
"""First seeds of the scenes for tests and for calibration. Training scenes have smaller seeds."""
GOALS = {'s1': 0.85, 's2 afd, contact': 0.70}
Row = dict[str, Any]


def on_mask(region: Region, mask: Mask) -> bool:
    """Whether a point is on a mask."""
    height, width = mask.shape
    (column, row), = region.pixels(width, height)
    return bool(mask[min(max(row, 0), height - 1), min(max(column, 0), width - 1)])


def box_score(region: Region, mask: Mask) -> float:
    """The IoU of a box with a mask, divided by that of the mask's tight bounding box."""
    height, width = mask.shape
    (x1, y1), (x2, y2) = region.pixels(width, height)
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    best = mask.sum() / ((rows[-1] + 1 - rows[0]) * (columns[-1] + 1 - columns[0]))
    inside = mask[max(y1, 0):y2, max(x1, 0):x2].sum()
    area = max(0, x2 - x1) * max(0, y2 - y1)
    return float(inside / (area + mask.sum() - inside) / best)


def ask_scene(backend: Backend, scene: PointingScene, views: Sequence[str]) -> list[Row]:
    """Every task of a scene, in each view: ``depth``, ``picture`` (no depth) or ``grey``."""
    out = []
    for view in views:
        image = np.full_like(scene.image, 128) if view == 'grey' else scene.image
        depth = scene.depth_m if view == 'depth' else None
        for task in scene.tasks:
            if not task.mask.any():
                continue
            found = {form: ask_one(backend, Locate(image, Target(task.text, form), depth))
                     for form in (Form.POINT, Form.BOX)}
            point, box = (found[form].regions for form in (Form.POINT, Form.BOX))
            out.append({'scene': scene.id, 'view': view, 'stage': task.stage, 'kind': task.kind,
                        'hit': bool(point) and on_mask(point[0], task.mask),
                        'box': box_score(box[0], task.mask) if box else 0.0,
                        'p': found[Form.POINT].probability, 'text': task.text,
                        'area': float(task.mask.mean())})
    return out


def _work(job: tuple[str, str, bool, tuple[str, ...], list[int]]) -> list[Row]:
    source, folder, held_out, views, seeds = job
    maker, backend = scene_source(source), Backend(Settings(locator_dir=folder))
    return [row for seed in seeds
            for row in ask_scene(backend, maker.scene(seed, held_out=held_out), views)]


def gather(source: str, folder: Path, seeds: Sequence[int], views: tuple[str, ...],
           processes: int, held_out: bool = True) -> list[Row]:
    """Rows of all scenes, measured in several processes."""
    jobs = [(source, str(folder), held_out, views, list(seeds[k::processes]))
            for k in range(processes)]
    if processes == 1:
        return _work(jobs[0])
    with get_context('spawn').Pool(processes) as pool:
        return [row for rows in pool.map(_work, jobs) for row in rows]


# Tables ----------------------------------------------------------------------------------------

def share(rows: Sequence[Row], key: str = 'hit') -> dict[str, Any]:
    """Mean, its 95 % interval over scenes (None of one scene) and the number of tasks."""
    found = aggregate([{'cluster': row['scene'], 'measures': {key: float(row[key])}}
                       for row in rows], Measure(key, '', SHARE))
    return {'mean': _rounded(found.value), 'low': _rounded(found.low),
            'high': _rounded(found.high), 'n': found.n}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def groups_of(row: Row) -> list[str]:
    """Lines of the table in which a row counts."""
    names = [row['stage'], f'{row["stage"]} {row["kind"]}']
    return [*names, 's2 afd, contact'] if names[1] in ('s2 afd', 's2 contact') else names


def table(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares by view and group."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for name in groups_of(row):
            found[row['view']][name].append(row)
    out: dict[str, Any] = {}
    for view, groups in found.items():
        out[view] = {name: {'on_mask': share(some), 'box': share(some, 'box')}
                     for name, some in sorted(groups.items())}
        every = [row for row in rows if row['view'] == view]
        said = reliability([row['p'] for row in every], [row['hit'] for row in every],
                           groups=[row['scene'] for row in every])
        out[view]['calibration'] = {
            'ece': round(float(said.ece), 4), 'bins': [
                [round(float(np.mean([r['p'] for r in some])), 3),
                 round(float(np.mean([r['hit'] for r in some])), 3), len(some)]
                for k in range(10)
                if (some := [r for r in every if min(int(r['p'] * 10), 9) == k])]}
    return out


# Calibration -----------------------------------------------------------------------------------

def calibrate(source: str, folder: Path, scenes: int) -> tuple[float, ...]:
    """Fit the probability that a point is right, if the target is there; see ``write_setting``."""
    import sightplan_models._embedded_locator as locating

    maker, rng = scene_source(source), random.Random(0)
    network = locating.EmbeddedLocator(folder)
    known, right = [], []
    for k in range(scenes):
        scene = maker.scene(FIRST_CALIBRATION + k, held_out=False)
        wording = Wording(piece.category for piece in scene.pieces)
        depth = scene.depth_m if k % 2 else None
        for task in scene.tasks:
            request = Locate(scene.image, Target(wording.reworded(task.text, rng)), depth)
            region, seen = network.point(request)
            known.append(seen)
            right.append(on_mask(region, task.mask))
    weights = fitted(np.array(known), np.array(right))
    write_setting(folder, 'calibration', weights)
    return weights


def calibrate_existence(folder: Path, scenes: int) -> tuple[float, ...]:
    """Fit the probability, at even odds beforehand, that a target is on a table at all.

    Targets that are there are those of the scene; those that are not are kinds that are not there,
    kinds of which only a similar one is, and things that are there in other colours, of which
    other things have some. See ``write_setting``.
    """
    import sightplan_models._embedded_locator as locating
    from sightplan_sim.tabletop.absences import LOOKALIKES, absent_targets
    from sightplan_sim.tabletop.source import table_of

    maker, rng = scene_source('tabletop'), random.Random(1)
    network = locating.EmbeddedLocator(folder)
    known, there = [], []
    for k in range(scenes):
        scene = maker.scene(FIRST_CALIBRATION + k, held_out=False)
        wording = Wording(piece.category for piece in scene.pieces)
        depth = scene.depth_m if k % 2 else None
        asked = [(task.text, True) for task in scene.tasks] + [
            (one.text, False) for _ in range(3) for one in absent_targets(
                table_of(scene.id), rng, ('kind', *LOOKALIKES))]
        for text, exists in asked:
            target = Target(wording.reworded(text, rng))
            known.append([network.there(Locate(scene.image, target, depth))])
            there.append(exists)
    right = np.array(there)
    weights = fitted(np.array(known), right, np.where(right, 0.5 / right.mean(),
                                                      0.5 / (1 - right.mean())))
    write_setting(folder, 'existence', weights)
    return weights


def write_setting(folder: Path, name: str, weights: Sequence[float]) -> None:
    """Write the weights of a calibration to the settings of the model folder."""
    import sightplan_models._embedded_locator as locating

    path = folder / locating.SETTINGS_FILE
    found = json.loads(path.read_text())
    found[name] = [round(w, 4) for w in weights]
    path.write_text(json.dumps(found, indent=1) + '\n')


def fitted(known: NDArray[np.float64], right: NDArray[np.bool_],
           weight: NDArray[np.float64] | float = 1.0) -> tuple[float, ...]:
    """Logistic regression by Newton's method, held back a little; rows may be weighted."""
    x = np.column_stack([np.ones(len(known)), known])
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ w))
        slope = x.T @ (weight * (right - p)) - 0.1 * w
        bend = (x * (weight * p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(len(w))
        w += np.linalg.solve(bend, slope)
    return tuple(map(float, w))


# Speed -----------------------------------------------------------------------------------------

def speed(source: str, folder: Path, scenes: int = 20) -> dict[str, Any]:
    """Milliseconds on one thread for one target of a new picture, and ten of another."""
    maker, backend = scene_source(source), Backend(Settings(locator_dir=str(folder), threads=1))
    one, ten, cpu = [], [], []
    for k in range(scenes + 2):
        scene = maker.scene(FIRST + k)
        texts = [task.text for task in scene.tasks][:10]
        first = Locate(scene.image, Target(texts[0]), scene.depth_m)
        started, used = time.perf_counter(), time.process_time()
        ask_one(backend, first)
        one.append(1e3 * (time.perf_counter() - started))
        cpu.append(1e3 * (time.process_time() - used))
        image = np.ascontiguousarray(scene.image[:, ::-1])
        started = time.perf_counter()
        for j in range(10):
            ask_one(backend, Locate(image, Target(texts[j % len(texts)]), scene.depth_m))
        ten.append(1e3 * (time.perf_counter() - started))
    return {'one_target_ms': round(statistics.median(one[2:]), 1),
            'one_target_cpu_ms': round(statistics.median(cpu[2:]), 1),
            'ten_targets_ms': round(statistics.median(ten[2:]), 1), 'pictures': scenes,
            'load': os.getloadavg()[0]}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--source', default='tabletop', help='maker of the scenes')
    parser.add_argument('--model-dir', type=Path, default=SHIPPED / LOCATOR,
                        help='folder of the model')
    parser.add_argument('--scenes', type=int, default=300)
    parser.add_argument('--first', type=int, default=FIRST, help='seed of the first scene')
    parser.add_argument('--training-scenes', action='store_true',
                        help='measure on scenes like those for training instead')
    parser.add_argument('--views', nargs='+', default=['depth', 'picture'],
                        choices=('depth', 'picture', 'grey'))
    parser.add_argument('--processes', type=int, default=1)
    parser.add_argument('--calibrate', type=int, default=0, metavar='SCENES',
                        help='first calibrate on so many scenes')
    parser.add_argument('--speed', action='store_true', help='measure the time, too')
    parser.add_argument('--rows', type=Path, default=None, help='file for every single result')
    parser.add_argument('--out', type=Path, default=None, help='file for the tables')
    args = parser.parse_args(argv)
    if args.calibrate:
        print('calibration', calibrate(args.source, args.model_dir, args.calibrate), flush=True)
        if args.source == 'tabletop':
            print('existence', calibrate_existence(args.model_dir, args.calibrate), flush=True)
    seeds = range(args.first, args.first + args.scenes)
    rows = gather(args.source, args.model_dir, seeds, tuple(args.views), args.processes,
                  not args.training_scenes)
    found = {'source': args.source, 'first_seed': args.first, 'scenes': args.scenes,
             'held_out': not args.training_scenes, 'goals': GOALS, 'views': table(rows)}
    if args.speed:
        found['speed'] = speed(args.source, args.model_dir)
    if args.rows is not None:
        args.rows.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    text = json.dumps(found, indent=1) + '\n'
    print(text)
    if args.out is not None:
        args.out.write_text(text)


if __name__ == '__main__':
    main()
