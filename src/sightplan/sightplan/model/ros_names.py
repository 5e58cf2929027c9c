"""Names of ROS, for those who do not import it."""

from __future__ import annotations

import re

_NAME = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def is_ros_name(text: str) -> bool:
    """Whether ROS has topics and services of such a name; without wildcards, ``~`` and ``{}``."""
    return _NAME.fullmatch(text) is not None
