"""Pages of samples: in the report, by failures and by explain, drawn by their suite."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightplan import cli
from sightplan.model import InputError
from sightplan.runs import RunSettings, SamplePage, load_suite, run
from sightplan.runs.predictions import line_again
from sightplan.runs.run_samples import options_of_run
from sightplan.runs.samples import UNKNOWN_WORDS, load_samples
from sightplan.runs.suite_contract import violations
from sightplan_report.page import Settings, build
from sightplan_report.results import gather
from sightplan_report.sample_page import SamplesOfRuns
from sightplan_report.tables import make_tables

SUITE = '''
from pathlib import Path

from sightplan.model import Form, Region, Target
from sightplan.runs import Picture, Sample, Samples, Scored, Suite, Unread

FOLDER = Path(__file__).resolve().parent


class Balls(Suite):
    name, title, splits = 'balls', 'Where the ball is', ('all_of_it',)

    def samples(self, split, options):
        pairs = [(Sample(f'{n}', split, f'{n}', (Picture.of_file(FOLDER / f'{n}.png'), 'the ball'),
                         target=Target('the ball', Form.POINT)), n % 2) for n in range(COUNT)]
        return Samples.of(pairs, [FOLDER / f'{n}.png' for n in range(COUNT)])

    def read(self, text, sample):
        try:
            return [Region(Form.POINT, ((float(text), 0.5),)).to_json()]
        except ValueError as error:
            raise Unread('no number') from error

    def write(self, truth, sample):
        return str(0.25 + 0.5 * truth)

    def guess(self, sample, rng):
        return '0.25'

    def score(self, sample, answer, truth, reply):
        right = answer is not None and (answer[0]['points'][0][0] > 0.5) == bool(truth)
        return Scored({'correct': float(right)}, None if right else 'beside')

    def truth_regions(self, truth):
        return [Region(Form.POINT, ((0.25 + 0.5 * truth, 0.5),))]


suite = Balls()
'''


def made(folder, count=4):
    folder.mkdir(exist_ok=True)
    (folder / 'balls.py').write_text(SUITE.replace('COUNT', str(count)))
    for n in range(count):
        image = np.full((90, 120, 3), 255, np.uint8)
        image[:, :, n % 3] = 60 + n
        Image.fromarray(image).save(folder / f'{n}.png')
    run(RunSettings(suite=str(folder / 'balls.py'), split='all_of_it', method='random',
                    out=str(folder / 'run')))
    return folder / 'run'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return made(tmp_path_factory.mktemp('balls'))


def explained(folder, item, out):
    assert cli.main(['explain', str(folder), item, '--out', str(out / 'one.html')]) == 0
    return (out / 'one.html').read_text()


def report(folder, **settings):
    results = gather(folder)
    return build(results, make_tables(results), Settings(**settings))


def listed(html):
    """Rows of the list of samples: id and result."""
    table = re.search(r'<table[^>]*id="samples-list".*?</table>', html, re.DOTALL)[0]
    return re.findall(r'<td><a href="#(s\d+)">(\d+)</a>.*?<td>(✓ right|✗ beside)</td>', table,
                      re.DOTALL)


def test_wrong_samples_come_first_and_all_are_linked(folder):
    made_page = report(folder)
    assert made_page.samples == 4 and made_page.samples_left_out == 0
    rows = listed(made_page.html)
    assert [result for _, _, result in rows] == ['✗ beside'] * 2 + ['✓ right'] * 2
    assert sorted(name for _, name, result in rows if result == '✗ beside') == ['1', '3']
    for key, name, _ in rows:
        page = re.search(rf'<article class="episode" id="{key}">.*?</article>', made_page.html,
                         re.DOTALL)[0]
        assert f'<h2>{name}</h2>' in page and 'data:image/jpeg' in page
        assert '<p>the ball</p>' in page and 'cannot be shown' not in page
    assert 'data-list="samples-list"' in made_page.html
    assert '<option>beside</option>' in made_page.html, 'a filter by cause'


def test_the_number_of_pages_is_bounded_and_said(folder):
    made_page = report(folder, most_bytes=1)
    assert made_page.samples == 1 and made_page.samples_left_out == 3
    assert [result for *_, result in listed(made_page.html)] == ['✗ beside'], 'wrong ones first'
    assert '1 of them have a page here' in made_page.html
    assert '3 more were chosen, but would have made this file too large' in made_page.html
    assert report(folder, episodes='none').samples == 0


def test_of_many_samples_some_of_each_cause_are_chosen(tmp_path):
    run_folder = made(tmp_path / 'many', 24)
    html = report(run_folder, most_samples=3).html
    assert [result for *_, result in listed(html)] == ['✗ beside'] * 3 + ['✓ right'] * 2
    assert '24 samples, wrong ones first; 5 of them have a page here' in html
    assert report(run_folder, episodes='all').samples == 24


def test_one_sample_has_a_page_by_itself(folder, tmp_path):
    html = explained(folder, '3', tmp_path)
    assert 'wrong: beside' in html and 'data:image/jpeg' in html


def test_the_picture_has_truth_and_answer(folder):
    results = gather(folder).runs[0]
    wrong = next(line for line in results.lines if line['cause'])
    page, why = SamplesOfRuns().page(results.folder, results.info, results.suite, wrong)
    assert why == '' and [label for label, _ in page.marks] == ['truth', 'answer']
    assert page.marks[0][1][0].points == ((0.75, 0.5),)
    assert page.marks[1][1][0].points == ((0.25, 0.5),)


@pytest.mark.parametrize(('change', 'said'), [
    ('picture', 'cannot be read'), ('content', 'are not those of the run any more')])
def test_where_the_data_are_gone_the_page_says_so(tmp_path, change, said):
    run_folder = made(tmp_path / 'gone')
    if change == 'picture':
        (tmp_path / 'gone' / '2.png').unlink()
    else:
        Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(tmp_path / 'gone' / '2.png')
    line = next(line for line in gather(run_folder).runs[0].lines if line['cause'])
    html = explained(run_folder, line['id'], tmp_path)
    assert said in html and 'The picture is the one that the run kept.' in html
    assert 'data:image/jpeg' in html
    (run_folder / line['picture']).unlink()
    html = explained(run_folder, line['id'], tmp_path)
    assert 'The run kept no picture of it.' in html and 'data:image' not in html


def test_a_suite_that_is_not_there_is_named():
    line = {'id': '1', 'suite': 'balls', 'split': 'all_of_it'}
    assert SamplesOfRuns().page(Path(), {}, None, line) == (None, 'suite balls is not installed')


def test_failures_counts_draws_and_shows_samples(folder, tmp_path, capsys):
    assert cli.main(['failures', str(folder), '--json', '--html', str(tmp_path / 'f.html'),
                     '--pictures', str(tmp_path / 'pictures')]) == 0
    (found,) = json.loads(capsys.readouterr().out.splitlines()[-1])['runs']
    assert (found['samples'], found['right'], found['failed']) == (4, 2, 2)
    assert found['causes']['beside']['count'] == 2
    assert {one['id'] for one in found['failures']} == {'1', '3'}
    html = (tmp_path / 'f.html').read_text()
    assert '2 wrong samples' in html and html.count('data:image/jpeg') == 2
    assert len(list((tmp_path / 'pictures').glob('*.png'))) == 2
    assert cli.main(['failures', str(folder), '--cause', 'beside']) == 0
    assert 'wrong: beside' in capsys.readouterr().out


def test_a_sample_is_explained(folder, capsys):
    assert cli.main(['explain', str(folder), '1']) == 0
    assert 'result   wrong: beside' in capsys.readouterr().out
    assert 'data:image/jpeg' in (folder / 'explained' / '1.html').read_text()


def test_a_run_keeps_pictures_of_wrong_samples_alone(folder):
    for line in map(json.loads, (folder / 'episodes.jsonl').open()):
        assert bool(line['cause']) == (folder / line.get('picture', 'none')).is_file()


def test_the_contract_kit_looks_at_the_page(folder):
    suite = load_suite(str(folder.parent / 'balls.py'))
    assert violations(suite) == []
    suite.page = lambda sample, answer, truth, scored: SamplePage(
        np.zeros((4, 4)), '', 'true', 'said')
    try:
        found = '; '.join(violations(suite))
    finally:
        del suite.page
    assert 'page() of the true answer gives a picture that is no array' in found
    assert 'page() of no answer must say what was asked' in found


def test_a_line_with_unknown_words_keeps_its_cause_when_it_is_scored_again(folder):
    suite = load_suite(str(folder.parent / 'balls.py'))
    (part,) = load_samples(suite, 'all_of_it', {})
    line = json.loads((folder / 'episodes.jsonl').open().readline())
    lost = {**line, 'answer': None, 'unread': 'no place', 'unknown': ['ball']}
    assert line_again(suite, part.items[0], 0, lost)['cause'] == UNKNOWN_WORDS
    assert line_again(suite, part.items[0], 0, {**lost, 'unknown': []})['cause'] == 'beside'
    assert line_again(suite, part.items[0], 0, line) == line


@pytest.mark.parametrize('answer', [None, []])
def test_a_line_with_unknown_words_says_that_it_could_not_be_told(folder, answer):
    results = gather(folder).runs[0]
    line = {**results.lines[0], 'answer': answer, 'unknown': ['ball'], 'cause': UNKNOWN_WORDS}
    page, _ = SamplesOfRuns().page(results.folder, results.info, results.suite, line)
    assert page.answer == "cannot tell: it does not know 'ball'"


def test_the_data_of_a_run_are_found_from_where_it_was_started(tmp_path, monkeypatch):
    (tmp_path / 'pictures').mkdir()
    info = {'sessions': [{'directory': str(tmp_path), 'settings': {
        'suite': 'point_it_out', 'split': 's1', 'suite_options': {'data': 'pictures'}}}]}
    assert options_of_run(info) == {'data': str(tmp_path / 'pictures')}
    monkeypatch.chdir(tmp_path)
    assert options_of_run(info) == {'data': 'pictures'}
    with pytest.raises(InputError, match='does not say with which settings'):
        options_of_run({'sessions': []})
