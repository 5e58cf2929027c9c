"""Print what the agent believes, and which plan it follows, while an episode goes on.

The topic agent/plan has all replies of the planner, also to what a method only supposes. Each step
(agent/step) says which of them it follows.

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


def follow(steps, plans):
    """Print the plan that each step belongs to, from its action on.

    A step whose plan is not there yet is kept: two topics come in any order.

    Args:
        steps: whose plans are not printed yet.
        plans: of all episodes, by session, episode and sequence number.
    """
    for step in [*steps]:
        plan = plans.get((step.session, step.episode_id, step.plan))
        if plan is None or step.action not in plan.actions:  # of an earlier episode
            continue
        rest = plan.actions[list(plan.actions).index(step.action):]
        print('plan:', ' '.join(f'{one.name}({", ".join(one.args)})' for one in rest))
        steps.remove(step)


def main(episodes=0):
    """Print until so many episodes have ended; 0: until Ctrl-C."""
    rclpy.init()
    node = rclpy.create_node('follow_belief')
    plans, steps, ended, heard_s = {}, [], [], [0.0]

    def planned(message):
        plans[message.session, message.episode_id, message.sequence] = message
        follow(steps, plans)

    def stepped(message):
        if message.plan:  # else it follows none
            steps.append(message)
        follow(steps, plans)

    def listen(kind, topic, tell):
        def hear(message):
            heard_s[0] = time.monotonic()
            tell(message)
        node.create_subscription(kind, topic, hear, LATCHED)
    listen(Belief, 'agent/belief', believed)
    listen(PlanStamped, 'agent/plan', planned)
    listen(Step, 'agent/step', stepped)
    listen(EpisodeEvent, 'agent/episode',
           lambda one: ended.append(one) if one.kind == one.ENDED else None)
    # What other topics have is heard out: it may come after the end.
    while not episodes or len(ended) < episodes or time.monotonic() < heard_s[0] + 2.0:
        rclpy.spin_once(node, timeout_sec=0.5)


if __name__ == '__main__':
    main(*map(int, remove_ros_args(sys.argv)[1:]))
