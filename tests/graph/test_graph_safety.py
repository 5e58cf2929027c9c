"""A moving arm, and something that dies or somebody who stops it: the bench, made small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import outside_environment

from sightplan_arm.config import load_robot

pytestmark = pytest.mark.slow

TIMEOUTS_S = 0.4
LIMIT_S = 900


def measured(folder: Path) -> dict:
    """What the bench prints, with times that bear a busy machine."""
    robot = folder / 'patient.yaml'
    robot.write_text('\n'.join(
        f'{line.partition(":")[0]}: {TIMEOUTS_S}' if '_timeout_s: ' in line else line
        for line in load_robot('panda').file.read_text().splitlines()))
    with (folder / 'errors.txt').open('w') as errors:
        done = subprocess.run(
            [sys.executable, '-m', 'sightplan.cli', 'bench', 'safety', '--robot', str(robot),
             '--patience', '4', '--trials', '4', '--stops', '2', '--moves', '0', '--json',
             '--out', str(folder / 'out')],
            stdout=subprocess.PIPE, stderr=errors, text=True, env=outside_environment(),
            timeout=LIMIT_S, check=False)
    said = (folder / 'errors.txt').read_text()
    assert done.stdout, said
    found = json.loads(done.stdout.splitlines()[-1])
    assert 'failed' not in found, said
    return found


def test_the_arm_holds_whatever_is_killed_and_stays_so_and_stays_stopped(tmp_path: Path):
    """One test for one bench: each of several could be another worker's, who would run it, too."""
    found = measured(tmp_path)
    for kind, cause in (('grounder', 'heartbeat'), ('camera', 'stale_image'),
                        ('agent', 'heartbeat'), ('arm_bridge', 'watcher')):
        kills = found['kills'][kind]
        assert (kills['n'], kills['causes']) == (1, {cause: 1})
        # It stood 0.6 s times the patience after the kill; how soon is for a machine that is idle.
        assert (kills['moved_again'], kills['not_refused']) == (0, 0)
    stops = found['stops']
    assert (stops['n'], stops['moved'], stops['moved_after_rearm_before_reset']) == (2, 0, 0)
    assert stops['attempts'] > 10
