"""The safety gate: the one way to an arm's motors.

States, as in the message ArmStatus: ``ARMED`` lets motions through that pass all checks.
``HOLDING``: a motion was broken off; nothing moves before ``new_episode()``. ``STOPPED`` is
latched: nothing moves until a person calls ``rearm()``, and then not before ``new_episode()``
(``REARMED``, also the state in which a gate begins), for the agent must look and plan again.

What a cause does when it is met before a motion, and when it is met during one:

================== ======================================================= ======== ========
cause              meaning                                                 before   during
================== ======================================================= ======== ========
invalid            shapes, numbers, times, length; no rest at the end      refuses
position_limit     a joint would pass its limits                           refuses
velocity_limit     a joint would be too fast                               refuses
acceleration_limit a joint would accelerate too hard                       refuses
workspace          a checked frame would leave the box                     refuses
collision          two bodies would come too close to one another          refuses
jump               the motion does not begin where the arm is              refuses
moving             the arm is not at rest                                  refuses
gripper_limit      the fingers would open too far or press too hard        refuses
busy               another motion is under way, or awaits an answer        refuses
outdated           planned in an earlier episode                           refuses
not_reset          re-armed or just started; no episode has begun          refuses
declined           an operator said no                                     refuses
no_answer          no operator said yes in time                            refuses
heartbeat          a node that is needed has fallen silent                 refuses  holds
stale_state        joint states are too old                                refuses  holds
stale_image        camera images are too old                               refuses  holds
cancelled          the work was cancelled, or the program interrupted      -        holds
gate_late          the gate itself was late; the watcher braked the arm    -        holds
command_failed     the arm did not take a command                          refuses  latches
measured_position  a joint was measured outside its limits                 latches  latches
measured_velocity  a joint was measured too fast                           latches  latches
measured_workspace a checked frame was measured outside the box            latches  latches
measured_contact   two bodies were measured to overlap                     latches  latches
tracking           the arm is not where the motion has it                  -        latches
unexpected_motion  the arm moves, or has moved, with nothing commanded     latches  -
stop_request       a person or a program asked for a stop                  latches  latches
watcher            the watcher stopped the arm while the gate was silent   latches  latches
================== ======================================================= ======== ========

*Refuses*: ``ArmStoppedError``, and nothing else changes. *Holds*: the arm brakes at once, the
state becomes HOLDING. A skill under way counts as one motion: between two of its motions it is
held, too. *Latches*: the arm brakes at once, the state becomes STOPPED. An arm that stands is told
to stay where it is measured, for it may stand only because something keeps it from going on, or
because its drives are off: with that command its controller drops the motion. It is told so again
with every stop, when it is re-armed, and when it is measured to stand elsewhere. While it is
held or stopped, commands are refused with the cause that began it. A motion that is *guarded* ends
where something is in its way, before ``tracking`` would latch: the arm goes back to where it was
kept, and ``follow`` says so; all else holds as for any motion. Braking is the one motion that is
let through in every state, for it only slows down; an arm that is measured to move on after it
is braked again until it stands. Reported velocities are checked against the positions
(``sightplan_arm.checked_arm``). The gripper keeps what it does: dropping a thing is worse than
holding it.

Bodies are all links, hand and fingers, what is held, the table, the sides of the workspace box,
and the obstacles that the robot's file or the motion names (``sightplan_arm.bodies``). What is
held the gate knows from the grip that took it, until fingers open.

Proven to stay in the workspace is the planned way alone. Braking keeps to the joints' limits and
nearly to the way (all joints slow down evenly), but where a way bends the checked points leave it
by up to a few millimetres, and may leave a box whose side the way follows more closely than that.

Not a replacement for the robot's own emergency stop: a program can fail.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightplan.model import InputError, check_settings
from sightplan_arm.checked_arm import CheckedArm
from sightplan_arm.config import RobotConfig
from sightplan_arm.gate_status import (
    CAUSES,
    HELD_AGAIN,
    HOLDING,
    LATCHING,
    REFUSING,
    GateSettings,
    GateState,
    GateStatus,
    PlannedMotion,
)
from sightplan_arm.geometry import inverse
from sightplan_arm.hardware import Arm, ArmStoppedError, JointState, JointTrajectory, Vector
from sightplan_arm.limits import Limits
from sightplan_arm.notifier import Notifier
from sightplan_arm.surroundings import NOTHING, Around, Solid
from sightplan_arm.trajectories import giving_way, goes_past, sample, stopping
from sightplan_arm.watchdog import Beats, Fingers, off_track

if TYPE_CHECKING:
    from sightplan_arm.kinematics import Kinematics

__all__ = ['CAUSES', 'HOLDING', 'LATCHING', 'REFUSING', 'Gate', 'GateSettings', 'GateState',
           'GateStatus', 'PlannedMotion']

log = logging.getLogger(__name__)


EMPTY_M = 0.0012
"""Smallest distance between the fingers at which they may hold something [m]."""

OPENED_M = 0.003
"""Widening of the fingers from which they no longer hold the thing that they held [m]."""

WIDER, WIDER_M = 1.2, 0.005
"""Fingers may be apart by ``WIDER`` times the seen width of a thing plus ``WIDER_M`` [m] to hold
it."""

_GIVING_WAY = 0.2  # part of the greatest velocities and accelerations
AGAIN_S = 0.05
"""Shortest time between two commands to an arm that does not brake [s]."""


@dataclass(frozen=True)
class _Braking:
    """Interval of braking on the arm's clock, and its latest end on the wall clock [s]."""

    begin_s: float
    end_s: float
    wall_end_s: float
    trajectory: JointTrajectory | None = None

    def unbegun(self, state: JointState) -> bool:
        """Whether a sound measurement shows that the arm has not begun to brake."""
        return (self.trajectory is not None and state.stamp_s > self.begin_s
                and goes_past(state.positions, state.velocities, self.trajectory))


_NEVER = _Braking(math.inf, -math.inf, -math.inf)


@dataclass
class _Motion:
    """A motion that was sent: a trajectory, or a command of the fingers (without trajectory)."""

    what: str
    start_s: float
    trajectory: JointTrajectory | None = None
    error: ArmStoppedError | None = None
    timed: bool = True  # whether the arm's clock still is the one on which it was begun
    guard_rad: float = math.inf  # a joint that is off by more has met something
    met: bool = False


@dataclass
class _Pending:
    """A question to the operator; the answer is None until there is one."""

    id: str
    text: str
    answer: bool | None = None


@dataclass
class _Skill:
    """The skill that a thread carries out, and when it was begun."""

    epoch: int | None = None
    depth: int = 0
    confirmed: bool = False


class _Local(threading.local):
    def __init__(self) -> None:
        self.skill = _Skill()


class Gate:
    """Lets through, watches and stops all motions of one arm; see the module.

    All methods may be called from any thread (not from a signal handler). Listeners are called
    in a thread of their own without a lock held, so that nothing ever waits for one; of several
    changes of the status while one is busy it is told the last. ``close`` ends that thread.

    Args:
        arm: what moves. Nothing else may call its ``command`` and ``grip``; it must not call the
            gate from its methods.
        robot: its configuration.
        kinematics: of the robot.
        settings: how the gate is run.
        image_age_s: wall-clock seconds since a camera image came; None: images are taken on
            demand, and their age does not matter.
        clock: monotonic clock, for heartbeats and all that the arm does [s]: the wall's, or that
            of a simulation that waits for whoever is late (``sightplan_arm.pace``).
        wall: monotonic wall clock, for an operator's answers [s]; None: ``clock``.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, arm: Arm, robot: RobotConfig, kinematics: Kinematics,
                 settings: GateSettings | None = None, *,
                 image_age_s: Callable[[], float] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 wall: Callable[[], float] | None = None) -> None:
        self.settings = settings or GateSettings()
        check_settings(self.settings)
        self._arm = CheckedArm(arm, robot.arm.joints)
        self._robot, self._kinematics = robot, kinematics
        self.limits = Limits(robot, kinematics, self.settings.max_points,
                             self.settings.max_duration_s)
        self._image_age_s, self._clock, self._wall = image_age_s, clock, wall or clock
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._state = GateState.REARMED
        self._cause = self._message = ''
        self._epoch = 0  # number of the episode, so that plans of an old one are refused
        self._stops = 0  # number of stops, requested or found necessary
        self._motion: _Motion | None = None
        self._pending: _Pending | None = None
        self._ids = itertools.count(1)
        self._braking = _NEVER
        self._braked_s = -math.inf  # when the arm was last told to brake, on the wall's clock
        # Place where the arm was commanded to stay, if it was.
        self._stays_at: Vector | None = None
        self._held_again = 0  # repeats of that command, as it stood elsewhere
        self._at_rest: Vector | None = None  # place where the arm stood when nothing was commanded
        self._resting = False  # whether the arm has yet to come to rest after a stop
        self._stood_since_s: float | None = None  # stamp of the first measurement at rest
        self._unbraked = False  # whether the arm did not take the last command to brake
        self._sound: JointState | None = None  # the newest measurement without NaN
        self._moved_since_s: float | None = None  # stamp of the first unexpected measurement
        self._looked_s = -math.inf  # stamp of the newest measurement looked at
        self._clock_seen = (-math.inf, -math.inf)  # the arm's clock, and when it last changed
        self._others_may = False  # move the arm: a simulator that is set up between episodes
        self._shown: Vector | None = None  # end of the last motion of a dry run
        # What is in the hand, and how far the fingers are apart that hold it; None: they close.
        self._held: tuple[Solid, float | None] | None = None
        self._closing: Fingers | None = None  # around it, until they stand
        # Place where bodies were compared, and the room.
        self._room: tuple[Vector, float] | None = None
        self._beats = Beats()
        self._local = _Local()
        self._notifier = Notifier(self.status)

    # --- who listens --------------------------------------------------------------------------

    def on_status(self, listener: Callable[[GateStatus], None]) -> None:
        """Call a function with the status now, and whenever it changes."""
        self._notifier.on_status(listener)

    def on_plan(self, listener: Callable[[PlannedMotion], None]) -> None:
        """Call a function with each motion that passed the checks."""
        self._notifier.on_plan(listener)

    def close(self) -> None:
        """Call listeners no more. Motions are let through and watched as before."""
        self._notifier.close()

    # --- motions ------------------------------------------------------------------------------

    def check(self, trajectory: JointTrajectory, around: Around = NOTHING) -> None:
        """Check a motion as ``follow`` would now; ``limits.check`` is the part that needs no arm.

        Raises:
            ArmStoppedError: the motion would be refused; its cause says why.
        """
        trajectory = _frozen(trajectory)
        self.limits.check(trajectory, self._with_measured_hand(around))
        with self._lock:
            self._admit(self._skill_epoch())
            self._check_start(trajectory)

    def check_armed(self) -> None:
        """Check that the gate is ``ARMED``.

        Raises:
            ArmStoppedError: the gate is not ``ARMED``.
        """
        with self._lock:
            self._require_armed(self._skill_epoch())

    @property
    def epoch(self) -> int:
        """Number of the episode; motions that were planned in an earlier episode are outdated."""
        with self._lock:
            return self._epoch

    @contextmanager
    def skill(self, what: str, since: int | None = None) -> Iterator[None]:
        """Bracket the motions of one skill, planned already.

        With ``confirm`` = ``skill``, the operator is asked once, at the beginning. Motions are
        refused as ``outdated`` if an episode has begun since. Once begun, a skill whose next
        motion is refused for what would have held one leaves the arm held.

        Args:
            what: it is, for the operator.
            since: ``epoch`` when planning began; None: now.

        Raises:
            ArmStoppedError: the arm is not armed, or the operator did not say yes.
        """
        skill = self._local.skill
        if skill.depth:
            yield
            return
        with self._lock:
            epoch = self._epoch if since is None else since
            self._admit(epoch)
            skill.epoch, skill.depth = epoch, 1
        try:
            if self.settings.confirm == 'skill' and not self.settings.dry_run:
                self._ask(what, epoch)
            skill.confirmed = True
            yield
        except ArmStoppedError as error:
            with self._lock:
                if skill.confirmed and error.cause in HOLDING and epoch == self._epoch:
                    self._break(error)
            self._notifier.wake()
            raise
        finally:
            self._local.skill = _Skill()

    @property
    def held(self) -> Solid | None:
        """Solid in the hand, in the tip's frame; None if the gate knows of none."""
        with self._lock:
            return self._still_held()

    def follow(self, trajectory: JointTrajectory, what: str, around: Around = NOTHING, *,
               guarded: bool = False) -> bool:
        """Check a motion, have it confirmed, send it, and watch it until the arm stands.

        Args:
            trajectory: of the joints, from where the arm is to rest.
            what: it is, for the operator.
            around: what stands there, and what may touch in this motion. What is in the hand, and
                how far the fingers are apart, the gate knows better.
            guarded: whether the motion may end where something is in the way: as soon as a joint
                is off by ``guard_rad`` of the settings more than it was at the start, the arm is
                told to stay where it is.

        Returns:
            Whether the motion was carried out to its end.

        Raises:
            ArmStoppedError: it was refused, or broken off. Then the arm stands, or nothing more
                can be done about it.
        """
        epoch = self._skill_epoch()
        trajectory = _frozen(trajectory)  # so that what is sent is what was checked
        self.limits.check(trajectory, self._with_measured_hand(around))
        with self._lock:
            self._admit(epoch)
            self._check_start(trajectory)
        self._show(trajectory, what)
        if self.settings.dry_run:
            with self._lock:
                self._shown = trajectory.positions[-1].copy()
            return True
        self._confirm_motion(what, epoch)
        with self._lock:
            self._admit(epoch)
            self._check_start(trajectory)
            motion = _Motion(what, self._arm.now_s(), trajectory)
            if guarded:
                motion.guard_rad = self.settings.guard_rad + self._away(trajectory.positions[0])
            self._send(lambda: self._arm.command(trajectory), motion)
        self._notifier.wake()
        self._watch_over(motion, lambda: self._arrived(motion))
        return not motion.met

    def grip(self, opening_m: float, force_n: float, what: str,
             takes: Solid | None = None) -> float:
        """Move the fingers, and wait until they stand.

        Args:
            opening_m: distance between them, 0 to ``gripper.open_m`` of the robot's file.
            force_n: greatest force, at most ``gripper.force_n``.
            what: it is, for the operator.
            takes: what the fingers close around and that will move with the hand, in the table's
                frame; None: nothing. It counts as held until they have opened, unless they close
                to nothing, or are stopped on the way and stand farther apart than it is wide.

        Returns:
            The distance reached [m]; in a dry run what was asked for.

        Raises:
            ArmStoppedError: it was refused; or the arm was stopped meanwhile: the fingers then
                still do what they were told.
        """
        gripper = self._robot.gripper
        if not (0.0 <= opening_m <= gripper.open_m + 1e-9 and 0.0 < force_n <= gripper.force_n):
            raise ArmStoppedError(
                'gripper_limit', f'{what}: {1e3 * opening_m:.1f} mm with {force_n:g} N is outside '
                f'0 to {1e3 * gripper.open_m:g} mm with at most {gripper.force_n:g} N')
        epoch = self._skill_epoch()
        with self._lock:
            self._admit(epoch)
        if self.settings.dry_run:
            with self._lock:
                self._held = None if takes is None else (self._in_hand(takes), float(opening_m))
            return float(opening_m)
        self._confirm_motion(what, epoch)
        with self._lock:
            self._admit(epoch)
            held = None if takes is None else self._in_hand(takes)
            motion = _Motion(what, self._arm.now_s())
            fingers = Fingers(motion.start_s, float(opening_m), gripper.settle_s)
            if held is not None:  # whatever happens from here on, also if the command fails
                self._held, self._closing = (held, None), fingers
            else:
                self._end_of_closing()
            self._send(lambda: self._arm.grip(opening_m, force_n), motion)
        self._notifier.wake()
        self._watch_over(motion, lambda: fingers.settled(self._arm))
        with self._lock:
            wide = min(opening_m, fingers.opening_m) >= gripper.open_m - OPENED_M
            if wide and takes is None:
                self._held = None  # wide open, whatever was known of the opening before
            self._still_held()
        return fingers.opening_m

    def _in_hand(self, thing: Solid) -> Solid:
        """A thing in the table's frame as it is in the hand now. The lock is held.

        Raises:
            ArmStoppedError: it is not known where the arm is.
        """
        state = self._arm.state()
        where = self._shown if self._shown is not None else (
            None if state is None else state.positions)
        if where is None or not np.isfinite(where).all():
            raise ArmStoppedError('stale_state', 'it is not known where the arm is: there are no '
                                  'joint states, or they are not numbers; see to the driver')
        tip = inverse(self._robot.table.pose) @ self._kinematics.fk(where)
        return dataclasses.replace(thing, pose=inverse(tip) @ thing.pose)

    def _still_held(self) -> Solid | None:
        """Solid in the hand, unless the fingers have opened or closed since. The lock is held.

        How far they are apart around it is noted when they stand, also after the grip was broken
        off: they still do what they were told, if their drives are on.
        """
        if self._held is None or self.settings.dry_run:
            return self._held and self._held[0]
        thing, opening_m = self._held
        state = self._arm.state()
        if opening_m is None:
            assert self._closing is not None
            if not self._closing.settled(self._arm):
                return thing
            opening_m = self._closing.opening_m
            self._held = thing, opening_m
            if self._closing.broken_off and opening_m > self._widest_m(thing):
                self._held = None
            self._closing = None
        if opening_m < EMPTY_M or (state is not None and (
                state.opening_m < EMPTY_M or state.opening_m > opening_m + OPENED_M)):
            self._held = None
        return self._held and self._held[0]

    def _end_of_closing(self) -> None:
        """Note the opening of fingers that get another command while they close."""
        if self._still_held() is not None and self._closing is not None:
            state, (thing, _) = self._arm.state(), self._held or (None, None)
            if state is not None and thing is not None:
                self._held, self._closing = (thing, state.opening_m), None

    def _widest_m(self, thing: Solid) -> float:
        """Largest distance of the fingers at which they hold a thing of estimated size [m]."""
        width_m = float(np.abs(thing.pose[1, :3]) @ thing.size_m)  # along y, as fingers open
        return min(WIDER * width_m + WIDER_M, self._robot.gripper.open_m - OPENED_M)

    def _with_measured_hand(self, around: Around) -> Around:
        """Surroundings, with the solid in the hand and the fingers' opening."""
        with self._lock:
            held, state = self._still_held(), self._arm.state()
            opening_m = around.opening_m
            if state is not None and not self.settings.dry_run:
                opening_m = state.opening_m
            return dataclasses.replace(around, held=held or around.held, opening_m=opening_m)

    # --- what a person and the episode do -----------------------------------------------------

    def confirm(self, motion_id: str, accept: bool) -> None:
        """Answer the question that waits.

        Args:
            motion_id: ``pending`` of the status; '' stands for whichever waits.
            accept: the answer.

        Raises:
            InputError: nothing waits, or something else does.
        """
        with self._lock:
            pending = self._pending
            if pending is None:
                raise InputError('no motion waits for an answer')
            if motion_id not in ('', pending.id):
                raise InputError(f'motion {motion_id!r} does not wait for an answer; '
                                 f'{pending.id!r} does: {pending.text}')
            pending.answer = accept if pending.answer is None else pending.answer and accept
            self._changed.notify_all()

    def hold(self, cause: str = 'cancelled', message: str = 'the motion was cancelled') -> None:
        """Brake at once, for one of ``CAUSES``; nothing moves before the next episode.

        Does not wait for the arm.
        """
        self._break_off(cause, message, latched=False)

    def stop(self, cause: str = 'stop_request', message: str = 'a stop was asked for') -> None:
        """Brake at once, for one of ``CAUSES``; nothing moves until a person re-arms.

        Does not wait for the arm.
        """
        self._break_off(cause, message, latched=True)

    @property
    def stops(self) -> int:
        """Number of stops so far, including stops of an arm that was already stopped."""
        with self._lock:
            return self._stops

    def rearm(self, who: str, since: int | None = None) -> None:
        """Release a stop after a person has looked at the arm.

        Nothing moves before a new episode.

        Args:
            who: does so, for the record.
            since: ``stops`` when that person asked for it; None: now.

        Raises:
            ArmStoppedError: the arm is not known to stand, or was stopped once more since then.
        """
        with self._lock:
            if self._state is GateState.STOPPED:
                if since is not None and since != self._stops:
                    raise ArmStoppedError(self._cause, 'the arm was stopped once more while it '
                                          'was re-armed: see why, and re-arm it then',
                                          latched=True)
                if restless := self._restless():
                    raise ArmStoppedError(self._cause, f'{restless}; re-arm when it stands',
                                          latched=True)
                log.warning('re-armed by %s after %s: %s', who, self._cause, self._message)
                self._state = GateState.REARMED
                self._message = f're-armed by {who} after: {self._message}'
                self._cause, self._others_may, self._moved_since_s = '', False, None
                self._held_again, self._at_rest = 0, None
                self._brake(None)  # a controller may have missed what it was told before
        self._notifier.wake()

    def new_episode(self) -> None:
        """Begin an episode; wait until a braking arm stands.

        Everything must be observed and planned again.

        Raises:
            ArmStoppedError: a stop must be released first, a motion is under way, or the joint
                states do not show in time that the arm stands.
        """
        self._turn(GateState.ARMED)

    def end_episode(self) -> None:
        """End an episode: nothing moves before the next one, and others may move the arm.

        For a simulator that is set up anew, with the arm elsewhere at once and an empty hand.
        Raises and waits as ``new_episode`` does.
        """
        self._turn(GateState.REARMED)
        with self._lock:
            self._held = None

    def _turn(self, state: GateState) -> None:
        deadline = self._clock() + 2.0 * self.settings.settle_s
        while True:
            with self._lock:
                if self._state is GateState.STOPPED:
                    raise self._standing_error()
                restless = (self._restless() if state is GateState.ARMED
                            or self._state is GateState.HOLDING else '')
                busy = self._motion is not None or self._pending is not None
                if busy and self._state is GateState.ARMED:
                    raise ArmStoppedError('busy', 'a motion is under way or waits for an answer; '
                                          'cancel it first')
                if not busy and not restless and not self._brakes_at(self._arm.now_s()):
                    self._state, self._cause, self._message = state, '', ''
                    self._others_may = state is GateState.REARMED
                    self._epoch += 1
                    self._shown = self._moved_since_s = self._at_rest = None
                    self._braking = _NEVER
                    break
            if self._clock() > deadline:
                raise ArmStoppedError('busy', 'the arm has not come to rest in time'
                                      + (restless and f': {restless}'))
            self._arm.wait(self.settings.period_s)
            self.tick()  # which brakes it again
        self._notifier.wake()

    # --- heartbeats ---------------------------------------------------------------------------

    def beat(self, node: str, needs: Iterable[str] = (), age_s: float = 0.0) -> None:
        """Take a heartbeat of a node, and the nodes without which it cannot go on.

        Args:
            node: whose it is.
            needs: these nodes.
            age_s: how long ago it came [s]; never before the last one.
        """
        with self._lock:
            self._beats.last_s[node] = max(self._clock() - age_s,
                                           self._beats.last_s.get(node, -math.inf))
            self._beats.needs[node] = tuple(needs)

    def require(self, nodes: Iterable[str]) -> None:
        """Require heartbeats of some nodes, and of all nodes that they need."""
        with self._lock:
            self._beats.required = set(nodes)
        self._notifier.wake()

    def unheard(self) -> list[str]:
        """Nodes that motions need and of which not one heartbeat has come."""
        with self._lock:
            return self._beats.unheard()

    # --- the watchdog -------------------------------------------------------------------------

    def tick(self) -> None:
        """Check ages, heartbeats, limits and tracking; to be called about every 10 ms."""
        with self._lock:
            if not self.settings.dry_run:
                self._look()
                self._still_held()
        self._notifier.wake()

    def distrusted(self) -> tuple[str, ...]:
        """Names of the joints whose reported velocities do not fit their positions."""
        return self._arm.distrusted()

    def checks(self) -> dict[str, bool]:
        """Checks of motions, and whether each is made."""
        return {'limits': True, 'workspace': True, 'collisions': self.limits.bodies.whole,
                'tracking': True, 'joint_states': True, 'pictures': self._image_age_s is not None}

    def status(self) -> GateStatus:
        """The gate's present status."""
        with self._lock:
            waiting = list(self._waiting_for())
            pending = self._pending
            return GateStatus(
                self._state, self._cause, self._message, self._is_moving(),
                self.settings.dry_run, not waiting, tuple(waiting),
                pending.id if pending else '', pending.text if pending else '')

    # --- inside: whether something may move ---------------------------------------------------

    def _skill_epoch(self) -> int:
        """Number of the episode in which this thread's skill began."""
        begun = self._local.skill.epoch
        return self.epoch if begun is None else begun

    def _standing_error(self) -> ArmStoppedError:
        """The error to raise for a motion while the gate is not ``ARMED``."""
        if self._state is GateState.STOPPED:
            return ArmStoppedError(self._cause, f'{self._message}; nothing moves until a person '
                                   'has re-armed the arm and an episode has begun', latched=True)
        if self._state is GateState.HOLDING:
            return ArmStoppedError(self._cause, f'{self._message}; nothing moves before the next '
                                   'episode')
        return ArmStoppedError('not_reset', 'nothing moves before an episode has begun: reset '
                               'the world')

    def _require_armed(self, epoch: int) -> None:
        if self._state is not GateState.ARMED:
            raise self._standing_error()
        if epoch != self._epoch:
            raise ArmStoppedError('outdated', 'this was planned in an earlier episode: look '
                                  'and plan again')

    def _admit(self, epoch: int) -> None:
        """Raise if no command may pass now. The lock is held."""
        self._require_armed(epoch)
        if self._motion is not None or self._pending is not None:
            raise ArmStoppedError('busy', 'another motion is under way or waits for an answer')
        for cause, message in self._missing_conditions():
            raise ArmStoppedError(cause, message)

    def _missing_conditions(self) -> Iterator[tuple[str, str]]:
        """Yield cause and message of each missing condition for a motion."""
        safety = self._robot.safety
        for node, by in self._beats.silent(self._clock() - safety.heartbeat_timeout_s):
            yield 'heartbeat', (f'no heartbeat of {node}{f", which {by} needs" if by else ""}')
        if not self._arm.state_age_s() <= safety.state_timeout_s:
            yield 'stale_state', (f'no joint states for more than {safety.state_timeout_s:g} s')
        if self._image_age_s is not None and not self._image_age_s() <= safety.image_timeout_s:
            yield 'stale_image', f'no camera images for more than {safety.image_timeout_s:g} s'

    def _check_start(self, trajectory: JointTrajectory) -> None:
        """Raise if the arm is not at rest where the trajectory begins. The lock is held."""
        state = self._arm.state()
        if state is None:
            raise ArmStoppedError('stale_state', 'there are no joint states')
        still = self.settings.still_rad_s
        fastest = float(np.abs(state.velocities).max())
        if not fastest <= still:
            raise ArmStoppedError('moving', f'the arm moves with {fastest:.2f} rad/s; motions '
                                  'begin at rest')
        where = state.positions if self._shown is None else self._shown
        start = trajectory.positions[0]
        away = float(np.abs(start - where).max())
        if self._shown is not None:
            away = min(away, float(np.abs(start - state.positions).max()))
        if not away <= self._robot.safety.start_tolerance_rad:
            raise ArmStoppedError('jump', f'the motion begins {away:.3f} rad from where the arm '
                                  'is')
        faster = float(np.abs(trajectory.velocities[0] - state.velocities).max())
        if not faster <= still:
            raise ArmStoppedError('jump', f'the motion begins with a velocity that differs by '
                                  f"{faster:.2f} rad/s from the arm's")

    def _away(self, posture: Vector) -> float:
        """Largest deviation of a measured joint from a posture [rad]; 0 without a measurement."""
        state = self._arm.state()
        return 0.0 if state is None else float(np.abs(state.positions - posture).max())

    def _waiting_for(self) -> Iterator[str]:
        if self._state is GateState.STOPPED:
            yield 'a person who has seen to it and re-arms the arm'
        if self._state is not GateState.ARMED:
            yield 'a new episode (reset)'
        for _, message in self._missing_conditions():
            yield message.replace('no ', '', 1)
        if self._pending is not None:
            yield f"an operator's yes to: {self._pending.text}"
        elif self._motion is not None:
            yield f'the end of the motion under way: {self._motion.what}'
        elif self._is_moving():
            yield 'the arm to come to rest'

    # --- inside: questions --------------------------------------------------------------------

    def _show(self, trajectory: JointTrajectory, what: str) -> None:
        if not self._notifier.wants_plans():
            return
        count = max(2, math.ceil(trajectory.duration_s / 0.05) + 1)
        joints = np.stack([sample(trajectory, t)[0]
                           for t in np.linspace(0.0, trajectory.duration_s, count)])
        path = self._kinematics.fk_many(joints, (self._robot.tip_frame,))[:, 0]
        self._notifier.plan(PlannedMotion(what, trajectory, path))

    def _confirm_motion(self, what: str, epoch: int) -> None:
        wanted = self.settings.confirm
        if wanted == 'motion' or (wanted == 'skill' and not self._local.skill.confirmed):
            self._ask(what, epoch)

    def _ask(self, what: str, epoch: int) -> None:
        """Wait for an operator's yes. The lock is not held.

        Raises:
            ArmStoppedError: it did not come.
        """
        with self._lock:
            self._admit(epoch)
            pending = self._pending = _Pending(str(next(self._ids)), what)
        deadline = self._wall() + self.settings.confirm_timeout_s
        self._notifier.wake()
        try:
            with self._lock:
                while pending.answer is None:
                    self._require_armed(epoch)
                    if self._wall() >= deadline:
                        raise ArmStoppedError('no_answer', 'no operator has said yes within '
                                              f'{self.settings.confirm_timeout_s:g} s to: {what}')
                    self._changed.wait(0.02)
                if not pending.answer:
                    raise ArmStoppedError('declined', f'the operator said no to: {what}')
        finally:
            with self._lock:
                self._pending = None
            self._notifier.wake()

    # --- inside: motions under way ------------------------------------------------------------

    def _send(self, command: Callable[[], None], motion: _Motion) -> None:
        """Send a command. The lock is held, and everything was checked under it."""
        self._motion, self._moved_since_s, self._braking = motion, None, _NEVER
        self._at_rest = self._stays_at = None
        self._clock_seen = (motion.start_s, self._clock())
        try:
            command()
        except Exception as error:  # of any kind: the arm's state is now unknown
            self._break(ArmStoppedError('command_failed', f'{motion.what}: the arm did not take '
                                        f'the command: {error}', latched=True))
            self._motion = None
            raise self._standing_error() from error
        except BaseException:
            self._break(ArmStoppedError('cancelled', f'{motion.what}: the program that moves the '
                                        'arm was interrupted'))
            self._motion = None
            raise

    def _watch_over(self, motion: _Motion, done: Callable[[], bool]) -> None:
        """Let time pass until a motion has ended. The lock is not held."""
        try:
            while True:
                self._arm.wait(self.settings.period_s)
                self.tick()
                with self._lock:
                    if motion.error is not None:
                        break
                    if done():
                        self._motion = None  # whoever stops from here on stops no motion
                        return
        except BaseException:
            self.hold('cancelled', f'{motion.what}: the program that moves the arm was '
                      'interrupted')
            raise
        finally:
            try:
                if motion.error is not None:
                    self._wait_for_rest()
            finally:
                with self._lock:
                    self._motion = None if self._motion is motion else self._motion
                self._notifier.wake()
        raise motion.error

    def _wait_for_rest(self) -> None:
        """Wait until the arm stands, at most ``2 * settle_s``."""
        deadline = self._clock() + 2.0 * self.settings.settle_s
        while self._clock() < deadline:
            with self._lock:
                state = self._arm.state()
                if not self._brakes_at(self._arm.now_s()) and (
                        state is None or state.stamp_s < self._braking.end_s
                        or self._stands(state)):
                    return
            self._arm.wait(self.settings.period_s)
            self.tick()

    def _arrived(self, motion: _Motion) -> bool:
        """Whether a motion has ended; latches if it does not in time. The lock is held."""
        trajectory = motion.trajectory
        assert trajectory is not None
        end_s, state = motion.start_s + trajectory.duration_s, self._arm.state()
        if state is None or state.stamp_s < end_s:
            late_s = self._arm.now_s() - end_s
        else:
            away = float(np.abs(state.positions - trajectory.positions[-1]).max())
            still = bool((np.abs(state.velocities) <= self.settings.still_rad_s).all())
            tolerance = self._robot.safety.start_tolerance_rad
            late_s = state.stamp_s - end_s
            if still and (away <= 0.5 * tolerance
                          or (late_s > self.settings.settle_s and away <= tolerance)):
                return True
        if late_s > self.settings.settle_s:
            self._break(ArmStoppedError('tracking', f'{motion.what}: the arm has not arrived '
                                        f'{late_s:.1f} s after the end', latched=True))
        return False

    # --- inside: watching and breaking off ----------------------------------------------------

    def _look(self) -> None:
        """Compare the measurements with the motion and the limits. The lock is held."""
        motion, now_s = self._motion, self._arm.now_s()
        if motion is not None and self._state is GateState.ARMED:
            for cause, message in self._missing_conditions():
                self._break(ArmStoppedError(cause, f'{motion.what}: {message}'))
                return
            if now_s < self._clock_seen[0]:
                motion.timed = False
                self._break(ArmStoppedError('tracking', f"{motion.what}: the arm's clock was set "
                                            'back', latched=True))
                return
            if now_s != self._clock_seen[0]:
                self._clock_seen = (now_s, self._clock())
            elif self._clock() - self._clock_seen[1] > self.settings.settle_s:
                self._break(ArmStoppedError('stale_state', f"{motion.what}: the arm's clock "
                                            'stands still'))
                return
        state = self._arm.state()
        if state is None or state.stamp_s == self._looked_s:
            return
        if _finite(state):
            self._sound = state
        if self._state in (GateState.HOLDING, GateState.STOPPED):
            self._keep_at_rest(state)
        if self._state is GateState.STOPPED or self._others_may:
            return
        self._looked_s = state.stamp_s
        try:
            self._check_measured(state, motion)
        except ArmStoppedError as error:
            self._break(ArmStoppedError(error.cause, str(error), latched=True))

    def _check_measured(self, state: JointState, motion: _Motion | None) -> None:
        """Raise ArmStoppedError if the arm is not as it should be."""
        settings = self.settings
        self.limits.check_measured(state.positions, state.velocities,
                                   settings.position_slack_rad, settings.velocity_slack,
                                   settings.box_slack_m)
        self._check_bodies(state)
        if (motion is not None and motion.trajectory is not None and motion.error is None
                and motion.timed):
            off = off_track(state, motion.start_s, motion.trajectory, settings.tracking_delay_s)
            if not off <= self._robot.safety.tracking_tolerance_rad:
                raise ArmStoppedError('tracking', f'{motion.what}: the arm is {off:.3f} rad from '
                                      'where it should be')
            if not motion.met and off_track(
                    state, motion.start_s, motion.trajectory, settings.guard_delay_s,
                    ) > motion.guard_rad:
                self._give_way(motion, state)
            return
        # Nothing is commanded: the arm must stand where it is, once it has had the time for it.
        fastest = float(np.abs(state.velocities).max())
        still, braking = fastest <= settings.still_rad_s, self._brakes_at(state.stamp_s)
        if braking:
            self._at_rest = None
        elif self._at_rest is None and still:
            self._at_rest = state.positions
        away = (0.0 if self._at_rest is None
                else float(np.abs(state.positions - self._at_rest).max()))
        if braking or (still and away <= 2.0 * self._robot.safety.start_tolerance_rad):
            self._moved_since_s = None
        elif self._moved_since_s is None:
            self._moved_since_s = state.stamp_s
        elif state.stamp_s - self._moved_since_s > 0.25 * settings.settle_s:
            raise ArmStoppedError(
                'unexpected_motion', (f'the arm is {away:.3f} rad from where it came to rest'
                                      if still else f'the arm moves with {fastest:.2f} rad/s')
                + ' although nothing is commanded' + self._misreported())

    def _misreported(self) -> str:
        """Suffix of a message that names joints with distrusted velocities; '' without."""
        names = ', '.join(self._arm.distrusted())
        return names and f' (the velocities that the driver reports of {names} do not fit)'

    def _give_way(self, motion: _Motion, state: JointState) -> None:
        """Brake and keep the arm where an obstacle has stopped it. The lock is held."""
        assert motion.trajectory is not None
        log.warning('%s: something is in the way of the arm, which gives way', motion.what)
        now_s, arm = self._arm.now_s(), self._robot.arm
        told = sample(motion.trajectory, now_s - motion.start_s)[:2]
        motion.met, motion.start_s = True, now_s
        motion.trajectory = giving_way(*told, np.clip(state.positions, arm.lower, arm.upper),
                                       arm.stop_acceleration, _GIVING_WAY * arm.max_velocity,
                                       _GIVING_WAY * arm.max_acceleration)
        try:
            self._arm.command(motion.trajectory)
        except Exception as error:
            raise ArmStoppedError('command_failed', f'{motion.what}: the arm did not take the '
                                  f'command to give way: {error}') from error

    def _check_bodies(self, state: JointState) -> None:
        """Raise ArmStoppedError if bodies are measured to overlap.

        They are not compared again before some point of the arm can have gone as far as there was
        room for.
        """
        limits = self.limits
        if self._room is not None:
            where, room_m = self._room
            if limits.bodies.goes_m(state.positions - where) < room_m:
                return
        self._room = None
        room_m = limits.check_bodies(state.positions, self.settings.bodies_slack_m)
        self._room = state.positions, room_m

    def _break_off(self, cause: str, message: str, latched: bool) -> None:
        if cause not in CAUSES:
            raise ValueError(f'{cause!r} is not a cause: one of {", ".join(CAUSES)}')
        with self._lock:
            self._break(ArmStoppedError(cause, message, latched))
        self._notifier.wake()

    def _break(self, error: ArmStoppedError) -> None:
        """Hold or stop, and brake. The lock is held."""
        self._stops += error.latched
        if self._closing is not None:
            self._closing.broken_off = True
        state = GateState.STOPPED if error.latched else GateState.HOLDING
        if self._state is GateState.STOPPED or (
                not error.latched and self._state is not GateState.ARMED):
            if error.latched:
                self._brake_once_more(error)
            return  # the present stop is as strict
        self._resting, self._stood_since_s, self._held_again = True, None, 0
        (log.error if error.latched else log.warning)('%s: %s', error.cause, error)
        self._state, self._cause, self._message = state, error.cause, str(error)
        motion = self._motion
        if motion is None or motion.error is None:
            if motion is not None:
                motion.error = error
            self._brake(motion)
        else:
            self._brake_once_more(error)
        self._changed.notify_all()

    def _brake_once_more(self, error: ArmStoppedError) -> None:
        """Brake for another stop, or have an arm that stands stay there. The lock is held."""
        state = self._arm.state()
        if state is None:
            return
        if not self._stands(state):
            self._brake_again(state, 0.0)
        elif (error.cause != 'command_failed'  # for that would follow what is sent here
              and self._clock() - self._braked_s >= AGAIN_S):
            self._held_again = 0
            self._brake(None)

    def _keep_at_rest(self, state: JointState) -> None:
        """Brake an arm again that moves on, and have it stay where it stands. The lock is held.

        Once it has stood for a while, a person may move it by hand: it then stays where it is
        left.
        """
        if not self._stands(state):
            self._stood_since_s = None
            if self._resting:
                self._brake_again(state, self.settings.tracking_delay_s)
            return
        if self._stood_since_s is None or state.stamp_s < self._stood_since_s:
            self._stood_since_s = state.stamp_s
        stood_s = state.stamp_s - self._stood_since_s
        if stood_s >= self.settings.tracking_delay_s:
            self._command_to_stay(state)
        if stood_s > self.settings.settle_s:
            self._resting = False

    def _command_to_stay(self, state: JointState) -> None:
        """Command an arm that stands elsewhere than commanded to stay there. The lock is held.

        Else it would go on when nothing is in its way any more, or its drives are on again.
        """
        if not _finite(state) or self._brakes_at(state.stamp_s):
            return
        if self._stays_at is None:  # nobody took the command
            if self._clock() - self._braked_s >= self.settings.settle_s:
                self._brake(None)
            return
        away = float(np.abs(state.positions - self._stays_at).max())
        if away <= 0.5 * self._robot.safety.start_tolerance_rad:
            if self._stood_since_s is not None and (
                    state.stamp_s - self._stood_since_s > self.settings.settle_s):
                self._held_again = 0
        elif self._held_again < HELD_AGAIN and self._clock() - self._braked_s >= AGAIN_S:
            self._held_again += 1
            log.warning('the arm stands %.3f rad from where it was told to stay: it is to stay '
                        'where it is', away)
            self._brake(None)

    def _brake_again(self, state: JointState, delay_s: float) -> None:
        """Brake an arm again that still moves after braking should have ended. The lock is held.

        A command may be lost or refused: only what was measured after the braking should have
        ended (and ``delay_s`` more) tells; without measurements nothing is known to brake from.
        Or it is late: an arm that gets it when it has gone past where it should have stopped is
        thrown back there. So such an arm is sent braking from where it is now, which takes the
        place of what it has not taken yet (``qos.COMMANDS``).
        """
        if not _finite(state):
            return
        now_s, braking = self._clock(), self._braking
        over = state.stamp_s >= braking.end_s + delay_s or now_s >= braking.wall_end_s
        if ((over or braking.unbegun(state)) and now_s - self._braked_s >= AGAIN_S
                and not self.settings.dry_run and not self._stands(state)):
            log.error('the arm moves although it is to stand: it is braked again')
            self._braking = _NEVER
            self._brake(None)  # from where it is, wherever the motion has it by now

    def _brake(self, motion: _Motion | None) -> None:
        """Brake the arm; one that stands is commanded to stay there. The lock is held."""
        now_s = self._arm.now_s()
        here = self._moving_from(motion, now_s)
        if self.settings.dry_run or here is None or self._brakes_at(now_s):
            return
        arm, (where, speed) = self._robot.arm, here
        self._braked_s, self._braking = self._clock(), _NEVER
        state = self._arm.state()
        stays = state is not None and self._stands(state) and not speed.any()
        if stays:  # also where a joint is outside its limits: it is not driven
            trajectory = stopping(where, speed, arm.stop_acceleration)
        else:
            trajectory = stopping(where, np.clip(speed, -arm.max_velocity, arm.max_velocity),
                                  arm.stop_acceleration, arm.lower, arm.upper)
            self._braking = _Braking(now_s, now_s + trajectory.duration_s,
                                     self._braked_s + self.settings.settle_s, trajectory)
        try:
            self._arm.command(trajectory)
            self._unbraked = False
            self._stays_at = trajectory.positions[-1]
        except Exception as error:
            self._braking, self._stays_at = _NEVER, None
            if self._motion is None and stays:
                log.info('the arm, which stands, did not take the command to stay: %s', error)
                return  # nothing is under way that this would have ended; see _command_to_stay
            failed = ArmStoppedError(
                'command_failed', f'{self._message}; AND THE ARM DID NOT TAKE THE COMMAND TO '
                f'BRAKE ({error}): use its own emergency stop', latched=True)
            if not self._unbraked:
                self._state, self._cause = GateState.STOPPED, failed.cause
                self._message, self._unbraked = str(failed), True
                if self._motion is not None:
                    self._motion.error = failed
                log.critical('%s', failed)

    def _moving_from(self, motion: _Motion | None, now_s: float) -> tuple[Vector, Vector] | None:
        """Finite position and velocity (N,) from which to brake; None if they are not known.

        An arm that follows a motion is braked from where it is told to be, so that nothing
        jerks; also when its measurements are missing, or too old to tell. Otherwise, and where it
        stands although it is told to move, it is braked from the newest sound measurement;
        velocities that it cannot have are taken for none, so that an arm at rest whose sensor
        lies is held where it is and not thrown.
        """
        state = self._arm.state()
        known = state is not None and _finite(state)
        fresh = self._arm.state_age_s() <= self._robot.safety.state_timeout_s
        if motion is not None and motion.trajectory is not None and motion.timed:
            commanded = sample(motion.trajectory, now_s - motion.start_s)[:2]
            if state is None or not known or not fresh:
                return commanded
            if not self._is_kept(state, motion.trajectory, motion.start_s) and off_track(
                    state, motion.start_s, motion.trajectory, self.settings.tracking_delay_s,
                    ) <= self._robot.safety.tracking_tolerance_rad:
                return commanded
        if state is None:
            return None
        if not known:
            state = self._sound
            return None if state is None else (state.positions, 0.0 * state.positions)
        if self._stands(state):
            return (state.positions, 0.0 * state.positions) if fresh else None
        speed = self._arm.moves_with(state)
        fastest = (1.0 + self.settings.velocity_slack) * self._robot.arm.max_velocity
        believed = (np.abs(speed) <= fastest).all()
        return state.positions, speed if believed else 0.0 * speed

    def _is_kept(self, state: JointState, trajectory: JointTrajectory, start_s: float) -> bool:
        """Whether the arm stands although it was commanded to move, or stands elsewhere."""
        if not self._stands(state):
            return False
        passed_s = state.stamp_s - start_s
        where, speed, _ = sample(trajectory, passed_s)
        before = sample(trajectory, passed_s - self.settings.tracking_delay_s)[1]
        slowest = min(float(np.abs(speed).max()), float(np.abs(before).max()))
        return slowest > self.settings.still_rad_s or float(
            np.abs(state.positions - where).max()) > (
                0.5 * self._robot.safety.start_tolerance_rad)

    def _brakes_at(self, time_s: float) -> bool:
        """Whether the arm brakes at a time of its clock, which may have been set back since."""
        braking = self._braking
        return (braking.begin_s <= time_s < braking.end_s
                and self._clock() < braking.wall_end_s)

    def _stands(self, state: JointState) -> bool:
        return bool((np.abs(state.velocities) <= self.settings.still_rad_s).all())

    def _restless(self) -> str:
        """Explain why the arm is not known to stand; '' if it stands. The lock is held."""
        limit_s = self._robot.safety.state_timeout_s
        if not self._arm.state_age_s() <= limit_s:
            return (f'no joint states for more than {limit_s:g} s, so that nobody knows whether '
                    'the arm stands')
        return 'the arm still moves' if self._is_moving() else ''

    def _is_moving(self) -> bool:
        if self._motion is not None or self._brakes_at(self._arm.now_s()):
            return True
        state = self._arm.state()
        return state is not None and not self._stands(state)


def _finite(state: JointState) -> bool:
    return bool(np.isfinite(state.positions).all() and np.isfinite(state.velocities).all())


def _frozen(trajectory: JointTrajectory) -> JointTrajectory:
    """Copy of a trajectory that cannot be changed; a malformed one stays so, to be refused."""
    def copy(array: Vector) -> Vector:
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            return array
        array = np.array(array, subok=False)
        array.flags.writeable = False
        return array
    return JointTrajectory(copy(trajectory.times_s), copy(trajectory.positions),
                           copy(trajectory.velocities))
