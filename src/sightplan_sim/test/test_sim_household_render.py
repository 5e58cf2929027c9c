"""Pictures of homes: where things are seen, how they look, the same in every process."""

import dataclasses
import hashlib
import math
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sightplan.model import WorldError
from sightplan_sim.bullet import one_thread
from sightplan_sim.household import catalog, render
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.render import Painter, poses_of
from sightplan_sim.household.robot import Robot, RobotBody
from sightplan_sim.household.shapes import Home, Placed, Room, Station
from sightplan_sim.pinhole import View


def small_home(opening=0.0):
    rng = np.random.default_rng(5)
    structure = (
        Placed('floor', catalog.floor(5.0, 5.0, 'living room', rng), (0.0, 0.0, 0.0)),
        Placed('wall', catalog.wall(5.0, (0.9, 0.9, 0.85)), (0.0, 2.5, 0.0)))
    table = catalog.make_model('table_1', 'object', rng)
    height = table.surfaces[0].centre[2]
    return Home(
        (Room((-2.5, -2.5), (2.5, 2.5), 'living room'),), structure,
        (Placed('plant', catalog.make_decor('plant', rng), (1.6, 2.0, 0.0)),),
        (Placed('table_1', table, (0.0, 1.2, 0.0)),
         Placed('cabinet_1', catalog.make_model('cabinet_1', 'container', rng),
                (-1.6, 1.6, 0.0), 0.3, opening)),
        (Placed('orange_1', catalog.make_model('orange_1', 'movable', rng),
                (0.2, 1.2, height)),
         Placed('bowl_1', catalog.make_model('bowl_1', 'movable', rng), (-0.3, 1.1, height))),
        Station(0.0, -0.2, math.pi / 2))


def view_of(camera, station, tilt_deg=20.0, forward_m=0.0):
    body = RobotBody(tilt=math.radians(tilt_deg), camera_forward=forward_m)
    robot = Robot(body, station)
    return View(camera, robot.eye, robot.optical_axes)


def first_view(width=240, height=240, home=None):
    station = (home or small_home()).start
    return view_of(Camera(width, height), station)


@pytest.fixture(scope='module')
def painter():
    with Painter() as made:
        yield made


def test_ids_name_what_is_seen_and_depth_is_true(painter):
    painter.build(small_home())
    view = first_view()
    frame = painter.draw(view)
    assert frame.rgb.shape == (240, 240, 3) and frame.rgb.dtype == np.uint8
    assert frame.depth_m.dtype == np.float32 and frame.ids.dtype == np.int32
    seen = {painter.names[k] for k in np.unique(frame.ids) if k >= 0}
    assert seen == {'', 'table_1', 'cabinet_1', 'orange_1', 'bowl_1'}
    nothing = frame.ids < 0
    assert nothing.any() and np.isnan(frame.depth_m[nothing]).all()
    assert np.isfinite(frame.depth_m[~nothing]).all()
    # floor, well away from anything: the ray of the lowest middle pixel
    k = view.optics.matrix()
    ray = view.axes @ [(120 - k[0, 2]) / k[0, 0], (238 - k[1, 2]) / k[1, 1], 1.0]
    assert frame.depth_m[238, 120] == pytest.approx(-1.2 / ray[2], rel=0.01)
    assert (painter.segment(view) == frame.ids).all()


@pytest.mark.parametrize('size', [240, 480])
def test_projection_meets_the_mask(painter, size):
    """A lone orange: centre and area of its mask are those of the projected sphere."""
    home = small_home()
    painter.build(dataclasses.replace(home, furniture=()))
    view = first_view(size, size)
    orange = home.things[0]
    r = orange.model.size[0] / 2
    turns = np.linspace(0, 2 * math.pi, 60)
    centre = np.array(orange.position) + np.array([0, 0, r])
    rays = centre - view.position_m
    side = np.cross(rays, (0, 0, 1.0))
    side /= np.linalg.norm(side)
    up = np.cross(side, rays) / np.linalg.norm(rays)
    rim = centre + r * (np.cos(turns)[:, None] * side + np.sin(turns)[:, None] * up)
    hull = cv2.convexHull(view.project(rim).astype(np.float32))
    moments = cv2.moments(hull)
    ids = painter.segment(view)
    rows, columns = np.nonzero(ids == painter.names.index('orange_1'))
    assert len(rows) == pytest.approx(moments['m00'], rel=0.12)
    assert columns.mean() == pytest.approx(moments['m10'] / moments['m00'], abs=0.3)
    assert rows.mean() == pytest.approx(moments['m01'] / moments['m00'], abs=0.45)


def test_the_view_of_a_robot_is_level_and_looks_down():
    view = view_of(Camera(101, 101, 90.0), Station(1.0, 2.0, 0.0), 30.0, forward_m=0.5)
    assert view.axes.T @ view.axes == pytest.approx(np.eye(3))
    assert np.linalg.det(view.axes) == pytest.approx(1)
    ahead = np.array([[1.5 + 1.2 / math.tan(math.radians(30)), 2.0, 0.0], [3.0, 1.0, 1.2],
                      [-3.0, 2.0, 1.2]])
    pixels = view.project(ahead)
    assert pixels[0] == pytest.approx([50, 50])
    assert pixels[1, 0] > 50  # smaller y is to the right of who looks along x
    assert np.isnan(pixels[2]).all()
    assert view.sized(50, 50).project(ahead[:1])[0] == pytest.approx([24.5, 24.5])


def test_moving_and_hiding(painter):
    home = small_home()
    painter.build(home)
    view = first_view()
    index = painter.names.index('orange_1')
    before = painter.segment(view)
    painter.move('orange_1', [(np.array([0.0, 0.5, 0.8]), np.eye(3))])
    after = painter.segment(view)
    assert ((after == index) != (before == index)).any()
    with painter.without(['orange_1', 'bowl_1']):
        assert index not in painter.segment(view)
    assert (painter.segment(view) == after).all()
    painter.hide(['orange_1'])
    with painter.without(['orange_1']):
        pass
    assert index not in painter.segment(view), 'what was hidden stays so'


def test_opened_is_as_if_it_had_been_built_open(painter):
    home = small_home()
    painter.build(home)
    closed = painter.draw(first_view()).rgb
    painter.move('cabinet_1', poses_of(dataclasses.replace(home.furniture[1], opening=1.0)))
    opened = painter.draw(first_view()).rgb
    assert (np.abs(opened.astype(int) - closed).max(axis=2) > 25).sum() > 200
    painter.build(small_home(opening=1.0))
    assert (painter.draw(first_view()).rgb == opened).all()


def test_colours_come_out(painter):
    """An orange is orange, and no wall or floor is: hue of the mask's middle."""
    painter.build(small_home())
    frame = painter.draw(first_view(480, 480))
    own = frame.rgb[frame.ids == painter.names.index('orange_1')].astype(int)
    r, g, b = np.median(own, axis=0)
    assert r > 200 and 90 < g < 180 and b < 70
    wall = np.median(frame.rgb[frame.ids == 0], axis=0)
    assert np.ptp(wall) < 120 and wall.min() > 60


def test_shading_does_not_depend_on_what_was_drawn_before(painter):
    painter.build(small_home())
    one = painter.draw(first_view()).rgb
    painter.build(dataclasses.replace(small_home(), light=(-0.9, 0.1, 0.3)))
    other = painter.draw(first_view()).rgb
    painter.build(small_home())
    assert (painter.draw(first_view()).rgb == one).all()
    assert (other != one).any()


def test_edges_are_softened_and_corners_darker(painter):
    home = small_home()
    painter.build(dataclasses.replace(home, furniture=(), things=(), decor=()))
    view = first_view(480, 480)
    raw, _, ids = painter._render(view)
    drawn = painter.draw(view).rgb
    foot = view.project(np.array([[-1.0, 2.43, 0.15], [-1.0, 2.44, 1.2]]))  # low and high on it
    (x0, y0), (x1, y1) = np.round(foot).astype(int)
    assert ids[y0, x0] == ids[y1, x1] == 0
    low = drawn[y0, x0].sum() / raw[y0, x0].sum()
    high = drawn[y1, x1].sum() / raw[y1, x1].sum()
    assert low < high - 0.02
    assert high == pytest.approx(1.0, abs=0.02)


def test_close_furniture_is_not_cut_open(painter):
    """Half a metre before a cabinet every pixel of its front is still its front."""
    home = small_home()
    cabinet = dataclasses.replace(home.furniture[1], position=(0.0, 1.0, 0.0), yaw=0.0)
    painter.build(dataclasses.replace(home, furniture=(cabinet,), things=(), decor=()))
    depth = cabinet.model.size[1] / 2
    view = view_of(Camera(), Station(0.0, 1.0 - depth - 0.5, math.pi / 2), 35.0)
    frame = painter.draw(view)
    own = frame.ids == painter.names.index('cabinet_1')
    assert own.sum() > 30000
    assert cv2.connectedComponents(own.astype(np.uint8))[0] == 2
    assert frame.depth_m[own].min() > 0.4


def test_names_must_differ(painter):
    home = small_home()
    with pytest.raises(WorldError, match='table_1'):
        painter.build(home, (Placed('table_1', home.furniture[0].model, (0.0, 0.0, 0.0)),))


SCRIPT = '''
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_sim_household_render import digest
print(digest())
'''


def digest():
    found = hashlib.sha256()
    with Painter() as painter:
        for opening in (0.0, 1.0):
            painter.build(small_home(opening))
            frame = painter.draw(first_view(480, 480))
            for array in (frame.rgb, frame.depth_m, frame.ids):
                found.update(array.tobytes())
    return found.hexdigest()


def test_bit_identical_in_another_process():
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    other = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                           check=True)
    assert other.stdout.strip() == digest()


def test_memory_does_not_grow_with_homes(painter):
    """PyBullet keeps what it is given; the painter gives it the same lists again."""
    home = small_home()
    painter.build(home)
    lists = [len(rows) for rows in render.SCRATCH._rows]
    first = [id(rows[0]) for rows in render.SCRATCH._rows]
    for _ in range(3):
        painter.build(home)
    assert [len(rows) for rows in render.SCRATCH._rows] == lists
    assert [id(rows[0]) for rows in render.SCRATCH._rows] == first


THREADS = '''
import sys, threading
sys.path.insert(0, {folder!r})
from test_sim_household_render import digest
found = []
threads = [threading.Thread(target=lambda: [found.append(digest()) for _ in range(4)])
           for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), *set(found))
'''


def test_painters_in_several_threads_draw_the_same_and_live():
    """In a process of its own: two that fill the same lists crash or never end."""
    other = subprocess.run(
        [sys.executable, '-c', THREADS.format(folder=str(Path(__file__).parent))],
        capture_output=True, text=True, check=True, timeout=600)
    assert other.stdout.split() == ['12', digest()]


def test_opencv_gets_its_threads_back_when_the_last_painter_is_done():
    before = cv2.getNumThreads()
    cv2.setNumThreads(3)
    try:
        one, other = one_thread(), one_thread()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert cv2.getNumThreads() == 1  # the other still draws
        other.__exit__(None, None, None)
        assert cv2.getNumThreads() == 3
    finally:
        cv2.setNumThreads(before)
