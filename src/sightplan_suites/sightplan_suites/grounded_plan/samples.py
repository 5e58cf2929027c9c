"""Tasks in pictures: of scenes of our own, or of records from a user's disk."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError, param, user_path
from sightplan.model.grounded_plan import UnitKind
from sightplan.model.sample import Picture, Sample
from sightplan.runs.dataset import (
    PictureFiles,
    check_new,
    nothing_usable,
    skip,
    with_ids,
    write_file,
)
from sightplan.runs.suite_finding import suite_settings
from sightplan.runs.suite_parts import CheckReport, Samples
from sightplan_suites.grounded_plan import records, scenes, scoring
from sightplan_suites.grounded_plan.coordinates import Coords
from sightplan_suites.grounded_plan.records import HORIZONS, INSTRUCTION_KINDS, Dataset, Item

SPLITS = tuple(HORIZONS)
_FOLDER = Path(__file__).parent
_MOST_WORDS = 20
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_COMMON = frozenset((_FOLDER / 'common_words.txt').read_text('utf-8').split())
"""Words without much content, which are not counted."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the suite: its tasks, how they are asked, and when a box fits."""

    data: str = param('', 'file or folder of records; empty: scenes are drawn from the seed')
    count: int = param(150, 'tasks of each kind of instruction in scenes that are drawn', low=1,
                       high=scenes.MOST_SCENES)
    seed: int = param(0, 'seed of the scenes', low=0, high=2**32 - 1)
    scenes: str = param('tabletop', f'maker of the scenes, an entry point of {scenes.GROUP}')
    coords: str = param('permille_xyxy', 'convention of boxes and points that a model is asked '
                        'for', choices=tuple(map(str, Coords)))
    grasp_criterion: str = param('iou', 'when the box of a grasp, an opening or a closing fits, '
                                 'see the README', choices=scoring.CRITERIA)


def samples(split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split.

    Args:
        split: short, medium or long.
        options: fields of ``Settings``.

    Raises:
        InputError: an unknown option or a bad value, no maker of scenes, or data that cannot be
            used.
    """
    settings = suite_settings('grounded_plan', Settings, options)
    data = _data(settings, split)
    if settings.data and not data.items:
        raise nothing_usable(data.where, data.skipped, 'record')
    return _as_samples(data, [item for item in data.items if item.horizon == split], settings)


def dataset(options: Mapping[str, Any], splits: Sequence[str]) -> Dataset:
    """The tasks of some splits, with their pictures.

    Args:
        options: fields of ``Settings``.
        splits: short, medium, long, or several of them.

    Raises:
        InputError: see ``samples``.
    """
    settings = suite_settings('grounded_plan', Settings, options)
    if settings.data:
        return _data(settings, '')
    parts = [_data(settings, split) for split in splits]
    held = {name: content for part in parts for name, content in part.files.held.items()}
    return Dataset(settings.scenes, tuple(item for part in parts for item in part.items),
                   files=PictureFiles(held=held))


def _data(settings: Settings, split: str) -> Dataset:
    if settings.data:
        return records.read_records(user_path(settings.data))
    return _drawn(settings.scenes, split, settings.count, settings.seed)


@functools.lru_cache(maxsize=6)
def _drawn(source: str, split: str, count: int, seed: int) -> Dataset:
    """The scenes of a seed; drawing takes long, and each run of a sweep wants the same ones."""
    return scenes.drawn_dataset(source, split, count, seed)


def _as_samples(data: Dataset, items: Sequence[Item], settings: Settings) -> Samples:
    known = {item.id: item for item in items}
    pictures = {item.image: _picture(data, item) for item in items}
    digest = hashlib.sha256()
    for name in pictures:
        digest.update(data.files.content(name))
    for item in items:
        digest.update(json.dumps(records.entry_of(item)).encode())
    made = {} if settings.data else {'scenes': settings.scenes}
    identity = {'sha256': digest.hexdigest()[:12], 'pictures': len(pictures), **made,
                'coords': settings.coords, 'grasp_criterion': settings.grasp_criterion}
    return Samples(
        tuple(_sample(item, pictures[item.image], settings) for item in items),
        lambda name: scoring.truth_of(known[name].task.plans, known[name].things), identity,
        [f'{one["file"]}: {one["reason"]}' for one in data.skipped])


def details_of(item: Item, coords: str, criterion: str) -> dict[str, Any]:
    """Details of a task for tables and methods, without anything of its plan.

    Args:
        item: the task.
        coords: convention that replies have, where they declare none.
        criterion: when a box fits.
    """
    return {'instruction': item.task.instruction, 'instruction_type': item.kind,
            'horizon': item.horizon, 'pair': item.task.pair, 'scene': item.scene,
            'image_size': list(item.size), 'coords': coords, 'grasp_criterion': criterion}


def _sample(item: Item, picture: Picture, settings: Settings) -> Sample:
    text = (f'Instruction: {item.task.instruction}\n\n'
            f'Coordinates: {Coords(settings.coords).words(item.size)}')
    return Sample(item.id, item.horizon, item.scene, (picture, text),
                  details=details_of(item, settings.coords, settings.grasp_criterion),
                  told=('instruction', 'image_size'))


def _picture(data: Dataset, item: Item) -> Picture:
    return Picture(item.image, functools.partial(data.load, item),
                   functools.partial(data.files.depth_m, item.depth) if item.depth else None,
                   item.camera)


# ----------------------------------------------------------------------------------------- files


def check(data: Path) -> CheckReport:
    """Count the contents of a file or folder of records, as figure 2 does; pictures are decoded.

    Raises:
        InputError: there are no records.
    """
    found = records.read_records(data)
    skipped = with_ids(found.skipped)
    usable: list[Item] = []
    whole: dict[str, bool] = {}
    for item in found.items:
        for name, load in ((item.image, functools.partial(found.load, item)),
                           (item.depth, functools.partial(found.files.depth_m, item.depth))):
            if name and name not in whole:
                try:
                    load()
                    whole[name] = True
                except InputError as error:
                    whole[name] = False
                    skipped.append(skip(str(found.files.folder / name), str(error)))
        if whole[item.image]:
            usable.append(item)
    return CheckReport(statistics(usable), skipped,
                       [skip(one['file'], one['reason']) for one in found.noted])


def statistics(items: Sequence[Item]) -> dict[str, int]:
    """Count tasks, scenes, primitives and words, by kind.

    Returns:
        ``items``, ``scenes``, ``pictures``, ``pairs`` (tasks in both wordings); ``short/explicit``
        and so on; ``primitives/grasp`` and so on; ``units``, ``unordered_blocks``;
        ``actions/04`` (plans with so many primitives); ``instruction_words/explicit`` (words
        altogether), ``least_words/explicit`` and ``most_words/explicit`` (of one instruction);
        ``intention/hungry`` (implicit instructions with that intention); ``right_plans/01`` (tasks
        with so many right plans); ``word/mug`` (instructions in which a word occurs, of the most
        frequent).
    """
    parts, lengths, words = Counter[str](), Counter[str](), Counter[str]()
    primitives = Counter(dict.fromkeys(('grasp', 'place', 'open', 'close'), 0))
    spoken: dict[str, list[int]] = {kind: [] for kind in INSTRUCTION_KINDS}
    intended, right = Counter[str](), Counter[str]()
    units = unordered = 0
    for item in items:
        parts[f'{item.horizon}/{item.kind}'] += 1
        lengths[f'actions/{item.task.horizon:02}'] += 1
        said = [word.lower() for word in _WORD.findall(item.task.instruction)]
        spoken[item.kind].append(len(said))
        intended.update(f'intention/{name}' for name in item.task.intentions)
        right[f'right_plans/{len(item.task.plans):02}'] += 1
        words.update({word for word in said if word not in _COMMON})
        for block in item.task.blocks:
            units += len(block.units)
            unordered += block.unordered
            for unit in block.units:
                primitives.update(('grasp', 'place') if unit.kind is UnitKind.PICK_PLACE
                                  else (unit.kind.value,))
    return {
        'items': len(items), 'scenes': len({item.scene for item in items}),
        'pictures': len({item.image for item in items}),
        'pairs': len(_paired(items)),
        **{part: parts[part] for part in (f'{horizon}/{kind}' for horizon in HORIZONS
                                          for kind in INSTRUCTION_KINDS)},
        **{f'primitives/{name}': number for name, number in primitives.items()},
        'units': units, 'unordered_blocks': unordered, **dict(sorted(lengths.items())),
        **{f'instruction_words/{kind}': sum(numbers) for kind, numbers in spoken.items()},
        **{f'{name}_words/{kind}': choose(numbers, default=0)
           for kind, numbers in spoken.items()
           for name, choose in (('least', min), ('most', max))},
        **dict(sorted(intended.items())), **dict(sorted(right.items())),
        **{f'word/{word}': number for word, number in sorted(
            words.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_WORDS]}}


def _paired(items: Sequence[Item]) -> set[str]:
    """Pairs that have both wordings."""
    explicit, implicit = ({item.task.pair for item in items if item.kind == kind}
                          for kind in INSTRUCTION_KINDS)
    return explicit & implicit


def generate(out: Path, count: int, seed: int) -> dict[str, Any]:
    """Write a folder of records: scenes of a seed with tasks of all horizons.

    Args:
        out: the folder; it is made, and must not hold data yet.
        count: tasks of each horizon and kind of instruction, at least 2: those of one pair
            have the same plan, and a folder must hold different ones.
        seed: of the scenes; one seed always gives the same files.

    Raises:
        InputError: the folder holds data already or cannot be written, a bad number, or no maker
            of scenes is installed.
    """
    return make(out, max(count, 2) if count > 0 else count, seed, SPLITS)


def make(out: Path, count: int, seed: int, horizons: Sequence[str], source: str = 'tabletop',
         held_out: bool = True) -> dict[str, Any]:
    """Write a folder of records, with pictures and depth; see ``generate``.

    Args:
        out: the folder.
        count: tasks of each horizon and kind of instruction.
        seed: of the scenes.
        horizons: short, medium, long, or several of them.
        source: name of the maker of scenes.
        held_out: whether things and wordings are those that no model of ours is trained on.

    Raises:
        InputError: see ``generate``.
    """
    suite_settings('grounded_plan', Settings, {'count': count, 'seed': seed, 'scenes': source})
    file = out / records.EPISODES
    check_new(file)
    lines: list[str] = []
    drawn: set[str] = set()
    left_out = 0
    for horizon in horizons:
        for scene in scenes.draw_scenes(source, horizon, count, seed, held_out=held_out):
            for name, content in scene.files.items():
                write_file(out / name, content)
            lines += [json.dumps(scenes.written(item), ensure_ascii=False) + '\n'
                      for item in scene.items]
            drawn.update(item.image for item in scene.items)
            left_out += len(scene.skipped)
    write_file(file, ''.join(lines).encode())
    return {'scenes': len(drawn), 'tasks': len(lines), 'left_out': left_out}
