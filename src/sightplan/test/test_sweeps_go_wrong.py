"""Sweeps on full disks, with models that are down, with caps, and with damaged files."""

import errno
import json
import os
import re
import socket
import threading
import time
from concurrent.futures import wait
from pathlib import Path

import pytest
import yaml

from doubles import InsideEngine, MemoryWorld, SearchPlanner
from fake_openai import FakeServer, chat, error
from sightplan import cli, sweeps
from sightplan.metrics import measures
from sightplan.model import BackendError, CancelledError, InputError, WorldError
from sightplan.model.journal import StorageError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, worlds
from sightplan.sweeps import (
    Options,
    damaged,
    estimate,
    parse_sweep,
    read_sweep,
    run_sweep,
    serving,
    status,
)
from sightplan.sweeps.batch import Outcome
from sightplan.sweeps.ray_engine import RayEngine, _check_reachable, _wait_for
from sightplan.sweeps.schedule import CAP_OF_SWEEP, STORAGE, Job, Schedule
from sightplan_models import noisy_oracle

INSIDE = Options(1, engine=InsideEngine)
TWO = '{base: {table: perfect, split: simple, episodes: 3}, axes: {seed: [0, 1]}}'


def sweep_of(text: str, name: str = 'test'):
    return parse_sweep(yaml.safe_load(text), name, f'{name}.yaml')


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Runs in this process with test doubles instead of simulator and planner."""
    from sightplan.planning import symbolic
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
    monkeypatch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())


@pytest.mark.parametrize('text', [
    '{base: {method: 5}, axes: {seed: [0]}}', '{base: {backend: true}, axes: {seed: [0]}}',
    '{base: {method: [ground]}, axes: {seed: [0]}}', '{base: {}, cells: [{method: {a: 1}}]}',
    '{base: {}, axes: {backend: [null]}}'])
def test_a_method_or_backend_that_is_no_text_is_refused(text):
    with pytest.raises(InputError, match=r'test\.yaml: (method|backend) = .* must be a name'):
        sweep_of(text)


class PromptEngine(InsideEngine):
    """Every batch is over before anybody looks, as on a machine that is busy otherwise."""

    def submit(self, worker, batch):
        future = super().submit(worker, batch)
        wait([future])
        return future


def command(monkeypatch, *arguments, engine=InsideEngine):
    """Run the command line with workers in this process."""
    monkeypatch.setattr(sweeps, 'run_sweep', lambda sweep, out, how, *more: run_sweep(
        sweep, out, Options(1, how.retries, False, how.max_tokens, how.max_cost_usd, how.patience,
                            engine=engine), *more))
    return cli.main(['sweep', *map(str, arguments)])


# ---------------------------------------------------------------------------------- full disk


@pytest.mark.parametrize('full', ['episodes.jsonl', 'run.json', 'summary.json', 'metrics.json',
                                  'test.sweep.json'])
def test_a_full_disk_stops_the_sweep_once_with_a_result(tmp_path, monkeypatch, capsys, full):
    file, out = tmp_path / 'test.yaml', tmp_path / 'out'
    file.write_text(TWO)
    opened = []
    write, replace = os.write, os.replace

    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_some(handle, data):
        if Path(os.readlink(f'/proc/self/fd/{handle}')).name == full:
            no_room()
        return write(handle, data)

    def replace_some(old, new):
        return no_room() if Path(new).name == full else replace(old, new)
    real_open = RunStore.open
    monkeypatch.setattr(RunStore, 'open', lambda self, *a, **k: (
        opened.append(self.folder.name), real_open(self, *a, **k))[1])
    with monkeypatch.context() as patch:
        patch.setattr(os, 'write', write_some)
        patch.setattr(os, 'replace', replace_some)
        assert command(patch, file, '--out', out, '--json') == 1
    shown = capsys.readouterr()
    result = json.loads(shown.out.splitlines()[-1])
    assert 'Traceback' not in shown.err
    assert result['interrupted'] and result['stopped_kind'] == STORAGE
    assert full in result['stopped_by'] and 'No space left' in result['stopped_by']
    assert 'make room' in result['stopped_by'] and 'backend_options' not in shown.err
    assert result['stopped_by'] in {failure['error'] for failure in result['failures']}
    if full in ('episodes.jsonl', 'run.json'):
        assert len(set(opened)) == 1, 'the other run was not begun'
    assert not [path for path in out.rglob('.*') if path.name != '.sweep.lock']
    again = run_sweep(read_sweep(file), out, INSIDE)
    assert (again['done'], again['failures'], again['interrupted']) == (6, [], False)


def test_a_lock_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, 'write', no_room)
    with pytest.raises(StorageError, match='cannot be written.*No space left'):
        run_sweep(sweep_of(TWO), tmp_path, INSIDE)


def test_a_file_of_a_run_that_cannot_be_replaced_is_named(tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    store.open({'a': 1})

    def no_room(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, 'replace', no_room)
    with pytest.raises(StorageError, match=r'run\.json: cannot be written.*No space left.*room'):
        store.note('x', 1)


# --------------------------------------------------------------------------------------- ray


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize('form', ['127.0.0.1:{}', 'ray://127.0.0.1:{}', 'auto'])
def test_a_dead_address_of_ray_is_named_at_once(tmp_path, monkeypatch, form):
    pytest.importorskip('ray')
    port = free_port()
    monkeypatch.delenv('RAY_ADDRESS', raising=False)
    monkeypatch.setenv('RAY_TMPDIR', str(tmp_path))
    (tmp_path / 'ray').mkdir()
    (tmp_path / 'ray' / 'ray_current_cluster').write_text(f'127.0.0.1:{port}\n')
    monkeypatch.setattr('ray.init', lambda **_: pytest.fail('it would try for many minutes'))
    with pytest.raises(InputError, match=f'nothing answers at .*127.0.0.1:{port}.*ray start'):
        RayEngine(1, form.format(port))


def test_addresses_of_ray_that_are_none_are_refused():
    for wrong in ('here', 'ray://here', '127.0.0.1:x', '127.0.0.1:99999'):
        with pytest.raises(InputError, match='HOST:PORT'):
            _check_reachable(wrong)
    _check_reachable('')
    with socket.create_server(('127.0.0.1', 0)) as server:
        _check_reachable(f'127.0.0.1:{server.getsockname()[1]}')


def test_a_command_that_waits_for_ray_can_be_stopped(tmp_path):
    over = threading.Event()
    with pytest.raises(CancelledError):
        _wait_for(over.wait, lambda: True)
    over.set()

    def never(workers):
        raise CancelledError('stopped')
    result = run_sweep(sweep_of(TWO), tmp_path, Options(1, engine=never))
    assert (result['interrupted'], result['done'], result['stopped_by']) == (True, 0, '')


def test_what_goes_wrong_while_ray_starts_is_passed_on():
    def wrong():
        raise ConnectionError('no cluster')
    with pytest.raises(ConnectionError, match='no cluster'):
        _wait_for(wrong, lambda: False)


# -------------------------------------------------------------------------------------- caps


def server_sweep(url, episodes=2, more=''):
    return (f'{{base: {{backend: openai, method: ground, split: simple, episodes: {episodes}, '
            f'backend_options.base_url: "{url}", backend_options.model: one, '
            f'backend_options.retries: 0}}, axes: {{seed: [0]}}{more}}}')


@pytest.mark.parametrize('engine', [InsideEngine, PromptEngine])
def test_what_failing_episodes_spend_counts_towards_the_cap(
        tmp_path, monkeypatch, capsys, engine):
    file = tmp_path / 'test.yaml'
    out = tmp_path / 'out'
    with FakeServer(lambda body, number: chat('Yes') if number % 3 < 2 else error(
            400, 'no')) as server:
        file.write_text(server_sweep(server.url, 2, ', max_tokens: 250'))
        assert command(monkeypatch, file, '--out', out, '--json', '--retries', '50',
                       '--patience', '0', engine=engine) == 1
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert result['done'] == 0 and result['interrupted']
        assert result['stopped_kind'] == CAP_OF_SWEEP
        assert 'max_tokens = 250' in result['stopped_by']
        assert '--max-tokens' in result['stopped_by']
        assert result['spent']['prompt_tokens'] >= 250
        [cell] = read_sweep(file).cells
        assert status(read_sweep(file), out)['spent'] == result['spent']
        asked = len(server.bodies)
        assert command(monkeypatch, file, '--out', out, '--json') == 1
        shown = capsys.readouterr()
        assert len(server.bodies) == asked, 'nothing is asked once the cap is reached'
        assert 'as backend_options.NAME' not in shown.err
        assert command(monkeypatch, file, '--out', out, '--status', '--json') == 0
        plan = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert plan['spent'] == result['spent'] and RunStore(out / cell.name).lines() == []


# --------------------------------------------------------------------------- models that are down


def test_a_model_that_is_down_is_left_after_some_errors(tmp_path, monkeypatch):
    calls, working = [0], [False]
    real = noisy_oracle.Backend.answer

    def answer(self, queries, deadline):
        if not working[0]:
            calls[0] += 1
            raise BackendError('nobody answers')
        return real(self, queries, deadline)
    monkeypatch.setattr(noisy_oracle.Backend, 'answer', answer)
    text = ('{base: {split: simple, episodes: 12}, axes: {method: [ground, oracle], '
            'table: [perfect], seed: [0, 1]}}')
    result = run_sweep(sweep_of(text), tmp_path, INSIDE)
    assert calls[0] == 5, 'of both runs together'
    assert (result['done'], result['interrupted']) == (24, False), 'oracle asks nobody'
    assert len(result['failures']) == 2 and {f['error'] for f in result['failures']} == {
        result['failures'][0]['error']}
    assert '5 errors in a row' in result['failures'][0]['error']
    assert 'nobody answers' in result['failures'][0]['error']
    run_sweep(sweep_of(text), tmp_path, Options(1, retries=0, patience=0, engine=InsideEngine))
    assert calls[0] == 5 + 24, 'with patience 0 each is tried'
    working[0] = True
    again = run_sweep(sweep_of(text), tmp_path, INSIDE)
    assert (again['done'], again['failed_infrastructure'], again['failures']) == (48, 0, [])


def test_one_success_between_errors_of_a_model_is_patience_for_more():
    jobs = [Job('a', RunSettings(), tuple(map(str, range(20))))]
    schedule = Schedule(jobs, {}, workers=1, retries=9, command='c', lock='')
    for number in range(12):
        batch = schedule.next()
        first = batch.items[0]
        schedule.over(batch, Outcome((first,), () if number % 4 == 3 else (
            (first, 'BackendError: down'),)))
    assert not jobs[0].error
    for _ in range(5):
        batch = schedule.next()
        schedule.over(batch, Outcome(batch.items[:1], (
            (batch.items[0], 'WorldError: other'),)))
    assert not jobs[0].error, "errors that are not the model's"
    for _ in range(5):
        batch = schedule.next()
        schedule.over(batch, Outcome(batch.items[:1], (
            (batch.items[0], 'BackendError: down'),)))
    assert 'down' in jobs[0].error and schedule.next() is None


@pytest.mark.parametrize('patience', [0, None])
def test_refusals_in_a_row_end_the_runs_of_a_model_whatever_the_patience(patience):
    def in_a_row(*errors):
        job = Job('a', RunSettings(), tuple(map(str, range(20))))
        schedule = Schedule([job], {}, workers=4, retries=9, command='c', lock='',
                            patience=patience)
        for failure in errors:
            batch = schedule.next()
            if batch is None:
                return job.error, schedule
            schedule.over(batch, Outcome(batch.items[:1], ((batch.items[0], failure),)))
        return job.error, schedule
    why, schedule = in_a_row(*['RefusedError: no such model'] * 3)
    assert why.startswith('3 refusals in a row') and 'no such model' in why
    assert schedule.next() is None
    down, no = 'BackendError: down', 'RefusedError: no'
    assert not in_a_row(down, down, no, no, down, no, no)[0], 'never three without another error'


def test_a_server_that_loads_its_model_again_keeps_nobody_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, '_PROGRAM', f'''
import json, pathlib, sys, time
marker = pathlib.Path({str(tmp_path / 'started')!r})
if marker.exists():
    time.sleep(60)
marker.touch()
print(json.dumps(dict(url='http://127.0.0.1:1/v1', model='m', traits={{}}, kinds=[])), flush=True)
sys.stdin.read()
''')
    server = serving.Server('embedded', {}, tmp_path / 'log')
    server.start()
    first = server._process
    first.kill()
    first.wait()
    began = time.monotonic()
    server.keep()
    server.keep()
    assert time.monotonic() - began < 20
    while server._process is first:
        time.sleep(0.01)
    second = server._process
    assert second.poll() is None and server._starts == 2
    second.kill()  # instead of waiting until it has loaded
    server.close()
    assert server._process is second and not server._restart.is_alive()


# ----------------------------------------------------------------------------------- reasons


class Watcher:
    def __init__(self):
        self.over = {}

    def begin(self, what, episodes, done):
        pass

    def show(self, status):
        pass

    def finished(self, name, error):
        self.over[name] = error


def test_why_episodes_could_not_be_scored_is_reported(tmp_path, monkeypatch, capsys):
    class Broken(MemoryWorld):
        def reset(self, spec):
            if '_0' in spec.id or spec.id.endswith('1#0'):
                raise WorldError('out of order')
            super().reset(spec)
    monkeypatch.setattr(worlds, 'make_world', lambda name, options=None: Broken())
    sweep, watcher = sweep_of('{base: {method: oracle, split: simple, episodes: 6}, '
                              'axes: {seed: [0]}}'), Watcher()
    result = run_sweep(sweep, tmp_path / 'out', Options(1, 0, engine=InsideEngine), watcher)
    bad = [line['id'] for line in RunStore(tmp_path / 'out' / sweep.cells[0].name).lines()
           if not measures.scored(line)]
    assert bad and result['failures'] == [{
        'cell': sweep.cells[0].name, 'episodes': bad, 'error': 'WorldError: out of order'}]
    assert result['failed_infrastructure'] == len(bad)
    shown = watcher.over[sweep.cells[0].name]
    assert all(text in shown for text in (f'{len(bad)} could not be scored', 'out of order',
                                          bad[0]))
    file = tmp_path / 'test.yaml'
    file.write_text('{base: {method: oracle, split: simple, episodes: 6}, axes: {seed: [0]}}')
    assert command(monkeypatch, file, '--out', tmp_path / 'out', '--retries', '0') == 1
    shown = capsys.readouterr().out
    assert f'{len(bad)} could not be scored' in shown
    assert shown.count('out of order') == 1 and f'failed: {sweep.cells[0].name} {bad[0]}' in shown


def test_a_damaged_run_is_named_and_the_others_count(tmp_path):
    sweep = sweep_of(TWO)
    run_sweep(sweep, tmp_path, INSIDE)
    first, second = (tmp_path / cell.name for cell in sweep.cells)
    whole = (first / 'episodes.jsonl').read_bytes()
    (first / 'episodes.jsonl').write_bytes(b'nonsense\n' + whole)
    result = run_sweep(sweep, tmp_path, INSIDE)
    [failure] = result['failures']
    assert failure['cell'] == first.name and 'episodes.jsonl:1' in failure['error']
    metrics = json.loads((tmp_path / 'metrics.json').read_text())
    assert [bool(cell['metrics']) for cell in metrics['cells']] == [False, True]
    (first / 'episodes.jsonl').write_bytes(whole)
    (second / 'run.json').write_text('{')
    result = run_sweep(sweep, tmp_path, INSIDE)
    [failure] = result['failures']
    assert failure['cell'] == second.name and 'run.json: is damaged' in failure['error']
    more = run_sweep(sweep_of(TWO.replace('episodes: 3', 'episodes: 4')), tmp_path, INSIDE)
    assert more['done'] == 8 and more['failures'] == [], 'other cells'
    lines = (second / 'episodes.jsonl').read_bytes().splitlines(keepends=True)
    (second / 'episodes.jsonl').write_bytes(b''.join(lines[:2]))
    result = run_sweep(sweep, tmp_path, INSIDE)
    assert (result['done'], len(result['failures'])) == (5, 1), 'named once'
    (second / 'episodes.jsonl').write_bytes(b'nonsense\n' + lines[0])
    (second / 'run.json').write_bytes((first / 'run.json').read_bytes())
    assert estimate(sweep, tmp_path).missing == 3, 'and what is left is known'
    assert [item['cell'] for item in damaged(sweep, tmp_path)] == [second.name]


# ---------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize('value', ['.inf', '.nan', '-1', 'true', 'x'])
@pytest.mark.parametrize('key', ['max_tokens', 'max_cost_usd'])
def test_caps_are_numbers(key, value):
    with pytest.raises(InputError, match=f'test.yaml: {key} = .*: input should be'):
        sweep_of(f'{{axes: {{method: [oracle]}}, {key}: {value}}}')


def test_options_as_a_whole_and_what_sweeps_have_themselves_are_refused():
    with pytest.raises(InputError, match=r'write world_options\.pictures'):
        sweep_of('{base: {world_options: {pictures: none}}, axes: {method: [oracle]}}')
    for text in ('{axes: {out: [a, b]}}', '{base: {out: a}, axes: {method: [oracle]}}',
                 '{base: {resume: true}, axes: {method: [oracle]}}'):
        with pytest.raises(InputError, match='(out|resume): is not for sweeps'):
            sweep_of(text)


def test_bad_arguments_end_with_code_2(tmp_path, capsys):
    file = tmp_path / 'test.yaml'
    file.write_text(TWO)
    for value in ('nan', 'inf'):
        assert cli.main(['sweep', str(file), '--out', str(tmp_path / 'o'), '--max-cost-usd',
                         value]) == 2
        assert '--max-cost-usd' in capsys.readouterr().err
    assert cli.main(['sweep', str(file), '--patience', '-1']) == 2
    capsys.readouterr()
    assert cli.main(['sweep', str(file), '--out', '/dev/null/x', '--status', '--json']) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])['missing'] == 6
    assert cli.main(['sweep', str(file), '--out', '/dev/null/x', '--json']) == 2
    assert re.search('/dev/null/x.*: cannot be written', capsys.readouterr().err)
