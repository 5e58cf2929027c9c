"""Interfaces to an arm and a camera that skills need: two protocols, and their data.

Joints come in the order of the robot's configuration; angles in radians, lengths in metres, time
in seconds on the arm's clock (``Arm.now_s``), which may run faster than the wall's in simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError

Vector = NDArray[np.float64]


class ArmStoppedError(WorldError):
    """A motion was refused, or broken off and the arm holds.

    Attributes:
        cause: short name such as ``heartbeat``, ``stop_request``, ``workspace``; one of
            ``sightplan_arm.gate.CAUSES``.
        latched: whether a person must re-arm before anything moves again.
    """

    def __init__(self, cause: str, message: str, latched: bool = False) -> None:
        super().__init__(message)
        self.cause, self.latched = cause, latched


@dataclass(frozen=True, eq=False)
class JointState:
    """Measured state of all joints at one time.

    Attributes:
        stamp_s: when it was measured, on the arm's clock.
        positions: (N,) of the arm's joints [rad].
        velocities: (N,) [rad/s].
        opening_m: distance between the fingers.
    """

    stamp_s: float
    positions: Vector
    velocities: Vector
    opening_m: float


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Joint positions and velocities at given times, with cubic splines between them.

    This is what ros2_control's joint trajectory controller follows when a message has positions
    and velocities. Time zero is the start of the motion, where the arm must be already.

    Attributes:
        times_s: (K,) increasing, the first is 0.
        positions: (K, N) [rad].
        velocities: (K, N) [rad/s]; the last row is zero: a motion ends at rest.
    """

    times_s: Vector
    positions: Vector
    velocities: Vector

    @property
    def duration_s(self) -> float:
        """Time of the last point."""
        return float(self.times_s[-1])


@dataclass(frozen=True, eq=False)
class Rgbd:
    """A colour picture with depth and calibration.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32, metres along the optical axis; 0 or NaN where unknown.
        matrix: (3, 3) pinhole K; pixel (0, 0) is the centre of the top-left pixel.
        distortion: (4,), (5,), (8,), (12,) or (14,) coefficients in the order of OpenCV: those of
            plumb_bob are the first 5, of rational_polynomial the first 8.
        stamp_ns: when it was taken, on the camera's clock.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    matrix: Vector
    distortion: Vector
    stamp_ns: int


@runtime_checkable
class Arm(Protocol):
    """An arm with a gripper. Only the gate may call what moves it (``command``, ``grip``)."""

    def now_s(self) -> float:
        """The clock of motions."""

    def state(self) -> JointState | None:
        """The newest measurement; None before the first."""

    def state_age_s(self) -> float:
        """Wall-clock seconds since a measurement came; infinity before the first."""

    def command(self, trajectory: JointTrajectory) -> None:
        """Start a motion now, in place of one that is under way. Returns at once.

        Raises:
            WorldError: it cannot be sent.
        """

    def grip(self, opening_m: float, force_n: float) -> None:
        """Move the fingers to a distance, pressing no harder than a force. Returns at once."""

    def wait(self, seconds: float) -> None:
        """Let time pass on the arm's clock."""


@runtime_checkable
class Camera(Protocol):
    """A colour camera with depth."""

    def observe(self, timeout_s: float = 5.0) -> Rgbd:
        """A picture that was taken after this call began.

        Raises:
            DeadlineError: none came in time.
        """

    def image_age_s(self) -> float:
        """Wall-clock seconds since a picture came; infinity before the first."""
