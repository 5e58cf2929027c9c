"""Manifests, set-up files and locks tell the truth about the code."""

import importlib.metadata
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import rooms

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / 'src'
PACKAGES = sorted(file.parent.name for file in SRC.glob('*/package.xml'))
PYTHON_PACKAGES = sorted(file.parent.name for file in SRC.glob('*/setup.py'))
WHEELS = ('sightplan', 'sightplan_models', 'sightplan_belief', 'sightplan_suites',
          'sightplan_report', 'sightplan_arm', 'sightplan_sim')
LOCKS = ('wheels.txt', 'jazzy.txt')
CONSTRAINTS = 'cuda.txt'
EXTRAS = 'extras.txt'

ROSDEP = {
    '_pytest': 'python3-pytest',
    # import: rosdep key; the others (ROS packages and our own) are keys themselves
    'PIL': 'python3-pil',
    'scipy': 'python3-scipy',
    'cv2': 'python3-opencv',
    'hypothesis': 'python3-hypothesis',
    'jinja2': 'python3-jinja2',
    'matplotlib': 'python3-matplotlib',
    'numpy': 'python3-numpy',
    'openai': 'python3-openai-pip',
    'pybullet': 'python3-pybullet-pip',
    'pybullet_data': 'python3-pybullet-pip',
    'pydantic': 'python3-pydantic',
    'pytest': 'python3-pytest',
    'rich': 'python3-rich',
    'rosbags': 'python3-rosbags-pip',
    'shapely': 'python3-shapely',
    'torch': 'python3-pytorch-pip',
    'transformers': 'python3-transformers-pip',
    'unified_planning': 'python3-unified-planning-pip',
    'yaml': 'python3-yaml',
}
WITHOUT_KEY = {
    # import: its name on the Python index; there is no rosdep key, the locks have it
    'backports': 'backports-zstd',
    'clingo': 'clingo',
    'coal': 'coal',
    'fastapi': 'fastapi',
    'uvicorn': 'uvicorn',
    'gguf': 'gguf',
    'xllamacpp': 'xllamacpp',
    'driver': 'up-fast-downward',  # a folder inside it
    'fast_downward': 'fast-downward-translate',
    'lz4': 'lz4',
    'ompl': 'ompl',
    'ortools': 'ortools',
    'pinocchio': 'pin',
    'playwright': 'playwright',
    'pyarrow': 'pyarrow',
    'safetensors': 'safetensors',
    'tokenizers': 'tokenizers',
    'up_fast_downward': 'up-fast-downward',
}
ON_INDEX = {
    # import: its name on the Python index, where that is another one and there is a rosdep key
    'PIL': 'pillow', 'cv2': 'opencv-python-headless', 'pybullet_data': 'pybullet',
    'unified_planning': 'unified-planning', 'yaml': 'PyYAML'}
OPTIONAL = {'ray': 'ray', 'rerun': 'rerun-sdk'}  # import: its name on the Python index; extras
TRIED = {'torchvision'}  # imported only to see whether one that is there fits; never asked for
BROUGHT = {'lz4', 'backports-zstd', 'fast-downward-translate'}
"""Distributions that come with another one that is asked for: rosbags, up-fast-downward."""
IN_EXTRAS = {
    # package: distributions that its modules import and that its extras bring
    'sightplan': {'rich'},
    'sightplan_models': {'fastapi', 'openai', 'safetensors', 'tokenizers', 'torch',
                         'transformers', 'uvicorn'},
    'sightplan_suites': {'matplotlib', 'sightplan_report'},
    'sightplan_sim': {'sightplan_suites'},
}
NOT_IMPORTED = {
    # package: what its manifest declares although no module imports it
    'sightplan_nodes': {'sightplan_sim', 'sightplan_models'},  # found by entry points
}


def manifest(package):
    return ElementTree.parse(SRC / package / 'package.xml').getroot()


def dependencies(package, *tags):
    return {element.text for tag in tags for element in manifest(package).findall(tag)}


def third_party(folder, root):
    """Top-level names imported under a folder, the standard library's left out."""
    local = {file.stem for near in (folder, ROOT / 'training') for file in near.glob('*.py')
             if not (near / '__init__.py').exists()}
    return {item.target.partition('.')[0] for file in folder.rglob('*.py')
            for item in rooms.imports_of(file, root)} - rooms.STDLIB - local - TRIED


def locked(lock):
    lines = (ROOT / 'requirements' / lock).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(('#', '-c '))]


def locked_names(lock):
    return {line.partition('==')[0] for line in locked(lock)}


def test_the_workspace_has_the_packages_of_the_design():
    assert PACKAGES == [
        'sightplan', 'sightplan_arm', 'sightplan_belief', 'sightplan_bench', 'sightplan_bringup',
        'sightplan_interfaces', 'sightplan_models', 'sightplan_nodes', 'sightplan_report',
        'sightplan_sim', 'sightplan_suites']


@pytest.mark.parametrize('package', PACKAGES)
def test_manifest(package):
    root = manifest(package)
    assert root.get('format') == '3'
    assert root.findtext('name') == package
    assert root.findtext('license') == 'Apache-2.0'
    assert (SRC / package / root.find('license').get('file')).is_file()
    assert len(root.findtext('description').split()) > 4
    assert root.findtext('version') == manifest('sightplan').findtext('version')
    build_type = root.findtext('export/build_type')
    assert build_type == ('ament_python' if package in PYTHON_PACKAGES else 'ament_cmake')


@pytest.mark.parametrize('package', PYTHON_PACKAGES)
def test_manifest_covers_the_imports(package):
    declared = dependencies(package, 'depend', 'exec_depend')
    imported = third_party(SRC / package / package, SRC / package) - {package}
    assert {OPTIONAL[name] for name in imported & OPTIONAL.keys()} <= locked_names(EXTRAS)
    imported -= OPTIONAL.keys()
    for name in imported & WITHOUT_KEY.keys():
        assert all(WITHOUT_KEY[name] in locked_names(lock) for lock in LOCKS), name
    needed = {ROSDEP.get(name, name) for name in imported - WITHOUT_KEY.keys()}
    assert needed <= declared, 'missing in package.xml'
    unused = declared - needed - NOT_IMPORTED.get(package, set())
    assert not unused, 'in package.xml, but never imported'


def asks_for_what_is_imported(distribution, package):
    asked = {one for one in distribution.requires or () if ';' not in one}
    imported = third_party(SRC / package / package, SRC / package) - {package} - OPTIONAL.keys()
    wanted = {ON_INDEX.get(name, WITHOUT_KEY.get(name, name)) for name in imported} - BROUGHT
    extras = {re.split(r'[ ;\[]', one)[0] for one in distribution.requires or () if ';' in one}
    in_extras = IN_EXTRAS.get(package, set())
    assert asked == wanted - in_extras
    assert in_extras <= extras


def test_the_core_asks_for_little():
    asked = [one for one in importlib.metadata.distribution('sightplan').requires or ()
             if ';' not in one]
    assert len(asked) <= 8


@pytest.mark.parametrize('package', WHEELS)
def test_a_package_asks_for_what_is_imported(package):
    asks_for_what_is_imported(importlib.metadata.distribution(package), package)


@pytest.mark.parametrize('package', PYTHON_PACKAGES)
def test_manifest_covers_the_imports_of_the_tests(package):
    declared = dependencies(package, 'depend', 'exec_depend', 'test_depend')
    helpers = {file.stem: file.parents[1].name for file in SRC.glob('*/test/*.py')}
    imported = {helpers.get(name, name) for name in third_party(
        SRC / package / 'test', SRC / package)} - {package}
    imported -= WITHOUT_KEY.keys() | OPTIONAL.keys()
    # Tests of a package use those above it, which would make circles of packages to build.
    imported -= {one for one in WHEELS if one not in declared}
    assert {ROSDEP.get(name, name) for name in imported} <= declared


def test_interfaces_declare_the_packages_of_their_types():
    folder = SRC / 'sightplan_interfaces'
    used = {match for kind in ('msg', 'srv', 'action') for file in folder.glob(f'{kind}/*')
            for match in re.findall(r'^\s*(\w+)/\w+', file.read_text(), re.MULTILINE)}
    assert used <= dependencies('sightplan_interfaces', 'depend')
    cmake = (folder / 'CMakeLists.txt').read_text()
    assert all(f'find_package({name} REQUIRED)' in cmake for name in used)


@pytest.mark.parametrize('package', PYTHON_PACKAGES)
def test_entry_points_resolve(package):
    points = importlib.metadata.distribution(package).entry_points
    assert points
    for point in points:
        assert callable(point.load()) is (':' in point.value), point  # else it is a module


def test_every_node_has_an_executable():
    scripts = importlib.metadata.distribution('sightplan_nodes').entry_points.select(
        group='console_scripts')
    assert {point.name for point in scripts} == {
        'agent', 'bag_player', 'experiment', 'grounder', 'metrics_recorder', 'rerun_viewer',
        'sim_bridge', 'symbolic_planner', 'vlm_planner', 'arm_bridge', 'operator_console',
        'path_critic', 'arm_watcher'}


@pytest.mark.parametrize('package', PYTHON_PACKAGES)
def test_data_files_are_installed(package):
    code = '''
import json, os
from setuptools import Distribution
from distutils.core import run_setup
build = run_setup('setup.py', stop_after='config').get_command_obj('build_py')
build.ensure_finalized()
print(json.dumps([os.path.join(folder, name) for _, folder, _, names in build.data_files
                  for name in names]))
'''
    done = subprocess.run([sys.executable, '-c', code], cwd=SRC / package, capture_output=True,
                          text=True, check=True)
    installed = set(json.loads(done.stdout.splitlines()[-1]))
    there = {str(file.relative_to(SRC / package)) for file in (SRC / package / package).rglob('*')
             if file.is_file() and '__pycache__' not in file.parts}
    missing = {name for name in there if not name.endswith(('.py', '.pyc'))} - installed
    assert not missing, 'their kind is not in package_data of setup.py'
    assert f'{package}/py.typed' in installed
    modules_in_no_package = {name for name in there if name.endswith('.py')
                             and not (SRC / package / name).with_name('__init__.py').is_file()}
    assert not modules_in_no_package, 'their folders lack an __init__.py'


def test_no_package_holds_anything_only_the_wheels_need():
    for file in SRC.rglob('*'):
        if file.suffix in ('.py', '.txt', '.xml', '.cfg', '.cmake') and file.is_file() \
                and file.name != 'doctor.py':  # it reports on either kind of ROS 2
            found = re.search(r'/opt/python|ROS_WHEELS|ros_wheels|PROJECT_INCLUDE|pip_ros_fix',
                              file.read_text())
            assert not found, f'{file}: {found.group()}'


def test_colcon_meta_names_packages():
    meta = json.loads((ROOT / 'colcon.meta').read_text())
    of_ros = {path.name for path in (ROOT / 'scripts' / 'ros_messages').iterdir()}
    assert set(meta['names']) <= {*PACKAGES, *of_ros}


def test_libraries_of_cuda_are_constraints_only():
    for lock in LOCKS:
        assert f'-c {CONSTRAINTS}' in (ROOT / 'requirements' / lock).read_text().splitlines()
        assert not locked_names(lock) & locked_names(CONSTRAINTS)
    assert any(name.startswith('nvidia-') for name in locked_names(CONSTRAINTS))


@pytest.mark.parametrize('lock', [*LOCKS, CONSTRAINTS, EXTRAS])
def test_lock_is_exact(lock):
    for line in locked(lock):
        assert re.fullmatch(r'[a-z0-9][a-z0-9-]*==[0-9][0-9A-Za-z.]*'
                            r"( ; python_version == '3\.1[12]')?", line), line


@pytest.mark.parametrize('lock', LOCKS)
def test_lock_holds_what_the_code_imports(lock):
    wanted = {re.split(r'[\s<=\[#]', line, maxsplit=1)[0].lower()
              for name in ('runtime.in', 'dev.in')
              for line in (ROOT / 'requirements' / name).read_text().splitlines()
              if line and not line.startswith('#')}
    assert wanted <= locked_names(lock)


def test_extras_hold_what_is_wanted_and_contradict_nothing():
    lines = (ROOT / 'requirements' / 'extras.in').read_text().splitlines()
    assert {line for line in lines if not line.startswith('#')} <= locked_names(EXTRAS)
    for lock in LOCKS:
        assert not locked_names(lock) & locked_names(EXTRAS)


def test_only_the_wheels_lock_brings_ros():
    assert any(name.startswith('ros-') for name in locked_names('wheels.txt'))
    assert not any(name.startswith(('ros-', 'colcon-')) for name in locked_names('jazzy.txt'))


def test_lock_matches_what_is_installed():
    installed = {re.sub(r'[-_.]+', '-', item.metadata['Name']).lower(): item.version
                 for item in importlib.metadata.distributions()}
    lock = 'jazzy.txt' if (Path(sys.prefix) / 'ros-prefix').exists() else 'wheels.txt'
    here = f"'{sys.version_info[0]}.{sys.version_info[1]}'"
    for line in locked(lock):
        requirement, _, marker = line.partition(' ; ')
        name, version = requirement.split('==')
        if not marker or here in marker:
            assert installed[name].partition('+')[0] == version, name


def test_continuous_integration_runs_the_commands_of_a_developer():
    script = (ROOT / '.ci' / 'run').read_text()
    commands = [line for line in script.splitlines()
                if line.strip() and not line.lstrip().startswith('#')]
    assert commands[-1].split() == ['exec', 'make', '-j2', '"$@"', 'test', 'test-all']
    assert len(commands) <= 3
