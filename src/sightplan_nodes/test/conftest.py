"""Node tests: real rclpy, all in this process, unseen by anyone else."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from sightplan.graphs.up import reserved_domain


@pytest.fixture(scope='session')
def ros_domain() -> Iterator[int]:
    """A ROS domain of this worker alone."""
    with reserved_domain() as number:
        yield number


@pytest.fixture(autouse=True)
def ros(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A ROS context for each test: nothing of one test's nodes is left for the next.

    With discovery off several nodes of one process still meet.
    """
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'OFF')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    yield
    rclpy.shutdown()
    gc.collect()  # a node that refers to itself keeps its participant, of which a process takes 32
