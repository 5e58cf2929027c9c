"""Other views of one picture: what changes, and what does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.grounding.views import alter, view
from sightplan.model import GOAL_NS, Alteration, Observation

GREY = (90, 120, 150)


def board(height: int = 60, width: int = 80) -> np.ndarray:
    """A grey picture with a white square that ends a seventh before its edges."""
    image = np.full((height, width, 3), GREY, np.uint8)
    image[height // 7:-(height // 7), width // 7:-(width // 7)] = 255
    return image


def centre(image: np.ndarray) -> tuple[float, float]:
    """Centre of what is white: row, column [pixels]."""
    rows, columns = np.nonzero(image.min(axis=2) > 240)
    return float(rows.mean()), float(columns.mean())


def test_view_0_is_the_observation_itself() -> None:
    seen = Observation(board(), 3)
    assert view(seen, 0) is seen


@pytest.mark.parametrize('seen', [Observation(text='a1 red cube', stamp_ns=3),
                                  Observation.elsewhere('00ff', 3)])
def test_what_has_no_picture_at_hand_has_no_other_view(seen: Observation) -> None:
    assert view(seen, 5) is seen


def test_another_view_is_another_picture_of_the_same_moment() -> None:
    image = board()
    seen = Observation(image, GOAL_NS, frame_id='camera', visible_objects=('red_cube',),
                       unlabelled=image.copy(), depth_m=np.ones((60, 80), np.float32))
    before = seen.image_id
    other = view(seen, 2)
    assert (other.stamp_ns, other.frame_id, other.visible_objects, other.shows_goal) == (
        GOAL_NS, 'camera', ('red_cube',), True)
    assert (other.unlabelled, other.depth_m) == (None, None), 'they would not fit'
    assert other.image_id != before
    assert seen.image_id == before
    assert (seen.image == board()).all(), 'the picture itself was not touched'


def test_views_differ_from_each_other_and_are_made_alike_again() -> None:
    seen = Observation(board(), 3)
    ids = [view(seen, number).image_id for number in range(30)]
    assert len(set(ids)) == 30
    assert [view(seen, number).image_id for number in range(30)] == ids


@given(st.integers(1, 10_000))
def test_all_that_was_in_the_picture_stays_in_it(number: int) -> None:
    """What is a seventh from the edges is whole, though not where it was."""
    image = board()
    found = view(Observation(image, 3), number).image
    assert found is not None
    assert (found.shape, found.dtype) == (image.shape, np.uint8)
    white = found.min(axis=2) > 240
    assert not white[[0, -1]].any()
    assert not white[:, [0, -1]].any()
    share = white.mean() / (image.min(axis=2) > 240).mean()
    assert 0.86 ** 2 - 0.06 < share < 1.06 ** 2 + 0.06


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2 ** 32 - 1))
def test_without_zoom_shift_and_tones_a_picture_is_as_it_was(
        height: int, width: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert (alter(image, Alteration(1.0, 0.0, 0.0, 1.0)) == image).all()


@pytest.mark.parametrize(('shift', 'by'), [((0.1, 0.0), (0, 8)), ((0.0, 0.1), (6, 0)),
                                           ((-0.05, 0.05), (3, -4))])
def test_a_shift_goes_to_the_right_and_down(shift: tuple[float, float],
                                            by: tuple[int, int]) -> None:
    image = board()
    found = alter(image, Alteration(1.0, *shift, 1.0))
    assert np.subtract(centre(found), centre(image)) == pytest.approx(by, abs=0.01)
    assert (found == np.roll(image, by, (0, 1))).all(), 'and outside is the colour of the corner'


def test_a_zoom_keeps_the_centre_and_makes_things_larger() -> None:
    image = board()
    larger, smaller = (alter(image, Alteration(zoom, 0.0, 0.0, 1.0)) for zoom in (1.2, 0.8))
    assert centre(larger) == pytest.approx(centre(image), abs=0.51)
    areas = [(one.min(axis=2) > 240).sum() for one in (smaller, image, larger)]
    assert areas[0] / areas[1] == pytest.approx(0.64, abs=0.05)
    assert areas[2] / areas[1] == pytest.approx(1.44, abs=0.08)
    assert (smaller[0, 0] == GREY).all()


def test_tones_are_a_power_that_keeps_black_and_white() -> None:
    image = np.stack([np.arange(256, dtype=np.uint8).reshape(16, 16)] * 3, axis=-1)
    darker, lighter = (alter(image, Alteration(1.0, 0.0, 0.0, gamma)) for gamma in (2.0, 0.5))
    assert darker[0, 0, 0] == 0
    assert darker[-1, -1, 0] == 255
    middle = image[8, 0, 0] / 255.0  # 128
    assert darker[8, 0, 0] == round(255.0 * middle ** 2)
    assert lighter[8, 0, 0] == round(255.0 * middle ** 0.5)
    assert (np.diff(darker[..., 0].ravel().astype(int)) >= 0).all()
