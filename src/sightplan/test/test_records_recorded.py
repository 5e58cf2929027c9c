"""Episodes out of bags: events, truth and pictures, and the same scores again."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doubles import (
    EventList,
    MemoryWorld,
    SearchPlanner,
    TalkingBackend,
    TruthGrounder,
    seer,
    spec_of,
)
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.metrics import EpisodeScorer, measures, summarise_episodes
from sightplan.model import (
    Asked,
    Atom,
    EpisodeEnded,
    EpisodeStarted,
    InputError,
    Observation,
    Observed,
    Proposed,
    State,
    Stepped,
    TruthSource,
    Verdict,
    WorldError,
)
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.records import topics
from sightplan.records.bag import BagWriter, MessageTypes
from sightplan.records.bag_messages import BagMessages, message_types
from sightplan.records.bag_reading import open_bag
from sightplan.records.bag_recorder import BagRecorder
from sightplan.records.messages import DEFINITIONS, PACKAGE
from sightplan.records.queries_json import queries_to_json
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.replay.rescored import NOT_COMPARED, differences, rescore

BLOCKS = load_domain('blocksworld')
PROBLEM = BLOCKS.split_problems('simple')[3]
FLIP = {True: Verdict.NO, False: Verdict.YES}
METHODS = ('ground', 'ground_mem', 'belief', 'plan_cot', 'oracle', 'random', 'idle')

Rows = list[tuple[str, int, bytes]]
"""Messages of a bag: topic, time, data."""


def noise(fraction: float, seed: int) -> Callable[[Atom, bool, int], Verdict | None]:
    """Wrong and unreadable answers."""
    def change(atom: Atom, truth: bool, call: int) -> Verdict | None:
        rng = random.Random(f'{seed}/{atom}/{call}')
        if rng.random() >= fraction:
            return None
        return Verdict.UNPARSED if rng.random() < 0.2 else FLIP[truth]
    return change


class Forgetful:
    """A truth that cannot be had each time."""

    def __init__(self, world: MemoryWorld, fraction: float, seed: int) -> None:
        self._world, self._fraction, self._rng = world, fraction, random.Random(seed)

    def state(self, stamp_ns: int | None = None) -> State:
        self._forget(f'what was at {stamp_ns}')
        return self._world.state(stamp_ns)

    def last_outcome(self) -> str:
        self._forget('what came of it')
        return self._world.last_outcome()

    def _forget(self, what: str) -> None:
        if self._rng.random() < self._fraction:
            raise WorldError(f'forgot {what}')


class Recording:
    """Episodes that are run, scored and recorded at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = EventList()

    def episode(self, method: str = 'ground', seed: int = 0, fraction: float = 0.02,
                truth: TruthSource | None = None, world: MemoryWorld | None = None,
                cancelled: Callable[[], bool] = lambda: False, **spec: object) -> dict:
        """The live line of results."""
        world = world or MemoryWorld()
        bags = BagRecorder(self.folder, truth or world, BLOCKS)
        scorer = EpisodeScorer(bags.truth)
        self.events, said = EventList(), seer(world)

        def say(request: object) -> str:
            unable = random.Random(f'{seed}/{request.parts[-1]!r}').random() < 10 * fraction
            return 'no idea' if unable else said(request)

        class All:
            def record(this, event: object) -> None:  # noqa: N805
                for recorder in (self.events, bags, scorer):
                    recorder.record(event)

        run_episode(
            spec_of(spec.pop('problem', PROBLEM), method=method, seed=seed,
                    failure_probability=0.2, **spec),
            make_policy(method, None, world), world, TruthGrounder(world, noise(fraction, seed)),
            SearchPlanner(BLOCKS, 100_000), All(), BLOCKS, cancelled=cancelled,
            visual_planner=BackendVisualPlanner(TalkingBackend(say), BLOCKS))
        line = scorer.result()
        bags.commit(line)
        return json.loads(json.dumps(line))


def only(bag: Path) -> RecordedEpisode:
    """The one episode of a bag."""
    episode, = read_episodes(bag)
    return episode


def rows(bag: Path) -> Rows:
    return [(message.topic, message.log_ns, message.data) for message in open_bag(bag).messages()]


def written(folder: Path, messages: Rows, types: dict[str, str] | None = None,
            known: MessageTypes | None = None) -> Path:
    """A bag of these messages; topics that are not ours have their types in ``types``."""
    writer = BagWriter(folder)
    numbers: dict[str, int] = {}
    for topic, log_ns, data in messages:
        if topic not in numbers:
            found = topics.relative(topic)
            kind = (types or {}).get(topic) or topics.RECORDED[found[1]]
            numbers[topic] = writer.add_topic(topic, (known or message_types()).get(kind))
        writer.write(numbers[topic], log_ns, data)
    writer.close()
    return folder


def plain(events: Sequence[object]) -> list[object]:
    """Events as they can be compared: looks by all but their pictures, and where one came from."""
    def look(seen: Observation) -> tuple[object, ...]:
        return (seen.image_id, seen.stamp_ns, seen.frame_id, seen.visible_objects, seen.text,
                dict(seen.privileged_facts))
    found: list[object] = []
    for event in events:
        values = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
        if 'observation' in values:
            values['observation'] = look(values['observation'])
        if isinstance(event, Asked):
            values['queries'] = queries_to_json(event)
        if isinstance(event, EpisodeStarted):
            spec = event.spec
            values = {'spec': dataclasses.replace(spec, problem=dataclasses.replace(
                spec.problem, init=frozenset(), source=''))}
        found.append((type(event).__name__, values))
    return found


@pytest.fixture(scope='module')
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, list[object]]:
    """A bag with some errors in it, its live line, and its events."""
    recording = Recording(tmp_path_factory.mktemp('recorded'))
    for seed in range(20):
        line = recording.episode('ground_mem', seed, id=f'e/{seed}')
        if line['wrong'] and line['executed'] > 1 and line['withheld']:
            return recording.folder / line['bag'], line, plain(recording.events.events)
    raise AssertionError('no episode in which something went wrong')


# What is recorded comes back.

@pytest.mark.parametrize('method', METHODS)
def test_scores_from_the_bag_are_the_live_ones(tmp_path: Path, method: str) -> None:
    lines, again = [], []
    for seed in (1, 2):
        recording = Recording(tmp_path)
        line = recording.episode(method, seed, id=f'{method}/{seed}')
        episode = only(tmp_path / line['bag'])
        assert episode.warnings == ()
        assert plain(episode.events) == plain(recording.events.events)
        lines.append(line)
        again.append(rescore(episode))
        assert differences(line, again[-1]) == []
        assert {k: v for k, v in line.items() if k not in NOT_COMPARED} == {
            k: v for k, v in again[-1].items() if k not in NOT_COMPARED}
    assert summarise_episodes(again) == summarise_episodes(lines)
    assert any(line['steps'] for line in lines) is (method != 'idle')


def test_scores_are_compared_in_every_field(recorded: tuple) -> None:
    bag, line, _ = recorded
    again = rescore(only(bag))
    for key in line:
        changed = {**line, key: 'another'}
        assert bool(differences(changed, again)) is (key not in NOT_COMPARED), key
    step = {**line['actions'][0], 'outcome': 'other'}
    assert differences({**line, 'actions': [step, *line['actions'][1:]]}, again) == [
        f'actions[0].outcome: was "other", now "{line["actions"][0]["outcome"]}"']
    assert differences({**line, 'failure': {'picture': 'a.png'}},
                       {**again, 'failure': {}}) == []
    assert len(differences({**line, 'wrong': []}, again)) == 1


@settings(max_examples=15, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), fraction=st.floats(0.0, 1.0),
       method=st.sampled_from(('ground', 'belief', 'plan', 'random')))
def test_truth_that_was_not_to_be_had_is_not_to_be_had_again(
        tmp_path: Path, seed: int, fraction: float, method: str) -> None:
    world = MemoryWorld()
    line = Recording(tmp_path).episode(method, seed, world=world, max_actions=4,
                                       truth=Forgetful(world, fraction, seed))
    again = rescore(only(tmp_path / line['bag']))
    assert differences(line, again) == []
    assert measures.scored(line) is (line['error'] is None)


def test_what_is_needed_to_ask_again_is_recorded(tmp_path: Path) -> None:
    for method, kind in (('ground_mem', Asked), ('plan', Proposed)):
        recording = Recording(tmp_path)
        for seed in range(20):
            line = recording.episode(method, seed, id=f'{method}/{seed}')
            events = [e for e in only(tmp_path / line['bag']).events if isinstance(e, kind)]
            if method == 'ground_mem' and any(event.memory for event in events):
                prompt = BLOCKS.grounding_prompt(method, next(e.memory for e in events
                                                              if e.memory))
                assert prompt.sha256 in {e.prompt.partition('@')[2] for e in events}
                break
            if method == 'plan' and any(len(event.history) > 1 for event in events):
                assert [len(event.history) for event in events] == list(range(len(events)))
                assert events[1].history[0].action
                break
        else:
            pytest.fail(f'no {method} with a memory')


# Bags of other origin.

@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_messages_does_not_matter(recorded: tuple, tmp_path_factory: object,
                                               rng: random.Random) -> None:
    bag, _, events = recorded
    messages = rows(bag)
    order = list(range(len(messages)))
    rng.shuffle(order)
    mixed = [(topic, 1000 + order[number], data)
             for number, (topic, _, data) in enumerate(messages)]
    episode = only(written(tmp_path_factory.mktemp('mixed') / 'b', sorted(
        mixed, key=lambda row: row[1])))
    assert plain(episode.events) == events
    assert episode.warnings == ()


def test_one_bag_may_hold_several_robots_episodes_and_other_topics(
        tmp_path: Path, recorded: tuple) -> None:
    """As ``ros2 bag record -a`` writes it beside real arms: without truth, cameras renamed."""
    bag, _, events = recorded
    second = Recording(tmp_path)
    line = second.episode('plan', 2, id='another')
    arms = {'/arm_1': rows(bag), '/lab/arm_2': rows(tmp_path / line['bag'])}
    clock = ('/clock', 5, BagMessages().data(BagMessages()('rosgraph_msgs/msg/Clock')))
    mixed = [clock]
    for number, (arm, messages) in enumerate(arms.items()):
        for count, (topic, _, data) in enumerate(messages):
            if topic == f'/{topics.TRUTH}':
                continue
            name = f'{arm}{topic}' if 'image' not in topic else f'{arm}/eye/color'
            mixed.append((name, 10 + 2 * count + number, data))
    types = {f'{arm}/eye/color': topics.IMAGE_TYPE for arm in arms} | {
        '/clock': 'rosgraph_msgs/msg/Clock'}
    episodes = list(read_episodes(written(tmp_path / 'all', sorted(
        mixed, key=lambda row: row[1]), types)))
    assert [episode.namespace for episode in episodes] == list(arms)
    assert plain(episodes[0].events) == events
    assert plain(episodes[1].events) == plain(second.events.events)
    for episode in episodes:
        assert (episode.truth, episode.warnings) == (None, ())
        looks = [event.observation for event in episode.events if isinstance(event, Observed)]
        assert all(episode.with_image(look).image is not None for look in looks)
        again = rescore(episode)
        assert (measures.scored(again), measures.solved(again)) == (False, None)
        assert (again['error'], again['failure']) == (None, None), 'nobody can tell: no error'
        assert again['observations'] == len(looks)


def test_a_second_attempt_is_an_episode_of_its_own(tmp_path: Path, recorded: tuple) -> None:
    """A cancelled episode may be run again under its name while one bag is recorded."""
    bag, line, events = recorded
    messages = rows(bag)
    start, end = (messages[number] for number in of(messages, topics.AGENT_EPISODE))
    half = [row for row in messages if row not in (start, end)][:len(messages) // 2]
    half.remove(messages[of(messages, topics.AGENT_PLAN)[0]])
    episodes = list(read_episodes(written(tmp_path / 'b', [
        (topic, number, data)
        for number, (topic, _, data) in enumerate([start, *half, *messages])])))
    assert len(episodes) == 2
    assert plain(episodes[1].events) == events
    assert differences(line, rescore(episodes[1])) == []
    number, = episodes[0].lost
    left = [row for row in half if topics.relative(row[0], topics.EVENTS)]
    assert plain(episodes[0].events) == [*events[:number], *events[number + 1:len(left) + 2]]
    assert 'ends before the episode does' in ' '.join(episodes[0].warnings)
    assert rescore(episodes[0])['error'] == (
        f"message {number} of the agent's {len(left) + 2} was lost")


def of(messages: Rows, topic: str) -> list[int]:
    return [number for number, row in enumerate(messages) if row[0] == f'/{topic}']


def test_lost_messages_are_named_and_the_rest_is_read(tmp_path: Path, recorded: tuple) -> None:
    bag, _, events = recorded
    messages = rows(bag)
    plan = of(messages, topics.AGENT_PLAN)[0]
    episode = only(written(tmp_path / 'b', [*messages[:plan], *messages[plan + 1:]]))
    number, = episode.lost
    assert events[number][0] == 'Planned'
    assert plain(episode.events) == [*events[:number], *events[number + 1:]]
    assert f'event {number} of {len(events)} is missing' in episode.warnings[0]
    again = rescore(episode)
    assert (measures.scored(again), again['stop']) == (False, 'error')
    assert again['error'] == f"message {number} of the agent's {len(events)} was lost"
    assert again['plans'] == [], 'nothing after the gap counts'


def test_an_episode_without_its_start_is_left_out(tmp_path: Path, recorded: tuple) -> None:
    messages = rows(recorded[0])
    first = of(messages, topics.AGENT_EPISODE)[0]
    rest = [*messages[:first], *messages[first + 1:]]
    with pytest.raises(InputError, match='its start is missing'):
        list(read_episodes(written(tmp_path / 'b', rest)))
    line = Recording(tmp_path).episode('oracle', id='whole')
    both = written(tmp_path / 'two', [*rest, *rows(tmp_path / line['bag'])])
    episode = only(both)
    assert episode.spec.id == 'whole'
    assert 'its start is missing' in episode.warnings[0]


@pytest.mark.parametrize('content', [[], [('/chat', 1, b'\0\1\0\0\2\0\0\0a\0')]])
def test_a_bag_without_episodes_is_refused(tmp_path: Path, content: Rows) -> None:
    bag = written(tmp_path / 'b', content, {'/chat': 'std_msgs/msg/String'})
    with pytest.raises(InputError, match=r'holds no episode \(it holds no message on'):
        list(read_episodes(bag))


def test_messages_that_make_no_sense_are_lost_ones(tmp_path: Path, recorded: tuple) -> None:
    bag, _, events = recorded
    messages = rows(bag)
    make = BagMessages()
    spoilt = []
    for topic, log_ns, data in messages:
        if topic == f'/{topics.AGENT_STEP}':
            step = make.read(data, topics.EVENTS[topics.AGENT_STEP])
            step.status = 77
            data = make.data(step)
        elif topic == f'/{topics.AGENT_PLAN}':
            data = data[:20]
        spoilt.append((topic, log_ns, data))
    episode = only(written(tmp_path / 'b', spoilt))
    kinds = [name for name, _ in events]
    assert len(episode.lost) == kinds.count('Stepped') + kinds.count('Planned')
    words = ' '.join(episode.warnings)
    assert 'status = 77' in words
    assert topics.AGENT_PLAN in words


def test_a_number_out_of_all_proportion_is_not_believed(tmp_path: Path, recorded: tuple) -> None:
    """Without a checksum (sqlite3) any number may come; four thousand million are not lost."""
    make, messages = BagMessages(), rows(recorded[0])
    last = of(messages, topics.AGENT_EPISODE)[-1]
    ended = make.read(messages[last][2], topics.EVENTS[topics.AGENT_EPISODE])
    ended.sequence = 2**32 - 1
    messages[last] = (*messages[last][:2], make.data(ended))
    episode = only(written(tmp_path / 'b', messages))
    assert plain(episode.events) == recorded[2][:-1]
    assert episode.lost == ()
    assert 'event 4294967295 on agent/episode cannot follow' in episode.warnings[0]


def test_a_domain_that_is_not_there_is_named(tmp_path: Path, recorded: tuple) -> None:
    make, messages = BagMessages(), rows(recorded[0])
    changed = []
    for topic, log_ns, data in messages:
        if topic == f'/{topics.AGENT_EPISODE}':
            event = make.read(data, topics.EVENTS[topics.AGENT_EPISODE])
            event.domain = 'moonbase'
            data = make.data(event)
        changed.append((topic, log_ns, data))
    with pytest.raises(InputError, match='moonbase'):
        list(read_episodes(written(tmp_path / 'b', changed)))


def test_bags_of_another_version_are_refused(tmp_path: Path, recorded: tuple) -> None:
    folder = tmp_path / 'msg'
    folder.mkdir()
    for path in DEFINITIONS.glob('*.msg'):
        (folder / path.name).write_text('\n'.join(
            row for row in path.read_text().splitlines() if ' memory ' not in f'{row} '))
    then = BagMessages(MessageTypes({PACKAGE: folder}))
    with pytest.raises(InputError, match='agent/asked was recorded by another version.*again'):
        only(written(tmp_path / 'b', rows(recorded[0]), known=then.types))


# Damage.

def test_of_a_bag_that_was_cut_off_everything_before_is_read(tmp_path: Path, recorded: tuple,
                                                             ) -> None:
    bag, line, events = recorded
    whole = next(bag.glob('*.mcap')).read_bytes()
    known, path = 0, tmp_path / 'cut.mcap'
    for size in sorted(random.Random(1).sample(range(len(whole)), 25)):
        path.write_bytes(whole[:size])
        if known == 0 and size < len(whole) // 4:
            with contextlib.suppress(InputError):  # maybe not even the start is there
                known = len(only(path).events)
            continue
        episode = only(path)
        assert plain(episode.events) == events[:len(episode.events)]
        assert len(episode.events) >= known, 'a longer file tells no less'
        known = len(episode.events)
        again = rescore(episode)
        if known < len(events):
            assert episode.warnings
            assert (measures.scored(again), again['stop']) == (False, 'error')
        elif not episode.warnings:
            assert differences(line, again) == []
    assert known > 0


# Truth and pictures.

def test_truth_is_facts_of_time(recorded: tuple) -> None:
    episode = only(recorded[0])
    asked = next(event for event in episode.events if isinstance(event, Asked))
    stamp_ns, truth = asked.observation.stamp_ns, episode.truth
    init = MemoryWorld()
    init.reset(dataclasses.replace(episode.spec, problem=PROBLEM))
    assert truth.state(stamp_ns) == PROBLEM.init
    true, false = next(iter(PROBLEM.init)), Atom('on', ('r', 'r'))
    holds = episode.timeline.holds
    assert (holds(true, stamp_ns), holds(false, stamp_ns)) == (True, False)
    assert episode.timeline.holds(true, 7) is None
    with pytest.raises(WorldError, match='no truth at 7 ns'):
        truth.state(7)
    for event in episode.events:
        if isinstance(event, Stepped) and event.feedback.stamp_ns != event.stamp_ns:
            repeated = truth.repeated()
            repeated.select_outcome(event.feedback.stamp_ns)
            assert repeated.last_outcome() in ('success', 'no_op', 'illegal')


class Photographer(MemoryWorld):
    """A world whose pictures take room, with labels drawn into them."""

    labels = True

    def observe(self) -> Observation:
        seen = super().observe()
        raw = np.tile(seen.image, (4, 4, 1))
        labelled = raw.copy()
        labelled[0] = 255
        return dataclasses.replace(seen, image=labelled, unlabelled=raw, _digest=[])


def test_pictures_are_those_that_were_looked_at(tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(tmp_path)
    line = recording.episode('ground', 3, world=Photographer())
    episode = only(tmp_path / line['bag'])
    looks = [(ours.observation, theirs.observation)
             for ours, theirs in zip(recording.events.events, episode.events, strict=True)
             if isinstance(ours, Observed)]
    for ours, theirs in itertools.chain(looks, reversed(looks)):
        assert theirs.image is None
        seen = episode.with_image(theirs)
        np.testing.assert_array_equal(seen.image, ours.image)
        assert seen.image_id == ours.image_id
        assert (seen.stamp_ns, seen.visible_objects) == (ours.stamp_ns, ours.visible_objects)
    wrong = Observation.elsewhere('0123456789abcdef', looks[0][1].stamp_ns)
    assert episode.image(wrong) is None
    assert episode.with_image(wrong) is wrong
    assert episode.image(Observation()) is None
    kept = episode.pictures._decoded.cache_info()
    assert 0 < kept.currsize <= kept.maxsize == 16
    decoded = []
    bag = episode.pictures._bag
    decode = bag.decode
    monkeypatch.setattr(bag, 'decode', lambda m: decoded.append(m.topic) or decode(m))
    episode.pictures._decoded.cache_clear()
    for _ in range(2):
        episode.image(looks[0][1])
    assert decoded == ['/camera/image_labelled'], 'the one that models saw, and once'


def test_events_end_with_the_end(recorded: tuple) -> None:
    episode = only(recorded[0])
    assert isinstance(episode.events[0], EpisodeStarted)
    assert isinstance(episode.events[-1], EpisodeEnded)
    assert len(episode.received_ns) == len(episode.events)
    assert list(episode.received_ns) == sorted(episode.received_ns)
