"""Draw boards as text."""

from __future__ import annotations

from sightplan.domains.sliding.boards import TILE, Board
from sightplan.model import Problem, State


def draw(problem: Problem, facts: State) -> str:
    """Return a board as text, the far row first, with the names of columns and rows.

    Args:
        problem: whose objects they are.
        facts: the atoms that are true.

    Raises:
        InputError: the facts do not give every piece one cell.
    """
    board = Board.of(problem)
    at = {cell: name for name, cell in zip(board.pieces, board.arrangement(facts), strict=True)}
    words = {cell: name.removeprefix(f'{TILE}_').replace('_', ' ') for cell, name in at.items()}
    width = max((len(word) for word in words.values()), default=1)
    size = board.size
    lines = ['  '.join([str(y + 1), *(words.get(x + size * y, '.').center(width)
                                      for x in range(size))]).rstrip()
             for y in reversed(range(size))]
    lines.append('  '.join([' ', *('ABCDEF'[x].center(width) for x in range(size))]).rstrip())
    return '\n'.join(lines)
