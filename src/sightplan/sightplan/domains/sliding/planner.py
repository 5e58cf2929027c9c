"""Plans by A*, where the Fast Downward planner would take a hundred times as long."""

from __future__ import annotations

from sightplan.domains.sliding.boards import NODE_LIMIT, Board, shortest, solvable
from sightplan.model import PlanningResult, PlanningStatus, Problem

_SHORT = 'short'
_EFFORTS = ((1.0, 500), (2.0, 1_500), (5.0, 20_000))
"""Weights and limits that ``short`` tries: most boards are done in the first one."""


def plan(problem: Problem, search: str) -> PlanningResult:
    """A shortest plan; with the search ``short`` one that is close to it, or none in doubt.

    A goal that leaves out pieces cannot be planned for here.

    Args:
        problem: with its initial state.
        search: name of a search, see ``planning.symbolic``.

    Raises:
        InputError: start or goal do not give every piece one cell.
    """
    board = Board.of(problem)
    start, goal = board.arrangement(problem.init, f'{problem.name}: init'), board.goal(problem)
    if not solvable(board.size, start, goal):
        return PlanningResult(PlanningStatus.UNSOLVABLE, message='the goal is of the other parity')
    for weight, limit in _EFFORTS if search == _SHORT else ((1.0, NODE_LIMIT),):
        found = shortest(board.size, start, goal, limit, weight)
        if found.moves is not None:
            return PlanningResult(PlanningStatus.SOLVED, board.plan(found.moves))
    return PlanningResult(
        PlanningStatus.UNSOLVABLE if found.complete else PlanningStatus.TIMEOUT,
        message=f'no plan within {limit} arrangements')
