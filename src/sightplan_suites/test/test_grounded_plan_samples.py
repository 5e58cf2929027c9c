"""GroundedPlanBench: samples, runs, verbs and report."""

from __future__ import annotations

import json

import numpy as np
import pytest

from grounded_plan_cases import (
    IN,
    RED,
    DrawnTasks,
    closed,
    grasp,
    install_scenes,
    no_scenes,
    opened,
    place,
    record,
    right,
    write_data,
    write_lines,
)
from sightplan import cli
from sightplan.model import InputError, Usage
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.model.sample import SampleReply
from sightplan.queries import Generate, TextReply
from sightplan.runs import OpenRun, RunSettings, load_suite
from sightplan.runs.samples import load_samples, random_reply, score_reply, truth_reply
from sightplan_report.results import gather
from sightplan_report.tables.model import Table
from sightplan_suites.grounded_plan import records, report, samples, scenes
from sightplan_suites.grounded_plan.coordinates import Coords

SUITE = load_suite('grounded_plan')


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Scenes that are only drawn."""
    install_scenes(monkeypatch)
    yield
    samples._drawn.cache_clear()
    scenes._scene_source.cache_clear()


def part(split, **options):
    return samples.samples(split, {'count': 3, **options})


# ------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize('split', samples.SPLITS)
def test_scenes_are_drawn_without_data(split):
    found = part(split)
    kinds = [item.details['instruction_type'] for item in found.items]
    assert sorted(kinds) == ['explicit'] * 3 + ['implicit'] * 3
    first = found.items[0]
    assert first.split == first.details['horizon'] == split
    assert first.cluster == first.details['scene'] == f'drawn/{split}/0'
    assert first.parts[0].load().shape == (120, 160, 3)
    assert first.parts[0].load_depth().max() == pytest.approx(0.75)
    assert first.parts[0].camera == (150.0, 150.0, 80.0, 60.0)
    assert first.details['instruction'] in first.parts[1] and 'thousandths' in first.parts[1]
    assert not found.skipped and len({item.cluster for item in found.items}) == 5


def test_what_a_method_sees_tells_nothing_of_the_plan():
    for item in part('long').items:
        seen = json.dumps([item.details, [text for text in item.parts if isinstance(text, str)]])
        assert 'square 0' not in seen and 'units' not in seen and 'n_actions' not in seen


def test_the_suite_has_150_of_each_by_default():
    settings = samples.Settings()
    assert (settings.count, len(samples.SPLITS), len(records.INSTRUCTION_KINDS)) == (150, 3, 2)
    assert len(samples.samples('short', {}).items) == 300


def test_one_seed_gives_the_same_samples_and_another_one_others():
    base = part('short').identity
    assert part('short').identity == base != part('short', seed=1).identity
    for option in ({'coords': 'pixel_xyxy'}, {'grasp_criterion': 'point_in_box'}):
        assert part('short', **option).identity != base


def test_scenes_with_several_tasks_need_fewer_pictures(monkeypatch):
    class Many(DrawnTasks):
        tasks = 2
    install_scenes(monkeypatch, Many)
    found = part('short')
    assert len(found.items) == 6 and found.identity['pictures'] == 3
    assert len({item.id for item in found.items}) == 6


def test_drawn_samples_are_those_of_the_files(tmp_path):
    written = samples.generate(tmp_path / 'data', 2, 0)
    assert written == {'scenes': 9, 'tasks': 12, 'left_out': 0}
    for split in samples.SPLITS:
        read, made = samples.samples(split, {'data': str(tmp_path / 'data')}), part(split, count=2)
        assert [one.id for one in read.items] == [one.id for one in made.items]
        assert read.identity['sha256'] == made.identity['sha256']
        assert [read.truth(one.id) for one in read.items] == [
            made.truth(one.id) for one in made.items]
        assert (read.items[0].parts[0].load() == made.items[0].parts[0].load()).all()
        assert np.allclose(read.items[0].parts[0].load_depth(),
                           made.items[0].parts[0].load_depth())


def test_a_folder_holds_different_plans(tmp_path):
    assert samples.generate(tmp_path / 'data', 1, 0)['tasks'] == 12
    with pytest.raises(InputError, match='count'):
        samples.generate(tmp_path / 'none', 0, 0)


@pytest.mark.parametrize(('options', 'said'), [
    ({'nothing': 1}, 'no option'), ({'coords': 'inches'}, 'coords'), ({'count': 0}, 'count'),
    ({'grasp_criterion': 'near'}, 'grasp_criterion'), ({'scenes': 'absent'}, 'absent'),
    ({'data': '/nowhere'}, '/nowhere')])
def test_bad_options_are_named(options, said):
    with pytest.raises(InputError, match=said):
        samples.samples('short', options)


def test_without_a_maker_of_scenes_the_error_says_so(monkeypatch):
    no_scenes(monkeypatch)
    with pytest.raises(InputError, match='maker of scenes'):
        part('short')


def test_a_maker_without_such_tasks_is_named(monkeypatch):
    class Explicit(DrawnTasks):
        def scene(self, seed, horizon, *, held_out=True, explicit=True):
            scene = super().scene(seed, horizon, held_out=held_out)
            object.__setattr__(scene, 'tasks', scene.tasks[:1])
            return scene

    class Short(DrawnTasks):
        def scene(self, seed, horizon, *, held_out=True, explicit=True):
            return super().scene(seed, 'short', held_out=held_out)
    install_scenes(monkeypatch, Explicit)
    with pytest.raises(InputError, match='3 implicit tasks missing'):
        part('short')
    install_scenes(monkeypatch, Short)
    with pytest.raises(InputError, match='long: .* 3 implicit tasks missing'):
        part('long')


# --------------------------------------------------------------------------- reading, scoring


@pytest.mark.parametrize('criterion', ['iou', 'point_in_box'])
@pytest.mark.parametrize('coords', list(Coords))
def test_the_oracle_is_right_and_chance_is_not(coords, criterion):
    found = part('medium', coords=str(coords), grasp_criterion=criterion)
    worst = 1.0
    for sample in found.items:
        truth = found.truth(sample.id)
        done = score_reply(SUITE, sample, truth, truth_reply(SUITE, sample, truth))
        assert done['unread'] == '' and done['cause'] is None
        assert {done['measures'][name] for name in (
            'tsr', 'tsr_lenient', 'arr', 'precision', 'f1')} == {1.0}
        guess = score_reply(SUITE, sample, truth, random_reply(SUITE, sample, 0))
        assert guess['unread'] == '' and guess['cause']
        worst = min(worst, guess['measures']['arr'])
    assert worst == 0.0


def test_an_unread_reply_counts():
    found = part('short')
    sample = found.items[0]
    done = score_reply(SUITE, sample, found.truth(sample.id), SampleReply('I cannot help.'))
    assert done['cause'] == 'unread' and done['unread'].startswith('the reply says')
    assert done['measures'] == {'tsr': 0.0, 'tsr_lenient': 0.0, 'arr': 0.0, 'precision': 0.0,
                                'f1': 0.0, 'unread': 1.0, 'interleaved': 0.0}


# ---------------------------------------------------------------------------------------- runs


class Planner(ModelByKind):
    """A model that grasps one thing wherever it is asked to, and says nothing for long plans."""

    name = 'Qwen/Qwen3-VL-4B-Instruct'
    usage = Usage()

    @answers(Generate)
    def generate(self, request, deadline: Deadline):
        texts = [part for part in request.parts if isinstance(part, str)]
        assert any('Instruction:' in text for text in texts) and 'grasp' in texts[0]
        if any('5 squares' in text for text in texts):
            return TextReply('Too much for me.')
        return TextReply(json.dumps({'coords': 'pixel_xyxy', 'actions': [
            grasp([8, 20, 20, 40]), place((30, 90))]}))


def run(out, split='all', method='ask', backend=None, **options):
    with OpenRun(RunSettings(suite='grounded_plan', method=method, split=split,
                             backend='noisy_oracle', out=str(out),
                             suite_options={'count': 3, **options}),
                 backend=backend or Planner()) as opened:
        walked = opened.walk()
        return opened.summarise(walked), opened.store.lines()


def test_a_run_asks_and_scores(tmp_path):
    summary, lines = run(tmp_path / 'run')
    assert summary['items'] == 18 and summary['errors'] == 0 and summary['unread'] == 6
    assert set(summary['by_part']) == {f'{horizon}/{kind}' for horizon in records.HORIZONS
                                       for kind in records.INSTRUCTION_KINDS}
    assert summary['measures']['tsr']['value'] == 0.0 and summary['grasp_criterion'] == 'iou'
    assert summary['causes']['unread'] == 6 and sum(summary['causes'].values()) == 18
    json.dumps(lines)


@pytest.mark.parametrize('method', ['ask_cot', 'blind', 'random', 'oracle'])
def test_methods_run(tmp_path, method):
    summary, lines = run(tmp_path, method=method)
    assert summary['errors'] == 0 and len(lines) == summary['scored'] == 18
    if method == 'oracle':
        assert summary['measures']['tsr']['value'] == 1.0 and summary['causes'] == {}


def test_the_criterion_is_part_of_a_runs_identity(tmp_path):
    from sightplan.runs.samples import SamplePlan
    plans = [SamplePlan(RunSettings(suite='grounded_plan', method='oracle', split='short', out='x',
                                    suite_options={'count': 1, 'grasp_criterion': criterion}),
                        SUITE).identity(None) for criterion in ('iou', 'point_in_box')]
    assert plans[0] != plans[1]
    assert plans[1]['samples']['short']['grasp_criterion'] == 'point_in_box'
    run(tmp_path / 'run', 'short')
    with pytest.raises(InputError):
        run(tmp_path / 'run', 'short', grasp_criterion='point_in_box')


def test_the_report_has_table_1_beside_ours(tmp_path):
    for name, options in (('iou', {}), ('point', {'grasp_criterion': 'point_in_box'})):
        run(tmp_path / name, **options)
    tables = {table.name: table for table in report.tables(
        gather([tmp_path / 'iou', tmp_path / 'point']).runs)}
    assert set(tables) == {'plans', 'measures', 'causes'} and report.tables([]) == []
    assert all(isinstance(table, Table) and table.note for table in tables.values())
    rows = tables['plans'].rows
    assert [row['source'] for row in rows].count('paper, table I') == 13
    ours = [row for row in rows if row['source'] == 'here']
    assert [row['criterion'] for row in ours] == ['iou', 'point_in_box']
    assert ours[0]['short/explicit_n'] == 3 and ours[0]['short/explicit_tsr'] == 0.0
    best = next(row for row in rows if row['model'] == 'Gemini-3-Flash')
    assert best['short/explicit_tsr'] == 0.672 and best['long/implicit_arr'] == 0.559
    assert best['long/implicit_n'] == 140 and best['method'] == 'end to end'
    assert len(tables['measures'].rows) == 12
    unread = [row for row in tables['causes'].rows if row['cause'] == 'unread']
    assert [row['count'] for row in unread] == [6, 6]
    assert unread[0]['long/explicit_count'] == 3 and unread[0]['short/explicit_count'] == 0


def test_horizons_that_were_run_one_by_one_are_one_row(tmp_path):
    for split in ('short', 'medium', 'long'):
        run(tmp_path / split, split)
    results = gather(tmp_path)
    (group,) = results.groups
    assert group.splits == ('long', 'medium', 'short') and not group.variant
    ours = [row for table in report.tables(results.runs) if table.name == 'plans'
            for row in table.rows if row['source'] == 'here']
    assert [(row['short/explicit_n'], row['long/explicit_n']) for row in ours] == [(3, 3)]


# --------------------------------------------------------------------------------------- verbs


def command(capsys, *words):
    capsys.readouterr()
    code = cli.main(['suite', 'grounded_plan', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else {}, err


def test_score_needs_no_picture(tmp_path, capsys):
    data = write_lines(tmp_path / 'd' / 'data.jsonl', record(), record(id='b', coords='unit_xyxy'),
                       record(id='c', instruction_type='implicit'), record(id='e'))
    path = write_lines(
        tmp_path / 'p.jsonl', {'id': 'a', 'coords': 'pixel_xyxy', 'actions': right()},
        {'id': 'c', 'coords': 'pixel_xyxy', 'actions': [opened(), grasp(RED), place(IN),
                                                        closed()]},
        {'id': 'b', 'actions': []}, {'id': 'z', 'actions': []}, {'actions': []}, 7)
    for where in (data, data.parent):
        code, found, err = command(capsys, 'score', '--data', where, '--predictions', path)
        assert code == 0
        assert [{name: item[name] for name in ('id', 'tsr', 'tsr_lenient', 'arr', 'precision')}
                for item in found['items']] == [
            {'id': 'a', 'tsr': 1.0, 'tsr_lenient': 1.0, 'arr': 1.0, 'precision': 1.0},
            {'id': 'c', 'tsr': 0.0, 'tsr_lenient': 0.0, 'arr': 0.75, 'precision': 1.0}]
        assert found['measures']['tsr']['value'] == 0.5
        assert found['by_part']['medium/implicit']['arr']['value'] == 0.75
        assert found['items'][1]['cause'] == 'missing_unit'
        assert found['causes'] == {'missing_unit': 1} and found['missing'] == ['e']
        reasons = ' '.join(f'{one["file"]} {one["reason"]}' for one in found['skipped'])
        assert 'reaches beyond' in reasons and "p.jsonl:4 id = 'z': no record of" in reasons
        assert 'p.jsonl:5 id is missing' in reasons and 'its record cannot be used' in reasons
        assert 'e' in err


def test_score_counts_what_cannot_be_read(tmp_path, capsys):
    data = write_lines(tmp_path / 'd.jsonl', *(record(id=name) for name in 'abcd'))
    path = write_lines(
        tmp_path / 'p.jsonl', {'id': 'a', 'coords': 'pixel_xyxy', 'actions': []},
        {'id': 'b', 'coords': 'inches', 'actions': right()}, {'id': 'c', 'actions': right()},
        {'id': 'd', 'coords': 'pixel_xyxy', 'answer': f'so: {json.dumps(right())}'})
    code, found, _ = command(capsys, 'score', '--data', data, '--predictions', path)
    assert code == 0 and found['unread'] == 2
    assert [(one['tsr'], one['cause']) for one in found['items']] == [
        (0.0, 'unread'), (0.0, 'unread'), (1.0, None), (1.0, None)]
    assert "coords = 'inches' is unknown" in found['items'][1]['unread']
    path = write_lines(tmp_path / 'twice.jsonl', *[{'id': 'a', 'actions': right()}] * 2)
    code, _, err = command(capsys, 'score', '--data', data, '--predictions', path)
    assert code == 2 and 'is there twice' in err


def test_answers_are_scored_as_actions_are_and_bad_lines_named(tmp_path, capsys):
    data = write_lines(tmp_path / 'd' / 'data.jsonl', *(record(id=name) for name in 'abc'))
    path, items = tmp_path / 'p.jsonl', []
    for name in ('answer', 'actions'):
        said = right() if name == 'actions' else f'So: {json.dumps(right())}'
        path.write_text(json.dumps({'id': 'a', 'coords': 'pixel_xyxy', name: said})
                        + '\n{"id": "b", "answer": "I cannot"}\n{"id": "c", "ans\n7\n')
        code, found, err = command(capsys, 'score', '--data', data.parent, '--predictions', path)
        assert code == 0 and found['missing'] == ['c'] and found['unread'] == 1
        assert [one['file'].rpartition(':')[2] for one in found['skipped']] == ['3', '4']
        assert 'p.jsonl:3: is not JSON' in err and '1 of 3 tasks' in err and 'NOT scored' in err
        items.append(found['items'])
    assert items[0] == items[1] and len(items[0]) == 2
    assert {name: items[0][1][name] for name in (
        'id', 'tsr', 'tsr_lenient', 'arr', 'precision')} == {
        'id': 'b', 'tsr': 0.0, 'tsr_lenient': 0.0, 'arr': 0.0, 'precision': 0.0}


def test_answers_alone_need_no_picture_and_bad_lines_alone_are_named(tmp_path, capsys):
    data = write_lines(tmp_path / 'data.jsonl', record())
    answers = write_lines(tmp_path / 'a.jsonl', {'id': 'a', 'answer': json.dumps(
        {'coords': 'pixel_xyxy', 'actions': right()})})
    code, found, _ = command(capsys, 'score', '--data', data, '--predictions', answers)
    assert code == 0 and [one['tsr'] for one in found['items']] == [1.0]
    bad = tmp_path / 'b.jsonl'
    bad.write_text('{"id": "a", "ans\n')
    code, found, err = command(capsys, 'score', '--data', data, '--predictions', bad)
    assert code == 1 and found['items'] == [] and 'b.jsonl:1: is not JSON' in err


def test_tasks_without_a_prediction_count_as_zero_where_that_is_asked_for(tmp_path, capsys):
    data = write_lines(tmp_path / 'data.jsonl', *(record(id=name) for name in 'abc'))
    path = write_lines(tmp_path / 'p.jsonl', {'id': 'b', 'coords': 'pixel_xyxy',
                                              'actions': right()})
    values = {}
    for missing in ('skip', 'zero'):
        code, found, err = command(capsys, 'score', '--data', data, '--predictions', path,
                                   '--missing', missing)
        assert code == 0 and found['missing'] == ['a', 'c'] and '2 of 3 tasks' in err
        values[missing] = [found['measures'][name]['value'] for name in ('tsr', 'arr')]
    assert values == {'skip': [1.0, 1.0], 'zero': [pytest.approx(1 / 3)] * 2}
    assert [(one['id'], one['unread']) for one in found['items']] == [
        ('b', ''), ('a', 'no prediction'), ('c', 'no prediction')]
    assert found['unread'] == 2 and found['by_part']['medium/explicit']['tsr']['n'] == 3
    empty = write_lines(tmp_path / 'empty.jsonl')
    assert command(capsys, 'score', '--data', data, '--predictions', empty, '--missing',
                   'zero')[0] == 1


def test_score_with_the_other_criterion(tmp_path, capsys):
    data = write_lines(tmp_path / 'd.jsonl', record())
    small = [opened([490, 330, 510, 350]), grasp([125, 235, 135, 245]), place(IN), *right()[3:]]
    path = write_lines(tmp_path / 'p.jsonl', {'id': 'a', 'coords': 'pixel_xyxy',
                                              'actions': small})
    results = {}
    for criterion in ('iou', 'point_in_box'):
        code, found, _ = command(capsys, 'score', '--data', data, '--predictions', path,
                                 '--grasp-criterion', criterion)
        assert code == 0 and found['grasp_criterion'] == criterion
        results[criterion] = found['items'][0]['tsr']
    assert results == {'iou': 0.0, 'point_in_box': 1.0}


def test_texts_of_replies_are_scored_by_both_criteria(tmp_path, capsys):
    samples.make(tmp_path / 'data', 1, 0, samples.SPLITS)
    found = samples.samples('short', {'data': str(tmp_path / 'data')})
    path = write_lines(tmp_path / 'p.jsonl', *({
        'id': one.id, 'answer': truth_reply(SUITE, one, found.truth(one.id)).text}
        for one in found.items))
    for criterion in ('iou', 'point_in_box'):
        code, scored, _ = command(capsys, 'score', '--data', tmp_path / 'data', '--predictions',
                                  path, '--grasp-criterion', criterion)
        assert code == 0 and scored['measures']['tsr']['value'] == 1.0
        assert scored['grasp_criterion'] == criterion and len(scored['missing']) == 4


def test_check_tells_the_statistics_of_figure_2(tmp_path, capsys):
    write_data(tmp_path, record(), record(id='b', instruction_type='implicit',
                                          instruction='Tidy up the cups.'),
               record(id='c', horizon={'n_actions': 7}))
    code, found, _ = command(capsys, 'check', '--data', tmp_path)
    assert code == 1 and 'n_actions = 7' in found['skipped'][0]['reason']
    counts = found['counts']
    assert counts['items'] == 2 and counts['scenes'] == counts['pictures'] == counts['pairs'] == 1
    assert counts['medium/explicit'] == counts['medium/implicit'] == 1
    assert counts['long/explicit'] == 0 and counts['actions/06'] == 2
    assert {name: counts[f'primitives/{name}'] for name in ('grasp', 'place', 'open', 'close')
            } == {'grasp': 4, 'place': 4, 'open': 2, 'close': 2}
    assert counts['units'] == 8 and counts['unordered_blocks'] == 2
    assert counts['word/cups'] == 2 and counts['word/tidy'] == 1 and 'word/the' not in counts
    assert counts['instruction_words/explicit'] == 6
    assert counts['least_words/implicit'] == counts['most_words/implicit'] == 4
    assert counts['right_plans/01'] == 2
    code, found, _ = command(capsys, 'check', '--data', tmp_path / 'episodes.jsonl')
    assert code == 1 and found['counts']['items'] == 2


def test_check_decodes_every_picture(tmp_path):
    samples.make(tmp_path / 'data', 1, 0, samples.SPLITS)
    assert samples.check(tmp_path / 'data').skipped == []
    for name in ('depth/long_i00000.png', 'images/short_i00000.png'):
        path = tmp_path / 'data' / name
        content = path.read_bytes()
        path.write_bytes(content[:60] + content[-20:])  # its head and its end are whole
    found = samples.check(tmp_path / 'data')
    assert {one['file'].rsplit('/', 1)[1] for one in found.skipped} == {
        'long_i00000.png', 'short_i00000.png'}
    assert found.counts['items'] == 5


def test_make_writes_one_horizon(tmp_path, capsys):
    code, made, _ = command(capsys, 'make', '--out', tmp_path / 'x', '--count', 2, '--seed', 5,
                            '--horizon', 'long')
    assert code == 0 and made['tasks'] == 4 and made['horizons'] == ['long']
    code, found, _ = command(capsys, 'check', '--data', tmp_path / 'x')
    assert code == 0 and found['counts']['long/implicit'] == 2
    lines = [json.loads(line) for line in (tmp_path / 'x' / 'episodes.jsonl').open()]
    assert len(lines[0]['things']) == 10 and lines[0]['source']['dataset'] == 'sightplan'
    code, _, err = command(capsys, 'make', '--out', tmp_path / 'x')
    assert code == 2 and 'is there already' in err
    command(capsys, 'make', '--out', tmp_path / 'y', '--count', 2, '--seed', 5, '--horizon',
            'long', '--training')
    assert (tmp_path / 'y' / 'images' / 'long_i00000.png').read_bytes() != (
        tmp_path / 'x' / 'images' / 'long_i00000.png').read_bytes()


def test_a_run_of_other_instructions_is_not_scored(tmp_path, capsys):
    """Ids may stay the same where the generator's words have changed."""
    samples.make(tmp_path / 'data', 2, 0, ['short'])
    run(tmp_path / 'run', 'short', data=str(tmp_path / 'data'))
    lines = (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines()
    told = json.loads(lines[0])['details']['instruction']
    (tmp_path / 'old.jsonl').write_text('\n'.join(
        [lines[0].replace(told, 'set it down'), *lines[1:]]) + '\n')
    arguments = '--data', tmp_path / 'data', '--predictions', tmp_path / 'old.jsonl'
    code, found, _ = command(capsys, 'score', *arguments)
    assert code == 0 and len(found['items']) == 3 and len(found['missing']) == 1
    assert 'another instruction' in found['skipped'][0]['reason']
    code, found, _ = command(capsys, 'overlay', *arguments, '--out', tmp_path / 'out')
    assert len(found['pictures']) == 3 and 'another instruction' in found['skipped'][0]['reason']


def test_overlays_show_both_plans(tmp_path, capsys):
    from PIL import Image
    write_data(tmp_path / 'd', record(), record(id='../b/c'), record(id='bad', instruction=''))
    path = write_lines(tmp_path / 'p.jsonl', {'id': 'a', 'actions': right(RED, RED)},
                       {'id': '../b/c', 'answer': 'nothing'}, {'id': 'bad', 'actions': right()})
    code, found, err = command(capsys, 'overlay', '--data', tmp_path / 'd', '--predictions', path,
                               '--out', tmp_path / 'out')
    assert code == 0 and len(found['pictures']) == 2 and len(found['skipped']) == 2
    assert 'instruction is empty' in err
    assert sorted(one.name for one in (tmp_path / 'out').iterdir()) == ['a.png', 'b_c.png']
    shown = np.asarray(Image.open(tmp_path / 'out' / 'a.png').convert('RGB'))
    assert shown.shape[1] == 2 * 640 + 8 and shown.shape[0] > 480
    colours = {tuple(colour) for colour in shown.reshape(-1, 3)}
    from sightplan_suites.grounded_plan.drawing import RIGHT, TRUE, WRONG
    assert {TRUE, RIGHT, WRONG} <= colours


def test_samples_of_all_splits_load_through_the_suite():
    loaded = load_samples(SUITE, 'all', {'count': 1})
    assert [len(one.items) for one in loaded] == [2, 2, 2]
