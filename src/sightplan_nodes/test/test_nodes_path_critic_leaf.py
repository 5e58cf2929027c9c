"""The leaf of examples/ for trees of py_trees, with a critic that runs."""

from __future__ import annotations

import runpy
import time
from pathlib import Path as File

import pytest
from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from sightplan_interfaces.msg import PathLimit

from nodes_testing import LIMIT_S, spinning
from sightplan_nodes.path_critic import PathCriticNode
from test_nodes_path_critic import ROUND, SHORT, STRAIGHT, grid, path

py_trees = pytest.importorskip('py_trees')
SUCCESS, FAILURE, RUNNING = (py_trees.common.Status[name] for name in (
    'SUCCESS', 'FAILURE', 'RUNNING'))


@pytest.fixture
def leaf_of():
    """Makes leaves, whose node is spun; the blackboard is as new."""
    file = File(__file__).parents[3] / 'examples' / 'path_critic_leaf.py'
    choose_path = runpy.run_path(str(file))['ChoosePath']
    py_trees.blackboard.Blackboard.clear()
    board = py_trees.blackboard.Client(name='test')
    for key in ('map', 'paths', 'path', 'error_code_id', 'error_msg', 'reason'):
        board.register_key(key, py_trees.common.Access.WRITE)
    board.map, board.paths = grid(), [path(ROUND), path(STRAIGHT)]
    node = Node('tree')

    def make(**wanted):
        leaf = choose_path('choose', **{'vector': SHORT, **wanted})
        leaf.setup(node=node)
        return leaf, board
    with spinning(node):
        yield make


def ticked(leaf) -> py_trees.common.Status:
    """Tick until the leaf ends."""
    end = time.monotonic() + LIMIT_S
    leaf.tick_once()
    assert leaf.status is RUNNING, 'a tick never waits for the critic'
    while leaf.status is RUNNING:
        assert time.monotonic() < end
        time.sleep(0.01)
        leaf.tick_once()
    return leaf.status


def test_the_best_path_is_given_on(leaf_of) -> None:
    leaf, board = leaf_of()
    with spinning(PathCriticNode()):
        assert ticked(leaf) is SUCCESS, board.error_msg
        assert board.path == path(STRAIGHT) and board.error_code_id == 0
        board.paths = [path(STRAIGHT), path(ROUND)]
        assert ticked(leaf) is SUCCESS and 'Path 1 of 2 is the best' in board.reason


def test_failures_have_codes(leaf_of) -> None:
    none, board = leaf_of(limits=[PathLimit(descriptor='length', relation='<=', value=1.0)])
    leaf, _ = leaf_of()
    with spinning(PathCriticNode()):
        assert ticked(none) is FAILURE and board.error_code_id == 9100
        assert board.path is None and 'There is no best path' in board.error_msg
        board.map = OccupancyGrid()
        assert ticked(leaf) is FAILURE and board.error_code_id == 9002
        assert 'map.header.frame_id is empty' in board.error_msg


def test_a_leaf_without_a_critic_fails_in_time_and_may_be_halted(leaf_of) -> None:
    leaf, board = leaf_of(server_timeout_s=0.2)
    assert ticked(leaf) is FAILURE and board.error_code_id == 9101
    with spinning(PathCriticNode()):
        patient, _ = leaf_of()
        while patient._future is None:
            patient.tick_once()
            time.sleep(0.01)
        patient.stop(py_trees.common.Status.INVALID)
        assert not patient._client._pending_requests
        assert ticked(patient) is SUCCESS
