"""Families of prompts that ask for places, and how a model's reply becomes a place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.model import Form, InputError, Target
from sightplan.queries import TextReply
from sightplan.queries.chat import ChatStyle
from sightplan.queries.check import check_question
from sightplan.queries.coordinates import Coordinates, from_unit
from sightplan.queries.locate import Locate, LocateReply, compose
from sightplan.queries.pointing import (
    FOLDER,
    Pointing,
    PointingPrompt,
    family_hash,
    family_names,
    load_family,
)
from sightplan.vlm.api import backend_content

IMAGE = np.full((480, 640, 3), 120, np.uint8)
SEEN = (644, 476)
EXPECTED = {
    'schema_unit': Coordinates.UNIT_XY, 'schema_pixel': Coordinates.PIXEL_XY,
    'json_box_resized': Coordinates.RESIZED_PIXEL_XY, 'json_permille': Coordinates.PERMILLE_XY,
    'json_permille_yx': Coordinates.PERMILLE_YX, 'xml_percent': Coordinates.PERCENT_XY,
    'tuples_unit': Coordinates.UNIT_XY, 'list_unit': Coordinates.UNIT_XY}
every_family = pytest.mark.parametrize('name', family_names())


def request(form: Form = Form.POINT, text: str = 'the red mug', **more: Any) -> Locate:
    return Locate(IMAGE, Target(text, form), **more)


def text_of(name: str, form: Form, **more: Any) -> str:
    seen = SEEN if name == 'json_box_resized' else None
    return compose(request(form, **more), Pointing.declared(name), seen).text


def test_the_families() -> None:
    assert {name: load_family(name).coordinates for name in family_names()} == EXPECTED


@every_family
@pytest.mark.parametrize('form', Form)
def test_all_is_filled_in_and_no_two_askings_are_the_same(name: str, form: Form) -> None:
    assert load_family(name).name == name
    texts = [text_of(name, form, attempt=attempt) for attempt in range(10)]
    for text in texts:
        assert 'the red mug' in text
        assert not re.search(r'\{(ask|target|width|height|start)\}', text)
    distinct = 5 if form is Form.TRACE else 10
    assert len(set(texts)) == distinct
    assert text_of(name, form, attempt=10) == texts[0]


@every_family
@pytest.mark.parametrize('form', Form)
def test_what_a_schema_allows_is_read(name: str, form: Form) -> None:
    schema: Any = load_family(name).json_schema.get(form)
    if schema is None:
        assert not name.startswith('schema')
        return
    assert schema['required'] == list(schema['properties'])
    key = schema['required'][-1]
    corners = [(0.25, 0.5), (0.5, 0.75)]
    numbers = [number for pair in from_unit(corners, EXPECTED[name], (640, 480))
               for number in pair]
    places = [{'x': x, 'y': y} for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    value: Any = {
        Form.POINT: places[0], Form.POINTS: places, Form.TRACE: places,
        Form.BOX: dict(zip(('min_x', 'min_y', 'max_x', 'max_y'), numbers, strict=True))}[form]
    reply = ask(Pointing.declared(name), form, repr({'explanation': 'So.', key: value}))
    assert [region.points for region in reply.regions] == {
        Form.POINT: [(corners[0],)], Form.POINTS: [(corner,) for corner in corners],
        Form.TRACE: [tuple(corners)], Form.BOX: [tuple(corners)]}[form]
    nothing = 'null' if form in (Form.POINT, Form.BOX) else '[]'
    none = ask(Pointing.declared(name), form, f'{{"explanation": "", "{key}": {nothing}}}')
    assert (none.regions, none.unread) == ((), '')


def ask(pointing: Pointing, form: Form, text: str, truncated: bool = False) -> LocateReply:
    chat = request(form).as_chat(ChatStyle(pointing, lambda picture: SEEN))
    return chat.read(TextReply(text, truncated))


def test_a_question_is_no_name_of_a_thing() -> None:
    text = text_of('list_unit', Form.POINT, text='Which mug is full?')
    assert text.startswith('Which mug is full? Show it') and 'Point at' not in text


def test_the_size_and_the_start_are_in_the_declared_convention() -> None:
    assert '640 pixels wide and 480 pixels high' in text_of('schema_pixel', Form.POINT)
    start = request(Form.TRACE, 'open the drawer.', start=(0.25, 0.5))
    for name, said in (('json_box_resized', '(161, 238)'), ('json_permille_yx', '(500, 250)'),
                       ('xml_percent', '(25.0, 50.0)'), ('list_unit', '(0.250, 0.500)')):
        text = compose(start, Pointing.declared(name), SEEN).text
        assert said in text and 'open the drawer.\n' in text
    assert 'starts at' not in text_of('list_unit', Form.TRACE)


def test_braces_in_a_target_are_left_alone() -> None:
    assert '{width} {ask} {}' in text_of('schema_pixel', Form.POINT, text='{width} {ask} {}')


def test_the_convention_can_be_declared_apart_from_the_family() -> None:
    molmo_2 = Pointing.declared('xml_percent', 'permille_xy')
    reply = ask(molmo_2, Form.POINT, '<points coords="1 1 250 500">mug</points>')
    assert reply.regions[0].points == ((0.25, 0.5),)
    assert 'permille_xy would fit' in ask(Pointing.declared('xml_percent'), Form.POINT,
                                          '<points coords="1 1 250 600">mug</points>').unread


def test_the_resized_size_is_asked_for_only_where_it_is_needed() -> None:
    def never(picture: Any) -> Any:
        raise AssertionError

    chat = request().as_chat(ChatStyle(Pointing.declared('list_unit'), never))
    assert chat.read(TextReply('[]')).regions == ()
    reply = ask(Pointing.declared('json_box_resized'), Form.POINT,
                '[{"point_2d": [161, 238], "label": "mug"}]')
    assert reply.regions[0].points == ((0.25, 0.5),)


def test_a_box_is_a_point_where_the_family_says_so() -> None:
    text = '[{"bbox_2d": [161, 238, 322, 357]}]'
    assert ask(Pointing.declared('json_box_resized'), Form.POINT, text).regions[0].points == (
        (0.375, 0.625),)
    assert 'a box where' in ask(Pointing.declared('json_permille_yx'), Form.POINT, text).unread


def test_a_reply_that_was_cut_off_is_unread() -> None:
    reply = ask(Pointing.declared('list_unit'), Form.POINT, '[0.1, 0.2]', truncated=True)
    assert reply.regions == () and 'cut off after 256 tokens' in reply.unread


def test_scales_are_drawn_as_the_family_or_the_setting_says() -> None:
    def prompt(name: str, ticks: str) -> PointingPrompt:
        return compose(request(), Pointing.declared(name, '', ticks), None)

    drawn, plain = prompt('schema_pixel', 'auto'), prompt('schema_pixel', 'off')
    assert drawn.image.shape == IMAGE.shape and (drawn.image != IMAGE).any()
    assert (drawn.image[60:, 60:] == IMAGE[60:, 60:]).all(), 'only along the edges'
    assert (plain.image == IMAGE).all() and 'Scales' not in plain.text
    assert 'Scales' in drawn.text and 'Scales' in prompt('schema_unit', 'on').text
    assert (prompt('schema_unit', 'on').image != drawn.image).any(), 'other numbers'
    assert (IMAGE == 120).all()


def test_a_family_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    words = (FOLDER / 'list_unit.yaml').read_text().replace('name: list_unit', 'name: mine')
    path.write_text(words)
    assert load_family(str(path)).name == 'mine'
    before = family_hash(str(path))
    path.write_text(words.replace('nothing else', 'naught besides'))
    assert 'naught besides' in load_family(str(path)).text.point
    assert family_hash(str(path)) != before != family_hash('list_unit')
    path.write_text(words.replace('{ask}', 'Go on.'))
    with pytest.raises(InputError, match=r'mine.yaml: text.point .*must hold \{ask\}'):
        load_family(str(path))
    path.write_text(words.replace('unit_xy', 'unit'))
    with pytest.raises(InputError, match='coordinates'):
        load_family(str(path))


def test_an_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'json_permil'.*json_permille.*did you mean"):
        Pointing.declared('json_permil')
    with pytest.raises(InputError, match='cannot be read'):
        Pointing.declared('/not/there.yaml')


@pytest.mark.parametrize('backend', ['openai', 'transformers'])
def test_the_words_are_part_of_the_identity_of_a_backend(backend: str) -> None:
    found = {backend_content(backend, {'pointing': name}) for name in family_names()}
    assert len(found) == len(EXPECTED) and '' not in found
    assert backend_content(backend, {'pointing': '/not/there.yaml'}) == ''


@pytest.mark.parametrize('mark', ['mask', 'box', 'point'])
def test_questions_about_a_mark(mark: str) -> None:
    asked = [check_question('the red mug', mark, attempt)[0] for attempt in range(4)]
    assert len(set(asked)) == 3 and asked[3] == asked[0]
    assert all('the red mug' in text for text in asked)
    question, prompt = check_question('Which one is full?', mark, 0)
    assert question.startswith('The question was: Which one is full? ')
    assert 'Yes or No' in prompt.ask(question) and len(prompt.sha256) == 12
