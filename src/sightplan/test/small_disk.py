"""A small file system of its own, for tests of full disks."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, kib: int = 2048):
    """A folder that holds so much; the test is skipped where none can be mounted."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip('only root can mount a small file system')
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={kib}k', 'sightplan-test',
                              str(folder)], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f'no small file system can be mounted here: {mounted.stderr.strip()}')
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def fill(folder: Path, left_bytes: int) -> Path:
    """Write a file that leaves so much room; removing it makes room again."""
    free = os.statvfs(folder)
    size = free.f_bavail * free.f_frsize - left_bytes
    path = folder / 'filler'
    path.write_bytes(b'x' * size)
    return path
