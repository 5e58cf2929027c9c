"""``--prompts DIR`` and ``--protocol paper`` of Point-It-Out: what a server is sent."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, chat
from point_it_out_cases import place, write_data
from sightplan import cli
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, load_suite, run, specify
from sightplan.runs.suite_parts import Scored
from sightplan_report.results import gather
from sightplan_suites.point_it_out.given_prompts import families, place_words
from sightplan_suites.point_it_out.samples import FAMILIES

BOX = '{"explanations": "there", "min_x": 0.1, "min_y": 0.2, "max_x": 0.5, "max_y": 0.6}'
MARKED, FREE, UNMARKED = 'rt/0_mark_0.25_0.50.jpg', 'droid_more/a.jpg', 'agibot/b.jpg'

# Words of our own, in the shapes in which a clone may hold them.
CLONE = {
    'vlms/base.py': '''
        """Not a prompt: {question} is what one asks, and this text is long enough to be one."""
        S3_TRACE_PROMPT = """Sketch how the gripper moves through this picture, for the
        task: {task}
        It begins at the red mark, which is at {eepose}."""
        def log(question):
            print(f'asked: {question}')
        ''',
    'vlms/gpt.py': '''
        class GPTModel:
            def get_point_prompt(self, question):
                return f"Name one spot of this picture that fits, and no more: {question}"
            def get_box_prompt(self, question):
                return ("You look at pictures with care. Give the box that fits best, as min_x, "
                        "min_y, max_x, max_y: " + question)
        ''',
    'vlms/qwen.py': '''
        PROMPT = """Say in JSON which part of the picture this is: {question}
        Reply so: [{{"bbox_2d": [x1, y1, x2, y2]}}]. It is there.""".format(question=lang)
        S3 = dict(trace="Give 5 points for {task}, from {eepose} on, as {'trajectory': [(x, y)]}.")
        ''',
    'prompts/molmo.txt': 'Point at each spot of the picture that answers what follows: {question}',
    'prompts/molmoact_s3.txt': 'Draw the trace that does {task} from the mark at {eepose} on.',
    'README.md': 'Ask {question} as you like, in sixty letters or more, as everybody would do it.'}
GPT = ('You look at pictures with care. Give the box that fits best, as min_x, min_y, max_x, '
       'max_y: the square')


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name, text in CLONE.items():
        path = tmp_path / 'PIO' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / 'PIO'


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Two places, and traces with a marked start, with none, and with one that is only told."""
    folder = write_data(
        tmp_path / 'data',
        [place(), place(s1_or_s2='s2', subclasses='afd', lang='Where to push?')],
        [{'image_path': name, 'lang': f'Move it {name[0]}.'} for name in (MARKED, FREE, UNMARKED)],
        ('images_s1s2/a.png', *(f'images_s3/{name}' for name in (MARKED, FREE, UNMARKED))))
    (folder / 'images_s3/agibot/points.txt').write_text('b.jpg,16,12\n')
    return str(folder)


def sent(tmp_path: Path, data: str, split: str = 's1', *replies: str, **changes: Any,
         ) -> list[dict[str, Any]]:
    """The requests of a run in which a model replies so, the last reply again and again."""
    options = {'data': data, **changes.pop('suite_options', {})}
    replies = replies or (BOX,)
    with FakeServer(lambda body, number: chat(replies[min(number, len(replies) - 1)])) as server:
        run(RunSettings(**{
            'suite': 'point_it_out', 'split': split, 'method': 'ask', 'backend': 'openai',
            'suite_options': options, 'out': str(tmp_path / 'run'), **changes,
            'backend_options': {'base_url': server.url, 'model': 'any',
                                **changes.get('backend_options', {})}}))
    return server.bodies


def said(body: dict[str, Any]) -> list[str]:
    """The texts of a request's user message, in order; '' stands for a picture."""
    content = body['messages'][-1]['content']
    return [part.get('text', '') for part in content]


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return list(RunStore(tmp_path / 'run').lines())


# ---------------------------------------------------------------------------------- the prompts


@pytest.mark.parametrize(('family', 'words', 'form'), [
    ('gpt', GPT, 'box'), ('claude', GPT, 'box'),
    ('qwen', ('Say in JSON which part of the picture this is: the square\n'
              'Reply so: [{"bbox_2d": [x1, y1, x2, y2]}]. It is there.'), 'box'),
    ('molmo', 'Point at each spot of the picture that answers what follows: the square',
     'points')])
def test_a_clones_words_are_sent_by_family(tmp_path: Path, clone: Path, data: str, family: str,
                                           words: str, form: str) -> None:
    body, *_ = sent(tmp_path, data, suite_options={'family': family}, protocol='paper',
                    prompts=str(clone))
    assert said(body) == ['', words]
    assert [message['role'] for message in body['messages']] == ['user']
    assert lines(tmp_path)[0]['details']['form'] == form
    schema = body.get('response_format', {}).get('json_schema', {}).get('schema', {})
    assert (set(schema.get('required', ())) == {
        'explanations', 'min_x', 'min_y', 'max_x', 'max_y'}) is (family in ('gpt', 'claude'))


def test_a_reply_in_the_clones_form_is_read(tmp_path: Path, clone: Path, data: str) -> None:
    sent(tmp_path, data, suite_options={'family': 'gpt'}, protocol='paper', prompts=str(clone))
    [line] = lines(tmp_path)
    assert line['answer'][0]['points'] == [[0.1, 0.2], [0.5, 0.6]] and not line['unread']


@pytest.mark.parametrize(('family', 'start', 'reply'), [
    ('gpt', '(0.250, 0.500)', ('{"explanations": "so", "trajectory": [{"x": 0.2, "y": 0.5}, '
                               '{"x": 0.5, "y": 0.75}]}')),
    ('qwen', '(0.250, 0.500)', "{'explanation':'so', 'trajectory':[(0.2, 0.5), (0.5, 0.75)]}")])
def test_traces_are_asked_for_in_the_clones_words(tmp_path: Path, clone: Path, data: str,
                                                  family: str, start: str, reply: str) -> None:
    bodies = sent(tmp_path, data, 's3', reply, suite_options={'family': family},
                  protocol='paper', prompts=str(clone))
    assert len(bodies) == 2, 'the trace without a start is left out'
    assert f'Move it {MARKED[0]}.' in said(bodies[0])[1] and start in said(bodies[0])[1]
    assert ('Sketch how' in said(bodies[0])[1]) is (family == 'gpt')
    assert lines(tmp_path)[0]['answer'][0]['points'] == [[0.2, 0.5], [0.5, 0.75]]


def test_a_file_called_by_the_split_counts_before_all_else(tmp_path: Path, clone: Path, data: str,
                                                           ) -> None:
    (clone / 's1s2.txt').write_text('<system>Be short.</system><user>In {image} find: {question}'
                                    '</user>')
    (clone / 's2.txt').write_text('For {question}')
    first, = sent(tmp_path, data, prompts=str(clone))
    assert first['messages'][0]['content'] == 'Be short.'
    assert said(first) == ['In', '', 'find: the square']
    second, = sent(tmp_path / '2', data, 's2', prompts=str(clone))
    assert said(second) == ['', 'For Where to push?']


def test_the_identity_has_the_hash_of_the_words(tmp_path: Path, clone: Path, data: str) -> None:
    def found(**changes: Any) -> Any:
        return specify(RunSettings(**{
            'suite': 'point_it_out', 'split': 's1', 'method': 'ask', 'backend': 'openai',
            'backend_options': {'model': 'any'}, 'prompts': str(clone), 'protocol': 'paper',
            'suite_options': {'data': data, 'family': 'molmo'}, **changes})).identity('any')
    before = found()
    assert before['prompts'] == {**before['prompts'], 'folder': 'PIO', 'official': True}
    (clone / 'vlms/qwen.py').write_text('')
    assert found()['prompts'] == before['prompts'], 'words that are not used do not count'
    (clone / 'prompts/molmo.txt').write_text(f'{CLONE["prompts/molmo.txt"]} Now.')
    assert found()['prompts']['sha256'] != before['prompts']['sha256']
    assert 'prompts' not in found(prompts='')


def test_the_command_prints_what_is_sent_and_where_it_stands(
        tmp_path: Path, clone: Path, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(['prompts', '--suite', 'point_it_out', '--split', 's1', '--method', 'ask',
                     '--protocol', 'paper', '--prompts', str(clone), '--suite-option',
                     f'data={data}', '--suite-option', 'family=qwen', '--json']) == 0
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    body, *_ = sent(tmp_path, data, suite_options={'family': 'qwen'}, protocol='paper',
                    prompts=str(clone))
    assert [one for one in printed['requests'][0]['user'] if isinstance(one, str)] == [
        one for one in said(body) if one]
    assert printed['requests'][0]['max_tokens'] == body['max_tokens']
    assert 'vlms/qwen.py:2 (PROMPT)' in printed['text']


@pytest.mark.parametrize(('name', 'text', 'options', 'message'), [
    ('x.txt', '', {'family': 'robopoint'}, 'has no prompt of family robopoint'),
    ('x.txt', '', {}, 'several texts may be the prompt for split s1: '),
    ('vlms/qwen.py',
     'P = "Where in this picture is the thing called {question}? Reply in {fromat}."',
     {'family': 'qwen'}, 'placeholder {fromat} is unknown'),
    ('s1.txt', 'Point at it.', {}, 's1.txt: lacks {question}'),
    ('s1.txt', '<user>{image} {image} {question}</user>', {}, 'stands 2 times'),
    ('vlms/qwen2.py',
     'P = """Another text about the picture, box and all, that asks for: {question}"""',
     {'family': 'qwen', 'form': 'box'}, 'copy the right one as s1s2.txt')])
def test_what_is_wrong_is_named_with_its_remedy(
        tmp_path: Path, clone: Path, data: str, name: str, text: str, options: dict[str, str],
        message: str) -> None:
    (clone / name).write_text(text)
    with pytest.raises(InputError) as error:
        specify(RunSettings(suite='point_it_out', split='s1', method='ask', backend='openai',
                            backend_options={'model': 'any'}, prompts=str(clone),
                            suite_options={'data': data, **options}))
    assert message in str(error.value)


def test_nothing_of_a_clone_is_run_and_what_is_no_python_is_passed_over(clone: Path) -> None:
    (clone / 'vlms/evil.py').write_text('raise SystemExit("run")\nimport os\nos.abort()\n')
    (clone / 'broken.py').write_text('def (:')
    (clone / 'binary.txt').write_bytes(b'\xff\xfe\x00')
    found = place_words(clone, ('s1', 's3'), {'family': 'gpt', 'form': 'point'})
    assert 'Name one spot' in found.words['s1'].after and found.words['s1'].json_schema is None
    assert found.sources['s3'].endswith('base.py:3 (S3_TRACE_PROMPT)')
    assert set(FAMILIES) < set(families())


# ---------------------------------------------------------------------------------- the protocol


def test_our_words_offer_not_there_and_the_protocols_do_not(tmp_path: Path, data: str) -> None:
    ours, = sent(tmp_path / '1', data)
    assert 'if it is not there' in said(ours)[1] and 'never invent' in json.dumps(ours)
    theirs, = sent(tmp_path / '2', data, protocol='paper', suite_options={'family': 'gpt'})
    assert 'not there' not in json.dumps(theirs) and 'null' not in json.dumps(theirs)
    assert 'for certain' not in said(theirs)[1]
    for family in ('qwen', 'molmo'):
        body, *_ = sent(tmp_path / family, data, protocol='paper',
                        suite_options={'family': family})
        assert 'It is in the picture for certain' in said(body)[1]


@pytest.mark.parametrize(('replies', 'asked', 'score', 'dropped'), [
    (['?', 'null', BOX], 3, True, True), (['?'], 5, True, False), (['[]'], 5, True, False)])
def test_five_tries_and_what_becomes_of_them(tmp_path: Path, data: str, replies: list[str],
                                             asked: int, score: bool, dropped: bool) -> None:
    bodies = sent(tmp_path, data, 's1', *replies, protocol='paper',
                  suite_options={'family': 'gpt'})
    assert len(bodies) == asked and {body['temperature'] for body in bodies} == {0.0}
    [line] = lines(tmp_path)
    assert (line['measures']['score'] is not None) is score
    assert (line['measures']['score_dropped'] is not None) is dropped


def test_without_the_protocol_a_reply_is_asked_for_once_and_nothing_is_an_answer(
        tmp_path: Path, data: str) -> None:
    assert len(sent(tmp_path / '1', data, 's1', '?')) == 1
    assert len(sent(tmp_path / '2', data, 's1', '{"point": null}',
                    suite_options={'tries': 3})) == 1
    [line] = lines(tmp_path / '2')
    assert line['cause'] == 'nothing'


@pytest.mark.parametrize(('options', 'expected'), [
    ({}, 0.0), ({'temperature': -1}, None)])
def test_sampling_is_the_papers(tmp_path: Path, data: str, options: dict[str, Any],
                                expected: float | None) -> None:
    body, = sent(tmp_path, data, protocol='paper', suite_options={'family': 'gpt'},
                 backend_options=options)
    assert body.get('temperature') == expected
    assert body.get('reasoning_effort') == (None if expected == 0 else 'high')


def test_robopoint_draws_its_replies(tmp_path: Path, data: str) -> None:
    body, = sent(tmp_path, data, 's1', '[(0.3, 0.4)]', protocol='paper',
                 suite_options={'family': 'robopoint'})
    assert body['temperature'] == 0.2


@pytest.mark.parametrize(('changes', 'message'), [
    ({'suite_options': {'tries': 1}}, 'suite_options.tries'),
    ({'suite_options': {'presence': 'open'}}, 'suite_options.presence'),
    ({'suite_options': {'family': 'qwen', 'form': 'point'}}, 'suite_options.form'),
    ({'suite_options': {'family': 'molmo'}, 'backend_options': {
        'model': 'any', 'pointing': 'schema_unit'}}, 'backend_options.pointing'),
    ({'backend_options': {'model': 'any', 'temperature': 0.7}}, 'backend_options.temperature')])
def test_what_contradicts_is_refused(data: str, changes: dict[str, Any], message: str) -> None:
    settings = {'suite': 'point_it_out', 'split': 's1', 'method': 'ask', 'backend': 'openai',
                'backend_options': {'model': 'any'}, 'protocol': 'paper', **changes}
    settings['suite_options'] = {'data': data, **changes.get('suite_options', {})}
    with pytest.raises(InputError) as error:
        specify(RunSettings(**settings))
    assert f'{message} = ' in str(error.value) and 'contradicts protocol' in str(error.value)


def test_every_family_of_the_protocol_is_one_of_the_settings() -> None:
    named = {entry.where['suite_options.family']
             for entry in load_suite('point_it_out').protocols['paper']
             if 'suite_options.family' in entry.where}
    assert named == set(FAMILIES)


# ------------------------------------------------------------------------------ starts of traces


def test_the_prompt_tells_of_the_mark_only_where_one_is_painted(tmp_path: Path, data: str) -> None:
    marked, free, unmarked = sent(tmp_path, data, 's3', '{"trajectory": [[0.1, 0.2], [0.3, 0.4]]}')
    assert 'a red square' in said(marked)[1] and '(0.250, 0.500)' in said(marked)[1]
    assert 'square' not in said(free)[1] and '0.250' not in said(free)[1]
    assert '(0.250, 0.250)' in said(unmarked)[1] and 'square' not in said(unmarked)[1]
    errors = [line['measures']['start_error'] for line in lines(tmp_path)]
    assert errors[1] is None and errors[0] is not None


def test_traces_without_a_start_are_left_out_by_the_protocol_and_counted(
        tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    suite = load_suite('point_it_out')
    assert [len(suite.samples('s3', {'data': data, 'starts': starts}).items)
            for starts in ('any', 'given')] == [3, 2]
    left_out, = suite.samples('s3', {'data': data, 'starts': 'given'}).skipped
    assert '1 of 3 traces are left out, such as s3/1: no start' in left_out
    assert not suite.samples('s1', {'data': data, 'starts': 'given'}).skipped
    assert cli.main(['suite', 'point_it_out', 'check', '--data', data, '--json']) == 0
    counts = json.loads(capsys.readouterr().out.splitlines()[-1])['counts']
    assert counts['s3'] == 3 and counts['s3 without a start'] == 1


# -------------------------------------------------------------------------- beside the paper's


def row(folder: Path, table: str = 'by_subclass', subclass: str = 'object') -> dict[str, Any]:
    runs = gather(folder).runs
    made = next(one for one in load_suite('point_it_out').tables(runs) if one.name == table)
    return next(one for one in made.rows if one.get('subclass', subclass) == subclass)


def test_figures_beside_the_papers_carry_what_both_were_measured_with(
        tmp_path: Path, clone: Path, data: str) -> None:
    named = {'backend_options': {'name': 'gpt-4o'}}
    sent(tmp_path / '1', data, **named, suite_options={'form': 'box'})
    ours = row(tmp_path / '1')
    assert ours['paper'] == 0.183 and ours['unlike'] == (
        'protocol ours, our prompts; presence open instead of unsaid, tries 1 instead of 5, '
        'failed_replies error instead of unread; 1 items, not 134')
    sent(tmp_path / '2', data, **named, protocol='paper', prompts=str(clone),
         suite_options={'family': 'gpt'})
    theirs = row(tmp_path / '2')
    assert theirs['unlike'] == '1 items, not 134'
    assert theirs['measured'].startswith("protocol paper, tries 5, the paper's prompts")
    assert theirs['paper_measured'] == (
        'protocol paper, tries 5, prompts of the paper, unread: asked again, left out after 5 '
        'tries, photographs of five data sets, one box a reply, the prompt does not say whether '
        'the target is there')


def test_traces_carry_their_conditions_too(tmp_path: Path, data: str) -> None:
    sent(tmp_path, data, 's3', '{"trajectory": [[0.1, 0.2], [0.3, 0.4]]}')
    found = row(tmp_path, 'traces')
    assert 'starts any instead of given' in found['unlike']
    assert 'tries 1 instead of 5' in found['unlike'] and 'our prompts' in found['unlike']


def test_every_model_of_table_7_has_words_about_how_it_was_asked() -> None:
    published = load_suite('point_it_out').published
    assert published.conditions is not None
    in_table = {model for model in published.models
                if published.find(model, 'score_dropped', split='s1', output='box')
                or published.find(model, 'score_dropped', split='s1', output='points')}
    assert set(published.conditions.asked) == in_table


def test_lines_name_the_model_that_pointed(tmp_path: Path, data: str) -> None:
    run(RunSettings(suite='point_it_out', split='s1', method='ask', backend='embedded',
                    suite_options={'data': data}, out=str(tmp_path / 'run')))
    assert lines(tmp_path)[0]['model'].startswith('embedded_model/locator@')


def test_the_key_of_a_page_names_what_is_drawn_there(data: str) -> None:
    suite = load_suite('point_it_out')
    made = suite.samples('s3', {'data': data})
    marked, free, _ = (suite.page(item, None, made.truth(item.id), Scored({})).key
                       for item in made.items)
    assert 'White ring' in marked and 'ring' not in free and 'green' not in marked
