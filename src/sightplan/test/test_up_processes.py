"""``sightplan up`` with nodes that are tiny scripts: no ROS needed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sightplan import cli
from sightplan.graphs.graph import Graph, NodeSpec
from sightplan.graphs.up import (
    PROFILE,
    command,
    describe_exit,
    graph_environment,
    own_names,
    refused_by_keys,
    reserved_domain,
    run_graph,
    transport_environment,
)
from sightplan.model import BusyError, InfrastructureError, InputError

LIMIT_S = 240.0

HEARING = '''
description: Two nodes that say whom they hear
arguments: [{name: hears, type: str, default: all, description: Whether the first hears the other}]
nodes:
  - {package: p, executable: hears, name: first, restarts: MAY, parameters: {p: $(var hears)}}
  - {package: p, executable: hears, name: last, parameters: {p: all}}
'''
IMPATIENT = '''
import sys
from sightplan.graphs import hearing, keep_alive
from sightplan.cli import main
hearing.LOST_S = 0.5
keep_alive._LISTENER = 'listener'
sys.exit(main(sys.argv[1:]))
'''
GRAPH = '''
description: Two nodes
arguments:
  - {name: text, type: str, default: hello, description: What is said}
nodes:
  - {package: p, executable: FIRST, name: first}
  - {package: p, executable: LAST, name: last, ends_graph: true, parameters: {text: $(var text)}}
'''
READY = '{setup}\nprint("waiting", flush=True)\nopen(__file__ + ".ready", "w").close()\n'
WAITS = f'import signal, sys, time\n{READY}time.sleep(600)\n'
THE_OTHER_WAITS = ('import glob, os, time\n'
                   'while not glob.glob(os.path.dirname(__file__) + "/*.ready"):\n'
                   '    time.sleep(0.02)\n')
SCRIPTS = {
    'waits': WAITS.format(setup=''),
    'polite': WAITS.format(setup='signal.signal(signal.SIGINT, lambda *_: (print("bye", '
                                 'flush=True), sys.exit(0)))\nsignal.signal(signal.SIGTERM, '
                                 'lambda *_: (print("bye by TERM", flush=True), sys.exit(0)))'),
    'stubborn': WAITS.format(setup='signal.signal(signal.SIGINT, signal.SIG_IGN)\n'
                                   'signal.signal(signal.SIGTERM, signal.SIG_IGN)'),
    'says': 'import sys\nprint(sys.argv[1:])\nprint("problem", file=sys.stderr)\n'
            + THE_OTHER_WAITS,
    'fails': f'import sys\n{THE_OTHER_WAITS}sys.exit(3)\n',
    'misused': 'import sys\nsys.exit(2)\n',
    'parent': WAITS.format(setup='import subprocess\nsubprocess.Popen([sys.executable, "-c", '
                                 '"import time; time.sleep(600)"])'),
    'dies': f'import os, signal\n{THE_OTHER_WAITS}os.kill(os.getpid(), signal.SIGKILL)\n',
    'hears': 'import json, os, sys, time\nhears = sys.argv[-1].replace(chr(34), "")\n'
             'mark = __file__ + ".deaf"\n'
             'name = [w for w in sys.argv if w.startswith("__node")][0].partition(":=")[2]\n'
             'deaf = name == "first" and hears != "p:=all"\n'
             'if hears == "p:=later":\n'
             '    deaf = deaf and not os.path.exists(mark)\n    open(mark, "a").write("x")\n'
             'print("I am", name, os.getpid(), flush=True)\n'
             'while True:\n    line = json.dumps({"node": name, "pid": os.getpid(), "hears": '
             '[] if deaf else ["first", "last"]})\n'
             '    os.write(int(os.environ["SIGHTPLAN_KEEPER_FD"]), line.encode() + b"\\n")\n'
             '    time.sleep(0.05)\n',
    'environment': 'import json, os\nprint("ENV" + json.dumps(dict(os.environ)), flush=True)\n',
}


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    folder = tmp_path / 'prefix'
    programs = folder / 'lib' / 'p'
    programs.mkdir(parents=True)
    for name, code in SCRIPTS.items():
        (programs / name).write_text(f'#!{sys.executable} -S\n{code}')
        (programs / name).chmod(0o755)
    config = folder / 'share' / 'sightplan_bringup' / 'config'
    config.mkdir(parents=True)
    (config / PROFILE).write_text('<dds/>')
    return folder


class Up:
    """A running ``sightplan up``."""

    def __init__(self, prefix: Path, first: str, last: str, *arguments: str,
                 **environment: str) -> None:
        file = prefix.parent / 'graph.yaml'
        file.write_text(GRAPH.replace('FIRST', first).replace('LAST', last))
        drop = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
        env = {k: v for k, v in os.environ.items() if k not in drop}
        env.update(AMENT_PREFIX_PATH=str(prefix), **environment)
        self.log = prefix.parent / 'log.txt'
        with self.log.open('wb') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'sightplan.cli', 'up', str(file), *arguments], env=env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)

    @property
    def text(self) -> str:
        return self.log.read_text()

    def until(self, text: str, times: int = 1) -> None:
        end = time.monotonic() + LIMIT_S
        while self.text.count(text) < times:
            assert time.monotonic() < end, self.text
            assert self.process.poll() is None or self.text.count(text) >= times, self.text
            time.sleep(0.02)

    def wait(self) -> int:
        code = self.process.wait(LIMIT_S)
        end = time.monotonic() + LIMIT_S
        while self.left():
            assert time.monotonic() < end, f'left: {self.left()}'
            time.sleep(0.02)
        return code

    def left(self) -> list[int]:
        """Processes that this ``up`` has left behind."""
        mark = f'SIGHTPLAN_PARENT_PID={self.process.pid}'.encode()
        found = []
        for entry in Path('/proc').iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and mark in (entry / 'environ').read_bytes().split(b'\0'):
                    found.append(int(entry.name))
        return found


@pytest.fixture
def up(prefix: Path):
    running: list[Up] = []

    def start(*arguments: str, **environment: str) -> Up:
        running.append(Up(prefix, *arguments, **environment))
        return running[-1]
    yield start
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        for pid in each.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_ends_with_the_driver_and_stops_the_others(up) -> None:
    run = up('polite', 'says', 'text:=it is "4" o\'clock: yes')
    assert run.wait() == 0, run.text
    assert '[first] bye\n' in run.text
    assert '[last] problem\n' in run.text
    assert '__node:=last' in run.text
    assert 'text:="it is' in run.text


@pytest.mark.parametrize(('last', 'code', 'words'), [
    ('fails', 1, 'last ended with exit code 3'), ('misused', 2, 'last ended with exit code 2'),
    ('dies', 1, 'last was killed by SIGKILL')])
def test_the_exit_code_is_the_drivers(up, last: str, code: int, words: str) -> None:
    run = up('waits', last)
    assert run.wait() == code
    assert words in run.text


@pytest.mark.parametrize(('first', 'words'), [
    ('dies', 'first was killed by SIGKILL; stopping the other nodes'),
    ('fails', 'first ended with exit code 3; stopping the other nodes'),
    ('says', 'first ended with exit code 0; stopping the other nodes')])
def test_a_node_that_ends_unasked_ends_the_graph(up, first: str, words: str) -> None:
    run = up(first, 'polite')
    assert run.wait() == 1
    assert words in run.text
    assert '[last] bye by TERM' in run.text, 'the graph breaks down: nobody wished it'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_stop_everything_politely(up, number: int) -> None:
    run = up('polite', 'polite')
    run.until('waiting', 2)
    run.process.send_signal(number)
    assert run.wait() == 1
    assert f'stopped by {signal.Signals(number).name}' in run.text
    assert run.text.index('[last] bye\n') < run.text.index('[first] bye\n'), 'last first'


@pytest.mark.slow
def test_a_stubborn_node_is_killed(up) -> None:
    run = up('stubborn', 'says')
    assert run.wait() == 0
    assert 'first: not stopped yet; sending SIGKILL' in run.text


@pytest.fixture
def domain():
    """A ROS domain of this test alone: two graphs with nodes of one name exclude each other."""
    with reserved_domain() as number:
        yield str(number)


@pytest.fixture
def hearing(prefix: Path, domain: str):
    """Starts two nodes of which the first may be deaf, with little patience."""
    running: list[Up] = []

    def start(may: str, hears: str, *more: str, heard_beside: object = None) -> Up:
        run = Up.__new__(Up)
        (prefix / 'listener.py').write_text(
            f'print({json.dumps(heard_beside)!r})\nopen(__file__ + ".done", "a").write("x")\n')
        file, run.log = prefix.parent / 'hearing.yaml', prefix.parent / 'hearing.txt'
        file.write_text(HEARING.replace('MAY', may))
        with run.log.open('wb') as log:
            run.process = subprocess.Popen(
                [sys.executable, '-c', IMPATIENT, 'up', str(file), f'hears:={hears}',
                 '--keep-alive', *more],
                env={**os.environ, 'AMENT_PREFIX_PATH': str(prefix), 'ROS_DOMAIN_ID': domain,
                     'PYTHONPATH': f'{prefix}:{os.environ.get("PYTHONPATH", "")}',
                     'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)
        running.append(run)
        return run
    yield start
    for run in running:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()
        for pid in run.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_deaf_node_is_restarted_and_the_graph_goes_on(hearing) -> None:
    run = hearing('true', 'later')
    run.until('[first] I am', 2)
    assert 'first does not hear last, for' in run.text
    assert 'it is deaf; restarting it (1 of 3)' in run.text
    time.sleep(1.5)
    assert run.process.poll() is None and run.text.count('] I am') == 3, run.text
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 0, 'a graph without a run ends so'


def test_a_node_that_stays_deaf_ends_the_graph(hearing) -> None:
    run = hearing('true', 'never')
    assert run.wait() == 1
    assert run.text.count('[first] I am') == 2
    # That has not helped, so the other one, of as many, is next; and must not be restarted.
    assert re.search(r'last is not heard by first, .* must not be restarted .*stopping the nodes, '
                     r'the same command starts them again\n', run.text), run.text


def test_a_deaf_node_that_must_not_be_restarted_ends_the_graph(hearing) -> None:
    run = hearing('false', 'never')
    assert run.wait() == 1
    assert run.text.count('[first] I am') == 1
    assert 'first does not hear last' in run.text and 'must not be restarted' in run.text


def test_a_node_that_hears_nobody_is_restarted_if_others_are_heard_beside_it(hearing) -> None:
    run = hearing('true', 'later', '--only=first', heard_beside={'hears': {'last': ['first']}})
    run.until('[first] I am', 2)
    assert 'first does not hear last, for' in run.text
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 0, 'a graph without a run ends so'


@pytest.mark.parametrize('heard', [{'hears': {}}, {'hears': {'console': []}}, {'hears': 3}, {}, 3])
def test_a_node_that_hears_nobody_waits_where_nobody_is(hearing, prefix: Path, heard) -> None:
    run = hearing('true', 'never', '--only=first', heard_beside=heard)
    done, end = prefix / 'listener.py.done', time.monotonic() + LIMIT_S
    while not (done.exists() and len(done.read_text()) >= 2):
        assert time.monotonic() < end, run.text
        time.sleep(0.05)
    if isinstance(heard, dict) and isinstance(heard.get('hears'), dict):
        time.sleep(1.0)
        assert 'cannot be found out' not in run.text
    else:
        run.until('cannot be found out')
        assert run.text.count('cannot be found out') == 1
    assert run.process.poll() is None and run.text.count('] I am') == 1, run.text
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 0, 'a graph without a run ends so'


def test_what_a_node_started_is_ended_too(up) -> None:
    run = up('parent', 'fails')
    assert run.wait() == 1


def test_nodes_get_a_domain_and_the_transport(up, domain: str) -> None:
    run = up('waits', 'environment')
    assert run.wait() == 0
    env = json.loads(re.search(r'ENV(.*)', run.text).group(1))
    assert 1 <= int(env['ROS_DOMAIN_ID']) <= 101
    assert env['FASTRTPS_DEFAULT_PROFILES_FILE'].endswith(PROFILE)
    assert env['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    chosen = up('waits', 'environment', ROS_DOMAIN_ID=domain, ROS_AUTOMATIC_DISCOVERY_RANGE='OFF')
    assert chosen.wait() == 0
    env = json.loads(re.search(r'ENV(.*)', chosen.text).group(1))
    assert (env['ROS_DOMAIN_ID'], env['ROS_AUTOMATIC_DISCOVERY_RANGE']) == (domain, 'OFF')


def test_json_reports_what_happened(up) -> None:
    run = up('fails', 'waits', '--json')
    assert run.wait() == 1
    report = json.loads(run.text.splitlines()[-1])
    assert (report['exit_code'], report['ended_by']) == (1, 'first')
    assert report['reason'] == 'ended with exit code 3'


def test_arguments_are_shown(up) -> None:
    run = up('waits', 'waits', '--show-args')
    assert run.wait() == 0
    assert "'text':" in run.text
    assert 'What is said' in run.text
    as_json = up('waits', 'waits', '--show-args', '--json')
    assert as_json.wait() == 0
    assert json.loads(as_json.text)['arguments'][0]['name'] == 'text'


@pytest.mark.parametrize(('first', 'arguments', 'words'), [
    ('waits', ('texd:=x',), "did you mean 'text'"), ('nothing', (), "executable 'nothing'"),
    ('waits', ('text=x',), 'did you mean text:=x')])
def test_bad_usage_starts_nothing(up, first: str, arguments: tuple[str, ...],
                                  words: str) -> None:
    run = up(first, 'waits', *arguments)
    assert run.wait() == 2
    assert words in run.text
    assert 'waiting' not in run.text


def test_options_may_stand_between_the_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(['up', 'experiment', '-s', 'split:=hard', 'seed:=1', '--ony'])
    assert 'unrecognized arguments: ' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(['up', 'experiment', '--namespace', 'left'])
    assert 'no dashes: namespace:=VALUE' in capsys.readouterr().err
    assert cli.main(['up', 'experiment', 'seed:=1', '--only', 'nobody', 'seed:=x']) == 2
    assert 'seed' in capsys.readouterr().err


def test_a_missing_profile_is_loud(up, prefix: Path) -> None:
    (prefix / 'share' / 'sightplan_bringup' / 'config' / PROFILE).unlink()
    run = up('waits', 'waits')
    assert run.wait() == 1
    assert 'whole network' in run.text
    assert 'waiting' not in run.text


def test_transport_is_left_to_who_has_chosen(monkeypatch: pytest.MonkeyPatch, prefix: Path,
                                             ) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    assert transport_environment({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}) == {}
    own = prefix / 'own.xml'
    own.write_text('')
    assert transport_environment({'FASTDDS_DEFAULT_PROFILES_FILE': str(own)}) == {}
    assert transport_environment({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}) == {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with pytest.raises(InfrastructureError, match=r'gone\.xml'):
        transport_environment({'FASTRTPS_DEFAULT_PROFILES_FILE': '/gone.xml'})


@pytest.mark.parametrize('domain', ['x', '-1', '233', '²', '٧'])
def test_a_bad_domain_is_named(domain: str) -> None:
    with contextlib.ExitStack() as stack, pytest.raises(InputError, match='ROS_DOMAIN_ID'):
        graph_environment({'ROS_DOMAIN_ID': domain, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, stack)


def test_domains_are_reserved_and_given_back() -> None:
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(reserved_domain()) for _ in range(20)]
        assert len(set(taken)) == 20
    with socket.socket() as again:
        again.bind(('127.0.0.1', 32768 + taken[0]))


def test_nobody_else_starts_a_node_of_the_same_name_in_the_same_domain() -> None:
    agent, eyes = f'agent{os.getpid()}', f'left/eyes{os.getpid()}'
    with own_names(250, [agent, eyes]):
        with own_names(251, [agent]), own_names(250, [eyes.removeprefix('left/')]):
            pass
        with pytest.raises(BusyError, match=f'has a node {eyes} in ROS domain 250: end it'), \
                own_names(250, [f'planner{os.getpid()}', eyes]):
            pass
        with own_names(250, [f'planner{os.getpid()}']):  # what was taken before is given back
            pass
    with own_names(250, [agent]):
        pass


def test_a_graph_is_refused_where_another_has_its_nodes(
        prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f'n{os.getpid()}'
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    monkeypatch.setenv('ROS_DOMAIN_ID', '0199')
    node = NodeSpec(package='p', executable='waits', name=name)
    graph = Graph(description='One node', nodes=(node,), arguments=())
    with own_names(199, [name]), pytest.raises(BusyError, match='another "sightplan up"'):
        run_graph(graph, {})


def test_a_domain_that_was_given_to_a_graph_is_not_chosen_for_another(
        monkeypatch: pytest.MonkeyPatch) -> None:
    from sightplan.graphs import up as module
    with reserved_domain() as free:
        pass
    monkeypatch.setattr(module, '_DOMAINS', range(free, free + 1))
    with own_names(free, ['grounder']), \
            pytest.raises(InfrastructureError, match='no ROS domain'), reserved_domain():
        pass
    with reserved_domain() as chosen:
        assert chosen == free


def test_no_domain_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    from sightplan.graphs import up as module
    with reserved_domain() as domain:
        monkeypatch.setattr(module, '_DOMAINS', range(domain, domain + 1))
        with pytest.raises(InfrastructureError, match='no ROS domain'), reserved_domain():
            pass


def test_parameters_are_written_as_ros_reads_them(prefix: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    node = NodeSpec(package='p', executable='waits', name='n',
                    parameters={'a': 1, 'b': 1.0, 'c': True, 'd': '1', 'e': ''})
    assert command(node, {})[4:] == ['-p', 'a:=1', '-p', 'b:=1.0', '-p', 'c:=true', '-p',
                                     'd:="1"', '-p', 'e:=""']


@pytest.fixture
def secured(prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the enclaves of a keystore, where only who has keys may speak."""
    folder = tmp_path / 'keystore' / 'enclaves'
    folder.mkdir(parents=True)
    for name, value in (('ENABLE', 'true'), ('STRATEGY', 'Enforce'),
                        ('KEYSTORE', str(folder.parent))):
        monkeypatch.setenv(f'ROS_SECURITY_{name}', value)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    return folder


NODE = {'package': 'p', 'executable': 'waits', 'name': 'n', 'namespace': 'left'}


def test_each_node_has_keys_of_its_own(secured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (secured / 'left' / 'n').mkdir(parents=True)
    assert command(NodeSpec(**NODE), {})[-2:] == ['--enclave', '/left/n']
    monkeypatch.setenv('ROS_SECURITY_ENCLAVE_OVERRIDE', '/all')
    assert '--enclave' not in command(NodeSpec(**NODE), {})
    monkeypatch.delenv('ROS_SECURITY_ENCLAVE_OVERRIDE')
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'false')
    assert '--enclave' not in command(NodeSpec(**NODE), {})


def test_a_node_without_keys_is_not_started_where_others_have_some(
        secured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match='no folder enclaves/left/n.*security policy'):
        command(NodeSpec(**NODE), {})
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Permissive')
    monkeypatch.setenv('ROS_SECURITY_KEYSTORE', '')
    with pytest.raises(InputError, match='no folder enclaves/left/n'):
        command(NodeSpec(**NODE), {})


def test_permissions_are_for_one_domain_which_must_be_set() -> None:
    given = {'ROS_SECURITY_ENABLE': 'true', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}
    with contextlib.ExitStack() as stack:
        with pytest.raises(InputError, match='set ROS_DOMAIN_ID'):
            graph_environment(given, stack)
        assert graph_environment({**given, 'ROS_DOMAIN_ID': '7'}, stack)['ROS_DOMAIN_ID'] == '7'


def test_exit_codes_in_words() -> None:
    assert describe_exit(3) == 'ended with exit code 3'
    assert describe_exit(-11) == 'was killed by SIGSEGV'
    assert describe_exit(-64) == 'was killed by SIGRTMAX'
    assert describe_exit(-63) == 'was killed by signal 63'


@pytest.mark.parametrize('said', [
    'Failed to create publisher: create_publisher() could not create data writer, at x',
    'failed to create client: create_client() failed to create response DataReader, at x',
    'Failed to create subscription: invalid allocator, at x',
    "error creating node: couldn't find all security files!, at x"])
def test_what_keys_do_not_allow_is_said_with_the_remedy(said: str) -> None:
    keys = {'ROS_SECURITY_ENABLE': 'true', 'ROS_DOMAIN_ID': '7'}
    assert refused_by_keys(RuntimeError(said), {}) == ''
    assert refused_by_keys(RuntimeError('out of memory'), keys) == ''
    words = refused_by_keys(RuntimeError(said), keys)
    assert 'security policy GRAPH' in words and words.endswith('ROS_DOMAIN_ID=7')
