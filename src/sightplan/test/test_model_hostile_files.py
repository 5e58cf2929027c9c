"""Files and values that somebody hostile made: bounded, and refused in words that can be read."""

from __future__ import annotations

import base64
import json
import math
import pickle
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from sightplan.model import InputError, excerpt
from sightplan.model.array_files import array_from_text, array_to_text, load_array, load_arrays
from sightplan.model.depth_files import read_depth
from sightplan.model.json_text import load_json
from sightplan.model.picture_files import MOST_PIXELS, picture_size, read_image
from sightplan.model.reading import Record, read_file, validated
from sightplan.vlm.images import encode


def png(width: int, height: int, content: bytes = b'') -> bytes:
    """A PNG of grey pixels that claims a size."""
    def chunk(name: bytes, data: bytes) -> bytes:
        checksum = struct.pack('>I', zlib.crc32(name + data))
        return struct.pack('>I', len(data)) + name + data + checksum
    head = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head)
            + chunk(b'IDAT', zlib.compress(content)) + chunk(b'IEND', b''))


# ---------------------------------------------------------------------------------------- messages


def test_a_message_is_printable_and_of_bounded_length() -> None:
    shown = str(InputError('a\ud800\x1b[31m\u202e\0b\n' + 'x' * 1_000_000 + ' (correct it)'))
    assert shown.startswith('a\\ud800\\x1b[31m\\u202e\\x00b\n') and len(shown) < 5000
    assert shown.endswith('(correct it)') and shown.encode()
    assert str(InputError('é: plain')) == 'é: plain'
    assert str(pickle.loads(pickle.dumps(InputError('\0')))) == '\\x00'


@pytest.mark.parametrize(('value', 'shown'), [
    ('red cube', 'red cube'), ('a\nb\0\udcff', 'a\\nb\\x00\\udcff'), (5, '5'),
    ('x' * 100, 'x' * 80 + '...')])
def test_an_excerpt_is_on_one_line_and_short(value: object, shown: str) -> None:
    assert excerpt(value) == shown


# -------------------------------------------------------------------------------------------- data


class _Pair(Record):
    first: int
    second: tuple[int, ...] = ()


def test_of_many_wrong_fields_the_first_are_named() -> None:
    with pytest.raises(InputError) as error:
        validated(_Pair, {f'{"k" * 500}{number}': 0 for number in range(2999)}, 'f.yaml')
    lines = str(error.value).splitlines()
    assert len(lines) == 11 and lines[-1] == 'f.yaml: and 2990 more'
    assert all(len(line) < 300 for line in lines)


def test_data_that_hold_themselves_or_are_too_deep_are_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    deep: object = 0
    for _ in range(5000):
        deep = [deep]
    for data in (circle, deep, {'first': {1, 2}}):
        with pytest.raises(InputError, match=r'f\.yaml'):
            validated(_Pair, data, 'f.yaml')


def test_json_is_read_as_python_reads_it_but_for_endless_integers() -> None:
    for text in ('{"a": [1, -2.5, "x", null, true]}', '1e999', '9' * 100, '"\\ud800"'):
        for given in (text, text.encode(), text.encode('utf-16')):
            assert load_json(given) == json.loads(given)
    for digits, value in ((400, -math.inf), (5000, -math.inf), (200, -1e200)):
        assert load_json(f'{{"a": [-1{"0" * digits}]}}') == {'a': [value]}


@pytest.mark.parametrize('digits', [101, 400, 5000])
def test_an_endless_integer_is_refused_by_field(tmp_path: Path, digits: int) -> None:
    path = tmp_path / 'a.json'
    path.write_text(f'{{"first": {"9" * digits}}}')
    with pytest.raises(InputError, match=r'a\.json: first = '):
        read_file(_Pair, path)


# ---------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize(('content', 'size'), [
    (png(7, 5), (7, 5)), (b'P5\n# made by hand\n30 20\n255\n', (30, 20)),
    (b'P6 3 4 255\n', (3, 4)),
    (b'BM' + bytes(16) + struct.pack('<ii', 6, -9), (6, 9))])
def test_the_size_that_a_picture_claims(content: bytes, size: tuple[int, int]) -> None:
    assert picture_size(content) == size


@pytest.mark.parametrize('kind', ['png', 'jpeg'])
def test_the_size_of_pictures_that_are_whole(kind: str) -> None:
    assert picture_size(encode(np.zeros((11, 13, 3), np.uint8), kind)) == (13, 11)


@pytest.mark.parametrize('content', [
    b'', b'x', png(0, 5), png(2**31, 2**31), png(MOST_PIXELS, 2), b'\xff\xd8',
    b'\xff\xd8\xff\xe0\0\0',
    b'\xff\xd8' + b'\xff\xe0\0\2' * 1000, b'P5 99999 99999 255\n', b'BM', b'P5 ' + b'1' * 500,
    b'P6' + b' ' * 4000 + b'x', b'P6' + b'#\n' * 2000 + b'1' + b' ' * 90 + b'x',
    b'BM' + bytes(16) + struct.pack('<ii', -5, 5), b'GIF89a' + bytes(99)])
def test_pictures_that_claim_too_much_or_are_none_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r'.'):
        picture_size(content)


@pytest.mark.filterwarnings('ignore::PIL.Image.DecompressionBombWarning')
@pytest.mark.parametrize('content', [
    png(30_000, 30_000, bytes(100)), png(12_000, 12_000, bytes(100)), png(9, 9),
    b'%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n',
    b'II*\0\x08\0\0\0\x01\0\0\x01\x04\0\x01\0\0\0\xff\xff\xff\x7f' + bytes(4), b''])
def test_pictures_are_refused_with_their_names(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / 'p.png'
    path.write_bytes(content)
    for read in (read_image, read_depth):
        with pytest.raises(InputError, match=r'p\.png'):
            read(path)


# ------------------------------------------------------------------------------------------ arrays


def head(text: str) -> bytes:
    """An array of numpy with this head and nothing behind it."""
    content = text.encode().ljust(117) + b'\n'
    return b'\x93NUMPY\x01\0' + len(content).to_bytes(2, 'little') + content


DAMAGED = (
    b'', b'\x93NUMPY', head('{'), head('((((('),
    head("{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }"),
    head("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
    head("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }"), head('[1, 2]'),
    head("{'descr': '<f8', 'fortran_order': False, 'shape': (9, 9), }"),
    b'\x93NUMPY\x07\0' + bytes(99))


@pytest.mark.parametrize('content', DAMAGED)
def test_arrays_that_are_damaged_or_claim_too_much_are_refused(tmp_path: Path, content: bytes,
                                                               ) -> None:
    plain, packed = tmp_path / 'a.npy', tmp_path / 'a.npz'
    plain.write_bytes(content)
    with zipfile.ZipFile(packed, 'w') as file:
        file.writestr('cells.npy', content)
    with pytest.raises(ValueError, match=r'.'):
        load_array(plain)
    with pytest.raises(ValueError, match=r'.'):
        load_arrays(packed)
    with pytest.raises(ValueError, match=r'.'):
        array_from_text(base64.b64encode(content).decode())
    with pytest.raises(InputError, match=r'a\.npy'):
        read_depth(plain)


def test_arrays_that_are_whole_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / 'a.npy', np.arange(6).reshape(2, 3))
    np.savez_compressed(tmp_path / 'a.npz', a=np.arange(3), b=np.float32(2.5))
    np.testing.assert_array_equal(load_array(tmp_path / 'a.npy'), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(array_from_text(array_to_text(np.eye(3)[:, ::2])),
                                  [[1, 0], [0, 0], [0, 1]])
    found = load_arrays(tmp_path / 'a.npz')
    assert found['a'].tolist() == [0, 1, 2] and float(found['b']) == 2.5


def test_a_zip_file_that_is_damaged_is_an_error_of_one_kind(tmp_path: Path) -> None:
    path = tmp_path / 'a.npz'
    np.savez_compressed(path, a=np.arange(300))
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + b'\xff\xff' + content[at + 2:])
        try:
            load_arrays(path)
        except (OSError, ValueError):
            continue
