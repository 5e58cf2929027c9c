"""Print what the agent believes, and what it plans, while an episode goes on.

With a graph that has an agent (``sightplan up do``, ``sightplan up experiment method:=belief``):

    python follow_belief.py
"""

import sys
import time

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.msg import Belief, EpisodeEvent, PlanStamped

LATCHED = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def believed(message):
    """Print the facts that are neither sure to hold nor sure not to."""
    doubtful = [f'{one.atom.predicate}({", ".join(one.atom.args)}) {one.probability:.2f}'
                for one in message.probabilities if 0.05 < one.probability < 0.95]
    print('in doubt:', ', '.join(doubtful) or 'nothing')


def planned(message):
    """Print the plan."""
    print('plan:', ' '.join(f'{one.name}({", ".join(one.args)})' for one in message.actions))


def main(episodes=0):
    """Print until so many episodes have ended; 0: until Ctrl-C."""
    rclpy.init()
    node = rclpy.create_node('follow_belief')
    ended, heard_s = [], [0.0]

    def listen(kind, topic, tell):
        def take(message):
            heard_s[0] = time.monotonic()
            tell(message)
        node.create_subscription(kind, topic, take, LATCHED)
    listen(Belief, 'agent/belief', believed)
    listen(PlanStamped, 'agent/plan', planned)
    listen(EpisodeEvent, 'agent/episode',
           lambda one: ended.append(one) if one.kind == one.ENDED else None)
    # What other topics have is heard out: it may come after the end.
    while not episodes or len(ended) < episodes or time.monotonic() < heard_s[0] + 2.0:
        rclpy.spin_once(node, timeout_sec=0.5)


if __name__ == '__main__':
    main(*map(int, remove_ros_args(sys.argv)[1:]))
