"""The bench of safety: what it makes of joint states, and that it knows all ways to an arm."""

from __future__ import annotations

import argparse
import dataclasses
import json
import types
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from nodes_testing import eventually, spinning
from sightplan.commands.flags import settings_of
from sightplan.graphs.hearing import Lost
from sightplan.model import InputError
from sightplan.model.journal import Journal
from sightplan_bench import safety as bench_safety
from sightplan_bench.safety_node import Bench, Sample
from sightplan_bench.safety_results import Kill, Results, Stop, spread
from sightplan_bench.safety_trials import BrokenGraphError, NotMadeError, Trials, standstill
from sightplan_nodes import names


def samples(*speeds: float, step_s: float = 0.01) -> list[Sample]:
    """Joint states each 10 ms, of one joint that moves as fast as given."""
    found, position = [], 0.0
    for number, speed in enumerate(speeds):
        position += speed * step_s
        found.append(Sample(number * step_s, speed, (0.0, position)))
    return found


def test_standstill_is_the_first_sample_after_the_last_that_moved():
    seen = samples(0.5, 0.5, 0.3, 0.01, 0.1, 0.019, *[0.0] * 100)
    still_ms, again, way = standstill(seen, 0.005, 1.0)
    assert still_ms == pytest.approx(45.0)
    assert not again
    assert way == pytest.approx(0.0042, abs=2e-4)


def test_motion_after_the_arm_stood_is_another_one():
    seen = samples(0.5, *[0.0] * 70, 0.05, *[0.0] * 30)
    assert standstill(seen, 0.0, 1.0)[:2] == (pytest.approx(10.0), True)
    assert standstill(seen, 0.0, 0.7)[:2] == (pytest.approx(10.0), False)
    assert standstill(seen, 0.0, 1.0, settle_s=0.8)[:2] == (pytest.approx(720.0), False)


def test_an_arm_that_never_stands_and_one_that_is_not_measured():
    assert standstill(samples(*[0.5] * 50), 0.0, 0.49)[0] == pytest.approx(490.0)
    with pytest.raises(NotMadeError, match=r'no joint states came for more than 0\.1 s'):
        standstill([*samples(0.5, 0.5), Sample(0.2, 0.0, (0.0, 0.0))], 0.0, 0.2)
    with pytest.raises(NotMadeError):
        standstill(samples(0.5, 0.0), 0.0, 1.0)  # nothing came after the first


def kill(**changed: object) -> Kill:
    fields = {'kind': 'agent', 'sign_ms': -3.0, 'command_ms': 80.0, 'still_ms': 150.0,
              'travel_rad': 0.1, 'cause': 'heartbeat', 'moved_again': False, 'refused': True}
    return Kill(**{**fields, **changed})


def stop(**changed: object) -> Stop:
    fields = {'in_motion': True, 'still_ms': 90.0, 'attempts': 10, 'moved': False,
              'still_after_rearm': True}
    return Stop(**{**fields, **changed})


@pytest.mark.parametrize('bad', [
    {'kills': [kill(still_ms=200.1)]}, {'kills': [kill(moved_again=True)]},
    {'kills': [kill(refused=False)]}, {'stops': [stop(moved=True)]},
    {'stops': [stop(still_after_rearm=False)]}])
def test_one_bad_trial_spoils_the_result(bad):
    good = Results([kill()], [stop()])
    assert good.good
    assert not Results([*bad.get('kills', []), kill()], [*bad.get('stops', []), stop()]).good


def test_what_is_printed():
    results = Results([kill(), kill(still_ms=250.0, command_ms=None)], [stop(), stop(
        in_motion=False, still_ms=0.0)])
    found = json.loads(json.dumps(results.summary()))
    assert found['kills']['agent'] == found['kills']['all']
    assert found['kills']['all']['n'] == 2
    assert found['kills']['all']['hold_command_ms']['n'] == 1
    assert found['kills']['all']['standstill_ms'] == {
        'n': 2, 'median': 150.0, 'p95': 250.0, 'max': 250.0, 'over_limit': 1}
    assert found['stops']['still_ms'] == {
        'n': 1, 'median': 90.0, 'p95': 90.0, 'max': 90.0, 'over_limit': 0}
    assert (found['stops']['n'], found['stops']['attempts']) == (2, 20)
    assert spread(list(range(100)))['p95'] == 94


def test_why_the_arm_held_is_told_apart_from_what_came_of_it():
    thrown = kill(cause='heartbeat', afterwards=['measured_velocity'])
    found = Results([kill(), thrown]).summary()['kills']['agent']
    assert found['causes'] == {'heartbeat': 2}
    assert found['stopped_afterwards'] == {'measured_velocity': 1}


def test_results_are_those_of_all_graphs(tmp_path: Path):
    given = {'robot': 'panda', 'seed': 0}
    lines = [{'graph': {'commit': 'a', **given}}, {'load': 1.5}, {'move': 'done'}, {'gaps': {}},
             {'seconds': 3.5},
             {'kill': dataclasses.asdict(kill(kind='camera'))}, {'needless': {'heartbeat': 2}},
             {'failed': 'the action was over'}, {'deaf': 'arm_bridge does not hear grounder'},
             {'graph': {'commit': 'b', **given}}, {'move': 'done'}, {'move': 'tracking'},
             {'needless': {'heartbeat': 1}}, {'stop': dataclasses.asdict(stop())},
             {'seconds': 2.0}]
    file, results = tmp_path / 'trials.jsonl', Results()
    with Journal(file) as journal:
        journal.open()
        for line in lines:
            journal.append(line)
    with file.open('a') as cut_off:
        cut_off.write('{"kill": {"ki')
    with Journal(file) as journal:
        journal.open()
        bench_safety.read_trials(journal, results, given)
        journal.append({'move': 'done'})
    assert len(Journal(file).read()) == len(lines) + 1, 'what was cut off is gone'
    assert (results.count('camera'), results.count('agent'), len(results.stops)) == (1, 0, 1)
    found = results.summary()
    assert (found['graphs'], found['commits'], found['seconds']) == (2, ['a', 'b'], 6)
    assert found['deaf'] == ['arm_bridge does not hear grounder']
    assert found['moves'] == {'n': 3, 'done': 2, 'tracking': 1, 'load': spread([1.5], 2)}
    assert found['stops']['load'] == spread([0.0], 2)
    assert found['needless_holds'] == {'heartbeat': 3}
    assert found['trials_not_made'] == {'the action was over': 1}


@pytest.mark.parametrize('line', ['{"move": "done", "n": 1}', '{"kill": {"kind": "agent"}}',
                                  '{"jump": 1}', '{"needless": 3}'])
def test_lines_that_are_none_are_named(tmp_path: Path, line: str):
    (tmp_path / 'trials.jsonl').write_text(f'{{"move": "done"}}\n{line}\n')
    with Journal(tmp_path / 'trials.jsonl') as journal:
        journal.open()
        with pytest.raises(InputError, match=r'trials\.jsonl:2: is not a line of these trials'):
            bench_safety.read_trials(journal, Results(), {'seed': 0})


def test_trials_under_other_conditions_are_not_mixed(tmp_path: Path, capsys):
    parser = argparse.ArgumentParser()
    bench_safety.add_parser(parser.add_subparsers())
    command = ['safety', '--trials', '0', '--stops', '0', '--moves', '1', '--out', str(tmp_path)]

    def read(*options):
        return settings_of(parser.parse_args([*command, *options]))

    given = bench_safety.conditions(read())
    with Journal(tmp_path / 'trials.jsonl') as journal:
        journal.open()
        journal.append({'graph': {'commit': 'a', **given}})
        journal.append({'move': 'done'})
    result, code = bench_safety.measure(read())
    assert (result['moves'], code) == ({'n': 1, 'done': 1, 'load': {'n': 0}}, 0), (
        'nothing is missing')
    with pytest.raises(InputError, match=r'jsonl:1: was measured with another seed \(0, not 7\)'):
        bench_safety.measure(read('--seed', '7'))
    with pytest.raises(InputError, match=r'another robot, another robot_sha256'):
        bench_safety.measure(read('--robot', 'ur5e'))


class Scripted(Trials):
    """Trials over no graph: each is made, fails, or finds a deaf node, as it is written."""

    def __init__(self, results: Results, script: str, lost: Sequence[Lost] = ()) -> None:
        bench = types.SimpleNamespace(expecting=False, breaks=Counter(), lost=lambda: lost)
        self._left = list(script)
        super().__init__(bench, types.SimpleNamespace(dead=list), '0', results,
                         lambda kind, data: results.take({kind: data}),
                         lambda: self._left == [], (), 1.0)

    def _move(self) -> str:
        if self._left.pop(0) == '-':
            raise NotMadeError('it was over')
        self._bench.breaks['tracking'] += 1
        return 'done'

    def moves(self, count: int) -> None:
        self._repeat('moved', count, self._results.moves.total, lambda: ('move', self._move()))


def test_what_is_missing_is_made():
    results = Results(moves=Counter({'done': 2}))
    Scripted(results, '.-..-.').moves(5)
    assert results.moves == {'done': 5}
    assert (results.needless, results.failed) == ({'tracking': 3}, {'moved: it was over': 1})


def test_the_load_of_each_move_is_noted():
    class Moving(Scripted):
        _move = Trials._move

        def _go(self) -> Future[object]:
            done: Future[object] = Future()
            done.set_result(types.SimpleNamespace(message=''))
            return done
    results = Results()
    trials = Moving(results, '...')
    trials._bench.status = types.SimpleNamespace(state=1, ARMED=1)
    trials.moves(2)
    assert results.moves == {'done': 2} and len(results.move_loads) == 2
    assert results.summary()['moves']['load']['n'] == 2


def test_somebody_may_stop_it():
    results = Results()
    with pytest.raises(KeyboardInterrupt):
        Scripted(results, '..').moves(3)
    assert results.moves == {'done': 2}


def test_too_many_that_cannot_be_made_end_it():
    with pytest.raises(BrokenGraphError, match='12 trials could not be made'):
        Scripted(Results(), '.' + '-' * 20).moves(3)


def test_a_deaf_node_ends_the_graph():
    lost = [Lost('arm_bridge', 'grounder', 21.0), Lost('arm_bridge', 'arm_watcher', 21.0)]
    results = Results()
    with pytest.raises(BrokenGraphError, match='it was over'):
        Scripted(results, '..-...', lost).moves(6)
    assert results.moves == {'done': 2}
    assert results.failed.total() == 1


class Arm(Node):
    """Has a way to be moved that the bench does not know, or none."""

    def __init__(self, service: str, topic: str) -> None:
        super().__init__(names.ARM_BRIDGE)
        self.create_service(Trigger, names.stop(names.ARM_BRIDGE), lambda request, reply: reply)
        if service:
            self.create_service(Trigger, service, lambda request, reply: reply)
        if topic:
            self.create_subscription(JointTrajectory, topic, lambda message: None, 1)


@pytest.mark.parametrize(('service', 'topic'), [
    ('', ''), ('~/jog', ''), ('elsewhere/stop', ''), ('', 'follow')])
def test_a_new_way_to_the_arm_must_be_tried(ros, service, topic):
    bench = Bench('panda')
    with spinning(bench, Arm(service, topic)):
        eventually(lambda: f'/{names.stop(names.ARM_BRIDGE)}' in {
            name for name, _ in bench.get_service_names_and_types()})
        if not service and not topic:
            bench._check_paths()
            return
        with pytest.raises(AssertionError, match='which the bench does not try'):
            bench._check_paths()


def test_bad_counts_are_refused():
    parser = argparse.ArgumentParser()
    bench_safety.add_parser(parser.add_subparsers())
    with pytest.raises(InputError, match='--trials -1 is out of bounds'):
        settings_of(parser.parse_args(['safety', '--trials', '-1']))
