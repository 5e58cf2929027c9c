"""The detector of the backend ``embedded``: a small network of our own, on the CPU.

A folder holds its weights and ``detector.json``: the network's shape, the words for what it tells
apart, and how its probabilities are calibrated. A picture is encoded once, whatever is in it; the
replies to the last few are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from sightplan.model import Form, Region
from sightplan.model.query import Deadline, answers
from sightplan.queries.detect import (
    CABINET,
    CATEGORIES,
    DRAWERS,
    OTHER,
    Detect,
    Detection,
    DetectReply,
)
from sightplan_models._detector_network import Found, Network
from sightplan_models._locator_network import HEIGHT, WIDTH, load_weights
from sightplan_models._locator_pictures import Frame, channels, fit, put_depth, put_image
from sightplan_models._small_networks import NetworkFiles, SmallNetworkModel, check_picture
from sightplan_models._unlike import Unlike, never, world_bytes

WEIGHTS_FILE, SETTINGS_FILE = 'detector.safetensors', 'detector.json'
_FILES = NetworkFiles('detector', WEIGHTS_FILE, SETTINGS_FILE)
MOST = 28
"""Largest number of candidate centres."""
SAME, ALIKE = 0.45, 0.7
"""Boxes of one category, or of any two, that overlap by more (intersection over union) are the
same thing."""
HIGHER = 0.995
"""Probability that of two drawers of a cabinet the upper one begins higher up in the picture."""
_SEEN = WIDTH, HEIGHT


@dataclass(frozen=True, slots=True)
class Calibration:
    """Parameters that turn the network's outputs into calibrated probabilities.

    Attributes:
        bias, centre, category: of a logistic regression on the log odds of a centre and those of
            the likeliest category.
        category_heat, colour_heat, opened_heat: temperatures by which logits are divided.
        least: lowest probability of a detection.
    """

    bias: float = 0.0
    centre: float = 1.0
    category: float = 0.0
    category_heat: float = 1.0
    colour_heat: float = 1.0
    opened_heat: float = 1.0
    least: float = 0.3


NO_CALIBRATION = asdict(Calibration())


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate things in a picture before calibration, the best first.

    Attributes:
        box: (K, 4) left, top, right, bottom in unit coordinates of the picture.
        evidence: (K, 2) log odds of a centre and of the likeliest category.
        category, colour: (K, number) logits.
        opened: (K,) logits.
    """

    box: NDArray[np.float64]
    evidence: NDArray[np.float64]
    category: NDArray[np.float64]
    colour: NDArray[np.float64]
    opened: NDArray[np.float64]


class EmbeddedDetector(SmallNetworkModel[DetectReply]):
    """A loaded detector, for any thread.

    Categories, colours and being there have calibrated probabilities. Another attempt at the same
    picture is another view of it: mirrored, smaller, moved.

    Args:
        folder: of the model.
        use_depth: whether to look at depth where a query has it.
        unlike: says why it can tell nothing of a picture.

    Raises:
        BackendError: the folder holds no detector.
    """

    def __init__(self, folder: Path, use_depth: bool = True, unlike: Unlike = never) -> None:
        self._unlike = unlike
        with _FILES.loading(folder):
            found, shape = _FILES.read(folder)
            self.categories = tuple(map(str, found['categories']))
            self.colours = tuple(map(str, found['colours']))
            self._network = Network(shape, len(self.colours)).eval()
            self._calibration = Calibration(**{
                key: float(value) for key, value in found['calibration'].items()})
            load_weights(self._network, folder / WEIGHTS_FILE)
            if self._network.shape.categories != len(self.categories):
                raise ValueError(f'it names {len(self.categories)} categories and has '
                                 f'{self._network.shape.categories}')
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        super().__init__(_FILES.name(folder, world_bytes(folder)), use_depth)

    @answers(Detect)
    def detect(self, query: Detect, deadline: Deadline) -> DetectReply:
        """Find all things in a picture.

        Another attempt at the same picture is another view of it, see ``fit``.

        Raises:
            InputError: the image is none.
            DeadlineError: not within the time limit.
        """
        check_picture(query.image, query.depth_m)
        depth_m = query.depth_m if self._use_depth else None

        def make() -> DetectReply:
            why = self._unlike(query.image)
            return DetectReply(cannot_tell=why) if why else DetectReply(tuple(
                self.told(self._candidates(query.image, depth_m, query.attempt))))
        with self._lock:
            reply = self._recent(query, depth_m, make)
            self._asked += 1
        deadline.check('embedded: detecting')
        return reply

    def candidates(self, query: Detect) -> Candidates:
        """Candidate things in a picture, before calibration."""
        with self._lock:
            return self._candidates(query.image, query.depth_m, query.attempt)

    def _candidates(self, image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None,
                    attempt: int) -> Candidates:
        frame = fit((image.shape[1], image.shape[0]), _SEEN, attempt)
        picture = channels(put_image(image, frame, _SEEN),
                           None if depth_m is None else put_depth(depth_m, frame, _SEEN))
        with torch.inference_mode():
            seen = self._network.look(torch.from_numpy(picture)[None].contiguous(
                memory_format=torch.channels_last))
            return self._distinct(self._network.find(seen, MOST)[1], frame)

    def _distinct(self, found: Found, frame: Frame) -> Candidates:
        """Different things, the likeliest first; of the same thing the likeliest one only."""
        score = found.score[0].double().numpy()
        logits = found.category[0].double().numpy()
        evidence = np.stack([score, [_odds(row) for row in logits]], 1)
        box = np.array([_in_picture(row, frame) for row in found.box[0].double().tolist()])
        kinds = logits.argmax(1)
        kept: list[int] = []
        for k in np.argsort(-score, kind='stable'):
            if (np.ptp(box[k].reshape(2, 2), axis=0) > 0).all() and not any(
                    self._same(int(kinds[k]), int(kinds[j]), box[k], box[j]) for j in kept):
                kept.append(int(k))
        return Candidates(box[kept], evidence[kept], logits[kept],
                          found.colour[0].double().numpy()[kept],
                          found.opened[0].double().numpy()[kept])

    def _same(self, kind: int, other: int, box: NDArray[np.float64],
              beside: NDArray[np.float64]) -> bool:
        """Whether two candidates are one thing; a cabinet and its drawers are not."""
        if kind != other and self.categories.index(CABINET) in (kind, other):
            return False
        same = kind == other and self.categories[kind] not in DRAWERS
        return overlap(box, beside) > (SAME if same else ALIKE)

    def told(self, found: Candidates) -> list[Detection]:
        """Detections that are probable enough, with calibrated probabilities."""
        own = self._calibration
        chance = expit(own.bias + found.evidence @ np.array([own.centre, own.category]))
        told: list[Detection] = []
        for k in np.argsort(-chance, kind='stable'):
            if chance[k] < own.least:
                continue
            categories = _merged(_named(self.categories, found.category[k] / own.category_heat))
            opens = max(categories, key=categories.__getitem__) in DRAWERS
            x1, y1, x2, y2 = found.box[k].tolist()
            told.append(Detection(
                Region(Form.BOX, ((x1, y1), (x2, y2)), probability=float(chance[k])), categories,
                {} if opens else _named(self.colours, found.colour[k] / own.colour_heat),
                float(chance[k]),
                float(expit(found.opened[k] / own.opened_heat)) if opens else None))
        return with_drawer_levels(told)


def with_drawer_levels(told: Sequence[Detection]) -> list[Detection]:
    """Update the categories of two drawers, of which one must be the upper one.

    That is the one whose box begins higher up in the picture, as far as the categories of both do
    not say otherwise.
    """
    out = list(told)
    both = [k for k, one in enumerate(out) if one.opened is not None]
    if len(both) != 2:
        return out
    high, low = sorted(both, key=lambda k: out[k].region.points[0][1])
    (a, b), (c, d) = ([out[k].categories.get(name, 0.0) + 1e-6 for name in DRAWERS]
                      for k in (high, low))
    right, wrong = HIGHER * a * d, (1 - HIGHER) * b * c
    chance = right / (right + wrong)
    for k, upper in ((high, chance), (low, 1 - chance)):
        categories = dict(out[k].categories)
        total = sum(categories.get(name, 0.0) for name in DRAWERS)
        categories |= {DRAWERS[0]: total * upper, DRAWERS[1]: total * (1 - upper)}
        out[k] = replace(out[k], categories=dict(sorted(
            categories.items(), key=lambda item: -item[1])))
    return out


def overlap(one: Sequence[float] | NDArray[np.float64],
            other: Sequence[float] | NDArray[np.float64]) -> float:
    """Intersection over union of two boxes: left, top, right, bottom."""
    both = (max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
            * max(0.0, min(one[3], other[3]) - max(one[1], other[1])))
    total = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)) - both
    return float(both / total) if total > 0 else 0.0


def _in_picture(box: list[float], frame: Frame) -> tuple[float, float, float, float]:
    """Box in unit coordinates of the network's input, converted to those of the picture."""
    (x1, y1), (x2, y2) = (frame.to_picture(x * WIDTH, y * HEIGHT)
                          for x, y in (box[:2], box[2:]))
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _named(names: Sequence[str], logits: NDArray[np.float64]) -> dict[str, float]:
    """Probabilities by name, the likeliest first."""
    chance = np.exp(logits - logits.max())
    chance /= chance.sum()
    return {names[k]: float(chance[k]) for k in np.argsort(-chance, kind='stable')}


def _merged(chances: dict[str, float]) -> dict[str, float]:
    """The categories of ``detecting``, all others taken together; the likeliest first."""
    known = {name: chance for name, chance in chances.items() if name in CATEGORIES}
    known[OTHER] = known.get(OTHER, 0.0) + max(0.0, 1.0 - sum(known.values()))
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def _odds(logits: NDArray[np.float64]) -> float:
    """Log odds of the likeliest against all others."""
    order = np.sort(logits)
    return float(min(12.0, order[-1] - np.logaddexp.reduce(order[:-1])))
