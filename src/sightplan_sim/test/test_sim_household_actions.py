"""The seven actions in homes made by hand: what they bring about, and what stops them."""

import math

import numpy as np
import pytest

from household_cases import block, cabinet, chest, home, problem, robot, table
from sightplan.domains import load_domain
from sightplan.model import Action, Atom, WorldError
from sightplan_sim.household.actions import Actions, main_effect
from sightplan_sim.household.placing import OPEN_ENOUGH
from sightplan_sim.household.predicates import contents, reachable, true_atoms
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.shapes import Link, Model, Part, Placed

OBJECTS = ('a_1 b_1 - movable cabinet_1 chest_1 - container table_1 - object')


@pytest.fixture(scope='module')
def scene():
    with Scene() as made:
        yield made


class Stage:
    """A home with a cabinet, a chest with a drawer, a table and two things; all is in sight."""

    def __init__(self, scene, things=None, decor=(), reference=False, sees=None):
        self.scene = scene
        self.problem = problem(OBJECTS, goal='(holding a_1)')
        self.home = home(
            (Placed('cabinet_1', cabinet(), (0.0, 2.2, 0.0)),
             Placed('chest_1', chest(), (-1.5, 2.2, 0.0)),
             Placed('table_1', table(), (1.6, -1.6, 0.0))),
            things or (Placed('a_1', block(), (1.6, -1.6, 0.7)),
                       Placed('b_1', block(), (0.0, 2.1, 0.5))), decor=decor)
        scene.build(self.home)
        self.actions = Actions(scene, self.home, self.problem, math.pi / 4,
                               sees or (lambda robot: frozenset(self.problem.objects)), reference)
        self.model = load_domain('household').model(self.problem)
        self.robot = robot()
        self.draws = 0

    def state(self):
        return self.actions.state(self.robot)

    def do(self, text, seed=None):
        """Carry out an action; its outcome."""
        action = Action.parse(text)
        self.draws += 1
        before = self.state()
        assert self.model.applicable(action, before), f'{action} in {sorted(map(str, before))}'
        outcome = self.actions.perform(
            action, self.robot, self.model.effects(action, before),
            np.random.default_rng(self.draws if seed is None else seed))
        self.robot = outcome.robot
        return outcome.text

    def all_well(self, text, seed=None):
        """Carry out an action, and compare the state with what the PDDL says."""
        action, before = Action.parse(text), self.state()
        assert self.do(text, seed) == 'success'
        after = self.state()
        expected = self.model.effects(action, before)
        assert {atom for atom, value in expected.items() if (atom in after) is not value} == set()
        return after


def holds(state, text):
    return Atom.parse(text) in state


def test_fetch_and_put_away(scene):
    """A day's work, step by step as the PDDL says."""
    stage = Stage(scene)
    assert not any(atom.predicate == 'reachable' for atom in stage.state())
    for text in ('navigate-to(cabinet_1)', 'open-container(cabinet_1)', 'grasp(b_1)',
                 'navigate-to(table_1)', 'place-on(b_1, table_1)', 'navigate-to(chest_1)',
                 'open-container(chest_1)', 'navigate-to(a_1)', 'grasp(a_1)',
                 'navigate-to(chest_1)', 'place-inside(a_1, chest_1)', 'close-container(chest_1)',
                 'navigate-to(b_1)', 'grasp(b_1)', 'navigate-to(table_1)',
                 'place-next-to(b_1, table_1)'):
        stage.all_well(text)
    end = stage.state()
    assert holds(end, 'inside a_1,chest_1') and holds(end, 'nextto b_1,table_1')
    assert scene.openings('chest_1')[1] == 0.0
    assert scene.aabb('b_1')[0][2] == pytest.approx(0.0, abs=0.003)  # on the floor


@pytest.mark.parametrize('seed', range(6))
def test_navigation_faces_the_target_near_it(scene, seed):
    stage = Stage(scene)
    stage.all_well('navigate-to(a_1)', seed)
    station = stage.robot.station
    way = scene.centre('a_1')[:2] - (station.x, station.y)
    assert abs(math.remainder(math.atan2(way[1], way[0]) - station.yaw, 2 * math.pi)) < 0.2
    assert np.linalg.norm(scene.centre('a_1') - stage.robot.shoulder) < 1.6
    assert scene.free_disc(np.array([[station.x, station.y]]), 0.28, 0.03, 1.3).all()


def test_only_the_target_is_in_reach(scene):
    things = (Placed('a_1', block(), (1.6, -1.6, 0.7)), Placed('b_1', block(), (1.5, -1.5, 0.7)))
    stage = Stage(scene, things)
    state = stage.all_well('navigate-to(a_1)')
    assert {a.args for a in state if a.predicate == 'reachable'} == {('a_1',)}


def test_reference_navigation_reaches_what_is_near(scene):
    things = (Placed('a_1', block(), (1.6, -1.6, 0.7)), Placed('b_1', block(), (1.5, -1.5, 0.7)))
    stage = Stage(scene, things, reference=True)
    assert stage.do('navigate-to(table_1)') == 'success'
    assert {a.args[0] for a in stage.state() if a.predicate == 'reachable'} >= {'a_1', 'b_1'}


def test_navigation_fails_where_nobody_can_stand(scene):
    """The thing lies behind bars: near, in sight, and out of reach."""
    bars = tuple(Placed(f'bar {k}', block((0.05, 0.05, 2.0), 0.0), (
        1.6 + 1.5 * math.cos(k / 16 * math.tau), -1.0 + 1.5 * math.sin(k / 16 * math.tau), 0.0))
        for k in range(16))
    crowd = tuple(Placed(f'pillar {i} {j}', block((0.2, 0.2, 0.5), 0.0),
                         (0.2 + 0.4 * i, -2.3 + 0.4 * j, 0.0))
                  for i in range(6) for j in range(6))
    stage = Stage(scene, (Placed('a_1', block(), (1.4, -1.2, 0.0)),
                          Placed('b_1', block(), (0.0, 2.1, 0.5))), decor=bars + crowd)
    before, station = stage.state(), stage.robot.station
    assert stage.do('navigate-to(a_1)').startswith('failed:')
    assert stage.state() == before and stage.robot.station == station


def test_navigation_fails_where_the_target_is_not_seen(scene):
    stage = Stage(scene, sees=lambda robot: frozenset())
    assert stage.do('navigate-to(a_1)') == 'failed:not in sight or in reach'
    assert stage.robot == robot()


def test_opening_brings_the_contents_into_reach_and_closing_takes_them_out(scene):
    stage = Stage(scene)
    stage.all_well('navigate-to(cabinet_1)')
    state = stage.all_well('open-container(cabinet_1)')
    assert holds(state, 'reachable b_1') and scene.openings('cabinet_1')[1] > 0.5
    state = stage.all_well('close-container(cabinet_1)')
    assert not holds(state, 'reachable b_1') and holds(state, 'inside b_1,cabinet_1')
    assert stage.robot.zone == {'cabinet_1'}


def test_the_robot_steps_out_of_the_way_of_a_leaf(scene):
    """It stands where the door swings: 45 cm before its hinged half."""
    stage = Stage(scene)
    stage.robot = robot(-0.2, 1.5, math.pi / 2, zone=('cabinet_1',))
    stage.all_well('open-container(cabinet_1)')
    moved = stage.robot.station
    assert math.hypot(moved.x + 0.2, moved.y - 1.5) > 0.05
    points = np.array([[moved.x, moved.y]])
    assert not scene.disc_meets('cabinet_1', [1], points, 0.28, 0.03, 1.3).any()


def test_a_leaf_stops_at_what_stands_in_its_way(scene):
    """It opens as far as it can, and not at all where that is nothing."""
    stage = Stage(scene, decor=(Placed('post', block((0.1, 0.1, 1.0), 0.0), (0.3, 1.82, 0.0)),))
    stage.robot = robot(0.0, 1.1, math.pi / 2, zone=('cabinet_1',))
    assert stage.do('open-container(cabinet_1)') == 'failed:in its way is post'
    assert scene.openings('cabinet_1')[1] == 0.0
    stage = Stage(scene, decor=(Placed('post', block((0.1, 0.1, 1.0), 0.0), (-0.25, 1.3, 0.0)),))
    stage.robot = robot(0.5, 1.1, math.pi / 2, zone=('cabinet_1',))
    assert stage.do('open-container(cabinet_1)') == 'success'
    assert 0.05 < scene.openings('cabinet_1')[1] < 0.75


def test_a_drawer_does_not_close_over_what_sticks_out(scene):
    stage = Stage(scene, (Placed('a_1', block((0.08, 0.08, 0.3)), (-1.5, 1.75, 0.58)),
                          Placed('b_1', block(), (0.0, 2.1, 0.5))))
    scene.set_opening('chest_1', 1, 1.0)
    stage.robot = robot(-1.5, 0.9, math.pi / 2, zone=('chest_1',))
    before = stage.state()
    assert stage.do('close-container(chest_1)').startswith('failed:in its way is')
    assert stage.state() == before and scene.openings('chest_1')[1] == 1.0


def test_what_was_on_a_thing_falls_when_it_is_taken(scene):
    stage = Stage(scene, (Placed('a_1', block(), (1.6, -1.6, 0.7)),
                          Placed('b_1', block(), (1.6, -1.6, 0.78))))
    assert holds(stage.state(), 'ontop b_1,a_1')
    stage.all_well('navigate-to(a_1)')
    state = stage.all_well('grasp(a_1)')
    assert holds(state, 'ontop b_1,table_1')
    assert scene.aabb('b_1')[0][2] == pytest.approx(0.7, abs=0.003)


def test_a_ball_does_not_stay_on_a_slope(scene):
    """Where nothing can stay, the thing is let go all the same, and comes to lie in reach."""
    board = Part('box', (0.6, 0.6, 0.04), (0.0, 0.0, 0.5), (1.0, 1.0, 1.0), rpy=(0.0, 0.5, 0.0))
    slope = Model('slope', (Link((board,)),), (0.6, 0.6, 0.8))
    stage = Stage(scene)
    scene.build(home(
        (Placed('cabinet_1', cabinet(), (0.0, 2.2, 0.0)), Placed('chest_1', slope, (-1.0, 0, 0)),
         Placed('table_1', table(), (1.6, -1.6, 0.0))),
        (Placed('a_1', block((0.14, 0.14, 0.14), kind='sphere'), (1.0, 0.0, 0.0)),
         Placed('b_1', block(), (0.0, 2.1, 0.5)))))
    stage.robot = robot(-1.0, 1.0, -math.pi / 2, held='a_1', zone=('chest_1', 'a_1'))
    scene.park('a_1')
    assert stage.do('place-on(a_1, chest_1)') == 'failed:did not stay'
    state = stage.state()
    assert stage.robot.held == '' and not holds(state, 'ontop a_1,chest_1')
    assert scene.aabb('a_1')[0][2] == pytest.approx(0.0, abs=0.01)


def test_no_room_no_placement(scene):
    """A thing too large for the drawer stays in the gripper."""
    stage = Stage(scene, (Placed('a_1', block((0.7, 0.1, 0.1)), (0.0, 0.0, 0.0)),
                          Placed('b_1', block(), (0.0, 2.1, 0.5))))
    scene.set_opening('chest_1', 1, 1.0)
    scene.park('a_1')
    stage.robot = robot(-1.5, 0.8, math.pi / 2, held='a_1', zone=('chest_1',))
    assert stage.do('place-inside(a_1, chest_1)') == 'failed:no free place'
    assert stage.robot.held == 'a_1' and holds(stage.state(), 'holding a_1')


def test_a_full_drawer_is_heaped(scene):
    stage = Stage(scene, (Placed('a_1', block((0.3, 0.3, 0.03)), (0.0, 0.0, 0.0)),
                          Placed('b_1', block((0.45, 0.4, 0.03)), (-1.5, 2.19, 0.58))))
    scene.set_opening('chest_1', 1, 1.0, carried=['b_1'])
    scene.park('a_1')
    stage.robot = robot(-1.5, 0.8, math.pi / 2, held='a_1', zone=('chest_1',))
    stage.all_well('place-inside(a_1, chest_1)')
    assert sorted(contents(scene, 'chest_1', ('a_1', 'b_1'))) == ['a_1', 'b_1']


# --- execution failures ---

def fail(stage, text, seed):
    before = stage.state()
    outcome = stage.actions.fail(Action.parse(text), stage.robot, np.random.default_rng(seed))
    stage.robot = outcome.robot
    return before, stage.state(), outcome.text


@pytest.mark.parametrize('seed', range(5))
def test_failures_of_drive_and_leaves(scene, seed):
    stage = Stage(scene)
    stage.all_well('navigate-to(cabinet_1)', seed)
    _, after, what = fail(stage, 'open-container(cabinet_1)', seed)
    assert what == 'execution_failure:stayed shut' and not holds(after, 'open cabinet_1')
    assert 0.0 < scene.openings('cabinet_1')[1] < 0.05
    stage.all_well('open-container(cabinet_1)', seed)
    wide = scene.openings('cabinet_1')[1]
    _, after, what = fail(stage, 'close-container(cabinet_1)', seed)
    assert what == 'execution_failure:left ajar' and holds(after, 'open cabinet_1')
    assert 0.05 < scene.openings('cabinet_1')[1] < wide
    stage.all_well('close-container(cabinet_1)', seed)
    here = stage.robot.station
    _, after, what = fail(stage, 'navigate-to(a_1)', seed)
    assert what == 'execution_failure:went astray' and stage.robot.station != here
    assert not any(atom.predicate == 'reachable' for atom in after)


@pytest.mark.parametrize('seed', range(4))
def test_a_failing_leaf_stops_at_what_is_in_its_way(scene, seed):
    """It goes through neither a thing nor the robot, and stays as far as it got."""
    stage = Stage(scene, (Placed('a_1', block((0.2, 0.2, 0.6)), (0.05, 1.62, 0.0)),
                          Placed('b_1', block(), (0.0, 2.1, 0.5))))
    scene.set_opening('cabinet_1', 1, 1.0)
    stage.robot = robot(0.6, 1.0, math.pi / 2, zone=('cabinet_1',))
    *_, what = fail(stage, 'close-container(cabinet_1)', seed)
    assert what == 'execution_failure:left ajar' and 0.45 < scene.openings('cabinet_1')[1] < 1.0
    assert scene.overlaps('a_1', depth=0.01) == []
    stage = Stage(scene)
    scene.set_opening('cabinet_1', 1, 1.0)
    stage.robot = robot(-0.1, 1.45, math.pi / 2, zone=('cabinet_1',))
    here = np.array([[-0.1, 1.45]])
    assert not scene.disc_meets('cabinet_1', [1], here, 0.28, 0.03, 1.3).any()
    fail(stage, 'close-container(cabinet_1)', seed)
    assert not scene.disc_meets('cabinet_1', [1], here, 0.28, 0.03, 1.3).any()


def test_what_is_open_is_open_enough(scene):
    """However often a close fails; and what can hardly be opened stays shut."""
    stage = Stage(scene)
    for name in ('cabinet_1', 'chest_1'):
        scene.set_opening(name, 1, 1.0)
        stage.robot = robot(*((0.6, 1.0) if name == 'cabinet_1' else (-1.5, 0.6)), math.pi / 2,
                            zone=(name,))
        for seed in range(6):
            fail(stage, f'close-container({name})', seed)
            assert scene.openings(name)[1] >= OPEN_ENOUGH
    stage = Stage(scene, decor=(Placed('post', block((0.1, 0.1, 1.0), 0.0), (-1.5, 1.8, 0.0)),))
    stage.robot = robot(-1.5, 0.9, math.pi / 2, zone=('chest_1',))
    assert stage.do('open-container(chest_1)') == 'failed:in its way is post'
    assert scene.openings('chest_1')[1] == 0.0


def test_a_drawer_that_is_hardly_out_is_pulled_out_to_be_filled(scene):
    stage = Stage(scene)
    scene.set_opening('chest_1', 1, 0.1)
    scene.park('a_1')
    stage.robot = robot(-1.5, 0.8, math.pi / 2, held='a_1', zone=('chest_1', 'a_1'))
    stage.all_well('place-inside(a_1, chest_1)')
    assert scene.openings('chest_1')[1] > 0.7


def test_the_arm_does_not_reach_through_a_leaf(scene):
    scene.build(home((Placed('cabinet_1', cabinet(high=1.4), (0.0, 2.2, 0.0)),),
                     (Placed('b_1', block(), (-0.2, 2.1, 0.5)),)))
    behind = robot(-0.35, 1.2, math.pi / 2, zone=('cabinet_1', 'b_1'))
    before = robot(0.9, 1.6, 2.7, zone=('cabinet_1', 'b_1'))
    scene.set_opening('cabinet_1', 1, 0.3)
    assert not reachable(scene, behind, 'b_1') and reachable(scene, before, 'b_1')


@pytest.mark.parametrize('seed', range(3))
def test_what_is_held_is_in_no_container(scene, seed):
    """A drawer that is closed does not bring it back, neither well nor badly."""
    stage = Stage(scene, (Placed('a_1', block(), (-1.5, 2.19, 0.58)),
                          Placed('b_1', block(), (0.0, 2.1, 0.5))))
    for text in ('navigate-to(chest_1)', 'open-container(chest_1)', 'grasp(a_1)'):
        stage.all_well(text)
        assert scene.is_parked('a_1') is (stage.robot.held == 'a_1')
    fail(stage, 'close-container(chest_1)', seed)
    assert scene.is_parked('a_1') and stage.robot.held == 'a_1'
    before = stage.state()
    after = stage.all_well('close-container(chest_1)')
    assert scene.is_parked('a_1')
    assert before - after == {Atom.parse('open chest_1')} and before > after


def test_what_is_knocked_in_a_container_stays_in_it_or_falls_out(scene):
    found = set()
    for seed in range(6):
        stage = Stage(scene)
        scene.set_opening('cabinet_1', 1, 1.0)
        stage.robot = robot(0.4, 1.0, math.pi / 2, zone=('cabinet_1', 'b_1'))
        assert holds(stage.state(), 'reachable b_1')
        _, after, what = fail(stage, 'grasp(b_1)', seed)
        assert holds(after, 'inside b_1,cabinet_1') is (what == 'execution_failure:knocked aside')
        assert not holds(after, 'ontop b_1,cabinet_1')
        assert not np.allclose(scene.position('b_1'), (0.0, 2.1, 0.5), atol=0.002)
        found.add(what)
    assert found == {'execution_failure:knocked aside', 'execution_failure:knocked to the floor'}


def test_without_room_nothing_is_dropped_or_knocked(scene, monkeypatch):
    stage = Stage(scene)
    tried = []
    monkeypatch.setattr(stage.actions._placing, 'floor', lambda robot, thing, rng, distance: (
        tried.append(distance), iter(()))[1])
    monkeypatch.setattr(stage.actions._placing, 'on', lambda *_: iter(()))
    stage.robot = robot(1.6, -0.6, -math.pi / 2, zone=('a_1', 'table_1'))
    before, after, what = fail(stage, 'grasp(a_1)', 0)
    assert (what, after) == ('no_op', before) and not scene.is_parked('a_1')
    scene.park('a_1')
    stage.robot = robot(1.6, -0.6, -math.pi / 2, held='a_1', zone=('a_1', 'table_1'))
    before, after, what = fail(stage, 'place-on(a_1, table_1)', 0)
    assert (what, after, stage.robot.held) == ('no_op', before, 'a_1') and scene.is_parked('a_1')
    assert tried == 2 * [(0.45, 1.0), (0.3, 2.5)]  # farther away, too


def test_an_error_leaves_the_scene_as_it_was(scene):
    def fails(robot):
        raise WorldError('no picture')
    stage = Stage(scene, sees=fails)
    stage.robot = robot(0.4, 0.9, math.pi / 2, zone=('cabinet_1',))
    before = stage.state()
    with pytest.raises(WorldError, match='no picture'):
        stage.do('open-container(cabinet_1)')
    assert stage.state() == before and scene.openings('cabinet_1')[1] == 0.0


def test_high_surfaces_are_used_though_the_robot_cannot_see_them(scene):
    stage = Stage(scene)
    scene.build(home(
        (Placed('cabinet_1', cabinet(), (0.0, 2.2, 0.0)),
         Placed('chest_1', chest(), (-1.5, 2.2, 0.0)),
         Placed('table_1', table(0.6, 0.6, 1.7), (1.6, -1.6, 0.0))),
        (Placed('a_1', block((0.25, 0.25, 0.02)), (0.0, 0.0, 0.0)),
         Placed('b_1', block(), (0.0, 2.1, 0.5)))))
    scene.park('a_1')
    stage.robot = robot(1.6, -0.7, -math.pi / 2, held='a_1', zone=('a_1', 'table_1'))
    stage.all_well('place-on(a_1, table_1)')
    stage.actions = Actions(scene, stage.home, stage.problem, math.pi / 4,
                            lambda robot: frozenset({'table_1'}))
    stage.robot = robot()
    stage.all_well('navigate-to(a_1)')  # to what bears it
    stage.all_well('grasp(a_1)')


@pytest.mark.parametrize('seed', range(5))
def test_failed_grasps_and_placements_can_be_repeated(scene, seed):
    stage = Stage(scene)
    stage.all_well('navigate-to(a_1)', seed)
    before, after, what = fail(stage, 'grasp(a_1)', seed)
    assert what in ('execution_failure:knocked aside', 'execution_failure:knocked to the floor')
    assert not any(atom.predicate == 'holding' for atom in after)
    assert not np.allclose(scene.position('a_1'), (1.6, -1.6, 0.7), atol=0.01)
    assert before - {Atom.parse('ontop a_1,table_1'), Atom.parse('reachable a_1')} <= after
    if not holds(after, 'reachable a_1'):
        stage.all_well('navigate-to(a_1)', seed)
    stage.all_well('grasp(a_1)', seed)
    stage.all_well('navigate-to(table_1)', seed)
    _, after, what = fail(stage, 'place-on(a_1, table_1)', seed)
    assert what == 'execution_failure:dropped' and stage.robot.held == ''
    assert not holds(after, 'ontop a_1,table_1')
    assert scene.aabb('a_1')[0][2] == pytest.approx(0.0, abs=0.005)
    if not holds(after, 'reachable a_1'):
        stage.all_well('navigate-to(a_1)', seed)
    stage.all_well('grasp(a_1)', seed)


def test_main_effects_are_what_the_goal_of_an_action_is():
    model = load_domain('household').model(problem(OBJECTS, goal='(holding a_1)'))
    for action in model.actions:
        effects = model.effects(action, frozenset({Atom('open', ('cabinet_1',))}))
        assert main_effect(action) in effects
    assert effects[main_effect(action)] is (not action.name.startswith('close'))


def test_states_are_read_from_the_scene(scene):
    stage = Stage(scene)
    assert stage.state() == true_atoms(scene, stage.robot, stage.problem)
    scene.move('a_1', (0.0, 0.0, 0.0))
    assert not holds(stage.state(), 'ontop a_1,table_1')
