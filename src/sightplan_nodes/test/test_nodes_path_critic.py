"""The node path_critic: maps and paths in, an order and its reason out, and a view for RViz."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path as PathOfFile
from typing import Any, ClassVar

import numpy as np
import pytest
from geometry_msgs.msg import Point32, Polygon, PoseStamped
from lifecycle_msgs.msg import State
from nav2_msgs.msg import Costmap
from nav_msgs.msg import OccupancyGrid, Path
from sightplan_interfaces.msg import NamedArea, PathLimit, PathTradeOff
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
from sightplan_suites.paths import maps, wishes
from sightplan_suites.paths.critic import compare_paths
from sightplan_suites.paths.map_messages import costmap_of_message
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
        self.service = ServiceCaller(self.node, ComparePaths,
                                     f'{names.PATH_CRITIC}/compare_paths',
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
    for module in (backend_node, wishes):
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


def test_without_a_model_the_reader_reads_the_task() -> None:
    with running() as client:
        reply = client.compare(path(ROUND), path(STRAIGHT), vector=None, scenario=(
            'The shortest one, but at least 20 m from everything.'))
        unread = client.compare(path(ROUND), path(STRAIGHT), vector=None,
                                scenario='Like a fish, please.')
        nowhere = client.compare(path(ROUND), path(STRAIGHT), vector=None,
                                 scenario='Short, and not through the nursery.')
    assert reply.taken == 'Taken to want: a short path; at least 20 from anything.'
    assert len(reply.exclusions) == 2 and not reply.model and not reply.ranking
    assert unread.error_code == InputError.code and 'cannot read' in unread.error_msg
    assert "keeps out of 'the nursery', but there is no such area" in nowhere.error_msg


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


def test_a_path_that_leaves_the_map_is_out() -> None:
    """The map ends at x = 15.5; the far path is the shorter one where longer is better."""
    far = [(1.0, 7.0), (16.0, 7.0), (14.0, 7.0)]
    with running() as client:
        reply = client.compare(path(far), path(STRAIGHT), vector=tuple(-sign for sign in SHORT))
    assert (list(reply.ranking), list(reply.best)) == ([1, 0], [0.0, 1.0])
    assert 'Path 1 is out: it leaves the map by 0.5 at 16, 7.' in reply.reason


LOW = [(1.0, 7.0), (7.0, 5.2), (14.0, 7.0)]
NURSERY = NamedArea(name='nursery', polygons=[Polygon(points=[
    Point32(x=6.0, y=6.5), Point32(x=9.0, y=6.5), Point32(x=9.0, y=8.0), Point32(x=6.0, y=8.0)])])


@pytest.mark.parametrize(('fields', 'out', 'words'), [
    ({'limits': [PathLimit(descriptor='clearance', relation='>=', value=2.5)]}, [0, 2],
     'has least clearance 1.2'),
    ({'limits': [PathLimit(descriptor='length', relation='<=', value=1.5,
                           reference=PathLimit.TIMES_LEAST)]}, [0],
     'has length 23, at most 19.5 is allowed'),
    ({'limits': [PathLimit(descriptor='turn', relation='<=', value=60.0)]}, [0],
     'has sharpest turn 90 at 1, 2, at most 60 is allowed'),
    ({'keep_out': ['nursery'], 'areas': [NURSERY]}, [1], 'is for 3 in nursery at 6, 7'),
    ({'keep_side': 'left'}, [0, 2], 'keeps to the left on 0.00 of its way'),
    ({'radius': 1.1}, [0, 1, 2], 'comes as near as 1 to an obstacle')])
def test_a_path_that_breaks_a_limit_of_the_request_is_out(
        fields: dict, out: list[int], words: str) -> None:
    best: list[Path] = []
    with running() as client:
        reply = client.compare(path(ROUND), path(STRAIGHT), path(LOW), **fields)
        client.node.create_subscription(Path, f'{names.PATH_CRITIC}/best', best.append,
                                        qos.LATCHED)
        eventually(lambda: bool(best), 'the topic')
    assert reply.error_code == 0, reply.error_msg
    assert sorted({each.path for each in reply.exclusions}) == out
    assert all(reply.best[number] == 0 for number in out)
    assert any(words in each.words for each in reply.exclusions) and words in reply.reason
    if len(out) == 3:
        assert not reply.ranking and not best[-1].poses
    else:
        assert reply.ranking[0] not in out
        assert len(best[-1].poses) == len((ROUND, STRAIGHT, LOW)[reply.ranking[0]])


def test_limits_alone_may_decide_and_ties_are_said_and_shown() -> None:
    with running() as client:
        reply = client.compare(path(ROUND), path(STRAIGHT), path(LOW), vector=None, limits=[
            PathLimit(descriptor='turn', relation='<=', value=60.0)])
        shown = markers_of(client)
    assert reply.error_code == 0, reply.error_msg
    assert list(reply.tied) == [1, 2] and list(reply.best) == [0, 0.5, 0.5]
    assert 'equally good as far as can be told' in reply.reason
    assert [shown['labels', number].text.replace('\n', ' ') for number in range(3)] == [
        '1: out: has sharpest turn 90 at 1, 2, at most 60 is allowed', '2: 0.50 (tied)',
        '3: 0.50 (tied)']
    out, *tied = (shown['paths', number] for number in range(3))
    assert tied[0].scale.x == tied[1].scale.x > out.scale.x
    assert tied[0].color == tied[1].color != out.color


def markers_of(client: Client) -> dict[tuple[str, int], Marker]:
    """The markers that a viewer that joins now shows, by namespace and id."""
    arrays: list[MarkerArray] = []
    subscription = client.node.create_subscription(
        MarkerArray, f'{names.PATH_CRITIC}/markers', arrays.append, qos.LATCHED)
    eventually(lambda: bool(arrays), 'the topic')
    client.node.destroy_subscription(subscription)
    shown: dict[tuple[str, int], Marker] = {}
    for marker in arrays[-1].markers:
        if marker.action == Marker.DELETEALL:
            shown.clear()
        else:
            assert (marker.ns, marker.id) not in shown
            shown[marker.ns, marker.id] = marker
    return shown


def test_markers_show_where_paths_are_out_and_what_they_keep_out_of() -> None:
    attic = NamedArea(name='attic', polygons=NURSERY.polygons)
    with running() as client:
        client.compare(path(ROUND), path(STRAIGHT), path(LOW), keep_out=['nursery'],
                       areas=[NURSERY, attic])
        shown = markers_of(client)
        client.compare(path(ROUND), path(LOW))
        fewer = markers_of(client)
    assert sorted(shown) == [('area_names', 0), ('keep_out', 0), *(
        ('labels', number) for number in range(3)), ('out', 0), *(
        ('paths', number) for number in range(3))]
    assert shown['area_names', 0].text == 'nursery' and len(shown['keep_out', 0].points) == 5
    assert (shown['out', 0].pose.position.x, shown['out', 0].pose.position.y) == (6, 7)
    assert shown['labels', 1].text == '2: out: is for 3 in nursery at\n6, 7'
    # Beside where a path is farthest from the straight line to its end, or its middle.
    places = [(marker.pose.position.x, marker.pose.position.y) for marker in (
        shown['labels', number] for number in range(3))]
    assert places == [(1, 0.5), (7.5, 9.5), (7, 3.7)]
    assert not any(marker.header.stamp.sec for marker in shown.values())
    assert sorted(fewer) == [('labels', 0), ('labels', 1), ('paths', 0), ('paths', 1)]


def test_a_trade_off_of_the_request() -> None:
    clear = (0, 1, 0, 0, 0, 0, 0)
    costs = [PathTradeOff(descriptor='length', most=5.0)]
    with running() as client:
        near = path([(1.0, 7.0), (7.0, 4.5), (14.0, 7.0)])
        assert list(client.compare(path(ROUND), near, vector=clear).ranking) == [0, 1]
        reply = client.compare(path(ROUND), near, vector=clear, trade_offs=costs)
    assert list(reply.ranking) == [1, 0] and list(reply.beyond) == [0]
    assert not reply.exclusions


def costmap() -> Costmap:
    """The map with its block lethal, 253 around it, 100 around that, and an unknown row."""
    costs = np.zeros(CELLS.shape, np.uint8)
    for margin, cost in ((4, 100), (2, 253), (0, 254)):
        costs[8 - margin:10 + margin, 5 - margin:20 + margin] = cost
    costs[0, :] = 255
    message = Costmap(header=grid().header, data=costs.ravel().tolist())
    message.metadata.resolution = 0.5
    message.metadata.size_y, message.metadata.size_x = CELLS.shape
    message.metadata.origin.position.x, message.metadata.origin.position.y = ORIGIN
    return message


def test_a_costmap_is_read_by_its_costs() -> None:
    """The block is the obstacle; what is inflated around it is none, unless a point drives."""
    with running() as client:
        point = client.compare(path(ROUND), path(LOW), map=OccupancyGrid(), costmap=costmap())
        disc = client.compare(path(ROUND), path(LOW), map=OccupancyGrid(), costmap=costmap(),
                              radius=0.5)
        both = client.compare(path(ROUND), path(LOW), costmap=costmap())
    assert point.error_code == 0, point.error_msg
    assert point.descriptors[1].minimum_clearance == pytest.approx(0.2)  # of inscribed cells
    assert disc.descriptors[1].minimum_clearance == pytest.approx(0.7)   # 1.2 of lethal ones
    assert 'costmap and map are given' in both.error_msg
    found = costmap_of_message(costmap())
    assert found.costs[9, 6] == 254 and found.frame == 'map' and found.origin == ORIGIN


def test_a_costmap_that_is_published_as_a_grid_is_not_taken_for_occupancies() -> None:
    """Translated as Nav2 does; read as occupancies, inflated cells of 50 on would be obstacles."""
    cells = np.zeros(CELLS.shape, np.int8)
    for margin, value in ((4, 60), (2, 99), (0, 100)):
        cells[8 - margin:10 + margin, 5 - margin:20 + margin] = value
    message = grid()
    message.data = cells.ravel().tolist()
    with running() as client:
        refused = client.compare(path(ROUND), path(LOW), map=message)
        costs, occupancies = (client.compare(path(ROUND), path(LOW), map=message, map_kind=kind,
                                             radius=0.1)
                              for kind in (ComparePaths.Request.COSTMAP,
                                           ComparePaths.Request.OCCUPANCY))
        wrong = client.compare(path(ROUND), path(LOW), map_kind=7)
    assert refused.error_code == InputError.code
    assert 'map: looks like a costmap of Nav2' in refused.error_msg
    assert 'set map_kind to COSTMAP' in refused.error_msg
    assert costs.descriptors[1].minimum_clearance == pytest.approx(1.1)
    assert occupancies.descriptors[1].minimum_clearance == 0
    assert 'map_kind is 7' in wrong.error_msg


def test_the_robot_of_the_node(tmp_path: PathOfFile) -> None:
    (tmp_path / 'amr.yaml').write_text('base: {radius_m: 0.5}')
    with running(robot=str(tmp_path / 'amr.yaml')) as client:
        usual = client.compare(path(ROUND), path(LOW))
        other = client.compare(path(ROUND), path(LOW), footprint=Polygon(points=[
            Point32(x=x, y=y) for x, y in ((0.3, 0.2), (0.3, -0.2), (-0.3, -0.2), (-0.3, 0.2))]))
    assert usual.descriptors[1].minimum_clearance == pytest.approx(0.7)
    assert 0.8 < other.descriptors[1].minimum_clearance < 1.0


@pytest.mark.parametrize(('paths', 'fields', 'what'), [
    ([ROUND, STRAIGHT], {'limits': [PathLimit(descriptor='width', relation='<=')]},
     "limits[0].descriptor: 'width' is not a descriptor"),
    ([ROUND, STRAIGHT], {'limits': [PathLimit(descriptor='length', relation='<')]},
     "relation '<'"),
    ([ROUND, STRAIGHT], {'limits': [PathLimit(descriptor='length', relation='<=', reference=3)]},
     'limits[0].reference is 3'),
    ([ROUND, STRAIGHT], {'keep_out': ['attic']}, "no area 'attic'"),
    ([ROUND, STRAIGHT], {'areas': [NamedArea(name='a', polygons=[Polygon()])]}, '0 corners'),
    ([ROUND, STRAIGHT], {'keep_side': 'up'}, "keep_side 'up'"),
    ([ROUND, STRAIGHT], {'radius': -1.0}, 'radius -1'),
    ([ROUND, STRAIGHT], {'trade_offs': [PathTradeOff(descriptor='length', most=-1.0)]},
     'trade-off: path_length'),
    ([ROUND], {}, 'paths: 1 of them'), ([ROUND] * 17, {}, 'paths: 17 of them'),
    ([ROUND, []], {}, 'paths[1] has 0 points'),
    ([ROUND, [(math.nan, 0.0)] * 2], {}, 'paths[1]: points: point 1 is not finite'),
    ([ROUND, STRAIGHT], {'map': grid('')}, 'map.header.frame_id is empty'),
    ([ROUND, STRAIGHT], {'map': grid('odom')}, "paths[0].header.frame_id is 'map'"),
    ([ROUND, STRAIGHT], {'map': grid(width=3)}, 'map.data: 600 cells for 3 x 20'),
    ([ROUND, STRAIGHT], {'map': grid(resolution=0.0)}, 'map.info.resolution'),
    ([ROUND, STRAIGHT], {'map': OccupancyGrid(header=grid().header)}, 'map.data: 0 cells'),
    ([ROUND, STRAIGHT], {'vector': (2, *SHORT[1:])}, 'vector: (2, 0, 0, -1, 0, 0, 0)'),
    ([ROUND, STRAIGHT], {'vector': (0,) * 7}, 'no descriptor matters'),
    ([ROUND, STRAIGHT], {'vector': None, 'scenario': 'Be purple.'}, 'nothing of it tells')])
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
