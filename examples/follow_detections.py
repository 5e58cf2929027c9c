"""Print what the model finds, and where it is, as vision_msgs/Detection3DArray.

With a graph that has a grounder, and a camera with depth (``sightplan up do``); detections come
whenever somebody has it look for things, such as ``locate_in_frame.py``:

    python follow_detections.py
"""

import math
import sys

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.utilities import remove_ros_args
from vision_msgs.msg import Detection3DArray

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def tell(message):
    """Print the likeliest class of each thing, its place, and how exactly that is known."""
    for one in message.detections:
        likeliest = one.results[0]
        at, covariance = likeliest.pose.pose.position, likeliest.pose.covariance
        off = 1e3 * math.sqrt(covariance[0] + covariance[7] + covariance[14])
        print(f'{likeliest.hypothesis.class_id} ({likeliest.hypothesis.score:.2f}): x {at.x:.3f}, '
              f'y {at.y:.3f}, z {at.z:.3f} m in {message.header.frame_id}, within {off:.1f} mm')
    if not message.detections:
        print('nothing is there')


def main(count=0):
    """Print so many messages; 0: until Ctrl-C."""
    rclpy.init()
    node = rclpy.create_node('follow_detections')
    heard = []
    node.create_subscription(Detection3DArray, 'grounder/detections_3d',
                             lambda message: heard.append(tell(message)), LATCHED)
    while not count or len(heard) < count:
        rclpy.spin_once(node, timeout_sec=1.0)


if __name__ == '__main__':
    main(*map(int, remove_ros_args(sys.argv)[1:]))
