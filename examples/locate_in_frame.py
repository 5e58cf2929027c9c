"""Where is a thing, in a frame of the robot? Prints its point on the surface in that frame [m].

With a graph that has a grounder, and a camera with depth and a known pose (``sightplan up do``):

    python locate_in_frame.py "the green block" world

The newest transforms are taken, which is enough while camera and thing stand still. Where they
move, take tf2_ros (Buffer and TransformListener), which looks them up by the picture's stamp.
"""

import sys

import numpy as np
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.utilities import remove_ros_args
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces.msg import Located
from sightplan_interfaces.srv import Locate
from tf2_msgs.msg import TFMessage

LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def matrix(transform):
    """(4, 4) pose of the child frame in its parent."""
    q, t = transform.rotation, transform.translation
    x, y, z, w = q.x, q.y, q.z, q.w
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), t.x],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), t.y],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), t.z],
        [0, 0, 0, 1]])


def main(arguments):
    """Print the point; returns it, (3,)."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    target, frame = arguments
    rclpy.init()
    node = rclpy.create_node('locate_in_frame')
    seen, frames = {}, {}
    node.create_subscription(Image, 'camera/depth/image_raw', lambda m: seen.update(depth=m), 1)
    node.create_subscription(CameraInfo, 'camera/camera_info', lambda m: seen.update(info=m), 1)
    for topic, qos in (('/tf_static', LATCHED), ('/tf', 10)):
        node.create_subscription(TFMessage, topic, lambda m: frames.update(
            {one.child_frame_id: one for one in m.transforms}), qos)
    client = node.create_client(Locate, 'grounder/locate')
    if not client.wait_for_service(30.0):
        sys.exit('nobody offers grounder/locate (start "sightplan up do")')
    asked = client.call_async(Locate.Request(targets=[target]))
    while not (asked.done() and len(seen) == 2 and frames):
        rclpy.spin_once(node, timeout_sec=1.0)
    if asked.result().error_code:
        sys.exit(f'the grounder says: {asked.result().error_msg}')
    found, = asked.result().found
    if found.whereabouts != Located.HERE:
        sys.exit(f'{target} is not found: {found.reason or "it is not there"}')
    depth, info = seen['depth'], seen['info']
    z = np.frombuffer(depth.data, np.float32).reshape(depth.height, depth.width)
    u, v = found.regions[0].x[0] * depth.width, found.regions[0].y[0] * depth.height
    far = float(z[int(v), int(u)])
    x, y = u - 0.5 - info.k[2], v - 0.5 - info.k[5]  # K counts from the middle of a pixel
    point = far * np.array([x / info.k[0], y / info.k[4], 1, 1 / far])
    at = info.header.frame_id
    while at != frame:
        if at not in frames:
            known = sorted({*frames, *(one.header.frame_id for one in frames.values())})
            sys.exit(f'no way from {info.header.frame_id} to {frame}; frames: {", ".join(known)}')
        point, at = matrix(frames[at].transform) @ point, frames[at].header.frame_id
    print(f'{target}: x {point[0]:.3f}, y {point[1]:.3f}, z {point[2]:.3f} m in {frame}')
    return point[:3]


if __name__ == '__main__':
    main(remove_ros_args(sys.argv)[1:])
