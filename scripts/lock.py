"""Write the lock files requirements/wheels.txt and requirements/jazzy.txt.

    python scripts/lock.py [--python311 EXE] [--python312 EXE]

pip itself resolves the ``*.in`` files, once per Python, without installing anything (its
``--report``; ``pip freeze`` would also list the ROS wheels' internal packages, which are not on
any index). A package that only one Python needs, or that the two need in different versions, gets
an environment marker.

Two things are left out: the local part of a version (torch's ``+cpu``), so that the lock fits
whichever build of torch the index offers, and the libraries of torch's CUDA build, which torch
itself requires in exact versions.
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
CUDA = re.compile(r'(nvidia|cuda)-.*|triton|pytorch-triton')
LOCKS = {
    'wheels.txt': (('runtime.in', 'dev.in', 'ros-wheels.in'), ('3.11', '3.12')),
    'jazzy.txt': (('runtime.in', 'dev.in', 'jazzy.in'), ('3.11', '3.12')),
}


def resolve(python: str, inputs: tuple[str, ...]) -> dict[str, str]:
    """Names (normalised) and versions that pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / 'venv'
        report = Path(folder) / 'report.json'
        subprocess.run([python, '-m', 'venv', str(venv)], check=True)
        pip = [str(venv / 'bin' / 'python'), '-m', 'pip', '--disable-pip-version-check', 'install',
               '--quiet']
        subprocess.run([*pip, '--upgrade', 'pip', 'setuptools<81', 'wheel'], check=True)
        subprocess.run([*pip, '--dry-run', '--ignore-installed', '--report', str(report),
                        *(part for name in inputs for part in ('-r', str(FOLDER / name)))],
                       check=True)
        found = {}
        for item in json.loads(report.read_text())['install']:
            name = re.sub(r'[-_.]+', '-', item['metadata']['name']).lower()
            if not CUDA.fullmatch(name):
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
    """Write both locks."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--python311', default='python3.11', metavar='EXE')
    parser.add_argument('--python312', default='python3.12', metavar='EXE')
    args = parser.parse_args()
    executables = {'3.11': args.python311, '3.12': args.python312}
    for lock, (inputs, pythons) in LOCKS.items():
        resolved = {python: resolve(executables[python], inputs) for python in pythons}
        header = (f'# Exact versions for Python {" and ".join(pythons)}, from '
                  f'{", ".join(inputs)}.\n# Written by scripts/lock.py; do not edit.\n')
        (FOLDER / lock).write_text(header + '\n'.join(lines(resolved)) + '\n')
        print(f'{FOLDER / lock}: {len(lines(resolved))} lines')
    return 0


if __name__ == '__main__':
    sys.exit(main())
