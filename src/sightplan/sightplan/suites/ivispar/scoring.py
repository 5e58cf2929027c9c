"""iVISPAR's measures of an episode: see ``measures`` for the formulas and ``classes`` for moves.

*Completed* (``solved``) is what a suite is compared by. The paper's second number, step deviation,
is
``deviation``: the distance to the goal after as many actions as a shortest solution has, over all
episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sightplan.domains.sliding.boards import Board
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures
from sightplan.metrics.measures import MEAN, Measure
from sightplan.model import Action, FeedbackStatus, Problem, State
from sightplan.suites.ivispar import measures as formulas
from sightplan.suites.ivispar.classes import CLASSES, EFFECTIVE, ILLEGAL, Distances, classify

_ABOUT = {'EM': 'legal moves that bring the goal nearer',
          'IM': 'legal moves that take the goal further away',
          'OD': 'moves onto another piece', 'OB': 'moves off the board',
          'IC': 'replies without a legal command'}

MEASURES = (
    *EPISODE_MEASURES,
    Measure('deviation', 'distance to the goal after as many actions as a shortest solution has '
            '(R at c1)', MEAN, False),
    Measure('minimum', 'smallest distance to the goal that was reached [moves]', MEAN, False),
    Measure('progress', 'part of the way to the goal that was covered at the end [per cent]',
    MEAN), Measure('solved_optimally', 'goal reached by a shortest solution'),
    *(Measure(kind, f'number of {_ABOUT[kind]}', MEAN, kind == EFFECTIVE)
      for kind in CLASSES),
)


def details(problem: Problem, states: Sequence[State], line: Mapping[str, Any]) -> dict[str, Any]:
    """The way of an episode over its board.

    Args:
        problem: with start and goal.
        states: true ones, at the beginning and after each step.
        line: of the episode; its ``actions`` have status and text.

    Returns:
        ``distances`` to the goal [moves], one more than there are steps, None where the search
        reached its limit; ``classes`` of the steps, None for one that sent nothing.
    """
    board = Board.of(problem)
    distances = Distances(board.size, board.goal(problem))
    path = [board.arrangement(state) for state in states]
    classes = [_kind(board, step, here, distances)
               for step, here in zip(line['actions'], path, strict=False)]
    return {'distances': [distances.of(here) for here in path], 'classes': classes}


def _kind(board: Board, step: Mapping[str, Any], here: tuple[int, ...], distances: Distances,
          ) -> str | None:
    """The class of a step."""
    if step['status'] == FeedbackStatus.INVALID.value:
        return ILLEGAL
    if step['status'] == FeedbackStatus.WITHHELD.value:
        return None
    piece, direction = Action.parse(step['action']).args
    return classify((board.pieces.index(piece), direction), here, distances).kind


def measures(line: Mapping[str, Any], solved: bool | None) -> dict[str, float | None]:
    """An episode's values; contract in ``metrics.episodes.episode_measures``."""
    names = ('deviation', 'minimum', 'progress', 'solved_optimally', *CLASSES)
    values: dict[str, float | None] = dict.fromkeys(names)
    if solved is not None and line['details']:
        way = line['details']['distances']
        counts = Counter(line['details']['classes'])
        values = {'deviation': formulas.deviation(way), 'minimum': formulas.minimum(way),
                  'progress': formulas.progress(way),
                  'solved_optimally': float(formulas.completed_optimally(way)),
                  **{kind: counts[kind] for kind in CLASSES}}
    return {**episode_measures(line, solved), **values}
