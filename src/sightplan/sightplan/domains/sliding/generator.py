"""Draws sliding puzzles from seeds: geoms as iVISPAR's 300, and solvable tiles.

A puzzle of geoms with c2 = 0 is walked backwards from its goal, each move taking a piece one cell
further away from where it belongs: then the number of moves is the sum of the distances, which no
solution can go below. With c2 > 0 as many of these moves bring a piece nearer to its goal,
although an exact search says that each makes the shortest solution longer. Tiles are walked
backwards from their goal, and the length is searched for.
The candidate of a seed is a function of the settings and the seed alone, on every machine.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PIL import ImageColor

from sightplan.domains.domain import Domain
from sightplan.domains.domain import write_folder as write_folder
from sightplan.domains.problem_generator import Seeds
from sightplan.domains.sliding.boards import (
    LARGEST,
    SMALLEST,
    TILE,
    Arrangement,
    legal_moves,
    manhattan,
    shortest,
    slide,
)
from sightplan.domains.sliding.boards import SHAPES as EVERY_SHAPE
from sightplan.domains.sliding.configs import Config
from sightplan.domains.sliding.formats import problem_of
from sightplan.domains.sliding.planner import plan
from sightplan.model import InputError, Plan, PlanningStatus, Problem, did_you_mean, param

COLOURS = ('red', 'green', 'blue', 'yellow')
SHAPES = ('cube', 'pyramid', 'sphere', 'cylinder')
"""Shapes in the paper's experiments; with the colours they give 16 geoms."""

_TRIES = 1000
_HARD_TRIES = 100
"""Tries for a puzzle of a seed, without and with interference."""
_VAIN_SEEDS, _HARD_VAIN_SEEDS = 200, 60
"""Most seeds in a row that may give nothing new, likewise."""
_OPENED = 20_000
"""Most arrangements that the search for a shorter solution opens (c2 > 0)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the generator: kind, size and pieces of puzzles, and their plans."""

    tiles: bool = param(False, 'numbered tiles, all but one cell full, instead of geoms')
    size: int = param(4, 'cells a side', low=SMALLEST, high=LARGEST)
    min_pieces: int = param(2, 'fewest geoms', low=1, high=LARGEST ** 2 - 1)
    max_pieces: int = param(11, 'most geoms', low=1, high=LARGEST ** 2 - 1)
    min_length: int = param(2, 'shortest allowed length of a shortest plan', low=1, high=40)
    max_length: int = param(11, 'longest allowed length of a shortest plan', low=1, high=40)
    interference: int = param(
        0, "iVISPAR's c2 of geoms: half of the moves by which a shortest plan is longer than the "
        'sum of the distances, because pieces make way for others; 2 and more need crowded '
        'boards', low=0, high=4)
    shapes: str = param(','.join(SHAPES), f'shapes of geoms, of {", ".join(EVERY_SHAPE)}')
    colours: str = param(','.join(COLOURS), 'colours of geoms: names of CSS, such as light_blue')


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
    hard = settings.interference
    seeds = Seeds(count, first_seed, _HARD_VAIN_SEEDS if hard else _VAIN_SEEDS,
                  'distinct puzzles', 'nothing new', 'ask for fewer, or for other sizes or lengths'
                  + (', or for more pieces or less interference' if hard else ''))
    for seed in seeds:
        config = draw(settings, seed)
        if config is None or (config.start, config.goal, config.pieces) in seen:
            continue
        problem = problem_of(domain, config, config.id)
        if accept(problem):
            seen.add((config.start, config.goal, config.pieces))
            seeds.gave()
            yield seed, problem


def _check(settings: Settings) -> None:
    for low, high, what in ((settings.min_pieces, settings.max_pieces, 'pieces'),
                            (settings.min_length, settings.max_length, 'length')):
        if low > high:
            raise InputError(f'min_{what} = {low} is above max_{what} = {high} (swap them, or set '
                             'both)')
    if settings.tiles:
        usual = Settings()
        for name in ('min_pieces', 'max_pieces', 'interference', 'shapes', 'colours'):
            if getattr(settings, name) != getattr(usual, name):
                raise InputError(f'{name} is about geoms, and these puzzles are tiles (leave one '
                                 'of the two out)')
        return
    cells, geoms = settings.size ** 2, len(_geoms(settings))
    if settings.max_pieces >= cells:
        raise InputError(f'{settings.max_pieces} pieces leave no gap on {settings.size} x '
                         f'{settings.size} cells (set max_pieces to {cells - 1} or less, or take '
                         'a larger board)')
    if settings.max_pieces > geoms:
        raise InputError(f'{settings.max_pieces} pieces need as many pairs of colour and shape, '
                         f'and there are {geoms} (set max_pieces to {geoms} or less, or name more '
                         'colours or shapes)')
    if settings.interference:
        _check_interference(settings)


def _check_interference(settings: Settings) -> None:
    if settings.min_pieces < 2:
        raise InputError(f'interference = {settings.interference} needs two pieces at least: one '
                         'alone has nothing in its way (set min_pieces to 2 or more)')
    if not _lengths(settings):
        raise InputError(f'interference = {settings.interference} needs plans of '
                         f'{_least_length(settings)} moves at least (raise max_length)')


def _least_length(settings: Settings) -> int:
    """Return the least length of a plan with the wanted interference.

    The distances sum to 2 at least: if a single piece stood one cell off its goal, that cell would
    be free, as no other piece belongs there.
    """
    return 2 * settings.interference + 2 if settings.interference else 1


def _lengths(settings: Settings) -> range:
    return range(max(settings.min_length, _least_length(settings)), settings.max_length + 1)


def _geoms(settings: Settings) -> list[tuple[str, str]]:
    """Colours and shapes that pieces may have.

    Raises:
        InputError: one does not exist, or two are the same; names it.
    """
    shapes = _names('shapes', settings.shapes, {name: name for name in EVERY_SHAPE})
    known = {name: str(ImageColor.getrgb(name)) for name in ImageColor.colormap}
    return [(colour, shape) for colour in _names('colours', settings.colours, known)
            for shape in shapes]


def _names(setting: str, text: str, known: dict[str, str]) -> list[str]:
    """Names that a setting lists with commas; ``known`` says what each looks like."""
    names = ['_'.join(name.lower().split()) for name in text.split(',')]
    seen: dict[str, str] = {}
    for name in names:
        look = known.get(name if name in known else name.replace('_', ''))
        if look is None:
            more = (', '.join(known) if len(known) < 20 else
                    f'{", ".join(COLOURS)} and all other names of CSS')
            raise InputError(f'{setting}: {name!r} does not exist'
                             f'{did_you_mean(name, tuple(known))} (there are {more})')
        if look in seen:
            same = 'is there twice' if seen[look] == name else f'looks like {seen[look]}'
            raise InputError(f'{setting}: {name} {same} (name others)')
        seen[look] = name
    return names


def draw(settings: Settings, seed: int) -> Config | None:
    """Return the puzzle of a seed; None if the seed gives none of the wanted length."""
    lengths = _lengths(settings)
    length, turn = lengths[seed % len(lengths)], seed // len(lengths)
    rng = random.Random(f'{_written(settings)} {seed}')
    if settings.tiles:
        return _draw_tiles(settings.size, length, rng, seed)
    numbers = range(settings.min_pieces, settings.max_pieces + 1)
    return _draw_geoms(settings, numbers[turn % len(numbers)], length, rng, seed)


def _written(settings: Settings) -> str:
    """Return settings as the seeds of puzzles have them.

    What was added later counts where it is not as usual, so that old puzzles stay what they are.
    """
    later, usual = ('interference', 'shapes', 'colours'), Settings()
    return 'Settings({})'.format(', '.join(
        f'{field.name}={getattr(settings, field.name)!r}' for field in dataclasses.fields(settings)
        if field.name not in later
        or getattr(settings, field.name) != getattr(usual, field.name)))


def _below(rng: random.Random, bound: int) -> int:
    """Return a random integer from 0 to ``bound`` - 1, the same in all versions of Python."""
    return int(rng.random() * bound)


def _sample(rng: random.Random, bound: int, count: int) -> tuple[int, ...]:
    rest = list(range(bound))
    return tuple(rest.pop(_below(rng, len(rest))) for _ in range(count))


def _draw_geoms(settings: Settings, count: int, length: int, rng: random.Random, seed: int,
                ) -> Config | None:
    size, c2 = settings.size, settings.interference
    for _ in range(_HARD_TRIES if c2 else _TRIES):
        goal = _sample(rng, size * size, count)
        start = (_walked_back_with_detours(size, goal, length, c2, rng) if c2 else
                 _walked_back(size, goal, length, rng))
        if start is not None:
            geoms = _geoms(settings)
            chosen = [geoms[number] for number in _sample(rng, len(geoms), count)]
            return Config(
                f'SGP_b_{size}_g_{count}_c1_{length}_c2_{c2}_i_{seed}', size,
                tuple(f'{colour}_{shape}' for colour, shape in chosen),
                tuple(shape for _, shape in chosen), start, goal, length, c2, {})
    return None


def _walked_back(size: int, goal: Arrangement, length: int, rng: random.Random,
                 ) -> Arrangement | None:
    """Return an arrangement from which a shortest plan without interference leads to the goal.

    Every move back takes a piece away from its goal. None if pieces are stuck before that length.
    """
    here = goal
    for number in range(length):
        away = [after for after in _after_moves(size, here)
                if manhattan(size, after, goal) > number]
        if not away:
            return None
        here = away[_below(rng, len(away))]
    return here


def _walked_back_with_detours(size: int, goal: Arrangement, length: int, detours: int,
                              rng: random.Random) -> Arrangement | None:
    """Return an arrangement from which a shortest plan with interference leads to the goal.

    Every move back makes the shortest plan longer; so many of them as there are detours bring a
    piece nearer to its goal all the same. None if there is no such move at some point.
    """
    here, left = goal, detours
    for number in range(length):
        nearer: list[Arrangement] = []
        farther: list[Arrangement] = []
        for after in _after_moves(size, here):
            far = manhattan(size, after, goal) > manhattan(size, here, goal)
            (farther if far else nearer).append(after)
        candidates = [*(_shuffled(nearer, rng) if left else ()), *_shuffled(farther, rng)]
        found = next((after for after in candidates
                      if _is_shortest(size, after, goal, number + 1)), None)
        if found is None:
            return None
        left -= found in nearer
        here = found
    return None if left else here


def _after_moves(size: int, here: Arrangement) -> list[Arrangement]:
    """Return the arrangements after each legal move."""
    return [slide(size, here, move) or here for move in legal_moves(size, here)]


def _shuffled(items: list[Arrangement], rng: random.Random) -> list[Arrangement]:
    return [items[place] for place in _sample(rng, len(items), len(items))]


def _is_shortest(size: int, start: Arrangement, goal: Arrangement, length: int) -> bool:
    """Whether a shortest plan is known to have this length."""
    found = shortest(size, start, goal, _OPENED)
    return found.moves is not None and len(found.moves) == length


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
