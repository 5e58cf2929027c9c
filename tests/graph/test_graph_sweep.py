"""A sweep whose episodes are made by ROS graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import outside_environment, result

from sightplan.records import RunStore

pytestmark = pytest.mark.slow

SWEEP = {'base': {'table': 'gpt-4.1', 'split': 'simple', 'episodes': 1, 'seed': 3},
         'cells': [{'method': 'ground'}, {'method': 'oracle'}]}


def sweep(file: Path, out: Path, *more: str) -> dict:
    """Run a sweep, as it is run on a command line; returns what it says in the end."""
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan.cli', 'sweep', str(file), '--out', str(out), '--json',
         *more], capture_output=True, text=True, timeout=900, env=outside_environment(),
        check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_graphs_make_the_same_episodes_as_workers_in_process(tmp_path: Path) -> None:
    file = tmp_path / 'sweep.json'
    file.write_text(json.dumps(SWEEP))
    graphs = sweep(file, tmp_path / 'graphs', '--graph', '--jobs', '2')
    assert (graphs['done'], graphs['new'], graphs['duplicates']) == (2, 2, 0)
    inside = sweep(file, tmp_path / 'inside', '--jobs', '1')
    index = json.loads((tmp_path / 'graphs' / 'sweep.sweep.json').read_text())
    for cell in index['cells']:
        folders = [tmp_path / name / cell['dir'] for name in ('graphs', 'inside')]
        [there], [here] = (RunStore(folder).lines() for folder in folders)
        assert result(there) == result(here) and there['bag']
        identities = [RunStore(folder).run_info()['identity'] for folder in folders]
        assert identities[0] == identities[1]
    assert graphs['metrics_sha256'] == inside['metrics_sha256']
    again = sweep(file, tmp_path / 'graphs')
    assert (again['done'], again['new']) == (2, 0), 'what a graph has made is there in process'
