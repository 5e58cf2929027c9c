"""A stand-in for Nav2: its map and its two actions, with the paths of the shipped recording.

Of the planners, ``ThetaStar`` finds nothing. Each goal is printed as a line of JSON.
"""

import contextlib
import json
import sys

import rclpy
from nav2_msgs.action import ComputePathToPose, FollowPath
from nav_msgs.msg import OccupancyGrid, Path
from rclpy.action import ActionServer
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message

from sightplan.records.bag_reading import open_bag


class FakeNav2(Node):
    """Plans and follows at once."""

    def __init__(self, bag: str) -> None:
        super().__init__('fake_nav2')
        opened = open_bag(bag)
        grid, *paths = (deserialize_message(message.data, kind) for topic, kind in (
            ('/map', OccupancyGrid), ('/plan', Path)) for message in opened.messages([topic]))
        self.paths = dict(zip(('NavFn', 'SmacHybrid'), paths, strict=False))
        self.map = self.create_publisher(OccupancyGrid, '/map', QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.map.publish(grid)
        self.servers = [
            ActionServer(self, kind, name, execute) for kind, name, execute in (
                (ComputePathToPose, 'compute_path_to_pose', self.plan),
                (FollowPath, 'follow_path', self.follow))]

    def plan(self, handle):
        goal, result = handle.request, ComputePathToPose.Result()
        position = goal.goal.pose.position
        print(json.dumps([goal.planner_id, goal.goal.header.frame_id, position.x, position.y]),
              flush=True)
        if goal.planner_id in self.paths:
            result.path = self.paths[goal.planner_id]
            handle.succeed()
        else:
            result.error_code, result.error_msg = result.NO_VALID_PATH, 'nothing found'
            handle.abort()
        return result

    def follow(self, handle):
        print(json.dumps(['follow', len(handle.request.path.poses)]), flush=True)
        handle.succeed()
        return FollowPath.Result()


if __name__ == '__main__':
    rclpy.init()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(FakeNav2(sys.argv[1]))
