"""Settings of the household world."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sightplan.model import InputError, check_settings, param

LEAST_WIDE_DEG = 50.0
"""Smallest field of view; a narrower picture often misses the target of the robot."""
LOOKS_DOWN_M = 1.2
"""The floor is in the picture from this far before the camera on, at the latest."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the robot and its camera; the same fields serve command line, YAML and ROS."""

    pictures: str = param(
        'pybullet', 'renderer of the pictures; "none": none are drawn, for methods whose answers '
        'come from elsewhere (the image is a few pixels that change when the scene does)',
        choices=('pybullet', 'none'))
    home: int = param(0, 'which home a problem takes place in: each number gives another one',
                      low=0, high=1_000_000)
    navigation: str = param(
        'pddl', 'what is reachable: "pddl": only what the arm was set up for, as the actions say; '
        '"reference": all that is visible and near, as in ViPlan\'s simulator',
        choices=('pddl', 'reference'))
    paths: str = param(
        'none', 'how the robot gets to where it is sent: "none": it is put there; "planned": '
        'along one of several paths over the floor, if there is any, and what they are like is in '
        'the details of the results', choices=('none', 'planned'))
    path_vector: str = param(
        '', 'what is wanted of planned paths, 1 for more and -1 for less: '
        'minimum_clearance=1,path_length=-1 ..., or seven numbers; "": nothing, the first is '
        'taken')
    close: str = param(
        'pddl', 'when furniture may be closed: "pddl": whenever the domain says so; "empty_hand": '
        "only with an empty hand, as in ViPlan's simulator", choices=('pddl', 'empty_hand'))
    instances: str = param(
        'each', 'whether "each" problem has a home of its own, or all problems whose names differ '
        'in the number at their end share that of the "first", with number 0, as ViPlan\'s '
        'simulator never hears of the number', choices=('each', 'first'))
    camera: str = param(
        'own', 'which camera the robot has: its "own", as the following settings say, or that of '
        'the "paper": 120 degrees, 1.2 m over the floor, 0.1 m before the middle of the base and '
        '0.1 m to the left of it, 1 down on 4 forward', choices=('own', 'paper'))
    labels: bool = param(
        True, 'whether things of which several are in view are boxed and named in the picture')
    width: int = param(480, 'width of the picture [px]', low=64, high=2048)
    height: int = param(480, 'height of the picture [px]', low=64, high=2048)
    fov_deg: float = param(90.0, 'vertical field of view of the camera [deg]', low=40.0,
                           high=120.0)
    camera_height_m: float = param(1.2, 'camera over the floor [m]', low=1.0, high=2.0)
    camera_forward_m: float = param(
        0.1, 'camera before the middle of the base [m]', low=-0.2, high=0.28)
    tilt_deg: float = param(20.0, 'how far the camera looks down [deg]', low=0.0, high=60.0)
    shoulder_height_m: float = param(0.85, 'first joint of the arm over the floor [m]', low=0.3,
                                     high=1.1)
    reach_m: float = param(1.5, 'longest way from the shoulder [m]', low=1.2, high=3.0)
    visible_fraction: float = param(
        0.08, 'fraction of the hull of its projected box that must show a thing for it to be in '
        'view',
        low=0.001, high=1.0)
    frame_id: str = param('camera_optical_frame', 'optical frame of the camera (REP 103)')


_PAPER: dict[str, Any] = {'fov_deg': 120.0, 'camera_height_m': 1.2, 'camera_forward_m': 0.1,
                          'tilt_deg': math.degrees(math.atan(0.25))}
"""The camera of the ViPlan paper's simulator, as settings; ``PAPER_LEFT_M`` is the rest of it."""
PAPER_LEFT_M = 0.1
"""Distance of the paper's camera to the left of the middle of the base [m]."""


def with_camera(settings: Settings) -> Settings:
    """Return settings in which the chosen camera is spelled out.

    Raises:
        InputError: the camera is the paper's, and a setting of another one is given.
    """
    if settings.camera == 'own':
        return settings
    usual = Settings()
    for name in _PAPER:
        if getattr(settings, name) != getattr(usual, name):
            raise InputError(f'{name}: camera=paper sets it (leave out {name}, or camera)')
    return replace(settings, **_PAPER)


def check_view(settings: Settings) -> None:
    """Check settings one by one, and that the robot sees the bodies that it stands before.

    Homes are checked once, for the default robot (see ``homes_stations``). Within these bounds
    others get about in them, too: of 86 navigations at most 1 failed; beyond, up to half did.

    Raises:
        InputError: a setting is out of bounds, or the camera looks past things on the floor or
            on tables; names the settings.
    """
    check_settings(settings)
    s = settings
    half = math.radians(s.fov_deg) / 2
    wide_deg = 2 * math.degrees(math.atan(math.tan(half) * s.width / s.height))
    if wide_deg < LEAST_WIDE_DEG:
        raise InputError(
            f'width {s.width}, height {s.height}, fov_deg {s.fov_deg:g}: the picture is only '
            f'{wide_deg:.0f} degrees wide, and must be {LEAST_WIDE_DEG:g} (raise width or '
            'fov_deg)')
    down_deg = math.degrees(math.atan2(s.camera_height_m, LOOKS_DOWN_M))
    if s.tilt_deg + s.fov_deg / 2 < down_deg - 1e-6:
        raise InputError(
            f'tilt_deg {s.tilt_deg:g}, fov_deg {s.fov_deg:g}, camera_height_m '
            f'{s.camera_height_m:g}: the floor is out of the picture up to more than '
            f'{LOOKS_DOWN_M:g} m away (raise tilt_deg or fov_deg, or lower camera_height_m)')
    if s.tilt_deg > s.fov_deg / 2:
        raise InputError(
            f'tilt_deg {s.tilt_deg:g}, fov_deg {s.fov_deg:g}: nothing as high as the camera is in '
            'the picture (lower tilt_deg or raise fov_deg)')
