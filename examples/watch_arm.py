"""Print the state of an arm's safety gate as it changes; with ``stop`` the arm is stopped.

With an arm (``sightplan up grasp``, ``sightplan up do world:=arm_bridge``) in another shell:

    python watch_arm.py sim_bridge
    python watch_arm.py arm_bridge stop

A stop lasts until a person re-arms the arm. It is no emergency stop: that is the robot's button.
"""

import sys

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.msg import ArmStatus
from std_srvs.srv import Trigger

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STATES = {ArmStatus.ARMED: 'armed', ArmStatus.HOLDING: 'holds', ArmStatus.STOPPED: 'stopped',
          ArmStatus.REARMED: 're-armed, until the next episode'}


def main(arguments):
    """Print states until Ctrl-C, or until the arm is stopped."""
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ['stop']):
        sys.exit(__doc__)
    world, stopping = arguments[0], len(arguments) == 2
    rclpy.init()
    node, told = rclpy.create_node('watch_arm'), []

    def tell(status):
        words = f'{STATES[status.state]}{", moving" * status.moving} {status.message}'.strip()
        if told[-1:] != [words]:
            print(words, flush=True)
            told.append(words)
    node.create_subscription(ArmStatus, f'{world}/status', tell, LATCHED)
    if stopping:
        client = node.create_client(Trigger, f'{world}/stop')
        if not client.wait_for_service(30.0):
            sys.exit(f'nobody offers {world}/stop (start "sightplan up grasp")')
        client.call_async(Trigger.Request())
    while not stopping or not any(one.startswith('stopped') for one in told):
        rclpy.spin_once(node, timeout_sec=1.0)


if __name__ == '__main__':
    main(remove_ros_args(sys.argv)[1:])
