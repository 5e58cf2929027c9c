"""``sightplan bench`` at a small size: every part gives its figures, a broken one is told."""

import json
import math

import pytest

from sightplan import cli
from sightplan_bench import command, grounded_plan_cost
from sightplan_bench.command import PARTS, ROS_PARTS

SLOW = (*ROS_PARTS, 'household', 'scoring', 'grounded-plan', 'paths', 'belief', 'locating',
        'tabletop-arm', 'replay', 'sliding', 'steps', 'commands')
FIGURES = {
    'rendering': {'render_ms', 'render_size'},
    'steps': {'blocksworld_step_ms', 'blocksworld_step_ms_most', 'household_step_ms',
              'household_step_ms_most', 'sliding_step_ms', 'sliding_step_ms_most',
              'tabletop_step_ms', 'tabletop_step_ms_most'},
    'embedded': {'embedded_ms_per_60_questions', 'embedded_questions_per_s'},
    'planning': {'plan_ms_hard'},
    'bags': {'bag_messages_per_s_all', 'bag_messages_per_s_events', 'bag_mb_per_s'},
    'recording': {'bag_ms_per_episode', 'bag_mb_per_episode'},
    'estimate': {'estimate_ms_6_blocks', 'estimate_answers_6_blocks', 'estimate_ms_12_blocks',
                 'estimate_answers_12_blocks'},
    'belief': {'belief_survey_ms', 'belief_step_ms', 'belief_step_ms_most'},
    'household': {*(f'household_belief_{name}_{split}' for split in ('hard', 'search')
                    for name in ('survey_ms', 'step_ms', 'step_ms_most')),
                  'household_memory_mib', 'household_memory_before_mib'},
    'locating': {'locate_ms_1', 'locate_ms_10'},
    'scoring': {'score_items', 'score_cpu_s', 'score_mib'},
    'sliding': {'sliding_frame_ms', 'sliding_astar_ms', 'sliding_astar_ms_most',
                'sliding_belief_step_ms', 'sliding_belief_step_ms_most', 'sliding_run_s',
                'sliding_run_episodes'},
    'paths': {'paths_describe_ms', 'paths_compare_ms', 'paths_rank_ms', 'paths_grid_ms',
              'paths_plan_s'},
    'grounded-plan': {'plans_score_s', 'tidy_scene_s', 'tidy_picture_ms', 'tidy_detect_ms',
                      'tidy_plan_ms'},
    'tabletop-arm': {f'tidy_arm_real_time_{horizon}{least}' for least in ('', '_least')
                     for horizon in ('short', 'medium', 'long')},
    'episodes': {'episodes_per_minute_in_process'},
    'commands': {'ask_s', 'ask_cpu_s', 'explain_s', 'explain_cpu_s'},
    'replay': {'episodes_per_minute_recorded', 'episodes_per_minute_replayed',
               'episodes_per_minute_scored_again'},
    'ros-ground': {f'ground_{new}{figure}' for new in ('', 'new_', 'sent_') for figure in (
        'in_process_ms', 'ros_ms', 'ros_over_in_process')},
    'ros-episodes': {'episodes_per_minute_ros', 'episodes_per_minute_ros_with_start'},
}


def bench(capsys, *arguments):
    """Exit code, result and standard error."""
    code = cli.main(['bench', '--episodes', '1', '--repeats', '1', '--json', *arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.mark.parametrize('part', [
    pytest.param(part, marks=[pytest.mark.slow] if part in SLOW else [])
    for part in (*PARTS, *ROS_PARTS)])
def test_a_part_gives_its_figures(monkeypatch, capsys, part):
    monkeypatch.setattr(grounded_plan_cost, '_ACTIONS', 1)
    code, result, err = bench(capsys, '--part', part)
    assert code == 0, err
    assert set(result) == {'machine', 'seed', 'repeats', 'provenance', *FIGURES[part]}
    for name in FIGURES[part] - {'render_size'}:
        assert math.isfinite(result[name]) and result[name] > 0


def test_every_picture_that_is_located_in_is_a_new_one(monkeypatch):
    from sightplan_bench.pointing_cost import locating
    from sightplan_models._locator_network import Network
    encoded, look = [], Network.look
    monkeypatch.setattr(Network, 'look', lambda self, picture: (
        encoded.append(1), look(self, picture))[1])
    locating(2, 0)
    assert len(encoded) == 2 * (1 + 2), 'one target and ten, each once more to begin with'


def breaks(size):
    raise RuntimeError('out of order')


def test_a_part_that_fails_is_told_and_hides_no_other(monkeypatch, capsys):
    monkeypatch.setattr(command, 'PARTS', {'first': breaks, 'second': lambda size: {'x_ms': 1.0}})
    code, result, err = bench(capsys, '--no-ros')
    assert code == 1 and result['x_ms'] == 1.0
    assert result['failed'] == {'first': 'RuntimeError: out of order'}
    assert 'bench first: failed: RuntimeError: out of order' in err


def test_without_json_people_get_indented_figures(monkeypatch, capsys):
    monkeypatch.setattr(command, 'PARTS', {'only': lambda size: {'x_ms': size.repeats}})
    assert cli.main(['bench', '--no-ros', '--repeats', '3']) == 0
    out = capsys.readouterr().out
    assert json.loads(out)['x_ms'] == 3 and out.count('\n') > 5


@pytest.mark.parametrize('arguments', [
    ['--episodes', '0'], ['--repeats', '-1'], ['--domain', 'nowhere']])
def test_bad_sizes_are_refused(capsys, arguments):
    try:
        code = cli.main(['bench', *arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert capsys.readouterr().err.startswith('sightplan bench: ')
