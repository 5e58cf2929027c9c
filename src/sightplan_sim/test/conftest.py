"""Worlds are shared within a test file: making one costs more than most tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for sim_cases


@pytest.fixture(scope='module')
def world() -> Iterator[object]:
    """A world with small pictures."""
    from sightplan_sim.blocksworld import make_world
    with make_world(width=160, height=120, supersampling=1) as made:
        yield made
