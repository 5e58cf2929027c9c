"""Helpers that simulated worlds share: poses, random generators, checks of settings."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import EpisodeSpec, InputError

Pose7 = tuple[float, float, float, float, float, float, float]
"""Position (x, y, z) [m] and quaternion (x, y, z, w) in the world."""


def generator(world: str, spec: EpisodeSpec, purpose: str) -> np.random.Generator:
    """A source of chance of its own for each purpose, the same in every process."""
    text = f'{world}/{purpose}/{spec.seed}/{spec.problem.name}'
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], 'little'))


def pose_matrix(axes: NDArray[np.float64], position: NDArray[np.float64]) -> NDArray[np.float64]:
    """(4, 4) pose of a frame with ``axes`` (3, 3), in columns, and ``position`` (3,) [m]."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axes, position
    return pose


def check_names(kind: type[Any], settings: Mapping[str, Any], world: str) -> None:
    """Check that settings of a world are fields of its ``Settings``.

    Raises:
        InputError: one is unknown; names it and all that are known.
    """
    known = [field.name for field in dataclasses.fields(kind)]
    for name in settings:
        if name not in known:
            raise InputError(f'unknown setting {name!r} of world {world} '
                             f'(known: {", ".join(known)})')
