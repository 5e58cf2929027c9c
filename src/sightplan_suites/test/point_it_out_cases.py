"""Small data in the format of Point-It-Out, and a maker of scenes that only draws."""

from __future__ import annotations

import importlib.metadata
import json
import math
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from sightplan.model.scene import Piece, PointingScene, PointingTask, TraceTask

SIZE = (64, 48)
SQUARE = [10, 10, 29, 10, 29, 29, 10, 29]
"""Fills columns and rows 10 to 29."""


def save_picture(path, size=SIZE, kind=None):
    """A picture of noise, so that its file is not tiny."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).save(path, kind)


def place(**changes):
    """An entry of s1s2.json."""
    return {'polygon': [SQUARE], 'image_path': 'a.png', 'height': SIZE[1], 'width': SIZE[0],
            'lang': 'the square', 'dataset_name': 'where2place', 's1_or_s2': 's1',
            'subclasses': 'object', **changes}


def write_data(folder, places=(), traces=(), pictures=('images_s1s2/a.png',), size=SIZE):
    """A folder of data; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in pictures:
        save_picture(folder / name, size)
    for kind, entries in (('s1s2', places), ('s3', traces)):
        if entries:
            (folder / f'{kind}.json').write_text(json.dumps(list(entries)))
    return folder


class DrawnScenes:
    """Coloured discs and rings on a table, drawn with OpenCV; a trace does its task if it ends
    near the goal."""

    size = 160, 120

    def scene(self, seed, *, held_out=True):
        rng = np.random.default_rng(seed)
        width, height = self.size
        image = np.full((height, width, 3), 200, np.uint8)
        image += rng.integers(0, 20, image.shape, np.uint8)
        pieces, tasks = [], []
        for number, (name, colour) in enumerate((('red', (200, 30, 30)), ('blue', (30, 30, 200)),
                                                 ('green', (30, 160, 30)))):
            centre = 27 + 53 * number, int(rng.integers(30, 90))
            canvas = np.zeros((height, width), np.uint8)
            cv2.circle(canvas, centre, 18, 1, -1)
            cv2.circle(canvas, centre, 6, 0, -1)  # a hole
            image[canvas > 0] = colour
            mask = canvas.astype(bool)
            left = mask.copy()
            left[:, centre[0]:] = False
            pieces.append(Piece(f'{name} ring', 'ring', mask))
            tasks += [PointingTask(f'the {name} ring', 's1', 'object', mask, f'{name} ring'),
                      PointingTask(f'the left half of the {name} ring', 's1', 'object part', left,
                                   f'{name} ring'),
                      PointingTask(f'where to grip the {name} ring', 's2', 'contact', left,
                                   f'{name} ring')]
        start = float(rng.uniform(0.1, 0.4)), float(rng.uniform(0.1, 0.9))
        end = float(rng.uniform(0.6, 0.9)), float(rng.uniform(0.1, 0.9))
        traces = (TraceTask('slide the red ring to the right', start, (start, end), 'red ring',
                            {'at': list(end)}),)
        return PointingScene(f'drawn/{seed}', image, np.full((height, width), 0.75, np.float32),
                             (150.0, 150.0, 80.0, 60.0), tuple(pieces), tuple(tasks), traces)

    def follow(self, scene_id, task, trace):
        away = math.dist(trace[-1], task.goal['at'])
        return {'done': away < 0.05, 'reached': True, 'touched': [], 'distance_m': away}


def install_scenes(monkeypatch, source=DrawnScenes, name='tabletop'):
    """Let a class be the maker of scenes that is found by a name."""
    from sightplan.model import plugins
    from sightplan_suites.point_it_out import samples, scenes
    point = importlib.metadata.EntryPoint(name, 'point_it_out_cases:made_scenes', scenes.GROUP)
    real = plugins.entry_points
    monkeypatch.setattr(plugins, 'entry_points', lambda group: (
        {name: point} if group == scenes.GROUP else real(group)))
    load = scenes.plugins.load_object
    monkeypatch.setattr(scenes.plugins, 'load_object', lambda kind, name, group: (
        source if group == scenes.GROUP else load(kind, name, group)))
    scenes._scene_source.cache_clear()
    samples._drawn.cache_clear()


def no_scenes(monkeypatch):
    """Let no maker of scenes be installed."""
    from sightplan.model import plugins
    from sightplan_suites.point_it_out import samples, scenes
    real = plugins.entry_points
    monkeypatch.setattr(plugins, 'entry_points', lambda group: (
        {} if group == scenes.GROUP else real(group)))
    samples._drawn.cache_clear()


def predictions(path: Path, *lines):
    """A file of predictions; returns its path."""
    path.write_text(''.join(json.dumps(line) + '\n' for line in lines))
    return path


def official_like(folder, seed=0):
    """As many items, pictures, sizes and sources as the released files have."""
    rng = np.random.default_rng(seed)
    entries, number = [], 0
    for source, count, pictures, size, split, kind in (
            ('where2place', 154, 50, (640, 480), 's1', 'object'),
            ('bdd10k', 134, 51, (1280, 720), 's2', 'safety'),
            ('epickitchen', 103, 50, (456, 256), 's2', 'afd'),
            ('agibot', 55, 36, (640, 480), 's2', 'recommend'),
            ('rt1', 54, 54, (320, 256), 's1', 'restriction')):
        for index in range(pictures):
            path = folder / 'images_s1s2' / f'{source}_{index}.jpg'
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 255, (size[1] // 8, size[0] // 8, 3), np.uint8)
            Image.fromarray(pixels).resize(size).save(path, quality=92)
        for index in range(count):
            centre = rng.uniform(0.2, 0.8, 2) * size
            turn = np.sort(rng.uniform(0, 2 * np.pi, 24))
            away = rng.uniform(0.03, 0.12, 24) * min(size)
            ring = np.stack([centre[0] + away * np.cos(turn), centre[1] + away * np.sin(turn)], 1)
            entries.append(place(
                polygon=[[float(v) for v in ring.ravel()]], width=size[0], height=size[1],
                image_path=f'{source}_{index % pictures}.jpg', dataset_name=source,
                lang=f'thing {number}', s1_or_s2=split, subclasses=kind))
            number += 1
    (folder / 's1s2.json').write_text(json.dumps(entries))
    return folder
