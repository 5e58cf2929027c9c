"""Blocksworld with an arm: episodes by physics, truth by geometry, outcomes by what was true."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from sightplan.model import (
    Action,
    Atom,
    FeedbackStatus,
    InputError,
    TruthSource,
    World,
    WorldError,
)
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import hand_down
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import joint_line, timed
from sightplan_sim.arm.simulator import SimulatedArm
from sightplan_sim.blocksworld import Settings, make_world, world_identity
from sightplan_sim.blocksworld.arm_scene import ArmScene
from sightplan_sim.blocksworld.arm_world import ArmWorld
from sightplan_sim.blocksworld.camera import BLOCK_M
from sightplan_sim.blocksworld.truth import outcome_of, true_atoms
from sim_cases import atoms, episode, move

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
COLUMNS = {'c1': -0.09, 'c2': 0.0, 'c3': 0.09}
STACKS = {'c1': ['r', 'g'], 'c2': ['b'], 'c3': []}
DONE, REJECTED = FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED


@pytest.fixture(scope='module')
def world() -> Iterator[ArmWorld]:
    with make_world(execution='arm', supersampling=1) as made:
        yield made


def at(x, level, *, y=0.0, turn=UPRIGHT):
    return (x, y, (level + 0.5) * BLOCK_M, *turn)


def about(predicate, *args):
    return Atom(predicate, args)


# --- what is true ------------------------------------------------------------------------------

def test_stacks_are_true_as_in_the_symbolic_world():
    yaw = (0.0, 0.0, math.sin(0.2), math.cos(0.2))
    blocks = {'r': at(-0.09, 0, turn=yaw), 'g': at(-0.087, 1), 'b': at(0.001, 0, y=0.004)}
    assert true_atoms(blocks, COLUMNS, 0.09) == atoms(STACKS)


def found_about(blocks):
    """What holds besides the order of columns."""
    return {a for a in true_atoms(blocks, COLUMNS, 0.09)
            if a.predicate not in ('leftof', 'rightof')}


def tilted(degrees):
    half = math.radians(degrees) / 2
    return (math.sin(half), 0.0, 0.0, math.cos(half))


ALONE = {about('incolumn', 'r', 'c2'), about('clear', 'r')}


@pytest.mark.parametrize('pose', [
    (0.0, -0.02, -0.7, *UPRIGHT),  # on the floor
    at(0.0, 0, y=0.026),  # behind the row
    at(0.0, 0, y=-0.026),  # before it
    at(0.0, 2),  # held
    at(0.0, 0.3),  # held above the table
    at(0.0, 0, turn=tilted(16)),
    at(0.0, 0, turn=tilted(74)),
])
def test_a_block_that_stands_in_no_column_is_nowhere(pose):
    assert found_about({'r': pose}) == set()


@pytest.mark.parametrize('pose', [
    at(0.0, 0, y=0.024), at(0.044, 0), at(0.0, 0.1), at(0.0, 0, turn=tilted(14)),
    at(0.0, 0, turn=tilted(90)), at(0.0, 0, turn=tilted(-90))])
def test_a_block_that_stands_a_little_off_its_place_is_there(pose):
    assert found_about({'r': pose}) == ALONE


def test_blocks_side_by_side_in_a_column_are_not_on_each_other():
    assert found_about({'r': at(-0.026, 0), 'g': at(0.026, 0)}) == {
        about('incolumn', 'r', 'c2'), about('incolumn', 'g', 'c2'), about('clear', 'r'),
        about('clear', 'g')}


def test_what_is_above_another_block_hides_it_and_is_on_it_only_if_it_rests_there():
    hidden = {about('incolumn', 'r', 'c2')}
    for pose in ((0.0, 0.04, 0.052, *tilted(45)),  # leans
                 (0.0, 0.02, 0.078, *tilted(44)),  # lies tipped on it
                 at(0.02, 0.6),  # is stuck beside it
                 at(0.0, 2), at(0.0, 1.3)):  # in the hand
        assert found_about({'r': at(0.0, 0), 'g': pose}) == hidden


def test_a_stack_is_in_its_column_as_far_as_all_of_it_rests():
    stack = {'r': at(0.0, 0), 'g': at(0.004, 1), 'b': at(0.0, 2)}
    whole = {about('incolumn', 'r', 'c2'), about('incolumn', 'g', 'c2'),
             about('incolumn', 'b', 'c2'), about('on', 'g', 'r'), about('on', 'b', 'g'),
             about('clear', 'b')}
    assert found_about(dict(reversed(stack.items()))) == whole
    raised = {**stack, 'g': at(0.0, 1.3), 'b': at(0.0, 2.3)}  # two held above the third
    assert found_about(raised) == {about('incolumn', 'r', 'c2')}
    aside = {**stack, 'r': at(0.0, 0, y=0.03), 'g': at(0.0, 1, y=0.01), 'b': at(0.0, 2, y=0.01)}
    assert found_about(aside) == set()  # on a block that is in no column
    between = {'r': at(0.04, 0), 'g': at(0.05, 1)}  # on a block of the next column
    assert found_about(between) == {about('incolumn', 'r', 'c2')}


# --- what became of an action --------------------------------------------------------------------

def outcome(stacks, block, column, after, status=DONE):
    return outcome_of(Action('moveblock', (block, column)), status, atoms(stacks), atoms(after),
                      tuple(stacks))


def test_outcomes():
    five = {'c1': ['r', 'g'], 'c2': [], 'c3': [], 'c4': ['b'], 'c5': []}
    assert outcome(five, 'g', 'c4', move(five, 'g', 'c4')) == 'success'
    assert outcome(five, 'g', 'c4', five) == 'no_op'
    assert outcome(five, 'g', 'c4', move(five, 'g', 'c5')) == (
        f'dropped_target:{Action("moveblock", ("g", "c5"))}')
    assert outcome(five, 'g', 'c4', move(five, 'g', 'c2')) == (
        f'dropped_source:{Action("moveblock", ("g", "c2"))}')
    assert outcome(five, 'g', 'c4', move(move(five, 'g', 'c4'), 'r', 'c2')) == 'disturbed'
    assert outcome(five, 'g', 'c4', move(five, 'b', 'c2')) == 'disturbed'


def test_outcomes_of_what_was_rejected():
    assert outcome(STACKS, 'r', 'c3', STACKS, REJECTED) == 'illegal'  # covered
    assert outcome(STACKS, 'b', 'c2', STACKS, REJECTED) == 'illegal'  # there already
    assert outcome(STACKS, 'g', 'c3', STACKS, REJECTED) == 'refused'  # it could have been done
    assert outcome(STACKS, 'x', 'c3', STACKS, REJECTED) == 'illegal'
    assert outcome(STACKS, 'g', 'c9', STACKS, REJECTED) == 'illegal'
    assert outcome_of(Action('dance'), REJECTED, atoms(STACKS), atoms(STACKS),
                      tuple(STACKS)) == 'illegal'
    assert outcome(STACKS, 'g', 'c3', move(STACKS, 'b', 'c3'), REJECTED) == 'disturbed'


def test_half_a_move_is_a_disturbance():
    after = frozenset(a for a in atoms(STACKS) if 'g' not in a.args) | {about('clear', 'r')}
    assert outcome_of(Action('moveblock', ('g', 'c3')), DONE, atoms(STACKS), after,
                      tuple(STACKS)) == 'disturbed'


# --- episodes ------------------------------------------------------------------------------------

def test_an_episode(world):
    assert isinstance(world, World) and isinstance(world, TruthSource)
    world.reset(episode(STACKS))
    assert world.state() == atoms(STACKS) and world.last_outcome() == ''
    first = world.observe()
    again = world.observe()
    assert again.image is first.image and again.stamp_ns > first.stamp_ns
    assert first.depth_m.shape == first.image.shape[:2]

    refused = world.execute(Action('moveblock', ('r', 'c3')))
    assert refused.status is REJECTED and world.last_outcome() == 'illegal'

    start = world.now_ns()
    done = world.execute(Action('moveblock', ('g', 'c3')))
    assert (done.status, world.last_outcome()) == (DONE, 'success')
    after = move(STACKS, 'g', 'c3')
    assert world.state() == atoms(after) and world.state(start) == atoms(STACKS)
    assert 2e9 < done.stamp_ns - start < 60e9  # simulated seconds
    seen = world.observe()
    assert seen.stamp_ns >= done.stamp_ns and not np.array_equal(seen.image, first.image)
    assert [report.action.args for report in world.skill_reports] == [('r', 'c3'), ('g', 'c3')]


@pytest.mark.slow
def test_an_episode_is_the_same_after_another_one(world):
    def play():
        world.reset(episode(STACKS, seed=3))
        world.execute(Action('moveblock', ('b', 'c1')))
        return world.arm.poses(), world.observe().image

    one, two = play(), play()
    assert one[0].blocks == two[0].blocks and one[0].joints == two[0].joints
    assert np.array_equal(one[1], two[1])
    world.reset(episode(STACKS, seed=4))
    assert world.arm.poses().blocks != one[0].blocks


def test_a_motion_that_is_stopped_ends_the_action_and_the_next_reset_rearms(world):
    world.reset(episode(STACKS))
    world.gate.stop()
    with pytest.raises(ArmStoppedError):
        world.execute(Action('moveblock', ('g', 'c3')))
    assert world.state() == atoms(STACKS)
    world.reset(episode(STACKS))
    assert world.gate.status().ready


def test_where_somebody_watches_a_reset_does_not_rearm():
    with make_world(execution='arm', rearm=False, supersampling=1) as world:
        for use in (world.observe, world.state, world.last_outcome,
                    lambda: world.execute(Action('moveblock', ('g', 'c3')))):
            with pytest.raises(WorldError, match='no episode'):
                use()
        world.reset(episode(STACKS))
        world.gate.stop()
        with pytest.raises(ArmStoppedError):
            world.reset(episode(STACKS))


def test_what_moves_from_outside_is_true_at_once(world):
    world.reset(episode(STACKS))
    hardware = world.arm
    arm = world.robot.arm
    over = Kinematics(world.robot).ik(
        world.robot.table.pose @ hand_down([0.0, 0.0, 0.025]), arm.ready)
    for goal in (arm.ready, over):
        motion = timed(joint_line(hardware.state().positions, goal), arm.max_velocity,
                       arm.max_acceleration)
        hardware.command(motion)
        hardware.advance(motion.duration_s + 0.2)
    hardware.grip(0.0, 20.0)
    hardware.advance(0.8)
    motion = timed(joint_line(hardware.state().positions, arm.ready), arm.max_velocity,
                   arm.max_acceleration)
    hardware.command(motion)
    hardware.advance(motion.duration_s)
    assert about('incolumn', 'r', 'c1') in world.state()
    assert world.arm.poses().blocks['b'][2] > 0.1  # in the hand
    assert not any('b' in atom.args for atom in world.state())


@pytest.mark.parametrize(('settings', 'message'), [
    ({'fov_deg': 30.0}, 'fov_deg'), ({'elevation_deg': 20.0}, 'elevation_deg'),
    ({'pictures': 'none'}, 'pictures cannot be chosen .* the skills look'),
    ({'distance_m': 1.0}, 'distance_m'),
    ({'robot': 'nobody'}, 'nobody'),
    ({'depth_dropout': 2.0}, 'depth_dropout')])
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        make_world(execution='arm', **settings)


def test_episodes_that_make_no_sense_are_refused(world):
    with pytest.raises(WorldError, match='failure_probability'):
        world.reset(episode(STACKS, failure=0.1))
    with pytest.raises(WorldError, match='room for 5 columns'):
        world.reset(episode({f'c{i}': [] for i in range(6)} | {'c0': ['r']}))


def test_what_makes_no_sense_is_known_before_the_first_episode(world):
    world.check([episode(STACKS), episode({'c1': ['r']})])
    for bad, message in (
            (episode(STACKS, failure=0.1), 'failure_probability is 0.1.* set it to 0'),
            (episode({f'c{i}': [] for i in range(6)} | {'c0': ['r']}),
             r'6 columns and 1 blocks.*or copy .*panda.yaml to .*table.max_columns')):
        with pytest.raises(InputError, match=message):
            world.check([episode(STACKS), bad])


def test_after_a_reset_that_failed_there_are_no_reports_of_the_episode_before(world):
    world.reset(episode(STACKS))
    world.execute(Action('moveblock', ('r', 'c3')))
    assert len(world.skill_reports) == 1
    with pytest.raises(WorldError):
        world.reset(episode(STACKS, failure=0.1))
    assert world.skill_reports == []


def test_a_world_that_cannot_be_made_leaves_no_simulator_behind(monkeypatch):
    closed = []
    for kind in (ArmScene, SimulatedArm):
        def close(self, kind=kind, original=kind.close):
            closed.append(kind)
            original(self)
        monkeypatch.setattr(kind, 'close', close)
    with pytest.raises(InputError, match='no_such'):
        ArmWorld(Settings(execution='arm'), skill_settings={'no_such': 1})
    assert set(closed) == {ArmScene, SimulatedArm}


def test_settings_of_the_arm_are_refused_without_one():
    with pytest.raises(InputError, match='depth_noise_mm.*execution=arm'):
        make_world(width=64, height=64, depth_noise_mm=1.0)
    with make_world(width=64, height=64, depth_noise_mm=0.0, robot='panda'):
        pass  # as it is without an arm


def test_the_content_of_the_robots_file_is_part_of_the_identity(tmp_path):
    assert world_identity({}) == world_identity({'width': 64}) == {}
    panda = world_identity({'execution': 'arm'})
    assert panda == world_identity({'execution': 'arm', 'robot': 'panda'})
    robot = load_robot('panda')
    (tmp_path / 'arm.urdf').write_bytes(robot.urdf.read_bytes())
    file = tmp_path / 'panda.yaml'
    file.write_text(robot.file.read_text().replace('urdf: panda', 'urdf: arm.urdf'))
    seen = [panda, world_identity({'execution': 'arm', 'robot': str(file)})]
    file.write_text(file.read_text().replace('force_n: 20.0', 'force_n: 21.0'))
    seen.append(world_identity({'execution': 'arm', 'robot': str(file)}))
    with (tmp_path / 'arm.urdf').open('a') as urdf:
        urdf.write('<!-- another one -->')
    seen.append(world_identity({'execution': 'arm', 'robot': str(file)}))
    assert len({one['robot_sha256'] for one in seen}) == 4
    with pytest.raises(InputError, match='nobody'):
        world_identity({'execution': 'arm', 'robot': 'nobody'})


def test_the_symbolic_world_stays_the_default():
    with make_world(width=64, height=64) as world:
        assert not isinstance(world, ArmWorld)
