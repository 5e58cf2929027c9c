"""Stops an arm whose safety gate has become silent. It runs in another process than the gate.

The gate's own thread beats. When no beat has come for ``safety.heartbeat_timeout_s`` and the arm
moves, or nobody knows whether it does, the arm is braked and then locked by its driver's own
means. So is an arm that stands although the gate last said that a motion is under way: something
keeps it from going on, and it would do so when it is free. Reported velocities are checked
against the positions (``sightplan_arm.checked_arm``). A gate that was only late, and is heard
again before ``LATCH_S``, has to hold the arm itself (cause ``gate_late``), and the lock is opened;
else the stop is latched until a person re-arms. An arm at rest is only looked at: a gate that ends
at rest stops nothing.

States, as in the message ArmStatus: ``ARMED``, the gate is alive; ``HOLDING``, it is silent, and
the arm stands so far or was braked; ``STOPPED``, latched; ``REARMED``, there is no gate to watch:
it was never heard, or is gone and has left the arm at rest, which a person may then move by hand.
A gate that lives all the same must not move it then, and is told by the process's heartbeats.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sightplan_arm.checked_arm import CheckedArm
from sightplan_arm.config import RobotConfig
from sightplan_arm.gate_status import HELD_AGAIN, GateState
from sightplan_arm.hardware import Arm, ArmStoppedError, JointState, JointTrajectory, Vector
from sightplan_arm.trajectories import goes_past, stopping

log = logging.getLogger(__name__)

CAUSE, LATE = 'watcher', 'gate_late'
"""Causes of the latched stop, and of the hold before it."""

LATCH_S = 0.5
"""A gate that is silent for longer after the arm was braked has died or hangs [s]."""

STILL_RAD_S = 0.05
"""A joint slower than this is at rest, as in GateSettings [rad/s]."""

CREPT_RAD = 0.003
"""A joint that has gone farther since the gate fell silent moves, however slowly [rad]."""

SETTLE_S = 2.0
"""Time at rest after which an arm without a gate is left alone [s]."""

AFTER_BRAKING_S = 0.1
"""Time after the end of the braking at which the arm must stand, and is locked [s].

Not before: a controller that is deactivated in mid-motion stops with a jerk.
"""

LATE_S = 0.05
"""Time after a command at which an arm beyond its place of rest is commanded again [s].

It got the command late, if at all, and would be thrown back there.
"""

LOCK_BY_S = 0.4
"""Time after the first braking at which the arm is locked, whether or not it stands [s]."""

ELSEWHERE_RAD = 0.005
"""Distance from its place of rest at which a braked arm is commanded to stay where it stands."""

AGAIN_S = 0.5
"""A lock that was not confirmed is asked for again after this time [s]."""

KEEP_AGAIN_S = 1.0
"""A stop that could not be kept is tried to be kept again after this time [s]."""


class Lock(Protocol):
    """The driver's own means to follow no command any more. No method waits."""

    def close(self) -> None:
        """Make the driver follow no command from now on."""

    def open(self) -> None:
        """Let the driver follow commands again."""

    def is_closed(self) -> bool:
        """Whether the driver has confirmed that it follows no command."""

    def missing(self) -> str:
        """Explain why the lock cannot be used, with the remedy; '' if it can."""


@dataclass(frozen=True)
class WatcherStatus:
    """The watcher's status, as the message ArmStatus carries it.

    Attributes:
        state: see the module.
        cause: of a hold or stop; '': there is none.
        message: what happened, for people.
        moving: whether the arm moves, or nobody knows.
        missing: what it cannot do, with the remedy; empty: it can stop the arm.
    """

    state: GateState
    cause: str
    message: str
    moving: bool
    missing: tuple[str, ...]


class Watcher:
    """Watches one gate; see the module. All methods may be called from any thread.

    Args:
        robot: its configuration.
        arm: measurements, and the way to the controller, which this process shares with nobody.
        lock: of the driver.
        keep: is told of a stop (a message for people), so that it outlasts the process; again
            after a while if it raises.
        reach: why braking would not get to the controller; '': it would.
        clock: monotonic wall clock [s].
    """

    def __init__(self, robot: RobotConfig, arm: Arm, lock: Lock, *,
                 keep: Callable[[str], None] = lambda message: None,
                 reach: Callable[[], str] = lambda: '',
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._robot, self._driver = robot, lock
        self._arm = CheckedArm(arm, robot.arm.joints)
        self._keep, self._reach, self._clock = keep, reach, clock
        self._lock = threading.RLock()
        self._state, self._message = GateState.REARMED, ''
        self._beat_s = -math.inf
        self._stood_since_s = math.inf  # the arm, while the gate is silent
        self._where: Vector | None = None  # the arm was when the gate fell silent
        self._still_by_s = -math.inf  # the arm should stand after the last braking
        self._lock_by_s = -math.inf  # even if it does not
        self._brake_told: tuple[float, JointTrajectory] | None = None  # when, and what
        self._held_again = 0  # repeats of that command, as it stood elsewhere
        self._lock_asked_s = -math.inf
        self._braked_s: float | None = None  # when the arm was braked, while the gate is late
        self._gate_state: GateState | None = None
        self._gate_moves = False  # whether a motion was under way when the gate last said so
        self._unkept = ''  # why the stop is not kept yet
        self._keep_asked_s = -math.inf

    def beat(self, age_s: float = 0.0) -> None:
        """Take a heartbeat of the gate, which came some time ago [s]; never before the last."""
        with self._lock:
            self._beat_s = max(self._clock() - age_s, self._beat_s)

    def gate_is(self, state: GateState, moving: bool = False) -> None:
        """Note the gate's state, and whether a motion is under way."""
        with self._lock:
            self._gate_state, self._gate_moves = state, moving

    def distrusted(self) -> tuple[str, ...]:
        """Names of the joints whose reported velocities do not fit their positions."""
        return self._arm.distrusted()

    def tick(self) -> None:
        """Check the arm and the gate; to be called about every 5 ms."""
        with self._lock:
            now_s = self._clock()
            self._arm.state()  # each measurement is compared with those before it
            if self._state is GateState.STOPPED:
                self._keep_still(now_s)
                if self._unkept and now_s - self._keep_asked_s >= KEEP_AGAIN_S:
                    self._keep_stop(now_s)
            elif self._braked_s is not None:
                self._keep_still(now_s)
                self._await_gate(now_s, self._braked_s)
            elif now_s - self._beat_s <= self._robot.safety.heartbeat_timeout_s:
                self._state, self._message = GateState.ARMED, ''
            elif self._state is not GateState.REARMED:
                self._look(now_s)

    def watches(self) -> bool:
        """Whether there is a gate to watch, or a stop to keep."""
        with self._lock:
            return self._state is not GateState.REARMED

    def leave(self) -> bool:
        """Whether this process may end: it has nothing left to stop or to lock."""
        with self._lock:
            if self._braked_s is not None:
                return False  # nobody knows yet whether the stop is to be kept
            if self._state is GateState.STOPPED:
                return not self._unkept and (
                    self._driver.is_closed() or bool(self._driver.missing()))
            return not self._moving()

    def status(self) -> WatcherStatus:
        """The watcher's present status."""
        with self._lock:
            missing = []
            if self._arm.state() is None:
                missing.append('no joint states have come: start the driver')
            missing += [why for why in (self._reach(), self._driver.missing(), self._unkept)
                        if why]
            cause = (CAUSE if self._state is GateState.STOPPED else
                     LATE if self._braked_s is not None else '')
            return WatcherStatus(self._state, cause, self._message, self._moving(), tuple(missing))

    def rearm(self) -> None:
        """Open the lock again after a person has looked at the arm.

        Raises:
            ArmStoppedError: the arm still moves.
        """
        with self._lock:
            if self._moving():
                raise ArmStoppedError(CAUSE, 'the arm still moves, or no joint states come; '
                                      're-arm when it stands', latched=True)
            self._driver.open()  # also one that a process before this one has closed
            if self._state is GateState.STOPPED:
                log.warning('re-armed after: %s', self._message)
                self._state, self._message, self._unkept = GateState.REARMED, '', ''
                self._beat_s = -math.inf  # the gate is to be heard anew
                self._gate_moves = False

    # Inside. The lock is held.

    def _look(self, now_s: float) -> None:
        """Check the arm while the gate is silent."""
        state = self._fresh()
        if self._state is GateState.ARMED:
            self._state = GateState.HOLDING
            self._message = f'{self._silence()}; the arm stands'
            self._stood_since_s = now_s
            self._where = None if state is None else state.positions
        if self._moving():
            self._stop(now_s, 'nobody knows whether the arm stands: no joint states come either'
                       if state is None else 'the arm moved')
        elif self._gate_moves:
            self._stop(now_s, 'a motion was under way, although the arm stood')
        elif now_s - self._stood_since_s > SETTLE_S:
            self._state = GateState.REARMED
            self._message = 'the safety gate is gone; the arm stands'

    def _stop(self, now_s: float, what: str) -> None:
        self._message = f'{self._silence()}, and {what}'
        log.error('%s: braked', self._message)
        self._held_again = 0
        self._brake(now_s)
        self._braked_s, self._lock_asked_s = now_s, -math.inf
        self._lock_by_s = now_s + LOCK_BY_S

    def _await_gate(self, now_s: float, braked_s: float) -> None:
        """Wait until a late gate holds the arm; latch the stop if it does not."""
        heard = now_s - self._beat_s <= self._limit_s()
        held = heard and self._gate_state not in (None, GateState.ARMED)
        over = self._driver.is_closed() or self._driver.missing()
        if held and over and self._stands_now():
            log.warning('the safety gate was late, and holds the arm now')
            self._driver.open()
            self._state, self._message, self._braked_s = GateState.ARMED, '', None
        elif now_s - braked_s > LATCH_S:
            self._message = f'the process of the safety gate died or hangs: {self._message}'
            log.error('%s: stopped', self._message)
            self._state, self._braked_s = GateState.STOPPED, None
            self._keep_stop(now_s)

    def _keep_stop(self, now_s: float) -> None:
        self._keep_asked_s = now_s
        try:
            self._keep(self._message)
        except Exception as error:  # the arm is looked after all the same
            self._unkept = (f'the stop cannot be kept ({error}), and would not outlast this '
                            'process: make its file writable (parameter latch_file)')
            log.critical('%s', self._unkept)
        else:
            self._unkept = ''

    def _keep_still(self, now_s: float) -> None:
        """Lock the arm once it was braked; brake it again if it moves on."""
        state = self._fresh()
        if state is not None and self._unbegun(state, now_s):
            log.error('the arm goes on as before: it is braked again')
            self._brake(now_s)
        if (now_s >= min(self._still_by_s, self._lock_by_s) and not self._driver.is_closed()
                and now_s - self._lock_asked_s >= AGAIN_S):
            self._lock_asked_s = now_s
            self._driver.close()
        if now_s < self._still_by_s or state is None:
            return
        if not _stands(state):
            log.error('the arm moves although it is to stand: it is braked again')
            self._brake(now_s)
        elif self._brake_told is not None and not self._driver.is_closed():
            _, told = self._brake_told
            if float(np.abs(state.positions - told.positions[-1]).max()) <= ELSEWHERE_RAD:
                self._held_again = 0
            elif self._held_again < HELD_AGAIN:
                self._held_again += 1
                log.error('the arm stands elsewhere than it was to stop: it is to stay there')
                self._brake(now_s)

    def _unbegun(self, state: JointState, now_s: float) -> bool:
        """Whether the arm has not begun to brake."""
        if self._brake_told is None or _stands(state):
            return False
        told_s, brake = self._brake_told
        return (now_s - self._arm.state_age_s() - told_s >= LATE_S
                and goes_past(state.positions, state.velocities, brake))

    def _brake(self, now_s: float) -> None:
        state, arm = self._fresh(), self._robot.arm
        self._still_by_s, self._brake_told = now_s, None
        if state is None or not np.isfinite(state.positions).all():
            return  # nothing is known to brake from
        speeds = np.nan_to_num(self._arm.moves_with(state), nan=0.0, posinf=0.0, neginf=0.0)
        speeds = np.clip(speeds, -arm.max_velocity, arm.max_velocity)
        here = state.positions + self._arm.state_age_s() * speeds  # it has moved on since
        trajectory = stopping(here, speeds, arm.stop_acceleration, arm.lower, arm.upper)
        self._still_by_s = now_s + trajectory.duration_s + AFTER_BRAKING_S
        self._brake_told = now_s, trajectory
        try:
            self._arm.command(trajectory)
        except Exception as error:
            self._still_by_s, self._brake_told = now_s, None
            log.critical('the arm did not take the command to brake (%s): use its own emergency '
                         'stop', error)

    def _limit_s(self) -> float:
        return self._robot.safety.heartbeat_timeout_s

    def _silence(self) -> str:
        return f'no heartbeat of the safety gate for {1e3 * self._limit_s():.0f} ms'

    def _fresh(self) -> JointState | None:
        """The newest measurement, unless it is too old."""
        state = self._arm.state()
        fresh = self._arm.state_age_s() <= self._robot.safety.state_timeout_s
        return state if fresh else None

    def _stands_now(self) -> bool:
        state = self._fresh()
        return state is not None and _stands(state)

    def _moving(self) -> bool:
        """Whether the arm moves, or may for all that is known; one never measured does not."""
        state = self._fresh()
        if state is None:
            return self._arm.state() is not None
        crept = (self._state is GateState.HOLDING and self._braked_s is None
                 and self._where is not None
                 and not float(np.abs(state.positions - self._where).max())
                 <= CREPT_RAD)
        return crept or not _stands(state)


def _stands(state: JointState) -> bool:
    """Whether all joints are at rest; a velocity that is no number is none at rest."""
    return bool((np.abs(state.velocities) <= STILL_RAD_S).all())
