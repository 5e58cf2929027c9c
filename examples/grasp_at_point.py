"""Have an arm grasp what is at a point of the camera's picture, or put back what it holds.

With an arm that takes what is pointed at (``sightplan up grasp``) in another shell, and x and y
from 0 to 1, from the picture's left and top edge:

    python grasp_at_point.py 0.48 0.55 "the green block"
    python grasp_at_point.py
"""

import sys

import rclpy
from rclpy.action import ActionClient
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.action import GraspAt
from sightplan_interfaces.msg import Region


def main(arguments):
    """Print what became of it; returns the exit code: 0 if it is done."""
    if len(arguments) not in (0, 2, 3):
        sys.exit(__doc__)
    goal = GraspAt.Goal()  # without a place: put it back
    if arguments:
        x, y = map(float, arguments[:2])
        goal.region = Region(form=Region.POINT, x=[x], y=[y])  # this program vouches for it
        goal.label = arguments[2] if len(arguments) == 3 else ''
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is handled below
    node = rclpy.create_node('grasp_at_point')
    client = ActionClient(node, GraspAt, 'grasp_at')
    if not client.wait_for_server(30.0):
        sys.exit('nobody offers grasp_at (start "sightplan up grasp")')
    sending = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sending)
    handle = sending.result()
    if not handle.accepted:
        sys.exit('the arm is busy')
    ending = handle.get_result_async()
    try:
        while not ending.done():
            rclpy.spin_once(node, timeout_sec=0.1)  # Ctrl-C is heeded between two of these
    except KeyboardInterrupt:  # the arm holds
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
        rclpy.spin_until_future_complete(node, ending)
    result = ending.result().result
    print(result.error_msg or f'{result.cause} {result.message}'.strip())
    return int(bool(result.error_code) or result.cause != 'done')


if __name__ == '__main__':
    sys.exit(main(remove_ros_args(sys.argv)[1:]))
