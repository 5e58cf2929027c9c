"""Arm and camera together, as a bridge to ROS drives them from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from sightplan_arm.hardware import Camera, JointState, JointTrajectory
from sightplan_sim.arm.simulator import Poses, SimulatedArm

C = TypeVar('C', bound=Camera)


@dataclass(frozen=True, eq=False)
class Hardware(Generic[C]):
    """A simulated arm and its camera.

    All methods may be called from any thread at any time, also while the world that owns the
    hardware executes an action in another one.

    Attributes:
        arm: implements the protocol Arm.
        camera: implements the protocol Camera; renders in the caller's thread.
    """

    arm: SimulatedArm
    camera: C

    def state(self) -> JointState:
        """The newest measurement of the joints."""
        return self.arm.state()

    def command(self, trajectory: JointTrajectory) -> None:
        """Follow a trajectory from now on, in place of the one that is under way.

        A trajectory without velocities (an empty array) is followed in straight lines. If its
        first time is later than 0, it is joined to where the arm is.

        Raises:
            WorldError: it is not sound; the running one goes on.
        """
        self.arm.command(trajectory)

    def grip(self, opening_m: float, force_n: float) -> None:
        """Move the fingers from now on.

        Raises:
            WorldError: a number is not finite, or the force not positive.
        """
        self.arm.grip(opening_m, force_n)

    def advance(self, seconds: float) -> None:
        """Let simulated time pass; only where ``realtime_factor`` is 0."""
        self.arm.advance(seconds)

    def poses(self) -> Poses:
        """Where everything is now, for a camera process."""
        return self.arm.poses()
