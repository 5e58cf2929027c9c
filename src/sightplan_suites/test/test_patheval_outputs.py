"""Outputs of models in the form of the release: figures equal those counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patheval_release import MAZE, RANDOM, values, write, write_release
from sightplan import cli
from sightplan.runs import load_suite
from sightplan_report.results import gather
from sightplan_suites.patheval import outputs
from sightplan_suites.paths.descriptors import KEYS

PUBLISHED = load_suite('patheval').published
CHOICES = (  # what the model wrote as its answer, and the true one: 2 of 6 are right
    ('Path 1', 1), (' **Path 2.**\n', 1), ('path 1', 1), ('Path 2', 2), (None, 1),
    ('Path 1 is better', 2))
NAMES = ('aB3d', 'Zq9x')
OFFER = "A stranger's prompt. Answer: {} or {}.\nExplanation: why."


def entry(number: int, answer: str | None, better: int, model: str = 'gpt4o', view: str = '2D',
          **more: Any) -> dict[str, Any]:
    reply = None if answer is None else f'Answer: {answer}\nExplanation: it is Path 2 that turns.'
    return {'file': f'combined_images/{number}_{view}.png', 'id': number,
            'prompt': OFFER.format('Path 1', 'Path 2'), f'{model}_output': reply,
            f'{model}_choice': answer, 'ground_truth': f'Path {better}', **more}


def plain(model: str = 'gpt4o', view: str = '2D') -> list[dict[str, Any]]:
    return [entry(number, answer, better, model, view)
            for number, (answer, better) in enumerate(CHOICES)]


def random_names() -> list[dict[str, Any]]:
    """First: 2 (a mapped choice, and the first name of a raw one); second: 1; neither: 1."""
    prompt = OFFER.format(*NAMES)
    rows = [('Path 1', f'Path {NAMES[0]}', 2), (None, f'Path {NAMES[1]}', 2),
            (None, f'It is {NAMES[1]}, not {NAMES[0]}', 1), (None, 'none of them', 1)]
    return [{'file': f'{number}_2D.png', 'id': number, 'prompt': prompt, 'gpt4o_output': raw,
             'gpt4o_choice': choice, 'gpt4o_choice_raw': raw, 'ground_truth': f'Path {better}'}
            for number, (choice, raw, better) in enumerate(rows)]


def dialogues() -> list[dict[str, Any]]:
    """Two of three are right, by what follows ASSISTANT: alone."""
    rows = [('Answer: Path 2\nExplanation: so', 2), ('Path 1', 1), ('Answer: Path 1', 2)]
    return [{'file': f'{number}_3D.png', 'id': number, 'prompt': 'p',
             'llava_output': f'USER: {OFFER.format("Path 1", "Path 2")} ASSISTANT: {reply}',
             'llava_choice': 'Path 1 or Path 2.', 'ground_truth': f'Path {better}'}
            for number, (reply, better) in enumerate(rows)]


def perceived(wrong: tuple[str, ...], first: int, second: int, number: int) -> dict[str, Any]:
    """An answer about two paths of one map; all but some of it is right."""
    found = values(RANDOM, first), values(RANDOM, second)
    said = {key: 1 + ((found[1][key] < found[0][key]) is not (key in wrong)) for key in KEYS}
    return {'file': f'{RANDOM}_2D_{number}.png', 'id': number, 'prompt': 'p',
            'gpt4o_output': 'Answer:\n' + '\n'.join(
                f'{key}: Path {place}' for key, place in said.items()) + '\nExplanation: seen',
            'metrics': {'Path 1': found[0], 'Path 2': found[1]}}


def folder(path: Path) -> Path:
    files = {
        'output_gpt4o_test_none_2D': plain(), 'output_gpt4o_test_flipped_2D': plain()[:4],
        'output_gpt4o_test_random_2D': random_names(),
        'output_gpt4o_test_descriptors_3D': plain(view='3D')[3:],
        'output_gpt4o_no_images': [{**row, 'file': None} for row in plain()[:1]],
        'output_llava_next_7b_none_3D': dialogues(),
        'output_gpt4o_perception_2D': [perceived((KEYS[3],), 0, 1, 0), perceived((), 0, 2, 1),
                                       perceived((KEYS[3], KEYS[6]), 1, 2, 2)]}
    for name, rows in files.items():
        write(path / f'{name}.json', json.dumps(rows))
    return path


def command(capsys: Any, *words: object) -> tuple[int, Any, str]:
    capsys.readouterr()
    code = cli.main(['suite', 'patheval', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    assert 'Traceback' not in err
    return code, json.loads(out.splitlines()[-1]) if out else None, err + out


def test_one_file_is_scored_as_counted_by_hand(tmp_path: Path, capsys: Any) -> None:
    file = write(tmp_path / 'output_gpt4o_x_none_2D.json', json.dumps(plain()))
    code, found, _ = command(capsys, 'score', '--predictions', file)
    [one] = found['files']
    assert code == 0 and (one['model'], one['variant'], one['view']) == ('GPT-4o', 'none', '2d')
    assert one['measures']['solved']['value'] == 2 / 6
    assert one['measures']['solved_lenient']['value'] == 3 / 6
    assert one['measures']['unread']['value'] == 3 / 6
    assert one['positions'] == {'first': 1, 'second': 2, 'neither': 3, 'right_first': 4,
                                'right_second': 2}


def test_a_folder_makes_the_papers_tables_again(tmp_path: Path, capsys: Any) -> None:
    code, found, text = command(capsys, 'score', '--predictions', folder(tmp_path))
    assert code == 0 and len(found['files']) == 7 and found['skipped'] == []
    cells = {(one['table'], one['model'], one['row'], one['column']): one
             for one in found['figures']}

    def cell(*key: Any) -> tuple[float, int, float | None]:
        one = cells[key]
        return one['value'], one['n'], one['printed']
    assert cell(1, 'GPT-4o', '', '2D') == (2 / 6, 6, 0.665)
    assert cell(1, 'GPT-4o', '', '3D, described') == (1 / 3, 3, 0.895)
    assert cell(1, 'GPT-4o', '', 'values alone') == (1.0, 1, 0.894)
    assert cell(1, 'LLaVA-NeXT-7b', '', '3D') == (2 / 3, 3, 0.499)
    assert cell(2, 'GPT-4o', '2D', 'default, second') == (2, 6, 772)
    assert cell(2, 'GPT-4o', '2D', 'flipped, first') == (1, 4, 258)
    assert cell(2, 'GPT-4o', '2D', 'random names, first') == (2, 4, 291)
    assert cell(2, 'GPT-4o', '2D', 'random names, second') == (1, 4, 759)
    assert cell(2, 'LLaVA-NeXT-7b', '3D', 'default, first') == (2, 3, None)
    assert cell(3, 'GPT-4o', 'Path length', '2D') == (1 / 3, 3, 0.58)
    assert cell(3, 'GPT-4o', 'Maximum angle', '2D') == (2 / 3, 3, 0.71)
    assert cell(3, 'GPT-4o', 'Minimum clearance', '2D') == (1.0, 3, 0.46)
    assert 'Table 1' in text and 'Table 2' in text and 'Table 3' in text
    assert '0.333 (paper 0.665, -0.332)' in text


def test_a_figure_that_rounds_to_the_printed_one_is_equal(tmp_path: Path, capsys: Any) -> None:
    """698 of 1,050 are .6648, which the paper prints as .665; 278 name the first path."""
    rows = [entry(number, 'Path 1' if number < 278 else 'Path 2',
                  (1 if number < 278 else 2) if number < 698 else (
                      2 if number < 278 else 1)) for number in range(1050)]
    write(tmp_path / 'output_gpt4o_none_2D.json', json.dumps(rows))
    _, found, text = command(capsys, 'score', '--predictions', tmp_path)
    assert [one['difference'] for one in found['figures']] == ['equal'] * 3
    assert '0.665 (equal)' in text and '278 (equal)' in text


def test_records_tell_task_and_map(tmp_path: Path, capsys: Any) -> None:
    data = write_release(tmp_path / 'data')
    rows = plain()[:3]
    rows[0]['ground_truth'] = 'Path 2'  # as the records have it; that of the last is wrong
    rows[2]['ground_truth'] = 'Path 2'
    file = write(tmp_path / 'output_gpt4o_none_2D.json', json.dumps(rows))
    code, found, err = command(capsys, 'score', '--predictions', file, '--data', data)
    [one] = found['files']
    assert code == 0 and set(one['by_scenario']) == {'s01', 's02', 's08'}
    assert {name: part['solved']['n'] for name, part in one['by_family'].items()} == {
        'random': 2, 'maze': 1}
    assert '1 values of ground_truth are not those of the records' in err
    bare = [{key: value for key, value in row.items() if key not in ('file', 'ground_truth')}
            for row in rows]
    file = write(tmp_path / 'output_gpt4o_no_image.json', json.dumps(bare))
    _, found, _ = command(capsys, 'score', '--predictions', file, '--data', data)
    [one] = found['files']
    assert set(one['by_scenario']) == {'s01', 's02', 's08'}
    assert one['positions']['right_second'] == 1, 'the truth is that of the records'
    (data / 'train').mkdir()  # a set whose pictures and ids are the same names
    for place in ('train/train_dataset_2D.json', 'train/train_dataset_3D.json'):
        view = place[-7:-5]
        text = (data / ('test_dataset_2D_formatted.json' if view == '2D' else
                        'test_auto_dataset_3D_formatted.json')).read_text()
        write(data / place, text.replace('"Path 1"}]', '"Path 2"}]'))
    code, found, _ = command(capsys, 'score', '--predictions', file, '--data', data)
    assert len(found['skipped']) == 2, 'two records may be meant: nothing is guessed'


def test_imported_outputs_are_runs_that_the_report_takes(tmp_path: Path, capsys: Any) -> None:
    out, data = tmp_path / 'runs', write_release(tmp_path / 'data')
    words = ('import', folder(tmp_path / 'outputs'), '--out', out)
    code, found, _ = command(capsys, *words)
    assert code == 0 and len(found['runs']) == 7 and found['samples'] == 24
    assert command(capsys, *words)[1]['kept'] == found['runs']
    assert len(command(capsys, *words, '--data', data)[1]['runs']) == 7, 'records say more'
    runs = gather(out).runs
    tables = {table.name: table for table in load_suite('patheval').tables(runs)}
    printed = {(row['table'], row['model'], row['row'], row['column']): row['difference']
               for row in tables['printed'].rows}
    assert printed[1, 'GPT-4o', '', '2D'] == '-0.332'
    [row] = [row for row in tables['accuracy'].rows
             if row['source'] == 'imported' and row['model'] == 'GPT-4o']
    assert (row['seen_2d'], row['seen_2d_n'], row['values']) == (2 / 6, 6, 1.0)
    capsys.readouterr()
    assert cli.main(['report', str(out), '--out', str(tmp_path / 'report')]) == 0
    assert 'tables 1, 2 and 3' in (tmp_path / 'report' / 'report.html').read_text()


@pytest.mark.parametrize(('edit', 'said'), [
    (lambda row: row.pop('id'), 'id = None'), (lambda row: row.update(id=0), 'there twice'),
    (lambda row: row.update(ground_truth='Path 3'), "ground_truth = 'Path 3'"),
    (lambda row: row.pop('ground_truth'), 'has no ground_truth'),
    (lambda row: row.update(b_output=''), '2 keys end in _output'),
    (lambda row: row.update(gpt4o_choice=1), "gpt4o_choice = '1' is no text"),
    (lambda row: row.update(file='1_3D.png'), 'shows view 3d'),
    (lambda row: row.update(metrics={'Path 1': {}, 'Path 2': {}}), 'metrics.Path 1')])
def test_a_bad_output_is_named(edit: Any, said: str, tmp_path: Path, capsys: Any) -> None:
    rows = plain()
    edit(rows[1])
    file = write(tmp_path / 'output_gpt4o_none_2D.json', json.dumps(rows))
    code, found, _ = command(capsys, 'score', '--predictions', file)
    assert code == 1 and found['files'][0]['items'] == 5
    [skipped] = found['skipped']
    assert said in skipped['reason'] and 'output 2' in skipped['file'] + skipped['reason']


def test_what_holds_no_outputs_is_refused(tmp_path: Path, capsys: Any) -> None:
    write(tmp_path / 'a.json', '[{')
    write(tmp_path / 'b.json', '[{"conversations": []}]')
    code, _, err = command(capsys, 'score', '--predictions', tmp_path)
    assert code == 2 and 'holds no outputs' in err and 'a.json' in err
    (tmp_path / 'a.json').unlink()
    write(tmp_path / 'output_gpt4o_perception_fine_2D.json', json.dumps(plain()))
    code, _, err = command(capsys, 'score', '--predictions', tmp_path)
    assert code == 2 and 'one descriptor a call' in err
    bare = write(tmp_path / 'output_x.json', json.dumps([{**plain()[0], 'file': None}]))
    code, _, err = command(capsys, 'score', '--predictions', bare)
    assert code == 2 and 'says 2D or 3D' in err


def test_a_choice_that_the_reply_contradicts_is_named(tmp_path: Path, capsys: Any) -> None:
    row = {**entry(0, 'Path 1', 1), 'gpt4o_choice': 'Path 2'}
    file = write(tmp_path / 'output_gpt4o_none_2D.json', json.dumps([row]))
    code, found, err = command(capsys, 'score', '--predictions', file)
    assert code == 0 and found['files'][0]['measures']['solved']['value'] == 0
    assert '1 recorded choices are other ones' in err


@pytest.mark.parametrize(('stem', 'parts'), [
    ('output_gpt4o_test_no_images_2D', ('gpt4o_test', 'no_images', '2d')),
    ('output_gpt-4o-mini_combined_none_3D', ('gpt-4o-mini_combined', 'none', '3d')),
    ('output_Intern_VL2_8b_flipped_2d', ('Intern_VL2_8b', 'flipped', '2d')),
    ('output_x_2D', ('x', '', '2d')), ('llama_no_image', ('llama', 'no_images', ''))])
def test_names_of_files_are_taken_apart(stem: str, parts: tuple[str, str, str]) -> None:
    assert outputs.parts_of(stem) == parts


@pytest.mark.parametrize(('names', 'model'), [
    (['gpt4o_test'], 'GPT-4o'), (['gpt4o_mini_test'], 'GPT-4o-mini'), (['gpt-4o-mini'],
                                                                      'GPT-4o-mini'),
    (['qwen_test'], 'Qwen2-VL-7b'), (['llava'], ''), (['llava', 'llavanext13b'], 'LLaVA-NeXT-13b'),
    (['Intern_VL2_8b'], 'Intern-VL2-8b'), (['llava_onevision_2'], 'LLaVA-OneVision-7b'),
    (['llava-v1.6-vicuna-13b-hf'], 'LLaVA-NeXT-13b'), (['', 'mine'], '')])
def test_models_are_known_by_the_beginning_of_a_name(names: list[str], model: str) -> None:
    assert outputs.model_of(names, PUBLISHED) == model


@pytest.mark.parametrize(('prompt', 'names'), [
    (OFFER.format(*NAMES), NAMES), (OFFER.format('Path ab12', '**Path cd34**'), ('ab12', 'cd34')),
    ('Answer: x or y. Later: Answer: aB3d or Zq9x.', NAMES), ('Answer: a or a', None), ('', None)])
def test_random_names_are_those_that_the_prompt_offers(prompt: str, names: Any) -> None:
    assert outputs.offered_names(prompt) == names


ANSWERS = st.one_of(st.none(), st.sampled_from(['Path 1', 'Path 2', '**Path 1**', 'Path\n2.']),
                    st.text(max_size=12))


@given(st.lists(st.tuples(ANSWERS, st.integers(1, 2)), min_size=1, max_size=12))
def test_any_answers_are_scored_as_the_release_scores_them(
        tmp_path_factory: Any, rows: list[tuple[str | None, int]]) -> None:
    """Stripped of spaces, stars, full stops and line breaks, and compared: nothing else."""
    file = write(tmp_path_factory.mktemp('outputs') / 'output_gpt4o_none_2D.json', json.dumps(
        [{**entry(number, answer, better), 'gpt4o_output': answer}
         for number, (answer, better) in enumerate(rows)]))
    [one], skipped = outputs.read_outputs(file, PUBLISHED)
    lines = outputs.lines_of(one, outputs.KnownRecords(None)).lines
    assert not skipped and not one.skipped
    for line, (answer, better) in zip(lines, rows, strict=True):
        plainly = (answer or '').translate(str.maketrans('', '', ' *.\n'))
        assert line['measures']['solved'] == float(plainly == f'Path{better}')


def test_pictures_name_maps(tmp_path: Path) -> None:
    rows = [{**plain()[0], 'file': f'{MAZE}Obstacles_2D_0.png'}]
    file = write(tmp_path / 'output_gpt4o_none_2D.json', json.dumps(rows))
    [one], _ = outputs.read_outputs(file, PUBLISHED)
    [line] = outputs.lines_of(one, outputs.KnownRecords(None)).lines
    assert line['cluster'] == MAZE and line['details']['family'] == 'maze'
