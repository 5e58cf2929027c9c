"""Sliding puzzles on a simulated arm: moves by physics, truth by where plinths stand."""

from __future__ import annotations

import dataclasses
import math
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import SHAPES, Board, cell_names
from sightplan.model import (
    GOAL_NS,
    Action,
    FeedbackStatus,
    InputError,
    TruthSource,
    World,
    WorldError,
)
from sightplan.runs import RunSettings, run
from sightplan_arm.board_perception import see_board
from sightplan_arm.plinths import cell_centres_m
from sightplan_sim.sliding import Settings, make_world, world_identity
from sightplan_sim.sliding.arm_world import ArmSlidingWorld
from sightplan_sim.sliding.truth import outcome_of, true_atoms
from sliding_cases import at, episode, geoms

DONE, REJECTED = FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED
SMALL = {'width': 120, 'height': 90, 'supersampling': 1}
PITCH = 0.09
BOARD = Board(4, ('red_cube', 'blue_sphere', 'green_pyramid'), ('cube', 'sphere', 'pyramid'))
START = (0, 1, 15)  # a1, b1, d4


@pytest.fixture(scope='module')
def world() -> Iterator[ArmSlidingWorld]:
    with make_world(execution='arm', **SMALL) as made:
        yield made


def move(world, piece, direction):
    return world.execute(Action('move', (piece, direction)))


def frames(places=START, **changed):
    """Frames of the board's pieces, upright in the middles of cells."""
    centres = cell_centres_m(4, PITCH)
    found = {name: (np.array([*centres[cell], 0.0]), np.eye(3))
             for name, cell in zip(BOARD.pieces, places, strict=True)}
    return {**found, **changed}


def tilted(degrees):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


# --- what is true --------------------------------------------------------------------------------

def test_pieces_in_their_cells_are_true_as_without_an_arm():
    with make_world(pictures='none') as plain:
        plain.reset(episode(BOARD, START))
        assert true_atoms(frames(), BOARD, PITCH) == plain.state()
    aside = np.array([*cell_centres_m(4, PITCH)[0] + (0.04, -0.04), 0.002])
    assert true_atoms(frames(red_cube=(aside, tilted(10))), BOARD, PITCH) == true_atoms(
        frames(), BOARD, PITCH)


@pytest.mark.parametrize('frame', [
    (np.array([-0.135, -0.135, 0.011]), np.eye(3)),  # held
    (np.array([-0.135, -0.135, 0.0]), tilted(20)),
    (np.array([-0.135, -0.19, 0.0]), np.eye(3))])  # beside the board
def test_what_does_not_stand_in_a_cell_is_nowhere_and_leaves_no_cell_empty_that_it_is_over(frame):
    state = true_atoms(frames(red_cube=frame), BOARD, PITCH)
    assert not [a for a in state if a.predicate == 'at' and a.args[0] == 'red_cube']
    over = frame[0][1] > -0.18
    assert any(a.predicate == 'empty' and a.args == ('a1',) for a in state) is not over


def test_outcomes():
    def truth(places):
        return true_atoms(frames(places), BOARD, PITCH)

    before, up = truth(START), Action('move', ('red_cube', 'up'))
    assert outcome_of(up, DONE, before, truth((4, 1, 15)), BOARD) == 'success'
    assert outcome_of(up, DONE, before, before, BOARD) == 'no_op'
    assert outcome_of(up, DONE, before, truth((8, 1, 15)), BOARD) == 'disturbed'
    assert outcome_of(up, DONE, before, truth((4, 2, 15)), BOARD) == 'disturbed'
    assert outcome_of(up, REJECTED, before, before, BOARD) == 'refused'
    for args in (('red_cube', 'right'), ('red_cube', 'left'), ('no_cube', 'up'), ('red_cube',)):
        assert outcome_of(Action('move', args), REJECTED, before, before, BOARD) == 'illegal'


# --- what the robot sees -------------------------------------------------------------------------

def test_all_shapes_are_told_apart_and_found_where_they_stand(world):
    pieces = [f'{colour}_{kind}' for kind in SHAPES for colour in ('red', 'yellow')]
    board = Board(4, tuple(pieces), tuple(name.partition('_')[2] for name in pieces))
    places = tuple(np.random.default_rng(2).permutation(16)[:12].tolist())
    world.reset(episode(board, places))
    seen = world.skills._observe()
    assert seen.warnings == () and dict(seen.cells) == dict(zip(pieces, places, strict=True))
    for name, (origin, _) in world._table.places().items():
        assert seen.places_m[name] == pytest.approx(origin[:2], abs=0.003), name
    assert seen.facts() == {a for a in world.state() if a.predicate != 'next'}


def test_what_is_missing_or_no_piece_is_said(world):
    world.reset(episode(BOARD, START))
    plinths = world._episode.plinths
    rgbd, robot = world.camera.observe(), world.robot
    less = see_board(rgbd, robot, plinths[:2], 4)
    assert less.warnings == ('3 pieces are seen, but there should be 2',)
    more = see_board(rgbd, robot, [*plinths, dataclasses.replace(
        plinths[0], name='yellow_cone', kind='cone', colour='yellow')], 4)
    assert more.warnings == ('yellow_cone is not seen',)
    body = world._table._bodies['blue_sphere']
    world._table._bullet.resetBasePositionAndOrientation(
        body.id, (-0.045, -0.135, 0.03), (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    world.arm.wait(0.3)
    lying = world.skills._observe()
    assert 'blue_sphere is not seen' in lying.warnings
    assert 'is not a piece' in lying.warnings[0]
    assert not [a for a in world.state() if a.args[0] == 'blue_sphere' and a.predicate == 'at']
    result = move(world, 'red_cube', 'up')
    assert result.status is DONE and 'the camera sees what cannot be' in result.message
    assert world.last_outcome() == 'no_op' and world.skill_reports[-1].cause == 'unclear'


def altered(rgbd, how):
    """A picture as a broken or wrongly set camera gives it; the depth is right."""
    rgb = {'black': lambda rgb: np.zeros_like(rgb), 'dark': lambda rgb: rgb // 20,
           'grey': lambda rgb: np.repeat(rgb.mean(axis=2, keepdims=True), 3, 2).astype(np.uint8),
           'bgr': lambda rgb: rgb[:, :, ::-1],
           'rolled': lambda rgb: np.roll(rgb, 1, axis=2),
           'warm': lambda rgb: (rgb * (1.0, 0.85, 0.65)).astype(np.uint8)}[how](rgbd.rgb)
    return dataclasses.replace(rgbd, rgb=np.ascontiguousarray(rgb))


SIX = Board(4, ('red_cube', 'blue_cube', 'yellow_cone', 'orange_sphere', 'green_prism',
                'purple_cylinder'), ('cube', 'cube', 'cone', 'sphere', 'prism', 'cylinder'))


@pytest.mark.parametrize(('how', 'sure'), [
    ('black', 0), ('grey', 0), ('bgr', 4), ('rolled', 4), ('warm', 6), ('dark', 6)])
def test_a_picture_with_wrong_colours_is_warned_of(world, how, sure):
    """Before, pieces were named whatever they looked like, and the wrong one was moved."""
    world.reset(episode(SIX, (0, 3, 5, 10, 12, 15)))
    seen = see_board(altered(world.camera.observe(), how), world.robot, world._episode.plinths, 4)
    assert bool(seen.warnings) is not (sure == 6)
    assert len(seen.places_m) <= sure
    stands = {atom.args for atom in world.state() if atom.predicate == 'at'}
    if sure == 6 or how in ('black', 'grey'):
        assert {atom.args for atom in seen.facts() if atom.predicate == 'at'} <= stands
    assert {a.args for a in seen.facts() if a.predicate == 'empty'} == {
        a.args for a in world.state() if a.predicate == 'empty'}


def test_a_piece_that_is_not_there_is_not_seen_in_another(world):
    world.reset(episode(SIX, (0, 3, 5, 10, 12, 15)))
    plinths, rgbd = world._episode.plinths, world.camera.observe()
    for kind, colour, words in (('cube', 'green', 'something red is seen'),
                                ('cone', 'red', 'a cube is seen'),
                                ('pyramid', 'red', 'a cube is seen')):
        told = [dataclasses.replace(plinths[0], name=f'{colour}_{kind}', kind=kind, colour=colour),
                *plinths[1:]]
        seen = see_board(rgbd, world.robot, told, 4)
        assert any(words in text for text in seen.warnings), seen.warnings
        assert told[0].name not in seen.places_m


@pytest.mark.parametrize(('shift_m', 'turn_deg', 'words'), [
    ((0.03, 0.0), 0.0, 'mm aside of the middles of their cells (x '),
    ((0.0, -0.04), 0.0, 'mm aside of the middles of their cells (x '),
    ((0.0, 0.0), 6.0, 'all pieces are seen turned by'), ((0.005, 0.005), 1.0, '')])
def test_pieces_that_all_stand_aside_are_said(world, shift_m, turn_deg, words):
    """The camera does not hang where its pose has it, or the board was pushed."""
    world.reset(episode(SIX, (1, 4, 7, 9, 10, 14)))
    pose = world.robot.camera.pose.copy()
    c, s = math.cos(math.radians(turn_deg)), math.sin(math.radians(turn_deg))
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    pose[:3, :3], pose[:3, 3] = turn @ pose[:3, :3], turn @ pose[:3, 3] + (*shift_m, 0.0)
    robot = dataclasses.replace(world.robot, camera=dataclasses.replace(
        world.robot.camera, pose=pose))
    seen = see_board(world.camera.observe(), robot, world._episode.plinths, 4)
    assert bool(seen.warnings) is bool(words)
    assert not words or any(words in text and 'calibrate' in text for text in seen.warnings)


@pytest.mark.parametrize('how', ['black', 'grey', 'bgr'])
def test_nothing_moves_by_a_picture_with_wrong_colours(world, how):
    world.reset(episode(SIX, (0, 3, 5, 10, 12, 15)))
    observe = world.skills._camera.observe
    world.skills._camera.observe = lambda *args: altered(observe(*args), how)
    try:
        before = world.state()
        result = move(world, 'red_cube', 'up')
        assert world.skill_reports[-1].cause == 'unclear', result.message
        assert 'surely' in result.message
        assert (world.last_outcome(), world.state()) == ('no_op', before)
        with pytest.raises(WorldError, match='the board is not ready.*surely'):
            world.skills.reset(world._episode.spec.problem)
    finally:
        del world.skills._camera.observe


# --- episodes ------------------------------------------------------------------------------------

def test_an_episode(world):
    assert isinstance(world, World) and isinstance(world, TruthSource)
    world.reset(episode(BOARD, START, (4, 1, 15)))
    first, begun = world.observe(), world.now_ns()
    assert first.depth_m is None and first.image.shape == (90, 120, 3)
    for piece, direction, message in (('red_cube', 'right', 'destination occupied'),
                                      ('red_cube', 'down', 'destination out of bounds'),
                                      ('no_cube', 'up', 'no_cube is not a piece')):
        refused = move(world, piece, direction)
        assert (refused.status, world.last_outcome()) == (REJECTED, 'illegal')
        assert message in refused.message
    assert world.arm.poses().stamp_s * 1e9 < begun + 1e9
    assert world.observe().image_id == first.image_id

    goal = world.goal_observation()
    done = move(world, 'red_cube', 'up')
    assert (done.status, done.message, world.last_outcome()) == (DONE, '', 'success')
    assert world.state() == world.state(GOAL_NS) and at('red_cube', 'a2') in world.state()
    assert at('red_cube', 'a1') in world.state(begun)
    assert np.linalg.norm(world._table.places()['red_cube'][0][:2]
                          - cell_centres_m(4, PITCH)[4]) < 0.005
    assert world.observe().image_id == goal.image_id != first.image_id
    assert [report.cause for report in world.skill_reports] == [
        'taken', 'off_board', 'unknown', 'done']


def test_an_episode_is_the_same_as_another_one_with_its_seed(world):
    def play(seed):
        world.reset(episode(BOARD, START, seed=seed))
        return world.arm.poses().blocks

    assert play(3) == play(3) != play(4)


def test_a_plinth_that_slips_is_a_move_that_failed():
    with ArmSlidingWorld(Settings(execution='arm', friction=0.0, **SMALL),
                         skill_settings={'regrasps': 0}) as slippery:
        slippery.reset(episode(BOARD, START))
        before = slippery.state()
        failed = move(slippery, 'green_pyramid', 'left')
        assert failed.status is DONE and 'the fingers closed to' in failed.message
        assert slippery.skill_reports[-1].cause in ('missed_grasp', 'dropped')
        assert slippery.last_outcome() == ('no_op' if slippery.state() == before else 'disturbed')
        assert at('green_pyramid', 'c4') not in slippery.state()


@pytest.mark.parametrize(('settings', 'message'), [
    ({'robot': 'panda'}, 'does not look down.*panda_tabletop'), ({'robot': 'ur5e'}, 'ur5e'),
    ({'depth_dropout': 2.0}, 'depth_dropout')])
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        make_world(execution='arm', **settings)


def test_episodes_that_cannot_be_shown_are_refused(world):
    for spec, message in (
            (episode(BOARD, START, failure=0.1), 'failure_probability is 0.1'),
            (episode(Board(3, ('tile_1',), ('tile',)), (0,)), 'tile_1: there are plinths'),
            (episode(*geoms(6, 3)), 'room for 5')):
        with pytest.raises(InputError, match=message):
            world.check([spec])
        with pytest.raises(WorldError, match=message):
            world.reset(spec)


def test_the_robot_is_part_of_the_identity():
    assert world_identity({}) == {}
    found = world_identity({'execution': 'arm'})
    assert found == world_identity({'execution': 'arm', 'robot': 'panda_tabletop'})
    assert found != world_identity({'execution': 'arm', 'robot': 'panda'})


@pytest.mark.slow
@pytest.mark.parametrize('full', [False, True])
def test_neighbours_on_all_sides_are_not_touched(world, full):
    """A piece in the middle of others goes to the only free cell, and comes back."""
    cells = [cell for cell in range(16) if cell not in (6, 7)]
    board, _ = geoms(4, 14 if full else 8, 5)
    places = (5, *[cell for cell in cells if cell != 5][:len(board.pieces) - 1])
    world.reset(episode(board, places))
    before = {name: frame[0] for name, frame in world._table.places().items()}
    for direction in ('right', 'left'):
        assert move(world, board.pieces[0], direction).message == ''
        assert world.last_outcome() == 'success'
    for name, (origin, _) in world._table.places().items():
        assert np.linalg.norm(origin - before[name]) < 0.005, (name, cell_names(4)[places[0]])


@pytest.mark.slow
@pytest.mark.parametrize('method', ['astar', 'ground'])
def test_a_puzzle_is_solved(method, tmp_path):
    name = 'SGP_b_4_g_4_c1_3_c2_0_i_21.json'
    (tmp_path / 'problems').mkdir()
    shutil.copy(load_domain('sliding').split_folder('geoms') / name, tmp_path / 'problems')
    done = run(RunSettings(domain='sliding', problems=str(tmp_path / 'problems'), method=method,
                           world_options={'execution': 'arm'}, out=str(tmp_path / 'run')))
    assert done['solved'] == 1
