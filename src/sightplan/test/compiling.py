"""Compiling of the test files, once for all workers of pytest-xdist."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

_configs: list[pytest.Config] = []
"""In a process of the pool: the configuration with which it compiles."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile the test files on all CPUs before the workers of ``-n`` start.

    Otherwise every worker rewrites the assertions of every file that has changed, at the same time
    as the others.
    """
    if sys.dont_write_bytecode or not getattr(config.option, 'numprocesses', None):
        return
    given = [config.invocation_params.dir / argument.split('::')[0] for argument in config.args]
    files = [file for path in given
             for file in (path.rglob('test_*.py') if path.is_dir() else [path]) if file.is_file()]
    with multiprocessing.get_context('fork').Pool(None, _configs.append, (config,)) as pool:
        pool.map(_compile, files, 4)


def _compile(path: Path) -> None:
    """Write the file that pytest's import hook looks for, unless it is there and fresh."""
    config, = _configs
    folder = rewrite.get_cache_dir(path)
    compiled = folder / (path.stem + rewrite.PYC_TAIL)
    if rewrite.try_makedirs(folder) and rewrite._read_pyc(path, compiled) is None:
        with contextlib.suppress(SyntaxError, ValueError, OSError):  # which the collection reports
            status, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, status, compiled)
