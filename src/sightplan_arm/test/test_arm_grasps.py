"""What a depth picture tells of a table, and where a gripper can take things from above."""

import math

import numpy as np
import pytest

from box_pictures import picture
from boxes_double import MATRIX, BoxTable, box, turned_pose
from sightplan.model import Form, InputError, Region
from sightplan_arm.config import load_robot
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills.grasps import GraspSettings, propose
from sightplan_arm.skills.seen import NothingThereError, find, find_again, is_gone
from sightplan_arm.skills.surface import see_surface

ROBOT = load_robot('panda_tabletop')
KINEMATICS = Kinematics(ROBOT)
HALF = (0.42, 0.34)
SETTINGS = GraspSettings()


def table(*boxes, **settings):
    """A table with boxes a, b, ..."""
    return BoxTable(ROBOT, KINEMATICS, dict(zip('abcdefgh', boxes, strict=False)), **settings)


def see(made):
    return see_surface(made.observe(), ROBOT.camera.pose, HALF)


def at(made, *point_m):
    """A region at a point of the table's frame."""
    return Region(Form.POINT, (made.unit(point_m),))


def grasps(made, name='a', **kwargs):
    """Proposals for a box that is pointed at on its top."""
    surface = see(made)
    one = made.boxes[name]
    x, y, z = one.centre_m
    thing = find(surface, at(made, x, y, z + one.sides_m[2] / 2))
    return propose(surface, thing.cells, ROBOT.gripper, SETTINGS, **kwargs)


def across(grasp):
    """(2,) the line along which the fingers open."""
    return np.array([-math.sin(grasp.yaw_rad), math.cos(grasp.yaw_rad)])


# --- the surface --------------------------------------------------------------------------------

def test_heights_and_pieces_of_boxes():
    surface = see(table(box('red', -0.1, 0.05, (0.06, 0.04, 0.10)),
                        box('blue', 0.15, -0.1, (0.05, 0.05, 0.02), 30.0)))
    labels = np.unique(surface.labels[surface.labels > 0])
    assert len(labels) == 2
    tops = sorted(float(np.median(surface.top_m[surface.labels == label])) for label in labels)
    assert tops == pytest.approx([0.02, 0.10], abs=0.002)
    low, high = sorted(surface.boxes(), key=lambda one: one.size_m[2])[:: len(surface.boxes()) - 1]
    assert low.size_m[2] == pytest.approx(0.02, abs=0.002)
    assert high.centre_m[2] == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize(('degrees', 'shift'), [(0.3, (0.0, 0.0, 0.004)), (-0.4, (0.0, 0.003, 0))])
def test_height_and_tilt_of_the_camera_are_corrected_by_the_table(degrees, shift):
    made = table(box('red', 0.1, 0.1, (0.06, 0.05, 0.08)), noise_m=0.001,
                 seen_pose=turned_pose(ROBOT.camera.pose, degrees, shift))
    surface = see(made)
    flat = surface.points_m[(surface.cells >= 0) & ~surface.raised]
    assert abs(float(np.nanmedian(flat[:, 2]))) < 0.0005
    thing = find(surface, at(made, 0.1, 0.1, 0.08))
    assert float(np.median(surface.top_m[thing.cells])) == pytest.approx(0.08, abs=0.002)
    assert thing.centre_m == pytest.approx((0.1, 0.1), abs=0.006)


def test_the_table_is_seen_through_a_pixel_whatever_stands_in_front():
    made = table(box('red', 0.0, 0.0, (0.05, 0.05, 0.10)))
    surface = see(made)
    for point in ((0.2, -0.1), (0.0, 0.03)):  # the second one is hidden
        x, y = made.unit((*point, 0.0))
        found = surface.on_table(int(x * 640), int(y * 480))
        assert found == pytest.approx(point, abs=0.003)
    with pytest.raises(InputError, match='beside the picture'):
        surface.on_table(640, 10)


def test_what_does_not_fit_together_is_an_error():
    rgbd = table().observe()
    with pytest.raises(InputError, match='aligned'):
        see_surface(type(rgbd)(rgbd.rgb, rgbd.depth_m[::2], MATRIX, np.zeros(5), 0),
                    ROBOT.camera.pose, HALF)
    low = ROBOT.camera.pose.copy()
    low[2, 3] -= 0.2
    with pytest.raises(InputError, match='camera.pose'):
        see_surface(rgbd, low, HALF)


# --- what is pointed at -------------------------------------------------------------------------

def test_points_boxes_and_pixels_mean_what_is_there():
    made = table(box('red', -0.1, 0.0, (0.06, 0.04, 0.06)), box('blue', 0.1, 0.0, (0.04,) * 3))
    surface = see(made)
    by_point = find(surface, at(made, -0.1, 0.0, 0.06))
    (x, y) = made.unit((-0.1, 0.0, 0.03))
    by_box = find(surface, Region(Form.BOX, ((x - 0.06, y - 0.08), (x + 0.06, y + 0.08))))
    by_mask = find(surface, surface.pixels_of(surface.label_at(int(x * 640), int(y * 480))))
    for thing in (by_point, by_box, by_mask):
        assert thing.centre_m == pytest.approx((-0.1, 0.0), abs=0.004)
        assert thing.rgb[0] > 2 * thing.rgb[2]
    beside = find(surface, at(made, -0.1, -0.035, 0.0))  # just in front of it
    assert (beside.cells == by_point.cells).all()


def test_a_blade_that_is_pointed_at_is_taken_with_its_handle():
    made = table(box('red', -0.05, 0.0, (0.10, 0.025, 0.016)),
                 box('grey', 0.06, 0.0, (0.12, 0.025, 0.003)),
                 box('blue', 0.06, 0.04, (0.12, 0.025, 0.03)))
    surface = see(made)
    (left, top), (right, bottom) = (made.unit((x, y, 0.003)) for x, y in (
        (0.0, 0.008), (0.11, -0.008)))
    blade = np.zeros((480, 640), bool)
    blade[int(top * 480):int(bottom * 480), int(left * 640):int(right * 640)] = True
    thing = find(surface, blade)
    assert thing.centre_m == pytest.approx((-0.05, 0.0), abs=0.01)  # not the blue one
    assert propose(surface, thing.cells, ROBOT.gripper, SETTINGS)
    far = np.zeros_like(blade)
    far[:, int(right * 640) - 40:] = blade[:, int(right * 640) - 40:]
    with pytest.raises(NothingThereError):  # the handle is not where it ends
        find(surface, far)


def test_a_cell_belongs_to_what_is_uppermost_in_it():
    made = table(box('white', 0.0, 0.0, (0.16, 0.16, 0.02)), box('red', 0.0, 0.0, (0.04,) * 3))
    made._put('b', (0.0, 0.0, 0.06))
    surface = see(made)
    rgb = made.observe().rgb.astype(int)
    plate = find(surface, surface.raised & (rgb[:, :, 1] > 150))
    under = np.abs(np.indices(plate.cells.shape) - np.array([[[113]], [[140]]])).max(axis=0) < 4
    assert plate.cells.sum() > 1000 and not plate.cells[under].any()


def test_where_nothing_stands_nothing_is_found():
    made = table(box('red', -0.1, 0.0, (0.06, 0.04, 0.06)))
    surface = see(made)
    nothing = np.zeros((480, 640), bool)
    for where in (at(made, 0.2, 0.1, 0.0), nothing,
                  Region(Form.BOX, ((0.7, 0.4), (0.8, 0.5))), Region(Form.POINT, ((3.0, 0.5),))):
        with pytest.raises(NothingThereError, match='where it was pointed'):
            find(surface, where)
    with pytest.raises(InputError, match='pixels of shape'):
        find(surface, nothing[:-1])


def test_a_thing_is_found_again_where_it_was_or_a_little_beside():
    made = table(box('red', 0.0, 0.0, (0.06, 0.04, 0.06)), box('blue', 0.06, 0.06, (0.04,) * 3))
    thing = find(see(made), at(made, 0.0, 0.0, 0.06))
    assert find_again(see(made), thing).centre_m == pytest.approx(thing.centre_m, abs=0.002)
    made._put('a', (0.05, -0.01, 0.03))
    assert find_again(see(made), thing).centre_m == pytest.approx((0.05, -0.01), abs=0.005)
    made._put('a', (0.3, 0.2, 0.03))  # far away: the blue one must not be taken for it
    with pytest.raises(NothingThereError, match='again'):
        find_again(see(made), thing)


@pytest.mark.parametrize('sides', [(0.06, 0.04, 0.06), (0.10, 0.02, 0.013)])
def test_what_is_lifted_is_gone_though_it_hangs_over_its_place(sides):
    made = table(box('red', 0.0, 0.0, sides))
    thing = find(see(made), at(made, 0.0, 0.0, sides[2]))
    assert not is_gone(see(made), thing)
    made._put('a', (0.0, 0.0, 0.18 + sides[2] / 2))
    assert is_gone(see(made), thing)


def test_what_stood_on_a_tray_is_gone_though_the_tray_was_taken_for_a_part_of_it():
    made = table(box('red', 0.0, 0.0, (0.05, 0.05, 0.15)), box('blue', 0.0, 0.0, (0.2, 0.2, 0.01)))
    before = see(made)
    shown = before.raised & (np.abs(before.points_m[:, :, :2]) < 0.09).all(axis=2)
    thing = find(before, shown)
    assert not is_gone(see(made), thing)
    made._put('a', (0.0, 0.25, 0.075))
    assert is_gone(see(made), thing)


# --- grasps -------------------------------------------------------------------------------------

@pytest.mark.parametrize('yaw_deg', [0.0, 35.0, 90.0])
def test_a_bar_is_taken_across_in_its_middle(yaw_deg):
    made = table(box('red', 0.05, 0.0, (0.20, 0.03, 0.025), yaw_deg))
    best = grasps(made)[0]
    long = np.array([math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))])
    assert abs(across(best) @ long) < math.sin(math.radians(13.0))
    assert best.at_m[:2] == pytest.approx((0.05, 0.0), abs=0.02)
    assert 0.028 < best.width_m < 0.05 and best.width_m < best.opening_m <= 0.08
    ends = best.at_m[2] - ROBOT.gripper.hand.below_tip_m
    assert SETTINGS.table_m <= ends + 1e-9 and best.deep_m > 0.015
    assert best.pose[:3, 2] == pytest.approx((0.0, 0.0, -1.0))


def test_a_bar_that_is_pointed_at_is_taken_there():
    made = table(box('red', 0.0, 0.0, (0.20, 0.03, 0.03)))
    best = grasps(made, near_m=np.array([0.08, 0.0]))[0]
    assert best.at_m[:2] == pytest.approx((0.08, 0.0), abs=0.02)


def test_what_is_too_wide_or_too_flat_cannot_be_taken():
    assert grasps(table(box('red', 0.0, 0.0, (0.10, 0.10, 0.04)))) == []
    assert grasps(table(box('red', 0.0, 0.0, (0.10, 0.03, 0.007)))) == []


def test_the_wall_of_a_vessel_is_taken():
    wall, side = 0.006, 0.14
    made = table(*(box('green', x, y, sides) for x, y, sides in (
        (side / 2, 0.0, (wall, side, 0.06)), (-side / 2, 0.0, (wall, side, 0.06)),
        (0.0, side / 2, (side, wall, 0.06)), (0.0, -side / 2, (side, wall, 0.06)))))
    found = grasps(made)
    assert found
    for grasp in found[:5]:
        assert grasp.width_m < 0.03
        assert np.abs(grasp.at_m[:2]).max() == pytest.approx(side / 2, abs=0.01)


def test_fingers_go_where_neighbours_leave_room():
    cube = box('red', 0.0, 0.0, (0.04, 0.04, 0.05))
    free = table(cube)
    assert {round(abs(across(grasp)[0])) for grasp in grasps(free)} == {0, 1}
    beside = [box('blue', x, 0.0, (0.03, 0.04, 0.05)) for x in (-0.05, 0.05)]
    assert all(abs(across(grasp)[1]) > 0.7 for grasp in grasps(table(cube, *beside)))
    around = [*beside, *(box('blue', 0.0, y, (0.13, 0.03, 0.05)) for y in (-0.05, 0.05))]
    assert grasps(table(cube, *around)) == []


def test_the_hand_needs_room_beside_tall_things():
    flat = box('red', 0.0, 0.0, (0.03, 0.14, 0.02))
    tall = box('blue', 0.085, 0.0, (0.04, 0.20, 0.15))
    assert grasps(table(flat, box('blue', 0.085, 0.0, (0.04, 0.20, 0.03))))
    assert grasps(table(flat, tall)) == []


def test_the_best_comes_first_and_the_same_never_twice():
    found = grasps(table(box('red', 0.0, 0.0, (0.15, 0.04, 0.04))))
    scores = [grasp.score for grasp in found]
    assert scores == sorted(scores, reverse=True) and 3 < len(found) <= 24
    for k, one in enumerate(found):
        for other in found[:k]:
            assert (np.linalg.norm(one.at_m - other.at_m) >= 0.01
                    or abs(math.remainder(one.yaw_rad - other.yaw_rad, math.pi)) >= 0.25)


def test_pixels_of_unknown_depth_do_not_matter():
    made = table(box('red', 0.05, 0.0, (0.20, 0.03, 0.025)))
    rgbd = picture(list(made.boxes.values()), ROBOT.camera.pose, matrix=MATRIX, dropouts=0.05,
                   noise_m=0.001)
    surface = see_surface(rgbd, ROBOT.camera.pose, HALF)
    thing = find(surface, at(made, 0.05, 0.0, 0.025))
    best = propose(surface, thing.cells, ROBOT.gripper, SETTINGS)[0]
    assert best.at_m[:2] == pytest.approx((0.05, 0.0), abs=0.03)
