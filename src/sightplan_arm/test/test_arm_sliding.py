"""Sliding puzzles as motions: plinths and cells, room for the fingers, what is refused."""

import math

import numpy as np
import pytest

from sightplan.domains.sliding.boards import SHAPES, Board, cell_names, next_atoms
from sightplan.model import Action, Atom, Belief, FeedbackStatus, InputError, Problem, WorldError
from sightplan_arm.board_perception import SeenBoard
from sightplan_arm.config import load_robot
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.plinths import (
    GEOM_M,
    GRIP_M,
    HEIGHT_M,
    PAINTS,
    WIDTH_M,
    PlinthPiece,
    cell_at,
    cell_centres_m,
    pieces_of,
    plinth_outline,
)
from sightplan_arm.skills.sliding import YAWS_RAD, fits, make_skills
from skill_doubles import OpenGate, Table

ROBOT = load_robot('panda_tabletop')
KINEMATICS = Kinematics(ROBOT)
PITCH = ROBOT.table.spacing_m


def problem(*pieces, size=4):
    kinds = ('tile' if name.startswith('tile') else name.rpartition('_')[2] for name in pieces)
    board = Board(size, pieces, tuple(kinds))
    return Problem('p', 'sliding', {**dict(zip(board.pieces, board.kinds, strict=True)),
                                    **dict.fromkeys(cell_names(size), 'cell')},
                   next_atoms(size), ())


def test_every_geom_is_narrower_than_its_plinth_and_fits_under_the_hand():
    hand = ROBOT.gripper.hand
    assert ROBOT.safety.box_min_m[2] < GRIP_M - hand.below_tip_m < HEIGHT_M
    assert GRIP_M + hand.above_tip_m > HEIGHT_M + GEOM_M + 0.003
    grid = np.arange(-0.03, 0.0301, 0.0005)
    x, y = (part.ravel() for part in np.meshgrid(grid, grid))
    for kind in SHAPES:
        heights = PlinthPiece(f'red_{kind}', kind, 'red').height_m(x, y)
        geom = heights > HEIGHT_M + 1e-6
        assert heights.max() == pytest.approx(
            HEIGHT_M + PlinthPiece('', kind, 'red').tall_m, abs=1e-3), kind
        assert np.maximum(abs(x), abs(y))[geom].max() < WIDTH_M / 2 - 0.005, kind
        assert set(heights[np.hypot(x, y) > 0.027]) == {0.0}, kind
    outline = plinth_outline()
    for turn in range(8):  # opposite sides, whichever way the hand is turned by 45 degrees
        along = np.array([math.cos(turn * math.pi / 4), math.sin(turn * math.pi / 4)])
        assert (outline @ along).max() == pytest.approx(WIDTH_M / 2)


def test_shapes_differ_in_height_somewhere():
    grid = np.arange(-0.021, 0.0211, 0.003)
    x, y = (part.ravel() for part in np.meshgrid(grid, grid))
    heights = {kind: PlinthPiece('', kind, 'red').height_m(x, y) for kind in SHAPES}
    off = [np.abs(heights[a] - heights[b]).max() for a in SHAPES for b in SHAPES if a < b]
    assert min(off) > 0.003


def test_cells_are_found_at_their_middles_and_nowhere_beside_the_board():
    for size in (2, 4, 5):
        centres = cell_centres_m(size, PITCH)
        for cell, centre in enumerate(centres):
            for shift in ((0.0, 0.0), (0.04, -0.04)):
                assert cell_at(centre + shift, size, PITCH) == cell
        assert cell_at(centres[0] - (0.05, 0.0), size, PITCH) is None
        assert cell_at(centres[-1] + (0.0, 0.05), size, PITCH) is None
    a1, b1 = cell_centres_m(4, PITCH)[:2]  # near left, and right of it
    assert a1 == pytest.approx([-1.5 * PITCH, -1.5 * PITCH])
    assert b1 == pytest.approx([-0.5 * PITCH, -1.5 * PITCH])


def test_fingers_fit_between_neighbours_on_all_sides():
    around = [np.array([x, y]) * PITCH for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    shaken = [place + np.random.default_rng(1).uniform(-0.01, 0.01, 2) for place in around]
    for yaw in YAWS_RAD:
        assert fits(np.zeros(2), yaw, around, ROBOT)
        assert fits(np.zeros(2), yaw, shaken, ROBOT)
    near = [np.array([0.055, 0.045])]
    assert not fits(np.zeros(2), -math.pi / 4, near, ROBOT)  # along it the fingers open
    assert fits(np.zeros(2), math.pi / 4, near, ROBOT)


def test_what_there_is_no_plinth_for_is_refused():
    size, pieces = pieces_of(problem('red_cube', 'blue_cone'), ROBOT)
    assert (size, [p.kind for p in pieces]) == (4, ['cube', 'cone'])
    for wrong, message in ((problem('pink_cube'), 'pink_cube.*red, green'),
                           (problem('tile_3'), 'tile_3: there are plinths with'),
                           (problem('red_cube', size=6), 'room for 5.*max_columns')):
        with pytest.raises(InputError, match=message):
            pieces_of(wrong, ROBOT)
    assert {'red', 'green', 'blue', 'yellow'} <= set(PAINTS)


def test_unknown_settings_are_named():
    with pytest.raises(InputError, match='no_such'):
        make_skills(ROBOT, None, None, OpenGate(None), None, no_such=1)


class Bench:
    """Skills that see what they are told, with an arm between whose fingers there is nothing."""

    def __init__(self, **cells):
        self.arm = Table(ROBOT, KINEMATICS)
        self.gate = OpenGate(self.arm)
        self.skills = make_skills(ROBOT, self.arm, None, self.gate, KINEMATICS)
        self.skills._observe = lambda: self.seen
        self.see(**cells)
        self.skills.reset(problem(*cells))
        self.arm.sent.clear()

    def see(self, *warnings, **cells):
        centres = cell_centres_m(4, PITCH)
        self.seen = SeenBoard(4, {name: np.array([9.0, 9.0]) if cell is None else centres[cell]
                                  for name, cell in cells.items()}, cells, warnings)

    def move(self, *args):
        result = self.skills.execute(Action('move', args))
        assert self.skills.reports[-1] is result.report
        return result.feedback.status, result.report.cause, result.feedback.message


REJECTED, EXECUTED = FeedbackStatus.REJECTED, FeedbackStatus.EXECUTED


def test_moves_that_cannot_be_are_rejected_and_nothing_moves():
    bench = Bench(red_cube=0, blue_cone=1)
    assert bench.move('red_cube', 'right') == (REJECTED, 'taken', 'destination occupied')
    assert bench.move('red_cube', 'down') == (REJECTED, 'off_board', 'destination out of bounds')
    for args in (('red_cube', 'north'), ('red_cone', 'up'), ('red_cube',)):
        assert bench.move(*args)[:2] == (REJECTED, 'unknown')
    assert bench.arm.sent == []


def test_what_is_odd_or_not_believed_is_not_touched():
    bench = Bench(red_cube=0, blue_cone=1)
    bench.skills.expect(Belief(frozenset(), {Atom('empty', ('a2',)): 0.02}))
    assert bench.move('red_cube', 'up')[:2] == (EXECUTED, 'belief_mismatch')
    bench.skills.expect(Belief(frozenset(), {Atom('at', ('blue_cone', 'd4')): 0.99}))
    bench.see('blue_cone is not seen', red_cube=0)
    assert bench.move('red_cube', 'up') == (
        EXECUTED, 'unclear', 'the camera sees what cannot be: blue_cone is not seen')
    bench.see(red_cube=None, blue_cone=1)
    assert bench.move('red_cube', 'up')[1:] == ('unclear', 'red_cube stands on no cell')
    assert bench.arm.sent == []
    with pytest.raises(WorldError, match='red_cube stands on no cell'):
        bench.skills.reset(problem('red_cube', 'blue_cone'))
    with pytest.raises(WorldError, match='no episode'):
        bench.move('blue_cone', 'up')


def test_a_pick_that_holds_nothing_is_tried_again_and_then_said_to_have_failed():
    bench = Bench(red_cube=5, blue_cone=6)
    status, cause, message = bench.move('red_cube', 'up')
    assert (status, cause) == (EXECUTED, 'missed_grasp') and 'nothing is between them' in message
    assert bench.gate.motions.count('grasp red_cube') == 2
    assert np.allclose(bench.arm.posture, ROBOT.arm.park)


def test_the_hand_comes_down_turned_by_45_degrees_over_the_middle():
    bench = Bench(red_cube=5, blue_cone=6)
    lows = []
    follow = bench.gate.follow

    def noted(trajectory, what, around, **options):
        done = follow(trajectory, what, around, **options)
        lows.append((what, bench.arm._tip()))
        return done

    bench.gate.follow = noted
    bench.move('red_cube', 'up')
    tip = next(tip for what, tip in lows if what == 'down to red_cube')
    assert tip[:3, 3] == pytest.approx([*cell_centres_m(4, PITCH)[5], GRIP_M], abs=1e-3)
    assert abs(tip[0, 1]) == pytest.approx(abs(tip[1, 1]), abs=1e-3)
