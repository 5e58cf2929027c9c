"""The graph of ``sightplan bench safety``: its processes, each of which can be killed."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sightplan_bench.safety_node import Bench

NODES = 'nodes.log'
"""File of the nodes' output."""

HARDWARE, ARM_BRIDGE, AGENT, GROUNDER = 'hardware', 'arm_bridge', 'agent', 'grounder'
WATCHER = 'arm_watcher'
START_S = 120.0
"""Longest time for which nodes may take to start [s]."""


class Processes:
    """The nodes of the graph, started with the environment of this process; each can be killed."""

    def __init__(self, commands: dict[str, Sequence[str]], log: Path) -> None:
        """Keep the commands; no process is started yet.

        Args:
            commands: of each process, by name.
            log: file of their output.
        """
        self.commands, self.log = commands, log
        self._file = log.open('ab')
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start one that does not run."""
        self._running[name] = subprocess.Popen(
            self.commands[name], stdin=subprocess.DEVNULL, stdout=self._file, stderr=self._file,
            process_group=0)

    def pid(self, name: str) -> int:
        """Process id of a running process."""
        return self._running[name].pid

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal, at once."""
        self._running[name].send_signal(number)

    def reap(self, name: str) -> None:
        """Wait for the end of one that was killed."""
        self._running.pop(name).wait()

    def dead(self) -> list[str]:
        """Names of the processes that have ended."""
        return [name for name, process in self._running.items() if process.poll() is not None]

    def close(self) -> None:
        """End all of them."""
        for number in (signal.SIGINT, signal.SIGKILL):
            for process in self._running.values():
                if process.poll() is None:
                    process.send_signal(number)
            for process in self._running.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(8.0)
        self._file.close()


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    found: list[int] = []
    for tasks in Path(f'/proc/{pid}/task').glob('*/children'):
        with contextlib.suppress(OSError):
            found += map(int, tasks.read_text().split())
    return found


def camera_pid(pid: int) -> int | None:
    """The process that draws the pictures of a simulated camera, by its parent's; None: none."""
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b'spawn_main' in Path(f'/proc/{child}/cmdline').read_bytes():
                return child
    return None


def graph_commands(folder: Path, robot: str) -> dict[str, Sequence[str]]:
    """Commands of the nodes that an arm needs, as in the graph file."""
    from sightplan.graphs.graph import find_graph
    from sightplan.graphs.up import command
    script = folder / 'script.json'
    script.write_text(json.dumps({'answers': {'default': 'No'}}))
    graph = find_graph('experiment')
    values = graph.values([
        'world:=arm_bridge', 'hardware:=simulated',
        'lockstep:=false',  # times are those of the wall's clock, and time waits for nobody
        'method:=ground', 'backend:=scripted',
        f'backend_options:=script={script}', f'robot:={robot}',
        'setup:=',  # the bench sets the table up itself: a reset shall only park the arm
        'rate_hz:=4'])  # drawing takes a core, which a camera does not
    commands = {}
    for node in graph.chosen(values).nodes:
        name = HARDWARE if node.executable == 'sim_bridge' else node.name
        commands[name] = command(node, values)
    return {name: commands[name] for name in (HARDWARE, WATCHER, ARM_BRIDGE, AGENT, GROUNDER)}


def beater(node: str, needs: Sequence[str]) -> list[str]:
    """Command of a node that only sends heartbeats."""
    return [sys.executable, '-m', 'sightplan_bench.safety_node', node, *needs]


@contextlib.contextmanager
def graph(out: Path, robot: str) -> Iterator[tuple[Bench, Processes, Sequence[str]]]:
    """A graph, ready for trials, ended with the context: its client, its processes, and the agent.

    Args:
        out: folder for what its nodes say.
        robot: a name, or a file.

    The agent is a stand-in that does nothing but beat, and needs the grounder as the agent does
    in an episode: the actions come from the bench. Third comes the command of the real one.
    """
    from sightplan_bench.kept_graph import environment
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(environment(folder))
        from sightplan_bench.ros import spinning_node
        from sightplan_bench.safety_node import Bench
        commands = graph_commands(folder, robot)
        real = commands[AGENT]
        commands[AGENT] = beater(AGENT, [GROUNDER])
        processes = Processes(commands, out / NODES)
        stack.callback(processes.close)
        for name in commands:
            processes.start(name)
        bench = stack.enter_context(spinning_node(lambda: Bench(robot)))
        bench.wait_until_there(START_S)
        yield bench, processes, real
