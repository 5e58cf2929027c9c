"""The gate of an arm against an independent judge: nothing wrong passes, little is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from arm_doubles import way
from sightplan.cli import main
from sightplan_arm import limits
from sightplan_arm.bodies import Bodies
from sightplan_arm.config import load_robot
from sightplan_arm.hardware import JointState, JointTrajectory
from sightplan_arm.kinematics import Kinematics
from sightplan_bench import gate as bench_gate
from sightplan_bench.gate import Chain, Judge, Trial, run_batch
from sightplan_bench.solids import SPARSE_M, Solids

LIMIT = ('position_limit', 'velocity_limit', 'acceleration_limit')


@pytest.fixture(scope='module')
def robots():
    return {name: load_robot(name) for name in ('panda', 'ur5e')}


@pytest.fixture(scope='module')
def panda(robots):
    return robots['panda']


@pytest.fixture(scope='module', params=['panda', 'ur5e'])
def arm(request, robots):
    """A robot and its kinematics."""
    return robots[request.param], Kinematics(robots[request.param])


@pytest.fixture
def go(panda):
    return way(panda, panda.arm.park, panda.arm.ready)


def cubic(robot, joint, distance, duration):
    """One joint from rest to rest in one cubic, from ``ready``."""
    q = np.stack([robot.arm.ready, robot.arm.ready])
    q[1, joint] += distance
    return JointTrajectory(np.array([0.0, duration]), q, 0 * q)


def test_the_judges_kinematics_agree_with_pinocchios(arm):
    robot, kinematics = arm
    rng = np.random.default_rng(1)
    q = rng.uniform(robot.arm.lower, robot.arm.upper, (50, len(robot.arm.joints)))
    ours = Chain(robot).origins(q)
    to_table = np.linalg.inv(robot.table.pose)
    for row in range(3):
        for column, point in enumerate(robot.safety.points):
            expected = to_table @ kinematics.fk(q[row], point.frame) @ (*point.xyz_m, 1.0)
            assert ours[row, column] == pytest.approx(expected[:3], abs=1e-9)
    assert ours == pytest.approx(kinematics.fk_many(q, robot.safety.points), abs=1e-9)


@pytest.mark.parametrize(('robot', 'count'), [('panda', 400), ('ur5e', 300)])
def test_random_trajectories_that_pass_are_within_all_limits(robots, robot, count):
    tally = run_batch(str(robots[robot].file), 11, 0, count)
    assert tally.violations == []
    summary = tally.summary()
    assert summary['trajectories'] == count
    assert 0.3 * count < summary['passed'] < 0.7 * count, 'neither way is the check vacuous'
    for cause in (*LIMIT, 'workspace', 'collision', 'invalid', 'jump', 'moving'):
        assert tally.refused[cause] > 0
    for kind in ('plausible', 'wandering', 'box_graze', 'velocity_graze', 'acceleration_graze',
                 'position_graze', 'overshoot', 'start'):
        assert 0 < tally.passed[kind] < tally.of_kind[kind], kind
    assert tally.passed['broken'] == 0
    assert tally.judged_refusals > 0.05 * count
    assert tally.needless <= 0.02 * tally.judged_refusals


def test_the_judge_measures_bodies_as_the_gate_does(arm):
    robot, kinematics = arm
    bodies, random = Bodies(robot, kinematics), np.random.default_rng(2)
    margins = bodies.margins()
    solids = Solids(robot)
    links = {frozenset(pair) for pair in solids.pairs if not pair[1].startswith('the ')}
    assert links >= {frozenset(pair) for pair in margins if not pair[1].startswith('the ')}
    assert {pair for pair in margins if pair[1] == 'the table'} <= set(solids.pairs)
    for _ in range(8):
        q = robot.arm.ready + 0.5 * (random.uniform(robot.arm.lower, robot.arm.upper)
                                     - robot.arm.ready)
        ours: dict[frozenset[str], float] = {}
        for pair, room in zip(map(frozenset, solids.pairs), solids.rooms(q[None]), strict=True):
            ours[pair] = min(room, ours.get(pair, np.inf))
        assert solids.room(q[None]) == pytest.approx(min(ours.values()))
        for pair, gap in bodies.distances(q).items():
            if not pair[1].startswith('the side'):
                assert -1e-9 < ours[frozenset(pair)] - (gap - margins[pair]) < SPARSE_M, pair


def test_the_judge_catches_a_gate_that_forgets_a_pair(monkeypatch, robots):
    """It does not ask the gate which there are."""
    whole = Bodies._floor
    monkeypatch.setattr(Bodies, '_floor', lambda self, one, other, *rest: (
        None if other.name == 'panda_hand' and one.name == 'panda_link3' else
        whole(self, one, other, *rest)))
    robot = robots['panda']
    assert ('panda_hand', 'panda_link3') not in Bodies(robot, Kinematics(robot)).margins()
    found = map(frozenset, Judge(robot, 0.05)._solids.pairs)
    assert frozenset(('panda_hand', 'panda_link3')) in found


def test_one_pair_that_begins_too_close_excuses_no_other(panda, monkeypatch):
    judge = Judge(panda, 0.05)
    rooms = iter([np.array([-0.01, -0.02]), np.array([-0.01, 0.01])])
    monkeypatch.setattr(judge._solids, 'rooms', lambda q, below_m: next(rooms))
    wrong = judge._close(np.zeros((97, 7)))
    assert wrong.startswith('bodies too close by 0.02: ' + ' and '.join(judge._solids.pairs[1]))
    rooms = iter([np.array([-0.01, -0.02]), np.array([-0.01, -0.01])])
    assert judge._close(np.zeros((97, 7))) == ''


def test_the_judge_catches_a_gate_that_knows_no_bodies(monkeypatch, robots):
    monkeypatch.setattr(Bodies, 'conflict', lambda self, spline, around: None)
    found = run_batch(str(robots['panda'].file), 11, 0, 200).violations
    assert any('bodies too close' in wrong for wrong in found)


@pytest.mark.parametrize('check', ['_check_form', '_check_joints', '_check_box', '_strays'])
def test_the_judge_catches_a_gate_with_a_check_missing(monkeypatch, robots, check):
    nothing = (lambda self, spline, piece, low, high: np.zeros((len(piece), 1))
               ) if check == '_strays' else lambda self, trajectory: None
    monkeypatch.setattr(limits.Limits, check, nothing)
    with np.errstate(all='ignore'):
        if check == '_check_form':  # what is malformed cannot even be looked at
            with pytest.raises((ValueError, IndexError)):
                run_batch(str(robots['panda'].file), 11, 0, 200)
        else:
            count = 500 if check == '_strays' else 200  # what strays is seldom
            assert run_batch(str(robots['panda'].file), 11, 0, count).violations


def test_the_same_seed_makes_the_same_trials(robots):
    file = str(robots['panda'].file)
    seen = []
    one = bench_gate.run(file, 130, 11, 1, seen.append)
    again = run_batch(file, 11, 0, 130)
    assert seen == [130]
    assert one.refused == again.refused
    assert one.of_kind == again.of_kind
    assert run_batch(file, 11, 1, 130).of_kind != one.of_kind


def test_the_judge_tells_what_is_wrong(panda, go):
    judge = Judge(panda, 0.05)
    state = JointState(0.0, go.positions[0], 0 * go.positions[0], 0.0)

    def verdict(trajectory, state=state):
        return judge.broken([Trial('x', trajectory, state)])[0]
    assert verdict(go) == ''
    assert 'box' in verdict(cubic(panda, 0, -2.5, 20.0), JointState(
        0.0, panda.arm.ready, 0 * panda.arm.ready, 0.0))
    assert 'velocity' in verdict(replace(go, times_s=go.times_s / 1.01,
                                         velocities=go.velocities * 1.01))
    turned = 2.5 * np.eye(7)[6]
    assert 'position' in verdict(replace(go, positions=go.positions + turned),
                                 replace(state, positions=state.positions + turned))
    assert 'jump' in verdict(go, replace(state, positions=state.positions + 0.03))
    assert 'moves' in verdict(go, replace(state, velocities=state.velocities + 0.06))


def test_the_command_prints_one_json_object(robots, capsys):
    def run(*words):
        return main(['bench', 'gate', '--trajectories', '40', *words]), capsys.readouterr()
    code, said = run('--robot', str(robots['panda'].file), '--seed', '11', '--json')
    result = json.loads(said.out)
    assert code == 0
    assert said.out.count('\n') == 1
    assert (result['trajectories'], result['violations'], result['seed']) == (40, 0, 11)
    assert sum(result['refused_by_cause'].values()) == result['refused']
    assert 'trajectories: 40' in said.err
    for words in (('--robot', 'nobody'), ('--jobs', '0'), ('--trajectories', '0'),
                  ('--seed', '-1')):
        code, said = run(*words)
        assert (code, said.out) == (2, '')
        assert said.err.startswith('sightplan bench gate: ')
        assert 'Traceback' not in said.err


def test_the_command_fails_where_something_wrong_has_passed(monkeypatch, robots, capsys):
    monkeypatch.setattr(limits.Limits, '_check_box', lambda self, spline: None)
    assert main(['bench', 'gate', '--robot', str(robots['panda'].file), '--trajectories', '200',
                 '--seed', '11', '--json']) == 1
    assert json.loads(capsys.readouterr().out)['violations'] > 0
