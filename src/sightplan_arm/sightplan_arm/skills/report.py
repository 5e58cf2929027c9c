"""Report of an action: its end, cause and durations, as far as the robot can perceive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sightplan.model import Action, Feedback, FeedbackStatus

DONE = 'done'
DRY_RUN = 'dry_run'
STOPPED = 'stopped'
FAILED = 'failed'
MISSED_GRASP = 'missed_grasp'
DROPPED = 'dropped'
MISPLACED = 'misplaced'
DISTURBED = 'disturbed'
UNKNOWN = 'unknown'
NOT_FOUND = 'not_found'
UNCLEAR = 'unclear'
COVERED = 'covered'
ALREADY_THERE = 'already_there'
COLUMN_FULL = 'column_full'
TAKEN = 'taken'
OFF_BOARD = 'off_board'
BELIEF_MISMATCH = 'belief_mismatch'
NO_ROOM = 'no_room'
UNREACHABLE = 'unreachable'
OCCUPIED = 'occupied'
NO_GRASP = 'no_grasp'
EMPTY_HAND = 'empty_hand'
NO_HANDLE = 'no_handle'
STUCK = 'stuck'

CAUSES = (DONE, DRY_RUN, STOPPED, FAILED, MISSED_GRASP, DROPPED, MISPLACED, DISTURBED, UNKNOWN,
          NOT_FOUND, UNCLEAR, COVERED, ALREADY_THERE, COLUMN_FULL, TAKEN, OFF_BOARD,
          BELIEF_MISMATCH, NO_ROOM, UNREACHABLE, OCCUPIED, NO_GRASP, EMPTY_HAND, NO_HANDLE, STUCK)
"""Causes of an action's end.

``done``: carried out. ``dry_run``: planned, nothing was sent. ``stopped``: the gate refused or
broke off a motion. ``failed``: camera, arm or fingers broke down; as with ``stopped`` the action
ended in an error. ``missed_grasp``, ``dropped``, ``misplaced``: what fingers and camera told of a
motion that went wrong (a finger that came upon something on its way down is a missed grasp);
``disturbed``: the block is where it should be, something else is not where it was; ``stuck``: a
drawer did not move as far as it should. The others say why nothing moved: ``unknown`` action or
object; ``not_found``: it is not seen, or whoever asks is not sure enough that it exists and is
there; ``unclear``: what is seen cannot be, or something is there of which it is not known what or
where it is; ``covered``, ``already_there``,
``column_full``, ``taken`` (the cell to which a piece should go), ``off_board``: no sense in what
is seen; ``belief_mismatch``: the agent is sure of something else; ``no_room`` for the hand, or
what it held came upon something on its way down, and is back in the air; ``unreachable``;
``occupied``: the hand is not empty; ``no_grasp``:
nothing of the thing fits between the fingers; ``empty_hand``: nothing is held that could be put
down; ``no_handle``: no handle is seen on a front.
"""

ILLEGAL = (UNKNOWN, COVERED, ALREADY_THERE, TAKEN, OFF_BOARD)
"""Causes with which an action is REJECTED: it is none, or the camera shows that it is not legal.

Whatever else kept the robot from moving says nothing about the state of the world: the agent is
told EXECUTED with the message, as of a motion that came to nothing, and finds out by looking.
"""


def status_of(cause: str) -> FeedbackStatus:
    """Return the status that the agent is told of an action, by the cause of the action's end."""
    if cause == DRY_RUN:
        return FeedbackStatus.WITHHELD
    return FeedbackStatus.REJECTED if cause in ILLEGAL else FeedbackStatus.EXECUTED


class Refused(Exception):
    """An action is not begun, or not gone on with.

    Args:
        cause: one of ``CAUSES``.
        message: for people.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause, self.message = cause, message


@dataclass(frozen=True)
class SkillReport:
    """Content of the message SkillReport.

    Attributes:
        action: what was asked for.
        cause: one of ``CAUSES``.
        message: for people; '' if there is nothing to say.
        phases: what was done (perceive, plan, approach, ...), in order of their first time.
        seconds: of each, on the arm's clock.
        cpu_seconds: of each, of the process.
        wall_seconds: of each.
    """

    action: Action
    cause: str
    message: str = ''
    phases: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    wall_seconds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.cause not in CAUSES:
            raise ValueError(f'{self.cause!r} is not a cause: one of {", ".join(CAUSES)}')


@dataclass(frozen=True)
class SkillResult:
    """The answer to an action.

    Attributes:
        feedback: what the agent is told; its stamp is left to the world.
        report: how it went.
    """

    feedback: Feedback
    report: SkillReport


@dataclass
class Stopwatch:
    """Times of phases, added up by name, on three clocks.

    Attributes:
        clock: the arm's [s].
    """

    clock: Callable[[], float]
    _spent: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of a block of code to a phase, even if the block fails."""
        before = self._now()
        try:
            yield
        finally:
            spent = self._spent.setdefault(name, [0.0, 0.0, 0.0])
            for i, (start, end) in enumerate(zip(before, self._now(), strict=True)):
                spent[i] += end - start

    def report(self, action: Action, cause: str, message: str = '') -> SkillReport:
        """The report of an action, with the times so far."""
        seconds, cpu, wall = (tuple(spent[i] for spent in self._spent.values()) for i in range(3))
        return SkillReport(action, cause, message, tuple(self._spent), seconds, cpu, wall)

    def _now(self) -> tuple[float, float, float]:
        return self.clock(), time.process_time(), time.perf_counter()
