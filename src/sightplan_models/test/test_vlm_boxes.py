"""The backend ``boxes``: what another tool found in a picture."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from sightplan.model import InputError
from sightplan.model.query import ask_one
from sightplan.queries import Detect
from sightplan_models.boxes import CONVENTIONS, Backend, Settings

SIZE = (200, 100)
UNIT = (0.1, 0.2, 0.3, 0.6)
SAME = {'pixel_xyxy': [20, 20, 60, 60], 'pixel_xywh': [20, 20, 40, 40], 'unit_xyxy': list(UNIT),
        'permille_xyxy': [100, 200, 300, 600], 'permille_yxyx': [200, 100, 600, 300]}
"""Numbers of the box ``UNIT`` on a picture of ``SIZE``, by the name of their convention."""


def picture(number):
    """A picture of noise."""
    return np.random.default_rng(number).integers(0, 255, (*SIZE[::-1], 3), np.uint8)


def made(tmp_path, content, coords='', name='b.json'):
    """A backend of a file with this content."""
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return Backend(Settings(str(path), coords))


def found(backend, number=0, attempt=0):
    """Corners of what it finds in a picture."""
    reply = ask_one(backend, Detect(picture(number), attempt=attempt))
    return [tuple(value for point in one.region.points for value in point)
            for one in reply.detections]


@pytest.mark.parametrize('coords', CONVENTIONS)
def test_conventions_are_declared_by_setting_or_file(coords, tmp_path):
    assert set(SAME) == set(CONVENTIONS)
    for content, setting in (([SAME[coords]], coords),
                             ({'coords': coords, 'boxes': [SAME[coords]]}, 'unit_xyxy')):
        assert found(made(tmp_path, content, setting)) == [pytest.approx(UNIT)]
    with pytest.raises(InputError, match='coords are not declared; declare one of pixel_xyxy'):
        made(tmp_path, [SAME[coords]])


def test_labels_and_scores_of_other_tools(tmp_path):
    backend = made(tmp_path, '[ // best last\n {"bbox": [20, 20, 40, 40], "label": "red mug", '
                   '"score": 0.4}, {"bbox": [100, 20, 40, 40], "predicted_iou": 0.9},]',
                   'pixel_xywh')
    reply = ask_one(backend, Detect(picture(0)))
    assert [one.category for one in reply.detections] == ['other', 'mug']
    assert backend.name.startswith('boxes(b.json@') and len(backend.name) > 20


def test_pictures_are_told_apart_by_their_content(tmp_path):
    for number in (1, 2):
        Image.fromarray(picture(number)).save(tmp_path / f'{number}.png')
    lines = '\n'.join(json.dumps({'image': image, 'coords': 'pixel_xyxy', 'boxes': [box]})
                      for image, box in (('1.png', [20, 20, 60, 60]),
                                         (str(tmp_path / '2.png'), [0, 0, 200, 100])))
    backend = made(tmp_path, lines, name='b.jsonl')
    assert found(backend, 2) == [(0.0, 0.0, 1.0, 1.0)]
    assert found(backend, 1) == [pytest.approx(UNIT)]
    with pytest.raises(InputError, match='boxes of 2 pictures, and none of them'):
        found(backend, 3)


def test_boxes_without_a_picture_are_of_one_picture(tmp_path):
    backend = made(tmp_path, [SAME['pixel_xyxy']], 'pixel_xyxy')
    assert found(backend, 1) == found(backend, 1) == [pytest.approx(UNIT)]
    assert found(backend, 2, attempt=1) == [], 'another view is not known'
    with pytest.raises(InputError, match='does not tell of which picture'):
        found(backend, 2)


@pytest.mark.parametrize(('content', 'said'), [
    ('{', 'neither JSON nor JSON lines'), ('', 'holds no boxes'), ('[]', 'holds no boxes'),
    ('3', 'holds no boxes'),
    ([{'image': 'a.png', 'boxes': []}, [1, 2, 3, 4]], 'entry 1: boxes are missing'),
    ([{'boxes': []}, {'boxes': []}], 'entry 0: image is missing'),
    ({'boxes': 3}, 'must be a list'), ([[1, 1, 2, 2]] * 201, 'at most 200'),
    ({'boxes': [], 'coords': 'xyxy'}, "coords = 'xyxy'; declare one of pixel_xyxy")])
def test_files_that_cannot_be_used_are_named(content, said, tmp_path):
    with pytest.raises(InputError, match=said) as error:
        made(tmp_path, content, 'pixel_xyxy')
    assert 'b.json' in str(error.value)


@pytest.mark.parametrize('box', [[1, 2, 3], 'all', [1, 2, 3, None], [60, 20, 20, 60],
                                 [20, 20, 900, 60], [20, 20, 20, 60], [True, 1, 2, 3]])
def test_boxes_that_cannot_be_used_are_named(box, tmp_path):
    with pytest.raises(InputError, match=r'b.json: boxes\[1\]'):
        found(made(tmp_path, [SAME['pixel_xyxy'], {'bbox': box}], 'pixel_xyxy'))


def test_the_file_must_be_named_and_there(tmp_path):
    with pytest.raises(InputError, match='file is missing; name a file'):
        Backend(Settings())
    with pytest.raises(InputError, match=r'none.json: cannot be read'):
        Backend(Settings(str(tmp_path / 'none.json'), 'pixel_xyxy'))
