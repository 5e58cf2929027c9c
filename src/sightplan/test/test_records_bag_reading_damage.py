"""Truncated bags give what stands before the cut; other damage is an error that names the file."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from bag_cases import Written, known_types, own_bag, rosbags_bag, said, texts
from sightplan.model import InputError
from sightplan.records import bag_reading
from sightplan.records.bag import METADATA, BagWriter
from sightplan.records.bag_reading import BagMessage, open_bag
from sightplan.records.mcap_reading import McapRecords, unpack_whole, zstd_module

STRING = 'std_msgs/msg/String'
CUTS = 200
PAGE = 4096


def cuts(size: int) -> list[int]:
    """Random offsets, and the first and the last ones."""
    rng = random.Random(6)
    return sorted({0, 1, size - 1, size - 9, *(rng.randrange(size) for _ in range(CUTS))})


def read(path: Path) -> tuple[list[BagMessage], list[str]]:
    """What can be read of a bag, and its warnings; an error stands for a warning."""
    try:
        bag = open_bag(path)
        messages = list(bag.messages())
    except InputError as error:
        return [], [str(error)]
    for message in messages:
        assert bag.data(message.place) == message.data
        bag.decode(message)
    return messages, bag.warnings


def whole_before(written: Written, cut: int) -> list[BagMessage]:
    """Messages that lie, not compressed, in the file before an offset."""
    content = written.path.read_bytes()
    return [m for m in written.in_order() if content.index(m.data) + len(m.data) <= cut]


def test_mcap_cut_off_anywhere_gives_every_message_before(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', 'none')
    content, size = written.path.read_bytes(), written.path.stat().st_size
    end_of_data = content.index(b'\x0f\x04\0\0\0\0\0\0\0')
    # Without the channels' descriptions nothing can be said of a message; they come first.
    first = content.index(b'std_msgs/msg/String', 100)
    cut_off = tmp_path / 'cut.mcap'
    for cut in cuts(size):
        cut_off.write_bytes(content[:cut])
        messages, warnings = read(cut_off)
        if cut > first:
            assert messages == whole_before(written, cut), cut
        assert warnings, cut
        assert ('no message' in '\n'.join(warnings)) == (cut >= end_of_data + 9), cut


def test_compressed_mcap_cut_off_anywhere_gives_every_chunk_before(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', 'zstd')
    content, size = written.path.read_bytes(), written.path.stat().st_size
    ends = []  # of chunks, as offsets
    for match in re.finditer(rb'\x04\0\0\0zstd', content):
        packed = int.from_bytes(content[match.end():match.end() + 8], 'little')
        if content[match.start() - 37] == 6:
            ends.append(match.end() + 8 + packed)
    assert len(ends) == 6
    cut_off = tmp_path / 'cut.mcap'
    for cut in cuts(size):
        cut_off.write_bytes(content[:cut])
        messages, warnings = read(cut_off)
        least = min(40, 7 * sum(end <= cut for end in ends))
        assert set(written.messages[:least]) <= set(messages) <= set(written.messages), cut
        assert messages == sorted(messages, key=lambda m: m.log_ns)
        assert warnings, cut


def test_a_truncated_compressed_chunk_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """One chunk of messages that zstd cannot shrink, cut off in its middle."""
    writer, rng = BagWriter(tmp_path / 'b'), random.Random(1)
    talk = writer.add_topic('/talk', known_types().get(STRING))
    data = [texts(''.join(rng.choices('0123456789abcdefghijklmnopqrstuvwxyz', k=30_000)))
            for _ in range(40)]
    for number, payload in enumerate(data):
        writer.write(talk, number, payload)
    writer.close()
    path = tmp_path / 'b' / 'b.mcap'
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
    messages, warnings = read(path)
    assert [m.data for m in messages] == data[:len(messages)]
    assert 12 <= len(messages) <= 20
    assert f'{len(messages)} messages before that are read' in warnings[0]


def test_a_truncated_index_hides_no_topic(tmp_path: Path) -> None:
    """What is cut off of the index of the last chunk tells of one of its two topics only."""
    written = own_bag(tmp_path / 'b', 'none')
    content = written.path.read_bytes()
    last = max(content.index(m.data) + len(m.data) for m in written.messages)
    first = content.index(b'\x07', last)
    after = first + 9 + int.from_bytes(content[first + 1:first + 9], 'little')
    written.path.write_bytes(content[:after + 4])
    for topic in ('/talk', '/other'):
        expected = [m for m in written.in_order() if m.topic == topic]
        assert list(open_bag(written.path).messages([topic])) == expected


def test_an_index_that_was_written_over_is_not_trusted(tmp_path: Path) -> None:
    """A killed writer leaves the beginning of new data, and behind it the end of the old index."""
    written = own_bag(tmp_path / 'b', 'zstd')
    content = bytearray(written.path.read_bytes())
    start = content.index(b'\x0f\x04\0\0\0\0\0\0\0')
    chunk = content.index(b'\x06', 9)
    content[start:start + 100] = content[chunk:chunk + 100]
    written.path.write_bytes(content)
    messages, warnings = read(written.path)
    assert messages == written.in_order() and 'is truncated' in warnings[0]


def test_a_damaged_chunk_in_the_middle_is_an_error(tmp_path: Path) -> None:
    for compression in ('none', 'zstd'):
        written = own_bag(tmp_path / compression, compression)
        content = bytearray(written.path.read_bytes())
        starts = [m.start() for m in re.finditer(rb'\x06.{36}\x04\0\0\0zstd', content,
                                                 re.DOTALL)] if compression == 'zstd' else [
            content.index(m.data) for m in written.messages[::7]]
        content[starts[2] + 70] ^= 0xFF
        written.path.write_bytes(content)
        with pytest.raises(InputError, match=rf'{compression}\.mcap: cannot be read.*'
                                             rf'mcap recover {compression}\.mcap'):
            list(open_bag(written.path).messages())


@pytest.mark.parametrize('length', [1, 2500])
def test_a_truncated_sqlite_file_is_an_error(tmp_path: Path, length: int) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, length=length)
    content = written.path.read_bytes()
    cut_off = tmp_path / 'cut.db3'
    for cut in cuts(len(content))[::4]:
        cut_off.write_bytes(content[:cut])
        with pytest.raises(InputError, match=r'cut\.db3: cannot be read'):
            list(open_bag(cut_off).messages())


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, times=range(300), length=100)
    content = bytearray(written.path.read_bytes())
    leaf = content.index(b'x150' * 90) // PAGE
    content[leaf * PAGE:(leaf + 1) * PAGE] = random.Random(2).randbytes(PAGE)
    written.path.write_bytes(content)
    with pytest.raises(InputError, match=r'b\.db3: cannot be read.*sqlite3 b\.db3 \.recover'):
        list(open_bag(written.path).messages())


def test_a_truncated_compressed_file_is_an_error(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', 'none')
    packed = zstd_module().compress(written.path.read_bytes())
    path = tmp_path / 'b.mcap.zstd'
    path.write_bytes(packed[:len(packed) // 2])
    with pytest.raises(InputError, match=r'b\.mcap\.zstd: cannot be read'):
        open_bag(path)


def test_a_damaged_message_of_a_bag_that_compresses_messages(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.MCAP, CompressionMode.MESSAGE)
    content = bytearray(written.path.read_bytes())
    frame = content.index(b'\x28\xb5\x2f\xfd')
    content[frame + 4:frame + 12] = b'\xff' * 8
    written.path.write_bytes(content)
    with pytest.raises(InputError, match=r'b\.mcap: cannot be read'):
        list(open_bag(tmp_path / 'b').messages())


def test_one_file_of_several_that_is_damaged_is_named(tmp_path: Path) -> None:
    own_bag(tmp_path / 'b')
    (tmp_path / 'b' / METADATA).unlink()
    (tmp_path / 'b' / 'b_1.mcap').write_bytes(b'nothing')
    with pytest.raises(InputError, match=r'b_1\.mcap: is not an MCAP file'):
        open_bag(tmp_path / 'b')


@pytest.fixture(scope='module')
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Contents of small bags by ending."""
    folder = tmp_path_factory.mktemp('small')
    packed = rosbags_bag(folder / 'f', StoragePlugin.SQLITE3, CompressionMode.FILE)
    return {
        '.mcap': own_bag(folder / 'm', 'none', length=3).path.read_bytes(),
        'z.mcap': own_bag(folder / 'z', 'zstd', length=3).path.read_bytes(),
        '.db3': rosbags_bag(folder / 's', StoragePlugin.SQLITE3).path.read_bytes(),
        'm.db3': rosbags_bag(folder / 'mm', StoragePlugin.SQLITE3,
                             CompressionMode.MESSAGE).path.read_bytes(),
        '.db3.zstd': packed.path.with_name('f.db3.zstd').read_bytes()}


KINDS = st.sampled_from(['.mcap', 'z.mcap', '.db3', 'm.db3', '.db3.zstd'])


@settings(max_examples=60, deadline=None)
@given(kind=KINDS, flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1,
                                  max_size=8), cut=st.floats(0.2, 1.0) | st.just(1.0))
def test_flipped_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory,
                                    small: dict[str, bytes], kind: str,
                                    flips: list[tuple[float, int]], cut: float) -> None:
    content = bytearray(small[kind])
    for place, value in flips:
        content[int(place * (len(content) - 1))] = value
    path = tmp_path_factory.mktemp('flipped') / f'bag{kind}'
    path.write_bytes(content[:int(cut * len(content))])
    messages = attempt(path)
    assert len(messages) <= 100
    shutil.rmtree(path.parent)


@settings(max_examples=50, deadline=None)
@given(kind=KINDS, garbage=st.binary(max_size=3000), keep=st.integers(0, 1500))
@example(kind='.db3', garbage=b'', keep=100)
@example(kind='.mcap', garbage=b'', keep=8)
def test_garbage_is_survived(tmp_path_factory: pytest.TempPathFactory, small: dict[str, bytes],
                             kind: str, garbage: bytes, keep: int) -> None:
    path = tmp_path_factory.mktemp('garbage') / f'bag{kind}'
    path.write_bytes(small[kind][:keep] + garbage)
    attempt(path)
    shutil.rmtree(path.parent)


def attempt(path: Path) -> list[BagMessage]:
    """Read a bag; nothing but InputError may come."""
    try:
        bag = open_bag(path)
        messages = list(bag.messages())
    except InputError:
        return []
    for message in messages:
        try:
            bag.decode(message)
        except InputError:
            continue
    return messages


@pytest.mark.parametrize('kind', ['.mcap', 'z.mcap'])
def test_lengths_that_lie_take_no_memory(tmp_path: Path, small: dict[str, bytes], kind: str,
                                         ) -> None:
    content = small[kind]
    content = content[:content.index(b'\x0f\x04\0\0\0\0\0\0\0')]  # without an index
    path = tmp_path / f'bag{kind}'
    tracemalloc.start()
    try:
        for at in range(8, len(content) - 8, len(content) // 100 | 1):
            for lie in (b'\xff' * 8, b'\0\0\0\x7f\0\0\0\0', b'\x7f\xff\xff\xff'):
                path.write_bytes(content[:at] + lie + content[at + len(lie):])
                with contextlib.suppress(InputError):  # of an unknown compression
                    assert len(list(McapRecords(path))) <= 44
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_said_is_what_was_written(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', length=1)
    assert [said(m) for m in written.messages[:2]] == ['x000', 'x001']


def test_a_chunk_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path) -> None:
    """Of 16 kB of zstd 512 MB are made; what a chunk says of that is not believed either."""
    packed = zstd_module().compress(bytes(2**27))
    for size in (100, 2**27, 2**40):
        chunk = (bytes(16) + size.to_bytes(8, 'little') + bytes(4) + b'\4\0\0\0zstd'
                 + len(packed).to_bytes(8, 'little') + packed)
        records = ((1, b'\4\0\0\0ros2\1\0\0\0x'), (6, chunk), (15, bytes(4)), (2, bytes(20)))
        content = b''.join(bytes([kind]) + len(data).to_bytes(8, 'little') + data
                           for kind, data in records)
        path = tmp_path / 'bomb.mcap'
        path.write_bytes(b'\x89MCAP0\r\n' + content + b'\x89MCAP0\r\n')
        with pytest.raises(InputError, match=r'bomb\.mcap: cannot be read.*unpack'):
            list(open_bag(path).messages())


def test_a_message_that_unpacks_to_more_than_it_may_is_refused() -> None:
    for size in (2**26, 2**26 + 1):
        packed = zstd_module().compress(bytes(size))
        if size == 2**26:
            assert unpack_whole(packed, 'zstd') == bytes(size)
        else:
            with pytest.raises(ValueError, match='the most that is read'):
                unpack_whole(packed, 'zstd')
    with pytest.raises(ValueError, match='truncated'):
        unpack_whole(zstd_module().compress(b'x' * 1000)[:-3], 'zstd')
    assert unpack_whole(zstd_module().compress(b''), 'zstd') == b''


def test_a_compressed_file_that_unpacks_to_more_than_it_may_is_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_reading, '_ALWAYS_UNPACKED', 2**20)
    path = tmp_path / 'b.mcap.zstd'
    path.write_bytes(zstd_module().compress(bytes(2**25)))
    with pytest.raises(InputError, match=r'b\.mcap\.zstd: unpacks to more than 1000 times'):
        open_bag(path)


def test_what_is_wrong_with_an_unpacked_copy_is_said_of_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / 'b.mcap.zstd'
    path.write_bytes(zstd_module().compress(b'nothing'))
    with pytest.raises(InputError, match=rf'^{re.escape(str(path))}: is not an MCAP file'):
        open_bag(path)
