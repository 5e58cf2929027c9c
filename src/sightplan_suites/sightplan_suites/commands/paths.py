"""``sightplan paths``: paths on maps, and which of them is best for a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sightplan.commands.flags import argument, option, option_like
from sightplan.commands.frame import (
    DONE,
    Result,
    add_command,
    add_group,
    note,
    print_table,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import InputError, user_path
from sightplan.model.settings import picked
from sightplan_suites.paths.costmaps import AUTO, KINDS
from sightplan_suites.paths.critic import CriticSettings
from sightplan_suites.paths.wishes import WishSettings

if TYPE_CHECKING:
    from sightplan.model.query import Model
    from sightplan.records.bag_reading import Bag
    from sightplan_suites.paths.areas import Area
    from sightplan_suites.paths.bag_files import RecordedPath
    from sightplan_suites.paths.critic import Critique
    from sightplan_suites.paths.labels import Vector
    from sightplan_suites.paths.limits import PathLimits
    from sightplan_suites.paths.maps import FloatArray, ObstacleMap
    from sightplan_suites.paths.robot_bases import RobotBase

_EXAMPLES = """\
examples:
  sightplan paths compare SceneMaze_Dims10_0.txt runs.txt --vector path_length=-1,sharp_turns=-1
  sightplan paths compare warehouse.yaml runs.txt --areas areas.yaml \\
      --scenario 'Short, but half a metre from anything, and not through the nursery.'
  sightplan paths compare warehouse.yaml runs.txt --only 1,4,7 --picture paths.png \\
      --scenario 'A forklift brings glass through the hall.' --backend openai \\
      --backend-option model=NAME
  sightplan paths compare warehouse.yaml runs.txt --vector average_clearance=1 --footprint 0.3 \\
      --limit 'clearance>=50cm' --limit 'turn<=60' --unless length+10 \\
      --areas areas.yaml --keep-out nursery --keep right
  sightplan paths compare recording --vector minimum_clearance=1 --footprint 0.3
  sightplan paths compare recording --map-topic /map --path-topic /plan --only 1,3 \\
      --limit 'length<=1.2x'
  sightplan paths compare warehouse.yaml recording --vector path_length=-1
  sightplan paths compare --pictures a.png b.png c.png --scenario 'A taxi.' --backend openai \\
      --backend-option model=NAME

On a known map the paths are measured. What --scenario wants is read by a small reader of English
sentences, without a model, which refuses what it does not understand. Limits, trade-offs and areas
to keep out of (by their names in --areas) that the sentence names count as those of the options. A
--backend that reads texts is asked instead, for each of seven descriptors, whether more or less of
it is better; the probability that a path is the best follows from what is believed of that. The
answer says what the sentence was taken to want.

A vector states what is better, and nobody is asked: NAME=SIGN pairs (1: more is better, -1: less
is better), or seven numbers in the order average_clearance, minimum_clearance, maximum_clearance,
path_length, sharp_turns, maximum_angle, smoothness.

What is measured is the line that is driven, the same for a path of one point a cell, for its
corners and for points every few centimetres: clearances of the robot's outline along it, length
and turns. A path that touches an obstacle, leaves the map or breaks a limit is out: it is never
the best, and the answer says what it does, where, and by how much. Limits are NAME>=VALUE,
NAME<=VALUE, NAME<=FACTORx (of the shortest) or NAME<=+MORE (than the shortest), in the unit of the
map or with m, cm, deg; names are the descriptors, or clearance, length, turn, turning,
sharp_turns. --unless says what the wishes may cost: a path whose length is more above the shortest
comes after the others. Unknown cells of a grid are obstacles, unless --unknown-free.

A bag of rosbag2 (a folder, .mcap or .db3; no ROS is needed) has paths as nav_msgs/Path, numbered
in the order of recording, and a map as nav_msgs/OccupancyGrid or nav2_msgs/Costmap: the newest
that was there when the last of the paths came. Paths and map must be in one frame.

With --pictures no map is known: the model compares pictures of the paths in pairs; it is
not checked whether a path crosses an obstacle, leaves the map or breaks a limit.
"""

_LISTED = 40
"""Paths of a bag that are listed, at most."""
_BAGS = 'bags'
_LIMITS = 'limits'
_MEASURES = 'measures'


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """Arguments of ``sightplan paths compare``."""

    map: str | None = argument(
        'polygons of PathEval (.txt), a grid of ROS (.yaml beside its picture), or of numpy '
        '(.npz); or a bag of rosbag2 with a map, and with paths if PATHS is left out',
        default=None, metavar='MAP')
    paths: str | None = argument(
        'file of paths: for each "@", lines "x y", and "Robot Radius: r"; or a bag with paths',
        default=None, metavar='PATHS')
    map_topic: str | None = option(
        None, 'topic of the map in a bag (default: the only one)', metavar='TOPIC', group=_BAGS)
    path_topic: tuple[str, ...] = option(
        (), 'topic of paths in a bag (repeatable; default: all of nav_msgs/Path)',
        metavar='TOPIC', group=_BAGS)
    pictures: tuple[str, ...] = option(
        (), 'instead of map and paths: a picture of each path, 2 to 16', metavar='PNG',
        listed=True)
    only: str | None = option(
        None, 'compare these paths of the file, counted from 1', metavar='N,N,...')
    scenario: str = option('', 'the task, in words', metavar='TEXT')
    vector: str | None = option(
        None, 'what is better, see below; no model is asked what the task wants', metavar='V')
    backend: str | None = backend_flag(None, 'model that is asked')
    backend_option: tuple[str, ...] = settings_flag('the backend')
    wordings: int = option_like(WishSettings, 'wordings')
    limit: tuple[str, ...] = option(
        (), 'limit that a path must keep, such as clearance>=0.5 or length<=1.2x (repeatable)',
        metavar='LIMIT', group=_LIMITS)
    keep_out: tuple[str, ...] = option(
        (), 'area of --areas that the robot must not enter (repeatable)', metavar='NAME',
        group=_LIMITS)
    areas: str | None = option(
        None, 'named areas: YAML with polygons or masks, or GeoJSON, in coordinates of the map',
        metavar='FILE', group=_LIMITS)
    keep: Literal['left', 'right'] | None = option(
        None, 'side of corridors, or of the line from start to goal, that a path must keep to',
        group=_LIMITS)
    unless: tuple[str, ...] = option(
        (), 'the most that the wishes may cost, such as length+10 or length+20% (repeatable)',
        metavar='COST', group=_LIMITS)
    footprint: str | None = option(
        None, 'radius of the robot, or its corners [[x, y], ...], x ahead (default: the radius '
        'that PATHS has, if it is one)', metavar='R', group=_MEASURES)
    robot: str | None = option(
        None, "robot's file with a section base: outline, and differences that matter to it",
        metavar='FILE', group=_MEASURES)
    tolerance: float = option_like(CriticSettings, 'tolerance', metavar='X', group=_MEASURES)
    differences: str = option_like(CriticSettings, 'differences', group=_MEASURES)
    length_scale: float = option_like(CriticSettings, 'length_scale', metavar='X',
                                      group=_MEASURES)
    threshold: int = option(
        50, 'a cell of a grid is an obstacle from this value on', metavar='PERCENT',
        group=_MEASURES)
    cells: str = option(
        AUTO, "what values of a grid's cells mean; auto: occupancies, and refuse what looks like "
        "a costmap of Nav2", choices=KINDS, group=_MEASURES)
    unknown_free: bool = option(
        False, 'unknown cells of a grid are free, not obstacles', group=_MEASURES)
    pairs: int = option_like(CriticSettings, 'pairs')
    picture: str | None = option(
        None, 'write a picture of all paths, the best one marked (.png, .svg or .pdf)',
        metavar='PNG')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan paths`` and its sub-commands."""
    group = add_group(subparsers, 'paths', 'compare paths on maps for a task')
    add_command(
        group, 'compare', compare, 'which of several paths is best for a task',
        'Order 2 to 16 paths by how well they suit a task, with the probability of each to be the '
        'best, what was measured, and why.', settings=CompareArguments, examples=_EXAMPLES,
        exits='0 done; 1 the model failed; 2 bad usage or bad files')


def compare(arguments: CompareArguments) -> Result:
    """Compare, show and draw."""
    from sightplan_suites.paths.preference import vector_from_text
    vector = None if arguments.vector is None else vector_from_text(arguments.vector)
    settings = picked(CriticSettings, arguments)
    if arguments.pictures:
        found = _by_pictures(arguments, vector, settings)
        names: Sequence[object] = arguments.pictures
        numbers = list(range(1, len(names) + 1))
    else:
        found, numbers = _on_map(arguments, vector, settings,
                                 picked(WishSettings, arguments))
        names = numbers
    _show(found, names)
    return {'paths': list(names), **found.to_json(),
            **{name: [numbers[at] for at in getattr(found, name)]
               for name in ('ranking', 'tied', 'beyond', 'crossing')}}, DONE


def _by_pictures(arguments: CompareArguments, vector: Vector | None,
                 settings: CriticSettings) -> Critique:
    from sightplan.model.picture_files import read_image
    from sightplan_suites.paths.critic import compare_pictures
    if any(value is not None for value in (arguments.map, arguments.picture, arguments.only)):
        raise InputError('--pictures: there is no map to measure or draw on (leave out MAP, '
                         'PATHS, --only and --picture, or --pictures)')
    if _limits(arguments):
        raise InputError('--pictures: no limit can be checked without a map (leave out --limit, '
                         '--keep-out, --keep and --unless, or give MAP and PATHS)')
    pictures = [read_image(user_path(name)) for name in arguments.pictures]
    backend = _backend(arguments, 'pictures are compared by a model: choose one with --backend')
    return compare_pictures(backend, pictures, arguments.scenario, settings, vector=vector)


def _on_map(arguments: CompareArguments, vector: Vector | None, settings: CriticSettings,
            wishes: WishSettings) -> tuple[Critique, list[int]]:
    from sightplan_suites.paths.critic import PathCritic, compare_paths
    from sightplan_suites.paths.wishes import certain, indifferent
    if arguments.picture is not None:
        from sightplan_suites.paths.picture import check_picture
        check_picture(user_path(arguments.picture))
    item, paths, numbers, robot = _inputs(arguments)
    limits, areas = _limits(arguments), _areas(arguments)
    if vector is not None or not arguments.scenario.strip():
        if vector is None and not limits:
            raise InputError('say the task with --scenario, or what is better with --vector, or '
                             'a --limit')
        wanted = indifferent() if vector is None else certain(vector)
        found = compare_paths(item, paths, wanted, settings, numbers=numbers, limits=limits,
                              areas=areas, robot=robot)
    else:
        found = PathCritic(_reader_or_backend(arguments), wishes, settings).compare(
            item, paths, arguments.scenario, numbers=numbers, limits=limits, areas=areas,
            robot=robot)
    if arguments.picture is not None:
        _draw(arguments.picture, arguments.scenario, item, paths, found, numbers, areas)
    return found, numbers


def _inputs(arguments: CompareArguments,
            ) -> tuple[ObstacleMap, list[FloatArray], list[int], RobotBase]:
    """Map, paths, their numbers from 1, and the robot."""
    from sightplan.records.bag_reading import open_bag
    from sightplan_suites.paths.bag_files import is_bag
    from sightplan_suites.paths.maps import EVERYWHERE, as_points
    from sightplan_suites.paths.path_files import read_attempts
    file = arguments.paths
    if file is None and arguments.map is not None and is_bag(user_path(arguments.map)):
        file = arguments.map
    if arguments.map is None or file is None:
        raise InputError('name a file of a MAP and one of PATHS, or a bag with both, or '
                         '--pictures of the paths')
    if is_bag(user_path(file)):
        bag = open_bag(file)
        recorded = _recorded(arguments, bag)
        numbers = _chosen(len(recorded), file, arguments.only)
        chosen = [recorded[number - 1] for number in numbers]
        robot = _robot(arguments)
        item = _map(arguments, robot, bag if arguments.map == file else None,
                    max(path.log_ns for path in chosen))
        return item, [path.points(item.frame) for path in chosen], numbers, robot
    if arguments.path_topic:
        raise InputError(f'--path-topic: {file} is no bag (leave it out)')
    # A path that leaves the map is out, and named; it does not spoil the file.
    attempts = read_attempts(user_path(file), EVERYWHERE)
    if attempts.broken:
        raise attempts.broken[0]
    if attempts.failed:
        note(f'{file}: {attempts.failed} of the attempts found no path, and bear no number')
    runs = attempts.runs
    numbers = _chosen(len(runs), file, arguments.only)
    robot = _robot(arguments, {runs[number - 1].radius for number in numbers})
    return (_map(arguments, robot), [as_points(runs[number - 1].points) for number in numbers],
            numbers, robot)


def _recorded(arguments: CompareArguments, bag: Bag) -> list[RecordedPath]:
    """The paths of a bag; prints what the first of them are."""
    from sightplan_suites.paths.bag_files import recorded_paths
    found = recorded_paths(bag, arguments.path_topic)
    for warning in bag.warnings:
        note(warning)
    print_table(['path', 'topic', 'message', 'after [s]', 'poses'], [
        [number, path.topic, path.number, f'{(path.log_ns - found[0].log_ns) / 1e9:.3f}',
         len(path.message.poses)] for number, path in enumerate(found[:_LISTED], 1)])
    if len(found) > _LISTED:
        print(f'and {len(found) - _LISTED} more')
    return found


def _map(arguments: CompareArguments, robot: RobotBase, bag: Bag | None = None,
         before_ns: int | None = None) -> ObstacleMap:
    """The map of a file, or the newest one of a bag, which may be open, at a time [ns]."""
    from sightplan_suites.paths.bag_files import is_bag, recorded_map
    from sightplan_suites.paths.costmaps import map_of_cells
    from sightplan_suites.paths.footprints import POINT
    from sightplan_suites.paths.grid_files import open_map
    assert arguments.map is not None, 'see _inputs'
    settings: dict[str, Any] = {
        'threshold': arguments.threshold, 'unknown_occupied': not arguments.unknown_free,
        'kind': arguments.cells, 'inscribed': robot.footprint == POINT}
    file = user_path(arguments.map)
    if is_bag(file):
        from sightplan.records.bag_reading import open_bag
        found = recorded_map(bag or open_bag(file), arguments.map_topic, before_ns)
        for warning in found.warnings:
            note(warning)
        return map_of_cells(found.cells, found.name, remedy='say which with --cells costmap or '
                            '--cells occupancy, or choose another --map-topic', **settings)
    if arguments.map_topic is not None:
        raise InputError(f'--map-topic: {arguments.map} is no bag (leave it out)')
    return open_map(file, **settings)


def _limits(arguments: CompareArguments) -> PathLimits:
    from sightplan_suites.paths.limits import limits_from_texts
    return limits_from_texts(arguments.limit, arguments.keep_out, arguments.keep or '',
                             arguments.unless)


def _areas(arguments: CompareArguments) -> tuple[Area, ...]:
    from sightplan_suites.paths.areas import read_areas
    return () if arguments.areas is None else read_areas(user_path(arguments.areas))


def _robot(arguments: CompareArguments, radii: Collection[float] = ()) -> RobotBase:
    """The robot: of --robot, with the outline of --footprint, or the one radius of the paths."""
    from sightplan_suites.paths.footprints import Footprint, footprint_from_text
    from sightplan_suites.paths.robot_bases import UNKNOWN_ROBOT, read_robot_base
    robot = UNKNOWN_ROBOT if arguments.robot is None else read_robot_base(arguments.robot)
    if arguments.footprint is not None:
        robot = dataclasses.replace(robot, footprint=footprint_from_text(arguments.footprint))
    elif arguments.robot is None and len(radii) == 1:
        robot = dataclasses.replace(robot, footprint=Footprint(next(iter(radii))))
    elif arguments.robot is None:
        told = (f'the paths are for robots of {min(radii):g} to {max(radii):g}' if radii else
                'no robot is given')
        note(f'{told}; paths are measured for a point (give the robot with --footprint)')
    return robot


def _chosen(count: int, file: str, only: str | None) -> list[int]:
    """The numbers from 1 of the wanted paths of a file."""
    if only is None:
        if count > 16:
            raise InputError(f'{file}: {count} paths (2 to 16 can be compared; '
                             'choose with --only 1,4,7)')
        return list(range(1, count + 1))
    try:
        numbers = [int(part) for part in only.split(',')]
    except ValueError:
        raise InputError(f'--only {only!r} must have the form N,N,...') from None
    for number in numbers:
        if not 1 <= number <= count:
            raise InputError(f'--only: path {number} (there are 1 to {count} in {file})')
        if numbers.count(number) > 1:
            raise InputError(f'--only: path {number} is named twice (name each path once)')
    return numbers


def _reader_or_backend(arguments: CompareArguments) -> Model:
    """Return the model that reads the task: the backend, or ``NoModel`` if none is named."""
    from sightplan_suites.paths.wishes import NoModel
    return NoModel() if arguments.backend is None else _backend(arguments, '')


def _backend(arguments: CompareArguments, missing: str) -> Model:
    from sightplan.vlm.api import backend_settings, make_checked_backend
    from sightplan_suites.paths.wishes import check_path_backend
    if arguments.backend is None:
        raise InputError(missing)
    check_path_backend(arguments.backend)
    options = read_options(arguments.backend_option, type(backend_settings(arguments.backend)),
                           '--backend-option')
    return make_checked_backend(arguments.backend, options)


def _draw(picture: str, scenario: str, item: Any, paths: Any, found: Critique,
          numbers: Sequence[int], areas: Sequence[Area]) -> None:
    from sightplan_suites.paths.picture import draw_paths, save_paths
    title = '  '.join(part for part in (scenario.strip(), found.taken, found.reason) if part)
    figure = draw_paths(item, paths, found.ranking, found.best, found.descriptors, title,
                        numbers, out=found.out, tied=found.tied, areas=areas)
    try:
        save_paths(figure, user_path(picture))
    except OSError as error:
        raise InputError(f'--picture {picture}: cannot be written: {error.strerror} '
                         '(choose another file)') from error
    print(f'picture: {picture}')


def _show(found: Critique, names: Sequence[object]) -> None:
    from sightplan_suites.paths.descriptors import KEYS
    measured = bool(found.descriptors)
    rows = [[names[number], _place(found, number), *(
        f'{value:.4g}' for value in (found.descriptors[number].values() if measured else ()))]
        for number in found.ranking or range(len(found.best))]
    print_table(['path', 'best', *(KEYS if measured else ())], rows,
                bold=(0,) if found.ranking and not found.tied else ())
    if found.wishes is not None and found.model:
        print_table(['wanted', 'less', 'does not matter', 'more'], [
            [wish.name, f'{wish.less:.3f}', f'{wish.neither:.3f}', f'{wish.more:.3f}']
            for wish in found.wishes.wishes])
    if found.taken:
        print(found.taken)
    print(found.reason)


def _place(found: Critique, number: int) -> str:
    """A path's probability to be the best as the table has it, or that it is out."""
    if number in found.out:
        return 'out'
    return f'{found.best[number]:.3f}{" (tied)" if number in found.tied else ""}'
