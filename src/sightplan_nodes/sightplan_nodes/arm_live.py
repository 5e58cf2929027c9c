"""``python -m sightplan_nodes.arm_live REQUEST``: what ``sightplan arm check --live`` asks.

The node that moves the arm is asked which guarantees hold (service ``WORLD/status``). Where there
is none, the drivers are listened to for some seconds, which moves nothing. The request, and the
answer on the last line of standard output, are JSON objects.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Image, JointState
from sightplan_interfaces import msg
from std_srvs.srv import Trigger

from sightplan.graphs.placing import flag_of
from sightplan.graphs.up import SECURITY
from sightplan.model import DeadlineError
from sightplan_arm.config import RobotConfig, load_robot
from sightplan_arm.guarantees import WINDOW_S, assess
from sightplan_nodes import names, qos
from sightplan_nodes.asking import answer_request, namespaces_with
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.live_measures import LiveMeasures, reachable

NAME = 'arm_live'
_APPEAR_S = 3.0
_APPEAR_WITH_KEYS_S = 10.0  # each pair of nodes shakes hands first
_ANSWER_S = 5.0
_DRIVER_S = 2.0


class LiveClient(Node):
    """Finds out which guarantees hold for an arm; its executor spins in another thread."""

    def __init__(self) -> None:
        super().__init__(NAME)

    def look(self, robot: str, appear_s: float | None = None) -> dict[str, Any]:
        """Return the guarantees that hold, as plain JSON data.

        Args:
            robot: a name in config/robots, or a file; for where no node moves the arm.
            appear_s: how long to look for such a node [s]; None: 3, and 10 where there are keys.

        Returns:
            what the service says (``guarantees``, ``text``, ``may_be_armed``, ...), and ``asked``:
            the node, '' if there is none; ``elsewhere``: namespaces that have one, then.

        Raises:
            SightplanError: the node is silent, there is no such robot, or neither a node nor a
                driver of an arm is here, but a node is in another namespace.
        """
        if appear_s is None:
            with_keys = os.environ.get(SECURITY) == 'true'
            appear_s = _APPEAR_WITH_KEYS_S if with_keys else _APPEAR_S
        end_s = time.monotonic() + appear_s
        while True:
            here = {name for name, space in self.get_node_names_and_namespaces()
                    if space == self.get_namespace()}
            worlds = [name for name in reversed(names.WORLDS) if name in here]
            if worlds:
                ask = ServiceCaller(self, Trigger, names.arm_status(worlds[0]), worlds[0],
                                    repeatable=True)
                reply = ask(Trigger.Request(), _ANSWER_S)
                return {'asked': worlds[0], **json.loads(reply.message)}
            if time.monotonic() >= end_s:
                return self._measure(load_robot(robot), namespaces_with(self, names.WORLDS))
            time.sleep(0.05)

    def _measure(self, robot: RobotConfig, elsewhere: Sequence[str]) -> dict[str, Any]:
        """Measure the guarantees from the messages of the drivers, where no gate runs."""
        if elsewhere and not any(
                self.count_publishers(names.driver(robot.arm.joint_states, hardware))
                for hardware in (names.REAL, names.SIMULATED)):
            space = self.get_namespace().strip('/')
            raise DeadlineError(
                f'no node moves an arm in ROS_DOMAIN_ID={os.environ.get("ROS_DOMAIN_ID", "0")}, '
                f'{f"namespace {space}" if space else "without a namespace"}; there is one with '
                f'{flag_of(*elsewhere)}')
        simulated = self.count_publishers(names.driver(robot.arm.joint_states, names.SIMULATED))
        hardware = names.SIMULATED if simulated else names.REAL
        measures = LiveMeasures(self, robot, hardware)

        def hear(status: msg.ArmStatus) -> None:
            measures.watcher = status
        subscriptions = [
            self.create_subscription(JointState, names.driver(robot.arm.joint_states, hardware),
                                     measures.note_joints, qos.DRIVER),
            self.create_subscription(Image, names.driver(robot.camera.image, hardware),
                                     lambda data: measures.note_picture(), qos.DRIVER, raw=True),
            self.create_subscription(msg.Heartbeat, names.HEARTBEAT, measures.note_beat,
                                     qos.HEARTBEAT),
            self.create_subscription(msg.ArmStatus, names.arm_status(names.ARM_WATCHER), hear,
                                     qos.LATCHED)]
        unreachable = reachable(self, robot, hardware)
        time.sleep(_DRIVER_S + WINDOW_S)
        guarantees = assess(robot, measures.observed((), unreachable()))
        for subscription in subscriptions:
            self.destroy_subscription(subscription)
        return {'asked': '', 'elsewhere': list(elsewhere), 'robot': robot.name,
                'hardware': hardware, 'state': None,
                'may_be_armed': False, 'guarantees': [one.to_json() for one in guarantees],
                'text': '\n'.join(map(str, guarantees))}


def main() -> int:
    """Do what the first argument asks for, and print the answer."""
    return answer_request(NAME, lambda request: str(request['robot']), LiveClient,
                          LiveClient.look)


if __name__ == '__main__':
    sys.exit(main())
