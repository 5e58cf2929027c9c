"""Boards as numbers: cells, arrangements, and shortest move sequences by A*.

A cell is a number: ``x + size * y``, with x from the left and y from the bottom, both from 0; its
name is the letter of x and the number y + 1, as in chess (``a1``). An arrangement is a tuple of
cells, one for each piece, all different.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightplan.model import Action, Atom, InputError, Plan, Problem, State

SHAPES = ('cube', 'sphere', 'pyramid', 'cylinder', 'cone', 'prism')
TILE = 'tile'
KINDS = (*SHAPES, TILE)
"""Types of pieces, as in the domain file."""

DIRECTIONS = {'left': (-1, 0), 'right': (1, 0), 'up': (0, 1), 'down': (0, -1)}
"""Each direction's step along x and y."""

SMALLEST, LARGEST = 2, 6
"""Sizes of boards [cells a side]."""

NODE_LIMIT = 400_000
"""Most arrangements that a search opens (iVISPAR's boards take a few thousand at most)."""

Arrangement = tuple[int, ...]
Move = tuple[int, str]
"""A piece's number, and a direction."""


@functools.cache
def cell_names(size: int) -> tuple[str, ...]:
    """Return the names of a board's cells in the order of their numbers."""
    return tuple(f'{"abcdef"[x]}{y + 1}' for y in range(size) for x in range(size))


@functools.cache
def neighbours(size: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Return for each cell the pairs of direction and neighbouring cell."""
    return tuple(
        tuple((name, x + dx + size * (y + dy)) for name, (dx, dy) in DIRECTIONS.items()
              if 0 <= x + dx < size and 0 <= y + dy < size)
        for y in range(size) for x in range(size))


@functools.cache
def distances(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the Manhattan distances of all pairs of cells, as rows of a matrix."""
    places = [(x, y) for y in range(size) for x in range(size)]
    return tuple(tuple(abs(ax - bx) + abs(ay - by) for bx, by in places) for ax, ay in places)


@functools.cache
def next_atoms(size: int) -> State:
    """Return the atoms ``next(cell, cell, direction)`` of a board."""
    names = cell_names(size)
    return frozenset(Atom('next', (names[cell], names[other], direction))
                     for cell, around in enumerate(neighbours(size))
                     for direction, other in around)


def manhattan(size: int, start: Arrangement, goal: Arrangement) -> int:
    """Return the sum of the pieces' distances to their goals, a lower bound of moves."""
    table = distances(size)
    return sum(table[a][b] for a, b in zip(start, goal, strict=True))


def slide(size: int, arrangement: Arrangement, move: Move) -> Arrangement | None:
    """Return the arrangement after a move; None if the next cell is taken or missing."""
    piece, direction = move
    for name, cell in neighbours(size)[arrangement[piece]]:
        if name == direction and cell not in arrangement:
            return (*arrangement[:piece], cell, *arrangement[piece + 1:])
    return None


def legal_moves(size: int, arrangement: Arrangement) -> list[Move]:
    """Return all legal moves, in the order of pieces and directions."""
    taken, around = set(arrangement), neighbours(size)
    return [(piece, name) for piece, cell in enumerate(arrangement)
            for name, other in around[cell] if other not in taken]


@dataclass(frozen=True, slots=True)
class Search:
    """Result of an A* search.

    Attributes:
        moves: a shortest sequence of moves; None: there is none, or the limit came first.
        opened: arrangements that were opened.
        complete: whether the answer is certain; False: the limit was reached.
    """

    moves: tuple[Move, ...] | None
    opened: int
    complete: bool


def shortest(size: int, start: Arrangement, goal: Arrangement,
             limit: int = NODE_LIMIT, weight: float = 1.0) -> Search:
    """Search for a shortest sequence of moves, by A* with the sum of Manhattan distances.

    Of arrangements that promise the same the one that is farther on is opened first. With a weight
    above 1 the sequence is at most that many times longer than a shortest one, and found much
    faster (weighted A*, Pohl, Artificial Intelligence 1, 1970).

    Args:
        size: of the board [cells a side].
        start: where the pieces are.
        goal: where each of them shall be.
        limit: most arrangements to open.
        weight: of the distances, at least 1.
    """
    table, around = distances(size), neighbours(size)
    first = manhattan(size, start, goal)
    costs = {start: 0}
    parents: dict[Arrangement, tuple[Arrangement, Move]] = {}
    queue = [(weight * first, 0, 0, start, first)]
    ticket = opened = 0
    while queue:
        _, farther, _, here, left = heapq.heappop(queue)
        cost = -farther
        if costs[here] < cost:
            continue
        if not left:
            return Search(_trace(parents, start, here), opened, True)
        if opened == limit:
            return Search(None, opened, False)
        opened += 1
        taken = set(here)
        for piece, cell in enumerate(here):
            for name, other in around[cell]:
                if other in taken:
                    continue
                after = (*here[:piece], other, *here[piece + 1:])
                if costs.get(after, 1 << 30) > cost + 1:
                    costs[after] = cost + 1
                    parents[after] = here, (piece, name)
                    rest = left - table[cell][goal[piece]] + table[other][goal[piece]]
                    ticket += 1
                    heapq.heappush(queue, (cost + 1 + weight * rest, -cost - 1, ticket, after,
                                           rest))
    return Search(None, opened, True)


def _trace(parents: dict[Arrangement, tuple[Arrangement, Move]], start: Arrangement,
           end: Arrangement) -> tuple[Move, ...]:
    moves: list[Move] = []
    while end != start:
        end, move = parents[end]
        moves.append(move)
    return tuple(reversed(moves))


def solvable(size: int, start: Arrangement, goal: Arrangement) -> bool:
    """Whether a goal can be reached; always so on boards with two or more empty cells.

    With two empty cells every arrangement reaches every other one. With one a permutation of
    pieces and gap is reached if it is as even as the way of the gap is long (Johnson and Story,
    American Journal of Mathematics 2, 1879); with none nothing moves.
    """
    cells = size * size
    if len(start) == cells:
        return start == goal
    if len(start) < cells - 1:
        return True
    gap, = set(range(cells)).difference(start)
    end, = set(range(cells)).difference(goal)
    becomes = dict(zip((*start, gap), (*goal, end), strict=True))
    return (distances(size)[gap][end] - _transpositions(becomes)) % 2 == 0


def _transpositions(permutation: dict[int, int]) -> int:
    """Return the least number of swaps that make up a permutation."""
    seen: set[int] = set()
    swaps = 0
    for first in permutation:
        here = first
        while here not in seen:
            seen.add(here)
            here = permutation[here]
            swaps += here != first
    return swaps


# ------------------------------------------------------------------------ problems as numbers


@dataclass(frozen=True, slots=True)
class Board:
    """A problem's board.

    Attributes:
        size: cells a side.
        pieces: names of the pieces, in the order of the problem's objects.
        kinds: the type of each.
    """

    size: int
    pieces: tuple[str, ...]
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, problem: Problem) -> Board:
        """Return the board of a problem.

        Raises:
            InputError: its cells are not those of one square board, or there are too many pieces.
        """
        cells = problem.of_type('cell')
        size = next((n for n in range(SMALLEST, LARGEST + 1) if n * n == len(cells)), 0)
        if not size or set(cells) != set(cell_names(size)):
            raise InputError(
                f'{problem.name}: its {len(cells)} cells are no square board of {SMALLEST} to '
                f'{LARGEST} cells a side (name them a1, b1, ... from the bottom left)')
        pieces = problem.of_type(*KINDS)
        if len(pieces) > len(cells):
            raise InputError(f'{problem.name}: {len(pieces)} pieces do not fit on {len(cells)} '
                             'cells')
        return cls(size, pieces, tuple(problem.objects[piece] for piece in pieces))

    def arrangement(self, facts: Iterable[Atom], of: str = 'state') -> Arrangement:
        """Return the cell of each piece according to facts.

        Args:
            facts: those of ``at`` are read.
            of: what to call them in messages.

        Raises:
            InputError: they do not give every piece one cell, and no cell two pieces.
        """
        cells = {name: number for number, name in enumerate(cell_names(self.size))}
        places: dict[str, int] = {}
        for atom in sorted(facts):
            if atom.predicate != 'at':
                continue
            piece, cell = atom.args
            if piece in places:
                raise InputError(f'{of}: {piece} is at two cells')
            if cells[cell] in places.values():
                raise InputError(f'{of}: two pieces are at {cell}')
            places[piece] = cells[cell]
        missing = [piece for piece in self.pieces if piece not in places]
        if missing:
            raise InputError(f'{of}: {missing[0]} is nowhere')
        return tuple(places[piece] for piece in self.pieces)

    def goal(self, problem: Problem) -> Arrangement:
        """Return the cell of each piece in the goal.

        Raises:
            InputError: it does not give every piece one cell.
        """
        return self.arrangement(
            (literal.atom for literal in problem.goal if literal.positive),
            f'{problem.name}: goal')

    def facts(self, arrangement: Arrangement) -> State:
        """Return the atoms of ``at`` and ``empty`` that hold in an arrangement."""
        names = cell_names(self.size)
        taken = set(arrangement)
        return frozenset(
            [Atom('at', (piece, names[cell]))
             for piece, cell in zip(self.pieces, arrangement, strict=True)]
            + [Atom('empty', (name,)) for cell, name in enumerate(names) if cell not in taken])

    def action(self, move: Move) -> Action:
        """Return a move as an action."""
        return Action('move', (self.pieces[move[0]], move[1]))

    def plan(self, moves: Sequence[Move]) -> Plan:
        """Return moves as a plan."""
        return tuple(self.action(move) for move in moves)
