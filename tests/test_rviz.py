"""The configuration for RViz shows what is published."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import yaml

from sightplan.graphs.graph import load_graph
from sightplan_nodes.interfaces import Verb, of_graph

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / 'config/rviz/sightplan.rviz'
OTHERS = {'map'}
"""Topics of Nav2."""


def published() -> set[str]:
    """The topics of all nodes of the graphs."""
    found = set()
    for name, given in (('experiment', ['execution:=arm']), ('experiment', ['world:=arm_bridge']),
                        ('paths', [])):
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


def test_the_documented_command_moves_the_configuration_into_a_namespace() -> None:
    page = (ROOT / 'docs/live.md').read_text()
    (command,) = re.findall(r'^(sed .*sightplan.rviz) > robot1.rviz$', page, re.M)
    moved = yaml.safe_load(subprocess.run(
        shlex.split(command), cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    manager = moved['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'robot1/world'
    (arm,) = (one for one in manager['Displays'] if 'TF Prefix' in one)
    assert arm['TF Prefix'] == 'robot1'
