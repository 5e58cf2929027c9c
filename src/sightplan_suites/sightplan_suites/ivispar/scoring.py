"""Scores of iVISPAR: of episodes, and of descriptions of boards.

Of an episode see ``measures`` for the formulas and ``classes`` for moves. *Completed* (``solved``)
is what episodes are compared by. The paper's second number, step deviation, is ``deviation``: the
distance to the goal after as many actions as a shortest solution has, over all episodes.

Of board inference (samples) see ``inference``; ``whole``, the fraction of boards without any
error, is what it is compared by. The paper's ``accuracy`` is the fraction of all pieces that are
right, on its boards ``correct`` / 6.5. It does not count what is listed and not there, so that it
is bounded by the number of cells alone: of a longer list only so many items can be right.

Where a model ends its replies in an episode with ``description:`` and a list, that list is scored
in the same way against the board as it was then (``described_...``); replies without one are not
scored in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sightplan.domains.sliding.boards import TILE, Board
from sightplan.domains.sliding.replies import split_description
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures
from sightplan.metrics.measures import (
    FRACTION,
    MEAN,
    SHARE,
    STATISTIC,
    Columns,
    Floats,
    Measure,
    grouped,
    ratio,
    total,
)
from sightplan.model import Action, FeedbackStatus, Problem, State
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs.suite_parts import Scored
from sightplan_suites.ivispar import measures as formulas
from sightplan_suites.ivispar.classes import (
    CLASSES,
    DISTANCE_UNKNOWN,
    EFFECTIVE,
    ILLEGAL,
    Distances,
    classify,
)
from sightplan_suites.ivispar.inference import (
    COLOURS,
    FORMAT_ERRORS,
    SHAPES,
    Inference,
    Placed,
    Vocabulary,
    compare,
    pieces_on,
    read_description,
)
from sightplan_suites.ivispar.reading import items_of
from sightplan_suites.ivispar.samples import vocabulary_of

_ABOUT = {'EM': 'legal moves that bring the goal nearer',
          'IM': 'legal moves that take the goal further away',
          'OD': 'moves onto another piece', 'OB': 'moves off the board',
          'IC': 'replies without a legal command'}

COUNTED = {'correct': 'pieces with cell, colour and shape right',
            'missed': 'pieces that are not named', 'hallucinated': 'items that no piece is like',
            'coordinate': 'pieces on a wrong cell', 'colour': 'pieces of a wrong colour',
            'shape': 'pieces of a wrong shape', 'format': 'format errors'}
"""Counts of an answer, in the order of the paper's tables 4 and 5."""
_DESCRIBED, _UNSURE = 'described', 'distance_unknown'

UNREAD, INCOMPLETE = 'unread', 'board_error'
"""Causes of failure: no "Solution:"; something is wrong or missing in the list."""


def _fraction(columns: Columns, weights: Floats) -> Floats:
    """The statistic of a sample's pieces: those read correctly over all."""
    return ratio(total(columns['correct'], weights), total(columns['pieces'], weights))


MEASURES = (
    *EPISODE_MEASURES,
    Measure('deviation', 'distance to the goal after as many actions as a shortest solution has '
            '(R at c1)', MEAN, False),
    Measure('minimum', 'smallest distance to the goal that was reached [moves]', MEAN, False),
    Measure('progress', 'part of the way to the goal that was covered at the end [per cent]',
            MEAN),
    Measure('solved_optimally', 'goal reached by a shortest solution'),
    *(Measure(kind, f'number of {_ABOUT[kind]}', MEAN, kind == EFFECTIVE,
              bounded_by='IM' if kind == EFFECTIVE else '') for kind in CLASSES),
    Measure(f'{_DESCRIBED}_accuracy', 'fraction of pieces that are right in lists after '
            '"description:"', SHARE, bounded_by=f'{_DESCRIBED}_hallucinated'),
    *(Measure(f'{_DESCRIBED}_{name}', f'number of {about}, in a list after "description:"', MEAN,
              name == 'correct',
              bounded_by=f'{_DESCRIBED}_hallucinated' if name == 'correct' else '')
      for name, about in COUNTED.items()),
)

SAMPLE_MEASURES = (
    Measure('whole', 'fraction of boards without any error', primary=True),
    Measure('accuracy', "fraction of all pieces that are right (correct / 6.5 on the paper's "
            'boards), whatever else is listed', STATISTIC,
            statistic=_fraction, bounded_by='whole',
            counts=('correct', 'pieces')),
    *(Measure(name, f'number of {about}, of a board', MEAN, name == 'correct',
              bounded_by='whole' if name == 'correct' else '')
      for name, about in COUNTED.items()),
    Measure('unread', 'fraction of replies without "Solution:"', FRACTION, higher_is_better=False),
)


def details(problem: Problem, states: Sequence[State], line: Mapping[str, Any]) -> dict[str, Any]:
    """The way of an episode over its board.

    Args:
        problem: with start and goal.
        states: true ones, at the beginning and after each step.
        line: of the episode; its ``actions`` have status and text, its ``replies``, if there are
            any, the number of steps before each and its text.

    Returns:
        ``pieces``, their number; ``tiles``: true where there are any; ``distances`` to the goal
        [moves], one more than there are steps, None where the search reached its limit;
        ``classes`` of the steps, None for one that sent nothing; where there are any,
        ``distance_unknown``: the steps whose class was told by the moved piece alone; and where
        replies list what stands where, ``described``: for each such reply ``step``, ``pieces`` and
        what ``counts_of`` has.
    """
    board = Board.of(problem)
    distances = Distances(board.size, board.goal(problem))
    path = [board.arrangement(state) for state in states]
    steps = [_class(board, step, here, distances)
             for step, here in zip(line['actions'], path, strict=False)]
    unsure = [at for at, (_, reason) in enumerate(steps) if reason == DISTANCE_UNKNOWN]
    described = list(_described(board, path, line.get('replies', ())))
    return {'pieces': len(board.pieces), **({'tiles': True} if TILE in board.kinds else {}),
            'distances': [distances.of(here) for here in path],
            'classes': [kind for kind, _ in steps],
            **({_UNSURE: unsure} if unsure else {}),
            **({_DESCRIBED: described} if described else {})}


def _described(board: Board, path: Sequence[tuple[int, ...]], replies: Iterable[tuple[int, str]],
               ) -> Iterator[dict[str, int]]:
    """Yield the counts of each list after ``description:``, against the board of its step."""
    for step, text in replies:
        rest, listed = split_description(text)
        there = pieces_on(board.size, board.pieces, path[min(step, len(path) - 1)])
        if rest != text and there:
            yield {'step': step, 'pieces': len(there), **counts_of(compare(
                read_description(listed, _vocabulary(board.size, there)), there,
                board.size ** 2))}


def _vocabulary(size: int, there: Sequence[Placed]) -> Vocabulary:
    """Words that a description may use: the paper's, and those of the board."""
    return Vocabulary(size, tuple(dict.fromkeys((*COLOURS, *(one.colour for one in there)))),
                      tuple(dict.fromkeys((*SHAPES, *(one.shape for one in there)))))


def _class(board: Board, step: Mapping[str, Any], here: tuple[int, ...], distances: Distances,
           ) -> tuple[str | None, str]:
    """The class of a step, and the reason that ``classify`` gives."""
    if step['status'] == FeedbackStatus.INVALID.value:
        return ILLEGAL, ''
    if step['status'] == FeedbackStatus.WITHHELD.value:
        return None, ''
    piece, direction = Action.parse(step['action']).args
    found = classify((board.pieces.index(piece), direction), here, distances)
    return found.kind, found.reason


def measures(line: Mapping[str, Any], solved: bool | None) -> dict[str, float | None]:
    """An episode's values; contract in ``metrics.episodes.episode_measures``."""
    names = ('deviation', 'minimum', 'progress', 'solved_optimally', *CLASSES)
    values: dict[str, float | None] = dict.fromkeys(names)
    if solved is not None and line['details']:
        way = line['details']['distances']
        counts, optimally = Counter(line['details']['classes']), formulas.completed_optimally(way)
        values = {'deviation': formulas.deviation(way), 'minimum': formulas.minimum(way),
                  'progress': formulas.progress(way),
                  'solved_optimally': None if optimally is None else float(optimally),
                  **{kind: counts[kind] for kind in CLASSES}}
    return {**episode_measures(line, solved), **values, **_described_measures(line)}


def _described_measures(line: Mapping[str, Any]) -> dict[str, float | None]:
    """Means over the lists of an episode, None without any; of the accuracy over their pieces."""
    found = line['details'].get(_DESCRIBED, ())
    values: dict[str, float | None] = dict.fromkeys(
        f'{_DESCRIBED}_{name}' for name in ('accuracy', *COUNTED))
    if found:
        values = {f'{_DESCRIBED}_{name}': sum(one[name] for one in found) / len(found)
                  for name in COUNTED}
        values[f'{_DESCRIBED}_accuracy'] = (
            sum(one['correct'] for one in found) / sum(one['pieces'] for one in found))
    return values


# -------------------------------------------------------------------------------------- samples


def counts_of(found: Inference) -> dict[str, int]:
    """Counts of an answer, in the order of the paper's tables."""
    return {name: found.format_errors if name == 'format' else getattr(found, name)
            for name in COUNTED}


def score(item: Sample, answer: Mapping[str, Any] | None, truth: Sequence[Sequence[str]],
          reply: SampleReply) -> Scored:
    """Score the description of a board.

    Args:
        item: the sample.
        answer: what ``reading.read`` gave; None: there is no "Solution:". That costs one format
            error for each piece (see ``inference.compare``).
        truth: cell, colour and shape of each piece.
        reply: as it came.
    """
    board = [Placed(*entry) for entry in truth]
    found = compare(items_of(answer), board, vocabulary_of(item).size ** 2)
    counts = counts_of(found)
    whole = counts['correct'] == len(board) == sum(counts.values())
    cause = UNREAD if answer is None else None if whole else INCOMPLETE
    return Scored({'accuracy': counts['correct'] / len(board), 'whole': float(whole),
                   'pieces': len(board), **counts, 'unread': float(answer is None),
                   **{kind: found.format.get(kind, 0) for kind in FORMAT_ERRORS}}, cause)


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise samples by part of the run, and episodes by what could not be measured.

    Returns:
        of episodes ``distance_unknown``: how many ``episodes`` have a distance that the search did
        not find within its limit, and how many ``actions`` have a class that was told by the moved
        piece alone; of samples ``by_split`` and ``by_pieces`` (number of pieces on the board):
        name to measures, each with ``value``, ``interval95``, ``n``, ``clusters``;
        ``format_errors``: how many there are of each kind, over all replies.
    """
    if not lines:
        return {}
    if lines[0].get('kind') != 'sample':
        known = [line['details'] for line in lines if line['details']]
        return {_UNSURE: {'episodes': sum(None in one.get('distances', ()) for one in known),
                          'actions': sum(len(one.get(_UNSURE, ())) for one in known)}}
    errors = {kind: sum(line['measures'].get(kind) or 0 for line in lines)
              for kind in FORMAT_ERRORS}
    return {'by_split': grouped(lines, lambda line: line['split'], SAMPLE_MEASURES),
            'by_pieces': grouped(lines, lambda line: f'{line["details"]["pieces"]:02}',
                                 SAMPLE_MEASURES),
            'format_errors': errors}
