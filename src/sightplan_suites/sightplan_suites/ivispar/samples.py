"""Board inference: pictures of boards, and questions about the pieces in their cells.

Of each puzzle the start board is one sample a view: ``boards_3d`` and ``boards_2d``. The pictures
are those of the world that shows the episodes, with the names of the cells; the model replies with
a list of all pieces (``inference`` reads and scores it). Puzzles of tiles are left out: tiles have
no colour to infer.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain, load_domain
from sightplan.domains.sliding.boards import SHAPES as EVERY_SHAPE
from sightplan.domains.sliding.boards import Board, cell_names, next_atoms
from sightplan.domains.sliding.replies import FLAT_SHAPES
from sightplan.model import (
    Atom,
    EpisodeSpec,
    InputError,
    Problem,
    Question,
    World,
    param,
    user_path,
)
from sightplan.model.sample import Picture, Sample
from sightplan.runs.suite_finding import suite_settings
from sightplan.runs.suite_parts import KnownState, Samples
from sightplan.runs.worlds import make_world
from sightplan_suites.ivispar import episodes
from sightplan_suites.ivispar.inference import COLOURS, SHAPES, Vocabulary, pieces_on

SPLITS = {'boards_3d': '3d', 'boards_2d': '2d'}
"""Splits of samples, and the view that their pictures show."""

_DOMAIN, _SPLIT, _METHOD = 'sliding', 'geoms', 'picture'
_FLAT = {solid: flat for flat, solid in FLAT_SHAPES.items()}
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the boards and their pictures; sizes and look as those of the world."""

    data: str = param('', 'folder of puzzles (*.json, at whatever depth); empty: the 300 that are '
                      'shipped')
    width: int = param(640, 'width of the pictures [px]', low=64, high=4096)
    height: int = param(480, 'height of the pictures [px]', low=64, high=4096)
    look: float = param(1.0, 'strength of the random look of the pictures; 0: always the nominal '
                        "light and colours, as the paper's", low=0.0, high=3.0)
    size: float = param(1.0, 'how wide the pieces of 3D pictures are, in widths of a cell; 1: as '
                        "wide as their cell, as the paper's", low=0.62, high=1.0)
    seed: int = param(0, 'seed of the look', low=0, high=2**32 - 1)


@dataclass(frozen=True, eq=False)
class _Puzzle:
    """A puzzle whose start board is asked about."""

    name: str
    problem: Problem
    board: Board
    placed: tuple[tuple[str, str, str], ...]


def samples(split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split; contract in ``runs.samples.load_samples``.

    Args:
        split: a key of ``SPLITS``.
        options: fields of ``Settings``.

    Raises:
        InputError: an unknown option or a bad value, or puzzles that cannot be used.
    """
    settings = suite_settings('ivispar', Settings, options)
    domain, puzzles, skipped = _puzzles(settings)
    vocabulary = _vocabulary(puzzles)
    studio = _Studio(SPLITS[split], settings)
    items = [_sample(domain, split, puzzle, vocabulary, studio) for puzzle in puzzles]
    truths = {sample.id: [list(placed) for placed in puzzle.placed]
              for sample, puzzle in zip(items, puzzles, strict=True)}
    states = {puzzle.name: KnownState(puzzle.board.facts(puzzle.board.arrangement(
        puzzle.problem.init)) | next_atoms(puzzle.board.size)) for puzzle in puzzles}
    boards = [[puzzle.name, puzzle.placed] for puzzle in puzzles]
    digest = hashlib.sha256(json.dumps([boards, vocabulary]).encode()).hexdigest()[:12]
    return Samples(items, truths.__getitem__, {'sha256': digest, **studio.identity}, skipped,
                   truth_source=lambda sample: states[sample.cluster])


def _puzzles(settings: Settings) -> tuple[Domain, list[_Puzzle], list[str]]:
    """Puzzles with at least one coloured piece, and reasons for the left-out ones."""
    domain = load_domain(_DOMAIN)
    named = ({problem.name: problem for problem in domain.split_problems(_SPLIT)}
             if not settings.data else
             {name: problem for name, (_, problem) in episodes.problems(
                 user_path(settings.data)).items()})
    found, skipped = [], []
    for name, problem in named.items():
        board = Board.of(problem)
        placed = pieces_on(board.size, board.pieces, board.arrangement(problem.init))
        if placed:
            found.append(_Puzzle(name, problem, board, tuple(
                (one.cell, one.colour, one.shape) for one in placed)))
        else:
            skipped.append(f'{name}: has only tiles, which have no colour to infer')
    if not found:
        raise InputError(f'{settings.data}: there is not one puzzle of coloured pieces')
    return domain, found, skipped


def _vocabulary(puzzles: Iterable[_Puzzle]) -> tuple[list[str], list[str]]:
    """Colours and shapes that a piece of these boards may have: the paper's, and others there."""
    there = [piece for puzzle in puzzles for piece in puzzle.placed]
    colours = [*COLOURS, *sorted({colour for _, colour, _ in there} - {*COLOURS})]
    known = {shape for _, _, shape in there}
    return colours, [*SHAPES, *(shape for shape in EVERY_SHAPE
                                if shape in known and shape not in SHAPES)]


def _sample(domain: Domain, split: str, puzzle: _Puzzle, vocabulary: tuple[list[str], list[str]],
            studio: _Studio) -> Sample:
    (colours, shapes), size = vocabulary, puzzle.board.size
    picture = Picture(f'{split}/{puzzle.name}', functools.partial(studio.picture, puzzle.problem))
    return Sample(
        f'{split}/{puzzle.name}', split, puzzle.name,
        (picture, _about(size, colours, shapes, flat=studio.flat)), domain=domain.reference,
        details={'view': studio.view, 'pieces': len(puzzle.placed),
                 'c1': puzzle.problem.optimal_length, 'size': size, 'colours': colours,
                 'shapes': shapes},
        questions=_questions(domain, size, tuple(colours), tuple(shapes)))


def vocabulary_of(item: Sample) -> Vocabulary:
    """Words that an answer about a sample may use."""
    details = item.details
    return Vocabulary(details['size'], tuple(details['colours']), tuple(details['shapes']))


def _about(size: int, colours: Sequence[str], shapes: Sequence[str], flat: bool) -> str:
    """Text about a board that a model gets besides its picture."""
    last = chr(ord('a') + size - 1)
    names = [_FLAT.get(shape, shape) for shape in shapes] if flat else shapes
    return (f'The board has {size} x {size} cells: columns a to {last} from left to right, rows 1 '
            f'to {size} from the near side (below in the picture) to the far side.\n'
            f'Colours: {", ".join(colours)}\nShapes: {", ".join(names)}')


@functools.lru_cache(maxsize=_KEPT)
def _questions(domain: Domain, size: int, colours: tuple[str, ...], shapes: tuple[str, ...],
               ) -> tuple[Question, ...]:
    """Whether each piece that there may be is on each cell."""
    return tuple(domain.question(Atom('at', (f'{colour}_{shape}'.replace(' ', '_'), cell)))
                 for cell in cell_names(size) for colour in colours for shape in shapes)


class _Studio:
    """Takes pictures of boards, in the world that shows the episodes."""

    def __init__(self, view: str, settings: Settings) -> None:
        self.view, self._seed = view, settings.seed
        self._options = {'view': view, 'width': settings.width, 'height': settings.height,
                         'look': settings.look, 'size': settings.size}

    @property
    def flat(self) -> bool:
        """Whether pieces are shown as flat shapes."""
        return self.view == '2d'

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that the pictures depend on."""
        return {**self._options, 'seed': self._seed}

    @functools.cached_property
    def _world(self) -> World:
        return make_world(_DOMAIN, self._options)

    def picture(self, problem: Problem) -> NDArray[np.uint8]:
        """The start board of a puzzle, (H, W, 3) uint8 RGB; one seed gives the same picture."""
        digest = hashlib.sha256(f'{self._seed}\x1f{problem.name}'.encode()).digest()
        self._world.reset(EpisodeSpec(problem.name, problem, _METHOD, _SPLIT,
                                      int.from_bytes(digest[:4], 'big')))
        return cast('NDArray[np.uint8]', self._world.observe().image)
