"""The node rerun_viewer, fed by a scripted agent and a scripted camera."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from rclpy.node import Node
from sensor_msgs.msg import Image

from nodes_testing import eventually, parameters, problem, spinning
from sightplan.model import (
    Answer,
    AskPurpose,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
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
    Question,
    Stepped,
    StopReason,
)
from sightplan.queries import answered
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.ports import RosRecorder
from sightplan_nodes.rerun_viewer import RerunViewer
from sightplan_report.rerun_log import RerunLog

pytest.importorskip('rerun')

DOMAIN, FIRST = problem()
ACTION = DOMAIN.model(FIRST).actions[0]
ATOM = sorted(FIRST.init)[0]


class Robot(Node):
    """Agent and camera at once; pictures of value 1 are raw, of 2 labelled."""

    def __init__(self, labelled: bool) -> None:
        super().__init__(names.AGENT)
        self.recorder = RosRecorder(self, lambda: labelled)
        self.recorder.messages.domain = DOMAIN
        self._cameras = [(self.create_publisher(Image, topic, qos.SENSOR), value)
                         for topic, value in ((names.CAMERA_IMAGE, 1), (names.CAMERA_LABELLED, 2))]

    def connected(self) -> bool:
        return all(p.get_subscription_count() for p, _ in self._cameras)

    def look(self, stamp_ns: int, shown: bool = True) -> Observation:
        for publisher, value in self._cameras if shown else ():
            image = np.full((4, 6, 3), value, np.uint8)
            publisher.publish(MESSAGES.image_to_msg(image, stamp_ns, 'cam'))
        return Observation.elsewhere(f'{stamp_ns:016x}', stamp_ns, 'cam')

    def episode(self, shown: bool = True) -> None:
        look = self.look(10**9, shown)
        for event in (
                EpisodeStarted(EpisodeSpec('e/1', FIRST, 'belief')), Observed(look),
                answered(look, (Question(ATOM, 'Is it so?'),),
                         (Answer('yes', 0.9, 0.1),), (None,),
                         AskPurpose.ENUMERATION),
                BeliefUpdated(Belief(frozenset({ATOM}), {ATOM: 0.9})),
                Planned(PlanningResult(PlanningStatus.SOLVED, (ACTION,))),
                Stepped(0, ACTION, Feedback(FeedbackStatus.EXECUTED, '', 2 * 10**9), 10**9),
                EpisodeEnded(StopReason.PLAN_DONE, '', 1, 0, 2 * 10**9, 1.0)):
            self.recorder.record(event)


def read(path) -> dict[str, list]:
    """Rows of a file by entity."""
    from rerun.chunk import RrdReader
    reader = RrdReader(str(path))
    rows: dict[str, list] = {}
    for chunk in reader.stream(store=reader.recordings()[0]).to_chunks():
        rows.setdefault(chunk.entity_path.lstrip('/'), []).extend(
            chunk.to_record_batch().to_pylist())
    return rows


def ended(path) -> bool:
    """Whether the end of an episode is in a file that may be growing."""
    with contextlib.suppress(RuntimeError), warnings.catch_warnings(action='ignore'):
        return 'Ended' in str(read(path).get('episode'))
    return False


@pytest.mark.parametrize(('labelled', 'value'), [(False, 1), (True, 2)])
def test_an_episode_is_shown(tmp_path, labelled: bool, value: int) -> None:
    path = tmp_path / 'x.rrd'
    robot = Robot(labelled)
    viewer = RerunViewer(parameter_overrides=parameters(target=str(path)))
    with spinning(robot, viewer):
        eventually(robot.connected, 'a connection')
        robot.episode()
        eventually(lambda: ended(path), 'the end of the episode')
    rows = read(path)
    (image,) = rows['camera/image']
    assert set(image['Image:buffer'][0]) == {value}, 'the picture that models were shown'
    assert {'episode', 'answers/last', 'answers/log', 'belief/atoms', 'belief/state', 'plan',
            'action', 'log'} <= rows.keys()
    assert 'truth' not in rows
    assert '| Is it so? | yes | 0.900 |' in str(rows['answers/last'])
    assert ACTION.name in str(rows['plan'])
    assert ACTION.name in str(rows['action'])


def test_without_pictures_the_rest_is_shown(tmp_path) -> None:
    """And one that comes late is told what the agent keeps."""
    path = tmp_path / 'x.rrd'
    robot = Robot(False)
    robot.episode(shown=False)
    viewer = RerunViewer(parameter_overrides=parameters(target=str(path), image_timeout_s=0.1))
    with spinning(robot, viewer):
        eventually(lambda: ended(path), 'the end of the episode')
    assert 'camera/image' not in read(path)


def test_what_cannot_be_shown_does_not_hide_the_rest(tmp_path, monkeypatch) -> None:
    record = RerunLog.record

    def record_or_fail(log: RerunLog, event: EpisodeEvent) -> None:
        if isinstance(event, Planned):
            raise ValueError('not drawable')
        record(log, event)
    monkeypatch.setattr(RerunLog, 'record', record_or_fail)
    path = tmp_path / 'x.rrd'
    robot = Robot(False)
    robot.episode(shown=False)
    viewer = RerunViewer(parameter_overrides=parameters(target=str(path), image_timeout_s=0.0))
    with spinning(robot, viewer):
        eventually(lambda: ended(path), 'the end of the episode')


@pytest.mark.parametrize(('target', 'words'), [('', 'target is empty'), ('x.txt', 'FILE.rrd')])
def test_it_says_where_it_could_be_shown(target: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        RerunViewer(parameter_overrides=parameters(target=target))
