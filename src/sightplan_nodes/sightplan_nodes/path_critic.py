"""The node ``path_critic``: which of several paths on a map is best for a task."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from nav_msgs.msg import OccupancyGrid as GridMessage
from nav_msgs.msg import Path
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sightplan_interfaces.msg import PathDescriptors
from sightplan_interfaces.srv import ComparePaths
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from sightplan.model import InputError, param
from sightplan.model.query import Deadline, Model, ModelByKind, answers, can_ask, traits_of
from sightplan.queries import Choose, Generate, TextReply
from sightplan.records import messages
from sightplan.vlm.api import backend_class, usable_backends
from sightplan_nodes import names, qos
from sightplan_nodes.backend_node import BackendNode, BackendSettings
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.remote_model import MODEL
from sightplan_nodes.spin import main as run_main
from sightplan_suites.paths.critic import CriticSettings, Critique, PathCritic
from sightplan_suites.paths.descriptors import NAMES
from sightplan_suites.paths.labels import Vector
from sightplan_suites.paths.maps import ObstacleMap, OccupancyGrid, map_of_grid
from sightplan_suites.paths.wishes import WishSettings, can_read_tasks

_BEST, _OTHER = (0.0, 0.45, 0.7, 1.0), (0.5, 0.5, 0.5, 0.6)
_TURNED = 1e-3
"""Rotation of a grid above which it is refused [rad]."""


@dataclass(frozen=True, slots=True)
class PathCriticSettings(BackendSettings):
    """Parameters of ``path_critic``."""

    backend: str = param('', 'Model that is asked what a task wants, or to compare pictures: a '
                             'module of sightplan_models; empty: none, requests must give '
                             'a vector')
    occupied_threshold: int = param(50, 'A cell of a map is an obstacle from this value on [%]',
                                    low=1, high=100)
    unknown_occupied: bool = param(True, 'Whether unknown cells of a map are obstacles')


class _Nobody(ModelByKind):
    """Stands in for a model where none is needed, and refuses every query."""

    name = ''

    @answers(Generate)
    def refuse(self, query: Generate, deadline: Deadline) -> TextReply:
        raise _no_model()


def _no_model() -> InputError:
    able = ', '.join(name for name in usable_backends() if _suits(name))
    return InputError('vector_given is false, and path_critic has no model to ask what the task '
                      f'wants: give a vector, or set its parameter backend to one of {able}')


class PathCriticNode(BackendNode):
    """Compares paths, while active.

    Service: ``~/compare_paths`` (ComparePaths). Latched: ``~/best`` (nav_msgs/Path), the best path
    of the last request, without poses where every path touches or crosses an obstacle, so that
    there is no best; and ``~/markers`` (MarkerArray), all of them with their probabilities. Of
    pictures neither is published.

    Parameters: see PathCriticSettings; WishSettings with the prefix ``wishes.``, CriticSettings
    with the prefix ``critic.``. Without a backend nothing is loaded. For the rest see BackendNode.
    """

    settings: PathCriticSettings

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(names.PATH_CRITIC, PathCriticSettings, ComparePaths, '~/compare_paths',
                         **node_arguments)
        self._wishes = declare_settings(self, WishSettings, 'wishes.')
        self._critic = declare_settings(self, CriticSettings, 'critic.')
        self._best_pub = self.create_publisher(Path, '~/best', qos.LATCHED)
        self._markers_pub = self.create_publisher(MarkerArray, '~/markers', qos.LATCHED)

    def subscribe(self, backend: Model) -> None:
        """Subscribe to nothing: pictures of paths come from no camera."""

    def check_backend(self, name: str) -> None:
        """Refuse a backend that neither reads tasks nor compares pictures."""
        if not _suits(name):
            able = ', '.join(other for other in usable_backends() if _suits(other))
            raise InputError(f'backend {name!r} can neither tell what a task in words wants, nor '
                             f'compare pictures; choose one that can: {able}')

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, if there is one."""
        if self.settings.backend:
            return super().on_configure(state)
        self._backend = _Nobody()
        self._user = self.use(self._backend)
        self._show(MODEL, '', 'Exact name of the model in use')
        self.get_logger().info('ready, without a model: requests must give a vector')
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
            if vector is None and not self.settings.backend:
                raise _no_model()
            item = map_of_request(request.map, self.settings)
            paths = paths_of_request(request)
            found = user.compare(item, paths, request.scenario, vector, limit_s)
            self._best_pub.publish(request.paths[found.ranking[0]] if found.ranking
                                   else Path(header=request.map.header))
            self._markers_pub.publish(_markers(request, found, request.map.info.resolution))
        fill_critique(response, found)
        response.seconds = time.monotonic() - started

    def _by_pictures(self, user: PathCritic, request: ComparePaths.Request,
                     vector: Vector | None, limit_s: float) -> Critique:
        if request.paths or request.map.data:
            raise InputError('pictures: map and paths are given, too (leave out the pictures, '
                             'then the paths are measured)')
        if not self.settings.backend:
            raise InputError('pictures: path_critic has no model that compares them (set its '
                             'parameter backend)')
        pictures = [messages.image_from_msg(picture) for picture in request.pictures]
        return user.compare_pictures(pictures, request.scenario, vector, limit_s)


def _suits(name: str) -> bool:
    backend = backend_class(name)
    return not traits_of(backend).truth and (
        can_read_tasks(backend) or can_ask(backend, Choose))


def map_of_request(message: GridMessage, settings: PathCriticSettings) -> ObstacleMap:
    """The map of a message, in its frame.

    Raises:
        InputError: it has no frame, is turned, or a field of it cannot be used; names the field.
    """
    info = message.info
    if not message.header.frame_id:
        raise InputError('map.header.frame_id is empty (name the frame of the map)')
    turn = info.origin.orientation
    if not all(abs(part) <= _TURNED for part in (turn.x, turn.y, turn.z)):
        raise InputError('map.info.origin.orientation: the map is turned (turn it back, and the '
                         'paths with it)')
    if not len(message.data) or len(message.data) != info.width * info.height:
        raise InputError(f'map.data: {len(message.data)} cells for {info.width} x {info.height} '
                         'in map.info (there must be as many, and some)')
    if not (math.isfinite(info.resolution) and info.resolution > 0):
        raise InputError(f'map.info.resolution: {info.resolution:g} (give metres a cell, above 0)')
    cells = np.array(message.data, dtype=np.int8).reshape(info.height, info.width)
    grid = OccupancyGrid(cells, float(info.resolution), message.header.frame_id,
                         (info.origin.position.x, info.origin.position.y))
    return map_of_grid(grid, 'map', threshold=settings.occupied_threshold,
                       unknown_occupied=settings.unknown_occupied)


def paths_of_request(request: ComparePaths.Request) -> list[NDArray[np.float64]]:
    """The paths of a request, each (N, 2).

    Raises:
        InputError: one is not in the frame of the map; names the field.
    """
    frame = request.map.header.frame_id
    paths = []
    for number, path in enumerate(request.paths):
        if path.header.frame_id != frame:
            raise InputError(f'paths[{number}].header.frame_id is {path.header.frame_id!r}, that '
                             f'of the map {frame!r} (transform the path into the frame of the '
                             'map)')
        for at, pose in enumerate(path.poses):
            if pose.header.frame_id not in ('', frame):
                raise InputError(f'paths[{number}].poses[{at}].header.frame_id is '
                                 f'{pose.header.frame_id!r}, that of the map {frame!r} '
                                 '(transform the path into the frame of the map)')
        paths.append(np.array([(pose.pose.position.x, pose.pose.position.y)
                               for pose in path.poses], dtype=np.float64).reshape(-1, 2))
    return paths


def fill_critique(response: ComparePaths.Response, found: Critique) -> ComparePaths.Response:
    """Write a critique into a response."""
    response.ranking, response.best = list(found.ranking), list(found.best)
    response.descriptors = [
        PathDescriptors(**dict(zip(NAMES, item.values(), strict=True)))
        for item in found.descriptors]
    if found.wishes is not None:
        wishes = found.wishes.wishes
        response.less_is_better = [wish.less for wish in wishes]
        response.does_not_matter = [wish.neither for wish in wishes]
        response.more_is_better = [wish.more for wish in wishes]
    response.reason, response.model = messages.text(found.reason), messages.text(found.model)
    return response


def _markers(request: ComparePaths.Request, found: Critique, width_m: float) -> MarkerArray:
    """Every path as a line with its number and probability at its middle; others' are removed."""
    made = [Marker(header=request.map.header, action=Marker.DELETEALL)]
    for number, path in enumerate(request.paths):
        first = number in found.ranking[:1]
        red, green, blue, opacity = _BEST if first else _OTHER
        colour = ColorRGBA(r=red, g=green, b=blue, a=opacity)
        points = [Point(x=pose.pose.position.x, y=pose.pose.position.y) for pose in path.poses]
        line = Marker(header=request.map.header, ns='paths', id=number, type=Marker.LINE_STRIP,
                      action=Marker.ADD, color=colour, points=points)
        line.pose.orientation.w = 1.0
        line.scale.x = (2.0 if first else 1.0) * width_m
        label = Marker(header=request.map.header, ns='labels', id=number,
                       type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, color=colour,
                       text=f'{number + 1}: {found.best[number]:.2f}',
                       scale=Vector3(z=8.0 * width_m))
        label.pose.position = points[len(points) // 2]
        label.pose.orientation.w = 1.0
        made += [line, label]
    return MarkerArray(markers=made)


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(PathCriticNode, args)
