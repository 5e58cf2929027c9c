"""Whole sweeps as commands: killed at random, wanted twice, and on Ray."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sightplan.records import RunStore
from sightplan_bench.sweep import (
    command,
    killed_sweep,
    plain_sweep,
    workers_of,
    write_sweep,
)

pytestmark = pytest.mark.slow


def wait_for(check, limit_s=60.0):
    end = time.monotonic() + limit_s
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


def lines_of(folder: Path) -> list[dict]:
    return RunStore(folder).lines()


def test_a_sweep_that_is_killed_ends_with_the_metrics_of_one_that_is_not(tmp_path):
    file = tmp_path / 'sweep.yaml'
    write_sweep(file, 40, split='simple')
    plain, _, metrics = plain_sweep(file, tmp_path / 'plain', 1)
    killed = killed_sweep(file, tmp_path / 'killed', kills=5, seed=3, every_s=(0.1, 1.2))
    assert killed.workers + killed.parents >= 2, 'it was killed'
    assert sum(killed.ids.values()) == len(killed.ids) == 40
    assert killed.metrics == metrics
    assert killed.result['metrics_sha256'] == plain['metrics_sha256']
    assert {key: killed.result[key] for key in (
        'episodes', 'done', 'duplicates', 'failed_infrastructure', 'failures')} == {
        'episodes': 40, 'done': 40, 'duplicates': 0, 'failed_infrastructure': 0, 'failures': []}


def test_a_directory_is_one_commands_and_helpers_end_with_their_worker(tmp_path):
    file = tmp_path / 'sweep.yaml'
    write_sweep(file, 200)
    out = tmp_path / 'out'
    first = subprocess.Popen(command(file, out, 2), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(lambda: any(lines_of(path.parent) for path in out.glob('*/episodes.jsonl')))
        second = subprocess.run(command(file, out, 2), capture_output=True, text=True,
                                timeout=60, check=False)
        assert second.returncode == 2
        assert f'is in use: process {first.pid} on ' in second.stderr
        helpers = {worker: planners_of(worker) for worker in workers_of(first.pid)}
        worker = next(pid for pid in helpers if helpers[pid])
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: not any(map(alive, helpers[worker])))
        wait_for(lambda: len(set(workers_of(first.pid)) - {worker}) == 2)
        assert first.poll() is None, 'a worker takes nobody with it'
        left = [*workers_of(first.pid), *(
            planner for pid in workers_of(first.pid) for planner in planners_of(pid))]
        os.kill(first.pid, signal.SIGSTOP)  # so that it cannot tell anybody
        os.kill(first.pid, signal.SIGKILL)
        wait_for(lambda: not any(map(alive, left)))
    finally:
        first.kill()
        first.wait()


def planners_of(worker: int) -> list[int]:
    return [int(child) for task in Path(f'/proc/{worker}/task').iterdir()
            for child in (task / 'children').read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def test_the_same_sweep_on_ray(tmp_path):
    pytest.importorskip('ray')
    file = tmp_path / 'sweep.yaml'
    write_sweep(file, 4, split='simple')
    _, _, metrics = plain_sweep(file, tmp_path / 'plain', 1)
    done = subprocess.run(
        [*command(file, tmp_path / 'ray', 1), '--engine', 'ray'], capture_output=True, text=True,
        timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result['done'], result['duplicates']) == (4, 0)
    assert (tmp_path / 'ray' / 'metrics.json').read_bytes() == metrics
