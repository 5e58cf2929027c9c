"""Maps by their file: grids as nav2's map server keeps them, grids of numpy, polygons."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from sightplan.model import InputError
from sightplan_suites.paths.grid_files import open_map, read_grid, read_grid_array
from sightplan_suites.paths.maps import Bounds

GREY = np.array([[0, 255, 205], [255, 100, 255]], np.uint8)  # upper row first
FIELDS = {'image': 'room.pgm', 'resolution': 0.5, 'origin': [1.0, -2.0, 0.0], 'negate': 0,
          'occupied_thresh': 0.65, 'free_thresh': 0.196}


@pytest.fixture
def room(tmp_path):
    """Writes a grid of ROS."""
    def write(picture=GREY, name='room.pgm', **fields):
        cv2.imwrite(str(tmp_path / name), picture)
        file = tmp_path / 'room.yaml'
        file.write_text(''.join(f'{key}: {value}\n' for key, value in {
            **FIELDS, 'image': name, **fields}.items() if value is not None))
        return file
    return write


def test_the_usual_grid_of_ros(room):
    grid = read_grid(room())
    # 205 is 50/255 = .196 dark: not below free_thresh, as SLAM's tools write unknown cells.
    assert grid.cells.tolist() == [[0, -1, 0], [100, 0, -1]], 'row 0 is the lower one'
    assert (grid.resolution, grid.origin, grid.frame) == (0.5, (1.0, -2.0), 'map')


@pytest.mark.parametrize(('fields', 'cells'), [
    ({'negate': 1}, [[100, -1, 100], [0, 100, 100]]),
    ({'mode': 'scale', 'free_thresh': 0.1}, [[0, 91, 0], [100, 0, 18]]),
    ({'mode': 'raw'}, [[-1, 100, -1], [0, -1, -1]]), ({'negate': None}, None)])
def test_modes(room, fields, cells):
    found = read_grid(room(**fields)).cells.tolist()
    assert found == cells if cells else found[1] == [100, 0, -1]


def test_colours_are_averaged_and_what_is_transparent_is_unknown(room):
    picture = np.zeros((1, 3, 4), np.uint8)
    picture[0, :, 3] = (255, 255, 0)
    picture[0, 1, :3] = 255
    assert read_grid(room(picture, 'room.png')).cells.tolist() == [[100, 0, -1]]


def test_maps_by_their_suffix(room, tmp_path):
    item = open_map(room())
    assert item.bounds == Bounds(1.0, -2.0, 2.5, -1.0) and item.frame == 'map'
    assert len(item.polygons) == 3
    assert len(open_map(room(), unknown_occupied=False).polygons) == 1
    np.savez(tmp_path / 'room.npz', cells=np.array([[0, 40]]), resolution=2.0)
    assert not open_map(tmp_path / 'room.npz').polygons
    assert open_map(tmp_path / 'room.npz', threshold=40).polygons == (
        ((2.0, 0.0), (4.0, 0.0), (4.0, 2.0), (2.0, 2.0)),)
    (tmp_path / 'room.txt').write_text('1\n3 0 0 1 0 0 1\n')
    assert len(open_map(tmp_path / 'room.txt').polygons) == 1
    with pytest.raises(InputError, match=r'room\.tif: unknown kind of map'):
        open_map(tmp_path / 'room.tif')


@pytest.mark.parametrize(('fields', 'what'), [
    ({'resolution': -1}, 'resolution'), ({'origin': [0, 0, 1.5]}, 'origin: turned by 1.5'),
    ({'origin': [0]}, 'origin'), ({'free_thresh': 0.7}, 'free_thresh 0.7'),
    ({'occupied_thresh': 2}, 'occupied_thresh'), ({'mode': 'other'}, 'mode'),
    ({'colour': 1}, 'colour')])
def test_what_cannot_be_read_is_named(room, fields, what):
    with pytest.raises(InputError, match=what):
        read_grid(room(**fields))


def test_a_missing_picture_is_named(room, tmp_path):
    file = room()
    (tmp_path / 'room.pgm').unlink()
    with pytest.raises(InputError, match=r'image: .*room\.pgm is missing or no picture'):
        read_grid(file)


def test_arrays_that_cannot_be_read_are_named(tmp_path):
    file = tmp_path / 'room.npz'
    for arrays, what in (({'cells': np.zeros((1, 1), int)}, 'resolution is missing'),
                         ({'cells': np.zeros((1, 1), int), 'resolution': 1.0,
                           'origin': np.zeros(1)}, 'origin')):
        np.savez(file, **arrays)
        with pytest.raises(InputError, match=what):
            read_grid_array(file)
    file.write_bytes(b'no zip')
    with pytest.raises(InputError, match='cannot be read'):
        read_grid_array(file)
