"""The packages that need no ROS, as wheels in a folder of their own: what docs/library.md says."""

import os
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

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
    assert 'the red block' in done.stdout


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
