"""True atoms of a board from poses of pieces, and outcomes of actions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.sliding.boards import Board, cell_names, neighbours, next_atoms
from sightplan.model import Action, Atom, FeedbackStatus, State
from sightplan_arm.plinths import HEIGHT_M, cell_at

Floats = NDArray[np.float64]
Frames = Mapping[str, tuple[Floats, Floats]]
"""Origin (3,) and rotation (3, 3) of each piece's frame in the table's, by name."""

_UPRIGHT = math.cos(math.radians(15.0))
_RISEN_M = 0.2 * HEIGHT_M
"""A piece whose foot is higher than this does not stand on the board [m]."""


def standing(frames: Frames, board: Board, spacing_m: float) -> tuple[int | None, ...]:
    """The cell in which each piece of a board stands; None: it stands in none.

    A piece stands in a cell if it is upright by 15 degrees, its foot is less than a fifth of a
    plinth's height off the board, and its middle is in that cell.
    """
    cells = []
    for name in board.pieces:
        origin, turn = frames[name]
        stands = turn[2, 2] >= _UPRIGHT and abs(origin[2]) < _RISEN_M
        cells.append(cell_at(origin[:2], board.size, spacing_m) if stands else None)
    return tuple(cells)


def true_atoms(frames: Frames, board: Board, spacing_m: float) -> State:
    """True atoms for pieces at their places.

    - ``at(p, c)``: p stands in c, see ``standing``. What is held, leans or lies is nowhere.
    - ``empty(c)``: no piece's foot is in c, nor over it, whether it stands or not.
    - ``next``: as the board is.
    """
    names = cell_names(board.size)
    taken = {cell_at(origin[:2], board.size, spacing_m) for origin, _ in frames.values()}
    return next_atoms(board.size) | {
        Atom('at', (piece, names[cell])) for piece, cell in zip(
            board.pieces, standing(frames, board, spacing_m), strict=True) if cell is not None
    } | {Atom('empty', (name,)) for cell, name in enumerate(names) if cell not in taken}


def outcome_of(action: Action, status: FeedbackStatus, before: State, after: State,
               board: Board) -> str:
    """Outcome of ``move(p, d)``, by what was true before and after it.

    Returns:
        ``success``: p is in the next cell, all else is as it was. ``illegal``: rejected, and it
        could not have been done. ``refused``: rejected, although it could have been done.
        ``no_op``: carried out, and nothing has changed. ``disturbed``: anything else has changed.
    """
    expected = _moved(action.args, before, board)
    if status is FeedbackStatus.REJECTED and after == before:
        return 'refused' if expected is not None else 'illegal'
    if after == before:
        return 'no_op'
    return 'success' if after == expected else 'disturbed'


def _moved(args: Sequence[str], before: State, board: Board) -> State | None:
    """The state after a legal move; None if it is none."""
    names = cell_names(board.size)
    here = [atom.args[1] for atom in before
            if atom.predicate == 'at' and atom.args[:1] == tuple(args[:1])]
    if len(args) != 2 or len(here) != 1:
        return None
    target = dict(neighbours(board.size)[names.index(here[0])]).get(args[1])
    if target is None or Atom('empty', (names[target],)) not in before:
        return None
    return before - {Atom('at', (args[0], here[0])), Atom('empty', (names[target],))} | {
        Atom('at', (args[0], names[target])), Atom('empty', (here[0],))}
