"""Robot files: one YAML file per robot (``config/robots/<name>.yaml``), read and checked."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import numpy as np
import pinocchio
import pydantic
import yaml
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Strict,
    StringConstraints,
    TypeAdapter,
)

from sightplan.model import (
    InputError,
    Problem,
    config_files,
    did_you_mean,
    excerpt,
    is_ros_name,
    user_path,
)
from sightplan.model.yaml_text import load_yaml
from sightplan_arm.gate_status import GUARANTEES, REQUIRED
from sightplan_arm.geometry import make_pose, rotation_from_quaternion, rotation_from_rpy
from sightplan_arm.hardware import Vector
from sightplan_arm.surroundings import HAND, HELD, OBSTACLES, SIDES, TABLE, Solid

_MOST_NAMED = 10
"""Wrong fields that an error names."""
BRAKING_S = 0.07
"""Longest time that braking from the greatest velocity may take [s]."""

ROBOT_HASH = 'robot_sha256'
"""Name of ``RobotConfig.sha256`` in records."""

_URDFS = Path(__file__).with_name('urdf')
_PACKAGE = re.compile(r'package://([A-Za-z0-9_]+)/(.+)')
_ROUNDING = 1e-6
_LONGEST_BOX_M = 5.0
_MOST_TILT_DEG = 45.0
_KNOWN_FIELDS_ONLY = ConfigDict(extra='forbid')


# --- what fields hold: as they stand in the file, and as the classes below have them ------------


@dataclass(frozen=True)
class _ReadAs:
    """Annotation of a field that stands in the file in a plainer form.

    Attributes:
        plain: type of what stands in the file.
        convert: makes the field's value of that; raises ValueError for what is wrong.
    """

    plain: Any
    convert: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Schema by which pydantic reads the field."""
        return handler.generate_schema(Annotated[self.plain, AfterValidator(self.convert)])


def _between(low: float, high: float) -> AfterValidator:
    def check(value: float) -> float:
        if not low <= value <= high:
            raise ValueError(f'must be from {low:g} to {high:g}')
        return value
    return AfterValidator(check)


def _array(low: float = -math.inf, high: float = math.inf, count: int | None = None) -> _ReadAs:
    """Annotation of an array of ``count`` numbers; None: one for each joint, or one for all."""
    size: Any = (BeforeValidator(lambda given: given if isinstance(given, list) else [given])
                 if count is None else Field(min_length=count, max_length=count))
    numbers: Any = list[Annotated[Number, _between(low, high)]]
    return _ReadAs(Annotated[numbers, size], lambda found: np.array(found, dtype=np.float64))


def _ros_name(value: str) -> str:
    if not is_ros_name(value) or '__' in value:
        raise ValueError('is not a valid ROS name: words of letters, digits and single _ that do '
                         'not begin with a digit, separated by /')
    return value


def _names(value: list[str]) -> tuple[str, ...]:
    if len(set(value)) < len(value):
        raise ValueError('the same name stands twice')
    return tuple(value)


def _guarantee(value: str) -> str:
    if value not in GUARANTEES:
        raise ValueError(f'is not a guarantee{did_you_mean(value, GUARANTEES)}: one of '
                         f'{", ".join(GUARANTEES)}')
    return value


def _pose(given: _PoseFields) -> Vector:
    if (given.rpy_deg is None) == (given.quaternion_xyzw is None):
        raise ValueError('give either rpy_deg (roll, pitch, yaw about fixed axes in degrees) or '
                         'quaternion_xyzw')
    if given.rpy_deg is not None:
        return make_pose(given.xyz, rotation_from_rpy(np.radians(given.rpy_deg)))
    assert given.quaternion_xyzw is not None
    length = float(np.linalg.norm(given.quaternion_xyzw))
    if abs(length - 1) > 1e-3:
        raise ValueError(f'quaternion_xyzw has the length {length:.4f}, a rotation has 1: were '
                         'digits lost?')
    return make_pose(given.xyz, rotation_from_quaternion(given.quaternion_xyzw))


def _covariance(given: list[list[float]]) -> Vector:
    found = np.array(given, dtype=np.float64)
    scale = np.sqrt(np.abs(np.outer(np.diag(found), np.diag(found))))
    if (np.diag(found) <= 0.0).any() or (np.abs(found - found.T) > 1e-4 * scale).any():
        raise ValueError('is not a covariance: 6 rows of 6 numbers, the same above and below the '
                         'diagonal, and positive on it')
    if np.linalg.eigvalsh(found / scale).min() < -1e-4:
        raise ValueError('is not a covariance: it has a negative eigenvalue; were digits lost?')
    return (found + found.T) / 2


def _points(given: dict[str, list[tuple[float, float, float]]]) -> tuple[Point, ...]:
    return tuple(Point(frame, point) for frame, points in given.items() for point in points)


Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
Topic = Annotated[Text, AfterValidator(_ros_name)]
Interface = Literal['auto', 'topic', 'action']
GuaranteeName = Annotated[Text, AfterValidator(_guarantee)]
Names = Annotated[tuple[str, ...], _ReadAs(Annotated[list[Text], Field(min_length=1)], _names)]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Count = Annotated[int, Strict(), _between(1, 100)]
Length = Annotated[Number, _between(0.002, 0.5)]
Tolerance = Annotated[Number, _between(1e-4, 0.3)]
Metre = Annotated[Number, _between(-1.0, 1.0)]
Margin = Annotated[Number, _between(0.0, 0.2)]
Points = dict[Text, Annotated[list[tuple[Metre, Metre, Metre]], Field(min_length=1)]]


@dataclass(frozen=True)
class _PoseFields:
    """A pose in a robot's file."""

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    xyz: Annotated[Vector, _array(-100.0, 100.0, 3)]
    rpy_deg: Annotated[Vector, _array(-360.0, 360.0, 3)] | None = None
    quaternion_xyzw: Annotated[Vector, _array(-1.001, 1.001, 4)] | None = None


Pose = Annotated[Vector, _ReadAs(_PoseFields, _pose)]
Covariance = Annotated[Vector, _ReadAs(Annotated[list[Annotated[
    list[Number], Field(min_length=6, max_length=6)]], Field(min_length=6, max_length=6)],
    _covariance)]


# --- what a robot's file holds ------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmConfig:
    """Joints of the arm, and their limits.

    Attributes:
        joints: names, from the base to the hand, as in joint_states and the URDF.
        lower, upper: (N,) positions that are allowed [rad], by default and at most the URDF's.
        max_velocity: (N,) [rad/s], at most the URDF's.
        max_acceleration: (N,) [rad/s2], of planned motions.
        stop_acceleration: (N,) [rad/s2], when the arm is to hold at once.
        park: (N,) posture in which the arm hides nothing from the camera [rad].
        ready: (N,) posture above the table from which inverse kinematics starts [rad].
        joint_states, trajectory_topic, trajectory_action: ROS names of the controller.
        controller_manager: node that can deactivate it.
        interface: ``topic`` (on which the gate's own thread sends the braking), ``action``, or
            ``auto``, which is the topic.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    joints: Names
    lower: Annotated[Vector, _array()] = dataclasses.field(
        default_factory=lambda: np.array([-np.inf]))
    upper: Annotated[Vector, _array()] = dataclasses.field(
        default_factory=lambda: np.array([np.inf]))
    max_velocity: Annotated[Vector, _array(1e-3, 100.0)]
    max_acceleration: Annotated[Vector, _array(1e-2, 1000.0)]
    stop_acceleration: Annotated[Vector, _array(1e-2, 1000.0)]
    park: Annotated[Vector, _array()]
    ready: Annotated[Vector, _array()]
    joint_states: Topic
    trajectory_topic: Topic
    trajectory_action: Topic
    interface: Interface
    controller_manager: Topic = 'controller_manager'

    @property
    def controller(self) -> str:
        """Name of the trajectory controller: its topics are private to it."""
        return self.trajectory_topic.rpartition('/')[0].rpartition('/')[2]


@dataclass(frozen=True)
class HandConfig:
    """The gripper, pointing down, as boxes that the skills keep free.

    Attributes:
        half_width_m, half_length_m: of its body, across and along the line on which fingers open.
        above_tip_m: height of the body's lower side above the tip; rather less than it is.
        finger_half_width_m, finger_thickness_m: across and along that line.
        below_tip_m: the fingers end so far below the tip.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    half_width_m: Length
    half_length_m: Length
    above_tip_m: Length
    finger_half_width_m: Length
    finger_thickness_m: Length
    below_tip_m: Length

    @property
    def fingers_m(self) -> float:
        """Length of the fingers below the hand's body [m]."""
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

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    joints: Names
    joint_at_open: Annotated[Number, _between(-10.0, 10.0)]
    joint_at_closed: Annotated[Number, _between(-10.0, 10.0)]
    open_m: Annotated[Number, _between(0.001, 1.0)]
    force_n: Annotated[Number, _between(0.1, 1000.0)]
    trajectory_topic: Topic
    action: Topic
    interface: Interface
    settle_s: Annotated[Number, _between(0.05, 30.0)]
    hand: HandConfig

    def joint_at(self, opening_m: float) -> float:
        """Value of one joint when the opening between the fingers is ``opening_m`` [m or rad]."""
        part = opening_m / self.open_m
        return self.joint_at_closed + part * (self.joint_at_open - self.joint_at_closed)

    def opening_at(self, joint: float) -> float:
        """Opening between the fingers at a joint position [m]; below 0 past the closed one."""
        return (joint - self.joint_at_closed) / (self.joint_at_open
                                                 - self.joint_at_closed) * self.open_m


@dataclass(frozen=True, eq=False)
class CameraConfig:
    """The camera and where it hangs.

    Attributes:
        image, info, depth: topics of its driver.
        pose: (4, 4) of the optical frame (REP 103: x right, y down, z forward) in the table's
            frame.
        pose_covariance: (6, 6) of the pose: position [m] and turn about the table's axes [rad], as
            ``sightplan arm calibrate`` writes it; None: it is not known.
        depth_scale_m: metres per unit of a 16UC1 depth image, 0.05 to 5 mm: with less it would
            end before a table does, with more it would not show what stands on one.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    image: Topic
    info: Topic
    depth: Topic
    pose: Pose
    depth_scale_m: Annotated[Number, _between(5e-5, 0.005)] = 0.001
    pose_covariance: Covariance | None = None


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

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    pose: Pose
    block_m: Annotated[Number, _between(0.01, 0.2)]
    spacing_m: Annotated[Number, _between(0.01, 1.0)]
    max_columns: Count
    max_level: Count

    def column_x_m(self, n_columns: int) -> tuple[float, ...]:
        """Place of each column: its x in the table's frame, left to right [m]."""
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


@dataclass(frozen=True)
class PairConfig:
    """Distance that one or several pairs of bodies must keep.

    Attributes:
        bodies: their names: links of the URDF, obstacles of this file, ``table``, ``box`` (the
            sides of the workspace), ``held`` (what is in the hand), ``hand`` (all that hangs on
            the last joint), ``obstacles`` (all of them).
        margin_m: distance that they keep; None: they are not compared.
        why: of those that are not.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    bodies: Annotated[tuple[str, ...], _ReadAs(
        Annotated[list[Text], Field(min_length=2, max_length=2)], tuple)]
    margin_m: Margin | None
    why: str = ''


@dataclass(frozen=True, eq=False)
class ObstacleConfig:
    """A box that is always there.

    Attributes:
        name: of it.
        pose: (4, 4) of its middle in the table's frame.
        size_m: (3,) whole extents.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    name: Text
    pose: Pose
    size_m: Annotated[Vector, _array(1e-3, 10.0, 3)]


@dataclass(frozen=True)
class ShapelessConfig:
    """Permission for something that moves with the arm to have no collision shape.

    Attributes:
        link: of the URDF; ``hand``: hand and fingers, where the URDF has neither.
        why: it needs none.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    link: Text
    why: Text


@dataclass(frozen=True)
class BodiesConfig:
    """Distances that bodies must keep in every motion.

    Attributes:
        self_margin_m: parts of the arm and of the hand from one another.
        table_margin_m: all of them from the table.
        box_margin_m: the links of ``checked_frames``, fingers and what is held from the sides of
            the workspace box; its bottom is the table's business.
        obstacle_margin_m: all from obstacles.
        held_margin_m: what is in the hand from everything but the sides of the box.
        pairs: what holds of single pairs instead; of several that fit the first counts.
        obstacles: what always stands around the arm.
        without_shape: what may have no collision shape; the guarantee ``checks`` then does not
            hold.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    self_margin_m: Margin = 0.005
    table_margin_m: Margin = 0.005
    box_margin_m: Margin = 0.0
    obstacle_margin_m: Margin = 0.002
    held_margin_m: Margin = 0.002
    pairs: Annotated[tuple[PairConfig, ...], _ReadAs(list[PairConfig], tuple)] = ()
    obstacles: Annotated[tuple[ObstacleConfig, ...], _ReadAs(list[ObstacleConfig], tuple)] = ()
    without_shape: Annotated[tuple[ShapelessConfig, ...],
                             _ReadAs(list[ShapelessConfig], tuple)] = ()

    @property
    def solids(self) -> tuple[Solid, ...]:
        """The obstacles as solids in the table's frame."""
        return tuple(Solid(one.name, one.pose, one.size_m) for one in self.obstacles)


@dataclass(frozen=True, eq=False)
class SafetyConfig:
    """Limits that the gate enforces.

    Attributes:
        box_min_m, box_max_m: (3,) corners of the workspace in the table's frame; all ``points``
            must stay inside.
        checked_frames: links of the URDF whose origins are checked.
        checked_points: more points that are checked, such as corners of the hand.
        start_tolerance_rad: how far from where the arm is a motion may start, or end.
        tracking_tolerance_rad: how far the arm may be from where the motion has it.
        state_timeout_s, image_timeout_s, heartbeat_timeout_s: ages at which the arm holds (wall
            clock).
        required: guarantees without which the arm is not armed.
        bodies: how far the arm, what it holds and what stands around it keep apart.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    box_min_m: Annotated[Vector, _array(count=3)]
    box_max_m: Annotated[Vector, _array(count=3)]
    checked_frames: Names
    start_tolerance_rad: Tolerance
    tracking_tolerance_rad: Tolerance
    state_timeout_s: Annotated[Number, _between(0.005, 10.0)]
    image_timeout_s: Annotated[Number, _between(0.02, 60.0)]
    heartbeat_timeout_s: Annotated[Number, _between(0.02, 10.0)]
    checked_points: Annotated[tuple[Point, ...], _ReadAs(Points, _points)] = ()
    required: Annotated[tuple[str, ...], _ReadAs(list[GuaranteeName], _names)] = REQUIRED
    bodies: BodiesConfig = BodiesConfig()

    @property
    def points(self) -> tuple[Point, ...]:
        """Every checked point: the origins of the checked frames, then the checked points."""
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

    def misfit(self, problem: Problem, one_stack: bool) -> str:
        """Explain why a problem with columns and blocks does not fit the table; '' if it does.

        Args:
            problem: the problem.
            one_stack: whether there must be room for a stack of all blocks, as there must be in
                simulation.
        """
        columns, blocks = len(problem.of_type('column')), len(problem.of_type('block'))
        if columns <= self.table.max_columns and not (
                one_stack and blocks > self.table.max_level):
            return ''
        file = str(self.file)
        remedy = f'raise table.max_columns and table.max_level in {file}'
        if self.file in config_files('robots').values():
            file = f'my_{self.name}.yaml'
            remedy = (f'copy {self.file} to {file}, raise table.max_columns and table.max_level '
                      f'there, and give robot:={file}')
        return (f'problem {problem.name}: {columns} columns and {blocks} blocks, but before robot '
                f'{self.name} there is room for {self.table.max_columns} columns and stacks of '
                f'{self.table.max_level}: choose other problems, or another robot, or {remedy} '
                f'("sightplan arm check {file}" says whether the arm reaches all places)')


@dataclass(frozen=True, eq=False)
class _RobotFile:
    """Content of a robot's file; its URDF has not been found and read yet.

    The section ``base``, about a robot that drives, is for those who compare paths
    (``sightplan_suites.paths.robot_bases``), and passed over here.
    """

    __pydantic_config__ = _KNOWN_FIELDS_ONLY
    urdf: Text
    base_frame: Text
    tip_frame: Text
    arm: ArmConfig
    gripper: GripperConfig
    camera: CameraConfig
    table: TableConfig
    safety: SafetyConfig
    description: str = ''
    base: Any = None


@functools.cache
def _robot_file() -> TypeAdapter[_RobotFile]:
    """Validator of the content of a robot's file; making it takes longer than reading one."""
    return TypeAdapter(_RobotFile)


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
        files = config_files('robots')
        if not files:
            raise InputError('no robots are installed: build the workspace (make build) and use '
                             '.venv/bin/sightplan, or source install/setup.bash; or give the path '
                             'of a YAML file')
        if name_or_path not in files:
            beside = [f'{path}{end}' for end in ('.yaml', '.yml')
                      if Path(f'{path}{end}').is_file()]
            if beside:
                raise InputError(f'robot {name_or_path!r} is unknown; there is a file '
                                 f'{beside[0]}: give {name_or_path}{Path(beside[0]).suffix}')
            raise InputError(f'robot {name_or_path!r} is unknown; choose one of '
                             f'{", ".join(files)}, or give the path of a YAML file'
                             f'{did_you_mean(name_or_path, tuple(files))}')
        path = files[name_or_path]
    try:
        data = load_yaml(path.read_text('utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error}') from error
    try:
        return _Check(path).robot(_robot_file().validate_python(data))
    except pydantic.ValidationError as error:
        raise InputError('\n'.join(f'{path}: {_plain_error(item)}'
                                   for item in error.errors()[:_MOST_NAMED])
                         ) from error


def _plain_error(error: Any) -> str:
    """One of pydantic's errors in words: the field, what is wrong, and the remedy."""
    place, kind = error['loc'], error['type']
    field = '.'.join(excerpt(part) for part in place)
    if kind == 'dataclass_type':
        return (f'{f"{field}: must be" if place else "is not a robot file,"} a mapping of fields '
                'to values; copy config/robots/panda.yaml and change what differs')
    if kind == 'unexpected_keyword_argument':
        section: Any = _RobotFile
        for name in place[:-1]:
            if not dataclasses.is_dataclass(section):  # a field of one of several in a list
                return f'{field}: is not a field here; leave it out'
            section = get_type_hints(section, include_extras=True)[str(name)]
            section = next((part.plain for part in get_args(section) if isinstance(part, _ReadAs)),
                           section)
        if not dataclasses.is_dataclass(section):
            return f'{field}: is not a field here; leave it out'
        known = [item.name for item in dataclasses.fields(section)]
        return (f'{field}: is not a field here{did_you_mean(str(place[-1]), known)}; there are '
                f'{", ".join(known)}')
    if kind == 'missing':
        return f'{field}: is missing; config/robots/panda.yaml explains it'
    message = error['msg'].removeprefix('Value error, ')
    return f'{field}: {excerpt(repr(error["input"]), 100)}: {message[0].lower()}{message[1:]}'


class _Check:
    """Checks what a robot's file says against its URDF, and one field against another.

    Every method raises InputError for what is wrong.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def _wrong(self, field: str, message: str) -> InputError:
        return InputError(f'{self._file}: {field}: {message}')

    def robot(self, given: _RobotFile) -> RobotConfig:
        """The robot that a file describes."""
        urdf = self._urdf_path(given.urdf)
        try:
            model = pinocchio.buildModelFromUrdf(str(urdf))
        except (ValueError, RuntimeError) as error:
            raise self._wrong('urdf', f'{urdf} cannot be read: {error}') from error
        robot = RobotConfig(
            self._file.stem, self._file, urdf, given.base_frame, given.tip_frame,
            self._arm(given.arm, model), given.gripper, given.camera, given.table, given.safety)
        self._gripper(robot.gripper, model)
        self._table(robot.table)
        self._box(robot.safety)
        self._links(robot, model)
        self._bodies(robot.safety.bodies, model)
        self._chain(robot, model)
        self._postures(robot, model)
        return robot

    def _urdf_path(self, given: str) -> Path:
        package = _PACKAGE.fullmatch(given)
        if package:
            prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
            tried = [Path(prefix) / 'share' / package[1] / package[2] for prefix in prefixes]
            for path in tried:
                if path.is_file():
                    return path
            raise self._wrong('urdf', f'{given} is in none of the prefixes of AMENT_PREFIX_PATH; '
                              f'is {package[1]} built, and its setup.bash sourced?')
        if given.startswith('package:'):
            raise self._wrong('urdf', f'{given!r} must be of the form package://PACKAGE/PATH')
        if '/' not in given and not given.endswith('.urdf'):
            path = _URDFS / f'{given}.urdf'
            if not path.is_file():
                shipped = sorted(p.stem for p in _URDFS.glob('*.urdf'))
                raise self._wrong('urdf', f'{given!r} is none of those that come with sightplan '
                                  f'({", ".join(shipped)}){did_you_mean(given, shipped)}; a path '
                                  'ends in .urdf')
            return path
        try:
            path = self._file.parent / user_path(given)
        except InputError as error:
            raise self._wrong('urdf', str(error)) from error
        if path.suffix == '.xacro':
            raise self._wrong('urdf', f'{given} must be turned into a URDF first: xacro {given} > '
                              f'{path.stem}')
        if not path.is_file():
            raise self._wrong('urdf', f'there is no file {path}')
        return path

    def _arm(self, arm: ArmConfig, model: Any) -> ArmConfig:
        """The arm with one number for each joint in every array, within the URDF's limits."""
        joints, known = arm.joints, list(model.names)[1:]
        for name in joints:
            if name not in known:
                raise self._wrong('arm.joints', f'the URDF has no moving joint {name!r}'
                                  f'{did_you_mean(name, known)}; it has {", ".join(known)}')
        ids = [model.getJointId(name) for name in joints]
        for name, joint in zip(joints, ids, strict=True):
            if model.joints[joint].nq != 1 or model.joints[joint].nv != 1:
                raise self._wrong('arm.joints', f'{name} is continuous or has several degrees of '
                                  'freedom: make it revolute with limits in the URDF')
        if any(first >= second for first, second in itertools.pairwise(ids)):
            right = ', '.join(sorted(joints, key=lambda name: int(model.getJointId(name))))
            raise self._wrong('arm.joints', f'must go from the base to the hand: {right}')
        places = [model.joints[joint].idx_q for joint in ids]
        lower, upper = model.lowerPositionLimit[places], model.upperPositionLimit[places]
        fastest = model.velocityLimit[[model.joints[joint].idx_v for joint in ids]]
        full: dict[str, Any] = {}
        for field in dataclasses.fields(ArmConfig):
            value = getattr(arm, field.name)
            if isinstance(value, np.ndarray):
                if len(value) not in (1, len(joints)):
                    raise self._wrong(f'arm.{field.name}', f'has {len(value)} numbers, '
                                      f'{len(joints)} are needed')
                full[field.name] = np.broadcast_to(value, len(joints)).copy()
        full['lower'] = np.where(np.isinf(full['lower']), lower, full['lower'])
        full['upper'] = np.where(np.isinf(full['upper']), upper, full['upper'])
        arm = dataclasses.replace(arm, **full)

        def compare(field: str, low: Vector, high: Vector, what: str) -> None:
            for name, value, a, b in zip(joints, full[field], low, high, strict=True):
                if not a - _ROUNDING <= value <= b + _ROUNDING:
                    raise self._wrong(f'arm.{field}', f'{value:g} of {name} is outside {what}, '
                                      f'{a:g} to {b:g}')

        compare('lower', lower, upper, "the URDF's limits")
        compare('upper', lower, upper, "the URDF's limits")
        compare('lower', lower, arm.upper, 'what is below its upper limit')
        compare('max_velocity', 0 * fastest, fastest, "the URDF's limits")
        compare('max_acceleration', 0 * fastest, arm.stop_acceleration,
                'what is at most stop_acceleration')
        braking_s = arm.max_velocity / arm.stop_acceleration
        if braking_s.max() > BRAKING_S + _ROUNDING:
            worst = int(np.argmax(braking_s))
            raise self._wrong(
                'arm.max_velocity', f'{arm.max_velocity[worst]:g} of {joints[worst]}: braking '
                f'from it takes {1e3 * braking_s[worst]:.0f} ms, at most {1e3 * BRAKING_S:.0f} '
                f'are allowed: at most {BRAKING_S * arm.stop_acceleration[worst]:g}, which is '
                f'stop_acceleration * {BRAKING_S:g} s')
        compare('park', arm.lower, arm.upper, "the arm's limits")
        compare('ready', arm.lower, arm.upper, "the arm's limits")
        return arm

    def _gripper(self, gripper: GripperConfig, model: Any) -> None:
        known = [str(name) for name in model.names[1:]]
        there = [name for name in gripper.joints if name in known]
        if there and len(there) < len(gripper.joints):  # a URDF of the arm alone has none of them
            name = next(name for name in gripper.joints if name not in known)
            raise self._wrong('gripper.joints', f'the URDF has {", ".join(there)}, but no moving '
                              f'joint {name!r}{did_you_mean(name, known)}')
        for name in there:
            index = model.joints[model.getJointId(name)].idx_q
            low, high = model.lowerPositionLimit[index], model.upperPositionLimit[index]
            for field in ('joint_at_open', 'joint_at_closed'):
                value = getattr(gripper, field)
                if not low - _ROUNDING <= value <= high + _ROUNDING:
                    raise self._wrong(f'gripper.{field}', f'{value:g} of {name} is outside the '
                                      f"URDF's limits, {low:g} to {high:g}")
        if gripper.joint_at_open == gripper.joint_at_closed:
            raise self._wrong('gripper.joint_at_open', 'is the same as joint_at_closed')

    def _table(self, table: TableConfig) -> None:
        if table.pose[2, 2] < math.cos(math.radians(_MOST_TILT_DEG)):
            tilt_deg = math.degrees(math.acos(max(-1.0, table.pose[2, 2])))
            raise self._wrong('table.pose', f"the table's z axis is {tilt_deg:.0f} degrees off "
                              f"the base's, at most {_MOST_TILT_DEG:g} are allowed: z points up "
                              'from the table')
        least = math.sqrt(2) * table.block_m
        if table.spacing_m <= least:
            raise self._wrong('table.spacing_m', f'{table.spacing_m:g} must be more than '
                              f'{least:.4g}: turned blocks of neighbouring columns would touch')

    def _box(self, safety: SafetyConfig) -> None:
        for axis, low, high in zip('xyz', safety.box_min_m, safety.box_max_m, strict=True):
            if low >= high:
                raise self._wrong('safety.box_max_m', f'{axis} is {high:g}, but must be more than '
                                  f'that of box_min_m, {low:g}')
            if high - low > _LONGEST_BOX_M:
                raise self._wrong('safety.box_max_m', f'the box is {high - low:g} m long along '
                                  f'{axis}, at most {_LONGEST_BOX_M:g} are allowed: lengths are '
                                  'in metres')

    def _links(self, robot: RobotConfig, model: Any) -> None:
        """Check that every named frame is a link of the URDF."""
        links = [frame.name for frame in model.frames if frame.type == pinocchio.FrameType.BODY]
        for field, names in (('base_frame', (robot.base_frame,)),
                             ('tip_frame', (robot.tip_frame,)), *_checked(robot.safety)):
            for name in names:
                if name not in links:
                    raise self._wrong(field, f'the URDF has no link {name!r}'
                                      f'{did_you_mean(name, links)}; it has {", ".join(links)}')

    def _bodies(self, bodies: BodiesConfig, model: Any) -> None:
        """Check that margins and obstacles name known bodies, and obstacles have unique names."""
        links = [frame.name for frame in model.frames if frame.type == pinocchio.FrameType.BODY]
        groups = (TABLE, SIDES, HELD, HAND, OBSTACLES)
        known = [*links, *groups]
        for number, obstacle in enumerate(bodies.obstacles):
            if obstacle.name in known:
                raise self._wrong(f'safety.bodies.obstacles.{number}.name', f'{obstacle.name!r} '
                                  'is taken: give it a name of its own')
            known.append(obstacle.name)
        for number, one in enumerate(bodies.without_shape):
            if one.link not in (*links, HAND):
                raise self._wrong(f'safety.bodies.without_shape.{number}.link', 'there is no '
                                  f'{one.link!r}{did_you_mean(one.link, (*links, HAND))}; there '
                                  f'are {", ".join((*links, HAND))}')
        for number, pair in enumerate(bodies.pairs):
            field = f'safety.bodies.pairs.{number}'
            for name in pair.bodies:
                if name not in known:
                    raise self._wrong(f'{field}.bodies', f'there is no {name!r}'
                                      f'{did_you_mean(name, known)}; there are {", ".join(known)}')
            if pair.margin_m is None and not pair.why.strip():
                raise self._wrong(f'{field}.why', 'is missing: say why these are not compared '
                                  '(margin_m: null), or give them a margin')

    def _chain(self, robot: RobotConfig, model: Any) -> None:
        """The arm's joints lie between the base and the tip, and all of them move the tip."""
        def above(frame: str) -> set[int]:
            return set(model.supports[model.frames[model.getFrameId(frame)].parentJoint])

        ids = {int(model.getJointId(name)) for name in robot.arm.joints}
        if ids & above(robot.base_frame):
            raise self._wrong('base_frame', f'{robot.base_frame} moves with the arm')
        missing = ids - above(robot.tip_frame)
        if missing:
            raise self._wrong('tip_frame', f'{robot.tip_frame} is not moved by '
                              f'{", ".join(str(model.names[joint]) for joint in sorted(missing))}')
        if robot.tip_frame not in robot.safety.checked_frames:
            raise self._wrong('safety.checked_frames', f'the tip is missing: {robot.tip_frame}')
        for field, frames in _checked(robot.safety):
            for frame in frames:
                if not ids & above(frame):
                    raise self._wrong(field, f'{frame} does not move with the arm')

    def _postures(self, robot: RobotConfig, model: Any) -> None:
        """Check that every checked point is inside the box in the named postures."""
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
                    where = ', '.join(f'{x:.3f}' for x in place)
                    raise self._wrong(f'arm.{field}', f'{point} would be outside of the workspace '
                                      f'box (safety.box_min_m, box_max_m): at ({where}) m of the '
                                      'table')


def _checked(safety: SafetyConfig) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Fields that name checked frames, and the frames."""
    return (('safety.checked_frames', safety.checked_frames),
            ('safety.checked_points', tuple(point.frame for point in safety.checked_points)))
