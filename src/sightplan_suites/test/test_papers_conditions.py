"""Figures beside those of iVISPAR and GroundedPlanBench carry what both were measured with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, chat
from sightplan.runs import RunSettings, load_suite, run
from sightplan_report.results import gather
from test_ivispar_episodes import write

pytest.importorskip('sightplan_sim.sliding.world')


def rows(folder: Path, table: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our one row of a table, and one of the paper's."""
    runs = gather(folder).runs
    found = next(made for made in load_suite(str(runs[0].identity['suite'])).tables(runs)
                 if made.name == table).rows
    own, = [row for row in found if row['source'] == 'here']
    return own, next((row for row in found if row['source'] != 'here'), {})


def served(out: Path, reply: str, **changes: Any) -> None:
    with FakeServer(lambda body, number: chat(reply)) as server:
        run(RunSettings(**{'backend': 'openai', 'episodes': 1, 'out': str(out), **changes,
                           'backend_options': {'base_url': server.url, 'model': 'served',
                                               **changes.get('backend_options', {})}}))


def puzzles(out: Path, **changes: Any) -> None:
    served(out / 'run', 'action: move red cube right', **{
        'suite': 'ivispar', 'domain': 'sliding', 'split': 'geoms', 'method': 'action',
        'problems': str(write(out / 'geoms')), **changes})


def test_ivispars_protocol_leaves_the_words_of_the_prompt(tmp_path: Path) -> None:
    puzzles(tmp_path, protocol='paper')
    own, paper = rows(tmp_path / 'run', 'completed')
    assert own['measured'].startswith(
        'protocol paper, 20 actions, 500 tokens a reply, our prompts')
    assert own['unlike'] == 'our prompts'
    assert paper['measured'] == (
        'protocol paper, 20 actions, 500 tokens a reply, prompts of the paper, unread: illegal '
        'command (IC), the episode goes on, 300 puzzles and pictures of its own')


def test_the_view_is_no_deviation_and_flat_words_belong_to_it(tmp_path: Path) -> None:
    puzzles(tmp_path, protocol='paper', world_options={'view': '2d'})
    own, _ = rows(tmp_path / 'run', 'completed')
    assert own['view'] == '2d' and own['unlike'] == 'our prompts'


@pytest.mark.parametrize(('changes', 'words'), [
    ({}, ('outcomes told instead of none', 'history list instead of none',
          'opening none instead of start', 'lists told instead of none',
          'temperature 0.0 instead of 1.0', 'width 640 instead of 1200')),
    ({'world_options': {'labels': 'none'}}, ('labels none instead of both',)),
    ({'method_options': {'marks': 'none', 'past': 0}},
     ('marks none instead of both', 'past 0 instead of 2')),
    ({'goal': 'told'}, ('goal told instead of pictured',))])
def test_what_ivispars_paper_did_otherwise_is_named(
        tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    puzzles(tmp_path, **changes)
    own, _ = rows(tmp_path / 'run', 'actions')
    assert own['unlike'].startswith('protocol ours, our prompts; ')
    for part in words:
        assert part in own['unlike']


@pytest.mark.parametrize(('protocol', 'unlike'), [
    ('paper', 'our prompts, tasks and pictures of our own'),
    ('ours', 'protocol ours, our prompts, tasks and pictures of our own; look 1.0 instead of 0')])
def test_boards_carry_their_conditions(tmp_path: Path, protocol: str, unlike: str) -> None:
    served(tmp_path, 'Solution: a1 red cube', suite='ivispar', split='boards_2d', method='ask',
           protocol=protocol)
    own, paper = rows(tmp_path, 'boards')
    assert own['unlike'].startswith(unlike) and 'actions' not in own['measured']
    assert 'actions' not in paper['measured'] and 'prompts of the paper' in paper['measured']


@pytest.mark.parametrize(('criterion', 'unlike'), [
    ('iou', 'our prompts, tasks and pictures of our own'),
    ('point_in_box', ('protocol ours, our prompts, tasks and pictures of our own; '
                      'grasp_criterion point_in_box instead of iou'))])
def test_grounded_plans_carry_their_conditions(tmp_path: Path, criterion: str, unlike: str,
                                               ) -> None:
    served(tmp_path, '{"actions": []}', suite='grounded_plan', split='short', method='ask',
           suite_options={'count': 2, 'grasp_criterion': criterion})
    own, paper = rows(tmp_path, 'plans')
    assert own['unlike'] == unlike
    assert paper['measured'] == ('protocol paper, prompts of the paper, unread: counts 0, 1,009 '
                                 'tasks on photographs (DROID)')


PATHS = {'suite': 'patheval', 'split': 'test', 'method': 'ask'}


@pytest.mark.parametrize(('changes', 'measured', 'unlike'), [
    ({'protocol': 'paper'}, 'protocol paper, form abstract, explained paper, 1,000 tokens a reply',
     'our prompts, tasks and pictures of our own'),
    ({'suite_options': {'form': 'spelled'}}, 'protocol ours, form spelled, explained all, 1,000',
     ('protocol ours, our prompts, tasks and pictures of our own; form spelled instead of '
      'abstract, explained all instead of paper'))])
def test_paths_carry_the_form_of_tasks(tmp_path: Path, changes: dict[str, Any], measured: str,
                                       unlike: str) -> None:
    served(tmp_path, 'Answer: Path 1', **PATHS, **changes)
    own, paper = rows(tmp_path, 'accuracy')
    assert own['measured'].startswith(measured) and own['unlike'] == unlike
    assert own['form'] == changes.get('suite_options', {}).get('form', 'abstract')
    assert paper['measured'] == (
        'protocol paper, form abstract, explained paper, granted nothing, 1,000 tokens a reply, '
        'prompts of the paper, unread: wrong, 1,050 items of its own, the border of a map is no '
        'obstacle')


def test_what_a_reader_of_pictures_is_granted_stands_at_its_figure(tmp_path: Path) -> None:
    run(RunSettings(**PATHS, backend='noisy_critic', episodes=2, out=str(tmp_path)))
    own, _ = rows(tmp_path, 'accuracy')
    assert 'granted vector' in own['measured'] and 'tokens' not in own['measured']
    assert 'granted vector instead of nothing' in own['unlike']


def test_one_descriptor_a_question_may_have_half_the_tokens(tmp_path: Path) -> None:
    served(tmp_path, 'Answer: Path 1', **PATHS, protocol='paper',
           suite_options={'variant': 'perception_fine'})
    runs = gather(tmp_path).runs
    found = next(one for one in load_suite('patheval').tables(runs) if one.name == 'perception')
    assert {row['unlike'] for row in found.rows if row['source'] == 'here'} == {
        'our prompts, tasks and pictures of our own'}
    assert all('500 tokens a reply' in row['measured'] for row in found.rows)


def test_prompts_that_are_not_published_are_nobodys_but_the_folders(tmp_path: Path) -> None:
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine/ask.txt').write_text('Plan.')
    for suite, split, whose in (('grounded_plan', 'short', 'prompts of mine'),
                                ('ivispar', 'boards_2d', "the paper's prompts")):
        served(tmp_path / suite, 'Solution: {"actions": []}', suite=suite, split=split,
               method='ask', prompts=str(tmp_path / 'mine'), protocol='paper',
               suite_options={'count': 2} if suite == 'grounded_plan' else {})
        own, _ = rows(tmp_path / suite, 'plans' if suite == 'grounded_plan' else 'boards')
        assert whose in own['measured']
        assert (whose in own['unlike']) is (suite == 'grounded_plan')
