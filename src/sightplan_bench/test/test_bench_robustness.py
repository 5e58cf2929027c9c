"""``sightplan bench robustness``: a few inputs of every kind, and readers that do harm."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightplan import cli
from sightplan.model import InputError
from sightplan_bench import robustness
from sightplan_bench.hostile import catalogue, spoiling, workers
from sightplan_bench.hostile.targets import KINDS, Outcome, Seed, Target
from sightplan_bench.hostile.workers import Desk, Work, make_input, read_again, read_all


@pytest.fixture(scope='session', params=['small', pytest.param('all', marks=pytest.mark.slow)])
def readers(request, tmp_path_factory):
    """Readers of every kind; all of them takes long."""
    folder = tmp_path_factory.mktemp('good')
    catalogue.prepare(folder, KINDS, small=request.param == 'small')
    return catalogue.targets(folder)


# --------------------------------------------------------------------------- the project's readers


@pytest.mark.slow
def test_every_reader_accepts_a_good_input(readers, tmp_path):
    desk = Desk(tmp_path)
    for reader in readers:
        found = [desk.read(0, reader, seed) for seed in reader.seeds[:4]]
        assert not [read for read in found if read.bad]
        if 'bomb' not in reader.name and 'refusals' not in reader.name:
            good = {read.outcome for read in found}
            assert good & {Outcome.ACCEPTED, Outcome.SKIPPED}, (reader.name, found[0].error)
    assert {reader.kind for reader in readers} == {*KINDS}
    assert len({reader.name for reader in readers}) == len(readers)


def test_spoilt_input_of_every_kind_does_no_harm(readers, tmp_path):
    desk, seen = Desk(tmp_path), set()
    quick = [reader for reader in readers if 'ask' not in reader.name
             and 'packed' not in reader.name]
    for number in range(2 * len(quick)):
        reader, given = make_input(quick, 5, number)
        found = desk.read(number, reader, given)
        assert not found.bad, found
        seen.add((found.kind, found.outcome))
    assert {kind for kind, outcome in seen if outcome is Outcome.REFUSED} == {*KINDS}


@pytest.mark.parametrize('only', [KINDS, ('pddl', 'yaml')])
def test_a_few_spoilt_inputs_are_spread_over_all_kinds_that_are_asked_for(readers, only):
    found = [reader for reader in readers if reader.kind in only]
    few = [make_input(found, 3, number) for number in range(50)]
    counts = Counter(reader.kind for reader, _ in few)
    assert {*counts} == {*only}
    assert {reader.kind for reader, _ in few[:len(only)]} == {*only}
    good = {(reader.name, seed.content) for reader in found for seed in reader.seeds}
    assert sum((reader.name, given.content) in good for reader, given in few) < 5
    total = sum(len(reader.seeds) for reader in found)
    assert {(reader.name, given.content) for reader, given in (
        make_input(found, 3, number) for number in range(-total, 0))} == good
    turns = len(workers._slots(tuple((reader.kind, reader.turns) for reader in found)))
    reads = Counter(make_input(found, 3, number)[0].name for number in range(turns))
    assert reads == {reader.name: reader.turns for reader in found}


# ------------------------------------------------------------------------------------- spoiling


@pytest.mark.parametrize('form', spoiling.FORMS)
def test_one_seed_spoils_an_input_the_same_way(form):
    good = (b'{"a": [1, 2.5, "x"], "b": {"c": null}}\n',
            b'(define (problem a) (:init (on r g)))\n',
            b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0' + bytes(30), b'')
    reader = Target('r', 'yaml', form, tuple(Seed(content, 'f') for content in good), print)
    inputs = [make_input([reader], 1, number)[1].content for number in range(40)]
    assert inputs == [make_input([reader], 1, number)[1].content for number in range(40)]
    assert tuple(make_input([reader], 1, number)[1].content for number in range(-4, 0)) == good
    assert inputs != [make_input([reader], 2, number)[1].content for number in range(40)]
    assert len({*inputs}) > 20 and max(map(len, inputs)) <= spoiling.MOST_BYTES


@given(draw=st.data(), data=st.sampled_from([
    b'x' * 60_000, b'\x89MCAP0\r\n\x01' + (50_000).to_bytes(8, 'little') + bytes(50_010)]))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_no_change_makes_more_than_a_few_times_the_largest_input(draw, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spoiling, 'MOST_BYTES', 1 << 16)
        changes = {change for changes in spoiling.FORMS.values() for change in changes}
        change = draw.draw(st.sampled_from(sorted(
            changes - {spoiling.bomb_png}, key=lambda one: one.__name__)))
        made = change(draw.draw, data, data)
        assert len(made) <= 4 * spoiling.MOST_BYTES + (4 << 20), change.__name__


# ------------------------------------------------------------------------------------- workers


def _read(text):
    """Do what an input says."""
    if text == 'die':
        os._exit(9)
    if text == 'segfault':
        os.abort()
    if text == 'loop':
        while True:
            pass
    if text == 'eat':
        bytearray(2 << 30)
    if text == 'raise':
        raise KeyError('oops')
    if text == 'refuse':
        raise InputError('it is wrong (correct it)')
    if text == 'without words':
        raise InputError('')
    return Outcome.SKIPPED if text == 'skip' else None


def harmful(folder, kinds=KINDS):
    """Readers of a worker that is told what to do."""
    return [Target(word, 'replies', 'text', (Seed(b'accept'), Seed(word.encode())), _read)
        for word in ('accept', 'die', 'segfault', 'loop', 'eat', 'raise', 'refuse',
                     'without words', 'skip')]


def test_what_becomes_of_inputs_is_told(tmp_path, monkeypatch):
    desk = Desk(tmp_path)
    found = {}
    for reader in harmful(tmp_path):
        if reader.name in ('accept', 'raise', 'refuse', 'without words', 'skip'):
            found[reader.name] = desk.read(1, reader, reader.seeds[1])
    assert {name: read.outcome for name, read in found.items()} == {
        'accept': 'accepted', 'raise': 'crashed', 'refuse': 'refused', 'without words': 'crashed',
        'skip': 'skipped'}
    assert "KeyError: 'oops'" in found['raise'].error
    assert found['without words'].error.startswith('an error without words')


def test_an_error_must_name_the_file_and_be_printable(tmp_path):
    said = []

    def read(path):
        raise InputError(said.pop())
    reader = Target('r', 'yaml', 'yaml', (Seed(b'', 'a.yaml'),), read)
    for words, outcome in (('a.yaml: wrong', 'refused'), ('wrong', 'crashed')):
        said.append(words)
        assert Desk(tmp_path / words[:2]).read(0, reader, reader.seeds[0]).outcome == outcome


@pytest.mark.slow
def test_a_worker_that_ends_hangs_or_eats_is_replaced(tmp_path, monkeypatch):
    site = tmp_path / 'site'
    site.mkdir()
    (site / 'sitecustomize.py').write_text(
        f'import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n'
        'import sightplan_bench.hostile.workers as workers, test_bench_robustness\n'
        'workers.targets = test_bench_robustness.harmful\n')
    monkeypatch.setenv('PYTHONPATH', f'{site}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    monkeypatch.setattr(workers, 'targets', harmful)
    work = Work(tmp_path, KINDS, keep=tmp_path / 'kept', limit_s=1.0, memory_mib=512)
    found = sorted(read_all(work, range(-18, 0), tmp_path / 'scratch', workers=2),
                   key=lambda read: read.number)
    assert [read.number for read in found] == [*range(-18, 0)]
    assert {read.outcome for read in found[::2]} == {Outcome.ACCEPTED}
    assert [read.outcome.value for read in found[1::2]] == [
        'accepted', 'crashed', 'crashed', 'hung', 'crashed', 'crashed', 'refused', 'crashed',
        'skipped']
    assert 'ended with 9' in found[3].error and 'SIGABRT' in found[5].error
    assert 'MemoryError' in found[9].error
    kept = sorted(path.parent.name for path in (tmp_path / 'kept').glob('*/read.json'))
    assert kept == ['good00003-without_words', 'good00007-raise', 'good00009-eat',
                    'good00011-loop', 'good00013-segfault', 'good00015-die']
    assert (tmp_path / 'kept/good00007-raise/input/reply.txt').read_bytes() == b'raise'
    for name in ('die', 'segfault', 'loop', 'eat'):
        for file in (tmp_path / 'kept').glob(f'*-{name}/read.json'):
            file.unlink()
    assert [read.outcome.value for read in read_again(tmp_path / 'kept', tmp_path)] == [
        'crashed', 'crashed']


# ------------------------------------------------------------------------------------- the command


def test_the_command_prints_a_table_and_fails_if_anything_crashed(monkeypatch, capsys, tmp_path):
    given = []

    def reads(work, numbers, scratch, workers):
        given.append(numbers)
        for number in numbers:
            outcome = Outcome.CRASHED if number % 2 else Outcome.ACCEPTED
            yield workers_read(number, KINDS[number % 2], outcome)

    def workers_read(number, kind, outcome):
        return workers.Read(number, 'r', kind, outcome, 2.0 + number, 1.5, 'why')
    monkeypatch.setattr(robustness, 'read_all', reads)
    monkeypatch.setattr(robustness, 'prepare', lambda folder, kinds: None)
    monkeypatch.setattr(robustness, 'targets', lambda folder, kinds: [
        Target('r', 'pddl', 'text', (Seed(b''), Seed(b'')), print)])
    command = ['bench', 'robustness', '--count', '6', '--only', 'pddl', '--keep', str(tmp_path)]
    assert cli.main([*command, '--only', 'yaml', '--only', 'bags', '--json']) == 1
    out, err = capsys.readouterr()
    found = json.loads(out.splitlines()[-1])
    none = {'inputs': 0, 'accepted': 0, 'refused': 0, 'skipped': 0, 'crashed': 0, 'hung': 0}
    assert found['kinds'] == [
        {'kind': 'pddl', 'good': {**none, 'inputs': 1, 'accepted': 1},
         'spoilt': {**none, 'inputs': 3, 'accepted': 3}, 'slowest_ms': 6.0, 'peak_mib': 1.5},
        {'kind': 'yaml', 'good': {**none, 'inputs': 1, 'crashed': 1},
         'spoilt': {**none, 'inputs': 3, 'crashed': 3}, 'slowest_ms': 7.0, 'peak_mib': 1.5},
        {'kind': 'bags', 'good': none, 'spoilt': none, 'slowest_ms': 0.0, 'peak_mib': 0.0}]
    assert 'good / spoilt' in err and '1 / 3' in err
    assert 'kept in' in err and len(found['bad']) == 4
    cli.main([*command, '--only', 'yaml', '--first', '6'])  # good ones belong to the first piece
    assert given == [range(-2, 6), range(6, 12)]


@pytest.mark.parametrize('arguments', [['--count', '0'], ['--workers', '0'], ['--first', '-1'],
                                       ['--again', '/nowhere']])
def test_bad_usage_is_refused(capsys, monkeypatch, arguments):
    monkeypatch.setattr(robustness, 'prepare', lambda folder, kinds: None)
    monkeypatch.setattr(robustness, 'read_again', lambda folder, prepared: [])
    assert cli.main(['bench', 'robustness', *arguments]) == 2
    assert capsys.readouterr().err.count('sightplan bench robustness: ') == 1


def test_time_is_that_of_the_processor(tmp_path):
    reader = Target('r', 'replies', 'text', (Seed(b''),), lambda text: time.sleep(0.2))
    assert Desk(tmp_path).read(0, reader, reader.seeds[0]).ms < 150


def test_what_grows_beyond_the_memory_while_it_is_spoilt_is_spoilt_in_another_way(monkeypatch):
    def grows(draw, data, other):
        raise MemoryError
    monkeypatch.setattr(spoiling, 'FORMS', {'json': (grows,)})
    data = b'{"a": 1}'
    assert any(spoiling.draw_spoilt('json', data, data, seed) != data for seed in range(5))


@pytest.mark.parametrize(('form', 'good', 'harm'), [
    ('yaml', b'a: 1\nb: [x]\n', lambda data: b'&id' in data),
    ('yaml', b'a: 1\nb: [x]\n', lambda data: b'- - - - - - - -' in data),
    ('json', b'{"a": 1, "b": ["x"]}', lambda data: b'NaN' in data or b'Infinity' in data),
    ('json', b'{"a": 1, "b": ["x"]}', lambda data: b'"b"' not in data),
    ('json', b'{"a": 1, "b": ["x"]}', lambda data: len(data) > 50_000),
    ('lines', b'{"a": 1}\n{"b": 2}\n', lambda data: data.count(b'{"a": 1}') > 1),
    ('pddl', b'(define (p) (:init (on r g)))', lambda data: data.count(b'(:objects')),
    ('text', b'Yes.', lambda data: b'\0' in data),
    ('text', b'Yes.', lambda data: b'<think>' * 20 in data)])
def test_what_harmed_readers_before_is_among_what_is_drawn(form, good, harm):
    """Aliases, depth, numbers that are none, missing fields, length, repetition."""
    assert any(harm(spoiling.draw_spoilt(form, good, good, seed)) for seed in range(400))
