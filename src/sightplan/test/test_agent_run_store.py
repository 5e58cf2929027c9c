"""The run directory: crash safety, resuming, refusing."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import InfrastructureError, InputError
from sightplan.records import RunStore, provenance

IDENTITY = {'method': {'name': 'ground', 'on_unparsed': 'continue'}, 'seed': 0, 'sizes': [1, 2]}


def line(number, **values):
    return {'id': f'e{number}', 'measures': {'solved': 1.0}, **values}


def opened(folder, identity=IDENTITY, **options):
    store = RunStore(folder)
    store.open(identity, {'started': 'now'}, **options)
    return store


def test_naming_a_directory_touches_nothing(tmp_path):
    store = RunStore(tmp_path / 'a' / 'b')
    assert store.lines() == [] and store.done() == set()
    assert not (tmp_path / 'a').exists()


def test_a_committed_line_is_on_disk_at_once(tmp_path):
    store = opened(tmp_path / 'run')
    store.append(line(1, solved=True))
    assert (tmp_path / 'run' / 'episodes.jsonl').read_text() == json.dumps(
        line(1, solved=True)) + '\n'
    assert RunStore(tmp_path / 'run').lines() == [line(1, solved=True)]


def test_opening_again_knows_what_is_done_and_goes_on(tmp_path):
    with opened(tmp_path) as store:
        store.append(line(1))
    with RunStore(tmp_path) as store:
        assert store.open(IDENTITY) == {'e1'}
        assert ('e1' in store, 'e2' in store, store.count) == (True, False, 1)
        store.append(line(2))
        assert ('e2' in store, store.count) == (True, 2)
    assert [x['id'] for x in RunStore(tmp_path).lines()] == ['e1', 'e2']
    assert len(RunStore(tmp_path).run_info()['sessions']) == 2


def test_an_episode_is_committed_once(tmp_path):
    store = opened(tmp_path)
    store.append(line(1))
    with pytest.raises(ValueError, match='e1'):
        store.append(line(1))


def test_nothing_is_appended_to_a_closed_run(tmp_path):
    store = opened(tmp_path)
    store.close()
    with pytest.raises(ValueError, match='not open'):
        store.append(line(1))


def test_tuples_and_lists_are_the_same_when_resuming(tmp_path):
    opened(tmp_path, {'x': (1, 2)}).close()
    opened(tmp_path, {'x': [1, 2]}).close()


@pytest.mark.parametrize(('change', 'message'), [
    ({'seed': 1}, 'seed was 0, now 1'),
    ({'method': {'name': 'ground', 'on_unparsed': 'stop'}},
     'method.on_unparsed was "continue", now "stop"'),
    ({'method': {'name': 'oracle'}}, 'method.name was "ground", now "oracle"'),
    ({'new': 3}, 'choose another --out, or settings as they were. Different: new was null, now 3'),
    ({'method': {'name': 'ground'}}, 'method.on_unparsed was "continue", now null'),
])
def test_another_configuration_is_refused_and_the_difference_named(tmp_path, change, message):
    opened(tmp_path).close()
    with pytest.raises(InputError, match='cannot be resumed') as caught:
        RunStore(tmp_path).open({**IDENTITY, **change})
    assert message in str(caught.value) and 'sizes' not in str(caught.value)
    # Nothing was changed or left locked.
    opened(tmp_path).close()


def test_resuming_can_be_forbidden(tmp_path):
    opened(tmp_path, resume=False).close()
    with pytest.raises(InputError, match='holds a run already'):
        RunStore(tmp_path).open(IDENTITY, resume=False)


def test_two_writers_are_one_too_many(tmp_path):
    store = opened(tmp_path)
    with pytest.raises(InputError, match='another process'):
        RunStore(tmp_path).open(IDENTITY)
    assert RunStore(tmp_path).lines() == []  # reading is free
    store.close()
    opened(tmp_path).close()


def test_processes_of_one_command_share_a_run(tmp_path):
    one, two = (RunStore(tmp_path) for _ in range(2))
    one.open(IDENTITY, {'started': 'now'}, command='c')
    assert one.append(line(1))
    assert two.open(IDENTITY, {'started': 'later'}, command='c') == {'e1'}
    assert two.append(line(2)) and not one.append(line(2, solved=True)), 'who is first'
    with one.locked() as done:
        assert done == {'e1', 'e2'}
        with pytest.raises(InputError, match='another process'):
            RunStore(tmp_path).open(IDENTITY)
    wrote = []
    assert not two.append(line(1), before=lambda: wrote.append(1))
    assert two.append(line(3), before=lambda: wrote.append(3)) and wrote == [3]
    assert [x['id'] for x in one.lines()] == ['e1', 'e2', 'e3']
    assert len(one.run_info()['sessions']) == 1, 'who joins is no session of its own'
    with pytest.raises(InputError, match='Different: seed was 0, now 1'):
        RunStore(tmp_path).open({**IDENTITY, 'seed': 1}, command='c')


def test_who_shares_a_run_sees_that_errors_were_dropped(tmp_path):
    with opened(tmp_path) as store:
        store.append(line(1, measures={'solved': None}))
        store.append(line(2))
    one, two = (RunStore(tmp_path) for _ in range(2))
    assert one.open(IDENTITY, command='c') == {'e1', 'e2'}
    assert two.open(IDENTITY, command='d', retry_errors=True) == {'e2'}
    assert one.append(line(1)) and two.append(line(3)) and not two.append(line(1))
    assert RunStore(tmp_path).done() == {'e1', 'e2', 'e3'}


def test_a_torn_line_of_another_process_is_removed_before_the_next(tmp_path):
    store = RunStore(tmp_path)
    store.open(IDENTITY, command='c')
    store.append(line(1))
    with (tmp_path / 'episodes.jsonl').open('ab') as file:
        file.write(b'{"id": "e2", "mea')
    store.append(line(3))
    assert [x['id'] for x in store.lines()] == ['e1', 'e3']


def test_a_fence_keeps_a_process_from_writing(tmp_path):
    def fence():
        if closed:
            raise InputError('taken over')
    closed = []
    store = RunStore(tmp_path)
    store.open(IDENTITY, command='c', fence=fence)
    store.append(line(1))
    closed.append(True)
    for forbidden in (lambda: store.append(line(2)), lambda: store.note('a', 1),
                      store.drop_unscored):
        with pytest.raises(InputError, match='taken over'):
            forbidden()
    assert store.done() == {'e1'} and 'a' not in store.run_info()


SHARING = """
import sys
from sightplan.records import RunStore
store = RunStore(sys.argv[1])
store.open({}, command='c')
for number in range(60):
    store.append({'id': f'e{number}', 'by': sys.argv[2], 'text': 'x' * 5000})
"""


def test_many_processes_commit_each_episode_once(tmp_path):
    writers = [subprocess.Popen([sys.executable, '-c', SHARING, str(tmp_path), str(n)])
               for n in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert sorted(x['id'] for x in RunStore(tmp_path).lines()) == sorted(
        f'e{n}' for n in range(60))


def test_only_a_new_run_is_discarded(tmp_path):
    opened(tmp_path / 'old').close()
    for name in ('old', 'new'):
        with opened(tmp_path / name) as store:
            store.discard_if_empty()
    assert (tmp_path / 'old' / 'run.json').exists() and not (tmp_path / 'new').exists()


def test_results_of_unknown_origin_are_left_alone(tmp_path):
    (tmp_path / 'episodes.jsonl').write_text('{"id": "x"}\n')
    with pytest.raises(InputError, match=r'without run\.json'):
        RunStore(tmp_path).open(IDENTITY)


def test_a_directory_that_cannot_be_made_is_an_input_error(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(InputError, match='--out'):
        RunStore(tmp_path / 'file' / 'run').open(IDENTITY)


@given(cut=st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_a_file_cut_anywhere_can_be_read_and_resumed(cut, tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    with opened(folder) as store:
        for number in range(5):
            store.append(line(number, text='ä' * number))
    path = folder / 'episodes.jsonl'
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    ends = [place for place, byte in enumerate(whole) if byte == 10]
    kept = sum(end <= cut for end in ends)  # a line that lacks only its line feed is whole
    assert [x['id'] for x in RunStore(folder).lines()] == [f'e{i}' for i in range(kept)]
    with RunStore(folder) as store:
        assert len(store.open(IDENTITY)) == kept
        for number in range(kept, 5):
            store.append(line(number, text='ä' * number))
    assert path.read_bytes() == whole


@pytest.mark.parametrize('garbage', [b'\x00\x00\x00', b'\x00\x00\n', b'{"episode'])
def test_garbage_at_the_end_is_dropped_when_resuming(tmp_path, garbage):
    with opened(tmp_path) as store:
        store.append(line(1))
    with (tmp_path / 'episodes.jsonl').open('ab') as file:
        file.write(garbage)
    assert RunStore(tmp_path).done() == {'e1'}
    with RunStore(tmp_path) as store:
        assert store.open(IDENTITY) == {'e1'}
        store.append(line(2))
    assert [x['id'] for x in RunStore(tmp_path).lines()] == ['e1', 'e2']


def test_garbage_in_the_middle_is_reported_with_its_line(tmp_path):
    with opened(tmp_path) as store:
        store.append(line(1))
    with (tmp_path / 'episodes.jsonl').open('ab') as file:
        file.write(b'garbage\n' + json.dumps(line(2)).encode() + b'\n')
    with pytest.raises(InputError, match=r'episodes\.jsonl:2'):
        RunStore(tmp_path).lines()


def test_a_line_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    store = opened(tmp_path)
    store.append(line(1))
    write = os.write
    monkeypatch.setattr(os, 'write', lambda file, data: write(file, data[:7]))
    with pytest.raises(InfrastructureError, match='No space left'):
        store.append(line(2))
    monkeypatch.undo()
    store.append(line(3))
    assert RunStore(tmp_path).done() == {'e1', 'e3'}


def test_not_a_number_is_never_written(tmp_path):
    store = opened(tmp_path)
    with pytest.raises(ValueError, match='JSON compliant'):
        store.append(line(1, value=float('nan')))
    assert RunStore(tmp_path).lines() == []


def test_unscored_episodes_can_be_dropped_to_be_repeated(tmp_path):
    store = opened(tmp_path)
    for number in range(4):
        store.append(line(number, measures={'solved': 1.0 if number % 2 == 0 else None}))
    assert store.drop_unscored() == 2
    assert store.done() == {'e0', 'e2'}
    store.append(line(1))
    assert [x['id'] for x in RunStore(tmp_path).lines()] == ['e0', 'e2', 'e1']
    with pytest.raises(InputError, match='another process'):
        RunStore(tmp_path).open(IDENTITY)
    assert store.drop_unscored() == 0


def test_a_summary_says_what_was_run_by_which_commit(tmp_path):
    identity = {**IDENTITY, 'model': 'm@1', 'questions_sha256': 'q',
                'problems': {'count': 3, 'sha256': 'p'}}
    for commit in ('old', 'old', 'new'):
        with RunStore(tmp_path) as store:
            store.open(identity, {'started': 'now', 'commit': commit, 'dirty': False,
                                  'packages': {'torch': '2'}, 'settings': {'out': 'x'}})
            written = store.write_summary({'episodes': 1, 'problems': 3})
    assert written == json.loads((tmp_path / 'summary.json').read_text()) == {
        'episodes': 1, 'problems': 3, 'repeated_lines': [], 'method': IDENTITY['method'],
        'model': 'm@1', 'seed': 0,
        'questions_sha256': 'q', 'problems_sha256': 'p', 'other_commits': ['old'],
        'provenance': {'started': 'now', 'commit': 'new', 'dirty': False,
                       'packages': {'torch': '2'}}}


def test_notes_and_summary_are_replaced_as_a_whole(tmp_path):
    store = opened(tmp_path)
    store.note('problems_skipped', ['a.pddl'])
    store.write_summary({'episodes': 1})
    store.write_summary({'episodes': 2})
    assert store.run_info()['problems_skipped'] == ['a.pddl']
    assert store.run_info()['identity'] == IDENTITY
    assert json.loads((tmp_path / 'summary.json').read_text())['episodes'] == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        'episodes.jsonl', 'run.json', 'summary.json']


def test_a_writer_that_was_killed_leaves_no_lock(tmp_path):
    code = (f'from sightplan.records import RunStore; import os, signal; '
            f'store = RunStore({str(tmp_path)!r}); store.open({IDENTITY!r}); '
            f'store.append({line(1)!r}); os.kill(os.getpid(), signal.SIGKILL)')
    done = subprocess.run([sys.executable, '-c', code], check=False)
    assert done.returncode == -9
    with RunStore(tmp_path) as store:
        assert store.open(IDENTITY) == {'e1'}


def test_provenance_names_commit_and_versions():
    found = provenance()
    assert found['packages']['numpy'] and found['packages']['rosbags']
    assert found['python'].startswith(f'{sys.version_info.major}.{sys.version_info.minor}')
    assert found['commit'] is None or len(found['commit']) == 40
    assert (found['commit'] is None) == (found['dirty'] is None)
    json.dumps(found, allow_nan=False)
