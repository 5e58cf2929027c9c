"""The benchmark's release: as its programs write it, and as a person leaves it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patheval_release import (
    ARRIVED,
    ASTRAY,
    BENT,
    FAR,
    MAZE,
    NEAR,
    PAIRS,
    RANDOM,
    SENTENCES,
    THRESHOLDS,
    attempt,
    pair_entry,
    record,
    table,
    values,
    workbook,
    write,
    write_environments,
    write_pairs,
    write_records,
    write_release,
    write_workbook,
)
from sightplan import cli
from sightplan.model import InputError
from sightplan.runs import load_suite
from sightplan_suites.patheval import official, outputs, records, samples, sheets, tasks_file
from sightplan_suites.patheval.json_files import read_json_files
from sightplan_suites.patheval.pair_samples import environment_in, read_pair_samples
from sightplan_suites.patheval.scenarios import vectors
from sightplan_suites.paths.descriptors import KEYS, NAMES
from sightplan_suites.paths.labels import PATHEVAL, Thresholds
from sightplan_suites.paths.path_files import attempts_from_text


@pytest.fixture(scope='module')
def release(tmp_path_factory: Any) -> Path:
    return write_release(tmp_path_factory.mktemp('release'))


def command(capsys: Any, *words: object) -> tuple[int, Any, str]:
    capsys.readouterr()
    code = cli.main(['suite', 'patheval', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    assert 'Traceback' not in err
    return code, json.loads(out.splitlines()[-1]) if out else None, err


# -------------------------------------------------------------------------------------- the whole


def test_all_of_it_is_counted(release: Path, capsys: Any) -> None:
    code, found, _ = command(capsys, 'check', '--data', release)
    assert code == 0 and found['skipped'] == found['noted'] == []
    assert found['counts'] == {
        'files': 2, 'files/maze': 1, 'files/random': 1, 'polygons/maze': 1, 'polygons/random': 1,
        'paths': 7, 'paths/arrived': 5, 'paths/elsewhere': 1, 'paths/failed': 1, 'pairs': 2,
        'pair samples': 3, 'pair samples/unresolved': 1, 'records': 6, 'records/2d': 3,
        'records/3d': 3, 'records/of a known task': 6, 'records/of a known map': 6,
        'segments': 0, 'tasks': 15, 'thresholds': 7, 'pictures': 6}


@pytest.mark.parametrize('view', ['2d', '3d'])
def test_items_know_task_map_and_what_decides(view: str, release: Path) -> None:
    found = samples.samples('test', {'data': str(release), 'view': view})
    assert [one.id for one in found.items] == ['0', '1', '2']
    for one, (name, ids, task, annotation) in zip(found.items, PAIRS, strict=False):
        details = one.details
        assert (details['scenario'], details['map'], details['view']) == (task, name, view)
        assert details['family'] == {RANDOM: 'random', MAZE: 'maze'}[name]
        assert details['pair'] == f'{name}/{ids[0]}-{ids[1]}'
        assert found.truth(one.id) == {'better': int(annotation == 'Path 2')}
        assert one.choices[0].properties, 'the vector of the task is known'
        wanted = dict(one.choices[0].properties)
        assert set(details['descriptors']) <= wanted.keys(), 'others decide nothing'
        assert str(one.parts[1]).startswith(SENTENCES[task].rstrip('.'))
        assert '..' not in str(one.parts[1]).split('\n')[0]
    picture = found.items[1].parts[0].load()  # type: ignore[union-attr]
    assert picture.max() == 40 + (view == '3d'), 'the picture of this view and id'


def test_without_the_file_of_tasks_nothing_decides(release: Path, tmp_path: Path) -> None:
    write_records(tmp_path)
    [one, *_] = samples.samples('test', {'data': str(tmp_path)}).items
    assert one.details['scenario'] == 0 and one.details['descriptors'] == []
    assert 'level' not in one.details and one.choices[0].properties == ()
    [one, *_] = samples.samples('test', {
        'data': str(tmp_path), 'scenarios': str(release / 'Scenarios.xlsx')}).items
    assert one.details['scenario'] == 8 and one.details['family'] == 'other'
    assert one.details['descriptors'] == ['average_clearance', 'minimum_clearance']


def test_a_label_that_contradicts_the_metrics_is_named(tmp_path: Path, capsys: Any) -> None:
    write_release(tmp_path)
    write(tmp_path / 'pairs' / 'params.txt', '\n'.join(['1000'] * 7))
    code, found, _ = command(capsys, 'check', '--data', tmp_path)
    assert code == 1 and len(found['noted']) == 6 and 'give none' in found['noted'][0]['reason']
    shutil.rmtree(tmp_path / 'pairs')
    file = tmp_path / 'test_dataset_2D_formatted.json'
    rows = json.loads(file.read_text())
    rows[1]['conversations'][1]['value'] = 'Path 2'
    write(file, json.dumps(rows))
    code, found, _ = command(capsys, 'check', '--data', tmp_path)
    [noted] = found['noted']
    assert 'record 2' in noted['file'] and 'give Path 1' in noted['reason']


# ---------------------------------------------------------------------------------- planned paths


def test_a_failed_attempt_costs_no_other(release: Path) -> None:
    found = official.read_environments(release)
    assert {name: tuple(run.points for run in runs) for name, runs in found.arrived.items()} == {
        name: tuple(tuple((round(x, 4), round(y, 4)) for x, y in path) for path in paths)
        for name, paths in ARRIVED.items()}


def test_paths_as_a_person_leaves_them(tmp_path: Path) -> None:
    """Line ends of Windows, a byte order mark, a killed planner, a copy, a lost environment."""
    write_environments(tmp_path)
    text = '\ufeff' + attempt(FAR) + '@\n1 2\n3 x\nRobot Radius: 1\n' + attempt(NEAR) + '@\n1 2\n'
    write(tmp_path / 'paths-rrt' / f'{RANDOM}Obstacles.txt', text.replace('\n', '\r\n'))
    write(tmp_path / 'paths-rrt copy' / f'{RANDOM}Obstacles.txt', attempt(FAR))
    write(tmp_path / 'paths-rrt' / 'SceneWaves_Lines5_0Obstacles.txt', attempt(FAR))
    write(tmp_path / 'data' / 'SceneRings_Gap2_0Obstacles.txt', '')
    found = official.read_environments(tmp_path)
    reasons = '\n'.join(f'{Path(one["file"]).parent.name}: {one["reason"]}'
                        for one in found.skipped)
    assert len(found.skipped) == 5, reasons
    assert [run.points[1] for run in found.arrived[RANDOM]] == [FAR[1], NEAR[1]]
    assert ":8: 'x' is not a number" in reasons and 'is truncated' in reasons
    assert 'data: is empty' in reasons and 'SceneWaves_Lines5_0Obstacles.txt' in reasons
    assert f'paths-rrt copy: {tmp_path}/paths-rrt/{RANDOM}' in reasons


@given(st.lists(st.one_of(
    st.sampled_from(['failed', 'truncated', 'broken']),
    st.integers(0, 2)), max_size=8))
def test_any_mixture_of_attempts_is_counted(parts: list[Any]) -> None:
    paths = (NEAR, BENT, ASTRAY)
    texts = {'failed': attempt(()), 'truncated': '@\n1 2\n', 'broken': '@\n1\nRobot Radius: 1\n'}
    text = ''.join(attempt(paths[one]) if isinstance(one, int) else texts[one] for one in parts)
    found = attempts_from_text(text, 'x')
    assert [run.points[1] for run in found.runs] == [
        paths[one][1] for one in parts if isinstance(one, int)]
    assert found.failed == parts.count('failed')
    assert len(found.broken) == parts.count('truncated') + parts.count('broken')


def test_measured_are_the_paths_that_were_found(release: Path, capsys: Any) -> None:
    code, found, err = command(
        capsys, 'measure', release / 'data' / f'{RANDOM}Obstacles.txt', '--rule', 'waypoints',
        '--path', release / 'paths-rrt' / f'{RANDOM}Obstacles.txt')
    assert code == 0 and len(found['measures']) == 4 and '1 attempt found nothing' in err


# ---------------------------------------------------------------------------------- the tasks


def test_tasks_are_known_by_their_sentences(release: Path) -> None:
    found = tasks_file.read_tasks(release / 'Scenarios.xlsx')
    assert {number: one.vector for number, one in found.by_number.items()} == vectors()
    assert found.number(f'  {SENTENCES[3]}. .'.replace(' a ', '\n a  ')) == 3
    assert found.number(SENTENCES[3].replace('stranger', 'friend')) == 0


def csv_text(rows: Any, delimiter: str = ',') -> str:
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter).writerows(rows)
    return made.getvalue()


def test_tasks_as_a_person_saves_them(tmp_path: Path) -> None:
    """Texts within cells, semicolons, a column of numbers, short names, empty cells for 0."""
    wanted = tasks_file.our_tasks().by_number
    rows = [[*row[:1], *(value or '' for value in row[1:])] for row in table()]
    rows[0] = [' scenario ', 'min clearance', 'Max. Clearance (m)', 'avg_clearance', 'Length',
               'smoothness', 'Number of sharp turns', 'MAX ANGLE']
    numbered = [['', *rows[0]], *([at, *row] for at, row in enumerate(rows[1:]))]
    files = [write_workbook(tmp_path / 'a.xlsx', workbook([[], *rows, ['', '', '']], False)),
             write(tmp_path / 'b.csv', '\ufeff' + csv_text(numbered, ';')),
             write(tmp_path / 'c.csv', csv_text(rows))]
    for file in files:
        found = tasks_file.read_tasks(file).by_number
        assert {number: one.vector for number, one in found.items()} == {
            number: one.vector for number, one in wanted.items()}
        assert found[2].text == SENTENCES[2]


@pytest.mark.parametrize(('edit', 'said'), [
    (lambda rows: rows[0].__setitem__(4, 'Pathlength?'), 'column Path length is missing'),
    (lambda rows: rows[2].__setitem__(1, '2'), "task 2 .*Minimum clearance = '2'"),
    (lambda rows: rows[2].__setitem__(slice(1, None), [0] * 7), 'task 2 .*no descriptor matters'),
    (lambda rows: rows[2].__setitem__(0, rows[1][0]), 'twice'),
    (lambda rows: rows.__delitem__(0), 'no row names the descriptors'),
    (lambda rows: rows.__delitem__(slice(1, None)), 'no column holds sentences')])
def test_a_bad_file_of_tasks_is_named(edit: Any, said: str, tmp_path: Path) -> None:
    rows = table()
    edit(rows)
    file = write_workbook(tmp_path / 'Scenarios.xlsx', workbook(rows))
    with pytest.raises(InputError, match=said) as caught:
        tasks_file.read_tasks(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize('edit', [
    lambda parts: parts.pop('xl/workbook.xml'),
    lambda parts: parts.update({'xl/sharedStrings.xml': '<!DOCTYPE a [<!ENTITY b "c">]><sst/>'}),
    lambda parts: parts.update({'xl/sharedStrings.xml': '<sst/>'}),
    lambda parts: parts.update({'xl/workbook.xml': '<workbook/>'}),
    lambda parts: parts.update({'xl/sharedStrings.xml': '<sst><si>' + '<t>' * 5000 + '</t>' * 5000
                                + '</si></sst>'}),
    lambda parts: parts.update({'xl/worksheets/sheet1.xml': '<sheet'}),
    lambda parts: parts.update({'xl/worksheets/sheet1.xml':
                                '<a><row><c r="ZZZ1"><v>1</v></c></row></a>'})])
def test_a_damaged_workbook_is_named(edit: Any, tmp_path: Path) -> None:
    parts = workbook(table())
    edit(parts)
    with pytest.raises(InputError, match=r'is no table .*save it as'):
        sheets.read_rows(write_workbook(tmp_path / 'a.xlsx', parts))


CELLS = st.text(st.characters(codec='utf-8', exclude_categories=('Cs', 'Cc')), max_size=8)


@given(st.lists(st.lists(st.one_of(CELLS, st.integers(-9, 9)), max_size=5), max_size=5),
       st.booleans())
def test_any_rows_come_back(tmp_path_factory: Any, rows: list[list[Any]], shared: bool) -> None:
    file = tmp_path_factory.mktemp('rows') / 'a.xlsx'
    found = sheets.read_rows(write_workbook(file, workbook(rows, shared)))
    texts = [[str(cell).strip() for cell in row] for row in rows]
    assert found == [row for row in texts if any(row)]


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_with_words(tmp_path_factory: Any, content: bytes) -> None:
    file = write(tmp_path_factory.mktemp('bytes') / 'a.csv', content)
    with pytest.raises(InputError, match='a.csv'):
        tasks_file.read_tasks(file)


def test_our_items_are_asked_in_the_files_sentences(release: Path, tmp_path: Path,
                                                    capsys: Any, monkeypatch: Any) -> None:
    file = release / 'Scenarios.xlsx'
    shipped = samples.samples('test', {'scenarios': str(file)})
    assert len(shipped.items) == 1050
    for one in shipped.items[:40]:
        assert str(one.parts[1]).startswith(SENTENCES[one.details['scenario']])
    level = samples.samples('test', {'variant': 'level1', 'data': str(release)})
    assert len(level.items) == 75 and str(level.items[5].parts[0]).startswith(SENTENCES[2])
    whole = samples.shipped_items(32, scenarios_file=file)
    monkeypatch.setattr(samples, 'shipped_items', lambda form, scenarios_file: whole[:2] if (
        scenarios_file == file) else [])
    code, found, _ = command(capsys, 'export', '--out', tmp_path / 'out', '--scenarios', file)
    assert code == 0 and found['records'] == 2
    monkeypatch.undo()
    rows = [row[:1] + [-sign for sign in row[1:]] if at == 4 else row
            for at, row in enumerate(table()[1:], 1)]
    other = write_workbook(tmp_path / 'other.xlsx', workbook([table()[0], *rows]))
    with pytest.raises(InputError, match='task 4 of the file'):
        samples.samples('test', {'scenarios': str(other)})


@pytest.mark.parametrize(('text', 'said'), [
    ('0.8\n' * 6, 'holds 6 thresholds, not 7'), ('0.8\n' * 8, 'not 7'),
    ('0.8\n' * 6 + 'many', ":7: 'many' is no threshold"), ('0.8\n' * 6 + '-1', ":7: '-1'"),
    ('0.8\n' * 6 + 'nan', "'nan'"), ('Width: 3\n' * 7, ":1: 'Width' is no descriptor"),
    ('Smoothness: 3\n' * 7, 'holds 1')])
def test_bad_thresholds_are_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        tasks_file.read_thresholds(write(tmp_path / 'params.txt', text))


def test_thresholds_are_read_and_used(release: Path, tmp_path: Path) -> None:
    assert tasks_file.find_thresholds(release) == PATHEVAL
    named = ''.join(f'{key} = {value}  # ours\n' for key, value in reversed(
        list(zip(KEYS, THRESHOLDS, strict=True))))
    assert tasks_file.read_thresholds(write(tmp_path / 'params.txt', named)) == PATHEVAL
    write_environments(tmp_path)
    before = len(samples.samples('test', {'data': str(tmp_path)}).items)
    write(tmp_path / 'params.txt', '\n'.join(['1000'] * 3 + ['1'] + ['1000'] * 3))
    found = samples.samples('test', {'data': str(tmp_path)}).items
    assert 0 < len(found) < before
    assert {tuple(one.details['descriptors']) for one in found} == {('path_length',)}


@given(st.lists(st.floats(0, 1e6), min_size=7, max_size=7))
def test_any_thresholds_come_back(tmp_path_factory: Any, limits: list[float]) -> None:
    file = write(tmp_path_factory.mktemp('params') / 'params.txt', '\n'.join(map(repr, limits)))
    assert tasks_file.read_thresholds(file) == Thresholds(**dict(zip(NAMES, limits, strict=True)))


# --------------------------------------------------------------------------------- pair samples


def test_pair_samples_alone_are_items_that_are_drawn(release: Path, tmp_path: Path) -> None:
    write_environments(tmp_path)
    write_pairs(tmp_path)
    write_workbook(tmp_path / 'Scenarios.xlsx', workbook(table()))
    found = samples.samples('test', {'data': str(tmp_path), 'size': 64})
    assert [(one.details['pair'], one.details['scenario'], found.truth(one.id)['better'])
            for one in found.items] == [
        (f'{RANDOM}/0-1', 8, 1), (f'{RANDOM}/0-2', 1, 0), (f'{MAZE}/0-1', 2, 0)]
    assert found.items[0].parts[0].load().shape == (64, 128, 3)  # type: ignore[union-attr]
    for file in (tmp_path / 'data').iterdir():
        file.unlink()
    with pytest.raises(InputError, match=f'the environment {RANDOM} is not there|no records'):
        samples.samples('test', {'data': str(tmp_path)})


@pytest.mark.parametrize(('edit', 'said'), [
    (lambda entry: entry.pop('annotation'), 'annotation is missing'),
    (lambda entry: entry.update(annotation='Path 3'), "annotation = 'Path 3'"),
    (lambda entry: entry['Path 2'].pop('id'), 'Path 2.id is missing'),
    (lambda entry: entry['Path 1']['metrics'].pop(KEYS[0]), 'Path 1.metrics: .*Minimum'),
    (lambda entry: entry['Path 1'].update(path=[[1, float('inf')]]), 'Path 1.path'),
    (lambda entry: entry.update(pair_entry(PAIRS[1])), 'there twice, first at .*pair 2')])
def test_a_bad_pair_sample_is_named(edit: Any, said: str, tmp_path: Path) -> None:
    rows = [pair_entry(pair) for pair in PAIRS[:3]]
    edit(rows[2])
    write(tmp_path / 'pairs.json', json.dumps(rows))
    found = read_pair_samples(read_json_files(tmp_path))
    assert len(found.found) == 2 and len(found.skipped) == 1
    assert re.search(said, found.skipped[0]['reason'])
    assert 'pair 3' in found.skipped[0]['reason']


def test_one_pair_alone_and_a_wrong_id(tmp_path: Path, capsys: Any) -> None:
    """The release's builder leaves the last pair of a map, not a list."""
    write_environments(tmp_path)
    entry = pair_entry(PAIRS[0])
    entry['Path 2']['id'] = 2
    write(tmp_path / 'last.json', json.dumps(entry))
    code, found, _ = command(capsys, 'check', '--data', tmp_path)
    assert code == 1 and found['counts']['pair samples'] == 1
    [noted] = found['noted']
    assert 'Path 2: id = 2' in noted['reason'] and RANDOM in noted['reason']


@pytest.mark.parametrize(('name', 'environment'), [
    (f'{MAZE}Obstacles_2D_3_rrt.png', MAZE), (f'data\\{RANDOM}_3D_12.png', RANDOM),
    ('a/Scene7Obstacles.txt', 'Scene7'), ('7_2D.png', ''), ('SceneMaze_Dims10_3b.png', '')])
def test_environments_are_known_by_names_of_pictures(name: str, environment: str) -> None:
    assert environment_in(name) == environment


def places(content: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in plain data."""
    items = content.items() if isinstance(content, dict) else (
        enumerate(content) if isinstance(content, list) else ())
    return [place, *(one for key, value in items for one in places(value, (*place, key)))]


JUNK = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
                 st.lists(st.integers(), max_size=2), st.dictionaries(
                     st.text(max_size=3), st.integers(), max_size=1), st.just('9' * 300))


@settings(max_examples=60)
@given(st.sampled_from(['pairs', 'records', 'outputs']), st.integers(0, 10 ** 6), JUNK)
def test_whatever_stands_in_a_file_is_named(tmp_path_factory: Any, kind: str, at: int,
                                            junk: Any) -> None:
    """A file with any value changed is read, or refused with words."""
    files: dict[str, list[Any]] = {
        'pairs': [pair_entry(pair) for pair in PAIRS],
        'records': [record(number, '2D') for number in range(3)],
        'outputs': [{'file': 'a_2D.png', 'id': 0, 'prompt': '', 'm_output': 'Path 1',
                     'm_choice': 'Path 1', 'ground_truth': 'Path 1', 'metrics': {
                         f'Path {place}': values(MAZE, place - 1) for place in (1, 2)}}]}
    rows = files[kind]
    spots = places(rows)[1:]
    *way, last = spots[at % len(spots)]
    inner: Any = rows
    for key in way:
        inner = inner[key]
    inner[last] = junk
    folder = tmp_path_factory.mktemp('junk')
    write_environments(folder)
    write(folder / 'rows.json', json.dumps(rows))
    try:
        official.check(folder)
        for file in outputs.read_outputs(folder, load_suite('patheval').published)[0]:
            outputs.lines_of(file, outputs.KnownRecords(None))
    except InputError as error:
        assert str(folder) in str(error)  # noqa: PT017 (an error is not certain)


# --------------------------------------------------------------------------------------- records


def test_records_that_share_ids_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """A test and a training set of one view, and pictures that lie elsewhere."""
    write_records(tmp_path)
    (tmp_path / 'combined_images').rename(tmp_path / 'pictures')
    rows = [{**record(number, '2D'), 'image': 'combined_images\\' + f'{number}_2D.png'}
            for number in (1, 2)]
    rows[0]['conversations'][1]['value'] = 'Path 2'
    rows[1]['conversations'][1]['value'] = 'Path 2'
    write(tmp_path / 'train' / 'train_dataset_2D_formatted.json', json.dumps(rows))
    found = records.read_records(tmp_path, '2d')
    assert [item.id for item in found.items] == [
        *(f'test_dataset_2D_formatted/{number}' for number in range(3)),
        *(f'train/train_dataset_2D_formatted/{number}' for number in (1, 2))]
    assert [item.id for item in records.read_records(tmp_path, '3d').items] == ['0', '1', '2']


def test_replies_about_records_of_one_view_are_scored(release: Path, tmp_path: Path,
                                                      capsys: Any) -> None:
    """Two of three are right; the folder has records in perspective alone, and no tasks."""
    write_records(tmp_path)
    (tmp_path / 'test_dataset_2D_formatted.json').unlink()
    file = write(tmp_path / 'replies.jsonl', ''.join(
        json.dumps({'id': str(number), 'answer': f'Answer: Path {path}'}) + '\n'
        for number, path in enumerate((2, 1, 2))))
    words = ('score', '--data', tmp_path, '--predictions', file)
    code, _, err = command(capsys, *words)
    assert code == 2 and 'pictures of view 3d' in err
    code, found, _ = command(capsys, *words, '--view', '3d')
    assert code == 0 and found['measures']['solved']['value'] == 2 / 3
    assert set(found['by_scenario']) == {'s00'}
    _, found, _ = command(capsys, *words, '--view', '3d', '--scenarios',
                          release / 'Scenarios.xlsx')
    assert set(found['by_scenario']) == {'s01', 's02', 's08'}


def test_single_pictures_name_their_environment(tmp_path: Path) -> None:
    write_records(tmp_path)
    file = tmp_path / 'test_dataset_2D_formatted.json'
    rows = json.loads(file.read_text())
    for row in rows:
        picture = tmp_path / row['image']
        row['image'] = f'{MAZE}Obstacles_2D_{row["id"]}.png'
        picture.rename(tmp_path / row['image'])
    write(file, json.dumps(rows))
    found = records.read_records(tmp_path, '2d')
    assert {item.map for item in found.items} == {MAZE} and set(found.views) == {'2d'}
    (tmp_path / 'test_auto_dataset_3D_formatted.json').unlink()
    with pytest.raises(InputError, match='view=2d'):
        samples.samples('test', {'data': str(tmp_path), 'view': '3d'})
