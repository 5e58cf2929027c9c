"""Boards and problems of the sliding world."""

from __future__ import annotations

import random

from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import SHAPES, Arrangement, Board, next_atoms
from sightplan.model import Atom, EpisodeSpec, Literal, Problem

COLOURS = ('red', 'green', 'blue', 'yellow')


def geoms(size: int, count: int, seed: int = 0, colours=COLOURS) -> tuple[Board, Arrangement]:
    """So many random pieces on a board."""
    rng = random.Random(seed)
    chosen = rng.sample([(f'{colour}_{shape}', shape) for colour in colours for shape in SHAPES],
                        count)
    board = Board(size, tuple(name for name, _ in chosen), tuple(kind for _, kind in chosen))
    return board, tuple(rng.sample(range(size * size), count))


def tiles(size: int, seed: int = 0) -> tuple[Board, Arrangement]:
    """All tiles of a board but one."""
    count = size * size - 1
    board = Board(size, tuple(f'tile_{n + 1}' for n in range(count)), ('tile',) * count)
    return board, tuple(random.Random(seed).sample(range(size * size), count))


def problem(board: Board, start: Arrangement, goal: Arrangement, name: str = 'p') -> Problem:
    """From one arrangement to another."""
    known = next_atoms(board.size)
    cells = sorted({atom.args[0] for atom in known})
    return Problem(
        name, 'sliding',
        {**dict(zip(board.pieces, board.kinds, strict=True)), **dict.fromkeys(cells, 'cell')},
        board.facts(start) | known,
        tuple(Literal(atom) for atom in sorted(board.facts(goal)) if atom.predicate == 'at'),
        load_domain('sliding').pddl, known=known)


def episode(board: Board, start: Arrangement, goal: Arrangement | None = None, seed: int = 0,
            failure: float = 0.0, name: str = 'p') -> EpisodeSpec:
    """An episode on that problem."""
    return EpisodeSpec(f'{name}#{seed}', problem(board, start, goal or start, name), 'none',
                       seed=seed, failure_probability=failure)


def at(piece: str, cell: str) -> Atom:
    """That a piece is there."""
    return Atom('at', (piece, cell))
