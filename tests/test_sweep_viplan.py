"""``sightplan sweep viplan`` from beginning to end, against a scripted server."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from sightplan.records import RunStore
from viplan_server import ViplanServer, coded_worlds

pytestmark = pytest.mark.slow
MODEL = 'perfect'
"""Answers as true as these need the same number of questions every time; those of a real model
need a fifth more or fewer in so few episodes by chance alone."""
METHODS = ('plan', 'plan_cot', 'action', 'action_cot',
           'ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')
CELLS, EPISODES = 48, 2


def lines_of(out: Path) -> list[tuple[str, str]]:
    return [(run.parent.name, line['id']) for run in out.glob('*/run.json')
            for line in RunStore(run.parent).lines()]


def test_the_whole_benchmark_is_made_once_although_it_is_killed(tmp_path, monkeypatch):
    """Two episodes a cell; killed in the middle; the estimate is within 20 % of what was used."""
    path = f'{coded_worlds(tmp_path / "worlds")}{os.pathsep}{os.environ.get("PYTHONPATH", "")}'
    monkeypatch.setenv('PYTHONPATH', path)
    out = tmp_path / 'runs'
    with ViplanServer(MODEL) as server:
        command = [sys.executable, '-m', 'sightplan.cli', 'sweep', 'viplan', '--out', str(out),
                   '--jobs', '2', '--episodes', str(EPISODES), '--json', '--set',
                   f'model={MODEL}', f'backend_options.base_url={server.url}']
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True)
        end = time.monotonic() + 300
        while len(lines_of(out)) < 20:
            assert first.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        os.kill(first.pid, signal.SIGKILL)
        assert 'estimate: 96 episodes will take about' in first.communicate()[1]
        before = lines_of(out)
        assert 20 <= len(before) < CELLS * EPISODES
        second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
        assert second.returncode == 0, second.stderr[-3000:]
        result = json.loads(second.stdout.splitlines()[-1])
    made = Counter(lines_of(out))
    assert len(made) == CELLS * EPISODES and set(made.values()) == {1}, 'nothing twice'
    assert result['new'] == CELLS * EPISODES - len(before) and set(before) <= set(made)
    assert (result['done'], result['duplicates'], result['failures']) == (96, 0, [])
    used = [line['usage'] for run in out.glob('*/run.json')
            for line in RunStore(run.parent).lines()]
    for name in ('requests', 'prompt_tokens'):
        expected, spent = result['estimate'][name]['value'], sum(use[name] for use in used)
        assert abs(expected - spent) <= 0.2 * spent, (name, expected, spent)
    assert 'estimated before:' in second.stderr
    check_report(out, tmp_path / 'report')


def check_report(out: Path, folder: Path) -> None:
    """One row for each of the eight methods, with both domains, and the paper's values."""
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan.cli', 'report', str(out), '--out', str(folder)],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (folder / 'tables' / 'table1.csv').open(encoding='utf-8', newline='') as file:
        rows = {row['method']: row for row in csv.DictReader(file)}
    assert set(METHODS) <= set(rows)
    for place, count in (('blocksworld', 6), ('household', 6), ('all', 12)):
        assert {rows[method][f'{place}_n'] for method in METHODS} == {str(count)}
    ground = {key: float(rows['ground'][f'{key}_mean'])
              for key in ('blocksworld', 'household', 'all')}
    assert ground['blocksworld'] == 1.0, 'true answers solve all'
    assert ground['all'] == pytest.approx((ground['blocksworld'] + ground['household']) / 2)
    five = {method: tuple(float(rows[method][f'{place}_paper_five'])
                          for place in ('blocksworld', 'household', 'all')) for method in METHODS}
    assert five['plan'] == (.07, .39, .23) and five['ground_mem'] == (.47, .05, .26)
