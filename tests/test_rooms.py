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


def test_every_room_is_in_the_table_and_only_the_command_line_is_in_none():
    core = SRC / 'sightplan' / 'sightplan'
    there = {path.stem for path in core.iterdir() if path.suffix == '.py'
             or (path / '__init__.py').is_file()}
    assert there == {*rooms.ROOMS_OF_THE_CORE, '__init__'}
    assert sorted(path.name for path in core.glob('*.py')) == [
        '__init__.py', '__main__.py', 'cli.py']
    assert set(rooms.LIBRARIES_OF_THE_CORE) == set(rooms.ROOMS_OF_THE_CORE)


def test_no_room_imports_in_a_circle():
    found = rooms.arrows(SRC)
    assert {f'sightplan.{room}' for room in rooms.ROOMS_OF_THE_CORE if room != 'model'} <= {*found}
    assert rooms.circle(found) == []
    assert rooms.circle({room: set(may) for room, may in rooms.ROOMS_OF_THE_CORE.items()}) == []


def test_no_file_imports_in_a_circle():
    found = rooms.file_arrows(SRC)
    assert len(found) > 600 and 'sightplan.queries.pointing' in found['sightplan.queries.locate']
    assert ' -> '.join(rooms.circle(found)) == ''


def test_a_circle_of_files_is_found(tmp_path):
    for name, text in (('runs/a', 'from sightplan.runs.b import thing'),
                       ('runs/b', 'def f():\n    from sightplan.runs import c'),
                       ('runs/c', ('from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n'
                                   '    from .a import other')),
                       ('runs/d', 'from sightplan.runs import a'), ('runs/__init__', '')):
        file = tmp_path / 'sightplan' / 'sightplan' / f'{name}.py'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + '\n')
    found = rooms.circle(rooms.file_arrows(tmp_path))
    assert len(found) == 4 and set(found) == {
        'sightplan.runs.a', 'sightplan.runs.b', 'sightplan.runs.c'}


def test_a_circle_is_found(tmp_path):
    for name, text in (('metrics/a', 'from sightplan.records import b'),
                       ('records/b', 'def f():\n    import sightplan.runs.c'),
                       ('runs/c', 'from ..metrics import a'), ('runs/d', 'import sightplan')):
        file = tmp_path / 'sightplan' / 'sightplan' / f'{name}.py'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + '\n')
    found = rooms.circle(rooms.arrows(tmp_path))
    assert len(found) == 4 and set(found) == {
        'sightplan.metrics', 'sightplan.records', 'sightplan.runs'}


def test_nothing_else_needs_the_benchmarks():
    """``sightplan_bench`` is optional: the other packages and their tests do without."""
    found = [str(item) for file in sorted(SRC.glob('*/**/*.py'))
             if (package := file.relative_to(SRC).parts[0]) != 'sightplan_bench'
             and file.name != 'setup.py' for item in rooms.imports_of(file, SRC / package)
             if item.target.partition('.')[0] == 'sightplan_bench']
    assert not found, '\n'.join(found)


def test_no_node_imports_a_command():
    package = SRC / 'sightplan_nodes'
    commands = {'do.py', 'policy.py', 'health.py'}  # of sightplan, and python -m
    found = [str(item) for file in sorted((package / 'sightplan_nodes').glob('*.py'))
             if file.name not in commands for item in rooms.imports_of(file, package)
             if item.target.startswith('sightplan.commands')]
    assert not found, '\n'.join(found)


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
    ('sightplan/runner.py', 'import sightplan.model'),
    ('sightplan/model/symbols.py', 'import pydantic'),
    ('sightplan/metrics/scorer.py', 'import sightplan_suites'),
    ('sightplan/metrics/scorer.py', 'import sightplan.records'),
    ('sightplan/records/store.py', 'import sightplan_report'),
    ('sightplan/runs/work.py', 'import sightplan_suites.viplan.scoring'),
    ('sightplan/runs/work.py', 'import sightplan.commands.frame'),
    ('sightplan/sweeps/work.py', 'import sightplan.replay'),
    ('sightplan_report/page.py', 'import sightplan.sweeps'),
    ('sightplan_report/labelling/tasks.py', 'import sightplan_suites'),
    ('sightplan_report/replay/tables.py', 'import sightplan_belief'),
    ('sightplan_models/openai.py', 'import sightplan.agent'),
    ('sightplan_belief/estimator.py', 'import sightplan_suites'),
    ('sightplan_belief/estimator.py', 'import torch'),
    ('sightplan/graphs/up.py', 'import sightplan.commands'),
    ('sightplan_report/page.py', 'import rich'),
    ('sightplan/commands/run.py', 'import rich'),
    ('sightplan_arm/skills/moves.py', 'import sightplan.commands.frame'),
    ('sightplan/cli.py', 'import rclpy'),
    ('sightplan/cli.py', 'import torch'),
    ('sightplan/runs/work.py', 'import sightplan_sim'),
    ('sightplan/metrics/scorer.py', 'from sightplan_nodes import agent'),
    ('sightplan/records/store.py', 'def f():\n    import rosbag2_py'),
    ('sightplan/runs/work.py',
     "import importlib\nimportlib.import_module('sightplan_sim.blocksworld')"),
    ('sightplan/grounding/grounder.py',
     "from importlib import import_module\nimport_module(f'sightplan.agent.{1}')"),
    ('sightplan/model/symbols.py',
     'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sightplan import agent'),
    ('sightplan_sim/blocksworld/world.py', 'import rclpy'),
    ('sightplan_sim/blocksworld/world.py', 'from sightplan.agent import make_policy'),
    ('sightplan_sim/blocksworld/world.py', 'from sightplan import runs'),
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
    ('sightplan_models/embedded.py', 'def f():\n    import torch\n    import transformers'),
    ('sightplan/domains/library.py', 'import unified_planning.io\nfrom ..model import Atom'),
    ('sightplan/agent/loop.py', 'from sightplan.planning import symbolic'),
    ('sightplan/metrics/scorer.py', 'import sightplan.domains, sightplan.model'),
    ('sightplan/commands/run.py', 'from sightplan.runs import run\nimport yaml, sightplan'),
    ('sightplan_report/page.py', 'import numpy\nfrom sightplan.runs import summarise'),
    ('sightplan_arm/command.py', 'from sightplan.commands.frame import add_command'),
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
                                    'sightplan.agent', 'sightplan.runs'])
def test_heavy_libraries_are_loaded_only_when_used(module):
    code = (f'import sys, {module}; '
            f'print(*sorted({set(rooms.HEAVY) | {"rclpy", "sightplan_sim"}} & set(sys.modules)))')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ''
