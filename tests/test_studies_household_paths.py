"""The table of drives along planned paths: pairs, means over drives, and p."""

import pytest

import household_paths_study as study
from study_results import Entry

CLEARANCES = {'first': 0.3, 'keep away': 0.4}


def line(number, home, variant):
    least = CLEARANCES[variant] + 0.01 * number + 0.1 * home
    drives = [{'reason': '', 'chosen': 1, 'paths': [
        {'average_clearance': 9.0, 'smoothness': 9.0},
        {'average_clearance': least + more, 'smoothness': 10.0 * number}]} for more in (0.2, 0.4)]
    drives.append({'reason': 'no_way', 'chosen': -1, 'paths': []})
    return {'id': f'household/simple/p{number}#0', 'cluster': f'p{number}',
            'measures': {'solved': 1.0, 'least_clearance_m': least, 'length_m': 5.0},
            'details': {'paths': {'drives': drives}}}


def entries(problems=10):
    return [Entry('run', 'sweep', {}, {'variant': variant, 'world_options.home': home},
                  tuple(line(number, home, variant) for number in range(problems)), problems,
                  False, ()) for variant in CLEARANCES for home in (0, 1)]


def test_variants_are_compared_by_home_and_problem():
    found = study.lines_of(entries())
    assert {variant: len(lines) for variant, lines in found.items()} == {
        'first': 20, 'keep away': 20}
    made = {(row[0], row[1]): row[2:] for row in study.rows(found)}
    least = made[study.MEASURES['least_clearance_m'], 'keep away']
    assert least[0] == '20' and least[1].startswith('0.495 (')
    assert least[2] == '0.100 (0.100, 0.100)' and float(least[3]) < 0.01
    assert made[study.MEASURES['least_clearance_m'], 'first'][2:] == ['', '']
    average = made[study.MEASURES['average_clearance'], 'first'][1]
    assert average.startswith('0.695 (')  # of the chosen paths, without what had none
    assert made[study.MEASURES['length_m'], 'keep away'][2:] == ['0.000 (0.000, 0.000)', '1']


def test_p_is_that_of_flipped_signs():
    found = study.lines_of(entries(problems=3))
    # Three problems, all for one side: 2 of 8 ways are as far from 0.
    assert study.sign_flip(found['keep away'], found['first'], 'least_clearance_m') == (
        pytest.approx(0.25, abs=0.01))


def test_episodes_without_drives_are_left_out():
    bare = {**line(0, 0, 'first'), 'details': {}}
    assert study.lines_of([Entry('run', 'sweep', {}, {'variant': 'first',
                                                      'world_options.home': 0},
                                 (bare,), 1, False, ())]) == {}


def test_a_directory_without_a_sweep_is_refused(tmp_path, capsys):
    assert study.main([str(tmp_path)]) == 2
    assert 'holds no sweep' in capsys.readouterr().err
