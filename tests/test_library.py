"""The packages that need no ROS, as wheels in a folder of their own: what docs/library.md says."""

import os
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from empty_environments import EmptyEnvironment
from test_packaging import WHEELS, asks_for_what_is_imported

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / 'docs' / 'library.md').read_text()


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """The environment of a Python that has the wheels and the libraries, and nothing of ROS."""
    folder = tmp_path_factory.mktemp('wheels')
    subprocess.run([sys.executable, ROOT / 'scripts' / 'wheels.py', '--out', folder], check=True)
    subprocess.run([sys.executable, '-m', 'pip', '--disable-pip-version-check', 'install',
                    '--quiet', '--no-deps', '--target', folder / 'env', *folder.glob('*.whl')],
                   check=True)
    return {'PATH': os.environ['PATH'], 'HOME': str(folder), 'PYTHONPATH': str(folder / 'env')}


@pytest.mark.slow
def test_what_the_page_says_works(installed, tmp_path):
    code = '\n'.join(re.findall(r'```python\n(.*?)```', PAGE, re.S))
    done = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, env=installed, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '2 of 2 solved' in done.stdout
    assert 'yes' in done.stdout and 'solved moveblock' in done.stdout
    assert 'the blue block' in done.stdout


@pytest.mark.slow
def test_the_command_finds_what_was_packed(installed, tmp_path):
    def sightplan(*words):
        return subprocess.run([sys.executable, '-m', 'sightplan.cli', *words], cwd=tmp_path,
                              env=installed, text=True, capture_output=True, check=False)

    arm = sightplan('run', '--split', 'simple', '--method', 'oracle', '--episodes', '1',
                    '--world-option', 'execution=arm', '--out', 'arm')
    assert arm.returncode == 0, arm.stderr
    table = sightplan('report', 'arm')
    assert table.returncode == 0, table.stderr
    graph = sightplan('up', 'experiment')
    assert graph.returncode == 2 and 'build the workspace' in graph.stderr


@pytest.mark.slow
def test_the_wheels_ask_for_what_is_imported(installed):
    for package in WHEELS:
        [info] = Path(installed['PYTHONPATH']).glob(f'{package}-*.dist-info')
        asks_for_what_is_imported(PathDistribution(info), package)


@pytest.mark.slow
def test_nothing_of_the_workspace_is_seen(installed):
    code = 'import sightplan, sightplan_arm, sightplan_sim as s; print(s.__file__)'
    done = subprocess.run([sys.executable, '-c', code], env=installed, text=True, check=True,
                          capture_output=True)
    assert done.stdout.startswith(installed['PYTHONPATH'])
    assert sysconfig.get_paths()['purelib'] not in done.stdout


HEAVY = {'torch', 'transformers', 'ompl', 'shapely', 'clingo', 'ortools', 'matplotlib', 'pybullet',
         'pin', 'opencv-python-headless', 'openai', 'rich'}


@pytest.fixture(scope='module')
def empty(installed, tmp_path_factory):
    """Makes an environment with some packages and what they ask for alone."""
    def make(*wanted):
        folder = tmp_path_factory.mktemp('empty') / 'env'
        return EmptyEnvironment(folder, Path(installed['PYTHONPATH']), wanted)
    return make


def refused(done, *said):
    """Whether a command ended with one line that says these things."""
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return all(text in done.stderr for text in said)


@pytest.mark.slow
@pytest.mark.parametrize('package', WHEELS)
def test_a_package_needs_nothing_but_what_it_asks_for(empty, tmp_path, package):
    environment = empty(package)
    wanted = {'sightplan': HEAVY, 'sightplan_models': HEAVY,
              'sightplan_belief': HEAVY - {'ortools', 'clingo', 'opencv-python-headless'},
              'sightplan_report': HEAVY - {'matplotlib', 'opencv-python-headless'}}
    assert not environment.distributions & wanted.get(package, {'torch', 'transformers'})
    code = f'import {package}; from sightplan import load_domain; load_domain("blocksworld")'
    done = environment.execute('-c', code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = environment.run('doctor', cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    offered = environment.run('--help', cwd=tmp_path)
    assert offered.returncode == 0 and 'cannot be used' not in offered.stdout


@pytest.mark.slow
def test_the_core_alone_plans_and_names_what_is_missing(empty, tmp_path):
    environment = empty('sightplan')
    shown = environment.run('problems', 'show', 'simple/problem_03', cwd=tmp_path)
    assert shown.returncode == 0 and 'moveblock' in shown.stdout, shown.stderr
    assert refused(environment.run('run', '--method', 'oracle', cwd=tmp_path), 'sightplan_sim')
    assert refused(environment.run('run', '--method', 'ground', cwd=tmp_path), 'sightplan_sim')
    assert refused(environment.run('run', '--method', 'belief', cwd=tmp_path), 'sightplan_belief')
    assert refused(environment.run('run', '--suite', 'viplan', cwd=tmp_path), 'sightplan_suites')
    assert refused(environment.run('report', 'runs', cwd=tmp_path), 'sightplan_report')
    assert refused(environment.run('sweep', 'smoke', '--out', 'sweep', cwd=tmp_path),
                   'sightplan_models')


@pytest.mark.slow
def test_a_world_and_simulated_models_need_no_torch(empty, tmp_path):
    environment = empty('sightplan_sim', 'sightplan_models', 'sightplan_belief')
    for words in (['--method', 'oracle'], ['--method', 'belief', '--table', 'gpt-4.1']):
        done = environment.run('run', '--split', 'simple', '--episodes', '1', *words, '--out',
                               f'runs/{words[1]}', cwd=tmp_path)
        assert done.returncode == 0 and '1 of 1' in done.stdout, done.stderr
    done = environment.run('run', '--split', 'simple', '--method', 'ground', cwd=tmp_path)
    assert done.returncode == 1 and 'pip install safetensors tokenizers' in done.stderr
    done = environment.run('run', '--domain', 'household', '--split', 'simple', '--method',
                           'oracle', '--world-option', 'paths=planned', cwd=tmp_path)
    assert refused(done, 'sightplan_sim[paths]')
