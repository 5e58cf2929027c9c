"""The practice path of docs/real_robot.md: its problem, and its commands in their order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import LIMIT_S, outside_environment

from arm_testing import patient_robot
from sightplan.metrics import measures

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'real_robot.md').read_text()


def section(title: str) -> str:
    """The text of a section of the page."""
    return PAGE.split(f'\n## {title}\n', 1)[1].split('\n## ', 1)[0]


def block(title: str) -> str:
    """The first listing of a section."""
    found = re.search(r'```text\n(.*?)```', section(title), re.DOTALL)
    assert found is not None, title
    return found.group(1)


def test_the_commands_of_the_practice_path_stack_the_block(start, tmp_path: Path,
                                                           monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'tower').mkdir()
    (tmp_path / 'tower' / 'first_stack.pddl').write_text(block('A problem'))
    robot = patient_robot(tmp_path, state_timeout_s=10.0, image_timeout_s=10.0,
                          heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)
    commands = [shlex.split(line) for line in
                block('Practise without a robot').replace('\\\n', ' ').splitlines()]
    graphs = []
    for command in commands:
        assert command[0] == 'sightplan'
        if command[1] == 'up':
            out = next(one.partition(':=')[2] for one in command if one.startswith('out:='))
            graph = start(*command[3:], f'robot:={robot}', out=tmp_path / out,
                          graph_name=str(ROOT / 'config' / 'graphs' / f'{command[2]}.yaml'))
            assert graph.wait() == 0, graph.text
            graphs.append(graph)
        else:
            subprocess.run([sys.executable, '-m', 'sightplan.cli', *command[1:]], check=True,
                           env=outside_environment(), timeout=LIMIT_S)
    dry, made = (graph.lines() for graph in graphs)
    assert [(line['stop'], measures.scored(line)) for line in dry] == [('dry_run', False)]
    assert [(line['stop'], measures.solved(line)) for line in made] == [('plan_done', True)]
