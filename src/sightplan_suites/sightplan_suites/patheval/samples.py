"""Pairs of paths and tasks, asked in the ways that the paper compares; and pairs of segments.

Without ``data`` the split ``test`` is the items that are shipped (``building``). With ``data`` it
is what a folder holds (``data_items``).
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError, param, user_path
from sightplan.model.sample import Choice, Picture, Sample
from sightplan.runs.suite_finding import suite_settings
from sightplan.runs.suite_parts import CheckReport, Samples
from sightplan_suites.patheval import asking, building, generating, official, segments
from sightplan_suites.patheval.asking import CHOICE, NEEDED, PERCEPTION, PLAIN_NAMES, Names
from sightplan_suites.patheval.data_items import in_sentences, items_in
from sightplan_suites.patheval.items import (
    Item,
    Pictured,
    View,
    details_of,
    family_of,
    level_of,
    lower_of,
    ratio,
)
from sightplan_suites.patheval.scenarios import form_of, read_task
from sightplan_suites.patheval.segments import SegmentPair
from sightplan_suites.patheval.tasks_file import Tasks, find_tasks, our_tasks, read_tasks
from sightplan_suites.paths.descriptors import NAMES, Descriptors
from sightplan_suites.paths.drawing import LARGEST, pair
from sightplan_suites.paths.labels import needed
from sightplan_suites.paths.scenarios import ABSTRACT, FORMS

TEST, SEGMENTS = 'test', 'segments'
ALL, PAPER = 'all', 'paper'
VECTOR, NOTHING = 'vector', 'nothing'
VARIANTS = ('none', 'flipped', 'descriptors', 'random', 'no_images', 'perception',
            'perception_fine', 'level1')
_OF_SEGMENTS = ('none', 'flipped', 'random')
REPEATS = 5
"""Repeats of every task in the variant ``level1``, as in the paper."""
SHORTER = (('path_length', -1),)
"""Wishes of a task whose sentence the reader does not understand: the shorter path is taken."""
_BLANK = np.full((448, 448, 3), 255, np.uint8)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the questions and their data."""

    variant: str = param('none', 'how items are asked, see the README', choices=VARIANTS)
    form: str = param(ABSTRACT, "sentences of tasks of our own: abstract as the paper's, so that "
                      'what decides is to be inferred, or with it spelled out', choices=FORMS)
    explained: str = param(ALL, 'what prompts say: all of what the picture shows, that the '
                           'border is no obstacle, and what every value means; or no more than '
                           "the paper's prompts (paper)", choices=(ALL, PAPER))
    granted: str = param(VECTOR, 'what models that read no sentences are told of a task: what '
                         'decides it (vector), or nothing: then the reader of sentences stands '
                         'in for them', choices=(VECTOR, NOTHING))
    view: str = param('2d', 'pictures from above (2d) or in perspective (3d); those of data are '
                      'files and show what they show', choices=('2d', '3d'))
    data: str = param('', 'folder of records, or of environments with planned paths; empty: the '
                      'items that are shipped')
    scenarios: str = param('', "the benchmark's file of tasks, Scenarios.xlsx or .csv: whose "
                           'sentences records are known by, and all other items are asked in; '
                           'empty: the one that data holds, else ours')
    count: int = param(building.TEST_COUNT, 'items of each scenario that are made of environments '
                       'and paths', low=1, high=100_000)
    size: int = param(0, "width of one path's picture [px]; 0: 448 from above, 1280 in "
                      'perspective', low=0, high=LARGEST)
    blank: bool = param(False, 'show a white picture where there is none, for models that need '
                        'one')
    seed: int = param(0, 'seed of random names and of segments', low=0, high=2**32 - 1)


def samples(split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split; contract in ``runs.samples.load_samples``.

    Args:
        split: ``test`` or ``segments``.
        options: fields of ``Settings``.

    Raises:
        InputError: an unknown option or a bad value, or data that cannot be used.
    """
    settings = suite_settings('patheval', Settings, options)
    if 0 < settings.size < 16:
        raise InputError(f'suite patheval: size = {settings.size} is too small for a picture '
                         '(give 0 or at least 16)')
    if split != TEST:
        return _segments(settings)
    return _test(settings) if settings.data or settings.scenarios else _shipped_test(settings)


@dataclass(frozen=True, eq=False)
class Question:
    """A request about a pair, with its true answer.

    Attributes:
        id: of the sample.
        asks: what for, see ``asking``.
        cluster: statistical cluster that it belongs to.
        text: words for names, and whether the two are swapped.
        pictured: where its pictures come from; None without any.
        choices: names of what is chosen by, '' for the task, each with what decides.
        scores: for each of ``choices`` how good both are.
        truth: plain JSON data, for the order of the item.
        details: for tables.
        names: of the two.
        task: its sentence, '' for none.
        values: of both, where they are told.
    """

    id: str
    asks: str
    cluster: str
    text: Callable[[Names, bool], str]
    pictured: Pictured | None
    choices: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    scores: tuple[tuple[float, float], ...]
    truth: Any
    details: Mapping[str, Any]
    names: Names = PLAIN_NAMES
    task: str = ''
    values: Sequence[Descriptors] = ()


class _Desk:
    """Makes samples of questions, in the order and under the names that are wanted."""

    def __init__(self, split: str, settings: Settings, questions: Sequence[Question]) -> None:
        self._split, self._settings = split, settings
        self._questions = {one.id: one for one in questions}
        self._flipped = settings.variant == 'flipped'
        self._prompt = split if split == SEGMENTS else 'none' if self._flipped else (
            settings.variant)

    def samples(self) -> list[Sample]:
        """All of them, as the variant shows them."""
        return [self._sample(one, self._flipped, one.names) for one in self._questions.values()]

    def shown(self, sample: Sample, swap: bool, neutral: bool) -> Sample:
        """Contract in ``runs.samples.Samples.shown``: names stay at their places."""
        one = self._questions[sample.id]
        names = asking.random_names(self._settings.seed, f'neutral {one.id}') if neutral else (
            one.names)
        return self._sample(one, self._flipped is not swap, names)

    def truth(self, name: str) -> Any:
        """True answer of a sample, in the order in which the variant shows the paths."""
        truth = self._questions[name].truth
        if not self._flipped or 'needed' in truth:
            return truth
        if 'better' in truth:
            return {'better': 1 - truth['better']}
        return {'lower': {key: None if value is None else 1 - value
                          for key, value in truth['lower'].items()}}

    def better(self, first: str, second: str) -> int:
        """Compare two subjects; see ``queries.choose.PreferenceSource``."""
        scores = self._scores
        for subject in (first, second):
            if subject not in scores:
                raise InputError(f'suite patheval: nothing is known of {subject!r}')
        (group, one), (other_group, other) = scores[first], scores[second]
        if group != other_group:
            raise InputError(f'suite patheval: {first!r} and {second!r} are never compared')
        return (one > other) - (one < other)

    @functools.cached_property
    def _scores(self) -> dict[str, tuple[str, float]]:
        return {subject: (subject[:-2], score) for one in self._questions.values()
                for (name, _), pair_scores in zip(one.choices, one.scores, strict=True)
                for subject, score in zip(_subjects(one.id, name), pair_scores, strict=True)}

    def _sample(self, one: Question, swapped: bool, names: Names) -> Sample:
        parts: list[str | Picture] = [one.text(names, swapped)]
        if one.pictured is not None:
            parts.insert(0, self._picture(one.pictured, swapped))
        elif self._settings.blank:
            parts.insert(0, Picture('blank', _BLANK.copy))
        turn = -1 if swapped else 1
        read = self._settings.granted == NOTHING and bool(one.task)
        choices = tuple(Choice(names, _subjects(one.id, name)[::turn],
                               (read_task(one.task) or SHORTER) if read else properties)
                        for name, properties in one.choices)
        said = asking.told(one.task, names if one.choices else (), one.values[::turn],
                           () if one.task else one.details.get('descriptors', ()))
        return Sample(one.id, self._split, one.cluster, tuple(parts),
                      details={**one.details, **said}, choices=choices, told=tuple(said),
                      prompt=self._prompt)

    def _picture(self, pictured: Pictured, swapped: bool) -> Picture:
        view = cast('View', self._settings.view)
        name = f'{pictured.name}/{view}{"/swapped" if swapped else ""}'
        return Picture(name, functools.partial(_load, pictured, view, swapped))


def _load(pictured: Pictured, view: View, swapped: bool) -> NDArray[np.uint8]:
    first, second = pictured.halves(view)
    return pair(second, first) if swapped else pair(first, second)


def _subjects(question: str, name: str) -> tuple[str, str]:
    """Identities of the two paths: a is the item's first one, which reveals nothing."""
    stem = f'{question}/{name}' if name else question
    return f'{stem}/a', f'{stem}/b'


# ------------------------------------------------------------------------------------- the items


def _test(settings: Settings) -> Samples:
    items, skipped, digest = _items(settings)
    questions, left_out = _questions(settings, items)
    desk = _Desk(TEST, settings, questions)
    shown = desk.samples()
    granted = settings.granted == VECTOR and any(
        properties for one in questions for _, properties in one.choices)
    tasks = {one.task for one in questions if one.task}
    identity = {**_identity(settings, digest, shown), 'blank': settings.blank,
                'explained': settings.explained,
                **({'form': form_of(tasks), 'granted': VECTOR if granted else NOTHING}
                   if tasks else {}), 'ties': sum(left_out.values())}
    ties = [f'{count} pairs have the same {asking.key_of(name).lower()}: none is the lower one'
            for name, count in left_out.items() if count]
    return Samples(shown, desk.truth, identity, [*skipped, *ties],
                   preference_source=lambda sample: desk if sample.choices else None,
                   shown=desk.shown)


@functools.lru_cache(maxsize=8)
def _shipped_test(settings: Settings) -> Samples:
    """Cached test of the data that come with the package, which many cells of a sweep ask for."""
    return _test(settings)


def _identity(settings: Settings, digest: str, shown: Sequence[Sample]) -> dict[str, Any]:
    """Values that results depend on: data, questions, and how they are shown."""
    texts = [part for sample in shown for part in sample.parts if isinstance(part, str)]
    if settings.granted == NOTHING:  # then choices are by what was read
        texts += [repr(choice.properties) for sample in shown for choice in sample.choices]
    words = hashlib.sha256('\x1f'.join(texts).encode()).hexdigest()[:12]
    return {'sha256': digest, 'words_sha256': words, 'variant': settings.variant,
            'view': settings.view, 'size': settings.size, 'seed': settings.seed}


def _items(settings: Settings) -> tuple[list[Item], list[str], str]:
    """Items, reasons for unusable entries, and a hash of the data."""
    file = _path(settings.scenarios)
    if settings.variant == 'level1' and (settings.data or file):  # asks about tasks alone
        return [], [], _tasks(settings).sha256
    if settings.data:
        found = items_in(user_path(settings.data), cast('View', settings.view), file,
                         settings.count, settings.seed, settings.size, settings.form)
        return found.items, found.skipped, found.sha256
    if settings.count != building.TEST_COUNT:
        raise InputError(f'count = {settings.count} is about items that are made of '
                         'environments (data), and these are shipped; to ask fewer of them '
                         'choose a number of episodes')
    return (shipped_items(settings.size, settings.form, file), [],
            hashlib.sha256(building.SHIPPED.read_bytes()).hexdigest()[:12])


def _tasks(settings: Settings) -> Tasks:
    """The tasks of the file that is named, or that the data hold; else ours."""
    return find_tasks(_path(settings.data), _path(settings.scenarios)) or our_tasks(
        settings.form)


def _path(text: str) -> Path | None:
    return user_path(text) if text else None


def shipped_items(size: int = 0, form: str = ABSTRACT, scenarios_file: Path | None = None,
                  ) -> list[Item]:
    """The items of the split ``test``.

    Args:
        size: of pictures, see ``items.draw``.
        form: of the sentences of tasks, see ``paths.scenarios``.
        scenarios_file: the file of tasks in whose sentences they are asked; None: in ours.

    Raises:
        InputError: the file cannot be used, or its tasks are not the paper's.
    """
    return in_sentences([building.item_of(one, size, form) for one in _shipped()],
                        None if scenarios_file is None else read_tasks(scenarios_file))


@functools.cache
def _shipped() -> tuple[building.Chosen, ...]:
    return tuple(building.read_file(building.SHIPPED))


def _questions(settings: Settings, items: Sequence[Item]) -> tuple[list[Question], Counter[str]]:
    """Questions of a variant about items, and by descriptor the number of pairs without answer."""
    ties: Counter[str] = Counter()
    if settings.variant == 'level1':
        return list(_needed(_tasks(settings))), ties
    if settings.variant in ('perception', 'perception_fine'):
        pairs = list({item.pair: item for item in reversed(items)}.values())[::-1]
        for item in pairs:
            ties.update(name for name, lower in lower_of(item.values).items() if lower is None)
        ask = _perceived if settings.variant == 'perception' else _perceived_one_by_one
        return [one for item in pairs for one in ask(settings, item)], ties
    return [_compared(settings, item) for item in items], ties


def _about(settings: Settings, item: Item, asks: str) -> dict[str, Any]:
    return {'asks': asks, 'variant': settings.variant, 'view': settings.view, 'map': item.map,
            'family': family_of(item.map), 'pair': item.pair}


def _named(settings: Settings, question: str) -> Names:
    if settings.variant == 'random':
        return asking.random_names(settings.seed, question)
    return PLAIN_NAMES


def _compared(settings: Settings, item: Item) -> Question:
    """Question on which path is better for the task."""
    pictures = settings.variant != 'no_images'
    explained = settings.explained == ALL
    values = item.values if settings.variant in ('descriptors', 'no_images') else ()

    def text(names: Names, swapped: bool) -> str:
        return asking.task_text(item, names, pictures=pictures, explained=explained,
                                values=values[::-1 if swapped else 1])
    details = {**_about(settings, item, CHOICE), **details_of(item)}
    scores = (1.0, 0.0) if item.better == 0 else (0.0, 1.0)
    return Question(item.id, CHOICE, item.map, text, item.pictured if pictures else None,
                    (('', item.properties),), (scores,), {'better': item.better}, details,
                    _named(settings, item.id), item.task, values)


def _perceived(settings: Settings, item: Item) -> Iterator[Question]:
    """Yield a question on which path has less of each descriptor."""
    values = item.values
    details = {**_about(settings, item, PERCEPTION),
               'levels': {name: level_of(ratio(values, name, item.thresholds)) for name in NAMES}}
    yield Question(
        f'{item.pair}/perception', PERCEPTION, item.map,
        lambda names, swapped: asking.perception_text(names, settings.explained == ALL),
        item.pictured,
        tuple((name, ((name, -1),)) for name in NAMES),
        tuple((-getattr(values[0], name), -getattr(values[1], name)) for name in NAMES),
        {'lower': lower_of(values)}, details)


def _perceived_one_by_one(settings: Settings, item: Item) -> Iterator[Question]:
    """Yield one question a descriptor; descriptors in which both paths are equal are left out."""
    for name, lower in lower_of(item.values).items():
        if lower is None:
            continue
        details = {**_about(settings, item, CHOICE), 'descriptors': [name],
                   'level': level_of(ratio(item.values, name, item.thresholds))}
        yield Question(
            f'{item.pair}/perception/{name}', CHOICE, item.map,
            lambda names, swapped, name=name: asking.fine_text(  # type: ignore[misc]
                names, name, settings.explained == ALL), item.pictured, (('', ((name, -1),)),),
            ((1.0, 0.0) if lower == 0 else (0.0, 1.0),), {'better': lower}, details)


def _needed(tasks: Tasks) -> Iterator[Question]:
    """Yield questions on which descriptors a task depends."""
    for number, task in tasks.by_number.items():
        for repeat in range(REPEATS):
            yield Question(
                f'level1/s{number:02}/{repeat}', NEEDED, f's{number:02}',
                lambda names, swapped, text=task.text: asking.needed_text(  # type: ignore[misc]
                    text), None, (), (), {'needed': list(needed(task.vector))},
                {'asks': NEEDED, 'variant': 'level1', 'scenario': number}, task=task.text)


# -------------------------------------------------------------------------------------- segments


def _segments(settings: Settings) -> Samples:
    """Samples on which of two segments is nearer to the obstacle."""
    skipped: list[str] = []
    if settings.variant not in _OF_SEGMENTS:
        reason = (f'segments: have no variant {settings.variant} (choose one of '
                  f'{", ".join(_OF_SEGMENTS)})')
        return Samples([], lambda name: None, {'variant': settings.variant}, [reason])
    if settings.data:
        pairs, found = official.read_segments(user_path(settings.data))
        skipped = [f'{one["file"]}: {one["reason"]}' for one in found]
        pairs = [replace(one, size=settings.size) for one in pairs]
    else:
        pairs = segments.segment_pairs(seed=settings.seed, size=settings.size)
    digest = hashlib.sha256(json.dumps([[one.id, one.points] for one in pairs]).encode())
    desk = _Desk(SEGMENTS, settings, [_nearer(settings, one) for one in pairs])
    shown = desk.samples()
    identity = {**_identity(settings, digest.hexdigest()[:12], shown),
                # They mean nothing here, but a run of several splits has one set of conditions.
                'explained': settings.explained, 'form': settings.form}
    return Samples(shown, desk.truth, identity, skipped,
                   preference_source=lambda sample: desk, shown=desk.shown)


def _nearer(settings: Settings, one: SegmentPair) -> Question:
    kind, better = one.kind, int(one.distances[1] < one.distances[0])
    names = (asking.random_names(settings.seed, one.id) if settings.variant == 'random' else
             (f'{kind.capitalize()} 1', f'{kind.capitalize()} 2'))
    gap = abs(one.distances[0] - one.distances[1])
    return Question(
        one.id, CHOICE, one.id, lambda names, swapped: asking.segment_text(kind, names), one,
        (('', (('minimum_clearance', -1),)),), ((1.0, 0.0) if better == 0 else (0.0, 1.0),),
        {'better': better}, {'asks': CHOICE, 'variant': settings.variant, 'view': settings.view,
                             'kind': kind, 'difference': round(gap, 2)}, names)


# ------------------------------------------------------------------------------------ the folder


def check(data: Path, scenarios_file: Path | None = None) -> CheckReport:
    """Count the entries of a data folder, and name those that cannot be used.

    Args:
        data: the folder.
        scenarios_file: the file of tasks; None: the one that the folder holds, if any.

    Raises:
        InputError: there is no such folder.
    """
    return official.check(data, scenarios_file)


def generate(out: Path, count: int, seed: int) -> dict[str, int]:
    """Write a folder of data: see ``generating.generate``."""
    return generating.generate(out, count, seed)
