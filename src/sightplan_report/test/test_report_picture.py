"""The picture of an image with its questions and answers."""

import cv2
import numpy as np
import pytest

from sightplan.model import Answer, Atom, Question
from sightplan_report.picture import draw_answers, save_png


def _asked(n):
    atoms = [Atom('clear', (f'b{i}',)) for i in range(n)]
    return ([Question(a, f'Is {a.args[0]} clear?') for a in atoms],
            [Answer('yes', 0.9, 0.1) for a in atoms])


def test_image_is_kept_and_text_column_added():
    image = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    page = draw_answers(image, *_asked(3), width=400)
    assert page.shape == (240, 720, 3)
    assert np.array_equal(page[:, :320], image)
    assert len(np.unique(page[:, 320:].reshape(-1, 3), axis=0)) > 3


def test_more_questions_than_fit_and_wrong_ones_are_marked():
    image = np.zeros((240, 320, 3), np.uint8)
    questions, answers = _asked(90)
    right = draw_answers(image, questions, answers, frozenset(q.atom for q in questions))
    wrong = draw_answers(image, questions, answers, frozenset())
    assert right.shape == wrong.shape
    assert not np.array_equal(right, wrong)


def test_wrong_answers_come_first():
    image = np.zeros((240, 320, 3), np.uint8)
    questions, answers = _asked(90)
    only_the_last_is_wrong = frozenset(q.atom for q in questions[:-1])
    assert not np.array_equal(draw_answers(image, questions, answers, only_the_last_is_wrong),
                              draw_answers(image, questions, answers))


def test_lengths_must_agree():
    questions, answers = _asked(2)
    with pytest.raises(ValueError, match='2 questions but 1'):
        draw_answers(np.zeros((100, 100, 3), np.uint8), questions, answers[:1])


def test_png_round_trip(tmp_path):
    image = np.random.default_rng(1).integers(0, 255, (20, 30, 3), np.uint8)
    save_png(str(tmp_path / 'a.png'), image)
    again = cv2.cvtColor(cv2.imread(str(tmp_path / 'a.png')), cv2.COLOR_BGR2RGB)
    assert np.array_equal(again, image)


def test_a_file_that_is_called_jpeg_is_one(tmp_path):
    save_png(str(tmp_path / 'a.JPG'), np.zeros((20, 30, 3), np.uint8))
    assert (tmp_path / 'a.JPG').read_bytes().startswith(b'\xff\xd8\xff')
