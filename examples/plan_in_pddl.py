"""Let the planner search for a plan, from a domain file and a problem file of PDDL.

With a graph that has a planner (``sightplan up do``) in another shell:

    python plan_in_pddl.py domain.pddl problem.pddl
"""

import sys
from pathlib import Path

import rclpy
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.msg import PlanStamped
from sightplan_interfaces.srv import Plan


def main(arguments):
    """Print the plan; returns its actions."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    domain, problem = (Path(file).read_text('utf-8') for file in arguments)
    rclpy.init()
    node = rclpy.create_node('plan_in_pddl')
    client = node.create_client(Plan, 'symbolic_planner/plan')
    if not client.wait_for_service(30.0):
        sys.exit('nobody offers symbolic_planner/plan (start "sightplan up do")')
    future = client.call_async(Plan.Request(domain_pddl=domain, problem_pddl=problem,
                                            search='optimal', timeout_s=30.0))
    rclpy.spin_until_future_complete(node, future, timeout_sec=60.0)
    reply = future.result() if future.done() else sys.exit('the planner does not reply')
    if reply.error_code:
        sys.exit(f'the planner says: {reply.error_msg}')
    if reply.status != PlanStamped.SOLVED:
        sys.exit(f'there is no plan: {reply.message or "it cannot be solved"}')
    for number, action in enumerate(reply.actions, 1):
        print(f'{number}. {action.name}({", ".join(action.args)})')
    return reply.actions


if __name__ == '__main__':
    main(remove_ros_args(sys.argv)[1:])
