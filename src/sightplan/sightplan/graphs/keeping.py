"""Keep a graph whole: find deaf nodes by the messages of all nodes, and decide which to restart.

Nodes send their messages in heartbeats and through a pipe of their launcher, which works whatever
becomes of DDS. They pass on the messages of nodes that another launcher keeps (a container each).
A node that hears no other can pass nothing on; then a second process listens beside it. This
module decides; the launcher (``up``) restarts the node or ends the graph.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sightplan.graphs import hearing
from sightplan.graphs.hearing import Hearing, Lost, deaf, in_words
from sightplan.graphs.up import Verdict

PIPE_VARIABLE = 'SIGHTPLAN_KEEPER_FD'
"""Variable with the file descriptor of the pipe into which a node writes which nodes it hears."""
RESTARTS = 3
"""Number of restarts of a deaf node, after which the graph ends."""
SILENT_S = 30.0
"""A node that sends no message for this long hangs, or gets no processor time [s]."""
_LISTEN_AGAIN_S = 600.0
"""The longest time between two checks beside a node that hears nobody [s]."""
_LONGEST = 4096  # bytes of one message, which the kernel does not mix with others


class Keeper:
    """Compares the lists of nodes that each node of a graph hears. Thread-safe."""

    def __init__(self, may_restart: Mapping[str, bool],
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without messages.

        Args:
            may_restart: whether a node may be restarted, by its full name, also for nodes of
                another launcher.
            clock: counts seconds.
        """
        self._may_restart, self._clock = may_restart, clock
        self._lock = threading.Lock()
        self._hearing = Hearing(clock)
        self._pids: dict[str, int] = {}
        self._restarted: Counter[str] = Counter()
        self._alone_since: float | None = None
        self._listen_after_s = hearing.LOST_S
        self._beside: dict[str, frozenset[str]] = {}
        self._beside_since = 0.0

    def started(self, node: str, pid: int) -> None:
        """Take a node that was started, perhaps again; forget messages of its earlier process."""
        with self._lock:
            self._pids[node] = pid
            self._hearing.forget(node)
            self._not_alone()

    def read(self, line: bytes) -> None:
        """Take a line that a node wrote to the pipe.

        A malformed line, or one of an earlier process, is dropped.
        """
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
            said = json.loads(line)
            node, hears = said['node'], [str(name) for name in said['hears']]
            others = {name: [str(one) for one in their]
                      for name, their in said.get('others', {}).items()}
            with self._lock:
                if self._pids.get(node) == said['pid']:
                    self._hearing.note(node, hears)
                    if self._may_restart.keys() & set(hears):
                        self._not_alone()
                    elif self._alone_since is None:
                        self._alone_since = self._clock()
                    for name in others.keys() & self._may_restart.keys() - self._pids.keys():
                        self._hearing.note(name, others[name])

    def whole(self) -> bool:
        """Return whether all nodes have sent a message, and hear each other."""
        with self._lock:
            table = self._hearing.table()
            return all(node in table and self._pids.keys() <= table[node] | {node}
                       for node in self._pids)

    def stale_nodes(self) -> list[str]:
        """Return the nodes of this launcher whose last message is older than SILENT_S."""
        with self._lock:
            return [node for node in self._hearing.stale_nodes(SILENT_S) if node in self._pids]

    def alone(self) -> bool:
        """Return whether a second process should listen beside the only node that is kept here.

        That is so when the node has heard no other node for long: the others may be gone, the
        cable may be out, or the node is deaf. The result is true once, then again after a longer
        wait.
        """
        with self._lock:
            if len(self._pids) != 1 or len(self._may_restart) < 2 or self._alone_since is None:
                return False
            alone_s = self._clock() - self._alone_since
            if alone_s < self._listen_after_s or not self._hearing.table():
                return False
            self._listen_after_s = alone_s + min(alone_s, _LISTEN_AGAIN_S)
            return True

    def heard_beside(self, table: Mapping[str, Collection[str]]) -> None:
        """Record the messages that a second process on this computer heard beside the node.

        Args:
            table: the nodes that each node hears, by its name.
        """
        with self._lock:
            if self._alone_since is None:  # it has heard somebody meanwhile, or was restarted
                return
            there = {node: frozenset(hears) for node, hears in table.items()
                     if node in self._may_restart.keys() - self._pids.keys()}
            if there and not self._beside:
                self._beside_since = self._clock()
            self._beside = there

    def verdict(self) -> Verdict | None:
        """Return a deaf node of this launcher, None if there is none; one node a call.

        A node that is to be restarted is counted as restarted.
        """
        with self._lock:
            node, lost = self._deaf()
            if node not in self._pids:
                return None
            words, count = in_words(node, lost), self._restarted[node]
            if not self._may_restart.get(node, False):
                return Verdict(node, f'{words}: it is deaf, and must not be restarted in a graph '
                               'that runs', False)
            if count >= RESTARTS:
                return Verdict(node, f'{words}: it is deaf, and {count} restarts have not helped',
                               False)
            self._restarted[node] += 1
            return Verdict(node, f'{words}: it is deaf; restarting it ({count + 1} of '
                           f'{RESTARTS})', True)

    def _not_alone(self) -> None:
        """Note that the only node hears another one. The caller holds the lock."""
        self._alone_since, self._listen_after_s, self._beside = None, hearing.LOST_S, {}

    def _deaf(self) -> tuple[str, list[Lost]]:
        """The node to restart, of this launcher or not ('': none), and what is lost.

        The lock is held.
        """
        if (self._alone_since is not None and self._beside
                and self._hearing.table().keys() & self._pids.keys()  # else it hangs
                and self._clock() - self._beside_since >= hearing.LOST_S):  # or they just started
            node, for_s = next(iter(self._pids)), self._clock() - self._alone_since
            return node, [Lost(*pair, for_s) for other, hears in sorted(self._beside.items())
                          for pair in ((node, other), (other, node))
                          if pair[0] == node or node not in hears]
        missing = [one for one in self._hearing.missing() if one.speaker in self._may_restart]
        if not any(one.for_s >= hearing.LOST_S for one in missing):
            return '', []
        # What has been missing for less long, since a node started later, tells as well.
        lost = [one for one in missing if one.for_s >= hearing.LOST_S / 2]
        fixed = [name for name, may in self._may_restart.items() if not may]
        # How often others were restarted is not known: each launcher has to choose the same.
        own = all({one.listener, one.speaker} <= self._pids.keys() for one in lost)
        return deaf(lost, self._restarted if own else {}, fixed), lost


class Pipe:
    """The pipe through which nodes tell a keeper; a thread reads it. Use as a context manager.

    Attributes:
        writing: file descriptor that nodes inherit.
    """

    def __init__(self, keeper: Keeper) -> None:
        """Create the pipe, and start the thread that reads it."""
        self._keeper = keeper
        self._reading, self.writing = os.pipe()
        os.set_blocking(self.writing, False)  # a node must not wait for its launcher
        threading.Thread(target=self._read, name='keeper', daemon=True).start()

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.writing)  # the thread ends with the last node

    def _read(self) -> None:
        with open(self._reading, 'rb') as lines:
            for line in lines:
                self._keeper.read(line)


def _is_pipe(descriptor: int) -> bool:
    """Return whether a descriptor is an open pipe; one that was not inherited may be any file."""
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


class Reporter:
    """A node's side of the pipe; does nothing where there is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Find the pipe in the environment."""
        given = environ.get(PIPE_VARIABLE, '')
        self._pipe = int(given) if given.isdecimal() and _is_pipe(int(given)) else None

    def tell(self, node: str, hears: list[str], others: Mapping[str, Collection[str]]) -> None:
        """Write to the pipe which nodes a node of this process hears; failed writes are dropped.

        Args:
            node: full name of the node.
            hears: names of the nodes that it hears.
            others: names of the nodes that each of these hears, by their own messages.
        """
        if self._pipe is None:
            return
        said: dict[str, Any] = {'node': node, 'pid': os.getpid(), 'hears': hears}
        passed_on = {'others': {name: sorted(their) for name, their in others.items()}}
        for content in (said | passed_on, said):
            line = json.dumps(content).encode() + b'\n'
            if len(line) <= _LONGEST:
                with contextlib.suppress(OSError):
                    os.write(self._pipe, line)
                return

