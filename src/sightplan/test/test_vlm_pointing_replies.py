"""Places in replies, in all shapes that models give them, and in those that nobody should."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Form, Target
from sightplan.queries.coordinates import Coordinates, Size, from_unit
from sightplan.queries.literals import MOST_CHARS, MOST_DEPTH, find_literals
from sightplan.queries.locate import Locate, LocateReply, read_places
from sightplan.queries.pointing_replies import MOST_PLACES

UNIT, PERCENT, PIXEL = Coordinates.UNIT_XY, Coordinates.PERCENT_XY, Coordinates.PIXEL_XY
PERMILLE, YX = Coordinates.PERMILLE_XY, Coordinates.PERMILLE_YX
RESIZED = Coordinates.RESIZED_PIXEL_XY
SIZE, SEEN = (640, 480), (644, 476)
IMAGE = np.zeros((*SIZE[::-1], 3), np.uint8)


def read(text: str, form: Form = Form.POINT, coordinates: Coordinates = UNIT,
         seen: Size | None = SEEN, **more: Any) -> LocateReply:
    return read_places(text, Locate(IMAGE, Target('it', form)), coordinates, seen, **more)


def points(reply: LocateReply) -> list[list[tuple[float, float]]]:
    return [[(round(x, 4), round(y, 4)) for x, y in region.points] for region in reply.regions]


# Shapes

HALF = [[(0.25, 0.5)]]
TWO = [[(0.25, 0.5)], [(0.5, 0.75)]]
BOX = [[(0.25, 0.5), (0.5, 0.75)]]


@pytest.mark.parametrize(('text', 'coordinates'), [
    ('[(0.25, 0.5)]', UNIT), ('(0.25, 0.5)', UNIT), ('[[0.25, 0.5]]', UNIT), ('[0.25, .5]', UNIT),
    ('{"point": [500, 250]}', YX), ('[{"point": [500, 250], "label": "the mug"}]', YX),
    ('```json\n[{"point": [500, 250], "label": "mug"}]\n```', YX),
    ('```\n[{"point_2d": [250, 500]}]\n``` That is it.', PERMILLE),
    ('[{"point_2d": [161, 238], "label": "mug"}]', RESIZED),
    ('{"explanation": "It stands at (3, 4).", "point": {"x": 160, "y": 240}}', PIXEL),
    ('{"x": 0.25, "y": 0.5}', UNIT), ('{"x": 250, "y": 500}', YX),
    ('{"points": [{"x": 0.25, "y": 0.5}]}', UNIT), ("{'points': [(0.25, 0.5)]}", UNIT),
    ('{"points": [{"point": [0.25, 0.5], "label": "a"}]}', UNIT),
    ('{"answer": {"point": [0.25, 0.5]}}', UNIT), ('{"Point_2D": [0.25, 0.5],}', UNIT),
    ('{"point": "(0.25, 0.5)"}', UNIT), ('{point: [0.25, 0.5]}', UNIT),
    ('{"object_exists": true, "point": [0.25, 0.5], "confidence": 0.9}', UNIT),
    ('{"point": [0.25, 0.5], // x and y\n "label": "mug"}', UNIT),
    ('{"point": [0.25,  # x\n 0.5]}', UNIT),
    ('<think>(0.9, 0.9) or {"point": [1, 1]}?</think> I say {"point": [0.25, 0.5]}.', UNIT),
    ('Step [1]: look. Step (2): point.\n<answer>[(0.25, 0.5)]</answer>', UNIT),
    ('<answer></answer><answer>[(0.25, 0.5)]</answer> (0.1, 0.1)', UNIT),
    ('<point x="25" y="50" alt="the mug">the mug</point>', PERCENT),
    (' <point y="50.0" x="25.0">mug</point>', PERCENT), ("<point x='25' y='50'/>", PERCENT),
    ('Here: <points x1="25" y1="50" alt="mug">mug</points>', PERCENT),
    ('<point x="250" y="500">', YX),
    ('<points coords="1 1 250 500">mug</points>', PERMILLE),
    ('<points coords="1 1 250 500" alt="it (3, 4)"/>', PERMILLE),
    ('<point>[[0.25, 0.5]]</point>', UNIT),
    ('I resized(640, 480) it, see [1]: [0.25, 0.5]', UNIT),
    ('[[0.25, 0.5]] I mean [[0.25, 0.5]].', UNIT),
    ('The mug, at (0.3, 0.4) or so: {"point": [0.25, 0.5]}', UNIT),
    ('At (0.3, 0.4) or so.\n```json\n[0.25, 0.5]\n```', UNIT)])
def test_a_point(text: str, coordinates: Coordinates) -> None:
    reply = read(text, Form.POINT, coordinates)
    assert (points(reply), reply.unread, reply.text) == (HALF, '', text)
    assert reply.regions[0].form is Form.POINT and reply.probability is None


@pytest.mark.parametrize(('text', 'coordinates'), [
    ('[(0.25, 0.5), (0.5, 0.75)]', UNIT), ('(0.25, 0.5), (0.5, 0.75)', UNIT),
    ('(0.25, 0.5)\n(0.5, 0.75)', UNIT), ('[[0.25, 0.5], [0.5, 0.75]]', UNIT),
    ('[{"point": [500, 250]}, {"point": [750, 500]}]', YX),
    ('{"point": [500, 250]}\n{"point": [750, 500]}', YX),
    ('{"points": [[0.25, 0.5], [0.5, 0.75]]}', UNIT),
    ('{"points": [{"x": .25, "y": .5}, {"x": .5, "y": .75}]}', UNIT),
    ('<points x1="25" y1="50" x2="50" y2="75" alt="a">a</points>', PERCENT),
    ('<points x2="50" y2="75" x1="25" y1="50"/>', PERCENT),
    ('<point x="25" y="50">a</point> and <point x="50" y="75">b</point>', PERCENT),
    ('<points coords="1 1 250 500 2 500 750">mug</points>', PERMILLE),
    ('<points coords="1 1 250 500;1 2 500 750">mug</points>', PERMILLE)])
@pytest.mark.parametrize('form', [Form.POINTS, Form.TRACE])
def test_several_points_are_points_or_one_trace(text: str, coordinates: Coordinates,
                                                form: Form) -> None:
    reply = read(text, form, coordinates)
    assert reply.unread == ''
    if form is Form.POINTS:
        assert points(reply) == TWO
    else:
        assert points(reply) == BOX and reply.regions[0].form is Form.TRACE


@pytest.mark.parametrize('text', [
    '[0.25, 0.5, 0.5, 0.75]', '[[0.25, 0.5, 0.5, 0.75]]', '(0.25, 0.5, 0.5, 0.75)',
    '{"bbox": [0.25, 0.5, 0.5, 0.75]}', '[{"bbox_2d": [0.25, 0.5, 0.5, 0.75], "label": "m"}]',
    '{"box": {"min_x": 0.25, "min_y": 0.5, "max_x": 0.5, "max_y": 0.75}}',
    '{"explanation": "", "min_x": 0.25, "min_y": 0.5, "max_x": 0.5, "max_y": 0.75}',
    '{"xmin": 0.25, "ymin": 0.5, "xmax": 0.5, "ymax": 0.75}',
    '{"x1": 0.25, "y1": 0.5, "x2": 0.5, "y2": 0.75}', '{"box": [[0.25, 0.5], [0.5, 0.75]]}',
    '{"boxes": [[0.25, 0.5, 0.5, 0.75]]}',
    '{"point": [0.3, 0.6], "box_2d": [0.25, 0.5, 0.5, 0.75]}',
    '```json\n[\n  {"bbox_2d": [0.25, 0.5, 0.5, 0.75]}  // the left one\n]\n```'])
def test_a_box(text: str) -> None:
    reply = read(text, Form.BOX)
    assert (points(reply), reply.unread) == (BOX, '')
    assert reply.regions[0].form is Form.BOX


def test_names_of_axes_count_whatever_comes_first_in_lists() -> None:
    assert points(read('{"box_2d": [500, 250, 750, 500]}', Form.BOX, YX)) == BOX
    assert points(read('{"xmin": 250, "ymin": 500, "xmax": 500, "ymax": 750}', Form.BOX, YX)
                  ) == BOX


@pytest.mark.parametrize('text', [
    "{'explanation': 'a', 'trajectory': [(0.25, 0.5), (0.5, 0.75)]}",
    '{"trajectory": [[0.25, 0.5], [0.5, 0.75]]}',
    '{"trace": [{"x": 0.25, "y": 0.5}, {"x": 0.5, "y": 0.75}]}',
    '{"trajectory": [[[0.25, 0.5], [0.5, 0.75]]]}',
    '[{"point": [0.25, 0.5], "label": "0"}, {"point": [0.5, 0.75], "label": "1"}]'])
def test_a_trace(text: str) -> None:
    reply = read(text, Form.TRACE)
    assert (points(reply), reply.unread) == (BOX, '') and reply.regions[0].form is Form.TRACE


def test_labels_are_kept() -> None:
    assert read('[{"point": [0.1, 0.2], "label": "the \\"red\\" mug \\u00e9"}]').regions[0].label \
        == 'the "red" mug \u00e9'
    assert read("{'point': [0.1, 0.2], 'label': 'it\\'s'}").regions[0].label == "it's"
    assert read('<point x="1" y="2" alt="mug">cup</point>', coordinates=PERCENT
                ).regions[0].label == 'mug'


@pytest.mark.parametrize('text', [
    '[]', ' []\n', '```json\n[]\n```', '{"points": []}', '{"point": null}',
    '{"object_exists": false}',
    '{"object_exists": False, "bbox_2d": [0, 0, 0, 0]}', '{"found": false, "point": null}',
    '[{"point": null, "label": "mug"}]', '<think>hm (0.1, 0.2)</think>[]'])
@pytest.mark.parametrize('form', Form)
def test_not_there(text: str, form: Form) -> None:
    reply = read(text, form)
    assert (reply.regions, reply.unread, reply.text) == ((), '', text)


# What cannot be read

@pytest.mark.parametrize(('text', 'form', 'coordinates', 'reason'), [
    ('', Form.POINT, UNIT, 'is empty'), (' \n', Form.POINT, UNIT, 'is empty'),
    ('<think>(0.1, 0.2)', Form.POINT, UNIT, 'within its thoughts'),
    ('I do not see it.', Form.POINT, UNIT, 'no place'), ('0.1, 0.2', Form.POINT, UNIT, 'no place'),
    ('locate()', Form.POINT, UNIT, 'no place'), ('{"answer": [0.1, 0.2]}', Form.POINT, UNIT,
                                                 'no place'),
    ('["mug"]', Form.POINT, UNIT, 'no place'), ('{}', Form.POINT, UNIT, 'no place'),
    ('[true, false]', Form.POINT, UNIT, 'no place'),
    ('[0.5, 0.4, 0.3, 0.6]', Form.BOX, UNIT, 'top left and bottom right'),
    ('[0.5, 0.4, 0.6, 0.3]', Form.BOX, UNIT, 'top left and bottom right'),
    ('{"min_x": 0.5, "min_y": 0.4, "max_x": 0.3, "max_y": 0.6}', Form.BOX, UNIT, 'top left'),
    ('[0.1, 0.2, 0.3]', Form.POINT, UNIT, '3 numbers'),
    ('[0.1, 0.2, 0.3, 0.4, 0.5]', Form.BOX, UNIT, '5 numbers'),
    ('{"point": [0.1, 0.2, 0.3]}', Form.POINT, UNIT, 'a point has 2 numbers, the reply gives 3'),
    ('{"point": [0.1]}', Form.POINT, UNIT, 'a point has 2 numbers, the reply gives 1'),
    ('{"bbox_2d": [0.1, 0.2]}', Form.BOX, UNIT, 'a box has 4 numbers'),
    ('{"point": "left"}', Form.POINT, UNIT, "the text 'left'"),
    ('{"point": [0.1, "0.2"]}', Form.POINT, UNIT, 'where a place should stand|point should'),
    ('{"point": 3}', Form.POINT, UNIT, '3.0'), ('{"point": true}', Form.POINT, UNIT, 'True'),
    ('{"x": 0.1}', Form.POINT, UNIT, 'numbers for all of x, y'),
    ('{"min_x": 0.1, "min_y": 0.2, "max_x": 0.4}', Form.BOX, UNIT, 'numbers for all of minx'),
    ('[0.1, NaN]', Form.POINT, UNIT, 'finite'), ('[(nan, nan)]', Form.POINT, UNIT, 'finite'),
    ('[0.1, -Infinity]', Form.POINT, UNIT, 'finite'), ('[0.1, 1e999]', Form.POINT, UNIT, 'finite'),
    ('[0.1, 0.2, 0.3, 0.4]', Form.POINT, UNIT, 'a box where a point was'),
    ('[0.1, 0.2, 0.3, 0.4]', Form.POINTS, UNIT, 'a box where points were'),
    ('[0.1, 0.2, 0.3, 0.4]', Form.TRACE, UNIT, 'a box where a trace was'),
    ('[0.1, 0.2]', Form.BOX, UNIT, 'a point where a box was'),
    ('[[0.1, 0.2], [0.3, 0.4]]', Form.BOX, UNIT, 'a point where a box was'),
    ('<point x="3" y="4">mug</point>', Form.BOX, PERCENT, 'a point where a box was'),
    ('{"trajectory": [[0.1, 0.2], [0.3, 0.4]]}', Form.POINT, UNIT, 'a trace where a point was'),
    ('[(0.1, 0.2)]', Form.TRACE, UNIT, 'two points at least'),
    ('{"trajectory": [[[0.1, 0.2], [0.3, 0.4]], [[0.1, 0.2], [0.3, 0.4]]]}', Form.TRACE, UNIT,
     'several traces'),
    ('[[[0.1, 0.2], [0.3, 0.4]], [[0.1, 0.2], [0.3, 0.4]]]', Form.TRACE, UNIT, 'entries are no'),
    ('[[0.1, 0.2], [0.3, 0.4, 0.5, 0.6]]', Form.POINTS, UNIT, 'of another kind'),
    ('[{"point": [0.1, 0.2]}, {"label": "b"}]', Form.POINTS, UNIT, 'some entries have no place'),
    ('At (0.1, 0.2), no, at (0.3, 0.4).', Form.POINT, UNIT, '2 different answers'),
    ('(0.1, 0.2), (0.3, 0.4)', Form.POINT, UNIT, '2 different answers'),
    ('{"point": [0.1, 0.2]} or {"point": [0.3, 0.4]}', Form.POINTS, UNIT, '2 different answers'),
    ('<point x="1" y="2"/><point x="3" y="4"/>', Form.POINT, PERCENT, '2 different answers'),
    ('[] or (0.1, 0.2)', Form.POINT, UNIT, '2 different answers'),
    ('```\n[0.1, 0.2]\n```\n```\n[0.3, 0.2]\n```', Form.POINT, UNIT, '2 different answers'),
    ('{"point": [0.1, 0.2], "point_2d": [0.3, 0.4]}', Form.POINT, UNIT, 'answers in one'),
    ('{"point": [0.1, 0.2], "point": [0.3, 0.4]}', Form.POINT, UNIT, 'malformed'),
    ('{"a": {"point": [0.1, 0.2]}, "b": {"point": [0.3, 0.4]}}', Form.POINT, UNIT, 'different'),
    ('{"object_exists": true}', Form.POINT, UNIT, 'but not where'),
    ('{"object_exists": true, "point": null}', Form.POINT, UNIT, 'but not where'),
    ('{"object_exists": false, "point": [0.1, 0.2]}', Form.POINT, UNIT, 'not there, and where'),
    ('[{"bbox_2d": [0.1, 0.2, 0.3, 0.4]}, {"bbox_2d": [0.1, 0.2', Form.BOX, UNIT, 'cut off'),
    ('[{"bbox_2d": [0.1, 0.2, 0.3, 0.4]}, {"bbox_2d": [0.1\n```', Form.BOX, UNIT, 'cut off'),
    ('(0.1, 0.2), (0.3', Form.POINTS, UNIT, 'cut off'),
    ('{"point": [0.1, 0.2], "label": "cut', Form.POINT, UNIT, 'cut off'),
    ('{"point": [0.1, 0.2] "label": "b"}', Form.POINT, UNIT, 'malformed'),
    ('<point x="1" y="2">a</point> <point x="3', Form.POINTS, PERCENT, 'cut off'),
    ('<points x1="1" y1="2" x2="3"/>', Form.POINTS, PERCENT, 'unequal numbers'),
    ('<point x="left" y="2"/>', Form.POINT, PERCENT, "'left' where a number"),
    ('<point x="nan" y="2"/>', Form.POINT, PERCENT, "'nan' where a number"),
    ('<point alt="mug"/>', Form.POINT, PERCENT, 'without coordinates'),
    (f'<point {"a" * 90_000}/>', Form.POINT, PERCENT, 'without coordinates'),
    ('<points coords="1 1 250"/>', Form.POINTS, PERMILLE, 'coords are not'),
    ('<points coords="1"/>', Form.POINTS, PERMILLE, 'coords are not'),
    ('<points coords=""/>', Form.POINTS, PERMILLE, 'without coordinates'),
    ('<points coords="1 1 250 500;2 2 250 500"/>', Form.POINTS, PERMILLE, 'into 2 pictures'),
    ('[320, 240]', Form.POINT, UNIT, 'pixel_xy would fit'),
    ('[0.3, 0.4]', Form.POINT, PERMILLE, 'unit_xy would fit'),
    ('[0.3, 0.4]', Form.POINT, RESIZED, 'unit_xy would fit')])
def test_unread_has_a_reason(text: str, form: Form, coordinates: Coordinates, reason: str) -> None:
    reply = read(text, form, coordinates)
    assert reply.regions == () and reply.text == text
    assert re.search(reason, reply.unread), reply.unread


def test_the_centre_of_a_box_counts_only_if_the_family_says_so() -> None:
    text = '[{"bbox_2d": [0.25, 0.5, 0.5, 0.75]}]'
    assert read(text).unread
    assert points(read(text, centre_of_box=True)) == [[(0.375, 0.625)]]
    assert points(read('{"point_2d": [0.25, 0.5], "bbox_2d": [0, 0, 1, 1]}', centre_of_box=True)
                  ) == HALF
    assert 'top left' in read('[0.5, 0.5, 0.25, 0.75]', centre_of_box=True).unread
    assert read('[0.1, 0.2]', Form.BOX, centre_of_box=True).unread


def test_one_list_of_several_keeps_all_the_first_one_first() -> None:
    assert points(read('[(0.25, 0.5), (0.5, 0.75)]')) == TWO
    assert points(read('[[0, 0, 0.1, 0.1], [0.25, 0.5, 0.5, 0.75]]', Form.BOX))[1:] == BOX


def test_a_box_without_area_is_readable() -> None:
    assert points(read('[0.25, 0.5, 0.25, 0.5]', Form.BOX)) == [[(0.25, 0.5), (0.25, 0.5)]]


def test_rounded_numbers_are_counted() -> None:
    reply = read('[(1.0005, -0.0005)]')
    assert points(reply) == [[(1.0, 0.0)]] and reply.rounded == 2


def test_bounds() -> None:
    many = ', '.join('(0.1, 0.2)' for _ in range(MOST_PLACES + 1))
    assert 'more than' in read(f'[{many}]', Form.POINTS).unread
    assert 'longer than' in read(' ' * MOST_CHARS + '[0.1, 0.2]').unread
    deep = '[' * (MOST_DEPTH + 5) + '0.1, 0.2' + ']' * (MOST_DEPTH + 5)
    assert find_literals(deep)[0][0].start == 5


# The same scene in each convention

SHAPES = {
    'json': lambda p: json.dumps([{'point': point} for point in p]),
    'fence': lambda p: '```json\n' + json.dumps([{'point_2d': point} for point in p]) + '\n```',
    'points': lambda p: json.dumps({'points': p}), 'lists': lambda p: f'They are {p}.',
    'tuples': lambda p: f'{[tuple(point) for point in p]}'}
NUMBER = st.floats(0.02, 1)


@given(places=st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=4, unique=True),
       shape=st.sampled_from(sorted(SHAPES)))
def test_one_scene_reads_the_same_in_each_convention(places: list[tuple[float, float]],
                                                     shape: str) -> None:
    for coordinates in Coordinates:
        said = [list(point) for point in from_unit(places, coordinates, SIZE, SEEN)]
        reply = read(SHAPES[shape](said), Form.POINTS, coordinates)
        assert reply.unread == '' and len(reply.regions) == len(places)
        for region, place in zip(reply.regions, places, strict=True):
            assert region.points[0] == pytest.approx(place)


@given(x=st.tuples(NUMBER, NUMBER), y=st.tuples(NUMBER, NUMBER))
def test_one_box_reads_the_same_in_each_convention(x: Any, y: Any) -> None:
    corners = list(zip(sorted(x), sorted(y), strict=True))
    for coordinates in Coordinates:
        numbers = [number for pair in from_unit(corners, coordinates, SIZE, SEEN)
                   for number in pair]
        for text in (json.dumps([{'bbox_2d': numbers}]), f'{numbers}'):
            [region] = read(text, Form.BOX, coordinates).regions
            assert [number for point in region.points for number in point] == pytest.approx(
                [number for corner in corners for number in corner])


# Rubbish

GOOD = ('[(0.25, 0.5), (0.5, 0.75)]', '```json\n[{"bbox_2d": [10, 20, 30, 40], "label": 1}]\n```',
        '<points x1="25" y1="50" x2="3" y2="4" alt="it">it</points>', '{"object_exists": false}',
        "{'explanation': 'a', 'trajectory': [(0.1, 0.2), // go\n (0.3, 0.4)]}",
        '<think>hm</think><answer>{"point": {"x": 1, "y": null}}</answer>',
        '<points coords="1 1 250 500;2 3 4 5">',
        '{"min_x": 1, "min_y": 2, "max_x": 3, "max_y": 4}')
PIECES = (*'[](){},:"\'#\\<>/=-\n\ud800\x00\u0663', '//', '1e999', 'NaN', 'true', 'null',
          '9' * 400, '```', '<think>', '</think>', '<answer>', '"point"', '"bbox_2d"', '"points"',
          'x1="', '<point ', '0.5')


def rubbish(rng: random.Random) -> str:
    """A reply that was good once, or never."""
    text = rng.choice(GOOD) if rng.random() < 0.8 else ''
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(text) + 1)
        kind = rng.random()
        if kind < 0.5:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind < 0.75:
            text = text[:at] + text[at + rng.randrange(1, 10):]
        elif kind < 0.9:
            text = text[:at]
        else:
            text += rng.choice((' ', ', ', ' or ', '')) + rng.choice(GOOD)
    return text


@pytest.mark.parametrize('count', [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_replies(count: int) -> None:
    rng = random.Random(17)
    unread = 0
    for _ in range(count):
        text = rubbish(rng)
        form, coordinates = rng.choice(list(Form)), rng.choice(list(Coordinates))
        reply = read(text, form, coordinates, SEEN if rng.random() < 0.9 else None,
                     centre_of_box=rng.random() < 0.5)
        assert reply.text == text and not (reply.regions and reply.unread)
        for region in reply.regions:
            assert all(0 <= number <= 1 for point in region.points for number in point)
        unread += bool(reply.unread)
    assert 0.5 * count < unread < 0.99 * count, 'some can still be read, most cannot'


@given(text=st.text(st.sampled_from('[](){},:"\'0.5e- \n#/<>points=xy')),
       form=st.sampled_from(Form))
def test_no_text_breaks_the_parser(text: str, form: Form) -> None:
    reply = read(text, form)
    assert not (reply.regions and reply.unread)


@given(value=st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(['point', 'points', 'bbox_2d', 'x', 'y', 'trajectory', 'min_x', 'a',
                         'object_exists']), inner, max_size=4), max_leaves=20),
    form=st.sampled_from(Form))
def test_any_data_is_read_or_has_a_reason(value: Any, form: Form) -> None:
    for text in (json.dumps(value), repr(value)):
        reply = read(text, form)
        assert not (reply.regions and reply.unread)


@given(value=st.recursive(st.booleans() | st.none() | st.integers(-999, 999) | st.text(),
                          lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                              st.text(), inner, max_size=3), max_leaves=10))
def test_json_and_python_notations_mean_the_same(value: Any) -> None:
    value = [value]
    [(literal,), damaged] = find_literals(json.dumps(value))
    assert literal.value == value and not damaged


@pytest.mark.parametrize('text', ['[' * 20_000, '{"a":' * 5_000, '["' * 20_000, '(1,' * 20_000,
                                  '<answer>' * 10_000, '<point ' * 10_000, '1' * 90_000 + 'x',
                                  '[1,[2],' * 9_000, '#\n' * 40_000 + '['])
def test_nesting_and_length_are_bounded(text: str) -> None:
    assert read(text).unread
