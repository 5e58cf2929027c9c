"""Labels as the world draws them, drawn whenever a picture is learned from.

The numbers of a scene's objects are permuted within their category, and half the pictures
mirrored, before boxes and names are drawn: one picture teaches to read many labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from household_questions import CATEGORIES
from sightplan_sim.household.labels import LabelledBox, draw_labels

FULL = 480
FIXED = ('plaything',)
"""Categories whose objects look different by number; their numbers are never exchanged."""
_NAMES = tuple(CATEGORIES)


def mirrored(scene: Mapping[str, Any]) -> dict[str, Any]:
    """The scene in a mirror, without labels."""
    out = dict(scene)
    out['image'] = np.ascontiguousarray(scene['image'][:, ::-1])
    out['cells'] = scene['cells'][:, ::-1]
    if 'depth' in scene:
        out['depth'] = scene['depth'][:, ::-1]
    rect = scene['rect'].copy()
    there = rect.any(-1)
    rect[:, [0, 2]] = np.where(there[:, None], FULL - rect[:, [2, 0]], 0)
    hull = scene['hull'].copy()
    hull[..., 0] = np.where(hull.any((1, 2))[:, None], FULL - 1 - hull[..., 0], 0)
    return out | {'rect': rect, 'hull': hull}


def renumbered(scene: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A copy of the scene in which the objects of each category have exchanged their numbers."""
    number = scene['number'].copy()
    for category in set(scene['category'].tolist()) - {-1}:
        if _NAMES[category] not in FIXED:
            mine = np.flatnonzero(scene['category'] == category)
            number[mine] = number[mine[rng.permutation(len(mine))]]
    return dict(scene) | {'number': number}


def labelled(scene: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The picture with the labels that the world would draw into it at 480x480, reduced."""
    boxes = label_boxes(scene)
    image: NDArray[np.uint8] = scene['image']
    if not boxes:
        return image
    size = image.shape[0]
    large = np.asarray(cv2.resize(image, (FULL, FULL), interpolation=cv2.INTER_NEAREST), np.uint8)
    drawn = draw_labels(large, boxes)
    reduced = np.asarray(Image.fromarray(drawn).resize((size, size), Image.Resampling.BILINEAR))
    touched = (drawn != large).any(-1).reshape(size, FULL // size, size, FULL // size).any((1, 3))
    near = cv2.dilate(touched.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    return np.where(near[..., None], reduced, image)


def label_boxes(scene: Mapping[str, Any]) -> list[LabelledBox]:
    """Boxes to be labelled: objects in view, where several of their kind are."""
    category = scene['category']
    seen = np.flatnonzero(scene['visible'])
    several = [k for k in seen if (category[seen] == category[k]).sum() > 1]
    boxes = []
    for k in several:
        x0, y0, x1, y1 = scene['rect'][k].tolist()
        outline = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], float)
        if scene['hull'][k].any():
            outline = scene['hull'][k].astype(float)
        boxes.append(LabelledBox(f'{_NAMES[category[k]]}_{scene["number"][k]}', outline))
    return boxes
