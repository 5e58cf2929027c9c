"""Draws sliding puzzles from seeds: geoms as iVISPAR's 300, and solvable tiles.

A puzzle of geoms with c2 = 0 is walked backwards from its goal, each move taking a piece one cell
further away from where it belongs: then the number of moves is the sum of the distances, which no
solution can go below. Tiles are walked backwards from their goal, and the length is searched for.
The candidate of a seed is a function of the settings and the seed alone, on every machine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sightplan.domains.domain import Domain
from sightplan.domains.domain import write_folder as write_folder
from sightplan.domains.sliding.boards import (
    LARGEST,
    SMALLEST,
    TILE,
    Arrangement,
    distances,
    legal_moves,
    manhattan,
    neighbours,
    shortest,
    slide,
)
from sightplan.domains.sliding.configs import Config
from sightplan.domains.sliding.formats import problem_of
from sightplan.domains.sliding.planner import plan
from sightplan.model import InputError, Plan, PlanningStatus, Problem, param

COLOURS = ('red', 'green', 'blue', 'yellow')
SHAPES = ('cube', 'pyramid', 'sphere', 'cylinder')
"""Shapes in the paper's experiments; with the colours they give 16 geoms."""

_TRIES = 1000
_VAIN_SEEDS = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the generator: kind, size and pieces of puzzles, and range of plan lengths."""

    tiles: bool = param(False, 'numbered tiles, all but one cell full, instead of geoms')
    size: int = param(4, 'cells a side', low=SMALLEST, high=LARGEST)
    min_pieces: int = param(2, 'fewest geoms', low=1, high=16)
    max_pieces: int = param(11, 'most geoms', low=1, high=16)
    min_length: int = param(2, 'shortest allowed length of a shortest plan', low=1, high=40)
    max_length: int = param(11, 'longest allowed length of a shortest plan', low=1, high=40)


@dataclass(frozen=True, slots=True)
class Split:
    """A split of the benchmark: its settings and number of problems."""

    settings: Settings
    count: int


SPLITS = {
    'geoms': Split(Settings(), 300),
    'tiles': Split(Settings(tiles=True, size=3, min_length=3, max_length=20), 54),
}


def generate(domain: Domain, settings: Settings, count: int, first_seed: int = 0, *,
             accept: Callable[[Problem], bool] = lambda _: True) -> Iterator[tuple[int, Problem]]:
    """Draw distinct puzzles from one seed after the other.

    The seed's number goes through all lengths, and after each round through the numbers of
    pieces, so that as many puzzles as there are combinations hold each once.

    Args:
        domain: sliding.
        settings: what the puzzles are like.
        count: how many.
        first_seed: where to begin.
        accept: a further condition on a problem.

    Yields:
        Seed and problem, named as iVISPAR names its files.

    Raises:
        InputError: the settings contradict each other, or there are too few such puzzles.
    """
    _check(settings)
    seen: set[tuple[Arrangement, Arrangement, tuple[str, ...]]] = set()
    found = vain = 0
    for seed in itertools.count(first_seed):
        if found == count:
            return
        if vain == _VAIN_SEEDS:
            raise InputError(f'found only {found} of {count} distinct puzzles: {vain} seeds in a '
                             'row gave nothing new (ask for fewer, or for other sizes or lengths)')
        vain += 1
        config = draw(settings, seed)
        if config is None or (config.start, config.goal, config.pieces) in seen:
            continue
        problem = problem_of(domain, config, config.id)
        if accept(problem):
            seen.add((config.start, config.goal, config.pieces))
            found, vain = found + 1, 0
            yield seed, problem


def _check(settings: Settings) -> None:
    for low, high, what in ((settings.min_pieces, settings.max_pieces, 'pieces'),
                            (settings.min_length, settings.max_length, 'length')):
        if low > high:
            raise InputError(f'min_{what} = {low} is above max_{what} = {high} (swap them)')
    if not settings.tiles and settings.max_pieces >= settings.size ** 2:
        raise InputError(f'{settings.max_pieces} pieces leave no gap on {settings.size} x '
                         f'{settings.size} cells (allow fewer, or a larger board)')


def draw(settings: Settings, seed: int) -> Config | None:
    """Return the puzzle of a seed; None if the seed gives none of the wanted length."""
    lengths = range(settings.min_length, settings.max_length + 1)
    length, turn = lengths[seed % len(lengths)], seed // len(lengths)
    rng = random.Random(f'{settings} {seed}')
    if settings.tiles:
        return _draw_tiles(settings.size, length, rng, seed)
    numbers = range(settings.min_pieces, settings.max_pieces + 1)
    return _draw_geoms(settings.size, numbers[turn % len(numbers)], length, rng, seed)


def _below(rng: random.Random, bound: int) -> int:
    """Return a random integer from 0 to ``bound`` - 1, the same in all versions of Python."""
    return int(rng.random() * bound)


def _sample(rng: random.Random, bound: int, count: int) -> tuple[int, ...]:
    rest = list(range(bound))
    return tuple(rest.pop(_below(rng, len(rest))) for _ in range(count))


def _draw_geoms(size: int, count: int, length: int, rng: random.Random, seed: int,
                ) -> Config | None:
    table, around = distances(size), neighbours(size)
    for _ in range(_TRIES):
        goal = here = _sample(rng, size * size, count)
        for _ in range(length):
            away = [(piece, name) for piece, name in legal_moves(size, here)
                    if table[dict(around[here[piece]])[name]][goal[piece]]
                    > table[here[piece]][goal[piece]]]
            if not away:
                break
            here = slide(size, here, away[_below(rng, len(away))]) or here
        if manhattan(size, here, goal) == length:
            geoms = [(colour, shape) for colour in COLOURS for shape in SHAPES]
            chosen = [geoms[number] for number in _sample(rng, len(geoms), count)]
            return Config(
                f'SGP_b_{size}_g_{count}_c1_{length}_c2_0_i_{seed}', size,
                tuple(f'{colour}_{shape}' for colour, shape in chosen),
                tuple(shape for _, shape in chosen), here, goal, length, 0, {})
    return None


def _draw_tiles(size: int, length: int, rng: random.Random, seed: int) -> Config | None:
    count = size * size - 1
    # Tile 1 is far left, then as one reads; the gap is near right.
    goal = tuple(number % size + size * (size - 1 - number // size) for number in range(count))
    here, last = goal, None
    for _ in range(length):
        moves = [move for move in legal_moves(size, here) if slide(size, here, move) != last]
        here, last = slide(size, here, moves[_below(rng, len(moves))]) or here, here
    found = shortest(size, here, goal)
    if found.moves is None or len(found.moves) != length:
        return None
    return Config(f'STP_b_{size}_c1_{length}_i_{seed}', size,
                  tuple(f'{TILE}_{number + 1}' for number in range(count)), (TILE,) * count,
                  here, goal, length, None, {})


def optimal_plan(problem: Problem) -> Plan | None:
    """Return a shortest plan of a problem; None if there is none.

    Raises:
        InputError: start or goal do not give every piece one cell.
    """
    found = plan(problem, 'optimal')
    return found.plan if found.status is PlanningStatus.SOLVED else None
