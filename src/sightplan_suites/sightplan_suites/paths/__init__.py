"""Paths on flat maps: planned, described, compared for a task; no pictures and no models here.

The base of PathEval: maps (``read_map``, ``map_of_grid``, ``generate_map``), paths
(``plan_paths``, ``find_alternatives``, ``read_path_runs``), seven descriptors (``describe_all``),
pairs that differ (``select_pairs``), tasks (``load_scenarios``) and which path of a pair is better
(``label_pair``), or of several (``order_paths``).
"""

from sightplan_suites.paths.alternatives import (
    Alternative,
    Alternatives,
    AlternativeSettings,
    count_routes,
    distance_apart,
    find_alternatives,
    same_route,
)
from sightplan_suites.paths.descriptors import (
    KEYS,
    NAMES,
    SWEPT,
    WAYPOINTS,
    Descriptors,
    describe,
    describe_all,
)
from sightplan_suites.paths.generator import FAMILIES, generate_map
from sightplan_suites.paths.labels import (
    ORDER,
    PATHEVAL,
    Label,
    Thresholds,
    Unlabelled,
    Vector,
    label_pair,
    needed,
)
from sightplan_suites.paths.maps import (
    GOAL,
    NO_OBSTACLE,
    START,
    WORLD,
    Bounds,
    ObstacleMap,
    OccupancyGrid,
    Point,
    map_from_text,
    map_of_grid,
    map_text,
    read_map,
)
from sightplan_suites.paths.path_files import (
    PathRun,
    path_runs_from_text,
    path_runs_text,
    read_path_runs,
    write_path_runs,
)
from sightplan_suites.paths.planner_settings import PlannerSettings
from sightplan_suites.paths.planning import (
    NoPath,
    PlannedPath,
    plan_path,
    plan_paths,
)
from sightplan_suites.paths.preference import order_paths, thresholds_on, vector_from_text
from sightplan_suites.paths.scenarios import Scenario, load_scenarios
from sightplan_suites.paths.selection import Pair, Selection, Skipped, scaled, select_pairs

__all__ = [
    'Alternative', 'AlternativeSettings', 'Alternatives', 'Bounds', 'Descriptors', 'FAMILIES',
    'GOAL', 'KEYS', 'Label', 'NAMES', 'NO_OBSTACLE', 'NoPath', 'ORDER', 'ObstacleMap',
    'OccupancyGrid', 'PATHEVAL', 'Pair', 'PathRun', 'PlannedPath', 'PlannerSettings', 'Point',
    'START', 'SWEPT', 'Scenario', 'Selection', 'Skipped', 'Thresholds', 'Unlabelled', 'Vector',
    'WAYPOINTS', 'WORLD',
    'count_routes', 'describe', 'describe_all', 'distance_apart', 'find_alternatives',
    'generate_map', 'label_pair', 'load_scenarios', 'map_from_text',
    'map_of_grid', 'map_text', 'needed', 'order_paths', 'path_runs_from_text', 'path_runs_text',
    'plan_path', 'plan_paths', 'read_map', 'read_path_runs', 'same_route', 'scaled',
    'select_pairs', 'thresholds_on', 'vector_from_text', 'write_path_runs',
]
