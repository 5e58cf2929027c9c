"""GroundedPlanBench: records and replies that were written without our format at hand."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from grounded_plan_strangers import PICTURE, RECORDS, REPLIES, SIZE
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan.coordinates import Coords, box_of
from sightplan_suites.grounded_plan.predictions import score_file
from sightplan_suites.grounded_plan.reading import read_text
from sightplan_suites.grounded_plan.records import read_records


def steps(text, coords=Coords.PERMILLE_XYXY):
    """Verb, target and numbers of each step."""
    return [(step.action.lower(), step.target, None if step.region is None else tuple(
        round(number, 9) for point in step.region.points for number in point))
        for step in read_text(text, coords, SIZE)]


@pytest.mark.parametrize('name', REPLIES)
def test_replies_of_strangers_are_read_or_the_reason_says_what_would_help(name):
    text, wanted = REPLIES[name]
    if isinstance(wanted, str):
        with pytest.raises(Unread, match=wanted):
            steps(text)
    else:
        assert steps(text) == wanted


def test_a_reply_in_words_does_not_outlive_a_plan_that_cannot_be_used():
    worded = 'grasp(cup, [1, 2, 3, 4])\n'
    for unusable in ('{"actions": []}', '[{"action": "grasp", "bbox": [1, 2'):
        with pytest.raises(Unread):
            steps(worded + unusable)


def test_numbers_that_are_wrong_by_themselves_give_no_doubt():
    good = [('grasp', 'a', (0.1, 0.1, 0.2, 0.2)), ('place', 'b', (0.5, 0.5))]
    for number in (1050, 5000):  # just beside the picture; beside it in every convention
        assert steps(f'grasp(a, [100, 100, 200, 200]) place(b, [500, 500]) '
                     f'close(c, [500, 500, {number}, 700])')[:2] == good
    assert steps('grasp(a, [0, 0, 1, 1])') == [('grasp', 'a', (0.0, 0.0, 0.001, 0.001))]
    assert steps('grasp(a, [0, 0, 1, 1])', Coords.UNIT_XYXY) == [('grasp', 'a', (0, 0, 1, 1))]


@pytest.mark.parametrize(('coords', 'said'), [
    (Coords.UNIT_XYXY, 'pixel_xyxy or permille_xyxy would fit'),
    (Coords.PERMILLE_YXYX, 'cannot be meant as permille_yxyx')])
def test_the_reason_names_only_conventions_that_would_fit(coords, said):
    text = ('grasp(a, [100, 200, 300, 400])' if coords is Coords.UNIT_XYXY
            else 'grasp(a, [0.1, 0.2, 0.3, 0.4])')
    with pytest.raises(Unread, match=said):
        steps(text, coords)


# ---------------------------------------------------------------------------------------- records


def written(tmp_path, row, name='r.jsonl'):
    """A folder with a picture and a record; returns what is read of it."""
    (tmp_path / 'pictures').mkdir(exist_ok=True)
    Image.new('RGB', SIZE).save(tmp_path / PICTURE)
    (tmp_path / name).write_text(row if isinstance(row, str) else json.dumps(row))
    return read_records(tmp_path)


@pytest.mark.parametrize('name', RECORDS)
def test_records_of_strangers_are_read_or_the_error_names_the_choices(name, tmp_path):
    row, wanted = RECORDS[name]
    found = written(tmp_path, row)
    reasons = [one['reason'] for one in found.skipped]
    if isinstance(wanted, str):
        assert not found.items and wanted in reasons[0]
        return
    assert [item.kind for item in found.items] == wanted, reasons
    unit, = found.items[0].task.blocks[0].units
    assert box_of(unit.region) == pytest.approx((100 / 1280, 200 / 720, 180 / 1280, 300 / 720))
    assert found.load(found.items[0]).shape == (720, 1280, 3)


def test_both_instructions_of_a_record_are_tasks_of_one_pair(tmp_path):
    found = written(tmp_path, RECORDS['two fields'][0])
    explicit, implicit = found.items
    assert (explicit.id, implicit.id) == ('desk-1-explicit', 'desk-1-implicit')
    assert explicit.task.pair == implicit.task.pair == 'desk-1'
    assert explicit.task.blocks == implicit.task.blocks
    assert (explicit.task.instruction, implicit.task.instruction) == (
        'put the blue cup into the drawer', 'tidy up')
    steps = ['grasp(cup, [100, 200, 180, 300])', 'place(drawer, [800, 500])']
    lines = tmp_path / 'answers.jsonl'
    lines.write_text('\n'.join(json.dumps({'id': name, 'actions': steps}) for name in (
        'desk-1-explicit', 'desk-1-implicit', 'desk-1')))
    scored = score_file(found, lines)
    assert [one['tsr'] for one in scored['items']] == [1.0, 1.0]
    assert 'write desk-1-explicit or desk-1-implicit' in scored['skipped'][0]['reason']


def test_an_instruction_is_not_counted_twice(tmp_path):
    row = {**RECORDS['two fields'][0], 'instruction': 'tidy up'}
    assert [item.kind for item in written(tmp_path, row).items] == ['explicit', 'implicit']
    row = {**RECORDS['a plan without a place'][0], 'plan': RECORDS['two fields'][0]['plan'],
           'explicit': False, 'instruction': 'tidy up'}
    assert [(item.kind, item.task.instruction) for item in written(tmp_path, row).items] == [
        ('implicit', 'tidy up')]


def test_paths_of_pictures_are_absolute_or_from_the_folder_of_records(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    row = RECORDS['only the abstract one'][0]
    for path in (str(tmp_path / PICTURE), f'~/{PICTURE}', f'file://{tmp_path / PICTURE}',
                 f'./{PICTURE}', PICTURE.replace('/', '\\'), f'../{tmp_path.name}/{PICTURE}',
                 f'file://localhost{tmp_path / PICTURE}'):
        found = written(tmp_path, {**row, 'image': path})
        assert found.load(found.items[0]).shape == (720, 1280, 3), path


def test_comments_and_last_commas_in_files_of_records_are_read_over(tmp_path):
    row = json.dumps({**RECORDS['only the abstract one'][0], 'note': 'see http://x, [1,]'},
                     indent=1)
    text = f'[ // mine\n{row[:-2]},  /* all\nof it */ }},\n// the end\n]'
    assert len(written(tmp_path, text, 'r.json').items) == 1
    (tmp_path / 'r.json').unlink()
    line = json.dumps(RECORDS['only the abstract one'][0])
    found = written(tmp_path, f'// mine\n{line[:-1]},}} // first\n{{"id": 1,, }}\n')
    assert len(found.items) == 1 and 'is not JSON' in found.skipped[0]['reason']
