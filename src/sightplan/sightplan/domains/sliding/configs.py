"""Read, check and write iVISPAR's puzzle files, each one JSON object.

A coordinate is ``[x, y]``, x to the right and y away from the near side, both from 0 at the near
left corner. Sequences are text commands, ``start`` first and in older files ``done`` last.
``complexity_c1`` is the length of a shortest sequence of moves, ``complexity_c2`` how many moves
pieces must make out of each other's way: (c1 - sum of Manhattan distances) / 2.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic

from sightplan.domains.sliding.boards import (
    DIRECTIONS,
    KINDS,
    LARGEST,
    NODE_LIMIT,
    SMALLEST,
    TILE,
    Arrangement,
    Move,
    legal_moves,
    manhattan,
    shortest,
    slide,
    solvable,
)
from sightplan.model import InputError, ProblemError
from sightplan.model.errors import reason_of
from sightplan.model.json_text import load_json
from sightplan.model.reading import Record, validated

SEQUENCES = ('shortest_move_sequence', 'random_valid_move_sequence',
             'random_invalid_move_sequence')
"""Stored sequences: a shortest one, one of legal moves, and one that holds illegal ones on
purpose."""

_TYPE = 'SlidingGeomPuzzle'  # also of tiles
_RANDOM_MOVES = 20
_BOOKENDS = ('start', 'done')

_Coordinate = Annotated[tuple[int, int], pydantic.Field()]
_NAME = re.compile('[a-z0-9][a-z0-9 _-]*')


def _word(text: str) -> str:
    """Return a name in lower case.

    Raises:
        ValueError: it is none; says what to write.
    """
    text = text.strip().lower()
    if not _NAME.fullmatch(text):
        raise ValueError('write letters, digits, spaces, "_" and "-" alone')
    return text


_Word = Annotated[str, pydantic.AfterValidator(_word)]


class Landmark(Record):
    """A piece in a puzzle file.

    Attributes:
        geom_nr: its number, from 1.
        body: its shape, or ``tile``.
        color: its colour; of a tile it says nothing.
        start_coordinate, goal_coordinate: cells.
    """

    model_config = pydantic.ConfigDict(extra='ignore')

    geom_nr: Annotated[int, pydantic.Field(ge=1)]
    body: _Word
    color: Annotated[str, pydantic.AfterValidator(
        lambda text: _word(text) if text.strip() else '')] = ''
    start_coordinate: _Coordinate
    goal_coordinate: _Coordinate

    @property
    def name(self) -> str:
        """Name of the piece as an object: ``red_cube``, ``tile_5``."""
        if self.body == TILE:
            return f'{TILE}_{self.geom_nr}'
        return f'{self.color}_{self.body}'.replace(' ', '_').replace('-', '_')


class _File(Record):
    model_config = pydantic.ConfigDict(extra='ignore')

    config_instance_id: str = ''
    experiment_type: str = _TYPE
    complexity_c1: Annotated[int, pydantic.Field(ge=0)] | None = None
    complexity_c2: int | None = None
    grid_size: Annotated[int, pydantic.Field(ge=SMALLEST, le=LARGEST)]
    landmarks: tuple[Landmark, ...]
    shortest_move_sequence: tuple[str, ...] = ()
    random_valid_move_sequence: tuple[str, ...] = ()
    random_invalid_move_sequence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A puzzle.

    Attributes:
        id: ``config_instance_id``, '' without.
        size: of the board [cells a side].
        pieces: names, in the order of the file.
        kinds: their types.
        start, goal: cells of the pieces.
        c1, c2: as the file has them; None where it does not say.
        sequences: moves by name of the sequence (``SEQUENCES``), as far as the file has them.
    """

    id: str
    size: int
    pieces: tuple[str, ...]
    kinds: tuple[str, ...]
    start: Arrangement
    goal: Arrangement
    c1: int | None
    c2: int | None
    sequences: Mapping[str, tuple[Move, ...]]


def read_config(data: Mapping[str, Any], where: str) -> Config:
    """Read a puzzle file's content, and check all that needs no search.

    Args:
        data: the JSON object.
        where: the file, for messages.

    Raises:
        ProblemError: it cannot be used; names file, field and remedy.
    """
    try:
        file = validated(_File, data, where)
    except InputError as error:
        raise ProblemError(str(error)) from error
    if file.experiment_type != _TYPE:
        raise ProblemError(f'{where}: experiment_type = {file.experiment_type!r} is unknown '
                           f'(write {_TYPE}, of tiles, too)')
    if not file.landmarks:
        raise ProblemError(f'{where}: landmarks is empty (a puzzle has at least one piece)')
    names = [landmark.name for landmark in file.landmarks]
    for landmark in file.landmarks:
        if landmark.body not in KINDS:
            raise ProblemError(f'{where}: landmarks: body = {landmark.body!r} is unknown '
                               f'(known: {", ".join(KINDS)})')
        if landmark.body != TILE and not landmark.color:
            raise ProblemError(f'{where}: landmarks: {landmark.body} {landmark.geom_nr} has no '
                               'color (every geom needs one)')
        if names.count(landmark.name) > 1:
            raise ProblemError(f'{where}: landmarks: {landmark.name} comes twice (colour and '
                               'shape together must be unique)')
    start, goal = (_cells(file, where, field) for field in ('start_coordinate',
                                                            'goal_coordinate'))
    if not solvable(file.grid_size, start, goal):
        raise ProblemError(f'{where}: goal_coordinate: the goal cannot be reached from the start '
                           '(of tiles with one gap only half of all arrangements can; swap two)')
    sequences = {name: _moves(getattr(file, name), tuple(names), f'{where}: {name}')
                 for name in SEQUENCES if getattr(file, name)}
    found = Config(file.config_instance_id, file.grid_size, tuple(names),
                   tuple(landmark.body for landmark in file.landmarks), start, goal,
                   file.complexity_c1, file.complexity_c2, sequences)
    _check_sequences(found, where)
    return found


def parse_config(text: str, where: str) -> Config:
    """Read the text of a puzzle file, see ``read_config``.

    Raises:
        ProblemError: it cannot be used; names file, field and remedy.
    """
    try:
        data = load_json(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f'{where}: is not JSON: {error} (correct the syntax)') from error
    if not isinstance(data, dict):
        raise ProblemError(f'{where}: must hold one JSON object, that of a puzzle')
    return read_config(data, where)


def load_config(path: Path) -> Config:
    """Read a puzzle file, see ``read_config``.

    Raises:
        ProblemError: it cannot be read or used; names file, field and remedy.
    """
    try:
        text = path.read_text('utf-8')
    except (OSError, ValueError) as error:
        raise ProblemError(f'{path}: cannot be read ({reason_of(error)})') from error
    return parse_config(text, str(path))


def _cells(file: _File, where: str, field: str) -> Arrangement:
    """Return the cells of all pieces; ProblemError if one is off the board or used twice."""
    cells: dict[int, str] = {}
    for landmark in file.landmarks:
        x, y = getattr(landmark, field)
        if not (0 <= x < file.grid_size and 0 <= y < file.grid_size):
            raise ProblemError(f'{where}: landmarks: {field} = [{x}, {y}] of {landmark.name} is '
                               f'outside of the board (0 to {file.grid_size - 1})')
        cell = x + file.grid_size * y
        if cell in cells:
            raise ProblemError(f'{where}: landmarks: {field}: {cells[cell]} and {landmark.name} '
                               f'are both on [{x}, {y}] (move one)')
        cells[cell] = landmark.name
    return tuple(cells)


def _moves(texts: Sequence[str], pieces: Sequence[str], where: str) -> tuple[Move, ...]:
    """Return a stored sequence as moves, without the words that mark its start and end."""
    words = [text.strip().lower() for text in texts]
    if words and words[0] == _BOOKENDS[0]:
        words = words[1:]
    if words and words[-1] == _BOOKENDS[1]:
        words = words[:-1]
    moves = []
    for number, text in enumerate(words, start=1):
        parts = text.split()
        name = '_'.join(parts[1:-1]).replace('-', '_')
        if len(parts) < 4 or parts[0] != 'move' or parts[-1] not in DIRECTIONS:
            raise ProblemError(f'{where}: move {number} = {text!r} is none (write "move COLOUR '
                               f'SHAPE DIRECTION", or "move tile NUMBER DIRECTION")')
        if name not in pieces:
            raise ProblemError(f'{where}: move {number} = {text!r} names no piece of the puzzle '
                               f'(it has {", ".join(pieces)})')
        moves.append((pieces.index(name), parts[-1]))
    return tuple(moves)


def _check_sequences(config: Config, where: str) -> None:
    """Check that legal sequences are legal and that the shortest one leads to the goal."""
    for name in SEQUENCES[:2]:
        here = config.start
        for number, move in enumerate(config.sequences.get(name, ()), start=1):
            after = slide(config.size, here, move)
            if after is None:
                text = command(config.pieces, move)
                raise ProblemError(f'{where}: {name}: move {number} = {text!r} is illegal there '
                                   '(correct the sequence, or leave it out)')
            here = after
        if name == SEQUENCES[0] and name in config.sequences and here != config.goal:
            raise ProblemError(f'{where}: {name}: it does not lead to the goal (correct it, or '
                               'leave it out)')


def optimal_length(config: Config) -> int | None:
    """Return the length of a shortest solution [moves]; None if the search hit its limit.

    There is no search if the stored solution has as few moves as the sum of distances, which is a
    lower bound.
    """
    stored = config.sequences.get(SEQUENCES[0])
    if stored is not None and len(stored) == manhattan(config.size, config.start, config.goal):
        return len(stored)
    found = shortest(config.size, config.start, config.goal, NODE_LIMIT)
    return None if found.moves is None else len(found.moves)


def disagreements(config: Config, optimal: int | None) -> list[str]:
    """Return a file's wrong or unverifiable statements about its puzzle, with corrections.

    Args:
        config: the puzzle.
        optimal: ``optimal_length`` of it.
    """
    found: list[str] = []
    stored = config.sequences.get(SEQUENCES[0])
    if optimal is None:
        return [f'complexity_c1: the optimum was not found within {NODE_LIMIT} arrangements, so '
                'that c1 is unknown here' + (
                    '' if config.c1 is None else f', whatever the file says ({config.c1})')]
    if config.c1 is not None and config.c1 != optimal:
        found.append(f'complexity_c1 = {config.c1}, but a shortest solution has {optimal} moves')
    if stored is not None and len(stored) != optimal:
        found.append(f'{SEQUENCES[0]} has {len(stored)} moves, but a shortest solution has '
                     f'{optimal}')
    c2 = (optimal - manhattan(config.size, config.start, config.goal)) // 2
    if config.c2 is not None and config.c2 != c2:
        found.append(f'complexity_c2 = {config.c2}, but it is {c2}')
    return found


def command(pieces: Sequence[str], move: Move) -> str:
    """Return a move as a text command: ``move red cube left``."""
    return f'move {pieces[move[0]].replace("_", " ")} {move[1]}'


def config_text(config: Config) -> dict[str, Any]:
    """Return the content of a puzzle's file, with missing sequences and measures added.

    A missing shortest sequence is searched for. Missing random ones are drawn by a generator that
    is seeded with the puzzle's id; the invalid one draws from all pieces and directions.

    Raises:
        ProblemError: no shortest sequence was found.
    """
    sequences = dict(config.sequences)
    if SEQUENCES[0] not in sequences:
        found = shortest(config.size, config.start, config.goal)
        if found.moves is None:
            raise ProblemError(f'{config.id}: no shortest sequence was found '
                               f'({found.opened} arrangements opened)')
        sequences[SEQUENCES[0]] = found.moves
    c1 = len(sequences[SEQUENCES[0]])
    sequences.setdefault(SEQUENCES[1], _random_moves(config, True))
    sequences.setdefault(SEQUENCES[2], _random_moves(config, False))
    c2 = (c1 - manhattan(config.size, config.start, config.goal)) // 2
    size, tiles = config.size, all(kind == TILE for kind in config.kinds)
    return {
        'config_instance_id': config.id, 'experiment_type': _TYPE,
        'complexity_c1': c1, **({} if tiles else {'complexity_c2': c2}), 'grid_size': size,
        'landmarks': [{
            'geom_nr': number if kind != TILE else int(name.rpartition('_')[2]), 'body': kind,
            'color': (ring_colour(size, number) if kind == TILE
                      else name.rpartition('_')[0].replace('_', ' ')),
            'start_coordinate': [start % size, start // size],
            'goal_coordinate': [goal % size, goal // size]}
            for number, (name, kind, start, goal) in enumerate(zip(
                config.pieces, config.kinds, config.start, config.goal, strict=True), start=1)],
        **{name: ['start', *(command(config.pieces, move) for move in sequences[name])]
           for name in SEQUENCES}}


def ring_colour(size: int, number: int) -> str:
    """Return the colour of a tile by its ring in the goal: the outer ring is green.

    Args:
        size: of the board [cells a side].
        number: of the tile, from 1.
    """
    x, y = (number - 1) % size, (number - 1) // size
    ring = min(x, y, size - 1 - x, size - 1 - y)
    return ('green', 'red', 'blue')[min(ring, 2)]


def _random_moves(config: Config, valid: bool) -> tuple[Move, ...]:
    """Return random moves: only legal ones if ``valid``."""
    rng = random.Random(f'{config.id}/{"valid" if valid else "invalid"}')
    every = [(piece, name) for piece in range(len(config.pieces)) for name in DIRECTIONS]
    here, moves = config.start, []
    for _ in range(_RANDOM_MOVES):
        choice = legal_moves(config.size, here) if valid else every
        if not choice:  # a full board
            break
        move = choice[int(rng.random() * len(choice))]
        here = slide(config.size, here, move) or here
        moves.append(move)
    return tuple(moves)
