"""The plugin that compiles the test files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_file_that_cannot_be_compiled_ends_no_other_test(tmp_path: Path) -> None:
    pytest.importorskip('xdist')
    (tmp_path / 'conftest.py').write_text("pytest_plugins = ('compiling',)\n")
    (tmp_path / 'test_bad.py').write_text('def test_x(:\n')
    (tmp_path / 'test_good.py').write_text('def test_x():\n    pass\n')
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-n', '1', '--rootdir', '.', '.'], cwd=tmp_path,
        env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '', 'PYTEST_ADDOPTS': '',
             'PYTHONPATH': str(Path(__file__).parent)},
        capture_output=True, text=True, timeout=120, check=False)
    assert '1 passed, 1 error' in done.stdout, done.stdout + done.stderr
