"""Build wheels of the packages that need no ROS, into dist/.

    make wheels
    python scripts/wheels.py [--out FOLDER]

They are for ``pip install``: in process, ``sightplan run`` and all that needs no graph work from
them alone. The configuration (robots, sweeps) is packed with ``sightplan``, where there is no
workspace that installs it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ('sightplan', 'sightplan_models', 'sightplan_belief', 'sightplan_suites',
            'sightplan_report', 'sightplan_arm', 'sightplan_sim')
CONFIG = ('robots', 'sweeps')


def build(package: str, folder: Path, out: Path) -> Path:
    """Build the wheel of a package from a copy in a folder; returns the wheel."""
    copy = folder / package
    shutil.copytree(ROOT / 'src' / package, copy, ignore=shutil.ignore_patterns(
        '__pycache__', 'test', '*.egg-info', 'build'))
    shutil.copy(ROOT / 'LICENSE', copy / 'LICENSE')
    if package == 'sightplan':
        for name in CONFIG:
            shutil.copytree(ROOT / 'config' / name, copy / package / 'config' / name)
    (copy / 'setup.cfg').unlink(missing_ok=True)  # where colcon installs scripts
    subprocess.run([sys.executable, '-m', 'pip', '--disable-pip-version-check', 'wheel', '--quiet',
                    '--no-deps', '--no-build-isolation', '--wheel-dir', str(out), str(copy)],
                   check=True)
    return max(out.glob(f'{package}-*.whl'), key=lambda path: path.stat().st_mtime)


def main() -> int:
    """Build them all."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--out', type=Path, default=ROOT / 'dist', metavar='FOLDER')
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:  # of other versions, too: all that is there is installed together
        for wheel in out.glob(f'{package}-*.whl'):
            wheel.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            wheel = build(package, Path(folder), out)
            print(f'{wheel}: {wheel.stat().st_size / 1e6:.1f} MB')
    return 0


if __name__ == '__main__':
    sys.exit(main())
