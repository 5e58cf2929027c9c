"""A graph in a namespace, and with other names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightplan.graphs.graph import Graph, load_graph
from sightplan.graphs.placing import with_actions
from sightplan.model import InputError

TEXT = '''
description: A test
nodes:
  - {package: p, executable: e, name: eyes}
  - {package: p, executable: e, name: arm, namespace: hardware, remap: {beat: /beat}}
'''


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    file = tmp_path / 'test.yaml'
    file.write_text(TEXT)
    return load_graph(file)


def placed(graph: Graph, *given: str) -> Graph:
    return graph.chosen(graph.values(given))


@pytest.mark.parametrize('given', ['left/Robot_1', '/left/Robot_1/'])
def test_a_namespace_moves_every_node_and_the_topics_of_the_graph(graph, given: str) -> None:
    found = placed(graph, f'namespace:={given}')
    assert found.namespace == 'left/Robot_1'
    assert [node.full_name for node in found.nodes] == [
        'left/Robot_1/eyes', 'left/Robot_1/hardware/arm']
    for node in (*found.nodes, found.beside('grasp')):
        assert node.resolve('/clock') == '/left/Robot_1/clock'
        assert node.resolve('/diagnostics') == '/diagnostics'
    assert found.nodes[0].resolve('~/ask') == '/left/Robot_1/eyes/ask'
    assert found.beside('grasp').full_name == 'left/Robot_1/grasp'


def test_without_a_namespace_nothing_has_another_name(graph) -> None:
    found = placed(graph)
    assert [node.full_name for node in found.nodes] == ['eyes', 'hardware/arm']
    assert [dict(node.remap) for node in found.nodes] == [{}, {'beat': '/beat'}]
    assert found.nodes[1].resolve('beat') == '/beat'
    assert found.nodes[1].resolve('/clock') == '/clock'


def test_relative_names_of_remappings_are_in_the_namespace_of_the_graph(graph) -> None:
    """Whoever publishes and whoever listens mean the same topic, wherever they are."""
    found = placed(graph, 'namespace:=left', 'remap:=hardware/image:=seen eyes:~/ask:=/ask',
                   'remap:=a:=/b')
    eyes, arm = found.nodes
    assert eyes.resolve('hardware/image') == arm.resolve('image') == '/left/seen'
    assert arm.resolve('seen') == '/left/hardware/seen'
    assert (eyes.resolve('~/ask'), arm.resolve('~/ask')) == ('/ask', '/left/hardware/arm/ask')
    assert eyes.resolve('a') == '/b'


def test_an_action_is_remapped_in_all_its_parts() -> None:
    found = with_actions([('move', '/go')])
    assert found[0] == ('move', '/go') and len(found) == 6
    assert ('move/_action/send_goal', '/go/_action/send_goal') in found


@pytest.mark.parametrize(('given', 'words'), [
    ('namespace:=1st', 'begin with no digit'), ('namespace:=a//b', 'not a namespace of ROS'),
    ('namespace:=my robot', 'not a namespace of ROS'),
    ('remap:=a', 'write FROM:=TO'), ('remap:=a:=b c', 'write FROM:=TO'),
    ('remap:=a:=1', 'write FROM:=TO'), ('remap:=__ns:=/left', 'namespace:=NAME'),
    ('remap:=eyes:__node:=nose', 'find it by its name'),
    ('remap:=eye:a:=b', "did you mean 'eyes'")])
def test_what_is_no_name_is_refused(graph, given: str, words: str) -> None:
    with pytest.raises(InputError, match='(?s)' + words.replace('(', '.')):
        graph.values([given])


def test_a_graph_file_cannot_take_the_names_of_these_arguments(tmp_path: Path) -> None:
    file = tmp_path / 'test.yaml'
    file.write_text(TEXT + 'arguments: [{name: remap, type: str, default: "", description: x}]')
    with pytest.raises(InputError, match='every graph has the argument remap'):
        load_graph(file)
