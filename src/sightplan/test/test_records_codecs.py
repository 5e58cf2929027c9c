"""Bags and JSON lines are two codecs of one stream of events: the same comes out of both."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doubles import EventList, MemoryWorld, SearchPlanner, TruthGrounder, spec_of
from episode_events import EVENT, EVENTS
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.metrics import EpisodeScorer
from sightplan.model import (
    Answer,
    AskPurpose,
    EpisodeEvent,
    EpisodeStarted,
    InputError,
    Observation,
    Observed,
    Question,
)
from sightplan.model.timeline import Timeline
from sightplan.queries import answered
from sightplan.records.bag_messages import BagMessages
from sightplan.records.bag_recorder import BagRecorder
from sightplan.records.event_lines import (
    NAME,
    EventLines,
    event_from_json,
    event_to_json,
)
from sightplan.records.messages import EpisodeMessages, EventReader, Messages
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.records.topics import EVENTS as TOPICS
from sightplan.replay.rescored import differences, rescore

BLOCKS = load_domain('blocksworld')
STARTED = EpisodeStarted(spec_of())


def plain(events: object) -> list[object]:
    """Events as data, without their pictures."""
    return [event_to_json(event, BLOCKS) for event in events]  # type: ignore[attr-defined]


def observed_first(event: EpisodeEvent) -> list[EpisodeEvent]:
    """The observation that an event is about, as the loop records it before."""
    seen = getattr(event, 'observation', None)
    return [] if seen is None else [Observed(seen)]


@given(EVENT)
def test_any_event_comes_back_from_a_line(event: EpisodeEvent) -> None:
    line = json.loads(json.dumps(event_to_json(event, BLOCKS)))
    assert plain([event_from_json(line)]) == plain([event])


def test_a_line_whose_questions_lack_expectations_is_refused_with_the_field() -> None:
    event = answered(Observation(), [Question.of_words('Is it red?')], [Answer('Yes')], (None,),
                     AskPurpose.LOOK)
    line = event_to_json(event, BLOCKS)
    assert plain([event_from_json(line)]) == [line]
    with pytest.raises(InputError, match='expected'):
        event_from_json({**line, 'expected': []})


@given(EVENTS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_events_come_back_alike_from_lines_and_from_messages(
        drawn: list[EpisodeEvent]) -> None:
    events = [one for event in drawn for one in (*observed_first(event), event)]
    make = BagMessages()
    numbered, reader = EpisodeMessages(Messages(make)), EventReader()
    numbered.domain = BLOCKS
    numbered.message(STARTED)
    of_messages = []
    for event in events:
        topic, message = numbered.message(event)
        of_messages.append(reader.event(topic, make.read(make.data(message), TOPICS[topic])))
    of_lines = [event_from_json(json.loads(json.dumps(event_to_json(event, BLOCKS))))
                for event in events]
    assert plain(of_lines) == plain(of_messages) == plain(events)
    assert [moment.kind for moment in Timeline.of_events([STARTED, *of_lines]).moments] == [
        type(event) for event in (STARTED, *events)]


@pytest.fixture(scope='module', params=['ground', 'belief'])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory,
         ) -> tuple[dict, RecordedEpisode, RecordedEpisode, EventList]:
    """An episode that is scored, and written as a bag and as lines; and its events."""
    folder, world = tmp_path_factory.mktemp('both'), MemoryWorld()
    bags = BagRecorder(folder, world, BLOCKS)
    lines = EventLines(folder / 'lines', bags.truth, BLOCKS)
    scorer, events = EpisodeScorer(lines.truth), EventList()

    class Every:
        def record(self, event: EpisodeEvent) -> None:
            for one in (bags, lines, events, scorer):
                one.record(event)

    run_episode(spec_of(BLOCKS.split_problems('simple')[3], method=request.param),
                make_policy(request.param, {}), world, TruthGrounder(world), SearchPlanner(),
                Every(), BLOCKS)
    line = scorer.result()
    bags.commit(line)
    lines.close()
    bag, = read_episodes(folder / line['bag'])
    written, = read_episodes(folder / 'lines')
    return line, bag, written, events


def test_the_same_episode_reads_as_the_same_timeline(both) -> None:
    _, bag, written, events = both
    assert bag.warnings == written.warnings == ()
    assert plain(written.events) == plain(bag.events)
    assert plain(written.events[1:]) == plain(events.events[1:])
    assert written.timeline.usage == bag.timeline.usage
    assert [dataclasses.replace(one, moments=()) for one in written.timeline.steps] == [
        dataclasses.replace(one, moments=()) for one in bag.timeline.steps]


def test_the_same_truth_and_pictures_are_in_both(both) -> None:
    line, bag, written, events = both
    assert written.truth.replies == bag.truth.replies
    for recorded in (bag, written):
        again = rescore(recorded)
        assert not differences({**line, 'bag': ''}, {**again, 'bag': ''})
    first = next(event.observation for event in events.events if hasattr(event, 'observation'))
    assert np.array_equal(written.image(first), first.image)
    assert np.array_equal(bag.image(first), first.image)


def test_files_of_another_format_and_damaged_lines_are_refused(both, tmp_path: Path) -> None:
    file = both[2].bag / NAME
    header, start, *rest = file.read_text().splitlines()
    def written(*lines: str) -> Path:
        (tmp_path / NAME).write_text('\n'.join(lines) + '\n')
        return tmp_path
    with pytest.raises(InputError, match='no file of events of format'):
        list(read_episodes(written(json.dumps({'format': 0}), start)))
    with pytest.raises(InputError, match="'Guessed' is no kind of event"):
        list(read_episodes(written(header, start, json.dumps({'event': 'Guessed'}))))
    with pytest.raises(InputError, match='Stepped'):
        list(read_episodes(written(header, start, json.dumps({'event': 'Stepped'}))))
    with pytest.raises(InputError, match='holds no episode'):
        list(read_episodes(written(header)))
    cut, = read_episodes(written(header, start, *rest[:-1]))
    assert 'ends before the episode does' in ' '.join(cut.warnings)
    assert cut.timeline.end is None


@given(st.lists(EVENT, max_size=3))
def test_old_readers_are_not_needed(events: list[EpisodeEvent]) -> None:
    """Every kind of event is written by its fields alone."""
    for event in events:
        assert set(event_to_json(event, BLOCKS)) == {
            'event', *(field.name for field in dataclasses.fields(event))}
