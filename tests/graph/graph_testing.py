"""Whole graphs, started as people start them: with ``sightplan up``."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import Reader

from sightplan.domains import load_domain
from sightplan.model import PlanningTask
from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
from sightplan.records import RunStore
from sightplan.records.bag_reading import open_bag
from sightplan.runs.spread import chosen

LIMIT_S = 300.0
"""How long a test waits for what must happen; far more than it takes."""


def eventually(check: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT_S
    while not check():
        assert time.monotonic() < end, f'{what} did not come true'
        time.sleep(0.05)


def descendants(parent: int) -> dict[int, str]:
    """Command lines of the processes whose environment names ``parent`` as their ``up``."""
    found = {}
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / 'environ').read_bytes().split(b'\0')
            line = (entry / 'cmdline').read_bytes().replace(b'\0', b' ').decode()
        except (OSError, ValueError):
            continue
        if f'SIGHTPLAN_PARENT_PID={parent}'.encode() in environment and line:
            found[int(entry.name)] = line
    return found


def outside_environment() -> dict[str, str]:
    """The environment as it is outside of tests, some of which shut their nodes off."""
    return {name: value for name, value in os.environ.items()
            if name not in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')}


class Graph:
    """One ``sightplan up`` and what it leaves."""

    def __init__(self, arguments: tuple[str, ...], log: Path, out: Path,
                 environment: Mapping[str, str] | None = None) -> None:
        self.out, self.log = out, log
        self._file = log.open('wb')
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'sightplan.cli', 'up', *arguments],
            stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT,
            env={**outside_environment(), **(environment or {})}, start_new_session=True)

    @property
    def text(self) -> str:
        """All output so far."""
        return self.log.read_text(errors='replace')

    def pid(self, node: str) -> int:
        """Process of a node."""
        found: list[int] = []

        def there() -> bool:
            found[:] = [pid for pid, line in descendants(self.process.pid).items()
                        if f'__node:={node} ' in f'{line} ']
            assert self.process.poll() is None, self.text
            return len(found) == 1
        eventually(there, f'node {node} in {self.text}')
        return found[0]

    def lines(self) -> list[dict]:
        """Committed episodes."""
        return RunStore(self.out).lines()

    def wait(self) -> int:
        """Exit code of ``up``; asserts that nothing of it is left."""
        code = self.process.wait(LIMIT_S)
        eventually(lambda: not descendants(self.process.pid),
                   f'the end of {descendants(self.process.pid)}')
        return code

    def until_mid_episode(self) -> None:
        """Wait until one episode is committed and another has begun to act."""
        def busy() -> bool:
            assert self.process.poll() is None, self.text
            written = [path for path in (self.out / 'bags').glob('*/metadata.yaml')
                       if 'message_count: 0\n  topics' not in path.read_text()]
            return len(written) > len(self.lines()) >= 1
        eventually(busy, f'the second episode in {self.text}')

    def close(self) -> None:
        """End whatever is left."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for pid in descendants(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self._file.close()


ELSEWHERE = ('seconds', 'timings_s', 'bag', 'images', 'images_missing')
"""Fields of a line of results that tell where and how fast it was run."""


def result(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of results without times, and without what only one way of running has."""
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()
                    if key not in ('seconds', 'stamp_ns', 'picture')}
        return [plain(item) for item in value] if isinstance(value, list) else value
    shared = plain({key: value for key, value in line.items() if key not in ELSEWHERE})
    for answer in shared['wrong']:
        del answer[5]  # its stamp
    return shared


def read_bag(folder: Path) -> dict[str, int]:
    """Number of messages per topic, all of them read."""
    counts: dict[str, int] = {}
    with Reader(folder) as reader:
        for connection, _, _ in reader.messages():
            counts[connection.topic] = counts.get(connection.topic, 0) + 1
    return counts


TIMES = ('stamp', 'after', 'seconds', 'stage_seconds')


def bag_content(folder: Path, without: Sequence[str] = ()) -> dict[str, list[Any]]:
    """All messages of a bag by topic, as plain data without times (and other fields).

    What the topic itself is comes first.
    """
    bag = open_bag(folder)
    found: dict[str, list[Any]] = {name: [(topic.type, topic.definition, topic.qos)]
                                   for name, topic in bag.topics.items()}
    for message in bag.messages():
        found[message.topic].append(_without(bag.decode(message), (*TIMES, *without)))
    assert not bag.warnings
    return found


def _without(value: Any, fields: Sequence[str]) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _without(getattr(value, field.name), fields)
                for field in dataclasses.fields(value)
                if field.name not in fields and not field.name.startswith('__')}
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, float) and math.isnan(value):
        return None
    return [_without(item, fields) for item in value] if isinstance(value, list) else value


def script(folder: Path, episodes: int, domain_name: str = 'blocksworld') -> Path:
    """Replies of a model that plans well, after one reply that cannot be read."""
    domain = load_domain(domain_name)
    planner = FastDownwardPlanner(PlannerSettings(search='short'))
    replies = {}
    pairs = [('simple', problem) for problem in domain.split_problems('simple')]
    try:
        for _, problem in (pairs[index] for _, index in chosen(episodes, pairs)):
            plan = planner.plan(PlanningTask(domain.pddl, domain.write_problem(problem)), 60.).plan
            steps = [{'action': a.name, 'parameters': list(a.args)} for a in plan]
            replies[problem.name] = ['I see nothing.', {'plan': [{'action': 'fly'}]}, *(
                {'plan': steps[number:]} for number in range(len(steps)))]
    finally:
        planner.close()
    path = folder / 'script.json'
    path.write_text(json.dumps({'replies': replies, 'repeat': 'last'}))
    return path
