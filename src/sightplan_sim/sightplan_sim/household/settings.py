"""Settings of the household world."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model import param


@dataclass(frozen=True, slots=True)
class Settings:
    """The robot and how it looks at its home; the same fields serve command line, YAML and ROS."""

    pictures: str = param(
        'pybullet', 'who draws the pictures; "none": nobody, for methods whose answers come from '
        'elsewhere (the image is a few pixels that change when the scene does)',
        choices=('pybullet', 'none'))
    home: int = param(0, 'which home a problem takes place in: each number gives another one',
                      low=0, high=1_000_000)
    navigation: str = param(
        'pddl', 'what is reachable: "pddl": only what the arm was set up for, as the actions say; '
        '"reference": all that is visible and near, as in ViPlan\'s simulator',
        choices=('pddl', 'reference'))
    labels: bool = param(
        True, 'whether things of which several are in view are boxed and named in the picture')
    width: int = param(480, 'width of the picture [px]', low=64, high=2048)
    height: int = param(480, 'height of the picture [px]', low=64, high=2048)
    fov_deg: float = param(90.0, 'vertical field of view of the camera [deg]', low=40.0,
                           high=120.0)
    camera_height_m: float = param(1.2, 'camera over the floor [m]', low=0.6, high=2.0)
    camera_forward_m: float = param(
        0.1, 'camera before the middle of the base [m]', low=-0.2, high=0.28)
    tilt_deg: float = param(20.0, 'how far the camera looks down [deg]', low=0.0, high=60.0)
    shoulder_height_m: float = param(0.85, 'first joint of the arm over the floor [m]', low=0.3,
                                     high=1.6)
    reach_m: float = param(1.5, 'longest way from the shoulder [m]', low=0.8, high=3.0)
    visible_share: float = param(
        0.08, 'share of the hull of its projected box that must show a thing for it to be in view',
        low=0.001, high=1.0)
    frame_id: str = param('camera_optical_frame', 'optical frame of the camera (REP 103)')
