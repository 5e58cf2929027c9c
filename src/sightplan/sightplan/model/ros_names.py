"""Check ROS names without importing ROS."""

from __future__ import annotations

import re

_NAME = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def is_ros_name(text: str) -> bool:
    """Whether a text is a ROS name of topics or services, without ``~``, ``{}`` and wildcards."""
    return _NAME.fullmatch(text) is not None
