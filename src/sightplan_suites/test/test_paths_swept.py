"""The rule "swept": one line in three forms measures alike, and paths that cannot be driven are
out.

Corners and points in between give the same numbers. Those of a staircase are within 2 %, where
that is less than half a cell (clearances) or a degree (turns) within that. It holds for the
default tolerance, and for lines whose corners are cells, turn by 20 degrees or more and are 40
cells apart or more. ``sharp_turns`` jump at 90 degrees: no corner turns by 88 to 92 degrees here.
"""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import pytest
import shapely

from sightplan.model import InputError
from sightplan_suites.paths import WAYPOINTS, Bounds, ObstacleMap, OccupancyGrid, map_of_grid
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.critic import CriticSettings, compare_paths
from sightplan_suites.paths.descriptors import NAMES, describe, described, drive_all
from sightplan_suites.paths.driven_lines import (
    cell_of_steps,
    default_tolerance,
    driven_line,
    without_straight_points,
)
from sightplan_suites.paths.exclusions import find_exclusions
from sightplan_suites.paths.footprints import Footprint, footprint_from_text
from sightplan_suites.paths.limits import PathLimits, limits_from_texts
from sightplan_suites.paths.robot_bases import RobotBase, differences_that_matter
from sightplan_suites.paths.sides import side_of
from sightplan_suites.paths.wishes import certain

CELL = 0.05
LEAST = {'minimum_clearance': CELL / 2, 'maximum_clearance': CELL / 2,
         'average_clearance': CELL / 2, 'path_length': 0.0, 'smoothness': 1.0,
         'maximum_angle': 1.0, 'sharp_turns': 0.0}
"""Differences that may be more than 2 %: half a cell, and one degree."""
SHORT, CLEAR, GENTLE = (0, 0, 0, -1, 0, 0, 0), (1, 1, 1, 0, 0, 0, 0), (0, 1, 0, 0, -1, -1, -1)


# One line in three forms.

def staircase(corners):
    """The cells of a line (K, 2) of whole numbers, each a neighbour of the one before."""
    parts = [corners[:1]]
    for here, there in itertools.pairwise(corners):
        count = int(abs(there - here).max())
        parts.append(np.floor(here + (there - here) * np.arange(1, count + 1)[:, None] / count
                              + 0.5).astype(int))
    return np.concatenate(parts)


def dense(corners, rng):
    """The corners and points between them at uneven distances, about one a cell."""
    parts = [corners[:1]]
    for here, there in itertools.pairwise(corners):
        count = int(np.hypot(*(there - here)))
        at = np.append(np.sort(rng.uniform(0, 1, count)), 1)
        parts.append(here + (there - here) * at[:, None])
    return np.concatenate(parts)


def random_corners(rng):
    """Two to five corners on cells, 40 to 80 cells apart; each turns by 20 to 150 degrees."""
    while True:
        count, heading = rng.integers(2, 6), rng.uniform(-math.pi, math.pi)
        turns = np.radians(rng.choice((-1, 1), count) * rng.uniform(20, 150, count))
        headings = heading + np.cumsum(turns)
        steps = rng.uniform(40, 80, count)[:, None] * np.stack(
            (np.cos(headings), np.sin(headings)), axis=1)
        corners = np.rint(np.concatenate(([[0, 0]], np.cumsum(steps, axis=0))[:count]
                                         if count > 1 else [[0, 0]])).astype(int)
        corners = corners - corners.min(axis=0) + 10
        if not (abs(angles(corners) - 90) < 2).any():
            return corners


def angles(line):
    """Angles by which a line turns [deg], by the arctangent."""
    (x, y), (u, v) = np.diff(line, axis=0)[:-1].T, np.diff(line, axis=0)[1:].T
    return np.degrees(abs(np.arctan2(x * v - y * u, x * u + y * v)))


def random_map(rng, size):
    polygons = []
    for _ in range(8):
        x, y = rng.uniform(0, size, 2)
        width, height = rng.uniform(0.1, 1.0, 2)
        polygons.append(((x, y), (x + width, y), (x + width, y + height), (x, y + height)))
    return ObstacleMap('random', tuple(polygons), Bounds(0, 0, size, size), 'map', CELL)


def alike(found, other):
    """Names of the descriptors that differ by more than 2 %, and by more than ``LEAST``."""
    return [name for name in NAMES if abs(getattr(found, name) - getattr(other, name)) > max(
        0.02 * max(getattr(found, name), getattr(other, name)), LEAST[name])]


def test_corners_points_every_cell_and_a_staircase_measure_alike():
    """1,000 random lines, each in three forms, all seven descriptors."""
    rng, turned, over = np.random.default_rng(45), [], 0
    for number in range(1000):
        corners = random_corners(rng)
        item = random_map(rng, (corners.max() + 10) * CELL)
        forms = [corners * CELL, dense(corners, rng) * CELL, staircase(corners) * CELL]
        plain, sampled, cells = (describe(item, form) for form in forms)
        assert plain.values() == pytest.approx(sampled.values(), abs=1e-6), number
        assert not alike(plain, cells), (number, plain, cells)
        assert plain.smoothness == pytest.approx(float(angles(corners).sum()), abs=0.01)
        turned.append((angles(forms[2]).sum(), plain.smoothness))
        over += abs(cells.smoothness - plain.smoothness) > 0.02 * plain.smoothness
    raw, driven = np.mean(turned, axis=0)
    assert raw > 4 * driven, 'the staircases turn far more'
    assert over <= 5, 'lines that turn little, where a degree is more than 2 %'


def planned(blocked, start, goal):
    """Cells of a shortest path over eight neighbours (A*), or None; row and column."""
    costs, before, heap, done = {start: 0.0}, {}, [(0.0, start)], set()
    while heap:
        _, here = heapq.heappop(heap)
        if here == goal:
            break
        if here in done:
            continue
        done.add(here)
        for down, right in itertools.product((-1, 0, 1), repeat=2):
            there = here[0] + down, here[1] + right
            if ((down, right) == (0, 0) or not all(
                    0 <= at < size for at, size in zip(there, blocked.shape, strict=True))
                    or blocked[there] or blocked[here[0], there[1]] or blocked[there[0], here[1]]):
                continue
            cost = costs[here] + math.hypot(down, right)
            if cost < costs.get(there, math.inf) - 1e-12:
                costs[there], before[there] = cost, here
                heapq.heappush(heap, (cost + math.dist(there, goal), there))
    if goal not in before:
        return None
    found = [goal]
    while found[-1] != start:
        found.append(before[found[-1]])
    return np.array(found[::-1])


def test_the_path_of_a_planner_on_a_grid_measures_as_its_corners_and_points_do():
    """Their line is the same; so is all that is measured."""
    rng, found = np.random.default_rng(7), []
    while len(found) < 25:
        blocked = np.zeros((60, 80), bool)
        for _ in range(12):
            row, column = rng.integers(0, 55), rng.integers(0, 75)
            blocked[row:row + rng.integers(2, 20), column:column + rng.integers(2, 20)] = True
        free = np.argwhere(~blocked)
        start, goal = (tuple(free[rng.integers(len(free))]) for _ in range(2))
        cells = planned(blocked, start, goal) if math.dist(start, goal) > 40 else None
        if cells is None:
            continue
        item = map_of_grid(OccupancyGrid((100 * blocked).astype(np.int8), CELL, 'map'))
        path = (cells[:, ::-1] + 0.5) * CELL
        corners = without_straight_points(path)
        forms = [describe(item, form)
                 for form in (path, corners, dense(corners / CELL, rng) * CELL)]
        assert not alike(forms[0], forms[1]) and not alike(forms[0], forms[2])
        raw = describe(item, path, tolerance=0.0)
        found.append((raw.smoothness, forms[0].smoothness, raw.path_length, forms[0].path_length))
    raw, driven, long, short = np.sum(found, axis=0)
    assert raw > 2 * driven and short < long


def test_a_staircase_that_turns_4140_degrees_where_its_path_turns_164():
    """46 steps aside, each of two turns of 45 degrees; the corner between turns by 164."""
    there = np.array([[0, 0], [320, 23]])
    turn = math.radians(164) + math.atan2(23, 320)
    back = there[1] + np.rint(321 * np.array([math.cos(turn), math.sin(turn)])).astype(int)
    corners = np.array([*there, back]) + 200
    item = ObstacleMap('hall', (), Bounds(0, 0, 40, 40), 'map', CELL)
    cells = staircase(corners) * CELL
    assert describe(item, corners * CELL).smoothness == pytest.approx(164, abs=0.5)
    assert describe(item, cells).smoothness == pytest.approx(164, abs=0.5)
    assert describe(item, cells, rule=WAYPOINTS).smoothness > 4000
    assert describe(item, cells).path_length == pytest.approx(
        describe(item, corners * CELL).path_length, rel=0.001)


def test_what_the_driven_line_leaves_out_and_what_it_keeps():
    square = [(0, 0), (10, 0), (10, 10), (20, 10), (20, 20), (30, 20)]
    assert len(driven_line(np.array(square, float), 0.5)) == 6, 'few long steps are no staircase'
    assert cell_of_steps(np.array(square, float)) == 0
    assert cell_of_steps(staircase(np.array([[0, 0], [40, 12]])) * 0.3) == pytest.approx(0.3)
    back = np.array([(0, 0), (10, 0), (4, 0), (12, 0)], float)
    assert driven_line(back, 0.5).tolist() == back.tolist(), 'a drive back and forth is driven'
    loop = np.array([(0, 0), (5, 0), (5, 5), (0, 5), (0, 0)], float)
    assert len(driven_line(loop, 0.5)) == 5, 'a round trip is no point'
    wiggle = np.array([(0, 0), (2, 0.1), (4, -0.1), (6, 0.1), (8, 0)], float)
    assert driven_line(wiggle, 0.2).tolist() == [[0, 0], [8, 0]]
    assert len(driven_line(wiggle, 0.05)) == 5 and len(driven_line(wiggle, 0.0)) == 5
    repeated = np.repeat(wiggle, 3, axis=0)
    assert driven_line(repeated, 0.0).tolist() == wiggle.tolist()
    assert default_tolerance(ObstacleMap('x', ())) == pytest.approx(0.08)


# The quoted cases.

RACKS = ObstacleMap('racks', tuple(
    ((x, 2.0), (x + 1, 2.0), (x + 1, 10.0), (x, 10.0)) for x in (4.0, 9.0, 14.0)),
    Bounds(0, 0, 20, 12))
THROUGH = [(1.0, 6.0), (19.0, 6.0)]
BESIDE = [(1.0, 6.0), (2.0, 1.0), (18.0, 1.0), (19.0, 6.0)]


def test_two_points_across_three_obstacles_do_not_win():
    """By its waypoints the path has the larger clearance, and no turns: it was the best once."""
    wanted = certain(GENTLE)
    assert describe(RACKS, THROUGH, rule=WAYPOINTS).minimum_clearance == 3
    found = compare_paths(RACKS, [THROUGH, BESIDE], wanted)
    assert found.ranking == (1, 0) and found.best == (0, 1)
    assert found.descriptors[0].minimum_clearance == 0
    only, = found.exclusions[0]
    assert only.words == 'leads for 3 through obstacle 1 and 2 more at 4, 6'
    assert only.value == 3 and only.at == (4, 6)
    assert compare_paths(RACKS, [THROUGH, THROUGH], wanted).ranking == ()


def test_a_straight_line_through_a_maze_has_no_clearance():
    walls = tuple(((x, y), (x + 0.5, y), (x + 0.5, y + 70), (x, y + 70))
                  for x, y in zip(range(-30, 31, 10), itertools.cycle((-40.0, -30.0))))
    maze, line = ObstacleMap('maze', walls), [(-36.6031, -36.4332), (36.0982, 36.363)]
    assert describe(maze, line, rule=WAYPOINTS).minimum_clearance > 5
    assert describe(maze, line).minimum_clearance == 0


def test_clearance_is_that_of_the_line_and_not_of_its_points():
    post = ObstacleMap('post', (((4.9, 0.61), (5.1, 0.61), (5.1, 1.0), (4.9, 1.0)),),
                       Bounds(0, -5, 10, 5))
    path = [(4.9 - 0.6062, 0.0), (5.1 + 0.6062, 0.0)]
    assert describe(post, path, rule=WAYPOINTS).minimum_clearance == pytest.approx(0.86, abs=0.001)
    assert describe(post, path).minimum_clearance == pytest.approx(0.61)


def test_paths_that_are_equal_are_tied_and_none_is_put_first():
    mirrored = [(x, 12 - y) for x, y in BESIDE]
    hall = ObstacleMap('hall', ((((9.0, 5.0), (11.0, 5.0), (11.0, 7.0), (9.0, 7.0))),),
                       Bounds(0, 0, 20, 12))
    found = compare_paths(hall, [BESIDE, mirrored, THROUGH], certain(SHORT))
    assert found.tied == (0, 1) and found.best == (0.5, 0.5, 0)
    assert found.reason.startswith('Paths 1 and 2 are equally good as far as can be told')
    assert compare_paths(hall, [BESIDE, mirrored], certain(SHORT)).to_json()['tied'] == [1, 2]


def test_12_metres_of_length_matter_in_a_hall_of_20_by_12():
    """The published thresholds call it too little; a robot's own are relative."""
    hall = ObstacleMap('hall', (), Bounds(0, 0, 20, 12), 'map', CELL)
    straight = [(1.0, 6.0), (19.0, 6.0)]
    long = [(1.0, 6.0), (10.0, 11.9), (6.0, 9.0), (19.0, 6.0)]
    difference = describe(hall, long).path_length - describe(hall, straight).path_length
    assert 9 < difference < 12.5
    found = compare_paths(hall, [long, straight], certain(SHORT))
    assert found.best == (0, 1) and found.thresholds.path_length == pytest.approx(0.9)
    published = compare_paths(hall, [long, straight], certain(SHORT),
                              CriticSettings(differences='published'))
    assert published.best == (0.5, 0.5) and 'Too little difference' in published.reason


# What is out, against a computation of its own.

def crosses(polygons, path, radius):
    """Whether a disc touches an obstacle or leaves the square, with shapely alone."""
    line = shapely.LineString(path)
    swept = line.buffer(radius, quad_segs=64) if radius else line
    obstacles = shapely.MultiPolygon([shapely.Polygon(polygon) for polygon in polygons])
    border = shapely.box(0, 0, 20, 20)
    return (line.distance(obstacles) <= radius or swept.intersects(obstacles)
            or not shapely.box(*swept.bounds).within(border.buffer(1e-9)))


@pytest.mark.parametrize('radius', [0.0, 0.4])
def test_every_path_that_crosses_an_obstacle_is_out(radius):
    """100 maps of 10 polygons, 6 paths each; none is the best that another computation refuses."""
    rng, counts = np.random.default_rng(11), [0, 0]
    for _ in range(100):
        polygons = []
        for _ in range(10):
            turns = np.sort(rng.uniform(0, math.tau, rng.integers(3, 7)))
            corners = rng.uniform(1, 19, 2) + rng.uniform(0.5, 2.5) * np.stack(
                (np.cos(turns), np.sin(turns)), axis=1)
            polygons.append(tuple(map(tuple, corners.tolist())))
        item = ObstacleMap('random', tuple(polygons), Bounds(0, 0, 20, 20))
        paths = [rng.uniform(-0.5, 20.5, (rng.integers(2, 5), 2)) for _ in range(6)]
        found = compare_paths(item, paths, certain(SHORT), robot=RobotBase(Footprint(radius)))
        refused = [crosses(polygons, path, radius) for path in paths]
        assert [number in found.out for number in range(6)] == refused
        assert not found.ranking or not refused[found.ranking[0]]
        assert all(found.best[number] == 0 for number in found.out)
        assert all(each.words in found.reason for one in found.exclusions for each in one)
        counts[0] += sum(refused)
        counts[1] += sum(not one for one in refused)
    assert min(counts) > 30


def test_a_path_that_touches_is_out_and_a_path_beside_is_not():
    for y, out in ((10.0, True), (10.001, False)):
        path = [(1.0, 11.0), (4.0, y), (15.0, y), (19.0, 11.0)]
        found = compare_paths(RACKS, [path, BESIDE], certain(SHORT))
        assert (0 in found.out) == out
    assert found.descriptors[0].minimum_clearance == pytest.approx(0.001)


def test_a_polygon_turns_with_the_path():
    """A long robot passes a gate lengthwise, and not across."""
    gate = ObstacleMap('gate', (((4.0, 0.0), (5.0, 0.0), (5.0, 4.0), (4.0, 4.0)),
                                ((4.0, 6.0), (5.0, 6.0), (5.0, 10.0), (4.0, 10.0))),
                       Bounds(0, 0, 10, 10))
    path = np.array([(2.0, 5.0), (8.0, 5.0)])
    slim = footprint_from_text('[[1.5, 0.5], [1.5, -0.5], [-1.5, -0.5], [-1.5, 0.5]]')
    wide = footprint_from_text('[[0.5, 1.5], [0.5, -1.5], [-0.5, -1.5], [-0.5, 1.5]]')
    found = {}
    for name, footprint in (('slim', slim), ('wide', wide), ('disc', Footprint(1.5))):
        drive, = drive_all(gate, [path], footprint)
        one = described(gate, drive, footprint)
        found[name] = one.minimum_clearance, [each.words for each in find_exclusions(
            gate, [drive], [one], footprint=footprint)[0]]
    assert found['slim'] == (0.5, [])
    assert found['wide'][0] == 0 and found['wide'][1][0].startswith('has for 2')
    assert found['disc'][0] == 0
    assert found['disc'][1][0].startswith('comes as near as 1 to obstacle 1 and 1 more at')
    assert found['disc'][1][0].endswith('and the robot needs 1.5')


def test_a_polygon_needs_room_to_turn():
    """In the corner of two walls: driven straight on there is room, turned on the spot not."""
    corner = ObstacleMap('corner', (((5.0, 6.2), (9.0, 6.2), (9.0, 7.0), (5.0, 7.0)),),
                         Bounds(0, 0, 10, 10))
    long = Footprint(corners=((1.5, 0.5), (1.5, -0.5), (-1.5, -0.5), (-1.5, 0.5)))
    straight, turning = np.array([(1.0, 5.0), (6.0, 5.0)]), np.array(
        [(1.0, 5.0), (6.0, 5.0), (6.0, 2.0)])
    rooms = [drive.free for drive in drive_all(corner, [straight, turning], long)]
    assert rooms == [True, False]


@pytest.mark.parametrize('text', ['-1', 'nan', '[[0, 0], [1, 0]]', '[[1, 1], [2, 1], [2, 2]]',
                                  'wide', '[[0, 0, 1]]', 'true'])
def test_what_is_no_footprint_is_refused(text):
    with pytest.raises(InputError, match=r'footprint|radius'):
        footprint_from_text(text)


# Unknown cells, areas, sides, differences.

def test_unknown_cells_are_named_as_such():
    cells = np.zeros((10, 20), np.int8)
    cells[4:6, 8:12] = -1
    cells[8:, 8:12] = 100
    grid = OccupancyGrid(cells, 0.5, 'map')
    through, low, high = ([(0.5, y), (9.5, y)] for y in (2.5, 1.0, 4.5))
    found = compare_paths(map_of_grid(grid), [through, low, high], certain(SHORT))
    assert [[(each.kind, each.what) for each in one] for one in found.exclusions] == [
        [('unknown', 'unknown cells')], [], [('obstacle', 'an obstacle')]]
    assert 'leads for 2 through unknown cells at 4, 2.5' in found.reason
    free = compare_paths(map_of_grid(grid, unknown_occupied=False), [through, low], certain(SHORT))
    assert free.out == ()


def test_limits_compare_with_the_paths_that_can_be_driven():
    """The path through the racks is the shortest, and no measure for others."""
    limits = limits_from_texts(['length<=1.1x', 'average_clearance>=0.1'])
    long = [(1.0, 6.0), (2.0, 1.0), (10.0, 0.2), (18.0, 1.0), (19.0, 6.0)]
    found = compare_paths(RACKS, [THROUGH, BESIDE, long], certain(SHORT), limits=limits)
    assert found.out == (0,)
    assert compare_paths(RACKS, [THROUGH, BESIDE, long], certain(SHORT),
                         limits=limits_from_texts(['length<=26'])).out == (0, 1, 2)


def test_costs_that_no_path_keeps_decide_nothing_and_that_is_said():
    short = [(1.0, 6.0), (2.0, 0.5), (2.0, 1.9), (18.0, 1.0), (19.0, 6.0)]
    limits = limits_from_texts(unless=['length+0.1', 'turning+1'])
    long = [(1.0, 6.0), (0.5, 0.2), (19.5, 0.2), (19.0, 6.0)]
    found = compare_paths(RACKS, [short, long], certain(CLEAR), limits=limits)
    described = [(one.path_length, one.smoothness) for one in found.descriptors]
    assert described[0][0] + 0.1 < described[1][0] and described[1][1] + 1 < described[0][1]
    assert found.beyond == () and 'No path keeps all that what is wanted may cost' in found.reason


def test_the_tolerance_does_not_soften_a_limit_on_clearance():
    """The path itself comes nearer than its driven line."""
    item = ObstacleMap('wall', (((0.0, 0.0), (20.0, 0.0), (20.0, 1.0), (0.0, 1.0)),),
                       Bounds(0, 0, 20, 20))
    dent = [(1.0, 2.0), (9.0, 2.0), (10.0, 1.99), (11.0, 2.0), (19.0, 2.0)]
    limits = limits_from_texts(['clearance>=1'])
    found = compare_paths(item, [dent, [(1.0, 3.0), (19.0, 3.0)]], certain(SHORT), limits=limits)
    assert found.descriptors[0].minimum_clearance == pytest.approx(1.0)
    (only,), _ = found.exclusions
    assert only.words == 'has least clearance 0.99 at 10, 1.99, at least 1 is wanted'


def test_an_area_is_kept_out_of_by_the_robots_outline():
    area = Area('nursery', (((8.0, 0.0), (12.0, 0.0), (12.0, 3.0), (8.0, 3.0)),))
    path = np.array([(1.0, 3.5), (19.0, 3.5)])
    empty = ObstacleMap('hall', (), Bounds(0, 0, 20, 12))
    limits = PathLimits(keep_out=('nursery',))
    for radius, words in ((0.2, []), (0.5, ['touches nursery at 8, 3.5']), (
            1.0, ['comes as near as 0.5 to nursery at 7.139, 3.5, and the robot needs 1'])):
        drives = drive_all(empty, [path], Footprint(radius))
        found, = find_exclusions(empty, drives, [described(empty, drives[0])], limits, [area],
                                 Footprint(radius))
        assert [each.words for each in found] == words


@pytest.mark.parametrize(('y', 'right', 'left'), [(1.0, 1.0, 0.0), (3.0, 0.0, 1.0), (2.0, 0, 0)])
def test_the_side_of_a_corridor(y, right, left):
    """A corridor 4 wide along x; driven east, the right wall is the lower one."""
    corridor = ObstacleMap('corridor', (((0.0, -1.0), (20.0, -1.0), (20.0, 0.0), (0.0, 0.0)),
                                        ((0.0, 4.0), (20.0, 4.0), (20.0, 5.0), (0.0, 5.0))),
                           Bounds(-1, -8, 21, 12))
    east = np.array([(1.0, y), (19.0, y)])
    for line, swap in ((east, False), (east[::-1], True)):
        found = [side_of(corridor, line, side) for side in ('right', 'left')]
        assert [one.fraction for one in found] == ([left, right] if swap else [right, left])
        assert found[0].where == 'through corridors'
    fat = side_of(corridor, east, 'right', Footprint(1.9))
    assert fat.fraction is None, 'no room to choose'


def test_the_side_where_there_is_no_corridor():
    hall = ObstacleMap('hall', (), Bounds(0, 0, 20, 12))
    straight, south = np.array([(1.0, 6.0), (19.0, 6.0)]), np.array(
        [(1.0, 6.0), (10.0, 2.0), (19.0, 6.0)])
    assert side_of(hall, straight, 'right').fraction is None
    assert side_of(hall, south, 'right').fraction == 1
    assert side_of(hall, south[::-1], 'left').fraction == 1
    assert side_of(hall, south, 'left').fraction == 0


def test_differences_that_matter_follow_from_the_robot_and_the_paths():
    paths = [describe(RACKS, path) for path in (BESIDE, [(x, 12 - y) for x, y in BESIDE])]
    small, large = (differences_that_matter(RACKS, paths, RobotBase(Footprint(radius)))
                    for radius in (0.2, 0.8))
    assert (small.minimum_clearance, large.minimum_clearance) == pytest.approx((0.05, 0.2))
    assert (small.path_length, large.path_length) == pytest.approx(
        (0.05 * paths[0].path_length, 1.6))
    stated = differences_that_matter(RACKS, paths, RobotBase(
        Footprint(0.2), {'path_length': 9.0}), length_scale=0.1)
    assert stated.path_length == 9 and stated.minimum_clearance == small.minimum_clearance
    unknown = differences_that_matter(RACKS, paths)
    assert unknown.average_clearance == pytest.approx(0.1 * paths[0].average_clearance)
