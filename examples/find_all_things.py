"""List the things in the camera's next picture, with their boxes, and what they may be.

With a graph whose model finds things (``sightplan up do domain:=tabletop execution:=arm
problem:=short/short_0``) in another shell:

    python find_all_things.py
"""

import sys

import rclpy
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.srv import TellApart


def main():
    """Print the things; returns them."""
    rclpy.init()
    node = rclpy.create_node('find_all_things')
    client = node.create_client(TellApart, 'grounder/tell_apart')
    if not client.wait_for_service(30.0):
        sys.exit('nobody offers grounder/tell_apart (start "sightplan up do")')
    future = client.call_async(TellApart.Request(looks=1, timeout_s=60.0))
    rclpy.spin_until_future_complete(node, future, timeout_sec=90.0)
    reply = future.result() if future.done() else sys.exit('the grounder does not reply')
    if reply.error_code:
        sys.exit(f'the grounder says: {reply.error_msg}')
    for one in reply.instances:
        kinds = [(kind, p) for kind, p in zip(
            one.categories, one.category_probabilities, strict=True) if p >= 0.05]
        (left, right), (top, bottom) = one.region.x, one.region.y
        print(f'{one.name}: {", ".join(f"{kind} {p:.2f}" for kind, p in kinds)} at '
              f'x {left:.2f} to {right:.2f}, y {top:.2f} to {bottom:.2f} of the picture')
    print(reply.cannot_tell or reply.unread or f'{len(reply.instances)} things')
    return reply.instances


if __name__ == '__main__':
    remove_ros_args(sys.argv)
    main()
