"""Carry out one action in the world as it stands, without an agent, and print what is in view.

With a graph that has a world (``sightplan up do``) in another shell:

    python act_in_world.py moveblock g c3

An arm is made ready by the reset; what moves it goes through its gate, as for the agent.
"""

import sys
import time

import rclpy
from rclpy.action import ActionClient
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.msg import Step, SymbolicAction
from sightplan_interfaces.srv import GetView, ResetWorld

WORLD = 'sim_bridge'  # of an arm: arm_bridge


def finished(node, future, limit_s=200.0):
    """What a future brings; ends the program if nothing comes in time."""
    rclpy.spin_until_future_complete(node, future, timeout_sec=limit_s)
    return future.result() if future.done() else sys.exit(f'{WORLD} does not reply')


def asked(node, kind, service, request):
    """The reply of the world to a request."""
    client = node.create_client(kind, f'{WORLD}/{service}')
    if not client.wait_for_service(30.0):
        sys.exit(f'nobody offers {WORLD}/{service} (start "sightplan up do")')
    reply = finished(node, client.call_async(request))
    return reply if not reply.error_code else sys.exit(f'{WORLD} says: {reply.error_msg}')


def main(arguments):
    """Print what became of the action; returns whether it was carried out."""
    if not arguments:
        sys.exit(__doc__)
    rclpy.init()
    node = rclpy.create_node('act_in_world')
    asked(node, ResetWorld, 'reset',
          ResetWorld.Request(episode_id=f'mine-{time.time_ns()}', as_it_stands=True))
    client = ActionClient(node, ExecuteSkill, 'execute_skill')
    client.wait_for_server(30.0)
    handle = finished(node, client.send_goal_async(ExecuteSkill.Goal(
        action=SymbolicAction(name=arguments[0], args=arguments[1:]))))
    if not handle.accepted:
        sys.exit(f'{WORLD} is busy')
    result = finished(node, handle.get_result_async()).result
    done = result.status == Step.EXECUTED
    print('done' if done else f'not done: {result.message or result.error_msg}')
    view = asked(node, GetView, 'get_view', GetView.Request(stamp=result.stamp)).observation
    print('in view:', ', '.join(view.visible_objects) if view.knows_visible else 'not known')
    return done


if __name__ == '__main__':
    sys.exit(not main(remove_ros_args(sys.argv)[1:]))
