"""Import arrows point down the design's table only."""

import subprocess
import sys
from pathlib import Path

import pytest

import rooms

SRC = Path(__file__).resolve().parent.parent / 'src'


def test_no_import_breaks_the_table():
    broken = rooms.violations(SRC)
    assert not broken, '\n'.join(['not allowed by tests/rooms.py:', *map(str, broken)])


def test_every_package_is_read():
    for package in rooms.PACKAGES:
        files = list((SRC / package / package).rglob('*.py'))
        assert len(files) > 3, package
    assert {folder.name for folder in SRC.iterdir() if (folder / folder.name).is_dir()} == set(
        rooms.PACKAGES)


@pytest.mark.parametrize(('module', 'text'), [
    ('sightplan/model/symbols.py', 'import yaml'),
    ('sightplan/model/symbols.py', 'from sightplan.domains import load_domain'),
    ('sightplan/model/symbols.py', 'from sightplan import domains'),
    ('sightplan/model/symbols.py', 'from ..domains import load_domain'),
    ('sightplan/model/symbols.py', 'from .. import agent'),
    ('sightplan/vlm/api.py', 'from sightplan.domains import load_domain'),
    ('sightplan/vlm/api.py', 'import torch'),
    ('sightplan/domains/library.py', 'import sightplan.grounding'),
    ('sightplan/grounding/grounder.py', 'import sightplan.planning'),
    ('sightplan/planning/symbolic.py', 'import sightplan.agent.loop'),
    ('sightplan/agent/loop.py', 'from sightplan.vlm.api import make_backend'),
    ('sightplan/agent/loop.py', 'import sightplan.metrics'),
    ('sightplan/agent/loop.py', 'import rclpy'),
    ('sightplan/cli.py', 'import rclpy'),
    ('sightplan/cli.py', 'import torch'),
    ('sightplan/runner.py', 'import sightplan_sim'),
    ('sightplan/metrics/scorer.py', 'from sightplan_nodes import agent'),
    ('sightplan/records/store.py', 'def f():\n    import rosbag2_py'),
    ('sightplan/runner.py',
     "import importlib\nimportlib.import_module('sightplan_sim.blocksworld')"),
    ('sightplan/grounding/grounder.py',
     "from importlib import import_module\nimport_module(f'sightplan.agent.{1}')"),
    ('sightplan/model/symbols.py',
     'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sightplan import agent'),
    ('sightplan_sim/blocksworld/world.py', 'import rclpy'),
    ('sightplan_sim/blocksworld/world.py', 'from sightplan.agent import make_policy'),
    ('sightplan_sim/blocksworld/world.py', 'from sightplan import runner'),
    ('sightplan_sim/blocksworld/world.py', 'import sightplan_nodes'),
    ('sightplan_nodes/agent.py', 'import torch'),
    ('sightplan_nodes/agent.py', 'import pybullet'),
    ('sightplan_nodes/agent.py', 'import launch'),
])
def test_a_forbidden_import_is_found(tmp_path, module, text):
    file = tmp_path / module.partition('/')[0] / module
    file.parent.mkdir(parents=True)
    file.write_text(f'import json\n{text}\n')
    assert len(rooms.violations(tmp_path)) == 1


@pytest.mark.parametrize(('module', 'text'), [
    ('sightplan/model/symbols.py', 'import numpy as np\nfrom sightplan.model import belief'),
    ('sightplan/model/__init__.py', 'from . import belief\nfrom .belief import Belief'),
    ('sightplan/vlm/backends/embedded.py', 'def f():\n    import torch\n    import transformers'),
    ('sightplan/domains/library.py', 'import unified_planning.io\nfrom ..model import Atom'),
    ('sightplan/agent/loop.py', 'from sightplan.planning import symbolic'),
    ('sightplan/metrics/scorer.py', 'import sightplan.suites, sightplan.agent'),
    ('sightplan/cli.py', 'from sightplan.runs.runner import run\nimport rich'),
    ('sightplan_sim/blocksworld/world.py', 'import pybullet\nfrom sightplan.domains import x'),
    ('sightplan_nodes/agent.py',
     'import rclpy, sightplan_sim\nfrom sightplan_interfaces.msg import X'),
])
def test_what_the_table_allows_passes(tmp_path, module, text):
    file = tmp_path / module.partition('/')[0] / module
    file.parent.mkdir(parents=True)
    file.write_text(text + '\n')
    assert rooms.violations(tmp_path) == []


@pytest.mark.parametrize('module', ['sightplan.model', 'sightplan.cli', 'sightplan.vlm.api',
                                    'sightplan.agent', 'sightplan.runs.runner'])
def test_heavy_libraries_are_loaded_only_when_used(module):
    code = (f'import sys, {module}; '
            f'print(*sorted({set(rooms.HEAVY) | {"rclpy", "sightplan_sim"}} & set(sys.modules)))')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ''
