"""Provenance of a result: the commit, versions and machine that are needed to repeat it."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import sightplan

_PACKAGES = ('numpy', 'torch', 'transformers', 'openai', 'pybullet', 'unified-planning',
             'up-fast-downward', 'ortools', 'clingo', 'pillow', 'pyyaml',
             'opencv-python-headless', 'rosbags', 'rclpy', 'ros-rclpy', 'ros-fastrtps',
             'ros-rmw-fastrtps-cpp')


def provenance() -> dict[str, Any]:
    """Commit, versions and platform, as plain JSON data.

    Returns:
        ``commit`` and ``dirty`` (None outside a checkout of this repository), ``sightplan`` and
        ``packages`` (installed versions, absent ones left out), ``python``, ``platform``.
    """
    commit, dirty = _git()
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {'commit': commit, 'dirty': dirty, 'sightplan': sightplan.__version__,
            'python': platform.python_version(), 'implementation': sys.implementation.name,
            'platform': platform.platform(), 'packages': packages}


@functools.cache
def _git() -> tuple[str | None, bool | None]:
    here = Path(sightplan.__file__).resolve().parent
    top = _output(here, 'rev-parse', '--show-toplevel')
    # Installed somewhere below another project's checkout: that commit is not ours.
    if top is None or not (Path(top) / 'src' / 'sightplan' / 'sightplan' / 'model').is_dir():
        return None, None
    commit = _output(here, 'rev-parse', 'HEAD')
    status = _output(Path(top), 'status', '--porcelain', '--untracked-files=no')
    return commit, None if status is None else bool(status)


def _output(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(['git', '-C', str(folder), *arguments], capture_output=True,
                              text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
