"""``sightplan doctor``: what of the machine and the installation works, and what to do if not.

Every check is a function that takes a Site and returns a Check, or a list of them. Libraries that
are large, or that might take the whole process down when they are broken, are tried in processes
of their own.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.check import Check as Check
from sightplan.commands.frame import DONE, FAILED, Result, add_command, read_options
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import InfrastructureError, InputError, SightplanError

PACKAGES = ('sightplan', 'sightplan_arm', 'sightplan_bringup', 'sightplan_interfaces',
            'sightplan_nodes', 'sightplan_sim')
"""Names of the packages of the workspace."""

BROUGHT_BY = {'simulator': 'sightplan_sim', 'kinematics': 'sightplan_arm',
              'solvers': 'sightplan_belief', 'model': 'sightplan_models',
              'torch': 'sightplan_models'}
"""Optional packages, by the name of the check that needs them."""

PYTHONS = ((3, 11), (3, 12))
"""Versions of Python for which the requirements are locked."""

MIB = 2**20
SHARED_MEMORY_MIB = 512
"""Seven nodes with a segment of 32 MiB each, twice."""

DISK_MIB = 2048
"""Room for the bags of some runs."""

_TRIAL_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Site:
    """The environment that the checks examine.

    Attributes:
        environ: environment variables.
        root: checkout of the repository; None when installed without one.
        python: version of Python, as in ``sys.version_info[:3]``.
        trial_timeout_s: limit of each trial in a process of its own [s].
    """

    environ: Mapping[str, str]
    root: Path | None
    python: tuple[int, int, int] = sys.version_info[:3]
    trial_timeout_s: float = _TRIAL_TIMEOUT_S

    @classmethod
    def here(cls) -> Site:
        """Environment of this process, and the checkout that this module belongs to."""
        root = Path(__file__).resolve().parents[4]
        return cls(os.environ, root if (root / 'src' / 'sightplan_interfaces').is_dir() else None)

    @property
    def build_command(self) -> str:
        """The instruction for building the workspace."""
        if self.root is not None and (self.root / 'Makefile').is_file():
            return f"run 'make build' in {self.root}"
        return "run 'colcon build' in the workspace and source its install/setup.bash"

    def prefixes(self) -> dict[str, Path]:
        """The install prefix of each package that ROS 2 can see; the first prefix counts."""
        found: dict[str, Path] = {}
        for prefix in self.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
            index = Path(prefix) / 'share' / 'ament_index' / 'resource_index' / 'packages'
            if prefix and index.is_dir():
                for marker in index.iterdir():
                    found.setdefault(marker.name, Path(prefix))
        return found

    @property
    def is_library(self) -> bool:
        """Whether it was installed from wheels, without ROS and without a workspace."""
        return (self.root is None and not self.environ.get('ROS_DISTRO')
                and not self.environ.get('AMENT_PREFIX_PATH')
                and importlib.util.find_spec('rclpy') is None)

    def trial(self, code: str) -> tuple[bool, str]:
        """Run Python code in a process of its own.

        Returns:
            Whether it ended well, and the last line it printed (of the errors, if not).
        """
        try:
            done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                                  env=dict(self.environ), timeout=self.trial_timeout_s,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False, f'no end within {self.trial_timeout_s:.0f} s'
        text = done.stdout if done.returncode == 0 else done.stderr
        lines = text.strip().splitlines() or [f'exit code {done.returncode}']
        return done.returncode == 0, lines[-1]


def check_python(site: Site) -> Check:
    """The interpreter has locked requirements."""
    version = '.'.join(map(str, site.python))
    wanted = ' or '.join('.'.join(map(str, python)) for python in PYTHONS)
    if site.python[:2] not in PYTHONS:
        return Check('python', False, f'{version} at {sys.executable}',
                     f'the locked requirements are for Python {wanted}')
    return Check('python', True, f'{version} at {sys.executable}')


def check_ros(site: Site) -> Check:
    """A node can be made, keys aside: ``check_security`` looks after these."""
    from sightplan.graphs.up import SECURITY
    if site.is_library:
        return Check('ros', True, 'none, and no workspace: all works that needs none')
    ok, said = dataclasses.replace(site, environ={**site.environ, SECURITY: 'false'}).trial(
        'import rclpy; rclpy.init(); rclpy.create_node("sightplan_doctor"); '
        'print(rclpy.__file__, rclpy.get_rmw_implementation_identifier())')
    distribution = site.environ.get('ROS_DISTRO', '')
    prefix = site.prefixes().get('rclpy')
    wheels = prefix is not None and not (prefix / 'setup.sh').is_file()
    where = f'{distribution or "unknown distribution"}, ' + (
        f'wheels in {prefix}' if wheels else f'installed in {prefix}')
    if ok and distribution != 'jazzy':
        return Check('ros', False, where, 'this workspace is made for ROS 2 Jazzy')
    if ok:
        return Check('ros', True, f'{where}, {said.split()[-1]}')
    middleware = site.environ.get('RMW_IMPLEMENTATION', '')
    if wheels and middleware not in ('', 'rmw_fastrtps_cpp'):
        return Check('ros', False, f'RMW_IMPLEMENTATION is {middleware}',
                     'the wheels hold rmw_fastrtps_cpp only: unset RMW_IMPLEMENTATION')
    if 'rclpy' in said and 'No module' in said:
        return Check('ros', False, 'rclpy cannot be imported', f'{site.build_command} and use '
                     '.venv/bin/sightplan, or source /opt/ros/jazzy/setup.bash')
    return Check('ros', False, f'{where}: {said}', 'see the message')


def _stale_interfaces(site: Site, prefix: Path) -> list[str]:
    """Return the interface files, or ``the last make build``, that are out of date; [] if none.

    Raises:
        InfrastructureError: the interfaces cannot be compared.
    """
    if site.root is None:
        return []
    if any(site.root.glob('install/.built-*')) and shutil.which('make'):
        # The Makefile goes by contents, not by times; it knows what it built.
        plan = subprocess.run(['make', '--dry-run', 'build'], cwd=site.root, text=True,
                              capture_output=True, check=False,
                              env={'PATH': site.environ.get('PATH', os.defpath)})
        return ['the last make build'] if 'scripts/' in plan.stdout else []
    # By contents, too: what is generated anew with the same contents keeps its time.
    ok, said = site.trial(_COMPARE.format(str(site.root / 'src' / 'sightplan_interfaces'),
                                          str(prefix / 'share' / 'sightplan_interfaces')))
    if not ok:
        raise InfrastructureError(f'interfaces cannot be compared: {said}')
    stale: list[str] = json.loads(said)
    return stale


_COMPARE = '''
import contextlib, io, json, tempfile
from pathlib import Path
from rosidl_adapter import convert_to_idl
source, built, stale = Path({!r}), Path({!r}), []
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    for file in sorted(source.glob("*/*.*")):
        kind = file.suffix[1:]
        if kind in ("msg", "srv", "action"):
            convert_to_idl(source, source.name, file.relative_to(source), Path(folder))
            name = f"{{kind}}/{{file.stem}}.idl"
            there = built / name
            if not there.exists() or there.read_bytes() != (Path(folder) / name).read_bytes():
                stale.append(file.name)
print(json.dumps(stale))
'''
"""Program that prints the interfaces whose generated IDL differs from the installed one."""


def check_workspace(site: Site) -> Check:
    """Check that all packages are built from the present sources."""
    prefixes = site.prefixes()
    missing = [package for package in PACKAGES if package not in prefixes]
    if missing:
        return Check('workspace', False, f'not built: {", ".join(missing)}', site.build_command)
    libraries = prefixes['sightplan_nodes'] / 'lib' / 'sightplan_nodes'
    stale = [point.name for point in
             importlib.metadata.distribution('sightplan_nodes').entry_points.select(
                 group='console_scripts')
             if not (libraries / point.name).is_file()]
    unknown = ''
    try:
        stale += _stale_interfaces(site, prefixes['sightplan_interfaces'])
    except InfrastructureError as error:
        unknown = f' ({error})'
    if stale:
        return Check('workspace', False, f'older than its sources: {", ".join(stale)}',
                     site.build_command)
    return Check('workspace', True, f'{len(PACKAGES)} packages in '
                 f'{prefixes["sightplan_nodes"].parent}{unknown}')


def check_interfaces(site: Site) -> Check:
    """The generated messages can be imported together with their libraries."""
    return _trial('interfaces', site, site.build_command, (
        'from rclpy.type_support import check_for_type_support as check\n'
        'from sightplan_interfaces.action import RunEpisode\n'
        'from sightplan_interfaces.msg import Asked\n'
        'from sightplan_interfaces.srv import Ground\n'
        'for kind in (RunEpisode, Asked, Ground): check(kind)\n'
        'print("messages, services and actions load")'))


def check_launch(site: Site) -> Check:
    """Whether ``ros2 launch`` is there; ``sightplan up`` does without."""
    if 'ros2launch' in site.prefixes():
        return Check('launch', True, 'ros2 launch is there')
    return Check('launch', True, "no ros2 launch; 'sightplan up' starts the same graphs")


def check_transport(site: Site) -> Check:
    """Graphs stay on this machine and camera images get through."""
    from sightplan.graphs.up import transport_environment
    try:
        variables = {**site.environ, **transport_environment(site.environ)}
    except SightplanError as error:
        return Check('transport', False, str(error), 'see the message')
    profile = variables.get('FASTRTPS_DEFAULT_PROFILES_FILE') \
        or variables.get('FASTDDS_DEFAULT_PROFILES_FILE')
    reach = variables.get('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    if profile is None:
        return Check('transport', True, f'discovery range {reach}, no Fast DDS profile',
                     'images may be lost; unset ROS_AUTOMATIC_DISCOVERY_RANGE for the profile of '
                     'this workspace')
    return Check('transport', True, f'profile {profile}, discovery range {reach}')


def check_security(site: Site) -> Check:
    """Whether nodes could speak, and do, by the keys and permissions of SROS 2."""
    from sightplan.graphs.up import KEYSTORE, SECURITY, STRATEGY
    wanted = site.environ.get(SECURITY) == 'true'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / 'enclaves').mkdir()
        # Whoever has the libraries misses keys here; who has not says so.
        ok, said = dataclasses.replace(site, environ={
            **site.environ, SECURITY: 'true', STRATEGY: 'Permissive', KEYSTORE: folder}).trial(
            'import rclpy; rclpy.init()\n'
            'try: rclpy.create_node("sightplan_doctor")\n'
            'except Exception as error: print(" ".join(str(error).split()))\n'
            'else: print("made")')
    if not ok or 'security libraries' in said:
        lacking = ('this middleware has no security (SROS 2)' if ok
                   else f'cannot be tried: {said}')
        if not wanted:
            return Check('security', True, f'{lacking}; traffic stays on the loopback device')
        return Check('security', False, f'{SECURITY} is true, and {lacking}',
                     f'install ROS 2 Jazzy itself instead of the wheels, or unset {SECURITY} and '
                     'stay on the loopback device')
    if not wanted:
        return Check('security', True, f'off ({SECURITY} is not true), and possible')
    if site.environ.get(STRATEGY) != 'Enforce':
        return Check('security', False, f'{STRATEGY} is not Enforce: nodes without keys may speak',
                     f'set {STRATEGY}=Enforce')
    if not (Path(site.environ.get(KEYSTORE, '')) / 'enclaves').is_dir():
        return Check('security', False, f'{KEYSTORE}={site.environ.get(KEYSTORE, "")} is no '
                     'keystore', 'see the section on security of docs/containers.md')
    return Check('security', True, f'enforced, keystore {site.environ[KEYSTORE]}')


def check_domain_id(site: Site) -> Check:
    """ROS_DOMAIN_ID is free or usable."""
    given = site.environ.get('ROS_DOMAIN_ID', '')
    if not given:
        return Check('domain id', True, 'not set: sightplan up takes a free one for each graph')
    if not (given.isascii() and given.isdecimal()) or int(given) > 232:
        return Check('domain id', False, f'ROS_DOMAIN_ID is {given!r}',
                     'unset it, or set a number from 0 to 101')
    if int(given) > 101:
        return Check('domain id', True, f'ROS_DOMAIN_ID is {given}', 'above 101 its ports may '
                     'clash with others of this machine')
    return Check('domain id', True, f'ROS_DOMAIN_ID is {given}: every graph uses it')


def check_simulator(site: Site) -> Check:
    """PyBullet is there and hands images over as arrays."""
    ok, said = site.trial(
        'import importlib.metadata, pybullet\n'
        'client = pybullet.connect(pybullet.DIRECT)\n'
        'print(importlib.metadata.version("pybullet"), pybullet.isNumpyEnabled())')
    if not ok:
        return Check('simulator', False, f'PyBullet: {said}', _requirements(site))
    version, numpy = said.split()
    if numpy != '1':
        return Check('simulator', False, f'PyBullet {version} without NumPy support, eight times '
                     'slower', "build it again after NumPy: pip install numpy 'setuptools<81', "
                     'then pip install --no-build-isolation --no-cache-dir --force-reinstall '
                     f'--no-deps pybullet=={version}')
    return Check('simulator', True, f'PyBullet {version} with NumPy support')


def check_kinematics(site: Site) -> Check:
    """Pinocchio computes where an arm's hand is."""
    ok, said = site.trial(
        'import pinocchio\n'
        'model = pinocchio.buildSampleModelManipulator()\n'
        'data = model.createData()\n'
        'pinocchio.forwardKinematics(model, data, pinocchio.neutral(model))\n'
        'print(pinocchio.__version__)')
    if ok:
        return Check('kinematics', True, f'Pinocchio {said}')
    if 'buildSampleModelManipulator' in said:
        return Check('kinematics', False, f'Pinocchio: {said}', 'this is another library of that '
                     'name: pip uninstall pinocchio, then pip install pin')
    return Check('kinematics', False, f'Pinocchio: {said}', _requirements(site))


def _trial(name: str, site: Site, remedy: str, code: str) -> Check:
    """Whether code runs; its last line is the detail."""
    ok, said = site.trial(code)
    return Check(name, ok, said, '' if ok else remedy)


def _requirements(site: Site) -> str:
    if site.root is not None and (site.root / 'Makefile').is_file():
        return site.build_command
    if site.is_library:
        return 'reinstall the package that needs it: pip install --force-reinstall'
    return 'install the requirements (requirements/jazzy.txt)'


def check_solvers(site: Site) -> Check:
    """Check that the solvers of the belief load and solve."""
    return _trial('solvers', site, _requirements(site), (
        'import importlib.metadata as metadata, numpy\n'
        'from sightplan_belief.solver import StateSolver\n'
        'from sightplan_belief.theory import Group, Theory\n'
        'from sightplan.model import Atom\n'
        'theory = Theory((Atom("p"), Atom("q")), (), (Group((0, 1), True),))\n'
        'solutions = StateSolver(theory).near_best(numpy.array([1.0, 0.5]), 5.0, 10)\n'
        'assert len(solutions.scores) == 2, solutions\n'
        'versions = (f"{name} {metadata.version(name)}" for name in ("ortools", "clingo"))\n'
        'print(*versions, sep=", ")'))


def check_torch(site: Site) -> Check:
    """Check that torch and transformers load; the detail says whether they can use a GPU."""
    ok, said = site.trial(
        'import torch, transformers\n'
        'name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"\n'
        'print(f"torch {torch.__version__}, transformers {transformers.__version__}, {name}")')
    if not ok and site.is_library and 'No module named' in said:
        return Check('torch and GPU', True, 'none: models behind a server and simulated ones need '
                     'none', 'pip install "sightplan_models[torch]" for embedded and transformers')
    if not ok:
        return Check('torch and GPU', False, said, _requirements(site))
    if said.endswith('no GPU') and shutil.which('nvidia-smi', path=site.environ.get('PATH')):
        return Check('torch and GPU', True, said, 'there seems to be an NVIDIA GPU, but this '
                     'torch cannot use it: check the driver (nvidia-smi), or install a CUDA build '
                     'of torch; the embedded model needs none')
    return Check('torch and GPU', True, said)


def check_model(site: Site) -> Check:
    """The folders of the embedded models are complete."""
    from sightplan.vlm.api import BACKENDS
    embedded = BACKENDS.module('embedded')
    checks = [check_model_folder(embedded.shipped_folder(domain))
              for domain in embedded.shipped_domains()]
    if not checks:
        return check_model_folder(embedded.shipped_folder())
    bad = [check for check in checks if not check.ok]
    return bad[0] if bad else Check(checks[0].name, True, ', '.join(c.detail for c in checks))


def check_model_folder(folder: Path) -> Check:
    """Check that a model folder has configuration and weights, and for text a tokenizer."""
    from sightplan.vlm.api import BACKENDS
    name = 'embedded model'
    remedy = 'restore the folder from the repository, or train the model again (make train)'
    boards = BACKENDS.module('embedded').reads_boards(folder)
    files = ('config.json', 'model.safetensors') if boards else (
        'config.json', 'tokenizer.json', 'model.safetensors')
    missing = [file for file in files if not (folder / file).is_file()]
    if not boards and not any((folder / file).is_file()
               for file in ('processor_config.json', 'preprocessor_config.json')):
        missing.append('processor_config.json')
    if missing:
        return Check(name, False, f'{folder} lacks {", ".join(missing)}', remedy)
    weights = folder / 'model.safetensors'
    with weights.open('rb') as file:
        header = int.from_bytes(file.read(8), 'little')
    size = weights.stat().st_size
    if not 0 < header < size - 8:
        return Check(name, False, f'{weights} is no safetensors file ({size} bytes)', remedy)
    return Check(name, True, f'{folder.name}, {size / MIB:.1f} MiB')


def check_planner(site: Site) -> Check:
    """Fast Downward solves a problem."""
    return _trial('planner', site, _requirements(site), (
        'from sightplan.domains import domain_names, load_domain\n'
        'from sightplan.model import PlanningTask\n'
        'from sightplan.planning.symbolic import FastDownwardPlanner\n'
        'domain = load_domain(domain_names()[0])\n'
        'problem = domain.split_problems(sorted(domain.splits)[0])[0]\n'
        'planner = FastDownwardPlanner()\n'
        'text = domain.write_problem(problem)\n'
        'result = planner.plan(PlanningTask(domain.pddl, text), 60)\n'
        'planner.close()\n'
        'print(f"Fast Downward: {problem.name} {result.status.value} {result.message}".strip())\n'
        'raise SystemExit(result.status.value != "solved")'))


_LOAD_PLUGINS = '''
import importlib.metadata, json
from sightplan.model.errors import SightplanError
from sightplan.vlm.api import BACKENDS, GROUP
bad, count, every = [], 0, importlib.metadata.entry_points()
for group in sorted(group for group in every.groups if group.startswith("sightplan.")):
    for point in every.select(group=group):
        count += 1
        where = f"{point.group}: {point.name} = {point.value}"
        try:
            BACKENDS.module(point.name) if point.group == GROUP else point.load()
        except SightplanError as error:
            bad.append([where, str(error)])
        except BaseException as error:
            package = "" if point.dist is None else f" of package {point.dist.name}"
            bad.append([where, f"{where}{package} cannot be loaded: "
                               f"{type(error).__name__}: {error}"])
print(json.dumps([bad, count]))
'''
"""Program that loads the entry points of all packages, and prints failures and their number."""


def check_plugins(site: Site) -> list[Check]:
    """Check that the entry points of all packages load; each that fails gives a failed check."""
    ok, said = site.trial(_LOAD_PLUGINS)
    if not ok:
        return [Check('plugins', False, f'cannot be listed: {said}', _requirements(site))]
    bad, count = json.loads(said)
    return [Check('plugins', False, why, 'correct, reinstall or remove that package; the others '
                  'work without it') for _, why in bad] or [
        Check('plugins', True, f'{count} entry points of all packages load')]


def _free_mib(folder: Path) -> int:
    return shutil.disk_usage(folder).free // MIB


def check_shared_memory(site: Site) -> Check:
    """Images travel through shared memory."""
    folder = Path('/dev/shm')  # noqa: S108  # where Linux keeps it
    if not folder.is_dir():
        return Check('shared memory', False, f'{folder} is missing', 'mount a tmpfs there')
    free = _free_mib(folder)
    if free < SHARED_MEMORY_MIB:
        return Check('shared memory', False, f'{free} MiB free in {folder}',
                     f'{SHARED_MEMORY_MIB} MiB are needed: end what uses it, remove leftovers '
                     "with 'fastdds shm clean', or start the container with --shm-size=1g")
    return Check('shared memory', True, f'{free} MiB free')


def check_disk(site: Site) -> Check:
    """Check that there is room for recordings in the working directory."""
    folder = Path.cwd()
    free = _free_mib(folder)
    if free < DISK_MIB:
        return Check('disk', False, f'{free} MiB free at {folder}',
                     'bags of a run take up to some hundred MiB: make room, or use --out')
    return Check('disk', True, f'{free} MiB free at {folder}')


CHECKS: tuple[Callable[[Site], Check | list[Check]], ...] = (
    check_python, check_ros, check_workspace, check_interfaces, check_launch, check_transport,
    check_security, check_domain_id, check_simulator, check_kinematics, check_planner,
    check_solvers, check_model, check_torch, check_plugins, check_shared_memory, check_disk)


OF_ROS = frozenset({check_workspace, check_interfaces, check_launch, check_transport,
                    check_security, check_domain_id})


def _run(check: Callable[[Site], Check | list[Check]], site: Site) -> list[Check]:
    name = check.__name__.removeprefix('check_').replace('_', ' ')
    package = BROUGHT_BY.get(name, '')
    if package and site.is_library and importlib.util.find_spec(package) is None:
        return [Check(name, True, f'none: {package} is not installed', f'pip install {package}')]
    try:
        found = check(site)
        return found if isinstance(found, list) else [found]
    except Exception as error:  # a doctor that falls ill helps nobody
        return [Check(name, False, f'{type(error).__name__}: {error}', 'the check itself broke')]


def run_checks(site: Site | None = None) -> list[Check]:
    """Run all checks, several at a time, in the order of CHECKS; of a library none of ROS."""
    place = site or Site.here()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = pool.map(lambda check: _run(check, place), [
            check for check in CHECKS if not (place.is_library and check in OF_ROS)])
        return [one for checks in found for one in checks]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``sightplan doctor``."""

    backend: str | None = backend_flag(None, 'check this model instead of the machine: that it '
                                       'loads, answers and sees pictures')
    backend_option: tuple[str, ...] = settings_flag('the backend')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan doctor``."""
    add_command(
        subparsers, 'doctor', check_all, 'check the installation, or a model, and say what to do',
        'Check Python, ROS 2, the build, the simulator, the planner, the models, the GPU and the '
        'machine, and say what to do about what will not work. With --backend a model is checked '
        'instead: it is loaded, and asked about plain pictures.',
        settings=Settings,
        examples='examples:\n  sightplan doctor\n  sightplan doctor --backend transformers '
        '--backend-option model=Qwen/Qwen2.5-VL-7B-Instruct\n  sightplan doctor --backend openai '
        '--backend-option model=NAME --backend-option base_url=http://localhost:8000/v1\n',
        exits='0 all well; 1 something will not work; 2 bad usage')


def check_all(settings: Settings) -> Result:
    """Print the results of all checks; return exit code 0 if all passed, else 1.

    Raises:
        InputError: an unknown backend or option, or a bad value.
    """
    measured: dict[str, Any] = {}
    if settings.backend is not None:
        from sightplan.commands.doctor_model import check_model as check_backend
        from sightplan.vlm.api import backend_settings
        checks, measured = check_backend(settings.backend, read_options(
            settings.backend_option, type(backend_settings(settings.backend)),
            '--backend-option'))
    elif settings.backend_option:
        raise InputError('--backend-option needs --backend: name the model to check')
    else:
        checks = run_checks()
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f'{"ok  " if check.ok else "FAIL"}  {check.name:{width}}  {check.detail}')
        if check.remedy:
            print(f'{"":{width + 6}}  -> {check.remedy}')
    failed = sum(not check.ok for check in checks)
    print(f'{failed} of {len(checks)} checks failed' if failed else 'all is well')
    return ({'ok': not failed, 'checks': [dataclasses.asdict(check) for check in checks],
             **({'measured': measured} if measured else {})}, FAILED if failed else DONE)
