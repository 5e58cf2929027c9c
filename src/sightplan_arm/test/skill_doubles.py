"""A table that works perfectly: an arm that is where it should be, blocks without physics.

The camera is real geometry all the same: it casts a ray through each pixel at turned boxes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from sightplan_arm.geometry import inverse, transform
from sightplan_arm.hardware import ArmStoppedError, JointState, Rgbd
from sightplan_arm.trajectories import sample

RGB = {'r': (0.86, 0.06, 0.08), 'g': (0.10, 0.62, 0.16), 'b': (0.06, 0.40, 0.93),
       'y': (0.98, 0.88, 0.08), 'p': (0.56, 0.12, 0.62), 'o': (1.00, 0.53, 0.03)}
WIDTH, HEIGHT, FOCAL_PX = 400, 300, 706.0


@dataclass
class Block:
    """Where a block is: its middle in the table's frame [m], and its turn [rad]."""

    at: np.ndarray
    yaw: float = 0.0


@dataclass
class Table:
    """Blocks, an arm and a camera over them.

    Attributes:
        robot, kinematics: of the arm.
        blocks: by colour letter.
        slippery: colours of blocks that slip out of the fingers: when they close, or on the way.
    """

    robot: object
    kinematics: object
    blocks: dict = field(default_factory=dict)
    slippery: dict = field(default_factory=dict)
    time_s: float = 0.0
    looks: int = 0
    sent: list = field(default_factory=list)

    def __post_init__(self):
        self.posture = np.array(self.robot.arm.park)
        self.opening = self.robot.gripper.open_m
        self.held = None

    def stand(self, *stacks, yaw=0.1, shift=0.002):
        """Put blocks in columns, each a little askew."""
        side, xs = self.robot.table.block_m, self.robot.table.column_x_m(len(stacks))
        for x, stack in zip(xs, stacks, strict=True):
            for level, colour in enumerate(stack):
                sign = (-1) ** level
                self.blocks[colour] = Block(
                    np.array([x + sign * shift, -sign * shift, (level + 0.5) * side]), sign * yaw)

    def stacks(self, columns):
        """Which blocks stand where, from bottom to top."""
        xs = np.array(self.robot.table.column_x_m(columns))
        piles = [[] for _ in xs]
        for colour, block in sorted(self.blocks.items(), key=lambda item: item[1].at[2]):
            piles[int(np.argmin(np.abs(xs - block.at[0])))].append(colour)
        return [''.join(pile) for pile in piles]

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
        steps = np.linspace(0.0, trajectory.duration_s, 25)[1:]
        for t in steps:
            self.posture = sample(trajectory, t)[0]
            self._carry()
        self.time_s += trajectory.duration_s

    def grip(self, opening_m, force_n):
        self.sent.append(opening_m)
        side = self.robot.table.block_m
        if opening_m > self.opening:
            self._let_go()
            self.opening = min(opening_m, self.robot.gripper.open_m)
            return
        tip = self._tip()
        for colour, block in self.blocks.items():
            near = block.at - tip[:3, 3]
            if np.abs(near).max() < 0.4 * side and not self._slips(colour, 'closing'):
                turn = inverse(tip)
                turn[:3, 3] = transform(turn, block.at)
                turn[1, 3] = 0.0  # the fingers centre it, and turn it flush
                self.held = colour, turn[:3, 3]
                self.opening = side
                self._carry()
                return
        self.opening = opening_m

    def wait(self, seconds):
        self.time_s += seconds

    def _slips(self, colour, when):
        left = self.slippery.get((colour, when), 0)
        self.slippery[colour, when] = left - 1
        return left > 0

    def _tip(self):
        return inverse(self.robot.table.pose) @ self.kinematics.fk(self.posture)

    def _carry(self):
        if self.held is None:
            return
        colour, offset = self.held
        tip = self._tip()
        block = self.blocks[colour]
        block.at = transform(tip, offset)
        block.yaw = math.atan2(-tip[0, 1], tip[1, 1])
        if block.at[2] > 0.2 and self._slips(colour, 'carrying'):
            self._let_go()
            self.opening = 0.0

    def _let_go(self):
        """What is held falls straight down."""
        if self.held is None:
            return
        colour, self.held = self.held[0], None
        side, block = self.robot.table.block_m, self.blocks[colour]
        below = [other.at[2] + side / 2 for name, other in self.blocks.items()
                 if name != colour and np.abs(other.at[:2] - block.at[:2]).max() < side
                 and other.at[2] < block.at[2]]
        block.at[2] = max(below, default=0.0) + side / 2

    # --- protocol Camera ----------------------------------------------------------------------

    def image_age_s(self):
        return 0.0

    def look(self, timeout_s=5.0):
        """Boxes before a grey table, lit from the front."""
        self.looks += 1
        matrix = np.array([[FOCAL_PX, 0, (WIDTH - 1) / 2], [0, FOCAL_PX, (HEIGHT - 1) / 2],
                           [0, 0, 1.0]])
        pose = self.robot.camera.pose
        u, v = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
        rays = np.stack([(u - matrix[0, 2]) / FOCAL_PX, (v - matrix[1, 2]) / FOCAL_PX,
                         np.ones_like(u, dtype=float)], axis=-1) @ pose[:3, :3].T
        eye = pose[:3, 3]
        with np.errstate(divide='ignore', invalid='ignore'):
            depth = np.where(rays[..., 2] < 0, -eye[2] / rays[..., 2], np.inf)
            depth = np.minimum(depth, np.where(rays[..., 1] > 0, (0.5 - eye[1]) / rays[..., 1], 9))
            rgb = np.full((HEIGHT, WIDTH, 3), 0.6)
            for colour, block in self.blocks.items():
                c, s = math.cos(block.yaw), math.sin(block.yaw)
                turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])
                start, along = turn @ (eye - block.at), rays @ turn.T
                half = self.robot.table.block_m / 2
                ends = np.stack([(-half - start) / along, (half - start) / along])
                enter, leave = ends.min(axis=0), ends.max(axis=0)
                first, last = enter.max(axis=-1), leave.min(axis=-1)
                hit = (first < last) & (first > 0) & (first < depth)
                shade = np.array([0.8, 0.9, 1.0])[enter.argmax(axis=-1)]
                depth = np.where(hit, first, depth)
                rgb[hit] = np.array(RGB[colour]) * shade[hit][:, None]
        return Rgbd((255 * rgb).astype(np.uint8), depth.astype(np.float32), matrix, np.zeros(5),
                    int(1e9 * self.time_s))


class OpenGate:
    """A gate that lets everything through, or, in a dry run, nothing; it may be told to stop."""

    def __init__(self, arm, dry_run=False):
        self.arm, self.dry_run, self.episodes, self.motions = arm, dry_run, 0, []
        self.stop_at = ''

    def new_episode(self):
        self.episodes += 1

    def status(self):
        return SimpleNamespace(dry_run=self.dry_run)

    def follow(self, trajectory, what):
        self._check(what)
        if not self.dry_run:
            self.arm.command(trajectory)

    def grip(self, opening_m, force_n, what):
        self._check(what)
        if not self.dry_run:
            self.arm.grip(opening_m, force_n)
        return self.arm.opening

    def _check(self, what):
        self.motions.append(what)
        if self.stop_at and what.startswith(self.stop_at):
            raise ArmStoppedError('stop_request', 'somebody pressed stop', latched=True)
