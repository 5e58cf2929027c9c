"""Conventions of coordinates: conversion, refusals, and sizes of resized pictures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.queries.coordinates import (
    Coordinates,
    Misdeclared,
    Size,
    from_unit,
    resized_size,
    to_unit,
)

SIZE, RESIZED = (640, 480), (644, 476)
FRACTION = st.floats(0.02, 1)


@pytest.mark.parametrize(('declared', 'said'), [
    (Coordinates.UNIT_XY, (0.25, 0.75)), (Coordinates.PERCENT_XY, (25, 75)),
    (Coordinates.PIXEL_XY, (160, 360)), (Coordinates.RESIZED_PIXEL_XY, (161, 357)),
    (Coordinates.PERMILLE_XY, (250, 750)), (Coordinates.PERMILLE_YX, (750, 250))])
def test_one_place_in_each_convention(declared: Coordinates, said: tuple[float, float]) -> None:
    found = to_unit([said], declared, SIZE, RESIZED)
    assert found.points == ((0.25, 0.75),) and found.rounded == 0
    assert from_unit(found.points, declared, SIZE, RESIZED) == [said]


@given(points=st.lists(st.tuples(FRACTION, FRACTION), min_size=1, max_size=5),
       declared=st.sampled_from(Coordinates))
def test_there_and_back(points: list[tuple[float, float]], declared: Coordinates) -> None:
    found = to_unit(from_unit(points, declared, SIZE, RESIZED), declared, SIZE, RESIZED)
    assert found.rounded == 0
    for one, other in zip(found.points, points, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize(('pair', 'declared', 'reason'), [
    ((640, 480), Coordinates.UNIT_XY, 'x = 640 .* pixel_xy would fit'),
    ((70, 20), Coordinates.UNIT_XY, 'percent_xy would fit'),
    ((900, 700), Coordinates.PIXEL_XY, 'permille_xy would fit'),
    ((400, 481), Coordinates.PIXEL_XY, 'y = 481 is not within 0 and 480'),
    ((0.8, 0.3), Coordinates.PERMILLE_XY, 'unit_xy would fit'),
    ((1.0005, 0.3), Coordinates.PERMILLE_YX, 'unit_xy would fit'),
    ((0.8, 0.3), Coordinates.PIXEL_XY, 'unit_xy would fit'),
    ((5000, 2), Coordinates.PERMILLE_XY, 'x = 5000'),
    ((2, 5000), Coordinates.PERMILLE_YX, 'x = 5000'),
    ((-3, 5), Coordinates.PIXEL_XY, 'x = -3 is not within 0 and 640, as pixel_xy has it$'),
    ((math.nan, 1), Coordinates.UNIT_XY, 'not a finite number'),
    ((math.inf, 1), Coordinates.PIXEL_XY, 'not a finite number'),
    ((10 ** 400, 1), Coordinates.PIXEL_XY, 'too many digits')])
def test_what_cannot_be_meant_is_refused_with_what_would_fit(
        pair: tuple[float, float], declared: Coordinates, reason: str) -> None:
    with pytest.raises(Misdeclared, match=reason):
        to_unit([pair], declared, SIZE)


def test_rounding_at_the_edges_is_counted() -> None:
    found = to_unit([(-0.001, 0.5), (1.001, 1.0)], Coordinates.UNIT_XY, SIZE)
    assert found.points == ((0.0, 0.5), (1.0, 1.0)) and found.rounded == 2
    with pytest.raises(Misdeclared):
        to_unit([(1.002, 0.5)], Coordinates.UNIT_XY, SIZE)


@pytest.mark.parametrize('resized', [None, (0, 10)])
def test_resized_pixels_need_that_size(resized: Size | None) -> None:
    with pytest.raises(Misdeclared, match='as the model saw it'):
        to_unit([(3, 4)], Coordinates.RESIZED_PIXEL_XY, SIZE, resized)


@pytest.mark.parametrize(('size', 'resized'), [
    ((640, 480), (644, 476)),      # rounded to the nearest multiples
    ((28, 28), (56, 56)),          # too few pixels
    ((5000, 4000), (4004, 3192)),  # too many
])
def test_sizes_of_resized_pictures(size: Size, resized: Size) -> None:
    assert resized_size(size) == resized


@given(width=st.integers(8, 6000), height=st.integers(8, 6000),
       most=st.sampled_from([1280, 16384]))
def test_the_rule_is_that_of_transformers(width: int, height: int, most: int) -> None:
    module = pytest.importorskip('transformers.models.qwen2_vl.image_processing_pil_qwen2_vl')
    limits = 28, 56 * 56, most * 28 * 28
    if max(width, height) > 200 * min(width, height):
        with pytest.raises(Misdeclared, match='too narrow'):
            resized_size((width, height), *limits)
        return
    rows, columns = module.smart_resize(height, width, *limits)
    assert resized_size((width, height), *limits) == (columns, rows)
