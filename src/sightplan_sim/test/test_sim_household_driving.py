"""Drives over a home's floor: the map, the paths, the choice, and that agents see none of it."""

import dataclasses
import importlib.util
import math
from types import SimpleNamespace

import numpy as np
import pytest

from household_cases import block, cabinet, episode, home, table
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.metrics import EpisodeScorer
from sightplan.model import Action, EpisodeEnded, EpisodeStarted, InputError, StopReason
from sightplan.records.truth import NotedTruth
from sightplan_sim.household import make_world
from sightplan_sim.household.driving import STEP_M, drive, floor_map, summarise
from sightplan_sim.household.robot import RobotBody
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.shapes import Placed, Room, Station
from sightplan_sim.household.stations import ANKLE_M
from sightplan_suites.paths import Bounds, ObstacleMap, vector_from_text

BODY = RobotBody()
DOMAIN = load_domain('household')
FETCH = DOMAIN.split_problems('simple')[0]
AWAY = vector_from_text('minimum_clearance=1')
SHORT = vector_from_text('path_length=-1')
ROOMS = (Room((-2.5, -2.5), (2.5, 2.5), 'room'),)


def room(*furniture, rooms=ROOMS):
    made = home(tuple(furniture))
    scene = Scene()
    scene.build(dataclasses.replace(made, rooms=rooms))
    return scene, floor_map(scene, rooms, BODY)


def square(x, y, half):
    return ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half))


# A pillar off the middle of the straight way: close by on one side of it, far away on the other.
PILLAR = ObstacleMap('home', (square(0.0, 0.35, 0.3),), Bounds(-3.0, -3.0, 3.0, 3.0))
WEST, EAST = Station(-2.5, 0.0, 0.5), Station(2.5, 0.0, -1.0)


# --- the map -------------------------------------------------------------------------------------

def test_the_map_is_where_the_robot_cannot_stand():
    """Turned furniture, an open door, a table of legs; points at random, two ways to decide."""
    scene, item = room(Placed('cabinet_1', cabinet(), (1.2, 1.0, 0.0), 0.7, 0.6),
                       Placed('table_1', table(), (-1.3, 0.4, 0.0), -0.4))
    points = np.random.default_rng(0).uniform(-2.2, 2.2, (4000, 2))
    free = scene.free_disc(points, BODY.radius, ANKLE_M, BODY.height)
    clear = item.clearances(points)
    sure = np.abs(clear - BODY.radius) > 1e-6
    assert 0.2 < free.mean() < 0.9
    assert ((clear > BODY.radius) == free)[sure].all()


def test_what_is_low_high_or_covered_is_not_on_it():
    bare = len(room()[1].polygons)
    rug = block((1.0, 1.0, 0.02), 0.0)
    lamp = Placed('lamp', block((0.3, 0.3, 0.3), 0.0), (0.0, 0.0, 1.6))
    assert len(room(Placed('rug', rug, (0.0, 0.0, 0.0)), lamp)[1].polygons) == bare
    under = Placed('under', block((0.2, 0.2, 0.3), 0.0), (0.1, 0.1, 0.0), 0.3)
    over = Placed('over', block((0.6, 0.6, 0.3), 0.0), (0.1, 0.1, 0.5), 0.3)
    twin = Placed('twin', block((0.6, 0.6, 0.3), 0.0), (0.1, 0.1, 0.9), 0.3)
    assert len(room(under, over, twin)[1].polygons) == bare + 1


def test_what_is_outside_of_the_rooms_is_on_it():
    rooms = (Room((-2.5, -2.5), (0.0, 2.5), 'a'), Room((0.12, -1.0), (2.5, 1.0), 'b'))
    _, item = room(rooms=rooms)
    assert item.clearances([(1.2, 1.6), (1.2, -1.6)]).tolist() == [0.0, 0.0]
    assert item.clearances([(1.2, 0.0)])[0] == pytest.approx(1.06)
    assert item.bounds.y_max == pytest.approx(2.56)


# --- the drive -----------------------------------------------------------------------------------

def test_the_wanted_path_is_taken():
    first, away, short = (drive(PILLAR, WEST, EAST, BODY.radius, vector, 3)
                          for vector in (None, AWAY, SHORT))
    assert first.descriptors == away.descriptors == short.descriptors
    assert len(first.descriptors) > 3 and first.chosen == 0
    clearances = [path.minimum_clearance for path in away.descriptors]
    assert away.taken.minimum_clearance == max(clearances) > first.taken.minimum_clearance + 0.2
    assert short.taken.path_length == min(path.path_length for path in short.descriptors)
    assert away == drive(PILLAR, WEST, EAST, BODY.radius, AWAY, 3)
    assert away.descriptors != drive(PILLAR, WEST, EAST, BODY.radius, AWAY, 4).descriptors


def test_poses_lead_from_one_station_to_the_other_without_a_touch():
    made = drive(PILLAR, WEST, EAST, BODY.radius, AWAY, 3)
    assert (made.poses[0], made.poses[-1]) == (WEST, EAST)
    points = np.array([(pose.x, pose.y) for pose in made.poses])
    steps = np.diff(points, axis=0)
    assert np.hypot(*steps.T).max() <= STEP_M + 1e-9
    assert PILLAR.path_free(points, BODY.radius)
    assert PILLAR.clearances(points).min() == pytest.approx(made.taken.minimum_clearance)
    for pose, (dx, dy) in zip(made.poses[1:-1], steps[1:], strict=True):
        assert math.isclose(math.cos(pose.yaw - math.atan2(dy, dx)), 1.0, abs_tol=1e-6)


def test_without_a_path_the_drive_says_why():
    shut = ObstacleMap('home', (((-0.1, -3.0), (0.1, -3.0), (0.1, 3.0), (-0.1, 3.0)),),
                       PILLAR.bounds)
    made = drive(shut, WEST, EAST, BODY.radius, AWAY, 0)
    assert (made.reason, made.poses, made.chosen, made.taken) == ('no_way', (), -1, None)
    there = drive(PILLAR, WEST, EAST, BODY.radius, None, 0)
    found = summarise([there, made])
    assert found['without_path'] == 1 and len(found['drives']) == 2
    assert found['least_clearance_m'] == pytest.approx(there.taken.minimum_clearance, abs=1e-4)
    assert found['length_m'] == pytest.approx(there.taken.path_length, abs=1e-4)
    assert summarise([made])['least_clearance_m'] is None


# --- the world -----------------------------------------------------------------------------------

def lines(**options):
    """Everything an agent was shown, and the scorer's line, of an episode of ``oracle``."""
    from sightplan.runs import RunSettings, make_planner
    spec = dataclasses.replace(episode(FETCH, seed=2, failure=0.3), method='oracle')
    events = []
    with make_world(pictures='none', **options) as world:
        scorer = EpisodeScorer(world)
        recorder = SimpleNamespace(record=lambda event: (events.append(event),
                                                         scorer.record(event)))
        run_episode(spec, make_policy('oracle', {}, world), world, None,
                    make_planner(RunSettings(domain='household', method='oracle')), recorder,
                    DOMAIN)
        seen = [(type(event).__name__, getattr(event, 'feedback', None),
                 event.observation.image.tobytes() if hasattr(event, 'observation') else b'')
                for event in events]
        return seen, scorer.result(), world.drives


@pytest.mark.slow
def test_drives_change_nothing_but_the_details():
    plain, driven, away = lines(), lines(paths='planned'), lines(
        paths='planned', path_vector='minimum_clearance=1')
    assert plain[0] == driven[0] == away[0]
    assert plain[1]['details'] == {} and plain[2] == ()
    left_out = {'details', 'seconds', 'timings_s', 'plans'}
    assert all(plain[1][key] == driven[1][key] for key in plain[1].keys() - left_out)
    found, other = driven[1]['details']['paths'], away[1]['details']['paths']
    assert len(driven[2]) == len(found['drives']) > 0
    assert [one['paths'] for one in found['drives']] == [one['paths'] for one in other['drives']]
    assert other['least_clearance_m'] >= found['least_clearance_m'] > BODY.radius - 1e-3


def test_a_robot_that_goes_astray_drives_there():
    with make_world(pictures='none', paths='planned') as world:
        for seed in range(20):
            world.reset(episode(FETCH, seed=seed, failure=1.0))
            world.execute(Action('navigate-to', (FETCH.of_type('container')[0],)))
            if world.last_outcome() == 'no_op':
                assert world.drives == ()
            else:
                assert world.last_outcome() == 'execution_failure:went astray'
                last, = world.drives
                assert last.poses[-1] == world._episode.robot.station
                return
    pytest.fail('no seed went astray')


def test_a_shut_door_stops_no_action(monkeypatch):
    """Actions mean what the domain says; the record says that there was no path."""
    with make_world(pictures='none', paths='planned') as world:
        world.reset(episode(FETCH))
        walled = dataclasses.replace(world.floor_map(), polygons=(
            square(world._episode.robot.station.x, world._episode.robot.station.y, 0.1),))
        monkeypatch.setattr('sightplan_sim.household.driving.floor_map', lambda *_: walled)
        target = FETCH.of_type('container')[0]
        world.execute(Action('navigate-to', (target,)))
        assert world.last_outcome() == 'success'
        assert [(one.target, one.reason) for one in world.drives] == [(target, 'start_blocked')]
        assert world.episode_details()['paths']['without_path'] == 1


def test_an_episode_that_never_began_has_no_drives():
    spec = episode(FETCH)
    with make_world(pictures='none', paths='planned') as world:
        scorer = EpisodeScorer(world)
        scorer.record(EpisodeStarted(spec))
        scorer.record(EpisodeEnded(StopReason.ERROR, 'no home begins like that'))
        assert scorer.result()['details'] == {}


def test_bags_pass_the_details_on():
    with make_world(pictures='none', paths='planned') as world:
        world.reset(episode(FETCH))
        noted = []
        truth = NotedTruth(world, noted.append)
        assert truth.episode_details() == world.episode_details() != {}
        assert noted == []
    assert NotedTruth(SimpleNamespace(), noted.append).episode_details() == {}


def test_a_vector_needs_paths_and_must_be_one(monkeypatch):
    with pytest.raises(InputError, match='path_vector: .*add paths=planned'):
        make_world(pictures='none', path_vector='path_length=-1')
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, 'find_spec', lambda name: None)
        with pytest.raises(InputError, match=r'pip install "sightplan_sim\[paths\]"'):
            make_world(pictures='none', paths='planned')
    with pytest.raises(InputError, match="path_vector: 'width' is not a descriptor"):
        make_world(pictures='none', paths='planned', path_vector='width=1')
    with pytest.raises(InputError, match='paths'):
        make_world(pictures='none', paths='straight')
