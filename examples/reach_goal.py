"""Give the agent a goal of your own, follow what it does, and cancel it with Ctrl-C.

With ``sightplan up do`` in another shell, in the same ROS_DOMAIN_ID:

    python reach_goal.py "(on g b)"
"""

import sys
import time

import rclpy
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.msg import Step

KEPT = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Profile for agent/step, which keeps steps until this program is discovered."""


def main(arguments):
    """Reach the goal; returns the exit code: 0 if the agent holds that it is reached."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is handled below
    node = rclpy.create_node('reach_goal')
    goal = RunEpisode.Goal(as_it_stands=True, goal=arguments[0], episode_id=f'g{time.time_ns()}')
    told = []

    def tell(step):
        if step.episode_id == goal.episode_id:
            print(f'{step.index + 1}. {step.action.name}({", ".join(step.action.args)})')
            told.append(step)
    node.create_subscription(Step, 'agent/step', tell, KEPT)
    client = ActionClient(node, RunEpisode, 'agent/run_episode')
    if not client.wait_for_server(30.0):
        sys.exit('nobody offers agent/run_episode (start "sightplan up do")')
    sending = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sending)
    handle = sending.result()
    if not handle.accepted:
        sys.exit('the agent is busy with another goal')
    ending = handle.get_result_async()
    try:
        while not ending.done():
            rclpy.spin_once(node, timeout_sec=0.1)  # Ctrl-C is heeded between two of these
    except KeyboardInterrupt:  # the agent stops before its next use of another node
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
        rclpy.spin_until_future_complete(node, ending)
    result, late = ending.result().result, time.monotonic() + 5.0
    while len(told) < result.steps and time.monotonic() < late:  # they may come after the result
        rclpy.spin_once(node, timeout_sec=0.1)
    print(result.error_msg
          or f'{result.stop_reason} after {result.steps} actions: {result.message}')
    return int(result.stop_reason != 'plan_done')


if __name__ == '__main__':
    sys.exit(main(remove_ros_args(sys.argv)[1:]))
