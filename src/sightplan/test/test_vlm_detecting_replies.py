"""Lists of all things in replies of models that write text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Form, Region
from sightplan.queries.coordinates import Coordinates, from_unit
from sightplan.queries.detect import DRAWERS, MOST_THINGS, Detect, compose, read_detections
from sightplan.queries.pointing import Pointing, load_family

SIZE, RESIZED = (640, 480), (644, 476)
CORNERS = ((0.1, 0.2), (0.3, 0.4))


def one(label: str, **more):
    text = json.dumps([{'label': label, 'box': [0.1, 0.2, 0.3, 0.4]}])
    [found] = read_detections(text, Coordinates.UNIT_XY, SIZE, **more).detections
    return found


@pytest.mark.parametrize(('label', 'category', 'colour'), [
    ('red mug', 'mug', 'red'), ('Purple-handled spoon', 'spoon', 'purple'),
    ('two yellow cups', 'cup', 'yellow'), ('gray tray', 'tray', 'grey'), ('knives', 'knife', ''),
    ('a tin of soup', 'can', ''), ('a thing from elsewhere', 'other', ''), ('', 'other', ''),
    ('white box', 'box', 'white'), ('dishes', 'plate', ''),
    ('red mug on the grey tray', 'mug', 'red'), ('box of apples', 'box', ''),
    ('cabinet with two drawers', 'cabinet', ''), ('spoon with the purple handle', 'spoon',
                                                  'purple')])
def test_labels_say_what_things_are(label: str, category: str, colour: str) -> None:
    found = one(label, synonyms={'tin': 'can', 'dish': 'plate'})
    assert (found.category, found.colour, found.opened) == (category, colour, None)
    kept = label if category == 'other' else ''
    assert found.region == Region(Form.BOX, CORNERS, kept), 'words of its own tell what it is'


@pytest.mark.parametrize(('label', 'categories', 'opened'), [
    ('top drawer, open', {'drawer:top': 1.0}, 1.0), ('lower drawer (closed)',
                                                     {'drawer:bottom': 1.0}, 0.0),
    ('drawer', dict.fromkeys(DRAWERS, 0.5), None)])
def test_drawers_say_which_and_whether_they_are_open(label, categories, opened) -> None:
    found = one(label)
    assert (dict(found.categories), found.opened) == (categories, opened)


@pytest.mark.parametrize('convention', Coordinates)
def test_each_convention_is_asked_for_and_read(convention: Coordinates) -> None:
    (left, top), (right, bottom) = from_unit(CORNERS, convention, SIZE, RESIZED)
    reply = read_detections(json.dumps([{'label': 'mug', 'box': [left, top, right, bottom]}]),
                            convention, SIZE, RESIZED)
    assert not reply.unread
    assert np.allclose(reply.detections[0].region.points, CORNERS)
    prompt = compose(Detect(np.zeros((*SIZE[::-1], 3), np.uint8)),
                            Pointing(load_family('schema_unit'), convention, False), RESIZED)
    assert '{' not in prompt.text.replace('[{"label"', ''), 'no placeholder is left'
    assert ('top, left' in prompt.text) is convention.y_first


def test_one_thing_that_is_listed_twice_counts_once() -> None:
    boxes = [[0.1, 0.2, 0.3, 0.4], [0.11, 0.2, 0.3, 0.4], [0.5, 0.2, 0.7, 0.4]]
    reply = read_detections(json.dumps([{'label': 'mug', 'box': box} for box in boxes]),
                            Coordinates.UNIT_XY, SIZE)
    assert [found.region.points[0][0] for found in reply.detections] == [0.1, 0.5]


@pytest.mark.parametrize(('text', 'why'), [
    ('I see a mug.', 'no place'), ('[{"label": "mug", "box": [0.3, 0.4, 0.1, 0.2]}]', 'corners'),
    ('[{"label": "mug", "box": [30, 40, 50, 60]}]', 'not within'),
    ('[{"label": "mug", "box": [0.1, 0.2', 'cut off'),
    (json.dumps([{'label': 'mug', 'box': [0.1, 0.2, 0.3, 0.4]}] * (MOST_THINGS + 1)),
     f'at most {MOST_THINGS}')])
def test_what_cannot_be_read_has_its_reason(text: str, why: str) -> None:
    reply = read_detections(text, Coordinates.UNIT_XY, SIZE)
    assert why in reply.unread and not reply.detections


def test_an_empty_table_is_no_error() -> None:
    reply = read_detections('[]', Coordinates.UNIT_XY, SIZE)
    assert not reply.unread and not reply.detections


@given(st.text(max_size=80) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(['label', 'box', 'bbox_2d', 'x1']), inner, max_size=3),
    max_leaves=12).map(json.dumps))
def test_whatever_is_said_is_read_or_has_a_reason(text: str) -> None:
    reply = read_detections(text, Coordinates.PERMILLE_XY, SIZE)
    assert not (reply.unread and reply.detections)
