"""Episodes as bags hold them: the events of the loop, the truth, and the pictures.

Any bag with the agent's topics will do: one of the recorder's, or one that ``ros2 bag record -a``
wrote beside a real arm, with many other topics, several episodes, and names in a namespace.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain, load_domain
from sightplan.model import (
    Alteration,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    InputError,
    Observation,
    Observed,
    SightplanError,
)
from sightplan.model.timeline import Timeline
from sightplan.records import event_lines, topics
from sightplan.records.bag_reading import Bag, BagMessage, open_bag, outdated
from sightplan.records.messages import (
    EventReader,
    read_episode_problem,
    spec_from_msg,
    truth_from_msg,
)
from sightplan.records.pictures import Pictures
from sightplan.records.reorder_buffer import Arrival, ReorderBuffer
from sightplan.records.truth import RecordedTruth, TruthReply

__all__ = ['RecordedEpisode', 'RecordedTruth', 'read_episodes']

_CUT_OFF = 'the recording ends before the episode does, after {} events'
_MOST_NAMED = 5
_MOST_LOST = 10_000
"""Greatest gap between the numbers of two events; a number beyond it is damaged."""


class PictureSource(Protocol):
    """Finds the pictures of a recording."""

    def find(self, stamp_ns: int, image_id: str = '', namespace: str = '',
             altered: Alteration | None = None) -> NDArray[np.uint8] | None:
        """Return the picture of a time; see ``Pictures.find``."""


@dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """An episode read from a bag.

    Attributes:
        bag: the bag.
        spec: identity of the episode; its problem has no initial state if the recorder had none.
        domain: domain of the problem, with the PDDL text of the bag.
        events: in order, EpisodeStarted first; their observations have ids and stamps and what was
            known about them, and no image (see ``image``). Without EpisodeEnded as the last
            one it was cut off.
        truth: None if none was recorded (a real robot).
        warnings: sentences about missing or damaged data; empty for a whole episode.
        lost: numbers of the events that are missing from ``events`` (EpisodeStarted is 0).
        received_ns: time at which each event was recorded [ns since 1970].
        namespace: namespace of the recorded topics, for example ``/arm_1``; '' for none.
        pictures: finds its pictures; None if there are none.
    """

    bag: Path
    spec: EpisodeSpec
    domain: Domain
    events: tuple[EpisodeEvent, ...]
    truth: RecordedTruth | None
    warnings: tuple[str, ...] = ()
    lost: tuple[int, ...] = ()
    received_ns: tuple[int, ...] = ()
    namespace: str = ''
    pictures: PictureSource | None = field(default=None, repr=False)

    @functools.cached_property
    def timeline(self) -> Timeline:
        """The events, folded into steps, with what was true."""
        if self.truth is None:
            return Timeline.of_events(self.events, self.received_ns)
        return Timeline.of_events(self.events, self.received_ns, self.truth.repeated(), way=True,
                                  states=self.truth.states)

    def image(self, observation: Observation) -> NDArray[np.uint8] | None:
        """The picture of an observation, as models saw it: (H, W, 3) uint8 RGB; None if absent."""
        if self.pictures is None or not observation.image_id:
            return None
        return self.pictures.find(observation.stamp_ns, observation.image_id, self.namespace,
                                  observation.altered)

    def with_image(self, observation: Observation) -> Observation:
        """Return the observation with its picture, or unchanged if the picture is absent."""
        image = self.image(observation)
        return observation if image is None else dataclasses.replace(observation, image=image)


def read_episodes(bag: Path | str) -> Iterator[RecordedEpisode]:
    """The episodes of a bag, or of a folder of ``event_lines``, in order; most hold one.

    Raises:
        InputError: it is neither, or nothing of it can be read.
    """
    if (Path(bag) / event_lines.NAME).is_file():
        yield from _of_lines(Path(bag))
        return
    opened = open_bag(bag)
    attempts, warnings = _Collector(opened).collect()
    pictures = Pictures(opened)
    episodes = []
    for attempt in attempts:
        try:
            episodes.append(attempt.episode(opened.path, pictures))
        except SightplanError as error:
            warnings.append(f'episode {attempt.episode_id!r} cannot be read: {error}')
    warnings = [*opened.warnings, *warnings]
    if not episodes:
        what = '; '.join(warnings) or ('it holds no message on a topic '
                                       f'{topics.AGENT_EPISODE}, in whatever namespace')
        raise InputError(f'{opened.path}: holds no episode ({what}); give a bag of a run of '
                         "sightplan's, or one that recorded the topics of the node agent")
    damaged = [episode for episode in episodes if episode.warnings] or episodes[-1:]
    for episode in episodes:
        yield episode if episode not in damaged else dataclasses.replace(
            episode, warnings=tuple(dict.fromkeys((*warnings, *episode.warnings))))


def _of_lines(folder: Path) -> Iterator[RecordedEpisode]:
    """The episodes of a folder of events.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    episodes, warnings = event_lines.read_event_lines(folder)
    if not episodes:
        raise InputError(f'{folder}: holds no episode; record one into it')
    for written in episodes:
        timeline = Timeline.of_events(written.events)
        problem = timeline.spec.problem
        observed = {event.observation.stamp_ns: event.observation.image_id
                    for event in timeline.events(Observed)}
        cut = [] if timeline.end is not None else [_CUT_OFF.format(len(written.events))]
        yield RecordedEpisode(
            folder, timeline.spec, load_domain(problem.domain, domain_pddl=problem.domain_pddl),
            tuple(written.events), RecordedTruth(written.truth) if written.truth else None,
            tuple(f'episode {timeline.spec.id!r}: {text}' for text in [*warnings, *cut]),
            pictures=event_lines.FolderPictures(folder, observed))


@dataclass
class _Attempt:
    """The messages of one attempt at an episode, and its truth."""

    namespace: str
    episode_id: str
    arrivals: list[Arrival] = field(default_factory=list)
    truth: list[TruthReply] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def episode(self, bag: Path, pictures: Pictures) -> RecordedEpisode:
        """Return the episode that the collected messages record.

        Raises:
            SightplanError: its problem cannot be read.
        """
        start = self.arrivals[0].message
        domain, problem = read_episode_problem(start)
        spec = spec_from_msg(start, problem)
        events: list[EpisodeEvent] = [EpisodeStarted(spec)]
        received_ns = [self.arrivals[0].received_ns]
        reader, number, lost = EventReader(), 1, list[int]()
        for arrival in self.arrivals[1:]:
            sequence = int(arrival.message.sequence)
            if sequence - number > _MOST_LOST:
                self.warnings.append(f'event {sequence} on {arrival.topic} cannot follow event '
                                     f'{number - 1}; it is left out')
                continue
            lost += range(number, sequence)
            number = sequence + 1
            try:
                event = reader.event(arrival.topic, arrival.message)
            except (SightplanError, ValueError, TypeError, AttributeError) as error:
                self.warnings.append(f'event {sequence} on {arrival.topic} makes no sense: '
                                     f'{error}')
                lost.append(sequence)
                continue
            events.append(event)
            received_ns.append(arrival.received_ns)
        if lost:
            named = ', '.join(map(str, lost[:_MOST_NAMED]))
            more = f' and {len(lost) - _MOST_NAMED} more' if len(lost) > _MOST_NAMED else ''
            self.warnings.append(f'event {named}{more} of {number} is missing')
        if not isinstance(events[-1], EpisodeEnded):
            self.warnings.append(_CUT_OFF.format(len(events)))
        truth = RecordedTruth(self.truth) if self.truth else None
        return RecordedEpisode(
            bag, spec, domain, tuple(events), truth,
            tuple(f'episode {self.episode_id!r}: {text}' for text in self.warnings),
            tuple(lost), tuple(received_ns), self.namespace, pictures)


class _Collector:
    """Reads a bag's messages about episodes, once, and puts them in order."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self._topics: dict[str, tuple[str, str]] = {}
        wanted = (*topics.EVENTS, topics.TRUTH)
        for name, topic in bag.topics.items():
            known = topics.relative(name, wanted)
            if known is not None and topic.type == topics.RECORDED[known[1]]:
                self._topics[name] = known
                if outdated(topic.type, topic.definition, topic.encoding):
                    raise InputError(f'{bag.path}: topic {name} was recorded by another version '
                                     f'of sightplan, whose {topic.type} differs; record it again')
        self._buffers: dict[str, ReorderBuffer] = {}
        self._attempts: list[_Attempt] = []
        self._open: dict[tuple[str, str], _Attempt] = {}
        self._early: dict[tuple[str, str], list[TruthReply]] = {}
        self._warnings: list[str] = []

    def collect(self) -> tuple[list[_Attempt], list[str]]:
        """The attempts, in order, and what belongs to none of them, in words."""
        for message in self._bag.messages(self._topics) if self._topics else ():
            try:
                self._take(message)
            except (InputError, ValueError, TypeError, AttributeError) as error:
                self._warnings.append(str(error))
        for namespace, buffer in self._buffers.items():
            for episode_id in buffer.unfinished:
                self._finish(namespace, episode_id)
        return self._attempts, self._warnings

    def _take(self, raw: BagMessage) -> None:
        namespace, topic = self._topics[raw.topic]
        message = self._bag.decode(raw)
        key = namespace, str(message.episode_id)
        if topic == topics.TRUTH:
            attempt = self._open.get(key)
            (self._early.setdefault(key, []) if attempt is None else attempt.truth).append(
                truth_from_msg(message))
            return
        buffer = self._buffers.setdefault(namespace, ReorderBuffer())
        arrival = Arrival(topic, message, b'', raw.log_ns)
        if buffer.repeats(arrival):
            self._finish(namespace, key[1])
        for ready in buffer.add(arrival):
            if ready.starts:
                self._open[key] = _Attempt(namespace, key[1], truth=self._early.pop(key, []))
                self._attempts.append(self._open[key])
            self._open[key].arrivals.append(ready)

    def _finish(self, namespace: str, episode_id: str) -> None:
        """Give an attempt what still waits for messages that are lost."""
        waiting = self._buffers[namespace].finish(episode_id)
        attempt = self._open.get((namespace, episode_id))
        if attempt is not None and attempt.arrivals[0].starts and not any(
                arrival.ends for arrival in attempt.arrivals):
            attempt.arrivals += waiting
        elif waiting:
            self._warnings.append(f'{len(waiting)} messages of episode {episode_id!r} are left '
                                  'out, because its start is missing')
