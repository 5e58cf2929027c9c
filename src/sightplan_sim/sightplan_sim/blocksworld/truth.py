"""True atoms of the blocksworld from poses of blocks, and outcomes of actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Action, Atom, FeedbackStatus, State
from sightplan_arm.geometry import rotation_from_quaternion
from sightplan_sim.blocksworld.camera import BLOCK_M
from sightplan_sim.episodes import Pose7

ACTION = 'moveblock'


def true_atoms(blocks: Mapping[str, Pose7], columns: Mapping[str, float], pitch_m: float) -> State:
    """True atoms for blocks at their poses; tilted or misplaced blocks have fewer.

    - ``leftof``, ``rightof``: by the places of the columns.
    - ``incolumn(b, c)``: b's centre is less than half a pitch beside c and at most half a side
      before or behind the row (so are the rows of ``sightplan_arm.perception``); b is tilted by
      15 degrees at most; and it rests on the table, or on a block of c.
    - ``on(a, b)``: a rests on b, and both are in the same column.
    - ``clear(b)``: b is in a column, and of no other block the centre is more than half a side
      above b's, and over b (nearer than a side, seen from above). So what hangs in the gripper
      above b hides it.

    A block rests on the table if its centre is 0.3 to 0.7 sides above it, and on another one if
    its centre lies over that one's upper face, 0.8 to 1.2 sides above that one's centre. What is
    held in the hand, leans, or lies on the floor is in no column, on nothing, and not clear.

    Args:
        blocks: pose of the centre of each block, by its name.
        columns: x of each column, by its name [m].
        pitch_m: distance of neighbouring columns.
    """
    atoms = {Atom(predicate, (a, b))
             for a, xa in columns.items() for b, xb in columns.items()
             for predicate, holds in (('leftof', xa < xb), ('rightof', xa > xb)) if holds}
    places: dict[str, str] = {}
    for name in sorted(blocks, key=lambda block: blocks[block][2]):
        below = [b for b in places if _rests(blocks[name], blocks[b])]
        for column, x in columns.items():
            if _stands(blocks[name], x, pitch_m) and (
                    abs(blocks[name][2] - BLOCK_M / 2) < _REST_M
                    or any(places[b] == column for b in below)):
                places[name] = column
        atoms |= {Atom('on', (name, b)) for b in below if places[b] == places.get(name)}
    for name, column in places.items():
        atoms.add(Atom('incolumn', (name, column)))
        if not any(_covers(blocks[other], blocks[name]) for other in blocks if other != name):
            atoms.add(Atom('clear', (name,)))
    return frozenset(atoms)


_UPRIGHT = math.cos(math.radians(15.0))
_REST_M = 0.2 * BLOCK_M
"""Largest deviation in height of a block that counts as resting on something [m]."""


def _stands(pose: Pose7, column_x_m: float, pitch_m: float) -> bool:
    """Whether a block is upright, and at the place of a column."""
    tall = float(np.abs(rotation_from_quaternion(pose[3:])[2]).max())
    return (abs(pose[0] - column_x_m) < pitch_m / 2 and abs(pose[1]) <= BLOCK_M / 2
            and tall >= _UPRIGHT)


def _rests(upper: Pose7, lower: Pose7) -> bool:
    """Whether a block is where one is that rests on another."""
    aside = np.array([upper[0] - lower[0], upper[1] - lower[1], 0.0])
    level = _level_offset(rotation_from_quaternion(lower[3:]), aside)
    return level < BLOCK_M / 2 and abs(upper[2] - lower[2] - BLOCK_M) < _REST_M


def _covers(upper: Pose7, lower: Pose7) -> bool:
    """Whether a block is above another one, at whatever height."""
    aside = math.hypot(upper[0] - lower[0], upper[1] - lower[1])
    return upper[2] - lower[2] > 0.5 * BLOCK_M and aside < BLOCK_M


def _level_offset(axes: NDArray[np.float64], aside: NDArray[np.float64]) -> float:
    """Greatest component of a horizontal offset along the two flattest axes of a block."""
    flat = sorted(range(3), key=lambda k: abs(axes[2, k]))[:2]
    return max(abs(float(aside @ axes[:, k])) for k in flat)


def outcome_of(action: Action, status: FeedbackStatus, before: State, after: State,
               columns: Sequence[str]) -> str:
    """Outcome of ``moveblock(b, c)``, by what was true before and after it.

    Returns:
        ``success``: b is on top in c, all else is as it was. ``illegal``: rejected, and it could
        not have been done. ``refused``: rejected, although it could have been done. ``no_op``:
        carried out, and nothing has changed. ``dropped_target:moveblock(b, c2)`` and
        ``dropped_source:moveblock(b, c2)``: what happened is a move to another column, nearer to
        c, or to where b was. ``disturbed``: anything else has changed, also if b is in c.
    """
    moves = {column: _moved(action.args[0], column, before) for column in columns} if (
        action.name == ACTION and len(action.args) == 2) else {}
    expected = moves.get(action.args[1]) if moves else None
    if status is FeedbackStatus.REJECTED and after == before:
        return 'refused' if expected is not None else 'illegal'
    if expected is not None and after == expected:
        return 'success'
    if after == before:
        return 'no_op'
    landed = next((column for column, state in moves.items() if state == after), None)
    if landed is None or action.args[1] not in columns:
        return 'disturbed'
    block, target = action.args
    source = next(a.args[1] for a in before if a.predicate == 'incolumn' and a.args[0] == block)
    place = list(columns).index
    nearer = abs(place(landed) - place(target)) <= abs(place(landed) - place(source))
    name = 'dropped_target' if nearer else 'dropped_source'
    return f'{name}:{Action(ACTION, (block, landed))}'


def _moved(block: str, column: str, before: State) -> State | None:
    """The state after a legal move; None if it is none."""
    where = {a.args[0]: a.args[1] for a in before if a.predicate == 'incolumn'}
    if (block not in where or where[block] == column or Atom('clear', (block,)) not in before):
        return None
    below = {a for a in before if a.predicate == 'on' and a.args[0] == block}
    top = [b for b, c in where.items() if c == column and Atom('clear', (b,)) in before]
    if len(top) > 1:
        return None
    gone = {Atom('incolumn', (block, where[block])), *below,
            *(Atom('clear', (b,)) for b in top)}
    new = {Atom('incolumn', (block, column)), *(Atom('clear', (a.args[1],)) for a in below),
           *(Atom('on', (block, b)) for b in top)}
    return frozenset(before - gone | new)
