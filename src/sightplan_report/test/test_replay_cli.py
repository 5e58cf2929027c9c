"""The command ``sightplan replay``."""

from __future__ import annotations

import dataclasses
import json
import time

import pytest

from fake_openai import FakeServer, chat, error
from replay_doubles import hidden_run, recorded_run, without_truth
from sightplan import cli
from sightplan.model import EpisodeEnded, InputError, Privileged, plugins
from sightplan.queries import yes_no_queries
from sightplan.replay import sources as places
from sightplan.replay.answers_store import ANSWERS, NAME
from sightplan.replay.batches import Source, batches, with_batches
from sightplan_report.replay.tables import RESULT

GEMMA = ('--table', 'gemma-3-27b-it', '--seed', '4')


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A run directory, and what was recorded of it."""
    folder = tmp_path_factory.mktemp('cli')
    sources = recorded_run(folder, seed=4, max_actions=12,
                           backend_options={'table': 'gemma-3-27b-it'})
    return folder, sources


@pytest.fixture
def bags(recorded, monkeypatch):
    """The run's folder with bags; returns it, and a dict of sources by name to change."""
    folder, sources = recorded
    known = {source.name: source for source in sources}
    for name in known:
        path = folder / name
        path.mkdir(parents=True, exist_ok=True)
        (path / 'bag.mcap').write_bytes(name.encode())

    def find_bags(path):
        found = [file.parent for file in sorted(path.rglob('bag.mcap'))]
        if not found:
            raise InputError(f'{path}: there is no bag')
        return found

    def read_episodes(path):
        source = known[f'run/bags/{path.name}']
        if source is None:
            raise InputError(f'{path}: nothing of it can be read')
        yield source.episode

    monkeypatch.setattr(places, 'find_bags', find_bags)
    monkeypatch.setattr(places, 'read_episodes', read_episodes)
    return folder, known


@pytest.fixture
def replay(bags, capsys, tmp_path):
    """Call the command; returns exit code, JSON result and what it said."""
    def call(*arguments, out=None):
        path = ['--out', str(tmp_path / (out or 'out'))] if out is not False else []
        code = cli.main(['replay', str(bags[0] / 'run'), *arguments, *path, '--json'])
        said = capsys.readouterr()
        result = json.loads(said.out.splitlines()[-1]) if said.out else None
        return code, result, said.err
    return call


def asked(known):
    return [b for s in known.values() if s for b in batches(s)]


def test_list_says_what_bags_hold(replay, bags):
    code, result, said = replay('--list', out=False)
    assert code == 0 and result['episodes'] == 3
    first = result['list'][0]
    source = bags[1]['run/bags/p0']
    assert first['episode'] == source.episode.spec.id and first['truth'] is True
    assert first['questions'] == sum(len(b.event.questions) for b in batches(source))
    assert (first['images'], first['steps'], first['method']) == (4, 3, 'ground')
    assert first['warnings'] == [] and first['ended'] and 'noisy_oracle' in first['model']
    assert 'run/bags/p0' in said


def test_the_recorded_model_again_differs_in_nothing(replay, tmp_path):
    code, result, said = replay(*GEMMA)
    assert code == 0
    overall = result['comparison']['overall']
    assert overall['paired']['only_recorded'] == overall['paired']['only_new'] == 0
    assert overall['recorded'] == overall['new'] and overall['recorded']['accuracy'] < 1.
    assert result['damaged'] == 0 and not result['interrupted']
    written = json.loads((tmp_path / 'out' / RESULT).read_text())
    assert written['comparison'] == result['comparison']
    assert 'McNemar' in said and 'ETA' in said
    lines = (tmp_path / 'out' / ANSWERS).read_text().splitlines()
    assert len(lines) == result['answers'] == result['new'] == overall['questions']


def test_the_same_command_asks_nothing_twice_and_another_is_refused(replay, bags):
    code, first, _ = replay('--table', 'perfect', '--limit', '3')
    assert code == 0 and first['new'] > 0
    code, second, _ = replay('--table', 'perfect')
    assert code == 0 and second['new'] == second['answers'] - first['answers'] > 0
    assert second['comparison']['overall']['new']['accuracy'] == 1.
    assert replay('--table', 'perfect')[1]['new'] == 0
    code, result, said = replay('--table', 'gpt-4.1')
    assert code == 2 and result is None and 'another --out' in said and 'perfect' in said
    (bags[0] / 'run/bags/p0/bag.mcap').write_bytes(b'other bytes')
    code, _, said = replay('--table', 'perfect')
    assert code == 2 and 'bags.run/bags/p0' in said


def test_a_server_is_asked_with_several_images_in_flight(replay, bags, monkeypatch):
    monkeypatch.setenv('OPENAI_API_KEY', 'x')

    def say(body, number):
        text = body['messages'][-1]['content'][-1]['text']
        return chat('Yes' if len(text) % 2 else 'No')
    with FakeServer(say) as server:
        server.before_reply = lambda number: time.sleep(.002)
        options = ('--backend', 'openai', '--model', 'm', '--backend-option',
                   f'base_url={server.url}', '--backend-option', 'concurrency=6',
                   '--backend-option', 'price_in=1', '--backend-option', 'price_out=1')
        code, result, said = replay(*options, '--limit', '2', '--purpose', 'enumeration')
        assert code == 0 and result['answers'] == len(server.bodies)
        assert result['spent']['requests'] == len(server.bodies) + len(server.checks)
        assert f'{result["spent"]["cost_usd"]:.4f} USD' in said
        before = len(server.bodies)
        code, result, _ = replay(*options, '--purpose', 'enumeration')
        assert code == 0 and len(server.bodies) > before
        assert result['spent']['requests'] == len(server.bodies) + len(server.checks)
        assert result['answers'] == len(server.bodies) and server.most_at_once > 1
        asked_for = [q.text for b in asked(bags[1]) for q in b.event.questions
                     if b.event.purpose.value == 'enumeration']
        sent = [body['messages'][-1]['content'][-1]['text'] for body in server.bodies]
        assert len(sent) == len(asked_for)
        assert all(any(text in one for one in sent) for text in asked_for)


def test_a_cap_ends_it_and_all_that_was_paid_is_kept(replay, monkeypatch, tmp_path):
    monkeypatch.setenv('OPENAI_API_KEY', 'x')
    with FakeServer(lambda body, number: chat('Yes')) as server:
        options = ('--backend', 'openai', '--model', 'm', '--backend-option',
                   f'base_url={server.url}', '--backend-option', 'concurrency=4')
        code, result, said = replay(*options, '--backend-option', 'max_tokens_total=8000')
        assert code == 1 and result['interrupted'] and 'SpendingCapError' in result['stopped_by']
        assert result['answers'] > 0 and 'goes on from there' in said
        kept = len((tmp_path / 'out' / ANSWERS).read_text().splitlines())
        assert kept == result['answers'] and result['comparison']['questions'] == kept
        spent = json.loads((tmp_path / 'out' / NAME).read_text())['spent']
        assert spent['requests'] == len(server.bodies) + len(server.checks)
        code, again, _ = replay(*options, '--backend-option', 'max_tokens_total=8000')
        assert code == 1 and again['answers'] == kept  # the cap counts all sessions
        code, whole, _ = replay(*options)
        assert code == 0 and whole['answers'] > kept


def test_a_server_that_fails_is_told_of(replay, monkeypatch):
    monkeypatch.setenv('OPENAI_API_KEY', 'x')
    with FakeServer(lambda body, number: error(401, 'no')) as server:
        code, result, said = replay('--backend', 'openai', '--model', 'm', '--backend-option',
                                    f'base_url={server.url}')
    assert code == 1 and 'valid key' in said and result['answers'] == 0


def test_estimators_over_recorded_and_new_answers(replay, tmp_path):
    code, result, said = replay('--method', 'belief', 'decode', '--method-option', 'k=64')
    assert code == 0 and set(result['estimates']) == {'recorded'}
    found = result['estimates']['recorded']['estimators']
    assert set(found) == {'ground', 'belief', 'decode'} and 'Brier' in said
    assert found['belief']['accuracy'] > found['ground']['accuracy']
    code, both, _ = replay('--method', 'belief', '--table', 'perfect', out='other')
    assert code == 0 and both['estimates']['recorded']['estimators']['belief']['accuracy'] == (
        pytest.approx(found['belief']['accuracy'], abs=.02))
    assert both['estimates']['new']['estimators']['ground']['accuracy'] == 1.


def test_bags_of_a_robot_have_no_truth(replay, bags, tmp_path):
    for name, source in list(bags[1].items()):
        bags[1][name] = without_truth(source)
    code, result, said = replay('--backend', 'scripted', '--backend-option',
                                f'script={script(tmp_path)}')
    assert code == 0 and result['comparison']['with_truth'] == 0
    assert result['comparison']['overall']['agreement']['fraction'] > 0. and 'kappa' in said
    code, _, said = replay('--table', 'perfect', out='no')
    assert code == 2 and 'no ground truth' in said
    code, result, _ = replay('--method', 'belief', out='estimates')
    assert code == 0 and result['estimates']['recorded']['estimators']['belief']['agreement'] < 1.


def script(folder):
    path = folder / 'replies.yaml'
    path.write_text("answers: {default: 'No'}\n")
    return path


def test_labels_are_the_truth_of_a_robot(replay, bags, tmp_path):
    source = bags[1]['run/bags/p0']
    batch = next(batches(source))
    look = batch.event.observation
    state = source.episode.truth.state(look.stamp_ns)
    atoms = [q.atom for q in batch.event.questions][:5]
    labels = tmp_path / 'labels.jsonl'
    labels.write_text(''.join(json.dumps({
        'image': look.image_id, 'atom': str(atom),
        'label': 'yes' if (atom in state) is (place > 0) else 'no', 'who': 'me'}) + '\n'
        for place, atom in enumerate(atoms)))
    code, result, _ = replay('--table', 'perfect', '--labels', str(labels))
    assert code == 0 and result['labels']['used'] == result['labels']['compared'] == 5
    assert result['labels']['disagreements'] == 1
    assert result['labels']['disagreeing'][0]['atom'] == str(atoms[0])
    for name, one in list(bags[1].items()):
        bags[1][name] = without_truth(one)
    code, result, said = replay('--backend', 'scripted', '--backend-option',
                                f'script={script(tmp_path)}', '--labels', str(labels), out='two')
    found = result['comparison']
    assert code == 0 and result['labels']['compared'] == 0
    assert 5 <= found['with_truth'] < found['questions'] and found['coverage'] < 1.
    said_no = sum((atom in state) is (place == 0) for place, atom in enumerate(atoms))
    looked = sum(b.event.observation.image_id == look.image_id for b in batches(source))
    if looked == 1:
        assert found['overall']['new']['right'] == said_no
    assert f'the truth is known of {found["with_truth"]} of' in said
    code, _, said = replay('--labels', str(tmp_path / 'none.jsonl'))
    assert code == 2 and 'none.jsonl' in said


def test_damaged_bags_are_named_and_counted(replay, bags):
    source = bags[1]['run/bags/p0']
    cut = dataclasses.replace(source.episode, events=source.episode.events[:-3])
    assert not isinstance(cut.events[-1], EpisodeEnded)
    bags[1]['run/bags/p0'] = Source(source.name, cut)
    bags[1]['run/bags/p1'] = None
    code, result, said = replay('--table', 'perfect')
    assert code == 0 and result['damaged'] == 2 and result['unreadable'] == 1
    assert 'warning: run/bags/p1' in said and 'end of the episode is missing' in said
    assert set(result['warnings']) == {'run/bags/p0', 'run/bags/p1'}
    for name in bags[1]:
        bags[1][name] = None
    code, _, said = replay('--list', out=False)
    assert code == 1 and 'nothing could be read' in said
    code, _, said = replay('--table', 'perfect', out='none')
    assert code == 1 and 'nothing' in said


def test_bags_that_no_result_names_are_left_out(replay, bags, capsys):
    run = bags[0] / 'run'
    lines = [json.loads(line) for line in (run / 'episodes.jsonl').read_text().splitlines()]
    before = (run / 'episodes.jsonl').read_text()
    try:
        (run / 'episodes.jsonl').write_text(''.join(json.dumps(
            {**line, **({'bag': f'bags/p{n}'} if n else {})}) + '\n'
            for n, line in enumerate(lines)))
        _, result, said = replay('--list', out=False)
        assert [e['bag'] for e in result['list']] == ['run/bags/p1', 'run/bags/p2']
        assert len(result['left_out']) == 1 and 'left out' in said
        assert cli.main(['replay', str(run / 'bags/p0'), '--list', '--json']) == 0
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert [e['bag'] for e in result['list']] == ['run/bags/p0']
    finally:
        (run / 'episodes.jsonl').write_text(before)


@pytest.mark.parametrize(('arguments', 'names'), [
    (['--limit', '3'], '--backend'), (['--model', 'x'], '--backend'),
    (['--purpose', 'goal'], '--backend'), (['--calibration', 'x'], '--method'),
    (['--table', 'perfect', '--backend', 'embedded'], 'noisy_oracle'),
    (['--table', 'none-such'], 'none-such'), (['--backend', 'openai'], 'model'),
    (['--table', 'perfect', '--limit', '-1'], '--limit'),
    (['--method', 'plan'], 'no estimator'), (['--method', 'ground', '--method-option', 'x'],
                                             'KEY=VALUE'),
    (['--method', 'ground', '--method-option', 'k=3'], "'k'"),
    (['--method', 'belief', '--calibration', 'nowhere.json'], 'nowhere.json'),
    (['--table', 'perfect', '--grounder-timeout-s', '0'], '--grounder-timeout-s'),
    (['--table', 'perfect', '--model', 'x'], "'model'"),
    *((['--list', *more], more[0].replace('--table', '--backend')) for more in (
        ['--backend', 'embedded'], ['--table', 'perfect'], ['--method', 'ground'],
        ['--labels', 'labels.jsonl'])),
    (['--list'], '--out'),
    *((more, f'{more[0]} needs --backend') for more in (
        ['--seed', '0'], ['--answers', 'strict'], ['--questions', 'recorded'],
        ['--grounder-timeout-s', '9'])),
    (['--table', 'perfect', '--rerun', 'episodes.txt'], '.rrd'),
])
def test_bad_usage_is_met_with_the_remedy(replay, arguments, names):
    code, result, said = replay(*arguments)
    assert code == 2 and result is None and names in said


def test_only_estimators_need_the_package_that_brings_them(replay, monkeypatch):
    monkeypatch.setattr(plugins, 'entry_points', lambda group, points=plugins.entry_points: {
        name: point for name, point in points(group).items()
        if not point.value.startswith('sightplan_belief')})
    code, _, said = replay('--method', 'ground')
    assert code == 2 and 'pip install sightplan_belief' in said
    code, _, said = replay(*GEMMA)
    assert code == 0, said


@pytest.mark.parametrize('way', [('--table', 'perfect'), (), ('--method', 'ground')])
def test_what_cannot_be_written_is_refused_before_anything_is_asked(
        bags, capsys, tmp_path, monkeypatch, way):
    def never(*_):
        raise AssertionError('a bag was read')
    monkeypatch.setattr(places, 'read_episodes', never)
    (tmp_path / 'file').write_text('x')
    (tmp_path / 'there.rrd').write_text('x')
    run = bags[0] / 'run'
    before = sorted(run.rglob('*'))
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'x.mcap').touch()
    for wrong, names in ((('--out', tmp_path / 'file' / 'out'), 'another --out'),
                         (('--out', tmp_path / ('x' * 300)), 'File name too long'),
                         (('--out', tmp_path / 'loop'), 'loop'),
                         (('--out', run), 'of a run or a bag'), (('--out', bag), 'x.mcap'),
                         (('--rerun', tmp_path / 'there.rrd'), 'exists already')):
        code = cli.main(['replay', str(run), *way, *map(str, wrong)])
        assert code == 2 and names in capsys.readouterr().err
    assert sorted(run.rglob('*')) == before


def test_a_viewer_that_fails_costs_no_result(replay, tmp_path, monkeypatch):
    from sightplan_report import rerun_log

    def gone(*_):
        raise InputError('the viewer is not there')
    monkeypatch.setattr(rerun_log, 'RerunLog', gone)
    code, result, said = replay('--table', 'perfect', '--rerun', str(tmp_path / 'x.rrd'))
    assert code == 1 and 'the viewer is not there' in said and result['answers'] > 0
    assert json.loads((tmp_path / 'out' / RESULT).read_text()) == result


def test_bags_without_questions_have_nothing_to_estimate(replay, bags, tmp_path):
    for name, source in list(bags[1].items()):
        bags[1][name] = with_batches(source, lambda batch: None)
    code, result, said = replay('--method', 'belief')
    assert code == 0 and result['estimates']['recorded']['moments'] == 0
    assert 'the bags hold no questions' in said
    code, result, said = replay('--method', 'belief', '--table', 'perfect', out='asked')
    assert code == 0 and result['answers'] == 0 and 'no such questions' in said


def test_answers_are_kept_with_the_words_that_were_asked(replay, bags, tmp_path):
    def old(batch):
        return dataclasses.replace(batch.event, queries=tuple(yes_no_queries(
            batch.event.observation, [dataclasses.replace(q, text=f'OLD {q.text}')
                                      for q in batch.event.questions])))
    for name, source in list(bags[1].items()):
        bags[1][name] = with_batches(source, old)
    domain = next(iter(bags[1].values())).episode.domain
    for words, digest in (('recorded', ''), ('domain', domain.question_hash)):
        assert replay('--table', 'perfect', '--questions', words, out=words)[0] == 0
        lines = [json.loads(x) for x in (tmp_path / words / ANSWERS).read_text().splitlines()]
        assert {line['question'].startswith('OLD ') for line in lines} == {words == 'recorded'}
        assert {line['questions_sha256'] for line in lines} == {digest}


def test_labels_that_come_later_are_written_beside_the_answers(replay, bags, tmp_path):
    for name, source in list(bags[1].items()):
        bags[1][name] = without_truth(source)
    eye = ('--backend', 'scripted', '--backend-option', f'script={script(tmp_path)}')
    path = tmp_path / 'out' / ANSWERS
    assert replay(*eye)[1]['new'] > 0
    before = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line['truth'] for line in before} == {None}
    labels = tmp_path / 'labels.jsonl'
    labels.write_text(json.dumps({key: before[3][key] for key in ('image', 'atom')}
                                 | {'label': 'yes'}) + '\n')
    assert replay(*eye, '--labels', str(labels))[1]['new'] == 0
    after = [json.loads(line) for line in path.read_text().splitlines()]
    assert [{**line, 'truth': None} for line in after] == before and after[3]['truth'] is True
    assert {line['truth'] for line in after if line['image'] != before[3]['image']
            or line['atom'] != before[3]['atom']} == {None}
    assert list(path.parent.glob('.*')) == []
    assert replay(*eye, '--labels', str(labels))[1]['new'] == 0  # it can still be taken up


def test_an_oracle_leaves_out_bags_without_truth(replay, bags):
    bags[1]['run/bags/p0'] = without_truth(bags[1]['run/bags/p0'])
    code, result, said = replay('--table', 'perfect')
    lost = sum(1 for _ in batches(bags[1]['run/bags/p0']))
    assert code == 0 and result['without_truth'] == lost and 'lacks the truth' in said
    assert result['answers'] == sum(len(b.event.questions) for b in asked(bags[1])
                                    if b.source.name != 'run/bags/p0')


def test_a_second_domain_is_known_before_the_first_question(replay, bags, tmp_path):
    pantry, = hidden_run('ground', Privileged.ALWAYS)[:1]
    bags[1]['run/bags/p2'] = Source('run/bags/p2', pantry.episode)
    code, result, said = replay('--backend', 'embedded')
    assert code == 2 and result is None and 'one domain at a time' in said
    assert not (tmp_path / 'out').exists()
    assert replay('--table', 'perfect', '--questions', 'domain')[0] == 0
    identity = json.loads((tmp_path / 'out' / NAME).read_text())['identity']
    names = {'blocksworld', pantry.episode.domain.name}
    assert set(identity['questions']) == names
    assert replay('--backend', 'scripted', '--backend-option', f'script={script(tmp_path)}',
                  out='eye')[0] == 0
    identity = json.loads((tmp_path / 'eye' / NAME).read_text())['identity']
    assert set(identity['prompts']) == names


def test_labels_say_where_they_count(replay, bags, tmp_path):
    batch = next(batches(bags[1]['run/bags/p0']))
    labels = tmp_path / 'labels.jsonl'
    labels.write_text(json.dumps({'image': batch.event.observation.image_id, 'label': 'yes',
                                  'atom': str(batch.event.questions[0].atom)}) + '\n')
    code, _, said = replay('--labels', str(labels))
    assert code in (0, 1) and 'labels count in these tables of answers' in said


def test_no_bags_is_bad_usage(bags, tmp_path, capsys):
    (tmp_path / 'empty').mkdir()
    assert cli.main(['replay', str(tmp_path / 'empty')]) == 2
    assert 'no bag' in capsys.readouterr().err
