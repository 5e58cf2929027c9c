"""The graph of ``sightplan bench soak``, and the node that sends it episodes.

``python -m sightplan_bench.soak_graph PID ARGUMENT...`` is ``sightplan up experiment`` without the
node ``experiment``; it ends with the process of that id.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rclpy.parameter import Parameter
from sightplan_interfaces.srv import FinishRun, StartRun

from sightplan.domains import load_domain
from sightplan.graphs.up import run_beside
from sightplan.model import EpisodeSpec, InfrastructureError, SightplanError
from sightplan_bench.kept_graph import NODES, environment, graph_process
from sightplan_bench.ros import spinning_node
from sightplan_bench.soak_samples import (
    LOGS,
    RUN,
    Arguments,
    Sample,
    bag_count,
    folder_bytes,
    identity,
)
from sightplan_nodes import names
from sightplan_nodes.experiment import ExperimentNode

_START_S, _CALL_S, _FINISH_S = 300.0, 60.0, 300.0
_TICKS_PER_S = os.sysconf('SC_CLK_TCK')
_PAGE = os.sysconf('SC_PAGE_SIZE')


class _Driver(ExperimentNode):
    """The node ``experiment``, which the bench gives episode by episode."""

    def __init__(self) -> None:
        super().__init__(parameter_overrides=[Parameter('autostart', value=False)])

    def start(self, out: Path, what: str) -> set[str]:
        """Open the run; returns the ids of the episodes that are committed."""
        for caller in (self._start_run, self._agent, self._models[names.GROUNDER]):
            caller.wait_until_there(_START_S)
        reply = self.open_run(StartRun.Request(
            out=str(out), resume=True, retry_errors=True,
            run_json=f'{{"identity": {what}, "session": {{"graph": {{}}}}}}'), _CALL_S)
        return set(reply.committed)

    def run(self, spec: EpisodeSpec) -> None:
        """Run an episode and wait until it is committed."""
        self._episode(spec, load_domain(spec.problem.domain), wait_for_arm=False,
                      check=lambda shown: None)

    def finish(self) -> None:
        """Close the run."""
        self._finish_run.checked(FinishRun.Request(), _FINISH_S)


class SoakGraph:
    """A running graph, as a context manager.

    Attributes:
        done: ids of the episodes that were committed when it began.
    """

    def __init__(self, arguments: Arguments, out: Path, session: int) -> None:
        """Keep the settings; starting happens on entering."""
        self._arguments, self._out, self._session = arguments, out.resolve(), session
        self._stack = contextlib.ExitStack()
        self._warm_s: float | None = None

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(environment(self._out / LOGS))
            (self._out / LOGS).mkdir(exist_ok=True)
            self._up = self._stack.enter_context(graph_process(
                __name__, self._graph(), self._out / LOGS))
            self._driver = self._stack.enter_context(spinning_node(_Driver))
            self.done = self._checked(lambda: self._driver.start(
                self._out / RUN, identity(self._arguments)))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        with self._stack:
            if kind is None:
                self._checked(self._driver.finish)

    def run(self, spec: EpisodeSpec) -> None:
        """Run an episode on the graph.

        Raises:
            SightplanError: a node is silent, or has ended.
        """
        self._checked(lambda: self._driver.run(spec))

    def sample(self, episodes: int) -> Sample:
        """Measure; the first time is when it is warm."""
        now = time.monotonic()
        if self._warm_s is None:
            self._warm_s = now
        seconds = now - self._warm_s
        processes = _processes()
        used = {name: _used(process for process in processes.values() if process.session == pid)
                for name, pid in _nodes(processes, self._up.pid).items()}
        used['experiment'] = _used([processes[os.getpid()]])
        run = self._out / RUN
        return Sample(
            self._session, episodes, round(seconds, 3),
            round(sum(cpu_s for cpu_s, _, _ in used.values()), 2),
            {name: round(mib, 1) for name, (_, mib, _) in used.items()},
            {name: round(mib, 1) for name, (_, _, mib) in used.items()}, folder_bytes(run),
            folder_bytes(run / 'bags'), bag_count(run), folder_bytes(self._out / LOGS),
            round(os.getloadavg()[0], 1))

    def _checked(self, work: Any) -> Any:
        try:
            return work()
        except SightplanError as error:
            if self._up.poll() is not None:
                raise InfrastructureError(
                    f'the graph ended (exit code {self._up.returncode}); what it said is in '
                    f'{self._out / LOGS}/up.log') from error
            raise

    def _graph(self) -> list[str]:
        """Arguments of the graph."""
        a = self._arguments
        return [f'domain:={a.domains[0]}', f'method:={a.methods[-1]}', 'backend:=noisy_oracle',
                f'backend_options:=table={a.table}', f'seed:={a.seed}', f'bags:={a.bags}',
                f'bags_kept:={a.bags_kept}']


class _Process:
    """A process, by its data in /proc."""

    def __init__(self, pid: int) -> None:
        """Read the process's data from ``/proc``.

        Raises:
            OSError: it has ended.
        """
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        self.parent, self.session = int(fields[1]), int(fields[3])
        self.cpu_s = sum(map(int, fields[11:15])) / _TICKS_PER_S
        self.shared_mib = sum(
            int(line.split()[1]) for line in Path(f'/proc/{pid}/status').read_text().splitlines()
            if line.startswith('RssShmem:')) / 2**10
        self.mib = int(fields[21]) * _PAGE / 2**20 - self.shared_mib


def _processes() -> dict[int, _Process]:
    found = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry.name)] = _Process(int(entry.name))
    return found


def _nodes(processes: dict[int, _Process], parent: int) -> dict[str, int]:
    """The nodes that a process has started, by name, and their process ids."""
    found = {}
    for pid, process in processes.items():
        if process.parent == parent:
            with contextlib.suppress(OSError):
                for word in Path(f'/proc/{pid}/cmdline').read_text().split('\0'):
                    if word.startswith('__node:='):
                        found[word.partition(':=')[2]] = pid
    return found


def _used(processes: Iterable[_Process]) -> tuple[float, float, float]:
    """Processor seconds, MiB of their own and shared MiB of processes.

    What a node has started is in its session; no other process is.
    """
    cpu_s = mib = shared_mib = 0.0
    for process in processes:
        cpu_s += process.cpu_s
        mib += process.mib
        shared_mib += process.shared_mib
    return cpu_s, mib, shared_mib


def main(arguments: list[str]) -> int:
    """Run the nodes as long as the process with the given id lives; returns the exit code."""
    return run_beside(arguments, lambda graph, values: graph.only(NODES, values))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
