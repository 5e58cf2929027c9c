"""``sightplan replay`` on bags that runs recorded."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from fake_openai import FakeServer, chat
from replay_doubles import THREE_BLOCKS
from sightplan import cli
from sightplan.model import InputError
from sightplan.records import topics
from sightplan.records.bag import BagWriter
from sightplan.records.bag_messages import message_types
from sightplan.records.bag_reading import open_bag
from sightplan.replay.answers_store import ANSWERS
from sightplan.replay.batches import batches
from sightplan.replay.sources import Sources
from sightplan.runs import RunSettings, run

ONE_OF_TWO = {'same': ('', ''), 'arms': ('/arm_1', '/arm_2')}
GEMMA = {'table': 'gemma-3-27b-it'}


def record(folder, problems=3, **values):
    """A run with bags; returns its directory."""
    there = folder / 'problems'
    there.mkdir(parents=True, exist_ok=True)
    for number in range(problems):
        (there / f'p{number}.pddl').write_text(THREE_BLOCKS if number % 2 else TWO_BLOCKS)
    name = values.pop('name', 'run')
    run(RunSettings(**{'problems': str(there), 'method': 'ground', 'backend': 'noisy_oracle',
                       'out': str(folder / name), 'bags': 'all', 'seed': 4, 'max_actions': 12,
                       'backend_options': GEMMA, **values}),
        world=MemoryWorld(), planner=SearchPlanner())
    return folder / name


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    return record(tmp_path_factory.mktemp('bags'))


@pytest.fixture
def folder(recorded, tmp_path):
    """A copy of the run that may be damaged."""
    return shutil.copytree(recorded, tmp_path / 'run')


def merged(out, *bags, namespaces=('', '')):
    """One recording over several bags, as ``ros2 bag record`` beside several runs makes it."""
    writer, channels, last = BagWriter(out, 'zstd', {}), {}, 0
    for space, path in zip(namespaces, bags, strict=True):
        offset = None
        for message in open_bag(path).messages():
            topic, relative = space + message.topic, topics.relative(message.topic)
            if relative is None:
                continue
            if topic not in channels:
                channels[topic] = writer.add_topic(topic, message_types().get(
                    topics.RECORDED[relative[1]]), topics.bag_qos(relative[1]))
            if offset is None:
                offset = last + 10**9 - message.log_ns if last else 0
            last = message.log_ns + offset
            writer.write(channels[topic], last, message.data)
    writer.close()
    return out


@pytest.fixture
def replay(capsys):
    """Call the command; returns exit code, JSON result and what it said."""
    def call(*arguments):
        code = cli.main(['replay', *map(str, arguments), '--json'])
        said = capsys.readouterr()
        return code, json.loads(said.out.splitlines()[-1]) if said.out else None, said.err
    return call


def test_metrics_from_bags_are_those_of_the_run(replay, recorded):
    code, result, said = replay(recorded)
    live = json.loads((recorded / 'summary.json').read_text())
    assert code == 0 and result['equal'] is True and result['compared'] == 3
    assert {key: result[key] for key in live} == live
    assert 'equal to the live metrics in all 3 episodes' in said


@pytest.mark.parametrize('method', ['belief', 'ground_mem', 'decode', 'random'])
def test_of_every_method(replay, tmp_path, method):
    folder = record(tmp_path, 2, method=method, failure_probability=.2)
    code, result, _ = replay(folder)
    assert code == 0 and result['equal'] is True and result['compared'] == 2
    assert result['differing'] == {} and result['without_bag'] == 0


@pytest.mark.parametrize('namespaces', ONE_OF_TWO.values(), ids=ONE_OF_TWO)
def test_attempts_in_one_bag_are_told_apart(replay, recorded, tmp_path, namespaces):
    """Two methods at the same problem have the same episode id."""
    other = record(tmp_path, 1, name='other', method='belief')
    one, two = (next(min((run / 'bags').iterdir()).glob('*.mcap')) for run in (recorded, other))
    bag = merged(tmp_path / 'both', one, two, namespaces=namespaces)
    asked = [sum(len(b.event.questions) for b in batches(source))
             for source in Sources.find([bag]).read()]
    assert len(asked) == 2 and asked[0] != asked[1]
    code, result, said = replay(bag, '--list')
    assert code == 0 and [e['attempt'] for e in result['list']] == [0, 1]
    assert [e['namespace'] for e in result['list']] == list(namespaces)
    assert len({e['episode'] for e in result['list']}) == 1 and '(attempt 2)' in said
    for new in (sum(asked), 0):
        code, result, _ = replay(bag, '--table', 'perfect', '--out', tmp_path / 'out', '--method',
                                 'ground')
        assert code == 0 and (result['answers'], result['new']) == (sum(asked), new)
        assert result['comparison']['overall']['new']['accuracy'] == 1.
        assert result['estimates']['new']['moments'] == result['batches']
    lines = [json.loads(line) for line in (tmp_path / 'out' / ANSWERS).read_text().splitlines()]
    assert [sum(line['attempt'] == n for line in lines) for n in (0, 1)] == asked
    assert all((line['answer'] == 'yes') is line['truth'] for line in lines)


def test_results_of_a_run_are_about_the_last_attempt(recorded, folder):
    first = min((folder / 'bags').iterdir())
    for namespaces, live in ((('', ''), [False, True]), (('/a', '/b'), [False, False])):
        shutil.rmtree(first, ignore_errors=True)
        merged(first, *[next((recorded / 'bags' / first.name).glob('*.mcap'))] * 2,
               namespaces=namespaces)
        sources = Sources.find([first])
        assert [sources.live(s) is not None for s in sources.read()] == live


def test_what_differs_is_named(replay, folder):
    path = folder / 'episodes.jsonl'
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]['questions'] += 1
    path.write_text(''.join(json.dumps(line) + '\n' for line in lines))
    code, result, said = replay(folder)
    assert code == 1 and result['equal'] is False
    (key, found), = result['differing'].items()
    assert 'p1' in key and len(found) == 1 and found[0].startswith('questions: was')
    assert f'differs from the live run: {key}' in said


def test_bags_without_their_run_are_scored_alone(replay, folder, tmp_path):
    loose = shutil.copytree(folder / 'bags', tmp_path / 'loose')
    code, result, _ = replay(loose)
    live = json.loads((folder / 'summary.json').read_text())
    assert code == 0 and result['equal'] is None and result['compared'] == 0
    for key in ('solved', 'success_rate', 'predicate_accuracy', 'actions', 'stops'):
        assert result[key] == live[key]
    one = next(loose.rglob('*.mcap'))
    code, result, _ = replay(one)
    assert code == 0 and result['episodes'] == 1


def test_episodes_without_bag_are_counted_where_the_whole_run_is_asked_for(replay, folder):
    bags = sorted((folder / 'bags').iterdir())
    for some in (bags[:1], bags[:2]):
        code, result, said = replay(*some)
        assert code == 0 and result['compared'] == len(some) and result['without_bag'] == 0
        assert 'have no bag' not in said
    shutil.rmtree(bags[0])
    for whole in (folder, folder.parent):
        code, result, said = replay(whole)
        assert code == 0 and result['compared'] == 2 and result['without_bag'] == 1
        assert '1 episodes of the run have no bag' in said


def test_files_that_cannot_be_read_are_named(folder, monkeypatch):
    def locked(path, *arguments, **named):
        if path.suffix == '.mcap' and arguments == ('rb',):
            raise PermissionError(13, 'Permission denied', str(path))
        return opened(path, *arguments, **named)
    opened = pathlib.Path.open
    found = Sources.find([folder])
    monkeypatch.setattr(pathlib.Path, 'open', locked)
    with pytest.raises(InputError, match=r'\.mcap: cannot be read \(Permission denied\)'):
        found.digests()


@pytest.mark.parametrize('name', ['x' * 300, 'loop', 'nul\0'])
def test_paths_at_which_nothing_can_be_are_bad_usage(tmp_path, capsys, name):
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    assert cli.main(['replay', str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith('sightplan replay: ')


def test_several_runs_are_scored_one_by_one(replay, tmp_path):
    record(tmp_path, 1)
    record(tmp_path, 2, name='other', backend_options={'table': 'perfect'})
    code, result, _ = replay(tmp_path)
    assert code == 0 and result['equal'] is True and result['episodes'] == 3
    assert [summary['episodes'] for summary in result['runs']] == [2, 1]
    assert result['runs'][0]['predicate_accuracy']['overall'] == 1.


def test_the_recorded_model_is_asked_about_recorded_images(replay, recorded, tmp_path):
    code, result, _ = replay(recorded, '--table', 'gemma-3-27b-it', '--seed', 4, '--out',
                             tmp_path / 'same', '--method', 'belief')
    assert code == 0
    paired = result['comparison']['overall']['paired']
    assert paired['only_recorded'] == paired['only_new'] == 0
    recorded_scores, new_scores = (result['estimates'][which] for which in ('recorded', 'new'))
    assert recorded_scores == new_scores
    for name in ('comparison', 'estimates'):
        assert (tmp_path / 'same' / f'{name}.csv').read_text().count('\n') > 2
        assert (tmp_path / 'same' / f'{name}.md').read_text().startswith('# ')


def test_labels_judge_the_recorded_answers(replay, folder, tmp_path):
    replay(folder, '--table', 'perfect', '--out', tmp_path / 'out')
    lines = [json.loads(line) for line in (tmp_path / 'out' / ANSWERS).read_text().splitlines()]
    chosen = {(line['image'], line['atom']): line['answer'] for line in lines[:10]}
    labels = tmp_path / 'labels.jsonl'
    labels.write_text(''.join(json.dumps({'image': image, 'atom': atom, 'label': label}) + '\n'
                              for (image, atom), label in chosen.items()))
    code, result, said = replay(folder, '--labels', labels, '--labels', labels, '--out',
                                tmp_path / 'judged')
    assert code == 0 and result['labels'] == {
        'used': len(chosen), 'compared': len(chosen), 'disagreements': 0, 'disagreeing': []}
    assert result['answers']['overall']['recorded']['n'] == len(lines)
    assert result['answers']['overall']['new'] is None and 'answers by predicate' in said
    assert (tmp_path / 'judged' / 'answers.csv').exists()


def test_truncated_bags_give_what_can_be_read(replay, folder, recorded, tmp_path):
    bag = next((folder / 'bags').rglob('*p1*.mcap'))
    raw = bag.read_bytes()
    rng = random.Random(1)
    whole = json.loads((recorded / 'summary.json').read_text())['questions']
    for cut in sorted(rng.randrange(len(raw)) for _ in range(6)):
        bag.write_bytes(raw[:cut])
        code, result, said = replay(folder)
        assert code == 0 and result['equal'] is True
        # Index and summary come last: without them a bag may be whole.
        assert result['compared'] + result['damaged'] == 3 and result['damaged'] in (0, 1)
        assert ('warning: run/bags/' in said) == bool(result['damaged'])
        code, result, _ = replay(folder, '--table', 'perfect', '--out', tmp_path / str(cut))
        assert code == 0 and 0 < result['answers'] <= whole
        code, result, _ = replay(folder, '--list')
        assert code == 0 and {len(e['warnings']) > 0 for e in result['list']} <= {True, False}


def test_nothing_readable_is_a_failure(replay, folder):
    for bag in (folder / 'bags').rglob('*.mcap'):
        bag.write_bytes(bag.read_bytes()[:40])
    code, result, said = replay(folder)
    assert code == 1 and result['unreadable'] == 3 and 'nothing could be read' in said
    assert result['episodes'] == 0


@pytest.mark.slow
def test_a_killed_replay_loses_and_repeats_nothing(recorded, tmp_path, monkeypatch):
    monkeypatch.setenv('OPENAI_API_KEY', 'x')
    asked = json.loads((recorded / 'summary.json').read_text())['questions']

    def slowly(body, number):
        time.sleep(.005)
        return chat('Yes')
    with FakeServer(slowly) as server:
        command = [sys.executable, '-m', 'sightplan.cli', 'replay', str(recorded), '--backend',
                   'openai', '--model', 'm', '--backend-option', f'base_url={server.url}',
                   '--backend-option', 'concurrency=2', '--out', str(tmp_path), '--json']
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server.wait_for(70)
        finally:
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
    lines = [json.loads(line) for line in (tmp_path / ANSWERS).read_text().splitlines()]
    places = [(line['bag'], line['episode'], line['attempt'], line['batch'], line['number'])
              for line in lines]
    assert len(places) == len(set(places)) == asked == result['answers']
    assert result['new'] < asked
    assert {line['answer'] for line in lines} == {'yes'}


def test_episodes_are_shown_in_rerun(replay, recorded, tmp_path):
    pytest.importorskip('rerun')
    code, _, _ = replay(recorded, '--rerun', tmp_path / 'episodes.rrd')
    assert code == 0 and (tmp_path / 'episodes.rrd').stat().st_size > 1000
