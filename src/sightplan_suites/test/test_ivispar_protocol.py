"""``--protocol paper`` of iVISPAR: what a model is told and shown, and what contradicts it."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fake_openai import FakeServer, chat
from sightplan.domains import load_domain
from sightplan.domains.sliding.marks import TINTS
from sightplan.domains.sliding.replies import FLAT_SHAPES
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run, specify
from test_ivispar_episodes import write

pytest.importorskip('sightplan_sim.sliding.world')
TOLD = 'nothing moved', 'the piece moved', 'What became of it', '# Pieces and cells', '# Moves'


def settings(tmp_path: Path, **changes: Any) -> RunSettings:
    return RunSettings(**{
        'suite': 'ivispar', 'domain': 'sliding', 'split': 'geoms', 'method': 'action',
        'problems': str(write(tmp_path / 'geoms')), 'backend': 'openai', 'protocol': 'paper',
        'backend_options': {'base_url': 'http://localhost:9/v1', 'model': 'served'},
        'out': str(tmp_path / 'run'), **changes})


def asked(tmp_path: Path, *replies: str, **changes: Any) -> tuple[list[dict[str, Any]], Any]:
    """The requests of an episode in which a model replies so, the last reply again and again."""
    with FakeServer(lambda body, number: chat(
            replies[min(number, len(replies) - 1)])) as server:
        run(settings(tmp_path, **changes, backend_options={
            'base_url': server.url, 'model': 'served', **changes.pop('more', {})}))
    line, = RunStore(tmp_path / 'run').lines()
    return server.bodies, line


def parts(body: dict[str, Any]) -> list[Any]:
    """The user's texts and pictures, (H, W, 3) uint8 each."""
    found = []
    for part in body['messages'][-1]['content']:
        if part['type'] == 'text':
            found.append(part['text'])
        else:
            data = base64.b64decode(part['image_url']['url'].partition(',')[2])
            found.append(np.asarray(Image.open(io.BytesIO(data)).convert('RGB')))
    return found


def tints(body: dict[str, Any]) -> list[Any]:
    """What each picture of a request shows, by the colour of its lower left corner."""
    names = {tint: name for name, tint in TINTS.items()}
    return [names.get(tuple(part[-1, 0].tolist())) for part in parts(body)
            if not isinstance(part, str)]


def texts(body: dict[str, Any]) -> str:
    return '\n'.join([body['messages'][0]['content'], *(
        part for part in parts(body) if isinstance(part, str))])


def test_the_goal_comes_first_then_two_past_states_with_the_models_own_moves(
        tmp_path: Path) -> None:
    bodies, line = asked(
        tmp_path, 'I see.\naction: start', 'action: move red cube up',
        'action: move red cube left', 'action: move blue sphere right',
        'action: move blue sphere left',
        'action: move red cube right')
    assert [tints(body) for body in bodies] == [
        ['goal'], ['goal', 'active'], ['past', 'goal', 'active'],
        *[['past', 'past', 'goal', 'active']] * 3]
    assert 'action: start' in texts(bodies[0])
    for body in bodies:
        for words in (*TOLD, 'Tried so far', 'red_cube', 'move('):
            assert words not in texts(body)
        assert 'description:' in texts(body)
        assert (body['temperature'], body['top_p'], body['top_k'], body['max_tokens']) == (
            1.0, 0.95, 50, 500)
    third, last = texts(bodies[2]), texts(bodies[5])
    assert 'move red cube up' in third
    assert 'move red cube up' not in last and 'move blue sphere right' in last
    assert 'move blue sphere left' in last
    assert line['measures']['solved'] == 1.0 and line['steps'] == 5, '"start" costs no action'
    assert line['proposals'] == {'started': 1, 'planned': 5} and line['repaired'] == 0
    assert parts(bodies[0])[1].shape == (900, 1200, 3)


def test_a_reply_other_than_start_costs_an_action_and_moves_nothing(tmp_path: Path) -> None:
    bodies, line = asked(tmp_path, 'action: move red cube right', 'nothing', 'action: start',
                         'action: move red cube right')
    assert [tints(body) for body in bodies] == [['goal']] * 3 + [['goal', 'active']]
    assert line['proposals'] == {'planned': 2, 'unparsed': 1, 'started': 1}
    assert line['steps'] == 3 and line['details']['classes'] == ['IC', 'IC', 'EM']


def test_flat_pictures_have_flat_words(tmp_path: Path) -> None:
    bodies, line = asked(tmp_path, 'action: start', 'action: move blue circle left',
                         'action: move red square right', world_options={'view': '2d'})
    assert line['measures']['solved'] == 1.0
    for body in bodies:
        assert 'square' in texts(body)
        for solid in FLAT_SHAPES.values():
            assert solid not in texts(body).replace('half', '')
    assert 'move blue circle left' in texts(bodies[2])


def test_the_words_for_flat_shapes_are_those_that_replies_may_use() -> None:
    words = load_domain('sliding').prompts.flat_words
    assert {flat: solid for solid, flat in words.items()}.items() <= FLAT_SHAPES.items()


def test_history_has_the_form_of_replies_in_our_own_prompt_too(tmp_path: Path) -> None:
    bodies, _ = asked(tmp_path, 'action: move red cube up', 'action: move red cube right',
                      protocol='ours')
    assert '1. move red cube up: nothing moved' in texts(bodies[1])
    assert 'What became of it: nothing moved' in texts(bodies[1])
    assert 'move(' not in texts(bodies[1]) and 'red_cube' not in texts(bodies[1])


@pytest.mark.parametrize(('marks', 'background', 'word'), [
    ('both', 'goal', True), ('colour', 'goal', False), ('word', 'active', True),
    ('none', 'active', False)])
def test_marks_are_a_switch(tmp_path: Path, marks: str, background: str, word: bool) -> None:
    bodies, _ = asked(tmp_path, 'action: move red cube right', protocol='ours',
                      method_options={'marks': marks})
    goal = next(part for part in parts(bodies[0]) if not isinstance(part, str))
    assert tuple(goal[-1, 0].tolist()) == TINTS[background]
    corner = goal[2:40, -60:-4]
    assert bool((corner == 255).all(axis=-1).any()) is word
    assert ('marked' in texts(bodies[0])) is word


def test_the_identity_tells_all_of_it(tmp_path: Path) -> None:
    identity = specify(settings(tmp_path)).identity('served')
    assert identity['protocol'] == 'paper'
    assert {name: identity['method'][name] for name in (
        'outcomes', 'history', 'past', 'lists', 'opening', 'description')} == {
        'outcomes': 'none', 'history': 'none', 'past': 2, 'lists': 'none', 'opening': 'start',
        'description': 'yes'}
    assert identity['backend']['top_k'] == 50 and identity['world']['look'] == 0


def test_a_closed_models_sampling_is_left_to_the_service(tmp_path: Path) -> None:
    found = specify(settings(tmp_path, backend_options={'model': 'x', 'temperature': -1})).settings
    assert found.backend_options == {'model': 'x', 'temperature': -1}


@pytest.mark.parametrize(('changes', 'message'), [
    ({'method_options': {'past': 3}}, 'method_options.past = 3 contradicts protocol'),
    ({'method_options': {'outcomes': 'told'}}, 'method_options.outcomes'),
    ({'world_options': {'labels': 'none'}}, 'world_options.labels'),
    ({'backend_options': {'model': 'x', 'temperature': 0.5}}, 'backend_options.temperature'),
    ({'goal': 'told'}, 'goal'),
])
def test_what_contradicts_is_refused(tmp_path: Path, changes: dict[str, Any], message: str,
                                     ) -> None:
    with pytest.raises(InputError) as error:
        specify(settings(tmp_path, **changes))
    assert message in str(error.value)


def test_an_opening_needs_a_goal_that_is_shown(tmp_path: Path) -> None:
    _, line = asked(tmp_path, 'action: start', protocol='ours', goal='told',
                    method_options={'opening': 'start'})
    assert 'opening=start shows the goal first' in json.dumps(line)


def test_switches_are_refused_where_the_prompt_has_no_words(tmp_path: Path) -> None:
    domain = load_domain('blocksworld')
    problem = domain.split_problems('simple')[0]
    from sightplan.model import ProposalForm
    for form, name in ((ProposalForm(opening='start'), 'opening'), (ProposalForm(flat=True),
                       'shapes'), (ProposalForm(description=True), 'description')):
        with pytest.raises(InputError, match=name):
            domain.planning_prompt('action', problem, form=form)


@pytest.mark.parametrize('split', ['boards_3d', 'boards_2d'])
def test_boards_are_shown_as_the_papers(split: str) -> None:
    plan = specify(RunSettings(suite='ivispar', split=split, method='ask', backend='openai',
                               protocol='paper', backend_options={'model': 'x'}))
    identity = plan.identity('x')
    assert identity['samples'][split]['width'] == 1200 and identity['samples'][split]['look'] == 0
    assert identity['backend']['top_p'] == 0.95


def test_boards_in_words_follow_the_protocol_too(tmp_path: Path) -> None:
    bodies, line = asked(tmp_path, 'action: start', 'action: move red cube up',
                         'action: move red cube right', world_options={'view': 'text'})
    assert line['measures']['solved'] == 1.0
    said = ['\n'.join(str(message['content']) for message in body['messages']) for body in bodies]
    assert 'B1 red cube' in said[0] and 'A1 red cube' not in said[0], 'the goal alone'
    assert 'The description shows the goal' in said[0]
    assert 'move red cube up' in said[2] and 'nothing moved' not in said[2]
    for text in said:
        assert 'description:' in text and 'picture' not in text and '# Moves' not in text


@pytest.mark.parametrize('past', [0, 1, 3])
def test_the_window_is_a_switch(tmp_path: Path, past: int) -> None:
    bodies, _ = asked(tmp_path, 'action: move red cube up', protocol='ours', max_actions=5,
                      method_options={'past': past})
    assert [tints(body).count('past') for body in bodies] == [
        min(past, number) for number in range(5)]
