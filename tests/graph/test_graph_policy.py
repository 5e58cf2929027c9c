"""A whole graph does what its policy allows, from the start to the end of an episode."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from graph_testing import eventually, outside_environment

from sightplan.graphs.graph import find_graph
from sightplan.graphs.up import transport_environment
from sightplan_nodes import names
from sightplan_nodes.interfaces import Verb, of_graph

pytestmark = pytest.mark.slow

WATCHER = '''
import json, sys, threading, time
import rclpy
from rclpy.action import get_action_client_names_and_types_by_node as clients
from rclpy.action import get_action_server_names_and_types_by_node as servers

rclpy.init(args=[])
node = rclpy.create_node("watcher", start_parameter_services=False)
asked = {"publish": node.get_publisher_names_and_types_by_node,
         "subscribe": node.get_subscriber_names_and_types_by_node,
         "reply": node.get_service_names_and_types_by_node,
         "request": node.get_client_names_and_types_by_node,
         "execute": lambda name, space: servers(node, name, space),
         "call": lambda name, space: clients(node, name, space)}
seen, over = set(), threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
while not over.wait(0.05):
    for name, space in node.get_node_names_and_namespaces():
        for verb, ask in asked.items():
            try:
                found = ask(name, space)
            except Exception:  # it has just gone
                continue
            seen |= {(f"{space.rstrip('/')}/{name}", verb, what) for what, _ in found
                     if "/_action/" not in what}
print(json.dumps(sorted(seen)), flush=True)
'''


@pytest.mark.parametrize(('arguments', 'readers'), [
    (('method:=belief', 'backend_options:=table=gpt-4.1', 'stop_at_goal:=yes'),
     {'agent', 'grounder', 'metrics_recorder'}),
    (('method:=blind', 'world:=arm_bridge', 'hardware:=simulated', 'max_actions:=1'),
     {'metrics_recorder'})],
    ids=['pictures', 'an arm'])
def test_nothing_is_said_that_is_not_allowed_and_all_that_is_allowed_is_used(
        start, arguments, readers) -> None:
    arguments = ('episodes:=1', *arguments)
    graph = start(*arguments)
    eventually(lambda: re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text), 'the domain')
    environment = outside_environment()
    environment['ROS_DOMAIN_ID'] = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)[1]
    with subprocess.Popen(
            [sys.executable, '-c', WATCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**environment, **transport_environment(environment)}) as watcher:
        # On a busy machine an arm holds, or is stopped and waits for a person: that will do here.
        arm = 'world:=arm_bridge' in arguments
        eventually(lambda: graph.process.poll() is not None
                   or (arm and 'to re-arm it' in graph.text), 'the end')
        assert graph.process.poll() in ((0, 1, None) if arm else (0,)), graph.text
        seen, _ = watcher.communicate()
    read: dict[str, set[tuple[str, str]]] = {}
    for node, verb, what in json.loads(seen):
        read.setdefault(node.lstrip('/'), set()).add((verb, what))
    read.pop('watcher')

    found = find_graph('experiment')
    values = found.values((*arguments, 'backend:=noisy_oracle'))
    allowed = of_graph(found.chosen(values), values)
    for name in ('health', 'operator_console', 'arm_live'):  # nobody has started them
        allowed.pop(name, None)
    assert read.keys() == allowed.keys()
    for name, parts in allowed.items():
        assert sorted(read[name] - set(parts)) == [], name
        always = {part for part, when in parts.items() if not when}
        assert sorted(always - read[name]) == [], name
    assert {name for name, parts in read.items() if any(
        verb == Verb.REQUEST and what.endswith(names.GET_STATE) for verb, what in parts)
            } == readers
    assert os.environ.get('ROS_SECURITY_ENABLE') != 'true', 'this test watches without keys'
