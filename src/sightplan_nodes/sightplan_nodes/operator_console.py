"""The node ``operator_console``: a person's keys for an arm, in a terminal."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from sightplan_interfaces.msg import ArmStatus
from sightplan_interfaces.srv import Confirm
from std_srvs.srv import Trigger

from sightplan.model import param
from sightplan_nodes import names, qos
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.spin import main as run_main

_TICK_S = 0.1
_DISCOVERY_S = 2.0
_STOP_ANSWER_S = 1.0

_STATES = {ArmStatus.ARMED: 'ARMED', ArmStatus.HOLDING: 'HOLDING',
           ArmStatus.STOPPED: 'STOPPED', ArmStatus.REARMED: 'RE-ARMED'}

_NEXT = {
    ArmStatus.HOLDING: 'the next reset of an episode lets it move again',
    ArmStatus.STOPPED: 'it stays so until somebody re-arms it (r)',
    ArmStatus.REARMED: 'it waits for the reset of an episode: look again, plan again',
}

HELP = ('keys: y, n = let the motion that waits pass, or refuse it | space, s = stop | '
        'r = re-arm | Enter = status | q = leave (as Ctrl-C: the arm goes on)')
LINES_HELP = 'No terminal: each key is a line, ended with Enter.'
_REPLY_S = 5.0
"""Limit for a reply of the arm [s]."""


@dataclass(frozen=True, slots=True)
class OperatorConsoleSettings:
    """Parameters of ``operator_console``."""

    world: str = param('arm_bridge', 'Node whose arm is watched: arm_bridge, or sim_bridge')
    read_s: float = param(0.3, 'A yes counts only when the motion has been on the screen for so '
                               'long [s]: keys typed before were meant for another', low=0.0,
                          high=10.0)


class Keys:
    """Keys of a terminal one by one, or lines where the input is none."""

    def __init__(self, descriptor: int = 0) -> None:
        """Keep the input; the terminal is not changed before ``begin``.

        Args:
            descriptor: of the input.
        """
        self._descriptor = descriptor
        self.single = os.isatty(descriptor)
        self._before: list[Any] = termios.tcgetattr(descriptor) if self.single else []
        self._lock, self._restored = threading.Lock(), False

    def begin(self) -> None:
        """Have a terminal give single keys, if it does not; not after ``restore``."""
        with self._lock, contextlib.suppress(termios.error):  # the terminal is gone
            if self.single and not self._restored and (
                    termios.tcgetattr(self._descriptor)[3] & termios.ICANON):
                tty.setcbreak(self._descriptor, termios.TCSANOW)

    def restore(self) -> None:
        """Put the terminal back as it was."""
        with self._lock, contextlib.suppress(termios.error):
            self._restored = True
            if self.single:
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def __iter__(self) -> Iterator[str]:
        """The input until its end: characters, or lines with their end."""
        pending = b''
        while True:
            try:
                read = os.read(self._descriptor, 256)
            except OSError:  # the terminal was closed
                return
            if not read:
                if pending:
                    yield pending.decode(errors='replace')
                return
            if self.single:
                yield from read.decode(errors='replace')
                continue
            *lines, pending = (pending + read).split(b'\n')
            for line in lines:
                yield line.decode(errors='replace') + '\n'


class OperatorConsole(Node):
    """Shows what an arm's safety gate does, and takes the keys of the person beside the arm.

    Parameters: see OperatorConsoleSettings. Subscribes to ``WORLD/status`` (ArmStatus, latched),
    calls ``WORLD/stop``, ``WORLD/rearm`` (Trigger) and ``WORLD/confirm`` (Confirm). Leaving it, by
    q, Ctrl-C or the end of the input, leaves the arm as it is.

    A stop is repeated until the arm has confirmed it. It is a software stop: it reaches the
    controller through this computer, and never replaces the emergency stop.
    """

    exit_code: int | None = None

    def __init__(self, keys: Keys | None = None, say: Callable[[str], None] | None = None,
                 clock: Callable[[], float] = time.monotonic, **node_arguments: Any) -> None:
        """Start to watch; see the class.

        Args:
            keys: where keys come from; None for standard input.
            say: takes lines for the operator; None for standard output.
            clock: counts seconds.
            **node_arguments: passed on to rclpy's Node.
        """
        super().__init__('operator_console', **node_arguments)
        self._settings = declare_settings(self, OperatorConsoleSettings)
        self._world = self._settings.world
        self._write, self._now = say or _print, clock
        self._status: ArmStatus | None = None
        self._shown: tuple[Any, ...] = ()
        self._pending_since = 0.0
        self._rearming: str | None = None  # what has been typed of the second yes
        self._stop_since: float | None = None  # a stop that is not confirmed yet
        self._stop_sent: tuple[float, Future] | None = None
        self._stop_warned = False
        self._waiting: list[tuple[float, str, Any, Future]] = []
        self._watched_since, self._present, self._crowd_shown = clock(), False, False

        self._topic = names.arm_status(self._world)
        self.create_subscription(ArmStatus, self._topic, self._take, qos.LATCHED)
        self._stop_client = self.create_client(Trigger, names.stop(self._world))
        self._rearm_client = self.create_client(Trigger, names.rearm(self._world))
        self._confirm_client = self.create_client(Confirm, names.confirm(self._world))
        self.create_timer(_TICK_S, self._tick)

        self._listening = False
        self._typed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._typing = self.create_guard_condition(self._read)
        self._keys = keys or Keys()
        self._say(f'{self._world}: looking for its arm ...')
        self._say(HELP if self._keys.single else f'{HELP}. {LINES_HELP}')

    def close(self) -> None:
        """Give the terminal back."""
        self._keys.restore()
        if self._status is not None and self._status.pending:
            self._say('a motion still waits: it will be refused when its time is up')

    # What is typed.

    def _listen(self) -> None:
        for text in self._keys:
            self._typed.put(text)
            self._typing.trigger()
        self._typed.put(None)
        self._typing.trigger()

    def _read(self) -> None:
        while self.exit_code is None:
            try:
                text = self._typed.get_nowait()
            except queue.Empty:
                return
            if text is None:
                self._say('end of the input: the console ends, the arm goes on')
                self.exit_code = 0
            elif self._keys.single:
                self._key(text)
            else:
                self._line(text)

    def _line(self, line: str) -> None:
        """A line stands for the key that it begins with; one of blanks alone is the space bar."""
        if self._rearming is not None and line.strip().lower() == 'yes':
            self._rearming = 'yes'
            self._key('\n')
            return
        word = line.strip()
        self._key(word[0] if word else ' ' if line.rstrip('\n') else '\n')

    def _key(self, key: str) -> None:
        if self._rearming is not None:
            wanted, so_far = 'yes', self._rearming
            if key == '\n' and so_far == wanted:
                self._rearming = None
                self._rearm()
                return
            if key != '\n' and wanted.startswith(so_far + key.lower()):
                self._rearming = so_far + key.lower()
                return
            self._rearming = None
            self._say('not re-armed')
            if key == '\n':
                return
        match key.lower():
            case ' ' | 's':
                self._stop()
            case 'y':
                self._answer(True)
            case 'n':
                self._answer(False)
            case 'r':
                self._ask_to_rearm()
            case 'q' | '\x04':
                self.exit_code = 0
            case '\n' | '\r':
                self._show()
            case _:
                self._say(HELP)

    def _stop(self) -> None:
        if self._stop_since is None:
            self._stop_since, self._stop_warned = self._now(), False
            self._say('STOP')
        self._send_stop()

    def _send_stop(self) -> None:
        """Ask for the stop that is wanted, again if the last request was not answered in time."""
        now = self._now()
        if self._stop_since is None:
            return
        lost = self._stop_sent is not None and now - self._stop_sent[0] > _STOP_ANSWER_S
        if lost:
            assert self._stop_sent is not None
            self._stop_client.remove_pending_request(self._stop_sent[1])
            self._stop_sent = None
        there = self._stop_client.service_is_ready()
        if not self._stop_warned and (lost or not there):
            self._stop_warned = True
            self._say(f'NOT CONFIRMED: {self._stop_client.service_name} '
                      f'{"does not answer" if there else "is not there"}. '
                      'PRESS THE EMERGENCY STOP. The console goes on trying.')
        if self._stop_sent is None and there:
            future = self._stop_client.call_async(Trigger.Request())
            self._stop_sent = (now, future)
            future.add_done_callback(self._stop_answered)

    def _stop_answered(self, future: Future) -> None:
        if self._stop_sent is None or future is not self._stop_sent[1]:
            return
        self._stop_sent, self._stop_since = None, None
        reply = future.result()
        if reply is not None and reply.success:
            self._say(f'the arm is stopped: {_printable(reply.message) or "confirmed"}')
        else:
            self._say('THE STOP WAS REFUSED: '
                      f'{"no reply" if reply is None else _printable(reply.message)}. '
                      'PRESS THE EMERGENCY STOP.')

    def _answer(self, accept: bool) -> None:
        status = self._status
        if status is None or not status.pending:
            self._say('no motion waits for an answer')
            return
        if accept and self._is_crowded('y'):
            return
        if accept and self._now() - self._pending_since < self._settings.read_s:
            self._say('that was typed before the motion was on the screen; type it again')
            self._show()
            return
        self._call(self._confirm_client, Confirm.Request(motion=status.pending, accept=accept),
                   'let through' if accept else 'refused')

    def _ask_to_rearm(self) -> None:
        status = self._status
        if status is None:
            self._say('no arm to re-arm')
        elif status.state != ArmStatus.STOPPED:
            self._say(f'nothing to re-arm: the arm is {_STATES.get(status.state, "?")}')
        elif not self._is_crowded('r'):
            self._rearming = ''
            self._say(_printable(f'stopped because of {status.cause}: {status.message}') + '\n'
                      'Is the cause gone, and nobody within reach of the arm? '
                      'Type yes and Enter to re-arm, anything else to leave it stopped.')

    def _rearm(self) -> None:
        self._stop_since = None
        self._call(self._rearm_client, Trigger.Request(), 're-armed')

    def _call(self, client: Any, request: Any, what: str) -> None:
        if not client.service_is_ready():
            self._say(f'not {what}: {client.service_name} is not there')
            return
        future = client.call_async(request)
        entry = (self._now(), what, client, future)
        self._waiting.append(entry)

        def answered(_: Future) -> None:
            if entry in self._waiting:
                self._waiting.remove(entry)
                reply = future.result()
                done = reply is not None and reply.success
                said = '' if reply is None else _printable(reply.message)
                self._say((what if done else f'NOT {what}') + (said and f': {said}'))
        future.add_done_callback(answered)

    # What comes from the arm.

    def _take(self, status: ArmStatus) -> None:
        before = self._status
        self._status = status
        # An arm may come and go between two looks at who is there.
        self._present = self._present or self.count_publishers(self._topic) > 0
        if status.pending and (before is None or before.pending != status.pending):
            self._pending_since = self._now()
        if _essence(status) != self._shown:
            self._show()

    def _tick(self) -> None:
        self._keys.begin()  # time and again: a shell that stops the process (Ctrl-Z) undoes it
        if not self._listening:  # not before the node spins, and is sure to be closed
            self._listening = True
            threading.Thread(target=self._listen, name='keys', daemon=True).start()
        self._send_stop()
        now = self._now()
        for entry in [e for e in self._waiting if now - e[0] > _REPLY_S]:
            since, what, client, future = entry
            self._waiting.remove(entry)
            client.remove_pending_request(future)
            self._say(f'NOT {what}: no answer of {client.service_name} for {now - since:.0f} s; '
                      'its node hangs or has died')
        self._check_arms_present()

    def _check_arms_present(self) -> None:
        arms = self.count_publishers(self._topic)
        if arms and not self._present:
            self._present = True
        elif self._present and not arms:
            self._present, self._status, self._shown = False, None, ()
            self._rearming = None
            self._watched_since = self._now()
            self._say(f'{self._world} IS GONE: nothing is known of its arm. Press the emergency '
                      'stop if it moves.')
        elif not arms and self._now() - self._watched_since > _DISCOVERY_S:
            self._watched_since = float('inf')
            self._say(self._nobody())
        if arms > 1 and not self._crowd_shown:
            self._is_crowded('y and r')
        self._crowd_shown = arms > 1

    def _is_crowded(self, keys: str) -> bool:
        """Whether several arms have the same name; then says that these keys do nothing."""
        arms = int(self.count_publishers(self._topic))
        if arms > 1:
            self._say(f'{arms} nodes publish {self._topic}: which arm would be meant? {keys} does '
                      'nothing until one of them is left (s asks all of them to stop). Give each '
                      'graph a ROS_DOMAIN_ID of its own, or a namespace.')
        return arms > 1

    def _nobody(self) -> str:
        others = sorted(name for name, kinds in self.get_topic_names_and_types()
                        if 'sightplan_interfaces/msg/ArmStatus' in kinds
                        and self.count_publishers(name)
                        and name != self.resolve_topic_name(self._topic))
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        text = (f'no arm: nothing publishes {self.resolve_topic_name(self._topic)} in ROS domain '
                f'{domain}. ')
        if others:
            return (f'{text}There are {", ".join(others)}: choose one with "sightplan '
                    'arm console --world NODE --namespace NAMESPACE" (--ros-args -p world:=NODE '
                    '-r __ns:=/NAMESPACE).')
        return (f'{text}Is the graph running, and is ROS_DOMAIN_ID the one that it printed at its '
                'start? The console goes on looking.')

    def _show(self) -> None:
        status = self._status
        if status is None:
            self._say(self._nobody())
            return
        self._shown = _essence(status)
        for line in describe(status):
            self._say(_printable(line))
        if status.pending and self._keys.single:
            self._write('\a')

    def _say(self, text: str) -> None:
        for line in text.splitlines():
            self._write(f'[{time.strftime("%H:%M:%S")}] {line}\n')


def describe(status: ArmStatus) -> list[str]:
    """A status in lines for an operator."""
    line = _STATES.get(status.state, f'state {status.state}')
    if status.dry_run:
        line += ', dry run (nothing is sent to the arm)'
    if status.cause and status.state != ArmStatus.ARMED:
        line += f' because of {status.cause}: {status.message}'
    if status.state in _NEXT:
        line += f'; {_NEXT[status.state]}'
    line += '; it moves' if status.moving else '; at rest'
    lines = [line]
    if status.waiting_for and not status.ready:
        lines.append(f'  waits for: {"; ".join(status.waiting_for)}')
    if status.pending:
        lines.append(f'  MOTION {status.pending}: {status.pending_text}  -- y or n?')
    return lines


def _essence(status: ArmStatus) -> tuple[Any, ...]:
    """The parts of a status that deserve a new line; starts and ends of motions do not."""
    at_work = status.moving and status.state == ArmStatus.ARMED
    return (status.state, status.cause, status.message, status.dry_run, status.ready or at_work,
            () if at_work else tuple(status.waiting_for), status.pending, status.pending_text)


def _printable(text: str) -> str:
    """A text without control characters: texts of other nodes must not move the cursor."""
    return ''.join(c if c.isprintable() else '\ufffd' for c in text)


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except ValueError:  # closed
        pass
    except OSError:  # the terminal is gone; what is left in the buffer would fail again at the end
        with contextlib.suppress(OSError, ValueError), open(os.devnull, 'w') as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(OperatorConsole, args)
