"""``--prompts DIR`` for iVISPAR and GroundedPlanBench: texts of a clone, as files of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, chat
from sightplan.model import InputError
from sightplan.runs import RunSettings, run, specify
from test_ivispar_episodes import write
from test_ivispar_protocol import parts, texts

pytest.importorskip('sightplan_sim.sliding.world')

EXAMPLE = {
    # The rules alone, as a paper's code keeps them in one file: the text of the system role.
    'ivispar/action.txt': 'You push toys.\nEnd with action: move <colour> <shape> <direction>.\n',
    # Both roles; {sample} is the picture and what the suite says of it.
    'ivispar/ask.txt': ('<system>You look at toys.</system><user>Where are they?\n{sample}\n'
                        'Begin with Solution:</user>'),
    # {image} is the picture alone; the instruction stands where the file wants it.
    'grounded/ask.txt': ('<system>You plan.</system><user>Task: {instruction}\n{image}\n'
                         'Reply with JSON.</user>'),
    'grounded/steps.yaml': 'system: You plan in words.\nbefore: Look.\nmax_tokens: 77\n'}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in EXAMPLE.items():
        path = tmp_path / 'clone' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / 'clone'


def episode(tmp_path: Path, folder: Path, **changes: Any) -> RunSettings:
    return RunSettings(**{
        'suite': 'ivispar', 'domain': 'sliding', 'split': 'geoms', 'method': 'action',
        'problems': str(write(tmp_path / 'geoms')), 'backend': 'openai', 'protocol': 'paper',
        'prompts': str(folder / 'ivispar'), 'out': str(tmp_path / 'run'), **changes})


def sent(settings: RunSettings, *replies: str) -> list[dict[str, Any]]:
    with FakeServer(lambda body, number: chat(replies[min(number, len(replies) - 1)])) as server:
        run(RunSettings(**{**{name: getattr(settings, name) for name in (
            'suite', 'domain', 'split', 'method', 'problems', 'prompts', 'out', 'protocol',
            'suite_options', 'world_options')}, 'episodes': 1, 'backend': 'openai',
            'backend_options': {'base_url': server.url, 'model': 'any'}}))
    return server.bodies


def samples(folder: Path, **changes: Any) -> RunSettings:
    return RunSettings(**{
        'suite': 'grounded_plan', 'split': 'short', 'method': 'ask', 'backend': 'openai',
        'suite_options': {'count': 2}, 'backend_options': {'model': 'any'},
        'prompts': str(folder / 'grounded'), 'out': str(folder / 'run'), **changes})


def test_rules_of_a_file_replace_ours_and_all_else_stays_in_the_papers_order(
        tmp_path: Path, folder: Path) -> None:
    bodies = sent(episode(tmp_path, folder), 'action: start', 'action: move red cube up',
                  'action: move red cube right')
    for body in bodies:
        assert body['messages'][0]['content'] == EXAMPLE['ivispar/action.txt'].strip()
        assert 'sliding puzzle' not in texts(body) and body['max_tokens'] == 500
    last = parts(bodies[2])
    assert [isinstance(part, str) for part in last] == [True, False] * 3 + [True]
    assert 'move red cube up' in last[0] and 'goal' in last[2] and 'active' in last[4]


def test_flat_words_change_the_models_own_moves_and_not_the_file(tmp_path: Path, folder: Path,
                                                                 ) -> None:
    (folder / 'ivispar/action.txt').write_text('Push each cube.')
    bodies = sent(episode(tmp_path, folder, world_options={'view': '2d'}), 'action: start',
                  'action: move red cube up', 'action: move red square right')
    assert bodies[2]['messages'][0]['content'] == 'Push each cube.'
    assert 'move red square up' in parts(bodies[2])[0]


def test_the_identity_has_the_hash_and_says_that_words_are_the_papers(
        tmp_path: Path, folder: Path) -> None:
    before = specify(episode(tmp_path, folder, backend_options={'model': 'any'})).identity('any')
    assert before['prompts']['folder'] == 'ivispar' and before['prompts']['official']
    other = folder.parent / 'other/ivispar'
    other.mkdir(parents=True)
    (other / 'action.txt').write_text('Other rules.')
    after = specify(episode(tmp_path, other.parent, backend_options={'model': 'any'})
                    ).identity('any')
    assert before['prompts']['sha256'] != after['prompts']['sha256']
    assert before['prompt']['sha256'] != after['prompt']['sha256']


def test_boards_and_plans_are_asked_in_the_words_of_the_folder(
        tmp_path: Path, folder: Path) -> None:
    board, = sent(samples(folder, suite='ivispar', split='boards_2d', suite_options={},
                          prompts=str(folder / 'ivispar')), 'Solution: a1 red cube')
    assert board['messages'][0]['content'] == 'You look at toys.'
    first, picture, last = parts(board)
    assert first == 'Where are they?' and not isinstance(picture, str)
    assert last.startswith('The board has 4 x 4 cells') and last.endswith('Begin with Solution:')
    plan = sent(samples(folder, out=str(tmp_path / 'plan')), '{"actions": []}')[0]
    first, picture, last = parts(plan)
    assert first.startswith('Task: ') and '{' not in first and len(first) > len('Task: ')
    assert last == 'Reply with JSON.', "the suite's own text is left out"
    steps = sent(samples(folder, method='decoupled', out=str(tmp_path / 'steps')), 'none')[0]
    assert steps['messages'][0]['content'] == 'You plan in words.' and steps['max_tokens'] == 77


def test_the_identity_of_samples_has_the_hash_too(folder: Path) -> None:
    found = specify(samples(folder)).identity('any')
    assert found['prompts'] == {**found['prompts'], 'folder': 'grounded', 'official': True}
    ours = specify(samples(folder, prompts='')).identity('any')
    assert 'prompts' not in ours and ours['suite_prompt'] != found['suite_prompt']
    (folder / 'grounded/ask.txt').write_text('Plan.')
    assert specify(samples(folder)).identity('any')['prompts'] != found['prompts']


@pytest.mark.parametrize(('name', 'text', 'message'), [
    ('grounded/ask.txt', '<system>x</system><user>No picture.</user>', 'stands 0 times'),
    ('grounded/ask.txt', '<user>{image} {instructoin}</user>', "did you mean 'instruction'"),
    ('grounded/old/ask.md', 'Plan.', 'several files may be the prompt ask'),
    ('grounded/ask.txt', None, 'has no file for the prompt ask'),
])
def test_what_is_wrong_with_a_file_is_named(folder: Path, name: str, text: str | None,
                                            message: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(InputError) as error:
        run(samples(folder, backend_options={'model': 'any', 'base_url': 'http://localhost:9'}))
    assert message in str(error.value)


def test_methods_without_prompts_of_the_suite_take_no_folder(folder: Path) -> None:
    with pytest.raises(InputError, match='asks no model with prompts of suite grounded_plan'):
        specify(samples(folder, method='random'))


def test_an_episodes_file_with_both_roles_says_where_the_board_stands(
        tmp_path: Path, folder: Path) -> None:
    (folder / 'ivispar/action.txt').write_text(
        '<system>Rules.</system><user>Now: {image} What next?</user>')
    body = sent(episode(tmp_path, folder), 'action: start', 'action: move red cube right')[1]
    first, goal, before, board, last = parts(body)
    assert 'goal' in first and (before, last) == ('Now:', 'What next?')
    assert not isinstance(goal, str) and not isinstance(board, str)
