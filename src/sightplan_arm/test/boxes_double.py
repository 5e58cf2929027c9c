"""A table with boxes of any size, an arm that is where it should be, and a camera: no physics."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import numpy as np

from box_pictures import Box, picture
from sightplan_arm.geometry import inverse, transform
from sightplan_arm.hardware import JointState
from sightplan_arm.trajectories import sample

MATRIX = np.array([[579.4, 0.0, 319.5], [0.0, 579.4, 239.5], [0.0, 0.0, 1.0]])


def box(colour, x, y, sides, yaw_deg=0.0):
    """A box that stands on the table."""
    return Box(colour, (x, y, sides[2] / 2), yaw_deg, sides_m=sides)


@dataclass
class BoxTable:
    """Boxes, an arm and a camera over them.

    Attributes:
        robot, kinematics: of the arm.
        boxes: what stands on the table, by name.
        slippery: how often a box slips out of the fingers yet: ``(name, 'closing')`` when they
            close, ``(name, 'lifting')`` when it is 5 cm up.
        pushes_m: by how much a box is pushed when it slips.
        seen_pose: (4, 4) where the camera truly hangs; None: where the robot's file has it.
        noise_m: of the depth.
    """

    robot: object
    kinematics: object
    boxes: dict = field(default_factory=dict)
    slippery: dict = field(default_factory=dict)
    pushes_m: float = 0.0
    seen_pose: np.ndarray | None = None
    noise_m: float = 0.0
    time_s: float = 0.0

    def __post_init__(self):
        self.posture = np.array(self.robot.arm.park)
        self.opening = self.robot.gripper.open_m
        self.held, self.sent = None, []

    # --- protocol Arm -------------------------------------------------------------------------

    def now_s(self):
        return self.time_s

    def state(self):
        return JointState(self.time_s, self.posture.copy(), 0 * self.posture, self.opening)

    def state_age_s(self):
        return 0.0

    def command(self, trajectory):
        """The arm is there at once, and time has passed."""
        self.sent.append(trajectory)
        assert np.abs(trajectory.positions[0] - self.posture).max() < 1e-3
        for t in np.linspace(0.0, trajectory.duration_s, 25)[1:]:
            self.posture = sample(trajectory, t)[0]
            self._carry()
        self.time_s += trajectory.duration_s

    def grip(self, opening_m, force_n):
        self.sent.append(opening_m)
        if opening_m >= self.opening:
            self._let_go()
            self.opening = min(opening_m, self.robot.gripper.open_m)
            return
        tip = self.tip()
        for name, one in self.boxes.items():
            x, y, z = transform(inverse(tip), one.centre_m)
            near, far = self._between(one, tip)
            if opening_m == 0.0 and -self.opening / 2 < near < far < self.opening / 2:
                if self._slips(name, 'closing'):
                    self._push(name)
                    break
                self.held = name, np.array([x, y - (near + far) / 2, z])
                self.opening = far - near
                self._carry()
                return
        self.opening = opening_m

    def wait(self, seconds):
        self.time_s += seconds

    def tip(self):
        """(4, 4) pose of the tip in the table's frame."""
        return inverse(self.robot.table.pose) @ self.kinematics.fk(self.posture)

    def _between(self, one, tip):
        """Where the line between the finger ends enters and leaves a box, from the tip [m]."""
        axes, half = one.axes(), np.array(one.sides_m) / 2
        start, along = (tip[:3, 3] - one.centre_m) @ axes, tip[:3, 1] @ axes
        along = np.where(np.abs(along) < 1e-9, 1e-9, along)
        ends = np.sort([(-half - start) / along, (half - start) / along], axis=0)
        return float(ends[0].max()), float(ends[1].min())

    def _slips(self, name, when):
        left = self.slippery.get((name, when), 0)
        self.slippery[name, when] = left - 1
        return left > 0

    def _push(self, name):
        x, y, z = self.boxes[name].centre_m
        self._put(name, (x + self.pushes_m, y, z))

    def _put(self, name, at, yaw_deg=None):
        one = self.boxes[name]
        self.boxes[name] = dataclasses.replace(
            one, centre_m=tuple(map(float, at)),
            yaw_deg=one.yaw_deg if yaw_deg is None else yaw_deg)

    def _carry(self):
        if self.held is None:
            return
        name, offset = self.held
        self._put(name, transform(self.tip(), offset))
        one = self.boxes[name]
        if one.centre_m[2] - one.sides_m[2] / 2 > 0.05 and self._slips(name, 'lifting'):
            self._let_go()
            self._push(name)
            self.opening = 0.0

    def _let_go(self):
        """What is held falls straight down."""
        if self.held is None:
            return
        name, self.held = self.held[0], None
        one = self.boxes[name]
        self._put(name, (*one.centre_m[:2], one.sides_m[2] / 2))

    # --- protocol Camera ----------------------------------------------------------------------

    def image_age_s(self):
        return 0.0

    def observe(self, timeout_s=5.0):
        """Where the boxes are now."""
        pose = self.robot.camera.pose if self.seen_pose is None else self.seen_pose
        return picture(list(self.boxes.values()), pose, matrix=MATRIX, noise_m=self.noise_m)

    def unit(self, point_m):
        """Unit coordinates of a point of the table's frame, as the robot's file has the camera."""
        at = transform(inverse(self.robot.camera.pose), point_m)
        column, row = (MATRIX @ (at / at[2]))[:2]
        return (float(column) + 0.5) / 640, (float(row) + 0.5) / 480


def turned_pose(pose, degrees, shift_m):
    """A camera's pose, turned about its own x axis and shifted."""
    angle = math.radians(degrees)
    turn = np.eye(4)
    turn[1:3, 1:3] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    moved = pose @ turn
    moved[:3, 3] += shift_m
    return moved
