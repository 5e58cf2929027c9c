"""A graph of nodes that a bench starts, and that ends with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sightplan.graphs.keep_alive import KEEP_ALIVE_VARIABLE
from sightplan.graphs.up import graph_environment
from sightplan_nodes import names

NODES = (names.METRICS_RECORDER, names.SIM_BRIDGE, names.GROUNDER, names.SYMBOLIC_PLANNER,
         names.AGENT)
"""All of the graph ``experiment`` but the node that sends episodes: the bench does that."""
_STOP_S = 60.0


@contextlib.contextmanager
def environment(logs: Path) -> Iterator[None]:
    """Set the environment in which this process and a graph's nodes find each other.

    Args:
        logs: folder for the logs of the nodes.
    """
    with contextlib.ExitStack() as stack:
        values = {**graph_environment(os.environ, stack), KEEP_ALIVE_VARIABLE: '1',
                  'ROS_LOG_DIR': str(logs)}
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@contextlib.contextmanager
def graph_process(module: str, arguments: Sequence[str], logs: Path,
                  **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Process that starts and stops the nodes; its output is in ``up.log``.

    Args:
        module: is run, with the id of this process as its first argument.
        arguments: the others.
        logs: folder for ``up.log``.
        options: of ``Popen``.
    """
    with (logs / 'up.log').open('ab') as log:
        process = subprocess.Popen(
            [sys.executable, '-m', module, str(os.getpid()), *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)  # does nothing where it has ended
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
