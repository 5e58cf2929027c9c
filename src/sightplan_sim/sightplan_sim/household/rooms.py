"""Kinds of rooms, and where objects belong; ``rooms.yaml`` holds and explains the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sightplan.model.reading import Record, read_file
from sightplan_sim.household.shapes import Rgb


class RoomKind(Record):
    """Sizes, floors, decor and seats of one kind of room."""

    width: tuple[float, float]
    depth: tuple[float, float]
    floors: tuple[Rgb, ...]
    pattern: Literal['boards', 'tiles', 'slabs']
    decor: Mapping[str, int]
    seats: tuple[str, ...]


class Rooms(Record):
    """Content of ``rooms.yaml``."""

    kinds: Mapping[str, RoomKind]
    usual: tuple[str, ...]
    walls: tuple[Rgb, ...]
    belongs: Mapping[str, tuple[str, ...]]
    taken_for: Mapping[str, tuple[str, ...]]
    on_floor: tuple[str, ...]
    aliases: Mapping[str, str]


ROOMS = read_file(Rooms, Path(__file__).with_name('rooms.yaml'))
