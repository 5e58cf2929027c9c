"""scripts/env.sh: one environment for every shell, whatever was set before."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENV = ROOT / 'scripts' / 'env.sh'
VENV = ROOT / '.venv'
SHELLS = [shell for shell in ('sh', 'bash', 'zsh') if shutil.which(shell)]
WHEELS = not (VENV / 'ros-prefix').exists()
PATHS = ('PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH')


def source(script, *, shell='bash', cwd='/', twice=False, **given):
    """The variables that sourcing a script leaves, starting from nothing but the given ones."""
    command = f'. {script} || exit 9; ' * (2 if twice else 1) + 'env -0'
    done = subprocess.run([shutil.which(shell), '-c', command], cwd=cwd, env=given,
                          capture_output=True, text=True)
    if done.returncode:
        return done.returncode, done.stderr
    return dict(line.split('=', 1) for line in done.stdout.split('\0') if '=' in line)


@pytest.mark.parametrize('shell', SHELLS)
def test_same_in_every_shell_from_anywhere(shell):
    found = source(VENV / 'bin' / 'activate-ros', shell=shell, PATH=os.defpath)
    expected = source(ENV, shell='bash', PATH=os.defpath)
    for name in (*PATHS, 'FASTRTPS_DEFAULT_PROFILES_FILE', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        assert found.get(name) == expected.get(name), name
    assert found['SIGHTPLAN_ROOT'] == str(ROOT)
    assert found['PATH'].split(':')[0] == str(VENV / 'bin')


def test_plain_shell_from_the_root():
    assert source('scripts/env.sh', shell='sh', cwd=ROOT)['SIGHTPLAN_ROOT'] == str(ROOT)


def test_every_package_can_be_found():
    prefixes = source(ENV)['AMENT_PREFIX_PATH'].split(':')
    for package in (ROOT / 'src').glob('*/package.xml'):
        name = package.parent.name
        assert any(Path(prefix, 'share', name, 'package.xml').is_file() for prefix in prefixes)


def test_launch_and_config_stay_links():
    share = ROOT / 'install' / 'sightplan_bringup' / 'share' / 'sightplan_bringup'
    for folder in ('launch', 'config'):
        files = [file for file in (ROOT / folder).rglob('*')
                 if file.is_file() and '__pycache__' not in file.parts]
        assert files
        for file in files:
            installed = share / folder / file.relative_to(ROOT / folder)
            assert installed.is_symlink()
            assert installed.samefile(file)


def test_sourcing_twice_adds_nothing():
    assert {name: source(ENV, twice=True).get(name) for name in PATHS} == {
        name: source(ENV).get(name) for name in PATHS}


def test_nothing_is_left_behind():
    before = {'PATH': os.defpath}
    done = subprocess.run(['bash', '-c', f'. {ENV}; set; declare -F'], env=before, text=True,
                          capture_output=True, check=True)
    left = [line for line in done.stdout.splitlines()
            if line.startswith(('_sp_', 'declare -f _sp_')) and line != '_sp_status=0']
    assert left == []


def test_values_of_the_user_are_kept():
    given = {'ROS_DOMAIN_ID': '42', 'PYTHONPATH': '/mine/python', 'LD_LIBRARY_PATH': '/mine/lib',
             'PATH': '/mine/bin:/usr/bin:/bin', 'ROS_LOG_DIR': '/mine/log', 'HOME': '/mine'}
    found = source(ENV, **given)
    for name in ('ROS_DOMAIN_ID', 'ROS_LOG_DIR', 'HOME'):
        assert found[name] == given[name]
    for name in ('PYTHONPATH', 'LD_LIBRARY_PATH', 'PATH'):
        assert found[name].endswith(f':{given[name]}'), name


@pytest.mark.parametrize('given', [
    {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
    {'FASTRTPS_DEFAULT_PROFILES_FILE': '/mine.xml'},
    {'FASTDDS_DEFAULT_PROFILES_FILE': '/mine.xml'},
])
def test_transport_of_the_user_is_kept(given):
    found = source(ENV, **given)
    names = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE',
             'FASTDDS_DEFAULT_PROFILES_FILE')
    assert {name: found[name] for name in names if name in found} == given


def test_transport_stays_on_this_machine():
    found = source(ENV)
    profile = Path(found['FASTRTPS_DEFAULT_PROFILES_FILE'])
    assert profile == ROOT / 'config' / 'fastdds_loopback.xml'
    text = profile.read_text()
    assert '<address>127.0.0.1</address>' in text
    assert '<useBuiltinTransports>false</useBuiltinTransports>' in text
    assert found['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    other = source(ENV, RMW_IMPLEMENTATION='rmw_cyclonedds_cpp')
    assert 'FASTRTPS_DEFAULT_PROFILES_FILE' not in other
    assert other['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'


def a_workspace(folder):
    """A folder that looks like a built workspace."""
    (folder / 'scripts').mkdir(parents=True)
    shutil.copy(ENV, folder / 'scripts' / 'env.sh')
    (folder / '.venv' / 'bin').mkdir(parents=True)
    (folder / '.venv' / 'bin' / 'python').touch(mode=0o755)
    (folder / 'install').mkdir()
    (folder / 'install' / 'local_setup.sh').touch()
    (folder / 'config').mkdir()
    (folder / 'config' / 'fastdds_loopback.xml').touch()
    return folder


@pytest.mark.parametrize(('missing', 'remedy'), [
    ('config/fastdds_loopback.xml', 'git checkout'),
    ('.venv/bin/python', 'make build'),
    ('install/local_setup.sh', 'make build'),
])
def test_what_is_missing_is_told(tmp_path, missing, remedy):
    workspace = a_workspace(tmp_path / 'work space')
    script = f'"{workspace}/scripts/env.sh"'
    assert source(script)['SIGHTPLAN_ROOT'] == str(workspace)
    (workspace / missing).unlink()
    code, message = source(script)
    assert code == 9
    assert remedy in message


def test_an_installation_that_is_gone(tmp_path):
    workspace = a_workspace(tmp_path)
    (workspace / '.venv' / 'ros-prefix').write_text(f'{tmp_path}/opt/ros/jazzy\n')
    code, message = source(workspace / 'scripts' / 'env.sh')
    assert code == 9
    assert 'make distclean' in message


def test_an_installation_is_sourced_when_it_is_not_yet(tmp_path):
    workspace = a_workspace(tmp_path)
    ros = tmp_path / 'ros'
    ros.mkdir()
    (ros / 'setup.sh').write_text('export ROS_DISTRO=jazzy SOURCED=yes\n')
    (workspace / '.venv' / 'ros-prefix').write_text(f'{ros}\n')
    script = workspace / 'scripts' / 'env.sh'
    found = source(script)
    assert found['SOURCED'] == 'yes'
    assert '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in found
    assert 'SOURCED' not in source(script, ROS_DISTRO='jazzy')


def test_command_needs_no_environment():
    done = subprocess.run([VENV / 'bin' / 'sightplan', '--version'], cwd='/', env={},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('sightplan ')


@pytest.mark.skipif(not WHEELS, reason='ROS 2 is installed on this machine')
def test_ros_starts_without_a_home():
    environ = source(ENV)
    assert environ['_ROS_WHEELS_BOOTSTRAP_COMPLETE'] == '1'
    code = ('import rclpy; from sightplan_interfaces.msg import Atom; rclpy.init(); '
            'node = rclpy.create_node("sightplan_test"); node.create_publisher(Atom, "atoms", 1); '
            'node.destroy_node(); rclpy.shutdown(); print("started")')
    done = subprocess.run(['python', '-c', code], cwd='/', capture_output=True, text=True,
                          env={**environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'})
    assert done.stdout.strip() == 'started', done.stderr


def test_the_command_takes_nothing_from_the_folder_it_is_called_in(tmp_path):
    for name in ('yaml', 'json', 'numpy'):
        (tmp_path / f'{name}.py').write_text('raise SystemExit("taken from the folder")\n')
    done = subprocess.run([VENV / 'bin' / 'sightplan', 'problems', 'list'], cwd=tmp_path,
                          env={'PATH': os.defpath}, capture_output=True, text=True)
    assert done.returncode == 0 and 'blocksworld simple' in done.stdout, done.stderr


def test_nobody_reading_on_is_no_error():
    done = subprocess.run(f'{VENV}/bin/sightplan problems list | head -1', shell=True,
                          env={'PATH': os.defpath}, capture_output=True, text=True)
    assert done.stdout.startswith('blocksworld') and not done.stderr
