"""The images of a topic that are kept for later."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image

from nodes_testing import eventually, spinning
from sightplan.model import DeadlineError, WorldError
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.ports import Camera
from sightplan_nodes.stamped_images import MixedCameraDetector, StampedImages


def test_the_thread_that_spins_the_node_unsubscribes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subscription that goes while this thread begins to wait for it would break the thread."""
    node, threads = Node('watching'), []
    end = node.destroy_subscription

    def noted(subscription: Subscription) -> bool:
        threads.append(threading.current_thread())
        return end(subscription)

    monkeypatch.setattr(node, 'destroy_subscription', noted)
    with spinning(node):
        StampedImages(node, 'camera/image_raw').close()
        eventually(lambda: bool(threads), 'the end of the subscription')
    assert threading.current_thread() not in threads
    assert not list(node.subscriptions)


def test_without_an_executor_they_are_unsubscribed_at_once() -> None:
    node = Node('watching')
    StampedImages(node, 'camera/image_raw').close()
    assert not list(node.subscriptions)
    node.destroy_node()


def picture(frame: str, stamp_ns: int = 7) -> bytes:
    return serialize_message(Image(header=MESSAGES.header(stamp_ns, frame)))


@pytest.mark.parametrize('frames', [
    'aaa', 'abbb', 'abc', 'aabba', 'abab', 'ababa' + 30 * 'b', 'ababa' + 30 * 'b' + 'aba'])
def test_a_driver_names_its_frame_as_it_likes_and_may_be_started_again(frames: str) -> None:
    node = Node('watching')
    camera = MixedCameraDetector(node)
    for frame in frames:
        camera.note(picture(frame))
    camera.check('camera/image_raw')
    node.destroy_node()


def test_frames_that_alternate_are_those_of_two_cameras() -> None:
    node = Node('watching')
    camera = MixedCameraDetector(node)
    for frame in ['old/eye', *3 * ['robot1/eye', 'robot1/eye', 'robot2/eye']]:
        camera.note(picture(frame))
    with pytest.raises(WorldError, match="is 'robot1/eye' and 'robot2/eye'.*topic of its own"):
        camera.check('camera/image_raw')
    node.destroy_node()


def test_pictures_of_two_cameras_are_refused_wherever_they_are_read() -> None:
    """Two robots whose cameras were remapped to one absolute topic."""
    node = Node('watching')
    images, camera = StampedImages(node, names.CAMERA_IMAGE), Camera(node)
    publishers = [Node('sim_bridge', namespace=f'/robot{number}') for number in (1, 2)]
    topics = [one.create_publisher(Image, f'/{names.CAMERA_IMAGE}', qos.SENSOR)
              for one in publishers]
    with spinning(node, *publishers):
        eventually(lambda: node.count_publishers(names.CAMERA_IMAGE) == 2, 'both cameras')

        def refused() -> bool:
            for number, topic in enumerate(topics, 1):
                topic.publish(MESSAGES.image_to_msg(
                    np.zeros((2, 2, 3), np.uint8), 10**9, f'robot{number}/eye'))
            said = []
            for read in (lambda: camera.newest(0, 0.1), lambda: images.nearest(10**9)):
                try:
                    read()
                except WorldError as error:
                    said.append(str(error))
                except DeadlineError:
                    pass
            return len(said) == 2 and '/robot1/sim_bridge, /robot2/sim_bridge' in said[0]
        eventually(refused, 'the words')
        for read in (lambda: camera.newest(0, 1.0), lambda: images.nearest(10**9)):
            with pytest.raises(WorldError, match='more than one camera'):
                read()
