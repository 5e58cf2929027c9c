"""Compose files without an engine: read as Compose reads them, and run as plain processes."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCKER = ROOT / 'docker'
IN_IMAGE = '/sightplan'
LIMIT_S = 300.0
"""How long a service may take to become healthy, or the experiment to end."""

VARIABLE = re.compile(r'\$\{(\w+)(:?)([-?+])([^}]*)\}')
_APPENDED = ('profiles', 'volumes', 'cap_drop', 'security_opt')


def read(name: str) -> dict[str, Any]:
    """A compose file as it is written, YAML's merge keys resolved."""
    data: dict[str, Any] = yaml.load((DOCKER / name).read_text(), yaml.CSafeLoader)
    return data


def interpolated(value: Any, environ: Mapping[str, str]) -> Any:
    """Put the values of variables in, everywhere below a value."""
    if isinstance(value, dict):
        return {key: interpolated(item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, environ) for item in value]
    if not isinstance(value, str):
        return value

    def put(match: re.Match[str]) -> str:
        name, colon, kind, text = match.groups()
        if kind == '+':
            return text.replace(f'${name}', environ[name]) if environ.get(name) else ''
        if environ.get(name) or (not colon and name in environ):
            return environ[name]
        assert kind == '-', f'{name} is not set: {text}'
        return text
    return VARIABLE.sub(put, value)


def merged(below: Any, above: Any, field: str = '') -> Any:
    """A value with that of a later file laid over it."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {key: merged(below[key], item, key) if key in below else item
                        for key, item in above.items()}
    if field in _APPENDED:
        return [*below, *(item for item in above if item not in below)]
    return above


def services(names: Sequence[str], environ: Mapping[str, str] | None = None,
             profiles: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """The services of compose files, each laid over those before it.

    Args:
        names: of the files.
        environ: values of variables; None leaves them as they are written.
        profiles: of the services that are wanted besides those without; None: all services.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        content = read(name)
        if environ is not None:
            content = interpolated(content, environ)
        for key, service in content['services'].items():
            service = copy.deepcopy(service)
            extended = service.pop('extends', None)
            if extended is not None:
                base = services([extended['file']], environ)[extended['service']]
                service = merged(base, service)
            found[key] = merged(found.get(key, {}), service)
    if profiles is None:
        return found
    return {key: service for key, service in found.items()
            if not service.get('profiles') or set(service['profiles']) & set(profiles)}


def in_checkout(arguments: Sequence[str], volumes: Mapping[str, Path]) -> list[str]:
    """A command of a container as it runs here, with other paths."""
    def path(text: str) -> str:
        for inside, outside in ({IN_IMAGE: ROOT} | dict(volumes)).items():
            text = re.sub(rf'(^|=){inside}(/|$)', rf'\g<1>{outside}\2', text)
        return text
    return [path(argument) for argument in arguments]


class Machine:
    """What an engine would do on one machine: start in order, check health, stop.

    Args:
        wanted: services.
        folder: for logs, and for what is written to /tmp of the containers.
        volumes: folder by path in the containers.
        prefix: what every command is started through.
    """

    def __init__(self, wanted: Mapping[str, dict[str, Any]], folder: Path,
                 volumes: Mapping[str, Path], prefix: Sequence[str] = ()) -> None:
        self.wanted, self._folder, self._volumes = wanted, folder, volumes
        self._prefix = list(prefix)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def environment(self, name: str) -> dict[str, str]:
        """What a service's processes see: nothing of the shell's but the way to programs."""
        given = {key: in_checkout([str(value)], self._volumes)[0] for key, value
                 in (self.wanted[name].get('environment') or {}).items() if value is not None}
        return {'PATH': os.environ['PATH'], 'HOME': str(self._folder),
                'TMPDIR': str(self._folder), 'ROS_LOG_DIR': str(self._folder / 'ros'),
                **given}

    def run(self, name: str) -> None:
        """Start one service."""
        command = in_checkout(['/sightplan/docker/enter.sh', *self.wanted[name]['command']],
                              self._volumes)
        with self.log(name).open('wb') as log:
            self.processes[name] = subprocess.Popen(
                [*self._prefix, *command], cwd=ROOT, env=self.environment(name),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)

    def log(self, name: str) -> Path:
        """What a service has said."""
        return self._folder / f'{name}.log'

    def probe(self, name: str) -> int:
        """Run a service's healthcheck; its exit code."""
        kind, *test = self.wanted[name]['healthcheck']['test']
        assert kind == 'CMD'
        with self.log(f'{name}-health').open('ab') as log:
            return subprocess.run(
                [*self._prefix, *in_checkout(test, self._volumes)], cwd=ROOT, check=False,
                env=self.environment(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=LIMIT_S).returncode

    def until_healthy(self, name: str) -> None:
        """Wait as depends_on with service_healthy does."""
        end = time.monotonic() + LIMIT_S
        while self.probe(name) != 0:
            self.check_running()
            assert time.monotonic() < end, f'{name}: {self.said(name)}'
            time.sleep(0.2)

    def said(self, name: str) -> str:
        """Log and health log of a service."""
        return '\n'.join(file.read_text(errors='replace') for file in
                         (self.log(name), self.log(f'{name}-health')) if file.exists())

    def check_running(self) -> None:
        """No service has ended."""
        for name, process in self.processes.items():
            assert process.poll() is None, f'{name} has ended: {self.said(name)}'

    def up(self) -> None:
        """Start all services, each when what it depends on is healthy."""
        healthy: set[str] = set()
        while len(self.processes) < len(self.wanted):
            before = len(self.processes)
            for name in self.wanted.keys() - self.processes.keys():
                needed = {other for other, condition in
                          self.wanted[name].get('depends_on', {}).items()
                          if other in self.wanted or condition.get('required', True)}
                if not needed <= self.processes.keys():
                    continue
                for other in sorted(needed - healthy):
                    self.until_healthy(other)
                    healthy.add(other)
                self.run(name)
            assert len(self.processes) > before, 'depends_on is circular, or names nobody'

    def stop(self, name: str) -> int:
        """Stop a service as an engine does: SIGTERM, and patience; returns its exit code."""
        process = self.processes[name]
        process.send_signal(signal.SIGTERM)
        patience_s = float(self.wanted[name]['stop_grace_period'].removesuffix('s'))
        try:
            return self.wait(name, patience_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f'{name} was not stopped in {patience_s:g} s: '
                                 f'{self.said(name)}') from None

    def wait(self, name: str, limit_s: float = LIMIT_S) -> int:
        """Wait until a service ends; returns its exit code. Nothing of it may be left.

        Raises:
            subprocess.TimeoutExpired: it does not.
        """
        code = self.processes[name].wait(limit_s)
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f'{name} has left processes behind: {self.said(name)}')
        return code

    def down(self) -> dict[str, int]:
        """Stop all services, dependents first; returns their exit codes."""
        return {name: self.stop(name) for name in reversed(list(self.processes))}


@contextlib.contextmanager
def machine(*arguments: Any, **more: Any) -> Iterator[Machine]:
    """A machine of which nothing is left in the end."""
    made = Machine(*arguments, **more)
    try:
        yield made
    finally:
        for process in made.processes.values():
            process.terminate()
        for process in made.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
