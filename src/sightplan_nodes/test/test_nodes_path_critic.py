"""The node path_critic: maps and paths in, an order and its reason out, and a view for RViz."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import State
from nav_msgs.msg import OccupancyGrid, Path
from sightplan_interfaces.srv import ComparePaths
from visualization_msgs.msg import Marker, MarkerArray

from nodes_testing import LIMIT_S, Manager, eventually, parameters, spinning
from sightplan.model import BackendError, InputError, Usage
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan.queries.choose import ChoiceReply, Choose
from sightplan.records import messages
from sightplan_nodes import backend_node, names, path_critic, qos
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.path_critic import PathCriticNode
from sightplan_suites.paths import maps
from sightplan_suites.paths.critic import compare_paths
from sightplan_suites.paths.wishes import certain

SHORT = (0, 0, 0, -1, 0, 0, 0)
CELLS = np.zeros((20, 30), np.int8)
CELLS[8:10, 5:20] = 100
CELLS[0, :] = -1
STRAIGHT, ROUND = [(1.0, 7.0), (14.0, 7.0)], [(1.0, 7.0), (1.0, 2.0), (14.0, 2.0), (14.0, 7.0)]
ORIGIN = (0.5, -1.0)


class Model(ModelByKind):
    """Says that a shorter way is better, and nothing else; sees that a brighter picture is."""

    name = 'fake-1'
    traits = Traits(pixels=False, texts=True)
    fail: ClassVar[Exception | None] = None

    def __init__(self) -> None:
        self.usage = Usage()
        self.requests: list[Sequence[YesNo]] = []

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Nothing is kept."""

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.requests.append(request)
        self.usage = self.usage + Usage(1, 50, 5, 0.25)
        if self.fail is not None:
            raise self.fail
        return [Answer('Yes'
                           if str(query.question.atom).startswith('less_is_better path_length')
                           else 'No') for query in request]

    @answers(Choose)
    def choose(self, request: Choose, deadline: Deadline) -> ChoiceReply:
        first, second = (part.mean() for part in request.parts if not isinstance(part, str))
        return ChoiceReply((0.9, 0.1) if first > second else (0.1, 0.9), int(first <= second))


def grid(frame: str = 'map', **info: Any) -> OccupancyGrid:
    message = OccupancyGrid(data=CELLS.ravel().tolist())
    message.header.frame_id = frame
    message.info.height, message.info.width = CELLS.shape
    message.info.resolution = 0.5
    message.info.origin.position.x, message.info.origin.position.y = ORIGIN
    for name, value in info.items():
        setattr(message.info, name, value)
    return message


def path(points: list[tuple[float, float]], frame: str = 'map', pose_frame: str = '') -> Path:
    message = Path()
    message.header.frame_id = frame
    for x, y in points:
        pose = PoseStamped()
        pose.header.frame_id = pose_frame
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = x, y, 5.0
        message.poses.append(pose)
    return message


class Client(Manager):
    """Asks the node."""

    def __init__(self) -> None:
        super().__init__(names.PATH_CRITIC)
        self.service = ServiceCaller(self.node, ComparePaths, names.COMPARE_PATHS,
                                     names.PATH_CRITIC)

    def compare(self, *paths: Path, vector: tuple[int, ...] | None = SHORT,
                **fields: Any) -> ComparePaths.Response:
        request = ComparePaths.Request(**{'map': grid(), 'paths': list(paths), **fields})
        if vector is not None:
            request.vector_given, request.vector = True, list(vector)
        return self.service(request, LIMIT_S)


@contextlib.contextmanager
def running(**settings: object):
    """A node, with a client."""
    node, client = PathCriticNode(parameter_overrides=parameters(**settings)), Client()
    with spinning(node, client.node):
        yield client


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Makes nodes with a model."""
    model = Model()
    monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: model)
    for module in (backend_node, path_critic):
        monkeypatch.setattr(module, 'backend_class', lambda name: Model)

    @contextlib.contextmanager
    def make(**settings: object):
        with running(**{'backend': 'scripted', **settings}) as client:
            yield client, model
    return make


def test_without_a_model_a_vector_decides() -> None:
    with running() as client:
        reply = client.compare(path(ROUND), path(STRAIGHT, pose_frame='map'))
        assert client.parameter('model') == ''
    assert reply.error_code == 0, reply.error_msg
    item = maps.map_of_grid(maps.OccupancyGrid(CELLS, 0.5, 'map', ORIGIN))
    wanted = compare_paths(item, [ROUND, STRAIGHT], certain(SHORT))
    assert (list(reply.ranking), list(reply.best)) == ([1, 0], [0.0, 1.0])
    assert reply.reason == wanted.reason and 'shorter is better' in reply.reason
    for described, expected in zip(reply.descriptors, wanted.descriptors, strict=True):
        assert all(getattr(described, name) == getattr(expected, name)
                   for name in path_critic.NAMES)
    assert reply.descriptors[0].path_length == 23.0
    assert list(reply.less_is_better) == [0, 0, 0, 1, 0, 0, 0]
    assert list(reply.more_is_better) == [0] * 7
    assert list(reply.does_not_matter) == [1, 1, 1, 0, 1, 1, 1]
    assert reply.model == '' and reply.seconds > 0


def test_a_model_reads_the_task(asked: Callable) -> None:
    with asked(wishes__wordings=1) as (client, model):
        reply = client.compare(path(ROUND), path(STRAIGHT), vector=None, scenario='Be quick.')
    assert reply.error_code == 0, reply.error_msg
    assert list(reply.ranking) == [1, 0] and 0.5 < reply.best[1] < 1
    request, = model.requests
    assert request[0].observation.text == 'Be quick.' and len(request) == 14
    assert reply.less_is_better[3] > 0.7 and reply.model == 'fake-1'
    assert messages.usage_from_msg(reply.usage) == Usage(1, 50, 5, 0.25)


def test_pictures_where_no_map_is_known(asked: Callable) -> None:
    images = [MESSAGES.image_to_msg(np.full((8, 8, 3), value, np.uint8), 1)
              for value in (10, 200, 90)]
    with asked() as (client, _):
        reply = client.compare(vector=None, scenario='Be bright.', pictures=images,
                               map=OccupancyGrid())
        both = client.compare(path(ROUND), path(STRAIGHT), pictures=images)
    assert reply.error_code == 0, reply.error_msg
    assert list(reply.ranking) == [1, 2, 0] and not reply.descriptors
    assert not reply.less_is_better and 'No map was known' in reply.reason
    assert both.error_code == InputError.code and 'pictures: map and paths' in both.error_msg
    with running() as client:
        assert 'no model' in client.compare(pictures=images, map=OccupancyGrid()).error_msg


def test_unknown_cells_are_obstacles_unless_told_otherwise() -> None:
    low = [(1.0, 0.0), (14.0, 0.0)]
    found = []
    for free in (False, True):
        with running(unknown_occupied=not free) as client:
            found.append(client.compare(path(low), path(STRAIGHT)).descriptors[0])
    assert [item.minimum_clearance for item in found] == [0.5, 3.0]


def test_the_best_is_shown_to_whoever_joins() -> None:
    best: list[Path] = []
    markers: list[MarkerArray] = []
    with running() as client:
        assert client.compare(path(ROUND), path(STRAIGHT)).error_code == 0
        client.node.create_subscription(Path, f'{names.PATH_CRITIC}/best', best.append,
                                        qos.LATCHED)
        client.node.create_subscription(MarkerArray, f'{names.PATH_CRITIC}/markers',
                                        markers.append, qos.LATCHED)
        eventually(lambda: bool(best and markers), 'the topics')
    assert best[0] == path(STRAIGHT)
    removed, *others = markers[0].markers
    assert removed.action == Marker.DELETEALL
    assert [marker.text for marker in others if marker.text] == ['1: 0.00', '2: 1.00']
    lines = [marker for marker in others if marker.type == Marker.LINE_STRIP]
    assert [len(line.points) for line in lines] == [4, 2]
    assert {marker.header.frame_id for marker in others} == {'map'}
    assert lines[1].scale.x > lines[0].scale.x > 0


def test_a_path_through_an_obstacle_is_never_shown_as_the_best() -> None:
    """Whoever follows ~/best is given no path where there is none."""
    through, best = [(1.0, 3.5), (14.0, 3.5)], list[Path]()
    with running() as client:
        reply = client.compare(path(through), path(ROUND))
        none = client.compare(path(through), path(through))
        client.node.create_subscription(Path, f'{names.PATH_CRITIC}/best', best.append,
                                        qos.LATCHED)
        eventually(lambda: bool(best), 'the topic')
    assert (list(reply.ranking), list(reply.best)) == ([1, 0], [0.0, 1.0])
    assert none.error_code == 0 and (list(none.ranking), list(none.best)) == ([], [0.0, 0.0])
    assert none.reason.startswith('There is no best path')
    assert best[-1].header.frame_id == 'map' and not best[-1].poses


FAR = [(1.0, 7.0), (99.0, 7.0)]


@pytest.mark.parametrize(('paths', 'fields', 'what'), [
    ([ROUND], {}, 'paths: 1 of them'), ([ROUND] * 17, {}, 'paths: 17 of them'),
    ([ROUND, FAR], {}, 'paths[1], point 1 lies off the map'),
    ([[*ROUND, ROUND[-1]], STRAIGHT], {}, 'paths[0], point 4 repeats'),
    ([ROUND, []], {}, 'paths[1] has 0 points'),
    ([ROUND, [(math.nan, 0.0)] * 2], {}, 'paths[1]: points: point 1 is not finite'),
    ([ROUND, STRAIGHT], {'map': grid('')}, 'map.header.frame_id is empty'),
    ([ROUND, STRAIGHT], {'map': grid('odom')}, "paths[0].header.frame_id is 'map'"),
    ([ROUND, STRAIGHT], {'map': grid(width=3)}, 'map.data: 600 cells for 3 x 20'),
    ([ROUND, STRAIGHT], {'map': grid(resolution=0.0)}, 'map.info.resolution'),
    ([ROUND, STRAIGHT], {'map': OccupancyGrid(header=grid().header)}, 'map.data: 0 cells'),
    ([ROUND, STRAIGHT], {'vector': (2, *SHORT[1:])}, 'vector: (2, 0, 0, -1, 0, 0, 0)'),
    ([ROUND, STRAIGHT], {'vector': (0,) * 7}, 'no descriptor matters'),
    ([ROUND, STRAIGHT], {'vector': None, 'scenario': 'Be quick.'}, 'vector_given is false')])
def test_what_cannot_be_compared_is_named(paths: list, fields: dict, what: str) -> None:
    with running() as client:
        reply = client.compare(*(path(points) for points in paths), **fields)
        assert client.compare(path(ROUND), path(STRAIGHT)).error_code == 0
    assert reply.error_code == InputError.code
    assert what in reply.error_msg and not reply.ranking


def test_a_turned_map_and_a_pose_of_another_frame_are_refused() -> None:
    turned, unknown = grid(), grid()
    unknown.info.origin.orientation.z = math.nan
    turned.info.origin.orientation.z = turned.info.origin.orientation.w = math.sqrt(0.5)
    with running() as client:
        replies = [client.compare(path(ROUND), path(STRAIGHT), map=turned),
                   client.compare(path(ROUND), path(STRAIGHT), map=unknown),
                   client.compare(path(ROUND), path(STRAIGHT, pose_frame='odom'))]
    assert all('map.info.origin.orientation' in reply.error_msg for reply in replies[:2])
    assert "paths[1].poses[0].header.frame_id is 'odom'" in replies[2].error_msg


def test_a_failure_of_the_model_is_an_error_of_that_request(
        asked: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    with asked() as (client, _):
        monkeypatch.setattr(Model, 'fail', BackendError('out of memory'))
        failed = client.compare(path(ROUND), path(STRAIGHT), vector=None, scenario='Be quick.')
        given = client.compare(path(ROUND), path(STRAIGHT))
        empty = client.compare(path(ROUND), path(STRAIGHT), vector=None)
    assert (failed.error_code, failed.error_msg) == (BackendError.code, 'out of memory')
    assert given.error_code == 0, 'nobody is asked for it'
    assert 'scenario: is empty' in empty.error_msg


def test_a_backend_that_is_of_no_use_is_not_loaded() -> None:
    node = PathCriticNode(parameter_overrides=parameters(backend='noisy_oracle'))
    client = Client()
    with spinning(node, client.node):
        eventually(lambda: node.exit_code == 1, 'the end')
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
