"""The path critic as people start it, and a client in another process."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from graph_testing import LIMIT_S, eventually, outside_environment

from sightplan.graphs.up import transport_environment

pytestmark = pytest.mark.slow

CLIENT = '''
import json, rclpy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from sightplan_interfaces.srv import ComparePaths

rclpy.init()
node = Node('client')
client = node.create_client(ComparePaths, 'path_critic/compare_paths')
request = ComparePaths.Request(vector_given=True, vector=[0, 0, 0, -1, 0, 0, 0])
request.map.header.frame_id = 'map'
request.map.info.resolution, request.map.info.width, request.map.info.height = 1.0, 20, 10
request.map.data = [0] * 200
for points in ([(1, 1), (1, 9), (19, 9)], [(1, 1), (19, 9)], [(1, 1), (10, 1), (1, 9), (19, 9)]):
    path = Path()
    path.header.frame_id = 'map'
    for x, y in points:
        pose = PoseStamped()
        pose.pose.position.x, pose.pose.position.y = float(x), float(y)
        path.poses.append(pose)
    request.paths.append(path)
assert client.wait_for_service(120.0)
future = client.call_async(request)
rclpy.spin_until_future_complete(node, future, timeout_sec=120.0)
reply = future.result()
print(json.dumps([list(reply.ranking), list(reply.best), reply.error_code, reply.error_msg]))
'''


def test_paths_are_compared_by_another_process(start) -> None:
    """A tenth of the difference of lengths that would matter counts."""
    graph = start('unknown_occupied:=false', 'length_scale:=0.1', graph_name='paths')
    eventually(lambda: 'ready, without a model' in graph.text, f'the node in {graph.text}')
    domain = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)
    assert domain is not None, graph.text
    environment = outside_environment()
    done = subprocess.run(
        [sys.executable, '-c', CLIENT], capture_output=True, text=True, timeout=LIMIT_S,
        check=False, env={**environment, **transport_environment(environment),
                          'ROS_DOMAIN_ID': domain.group(1)})
    assert done.returncode == 0, done.stderr
    ranking, best, code, message = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, message
    assert ranking == [1, 0, 2] and best == [0.0, 1.0, 0.0]
