"""Settings of the blocksworld world."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model import param
from sightplan_sim.arm.settings import HardwareSettings


@dataclass(frozen=True, slots=True)
class Settings(HardwareSettings):
    """Settings of the blocksworld; the same fields serve command line, YAML and ROS."""

    execution: str = param(
        'symbolic', 'what carries out the actions; "symbolic": they just happen, or fail with the '
        "episode's probability; \"arm\": a simulated robot arm, and physics",
        choices=('symbolic', 'arm'))
    rearm: bool = param(
        True, 'with execution=arm: whether a reset re-arms a safety gate that has stopped, as a '
        'person would; false where a person watches over the arm')
    pictures: str = param(
        'pybullet', 'renderer of the pictures; "none": none are drawn, for methods whose answers '
        'come from elsewhere (the image is a few pixels that change when the scene does)',
        choices=('pybullet', 'none'))
    width: int = param(640, 'width of the picture [px]', low=64, high=4096)
    height: int = param(480, 'height of the picture [px]', low=64, high=4096)
    fov_deg: float = param(24.0, 'vertical field of view of the camera [deg]', low=8.0, high=90.0)
    elevation_deg: float = param(
        16.0, 'how far the camera looks down on the table [deg]', low=2.0, high=45.0)
    distance_m: float = param(
        0.0, 'camera to scene [m]; 0 chooses it so that columns show as large as fits',
        low=0.0, high=10.0)
    margin: float = param(
        0.10, 'part of the half picture left free on every side when the distance is chosen',
        low=0.02, high=0.5)
    failures: str = param(
        'silent', "what the feedback says about a move that failed by the episode's probability; "
        '"silent": nothing, and one that ends on the block\'s own column counts as carried out; '
        '"reported": the move that happened instead, or that it is not legal there, as in ViPlan',
        choices=('silent', 'reported'))
    failure_seed: int = param(
        -1, 'seed of the failures, the same for all problems, as in ViPlan (1); -1: each problem '
        'and trial has failures of its own', low=-1, high=2**32 - 1)
    look: float = param(
        1.0, 'strength of the random look: 0 always the same, 1 usual, 2 as in training',
        low=0.0, high=3.0)
    supersampling: int = param(
        2, 'samples per pixel and direction on the blocks', low=1, high=4)
    frame_id: str = param('camera_optical_frame', 'optical frame of the camera (REP 103)')
