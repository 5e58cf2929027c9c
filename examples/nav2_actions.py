"""Nav2's side of ``compare_nav2_paths.py``: a path by each planner, and driving along one."""

import sys

import rclpy
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import ComputePathToPose, FollowPath
from nav_msgs.msg import OccupancyGrid
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.wait_for_message import wait_for_message

PLANNERS = ('NavFn', 'SmacHybrid', 'ThetaStar')
"""Names in ``planner_plugins`` of planner_server."""


def ask_planners(node, x, y):
    """Nav2's map, and paths to a point of it [m] by the names of the planners that find one."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    there, grid = wait_for_message(OccupancyGrid, node, '/map', qos_profile=latched,
                                   time_to_wait=10.0)
    if not there:
        sys.exit('no map on /map: is map_server active?')
    goal, paths = PoseStamped(), {}
    goal.header.frame_id = grid.header.frame_id
    goal.pose.position.x, goal.pose.position.y, goal.pose.orientation.w = x, y, 1.0
    for planner in PLANNERS:  # one after the other: a new goal would preempt the last one
        found = _act(node, ComputePathToPose, 'compute_path_to_pose', goal=goal,
                     planner_id=planner)
        if found.error_code or len(found.path.poses) < 2:
            print(f'{planner}: no path (error {found.error_code} {found.error_msg})')
        else:
            paths[planner] = found.path
    return grid, paths


def follow(node, path):
    """Drive along a path to its end."""
    driven = _act(node, FollowPath, 'follow_path', path=path, limit_s=600.0)
    print(f'stopped: error {driven.error_code} {driven.error_msg}' if driven.error_code else
          'arrived')


def _act(node, action, name, limit_s=30.0, **goal):
    """The result of an action; ends the program if none comes in time."""
    client = ActionClient(node, action, name)
    if not client.wait_for_server(10.0):
        sys.exit(f'nobody offers the action {name}: is Nav2 active?')
    sent = client.send_goal_async(action.Goal(**goal))
    rclpy.spin_until_future_complete(node, sent, timeout_sec=10.0)
    if not sent.done() or not sent.result().accepted:
        sys.exit(f'{name} does not accept the goal')
    done = sent.result().get_result_async()
    rclpy.spin_until_future_complete(node, done, timeout_sec=limit_s)
    if not done.done():
        cancelled = sent.result().cancel_goal_async()
        rclpy.spin_until_future_complete(node, cancelled, timeout_sec=10.0)
        sys.exit(f'{name} has no result after {limit_s:g} s, and '
                 + ('is cancelled' if cancelled.done() else
                    'does not answer that it is cancelled: it may go on'))
    return done.result().result
