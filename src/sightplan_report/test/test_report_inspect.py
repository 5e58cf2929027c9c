"""Logs of inspect_ai: their structure, and that the package itself reads them."""

import json
import zipfile

import pytest

from report_cases import line, sample, write_run
from sightplan import cli
from sightplan.model import InputError
from sightplan_report import inspect_log
from sightplan_report.results import gather

ACTION = {'action': 'moveblock(r, c2)', 'status': 'executed', 'outcome': 'success',
          'image_id': 'i', 'stamp_ns': 1, 'applicable': True, 'effects': None, 'misled': []}


def answer(step, atom, **fields):
    return json.dumps({'episode': 'blocksworld/simple/p0#0', 'step': step, 'atom': atom,
                       'purpose': 'precondition', 'answer': 'yes', 'p_yes': 0.75, 'p_no': 0.25,
                       'truth': False, **fields}) + '\n'


def episodes(folder):
    first = line(0, False, actions=[ACTION, {**ACTION, 'outcome': 'failure'}],
                 usage={'requests': 2, 'prompt_tokens': 10, 'completion_tokens': 3},
                 goal_unmet=[{'literal': 'on r,g', 'last': None}])
    again = {**first, 'id': 'blocksworld/simple/p0#1'}
    broken = line(1, scored=False, stop='error', error='the camera\ud800 broke')
    run = write_run(folder, [first, again, broken])
    (run / 'answers.jsonl').write_text(answer(0, 'clear r') + answer(1, 'on r,<b>')
                                       + answer(2, 'on r,g', truth=None, p_yes=None))
    return run


def read(path):
    with zipfile.ZipFile(path) as log:
        assert log.testzip() is None
        return {name: json.loads(log.read(name)) for name in log.namelist()}


@pytest.fixture
def logs(tmp_path):
    results = gather([episodes(tmp_path / 'e'), write_run(
        tmp_path / 's', [sample(0), sample(1, truth=False)], suite='predicates',
        kind='samples', method={'name': 'ask'})])
    return inspect_log.write_logs(results, tmp_path / 'out')


def test_a_log_for_each_run_named_by_time_and_task(logs, tmp_path):
    assert [path.parent for path in logs] == [tmp_path / 'out' / 'inspect'] * 2
    names = [path.name.rsplit('_', 1)[0] for path in logs]
    assert names == ['2026-01-02T03-04-05+00-00_viplan-blocksworld-simple',
                     '2026-01-02T03-04-05+00-00_predicates-blocksworld-simple']


def test_the_header_says_what_was_run_and_how_it_went(logs):
    header = read(logs[0])['header.json']
    assert (header['version'], header['status']) == (2, 'cancelled')  # 3 of 4 items
    spec = header['eval']
    assert (spec['task'], spec['solver']) == ('viplan/blocksworld/simple', 'ground')
    assert spec['revision'] == {'type': 'git', 'origin': 'sightplan', 'commit': 'c0ffee',
                                'dirty': False}
    assert spec['config'] == {'epochs': 2}
    assert spec['dataset']['sample_ids'] == ['blocksworld/simple/p0', 'blocksworld/simple/p1']
    first = header['results']['scores'][0]
    assert (first['name'], first['scored_samples'], first['unscored_samples']) == ('solved', 2, 1)
    assert first['metrics']['mean'] == {'name': 'mean', 'value': 0.0}
    assert first['metrics']['low95']['value'] == 0.0 < first['metrics']['high95']['value']
    usage = header['stats']['model_usage'].popitem()[1]
    assert (usage['input_tokens'], usage['total_tokens'], usage['total_cost']) == (20, 26, None)
    assert header['stats']['started_at'] == '2026-01-02T03:04:05+00:00'
    assert header['stats']['completed_at'] == '2026-01-02T03:04:08+00:00'  # 3 items of 1 s


def test_trials_are_epochs_and_each_sample_has_a_summary(logs):
    for path in logs:
        log = read(path)
        names = {f'samples/{one["id"]}_epoch_{one["epoch"]}.json'
                 for one in log['summaries.json']}
        assert names == {name for name in log if name.startswith('samples/')}
    assert {(one['id'], one['epoch']) for one in read(logs[0])['summaries.json']} == {
        ('blocksworld/simple/p0', 1), ('blocksworld/simple/p0', 2), ('blocksworld/simple/p1', 1)}


def test_the_transcript_has_questions_before_actions_and_escapes_them(logs):
    one = read(logs[0])['samples/blocksworld/simple/p0_epoch_1.json']
    assert [event['event'] for event in one['events']] == [
        'info', 'tool', 'info', 'tool', 'info', 'info']
    assert '| clear r | precondition | yes | 0.750 | false |' in one['events'][0]['data']
    assert '<b>' not in one['events'][2]['data']
    assert one['events'][1]['function'] == 'moveblock'
    assert one['events'][1]['arguments'] == {'0': 'r', '1': 'c2'}
    assert 'failed' not in one['events'][1] and one['events'][3]['failed'] is True
    assert 'on r,g' in one['events'][-1]['data']
    assert one['scores']['solved']['value'] == 0.0


def test_what_is_not_scored_has_no_score(logs):
    one = read(logs[0])['samples/blocksworld/simple/p1_epoch_1.json']
    assert one['scores'] is None and one['error']['message'] == 'the camera? broke'
    found = next(entry for entry in read(logs[0])['summaries.json'] if entry['error'])
    assert found['scores'] is None and found['completed'] is True


def test_a_sample_has_its_reply_and_truth(logs):
    log = read(logs[1])
    one = log['samples/blocksworld/simple/0/on b1,c1_epoch_1.json']
    assert (one['target'], one['output']['completion']) == ('no', 'Yes')
    assert one['scores']['accuracy'] == {'value': 0.0, 'answer': 'Yes', 'explanation': None}
    assert log['header.json']['results']['scores'][0]['name'] == 'accuracy'


def test_the_picture_of_a_failure_is_the_last_message(tmp_path):
    failed = line(0, False)
    failed['failure']['picture'] = 'failed.png'
    run = write_run(tmp_path / 'e', [failed, line(1)])
    (run / 'failed.png').write_bytes(b'a picture')
    wrong = sample(0, truth=False, picture='failed.png')
    samples = write_run(tmp_path / 's', [wrong, sample(1)], suite='predicates', kind='samples',
                        method={'name': 'ask'})
    (samples / 'failed.png').write_bytes(b'a picture')
    for path in inspect_log.write_logs(gather([run, samples]), tmp_path / 'out'):
        first, second = (part for name, part in read(path).items() if name.startswith('samples/'))
        assert first['messages'][-1]['content'][1] == {
            'type': 'image', 'image': 'data:image/png;base64,YSBwaWN0dXJl'}
        assert [message['role'] for message in second['messages']] == ['user', 'assistant']


def test_long_texts_are_cut_in_summaries_alone(tmp_path):
    run = write_run(tmp_path / 's', [sample(reply='Yes' + 2000 * '.', truth='y' * 2000)],
                    suite='predicates', kind='samples', method={'name': 'ask'})
    log = read(inspect_log.write_logs(gather(run), tmp_path / 'out')[0])
    summary, = log['summaries.json']
    whole = next(part for name, part in log.items() if name.startswith('samples/'))
    assert (len(summary['target']), len(whole['target'])) == (1000, 2002)
    for name, score in summary['scores'].items():
        assert len(score['answer']) == 1000
        assert score['value'] == whole['scores'][name]['value']


def test_the_same_run_gives_the_same_bytes(tmp_path):
    results = gather(episodes(tmp_path / 'e'))
    first, second = (inspect_log.write_logs(results, tmp_path / name)[0] for name in 'ab')
    assert first.name == second.name and first.read_bytes() == second.read_bytes()


def test_where_nothing_can_be_written_it_says_so(tmp_path):
    (tmp_path / 'inspect').write_text('')
    with pytest.raises(InputError, match='cannot be written'):
        inspect_log.write_logs(gather(episodes(tmp_path / 'e')), tmp_path)


def test_the_command_writes_them_beside_the_report(tmp_path, capsys):
    run = str(episodes(tmp_path / 'e'))
    assert cli.main(['report', run, '--out', str(tmp_path / 'out'), '--episodes', 'none',
                     '--export', 'inspect']) == 0
    assert '1 logs for "inspect view"' in capsys.readouterr().out
    assert len(list((tmp_path / 'out' / 'inspect').glob('*.eval'))) == 1


@pytest.mark.slow
def test_the_real_package_reads_them(logs, tmp_path):
    log_of = pytest.importorskip('inspect_ai.log')
    assert len(log_of.list_eval_logs(str(tmp_path / 'out' / 'inspect'))) == 2
    for path in logs:
        log = log_of.read_eval_log(str(path))
        written = read(path)['header.json']['results']['scores']
        assert [(score.name, score.metrics['mean'].value) for score in log.results.scores] == [
            (score['name'], score['metrics']['mean']['value']) for score in written]
        assert len(log_of.read_eval_log_sample_summaries(str(path))) == len(log.samples)
        first = log.samples[0]
        assert log_of.read_eval_log_sample(str(path), first.id, first.epoch).uuid == first.uuid
        assert log.stats.completed_at > log.stats.started_at
        assert '"samples"' in log.model_dump_json()
