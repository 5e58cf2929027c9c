"""Cost of a step of ``belief``: inference time, and in a large home the memory of an episode.

``python -m sightplan_bench.step_cost`` measures the memory of its own process.
"""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.grounding import BackendGrounder
from sightplan.metrics import EpisodeScorer
from sightplan.model import Problem
from sightplan.runs import (
    EpisodePlan,
    RunSettings,
    make_world,
    resolved_backend_options,
    specify,
)
from sightplan.runs.episodes import make_planner
from sightplan.runs.work import closing
from sightplan.vlm.api import make_backend

SPLITS = ('hard', 'search')
"""Splits of household with the longest episodes."""

_TIMEOUT_S = 600.0


class Timed:
    """A method that notes how long it thinks: without looking, asking, planning and acting.

    Attributes:
        begin_ms: of each episode: until it decides for the first time [ms].
        step_ms: of each step: deciding, moving the belief and choosing questions [ms].
    """

    def __init__(self, policy: Any) -> None:
        """Wrap a method to measure its time."""
        self._policy = policy
        self._waited_s = 0.0
        self.begin_ms: list[float] = []
        self.step_ms: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def leave_out(self, part: Any, *names: str) -> Any:
        """Exclude calls of some methods of a world, grounder or planner from the measured time."""
        for name in names:
            setattr(part, name, self._waiting_for(getattr(part, name)))
        return part

    def _waiting_for(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def waiting(*arguments: Any, **more: Any) -> Any:
            start = time.perf_counter()
            try:
                return call(*arguments, **more)
            finally:
                self._waited_s += time.perf_counter() - start
        return waiting

    def _time(self, call: Callable[..., Any], context: Any, *arguments: Any) -> tuple[Any, float]:
        waited_s, start = self._waited_s, time.perf_counter()
        result = call(context, *arguments)
        return result, 1e3 * (time.perf_counter() - start - (self._waited_s - waited_s))

    def begin(self, context: Any) -> Any:
        """Start an episode, and measure the method's time."""
        result, ms = self._time(self._policy.begin, context)
        self.begin_ms.append(ms)
        return result

    def decide(self, context: Any) -> Any:
        """Decide on an action."""
        result, self._decided_ms = self._time(self._policy.decide, context)
        return result

    def learn(self, context: Any, *arguments: Any) -> Any:
        """Pass an action's feedback to the method, and measure its time."""
        result, ms = self._time(self._policy.learn, context, *arguments)
        self.step_ms.append(self._decided_ms + ms)
        return result


def thinking(settings: RunSettings, numbers: Sequence[int] | None = None) -> Timed:
    """Make episodes of a run, in this process, and time its method's inference.

    Args:
        settings: of the run; nothing is written.
        numbers: of the episodes that are made; None: all.
    """
    plan = specify(settings)
    assert isinstance(plan, EpisodePlan)
    specs = plan.items if numbers is None else [plan.items[number] for number in numbers]
    domain = load_domain(settings.domain)
    timed = Timed(make_policy(settings.method, settings.method_options))
    world = timed.leave_out(make_world(settings.domain, settings.world_options),
                            'reset', 'observe', 'execute')
    grounder = timed.leave_out(BackendGrounder(make_backend(
        settings.backend, resolved_backend_options(settings), world)), 'ask')
    policy: Any = timed
    with contextlib.ExitStack() as stack:
        planner = timed.leave_out(closing(stack, make_planner(settings)), 'plan')
        for spec in specs:
            run_episode(spec, policy, world, grounder, planner, EpisodeScorer(world), domain)
    return timed


def household(split: str, seed: int = 0) -> RunSettings:
    """A run of ``belief`` in homes without privileged facts, with the answer errors of GPT-4.1."""
    return RunSettings(
        domain='household', split=split, method='belief', backend='noisy_oracle', seed=seed,
        privileged='none', world_options={'pictures': 'none'},
        backend_options={'table': 'gpt-4.1', 'repeat': 0.63})


def measure(episodes: int = 5, seed: int = 0) -> dict[str, Any]:
    """Measure inference time and memory in homes without privileged facts.

    Args:
        episodes: of each split, spread over its problems.
        seed: of the errors.

    Returns:
        plain JSON data: ``splits``: by split ``episodes``, ``steps``, ``survey_ms`` (median, from
        the beginning to the first decision), ``step_ms`` (median) and ``step_ms_most``;
        ``memory``: see ``memory``.

    Raises:
        RuntimeError: the process whose memory is measured failed.
    """
    splits = {}
    for split in SPLITS:
        count = len(load_domain('household').split_problems(split))
        numbers = [count * number // episodes for number in range(min(episodes, count))]
        found = thinking(household(split, seed), numbers)
        splits[split] = {
            'episodes': len(numbers), 'steps': len(found.step_ms),
            'survey_ms': statistics.median(found.begin_ms),
            'step_ms': statistics.median(found.step_ms), 'step_ms_most': max(found.step_ms)}
    done = subprocess.run([sys.executable, '-m', 'sightplan_bench.step_cost'],
                          capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(f'the process whose memory is measured ended with {done.returncode}: '
                           f'{done.stderr.strip()[-400:]}')
    return {'splits': splits, 'memory': json.loads(done.stdout.splitlines()[-1])}


def containers(problem: Problem) -> int:
    """Number of a problem's things that can hold others."""
    atoms = load_domain(problem.domain_name).model(problem).atoms
    return len({atom.args[1] for atom in atoms if atom.predicate == 'inside'})


def memory() -> dict[str, Any]:
    """The peak memory of this process over an episode in the home with most containers.

    Without the planner's processes, which are others.

    Returns:
        plain JSON data: ``problem``, ``containers``; ``mib`` and ``before_mib``, the peak after
        and before the episode.
    """
    settings = household('search')
    problems = load_domain(settings.domain).split_problems(settings.split)
    number = max(range(len(problems)), key=lambda n: containers(problems[n]))
    before = _peak_mib()
    thinking(settings, [number])
    return {'problem': problems[number].name, 'containers': containers(problems[number]),
            'mib': _peak_mib(), 'before_mib': before}


def _peak_mib() -> float:
    """Largest memory of this process so far [MiB] (Linux: VmHWM)."""
    found = re.search(r'VmHWM:\s+(\d+) kB', Path('/proc/self/status').read_text('utf-8'))
    assert found is not None
    return int(found.group(1)) / 1024.0


if __name__ == '__main__':
    print(json.dumps(memory()))
