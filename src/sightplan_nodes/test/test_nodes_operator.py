"""The node operator_console against a scripted arm: what keys do, and what is shown."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from rclpy.node import Node
from sightplan_interfaces.msg import ArmStatus
from sightplan_interfaces.srv import Confirm
from std_srvs.srv import Trigger

from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan_nodes import names, qos
from sightplan_nodes.operator_console import Keys, OperatorConsole

WORLD = 'arm_bridge'


class ScriptedArm(Node):
    """A status that tests set, and services that note what they are asked."""

    def __init__(self, world: str = WORLD) -> None:
        super().__init__(world)
        self.asked: list[str] = []
        self.reply = (True, '')
        self._status = self.create_publisher(ArmStatus, names.arm_status(world), qos.LATCHED)
        for kind, name in ((Trigger, names.stop(world)), (Trigger, names.rearm(world)),
                           (Confirm, names.confirm(world))):
            self.create_service(kind, name, self._server(name.rpartition('/')[2]))

    def _server(self, name: str):
        def serve(request, response):
            said = f' {request.motion} {request.accept}' if name == 'confirm' else ''
            self.asked.append(name + said)
            response.success, response.message = self.reply
            return response
        return serve

    def shows(self, **fields: object) -> None:
        self._status.publish(ArmStatus(**{'ready': True, **fields}))


class Desk:
    """A console whose input is a terminal or a pipe of the test's."""

    def __init__(self, terminal: bool, read_s: float = 0.0, world: str = WORLD) -> None:
        self.ours, theirs = pty.openpty() if terminal else reversed(os.pipe())
        self.keys = Keys(theirs)
        self.now = 100.0
        self.lines: list[str] = []
        self.node = OperatorConsole(
            self.keys, self.lines.append, lambda: self.now,
            parameter_overrides=parameters(read_s=read_s, world=world))

    @property
    def text(self) -> str:
        return ''.join(self.lines)

    def types(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def says(self, text: str, times: int = 1) -> None:
        eventually(lambda: self.text.count(text) >= times, f'{text!r} in\n{self.text}')


@contextlib.contextmanager
def desk_and_arm(terminal: bool = True, read_s: float = 0.0) -> Iterator[tuple[Desk, ScriptedArm]]:
    arm, desk = ScriptedArm(), Desk(terminal, read_s)
    with spinning(arm, desk.node):
        arm.shows()
        desk.says('ARMED; at rest')
        yield desk, arm
        os.close(desk.ours)


@pytest.fixture(params=[True, False], ids=['terminal', 'pipe'])
def both(request) -> Iterator[tuple[Desk, ScriptedArm, str]]:
    """A desk with a terminal, where a key is a key, and one whose keys are lines."""
    with desk_and_arm(request.param) as (desk, arm):
        yield desk, arm, '' if request.param else '\n'


def asked(arm: ScriptedArm, *wanted: str) -> None:
    eventually(lambda: len(arm.asked) >= len(wanted), f'{wanted}, not {arm.asked}')
    assert arm.asked == list(wanted)


def test_the_answer_names_the_motion_that_is_shown(both):
    desk, arm, end = both
    desk.types(f'y{end}')
    desk.says('no motion waits')
    arm.shows(pending='m7', pending_text='lift b1 by 90 mm')
    desk.says('MOTION m7: lift b1 by 90 mm  -- y or n?')
    desk.types(f'y{end}')
    desk.says('let through')
    arm.shows(pending='m8', pending_text='carry b1 to c2')
    desk.says('MOTION m8')
    desk.types(f'n{end}')
    desk.says('refused')
    asked(arm, 'confirm m7 True', 'confirm m8 False')


def test_an_answer_of_the_arm_is_shown(both):
    desk, arm, end = both
    arm.reply = (False, 'motion m7 is gone')
    arm.shows(pending='m7')
    desk.says('MOTION m7')
    desk.types(f'y{end}')
    desk.says('NOT let through: motion m7 is gone')


def test_a_yes_for_the_motion_before_lets_none_pass():
    with desk_and_arm(read_s=0.3) as (desk, arm):
        arm.shows(pending='m7')
        desk.says('MOTION m7')
        desk.now += 0.2
        desk.types('y')
        desk.says('typed before the motion was on the screen')
        desk.types('n')  # a no is always meant
        desk.says('refused')
        asked(arm, 'confirm m7 False')
        desk.now += 0.2
        desk.types('y')
        asked(arm, 'confirm m7 False', 'confirm m7 True')


@pytest.mark.parametrize('key', ['s', ' ', 'S'])
def test_a_stop_is_sent_and_confirmed(both, key):
    desk, arm, end = both
    arm.reply = (True, 'holding')
    desk.types(key + end)
    desk.says('the arm is stopped: holding')
    asked(arm, 'stop')


def test_a_stop_that_is_refused_is_loud(both):
    desk, arm, end = both
    arm.reply = (False, 'no')
    desk.types(f's{end}')
    desk.says('THE STOP WAS REFUSED: no. PRESS THE EMERGENCY STOP')


@pytest.mark.parametrize('typed', ['stop\n', 'sss\n', '   \n', 's'])
def test_lines_that_stop(typed):
    with desk_and_arm(terminal=False) as (desk, arm):
        desk.types(typed)
        if not typed.endswith('\n'):
            os.close(desk.ours)  # the end of the input ends the line, and the console
            eventually(lambda: desk.node.exit_code == 0)
            desk.ours = os.dup(0)
        asked(arm, 'stop')


def test_a_stop_goes_on_until_the_arm_is_there():
    desk = Desk(terminal=True)
    with spinning(desk.node):
        desk.types(' ')
        desk.says('NOT CONFIRMED: /arm_bridge/stop is not there. PRESS THE EMERGENCY STOP')
        arm = ScriptedArm()
        with spinning(arm):
            desk.says('the arm is stopped')
            asked(arm, 'stop')


def test_a_stop_without_a_reply_is_repeated():
    with desk_and_arm() as (desk, arm):
        lost = arm.create_service(Trigger, 'elsewhere', lambda request, response: response)
        desk.node._stop_client, real = desk.node.create_client(Trigger, 'nobody'), \
            desk.node._stop_client
        desk.node._stop_client.service_is_ready = lambda: True  # as of a node that hangs
        desk.types('s')
        desk.says('STOP')
        eventually(lambda: desk.node._stop_sent is not None)
        desk.now += 1.5
        desk.says('NOT CONFIRMED: /nobody does not answer. PRESS THE EMERGENCY STOP')
        desk.node._stop_client = real
        desk.now += 1.5
        desk.says('the arm is stopped')
        asked(arm, 'stop')
        arm.destroy_service(lost)


def test_rearming_asks_once_more(both):
    desk, arm, end = both
    desk.types(f'r{end}')
    desk.says('nothing to re-arm: the arm is ARMED')
    arm.shows(state=ArmStatus.STOPPED, cause='workspace', message='the hand left the box',
              ready=False)
    desk.says('STOPPED because of workspace: the hand left the box')
    desk.types(f'r{end}')
    desk.says('Type yes and Enter to re-arm')
    desk.types('no\n')
    desk.says('not re-armed')
    desk.types(f'r{end}')
    desk.says('Type yes and Enter to re-arm', 2)
    desk.types('\n')
    desk.says('not re-armed', 2)
    assert arm.asked == []
    desk.types(f'r{end}')
    desk.says('Type yes and Enter to re-arm', 3)
    desk.types('yes\n')
    asked(arm, 'rearm')
    desk.says('re-armed', 3)


@pytest.mark.parametrize('before', ['', 'y', 'ye'])
def test_the_space_bar_stops_also_while_the_yes_is_typed(before):
    with desk_and_arm() as (desk, arm):
        arm.shows(state=ArmStatus.STOPPED)
        desk.says('STOPPED')
        desk.types('r')
        desk.says('Type yes')
        desk.types(f'{before} ')
        asked(arm, 'stop')
        desk.says('the arm is stopped')  # a key before that repeats the stop under way
        desk.types('s\n')
        asked(arm, 'stop', 'stop')


def test_what_is_missing_is_shown_once():
    with desk_and_arm() as (desk, arm):
        for moving in (True, False):  # motions come and go without a line
            arm.shows(ready=not moving, moving=moving,
                      waiting_for=['the end of the motion under way: lift b1'] * moving)
            time.sleep(0.1)
        for _ in range(2):
            arm.shows(ready=False, waiting_for=['the heartbeat of agent'])
            desk.says('waits for: the heartbeat of agent')
        arm.shows(state=ArmStatus.HOLDING, cause='stale_image', message='\x1b[2Jno\nimages')
        desk.says('HOLDING because of stale_image: \ufffd[2Jno\ufffdimages; the next reset')
        assert desk.text.count('waits for: the heartbeat of agent') == 1
        assert 'it moves' not in desk.text
        assert 'lift b1' not in desk.text
        desk.types('\n')
        desk.says('HOLDING', 2)


def test_an_arm_that_goes_is_missed():
    desk = Desk(terminal=True)
    with spinning(desk.node):
        with spinning(arm := ScriptedArm()):
            arm.shows(pending='m1')
            desk.says('MOTION m1')
        desk.says('arm_bridge IS GONE')
        desk.types('y')
        desk.says('no motion waits')
        with spinning(arm := ScriptedArm()):
            arm.shows()
            desk.says('ARMED', 2)


def test_no_arm_and_an_arm_of_another_name():
    desk = Desk(terminal=False)
    with spinning(desk.node, other := ScriptedArm('sim_bridge')):
        other.shows()
        eventually(lambda: other.count_publishers(names.arm_status('sim_bridge')) == 1)
        desk.now += 3.0
        desk.says(f'no arm: nothing publishes /{names.arm_status(WORLD)}')
        desk.says(f'There are /{names.arm_status("sim_bridge")}: choose one with "sightplan arm '
                  'console --world NODE --namespace NAMESPACE"')
        desk.types('r\n')
        desk.says('no arm to re-arm')
        assert 'ARMED' not in desk.text


def test_two_arms_of_one_name_get_stops_only():
    with desk_and_arm(terminal=False) as (desk, arm), spinning(twin := ScriptedArm()):
        desk.says(f'2 nodes publish {names.arm_status(WORLD)}')
        arm.shows(pending='m7')
        desk.says('MOTION m7')
        desk.types('y\n')
        desk.says('y does nothing')
        desk.types('s\n')
        asked(arm, 'stop')
        asked(twin, 'stop')


def test_leaving_says_what_becomes_of_a_motion_that_waits():
    with desk_and_arm(terminal=False) as (desk, arm):
        arm.shows(pending='m7')
        desk.says('MOTION m7')
        desk.types('q\n')
        eventually(lambda: desk.node.exit_code == 0)
    assert 'a motion still waits' in desk.text
    assert arm.asked == []


def test_a_shell_that_stopped_it_leaves_single_keys():
    with desk_and_arm() as (desk, arm):
        attributes = termios.tcgetattr(desk.ours)
        attributes[3] |= termios.ICANON
        termios.tcsetattr(desk.ours, termios.TCSANOW, attributes)
        eventually(lambda: not termios.tcgetattr(desk.ours)[3] & termios.ICANON)
        desk.types('s')
        asked(arm, 'stop')


def test_a_terminal_that_was_given_back_stays_so():
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    keys = Keys(theirs)
    keys.begin()
    assert termios.tcgetattr(theirs) != before
    keys.restore()
    keys.begin()  # of a timer that runs on while the node closes
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize('end', ['q', signal.SIGINT, 'hang up'])
def test_the_program_leaves_the_terminal_as_it_was(end):
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    console = subprocess.Popen(
        [sys.executable, '-c', 'from sightplan_nodes.operator_console import main; main()'],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    try:
        eventually(lambda: not termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO))
        if end == 'q':
            os.write(ours, b'q')
        elif end == 'hang up':
            os.close(ours)
        else:
            console.send_signal(end)
        assert console.wait(LIMIT_S) == 0
        if end != 'hang up':
            assert termios.tcgetattr(theirs) == before
    finally:
        console.kill()
        console.wait()
        os.close(theirs)
