"""The configuration for RViz shows what is published."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import yaml

from sightplan.graphs.graph import load_graph
from sightplan_nodes import names
from sightplan_nodes.interfaces import Verb, of_graph

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / 'config/rviz/sightplan.rviz'
OTHERS = {'map'}
"""Topics of Nav2."""
GRAPHS: tuple[tuple[str, list[str]], ...] = (
    ('experiment', []), ('experiment', ['execution:=arm']), ('experiment', ['world:=arm_bridge']),
    ('experiment', ['domain:=household']), ('grasp', []), ('do', []), ('paths', []))
"""Graphs that the configuration is for, with arguments; a test of ``test_nodes_policy`` compares
what their nodes are said to publish with what they publish."""
LATCHED = 'Transient Local'
KINDS = {
    'rviz_default_plugins/Image': (names.CAMERA_IMAGE, names.CAMERA_LABELLED, names.GOAL_IMAGE),
    'rviz_default_plugins/Camera': (names.CAMERA_IMAGE,),
    'rviz_default_plugins/DepthCloud': (names.CAMERA_IMAGE, names.CAMERA_DEPTH),
    'rviz_default_plugins/RobotModel': (names.ROBOT_DESCRIPTION,),
    'rviz_default_plugins/MarkerArray': (*map(names.markers, names.WORLDS),
                                         names.markers(names.PATH_CRITIC)),
    'rviz_default_plugins/PoseWithCovariance': (names.CAMERA_POSE,),
    'vision_msgs_rviz_plugins/Detection3DArray': (names.DETECTIONS_3D,),
    'rviz_default_plugins/Path': (f'{names.PATH_CRITIC}/best',),
    'rviz_default_plugins/Map': ('map',)}
"""Displays with the topics whose messages they show."""
STREAMS = (names.CAMERA_IMAGE, names.CAMERA_LABELLED, names.CAMERA_DEPTH)
"""Topics that are not latched."""


def published() -> set[str]:
    """The topics of all nodes of the graphs."""
    found = set()
    for name, given in GRAPHS:
        graph = load_graph(ROOT / f'config/graphs/{name}.yaml')
        values = graph.values(given)
        found |= {topic[1:] for interface in of_graph(graph.chosen(values), values).values()
                  for verb, topic in interface if verb is Verb.PUBLISH}
    return found


def topics(display: dict[str, Any]) -> list[str]:
    """The topics that a display shows."""
    nested = [display[name]['Value'] for name in ('Topic', 'Description Topic') if name in display]
    return nested + [value for name, value in display.items()
                     if name.endswith('Topic') and isinstance(value, str)]


def test_every_display_shows_a_topic_that_there_is() -> None:
    displays = yaml.safe_load(FILE.read_text())['Visualization Manager']['Displays']
    shown = {topic for display in displays for topic in topics(display)}
    assert shown <= published() | OTHERS
    assert {'camera/image_raw', 'robot_description', 'path_critic/best'} <= shown


def test_every_display_takes_the_messages_of_its_topic_as_they_are_published() -> None:
    for display in yaml.safe_load(FILE.read_text())['Visualization Manager']['Displays']:
        for topic in topics(display):
            assert topic in KINDS[display['Class']], display['Name']
        for name in ('Topic', 'Description Topic'):
            if name in display:
                latched = display[name]['Value'] not in STREAMS
                assert (display[name]['Durability Policy'] == LATCHED) == latched, display['Name']


def test_the_documented_command_moves_the_configuration_into_a_namespace() -> None:
    page = (ROOT / 'docs/live.md').read_text()
    (command,) = re.findall(r'^(sed .*sightplan.rviz) > robot1.rviz$', page, re.M)
    moved = yaml.safe_load(subprocess.run(
        shlex.split(command), cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    manager = moved['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'robot1/world'
    (arm,) = (one for one in manager['Displays'] if 'TF Prefix' in one)
    assert arm['TF Prefix'] == 'robot1'
