"""Damaged bags give what is whole, and say what is not."""

from __future__ import annotations

import random
import re
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from bag_cases import Written, known_types, own_bag, rosbags_bag, said, texts
from sightplan.model import InputError
from sightplan.records.bag import METADATA, BagWriter
from sightplan.records.bag_reading import BagMessage, open_bag

STRING = 'std_msgs/msg/String'
CUTS = 200
PAGE = 4096


def cuts(size: int) -> list[int]:
    """Random offsets, and the first and the last ones."""
    rng = random.Random(6)
    return sorted({0, 1, size - 1, size - 9, *(rng.randrange(size) for _ in range(CUTS))})


def read(path: Path) -> tuple[list[BagMessage], list[str]]:
    """What can be read of a bag, and its complaints; every message can be decoded or told of."""
    try:
        bag = open_bag(path)
        messages = list(bag.messages())
    except InputError as error:
        return [], [str(error)]
    for message in messages:
        assert bag.data(message.place) == message.data
        try:
            bag.decode(message)
        except InputError:
            assert bag.complaints
    return messages, bag.complaints


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
    torn = tmp_path / 'torn.mcap'
    for cut in cuts(size):
        torn.write_bytes(content[:cut])
        messages, complaints = read(torn)
        if cut > first:
            assert messages == whole_before(written, cut), cut
        assert complaints, cut
        assert ('no message is lost' in '\n'.join(complaints)) == (cut > end_of_data + 13), cut


def test_compressed_mcap_cut_off_anywhere_gives_every_chunk_before(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', 'zstd')
    content, size = written.path.read_bytes(), written.path.stat().st_size
    ends = []  # of chunks, as offsets
    for match in re.finditer(rb'\x04\0\0\0zstd', content):
        packed = int.from_bytes(content[match.end():match.end() + 8], 'little')
        if content[match.start() - 37] == 6:
            ends.append(match.end() + 8 + packed)
    assert len(ends) == 6
    torn = tmp_path / 'torn.mcap'
    for cut in cuts(size):
        torn.write_bytes(content[:cut])
        messages, complaints = read(torn)
        least = min(40, 7 * sum(end <= cut for end in ends))
        assert set(written.messages[:least]) <= set(messages) <= set(written.messages), cut
        assert messages == sorted(messages, key=lambda m: m.log_ns)
        assert complaints, cut


def test_a_torn_compressed_chunk_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
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
    messages, complaints = read(path)
    assert [m.data for m in messages] == data[:len(messages)]
    assert 12 <= len(messages) <= 20
    assert any('1970-01-01' in text for text in complaints), 'it is said from which time on'


def test_a_torn_index_hides_no_topic(tmp_path: Path) -> None:
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


def test_a_damaged_chunk_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    for compression in ('none', 'zstd'):
        written = own_bag(tmp_path / compression, compression)
        content = bytearray(written.path.read_bytes())
        starts = [m.start() for m in re.finditer(rb'\x06.{36}\x04\0\0\0zstd', content,
                                                 re.DOTALL)] if compression == 'zstd' else [
            content.index(m.data) for m in written.messages[::7]]
        content[starts[2] + 70] ^= 0xFF
        written.path.write_bytes(content)
        messages, complaints = read(written.path)
        lost = written.messages[14:21]
        assert messages == [m for m in written.in_order() if m not in lost]
        (text,) = complaints
        assert 'damaged' in text
        assert '1970-01-01' in text


@pytest.mark.parametrize('where', [1, 8, 33, 40, 45])
def test_a_lying_length_in_the_middle_costs_only_its_chunk(tmp_path: Path, where: int) -> None:
    """A wrong length leads the walk astray; it finds the next chunk."""
    written = own_bag(tmp_path / 'b', 'zstd')
    content = bytearray(written.path.read_bytes())
    chunks = [m.start() - 37 for m in re.finditer(rb'\x04\0\0\0zstd', content)
              if content[m.start() - 37] == 6][:6]
    content[chunks[2] + where] ^= 0x5A
    written.path.write_bytes(content)
    messages, complaints = read(written.path)
    lost = written.messages[14:21]
    assert [m for m in written.in_order() if m not in lost] == [
        m for m in messages if m not in lost]
    assert complaints


def test_sqlite_cut_off_anywhere_gives_every_row_whose_pages_are_there(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, length=1)
    large = rosbags_bag(tmp_path / 'large', StoragePlugin.SQLITE3, length=2500)
    for bag in (written, large):
        content, size = bag.path.read_bytes(), bag.path.stat().st_size
        pages = {m: {at // PAGE for at in found(content, f'x{m.log_ns:03d}'.encode() * 6)}
                 for m in bag.in_order()}
        assert any(len(of) > 2 for of in pages.values()) == (bag is large)
        torn = tmp_path / 'torn.db3'
        counts = set()
        for cut in cuts(size) if bag is large else cuts(size)[::4]:
            torn.write_bytes(content[:cut])
            messages, complaints = read(torn)
            assert complaints, cut
            counts.add(len(messages))
            if bag is large:
                expected = [m for m in bag.in_order() if max(pages[m]) < cut // PAGE]
                assert messages == expected, cut
            else:
                assert messages == bag.in_order()[:len(messages)]
        assert len(counts) > (10 if bag is large else 1)


def found(content: bytes, pattern: bytes) -> Iterator[int]:
    at = content.find(pattern)
    while at >= 0:
        yield at
        at = content.find(pattern, at + 1)


def test_a_page_that_is_damaged_costs_only_its_rows(tmp_path: Path) -> None:
    """Among them those that sqlite needs to find the others: the root of the table."""
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, times=range(300), length=100)
    content = written.path.read_bytes()
    interior = [n for n in range(1, len(content) // PAGE) if content[n * PAGE] == 0x05]
    leaf = next(at // PAGE for at in found(content, b'x150' * 90))
    assert interior
    for page, lost in ((interior[0], 0), (leaf, 20)):
        broken = bytearray(content)
        broken[page * PAGE:(page + 1) * PAGE] = random.Random(2).randbytes(PAGE)
        written.path.write_bytes(broken)
        messages, complaints = read(written.path)
        assert set(messages) <= set(written.messages)
        assert len(messages) >= 300 - lost
        assert (len(messages) == 300) == (lost == 0)
        assert 'cut off or damaged' in complaints[0]


def test_rows_in_a_page_that_was_given_up_come_once(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, times=range(100), length=100)
    content = bytearray(written.path.read_bytes())
    leaf = content.index(b'x050' * 90) // PAGE
    root = next(n for n in range(1, len(content) // PAGE) if content[n * PAGE] == 0x05)
    old = content[leaf * PAGE:(leaf + 1) * PAGE]
    content[root * PAGE:(root + 1) * PAGE] = bytes(PAGE)
    written.path.write_bytes(content + old)
    messages, complaints = read(written.path)
    assert messages == written.in_order()
    assert 'damaged' in complaints[0]


def test_a_lost_page_of_a_large_row_costs_only_that_row(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.SQLITE3, length=2500)
    content = bytearray(written.path.read_bytes())
    page = sorted({at // PAGE for at in found(bytes(content), b'x021' * 6)})[1]
    content[page * PAGE:page * PAGE + 4] = b'\xff\xff\xff\xff'  # the chain leads nowhere
    written.path.write_bytes(content)
    messages, complaints = read(written.path)
    assert messages == [m for m in written.in_order() if m.log_ns != 21]
    assert '1 messages are not whole and left out, the first one of 1970' in complaints[0]


def test_a_compressed_file_cut_off_is_unpacked_as_far_as_it_goes(tmp_path: Path) -> None:
    rng = random.Random(3)
    writer = BagWriter(tmp_path / 'b', 'none')
    talk = writer.add_topic('/talk', known_types().get(STRING))
    for number in range(60):
        writer.write(talk, number, texts(''.join(rng.choices('0123456789abcdef', k=20_000))))
        writer.flush()
    writer.close()
    from sightplan.records.mcap_reading import zstd_module
    packed = zstd_module().compress((tmp_path / 'b' / 'b.mcap').read_bytes())
    path = tmp_path / 'b.mcap.zstd'
    path.write_bytes(packed[:len(packed) // 2])
    messages, complaints = read(path)
    assert [m.log_ns for m in messages] == list(range(len(messages)))
    assert 5 < len(messages) < 40
    assert 'is cut off' in complaints[0]


def test_a_damaged_message_of_a_bag_that_compresses_messages(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', StoragePlugin.MCAP, CompressionMode.MESSAGE)
    content = bytearray(written.path.read_bytes())
    frame = content.index(b'\x28\xb5\x2f\xfd')
    content[frame + 4:frame + 12] = b'\xff' * 8
    written.path.write_bytes(content)
    bag = open_bag(tmp_path / 'b')
    assert list(bag.messages()) == written.in_order()[1:]
    assert 'message of 1970-01-01 00:00:00.000 UTC on /talk is damaged' in bag.complaints[0]


def test_one_file_of_several_may_be_lost(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b')
    (tmp_path / 'b' / METADATA).unlink()
    (tmp_path / 'b' / 'b_1.mcap').write_bytes(b'nothing')
    bag = open_bag(tmp_path / 'b')
    assert list(bag.messages()) == written.in_order()
    assert 'b_1.mcap: is not an MCAP file' in bag.complaints[0]


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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=100, deadline=None)
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


@pytest.mark.parametrize('kind', ['.mcap', 'z.mcap', '.db3'])
def test_lengths_that_lie_take_no_memory(tmp_path: Path, small: dict[str, bytes], kind: str,
                                         ) -> None:
    content = small[kind]
    step = len(content) // 100 | 1
    path = tmp_path / f'bag{kind}'
    path.write_bytes(content)
    assert attempt(path)
    tracemalloc.start()
    try:
        for at in range(8, len(content) - 8, step):
            for lie in (b'\xff' * 8, b'\0\0\0\x7f\0\0\0\0', b'\x7f\xff\xff\xff'):
                path.write_bytes(content[:at] + lie + content[at + len(lie):])
                attempt(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_said_is_what_was_written(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b', length=1)
    assert [said(m) for m in written.messages[:2]] == ['x000', 'x001']
