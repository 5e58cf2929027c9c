"""The camera before the arm: as the robot's file has it, with depth, and live from a process."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
import yaml

from sightplan.model import Action, InputError, WorldError
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import distance, hand_down, inverse
from sightplan_arm.hardware import Camera
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import joint_line, timed
from sightplan_sim.arm.camera_process import CameraProcess
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import Poses
from sightplan_sim.blocksworld import make_world
from sightplan_sim.blocksworld.arm_scene import (
    ARM_ID,
    ArmScene,
    Decor,
    fitted_fov_deg,
    nominal_camera,
    sense_depth,
)
from sightplan_sim.blocksworld.arm_world import ArmWorld
from sightplan_sim.blocksworld.camera import BLOCK_M, Optics, shown_extent
from sightplan_sim.blocksworld.look import COLOURS, Look
from sightplan_sim.blocksworld.scene import CORNERS
from sightplan_sim.episodes import pose_matrix
from sim_cases import episode

STACKS = {'c1': ['r', 'g'], 'c2': ['b'], 'c3': [], 'c4': ['y', 'p', 'o'], 'c5': []}


@pytest.fixture(scope='module')
def world() -> Iterator[ArmWorld]:
    with make_world(execution='arm', supersampling=1) as made:
        yield made


@pytest.fixture(scope='module')
def scene() -> Iterator[ArmScene]:
    with ArmScene(load_robot('panda'), HardwareSettings(), supersampling=1) as made:
        yield made


def poses(blocks, links=None, moving=False) -> Poses:
    return Poses(1.0, (), links or {}, blocks, moving)


def test_the_camera_hangs_where_the_robots_file_has_it(world):
    assert np.allclose(world.camera_pose(), world.robot.camera.pose, atol=1e-6)
    spacing = load_robot('panda').table.spacing_m
    assert np.allclose(np.diff(load_robot('panda').table.column_x_m(5)), spacing)


def elsewhere(tmp_path, **changes):
    """A robot's file with another camera, or another table."""
    file = load_robot('panda').file
    text = yaml.safe_load(file.read_text())
    for key, value in changes.items():
        section, field = key.split('__')
        text[section][field] = value
    path = tmp_path / 'robot.yaml'
    path.write_text(yaml.safe_dump(text))
    return str(path)


@pytest.mark.slow
def test_in_a_wide_picture_the_camera_hangs_where_the_file_has_it_and_moves_succeed():
    with make_world(execution='arm', width=1280, height=720, supersampling=1) as world:
        assert np.allclose(world.camera_pose(), world.robot.camera.pose, atol=1e-12)
        world.reset(episode(STACKS))
        assert world.observe().image.shape == (720, 1280, 3)
        world.execute(Action('moveblock', ('g', 'c3')))
        assert world.last_outcome() == 'success'


@pytest.mark.slow
def test_pictures_are_taken_from_another_pose_if_the_file_has_another_one(tmp_path):
    pose = {'xyz': [0.05, -0.95, 0.48], 'rpy_deg': [-111.0, 0.0, 2.0]}
    with make_world(execution='arm', robot=elsewhere(tmp_path, camera__pose=pose),
                    supersampling=1) as world:
        assert np.allclose(world.camera_pose()[:3, 3], pose['xyz'], atol=1e-12)
        assert np.allclose(world.camera_pose(), world.robot.camera.pose, atol=1e-12)
        world.reset(episode(STACKS))
        world.execute(Action('moveblock', ('g', 'c3')))
        assert world.last_outcome() == 'success', world.skill_reports[-1]
        world.arm.wait(0.2)  # live pictures of what still moves are coarser
        with world.camera_process() as live:  # which has a camera of its own
            assert live.request(world.arm.poses(), world.camera.decor)
            assert np.array_equal(live.wait(240.0).rgb, world.observe().image)


CALIBRATED = {'xyz': [0.008, -0.856, 0.3737], 'rpy_deg': [-106.9, 0.3, 0.7]}
"""A measured pose 14 mm and 1.2 degrees from that of the file."""


@pytest.mark.parametrize(('size', 'changes', 'fov_deg'), [
    ((640, 480), {}, (24.0, 24.0)),
    ((640, 480), {'camera__pose': CALIBRATED}, (24.5, 30.0)),
    ((480, 480), {}, (30.0, 34.0)),
    ((640, 480), {'table__max_columns': 7}, (30.0, 40.0)),
    ((640, 480), {'camera__pose': {'xyz': [0.0, -0.5, 0.38], 'rpy_deg': [-106.0, 0.0, 0.0]}},
     (40.0, 60.0))])
def test_the_view_is_widened_until_a_measured_pose_shows_every_place(
        size, changes, fov_deg, tmp_path):
    robot = load_robot(elsewhere(tmp_path, **changes))
    found = fitted_fov_deg(robot, *size)
    assert fov_deg[0] <= found <= fov_deg[1]
    optics = Optics(*size, fov_deg=found)
    pixels = nominal_camera(robot, optics).project(shown_extent(
        robot.table.max_columns, robot.table.max_level, robot.table.spacing_m))
    assert (pixels >= -0.5).all() and (pixels <= np.array(size) - 0.5).all()


def test_pictures_are_taken_with_the_widened_view(tmp_path):
    robot = load_robot(elsewhere(tmp_path, camera__pose=CALIBRATED))
    with make_world(execution='arm', robot=str(robot.file), supersampling=1) as world:
        focal_px = 240 / np.tan(np.radians(fitted_fov_deg(robot, 640, 480) / 2))
        assert np.isclose(world.camera_info().matrix[0, 0], focal_px)
        assert np.allclose(world.camera_pose(), robot.camera.pose, atol=1e-12)


@pytest.mark.parametrize('pose', [
    {'xyz': [0.0, -0.2, 0.38], 'rpy_deg': [-106.0, 0.0, 0.0]},
    {'xyz': [0.0, 0.87, 0.38], 'rpy_deg': [-106.0, 0.0, 180.0]},
    {'xyz': [0.0, -0.87, 0.38], 'rpy_deg': [-106.0, 0.0, 180.0]}])
def test_a_pose_from_which_no_camera_sees_every_place_is_refused(pose, tmp_path):
    file = elsewhere(tmp_path, camera__pose=pose)
    with pytest.raises(InputError, match=r'every place of 5 columns.*calibrate it again') as said:
        make_world(execution='arm', robot=file)
    assert str(said.value).startswith(file)


@pytest.mark.parametrize('n_columns', [1, 3, 5])
def test_it_hangs_still_and_shows_every_problem(world, n_columns):
    before = world.camera_pose()
    names = [f'c{i}' for i in range(1, n_columns + 1)]
    stacks = {name: [] for name in names} | {names[-1]: list(COLOURS)}
    world.reset(episode(stacks))
    assert np.array_equal(world.camera_pose(), before)
    ids = world.camera.scene.shoot(world.arm.poses(),
                                   world.camera.decor).segmentation
    assert set(np.unique(ids)) == set(range(len(COLOURS) + 1))  # all blocks; nothing of the arm
    assert not ids[:2].any() and not ids[:, :2].any() and not ids[:, -2:].any()


def test_with_the_arm_out_of_view_the_picture_is_drawn_as_in_the_symbolic_world(world, scene):
    """Same table, same look, same camera: only the stacks' poses come from elsewhere."""
    world.reset(episode(STACKS, seed=5))
    decor = world.camera.decor
    decor = dataclasses.replace(decor, look=dataclasses.replace(decor.look, noise=0.0))
    ours = scene.shoot(world.arm.poses(), decor)
    symbolic = scene.render([list(pile) for pile in STACKS.values()], decor.column_names,
                            decor.look)
    same = ours.segmentation == symbolic.segmentation
    assert same.mean() > 0.998  # blocks settle by some tenths of a millimetre
    assert np.quantile(np.abs(ours.rgb.astype(int) - symbolic.rgb)[same], 0.99) <= 3


def test_a_tipped_block_is_drawn_as_it_lies(scene):
    s = np.sin(np.pi / 8)
    tipped = (0.0, 0.0, BLOCK_M * 2**0.5 / 2, s, 0.0, 0.0, float(np.cos(np.pi / 8)))
    frame = scene.shoot(poses({'g': tipped}), Decor())
    v, u = np.nonzero(frame.segmentation == COLOURS.index('g') + 1)
    axes = np.array([[1, 0, 0], [0, 2**-0.5, -2**-0.5], [0, 2**-0.5, 2**-0.5]])
    corners = CORNERS @ axes.T + np.array(tipped[:3])
    expected = frame.camera.project(corners)
    assert np.allclose([u.min(), u.max()], [expected[:, 0].min(), expected[:, 0].max()], atol=1.5)
    assert np.allclose([v.min(), v.max()], [expected[:, 1].min(), expected[:, 1].max()], atol=1.5)


def test_the_arm_hides_what_is_behind_it_and_has_depth(world):
    world.reset(episode(STACKS))
    still = world.observe()
    arm, config = world.arm, world.robot.arm
    over = Kinematics(world.robot).ik(
        world.robot.table.pose @ hand_down([0.0, 0.0, 0.15]), config.ready)
    motion = timed(joint_line(arm.state().positions, over), config.max_velocity,
                   config.max_acceleration)
    arm.command(motion)
    arm.wait(motion.duration_s + 0.5)
    shown = world.observe()
    frame = world.camera.scene.shoot(world.arm.poses(), world.camera.decor)
    hand = frame.segmentation == ARM_ID
    assert hand.sum() > 1000
    assert np.abs(shown.image.astype(int) - still.image)[hand].max(axis=1).mean() > 20
    in_front = shown.depth_m[hand] < still.depth_m[hand] - 0.01
    assert in_front.mean() > 0.95
    tip = world.arm.poses().links['panda_grasptarget'][:3]
    pixel = frame.camera.project(np.array([tip]))[0]
    v, u = np.nonzero(hand)
    assert u.min() - 5 < pixel[0] < u.max() + 5 and abs(v.max() - pixel[1]) < 40


def test_a_look_is_an_rgbd_with_the_cameras_calibration(world):
    world.reset(episode(STACKS))
    camera = world.camera
    assert isinstance(camera, Camera) and camera.image_age_s() == 0.0
    rgbd = camera.observe()
    seen = world.observe()
    assert np.array_equal(rgbd.rgb, seen.image) and np.array_equal(rgbd.depth_m, seen.depth_m)
    assert np.array_equal(rgbd.matrix, world.camera_info().matrix)
    assert rgbd.stamp_ns == round(world.arm.now_s() * 1e9)
    top = world.arm.poses().blocks['o']
    centre = inverse(world.camera_pose()) @ [*top[:3], 1.0]
    u, v = (rgbd.matrix @ (centre[:3] / centre[2]))[:2]
    assert 0.0 < centre[2] - rgbd.depth_m[round(v), round(u)] < BLOCK_M  # its front face


def test_depth_noise_grows_with_the_square_of_the_distance():
    settings = HardwareSettings(depth_noise_mm=2.0)
    for metres in (0.5, 1.0, 2.0):
        depth = np.full((200, 300), metres, np.float32)
        noisy = sense_depth(depth, settings, (1, 'here'))
        assert float(np.std(noisy - depth)) == pytest.approx(0.002 * metres**2, rel=0.05)
        assert np.array_equal(noisy, sense_depth(depth, settings, (1, 'here')))
        assert not np.array_equal(noisy, sense_depth(depth, settings, (2, 'here')))


def test_depth_drops_out_and_comes_in_steps():
    depth = np.linspace(0.5, 1.0, 60_000, dtype=np.float32).reshape(200, 300)
    dropped = sense_depth(depth, HardwareSettings(depth_dropout=0.1), (1, ''))
    assert np.mean(dropped == 0) == pytest.approx(0.1, abs=0.01)
    assert np.array_equal(dropped[dropped > 0], depth[dropped > 0])
    stepped = sense_depth(depth, HardwareSettings(depth_step_mm=5.0), (1, ''))
    assert np.abs(stepped - depth).max() <= 0.0026 and len(np.unique(stepped)) < 110


def test_the_calibrations_error_is_as_large_as_it_is_set():
    def pose(**settings):
        with ArmScene(load_robot('panda'), HardwareSettings(**settings),
                      supersampling=1) as made:
            camera = made.camera(0, 0, Look())
            return pose_matrix(camera.axes, camera.position_m)

    file = load_robot('panda').camera.pose
    off = pose(calibration_error_mm=4.0, calibration_error_deg=1.5)
    metres, radians = distance(file, off)
    assert metres == pytest.approx(0.004, abs=1e-6)
    assert np.degrees(radians) == pytest.approx(1.5, abs=1e-6)
    assert np.array_equal(off, pose(calibration_error_mm=4.0, calibration_error_deg=1.5))
    other = pose(calibration_error_mm=4.0, calibration_error_deg=1.5, calibration_seed=1)
    assert distance(off, other)[0] > 1e-4


def test_before_the_first_reset_there_is_a_bare_table(scene):
    frame = scene.shoot(poses({}), Decor())
    assert not frame.segmentation.any() and frame.rgb.std() > 5


def test_live_pictures_are_of_the_full_size_and_show_the_same(scene):
    blocks = {'r': (0.0, 0.0, BLOCK_M / 2, 0.0, 0.0, 0.0, 1.0)}
    still, live = (scene.shoot(poses(blocks), Decor(), live) for live in (False, True))
    assert live.rgb.shape == still.rgb.shape and live.depth_m.shape == still.depth_m.shape
    assert np.mean(live.segmentation == still.segmentation) > 0.995
    assert np.median(np.abs(live.rgb.astype(int) - still.rgb)) <= 2


class Slow:
    """A drawer that takes its time, or fails."""

    def draw(self, poses: Poses, decor: str):
        if decor == 'fail':
            raise ValueError('no paint')
        time.sleep(600.0 if decor == 'for ever' else 0.05)
        return np.full((2, 3, 3), len(decor), np.uint8), np.full((2, 3), poses.stamp_s, np.float32)


def test_a_camera_process_draws_one_picture_at_a_time():
    with CameraProcess(Slow, 3, 2) as live:
        assert live.alive and live.pid != os.getpid()
        assert live.take() is None  # nothing was requested
        assert live.request(poses({}), 'abc')
        assert not live.request(poses({}), 'abcd')  # busy
        picture = live.wait(240.0)
        assert picture is not None and picture.stamp_s == 1.0
        assert (picture.rgb == 3).all() and (picture.depth_m == 1.0).all()
        assert live.request(poses({}), 'fail')
        with pytest.raises(WorldError, match='no paint'):
            live.wait(240.0)
        assert live.request(poses({}), 'abcd')  # it goes on
        assert live.wait(240.0).rgb[0, 0, 0] == 4
    assert not live.alive


def test_a_killed_camera_process_ends_pictures_and_nothing_else():
    with CameraProcess(Slow, 3, 2) as live:
        assert live.request(poses({}), 'abc') and live.wait(240.0) is not None
        assert live.request(poses({}), 'for ever')
        os.kill(live.pid, signal.SIGKILL)
        assert not live.alive, 'at once, though it takes its time to end'
        assert live.wait(240.0) is None and live.take() is None
        assert not live.request(poses({}), 'abc')
    with CameraProcess(Slow, 3, 2) as live:
        os.kill(live.pid, signal.SIGKILL)
        assert not live.request(poses({}), 'abc') and live.take() is None


def test_the_worlds_camera_process_gives_the_worlds_pictures(world):
    world.reset(episode(STACKS))
    hardware = world.arm
    with world.camera_process() as live:
        assert live.request(hardware.poses(), world.camera.decor)
        picture = live.wait(240.0)
    seen = world.observe()
    assert np.array_equal(picture.rgb, seen.image)
    assert np.array_equal(picture.depth_m, seen.depth_m)
