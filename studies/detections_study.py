"""Measure how many detected things do not exist, with a simulated detector.

Use::

    python studies/detections_study.py --n 200

``noisy_locator`` finds all things on pictures of eight things each, at the hit rates of models of
Point-It-Out, with false detections: for each thing that is there, 0.2 boxes where nothing is. The
looks are merged, without and with a check of each instance (right in .9). Counted are the
instances that are believed to exist, those of them that lie on nothing, and the things found.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from sightplan.grounding import BackendGrounder
from sightplan.grounding.instructions.instances import ACCEPT
from sightplan.metrics import wilson
from sightplan.model import Form, Observation, Region, TargetMasks
from sightplan.model.region import TrueThing, box_iou
from sightplan.queries.detect import COLOURS, MOVED
from sightplan.vlm.api import make_backend

MODELS = ('molmo-7b', 'roborefer')
LOOKS = (1, 3, 5)
FALSE_DETECTION = 0.2
THINGS = 8
WIDTH, HEIGHT = 160, 120
_ON = 0.2
"""Least intersection over union of a box with a thing's, for it to lie on the thing."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one model with a number of looks.

    Attributes:
        model: whose hit rate the detector has.
        looks: number of looks at each picture.
        checks: whether each instance is checked.
        pictures: number of pictures.
        instances: number of instances that are believed to exist.
        nothing: fraction of them that lie on nothing.
        low: lower end of its 95 % interval (Wilson).
        high: upper end.
        found: fraction of the things that are there that an instance is believed of.
    """

    model: str
    looks: int
    checks: bool
    pictures: int
    instances: int
    nothing: float
    low: float
    high: float
    found: float


class Table:
    """Ground truth: eight boxes of their own category and colour in places of their own.

    Args:
        seed: of the places.
    """

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        cells = draw.sample(range(24), THINGS)
        self._things = []
        for cell in cells:
            row, column = divmod(cell, 6)
            top, left = 30 * row + draw.randint(2, 8), 26 * column + draw.randint(2, 6)
            mask = np.zeros((HEIGHT, WIDTH), bool)
            mask[top:top + draw.randint(12, 20), left:left + draw.randint(12, 18)] = True
            self._things.append(TrueThing(mask, draw.choice(MOVED), draw.choice(COLOURS)))
        self.image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        for number, thing in enumerate(self._things, 1):
            self.image[thing.mask] = number, seed % 256, seed // 256

    def things(self) -> tuple[TrueThing, ...]:
        """All things."""
        return tuple(self._things)

    def masks(self, target: str) -> TargetMasks:
        """The things of a colour and category."""
        of_it = [thing.mask for thing in self._things
                 if f'{thing.colour} {thing.category}' == target]
        return TargetMasks(
            np.logical_or.reduce(of_it) if of_it else np.zeros((HEIGHT, WIDTH), bool),
            tuple(thing.mask for thing in self._things
                  if f'{thing.colour} {thing.category}' != target))

    def boxes(self) -> list[Region]:
        """The tight box of each thing."""
        found = []
        for thing in self._things:
            rows, columns = np.nonzero(thing.mask)
            found.append(Region(Form.BOX, (
                (columns.min() / WIDTH, rows.min() / HEIGHT),
                ((columns.max() + 1) / WIDTH, (rows.max() + 1) / HEIGHT))))
        return found


def measure(model: str, looks: int, checks: bool, pictures: int) -> Row:
    """Detect the things of pictures, and count what is believed."""
    instances = nothing = found = 0
    for seed in range(pictures):
        table = Table(seed)
        detector = make_backend('noisy_locator', {
            'table': model, 'kind': 'object', 'false_detection': FALSE_DETECTION}, table)
        seen = [one for one in BackendGrounder(detector).tell_apart(
            Observation(table.image), looks, checks=checks).instances if one.exists >= ACCEPT]
        on = [{number for number, box in enumerate(table.boxes())
               if box_iou(box, one.region) >= _ON} for one in seen]
        instances += len(seen)
        nothing += sum(not things for things in on)
        found += len(set().union(*on)) if on else 0
    low, high = wilson(nothing, instances)
    return Row(model, looks, checks, pictures, instances, nothing / instances, low, high,
               found / (THINGS * pictures))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--n', type=int, default=200, help='number of pictures')
    given = parser.parse_args(arguments)
    rows = [measure(model, looks, checks, given.n) for model in MODELS for looks in LOOKS
            for checks in (False, True)]
    for row in rows:
        print(dataclasses.asdict(row))
    return 0


if __name__ == '__main__':
    sys.exit(main())
