"""PathEval's files: read, written, checked; the verbs of the suite."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sightplan import cli
from sightplan.model import InputError
from sightplan_suites.patheval import json_files, official, samples, segments
from sightplan_suites.patheval import records as record_files
from sightplan_suites.patheval.items import FromFile
from sightplan_suites.paths.descriptors import KEYS
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, map_text
from sightplan_suites.paths.path_files import PathRun, write_path_runs

BLOCK = ((-10.0, -10.0), (10.0, -10.0), (10.0, 10.0), (-10.0, 10.0))
NEAR = (START, (-30.0, 12.0), (-5.0, 12.0), (11.0, 30.0), GOAL)
FAR = (START, (-36.0, 36.0), GOAL)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with two planned paths beside it."""
    write_path_runs([PathRun(NEAR, 0.5), PathRun(FAR, 1.0)], tmp_path / 'SceneMaze_Dims10_0.txt')
    return write(tmp_path / 'SceneMaze_Dims10_0Obstacles.txt', map_text(ObstacleMap('', (BLOCK,))))


@pytest.fixture(scope='module')
def records(tmp_path_factory: Any) -> Path:
    """Some of the shipped items as records."""
    out: Path = tmp_path_factory.mktemp('records')
    record_files.write_records(out, samples.shipped_items(32)[:20], '2d')
    official.write_segments(out, segments.segment_pairs(2))
    return out


def edited(records: Path, tmp_path: Path, edit: Any) -> Path:
    """Two of the records, the first one changed; the pictures are left where they are."""
    rows = json.loads((records / record_files.RECORDS).read_text())[:2]
    for row in rows:
        row['image'] = str(records / row['image'])
    edit(rows[0])
    write(tmp_path / 'all.json', json.dumps(rows))
    return tmp_path


def command(capsys: Any, *words: object) -> tuple[int, Any, str]:
    """Exit code, result and standard error of a verb with ``--json``."""
    capsys.readouterr()
    code = cli.main(['suite', 'patheval', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    assert 'Traceback' not in err
    return code, json.loads(out.splitlines()[-1]) if out else None, err


# -------------------------------------------------------------------------------- environments


def test_environments_with_paths_become_items(environment: Path) -> None:
    write(environment.with_name('params.json'), '{"runs": 2}')  # of somebody else
    found = samples.samples('test', {'data': str(environment.parent), 'size': 64})
    assert [text for text in found.skipped if 'params.json' in text]
    assert {sample.cluster for sample in found.items} == {'SceneMaze_Dims10_0'}
    tasks = {sample.details['scenario']: found.truth(sample.id) for sample in found.items}
    # Path 2 is longer and has more room; of path 1 all turns are smaller.
    assert 8 in tasks and 2 in tasks
    assert found.items[0].parts[0].load().shape == (64, 128, 3)  # type: ignore[union-attr]


def test_environments_are_counted_by_family(environment: Path, capsys: Any) -> None:
    write(environment.with_name('Scene7Obstacles.txt'),
          '1 4 -38 -38 -30 -38 -30 -30 -38 -30')
    code, found, _ = command(capsys, 'check', '--data', environment.parent)
    assert code == 1
    counts = found['counts']
    assert (counts['files'], counts['polygons/maze'], counts['polygons/hand-made'],
            counts['paths/arrived']) == (2, 1, 1, 2)
    [blocked] = found['skipped']
    assert 'Scene7' in blocked['file'] and 'start' in blocked['reason']


def test_nothing_to_read_is_named(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(InputError, match='no records'):
        samples.samples('test', {'data': str(tmp_path)})
    write(tmp_path / 'SceneMaze_Dims10_0Obstacles.txt', '2\n4 0 0 1 0 1 1 0 1')
    code, found, _ = command(capsys, 'check', '--data', tmp_path)
    assert code == 1 and 'polygon 2 of 2' in found['skipped'][0]['reason']


# ------------------------------------------------------------------------------------- records


def test_records_are_the_items_again(records: Path) -> None:
    found = samples.samples('test', {'data': str(records)})
    shipped = samples.samples('test', {'size': 32})
    for one, other in zip(found.items, shipped.items[:20], strict=True):
        assert one.id == other.id and one.parts[1:] == other.parts[1:]
        assert one.choices == other.choices and one.cluster == other.cluster
        assert found.truth(one.id) == shipped.truth(other.id)
        seen, drawn = one.parts[0].load(), other.parts[0].load()  # type: ignore[union-attr]
        assert (seen == drawn).all()


def test_records_of_others_are_read(records: Path, tmp_path: Path) -> None:
    """Without our keys, with another question and another task: it has no vector."""
    def edit(row: dict[str, Any]) -> None:
        row['conversations'][0]['value'] = '<image>\nMow it. Which path better achieves the task?'
        del row['scenario'], row['map']
        row['id'] = 17
    found = samples.samples('test', {'data': str(edited(records, tmp_path, edit))})
    one = found.items[0]
    assert one.id == '17' and str(one.parts[1]).startswith('Mow it.\n')
    assert one.details['scenario'] == 0 and one.choices[0].properties == ()
    assert found.truth('17') == samples.samples('test', {}).truth(
        samples.shipped_items()[0].id)


@pytest.mark.parametrize(('edit', 'said'), [
    (lambda row: row.pop('id'), 'id is missing'),
    (lambda row: row['metrics'].pop('Path 2'), "metrics: 'Path 2' is missing"),
    (lambda row: row['metrics']['Path 1'].pop(KEYS[3]), 'Path length'),
    (lambda row: row['metrics']['Path 1'].update({KEYS[3]: 'long'}), r'metrics\.Path 1'),
    (lambda row: row['conversations'][1].update(value='Path 3'), "'Path 3'"),
    (lambda row: row['conversations'].pop(), 'one from gpt'),
    (lambda row: row['conversations'][0].update(value='<image>'), 'names no task'),
    (lambda row: row.update(image='none.png'), "'none.png' is not there"),
    (lambda row: row.update(scenario=16), 'scenario = 16')])
def test_a_bad_record_is_named(edit: Any, said: str, records: Path, tmp_path: Path) -> None:
    found = record_files.read_records(edited(records, tmp_path, edit))
    assert len(found.items) == 1 and len(found.skipped) == 1
    reason = found.skipped[0]
    assert reason['file'].endswith('all.json') and 'record 1' in reason['reason']
    assert re.search(said, reason['reason'])


def both_views(records: Path, folder: Path) -> Path:
    """The same records in both views, as the benchmark's folder has them."""
    rows = json.loads((records / record_files.RECORDS).read_text())[:3]
    for view in ('2D', '3D'):
        for number, row in enumerate(rows):
            picture = folder / 'combined_images' / f'{number}_{view}.png'
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes((records / row['image']).read_bytes())
        write(folder / f'test_dataset_{view}_formatted.json', json.dumps([
            {**row, 'id': number, 'image': f'combined_images/{number}_{view}.png'}
            for number, row in enumerate(rows)]))
    return folder


@pytest.mark.parametrize('view', ['2d', '3d'])
def test_two_views_in_one_folder_stay_apart(view: str, records: Path, tmp_path: Path) -> None:
    folder = both_views(records, tmp_path)
    found = samples.samples('test', {'data': str(folder), 'view': view})
    assert [one.id for one in found.items] == ['0', '1', '2']
    for one in found.items:
        assert one.details['view'] == view
    used = record_files.read_records(folder, view)  # type: ignore[arg-type]
    assert all(isinstance(item.pictured, FromFile) and f'_{view.upper()}.png' in item.pictured.name
               for item in used.items)
    assert found.skipped == [], 'a file for each view is how it should be'
    rows = json.loads((folder / f'test_dataset_{view.upper()}_formatted.json').read_text())
    rows[1]['image'] = rows[1]['image'].replace('2D', 'x').replace('3D', '2D').replace('x', '3D')
    write(folder / f'test_dataset_{view.upper()}_formatted.json', json.dumps(rows))
    [skipped] = samples.samples('test', {'data': str(folder), 'view': view}).skipped
    assert f'1 of 3 records have pictures of view {"3d" if view == "2d" else "2d"}' in skipped


def test_pictures_of_the_other_view_are_refused_by_their_names(records: Path,
                                                               tmp_path: Path) -> None:
    folder = both_views(records, tmp_path)
    (folder / 'test_dataset_3D_formatted.json').unlink()
    with pytest.raises(InputError, match='pictures of view 2d.*choose view=2d'):
        samples.samples('test', {'data': str(folder), 'view': '3d'})
    rows = json.loads((folder / 'test_dataset_2D_formatted.json').read_text())
    for row in rows:  # then the name of the file of records says it
        plain = folder / row['image'].replace('_2D', '')
        (folder / row['image']).rename(plain)
        row['image'] = str(plain.relative_to(folder))
    write(folder / 'test_dataset_2D_formatted.json', json.dumps(rows))
    with pytest.raises(InputError, match='pictures of view 2d'):
        samples.samples('test', {'data': str(folder), 'view': '3d'})
    assert len(samples.samples('test', {'data': str(folder)}).items) == 3


def test_a_folder_with_both_views_is_checked_as_a_whole(records: Path, tmp_path: Path,
                                                       capsys: Any) -> None:
    code, found, _ = command(capsys, 'check', '--data', both_views(records, tmp_path))
    assert code == 0 and found['counts']['records'] == 6 and found['skipped'] == []


def test_records_that_cannot_be_used_are_never_replaced(environment: Path) -> None:
    """Although there are environments, from which other items could be made."""
    record_files.write_records(environment.parent, samples.shipped_items(32)[:2], '2d')
    with pytest.raises(InputError, match='view=2d'):
        samples.samples('test', {'data': str(environment.parent), 'view': '3d'})
    write(environment.parent / record_files.RECORDS, '[{')
    with pytest.raises(InputError, match='not one record'):
        samples.samples('test', {'data': str(environment.parent)})


def test_a_record_that_is_there_twice_counts_once(records: Path, tmp_path: Path) -> None:
    folder = edited(records, tmp_path, lambda row: None)
    write(folder / 'more.json', (folder / 'all.json').read_text())
    found = record_files.read_records(folder)
    assert len(found.items) == 2
    assert ['is there twice' in one['reason'] for one in found.skipped] == [True, True]


def test_two_records_of_one_id_are_an_error(records: Path, tmp_path: Path) -> None:
    folder = edited(records, tmp_path, lambda row: None)
    rows = json.loads((folder / 'all.json').read_text())
    rows[1]['id'] = rows[0]['id']
    write(folder / 'all.json', json.dumps(rows))
    with pytest.raises(InputError, match=r'record 2.*twice.*record 1'):
        record_files.read_records(folder)


@pytest.mark.parametrize(('edit', 'said'), [
    (lambda row: row.update(nearer=3 - row['nearer']), 'nearer'),
    (lambda row: row.update(kind='blob'), 'kind'), (lambda row: row['first'].clear(), 'first'),
    (lambda row: row.pop('second'), 'second is missing'),
    (lambda row: row['first'][0].__setitem__(0, float('inf')), 'first')])
def test_a_bad_segment_is_named(edit: Any, said: str, records: Path, tmp_path: Path) -> None:
    rows = json.loads((records / json_files.SEGMENTS).read_text())
    edit(rows[0])
    write(tmp_path / json_files.SEGMENTS, json.dumps(rows))
    found, skipped = official.read_segments(tmp_path)
    assert len(found) == len(rows) - 1 and 'pair 1' in skipped[0]['reason']
    assert said in skipped[0]['reason']


# --------------------------------------------------------------------------------------- verbs


def test_paths_are_measured(environment: Path, tmp_path: Path, capsys: Any) -> None:
    code, found, _ = command(capsys, 'measure', environment, '--path',
                             tmp_path / 'SceneMaze_Dims10_0.txt')
    assert code == 0 and found['rule'] == 'swept' and len(found['measures']) == 2
    through = write(tmp_path / 'through.txt', '-36 -36\n0 0\n36 36\n')
    code, found, _ = command(capsys, 'measure', environment, '--path', through)
    assert code == 0 and list(found['measures']) == list(KEYS)
    assert found['measures']['Minimum clearance'] == 0
    assert found['measures']['Path length'] == pytest.approx(2 * 36 * 2 ** 0.5)
    straight = write(tmp_path / 'straight.txt', '-36.6031 -36.4332\n36.0982 36.363\n')
    least = {}
    for rule in ('swept', 'waypoints'):
        code, found, _ = command(capsys, 'measure', environment, '--path', straight, '--rule',
                                 rule)
        least[rule] = found['measures']['Minimum clearance']
    assert code == 0 and least['swept'] == 0 < least['waypoints'], 'through the walls of a maze'


@pytest.mark.parametrize(('text', 'said'), [
    ('', 'holds no path'), ('1 2\nx y\n', ':2'), ('1 2 3\n', ':1'), ('1 nan\n', ':1'),
    ('1 1\n', 'two different points'), ('1 2\n1 2\n3 4\n', 'point 2 repeats'),
    ('1 2\n300 4\n', 'point 2: the path leaves the map'), ('@\n1 2\n', ':3'),
    ('@\n1 2\n', 'truncated')])
def test_bad_paths_are_named(text: str, said: str, environment: Path, tmp_path: Path,
                             capsys: Any) -> None:
    path = write(tmp_path / 'bad.txt', text)
    code, _, err = command(capsys, 'measure', environment, '--path', path)
    assert code == 2 and str(path) in err and said in err


def test_pairs_are_labelled(environment: Path, tmp_path: Path, capsys: Any) -> None:
    values = dict.fromkeys(KEYS, 0.0)
    first = write(tmp_path / 'a.json', json.dumps({'measures': values}))
    second = write(tmp_path / 'b.json', json.dumps(values | {'Sharp turns': 1}))
    words = ('label', '--first', first, '--second', second, '--scenario')
    code, found, _ = command(capsys, *words, 1)
    assert (code, found['label'], found['votes']) == (0, 1, {'Sharp turns': 1})
    assert command(capsys, *words, 1, '--strict')[1]['reason'] == 'not_significant'
    assert command(capsys, *words, 8)[1]['label'] is None
    code, _, err = command(capsys, *words, 16)
    assert code == 2 and 'choose 1 to 15' in err
    second.write_text('{"measures": {"Smoothness": 3}}')
    code, _, err = command(capsys, *words, 1)
    assert code == 2 and str(second) in err and 'Minimum clearance' in err


def test_paths_are_planned_the_same_again(environment: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / 'planned.txt'
    words = ('plan', environment, '--runs', 2, '--out', out, '--seed')
    code, found, _ = command(capsys, *words, 3)
    assert code == 0 and found['found'] == found['arrived'] == 2
    before = out.read_bytes()
    command(capsys, *words, 3)
    assert out.read_bytes() == before
    command(capsys, *words, 4)
    assert out.read_bytes() != before
    code, _, err = command(capsys, 'plan', environment, '--runs', 0, '--out', out)
    assert code == 2 and 'runs' in err


def test_what_cannot_be_planned_says_why(tmp_path: Path, capsys: Any) -> None:
    environment = write(tmp_path / 'SceneA_Obstacles.txt', '1 4 -38 -38 -30 -38 -30 -30 -38 -30')
    code, found, err = command(capsys, 'plan', environment, '--runs', 2, '--out',
                               tmp_path / 'out.txt')
    assert code == 1 and found['failed'] == {'start_blocked': 2}
    assert 'does not fit at the start' in err and not (tmp_path / 'out.txt').exists()


def test_shipped_items_are_exported(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    some = samples.shipped_items(32)[:3]
    monkeypatch.setattr(samples, 'shipped_items', lambda form, scenarios_file: some)
    out = tmp_path / 'out'
    code, found, _ = command(capsys, 'export', '--out', out, '--view', '3d')
    assert code == 0 and found['records'] == 3
    assert len(samples.samples('test', {'data': str(out), 'view': '3d'}).items) == 3
    code, _, err = command(capsys, 'export', '--out', out)
    assert code == 2 and str(out) in err
