"""What tests of the benchmarks share."""

import os

import pytest


@pytest.fixture
def ros():
    """A ROS context for a test: nothing of one test's nodes is left for the next.

    With discovery off several nodes of one process still meet.
    """
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'OFF')
        patch.setenv('ROS_DOMAIN_ID', str(100 + os.getpid() % 100))
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        yield
        rclpy.shutdown()
