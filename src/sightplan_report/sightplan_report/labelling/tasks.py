"""Labelling tasks: the pictures of bags, and the questions that were asked about them.

Nothing here touches an episode's ground truth.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model import AskPurpose, Atom, InputError, Observation, Question, Verdict
from sightplan.model.timeline import Timeline
from sightplan.records.bag_reading import find_bags
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan_report.labelling.labels import printable

_IMAGE_ID = re.compile(r'[0-9a-f]{8,64}\Z')


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """A question to be labelled in a picture.

    Attributes:
        atom: what is asked.
        text: the words of the question, as the model got them first.
        answers: each model with each answer it gave, without repeats.
        purposes: why it was asked.
    """

    atom: Atom
    text: str
    answers: tuple[tuple[str, Verdict], ...] = ()
    purposes: frozenset[AskPurpose] = frozenset()

    @property
    def kind(self) -> tuple[str, str]:
        """Predicate, and the verdict that was answered; "mixed" if there were several."""
        verdicts = {verdict.value for _, verdict in self.answers}
        return self.atom.predicate, verdicts.pop() if len(verdicts) == 1 else 'mixed'


@dataclass(frozen=True, slots=True)
class TaskImage:
    """A picture with its questions.

    Attributes:
        image_id: its id.
        bag: the first bag that holds it.
        episode: id of the episode in that bag.
        observation: without the picture itself.
        questions: grouped by predicate, else in the order in which they were asked.
    """

    image_id: str
    bag: Path
    episode: str
    observation: Observation
    questions: tuple[TaskQuestion, ...]


@dataclass(frozen=True)
class Tasks:
    """All labelling tasks.

    Attributes:
        images: in the order of the bags.
        warnings: what cannot be labelled, and why, in words.
    """

    images: tuple[TaskImage, ...]
    warnings: tuple[str, ...] = ()

    @property
    def questions(self) -> int:
        """Number of questions about all pictures."""
        return sum(len(image.questions) for image in self.images)


class _Collector:
    """Gathers questions, each pair of picture and atom once."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._places: dict[str, tuple[Path, str, Observation]] = {}
        self._questions: dict[str, dict[Atom, TaskQuestion]] = {}
        self._without = 0

    def add(self, episode: RecordedEpisode) -> None:
        """Take the questions of an episode."""
        name = episode.spec.id
        self.warnings += [f'{episode.bag}: {name}: {text}' for text in episode.warnings]
        untold = Timeline.of_events(episode.events)  # Who labels is not told what is true.
        for event in (moment.event for moment in untold.batches):
            if self._has_picture(event.observation, episode):
                own = self._questions[event.observation.image_id]
                for question, answer in zip(event.questions, event.answers, strict=True):
                    own[question.atom] = _with_answer(own.get(question.atom), question,
                                                      (event.model, answer.verdict), event.purpose)

    def _has_picture(self, observation: Observation, episode: RecordedEpisode) -> bool:
        image_id = observation.image_id
        if image_id in self._places:
            return True
        # Damaged bags may lack it; in whole ones, it is not decoded before somebody looks.
        if not _IMAGE_ID.match(image_id) or (
                episode.warnings and episode.image(observation) is None):
            self._without += 1
            return False
        self._places[image_id] = episode.bag, episode.spec.id, observation
        self._questions[image_id] = {}
        return True

    def tasks(self) -> Tasks:
        """All tasks gathered so far."""
        warnings = list(self.warnings)
        if self._without:
            warnings.append(f'{self._without} batches of questions are left out: their pictures '
                            f'are not in the bags')
        images = []
        for image_id, (bag, episode, observation) in self._places.items():
            questions = list(self._questions[image_id].values())
            order = {q.atom.predicate: n for n, q in reversed(list(enumerate(questions)))}
            questions.sort(key=lambda question: order[question.atom.predicate])
            images.append(TaskImage(image_id, bag, episode, observation, tuple(questions)))
        return Tasks(tuple(images), tuple(warnings))


def _with_answer(known: TaskQuestion | None, question: Question, answer: tuple[str, Verdict],
                 purpose: AskPurpose) -> TaskQuestion:
    if known is None:
        return TaskQuestion(question.atom, printable(question.text), (answer,),
                            frozenset({purpose}))
    answers = known.answers if answer in known.answers else (*known.answers, answer)
    return TaskQuestion(known.atom, known.text, answers, known.purposes | {purpose})


def collect(episodes: Iterable[RecordedEpisode]) -> Tasks:
    """All questions of episodes; the same atom about the same picture is one question."""
    collector = _Collector()
    for episode in episodes:
        collector.add(episode)
    return collector.tasks()


def collect_bags(paths: Sequence[Path | str],
                 progress: Callable[[int, int], None] = lambda done, of: None) -> Tasks:
    """All questions of the bags at or below paths; warns of unreadable ones.

    Args:
        paths: bags, runs, sweeps or folders of these.
        progress: called with the number of bags read, and of all.

    Raises:
        InputError: a path holds no bag, or no bag holds a question about a picture.
    """
    bags = list(dict.fromkeys(bag for path in paths for bag in find_bags(path)))
    collector = _Collector()
    for number, bag in enumerate(bags):
        progress(number, len(bags))
        try:
            for episode in read_episodes(bag):
                collector.add(episode)
        except InputError as error:
            collector.warnings.append(str(error))
    progress(len(bags), len(bags))
    tasks = collector.tasks()
    if not tasks.images:
        reasons = '; '.join(tasks.warnings[:3]) or 'was a method that asks questions recorded?'
        raise InputError(f'{", ".join(map(str, paths))}: {len(bags)} bags hold no picture with '
                         f'questions ({reasons}); record with a method such as ground')
    return tasks


def choose(tasks: Tasks, purposes: Collection[AskPurpose] = (),
           predicates: Collection[str] = (), sample: int = 0, seed: int = 0,
           limit: int = 0) -> Tasks:
    """Select some of the questions.

    Args:
        tasks: all of them.
        purposes: only what was asked for one of these; empty: for any.
        predicates: only these; empty: any.
        sample: so many questions (or all), drawn at random so that each predicate and answer of
            the models is drawn as often as any other, as far as there are enough; 0: all.
        seed: of the draw.
        limit: only the first so many pictures; 0: all.

    Raises:
        InputError: nothing is left, or a predicate does not occur.
    """
    known = sorted({q.atom.predicate for image in tasks.images for q in image.questions})
    for name in predicates:
        if name not in known:
            raise InputError(f'--predicate {name}: never asked; there are {", ".join(known)}')
    left = _only(tasks, lambda _, question: (
        (not purposes or not question.purposes.isdisjoint(purposes))
        and (not predicates or question.atom.predicate in predicates)))
    if not left.images:
        raise InputError('no question was asked for this purpose; give another --purpose')
    if sample:
        drawn = _draw(left, sample, random.Random(seed))
        left = _only(left, lambda image, question: (image.image_id, question.atom) in drawn)
    return dataclasses.replace(left, images=left.images[:limit or None])


def _only(tasks: Tasks, wanted: Callable[[TaskImage, TaskQuestion], bool]) -> Tasks:
    images = []
    for image in tasks.images:
        questions = tuple(q for q in image.questions if wanted(image, q))
        if questions:
            images.append(dataclasses.replace(image, questions=questions))
    return dataclasses.replace(tasks, images=tuple(images))


def _draw(tasks: Tasks, number: int, chance: random.Random) -> set[tuple[str, Atom]]:
    kinds: dict[tuple[str, str], list[tuple[str, Atom]]] = {}
    for image in tasks.images:
        for question in image.questions:
            kinds.setdefault(question.kind, []).append((image.image_id, question.atom))
    groups = [kinds[kind] for kind in sorted(kinds)]
    chance.shuffle(groups)  # so that the remainder of the division goes to random groups
    for group in groups:
        chance.shuffle(group)
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*groups))
    return set(itertools.islice((pair for pair in rounds if pair is not None), number))


def _episodes(bag: Path) -> dict[str, RecordedEpisode]:
    return {episode.spec.id: episode for episode in read_episodes(bag)}


class Pictures:
    """Reads pictures out of bags; the last few bags stay in memory. Not for several threads."""

    def __init__(self, most: int = 4) -> None:
        """Keep the episodes of ``most`` bags."""
        self._episodes = functools.lru_cache(most)(_episodes)

    def get(self, image: TaskImage) -> NDArray[np.uint8]:
        """The picture as models saw it: (H, W, 3) uint8 RGB.

        Raises:
            InputError: the bag does not hold it (any more).
        """
        episode = self._episodes(image.bag).get(image.episode)
        pixels = None if episode is None else episode.image(image.observation)
        if pixels is None:
            raise InputError(f'{image.bag}: holds no picture {image.image_id} (any more)')
        return pixels
