"""How a node's process starts and stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from nodes_testing import LIMIT_S

HEAD = '''
import sys, threading, time
from rclpy.node import Node
from sightplan.model import InputError, param
from sightplan_nodes.spin import main
from sightplan_nodes.parameters import declare_settings
from dataclasses import dataclass

@dataclass(frozen=True)
class Settings:
    size: int = param(3, 'A size', low=1, high=9)

def say(text):
    print(text, flush=True)

class Base(Node):
    exit_code = None
    def __init__(self):
        super().__init__('base')
        say(declare_settings(self, Settings).size)
        self.create_timer(0.01, self.tick)
        self.ticks = 0
    def tick(self):
        self.ticks += 1
        if self.ticks == 3:
            say('ready')
    def close(self):
        say(f'closing after {self.stop_signal}')
'''


def start(body: str, *arguments: str, **environment: str) -> subprocess.Popen:
    code = HEAD + textwrap.dedent(body)
    return subprocess.Popen(
        [sys.executable, '-c', code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', **environment})


def until(process: subprocess.Popen, text: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == text:
            return
    raise AssertionError(process.stderr.read())


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_a_node_cleanly(number: int) -> None:
    with start('main(Base)') as process:
        until(process, 'ready')
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err
    assert f'closing after {int(number)}' in out
    assert 'Traceback' not in err


@pytest.mark.parametrize('code', [0, 1, 7])
def test_a_node_ends_by_itself(code: int) -> None:
    body = f'''
    class Ends(Base):
        def tick(self):
            self.exit_code = {code}
    main(Ends)
    '''
    with start(body) as process:
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == code, err


def test_parameters_from_the_command_line() -> None:
    with start('main(Base)', '--ros-args', '-p', 'size:=5') as process:
        until(process, '5')
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


@pytest.mark.parametrize(('value', 'words'), [
    ('50', 'in [1, 9]'), ('big', 'must be a whole number')])
def test_a_wrong_parameter_is_named(value: str, words: str) -> None:
    with start('main(Base)', '--ros-args', '-p', f'size:={value}') as process:
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert 'size' in err
    assert words in err
    assert 'Traceback' not in err


def test_an_unexpected_exception_is_shown_and_ends_the_node() -> None:
    body = '''
    class Breaks(Base):
        def tick(self):
            raise ZeroDivisionError('oops')
    main(Breaks)
    '''
    with start(body) as process:
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert 'ZeroDivisionError: oops' in err
    assert 'closing' in out


def test_a_signal_while_the_node_is_being_made_stops_it() -> None:
    body = '''
    class Slow(Base):
        def __init__(self):
            super().__init__()
            say('loading')
            time.sleep(600)
    main(Slow)
    '''
    with start(body) as process:
        until(process, 'loading')
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


def test_a_thread_in_a_long_computation_does_not_keep_the_process() -> None:
    body = '''
    from sightplan_nodes.work import Worker
    class Busy(Base):
        def __init__(self):
            super().__init__()
            self.worker = Worker(self, 'busy')
            self.worker.submit(lambda: time.sleep(600))
        def close(self):
            say(self.worker.close(timeout_s=0.1))
    main(Busy)
    '''
    with start(body) as process:
        until(process, 'ready')
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert 'False' in out


def test_ros_still_works_while_a_node_closes() -> None:
    body = '''
    from std_srvs.srv import Trigger
    from sightplan_nodes.calls import ServiceCaller
    class Asks(Base):
        def __init__(self):
            super().__init__()
            self.create_service(Trigger, 'x', lambda request, response: response)
            self.ask = ServiceCaller(self, Trigger, 'x', 'base')
        def close(self):
            say(self.ask(Trigger.Request(), 20.0) is not None)
    main(Asks)
    '''
    with start(body) as process:
        until(process, 'ready')
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LIMIT_S)
    assert 'True' in out, err


def test_a_node_ends_with_its_launcher() -> None:
    launcher = textwrap.dedent(f'''
        import os, subprocess, sys, time
        os.environ['SIGHTPLAN_PARENT_PID'] = str(os.getpid())
        child = subprocess.Popen([sys.executable, '-c', {HEAD + "main(Base)"!r}])
        print('child', child.pid, flush=True)
        time.sleep(600)
        ''')
    environment = {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}
    with subprocess.Popen([sys.executable, '-c', launcher], stdout=subprocess.PIPE, text=True,
                          env=environment) as process:
        until(process, 'ready')
        process.kill()
        # The pipe closes when the last process that holds it has ended.
        out, _ = process.communicate(timeout=LIMIT_S)
    assert f'closing after {int(signal.SIGTERM)}' in out


def test_a_node_whose_launcher_is_gone_already_does_not_start() -> None:
    with start('main(Base)', SIGHTPLAN_PARENT_PID='999999') as process:
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1


def test_a_node_may_be_started_through_a_debugger() -> None:
    with start('main(Base)', SIGHTPLAN_PARENT_PID=str(os.getppid())) as process:
        until(process, 'ready')
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


def test_a_node_whose_keys_do_not_fit_says_so() -> None:
    process = start('''
        class Refused(Base):
            def __init__(self):
                raise RuntimeError('create_publisher() could not create data writer')
        import os
        os.environ['ROS_SECURITY_ENABLE'] = 'true'
        main(Refused)
    ''', ROS_SECURITY_STRATEGY='Permissive')
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert 'Refused cannot start: its keys do not allow' in errors and 'Traceback' not in errors
