"""``sightplan bench starts``: whole graphs on ROS, started and ended again and again.

Discovery of nodes is a race, and a busy machine lets everybody lose it now and then. Each start is
a graph with all its nodes as ``sightplan up`` starts it, which must carry out one episode and end
by itself; its pictures are left out, and answers come from simulated errors.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.flags import option
from sightplan.commands.frame import Result, add_command
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError
from sightplan_bench.output import shown

LIMIT_S = 300.0
_DOMAINS = ('blocksworld', 'household')
_LOSS = 'failed to send response'  # message of the middleware about a reply that it could not send


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench starts``."""

    count: int = option(20, 'starts of each domain')
    domain: tuple[str, ...] = option(
        (), f'domain; repeat for more (default: {", ".join(_DOMAINS)})', metavar='D')
    busy: int = option(2, 'busy loops beside')
    logs: str = option('', 'keeps what the graphs that failed have printed', metavar='DIR')


@dataclass(frozen=True, slots=True)
class Start:
    """Result of one start of a graph.

    Attributes:
        domain: whose problem was solved.
        code: exit code of the graph; None: it had to be ended.
        seconds: from its start to its end.
        replies_lost: how often a server had not found its client yet.
    """

    domain: str
    code: int | None
    seconds: float
    replies_lost: int


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench starts``."""
    add_command(
        subparsers, 'starts', measure, 'graphs started again and again beside busy loops',
        'Start a graph of all nodes, let it carry out one episode and end, and do it again; '
        'count the graphs that do not end well.', settings=Arguments,
        exits='0 every graph did its episode; 1 one did not; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Run all starts, and print the result."""
    if arguments.count < 1 or arguments.busy < 0:
        raise InputError('--count must be at least 1, --busy at least 0')
    logs = Path(arguments.logs) if arguments.logs else None
    wanted = [(domain, number) for number in range(arguments.count)
              for domain in arguments.domain or _DOMAINS]
    starts: list[Start] = []
    with busy_loops(arguments.busy), EpisodeBar() as bar:
        bar.begin('starts', len(wanted), 0)
        for domain, number in wanted:
            starts.append(start(domain, number, logs))
            bar.update(len(starts), f'{sum(one.code != 0 for one in starts)} failed')
    return shown({'busy': arguments.busy, **summary(starts)},
                 all(one.code == 0 for one in starts))


def summary(starts: list[Start]) -> dict[str, Any]:
    """Counts, by domain and together."""
    def counts(of: list[Start]) -> dict[str, Any]:
        return {'starts': len(of), 'failed': sum(one.code != 0 for one in of),
                'replies_lost': sum(one.replies_lost for one in of),
                'seconds': round(statistics.median(one.seconds for one in of), 1)}
    domains = dict.fromkeys(one.domain for one in starts)
    return {**counts(starts), 'domains': {
        domain: counts([one for one in starts if one.domain == domain]) for domain in domains}}


def start(domain: str, number: int, logs: Path | None = None, limit_s: float = LIMIT_S) -> Start:
    """Start one graph and wait for its end.

    Args:
        domain: the domain.
        number: of the start; seeds it, and names its log.
        logs: folder that keeps the output of a graph that fails; None: it is thrown away.
        limit_s: wall-clock limit [s], after which the graph is ended.
    """
    environment = {name: value for name, value in os.environ.items() if name != 'ROS_DOMAIN_ID'}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / 'log'
        command = [sys.executable, '-m', 'sightplan.cli', 'up', 'experiment',
                   f'domain:={domain}', 'split:=simple', 'method:=ground', 'episodes:=1',
                   'max_actions:=1', f'seed:={number}', 'backend:=noisy_oracle',
                   'backend_options:=table=gpt-4.1', 'world_options:=pictures=none',
                   f'out:={folder}/run']
        began = time.monotonic()
        with log.open('wb') as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=environment)
            try:
                code: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
        seconds, text = time.monotonic() - began, log.read_text(errors='replace')
    if code != 0 and logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f'{domain}-{number}.log').write_text(text)
    return Start(domain, code, seconds, text.count(_LOSS))


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run ``count`` processes that only use a processor."""
    loops = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
