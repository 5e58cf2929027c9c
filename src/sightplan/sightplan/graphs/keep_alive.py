"""Keep a graph alive: an optional layer above ``up`` (``sightplan up --keep-alive``).

With DDS it happens that a node runs and speaks and no longer hears its peers. With this layer each
node says every second whom it hears; a node that is deaf is restarted, where the graph file allows
it (``restarts``), else the graph ends and names it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from sightplan.graphs.graph import Graph
from sightplan.graphs.keeping import PIPE_VARIABLE, SILENT_S, Keeper, Pipe
from sightplan.graphs.up import Layer, Verdict, clean_shared_memory

KEEP_ALIVE_VARIABLE = 'SIGHTPLAN_KEEP_ALIVE'
"""Environment variable that is set where nodes report which nodes they hear."""
_LISTENER = 'sightplan_nodes.health'
_LISTEN_S = 60.0
"""Time limit of the listening program, which takes some 6 s [s]."""
_END_S = 4.0
"""Time limit for the listening program to end once it is asked to [s]."""


class KeepAlive(Layer):
    """Finds the deaf nodes of a graph by their presence messages; a context manager."""

    def __init__(self, graph: Graph) -> None:
        """Begin without messages; ``graph`` includes the nodes that other launchers start."""
        self._keeper = Keeper({node.full_name: node.restarts for node in graph.nodes})
        self._pipe = Pipe(self._keeper)
        self._listening = [sys.executable, '-m', _LISTENER, '--hears', '--json',
                           '--namespace', graph.namespace]
        self.environment = {KEEP_ALIVE_VARIABLE: '1', PIPE_VARIABLE: str(self._pipe.writing)}
        self.inherited = (self._pipe.writing,)
        self._whole = False
        self._stale: set[str] = set()
        self._listener: subprocess.Popen[bytes] | None = None
        self._listen_until_s, self._said_it_cannot = math.inf, False

    def __enter__(self) -> KeepAlive:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pipe.__exit__(*exception)

    def begin(self, environment: Mapping[str, str], say: Callable[[str], None],
              tell: Callable[[dict[str, Any]], None]) -> None:
        """Begin to watch a graph that starts; contract in the base class."""
        self._of_nodes, self._say, self._tell = environment, say, tell

    def started(self, node: str, pid: int) -> None:
        """Take a node that was started, perhaps again; forget messages of its earlier process."""
        self._keeper.started(node, pid)
        self._whole = False

    def check(self) -> Verdict | None:
        """Return a deaf node, None if there is none; contract in the base class."""
        if not self._whole and self._keeper.whole():
            self._whole = True
            self._tell({'event': 'whole'})
        stale = set(self._keeper.stale_nodes())
        for name in sorted(stale - self._stale):
            self._say(f'{name} has said nothing for {SILENT_S:.0f} s: it hangs, or this computer '
                      'is too busy')
        self._stale = stale
        self._listen_beside()
        verdict = self._keeper.verdict()
        if verdict is not None:
            self._tell({'event': 'deaf', **dataclasses.asdict(verdict)})
        return verdict

    def pause(self) -> None:
        """End the program that listens, if it runs; contract in the base class."""
        if self._listener is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._listener.pid, signal.SIGTERM)
        try:
            self._listener.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._listener.kill()
            self._listener.communicate()
        if self._listener.returncode < 0:  # killed in the middle of a message, perhaps
            clean_shared_memory()
        self._listener = None

    def _listen_beside(self) -> None:
        """Listen, beside a node that hears no other, for other nodes."""
        if self._listener is None:
            if self._keeper.alone():
                try:
                    self._listener = subprocess.Popen(
                        self._listening, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, env=dict(self._of_nodes),
                        start_new_session=True)
                except OSError as error:
                    self._cannot_listen(str(error))
                self._listen_until_s = time.monotonic() + _LISTEN_S
        elif self._listener.poll() is not None:
            said, wrong = self._listener.communicate()
            self._listener = None
            try:
                self._keeper.heard_beside(json.loads(said.splitlines()[-1])['hears'])
            except (ValueError, LookupError, TypeError, AttributeError):
                self._cannot_listen(wrong.decode('utf-8', 'replace').strip()[-500:])
        elif time.monotonic() > self._listen_until_s:
            self.pause()
            self._cannot_listen(f'it took longer than {_LISTEN_S:.0f} s')

    def _cannot_listen(self, why: str) -> None:
        """Print once that the listening beside a node that hears no other failed."""
        if not self._said_it_cannot:
            self._say('a node hears nobody, and whether it is deaf cannot be found out (python -m '
                      f'{_LISTENER} --hears): {why}')
        self._said_it_cannot = True
