"""The node ``metrics_recorder``: bags and results."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import signal
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces import msg
from sightplan_interfaces.srv import FinishRun, StartRun

from sightplan.graphs.placing import joined
from sightplan.metrics import measures
from sightplan.model import (
    BusyError,
    DeadlineError,
    EpisodeEnded,
    EpisodeStarted,
    InfrastructureError,
    InputError,
    StopReason,
    Usage,
    param,
)
from sightplan.model.journal import StorageError
from sightplan.records import RunStore, bag_policy, messages, topics
from sightplan.records.bag import COMPRESSIONS, BagWriter, TopicType, repair
from sightplan.records.bag_messages import message_types
from sightplan.records.bag_policy import BagPolicy
from sightplan.records.evidence import fresh_name
from sightplan.records.messages import EventReader, raw_stamp_ns
from sightplan.records.reorder_buffer import Arrival, ReorderBuffer
from sightplan.records.truth import NotedTruth, TruthReply
from sightplan.runs import Suite, episode_scorer, suite_of_run
from sightplan.runs.summary_process import summarise_apart, summarise_run
from sightplan_nodes import names, qos
from sightplan_nodes.calls import introduce
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import dropping, error_text
from sightplan_nodes.memory import FreedMemory
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ports import RosTruth, TruthSettings
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker, WorkerService

JUDGED, ALL, NONE = 'judged', 'all', 'none'

_FLUSH_BYTES = 8 * 2**20
_CAMERA_COMES_S = 5.0

_SUMMARY_REST = 49
"""While a run goes on its summary is written at most a fiftieth of the time."""
_MANY_LINES = 200
"""A run of more episodes is summarised by a process of its own, which frees the memory."""
_SUMMARY_S, _LAST_SUMMARY_S = 100.0, 3.0
"""Limits of a summary, and of the one that is written while the node closes [s]."""


@dataclass(frozen=True, slots=True)
class MetricsRecorderSettings:
    """Parameters of ``metrics_recorder``."""

    out: str = param('', 'Run directory for episodes that no experiment announces; empty: a new '
                         'one in runs/')
    image_policy: str = param(JUDGED, 'Images that go into the bags: those the agent looked at, '
                                      'all, or none', choices=(JUDGED, ALL, NONE))
    bags: str = param(bag_policy.ALL, 'Bags that are kept: none, those of failed episodes, the '
                                      'last ones, or all', choices=bag_policy.KEEP)
    bags_kept: int = param(bag_policy.KEPT, 'With bags last: how many are kept', low=1)
    compression: str = param('zstd', 'Compression of the bags', choices=COMPRESSIONS)
    image_timeout_s: float = param(2.0, 'How long to wait for an image that was looked at [s]',
                                   low=0.0, high=60.0)
    settle_s: float = param(5.0, "How long to wait for a missing message of the agent's after "
                                 'the end of its episode [s]', low=0.1, high=600.0)


_MOST_KEPT = 60
"""Messages of each stream."""


class Ring:
    """The newest serialized messages of a stream, by stamp.

    Images stay in it until it is known whether one was looked at.
    """

    def __init__(self, size: int = _MOST_KEPT) -> None:
        self._size = size
        self._arrived = threading.Condition()
        self._messages: OrderedDict[int, tuple[bytes, int]] = OrderedDict()

    def add(self, data: bytes) -> None:
        """Keep a message that has just come."""
        with self._arrived:
            self._messages[raw_stamp_ns(data)] = (data, time.time_ns())
            while len(self._messages) > self._size:
                self._messages.popitem(last=False)
            self._arrived.notify_all()

    def find(self, stamp_ns: int, timeout_s: float) -> tuple[bytes, int] | None:
        """The message of a stamp and when it was received; waits for one that is on its way."""
        end = time.monotonic() + timeout_s
        with self._arrived:
            while stamp_ns not in self._messages:
                newest = next(reversed(self._messages), -1)
                left = end - time.monotonic()
                if newest > stamp_ns or left <= 0.0:
                    return None
                self._arrived.wait(left)
            return self._messages[stamp_ns]


def subscribe_to_events(node: Node, submit: Callable[[Callable[[], None]], object],
                        take: Callable[[Arrival], None]) -> None:
    """Subscribe to all that the agent publishes about its episodes.

    Args:
        node: the subscriber.
        submit: has a worker do something.
        take: is given each message, by that worker.
    """
    def taker(topic: str, kind: type) -> Callable[[bytes], None]:
        def arrived(data: bytes) -> None:
            received_ns = time.time_ns()
            submit(lambda: take(
                Arrival(topic, deserialize_message(data, kind), data, received_ns)))
        return arrived
    for topic, name in topics.EVENTS.items():
        kind = getattr(msg, name.rpartition('/')[2])
        node.create_subscription(kind, topic, taker(topic, kind), qos.EVENTS, raw=True,
                                 callback_group=ReentrantCallbackGroup())


_MANY_JOBS = 500
"""Number of waiting jobs above which the recorder warns."""


class _Spending:
    """Cost of a run on models: of earlier sessions, and as the nodes report it in this one.

    That is more than the messages of the episodes tell: also what was spent on requests that
    failed or were not waited for. ``run.json`` has it at once, so that it outlives a crash.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        earlier = store.run_info().get('spent')
        self._earlier = None if earlier is None else Usage(**earlier)
        self._nodes: dict[str, Usage] = {}

    @property
    def total(self) -> Usage | None:
        """The cost; None where the models do not count it."""
        known = [*self._nodes.values(), *([] if self._earlier is None else [self._earlier])]
        return sum(known[1:], known[0]) if known else None

    def take(self, node: str, message: msg.Usage) -> None:
        """Record the spending that a node reports for this run; other runs are ignored."""
        usage = messages.usage_from_msg(message)
        if message.run != str(self._store.folder) or usage is None:
            return
        before = self._nodes.get(node)
        if before is not None and usage.requests < before.requests:  # it was started again
            self._earlier = before if self._earlier is None else self._earlier + before
        self._nodes[node] = usage
        self._store.note('spent', self.as_json())

    def as_json(self) -> dict[str, Any] | None:
        """The total as records have it."""
        return None if self.total is None else dataclasses.asdict(self.total)


class EpisodeRecording:
    """The bag and the score of the episode under way. Lives in the recorder's worker thread."""

    def __init__(self, folder: Path, started: Arrival, truth: RosTruth | None,
                 types: dict[str, TopicType], compression: str,
                 suite: Suite | None, policy: BagPolicy, namespace: str = '') -> None:
        """Open the bag and start scoring; without ``truth`` that tells what was claimed only.

        In the bag topics have the names that they have without remappings, in ``namespace``.

        Raises:
            ProblemError: the episode's problem cannot be read.
            InfrastructureError: the bag cannot be written; StorageError if the disk is full.
        """
        message = started.message
        _, problem = messages.read_episode_problem(message)
        self.spec = messages.spec_from_msg(message, problem)
        self.folder = folder / fresh_name(folder, self.spec.id)
        self._truth = None if truth is None else NotedTruth(truth, self._write_truth)
        self._scorer = episode_scorer(self._truth, suite)
        self._events = EventReader()
        self._policy = policy
        self._bag: BagWriter | None = None
        if policy.writes:
            try:
                self._bag = BagWriter(self.folder, compression, {'episode_id': self.spec.id})
            except StorageError:
                self._remove()
                raise
            self._topics = {name: self._bag.add_topic(f'/{joined(namespace, name)}', types[name],
                                                      topics.bag_qos(name))
                            for name in topics.RECORDED}
        self._images: dict[int, set[str]] = {}  # topics by stamp
        self._missing: set[tuple[str, int]] = set()  # topic and stamp
        self._session = message.session
        self._next = 1  # number of the next message
        self._write(started)
        self._scorer.record(EpisodeStarted(self.spec))

    @property
    def episode_id(self) -> str:
        """Id of the episode."""
        return self.spec.id

    def take(self, arrival: Arrival) -> None:
        """Record and score the next message."""
        self._next = arrival.message.sequence + 1
        self._write(arrival)
        self._scorer.record(self._events.event(arrival.topic, arrival.message))

    def add_image(self, topic: str, stamp_ns: int, image: tuple[bytes, int] | None,
                  info: tuple[bytes, int] | None) -> None:
        """Record an image, once, and with the first of a time its calibration."""
        there = self._images.get(stamp_ns, set())
        if topic in there:
            return
        if image is None:
            self._missing.add((topic, stamp_ns))
            return
        if info is not None and not there:
            self._put(names.CAMERA_INFO, info[1], info[0])
        self._images[stamp_ns] = {*there, topic}
        self._missing.discard((topic, stamp_ns))
        self._put(topic, image[1], image[0])
        if self._bag is not None and self._bag.pending > _FLUSH_BYTES:
            self._bag.flush()

    def add_goal(self, image: tuple[bytes, int]) -> None:
        """Record the picture of the goal."""
        self._put(names.GOAL_IMAGE, image[1], image[0])

    def flush(self) -> None:
        """Make everything so far safe from a crash."""
        if self._bag is not None:
            self._bag.flush()

    def cut_short(self, reason: StopReason, message: str) -> None:
        """Record an end of the episode, because its own never came."""
        event = EpisodeEnded(reason, message)
        end = MESSAGES.ended_to_msg(event, self.spec, self._next)
        end.session = self._session
        self._put(names.AGENT_EPISODE, time.time_ns(), serialize_message(end))
        self._scorer.record(messages.ended_from_msg(end))

    def close(self) -> dict[str, Any]:
        """Close the bag, and remove it if it is not kept; returns the line of results."""
        line = self._scorer.result()
        if self._bag is None:
            return line
        self._bag.close()
        if not self._policy.keeps(line):
            self._remove()
            return line
        return {**line, 'bag': f'{self.folder.parent.name}/{self.folder.name}',
                'images': len(self._images),
                'images_missing': len({stamp_ns for _, stamp_ns in self._missing})}

    def discard(self) -> None:
        """Remove the bag, because the episode will be repeated."""
        if self._bag is not None:
            with contextlib.suppress(InfrastructureError):
                self._bag.close()
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _put(self, topic: str, received_ns: int, data: bytes) -> None:
        if self._bag is not None:
            self._bag.write(self._topics[topic], received_ns, data)

    def _write(self, arrival: Arrival) -> None:
        self._put(arrival.topic, arrival.received_ns, arrival.data)

    def _write_truth(self, told: TruthReply) -> None:
        message = MESSAGES.truth_to_msg(told, self.episode_id)
        self._put(names.TRUTH, time.time_ns(), serialize_message(message))


class MetricsRecorder(Node):
    """Records and scores episodes.

    Parameters: see MetricsRecorderSettings and TruthSettings. Subscribes to the camera and the
    picture of the goal, to the agent's topics and to the models' ``spending``, serves
    ``~/start_run`` (StartRun) and ``~/finish_run`` (FinishRun), and publishes
    ``~/episode_result`` (EpisodeResult) when an episode's result is on disk. A run directory holds
    what ``sightplan run`` writes, plus ``bags/`` with a rosbag2 bag for each episode that ``bags``
    names, which is readable at any time, whatever happens to this process. On a full disk the node
    ends with exit code 1 and says where; what was committed is there.

    Ground truth comes from the service that TruthSettings name, by world time; where there is
    none, on a robot, episodes are recorded and not scored. Scoring and writing happen in a
    thread, fed by a queue, so that waiting for the truth stops nothing. Of an observation of a
    picture with labels the raw picture is recorded, too.
    """

    exit_code: int | None = None

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.METRICS_RECORDER, **node_arguments)
        self._settings = declare_settings(self, MetricsRecorderSettings)
        self._types = {topic: message_types().get(name)
                       for topic, name in topics.RECORDED.items()}
        self._closing, self.stop_signal = False, 0
        where = declare_settings(self, TruthSettings)
        service, self._world = where.service, where.world
        self._truth = RosTruth(self, self._check_closing, service) if service else None
        self._images = {topic: Ring()
                        for topic in (names.CAMERA_IMAGE, names.CAMERA_LABELLED)}
        self._infos = Ring()
        self._results = self.create_publisher(msg.EpisodeResult, '~/episode_result', qos.RESULTS)
        self._worker = Worker(self, names.METRICS_RECORDER)
        # All below is touched by the worker's thread only.
        self._reorder_buffer = ReorderBuffer()
        self._store: RunStore | None = None
        self._session = ''  # what the episodes of the run bear that was opened; none is: empty
        self._suite: Suite | None = None
        self._policy = BagPolicy(Path())
        self._memory = FreedMemory()
        self._summary_due = 0.0  # by the monotonic clock [s]
        self._spending: _Spending | None = None
        self._current: EpisodeRecording | None = None
        self._agent: frozenset[bytes] = frozenset()  # who published the beginning of it
        self._gap_since: float | None = None
        self._goal: tuple[bytes, int] | None = None  # picture of the goal of the episode to come

        group = ReentrantCallbackGroup()
        self._served = [WorkerService(self, kind, name, self._worker, answer)
                        for kind, name, answer in (
                            (StartRun, '~/start_run', self._start_run),
                            (FinishRun, '~/finish_run', self._finish_run))]
        subscribe_to_events(self, self._submit, self._take_event)
        for node, topic in names.SPENDING.items():
            self.create_subscription(msg.Usage, topic, self._spending_taker(node), qos.LATCHED,
                                     callback_group=group)
        self._cameras: dict[str, Subscription] = {}
        if self._settings.image_policy != NONE:
            self._cameras = {topic: self.create_subscription(
                Image, topic, dropping(self, topic, self._image_taker(topic)), qos.SENSOR,
                raw=True, callback_group=group) for topic in self._images}
            self.create_subscription(
                CameraInfo, names.CAMERA_INFO, dropping(self, names.CAMERA_INFO, self._infos.add),
                qos.SENSOR, raw=True, callback_group=group)
            self.create_subscription(Image, names.GOAL_IMAGE, self._take_goal, qos.LATCHED,
                                     raw=True, callback_group=group)
        self.create_timer(0.5, lambda: self._submit(self._check_gap))

    def close(self) -> None:
        """Commit what is under way as cut short, and close the run.

        An episode of an experiment that somebody stops is cancelled instead, as in the agent,
        whose word of it may be under way.
        """
        self._closing = True
        for service in self._served:
            service.close()
        self._submit(self._close_all)  # last: no request opens another run after it
        if not self._worker.close(timeout_s=8.0):
            self.get_logger().error('recording did not end in time')

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the run that is recorded, and the waiting jobs; see ``Diagnosis``."""
        store, current, waiting = self._store, self._current, self._worker.waiting
        diagnosis.note(run=None if store is None else store.folder,
                       episode=None if current is None else current.episode_id,
                       episodes_committed=0 if store is None else store.count,
                       jobs_waiting=waiting)
        if waiting > _MANY_JOBS:
            diagnosis.warn(f'{waiting} messages wait to be recorded: the disk or this computer is '
                           'too slow')

    def _check_closing(self) -> bool:
        if self._closing:
            raise InfrastructureError('the recorder was stopped')
        return False

    # Callbacks, in the executor's thread.

    def _spending_taker(self, node: str) -> Callable[[msg.Usage], None]:
        def note(message: msg.Usage) -> None:
            if self._spending is not None:
                self._spending.take(node, message)
        return lambda message: self._submit(lambda: note(message))

    def _image_taker(self, topic: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            self._images[topic].add(data)
            if self._settings.image_policy == ALL:
                stamp_ns = raw_stamp_ns(data)
                self._submit(lambda: self._record_image(topic, stamp_ns))
        return take

    def _take_goal(self, data: bytes) -> None:
        received_ns = time.time_ns()

        def note() -> None:
            self._goal = data, received_ns
            self._record_goal()
        self._submit(note)

    def _submit(self, job: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                job()
            except Exception as error:
                self.get_logger().fatal(f'cannot record: {error_text(error)}')
                self.exit_code = 1
                if isinstance(error, StorageError) and self._current is not None:
                    self._current.discard()  # it is not committed; room for a summary
                    self._current = None
        self._worker.submit(guarded)

    # The run, in the worker's thread.

    def _start_run(self, request: StartRun.Request, response: StartRun.Response,
                   limit_s: float) -> None:
        if self._current is not None:
            agents = self._agents()
            if agents and agents <= self._agent:  # one that was killed stays for a while
                raise BusyError(f'episode {self._current.episode_id} is under way: wait for its '
                                'end, or stop who runs it')
            self._forget('its agent has died')
        if self._store is not None:
            self._store.close()
        self._store, self._session = None, ''
        try:
            run = json.loads(request.run_json)
            identity, session = run['identity'], run['session']
        except (ValueError, TypeError, KeyError) as error:
            raise InputError('run_json is not an object with "identity" and "session": '
                             f'{error}') from error
        if 'graph' in session:  # which has a world, whose first picture shall not be missed
            self._wait_for_camera()
        store, done = self._open(request.out or self._settings.out, identity, session,
                                 request.resume, request.retry_errors)
        response.out, response.committed = str(store.folder), sorted(done)
        response.session = self._session = uuid.uuid4().hex
        self._reorder_buffer = ReorderBuffer()
        assert self._spending is not None
        response.spent = MESSAGES.usage_to_msg(self._spending.total)

    def _agents(self) -> frozenset[bytes]:
        """Ids of the processes of agents that are on the graph."""
        return frozenset(bytes(end.endpoint_gid) for end in
                         self.get_publishers_info_by_topic(topics.AGENT_EPISODE))

    def _forget(self, why: str) -> None:
        """Drop the recording of the episode under way."""
        recording, self._current = self._current, None
        assert recording is not None
        self.get_logger().warning(f'{recording.episode_id}: {why}; not recorded')
        self._reorder_buffer.finish(recording.episode_id)
        recording.discard()

    def _wait_for_camera(self) -> None:
        """Give camera and recorder time to find each other.

        Fast DDS announces what was just started every 3 s.
        """
        camera, end_s = self._cameras.get(names.CAMERA_IMAGE), time.monotonic() + _CAMERA_COMES_S
        while (camera is not None and not camera.get_publisher_count()
               and time.monotonic() < end_s and not self._closing):
            time.sleep(0.02)
        if camera is not None:
            introduce(self, self._world, _CAMERA_COMES_S, lambda: self._closing)

    def _open(self, out: str, identity: dict[str, Any], session: dict[str, Any], resume: bool,
              retry_errors: bool = False) -> tuple[RunStore, set[str]]:
        store = RunStore(out or Path('runs') / time.strftime('%Y%m%d-%H%M%S-episodes'))
        done = store.open(identity, session, resume)
        if retry_errors and store.drop_unscored():
            done = store.done()
        for folder in sorted((store.folder / 'bags').glob('*')):
            if folder.is_dir() and repair(folder) >= 0:
                self.get_logger().warning(f'{folder}: was not finished; repaired')
        self._store = store
        self._spending = _Spending(store)
        self._policy = BagPolicy(store.folder, self._settings.bags, self._settings.bags_kept)
        self._summary_due = 0.0
        self._suite = suite_of_run(store.run_info())
        self.get_logger().info(f'recording in {store.folder}')
        return store, done

    def _finish_run(self, request: FinishRun.Request, response: FinishRun.Response,
                    limit_s: float) -> None:
        if self._store is None:
            raise InputError('no run is open')
        if self._current is not None:
            self._forget('the run was finished')
        store, self._store, self._session = self._store, None, ''
        try:
            summary = self._summarise(store, {
                'planned': request.planned, 'problems': request.problems,
                'problems_skipped': list(request.problems_skipped),
                'interrupted': request.interrupted, 'stopped_by': request.stopped_by}, _SUMMARY_S)
            if not summary:
                raise DeadlineError(f'{store.folder}: was not summarised within {_SUMMARY_S:g} s')
        finally:
            store.close()
        response.out, response.summary_json = str(store.folder), json.dumps(summary)

    def _summarise(self, store: RunStore, notes: dict[str, Any], limit_s: float,
                   ) -> dict[str, Any]:
        """Write the summary; {} if a process of its own was not done within the limit."""
        assert self._spending is not None
        more = {'out': str(store.folder), 'spent': self._spending.as_json(), **notes}
        if store.count > _MANY_LINES:
            return summarise_apart(store.folder, more, limit_s)
        return summarise_run(store, more)

    def _summarise_so_far(self) -> None:
        """Until the run is finished, now and then: it takes the longer the more there is."""
        began = time.monotonic()
        if began >= self._summary_due:
            assert self._store is not None
            self._summarise(self._store, {'interrupted': True}, _SUMMARY_S)
            ended = time.monotonic()
            self._summary_due = ended + _SUMMARY_REST * (ended - began)

    def _close_all(self) -> None:
        if self._current is not None:
            cancelled = self._session and self.stop_signal == signal.SIGINT
            self._cut_short('the recorder was stopped before the end of the episode',
                            StopReason.CANCELLED if cancelled else StopReason.ERROR)
        if self._store is not None:
            store, self._store = self._store, None
            try:
                self._summarise(store, {'interrupted': True}, _LAST_SUMMARY_S)
            finally:
                store.close()

    # The episode, in the worker's thread.

    def _take_event(self, arrival: Arrival) -> None:
        if self.exit_code is not None:  # the node is about to end
            return
        session = arrival.message.session
        # Who was cut off is told all again: what is of a run that is closed, and how the episode
        # under way began, of which a run has one attempt.
        if session not in ('', self._session) or (
                session and self._reorder_buffer.repeats(arrival)):
            return
        for ready in self._reorder_buffer.add(arrival):
            if ready.starts:
                self._start(ready)
            elif (self._current is not None
                  and ready.message.episode_id == self._current.episode_id):
                self._record(ready)

    def _start(self, arrival: Arrival) -> None:
        episode_id = arrival.message.episode_id
        if self._store is None:
            self._open(self._settings.out, {'source': 'topics'}, {}, resume=True)
        assert self._store is not None
        if episode_id in self._store:
            self.get_logger().warning(f'{episode_id} is recorded already; not recorded again')
            return
        if self._current is not None:
            self._cut_short(f'episode {episode_id} began before this one had ended')
        self._current = EpisodeRecording(self._store.folder / 'bags', arrival, self._truth,
                                         self._types, self._settings.compression, self._suite,
                                         self._policy, self.get_namespace())
        self._agent = self._agents()
        self._record_goal()
        self._current.flush()

    def _record(self, arrival: Arrival) -> None:
        recording = self._current
        assert recording is not None
        if (isinstance(arrival.message, msg.Observation) and arrival.message.image_id
                and self._settings.image_policy != NONE):
            stamp_ns = messages.time_from_msg(arrival.message.header.stamp)
            for topic in self._images if arrival.message.labelled else (names.CAMERA_IMAGE,):
                self._record_image(topic, stamp_ns, self._settings.image_timeout_s)
        recording.take(arrival)
        recording.flush()
        if arrival.ends:
            self._commit(keep=arrival.message.stop_reason != StopReason.CANCELLED.value)

    def _record_image(self, topic: str, stamp_ns: int, timeout_s: float = 0.0) -> None:
        if self._current is None:
            return
        image = self._images[topic].find(stamp_ns, timeout_s)
        if image is None:
            self.get_logger().warning(
                f'the image of {stamp_ns} ns on {topic} did not reach the recorder')
        self._current.add_image(topic, stamp_ns, image, self._infos.find(stamp_ns, timeout_s))

    def _record_goal(self) -> None:
        """Record the picture of the goal, once, whether it came before the episode or after."""
        if self._current is not None and self._goal is not None and (
                self._current.spec.pictured_goal):
            self._current.add_goal(self._goal)
            self._goal = None

    def _check_gap(self) -> None:
        """End an episode whose end has come, but not all before it."""
        gap = None if self._current is None else self._reorder_buffer.gap(self._current.episode_id)
        if gap is None:
            self._gap_since = None
        elif self._gap_since is None:
            self._gap_since = time.monotonic()
        elif time.monotonic() - self._gap_since > self._settings.settle_s:
            self._gap_since = None
            self._cut_short(f"message {gap[0]} of the agent's {gap[1] + 1} was lost")

    def _cut_short(self, message: str, reason: StopReason = StopReason.ERROR) -> None:
        assert self._current is not None
        cancelled = reason is StopReason.CANCELLED
        if not cancelled:
            self.get_logger().error(messages.text(f'{self._current.episode_id}: {message}'))
        self._reorder_buffer.finish(self._current.episode_id)
        self._current.cut_short(reason, message)
        self._commit(keep=not cancelled)

    def _commit(self, keep: bool) -> None:
        """Write the result to disk, then publish it; a cancelled episode is not written."""
        recording, self._current = self._current, None
        assert recording is not None
        assert self._store is not None
        try:
            line = recording.close()
            if keep:
                self._store.append(line)
        except StorageError:
            recording.discard()
            raise
        if 'bag' in line:
            self._policy.committed(recording.folder.name)
        if keep:
            self._summarise_so_far()
        self._results.publish(msg.EpisodeResult(
            episode_id=recording.episode_id, scored=measures.scored(line),
            solved=bool(measures.solved(line)), result_json=json.dumps(line)))
        self._memory.give_back()


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(MetricsRecorder, args)
