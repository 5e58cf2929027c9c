"""Tables as files: CSV, Parquet and Markdown hold the same, and nothing escapes its cell."""

import csv
import io
import json
import math
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report_cases import asked, counts, line, sample, write_run
from sightplan.model import InputError
from sightplan_report import export as exporting
from sightplan_report.export import escaped, export, rounded, to_csv, to_markdown, typed
from sightplan_report.results import gather
from sightplan_report.tables import Column, Table, make_tables

COLUMNS = (Column('name', 'name'), Column('ok', 'fine', 'bool'), Column('n', 'n', 'count'),
           Column('fraction', 'fraction', 'fraction', 'hard'), Column('p', 'p', 'p'))


def table(*rows):
    return Table('some', 'Some', COLUMNS, tuple(
        dict(zip([column.key for column in COLUMNS], row, strict=True)) for row in rows), 'Note.')


def runs(folder):
    lines = [line(number, number < 2, **asked({'on': counts(9, 10, 4)}, 2, 3, 1))
             for number in range(4)]
    lines.append(line(4, False, scored=False, stop='error', error='a, "b"\nc | d'))
    return gather(write_run(folder, lines))


def from_csv(text, columns):
    """Read a CSV back with the types of its columns."""
    def value(field, kind):
        if kind == 'text':
            return field or None
        if field == '':
            return None
        return {'bool': lambda: field == 'true', 'count': lambda: int(field)}.get(
            kind, lambda: float(field))()
    head, *rows = csv.reader(io.StringIO(text, newline=''))
    assert head == [column.key for column in columns]
    return [{c.key: value(field, c.kind) for c, field in zip(columns, row, strict=True)}
            for row in rows]


def test_every_format_holds_every_table(tmp_path):
    results = runs(tmp_path / 'run')
    files = export(results, tmp_path / 'out')
    made = [*make_tables(results), exporting.episodes(results)]
    assert {path.name for path in files} == {
        f'{one.name}{ending}' for one in made for ending in ('.csv', '.parquet', '.md')}
    assert all(path.parent == tmp_path / 'out' / 'tables' and path.is_file() for path in files)
    for one in made:
        stem = tmp_path / 'out' / 'tables' / one.name
        rows = [dict(row) for row in one.rows]
        assert from_csv(stem.with_suffix('.csv').read_bytes().decode(), one.columns) == [
            {key: None if value == '' else value for key, value in row.items()} for row in rows]
        assert pq.read_table(stem.with_suffix('.parquet')).to_pylist() == rows
        text = stem.with_suffix('.md').read_text()
        body = [row for row in text.splitlines() if row.startswith('| ')]
        assert len(body) == 2 + len(rows) and f'# {one.title}' in text
        for row, cells in zip(rows, body[2:], strict=True):
            read = [cell.strip() for cell in re.split(r'(?<!\\)\|', cells)[1:-1]]
            whole = [rounded(row[c.key], c.kind).strip() for c in one.columns]
            assert all(found == text or (found[-1:] == '…' and text.startswith(found[:-1]))
                       for found, text in zip(read, whole, strict=True))


def test_parquet_has_types_nulls_and_says_what_it_is(tmp_path):
    results = runs(tmp_path / 'run')
    export(results, tmp_path, [table(('a', True, 3, .25, None), (None, None, None, None, .5))])
    found = pq.read_table(tmp_path / 'tables' / 'some.parquet')
    assert found.schema.types == [pa.string(), pa.bool_(), pa.int64(), pa.float64(), pa.float64()]
    assert [found.column(index).null_count for index in range(5)] == [1, 1, 1, 1, 1]
    field = found.schema.field('fraction')
    assert field.metadata == {b'heading': b'fraction', b'group': b'hard', b'kind': b'fraction'}
    said = found.schema.metadata
    assert (said[b'title'], said[b'note']) == (b'Some', b'Note.')
    origin = json.loads(said[b'sightplan'])
    assert origin['commits'] == ['c0ffee'] and origin['runs'] == [str(tmp_path / 'run')]


def test_the_index_describes_the_tables(tmp_path):
    results = runs(tmp_path / 'run')
    export(results, tmp_path)
    index = json.loads((tmp_path / 'tables' / 'index.json').read_text())
    names = [entry['name'] for entry in index['tables']]
    assert names == [*(one.name for one in make_tables(results)), 'episodes']
    assert index['tables'][-1]['rows'] == 5 and index['warnings'] == []
    assert {'key', 'heading', 'kind', 'group', 'instead'} == set(index['tables'][0]['columns'][0])


def test_episodes_are_flat_and_unknown_is_empty(tmp_path):
    results = gather(write_run(tmp_path, [
        line(0, True, **asked({'on': counts(9, 10)}, 2, 3, 1), usage={
            'requests': 4, 'prompt_tokens': 7, 'completion_tokens': 1, 'cost_usd': None}),
        line(1, False)]))
    first, failed = exporting.episodes(results).rows
    assert (first['id'], first['model_name'], first['run_seed']) == (
        'blocksworld/simple/p0#0', 'GPT-4.1', 0)
    assert (first['answers_asked'], first['answers_right'], first['requests']) == (15, 14, 4)
    assert (first['cost_usd'], first['cause'], first['seconds_reset']) == (None, None, .5)
    assert failed['cause'] == 'budget' and failed['privileged_facts'] == 0
    assert failed['requests'] is None and failed['bag'] is None


def test_samples_are_flat_with_a_column_for_each_measure(tmp_path):
    results = gather(write_run(tmp_path / 'run', [
        sample(0, True, 'Yes', .75), sample(1, False), sample(2, True, 'Perhaps')],
        suite='predicates', method='ask', model='eyes@1', backend='embedded'))
    files = {path.name for path in export(results, tmp_path / 'out')}
    assert 'samples.csv' in files and 'episodes.csv' not in files
    right, wrong, unread = exporting.samples(results).rows
    assert (right['measure_accuracy'], right['measure_brier'], right['p_yes']) == (
        1.0, pytest.approx(.0625), .75)
    assert (wrong['measure_accuracy'], wrong['measure_sensitivity'], wrong['truth'],
            wrong['cause']) == (0.0, None, 'False', 'false_positive')
    assert (unread['measure_accuracy'], unread['answer'], bool(unread['unread'])) == (
        0.0, None, True)


def test_answers_are_written_where_they_were_logged(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, '_BATCH', 2)
    run = write_run(tmp_path / 'run', [line(0), line(1)])
    logged = [{'episode': f'blocksworld/simple/p{n % 3}#0', 'atom': f'on a,b{n}', 'step': n,
               'answer': 'yes' if n else None, 'p_yes': .5, 'p_no': None, 'truth': bool(n % 2),
               'purpose': 'effect', 'stamp_ns': 2 ** 60 + n,
               **({'bounded': True} if n == 1 else {})} for n in range(8)]
    (run / 'answers.jsonl').write_text(
        ''.join(json.dumps(entry) + '\n' for entry in logged) + '{"episode": "blo')
    export(gather(run), tmp_path)
    found = pq.read_table(tmp_path / 'tables' / 'answers.parquet').to_pylist()
    assert [row['step'] for row in found] == [0, 1, 3, 4, 6, 7]  # p2 was never committed
    assert found[0]['answer'] is None and found[1]['answer'] == 'yes'
    assert found[5]['stamp_ns'] == 2 ** 60 + 7 and found[0]['truth'] is False
    assert found[0]['model_name'] == 'GPT-4.1' and found[0]['p_no'] is None
    assert [row['bounded'] for row in found] == [None, True, *[None] * 4]
    rows = (tmp_path / 'tables' / 'answers.csv').read_bytes().split(b'\r\n')
    assert len(rows) == 1 + 6 + 1


def test_files_are_replaced_whole_and_old_ones_go(tmp_path, monkeypatch):
    results = runs(tmp_path / 'run')
    export(results, tmp_path)
    folder = tmp_path / 'tables'
    (folder / 'mine.csv').write_text('not ours')
    export(results, tmp_path, [table(('a', True, 1, .5, .5))])
    left = {path.name for path in folder.iterdir()}
    assert left == {'mine.csv', 'index.json', *(f'{name}{ending}' for name in ('some', 'episodes')
                                                for ending in ('.csv', '.parquet', '.md'))}
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def broken(self, *arguments, **named):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(pq.ParquetWriter, 'write_table', broken)
    with pytest.raises(InputError, match='No space left'):
        export(results, tmp_path, [table(('b', True, 1, .5, .5))])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(InputError, match='choose another directory'):
        export(runs(tmp_path / 'run'), tmp_path / 'file')


def test_csv_by_hand():
    assert to_csv(table(('a "b", c\nd', True, -3, .1, 1e-12), (None, False, None, 2 / 3, None),
                        ('', None, 0, 1.0, 0.0))) == (
        'name,ok,n,fraction,p\r\n"a ""b"", c\nd",true,-3,0.1,1e-12\r\n'
        ',false,,0.6666666666666666,\r\n"",,0,1.0,0.0\r\n')


@pytest.mark.parametrize('text', ['=HYPERLINK("x")', '+1+1', '-2+3', '@SUM(A1)', '\t=1', '\r=1'])
def test_no_csv_cell_is_a_formula(text):
    (row,) = list(csv.reader(io.StringIO(to_csv(table((text, None, -1, None, None))),
                                         newline='')))[1:]
    assert row[0] == "'" + text and row[2] == '-1'


@given(st.text(), st.booleans() | st.none(), st.integers(-2 ** 63, 2 ** 63 - 1) | st.none(),
       st.floats(allow_nan=False) | st.none())
@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_comes_back(tmp_path, text, ok, n, fraction):
    one = table((text, ok, n, fraction, fraction))
    (row,) = from_csv(to_csv(one), one.columns)
    assert (row['name'] or '').removeprefix("'") == text.removeprefix("'")
    assert (row['ok'], row['n'], row['fraction']) == (ok, n, fraction)
    body = [each for each in to_markdown(one).splitlines() if each.startswith('|')]
    assert len(body) == 3
    assert len(re.findall(r'(?<!\\)(?:\\\\)*\|', body[2])) == len(COLUMNS) + 1


@pytest.mark.parametrize(('text', 'safe'), [
    ('a|b', r'a\|b'), ('a\nb\r\nc', 'a b  c'), ('a\\|b', r'a\\\|b'), ('<b>&', '&lt;b&gt;&amp;'),
    ('[x](javascript:y)', r'\[x\](javascript:y)'), ('`rm`', r'\`rm\`'), ('a\x00\x1bb', 'a  b'),
    ('\u2028x\u202ey', ' x y')])
def test_markdown_text_stays_text(text, safe):
    assert escaped(text) == safe


def test_lone_surrogates_are_replaced(tmp_path):
    export(runs(tmp_path / 'run'), tmp_path, [table(('a\ud800b', None, None, None, None))])
    assert pq.read_table(tmp_path / 'tables' / 'some.parquet').to_pylist()[0]['name'] == 'a?b'
    assert '| a b  |' in (tmp_path / 'tables' / 'some.md').read_text()


def test_hostile_names_stay_in_their_place(tmp_path):
    lines = [line(0, domain='../\ud800|x', split='../a\n|b', timings_s={'\ud800': 1.0},
                  **asked({'on,\ud800': counts(1, 2)}))]
    results = gather(write_run(tmp_path / 'run', lines, domain='../\ud800|x'))
    files = export(results, tmp_path / 'deep' / 'out')
    assert {path.parent for path in files} == {tmp_path / 'deep' / 'out' / 'tables'}
    for path in files:
        if path.suffix == '.parquet':
            assert pq.read_table(path).num_rows
        elif path.suffix == '.md':
            body = [row for row in path.read_text().splitlines() if row.startswith('|')]
            assert len({len(re.findall(r'(?<!\\)(?:\\\\)*\|', row)) for row in body}) == 1


def test_markdown_is_rounded_aligned_and_cut(monkeypatch):
    text = to_markdown(table(('a', True, 12345, 2 / 3, .0001), (None, False, None, None, .04999)))
    assert text.splitlines() == [
        '# Some', '',
        '| name | fine |     n | hard, fraction |       p |',
        '| ---- | ---- | ----: | -------------: | ------: |',
        '| a    | yes  | 12345 |          0.667 | < 0.001 |',
        '|      | no   |       |                |   0.050 |',
        '', 'Note.']
    monkeypatch.setattr(exporting, 'MOST_ROWS', 1)
    text = to_markdown(table(*[('a', None, n, None, None) for n in range(3)]))
    assert 'The first 1 of 3 rows' in text and text.count('| a ') == 1


@pytest.mark.parametrize(('value', 'kind', 'expected'), [
    ('x', 'text', 'x'), (3, 'text', '3'), (1, 'bool', None), (True, 'count', None),
    (2.0, 'count', None), (2 ** 63, 'count', None), (2, 'fraction', 2.0), ('2', 'seconds', None),
    (None, 'text', None), (math.nan, 'fraction', None), (-math.inf, 'number', None),
    (10 ** 400, 'seconds', None)])
def test_values_have_the_type_of_their_column(value, kind, expected):
    found = typed(value, kind)
    assert found == expected and type(found) is type(expected)


def test_numbers_for_people():
    assert (rounded(1234.5, 'seconds'), rounded(1.234, 'seconds')) == ('1234', '1.23')
    assert rounded(.00012, 'usd') == '0.0001' and rounded(math.inf, 'number') == 'inf'
