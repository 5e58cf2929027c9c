"""Runs of samples: batches, lines, resuming, recording, errors, and what a backend may know."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doubles import InsideEngine
from sightplan import cli
from sightplan.model import BackendError, InputError, SpendingCapError, Usage, plugins
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Answer, YesNo
from sightplan.records import RunStore
from sightplan.runs import OpenRun, RunSettings, load_suite, run
from sightplan.runs import suite_finding as suites
from sightplan.runs.samples import load_samples, sample_answers
from sightplan.runs.summary import summarise
from sightplan.sweeps import Options, parse_sweep, run_sweep
from sightplan_belief.observation_model import read_observation_model
from sightplan_suites.predicates import samples as predicates


@pytest.fixture(scope='module')
def data(tmp_path_factory):
    """Two pictures of blocksworld and household in the split simple, one in the others."""
    folder = tmp_path_factory.mktemp('predicates') / 'data'
    predicates.generate(folder, 2, 3)
    return folder


def settings(data, out, **more):
    options = {'data': str(data), **more.pop('suite_options', {})}
    return RunSettings(suite='predicates', out=str(out), suite_options=options,
                       **{'method': 'ask', 'backend': 'noisy_oracle', **more})


class Counting(ModelByKind):
    """A model that says yes, counts, and can fail."""

    name = 'counting'

    def __init__(self, fails=()):
        self.sizes, self.fails = [], fails

    @property
    def usage(self):
        return Usage(len(self.sizes), sum(self.sizes))

    @answers(YesNo, together=True)
    def answer(self, request, deadline: Deadline):
        self.sizes.append(len(request))
        error = dict(self.fails).get(len(self.sizes))
        if error is not None:
            raise error
        return [Answer('Yes', 0.75, 0.25)] * len(request)


def lines_of(out):
    return RunStore(out).lines()


def go(settings, backend=None, **more):
    with OpenRun(settings, backend=backend) as opened:
        return opened.summarise(opened.walk(**more))


def without_time(lines):
    return [{key: value for key, value in line.items() if key not in ('seconds', 'usage')}
            for line in lines]


def test_a_picture_is_one_request_and_what_it_costs_is_counted_once(data, tmp_path):
    model = Counting()
    summary = go(settings(data, tmp_path), model)
    lines = lines_of(tmp_path)
    pictures = {line['cluster'] for line in lines}
    assert len(model.sizes) == len(pictures) == 4
    assert summary['usage']['requests'] == 4
    assert summary['usage']['prompt_tokens'] == sum(model.sizes) == len(lines)
    first = lines[0]
    assert first['answer'] == 'yes' and first['p_yes'] == 0.75 and first['unread'] == ''
    assert first['measures']['brier'] == pytest.approx((0.75 - first['truth']) ** 2)
    assert first['cause'] == (None if first['truth'] else 'false_positive')


def test_errors_are_not_scored_and_are_repeated(data, tmp_path):
    model = Counting({2: BackendError('gone')}.items())
    summary = go(settings(data, tmp_path), model)
    failed = [line for line in lines_of(tmp_path) if line['error']]
    assert summary['errors'] == len(failed) == model.sizes[1]
    assert all(value is None for line in failed for value in line['measures'].values())
    assert failed[0]['error'] == 'BackendError: gone' and failed[0]['usage']['requests'] == 1
    again = Counting()
    summary = go(settings(data, tmp_path), again)
    assert summary['errors'] == 0 and again.sizes == [len(failed)]


def test_a_spending_cap_breaks_off_and_loses_nothing(data, tmp_path):
    model = Counting({3: SpendingCapError('1 USD is spent (raise max_cost_usd)')}.items())
    summary = go(settings(data, tmp_path), model)
    assert summary['interrupted'] and 'raise max_cost_usd' in summary['stopped_by']
    assert summary['items'] == sum(model.sizes[:2]) and summary['errors'] == 0
    again = Counting()
    assert not go(settings(data, tmp_path), again)['interrupted']
    whole = Counting()
    go(settings(data, tmp_path / 'all'), whole)
    assert again.sizes == whole.sizes[2:]


class Partly(Counting):
    """Fails in the given request, when all but the last two questions of it are answered."""

    @answers(YesNo, together=True)
    def answer(self, request, deadline: Deadline):
        try:
            return super().answer(request, deadline)
        except (BackendError, SpendingCapError) as error:
            answered = len(request) - 2
            error.partial = [Answer('Yes', 0.75, 0.25)] * answered + [None] * 2
            raise


@pytest.mark.parametrize('record', [False, True])
def test_what_was_answered_before_a_failure_is_scored(data, tmp_path, record):
    model = Partly({2: BackendError('gone')}.items())
    summary = go(settings(data, tmp_path / 'a', record=record), model)
    assert summary['errors'] == 2 and summary['scored'] == sum(model.sizes) - 2
    capped = Partly({2: SpendingCapError('1 USD is spent')}.items())
    summary = go(settings(data, tmp_path / 'b', record=record), capped)
    assert summary['stopped_by'] == '1 USD is spent' and summary['errors'] == 0
    assert summary['items'] == summary['scored'] == sum(capped.sizes) - 2
    again = Counting()
    assert not go(settings(data, tmp_path / 'b', record=record), again)['interrupted']
    assert again.sizes[0] == (capped.sizes[1] if record else 2)
    assert not any(line['error'] for line in lines_of(tmp_path / 'b'))
    if record:
        replayed = run(settings(data, tmp_path / 'c', backend='replay', backend_options={
            'path': str(tmp_path / 'a/replies.jsonl')}))
        assert (replayed['errors'], replayed['scored']) == (2, sum(model.sizes) - 2)


@pytest.mark.parametrize('cut', [1, 3, 100])
def test_a_resumed_run_equals_an_uninterrupted_one(data, tmp_path, cut):
    table = {'backend_options': {'table': 'gpt-4.1'}, 'record': True}
    whole = run(settings(data, tmp_path / 'whole', **table))
    count = 0

    def stop(line):
        nonlocal count
        count += 1
        if count == cut:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        go(settings(data, tmp_path / 'cut', **table), progress=stop)
    assert len(lines_of(tmp_path / 'cut')) == cut
    summary = run(settings(data, tmp_path / 'cut', **table))
    assert without_time(lines_of(tmp_path / 'cut')) == without_time(lines_of(tmp_path / 'whole'))
    assert summary['measures'] == whole['measures']
    replayed = run(settings(data, tmp_path / 'replayed', backend='replay',
                            backend_options={'path': str(tmp_path / 'cut/replies.jsonl')}))
    assert replayed['measures'] == whole['measures'] and replayed['errors'] == 0


@pytest.mark.slow
def test_kills_lose_nothing(data, tmp_path):
    command = [sys.executable, '-m', 'sightplan.cli', 'run', '--suite', 'predicates', '--split',
               'all', '--method', 'random', '--suite-option', f'data={data}', '--out',
               str(tmp_path)]
    journal = tmp_path / 'episodes.jsonl'
    kills, seen = 0, 0
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None and kills < 3:
            if journal.exists() and journal.read_bytes().count(b'\n') > seen + 20:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.001)
        _, err = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, err
        kills, seen = kills + 1, journal.read_bytes().count(b'\n')
    lines = lines_of(tmp_path)
    assert kills and len({line['id'] for line in lines}) == len(lines)
    run(settings(data, tmp_path / 'whole', method='random', split='all'))
    assert without_time(lines) == without_time(lines_of(tmp_path / 'whole'))


def test_each_domain_is_answered_by_its_own_model(data, tmp_path):
    summary = run(settings(data, tmp_path, backend='embedded'))
    models = {line['domain']: line['model'] for line in lines_of(tmp_path)}
    assert {domain: model.split('@')[0] for domain, model in models.items()} == {
        name: f'embedded_model/{name}' for name in ('blocksworld', 'household')}
    assert summary['measures']['accuracy']['value'] > 0.9
    cal = tmp_path / 'cal.json'
    assert cli.main(['calibrate', '--run', str(tmp_path), '--out', str(cal)]) == 2
    assert cli.main(['calibrate', '--run', str(tmp_path), '--domain', 'blocksworld',
                     '--out', str(cal)]) == 0
    learned = read_observation_model(cal)
    domain = predicates.load_domain('blocksworld')
    learned.check(models['blocksworld'], domain, domain.prompt_id('ground'))
    with pytest.raises(InputError, match='another model'):
        learned.check(models['household'], domain)


def test_what_is_blind_is_not_asked_of_a_backend_that_knows_the_truth(data, tmp_path):
    with pytest.raises(InputError, match='noisy_oracle'):
        run(settings(data, tmp_path, method='blind'))
    assert lines_of(tmp_path) == []


def test_noise_follows_its_table(data, tmp_path):
    perfect = run(settings(data, tmp_path / 'perfect'))
    assert perfect['measures']['accuracy']['value'] == 1.0
    assert perfect['measures']['brier']['value'] is None
    noisy = run(settings(data, tmp_path / 'noisy', backend_options={'table': 'gpt-4.1'}))
    assert noisy['measures']['accuracy']['value'] < 1.0


def test_a_run_of_other_samples_is_not_taken_up(data, tmp_path):
    run(settings(data, tmp_path, method='random'))
    with pytest.raises(InputError, match='samples'):
        run(settings(data, tmp_path, method='random', suite_options={'domain': 'blocksworld'}))


@pytest.mark.parametrize(('more', 'said'), [
    ({'split': 'easy'}, 'no split'), ({'max_actions': 3}, 'max_actions'),
    ({'problems': '/tmp'}, 'problems'), ({'bags': 'all'}, 'bags'),
    ({'suite_options': {'cuont': 3}}, 'cuont'), ({'suite_options': {'count': 0}}, 'count'),
    ({'method': 'belief'}, 'acts in episodes'), ({'episodes': 10**6}, 'episodes')])
def test_settings_that_make_no_sense_are_named(data, tmp_path, more, said):
    with pytest.raises(InputError, match=said):
        run(settings(data, tmp_path / 'run', **more))
    assert not (tmp_path / 'run').exists()


def test_methods_for_samples_are_refused_in_episodes(tmp_path):
    with pytest.raises(InputError, match='answers samples'):
        run(RunSettings(method='ask', out=str(tmp_path / 'run')))


def test_options_of_a_suite_are_refused_in_episodes(tmp_path):
    with pytest.raises(InputError, match=r'suite_options \(count\) are for suites of samples'):
        run(RunSettings(method='oracle', suite_options={'count': 3}, out=str(tmp_path / 'run')))
    assert not (tmp_path / 'run').exists()


# ------------------------------------------------------------------------------------ the data


@pytest.mark.slow
def test_all_predicates_take_both_values():
    """In few pictures already: each kind of action has its turn."""
    values = {}
    for name, split, count in (('blocksworld', 'simple', 4), ('household', 'medium', 16)):
        for _, rows in predicates.draw(name, split, count, 0):
            for row in rows:
                values.setdefault(row.atom.split()[0], set()).add(row.truth)
    assert all(found == {True, False} for found in values.values()), values
    assert set(values) == {'on', 'incolumn', 'clear', 'leftof', 'rightof', 'reachable', 'open',
                           'holding', 'ontop', 'nextto', 'inside'}


def test_drawn_and_read_samples_are_the_same(data):
    drawn, = load_samples(load_suite('predicates'), 'simple', {'count': 2, 'seed': 3})
    read, = load_samples(load_suite('predicates'), 'simple', {'data': str(data)})
    assert drawn.identity == read.identity
    assert [sample.id for sample in drawn.items] == [sample.id for sample in read.items]
    for one, other in zip(drawn.items[::50], read.items[::50], strict=True):
        assert drawn.truth(one.id) == read.truth(other.id)
        assert (one.parts[0].load() == other.parts[0].load()).all()


def test_a_picture_does_not_depend_on_how_many_there_are():
    few, more = (list(predicates.draw('blocksworld', 'simple', count, 7)) for count in (2, 4))
    assert [rows for _, rows in few] == [rows for _, rows in more[:2]]
    assert [rows for _, rows in few] != [
        rows for _, rows in predicates.draw('blocksworld', 'simple', 2, 8)]


def test_pictures_of_a_domain_from_a_folder(data, tmp_path):
    """A model's eyes can be tried on pictures of a domain of one's own."""
    from sightplan import domains
    own = tmp_path / 'towers'
    shutil.copytree(Path(domains.__file__).parent / 'blocksworld', own)
    (tmp_path / 'pictures').symlink_to(data / 'pictures')
    rows = [json.loads(line) for line in (data / predicates.FILE).read_text().splitlines()]
    (tmp_path / predicates.FILE).write_text(''.join(
        json.dumps({**row, 'domain': str(own)}) + '\n' for row in rows
        if row['domain'] == 'blocksworld'))
    summary = run(settings(tmp_path, tmp_path / 'run', method='ask'))
    assert summary['errors'] == 0 and summary['measures']['accuracy']['n'] > 10
    assert {line['domain'] for line in lines_of(tmp_path / 'run')} == {'towers'}
    identity = RunStore(tmp_path / 'run').run_info()['identity']
    assert identity['domain'] == 'towers' and list(identity['questions_sha256']) == ['towers']
    assert sample_answers(tmp_path / 'run')


@pytest.mark.parametrize(('field', 'value', 'said'), [
    ('atom', 'above r,g', 'above'), ('atom', '', 'atom'), ('split', 'easy', 'split'),
    ('domain', 'kitchen', 'kitchen'), ('truth', 'yes', 'truth'), ('picture', '../x.png', 'below'),
    ('picture', 'none.png', 'none.png'), ('question', 3, 'question'), ('extra', 1, 'extra'),
    ('image', '0123456789abcdef', 'hash')])
def test_bad_data_are_named(data, tmp_path, field, value, said, capsys):
    lines = (data / predicates.FILE).read_text().splitlines()
    row = {**json.loads(lines[0]), field: value, 'id': 'x'}
    (tmp_path / 'pictures').symlink_to(data / 'pictures')
    (tmp_path / predicates.FILE).write_text(json.dumps(row) + '\n' + lines[1] + '\n')
    assert cli.main(['suite', 'predicates', 'check', '--data', str(tmp_path), '--json']) == 1
    report = json.loads(capsys.readouterr().out)
    assert said in ''.join(item['reason'] for item in report['skipped'])
    assert str(tmp_path) in report['skipped'][0]['file']
    assert report['counts']['samples'] == 1
    with pytest.raises(InputError, match=said):
        run(settings(tmp_path, tmp_path / 'run', method='ask'))


# ------------------------------------------------------------------- a suite of somebody else's


SUITE = """
title: Colours
kind: samples
splits: [all_of_it]
"""
SAMPLES = '''
from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import Samples


def samples(split, options):
    items = [Sample(str(n), split, str(n), (f'Which colour has number {n}?',)) for n in range(4)]
    return Samples(items, lambda id: 'red' if int(id) % 2 else 'blue', {'count': len(items)})
'''
READING = '''
from sightplan.runs.suite_parts import Unread


def read(text, item):
    if text not in ('red', 'blue'):
        raise Unread('no colour')
    return text


def guess(item, rng):
    return rng.choice(['red', 'blue'])
'''
SCORING = '''
from sightplan.metrics.measures import Measure
from sightplan.runs.suite_parts import Scored

MEASURES = (Measure('right', 'fraction of right colours', primary=True),)


def score(item, answer, truth, reply):
    return Scored({'right': float(answer == truth)}, None if answer == truth else 'wrong')
'''


@pytest.fixture
def stranger(tmp_path):
    """A suite of free-text samples, outside the package."""
    folder = tmp_path / 'colours'
    folder.mkdir()
    for name, text in (('suite.yaml', SUITE), ('samples.py', SAMPLES), ('reading.py', READING),
                       ('scoring.py', SCORING)):
        (folder / name).write_text(text)
    return folder


def test_a_suite_from_a_folder_runs(stranger, tmp_path):
    (tmp_path / 'script.yaml').write_text('replies: [a reddish blue]\nrepeat: last\n')
    for method, right in (('oracle', 1.0), ('random', None), ('ask', 0.0)):
        summary = run(RunSettings(
            suite=str(stranger), split='all_of_it', method=method, backend='scripted',
            backend_options={'script': str(tmp_path / 'script.yaml')},
            out=str(tmp_path / method)))
        assert summary['items'] == 4 and summary['errors'] == 0
        assert right in (None, summary['measures']['right']['value'])
        assert summary['unread'] == (4 if method == 'ask' else 0)


def test_one_reply_without_an_answer_costs_one_sample(stranger, tmp_path):
    pytest.importorskip('openai')
    from fake_openai import FakeServer, chat
    samples = stranger / 'samples.py'
    samples.write_text(samples.read_text().replace('str(n), (f', "'all', (f"))  # one batch
    with FakeServer(lambda body, number: chat(None if number == 1 else 'red')) as server:
        summary = run(RunSettings(
            suite=str(stranger), split='all_of_it', method='ask', backend='openai',
            backend_options={'model': 'm', 'base_url': server.url, 'retries': 0},
            out=str(tmp_path / 'run')))
    assert (summary['items'], summary['errors'], summary['scored']) == (4, 1, 3)


@pytest.mark.parametrize(('file', 'old', 'new'), [
    ('scoring.py', 'return Scored(', "assert item.id != '2', 'no score'\n    return Scored("),
    ('reading.py', 'return text', "return {}['no score'] if item.id == '2' else text")])
def test_a_defect_of_reading_or_scoring_costs_one_sample(stranger, tmp_path, file, old, new):
    path = stranger / file
    path.write_text(path.read_text().replace(old, new, 1))
    summary = run(RunSettings(suite=str(stranger), split='all_of_it', method='oracle',
                              out=str(tmp_path / 'run')))
    assert (summary['items'], summary['errors'], summary['scored']) == (4, 1, 3)
    error, = summary['reasons']['errors']
    assert 'no score' in error and 'read and scored' in error


def test_a_suite_of_text_has_no_prompt_but_ask(stranger, tmp_path):
    (tmp_path / 'script.yaml').write_text('replies: [red]\nrepeat: last\n')
    options = {'suite': str(stranger), 'split': 'all_of_it', 'method': 'ask_cot',
               'backend': 'scripted', 'out': str(tmp_path / 'run'),
               'backend_options': {'script': str(tmp_path / 'script.yaml')}}
    with pytest.raises(InputError, match='ask_cot.yaml'):
        run(RunSettings(**options))
    (stranger / 'prompts').mkdir()
    (stranger / 'prompts/ask_cot.yaml').write_text('system: Think.\nafter: One word.\n')
    assert run(RunSettings(**options))['items'] == 4


@pytest.fixture
def root(stranger, tmp_path, monkeypatch):
    """A folder of suites that holds the stranger's alone."""
    root = tmp_path / 'suites'
    root.mkdir()
    stranger.rename(root / 'colours')
    real = plugins.entry_points
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(plugins, 'entry_points', lambda group: real(group) if (
        group != suites.GROUP) else {folder.name: importlib.metadata.EntryPoint(
            folder.name, folder.name, group) for folder in root.iterdir()})
    yield root
    for name in [name for name in sys.modules if name.partition('.')[0] == 'colours']:
        del sys.modules[name]


def test_a_folder_is_all_that_a_suite_takes(root, tmp_path, monkeypatch, capsys):
    """It appears in "suite list", "run", "sweep" and "report" as soon as it is there."""
    monkeypatch.chdir(tmp_path)

    def said(*arguments):
        assert cli.main([*arguments, '--json']) == 0
        return json.loads(capsys.readouterr().out)

    listed = said('suite', 'list')['suites']
    assert [(found['name'], found['title']) for found in listed] == [('colours', 'Colours')]
    summary = said('run', '--suite', 'colours', '--split', 'all_of_it', '--method', 'oracle')
    assert (summary['items'], summary['measures']['right']['value']) == (4, 1.0)
    sweep = parse_sweep({'base': {'suite': 'colours', 'split': 'all_of_it'},
                         'axes': {'method': ['oracle', 'random']}}, 'hues', 'hues.yaml')
    swept = run_sweep(sweep, tmp_path / 'hues', Options(1, engine=InsideEngine))
    assert (swept['done'], swept['failures']) == (8, [])
    said('report', summary['out'], 'hues', '--out', 'report')
    page = (tmp_path / 'report/report.html').read_text()
    assert 'colours' in page and 'all_of_it' in page
    tables = '\n'.join(path.read_text() for path in (tmp_path / 'report').rglob('*measures*.csv'))
    assert {'colours', 'right', 'oracle', 'random'} <= set(re.split(r'[,\s]', tables))


def test_an_empty_suite_says_what_it_lacks(root, tmp_path, capsys):
    """A folder with nothing but its description is listed, and says what it lacks."""
    (root / 'empty').mkdir()
    (root / 'empty/suite.yaml').write_text(SUITE)
    (root / 'broken').mkdir()
    (root / 'broken/suite.yaml').write_text('title: 3\nkind: things\n')
    assert cli.main(['suite', 'list', '--json']) == 1
    out, err = capsys.readouterr()
    listed = json.loads(out)
    assert [found['name'] for found in listed['suites']] == ['colours', 'empty']
    assert [found['primary'] for found in listed['suites']] == ['right', 'correct']
    assert [wrong['name'] for wrong in listed['unusable']] == ['broken']
    assert 'suite.yaml' in err and 'kind' in err
    assert cli.main(['run', '--suite', 'empty', '--split', 'all', '--method', 'oracle']) == 2
    assert 'samples.py is missing' in capsys.readouterr().err
    with pytest.raises(InputError, match='no function check'):
        load_suite('colours').check(tmp_path)
    with pytest.raises(SystemExit):
        cli.main(['suite', 'colours', 'check', '--data', str(tmp_path)])
    assert 'choose from' in capsys.readouterr().err
    assert load_suite('empty').kind == 'samples'


# ------------------------------------------------------------ runs that say nothing, and why


def sayings(stranger, tmp_path, text, *more):
    """Arguments of a run whose model says one thing."""
    (tmp_path / 'script.yaml').write_text(f'replies: [{text}]\nrepeat: last\n')
    return ['run', '--suite', str(stranger), '--split', 'all_of_it', '--method', 'ask',
            '--out', str(tmp_path / 'run'), *more]


def test_a_run_of_which_nothing_can_be_read_fails_and_says_why(stranger, tmp_path, capsys):
    command = sayings(stranger, tmp_path, 'a reddish blue', '--backend', 'scripted',
                      '--backend-option', f'script={tmp_path}/script.yaml')
    assert cli.main(command) == 1
    out, err = capsys.readouterr()
    assert 'not one of 4 replies could be read: 4 x no colour' in err
    assert '4 x no colour' in out


def test_a_run_of_which_nothing_is_scored_names_the_reason(stranger, tmp_path, capsys):
    pytest.importorskip('openai')
    from fake_openai import FakeServer, chat
    with FakeServer(lambda body, number: chat(None)) as server:
        assert cli.main(sayings(
            stranger, tmp_path, '', '--backend', 'openai', '--backend-option', 'model=m',
            '--backend-option', f'base_url={server.url}', '--backend-option', 'retries=0')) == 1
    out, err = capsys.readouterr()
    assert 'right 0 of 0' in err
    assert err.count('not scored (BackendError: ') == 1, 'the same reason is named once'
    assert 'not one sample could be scored: 4 x BackendError: ' in err
    assert '4 x BackendError' in out and 'no content' in out
    reasons = RunStore(tmp_path / 'run').folder / 'summary.json'
    assert list(json.loads(reasons.read_text())['reasons']['errors'].values()) == [4]


def test_a_sweep_of_which_nothing_can_be_read_fails(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'script.yaml').write_text('replies: [purple]\nrepeat: last\n')
    sweep = parse_sweep({
        'base': {'suite': 'colours', 'split': 'all_of_it', 'backend': 'scripted',
                 'backend_options.script': str(tmp_path / 'script.yaml')},
        'axes': {'method': ['oracle', 'ask']}}, 'hues', 'hues.yaml')
    swept = run_sweep(sweep, tmp_path / 'hues', Options(1, engine=InsideEngine))
    failure, = swept['failures']
    assert failure['cell'].startswith('ask') and 'not one of 4 replies' in failure['error']


def test_reasons_that_are_not_named_are_counted():
    lines = [{'kind': 'sample', 'measures': {'right': 0.0}, 'seconds': 0.0, 'cluster': str(n),
              'unread': f'reason {n}', 'error': None} for n in range(7)]
    reasons = summarise(lines, None, 'samples')['reasons']['unread']
    assert len(reasons) == 6 and reasons['other reasons (2 more)'] == 2


def test_without_a_split_the_only_one_is_run_or_the_splits_are_named(
        stranger, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ['run', '--suite', str(stranger), '--method', 'oracle']
    assert cli.main([*command, '--out', str(tmp_path / 'one')]) == 0
    (stranger / 'suite.yaml').write_text(SUITE.replace('[all_of_it]', '[first, second]'))
    capsys.readouterr()
    assert cli.main([*command, '--out', str(tmp_path / 'two')]) == 2
    said = 'add --split with one of first, second, or samples for all samples'
    assert said in capsys.readouterr().err


@pytest.mark.parametrize('kind', ['sample', 'episode'])
def test_beside_a_bar_the_reasons_are_said_once(kind, monkeypatch):
    from sightplan.console.progress import ProgressBar
    said = []
    with ProgressBar() as bar:
        bar.started(Path('out'), [], 9, [])
        bar.plain = False  # as on a terminal
        monkeypatch.setattr(bar, 'say', said.append)
        for number in range(9):
            bar.item({'id': str(number), 'kind': kind, 'measures': {'solved': None},
                      'cause': None, 'error': f'reason {number // 2 if number < 4 else number}'})
    assert said == [f'{number}: not scored (reason {why})' for number, why in (
        (0, 0), (2, 1), (4, 4), (5, 5), (6, 6))]
