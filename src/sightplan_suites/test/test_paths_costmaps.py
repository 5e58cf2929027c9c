"""Costmaps of Nav2 beside occupancy grids: what is an obstacle, and which grid is which."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import yaml

from sightplan.model import InputError
from sightplan_suites.paths.costmaps import (
    Costmap,
    costmap_of_grid,
    looks_inflated,
    map_of_costmap,
)
from sightplan_suites.paths.grid_files import open_map, read_cells
from sightplan_suites.paths.maps import OccupancyGrid


def inflated(lethal, inscribed, cost):
    """A block in the middle of a map of 20 by 20 cells, with what Nav2 puts around it."""
    cells = np.zeros((20, 20), np.int16)
    for margin, value in ((5, cost), (3, inscribed), (0, lethal)):
        cells[9 - margin:11 + margin, 9 - margin:11 + margin] = value
    return cells


COSTS = inflated(254, 253, 120).astype(np.uint8)
COSTS[0] = 255
PUBLISHED = inflated(100, 99, 47).astype(np.int8)
PUBLISHED[0] = -1
BLOCK = (9, 9, 11, 11)
"""Corners of the block, in metres at one metre a cell."""


def covered(item, *, unknown=True):
    """The box around the obstacles above the unknown row, and whether that row is one."""
    seen = item.polygons[:len(item.polygons) - item.unknown]
    points = np.array([corner for polygon in seen for corner in polygon])
    return (*points.min(axis=0), *points.max(axis=0)), item.unknown > 0


def test_obstacles_are_lethal_cells_and_for_a_point_inscribed_ones():
    costmap = Costmap(COSTS, 1.0, 'map')
    assert covered(map_of_costmap(costmap)) == (BLOCK, True)
    assert covered(map_of_costmap(costmap, inscribed=True))[0] == (6, 6, 14, 14)
    assert covered(map_of_costmap(costmap, unknown_occupied=False)) == (BLOCK, False)
    with pytest.raises(InputError, match='costs are int16 .give uint8'):
        map_of_costmap(Costmap(COSTS.astype(np.int16), 1.0, 'map'))


def test_a_published_costmap_is_translated_back():
    grid = OccupancyGrid(PUBLISHED, 1.0, 'map')
    found = costmap_of_grid(grid).costs
    assert ((found == 254) == (COSTS == 254)).all() and ((found == 253) == (COSTS == 253)).all()
    assert ((found == 255) == (COSTS == 255)).all() and abs(int(found[5, 5]) - 120) <= 2
    # As costmap_2d_publisher.cpp of Nav2 translates: 1 + 97 (cost - 1) / 251.
    for cost in range(1, 253):
        value = 1 + (97 * (cost - 1)) // 251
        back = int(costmap_of_grid(OccupancyGrid(np.array([[value]], np.int8), 1.0, 'map')
                                   ).costs[0, 0])
        assert abs(back - cost) <= 3


@pytest.mark.parametrize(('cells', 'looks'), [
    (PUBLISHED, True), (np.where(PUBLISHED == 99, 0, PUBLISHED), False),
    (np.where(PUBLISHED == 47, 0, PUBLISHED), False), (np.full((4, 4), 100, np.int8), False),
    (np.array([[100, 99, 40, 0], [100, 30, 0, 0]], np.int8), False)])
def test_a_grid_that_looks_like_a_costmap(cells, looks):
    assert looks_inflated(OccupancyGrid(cells, 1.0, 'map')) is looks


@pytest.fixture
def raw(tmp_path):
    """Writes a raw picture of values, and returns the file of its grid."""
    def write(values, **fields):
        cv2.imwrite(str(tmp_path / 'map.png'), values.astype(np.uint8)[::-1])
        (tmp_path / 'map.yaml').write_text(yaml.safe_dump({
            'image': 'map.png', 'resolution': 1.0, 'origin': [0.0, 0.0, 0.0], 'mode': 'raw',
            'occupied_thresh': 0.65, 'free_thresh': 0.2, **fields}))
        return tmp_path / 'map.yaml'
    return write


def test_a_raw_picture_of_costs_is_refused_until_it_is_said_what_it_is(raw):
    file = raw(COSTS)
    with pytest.raises(InputError, match='values from 101 to 254 in a raw picture .*say which'):
        open_map(file)
    assert covered(open_map(file, kind='costmap')) == (BLOCK, True)
    assert covered(open_map(file, kind='costmap', inscribed=True))[0] == (6, 6, 14, 14)
    occupancy = read_cells(file, 'occupancy')
    assert isinstance(occupancy, OccupancyGrid) and (occupancy.cells[COSTS > 100] == -1).all()
    assert covered(open_map(raw(COSTS, cells='costmap'))) == (BLOCK, True)


def test_a_raw_picture_of_a_published_costmap(raw):
    values = np.where(PUBLISHED < 0, 255, PUBLISHED)
    with pytest.raises(InputError, match='looks like a costmap of Nav2'):
        open_map(raw(values))
    assert covered(open_map(raw(values), kind='costmap')) == (BLOCK, True)
    assert covered(open_map(raw(values), kind='occupancy'))[0] == (6, 6, 14, 14)  # 99 and 100


def test_ordinary_grids_need_no_word(raw):
    plain = np.where(PUBLISHED == 100, 100, np.where(PUBLISHED < 0, 255, 0))
    assert covered(open_map(raw(plain))) == (BLOCK, True)
    dark = np.where(PUBLISHED == 100, 0, np.where(PUBLISHED < 0, 205, 255))
    for mode in ('trinary', 'scale'):
        assert covered(open_map(raw(dark, mode=mode), threshold=90))[0] == BLOCK
    with pytest.raises(InputError, match='mode: trinary .a costmap needs raw'):
        open_map(raw(dark, mode='trinary'), kind='costmap')


def test_arrays_say_what_they_are_by_their_name(tmp_path):
    file = tmp_path / 'map.npz'
    np.savez(file, costs=COSTS, resolution=1.0)
    assert covered(open_map(file)) == (BLOCK, True)
    with pytest.raises(InputError, match='costs are those of a costmap'):
        open_map(file, kind='occupancy')
    np.savez(file, cells=PUBLISHED, resolution=1.0)
    with pytest.raises(InputError, match='looks like a costmap'):
        open_map(file)
    assert covered(open_map(file, kind='costmap')) == (BLOCK, True)
    np.savez(file, cells=COSTS.astype(np.int16), resolution=1.0)
    with pytest.raises(InputError, match='cells from 0 to 255'):
        open_map(file)
    assert covered(open_map(file, kind='costmap')) == (BLOCK, True)
    np.savez(file, costs=COSTS.astype(np.int16) - 1, resolution=1.0)
    with pytest.raises(InputError, match='costs must be whole numbers from 0 to 255'):
        open_map(file)
    with pytest.raises(InputError, match='cells from 0 to 255 .a costmap that is published'):
        costmap_of_grid(OccupancyGrid(COSTS, 1.0, 'map'))
