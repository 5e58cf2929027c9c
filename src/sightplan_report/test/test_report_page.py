"""The report's page: complete, escaped, without anything from outside."""

import json
import re
from html.parser import HTMLParser

import pytest

from report_cases import asked, counts, line, sample, write_index, write_run
from sightplan.cli import main
from sightplan.metrics import measures, wilson
from sightplan_report import figures
from sightplan_report.page import FEW, Settings, build, choose, place_of
from sightplan_report.results import gather
from sightplan_report.table_cells import number_text, shown
from sightplan_report.tables import Column, Table, make_tables

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)> "\' {{ 7*7 }} &amp;'
VOID = {'meta', 'img', 'input', 'br', 'link'}


class Reader(HTMLParser):
    """Checks that elements are nested, and collects ids, links, tables and scripts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tables = [], [], [], {}
        self.tags, self.attributes, self.script = [], [], ''
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.attributes += found.items()
        if found.get('id'):
            self.ids.append(found['id'])
        if 'href' in found:
            self.links.append(found['href'])
        if tag == 'table':
            self.table = self.tables.setdefault(found.get('data-table', found.get('id')), [])
        if tag == 'tr':
            self.row = []
            getattr(self, 'table', []).append(self.row)
        if tag in ('td', 'th'):
            self.row.append([found.get('data-v'), ''])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if 'script' in self.open:
            self.script += data
        if 'td' in self.open or 'th' in self.open:
            self.row[-1][1] += data


def write_runs(folder):
    ground = [line(k, k % 2 == 0, model='exact-1', **asked(
        {'on': counts(9, 10), 'clear': counts(4, 4)}, 2, 2, 1)) for k in range(6)]
    plan = [line(k, k == 0, method='plan', model='exact-1', seconds=3.0, proposals={'planned': 2})
            for k in range(6)]
    write_run(folder / 'ground', ground)
    write_run(folder / 'plan', plan, method='plan')
    return folder


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    return gather(write_runs(tmp_path_factory.mktemp('runs')))


@pytest.fixture(scope='module')
def text(runs):
    return page_of(runs)


def page_of(results, **settings):
    return build(results, make_tables(results), Settings(**settings)).html


def test_the_page_is_well_formed_and_its_links_lead_somewhere(text):
    read = Reader(text)
    assert len(read.ids) == len(set(read.ids))
    inside = [link for link in read.links if link.startswith('#')]
    assert {link[1:] for link in inside} <= set(read.ids) and len(inside) > 10
    assert 'e0' in read.ids and '#e0' in inside


def test_every_table_is_there_with_its_rows(runs, text):
    tables = make_tables(runs)
    read = Reader(text)
    assert set(read.tables) - {'list', None} == {table.name for table in tables}
    for table in tables:
        heads = 2 if shown(table).groups else 1
        assert len(read.tables[table.name]) == len(table.rows) + heads, table.name


def test_numbers_of_the_page_are_those_of_the_tables(runs, text):
    tables = {table.name: table for table in make_tables(runs)}
    read = Reader(text)
    for name, key in (('models', 'success'), ('models', 'accuracy'), ('cost', 'questions_mean'),
                      ('predicates', 'accuracy'), ('paired', 'difference')):
        table = tables[name]
        heads, *rows = read.tables[name][1:]
        wanted = [row[key] for row in table.rows]
        columns = [column for column in range(len(heads))
                   if [row[column][0] for row in rows] == [
                       None if value is None else str(value) for value in wanted]]
        assert columns, f'{name} has no column with the values of {key}'
        column = columns[0]
        for row, value in zip(rows, wanted, strict=True):
            shown_text = row[column][1].split(' ')[0]
            assert (shown_text == '–') if value is None else (
                float(shown_text.replace(',', '')) == pytest.approx(value, abs=0.051))


def test_intervals_stand_beside_their_numbers(runs, text):
    table = next(t for t in make_tables(runs) if t.name == 'models')
    read = Reader(text)
    row = table.rows[0]
    interval = f'{row["success_low"]:.2f} to {row["success_high"]:.2f}'
    assert any(cell[1].endswith(interval) for cell in read.tables['models'][2])


def test_nothing_is_loaded_from_outside(text):
    assert not re.search(r'(?:src|href|action|data|poster)\s*=\s*["\']?\s*(?:https?:)?//', text)
    assert '@import' not in text and not re.search(r'url\((?!#)', text)
    read = Reader(text)
    assert not {'link', 'iframe', 'object', 'embed', 'base'} & set(read.tags)
    assert {value[:5] for name, value in read.attributes if name == 'src'} <= {'data:'}


@pytest.fixture
def hostile(tmp_path):
    """A run in which everything that a model or a person wrote is hostile."""
    failure = {'cause': HOSTILE, 'step': 0, 'image_id': HOSTILE, 'evidence': {
        'text': HOSTILE, 'action': HOSTILE, 'answer_count': 3, 'stamp_ns': 0,
        'answers': [{'purpose': HOSTILE, 'atom': HOSTILE, 'answer': HOSTILE, 'truth': False,
                     'question': HOSTILE, 'step': 0, 'image_id': HOSTILE, 'stamp_ns': 0}]}}
    lines = [line(k, False, model=HOSTILE, message=HOSTILE, failure=failure, stop=HOSTILE,
                  split=HOSTILE, problem=HOSTILE, id=f'{HOSTILE}{k}', method=HOSTILE,
                  wrong=[[HOSTILE, HOSTILE, HOSTILE, 0, HOSTILE, 1, False]],
                  goal_unmet=[{'literal': HOSTILE, 'last': None}], unreadable=[HOSTILE],
                  actions=[{'action': HOSTILE, 'status': HOSTILE, 'outcome': HOSTILE,
                            'effects': HOSTILE, 'proposal': HOSTILE, 'image_id': HOSTILE,
                            'stamp_ns': 1, 'applicable': None, 'misled': []}],
                  **asked({HOSTILE: counts(1, 2)})) for k in range(2)]
    write_run(tmp_path / 'hostile', lines, method=HOSTILE, backend=HOSTILE, model=HOSTILE,
              domain=HOSTILE, split=HOSTILE)
    return gather(tmp_path)


def test_what_others_wrote_cannot_become_markup(hostile, tmp_path):
    text = page_of(hostile, title=HOSTILE)
    assert text.count('<script') == 1, 'only our own'
    read = Reader(text)
    assert 'alert' not in read.script
    assert not [name for name, _ in read.attributes if name.startswith('on')]
    assert '{{ 7*7 }}' in text and '49' not in read.script, 'no template of a template'
    assert main(['explain', str(tmp_path / 'hostile'), '1', '--out',
                 str(tmp_path / 'one.html')]) == 0
    alone = (tmp_path / 'one.html').read_text()
    assert alone.count('<script') == 0 and '&lt;script&gt;' in alone
    Reader(alone)


@pytest.mark.parametrize('command', ['explain', 'failures'])
def test_a_page_is_written_whatever_characters_names_hold(tmp_path, command):
    run, out = write_run(tmp_path / 'run', [line(0, False, id='x\udc80')]), tmp_path / 'one.html'
    flag = '--html' if command == 'failures' else '--out'
    assert main([command, str(run), flag, str(out)]) == 0
    assert 'x?' in out.read_text('utf-8')


def test_only_the_named_script_may_run(text):
    import base64
    import hashlib
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    digest = base64.b64encode(hashlib.sha256(Reader(text).script.encode()).digest()).decode()
    assert f'&#39;sha256-{digest}&#39;' in policy and 'unsafe-inline' not in policy.split(
        'script-src')[1]
    assert 'default-src &#39;none&#39;' in policy


# Which episodes get a page


def many(tmp_path, causes=('budget', 'no_plan'), each=5):
    for method in ('ground', 'plan'):
        lines = [line(0, method=method)]
        for number, cause in enumerate(causes):
            for k in range(each):
                one = line(10 * (number + 1) + k, False, method=method)
                one['failure'] = {**one['failure'], 'cause': cause}
                lines.append(one)
        write_run(tmp_path / method, lines, method=method)
    return gather(tmp_path)


def test_of_each_method_some_failures_of_each_cause_are_chosen_and_one_solved(tmp_path):
    results = many(tmp_path)
    chosen = choose(results, most=2)
    told = [(one.group.method, (one.line['failure'] or {}).get('cause')) for one in chosen]
    assert sorted(told, key=str) == sorted(
        [(method, cause) for method in ('ground', 'plan')
         for cause in ('budget', 'budget', 'no_plan', 'no_plan', None)], key=str)
    assert [one.rank for one in chosen] == sorted(one.rank for one in chosen)
    assert len(choose(results, 'all')) == 22 and choose(results, 'none') == []


def test_an_episode_with_a_bag_is_preferred(tmp_path):
    lines = [line(k, False, **({'bag': 'bags/x'} if k == 3 else {})) for k in range(FEW + 1)]
    write_run(tmp_path / 'run', lines)
    chosen = choose(gather(tmp_path), most=1)
    assert [one.line['problem'] for one in chosen] == ['p3']


def test_what_does_not_fit_is_left_out_and_said(tmp_path):
    results = many(tmp_path)
    whole = build(results, make_tables(results), Settings())
    small = build(results, make_tables(results), Settings(most_bytes=4_000))
    assert whole.left_out == 0 and whole.episodes == 10
    assert 0 < small.episodes < 10 and small.left_out == 10 - small.episodes
    assert f'{small.left_out} more were chosen' in small.html
    assert len(small.html) < len(whole.html)


def test_few_episodes_all_get_a_page_the_most_telling_first(tmp_path):
    write_run(tmp_path / 'run', [line(k, k > 2) for k in range(FEW)])
    results = gather(tmp_path)
    chosen = choose(results, most=1)
    assert [one.line['problem'] for one in chosen[:2]] == ['p0', 'p3']
    assert len(chosen) == len({one.key for one in chosen}) == FEW
    assert 'Chosen were' not in page_of(results)


def test_neither_solved_nor_failed_is_no_reason_for_a_page(tmp_path):
    stopped = [line(k, False, stop='cancelled', scored=False, failure=None) for k in range(FEW)]
    write_run(tmp_path / 'run', [*stopped, line(90), line(91, False), line(92)])
    chosen = choose(gather(tmp_path))
    assert {(one.line['problem'], measures.solved(one.line)) for one in chosen} == {
        ('p90', True), ('p91', False)}


def test_without_pages_there_are_no_links_to_them(runs):
    read = Reader(page_of(runs, episodes='none'))
    assert 'e0' not in read.ids and '#e0' not in read.links


def test_pictures_of_failures_are_shown_and_lead_to_their_episodes(tmp_path):
    import io

    from PIL import Image
    one = line(0, False)
    one['failure'] = {**one['failure'], 'picture': 'failures/x.png'}
    folder = write_run(tmp_path / 'run', [one])
    (folder / 'failures').mkdir()
    data = io.BytesIO()
    Image.new('RGB', (640, 480)).save(data, 'png')
    (folder / 'failures' / 'x.png').write_bytes(data.getvalue())
    text = page_of(gather(tmp_path))
    assert text.count('src="data:image/jpeg;base64,') == 2, 'in the gallery and on its page'
    assert '<a href="#e0"><img' in text


def test_samples_beside_episodes(tmp_path):
    write_run(tmp_path / 'episodes', [line(0)])
    eyes = write_run(
        tmp_path / 'eyes', [sample(0), sample(1, False), sample(2, False, 'No'),
                            sample(3, True, 'Perhaps')],
        suite='predicates', method='ask', model='eyes@1', backend='embedded')
    alone, mixed = page_of(gather(eyes)), page_of(gather(tmp_path))
    for text in (alone, mixed):
        Reader(text)
        assert 'Eyes: answers about pictures, by predicate' in text
        assert '<b>0.500</b>' in text, 'the primary measure'
    assert 'id="success"' not in alone and 'id="list"' not in alone
    assert 'id="success"' in mixed and 'id="e0"' in mixed


def test_warnings_are_shown(tmp_path):
    folder = write_run(tmp_path / 'run', [line(0)])
    with (folder / 'episodes.jsonl').open('a') as file:
        file.write('rubbish\n')
    text = page_of(gather(tmp_path))
    assert 'id="warnings"' in text and 'damaged line' in text


def test_odd_lines_are_shown_as_far_as_they_go(tmp_path):
    odd = line(1, False, failure={**line(1, False)['failure'], 'cause': 'from the future'},
               actions=[{'action': '', 'status': 'executed', 'outcome': '', 'image_id': '',
                         'stamp_ns': 0, 'applicable': None, 'effects': None, 'misled': []}],
               goal_unmet=[{'literal': 'on a,b', 'last': None}],
               wrong=[['x', 'on a,b', 'no', 99, '', 0, None]],
               plans=[{'status': 'crashed', 'step': 7, 'length': None, 'seconds': 0.1,
                       'cached': False}])
    broken = line(2, scored=False, stop='error', error='no server')
    folder = write_run(tmp_path / 'run', [line(0, False), odd, broken])
    text = page_of(gather(folder), episodes='all')
    Reader(text)
    assert 'from the future' in text and 'not scored: no server' in text


# What figures draw


@pytest.fixture
def drawn(monkeypatch):
    """The points of each figure, by its name."""
    found = {}

    def kept(draw):
        def keep(name, points, *rest, **more):
            found[name] = list(points)
            return draw(name, points, *rest, **more)
        return keep

    for kind in ('dots', 'curves'):
        monkeypatch.setattr(figures.plots, kind, kept(getattr(figures.plots, kind)))
    return found


def rows_of(points):
    return list(dict.fromkeys(point.row for point in points))


def test_intervals_are_those_of_the_table(runs, drawn):
    page_of(runs)
    found = [row for table in make_tables(runs) if table.name == 'models' for row in table.rows]
    assert [(p.value, p.low, p.high, p.n) for p in drawn['success-blocksworld']] == [
        (row['success'], row['success_low'], row['success_high'], row['success_n'])
        for row in found]
    assert (drawn['success-blocksworld'][0].low, drawn['success-blocksworld'][0].high) == wilson(
        3, 6)


@pytest.fixture
def calibrated(tmp_path):
    for name, calibration in (('a', None), ('b', 'c.json')):
        write_run(tmp_path / name, [line(k, method='belief') for k in range(3)],
                  method={'name': 'belief', 'calibration': calibration})
    write_run(tmp_path / 'c', [line(k) for k in range(3)])
    return gather(tmp_path)


def test_runs_with_and_without_calibration_have_rows_of_their_own(calibrated, drawn):
    text = page_of(calibrated)
    assert rows_of(drawn['success-blocksworld']) == [
        'belief, not calibrated', 'belief, calibrated', 'ground']
    assert sorted(rows_of(drawn['cost-seconds'])) == [
        'belief, GPT-4.1, calibrated', 'belief, GPT-4.1, not calibrated', 'ground, GPT-4.1']
    assert sorted(rows_of(drawn['paired-blocksworld'])) == [
        'GPT-4.1: belief calibrated – ground', 'GPT-4.1: belief not calibrated – ground',
        'belief, GPT-4.1: not calibrated – calibrated']
    table = next(t for t in make_tables(calibrated) if t.name == 'paired')
    assert {row['first_variant'] for row in table.rows if row['compared'] == 'method'} == {
        'calibrated', 'not calibrated'}
    assert '<td>not calibrated</td>' in text, 'in the list of episodes, too'


def test_the_same_method_by_two_backends_has_two_rows(tmp_path, drawn):
    write_run(tmp_path / 'a', [line(0)], backend='embedded', model='embedded_model/a')
    write_run(tmp_path / 'b', [line(0, split='medium')], split='medium')
    page_of(gather(tmp_path))
    assert rows_of(drawn['success-blocksworld']) == ['ground, embedded', 'ground, noisy_oracle']


def test_no_two_points_share_a_place_whatever_the_groups(tmp_path, drawn):
    for number, fields in enumerate((
            {}, {'privileged': {'simple': 'always'}}, {'failure_probability': 0.1},
            {'world': {'pictures': 'all'}}, {'prompt': {'name': 'x', 'sha256': 'y'}},
            {'model': 'noisy_oracle(perfect, seed 0)'}, {'backend': 'other'},
            {'method': {'name': 'ground', 'other_views': 2}})):
        write_run(tmp_path / str(number), [line(0)], **fields)
    results = gather(tmp_path)
    page_of(results)
    assert len(results.groups) == 8
    places = [(p.row, p.series) for p in drawn['cost-seconds']]
    assert len(set(places)) == len(places) == 8
    assert not any('no. ' in place[0] for place in places), 'each has a name of its own'


def test_means_over_some_of_the_models_say_so(tmp_path, drawn):
    for method, models in (('ground', ('gpt-4.1', 'InternVL3-8B')), ('belief', ('gpt-4.1',)),
                           ('blind', ('',))):
        for model in models:
            write_run(tmp_path / f'{method}{model}', [line(0, method=method)], method=method,
                      **({'model': f'noisy_oracle({model}/plain, seed 0)'} if model else
                         {'model': '', 'backend': None}))
    text = page_of(gather(tmp_path))
    assert sorted(rows_of(drawn['success-blocksworld'])) == [
        'belief (1 of 2 models)', 'blind', 'ground']
    assert 'means over some of the models only' in text


def test_pairs_say_how_many_and_where_an_interval_says_nothing(tmp_path, drawn):
    for method, solved in (('ground', (0, 0, 0)), ('belief', (1, 1, 1)), ('decode', (0, 1))):
        write_run(tmp_path / method, [line(k, bool(one), method=method)
                                      for k, one in enumerate(solved)], method=method)
    text = page_of(gather(tmp_path))
    assert set(rows_of(drawn['paired-blocksworld'])) == {
        'GPT-4.1: belief – ground (n 3, no width)', 'GPT-4.1: decode – ground (n 2)',
        'GPT-4.1: belief – decode (n 2)'}
    assert 'split simple, with 95 % bootstrap' in text and 'over all splits' not in text
    assert 'n = 2 to 3 pairs' in text


def test_a_pair_of_one_problem_is_drawn_without_an_interval(tmp_path, drawn):
    for method in ('ground', 'belief'):
        write_run(tmp_path / method, [line(0, method=method)], method=method)
    text = page_of(gather(tmp_path))
    (point,) = drawn['paired-blocksworld']
    assert point.low == point.value == point.high and 'There is no interval' in text


def test_errors_add_up_in_few_points_without_single_answers(tmp_path, drawn):
    lines = [line(k, k % 3 > 0, optimal_length=1 + k // 4, **asked(
        {'on': counts(9, 10)}, 2, 2, 1)) for k in range(40)]
    write_run(tmp_path / 'ground', lines)
    results = gather(tmp_path)
    text = page_of(results)
    (curve,) = drawn['compounding-blocksworld']
    table = next(t for t in make_tables(results) if t.name == 'compounding')
    assert 2 <= len(curve.points) <= 4 < len(table.rows)
    assert sum(n for *_, n in curve.points) == 40 and min(x for x, *_ in curve.points) > 10
    assert sum(round(fraction * n) for _, fraction, _, _, n in curve.points) == sum(
        bool(measures.solved(one)) for one in lines)
    accuracy = table.rows[0]['accuracy']
    assert len(curve.model) >= 50
    assert all(y == pytest.approx(accuracy ** x) for x, y in curve.model)
    assert curve.model[0][0] <= min(x for x, *_ in curve.points)
    assert 'fraction of episodes solved' in text


def test_failing_actions_name_panels_and_not_models(tmp_path, drawn):
    for number, failing in enumerate((0.0, 0.1)):
        write_run(tmp_path / str(number), [
            line(k, optimal_length=1 + k, failure_probability=failing, **asked(
                {'on': counts(9, 10)}, 2, 2, 1)) for k in range(8)], failure_probability=failing)
    page_of(gather(tmp_path))
    assert [(c.panel, c.name) for c in drawn['compounding-blocksworld']] == [
        ('ground', 'GPT-4.1'), ('ground, 10% of actions fail', 'GPT-4.1')]


# Episodes that are not there


def test_a_report_of_errors_alone_begins_with_their_reasons(tmp_path):
    write_run(tmp_path / 'run', [line(k, False, scored=False, stop='error', failure=None,
                                      error='BackendError: out of order') for k in range(3)])
    read = Reader(text := page_of(gather(tmp_path)))
    assert '<dt>3 episodes</dt><dd>BackendError: out of order</dd>' in text
    assert text.index('id="errors"') < text.index('id="failures"')
    assert not {'success', 'figure5', 'models', 'model_table', 'cost'} & set(read.tables)
    assert 'runs' in read.tables


def test_runs_of_a_sweep_that_have_not_begun_are_counted_as_planned(tmp_path):
    write_run(tmp_path / 'a', [line(0)])
    write_index(tmp_path, 's', [('a', {'method': 'ground'}), ('b', {'method': 'belief'}),
                                ('c', {'method': 'belief'})])
    text = page_of(gather(tmp_path))
    assert '<b>1 of 12</b>' in text
    out = tmp_path / 'o'
    assert main(['report', str(tmp_path), '--out', str(out), '--only', 'method=ground']) == 0
    assert '<b>1</b>' in (out / 'report.html').read_text()


# Tables as they are shown


def test_many_observations_make_a_third_digit_and_sums_are_whole():
    columns = (Column('ece', 'error', 'fraction'), Column('ece_low', 'low', 'fraction'),
               Column('ece_high', 'high', 'fraction'), Column('n', 'n', 'count'),
               Column('questions_sum', 'sum', 'number', 'questions'),
               Column('mean_splits', 'splits', group='mean over splits'))
    made = shown(Table('t', 'T', columns, tuple(
        {'ece': 0.0042, 'ece_low': 0.001, 'ece_high': 0.01, 'n': n, 'questions_sum': 54.0 + n,
         'mean_splits': 'simple'} for n in (300, 400)), ''))
    assert (made.rows[0][0].text, made.rows[0][0].extra) == ('0.004', '0.001 to 0.010')
    assert made.rows[0][2].text == '354' and made.same == (('mean over splits', 'simple'),)


def test_what_is_the_same_in_all_rows_is_said_once():
    table = Table('t', 'T', (Column('domain', 'domain'), Column('method', 'method'),
                             Column('n', 'n', 'count'), Column('x', 'x', 'fraction'),
                             Column('gone', 'gone', 'fraction'), Column('blank', 'blank')),
                  tuple({'domain': 'd', 'method': method, 'n': 5, 'x': 1.0, 'gone': None,
                         'blank': ''} for method in 'ab'), '')
    made = shown(table)
    assert [head.text for head in made.heads] == ['method', 'x'], 'results stay in the rows'
    assert made.same == (('domain', 'd'), ('n', '5'))
    assert made.rows[0][1].value == 1.0 and made.rows[0][1].text == '1.00'


def test_no_success_at_all_stays_in_the_rows_beside_its_domain():
    columns = (Column('method', 'method'),
               Column('household_mean', 'success', 'fraction', 'household'),
               Column('questions_mean', 'mean', 'number', 'questions'))
    made = shown(Table('t', 'T', columns, tuple(
        {'method': method, 'household_mean': 0.0, 'questions_mean': 0.0} for method in 'ab'), ''))
    assert [head.text for head in made.heads] == ['method', 'success']
    assert made.same == (('questions', '0.00'),)


def test_standard_errors_and_intervals_join_their_number():
    columns = (Column('x', 'x', 'fraction'), Column('x_sem', 'SE', 'fraction'),
               Column('x_low', 'low', 'fraction'), Column('x_high', 'high', 'fraction'),
               Column('x_n', 'n', 'count'), Column('y', 'y', 'fraction', 'g'),
               Column('y_sem', 'SE', 'fraction', 'g'))
    made = shown(Table('t', 'T', columns, (
        {'x': .5, 'x_sem': .1, 'x_low': .25, 'x_high': .75, 'x_n': 999, 'y': .5, 'y_sem': .1},
        {'x': .25, 'x_sem': .1, 'x_low': .2, 'x_high': .3, 'x_n': 888, 'y': None,
         'y_sem': None}), ''))
    assert [head.text for head in made.heads] == ['x, 95 %', 'n', 'y (SE)']
    assert [(head.text, head.span) for head in made.groups] == [('', 2), ('g', 1)]
    first, second = made.rows
    assert (first[0].text, first[0].extra) == ('0.500', '0.250 to 0.750'), 'n of 888 and more'
    assert (first[2].text, first[2].extra) == ('0.50', '(0.10)')
    assert (second[2].text, second[2].extra, second[2].value) == ('–', '', None)


@pytest.mark.parametrize(('value', 'kind', 'text'), [
    (1234, 'count', '1,234'), (0.0004, 'p', '< 0.001'), (0.25, 'p', '0.250'),
    (0.123, 'fraction', '0.12'), (90.04, 'number', '90.0'), (1234.5, 'number', '1,234'),
    (6.306, 'number', '6.31'), (-0.014, 'number', '-0.01'),
    (0.5, 'usd', '0.5000'), (0.2, 'seconds', '0.2 s'), (4000.0, 'seconds', '1 h 6 min')])
def test_numbers_are_rounded_by_their_kind(value, kind, text):
    assert number_text(value, kind) == text


def test_every_table_has_a_place(runs):
    assert 'more' not in {place_of(table.name) for table in make_tables(runs)}
    assert place_of('something_else') == 'more'


# The command


@pytest.fixture
def written(tmp_path):
    return write_runs(tmp_path)


def test_the_command_writes_page_and_tables(written, capsys):
    out = written / 'out'
    assert main(['report', str(written / 'ground'), str(written / 'plan'), '--out', str(out),
                 '--title', 'My <title>', '--json']) == 0
    done = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert done['html'] == str(out / 'report.html')
    assert (done['runs'], done['episodes'], done['warnings']) == (2, 12, 0)
    assert done['bytes'] == (out / 'report.html').stat().st_size and done['seconds'] > 0
    assert {'models.csv', 'models.parquet', 'models.md', 'episodes.csv'} <= {
        path.name for path in (out / 'tables').iterdir()}
    assert set(done['tables']) <= {str(path) for path in (out / 'tables').iterdir()}
    text = (out / 'report.html').read_text()
    assert '<h1>My &lt;title&gt;</h1>' in text
    Reader(text)
    assert [path.name for path in out.iterdir() if path.name.startswith('.')] == []


def test_the_default_place_is_in_the_first_directory(written):
    assert main(['report', str(written / 'ground')]) == 0
    page = written / 'ground' / 'report' / 'report.html'
    assert '<h1>Report: ground</h1>' in page.read_text()
    assert main(['report', str(written / 'ground')]) == 0, 'and again'


def test_only_some_runs(written, capsys):
    arguments = ['report', str(written), '--out', str(written / 'o'), '--json', '--only']
    assert main([*arguments, 'method=plan,idle', 'split=simple']) == 0
    assert json.loads(capsys.readouterr().out)['runs'] == 1


@pytest.mark.parametrize(('arguments', 'message'), [
    (['{tmp}/nothing'], 'nothing'), (['{tmp}/empty'], 'not one finished episode'),
    (['{tmp}/ground', '--only', 'method'], '--only method: write KEY=VALUE'),
    (['{tmp}/ground', '--only', 'colour=red'], "no run has 'colour'; there are backend"),
    (['{tmp}/ground', '--only', 'split=hard'], 'nothing is left; split has the values simple'),
    (['{tmp}/ground', '--most', '0'], '--most 0 is out of bounds'),
    (['{tmp}/ground', '--most-mb', 'nan'], '--most-mb nan is out of bounds')])
def test_bad_usage_is_said(arguments, message, written, capsys):
    (written / 'empty').mkdir()
    assert main([a.format(tmp=written) for a in ('report', *arguments)]) == 2
    assert message in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_a_failure(written, capsys):
    (written / 'file').write_text('')
    assert main(['report', str(written / 'ground'), '--out', str(written / 'file' / 'x')]) == 1
    assert 'choose another path' in capsys.readouterr().err
