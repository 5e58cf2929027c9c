"""One picture of one's own: answers, belief, and what is said about bad input."""

import io
import json
import sys

import numpy as np
import pytest
from PIL import Image

from sightplan.cli import main
from sightplan.domains import load_domain
from sightplan.grounding import BackendGrounder
from sightplan.model import Atom, EpisodeSpec, InputError, Observation, Question, Verdict
from sightplan.runs import worlds
from sightplan.vlm.api import make_backend
from sightplan.vlm.recording import Recorded
from sightplan_belief import ask

DOMAIN = load_domain('blocksworld')
PROBLEM = DOMAIN.split_problems('simple')[3]
OBJECTS = ','.join(f'{name}:{kind}' for name, kind in PROBLEM.objects.items())


@pytest.fixture(scope='module')
def picture(tmp_path_factory):
    """How the problem begins, seen by the simulator's camera."""
    with worlds.make_world('blocksworld') as world:
        world.reset(EpisodeSpec('picture', PROBLEM, 'picture', seed=0))
        path = tmp_path_factory.mktemp('picture') / 'blocks.png'
        Image.fromarray(world.observe().image).save(path)
    return path


@pytest.fixture(scope='module')
def seen(picture):
    return ask(picture, 'blocksworld', objects=PROBLEM.objects)


def test_the_shipped_model_sees_the_state_of_a_rendered_picture(seen):
    assert seen.estimate.state == PROBLEM.init
    assert seen.model.startswith('embedded_model/blocksworld@')
    assert [q.atom for q in seen.questions] == list(DOMAIN.worth_asking(PROBLEM))
    right = sum((a.verdict is Verdict.YES) == (q.atom in PROBLEM.init)
                for q, a in zip(seen.questions, seen.answers, strict=True))
    assert right >= 0.9 * len(seen.answers)
    notable = [question.atom for question, _ in seen.notable()]
    assert set(notable) >= PROBLEM.init and len(notable) < len(seen.questions)
    assert len(seen.notable(-1.0)) == len(seen.questions)


def test_what_the_terminal_cannot_show_ends_no_command(picture, tmp_path, monkeypatch):
    script = tmp_path / 'script.yaml'
    script.write_text('replies: ["Yes \\u2713"]')
    shown = io.TextIOWrapper(io.BytesIO(), encoding='ascii')
    monkeypatch.setattr(sys, 'stdout', shown)
    assert main(['ask', str(picture), '--question', 'What is there?', '--backend', 'scripted',
                 '--backend-option', f'script={script}']) == 0
    assert shown.buffer.getvalue().startswith(b'Yes \\u2713')


def test_the_command_prints_a_table_json_and_a_marked_picture(picture, tmp_path, capsys):
    marked = tmp_path / 'marked.png'
    arguments = ['ask', str(picture), '--problem', PROBLEM.source, '--out', str(marked)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert 'most probable state: clear' in out and 'more answers are no' in out
    with Image.open(marked) as drawn, Image.open(picture) as plain:
        assert drawn.width > plain.width and drawn.height >= plain.height
        assert (np.asarray(drawn)[:plain.height, :plain.width] == np.asarray(plain)).all()
        assert len(np.unique(np.asarray(drawn)[:, plain.width:].reshape(-1, 3), axis=0)) > 10
    assert main([*arguments, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert {Atom(name, tuple(args.split(',')) if args else ()) for name, _, args in
            (text.partition(' ') for text in found['state'])} == PROBLEM.init
    assert len(found['answers']) == len(DOMAIN.worth_asking(PROBLEM))
    assert {'atom', 'question', 'answer', 'p_yes', 'p_no', 'belief'} <= found['answers'][0].keys()


def test_the_belief_overrules_a_single_wrong_answer(picture, tmp_path, capsys):
    """The rules say that a block is in one column: two columns affirmed are one too many."""
    wrong = next(a for a in DOMAIN.worth_asking(PROBLEM)
                 if a.predicate == 'incolumn' and a not in PROBLEM.init)
    script = tmp_path / 'script.yaml'
    script.write_text(json.dumps({'answers': {
        DOMAIN.question(a).text: {'text': 'yes', 'p_yes': 0.7, 'p_no': 0.3} if a == wrong
        else {'text': 'yes', 'p_yes': 0.99, 'p_no': 0.01} if a in PROBLEM.init
        else {'text': 'no', 'p_yes': 0.01, 'p_no': 0.99}
        for a in DOMAIN.worth_asking(PROBLEM)}}))
    assert main(['ask', str(picture), '--domain', 'blocksworld', '--objects', OBJECTS, '--json',
                 '--backend', 'scripted', '--backend-option', f'script={script}']) == 0
    found = json.loads(capsys.readouterr().out)
    answer = next(a for a in found['answers'] if a['atom'] == str(wrong))
    assert answer['answer'] == 'yes' and answer['belief'] < 0.5 < answer['p_yes']
    assert str(wrong) not in found['state']


def test_a_free_question_is_answered_yes_or_no_or_in_words(picture, tmp_path, capsys):
    true = next(atom for atom in PROBLEM.init if atom.predicate == 'on')
    assert main(['ask', str(picture), '--question', DOMAIN.question(true).text, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['answer'] == 'yes' and found['p_yes'] > 0.5
    assert found['read_as'] == DOMAIN.question(true).text
    below = f'Does the {DOMAIN.wording.object_text(true.args[1], "block")} have anything on it?'
    assert main(['ask', str(picture), '--question', below]) == 0
    said = capsys.readouterr().out
    assert said.startswith('Yes (P(yes)') and 'read as: the opposite of' in said
    script = tmp_path / 'script.yaml'
    script.write_text('replies: ["Three cubes on a table."]')
    assert main(['ask', str(picture), '--question', 'What is there?', '--backend', 'scripted',
                 '--backend-option', f'script={script}']) == 0
    assert capsys.readouterr().out == 'Three cubes on a table.\n'


@pytest.mark.parametrize('question', [
    'Does the {} block have anything on it?', 'Is the {} block covered?'])
def test_of_a_thing_that_is_not_there_the_opposite_cannot_be_told(picture, capsys, question):
    """The answer "no" about an absent block is no yes to the opposite question."""
    colours = {'red', 'green', 'blue', 'yellow', 'purple', 'orange'}
    there = {DOMAIN.wording.object_text(name, 'block').removesuffix(' block')
             for name in PROBLEM.of_type('block')}
    for colour in sorted(colours):
        assert main(['ask', str(picture), '--question', question.format(colour), '--json']) == 0
        found = json.loads(capsys.readouterr().out)
        if colour in there:
            assert found['answer'] in ('yes', 'no') and found['p_yes'] is not None
        else:
            assert (found['answer'], found['reason']) == (
                'unknown', f'the {colour} block is not there')
            assert found['p_yes'] is None


def test_an_example_for_a_refusal_costs_few_askings(picture, monkeypatch):
    asked, ground = [], BackendGrounder.ground

    def counted(self, observation, questions):
        asked.append(len(questions))
        return ground(self, observation, questions)
    monkeypatch.setattr(BackendGrounder, 'ground', counted)
    assert main(['ask', str(picture), '--question', 'xyzzy?']) == 2
    assert len(asked) == 1 and 0 < asked[0] <= 20


@pytest.mark.parametrize('question', [
    'xyzzy?', 'Is there an elephant?', 'Is there a red block?', 'What is on the table?', '',
    'Is the elephant on top of the red block?', 'Is the red block in the column?',
    'Is the red block on top of the green block? Why?'])
def test_a_model_of_one_domain_refuses_all_other_questions(picture, tmp_path, capsys, question):
    """It would say yes or no at random, and be sure of it."""
    assert main(['ask', str(picture), '--question', question]) == 2
    said = capsys.readouterr()
    assert said.out == '' and 'was made for the questions of domain blocksworld' in said.err
    assert 'It knows on, incolumn, clear' in said.err
    assert 'Of this picture, for example' in said.err
    assert "'Is the green block on top of the blue block?'" in said.err
    assert 'transformers' in said.err
    backend = Recorded(make_backend('embedded', {}), tmp_path / 'replies.jsonl')
    for asked in (backend, make_backend('embedded', {'domain': 'household'})):
        with pytest.raises(InputError, match='was made for the questions of domain'):
            BackendGrounder(asked).ground(Observation(np.zeros((8, 8, 3), np.uint8)),
                                          [Question(Atom('on', ('red', 'green')), question)])


def test_of_a_picture_of_which_nothing_can_be_told_the_reason_is_shown(picture, tmp_path, capsys):
    script = tmp_path / 'script.yaml'
    script.write_text(json.dumps({'answers': {
        DOMAIN.question(atom).text: 'The block is outside the picture.'
        for atom in DOMAIN.worth_asking(PROBLEM)}}))
    arguments = ['ask', str(picture), '--problem', PROBLEM.source, '--backend', 'scripted',
                 '--backend-option', f'script={script}']
    assert main(arguments) == 0
    assert capsys.readouterr().out == 'cannot tell: outside the picture\n'
    assert main([*arguments, '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['cannot_tell'] == 'outside the picture'
    assert {(one['answer'], one['reason']) for one in found['answers']} == {
        ('unknown', 'outside the picture')}


@pytest.mark.parametrize('name', ['blocksworld', 'household', 'sliding'])
def test_all_questions_of_a_domain_are_known_as_such(name):
    domain = load_domain(name)
    for split in domain.splits:
        for problem in domain.split_problems(split)[:3]:
            for atom in domain.worth_asking(problem):
                text = domain.question(atom).text
                assert domain.is_question(text) and not domain.is_question(f'{text} Or not?')


@pytest.mark.parametrize(('arguments', 'message'), [
    (['none.png', '--domain', 'blocksworld', '--objects', 'r:block'], 'none.png: cannot be read'),
    (['text.png', '--domain', 'blocksworld', '--objects', 'red:block'], 'text.png: is not a pict'),
    (['half.png', '--domain', 'blocksworld', '--objects', 'r:block'], 'half.png: cannot be read'),
    (['{picture}', '--domain', 'blocksworld'], 'which objects are in the picture?'),
    (['{picture}'], 'which domain? Name one of blocksworld'),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'red:blok'], "did you mean 'block'"),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'r:block'],
     'cannot hold among the objects r: name the objects of type column, too'),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'red'], "'red' must have the form"),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'r:block,r:block'], 'named twice'),
    (['{picture}', '--problem', 'none.pddl'], 'none.pddl:1: cannot be read'),
    (['{picture}', '--problem', 'other.pddl'], 'other.pddl is of chess'),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'r:block', '--backend', 'noisy_oracle'],
     'answers from the truth'),
    (['{picture}', '--domain', 'blocksworld', '--objects', 'r:block,c:column',
      '--out', 'no/m.png'], 'no/m.png: cannot be written'),
    (['{picture}', '--question', 'Is it?', '--out', 'm.png'], '--out does not go with --question'),
])
def test_what_cannot_be_asked_is_named(picture, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'text.png').write_text('no picture')
    (tmp_path / 'half.png').write_bytes(picture.read_bytes()[:2000])
    (tmp_path / 'other.pddl').write_text('(define (problem p) (:domain chess))')
    assert main(['ask', *(text.format(picture=picture) for text in arguments)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ''


def test_objects_and_a_problem_exclude_each_other(picture):
    with pytest.raises(InputError, match='give one'):
        ask(picture, 'blocksworld', objects=PROBLEM.objects, problem=PROBLEM.source)
