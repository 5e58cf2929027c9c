"""What is installed is what the locks say, to the file, and nothing else."""

from __future__ import annotations

import hashlib
import http.client
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'requirements'
LOCKS = ('wheels.txt', 'jazzy.txt', 'cuda.txt', 'extras.txt')
SOURCES = {'runtime.in': ('wheels.txt', 'jazzy.txt'), 'dev.in': ('wheels.txt', 'jazzy.txt'),
           'ros-wheels.in': ('wheels.txt',), 'jazzy.in': ('jazzy.txt',),
           'extras.in': ('extras.txt',)}
PIN = re.compile(r'(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)==(?P<version>[0-9][A-Za-z0-9.!]*)'
                 r"(?: ; (?P<marker>python_version == '3\.1[12]'))?")
OURS = {'sightplan', 'sightplan-arm', 'sightplan-bench', 'sightplan-nodes', 'sightplan-sim'}
WITH_ROS = (ROOT / '.venv' / 'ros-prefix').exists()


def plain(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def pins(lock: str) -> list[tuple[str, str, str]]:
    """Name, version and marker of each line."""
    found = []
    for line in (FOLDER / lock).read_text().splitlines():
        if not line.startswith(('#', '-c cuda.txt')):
            match = PIN.fullmatch(line)
            assert match is not None, f'{lock}: {line!r} is not one exact version'
            found.append((match['name'], match['version'], match['marker'] or ''))
    return found


@pytest.mark.parametrize('lock', LOCKS)
def test_every_requirement_is_pinned_once(lock: str) -> None:
    found = pins(lock)
    assert found and len({(name, marker) for name, _, marker in found}) == len(found)
    always = {name for name, _, marker in found if not marker}
    assert not always & {name for name, _, marker in found if marker}


@pytest.mark.parametrize('source', SOURCES)
def test_every_requirement_is_locked(source: str) -> None:
    for line in (FOLDER / source).read_text().splitlines():
        name = re.match(r'[A-Za-z0-9._-]*', line.partition('#')[0].strip())[0]
        if name and not line.startswith('-'):
            for lock in SOURCES[source]:
                assert plain(name) in {one for one, _, _ in pins(lock)}, f'{name}: {lock}'


def test_every_lock_is_known() -> None:
    assert {file.name for file in FOLDER.glob('*.txt')} == {*LOCKS, 'hashes.txt'}
    assert {file.name for file in FOLDER.glob('*.in')} == set(SOURCES)


def test_every_release_has_hashes_but_those_of_torch() -> None:
    hashes = dict(line.split(' ', 1) for line in (FOLDER / 'hashes.txt').read_text().splitlines()
                  if not line.startswith('#'))
    wanted = {f'{name}=={version}' for lock in LOCKS if lock != 'cuda.txt'
              for name, version, _ in pins(lock) if name != 'torch'}
    assert hashes.keys() == wanted, 'python scripts/lock.py --hashes'
    for text in hashes.values():
        assert re.fullmatch('--hash=sha256:[0-9a-f]{64}( --hash=sha256:[0-9a-f]{64})*', text)


def wheel(folder: Path, name: str, needs: str = '', about: str = '') -> str:
    """Make a wheel of version 1.0 and give its SHA-256."""
    about = f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: {about}\n'
    if needs:
        about += f'Requires-Dist: {needs}\n'
    file = folder / f'{name}-1.0-py3-none-any.whl'
    with zipfile.ZipFile(file, 'w') as archive:
        info = f'{name}-1.0.dist-info'
        archive.writestr(f'{info}/METADATA', about)
        archive.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\n'
                                          'Tag: py3-none-any\n')
        archive.writestr(f'{info}/RECORD', '')
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(('names', 'changed', 'needs', 'refusal'), [
    ([], '', '', ''), (['one'], '', '', ''), ([], 'torch', '', ''),
    ([], 'one', '', 'DO NOT MATCH THE HASHES'), (['one'], 'one', '', 'DO NOT MATCH THE HASHES'),
    (['other'], 'one', '', ''), ([], '', 'torch', '')])
def test_only_files_that_were_locked_are_installed(
        tmp_path: Path, names: list[str], changed: str, needs: str, refusal: str) -> None:
    """An index that has other files gets nowhere; a file may need torch, which has no hash."""
    for folder in ('scripts', 'requirements', 'index', '.venv/bin'):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / 'scripts' / 'pip_install.sh', tmp_path / 'scripts')
    python = tmp_path / '.venv' / 'bin' / 'python'
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n')
    python.chmod(0o755)
    index = tmp_path / 'index'
    hashes = ''.join(f'{name}==1.0 --hash=sha256:{wheel(index, name, needs)}\n'
                     for name in ('one', 'other'))
    wheel(index, 'torch')
    (tmp_path / 'requirements' / 'hashes.txt').write_text(f'# A line.\n{hashes}')
    (tmp_path / 'requirements' / 'small.txt').write_text(
        "# A line.\n-c cuda.txt\none==1.0\nother==1.0 ; python_version >= '3.11'\ntorch==1.0\n")
    (tmp_path / 'requirements' / 'cuda.txt').write_text('')
    if changed:
        wheel(index, changed, about='another file')
    target = tmp_path / 'target'
    done = subprocess.run(
        [tmp_path / 'scripts' / 'pip_install.sh', 'small.txt', *names, '--', '--no-index',
         '--find-links', index, '--target', target], capture_output=True, text=True, check=False,
        env={'PATH': os.environ['PATH'], 'PIP_CONFIG_FILE': os.devnull})
    assert (done.returncode != 0) == bool(refusal)
    assert refusal in done.stderr
    if not refusal:
        assert {path.name.split('-')[0] for path in target.glob('*.dist-info')} == set(
            names or ['one', 'other', 'torch'])


def locked() -> dict[str, str]:
    """Versions for this Python, of the lock that .venv was made with."""
    return {name: version
            for lock in ('jazzy.txt' if WITH_ROS else 'wheels.txt', 'extras.txt', 'cuda.txt')
            for name, version, marker in pins(lock) if not marker or Marker(marker).evaluate()}


@pytest.mark.slow
def test_what_is_installed_is_what_is_locked() -> None:
    wanted, wrong = locked(), {}
    for one in importlib.metadata.distributions(path=[
            str(path) for path in (ROOT / '.venv' / 'lib').glob('python3*/site-packages')]):
        name, version = plain(one.metadata['Name']), one.version.partition('+')[0]
        if wanted.get(name, version) != version:
            wrong[name] = f'{version} instead of {wanted[name]}'
        elif name not in wanted and name not in OURS and one.read_text('INSTALLER') is not None:
            wrong[name] = f'{version} is in no lock'  # without an installer: part of a ROS wheel
    assert not wrong


@pytest.mark.slow
def test_what_is_installed_fits_together() -> None:
    done = subprocess.run([sys.executable, '-m', 'pip', '--disable-pip-version-check', 'check'],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def reachable() -> bool:
    """Whether the index can be asked that pip-audit asks."""
    try:
        urllib.request.urlopen('https://pypi.org/pypi/pip/json', timeout=20).close()
    except (OSError, http.client.HTTPException):
        return False
    return True


def audited(done: subprocess.CompletedProcess[str], there: Callable[[], bool] = reachable,
            ) -> list[dict[str, Any]]:
    """What pip-audit found; skips where the index cannot be asked, and fails where it crashed."""
    if done.returncode in (0, 1) and done.stdout.startswith('{'):
        found: list[dict[str, Any]] = json.loads(done.stdout)['dependencies']
        return found
    if not there():
        pytest.skip('the index cannot be asked')
    pytest.fail(f'pip-audit ended with {done.returncode}:\n{done.stderr[-4000:]}')


@pytest.mark.parametrize(('code', 'out', 'there', 'ends'), [
    (1, 'Traceback', True, pytest.fail.Exception), (2, '{}', True, pytest.fail.Exception),
    (-11, '', True, pytest.fail.Exception), (1, '', False, pytest.skip.Exception)])
def test_a_crash_of_the_audit_is_no_skip(code: int, out: str, there: bool, ends: type,
                                         ) -> None:
    with pytest.raises(ends):
        audited(subprocess.CompletedProcess([], code, out, 'why'), lambda: there)


@pytest.mark.slow
@pytest.mark.parametrize('lock', LOCKS)
def test_no_version_has_a_known_vulnerability(lock: str, tmp_path: Path) -> None:
    """By the data of the Python index; a package that is on no index cannot be judged."""
    if importlib.util.find_spec('pip_audit') is None:
        pytest.skip('pip-audit is not installed (pip install pip-audit; it asks pypi.org)')
    file = tmp_path / 'requirements.txt'
    file.write_text('\n'.join(f'{name}=={version}' for name, version, marker in pins(lock)
                              if not name.startswith('ros-')
                              and (not marker or Marker(marker).evaluate())))
    done = subprocess.run(
        [sys.executable, '-m', 'pip_audit', '-r', str(file), '--no-deps', '--disable-pip',
         '--progress-spinner', 'off', '--format', 'json'],
        capture_output=True, text=True, check=False)
    assert {one['name']: [what['id'] for what in one['vulns']]
            for one in audited(done) if one.get('vulns')} == {}
