"""The images of a topic that are kept for later."""

from __future__ import annotations

import threading

import pytest
from rclpy.node import Node
from rclpy.subscription import Subscription

from nodes_testing import eventually, spinning
from sightplan_nodes.stamped_images import StampedImages


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
