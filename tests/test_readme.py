"""Every command of the README's bash blocks is run, as a reader would, and must succeed."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / 'README.md').read_text()
COMMANDS = [line.strip() for block in re.findall(r'```bash\n(.*?)```', README, re.S)
            for line in block.splitlines() if line.strip() and not line.lstrip().startswith('#')]
# The long ones run shortened: the demo on one problem, the tests with nothing but their start.
SHORTENED = {
    'make demo': ['make', 'demo', 'DEMO_ARGS=episodes:=1'],
    'make test': ['make', 'test', 'PYTEST_ARGS=--collect-only -q tests/test_rooms.py'],
}


def test_there_are_commands():
    assert {'make demo', 'make test'} <= set(COMMANDS)
    assert any(c.startswith('.venv/bin/sightplan run ') for c in COMMANDS)


def test_it_fits_two_screens():
    assert len(README.splitlines()) <= 120


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """Where a reader stands: a checkout in which nothing has been run yet."""
    folder = tmp_path_factory.mktemp('readme')
    (folder / 'config').symlink_to(ROOT / 'config')
    (folder / 'docs').symlink_to(ROOT / 'docs')
    return folder


@pytest.mark.slow
@pytest.mark.parametrize('command', COMMANDS)
def test_command_works(command, place):
    words = SHORTENED.get(command) or shlex.split(command)
    if words[0] == 'make':
        words = [words[0], '-C', str(ROOT), *words[1:]]
        if command == 'make demo':
            words.append(f'DEMO_OUT={place}/run')
    else:
        assert words[0] == '.venv/bin/sightplan', f'the test does not know how to run {command!r}'
        words[0] = str(ROOT / words[0])
    env = {k: os.environ[k] for k in ('HOME', 'PATH', 'LANG') if k in os.environ}
    process = subprocess.Popen(words, cwd=place, env=env, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=900)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(240)
    assert process.returncode == 0, output[-3000:]
    assert output.strip()


@pytest.mark.slow
@pytest.mark.parametrize('code', re.findall(r'```python\n(.*?)```', README, re.S))
def test_python_works(code):
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert 'yes' in done.stdout


def test_links_and_pictures_exist():
    for target in re.findall(r'\]\(([^)#]+)\)', README):
        if '://' not in target:
            assert (ROOT / target).exists(), f'README.md links to {target}, which is not there'
