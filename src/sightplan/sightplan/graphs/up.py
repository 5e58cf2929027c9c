"""Start a graph's nodes as processes, without ``ros2 launch``; ``sightplan up`` is the command.

Each node is a process in a session of its own, so that a Ctrl-C in the terminal reaches ``up``
alone, which then stops the nodes in a sensible order. When one node ends unasked the others are
stopped too. No node outlives ``up``, however it ends: nodes ask the kernel to be told. An optional
layer above it, ``keep_alive``, restarts nodes that lose their peers.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from sightplan.graphs.graph import Graph, NodeSpec, Value, find_graph
from sightplan.graphs.placing import with_actions
from sightplan.model import (
    BusyError,
    InfrastructureError,
    InputError,
    SightplanError,
    config_folders,
)

DONE, FAILED, USAGE = 0, 1, 2

PARENT_VARIABLE = 'SIGHTPLAN_PARENT_PID'
"""Environment variable with the id of the process at whose end a node ends, too."""

PROFILE = 'fastdds_loopback.xml'
_PROFILE_VARIABLES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_DOMAIN = 'ROS_DOMAIN_ID'
_DOMAINS = range(1, 102)
_PORT_BASE = 32768  # where ROS's own domain_coordinator reserves domains, too

SECURITY, STRATEGY, KEYSTORE, _OVERRIDE = (
    'ROS_SECURITY_ENABLE', 'ROS_SECURITY_STRATEGY', 'ROS_SECURITY_KEYSTORE',
    'ROS_SECURITY_ENCLAVE_OVERRIDE')
"""The variables of SROS 2."""
_REFUSAL = re.compile(r'could not create data (writer|reader)|security files|invalid allocator'
                      r'|failed to create \w+ Data(Writer|Reader)')

_PR_SET_PDEATHSIG = 1
DEAF_TO_INTERRUPTS = ('/bin/sh', '-c', 'trap "" INT; exec "$0" "$@"')
"""Start of a node's command line: while its modules load, an interruption makes no traceback."""
_TURN_S = 4.0  # before the next node is asked to stop
_PATIENCE = ((signal.SIGTERM, 6.0), (signal.SIGKILL, 5.0))  # after the polite signal
_COLOURS = (36, 32, 33, 35, 34, 31)


# Environment.

def graph_environment(environ: Mapping[str, str], stack: contextlib.ExitStack) -> dict[str, str]:
    """Return the environment of a graph's nodes.

    Args:
        environ: the environment of this process; what the user has set is kept.
        stack: holds the reservation of the ROS domain.

    Raises:
        InputError: a value set by the user cannot be right.
        InfrastructureError: the loopback profile is missing, or no domain is free.
    """
    environment = {**environ, **transport_environment(environ)}
    given = environ.get(_DOMAIN, '')
    if given:
        if not (given.isascii() and given.isdecimal()) or not 0 <= int(given) <= 232:
            raise InputError(f'{_DOMAIN}={given} is not a number from 0 to 232')
    elif environ.get(SECURITY) == 'true':
        raise InputError(f'{SECURITY} is true, and permissions are for one ROS domain: set '
                         f'{_DOMAIN} to the one with which they were generated')
    else:
        environment[_DOMAIN] = str(stack.enter_context(reserved_domain()))
    environment[PARENT_VARIABLE] = str(os.getpid())
    environment.setdefault('PYTHONUNBUFFERED', '1')
    environment.setdefault('RCUTILS_COLORIZED_OUTPUT', '0')
    return environment


def transport_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that a graph stays on this machine and loses no image.

    ROS's defaults do neither: see the profile. The result is empty where the user has chosen.

    Raises:
        InfrastructureError: the profile is missing. Going on without it would multicast to the
            whole network, so this must be loud.
    """
    for variable in _PROFILE_VARIABLES:
        given = environ.get(variable)
        if given and not Path(given).is_file():
            raise InfrastructureError(f'{variable}={given}: no such file; unset it, or build the '
                                      'workspace again')
    if environ.get(_RANGE) or any(environ.get(variable) for variable in _PROFILE_VARIABLES):
        return {}
    if not environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps').startswith('rmw_fastrtps'):
        return {_RANGE: 'LOCALHOST'}
    for folder in config_folders():
        if (folder / PROFILE).is_file():
            return {_PROFILE_VARIABLES[0]: str(folder / PROFILE), _RANGE: 'SUBNET'}
    raise InfrastructureError(
        f'{PROFILE} is in none of {", ".join(map(str, config_folders())) or "(no prefix)"}: '
        f'without it the graph would speak to the whole network. Build the workspace again, or '
        f'set {_RANGE} yourself')


@contextlib.contextmanager
def reserved_domain() -> Iterator[int]:
    """Reserve a ROS domain that no other graph on this machine uses, while the context lasts.

    A graph whose domain was given reserves nothing; its domain is known by its nodes' names.

    Raises:
        InfrastructureError: all domains are taken.
    """
    used = _domains_with_nodes()
    domains = [domain for domain in _DOMAINS if domain not in used]
    for domain in random.sample(domains, len(domains)):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
            try:
                holder.bind(('127.0.0.1', _PORT_BASE + domain))
            except OSError:
                continue
            yield domain
            return
    raise InfrastructureError(f'no ROS domain from {_DOMAINS[0]} to {_DOMAINS[-1]} is free; set '
                              f'{_DOMAIN} to share one')


def _domains_with_nodes() -> set[int]:
    """ROS domains in which ``own_names`` of any process on this machine has reserved names."""
    with contextlib.suppress(OSError):
        return {int(number) for number in re.findall(
            r'@sightplan/(\d+)/', Path('/proc/net/unix').read_text(errors='replace'))}
    return set()  # not Linux


@contextlib.contextmanager
def own_names(domain: int, names: Iterable[str]) -> Iterator[None]:
    """Reserve the names of nodes in a ROS domain on this machine while the context lasts.

    Two nodes of one name get each other's requests, and neither of two graphs works. A name is
    held by an abstract socket without listener, and is free when its process is gone.

    Raises:
        BusyError: another process has reserved one of the names.
    """
    with contextlib.ExitStack() as held:
        for name in names:
            holder = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            try:
                holder.bind(f'\0sightplan/{domain}/{name}')
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    continue  # no abstract sockets here
                raise BusyError(
                    f'another "sightplan up" on this machine has a node {name} in ROS domain '
                    f'{domain}: end it, or give this graph a'
                    f'{"nother" if "/" in name else ""} namespace (namespace:=NAME) or another '
                    f'{_DOMAIN}') from error
        yield


def enclave_arguments(full_name: str, environ: Mapping[str, str]) -> list[str]:
    """Return the ROS arguments that give a process the keys of its own enclave.

    Args:
        full_name: of the node, without the leading slash; the enclave is called so, too.
        environ: with the variables of SROS 2.

    Returns:
        Nothing where ``ROS_SECURITY_ENABLE`` is not ``true``, or the environment names one.
    """
    if environ.get(SECURITY) != 'true' or environ.get(_OVERRIDE):
        return []
    return ['--enclave', f'/{full_name}']


def check_enclave(full_name: str, environ: Mapping[str, str]) -> None:
    """Refuse to start a node without keys where others have some.

    With ROS's default strategy, Permissive, it would speak to whoever speaks without keys.

    Raises:
        InputError: the keystore has no enclave for the node; says how to make it.
    """
    if not enclave_arguments(full_name, environ):
        return
    given = environ.get(KEYSTORE, '')
    if not given or not (Path(given) / 'enclaves' / full_name).is_dir():
        raise InputError(f'{SECURITY} is true, but there is no folder enclaves/{full_name} in the '
                         f'keystore ({KEYSTORE}={given}): write the policy with "sightplan '
                         'security policy GRAPH --out policy.xml" and make the enclaves with '
                         '"ros2 security generate_artifacts -k KEYSTORE -p policy.xml"')


def refused_by_keys(error: Exception, environ: Mapping[str, str]) -> str:
    """Return the message for a node that DDS denied a topic or service; '' for other errors.

    Args:
        error: error of rclpy while a part of a node was made.
        environ: environment with the variables of SROS 2.
    """
    if environ.get(SECURITY) != 'true' or not _REFUSAL.search(str(error)):
        return ''
    return ('its keys do not allow what it does with these arguments (the lines of DDS above with '
            '"not found in allow rule" say what): write the policy anew with "sightplan security '
            'policy GRAPH ARGUMENTS --out policy.xml" and make the enclaves with "ros2 security '
            'generate_artifacts -k KEYSTORE -p policy.xml", in a shell with '
            f'ROS_DOMAIN_ID={environ.get("ROS_DOMAIN_ID") or 0}')


def command(node: NodeSpec, values: Mapping[str, Value]) -> list[str]:
    """Return the command line of a node.

    Raises:
        InputError: its executable is not installed, or it has no keys where it needs some.
    """
    check_enclave(node.full_name, os.environ)
    arguments = [str(_executable(node)), *ros_arguments(node, os.environ)]
    for name, value in node.resolved(values).items():
        arguments += ['-p', f'{name}:={json.dumps(value)}']  # JSON is YAML, which ROS reads
    return arguments


def ros_arguments(node: NodeSpec, environ: Mapping[str, str]) -> list[str]:
    """Return the ROS arguments that give a node its name, place, names and keys.

    Args:
        node: the node, placed.
        environ: with the variables of SROS 2.
    """
    rules = [('__node', node.name), *([('__ns', f'/{node.namespace}')] if node.namespace else []),
             *with_actions(node.remap.items())]
    return ['--ros-args', *(part for source, target in rules
                            for part in ('-r', f'{source}:={target}')),
            *enclave_arguments(node.full_name, environ)]


def _executable(node: NodeSpec) -> Path:
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in prefixes:
        path = Path(prefix) / 'lib' / node.package / node.executable
        if os.access(path, os.X_OK) and path.is_file():
            return path
    raise InputError(f'executable {node.executable!r} of package {node.package!r} is not '
                     'installed: build the workspace (make build) and use .venv/bin/sightplan, '
                     'or source install/setup.bash')


# Processes.

@dataclass(frozen=True, slots=True)
class GraphEnd:
    """The end of a graph.

    Attributes:
        code: exit code: that of the node that ends the graph, else 1.
        ended_by: name of the node that ended first; '' if a signal came.
        reason: what happened to that node.
        ros_domain_id: ROS domain in which the graph ran.
    """

    code: int
    ended_by: str
    reason: str
    ros_domain_id: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """A node that a layer found to be useless as it runs.

    Attributes:
        node: its full name.
        words: what is wrong with it.
        restart: whether it is to be restarted; else the graph has to end.
    """

    node: str
    words: str
    restart: bool


class Layer:
    """A watcher over the nodes of a running graph; this one does nothing.

    Attributes:
        environment: variables that nodes are given.
        inherited: file descriptors that nodes inherit.
    """

    environment: Mapping[str, str] = {}
    inherited: tuple[int, ...] = ()

    def begin(self, environment: Mapping[str, str], say: Callable[[str], None],
              tell: Callable[[dict[str, Any]], None]) -> None:
        """Begin to watch a graph that starts.

        Args:
            environment: environment of its nodes.
            say: prints a line for people.
            tell: receives events, see ``run_graph``.
        """

    def started(self, node: str, pid: int) -> None:
        """Take the process id of a node that was started, perhaps again."""

    def check(self) -> Verdict | None:
        """Return a useless node, None if there is none; called about twice a second."""
        return None

    def pause(self) -> None:
        """End what runs beside the nodes, since a node is restarted or the graph ends."""


def run_graph(graph: Graph, values: Mapping[str, Value], revive: bool = False,
              layer: Layer | None = None,
              tell: Callable[[dict[str, Any]], None] = lambda event: None,
              hint: str = '') -> GraphEnd:
    """Start all nodes of a graph, wait for the first to end or a signal, and stop all.

    Args:
        graph: with the nodes that are wanted.
        values: of its arguments.
        revive: whether a node that was killed (SIGKILL) is started again; else the graph ends.
        layer: watches over the nodes; None: nobody does.
        tell: is given what happens, for benches: ``started`` (node, pid) and ``ended`` (node,
            reason); with ``KeepAlive`` also ``whole`` (all nodes hear each other; again after each
            start) and ``deaf`` (node, words, restart).
        hint: what to do once the graph is up, printed at the start; '' for nothing.

    Raises:
        InputError: an executable is not installed, or a variable of the environment is wrong.
        InfrastructureError: a process cannot be started, or no ROS domain is free.
        BusyError: another graph has a node of such a name in the ROS domain.
    """
    with contextlib.ExitStack() as stack:
        environment = graph_environment(os.environ, stack)
        stack.enter_context(own_names(int(environment[_DOMAIN]),
                                      (node.full_name for node in graph.nodes)))
        layer = layer or Layer()
        environment.update(layer.environment)
        run = _Run(graph, [command(node, values) for node in graph.nodes], environment,
                   layer, revive, tell, hint)
        code = run.until_end()
        tell({'event': 'ended', 'node': run.ended_by, 'reason': run.reason})
    return GraphEnd(code, run.ended_by, run.reason, int(environment[_DOMAIN]))


@dataclass
class _Process:
    """The process of a node."""

    spec: NodeSpec
    popen: subprocess.Popen[bytes]
    readers: list[threading.Thread] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.spec.full_name

    def alive(self) -> bool:
        return self.popen.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to the node and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, number)


class _Run:
    """A run of a graph, from start to end."""

    def __init__(self, graph: Graph, commands: Sequence[Sequence[str]],
                 environment: Mapping[str, str], layer: Layer, revive: bool,
                 tell: Callable[[dict[str, Any]], None], hint: str) -> None:
        self._graph, self._commands, self._environment = graph, commands, environment
        self._layer, self._revive, self._tell, self._hint = layer, revive, tell, hint
        self._processes: list[_Process] = []
        self._wake = threading.Event()
        self._stop_signal = 0
        self._print_lock = threading.Lock()
        self._killed = False
        self.ended_by = ''
        self.reason = ''

    def until_end(self) -> int:
        """Start all nodes, wait, stop all; returns the exit code."""
        handlers = {number: signal.signal(number, self._on_signal)
                    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            space = self._graph.namespace
            self._say(f'graph {self._graph.name!r}, {_DOMAIN}={self._environment[_DOMAIN]}'
                      + (f', namespace /{space}' if space else ''))
            if self._hint:
                self._say(self._hint)
            self._layer.begin(self._environment, self._say, self._tell)
            self._start()
            code = self._watch()
            self._stop_all(polite=signal.SIGINT if self._stop_signal or code == DONE
                           else signal.SIGTERM)
            return code
        finally:
            for process in self._processes:
                process.signal(signal.SIGKILL)  # whatever is left of its group
                process.popen.wait()
            self._layer.pause()
            for process in self._processes:
                for reader in process.readers:
                    reader.join(2.0)
            if self._killed:
                clean_shared_memory()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop_signal = number
        self._wake.set()

    def _start(self) -> None:
        for index in range(len(self._graph.nodes)):
            if self._stop_signal:
                return
            self._processes.append(self._started(index))

    def _started(self, index: int) -> _Process:
        """Start the process of a node, and return it."""
        spec = self._graph.nodes[index]
        try:
            popen = subprocess.Popen(
                [*DEAF_TO_INTERRUPTS, *self._commands[index]],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=None if self._owns_terminal(spec) else subprocess.PIPE,
                env=dict(self._environment), start_new_session=True,
                pass_fds=self._layer.inherited)
        except OSError as error:
            raise InfrastructureError(f'{spec.name} cannot be started: {error}') from error
        process = _Process(spec, popen)
        self._layer.started(process.name, popen.pid)
        self._tell({'event': 'started', 'node': process.name, 'pid': popen.pid})
        for stream, target in ((popen.stdout, sys.stdout), (popen.stderr, sys.stderr)):
            if stream is not None:
                self._forward(process, stream, target, index)
        threading.Thread(target=self._await, args=(popen,), daemon=True).start()
        return process

    def _restart(self, index: int) -> None:
        """End a node, if it has not ended, and whatever it started; start it again."""
        process = self._processes[index]
        self._layer.pause()  # what was heard beside it is of no use to the next one
        for number, limit_s in ((signal.SIGTERM, _TURN_S), (signal.SIGKILL, _TURN_S)):
            if process.alive():
                process.signal(number)
                _wait_for_end([process], limit_s)
        process.signal(signal.SIGKILL)  # whatever is left of its group
        process.popen.wait()
        clean_shared_memory()  # also of others that were killed: the next one may get their ports
        if not self._stop_signal:
            self._processes[index] = self._started(index)

    def _await(self, popen: subprocess.Popen[bytes]) -> None:
        popen.wait()
        self._wake.set()

    def _owns_terminal(self, spec: NodeSpec) -> bool:
        """Return whether a node writes to the terminal itself, as its progress bar must."""
        return spec.ends_graph and sys.stderr.isatty()

    def _forward(self, process: _Process, stream: IO[bytes], target: IO[str],
                 index: int) -> None:
        prefix = f'[{process.name}] '
        if target.isatty():
            prefix = f'\033[{_COLOURS[index % len(_COLOURS)]}m{prefix}\033[0m'

        def forward() -> None:
            with stream:
                for line in stream:
                    self._write(target, prefix + line.decode('utf-8', 'replace').rstrip('\n'))

        reader = threading.Thread(target=forward, name=f'output of {process.name}', daemon=True)
        reader.start()
        process.readers.append(reader)

    def _write(self, target: IO[str], line: str) -> None:
        with self._print_lock, contextlib.suppress(OSError, ValueError):
            target.write(line + '\n')
            target.flush()

    def _say(self, text: str) -> None:
        self._write(sys.stderr, f'sightplan up: {text}')

    def _watch(self) -> int:
        """Wait for the first node to end, or a signal; returns the graph's exit code."""
        while True:
            if self._stop_signal:
                self.reason = f'stopped by {signal.Signals(self._stop_signal).name}'
                self._say(f'{self.reason}; stopping the nodes')
                return FAILED if any(spec.ends_graph for spec in self._graph.nodes) else DONE
            for index, process in enumerate(self._processes):
                if process.alive():
                    continue
                if self._revive and process.popen.returncode == -signal.SIGKILL:
                    self._restart(index)
                    continue
                code = process.popen.returncode
                self.ended_by, self.reason = process.name, describe_exit(code)
                if process.spec.ends_graph and code >= 0:
                    if code != DONE:
                        self._say(f'{process.name} {self.reason}')
                    return DONE if code == DONE else USAGE if code == USAGE else FAILED
                self._killed = self._killed or code == -signal.SIGKILL
                self._say(f'{process.name} {self.reason}; stopping the other nodes')
                return USAGE if code == USAGE else FAILED
            if not self._heed():
                return FAILED
            self._wake.wait(0.5)
            self._wake.clear()

    def _heed(self) -> bool:
        """Carry out the layer's verdict; return False if the graph has to end."""
        verdict = self._layer.check()
        if verdict is None:
            return True
        if not verdict.restart:
            self.ended_by, self.reason = verdict.node, verdict.words
            self._say(f'{verdict.words}; stopping the nodes, the same command starts them again')
            return False
        self._say(verdict.words)
        self._restart([process.name for process in self._processes].index(verdict.node))
        return True

    def _stop_all(self, polite: int) -> None:
        """Ask the nodes to stop, last started first; insist where that does not help."""
        for process in reversed(self._processes):
            # A node that has only begun heeds SIGTERM alone; of two signals the first one counts.
            for number in dict.fromkeys((polite, signal.SIGTERM)):
                process.signal(number)
            _wait_for_end([process], _TURN_S)
        for number, limit_s in _PATIENCE:
            left = [process for process in self._processes if process.alive()]
            if not left:
                return
            name = signal.Signals(number).name
            self._say(f'{", ".join(p.name for p in left)}: not stopped yet; sending {name}')
            self._killed = self._killed or number == signal.SIGKILL
            for process in left:
                process.signal(number)
            _wait_for_end(left, limit_s)


def run_beside(arguments: Sequence[str], choose: Callable[[Graph, Mapping[str, Value]], Graph],
               revive: bool = False, layer: Callable[[Graph], Layer] | None = None,
               tell: Callable[[dict[str, Any]], None] = lambda event: None) -> int:
    """Run ``sightplan up experiment`` as long as the process that started this one lives.

    Args:
        arguments: the id of that process, then the graph's arguments.
        choose: the part of the graph that is run with these values.
        revive: see ``run_graph``.
        layer: makes what watches over the graph; None: nothing does.
        tell: see ``run_graph``.

    Returns:
        the exit code: 2 for wrong arguments.
    """
    parent, *rest = arguments
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        return 1
    try:
        graph = find_graph('experiment')
        values = graph.values(rest)
        chosen = choose(graph, values)
        return run_graph(chosen, values, revive, None if layer is None else layer(chosen),
                         tell).code
    except SightplanError as error:
        print(f'sightplan up: {error}', file=sys.stderr)
        return USAGE if isinstance(error, InputError) else 1


def _wait_for_end(processes: Sequence[_Process], limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while any(process.alive() for process in processes) and time.monotonic() < end:
        time.sleep(0.02)


def describe_exit(code: int) -> str:
    """Return the meaning of a process's return code in words."""
    if code >= 0:
        return f'ended with exit code {code}'
    with contextlib.suppress(ValueError):
        return f'was killed by {signal.Signals(-code).name}'
    return f'was killed by signal {-code}'


def clean_shared_memory() -> None:
    """Free the shared memory that killed nodes have left; other graphs' is in use and stays."""
    tool = shutil.which('fastdds')
    if tool is not None:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run([tool, 'shm', 'clean'], stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
