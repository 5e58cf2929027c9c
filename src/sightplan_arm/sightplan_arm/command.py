"""``sightplan arm``: check a robot's file, watch it, calibrate its camera, see, grasp."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, add_group, read_numbers
from sightplan.commands.shared_flags import PlaceArguments
from sightplan.console.progress import EpisodeBar
from sightplan.model import InputError, counted, user_path
from sightplan.model.region import LEAST_TO_ACT

if TYPE_CHECKING:
    from sightplan_arm.camera_files import CameraInfo
    from sightplan_arm.config import RobotConfig
    from sightplan_arm.extrinsics import Board, Extrinsics
    from sightplan_arm.hardware import Rgbd, Vector
    from sightplan_arm.kinematics import Kinematics
    from sightplan_arm.skills.blocksworld import Task

_WARN_PX = 1.0
_WARN_TABLE_M = 0.003
_FAR_M, _FAR_TURN = 0.15, math.radians(30.0)
"""Change of a camera's pose that is rather a mistake than a camera that was pushed."""
_FARTHEST_M = 3.0
"""Largest coordinate of a place of calibration, in the table's frame."""
_ALIKE = 0.1
"""Relative difference within which a size of squares would explain a changed pose."""
_WARN_FOCAL = 0.035
"""Largest standard deviation of a focal length at which an error of 20 % would be noticed."""
_LEAST_BLOCK_PX = 25.0
_FINGER_ROOM_M = 0.005
"""Least room between a block and each open finger."""

_EXAMPLES = """\
examples:
  sightplan arm check panda
  sightplan arm check my_robot.yaml --camera-info camera.yaml
  sightplan arm check my_robot.yaml --live
  sightplan arm console
  sightplan arm console --namespace robot1 --world sim_bridge
  sightplan arm board --out board.png
  sightplan arm calibrate --robot my_robot.yaml --camera-info camera.yaml \\
      --image picture.png --board-xyz -0.135 -0.07 0.002 --write
  sightplan arm calibrate --robot my_robot.yaml --camera-info camera.yaml --points touched.yaml
  sightplan arm detect color.png depth.png --robot my_robot.yaml --camera-info camera.yaml
  sightplan arm grasp "the red mug"
  sightplan arm grasp "the handle of the drawer"
  sightplan arm grasp "the mug" --at 0.41,0.63
  sightplan arm grasp "the mug" --trace 0.41,0.63 0.52,0.70 0.66,0.58
  sightplan arm grasp --put-back
"""

_GRASP = """\
Have the arm of a running graph take something and lift it. The grounder is asked where it is in
the camera's next picture; the world's node (arm_bridge, or sim_bridge with execution:=arm) does
the rest, through its safety gate. Where the grounder is not sure, nothing is grasped: its
probability must be .9 or more, a check must have confirmed that the thing is there, its model must
know every word, and no other colour may fit nearly as well. Then the arm moves out of the camera's
view, if it is in it, and the grounder is asked once more; what is like the thing is named. With
--at or --trace you say where it is, and nobody is asked. Ctrl-C cancels: the arm holds.

Places are in unit coordinates: x from 0 at the picture's left edge to 1 at the right one, y from
0 at the top to 1 at the bottom.
"""

_ROBOT_BY_DEFAULT = 'panda'
_ROBOT = 'a name in config/robots, or a file'
_CAMERA_INFO = ('calibration of the camera: what `ros2 topic echo --once camera/camera_info` '
                'prints, or a file of camera_calibration')

_LARGER = ('check --squares, and show the board larger: pictures of 1280x720 with their '
           'camera_info, larger squares, or the board nearer; or lean it towards the camera '
           '(--board-rpy 45 0 0) and give --depth. Avoid glare')

_CONSOLE = """\
Show what the arm of a running graph does, and take the keys of the person beside it: space or s
stops, r re-arms, y and n answer for the motion that waits, Enter shows the status, q leaves (the
arm goes on). The shell needs the ROS_DOMAIN_ID that "sightplan up" printed. The stop is a program:
the emergency stop is the robot's own.
"""

_CALIBRATE = """\
Find where the camera hangs, in the frame of the robot's table. Either of:

one picture (or several, all of the same board at the same place) of the board that `sightplan arm
board` makes, and where the board is: --board-xyz is the lower left corner of its squares,
--board-rpy its turn, by default flat on the table with its upper edge away from the camera;
90 0 0 is upright, facing the camera;

or a file of points, whose places come from the arm:

  points:
  - {joints: [0.1, ...], pixel: [312.5, 240.0]}   # the tip touched what is seen at this pixel
  - {xyz: [0.09, 0.0, 0.05], pixel: [401, 233]}   # a place in the table's frame
  - {joints: [0.2, ...], corner: 7}               # the tip touched an inner corner of the board

Corners are numbered from the lower left to the right, then upwards; with --image the others are
found where these say that the board is (three or more, not on a line), so that nothing need be
clicked or measured.

A focal length in --camera-info that the points contradict is refused. Points that cannot tell (a
board that leans towards the camera) are warned of; --depth, the depth picture of the same moment,
checks the focal length and the size of the squares with any.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments(PlaceArguments):
    """Arguments of ``sightplan arm check``."""

    robot: str | None = argument(
        'a name in config/robots, or a file (default: panda; with --live the one that runs)',
        default=None)
    camera_info: Path | None = option(None, _CAMERA_INFO, metavar='FILE')
    no_motions: bool = option(False, 'leave out the motions, which take some seconds')
    live: bool = option(
        False, 'ask the running graph instead which guarantees hold now (rates, ages, clocks, '
        'watcher, limits of the controller_manager); moves nothing')


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleArguments(PlaceArguments):
    """Arguments of ``sightplan arm console``."""

    world: str = option('arm_bridge', 'node whose arm is watched: arm_bridge, or sim_bridge',
                        metavar='NODE', choices=('arm_bridge', 'sim_bridge'))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoardArguments:
    """Size and squares of the calibration board."""

    squares: str = option('6x4', 'of the board', metavar='WxH')
    square_mm: float = option(45.0, 'side of a square as measured on paper', metavar='MM')
    marker_mm: float | None = option(
        None, 'side of a marker (default: three quarters of a square)', metavar='MM')


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardArguments(_BoardArguments):
    """Arguments of ``sightplan arm board``."""

    out: Path = option(Path('board.png'), 'where', metavar='FILE')
    dpi: int = option(300, 'dots per inch')


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateArguments(_BoardArguments):
    """Arguments of ``sightplan arm calibrate``."""

    robot: str = option('panda', _ROBOT, metavar='ROBOT')
    camera_info: Path = option(REQUIRED, _CAMERA_INFO, metavar='FILE')
    image: tuple[Path, ...] = option((), 'picture of the board (may be repeated)', metavar='FILE')
    depth: tuple[Path, ...] = option(
        (), 'depth aligned to that picture, one for each --image: 16-bit PNG, or .npy (floating '
        'point: metres); it checks the focal length and the size of the squares', metavar='FILE')
    points: Path | None = option(None, 'places and their pixels', metavar='FILE')
    board_xyz: tuple[float, float, float] | None = option(
        None, "lower left corner of the board's squares in the table's frame [m]",
        metavar=('X', 'Y', 'Z'))
    board_rpy: tuple[float, float, float] = option(
        (0.0, 0.0, 0.0), 'turn of the board about fixed axes [deg]', metavar=('R', 'P', 'Y'))
    write: bool = option(
        False,
        "write the pose into the robot's file, comments are kept; not where there are warnings")
    force: bool = option(False, 'write it in spite of warnings')


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectArguments:
    """Arguments of ``sightplan arm detect``."""

    image: Path = argument('colour picture', metavar='image')
    depth: Path = argument(
        'depth aligned to it: 16-bit PNG, or .npy (floating point: metres)', metavar='depth')
    robot: str = option('panda', _ROBOT, metavar='ROBOT')
    camera_info: Path = option(REQUIRED, _CAMERA_INFO, metavar='FILE')
    columns: int | None = option(
        None, "how many columns there are (default: the robot's most)", low=1, high=20)
    colours: str | None = option(
        None, 'blocks that must be there, as in red,green (default: any)', metavar='NAMES')
    out: Path | None = option(
        None, 'write the picture with what was seen drawn into it', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class GraspArguments(PlaceArguments):
    """Arguments of ``sightplan arm grasp``."""

    target: str = argument('what to take, in words', default='')
    at: str | None = option(
        None, 'where it is; nobody is asked then', metavar='X,Y', exclusive='where')
    trace: tuple[str, ...] = option(
        (), 'where it is, and along which points to carry it, low over the table', metavar='X,Y',
        listed=True, exclusive='where')
    put_back: bool = option(False, 'put back what is held', exclusive='where')
    part: bool | None = option(
        None, 'take it just where it is pointed at, and not where it is in balance (default: if '
        'the words are "the ... of ...")')
    least: float = option(
        LEAST_TO_ACT, 'probability from which the grounder is believed, .9 or more',
        low=LEAST_TO_ACT, high=1.0, metavar='P')
    timeout: float = option(
        120.0, "limit of the model's answers, and of the motions, by the computer's clock, which "
        'goes on while the time of a simulated arm waits for a busy computer [s]',
        low=0.1, high=3600.0, metavar='S')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan arm`` with its own sub-commands."""
    commands = add_group(
        subparsers, 'arm', "check a robot's file, watch it, calibrate its camera, see, grasp",
        "Check a robot's file, watch its arm, calibrate its camera, see what it sees. Of all "
        'this, grasp alone moves anything by itself; in the console a person lets motions pass, '
        'and re-arms.', _EXAMPLES)

    def add(name: str, main: Callable[[Any], Result], settings: type, about: str,
            description: str, failed: str = 'the robot, the calibration or the picture is not '
            'usable') -> None:
        add_command(
            commands, name, main, about, description, settings=settings,
            examples=_examples_of(name), exits=f'0 done; 1 {failed}; 2 bad usage')

    add('check', check, CheckArguments, 'is a robot ready to be used?',
        'Check a robot: its file and URDF, the reach of every column and level, that\n'
        'the camera sees all of them, and that all motions stay within the limits.')
    add('console', console, ConsoleArguments, 'watch an arm: stop, re-arm, let motions pass',
        _CONSOLE, 'the console failed')
    add('board', board, BoardArguments, 'make the calibration board for a printer',
        'Write the calibration board in its true size, for a printer.')
    add('calibrate', calibrate, CalibrateArguments, 'find where the camera hangs', _CALIBRATE)
    add('detect', detect, DetectArguments, 'what does the arm see in a picture?',
        'Find the blocks in a picture with depth, as the skills of the arm do.')
    add('grasp', grasp, GraspArguments, 'take something that is named, or pointed at', _GRASP,
        'it was not lifted')


def _examples_of(name: str) -> str:
    lines = _EXAMPLES.replace('\\\n      ', '').splitlines()
    chosen = [line for line in lines if line.startswith(f'  sightplan arm {name}')]
    return '\n'.join(['examples:', *chosen, ''])


def _numbers(values: Any, digits: int = 6) -> Any:
    """Arrays as lists of rounded numbers."""
    if hasattr(values, 'tolist'):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [_numbers(value, digits) for value in values]
    return round(float(values), digits)


_WATCHDOG_S = 0.01  # period in which the gate looks
_STANDS_S = 0.2


# --- check ------------------------------------------------------------------------------------


def check(arguments: CheckArguments) -> Result:
    """Run ``sightplan arm check``."""
    if arguments.live:
        return _check_live(arguments)
    from sightplan_arm.config import load_robot
    from sightplan_arm.kinematics import Kinematics
    rows: list[dict[str, str]] = []

    def note(what: str, state: str, text: str) -> None:
        rows.append({'what': what, 'state': state, 'text': text})
        print(f'{state:5} {what:8} {text}')

    info = None if arguments.camera_info is None else _camera_info(arguments.camera_info)
    name = arguments.robot or _ROBOT_BY_DEFAULT
    result: dict[str, Any] = {'robot': name, 'checks': rows}
    try:
        robot = load_robot(name)
    except InputError as error:
        note('file', 'FAIL', str(error))
    else:
        note('file', 'ok', f'{robot.file}')
        note('urdf', 'ok', f'{robot.urdf}: {len(robot.arm.joints)} joints from '
             f'{robot.base_frame} to {robot.tip_frame}')
        _check_stops(robot, note)
        _check_sizes(robot, note)
        kinematics = Kinematics(robot)
        result['bodies'] = _check_bodies(robot, kinematics, note)
        result['reach'] = _check_reach(robot, kinematics, note)
        _check_camera(robot, info, note)
        if not arguments.no_motions:
            _check_motions(robot, kinematics, note)
    result['ok'] = all(row['state'] != 'FAIL' for row in rows)
    print(f'{robot.name} can be used' if result['ok'] else
          f'{name} cannot be used yet: fix what is marked FAIL')
    return result, DONE if result['ok'] else FAILED


def _check_live(arguments: CheckArguments) -> Result:
    """Print which guarantees hold for the arm of a running graph, or of bare drivers."""
    from sightplan.graphs.placing import flag_of
    from sightplan_arm.config import load_robot
    wanted = None if arguments.robot is None else load_robot(arguments.robot).name
    answer = _ask_graph({'robot': arguments.robot or _ROBOT_BY_DEFAULT,
                         'place': arguments.place}, 'arm_live')
    if 'error' in answer:
        print(f'error: {answer["error"]}', file=sys.stderr)
        return answer, FAILED
    asked, elsewhere = answer['asked'], answer.get('elsewhere', ())
    print(f'as {asked} says' if asked else 'no node moves the arm; as its drivers have it')
    print(answer['text'])
    if asked:
        verdict, fine = _verdict(answer, wanted)
        print('\n'.join(verdict))
        return answer, DONE if fine else FAILED
    print(f'a node moves an arm with {flag_of(*elsewhere)}' if elsewhere else
          'start arm_bridge for the rest')
    return answer, FAILED


def _verdict(answer: Mapping[str, Any], wanted: str | None) -> tuple[list[str], bool]:
    """The last lines about an arm that runs, and whether it is the wanted one and ready.

    Args:
        answer: of the node that moves it.
        wanted: name of the robot that was asked about; None: any.
    """
    robot, state, ready = answer['robot'], answer.get('state'), bool(answer['may_be_armed'])
    lines = []
    if state in ('HOLDING', 'STOPPED', 'REARMED'):
        cause = f' because of {answer["cause"]}: {answer["message"]}' if answer['cause'] else ''
        lines.append(f'{robot} is {state}{cause}; ' + {
            'HOLDING': 'the next reset of an episode lets it move again',
            'STOPPED': 'it stays so until somebody re-arms it: r in "sightplan arm console"',
            'REARMED': 'it waits for the reset of an episode'}[state])
    if not ready:
        lines.append(f'{robot} may not be armed: required guarantees do not hold')
    elif state != 'STOPPED':
        lines.append(f'{robot} may be armed')
    other = wanted is not None and wanted != robot
    if other:
        lines.append(f'{answer["asked"]} moves {robot}, not {wanted}, which was asked about: all '
                     f'of this is about {robot}. Start the graph with robot:= that of {wanted}, '
                     'or ask another one (ROS_DOMAIN_ID, --namespace)')
    return lines, ready and state != 'STOPPED' and not other


# --- console ----------------------------------------------------------------------------------


def console(arguments: ConsoleArguments) -> Result:
    """Become the node ``operator_console``, which has the terminal and its signals to itself."""
    from sightplan.graphs.graph import beside
    from sightplan.graphs.up import command as command_line
    node = beside('operator_console', arguments.place).model_copy(
        update={'parameters': {'world': arguments.world}})
    words = command_line(node, {})
    sys.stdout.flush()
    os.execv(words[0], words)


_Note = Callable[[str, str, str], None]


def _check_stops(robot: RobotConfig, note: _Note) -> None:
    """Note the longest time from the loss of messages until the arm stands still."""
    safety = robot.safety
    slowest, field = max((getattr(safety, name), name) for name in (
        'state_timeout_s', 'image_timeout_s', 'heartbeat_timeout_s'))
    braking_s = float((robot.arm.max_velocity / robot.arm.stop_acceleration).max())
    total_s = slowest + _WATCHDOG_S + braking_s
    late = total_s > _STANDS_S + 1e-9
    note('stops', 'warn' if late else 'ok', f'at the latest {1e3 * total_s:.0f} ms after messages '
         f'stop coming the arm stands (braking: {1e3 * braking_s:.0f} ms)'
         + (f'; more than {1e3 * _STANDS_S:.0f} ms: lower safety.{field} ({slowest:g} s), if the '
            'network and the drivers allow' if late else ''))


def _check_sizes(robot: RobotConfig, note: _Note) -> None:
    """Note fingers that open too little for a block, and a box that reaches below the table."""
    side, opening = robot.table.block_m, robot.gripper.open_m
    if opening < side + 2 * _FINGER_ROOM_M:
        note('gripper', 'FAIL', f'gripper.open_m: the fingers open {1e3 * opening:g} mm, but a '
             f'block of {1e3 * side:g} mm (table.block_m) needs {1e3 * _FINGER_ROOM_M:g} mm of '
             'room on each side: correct the number that is wrong, or use smaller blocks')
    bottom = float(robot.safety.box_min_m[2])
    if bottom < 0.0:
        note('box', 'FAIL', f'safety.box_min_m: its z of {bottom:g} lets the hand '
             f"{-1e3 * bottom:g} mm below the table's top (z = 0): set it above, as in 0.012")


def _check_bodies(robot: RobotConfig, kinematics: Kinematics, note: _Note) -> dict[str, Any]:
    """Note which parts of the arm are compared, and their distances in the named postures."""
    from sightplan_arm.bodies import Bodies
    try:
        bodies = Bodies(robot, kinematics)
    except InputError as error:
        note('bodies', 'FAIL', str(error))
        return {}
    margins = bodies.margins()
    joined = ', '.join(f'{one} and {other}' for one, other in bodies.joined)
    left_out = ''.join([*(f'; {one} and {other} by the file: {why}'
                          for one, other, why in bodies.skipped),
                        *(f'; without a shape: {one}: {why}' for one, why in bodies.unknown)])
    wrong = []
    for posture in ('park', 'ready'):
        gaps = bodies.distances(getattr(robot.arm, posture))
        wrong += [f'in arm.{posture} {one} is {1e3 * gap:.1f} mm from {other}, the margin is '
                  f'{1e3 * margins[one, other]:g} mm'
                  for (one, other), gap in gaps.items() if gap < margins[one, other]]
    if wrong:
        note('bodies', 'FAIL', f'{"; ".join(wrong)}: change the posture, or margins or box in '
             f'{robot.file}')
    else:
        note('bodies', 'ok', f'{len(margins)} pairs of bodies are compared in all of every motion;'
             f' not compared, for no joint moves them apart or together: {joined}{left_out}')
    return {'compared': [[*pair, margin] for pair, margin in margins.items()],
            'joined': [list(pair) for pair in bodies.joined],
            'left_out': [list(pair) for pair in bodies.skipped]}


def _check_reach(robot: RobotConfig, kinematics: Kinematics, note: _Note) -> list[dict[str, Any]]:
    from sightplan_arm.kinematics import reach
    table = robot.table
    places = reach(kinematics, robot)
    by_place = {(place.column, place.level): place for place in places}
    print('      reach: distance of the next joint limit [rad] when a block is held at '
          'this column and level')
    print('      level ' + ''.join(f'{f"c{i + 1}":>7}' for i in range(table.max_columns)))
    for level in reversed(range(table.max_level + 2)):
        cells = (by_place[column, level] for column in range(table.max_columns))
        print(f'      {level + 1:5} ' + ''.join(
            f'{cell.margin:7.2f}' if cell.ok else '     no' for cell in cells))
    lost = [place for place in places if not place.ok]
    if lost:
        note('reach', 'FAIL', f'{len(lost)} of {len(places)} places: '
             + '; '.join(f'column {place.column + 1}, level {place.level + 1}: {place.problem}'
                         for place in lost[:3]) + ('; ...' if len(lost) > 3 else '')
             + ' (move the table or the box, or lower table.max_level or max_columns)')
    else:
        least = min(place.margin for place in places)
        note('reach', 'ok', f'all {len(places)} places, levels {table.max_level + 1} and '
             f'{table.max_level + 2} on the way over a full stack included; at least '
             f'{least:.2f} rad from the limits')
    return [{'column': place.column, 'level': place.level, 'ok': place.ok,
             'margin_rad': _numbers(place.margin, 4), 'problem': place.problem}
            for place in places]


def _check_camera(robot: RobotConfig, info: CameraInfo | None, note: _Note) -> None:
    """The camera's pose makes sense, and it sees every place of a block."""
    import cv2
    import numpy as np

    from sightplan_arm.geometry import inverse, transform
    pose, table = robot.camera.pose, robot.table
    xs, side = table.column_x_m(table.max_columns), table.block_m
    around = 0.78 * side  # half a block's diagonal and some slack
    corners = np.array([(x, y, z) for x in (xs[0] - around, xs[-1] + around)
                        for y in (-around, around) for z in (0.0, table.max_level * side)])
    local = transform(inverse(pose), corners)
    fix = 'run sightplan arm calibrate'
    if pose[2, 3] <= 0:
        note('camera', 'FAIL', f'camera.pose: {-1e3 * pose[2, 3]:.0f} mm below the table ({fix})')
        return
    if local[:, 2].min() <= 0:
        note('camera', 'FAIL', f'camera.pose: the camera looks away from the columns ({fix})')
        return
    if pose[0, 0] < 0.5:
        note('camera', 'FAIL', "camera.pose: x of the table does not point to the picture's "
             f'right: turn table.pose so that x is right and y away as the camera sees it, or '
             f'{fix}')
        return
    flat = local[:, :2] / local[:, 2:]
    view = np.degrees(np.arctan(np.abs(flat).max(axis=0)))
    if info is None:
        note('camera', 'skip', f'to see every place, {2 * view[0]:.1f} x {2 * view[1]:.1f} '
             'degrees are needed: give --camera-info to check that')
        return
    seen = cv2.projectPoints(local, np.zeros(3), np.zeros(3), info.matrix,
                             info.distortion)[0][:, 0]
    room = np.concatenate([seen + 0.5, np.array([info.width, info.height]) - 0.5 - seen], axis=1)
    block_px = side * math.sqrt(info.matrix[0, 0] * info.matrix[1, 1]) / float(local[:, 2].max())
    if room.min() < 0:
        sides = ('left', 'upper', 'right', 'lower')
        worst = int(room.min(axis=0).argmin())
        note('camera', 'FAIL', f'blocks would be up to {-room.min():.0f} pixels beyond the '
             f'{sides[worst]} edge of the picture: move the camera, or lower table.max_columns '
             'or max_level')
    elif block_px < _LEAST_BLOCK_PX:
        note('camera', 'FAIL', f'a block shows {block_px:.0f} pixels wide, at least '
             f'{_LEAST_BLOCK_PX:.0f} are needed: move the camera nearer')
    else:
        note('camera', 'ok', f'sees every place, {room.min():.0f} pixels or more from the edge; a '
             f'block is at least {block_px:.0f} pixels wide')


def _check_motions(robot: RobotConfig, kinematics: Kinematics, note: _Note) -> None:
    """Plan moves as the skills do, between all columns; check all motions as the gate does."""
    from sightplan_arm.hardware import ArmStoppedError
    from sightplan_arm.limits import Limits
    from sightplan_arm.skills.blocksworld import MovePlanner, SkillSettings
    from sightplan_arm.skills.motions import NoRoomError
    from sightplan_arm.trajectories import UnreachableError
    limits = Limits(robot, kinematics)
    planner = MovePlanner(robot, kinematics, SkillSettings())
    cases = list(_moves(robot))
    wrong, tight, count = [], [], 0
    with EpisodeBar(transient=True) as bar:
        for number, (where, task) in enumerate(cases):
            bar.stage('moves', number, len(cases))
            try:
                moves = planner.plan(task)
                for motion in moves.all:
                    limits.check(motion.trajectory, motion.around)
                    count += 1
            except NoRoomError as error:
                tight.append(f'{where}: {error}')
            except (UnreachableError, ArmStoppedError) as error:
                wrong.append(f'{where}: {error}')
    if wrong:
        note('motions', 'FAIL', f'{len(wrong)} of {len(cases)} moves: {wrong[0]}')
    elif len(tight) == len(cases):
        note('motions', 'FAIL', f'no move has room: {tight[0]}')
    elif tight:
        note('motions', 'warn', f'{len(tight)} of {len(cases)} moves will be refused for lack of '
             f'room (no_room): {tight[0]}; {count} motions of the others are within all limits '
             'and the workspace box')
    else:
        note('motions', 'ok', f'{len(cases)} moves between all columns, on the table, from and '
             f'onto full stacks: {count} motions within all limits and the workspace box')


def _moves(robot: RobotConfig) -> Iterator[tuple[str, Task]]:
    """Yield moves with their names: of a block alone, from and onto full stacks."""
    import numpy as np

    from sightplan_arm.perception import Cube
    from sightplan_arm.skills.blocksworld import Task
    table = robot.table
    side, xs = table.block_m, table.column_x_m(table.max_columns)
    full = table.max_level - 1

    def cube(column: int, level: int) -> Cube:
        return Cube('block', 'red', np.array([xs[column], 0.0, (level + 0.5) * side]), 0.0, 1,
                    0.0, 0.0)

    for source, target in itertools.permutations(range(table.max_columns), 2):
        for below, onto in dict.fromkeys([(0, 0), (full, 0), (0, full)]):
            others = (*(cube(source, level) for level in range(below)),
                      *(cube(target, level) for level in range(onto)))
            where = (f'from column {source + 1}, level {below + 1}, to column {target + 1}, '
                     f'level {onto + 1}')
            yield (where,
                   Task('block', f'column {target + 1}', cube(source, below),
                        cube(target, onto).centre_m, below, others))


# --- board and calibrate ----------------------------------------------------------------------


def _board(arguments: _BoardArguments) -> Board:
    from sightplan_arm.extrinsics import Board
    across, _, up = arguments.squares.partition('x')
    if not (across.isdecimal() and up.isdecimal()):
        raise InputError(f'--squares {arguments.squares}: two numbers are needed, as in 6x4')
    square = arguments.square_mm / 1e3
    marker = arguments.marker_mm / 1e3 if arguments.marker_mm is not None else 0.75 * square
    return Board(int(across), int(up), square, marker)


def board(arguments: BoardArguments) -> Result:
    """Run ``sightplan arm board``."""
    from sightplan_arm.camera_files import write_png
    made, path = _board(arguments), user_path(arguments.out)
    if not 50 <= arguments.dpi <= 1200:
        raise InputError(f'--dpi {arguments.dpi}: between 50 and 1200')
    page = made.draw(arguments.dpi)
    write_png(path, page, arguments.dpi)
    size = [round(length / arguments.dpi * 25.4, 1) for length in page.shape[::-1]]
    print(f'{path}: {size[0]:.0f} x {size[1]:.0f} mm. Print it at 100 %, glue it to '
          f'something stiff, measure a square and give that as --square-mm.')
    return {'file': str(path), 'size_mm': size, 'squares': [made.squares_x, made.squares_y],
            'square_mm': arguments.square_mm}, DONE


def calibrate(arguments: CalibrateArguments) -> Result:
    """Run ``sightplan arm calibrate``."""
    import numpy as np

    from sightplan_arm.camera_files import pose_lines, write_camera_pose
    from sightplan_arm.config import load_robot
    from sightplan_arm.extrinsics import check_depth, solve_extrinsics
    from sightplan_arm.geometry import distance
    if not arguments.image and arguments.points is None:
        raise InputError('nothing to calibrate from: give --image with --board-xyz, or --points')
    robot, made = load_robot(arguments.robot), _board(arguments)
    info = _camera_info(arguments.camera_info)
    places, pixels, names, depths = _places(arguments, robot, info, made)
    found = solve_extrinsics(places, pixels, info.matrix, info.distortion)
    depth_ratio = None
    if arguments.depth:
        depth_ratio = check_depth(places[found.used], depths[found.used], found.pose)
    xs = robot.table.column_x_m(robot.table.max_columns)
    std_m = float(found.std_at([(x, 0.0, z) for x in (xs[0], xs[-1]) for z in (
        0.0, robot.table.max_level * robot.table.block_m)]).max())
    moved_m, turned = distance(robot.camera.pose, found.pose)
    left_out = [names[i] for i in np.flatnonzero(~found.used)]
    used = int(found.used.sum())
    most = float(found.residuals_px[found.used].max())
    print(f'{used} of {counted(len(names), "point")} used; reprojection error '
          f'{found.reprojection_px:.2f} pixels, the largest {most:.2f}')
    for name in left_out:
        print(f'left out, contradicts the rest: {name}')
    print(f'blocks are seen within {1e3 * std_m:.1f} mm (standard deviation, from this '
          f'calibration alone); {1e3 * moved_m:.0f} mm and {math.degrees(turned):.1f} degrees '
          'from the pose in the file')
    print(f'the points fit {found.focal_ratio:.3f} of the focal length of --camera-info best '
          f'(standard deviation {found.focal_std:.3f})' + ('' if depth_ratio is None else
          f'; the depth is {depth_ratio:.3f} of what the pose expects'))
    warnings = _warnings(found, std_m, depth_ratio is not None)
    warnings += _far_warnings(arguments, robot.camera.pose, found.pose)
    for warning in warnings:
        print(f'warning: {warning}')
    lines = pose_lines(found.pose, f'calibrated {date.today().isoformat()}: {used} points, '
                       f'{found.reprojection_px:.2f} px', found.covariance)
    print('camera:\n' + '\n'.join(f'  {line}' for line in lines))
    write = arguments.write and (arguments.force or not warnings)
    if write:
        write_camera_pose(robot.file, found.pose, lines[0].partition('# ')[2], found.covariance)
        print(f'written to {robot.file}')
    elif arguments.write:
        print(f'not written to {robot.file}, because of the warnings: calibrate again, '
              'or give --force')
    return {
        'pose': _numbers(found.pose, 9), 'reprojection_px': _numbers(found.reprojection_px, 4),
        'points': len(names), 'left_out': left_out,
        'residuals_px': _numbers(np.minimum(found.residuals_px, 1e6), 3),
        'position_std_m': _numbers(found.position_std_m), 'turn_std_deg': _numbers(
            found.turn_std_deg), 'focal_ratio': _numbers(found.focal_ratio, 4),
        'focal_std': _numbers(min(found.focal_std, 1.0), 4), 'depth_ratio': depth_ratio and
        _numbers(depth_ratio, 4), 'table_std_m': _numbers(std_m), 'moved_m': _numbers(moved_m),
        'turned_deg': _numbers(math.degrees(turned)), 'warnings': warnings,
        'written': str(robot.file) if write else None,
    }, DONE if write or not arguments.write else FAILED


def _warnings(found: Extrinsics, std_m: float, depth: bool) -> list[str]:
    warnings = []
    if found.reprojection_px > _WARN_PX:
        warnings.append(f'a reprojection error of more than {_WARN_PX:g} pixel: check '
                        '--camera-info (the size of the picture, the distortion), --square-mm '
                        'and the pixels')
    if std_m > _WARN_TABLE_M:
        warnings.append(f'more than {1e3 * _WARN_TABLE_M:g} mm of uncertainty: use more points, '
                        'spread over the table and over heights')
    if found.focal_std > _WARN_FOCAL and not depth:
        warnings.append('the points leave the focal length open (standard deviation '
                        f'{100 * min(found.focal_std, 1.0):.0f} %), and where the camera is '
                        'with it: give --depth, the depth picture of the same moment, or use '
                        'points at several distances')
    if found.pose[0, 0] < 0.5:
        warnings.append("x of the table does not point to the picture's right: the frame of the "
                        'table (table.pose) has x to the right and y away as the camera sees it')
    return warnings


def _far_warnings(arguments: CalibrateArguments, before: Vector, found: Vector) -> list[str]:
    """Likely causes of a pose that is far from the one in the robot's file."""
    import numpy as np

    from sightplan_arm.geometry import distance
    moved_m, turned = distance(before, found)
    if moved_m <= _FAR_M and turned <= _FAR_TURN:
        return []
    causes = []
    if arguments.board_xyz is not None:
        causes = ['--board-rpy (0 0 0 lies flat, 90 0 0 stands upright facing the camera)',
                  '--board-xyz (metres, lower left corner of the squares)']
        if turned <= _FAR_TURN:
            causes.reverse()
    if arguments.image:
        size = f'--square-mm ({arguments.square_mm:g}: measure it on the paper'
        if arguments.board_xyz is not None:  # a wrong size scales the way to this corner
            ours, theirs = (pose[:3, 3] - np.array(arguments.board_xyz)
                            for pose in (found, before))
            scale = float(np.linalg.norm(theirs) / max(1e-9, float(np.linalg.norm(ours))))
            if np.linalg.norm(theirs - scale * ours) < _ALIKE * np.linalg.norm(theirs):
                size += f'; with {scale * arguments.square_mm:.1f} the file would be right'
        size += '; --depth checks it)'
        causes = [size, *causes] if 'would be right' in size else [*causes, size]
    if arguments.points is not None:
        causes.append('the places of --points (metres)')
    return [(f'the camera is {1e3 * moved_m:.0f} mm and {math.degrees(turned):.0f} degrees from '
             f'the pose in the file. Check {"; ".join(causes)}. If the camera has really another '
             'place than in the file, --force writes it')]


def _check_metres(where: str, place: Sequence[float]) -> None:
    """Refuse a place that is too far from the table to be one in metres.

    Raises:
        InputError: a coordinate is beyond some metres.
    """
    if max(map(abs, place)) > _FARTHEST_M:
        raise InputError(f'{where}: {" ".join(f"{value:g}" for value in place)} is more than '
                         f"{_FARTHEST_M:g} m from the table's origin; are these metres? "
                         f'({" ".join(f"{value / 1e3:g}" for value in place)} would be '
                         'millimetres made metres)')


def _places(arguments: CalibrateArguments, robot: RobotConfig, info: CameraInfo, made: Board,
            ) -> tuple[Vector, Vector, list[str], Vector]:
    """(N, 3) places in the table's frame, (N, 2) pixels, names, and (N,) depths [m] or NaN.

    Raises:
        InputError: a picture or the file of points cannot be used.
    """
    import numpy as np

    from sightplan.model.picture_files import read_image
    from sightplan_arm.extrinsics import (
        LEAST_POINTS,
        ExtrinsicsError,
        board_pose_from_touches,
    )
    from sightplan_arm.geometry import make_pose, rotation_from_rpy, transform
    places: list[Any] = []
    pixels: list[Any] = []
    names: list[str] = []
    corners: list[int] = []
    touched: list[Any] = []
    if arguments.points is not None:
        for name, place, pixel, corner in _read_points(user_path(arguments.points), robot):
            if corner is not None:
                corners.append(corner)
                touched.append(place)
            else:
                places.append(place)
                pixels.append(pixel)
                names.append(name)
    pose = None
    if arguments.board_xyz is not None:
        _check_metres('--board-xyz', arguments.board_xyz)
        pose = make_pose(arguments.board_xyz, rotation_from_rpy(np.radians(arguments.board_rpy)))
    elif corners:
        pose, error = board_pose_from_touches(made, corners, touched)
        print(f'{len(corners)} corners were touched within {1e3 * error:.1f} mm of '
              'where the board has them')
        if error > 0.003:
            raise ExtrinsicsError(f'the touched corners are {1e3 * error:.1f} mm off (root mean '
                                  'square): check their numbers and --square-mm')
    if pose is None and arguments.image:
        raise InputError('--image: where is the board? Give --board-xyz (and --board-rpy), or '
                         '--points with corners that the tip touched')
    if corners and not arguments.image:
        raise InputError(f'{arguments.points}: it has corners of the board: give the picture '
                         'that shows it (--image)')
    if arguments.depth and len(arguments.depth) != len(arguments.image):
        raise InputError(f'--depth: {len(arguments.depth)} files for {len(arguments.image)} '
                         'pictures (--image): give one for each, in the same order')
    depths = [math.nan] * len(places)
    found = 0
    for number, path in enumerate(arguments.image):
        picture = read_image(user_path(path))
        if picture.shape[:2] != (info.height, info.width):
            raise InputError(f'{path}: {picture.shape[1]} x {picture.shape[0]} pixels, but '
                             f'--camera-info is for {info.width} x {info.height}')
        numbers, seen = made.detect(picture)
        print(f'{path}: {counted(len(numbers), "corner")} of the board found')
        if not len(numbers):
            raise ExtrinsicsError(f'{path}: no corner of the board is seen; {_LARGER}')
        found += len(numbers)
        assert pose is not None
        places += list(transform(pose, np.array([made.corner_m(int(i)) for i in numbers])))
        pixels += list(seen)
        names += [f'{path}: corner {i}' for i in numbers]
        depths += (_depths_at(user_path(arguments.depth[number]), robot, picture.shape[:2], seen)
                   if arguments.depth else [math.nan] * len(numbers))
    if arguments.image and len(places) < LEAST_POINTS:
        of = (made.squares_x - 1) * (made.squares_y - 1) * len(arguments.image)
        beside = (f', and {counted(len(places) - found, "point")} in {arguments.points}'
                  if len(places) > found else '')
        raise ExtrinsicsError(
            f'{counted(found, "corner")} of {of} found in '
            f'{counted(len(arguments.image), "picture")}{beside}: at least {LEAST_POINTS} are '
            f'needed; {_LARGER}')
    return np.array(places), np.array(pixels), names, np.array(depths)


def _depths_at(path: Path, robot: RobotConfig, shape: tuple[int, int], pixels: Vector,
               ) -> list[float]:
    """Measured depth [m] at pixels (N, 2) of a picture of a shape; 0 where unknown.

    Raises:
        InputError: the file cannot be read, or is not aligned to the picture.
    """
    import numpy as np

    from sightplan_arm.camera_files import read_depth
    depth = read_depth(path, robot.camera.depth_scale_m)
    if depth.shape != shape:
        raise InputError(f'{path}: {depth.shape[1]} x {depth.shape[0]} pixels, but the picture '
                         f'has {shape[1]} x {shape[0]}: give the depth that is aligned to it')
    columns, rows = np.rint(pixels).astype(int).T
    return [float(value) for value in depth[rows, columns]]


def _read_points(path: Path, robot: RobotConfig,
                 ) -> Iterator[tuple[str, Vector, tuple[float, float] | None, int | None]]:
    """Name, place in the table's frame, and pixel or corner of each point."""
    import numpy as np

    from sightplan.model.reading import read_file
    from sightplan_arm.camera_files import Points
    from sightplan_arm.geometry import inverse, transform
    from sightplan_arm.kinematics import Kinematics
    kinematics = Kinematics(robot)
    for number, point in enumerate(read_file(Points, path).points):
        where = f'{path}: points.{number}'
        if point.joints is None:
            _check_metres(f'{where}.xyz', point.xyz or ())
            place = np.array(point.xyz)
        elif len(point.joints) != len(robot.arm.joints):
            raise InputError(f'{where}.joints: {len(robot.arm.joints)} numbers are needed')
        else:
            tip = kinematics.fk(np.array(point.joints))
            place = transform(inverse(robot.table.pose), tip[:3, 3])
        yield where, place, point.pixel, point.corner


def _camera_info(file: Path) -> CameraInfo:
    from sightplan_arm.camera_files import read_camera_info
    return read_camera_info(user_path(file))


# --- detect -----------------------------------------------------------------------------------


def detect(arguments: DetectArguments) -> Result:
    """Run ``sightplan arm detect``."""
    from sightplan_arm.camera_files import write_png
    from sightplan_arm.config import load_robot
    from sightplan_arm.perception import COLOURS, overlay, see_table
    robot = load_robot(arguments.robot)
    table = robot.table
    columns = table.max_columns if arguments.columns is None else arguments.columns
    wanted = [name.strip() for name in (arguments.colours or '').split(',') if name.strip()]
    colours = {colour: colour for colour in wanted or COLOURS}
    xs, rgbd = table.column_x_m(columns), _rgbd(arguments, robot)
    start = time.perf_counter()
    seen = see_table(rgbd, robot.camera.pose, colours, table.block_m, xs)
    took_ms = 1e3 * (time.perf_counter() - start)
    warnings = [c for c in seen.warnings if wanted or c.kind != 'missing']
    for index, stack in enumerate(seen.stacks):
        print(f'column {index + 1}: {" < ".join(stack) or "empty"}')
    for cube in seen.cubes.values():
        x, y, z = 1e3 * cube.centre_m
        print(f'{cube.name:8} x {x:7.1f}  y {y:7.1f}  z {z:6.1f} mm  turned '
              f'{math.degrees(cube.yaw_rad):5.1f} deg  {cube.pixels} pixels, faces within '
              f'{1e3 * cube.residual_m:.1f} mm, outline within {cube.edge_px:.1f} pixels')
    for warning in warnings:
        print(f'warning: {warning}')
    if arguments.out is not None:
        out = user_path(arguments.out)
        write_png(out, overlay(rgbd, robot.camera.pose, seen, table.block_m, xs))
        print(f'drawn into {out}')
    lost = [colour for colour in wanted if colour not in seen.cubes]
    doubted = any(c.kind in ('misaligned', 'ambiguous', 'exchanged') for c in warnings)
    return {
        'stacks': seen.stacks, 'ms': _numbers(took_ms, 1),
        'warnings': [{'kind': c.kind, 'text': c.text} for c in warnings],
        'cubes': {cube.name: {'centre_m': _numbers(cube.centre_m),
                              'yaw_deg': _numbers(math.degrees(cube.yaw_rad), 2),
                              'pixels': cube.pixels, 'residual_m': _numbers(cube.residual_m),
                              'edge_px': _numbers(cube.edge_px, 2)}
                  for cube in seen.cubes.values()},
    }, DONE if seen.cubes and not lost and not doubted else FAILED


def _rgbd(arguments: DetectArguments, robot: RobotConfig) -> Rgbd:
    from sightplan.model.picture_files import read_image
    from sightplan_arm.camera_files import read_depth
    from sightplan_arm.hardware import Rgbd
    info = _camera_info(arguments.camera_info)
    rgb = read_image(user_path(arguments.image))
    if rgb.shape[:2] != (info.height, info.width):
        raise InputError(f'{arguments.image}: {rgb.shape[1]} x {rgb.shape[0]} pixels, but '
                         f'--camera-info is for {info.width} x {info.height}')
    depth = read_depth(user_path(arguments.depth), robot.camera.depth_scale_m)
    return Rgbd(rgb, depth, info.matrix, info.distortion, 0)


# --- grasp ------------------------------------------------------------------------------------


def grasp(arguments: GraspArguments) -> Result:
    """``sightplan arm grasp``: asked of a running graph, by a process that knows ROS."""
    points = ([_point(text, '--trace') for text in arguments.trace] if arguments.at is None
              else [_point(arguments.at, '--at')])
    if arguments.trace and len(points) < 2:
        raise InputError('--trace needs two points or more')
    if not (arguments.target or points or arguments.put_back):
        raise InputError('say what to grasp, as in: sightplan arm grasp "the red mug"')
    if arguments.put_back and arguments.target:
        raise InputError('--put-back puts back what is held, whatever it is: name nothing besides')
    answer = _ask_graph({
        'target': arguments.target, 'points': points, 'part': arguments.part,
        'put_back': arguments.put_back, 'least': arguments.least,
        'timeout_s': arguments.timeout, 'place': arguments.place})
    if 'error' in answer:
        print(f'error: {answer["error"]}', file=sys.stderr)
    else:
        tried = 'world' in answer  # else the message has all probabilities
        chance = answer.get('probability') if tried else None
        print(f'{answer["cause"]}{": " if answer["message"] else ""}{answer["message"]}'
              f'{"" if chance is None else f" (P = {chance:.2f})"}')
    return answer, DONE if answer.get('cause') == 'done' else FAILED


def _point(text: str, flag: str) -> tuple[float, float]:
    """A place from ``x,y``.

    Raises:
        InputError: it is none in the picture.
    """
    x, y = read_numbers(text, flag, ('X', 'Y'))
    if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
        raise InputError(f'{flag} {text!r} is beside the picture: X and Y are from 0 to 1')
    return x, y


def _ask_graph(request: Mapping[str, Any], module: str = 'grasp') -> dict[str, Any]:
    """Start a module of the nodes' package that asks a running graph.

    Its process cancels when it gets a signal, and when this one ends, however that happens.

    Raises:
        InputError: that package is not there.
    """
    interrupted = False
    with subprocess.Popen([sys.executable, '-m', f'sightplan_nodes.{module}', json.dumps(request)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ''
        while True:
            try:
                said += process.stdout.read()
                break
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
    try:
        answer: dict[str, Any] = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        if interrupted:
            return {'error': 'cancelled before anything moved'}
        raise InputError('the ROS nodes of sightplan cannot be used here: build the workspace '
                         '(make build), and see sightplan doctor') from None
    return answer
