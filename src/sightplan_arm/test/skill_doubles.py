"""A table that works perfectly: an arm that is where it should be, blocks without physics."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from box_pictures import MATRIX, Box, picture
from sightplan_arm.geometry import inverse, transform
from sightplan_arm.hardware import ArmStoppedError, JointState, JointTrajectory
from sightplan_arm.perception import COLOUR_OF_KEY
from sightplan_arm.trajectories import sample


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
    observations: int = 0
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
        if opening_m >= self.opening:
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
        if block.at[2] > 0.1 and self._slips(colour, 'carrying'):
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

    def observe(self, timeout_s=5.0):
        """Where the blocks are now."""
        self.observations += 1
        boxes = [Box(COLOUR_OF_KEY[colour], tuple(block.at), math.degrees(block.yaw))
                 for colour, block in self.blocks.items()]
        return picture(boxes, self.robot.camera.pose, matrix=MATRIX * [[0.5], [0.5], [1.0]],
                       size=(320, 240))


class OpenGate:
    """A gate that lets everything through, or, in a dry run, nothing; it may be told to stop.

    Attributes:
        in_the_way: how often something is in the way half along a motion that is guarded.
    """

    def __init__(self, arm, dry_run=False):
        self.arm, self.dry_run, self.episodes = arm, dry_run, 0
        self.motions, self.skills, self.arounds, self.taken = [], [], {}, []
        self.stop_at, self.stopped, self.epoch = '', False, 0
        self.in_the_way = Counter()
        self.limits = SimpleNamespace(check=lambda trajectory, around: None)
        self._held = None

    @property
    def held(self):
        """What the fingers have closed around; None: they have opened since, or are closed."""
        return None if self.arm.opening < 0.0012 else self._held

    def new_episode(self):
        self.episodes += 1
        self.epoch += 1

    def check_armed(self):
        if self.stopped:
            raise ArmStoppedError('stop_request', 'somebody pressed stop', latched=True)

    def status(self):
        return SimpleNamespace(dry_run=self.dry_run)

    @contextlib.contextmanager
    def skill(self, what, since=None):
        assert since in (None, self.epoch)
        self.skills.append(what)
        yield

    def follow(self, trajectory, what, around, *, guarded=False):
        self._check(what)
        self.arounds[what] = around
        met = guarded and not self.dry_run and self.in_the_way[what] > 0
        if met:
            self.in_the_way[what] -= 1
            half = len(trajectory.times_s) // 2
            trajectory = JointTrajectory(trajectory.times_s[:half], trajectory.positions[:half],
                                         trajectory.velocities[:half])
        if not self.dry_run:
            self.arm.command(trajectory)
        return not met

    def grip(self, opening_m, force_n, what, takes=None):
        self._check(what)
        self.taken += [] if takes is None else [takes]
        before = self.arm.opening
        if not self.dry_run:
            self.arm.grip(opening_m, force_n)
        self._held = takes or (None if self.arm.opening > before + 0.003 else self._held)
        return self.arm.opening

    def _check(self, what):
        self.motions.append(what)
        self.stopped |= bool(self.stop_at) and what.startswith(self.stop_at)
        self.check_armed()
