"""Settings of the sliding world."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model import param
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.sliding.solids import FILLING, SMALL


@dataclass(frozen=True, slots=True)
class Settings(HardwareSettings):
    """Settings of a sliding world; the same fields serve command line, YAML and ROS."""

    robot: str = param('panda_tabletop', 'robot, with execution=arm: a name in config/robots/, or '
                       'a file; its camera looks down on the board')
    execution: str = param(
        'symbolic', 'what carries out the actions; "symbolic": they just happen, or fail with the '
        "episode's probability; \"arm\": a simulated robot arm, and physics",
        choices=('symbolic', 'arm'))
    rearm: bool = param(
        True, 'with execution=arm: whether a reset re-arms a safety gate that has stopped, as a '
        'person would; false where a person watches over the arm')
    view: str = param(
        '3d', 'what an observation shows: solid pieces seen from above one side ("3d"), flat ones '
        '("2d"), or a text of one line for each piece ("text")', choices=('3d', '2d', 'text'))
    size: float = param(
        FILLING, 'how wide the solid pieces of a 3D picture are, in widths of a cell: as wide as '
        "their cell, as iVISPAR's (1), down to small ones that seldom hide each other (0.62, the "
        'width of cubes; other shapes are a little wider)', low=SMALL, high=FILLING)
    labels: str = param(
        'both', 'names in the picture: letters and digits along the edges ("edge"), names on '
        'free cells ("cell"), both, or none', choices=('both', 'edge', 'cell', 'none'))
    text_order: str = param(
        'board', 'with view=text, in which order the pieces are listed: by their cells from a1 '
        'on, row by row ("board"), or as the problem lists its objects ("engine")',
        choices=('board', 'engine'))
    pictures: str = param(
        'own', 'renderer of the pictures; "none": none are drawn, for methods whose answers '
        'come from elsewhere (the image is a few pixels that change when the scene does)',
        choices=('own', 'none'))
    width: int = param(640, 'width of the picture [px]', low=64, high=4096)
    height: int = param(480, 'height of the picture [px]', low=64, high=4096)
    look: float = param(
        1.0, 'strength of the random look: 0 always the same nominal light and colours, '
        '1 usual, 2 as in training', low=0.0, high=3.0)
    supersampling: int = param(3, 'samples per pixel and direction', low=1, high=4)
    frame_id: str = param('camera_optical_frame', 'optical frame of the camera (REP 103)')
