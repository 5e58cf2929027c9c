"""Checking a place: what is drawn, and what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import Form, InputError, Region, Target
from sightplan.model.query import Deadline, ModelByKind, answers, ask_one
from sightplan.queries import Answer, Check, YesNo
from sightplan.queries.marks import marked
from sightplan.vlm.wrapping import Prompted

GREY = 120
IMAGE = np.full((480, 640, 3), GREY, np.uint8)
MASK = np.zeros((480, 640), bool)
MASK[200:260, 300:380] = True
POINT = Region(Form.POINT, ((0.53, 0.48),))
BOX = Region(Form.BOX, ((300 / 640, 200 / 480), (380 / 640, 260 / 480)))


def request(region: Region = POINT, mask: Any = None, text: str = 'the red mug',
            attempt: int = 0, image: Any = IMAGE) -> Check:
    return Check(image, Target(text), region, mask, attempt)


def marked_place(query: Check) -> tuple[Any, str]:
    return marked(query.image, query.region, query.mask)


class Answering(ModelByKind):
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Sequence[YesNo]] = []

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.asked.append(request)
        return [Answer('Yes', 0.7, 0.2)]


def test_a_backend_without_a_way_of_its_own_is_asked_about_a_marked_picture() -> None:
    chat = Answering()
    backend = Prompted(chat)
    assert ask_one(backend, request(mask=MASK)) == Answer('Yes', 0.7, 0.2)
    assert ask_one(backend, request(BOX, attempt=1)).text == 'Yes'
    assert ask_one(backend, request(text='Where to grip it?')).text == 'Yes'
    outline, frame, cross = chat.asked
    assert outline[0].question.text == 'Is the thing inside the red outline the red mug?'
    assert str(outline[0].question.atom) == 'located the-red-mug'
    assert 'rectangle' in frame[0].question.text and 'red cross' in cross[0].question.text
    assert 'Yes or No' in outline[0].prompt.question
    pictures = [asked[0].observation.image for asked in chat.asked]
    assert all(picture.dtype == np.uint8 and red(picture).any() for picture in pictures)


def test_a_way_of_its_own_comes_first() -> None:
    class Own(Answering):
        @answers(Check)
        def check(self, request: Check, deadline: Deadline) -> Answer:
            return Answer('No')

    backend: Any = Own()
    assert ask_one(backend, request()).text == 'No' and not backend.asked


def red(picture: Any) -> Any:
    return (picture[..., 0] > 200) & (picture[..., 1] < 60)


def test_the_outline_runs_around_the_piece_and_leaves_it_free() -> None:
    image = IMAGE.copy()
    image[MASK] = (0, 0, 255)
    picture, mark = marked_place(request(mask=MASK, image=image))
    assert mark == 'mask' and max(picture.shape) >= 384
    inside = picture[..., 2] > 200
    white = picture.min(2) > 200
    rows, columns = np.nonzero(inside & ~white)
    line = np.nonzero(red(picture))
    assert line[0].min() < rows.min() and line[0].max() > rows.max()
    assert line[1].min() < columns.min() and line[1].max() > columns.max()
    scale = 384 / (80 + 2 * 51)
    assert (inside & ~white).sum() == pytest.approx(80 * 60 * scale ** 2, rel=0.05)


def test_the_cross_leaves_its_middle_free() -> None:
    picture, mark = marked_place(request(Region(Form.POINT, ((0.5, 0.5),))))
    height, width = picture.shape[:2]
    assert mark == 'point'
    middle = picture[height // 2 - 6:height // 2 + 6, width // 2 - 6:width // 2 + 6]
    assert (middle == GREY).all()
    rows, columns = np.nonzero(red(picture))
    assert rows.mean() == pytest.approx(height / 2, abs=1)
    assert columns.mean() == pytest.approx(width / 2, abs=1)


def test_the_frame_runs_around_the_box() -> None:
    picture, mark = marked_place(request(BOX))
    rows, columns = np.nonzero(red(picture))
    scale = picture.shape[1] / (80 + 2 * 51)
    assert mark == 'box'
    assert columns.max() - columns.min() == pytest.approx(80 * scale, abs=12)
    assert rows.max() - rows.min() == pytest.approx(60 * scale, abs=12)


def test_an_empty_mask_marks_the_region() -> None:
    assert marked_place(request(mask=np.zeros_like(MASK)))[1] == 'point'


def test_what_cannot_be_marked_is_refused() -> None:
    with pytest.raises(InputError, match='trace cannot be checked'):
        marked_place(request(Region(Form.TRACE, ((0, 0), (1, 1)))))
    with pytest.raises(InputError, match='4x3 pixels, the picture 640x480'):
        marked_place(request(mask=np.ones((3, 4), bool)))


FRACTION = st.floats(-0.1, 1.1)


@given(x=st.tuples(FRACTION, FRACTION), y=st.tuples(FRACTION, FRACTION),
       width=st.integers(1, 200), height=st.integers(1, 200))
def test_any_place_in_any_picture_can_be_marked(x: Any, y: Any, width: int, height: int) -> None:
    image = np.full((height, width, 3), GREY, np.uint8)
    regions = [Region(Form.POINT, ((x[0], y[0]),)),
               Region(Form.BOX, tuple(zip(sorted(x), sorted(y), strict=True)))]
    for region in regions:
        picture, _ = marked_place(request(region, image=image))
        assert picture.ndim == 3 and picture.size
