"""The service ~/locate of the node grounder, over backends that can point and one that cannot."""

from __future__ import annotations

import ast
import contextlib
import math
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CameraInfo, Image
from sightplan_interfaces import msg
from sightplan_interfaces.srv import Ground, Locate

from nodes_testing import LIMIT_S, Manager, eventually, parameters, spinning
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    Form,
    InputError,
    Observation,
    Question,
    Region,
    Target,
    UnknownImageError,
    Usage,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Answer, YesNo
from sightplan.queries.locate import Locate as LocateQuery
from sightplan.queries.locate import LocateReply
from sightplan.records import messages
from sightplan_belief import Found, locate_picture
from sightplan_belief.pointing import propose_pieces
from sightplan_nodes import (
    backend_node,
    camera_topics,
    conversions,
    grounder,
    names,
    qos,
    query_messages,
)
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.grounder import GrounderNode

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
MUG, PAN = Region(Form.POINT, ((0.25, 0.5),), 'mug'), Region(Form.POINT, ((0.625, 0.75),))
PLACES = {
    'the mug': LocateReply((MUG,), 'at (0.25, 0.5)', 0.95, exists=1.0),
    'the pan': LocateReply((PAN, MUG), 'there', 0.4, exists=1.0),
    'the cat': LocateReply((), 'no cat'),
    'nonsense': LocateReply((), 'x = 640', unread='640 is not within 0 and 1'),
}


class Answers(ModelByKind):
    """A backend that answers yes, and cannot point."""

    name = 'fake-1'

    def __init__(self) -> None:
        self.usage = Usage()
        self.episodes: list[str] = []
        self.fail: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.requests: list[LocateQuery] = []
        self.deadlines: list[Deadline] = []

    def start_episode(self, episode_id: str, split: str = '') -> None:
        self.episodes.append(episode_id)

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        return [Answer('Yes', 0.75, 0.25)] * len(request)


class Points(Answers):
    """One that can: by the text of the target."""


    @answers(LocateQuery)
    def locate(self, request: LocateQuery, deadline: Deadline) -> LocateReply:
        self.requests.append(request)
        self.deadlines.append(deadline)
        self.usage = self.usage + Usage(1, 50, 5, 0.25)
        assert self.may_go_on.wait(LIMIT_S)
        if self.fail is not None:
            raise self.fail
        reply, form = PLACES[request.target.text], request.target.form
        if form in (Form.POINT, Form.POINTS):
            return reply
        return replace(reply, regions=tuple(
            Region(form, (*region.points, (1.0, 1.0))) for region in reply.regions))


class Client(Manager):
    """Asks the node."""

    def __init__(self, backend: Answers) -> None:
        super().__init__(names.GROUNDER)
        self.backend = backend
        self.service = ServiceCaller(self.node, Locate, names.LOCATE, names.GROUNDER)
        self.ground = ServiceCaller(self.node, Ground, names.GROUND, names.GROUNDER)

    def locate(self, *texts: str, kind: Form = Form.POINT, image: np.ndarray | None = IMAGE,
               stamp_ns: int = 7, image_id: str = '', **fields: Any) -> Locate.Response:
        request = query_messages.fill_targets(
            Locate.Request(max_askings=1), [Target(text, kind) for text in texts],
            start=fields.pop('start', None))
        for name, value in fields.items():
            setattr(request, name, value)
        request.observation.image_id = image_id
        if image is not None:
            request.observation = conversions.observation_to_request(
                Observation(image, stamp_ns, 'optical'))
        return self.service(request, LIMIT_S)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """Makes grounder nodes over a backend."""
    backends = []

    @contextlib.contextmanager
    def make(kind: type[Answers] = Points, **settings: object):
        backend = kind()
        backends.append(backend)
        monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: backend)
        monkeypatch.setattr(backend_node, 'backend_class', lambda name: kind)
        node = GrounderNode(parameter_overrides=parameters(
            **{'backend': 'noisy_oracle', **settings}))
        client = Client(backend)
        with spinning(node, client.node):
            yield client
    yield make
    for backend in backends:
        backend.may_go_on.set()


def test_places_of_all_targets_in_order(made: Callable) -> None:
    with made() as client:
        reply = client.locate('the mug', 'the pan', 'the cat', 'nonsense')
    assert reply.error_code == 0, reply.error_msg
    targets = [Target(text) for text in PLACES]
    assert query_messages.found_from_response(reply, targets) == [
        Found(targets[0], (MUG,), 0.95, True, '', 'at (0.25, 0.5)', 1, 0, 'fake-1',
              present=1.0),
        Found(targets[1], (PAN, MUG), 0.4, False, '', 'there', 1, 0, 'fake-1',
              'the probability is below 0.95', present=1.0),
        Found(targets[2], (), None, False, '', 'no cat', 1, 0, 'fake-1',
              'the model offers no probability'),
        Found(targets[3], (), None, False, '640 is not within 0 and 1', 'x = 640', 1, 0,
              'fake-1')]
    assert [one.whereabouts for one in reply.found] == [
        msg.Located.HERE, msg.Located.HERE, msg.Located.NOT_HERE, msg.Located.CANNOT_TELL]
    assert reply.found[3].reason
    mug, pan = reply.found[0].regions[0], reply.found[1].regions[0]
    assert (mug.form, list(mug.x), list(mug.y)) == (msg.Region.POINT, [0.25], [0.5])
    assert (pan.form, list(pan.x), list(pan.y)) == (msg.Region.POINT, [0.625], [0.75])
    assert math.isnan(reply.found[2].probability)
    assert (messages.time_from_msg(reply.header.stamp), reply.header.frame_id) == (7, 'optical')
    assert reply.seconds > 0.0
    assert reply.image_id == Observation(IMAGE).image_id
    assert messages.usage_from_msg(reply.usage) == Usage(4, 200, 20, 1.0)


def test_a_guess_about_unknown_words_has_no_number_that_looks_like_an_answer() -> None:
    """A client that thresholds the probability must not reach for a unicorn."""
    unicorn = Found(Target('a unicorn'), (replace(MUG, probability=0.882),), 0.882,
                    True, unknown=('unicorn',), present=0.9)
    located, = query_messages.fill_found(Locate.Response(), [unicorn]).found
    assert located.whereabouts == msg.Located.CANNOT_TELL and not located.sure
    assert np.isnan([located.probability, located.present, located.regions[0].probability]).all()


def test_what_is_asked_for_reaches_the_backend(made: Callable) -> None:
    with made() as client:
        assert client.locate('the mug', kind=Form.TRACE, start=(0.1, 0.9)).error_code == 0
        assert client.locate('the mug', kind=Form.BOX, timeout_s=LIMIT_S).error_code == 0
        assert client.locate('the mug', kind=Form.POINTS).error_code == 0
    trace, box, points = client.backend.requests
    np.testing.assert_array_equal(trace.image, IMAGE)
    assert (trace.target, trace.start) == (Target('the mug', Form.TRACE), (0.1, 0.9))
    assert (box.target.form, box.start, box.depth_m) == (Form.BOX, None, None)
    left_s = client.backend.deadlines[1].timeout_s
    assert 0.0 < left_s < LIMIT_S, 'what is known by then can still be sent'
    assert points.target.form is Form.POINTS


def test_what_is_sure_is_up_to_the_request_or_else_the_node(made: Callable) -> None:
    with made(locate__accept=0.3) as client:
        sure = [client.locate('the pan', accept=accept).found[0].sure for accept in (0.0, 0.5)]
        wrong = client.locate('the pan', accept=1.5)
    assert sure == [True, False]
    assert wrong.error_code == InputError.code and 'accept = 1.5' in wrong.error_msg


def test_how_often_a_model_is_asked_is_up_to_the_request_or_else_the_node(
        made: Callable) -> None:
    with made(locate__max_askings=3) as client:
        replies = [client.locate('the pan', max_askings=most) for most in (0, 1, 2)]
    assert [reply.found[0].askings for reply in replies] == [3, 1, 2]
    assert [request.attempt for request in client.backend.requests] == [0, 1, 2, 0, 0, 1]


def test_questions_are_answered_as_before_beside_it(made: Callable) -> None:
    """A picture that was sent to one service is known to the other."""
    with made() as client:
        request = query_messages.fill_questions(
            Ground.Request(episode_id='one', observation=conversions.observation_to_request(
                Observation(IMAGE, 9, 'eye'))), [Question(Atom('clear', ('r',)), 'Is r clear?')])
        answered = client.ground(request, LIMIT_S)
        located = client.locate('the mug', image=None, image_id=answered.image_id,
                                episode_id='one')
        unknown = client.locate('the mug', image=None, image_id='0' * 16)
    assert (answered.error_code, len(answered.verdicts)) == (0, 1)
    assert located.error_code == 0, located.error_msg
    assert (messages.time_from_msg(located.header.stamp), located.header.frame_id) == (9, 'eye')
    np.testing.assert_array_equal(client.backend.requests[0].image, IMAGE)
    assert unknown.error_code == UnknownImageError.code
    assert client.backend.episodes == ['one']


def test_a_backend_that_cannot_point_says_so_and_names_those_that_can(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('sightplan.vlm.api.backend_names', lambda: ('mute', 'finger'))
    monkeypatch.setattr('sightplan.vlm.api.backend_class',
                        {'mute': Answers, 'finger': Points}.__getitem__)
    with made(Answers) as client:
        reply = client.locate('the mug')
        request = query_messages.fill_questions(
            Ground.Request(observation=conversions.observation_to_request(Observation(IMAGE))),
            [Question(Atom('clear', ('r',)), 'Is r clear?')])
        answered = client.ground(request, LIMIT_S)
    assert reply.error_code == InputError.code
    assert reply.error_msg.endswith("'noisy_oracle' cannot point at things; choose one that can: "
                                    'finger')
    assert answered.error_code == 0, 'and answers questions'


@pytest.mark.parametrize(('fields', 'what'), [
    ({'targets': []}, 'Name at least one'), ({'targets': ['the mug', ' ']}, 'target 2 is empty'),
    ({'form': 9}, 'form = 9 is not one of 1 (point), 2 (points), 3 (box), 4 (trace)'),
    ({'start': [0.5]}, 'start'), ({'start': [0.5, 2.0]}, 'start'),
    ({'start': [0.5, 0.5]}, 'only a trace has a start')])
def test_what_cannot_be_located_is_named(made: Callable, fields: dict, what: str) -> None:
    with made() as client:
        reply = client.locate('the mug', **fields)
        assert client.locate('the mug').error_code == 0
    assert reply.error_code == InputError.code
    assert what in reply.error_msg
    assert len(client.backend.requests) == 1


def test_a_failure_is_an_error_of_that_request_only(made: Callable) -> None:
    with made() as client:
        client.backend.fail = BackendError('out of memory')
        failed = client.locate('the mug')
        client.backend.fail = None
        assert client.locate('the mug').error_code == 0
    assert (failed.error_code, failed.error_msg) == (BackendError.code, 'out of memory')
    assert messages.usage_from_msg(failed.usage) == Usage(1, 50, 5, 0.25), 'it is paid for'
    assert not failed.found


def test_the_deadline_of_a_request_holds_for_all_its_targets(made: Callable) -> None:
    with made() as client:
        client.backend.may_go_on.clear()
        late = client.locate('the mug', 'the pan', timeout_s=2.5)
        assert late.error_code == DeadlineError.code and '2.5 s' in late.error_msg
        client.backend.may_go_on.set()
        assert client.locate('the cat').error_code == 0
    assert [request.target.text for request in client.backend.requests] == [
        'the mug', 'the cat'], 'the second target of the late one is not asked for'


def test_depth_of_the_picture_comes_with_it(made: Callable) -> None:
    depth = np.array([[1.0, np.nan, np.inf, 0.5, 0.5, 0.5]] * 4, np.float32)
    with made() as client:
        world = client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        eventually(lambda: bool(world.get_subscription_count()), 'a subscription to depth')

        def arrived() -> bool:
            world.publish(conversions.depth_to_msg(depth, 7))
            assert client.locate('the mug').error_code == 0
            return client.backend.requests[-1].depth_m is not None
        eventually(arrived, 'depth')
        # Also of a picture that is named by its id, and not of another size.
        reply = client.locate('the mug', image=None, image_id=Observation(IMAGE).image_id)
        assert client.locate('the mug', image=IMAGE[:2]).error_code == 0
        assert client.change(Transition.TRANSITION_DEACTIVATE)
        assert client.change(Transition.TRANSITION_CLEANUP)
        eventually(lambda: not world.get_subscription_count(), 'the end of the subscription')
    assert reply.error_code == 0
    *_, known, other = (request.depth_m for request in client.backend.requests)
    assert known[0].tolist() == [1.0, 0.0, 0.0, 0.5, 0.5, 0.5], '0 where it is not known'
    assert other is None


def test_depth_need_not_be_listened_to(made: Callable) -> None:
    with made(locate__depth=False) as client:
        depths = client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        assert client.locate('the mug').error_code == 0
        assert not depths.get_subscription_count()


def test_depth_goes_with_the_calibration_to_the_pieces(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[tuple] = []
    monkeypatch.setattr(locate_picture, 'propose_pieces',
                        lambda *arguments: cut.append(arguments) or propose_pieces(*arguments))
    info = CameraInfo(width=6, height=4, k=[5.0, 0.0, 2.5, 0.0, 4.0, 1.5, 0.0, 0.0, 1.0])
    with made() as client:
        depths = client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        infos = client.node.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
        client.node.create_timer(0.05, lambda: infos.publish(info))
        client.node.create_timer(0.05, lambda: depths.publish(
            conversions.depth_to_msg(np.ones((4, 6), np.float32), 7)))

        def arrived() -> bool:
            assert client.locate('the mug', max_askings=2).error_code == 0
            return all(part is not None for part in cut[-1])
        eventually(arrived, 'depth and calibration')
    _, depth_m, camera = cut[-1]
    assert depth_m.shape == (4, 6) and camera == (5.0, 4.0, 3.0, 2.0)


@pytest.mark.parametrize('from_camera', [True, False])
def test_without_a_picture_it_is_about_what_the_camera_sees_next(
        made: Callable, from_camera: bool) -> None:
    with made(from_camera=from_camera) as client:
        camera = client.node.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        client.node.create_timer(0.05, lambda: camera.publish(
            MESSAGES.image_to_msg(IMAGE, 11, 'optical')))
        reply = client.locate('the mug', image=None)
        assert reply.error_code == 0, reply.error_msg
    assert messages.time_from_msg(reply.header.stamp) == 11
    np.testing.assert_array_equal(client.backend.requests[0].image, IMAGE)


def test_the_call_of_the_documentation_is_one(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounder, '_NEXT_PICTURE_S', 0.2)
    page = (Path(__file__).resolve().parents[3] / 'docs' / 'locate.md').read_text()
    name, kind, field, values = re.search(
        r'ros2 service call (\S+) (\S+) "{(\w+): (.*)}"', page).groups()
    assert (name, kind) == (f'/{names.LOCATE}', 'sightplan_interfaces/srv/Locate')
    request = Locate.Request(**{field: ast.literal_eval(values)})
    assert list(request.targets) == ['the red block', 'the green block']
    with made() as client:
        assert client.service(request, LIMIT_S).error_code == DeadlineError.code, 'no camera'


def test_without_picture_and_camera_the_remedy_is_named(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounder, '_NEXT_PICTURE_S', 0.2)
    with made() as client:
        reply = client.locate('the mug', image=None)
    assert reply.error_code == DeadlineError.code
    assert reply.error_msg.startswith('no picture came on /camera/image_raw; send one')


def test_the_calibration_is_counted_from_the_corner_of_the_first_pixel() -> None:
    """ROS counts from its middle; what is of another size or not calibrated is not used."""
    node, client = Node('looks'), Node('client')
    publisher = client.create_publisher(CameraInfo, names.CAMERA_INFO, qos.SENSOR)
    message = CameraInfo(width=6, height=4, k=[5.0, 0.0, 2.5, 0.0, 4.0, 1.5, 0.0, 0.0, 1.0])
    with spinning(node, client):
        intrinsics = camera_topics.Intrinsics(node)
        eventually(lambda: node.count_publishers(names.CAMERA_INFO) > 0, 'the publisher')
        client.create_timer(0.02, lambda: publisher.publish(message))
        eventually(lambda: intrinsics.of(6, 4) is not None, 'the calibration')
        assert intrinsics.of(6, 4) == (5.0, 4.0, 3.0, 2.0)
        assert intrinsics.of(12, 8) is None
        message.k = [0.0] * 9
        assert intrinsics.of(6, 4) == (5.0, 4.0, 3.0, 2.0), 'it is waited for once'
        assert camera_topics.Intrinsics(node).of(6, 4) is None


def test_without_a_camera_nobody_waits_for_its_calibration(
        monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node('looks')
    monkeypatch.setattr(camera_topics, 'next_camera_info', None)
    assert camera_topics.Intrinsics(node).of(6, 4) is None
    node.destroy_node()


def sent(message: Any) -> Any:
    """The message as another process gets it."""
    return deserialize_message(serialize_message(message), type(message))


TEXTS = st.text(st.characters(blacklist_categories=('Cs',), blacklist_characters='\0'),
                max_size=20)
UNIT = st.floats(0.0, 1.0)
POINTS = st.tuples(UNIT, UNIT)
CHANCES = st.none() | UNIT
REGIONS = st.one_of(
    st.builds(Region, st.just(Form.POINT), st.tuples(POINTS), TEXTS, CHANCES),
    st.builds(Region, st.just(Form.BOX), st.tuples(POINTS, POINTS), TEXTS, CHANCES),
    st.builds(Region, st.just(Form.TRACE), st.lists(POINTS, min_size=2, max_size=5).map(tuple),
              TEXTS, CHANCES))
FOUND = st.builds(Found, st.builds(Target, TEXTS), st.lists(REGIONS, max_size=3).map(tuple),
                  CHANCES, st.booleans(), TEXTS, TEXTS, st.integers(0, 99), st.integers(0, 99),
                  st.just('m'), TEXTS, st.lists(TEXTS, max_size=2).map(tuple))


@given(st.lists(FOUND, max_size=3))
def test_what_was_found_comes_back(found: list[Found]) -> None:
    response = query_messages.fill_found(Locate.Response(model='m'), found)
    targets = [thing.target for thing in found]
    assert query_messages.found_from_response(sent(response), targets) == found


@given(st.sampled_from(Form), st.lists(TEXTS, min_size=1, max_size=3), st.none() | POINTS)
def test_what_is_to_be_found_comes_back(form: Form, texts: list[str],
                                        start: tuple[float, float] | None) -> None:
    targets = [Target(text, form) for text in texts]
    request = sent(query_messages.fill_targets(
        Locate.Request(), targets, PointerSettings(4, 0.5), start))
    assert query_messages.targets_from_request(request) == targets
    assert (tuple(request.start) or None) == start
    assert (request.max_askings, request.accept) == (4, 0.5)


def test_a_request_has_one_form() -> None:
    with pytest.raises(InputError, match='box, point: send one for each'):
        query_messages.fill_targets(Locate.Request(), [Target('a'), Target('b', Form.BOX)])


@pytest.mark.parametrize(('form', 'x', 'y'), [
    (7, [0.5], [0.5]), (1, [0.5], []), (1, [0.1, 0.2], [0.1, 0.2]), (4, [0.1], [0.1]),
    (1, [math.nan], [0.5]), (2, [0.5], [0.5])])
def test_regions_that_cannot_be_read_are_refused(form: int, x: list, y: list) -> None:
    with pytest.raises(InputError):
        messages.region_from_msg(msg.Region(form=form, x=x, y=y))


def test_places_and_targets_are_as_many() -> None:
    with pytest.raises(InputError, match='1 targets have 0 places'):
        query_messages.found_from_response(Locate.Response(), [Target('a')])


def test_the_numbers_of_the_forms_are_those_of_the_message() -> None:
    assert messages.numbers(Form) == {
        form: getattr(msg.Region, form.name) for form in Form}
