"""Settings of the simulated hardware."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sightplan.model import InputError, param, settings_fields


@dataclass(frozen=True, slots=True)
class HardwareSettings:
    """Settings of the simulated arm and its camera; worlds add them to their own settings."""

    robot: str = param('panda', 'robot, with execution=arm: a name in config/robots/, or a file')
    physics_hz: float = param(
        128.0, 'steps of the physics a second of simulated time; with a power of two all times '
        'are exact, and episodes do not depend on what came before them', low=60.0, high=1024.0)
    friction: float = param(
        0.8, 'friction coefficient between the fingers and a block, and of blocks', low=0.0,
        high=2.0)
    joint_noise_rad: float = param(
        0.0, 'standard deviation of the measured joint positions [rad]', low=0.0, high=0.1)
    realtime_factor: float = param(
        0.0, 'simulated seconds a second of wall clock, in a thread of its own; 0: time passes '
        'only while a caller waits for the arm, as fast as the machine can', low=0.0, high=20.0)
    depth_noise_mm: float = param(
        0.0, 'standard deviation of the depth at 1 m; it grows with the square of the distance',
        low=0.0, high=50.0)
    depth_dropout: float = param(
        0.0, 'fraction of the pixels whose depth is unknown (0)', low=0.0, high=1.0)
    depth_step_mm: float = param(
        0.0, 'smallest difference of depth, as of a 16 bit depth image; 0: none', low=0.0,
        high=20.0)
    calibration_error_mm: float = param(
        0.0, "how far the camera is from where the robot's file has it, in a random direction",
        low=0.0, high=100.0)
    calibration_error_deg: float = param(
        0.0, "how far the camera is turned from how the robot's file has it, about a random axis",
        low=0.0, high=20.0)
    calibration_seed: int = param(
        0, 'draws direction and axis of the calibration error', low=0, high=2**32 - 1)

OF_ARMS = frozenset({'rearm', *(field.name for field in settings_fields(HardwareSettings))})
"""Settings of worlds that have an effect with execution=arm only."""


def refuse_without_arm(settings: Any) -> None:
    """Check that a world without an arm was given no settings of one.

    Raises:
        InputError: it was; names the first.
    """
    for field in settings_fields(type(settings)):
        if field.name in OF_ARMS and getattr(settings, field.name) != field.default:
            raise InputError(f'{field.name} says how an arm behaves, but there is none: set '
                             'execution=arm, or leave it out')
