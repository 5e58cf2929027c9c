"""``sightplan bench arm``: what is kept of moves, and what is counted (physics: tests/)."""

import json
from types import SimpleNamespace

import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan import cli
from sightplan.model import Action, EpisodeEnded, EpisodeSpec, EpisodeStarted, StopReason
from sightplan.runs import RunSettings, run
from sightplan_bench.arm import MOVES, MovesLog, describe, read_moves


class ReportingWorld(MemoryWorld):
    """Tells of each move what an arm would."""

    def reset(self, spec):
        super().reset(spec)
        self.skill_reports = []

    def execute(self, action):
        self.skill_reports.append(report(action, 'done', approach=2.0, perceive=0.5))
        return super().execute(action)


def report(action, cause, **seconds):
    return SimpleNamespace(
        action=action, cause=cause, message='', phases=tuple(seconds),
        **{clock: tuple(seconds.values())
           for clock in ('seconds', 'cpu_seconds', 'wall_seconds')})


def test_moves_are_kept_by_episode_with_the_report_and_the_truth(tmp_path):
    (tmp_path / 'p').mkdir()
    (tmp_path / 'p' / 'a.pddl').write_text(TWO_BLOCKS)
    world = ReportingWorld()
    run(RunSettings(problems=str(tmp_path / 'p'), method='oracle', episodes=2,
                    out=str(tmp_path / 'run')), world=world, planner=SearchPlanner(),
        recorders=[MovesLog(tmp_path / 'run' / MOVES, world)])
    kept = read_moves(tmp_path / 'run' / MOVES)
    lines = [json.loads(line) for line in (tmp_path / 'run' / 'episodes.jsonl').open()]
    assert list(kept) == [line['id'] for line in lines] and len(kept) == 2
    for line in lines:
        moves = kept[line['id']]
        assert len(moves) == line['steps'] >= 1
        assert {(m['cause'], m['outcome']) for m in moves} == {('done', 'success')}
        assert moves[0]['seconds'] == {'approach': 2.0, 'perceive': 0.5}


def test_a_move_that_ended_in_an_error_is_kept_and_of_a_repeated_episode_the_last_time(tmp_path):
    world = SimpleNamespace(skill_reports=[report(Action('a'), 'stopped', lift=1.0)])
    log = MovesLog(tmp_path / MOVES, world)
    for cause in ('stopped', 'done'):
        world.skill_reports = [report(Action('a'), cause, lift=1.0)]
        log.record(EpisodeStarted(EpisodeSpec('e', None, 'belief')))
        log.record(EpisodeEnded(StopReason.ERROR))
    with (tmp_path / MOVES).open('a') as file:
        file.write('{"episode_id": "cut o')
    kept = read_moves(tmp_path / MOVES)
    assert [(m['cause'], m['outcome']) for m in kept['e']] == [('done', '')]
    assert read_moves(tmp_path / 'nothing') == {}


def test_figures_are_of_episodes_that_count_and_of_moves_that_were_carried_out():
    lines = [{'id': str(i), 'cluster': str(i), 'stop': 'plan_done',
              'measures': {'solved': float(i < 3) if i < 4 else None},
              'message': 'broken'} for i in range(5)]

    def move(cause, outcome, **seconds):
        return {'cause': cause, 'outcome': outcome,
                **dict.fromkeys(('seconds', 'cpu_seconds', 'wall_seconds'), seconds)}
    moves = [move('done', 'success', perceive=0.1, plan=0.2, approach=1.0, lift=2.0, verify=0.3),
             move('missed_grasp', 'no_op', perceive=0.1, plan=0.4, approach=3.0),
             move('stopped', '', perceive=0.1, plan=0.3, approach=2.0),
             move('covered', 'illegal', perceive=9.0)]
    found = describe(lines, moves, 5)
    assert (found['planned'], found['episodes'], found['counted'], found['solved']) == (5, 5, 4, 3)
    assert found['rate'] == 0.75 and found['infrastructure'] == 1
    assert found['interval95'][0] == pytest.approx(0.301, abs=1e-3)
    assert found['errors'] == ['4: broken'] and found['unsolved'] == ['3: plan_done']
    assert found['causes'] == {'done': 1, 'missed_grasp': 1, 'stopped': 1, 'covered': 1}
    assert found['outcomes'] == {'success': 1, 'no_op': 1, 'error': 1, 'illegal': 1}
    assert found['causes_by_outcome']['no_op'] == {'missed_grasp': 1}
    assert found['failed'] == moves[1:]
    assert found['ms'] == {'perceive': 100.0, 'plan': 300.0, 'motion': 3000.0, 'all': 3500.0,
                           'wall': 3500.0, 'motion_clock': 3000.0}
    assert 'ms' not in describe(lines, moves[3:], 5)
    assert describe([], [], 0)['interval95'] is describe([], [], 0)['rate'] is None


def test_what_a_motion_ended_in_and_what_was_not_run_is_not_solved():
    lines = [{'id': str(i), 'cluster': str(i), 'measures': {'solved': 1.0}, 'stop': 'plan_done',
              'message': ''} for i in range(20)]
    lines += [{'id': name, 'cluster': name, 'measures': {'solved': None}, 'stop': 'error',
               'message': message} for name, message in (
        ('gate', 'ArmStoppedError: tracking'), ('ros', 'StoppedError: the arm was stopped'),
        ('table', 'WorldError: the table is not ready'), ('model', 'BackendError: out of memory'),
        ('defect', 'unexpected ValueError: x'))]
    found = describe(lines, [], 27)
    assert (found['planned'], found['episodes'], found['counted'], found['solved']) == (
        27, 25, 25, 20)
    assert found['rate'] == 0.8 and found['interval95'][0] == pytest.approx(0.609, abs=1e-3)
    assert found['errors'] == ['model: BackendError: out of memory',
                               'defect: unexpected ValueError: x']
    assert found['unsolved'] == [
        'gate: ArmStoppedError: tracking', 'ros: StoppedError: the arm was stopped',
        'table: WorldError: the table is not ready']


@pytest.mark.parametrize(('options', 'message'), [
    (['--split', 'tea'], 'tea'),
    (['--world-option', 'execution'], 'KEY=VALUE'),
    (['--episodes', '-1'], 'episodes'),
    (['--split', 'simple', '--episodes', '1', '--world-option', 'execution="symbolic"'],
     'has no arm'),
])
def test_wrong_usage_is_told(options, message, capsys, tmp_path):
    assert cli.main(['bench', 'arm', '--out', str(tmp_path / 'out'), *options]) == 2
    assert message in capsys.readouterr().err
