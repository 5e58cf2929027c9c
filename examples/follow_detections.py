"""Print what the model finds, and where it is, as vision_msgs/Detection3DArray.

The time is that of the picture: detections that are older than the picture on
grounder/detections are of an earlier one, since the depth of the last one is not known.

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
    """Print the likeliest class and the place of each thing, and how exactly that is known."""
    time_s = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    for one in message.detections:
        likeliest = one.results[0]  # the grounder publishes no detection without a class
        at, covariance = likeliest.pose.pose.position, likeliest.pose.covariance
        off = 1e3 * math.sqrt(covariance[0] + covariance[7] + covariance[14])
        print(f'at {time_s:.3f} s: {likeliest.hypothesis.class_id} '
              f'({likeliest.hypothesis.score:.2f}): x {at.x:.3f}, y {at.y:.3f}, '
              f'z {at.z:.3f} m in {message.header.frame_id}, within {off:.1f} mm')
    if not message.detections:
        print(f'at {time_s:.3f} s: nothing is there')


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
