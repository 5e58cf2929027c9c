"""Measured guarantees of an arm: whether each holds now, what it means, and the remedy.

====================== ============================================================================
guarantee              it holds if
====================== ============================================================================
watcher                a process of its own hears the gate, could stop the arm, and has not done so
stop                   the command to brake gets to the controller, which is active
joint_states, camera   95 % of the messages, and the newest, come within the age of its file
heartbeats             the same, of all nodes that motions need just now
gate                   the gate's thread looks after the arm often enough, likewise
clock                  the stamps of the joint states go on as steadily as time does; simulated
                       time that waits for whoever is late may be slower
command_limits         the controller_manager itself enforces the limits of the joints
checks                 no check of the gate is turned off, and nothing that moves has no shape
dry_run                no motion is sent
====================== ============================================================================

``safety.required`` of the robot's file lists those without which the arm is not armed.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightplan_arm.config import RobotConfig
from sightplan_arm.gate_status import GateState

WINDOW_S = 2.0
"""Length of the window of measurements [s]."""

_MOST = 4000  # messages that are remembered
_PART = 0.95
_DRIFT = 0.2  # relative error of the clock of stamps
_JUMP_S = 0.001  # smallest backward step of stamps that counts as a clock that was set back


@dataclass(frozen=True)
class Measured:
    """Messages of the last seconds.

    Attributes:
        n: number of messages.
        rate_hz: how often they came.
        p95_s: 95 % of the times between two are no longer; infinity: there are not two.
        longest_s: the longest.
        age_s: time since the newest.
    """

    n: int
    rate_hz: float
    p95_s: float
    longest_s: float
    age_s: float

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON data, in milliseconds; null where no message came."""
        def ms(seconds: float) -> float | None:
            return round(1e3 * seconds, 1) if math.isfinite(seconds) else None
        return {'n': self.n, 'rate_hz': round(self.rate_hz, 1), 'p95_ms': ms(self.p95_s),
                'longest_ms': ms(self.longest_s), 'age_ms': ms(self.age_s)}


class Rate:
    """Arrival times of messages. ``note`` and ``measured`` may run in different threads."""

    def __init__(self) -> None:
        self._came: deque[float] = deque(maxlen=_MOST)

    def note(self, at_s: float) -> None:
        """Note that a message came at a monotonic time [s]."""
        self._came.append(at_s)

    def measured(self, now_s: float) -> Measured:
        """Rate and gaps of the messages that came within the last ``WINDOW_S`` seconds."""
        came = list(self._came)
        age_s = now_s - came[-1] if came else math.inf
        came = [at for at in came if now_s - at <= WINDOW_S]
        gaps = sorted(b - a for a, b in itertools.pairwise(came))
        if not gaps:
            return Measured(len(came), 0.0, math.inf, math.inf, age_s)
        span_s = came[-1] - came[0]
        p95_s = gaps[min(len(gaps) - 1, math.ceil(_PART * len(gaps)) - 1)]
        return Measured(len(came), len(gaps) / span_s if span_s > 0 else math.inf, p95_s, gaps[-1],
                        age_s)


@dataclass(frozen=True)
class ClockMeasured:
    """Stamps of the last seconds.

    Attributes:
        n: number of stamps.
        speed: of the stamps, in seconds per second; NaN: not known.
        offset_s: of the node's clock when they come, less the stamps: least of all; NaN: unknown.
        set_back: how often stamps went back.
        stamped: whether they have stamps at all.
    """

    n: int = 0
    speed: float = math.nan
    offset_s: float = math.nan
    set_back: int = 0
    stamped: bool = True


class Stamps:
    """Stamps of messages, with their times of arrival and the node's clock at arrival."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float, float]] = deque(maxlen=_MOST)

    def note(self, stamp_s: float, came_s: float, clock_s: float) -> None:
        """Note a message: its stamp, its monotonic arrival time, and the node's clock then [s]."""
        self._seen.append((stamp_s, came_s, clock_s))

    def measured(self, now_s: float) -> ClockMeasured:
        """Speed and jumps of the clock over the last ``WINDOW_S`` seconds."""
        seen = [one for one in list(self._seen) if now_s - one[1] <= WINDOW_S]
        if len(seen) < 2:
            return ClockMeasured(len(seen))
        passed = seen[-1][1] - seen[0][1]
        back = sum(b[0] < a[0] - _JUMP_S for a, b in itertools.pairwise(seen))
        return ClockMeasured(
            len(seen), (seen[-1][0] - seen[0][0]) / passed if passed > 0 else math.nan,
            min(clock_s - stamp_s for stamp_s, _, clock_s in seen), back,
            any(stamp_s for stamp_s, _, _ in seen))


@dataclass(frozen=True)
class WatcherSeen:
    """State of the watcher, as far as it is known.

    Attributes:
        age_s: since its last heartbeat.
        state: as it says; None: it has said nothing.
        message: what happened, as it says.
        missing: what it cannot do, with the remedies.
    """

    age_s: float = math.inf
    state: GateState | None = None
    message: str = ''
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Observed:
    """Measurements about an arm; None where nothing can be measured.

    Attributes:
        joint_states, camera, gate: messages, and looks of the gate's thread.
        heartbeats: by node that motions need.
        clock: stamps of the joint states.
        lockstep: whether their time is simulated and waits, in which ages are counted then.
        stop: why braking would not get to the controller; '': it would.
        watcher: as it is seen from here.
        command_limits: whether the controller_manager enforces limits; None: it is not known.
        command_limits_said: where that is from, or why it is not known.
        checks: of the gate, and whether each is on.
        dry_run: whether motions are not sent; None: there is no gate.
    """

    joint_states: Measured | None = None
    camera: Measured | None = None
    gate: Measured | None = None
    heartbeats: Mapping[str, Measured] = field(default_factory=dict)
    clock: ClockMeasured | None = None
    lockstep: bool = False
    stop: str | None = None
    watcher: WatcherSeen | None = None
    command_limits: bool | None = None
    command_limits_said: str = ''
    checks: Mapping[str, bool] | None = None
    dry_run: bool | None = None


@dataclass(frozen=True)
class Guarantee:
    """A guarantee, whether it holds, and what was measured.

    Attributes:
        name: one of ``gate_status.GUARANTEES``.
        holds: whether it does; None: nobody knows.
        required: whether the arm is not armed without it.
        said: what was measured, for people.
        remedy: what helps if it does not hold.
        measured: the same as plain data.
    """

    name: str
    holds: bool | None
    required: bool
    said: str
    remedy: str = ''
    measured: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        word = {True: 'holds', False: 'NOT', None: 'unknown'}[self.holds]
        helps = f' -> {self.remedy}' if self.remedy and not self.holds else ''
        return (f'{word:7} {self.name}{" (required)" if self.required else ""}: {self.said}'
                f'{helps}')

    def to_json(self) -> dict[str, Any]:
        """The guarantee as JSON data."""
        return {'name': self.name, 'holds': self.holds, 'required': self.required,
                'said': self.said, 'remedy': '' if self.holds else self.remedy,
                'measured': dict(self.measured)}


Finding = tuple[bool | None, str, str, dict[str, Any]]
_ON_DEMAND = 'taken on demand: the simulated arm is in this process'


def assess(robot: RobotConfig, seen: Observed) -> tuple[Guarantee, ...]:
    """Assess all guarantees, in the order of their table.

    Args:
        robot: its limits, and which guarantees are required.
        seen: what was measured.
    """
    safety = robot.safety
    found: dict[str, Callable[[], Finding]] = {
        'watcher': lambda: _watcher(robot, seen.watcher),
        'stop': lambda: _stop(seen.stop),
        'joint_states': lambda: _messages(
            'joint states', seen.joint_states, safety.state_timeout_s, 'safety.state_timeout_s',
            'start the driver, see to its rate (ros2 topic hz) and the load of this computer'),
        'camera': lambda: _messages(
            'pictures', seen.camera, safety.image_timeout_s, 'safety.image_timeout_s',
            "start the camera's driver, see to its rate (ros2 topic hz), cable and the load of "
            'this computer'),
        'heartbeats': lambda: _heartbeats(seen.heartbeats, safety.heartbeat_timeout_s),
        'gate': lambda: (None, 'no gate is there', 'start arm_bridge', {}) if seen.gate is None
        else _messages('looks of the gate', seen.gate, safety.heartbeat_timeout_s,
                       'safety.heartbeat_timeout_s', 'see to the load of this computer'),
        'clock': lambda: _clock(seen.clock, seen.lockstep),
        'command_limits': lambda: (
            seen.command_limits, seen.command_limits_said,
            ('the gate checks all limits itself; to have the driver do so, too, set '
             f'enforce_command_limits of {robot.arm.controller_manager} to true'),
            {'enforce_command_limits': seen.command_limits}),
        'checks': lambda: _checks(seen.checks),
        'dry_run': lambda: _dry_run(seen.dry_run),
    }
    return tuple(Guarantee(name, holds, name in safety.required, said, remedy, measured)
                 for name, (holds, said, remedy, measured)
                 in ((name, find()) for name, find in found.items()))


def lacking(guarantees: Sequence[Guarantee]) -> list[Guarantee]:
    """The required guarantees that are not known to hold."""
    return [one for one in guarantees if one.required and not one.holds]


def _messages(what: str, seen: Measured | None, limit_s: float, limit: str, remedy: str,
              ) -> Finding:
    if seen is None:
        return True, _ON_DEMAND, '', {}
    measured = {**seen.to_json(), 'limit_ms': 1e3 * limit_s}
    if not seen.n:
        return False, f'no {what} have come for {WINDOW_S:g} s', remedy, measured
    if seen.n < 2:
        came = f'{what}: one alone has come in {WINDOW_S:g} s'
    elif not math.isfinite(seen.rate_hz):  # simulated time stood still meanwhile
        came = f'{what}: {seen.n} at one moment of {WINDOW_S:g} s, so they have no rate'
    else:
        came = (f'{what} at {seen.rate_hz:.0f} Hz, 95 % within {1e3 * seen.p95_s:.0f} ms, the '
                f'longest {1e3 * seen.longest_s:.0f} ms')
    said = f'{came}, the newest {1e3 * seen.age_s:.0f} ms old; {1e3 * limit_s:.0f} ms are allowed'
    holds = seen.p95_s <= limit_s and seen.age_s <= limit_s
    return holds, said, f'{remedy}; or raise {limit}, by which the arm holds later', measured


def _watcher(robot: RobotConfig, seen: WatcherSeen | None) -> Finding:
    if seen is None:
        return True, 'not needed: the simulated arm ends with this process', '', {}
    age_ms = round(1e3 * seen.age_s, 1) if math.isfinite(seen.age_s) else None
    state = None if seen.state is None else seen.state.name
    measured = {'age_ms': age_ms, 'state': state, 'missing': list(seen.missing)}
    start = 'start arm_watcher with the same robot (the graphs do)'
    if age_ms is None or seen.state is None:
        return False, 'the watcher has not been heard', start, measured
    if seen.age_s > robot.safety.heartbeat_timeout_s:
        return False, f"the watcher's last heartbeat is {age_ms:g} ms old", start, measured
    if seen.state is GateState.STOPPED:
        return False, f'the watcher has stopped the arm: {seen.message}', 're-arm it', measured
    if seen.missing:
        return (False, f'the watcher could not stop the arm: {"; ".join(seen.missing)}',
                'see there', measured)
    if seen.state is not GateState.ARMED:
        return (False, 'the watcher does not hear the gate',
                'wait a moment; are both in one ROS domain and namespace?', measured)
    return True, f'alive, {age_ms:g} ms ago, hears the gate and can stop the arm', '', measured


def _stop(missing: str | None) -> Finding:
    if missing is None:
        return True, _ON_DEMAND, '', {}
    return (not missing, missing or 'the controller listens', 'activate the controller',
            {'reachable': not missing})


def _heartbeats(seen: Mapping[str, Measured], limit_s: float) -> Finding:
    measured = {node: one.to_json() for node, one in seen.items()}
    late = [node for node, one in seen.items() if not (one.p95_s <= limit_s >= one.age_s)]
    if not seen:
        return True, 'motions need no other node just now', '', measured
    rates = ', '.join(f'{node} {one.rate_hz:.0f} Hz (longest {1e3 * one.longest_s:.0f} ms)'
                      for node, one in seen.items() if one.n)
    if late:
        return (False, f'late or silent: {", ".join(late)}{"; " if rates else ""}{rates}',
                'see its log; see to the network and the load of the computers', measured)
    return True, rates, '', measured


def _clock(seen: ClockMeasured | None, lockstep: bool) -> Finding:
    if seen is None:
        return True, _ON_DEMAND, '', {}

    def number(value: float) -> float | None:
        return round(value, 4) if math.isfinite(value) else None
    measured = {'n': seen.n, 'speed': number(seen.speed), 'offset_s': number(seen.offset_s),
                'set_back': seen.set_back, 'stamped': seen.stamped}
    if seen.n < 2:
        return None, 'no joint states', 'start the driver', measured
    if not seen.stamped:
        return (False, 'the joint states have no stamps: the time of arrival stands for them',
                'have the driver stamp them', measured)
    if lockstep:
        said = (f'simulated time goes {seen.speed:.2f} s per second, as fast as this computer '
                'keeps up; ages are counted in it')
        return not seen.set_back, said, 'start the graph anew', measured
    said = (f'the stamps go {seen.speed:.2f} s per second and are {seen.offset_s:.3f} s behind '
            f'the clock of this node; set back {seen.set_back} times')
    return (abs(seen.speed - 1.0) <= _DRIFT and not seen.set_back, said,
            "see to the driver's clock (chrony, use_sim_time)", measured)


def _checks(checks: Mapping[str, bool] | None) -> Finding:
    if checks is None:
        return None, 'no gate is there', 'start arm_bridge', {}
    off = [name for name, on in checks.items() if not on]
    said = f'on: {", ".join(name for name, on in checks.items() if on)}'
    return (not off, said + (f'; off: {", ".join(off)}' if off else ''),
            ("turn it on in the robot's file or the settings of the gate; collisions: give the "
             'links of safety.bodies.without_shape collision shapes in the URDF'), dict(checks))


def _dry_run(dry_run: bool | None) -> Finding:
    if dry_run is None:
        return None, 'no gate is there', 'start arm_bridge', {}
    return (dry_run, 'no motion is sent' if dry_run else 'motions are sent',
            'start the graph with dry_run:=true, if that is wanted', {'dry_run': dry_run})
