"""docker/: what can be known of images and compose files without an engine, which is nearly all.

The services are started from the compose files themselves, as processes (compose_testing.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import rooms
from compose_testing import (
    DOCKER,
    IN_IMAGE,
    LIMIT_S,
    ROOT,
    VARIABLE,
    Machine,
    in_checkout,
    machine,
    read,
    services,
)
from sightplan.graphs.graph import load_graph
from sightplan.graphs.up import reserved_domain
from sightplan.metrics import measures
from sightplan.records import RunStore
from sightplan.records.bag_reading import open_bag
from sightplan_nodes.operator_console import OperatorConsoleSettings

COMPOSE = sorted(file.name for file in DOCKER.glob('compose*.yaml'))
ALONE = ['compose.yaml']
GPU = ['compose.yaml', 'compose.gpu.yaml']
ROBOT = ['compose.yaml', 'compose.robot.yaml']
SERVER = ['compose.yaml', 'compose.gpu.yaml', 'compose.server.yaml']
SECURE = ['compose.yaml', 'compose.secure.yaml']
SETUPS = {'alone': ALONE, 'gpu': GPU, 'robot': ROBOT, 'server': SERVER, 'secure': SECURE}
LAN = {'LAN_ADDRESS': '10.77.0.1', 'DISCOVERY_SERVER': '10.77.0.1:11811'}
KEYSTORE = '/home/me/keystore'
GRAPH = ROOT / 'config' / 'graphs' / 'experiment.yaml'
ENTER = DOCKER / 'enter.sh'


def setup(name: str, **environ: str) -> dict[str, dict]:
    return services(SETUPS[name], LAN | {'SROS_DIR': KEYSTORE} | environ)


def each_service() -> list[tuple[str, str]]:
    return [(name, service) for name in SETUPS for service in setup(name)]


# The compose files.

@pytest.mark.parametrize('name', SETUPS)
def test_compose_itself_reads_them_as_these_tests_do(name):
    compose = next((tool for tool in (['docker', 'compose'], ['docker-compose'])
                    if shutil.which(tool[0]) and subprocess.run(
                        [*tool, 'version', '--short'], capture_output=True, text=True,
                        check=False).stdout.lstrip('v').startswith('2.')), None)
    if compose is None:
        pytest.skip('Docker Compose 2 is not installed')
    files = [part for file in SETUPS[name] for part in ('-f', str(DOCKER / file))]
    done = subprocess.run(
        [*compose, *files, '--profile', '*', 'config', '--format', 'json'], text=True,
        capture_output=True, check=False,
        env={'PATH': os.environ['PATH'], 'HOME': '/', 'SROS_DIR': KEYSTORE, **LAN})
    assert done.returncode == 0, done.stderr
    theirs, ours = json.loads(done.stdout)['services'], setup(name)
    assert theirs.keys() == ours.keys()
    for service, content in ours.items():
        for field in ('image', 'command', 'init', 'ipc', 'network_mode', 'profiles', 'read_only',
                      'restart', 'stop_grace_period', 'user', 'security_opt', 'cap_drop'):
            assert theirs[service].get(field) == content.get(field), (service, field)
        assert theirs[service]['environment'] == {
            key: value if value is None else str(value)
            for key, value in content['environment'].items()}
        assert theirs[service]['healthcheck']['test'] == content['healthcheck']['test']
        assert theirs[service]['build']['args'] == content['build']['args']
        assert {key: (value['condition'], value['required']) for key, value
                in theirs[service].get('depends_on', {}).items()} == {
            key: (value['condition'], value.get('required', True)) for key, value
            in content.get('depends_on', {}).items()}


def test_one_machine_has_all_nodes_and_two_have_them_once():
    alone = services(ALONE, LAN, [])
    assert alone.keys() == {'recorder', 'world', 'grounder', 'symbolic_planner', 'agent',
                            'experiment'}
    assert services(GPU, LAN, []).keys() == alone.keys()
    assert services(ALONE, LAN, ['vlm_planner']).keys() == {*alone, 'vlm_planner'}
    assert services(ALONE, LAN, ['hardware']).keys() == {*alone, 'hardware'}
    assert services(ALONE, LAN, ['arm']).keys() == {*alone, 'watcher'}
    assert services(ALONE, LAN, ['operator']).keys() == {*alone, 'operator'}
    assert services(ROBOT, LAN, ['operator'])['operator']['environment'].keys() >= {
        'ROS_DISCOVERY_SERVER', 'SIGHTPLAN_LAN_ADDRESS'}
    robot, server = services(ROBOT, LAN, []), services(SERVER, LAN, [])
    assert robot.keys() | server.keys() == {*alone, 'discovery'}
    assert server.keys() == {'grounder'}
    assert services(SERVER, LAN, ['vlm_planner']).keys() == {'grounder', 'vlm_planner'}
    assert not robot.keys() & server.keys()


@pytest.mark.parametrize(('name', 'service'), each_service())
def test_every_service_is_confined_healthy_and_patient(name, service):
    content = setup(name)[service]
    assert content['init'] is True, 'signals would not reach the node'
    assert content['read_only'] is True and content['tmpfs'] == '/tmp'
    assert content['cap_drop'] == ['ALL'] and 'privileged' not in content
    assert content['security_opt'] == ['no-new-privileges:true']
    assert re.fullmatch(r'[1-9]\d*:[1-9]\d*', content['user']), 'root'
    assert (content['network_mode'], content['ipc']) == ('host', 'host'), 'shared memory of DDS'
    assert 'ports' not in content
    assert float(content['stop_grace_period'].removesuffix('s')) > 4 + 6 + 5, 'graphs/up.py'
    assert content['restart'] in ('no', 'on-failure:3', 'unless-stopped')
    health = content['healthcheck']
    assert health.keys() == {'test', 'interval', 'timeout', 'retries', 'start_period',
                             'start_interval'}
    build = content['build']
    assert (DOCKER / build['context']).resolve() == ROOT
    assert (ROOT / build['dockerfile']).is_file()
    assert build['args'].keys() <= arguments_of_the_dockerfile()
    assert content['image'] == f'sightplan:{build["args"]["VARIANT"]}'


@pytest.mark.parametrize('name', SETUPS)
@pytest.mark.parametrize('world', ['sim_bridge', 'arm_bridge'])
def test_a_stop_that_is_latched_in_the_world_survives(name, world):
    assert setup(name, WORLD=world)['world']['restart'] == 'no'


def graph_command(content: dict) -> tuple[str, list[str]] | None:
    """Node and arguments, for a service that runs a node of the graph."""
    command = content['command']
    if command[:3] != ['sightplan', 'up', 'experiment']:
        return None
    node = command[-1].removeprefix('--only=')
    assert command[-2:] == ['--keep-alive', f'--only={node}']
    return node, command[3:-2]


@pytest.mark.parametrize(('name', 'service'), each_service())
def test_every_node_is_one_of_the_graph_with_all_of_its_arguments(name, service):
    found = graph_command(setup(name)[service])
    if found is None:
        assert service in ('discovery', 'operator')
        return
    node, given = found
    graph = load_graph(GRAPH)
    values = graph.values(given)
    nodes = ['sim_bridge', 'arm_bridge'] if service == 'world' else [node]
    wanted = {variable for chosen in graph.only(nodes, values).nodes
              for value in chosen.parameters.values()
              for variable in re.findall(r'\$\(var (\w+)\)', str(value))}
    assert [text.partition(':=')[0] for text in given] == list(dict.fromkeys(
        text.partition(':=')[0] for text in given)), 'twice'
    wanted |= {'namespace'}
    if node == 'experiment':
        wanted -= {'rerun'}  # there is no viewer inside
    assert {text.partition(':=')[0] for text in given} == wanted


def test_values_are_the_graphs_own_unless_they_are_set():
    graph = load_graph(GRAPH)
    defaults = {argument.name: argument.default for argument in graph.arguments}
    for service in filter(None, map(graph_command, services(ALONE, {}).values())):
        values = graph.values(service[1])
        assert {name: value for name, value in values.items() if value != defaults[name]
                } in ({}, {'out': '/runs/containers'})


@pytest.mark.parametrize(('name', 'service'), each_service())
def test_the_healthcheck_is_about_the_service(name, service):
    content = setup(name)[service]
    found = graph_command(content)
    what = {'discovery': '--discovery', 'operator': 'operator_console'}.get(service)
    assert content['healthcheck']['test'] == [
        'CMD', f'{IN_IMAGE}/docker/enter.sh', 'python', '-m', 'sightplan_nodes.health',
        *([what] if service == 'discovery' else
          [what if found is None else found[0], '--namespace', ''])]


@pytest.mark.parametrize(('name', 'service'), each_service())
def test_what_a_service_runs_is_there(name, service):
    content = setup(name)[service]
    program, *arguments = in_checkout(content['command'], {})
    if program == 'sightplan':
        assert os.access(ROOT / '.venv' / 'bin' / program, os.X_OK)
        return
    assert os.access(program, os.X_OK), 'build the workspace (make build)'
    if service == 'operator':
        names = {field.name for field in dataclasses.fields(OperatorConsoleSettings)}
        enclave = ['--enclave', '/operator_console'] if name == 'secure' else []
        place = ['-r', '__ns:=/']
        flag, world, *more = arguments[1 + len(enclave):]
        assert arguments[:1 + len(enclave)] == ['--ros-args', *enclave]
        assert (flag, more) == ('-p', place)
        assert world.partition(':=')[0] in names


@pytest.mark.parametrize('name', SETUPS)
def test_services_depend_on_services(name):
    found = setup(name)
    for content in found.values():
        for other, condition in content.get('depends_on', {}).items():
            assert other in found
            assert condition['condition'] == 'service_healthy'
            apart = set(found[other].get('profiles', ())) - set(content.get('profiles', ()))
            assert not apart or condition.get('required') is False, 'it may be switched off'


@pytest.mark.parametrize('name', SETUPS)
def test_volumes_are_declared_and_used(name):
    declared = {volume for file in SETUPS[name] for volume in read(file).get('volumes', ())}
    used = {entry.split(':')[0] for service in setup(name).values()
            for entry in service.get('volumes', ())}
    assert {one for one in used if not one.startswith(KEYSTORE)} == declared
    writable = {entry.split(':')[1] for service in setup(name).values()
                for entry in service.get('volumes', ()) if not entry.endswith(':ro')}
    assert writable == {'/runs', '/models', '/state'}
    made = re.search('install -d -o sightplan -g sightplan (.*)', dockerfile_text())
    assert set(made[1].split()) == writable


@pytest.mark.parametrize('name', SETUPS)
def test_files_of_robots_are_where_they_are_read(name):
    found = setup(name, ROBOTS_DIR='/mine', ROBOT='/robots/my_robot.yaml')
    reading = {service for service, content in found.items()
               if 'robot:=/robots/my_robot.yaml' in content['command']}
    assert reading == {'world', 'hardware', 'watcher'}
    for service in reading:
        assert '/mine:/robots:ro' in found[service]['volumes']


@pytest.mark.parametrize('name', SETUPS)
def test_a_stop_outlasts_the_container_of_the_arm(name):
    for service in ('world', 'watcher'):  # either keeps it
        content = setup(name, STATE_DIR='/mine')[service]
        assert '/mine:/state' in content['volumes']
        assert content['environment']['XDG_STATE_HOME'] == '/state'


def used_variables() -> dict[str, set[str]]:
    """Variables of all compose files, each with its defaults ('?' for required ones).

    One that adds text only where it is set (``:+``) is empty by default.
    """
    found: dict[str, set[str]] = {}
    for name in COMPOSE:
        text = (DOCKER / name).read_text()
        assert len(VARIABLE.findall(text)) == text.count('${'), f'{name}: one without a default'
        for variable, _, kind, default in VARIABLE.findall(text):
            found.setdefault(variable, set()).add(
                {'-': default, '+': '', '?': '?'}[kind])
    return found


def example() -> dict[str, str]:
    lines = [line for line in (DOCKER / 'example.env').read_text().splitlines()
             if line and not line.startswith('#')]
    return dict(line.split('=', 1) for line in lines)


def test_every_setting_is_in_the_example_with_its_default():
    shown = example()
    used = used_variables()
    assert shown.pop('COMPOSE_PROFILES') == '', "Compose's own"
    assert shown.keys() == used.keys()
    assert {name: {value} for name, value in shown.items()} == {
        name: {''} if defaults == {'?'} else defaults for name, defaults in used.items()}


def test_every_paragraph_of_the_example_says_what_it_is_about():
    for paragraph in (DOCKER / 'example.env').read_text().split('\n\n'):
        assert paragraph.startswith('#')


def test_keys_are_handed_on_and_written_nowhere():
    secret = re.compile(r'KEY|TOKEN|PASSWORD|SECRET')
    for name in SETUPS:
        for service, content in setup(name).items():
            held = {key: value for key, value in content['environment'].items()
                    if secret.search(key) and key != 'ROS_SECURITY_KEYSTORE'}  # a path
            assert set(held.values()) <= {None}
            assert not held or service in ('grounder', 'vlm_planner')
    assert not secret.search(dockerfile_text())
    assert not any(secret.search(name) for name in example())


@pytest.mark.parametrize('space', ['', '/robot1'])
@pytest.mark.parametrize('world', ['sim_bridge', 'arm_bridge'])
def test_a_container_has_its_own_keys_read_only_and_no_others(world, space):
    graph = load_graph(GRAPH)
    for service, content in setup('secure', WORLD=world, NAMESPACE=space[1:]).items():
        node, _ = graph_command(content) or ('operator_console', [])
        mounted = {entry for entry in content['volumes'] if entry.startswith(KEYSTORE)}
        inside = {entry.removeprefix(KEYSTORE).partition(':')[0] for entry in mounted}
        assert mounted == {f'{KEYSTORE}{path}:/keystore{path}:ro' for path in inside}
        own = node.partition('/')[0]
        assert inside == {'/public', '/enclaves/governance.p7s', f'/enclaves{space}/health',
                          f'/enclaves{space}/{own}'}, service
        assert node in {*(spec.full_name for spec in graph.nodes), 'operator_console'}
        assert content['environment'].items() >= {
            'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce',
            'ROS_SECURITY_KEYSTORE': '/keystore'}.items()
        assert 'ROS_DOMAIN_ID' in content['environment'], 'permissions are for one'
    with pytest.raises(AssertionError, match='SROS_DIR is not set'):
        services(SECURE, LAN)


def test_a_machine_of_two_says_what_it_must_be_told():
    for files in (ROBOT, SERVER):
        for missing in LAN:
            with pytest.raises(AssertionError, match=f'{missing} is not set: set it to'):
                services(files, {name: value for name, value in LAN.items() if name != missing})


def shown_commands() -> list[str]:
    """Command lines of Docker in the documentation and in the files' own comments."""
    texts = [(ROOT / 'docs' / 'containers.md').read_text()]
    texts += [re.sub(r'^ *# ?', '', file.read_text(), flags=re.MULTILINE)
              for file in (*DOCKER.glob('compose*.yaml'), DOCKER / 'Dockerfile')]
    return [line.strip() for text in texts for line in re.sub(r'\\\n\s*', '', text).splitlines()
            if re.match(r'([A-Z_]+=\S+ )*docker (compose|build) ', line.strip())]


def test_commands_that_are_shown_name_what_there_is():
    assert len(shown_commands()) >= 12
    graph = load_graph(GRAPH)
    for line in shown_commands():
        words = shlex.split(line)
        files = [after for word, after in itertools.pairwise(words) if word == '-f']
        assert files and all((ROOT / file).is_file() for file in files), line
        given = dict(word.split('=', 1) for word in itertools.takewhile(
            lambda word: word != 'docker', words))
        assert given.keys() <= example().keys(), line
        if words[len(given) + 1] == 'build':
            built = [after for word, after in itertools.pairwise(words) if word == '--build-arg']
            assert {arg.partition('=')[0] for arg in built} <= arguments_of_the_dockerfile()
            continue
        names = [Path(file).name for file in files]
        found = services(names, LAN | {'SROS_DIR': KEYSTORE} | given)
        assert set(given.get('COMPOSE_PROFILES', '').split(',')) - {''} <= {
            profile for service in found.values() for profile in service.get('profiles', ())}
        if 'run' in words:
            assert words[-1] in found
        for service in found.values():
            command = graph_command(service)
            if command is not None:
                graph.values(command[1])


# The image.

def dockerfile_text() -> str:
    return (DOCKER / 'Dockerfile').read_text()


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile: keyword and rest, continued lines joined."""
    text = re.sub(r'^\s*#.*\n', '', dockerfile_text(), flags=re.MULTILINE)
    lines = re.sub(r'\s*\\\n\s*', ' ', text).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def arguments_of_the_dockerfile() -> set[str]:
    return {rest.partition('=')[0] for keyword, rest in instructions() if keyword == 'ARG'}


def test_hadolint_finds_nothing():
    tool = shutil.which('hadolint')
    if tool is None:
        pytest.skip('hadolint is not installed')
    done = subprocess.run([tool, DOCKER / 'Dockerfile'], capture_output=True, text=True,
                          check=False)
    assert (done.returncode, done.stdout) == (0, '')


def test_stages_are_of_this_file_or_pinned():
    defaults = dict(rest.partition('=')[::2] for keyword, rest in instructions()
                    if keyword == 'ARG')
    bases = {}
    for variant in ('cpu', 'cuda', 'debian'):
        values = {**defaults, 'VARIANT': variant}
        known: dict[str, str] = {}  # base by stage
        for keyword, rest in instructions():
            if keyword != 'FROM':
                continue
            image, stage = re.fullmatch(r'(\S+) AS ([a-z-]+)', rest).groups()
            image = image.replace('${ROS_DIGEST:+@${ROS_DIGEST}}', '')
            for name, value in values.items():
                image = image.replace(f'${{{name}}}', value)
            assert image in known or re.fullmatch(
                r'ros:jazzy-[a-z-]+-noble|debian:12', image), image
            known[stage] = known.get(image, image)
        assert known['environment'] == known['runtime'], '.venv is of one system'
        bases[variant] = known['runtime']
    assert stage == 'runtime', 'the last stage is what is built'
    assert bases == {'cpu': defaults['ROS_IMAGE'], 'cuda': defaults['ROS_IMAGE'],
                     'debian': defaults['DEBIAN_IMAGE']}


def test_secrets_of_the_build_are_in_no_layer():
    mounted = set(re.findall(r'--mount=type=(\S+)', dockerfile_text()))
    assert mounted == {'secret,id=pip,target=/etc/pip.conf', 'secret,id=ca',
                       'tmpfs,target=/dev/shm'}
    for keyword, rest in instructions():
        assert keyword not in ('COPY', 'ADD') or 'pip.conf' not in rest


def test_the_base_without_a_registry_is_the_release_of_the_one_with():
    text = (DOCKER / 'debian_base.sh').read_text()
    assert os.access(DOCKER / 'debian_base.sh', os.X_OK)
    assert 'DEBIAN_IMAGE=debian:12\n' in dockerfile_text() and ' bookworm ' in text
    name, = re.findall(r'\$\{1:-(\S+)\}', text)
    assert name in (DOCKER / 'example.env').read_text()
    assert name in (ROOT / 'docs' / 'containers.md').read_text()


def test_the_image_runs_as_nobody_in_particular():
    last = instructions()[[keyword for keyword, _ in instructions()].index('USER'):]
    assert last[0] == ('USER', '10001:10001')
    assert not any(keyword == 'USER' for keyword, _ in last[1:])
    assert '--uid 10001' in dockerfile_text()
    assert {setup(name)[service]['user'] for name, service in each_service()} == {'10001:10001'}
    entry = json.loads(dict(last)['ENTRYPOINT'])
    assert entry == [f'{IN_IMAGE}/docker/enter.sh'] and os.access(ENTER, os.X_OK)


def ignored(path: Path) -> bool:
    """Whether the build context leaves a path of the repository out."""
    patterns = [line for line in (ROOT / '.dockerignore').read_text().splitlines()
                if line and not line.startswith('#')]
    places = [path, *path.parents][:-1]
    return any(fnmatch(str(place), pattern) or (
        pattern.startswith('**/') and fnmatch(place.name, pattern[3:]))
        for place in places for pattern in patterns)


def test_the_build_context_holds_what_is_copied_and_nothing_else_of_weight():
    for keyword, rest in instructions():
        if keyword == 'COPY' and not rest.startswith('--from'):
            source = rest.split()[0]
            assert (ROOT / source).exists() and not (source != '.' and ignored(Path(source)))
    made = [line.strip('/') for line in (ROOT / '.gitignore').read_text().splitlines() if line]
    for name in (*made, '.git', '.venv/bin/python', 'build/x', 'runs/x', 'docker/.env', '.env'):
        assert ignored(Path(name.replace('*', 'x'))), name
    for name in ('src/sightplan/sightplan/cli.py', 'docker/enter.sh', 'docker/example.env',
                 'scripts/build.sh'):
        assert not ignored(Path(name)), name


def test_what_the_image_copies_is_made_or_of_the_checkout():
    stages = {rest.split()[-1] for keyword, rest in instructions() if keyword == 'FROM'}
    for keyword, rest in instructions():
        if keyword == 'COPY' and rest.startswith('--from='):
            stage, source, target = re.fullmatch(r'--from=(\w+) (\S+) (\S+)', rest).groups()
            assert stage in stages and source == f'{IN_IMAGE}/{target}'
            assert target in ('.venv', 'build', 'install')


def test_what_is_left_out_of_the_image_is_not_imported():
    names = {re.split(r'[\s<=\[]', line)[0].lower() for line in
             (ROOT / 'requirements' / 'dev.in').read_text().splitlines()
             if line and not line.startswith('#')}
    for package in (ROOT / 'src').glob('*/setup.py'):
        name = package.parent.name
        for file in (package.parent / name).rglob('*.py'):
            imported = {item.target.partition('.')[0].replace('_', '-')
                        for item in rooms.imports_of(file, package.parent)}
            assert not imported & names, file


UNINSTALL = ('.venv/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes '
             '-r requirements/dev.in')
CHECK = 'docker/enter.sh sightplan run --episodes 1 --out /tmp/check'
HEALTH = 'docker/enter.sh python -m sightplan_nodes.health --help'
RUN_WHERE = {
    # What the image's build and the image run, and where these very commands are tried.
    'apt-get update': 'Debian, Ubuntu',
    'apt-get install -y --no-install-recommends ros-jazzy-control-msgs ros-jazzy-nav2-msgs '
    'ros-jazzy-tf2-msgs ros-jazzy-vision-msgs': 'Ubuntu, with the first of the four packages',
    'apt-get install -y --no-install-recommends cmake g++ git make '
    'python3-colcon-common-extensions python3-dev python3-venv': 'Ubuntu',
    'apt-get install -y --no-install-recommends python3': 'Debian',
    'apt-get install -y --no-install-recommends libgomp1': 'Debian, Ubuntu',
    'apt-get install -y --no-install-recommends g++ git make python3-dev python3-venv': 'Debian',
    'rm -rf /var/lib/apt/lists/*': 'Debian',
    'if [ -f /opt/ros/jazzy/setup.sh ]; then . /opt/ros/jazzy/setup.sh; fi': 'Debian, Ubuntu',
    'groupadd --gid 10001 sightplan': 'Debian, Ubuntu',
    'useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /tmp sightplan':
        'Debian, Ubuntu',
    'ln -s /runs runs': 'Debian, Ubuntu',
    'install -d -o sightplan -g sightplan /runs /models /state': 'Debian, Ubuntu',
    'scripts/venv.sh': 'Makefile',
    'scripts/build.sh': 'Makefile',
    'scripts/build.sh --packages-select sightplan_interfaces': 'Debian, Ubuntu',
    'make test': 'continuous integration',
    UNINSTALL: 'here',
    'docker/enter.sh sightplan doctor': 'here',
    CHECK: 'here',
    HEALTH: 'here',
    'rm -r /tmp/check': 'here',
    'sightplan --help': 'here',
}


def test_every_command_of_the_dockerfile_is_accounted_for():
    found = set()
    for keyword, rest in instructions():
        if keyword == 'RUN':
            rest = re.sub(r'--mount=\S+ ', '', rest)
            found |= {command.strip() for command in rest.split(' && ')}
        elif keyword == 'CMD':
            found.add(shlex.join(json.loads(rest)))
    assert found == RUN_WHERE.keys()
    recipes = (ROOT / 'Makefile').read_text().splitlines()
    assert {'\tscripts/venv.sh', '\tscripts/build.sh'} <= set(recipes)


@pytest.mark.slow
def test_uninstalling_what_only_tests_need(tmp_path):
    scratch = tmp_path / 'venv'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', scratch], check=True)
    command = UNINSTALL.replace('-m pip', f'-m pip --python {scratch}/bin/python')
    done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def enter(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a container does: with nothing but what the image and the user set."""
    return subprocess.run([ENTER, *command], cwd=ROOT, text=True, capture_output=True, check=False,
                          env={'PATH': os.defpath, 'HOME': '/', **environ})


@pytest.mark.slow
def test_the_check_of_the_image_passes(tmp_path):
    command = CHECK.replace('/tmp/check', str(tmp_path / 'check')).split()[1:]
    done = enter(*command, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / 'check' / 'summary.json').read_text())['solved'] == 1
    for command in (HEALTH.split()[1:], ['sightplan', '--help']):
        assert 'usage' in enter(*command).stdout


# The entry point.

def shown(*names: str, **environ: str) -> list[str]:
    """Values of variables in the environment that enter.sh makes."""
    done = enter(sys.executable, '-S', '-c', 'import os, sys; print([os.environ.get(n) for n in '
                 'sys.argv[1:]])', *names, **environ)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout.replace('None', 'null'))


TRANSPORT = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'ROS_AUTOMATIC_DISCOVERY_RANGE')


def test_without_a_network_traffic_stays_on_the_machine():
    assert shown(*TRANSPORT) == [str(ROOT / 'config' / 'fastdds_loopback.xml'), 'SUBNET']


@pytest.mark.slow
def test_nodes_wait_for_a_cable_that_carries():
    """Started before, they would bind to the loopback device alone, and stay so."""
    if os.getuid() or not all(map(shutil.which, ('unshare', 'ip'))):
        pytest.skip('needs root, unshare and ip')
    script = ('ip link set lo up && ip link add here type veth peer name there && '
              'ip addr add 10.77.0.9/24 dev here && ip link set here up && '
              '{ sleep 0.7; touch "$0"; ip link set there up; } & '
              'docker/enter.sh sightplan --help')
    with tempfile.TemporaryDirectory() as folder:
        late = Path(folder) / 'the cable is plugged in'
        done = subprocess.run(
            ['unshare', '--net', 'sh', '-c', script, late], cwd=ROOT, text=True,
            capture_output=True, check=False, env={
                'PATH': os.environ['PATH'], 'HOME': '/', 'SIGHTPLAN_LAN_ADDRESS': '10.77.0.9',
                'ROS_DISCOVERY_SERVER': '10.77.0.9:11811', 'TMPDIR': folder})
        if 'Operation not permitted' in done.stderr:
            pytest.skip(f'no namespaces here: {done.stderr.strip()}')
        assert done.returncode == 0 and 'usage' in done.stdout, done.stderr
        assert 'waiting for 10.77.0.9' in done.stderr and late.exists()


def test_an_address_of_another_machine_is_an_error():
    code = 'import sys, wait_for_link; sys.exit(wait_for_link.main("192.0.2.77", 0.2))'
    done = subprocess.run([sys.executable, '-c', code], cwd=DOCKER, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 1 and 'this machine has 127.0.0.1' in done.stderr


def test_with_a_network_the_profile_binds_to_its_address_alone(tmp_path):
    given = {'SIGHTPLAN_LAN_ADDRESS': '10.77.0.2', 'ROS_DISCOVERY_SERVER': '10.77.0.1:11811'}
    profile, discovery_range = shown(*TRANSPORT, TMPDIR=str(tmp_path), **given)
    assert discovery_range == 'SUBNET'
    assert list(tmp_path.iterdir()) == [Path(profile)]
    spaces = {'p': 'http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles'}

    def transports(file):
        root = ElementTree.parse(file).getroot()
        return {item.findtext('p:type', namespaces=spaces): {
            child.tag.partition('}')[2]: child.text for child in item
            if child.text.strip()} for item in root.iterfind('.//p:transport_descriptor', spaces)}
    addresses = [item.text for item in ElementTree.parse(profile).iterfind('.//p:address', spaces)]
    assert addresses == ['10.77.0.2', '127.0.0.1']
    ours, loopback = transports(profile), transports(ROOT / 'config' / 'fastdds_loopback.xml')
    assert ours['SHM'] == loopback['SHM'], 'images need as much shared memory as without a network'


@pytest.mark.parametrize(('given', 'words'), [
    ({'SIGHTPLAN_LAN_ADDRESS': 'robot/net', 'ROS_DISCOVERY_SERVER': 'x'}, 'not an IPv4 address'),
    ({'SIGHTPLAN_LAN_ADDRESS': '10.77.0.2'}, 'needs ROS_DISCOVERY_SERVER')])
def test_a_network_that_cannot_be_is_refused(given, words):
    done = enter('true', **given)
    assert done.returncode == 2 and words in done.stderr


def test_commands_arrive_as_they_were_given():
    done = enter('printf', '%s|', 'two words', '', '$HOME', 'x:=*')
    assert (done.returncode, done.stdout) == (0, 'two words||$HOME|x:=*|')
    assert enter('sh', '-c', 'exit 7').returncode == 7


def test_a_discovery_server_needs_to_know_its_address():
    done = enter(str(DOCKER / 'discovery.sh'))
    assert done.returncode == 2 and 'ROS_DISCOVERY_SERVER' in done.stderr


# All of it at work.

def check_run(out: Path) -> None:
    """One episode was solved, and its bag is complete."""
    line, = RunStore(out).lines()
    assert measures.solved(line), line
    bag = open_bag(out / line['bag'])
    assert sum(1 for _ in bag.messages()) > 10
    assert not bag.warnings


@pytest.fixture
def domain() -> Iterator[str]:
    with reserved_domain() as number:
        yield str(number)


@pytest.mark.slow
def test_the_services_of_one_machine_solve_an_episode(tmp_path, domain):
    environ = {'EPISODES': '1', 'ROS_DOMAIN_ID': domain, 'RUN': 'one'}
    wanted = services(ALONE, environ, [])
    volumes = {'/runs': tmp_path, '/state': tmp_path / 'state'}
    with machine(wanted, tmp_path / 'machine', volumes) as engine:
        engine.run('world')
        assert engine.probe('recorder') == 1, 'healthy before it was started'
        engine.stop('world')
        engine.up()
        assert engine.wait('experiment') == 0, engine.said('experiment')
        check_run(tmp_path / 'one')
        with hanging(engine, 'symbolic_planner'):
            assert engine.probe('symbolic_planner') == 1, 'healthy although it hangs'
        engine.down()


@contextlib.contextmanager
def hanging(engine: Machine, service: str) -> Iterator[None]:
    """The node of a service, and what it has started, are stopped in their tracks meanwhile."""
    launcher = engine.processes[service].pid
    found = []
    for entry in Path('/proc').iterdir():
        with contextlib.suppress(OSError, ValueError):
            if entry.name.isdigit() and f'SIGHTPLAN_PARENT_PID={launcher}'.encode() in (
                    entry / 'environ').read_bytes().split(b'\0'):
                os.kill(int(entry.name), signal.SIGSTOP)
                found.append(int(entry.name))
    try:
        yield
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def two_machines(folder: Path) -> Iterator[dict[str, list[str]]]:
    """Two network namespaces joined by a cable; yields, by address, how to run commands in them.

    Each has shared memory of its own, too, as machines have.
    """
    script = ('mount -t tmpfs tmpfs /dev/shm && ip link set lo up && echo ready && exec sleep '
              f'{int(4 * LIMIT_S)}')
    holders = []
    try:
        for _ in range(2):
            holder = subprocess.Popen(
                ['unshare', '--net', '--mount', '--ipc', 'sh', '-c', script],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            holders.append(holder)
            if holder.stdout.readline() != 'ready\n':
                pytest.skip(f'no namespaces here: {holder.stderr.read().strip()}')
        ends = {address: (holder.pid, f'cable{number}') for number, (address, holder) in
                enumerate(zip(('10.77.0.1', '10.77.0.2'), holders, strict=True))}
        (one, cable), (other, end) = ends.values()
        subprocess.run(['ip', 'link', 'add', cable, 'netns', str(one), 'type', 'veth', 'peer',
                        'name', end, 'netns', str(other)], check=True)
        inside = {address: ['nsenter', '-t', str(pid), '--net', '--mount', '--ipc',
                            f'--wd={ROOT}', '--'] for address, (pid, _) in ends.items()}
        for address, (_, name) in ends.items():
            for command in (['addr', 'add', f'{address}/24', 'dev', name],
                            ['link', 'set', name, 'up']):
                subprocess.run([*inside[address], 'ip', *command], check=True)
        yield inside
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()


@pytest.mark.slow
def test_the_services_of_two_machines_solve_an_episode(tmp_path, domain):
    if os.getuid() or not all(map(shutil.which, ('unshare', 'nsenter', 'ip'))):
        pytest.skip('needs root, unshare, nsenter and ip')
    environ = {'EPISODES': '1', 'ROS_DOMAIN_ID': domain, 'RUN': 'two', **LAN}
    robot = services(ROBOT, environ, [])
    server = services(SERVER, {**environ, 'LAN_ADDRESS': '10.77.0.2'}, [])
    volumes = {'/runs': tmp_path, '/state': tmp_path / 'state'}
    with two_machines(tmp_path) as inside, \
            machine(robot, tmp_path / 'robot', volumes, inside['10.77.0.1']) as here, \
            machine(server, tmp_path / 'server', volumes, inside['10.77.0.2']) as there:
        there.up()
        here.up()
        there.until_healthy('grounder')
        assert here.wait('experiment') == 0, here.said('experiment')
        check_run(tmp_path / 'two')
        there.down()
        here.down()
