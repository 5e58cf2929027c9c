"""Point-It-Out: samples, what is said about them, runs, and their report."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from point_it_out_cases import DrawnScenes, install_scenes, no_scenes, place, write_data
from sightplan import cli
from sightplan.console import results_table
from sightplan.model import Form, InputError, Region, Target, Usage
from sightplan.model.picture_files import read_image
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.queries import Locate
from sightplan.queries.locate import LocateReply
from sightplan.runs import OpenRun, RunSettings, load_suite
from sightplan.runs import run as run_settings
from sightplan.runs.samples import load_samples, random_reply, score_reply, truth_reply
from sightplan.runs.suite_parts import Unread
from sightplan_report.results import gather
from sightplan_report.tables.model import Table
from sightplan_suites.point_it_out import masks, reading, report, samples, scenes, scoring
from sightplan_suites.point_it_out.ticks import draw_ticks

SUITE = load_suite('point_it_out')


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


def test_scenes_are_drawn_without_data():
    s1, s2, s3 = (part(split) for split in samples.SPLITS)
    assert [len(one.items) for one in (s1, s2, s3)] == [18, 9, 3]
    first = s1.items[0]
    assert first.target == Target('the red ring', Form.POINT) and first.parts[-1] == 'the red ring'
    assert first.cluster == first.parts[0].name and first.parts[0].load().shape == (120, 160, 3)
    assert first.details == {'form': 'point', 'subclass': 'object', 'source': 'tabletop',
                             'scenario': 'tabletop'}
    assert s3.items[0].target.form is Form.TRACE and s3.items[0].start is not None
    assert {sample.id for sample in s1.items}.isdisjoint(sample.id for sample in s2.items)


def test_one_seed_gives_the_same_samples_and_another_one_others():
    assert part('s1').identity == part('s1').identity != part('s1', seed=1).identity
    assert part('s1', form='box').identity != part('s1').identity


def test_drawn_samples_are_those_of_the_files(tmp_path):
    samples.generate(tmp_path / 'data', 3, 0)
    for split in samples.SPLITS:
        read, made = samples.samples(split, {'data': str(tmp_path / 'data')}), part(split)
        assert [one.id for one in read.items] == [one.id for one in made.items]
        assert read.identity['sha256'] == made.identity['sha256']
        assert [read.truth(one.id) for one in read.items] == [
            made.truth(one.id) for one in made.items]


@pytest.mark.parametrize(('options', 'said'), [
    ({'nothing': 1}, 'no option'), ({'form': 'trace'}, 'form'), ({'count': 0}, 'count'),
    ({'scenes': 'absent'}, 'absent'), ({'data': '/nowhere'}, '/nowhere')])
def test_bad_options_are_named(options, said):
    with pytest.raises(InputError, match=said):
        samples.samples('s1', options)


def test_without_a_maker_of_scenes_the_error_says_so(monkeypatch):
    no_scenes(monkeypatch)
    with pytest.raises(InputError, match='maker of scenes'):
        part('s1')


def test_a_trace_that_its_own_oracle_does_not_do_is_left_out_and_named(monkeypatch, tmp_path):
    class Failing(DrawnScenes):
        def follow(self, scene_id, task, trace):
            return {'done': scene_id.endswith('1'), 'touched': []}
    install_scenes(monkeypatch, Failing)
    found = part('s3')
    assert [sample.id for sample in found.items] == ['s3/0'] and len(found.skipped) == 2
    assert found.skipped[0].startswith('drawn/0: its own oracle')
    written = samples.generate(tmp_path / 'data', 3, 0)
    assert written['traces'] == 1 and written['traces_left_out'] == 2


def test_ticks_leave_coordinates_as_they_are():
    plain, ticked = (part('s1', ticks=on).items[0].parts[0].load() for on in (False, True))
    assert plain.shape == ticked.shape and (plain != ticked).any()
    inside = np.s_[40:, 60:]
    assert (plain[inside] == ticked[inside]).all()
    for size in ((480, 640), (20, 30), (2000, 3000)):
        assert draw_ticks(np.zeros((*size, 3), np.uint8)).shape == (*size, 3)


def test_check_decodes_every_picture(tmp_path):
    samples.generate(tmp_path / 'data', 1, 0)
    found = samples.check(tmp_path / 'data')
    assert found.counts == {'items': 10, 'pictures': 2, 's1/object': 3, 's1/object part': 3,
                            's2/contact': 3, 's3': 1} and found.skipped == []
    for name in ('depth/00000.png', 'images_s1s2/00000.png'):
        path = tmp_path / 'data' / name
        content = path.read_bytes()
        path.write_bytes(content[:60] + content[-20:])  # its head and its end are whole
        found = samples.check(tmp_path / 'data')
        assert str(path) in {one['file'] for one in found.skipped}
    assert found.counts['items'] == 1


def test_check_counts_official_files_and_fails_for_what_is_skipped(tmp_path, capsys):
    write_data(tmp_path, [place(), place(subclasses='restriction'), place(polygon=[])])
    assert cli.main(['suite', 'point_it_out', 'check', '--data', str(tmp_path), '--json']) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found['counts']['s1/restriction'] == 1 and 's1s2/2' in found['skipped'][0]['reason']


# ---------------------------------------------------------------------------------------- masks


def test_simulated_models_are_told_where_things_are():
    s2 = part('s2')
    sample = s2.items[0]
    found = s2.mask_source(sample).masks(sample.target.text)
    truth = s2.truth(sample.id)
    assert (found.target == masks.fill(truth['polygon'], truth['size'])).all()
    assert len(found.others) == 2 and not any((other & found.target).any()
                                              for other in found.others)
    with pytest.raises(InputError, match='the pink ring'):
        s2.mask_source(sample).masks('the pink ring')


def test_of_official_pictures_the_other_items_are_the_other_things(tmp_path):
    far = [40, 30, 50, 30, 50, 40, 40, 40]
    touching = [25, 25, 50, 25, 50, 40, 25, 40]
    write_data(tmp_path, [place(), place(lang='far', polygon=[far]),
                          place(lang='touching', polygon=[touching])])
    found = samples.samples('s1', {'data': str(tmp_path)})
    known = found.mask_source(found.items[0]).masks('the square')
    assert known.target.sum() == 400 and [other.sum() for other in known.others] == [121]


# ------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize('form', ['point', 'points', 'box'])
@pytest.mark.parametrize('split', samples.SPLITS)
def test_the_oracle_is_right_and_chance_is_valid(form, split):
    found = part(split, form=form)
    worst = 1.0
    for sample in found.items:
        truth = found.truth(sample.id)
        right = score_reply(SUITE, sample, truth, truth_reply(SUITE, sample, truth))
        assert right['unread'] == '' and right['cause'] is None
        assert right['measures']['score'] == 1.0
        guess = score_reply(SUITE, sample, truth, random_reply(SUITE, sample, 0))
        assert guess['unread'] == ''
        worst = min(worst, guess['measures']['score'])
    assert worst == 0.0 or form == 'box'


def test_traces_of_official_data_have_no_oracle(tmp_path):
    write_data(tmp_path, traces=[{'image_path': '0_mark_0.2_0.7.png', 'lang': 'move'}],
               pictures=['images_s3/0_mark_0.2_0.7.png'])
    found = samples.samples('s3', {'data': str(tmp_path)})
    sample, = found.items
    with pytest.raises(InputError, match='no oracle'):
        truth_reply(SUITE, sample, found.truth(sample.id))
    guess = score_reply(SUITE, sample, found.truth(sample.id), random_reply(SUITE, sample, 0))
    assert guess['measures']['start_error'] == 0.0 and guess['measures']['score'] is None


def sample_of(form):
    return Sample('s1s2/0', 's1', 'a.png', ('the thing',), target=Target('the thing', form))


def regions(*points, form=Form.POINT):
    return json.dumps([{'form': form, 'points': [list(one) for one in points]}])


@pytest.mark.parametrize(('text', 'form', 'said'), [
    ('', Form.POINT, 'empty'), ('[0.5, 0.5]', Form.POINT, 'no region'),
    ('[]', Form.POINT, 'no JSON list'), ('{}', Form.POINT, 'no JSON list'),
    ('null', Form.POINT, 'no JSON list'), ('[' * 9999, Form.POINT, 'no JSON list'),
    (regions((2, 3)), Form.POINT, 'not within 0 and 1'),
    (regions((0.5,)), Form.POINT, 'no region'), (regions((0.5, 10**400)), Form.POINT, 'finite'),
    (regions((0.5, float('nan'))), Form.POINT, 'finite'),
    (regions((0.1, 0.1), (0.2, 0.2)), Form.POINT, 'cannot have 2'),
    (regions((0.1, 0.1), (0.2, 0.2), form=Form.TRACE), Form.POINT, 'a trace instead'),
    (regions((0.1, 0.1)), Form.TRACE, 'a place instead'),
    (json.dumps(json.loads(regions((0.1, 0.1))) + json.loads(
        regions((0.1, 0.1), (0.2, 0.2), form=Form.BOX))), Form.POINT, 'mixed')])
def test_what_is_no_answer_is_unread_with_its_reason(text, form, said):
    with pytest.raises(Unread, match=said) as unread:
        reading.read(text, sample_of(form))
    assert str(unread.value)


def test_a_box_may_answer_where_a_point_was_asked_for():
    text = regions((0.1, 0.1), (0.2, 0.2), form=Form.BOX)
    assert reading.read(text, sample_of(Form.POINT)) == json.loads(text)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), form=st.sampled_from([Form.POINT, Form.BOX, Form.TRACE]))
def test_every_guess_is_read(seed, form):
    text = reading.guess(sample_of(form), random.Random(seed))
    found = reading.read(text, sample_of(form))
    assert [Region.from_json(one).to_json() for one in found] == found == json.loads(text)


# ---------------------------------------------------------------------------------------- runs


class Pointing(ModelByKind):
    """A model that points at the middle, boxes everything, or draws a line."""

    name = 'molmo-7b-d-0924'
    usage = Usage()

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        form = request.target.form
        points = {Form.POINT: ((0.5, 0.5),), Form.BOX: ((0.0, 0.0), (1.0, 1.0)),
                  Form.TRACE: (request.start, (0.5, 0.5))}[form]
        if request.target.text.startswith('the left'):
            return LocateReply(text='hm', unread='no place in it')
        return LocateReply((Region(form, points),), text='there')


def run(out, split='all', method='ask', backend=None, **options):
    with OpenRun(RunSettings(suite='point_it_out', method=method, split=split,
                             backend='noisy_oracle', out=str(out),
                             suite_options={'count': 3, **options}),
                 backend=backend or Pointing()) as opened:
        walked = opened.walk()
        return opened.summarise(walked), opened.store.lines()


def test_a_run_locates_and_scores(tmp_path):
    summary, lines = run(tmp_path / 'run')
    assert summary['items'] == 30 and summary['unread'] == 9 and summary['errors'] == 0
    assert summary['outputs'] == {'points': 27, 'trace': 3}
    zero, dropped = (summary['measures'][name]['value'] for name in ('on_mask', 'on_mask_dropped'))
    assert 0 < zero < dropped and summary['measures']['iou_normalised']['n'] == 0
    assert zero * 27 == pytest.approx(dropped * 18)
    assert summary['measures']['done'] == {**summary['measures']['done'], 'value': 0.0, 'n': 3}
    assert summary['measures']['start_error']['value'] == pytest.approx(0.0, abs=1e-6)
    assert set(summary['by_subclass']) == {'s1/object', 's1/object part', 's2/contact', 's3'}
    json.dumps(lines)
    boxes, _ = run(tmp_path / 'boxes', 's2', form='box')
    assert boxes['outputs'] == {'box': 9} and boxes['measures']['iou_normalised']['n'] == 9


class Knowing(ModelByKind):
    """A model that knows "red" alone, and replies otherwise than it should about "blue"."""

    name = 'knowing-1'

    def __init__(self, wrong):
        self.wrong = wrong

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        if 'red' in request.target.text:
            return LocateReply((Region(Form.POINT, ((np.float32(0.5), 0.5),)),),
                               probability=np.float32(0.5))
        return LocateReply(unknown=('green',)) if 'green' in request.target.text else self.wrong


def test_a_sample_whose_words_the_model_does_not_know_has_a_cause_of_its_own(tmp_path):
    _, lines = run(tmp_path / 'run', 's1', backend=Knowing(LocateReply()))
    unknown = [line for line in lines if line['cause'] == 'unknown_words']
    assert len(unknown) == 6 and all(line['unknown'] == ['green'] for line in unknown)
    assert all(line['measures']['score'] == 0.0 and not line['unread'] for line in unknown)
    assert {line['cause'] for line in lines if not line['unknown']} <= {None, 'missed', 'nothing'}
    json.dumps(lines)


def test_a_model_that_cannot_point_is_refused_and_leaves_no_folder(tmp_path):
    out = tmp_path / 'run'
    settings = RunSettings(suite='point_it_out', method='ask', split='s1', out=str(out),
                           suite_options={'count': 3}, backend='noisy_oracle')
    with pytest.raises(InputError, match="'noisy_oracle' cannot point at things; choose one that "
                                         'can: .*openai'):
        run_settings(settings)
    assert not out.exists()
    assert run_settings(replace(settings, method='oracle'))['scored'] == 18


class Refusing(ModelByKind):
    """A model that refuses all, as one that draws no points."""

    name = 'refusing-1'

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        raise InputError('refusing: ask for a trace')


def test_a_run_that_is_refused_on_its_way_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr('sightplan.runs.sample_work.make_backend', lambda *_: Refusing())
    settings = RunSettings(suite='point_it_out', method='ask', split='s1', record=True,
                           backend='noisy_locator', suite_options={'count': 3},
                           out=str(tmp_path / 'run'))
    with pytest.raises(InputError, match='ask for a trace'):
        run_settings(settings)
    assert not (tmp_path / 'run').exists()
    assert run_settings(replace(settings, method='oracle', record=False))['scored'] == 18
    with pytest.raises(InputError):
        run_settings(settings)
    assert (tmp_path / 'run' / 'run.json').exists(), 'what others made stays'


@pytest.mark.parametrize('wrong', [
    LocateReply((Region(Form.POINT, ((120, 80),)),)), LocateReply(((0.5, 0.5),)), None,
    LocateReply((Region(Form.BOX, ((0.5, 0.5), (0.6, 0.6))),)),
    LocateReply(Region(Form.POINT, ((0.5, 0.5),)))])
def test_a_reply_that_breaks_its_contract_costs_one_sample(tmp_path, wrong):
    summary, lines = run(tmp_path / 'run', 's1', backend=Knowing(wrong))
    assert (summary['items'], summary['errors'], summary['scored']) == (18, 6, 12)
    assert all(line['error'].startswith('BackendError: knowing-1 replied') for line in lines
               if line['error'])


@pytest.mark.parametrize('method', ['oracle', 'random', 'blind'])
def test_methods_run(tmp_path, method):
    summary, lines = run(tmp_path, method=method)
    assert summary['errors'] == 0 and len(lines) == summary['scored'] == 30
    if method == 'oracle':
        assert summary['measures']['score']['value'] == 1.0
        assert summary['measures']['done']['value'] == 1.0


def test_scoring_the_replies_again_gives_the_same(tmp_path, capsys):
    samples.generate(tmp_path / 'data', 3, 0)
    summary, lines = run(tmp_path / 'run', method='random')
    path = tmp_path / 'p.jsonl'
    path.write_text(''.join(json.dumps({'id': line['id'], 'answer': line['reply']}) + '\n'
                            for line in lines))
    capsys.readouterr()
    assert cli.main(['suite', 'point_it_out', 'score', '--data', str(tmp_path / 'data'),
                     '--predictions', str(path), '--json']) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found['measures'] == summary['measures'] and found['missing'] == []


def test_the_report_has_tables_6_and_7_beside_ours(tmp_path):
    for name, options in (('points', {}), ('boxes', {'form': 'box'})):
        run(tmp_path / name, **options)
    boxes, points = gather(tmp_path).runs
    served = tuple({**line, 'model': 'allenai/Molmo-7B-D-0924@localhost:8000/v1'}
                   for line in points.lines)
    runs = [replace(points, backend='points'), replace(boxes, backend='boxes'),
            replace(points, backend='served', lines=served)]
    tables = {table.name: table for table in report.tables(runs)}
    assert set(tables) == {'by_subclass', 'by_part', 'traces'}
    assert all(isinstance(table, Table) and table.note for table in tables.values())
    rows = {(row['backend'], row['split'], row['subclass']): row
            for row in tables['by_subclass'].rows}
    points = rows['points', 's1', 'object']
    assert points['output'] == 'points' and points['paper'] == 0.6 and points['n'] == 9
    assert rows['points', 's1', 'all']['paper'] == 0.533
    assert rows['served', 's1', 'all']['paper'] == 0.533
    assert rows['points', 's2', 'contact']['paper'] == 0.167
    boxes = rows['boxes', 's1', 'object']
    assert boxes['output'] == 'box' and boxes['paper'] is None and boxes['iou_released'] > 0
    assert rows['points', 's1', 'all']['unread'] == 0.5
    assert {(row['kind'], row['part']) for row in tables['by_part'].rows} == {
        ('source', 'tabletop'), ('scenario', 'tabletop')}
    trace = tables['traces'].rows[0]
    assert trace['done'] == 0.0 and trace['paper_people'] == 1.40 and trace['paper_judge'] == 1.48


def test_answers_in_two_forms_are_two_rows_with_what_tells_them_apart(tmp_path):
    for name, options in (('points', {}), ('ticks', {'ticks': True}), ('again', {})):
        run(tmp_path / name, 's1', **options)
    rows = [row for row in report.tables(gather(tmp_path).runs)[0].rows
            if row['subclass'] == 'object']
    assert {row['variant']: row['n'] for row in rows} == {
        'samples.ticks False': 9, 'samples.ticks True': 9}


def test_scoring_without_a_maker_of_scenes_leaves_the_task_open(monkeypatch, tmp_path):
    samples.generate(tmp_path / 'data', 1, 0)
    no_scenes(monkeypatch)
    found = samples.samples('s3', {'data': str(tmp_path / 'data')})
    sample, = found.items
    truth = found.truth(sample.id)
    right = score_reply(SUITE, sample, truth, truth_reply(SUITE, sample, truth))
    assert right['measures']['done'] is None and right['measures']['start_error'] is not None


def test_samples_of_all_splits_load_through_the_suite():
    loaded = load_samples(SUITE, 'all', {'count': 2})
    assert [len(one.items) for one in loaded] == [12, 6, 2]
    assert all(isinstance(sample.parts[0], Picture) for one in loaded for sample in one.items)
    found = score_reply(SUITE, loaded[0].items[0], loaded[0].truth('s1s2/0'), SampleReply('no'))
    assert found['unread'] and found['measures']['score'] == 0.0


# ----------------------------------------------------------------------------- what went wrong


def wrong_run(out, images=True, **options):
    """A run of a model that knows "red" alone, and points beside it."""
    with OpenRun(RunSettings(suite='point_it_out', method='ask', split='s1', out=str(out),
                             backend='noisy_oracle', failure_images=images,
                             suite_options={'count': 3, **options}),
                 backend=Knowing(LocateReply())) as opened:
        return opened.summarise(opened.walk()), opened.store.lines()


def test_causes_are_counted_and_a_few_samples_of_each_have_a_picture(tmp_path, capsys):
    summary, lines = wrong_run(tmp_path / 'run')
    assert summary['causes']['unknown_words'] == 6 and summary['causes']['nothing'] == 6
    results_table.show(summary)
    assert 'unknown words 6' in capsys.readouterr().out
    pictures = [line for line in lines if line.get('picture')]
    assert {line['cause'] for line in pictures} == set(summary['causes'])
    assert len([line for line in pictures if line['cause'] == 'unknown_words']) == 3
    drawn = read_image(tmp_path / 'run' / pictures[0]['picture'])
    assert drawn.ndim == 3 and len(np.unique(drawn.reshape(-1, 3), axis=0)) > 100
    _, without = wrong_run(tmp_path / 'without', images=False)
    assert not any(line.get('picture') for line in without)
    assert not (tmp_path / 'without' / 'failures').exists()


def test_a_trace_that_may_begin_anywhere_has_no_place_to_be_drawn():
    assert scoring.truth_regions({'size': [40, 30], 'start': None, 'task': None}) == []


def test_the_report_of_samples_shows_what_went_wrong(tmp_path, capsys):
    wrong_run(tmp_path / 'runs' / 'points')
    command = ['report', str(tmp_path / 'runs'), '--out', str(tmp_path / 'report')]
    assert cli.main(command) == 0
    assert '18 of 18 samples have a page' in capsys.readouterr().out
    page = (tmp_path / 'report' / 'report.html').read_text()
    section = page[page.index('id="causes"'):]
    assert 'unknown words' in section or 'unknown_words' in section
    assert 'data:image/jpeg' in section and 'id="samples"' in section
    assert 'score in point_it_out' in page
    lines = (tmp_path / 'report' / 'tables' / 'samples.md').read_text().splitlines()
    assert max(map(len, lines)) < 2000, 'no outlines'
    run(tmp_path / 'runs' / 'boxes', 's2', form='box')
    assert cli.main(command) == 0
    assert 'score in point_it_out' not in (tmp_path / 'report' / 'report.html').read_text()


def test_reasons_and_failures_speak_of_samples(tmp_path, capsys):
    run(tmp_path / 'run', 's1', backend=Knowing(None))
    assert cli.main(['report', str(tmp_path / 'run'), '--out', str(tmp_path / 'report')]) == 0
    page = (tmp_path / 'report' / 'report.html').read_text()
    assert '6 samples' in page and '6 episodes' not in page
    capsys.readouterr()
    assert cli.main(['failures', str(tmp_path / 'run')]) == 0
    assert 'unknown' in capsys.readouterr().out
