"""Print what the agent believes, and which plan it follows, while an episode goes on.

The topic agent/plan has all replies of the planner, also to what a method only supposes. The plan
that is followed is the newest one with the action that is then carried out (agent/step) in it.

With a graph that has an agent (``sightplan up do``, ``sightplan up experiment method:=belief``):

    python follow_belief.py
"""

import sys
import time

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.utilities import remove_ros_args
from sightplan_interfaces.msg import Belief, EpisodeEvent, PlanStamped, Step

LATCHED = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def believed(message):
    """Print the facts that are neither sure to hold nor sure not to."""
    doubtful = [f'{one.atom.predicate}({", ".join(one.atom.args)}) {one.probability:.2f}'
                for one in message.probabilities if 0.05 < one.probability < 0.95]
    print('in doubt:', ', '.join(doubtful) or 'nothing')


def follow(action, plans):
    """Print the plan that an action belongs to, from that action on; forget the others."""
    for plan in reversed(plans):
        if action in plan:
            rest = plan[plan.index(action):]
            print('plan:', ' '.join(f'{one.name}({", ".join(one.args)})' for one in rest))
            plans[:] = [rest[1:]]
            return


def main(episodes=0):
    """Print until so many episodes have ended; 0: until Ctrl-C."""
    rclpy.init()
    node = rclpy.create_node('follow_belief')
    plans, ended, heard_s = [], [], [0.0]

    def listen(kind, topic, tell):
        def take(message):
            heard_s[0] = time.monotonic()
            tell(message)
        node.create_subscription(kind, topic, take, LATCHED)
    listen(Belief, 'agent/belief', believed)
    listen(PlanStamped, 'agent/plan', lambda one: plans.append(list(one.actions)))
    listen(Step, 'agent/step', lambda one: follow(one.action, plans))
    listen(EpisodeEvent, 'agent/episode',
           lambda one: ended.append(one) if one.kind == one.ENDED else None)
    # What other topics have is heard out: it may come after the end.
    while not episodes or len(ended) < episodes or time.monotonic() < heard_s[0] + 2.0:
        rclpy.spin_once(node, timeout_sec=0.5)


if __name__ == '__main__':
    main(*map(int, remove_ros_args(sys.argv)[1:]))
