"""The graph of ``sightplan bench hearing``, and the node that runs episodes over it.

``python -m sightplan_bench.hearing_graph PID PIPE ARGUMENT...`` is ``sightplan up experiment``
without the node ``experiment``, in which a killed node is started again; it writes what happens
into the pipe, and ends with the process of that id.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rclpy.node import Node
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.srv import LoadProblem

from sightplan.domains import load_domain
from sightplan.graphs.keep_alive import KeepAlive
from sightplan.graphs.up import run_beside
from sightplan.model import EpisodeSpec, InfrastructureError, SightplanError
from sightplan.records import messages
from sightplan_bench.hearing_trials import ENDED, FIXED, SILENT, WHOLE, Trial
from sightplan_bench.kept_graph import NODES, environment, graph_process
from sightplan_bench.ros import spinning_node
from sightplan_nodes import names
from sightplan_nodes.calls import ActionCaller, ServiceCaller

_DOMAIN, _METHOD = 'blocksworld', 'ground'
_START_S, _EPISODE_S = 180.0, 120.0


class _Driver(Node):
    """Node that runs episodes like the node ``experiment``, and records nothing."""

    def __init__(self) -> None:
        super().__init__('bench_hearing')
        self._domain = load_domain(_DOMAIN)
        self._problems = self._domain.split_problems('simple')
        self._load = ServiceCaller(self, LoadProblem, names.load_problem(names.SIM_BRIDGE),
                                   names.SIM_BRIDGE)
        self._agent = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)

    def run(self, number: int) -> str:
        """Run an episode; returns its error, '' for none.

        A node that was started again a moment ago is not known here yet: then it is told at once
        that it went away, and asked once more.
        """
        try:
            self._run(number)
        except InfrastructureError:
            try:
                self._run(number)
            except SightplanError as error:
                return f'{type(error).__name__}: {error}'
        except SightplanError as error:
            return f'{type(error).__name__}: {error}'
        return ''

    def _run(self, number: int) -> None:
        problem = self._problems[number % len(self._problems)]
        spec = EpisodeSpec(f'kill{number}', problem, _METHOD)
        self._load.checked(LoadProblem.Request(
            episode_id=spec.id, domain=problem.domain, problem=problem.name,
            domain_pddl=problem.domain_pddl, problem_pddl=self._domain.write_problem(problem)),
            _EPISODE_S)
        self._agent.checked(messages.fill_spec(
            RunEpisode.Goal(), spec, self._domain.write_problem(problem.for_agent())), _EPISODE_S)


class HearingGraph:
    """A running graph, as a context manager.

    Attributes:
        runs: whether it does.
    """

    def __init__(self, logs: Path, episodes: bool) -> None:
        """Set the folder of logs; starting happens on entering."""
        self._logs, self._episodes = logs.resolve(), episodes
        self._stack = contextlib.ExitStack()
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._pids: dict[str, int] = {}
        self._driver: _Driver | None = None
        self.runs = False

    def __enter__(self) -> Self:
        with self._stack:
            self._stack.enter_context(environment(self._logs))
            self._up = self._stack.enter_context(self._graph())
            kind, _, _ = self._until_whole(time.monotonic() + _START_S)
            if kind != WHOLE:
                raise InfrastructureError(f'the graph does not start; see {self._logs}/up.log')
            self.runs = True
            if self._episodes:
                self._driver = self._stack.enter_context(spinning_node(_Driver))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stack.close()

    def trial(self, number: int, session: int, node: str, pause_s: float, limit_s: float) -> Trial:
        """Kill a node, and wait for the outcome.

        Args:
            number: see Trial.
            session: see Trial.
            node: which.
            pause_s: before.
            limit_s: for the graph to be whole again, or to end.
        """
        time.sleep(pause_s)
        self._catch_up()
        begun = time.monotonic()
        os.kill(self._pids[node], signal.SIGKILL)
        kind, deaf, named = self._until_whole(begun + limit_s)
        seconds = time.monotonic() - begun
        self.runs = kind != ENDED
        if kind == ENDED and not named:  # it ended, and nobody knows why
            kind = SILENT
        episode = (self._driver.run(number) if self._driver is not None
                   and kind in (WHOLE, FIXED) else None)
        return Trial(number, session, node, kind, round(seconds, 3), deaf, episode,
                     round(os.getloadavg()[0], 2))

    def _catch_up(self) -> None:
        """Take in events since the graph was whole: a node may have been restarted."""
        with contextlib.suppress(queue.Empty):
            while (event := self._events.get_nowait()) is not None:
                if event['event'] == 'started':
                    self._pids[event['node']] = event['pid']
            self._events.put(None)

    def _until_whole(self, end: float) -> tuple[str, list[str], bool]:
        """Wait until all nodes hear each other, or the graph ends.

        Returns:
            WHOLE, FIXED, ENDED or SILENT; what was said of deaf nodes; whether the node because of
            which the graph ended was named.
        """
        deaf: list[str] = []
        started = named = False
        while True:
            try:
                event = self._events.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return SILENT, deaf, False
            if event is None:
                return ENDED, deaf, named
            if event['event'] == 'started':
                started, self._pids[event['node']] = True, event['pid']
            elif event['event'] == 'deaf':
                deaf.append(event['words'])
            elif event['event'] == 'ended':
                named = event['node'] in NODES
                ended = f'{event["node"]} {event["reason"]}'
                if ended not in deaf:
                    deaf.append(ended)
            elif started:  # whole since then
                return FIXED if deaf else WHOLE, deaf, False

    @contextlib.contextmanager
    def _graph(self) -> Any:
        """The process that starts, keeps and stops the nodes."""
        reading, writing = os.pipe()
        arguments = [str(writing), f'domain:={_DOMAIN}', f'method:={_METHOD}',
                     'backend:=noisy_oracle', 'backend_options:=table=perfect', 'rate_hz:=30',
                     'bags:=none']
        with graph_process(__name__, arguments, self._logs, cwd=self._logs,
                           pass_fds=(writing,)) as process:
            os.close(writing)
            threading.Thread(target=self._read, args=(reading,), daemon=True).start()
            yield process

    def _read(self, pipe: int) -> None:
        with open(pipe, encoding='utf-8') as lines:
            for line in lines:
                self._events.put(json.loads(line))
        self._events.put(None)


def main(arguments: list[str]) -> int:
    """Run the nodes as long as the process with the given id lives; returns the exit code."""
    parent, pipe, *rest = arguments
    os.set_inheritable(int(pipe), False)  # the nodes' ends of it would keep it open

    def tell(event: dict[str, Any]) -> None:
        os.write(int(pipe), json.dumps(event).encode() + b'\n')
    return run_beside([parent, *rest], lambda graph, values: graph.only(NODES, values),
                      revive=True, layer=KeepAlive, tell=tell)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
