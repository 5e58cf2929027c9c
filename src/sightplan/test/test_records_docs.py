"""docs/records.md names every field of what a run writes, and nothing else."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from doubles import MemoryWorld, SearchPlanner
from sightplan.metrics.failures import Cause, Failure
from sightplan.metrics.scorer import BELIEF_BINS, COUNTS, MOST_TEXTS
from sightplan.model import PlanningStatus
from sightplan.records import topics
from sightplan.records.answers_log import NAME as ANSWERS
from sightplan.records.bag import METADATA, VERSION
from sightplan.runs import RunSettings, run
from sightplan.vlm.recording import NAME as REPLIES

PAGE = (Path(__file__).resolve().parents[3] / 'docs/records.md').read_text()


def section(heading: str) -> str:
    """A section up to the next heading of any level."""
    (text,) = re.findall(rf'^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)', PAGE,
                         re.DOTALL | re.MULTILINE)
    return text


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table."""
    lines = [line for line in section(heading).splitlines() if line.startswith('| ')]
    return [[cell.strip() for cell in line.strip('|').split(' | ')] for line in lines[1:]]


def fields(heading: str) -> set[str]:
    found = [re.findall(r'`(\w+)`', row[0]) for row in rows(heading)]
    names = list(itertools.chain.from_iterable(found))
    assert len(names) == len(set(names)), 'a field is listed twice'
    return set(names)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A run of a model that errs, with all that a run can write."""
    folder = tmp_path_factory.mktemp('records') / 'run'
    run(RunSettings(split='simple', episodes=3, backend='noisy_oracle', bags='all',
                    backend_options={'table': 'gpt-4.1'}, answers_log=True, record=True,
                    failure_probability=0.2, method='belief', out=str(folder)),
        world=MemoryWorld(), planner=SearchPlanner())
    return folder


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_fields_of_an_episode(recorded):
    lines = read(recorded / 'episodes.jsonl')
    assert any(line['plans'] and line['actions'] for line in lines)
    for line in lines:
        assert fields('`episodes.jsonl`') == set(line)
        assert fields('`predicates`') == set(COUNTS)
        for counts in line['predicates'].values():
            assert all(set(own) == set(COUNTS) for own in counts.values())
        assert all(set(plan) == fields('`plans`') for plan in line['plans'])
        assert all(set(step) == fields('`actions`') - {'proposal', 'region'}
                   for step in line['actions'])


def test_fields_of_a_failure():
    made = Failure(Cause.BUDGET, 0, 'text').to_json()
    assert fields('`failure`') == {*made, 'picture'}
    (evidence,) = [row[1] for row in rows('`failure`') if row[0] == '`evidence`']
    assert set(re.findall(r'`(\w+)`', evidence)) == set(made['evidence'])


def test_fields_of_answers_and_actions(recorded):
    lines = read(recorded / ANSWERS)
    assert {frozenset(line) for line in lines} == {
        frozenset(fields('answers')), frozenset(fields('actions that were tried'))}


def test_fields_of_a_run(recorded):
    info = json.loads((recorded / 'run.json').read_text())
    assert fields('`run.json`') == set(info)
    (session,) = [row[1] for row in rows('`run.json`') if row[0] == '`sessions`']
    assert set(re.findall(r'`(\w+)`', session)) <= set(info['sessions'][0])


def test_files_of_a_run(recorded):
    listed = set(re.findall(r'^  ([\w.]+)', PAGE.split('```')[1], re.MULTILINE))
    assert {ANSWERS, REPLIES} <= listed
    assert {path.name for path in recorded.iterdir()} <= listed
    for bag in (recorded / 'bags').iterdir():
        assert {path.name for path in bag.iterdir()} == {METADATA, f'{bag.name}.mcap'}
    assert f'version {VERSION})' in section('Bags')


def test_topics_of_a_bag():
    table = [[cell.strip('`') for cell in row[:3]] for row in rows('Bags')]
    kept = {topics.EVENTS_QOS: 'events', topics.LATCHED_QOS: 'latched',
            topics.SENSOR_QOS: 'sensor'}
    assert table == [[name, kind, kept[topics.bag_qos(name)]]
                     for name, kind in topics.RECORDED.items()]
    for word, qos in (('events', topics.EVENTS_QOS), ('sensor', topics.SENSOR_QOS)):
        (said,) = re.findall(rf'"{word}":\s([^;.]*)', section('Bags'))
        assert ' '.join(said.split()) == (f'{qos.reliability}, {qos.durability}, depth '
                                          f'{qos.depth}').replace('_', ' ')


def test_numbers_and_words():
    text = section('`episodes.jsonl`')
    assert f'in {BELIEF_BINS} bins' in text
    assert {5: 'the first five'}[MOST_TEXTS] in text
    assert all(f'`{status.value}`' in section('`plans`') for status in PlanningStatus)
