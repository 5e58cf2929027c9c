"""Taking what is pointed at, over a table without physics: what is done, and what is refused."""

import dataclasses

import numpy as np
import pytest

from boxes_double import BoxTable, box
from sightplan.model import FeedbackStatus, Form, InputError, Region, WorldError
from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import pointing
from sightplan_arm.skills.pointing import make_skills
from skill_doubles import OpenGate

ROBOT = load_robot('panda_tabletop')
KINEMATICS = Kinematics(ROBOT)
BAR = (0.14, 0.03, 0.03)


class Bench:
    """Skills over a table of boxes a, b, ..."""

    def __init__(self, *boxes, dry_run=False, slippery=None, pushes_m=0.0, **settings):
        self.table = BoxTable(ROBOT, KINEMATICS, dict(zip('abcdefgh', boxes, strict=False)),
                              slippery=dict(slippery or {}), pushes_m=pushes_m)
        self.gate = OpenGate(self.table, dry_run)
        self.skills = make_skills(ROBOT, self.table, self.table, self.gate, KINEMATICS, **settings)
        self.skills.reset()
        self.table.sent.clear()

    def on(self, name):
        """A region on top of a box."""
        one = self.table.boxes[name]
        x, y, z = one.centre_m
        return Region(Form.POINT, (self.table.unit((x, y, z + one.sides_m[2] / 2)),))

    def trace(self, *points):
        """A trace through points of the table."""
        return Region(Form.TRACE, tuple(self.table.unit((*point, 0.0)) for point in points))

    def grasp(self, name='a', **kwargs):
        result = self.skills.grasp_at(self.on(name), 'the Red Bar!', **kwargs)
        assert result.feedback.status is (
            FeedbackStatus.WITHHELD if result.report.cause == 'dry_run'
            else FeedbackStatus.EXECUTED)
        assert self.skills.reports[-1] is result.report
        assert str(result.report.action) == 'grasp(the_red_bar)'
        return result.report

    def bottom(self, name='a'):
        one = self.table.boxes[name]
        return one.centre_m[2] - one.sides_m[2] / 2


# --- grasp --------------------------------------------------------------------------------------

@pytest.mark.parametrize('place', [(0.0, 0.0), (-0.3, 0.2), (0.33, -0.24)])
def test_what_is_pointed_at_is_lifted_and_nothing_else_moves(place):
    bench = Bench(box('red', *place, BAR, 20.0), box('blue', 0.1, 0.12, (0.05, 0.05, 0.12)))
    before = bench.table.boxes['b']
    report = bench.grasp()
    assert (report.cause, report.message) == ('done', '')
    assert report.phases == ('park', 'perceive', 'plan', 'release', 'approach', 'grasp', 'lift',
                             'verify')
    assert bench.table.held[0] == 'a' and bench.bottom() > 0.1
    assert bench.table.boxes['b'] is before
    assert bench.skills.held.thing is not None
    assert bench.gate.skills == ['grasp(the_red_bar)']


def test_pixels_and_boxes_do_as_well_as_points():
    for what in ('mask', 'box'):
        bench = Bench(box('red', 0.0, 0.0, BAR))
        x, y = bench.on('a').centre
        if what == 'box':
            where = Region(Form.BOX, ((x - 0.15, y - 0.1), (x + 0.15, y + 0.1)))
        else:
            rgb = bench.table.observe().rgb.astype(int)
            where = rgb[:, :, 0] > 2 * rgb[:, :, 2]
        assert bench.skills.grasp_at(where).report.cause == 'done'
        assert str(bench.skills.reports[-1].action) == 'grasp(it)'


def test_a_part_is_taken_where_it_is_pointed_at():
    bench = Bench(box('red', 0.0, 0.0, (0.22, 0.03, 0.03)))
    point = Region(Form.POINT, (bench.table.unit((0.08, 0.0, 0.03)),))
    assert bench.skills.grasp_at(point, 'the end', part=True).report.cause == 'done'
    assert bench.skills.held.moves.grasp.at_m[0] == pytest.approx(0.08, abs=0.02)


def test_every_motion_passes_the_real_gate():
    table = BoxTable(ROBOT, KINEMATICS, {'a': box('red', 0.1, -0.1, BAR)})
    gate = Gate(table, ROBOT, KINEMATICS)
    skills = make_skills(ROBOT, table, table, gate, KINEMATICS)
    skills.reset()
    passed = []
    gate.on_plan(lambda motion: passed.append(motion.text if hasattr(motion, 'text') else motion))
    where = Region(Form.POINT, (table.unit((0.1, -0.1, 0.03)),))
    assert skills.grasp_at(where).report.cause == 'done'
    assert skills.put_back().report.cause == 'done'
    assert table.boxes['a'].centre_m == pytest.approx((0.1, -0.1, 0.015), abs=0.01)
    gate.close()


def test_what_is_held_is_put_back_and_then_something_else_is_taken():
    bench = Bench(box('red', -0.1, 0.0, BAR), box('blue', 0.15, 0.05, (0.04, 0.04, 0.06)))
    assert bench.grasp('a').cause == 'done'
    assert bench.grasp('b').cause == 'occupied'
    assert 'put it back' in bench.skills.reports[-1].message
    assert bench.skills.put_back().report.cause == 'done'
    assert bench.table.held is None and bench.skills.held is None
    assert bench.table.boxes['a'].centre_m[:2] == pytest.approx((-0.1, 0.0), abs=0.005)
    assert np.abs(bench.table.posture - ROBOT.arm.park).max() < 1e-6
    assert bench.skills.put_back().report.cause == 'unknown'
    assert bench.grasp('b').cause == 'done' and bench.table.held[0] == 'b'


def test_a_hand_that_holds_something_unknown_takes_nothing():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    bench.table.opening = 0.04
    assert bench.grasp().cause == 'occupied'
    assert bench.table.sent == []


@pytest.mark.parametrize(('when', 'cause'), [('closing', 'missed_grasp'), ('lifting', 'dropped')])
def test_a_grasp_that_failed_is_tried_again_after_a_new_look(when, cause):
    bench = Bench(box('red', 0.0, 0.0, BAR), slippery={('a', when): 1}, pushes_m=0.03)
    assert bench.grasp().cause == 'done'
    assert bench.table.held[0] == 'a' and bench.bottom() > 0.1
    bench = Bench(box('red', 0.0, 0.0, BAR), slippery={('a', when): 5})
    assert bench.grasp().cause == cause
    assert bench.table.held is None and bench.skills.held is None
    assert np.abs(bench.table.posture - ROBOT.arm.park).max() < 1e-6
    assert bench.table.opening == ROBOT.gripper.open_m
    once = Bench(box('red', 0.0, 0.0, BAR), slippery={('a', when): 1}, tries=1)
    assert once.grasp().cause == cause


def test_fingers_that_missed_a_thing_open_no_farther_beside_it_than_they_were(monkeypatch):
    bench = Bench(box('red', 0.0, 0.0, BAR), slippery={('a', 'closing'): 1}, tries=1)
    grip, low = bench.gate.grip, []

    def noted(opening_m, *rest):
        if bench.table.tip()[2, 3] < 0.1:
            low.append(opening_m)
        return grip(opening_m, *rest)

    monkeypatch.setattr(bench.gate, 'grip', noted)
    assert bench.grasp().cause == 'missed_grasp'
    assert len(low) == 2 and max(low) < ROBOT.gripper.open_m - 0.01
    assert bench.table.opening == ROBOT.gripper.open_m, 'in the end'


def test_fingers_that_come_upon_something_go_back_up_and_take_it_another_way():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    bench.gate.in_the_way['down around the thing'] = 1
    assert bench.grasp().cause == 'done'
    assert bench.table.held[0] == 'a'
    bench = Bench(box('red', 0.0, 0.0, BAR))
    before = bench.table.boxes['a']
    bench.gate.in_the_way['down around the thing'] = 9
    report = bench.grasp()
    assert report.cause == 'missed_grasp' and 'came upon something' in report.message
    assert bench.gate.motions.count('down around the thing') == 2
    assert bench.table.boxes['a'] == before and bench.skills.held is None
    assert np.abs(bench.table.posture - ROBOT.arm.park).max() < 1e-6
    assert bench.table.opening == ROBOT.gripper.open_m
    followed = bench.skills.follow(bench.trace((0.0, 0.0), (0.1, 0.0))).report
    assert followed.cause == 'missed_grasp'
    assert bench.table.boxes['a'] == before


def test_the_camera_tells_of_a_thing_that_stays_behind():
    bench = Bench(box('red', 0.0, 0.0, BAR), tries=1)
    bench.table._carry = lambda: None  # it never moves with the hand
    assert bench.grasp().cause == 'dropped'
    blind = Bench(box('red', 0.0, 0.0, BAR), tries=1, verify=False)
    blind.table._carry = lambda: None
    assert blind.grasp().cause == 'done'


def test_what_became_of_a_lost_thing_is_said():
    bench = Bench(box('red', 0.0, 0.0, BAR), slippery={('a', 'closing'): 1}, pushes_m=0.35)
    report = bench.grasp()
    assert report.cause == 'missed_grasp' and 'and then: it is not found again' in report.message


def test_where_nothing_is_nothing_moves():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    nowhere = Region(Form.POINT, (bench.table.unit((0.2, 0.1, 0.0)),))
    assert bench.skills.grasp_at(nowhere).report.cause == 'not_found'
    assert bench.table.sent == []
    with pytest.raises(InputError, match='pixels of shape'):
        bench.skills.grasp_at(np.zeros((48, 64), bool))
    assert bench.skills.reports[-1].cause == 'failed'


def test_what_cannot_be_taken_is_said_and_nothing_moves(monkeypatch):
    wide = Bench(box('red', 0.0, 0.0, (0.12, 0.12, 0.05)))
    assert wide.grasp().cause == 'no_grasp'
    assert wide.table.sent == []
    far = Bench(box('red', 0.0, 0.0, BAR))

    def refuse(trajectory, around):
        raise ArmStoppedError('workspace', 'the hand would leave the box')

    far.skills._planner._check = refuse
    monkeypatch.setattr(pointing, 'GRASPS', dataclasses.replace(pointing.GRASPS, planned=2))
    report = far.grasp()
    assert report.cause == 'unreachable' and '(workspace)' in report.message
    assert far.table.sent == []


def test_a_dry_run_plans_and_moves_nothing():
    bench = Bench(box('red', 0.0, 0.0, BAR), dry_run=True)
    assert bench.grasp().cause == 'dry_run'
    assert bench.skills.follow(bench.trace((0.0, 0.0), (0.1, 0.1))).report.cause == 'dry_run'
    assert bench.table.sent == [] and bench.bottom() == pytest.approx(0.0)
    assert 'up with the thing' in bench.gate.motions


def test_a_stop_ends_the_action():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    bench.gate.stop_at = 'down to'
    with pytest.raises(ArmStoppedError):
        bench.grasp()
    assert bench.skills.reports[-1].cause == 'stopped'
    with pytest.raises(ArmStoppedError):
        bench.grasp()
    assert bench.skills.reports[-1].phases == ()


def test_unknown_settings_and_wrong_ones_are_named():
    with pytest.raises(InputError, match='wobble'):
        Bench(wobble=1)
    with pytest.raises(InputError, match='lift_m'):
        Bench(lift_m=3.0)


# --- what is broken off -------------------------------------------------------------------------

def broken_off(bench, phase, part=0.5):
    """Break off the next motion of a phase halfway; the arm stays where it is then."""
    follow = bench.gate.follow

    def half(trajectory, what, around, **options):
        if phase in what:
            bench.gate.follow = follow
            count = max(2, int(part * len(trajectory.positions)))
            follow(JointTrajectory(trajectory.times_s[:count], trajectory.positions[:count],
                                   trajectory.velocities[:count]), what, around)
            raise ArmStoppedError('cancelled', 'somebody cancelled')
        return follow(trajectory, what, around, **options)
    bench.gate.follow = half


@pytest.mark.parametrize(('phase', 'thin'), [
    ('up with the thing', 0.03), ('down with the thing', 0.004)])
def test_what_is_held_stays_in_the_hand_after_a_hold_and_can_be_put_back(phase, thin):
    bench = Bench(box('red', 0.0, 0.0, (0.1, thin, 0.05)), box('blue', 0.2, 0.1, BAR))
    broken_off(bench, phase)
    if phase == 'up with the thing':
        with pytest.raises(ArmStoppedError):
            bench.grasp()
    else:
        assert bench.grasp().cause == 'done'
        with pytest.raises(ArmStoppedError):
            bench.skills.put_back()
    assert bench.table.held[0] == 'a' and bench.bottom() > 0.02
    bench.skills.recover()
    assert bench.table.held[0] == 'a', 'nothing is dropped'
    assert bench.grasp('b').cause == 'occupied'
    assert bench.table.held[0] == 'a'
    assert bench.skills.put_back().report.cause == 'done'
    assert bench.bottom() == pytest.approx(0.0, abs=0.006)
    assert bench.table.boxes['a'].centre_m[:2] == pytest.approx((0.0, 0.0), abs=0.01)
    assert np.abs(bench.table.posture - ROBOT.arm.park).max() < 1e-6


def stopped_in(table, gate, command, acts):
    """Have a stop come while the fingers carry out a command of a kind, if they still do."""
    grip, wait, stops = table.grip, table.wait, []

    def begin(opening_m, force_n):
        if command == ('open' if opening_m else 'close') and not stops and (
                command == 'close' or table.held is not None):
            stops.append('to come')
            if not acts:
                return
        grip(opening_m, force_n)

    def pass_time(seconds):
        wait(seconds)
        if stops == ['to come']:
            stops.append('came')
            gate.stop()
    table.grip, table.wait = begin, pass_time


@pytest.mark.parametrize(('action', 'command', 'acts'), [
    ('grasp', 'close', True), ('grasp', 'open', False), ('grasp', 'close', False),
    ('follow', 'open', True)])
def test_after_a_stop_in_a_grip_or_a_release_what_is_held_is_said_to_be_held(
        action, command, acts):
    """Whether the fingers still did what they were told, or their drives were off."""
    bench = Bench(box('red', 0.0, 0.0, BAR), tries=1)
    gate = Gate(bench.table, ROBOT, KINEMATICS)
    skills = make_skills(ROBOT, bench.table, bench.table, gate, KINEMATICS)
    skills.reset()
    stopped_in(bench.table, gate, command, acts)

    def act():
        if action == 'follow':
            skills.follow(bench.trace((0.0, 0.0), (0.1, 0.1)))
        else:
            skills.grasp_at(bench.on('a'))
            skills.put_back()
    with pytest.raises(ArmStoppedError):
        act()
    bench.table.wait(ROBOT.gripper.settle_s)
    gate.tick()
    gate.rearm('a person')
    skills.recover()
    assert (bench.table.held is not None) is (acts is (command == 'close'))
    assert (skills.held is not None) is (bench.table.held is not None)
    assert (gate.held is not None) is (bench.table.held is not None)
    if skills.held is not None:
        assert skills.put_back().report.cause == 'done'
        assert bench.table.held is None and bench.bottom() == pytest.approx(0.0, abs=0.006)
    assert skills.put_back().report.cause == 'unknown'
    gate.close()


def test_what_a_person_takes_out_of_the_hand_of_a_stopped_arm_is_not_put_back():
    bench = Bench(box('red', 0.0, 0.0, BAR), box('blue', 0.2, 0.1, BAR))
    gate = Gate(bench.table, ROBOT, KINEMATICS)
    skills = make_skills(ROBOT, bench.table, bench.table, gate, KINEMATICS)
    skills.reset()
    assert skills.grasp_at(bench.on('a')).report.cause == 'done'
    gate.stop()
    bench.table.grip(ROBOT.gripper.open_m, 1.0)
    bench.table.wait(0.1)
    gate.rearm('a person')
    skills.recover()
    assert skills.held is None
    assert skills.put_back().report.cause == 'unknown'
    assert skills.grasp_at(bench.on('b')).report.cause == 'done'
    gate.close()


def test_a_thin_thing_in_the_hand_is_not_taken_for_closed_fingers():
    bench = Bench(box('red', 0.0, 0.0, (0.1, 0.004, 0.05)))
    assert bench.grasp().cause == 'done'
    with pytest.raises(WorldError, match='hold something'):
        bench.skills.reset()
    assert bench.table.held[0] == 'a' and bench.bottom() > 0.1


def test_what_the_camera_does_not_confirm_is_not_let_go_in_the_air():
    bench = Bench(box('red', 0.0, 0.0, BAR), tries=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointing, 'is_gone', lambda seen, thing: False)
        heights = []
        open_fingers = bench.skills._open
        patch.setattr(bench.skills, '_open', lambda watch: (
            heights.append(bench.bottom()), open_fingers(watch)))
        assert bench.grasp().cause == 'dropped'
    assert heights and max(heights) < 0.01
    assert bench.skills.held is None and bench.table.held is None


def test_a_camera_that_fails_after_the_lift_leaves_the_thing_in_the_hand():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    with pytest.MonkeyPatch.context() as patch:
        def broken(seen, thing):
            raise InputError('the camera shows nothing')
        patch.setattr(pointing, 'is_gone', broken)
        with pytest.raises(InputError, match='shows nothing'):
            bench.grasp()
    assert bench.table.held[0] == 'a'
    assert bench.skills.put_back().report.cause == 'done'
    assert bench.table.held is None and bench.bottom() == pytest.approx(0.0, abs=0.006)


def test_a_carried_thing_is_let_go_low_over_the_table():
    bench = Bench(box('red', -0.1, 0.0, BAR))
    broken_off(bench, 'of the way')
    with pytest.raises(ArmStoppedError):
        bench.skills.follow(bench.trace((-0.1, 0.0), (0.1, 0.0)))
    assert bench.table.held[0] == 'a' and bench.bottom() < 0.03
    bench.skills.recover()
    assert bench.skills.put_back().report.cause == 'done'
    assert bench.table.held is None and bench.skills.held is None


def test_a_trace_may_end_at_the_edge_of_the_picture():
    bench = Bench(box('red', 0.0, 0.0, BAR))
    start = bench.on('a').points[0]
    result = bench.skills.follow(Region(Form.TRACE, (start, (1.0, 1.0))))
    assert (result.report.cause, result.report.message) == ('unreachable',
                                                            'the trace leaves the table')


# --- traces -------------------------------------------------------------------------------------

def test_a_thing_follows_a_trace_low_over_the_table():
    bench = Bench(box('red', -0.15, 0.0, (0.05, 0.04, 0.05)),
                  box('blue', 0.0, 0.0, (0.05, 0.06, 0.08)))
    way = [(-0.15, 0.0), (-0.15, 0.15), (0.15, 0.15), (0.2, 0.0)]
    heights, carry = [], bench.table._carry

    def watched():
        carry()
        if bench.table.held:
            heights.append((*bench.table.boxes['a'].centre_m[:2], bench.bottom()))

    bench.table._carry = watched
    report = bench.skills.follow(bench.trace(*way), 'the red block').report
    assert (report.cause, str(report.action)) == ('done', 'follow(the_red_block)')
    assert bench.table.boxes['a'].centre_m == pytest.approx((0.2, 0.0, 0.025), abs=0.01)
    assert 0.005 < max(height for *_, height in heights) < 0.03
    for point in way[1:]:  # it passes by all of them
        assert min(np.hypot(x - point[0], y - point[1]) for x, y, _ in heights) < 0.012
    assert bench.table.held is None
    assert np.abs(bench.table.posture - ROBOT.arm.park).max() < 1e-6


def test_a_trace_through_another_thing_is_not_begun():
    bench = Bench(box('red', -0.15, 0.0, (0.05, 0.04, 0.05)),
                  box('blue', 0.0, 0.0, (0.05, 0.06, 0.08)))
    report = bench.skills.follow(bench.trace((-0.15, 0.0), (0.15, 0.0))).report
    assert report.cause == 'no_room' and 'run into' in report.message
    assert bench.table.sent == []


def test_a_trace_that_leaves_the_table_is_not_begun():
    bench = Bench(box('red', 0.3, 0.1, (0.05, 0.04, 0.05)))
    assert bench.skills.follow(bench.trace((0.3, 0.1), (0.44, 0.1))).report.cause == 'unreachable'
    assert bench.table.sent == []
    with pytest.raises(InputError, match='cannot be followed'):
        bench.skills.follow(bench.on('a'))


def test_what_goes_wrong_on_the_way_is_told():
    start = (-0.15, 0.0)
    cube = box('red', *start, (0.05, 0.04, 0.05))
    missed = Bench(cube, slippery={('a', 'closing'): 1})
    assert missed.skills.follow(missed.trace(start, (0.1, 0.0))).report.cause == 'missed_grasp'
    lost = Bench(cube, slippery={('a', 'lifting'): 1}, carry_m=0.1)
    assert lost.skills.follow(lost.trace(start, (0.1, 0.0))).report.cause == 'dropped'
    left = Bench(cube)
    left.table._carry = lambda: None
    report = left.skills.follow(left.trace(start, (0.0, 0.0))).report
    assert report.cause == 'misplaced' and 'end of the trace' in report.message
    unseen = Bench(cube, verify=False)
    unseen.table._carry = lambda: None
    assert unseen.skills.follow(unseen.trace(start, (0.0, 0.0))).report.cause == 'done'
