"""What all tests share. No test depends on how fast the machine is, random examples neither."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import hypothesis
import pytest

pytest_plugins = ('browser',)

hypothesis.settings.register_profile('sightplan', deadline=None, print_blob=True)
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
