"""PyBullet and OpenCV as the worlds need them: quiet, and on one thread."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from typing import Any

import cv2


@functools.cache
def import_bullet() -> Any:
    """PyBullet, without the line about its build time that it prints to stderr."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with open(os.devnull, 'wb') as sink:
            os.dup2(sink.fileno(), 2)
        import pybullet
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    return pybullet


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV on one thread: renderers run in many processes side by side."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
