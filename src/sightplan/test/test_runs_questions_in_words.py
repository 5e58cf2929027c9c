"""Suites of yes/no questions in words: no domain, no atoms; every model that can is asked them."""

from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightplan import cli
from sightplan.agent.sample_asking import task_of
from sightplan.commands.suite import verbs_of
from sightplan.metrics.measures import MEAN, SHARE, Measure, aggregate
from sightplan.model import Atom, InputError, Question, Verdict
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.model.sample import Picture, SampleReply
from sightplan.queries import Answer, Generate, TextReply, YesNo
from sightplan.records import RunStore
from sightplan.runs import (
    OpenRun,
    RunSettings,
    Sample,
    Samples,
    Scored,
    Suite,
    load_suite,
    read_questions,
    run,
    specify,
)
from sightplan.runs.handing import Handed
from sightplan.runs.samples import SamplePlan, load_samples, read_reply
from sightplan.runs.suite_contract import violations
from sightplan.vlm.wrapping import Prompted
from sightplan_report.results import gather
from sightplan_report.tables import make_tables

SUITE = '''"""Questions about pictures of mine."""

from pathlib import Path

from sightplan.runs import Measure, Sample, Samples, Scored, Suite, read_questions

FOLDER = Path(__file__).resolve().parent


class Mine(Suite):
    name = 'mine'
    title = 'Mine'
    splits = ('all_of_it',)

    def samples(self, split, options):
        rows = read_questions(FOLDER / 'questions.csv')
        pairs = [(Sample.yes_no(row.id, split, row.picture, row.text), row.truth) for row in rows]
        return Samples.of(pairs, [row.file for row in rows])

    def measures(self, kind):
        return (Measure('right', 'fraction of right answers', primary=True),
                Measure('brier', 'squared error of P(yes)', 'share', higher_is_better=False))

    def score(self, sample, answer, truth, reply):
        p = reply.yes_probability
        brier = None if p is None else (p - truth) ** 2
        return Scored({'right': float(answer == truth), 'brier': brier},
                      None if answer == truth else 'wrong')


suite = Mine()
'''
TABLE = '''one.png,yes,Is there a red thing?
one.png,no,"Is it green, or blue?"

two.png,no,Is there a red thing?
two.png,yes,Is the picture empty?
'''
EMBEDDED_KNOWS = 'Is the red block on top of the green block?'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A suite in a folder outside of the repository, with two pictures."""
    (tmp_path / 'mine.py').write_text(SUITE)
    (tmp_path / 'questions.csv').write_text(TABLE)
    image = np.full((60, 80, 3), 230, np.uint8)
    Image.fromarray(image).save(tmp_path / 'two.png')
    image[20:40, 50:70] = 200, 30, 30
    Image.fromarray(image).save(tmp_path / 'one.png')
    return tmp_path


def settings(folder: Path, **more) -> RunSettings:
    return RunSettings(suite=str(folder / 'mine.py'), **{
        'split': 'all_of_it', 'method': 'ask', 'out': str(folder / 'run'), **more})


def cut_off(folder: Path) -> bytes:
    """A picture's file that ends in the middle of its pixels, which its head does not tell."""
    return (folder / 'one.png').read_bytes()[:70]


def lines_of(folder: Path) -> list[dict]:
    return RunStore(folder / 'run').lines()


def right_of(folder: Path) -> list[float]:
    return [line['measures']['right'] for line in lines_of(folder)]


class Sure(ModelByKind):
    """Says yes to all, with probabilities."""

    name = 'sure'

    def __init__(self):
        self.asked = []

    @answers(YesNo, together=True)
    def answer(self, queries, deadline: Deadline):
        self.asked.append([query.question.text for query in queries])
        return [Answer('Yes', 0.75, 0.25)] * len(queries)


class Writer(ModelByKind):
    """A model that only chats, as those of the backends openai and transformers."""

    name = 'writer'

    def __init__(self):
        self.prompts = []

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline):
        self.prompts.append(query)
        return TextReply('No.')


def test_questions_about_one_picture_are_yes_no_queries_with_probabilities_kept(folder):
    model = Sure()
    with OpenRun(settings(folder), backend=model) as opened:
        summary = opened.summarise(opened.walk())
    assert model.asked == [['Is there a red thing?', 'Is it green, or blue?'],
                           ['Is there a red thing?', 'Is the picture empty?']]
    lines = lines_of(folder)
    assert [line['answer'] for line in lines] == [True] * 4
    assert {(line['p_yes'], line['p_no'], line['domain']) for line in lines} == {(.75, .25, '')}
    brier = summary['measures']['brier']
    assert brier['value'] == pytest.approx((2 * .25**2 + 2 * .75**2) / 4)
    assert brier['interval95'][0] <= brier['value'] <= brier['interval95'][1]


def test_a_model_that_chats_gets_the_words_of_every_domain_but_none_of_a_domain(folder):
    model = Writer()
    with OpenRun(settings(folder), backend=Prompted(model)) as opened:
        opened.walk()
    first = model.prompts[0]
    assert 'Answer with a single word, Yes or No' in first.system
    assert '{' not in first.system and '\n\n\n' not in first.system
    assert first.parts[-1] == 'Question: Is there a red thing?'
    assert right_of(folder) == [0, 1, 1, 0]
    prompt = json.loads((folder / 'run/run.json').read_text())['identity']['prompt']
    assert list(prompt['sha256']) == ['no domain'] and len(prompt['sha256']['no domain']) == 12


@pytest.mark.parametrize(('backend', 'options', 'right'), [
    ('noisy_oracle', {'table': 'perfect'}, [1, 1, 1, 1]),
    ('simulated', {'error': 0.0}, [1, 1, 1, 1]),
    ('simulated', {'error': 1.0}, [0, 0, 0, 0])])
def test_simulated_models_know_the_truth_of_the_table(folder, backend, options, right):
    summary = run(settings(folder, backend=backend, backend_options=options))
    assert right_of(folder) == right and not summary['errors']


def test_two_pictures_of_one_cluster_have_truths_of_their_own(folder):
    """A question about two pictures of a cluster is answered by the truth of each picture."""
    text = SUITE.replace('row.text)', "row.text, cluster='scene')")
    (folder / 'mine.py').write_text(text)
    run(settings(folder, backend='noisy_oracle', backend_options={'table': 'perfect'}))
    assert right_of(folder) == [1, 1, 1, 1]
    assert {line['cluster'] for line in lines_of(folder)} == {'scene'}


def test_a_table_of_a_real_model_errs_as_often_as_it_does_overall(folder):
    (folder / 'table.yaml').write_text(
        'rates:\n  near: {p_yes_true: 0.0, p_yes_false: 1.0, n_true: 30, n_false: 10}\n'
        '  far: {p_yes_true: 0.0, p_yes_false: 1.0, n_true: 10, n_false: 30}\n')
    run(settings(folder, backend='noisy_oracle',
                 backend_options={'table': str(folder / 'table.yaml')}))
    assert right_of(folder) == [0, 0, 0, 0]
    from sightplan_models._confusion import load_table
    (folder / 'mixed.yaml').write_text(
        'rates:\n  near: {p_yes_true: 1.0, p_yes_false: 0.0, n_true: 30, n_false: 10}\n'
        '  far: {p_yes_true: 0.0, p_yes_false: 1.0, n_true: 10, n_false: 30}\n')
    overall = load_table(str(folder / 'mixed.yaml')).rates('', 'in.words')
    assert (overall.error_true, overall.error_false) == (0.25, 0.75)
    assert load_table('gpt-4.1').rates('simple', 'in.words').error_true < 0.5


def test_embedded_leaves_words_that_it_does_not_know_unread_and_says_why(folder):
    shutil.copy(Path(__file__).parents[3] / 'docs' / 'images' / 'blocks.png', folder / 'one.png')
    (folder / 'questions.csv').write_text(
        f'one.png,yes,Is there a red thing?\none.png,no,{EMBEDDED_KNOWS}\n')
    run(settings(folder, backend='embedded'))
    first, second = lines_of(folder)
    assert first['answer'] is None and first['p_yes'] is None and not first['error']
    assert 'was made for the questions of domain blocksworld' in first['unread']
    assert second['answer'] in (True, False) and 0 <= second['p_yes'] <= 1


def test_a_script_answers_by_the_text_of_the_question(folder):
    (folder / 'says.yaml').write_text(
        "answers:\n  'Is there a red thing?': {text: 'Yes', p_yes: 0.9, p_no: 0.1}\n"
        '  default: No\n')
    run(settings(folder, backend='scripted', backend_options={
        'script': str(folder / 'says.yaml')}))
    assert right_of(folder) == [1, 1, 0, 0]
    assert [line['p_yes'] for line in lines_of(folder)] == [.9, None, .9, None]


def test_oracle_and_random_need_no_guess_and_no_write(folder):
    run(settings(folder, method='oracle'))
    assert right_of(folder) == [1] * 4
    run(settings(folder, method='random', out=str(folder / 'random')))
    assert violations(load_suite(str(folder / 'mine.py'))) == []


def test_a_backend_that_answers_no_questions_is_refused_before_there_is_a_folder(folder):
    with pytest.raises(InputError, match='answers no yes/no questions; choose one') as e:
        run(settings(folder, backend='noisy_locator'))
    assert 'transformers' in str(e.value) and not (folder / 'run').exists()


def test_samples_that_ask_for_text_are_refused_to_a_model_that_writes_none(folder):
    (folder / 'mine.py').write_text(SUITE.replace(
        'Sample.yes_no(row.id, split, row.picture, row.text)',
        'Sample(row.id, split, row.picture.name, (row.picture, row.text))'))
    said = r'choose a backend that writes: .*transformers .*Sample.yes_no makes'
    with pytest.raises(InputError, match=said):
        run(settings(folder, backend='embedded'))
    assert not (folder / 'run').exists()
    specify(settings(folder, backend='decisions', backend_options={'wire': 'sightplan'}))


def test_a_suite_can_say_that_it_asks_for_text_and_is_refused_before_its_samples_are_made(folder):
    says = SUITE.replace("    splits = ('all_of_it',)\n",
                         "    splits = ('all_of_it',)\n    asks_for_text = True\n")
    (folder / 'mine.py').write_text(says)
    [fault] = {text.partition('asks')[2] for text in violations(load_suite(str(
        folder / 'mine.py')))}
    assert fault == ' for no text, and the suite says that all do (asks_for_text)'
    (folder / 'mine.py').write_text(says.replace("'questions.csv'", "'none.csv'"))
    with pytest.raises(InputError, match='writes no text'):
        run(settings(folder, backend='embedded'))
    with pytest.raises(InputError, match=r'none\.csv'):
        run(settings(folder, backend='scripted', backend_options={'script': 'x'}))


def test_a_sample_in_error_is_exit_code_1_and_files_do_not_split_reasons(folder, capsys):
    for n in range(3):
        (folder / f'bad{n}.png').write_bytes(cut_off(folder))
    (folder / 'questions.csv').write_text('one.png,yes,Is it?\n' + ''.join(
        f'bad{n}.png,no,Is it?\n' for n in range(3)))
    (folder / 'says.yaml').write_text('answers: {default: "Yes"}\n')
    arguments = ['run', '--suite', str(folder / 'mine.py'), '--split', 'all_of_it', '--method',
                 'ask', '--backend', 'scripted', '--backend-option',
                 f'script={folder / "says.yaml"}', '--out', str(folder / 'run')]
    assert cli.main([*arguments, '--json']) == 1
    told = capsys.readouterr()
    [[reason, count]] = json.loads(told.out)['reasons']['errors'].items()
    assert count == 3 and 'FILE' in reason and "(such as 'bad0.png')" in reason
    assert '3 of 4 samples ended in an error and are not scored; the same command' in told.err


def test_two_models_stand_side_by_side_and_are_compared_over_the_same_samples(folder, capsys):
    for name, said in (('a', 'Yes'), ('b', 'No')):
        (folder / f'{name}.yaml').write_text(
            f"answers:\n  'Is the picture empty?': 'Yes'\n  default: '{said}'\n")
        run(settings(folder, backend='scripted', out=str(folder / name), backend_options={
            'script': str(folder / f'{name}.yaml')}))
    assert cli.main(['report', str(folder / 'a'), str(folder / 'b'), '--out',
                     str(folder / 'report')]) == 0
    said = capsys.readouterr().out
    assert '8 samples' in said and 'episodes' not in said
    tables = {table.name: table for table in make_tables(
        gather([str(folder / 'a'), str(folder / 'b')]))}
    assert [row['right'] for row in tables['sample_scores'].rows] == [0.5, 0.75]
    [pair] = tables['paired_samples'].rows
    assert (pair['n'], pair['both'], pair['only_first'], pair['only_second']) == (4, 1, 1, 2)
    assert pair['difference'] == -0.25 and pair['p'] == 1.0
    wrong = [[row[name] for name in ('picture', 'question', 'reply', 'truth')]
             for row in tables['wrong_samples'].rows]
    assert wrong[:2] == [
        ['one.png', 'Is it green, or blue?', 'Yes', 'false'],
        ['two.png', 'Is there a red thing?', 'Yes', 'false']]
    assert 'Samples: paired comparisons' in (folder / 'report/report.html').read_text()


def test_a_simulated_model_with_a_seed_is_compared_with_one_that_has_none(folder):
    (folder / 'says.yaml').write_text('answers: {default: "No"}\n')
    run(settings(folder, backend='scripted', out=str(folder / 'a'), backend_options={
        'script': str(folder / 'says.yaml')}))
    for seed in (0, 1):
        run(settings(folder, backend='noisy_oracle', out=str(folder / f'b{seed}'),
                     backend_options={'table': 'perfect', 'seed': seed}))
    tables = {table.name: table for table in make_tables(
        gather([str(folder / name) for name in ('a', 'b0', 'b1')]))}
    [pair] = tables['paired_samples'].rows
    assert (pair['n'], pair['both'], pair['only_second']) == (8, 4, 4)


# ------------------------------------------------------------------------------- the table

def test_a_table_may_name_its_columns_in_any_order(folder):
    (folder / 'questions.csv').write_bytes(
        '\ufeffid,Truth,picture,note,question\r\nq1,YES ,one.png,,"Is it red, dark?"\r\n\r\n'
        'q2,False,one.png,x,Is it blue?\r\n'.encode())
    rows = read_questions(folder / 'questions.csv')
    assert [(row.id, row.picture.name, row.text, row.truth) for row in rows] == [
        ('q1', 'one.png', 'Is it red, dark?', True), ('q2', 'one.png', 'Is it blue?', False)]


def test_a_table_without_names_of_columns_may_have_commas_in_its_questions(folder):
    (folder / 'questions.csv').write_text('one.png,y,Is it red, or dark?\n')
    [row] = read_questions(folder / 'questions.csv')
    assert (row.id, row.text, row.truth) == ('one.png#1', 'Is it red, or dark?', True)


@pytest.mark.parametrize('text', [
    'File,Question,Answer,\none.png,"Is it red, dark?",1,\n,,\none.png,Is it blue?,no , ,\n',
    'file;question;answer\none.png;"Is it red, dark?";TRUE\none.png;Is it blue?;0\n',
    'one.png;yes;Is it red, dark?\none.png;no;Is it blue?;\n',
    'one.png\ty\tIs it red, dark?\none.png\tn\tIs it blue?\n',
    'image,answer,question,id\none.png,yes,"Is it red, dark?",\none.png,no,Is it blue?,one.png#2'])
def test_a_table_as_spreadsheets_write_it_is_read(folder, text):
    (folder / 'questions.csv').write_text(text)
    rows = read_questions(folder / 'questions.csv')
    assert [(row.id, row.picture.name, row.text, row.truth) for row in rows] == [
        ('one.png#1', 'one.png', 'Is it red, dark?', True),
        ('one.png#2', 'one.png', 'Is it blue?', False)]


def test_a_name_with_an_umlaut_is_found_in_either_spelling(folder):
    (folder / 'one.png').rename(folder / unicodedata.normalize('NFD', 'Küche.png'))
    (folder / 'questions.csv').write_text(
        unicodedata.normalize('NFC', 'Küche.png,yes,Is it?\n'), 'utf-8')
    [row] = read_questions(folder / 'questions.csv')
    assert row.picture.load().shape == (60, 80, 3)


def test_all_lines_that_cannot_be_used_are_named_at_once(folder):
    (folder / 'questions.csv').write_text('one.png,maybe,A?\nno.png,yes,B?\n' + ''.join(
        f'one.png,perhaps,C{n}?\n' for n in range(11)))
    with pytest.raises(InputError) as caught:
        read_questions(folder / 'questions.csv')
    said = str(caught.value).splitlines()
    assert 'csv:1: ' in said[0] and 'csv:2: ' in said[1] and len(said) == 11
    assert said[-1] == 'and 3 more lines that cannot be used'


# --------------------------------------------------------------------- a table that is a suite

def test_a_table_is_a_suite_called_like_its_file(folder, capsys, monkeypatch):
    """Samples are asked without ``--method``, and found again from another directory."""
    (folder / 'says.yaml').write_text(
        "answers: {'Is the picture empty?': 'Yes', default: {text: 'No', p_yes: .2, p_no: .8}}\n")
    monkeypatch.chdir(folder)
    assert cli.main(['run', '--suite', 'questions.csv', '--backend', 'scripted',
                     '--backend-option', 'script=says.yaml', '--out', 'run']) == 0
    said = capsys.readouterr()
    assert 'answered by' in said.out and 'simulated' not in said.err
    monkeypatch.chdir('/')
    lines = lines_of(folder)
    assert {line['suite'] for line in lines} == {'questions'}
    assert [line['measures']['correct'] for line in lines] == [0, 1, 1, 1]
    assert [line['measures']['brier'] for line in lines] == [
        pytest.approx(.64), pytest.approx(.04), pytest.approx(.04), None]
    assert gather(folder / 'run').runs[0].suite.name == 'questions'
    assert cli.main(['failures', str(folder / 'run'), '--episode', 'one.png']) == 0
    assert 'one.png#1' in capsys.readouterr().out
    assert violations(load_suite(str(folder / 'questions.csv'))) == []


def test_a_split_that_a_table_has_not_is_refused_though_it_is_the_default_of_others(
        folder, capsys):
    assert cli.main(['run', '--suite', str(folder / 'questions.csv'), '--split', 'simple',
                     '--out', str(folder / 'run')]) == 2
    assert "has no split 'simple'" in capsys.readouterr().err


def test_a_folder_or_file_that_is_no_suite_names_the_table_that_may_be_meant(folder):
    with pytest.raises(InputError, match=r'or did you mean the file .*/questions\.csv\?'):
        load_suite(str(folder))
    with pytest.raises(InputError, match=r'does not end in \.py or \.csv or \.tsv'):
        load_suite(str(folder / 'one.png'))
    (folder / 'tabs.tsv').write_text('picture\ttruth\tquestion\none.png\tyes\tIs it?\n')
    assert load_samples(load_suite(str(folder / 'tabs.tsv')), 'questions', {})[0].items
    assert len(read_questions(str(folder / 'questions.csv'))) == 4
    shutil.copy(folder / 'questions.csv', folder / 'OURS.CSV')
    assert load_suite(str(folder / 'OURS.CSV')).name == 'OURS'
    with pytest.raises(InputError, match='there is no such file; give the path of a table'):
        load_suite(str(folder / 'no.csv'))


def test_a_simulated_model_says_that_it_looks_at_no_picture(folder, capsys):
    assert cli.main(['run', '--suite', str(folder / 'questions.csv'), '--table', 'gpt-4.1',
                     '--out', str(folder / 'run')]) == 0
    assert 'noisy_oracle is simulated: it answers from the truth' in capsys.readouterr().err


def test_corrected_truths_score_the_answers_that_are_there(folder, capsys):
    (folder / 'says.yaml').write_text('answers: {default: "Yes"}\n')
    table, run_folder = folder / 'questions.csv', folder / 'run'
    arguments = ['run', '--suite', str(table), '--backend', 'scripted', '--backend-option',
                 f'script={folder / "says.yaml"}', '--out', str(run_folder)]
    assert cli.main(arguments) == 0
    table.write_text(TABLE.replace('two.png,no,', 'two.png,yes,'))
    score = ['suite', str(table), 'score', '--predictions', str(run_folder / 'episodes.jsonl')]
    capsys.readouterr()
    assert cli.main(arguments) == 2
    assert 'a truth of split questions has changed' in capsys.readouterr().err
    assert cli.main(score) == 2
    assert 'a truth has changed ("--new-truths" scores by it)' in capsys.readouterr().err
    assert cli.main([*score, '--new-truths', '--json']) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)['measures']['correct']['value'] == .75
    assert 'the truth of 1 sample is another one' in told.err
    shutil.copy(folder / 'one.png', folder / 'two.png')
    assert cli.main([*score, '--new-truths']) == 2
    assert 'a picture or a question has changed' in capsys.readouterr().err


@pytest.mark.parametrize(('text', 'said'), [
    ('one.png,yess,Is it?\n', "questions.csv:1: truth = 'yess' is neither yes nor no; write yes"),
    ('one.png,yes,A?\n\none.png,,B?\n', 'questions.csv:3: truth is empty'),
    ('one.png,yes\n', 'questions.csv:1: has 2 columns, not 3; write picture,truth,question'),
    ('no.png,yes,Is it?\n', 'no.png cannot be read (No such file or directory); put the picture'),
    ('../one.png,yes,Is it?\n', "questions.csv:1: picture = '../one.png' must be a path below"),
    ('', 'questions.csv: holds not one question; write one a line'),
    ('photo,text,right\none.png,A?,yes\n',
     "truth = 'text' is neither yes nor no; write yes or no (the columns are picture, truth"),
    ('ONE.PNG,yes,A?\n', "put the picture there, or correct the line; did you mean 'one.png'?"),
    ('questions.csv,yes,A?\n', 'questions.csv: is not a picture that can be read (give a PNG or'),
    ('phone.heic,yes,A?\n', 'phone.heic: is not a picture that can be read (it is HEIC; convert'),
    ('one.png,yes,A?\none.png,no,A?\n', 'csv:2: asks the same about one.png as '),
    ('one.png,yes,A?\none.png,no,A?\n', 'csv:1, with another truth; keep one of them'),
    ('picture,truth,question\n', 'questions.csv: holds not one question'),
    ('x' * 300 + '.png,yes,A?\n', 'cannot be read (File name too long); put the picture there'),
    ('one.png,yes,A?\none.png,no,' + 'x' * 140_000, 'csv:2: is no CSV (field larger than'),
    ('x' * 140_000 + ',yes,A?\n', 'csv:1: is no CSV (field larger than'),
    ('one.png,no,A?\none.png,yes,"Is it red?\ntwo.png,no,"Is it?"\n', 'csv:2: is no CSV'),
    ('one.png,yes,"Is it red?\none.png,no,B?\n', 'csv:1: is no CSV (unexpected end of data); cl'),
    ('truth,question\nyes,Is it?\n', 'questions.csv:1: names no column picture; add it'),
    ('id,picture,truth,question\na,one.png,yes,A?\na,one.png,yes,B?\n',
     "questions.csv:3: id = 'a' is there twice, first at")])
def test_what_cannot_be_used_of_a_table_is_named_with_its_line(folder, text, said):
    (folder / 'phone.heic').write_bytes(b'\0\0\0\x18ftypheic\0\0\0\0mif1heic')
    (folder / 'questions.csv').write_text(text)
    with pytest.raises(InputError) as caught:
        read_questions(folder / 'questions.csv')
    assert said in str(caught.value)


def test_a_table_that_is_not_there_ends_the_command_with_2(folder, capsys):
    (folder / 'questions.csv').unlink()
    assert cli.main(['run', '--suite', str(folder / 'mine.py'), '--split', 'all_of_it',
                     '--method', 'oracle', '--out', str(folder / 'run')]) == 2
    said = capsys.readouterr().err
    assert 'questions.csv: cannot be read (No such file' in said and 'another path' not in said


def test_an_empty_picture_is_found_before_the_run_by_methods_that_open_none(folder):
    (folder / 'two.png').write_bytes(b'')
    with pytest.raises(InputError, match=r'two\.png is empty; put the picture there'):
        run(settings(folder, method='oracle'))
    assert not (folder / 'run').exists()


# ------------------------------------------------------------------- suites that make mistakes

class Small(Suite):
    """A suite whose samples a test gives."""

    name = 'small'
    title = 'Small'
    splits = ('it',)

    def __init__(self, pairs=(), measures=None):
        self._pairs, self._measures = pairs, measures

    def samples(self, split, options):
        return Samples.of(self._pairs)

    def measures(self, kind):
        return self._measures or super().measures(kind)


def test_code_of_a_suite_that_fails_is_named_with_its_line(folder):
    (folder / 'mine.py').write_text(SUITE.replace('row.truth)', 'row.thruth)'))
    with pytest.raises(InputError) as caught:
        run(settings(folder))
    assert str(caught.value).startswith(
        'suite mine: samples() failed at mine.py:17: AttributeError: ')
    assert not (folder / 'run').exists()


def test_pictures_that_are_not_there_are_named_with_their_samples(folder):
    from sightplan.runs import Picture
    pairs = [(Sample.yes_no(f'{n}', 'it', Picture.of_file(folder / f'{n}.png'), 'Is it?'), True)
             for n in range(7)]
    with pytest.raises(InputError) as caught:
        load_samples(Small(pairs), 'it', {})
    said = str(caught.value).splitlines()
    assert len(said) == 6 and said[0].endswith("(picture of sample '0')")
    assert '0.png: cannot be read (No such file' in said[0] and said[5] == 'and 2 more pictures'


def test_the_truth_of_a_question_is_no_text(folder):
    from sightplan.runs import Picture
    pairs = [(Sample.yes_no('a', 'it', Picture.of_file(folder / 'one.png'), 'Is it?'), 'yes')]
    with pytest.raises(InputError, match="its truth is 'yes'; give True or False"):
        load_samples(Small(pairs), 'it', {})


def test_a_suite_without_samples_is_named_with_its_file(tmp_path):
    (tmp_path / 'mine.py').write_text(SUITE.replace('in rows]', 'in rows[:0]]'))
    (tmp_path / 'questions.csv').write_text('one.png,yes,Is it?\n')
    Image.new('RGB', (8, 8)).save(tmp_path / 'one.png')
    with pytest.raises(InputError, match=r"mine\.py\), split 'all_of_it': there is not one samp"):
        run(settings(tmp_path))


def test_a_suite_offers_the_verbs_that_it_has(folder, capsys):
    for verb in ('check', 'generate'):
        with pytest.raises(SystemExit):
            cli.main(['suite', str(folder / 'mine.py'), verb, '--help'])
        assert 'choose from' in capsys.readouterr().err
    assert set(verbs_of('predicates').format_help().split()) > {'check', 'generate'}


def test_a_file_beside_a_folder_of_its_name_is_hinted_at(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / 'mine').mkdir()
    for name, hint in (('mine', r'\./mine\.py'), ('./mine', r'\./mine\.py')):
        with pytest.raises(InputError, match=f'did you mean the file {hint}'):
            load_suite(name)


def test_the_contract_names_domains_and_atoms_that_no_run_would_accept():
    pairs = [(Sample(f'{n}', 'it', 'it', ('Is it?',), Question(Atom.parse(atom), 'Is it?'), where),
              True) for n, (atom, where) in enumerate((
                  ('above a,b', 'blocksworld'), ('on a,b', 'no/such/domain'), ('on a,b', '')))]
    found = '\n'.join(violations(Small(pairs)))
    assert "sample '0' asks about above a,b: " in found
    assert "sample '1' is about domain 'no/such/domain', which cannot be loaded: " in found
    assert "sample '2' has a question about an atom, but no domain" in found


def test_a_picture_that_cannot_be_read_costs_its_own_samples(folder):
    (folder / 'two.png').write_bytes(cut_off(folder))
    with OpenRun(settings(folder), backend=Sure()) as opened:
        summary = opened.summarise(opened.walk())
    assert (summary['scored'], summary['errors']) == (2, 2)
    [bad] = {line['error'] for line in lines_of(folder) if line['error']}
    assert "picture 'picture" not in bad and 'two.png' in bad


def test_a_list_of_a_script_begins_anew_with_each_picture(folder):
    text = SUITE.replace('Sample.yes_no(row.id, split, row.picture, row.text)',
                         "Sample(row.id, split, row.picture.name, (row.picture, row.text, '!'))")
    (folder / 'mine.py').write_text(text)
    (folder / 'says.yaml').write_text('replies: ["Yes.", "No."]\n')
    run(settings(folder, backend='scripted', backend_options={
        'script': str(folder / 'says.yaml')}))
    assert [line['reply'] for line in lines_of(folder)] == ['Yes.', 'No.', 'Yes.', 'No.']


def test_answers_of_a_script_answer_prompts_by_their_last_text(folder, capsys):
    (folder / 'says.yaml').write_text("answers:\n  'Is there a red thing?': 'Yes'\n")
    assert cli.main(['ask', str(folder / 'one.png'), '--question', 'Is there a red thing?',
                     '--backend', 'scripted', '--backend-option',
                     f'script={folder / "says.yaml"}']) == 0
    assert capsys.readouterr().out == 'Yes\n'


# ------------------------------------------------------------------------- kinds of measures

def lines(values):
    return [{'measures': {'brier': value}, 'cluster': str(n), 'details': {}}
            for n, value in enumerate(values)]


def test_a_fraction_refuses_values_between_0_and_1_and_names_itself():
    said = (r"measure brier has the value 0\.36, and every value of a fraction is 0, 1 or None; "
            r"declare it of kind 'share'")
    with pytest.raises(InputError, match=said):
        aggregate(lines([1, 0.36]), Measure('brier', 'squared error', higher_is_better=False))


@pytest.mark.parametrize('kind', [SHARE, MEAN])
def test_an_interval_contains_its_value(kind):
    found = aggregate(lines([.01, .04, .09, None, .02]), Measure('brier', 'of', kind, None))
    assert found.low <= found.value <= found.high and found.n == 4
    with pytest.raises(InputError, match='every value of a share is from 0 to 1'):
        aggregate(lines([1.5]), Measure('brier', 'squared error', SHARE))


def test_the_contract_and_the_run_refuse_a_fraction_that_is_none(folder):
    (folder / 'mine.py').write_text(SUITE.replace(", 'share', higher", ', higher'))
    with pytest.raises(InputError, match='measure brier has the value'), \
            OpenRun(settings(folder), backend=Sure()) as opened:
        opened.walk()
    assert not lines_of(folder)
    assert any('measure brier has the value 0.25' in said
               for said in violations(load_suite(str(folder / 'mine.py'))))
    half = Small([(Sample('a', 'it', 'a', ('?',)), 'x')],
                 (Measure('correct', 'fraction', primary=True), Measure('half', 'of')))
    half.score = lambda sample, answer, truth, reply: Scored({'correct': 1.0, 'half': 0.5})
    assert any('measure half has the value 0.5' in said for said in violations(half))


POINTING = '''
import dataclasses

import numpy as np

from sightplan.model import Form, Target, TargetMasks
from sightplan.model.region import Region
from sightplan.model.sample import Picture
from sightplan.runs import Sample, Samples, Scored, Suite


class Column:
    """The thing is one column of the picture."""

    def __init__(self, x):
        self.mask = np.zeros((40, 40), bool)
        self.mask[:, x] = True

    def masks(self, target):
        return TargetMasks(self.mask)


class Pointing(Suite):
    name, title, splits = 'mine', 'Mine', ('all_of_it',)

    def samples(self, split, options):
        def sample(x):
            picture = Picture(f'{x}.png', lambda: np.zeros((40, 40, 3), np.uint8))
            return Sample(str(x), split, 'a film', (picture, 'the ball'),
                          target=Target('the ball', Form.POINT))
        found = Samples.of([(sample(x), x) for x in (5, 30)])
        return dataclasses.replace(
            found, mask_source=lambda sample: Column(int(sample.id)))

    def score(self, sample, answer, truth, reply):
        region = Region.from_json(answer[0])
        right = int(region.points[0][0] * 40) == truth
        return Scored({'score': float(right)}, None if right else 'missed')

    def truth_regions(self, truth):
        return [truth['outline']]  # a defect: the truth is a number


suite = Pointing()
'''


def test_the_truth_is_that_of_the_picture_also_where_a_cluster_has_several(folder):
    (folder / 'mine.py').write_text(POINTING)
    summary = run(settings(folder, backend='noisy_locator', backend_options={'hit': 1.0}))
    assert summary['errors'] == 0, summary['reasons']
    assert [line['measures']['score'] for line in lines_of(folder)] == [1.0, 1.0]


def test_a_sample_whose_truth_cannot_be_drawn_costs_the_picture_alone(folder):
    (folder / 'mine.py').write_text(POINTING)
    summary = run(settings(folder, backend='noisy_locator',
                           backend_options={'hit': 0.0, 'silent': 0.0}))
    assert summary['causes'] == {'missed': 2}
    assert not any(line.get('picture') for line in lines_of(folder))


def test_a_method_reads_a_reply_as_it_will_be_scored(folder):
    plan = SamplePlan(settings(folder), load_suite(str(folder / 'mine.py')))
    sample = Handed(plan).hand_out(plan.items[:1])[0]
    read = task_of(sample).read
    assert read(SampleReply('<think>No. Or is it?</think>Yes')) == (True, '')
    assert read(SampleReply(unread='was cut off')) == (None, 'was cut off')


@pytest.mark.parametrize(('answer', 'found'), [
    (Answer(verdict=Verdict.YES, p_yes=0.4, p_no=0.3), (True, '')),
    (Answer(verdict=Verdict.NO), (False, '')),
    (Answer('No', verdict=Verdict.YES), (False, '')),  # a suite may read texts by its own rules
    (Answer(verdict=Verdict.UNKNOWN), (None, 'cannot tell')),
    (Answer.cannot_tell('the cup is hidden'), (None, 'cannot tell: the cup is hidden')),
    (Answer(), (None, 'empty reply'))])
def test_an_answer_without_text_counts_and_a_reason_is_kept(answer, found):
    sample = Sample.yes_no('a', 'it', Picture('a.png', lambda: None), 'Is it red?')
    assert read_reply(Small(), sample, SampleReply.of_answer(answer)) == found
