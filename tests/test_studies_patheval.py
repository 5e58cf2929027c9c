"""The tables of what was learned about paths, and the pictures of the page."""

import pytest

import patheval_study as study
from sightplan.model import InputError
from sightplan_suites.paths.descriptors import WAYPOINTS, describe
from sightplan_suites.paths.maps import ObstacleMap
from sightplan_suites.paths.scenarios import FORMS, load_scenarios

COSINE = {'any two': 0.9, 'n': 10, 'on one map': 0.95, 'on_map_n': 5}
CONTENT = {
    'probes': {
        'same': {'cosine': {'frozen': COSINE, 'tuned, linear': COSINE}, 'rows': [
            {'probe': 'linear', 'encoder': 'frozen', 'training': [[60, 100]],
             'held_out': [[51, 100]]},
            {'probe': 'linear', 'encoder': 'tuned', 'training': [[9, 10]],
             'held_out': [[50, 100]]}]},
        'descriptors': {'order': ['path_length', 'sharp_turns'], 'rows': [
            {'probe': 'linear', 'encoder': 'frozen', 'held_out': [[4, 8], [8, 8], [6, 8], [2, 8]],
             'training': [[9, 10], [8, 10], [7, 10], [0, 0]]}]}},
    'tuned': {'test': 1050, 'data': {'items': 13500, 'maps': 400}, 'rows': [
        {'inputs': 'pictures', 'untuned': 525, 'frozen': 735, 'frozen_reworded': 700,
         'tuned': 750},
        {'inputs': 'pictures + descriptors', 'untuned': 525, 'frozen': 1000,
         'frozen_reworded': 900}]}}


def test_what_was_learned_becomes_tables():
    made = study.learned(CONTENT)
    assert ('| linear | frozen | .600 | **.510** (.413-.606), n = 100 | .900 | .950 |'
            in made['same'])
    assert '| frozen | .495 to .540 | – | .761 to .914 | – |' in made['same']
    assert '| path length | **.500** / .900 | 8 |' in made['probes']
    assert '| sharp turns | **.250** / – | 8 |' in made['probes']
    assert '| pictures | **.500** (.470-.530) | **.700** (' in made['tuned']
    assert made['tuned'].splitlines()[2].endswith('| .520 | .510 |')
    assert made['tuned'].splitlines()[3].endswith('| .960 | – |')
    assert '13,500 items' in made['tuned']
    assert study.learned({}) == {}


def test_the_border_can_be_made_an_obstacle():
    item = ObstacleMap('middle', (((-1, -1), (1, -1), (1, 1), (-1, 1)),))
    path = [(-39.5, -20.0), (0.0, 30.0), (39.0, 20.0)]
    plain, bordered = (describe(one, path, rule=WAYPOINTS)
                       for one in (item, study._with_border(item)))
    assert plain.minimum_clearance > 20 and bordered.minimum_clearance == pytest.approx(0.5)
    assert bordered.maximum_clearance == pytest.approx(10.0)
    assert plain.path_length == bordered.path_length


def test_what_is_read_of_sentences_is_counted():
    tasks = load_scenarios()
    rows = study._understood(tasks).splitlines()[2:]
    counts = [[int(cell) for cell in row.split('|')[2:6]] for row in rows]
    assert [sum(row) for row in counts] == [60, 60, 30]
    assert all(len(study.held_out()[task.id]) == 2 for task in tasks)
    met = {text for task in tasks for form in FORMS for text in task.wordings(form)}
    assert met.isdisjoint(text for texts in study.held_out().values() for text in texts)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match='paths_tuned'):
        study.read_learned(tmp_path / 'none.json')


def test_only_what_was_learned_is_regenerated_without_runs(tmp_path, capsys):
    import json
    (tmp_path / 'learned.json').write_text(json.dumps(CONTENT))
    page = tmp_path / study.DOCUMENT
    page.write_text('\n'.join(f'<!-- table {name} -->\nstale one\n<!-- end -->'
                              for name in ('bias', 'same', 'probes', 'tuned')) + '\n')
    assert study.main(['--out', str(tmp_path), '--learned', str(tmp_path / 'learned.json')]) == 0
    text = page.read_text()
    assert text.count('stale one') == 1 and '13,500 items' in text
    assert 'bias' in capsys.readouterr().out
