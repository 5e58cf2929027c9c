"""PathEval as the paper asks it: what a server is sent, and in whose words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, chat
from sightplan import cli
from sightplan.model import InputError
from sightplan.runs import RunSettings, run, specify
from sightplan_suites.patheval.asking import key_of
from sightplan_suites.patheval.samples import VARIANTS
from sightplan_suites.patheval.scenarios import scenario

TEMPLATE = ('<system>You help with {first}.</system><user>Job: {task}\n{image}\n{first} left, '
            '{second} right.</user>')


def settings(tmp_path: Path, variant: str = 'none', **changes: Any) -> RunSettings:
    return RunSettings(**{
        'suite': 'patheval', 'split': 'test', 'method': 'ask', 'backend': 'openai',
        'suite_options': {'variant': variant, **changes.pop('options', {'size': 64})},
        'backend_options': {'model': 'any'}, 'out': str(tmp_path / 'run'), 'episodes': 1,
        'failure_images': False, **changes})


def sent(settings: RunSettings) -> dict[str, Any]:
    """The first request that a server gets."""
    with FakeServer(lambda body, number: chat('Answer: Path 1')) as server:
        run(RunSettings(**{name: getattr(settings, name) for name in (
            'suite', 'split', 'method', 'suite_options', 'prompts', 'out', 'episodes', 'protocol',
            'failure_images', 'backend')},
            backend_options={'base_url': server.url, 'model': 'any'}))
    found: dict[str, Any] = server.bodies[0]
    return found


def words(body: dict[str, Any]) -> list[str]:
    return [part['text'] for message in body['messages'] for part in (
        [{'type': 'text', 'text': message['content']}] if isinstance(message['content'], str)
        else message['content']) if part['type'] == 'text']


def pictures(body: dict[str, Any]) -> int:
    return json.dumps(body).count('image_url": {')


# ---------------------------------------------------------------------- prompts of a folder


def folder(tmp_path: Path, **texts: str) -> str:
    place = tmp_path / 'clone'
    place.mkdir()
    for name, text in texts.items():
        (place / f'{name}.txt').write_text(text)
    return str(place)


def test_the_prompt_of_a_variant_is_the_file_of_its_name(tmp_path: Path) -> None:
    place = folder(tmp_path, none=TEMPLATE, level1='<user>Needs of {task}? {image}</user>')
    body = sent(settings(tmp_path, prompts=place))
    task = next(scenario(number).abstract[0] for number in range(1, 16)
                if scenario(number).abstract[0] in ' '.join(words(body)))
    assert words(body) == ['You help with Path 1.', f'Job: {task}', 'Path 1 left, Path 2 right.']
    assert pictures(body) == 1 and body['max_tokens'] == 1000
    body = sent(settings(tmp_path / 'other', 'level1', prompts=place))
    assert words(body) == [f'Needs of {scenario(1).abstract[0]}?'] and pictures(body) == 0


def test_values_and_the_descriptor_that_is_asked_about_can_be_put_in(tmp_path: Path) -> None:
    place = folder(tmp_path, descriptors='<user>{image}{first_values} / {second_values}</user>',
                   perception_fine='<user>{image}Less {descriptor}?</user>')
    told, = words(sent(settings(tmp_path, 'descriptors', prompts=place)))
    first, second = map(json.loads, told.split(' / '))
    assert set(first) == set(second) and first != second and 'Path length' in first
    body = sent(settings(tmp_path / 'other', 'perception_fine', prompts=place))
    asked, = words(body)
    assert asked == f'Less {key_of("minimum_clearance")}?' and body['max_tokens'] == 500


def test_items_the_other_way_round_have_the_same_prompt(tmp_path: Path) -> None:
    place = folder(tmp_path, none=TEMPLATE)
    assert words(sent(settings(tmp_path, 'flipped', prompts=place)))[0] == 'You help with Path 1.'


def test_one_file_may_serve_all_variants(tmp_path: Path) -> None:
    place = folder(tmp_path, ask='You judge.')
    for variant in ('none', 'perception'):
        body = sent(settings(tmp_path / variant, variant, prompts=place))
        assert words(body)[0] == 'You judge.'


def test_the_hash_of_the_prompts_is_in_the_identity(tmp_path: Path) -> None:
    place = folder(tmp_path, none=TEMPLATE, random='Another one.')
    found = specify(settings(tmp_path, prompts=place)).identity('any')
    assert found['prompts'] == {**found['prompts'], 'folder': 'clone', 'official': True}
    ours = specify(settings(tmp_path)).identity('any')
    assert 'prompts' not in ours and ours['suite_prompt'] != found['suite_prompt']
    Path(place, 'random.txt').write_text('Changed.')
    assert specify(settings(tmp_path, prompts=place)).identity('any')['prompts'] == (
        found['prompts']), 'it is not used'
    Path(place, 'none.txt').write_text(f'{TEMPLATE} ')
    assert specify(settings(tmp_path, prompts=place)).identity('any')['prompts'] != (
        found['prompts'])


@pytest.mark.parametrize(('name', 'text', 'message'), [
    ('level1', 'x', 'has no file for the prompt none or ask .add none.txt'),
    ('none', '<user>{image} {tsk}</user>', "did you mean 'task'"),
    ('none', '<user>{image} {first_values}</user>', 'do not tell')])
def test_what_is_wrong_with_a_folder_is_said(name: str, text: str, message: str, tmp_path: Path,
                                             ) -> None:
    place = folder(tmp_path, **{name: text})
    with pytest.raises(InputError, match=message):
        sent(settings(tmp_path, prompts=place))


@pytest.mark.parametrize('variant', VARIANTS)
def test_what_is_printed_is_what_is_sent(variant: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(['prompts', '--suite', 'patheval', '--split', 'test', '--method', 'ask',
                     '--suite-option', f'variant={variant}',
                     '--protocol', 'paper', '--json']) == 0
    printed = json.loads(capsys.readouterr().out)['requests'][0]
    said = [*([printed['system']] if printed['system'] else []),
            *(part for part in printed['user'] if isinstance(part, str))]
    body = sent(settings(tmp_path, variant, protocol='paper', options={}))
    assert said == words(body)
    assert printed['max_tokens'] == body['max_tokens'] == (
        500 if variant == 'perception_fine' else 1000)
