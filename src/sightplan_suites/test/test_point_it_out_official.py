"""Point-It-Out: the benchmark's files, read and written; what cannot be used is named."""

from __future__ import annotations

import json
import random
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from point_it_out_cases import SIZE, DrawnScenes, place, save_picture, write_data
from sightplan.model import InputError
from sightplan_suites.point_it_out import official, samples
from sightplan_suites.point_it_out.official import read_official, write_official


def only_reason(folder: Path) -> str:
    found = read_official(folder)
    assert found.items == () and len(found.skipped) == 1
    one = found.skipped[0]
    return f'{one.get("id", "")}|{one["file"]}|{one["reason"]}'


# ------------------------------------------------------------------------------------- reading


def test_an_item_is_called_by_its_file_and_index(tmp_path):
    write_data(tmp_path, [place(), place(polygon=[], lang='nothing'), place(lang='again')])
    found = read_official(tmp_path)
    assert [item.id for item in found.items] == ['s1s2/0', 's1s2/2']
    assert [one['id'] for one in found.skipped] == ['s1s2/1']
    assert found.items[1].text == 'again' and found.items[0].mask.sum() == 400
    assert found.files.image(found.items[0].picture).shape == (48, 64, 3)


@pytest.mark.parametrize('path', ['a.png', 'images_s1s2/a.png', 'data/images_s1s2/a.png',
                                  './images_s1s2/a.png'])
def test_the_path_of_a_picture_may_begin_in_any_folder(tmp_path, path):
    write_data(tmp_path, [place(image_path=path)])
    assert read_official(tmp_path).items[0].picture == 'images_s1s2/a.png'


def test_pictures_may_lie_deeper(tmp_path):
    write_data(tmp_path, [place(image_path='bdd10k/x/a.png')],
               pictures=['images_s1s2/bdd10k/x/a.png'])
    assert read_official(tmp_path).items[0].picture == 'images_s1s2/bdd10k/x/a.png'


@pytest.mark.parametrize('path', ['../a.png', '/etc/passwd', 'x/../../a.png', '', 'a\0.png'])
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, path):
    save_picture(tmp_path / 'a.png')
    folder = write_data(tmp_path / 'data', [place(image_path=path)])
    assert 'image_path' in only_reason(folder)


def test_a_missing_picture_is_named(tmp_path):
    write_data(tmp_path, [place(image_path='b.png')])
    assert only_reason(tmp_path).startswith(f's1s2/0|{tmp_path}/images_s1s2/b.png|')


@pytest.mark.parametrize('kind', ['png', 'jpg', 'webp', 'bmp'])
@pytest.mark.parametrize('kept', [0, 1, 20, 60, 0.5, 0.97])
def test_a_truncated_picture_is_named(tmp_path, kind, kept):
    write_data(tmp_path, [place(image_path=f'a.{kind}')], pictures=[f'images_s1s2/a.{kind}'])
    assert read_official(tmp_path).skipped == ()
    picture = tmp_path / 'images_s1s2' / f'a.{kind}'
    content = picture.read_bytes()
    picture.write_bytes(content[:int(kept * len(content)) if isinstance(kept, float) else kept])
    assert f'images_s1s2/a.{kind}|' in only_reason(tmp_path)


def test_a_whole_picture_with_something_behind_it_is_used(tmp_path):
    write_data(tmp_path, [place()])
    with (tmp_path / 'images_s1s2/a.png').open('ab') as file:
        file.write(b'x' * 500)
    assert len(read_official(tmp_path).items) == 1


def test_sizes_that_disagree_are_named(tmp_path):
    write_data(tmp_path, [place(width=65)])
    assert '64 x 48' in only_reason(tmp_path) and '65 x 48' in only_reason(tmp_path)


def test_the_size_is_that_of_the_turned_picture(tmp_path):
    write_data(tmp_path, [place(image_path='a.jpg', width=48, height=64)], pictures=[])
    turned = Image.Exif()
    turned[0x0112] = 6
    (tmp_path / 'images_s1s2').mkdir()
    Image.new('RGB', SIZE).save(tmp_path / 'images_s1s2/a.jpg', exif=turned)
    found = read_official(tmp_path)
    assert found.items[0].size == (48, 64)
    assert found.files.image(found.items[0].picture).shape[:2] == (64, 48)


@pytest.mark.parametrize(('changes', 'said'), [
    ({'polygon': []}, 'no area'), ({'polygon': [[]]}, '0 numbers'),
    ({'polygon': [[1, 2, 3]]}, '3 numbers'), ({'polygon': [[1, 2, 3, 4]]}, '4 numbers'),
    ({'polygon': [[0, 0, 9, 9, 5, 5]]}, 'no area'), ({'polygon': [[7] * 6]}, 'no area'),
    ({'polygon': [[1, 2, 3, 4, float('nan'), 6]]}, 'finite'),
    ({'polygon': [[0, 0, 1e9, 0, 1e9, 1e9]]}, 'far beside'),
    ({'polygon': [[100, 100, 120, 100, 110, 120]]}, 'beside the picture'),
    ({'polygon': {'counts': 'abc'}}, 'polygon'), ({'polygon': [['a'] * 6]}, 'polygon'),
    ({'polygon': [[None] * 6]}, 'polygon'), ({'polygon': None}, 'polygon'),
    ({'polygon': [[True] * 6]}, 'polygon'), ({'polygon': [1, 2, 3, 4, 5, 6]}, 'polygon'),
    ({'s1_or_s2': 's3'}, 's1_or_s2'), ({'s1_or_s2': None}, 's1_or_s2'),
    ({'subclasses': ''}, 'subclasses'), ({'subclasses': []}, 'subclasses'),
    ({'subclasses': 3}, 'subclasses'), ({'lang': ' '}, 'lang'), ({'lang': None}, 'lang'),
    ({'height': '48'}, 'height'), ({'width': 64.5}, 'width'), ({'image_path': 3}, 'image_path')])
def test_a_wrong_field_is_named(tmp_path, changes, said):
    write_data(tmp_path, [place(**changes)])
    assert said in only_reason(tmp_path)


@pytest.mark.parametrize('field', ['polygon', 'image_path', 'height', 'lang', 's1_or_s2'])
def test_a_missing_field_is_named(tmp_path, field):
    entry = place()
    del entry[field]
    write_data(tmp_path, [entry])
    assert f'{field} is missing' in only_reason(tmp_path)


def test_other_fields_are_left_alone_and_names_of_subclasses_are_those_of_the_tables(tmp_path):
    write_data(tmp_path, [place(score=3, subclasses='Object_Part'),
                          place(subclasses=['affordance']), place(subclasses='something new')])
    assert [item.subclass for item in read_official(tmp_path).items] == [
        'object part', 'afd', 'something new']


@pytest.mark.parametrize(('source', 'scenario'), [
    ('bdd10k', 'driving'), ('where2place', 'household'), ('epickitchen', 'kitchen'),
    ('agibot', 'manipulation'), ('rt1', 'manipulation'), ('RT-1', 'manipulation'),
    ('droid_more', 'manipulation'), ('tabletop', 'tabletop')])
def test_the_four_scenarios(tmp_path, source, scenario):
    write_data(tmp_path, [place(dataset_name=source)])
    assert read_official(tmp_path).items[0].scenario == scenario


@pytest.mark.parametrize('content', ['', '{', 'nonsense', '{}', '3', '[' * 100_000, '"x"', '\xff'])
def test_a_file_that_is_no_list_is_named(tmp_path, content):
    (tmp_path / 's1s2.json').write_text(content, 'latin1')
    assert str(tmp_path / 's1s2.json') in only_reason(tmp_path)
    with pytest.raises(InputError, match='not one item'):
        samples.samples('s1', {'data': str(tmp_path)})


@pytest.mark.parametrize('entry', [3, None, [], 'x', {}, [[]], {'image_path': {}}])
def test_an_entry_that_is_none_is_named(tmp_path, entry):
    write_data(tmp_path, [entry])
    assert only_reason(tmp_path).startswith('s1s2/0|')


def test_a_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(InputError, match=f'{tmp_path}.*s1s2.json'):
        read_official(tmp_path)


def test_ten_thousand_damaged_entries_are_named_or_right(tmp_path):
    """Any change of an entry leaves it usable, with a mask, or skipped with a reason."""
    rng = random.Random(0)
    values = [None, True, 0, -1, 3.5, 1e999, 10**400, float('nan'), '', 'x', 's2', [], {}, [[]],
              [[1, 2]], [[0, 0, 5, 0, 5, 5]], [[-5, -5, 500, 0, 5, 500]], [[1e300] * 6],
              [[10**400] * 6], '../x', 'a.png', 48, 64, ['afd'], ['a', 'b'], '\ud800']
    entries = []
    for _ in range(10_000):
        entry = place()
        for _ in range(rng.randint(1, 3)):
            field = rng.choice(list(entry))
            if rng.random() < 0.2:
                del entry[field]
            else:
                entry[field] = rng.choice(values)
            if not entry:
                break
        entries.append(entry)
    write_data(tmp_path, entries)
    found = read_official(tmp_path)
    assert len(found.items) + len(found.skipped) == 10_000
    assert {one['id'] for one in found.skipped} | {item.id for item in found.items} == {
        f's1s2/{index}' for index in range(10_000)}
    assert all(one['reason'] for one in found.skipped)
    assert all(item.mask.any() and item.text.strip() for item in found.items)
    assert 100 < len(found.items) < 9000


def test_a_thousand_damaged_files_never_crash(tmp_path):
    rng = random.Random(1)
    write_data(tmp_path, [place()] * 3)
    whole = (tmp_path / 's1s2.json').read_bytes()
    for _ in range(1000):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        cut = rng.randrange(len(content)) if rng.random() < 0.3 else len(content)
        (tmp_path / 's1s2.json').write_bytes(content[:cut])
        found = read_official(tmp_path)
        assert found.items or found.skipped
        assert all(item.mask.any() for item in found.items)


# -------------------------------------------------------------------------------------- traces


def trace(name):
    return {'image_path': name, 'lang': 'move it'}


@pytest.mark.parametrize(('name', 'start'), [
    ('0_mark_0.19_0.72.png', (0.19, 0.72)), ('x_0.5_1.0.png', (0.5, 1.0)),
    ('7_mark_0_1.png', (0.0, 1.0)), ('rt/3_mark_.5_.25.png', (0.5, 0.25))])
def test_a_start_stands_in_the_name(tmp_path, name, start):
    write_data(tmp_path, traces=[trace(name)], pictures=[f'images_s3/{name}'])
    item, = read_official(tmp_path).items
    assert item.start == start and item.split == 's3' and item.text == 'move it'
    assert item.source == ('rt' if '/' in name else 'unknown')
    assert item.marked is ('mark' in name)


@pytest.mark.parametrize('line', ['7.png,32,12', '7,32,12', 'droid/7.png, 32.0 , 12'])
def test_a_start_stands_in_the_file_beside(tmp_path, line):
    write_data(tmp_path, traces=[trace('droid/7.png')], pictures=['images_s3/droid/7.png'])
    (tmp_path / 'images_s3/droid/points.txt').write_text(f'nonsense\n\n{line}\nother,1,2\n')
    found = read_official(tmp_path)
    assert found.items[0].start == (0.5, 0.25) and found.items[0].source == 'droid'
    assert not found.items[0].marked
    assert [one['file'] for one in found.skipped] == [f'{tmp_path}/images_s3/droid/points.txt:1']


@pytest.mark.parametrize('name', ['droid_more/12.png', '1_2.png', 'mark.png'])
def test_traces_without_a_start_may_begin_anywhere(tmp_path, name):
    write_data(tmp_path, traces=[trace(name)], pictures=[f'images_s3/{name}'])
    item, = read_official(tmp_path).items
    assert item.start is None and not item.marked


@pytest.mark.parametrize('name', ['0_mark_0.19_7.2.png', '0_mark_-0.3_0.5.png'])
def test_a_start_beside_the_picture_is_named(tmp_path, name):
    write_data(tmp_path, traces=[trace(name)], pictures=[f'images_s3/{name}'])
    assert 'the start of the trace' in only_reason(tmp_path)


# ------------------------------------------------------------------------------------- writing


def scenes(count):
    return [DrawnScenes().scene(seed) for seed in range(count)]


def test_what_is_written_is_read_again(tmp_path):
    made = scenes(3)
    written = write_official(tmp_path / 'data', made)
    assert written == {'scenes': 3, 'places': 27, 'traces': 3}
    found = read_official(tmp_path / 'data')
    assert found.skipped == () and len(found.items) == 30
    tasks = [task for scene in made for task in scene.tasks]
    worst = 1.0
    for item, task in zip(found.items, tasks, strict=False):
        assert (item.text, item.split, item.subclass, item.piece, item.source) == (
            task.text, task.stage, task.kind, task.piece, 'tabletop')
        worst = min(worst, (item.mask & task.mask).sum() / (item.mask | task.mask).sum())
    print(f'least IoU of a mask and what is read back: {worst}')
    assert worst > 0.99
    for item, scene in zip(found.items[27:], made, strict=True):
        assert item.start == pytest.approx(scene.traces[0].start, abs=1e-4)
        assert item.task['oracle'] == [list(point) for point in scene.traces[0].oracle]
    assert np.array_equal(found.files.image(found.items[0].picture), made[0].image)


def test_written_entries_have_every_field_of_the_official_ones(tmp_path):
    write_official(tmp_path, scenes(1))
    entry = json.loads((tmp_path / 's1s2.json').read_text())[0]
    assert set(place()) <= set(entry)
    assert isinstance(entry['polygon'][0][0], int) and (
        tmp_path / 'images_s1s2' / entry['image_path']).is_file()
    assert {'image_path', 'lang'} <= set(json.loads((tmp_path / 's3.json').read_text())[0])


def test_a_red_square_marks_the_start(tmp_path):
    made, = scenes(1)
    write_official(tmp_path, [made])
    item = read_official(tmp_path).items[-1]
    image = read_official(tmp_path).files.image(item.picture)
    x, y = int(item.start[0] * 160), int(item.start[1] * 120)
    assert tuple(image[y, x]) == (255, 0, 0) and (image != made.image).any(axis=2).sum() <= 100


def test_depth_is_written_in_millimetres(tmp_path):
    write_official(tmp_path, scenes(1))
    depth = cv2.imread(str(tmp_path / 'depth/00000.png'), cv2.IMREAD_UNCHANGED)
    assert depth.dtype == np.uint16 and (depth == 750).all()


def test_pieces_are_known_of_every_picture(tmp_path):
    made, = scenes(1)
    write_official(tmp_path, [made])
    found = read_official(tmp_path)
    assert set(found.pieces) == {item.picture for item in found.items}
    assert [piece.name for piece in found.pieces['images_s1s2/00000.png']] == [
        piece.name for piece in made.pieces]


@pytest.mark.parametrize('content', ['[3]', '[{}]', '[{"pieces": 3, "pictures": []}]', '{',
                                     '[{"pieces": [{"name": "a", "polygon": [[1]]}]}]'])
def test_damaged_scenes_are_named_and_the_items_remain(tmp_path, content):
    write_official(tmp_path, scenes(1))
    (tmp_path / 'scenes.json').write_text(content)
    found = read_official(tmp_path)
    assert len(found.items) == 10 and 'scenes.json' in found.skipped[0]['file']


def test_drawn_scenes_are_the_same_as_written_ones(tmp_path):
    write_official(tmp_path, scenes(2))
    read, drawn = read_official(tmp_path), official.drawn(scenes(2), 'tabletop')
    assert [(item.id, item.text, item.picture, item.size, item.rings, item.start, item.piece,
             item.subclass, item.scenario, item.task and dict(item.task)) for item in read.items
            ] == [(item.id, item.text, item.picture, item.size, item.rings, item.start, item.piece,
                   item.subclass, item.scenario, item.task and dict(item.task))
                  for item in drawn.items]
    assert read.pieces == drawn.pieces
    for item in read.items:
        assert np.array_equal(read.files.image(item.picture), drawn.files.image(item.picture))


def test_nothing_is_written_over(tmp_path):
    write_official(tmp_path, scenes(1))
    with pytest.raises(InputError, match='is there already'):
        write_official(tmp_path, scenes(1))
