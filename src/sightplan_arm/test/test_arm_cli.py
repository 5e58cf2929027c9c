"""``sightplan arm`` as a person uses it: files in, tables, poses and pictures out."""

import json
import math
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from board_pictures import FLAT, STANDING, board_picture, project
from box_pictures import BLOCK_M, MATRIX, Box, camera_pose, picture
from sightplan.cli import main
from sightplan.model import InputError
from sightplan_arm import command
from sightplan_arm.camera_files import (
    read_camera_info,
    read_depth,
    write_camera_pose,
    write_png,
)
from sightplan_arm.config import load_robot
from sightplan_arm.extrinsics import Board, solve_extrinsics
from sightplan_arm.geometry import (
    distance,
    inverse,
    rotation_from_rpy,
    rpy_from_rotation,
    transform,
)
from sightplan_arm.kinematics import Kinematics

ROBOTS = Path(__file__).resolve().parents[3] / 'config' / 'robots'
POSE = camera_pose()
INFO = {'width': 640, 'height': 480, 'distortion_model': 'plumb_bob', 'd': [0.0] * 5,
        'k': MATRIX.ravel().tolist()}


@pytest.fixture
def files(tmp_path):
    """A robot's file of one's own, with a camera where the pictures are taken, and its info."""
    text = (ROBOTS / 'panda.yaml').read_text()
    robot, info = tmp_path / 'mine.yaml', tmp_path / 'camera.yaml'
    robot.write_text(text)
    write_camera_pose(robot, POSE)
    info.write_text(yaml.safe_dump(INFO) + '---\n')  # as ros2 topic echo ends it
    return robot, info


def call(capsys, *words):
    """Exit code, standard output and standard error."""
    code = main(['arm', *map(str, words)])
    found = capsys.readouterr()
    return code, found.out, found.err


def result(capsys, *words):
    code, out, err = call(capsys, *words, '--json')
    assert len(out.splitlines()) == 1, out
    return code, json.loads(out), err


def change(file, pattern, new):
    text, count = re.subn(pattern, new, file.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)


def test_help_has_examples(capsys):
    for words in ((), ('check',), ('board',), ('calibrate',), ('detect',)):
        with pytest.raises(SystemExit) as caught:
            main(['arm', *words, '--help'])
        assert caught.value.code == 0
        out = capsys.readouterr().out
        assert f'sightplan arm {" ".join(words)}' in out.partition('examples:')[2]
        assert 'exit codes' in out


# --- check ------------------------------------------------------------------------------------


def test_a_good_robot_is_ready(files, capsys):
    robot, info = files
    change(robot, 'max_columns: 5', 'max_columns: 2')
    change(robot, 'max_level: 6', 'max_level: 2')
    code, out, _ = call(capsys, 'check', robot, '--camera-info', info)
    assert code == 0
    assert len(re.findall(r'^ok ', out, re.MULTILINE)) == 7
    assert re.search(r'^ok +bodies +80 pairs of bodies are .*panda_link7 and panda_link5', out,
                     re.MULTILINE)
    assert re.search(r'6 moves .* [0-9]+ motions within all limits', out)
    assert re.search(r'^ +level +c1 +c2$', out, re.MULTILINE)


@pytest.mark.parametrize(('timeout', 'state'), [('0.11', 'ok'), ('0.2', 'warn')])
def test_timeouts_that_let_the_arm_stand_late_are_warned_of(files, capsys, timeout, state):
    robot, _ = files
    change(robot, 'max_columns: 5', 'max_columns: 1')
    change(robot, 'state_timeout_s: 0.1', f'state_timeout_s: {timeout}')
    _, found, _ = result(capsys, 'check', robot, '--no-motions')
    row = next(row for row in found['checks'] if row['what'] == 'stops')
    assert row['state'] == state
    assert ('safety.state_timeout_s' in row['text']) is (state == 'warn')


@pytest.mark.parametrize(('asked', 'ready', 'words'), [
    ('arm_bridge', True, 'panda may be armed'),
    ('arm_bridge', False, 'panda may not be armed'), ('', False, 'start arm_bridge')])
def test_a_running_graph_is_asked_what_is_guaranteed(capsys, monkeypatch, asked, ready, words):
    answer = {'asked': asked, 'robot': 'panda', 'may_be_armed': ready, 'text': 'holds   stop: x',
              'guarantees': [{'name': 'stop', 'holds': True}]}
    requests = []
    monkeypatch.setattr(command, '_ask_graph', lambda *given: requests.append(given) or answer)
    code, out, _ = call(capsys, 'check', 'panda', '--live')
    [(request, module)] = requests
    assert (code, request['robot'], module) == (0 if ready else 1, 'panda', 'arm_live')
    assert 'holds   stop: x' in out
    assert words in out
    code, found, _ = result(capsys, 'check', 'panda', '--live')
    assert found['guarantees'] == answer['guarantees']
    answer = {'error': 'arm_bridge is silent'}
    code, _, err = call(capsys, 'check', '--live')
    assert (code, 'arm_bridge is silent' in err) == (1, True)


@pytest.mark.parametrize(('robot', 'change', 'code', 'words'), [
    ('ur5e', {}, 1, 'arm_bridge moves panda, not ur5e, which was asked about'),
    (None, {}, 0, 'panda may be armed'),
    ('panda', {'state': 'STOPPED'}, 1,
     'STOPPED because of stop_request: by a person; it stays so until somebody re-arms it: r in'),
    ('panda', {'state': 'HOLDING'}, 0, 'panda is HOLDING because of stop_request: by a person'),
    ('panda', {'asked': '', 'elsewhere': ['/robot2']}, 1,
     'a node moves an arm with --namespace robot2\n')])
def test_a_live_check_says_whose_arm_it_is_and_that_it_is_stopped(
        capsys, monkeypatch, robot, change, code, words):
    """Before, all of these ended "panda may be armed", or with nothing but its drivers."""
    answer = {'asked': 'arm_bridge', 'robot': 'panda', 'may_be_armed': True, 'state': 'ARMED',
              'cause': 'stop_request', 'message': 'by a person', 'text': '', 'guarantees': [],
              **change}
    monkeypatch.setattr(command, '_ask_graph', lambda *given: answer)
    found, out, _ = call(capsys, 'check', *([robot] if robot else []), '--live')
    assert (found, words in out) == (code, True), out
    assert ('may be armed' in out) is (change.get('state') != 'STOPPED' and answer['asked'] != '')


def test_the_console_is_a_command(tmp_path, monkeypatch):
    """The process becomes the node, so that the terminal and its signals are the node's alone."""
    program = tmp_path / 'lib/sightplan_nodes/operator_console'
    program.parent.mkdir(parents=True)
    program.write_text('')
    program.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.delenv('ROS_SECURITY_ENABLE', raising=False)

    class Replaced(Exception):
        pass

    def replace(path, words):
        assert path == str(program)
        raise Replaced(words)
    monkeypatch.setattr(command.os, 'execv', replace)
    with pytest.raises(Replaced) as caught:
        main(['arm', 'console', '--namespace', 'robot1', '--world', 'sim_bridge',
              '-r', 'arm_bridge/status:=state'])
    words = ' '.join(caught.value.args[0])
    assert '-r __node:=operator_console -r __ns:=/robot1 -r ' in words and (
        ' -r /robot1/arm_bridge/status:=/robot1/state ' in words)
    assert words.endswith('-p world:="sim_bridge"')
    with pytest.raises(Replaced) as caught:
        main(['arm', 'console'])
    assert '__ns' not in ' '.join(caught.value.args[0])


def test_the_check_as_json(files, capsys):
    robot, info = files
    code, found, err = result(capsys, 'check', robot, '--camera-info', info, '--no-motions')
    assert code == 0
    assert found['ok'] is True
    assert {row['what']: row['state'] for row in found['checks']} == {
        'file': 'ok', 'urdf': 'ok', 'stops': 'ok', 'bodies': 'ok', 'reach': 'ok', 'camera': 'ok'}
    assert len(found['reach']) == 40
    assert 'can be used' in err
    code, found, _ = result(capsys, 'check', robot, '--no-motions')
    camera = next(row for row in found['checks'] if row['what'] == 'camera')
    assert camera['state'] == 'skip'
    assert 'degrees are needed' in camera['text']


@pytest.mark.parametrize(('pattern', 'new', 'what', 'words'), [
    ('tip_frame: .*', 'tip_frame: nowhere', 'file', 'tip_frame'),
    ('spacing_m: 0.09', 'spacing_m: 0.3', 'reach', 'out of reach'),
    ('max_columns: 5', 'max_columns: 7', 'camera', 'beyond the'),
    (r'    rpy_deg: \[-10.*\]', '    rpy_deg: [106.0, 0.0, 0.0]', 'camera', 'looks away'),
    (r'(pose:.*\n)    xyz: .*\n    rpy_deg: \[-10.*\]',
     r'\g<1>    xyz: [0.0, 0.9, 0.38]\n    rpy_deg: [-106.0, 0.0, 180.0]', 'camera', 'right'),
    (r'(pose:.*\n)    xyz: \[.*\n(    rpy_deg: \[-10)',
     r'\g<1>    xyz: [0.0, -0.87, -0.1]\n\g<2>', 'camera', 'below the table'),
    (r'(pose:.*\n)    xyz: \[.*\n(    rpy_deg: \[-10)',
     r'\g<1>    xyz: [0.0, -4.6, 1.45]\n\g<2>', 'camera', 'pixels wide')])
def test_what_is_wrong_with_a_robot_is_said(files, capsys, pattern, new, what, words):
    robot, info = files
    change(robot, pattern, new)
    code, found, _ = result(capsys, 'check', robot, '--camera-info', info, '--no-motions')
    assert code == 1
    assert found['ok'] is False
    failed = {row['what']: row['text'] for row in found['checks'] if row['state'] == 'FAIL'}
    assert words in failed[what]


@pytest.mark.parametrize(('pattern', 'new', 'what', 'words'), [
    ('open_m: 0.08 ', 'open_m: 0.04 ', 'gripper', 'the fingers open 40 mm, but a block of 50 mm'),
    (r'box_min_m: \[-0.75, -0.60, 0.012\]', 'box_min_m: [-0.75, -0.60, -0.05]', 'box',
     "50 mm below the table's top")])
def test_fingers_and_boxes_that_do_not_fit_are_found(files, capsys, pattern, new, what, words):
    """Before: "can be used"."""
    robot, _ = files
    change(robot, 'max_columns: 5', 'max_columns: 1')
    change(robot, pattern, new)
    code, found, _ = result(capsys, 'check', robot, '--no-motions')
    failed = {row['what']: row['text'] for row in found['checks'] if row['state'] == 'FAIL'}
    assert code == 1 and words in failed[what]


def test_a_file_named_without_its_ending_is_hinted_at(files, capsys, monkeypatch):
    robot, _ = files
    monkeypatch.chdir(robot.parent)
    code, found, _ = result(capsys, 'check', 'mine', '--no-motions')
    assert code == 1 and found['checks'][0]['text'].endswith('mine.yaml: give mine.yaml')


def test_motions_outside_the_box_are_found(files, capsys):
    robot, _ = files
    change(robot, 'max_columns: 5', 'max_columns: 2')
    change(robot, 'max_level: 6', 'max_level: 2')
    change(robot, r'box_min_m: \[-0.75, -0.60, 0.012\]', 'box_min_m: [-0.75, -0.60, 0.05]')
    code, found, _ = result(capsys, 'check', robot)
    failed = {row['what']: row['text'] for row in found['checks'] if row['state'] == 'FAIL'}
    assert code == 1
    assert 'of 6 moves' in failed['motions']


# --- board ------------------------------------------------------------------------------------


def test_the_board_can_be_printed_and_found(tmp_path, capsys):
    out = tmp_path / 'board.png'
    code, found, _ = result(capsys, 'board', '--out', out, '--dpi', 254)
    assert code == 0
    assert found['size_mm'] == [294.0, 204.0]  # an A4 page
    data = out.read_bytes()
    assert data[37:41] == b'pHYs'
    assert int.from_bytes(data[41:45], 'big') == 10000  # dots per metre
    page = cv2.imread(str(out))
    assert page.shape[:2] == (2040, 2940)
    assert len(Board(marker_m=0.75 * 0.045).detect(page)[0]) == 15


@pytest.mark.parametrize('words', [
    ('--squares', '6'), ('--squares', '2x9'), ('--marker-mm', '50'), ('--dpi', '1'),
    ('--square-mm', '1e9'), ('--square-mm', 'nan'), ('--square-mm', '0.1'),
    ('--out', '/nowhere/at/all.png')])
def test_boards_that_cannot_be_made_are_bad_usage(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, 'board', *words)
    assert (code, out) == (2, '')
    assert err.startswith('sightplan arm ')


# --- calibrate --------------------------------------------------------------------------------


def off(pose):
    metres, turn = distance(np.array(pose), POSE)
    return 1e3 * metres, math.degrees(turn)


@pytest.mark.parametrize(('place', 'words'), [
    (FLAT, ('--board-xyz', -0.135, -0.07, 0.002)),
    (STANDING, ('--board-xyz', -0.135, 0.0, 0.01, '--board-rpy', 90, 0, 0))])
def test_a_picture_of_the_board_gives_the_pose(files, tmp_path, capsys, place, words):
    robot, info = files
    image = tmp_path / 'board.png'
    write_png(image, board_picture(place, Board(marker_m=0.75 * 0.045)))
    code, found, err = result(capsys, 'calibrate', '--robot', robot, '--camera-info', info,
                              '--image', image, *words)
    assert code == 0
    assert off(found['pose'])[0] < 12.0
    assert off(found['pose'])[1] < 0.5
    assert found['reprojection_px'] < 0.5
    assert found['points'] == 15
    assert found['written'] is None
    assert [text[:37] for text in found['warnings']] == (
        ['the points leave the focal length ope'] if place is STANDING else [])
    assert 'rpy_deg' in err
    depth = tmp_path / 'depth.npy'
    np.save(depth, board_depth(place))
    code, found, err = result(capsys, 'calibrate', '--robot', robot, '--camera-info', info,
                              '--image', image, '--depth', depth, *words)
    assert code == 0 and not found['warnings']
    assert found['depth_ratio'] == pytest.approx(1.0, abs=0.03)


def calibrated(files, tmp_path, capsys, *words, place=FLAT, board=None, depth=False):
    """Exit code, result or None, and what is said of a calibration by a picture of a board."""
    robot, info = files
    write_png(tmp_path / 'b.png', board_picture(place, board or Board(marker_m=0.75 * 0.045)))
    np.save(tmp_path / 'd.npy', board_depth(place))
    more = ('--depth', tmp_path / 'd.npy') if depth else ()
    code, out, err = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--image',
                          tmp_path / 'b.png', *words, *more)
    return code, out, err


def test_millimetres_are_refused(files, tmp_path, capsys):
    """Before, the camera was found "151918 mm from the pose in the file"."""
    code, _, err = calibrated(files, tmp_path, capsys, '--board-xyz', -135, -70, 2)
    assert code == 2 and 'are these metres? (-0.135 -0.07 0.002 would be' in err
    robot, info = files
    file = tmp_path / 'points.yaml'
    file.write_text(yaml.safe_dump({'points': [{'xyz': [90, 0, 50], 'pixel': [1, 2]}]}))
    code, _, err = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--points',
                        file)
    assert code == 2 and 'points.0.xyz: 90 0 50' in err and 'are these metres?' in err


@pytest.mark.parametrize(('words', 'place', 'first'), [
    (('--board-xyz', -0.135, 0.0, 0.01), STANDING, 'Check --board-rpy (0 0 0 lies flat'),
    (('--board-xyz', 0.3, -0.07, 0.002), FLAT, 'Check --board-xyz (metres'),
    (('--board-xyz', -0.135, -0.07, 0.002, '--square-mm', 35), FLAT, 'Check --square-mm (35: ')])
def test_a_pose_far_from_the_file_names_what_may_be_wrong(
        files, tmp_path, capsys, words, place, first):
    """Before, there was no warning, and --write wrote a camera that is 200 to 1300 mm off."""
    robot, _ = files
    before = robot.read_text()
    code, out, _ = calibrated(files, tmp_path, capsys, *words, '--write', place=place)
    assert code == 1 and robot.read_text() == before
    warned = next(line for line in out.splitlines() if 'from the pose in the file. Check' in line)
    assert first in warned and '--force writes it' in warned
    for option in ('--board-rpy', '--board-xyz', '--square-mm'):
        assert option in warned
    if '--square-mm' in words:
        assert 42.0 < float(re.search(r'with ([\d.]+) the file', warned)[1]) < 48.0


def test_a_wrong_size_of_squares_is_refused_by_depth(files, tmp_path, capsys):
    code, _, err = calibrated(files, tmp_path, capsys, '--board-xyz', -0.135, -0.07, 0.002,
                              '--square-mm', 35, depth=True)
    assert code == 1 and '--square-mm' in err


def test_a_board_that_shows_too_small_has_one_way_out(files, tmp_path, capsys):
    """Before: flat "turn it towards the camera", turned "lay the board flat"; "1 points"."""
    robot, info = files
    small = Board(square_m=0.011, marker_m=0.75 * 0.011)
    code, _, err = calibrated(files, tmp_path, capsys, '--board-xyz', -0.135, -0.07, 0.002,
                              '--square-mm', 11, board=small)
    assert code == 1 and 'no corner of the board is seen' in err
    assert '1280x720' in err and '--board-rpy 45 0 0' in err and '--depth' in err
    half = cv2.imread(str(tmp_path / 'b.png'))
    half[:] = 128
    whole = board_picture(FLAT, Board(marker_m=0.75 * 0.045))
    found = Board(marker_m=0.75 * 0.045).detect(whole)[1]
    edge = int(np.sort(found[:, 0])[3]) + 45  # shows few corners
    half[:, :edge] = whole[:, :edge]
    write_png(tmp_path / 'half.png', half)
    code, _, err = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--image',
                        tmp_path / 'half.png', '--board-xyz', -0.135, -0.07, 0.002)
    assert code == 1
    few = re.search(r'([1-5]) corners? of 15 found in 1 picture: at least 6', err)
    assert few, err
    points = tmp_path / 'points.yaml'
    points.write_text(yaml.safe_dump({'points': [{'xyz': [0, 0, 0], 'pixel': [1, 2]}]}))
    code, _, more = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--image',
                         tmp_path / 'half.png', '--board-xyz', -0.135, -0.07, 0.002, '--points',
                         points)
    assert code == 1
    assert re.search(rf'{few[1]} corners? of 15 found in 1 picture, and 1 point in \S+: ', more)
    half[int(np.median(found[:, 1])) + 15:] = 128  # shows fewer
    write_png(tmp_path / 'half.png', half)
    code, _, more = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--image',
                         tmp_path / 'half.png', '--image', tmp_path / 'half.png', '--board-xyz',
                         -0.135, -0.07, 0.002)
    assert 'corners of 30 found in 2 pictures: at least 6' in more, more
    assert '1280x720' in err
    _, out, _ = calibrated(files, tmp_path, capsys, '--board-xyz', -0.135, 0.0, 0.01,
                           '--board-rpy', 90, 0, 0, place=STANDING)
    assert 'give --depth' in out and 'flat' not in out


def board_depth(place):
    """(480, 640) metres from the camera to the plane of a board."""
    rays = np.stack([*np.meshgrid(np.arange(640.0), np.arange(480.0)), np.ones((480, 640))], -1)
    rays = rays @ np.linalg.inv(MATRIX).T @ POSE[:3, :3].T
    return (place[:3, 3] - POSE[:3, 3]) @ place[:3, 2] / (rays @ place[:3, 2])


@pytest.mark.parametrize('factor', [0.8, 1.2])
@pytest.mark.parametrize(('place', 'words', 'depth'), [
    (FLAT, ('--board-xyz', -0.135, -0.07, 0.002), False),
    (FLAT, ('--board-xyz', -0.135, -0.07, 0.002), True),
    (STANDING, ('--board-xyz', -0.135, 0.0, 0.01, '--board-rpy', 90, 0, 0), True)])
def test_a_wrong_focal_length_is_refused(files, tmp_path, capsys, factor, place, words, depth):
    """Before, the camera was found 190 mm off, "within 1.7 mm"."""
    robot, info = files
    before = robot.read_text()
    write_png(tmp_path / 'board.png', board_picture(place, Board(marker_m=0.75 * 0.045)))
    np.save(tmp_path / 'depth.npy', board_depth(place))
    scaled = np.diag([factor, factor, 1.0]) @ MATRIX
    scaled[:2, 2] = MATRIX[:2, 2]
    info.write_text(yaml.safe_dump({**INFO, 'k': scaled.ravel().tolist()}))
    more = ('--depth', tmp_path / 'depth.npy') if depth else ()
    code, out, err = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--image',
                          tmp_path / 'board.png', *words, *more, '--write', '--force')
    assert code == 1, out
    assert 'focal length' in err
    assert robot.read_text() == before


def test_depth_in_a_wrong_unit_is_refused_by_calibrate(files, tmp_path, capsys):
    robot, info = files
    write_png(tmp_path / 'board.png', board_picture(FLAT, Board(marker_m=0.75 * 0.045)))
    units = np.rint(4000 * board_depth(FLAT)).astype(np.uint16)  # of a quarter of a millimetre
    np.save(tmp_path / 'depth.npy', units)
    words = ('calibrate', '--robot', robot, '--camera-info', info, '--image',
             tmp_path / 'board.png', '--board-xyz', -0.135, -0.07, 0.002, '--depth')
    code, _, err = call(capsys, *words, tmp_path / 'depth.npy')
    assert code == 1 and 'camera.depth_scale_m' in err
    change(robot, 'depth_scale_m: 0.001', 'depth_scale_m: 0.00025')
    assert call(capsys, *words, tmp_path / 'depth.npy')[0] == 0
    np.save(tmp_path / 'small.npy', board_depth(FLAT)[::2, ::2])
    code, _, err = call(capsys, *words, tmp_path / 'small.npy')
    assert code == 2 and 'aligned' in err
    code, _, err = call(capsys, *words, tmp_path / 'depth.npy', '--depth', tmp_path / 'depth.npy')
    assert code == 2 and '2 files for 1' in err


def touched(robot, places):
    """Joints at which the tip, pointing down, touches places of the table."""
    kinematics = Kinematics(robot)
    found = []
    for place in places:
        pose = np.diag([1.0, -1.0, -1.0, 1.0])
        pose[:3, 3] = place
        q = kinematics.ik(robot.table.pose @ pose, robot.arm.ready)
        assert q is not None
        found.append(q.tolist())
    return found


def test_touched_points_give_the_pose_and_it_is_written(files, tmp_path, capsys):
    robot, info = files
    places = np.array([(x, y, z) for x in (-0.15, 0.0, 0.15) for y, z in (
        (-0.05, 0.02), (0.1, 0.02), (0.03, 0.2))])
    joints = touched(load_robot(str(robot)), places[:4])
    pixels = project(places, POSE)
    pixels[6] += 30.0  # a slip of the hand
    points = [{'joints': q, 'pixel': p} for q, p in zip(joints, pixels[:4].tolist(), strict=True)]
    points += [{'xyz': place, 'pixel': pixel} for place, pixel in
               zip(places[4:].tolist(), pixels[4:].tolist(), strict=True)]
    file = tmp_path / 'points.yaml'
    file.write_text(yaml.safe_dump({'points': points}))
    change(robot, r'    rpy_deg: \[-10.*\]', '    rpy_deg: [-90.0, 0.0, 0.0]')
    before = robot.read_text()
    code, out, _ = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--points',
                        file, '--write')
    assert code == 0
    assert '8 of 9 points used' in out
    assert 'left out, contradicts the rest' in out
    assert 'points.6' in out
    assert off(load_robot(str(robot)).camera.pose) < (0.5, 0.05)
    after = robot.read_text()
    gone = set(before.splitlines()) - set(after.splitlines())
    assert len(gone) == 3, 'xyz, rpy_deg and that no covariance is known; comments stay'
    assert len(after.splitlines()) == len(before.splitlines()) + 6
    found = solve_extrinsics(places, pixels, MATRIX, np.zeros(5))
    written = load_robot(str(robot)).camera.pose_covariance
    np.testing.assert_allclose(written, found.covariance, rtol=0.01)
    call(capsys, 'calibrate', '--robot', robot, '--camera-info', info, '--points', file, '--write')
    assert robot.read_text() == after


def test_a_covariance_of_another_pose_does_not_stay(tmp_path):
    file = tmp_path / 'r.yaml'
    file.write_text('camera:\n  pose: {xyz: [0, 0, 0], rpy_deg: [0, 0, 0]}\n  info: x\n')
    write_camera_pose(file, POSE, 'one')
    assert yaml.safe_load(file.read_text())['camera'].keys() == {'pose', 'info'}
    write_camera_pose(file, POSE, 'two', 1e-6 * np.eye(6))
    assert yaml.safe_load(file.read_text())['camera']['pose_covariance'] == (
        1e-6 * np.eye(6)).tolist()
    file.write_text(file.read_text().replace('  pose_cov', '  # of the pose\n  pose_cov'))
    write_camera_pose(file, POSE, 'three')
    assert file.read_text().endswith('\n  # of the pose\n  pose_covariance: null\n  info: x\n')


@pytest.mark.parametrize('covariance', [
    np.eye(6)[:5], np.eye(5), -np.eye(6), np.zeros((6, 6)),
    np.eye(6) + np.eye(6, k=1), np.eye(6) + 2 * np.eye(6, k=1) + 2 * np.eye(6, k=-1)])
def test_what_is_no_covariance_is_refused(files, covariance):
    robot, _ = files
    change(robot, 'pose_covariance: null', f'pose_covariance: {covariance.tolist()}')
    with pytest.raises(InputError, match='camera.pose_covariance'):
        load_robot(str(robot))


def test_touched_corners_say_where_the_board_is(files, tmp_path, capsys):
    robot, info = files
    board, image, file = Board(marker_m=0.75 * 0.045), tmp_path / 'b.png', tmp_path / 'p.yaml'
    write_png(image, board_picture(FLAT, board))
    places = transform(FLAT, np.array([board.corner_m(i) for i in (0, 4, 12)]))
    file.write_text(yaml.safe_dump({'points': [
        {'joints': q, 'corner': i} for q, i in zip(touched(load_robot(str(robot)), places),
                                                   (0, 4, 12), strict=True)]}))
    words = ('calibrate', '--robot', robot, '--camera-info', info, '--points', file)
    code, found, err = result(capsys, *words, '--image', image)
    assert code == 0
    assert '3 corners were touched within 0.0 mm' in err
    assert off(found['pose'])[0] < 12.0
    code, _, err = call(capsys, *words)
    assert code == 2
    assert '--image' in err
    wrong = yaml.safe_load(file.read_text())
    wrong['points'][1]['corner'] = 3
    file.write_text(yaml.safe_dump(wrong))
    code, _, err = call(capsys, *words, '--image', image)
    assert code == 1
    assert 'check their numbers' in err


def test_a_poor_calibration_warns(files, tmp_path, capsys):
    robot, info = files
    places = np.random.default_rng(0).uniform((-0.2, -0.05, 0.0), (0.2, 0.1, 0.2), (8, 3))
    pixels = project(places, POSE) + np.random.default_rng(1).normal(0.0, 1.6, (8, 2))
    file = tmp_path / 'points.yaml'
    file.write_text(yaml.safe_dump({'points': [
        {'xyz': a, 'pixel': b} for a, b in zip(places.tolist(), pixels.tolist(), strict=True)]}))
    code, found, err = result(capsys, 'calibrate', '--robot', robot, '--camera-info', info,
                              '--points', file)
    assert code == 0
    assert any('reprojection error of more than 1 pixel' in text for text in found['warnings'])
    before, words = robot.read_text(), ('calibrate', '--robot', robot, '--camera-info', info,
                                        '--points', file, '--write')
    refused, found, said = result(capsys, *words)
    assert (refused, found['written'], robot.read_text()) == (1, None, before)
    assert '--force' in said
    forced, found, _ = result(capsys, *words, '--force')
    assert (forced, found['written']) == (0, str(robot)) and robot.read_text() != before
    assert 'warning: ' in err


@pytest.mark.parametrize(('points', 'code', 'words'), [
    ([], 2, 'points = .* at least 1 item'), ([3], 2, 'points.0 = 3: .* object'),
    ([{'xyz': [0, 0, 0], 'pixel': [1, 2], 'pxl': 1}], 2, 'points.0.pxl is unknown'),
    ([{'xyz': [0, 0, 0]}], 2, 'one of pixel and corner'),
    ([{'xyz': [0, 0], 'pixel': [1, 2]}], 2, 'points.0.xyz.2 is missing'),
    ([{'joints': [0, 0], 'pixel': [1, 2]}], 2, 'joints: 7 numbers'),
    ([{'xyz': [0, 0, 0], 'pixel': [1, 'a']}], 2, "points.0.pixel.1 = 'a': .* number"),
    ([{'xyz': [0, 0, 0], 'corner': 'x'}], 2, "points.0.corner = 'x': .* integer"),
    ([{'xyz': [0, 0, 0], 'pixel': [1, 2]}], 1, '1 point: at least 6')])
def test_files_of_points_that_cannot_be_used(files, tmp_path, capsys, points, code, words):
    robot, info = files
    file = tmp_path / 'points.yaml'
    file.write_text(yaml.safe_dump({'points': points}))
    found, out, err = call(capsys, 'calibrate', '--robot', robot, '--camera-info', info,
                           '--points', file)
    assert (found, out) == (code, '')
    assert re.search(words, err)


def test_pictures_that_cannot_be_used(files, tmp_path, capsys):
    robot, info = files
    base = ('calibrate', '--robot', robot, '--camera-info', info)
    grey, small, text = (tmp_path / name for name in ('grey.png', 'small.png', 'text.png'))
    write_png(grey, np.full((480, 640, 3), 128, np.uint8))
    write_png(small, np.full((48, 64, 3), 128, np.uint8))
    text.write_text('no picture')
    place = ('--board-xyz', 0, 0, 0)
    for words, code, message in (
            ((), 2, 'nothing to calibrate from'), (('--image', grey), 2, 'where is the board'),
            (('--image', grey, *place), 1, 'no corner of the board'),
            (('--image', small, *place), 2, '64 x 48 pixels'),
            (('--image', text, *place), 2, 'not a picture'),
            (('--image', tmp_path / 'none.png', *place), 2, 'cannot be read')):
        found, _, err = call(capsys, *base, *words)
        assert (found, message in err) == (code, True), err


# --- files ------------------------------------------------------------------------------------


def test_calibrations_of_both_kinds_are_read(tmp_path):
    file = tmp_path / 'c.yaml'
    file.write_text(yaml.safe_dump({
        'image_width': 640, 'image_height': 480, 'distortion_model': 'plumb_bob',
        'camera_matrix': {'rows': 3, 'cols': 3, 'data': MATRIX.ravel().tolist()},
        'distortion_coefficients': {'rows': 1, 'cols': 5, 'data': [0.1, -0.2, 0, 0, 0.3]}}))
    info = read_camera_info(file)
    assert (info.width, info.height) == (640, 480)
    assert np.array_equal(info.matrix, MATRIX)
    assert info.distortion.tolist() == [0.1, -0.2, 0, 0, 0.3]


@pytest.mark.parametrize(('field', 'value', 'words'), [
    ('k', [0.0] * 9, 'not calibrated'), ('k', 'x', 'numbers'), ('d', [0.1], '1 coefficients'),
    ('d', [float('nan')] * 5, 'finite'), ('width', 0, 'width'),
    ('distortion_model', 'equidistant', 'not supported')])
def test_calibrations_that_cannot_be_used(tmp_path, field, value, words):
    file = tmp_path / 'c.yaml'
    file.write_text(yaml.safe_dump({**INFO, field: value}))
    with pytest.raises(InputError, match=words):
        read_camera_info(file)


def test_depth_of_every_kind(tmp_path):
    metres = np.array([[0.0, 0.5], [1.25, 0.002]], np.float32)
    whole = (1000 * metres).astype(np.uint16)
    write = {'m.npy': metres, 'u.npy': whole}
    for name, array in write.items():
        np.save(tmp_path / name, array)
    cv2.imwrite(str(tmp_path / 'p.png'), whole)
    for name in ('m.npy', 'u.npy', 'p.png'):
        assert np.allclose(read_depth(tmp_path / name, 0.001), metres), name
    np.save(tmp_path / 'bad.npy', np.zeros((2, 2, 2)))
    with pytest.raises(InputError, match='shape'):
        read_depth(tmp_path / 'bad.npy', 0.001)
    np.save(tmp_path / 'object.npy', np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match='cannot be read'):
        read_depth(tmp_path / 'object.npy', 0.001)


def test_angles_there_and_back():
    rng = np.random.default_rng(0)
    for angles in (*rng.uniform(-math.pi, math.pi, (200, 3)), (0.3, math.pi / 2, -0.4),
                   (0.3, -math.pi / 2, 0.9)):
        rotation = rotation_from_rpy(angles)
        again = rotation_from_rpy(rpy_from_rotation(rotation))
        assert np.allclose(rotation, again, atol=1e-7)


def test_a_pose_in_one_line_with_comments_around_is_replaced(tmp_path):
    file = tmp_path / 'r.yaml'
    file.write_text('a: 1  # one\n\ncamera:  # eye\n  # where\n  pose: {xyz: [0, 0, 0], '
                    'rpy_deg: [0, 0, 0]}  # old\n  info: x\n\n# end\ntable: {pose: 3}')
    write_camera_pose(file, POSE, 'new')
    text = file.read_text()
    assert text.startswith('a: 1  # one\n\ncamera:  # eye\n  # where\n  pose:  # new\n    xyz: [')
    assert text.endswith('\n  info: x\n\n# end\ntable: {pose: 3}')


@pytest.mark.parametrize('text', [
    'camera: {pose: {xyz: [0, 0, 0]}, info: x}\n', 'table:\n  pose: 3\ncamera: 4\n',
    'camera:\n  pose: &here\n    xyz: [0, 0, 0]\ntable:\n  pose: *here\n'])
def test_what_cannot_be_replaced_stays(tmp_path, text):
    file = tmp_path / 'r.yaml'
    file.write_text(text)
    with pytest.raises(InputError, match='paste the block'):
        write_camera_pose(file, POSE)
    assert file.read_text() == text


# --- detect -----------------------------------------------------------------------------------


@pytest.fixture
def taken(tmp_path):
    """A picture with three blocks, one of them turned, and its depth."""
    rgbd = picture([Box('red', (-0.18, 0.0, 0.025), 20.0), Box('blue', (-0.18, 0.0, 0.075)),
                    Box('orange', (0.09, 0.0, 0.025))], noise_m=0.002)
    write_png(tmp_path / 'rgb.png', rgbd.rgb)
    cv2.imwrite(str(tmp_path / 'depth.png'), np.round(1000 * rgbd.depth_m).astype(np.uint16))
    np.save(tmp_path / 'depth.npy', rgbd.depth_m)
    return tmp_path / 'rgb.png', tmp_path / 'depth.png', tmp_path / 'depth.npy'


def test_what_the_arm_sees_is_said_and_drawn(files, taken, tmp_path, capsys):
    robot, info = files
    rgb, *depths = taken
    out = tmp_path / 'seen.png'
    for depth in depths:
        code, found, err = result(capsys, 'detect', rgb, depth, '--robot', robot,
                                  '--camera-info', info, '--out', out)
        assert code == 0
        assert found['stacks'] == [['red', 'blue'], [], [], ['orange'], []]
        assert not found['warnings']
        assert found['cubes']['red']['yaw_deg'] == pytest.approx(20.0, abs=1.5)
        assert found['cubes']['red']['centre_m'] == pytest.approx((-0.18, 0, 0.025), abs=0.002)
        assert 'column 1: red < blue' in err
    drawn, before = cv2.imread(str(out)), cv2.imread(str(rgb))
    changed = np.argwhere((drawn != before).any(axis=2))
    middle = project([[-0.18, 0.0, 0.025]], POSE)[0]
    around = np.abs(changed[:, ::-1] - middle).max(axis=1) < 1.2 * MATRIX[0, 0] * BLOCK_M / 2
    assert 100 < around.sum() < 3000


def test_blocks_that_must_be_there_and_tables_without_any(files, taken, tmp_path, capsys):
    robot, info = files
    base = ('--robot', robot, '--camera-info', info)
    code, out, _ = call(capsys, 'detect', *taken[:2], *base, '--colours', 'red,green')
    assert code == 1
    assert 'warning: green is not seen' in out
    assert 'warning: a blue block that is not of this problem' in out
    assert call(capsys, 'detect', *taken[:2], *base, '--colours', 'red')[0] == 0
    write_png(tmp_path / 'empty.png', np.full((480, 640, 3), 128, np.uint8))
    code, out, _ = call(capsys, 'detect', tmp_path / 'empty.png', taken[1], *base)
    assert code == 1
    assert 'column 1: empty' in out
    for words, message in ((('--colours', 'pink'), 'unknown colour'), (('--columns', '0'), '0')):
        code, _, err = call(capsys, 'detect', *taken[:2], *base, *words)
        assert (code, message in err) == (2, True)


def test_touched_places_are_those_of_forward_kinematics(files):
    robot = load_robot(str(files[0]))
    q = touched(robot, [(0.05, -0.02, 0.1)])[0]
    tip = inverse(robot.table.pose) @ Kinematics(robot).fk(np.array(q))
    assert tip[:3, 3] == pytest.approx((0.05, -0.02, 0.1), abs=1e-4)
