"""The layout for Foxglove and Lichtblick shows what is published and recorded."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sightplan.records import topics
from sightplan.records.bag_messages import message_types

ROOT = Path(__file__).resolve().parent.parent
LAYOUT = json.loads((ROOT / 'config/foxglove/sightplan.json').read_text())
CONFIGS: dict[str, dict[str, Any]] = LAYOUT['configById']

PANELS = {
    # panel of both applications: fields of its configuration with paths or topics, and what may
    # be shown there
    'Image': {'imageMode.imageTopic': 'sensor_msgs/msg/Image',
              'imageMode.calibrationTopic': 'sensor_msgs/msg/CameraInfo'},
    'DiagnosticSummary': {'topicToRender': 'diagnostics'},
    'Indicator': {'path': 'value'}, 'Plot': {'paths[].value': 'number'},
    'RawMessages': {'topicPath': 'anything'}, 'StateTransitions': {'paths[].value': 'value'},
    'Tab': {}, 'Table': {'topicPath': 'array'}}
DIAGNOSTICS = '/diagnostics'
PATH = re.compile(r'(?P<topic>/[a-z_/]+)(?P<fields>(\.[a-z_]+(\[:\])?)*)\Z')


def kind_of(panel: str) -> str:
    return panel.partition('!')[0]


def values(config: Any, path: str) -> Iterator[str]:
    """The values at ``a.b`` or ``a[].b`` of a configuration."""
    name, _, rest = path.partition('.')
    items = config[name[:-2]] if name.endswith('[]') else [config[name]]
    for item in items:
        yield from values(item, rest) if rest else [item]


def shown(path: str) -> str:
    """What a message path leads to: a type of messages, 'array', 'number', 'text', 'diagnostics'.

    Raises:
        AssertionError: there is no such topic or field.
    """
    match = PATH.match(path)
    assert match, f'{path} is not a message path'
    name = match['topic'].lstrip('/')
    if path == DIAGNOSTICS:  # of nodes that run; no bag holds it
        return 'diagnostics'
    assert name in topics.RECORDED, f'{path}: nothing is published or recorded there'
    kind: Any = topics.RECORDED[name]
    for part in filter(None, match['fields'].split('.')):
        field, sliced, _ = part.partition('[')
        assert isinstance(kind, str) and '/' in kind, f'{path}: {field} is in no message'
        fields = dict(message_types().store.get_msgdef(kind).fields)
        assert field in fields, f'{path}: {kind} has no field {field}'
        node, detail = fields[field]
        if node.name == 'NAME':
            kind = detail
        elif node.name == 'BASE':
            kind = 'text' if detail[0] == 'string' else 'number'
        else:
            inner, inner_detail = detail[0]
            kind = 'array' if not sliced else inner_detail if inner.name == 'NAME' else 'number'
    return kind


def test_paths_are_resolved() -> None:
    """The test's own resolver."""
    assert shown('/agent/belief.probabilities') == 'array'
    assert shown('/agent/belief.probabilities[:].probability') == 'number'
    assert shown('/agent/step.action.name') == 'text'
    assert shown('/agent/plan') == 'sightplan_interfaces/msg/PlanStamped'
    for wrong in ('/agent/nothing', '/agent/step.colour', '/agent/step.index.more', 'agent'):
        with pytest.raises(AssertionError):
            shown(wrong)


@pytest.mark.parametrize('panel', CONFIGS)
def test_a_panel_shows_what_is_there(panel: str) -> None:
    for field, wanted in PANELS[kind_of(panel)].items():
        found = list(values(CONFIGS[panel], field))
        assert found
        for path in found:
            there = shown(path)
            assert wanted in (there, 'anything') or (
                wanted == 'value' and there in ('number', 'text')), path


def leaves(node: Any) -> Iterator[str]:
    """The panels of a layout, those in tabs included."""
    if isinstance(node, dict):
        assert node.keys() == {'direction', 'first', 'second', 'splitPercentage'}
        assert node['direction'] in ('row', 'column')
        assert 0 < node['splitPercentage'] < 100
        yield from leaves(node['first'])
        yield from leaves(node['second'])
        return
    yield node
    for tab in CONFIGS[node].get('tabs', ()):
        assert tab['title']
        yield from leaves(tab['layout'])


def test_each_panel_has_its_place() -> None:
    placed = list(leaves(LAYOUT['layout']))
    assert sorted(placed) == sorted(CONFIGS)
    assert set(map(kind_of, placed)) <= PANELS.keys()
    assert all(re.fullmatch(r'[A-Za-z]+![a-z]+', panel) for panel in placed)
    assert LAYOUT.keys() == {'configById', 'globalVariables', 'userNodes', 'playbackConfig',
                             'layout'}


def test_all_that_the_agent_publishes_is_shown() -> None:
    text = json.dumps(LAYOUT)
    topic_names = set(re.findall(r'"/([a-z_]+/[a-z_]+)', text))
    assert {*topics.EVENTS, topics.CAMERA_IMAGE, topics.CAMERA_LABELLED} - topic_names <= {
        topics.AGENT_OBSERVATION, topics.AGENT_ADOPTED}, (
            'the first only says that a picture was looked at; the second is of methods that '
            'read their goal')
    assert topics.TRUTH not in text, 'nobody publishes the truth'


def test_the_documented_command_moves_the_layout_into_a_namespace() -> None:
    page = (ROOT / 'docs/live.md').read_text()
    (command,) = re.findall(r'^(sed .*sightplan.json) > robot1.json$', page, re.M)
    moved = subprocess.run(shlex.split(command), cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout
    before, after = (set(re.findall(r'"/([a-z_/0-9]+)', text))
                     for text in (json.dumps(LAYOUT), moved))
    assert {f'robot1/{name}' if name in topics.RECORDED else name for name in before} == after
    assert any(name.startswith('robot1/agent/') for name in after)
