"""Write the lock files requirements/wheels.txt, jazzy.txt and cuda.txt.

    python scripts/lock.py [--python311 EXE] [--python312 EXE] [--keep]

With ``--keep``, what is locked already keeps its version, and only what is missing is resolved.

pip itself resolves the ``*.in`` files, once per Python, without installing anything (its
``--report``; ``pip freeze`` would also list the ROS wheels' internal packages, which are not on
any index). A package that only one Python needs, or that the two need in different versions, gets
an environment marker.

The local part of a version (torch's ``+cpu``) is left out, so that the locks fit whichever build
of torch the index offers. For the same reason the libraries of its CUDA build, as far as pip met
them, go into constraints, requirements/cuda.txt: they hold when that build is installed, and ask
for nothing when it is not.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / 'requirements'
CUDA = re.compile(r'(nvidia|cuda)-.*|triton')
LOCKS = {
    'wheels.txt': (('runtime.in', 'dev.in', 'ros-wheels.in'), ('3.11', '3.12')),
    'jazzy.txt': (('runtime.in', 'dev.in', 'jazzy.in'), ('3.11', '3.12')),
}


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
    parser.add_argument('--python312', default='python3.12', metavar='EXE')
    parser.add_argument('--keep', action='store_true', help='keep the versions of today')
    args = parser.parse_args()
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
    return 0


def write(name: str, about: str, text: list[str]) -> None:
    """Write one file with its header."""
    header = f'# {about}.\n# Written by scripts/lock.py; do not edit.\n'
    (FOLDER / name).write_text(header + '\n'.join(text) + '\n')
    print(f'{FOLDER / name}: {len(text)} lines')


if __name__ == '__main__':
    sys.exit(main())
