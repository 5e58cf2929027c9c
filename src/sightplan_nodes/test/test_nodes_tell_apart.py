"""The service ~/tell_apart of the node grounder, and the agent's port over it."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest
from sensor_msgs.msg import Image
from sightplan_interfaces.srv import TellApart

from nodes_testing import LIMIT_S, Manager, parameters, spinning
from sightplan.grounding import BackendGrounder
from sightplan.grounding.instructions import read_goal
from sightplan.model import BackendError, Form, InputError, Observation, Region, Usage
from sightplan.model.query import Deadline, answers
from sightplan.queries import Generate, TextReply
from sightplan.queries.detect import Detect, Detection, DetectReply
from sightplan.records import messages
from sightplan_nodes import backend_node, conversions, names, qos
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.remote_model import PublishedPicture, RosModel
from sightplan_nodes.stamped_images import WAIT_S
from test_nodes_locate import Answers

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
SEEN = (Detection(Region(Form.BOX, ((0.1, 0.2), (0.3, 0.4))), {'mug': 0.9, 'cup': 0.1},
                  {'red': 1.0}, 0.95),
        Detection(Region(Form.BOX, ((0.5, 0.2), (0.9, 0.8))), {'drawer:top': 1.0}, {}, 0.9, 0.25))


class Finds(Answers):
    """A backend that can."""


    @answers(Detect)
    def detect(self, request: Detect, deadline: Deadline) -> DetectReply:
        self.requests.append(request)  # type: ignore[arg-type]
        self.usage = self.usage + Usage(1, 50, 5, 0.25)
        if self.fail is not None:
            raise self.fail
        return DetectReply(SEEN)


class Client(Manager):
    """Asks the node, as anybody and as the agent does."""

    def __init__(self, backend: Answers) -> None:
        super().__init__(names.GROUNDER)
        self.backend = backend
        self.service = ServiceCaller(self.node, TellApart, f'{names.GROUNDER}/tell_apart',
                                     names.GROUNDER)
        self.port = BackendGrounder(RosModel(self.node, names.GROUNDER))

    def ask(self, **fields: object) -> TellApart.Response:
        request = TellApart.Request(**fields)
        request.observation = conversions.observation_to_request(Observation(IMAGE, 7, 'optical'))
        return self.service(request, LIMIT_S)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """Makes grounder nodes over a backend."""
    @contextlib.contextmanager
    def make(kind: type[Answers] = Finds):
        backend = kind()
        monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: backend)
        monkeypatch.setattr(backend_node, 'backend_class', lambda name: kind)
        node = GrounderNode(parameter_overrides=parameters(backend='noisy_oracle'))
        client = Client(backend)
        with spinning(node, client.node):
            yield client
    return make


def test_all_things_come_back_with_their_boxes_and_probabilities(made) -> None:
    with made() as client:
        reply = client.ask(looks=3)
    assert reply.error_code == 0, reply.error_msg
    mug, drawer = (messages.instance_from_msg(one) for one in reply.instances)
    assert (mug.name, mug.category, mug.region) == ('mug_1', 'mug', SEEN[0].region)
    assert mug.categories['mug'] == pytest.approx(0.9 * 0.95) and mug.opened is None
    assert drawer.category == 'drawer:top' and drawer.opened == pytest.approx(0.25)
    assert (messages.time_from_msg(reply.header.stamp), reply.header.frame_id) == (7, 'optical')
    assert reply.model == 'fake-1' and reply.image_id == Observation(IMAGE).image_id
    assert messages.usage_from_msg(reply.usage) == Usage(3, 150, 15, 0.75)
    assert [request.attempt for request in client.backend.requests] == [0, 1, 2]


def test_the_agents_port_gets_the_same_and_counts_what_it_cost(made) -> None:
    with made() as client:
        client.port.start_episode('one', 'short')
        first = client.port.tell_apart(Observation(IMAGE, 9, 'eye'), 2)
        again = client.port.tell_apart(Observation(IMAGE, 9, 'eye'))  # the picture is known
    assert [one.region for one in first.instances] == [one.region for one in SEEN]
    assert [one.name for one in first.instances] == [one.name for one in again.instances]
    assert not (first.goal or first.unread)
    assert client.port.usage == Usage(3, 150, 15, 0.75) and client.port.model == 'fake-1'
    assert client.backend.episodes == ['one']


def test_a_backend_that_cannot_says_so(made) -> None:
    with made(Answers) as client:
        reply = client.ask()
    assert reply.error_code == InputError.code
    assert 'cannot find all things in a picture; choose one that can' in reply.error_msg


def test_a_failure_is_an_error_of_that_request_only(made) -> None:
    with made() as client:
        client.backend.fail = BackendError('out of memory')
        failed = client.ask()
        client.backend.fail = None
        fine = client.ask()
    assert failed.error_code == BackendError.code and 'out of memory' in failed.error_msg
    assert fine.error_code == 0 and len(fine.instances) == 2


class Says(Finds):
    """A backend that also says what an instruction wants."""

    said = '{"stages": [{"open": 2}]}'

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        assert 'the drawer, please' in str(request.parts[1])
        return TextReply(self.said)


def test_the_model_says_what_an_instruction_wants(made) -> None:
    with made(Says) as client:
        told = client.port.tell_apart(Observation(IMAGE, 9, 'eye'), 2, None, 'the drawer, please')
        client.backend.said = '{"unclear": "which one"}'
        unsure = client.port.tell_apart(Observation(IMAGE, 9, 'eye'), 1, None,
                                        'the drawer, please', 2)
    assert read_goal(told.goal, told.instances)[0].drawer == 'drawer_top_1'
    assert not told.unread and len(unsure.instances) == 2
    assert not unsure.goal and 'unclear what is meant: which one' in unsure.unread


def test_depth_that_does_not_come_is_awaited_once_for_a_picture(
        made, capfd: pytest.CaptureFixture) -> None:
    """A world whose camera has no depth: each of several queries would wait for it."""
    with made() as client:
        client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        seen = Observation(IMAGE, 9, 'eye')
        published = {seen.image_id: PublishedPicture(names.CAMERA_IMAGE, 9, 'eye')}
        port = BackendGrounder(RosModel(client.node, names.GROUNDER, published=published.get))
        port.tell_apart(Observation(IMAGE[::-1], 9, 'eye'))  # on no topic
        began = time.monotonic()
        port.tell_apart(seen, 6)
        took_s = time.monotonic() - began
    assert len(client.backend.requests) == 7 and took_s < 3 * WAIT_S
    said = capfd.readouterr().err
    assert said.count('there is no depth') == said.count('depth of world time 9 ns') == 1
