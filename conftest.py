"""What all tests share. No test depends on how fast the machine is, random examples neither."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import hypothesis
import pytest

pytest_plugins = ('browser',)

# Each run draws other examples, so that few at a time search as far in the end; many at once:
# --hypothesis-profile=thorough
hypothesis.settings.register_profile('sightplan', deadline=None, print_blob=True, max_examples=30)
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
