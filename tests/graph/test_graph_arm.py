"""Worlds with an arm: as the world itself, and behind arm_bridge as hardware."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graph_testing import bag_content, result
from recorded_testing import check_recorded

from arm_testing import patient_robot
from sightplan.metrics import measures
from sightplan_arm.config import load_robot

pytestmark = pytest.mark.slow

ANSWERS = ('backend:=noisy_oracle', 'backend_options:=table=perfect', 'method:=belief',
           'episodes:=1', 'episode_timeout_s:=600')
PLAN = {'executed', 'rejected'}


@pytest.fixture
def robot(tmp_path: Path) -> str:
    """A Panda's file whose limits bear a busy machine."""
    return patient_robot(tmp_path, state_timeout_s=10.0, image_timeout_s=10.0,
                         heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)


@pytest.fixture
def problems(tmp_path: Path) -> str:
    """One problem whose solution is one action."""
    folder = tmp_path / 'problems'
    folder.mkdir()
    (folder / 'one.pddl').write_text('''(define (problem one) (:domain blocksworld)
  (:objects r g - block c1 c2 c3 - column)
  (:init (incolumn r c1) (incolumn g c1) (on g r) (clear g)
         (rightof c2 c1) (rightof c3 c2) (leftof c1 c2) (leftof c2 c3))
  (:goal (and (incolumn g c3))))''')
    return str(folder)


@pytest.mark.parametrize('world', ['arm_bridge', 'sim_bridge'])
def test_an_arm_solves_a_problem_and_its_bag_replays(start, robot: str, problems: str,
                                                     world: str) -> None:
    """Nothing but the argument ``world`` differs; the truth is known to the scorer alone."""
    graph = start(*ANSWERS, f'problems:={problems}', f'robot:={robot}', 'hardware:=simulated',
                  'execution:=arm', f'world:={world}')
    assert graph.wait() == 0, graph.text
    line, = graph.lines()
    assert (measures.scored(line), measures.solved(line)) == (True, True), graph.text
    assert line['executed'] >= 1
    assert line['images_missing'] == 0
    check_recorded(graph.out, [line])
    run = json.loads((graph.out / 'run.json').read_text())
    identity, nodes = run['identity']['world'], run['sessions'][0]['graph']
    of_robot = {'robot': robot, 'robot_sha256': load_robot(robot).sha256}
    if world == 'arm_bridge':
        assert identity['hardware'] == 'simulated'
        assert identity['simulator'] == {'execution': 'arm', **of_robot}
        assert of_robot.items() <= identity.items()
        assert nodes['hardware/sim_bridge']['execution'] == 'arm'
        assert 'sim_bridge' not in nodes
    else:
        assert identity == {'execution': 'arm', **of_robot}
        assert [action['outcome'] for action in line['actions']][:1] == ['success']


def test_a_robot_without_truth_is_recorded_and_not_scored(start, robot: str,
                                                          problems: str) -> None:
    """As on a real one: no error, nothing is waited for, and what was claimed is on record."""
    graph = start('backend:=embedded', 'method:=blind', 'episodes:=1', f'problems:={problems}',
                  f'robot:={robot}', 'hardware:=simulated', 'world:=arm_bridge', 'truth:=')
    assert graph.wait() == 0, graph.text
    line, = graph.lines()
    assert (measures.scored(line), measures.solved(line), line['error']) == (False, None, None)
    summary = json.loads((graph.out / 'summary.json').read_text())
    assert (summary['without_truth'], summary['errors'], summary['success_rate']) == (1, 0, None)
    assert result(line)['failure'] is None
    assert not any('truth' in topic for topic in bag_content(graph.out / line['bag'])
                   if len(bag_content(graph.out / line['bag'])[topic]) > 1)
    check_recorded(graph.out, [line])
    again = start('backend:=embedded', 'method:=blind', 'episodes:=1', f'problems:={problems}',
                  f'robot:={robot}', 'hardware:=simulated', 'world:=arm_bridge', 'truth:=',
                  out=graph.out)
    assert again.wait() == 0, again.text
    assert again.lines() == [line], 'it is not repeated'


@pytest.mark.parametrize(('arguments', 'words'), [
    (('method:=oracle',), 'takes ground truth, which arm_bridge does not have'),
    (('method:=ground', 'backend:=noisy_oracle', 'hardware:=real'), 'takes ground truth')])
def test_what_takes_the_truth_is_refused_before_anything_moves(start, arguments,
                                                               words: str) -> None:
    graph = start('world:=arm_bridge', 'hardware:=real', *arguments)
    assert graph.wait() in (1, 2)
    assert words in graph.text
    assert graph.lines() == []
