"""Places to point at and traces to draw: of scenes of our own, or of the benchmark's own files."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, InputError, Target, TargetMasks, param, user_path
from sightplan.model.depth_files import read_depth
from sightplan.model.picture_files import read_image
from sightplan.model.region import Mask, PlaceWording, Presence
from sightplan.model.sample import Picture, Sample
from sightplan.runs.dataset import (
    Skipped,
    nothing_usable,
    skip,
    with_ids,
)
from sightplan.runs.suite_finding import suite_settings
from sightplan.runs.suite_parts import CheckReport, Samples
from sightplan_suites.point_it_out import masks, official, scenes
from sightplan_suites.point_it_out.official import Dataset, Item
from sightplan_suites.point_it_out.ticks import draw_ticks

SPLITS = ('s1', 's2', 's3')
FAMILIES = ('gpt', 'claude', 'gemini', 'qwen', 'molmo', 'robopoint', 'roborefer', 'robobrain')
"""Families of models that the release asks in words of its own; see ``families.yaml``."""
GIVEN = 'given'
"""Value of the setting ``starts``: only traces whose start the data tells."""
_MARK = 'a red square'
"""Mark where a trace begins, in pictures of the release and of our own scenes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the suite: its items, and the form of answers."""

    data: str = param('', "folder of data in the benchmark's format; empty: scenes are drawn from "
                      'the seed')
    count: int = param(25, 'scenes', low=1, high=scenes.MOST_SCENES)
    seed: int = param(0, 'seed of the scenes', low=0, high=2**32 - 1)
    scenes: str = param('tabletop', 'maker of the scenes, an entry point of sightplan.scenes')
    form: str = param('point', 'what is asked for in s1 and s2',
                      choices=('point', 'points', 'box'))
    ticks: bool = param(False, 'draw axis ticks in pixels along the edges of the pictures')
    family: str = param('', 'family of models in whose form of reply the protocol of the paper '
                        'asks, and whose words are taken from a folder of prompts; empty: none',
                        choices=('', *FAMILIES))
    presence: str = param('open', 'what prompts of s1 and s2 say: that the target may be missing '
                          'and how to reply then (open), nothing (unsaid), or that it is there '
                          '(stated)', choices=tuple(str(one) for one in Presence))
    tries: int = param(1, 'most askings of one item by a method that asks once, as long as a '
                       'reply cannot be read or, unless presence is open, names no place', low=1,
                       high=100)
    starts: str = param('any', 'traces that are asked for: any, or only those whose start the '
                        'data tell (given)', choices=('any', GIVEN))


def samples(split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split.

    Args:
        split: one of ``SPLITS``.
        options: fields of ``Settings``.

    Raises:
        InputError: an unknown option or a bad value, no maker of scenes, or data that cannot be
            used.
    """
    settings = suite_settings('point_it_out', Settings, options)
    data = _data(settings, split)
    items = [item for item in data.items if item.split == split]
    if split == official.TRACES and settings.starts == GIVEN:
        data, items = _with_starts(data, items)
    if settings.data and not data.items:
        raise nothing_usable(data.where, data.skipped, 'item')
    return _as_samples(data, items, settings, split)


def check(data: Path) -> CheckReport:
    """Count the items of a data folder, and name entries that cannot be used.

    Raises:
        InputError: there are no files of the benchmark.
    """
    found = official.read_official(data)
    skipped = with_ids(found.skipped)
    counts: Counter[str] = Counter()
    whole: dict[str, bool] = {}
    for item in found.items:
        if item.picture not in whole:
            whole[item.picture] = _decodes(data / item.picture, skipped)
        if whole[item.picture]:
            counts['items'] += 1
            counts['/'.join(filter(None, (item.split, item.subclass)))] += 1
            if item.split == official.TRACES and item.start is None:
                counts['s3 without a start'] += 1
    for path in sorted((data / official.DEPTH).glob('*.png')):
        _decodes(path, skipped, read_depth)
    return CheckReport({'items': 0, 'pictures': sum(whole.values()), **dict(
        sorted(counts.items()))}, skipped)


def generate(out: Path, count: int, seed: int) -> dict[str, Any]:
    """Write a folder of data: scenes of a seed, in the benchmark's format.

    Args:
        out: the folder; it is made, and must not hold data yet.
        count: scenes.
        seed: of the scenes; one seed always gives the same files.

    Raises:
        InputError: the folder holds data already or cannot be written, a bad number, or no maker
            of scenes is installed.
    """
    settings = suite_settings('point_it_out', Settings, {'count': count, 'seed': seed})
    left_out: list[str] = []
    written = official.write_official(out, scenes.draw_scenes(
        settings.scenes, count, seed, traces=True,
        left_out=lambda scene, task: left_out.append(task)), settings.scenes)
    return {**written, 'traces_left_out': len(left_out)}


def _with_starts(data: Dataset, items: Sequence[Item]) -> tuple[Dataset, list[Item]]:
    """The traces whose start is told; how many others there are is among what is skipped."""
    told = [item for item in items if item.start is not None]
    left = [item.id for item in items if item.start is None]
    noted = [skip(data.where, f'{len(left)} of {len(items)} traces are left out, such as '
                  f"{left[0]}: no start is told by the end of the picture's name or in points.txt "
                  'beside it (starts=any asks for them, too)')] if left else []
    return replace(data, skipped=(*data.skipped, *noted)), told


def _decodes(path: Path, skipped: list[Skipped],
             read: Callable[[Path], object] = read_image) -> bool:
    """Whether a picture is whole; if not, that is noted."""
    try:
        read(path)
    except InputError as error:
        skipped.append(skip(str(path), str(error)))
        return False
    return True


def _data(settings: Settings, split: str) -> Dataset:
    if settings.data:
        return official.read_official(user_path(settings.data))
    return _drawn(settings.scenes, settings.count, settings.seed, split == official.TRACES)


@functools.lru_cache(maxsize=2)
def _drawn(source: str, count: int, seed: int, traces: bool) -> Dataset:
    """The scenes of a seed; drawing takes long, and each run of a sweep wants the same ones."""
    skipped: list[Skipped] = []
    found = official.drawn(scenes.draw_scenes(
        source, count, seed, traces=traces, left_out=lambda scene, task: skipped.append(skip(
            scene, f"its own oracle's trace does not do {task!r}"))), source)
    return replace(found, skipped=tuple(skipped))


def _as_samples(data: Dataset, items: Sequence[Item], settings: Settings, split: str) -> Samples:
    pictures: dict[str, Picture] = {}
    samples, digest = [], hashlib.sha256()
    for item in items:
        if item.picture not in pictures:
            pictures[item.picture] = _picture(data, item.picture, settings.ticks)
            digest.update(data.files.content(item.picture))
        samples.append(_sample(item, pictures[item.picture], settings))
        digest.update(json.dumps([item.text, truth_of(item)]).encode())
    known = {item.id: item for item in items}
    made = {} if settings.data else {'scenes': settings.scenes}
    asked = {'starts': settings.starts} if split == official.TRACES else {
        'presence': settings.presence}
    identity = {'sha256': digest.hexdigest()[:12], 'pictures': len(pictures), **made,
                'form': settings.form, 'ticks': settings.ticks, 'family': settings.family,
                'tries': settings.tries, **asked}
    by_picture: dict[str, list[Item]] = {}
    for item in data.items:
        by_picture.setdefault(item.picture, []).append(item)
    return Samples(
        tuple(samples), lambda name: truth_of(known[name]), identity,
        [f'{one.get("id", one["file"])}: {one["reason"]}' for one in data.skipped],
        mask_source=lambda sample: KnownMasks(by_picture[sample.cluster], data))


def truth_of(item: Item) -> dict[str, Any]:
    """Truth of an item for scoring, as JSON data."""
    if item.split == official.TRACES:
        return {'size': list(item.size), 'start': item.start and list(item.start),
                'task': item.task and dict(item.task)}
    return {'size': list(item.size), 'polygon': [list(ring) for ring in item.rings]}


def details_of(item: Item, form: Form) -> dict[str, Any]:
    """Details of an item for tables."""
    return {'form': str(form), 'subclass': item.subclass, 'source': item.source,
            'scenario': item.scenario}


def _sample(item: Item, picture: Picture, settings: Settings) -> Sample:
    asked = Form.TRACE if item.split == official.TRACES else Form(settings.form)
    wording = PlaceWording(Presence(settings.presence), _MARK if item.marked else '')
    return Sample(item.id, item.split, item.picture, (picture, item.text),
                  target=Target(item.text, asked), start=item.start, wording=wording,
                  tries=settings.tries, details=details_of(item, asked))


def _picture(data: Dataset, name: str, ticks: bool) -> Picture:
    def load() -> NDArray[np.uint8]:
        image = data.files.image(name)
        return draw_ticks(image) if ticks else image
    view = data.views.get(name)
    if view is None:
        return Picture(name, load)
    return Picture(name, load, functools.partial(data.depth_m, name), view.camera)


class KnownMasks:
    """True masks of the things in a picture, for simulated models: a ``model.region.MaskSource``.

    The other things are the pieces of the scene where they are known, else the other items' masks
    that do not touch the target.
    """

    def __init__(self, items: Sequence[Item], data: Dataset) -> None:
        """Keep the items of the picture, and their data."""
        self._items, self._data = items, data

    def masks(self, target: str) -> TargetMasks:
        """True masks of a target and of the other things.

        Raises:
            InputError: no place to point at has this text.
        """
        item = next((item for item in self._items if item.rings and item.text == target), None)
        if item is None:
            raise InputError(f'{self._items[0].picture}: nothing is known of {target!r}; ask for '
                             'one of the places of s1 and s2')
        return TargetMasks(item.mask, self._others(item))

    def _others(self, item: Item) -> tuple[Mask, ...]:
        pieces = self._data.pieces.get(item.picture)
        if pieces is not None:
            return tuple(masks.fill(piece.rings, item.size) for piece in pieces
                         if piece.name != item.piece)
        others = (other.mask for other in self._items if other.rings and other.id != item.id)
        return tuple(mask for mask in others if not (mask & item.mask).any())
