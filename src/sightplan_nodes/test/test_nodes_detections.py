"""Detections of vision_msgs beside the replies of the node grounder."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces.srv import Ask, Locate, TellApart

from nodes_testing import LIMIT_S, Manager, eventually, parameters, spinning
from sightplan.model import Form, InfrastructureError, Observation, Region, Target
from sightplan.model.query import Deadline, answers
from sightplan.queries import Detect
from sightplan.queries import Locate as LocateQuery
from sightplan.queries.detect import Detection, DetectReply
from sightplan.queries.locate import LocateReply
from sightplan.records import messages
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.geometry import make_pose, transform
from sightplan_nodes import backend_node, camera_topics, conversions, names, qos, query_messages
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.detections import ANY_TURN, things_of_reply
from sightplan_nodes.frames import camera_from_msg, pose_to_msg
from sightplan_nodes.grounder import GrounderNode
from test_nodes_locate import Answers

vision = pytest.importorskip('vision_msgs.msg',
                             reason='vision_msgs is neither installed nor built')

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
BOX = Region(Form.BOX, ((0.0, 0.25), (0.5, 0.75)))
PLACES = {
    'the mug': LocateReply((Region(Form.POINT, ((0.25, 0.5),)),), 'there', 0.95, exists=1.0),
    'both cups': LocateReply((Region(Form.POINT, ((0.5, 0.5),)), Region(
        Form.POINT, ((0.75, 0.5),), probability=0.25)), 'there', 0.5, exists=1.0),
    'the box': LocateReply((BOX,), 'there'),
    'a way': LocateReply((Region(Form.TRACE, ((0.1, 0.1), (0.9, 0.9))),), 'along'),
    'the cat': LocateReply((), 'no cat', 0.9),
    'nonsense': LocateReply((), 'x = 640', unread='640 is not within 0 and 1'),
    'the zyx': LocateReply((), '', unknown=('zyx',)),
    'the moon': LocateReply((Region(Form.POINT, ((0.5, 0.5),)),), '', 0.9, foreign=0.9)}
SEEN = DetectReply((
    Detection(BOX, {'mug': 0.75, 'cup': 0.25, 'can': 0.0}, {'red': 1.0}, 0.5),
    Detection(Region(Form.BOX, ((0.5, 0.0), (1.0, 0.5))), {'can': 1.0}, {}, 0.875)))
CAMERA_INFO = CameraInfo(width=6, height=4, k=[5.0, 0.0, 2.5, 0.0, 4.0, 1.5, 0.0, 0.0, 1.0])
POSE = make_pose([1.5, 0.5, 0.7], [[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
COVARIANCE = np.diag([1e-4, 2e-4, 3e-4, 1e-6, 2e-6, 3e-6])


class Finds(Answers):
    """A backend that points by the text of the target, and detects."""

    seen = SEEN

    @answers(LocateQuery)
    def locate(self, request: LocateQuery, deadline: Deadline) -> LocateReply:
        return PLACES[request.target.text]

    @answers(Detect)
    def detect(self, request: Detect, deadline: Deadline) -> DetectReply:
        return self.seen


class Client(Manager):
    """Asks the node, and gets what it publishes."""

    def __init__(self, backend: Finds) -> None:
        super().__init__(names.GROUNDER)
        self.backend = backend
        self.flat: list[Any] = []
        self.solid: list[Any] = []
        for kind, topic, sink in ((vision.Detection2DArray, names.DETECTIONS, self.flat),
                                  (vision.Detection3DArray, names.DETECTIONS_3D, self.solid)):
            self.node.create_subscription(kind, topic, sink.append, qos.EVENTS)
        self._locate, self._tell, self._ask = (
            ServiceCaller(self.node, kind, name, names.GROUNDER) for kind, name in (
                (Locate, names.LOCATE), (TellApart, f'{names.GROUNDER}/tell_apart'),
                (Ask, names.ASK)))

    @staticmethod
    def observation() -> Any:
        return conversions.observation_to_request(Observation(IMAGE, 7, 'optical'))

    def locate(self, *texts: str, form: Form = Form.POINT) -> None:
        request = query_messages.fill_targets(
            Locate.Request(max_askings=1), [Target(text, form) for text in texts])
        request.observation = self.observation()
        assert self._locate(request, LIMIT_S).error_code == 0

    def tell_apart(self) -> None:
        reply = self._tell(TellApart.Request(observation=self.observation()), LIMIT_S)
        assert reply.error_code == 0

    def ask(self, *queries: Any, frame: str = 'optical') -> None:
        seen = Observation(IMAGE, 7 if frame else 0, frame)
        written, shown = query_messages.write_queries(queries, lambda picture: seen)
        reply = self._ask(Ask.Request(queries=written, observations=[
            conversions.observation_to_request(one) for one in shown]), LIMIT_S)
        assert reply.error_code == 0, reply.error_msg


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes grounder nodes over a backend."""
    @contextlib.contextmanager
    def make(backend: Finds | None = None) -> Iterator[Client]:
        chosen = backend or Finds()
        monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: chosen)
        monkeypatch.setattr(backend_node, 'backend_class', lambda name: Finds)
        node = GrounderNode(parameter_overrides=parameters(backend='noisy_oracle'))
        client = Client(chosen)
        with spinning(node, client.node):
            eventually(lambda: client.node.count_publishers(names.DETECTIONS_3D), 'publishers')
            yield client
    return make


@contextlib.contextmanager
def with_depth(client: Client) -> Iterator[Any]:
    """Publishes depth, calibration and, once it is given one, the pose of the camera."""
    depths = client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
    infos = client.node.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
    depth = np.full((4, 6), 2.0, np.float32)
    client.node.create_timer(0.05, lambda: infos.publish(CAMERA_INFO))
    client.node.create_timer(0.05, lambda: depths.publish(conversions.depth_to_msg(depth, 7)))
    yield client.node.create_publisher(PoseWithCovarianceStamped, names.CAMERA_POSE, qos.LATCHED)


def pose_msg(covariance: np.ndarray, stamp_ns: int = 0) -> PoseWithCovarianceStamped:
    message = PoseWithCovarianceStamped()
    message.header = conversions.MESSAGES.header(stamp_ns, 'robot1/table')
    message.pose.pose, message.pose.covariance = pose_to_msg(POSE), covariance.ravel()
    return message


def boxes(message: Any) -> list[tuple[str, float, float, float, float, float]]:
    """Class and score of the likeliest hypothesis, centre and size of each detection."""
    return [(one.results[0].hypothesis.class_id, one.results[0].hypothesis.score,
             one.bbox.center.position.x, one.bbox.center.position.y, one.bbox.size_x,
             one.bbox.size_y) for one in message.detections]


def test_places_are_detections_in_pixels(made: Callable[..., Any]) -> None:
    with made() as client:
        client.locate('the mug', 'both cups', 'the cat', 'nonsense')
        eventually(lambda: client.flat, 'detections')
    (found,) = client.flat
    assert boxes(found) == [('the mug', 0.95, 1.5, 2.0, 0.0, 0.0),
                            ('both cups', 0.5, 3.0, 2.0, 0.0, 0.0),
                            ('both cups', 0.25, 4.5, 2.0, 0.0, 0.0)]
    for header in (found.header, *(one.header for one in found.detections)):
        assert (messages.time_from_msg(header.stamp), header.frame_id) == (7, 'optical')
    assert not client.solid, 'without depth'


def test_who_cannot_tell_detects_nothing_and_says_nothing(made: Callable[..., Any]) -> None:
    with made() as client:
        client.locate('nonsense', 'the zyx', 'the moon')
        client.locate('a way', form=Form.TRACE)
        client.locate('nonsense', 'the cat')
        client.ask(LocateQuery(IMAGE, Target('the cat')), LocateQuery(IMAGE, Target('the moon')))
        client.locate('the cat')
        client.locate('the box', form=Form.BOX)
        eventually(lambda: len(client.flat) > 1 and boxes(client.flat[-1]), 'two messages')
    absent, box = map(boxes, client.flat)  # of no request of which a part cannot be told
    assert absent == []
    assert box[0][0] == 'the box' and math.isnan(box[0][1]) and box[0][2:] == (1.5, 2.0, 3.0, 2.0)


def test_late_subscribers_get_what_was_found_last(made: Callable[..., Any]) -> None:
    with made() as client:
        client.locate('the box', form=Form.BOX)
        client.locate('the mug')
        late: list[Any] = []
        client.node.create_subscription(vision.Detection2DArray, names.DETECTIONS, late.append,
                                        qos.LATCHED)
        eventually(lambda: late, 'the last detections')
    assert [found[0] for found in boxes(late[0])] == ['the mug']


def test_things_that_were_told_apart_have_their_names_and_all_classes(
        made: Callable[..., Any]) -> None:
    with made() as client:
        client.tell_apart()
        eventually(lambda: client.flat, 'detections')
    mug = next(one for one in client.flat[0].detections if one.id.startswith('mug'))
    assert [(one.hypothesis.class_id, one.hypothesis.score) for one in mug.results] == [
        ('mug', 0.375), ('cup', 0.125)]
    assert (mug.bbox.size_x, mug.bbox.size_y) == (3.0, 2.0)
    assert len(client.flat[0].detections) == 2


def test_a_model_that_cannot_tell_things_apart_detects_none(made: Callable[..., Any]) -> None:
    backend = Finds()
    backend.seen = DetectReply(cannot_tell='unlike anything')
    with made(backend) as client:
        client.tell_apart()
        client.ask(Detect(IMAGE))
        backend.seen = DetectReply()
        client.ask(Detect(IMAGE))
        eventually(lambda: client.flat, 'a message')
    assert [boxes(one) for one in client.flat] == [[]]


def test_what_is_of_no_class_is_no_detection(made: Callable[..., Any]) -> None:
    backend = Finds()
    backend.seen = DetectReply((Detection(BOX, {'mug': 1.0}, {}, 0.0), *SEEN.detections[1:]))
    with made(backend) as client:
        client.ask(Detect(IMAGE))
        eventually(lambda: client.flat, 'detections')
    assert [one[0] for one in boxes(client.flat[0])] == ['can']


def test_a_reply_is_sent_though_what_it_found_cannot_be_published(
        made: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def broken(*given: Any) -> None:
        tried.append(given)
        raise InfrastructureError('no calibration')
    monkeypatch.setattr('sightplan_nodes.detections.surface_of', broken)
    with made() as client, with_depth(client):
        for ask in (client.tell_apart, lambda: client.ask(Detect(IMAGE)),
                    lambda: client.locate('the mug')):
            tried.clear()
            eventually(lambda ask=ask: ask() or tried, 'depth')


def test_a_calibration_for_pictures_of_another_size_is_not_waited_for_again(
        monkeypatch: pytest.MonkeyPatch) -> None:
    node, asked, now_s = Node('watching'), [], [100.0]

    def next_camera_info(*given: Any) -> CameraInfo:
        asked.append(given)
        return CAMERA_INFO
    monkeypatch.setattr(camera_topics, 'next_camera_info', next_camera_info)
    monkeypatch.setattr(camera_topics.time, 'monotonic', lambda: now_s[0])
    node.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
    intrinsics = camera_topics.Intrinsics(node)
    assert intrinsics.of(8, 6) is None and intrinsics.of(8, 6) is None and len(asked) == 1
    assert intrinsics.of(6, 4) == (5.0, 4.0, 3.0, 2.0)
    now_s[0] += 60.0
    assert intrinsics.of(8, 6) is None and len(asked) == 3, 'the camera may have changed'
    node.destroy_node()


def test_replies_to_queries_of_any_kind_are_detections_too(made: Callable[..., Any]) -> None:
    with made() as client:
        client.ask(Detect(IMAGE), frame='')
        client.ask(Detect(IMAGE), LocateQuery(IMAGE, Target('the mug')),
                   LocateQuery(IMAGE, Target('nonsense')))
        eventually(lambda: client.flat, 'detections')
    (found,) = client.flat  # the first picture was none of the camera
    assert [(name, score) for name, score, *_ in boxes(found)] == [
        ('mug', 0.375), ('can', 0.875), ('the mug', 0.95)]


def test_what_lies_in_three_dimensions_has_the_uncertainty_of_the_camera(
        made: Callable[..., Any]) -> None:
    with made() as client, with_depth(client) as poses:
        def found(frame: str) -> Any:
            client.locate('the box', form=Form.BOX)
            client.locate('the mug')
            return len(client.solid) > 1 and client.solid[-2].header.frame_id == frame
        eventually(lambda: found('optical'), 'places by depth')
        client.locate('a way', form=Form.TRACE)
        alone = client.solid[-2:]
        poses.publish(pose_msg(np.zeros((6, 6))))  # its covariance is not known
        client.locate('the mug')
        poses.publish(pose_msg(COVARIANCE, stamp_ns=8))  # later than the picture
        client.locate('the mug')
        assert {one.header.frame_id for one in client.solid} == {'optical'}
        poses.publish(pose_msg(COVARIANCE))
        eventually(lambda: found('robot1/table'), 'places in the frame of the table')
    placed = client.solid[-2:]
    camera = CameraPose(POSE, COVARIANCE)
    for (seen,), (there,) in zip((one.detections for one in alone),
                                 (one.detections for one in placed), strict=True):
        at = seen.results[0].pose
        point = np.array([at.pose.position.x, at.pose.position.y, at.pose.position.z])
        whole = np.reshape(at.covariance, (6, 6))
        expected, covariance = camera.carry(point, whole[:3, :3])
        got = there.results[0].pose
        np.testing.assert_allclose([got.pose.position.x, got.pose.position.y,
                                    got.pose.position.z], expected)
        np.testing.assert_allclose(expected, transform(POSE, point))
        np.testing.assert_allclose(np.reshape(got.covariance, (6, 6))[:3, :3], covariance)
        assert covariance[0, 0] > whole[2, 2] + 0.9e-4, 'that of the camera is part of it'
        np.testing.assert_allclose(np.reshape(got.covariance, (6, 6))[3:, 3:],
                                   ANY_TURN * np.eye(3))
        assert there.bbox.center == got.pose
    (box,), (mug,) = (one.detections for one in alone)
    middle = mug.bbox.center.position
    np.testing.assert_allclose([middle.x, middle.y, middle.z], [2 * -1.5 / 5, 0.0, 2.0])
    assert (mug.bbox.size.x, mug.bbox.size.y, mug.bbox.size.z) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose([box.bbox.size.x, box.bbox.size.y, box.bbox.size.z],
                               [3 * 2 / 5, 2 * 2 / 4, 0.0], atol=1e-12)
    assert box.results[0].hypothesis.class_id == 'the box'


def test_without_vision_msgs_the_node_answers_as_ever(made: Callable[..., Any],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    load = importlib.import_module

    def missing(name: str) -> Any:
        if name == 'vision_msgs.msg':
            raise ImportError(name)
        return load(name)
    monkeypatch.setattr('sightplan_nodes.detections.importlib.import_module', missing)
    chosen = Finds()
    monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: chosen)
    monkeypatch.setattr(backend_node, 'backend_class', lambda name: Finds)
    node = GrounderNode(parameter_overrides=parameters(backend='noisy_oracle'))
    client = Client(chosen)
    with spinning(node, client.node):
        client.locate('the mug')
        assert not client.node.count_publishers(names.DETECTIONS)


def test_a_pose_that_cannot_be_read_is_dropped(made: Callable[..., Any]) -> None:
    with made() as client, with_depth(client) as poses:
        eventually(poses.get_subscription_count, 'a subscription')
        poses.publish(PoseWithCovarianceStamped(
            pose=pose_msg(COVARIANCE * np.nan).pose))
        bad = pose_msg(COVARIANCE)
        bad.pose.pose.orientation.w = bad.pose.pose.orientation.x = 0.0
        bad.pose.pose.orientation.y = bad.pose.pose.orientation.z = 0.0
        poses.publish(bad)
        eventually(lambda: client.locate('the mug') or client.solid, 'places by depth')
    assert client.solid[-1].header.frame_id == 'optical'


def test_the_message_of_a_pose_and_back() -> None:
    found = camera_from_msg(pose_msg(COVARIANCE))
    np.testing.assert_allclose(found.pose, POSE, atol=1e-12)
    np.testing.assert_allclose(found.covariance, COVARIANCE)
    assert camera_from_msg(pose_msg(np.zeros((6, 6)))).covariance is None


def test_a_reply_about_no_things_is_none() -> None:
    way = Target('a way', Form.TRACE)
    assert things_of_reply(LocateQuery(IMAGE, way), PLACES['a way']) is None
    assert things_of_reply(LocateQuery(IMAGE, Target('a mug')), None) is None
