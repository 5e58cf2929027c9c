"""Blocksworld solved by a simulated arm in this process: camera, skills, gate, physics, scorer."""

import json

import pytest

from sightplan import cli


@pytest.mark.slow
def test_problems_are_solved_by_an_arm_in_physics(capsys, tmp_path):
    assert cli.main(['run', '--domain', 'blocksworld', '--split', 'simple', '--episodes', '2',
                     '--method', 'belief', '--backend', 'embedded', '--world-option',
                     'execution=arm', '--out', str(tmp_path / 'run'), '--json']) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (summary['scored'], summary['solved']) == (2, 2)


@pytest.mark.slow
def test_what_became_of_moves_is_measured(capsys, tmp_path):
    command = ['bench', 'arm', '--split', 'simple', '--episodes', '1', '--world-option',
               'calibration_error_mm=2', '--out', str(tmp_path / 'out'), '--json']
    assert cli.main(command) == 0
    printed = capsys.readouterr()
    simple = json.loads(printed.out.splitlines()[-1])['splits']['simple']
    assert (simple['counted'], simple['solved']) == (1, 1)
    assert simple['causes_by_outcome']['success'] == {'done': simple['outcomes']['success']}
    assert simple['ms']['perceive'] > 0 and simple['ms']['motion_clock'] > 1000
    assert 'solved 1' in printed.err
    assert cli.main(command) == 0  # takes it up: nothing is left to do
    again = json.loads(capsys.readouterr().out.splitlines()[-1])['splits']['simple']
    assert again['solved'] == 1 and again['ms'] == simple['ms']
