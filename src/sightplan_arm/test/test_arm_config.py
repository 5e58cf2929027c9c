"""Robots' files: what they say, and what is said about mistakes in them."""

import contextlib
import copy
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightplan.model import InputError, config_files
from sightplan_arm import config
from sightplan_arm.config import BRAKING_S, load_robot
from sightplan_arm.geometry import rotation_from_quaternion, rotation_from_rpy

ROBOTS = Path(__file__).resolve().parents[3] / 'config' / 'robots'
URDF = Path(config.__file__).with_name('urdf') / 'panda.urdf'
PANDA = yaml.safe_load((ROBOTS / 'panda.yaml').read_text())


def edited(folder, path, value):
    """The panda's file with one field replaced, or removed if the value is ``...``."""
    data = copy.deepcopy(PANDA)
    inner = data
    *above, last = path.split('.')
    for key in above:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    file = folder / 'mine.yaml'
    file.write_text(yaml.safe_dump(data))
    return file


def test_the_panda(panda):
    assert panda.name == 'panda' and panda.urdf == URDF
    assert panda.arm.joints == tuple(f'panda_joint{i}' for i in range(1, 8))
    assert panda.tip_frame == 'panda_hand_tcp'
    np.testing.assert_allclose(panda.camera.pose[:3, 2], [0, np.cos(np.radians(16)),
                                                          -np.sin(np.radians(16))], atol=1e-12)
    base = np.linalg.inv(panda.table.pose)
    np.testing.assert_allclose(base[:3, 3], [-0.35, -0.40, 0.0], atol=0.01)
    assert panda.camera.depth_scale_m == 0.001
    assert panda.table.column_x_m(5) == pytest.approx((-0.18, -0.09, 0.0, 0.09, 0.18))


def test_arms_stand_soon_after_they_begin_to_brake(robots):
    published = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])  # Franka: joint limits
    assert (robots['panda'].arm.stop_acceleration <= published).all()
    for robot in robots.values():
        arm = robot.arm
        assert (arm.max_velocity <= BRAKING_S * arm.stop_acceleration + 1e-12).all()
        assert (arm.max_acceleration < arm.stop_acceleration).all()


def test_the_template_explains_every_field():
    text = (ROBOTS / 'panda.yaml').read_text()
    explained = '\n'.join(line.partition('#')[2] for line in text.splitlines())
    assert 'xyz' in explained and 'rpy_deg' in explained and 'quaternion_xyzw' in explained
    for section in ('arm', 'gripper', 'camera', 'table', 'safety'):
        kind = getattr(config, f'{section.title()}Config')
        assert {field.name for field in fields(kind)} == PANDA[section].keys()
    assert {field.name for field in fields(config.HandConfig)} == PANDA['gripper']['hand'].keys()
    bodies = PANDA['safety']['bodies']
    assert {field.name for field in fields(config.BodiesConfig)} == bodies.keys()
    lists = {'pairs': (), 'obstacles': (), 'without_shape': ()}
    assert config.BodiesConfig(**{**bodies, **lists}) == config.BodiesConfig()


@pytest.fixture
def prefixes(tmp_path, monkeypatch):
    """Two prefixes; the first has a robot of its own, both have the panda."""
    for prefix, names in (('one', ('panda', 'mine')), ('two', ('panda', 'ur5e'))):
        folder = tmp_path / prefix / 'share' / 'sightplan_bringup' / 'config' / 'robots'
        folder.mkdir(parents=True)
        for name in names:
            shutil.copy(ROBOTS / 'panda.yaml', folder / f'{name}.yaml')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path / "one"}:/nowhere:{tmp_path / "two"}')
    return tmp_path


def test_installed_robots_are_found_by_name(prefixes):
    assert set(config_files('robots')) == {'panda', 'mine', 'ur5e'}
    assert load_robot('panda').file.is_relative_to(prefixes / 'one')
    assert load_robot('ur5e').file.is_relative_to(prefixes / 'two')
    with pytest.raises(InputError, match="'pando' is unknown; .*did you mean 'panda'"):
        load_robot('pando')


def test_a_path_wins(prefixes, monkeypatch):
    (prefixes / 'panda.yaml').write_text((ROBOTS / 'ur5e.yaml').read_text())
    monkeypatch.chdir(prefixes)
    assert load_robot('panda.yaml').base_frame == 'base_link'
    assert load_robot('panda').base_frame == 'panda_link0'


def test_nothing_is_installed(monkeypatch):
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    with pytest.raises(InputError, match='make build'):
        load_robot('panda')


@pytest.mark.parametrize(('text', 'says'), [
    (None, 'cannot be read'), ('a: [', 'cannot be read'), ('\x00', 'cannot be read'),
    ('[1, 2]', 'must be|is not a robot file'), ('', 'is not a robot file'),
    ('urdf: panda', 'is missing')])
def test_files_that_are_none(tmp_path, text, says):
    file = tmp_path / 'x.yaml'
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        load_robot(str(file))
    assert str(file) in str(caught.value)


MISTAKES = [
    # field, value, what the message must say besides file and field
    ('arm', ..., 'is missing'),
    ('arm', 7, 'must be a mapping'),
    ('camrea', {}, "is not a field here; did you mean 'camera'?"),
    ('arm.max_velocty', 1.0, "is not a field here; did you mean 'max_velocity'?"),
    ('base_frame', 'panda_link00', "no link 'panda_link00'; did you mean"),
    ('base_frame', 'panda_link3', 'moves with the arm'),
    ('tip_frame', 'panda_link5', 'is not moved by panda_joint6, panda_joint7'),
    ('tip_frame', ['x'], 'should be a valid string'),
    ('urdf', 'pandas', "did you mean 'panda'?"),
    ('urdf', 'nothing.urdf', 'there is no file'),
    ('urdf', '~no_such_user/x.urdf', 'home directory'),
    ('urdf', 'robot.xacro/robot.xacro', 'xacro'),
    ('urdf', 'package://no_such_package/x.urdf', 'is no_such_package built'),
    ('urdf', 'package:x', 'package://PACKAGE/PATH'),
    ('urdf', str(ROBOTS / 'panda.yaml'), 'cannot be read'),
    ('arm.joints', 'panda_joint1', 'should be a valid list'),
    ('arm.joints', ['panda_joint1', 'panda_joint9'], "did you mean 'panda_joint"),
    ('arm.joints', ['panda_joint1', 'panda_joint1'], 'twice'),
    ('arm.joints', ['panda_joint2', 'panda_joint1'],
     'from the base to the hand: panda_joint1, panda_joint2'),
    ('arm.lower', [-9] + [-1] * 6, "-9 of panda_joint1 is outside the URDF's limits"),
    ('arm.upper', [9, 1, 1, -1, 1, 1, 1], "9 of panda_joint1 is outside the URDF's limits"),
    ('arm.upper', [-2.86, 1, 1, -1, 1, 1, 1], 'lower: -2.8473 of panda_joint1 is outside'),
    ('arm.max_velocity', 2.3, "2.3 of panda_joint1 is outside the URDF's limits"),
    ('arm.max_velocity', [1.0] * 6, 'has 6 numbers, 7 are needed'),
    ('arm.max_velocity', -1.0, 'from 0.001'),
    ('arm.max_velocity', 'fast', 'should be a valid number'),
    ('arm.max_velocity', [1, 1, 1, '1e-3', 1, 1, 1], 'max_velocity.3: .* valid number'),
    ('arm.max_velocity', float('nan'), 'should be a finite number'),
    ('arm.max_acceleration', 16.0, 'stop_acceleration'),
    ('arm.stop_acceleration', True, 'should be a valid number'),
    ('arm.park', [0, 0, 0, 0, 0, 1, 0], "0 of panda_joint4 is outside the arm's limits"),
    ('arm.ready', [3, 0, 0, -2, 0, 1, 0], "3 of panda_joint1 is outside the arm's limits"),
    ('arm.joint_states', 'joint states', 'not a valid ROS name'),
    ('arm.trajectory_topic', '9lives/x', 'not a valid ROS name'),
    ('arm.trajectory_action', 'a//b', 'not a valid ROS name'),
    ('arm.interface', 'actoin', "should be 'auto', 'topic' or 'action'"),
    ('gripper.joints', [], 'at least 1 item'),
    ('gripper.joint_at_open', 0.0, 'same as joint_at_closed'),
    ('gripper.open_m', 0, 'from 0.001'),
    ('gripper.force_n', '20 N', 'should be a valid number'),
    ('gripper.action', '', 'at least 1 character'),
    ('gripper.hand', 0.1, 'gripper.hand: must be a mapping'),
    ('gripper.hand.half_width_m', 33.0, 'from 0.002 to 0.5'),
    ('gripper.hand.half_with_m', 0.03, "is not a field here; did you mean 'half_width_m'?"),
    ('camera.depth', 'x__y', 'not a valid ROS name'),
    ('camera.depth_scale_m', 1000, 'from 5e-05 to 0.005'),
    ('camera.depth_scale_m', 1.0, 'from 5e-05 to 0.005'),
    ('camera.depth_scale_m', 1e-6, 'from 5e-05 to 0.005'),
    ('camera.pose', [0, 0, 0], 'must be a mapping'),
    ('camera.pose.xyz', [0, 0], 'at least 3 items'),
    ('camera.pose.rpy_deg', ..., 'either rpy_deg'),
    ('camera.pose.quaternion_xyzw', [0, 0, 0, 1], 'either rpy_deg'),
    ('camera.pose', {'xyz': [0, 0, 0], 'quaternion_xyzw': [0, 0, 0.5, 0.5]}, 'length 0.7071'),
    ('camera.pose', {'xyz': [0, 0, 0], 'quaternion_xyzw': [0, 0, 0, 0]}, 'length 0.0000'),
    ('camera.pose', {'xyz': [0, 0, 0], 'rpy': [0, 0, 0]},
     "camera.pose.rpy: is not a field here; did you mean 'rpy_deg'"),
    ('table.spacing_m', 0.07, 'would touch'),
    ('table.max_columns', 2.5, 'should be a valid integer'),
    ('table.max_level', 0, 'from 1'),
    ('safety.box_min_m', [0.4, -0.6, 0.0], 'x is 0.35, but must be more'),
    ('safety.checked_frames', ['panda_hand', 'panda_palm'], "no link 'panda_palm'"),
    ('safety.heartbeat_timeout_s', 0, 'from 0.02'),
    ('safety.checked_frames', ['panda_hand', 'panda_link7'], 'the tip is missing'),
    ('safety.checked_frames', ['panda_hand_tcp', 'panda_link0'], 'panda_link0 does not move'),
    ('safety.checked_points', {'panda_palm': [[0, 0, 0]]}, "no link 'panda_palm'"),
    ('safety.checked_points', {'panda_link0': [[0, 0, 0]]}, 'panda_link0 does not move'),
    ('safety.checked_points', {'panda_hand': [[0, 0]]},
     'panda_hand.0.2: is missing'),
    ('safety.checked_points', {'panda_hand': [[0, 0, 103.4]]},
     'panda_hand.0.2: 103.4: must be from -1 to 1'),
    ('safety.checked_points', {'panda_hand': []}, 'at least 1 item'),
    ('safety.checked_points', [[0, 0, 0]], 'should be a valid dictionary'),
    ('safety.box_min_m', [-750, -600, -12], 'lengths are in metres'),
    ('safety.bodies', {'self_margin_m': 5}, 'from 0 to 0.2'),
    ('safety.bodies', {'pairs': [{'bodies': ['panda_hand', 'panda_palm'], 'margin_m': 0.01}]},
     "no 'panda_palm'; did you mean 'panda_hand'"),
    ('safety.bodies', {'pairs': [{'bodies': ['hand', 'table'], 'margin_m': None}]}, 'say why'),
    ('safety.bodies', {'pairs': [{'bodies': ['hand'], 'margin_m': 0.01}]}, 'at least 2 items'),
    ('safety.bodies', {'obstacles': [{'name': 'table', 'pose': {
        'xyz': [0, 0, 0], 'rpy_deg': [0, 0, 0]}, 'size_m': [1.0, 1.0, 1.0]}]}, "'table' is taken"),
    ('safety.start_tolerance_rad', 0.31, 'from 0.0001 to 0.3'),
    ('safety.tracking_tolerance_rad', 1.0, 'from 0.0001 to 0.3'),
    ('safety.box_max_m', [0.35, 0.35, 0.3], 'arm.park: panda_hand_tcp would be outside'),
    ('arm.ready', [2.2, -0.1, 0, -1.99, 0, 1.89, 1.64], 'ready: .* would be outside'),
    ('arm.stop_acceleration', 14.0, 'braking from it takes 100 ms, at most 70'),
    ('table.pose.rpy_deg', [180.0, 0.0, -49.0], '180 degrees off'),
    ('table.pose.rpy_deg', [0.0, 46.0, -49.0], '46 degrees off'),
    ('gripper.joints', ['panda_finger_joint1', 'no_such_joint'], "no moving joint 'no_such"),
    ('gripper.joint_at_open', 0.05, "0.05 of panda_finger_joint1 is outside the URDF's"),
]


@pytest.mark.parametrize(('field', 'value', 'says'), MISTAKES)
def test_mistakes_name_file_field_and_remedy(tmp_path, field, value, says):
    file = edited(tmp_path, field, value)
    with pytest.raises(InputError, match=says) as caught:
        load_robot(str(file))
    message = str(caught.value)
    assert message.startswith(f'{file}: ')
    assert field.split('.')[0] in message


def test_keys_that_stand_twice_are_refused(tmp_path):
    """YAML alone would take the last one, wherever it stands."""
    file = tmp_path / 'twice.yaml'
    text = (ROBOTS / 'panda.yaml').read_text()
    file.write_text(text + '  box_min_m: [-2.0, -2.0, -2.0]\n')
    with pytest.raises(InputError, match="'box_min_m' stands twice"):
        load_robot(str(file))
    file.write_text(text + 'tip_frame: panda_hand\n')
    with pytest.raises(InputError, match="'tip_frame' stands twice"):
        load_robot(str(file))


def test_what_may_be_left_out_or_short(tmp_path):
    file = edited(tmp_path, 'camera.depth_scale_m', ...)
    assert load_robot(str(file)).camera.depth_scale_m == 0.001
    lower = load_robot(str(edited(tmp_path, 'arm.lower', ...))).arm.lower
    np.testing.assert_allclose(lower[[0, 5]], [-2.8973, -0.0175])
    slow = load_robot(str(edited(tmp_path, 'arm.max_velocity', 0.5)))
    np.testing.assert_array_equal(slow.arm.max_velocity, np.full(7, 0.5))


def test_poses_by_quaternion(tmp_path, panda):
    half = np.radians(-106.0) / 2
    pose = {'xyz': [0.0, -0.8678862142640846, 0.3786670112169271],
            'quaternion_xyzw': [round(float(np.sin(half)), 9), 0, 0,
                                round(float(np.cos(half)), 9)]}
    read = load_robot(str(edited(tmp_path, 'camera.pose', pose))).camera.pose
    np.testing.assert_allclose(read, panda.camera.pose, atol=1e-8)
    np.testing.assert_allclose(read[:3, :3] @ read[:3, :3].T, np.eye(3), atol=1e-12)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_roll_pitch_yaw_is_that_of_urdf(rpy):
    def about(axis, angle):
        return rotation_from_quaternion([*(np.sin(angle / 2) * np.eye(3)[axis]),
                                         np.cos(angle / 2)])

    wanted = about(2, rpy[2]) @ about(1, rpy[1]) @ about(0, rpy[0])
    np.testing.assert_allclose(rotation_from_rpy(rpy), wanted, atol=1e-12)


def test_where_urdfs_are_looked_for(tmp_path, monkeypatch):
    near = tmp_path / 'sub' / 'arm.urdf'
    near.parent.mkdir()
    shutil.copy(URDF, near)
    assert load_robot(str(edited(tmp_path, 'urdf', 'sub/arm.urdf'))).urdf == near
    assert load_robot(str(edited(tmp_path, 'urdf', str(near)))).urdf == near
    share = tmp_path / 'prefix' / 'share' / 'my_arm' / 'urdf'
    share.mkdir(parents=True)
    shutil.copy(URDF, share)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path / "prefix"}')
    found = load_robot(str(edited(tmp_path, 'urdf', 'package://my_arm/urdf/panda.urdf')))
    assert found.urdf == share / 'panda.urdf'


def test_continuous_joints_are_refused(tmp_path):
    text = URDF.read_text().replace('"panda_joint7" type="revolute"',
                                    '"panda_joint7" type="continuous"')
    (tmp_path / 'wheel.urdf').write_text(text)
    with pytest.raises(InputError, match='panda_joint7 is continuous .* make it revolute'):
        load_robot(str(edited(tmp_path, 'urdf', 'wheel.urdf')))


def places(data, above=''):
    for key, value in data.items():
        yield above + key
        if isinstance(value, dict):
            yield from places(value, f'{above}{key}.')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(['panda_link5', 'panda_joint1', '/x', '~', '~nobody/x.urdf', 'a' * 300]),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(
        st.sampled_from(['xyz', 'rpy_deg', 'quaternion_xyzw', 'joints']), inner, max_size=3),
    max_leaves=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60,
          deadline=None)
@given(field=st.sampled_from(sorted(places(PANDA))), value=VALUES)
def test_no_value_breaks_reading(tmp_path, field, value):
    file = edited(tmp_path, field, value)
    with contextlib.suppress(InputError):
        load_robot(str(file))
