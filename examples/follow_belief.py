"""Print what the agent believes, and what it plans, while an episode goes on.

With a graph that has an agent (``sightplan up do``, ``sightplan up experiment method:=belief``):

    python follow_belief.py
"""

import sys

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
    ended = []
    for kind, topic, tell in (
            (Belief, 'agent/belief', believed), (PlanStamped, 'agent/plan', planned),
            (EpisodeEvent, 'agent/episode', lambda one: ended.append(one) if one.kind == one.ENDED
             else None)):
        node.create_subscription(kind, topic, tell, LATCHED)
    while not episodes or len(ended) < episodes:
        rclpy.spin_once(node, timeout_sec=1.0)


if __name__ == '__main__':
    main(*map(int, remove_ros_args(sys.argv)[1:]))
