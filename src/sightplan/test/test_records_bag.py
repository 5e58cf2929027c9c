"""Bags stay readable, also when their writer is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import Reader

from sightplan.model import InfrastructureError, InputError
from sightplan.records.bag import METADATA, BagWriter, MessageTypes, Qos, repair
from sightplan.records.mcap import is_complete

STRING = 'std_msgs/msg/String'


@pytest.fixture(scope='module')
def types() -> MessageTypes:
    return MessageTypes()


def encoded(types: MessageTypes, text: str) -> bytes:
    return bytes(types.store.serialize_cdr(types.store.types[STRING](text), STRING))


def read(folder: Path) -> list[tuple[str, int, bytes]]:
    with Reader(folder) as reader:
        return [(c.topic, stamp, bytes(data)) for c, stamp, data in reader.messages()]


def bag(folder: Path, types: MessageTypes, compression: str = 'zstd') -> tuple[BagWriter, int]:
    writer = BagWriter(folder, compression)
    return writer, writer.add_topic('/talk', types.get(STRING), Qos(5, 'best_effort'))


@pytest.mark.parametrize('compression', ['zstd', 'none'])
def test_what_is_written_is_read(tmp_path: Path, types: MessageTypes, compression: str) -> None:
    writer, topic = bag(tmp_path / 'b', types, compression)
    other = writer.add_topic('/other', types.get('sensor_msgs/msg/Image'))
    image = types.store.types['sensor_msgs/msg/Image']
    assert image
    for number in range(20):
        writer.write(topic, 100 + number, encoded(types, f'word {number}'))
        if number % 7 == 0:
            writer.flush()
    writer.close()
    assert other == 2
    with Reader(tmp_path / 'b') as reader:
        assert {c.topic: c.msgcount for c in reader.connections} == {'/talk': 20, '/other': 0}
        talk = next(c for c in reader.connections if c.topic == '/talk')
        assert talk.digest == types.get(STRING).type_hash
        assert 'string data' in talk.msgdef.data
        words = [types.store.deserialize_cdr(data, STRING).data
                 for _, _, data in reader.messages()]
        assert reader.start_time == 100
        assert reader.message_count == 20
    assert words == [f'word {number}' for number in range(20)]


def test_complete_after_every_flush(tmp_path: Path, types: MessageTypes) -> None:
    writer, topic = bag(tmp_path / 'b', types)
    assert read(tmp_path / 'b') == []
    for number in range(5):
        writer.write(topic, number, encoded(types, 'x' * number))
        assert len(read(tmp_path / 'b')) == number, 'what is not flushed is not there yet'
        writer.flush()
        assert len(read(tmp_path / 'b')) == number + 1
        assert is_complete(tmp_path / 'b' / 'b.mcap')
    writer.close()


def test_a_topic_may_come_late(tmp_path: Path, types: MessageTypes) -> None:
    writer, topic = bag(tmp_path / 'b', types)
    writer.write(topic, 1, encoded(types, 'a'))
    writer.flush()
    late = writer.add_topic('/late', types.get(STRING))
    writer.write(late, 2, encoded(types, 'b'))
    writer.flush()
    assert [topic for topic, _, _ in read(tmp_path / 'b')] == ['/talk', '/late']
    writer.close()


def test_messages_of_a_chunk_come_in_order_of_time(tmp_path: Path, types: MessageTypes) -> None:
    writer, topic = bag(tmp_path / 'b', types)
    for stamp in (5, 3, 9, 1):
        writer.write(topic, stamp, encoded(types, str(stamp)))
    writer.close()
    assert [stamp for _, stamp, _ in read(tmp_path / 'b')] == [1, 3, 5, 9]


_KILLED = '''
import os, sys, time
from pathlib import Path
from sightplan.records.bag import BagWriter, MessageTypes
types = MessageTypes()
writer = BagWriter(Path(sys.argv[1]))
topic = writer.add_topic('/talk', types.get('std_msgs/msg/String'))
kind = types.store.types['std_msgs/msg/String']
for number in range(3):
    writer.write(topic, number, types.store.serialize_cdr(kind(str(number)), kind.__msgtype__))
    writer.flush()
writer.write(topic, 99, b'lost')
print('ready', flush=True)
time.sleep(60)
'''


def test_a_killed_writer_leaves_a_readable_bag(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, '-c', _KILLED, str(tmp_path / 'b')],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'ready\n'
        os.kill(process.pid, signal.SIGKILL)
    assert [stamp for _, stamp, _ in read(tmp_path / 'b')] == [0, 1, 2]
    assert repair(tmp_path / 'b') == -1


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0.0, 1.0), lengths=st.lists(st.integers(0, 300), max_size=12))
def test_a_torn_bag_is_repaired_up_to_the_tear(
        tmp_path_factory: pytest.TempPathFactory, types: MessageTypes, cut: float,
        lengths: list[int]) -> None:
    folder = tmp_path_factory.mktemp('torn') / 'b'
    writer, topic = bag(folder, types)
    sizes = []
    for number, length in enumerate(lengths):
        writer.write(topic, number, encoded(types, 'y' * length))
        writer.flush()
        sizes.append(writer._mcap._position)
    writer.close()
    path = folder / 'b.mcap'
    size = int(cut * path.stat().st_size)
    os.truncate(path, size)
    if size < 8:
        with pytest.raises(InfrastructureError):
            repair(folder)
        return
    before = [position for position in sizes if position <= size]
    repaired = repair(folder)
    stamps = [stamp for _, stamp, _ in read(folder)]
    assert repaired in (-1, len(stamps))
    assert stamps == list(range(len(stamps)))
    # A tear in the index behind a chunk costs nothing.
    assert len(before) <= len(stamps) <= len(before) + 1


def test_repair_writes_missing_metadata(tmp_path: Path, types: MessageTypes) -> None:
    writer, topic = bag(tmp_path / 'b', types)
    writer.write(topic, 7, encoded(types, 'a'))
    writer.close()
    before = (tmp_path / 'b' / METADATA).read_text()
    (tmp_path / 'b' / METADATA).unlink()
    assert repair(tmp_path / 'b') == 1
    assert [stamp for _, stamp, _ in read(tmp_path / 'b')] == [7]
    after = (tmp_path / 'b' / METADATA).read_text()
    assert 'best_effort' in after
    assert after.replace('  custom_data:\n    repaired: its writer was killed\n',
                         '  custom_data: null\n') == before


def test_repair_reads_what_rosbags_left_unfinished(tmp_path: Path, types: MessageTypes) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    writer = Writer(tmp_path / 'b', version=9, storage_plugin=StoragePlugin.MCAP)
    writer.open()
    connection = writer.add_connection('/talk', STRING, typestore=types.store)
    for number in range(3):
        writer.write(connection, number, encoded(types, 'z' * 600_000))
    writer.storage.bio.flush()
    assert repair(tmp_path / 'b') == 2, 'the third is in a chunk that was never written'
    assert len(read(tmp_path / 'b')) == 2


def test_a_folder_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='exists already'):
        BagWriter(tmp_path)


def test_unknown_compression_and_type_are_refused(tmp_path: Path, types: MessageTypes) -> None:
    with pytest.raises(InputError, match='lzma'):
        BagWriter(tmp_path / 'b', 'lzma')
    with pytest.raises(InputError, match='my_msgs/msg/Own'):
        types.get('my_msgs/msg/Own')


def test_types_of_own_packages_are_read_from_their_files(tmp_path: Path) -> None:
    (tmp_path / 'Own.msg').write_text('std_msgs/Header header\nfloat64[] values\n')
    kind = MessageTypes({'my_msgs': tmp_path}).get('my_msgs/msg/Own')
    assert 'float64[] values' in kind.definition
    assert 'MSG: std_msgs/Header' in kind.definition
    assert kind.type_hash.startswith('RIHS01_')
    with pytest.raises(InputError, match='holds no'):
        MessageTypes({'none': tmp_path / 'nowhere'})


def test_a_full_disk_is_an_error(tmp_path: Path, types: MessageTypes) -> None:
    writer, topic = bag(tmp_path / 'b', types)
    os.close(writer._mcap._file)
    writer._mcap._file = os.open('/dev/full', os.O_WRONLY)
    writer.write(topic, 1, b'x')
    with pytest.raises(InfrastructureError, match='cannot be written'):
        writer.flush()
