"""The motions with which a thing is taken from one place and put down at another: planned."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import make_pose
from sightplan_arm.hardware import Vector
from sightplan_arm.skills.clearance import Obstacle
from sightplan_arm.skills.motions import (
    ROOM_M,
    Motion,
    MotionSequence,
    PathPlanner,
    all_that_work,
    first_that_works,
    turning_rad,
)
from sightplan_arm.skills.solids import around_thing, in_hand, put_down, solids
from sightplan_arm.surroundings import Around, Solid

FIRST, SMOOTH = 'first', 'smooth'
"""Ways to choose a plan: see ``TransportPlanner``."""

_HALF_A_TURN = make_pose(np.zeros(3), np.diag([-1.0, -1.0, 1.0]))


@dataclass(frozen=True, eq=False)
class Transport:
    """A thing to move, its start and its goal. Poses are (4, 4) of the tip in the table's frame.

    Attributes:
        thing, place: what they are called.
        at_source, over_source, over_target, at_target: where the tip takes the thing, straight
            above, straight above the target, and where it lets go.
        others: all else that stands on the table.
        before, after: the thing itself, where it stands and where it will, as one or several.
        room_m: distance to the others that is enough for every link at source and target; None:
            as ``PathPlanner.rise`` has it.
    """

    thing: str
    place: str
    at_source: Vector
    over_source: Vector
    over_target: Vector
    at_target: Vector
    others: Sequence[Obstacle]
    before: Sequence[Obstacle]
    after: Sequence[Obstacle]
    room_m: float | None = None


@dataclass(frozen=True, eq=False)
class Moves:
    """The planned motions of a move.

    Attributes:
        fetch: to the thing.
        bring: with the thing in the hand.
        leave: away from it.
        escape: back to where the camera sees everything, from the thing, with nothing in the hand.
        thing: what is fetched, where it stands.
    """

    fetch: tuple[Motion, ...]
    bring: tuple[Motion, ...]
    leave: tuple[Motion, ...]
    escape: tuple[Motion, ...]
    thing: tuple[Solid, ...] = ()

    @property
    def all(self) -> tuple[Motion, ...]:
        """The motions of all four."""
        return (*self.fetch, *self.bring, *self.leave, *self.escape)


class TransportPlanner:
    """Plans all motions of a move before any is made.

    Args:
        robot: its configuration.
        paths: finds paths among what stands on the table.
        carry_speed: part of the speed with a thing in the hand or close to others.
        clearance_m: distance kept to what stands on the table on the way.
        choice: which plan is taken of those with the hand one way round and the other: ``first``:
            the first that works; ``smooth``: of all that work those with most room at source and
            target, as far as more is needed, and of these the one that turns the joints least.
    """

    def __init__(self, robot: RobotConfig, paths: PathPlanner, *, carry_speed: float,
                 clearance_m: float, choice: str = FIRST) -> None:
        self._robot, self._paths = robot, paths
        self._slow, self._room_m, self._choice = carry_speed, clearance_m, choice

    def plan(self, task: Transport) -> Moves:
        """Plan all motions of a move.

        Raises:
            NoRoomError: the arm would come too near to things.
            UnreachableError: a place cannot be reached.
        """
        tries = [  # two fingers may as well be turned by half a turn
            functools.partial(self._moves, task, *(pose @ turn for pose in (
                task.at_source, task.over_source, task.over_target, task.at_target)))
            for turn in (np.eye(4), _HALF_A_TURN)]
        wrong = f'{task.thing} cannot be brought to {task.place}'
        if self._choice == FIRST:
            return first_that_works(tries, wrong)
        return min(all_that_work(tries, wrong), key=functools.partial(self._cost, task))

    def _cost(self, task: Transport, moves: Moves) -> tuple[float, float]:
        """Cost of a plan: first the lacking room [m], then the joints' turning [rad]."""
        enough = ROOM_M if task.room_m is None else task.room_m
        room = min((self._paths.clearance.least_m(motion.trajectory.positions, task.others, enough)
                    for motion in (*moves.fetch[-1:], *moves.bring[-1:])), default=enough)
        return (round(enough - room, 4),
                turning_rad((*moves.fetch, *moves.bring, *moves.leave)))

    def _moves(self, task: Transport, at_source: Vector, over_source: Vector,
               over_target: Vector, at_target: Vector) -> Moves:
        """The motions of a move through four poses of the tip.

        Raises:
            UnreachableError: they cannot be made.
        """
        rise = self._paths.rise if task.room_m is None else functools.partial(
            self._paths.rise, room_m=task.room_m)
        sources = rise(at_source, over_source, task.others)
        targets = rise(at_target, over_target, task.others)
        return first_that_works([
            functools.partial(self._join, task, source, target)
            for source in sources for target in targets], 'no way is found over the table')

    def _join(self, task: Transport, source: Vector, target: Vector) -> Moves:
        """The motions of a move from the paths up from both places.

        Raises:
            UnreachableError: they cannot be joined.
        """
        slow, room, thing, place = self._slow, self._room_m, task.thing, task.place
        standing, side = (*task.others, *task.before), self._robot.table.block_m
        others = solids(task.others, side)
        taken, placed = (_named(thing, solids(parts, side)) for parts in (task.before, task.after))
        held = in_hand(thing, taken, self._paths.pose(source[0]))
        fetching = around_thing(others, taken)
        sequence = MotionSequence(self._paths, self._robot.arm.park, fetching)
        sequence.out('approach', f'to above {thing}', source[-1], standing, room)
        sequence.along('approach', f'down to {thing}', source[::-1], slow)
        fetch = sequence.take()
        escape = sequence.branch()
        escape.along('retreat', f'up from {thing}', source, slow)
        escape.home('retreat', standing, room)
        sequence.around = Around(others, held, side)
        sequence.along('lift', f'up with {thing}', source, slow)
        sequence.along('transfer', f'{thing} to above {place}',
                       self._paths.across(source[-1], target[-1]), slow)
        sequence.around = replace(sequence.around, touches=put_down(
            held, self._paths.pose(target[0]), others))
        sequence.along('place', f'{thing} down on {place}', target[::-1], slow)
        bring = sequence.take()
        sequence.around = around_thing(others, placed)
        sequence.along('retreat', f'up from {thing}', target, slow)
        sequence.home('retreat', (*task.others, *task.after), room)
        return Moves(fetch, bring, sequence.take(), escape.take(), taken)


def _named(thing: str, parts: Sequence[Solid]) -> tuple[Solid, ...]:
    """The parts of a moved thing, named after it."""
    return tuple(replace(part, name=f'{thing} ({number})')
                 for number, part in enumerate(parts, 1))
