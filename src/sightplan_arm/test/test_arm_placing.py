"""Where things can be put down: from heights alone, over tables of boxes."""

import math
from dataclasses import replace
from functools import partial

import cv2
import numpy as np
import pytest

from boxes_double import BoxTable, box
from sightplan.model import Form, Region
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import hand_down, rotation_from_vector
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import placing
from sightplan_arm.skills.motions import PathPlanner, first_that_works
from sightplan_arm.skills.placement_values import COSTS, LIMITS
from sightplan_arm.skills.placing import (
    PlacePlanner,
    PlaceSettings,
    carried,
    propose_spots,
    room_at,
)
from sightplan_arm.skills.seen import axis_m, find, footprint
from sightplan_arm.skills.solids import on_table, thing_in_hand
from sightplan_arm.skills.surface import see_surface

ROBOT = load_robot('panda_tabletop')
KINEMATICS = Kinematics(ROBOT)
PATHS = PathPlanner(ROBOT, KINEMATICS, 1.0)
BOTTLE, BAR, TRAY = (0.05, 0.05, 0.2), (0.16, 0.03, 0.03), (0.2, 0.18, 0.01)


class Seen:
    """What the camera sees of boxes a, b, ..., of which a is in the hand."""

    def __init__(self, *boxes):
        self.table = BoxTable(ROBOT, KINEMATICS, dict(zip('abcdefgh', boxes, strict=False)))
        self.surface = see_surface(self.table.observe(), ROBOT.camera.pose, (0.42, 0.34))

    def thing(self, name):
        one = self.table.boxes[name]
        x, y, z = one.centre_m
        top = Region(Form.POINT, (self.table.unit((x, y, z + one.sides_m[2] / 2)),))
        return find(self.surface, top)

    def held(self, name='a', yaw=0.0):
        """As it is in a hand over its middle, the finger ends 1 cm below its top."""
        one = self.table.boxes[name]
        tip = np.array([*one.centre_m[:2], one.sides_m[2] - 0.01
                        + ROBOT.gripper.hand.below_tip_m])
        return carried(self.thing(name), hand_down(tip, yaw), 0.03)

    def spots(self, place, meant=None, **settings):
        cells = None if meant is None else self.thing(meant).cells
        return propose_spots(self.surface, self.held(), np.asarray(place), cells, ROBOT.gripper,
                             PATHS.hand, PlaceSettings(**settings))


def bottle(x=-0.25, y=-0.15):
    return box('red', x, y, BOTTLE)


@pytest.mark.parametrize('begins', [(0, 0), (9, 4), (25, 30)])
def test_a_window_has_the_greatest_heights_of_the_whole(begins):
    rng = np.random.default_rng(0)
    heights = rng.random((30, 40), np.float32)
    kernel = (rng.random((11, 11)) < 0.2).astype(np.uint8)
    window = tuple(slice(begin, begin + 5) for begin in begins)
    assert (placing._highest(heights, kernel, window) == cv2.dilate(heights, kernel)[window]).all()


def test_what_is_tall_never_stands_on_a_step():
    plank = box('blue', 0.15, 0.0, (0.2, 0.03, 0.03))
    assert Seen(bottle(), plank).spots((0.15, 0.0), meant='b') == []
    low = Seen(box('red', -0.25, -0.15, (0.05, 0.05, 0.03)), plank)
    assert low.spots((0.15, 0.0), meant='b')  # what is low may


def test_what_is_tall_does_not_stand_on_other_tall_things():
    posts = [box('green', 0.15 + dx, dy, (0.02, 0.02, 0.2))
             for dx in (-0.025, 0.025) for dy in (-0.025, 0.025)]
    seen = Seen(bottle(), box('blue', 0.15, 0.0, TRAY), *posts)
    spots = seen.spots((0.15, 0.0), meant='b')
    assert spots and all(spot.support_m < 0.02 for spot in spots)


def test_a_free_place_farther_away_is_better_than_on_top_of_something():
    wide = (0.36, 0.2, 0.01)
    seen = Seen(bottle(), box('blue', 0.1, 0.0, wide), box('green', 0.02, 0.0, (0.1, 0.16, 0.1)))
    best = seen.spots((0.02, 0.0), meant='b')[0]
    assert best.rest_m[0] > 0.08 and best.support_m < 0.02


@pytest.mark.parametrize('yaw_deg', [16.25, 38.75])
def test_a_long_thing_is_turned_along_the_sides_of_a_narrow_place(yaw_deg):
    # A room with walls, 9 mm longer than the bar at each end. Turns by
    # 22.5 degrees alone would miss its direction by half of that.
    deep, wide, wall = 0.178, 0.05, 0.012
    yaw = math.radians(yaw_deg)
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    walls = [box('green', *(turn @ middle + (0.15, 0.0)), (*sides, 0.03), yaw_deg)
             for middle, sides in (((0.0, (wide + wall) / 2), (deep, wall)),
                                   ((0.0, -(wide + wall) / 2), (deep, wall)),
                                   (((deep + wall) / 2, 0.0), (wall, wide + 2 * wall)),
                                   ((-(deep + wall) / 2, 0.0), (wall, wide + 2 * wall)))]
    floor = box('blue', 0.15, 0.0, (deep, wide, 0.01), yaw_deg)
    seen = Seen(box('red', -0.2, -0.18, BAR, 50.0), floor, *walls)
    room = room_at(seen.surface, np.array([0.15, 0.0]), seen.thing('b').cells)
    best = propose_spots(seen.surface, seen.held(), np.array([0.15, 0.0]), room, ROBOT.gripper,
                         PATHS.hand, PlaceSettings())[0]
    assert best.support_m < 0.02
    off = math.remainder(math.radians(50.0) + best.turn_rad - yaw, math.pi)
    assert abs(off) < math.radians(8.0)


@pytest.mark.parametrize('way', ['per_rad_askew', 'crosswise'])
def test_a_box_stands_along_the_sides_of_a_tray_long_along_long(monkeypatch, way):
    monkeypatch.setattr(placing, 'COSTS', replace(COSTS, per_m_from_side=0.0))
    yaw_deg = 50.0 if way == 'per_rad_askew' else 110.0  # askew; or along it, but across
    seen = Seen(box('red', -0.2, -0.15, (0.09, 0.06, 0.14), yaw_deg),
                box('blue', 0.15, 0.0, (0.26, 0.18, 0.01), 20.0))
    best = seen.spots((0.15, 0.0), meant='b')[0]
    off = math.remainder(math.radians(yaw_deg - 20.0) + best.turn_rad, math.pi)
    assert abs(off) < math.radians(5.0)


def tray(*things):
    """Things, a tray with rim and handles at (0.1, 0.0), and its room."""
    rim = [box('green', 0.1, y, (0.24, 0.008, 0.024)) for y in (-0.078, 0.078)]
    rim += [box('green', x, 0.0, (0.008, 0.148, 0.024)) for x in (-0.016, 0.216)]
    seen = Seen(*things, box('blue', 0.1, 0.0, (0.224, 0.148, 0.006)), *rim)
    names = 'abcdefgh'[len(things):len(things) + 5]
    piece = np.any([seen.thing(name).cells for name in names], axis=0)
    rows, columns = np.indices(piece.shape)
    x, y = (seen.surface.low_m[k] + placing.CELL_M * (cells + 0.5)
            for k, cells in enumerate((columns, rows)))
    loops = (abs(x - 0.1) > 0.12) & (abs(x - 0.1) < 0.15) & (abs(y) < 0.035)
    bars = loops & ((abs(x - 0.1) > 0.14) | (abs(y) > 0.025))
    seen.surface.top_m[bars] = 0.02
    return seen, room_at(seen.surface, np.array([0.1, 0.0]), piece | loops)


@pytest.mark.parametrize('there', [False, True])
def test_what_stands_on_a_tray_is_turned_by_its_floor_whatever_handles_it_has(there):
    """Its long side along the tray's, and at the sides, so that there is room for three more."""
    others = [box('red', 0.155, 0.035, (0.085, 0.052, 0.14))] if there else []
    seen, room = tray(box('red', -0.25, -0.12, (0.085, 0.052, 0.14), 88.0), *others)
    place = np.array([0.045 if there else 0.155, 0.035])
    best = propose_spots(seen.surface, seen.held(), place, room, ROBOT.gripper, PATHS.hand,
                         PlaceSettings())[0]
    off = math.remainder(math.radians(88.0) + best.turn_rad, math.pi)
    assert abs(off) < math.radians(6.0)
    assert np.linalg.norm(best.rest_m - place) < 0.015
    assert 0.074 - (best.rest_m[1] + 0.026) < 0.020


@pytest.mark.parametrize('wide_m', [0.16, 0.20])
def test_what_is_put_near_a_side_stands_at_it_and_in_the_middle_it_stays(wide_m):
    seen = Seen(box('red', -0.25, -0.15, (0.08, 0.06, 0.14)), box('blue', 0.12, 0.0, (
        0.26, wide_m, 0.01)))
    aside, middle = (seen.spots((0.12, y), meant='b')[0] for y in (wide_m / 4, 0.0))
    assert wide_m / 2 - aside.rest_m[1] - 0.03 < 0.010, 'of 10 or 20 mm'
    assert np.linalg.norm(middle.rest_m - (0.12, 0.0)) < 0.012


@pytest.mark.parametrize(('high', 'fits'), [(0.12, False), (0.03, True)])
def test_what_hangs_low_keeps_away_from_what_is_high_but_not_from_walls(high, fits):
    # Between posts there are 2 x 10 mm more than a bottle is wide, and it swings.
    posts = [box('green', 0.15 + dx, 0.0, (0.03, 0.18, high)) for dx in (-0.050, 0.050)]
    seen = Seen(bottle(), box('blue', 0.15, 0.0, TRAY), *posts)
    assert bool(seen.spots((0.15, 0.0), meant='b', around_m=0.02)) is fits


def test_fingers_keep_a_little_more_from_what_is_high_beside_a_place():
    # Higher than the fingers' ends, lower than the hand's body.
    wall, low = box('green', 0.19, 0.0, (0.02, 0.2, 0.12)), box('red', -0.2, -0.15, (.03, .03, .1))
    seen, hand = Seen(low, box('blue', 0.1, 0.0, (0.16, 0.18, 0.01)), wall), ROBOT.gripper.hand
    rooms = []
    for x in (0.12, 0.14, 0.16):
        for spot in seen.spots((x, 0.0), meant='b', around_m=0.03):
            opens = rotation_from_vector((0.0, 0.0, spot.turn_rad)) @ seen.held().pose[:3, 1]
            reach = (abs(opens[0]) * (spot.opening_m / 2 + hand.finger_thickness_m)
                     + abs(opens[1]) * hand.finger_half_width_m)
            rooms.append(0.18 - spot.tip_m[0] - reach)
    assert 0.0065 < min(rooms) < 0.012, 'without the 4 mm it would be 5.2'


def shelf(*things):
    """Things, and a floor (b) between a high wall behind it and a low one before it."""
    return Seen(*things, box('blue', 0.1, 0.0, (0.24, 0.13, 0.01)),
                box('green', 0.1, 0.085, (0.3, 0.04, 0.15)),
                box('green', 0.1, -0.072, (0.24, 0.014, 0.06)))


def body_room_m(seen, spot, held):
    """Room between the lower side of the hand's body and what is under it, by its corners."""
    turned = rotation_from_vector((0.0, 0.0, spot.turn_rad)) @ held.pose[:3, :3]
    lean = spot.lean_rad * np.cross((*turned[:2, 1], 0.0), (0.0, 0.0, 1.0))
    turned = rotation_from_vector(lean) @ turned
    points = [spot.tip_m + turned @ (middle + half * (x, y, 1.0)) for middle, half in PATHS.hand
              for x in np.linspace(-1.0, 1.0, 9) for y in np.linspace(-1.0, 1.0, 41)]
    boxes = [one for name, one in seen.table.boxes.items() if name != 'a']
    return min(float(point[2]) - max([one.centre_m[2] + one.sides_m[2] / 2 for one in boxes if (
        np.abs(point[:2] - one.centre_m[:2]) < np.array(one.sides_m[:2]) / 2).all()], default=0.0)
        for point in points)


def test_over_walls_the_hand_leans_so_that_what_is_round_falls_less(monkeypatch):
    seen = shelf(box('red', -0.25, -0.15, BAR))
    spots = seen.spots((0.1, 0.0), meant='b')
    assert spots[0].lean_rad != 0.0
    assert all(body_room_m(seen, spot, seen.held()) > 0.0 for spot in spots)
    monkeypatch.setattr(placing, 'LIMITS', replace(LIMITS, leans_rad=()))
    assert spots[0].fall_m < 0.75 * seen.spots((0.1, 0.0), meant='b')[0].fall_m


@pytest.mark.parametrize('flat', [(0.16, 0.09, 0.03), (0.05, 0.05, 0.2)])
def test_what_would_not_come_to_lie_as_it_is_held_does_not_lean(flat):
    spots = shelf(box('red', -0.25, -0.15, flat)).spots((0.1, 0.0), meant='b')
    assert not any(spot.lean_rad for spot in spots)


def test_the_hand_leans_as_it_was_looked_for():
    seen = shelf(box('red', -0.25, -0.15, BAR))
    held = seen.held()
    planner = PlacePlanner(ROBOT, PATHS, lambda *_: None, carry_speed=0.5, room_m=0.01,
                           settings=PlaceSettings())
    leaning = [spot for spot in seen.spots((0.1, 0.0), meant='b') if spot.lean_rad]
    pose = PATHS.pose(first_that_works([partial(planner.place, seen.surface, held, spot)
                                        for spot in leaning], 'none').way[0])
    spot = min(leaning, key=lambda one: np.linalg.norm(one.tip_m - pose[:3, 3]))
    assert pose[:3, 3] == pytest.approx(spot.tip_m, abs=0.001)
    assert math.asin(pose[2, 1]) == pytest.approx(spot.lean_rad, abs=0.01)


def test_the_fingers_open_wide_where_there_is_room_and_little_where_there_is_none():
    tray = box('blue', 0.1, 0.0, (0.3, 0.2, 0.01))
    free = Seen(bottle(), tray).spots((0.1, 0.0), meant='b')[0]
    assert free.opening_m == pytest.approx(0.03 + LIMITS.release_m)
    # Between these the bottle has 20 mm to three sides, and they are higher.
    walls = [box('green', 0.1 + dx, dy, (0.02, 0.1, 0.23) if dx else (0.1, 0.02, 0.23))
             for dx, dy in ((-0.055, 0.0), (0.055, 0.0), (0.0, 0.055))]
    tight = Seen(bottle(), tray, *walls).spots((0.1, 0.0), meant='b')
    near = [one for one in tight if np.linalg.norm(one.rest_m - (0.1, 0.0)) < 0.01]
    assert near and all(one.opening_m < free.opening_m - 0.01 for one in near)


def test_what_is_tall_never_stands_above_the_floor_of_its_place():
    tray, step = box('blue', 0.1, 0.0, (0.3, 0.2, 0.01)), box('green', 0.1, 0.0, (0.1, 0.1, 0.03))
    spots = Seen(bottle(), tray, step).spots((0.1, 0.0), meant='b')
    assert spots and all(spot.support_m < 0.02 for spot in spots)


def test_a_box_means_what_fits_it_and_not_a_part_of_something_larger_before_it():
    seen = Seen(box('red', 0.1, 0.05, (0.12, 0.02, 0.02)), box('blue', 0.13, -0.02, BOTTLE))
    low, high = (seen.table.unit(corner) for corner in ((0.03, 0.06, 0.02), (0.16, 0.035, 0.0)))
    found = find(seen.surface, Region(Form.BOX, (low, high)))
    pixels = seen.surface.pixels_of(int(seen.surface.labels[seen.thing('b').cells].max()))
    height, width = seen.surface.shape
    (x1, y1), (x2, y2) = Region(Form.BOX, (low, high)).pixels(width, height)
    assert pixels[y1:y2 + 1, x1:x2 + 1].sum() > 0.25 * (y2 - y1) * (x2 - x1), 'it hides a part'
    assert found.rgb[0] > 2 * found.rgb[2], 'the red one'


def test_of_what_is_tall_both_sides_are_known_though_one_is_seen():
    seen = Seen(bottle(0.1, 0.05), box('blue', -0.2, 0.0, BAR))
    thing = seen.thing('a')
    assert axis_m(seen.surface, thing.cells) == pytest.approx((0.1, 0.05), abs=0.004)
    places, heights = footprint(thing)
    assert places.mean(axis=0) == pytest.approx((0.1, 0.05), abs=0.004)
    assert len(places) == len(heights)
    lying = seen.thing('b')
    assert axis_m(seen.surface, lying.cells) is None
    assert len(footprint(lying)[0]) == lying.cells.sum()


def test_what_stands_is_upright_between_fingers_that_come_from_aside():
    seen = Seen(bottle(0.1, 0.05))
    straight = hand_down((0.1, 0.05, 0.2), 0.3)
    leaning = straight.copy()
    leaning[:3, :3] = rotation_from_vector((0.25, 0.1, 0.0)) @ straight[:3, :3]
    upright, found = (on_table(thing_in_hand(seen.thing('a'), tip), tip)
                      for tip in (straight, leaning))
    assert found.pose[2, 2] == pytest.approx(1.0)
    assert found.size_m[2] == pytest.approx(0.2, abs=0.005)
    assert found.pose[:3, 3] == pytest.approx(upright.pose[:3, 3], abs=0.005)
