"""Heartbeats: who beats, who is needed, and that no work of a node's stops them."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node
from sightplan_interfaces.msg import Heartbeat

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan_nodes import names, qos
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.heartbeats import Heartbeats
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode
from sightplan_nodes.vlm_planner import VlmPlannerNode


class Listener:
    """Hears all heartbeats."""

    def __init__(self) -> None:
        self.node = Node('listener')
        self.heard: list[Heartbeat] = []
        self.node.create_subscription(Heartbeat, names.HEARTBEAT, self.heard.append,
                                      qos.HEARTBEAT)

    def beats(self, node: str) -> int:
        return sum(message.node == node for message in self.heard)


def test_all_that_an_episode_needs_have_heartbeats() -> None:
    nodes = [AgentNode(), SymbolicPlannerNode(lambda settings: None),
             *(kind(parameter_overrides=[]) for kind in (GrounderNode, VlmPlannerNode))]
    listener = Listener()
    with spinning(listener.node, *nodes):
        for node in (names.AGENT, names.SYMBOLIC_PLANNER, names.GROUNDER, names.VLM_PLANNER):
            eventually(lambda node=node: listener.beats(node) > 2, f'heartbeats of {node}')
    assert all(not message.needs for message in listener.heard), 'no episode runs'


def test_a_busy_executor_stops_no_heartbeat() -> None:
    busy, listener = Node('busy'), Listener()
    release, blocked = threading.Event(), threading.Event()
    heartbeats = Heartbeats(busy, lambda: ['grounder'])

    def block() -> None:
        blocked.set()
        release.wait()
    busy.create_timer(0.01, block)
    with spinning(listener.node, busy):
        assert blocked.wait(LIMIT_S)
        before = listener.beats('busy')
        eventually(lambda: listener.beats('busy') > before + 5)
        assert listener.heard[-1].needs == ['grounder']
        heartbeats.close()
        silent = listener.beats('busy')
        time.sleep(0.2)
        assert listener.beats('busy') <= silent + 1, 'one may have been on its way'
        release.set()
