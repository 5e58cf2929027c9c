"""``sightplan arm``: check a robot's file, calibrate its camera, watch it."""

from __future__ import annotations

from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the sub-command to the parser of ``sightplan``."""
    raise NotImplementedError
