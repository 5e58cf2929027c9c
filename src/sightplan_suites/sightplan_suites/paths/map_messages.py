"""Maps, costmaps and paths of ROS messages: of live ones, and of those that a bag was read from.

Both have the same fields, so that one function reads both: ``nav_msgs/OccupancyGrid``,
``nav2_msgs/Costmap`` and ``nav_msgs/Path``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_suites.paths.costmaps import Costmap
from sightplan_suites.paths.maps import FloatArray, OccupancyGrid

_TURNED = 1e-3
"""Rotation of a grid above which it is refused [rad]."""


def grid_of_message(message: Any, name: str = 'map') -> OccupancyGrid:
    """The grid of a ``nav_msgs/OccupancyGrid``.

    Args:
        message: the message.
        name: of the message in errors.

    Raises:
        InputError: it has no frame, is turned, or a field of it cannot be used; names the field.
    """
    info = message.info
    cells, origin = _cells(name, 'info', message, (info.height, info.width), info, np.int8)
    return OccupancyGrid(cells, float(info.resolution), message.header.frame_id, origin)


def costmap_of_message(message: Any, name: str = 'costmap') -> Costmap:
    """The costmap of a ``nav2_msgs/Costmap``.

    Args:
        message: the message.
        name: of the message in errors.

    Raises:
        InputError: it has no frame, is turned, or a field of it cannot be used; names the field.
    """
    data = message.metadata
    cells, origin = _cells(name, 'metadata', message, (data.size_y, data.size_x), data, np.uint8)
    return Costmap(cells, float(data.resolution), message.header.frame_id, origin)


def _cells(name: str, field: str, message: Any, shape: tuple[int, int], info: Any, kind: type,
           ) -> tuple[NDArray[Any], tuple[float, float]]:
    """The cells of a message as an array, and their corner; raises InputError, see its callers."""
    data: Sequence[int] = message.data
    if not message.header.frame_id:
        raise InputError(f'{name}.header.frame_id is empty (name the frame of the map)')
    turn, place = info.origin.orientation, f'{name}.{field}'
    if not all(abs(part) <= _TURNED for part in (turn.x, turn.y, turn.z)):
        raise InputError(f'{place}.origin.orientation: the map is turned (turn it back, and the '
                         'paths with it)')
    if not len(data) or len(data) != shape[0] * shape[1]:
        raise InputError(f'{name}.data: {len(data)} cells for {shape[1]} x {shape[0]} '
                         f'in {place} (there must be as many, and some)')
    if not (math.isfinite(info.resolution) and info.resolution > 0):
        raise InputError(f'{place}.resolution: {info.resolution:g} (give metres a cell, above 0)')
    return (np.array(data, dtype=kind).reshape(shape),
            (info.origin.position.x, info.origin.position.y))


def points_of_path(message: Any, frame: str, name: str,
                   remedy: str = 'transform the path into the frame of the map') -> FloatArray:
    """The points (N, 2) of a ``nav_msgs/Path``; heights and headings are not used.

    Args:
        message: the message.
        frame: of the map, which the path must be in; '': not known, any will do.
        name: of the message in errors.
        remedy: for a path in another frame.

    Raises:
        InputError: it is in another frame; names the field and both frames.
    """
    frames = [('header', message.header.frame_id, False)] + [
        (f'poses[{at}].header', pose.header.frame_id, True)
        for at, pose in enumerate(message.poses)]
    for field, found, may_be_empty in frames:
        if frame and found != frame and not (may_be_empty and not found):
            raise InputError(f'{name}.{field}.frame_id is {found!r}, that of the map {frame!r} '
                             f'({remedy})')
    return np.array([(pose.pose.position.x, pose.pose.position.y) for pose in message.poses],
                    dtype=np.float64).reshape(-1, 2)
