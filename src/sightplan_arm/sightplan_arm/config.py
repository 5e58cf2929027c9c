"""One YAML file per robot (``config/robots/<name>.yaml``), read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sightplan_arm.hardware import Vector


@dataclass(frozen=True, eq=False)
class ArmConfig:
    """Joints and limits.

    Attributes:
        joints: names, from the base to the hand, as in joint_states and the URDF.
        max_velocity: (N,) [rad/s], at most the URDF's.
        max_acceleration: (N,) [rad/s2], of planned motions.
        stop_acceleration: (N,) [rad/s2], when the arm is to hold at once.
        park: (N,) posture in which the arm hides nothing from the camera [rad].
        ready: (N,) posture above the table from which inverse kinematics starts [rad].
        joint_states, trajectory_topic, trajectory_action: ROS names of the controller.
        interface: ``auto`` (the action where control_msgs is installed), ``topic`` or ``action``.
    """

    joints: tuple[str, ...]
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
class GripperConfig:
    """Two fingers that open symmetrically.

    Attributes:
        joints: names in joint_states; each moves by ``opening / len(joints)`` if prismatic.
        joint_at_open, joint_at_closed: value of one joint when open and when closed [m or rad].
        open_m: greatest distance between the fingers.
        force_n: with which things are held.
        trajectory_topic, action: ROS names; as for the arm.
        interface: as for the arm.
        settle_s: time that opening or closing takes at most.
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


@dataclass(frozen=True, eq=False)
class CameraConfig:
    """The camera and where it hangs.

    Attributes:
        image, info, depth: topics of its driver.
        pose: (4, 4) of the optical frame (REP 103: x right, y down, z forward) in the table's frame.
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
        """x of each column in the table's frame, left to right."""
        return tuple((i - (n_columns - 1) / 2) * self.spacing_m for i in range(n_columns))


@dataclass(frozen=True, eq=False)
class SafetyConfig:
    """What the gate allows.

    Attributes:
        box_min_m, box_max_m: (3,) corners of the workspace in the table's frame; the frames named by
            ``checked_frames`` must stay inside.
        checked_frames: frames of the URDF.
        start_tolerance_rad: how far a motion may start from where the arm is.
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


@dataclass(frozen=True, eq=False)
class RobotConfig:
    """A robot, read from its file.

    Attributes:
        name: of the robot.
        file: where it was read.
        urdf: path of the URDF (kinematics and limits).
        base_frame, tip_frame: of the URDF; the tip lies between the finger tips, z out of the hand,
            y along which the fingers open.
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


def load_robot(name_or_path: str) -> RobotConfig:
    """Read a robot's file.

    Args:
        name_or_path: name of a file in ``config/robots/`` without its suffix, or a path.

    Raises:
        InputError: there is no such file, or something in it is wrong; names file, field, remedy.
    """
    raise NotImplementedError
