"""Recorded batches of questions, and what is known to be true about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sightplan.model import (
    Asked,
    AskPurpose,
    Atom,
    Observation,
)
from sightplan.records.recorded import RecordedEpisode


class Labels(Protocol):
    """People's labels of images; see ``sightplan_report.labelling.labels``."""

    def truth(self, image_id: str, atom: Atom) -> bool | None:
        """Whether an atom holds in an image; None if nobody labelled it, or labels differ."""

    def of(self, image_id: str, atom: Atom) -> Mapping[str, object]:
        """Return each person's label of an atom in an image."""


@dataclass(frozen=True, eq=False)
class Source:
    """A recorded episode, and where it comes from.

    Attributes:
        name: name of the bag, unique among all that are replayed.
        episode: the recorded episode.
        attempt: which one at this episode in the bag, from 0: one recording may be of several
            methods, or arms, at the same problem, whose episodes have the same id.
        settled: whether results of a run are about it: of several attempts at an episode the last
            one, and none if they are from several namespaces.
    """

    name: str
    episode: RecordedEpisode
    attempt: int = 0
    settled: bool = True

    @property
    def key(self) -> str:
        """Name of the attempt, unique among all that are replayed."""
        return f'{self.name}:{self.title}'

    @property
    def title(self) -> str:
        """The episode's id, and which attempt at it, if there was one before in the bag."""
        again = f' (attempt {self.attempt + 1})' if self.attempt else ''
        return f'{self.episode.spec.id}{again}'


@dataclass(frozen=True, eq=False)
class Batch:
    """Questions that were asked together, about one observation.

    Attributes:
        source: the episode.
        number: number of the batch in its attempt, from 0.
        step: number of actions before it.
        event: questions and recorded answers.
    """

    source: Source
    number: int
    step: int
    event: Asked

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Bag, episode, attempt and number: the same in every session."""
        source = self.source
        return source.name, source.episode.spec.id, source.attempt, self.number


def batches(source: Source, purposes: Collection[AskPurpose] = ()) -> Iterator[Batch]:
    """The batches of an episode, in order; of some purposes only, if any are named."""
    for moment in source.episode.timeline.batches:
        if not purposes or moment.event.purpose in purposes:
            yield Batch(source, moment.batch, moment.step, moment.event)


def with_batches(source: Source, change: Callable[[Batch], Asked | None]) -> Source:
    """An episode with other batches: None leaves a batch out."""
    others = {moment.number: change(batch) for moment, batch in zip(
        source.episode.timeline.batches, batches(source), strict=True)}
    events = [others.get(number, event) for number, event in enumerate(source.episode.events)]
    return dataclasses.replace(
        source, episode=dataclasses.replace(
            source.episode, events=tuple(event for event in events if event is not None)))


class Truth:
    """Truth about atoms: the labels of people, else the truth in the bag.

    Args:
        labels: labels that replace the bag's truth, also where they decide nothing: an atom that
            people found unclear, or about which as many said yes as no, has no truth.

    Attributes:
        labelled: number of distinct pairs of image and atom that were looked up and are labelled.
        compared: number of the labelled pairs for which the bag, too, has a truth.
        disagreements: compared pairs in which label and bag differ: episode, image, atom, label.
    """

    def __init__(self, labels: Labels | None = None) -> None:
        self._labels = labels
        self._seen: set[tuple[str, str, Atom]] = set()
        self.labelled = self.compared = 0
        self.disagreements: list[tuple[str, str, Atom, bool]] = []

    def holds(self, source: Source, seen: Observation, atom: Atom) -> bool | None:
        """Whether an atom held when an image was taken; None: nobody knows."""
        known = source.episode.timeline.holds(atom, seen.stamp_ns)
        if self._labels is None or not seen.image_id:
            return known
        if not self._labels.of(seen.image_id, atom):
            return known
        label = self._labels.truth(seen.image_id, atom)
        if label is None:
            return None
        place = (source.key, seen.image_id, atom)
        if place not in self._seen:
            self._seen.add(place)
            self.labelled += 1
            self.compared += known is not None
            if known is not None and known != label:
                self.disagreements.append((*place, label))
        return label
