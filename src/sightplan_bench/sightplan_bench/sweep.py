"""``sightplan bench sweep``: sweeps that are killed, and the gain by more workers.

The first part runs a sweep of ``noisy_oracle`` episodes once undisturbed and once with workers,
and the command itself, killed (SIGKILL) at random moments; the command is given again until it is
done. It passes if every episode is there once and ``metrics.json`` is the same, byte by byte.

The second part measures episodes per minute with one worker and with two, in turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.flags import option
from sightplan.commands.frame import Result, add_command
from sightplan_bench.output import say, shown

_PARENT_FRACTION = 0.3
"""Fraction of the kills that hit the command itself."""
_START_S = 0.2
_WORK = 'for number in range(30_000_000): pass'


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench sweep``."""

    episodes: int = option(1000, 'of the sweep that is killed')
    kills: int = option(20, 'how many')
    seed: int = option(0, 'of moments and victims')
    scaling_episodes: int = option(200, 'of each sweep that is timed')
    rounds: int = option(3, 'how often each is timed; 0: not at all')


@dataclass(frozen=True, slots=True)
class Killed:
    """Result of a sweep that was killed several times.

    Attributes:
        workers: number of workers that were killed.
        parents: number of commands that were killed.
        commands: number of commands until it was done.
        result: what the last one printed.
        ids: how often each episode stands in the results, by run and id.
        metrics: content of ``metrics.json``.
    """

    workers: int
    parents: int
    commands: int
    result: dict[str, Any]
    ids: Counter[tuple[str, str]]
    metrics: bytes


def write_sweep(path: Path, episodes: int, split: str = 'medium') -> None:
    """Write a sweep of a number of quick episodes: three quarters ground, a quarter belief."""
    quarter = episodes // 4
    path.write_text(json.dumps({
        'base': {'domain': 'blocksworld', 'table': 'gpt-4.1', 'world_options.pictures': 'none',
                 'split': split, 'failure_probability': 0.1, 'failure_images': False},
        'cells': [{'method': 'ground', 'episodes': episodes - quarter},
                  {'method': 'belief', 'episodes': quarter}]}), 'utf-8')


def command(file: Path, out: Path, jobs: int) -> list[str]:
    """The command line of a sweep."""
    return [sys.executable, '-m', 'sightplan.cli', 'sweep', str(file), '--out', str(out),
            '--jobs', str(jobs), '--json']


def workers_of(parent: int) -> list[int]:
    """Processes that a sweep has started as workers."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        for task in Path(f'/proc/{parent}/task').iterdir():
            for child in (task / 'children').read_text().split():
                words = Path(f'/proc/{child}/cmdline').read_bytes()
                if b'spawn_main' in words:
                    found.append(int(child))
    return found


def killed_sweep(file: Path, out: Path, kills: int, seed: int, jobs: int = 2,
                 every_s: tuple[float, float] = (0.3, 3.0)) -> Killed:
    """Run a sweep to its end while killing workers and commands.

    Args:
        file: the sweep.
        out: its directory.
        kills: how many; the sweep may be done before.
        seed: of moments and victims.
        jobs: number of workers.
        every_s: least and greatest time from one kill to the next [s].
    """
    rng = random.Random(seed)
    counts = Counter[str]()
    while True:
        counts['commands'] += 1
        process = subprocess.Popen(command(file, out, jobs), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        while process.poll() is None and counts['parents'] + counts['workers'] < kills:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(*every_s))
            there = workers_of(process.pid)
            if process.poll() is not None or not there:
                continue  # nothing has begun
            parent = rng.random() < _PARENT_FRACTION
            victim = process.pid if parent else rng.choice(there)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                counts['parents' if parent else 'workers'] += 1
        printed, _ = process.communicate()
        if process.returncode >= 0:
            break
        time.sleep(_START_S)
    lines = Counter(
        (path.parent.name, json.loads(line)['id'])
        for path in out.glob('*/episodes.jsonl') for line in path.read_text().splitlines())
    return Killed(counts['workers'], counts['parents'], counts['commands'],
                  json.loads(printed.splitlines()[-1]), lines,
                  (out / 'metrics.json').read_bytes())


def plain_sweep(file: Path, out: Path, jobs: int) -> tuple[dict[str, Any], float, bytes]:
    """Run a sweep undisturbed; returns its output, its wall-clock seconds, and its metrics."""
    start = time.perf_counter()
    done = subprocess.run(command(file, out, jobs), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise RuntimeError(f'the sweep ended with {done.returncode}: {done.stderr[-400:]}')
    return (json.loads(done.stdout.splitlines()[-1]), seconds,
            (out / 'metrics.json').read_bytes())


def busy_seconds(out: Path) -> float:
    """Time from the first episode's end to the last one's [s], by the times of the commits."""
    ends = [path.stat() for path in out.glob('*/episodes.jsonl')]
    begins = [path.stat().st_mtime for path in out.glob('*/run.json')]
    return max(end.st_mtime for end in ends) - min(begins)


def scaling(folder: Path, episodes: int, rounds: int, jobs: Sequence[int] = (1, 2),
            ) -> dict[str, Any]:
    """Episodes per minute with different numbers of workers, in turns: medians over rounds.

    ``with_start`` counts from the start of the command to its end; without it, from the first
    worker's taking up of a run to the last episode. ``speedup_of_the_machine`` is what plain work
    in as many processes gained in the same minutes: no sweep can gain more on a busy machine.
    """
    file = folder / 'scaling.yaml'
    write_sweep(file, episodes)
    rates: dict[int, list[tuple[float, float]]] = {number: [] for number in jobs}
    plain: dict[int, list[float]] = {number: [] for number in jobs}
    for turn in range(rounds):
        for number in jobs if turn % 2 == 0 else reversed(jobs):
            out = folder / f'scaling-{turn}-{number}'
            _, seconds, _ = plain_sweep(file, out, number)
            plain[number].append(number / _plain_work(number))
            rates[number].append((60 * episodes / seconds, 60 * episodes / busy_seconds(out)))
    found: dict[str, Any] = {}
    for number, measured in rates.items():
        found[f'episodes_per_minute_{number}'] = round(statistics.median(
            without for _, without in measured), 1)
        found[f'episodes_per_minute_{number}_with_start'] = round(statistics.median(
            whole for whole, _ in measured), 1)
    first, last = jobs[0], jobs[-1]
    found['speedup_of_the_machine'] = round(
        statistics.median(plain[last]) / statistics.median(plain[first]), 3)
    for ending in ('', '_with_start'):
        found[f'speedup{ending}'] = round(found[f'episodes_per_minute_{last}{ending}']
                                          / found[f'episodes_per_minute_{first}{ending}'], 3)
    return found


def _plain_work(processes: int) -> float:
    """Wall-clock seconds of a number of processes that count at the same time."""
    start = time.perf_counter()
    running = [subprocess.Popen([sys.executable, '-c', _WORK]) for _ in range(processes)]
    for process in running:
        process.wait()
    return time.perf_counter() - start


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench sweep``."""
    add_command(
        subparsers, 'sweep', measure, 'sweeps: killed at random, and with one worker and two',
        settings=Arguments, exits='0 done; 1 something was lost or made twice; 2 bad usage')


def measure(arguments: Arguments) -> Result:
    """Run the benchmark; returns 1 if an episode was lost or made twice."""
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.kills:
            result |= _kill_part(folder, arguments)
        if arguments.rounds:
            say('sweep', f'{arguments.rounds} rounds of {arguments.scaling_episodes} episodes')
            result |= scaling(folder, arguments.scaling_episodes, arguments.rounds)
    return shown(result, result.get('survived', True))


def _kill_part(folder: Path, arguments: Arguments) -> dict[str, Any]:
    file = folder / 'killed.yaml'
    write_sweep(file, arguments.episodes)
    say('sweep', f'{arguments.episodes} episodes, undisturbed')
    _, seconds, metrics = plain_sweep(file, folder / 'plain', 2)
    say('sweep', f'{arguments.episodes} episodes, {arguments.kills} kills')
    # As many moments as there are kills fit into the time that the rest takes.
    most = max(0.6, 1.2 * seconds / max(1, arguments.kills))
    killed = killed_sweep(file, folder / 'killed', arguments.kills, arguments.seed,
                          every_s=(0.3, most))
    found = {
        'episodes': arguments.episodes, 'distinct': len(killed.ids),
        'twice': sum(n > 1 for n in killed.ids.values()), 'killed_workers': killed.workers,
        'killed_commands': killed.parents, 'commands': killed.commands,
        'failures': killed.result['failures'], 'same_metrics': killed.metrics == metrics,
        'seconds_undisturbed': round(seconds, 1)}
    found['survived'] = (found['distinct'] == arguments.episodes and not found['twice']
                         and found['same_metrics'] and not found['failures'])
    return found
