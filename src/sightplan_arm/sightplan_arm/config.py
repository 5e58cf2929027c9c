"""One YAML file per robot (``config/robots/<name>.yaml``), read and checked."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import yaml

from sightplan.model import InputError, config_folders, did_you_mean, user_path
from sightplan_arm.geometry import make_pose, rotation_from_quaternion, rotation_from_rpy
from sightplan_arm.hardware import Vector

INTERFACES = ('auto', 'topic', 'action')
"""How trajectories reach a controller; see ArmConfig.interface."""

BRAKING_S = 0.08
"""So long may braking from the greatest velocity take at most [s]."""

ROBOT_HASH = 'robot_sha256'
"""What records call ``RobotConfig.sha256``."""

_URDFS = Path(__file__).with_name('urdf')
_TOPIC = re.compile(r'/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
_PACKAGE = re.compile(r'package://([A-Za-z0-9_]+)/(.+)')
_ROUNDING = 1e-6
_LONGEST_BOX_M = 5.0
_MOST_TOLERANCE_RAD = 0.3
_MOST_TILT_DEG = 45.0


@dataclass(frozen=True, eq=False)
class ArmConfig:
    """Joints and limits.

    Attributes:
        joints: names, from the base to the hand, as in joint_states and the URDF.
        lower, upper: (N,) positions that are allowed [rad], at most the URDF's.
        max_velocity: (N,) [rad/s], at most the URDF's.
        max_acceleration: (N,) [rad/s2], of planned motions.
        stop_acceleration: (N,) [rad/s2], when the arm is to hold at once.
        park: (N,) posture in which the arm hides nothing from the camera [rad].
        ready: (N,) posture above the table from which inverse kinematics starts [rad].
        joint_states, trajectory_topic, trajectory_action: ROS names of the controller.
        interface: ``topic`` (on which the gate's own thread sends the braking), ``action``, or
            ``auto``, which is the topic.
    """

    joints: tuple[str, ...]
    lower: Vector
    upper: Vector
    max_velocity: Vector
    max_acceleration: Vector
    stop_acceleration: Vector
    park: Vector
    ready: Vector
    joint_states: str
    trajectory_topic: str
    trajectory_action: str
    interface: str


@dataclass(frozen=True)
class HandConfig:
    """The gripper as boxes, pointing down: what the skills make room for.

    Attributes:
        half_width_m, half_length_m: of its body, across and along the line on which fingers open.
        above_tip_m: height of the body's lower side above the tip; rather less than it is.
        finger_half_width_m, finger_thickness_m: across and along that line.
        below_tip_m: the fingers end so far below the tip.
    """

    half_width_m: float
    half_length_m: float
    above_tip_m: float
    finger_half_width_m: float
    finger_thickness_m: float
    below_tip_m: float

    @property
    def fingers_m(self) -> float:
        """So far the fingers hang below the body."""
        return self.above_tip_m + self.below_tip_m


@dataclass(frozen=True)
class GripperConfig:
    """Two fingers that open symmetrically.

    Attributes:
        joints: names in joint_states; each moves by ``opening / len(joints)`` if prismatic.
        joint_at_open, joint_at_closed: value of one joint when open and when closed [m or rad].
        open_m: greatest distance between the fingers.
        force_n: with which things are held.
        trajectory_topic, action: ROS names; as for the arm.
        interface: ``topic``, ``action`` (GripperCommand), or ``auto``: the action where
            control_msgs is installed.
        settle_s: time that opening or closing takes at most.
        hand: its size.
    """

    joints: tuple[str, ...]
    joint_at_open: float
    joint_at_closed: float
    open_m: float
    force_n: float
    trajectory_topic: str
    action: str
    interface: str
    settle_s: float
    hand: HandConfig


@dataclass(frozen=True, eq=False)
class CameraConfig:
    """The camera and where it hangs.

    Attributes:
        image, info, depth: topics of its driver.
        pose: (4, 4) of the optical frame (REP 103: x right, y down, z forward) in the table's
            frame.
        depth_scale_m: metres per unit of a 16UC1 depth image.
    """

    image: str
    info: str
    depth: str
    pose: Vector
    depth_scale_m: float


@dataclass(frozen=True, eq=False)
class TableConfig:
    """The table: its frame has x to the right as the camera sees it, y away from it, z up.

    Attributes:
        pose: (4, 4) of the table's frame in the base's frame.
        block_m: side of a block.
        spacing_m: distance of neighbouring columns; they stand along y = 0, centred on x = 0.
        max_columns: as many fit.
        max_level: blocks in the highest stack.
    """

    pose: Vector
    block_m: float
    spacing_m: float
    max_columns: int
    max_level: int

    def column_x_m(self, n_columns: int) -> tuple[float, ...]:
        """Where each column is: its x in the table's frame, left to right."""
        return tuple((i - (n_columns - 1) / 2) * self.spacing_m for i in range(n_columns))


@dataclass(frozen=True)
class Point:
    """A point that moves with a link.

    Attributes:
        frame: the link.
        xyz_m: in the link's frame; by default its origin.
    """

    frame: str
    xyz_m: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __str__(self) -> str:
        if not any(self.xyz_m):
            return self.frame
        return f'{self.frame} at ({", ".join(f"{x:g}" for x in self.xyz_m)}) m'


@dataclass(frozen=True, eq=False)
class SafetyConfig:
    """What the gate allows.

    Attributes:
        box_min_m, box_max_m: (3,) corners of the workspace in the table's frame; all ``points``
            must stay inside.
        checked_frames: links of the URDF whose origins are checked.
        checked_points: more points that are checked, such as corners of the hand.
        start_tolerance_rad: how far from where the arm is a motion may start, or end.
        tracking_tolerance_rad: how far the arm may be from where the motion has it.
        state_timeout_s, image_timeout_s, heartbeat_timeout_s: ages at which the arm holds (wall
            clock).
    """

    box_min_m: Vector
    box_max_m: Vector
    checked_frames: tuple[str, ...]
    start_tolerance_rad: float
    tracking_tolerance_rad: float
    state_timeout_s: float
    image_timeout_s: float
    heartbeat_timeout_s: float
    checked_points: tuple[Point, ...] = ()

    @property
    def points(self) -> tuple[Point, ...]:
        """All that is checked: origins of the frames, and the points."""
        return (*map(Point, self.checked_frames), *self.checked_points)


@dataclass(frozen=True, eq=False)
class RobotConfig:
    """A robot, read from its file.

    Attributes:
        name: of the robot.
        file: where it was read.
        urdf: path of the URDF (kinematics and limits).
        base_frame, tip_frame: of the URDF; the tip lies between the finger tips, z out of the
            hand, y along which the fingers open.
        arm, gripper, camera, table, safety: see there.
    """

    name: str
    file: Path
    urdf: Path
    base_frame: str
    tip_frame: str
    arm: ArmConfig
    gripper: GripperConfig
    camera: CameraConfig
    table: TableConfig
    safety: SafetyConfig

    @property
    def sha256(self) -> str:
        """Hash of the file and the URDF, as the identity of a run has it."""
        digest = hashlib.sha256()
        for file in (self.file, self.urdf):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()[:12]


def robot_files() -> dict[str, Path]:
    """The installed robots by name."""
    found: dict[str, Path] = {}
    for folder in reversed(config_folders()):
        found.update({path.stem: path for path in sorted((folder / 'robots').glob('*.yaml'))})
    return found


def load_robot(name_or_path: str) -> RobotConfig:
    """Read a robot's file and check it against its URDF.

    Args:
        name_or_path: name of a file in ``config/robots/`` without its suffix, or a path, which
            ends in ``.yaml`` or ``.yml``.

    Raises:
        InputError: there is no such file, or something in it is wrong; names file, field, remedy.
    """
    path = user_path(name_or_path)
    if path.suffix not in ('.yaml', '.yml'):
        files = robot_files()
        if not files:
            raise InputError('no robots are installed: build the workspace (make build) and use '
                             '.venv/bin/sightplan, or source install/setup.bash; or give the path '
                             'of a YAML file')
        if name_or_path not in files:
            raise InputError(f'robot {name_or_path!r} is unknown; choose one of '
                             f'{", ".join(files)}, or give the path of a YAML file'
                             f'{did_you_mean(name_or_path, tuple(files))}')
        path = files[name_or_path]
    try:
        data = yaml.load(path.read_text('utf-8'), Loader=_Loader)  # noqa: S506 - a safe one
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error}') from error
    return _robot(path, _Section(path, '', data))


class _Loader(yaml.SafeLoader):
    """Refuses keys that stand twice in a mapping, of which YAML would take the last silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if key.tag != 'tag:yaml.org,2002:merge' and name in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'{name} stands twice in one mapping', key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


class _Section:
    """A mapping of a robot's file, each of whose fields is read once."""

    def __init__(self, file: Path, name: str, data: Any) -> None:
        self._file, self._name = file, name
        if not isinstance(data, Mapping):
            where = f'{name}: must be a mapping' if name else 'is not a robot file'
            raise InputError(f'{file}: {where} of fields to values; copy '
                             'config/robots/panda.yaml and change what differs')
        self._data = {str(key): value for key, value in data.items()}
        self._read: set[str] = set()

    def wrong(self, field: str, message: str) -> InputError:
        """The error that a field of this section has."""
        return InputError(f'{self._file}: {f"{self._name}." if self._name else ""}{field}: '
                          f'{message}')

    def has(self, field: str) -> bool:
        """Whether an optional field is given."""
        self._read.add(field)
        return self._data.get(field) is not None

    def get(self, field: str) -> Any:
        """The value of a field as it stands in the file."""
        if not self.has(field):
            unread = [key for key in self._data if key not in self._read]
            raise self.wrong(field, f'is missing{did_you_mean(field, unread)}')
        return self._data[field]

    def section(self, field: str) -> _Section:
        """A mapping inside this one."""
        return _Section(self._file, f'{self._name}.{field}' if self._name else field,
                        self.get(field))

    def done(self) -> None:
        """Refuse fields that nobody has read."""
        for field in self._data:
            if field not in self._read:
                known = tuple(sorted(self._read))
                raise self.wrong(field, f'is no field here{did_you_mean(field, known)}; there are '
                                 f'{", ".join(known)}')

    def text(self, field: str) -> str:
        """A text that is not empty."""
        value = self.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, f'must be a text, not {value!r}')
        return value.strip()

    def choice(self, field: str, choices: Sequence[str]) -> str:
        """One of some texts."""
        value = self.text(field)
        if value not in choices:
            raise self.wrong(field, f'{value!r} is not one of {", ".join(choices)}'
                             f'{did_you_mean(value, choices)}')
        return value

    def topic(self, field: str) -> str:
        """The name of a ROS topic or action."""
        value = self.text(field)
        if not _TOPIC.fullmatch(value) or '__' in value:
            raise self.wrong(field, f'{value!r} is no valid ROS name: words of letters, digits '
                             'and single _ that do not begin with a digit, separated by /')
        return value

    def names(self, field: str) -> tuple[str, ...]:
        """A list of different texts, at least one."""
        value = self.get(field)
        if (not isinstance(value, list) or not value
                or not all(isinstance(name, str) and name for name in value)):
            raise self.wrong(field, f'must be a list of names, not {value!r}')
        if len(set(value)) < len(value):
            raise self.wrong(field, f'the same name stands twice in {", ".join(value)}')
        return tuple(value)

    def number(self, field: str, low: float = -math.inf, high: float = math.inf,
               default: float | None = None) -> float:
        """A finite number within bounds."""
        if default is not None and not self.has(field):
            return default
        value = self.get(field)
        if isinstance(value, str | bool) or not _finite(value):
            raise self.wrong(field, f'must be a number, not {value!r}')
        if not low <= value <= high:
            raise self.wrong(field, f'{value} must be {_bounds(low, high)}')
        return float(value)

    def whole(self, field: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self.number(field, low, high)
        if value != int(value):
            raise self.wrong(field, f'{value} must be a whole number')
        return int(value)

    def numbers(self, field: str, length: int, low: float = -math.inf,
                high: float = math.inf) -> Vector:
        """A list of finite numbers of a length, or one number that stands for all."""
        value = self.get(field)
        if not isinstance(value, list):
            return np.full(length, self.number(field, low, high))
        if len(value) != length:
            raise self.wrong(field, f'has {len(value)} numbers, {length} are needed')
        if not all(not isinstance(item, str | bool) and _finite(item) for item in value):
            raise self.wrong(field, f'must be a list of numbers, not {value!r}')
        outside = [item for item in value if not low <= item <= high]
        if outside:
            raise self.wrong(field, f'{outside[0]} must be {_bounds(low, high)}')
        return np.array(value, dtype=np.float64)

    def fields(self) -> tuple[str, ...]:
        """Names of all fields."""
        return tuple(self._data)

    def triple(self, field: str, row: Any) -> tuple[float, float, float]:
        """A point [m], at most 1 m from its link's origin."""
        if (not isinstance(row, list) or len(row) != 3
                or not all(not isinstance(x, str | bool) and _finite(x) and abs(x) <= 1.0
                           for x in row)):
            raise self.wrong(field, f'{row!r} must be three numbers [x, y, z] in metres, from -1 '
                             'to 1')
        x, y, z = map(float, row)
        return x, y, z

    def pose(self, field: str) -> Vector:
        """(4, 4) of ``xyz`` [m] and one of ``rpy_deg`` and ``quaternion_xyzw``."""
        inner = self.section(field)
        xyz = inner.numbers('xyz', 3, -100.0, 100.0)
        turned = [name for name in ('rpy_deg', 'quaternion_xyzw') if inner.has(name)]
        if len(turned) != 1:
            raise inner.wrong('rpy_deg', 'give either rpy_deg (roll, pitch, yaw about fixed axes '
                              'in degrees) or quaternion_xyzw')
        if turned == ['rpy_deg']:
            rotation = rotation_from_rpy(np.radians(inner.numbers('rpy_deg', 3, -360.0, 360.0)))
        else:
            quaternion = inner.numbers('quaternion_xyzw', 4, -1.001, 1.001)
            length = float(np.linalg.norm(quaternion))
            if abs(length - 1) > 1e-3:
                raise inner.wrong('quaternion_xyzw', f'has the length {length:.4f}, a rotation '
                                  'has 1: were digits lost?')
            rotation = rotation_from_quaternion(quaternion)
        inner.done()
        return make_pose(xyz, rotation)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _bounds(low: float, high: float) -> str:
    if high == math.inf:
        return f'at least {low:g}'
    if low == -math.inf:
        return f'at most {high:g}'
    return f'from {low:g} to {high:g}'


def _robot(path: Path, top: _Section) -> RobotConfig:
    urdf = _urdf_path(top, path)
    try:
        model = pinocchio.buildModelFromUrdf(str(urdf))
    except (ValueError, RuntimeError) as error:
        raise top.wrong('urdf', f'{urdf} cannot be read: {error}') from error
    links = [frame.name for frame in model.frames if frame.type == pinocchio.FrameType.BODY]
    arm = _arm(top.section('arm'), model)
    gripper = _gripper(top.section('gripper'), model)
    robot = RobotConfig(path.stem, path, urdf, _link(top, 'base_frame', links),
                        _link(top, 'tip_frame', links), arm, gripper,
                        _camera(top.section('camera')), _table(top.section('table')),
                        _safety(top.section('safety'), links))
    top.has('description')
    top.done()
    _check_chain(top, robot, model)
    _check_postures(top, robot, model)
    return robot


def _urdf_path(top: _Section, file: Path) -> Path:
    given = top.text('urdf')
    package = _PACKAGE.fullmatch(given)
    if package:
        prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
        tried = [Path(prefix) / 'share' / package[1] / package[2] for prefix in prefixes]
        for path in tried:
            if path.is_file():
                return path
        raise top.wrong('urdf', f'{given} is in none of the prefixes of AMENT_PREFIX_PATH; is '
                        f'{package[1]} built, and its setup.bash sourced?')
    if given.startswith('package:'):
        raise top.wrong('urdf', f'{given!r} must be of the form package://PACKAGE/PATH')
    if '/' not in given and not given.endswith('.urdf'):
        path = _URDFS / f'{given}.urdf'
        if not path.is_file():
            shipped = sorted(p.stem for p in _URDFS.glob('*.urdf'))
            raise top.wrong('urdf', f'{given!r} is none of those that come with sightplan '
                            f'({", ".join(shipped)}){did_you_mean(given, shipped)}; a path ends '
                            'in .urdf')
        return path
    try:
        path = file.parent / user_path(given)
    except InputError as error:
        raise top.wrong('urdf', str(error)) from error
    if path.suffix == '.xacro':
        raise top.wrong('urdf', f'{given} must be turned into a URDF first: xacro {given} > '
                        f'{path.stem}')
    if not path.is_file():
        raise top.wrong('urdf', f'there is no file {path}')
    return path


def _link(section: _Section, field: str, links: Sequence[str]) -> str:
    name = section.text(field)
    _check_links(section, field, (name,), links)
    return name


def _check_links(section: _Section, field: str, names: Sequence[str], links: Sequence[str],
                 ) -> None:
    for name in names:
        if name not in links:
            raise section.wrong(field, f'the URDF has no link {name!r}'
                                f'{did_you_mean(name, links)}; it has {", ".join(links)}')


def _arm(section: _Section, model: Any) -> ArmConfig:
    joints = section.names('joints')
    known = list(model.names)[1:]
    for name in joints:
        if name not in known:
            raise section.wrong('joints', f'the URDF has no moving joint {name!r}'
                                f'{did_you_mean(name, known)}; it has {", ".join(known)}')
    ids = [model.getJointId(name) for name in joints]
    for name, joint in zip(joints, ids, strict=True):
        if model.joints[joint].nq != 1 or model.joints[joint].nv != 1:
            raise section.wrong('joints', f'{name} is continuous or has several degrees of '
                                'freedom: make it revolute with limits in the URDF')
    if any(first >= second for first, second in itertools.pairwise(ids)):
        right = ', '.join(sorted(joints, key=lambda name: int(model.getJointId(name))))
        raise section.wrong('joints', f'must go from the base to the hand: {right}')
    n = len(joints)
    places = [model.joints[joint].idx_q for joint in ids]
    speeds = [model.joints[joint].idx_v for joint in ids]
    lower, upper = model.lowerPositionLimit[places], model.upperPositionLimit[places]
    fastest = model.velocityLimit[speeds]
    arm = ArmConfig(
        joints=joints,
        lower=section.numbers('lower', n) if section.has('lower') else lower,
        upper=section.numbers('upper', n) if section.has('upper') else upper,
        max_velocity=section.numbers('max_velocity', n, 1e-3, 100.0),
        max_acceleration=section.numbers('max_acceleration', n, 1e-2, 1000.0),
        stop_acceleration=section.numbers('stop_acceleration', n, 1e-2, 1000.0),
        park=section.numbers('park', n), ready=section.numbers('ready', n),
        joint_states=section.topic('joint_states'),
        trajectory_topic=section.topic('trajectory_topic'),
        trajectory_action=section.topic('trajectory_action'),
        interface=section.choice('interface', INTERFACES))
    section.done()

    def compare(field: str, values: Vector, low: Vector, high: Vector, what: str) -> None:
        for name, value, a, b in zip(joints, values, low, high, strict=True):
            if not a - _ROUNDING <= value <= b + _ROUNDING:
                raise section.wrong(field, f'{value:g} of {name} is outside {what}, '
                                    f'{a:g} to {b:g}')

    compare('lower', arm.lower, lower, upper, "the URDF's limits")
    compare('upper', arm.upper, lower, upper, "the URDF's limits")
    compare('lower', arm.lower, lower, arm.upper, 'what is below its upper limit')
    compare('max_velocity', arm.max_velocity, 0 * fastest, fastest, "the URDF's limits")
    compare('max_acceleration', arm.max_acceleration, 0 * fastest, arm.stop_acceleration,
            'what is at most stop_acceleration')
    braking_s = arm.max_velocity / arm.stop_acceleration
    if braking_s.max() > BRAKING_S + _ROUNDING:
        worst = int(np.argmax(braking_s))
        raise section.wrong('max_velocity', f'{arm.max_velocity[worst]:g} of {joints[worst]}: '
                            f'braking from it takes {1e3 * braking_s[worst]:.0f} ms, at most '
                            f'{1e3 * BRAKING_S:.0f} are allowed: at most '
                            f'{BRAKING_S * arm.stop_acceleration[worst]:g}, which is '
                            f'stop_acceleration * {BRAKING_S:g} s')
    compare('park', arm.park, arm.lower, arm.upper, "the arm's limits")
    compare('ready', arm.ready, arm.lower, arm.upper, "the arm's limits")
    return arm


def _gripper(section: _Section, model: Any) -> GripperConfig:
    gripper = GripperConfig(
        joints=section.names('joints'),
        joint_at_open=section.number('joint_at_open', -10.0, 10.0),
        joint_at_closed=section.number('joint_at_closed', -10.0, 10.0),
        open_m=section.number('open_m', 0.001, 1.0),
        force_n=section.number('force_n', 0.1, 1000.0),
        trajectory_topic=section.topic('trajectory_topic'),
        action=section.topic('action'),
        interface=section.choice('interface', INTERFACES),
        settle_s=section.number('settle_s', 0.05, 30.0),
        hand=_hand(section.section('hand')))
    section.done()
    known = [str(name) for name in model.names[1:]]
    there = [name for name in gripper.joints if name in known]
    if there and len(there) < len(gripper.joints):  # a URDF of the arm alone has none of them
        name = next(name for name in gripper.joints if name not in known)
        raise section.wrong('joints', f'the URDF has {", ".join(there)}, but no moving joint '
                            f'{name!r}{did_you_mean(name, known)}')
    for name in there:
        index = model.joints[model.getJointId(name)].idx_q
        low, high = model.lowerPositionLimit[index], model.upperPositionLimit[index]
        for field in ('joint_at_open', 'joint_at_closed'):
            value = getattr(gripper, field)
            if not low - _ROUNDING <= value <= high + _ROUNDING:
                raise section.wrong(field, f"{value:g} of {name} is outside the URDF's limits, "
                                    f'{low:g} to {high:g}')
    if gripper.joint_at_open == gripper.joint_at_closed:
        raise section.wrong('joint_at_open', 'is the same as joint_at_closed')
    return gripper


def _hand(section: _Section) -> HandConfig:
    hand = HandConfig(**{field.name: section.number(field.name, 0.002, 0.5)
                         for field in dataclasses.fields(HandConfig)})
    section.done()
    return hand


def _camera(section: _Section) -> CameraConfig:
    camera = CameraConfig(section.topic('image'), section.topic('info'), section.topic('depth'),
                          section.pose('pose'),
                          section.number('depth_scale_m', 1e-6, 1.0, default=0.001))
    section.done()
    return camera


def _table(section: _Section) -> TableConfig:
    table = TableConfig(section.pose('pose'), section.number('block_m', 0.01, 0.2),
                        section.number('spacing_m', 0.01, 1.0),
                        section.whole('max_columns', 1, 100), section.whole('max_level', 1, 100))
    section.done()
    if table.pose[2, 2] < math.cos(math.radians(_MOST_TILT_DEG)):
        raise section.wrong('pose', f"the table's z axis is "
                            f'{math.degrees(math.acos(max(-1.0, table.pose[2, 2]))):.0f} degrees '
                            f"off the base's, at most {_MOST_TILT_DEG:g} are allowed: z points up "
                            'from the table')
    if table.spacing_m <= math.sqrt(2) * table.block_m:
        raise section.wrong('spacing_m', f'{table.spacing_m:g} must be more than '
                            f'{math.sqrt(2) * table.block_m:.4g}: turned blocks of neighbouring '
                            'columns would touch')
    return table


def _safety(section: _Section, links: Sequence[str]) -> SafetyConfig:
    safety = SafetyConfig(
        box_min_m=section.numbers('box_min_m', 3), box_max_m=section.numbers('box_max_m', 3),
        checked_frames=section.names('checked_frames'),
        start_tolerance_rad=section.number('start_tolerance_rad', 1e-4, _MOST_TOLERANCE_RAD),
        tracking_tolerance_rad=section.number('tracking_tolerance_rad', 1e-4,
                                               _MOST_TOLERANCE_RAD),
        state_timeout_s=section.number('state_timeout_s', 0.005, 10.0),
        image_timeout_s=section.number('image_timeout_s', 0.02, 60.0),
        heartbeat_timeout_s=section.number('heartbeat_timeout_s', 0.02, 10.0),
        checked_points=_points(section, links))
    section.done()
    for axis, low, high in zip('xyz', safety.box_min_m, safety.box_max_m, strict=True):
        if low >= high:
            raise section.wrong('box_max_m', f'{axis} is {high:g}, but must be more than that of '
                                f'box_min_m, {low:g}')
        if high - low > _LONGEST_BOX_M:
            raise section.wrong('box_max_m', f'the box is {high - low:g} m long along {axis}, at '
                                f'most {_LONGEST_BOX_M:g} are allowed: lengths are in metres')
    _check_links(section, 'checked_frames', safety.checked_frames, links)
    return safety


def _points(section: _Section, links: Sequence[str]) -> tuple[Point, ...]:
    """Points by link; optional."""
    if not section.has('checked_points'):
        return ()
    by_link, found = section.section('checked_points'), []
    for frame in by_link.fields():
        _check_links(section, 'checked_points', (frame,), links)
        rows = by_link.get(frame)
        if not isinstance(rows, list) or not rows:
            raise by_link.wrong(frame, f'must be a list of points [x, y, z], not {rows!r}')
        found += [Point(frame, by_link.triple(frame, row)) for row in rows]
    return tuple(found)


def _check_chain(top: _Section, robot: RobotConfig, model: Any) -> None:
    """The arm's joints lie between the base and the tip, and all of them move the tip."""
    def above(frame: str) -> list[int]:
        return list(model.supports[model.frames[model.getFrameId(frame)].parentJoint])

    ids = {int(model.getJointId(name)) for name in robot.arm.joints}
    if ids & set(above(robot.base_frame)):
        raise top.wrong('base_frame', f'{robot.base_frame} moves with the arm')
    missing = ids - set(above(robot.tip_frame))
    if missing:
        raise top.wrong('tip_frame', f'{robot.tip_frame} is not moved by '
                        f'{", ".join(str(model.names[joint]) for joint in sorted(missing))}')
    safety = top.section('safety')
    if robot.tip_frame not in robot.safety.checked_frames:
        raise safety.wrong('checked_frames', f'the tip is missing: {robot.tip_frame}')
    for field, frames in (('checked_frames', robot.safety.checked_frames),
                          ('checked_points', [p.frame for p in robot.safety.checked_points])):
        for frame in frames:
            if not ids & set(above(frame)):
                raise safety.wrong(field, f'{frame} does not move with the arm')


def _check_postures(top: _Section, robot: RobotConfig, model: Any) -> None:
    """In the named postures all checked points are in the box."""
    data, safety = model.createData(), robot.safety
    for field in ('park', 'ready'):
        q = pinocchio.neutral(model)
        for name, angle in zip(robot.arm.joints, getattr(robot.arm, field), strict=True):
            q[model.joints[model.getJointId(name)].idx_q] = angle
        pinocchio.framesForwardKinematics(model, data, q)
        base = data.oMf[model.getFrameId(robot.base_frame)].homogeneous
        to_table = np.linalg.inv(base @ robot.table.pose)
        for point in safety.points:
            frame = data.oMf[model.getFrameId(point.frame)].homogeneous
            place = (to_table @ frame @ (*point.xyz_m, 1.0))[:3]
            if not ((safety.box_min_m <= place) & (place <= safety.box_max_m)).all():
                raise top.section('arm').wrong(field, f'{point} would be outside of the workspace '
                                               f'box (safety.box_min_m, box_max_m): at '
                                               f'({", ".join(f"{x:.3f}" for x in place)}) m of '
                                               'the table')
