#!/usr/bin/env python3
"""Measure a detector on pictures of tables to tidy, and calibrate its probabilities.

A thing is *found* if a detection of its category has at least half of both boxes in common
(intersection over union), one detection for one thing; it is *right* if its colour is right, too,
or, of a drawer, whether it is open.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sightplan.model.query import ask_one
from sightplan.queries.detect import CABINET, CATEGORIES, DRAWERS, OTHER, Detect, Detection
from sightplan_models._embedded_detector import (
    SETTINGS_FILE,
    Calibration,
    Candidates,
    EmbeddedDetector,
    overlap,
)

ENOUGH = 0.5
"""Intersection over union from which a box is right."""
LEAST = 0.35
"""Probability from which a detection is reported."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and the things in it; ``detector_scenes`` writes the files."""

    name: str
    image: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    category: tuple[str, ...]
    colour: tuple[str, ...]
    box: NDArray[np.float64]
    opened: NDArray[np.float64]

    def request(self, depth: bool = True) -> Detect:
        """Query for all things in the picture."""
        return Detect(self.image, self.depth_m if depth else None)


def read_scenes(folder: Path) -> Iterator[Scene]:
    """Yield all scenes of a folder."""
    for path in sorted(folder.glob('*.npz')):
        with np.load(path) as data:
            kinds = tuple(str(name) if str(name) in CATEGORIES else OTHER
                          for name in data['category'])
            yield Scene(path.stem, data['image'], data['depth'], kinds,
                        tuple(map(str, data['colour'])), data['box'], data['opened'])


def matched(boxes: Sequence[Any], scene: Scene, alike: NDArray[np.bool_]) -> dict[int, int]:
    """Match things to detections one to one: index of a thing to index of its detection.

    Args:
        boxes: of the detections.
        scene: with the truth.
        alike: (detections, things) which may be which.
    """
    if not len(boxes) or not len(scene.box):
        return {}
    gain = np.array([[overlap(box, other) for other in scene.box] for box in boxes])
    gain = np.where(alike & (gain >= ENOUGH), gain, 0.0)
    return {int(j): int(i) for i, j in zip(*linear_sum_assignment(-gain), strict=True)
            if gain[i, j] > 0}


def measure(detector: EmbeddedDetector, scenes: Sequence[Scene], depth: bool) -> dict[str, Any]:
    """Recall and false detections."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    confusions: Counter[str] = Counter()
    false, whole, took = 0, Counter[str](), []
    for scene in scenes:
        started = time.process_time()
        told = ask_one(detector, scene.request(depth)).detections
        took.append(time.process_time() - started)
        boxes = [_corners(one) for one in told]
        named = np.array([[one.category == kind for kind in scene.category] for one in told],
                         bool).reshape(len(told), len(scene.category))
        pairs = matched(boxes, scene, named)
        loose = matched(boxes, scene, np.ones_like(named))
        false += len(told) - len(pairs)
        right = 0
        for k, kind in enumerate(scene.category):
            counts[kind]['n'] += 1
            counts[kind]['located'] += k in loose
            counts[kind]['found'] += k in pairs
            if k in pairs and _is_right(told[pairs[k]], scene, k):
                counts[kind]['right'] += 1
                right += 1
            elif k in pairs:
                confusions[f'{kind}: {scene.colour[k]} read as {told[pairs[k]].colour}'] += 1
            else:
                as_what = told[loose[k]].category if k in loose else 'not located'
                confusions[f'{kind}: {as_what}'] += 1
        horizon = scene.name.split('_')[-2]
        whole[horizon] += 1
        whole[f'{horizon} whole'] += right == len(scene.category)
    total = Counter[str]()
    for one in counts.values():
        total.update(one)
    return {
        'pictures': len(scenes), 'things': total['n'], 'right': _rate(total, 'right'),
        'found': _rate(total, 'found'), 'located': _rate(total, 'located'),
        'false_per_picture': round(false / max(1, len(scenes)), 3),
        'whole_pictures': {name: round(whole[f'{name} whole'] / whole[name], 3)
                           for name in sorted(whole) if ' ' not in name},
        'cpu_ms': round(1e3 * float(np.median(took)), 1),
        'by_category': {kind: {'n': one['n'], **{key: _rate(one, key) for key in (
            'right', 'found', 'located')}} for kind, one in sorted(counts.items())},
        'errors': dict(confusions.most_common(25))}


def _rate(counts: Counter[str], key: str) -> float:
    return round(counts[key] / max(1, counts['n']), 4)


def _is_right(told: Detection, scene: Scene, k: int) -> bool:
    if scene.category[k] in DRAWERS:
        return told.opened is not None and (told.opened > 0.5) == bool(scene.opened[k] > 0.5)
    return told.colour == scene.colour[k]


def _corners(told: Detection) -> tuple[float, float, float, float]:
    (x1, y1), (x2, y2) = told.region.points
    return x1, y1, x2, y2


# Calibration -----------------------------------------------------------------------------------

def calibrate(detector: EmbeddedDetector, scenes: Sequence[Scene]) -> Calibration:
    """Fit probabilities on scenes that were not learned from."""
    evidence, right = [], []
    kinds: tuple[list[Any], list[int]] = [], []
    colours: tuple[list[Any], list[int]] = [], []
    opened: tuple[list[float], list[float]] = [], []
    for scene in scenes:
        found = detector.candidates(scene.request())
        names = [detector.categories[k] for k in found.category.argmax(1)]
        names = [name if name in CATEGORIES else OTHER for name in names]
        alike = np.array([[_may_be(name, kind) for kind in scene.category] for name in names])
        pairs = matched(list(found.box), scene, alike)
        hits = {i: j for j, i in pairs.items()}
        evidence += found.evidence.tolist()
        right += [k in hits for k in range(len(names))]
        for i, j in hits.items():
            _note(detector, found, i, scene, j, kinds, colours, opened)
    weights = _logistic(np.array(evidence), np.array(right, float))
    bias, centre, category = (round(float(w), 4) for w in weights)
    return Calibration(
        bias, centre, category, category_heat=_heat(*kinds),
        colour_heat=_heat(*colours),
        opened_heat=_heat([[x, 0.0] for x in opened[0]], [int(y < 0.5) for y in opened[1]]),
        least=LEAST)


def _may_be(name: str, kind: str) -> bool:
    """Whether a box of category ``name`` can be that of a thing of category ``kind``.

    A cabinet matches cabinets, a drawer any drawer, and any other thing all but these.

    Drawers lie in cabinets; otherwise furniture matches its own category alone.
    """
    furniture = (CABINET, *DRAWERS)
    return name == kind or (name not in furniture and kind not in furniture) or (
        name in DRAWERS and kind in DRAWERS)


def _note(detector: EmbeddedDetector, found: Candidates, i: int, scene: Scene, j: int,
          kinds: tuple[list[Any], list[int]], colours: tuple[list[Any], list[int]],
          opened: tuple[list[float], list[float]]) -> None:
    if scene.category[j] in detector.categories:
        kinds[0].append(found.category[i])
        kinds[1].append(detector.categories.index(scene.category[j]))
    if scene.category[j] in DRAWERS:
        opened[0].append(float(found.opened[i]))
        opened[1].append(float(scene.opened[j] > 0.5))
    elif scene.colour[j] in detector.colours:
        colours[0].append(found.colour[i])
        colours[1].append(detector.colours.index(scene.colour[j]))


def _logistic(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bias and weights of a logistic regression, weakly bound to small ones."""
    full = torch.tensor(np.column_stack([np.ones(len(x)), x]))
    weights = torch.zeros(full.shape[1], dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([weights], max_iter=200, line_search_fn='strong_wolfe')
    truth = torch.tensor(y)

    def closure() -> torch.Tensor:
        search.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            full @ weights, truth) + 1e-3 * (weights**2).sum()
        loss.backward()
        return loss

    search.step(closure)
    return weights.detach().numpy()


def _heat(logits: Sequence[Any], truth: Sequence[int]) -> float:
    """The temperature under which the truth is likeliest; 1 without any."""
    if not truth:
        return 1.0
    values, index = torch.tensor(np.array(logits)), torch.tensor(truth)
    options = np.geomspace(0.3, 4.0, 60)
    loss = [float(torch.nn.functional.cross_entropy(values / heat, index)) for heat in options]
    return round(float(options[int(np.argmin(loss))]), 3)


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model-dir', type=Path, required=True)
    parser.add_argument('--scenes', type=Path, required=True,
                        help='folder of detector_scenes.py to measure on')
    parser.add_argument('--calibrate', type=Path, default=None,
                        help='folder of scenes of the kind for training to calibrate on first')
    parser.add_argument('--most', type=int, default=10**6, help='scenes to measure on')
    parser.add_argument('--out', type=Path, default=None, help='where to write the results')
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    detector = EmbeddedDetector(args.model_dir)
    if args.calibrate is not None:
        settings = json.loads((args.model_dir / SETTINGS_FILE).read_text())
        settings['calibration'] = asdict(calibrate(detector, list(read_scenes(args.calibrate))))
        (args.model_dir / SETTINGS_FILE).write_text(json.dumps(settings, indent=1) + '\n')
        detector = EmbeddedDetector(args.model_dir)
        print(json.dumps(settings['calibration']))
    scenes = list(read_scenes(args.scenes))[:args.most]
    results = {'model': detector.name, 'depth': measure(detector, scenes, True)}
    results['picture_alone'] = measure(detector, scenes, False)
    text = json.dumps(results, indent=1)
    print(text)
    if args.out is not None:
        args.out.write_text(text + '\n')


if __name__ == '__main__':
    main()
