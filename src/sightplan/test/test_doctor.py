"""The doctor's checks find what is wrong and say what to do."""

import json
import os
import struct
import subprocess
import sys
from collections import namedtuple

import pytest

from sightplan import cli
from sightplan.commands import doctor
from sightplan.commands.doctor import Check, Site


def site(root=None, *, python=(3, 11, 7), **environ):
    return Site(environ, root, python, trial_timeout_s=600.0)


def scripted(ok, said):
    """A site whose trials all end the same way."""
    class Scripted(Site):
        def trial(self, code):
            return ok, said
    return Scripted


@pytest.mark.parametrize(('version', 'ok'), [((3, 10, 12), False), ((3, 11, 2), True),
                                             ((3, 12, 3), True), ((3, 13, 0), False)])
def test_python(version, ok):
    check = doctor.check_python(site(python=version))
    assert check.ok is ok
    assert check.detail.startswith('.'.join(map(str, version)))
    assert bool(check.remedy) is not ok


@pytest.mark.parametrize(('given', 'ok'), [('', True), ('0', True), ('101', True), ('232', True),
                                           ('233', False), ('-1', False), ('seven', False),
                                           ('²', False), ('٧', False)])
def test_domain_id(given, ok):
    check = doctor.check_domain_id(site(ROS_DOMAIN_ID=given))
    assert check.ok is ok
    assert ok or 'unset' in check.remedy


def test_a_high_domain_id_is_questioned():
    assert 'clash' in doctor.check_domain_id(site(ROS_DOMAIN_ID='150')).remedy


def prefix(folder, *packages):
    index = folder / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for package in packages:
        (index / package).touch()
    return folder


def test_first_prefix_counts(tmp_path):
    first = prefix(tmp_path / 'first', 'rclpy')
    second = prefix(tmp_path / 'second', 'rclpy', 'ros2launch')
    place = site(AMENT_PREFIX_PATH=os.pathsep.join(map(str, ('', '/nowhere', first, second))))
    assert place.prefixes() == {'rclpy': first, 'ros2launch': second}
    assert doctor.check_launch(place).detail == 'ros2 launch is there'
    assert 'sightplan up' in doctor.check_launch(site()).detail


def test_workspace_not_built(tmp_path):
    folder = prefix(tmp_path, 'sightplan', 'sightplan_sim')
    check = doctor.check_workspace(site(AMENT_PREFIX_PATH=str(folder)))
    assert not check.ok
    assert 'sightplan_interfaces' in check.detail
    assert 'sightplan_sim' not in check.detail
    assert 'colcon build' in check.remedy
    (tmp_path / 'Makefile').touch()
    place = site(tmp_path, AMENT_PREFIX_PATH=str(folder))
    assert f"'make build' in {tmp_path}" in doctor.check_workspace(place).remedy


def test_stale_interfaces_without_make(tmp_path):
    """By contents: a checkout or an image has other times than what was built."""
    package = tmp_path / 'src' / 'sightplan_interfaces'
    for kind, text in (('msg', 'string name'), ('srv', 'string name\n---'),
                       ('action', '---\nbool well\n---')):
        (package / kind).mkdir(parents=True)
        (package / kind / f'TwoWords.{kind}').write_text(f'{text}\n')
    source = package / 'msg' / 'TwoWords.msg'
    here = Site(os.environ, tmp_path, (3, 11, 7))
    built = tmp_path / 'share' / 'sightplan_interfaces'
    assert doctor._stale_interfaces(here, tmp_path) == [
        'TwoWords.action', 'TwoWords.msg', 'TwoWords.srv']
    make = ('import sys; from pathlib import Path; from rosidl_adapter import convert_to_idl\n'
            'for kind in ("msg", "srv", "action"):\n'
            '    convert_to_idl(Path(sys.argv[1]), "sightplan_interfaces",'
            ' Path(f"{kind}/TwoWords.{kind}"), Path(sys.argv[2]))')
    subprocess.run([sys.executable, '-c', make, str(package), str(built)], check=True,
                   capture_output=True)
    os.utime(source, (2**31, 2**31))
    assert doctor._stale_interfaces(here, tmp_path) == []
    source.write_text('string name\nbool well\n')
    assert doctor._stale_interfaces(here, tmp_path) == ['TwoWords.msg']
    assert doctor._stale_interfaces(site(), tmp_path) == []


def test_stale_build_by_make(tmp_path):
    (tmp_path / 'install').mkdir()
    (tmp_path / 'install' / '.built-1').touch()
    (tmp_path / 'Makefile').write_text('build:\n\t@echo ready\n')
    assert doctor._stale_interfaces(site(tmp_path), tmp_path) == []
    (tmp_path / 'Makefile').write_text('build:\n\tscripts/build.sh\n')
    assert doctor._stale_interfaces(site(tmp_path), tmp_path) == ['the last make build']


def test_transport_profile_is_missing(tmp_path):
    missing = tmp_path / 'gone.xml'
    check = doctor.check_transport(site(FASTRTPS_DEFAULT_PROFILES_FILE=str(missing)))
    assert not check.ok
    assert str(missing) in check.detail


def test_transport_chosen_by_the_user(tmp_path):
    profile = tmp_path / 'mine.xml'
    profile.touch()
    check = doctor.check_transport(site(FASTRTPS_DEFAULT_PROFILES_FILE=str(profile)))
    assert check.ok
    assert str(profile) in check.detail
    check = doctor.check_transport(site(ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST'))
    assert check.ok
    assert 'may be lost' in check.remedy


def test_ros_reports_a_foreign_middleware(tmp_path):
    folder = prefix(tmp_path, 'rclpy')
    environ = {'AMENT_PREFIX_PATH': str(folder), 'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp',
               'ROS_DISTRO': 'jazzy'}
    check = doctor.check_ros(scripted(False, 'rcl error 102')(environ, None))
    assert not check.ok
    assert 'unset RMW_IMPLEMENTATION' in check.remedy
    (tmp_path / 'setup.sh').touch()  # a real installation may well have that middleware
    check = doctor.check_ros(scripted(False, 'rcl error 102')(environ, None))
    assert 'rcl error 102' in check.detail


def test_ros_of_another_distribution(tmp_path):
    environ = {'AMENT_PREFIX_PATH': str(prefix(tmp_path, 'rclpy')), 'ROS_DISTRO': 'humble'}
    check = doctor.check_ros(scripted(True, 'rmw_fastrtps_cpp')(environ, None))
    assert not check.ok
    assert 'Jazzy' in check.remedy


def test_ros_is_missing():
    said = "ModuleNotFoundError: No module named 'rclpy'"
    check = doctor.check_ros(scripted(False, said)({}, None))
    assert not check.ok
    assert '/opt/ros/jazzy' in check.remedy


def test_a_library_is_not_asked_for_ros(monkeypatch):
    monkeypatch.setattr(doctor.importlib.util, 'find_spec', lambda name: None)
    assert site().is_library and not site('/a/checkout').is_library
    assert not site(ROS_DISTRO='jazzy').is_library
    monkeypatch.setattr(Site, 'trial', lambda self, code: (True, 'well'))
    found = doctor.run_checks(site())
    assert 'none' in found[1].detail and found[1].name == 'ros' and found[1].ok
    assert not {check.name for check in found} & {'workspace', 'transport', 'security'}
    assert len(found) == len(doctor.CHECKS) - len(doctor.OF_ROS)
    absent = {check.name: check for check in found if check.name in doctor.BROUGHT_BY}
    assert {*absent} == {*doctor.BROUGHT_BY}
    assert all(check.ok and check.remedy == f'pip install {doctor.BROUGHT_BY[name]}'
               for name, check in absent.items())


def test_a_library_without_torch_is_told_the_extra(monkeypatch):
    monkeypatch.setattr(doctor.importlib.util, 'find_spec', lambda name: None)
    lacking = scripted(False, "ModuleNotFoundError: No module named 'torch'")
    check = doctor.check_torch(lacking({}, None))
    assert check.ok and 'sightplan_models[torch]' in check.remedy
    assert not doctor.check_torch(lacking({'ROS_DISTRO': 'jazzy'}, None)).ok


def test_the_node_of_doctor_needs_no_keys():
    class Kept(Site):
        def trial(self, code):
            return self.environ['ROS_SECURITY_ENABLE'] == 'false', 'rmw_fastrtps_cpp'
    assert doctor.check_ros(Kept({'ROS_SECURITY_ENABLE': 'true', 'ROS_DISTRO': 'jazzy'}, None)).ok


LACKS = "error creating node: This Fast DDS version doesn't have the security libraries"


@pytest.mark.parametrize(('said', 'given', 'ok', 'words'), [
    (LACKS, {}, True, 'has no security (SROS 2); traffic stays on the loopback device'),
    (LACKS, {'ENABLE': 'true', 'STRATEGY': 'Enforce'}, False, 'has no security'),
    ('made', {}, True, 'possible'),
    ('made', {'ENABLE': 'false'}, True, 'possible'),
    ('no keys', {'ENABLE': 'true'}, False, 'is not Enforce'),
    ('no keys', {'ENABLE': 'true', 'STRATEGY': 'Permissive'}, False, 'is not Enforce'),
    ('no keys', {'ENABLE': 'true', 'STRATEGY': 'Enforce', 'KEYSTORE': '/gone'}, False,
     '/gone is no keystore'),
    ('no keys', {'ENABLE': 'true', 'STRATEGY': 'Enforce', 'KEYSTORE': ''}, False, 'no keystore')])
def test_security(said, given, ok, words):
    environ = {f'ROS_SECURITY_{name}': value for name, value in given.items()}
    check = doctor.check_security(scripted(True, said)(environ, None))
    assert check.ok is ok and words in check.detail
    assert bool(check.remedy) is not ok


def test_security_that_is_enforced(tmp_path):
    (tmp_path / 'enclaves').mkdir()
    check = doctor.check_security(scripted(True, 'no keys')({
        'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path)}, None))
    assert check.ok and str(tmp_path) in check.detail


def test_security_of_this_machine():
    """The wheels have none; an installation of ROS 2 has, and then misses the keys."""
    check = doctor.check_security(Site.here())
    assert check.ok, check
    assert check.detail.startswith(('this middleware has no security', 'off ('))


@pytest.mark.parametrize(('said', 'ok'), [('3.2.7 1', True), ('3.2.7 0', False)])
def test_simulator_needs_numpy_support(said, ok):
    check = doctor.check_simulator(scripted(True, said)({}, None))
    assert check.ok is ok
    assert ok or '--no-build-isolation' in check.remedy


@pytest.mark.parametrize(('ok', 'said', 'remedy'), [
    (True, '4.1.0', ''),
    (False, "AttributeError: module 'pinocchio' has no attribute 'buildSampleModelManipulator'",
     'pip install pin'),
    (False, "ModuleNotFoundError: No module named 'pinocchio'", 'requirements')])
def test_kinematics_need_the_right_library(ok, said, remedy):
    check = doctor.check_kinematics(scripted(ok, said)({}, None))
    assert check.ok is ok
    assert said in check.detail
    assert remedy in check.remedy and bool(check.remedy) is bool(remedy)


def test_kinematics_of_this_machine():
    check = doctor.check_kinematics(Site(os.environ, None, trial_timeout_s=600.0))
    assert check.ok, check


def test_gpu(tmp_path):
    said = 'torch 2.13.0, transformers 5.23.0, no GPU'
    assert doctor.check_torch(scripted(True, said)({'PATH': str(tmp_path)}, None)).remedy == ''
    tool = tmp_path / 'nvidia-smi'
    tool.touch(mode=0o755)
    check = doctor.check_torch(scripted(True, said)({'PATH': str(tmp_path)}, None))
    assert check.ok
    assert 'driver' in check.remedy


def test_trial_tells_output_error_and_time():
    place = Site(os.environ, None, trial_timeout_s=600.0)
    assert place.trial('print(1); print(2)') == (True, '2')
    ok, said = place.trial('raise ValueError("broken")')
    assert (ok, said) == (False, 'ValueError: broken')
    assert Site(os.environ, None, trial_timeout_s=0.01).trial('while True: pass') == (
        False, 'no end within 0 s')


def complete_model(folder):
    for name in ('config.json', 'tokenizer.json', 'processor_config.json'):
        (folder / name).write_text('{}')
    (folder / 'model.safetensors').write_bytes(struct.pack('<Q', 2) + b'{}' + b'\0' * 16)


@pytest.mark.parametrize('name', ['config.json', 'tokenizer.json', 'processor_config.json',
                                  'model.safetensors'])
def test_model_folder(tmp_path, name):
    complete_model(tmp_path)
    assert doctor.check_model_folder(tmp_path).ok
    (tmp_path / name).unlink()
    check = doctor.check_model_folder(tmp_path)
    assert not check.ok
    assert name in check.detail
    assert 'make train' in check.remedy


def test_model_weights_that_are_only_a_pointer(tmp_path):
    complete_model(tmp_path)
    (tmp_path / 'model.safetensors').write_text('version https://example.org/spec/v1\n')
    check = doctor.check_model_folder(tmp_path)
    assert not check.ok
    assert 'no safetensors file' in check.detail


@pytest.mark.parametrize('check', [doctor.check_shared_memory, doctor.check_disk])
def test_room(monkeypatch, check):
    usage = namedtuple('usage', 'free')
    monkeypatch.setattr(doctor.shutil, 'disk_usage', lambda folder: usage(64 * doctor.MIB))
    found = check(site())
    assert not found.ok
    assert found.remedy
    monkeypatch.setattr(doctor.shutil, 'disk_usage', lambda folder: usage(4096 * doctor.MIB))
    assert check(site()).ok


def check_that_breaks(place):
    raise RuntimeError('no way')


def test_a_check_that_breaks_is_a_failed_check(monkeypatch):
    monkeypatch.setattr(doctor, 'CHECKS', (check_that_breaks, doctor.check_python))
    first, second = doctor.run_checks(site())
    assert (first.name, first.ok, first.detail) == ('that breaks', False, 'RuntimeError: no way')
    assert second.ok


@pytest.mark.parametrize('ok', [True, False])
def test_command(monkeypatch, capsys, ok):
    monkeypatch.setattr(doctor, 'run_checks', lambda: [
        Check('one', True, 'fine'), Check('two', ok, 'broken', 'fix it')])
    assert cli.main(['doctor']) == (0 if ok else 1)
    text = capsys.readouterr().out
    assert '-> fix it' in text
    assert ('all is well' in text) is ok
    assert cli.main(['doctor', '--json']) == (0 if ok else 1)
    result = json.loads(capsys.readouterr().out)
    assert result['ok'] is ok
    assert result['checks'][1]['remedy'] == 'fix it'


def test_here_is_this_checkout():
    place = Site.here()
    assert place.root is not None
    assert (place.root / 'Makefile').is_file()


def test_every_failure_says_what_to_do():
    for check in doctor.run_checks(scripted(False, 'broken')({}, None)):
        assert check.ok or check.remedy, check


def test_a_package_that_cannot_be_loaded_has_a_line_of_its_own(tmp_path):
    for name, text in (('stranger_sick', 'import nosuchmodule'), ('stranger_half', 'x = 1'),
                       ('stranger_worse', 'raise SystemExit(3)')):
        info = tmp_path / f'{name}-1.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 1\n')
        (info / 'entry_points.txt').write_text(f'[sightplan.backends]\n{name} = {name}\n')
        (tmp_path / f'{name}.py').write_text(text)
    path = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    found = doctor.check_plugins(site(**{**os.environ, 'PYTHONPATH': path}))
    assert [(check.name, check.ok) for check in found] == [('plugins', False)] * 3
    details = sorted(check.detail for check in found)
    assert 'has no class Settings' in details[0] and 'nosuchmodule' in details[1]
    assert 'stranger_worse' in details[2] and all(check.remedy for check in found)
    well, = doctor.check_plugins(site(**os.environ))
    assert well.ok and 'entry points' in well.detail
