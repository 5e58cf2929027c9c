"""The classes of attempted moves: EM, IM, OD, OB and IC.

A legal move changes the distance to the goal by exactly one: it is effective (``EM``) if the
distance falls, ineffective (``IM``) if it rises. A move onto another piece (``OD``, destination
occupied) or off the board (``OB``, out of bounds) changes nothing. All else is an illegal command
(``IC``), with a reason: what names no piece of the board, or no direction, counts here, too, and
so does a move before ``start``. The commands ``start``, ``done`` and ``reset`` attempt no move and
have no class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sightplan.domains.sliding import boards, replies
from sightplan.domains.sliding.boards import Arrangement, Move

EFFECTIVE, INEFFECTIVE, OCCUPIED, OUT_OF_BOUNDS, ILLEGAL = 'EM', 'IM', 'OD', 'OB', 'IC'
CLASSES = (EFFECTIVE, INEFFECTIVE, OCCUPIED, OUT_OF_BOUNDS, ILLEGAL)

NOT_STARTED = 'not_started'
DISTANCE_UNKNOWN = 'distance unknown'
"""Reason of ``EM`` and ``IM`` moves that were distinguished by the moved piece alone."""


@dataclass(frozen=True)
class Distances:
    """Exact distances to one goal, each searched for once.

    Attributes:
        size: of the board [cells a side].
        goal: where the pieces shall be.
        limit: most arrangements that a search opens.
    """

    size: int
    goal: Arrangement
    limit: int = boards.NODE_LIMIT
    _known: dict[Arrangement, int | None] = field(default_factory=dict, repr=False,
                                                  compare=False)

    def of(self, arrangement: Arrangement) -> int | None:
        """Number of moves to the goal; None if it is out of reach or the search met its limit."""
        if arrangement not in self._known:
            self._known[arrangement] = self._search(arrangement)
        return self._known[arrangement]

    def _search(self, arrangement: Arrangement) -> int | None:
        if not boards.solvable(self.size, arrangement, self.goal):
            return None
        moves = boards.shortest(self.size, arrangement, self.goal, self.limit).moves
        if moves is None:
            return None
        at = arrangement
        for left, move in zip(range(len(moves), 0, -1), moves, strict=True):
            self._known[at] = left  # every part of a shortest way is a shortest way
            after = boards.slide(self.size, at, move)
            assert after is not None
            at = after
        self._known[at] = 0
        return len(moves)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempted move and its result.

    Attributes:
        kind: one of ``CLASSES``; None: no move was attempted.
        reason: of an illegal command why (``replies.REASONS``, ``not_started``); of a legal move
            ``distance unknown`` where the exact distances are not known; else ''.
        arrangement: where the pieces are afterwards.
        distance: to the goal afterwards; None: unknown.
    """

    kind: str | None
    reason: str
    arrangement: Arrangement
    distance: int | None


def attempts(command: replies.Command, pieces: Sequence[str], arrangement: Arrangement,
             distances: Distances, started: bool = True) -> tuple[Attempt, ...]:
    """The moves that a command attempts: one, or as many as it repeats.

    Args:
        command: what was read.
        pieces: names of the pieces.
        arrangement: where they are, in the same order.
        distances: to the goal.
        started: whether ``start`` came before.
    """
    named = replies.named_move(command, pieces)
    if isinstance(named, str) or not started:
        reason = named if isinstance(named, str) else NOT_STARTED
        return (Attempt(None if reason == replies.NOT_A_MOVE else ILLEGAL, reason, arrangement,
                        distances.of(arrangement)),)
    made: list[Attempt] = []
    for _ in range(command.times):
        made.append(classify((pieces.index(named[0]), named[1]), arrangement, distances))
        arrangement = made[-1].arrangement
    return tuple(made)


def classify(move: Move, arrangement: Arrangement, distances: Distances) -> Attempt:
    """The class of one move of a piece of the board.

    Where a distance is not known (a search ended at its limit, or no way leads to the goal), a
    legal move counts as effective if it brings the moved piece itself closer to its goal.
    """
    size, (piece, direction) = distances.size, move
    after = boards.slide(size, arrangement, move)
    before = distances.of(arrangement)
    if after is None:
        inside = direction in dict(boards.neighbours(size)[arrangement[piece]])
        return Attempt(OCCUPIED if inside else OUT_OF_BOUNDS, '', arrangement, before)
    left = distances.of(after)
    if before is None or left is None:
        table, goal = boards.distances(size), distances.goal[piece]
        closer = table[after[piece]][goal] < table[arrangement[piece]][goal]
        return Attempt(EFFECTIVE if closer else INEFFECTIVE, DISTANCE_UNKNOWN, after, left)
    return Attempt(EFFECTIVE if left < before else INEFFECTIVE, '', after, left)
