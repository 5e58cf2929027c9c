"""Node tests: real rclpy, all in this process, unseen by anyone else."""

from __future__ import annotations

import os

import hypothesis
import pytest

hypothesis.settings.register_profile('nodes', deadline=None)
hypothesis.settings.load_profile('nodes')


@pytest.fixture(autouse=True)
def ros():
    """A ROS context for each test: nothing of one test's nodes is left for the next.

    With discovery off several nodes of one process still meet.
    """
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'OFF'
    os.environ.setdefault('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    yield
    rclpy.shutdown()
