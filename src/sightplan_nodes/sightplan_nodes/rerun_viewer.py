"""The node ``rerun_viewer``: episodes in the Rerun viewer while they run."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image
from sightplan_interfaces import msg
from std_srvs.srv import Trigger

from sightplan.model import (
    EpisodeEvent,
    EpisodeStarted,
    InfrastructureError,
    InputError,
    Observation,
    Observed,
    param,
)
from sightplan.records import messages
from sightplan.records.messages import EventReader
from sightplan.records.reorder_buffer import Arrival, ReorderBuffer
from sightplan_nodes import names, qos
from sightplan_nodes.calls import introduce, run_in_executor
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import dropping, error_text
from sightplan_nodes.metrics_recorder import Ring, subscribe_to_events
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker
from sightplan_report.rerun_log import TARGETS, RerunLog

_AGAIN_S, _INTRODUCED_S = 0.1, 10.0
"""Pause between attempts to be known to the world, and limit of one [s]."""


def _ready(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
    response.success = True
    return response


@dataclass(frozen=True, slots=True)
class RerunViewerSettings:
    """Parameters of ``rerun_viewer``."""

    world: str = param(names.SIM_BRIDGE, 'Node that is the world', choices=names.WORLDS)
    target: str = param('', f'Where episodes are shown: {TARGETS}')
    image_timeout_s: float = param(2.0, 'How long to wait for an image that was looked at [s]',
                                   low=0.0, high=60.0)


class RerunViewer(Node):
    """Shows episodes in the Rerun viewer, or writes them to its file.

    Parameters: see RerunViewerSettings. Subscribes to the agent's topics and to the camera, and
    never sees ground truth. The service ``~/ready`` (Trigger) is there once the world's node knows
    these subscriptions, so that no picture from then on is missed. It shows what
    ``sightplan run --rerun`` shows; one that is started late begins with the events that the agent
    still keeps.
    """

    exit_code: int | None = None

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.RERUN_VIEWER, **node_arguments)
        self._settings = declare_settings(self, RerunViewerSettings)
        if not self._settings.target:
            raise InputError(f'rerun_viewer: parameter target is empty; it must be {TARGETS}')
        self._log = RerunLog(self._settings.target)
        self._images = {topic: Ring()
                        for topic in (names.CAMERA_IMAGE, names.CAMERA_LABELLED)}
        self._reorder_buffer = ReorderBuffer()
        self._reader = EventReader()
        self._worker = Worker(self, names.RERUN_VIEWER)
        group = ReentrantCallbackGroup()
        subscribe_to_events(self, self._worker.submit, self._take)
        for topic, ring in self._images.items():
            self.create_subscription(Image, topic, dropping(self, topic, ring.add), qos.SENSOR,
                                     raw=True, callback_group=group)
        self._closing = threading.Event()
        threading.Thread(target=self._find_world, name='find the world', daemon=True).start()

    def _find_world(self) -> None:
        """Offer ``~/ready`` once the world knows this node; in a thread of its own."""
        while not self._closing.wait(_AGAIN_S):
            try:
                if introduce(self, self._settings.world, _INTRODUCED_S, self._closing.is_set):
                    run_in_executor(self, lambda: self.create_service(
                        Trigger, '~/ready', _ready), _INTRODUCED_S)
                    return
            except InfrastructureError:
                continue  # not spinning yet, or any more

    def close(self) -> None:
        """Show what has come in, and finish."""
        self._closing.set()
        self._worker.submit(self._log.close)
        if not self._worker.close(timeout_s=8.0):
            self.get_logger().warning('the recording could not be finished in time')

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the target and the number of waiting events; see ``Diagnosis``."""
        diagnosis.note(target=self._settings.target, jobs_waiting=self._worker.waiting)

    # In the worker's thread.

    def _take(self, arrival: Arrival) -> None:
        for ready in self._reorder_buffer.add(arrival):
            try:
                self._log.record(self._event(ready))
            except Exception as error:
                self.get_logger().error(f'cannot be shown: {error_text(error)}')

    def _event(self, arrival: Arrival) -> EpisodeEvent:
        message = arrival.message
        if arrival.starts:
            self._reader = EventReader()
            _, problem = messages.read_episode_problem(message)
            return EpisodeStarted(messages.spec_from_msg(message, problem))
        event = self._reader.event(arrival.topic, message)
        if isinstance(event, Observed):
            return Observed(self._seen(message, event.observation))
        return event

    def _seen(self, message: msg.Observation, seen: Observation) -> Observation:
        """An observation with its picture, if that has come."""
        topic = names.CAMERA_LABELLED if message.labelled else names.CAMERA_IMAGE
        found = self._images[topic].find(seen.stamp_ns, self._settings.image_timeout_s)
        if found is None:
            return seen
        image = messages.image_from_msg(deserialize_message(found[0], Image))
        return dataclasses.replace(seen, image=image)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(RerunViewer, args)
