"""``sightplan bench grounding`` on the CPU: complete, right, and honest when it is not."""

import dataclasses
import json
import subprocess
import sys
import types

import pytest
import torch

from sightplan import cli
from sightplan.commands.flags import settings_of
from sightplan.model import BackendError, InputError
from sightplan_bench import grounding as bench
from sightplan_bench import models as bench_models
from sightplan_bench.floor import SHAPES

pytestmark = pytest.mark.slow

QUICK = ['bench', 'grounding', '--device', 'cpu', '--config', 'cpu-tiny', '--questions', '3', '7',
         '--image-tokens', '12', '--question-tokens', '8', '--shared-tokens', '12',
         '--repeats', '1']


@pytest.fixture(autouse=True)
def quick_rates(monkeypatch):
    """Rates are measured once over, not for a quarter of a second each."""
    monkeypatch.setattr(bench, '_best', lambda call, meter, least: (call(), 1e-3)[1])


def run(capsys, *more):
    code = cli.main([*QUICK, *more])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_complete_json_object(capsys, tmp_path):
    file = tmp_path / 'result.json'
    code, out, err = run(capsys, '--json', '--out', str(file))
    assert code == 0, err
    assert out.count('\n') == 1
    result = json.loads(out)
    assert json.loads(file.read_text()) == result
    assert {'bench', 'date', 'device', 'threads', 'versions', 'commit', 'dirty', 'config', 'shape',
            'parameters', 'dtype', 'attention', 'mechanism', 'clock', 'repeats', 'tokens', 'rates',
            'results'} <= set(result)
    assert result['tokens'] == {'prefix': 26, 'image': 12, 'patches': 48}
    assert result['device']['kind'] == 'cpu' and result['clock'] == 'cpu'
    assert result['versions']['torch'] == torch.__version__
    assert result['rates']['flops_per_s'] > 0 and result['rates']['bytes_per_s'] > 0
    assert [row['questions'] for row in result['results']] == [3, 7]
    for row in result['results']:
        assert row['agreement']['same'] and row['agreement']['flips'] == 0
        assert row['agreement']['max_difference'] < 1e-4 < row['agreement']['spread']
        assert row['agreement']['moved_difference'] > 1e-3
        assert row['plain_over_shared'] == pytest.approx(
            row['plain']['ms'] / row['shared']['ms'], abs=1e-3)
        assert row['plain_over_shared'] > 0 and row['shared_over_floor'] > 0
        for way in ('plain', 'shared'):
            assert row[way]['wall_ms'] > 0 and row[way]['cpu_ms'] > 0
            assert row[way]['ms'] == row[way]['cpu_ms']
        phases = row['floor']['phases'].values()
        assert row['floor']['ms'] == pytest.approx(sum(p['ms'] for p in phases), abs=2e-3)
        assert {'batch_size': min(4, row['questions']), 'out_of_memory_at': []}.items() \
            <= row['plain'].items()


@pytest.mark.parametrize('mechanism', ['packed', 'lazy', 'expand', 'plain'])
def test_every_mechanism_agrees_with_the_plain_way(capsys, mechanism):
    code, out, err = run(capsys, '--mechanism', mechanism, '--questions', '7')
    assert code == 0, err
    assert json.loads(out)['mechanism'] == mechanism


def test_bf16_agrees_within_its_tolerance(capsys):
    code, out, err = run(capsys, '--dtype', 'bfloat16')
    assert code == 0, err
    assert json.loads(out)['weights_mib'] == pytest.approx(
        2 * json.loads(out)['parameters'] / 2 ** 20, abs=0.1)


def test_real_questions(capsys):
    code, out, err = run(capsys, '--wording', 'blocksworld')
    assert code == 0, err
    row = json.loads(out)['results'][-1]
    assert row['distinct_suffix_tokens'] < row['suffix_tokens']


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
@pytest.mark.parametrize('by', [1, -1])
def test_a_position_that_is_off_by_one_is_found(capsys, monkeypatch, dtype, by):
    """Also in bf16, where the difference is one that rounding could make in a larger model."""
    right = bench_models.shared

    def wrong(engine, scene, moved=0):
        encode = engine.encode
        monkeypatch.setattr(engine, 'encode', lambda inputs: dataclasses.replace(
            prefix := encode(inputs), shift=prefix.shift + by))
        try:
            return right(engine, scene, moved)
        finally:
            engine.encode = encode
    monkeypatch.setattr(bench_models, 'shared', wrong)
    code, out, err = run(capsys, '--dtype', dtype)
    assert code == 1
    assert not any(row['agreement']['same'] for row in json.loads(out)['results'])
    assert 'differ by' in err


def test_without_the_plain_way(capsys):
    code, out, _ = run(capsys, '--skip-plain')
    row = json.loads(out)['results'][0]
    assert code == 0 and 'plain' not in row and 'plain_over_shared' not in row


@pytest.mark.parametrize('error', [
    torch.OutOfMemoryError('CUDA out of memory'),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes"),
    RuntimeError('CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`'),
    MemoryError()])
def test_a_batch_that_does_not_fit_is_halved_and_that_is_told(capsys, monkeypatch, error):
    right = bench_models.plain

    def cramped(model, scene, size):
        if size > 2:
            raise error
        return right(model, scene, size)
    monkeypatch.setattr(bench_models, 'plain', cramped)
    code, out, err = run(capsys, '--batch-size', '9')
    assert code == 0, err
    small, large = (row['plain'] for row in json.loads(out)['results'])
    assert (small['batch_size'], small['out_of_memory_at']) == (1, [3])
    assert (large['batch_size'], large['out_of_memory_at']) == (1, [7, 3])
    assert large['batch_size_asked'] == 7
    assert 'out of memory with batches of 7' in err


def test_where_not_one_prompt_fits(capsys, monkeypatch):
    def full(model, scene, size):
        raise torch.OutOfMemoryError('CUDA out of memory')
    monkeypatch.setattr(bench_models, 'plain', full)
    code, out, err = run(capsys)
    assert code == 1 and 'the plain way ran out of memory' in err
    row = json.loads(out)['results'][0]
    assert row['plain'] == {'batch_size_asked': 3, 'out_of_memory_at': [3, 1]}
    assert row['plain_over_shared'] is None and row['shared_over_floor'] > 0


def test_where_ours_does_not_fit(capsys, monkeypatch):
    def full(engine, scene):
        raise BackendError('not enough memory to score 7 questions at once')
    monkeypatch.setattr(bench_models, 'shared', full)
    code, out, err = run(capsys)
    assert code == 1 and 'not enough memory' in err
    assert json.loads(out)['results'][0]['shared_over_floor'] is None


def test_another_error_is_not_taken_for_a_lack_of_memory(capsys, monkeypatch):
    def broken(model, scene, size):
        raise RuntimeError('shapes do not match')
    monkeypatch.setattr(bench_models, 'plain', broken)
    with pytest.raises(RuntimeError, match='shapes'):
        run(capsys)


@pytest.mark.parametrize(('more', 'told'), [
    (['--device', 'tpu'], '--device tpu'),
    (['--questions', '0'], '--questions'),
    (['--batch-size', '-1'], '--batch-size'),
    (['--repeats', '-2'], '--repeats'),
    (['--threads', '0'], '--threads'),
    (['--image-tokens', '-5'], '--image-tokens'),
    (['--question-tokens', '2'], '--question-tokens'),
    (['--memory-gb', '-1'], '--memory-gb'),
    (['--mechanism', 'magic'], 'magic'),
    (['--wording', 'nowhere'], 'nowhere'),
    (['--wording', 'blocksworld', '--questions', '10000'], 'has 105 questions'),
    (['--out', '/nowhere/at/all.json'], '--out'),
])
def test_bad_options_are_told_in_one_line(capsys, more, told):
    code, out, err = run(capsys, *more)
    assert code == 2 and out == ''
    last = err.strip().splitlines()[-1]
    assert last.startswith('sightplan bench grounding: ') and told in last


@pytest.mark.skipif(torch.cuda.is_available(), reason='there is a CUDA device')
def test_a_device_that_is_not_there(capsys):
    code, _, err = run(capsys, '--device', 'cuda')
    assert code == 2 and 'no CUDA device' in err and '--device cpu' in err


def test_a_model_that_does_not_fit_is_refused_before_it_is_made(monkeypatch, capsys):
    monkeypatch.setitem(SHAPES, 'cpu-tiny', dataclasses.replace(
        SHAPES['cpu-tiny'], layers=10 ** 9))
    code, _, err = run(capsys)
    assert code == 2 and 'smaller --config' in err


def test_defaults_follow_the_device(monkeypatch):
    on_cpu = bench.settle(bench.Options(device='cpu'))
    assert (on_cpu.config, on_cpu.dtype, on_cpu.batch_size, on_cpu.threads) == (
        'cpu-small', 'float32', 4, 1)
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: True)
    monkeypatch.setattr(torch.cuda, 'device_count', lambda: 1)
    on_card = bench.settle(bench.Options())
    assert (on_card.device, on_card.config, on_card.dtype, on_card.batch_size) == (
        'cuda', 'qwen2.5-vl-7b', 'bfloat16', 64)
    assert on_card.questions == (10, 60, 150)
    with pytest.raises(InputError, match='there are 1 devices'):
        bench.settle(bench.Options(device='cuda:3'))


class Card:
    """What of ``torch.cuda`` the meter uses."""

    def __init__(self):
        self.calls, self.now, self.most = [], 100 * 2 ** 20, 100 * 2 ** 20

    def synchronize(self, device):
        self.calls.append('wait')

    def empty_cache(self):
        self.calls.append('free')

    def reset_peak_memory_stats(self, device):
        self.most = self.now

    def memory_allocated(self, device):
        return self.now

    def max_memory_allocated(self, device):
        return self.most


def test_on_a_card_the_clock_stops_when_the_card_is_done(monkeypatch):
    card = Card()
    monkeypatch.setattr(torch, 'cuda', card)

    def call():
        card.calls.append('call')
        card.most = card.now + 5 * 2 ** 20
        return 'answer'
    found, answer = bench.Meter('cuda', 1).measure(call, 2)
    assert card.calls == ['free', 'wait', 'call', 'wait', 'call', 'wait']
    assert (found['peak_mib'], found['extra_mib'], answer) == (105.0, 5.0, 'answer')
    assert found['ms'] == found['wall_ms'] and len(found['all_ms']) == 2


def test_a_card_is_described_without_names_of_hosts(monkeypatch, tmp_path):
    tool = tmp_path / 'nvidia-smi'
    tool.write_text('#!/bin/sh\necho 570.86.15\necho 570.86.15\n')
    tool.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
    monkeypatch.setattr(torch.cuda, 'get_device_name', lambda device: 'NVIDIA H200')
    monkeypatch.setattr(torch.cuda, 'get_device_properties', lambda device: types.SimpleNamespace(
        total_memory=140 * 2 ** 30, major=9, minor=0, multi_processor_count=132))
    assert bench.describe_device('cuda') == {
        'kind': 'cuda', 'name': 'NVIDIA H200', 'driver': '570.86.15', 'cuda': torch.version.cuda,
        'memory_gib': 140.0, 'capability': '9.0', 'multiprocessors': 132}
    tool.write_text('#!/bin/sh\nexit 9\n')
    assert bench.describe_device('cuda')['driver'] is None


@pytest.mark.parametrize(('ours', 'plain', 'same', 'flips'), [
    ([0.2, 0.8], [0.2005, 0.8], True, 0),
    ([0.2, 0.8], [0.4, 0.8], False, 0),
    ([0.4995, 0.8], [0.5005, 0.8], True, 1),
    ([0.5, 0.5], [0.5, 0.5], False, 0),  # all alike: they would agree whatever was computed
])
def test_agreement(ours, plain, same, flips):
    found = bench.compare(torch.tensor(ours), torch.tensor(plain), 'float32')
    assert (found['same'], found['flips']) == (same, flips)


@pytest.mark.parametrize(('moved', 'same'), [
    (0.01, True), (0.004, True), (-0.001, False)])
def test_a_move_that_brings_agreement_tells_a_mistake(moved, same):
    plain = torch.tensor([0.2, 0.8])
    found = bench.compare(plain + 0.004, plain, 'bfloat16', [plain + moved, plain - 0.3])
    assert found['same'] == same and found['moved_difference'] == pytest.approx(abs(moved))
    assert bench.compare(plain, plain, 'bfloat16')['moved_difference'] is None


def test_bench_without_a_sub_command_stays_what_it_was():
    from sightplan_bench import command as medians
    arguments = cli.make_parser().parse_args(['bench', '--no-ros'])
    assert medians.measure in arguments.main.args and settings_of(arguments).no_ros
    assert bench.measure in cli.make_parser().parse_args(['bench', 'grounding']).main.args


def test_it_runs_as_a_module():
    done = subprocess.run([sys.executable, '-m', 'sightplan_bench.grounding', '--help'],
                          capture_output=True, text=True, check=True)
    assert '--skip-plain' in done.stdout and '--device cuda' in done.stdout


@pytest.mark.slow
def test_a_model_is_measured_by_the_ways_it_is_asked(tmp_path):
    from sightplan_bench import grounding_served
    from tiny_models import make_tiny_vlm

    found = grounding_served.run(str(make_tiny_vlm(tmp_path)), 3, 1, 0, 1)
    assert found['max_difference'] < 1e-5
    assert set(found['results']) > {'shared prefix in process', 'sightplan serve, /v1/decisions',
                                    'generate in process'}
    assert all(row['ms'] > 0 for row in found['results'].values())
