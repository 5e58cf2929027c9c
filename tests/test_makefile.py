"""The Makefile installs and builds when something has changed, and only then."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ('sh', 'make', 'cat', 'sha256sum', 'cut', 'ls', 'find', 'sort', 'awk', 'rm', 'touch',
         'mkdir', 'uname', 'dirname', 'pwd', 'grep', 'chmod')


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose scripts only write down that they ran."""
    shutil.copy(ROOT / 'Makefile', tmp_path)
    shutil.copytree(ROOT / 'requirements', tmp_path / 'requirements')
    (tmp_path / 'scripts').mkdir()
    for name in ('pip_ros_fix.cmake', 'pip_install.sh'):
        shutil.copy(ROOT / 'scripts' / name, tmp_path / 'scripts')
    for name, folder in (('venv', '.venv'), ('build', 'install')):
        script = tmp_path / 'scripts' / f'{name}.sh'
        script.write_text(f'#!/bin/sh\nmkdir -p {folder}\necho {name} >> ran\n')
        script.chmod(0o755)
    files = {'src/sightplan_interfaces/msg/Atom.msg': 'string name\n',
             'src/sightplan_interfaces/srv/Ask.srv': '---\n',
             'src/sightplan_interfaces/action/Do.action': '---\n---\n',
             'src/sightplan_interfaces/CMakeLists.txt': '', 'src/sightplan_nodes/setup.cfg': '',
             'src/sightplan_nodes/package.xml': '<package/>', 'src/sightplan_nodes/setup.py': '',
             'src/sightplan_nodes/sightplan_nodes/agent.py': '', 'colcon.meta': '{}',
             'launch/experiment.launch.py': '', 'config/values.yaml': ''}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def build(folder):
    """What "make build" ran."""
    (folder / 'ran').write_text('')
    subprocess.run(['make', '--no-print-directory', 'build'], cwd=folder, check=True,
                   capture_output=True, env={'PATH': os.environ['PATH']})
    return (folder / 'ran').read_text().split()


def test_second_call_does_nothing(checkout):
    assert build(checkout) == ['venv', 'build']
    assert build(checkout) == []


@pytest.mark.parametrize('name', ['src/sightplan_nodes/sightplan_nodes/agent.py',
                                  'launch/experiment.launch.py', 'config/values.yaml'])
def test_linked_files_need_no_build(checkout, name):
    build(checkout)
    (checkout / name).write_text('# edited\n')
    assert build(checkout) == []


@pytest.mark.parametrize('name', [
    'src/sightplan_interfaces/msg/Atom.msg', 'src/sightplan_interfaces/srv/Ask.srv',
    'src/sightplan_interfaces/action/Do.action', 'src/sightplan_interfaces/CMakeLists.txt',
    'src/sightplan_nodes/package.xml', 'src/sightplan_nodes/setup.py',
    'src/sightplan_nodes/setup.cfg', 'colcon.meta', 'scripts/pip_ros_fix.cmake'])
def test_manifests_and_interfaces_need_a_build(checkout, name):
    build(checkout)
    (checkout / name).write_text((checkout / name).read_text() + '\n')
    assert build(checkout) == ['build']
    assert build(checkout) == []


@pytest.mark.parametrize('name', ['src/sightplan_interfaces/msg/New.msg',
                                  'launch/other.launch.py', 'config/graphs/other.yaml'])
def test_files_that_come_and_go_need_a_build(checkout, name):
    build(checkout)
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).touch()
    assert build(checkout) == ['build']
    (checkout / name).unlink()
    assert build(checkout) == ['build']


@pytest.mark.parametrize('name', ['requirements/wheels.txt', 'requirements/hashes.txt',
                                  'scripts/venv.sh', 'scripts/pip_install.sh'])
def test_a_new_lock_is_installed_and_built_on(checkout, name):
    build(checkout)
    with (checkout / name).open('a') as file:
        file.write('# new\n')
    assert build(checkout) == ['venv', 'build']


def test_a_failed_step_is_taken_again(checkout):
    script = checkout / 'scripts' / 'build.sh'
    text = script.read_text()
    script.write_text(f'{text}exit 1\n')
    with pytest.raises(subprocess.CalledProcessError):
        build(checkout)
    script.write_text(text)
    assert build(checkout) == ['build']


def test_help_names_every_target():
    done = subprocess.run(['make', '--no-print-directory'], cwd=ROOT, capture_output=True,
                          text=True, check=True, env={'PATH': os.environ['PATH']})
    listed = {line.split()[1] for line in done.stdout.splitlines()}
    assert {'demo', 'test', 'test-all', 'docs', 'bench', 'build', 'lint', 'help'} <= listed
    phony = next(line for line in (ROOT / 'Makefile').read_text().splitlines()
                 if line.startswith('.PHONY:'))
    assert listed == set(phony.split()[1:])


def test_continuous_integration_runs_every_test_once():
    """Both commands, their tests apart, all that need no GPU together."""
    done = subprocess.run([ROOT / '.ci' / 'run', '-n'], capture_output=True, text=True, check=True,
                          env={'PATH': os.environ['PATH']})
    runs = re.findall(r"python -m pytest .*-m '(.*?)'", done.stdout)
    assert runs == ['not slow and not live', 'slow and not live']


def venv_script(folder, *, tools=(*TOOLS, 'g++'), python='', **environ):
    """Run scripts/venv.sh in an empty checkout, with few programs and a python3.11 that prints."""
    (folder / 'scripts').mkdir()
    shutil.copy(ROOT / 'scripts' / 'venv.sh', folder / 'scripts')
    programs = folder / 'programs'
    programs.mkdir()
    for tool in tools:
        (programs / tool).symlink_to(shutil.which(tool))
    if python:
        (programs / 'python3.11').write_text(f'#!/bin/sh\necho "{python}"\n')
        (programs / 'python3.11').chmod(0o755)
    done = subprocess.run([folder / 'scripts' / 'venv.sh'], capture_output=True, text=True,
                          env={'PATH': str(programs), **environ})
    assert done.returncode == 1
    assert not (folder / '.venv').exists()
    return done.stderr


def test_no_compiler(tmp_path):
    assert 'apt install g++' in venv_script(tmp_path, tools=TOOLS)


def test_no_python(tmp_path):
    message = venv_script(tmp_path)
    assert 'apt install python3 python3-venv python3-dev' in message


@pytest.mark.parametrize('lack', ['has no venv module: apt install python3.11-venv',
                                  'has no C headers: apt install python3.11-dev'])
def test_python_that_lacks_something(tmp_path, lack):
    message = venv_script(tmp_path, python=lack)
    assert f'python3.11 {lack}' in message


def test_python_of_another_version(tmp_path):
    script = tmp_path / 'python'
    script.write_text('#!/bin/sh\nexit 1\n')
    script.chmod(0o755)
    message = venv_script(tmp_path, PYTHON=str(script))
    assert f'{script} does not run' in message


def test_environment_that_was_moved(tmp_path):
    bin_folder = tmp_path / '.venv' / 'bin'
    bin_folder.mkdir(parents=True)
    (bin_folder / 'python').write_text('#!/bin/sh\nexit 0\n')
    (bin_folder / 'python').chmod(0o755)
    (bin_folder / 'activate-ros').write_text("SIGHTPLAN_ROOT='/elsewhere'\n")
    (tmp_path / 'scripts').mkdir()
    shutil.copy(ROOT / 'scripts' / 'venv.sh', tmp_path / 'scripts')
    done = subprocess.run([tmp_path / 'scripts' / 'venv.sh'], capture_output=True, text=True,
                          env={'PATH': os.environ['PATH']})
    assert done.returncode == 1
    assert 'make distclean' in done.stderr


def test_an_installation_beside_an_environment_with_its_own_ros(tmp_path):
    bin_folder = tmp_path / '.venv' / 'bin'
    bin_folder.mkdir(parents=True)
    (bin_folder / 'python').write_text('#!/bin/sh\nexit 0\n')
    (bin_folder / 'python').chmod(0o755)
    (tmp_path / 'scripts').mkdir()
    shutil.copy(ROOT / 'scripts' / 'venv.sh', tmp_path / 'scripts')
    ros = tmp_path / 'jazzy'
    (ros / 'share' / 'rclpy').mkdir(parents=True)
    (ros / 'share' / 'rclpy' / 'package.xml').touch()
    (ros / 'setup.sh').touch()
    done = subprocess.run([tmp_path / 'scripts' / 'venv.sh'], capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'ROS_DISTRO': 'jazzy',
                               'AMENT_PREFIX_PATH': f'{tmp_path}/overlay:{ros}'})
    assert done.returncode == 1
    assert f'sourced from {ros}' in done.stderr
    assert 'make distclean' in done.stderr
