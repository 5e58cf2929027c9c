"""What all nodes owe to rclpy's Node."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from nodes_testing import LIMIT_S, parameters, spinning
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.experiment import ExperimentNode
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.metrics_recorder import MetricsRecorder
from sightplan_nodes.path_critic import PathCriticNode
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode
from sightplan_nodes.vlm_planner import VlmPlannerNode

NODES = (AgentNode, ExperimentNode, GrounderNode, MetricsRecorder, PathCriticNode, SimBridge,
         SymbolicPlannerNode, VlmPlannerNode)


def assigned(cls: type) -> set[str]:
    """Names of the attributes that a class gives its objects."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    return {node.attr for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name) and node.value.id == 'self'}


@pytest.mark.parametrize('cls', NODES)
def test_nothing_of_the_base_is_overwritten(cls: type[Node]) -> None:
    base = LifecycleNode('plain') if issubclass(cls, LifecycleNode) else Node('plain')
    taken = set(dir(base))
    base.destroy_node()
    for own in cls.__mro__:
        if own.__module__.startswith('sightplan_nodes'):
            assert not assigned(own) & taken


@pytest.mark.parametrize('cls', NODES)
def test_everybody_may_read_the_parameters(cls: type[Node]) -> None:
    """As ``ros2 param dump`` does."""
    settings = {} if cls in (AgentNode, MetricsRecorder, SimBridge, SymbolicPlannerNode) else {
        'autostart': False}
    node, client = cls(parameter_overrides=parameters(**settings)), Node('client')
    name = node.get_name()
    names = ServiceCaller(client, ListParameters, f'{name}/list_parameters', name)
    values = ServiceCaller(client, GetParameters, f'{name}/get_parameters', name)
    with spinning(node, client):
        found = names(ListParameters.Request(), LIMIT_S).result.names
        got = values(GetParameters.Request(names=found), LIMIT_S).values
        assert len(got) == len(found) > 1
        assert all(value.type for value in got)
