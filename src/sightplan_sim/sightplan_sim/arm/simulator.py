"""An arm in PyBullet that moves by its motors, and blocks that move by physics.

World frame: the table's (metres, x right as the camera sees it, y away from it, z up, table top
z = 0). Nothing here snaps, glues or teleports while time passes: a block is held by friction.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightplan.model import InputError, WorldError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import quaternion_from_rotation
from sightplan_arm.hardware import JointState, JointTrajectory, Vector
from sightplan_arm.kinematics import Kinematics
from sightplan_sim.arm.controller import (
    GripperController,
    SetPointController,
    TrajectoryController,
)
from sightplan_sim.arm.meshes import is_panda, panda_folder, read_urdf
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.bullet import Bullet
from sightplan_sim.closing import Closing
from sightplan_sim.episodes import Pose7

FINGER_M_S = 0.1
"""Speed of each finger, as of Franka's hand at its usual setting."""
FINGER_N = 40.0
"""Greatest force between the fingers."""
_GROUP, _EVERYTHING = 1, -1
"""Collision group of moving bodies in Bullet, and the groups that they collide with."""
BLOCK_KG = 0.08
_GEAR_N = 50.0
_ITERATIONS = 60
_FALLING_M_S, _PARTS = 0.4, 4  # speed of a fall from which steps are divided, and number of parts
_GAIN, _DAMPING = 0.25, 1.0
_NO_MASS = ('<inertial><mass value="0.001"/><inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" '
            'iyz="0" izz="1e-6"/></inertial>')
_LOOK_S = 0.002
_SLICE_STEPS = 4
"""Number of steps after which the lock is released for other threads."""


@dataclass(frozen=True)
class Poses:
    """Poses of all bodies at one moment: enough for a picture, small enough for a pipe.

    Attributes:
        stamp_s: the arm's clock.
        joints: positions of the arm's joints, and of the fingers' [rad, m].
        links: pose of each link's frame, by its name in the URDF, base included.
        blocks: colour letter to the pose of the block's centre.
        moving: whether arm, fingers or any block moves.
    """

    stamp_s: float
    joints: tuple[float, ...]
    links: Mapping[str, Pose7]
    blocks: Mapping[str, Pose7]
    moving: bool


class SimulatedArm(Closing):
    """Implements the protocol Arm, over physics.

    Args:
        robot: whose joints, park posture, gripper and table are used: a Panda, or an arm whose
            URDF shows a hand with two fingers that slide.
        settings: see ``HardwareSettings``.
        block_m: side of a block.
        table_y_m: front and back edge of the table.

    Raises:
        InputError: the robot is not one that can be simulated.
        WorldError: there is no simulator to be had.

    All methods may be called from several threads. With ``realtime_factor`` 0, time passes in
    ``wait`` and ``advance`` only; else in a thread that ``run`` starts, and ``wait`` waits.

    Attributes:
        until_s: says how far time may go [s]; ``advance`` waits until it may (see
            ``sightplan_arm.pace``). None: as far as anybody likes.
    """

    def __init__(self, robot: RobotConfig, settings: HardwareSettings, *, block_m: float,
                 table_y_m: tuple[float, float]) -> None:
        self.robot, self.settings = robot, settings
        self._block_m, self._table_y_m = block_m, table_y_m
        self._lock = threading.RLock()
        self._passed = threading.Condition(self._lock)
        self._bullet = Bullet()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.until_s: Callable[[], float] | None = None
        self._step_s = 1.0 / settings.physics_hz
        self._steps = 0
        self._after_step: list[Callable[[], None]] = []
        self._blocks: dict[str, int] = {}
        self._closely = False
        self._set_points: SetPointController | None = None  # in place of a trajectory
        self.reset({})

    # --- protocol Arm -------------------------------------------------------------------------

    def now_s(self) -> float:
        """Simulated time since the arm was made; a reset does not turn it back."""
        with self._lock:
            return self._steps * self._step_s

    def state(self) -> JointState:
        """The joints as measured in the last step."""
        with self._lock:
            return self._measured

    def state_age_s(self) -> float:
        """0: a simulated encoder is always there."""
        return 0.0

    def command(self, trajectory: JointTrajectory) -> None:
        """Follow a trajectory from now on; see ``TrajectoryController``."""
        with self._lock:
            positions, velocities, _ = self._read()
            self._controller.start(trajectory, self.now_s(), positions, velocities)
            self._set_points = None

    def grip(self, opening_m: float, force_n: float) -> None:
        """Move the fingers from now on; see ``GripperController``."""
        with self._lock:
            self._gripper.start(opening_m, force_n)
            if self._gripper.opens:
                self._forget_contacts()

    def wait(self, seconds: float) -> None:
        """Let time pass, or wait until it has.

        Raises:
            WorldError: the simulator was closed meanwhile.
        """
        if self._thread is None:
            self.advance(seconds)
            return
        with self._passed:
            until = self.now_s() + seconds
            while self.now_s() < until - self._step_s / 2:
                if self._closing.is_set():
                    raise WorldError('the simulated arm was closed')
                self._passed.wait(0.5)

    # --- beyond the protocol ------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, rounded to whole steps (at least one).

        Raises:
            WorldError: the simulator was closed.
        """
        left = max(1, round(seconds / self._step_s))
        while left > 0:
            steps = self._allowed(min(left, _SLICE_STEPS))
            with self._passed:
                if self._closing.is_set():
                    raise WorldError('the simulated arm was closed')
                for _ in range(steps):
                    self._step()
                self._passed.notify_all()
            left -= steps

    def servo(self, positions: Vector) -> None:
        """Follow set points from now on; see ``SetPointController``."""
        with self._lock:
            if self._set_points is None:
                limits = self.robot.arm
                self._set_points = SetPointController(
                    *self._controller.desired(self.now_s()), limits.max_velocity,
                    limits.stop_acceleration)
            self._set_points.start(positions)

    @property
    def opening_goal_m(self) -> float:
        """Opening between the fingers that the gripper is commanded to reach [m]."""
        with self._lock:
            return self._gripper.goal_m

    def run(self) -> None:
        """Start a thread in which time passes, ``realtime_factor`` times as fast as wall clock."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name='simulated arm', daemon=True)
            self._thread.start()

    def reset(self, blocks: Mapping[str, Pose7], seed: int = 0) -> None:
        """Start anew: arm parked and gripper open, blocks at the given poses, all at rest.

        Args:
            blocks: colour letter to the pose of the block's centre.
            seed: of the noise of the joints.
        """
        with self._passed:
            self._build(blocks)
            park = np.array(self.robot.arm.park, dtype=np.float64)
            self._controller = TrajectoryController(park)
            self._set_points = None
            self._gripper = GripperController(
                self.robot.gripper.open_m, self.robot.gripper.open_m, 2 * FINGER_M_S, FINGER_N)
            self._noise = np.random.default_rng([seed, 0x61726D])
            self._measure()
            self._passed.notify_all()

    def poses(self) -> Poses:
        """Present poses of the arm's links and of all blocks."""
        bullet = self._bullet
        with self._lock:
            positions, velocities, fingers = self._read()
            links = {self._base_name: self._base_pose}
            states = bullet.getLinkStates(
                self._body, list(range(len(self._link_names))), computeForwardKinematics=1)
            for name, state in zip(self._link_names, states, strict=True):
                links[name] = (*state[4], *state[5])
            moving = (self._controller.active(self.now_s()) or self._gripper.active
                      or bool(np.abs(velocities).max() > 0.01))
            blocks = {}
            for colour, body in self._blocks.items():
                at, turn = bullet.getBasePositionAndOrientation(body)
                blocks[colour] = (*at, *turn)
                speed, spin = bullet.getBaseVelocity(body)
                moving |= math.hypot(*speed) > 0.01 or math.hypot(*spin) > 0.2
            return Poses(self.now_s(), (*positions.tolist(), *fingers), links, blocks,
                         bool(moving))

    @contextlib.contextmanager
    def recorded(self, every_s: float) -> Iterator[list[Poses]]:
        """Note where everything is, at regular times, for as long as the context lasts."""
        taken: list[Poses] = []
        every = max(1, round(every_s / self._step_s))

        def note() -> None:
            if self._steps % every == 0:
                taken.append(self.poses())

        with self._lock:
            self._after_step.append(note)
        try:
            yield taken
        finally:
            with self._lock:
                self._after_step.remove(note)

    def close(self) -> None:
        """Give the simulator back."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5.0)
        with self._passed:
            self._bullet.close()
            self._passed.notify_all()

    # --- inside -------------------------------------------------------------------------------

    def _allowed(self, steps: int) -> int:
        """Number of ``steps`` that may be made now, at least one; waits until one may be made."""
        while (until_s := self.until_s) is not None and not self._closing.is_set():
            room = (until_s() - self.now_s()) / self._step_s + 1e-6
            if room >= 1.0:
                return int(min(room, steps))
            self._closing.wait(_LOOK_S)
        return steps

    def _run(self) -> None:
        """Keep up with the wall clock; time that a busy machine loses is not made up for."""
        factor = self.settings.realtime_factor or 1.0
        last = time.monotonic()
        owed = 0.0
        while not self._closing.is_set():
            now = time.monotonic()
            owed = min(owed + (now - last) * factor, 0.1 * factor)
            last = now
            steps = int(owed / self._step_s)
            if steps:
                owed -= steps * self._step_s
                with contextlib.suppress(WorldError):  # closed meanwhile
                    self.advance(steps * self._step_s)
            self._closing.wait(max(0.0, (self._step_s - owed) / factor))

    def _step(self) -> None:
        bullet, body = self._bullet, self._body
        self._look_closely(any(bullet.getBaseVelocity(one)[0][2] < -_FALLING_M_S
                               for one in self._blocks.values()))
        at, speed = (self._controller.desired(self.now_s() + self._step_s)
                     if self._set_points is None else self._set_points.step(self._step_s))
        bullet.setJointMotorControlArray(
            body, self._arm_joints, bullet.POSITION_CONTROL, targetPositions=at,
            targetVelocities=speed, forces=self._efforts, positionGains=self._gains,
            velocityGains=self._dampings)
        opening = self._gripper.step(self._step_s) / 2
        bullet.setJointMotorControlArray(
            body, self._finger_joints, bullet.POSITION_CONTROL, targetPositions=[opening] * 2,
            forces=[self._gripper.force_n] * 2)
        bullet.stepSimulation()
        self._steps += 1
        self._measure()
        for act in self._after_step:
            act()

    def _forget_contacts(self) -> None:
        """Make Bullet find all contacts of the fingers anew.

        A Panda's fingers are soft (``friction_anchor`` in its URDF), without which much slips out:
        Bullet keeps their contacts with the directions that they began with, and fingers that
        open can be held by some that point the wrong way.
        """
        for joint in self._finger_joints:
            self._bullet.setCollisionFilterGroupMask(self._body, joint, _GROUP, _EVERYTHING)

    def _look_closely(self, closely: bool) -> None:
        """Cut steps into parts, or do no longer.

        A thing that fell by 9 cm goes 10 mm in a step of 1/128 s: through the floor of a drawer.
        """
        if closely != self._closely:
            self._closely = closely
            self._bullet.setPhysicsEngineParameter(numSubSteps=_PARTS if closely else 0)

    def _read(self) -> tuple[Vector, Vector, tuple[float, float]]:
        """True positions and velocities of the arm, and positions of the fingers."""
        states = self._bullet.getJointStates(self._body, [*self._arm_joints, *self._finger_joints])
        n = len(self._arm_joints)
        return (np.array([s[0] for s in states[:n]]), np.array([s[1] for s in states[:n]]),
                (float(states[n][0]), float(states[n + 1][0])))

    def _measure(self) -> None:
        positions, velocities, fingers = self._read()
        if self.settings.joint_noise_rad > 0:
            positions = positions + self.settings.joint_noise_rad * self._noise.standard_normal(
                len(positions))
        self._measured = JointState(self.now_s(), positions, velocities, max(0.0, sum(fingers)))

    def _build(self, blocks: Mapping[str, Pose7]) -> None:
        bullet, s = self._bullet, self.settings
        bullet.resetSimulation()
        bullet.setPhysicsEngineParameter(
            fixedTimeStep=self._step_s, numSolverIterations=_ITERATIONS,
            deterministicOverlappingPairs=1)
        bullet.setGravity(0.0, 0.0, -9.81)
        self._look_closely(False)
        self._build_table()
        self._build_arm()
        shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[self._block_m / 2] * 3)
        self._blocks = {}
        for colour, pose in blocks.items():
            body = bullet.createMultiBody(BLOCK_KG, shape, -1, pose[:3], pose[3:])
            bullet.changeDynamics(body, -1, lateralFriction=s.friction, spinningFriction=0.005,
                                  rollingFriction=0.0005)
            self._blocks[colour] = body

    def _build_table(self) -> None:
        bullet = self._bullet
        front, back = self._table_y_m
        for half, at in (
                ((3.0, (back - front) / 2, 0.05), (0.0, (front + back) / 2, -0.05)),
                ((3.0, 3.0, 0.05), (0.0, 0.0, -0.80))):  # the floor
            shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half)
            body = bullet.createMultiBody(0, shape, -1, at)
            bullet.changeDynamics(body, -1, lateralFriction=0.8)

    def _build_arm(self) -> None:
        bullet, robot = self._bullet, self.robot
        base = Kinematics(robot).to_table
        turn = quaternion_from_rotation(base[:3, :3]).tolist()
        with _bare_urdf(robot) as path:
            self._body = bullet.loadURDF(str(path), base[:3, 3].tolist(), turn, useFixedBase=1)
        infos = [bullet.getJointInfo(self._body, i)
                 for i in range(bullet.getNumJoints(self._body))]
        index = {info[1].decode(): info[0] for info in infos}
        fingers = [name for name in robot.gripper.joints if name in index] or [
            info[1].decode() for info in infos if info[2] == bullet.JOINT_PRISMATIC]
        if len(fingers) != 2 or any(infos[index[name]][2] != bullet.JOINT_PRISMATIC
                                    for name in fingers):
            raise InputError(f'{robot.file}: {robot.urdf} has {len(fingers)} finger joints '
                             f'({", ".join(fingers)}); what is simulated is a hand with two '
                             'fingers that slide: give a URDF that shows it so')
        self._base_name = bullet.getBodyInfo(self._body)[0].decode()
        self._base_pose: Pose7 = (*base[:3, 3].tolist(), *turn)
        self._link_names = [info[12].decode() for info in infos]
        self._arm_joints = [index[name] for name in robot.arm.joints]
        self._finger_joints = [index[name] for name in fingers]
        self._efforts = [infos[i][10] for i in self._arm_joints]
        self._gains = [_GAIN] * len(self._arm_joints)
        self._dampings = [_DAMPING] * len(self._arm_joints)
        for joint, value in zip(self._arm_joints, robot.arm.park, strict=True):
            bullet.resetJointState(self._body, joint, float(value))
        left, right = self._finger_joints
        for joint in (left, right):
            bullet.resetJointState(self._body, joint, robot.gripper.open_m / 2)
            bullet.changeDynamics(self._body, joint, lateralFriction=1.0, spinningFriction=0.02,
                                  rollingFriction=0.001)
        gear = bullet.createConstraint(
            self._body, left, self._body, right, bullet.JOINT_GEAR, [1, 0, 0], [0, 0, 0],
            [0, 0, 0])
        bullet.changeConstraint(gear, gearRatio=-1, erp=0.1, maxForce=_GEAR_N)


@contextlib.contextmanager
def _bare_urdf(robot: RobotConfig) -> Iterator[Path]:
    """Temporary URDF of a robot without its visual shapes, for loading.

    A Panda is that of pybullet_data. Of others links without a mass have next to none.
    """
    panda = is_panda(robot)
    folder = panda_folder() if panda else robot.urdf.parent
    tree = read_urdf() if panda else ET.parse(robot.urdf)  # noqa: S314  the user's own file
    for link in tree.iter('link'):
        for visual in link.findall('visual'):
            link.remove(visual)
        if link.find('inertial') is None and not panda:
            link.append(ET.fromstring(_NO_MASS))  # noqa: S314  our own
    for mesh in tree.iter('mesh'):
        name = mesh.get('filename', '')
        mesh.set('filename', str(folder / name.removeprefix('package://')))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / 'arm.urdf'
        tree.write(path)
        yield path
