"""Write the lock files requirements/wheels.txt, jazzy.txt and cuda.txt, and hashes.txt.

    python scripts/lock.py [--python311 EXE] [--python312 EXE] [--keep]
    python scripts/lock.py --hashes

With ``--keep``, what is locked already keeps its version, and only what is missing is resolved.
With ``--hashes``, the locks stay, and only hashes.txt is written.

pip itself resolves the ``*.in`` files, once per Python, without installing anything (its
``--report``; ``pip freeze`` would also list the ROS wheels' internal packages, which are not on
any index). A package that only one Python needs, or that the two need in different versions, gets
an environment marker.

The local part of a version (torch's ``+cpu``) is left out, so that the locks fit whichever build
of torch the index offers. For the same reason the libraries of its CUDA build, as far as pip met
them, go into constraints, requirements/cuda.txt: they hold when that build is installed, and ask
for nothing when it is not.

hashes.txt has the SHA-256 of every file that Linux may install of each locked version, as the
index says today; scripts/pip_install.sh lets pip install these and no others. Which index brings
torch is up to the user, so torch and the libraries of its CUDA build have none. Hashes stand apart
from the locks, because constraints with hashes would bar wheels of one's own (``pip install -c
requirements/wheels.txt dist/*.whl``).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / 'requirements'
CUDA = re.compile(r'(nvidia|cuda)-.*|triton')
LOCKS = {
    'wheels.txt': (('runtime.in', 'dev.in', 'ros-wheels.in'), ('3.11', '3.12')),
    'jazzy.txt': (('runtime.in', 'dev.in', 'jazzy.in'), ('3.11', '3.12')),
}
HASHED = (*LOCKS, 'extras.txt')
UNHASHED = {'torch'}  # each of its builds has other files, on an index of its own
# File names, from the tags on, of wheels that Linux with one of the Pythons may install.
WHEEL = re.compile(r'-(?:[a-z0-9.]*py3[a-z0-9.]*-none|cp31[12]-cp31[12]|cp3\d+-abi3|cp31[12]-none)'
                   r'-(?:any|(?:[a-z0-9_.]*\.)?(?:many)?linux[a-z0-9_.]*_(?:x86_64|aarch64))\.whl')


def resolve(python: str, inputs: tuple[str, ...], kept: str = '') -> dict[str, str]:
    """Names (normalised) and versions that pip would install; ``kept``: a lock that holds."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / 'venv'
        report = Path(folder) / 'report.json'
        subprocess.run([python, '-m', 'venv', str(venv)], check=True)
        pip = [str(venv / 'bin' / 'python'), '-m', 'pip', '--disable-pip-version-check', 'install',
               '--quiet']
        subprocess.run([*pip, '--upgrade', 'pip', 'setuptools<81', 'wheel'], check=True)
        subprocess.run([*pip, '--dry-run', '--ignore-installed', '--report', str(report),
                        *(('-c', str(FOLDER / kept)) if kept else ()),
                        *(part for name in inputs for part in ('-r', str(FOLDER / name)))],
                       check=True)
        found = {}
        for item in json.loads(report.read_text())['install']:
            name = re.sub(r'[-_.]+', '-', item['metadata']['name']).lower()
            found[name] = item['metadata']['version'].partition('+')[0]
        return found


def lines(resolved: dict[str, dict[str, str]]) -> list[str]:
    """Requirement lines from the result of each Python."""
    result = []
    for name in sorted(set().union(*resolved.values())):
        versions = {python: found[name] for python, found in resolved.items() if name in found}
        if len(versions) == len(resolved) and len(set(versions.values())) == 1:
            result.append(f'{name}=={next(iter(versions.values()))}')
        else:
            result += [f"{name}=={version} ; python_version == '{python}'"
                       for python, version in versions.items()]
    return result


def main() -> int:
    """Write the locks."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--python311', default='python3.11', metavar='EXE',
                        help='the oldest that is promised: Debian 12 has 3.11.2')
    parser.add_argument('--hashes', action='store_true', help='write hashes.txt alone')
    parser.add_argument('--python312', default='python3.12', metavar='EXE')
    parser.add_argument('--keep', action='store_true', help='keep the versions of today')
    args = parser.parse_args()
    if args.hashes:
        return write_hashes()
    executables = {'3.11': args.python311, '3.12': args.python312}
    cuda: dict[str, str] = {}
    for lock, (inputs, pythons) in LOCKS.items():
        resolved = {}
        for python in pythons:
            found = resolve(executables[python], inputs, lock if args.keep else '')
            cuda |= {name: version for name, version in found.items() if CUDA.fullmatch(name)}
            resolved[python] = {name: found[name] for name in found.keys() - cuda.keys()}
        write(lock, f'Exact versions for Python {" and ".join(pythons)}, from {", ".join(inputs)}',
              ['-c cuda.txt', *lines(resolved)])
    if cuda:  # else the index offers builds for CPU only: keep what is known
        write('cuda.txt', "Exact versions of the libraries of torch's CUDA build, as constraints",
              lines({'any': cuda}))
    return write_hashes()


def releases() -> list[str]:
    """All ``NAME==VERSION`` of the locks that are to have hashes."""
    found = {line.partition(' ')[0] for lock in HASHED
             for line in (FOLDER / lock).read_text().splitlines() if line[0] not in '#-'}
    return sorted(one for one in found if one.partition('==')[0] not in UNHASHED)


def digests(files: list[dict[str, Any]], version: str) -> Iterator[str]:
    """SHA-256 of what Linux may install of one version, from the files that an index lists."""
    for file in files:
        name = file['filename']
        end = name.removesuffix('.tar.gz').removesuffix('.zip')
        source = end != name and end.rpartition('-')[2] == version
        if source or (name.split('-')[1] == version and WHEEL.search(name)):
            yield file['hashes']['sha256']


def hashed(release: str, index: str) -> str:
    """The line of one release in hashes.txt."""
    name, _, version = release.partition('==')
    address = urllib.parse.urlsplit(index)
    connection = http.client.HTTPSConnection(address.netloc, timeout=60)
    connection.request('GET', f'{address.path.rstrip("/")}/{name}/', headers={
        'Accept': 'application/vnd.pypi.simple.v1+json'})
    reply = connection.getresponse()
    if reply.status != HTTPStatus.OK:
        raise SystemExit(f'lock.py: the index answers {reply.status} {reply.reason} for {name}')
    listed = json.load(reply)['files']
    found = sorted(set(digests(listed, version)))
    if not found:
        raise SystemExit(f'lock.py: the index has no file of {release} for Linux')
    return ' '.join([release, *(f'--hash=sha256:{one}' for one in found)])


def write_hashes() -> int:
    """Write hashes.txt for the locks as they are, by what pip's index says."""
    asked = subprocess.run([sys.executable, '-m', 'pip', 'config', 'get', 'global.index-url'],
                           capture_output=True, text=True, check=False)
    index = os.environ.get('PIP_INDEX_URL') or asked.stdout.strip() or 'https://pypi.org/simple'
    with ThreadPoolExecutor(8) as pool:
        text = list(pool.map(lambda one: hashed(one, index), releases()))
    write('hashes.txt', f'The files that may be installed of what {", ".join(HASHED)} lock', text)
    return 0


def write(name: str, about: str, text: list[str]) -> None:
    """Write one file with its header."""
    header = f'# {about}.\n# Written by scripts/lock.py; do not edit.\n'
    (FOLDER / name).write_text(header + '\n'.join(text) + '\n')
    print(f'{FOLDER / name}: {len(text)} lines')


if __name__ == '__main__':
    sys.exit(main())
