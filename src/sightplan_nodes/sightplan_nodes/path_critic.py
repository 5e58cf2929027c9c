"""The node ``path_critic``: which of several paths on a map is best for a task."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from nav_msgs.msg import Path
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sightplan_interfaces.msg import PathDescriptors, PathExclusion
from sightplan_interfaces.srv import ComparePaths
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from sightplan.model import InputError, param
from sightplan.model.query import Model
from sightplan.records import messages
from sightplan_nodes import names, qos
from sightplan_nodes.backend_node import BackendNode, BackendSettings
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.path_markers import path_markers
from sightplan_nodes.remote_model import MODEL
from sightplan_nodes.spin import main as run_main
from sightplan_suites.paths.areas import Area, named_areas
from sightplan_suites.paths.costmaps import AUTO, COSTMAP, OCCUPANCY, map_of_cells
from sightplan_suites.paths.critic import CriticSettings, Critique, PathCritic
from sightplan_suites.paths.descriptors import NAMES
from sightplan_suites.paths.exclusions import Exclusion
from sightplan_suites.paths.footprints import POINT, Footprint
from sightplan_suites.paths.labels import Vector
from sightplan_suites.paths.limits import (
    REFERENCES,
    Limit,
    PathLimits,
    TradeOff,
    descriptor_name,
)
from sightplan_suites.paths.map_messages import (
    costmap_of_message,
    grid_of_message,
    points_of_path,
)
from sightplan_suites.paths.maps import ObstacleMap
from sightplan_suites.paths.robot_bases import UNKNOWN_ROBOT, RobotBase, read_robot_base
from sightplan_suites.paths.wishes import (
    NoModel,
    Wishes,
    WishSettings,
    check_path_backend,
    indifferent,
)

_MAP_KINDS = {ComparePaths.Request.AUTO: AUTO, ComparePaths.Request.OCCUPANCY: OCCUPANCY,
              ComparePaths.Request.COSTMAP: COSTMAP}


@dataclass(frozen=True, slots=True)
class PathCriticSettings(BackendSettings):
    """Parameters of ``path_critic``."""

    backend: str = param('', 'Model that is asked what a task wants, or to compare pictures: a '
                             'module of sightplan_models; empty, or one that reads no texts: '
                             'tasks are read by a small reader of English sentences')
    occupied_threshold: int = param(50, 'A cell of a map is an obstacle from this value on [%]',
                                    low=1, high=100)
    unknown_occupied: bool = param(True, 'Whether unknown cells of a map are obstacles')
    robot: str = param('', 'Robot whose outline paths are measured with, and whose differences '
                       'count, unless a request has an outline: a file with a section base, or a '
                       'name in config/robots; empty: a point')


class PathCriticNode(BackendNode):
    """Compares paths, while active.

    Service: ``~/compare_paths`` (ComparePaths). Latched: ``~/best`` (nav_msgs/Path), the best path
    of the last request, the first of the order where some are tied; without poses where every path
    touches an obstacle, leaves the map or breaks a limit, so that there is no best; and
    ``~/markers`` (MarkerArray, see ``path_markers``), all of them with their probabilities, or why
    they are out. Of pictures neither is published.

    Parameters: see PathCriticSettings; WishSettings with the prefix ``wishes.``, CriticSettings
    with the prefix ``critic.``. Without a backend nothing is loaded. For the rest see BackendNode.
    """

    settings: PathCriticSettings

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.PATH_CRITIC, PathCriticSettings, ComparePaths, '~/compare_paths',
                         **node_arguments)
        self._wishes = declare_settings(self, WishSettings, 'wishes.')
        self._critic = declare_settings(self, CriticSettings, 'critic.')
        self._robot = (read_robot_base(self.settings.robot) if self.settings.robot
                       else UNKNOWN_ROBOT)
        self._best_pub = self.create_publisher(Path, '~/best', qos.LATCHED)
        self._markers_pub = self.create_publisher(MarkerArray, '~/markers', qos.LATCHED)

    def subscribe(self, backend: Model) -> None:
        """Subscribe to nothing: pictures of paths come from no camera."""

    def check_backend(self, name: str) -> None:
        """Refuse a backend that neither reads tasks nor compares pictures."""
        check_path_backend(name)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, if there is one."""
        if self.settings.backend:
            return super().on_configure(state)
        self._backend = NoModel()
        self._user = self.use(self._backend)
        self._show(MODEL, '', 'Exact name of the model in use')
        self.get_logger().info('ready, without a model: tasks are read by the reader of sentences')
        return TransitionCallbackReturn.SUCCESS

    def use(self, backend: Model) -> PathCritic:
        """Let the core's critic ask the backend."""
        return PathCritic(backend, self._wishes, self._critic)

    def work(self, user: PathCritic, request: ComparePaths.Request,
             response: ComparePaths.Response, limit_s: float) -> None:
        """Compare; contract in the base class."""
        started = time.monotonic()
        vector = tuple(int(sign) for sign in request.vector) if request.vector_given else None
        if request.pictures:
            found = self._by_pictures(user, request, vector, limit_s)
        else:
            limits = limits_of_request(request)
            if vector is None and not request.scenario.strip() and limits:
                wishes: Wishes | None = indifferent()
            else:
                wishes = None
            robot = robot_of_request(request, self._robot)
            item = map_of_request(request, self.settings, robot.footprint)
            paths, areas = paths_of_request(request, item.frame), areas_of_request(request)
            found = user.compare(item, paths, request.scenario, vector, limit_s, limits=limits,
                                 areas=areas, robot=robot, wishes=wishes)
            self._best_pub.publish(request.paths[found.ranking[0]] if found.ranking
                                   else Path(header=_header(request)))
            self._markers_pub.publish(path_markers(
                item.frame, paths, found, named_areas(areas, limits.keep_out), item.cell))
        fill_critique(response, found)
        response.seconds = time.monotonic() - started

    def _by_pictures(self, user: PathCritic, request: ComparePaths.Request,
                     vector: Vector | None, limit_s: float) -> Critique:
        if request.paths or request.map.data or request.costmap.data:
            raise InputError('pictures: map and paths are given, too (leave out the pictures, '
                             'then the paths are measured)')
        if limits_of_request(request):
            raise InputError('pictures: no limit can be checked without a map (leave out limits, '
                             'keep_out, keep_side and trade_offs, or give map and paths)')
        if not self.settings.backend:
            raise InputError('pictures: path_critic has no model that compares them (set its '
                             'parameter backend)')
        pictures = [messages.image_from_msg(picture) for picture in request.pictures]
        return user.compare_pictures(pictures, request.scenario, vector, limit_s)


def map_of_request(request: ComparePaths.Request, settings: PathCriticSettings,
                   footprint: Footprint = POINT) -> ObstacleMap:
    """The map of a request, or its costmap, in its frame.

    Args:
        request: one of the two has cells.
        settings: which cells are obstacles.
        footprint: of the robot; inscribed cells of a costmap are obstacles to a point.

    Raises:
        InputError: there are both, it has no frame, is turned, or a field of it cannot be used;
            names the field.
    """
    if len(request.costmap.data):
        if len(request.map.data):
            raise InputError('costmap and map are given (leave out one of them)')
        return map_of_cells(costmap_of_message(request.costmap), 'costmap',
                            unknown_occupied=settings.unknown_occupied,
                            inscribed=footprint == POINT)
    kind = _MAP_KINDS.get(request.map_kind)
    if kind is None:
        raise InputError(f'map_kind is {request.map_kind} (give AUTO, OCCUPANCY or COSTMAP)')
    return map_of_cells(grid_of_message(request.map), 'map', kind,
                        'set map_kind to COSTMAP, or to OCCUPANCY',
                        threshold=settings.occupied_threshold,
                        unknown_occupied=settings.unknown_occupied, inscribed=footprint == POINT)


def _header(request: ComparePaths.Request) -> Header:
    """The header of the map, or of the costmap."""
    header: Header = (request.costmap if len(request.costmap.data) else request.map).header
    return header


def limits_of_request(request: ComparePaths.Request) -> PathLimits:
    """The limits of a request.

    Raises:
        InputError: a field of them cannot be used; names the field.
    """
    limits = []
    for number, each in enumerate(request.limits):
        where = f'limits[{number}]'
        if each.reference >= len(REFERENCES):
            raise InputError(f'{where}.reference is {each.reference} (give ABSOLUTE, TIMES_LEAST '
                             'or ABOVE_LEAST)')
        limits.append(Limit(descriptor_name(each.descriptor, f'{where}.descriptor'), each.relation,
                            each.value, REFERENCES[each.reference]))
    costs = tuple(TradeOff(descriptor_name(each.descriptor, f'trade_offs[{number}].descriptor'),
                           each.most, each.relative)
                  for number, each in enumerate(request.trade_offs))
    return PathLimits(tuple(limits), tuple(request.keep_out), request.keep_side, costs)


def areas_of_request(request: ComparePaths.Request) -> tuple[Area, ...]:
    """The areas of a request, each with its polygons."""
    return tuple(Area(area.name, tuple(
        tuple((float(point.x), float(point.y)) for point in polygon.points)
        for polygon in area.polygons)) for area in request.areas)


def robot_of_request(request: ComparePaths.Request, usual: RobotBase) -> RobotBase:
    """The robot of a request: the usual one, with the request's outline if it has one.

    Raises:
        InputError: it has a radius and a footprint, or one that cannot be used.
    """
    corners = tuple((float(point.x), float(point.y)) for point in request.footprint.points)
    if not request.radius and not corners:
        return usual
    return dataclasses.replace(usual, footprint=Footprint(request.radius, corners))


def paths_of_request(request: ComparePaths.Request, frame: str) -> list[NDArray[np.float64]]:
    """The paths of a request, each (N, 2).

    Args:
        request: with paths.
        frame: of the map.

    Raises:
        InputError: one is not in the frame of the map; names the field.
    """
    return [points_of_path(path, frame, f'paths[{number}]')
            for number, path in enumerate(request.paths)]


def fill_critique(response: ComparePaths.Response, found: Critique) -> ComparePaths.Response:
    """Write a critique into a response."""
    response.ranking, response.best = list(found.ranking), list(found.best)
    response.descriptors = [
        PathDescriptors(**dict(zip(NAMES, item.values(), strict=True)))
        for item in found.descriptors]
    response.tied, response.beyond = list(found.tied), list(found.beyond)
    response.exclusions = [_exclusion(number, each) for number, one in enumerate(found.exclusions)
                           for each in one]
    if found.wishes is not None:
        wishes = found.wishes.wishes
        response.less_is_better = [wish.less for wish in wishes]
        response.does_not_matter = [wish.neither for wish in wishes]
        response.more_is_better = [wish.more for wish in wishes]
    response.taken = messages.text(found.taken)
    response.cannot_tell = messages.text(found.cannot_tell)
    response.reason, response.model = messages.text(found.reason), messages.text(found.model)
    return response


def _exclusion(path: int, found: Exclusion) -> PathExclusion:
    message = PathExclusion(path=path, kind=found.kind, what=messages.text(found.what),
                            words=messages.text(found.words), value=found.value,
                            bound=found.bound, placed=found.at is not None)
    if found.at is not None:
        message.at = Point(x=found.at[0], y=found.at[1])
    return message


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(PathCriticNode, args)
