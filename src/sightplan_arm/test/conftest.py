"""The robots that come with sightplan, read once."""

from pathlib import Path

import pytest

from sightplan_arm.config import load_robot
from sightplan_arm.kinematics import Kinematics

ROBOTS = Path(__file__).resolve().parents[3] / 'config' / 'robots'
NAMES = ('panda', 'ur5e')


@pytest.fixture(scope='session')
def robots():
    return {name: load_robot(str(ROBOTS / f'{name}.yaml')) for name in NAMES}


@pytest.fixture(scope='session')
def panda(robots):
    return robots['panda']


@pytest.fixture(scope='session')
def panda_kinematics(panda):
    return Kinematics(panda)


@pytest.fixture(scope='session', params=NAMES)
def arm(request, robots):
    """A robot and its kinematics."""
    robot = robots[request.param]
    return robot, Kinematics(robot)
