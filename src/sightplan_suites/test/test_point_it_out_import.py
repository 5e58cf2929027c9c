"""Point-It-Out: published result folders, by a reader that can execute nothing."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import pickletools
import random
import struct
import sys
import types

import numpy as np
import pytest

from point_it_out_cases import place, write_data
from sightplan import cli
from sightplan.model import InputError
from sightplan_suites.point_it_out import info_files
from sightplan_suites.point_it_out.info_files import RefusedError, numbers_of, read_info

# Written by NumPy 1.26.4: a list of a box with a float64 beside it, and an array of two points.
LIST = base64.b64decode(
    'k05VTVBZAQB2AHsnZGVzY3InOiAnfE8nLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwpLCB9'
    'ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAqAA2Nu'
    'dW1weS5jb3JlLm11bHRpYXJyYXkKX3JlY29uc3RydWN0CnEAY251bXB5Cm5kYXJyYXkKcQFLAIVxAkMBYnEDh3EE'
    'UnEFKEsBSwGFcQZjbnVtcHkKZHR5cGUKcQdYAgAAAE84cQiJiIdxCVJxCihLA1gBAAAAfHELTk5OSv////9K////'
    '/0s/dHEMYoldcQ19cQ4oWAMAAABhbnNxD11xEChHP7mZmZmZmZpHP9AAAAAAAABHP+AAAAAAAABHP+gAAAAAAABl'
    'WAUAAABzY29yZXERY251bXB5LmNvcmUubXVsdGlhcnJheQpzY2FsYXIKcRJoB1gCAAAAZjhxE4mIh3EUUnEVKEsD'
    'WAEAAAA8cRZOTk5K/////0r/////SwB0cRdiQwgAAAAAAADgP3EYhnEZUnEaWAEAAABxcRtYBQAAAHdoZXJlcRx1'
    'YXRxHWIu')
ARRAY = base64.b64decode(
    'k05VTVBZAQB2AHsnZGVzY3InOiAnfE8nLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwpLCB9'
    'ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAqAA2Nu'
    'dW1weS5jb3JlLm11bHRpYXJyYXkKX3JlY29uc3RydWN0CnEAY251bXB5Cm5kYXJyYXkKcQFLAIVxAkMBYnEDh3EE'
    'UnEFKEsBSwGFcQZjbnVtcHkKZHR5cGUKcQdYAgAAAE84cQiJiIdxCVJxCihLA1gBAAAAfHELTk5OSv////9K////'
    '/0s/dHEMYoldcQ19cQ5YAwAAAGFuc3EPaABoAUsAhXEQaAOHcRFScRIoSwFLAksChnETaAdYAgAAAGY4cRSJiIdx'
    'FVJxFihLA1gBAAAAPHEXTk5OSv////9K/////0sAdHEYYolDIJqZmZmZmbk/mpmZmZmZyT8zMzMzMzPTP5qZmZmZ'
    'mdk/cRl0cRpic2F0cRtiLg==')


def numpy_1(value):
    """An object array as NumPy 1 writes it: pickle protocol 3, and modules below numpy.core."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {
        'descr': '|O', 'fortran_order': False, 'shape': value.shape})
    return buffer.getvalue() + pickle.dumps(value, 3).replace(b'numpy._core', b'numpy.core')


def entries(*answers):
    return np.array([{'ans': answer, 'question': 'where', 'score': np.float64(0.5)}
                     for answer in answers], object)


def save(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def answers(path):
    return [numbers_of(entry['ans']) for entry in read_info(path)]


# ------------------------------------------------------------------------------------- reading


def test_files_of_numpy_1_are_read(tmp_path):
    assert answers(save(tmp_path / 'a.npy', LIST)) == [[(0.1, 0.25, 0.5, 0.75)]]
    assert answers(save(tmp_path / 'b.npy', ARRAY)) == [[(0.1, 0.2), (0.3, 0.4)]]
    assert b'numpy.core.multiarray' in LIST and b'numpy._core' not in LIST


def test_the_stand_in_for_numpy_1_writes_what_it_writes():
    made = numpy_1(np.array([{'ans': np.array([[0.1, 0.2], [0.3, 0.4]])}], object))
    assert made[128:] == ARRAY[128:]


@pytest.mark.parametrize(('answer', 'rows'), [
    ([0.25, 0.5], [(0.25, 0.5)]), ((0, 1), [(0.0, 1.0)]), ([[0.25, 0.5]], [(0.25, 0.5)]),
    (np.array([0.25, 0.5, 0.75, 1]), [(0.25, 0.5, 0.75, 1.0)]),
    (np.array([0.25, 0.5], np.float32), [(0.25, 0.5)]),
    (np.array([0.25, 0.5], np.float16), [(0.25, 0.5)]),
    (np.array([0.25, 0.5], '>f8'), [(0.25, 0.5)]), (np.array([0, 1], np.int64), [(0.0, 1.0)]),
    (np.array([[1, 2, 3], [4, 5, 6]], order='F').T, [(1.0, 4.0), (2.0, 5.0), (3.0, 6.0)]),
    (np.asfortranarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
     [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]),
    (np.array([[0.25, 0.5]], object), [(0.25, 0.5)]),
    ((np.float64(0.25), np.float32(0.5)), [(0.25, 0.5)]),
    ([np.array([0.25, 0.5]), [0.5, 1]], [(0.25, 0.5), (0.5, 1.0)]), ([], [])])
@pytest.mark.parametrize('newer', [False, True])
def test_numbers_in_every_dress(tmp_path, answer, rows, newer):
    array = np.array([{'ans': answer}], object)
    if newer:
        np.save(tmp_path / 'a.npy', array, allow_pickle=True)
    else:
        save(tmp_path / 'a.npy', numpy_1(array))
    found = answers(tmp_path / 'a.npy')[0]
    assert found == [pytest.approx(row) for row in rows] if rows else found in ([], [()])


def test_one_dictionary_that_was_saved_alone(tmp_path):
    np.save(tmp_path / 'a.npy', {'ans': [0.1, 0.2]}, allow_pickle=True)
    assert answers(tmp_path / 'a.npy') == [[(0.1, 0.2)]]


class Point_Float:  # noqa: N801 - the name of the release's class
    """Pickled as a pydantic model is: made without arguments, then given a state."""

    def __init__(self, x, y, extra=None):
        self.state = {'__dict__': {'x': x, 'y': y}, '__pydantic_extra__': extra,
                      '__pydantic_fields_set__': {'x', 'y'}, '__pydantic_private__': None}

    def __getstate__(self):
        return self.state

    def __setstate__(self, state):
        self.state = state


@pytest.fixture
def points(monkeypatch):
    """The class of points as one of the release's module, which pickles name."""
    monkeypatch.setitem(sys.modules, 'vlms', types.ModuleType('vlms'))
    module = types.ModuleType('vlms.base')
    monkeypatch.setitem(sys.modules, 'vlms.base', module)
    monkeypatch.setattr(Point_Float, '__module__', 'vlms.base')
    module.Point_Float = Point_Float
    return Point_Float


@pytest.mark.parametrize('newer', [False, True])
def test_traces_of_the_release_are_objects(tmp_path, points, newer):
    trace = np.empty(2, object)
    trace[:] = points(0.25, np.float64(0.5)), points(1, 0.75)
    path = tmp_path / 's3' / 'gemini' / '5' / 'info.npy'
    save(path, numpy_1(trace))
    if newer:
        np.save(path, trace, allow_pickle=True)
    assert answers(path) == [[(0.25, 0.5), (1.0, 0.75)]]
    (found,), skipped = info_files.import_results(tmp_path)
    assert (found.id, found.trace, found.model, skipped) == (
        's3/4', ((0.25, 0.5), (1.0, 0.75)), 'gemini', [])


def test_traces_in_lists_and_dictionaries(tmp_path, points):
    listed = np.empty(1, object)
    listed[0] = [points(0.25, 0.5), points(1, 0.75)]
    for name, array in {'a': listed, 'b': np.array([{'ans': listed[0]}], object)}.items():
        path = save(tmp_path / f'{name}.npy', numpy_1(array))
        assert answers(path) == [[(0.25, 0.5), (1.0, 0.75)]]


@pytest.mark.parametrize('state', [
    {'__dict__': {'x': 0.5}}, {'__dict__': []}, (1, 2), {'__dict__': {'x': 'far', 'y': 0.5}},
    {'__dict__': {'x': [0.5], 'y': {}}}])
def test_points_without_numbers_are_refused(tmp_path, points, state):
    point = points(0.5, 0.5)
    point.state = state
    array = np.empty(1, object)
    array[0] = point
    with pytest.raises(RefusedError):
        answers(save(tmp_path / 'a.npy', numpy_1(array)))


# ------------------------------------------------------------------------------------ refusing


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, call):
        self.call = call

    def __reduce__(self):
        return self.call


def programs(mark):
    """Pickles that would make a file, or do other harm, in an ordinary reader."""
    yield os.system, (f'touch {mark}',)
    yield eval, (f'open({str(mark)!r}, "w")',)
    yield exec, (f'open({str(mark)!r}, "w")',)
    yield open, (str(mark), 'w')
    yield np.load, (str(mark),)
    yield np.ndarray.tofile, (np.zeros(3), str(mark))
    yield getattr, (os, 'system')
    yield np.lib.format.open_memmap, (str(mark), 'w+', 'f8', (4,))
    yield np.frombuffer, (b'12345678',)
    yield pickle.loads, (b'N.',)
    yield __import__, ('antigravity',)


def test_no_program_is_carried_out(tmp_path, monkeypatch):
    mark = tmp_path / 'mark'
    imported = set(sys.modules)
    made = 0
    for call in programs(mark):
        for protocol in range(6):
            for value in ([{'ans': Touch(call)}], [Touch(call)], [{'ans': [1, 2],
                                                                   'x': Touch(call)}]):
                try:
                    content = pickle.dumps(np.array(value, object), protocol)
                except (pickle.PicklingError, TypeError, AttributeError):
                    continue
                path = save(tmp_path / 'a.npy', numpy_1(np.array([{}], object))[:128] + content)
                with pytest.raises(RefusedError, match=str(path)):
                    read_info(path)
                made += 1
    assert made > 60 and not mark.exists()
    assert {name for name in set(sys.modules) - imported if not name.startswith('numpy')} <= {
        'pickletools'}


def instructions(text):
    """A pickle by its instructions: ``GLOBAL os system`` and the like."""
    codes = {code.name: code.code.encode('latin1') for code in pickletools.opcodes}
    return b''.join(codes[part] if isinstance(part, str) else part for part in text) + b'.'


HEAD = numpy_1(np.array([{}], object))[:128]
NAMED = {name: f'c{module}\n{name}\n'.encode() for module, name in (
    ('numpy.core.multiarray', '_reconstruct'), ('numpy', 'ndarray'), ('numpy', 'dtype'),
    ('numpy.core.multiarray', 'scalar'))}


@pytest.mark.parametrize('program', [
    # A slot so far away that the ordinary reader would take memory for all below it.
    instructions(['EMPTY_LIST', 'LONG_BINPUT', struct.pack('<I', 2**31 - 1), 'POP', 'NONE']),
    instructions(['LONG_BINGET', struct.pack('<I', 5)]),
    # Bytes and texts that are said to be far longer than the file.
    instructions(['BINBYTES', struct.pack('<I', 2**31 - 1)]),
    instructions(['BINBYTES8', struct.pack('<Q', 2**40)]),
    instructions(['BINUNICODE8', struct.pack('<Q', 2**62)]),
    instructions(['BYTEARRAY8', struct.pack('<Q', 2**40)]),
    instructions(['LONG4', struct.pack('<i', 2**31 - 1)]),
    # An array of a size that would be set aside at once.
    instructions([NAMED['_reconstruct'], NAMED['ndarray'], 'LONG1', b'\6' + (2**45).to_bytes(
        6, 'little'), 'TUPLE1', 'SHORT_BINBYTES', b'\1b', 'TUPLE3', 'REDUCE']),
    # Calls, states and keys that build nothing.
    instructions([NAMED['_reconstruct'], 'EMPTY_LIST', 'REDUCE']),
    instructions(['EMPTY_LIST', 'EMPTY_TUPLE', 'REDUCE']),
    instructions([NAMED['dtype'], 'EMPTY_TUPLE', 'REDUCE']),
    instructions([NAMED['_reconstruct'], 'EMPTY_DICT', 'BUILD']),
    instructions(['EMPTY_DICT', 'EMPTY_TUPLE', 'NONE', 'SETITEM']),
    instructions(['EMPTY_DICT', 'MARK', 'NONE', 'SETITEMS']), instructions(['APPEND']),
    instructions(['NONE', 'NONE', 'APPEND']), instructions(['TUPLE']), instructions(['POP']),
    instructions(['EMPTY_SET']), instructions(['DUP']), instructions([]), b'', b'N', b'\xff.',
    instructions(['EXT1', b'\1']), instructions(['PERSID', b'x\n']),
    b'(S"os"\ni__builtin__\neval\n.', instructions(['NEXT_BUFFER'])])
def test_pickles_by_hand_are_refused(tmp_path, program):
    path = save(tmp_path / 'a.npy', HEAD + program)
    with pytest.raises(RefusedError, match=str(path)):
        read_info(path)


def with_answer(program):
    """An object array of one dictionary whose ``ans`` some instructions build."""
    marker = [{'ans': 'HERE'}]
    return HEAD + pickle.dumps(np.array(marker, object), 3).replace(
        b'X\4\0\0\0HERE', program).replace(b'numpy._core', b'numpy.core')


def doubled(depth, open_, close, times=2):
    """Nested pairs of one thing: 2 ** depth parts in few instructions."""
    text = [b'I1\n']
    for slot in range(depth):
        number = struct.pack('<I', 100 + slot)
        text += ['LONG_BINPUT', number, 'POP', *open_, *('LONG_BINGET', number) * times, *close]
    return instructions(text)[:-1]


@pytest.mark.parametrize('program', [
    doubled(60, ['MARK'], ['TUPLE']), doubled(60, ['MARK'], ['LIST']),
    doubled(500, [], ['TUPLE2']), doubled(7, ['MARK'], ['LIST'], 20)])
def test_things_that_hold_themselves_over_and_over_are_refused(tmp_path, program):
    path = save(tmp_path / 'a.npy', with_answer(program))
    with pytest.raises(RefusedError, match='more than 1000 parts'):
        answers(path)


def test_keys_that_would_take_years_to_hash_are_refused(tmp_path):
    key = doubled(60, ['MARK'], ['TUPLE'])
    path = save(tmp_path / 'a.npy', HEAD + instructions(['EMPTY_DICT', key, 'NONE', 'SETITEM']))
    with pytest.raises(RefusedError, match='keys are not texts'):
        read_info(path)


def test_a_list_in_itself_is_refused(tmp_path):
    program = instructions(['EMPTY_LIST', 'BINPUT', b'\x77', 'BINGET', b'\x77', 'APPEND'])[:-1]
    with pytest.raises(RefusedError):
        answers(save(tmp_path / 'a.npy', with_answer(program)))


@pytest.mark.parametrize('answer', [
    'text', b'bytes', None, True, 0.5, {'x': 1}, [None], ['0.5', '0.5'], [[[0.5]]],
    10**400, [10**400, 1], np.array(['a', 'b']), np.array([1 + 2j, 0]), np.array([b'x']),
    np.array([(1, 2.0)], [('a', 'i4'), ('b', 'f8')]), np.array(['2020-01-01'], 'M8[D]'),
    np.zeros(1001), np.zeros((0, 4)), np.zeros((2, 2, 2)), np.array([True, False]),
    list(range(1001)), [0.5, [0.5]], np.array(0.5)])
def test_answers_that_are_no_places_are_refused(tmp_path, answer):
    path = save(tmp_path / 's1/run/1/info.npy', numpy_1(np.array([{'ans': answer}], object)))
    found, skipped = info_files.import_results(tmp_path)
    assert found == [] and [one['file'] for one in skipped] == [str(path)]
    assert skipped[0]['reason']


@pytest.mark.parametrize('array', [
    np.zeros(3), np.array(['a']), np.array([1, 2], object), np.array([], object),
    np.array([[{}] * 2] * 600, object), np.array([{'answer': [1, 2]}], object)])
def test_files_that_are_no_dictionaries_are_refused(tmp_path, array):
    (tmp_path / 's1/run/1').mkdir(parents=True)
    np.save(tmp_path / 's1/run/1/info.npy', array, allow_pickle=True)
    found, skipped = info_files.import_results(tmp_path)
    assert found == [] and len(skipped) == 1


@pytest.mark.parametrize('head', [
    b'', b'\x93NUMPY', b'\x93NUMPY\3\0', b'\x93NUMPY\1\0\xff\xff', b'PK\3\4' + b'\0' * 50,
    b'\x93NUMPY\2\0' + struct.pack('<I', 2**31) + b'{}',
    *(b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) + text for text in (
        b'{}', b'[]', b'(' * 5000, b'__import__("os")', b"{'descr': '|O', 'shape': 3}",
        b"{'descr': '|O', 'shape': (10**9,)}", b"{'descr': '|O', 'shape': (1000000000,)}",
        b"{'descr': '|O', 'shape': (-1,)}", b"{'descr': [('a', '|O')], 'shape': (1,)}"))])
def test_damaged_heads_are_refused(tmp_path, head):
    path = save(tmp_path / 'a.npy', head)
    with pytest.raises(RefusedError, match=str(path)):
        read_info(path)


@pytest.mark.filterwarnings('ignore:invalid escape sequence')
def test_three_thousand_damaged_files_are_refused_or_read(tmp_path):
    rng = random.Random(7)
    whole = [LIST, ARRAY, numpy_1(entries([0.1, 0.2], np.array([[0.1, 0.2]])))]
    kinds = {'read': 0, 'refused': 0}
    path = tmp_path / 'a.npy'
    for number in range(3000):
        content = bytearray(whole[number % 3])
        for _ in range(rng.randint(1, 6)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content[:rng.randrange(len(content)) if rng.random() < 0.2 else None])
        try:
            rows = [row for entry in read_info(path) if 'ans' in entry
                    for row in numbers_of(entry['ans'])]
        except RefusedError:
            kinds['refused'] += 1
        else:
            kinds['read'] += 1
            assert all(isinstance(number, float) for row in rows for number in row)
    assert kinds['refused'] > 1000 and kinds['read'] > 50


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(info_files, 'MOST_BYTES', 100)
    with pytest.raises(RefusedError, match='more than 100 bytes'):
        read_info(save(tmp_path / 'a.npy', LIST))


def test_a_program_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(info_files, 'MOST_INSTRUCTIONS', 20)
    with pytest.raises(RefusedError, match='more than 20 instructions'):
        read_info(save(tmp_path / 'a.npy', LIST))


# ----------------------------------------------------------------------------------- importing


def run_import(folder, out, capsys, *more):
    capsys.readouterr()
    code = cli.main(['suite', 'point_it_out', 'import', str(folder), '--out', str(out), *more,
                     '--json'])
    printed, err = capsys.readouterr()
    return code, json.loads(printed.splitlines()[-1]) if printed else {}, err


def test_folders_become_predictions_that_can_be_scored(tmp_path, capsys):
    results = tmp_path / 'results/deep/er'
    save(results / 's1/gemini/1/info.npy', numpy_1(entries([10 / 64, 10 / 48, 30 / 64, 30 / 48])))
    save(results / 's2/gemini/3/info.npy', numpy_1(entries([[0.3, 0.4], [0.9, 0.9]])))
    save(results / 's3/gemini/1/info.npy', numpy_1(entries(np.array([[0.25, 0.5], [0.5, 0.5]]))))
    save(results / 's2/gemini/12/info.npy', b'nonsense')
    save(results / 's2/gemini/old/info.npy', LIST)
    save(results / 'elsewhere/gemini/5/info.npy', LIST)
    out = tmp_path / 'predictions.jsonl'
    code, found, _ = run_import(tmp_path / 'results', out, capsys)
    assert code == 0 and found['predictions'] == 3
    assert sorted(one['file'].split('/')[-2] for one in found['skipped']) == ['12', 'old']
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line['id'] for line in lines] == ['s1s2/0', 's1s2/2', 's3/0']
    assert lines[1] == {'id': 's1s2/2', 'points': [[0.3, 0.4], [0.9, 0.9]],
                        'coordinates': 'unit_xy', 'model': 'gemini'}
    data = write_data(tmp_path / 'data', [place(), place(), place(s1_or_s2='s2')],
                      [{'image_path': '0_mark_0.25_0.5.png', 'lang': 'move'}],
                      ['images_s1s2/a.png', 'images_s3/0_mark_0.25_0.5.png'])
    capsys.readouterr()
    assert cli.main(['suite', 'point_it_out', 'score', '--data', str(data), '--predictions',
                     str(out), '--json']) == 0
    scores = json.loads(capsys.readouterr().out.splitlines()[-1])['items']
    assert scores[0]['iou_normalised'] == 1.0 and scores[1]['on_mask'] == 0.5
    assert scores[2]['start_error'] == 0.0


def test_an_answer_to_another_question_than_its_items_is_not_scored(tmp_path, capsys):
    for tag, asked in ((1, ' the  square '), (2, 'the circle')):
        save(tmp_path / f's1/run/{tag}/info.npy', numpy_1(np.array(
            [{'ans': [0.1, 0.1, 0.5, 0.6], 'vlm_name': 'a', 'lang': asked}], object)))
    out = tmp_path / 'p.jsonl'
    assert run_import(tmp_path, out, capsys)[0] == 0
    data = write_data(tmp_path / 'data', [place(), place()])
    assert cli.main(['suite', 'point_it_out', 'score', '--data', str(data), '--predictions',
                     str(out), '--json']) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [item['id'] for item in found['items']] == ['s1s2/0']
    assert [one['reason'] for one in found['skipped']] == [
        "it answers 'the circle', and its item asks for 'the square' (is it of other data?)"]


def test_two_runs_must_be_told_apart(tmp_path, capsys):
    for run in ('a', 'b'):
        save(tmp_path / f's1/{run}/1/info.npy', LIST)
    out = tmp_path / 'p.jsonl'
    code, _, err = run_import(tmp_path, out, capsys)
    assert code == 2 and '--run' in err and not out.exists()
    code, found, _ = run_import(tmp_path, out, capsys, '--run', 'b')
    assert code == 0 and found['predictions'] == 1 and json.loads(out.read_text())['model'] == 'b'


def two_models(folder, tags=(1, 2)):
    """Files with an answer of each of two models, as the release writes them."""
    for tag in tags:
        save(folder / f's1/both/{tag}/info.npy', numpy_1(np.array([
            {'ans': [tag / 10, 0.1, 0.5, 0.6], 'vlm_name': 'gemini-2.5-pro'},
            {'ans': [tag / 10, 0.2, 0.5, 0.6], 'vlm_name': 'gpt-4o'}], object)))


def test_answers_of_two_models_in_one_file_stay_apart(tmp_path, capsys):
    two_models(tmp_path)
    out = tmp_path / 'p.jsonl'
    code, _, err = run_import(tmp_path, out, capsys)
    assert code == 2 and not out.exists()
    assert 'gemini-2.5-pro, gpt-4o' in err and '--model NAME' in err
    for model, y in (('gemini-2.5-pro', .1), ('gpt-4o', .2)):
        code, found, _ = run_import(tmp_path, out, capsys, '--model', model)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert code == 0 and found['predictions'] == 2
        assert [(line['model'], line['boxes']) for line in lines] == [
            (model, [[tag / 10, y, 0.5, 0.6]]) for tag in (1, 2)]
    code, _, err = run_import(tmp_path, out, capsys, '--model', 'o3')
    assert code == 2 and "'o3'" in err and 'gemini-2.5-pro, gpt-4o' in err


def test_two_models_in_two_files_are_no_single_file_of_predictions(tmp_path, capsys):
    for tag, model in ((1, 'a'), (2, 'b')):
        save(tmp_path / f's1/run/{tag}/info.npy', numpy_1(np.array(
            [{'ans': [0.1, 0.2], 'vlm_name': model}], object)))
    code, _, err = run_import(tmp_path, tmp_path / 'p.jsonl', capsys)
    assert code == 2 and 'several models: a, b' in err


def test_an_answer_bears_the_name_of_its_model_not_of_its_run(tmp_path):
    save(tmp_path / 's1/third try/1/info.npy', numpy_1(np.array(
        [{'ans': [0.1, 0.2], 'vlm_name': 'gpt-4o'}], object)))
    save(tmp_path / 's3/third try/1/info.npy', numpy_1(entries([[0.25, 0.5], [0.5, 0.5]])))
    found, _ = info_files.import_results(tmp_path)
    assert [(one.id, one.model) for one in found] == [('s1s2/0', 'gpt-4o'), ('s3/0', 'third try')]
    found, skipped = info_files.import_results(tmp_path, model='gpt-4o')
    assert [one.id for one in found] == ['s1s2/0']
    assert 'names no model' in skipped[0]['reason']


@pytest.mark.parametrize('names', [('a', 'a'), ('a', None), (None, None), ('a', b'b'), ('a', '')])
def test_several_answers_of_which_nobody_knows_whose_they_are_are_skipped(tmp_path, names):
    save(tmp_path / 's1/run/1/info.npy', numpy_1(np.array(
        [{'ans': [0.1, 0.2], 'vlm_name': name} for name in names], object)))
    found, skipped = info_files.import_results(tmp_path)
    assert found == [] and 'does not distinguish them' in skipped[0]['reason']


def test_a_box_of_a_trace_is_refused(tmp_path):
    save(tmp_path / 's3/run/1/info.npy', LIST)
    assert info_files.import_results(tmp_path)[0] == []


def test_nothing_usable_is_an_error(tmp_path, capsys):
    save(tmp_path / 's1/run/1/info.npy', b'nonsense')
    code, found, err = run_import(tmp_path, tmp_path / 'p.jsonl', capsys)
    assert code == 1 and found['predictions'] == 0 and 'not one' in err
    assert not (tmp_path / 'p.jsonl').exists()


def test_no_folder_and_no_files_are_bad_usage(tmp_path):
    for folder in (tmp_path, tmp_path / 'none'):
        with pytest.raises(InputError, match=str(folder)):
            info_files.import_results(folder)
