"""Give the agent a goal of your own, follow what it does, and cancel it with Ctrl-C.

With ``sightplan up do`` in another shell, in the same ROS_DOMAIN_ID:

    python reach_goal.py "(on g b)"
"""

import sys

import rclpy
from rclpy.action import ActionClient
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.action import RunEpisode


def tell(message):
    """Print each action as it is carried out."""
    feedback = message.feedback
    if feedback.stage == 'act':
        print(f'{feedback.step}. {feedback.action.name}({", ".join(feedback.action.args)})')


def main(arguments):
    """Reach the goal; returns the exit code: 0 if the agent holds that it is reached."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is handled below
    node = rclpy.create_node('reach_goal')
    client = ActionClient(node, RunEpisode, 'agent/run_episode')
    if not client.wait_for_server(30.0):
        sys.exit('nobody offers agent/run_episode (start "sightplan up do")')
    sending = client.send_goal_async(RunEpisode.Goal(as_it_stands=True, goal=arguments[0]), tell)
    rclpy.spin_until_future_complete(node, sending)
    handle = sending.result()
    if not handle.accepted:
        sys.exit('the agent is busy with another goal')
    ending = handle.get_result_async()
    try:
        rclpy.spin_until_future_complete(node, ending)
    except KeyboardInterrupt:  # the agent stops before its next use of another node
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async())
        rclpy.spin_until_future_complete(node, ending)
    result = ending.result().result
    print(result.error_msg
          or f'{result.stop_reason} after {result.steps} actions: {result.message}')
    return int(result.stop_reason != 'plan_done')


if __name__ == '__main__':
    sys.exit(main(remove_ros_args(sys.argv)[1:]))
