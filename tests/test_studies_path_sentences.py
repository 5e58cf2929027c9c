"""The comparison of what a sentence about paths was read as with what its writer wants."""

from __future__ import annotations

import pytest

import path_sentences as study
from sightplan_suites.paths.scenarios import Scenario

NOTHING = {'wants': {}, 'optional': {}, 'limits': [], 'except': None}


@pytest.mark.parametrize(('text', 'record', 'said'), [
    ('The shortest way.', {'wants': {'length': -1}}, study.RIGHT),
    ('The shortest way.', {'wants': {'length': 1}}, study.WRONG),
    ('The shortest way.', {'optional': {'length': -1}, 'wants': {'smoothness': -1}}, study.WRONG),
    ('The blorgy way.', {'wants': {'length': 1}}, study.REFUSED),
    ('The blorgy way.', {}, study.RIGHT),
    ('The shortest way.', {}, study.WRONG),
    ('At least 50 cm from the walls.', {
        'limits': [{'measure': 'min_clearance', 'at_least': 0.5}],
        'optional': {'min_clearance': 1}}, study.RIGHT),
    ('At least 60 cm from the walls.', {
        'limits': [{'measure': 'min_clearance', 'at_least': 0.5}],
        'optional': {'min_clearance': 1}}, study.WRONG),
    ('Not through the nursery.', {'limits': [{'keep_out': 'the old nursery'}]}, study.RIGHT),
    ('Not through the nursery.', {'limits': [{'keep_out': 'the attic'}]}, study.WRONG),
    ('Keep to the left.', {'limits': [{'keep_side': 'right'}]}, study.WRONG),
    ('Few turns, unless it is 10 m longer.', {
        'wants': {'smoothness': -1}, 'optional': {'sharp_turns': -1, 'max_angle': -1},
        'except': {'measure': 'length', 'more_than': 10, 'unit': 'm'}}, study.RIGHT),
    ('Few turns, unless it is 10 m longer.', {
        'wants': {'smoothness': -1}, 'optional': {'sharp_turns': -1, 'max_angle': -1},
        'except': {'measure': 'length', 'more_than': 10, 'unit': 'percent'}}, study.WRONG)])
def test_readings_are_judged(text: str, record: dict, said: str) -> None:
    assert study.judged({**NOTHING, **record, 'text': text})[0] == said


@pytest.mark.parametrize(('vector', 'said'), [
    ((0, 0, 0, -1, 0, 0, 0), 'right'), ((0, 0, 0, 1, 0, 0, 0), 'turned'),
    ((0, 1, 0, -1, 0, 0, 0), 'partly')])
def test_tasks_are_judged(vector: tuple[int, ...], said: str) -> None:
    task = Scenario(1, '', vector, 'x', ())
    assert study._task_judged(task, 'The shortest way.') == said
    assert study._task_judged(task, 'The blorgy way.') == 'refused'
