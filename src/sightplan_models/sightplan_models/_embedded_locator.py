"""The locator of the backend ``embedded``: a small network of our own that points, on the CPU.

A folder holds its weights and ``locator.json``: the network's shape, the words it knows, and how
its probabilities are calibrated: that a place is right, if the target is there, and that it is
there at all. A picture is encoded once; what was seen of the last few is kept,
so that each further target in a picture costs a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor

from sightplan.model import Form, InputError, Region
from sightplan.model.query import Deadline, answers
from sightplan.queries.locate import Locate, LocateReply
from sightplan_models._locator_network import (
    HEIGHT,
    WIDTH,
    Network,
    Pointed,
    Seen,
    load_weights,
)
from sightplan_models._locator_pictures import Frame, channels, fit, put_depth, put_image
from sightplan_models._locator_words import (
    ids_of,
    mirrored,
    pieces,
    tints,
    unknown_words,
    words_of,
)
from sightplan_models._small_networks import NetworkFiles, SmallNetworkModel, check_picture
from sightplan_models._unlike import Foreign, world_bytes

WEIGHTS_FILE, SETTINGS_FILE = 'locator.safetensors', 'locator.json'
_FILES = NetworkFiles('locator', WEIGHTS_FILE, SETTINGS_FILE)
_SEEN = WIDTH, HEIGHT
_INSIDE = 0.5
"""Probability from which a place counts as part of the target."""
_SMALLEST, _MOST = 3, 32
"""Cells of the heat map that make a place of its own, and most places of one reply."""


@dataclass(frozen=True, eq=False)
class _Sight:
    """An encoded picture.

    Attributes:
        seen: what the network knows of it.
        frame: where the picture stands in it.
        beside: (H, W) bool, cells of the heat map that are not the picture.
    """

    seen: Seen
    frame: Frame
    beside: Tensor


class _Maps(NamedTuple):
    """Output of the network for one target.

    Attributes:
        score: (H, W) smoothed probability of each place to be pointed at; 0 beside the picture.
        inside: (H, W) probability of each place to be part of what is meant; likewise.
        there: log odds, as ``Existence`` has them, that what is meant is in the picture.
        sight: the picture.
    """

    score: Tensor
    inside: Tensor
    there: float
    sight: _Sight


class EmbeddedLocator(SmallNetworkModel['_Sight']):
    """A loaded locator; locates one target at a time, from any thread.

    It gives points and boxes with calibrated probabilities, no traces. Another attempt at the same
    target is another view of the picture: mirrored, smaller, moved.

    Args:
        folder: of the model.
        use_depth: whether to look at depth where a query has it.
        foreign: probability that a picture is none of those that it was made for; None: it does
            not tell.

    Raises:
        BackendError: the folder holds no locator.
    """

    def __init__(self, folder: Path, use_depth: bool = True, foreign: Foreign | None = None,
                 ) -> None:
        self._foreign = foreign
        with _FILES.loading(folder):
            found, shape = _FILES.read(folder)
            self._network = Network(shape).eval()
            self._known = {str(word): i for i, word in enumerate(found['words'], 1)}
            self._calibration = tuple(map(float, found['calibration']))
            self._existence = tuple(map(float, found.get('existence', ())))
            load_weights(self._network, folder / WEIGHTS_FILE)
        self._network.vision.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        super().__init__(_FILES.name(folder, world_bytes(folder)), use_depth)

    @answers(Locate)
    def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
        """Locate a target in a picture.

        Another attempt at the same is another view of the picture, see ``fit``.

        Raises:
            InputError: the image is none, or a trace is asked for.
            DeadlineError: not within the time limit.
        """
        maps = self._maps(query, self._use_depth)
        regions = self._regions(query.target.form, maps.score, maps.inside, maps.sight.frame)
        deadline.check('embedded: locating')
        with self._lock:
            self._asked += 1
        return LocateReply(regions, probability=regions[0].probability,
                           unknown=unknown_words(query.target.text, self._known),
                           exists=calibrated((maps.there,), self._existence)
                           if self._existence else None,
                           foreign=self._foreign(query.image) if self._foreign else None)

    def point(self, query: Locate) -> tuple[Region, tuple[float, float]]:
        """The best point, and the evidence for its probability; see ``evidence``."""
        score, inside, _, sight = self._maps(query, True)
        row, column = divmod(int(score.argmax()), score.shape[1])
        seen = evidence(score, inside, row, column)
        return _point_region(row, column, sight.frame, calibrated(seen, self._calibration)), seen

    def there(self, query: Locate) -> float:
        """The evidence on existence: log odds that the target is in the picture, uncalibrated."""
        return self._maps(query, True).there

    def _maps(self, query: Locate, use_depth: bool) -> _Maps:
        """Run the network for a query."""
        _check(query)
        words = words_of(query.target.text)
        with self._lock, torch.inference_mode():
            depth_m = query.depth_m if use_depth else None
            sight = self._recent(query, depth_m, lambda: self._sight(query, depth_m))
            reply, there = self._read(sight, mirrored(words) if sight.frame.mirrored else words)
            point = reply.point[0, 0].masked_fill(sight.beside, -torch.inf)
            weight = torch.cat([point.flatten(), reply.absent[0, :1]]).softmax(0)[:-1]
            score = F.avg_pool2d(weight.view(1, *point.shape), 3, 1, 1, count_include_pad=False)[0]
            inside = reply.mask[0, 0].sigmoid().masked_fill(sight.beside, 0.0)
            return _Maps(score.masked_fill(sight.beside, 0.0), inside, there, sight)

    def _sight(self, query: Locate, depth_m: NDArray[np.float32] | None) -> _Sight:
        """The encoded picture."""
        frame = fit(query.size, _SEEN, query.attempt)
        picture = channels(put_image(query.image, frame, _SEEN),
                           None if depth_m is None else put_depth(depth_m, frame, _SEEN))
        beside = torch.ones(1, 1, HEIGHT, WIDTH)
        beside[..., frame.top:frame.top + frame.height, frame.left:frame.left + frame.width] = 0
        seen = self._network.look(torch.from_numpy(picture)[None].contiguous(
            memory_format=torch.channels_last))
        seen = replace(seen, maps=())  # the maps are large, and only needed for learning
        return _Sight(seen, frame, F.avg_pool2d(beside, 2)[0, 0] > 0.5)

    def _read(self, sight: _Sight, words: tuple[str, ...]) -> tuple[Pointed, float]:
        """Run the network for one text on an encoded picture; also whether it is there."""
        found = [pieces(word, self._network.shape.grams) for word in words]
        starts = np.cumsum([0, *map(len, found[:-1])])
        ids = torch.tensor(ids_of(words, self._known))
        vectors = self._network.words(
            ids, torch.tensor([piece for one in found for piece in one]), torch.from_numpy(starts))
        padding = torch.zeros(1, 1, len(words), dtype=torch.bool)
        text = vectors[None, None]
        reply = self._network.point(sight.seen, text, padding)[-1]
        there = self._network.exists(sight.seen, reply, text, padding, (ids > 0)[None, None],
                                     torch.tensor(tints(words))[None, None])
        return reply, float(there)

    def _regions(self, form: Form, score: Tensor, inside: Tensor, frame: Frame,
                 ) -> tuple[Region, ...]:
        """Places in the picture, the best first."""
        if form is Form.POINTS:
            return self._places(score, inside, frame)
        row, column = divmod(int(score.argmax()), score.shape[1])
        chance = self._calibrated(score, inside, row, column)
        if form is Form.POINT:
            return (_point_region(row, column, frame, chance),)
        level = min(_INSIDE, 0.5 * float(inside[row, column]))
        return (_box_region(_connected(inside >= level, row, column), frame, chance),)

    def _places(self, score: Tensor, inside: Tensor, frame: Frame) -> tuple[Region, ...]:
        """A point of each connected part of the target; the best place if it has no part."""
        left, found = score.clone(), list[Region]()
        while len(found) < _MOST:
            row, column = divmod(int(left.argmax()), left.shape[1])
            part = _connected(inside >= _INSIDE, row, column)
            if found and (not left[row, column] > 0 or inside[row, column] < _INSIDE):
                break
            if not found or part.sum() >= _SMALLEST:
                found.append(_point_region(row, column, frame, self._calibrated(
                    score, inside, row, column)))
            left = left.masked_fill(part | (inside < _INSIDE), 0.0)
        return tuple(found)

    def _calibrated(self, score: Tensor, inside: Tensor, row: int, column: int) -> float:
        """The probability that a place is right."""
        return calibrated(evidence(score, inside, row, column), self._calibration)


def evidence(score: Tensor, inside: Tensor, row: int, column: int) -> tuple[float, float]:
    """Evidence on whether a place is right.

    Args:
        score: (H, W) smoothed probability of each place to be pointed at.
        inside: (H, W) probability of each place to be part of what is meant.
        row: of the place.
        column: of the place.

    Returns:
        Log odds that what is pointed at is within three cells of it, and that it is part of what
        is meant.
    """
    near = float(score[max(0, row - 3):row + 4, max(0, column - 3):column + 4].sum())
    return _log_odds(near), _log_odds(float(inside[row, column]))


def calibrated(seen: tuple[float, ...], weights: tuple[float, ...]) -> float:
    """A logistic regression: bias, then the weight of each piece of evidence."""
    odds = weights[0] + sum(w * x for w, x in zip(weights[1:], seen, strict=True))
    return float(1 / (1 + np.exp(-odds)))


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-4), 1 - 1e-4)
    return float(np.log(chance / (1 - chance)))


def _point_region(row: int, column: int, frame: Frame, chance: float) -> Region:
    place = frame.to_picture(2 * (column + 0.5), 2 * (row + 0.5))
    return Region(Form.POINT, (place,), probability=chance)


def _box_region(piece: Tensor, frame: Frame, chance: float) -> Region:
    rows, columns = piece.any(1).nonzero().flatten(), piece.any(0).nonzero().flatten()
    (x1, y1), (x2, y2) = (
        frame.to_picture(2.0 * int(columns[0]), 2.0 * int(rows[0])),
        frame.to_picture(2.0 * (int(columns[-1]) + 1), 2.0 * (int(rows[-1]) + 1)))
    return Region(Form.BOX, ((min(x1, x2), y1), (max(x1, x2), y2)), probability=chance)


def _connected(mask: Tensor, row: int, column: int) -> Tensor:
    """The part of a mask that hangs together with one of its cells."""
    part = torch.zeros_like(mask)
    part[row, column] = True
    while True:
        grown = (F.max_pool2d(part[None].float(), 3, 1, 1)[0] > 0) & (mask | part)
        if bool((grown == part).all()):
            return part
        part = grown


def _check(query: Locate) -> None:
    if query.target.form is Form.TRACE:
        raise InputError('embedded: it points and boxes, but draws no traces; ask for a point, '
                         'points or a box, or choose a backend that draws them')
    check_picture(query.image, query.depth_m)
