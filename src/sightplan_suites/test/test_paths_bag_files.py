"""``sightplan paths compare`` of bags: which paths and which map are taken, and bad bags."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import bag_cases
from bag_cases import KINDS_OF_BAG, Topic
from sightplan.cli import main
from sightplan.records.bag import MessageTypes
from sightplan.records.bag_messages import BagMessages
from sightplan.records.bag_reading import open_bag
from sightplan_suites.paths.bag_files import NAV2_DEFINITIONS, recorded_map

MAKE = BagMessages(MessageTypes({'nav2_msgs': NAV2_DEFINITIONS}))
record = functools.partial(bag_cases.record, store=MAKE.types.store)
PATH, GRID = 'nav_msgs/msg/Path', 'nav_msgs/msg/OccupancyGrid'
COSTMAP = 'nav2_msgs/msg/Costmap'
STRAIGHT, ROUND = ((1, 5), (19, 5)), ((1, 5), (1, 1), (19, 1), (19, 5))
SHORTER = ('--vector', 'path_length=-1')


def header(frame):
    return MAKE('std_msgs/msg/Header', frame_id=frame)


def path(points=STRAIGHT, frame='map', pose_frame=''):
    return MAKE(PATH, header=header(frame), poses=[MAKE(
        'geometry_msgs/msg/PoseStamped', header=header(pose_frame),
        pose=MAKE('geometry_msgs/msg/Pose', position=MAKE(
            'geometry_msgs/msg/Point', x=float(x), y=float(y)))) for x, y in points])


def grid(blocked=(), frame='map'):
    """A grid of 20 x 10 cells of 1 m; ``blocked`` are columns whose middle is an obstacle."""
    cells = np.zeros((10, 20), np.int8)
    cells[4:6, list(blocked)] = 100
    return MAKE(GRID, header=header(frame), data=cells.ravel(), info=MAKE(
        'nav_msgs/msg/MapMetaData', resolution=1.0, width=20, height=10))


def costmap(lethal, frame='map'):
    costs = np.full((10, 20), 60, np.uint8)
    costs[4:6, list(lethal)] = 254
    return MAKE(COSTMAP, header=header(frame), data=costs.ravel(), metadata=MAKE(
        'nav2_msgs/msg/CostmapMetaData', resolution=1.0, size_x=20, size_y=10))


def compare(capsys, *arguments):
    """Exit code, result and standard error."""
    code = main(['paths', 'compare', *arguments, '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, ' '.join(err.split())


PLANS = Topic('/plan', [(1, path(ROUND)), (2, path())])
MAP = Topic('/map', [(0, grid())])


@pytest.mark.parametrize(('plugin', 'compression'), KINDS_OF_BAG)
def test_paths_of_one_topic_in_any_kind_of_bag(tmp_path, capsys, plugin, compression):
    bag = record(tmp_path / 'b', MAP, PLANS, plugin=plugin, compression=compression)
    code, found, err = compare(capsys, bag, *SHORTER)
    assert code == 0, err
    assert found['ranking'] == [2, 1] and found['descriptors'][0]['Path length'] == 26
    assert '1 /plan 1 0.000 4 2 /plan 2 1.000 2' in err and 'no robot is given' in err


def test_paths_of_several_topics_are_numbered_as_they_were_recorded(tmp_path, capsys):
    bag = record(tmp_path / 'b', Topic('/late', [(5, path(ROUND))]), MAP,
                 Topic('/early', [(1, path()), (7, path())]))
    code, found, err = compare(capsys, bag, *SHORTER)
    assert code == 0 and found['best'] == [0.5, 0, 0.5], err
    code, found, err = compare(capsys, bag, *SHORTER, '--path-topic', 'early', '--path-topic',
                               '/late', '--only', '2,3')
    assert code == 0 and found['paths'] == [2, 3] and found['best'] == [0, 1], err
    _, _, err = compare(capsys, bag, *SHORTER, '--path-topic', '/late')
    assert 'paths: 1 of them' in err


@pytest.mark.parametrize(('times', 'out', 'warns'), [
    # The first map has an obstacle in the straight path, the second in the other one.
    ((0, 0.5), 1, False), ((0, 1.5), 1, False), ((0, 3), 2, False), ((3, 4), 2, True)])
def test_the_newest_map_before_the_last_path_counts(tmp_path, capsys, times, out, warns):
    low = grid()
    low.data[:] = np.roll(grid([9]).data.reshape(10, 20), -4, axis=0).ravel()
    bag = record(tmp_path / 'b', PLANS, Topic('/map', list(zip(
        times, (grid([9]), low), strict=True))))
    code, found, err = compare(capsys, bag, *SHORTER)
    assert code == 0, err
    assert [number for number, each in enumerate(found['out'], 1) if each] == [out]
    assert ('its first map came 1 s after the paths, and is taken' in err) == warns


def test_only_the_chosen_paths_say_which_map_counts(tmp_path, capsys):
    plans = Topic('/plan', [(1, path(ROUND)), (2, path()), (9, path())])
    bag = record(tmp_path / 'b', plans, Topic('/map', [(0, grid()), (5, grid([9]))]))
    _, found, _ = compare(capsys, bag, *SHORTER, '--only', '1,2')
    assert found['ranking'] == [2, 1]
    _, found, _ = compare(capsys, bag, *SHORTER, '--only', '1,3')
    assert found['ranking'] == [1, 3]


def test_a_map_of_a_file_or_of_another_bag(tmp_path, capsys):
    cells = grid([9]).data.reshape(10, 20)
    np.savez(tmp_path / 'map.npz', cells=cells, resolution=1.0)
    np.savez(tmp_path / 'odom.npz', cells=cells, resolution=1.0, frame='odom')
    paths = record(tmp_path / 'paths', PLANS)
    maps = record(tmp_path / 'maps', Topic('/map', [(0, grid([9]))]))
    (tmp_path / 'runs.txt').write_text('@\n1 5\n19 5\nRobot Radius: 0.1\n@\n1 1\n19 1\n'
                                       'Robot Radius: 0.1\n')
    for place, file in ((str(tmp_path / 'map.npz'), paths), (maps, paths),
                        (maps, str(tmp_path / 'runs.txt'))):
        code, found, err = compare(capsys, place, file, *SHORTER)
        assert code == 0, err
        assert bool(found['out'][0]) != bool(found['out'][1])
    _, _, err = compare(capsys, str(tmp_path / 'odom.npz'), paths, *SHORTER)
    assert "message 1.header.frame_id is 'map', that of the map 'odom'" in err


def test_a_costmap_is_read_by_its_costs(tmp_path, capsys):
    """As an old sqlite3 bag has it, whose type is known by its name alone, and as MCAP has it."""
    topic = Topic('/global_costmap/costmap_raw', [(0, costmap([9]))])
    updates = Topic('/global_costmap/costmap_raw_updates', [(1, path())])
    for plugin, _ in KINDS_OF_BAG[::3]:
        bag = record(tmp_path / plugin.name, topic, PLANS, updates, plugin=plugin)
        if plugin.name == 'SQLITE3':
            forget_definitions(Path(bag))
        code, found, err = compare(capsys, bag, *SHORTER, '--path-topic', '/plan')
        assert code == 0, err
        assert found['ranking'] == [1, 2] and 'through an obstacle' in found['reason']
        assert 'costmap_raw: its updates are not applied' in err


def forget_definitions(bag: Path) -> None:
    import contextlib
    import sqlite3
    with contextlib.closing(sqlite3.connect(next(bag.glob('*.db3')))) as base:
        base.execute('DELETE FROM message_definitions')
        base.commit()


def test_a_costmap_that_was_published_as_a_grid_must_be_named_one(tmp_path, capsys):
    cells = np.zeros((10, 20), np.int8)
    cells[2:8, 7:12], cells[3:7, 8:11], cells[4:6, 9] = 60, 99, 100
    message = grid()
    message.data[:] = cells.ravel()
    bag = record(tmp_path / 'b', PLANS, Topic('/global_costmap/costmap', [(0, message)]))
    code, _, err = compare(capsys, bag, *SHORTER)
    assert code == 2 and 'looks like a costmap of Nav2' in err and '--cells costmap' in err
    code, found, err = compare(capsys, bag, *SHORTER, '--cells', 'costmap', '--footprint', '0.1')
    assert code == 0 and found['ranking'] == [1, 2], err


BAD = {
    'no_map': ([PLANS], (), (
        'no topic has a map, of nav_msgs/msg/OccupancyGrid or nav2_msgs/msg/Costmap (it has /plan '
        '(nav_msgs/msg/Path); name a file of a map')),
    'silent_map': ([PLANS, Topic('/map', [], GRID)], (), 'topic /map: there is no message on it'),
    'no_path': ([MAP], (), 'no topic is of nav_msgs/msg/Path (it has /map (nav_msgs/msg/Occ'),
    'silent_path': ([MAP, Topic('/plan', [], PATH)], (), 'there is no message on /plan'),
    'empty_path': ([MAP, Topic('/plan', [(0, path()), (1, path(())), (2, path())])], (), (
        'topic /plan: message 2: the path is empty: its planner found none (leave it out with '
        '--only)')),
    'short_path': ([MAP, Topic('/plan', [(0, path()), (1, path(((1, 1),)))])], (),
                   'topic /plan: message 2: the path has one pose (leave it out with'),
    'frames': ([Topic('/map', [(0, grid(frame='world'))]), PLANS], (), (
        "message 1.header.frame_id is 'map', that of the map 'world' (choose a map in the frame "
        'of the path with --map-topic, or record the path in that of the map')),
    'frame_of_a_pose': ([MAP, Topic('/plan', [(0, path()), (1, path(pose_frame='odom'))])], (),
                        "message 2.poses[0].header.frame_id is 'odom'"),
    'several_maps': ([MAP, Topic('/costmap_raw', [(0, costmap([1]))]), PLANS], (),
                     '2 topics have maps (choose one with --map-topic: /'),
    'wrong_map_topic': ([MAP, PLANS], ('--map-topic', '/plan'),
                        '--map-topic /plan: the topic is of nav_msgs/msg/Path (give one of'),
    'missing_path_topic': ([MAP, PLANS], ('--path-topic', '/best'),
                           'the topic is not in the bag (give one of nav_msgs/msg/Path: /plan'),
    'many': ([MAP, Topic('/plan', [(0, path())] * 17)], (), '17 paths (2 to 16 can be compared'),
    'turned': ([Topic('/map', [(0, grid())]), PLANS], (), 'the map is turned')}


@pytest.mark.parametrize('name', BAD)
def test_what_cannot_be_compared_is_named(tmp_path, capsys, name):
    topics, arguments, what = BAD[name]
    if name == 'turned':
        message = grid()
        message.info.origin.orientation.z = 0.7
        topics = [Topic('/map', [(0, message)]), PLANS]
    bag = record(tmp_path / 'b', *topics)
    code, _, err = compare(capsys, bag, *SHORTER, *arguments)
    assert code == 2 and what in err and f'{bag}' in err


def test_an_empty_path_may_be_left_out(tmp_path, capsys):
    topics, _, _ = BAD['empty_path']
    code, found, err = compare(capsys, record(tmp_path / 'b', *topics), *SHORTER, '--only', '1,3')
    assert code == 0 and found['paths'] == [1, 3], err


def test_a_long_drive_is_listed_in_part(tmp_path, capsys):
    bag = record(tmp_path / 'b', MAP, Topic('/plan', [(at, path()) for at in range(45)]))
    code, _, err = compare(capsys, bag, *SHORTER)
    assert code == 2 and '40 /plan 40 39.000 2 and 5 more' in err and '45 paths (2 to 16' in err


def test_topics_of_bags_are_for_bags(tmp_path, capsys):
    bag = record(tmp_path / 'b', MAP, PLANS)
    np.savez(tmp_path / 'map.npz', cells=np.zeros((10, 20), np.int8), resolution=1.0)
    (tmp_path / 'runs.txt').write_text('')
    for arguments, option in (([str(tmp_path / 'map.npz'), bag, '--map-topic', 'a'], '--map'),
                              ([bag, str(tmp_path / 'runs.txt'), '--path-topic', 'a'], '--path')):
        code, _, err = compare(capsys, *arguments, *SHORTER)
        assert code == 2 and f'{option}-topic:' in err and 'is no bag' in err


def test_the_last_map_of_a_bag_without_paths(tmp_path):
    bag = open_bag(record(tmp_path / 'b', Topic('/map', [(0, grid()), (1, grid([3]))])))
    assert recorded_map(bag).cells.cells.any()
