"""Blocksworld's actions as motions, over a table without physics: what is done, and refused."""

import contextlib
import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from box_pictures import MATRIX, Box, picture
from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    Atom,
    Belief,
    FeedbackStatus,
    InputError,
    Problem,
    ProblemError,
    WorldError,
)
from sightplan_arm.columns import column_order
from sightplan_arm.config import load_robot
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.perception import COLOUR_OF_KEY, Cube
from sightplan_arm.skills import CAUSES, load_skills, report
from sightplan_arm.skills.blocksworld import facts, hand_yaw, make_skills
from sightplan_arm.skills.report import SkillReport, Stopwatch
from skill_doubles import Block, OpenGate, Table

ROBOT = load_robot('panda')
KINEMATICS = Kinematics(ROBOT)


class Bench:
    """Skills over a table of three or four columns."""

    def __init__(self, *stacks, dry_run=False, robot=ROBOT, **settings):
        self.table = Table(robot, KINEMATICS)
        self.table.stand(*stacks)
        self.gate = OpenGate(self.table, dry_run)
        self.skills = make_skills(robot, self.table, self.table, self.gate, KINEMATICS,
                                  **settings)
        self.problem = problem(''.join(stacks), len(stacks))
        self.skills.reset(self.problem)
        self.table.sent.clear()

    def move(self, block, column):
        result = self.skills.execute(Action('moveblock', (block, column)))
        assert self.skills.reports[-1] is result.report
        return result

    def refused(self, block, column):
        """Cause and message of an action at which nothing moves."""
        before, posture = self.table.stacks(4), self.table.posture
        result = self.move(block, column)
        illegal = result.report.cause in ('unknown', 'covered', 'already_there')
        assert result.feedback.status is (FeedbackStatus.REJECTED if illegal
                                          else FeedbackStatus.EXECUTED)
        assert result.feedback.message
        assert self.table.sent == [] and self.table.stacks(4) == before
        assert np.array_equal(self.table.posture, posture)
        return result.report.cause, result.feedback.message

    def believe(self, probabilities):
        self.skills.expect(Belief(frozenset(), {Atom.parse(a): p
                                                for a, p in probabilities.items()}))


def problem(blocks, columns, init=frozenset()):
    return Problem('p', 'blocksworld', {**dict.fromkeys(blocks, 'block'), **{
        f'c{i + 1}': 'column' for i in range(columns)}}, init, ())


def test_a_block_is_moved_and_what_took_how_long_is_reported():
    bench = Bench('rg', '', 'b', '')
    result = bench.move('g', 'c2')
    assert result.feedback.status is FeedbackStatus.EXECUTED and not result.feedback.message
    assert bench.table.stacks(4) == ['r', 'g', 'b', '']
    green = bench.table.blocks['g']
    assert np.allclose(green.at, [ROBOT.table.column_x_m(4)[1], 0, 0.025], atol=1e-3)
    assert abs(math.sin(2 * green.yaw)) < 0.02, 'it stands square, although it stood askew'
    made = result.report
    assert made.cause == 'done' and made.action == Action.parse('moveblock(g, c2)')
    assert made.phases == ('park', 'perceive', 'plan', 'approach', 'grasp', 'lift', 'transfer',
                           'place', 'release', 'retreat', 'verify')
    seconds = dict(zip(made.phases, made.seconds, strict=True))
    assert seconds['lift'] > 0.1 and seconds['plan'] == 0
    assert dict(zip(made.phases, made.cpu_seconds, strict=True))['perceive'] > 0
    assert np.allclose(bench.table.posture, ROBOT.arm.park)


def test_the_gate_is_told_what_stands_there_what_is_held_and_what_may_touch():
    bench = Bench('rg', 'y', 'b', '')
    start = bench.table.blocks['g'].at.copy()
    assert bench.move('g', 'c2').report.cause == 'done'
    others = {'block r', 'block y', 'block b'}
    told = bench.gate.arounds

    def touches(what):
        solids = [touch.other for touch in told[what].touches if not isinstance(touch.other, str)]
        assert all(any(one is solid for one in told[what].obstacles) for solid in solids)
        return {(touch.one, touch.other if touch.other in ('hand', 'table') else touch.other.name,
                 touch.overlap_m) for touch in told[what].touches}
    for what in ('to above g', 'down to g', 'up from g'):
        assert {one.name for one in told[what].obstacles} == {*others, 'g (1)'}
        assert told[what].held is None and touches(what) == {('hand', 'g (1)', None)}
    for what in ('up with g', 'g to above c2', 'g down on c2'):
        assert {one.name for one in told[what].obstacles} == others
        assert np.allclose(told[what].held.size_m, 0.05, atol=1e-3)
        assert np.abs(told[what].held.pose[:3, 3]).max() < 2e-3, 'the tip is at its middle'
    assert not touches('up with g') and not touches('g to above c2')
    assert touches('g down on c2') == {('held', 'table', 0.004), ('held', 'block y', 0.004)}
    taken, = bench.gate.taken
    assert np.allclose(taken.pose[:3, 3], start, atol=2e-3)


def test_errors_do_not_add_up_over_many_moves():
    bench = Bench('rgb', '', '', '', verify=False, check_table=False)
    for move in ('b c2', 'g c2', 'r c2', 'r c1', 'g c1', 'b c1'):
        assert bench.move(*move.split()).report.cause == 'done'
    assert bench.table.stacks(4)[0] == 'rgb'
    for block in bench.table.blocks.values():
        assert np.abs(block.at[:2] - (ROBOT.table.column_x_m(4)[0], 0)).max() < 1e-3


def test_nothing_but_actions_of_the_domain_with_known_objects_moves_anything():
    bench = Bench('rg', '', 'b')
    for text in ('grasp(g)', 'moveblock(g)', 'moveblock(g, c2, c3)', 'moveblock(y, c2)',
                 'moveblock(c2, g)', 'moveblock(g, c4)', 'moveblock(g, b)', 'moveblock()'):
        result = bench.skills.execute(Action.parse(text))
        assert result.feedback.status is FeedbackStatus.REJECTED, text
        assert result.report.cause == 'unknown' and result.feedback.message
    assert bench.table.sent == []


def test_moves_that_make_no_sense_in_what_is_seen_are_refused():
    full = dataclasses.replace(ROBOT, table=dataclasses.replace(ROBOT.table, max_level=2))
    bench = Bench('rg', '', 'bo', robot=full)
    assert bench.refused('r', 'c2') == ('covered', 'g is on r')
    assert bench.refused('g', 'c1') == ('already_there', 'g is in c1 already')
    cause, message = bench.refused('g', 'c3')
    assert cause == 'column_full' and 'c3' in message
    bench.table.blocks.pop('g')
    cause, message = bench.refused('g', 'c2')
    assert cause == 'not_found' and 'green' in message
    assert bench.refused('o', 'c2')[0] == 'unclear', 'where green is nobody knows'


def test_things_that_are_no_blocks_keep_the_arm_from_moving():
    bench = Bench('r', 'g', '', '')
    table = bench.table

    def look(timeout_s=5.0):
        boxes = [Box(COLOUR_OF_KEY[key], tuple(block.at)) for key, block in table.blocks.items()]
        can = Box('grey', (ROBOT.table.column_x_m(4)[2], 0.0, 0.05), sides_m=(0.05, 0.05, 0.1))
        return picture([*boxes, can], ROBOT.camera.pose, matrix=MATRIX * [[0.5], [0.5], [1.0]],
                       size=(320, 240))
    table.observe = look
    cause, message = bench.refused('r', 'c3')
    assert cause == 'unclear' and 'not a block' in message


@pytest.mark.parametrize('aside', [(0.0, 0.03), (0.025, 0.0)])
def test_a_block_that_was_put_askew_is_fetched_but_nothing_is_put_on_it(aside):
    bench = Bench('r', 'g', '', '')
    bench.table.blocks['r'].at[:2] += aside
    assert bench.refused('g', 'c1')[0] == 'unclear'
    assert bench.move('r', 'c1').report.cause == 'done', 'put right'
    assert np.allclose(bench.table.blocks['r'].at[:2], (ROBOT.table.column_x_m(4)[0], 0),
                       atol=2e-3)
    bench.table.blocks['r'].at[:2] += aside
    assert bench.move('r', 'c3').report.cause == 'done'
    bench.table.blocks['r'].at[1] = 0.06
    bench.table.sent.clear()
    assert bench.refused('r', 'c1')[0] == 'unclear'


def test_other_blocks_that_are_not_where_they_were_are_reported():
    bench = Bench('r', 'gb', '', '')
    grip = bench.table.grip

    def grip_and_knock(opening_m, force_n):
        grip(opening_m, force_n)
        if opening_m == 0:
            bench.table.blocks['b'].at[:] = bench.moved_to
    bench.table.grip = grip_and_knock
    bench.moved_to = (ROBOT.table.column_x_m(4)[3], 0.0, 0.025)
    result = bench.move('r', 'c3')
    assert result.report.cause == 'disturbed' and 'c2' in result.feedback.message
    bench.moved_to = (ROBOT.table.column_x_m(4)[3], -0.1, 0.025)
    assert bench.move('r', 'c1').report.cause == 'disturbed'


def test_fingers_that_are_not_quite_open_are_opened_first():
    bench = Bench('r', '', '')
    bench.table.opening = ROBOT.gripper.open_m - 0.006
    bench.gate.motions.clear()
    assert bench.move('r', 'c2').report.cause == 'done'
    assert bench.gate.motions[0] == 'open the fingers'


def test_what_cannot_be_is_refused():
    bench = Bench('rg', '', 'b')
    bench.table.blocks['g'].at[2] += 0.03  # floats above the red block
    cause, message = bench.refused('g', 'c2')
    assert cause == 'unclear' and 'g' in message
    bench.table.blocks['g'].at[:] = [-0.045, -0.06, 0.025]  # between the first two columns
    cause, message = bench.refused('g', 'c3')
    assert cause == 'unclear' and 'between columns' in message


def test_strange_things_on_the_table_are_waited_for_and_then_refused():
    bench = Bench('rg', '', 'b')
    bench.table.blocks['y'] = Block(np.array([0.18, 0.0, 0.025]))  # is of another problem
    looks, look = bench.table.observations, bench.table.observe
    cause, message = bench.refused('g', 'c2')
    assert cause == 'unclear' and 'yellow' in message
    assert bench.table.observations == looks + 2

    def gone_at_the_second_look():
        picture = look()
        bench.table.blocks.pop('y', None)
        return picture
    bench.table.observe = gone_at_the_second_look
    assert bench.move('g', 'c2').report.cause == 'done'


def test_an_action_that_contradicts_what_the_agent_is_sure_of_is_refused():
    bench = Bench('rg', '', 'b')
    bench.believe({'incolumn g,c1': 0.05, 'incolumn g,c3': 0.95})
    cause, message = bench.refused('g', 'c2')
    assert cause == 'belief_mismatch' and 'incolumn g,c1' in message and '0.05' in message
    bench.believe({'incolumn r,c2': 0.99})
    assert bench.refused('g', 'c2')[0] == 'belief_mismatch'
    bench.believe({'clear b': 0.01})
    assert bench.refused('g', 'c3')[0] == 'belief_mismatch'
    # Not sure, or about what does not matter, or in line with the picture:
    bench.believe({'incolumn g,c1': 0.15, 'incolumn b,c1': 0.99, 'clear b': 0.01,
                   'clear g': 0.99, 'on g,b': 0.99})
    assert bench.move('g', 'c2').report.cause == 'done'


def test_of_a_target_only_what_is_on_top_of_it_must_be_as_the_agent_believes():
    bench = Bench('rg', 'bo', '')
    bench.believe({'clear b': 0.99, 'incolumn b,c2': 0.01})
    assert bench.move('g', 'c2').report.cause == 'done'
    bench.believe({'incolumn g,c2': 0.01})
    bench.table.sent.clear()
    assert bench.refused('r', 'c2')[0] == 'belief_mismatch'


def test_without_depth_nothing_moves():
    bench = Bench('r', '', '')
    look = bench.table.observe

    def half_blind(timeout_s=5.0):
        picture = look()
        depth = picture.depth_m.copy()
        depth[:, :] = np.where(bench.paint(picture.rgb), depth, 0.0)
        return dataclasses.replace(picture, depth_m=depth)
    bench.paint = lambda rgb: np.ptp(rgb.astype(int), axis=2) > 60
    bench.table.observe = half_blind
    cause, message = bench.refused('r', 'c2')
    assert cause == 'unclear' and 'depth is known in' in message


def test_a_belief_is_forgotten_at_a_reset():
    bench = Bench('rg', '', 'b')
    bench.believe({'incolumn g,c3': 0.99})
    bench.skills.reset(bench.problem)
    assert bench.move('g', 'c2').report.cause == 'done'


def test_a_missed_grasp_is_tried_again_after_a_new_look():
    bench = Bench('rg', '', 'b', regrasps=1)
    bench.table.slippery['g', 'closing'] = 1
    looks = bench.table.observations
    assert bench.move('g', 'c2').report.cause == 'done'
    assert bench.table.observations == looks + 3
    assert bench.table.stacks(3) == ['r', 'g', 'b']


def test_a_grasp_that_is_missed_every_time_is_reported_by_what_the_fingers_felt():
    bench = Bench('rg', '', 'b', regrasps=1)
    bench.table.slippery['g', 'closing'] = 2
    result = bench.move('g', 'c2')
    assert result.feedback.status is FeedbackStatus.EXECUTED, 'the agent has to look'
    assert result.report.cause == 'missed_grasp' and '0 mm' in result.feedback.message
    assert np.allclose(bench.table.posture, ROBOT.arm.park)
    assert bench.table.opening == ROBOT.gripper.open_m
    assert bench.table.stacks(3) == ['rg', '', 'b']


def test_fingers_that_stay_wider_than_a_block_have_not_grasped_it():
    bench = Bench('rg', '', 'b', regrasps=0)
    grip = bench.table.grip

    def stick(opening_m, force_n):
        if opening_m > 0:
            grip(opening_m, force_n)
        else:
            bench.table.sent.append(opening_m)
            bench.table.opening = 0.065
    bench.table.grip = stick
    result = bench.move('g', 'c2')
    assert result.report.cause == 'missed_grasp' and '65 mm' in result.feedback.message
    assert bench.table.stacks(3) == ['rg', '', 'b']


def test_fingers_that_do_not_open_end_the_work_with_a_remedy():
    bench = Bench('rg', '', 'b')
    grip = bench.table.grip

    def stick(opening_m, force_n):
        if opening_m > 0 and bench.table.held:
            bench.table.opening = 0.052
        else:
            grip(opening_m, force_n)
    bench.table.grip = stick
    with pytest.raises(WorldError, match='opened to 52 mm instead of 80 mm.* reset'):
        bench.skills.execute(Action('moveblock', ('g', 'c2')))
    assert bench.table.held, 'it does not let go of it by going away'


def test_a_block_that_is_lost_on_the_way_is_reported():
    bench = Bench('rg', '', 'b')
    bench.table.slippery['g', 'carrying'] = 1
    result = bench.move('g', 'c2')
    assert result.feedback.status is FeedbackStatus.EXECUTED
    assert result.report.cause == 'dropped' and 'g is lost' in result.feedback.message
    assert np.allclose(bench.table.posture, ROBOT.arm.park)
    assert bench.table.opening == ROBOT.gripper.open_m


def test_a_block_that_is_not_where_it_was_put_is_reported():
    bench = Bench('rg', '', 'b')
    let_go = bench.table._let_go

    def slide():
        let_go()
        bench.table.blocks['g'].at[:2] += (0.0, 0.025)
    bench.table._let_go = slide
    result = bench.move('g', 'c2')
    assert result.feedback.status is FeedbackStatus.EXECUTED
    assert result.report.cause == 'misplaced' and 'c2' in result.feedback.message


def test_without_verifying_there_is_one_picture_a_move():
    bench = Bench('rg', '', 'b', verify=False)
    looks = bench.table.observations
    bench.move('g', 'c2')
    assert bench.table.observations == looks + 1


def test_a_place_out_of_reach_is_refused_before_anything_moves():
    pose = ROBOT.table.pose.copy()
    pose[0, 3] += 0.2  # the table is farther from the robot
    far = dataclasses.replace(ROBOT, table=dataclasses.replace(ROBOT.table, pose=pose))
    bench = Bench('rg', '', '', '', '', robot=far)
    cause, message = bench.refused('g', 'c5')
    assert cause == 'unreachable' and 'c5' in message


def test_full_hands_are_refused_with_the_remedy():
    bench = Bench('rg', '', 'b')
    bench.table.opening = 0.05
    cause, message = bench.refused('g', 'c2')
    assert cause == 'occupied' and '50 mm' in message and 'take it out' in message
    with pytest.raises(WorldError, match='take it out.* simulated, end its graph and start it'):
        bench.skills.reset(bench.problem)


def test_no_room_for_the_hand_is_refused():
    bench = Bench('r', 'gbyp', '', '')
    bench.table.blocks['r'].at[0] += 0.008
    for name in 'gbyp':
        bench.table.blocks[name].at[0] -= 0.022
        bench.table.blocks[name].yaw = math.radians(45)
    cause, message = bench.refused('r', 'c4')
    assert cause == 'no_room' and 'r' in message


def test_a_dry_run_plans_and_moves_nothing():
    bench = Bench('rg', '', 'b', dry_run=True)
    result = bench.move('g', 'c2')
    assert result.report.cause == 'dry_run' and 'none was sent' in result.feedback.message
    assert bench.table.sent == [] and bench.table.stacks(3) == ['rg', '', 'b']
    assert bench.gate.skills == ['moveblock(g, c2)']
    assert [m for m in bench.gate.motions if 'c2' in m] == ['g to above c2', 'g down on c2']


def test_a_stop_goes_through_as_an_error_and_into_the_report():
    bench = Bench('rg', '', 'b')
    bench.gate.stop_at = 'up with g'
    with pytest.raises(ArmStoppedError, match='pressed stop'):
        bench.move('g', 'c2')
    stopped = bench.skills.reports[-1]
    assert stopped.cause == 'stopped' and 'stop_request' in stopped.message
    assert stopped.phases[-1] == 'lift'


@pytest.mark.parametrize('action', ['g,c2', 'g,c1', 'r,c2', 'nobody,c2'])
def test_whatever_is_asked_of_a_stopped_arm_is_an_error(action):
    """Also what the skills would refuse by themselves, without a motion."""
    bench = Bench('rg', '', 'b')
    bench.gate.stopped = True
    with pytest.raises(ArmStoppedError, match='pressed stop'):
        bench.move(*action.split(','))
    assert bench.skills.reports[-1].cause == 'stopped' and bench.table.observations == 1


def test_a_stop_while_the_skills_look_is_an_error_whatever_they_see():
    bench = Bench('rg', '', 'b')
    look = bench.table.observe

    def stopped_look(timeout_s=5.0):
        bench.gate.stopped = True
        return look(timeout_s)
    bench.table.observe = stopped_look
    with pytest.raises(ArmStoppedError, match='pressed stop'):
        bench.move('r', 'c2')  # which is covered


def test_a_motion_that_the_gate_would_refuse_later_is_not_begun():
    """Else it would be refused with the block in the hand."""
    bench = Bench('rg', '', 'b')

    def check(trajectory, around):
        away = np.abs(trajectory.positions[-1] - ROBOT.arm.park).max()
        if bench.table.checked and away == 0.0:  # the last one, back home
            raise ArmStoppedError('workspace', 'it would leave the box')
        bench.table.checked += 1
    bench.table.checked = 0
    bench.gate.limits.check = check
    assert bench.refused('g', 'c2') == ('unreachable', 'it would leave the box (workspace)')


def test_a_skill_that_breaks_down_is_reported_too():
    bench = Bench('rg', '', 'b')
    look = bench.table.observe

    def blind(timeout_s=5.0):
        if bench.table.stacks(3) != ['rg', '', 'b']:
            raise WorldError('no picture came')
        return look(timeout_s)
    bench.table.observe = blind
    with pytest.raises(WorldError, match='no picture'):
        bench.move('g', 'c2')
    report = bench.skills.reports[-1]
    assert (report.cause, report.message) == ('failed', 'no picture came')
    assert report.phases[-1] == 'verify'


def test_an_arm_beside_its_parking_place_is_parked_before_the_gate_would_call_it_a_jump():
    bench = Bench('rg', '', 'b')
    off = 0.6 * ROBOT.safety.start_tolerance_rad
    bench.table.posture = ROBOT.arm.park + np.eye(len(ROBOT.arm.park))[0] * off
    bench.skills.reset(bench.problem)
    assert bench.gate.motions[-1] == 'park' and np.allclose(bench.table.posture, ROBOT.arm.park)


def test_from_wherever_it_was_left_the_arm_goes_up_before_it_parks():
    bench = Bench('rg', '', 'b')
    bench.gate.stop_at = 'up from g'
    with pytest.raises(ArmStoppedError):
        bench.move('g', 'c2')  # stops with open fingers around the block, down in column 2
    bench.gate.stop_at, bench.gate.stopped = '', False
    bench.gate.motions.clear()
    bench.skills.reset(bench.problem)
    assert bench.gate.motions == ['up', 'park'] and bench.gate.skills[-1] == 'park'
    assert np.allclose(bench.table.posture, ROBOT.arm.park)


def test_an_arm_that_is_parked_with_open_fingers_is_left_alone_by_a_reset():
    bench = Bench('rg', '', 'b')
    assert bench.gate.motions == [] and bench.gate.episodes == 1
    bench.table.opening = 0.0
    bench.skills.reset(bench.problem)
    assert bench.gate.motions == ['open the fingers'] and bench.gate.episodes == 2
    assert bench.table.opening == ROBOT.gripper.open_m


def test_a_second_grasp_that_makes_no_sense_any_more_is_not_tried():
    bench = Bench('rg', '', 'b')
    bench.table.slippery['g', 'closing'] = 1
    grip = bench.table.grip

    def grip_and_lose(opening_m, force_n):
        grip(opening_m, force_n)
        if opening_m == 0:
            bench.table.blocks.pop('g')
    bench.table.grip = grip_and_lose
    result = bench.move('g', 'c2')
    assert result.report.cause == 'missed_grasp'
    assert 'does not find g' in result.feedback.message


def test_an_episode_begins_only_with_a_table_that_fits_the_problem():
    bench = Bench('rg', '', 'b')
    with pytest.raises(InputError, match=r'6 columns.*table\.max_columns'):
        bench.skills.reset(problem('rgb', 6))
    with pytest.raises(WorldError, match='y is not seen'):
        bench.skills.reset(problem('rgby', 3))
    with pytest.raises(ProblemError):
        bench.skills.reset(problem(['nothing'], 3))
    with pytest.raises(WorldError, match='reset the world first'):
        bench.skills.execute(Action.parse('moveblock(g, c2)'))


def test_columns_are_named_in_the_order_of_the_problem_unless_it_is_told():
    assert column_order(problem('r', 3)) == ('c1', 'c2', 'c3')
    told = frozenset({Atom('leftof', ('c3', 'c1')), Atom('leftof', ('c3', 'c2')),
                      Atom('leftof', ('c2', 'c1'))})
    assert column_order(problem('r', 3, told)) == ('c3', 'c2', 'c1')
    mixed = frozenset({Atom('rightof', ('c1', 'c3')), Atom('rightof', ('c2', 'c1'))})
    assert column_order(problem('r', 3, mixed)) == ('c3', 'c1', 'c2')
    with pytest.raises(InputError, match='circle among c1, c2, c3'):
        column_order(problem('r', 3, mixed | {Atom('leftof', ('c1', 'c3'))}))
    domain = load_domain('blocksworld')
    for split in domain.splits:  # the files' order is that of their facts
        for one in domain.split_problems(split):
            assert column_order(one) == column_order(one.for_agent())


def test_facts_are_those_of_the_domain():
    bench = Bench('rg', '', 'b')
    assert {str(a) for a in facts(bench.skills._observe(), ('c1', 'c2', 'c3'))} == {
        'on g,r', 'incolumn r,c1', 'incolumn g,c1', 'incolumn b,c3', 'clear g', 'clear b'}


def cube(x, z=0.025, yaw_deg=0.0):
    return Cube('r', 'red', np.array([x, 0.0, z]), math.radians(yaw_deg), 1000, 0.0, 0.0)


def test_the_hand_turns_with_the_block_as_far_as_neighbours_allow():
    wall = [cube(sign * 0.09, 0.025 + 0.05 * level) for sign in (-1, 1) for level in range(4)]
    assert hand_yaw(cube(0.0, yaw_deg=40.0), [], ROBOT) == pytest.approx(math.radians(40))
    assert hand_yaw(cube(0.0, yaw_deg=50.0), [], ROBOT) == pytest.approx(math.radians(-40))
    assert hand_yaw(cube(0.0, yaw_deg=15.0), wall, ROBOT) == pytest.approx(math.radians(15))
    between = hand_yaw(cube(0.0, yaw_deg=40.0), wall, ROBOT)
    assert between is not None and math.radians(20) <= between < math.radians(39)
    near = [cube(0.06, 0.025 + 0.05 * level) for level in range(4)]
    assert hand_yaw(cube(0.0, yaw_deg=40.0), near, ROBOT) is None
    low = [cube(0.06)]  # below the hand, beside the fingers
    assert hand_yaw(cube(0.0, 0.125, yaw_deg=40.0), low, ROBOT) is not None


def test_skills_are_found_by_the_name_of_their_domain():
    table = Table(ROBOT, KINEMATICS)
    skills = load_skills('blocksworld', ROBOT, table, table, OpenGate(table), KINEMATICS,
                         regrasps=2)
    assert skills.reports == []
    with pytest.raises(InputError, match='no skills for domain .tea.'):
        load_skills('tea', ROBOT, table, table, OpenGate(table), KINEMATICS)
    with pytest.raises(InputError, match='unknown setting of the skills: regrasp '):
        load_skills('blocksworld', ROBOT, table, table, OpenGate(table), KINEMATICS, regrasp=2)
    with pytest.raises(InputError, match='regrasps'):
        load_skills('blocksworld', ROBOT, table, table, OpenGate(table), KINEMATICS, regrasps=-1)


def test_times_add_up_by_phase_also_when_something_is_raised():
    now = [0.0]
    watch = Stopwatch(lambda: now[0])
    for took in (1.0, 2.0):
        with contextlib.suppress(KeyError), watch.phase('lift'):
            now[0] += took
            raise KeyError
    made = watch.report(Action('a'), 'done')
    assert (made.phases, made.seconds) == (('lift',), (3.0,))
    with pytest.raises(ValueError, match='not a cause'):
        SkillReport(Action('a'), 'luck')


def test_every_cause_is_named_and_there_is_a_test_of_it():
    assert {name for name in vars(report) if name.isupper()} - {'CAUSES', 'ILLEGAL'} == {
        cause.upper() for cause in CAUSES}
    files = (Path(__file__), *map(Path(__file__).with_name, (
        'test_arm_pointing.py', 'test_arm_sliding.py', 'test_arm_tabletop.py')))
    text = ''.join(file.read_text(encoding='utf-8') for file in files)
    assert [cause for cause in CAUSES if f"'{cause}'" not in text] == []
