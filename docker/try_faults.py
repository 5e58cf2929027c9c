"""Kill, pause and cut off services of real containers while an episode runs: what comes of it?

    python docker/try_faults.py                         every service, every fault
    python docker/try_faults.py --service agent --fault kill pause
    python docker/try_faults.py --hosts                 two machines, the link between them cut

Services are killed (SIGKILL, past the engine, so that restart policies count) and paused where
compose.yaml has them: on the network of one machine. There is nothing to cut there. So for that
each service gets a machine of its own: a container that holds its network and its shared memory,
on a bridge, found through the discovery server. With --hosts there are two, robot PC and GPU
server, on two networks with a router between them, which no multicast crosses.

After each fault the same command is given again if the run is not complete, and must complete it.
An object is printed for each, then a table; exit code 1: something finished was lost, or a run
could not be completed.

Needs root on the machine of a Docker engine that nothing else uses meanwhile, Compose 2.24, the
built image, iproute2 and nsenter. Python's standard library is enough.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

DOCKER = Path(__file__).resolve().parent
USER = 10001
SERVICES = ('recorder', 'world', 'grounder', 'symbolic_planner', 'agent', 'experiment')
FAULTS = ('kill', 'pause', 'cut')
HOLD_S = 25.0
"""How long a service is paused or cut off: DDS gives up who was silent for 20 s."""
DELAY_S = 0.5
"""Between the line of an episode and the fault, which so falls into the next episode."""
LIMIT_S = 180.0
"""For each wait: for the first lines, for the end of the run."""
TRIES = 3
"""So often the same command is given again, until it ends with 0."""
COLUMNS = ('service', 'fault', 'set-up', 'run after it', 'episodes, errors', 'restarts',
           'the same again', 'lines before it')
ROBOT, SERVER = '10.78.1', '10.78.2'
"""First three bytes of the addresses of the two networks."""


def docker(*arguments: str, check: bool = True, environ: Mapping[str, str] | None = None) -> str:
    """Run a command of Docker; returns its standard output.

    Raises:
        RuntimeError: it fails, and ``check`` is set.
    """
    done = subprocess.run(['docker', *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **(environ or {})})
    if check and done.returncode:
        raise RuntimeError(f'docker {" ".join(arguments)}: {done.stderr.strip()}')
    return done.stdout.strip()


def process_id(container: str) -> int:
    """The first process of a container, as the machine counts.

    Raises:
        RuntimeError: it does not run.
    """
    found = int(docker('inspect', '--format', '{{.State.Pid}}', container))
    if found <= 0:  # to kill 0 would be to kill oneself
        raise RuntimeError(f'{container} does not run')
    return found


@dataclass
class Pod:
    """A container that stands for a machine: its network and its shared memory."""

    name: str
    network: str
    address: str
    route: tuple[str, str] | None = None
    """Another network (CIDR) and the router to it."""

    def start(self, image: str) -> None:
        """Start it."""
        docker('run', '--detach', '--init', '--name', self.name, '--network', self.network,
               '--ip', self.address, '--ipc', 'shareable', '--shm-size', '1g', '--entrypoint',
               'sleep', image, 'infinity')
        self._set_route()

    def cut(self) -> None:
        """Take its network away."""
        docker('network', 'disconnect', self.network, self.name)

    def join(self) -> None:
        """Give the network back, with the same address."""
        docker('network', 'connect', '--ip', self.address, self.network, self.name)
        self._set_route()

    def _set_route(self) -> None:
        if self.route:
            to, router = self.route
            subprocess.run(['nsenter', '-t', str(process_id(self.name)), '--net', 'ip', 'route',
                            'replace', to, 'via', router], check=True)


@dataclass
class Machine:
    """Services of some compose files, as one project."""

    files: Sequence[str]
    services: Sequence[str]
    environ: dict[str, str]
    part: str = 'all'
    pods: dict[str, Pod] = field(default_factory=dict)
    """By service; none: the network of this machine."""

    @property
    def project(self) -> str:
        """Of Compose."""
        return f'sightplan-faults-{self.environ.get("ROS_DOMAIN_ID", "0")}-{self.part}'

    def compose(self, *arguments: str, check: bool = True) -> str:
        """Run a command of Compose on these services."""
        files = [part for file in self.files for part in ('-f', str(DOCKER / file))]
        with tempfile.TemporaryDirectory() as folder:
            if self.pods:
                override = Path(folder) / 'pods.yaml'
                override.write_text(json.dumps({'services': {  # JSON is YAML
                    service: {'network_mode': f'container:{pod.name}',
                              'ipc': f'container:{pod.name}',
                              'environment': {'SIGHTPLAN_LAN_ADDRESS': pod.address}}
                    for service, pod in self.pods.items()}}))
                files += ['-f', str(override)]
            return docker('compose', '-p', self.project, *files, *arguments, check=check,
                          environ=self.environ)

    def up(self) -> None:
        """Start the services, each when what it depends on is healthy; do not wait for the end.

        Not even for that: a service that does not become healthy is seen by the run's end.
        """
        for _ in range(3):  # on a busy machine a healthcheck may be late
            self.compose('up', '--detach', '--no-build', *self.services, check=False)
            if self.state(self.services[-1]).get('status') != 'created':
                break
            # Docker calls who was paused unhealthy until its next check.
            until(lambda: not any(self.state(one).get('health') == 'unhealthy'
                                  for one in self.services), 60)

    def container(self, service: str) -> str:
        """Name of a service's container."""
        return f'{self.project}-{service}-1'

    def state(self, service: str) -> dict[str, str]:
        """Status, exit code, health and restarts of a service's container."""
        text = docker('inspect', '--format', '{{.State.Status}} {{.State.ExitCode}} '
                      '{{with .State.Health}}{{.Status}}{{else}}none{{end}} {{.RestartCount}}',
                      self.container(service), check=False)
        return dict(zip(('status', 'code', 'health', 'restarts'), text.split(), strict=False))

    def down(self) -> None:
        """Remove containers and volumes."""
        self.compose('--profile', '*', 'kill', check=False)
        self.compose('--profile', '*', 'down', '--volumes', check=False)


@dataclass
class Outcome:
    """What a fault came to."""

    setup: str
    service: str
    fault: str
    before: int
    """Episodes that had ended before the fault."""
    intact: bool
    """Their lines were the same, byte for byte, after it."""
    code: int | None
    """Of the experiment; None: it had not ended within the limit."""
    after: int
    errors: int
    """Of the episodes that had ended when the experiment ended, without and with an error."""
    seconds: float
    """From the fault to the end of the run."""
    restarts: int
    health: str
    """Of the service in the end: status and health."""
    again: int | None = None
    tries: int = 0
    """How often it was given: one that is under way where nobody waits for it has to end first."""
    completed: bool = False
    """The same command, given again if it was needed, left each episode with a line, no error."""


def lines(folder: Path) -> list[bytes]:
    """The complete lines of a run."""
    file = folder / 'episodes.jsonl'
    return file.read_bytes().split(b'\n')[:-1] if file.exists() else []


def errors(folder: Path) -> int:
    """How many episodes ended in an error."""
    return sum(json.loads(line)['error'] is not None for line in lines(folder))


def until(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
    """Wait for a condition; whether it came."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def ended(machine: Machine) -> int | None:
    """Wait for the experiment; its exit code, or None."""
    over = until(lambda: machine.state('experiment').get('status') == 'exited')
    return int(machine.state('experiment')['code']) if over else None


def strike(machine: Machine, service: str, fault: str) -> None:
    """Do it, and undo it after a while where that is possible."""
    container = machine.container(service)
    if fault == 'kill':
        # "docker kill" would count as a person's wish that it stays away.
        os.kill(process_id(container), signal.SIGKILL)
    elif fault == 'pause':
        docker('pause', container)
        time.sleep(HOLD_S)
        docker('unpause', container)
    else:
        machine.pods[service].cut()
        time.sleep(HOLD_S)
        machine.pods[service].join()


def tried(setup: str, robot: Machine, others: Sequence[Machine], service: str, fault: str,
          episodes: int, folder: Path) -> Outcome:
    """One fault: start what does not run, strike during the third episode, wait for the end.

    Args:
        setup: its name.
        robot: the machine that has the experiment.
        others: machines that have been started.
        service: the one that it happens to, of any machine.
        fault: kill, pause or cut.
        episodes: of the run.
        folder: of the run.

    Raises:
        RuntimeError: nothing was solved before the fault.
    """
    robot.compose('rm', '--force', '--stop', 'experiment', check=False)
    owner = next(machine for machine in (robot, *others) if service in machine.services)
    robot.up()
    if not until(lambda: len(lines(folder)) >= 2):
        raise RuntimeError(f'{setup}: no episode ends: {robot.compose("logs", "--tail", "20")}')
    time.sleep(DELAY_S)
    before, start = lines(folder), time.monotonic()
    strike(owner, service, fault)
    code = ended(robot)
    seconds = time.monotonic() - start
    after, failed, state = lines(folder), errors(folder), owner.state(service)
    outcome = Outcome(setup, service, fault, len(before), after[:len(before)] == before, code,
                      len(after), failed, seconds, int(state.get('restarts', 0)),
                      f'{state.get("status")} {state.get("health")}')
    while (outcome.again != 0 and outcome.tries < TRIES
           and (code != 0 or failed or len(after) < episodes)):
        robot.compose('rm', '--force', '--stop', 'experiment')
        robot.up()
        outcome.again, outcome.tries = ended(robot), outcome.tries + 1
    found = [json.loads(line) for line in lines(folder)]
    kept = {line for line in before if json.loads(line)['error'] is None}
    outcome.completed = len({line['id'] for line in found}) == len(found) == episodes \
        and not errors(folder) and kept <= set(lines(folder))
    return outcome


Place = Callable[[dict[str, str]],
                 contextlib.AbstractContextManager[tuple[Machine, list[Machine]]]]
"""Makes machines from settings; the first has the experiment."""


@contextlib.contextmanager
def networks(*prefixes: str) -> Iterator[list[str]]:
    """Bridge networks of these addresses."""
    names = [f'sightplan-{number}' for number in range(len(prefixes))]
    try:
        for name, prefix in zip(names, prefixes, strict=True):
            docker('network', 'create', '--subnet', f'{prefix}.0/24', name)
        yield names
    finally:
        for name in names:
            docker('network', 'rm', name, check=False)


@contextlib.contextmanager
def started(pods: Sequence[Pod], image: str) -> Iterator[None]:
    """Machines that are there meanwhile."""
    try:
        for pod in pods:
            pod.start(image)
        yield
    finally:
        docker('rm', '--force', *(pod.name for pod in pods), check=False)


@contextlib.contextmanager
def one_machine(environ: dict[str, str]) -> Iterator[tuple[Machine, list[Machine]]]:
    """All services as compose.yaml has them."""
    yield Machine(['compose.yaml'], SERVICES, environ), []


@contextlib.contextmanager
def machines_apart(environ: dict[str, str]) -> Iterator[tuple[Machine, list[Machine]]]:
    """Each service on a machine of its own."""
    with networks(ROBOT) as (network,):
        pods = {service: Pod(f'sightplan-on-{service}', network, f'{ROBOT}.{10 + number}')
                for number, service in enumerate(('discovery', *SERVICES))}
        address = pods['discovery'].address
        with started(list(pods.values()), environ['IMAGE']), both(
                {**environ, 'DISCOVERY_SERVER': f'{address}:11811'}, pods) as machines:
            yield machines


@contextlib.contextmanager
def both(environ: dict[str, str], pods: dict[str, Pod],
         ) -> Iterator[tuple[Machine, list[Machine]]]:
    """The services of the robot PC and that of the GPU server, the latter started."""
    robot, server = (Machine(
        ['compose.yaml', f'compose.{part}.yaml'], services,
        {**environ, 'LAN_ADDRESS': pods[services[0]].address}, part,
        {service: pods[service] for service in services})
        for part, services in (
            ('robot', ['discovery', *(one for one in SERVICES if one != 'grounder')]),
            ('server', ['grounder'])))
    server.up()
    try:
        yield robot, [server]
    finally:
        robot.down()
        server.down()


@contextlib.contextmanager
def two_hosts(environ: dict[str, str]) -> Iterator[tuple[Machine, list[Machine]]]:
    """Robot PC and GPU server on two networks, with a router between them."""
    image, discovery = environ['IMAGE'], f'{ROBOT}.10:11811'
    with networks(ROBOT, SERVER) as (here, there):
        router = 'sightplan-router'
        pods = [Pod('sightplan-robot', here, f'{ROBOT}.10', (f'{SERVER}.0/24', f'{ROBOT}.2')),
                Pod('sightplan-server', there, f'{SERVER}.10', (f'{ROBOT}.0/24', f'{SERVER}.2'))]
        try:
            docker('run', '--detach', '--init', '--name', router, '--network', here, '--ip',
                   f'{ROBOT}.2', '--sysctl', 'net.ipv4.ip_forward=1', '--entrypoint', 'sleep',
                   image, 'infinity')
            docker('network', 'connect', '--ip', f'{SERVER}.2', there, router)
            robot, server = pods
            places = {**dict.fromkeys(('discovery', *SERVICES), robot), 'grounder': server}
            with started(pods, image), both(
                    {**environ, 'DISCOVERY_SERVER': discovery}, places) as machines:
                yield machines
        finally:
            docker('rm', '--force', router, check=False)


def setup_of(hosts: bool) -> Callable[[tuple[str, str]], tuple[str, Place]]:
    """Name and machines of the set-up in which a service meets a fault."""
    def find(case: tuple[str, str]) -> tuple[str, Place]:
        if hosts:
            return 'two hosts', two_hosts
        return ('apart', machines_apart) if case[1] == 'cut' else ('one machine', one_machine)
    return find


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes in Markdown, a row each."""
    rows = [f'| {" | ".join(COLUMNS)} |', '|---' * len(COLUMNS) + '|']
    for one in outcomes:
        end = 'does not end' if one.code is None else f'ends with {one.code}'
        again = 'not needed' if one.again is None else f'ends with {one.again}'
        again += f' at try {one.tries}' if one.tries > 1 else ''
        complete = '' if one.completed else ', incomplete'
        cells = (f'`{one.service}`', one.fault, one.setup, f'{end}, {one.seconds:.0f} s',
                 f'{one.after}, {one.errors}', one.restarts, f'{again}{complete}',
                 f'{one.before} {"intact" if one.intact else "CHANGED"}')
        rows.append(f'| {" | ".join(map(str, cells))} |')
    return '\n'.join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try them; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--image', default='debian', help='VARIANT: cpu or debian')
    parser.add_argument('--service', nargs='+', choices=SERVICES, default=SERVICES)
    parser.add_argument('--fault', nargs='+', choices=FAULTS, default=FAULTS)
    parser.add_argument('--hosts', action='store_true', help='two machines; cuts the link')
    parser.add_argument('--episodes', type=int, default=20, help='of each run')
    parser.add_argument('--domain', default='77', help='ROS_DOMAIN_ID')
    parser.add_argument('--json', type=Path, help='file for the outcomes')
    options = parser.parse_args(arguments)
    if shutil.which('docker') is None or os.getuid():
        parser.error('needs docker, and root')
    cases = [('grounder', 'cut')] if options.hosts else [
        (service, fault) for fault in options.fault for service in options.service]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix='sightplan-faults-') as name:
        runs = Path(name)
        runs.chmod(0o755)
        os.chown(runs, USER, USER)
        environ = {'VARIANT': options.image, 'IMAGE': f'sightplan:{options.image}',
                   'RUNS_DIR': name, 'EPISODES': str(options.episodes), 'BAGS': 'none',
                   'ROS_DOMAIN_ID': options.domain}
        for (setup, place), group in itertools.groupby(cases, setup_of(options.hosts)):
            with place(environ) as (robot, others):
                try:
                    for service, fault in group:
                        robot.environ['RUN'] = f'{service}-{fault}'
                        outcomes.append(tried(setup, robot, others, service, fault,
                                              options.episodes, runs / robot.environ['RUN']))
                        print(json.dumps(asdict(outcomes[-1])), flush=True)
                        if not outcomes[-1].completed:
                            robot.down()  # the next one is to find a graph that works
                finally:
                    robot.down()
            if options.json:
                options.json.write_text(
                    json.dumps([asdict(one) for one in outcomes], indent=1) + '\n')
    print(table(outcomes))
    return 0 if all(one.intact and one.completed for one in outcomes) else 1


if __name__ == '__main__':
    sys.exit(main())
