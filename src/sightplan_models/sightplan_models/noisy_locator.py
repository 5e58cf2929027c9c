"""``noisy_locator``: ground truth about places, seen through a published hit rate; no model.

It stands in for a model that points, in experiments that need only its errors. What it is asked
for it hits with the probability of a table (three models of Point-It-Out whose replies are points)
or of the setting ``hit``. A miss is silent with probability ``silent``: the reply that the target
is not there, although it is. Else it lies on another thing with probability ``confusable`` (each
is as likely as the others), or on nothing.

A target that is not in view it points at all the same with probability ``false_alarm``, at places
like those of a miss; else the reply is that it is not there. Point-It-Out has no such targets, so
that no rates of its models are published: the defaults are ours.

Askings about the same thing on the same picture are numbered (``attempt``), and errors persist as
those of models do: with probability ``repeat`` an asking gets the very place of the asking before
it, right or wrong; else all is drawn afresh. So the rate of hits is the table's at each asking.

A box surrounds what is pointed at; its IoU with the tight box is drawn between ``box_iou`` and 1.
Several points are one. A trace cannot be had.

Whether a marked place is right (``check``) is answered correctly with probability
``check_accuracy``; all places on one thing share an answer, and it persists over askings as places
do. A mask or box marks the thing with which its IoU is largest, if it holds half of that thing or
consists of it by half; a point marks what it lies on. Whether there is such a thing (``exists``)
is answered "yes" with probability ``exists_yes`` where it is in view, and "no" with probability
``exists_no`` where it is not; models say "yes" too readily. Answers persist likewise.

All things of a picture are told apart (``detect``) with the same errors: each is found with the
probability of a hit; one that is missed lends its name to another thing with probability
``confusable``, else it is not seen. For each thing there is with probability ``false_detection``
one more box with its name where nothing is. Two are never in the same place.

Every draw is a hash of seed, picture, target and number of the asking, so that the order of
requests does not matter. It has no probabilities to offer.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    Form,
    InputError,
    MaskSource,
    Observation,
    Region,
    TargetMasks,
    param,
)
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.model.region import Mask, Point, ThingSource, pixel
from sightplan.queries import (
    Answer,
    Check,
    Detect,
    Detection,
    DetectReply,
    Exists,
    Locate,
    LocateReply,
)
from sightplan.queries.detect import apart
from sightplan_models._hashed_draws import uniform

_RATES = Path(__file__).parent / 'data' / 'pointing_rates.json'
_UNSEEN_EDGE = 0.125
"""Edge of a wrong box where the target is not in view, as a fraction of the picture's."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``noisy_locator``."""

    table: str = param('molmo-7b', 'Model whose published hit rates are used: molmo-7b, robopoint '
                       'or roborefer')
    kind: str = param('s1', 'Row of its rates: s1, s2 (averages), object, object part, '
                      'restriction, afd, contact, predict, recommend or safety')
    hit: float = param(-1.0, 'Probability that a place is on what was asked for; -1: that of the '
                       'table', low=-1.0, high=1.0)
    confusable: float = param(0.5, 'Probability that a miss lies on another thing; else it lies '
                              'on nothing', low=0.0, high=1.0)
    silent: float = param(0.1, 'Probability that a miss on a target that is there is the reply '
                          'that it is not there', low=0.0, high=1.0)
    false_alarm: float = param(0.4, 'Probability that it points at something although the target '
                               'is not there', low=0.0, high=1.0)
    false_detection: float = param(0.0, 'Detecting all things: number of boxes where nothing is, '
                                   'for each thing that is there; no paper that we know publishes '
                                   'it for models that write', low=0.0, high=1.0)
    repeat: float = param(0.45, 'Probability that an asking about the same thing gets the place '
                          'of the asking before it', low=0.0, high=1.0)
    check_accuracy: float = param(0.9, 'Probability that the answer whether a marked place is '
                                  'right is correct', low=0.0, high=1.0)
    exists_yes: float = param(0.9, 'Probability of "yes" to whether there is such a thing, where '
                              'there is', low=0.0, high=1.0)
    exists_no: float = param(0.8, 'Probability of "no" to whether there is such a thing, where '
                             'there is none', low=0.0, high=1.0)
    box_iou: float = param(0.5, 'Least IoU of a box with the tight box around what it is meant '
                           'for', low=0.01, high=1.0)
    seed: int = param(0, 'Seed of the errors', low=0)


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the hit rate; see ``api.backend_content``."""
    return hashlib.sha256(repr(_hit_rate(settings)).encode()).hexdigest()[:12]


class Backend(ModelByKind):
    """Points from ground truth with a model's errors.

    Args:
        settings: see Settings.
        truth: where things are in the current picture.

    Raises:
        InputError: there is no such table or row.
    """

    traits = Traits('masks', pixels=False, prompt=False)

    def __init__(self, settings: Settings, truth: MaskSource) -> None:
        self._settings = settings
        self._truth = truth
        self._hit = _hit_rate(settings)

    @property
    def name(self) -> str:
        """Table and settings, for example ``noisy_locator(molmo-7b/s1 .533, repeat .45, ...)``."""
        s = self._settings
        rate = f'hit {s.hit:g}' if s.hit >= 0 else f'{s.table}/{s.kind} {self._hit:g}'
        return (f'noisy_locator({rate}, confusable {s.confusable:g}, silent {s.silent:g}, '
                f'false alarm {s.false_alarm:g}, '
                + (f'false detection {s.false_detection:g}, ' if s.false_detection else '')
                + f'repeat {s.repeat:g}, '
                f'check {s.check_accuracy:g}, exists {s.exists_yes:g}/{s.exists_no:g}, '
                f'box {s.box_iou:g}, seed {s.seed})')

    @answers(Locate)
    def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
        """Locate a target in a picture, with simulated errors.

        Raises:
            InputError: a trace is asked for, or nothing is known of the target.
        """
        form, target = query.target.form, query.target.text
        if form is Form.TRACE:
            raise InputError("backend 'noisy_locator' cannot draw traces; ask for a point, points "
                             'or a box')
        truth = self._truth.masks(target)
        key = self._key('locate', query.image, truth, target)
        key += (str(self._drawn_at(query.attempt, key)),)
        if not truth.target.any():
            if uniform(*key, 'alarm') >= self._settings.false_alarm:
                return LocateReply()
        elif uniform(*key, 'hit') < self._hit:
            return LocateReply(_regions(truth.target, truth, form, key, self._settings.box_iou))
        elif uniform(*key, 'silent') < self._settings.silent:
            return LocateReply()
        missed = self._missed(truth, key)
        if missed is None:
            return LocateReply((_box_on_nothing(truth, key) if form is Form.BOX else
                                Region(Form.POINT, (_place(_nothing(truth), key),)),))
        return LocateReply(_regions(missed, truth, form, key, self._settings.box_iou))

    @answers(Detect)
    def detect(self, query: Detect, deadline: Deadline) -> DetectReply:
        """Find all things in a picture.

        Raises:
            InputError: the truth tells nothing of things.
        """
        source = self._truth
        if not isinstance(source, ThingSource):
            raise InputError("backend 'noisy_locator' detects things by the truth, and this suite "
                             'does not state what is in its pictures; choose another backend')
        things = source.things()
        masks = tuple(thing.mask for thing in things)
        found: list[tuple[float, Detection]] = []
        for number, thing in enumerate(things):
            truth = TargetMasks(thing.mask, masks[:number] + masks[number + 1:])
            key = self._key('detect', query.image, truth, thing.category)
            key += (str(self._drawn_at(query.attempt, key)),)
            if uniform(*key, 'hit') < self._hit:
                mask: Mask | None = thing.mask
            else:
                mask = self._missed(truth, key)
            if mask is not None:
                found.append((uniform(*key, 'first'), Detection(
                    _box_around(mask, key, self._settings.box_iou), {thing.category: 1.0},
                    {thing.colour: 1.0} if thing.colour else {}, 1.0,
                    None if thing.opened is None else float(thing.opened))))
            if uniform(*key, 'nothing') < self._settings.false_detection:
                room = TargetMasks(thing.mask, masks)
                found.append((uniform(*key, 'first of nothing'), Detection(
                    _box_on_nothing(room, (*key, 'nothing')), {thing.category: 1.0},
                    {thing.colour: 1.0} if thing.colour else {})))
        return DetectReply(apart(one for _, one in sorted(found, key=lambda pair: pair[0])))

    @answers(Check)
    def check(self, query: Check, deadline: Deadline) -> Answer:
        """Answer whether a marked place is the target, with simulated errors.

        Raises:
            InputError: the place is a trace, the mask is of another size than the truth, or
                nothing is known of the target.
        """
        truth = self._truth.masks(query.target.text)
        marked = _marked(query, truth)
        what = repr(query.region.points) if marked is None else str(marked)
        key = (*self._key('check', query.image, truth, query.target.text), what)
        key += (str(self._drawn_at(query.attempt, key)),)
        right = uniform(*key, 'right') < self._settings.check_accuracy
        return Answer('Yes' if (marked == 0) is right else 'No')

    @answers(Exists)
    def exists(self, query: Exists, deadline: Deadline) -> Answer:
        """Answer whether the target is in the picture, with simulated errors.

        Raises:
            InputError: nothing is known of the target.
        """
        truth, rates = self._truth.masks(query.target.text), self._settings
        key = self._key('exists', query.image, truth, query.target.text)
        key += (str(self._drawn_at(query.attempt, key)),)
        yes = rates.exists_yes if truth.target.any() else 1 - rates.exists_no
        return Answer('Yes' if uniform(*key, 'yes') < yes else 'No')

    def _key(self, what: str, image: NDArray[np.uint8], truth: TargetMasks,
             target: str) -> tuple[str, ...]:
        """Key of the draws about a target on a picture.

        Where the target is counts, too: pictures that are not drawn are all the same.
        """
        place = hashlib.sha256(np.packbits(truth.target).tobytes()).hexdigest()[:16]
        return (str(self._settings.seed), what, Observation(image).image_id, place, target)

    def _drawn_at(self, attempt: int, key: tuple[str, ...]) -> int:
        """Number of the asking whose draws this one repeats; its own number for new draws."""
        while attempt > 0 and uniform(*key, 'again', str(attempt)) < self._settings.repeat:
            attempt -= 1
        return attempt

    def _missed(self, truth: TargetMasks, key: tuple[str, ...]) -> Mask | None:
        """The other thing that a miss lies on; None for a miss on nothing."""
        others = [other for other in (mask & ~truth.target for mask in truth.others)
                  if other.any()]
        room = _nothing(truth).any()
        if others and (not room or uniform(*key, 'confused') < self._settings.confusable):
            return others[_chosen(len(others), *key, 'other')]
        return None if room else truth.target


def _hit_rate(settings: Settings) -> float:
    """Probability of a hit.

    Raises:
        InputError: there is no such table or row; names those that are there.
    """
    if settings.hit >= 0:
        return settings.hit
    rates = _rates()
    for field, value, names in (('table', settings.table, rates),
                                ('kind', settings.kind, rates.get(settings.table, {}))):
        if value not in names:
            raise InputError(f'backend noisy_locator: {field} = {value!r} must be one of '
                             f'{", ".join(names)}; or set hit')
    return rates[settings.table][settings.kind]


@functools.cache
def _rates() -> Mapping[str, Mapping[str, float]]:
    """Model to row to hit rate."""
    found: Mapping[str, Mapping[str, float]] = json.loads(_RATES.read_text('utf-8'))['models']
    return found


def _regions(mask: Mask, truth: TargetMasks, form: Form, key: tuple[str, ...],
             least_iou: float) -> tuple[Region, ...]:
    """A point on a thing, or a box around it."""
    if form is not Form.BOX:
        return (Region(Form.POINT, (_place(mask, key),)),)
    return (_box_around(mask, key, least_iou),)


def _box_around(mask: Mask, key: tuple[str, ...], least_iou: float) -> Region:
    """The tight box, shifted so that its IoU with the tight one is as drawn.

    With the fractions (1 - a) and (1 - b) of its edges that stay, the overlap is their product o,
    and IoU = o / (2 - o). What lies beside the picture is cut off, which makes IoU larger.
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    iou = least_iou + (1 - least_iou) * uniform(*key, 'iou')
    overlap = 2 * iou / (1 + iou)
    part = uniform(*key, 'direction')
    edges = []
    for axis, (found, size, power) in enumerate(((columns, mask.shape[1], part),
                                                 (rows, mask.shape[0], 1 - part))):
        start, end = float(found[0]), float(found[-1]) + 1
        shift = (1 - overlap ** power) * (end - start)
        shift = -shift if uniform(*key, 'side', str(axis)) < 0.5 else shift
        edges.append((max(start + shift, 0.0) / size, min(end + shift, size) / size))
    (left, right), (top, bottom) = edges
    return Region(Form.BOX, ((left, top), (right, bottom)))


def _box_on_nothing(truth: TargetMasks, key: tuple[str, ...]) -> Region:
    """A box of the target's size around a place where nothing is."""
    height, width = truth.target.shape
    x, y = _place(_nothing(truth), key)
    wide = truth.target.any(0).sum() / width or _UNSEEN_EDGE
    high = truth.target.any(1).sum() / height or _UNSEEN_EDGE
    return Region(Form.BOX, ((max(x - wide / 2, 0.0), max(y - high / 2, 0.0)),
                             (min(x + wide / 2, 1.0), min(y + high / 2, 1.0))))


def _nothing(truth: TargetMasks) -> Mask:
    """Mask of the pixels that show neither the target nor another thing."""
    found: Mask = ~np.logical_or.reduce([truth.target, *truth.others])
    return found


def _place(mask: Mask, key: tuple[str, ...]) -> Point:
    """The middle of a pixel of a mask, each as likely as the others, in unit coordinates."""
    inside = np.flatnonzero(mask)
    row, column = divmod(int(inside[_chosen(len(inside), *key, 'pixel')]), mask.shape[1])
    return (column + 0.5) / mask.shape[1], (row + 0.5) / mask.shape[0]


def _chosen(count: int, *key: str) -> int:
    """Draw a number below ``count``; all are equally likely."""
    return min(int(uniform(*key) * count), count - 1)


def _marked(query: Check, truth: TargetMasks) -> int | None:
    """Index of the marked thing: 0 for the target, from 1 for the others; None for none."""
    height, width = truth.target.shape
    things = (truth.target, *truth.others)
    mask, region = query.mask, query.region
    if mask is not None and mask.shape != (height, width):
        raise InputError(f'the mask of the place to be checked has {mask.shape[1]}x'
                         f'{mask.shape[0]} pixels, the truth {width}x{height}; give one of the '
                         "picture's size")
    if mask is None and region.form is Form.TRACE:
        raise InputError("backend 'noisy_locator' cannot check traces; give a point, a box or a "
                         'mask')
    if mask is None and region.form is Form.POINT:
        [(x, y)] = region.points
        row, column = (min(max(pixel(at * size), 0), size - 1)
                       for at, size in ((y, height), (x, width)))
        return next((index for index, thing in enumerate(things) if thing[row, column]), None)
    if mask is None:
        mask = _rectangle(region, width, height)
    overlaps = [_overlap(mask, thing) for thing in things]
    best = max(range(len(things)), key=lambda index: overlaps[index][0])
    iou, of_thing, of_mask = overlaps[best]
    return best if iou > 0 and max(of_thing, of_mask) >= 0.5 else None


def _rectangle(box: Region, width: int, height: int) -> Mask:
    (left, top), (right, bottom) = (
        (min(max(x, 0), width), min(max(y, 0), height)) for x, y in box.pixels(width, height))
    mask = np.zeros((height, width), bool)
    mask[top:bottom, left:right] = True
    return mask


def _overlap(mask: Mask, thing: Mask) -> tuple[float, float, float]:
    """IoU, and the common part as a fraction of the thing and of the mask."""
    common = np.count_nonzero(mask & thing)
    areas = np.count_nonzero(thing), np.count_nonzero(mask)
    if not common:
        return 0.0, 0.0, 0.0
    return common / (sum(areas) - common), common / areas[0], common / areas[1]
