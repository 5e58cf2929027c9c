"""Grasp, place, open and close at places in the picture, over a table without physics."""

import numpy as np
import pytest

from box_pictures import Box
from boxes_double import box
from drawer_double import DrawerTable, unit
from sightplan.model import STILL_HELD, Action, FeedbackStatus, Form, InputError, Region
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import inverse
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import load_skills
from sightplan_arm.skills.drawers import grip_pose, obstacles, see_drawer
from sightplan_arm.skills.surface import see_surface
from sightplan_arm.skills.tabletop import make_skills
from skill_doubles import OpenGate

ROBOT = load_robot('panda_tabletop')
KINEMATICS = Kinematics(ROBOT)
BAR = (0.10, 0.03, 0.03)
TRAY = (0.24, 0.18, 0.012)


class Bench:
    """Skills over a table with a drawer unit, and boxes a, b, ..."""

    def __init__(self, *boxes, opened_m=0.0, handle=True, dry_run=False, slippery=None,
                 stuck_m=0.0, **settings):
        made = {**unit(opened_m=opened_m, handle=handle),
                **dict(zip('abcdefgh', boxes, strict=False))}
        self.table = DrawerTable(ROBOT, KINEMATICS, made, slippery=dict(slippery or {}),
                                 stuck_m=stuck_m, opened_from=opened_m)
        self.gate = OpenGate(self.table, dry_run)
        self.skills = make_skills(ROBOT, self.table, self.table, self.gate, KINEMATICS, **settings)
        self.skills.reset()
        self.table.sent.clear()

    def around(self, *names):
        """A box in the picture around boxes on the table."""
        points = []
        for name in names:
            one = self.table.boxes[name]
            signs = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
            points += [self.table.unit(one.centre_m + one.axes() @ (sign * one.sides_m))
                       for sign in signs]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        return Region(Form.BOX, (tuple(low), tuple(high)))

    def at(self, x, y, z=0.0):
        """A point in the picture."""
        return Region(Form.POINT, (self.table.unit((x, y, z)),))

    def bottom(self, name='a'):
        one = self.table.boxes[name]
        return one.centre_m[2] - one.sides_m[2] / 2

    def opening(self):
        return self.table.opened_m()


def test_the_gate_is_told_of_the_thing_that_is_taken_and_of_what_is_high():
    bench = bar_bench(verify=False)
    assert bench.skills.grasp_at(bench.around('a'), 'the bar').report.cause == 'done'
    taken, = bench.gate.taken
    bar = np.array(BAR)
    assert np.allclose(np.sort(taken.size_m)[1:], np.sort(bar)[1:], atol=0.015)
    lift = bench.gate.arounds['up with the thing']
    assert lift.held is not None and lift.touches == ()
    assert lift.obstacles and not any(one.fingers for one in lift.obstacles)
    assert bench.gate.arounds['down to the thing'].held is None
    assert bench.skills.place_at(bench.at(0.1, -0.15), 'table').report.cause == 'done'
    down = bench.gate.arounds['down with the thing']
    assert down.held is not None
    assert ('held', 'table') in {(touch.one, touch.other) for touch in down.touches}


def bar_bench(*others, **kwargs):
    return Bench(box('red', 0.25, -0.15, BAR, 20.0), box('blue', -0.25, -0.15, TRAY), *others,
                 **kwargs)


# --- grasp and place ----------------------------------------------------------------------------

@pytest.mark.parametrize(('x', 'y', 'z'), [
    (-0.25, -0.15, 0.012), pytest.param(0.0, -0.2, 0.0, marks=pytest.mark.slow)])
def test_what_was_grasped_is_put_down_on_the_tray_or_the_table(x, y, z):
    bench = bar_bench()
    report = bench.skills.grasp_at(bench.around('a'), 'bar').report
    assert report.cause == 'done', report.message
    assert bench.table.held[0] == 'a' and bench.bottom() > 0.1
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)
    report = bench.skills.place_at(bench.at(x, y, z), 'tray').report
    assert report.cause == 'done', report.message
    assert bench.table.held is None and bench.skills.carried is None
    assert bench.table.boxes['a'].centre_m[:2] == pytest.approx((x, y), abs=0.05)
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)


def test_nothing_is_placed_with_an_empty_hand_and_nothing_moves():
    bench = bar_bench()
    report = bench.skills.place_at(bench.at(0.0, -0.2), 'table').report
    assert report.cause == 'empty_hand' and bench.table.sent == []


def test_nothing_is_grasped_where_nothing_stands():
    bench = bar_bench()
    nowhere = Region(Form.BOX, (bench.at(-0.03, -0.22).centre, bench.at(0.03, -0.28).centre))
    report = bench.skills.grasp_at(nowhere, 'ghost').report
    assert report.cause == 'not_found' and bench.table.sent == []


def test_what_slips_on_the_way_up_was_dropped():
    bench = bar_bench(slippery={('a', 'lifting'): 9}, tries=1)
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'dropped'
    assert bench.skills.held is None and bench.skills.carried is None


@pytest.mark.slow
def test_what_has_no_room_stays_in_the_hand_and_can_be_put_back():
    bench = bar_bench()
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    sent = len(bench.table.sent)
    done = bench.skills.place_at(bench.at(0.33, -0.32), 'corner')
    assert done.report.cause == 'unreachable' and done.feedback.message.endswith(STILL_HELD)
    assert len(bench.table.sent) == sent and bench.table.held[0] == 'a'
    assert bench.skills.put_back().report.cause == 'done'
    assert bench.table.boxes['a'].centre_m[:2] == pytest.approx((0.25, -0.15), abs=0.01)


def test_a_hand_that_comes_upon_something_on_its_way_down_lets_go_there_and_leaves(monkeypatch):
    """What the camera does not see: the hand cannot go lower than 8 mm above where it wants to."""
    bench = bar_bench()
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    command, stops = bench.table.command, bench.skills.carried.pose[2, 3] + 0.012 + 0.008

    def blocked(trajectory):
        command(trajectory)
        ends = [KINEMATICS.fk(posture) for posture in trajectory.positions]
        here = next((k for k, pose in enumerate(ends)
                     if (inverse(ROBOT.table.pose) @ pose)[2, 3] < stops), None)
        if bench.table.held is not None and here is not None:
            bench.table.posture = trajectory.positions[max(0, here - 1)]

    monkeypatch.setattr(bench.table, 'command', blocked)
    report = bench.skills.place_at(bench.at(-0.25, -0.15, 0.012), 'tray').report
    assert report.cause == 'done', report.message
    lowered = [what for what in bench.gate.motions if what == 'down with the thing']
    assert 1 < len(lowered) < 6, 'it goes on as long as nothing is in the way, and no longer'
    assert bench.table.held is None and bench.skills.carried is None
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)


def test_a_hand_that_something_holds_up_at_the_place_lets_go_there_and_leaves():
    bench = bar_bench()
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    bench.gate.in_the_way['down with the thing'] = 1
    report = bench.skills.place_at(bench.at(-0.25, -0.15, 0.012), 'tray').report
    assert report.cause == 'done', report.message
    assert bench.gate.motions.count('down with the thing') == 1
    assert bench.table.held is None and bench.skills.carried is None
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)


@pytest.mark.parametrize(('where', 'often', 'cause'), [
    ('down to above its place', 9, 'no_room'), ('down beside what is high', 1, 'done')])
def test_a_thing_that_comes_upon_a_tall_one_on_its_way_down_is_put_elsewhere_or_kept(
        where, often, cause):
    """What is beside the place was seen, but not as near as it is."""
    bench = bar_bench(box('blue', -0.25, -0.07, (0.04, 0.04, 0.12)))
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    bench.gate.in_the_way[where] = often
    done = bench.skills.place_at(bench.at(-0.25, -0.15, 0.012), 'tray')
    assert done.report.cause == cause, done.report.message
    assert bench.gate.motions.count(where) == 2
    if cause == 'done':
        assert bench.table.held is None and bench.bottom() == pytest.approx(0.0, abs=0.02)
    else:
        assert done.feedback.message.endswith(STILL_HELD)
        assert bench.table.held[0] == 'a' and bench.skills.carried is not None
        assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)
        bench.gate.in_the_way.clear()
        assert bench.skills.put_back().report.cause == 'done'


def test_a_thing_that_is_lost_on_the_way_back_is_not_said_to_be_held(monkeypatch):
    bench = bar_bench(box('blue', -0.25, -0.07, (0.04, 0.04, 0.12)))
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    bench.gate.in_the_way['down beside what is high'] = 1
    follow = bench.gate.follow

    def slips(trajectory, what, around, **options):
        done = follow(trajectory, what, around, **options)
        if what.startswith('back (down beside'):
            bench.table._let_go()
            bench.table.opening = 0.0
        return done

    monkeypatch.setattr(bench.gate, 'follow', slips)
    done = bench.skills.place_at(bench.at(-0.25, -0.15, 0.012), 'tray')
    assert done.report.cause == 'dropped' and STILL_HELD not in done.feedback.message
    assert bench.skills.held is None and bench.skills.carried is None
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)


def test_what_hangs_low_is_carried_the_slower():
    fastest = {}
    for high_m in (0.05, 0.18):
        bench = Bench(box('red', 0.25, -0.15, (0.04, 0.04, high_m)), verify=False)
        assert bench.skills.grasp_at(bench.around('a'), 'it').report.cause == 'done'
        home = bench.table.sent[-1]
        fastest[high_m] = float(np.abs(home.velocities / ROBOT.arm.max_velocity).max())
    assert fastest[0.18] < 0.8 * fastest[0.05]


def test_what_is_thin_is_held_with_less_force(monkeypatch):
    forces = {}
    for name, sides in (('thin', (0.12, 0.015, 0.05)), ('thick', (0.12, 0.045, 0.05))):
        bench = Bench(box('red', 0.2, -0.15, sides), verify=False)
        grip = bench.gate.grip

        def noted(opening_m, force_n, what, takes=None, name=name, grip=grip):
            if what == 'grasp':
                forces[name] = force_n
            return grip(opening_m, force_n, what, takes)

        monkeypatch.setattr(bench.gate, 'grip', noted)
        assert bench.skills.grasp_at(bench.around('a'), 'it').report.cause == 'done'
    assert forces['thick'] == ROBOT.gripper.force_n
    assert forces['thin'] == pytest.approx(0.4 * ROBOT.gripper.force_n)


# --- open and close -----------------------------------------------------------------------------

def test_a_drawer_is_pulled_out_along_the_normal_of_its_front():
    bench = bar_bench()
    report = bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report
    assert report.cause == 'done', report.message
    assert bench.opening() > 0.10
    assert bench.table.held is None
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)
    again = bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report
    assert again.cause == 'already_there'


def test_a_drawer_is_pulled_as_far_as_there_is_room_before_it():
    bench = bar_bench()
    bench.table.boxes['post'] = box('green', 0.12, -0.15, (0.03, 0.03, 0.2))
    report = bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report
    assert report.cause == 'done', report.message
    assert 0.07 < bench.opening() < 0.11
    again = bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report
    assert again.cause == 'already_there'


def test_a_drawer_is_pushed_shut():
    bench = bar_bench(opened_m=0.11)
    report = bench.skills.close_at(bench.around('front', 'bar'), 'drawer').report
    assert report.cause == 'done', report.message
    assert bench.opening() < 0.005
    again = bench.skills.close_at(bench.around('front', 'bar'), 'drawer').report
    assert again.cause == 'already_there'


def test_a_drawer_without_a_handle_in_reach_is_pushed_shut_at_its_front():
    bench = bar_bench(opened_m=0.11, handle=False)
    report = bench.skills.close_at(bench.around('front'), 'drawer').report
    assert report.cause == 'done', report.message
    assert bench.opening() < 0.005
    assert np.allclose(bench.table.posture, ROBOT.arm.park, atol=1e-6)


def test_what_looks_out_of_a_drawer_moves_with_it():
    """Where it was the hand may go when the drawer is shut, since it is not there any more."""
    bench = bar_bench(opened_m=0.11)
    bench.table.boxes['content'] = box('green', 0.03, 0.0, (0.06, 0.03, 0.2))
    drawer, _, riding = seen_drawer(bench, 'front', 'bar')
    assert drawer.is_upper and len(riding) == 1
    assert riding[0].centre_m[:2] == pytest.approx((0.03, -0.01), abs=0.012)
    report = bench.skills.close_at(bench.around('front', 'bar'), 'drawer').report
    assert report.cause == 'done', report.message
    assert bench.opening() < 0.005


def test_a_drawer_that_does_not_close_is_stuck():
    bench = bar_bench(opened_m=0.11, stuck_m=0.06)
    assert bench.skills.close_at(bench.around('front', 'bar'), 'drawer').report.cause == 'stuck'


def test_a_front_without_a_handle_is_left_alone():
    bench = bar_bench(handle=False)
    report = bench.skills.open_at(bench.around('front'), 'drawer').report
    assert report.cause == 'no_handle' and bench.table.sent == []


def test_what_is_no_front_is_not_opened():
    bench = bar_bench()
    report = bench.skills.open_at(bench.around('b'), 'tray').report
    assert report.cause in ('not_found', 'no_handle') and bench.table.sent == []


def test_a_handle_that_slips_out_of_the_fingers_was_missed():
    bench = bar_bench(slippery={('bar', 'closing'): 9})
    assert bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report.cause == (
        'missed_grasp')
    assert bench.opening() == 0.0


def test_with_something_in_the_hand_no_drawer_is_opened():
    bench = bar_bench()
    assert bench.skills.grasp_at(bench.around('a'), 'bar').report.cause == 'done'
    assert bench.skills.open_at(bench.around('front', 'bar'), 'drawer').report.cause == 'occupied'


def test_in_a_dry_run_nothing_is_sent():
    bench = bar_bench(dry_run=True)
    assert bench.skills.open_at(bench.around('front', 'bar')).report.cause == 'dry_run'
    assert bench.skills.grasp_at(bench.around('a')).report.cause == 'dry_run'
    assert bench.table.sent == []


# --- what is seen of a drawer -------------------------------------------------------------------

@pytest.mark.parametrize('opened_m', [0.0, 0.05, 0.12])
def test_front_handle_and_opening_are_measured(opened_m):
    bench = bar_bench(opened_m=opened_m)
    drawer, *_ = seen_drawer(bench, 'front', 'bar')
    assert drawer.out == pytest.approx((0.0, -1.0), abs=0.02)
    assert drawer.at_m[1] == pytest.approx(0.14 - 0.09 - 0.012 - opened_m, abs=0.003)
    assert drawer.handle_m[0] == pytest.approx(0.06, abs=0.004)
    assert drawer.handle_m[2] == pytest.approx(0.12, abs=0.008)
    assert drawer.opened_m == pytest.approx(opened_m, abs=0.006)
    assert drawer.depth_m == pytest.approx(0.18, abs=0.03)
    pose = grip_pose(drawer, 0.4)
    assert pose[:2, 2] @ drawer.out < -0.3 and pose[2, 2] < -0.8  # down, and towards the front
    assert abs(pose[:2, 1] @ drawer.along) == pytest.approx(1.0, abs=1e-6)


def seen_drawer(bench, *names):
    """The drawer whose boxes those are; what stands around it, and what it takes along."""
    surface = see_surface(bench.table.observe(), ROBOT.camera.pose, (0.42, 0.34))
    (x1, y1), (x2, y2) = bench.around(*names).pixels(*surface.shape[::-1])
    pixels = np.zeros(surface.shape, bool)
    pixels[y1:y2 + 1, x1:x2 + 1] = True
    drawer = see_drawer(surface, pixels)
    return drawer, *obstacles(drawer)


def test_the_handle_above_a_lower_drawer_stays_where_it_is_when_that_moves():
    bench = bar_bench()
    face = bench.table.boxes['front'].centre_m[1]
    bench.table.boxes['lower front'] = Box(
        'white', (0.0, face - 0.12, 0.042), sides_m=(0.22, 0.012, 0.07))
    bench.table.boxes['content'] = box('green', -0.03, face - 0.09, (0.03, 0.03, 0.1))
    drawer, fixed, riding = seen_drawer(bench, 'lower front')
    assert not drawer.is_upper and drawer.opened_m == pytest.approx(0.12, abs=0.008)
    assert [one.centre_m[0] for one in riding] == pytest.approx([-0.03], abs=0.01)
    assert any(np.allclose(one.centre_m, (0.06, face - 0.03, 0.12), atol=0.02) for one in fixed)


def test_of_two_handles_that_at_the_height_of_the_box_is_the_drawers():
    bench = bar_bench()
    face = bench.table.boxes['lower front'].centre_m[1] - 0.006
    bench.table.boxes['lower bar'] = Box('orange', (-0.06, face - 0.024, 0.042),
                                         sides_m=(0.012, 0.036, 0.036))
    surface = see_surface(bench.table.observe(), ROBOT.camera.pose, (0.42, 0.34))
    height, width = surface.shape
    (x1, y1), (x2, y2) = bench.around('lower front').pixels(width, height)
    pixels = np.zeros(surface.shape, bool)
    pixels[y1 - 6:y2 - 5, x1 + 24:x2 + 24] = True  # a little off, towards the upper bar
    drawer = see_drawer(surface, pixels)
    assert drawer.handle_m == pytest.approx((-0.06, face - 0.04, 0.045), abs=0.015)


# --- the protocol -------------------------------------------------------------------------------

def test_actions_come_with_places_and_others_are_rejected():
    bench = bar_bench()
    result = bench.skills.execute_at(Action('grasp', ('bar',)), bench.around('a'))
    assert result.feedback.status is FeedbackStatus.EXECUTED and result.report.cause == 'done'
    for action, where in ((Action('pour', ('bar',)), bench.at(0, 0)), (Action('grasp'), None)):
        result = bench.skills.execute_at(action, where)
        assert result.feedback.status is FeedbackStatus.REJECTED
        assert result.report.cause == 'unknown'
    assert bench.skills.execute(Action('open', ('drawer',))).report.cause == 'unknown'
    assert bench.skills.put_back().report.cause == 'done'
    with pytest.raises(InputError, match='give a box'):
        bench.skills.open_at(bench.at(0.0, 0.0))


def test_the_skills_are_installed_and_their_settings_checked():
    table = DrawerTable(ROBOT, KINEMATICS, unit())
    made = load_skills('tabletop', ROBOT, table, table, OpenGate(table), KINEMATICS, press_m=0.01)
    assert made.tabletop.press_m == 0.01
    with pytest.raises(InputError, match='pull_m'):
        make_skills(ROBOT, table, table, OpenGate(table), KINEMATICS, pull_m=0.01)
