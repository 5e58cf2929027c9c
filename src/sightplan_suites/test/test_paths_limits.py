"""Limits and trade-offs of paths as texts, and files of named areas."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
import yaml

from sightplan.model import InputError
from sightplan_suites.paths.areas import Area, named_areas, read_areas
from sightplan_suites.paths.limits import (
    ABOVE_LEAST,
    AT_LEAST,
    AT_MOST,
    TIMES_LEAST,
    Limit,
    PathLimits,
    TradeOff,
    limit_from_text,
    limits_from_texts,
    trade_off_from_text,
)

NURSERY = ((4.0, 0.0), (6.0, 0.0), (6.0, 2.0), (4.0, 2.0))


@pytest.mark.parametrize(('text', 'limit'), [
    ('clearance>=0.5', Limit('minimum_clearance', AT_LEAST, 0.5)),
    ('clearance >= 50 cm', Limit('minimum_clearance', AT_LEAST, 0.5)),
    ('length<=30', Limit('path_length', AT_MOST, 30.0)),
    ('length<=30m', Limit('path_length', AT_MOST, 30.0)),
    ('turn<=60', Limit('maximum_angle', AT_MOST, 60.0)),
    ('turn<=60deg', Limit('maximum_angle', AT_MOST, 60.0)),
    ('sharp_turns<=2', Limit('sharp_turns', AT_MOST, 2.0)),
    ('average_clearance>=1e-1', Limit('average_clearance', AT_LEAST, 0.1)),
    ('length<=1.2x', Limit('path_length', AT_MOST, 1.2, TIMES_LEAST)),
    ('length<=+20%', Limit('path_length', AT_MOST, 1.2, TIMES_LEAST)),
    ('length<=+10', Limit('path_length', AT_MOST, 10.0, ABOVE_LEAST))])
def test_a_limit_is_read_from_its_text_and_written_as_one(text, limit):
    assert limit_from_text(text) == limit
    assert limit_from_text(limit.text) == limit


def test_what_a_relative_limit_allows_depends_on_the_least_that_is_offered():
    assert [limit_from_text(text).bound(20.0) for text in (
        'length<=30', 'length<=1.2x', 'length<=+10')] == [30, 24, 30]
    assert [trade_off_from_text(text).bound(20.0) for text in ('length+10', 'length+20%')] == [
        30, 24]
    assert trade_off_from_text(TradeOff('path_length', 0.2, True).text).most == 0.2


@pytest.mark.parametrize(('text', 'what'), [
    ('clearance>0.5', 'NAME>=VALUE'), ('width<=3', "'width' is not a descriptor"),
    ('length<=30deg', "unit 'deg' (give m, cm, mm, km)"), ('turn<=1m', "unit 'm'"),
    ('length<=1.2.3', 'is not a number'), ('length<=0.5x', 'give a finite number, 1 or more'),
    ('clearance>=1.2x', 'needs <='), ('length<=20%', 'NAME<=+MORE'),
    ('sharp_turns<=1m', 'unit'), ('length<=1e999', 'finite')])
def test_a_text_that_is_no_limit_is_refused_with_the_form(text, what):
    with pytest.raises(InputError) as error:
        limit_from_text(text)
    assert what in str(error.value)


@pytest.mark.parametrize('text', ['length=10', 'length+', '+10', 'length+10deg', 'breadth+10'])
def test_a_text_that_is_no_trade_off_is_refused(text):
    with pytest.raises(InputError, match='unless'):
        trade_off_from_text(text)


def test_limits_of_two_sources_are_joined_and_contradictions_named():
    options = limits_from_texts(['clearance>=0.5'], ['nursery'], '', ['length+10'])
    words = limits_from_texts(['clearance>=0.5', 'turn<=60'], ['nursery', 'hall'], 'right')
    joined = options.joined(words)
    assert joined.to_json() == {
        'limits': ['minimum_clearance>=0.5', 'maximum_angle<=60'],
        'keep_out': ['nursery', 'hall'], 'keep_side': 'right', 'unless': ['path_length+10']}
    assert joined and not PathLimits()
    with pytest.raises(InputError, match='right and left'):
        words.joined(PathLimits(keep_side='left'))
    with pytest.raises(InputError, match="keep_side 'up'"):
        PathLimits(keep_side='up')


def test_areas_of_yaml_of_a_mask_and_of_geojson(tmp_path):
    cv2.imwrite(str(tmp_path / 'mask.pgm'), np.array([[255, 0], [255, 255]], np.uint8))
    (tmp_path / 'mask.yaml').write_text(yaml.safe_dump({
        'image': 'mask.pgm', 'resolution': 2.0, 'origin': [4.0, 0.0, 0.0],
        'occupied_thresh': 0.65, 'free_thresh': 0.2}))
    (tmp_path / 'areas.yaml').write_text(yaml.safe_dump({'areas': [
        {'name': 'nursery', 'polygon': [list(corner) for corner in NURSERY]},
        {'name': 'wet floor', 'mask': 'mask.yaml'}]}))
    ring = [list(corner) for corner in (*NURSERY, NURSERY[0])]
    (tmp_path / 'areas.geojson').write_text(json.dumps({
        'type': 'FeatureCollection', 'features': [{
            'type': 'Feature', 'properties': {'name': 'nursery'},
            'geometry': {'type': 'MultiPolygon', 'coordinates': [[ring]]}}]}))
    nursery, wet = read_areas(tmp_path / 'areas.yaml')
    assert nursery == Area('nursery', (NURSERY,))
    assert wet.shape.bounds == (6.0, 2.0, 8.0, 4.0)  # the upper right cell
    assert read_areas(tmp_path / 'areas.geojson') == (nursery,)
    assert named_areas((nursery, wet), ['wet floor']) == (wet,)
    with pytest.raises(InputError, match="no area 'attic' .there are nursery, wet floor"):
        named_areas((nursery, wet), ['attic'])


@pytest.mark.parametrize(('areas', 'what'), [
    ([{'name': 'a'}], 'give a polygon or a mask'),
    ([{'name': 'a', 'polygon': [[0, 0], [1, 1], [1, 0], [0, 1]]}], 'Self-intersection'),
    ([{'name': 'a', 'polygon': [list(corner) for corner in NURSERY]}] * 2, "'a' is there twice"),
    ([{'name': ' ', 'polygon': [list(corner) for corner in NURSERY]}], 'has no name'),
    ([{'name': 'a', 'polygon': [[0, 0], [1, 1]]}], 'polygon')])
def test_an_area_that_cannot_be_used_is_named(tmp_path, areas, what):
    (tmp_path / 'areas.yaml').write_text(yaml.safe_dump({'areas': areas}))
    with pytest.raises(InputError) as error:
        read_areas(tmp_path / 'areas.yaml')
    assert what in str(error.value)


@pytest.mark.parametrize(('feature', 'what'), [
    ({'properties': {}, 'geometry': {'type': 'Polygon', 'coordinates': []}}, 'properties.name'),
    ({'properties': {'name': 'a'}, 'geometry': {'type': 'Point', 'coordinates': [0, 0]}},
     'is a Point'),
    ({'properties': {'name': 'a'}, 'geometry': {'type': 'Polygon', 'coordinates': [
        [[0, 0], [9, 0], [9, 9], [0, 0]], [[2, 1], [3, 1], [3, 2], [2, 1]]]}}, 'has a hole')])
def test_a_feature_that_is_no_area_is_named(tmp_path, feature, what):
    (tmp_path / 'a.geojson').write_text(json.dumps({'type': 'Feature', **feature}))
    with pytest.raises(InputError) as error:
        read_areas(tmp_path / 'a.geojson')
    assert what in str(error.value)
