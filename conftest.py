"""What all tests share. No test depends on how fast the machine is, random examples neither."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ('browser', 'compiling')

# The same code draws the same examples, so that a red test is the fault of a change; to search
# further, with other and more examples each time: --hypothesis-profile=thorough
hypothesis.settings.register_profile('sightplan', deadline=None, print_blob=True, max_examples=30,
                                     derandomize=True)
hypothesis.settings.register_profile('thorough', deadline=None, print_blob=True, max_examples=500)
hypothesis.settings.load_profile('sightplan')


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector off the modules that are imported here: they stay to the end.

    Each of its full passes would look at a million objects of theirs.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)  # tests leave few circles behind


@pytest.fixture(scope='session', autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Leave out ``os.fsync``: tests kill processes, whose writes the kernel keeps, no machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, 'fsync', lambda file: None)
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file without a slow test when only slow tests are asked for."""
    if collection_path.suffix != '.py' or not config.option.markexpr.startswith('slow'):
        return None
    return None if 'slow' in collection_path.read_text() else True
