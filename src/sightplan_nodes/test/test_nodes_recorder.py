"""The node metrics_recorder, fed by a scripted agent and a scripted truth."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from rclpy.node import Node
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces import msg
from sightplan_interfaces.msg import Fact
from sightplan_interfaces.srv import FinishRun, GetState, StartRun

from nodes_testing import LIMIT_S, eventually, parameters, problem, spinning
from sightplan.grounding.views import view
from sightplan.metrics import EpisodeScorer, measures
from sightplan.model import (
    GOAL_NS,
    Action,
    Answer,
    Asked,
    AskPurpose,
    Belief,
    BeliefUpdated,
    BusyError,
    EpisodeEnded,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    Stepped,
    StopReason,
    Usage,
    Verdict,
)
from sightplan.queries import answered
from sightplan.records import RunStore, messages
from sightplan.records.bag_messages import message_types
from sightplan.records.pictures import bag_image
from sightplan.records.recorded import read_episodes
from sightplan.records.reorder_buffer import Arrival
from sightplan.replay.rescored import differences, rescore
from sightplan_nodes import metrics_recorder, names, qos
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.failures import fill_error, raise_error
from sightplan_nodes.metrics_recorder import MetricsRecorder, Ring
from sightplan_nodes.ports import RosRecorder
from small_disk import fill, small_disk

DOMAIN, FIRST = problem()
ACTION = DOMAIN.model(FIRST).actions[0]


class World(Node):
    """Publishes images and knows the truth: the goal holds from 100 ns on."""

    def __init__(self) -> None:
        super().__init__(names.SIM_BRIDGE)
        self.images = self.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        self.labelled = self.create_publisher(Image, names.CAMERA_LABELLED, qos.SENSOR)
        self.infos = self.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
        self.asked: list[int] = []
        self.error: Exception | None = None
        self.create_service(GetState, '~/get_state', self._state)

    def show(self, stamp_ns: int) -> np.ndarray:
        image = np.full((4, 6, 3), stamp_ns % 256, np.uint8)
        self.infos.publish(CameraInfo(header=MESSAGES.header(stamp_ns, 'cam')))
        self.images.publish(MESSAGES.image_to_msg(image, stamp_ns, 'cam'))
        return image

    def _state(self, request: GetState.Request, response: GetState.Response):
        stamp_ns = messages.time_from_msg(request.stamp)
        self.asked.append(stamp_ns)
        if self.error is not None:
            return fill_error(response, self.error)
        goal = [literal.atom for literal in FIRST.goal]
        response.state = MESSAGES.state_to_msg(goal if stamp_ns >= 100 else FIRST.init)
        response.last_outcome = f'outcome at {stamp_ns}'
        return response


class Agent(Node):
    """Publishes an episode's events as the agent does, and asks for runs as experiment does."""

    def __init__(self) -> None:
        super().__init__(names.AGENT)
        self.recorder = RosRecorder(self)
        self.recorder.messages.domain = DOMAIN
        self.results: list[msg.EpisodeResult] = []
        self.create_subscription(msg.EpisodeResult, names.EPISODE_RESULT, self.results.append,
                                 qos.RESULTS)
        self._spending = {node: self.create_publisher(msg.Usage, topic, qos.LATCHED)
                          for node, topic in names.SPENDING.items()}
        self._start = ServiceCaller(self, StartRun, names.START_RUN, names.METRICS_RECORDER)
        self._finish = ServiceCaller(self, FinishRun, names.FINISH_RUN, names.METRICS_RECORDER)

    def start(self, out: Path, identity: object = None, session: str = '{}',
              **changes: object) -> list[str]:
        run = f'{{"identity": {json.dumps(identity or {"seed": 1})}, "session": {session}}}'
        request = StartRun.Request(out=str(out), resume=True, run_json=run, **changes)
        reply = self._start(request, LIMIT_S)
        raise_error(reply, names.METRICS_RECORDER)
        self.spent = messages.usage_from_msg(reply.spent)
        self.recorder.messages.session = reply.session
        return list(reply.committed)

    def spend(self, node: str, out: Path, usage: Usage | None) -> None:
        message = MESSAGES.usage_to_msg(usage)
        message.run = str(out)
        self._spending[node].publish(message)

    def finish(self, **notes: object) -> dict:
        reply = self._finish(FinishRun.Request(**notes), LIMIT_S)
        raise_error(reply, names.METRICS_RECORDER)
        return json.loads(reply.summary_json)

    def result(self, episode_id: str) -> dict:
        eventually(lambda: any(r.episode_id == episode_id for r in self.results),
                   f'the result of {episode_id}')
        return json.loads(next(r.result_json for r in self.results
                               if r.episode_id == episode_id))


class Bench:
    def __init__(self, out: Path, settings: dict[str, object]) -> None:
        self.out = out
        self.world, self.agent = World(), Agent()
        self.recorder = MetricsRecorder(
            parameter_overrides=parameters(out=str(out), **settings))

    def begin(self, episode_id: str = 'e/1', method: str = 'ground') -> None:
        spec = EpisodeSpec(episode_id, FIRST, method, 'simple', 5)
        self.agent.recorder.record(EpisodeStarted(spec))

    def look(self, stamp_ns: int, ask: bool = True) -> None:
        """One look and one right answer about it."""
        image = self.world.show(stamp_ns)
        seen = Observation(image=image, stamp_ns=stamp_ns, frame_id='cam')
        record = self.agent.recorder.record
        record(Observed(seen))
        if ask:
            atom = FIRST.goal[0].atom
            truth = stamp_ns >= 100 or atom in FIRST.init
            verdict = Verdict.YES if truth else Verdict.NO
            record(answered(seen, (Question(atom, 'Is it?'),), (Answer('-', verdict=verdict),),
                         (None,), AskPurpose.ENUMERATION, None, 0.25, 'scripted'))

    def propose(self, stamp_ns: int, status: ProposalStatus = ProposalStatus.PLANNED,
                usage: Usage | None = None) -> None:
        """One look and what a model proposes."""
        image = self.world.show(stamp_ns)
        seen = Observation(image=image, stamp_ns=stamp_ns, frame_id='cam')
        record = self.agent.recorder.record
        record(Observed(seen))
        planned = status is ProposalStatus.PLANNED
        record(Proposed(seen, Proposal(status, (ACTION,) if planned else (), text='{...}',
                                       model='talker'), 'plan@abc', usage))

    def forfeit(self, stamp_ns: int) -> None:
        self.agent.recorder.record(Stepped(
            0, None, Feedback(FeedbackStatus.INVALID, 'unparsed', stamp_ns), stamp_ns))

    def step(self, before_ns: int, after_ns: int, action: Action = ACTION) -> None:
        self.agent.recorder.record(Stepped(
            0, action, Feedback(FeedbackStatus.EXECUTED, '', after_ns), before_ns, 0.5))

    def end(self, stamp_ns: int, reason: StopReason = StopReason.PLAN_DONE) -> None:
        self.agent.recorder.record(EpisodeEnded(reason, '', 1, 0, stamp_ns, 2.0, {'act': 0.5}))

    def episode(self, episode_id: str = 'e/1', end_ns: int = 200) -> dict:
        record = self.agent.recorder.record
        self.begin(episode_id)
        self.look(50)
        record(BeliefUpdated(Belief(FIRST.init, {FIRST.goal[0].atom: 0.5})))
        record(Planned(PlanningResult(PlanningStatus.SOLVED, (ACTION,), 0.1)))
        self.step(50, 120)
        self.look(150, ask=False)
        self.end(end_ns)
        return self.agent.result(episode_id)


@pytest.fixture
def bench(tmp_path: Path):
    @contextlib.contextmanager
    def make(**settings: object):
        made = Bench(tmp_path / 'run', settings)
        with spinning(made.world, made.agent, made.recorder):
            yield made
    return make


def check_again(out: Path, line: dict) -> None:
    """The bag alone gives the same line."""
    episode, = read_episodes(out / line['bag'])
    assert differences(line, rescore(episode)) == []
    assert episode.warnings == ()


def read(folder: Path) -> dict[str, list[object]]:
    types = message_types()
    found: dict[str, list[object]] = {}
    with Reader(folder) as reader:
        for connection, _, data in reader.messages():
            found.setdefault(connection.topic, []).append(
                types.store.deserialize_cdr(data, connection.msgtype))
    return found


def test_an_episode_is_scored_and_committed(bench: Callable) -> None:
    with bench() as b:
        assert b.agent.start(b.out) == []
        line = b.episode()
    assert measures.scored(line)
    assert measures.solved(line)
    assert line['model'] == 'scripted'
    assert line['actions'][0]['outcome'] == 'outcome at 120', 'of that step, not of now'
    assert line['enumerations'] == [True]
    assert (line['observations'], line['images'], line['images_missing']) == (2, 2, 0)
    assert json.loads((b.out / 'episodes.jsonl').read_text()) == line
    assert json.loads((b.out / 'run.json').read_text())['identity'] == {'seed': 1}
    check_again(b.out, line)


def test_the_bag_holds_everything(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        line = b.episode()
    bag = read(b.out / line['bag'])
    assert [m.header.stamp.nanosec for m in bag['/camera/image_raw']] == [50, 150]
    assert [m.header.stamp.nanosec for m in bag['/camera/camera_info']] == [50, 150]
    assert bag['/camera/image_raw'][0].data[0] == 50
    assert [m.kind for m in bag['/agent/episode']] == [1, 2]
    assert 'problem' in bag['/agent/episode'][0].problem_pddl
    assert bag['/agent/asked'][0].answers[0].question == 'Is it?'
    assert bag['/agent/plan'][0].actions[0].name == ACTION.name
    assert len(bag['/agent/belief']) == len(bag['/agent/step']) == 1
    assert len(bag['/agent/observation']) == 2
    truth = bag['/metrics_recorder/truth']
    assert [(m.kind, m.header.stamp.nanosec, m.last_outcome) for m in truth] == [
        (0, 50, ''), (1, 120, 'outcome at 120'), (0, 200, '')]
    assert {m.episode_id for m in truth} == {'e/1'}
    assert [bool(m.state) for m in truth] == [True, False, True]


def test_proposals_are_recorded_and_scored(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.begin(method='plan')
        b.propose(40, ProposalStatus.UNPARSED, Usage(1, 10, 2))
        b.forfeit(40)
        b.propose(50, usage=Usage(1, 10, 2))
        b.step(50, 120)
        b.end(200)
        line = b.agent.result('e/1')
    assert (measures.scored(line), measures.solved(line), line['model']) == (True, True, 'talker')
    assert (line['steps'], line['images']) == (2, 2)
    assert line['usage'] == {'requests': 2, 'prompt_tokens': 20, 'completion_tokens': 4,
                             'cost_usd': None}
    assert 'plan@abc' in json.dumps(line)
    check_again(b.out, line)
    bag = read(b.out / line['bag'])
    told = bag['/agent/proposal']
    assert [m.proposal.status for m in told] == [2, 1]
    assert told[1].proposal.actions[0].name == ACTION.name
    assert [m.header.stamp.nanosec for m in bag['/camera/image_raw']] == [40, 50]
    assert [m.status for m in bag['/agent/step']] == [4, 1]


def test_what_was_spent_is_kept_for_the_next_session(
        bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the models' nodes tell it, whatever became of their requests, and at once."""
    def noted() -> dict | None:
        return json.loads((b.out / 'run.json').read_text()).get('spent')

    with bench() as b:
        assert b.agent.start(b.out) == []
        assert b.agent.spent is None
        b.agent.spend(names.GROUNDER, b.out, Usage(1, 10, 2, 0.25))
        eventually(lambda: noted() == asdict(Usage(1, 10, 2, 0.25)), 'the first')
        for out, usage in ((b.out.parent, Usage(500, 500, 500, 500.0)), (b.out, None)):
            taken = threading.Event()
            with monkeypatch.context() as patch:
                take = b.recorder._spending.take
                patch.setattr(b.recorder._spending, 'take',
                              lambda *said, t=take, e=taken: (t(*said), e.set()))
                b.agent.spend(names.GROUNDER, out, usage)
                assert taken.wait(LIMIT_S)
            assert noted() == asdict(Usage(1, 10, 2, 0.25)), 'another run, or no count'
        b.agent.spend(names.VLM_PLANNER, b.out, Usage(2, 20, 4, 0.5))
        eventually(lambda: noted() == asdict(Usage(3, 30, 6, 0.75)), 'the sum')
        b.agent.spend(names.GROUNDER, b.out, Usage(5, 50, 6, 1.25))
        eventually(lambda: noted() == asdict(Usage(7, 70, 10, 1.75)), 'a later total')
        assert b.agent.finish()['spent'] == noted()
        b.agent.spend(names.GROUNDER, b.out, Usage(6, 60, 7, 1.5))
        eventually(lambda: noted() == asdict(Usage(8, 80, 11, 2.0)), 'what comes late')
        b.agent.start(b.out)
        assert b.agent.spent == Usage(8, 80, 11, 2.0)
        b.agent.spend(names.GROUNDER, b.out, Usage(1, 1, 1, 1.0))
        eventually(lambda: noted() == asdict(Usage(9, 81, 12, 3.0)), 'the second session')


def test_a_model_that_was_started_again_has_spent_that_besides(bench: Callable) -> None:
    def noted() -> dict | None:
        return json.loads((b.out / 'run.json').read_text()).get('spent')

    with bench() as b:
        b.agent.start(b.out)
        b.agent.spend(names.GROUNDER, b.out, Usage(5, 50, 6, 1.25))
        eventually(lambda: noted() == asdict(Usage(5, 50, 6, 1.25)), 'the first')
        for usage, total in ((Usage(), Usage(5, 50, 6, 1.25)),
                             (Usage(2, 20, 4, 0.5), Usage(7, 70, 10, 1.75))):
            b.agent.spend(names.GROUNDER, b.out, usage)
            eventually(lambda t=total: noted() == asdict(t), 'the sum')


def test_nobody_counted(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.episode()
        assert b.agent.finish()['spent'] is None
    assert 'spent' not in json.loads((b.out / 'run.json').read_text())


@pytest.mark.parametrize(('policy', 'images'), [('none', 0), ('judged', 2), ('all', 5)])
def test_image_policy(bench: Callable, policy: str, images: int) -> None:
    with bench(image_policy=policy) as b:
        b.agent.start(b.out)
        b.begin()
        eventually(lambda: b.recorder._current is not None, 'the start')
        for stamp_ns in (10, 20, 30):
            b.world.show(stamp_ns)
        b.look(50)
        b.look(150)
        ring = b.recorder._images[names.CAMERA_IMAGE]
        eventually(lambda: len(ring._messages) == 5 or policy == 'none', 'images')
        b.end(200)
        line = b.agent.result('e/1')
    assert len(read(b.out / line['bag']).get('/camera/image_raw', [])) == images


def test_the_picture_of_the_goal_goes_into_the_bag_of_its_episode(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        goals = b.world.create_publisher(Image, names.GOAL_IMAGE, qos.LATCHED)
        goals.publish(MESSAGES.image_to_msg(np.full((4, 6, 3), 77, np.uint8), 40, 'cam'))
        eventually(lambda: b.recorder._goal is not None, 'the picture of the goal')
        lines = []
        for number, pictured in enumerate((True, False)):
            b.agent.recorder.record(EpisodeStarted(EpisodeSpec(
                f'e/{number}', FIRST, 'ground', 'simple', 5, pictured_goal=pictured)))
            b.look(50 + number)
            b.end(200)
            lines.append(b.agent.result(f'e/{number}'))
    with_goal, without = (read(b.out / line['bag']) for line in lines)
    (goal,) = with_goal['/goal/image_raw']
    assert (messages.image_from_msg(goal) == 77).all()
    assert '/goal/image_raw' not in without
    episode, = read_episodes(b.out / lines[0]['bag'])
    shown = Observation(messages.image_from_msg(goal), GOAL_NS)
    found = episode.image(view(shown, 3))
    assert Observation(found).image_id == view(shown, 3).image_id


def test_of_a_labelled_picture_both_are_recorded(bench: Callable) -> None:
    labelled = np.full((40, 60, 3), 7, np.uint8)
    fact = Fact(atom=MESSAGES.to_msg(FIRST.goal[0].atom), probability=0.0)
    with bench() as b:
        b.agent.recorder = RosRecorder(b.agent, lambda: True)
        b.agent.recorder.messages.domain = DOMAIN
        b.agent.start(b.out)
        b.begin()
        b.world.show(50)
        b.world.labelled.publish(MESSAGES.image_to_msg(labelled, 50, 'cam'))
        seen = Observation(image=labelled, stamp_ns=50, visible_objects=('r', 'c1'),
                           privileged_facts=messages.facts_from_msg([fact]))
        b.agent.recorder.record(Observed(seen))
        b.agent.recorder.record(Observed(dataclasses.replace(seen, stamp_ns=60)))
        b.end(60)
        line = b.agent.result('e/1')
    assert (line['images'], line['images_missing'], line['observations']) == (1, 1, 2)
    topics = read(b.out / line['bag'])
    for topic, value in (('/camera/image_raw', 50), ('/camera/image_labelled', 7)):
        (image,) = topics[topic]
        assert image.data[0] == value
    assert len(topics['/camera/camera_info']) == 1
    look = topics['/agent/observation'][0]
    assert list(look.visible_objects) == ['r', 'c1']
    assert [(f.atom.predicate, f.probability) for f in look.privileged_facts] == [
        (fact.atom.predicate, 0.0)]
    found = bag_image(b.out / line['bag'], 50, seen.image_id)
    np.testing.assert_array_equal(found, labelled)


def test_what_was_in_view_is_scored_with_the_answers(bench: Callable,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers name their look only; the scorer gets them as it does in process."""
    scored: list[object] = []
    record = EpisodeScorer.record
    monkeypatch.setattr(EpisodeScorer, 'record',
                        lambda self, event: (scored.append(event), record(self, event))[1])
    with bench() as b:
        b.agent.start(b.out)
        b.begin()
        image = b.world.show(50)
        seen = Observation(image=image, stamp_ns=50, visible_objects=('r',))
        atom = FIRST.goal[0].atom
        b.agent.recorder.record(Observed(seen))
        b.agent.recorder.record(answered(seen, (Question(atom, 'Is it?'),),
                                      (Answer('no'),), (None,),
                                      AskPurpose.ENUMERATION))
        b.end(60)
        b.agent.result('e/1')
    (asked,) = [event for event in scored if isinstance(event, Asked)]
    assert asked.observation.visible_objects == ('r',)
    assert asked.observation.image_id == seen.image_id


def test_not_solved_is_not_an_error(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        line = b.episode(end_ns=99)
    assert (measures.scored(line), measures.solved(line), line['error']) == (True, False, None)
    check_again(b.out, line)


def test_without_truth_an_episode_is_not_scored(bench: Callable) -> None:
    from sightplan.model import WorldError
    with bench() as b:
        b.agent.start(b.out)
        b.world.error = WorldError('forgotten')
        line = b.episode()
    assert not measures.scored(line)
    assert 'forgotten' in line['error']
    check_again(b.out, line)


def test_order_of_topics_does_not_matter(bench: Callable) -> None:
    """Messages go out in the worst order: the end first, the start last."""
    with bench() as b:
        b.agent.start(b.out)
        waiting = []
        for topic, publisher in b.agent.recorder.publishers.items():
            b.agent.recorder.publishers[topic] = type('Late', (), {
                'publish': lambda self, m, p=publisher: waiting.append((p, m))})()
        b.begin()
        b.look(50)
        b.propose(60)
        b.step(60, 120)
        b.end(200)
        for publisher, message in reversed(waiting):
            publisher.publish(message)
        line = b.agent.result('e/1')
    assert measures.solved(line)
    assert line['steps'] == 1
    assert line['enumerations'] == [True]


def test_a_lost_message_makes_an_error(bench: Callable) -> None:
    with bench(settle_s=0.2) as b:
        b.agent.start(b.out)
        b.begin()
        b.look(50)
        b.agent.recorder.messages.sequence += 1
        b.end(200)
        line = b.agent.result('e/1')
    assert (measures.scored(line), line['stop']) == (False, 'error')
    assert "message 3 of the agent's 5 was lost" in line['error']
    check_again(b.out, line)


def test_an_image_that_never_came_is_counted(bench: Callable) -> None:
    with bench(image_timeout_s=0.1) as b:
        b.agent.start(b.out)
        b.begin()
        seen = Observation(image=np.zeros((2, 2, 3), np.uint8), stamp_ns=60)
        b.agent.recorder.record(Observed(seen))
        b.end(200)
        line = b.agent.result('e/1')
    assert (line['images'], line['images_missing'], measures.scored(line)) == (0, 1, True)


def test_a_recorder_that_is_kept_waiting_misses_no_image(bench: Callable) -> None:
    """On a busy machine its process may stand still while a camera goes on for seconds."""
    with bench() as b:
        b.agent.start(b.out)
        b.begin()
        b.look(40)
        eventually(lambda: b.recorder._current is not None and b.recorder._current._images,
                   'the first image')
        held, go_on = threading.Event(), threading.Event()
        executor = b.recorder.executor
        assert executor is not None
        executor.create_task(lambda: (held.set(), go_on.wait(LIMIT_S)))
        assert held.wait(LIMIT_S)
        b.look(50)
        for stamp_ns in range(51, 90):
            b.world.show(stamp_ns)
        go_on.set()
        b.end(200)
        line = b.agent.result('e/1')
    assert (line['observations'], line['images'], line['images_missing']) == (2, 2, 0)


def test_an_image_that_comes_late_is_not_missing(bench: Callable) -> None:
    with bench(image_timeout_s=0.1, image_policy='all') as b:
        b.agent.start(b.out)
        b.begin()
        for stamp_ns in (50, 60):
            seen = Observation(image=np.zeros((2, 2, 3), np.uint8), stamp_ns=stamp_ns)
            b.agent.recorder.record(Observed(seen))
        eventually(lambda: b.recorder._current is not None
                   and len(b.recorder._current._missing) == 2, 'the looks')
        b.world.show(50)
        eventually(lambda: b.recorder._current._images, 'the image')
        b.end(200)
        line = b.agent.result('e/1')
    assert (line['images'], line['images_missing']) == (1, 1)


def test_a_cancelled_episode_is_told_but_not_kept(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.begin()
        b.end(0, StopReason.CANCELLED)
        assert b.agent.result('e/1')['stop'] == 'cancelled'
        assert (b.out / 'episodes.jsonl').read_text() == ''
        b.agent.results.clear()
        assert measures.solved(b.episode()), 'it can be run again'
    bags = sorted(path.name for path in (b.out / 'bags').iterdir())
    assert bags == ['e_1', 'e_1.2']


def test_who_stops_an_experiment_cancels_its_episode(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.episode('e/1')
        b.begin('e/2')
        b.look(50)
        b.recorder.stop_signal = signal.SIGINT
    lines = [json.loads(text) for text in (b.out / 'episodes.jsonl').read_text().splitlines()]
    assert [line['id'] for line in lines] == ['e/1'], 'it will be run again'
    assert json.loads((b.out / 'summary.json').read_text())['errors'] == 0


def test_an_episode_without_an_end_is_an_error(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.begin('e/1')
        b.look(50)
        b.begin('e/2')
        line = b.agent.result('e/1')
        assert 'e/2 began before' in line['error']
        b.look(60)
        eventually(lambda: b.recorder._current is not None
                   and b.recorder._current._images, 'the second episode')
    lines = [json.loads(text) for text in (b.out / 'episodes.jsonl').read_text().splitlines()]
    assert [line['id'] for line in lines] == ['e/1', 'e/2']
    assert 'stopped' in lines[1]['error'], 'closing the recorder ends it'
    assert not any(measures.scored(line) for line in lines)
    for line in lines:
        check_again(b.out, line)
    assert len(read(b.out / lines[1]['bag'])['/camera/image_raw']) == 1
    assert json.loads((b.out / 'summary.json').read_text())['errors'] == 2


def test_runs_are_opened_closed_and_resumed(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.episode('e/1')
        summary = b.agent.finish(planned=7, interrupted=False)
        assert (summary['episodes'], summary['solved'], summary['planned']) == (1, 1, 7)
        assert json.loads((b.out / 'summary.json').read_text()) == summary
        with pytest.raises(InputError, match='no run is open'):
            b.agent.finish()
        with pytest.raises(InputError, match='seed'):
            b.agent.start(b.out, {'seed': 2})
        assert b.agent.start(b.out) == ['e/1']
        with pytest.raises(InputError, match='run_json'):
            raise_error(b.agent._start(StartRun.Request(), LIMIT_S), 'metrics_recorder')


def test_an_episode_whose_agent_was_killed_does_not_keep_the_run_from_going_on(
        bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.begin('e/1')
        eventually(lambda: b.recorder._current is not None, 'the episode')
        with pytest.raises(BusyError, match='e/1 is under way'):
            b.agent.start(b.out)
        again = b.world.create_publisher(  # the first one is on the graph still
            msg.EpisodeEvent, names.AGENT_EPISODE, qos.EVENTS)
        eventually(lambda: len(b.recorder._agents()) == 2, 'an agent that was started again')
        assert b.agent.start(b.out) == []
        assert not list((b.out / 'bags').iterdir())
        assert measures.solved(b.episode()), 'it can be run again'
        b.world.destroy_publisher(again)


def test_an_episode_that_goes_on_after_its_run_was_finished_is_not_recorded(
        bench: Callable) -> None:
    """Nobody waited for its agent any more, which was paused, for example."""
    with bench() as b:
        b.agent.start(b.out)
        b.begin('e/1')
        eventually(lambda: b.recorder._current is not None, 'the episode')
        assert b.agent.finish(interrupted=True)['episodes'] == 0
        b.end(200)
        assert b.agent.start(b.out) == []
        assert measures.solved(b.episode('e/2'))
        assert b.recorder.exit_code is None


def events_taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[MetricsRecorder, Arrival]]:
    """What recorders will have taken, each after it has seen to it."""
    take, taken = MetricsRecorder._take_event, []

    def note(recorder: MetricsRecorder, arrival: Arrival) -> None:
        take(recorder, arrival)
        taken.append((recorder, arrival))
    monkeypatch.setattr(MetricsRecorder, '_take_event', note)
    return taken


def test_what_is_told_again_of_an_earlier_run_is_not_taken_for_the_new_one(
        bench: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that was cut off, or comes later, is told the agent's last thousand messages."""
    taken = events_taken(monkeypatch)
    with bench() as b:
        b.agent.start(b.out)
        b.begin('e/1')
        b.look(50)
        b.step(50, 120)
        eventually(lambda: b.recorder._current is not None, 'the episode')
        b.agent.finish(interrupted=True)
        later = MetricsRecorder(parameter_overrides=parameters(out=str(tmp_path / 'later')))
        with spinning(later):
            eventually(lambda: {names.AGENT_EPISODE, names.AGENT_STEP} <= {
                arrival.topic for recorder, arrival in taken if recorder is later},
                       'what the agent has said')
            assert later._store is None
        assert not (tmp_path / 'later').exists()
        # The same episode again: nothing of the first attempt goes into it.
        b.agent.start(b.out)
        line = b.episode('e/1')
    assert (line['steps'], line['observations'], measures.solved(line)) == (1, 2, True)
    check_again(b.out, line)


def test_what_is_told_again_of_the_same_run_breaks_nothing_off(
        bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = events_taken(monkeypatch)

    def begun() -> list[str]:
        return [arrival.message.episode_id for _, arrival in taken if arrival.starts]
    with bench() as b:
        b.agent.start(b.out)
        b.episode('e/1')
        b.begin('e/2')
        eventually(lambda: begun() == ['e/1', 'e/2'], 'the second episode')
        under_way = b.recorder._current
        for again in ('e/1', 'e/2'):
            b.begin(again)
        eventually(lambda: begun() == ['e/1', 'e/2', 'e/1', 'e/2'], 'both again')
        assert under_way is not None and b.recorder._current is under_way


def test_no_request_comes_after_the_run_was_closed(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        close_all, served = b.recorder._close_all, []

        def note() -> None:
            served.extend(service.srv_name for service in b.recorder.services)
            close_all()
        b.recorder._close_all = note
    assert served, 'those of the parameters'
    assert not {name for name in served if name.endswith('_run')}


def test_the_run_of_a_graph_begins_when_its_camera_is_found(tmp_path: Path) -> None:
    out = tmp_path / 'run'
    agent, recorder = Agent(), MetricsRecorder(parameter_overrides=parameters(out=str(out)))
    with spinning(agent, recorder):
        begun = threading.Thread(target=agent.start, args=(out, None, '{"graph": {}}'))
        begun.start()
        time.sleep(1.0)
        assert begun.is_alive()
        world = World()
        begun.join(LIMIT_S)
        assert not begun.is_alive()
        world.destroy_node()


def test_errors_are_repeated_when_asked(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.begin()
        b.end(0, StopReason.ERROR)
        assert not measures.scored(b.agent.result('e/1'))
        b.agent.finish()
        assert b.agent.start(b.out) == ['e/1']
        b.agent.finish()
        assert b.agent.start(b.out, retry_errors=True) == []
        b.agent.results.clear()
        assert measures.scored(b.episode())


def test_a_committed_episode_is_not_recorded_twice(bench: Callable) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.episode('e/1')
        b.begin('e/1')
        b.end(200)
        b.episode('e/2')
    assert len((b.out / 'episodes.jsonl').read_text().splitlines()) == 2


def test_episodes_without_an_experiment_are_recorded(bench: Callable) -> None:
    with bench() as b:
        assert measures.solved(b.episode())
    assert len((b.out / 'episodes.jsonl').read_text().splitlines()) == 1


def test_a_torn_bag_is_repaired_when_the_run_is_taken_up(bench: Callable) -> None:
    import os
    with bench() as b:
        b.agent.start(b.out)
        line = b.episode()
        path = b.out / line['bag'] / 'e_1.mcap'
        os.truncate(path, path.stat().st_size // 2)
        b.agent.finish()
        b.agent.start(b.out)
    assert read(b.out / line['bag'])['/agent/episode']


@pytest.mark.parametrize(('keep', 'kept'), [
    ('all', ['e_1', 'e_2', 'e_3']), ('failed', ['e_2']), ('last', ['e_2', 'e_3']), ('none', [])])
def test_which_bags_are_kept(bench: Callable, keep: str, kept: list[str]) -> None:
    with bench(bags=keep, bags_kept=2) as b:
        b.agent.start(b.out)
        lines = [b.episode('e/1'), b.episode('e/2', end_ns=10), b.episode('e/3')]
        assert [measures.solved(line) for line in lines] == [True, False, True]
        assert b.agent.finish()['solved'] == 2
        assert sorted(path.name for path in (b.out / 'bags').glob('e_*')) == kept
        with_bag = {'all': 3, 'failed': 1, 'last': 3, 'none': 0}[keep]
        assert sum('bag' in line for line in lines) == with_bag
        b.agent.start(b.out)
        b.episode('e/4')
        if keep == 'last':
            assert sorted(path.name for path in (b.out / 'bags').glob('e_*')) == ['e_3', 'e_4']


def test_a_full_disk_ends_the_node_and_costs_no_result(
        bench: Callable, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    with small_disk(tmp_path / 'disk') as disk:
        out = disk / 'run'
        with bench() as b:
            b.agent.start(out)
            line = b.episode('e/1')
            filler = fill(disk, 12_000)
            b.begin('e/2')
            b.look(50)
            b.end(200)
            eventually(lambda: b.recorder.exit_code == 1, 'the end of the node')
        said = capfd.readouterr().err
        assert f'cannot record: {out}/bags/e_2' in said and 'No space left' in said
        assert 'make room there' in said
        assert [one['id'] for one in RunStore(out).lines()] == ['e/1']
        check_again(out, line)
        assert not (out / 'bags' / 'e_2').exists(), 'half a bag of an episode that is done again'
        filler.unlink()
        with bench() as b:
            assert b.agent.start(out) == ['e/1']
            check_again(out, b.episode('e/2'))
            assert b.agent.finish()['scored'] == 2


def test_a_summary_takes_at_most_a_fiftieth_of_the_time(
        bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[dict] = []

    def summarise(store: RunStore, more: dict) -> dict:
        written.append(more)
        time.sleep(0.05)
        return {'scored': len(store.lines())}
    monkeypatch.setattr(metrics_recorder, 'summarise_run', summarise)
    monkeypatch.setattr(metrics_recorder, '_SUMMARY_REST', 10_000)
    with bench() as b:
        b.agent.start(b.out)
        for number in range(4):
            b.episode(f'e/{number}')
        assert len(written) == 1, 'the first one, and then not for long'
        assert b.agent.finish()['scored'] == 4
    assert [more.get('interrupted') for more in written] == [True, False]


def test_a_long_run_is_summarised_by_another_process(
        bench: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    with bench() as b:
        b.agent.start(b.out)
        b.episode()
        here = b.agent.finish(planned=1)
        monkeypatch.setattr(metrics_recorder, '_MANY_LINES', 0)
        monkeypatch.setattr(metrics_recorder, 'summarise_run', None)
        b.agent.start(b.out)
        assert b.agent.finish(planned=1) == here


def test_ring_keeps_the_newest_and_waits_for_what_is_on_its_way() -> None:
    import threading

    from rclpy.serialization import serialize_message
    ring = Ring(2)

    def data(stamp_ns: int) -> bytes:
        return serialize_message(CameraInfo(header=MESSAGES.header(stamp_ns)))
    for stamp_ns in (1, 2, 3):
        before_ns = time.time_ns()
        ring.add(data(stamp_ns))
    assert ring.find(1, 60.0) is None, 'gone; no use in waiting'
    found, received_ns = ring.find(3, 0.0)
    assert found == data(3) and before_ns <= received_ns <= time.time_ns()
    assert ring.find(4, 0.0) is None
    threading.Timer(0.05, ring.add, (data(4),)).start()
    found, received_ns = ring.find(4, LIMIT_S)
    assert found == data(4) and before_ns <= received_ns <= time.time_ns()
