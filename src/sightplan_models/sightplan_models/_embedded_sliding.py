"""Reader of boards of the backend ``embedded``: the content of each cell, from one picture.

A folder holds its weights and ``config.json``: its ``model_type``, the networks' shape, and the
colours that it knows by name. A picture is read once, whatever is asked about it; what was read of
the last few is kept.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from sightplan.model import Answer, BackendError, Usage
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.queries.yes_no import YesNo
from sightplan.vlm.images import checked_pixels
from sightplan_models._embedded_questions import NO_IMAGE
from sightplan_models._embedded_sliding_network import (
    HEIGHT,
    KINDS,
    SIZES,
    WIDTH,
    Network,
    Shape,
    cells,
    corners_of,
    cut,
    levels,
    plan,
    small,
)
from sightplan_models._unlike import Unlike, never

WEIGHTS_FILE, SETTINGS_FILE = 'model.safetensors', 'config.json'
_KEPT = 8
"""Readings that are kept."""
_ALIKE = 50.0
"""Smallest distance in RGB between the colours of the pieces and a usual colour that may be
answered."""
_TOO_SMALL = 1e-3
"""Probability that a question names a cell that the board does not have."""
_TILE = 'tile'
_CELL = re.compile(r'\b([a-f])([1-6])\b')
_EMPTY = frozenset({'empty', 'free'})
_AROUND = frozenset({'a', 'an', 'any', 'at', 'board', 'cell', 'currently', 'field', 'in', 'is',
                     'located', 'now', 'on', 'placed', 'square', 'standing', 'the', 'there'})
"""Words that do not change a question's meaning; any other word, such as "not", does."""
_UNREAD = 'this is no question about a cell of a board'
_NO_BOARD = 'no board is seen in the picture'
_SEEN = 0.5
"""Least probability of a board, for anything to be told of its cells."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a question about one cell.

    Attributes:
        x, y: of the cell, from 0 at the near left.
        kind: what may be there, a name of ``KINDS``; '' for nothing, which is to be empty.
        colour: its name without blanks; '' if none is named.
        number: of a tile; 0 if none is named.
    """

    x: int
    y: int
    kind: str = ''
    colour: str = ''
    number: int = 0


@functools.lru_cache(maxsize=65536)
def understood(text: str) -> Asked | None:
    """Parse a question about one cell; None if it is another question."""
    text = text.lower()
    named = set(_CELL.findall(text))
    if len(named) != 1:
        return None
    words = re.findall(r'[a-z]+|\d+', _CELL.sub(' ', text).replace('_', ' '))
    (letter, digit), = named
    x, y = 'abcdef'.index(letter), int(digit) - 1
    at = next((i for i, word in enumerate(words) if word in KINDS), None)
    if at is None:
        empty = not _EMPTY.isdisjoint(words) and _AROUND.union(_EMPTY).issuperset(words)
        return Asked(x, y) if empty else None
    kind, before, after = words[at], words[:at], words[at + 1:]
    number = int(after.pop(0)) if kind == _TILE and after and after[0].isdigit() else 0
    first = 1 + max((i for i, word in enumerate(before) if word in _AROUND), default=-1)
    colour = ''.join(before[first:])
    if not _AROUND.issuperset(before[:first] + after) or (kind == _TILE and colour):
        return None
    return Asked(x, y, kind, colour, number)


@dataclass(frozen=True, eq=False)
class Reading:
    """Content of a picture, as probabilities.

    Attributes:
        size: cells a side of the board.
        board: probability that there is a board of this size.
        kinds: (size * size, 9) probability that it is no cell, empty, and each of ``KINDS``.
        numbers: (size * size, NUMBERS) probability of each number, if it is a tile.
        shades: (size * size, shade) what is to be compared with colours.
        corners: (4, 2) where the board is [px of 640 x 480].
    """

    size: int
    board: float
    kinds: NDArray[np.float64]
    numbers: NDArray[np.float64]
    shades: Tensor
    corners: NDArray[np.float64]


class BoardReader(ModelByKind):
    """Loaded networks that read boards; from any thread.

    Args:
        folder: of the model.
        name: exact name of the networks; '' for the folder's.
        domain: that they were made for, if they are shipped; else ''.
        unlike: says why they can tell nothing of a picture.

    Raises:
        BackendError: the folder holds none.
    """

    def __init__(self, folder: Path, name: str = '', domain: str = '',
                 unlike: Unlike = never) -> None:
        self._unlike = unlike
        self.name = name or folder.name
        self.traits = Traits(prompt=False, domain=domain, refuses=True)
        self._asked = 0
        try:
            found = json.loads((folder / SETTINGS_FILE).read_text())
            shape: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value
                                     for key, value in found['shape'].items()}
            self._network = Network(Shape(**shape)).eval()
            self._colours = {str(name): tuple(map(int, rgb))
                             for name, rgb in found['colours'].items()}
            self._usual = [self._colours[name] for name in found['usual']]
            weights = load_file(folder / WEIGHTS_FILE)
            missing, unknown = self._network.load_state_dict(
                {name: value.float() for name, value in weights.items()}, strict=False)
            missing = [name for name in missing if not name.endswith('num_batches_tracked')]
            if missing or unknown:
                raise ValueError(f'weights {", ".join([*missing, *unknown][:3])} do not fit')
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError,
                SafetensorError) as error:
            raise BackendError(
                f'embedded: {folder} holds no reader of boards ({type(error).__name__}: {error}); '
                f'name as model_dir a folder with {SETTINGS_FILE} and {WEIGHTS_FILE} '
                '(training/train_sliding.py), or leave it empty') from error
        self._lock = threading.Lock()
        self._readings: OrderedDict[tuple[str, int], Reading] = OrderedDict()

    @property
    def usage(self) -> Usage:
        """Number of queries so far."""
        return Usage(self._asked)

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image.

        It cannot tell what a question asks that is not about what is in one cell, and nothing of
        a picture in which it sees no board, or that is unlike those that it was made for.
        """
        seen = queries[0].observation
        image = checked_pixels(seen.image, NO_IMAGE)
        asked = [understood(query.question.text) for query in queries]
        named = [one for one in asked if one is not None]
        least = max((1 + max(one.x, one.y) for one in named), default=0)
        with self._lock:
            reading = self._reading(image, seen.image_id, least)
            why = _NO_BOARD if reading.board < _SEEN else self._unlike(image)
            replies = self._replies(reading, asked, why)
            self._asked += len(replies)
        deadline.check(f'embedded: {len(asked)} answers')
        return replies

    def read(self, image: NDArray[np.uint8], least: int = 0) -> Reading:
        """Read a picture of a board.

        Args:
            image: (H, W, 3) uint8 RGB.
            least: cells a side that the board has at least, as questions name one that far out.
        """
        with torch.inference_mode():
            copies = levels(_fit(image))
            there, heat = self._network.finder(small(copies))
            corners = corners_of(heat)[0].double().numpy()
            chances = self._network.counter(plan(copies, corners))[0].double().softmax(-1).numpy()
            fitting = chances[1:] * np.where(np.array(SIZES) < least, _TOO_SMALL, 1.0)
            size = SIZES[int(fitting.argmax())]
            board = float(there[0].double().sigmoid()) * (1 - chances[0])
            parts = cut(copies, cells(corners, size), self._network.shape)
            kinds, numbers, shades = self._network.reader(parts)
            numbers[:, size * size:] = -torch.inf
            return Reading(size, float(board * fitting.max() / fitting.sum()),
                           kinds.double().softmax(-1).numpy(),
                           numbers.double().softmax(-1).numpy(), shades, corners)

    def _reading(self, image: NDArray[np.uint8], key: str, least: int) -> Reading:
        """The reading of a picture, from the cache or new."""
        found = self._readings.pop((key, least), None) or self.read(image, least)
        self._readings[key, least] = found
        while len(self._readings) > _KEPT:
            self._readings.popitem(last=False)
        return found

    def _replies(self, reading: Reading, asked: Sequence[Asked | None],
                 why: str) -> list[Answer]:
        """Replies; ``why`` says why nothing can be told of the picture, '' if something can."""
        colours = tuple(sorted({one.colour for one in asked if one is not None and one.colour}))
        shades = self._shades(reading, colours)
        return [Answer.cannot_tell(_UNREAD) if one is None or one.colour not in {'', *shades}
                else Answer.cannot_tell(why) if why
                else _reply(_chance(reading, one, shades)) for one in asked]

    def _shades(self, reading: Reading, names: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
        """Probability (size * size,) that a cell's piece has a colour, for each known colour.

        Told apart are the colours that are asked about, and usual ones that none of those nearly
        looks like.
        """
        known = {name: self._colours[name] for name in names if name in self._colours}
        told = list(dict.fromkeys(known.values()))
        told += [rgb for rgb in self._usual if all(_distance(rgb, other) >= _ALIKE
                                                   for other in known.values())]
        with torch.inference_mode():
            every = self._network.reader.colours(torch.tensor(told).float() / 127.5 - 1)
            chances = (reading.shades @ every.T).double().softmax(-1).numpy()
        return {name: chances[:, told.index(rgb)] for name, rgb in known.items()}


def _distance(one: Sequence[int], other: Sequence[int]) -> float:
    return float(np.linalg.norm(np.subtract(one, other)))


def _chance(reading: Reading, asked: Asked, shades: dict[str, NDArray[np.float64]]) -> float:
    """The probability that the answer is yes."""
    if max(asked.x, asked.y) >= reading.size:
        return 0.0
    cell = asked.x + reading.size * asked.y
    if not asked.kind:
        return reading.board * float(reading.kinds[cell, 1])
    chance = reading.board * float(reading.kinds[cell, 2 + KINDS.index(asked.kind)])
    if asked.number:
        inside = asked.number <= reading.numbers.shape[1]
        return chance * float(reading.numbers[cell, asked.number - 1]) if inside else 0.0
    return chance * float(shades[asked.colour][cell]) if asked.colour else chance


def _reply(chance: float) -> Answer:
    return Answer('yes' if chance >= 0.5 else 'no', chance, 1 - chance)


def _fit(image: NDArray[np.uint8]) -> Tensor:
    """(1, 3, HEIGHT, WIDTH) from -1 to 1: the whole picture, in the middle, as its edges go on."""
    picture = torch.from_numpy(image.astype(np.float32)).permute(2, 0, 1)[None]
    height, width = image.shape[:2]
    if (height, width) != (HEIGHT, WIDTH):
        scale = min(HEIGHT / height, WIDTH / width)
        tall, wide = max(1, round(height * scale)), max(1, round(width * scale))
        picture = F.interpolate(picture, (tall, wide), mode='bilinear', antialias=True)
        left, top = (WIDTH - wide) // 2, (HEIGHT - tall) // 2
        picture = F.pad(picture, (left, WIDTH - wide - left, top, HEIGHT - tall - top),
                        mode='replicate')
    return picture / 127.5 - 1
