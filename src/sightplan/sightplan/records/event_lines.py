"""Episodes as JSON lines with pictures: the codec of events beside that of bags.

A folder holds ``events.jsonl`` (a header, then one line for each event and each reply about the
truth, in their order) and ``pictures/<id>.png``. Dataclasses are written and read by
``model.dataclass_json``, so a new kind of event needs no code here. ``recorded.read_episodes``
reads such a folder like a bag.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain
from sightplan.grounding.views import alter
from sightplan.model import (
    GOAL_NS,
    Alteration,
    Asked,
    Atom,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    GoalView,
    InputError,
    Observation,
    Observed,
    Proposed,
    TruthSource,
    dataclass_json,
)
from sightplan.model.dataclass_json import picture_id
from sightplan.model.event_handler import EVENT_KINDS, EventHandler
from sightplan.model.journal import Journal, cannot_write, read_lines
from sightplan.model.picture_files import read_image
from sightplan.records.messages import read_episode_problem
from sightplan.records.queries_json import queries_to_json, read_asked, replies_to_json
from sightplan.records.truth import NotedTruth, TruthReply

NAME, PICTURES = 'events.jsonl', 'pictures'
FORMAT = 1
_NO_LENGTH = -1
_NOT_WRITTEN = ('image', 'depth_m', 'unlabelled', '_digest')
"""Fields of an observation that are no text: its picture is a file, named by its id."""
_GOAL_PICTURE = 'goal'
_CONTENT = ('queries', 'replies')
"""Fields of ``Asked`` that are written by ``queries_json``."""


# ------------------------------------------------------------------------------ dataclasses

def to_json(value: Any) -> Any:
    """Return a value of an event as plain JSON data."""
    return dataclass_json.encode(value, hooks=_WRITERS)


def from_json(kind: Any, data: Any) -> Any:
    """A value of a type out of what ``to_json`` made of it.

    Raises:
        InputError: it is of another shape; names the field.
    """
    return dataclass_json.decode(kind, data, hooks=_READERS, complete=True)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields that are written, by name."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)
            if kind is not Observation or field.name not in _NOT_WRITTEN}


def _observation_to_json(value: Observation) -> dict[str, Any]:
    return {'image_id': value.image_id,
            **{name: to_json(getattr(value, name)) for name in _hints(Observation)}}


def _observation(data: Mapping[str, Any]) -> Observation:
    return Observation(**{name: from_json(hint, data[name])
                          for name, hint in _hints(Observation).items()},
                       _digest=[data['image_id']] if data['image_id'] else [])


_WRITERS: dict[Any, dataclass_json.Hook] = {Atom: str, Observation: _observation_to_json}
_READERS: dict[Any, dataclass_json.Hook] = {Atom: Atom.parse, Observation: _observation}


# ------------------------------------------------------------------------------ events

def event_to_json(event: EpisodeEvent, domain: Domain) -> dict[str, Any]:
    """Return an event as a line; a start omits the parts of its problem hidden from the agent."""
    if isinstance(event, Asked):
        return {'event': type(event).__name__, **{
            name: to_json(getattr(event, name)) for name in _hints(Asked)
            if name not in _CONTENT},
            'queries': queries_to_json(event), 'replies': replies_to_json(event)}
    return {'event': type(event).__name__, **dataclass_json.encode(event, hooks={
        **_WRITERS, EpisodeSpec: lambda spec: _spec_to_json(spec, domain)})}


def _spec_to_json(spec: EpisodeSpec, domain: Domain) -> dict[str, Any]:
    problem = spec.problem
    return {
        'domain': problem.domain, 'domain_pddl': problem.domain_pddl,
        'problem_pddl': domain.write_problem(problem.for_agent(spec.pictured_goal)),
        'instruction': problem.instruction,
        'optimal_length': _NO_LENGTH if problem.optimal_length is None else problem.optimal_length,
        'problem': problem.name,
        **{field.name: to_json(getattr(spec, field.name))
           for field in dataclasses.fields(spec) if field.name != 'problem'}}


def _spec(data: Mapping[str, Any]) -> EpisodeSpec:
    _, problem = read_episode_problem(SimpleNamespace(**data))
    return EpisodeSpec(problem=problem, **{
        name: from_json(hint, data[name]) for name, hint in _hints(EpisodeSpec).items()
        if name != 'problem'})


def event_from_json(line: Mapping[str, Any]) -> EpisodeEvent:
    """Return the event of a line.

    Raises:
        InputError: it is none; names the field.
    """
    kind = EVENT_KINDS.get(str(line.get('event')))
    if kind is None:
        raise InputError(f'{line.get("event")!r} is no kind of event')
    if kind is Asked:
        return _read_asked(line)
    event: EpisodeEvent = dataclass_json.decode(kind, {
        name: value for name, value in line.items() if name != 'event'},
        hooks={**_READERS, EpisodeSpec: _spec}, complete=True)
    return event


def _read_asked(line: Mapping[str, Any]) -> Asked:
    try:
        given = {name: from_json(hint, line[name]) for name, hint in _hints(Asked).items()
                 if name not in _CONTENT}
        queries, replies = read_asked(line['queries'], line['replies'], given['observation'])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f'Asked: {error!r}') from error
    event = Asked(queries=queries, replies=replies, **given)
    if event.yes_no and len(event.expected) != len(queries):
        raise InputError(f'Asked: expected has {len(event.expected)} values for {len(queries)} '
                         'yes/no questions; it needs one for each')
    return event


class EventLines(EventHandler):
    """A Recorder that writes episodes as JSON lines with pictures.

    It must come before the scorer, and the scorer must ask ``truth`` instead of the world, so that
    the file has the replies in their order.
    """

    def __init__(self, folder: Path, truth: TruthSource, domain: Domain) -> None:
        """Name the folder; it is made with the first event.

        Args:
            folder: for ``events.jsonl`` and the pictures.
            truth: the world; one that shows goals has its picture of the goal recorded.
            domain: domain of the episodes.
        """
        self._folder, self._domain, self._world = folder, domain, truth
        self._journal = Journal(folder / NAME)
        self._begun = False
        self.truth = NotedTruth(truth, self._note_truth)
        """Ground truth for the scorer; all its replies go into the file."""

    def record(self, event: EpisodeEvent) -> None:
        """Append an event, after its picture.

        Raises:
            InfrastructureError: it cannot be written.
        """
        if not self._begun:
            self._begin()
        super().record(event)
        self._journal.append(event_to_json(event, self._domain))

    def on_started(self, event: EpisodeStarted) -> None:
        """Write the picture of the goal."""
        if event.spec.pictured_goal and isinstance(self._world, GoalView):
            self._picture(self._world.goal_observation().image, _GOAL_PICTURE)

    def on_observed(self, event: Observed) -> None:
        """Write the picture."""
        self._seen(event.observation)

    def on_proposed(self, event: Proposed) -> None:
        """Write the picture that the model was shown."""
        self._seen(event.observation)

    def on_asked(self, event: Asked) -> None:
        """Write the picture, and those that queries have besides it."""
        self._seen(event.observation)
        if not event.yes_no:
            for query in event.queries:
                for picture in query.pictures:
                    self._picture(picture, picture_id(picture))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _begin(self) -> None:
        try:
            (self._folder / PICTURES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        self._journal.open()
        self._journal.append({'format': FORMAT})
        self._begun = True

    def _note_truth(self, reply: TruthReply) -> None:
        if self._begun:
            self._journal.append({'truth': to_json(reply)})

    def _seen(self, observation: Observation) -> None:
        if observation.altered is None and not observation.shows_goal:
            self._picture(observation.image, observation.image_id)

    def _picture(self, image: NDArray[np.uint8] | None, image_id: str) -> None:
        path = self._folder / PICTURES / f'{image_id}.png'
        if image is None or path.exists():
            return
        from sightplan.records.failure_picture import encode_png
        data = encode_png(image)
        try:
            path.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error) from error


class FolderPictures:
    """Finds the pictures of a folder of events, as ``pictures.Pictures`` those of a bag."""

    def __init__(self, folder: Path, observed: Mapping[int, str]) -> None:
        """Name the folder.

        Args:
            folder: folder that holds ``pictures``.
            observed: stamp [ns] of each observation to the id of its picture.
        """
        self._folder, self._observed = folder / PICTURES, observed

    def find(self, stamp_ns: int, image_id: str = '', namespace: str = '',
             altered: Alteration | None = None) -> NDArray[np.uint8] | None:
        """A picture by its time and id, or how it was made of that of its time; None if absent."""
        name = _GOAL_PICTURE if stamp_ns == GOAL_NS else (
            image_id if altered is None else '') or self._observed.get(stamp_ns, '')
        path = self._folder / f'{name}.png'
        try:
            image = read_image(path)
        except InputError:  # absent or damaged
            return None
        if altered is not None:
            image = alter(image, altered)
        image.flags.writeable = False
        return image if image_id in ('', Observation(image).image_id) else None


@dataclasses.dataclass
class WrittenEpisode:
    """An attempt at an episode, read from a folder of events.

    Attributes:
        events: events in order, EpisodeStarted first.
        truth: the truth source's replies to the scorer, in order.
    """

    events: list[EpisodeEvent]
    truth: list[TruthReply]


def read_event_lines(folder: Path) -> tuple[list[WrittenEpisode], list[str]]:
    """The episodes of a folder, in order, and what is damaged, in words.

    Raises:
        InputError: the file cannot be read, is of another format, or a line makes no sense.
    """
    content = read_lines(folder / NAME)
    header, lines = content.lines[:1], content.lines[1:]
    if not header or header[0].data.get('format') != FORMAT:
        raise InputError(f'{folder / NAME}: is no file of events of format {FORMAT}; record it '
                         f'again with this version of sightplan')
    episodes: list[WrittenEpisode] = []
    for line in lines:
        try:
            if 'truth' in line.data:
                if episodes:
                    episodes[-1].truth.append(from_json(TruthReply, line.data['truth']))
                continue
            event = event_from_json(line.data)
        except InputError as error:
            raise InputError(f'{line.where}: {error}') from error
        if line.data['event'] == EpisodeStarted.__name__:
            episodes.append(WrittenEpisode([], []))
        if not episodes:
            raise InputError(f'{line.where}: an event before the first EpisodeStarted')
        episodes[-1].events.append(event)
    return episodes, ['its last line was cut off'] if content.truncated else []
