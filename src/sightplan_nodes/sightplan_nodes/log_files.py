"""Keeps the log file of a node's process small.

ROS writes all that a node logs to ``<name>_<pid>_<time>.log`` in ``ROS_LOG_DIR`` (else
``~/.ros/log``), without a limit: a warning at each step of a graph that runs for weeks would fill
the disk. The file is open to append, so that it can be cut while ROS writes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from rclpy.logging import get_logging_directory

LIMIT_BYTES = 8 * 2**20
"""A log that is longer becomes ``<file>.1``, in place of the one before, and begins again."""
_EVERY_S = 10.0


class LogFile:
    """The log file of this process, kept at about twice the limit at most."""

    def __init__(self, folder: Path | None = None, limit_bytes: int = LIMIT_BYTES,
                 pid: int | None = None) -> None:
        """Keep the path of the log file, which ROS creates.

        Args:
            folder: of the log files; None: ROS's.
            limit_bytes: length from which on it begins again.
            pid: of the process; None: this one.
        """
        self._folder = Path(get_logging_directory()) if folder is None else folder
        self._limit = limit_bytes
        self._pattern = f'*_{os.getpid() if pid is None else pid}_*.log'
        self._due = 0.0

    def look(self) -> None:
        """Trim the file if it is too long; checked every ten seconds, however often called."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _EVERY_S
            self.trim()

    def trim(self) -> None:
        """Let a log that is too long begin again, and keep what it had beside it."""
        for path in self._folder.glob(self._pattern):
            with contextlib.suppress(OSError):
                if path.stat().st_size <= self._limit:
                    continue
                with contextlib.suppress(OSError):  # a full disk: then it is not kept
                    shutil.copyfile(path, path.with_name(f'{path.name}.1'))
                os.truncate(path, 0)
