"""Plan for sliding puzzles by A*; Fast Downward takes a hundred times as long."""

from __future__ import annotations

from sightplan.domains.sliding.boards import NODE_LIMIT, Board, next_atoms, shortest, solvable
from sightplan.model import InputError, PlanningResult, PlanningStatus, Problem

_SHORT = 'short'
_EFFORTS = ((1.0, 500), (2.0, 1_500), (5.0, 20_000))
"""Weights and limits of the A* runs of ``short``, in order; the first solves most boards."""


def plan(problem: Problem, search: str) -> PlanningResult:
    """Return a shortest plan, or for the search ``short`` a nearly shortest one or a timeout.

    The goal must place every piece.

    Args:
        problem: with its initial state.
        search: name of a search, see ``planning.symbolic``.

    Raises:
        InputError: start or goal do not give every piece one cell, the goal asks for something
            else besides, or cells are not next to each other as on a whole board.
    """
    board = Board.of(problem)
    start, goal = board.arrangement(problem.init, f'{problem.name}: init'), board.goal(problem)
    known = next_atoms(board.size)
    if known != {atom for atom in problem.init if atom.predicate == 'next'}:
        raise InputError(f'{problem.name}: init: the facts of next are not those of a whole board '
                         '(correct them)')
    if not problem.goal_met(board.facts(goal) | known):
        raise InputError(f'{problem.name}: goal: it contradicts itself (give every piece one '
                         'cell, and leave out the rest)')
    if not solvable(board.size, start, goal):
        return PlanningResult(PlanningStatus.UNSOLVABLE, message='the goal is of the other parity')
    for weight, limit in _EFFORTS if search == _SHORT else ((1.0, NODE_LIMIT),):
        found = shortest(board.size, start, goal, limit, weight)
        if found.moves is not None:
            return PlanningResult(PlanningStatus.SOLVED, board.plan(found.moves))
    return PlanningResult(
        PlanningStatus.UNSOLVABLE if found.complete else PlanningStatus.TIMEOUT,
        message=f'no plan within {limit} arrangements')
