"""Cubes from colour and depth: exact where they stand, and warnings where they should not."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from box_pictures import BLOCK_M, MATRIX, Box, camera_pose, picture
from sightplan.domains import load_domain
from sightplan.model import InputError, ProblemError
from sightplan_arm.camera_alignment import misaligned
from sightplan_arm.geometry import rotation_from_vector
from sightplan_arm.perception import (
    COLOUR_OF_KEY,
    COLOURS,
    Cube,
    arrange,
    block_colours,
    overlay,
    see_table,
)

COLUMNS_M = (-0.18, -0.09, 0.0, 0.09, 0.18)
NAMES = {'r': 'red', 'g': 'green', 'b': 'blue', 'y': 'yellow', 'p': 'purple', 'o': 'orange'}


def block(colour, column, level=0, yaw_deg=0.0, dx=0.0, dy=0.0):
    return Box(colour, (COLUMNS_M[column] + dx, dy, (level + 0.5) * BLOCK_M), yaw_deg)


def tipped(colour, pitch_deg, roll_deg, yaw_deg=0.0):
    """A leaning block whose lowest corner touches the table."""
    box = Box(colour, (0.0, 0.0, 0.0), yaw_deg, pitch_deg, roll_deg)
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * BLOCK_M / 2 @ box.axes().T
    return dataclasses.replace(box, centre_m=(0.0, 0.0, -float(corners[:, 2].min())))


SIX = [block('red', 0, 0, 20), block('green', 0, 1, -31), block('blue', 1, 0, 32, dy=0.006),
       block('yellow', 3, 0, -12, dx=0.004), block('purple', 3, 1, 5), block('orange', 3, 2, 44)]


def see(boxes, wanted=None, **options):
    colours = {name: colour for name, colour in NAMES.items()
               if colour in (wanted or [box.colour for box in boxes])}
    pose = options.get('pose', camera_pose())
    return see_table(picture(boxes, **options), pose, colours, BLOCK_M, COLUMNS_M)


def errors(seen, boxes):
    """(N, 4) millimetres and degrees."""
    rows = []
    for box in boxes:
        cube = seen.cubes[box.colour[0]]
        turn = (math.degrees(cube.yaw_rad) - box.yaw_deg + 45) % 90 - 45
        rows.append([*(1e3 * (cube.centre_m - box.centre_m)), turn])
    return np.abs(rows)


def kinds(seen):
    return sorted(warning.kind for warning in seen.warnings)


@pytest.mark.parametrize('options', [
    {}, {'noise_m': 0.002, 'dropouts': 0.05}, {'noise_m': 0.005, 'dropouts': 0.05, 'seed': 1},
    {'distortion': np.array([0.09, -0.22, 0.001, -0.0015, 0.1]), 'noise_m': 0.002},
    {'pose': camera_pose(32.0, 1.1, (0.05, 0.0, 0.1)), 'noise_m': 0.002},
    {'table_rgb': (164, 116, 73), 'noise_m': 0.002}])
def test_cubes_are_where_they_are(options):
    seen = see(SIX, **options)
    assert seen.stacks == (('r', 'g'), ('b',), (), ('y', 'p', 'o'), ())
    assert not seen.warnings
    assert (errors(seen, SIX) < (1.0, 1.0, 1.0, 2.0)).all()


def test_a_wrong_camera_pose_shifts_what_is_seen_and_nothing_else():
    pose = camera_pose()
    pose[:3, 3] += (0.003, -0.002, 0.002)
    seen = see_table(picture(SIX, noise_m=0.002), pose, NAMES, BLOCK_M, COLUMNS_M)
    assert not seen.warnings
    shifts = [seen.cubes[box.colour[0]].centre_m - box.centre_m for box in SIX]
    assert np.allclose(shifts, (0.003, -0.002, 0.002), atol=0.001)


def test_distortion_that_is_not_told_costs_accuracy():
    strong = np.array([0.3, 0.0, 0.0, 0.0, 0.0])
    rgbd = picture(SIX, distortion=strong)
    told = see_table(rgbd, camera_pose(), NAMES, BLOCK_M, COLUMNS_M)
    untold = see_table(dataclasses.replace(rgbd, distortion=np.zeros(5)), camera_pose(), NAMES,
                       BLOCK_M, COLUMNS_M)
    assert errors(told, SIX).max() < 1.5 < errors(untold, SIX)[:, :3].max()


@pytest.mark.parametrize(('pitch', 'roll'), [(10, 0), (-30, 0), (45, 0), (0, 10), (0, -40),
                                             (35, 20)])
def test_a_tipped_cube_is_said_to_be_tipped(pitch, roll):
    seen = see([tipped('blue', pitch, roll, 15.0), block('red', 4)], noise_m=0.002)
    assert kinds(seen) == ['tipped']
    assert seen.warnings[0].blocks == ('b',)
    assert 'b is tipped' in str(seen.warnings[0])


def test_a_cube_that_leans_as_little_as_the_camera_may_be_off_is_upright():
    assert not see([tipped('blue', 1.0, 1.0)], noise_m=0.002).warnings


@pytest.mark.parametrize(('boxes', 'wanted', 'kind', 'words'), [
    ([block('red', 1, dx=0.045)], None, 'between_columns', 'between columns'),
    ([block('red', 1, dy=0.04)], None, 'out_of_row', '40 mm behind'),
    ([block('red', 1, 1)], None, 'gap', 'r is 50 mm above the table in column 2'),
    ([block('red', 1), block('red', 3)], None, 'twice', 'r is seen twice'),
    ([block('red', 1)], ['red', 'green'], 'missing', 'g is not seen'),
    ([block('red', 1), block('green', 2)], ['red'], 'unknown_block', 'a green block'),
    ([block('red', 1), block('grey', 2)], ['red'], 'foreign', 'not a block'),
    ([Box('red', (0.26, 0.0, 0.025))], None, 'cut_off', 'partly out of the picture'),
    ([Box('red', (0.0, 0.0, 0.05), sides_m=(0.05, 0.05, 0.1))], None, 'not_a_cube',
     'does not look like a cube'),
])
def test_what_is_not_as_expected_is_said(boxes, wanted, kind, words):
    seen = see(boxes, wanted, noise_m=0.001)
    warning = next(c for c in seen.warnings if c.kind == kind)
    assert words in str(warning)
    extra = {'cut_off': {'between_columns'}, 'not_a_cube': {'gap'}}.get(kind, set())
    assert set(kinds(seen)) - extra == {kind}


def test_a_hand_before_a_cube_is_foreign_and_the_cube_stays_where_it_is():
    boxes = [block('blue', 2, yaw_deg=10)]
    hand = Box('white', (-0.02, -0.06, 0.12), sides_m=(0.02, 0.02, 0.2))
    seen = see([*boxes, hand], ['blue'])
    assert kinds(seen) == ['foreign']
    assert (errors(seen, boxes) < 2.0).all()


def test_an_empty_table_and_one_without_depth():
    assert see([], ['red']).stacks == ((),) * 5
    assert kinds(see([], ['red'])) == ['missing']
    assert 'no_depth' in kinds(see(SIX, dropouts=0.99))


def test_a_missing_block_does_not_lend_its_colour_to_another():
    """Yellow is expected, orange is there: it stays orange."""
    seen = see([block('orange', 0)], ['yellow'])
    assert kinds(seen) == ['missing', 'unknown_block']
    assert seen.stacks == ((),) * 5


def test_cubes_are_the_blocks_of_the_problem_only():
    found = see_table(picture(SIX), camera_pose(), {'r': 'red', 'o': 'orange'}, BLOCK_M,
                      COLUMNS_M).cubes
    assert sorted(found) == ['o', 'r']
    assert found['o'].colour == 'orange'
    assert found['o'].pixels > 1000


def with_pads(rgbd, pose):
    """The picture with a dark pad under each column, as far as nothing covers it."""
    rows, columns = np.indices(rgbd.depth_m.shape)
    rays = np.stack([columns, rows, np.ones_like(rows)], -1) @ np.linalg.inv(MATRIX).T
    x, y, z = np.moveaxis(rgbd.depth_m[..., None] * (rays @ pose[:3, :3].T) + pose[:3, 3], -1, 0)
    away = np.abs(x[..., None] - COLUMNS_M[:4]).min(axis=-1)
    pad = (np.abs(z) < 0.004) & (away < 0.038) & (np.abs(y) < 0.046)
    rgb = rgbd.rgb.copy()
    rgb[pad] = (70, 72, 70)
    return dataclasses.replace(rgbd, rgb=rgb)


def moved(pose, shift_m=(0, 0, 0), turn_deg=(0, 0, 0)):
    found = pose.copy()
    found[:3, :3] = rotation_from_vector(np.radians(turn_deg)) @ pose[:3, :3]
    found[:3, 3] += shift_m
    return found


FOUR = [block('red', 0, 0, 8), block('green', 1, 0, -5), block('blue', 1, 1, 4)]


@pytest.mark.parametrize(('shift_m', 'turn_deg', 'words'), [
    ((0.09, 0, 0), (0, 0, 0), r'(87|9\d) mm to the right'),
    ((-0.09, 0, 0), (0, 0, 0), r'(87|9\d) mm to the left'),
    ((0, 0, 0.09), (0, 0, 0), 'pixels that'),
    ((0, 0, 0), (0, 0, 5), 'mm to the left'), ((0, 0, 0), (0, 0, -5), 'mm to the right'),
    ((0, 0, 0), (5, 0, 0), 'too high|pixels that'), ((0, 0, 0), (-5, 0, 0), 'too low|pixels that'),
    ((0, 0, 0), (0, 5, 0), 'tilted'), ((0, 0, 0.022), (0, 0, 0), '22 mm too high')])
def test_a_camera_that_hangs_elsewhere_is_said(shift_m, turn_deg, words):
    """Before, every block was a column off, and nothing said so."""
    rgbd = with_pads(picture(FOUR, noise_m=0.001), camera_pose())
    columns, names = COLUMNS_M[:4], {key: NAMES[key] for key in 'rgb'}
    assert not see_table(rgbd, camera_pose(), names, BLOCK_M, columns).warnings
    seen = see_table(rgbd, moved(camera_pose(), shift_m, turn_deg), names, BLOCK_M, columns)
    assert kinds(seen).count('misaligned') == 1
    first = seen.warnings[0]
    assert first.kind == 'misaligned' and not first.blocks
    assert re.search(words, str(first)) and 'sightplan arm calibrate' in str(first)


@pytest.mark.parametrize('pads', [False, True])
@pytest.mark.parametrize('seed', range(6))
def test_a_camera_as_good_as_calibrations_are_is_let_pass(pads, seed):
    rng = np.random.default_rng(seed)
    rgbd = picture(FOUR, noise_m=0.002, dropouts=0.05, seed=seed)
    if pads:
        rgbd = with_pads(rgbd, camera_pose())
    pose = moved(camera_pose(), rng.uniform(-0.003, 0.003, 3), rng.uniform(-0.35, 0.35, 3))
    assert not see_table(rgbd, pose, {key: NAMES[key] for key in 'rgb'}, BLOCK_M,
                         COLUMNS_M[:4]).warnings


@pytest.mark.parametrize('count', [2, 3, 4])
@pytest.mark.parametrize('seed', range(12))
def test_shadows_and_uneven_light_are_no_pads(count, seed):
    """With two columns some passed for pads that are elsewhere, and nothing moved."""
    rng = np.random.default_rng(seed)
    pose = camera_pose()
    rgbd = picture([block('red', 0, 0, 8), block('green', 1, 0, -5)], noise_m=0.001)
    rays = np.stack([*np.meshgrid(*map(np.arange, rgbd.depth_m.shape[::-1])),
                     np.ones(rgbd.depth_m.shape)], -1) @ np.linalg.inv(MATRIX).T
    x = rgbd.depth_m * (rays @ pose[:3, :3].T)[..., 0] + pose[0, 3]
    light = 1.0 - 0.3 * (np.abs(x - rng.uniform(-0.2, 0.2)) < rng.uniform(0.02, 0.15))
    light += 0.1 * np.sin(rng.uniform(5, 30) * x + rng.uniform(0, 6))
    lit = dataclasses.replace(rgbd, rgb=(rgbd.rgb * light[..., None]).clip(0, 255).astype(
        np.uint8))
    assert not misaligned(lit, pose, COLUMNS_M[:count])


def test_depth_in_a_wrong_unit_is_said():
    rgbd = picture(FOUR)
    for factor in (0.25, 4.0):
        scaled = dataclasses.replace(rgbd, depth_m=rgbd.depth_m * np.float32(factor))
        seen = see_table(scaled, camera_pose(), {key: NAMES[key] for key in 'rgb'}, BLOCK_M,
                         COLUMNS_M)
        assert 'misaligned' in kinds(seen)
        assert 'camera.depth_scale_m' in str(seen.warnings[0])


@pytest.mark.parametrize(('there', 'wanted', 'gains'), [
    ('orange', 'yellow', (0.75, 1.0, 1.0)), ('yellow', 'orange', (1.0, 0.8, 1.0)),
    ('purple', 'red', (1.0, 1.0, 0.5)), ('purple', 'red', (1.0, 1.0, 0.45))])
def test_a_colour_that_the_light_leaves_open_is_said(there, wanted, gains):
    """One block alone, in a light that is far from white."""
    rgbd = picture([block(there, 1)], noise_m=0.001)
    lit = dataclasses.replace(rgbd, rgb=(rgbd.rgb * gains).astype(np.uint8))
    seen = see_table(lit, camera_pose(), {'x': wanted}, BLOCK_M, COLUMNS_M)
    assert kinds(seen) in (['ambiguous'], ['ambiguous', 'missing', 'unknown_block'])
    right = see_table(picture([block(wanted, 1)]), camera_pose(), {'x': wanted}, BLOCK_M,
                      COLUMNS_M)
    assert not right.warnings


@pytest.mark.parametrize('colours', [('orange', 'blue'), ('orange', 'green', 'blue'),
                                     ('red', 'blue'), ('yellow', 'purple'), tuple(NAMES.values())])
def test_red_and_blue_that_are_exchanged_are_noticed(colours):
    """Before, blocks of two colours changed places without a word."""
    rgbd = picture([block(colour, column % 5, column // 5)
                    for column, colour in enumerate(colours)], noise_m=0.001)
    names = {key: colour for key, colour in NAMES.items() if colour in colours}
    assert not see_table(rgbd, camera_pose(), names, BLOCK_M, COLUMNS_M).warnings
    wrong = dataclasses.replace(rgbd, rgb=np.ascontiguousarray(rgbd.rgb[:, :, ::-1]))
    seen = see_table(wrong, camera_pose(), names, BLOCK_M, COLUMNS_M)
    assert {'exchanged', 'ambiguous', 'missing'} & set(kinds(seen))
    assert colours[0] != 'orange' or 'exchanged' in kinds(seen)


@pytest.mark.parametrize('how', ['black', 'grey'])
def test_a_picture_without_colours_shows_no_block(how):
    rgbd = picture(FOUR)
    grey = np.repeat(rgbd.rgb.mean(axis=2, keepdims=True), 3, axis=2) * (how == 'grey')
    seen = see_table(dataclasses.replace(rgbd, rgb=grey.astype(np.uint8)), camera_pose(),
                     {key: NAMES[key] for key in 'rgb'}, BLOCK_M, COLUMNS_M)
    assert not seen.cubes and kinds(seen).count('missing') == 3


def cube(name, x, z, y=0.0, pixels=3000):
    return Cube(name, 'red', np.array([x, y, z]), 0.0, pixels, 0.001, 0.3)


def test_columns_are_nearest_and_levels_by_height():
    seen = arrange([cube('a', 0.095, 0.075), cube('b', 0.085, 0.025), cube('c', -0.19, 0.026)],
                   COLUMNS_M, BLOCK_M)
    assert seen.stacks == (('c',), (), (), ('b', 'a'), ())
    assert (seen.column('a'), seen.column('z')) == (3, None)
    assert (seen.top(3), seen.top(1)) == ('a', None)
    assert not seen.warnings


def test_a_cube_beyond_half_the_spacing_is_in_no_column():
    seen = arrange([cube('a', 0.23, 0.025)], COLUMNS_M, BLOCK_M)
    assert seen.stacks == ((),) * 5
    assert kinds(seen) == ['between_columns']


def test_two_in_one_place_are_said():
    assert kinds(arrange([cube('a', 0.0, 0.025), cube('b', 0.0, 0.03)], COLUMNS_M, BLOCK_M)) == [
        'crossed']


def test_of_two_with_one_name_the_larger_counts():
    seen = arrange([cube('a', 0.0, 0.025, pixels=900), cube('a', 0.09, 0.025)], COLUMNS_M, BLOCK_M)
    assert seen.stacks[3] == ('a',)
    assert kinds(seen) == ['twice']


def test_blocks_have_the_colours_of_their_names():
    problem = load_domain('blocksworld').split_problems('hard')[0]
    colours = block_colours(problem)
    assert set(colours) == set(problem.of_type('block'))
    assert set(colours.values()) <= set(COLOURS) == set(COLOUR_OF_KEY.values())
    with pytest.raises(ProblemError, match='says nothing about it'):
        block_colours(dataclasses.replace(problem, objects={'thing7': 'block'}))


@pytest.mark.parametrize(('change', 'message'), [
    ({'rgb': np.zeros((480, 640), np.uint8)}, r'\(H, W, 3\) uint8'),
    ({'rgb': np.zeros((480, 640, 3), np.float32)}, 'uint8'),
    ({'depth_m': np.zeros((240, 320), np.float32)}, 'aligned'),
    ({'matrix': np.zeros((3, 3))}, 'camera matrix'),
    ({'distortion': np.zeros(3)}, 'distortion'),
    ({'distortion': np.array([0.1, np.nan, 0, 0, 0])}, 'distortion')])
def test_pictures_that_cannot_be_used_are_named(change, message):
    rgbd = dataclasses.replace(picture([]), **change)
    with pytest.raises(InputError, match=message):
        see_table(rgbd, camera_pose(), NAMES, BLOCK_M, COLUMNS_M)


@pytest.mark.parametrize(('arguments', 'message'), [
    ({'colours': {'a': 'pink'}}, "unknown colour 'pink'"),
    ({'colours': {'a': 'red', 'b': 'red'}}, 'cannot be told apart'),
    ({'camera_pose_table': np.zeros((4, 4))}, 'pose of the camera'),
    ({'camera_pose_table': np.diag([1.0, 1.0, -1.0, 1.0])}, 'pose of the camera'),
    ({'camera_pose_table': np.eye(3)}, 'pose of the camera')])
def test_arguments_that_cannot_be_are_named(arguments, message):
    whole = {'camera_pose_table': camera_pose(), 'colours': NAMES, 'block_m': BLOCK_M,
             'column_x_m': COLUMNS_M, **arguments}
    with pytest.raises(InputError, match=message):
        see_table(picture([]), **whole)


def test_nan_and_infinite_depth_count_as_unknown():
    rgbd = picture(SIX)
    depth = rgbd.depth_m.copy()
    depth[::3] = np.nan
    depth[1::7] = np.inf
    seen = see_table(dataclasses.replace(rgbd, depth_m=depth), camera_pose(), NAMES, BLOCK_M,
                     COLUMNS_M)
    assert not seen.warnings
    assert (errors(seen, SIX) < (1.0, 1.0, 1.0, 2.0)).all()


def test_pixels_between_near_and_far_do_not_matter():
    """Depth cameras invent points in the air at the edges of things."""
    rgbd = picture(SIX, noise_m=0.002)
    depth = rgbd.depth_m.copy()
    jump = np.abs(np.diff(depth, axis=1)) > 0.03
    depth[:, 1:][jump] = (0.5 * (depth[:, 1:] + depth[:, :-1]))[jump]
    seen = see_table(dataclasses.replace(rgbd, depth_m=depth), camera_pose(), NAMES, BLOCK_M,
                     COLUMNS_M)
    assert not seen.warnings
    assert (errors(seen, SIX) < (1.0, 1.0, 1.0, 2.0)).all()


def test_a_smaller_picture_will_do():
    matrix = np.array([[564.5, 0, 159.5], [0, 564.5, 119.5], [0, 0, 1]])
    seen = see(SIX, matrix=matrix, size=(320, 240), noise_m=0.002)
    assert not seen.warnings
    assert (errors(seen, SIX) < (1.5, 1.5, 1.5, 3.0)).all()


@pytest.mark.parametrize('strength', [1.0, 2.0])
def test_every_look_of_the_simulated_table(strength):
    """Rendered pictures: light, paint, texture and stance at random, depth with noise."""
    scenes = pytest.importorskip('sightplan_sim.blocksworld.scene')
    rng = np.random.default_rng(7)
    with scenes.BlocksScene() as scene:
        for stacks in (('rgb', '', 'yop'), ('o', 'y', 'r', 'p'), ('', 'pgyobr', ''),
                       ('yr', '', 'po', 'g', 'b')):
            look = scenes.sample_look(rng, strength)
            frame = scene.render(stacks, [f'c{i}' for i in range(len(stacks))], look)
            layout = scene.layout(len(stacks), sum(map(len, stacks)))
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = frame.camera.axes, frame.camera.position_m
            noisy = frame.depth_m + rng.normal(0, 0.002, frame.depth_m.shape)
            noisy[rng.random(noisy.shape) < 0.05] = 0.0
            rgbd = dataclasses.replace(
                picture([]), rgb=frame.rgb, depth_m=noisy.astype(np.float32),
                matrix=scene.optics.matrix())
            colours = {key: NAMES[key] for stack in stacks for key in stack}
            seen = see_table(rgbd, pose, colours, BLOCK_M, layout.column_x_m)
            assert seen.stacks == tuple(map(tuple, stacks))
            assert not seen.warnings
            for column, stack in enumerate(stacks):
                for level, key in enumerate(stack):
                    placement = look.placements[scenes.COLOURS.index(key)]
                    centre, yaw = scene.block_pose(layout, column, level, placement)
                    assert np.abs(seen.cubes[key].centre_m - centre).max() < 0.002
                    turn = seen.cubes[key].yaw_rad - yaw
                    assert abs((turn + math.pi / 4) % (math.pi / 2) - math.pi / 4) < 0.05


@pytest.mark.parametrize('others', [[], [block('yellow', 4)]])
def test_a_face_that_glare_turns_into_another_colour_stays_with_its_cube(others):
    """The top of an orange block shines yellow, whether a yellow block is there or not."""
    boxes = [block('orange', 2, yaw_deg=12), *others]
    rgbd = picture(boxes, noise_m=0.002)
    front = rgbd.rgb[250:430, 300:340].reshape(-1, 3)
    orange = front[(front[:, 0] > 200) & (front[:, 2] < 60)]
    shades, counts = np.unique(orange, axis=0, return_counts=True)
    top = shades[np.argsort(counts)[-2]]  # the second largest face
    rgb = rgbd.rgb.copy()
    shining = (rgb == top).all(axis=2)
    assert shining.sum() > 400
    rgb[shining] = (255, 205, 12)
    colours = {box.colour[0]: box.colour for box in boxes}
    seen = see_table(dataclasses.replace(rgbd, rgb=rgb), camera_pose(), colours, BLOCK_M,
                     COLUMNS_M)
    assert not seen.warnings
    assert (errors(seen, boxes) < (1.0, 1.0, 1.0, 2.0)).all()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_whatever_is_in_the_picture_what_comes_out_is_sound(seed):
    """Boxes of any size and attitude, cameras anywhere, noise, gaps, even pure chance."""
    rng = np.random.default_rng(seed)
    boxes = [Box(str(rng.choice(['grey', *COLOURS])),
                 tuple(rng.uniform((-0.3, -0.1, -0.02), (0.3, 0.12, 0.35))),
                 *rng.uniform(-180, 180, 3), tuple(rng.uniform(0.01, 0.15, 3)))
             for _ in range(rng.integers(0, 7))]
    matrix = np.diag([0.25, 0.25, 1.0]) @ MATRIX
    pose = camera_pose(rng.uniform(-5, 89), rng.uniform(0.15, 1.5))
    rgbd = picture(boxes, pose, noise_m=rng.uniform(0, 0.01), dropouts=rng.uniform(0, 1)**2,
                   matrix=matrix, size=(160, 120), seed=seed)
    if seed % 3 == 0:
        rgbd = dataclasses.replace(
            rgbd, rgb=rng.integers(0, 256, (4, 4, 3), np.uint8).repeat(30, 0).repeat(40, 1))
    if seed % 7 == 0:
        rgbd = dataclasses.replace(
            rgbd, depth_m=rng.uniform(0.1, 2.0, (120, 160)).astype(np.float32))
    seen = see_table(rgbd, pose, {c: c for c in COLOURS}, BLOCK_M, COLUMNS_M)
    for found in seen.cubes.values():
        assert np.isfinite([*found.centre_m, found.yaw_rad, found.residual_m]).all()
        assert -math.pi / 4 <= found.yaw_rad < math.pi / 4
    standing = [name for stack in seen.stacks for name in stack]
    assert len(standing) == len(set(standing))
    assert overlay(rgbd, pose, seen, BLOCK_M, COLUMNS_M).shape == rgbd.rgb.shape


def test_a_camera_above_the_table_sees_what_stands_side_by_side():
    pose = camera_pose(70.0, 0.9, (0.0, 0.0, 0.05))
    boxes = [block('red', 0, 0, 20), block('blue', 2, 0, -30), block('green', 4, 0, 10)]
    seen = see(boxes, pose=pose, noise_m=0.002)
    assert not seen.warnings
    assert (errors(seen, boxes) < (1.0, 1.0, 1.0, 2.0)).all()
