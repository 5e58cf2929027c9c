"""Named areas of a map that a robot can be told to stay out of, and their files.

A file of areas is YAML, ``areas:`` with entries of a ``name`` and a ``polygon`` (corners in
order), or a ``mask``: a grid of ROS beside the file whose occupied cells are the area, as Nav2's
keep-out filter has it. Or it is GeoJSON: features with a property ``name`` and a Polygon or
MultiPolygon. Coordinates are those of the map, in its unit and frame, in GeoJSON, too: they are no
longitudes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import shapely
from pydantic import Field

from sightplan.model import InputError
from sightplan.model.reading import Record, read_data, validated
from sightplan_suites.paths.grid_files import read_grid
from sightplan_suites.paths.maps import Polygon, map_of_grid

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Corners = Annotated[tuple[tuple[_Number, _Number], ...], Field(min_length=3)]


@dataclass(frozen=True)
class Area:
    """A named part of the plane.

    Attributes:
        name: what people call it.
        polygons: its parts, corners of each in order; the first is not repeated.
    """

    name: str
    polygons: tuple[Polygon, ...]

    @functools.cached_property
    def shape(self) -> shapely.Geometry:
        """The area as one shape."""
        return shapely.union_all([shapely.Polygon(polygon) for polygon in self.polygons])

    def check(self, where: str) -> None:
        """Check that the area has a name and parts that do not cross themselves.

        Raises:
            InputError: it has none, or one does; names ``where``.
        """
        if not self.name.strip():
            raise InputError(f'{where}: an area has no name (give it one)')
        if not self.polygons:
            raise InputError(f'{where}: area {self.name!r} is empty (give it a polygon)')
        for polygon in self.polygons:
            if len(polygon) < 3 or not all(math.isfinite(value) for corner in polygon
                                           for value in corner):
                raise InputError(f'{where}: area {self.name!r}: {len(polygon)} corners (give '
                                 'three or more, of finite coordinates)')
            shape = shapely.Polygon(polygon)
            if not shape.is_valid or not shape.area:
                raise InputError(f'{where}: area {self.name!r}: '
                                 f'{shapely.is_valid_reason(shape)} (list the corners in order '
                                 'around a shape that does not cross itself)')


class _Entry(Record):
    name: str
    polygon: _Corners | None = None
    mask: str = ''


class _File(Record):
    areas: tuple[_Entry, ...]


def read_areas(file: Path) -> tuple[Area, ...]:
    """Read a file of areas, YAML or GeoJSON; see the module.

    Raises:
        InputError: it cannot be read, an area has no shape or one that crosses itself, or two
            have one name; names file, area and remedy.
    """
    data = read_data(file)
    if isinstance(data, dict) and data.get('type') in ('FeatureCollection', 'Feature'):
        areas = _from_geojson(data, file)
    else:
        areas = [_area(entry, file) for entry in validated(_File, data, file).areas]
    check_areas(areas, str(file))
    return tuple(areas)


def check_areas(areas: Iterable[Area], where: str) -> None:
    """Check areas, and that no two have one name.

    Raises:
        InputError: as ``read_areas``.
    """
    names: set[str] = set()
    for area in areas:
        area.check(where)
        if area.name in names:
            raise InputError(f'{where}: area {area.name!r} is there twice (name each once)')
        names.add(area.name)


def named_areas(areas: Sequence[Area], names: Iterable[str]) -> tuple[Area, ...]:
    """The areas of these names.

    Raises:
        InputError: there is none of a name; names those that there are.
    """
    known = {area.name: area for area in areas}
    for name in names:
        if name not in known:
            raise InputError(f'keep_out: there is no area {name!r} (there '
                             f'{"are " + ", ".join(known) if known else "is none: give areas"})')
    return tuple(known[name] for name in names)


def _area(entry: _Entry, file: Path) -> Area:
    if (entry.polygon is None) == (not entry.mask):
        raise InputError(f'{file}: area {entry.name!r}: give a polygon or a mask')
    if entry.polygon is not None:
        return Area(entry.name, (entry.polygon,))
    mask = file.parent / entry.mask
    return Area(entry.name, map_of_grid(read_grid(mask), str(mask),
                                        unknown_occupied=False).polygons)


def _from_geojson(data: dict[str, Any], file: Path) -> list[Area]:
    features = data.get('features', []) if data['type'] == 'FeatureCollection' else [data]
    return [_feature(feature, f'{file}: feature {number}')
            for number, feature in enumerate(features, 1)]


class _Geometry(Record):
    type: str
    coordinates: Any


def _feature(feature: Any, where: str) -> Area:
    if not isinstance(feature, dict):
        raise InputError(f'{where}: is no feature (write GeoJSON)')
    name = (feature.get('properties') or {}).get('name')
    if not isinstance(name, str):
        raise InputError(f'{where}: properties.name is missing (name the area)')
    geometry = validated(_Geometry, feature.get('geometry'), f'{where}: geometry')
    if geometry.type not in ('Polygon', 'MultiPolygon'):
        raise InputError(f'{where}: geometry is a {geometry.type} (give a Polygon or a '
                         'MultiPolygon)')
    parts = [geometry.coordinates] if geometry.type == 'Polygon' else geometry.coordinates
    polygons = []
    for rings in validated(tuple[tuple[_Corners, ...], ...], parts,
                           f'{where}: coordinates'):
        if len(rings) != 1:
            raise InputError(f'{where}: area {name!r} has a hole (leave it out, or cut the area '
                             'into parts)')
        ring = rings[0]
        polygons.append(ring[:-1] if ring[0] == ring[-1] else ring)
    return Area(name, tuple(polygons))
