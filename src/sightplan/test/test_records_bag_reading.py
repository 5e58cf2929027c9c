"""Bags are read, whoever wrote them."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from bag_cases import STRING, Written, own_bag, rosbags_bag, said, texts
from sightplan.model import InputError
from sightplan.records.bag import METADATA, BagWriter, MessageTypes, Qos, TopicType
from sightplan.records.bag_reading import BagMessage, find_bags, open_bag

MCAP, SQLITE = StoragePlugin.MCAP, StoragePlugin.SQLITE3
NO, CHUNKS = CompressionMode.NONE, CompressionMode.STORAGE
MESSAGES, FILE = CompressionMode.MESSAGE, CompressionMode.FILE


@pytest.mark.parametrize('compression', ['zstd', 'none'])
def test_what_our_writer_wrote(tmp_path: Path, compression: str) -> None:
    written = own_bag(tmp_path / 'b', compression)
    bag = open_bag(tmp_path / 'b')
    assert list(bag.messages()) == written.in_order()
    assert bag.warnings == []
    talk = bag.topics['/talk']
    assert (talk.type, talk.qos[0]['reliability'], talk.qos[0]['depth']) == (
        STRING, 'best_effort', 5)
    assert 'string data' in talk.definition


@pytest.mark.parametrize('version', [8, 9])
@pytest.mark.parametrize(('plugin', 'compression'), [
    (MCAP, NO), (MCAP, CHUNKS), (MCAP, MESSAGES), (MCAP, FILE),
    (SQLITE, NO), (SQLITE, MESSAGES), (SQLITE, FILE)])
def test_what_another_library_wrote(tmp_path: Path, plugin: StoragePlugin,
                                    compression: CompressionMode, version: int) -> None:
    written = rosbags_bag(tmp_path / 'b', plugin, compression, version=version)
    files = sorted(path.name for path in (tmp_path / 'b').iterdir())
    bag = open_bag(tmp_path / 'b')
    messages = list(bag.messages())
    assert messages == written.in_order()
    assert bag.warnings == []
    assert bag.topics['/talk'].qos[0]['durability'] == 'transient_local', 'numbers are words'
    assert [bag.data(message.place) for message in messages] == [m.data for m in messages]
    assert bag.decode(messages[0]).data == said(messages[0])
    assert sorted(path.name for path in (tmp_path / 'b').iterdir()) == files, 'nothing is written'


@pytest.mark.parametrize('plugin', [MCAP, SQLITE])
def test_without_metadata_and_as_a_single_file(tmp_path: Path, plugin: StoragePlugin) -> None:
    written = rosbags_bag(tmp_path / 'b', plugin, MESSAGES)
    (tmp_path / 'b' / METADATA).unlink()
    (file,) = (tmp_path / 'b').iterdir()
    for path in (tmp_path / 'b', file):
        bag = open_bag(path)
        assert list(bag.messages()) == written.in_order()
        assert bag.topics['/talk'].type == STRING
        assert bag.warnings == []


@pytest.mark.parametrize('plugin', [MCAP, SQLITE])
def test_a_bag_in_several_files(tmp_path: Path, plugin: StoragePlugin) -> None:
    """Eleven files, whose times overlap; b_10 comes after b_9."""
    parts = [rosbags_bag(tmp_path / f'part{number}', plugin, times=range(number, 200, 11))
             for number in range(11)]
    (tmp_path / 'b').mkdir()
    for number in range(11):
        (file,) = (p for p in (tmp_path / f'part{number}').iterdir() if p.name != METADATA)
        file.rename(tmp_path / 'b' / f'b_{number}{file.suffix}')
    bag = open_bag(tmp_path / 'b')
    messages = list(bag.messages())
    assert [m.log_ns for m in messages] == list(range(200))
    assert messages == sorted((m for part in parts for m in part.messages),
                              key=lambda m: m.log_ns)
    assert [bag.data(m.place) for m in messages] == [m.data for m in messages]
    assert bag.warnings == []


def test_some_topics_only(tmp_path: Path) -> None:
    written = own_bag(tmp_path / 'b')
    bag = open_bag(tmp_path / 'b')
    assert list(bag.messages(['/other'])) == [m for m in written.in_order() if m.topic == '/other']
    assert list(bag.messages(['/nobody'])) == []
    assert list(bag.messages([])) == []
    assert bag.warnings == []


def test_pieces_without_wanted_messages_are_not_even_unpacked(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, types = BagWriter(tmp_path / 'b'), MessageTypes()
    image = writer.add_topic('/image', types.get(STRING))
    talk = writer.add_topic('/talk', types.get(STRING))
    for number in range(10):
        writer.write(image if number % 2 else talk, number, b'\0\1\0\0')
        writer.flush()
    writer.close()
    bag = open_bag(tmp_path / 'b')
    assert next(bag.messages()).log_ns == 0
    read: list[int] = []
    from rosbags.rosbag2 import storage_mcap
    original = storage_mcap.decompress
    monkeypatch.setattr(storage_mcap, 'decompress', lambda data, *rest: (
        read.append(len(data)), original(data, *rest))[1])
    assert len(list(bag.messages(['/talk']))) == 5
    assert len(read) == 5
    read.clear()
    later = open_bag(tmp_path / 'b').messages()
    assert (next(later).log_ns, len(read)) == (0, 1), 'each when its time comes'


def test_messages_of_one_time_stay_in_order(tmp_path: Path) -> None:
    writer, types = BagWriter(tmp_path / 'b'), MessageTypes()
    talk = writer.add_topic('/talk', types.get(STRING))
    for number, stamp in enumerate((5, 3, 5, 3, 5)):
        writer.write(talk, stamp, texts(str(number)))
        if number == 2:
            writer.flush()
    writer.close()
    assert [said(m) for m in open_bag(tmp_path / 'b').messages()] == ['1', '3', '0', '2', '4']


def test_rows_of_one_time_stay_in_order(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', SQLITE, times=[number % 3 for number in range(200)])
    for number, message in enumerate(written.messages):
        assert said(message) == f'x{number % 3:03d}' * 20
    database = sqlite3.connect(written.path)
    with database:
        database.executemany('UPDATE messages SET data = ? WHERE id = ?',
                             [(texts(str(number)), number + 1) for number in range(200)])
    database.close()
    spoken = [int(said(m)) for m in open_bag(tmp_path / 'b').messages()]
    assert spoken == sorted(range(200), key=lambda number: (number % 3, number))


@pytest.mark.parametrize('compression', ['lz4', ''])
def test_mcap_chunks_of_other_writers(tmp_path: Path, compression: str) -> None:
    from lz4 import frame
    written = own_bag(tmp_path / 'b', compress=frame.compress if compression else None)
    path = tmp_path / 'b' / 'b.mcap'
    if compression:  # our writer only knows zstd's name, which is one letter longer
        path.write_bytes(renamed_chunks(path.read_bytes()))
    bag = open_bag(path)
    assert list(bag.messages()) == written.in_order()
    assert bag.warnings == []


def renamed_chunks(data: bytes) -> bytes:
    """The data section with its chunks' compression called lz4, not zstd; no summary."""
    out, at = bytearray(data[:8]), 8
    while data[at] != 0x0F:
        end = at + 9 + int.from_bytes(data[at + 1:at + 9], 'little')
        content = data[at + 9:end]
        if data[at] == 0x06:
            content = content[:28] + b'\3\0\0\0lz4' + content[36:]
        out += data[at:at + 1] + len(content).to_bytes(8, 'little') + content
        at = end
    return bytes(out) + b'\x0f' + (4).to_bytes(8, 'little') + bytes(4) + (
        b'\x02' + (20).to_bytes(8, 'little') + bytes(20) + data[:8])


def test_an_unknown_compression_is_named(tmp_path: Path) -> None:
    own_bag(tmp_path / 'b', 'zstd')
    path = tmp_path / 'b' / 'b.mcap'
    path.write_bytes(path.read_bytes().replace(b'\4\0\0\0zstd', b'\4\0\0\0blub'))
    with pytest.raises(InputError, match=r"b\.mcap: its compression 'blub'.*record it again"):
        list(open_bag(path).messages())


def test_messages_outside_of_chunks(tmp_path: Path) -> None:
    """As the fast preset of rosbag2 writes them: no chunks, no summary."""
    from sightplan.records.mcap import MAGIC, Channel, Schema
    def record(opcode: int, content: bytes) -> bytes:
        return bytes((opcode,)) + len(content).to_bytes(8, 'little') + content
    definition = MessageTypes().get(STRING).definition
    data = MAGIC + record(1, b'\4\0\0\0ros2\0\0\0\0')
    data += Schema(1, STRING, 'ros2msg', definition).record() + Channel(7, 1, '/talk').record()
    stamps = [30, 10, 20]
    for stamp in stamps:
        head = (7).to_bytes(2, 'little') + bytes(4) + stamp.to_bytes(8, 'little') * 2
        data += record(5, head + texts(f'at {stamp}'))
    data += record(15, bytes(4)) + record(2, bytes(20)) + MAGIC
    (tmp_path / 'fast.mcap').write_bytes(data)
    bag = open_bag(tmp_path / 'fast.mcap')
    messages = list(bag.messages())
    assert [said(m) for m in messages] == ['at 10', 'at 20', 'at 30']
    assert bag.decode(messages[0]).data == 'at 10'
    assert bag.warnings == []


# Types.

OLD = 'string name\nint32 answer\n'


def test_the_definition_in_the_bag_counts(tmp_path: Path) -> None:
    """Also for types of our own, of which an older version may have been recorded."""
    (tmp_path / 'msg').mkdir()
    (tmp_path / 'msg' / 'Atom.msg').write_text(OLD)
    types = MessageTypes({'sightplan_interfaces': tmp_path / 'msg'})
    name = 'sightplan_interfaces/msg/Atom'
    writer = BagWriter(tmp_path / 'b')
    topic = writer.add_topic('/atom', types.get(name))
    message = types.store.types[name]('on', 42)
    writer.write(topic, 1, bytes(types.store.serialize_cdr(message, name)))
    writer.close()
    bag = open_bag(tmp_path / 'b')
    (read,) = bag.messages()
    decoded = bag.decode(read)
    assert (decoded.name, decoded.answer) == ('on', 42)
    assert not hasattr(decoded, 'arguments')


def test_known_types_need_no_definition(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'b')
    topics = [writer.add_topic(f'/{name}', TopicType(kind, '', '')) for name, kind in (
        ('talk', 'std_msgs/String'), ('atom', 'sightplan_interfaces/msg/Atom'),
        ('own', 'my_msgs/msg/Own'))]
    for topic in topics:
        writer.write(topic, topic, texts('word'))
    writer.close()
    bag = open_bag(tmp_path / 'b')
    talk, atom, own = bag.messages()
    assert bag.decode(talk).data == 'word'
    with pytest.raises(InputError, match=r'/atom is no sightplan_interfaces/msg/Atom'):
        bag.decode(atom)
    with pytest.raises(InputError, match=r'my_msgs/msg/Own.*ros2 bag convert'):
        bag.decode(own)


def test_definitions_without_the_types_they_use(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'b')
    kind = TopicType('my_msgs/msg/Own', 'std_msgs/Header[] headers\nint32 x\n', '')
    topic = writer.add_topic('/own', kind)
    writer.write(topic, 1, b'\0\1\0\0' + bytes(4) + (7).to_bytes(4, 'little'))
    writer.close()
    bag = open_bag(tmp_path / 'b')
    assert bag.decode(next(bag.messages())).x == 7


def test_definitions_in_idl(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / 'b')
    text = ('=' * 80 + '\nIDL: my_msgs/msg/Own\nmodule my_msgs { module msg { struct Own { '
            'my_msgs::msg::Part part; }; }; };\n' + '=' * 80 + '\nIDL: my_msgs/msg/Part\n'
            'module my_msgs { module msg { struct Part { long x; }; }; };\n')
    writer._mcap.add_channel('/own', 'my_msgs/msg/Own', text, 'ros2idl')
    writer._mcap.write(1, 1, b'\0\1\0\0' + (7).to_bytes(4, 'little'))
    writer._mcap.close()
    bag = open_bag(writer._mcap.path)
    assert bag.decode(next(bag.messages())).part.x == 7


@pytest.mark.parametrize('definition', ['string', '=' * 80, 'x y z', 'string a\nstring a\n'])
def test_damaged_definitions_are_an_error(tmp_path: Path, definition: str) -> None:
    writer = BagWriter(tmp_path / 'b')
    topic = writer.add_topic('/own', TopicType('my_msgs/msg/Own', definition, ''))
    writer.write(topic, 1, texts('x'))
    writer.close()
    bag = open_bag(tmp_path / 'b')
    with pytest.raises(InputError, match='my_msgs/msg/Own'):
        bag.decode(next(bag.messages()))


# sqlite3 files of older and of killed recorders.

OLD_QOS = '''- history: 1
  depth: 3
  reliability: 2
  durability: 2
  deadline: {sec: 0, nsec: 0}
  lifespan: {sec: 0, nsec: 0}
  liveliness: 1
  liveliness_lease_duration: {sec: 0, nsec: 0}
  avoid_ros_namespace_conventions: false
'''


@pytest.mark.parametrize('qos', ['', ', offered_qos_profiles TEXT NOT NULL'])
def test_sqlite_schemas_of_older_distributions(tmp_path: Path, qos: str) -> None:
    path = tmp_path / 'old_0.db3'
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type '
                         f'TEXT NOT NULL, serialization_format TEXT NOT NULL{qos})')
        database.execute('CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT '
                         'NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)')
        values = ['/talk', STRING, 'cdr', *([OLD_QOS] if qos else [])]
        database.execute(f'INSERT INTO topics VALUES(4{", ?" * len(values)})', values)
        database.execute('INSERT INTO messages VALUES(9, 4, 7, ?)', [texts('old')])
    database.close()
    bag = open_bag(path)
    (message,) = bag.messages()
    assert message == BagMessage('/talk', 7, texts('old'))
    assert bag.decode(message).data == 'old'
    assert [(profile['history'], profile['depth'], profile['reliability'])
            for profile in bag.topics['/talk'].qos] == (
                [('keep_last', 3, 'best_effort')] if qos else [])


def test_what_waits_in_the_wal_of_a_killed_recorder_is_read(tmp_path: Path) -> None:
    written = rosbags_bag(tmp_path / 'b', SQLITE)
    file = tmp_path / 'b' / 'b.db3'
    database = sqlite3.connect(file)
    database.execute('PRAGMA journal_mode = WAL')
    database.execute('INSERT INTO messages VALUES(900, 1, 5000, ?)', [texts('waiting')])
    database.commit()
    (tmp_path / 'killed').mkdir()
    for path in (tmp_path / 'b').glob('b.db3*'):
        shutil.copy(path, tmp_path / 'killed')
    database.close()
    before = {path.name: path.read_bytes() for path in (tmp_path / 'killed').iterdir()}
    assert 'b.db3-wal' in before
    bag = open_bag(tmp_path / 'killed')
    messages = list(bag.messages())
    assert messages[:-1] == written.in_order()
    assert said(messages[-1]) == 'waiting'
    assert 'stopped hard' in bag.warnings[0]
    assert {p.name: p.read_bytes() for p in (tmp_path / 'killed').iterdir()} == before


# Folders.

def test_metadata_of_the_first_versions(tmp_path: Path) -> None:
    """Paths with the folder before them, and next to nothing else."""
    written = rosbags_bag(tmp_path / 'b', SQLITE)
    (tmp_path / 'b' / METADATA).write_text(yaml.safe_dump({'rosbag2_bagfile_information': {
        'version': 2, 'storage_identifier': 'sqlite3', 'relative_file_paths': ['old/b.db3']}}))
    bag = open_bag(tmp_path / 'b')
    assert list(bag.messages()) == written.in_order()
    assert bag.warnings == []


@pytest.mark.parametrize('text', ['', '{', 'a: b', 'rosbag2_bagfile_information: 3', '[' * 3000,
                                  'rosbag2_bagfile_information: {relative_file_paths: 5}'])
def test_metadata_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    written = own_bag(tmp_path / 'b')
    (tmp_path / 'b' / METADATA).write_text(text)
    with pytest.raises(InputError, match=r'metadata\.yaml: cannot be read.*remove it'):
        open_bag(tmp_path / 'b')
    (tmp_path / 'b' / METADATA).unlink()
    assert list(open_bag(tmp_path / 'b').messages()) == written.in_order()


def test_missing_and_additional_files_are_named(tmp_path: Path) -> None:
    folder = tmp_path / 'b'
    written = own_bag(folder)
    content = yaml.safe_load((folder / METADATA).read_text())
    content['rosbag2_bagfile_information']['relative_file_paths'] = ['b_0.mcap', 'b_1.mcap']
    (folder / METADATA).write_text(yaml.safe_dump(content))
    (folder / 'b.mcap').rename(folder / 'b_0.mcap')
    with pytest.raises(InputError, match=r'b_1\.mcap: is missing, though metadata\.yaml lists it'):
        open_bag(folder)
    shutil.copy(own_bag(tmp_path / 'c').path, folder / 'b_1.mcap')
    shutil.copy(folder / 'b_0.mcap', folder / 'b_2.mcap')
    bag = open_bag(folder)
    assert len(list(bag.messages())) == 2 * len(written.messages)
    assert bag.warnings == [f'{folder}/b_2.mcap: metadata.yaml does not list it; it is left out']


def test_bags_are_found_in_natural_order(tmp_path: Path) -> None:
    own_bag(tmp_path / 'run' / 'bags' / 'episode_10')
    own_bag(tmp_path / 'run' / 'bags' / 'episode_9')
    own_bag(tmp_path / 'run' / '.hidden' / 'episode_1')
    loose = tmp_path / 'loose'
    loose.mkdir()
    for name in ('one.mcap', 'two.mcap'):
        shutil.copy(own_bag(tmp_path / '.spare' / name).path, loose / name)
    assert find_bags(tmp_path) == [loose / 'one.mcap', loose / 'two.mcap',
                                   tmp_path / 'run/bags/episode_9',
                                   tmp_path / 'run/bags/episode_10']
    assert find_bags(loose / 'one.mcap') == [loose / 'one.mcap']
    assert find_bags(str(tmp_path / 'run/bags/episode_9')) == [tmp_path / 'run/bags/episode_9']


def test_a_split_bag_is_one(tmp_path: Path) -> None:
    (tmp_path / 'b').mkdir()
    for number in range(3):
        shutil.copy(own_bag(tmp_path / '.spare' / str(number)).path,
                    tmp_path / 'b' / f'b_{number}.mcap')
    assert find_bags(tmp_path) == [tmp_path / 'b']


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    disk, run = tmp_path / 'disk', tmp_path / 'run'
    own_bag(disk / 'b1')
    own_bag(run / 'b2')
    (disk / 'back').symlink_to(run)
    (run / 'a').symlink_to(run / 'b2')
    (run / 'bags').symlink_to(disk)
    (run / 'again').symlink_to(run)
    (run / 'up').symlink_to(tmp_path)
    (run / 'gone').symlink_to(tmp_path / 'gone')
    assert find_bags(run) == [run / 'b2', run / 'bags' / 'b1']
    assert find_bags(run / 'a') == [run / 'a']


def test_a_bag_whose_file_is_gone_says_which(tmp_path: Path) -> None:
    own_bag(tmp_path / 'b').path.unlink()
    with pytest.raises(InputError, match=r'b\.mcap: is missing, though metadata\.yaml'):
        open_bag(tmp_path / 'b')


def test_no_bag_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').write_text('x')
    with pytest.raises(InputError, match=r'no bag in it.*metadata\.yaml.*\.db3'):
        find_bags(tmp_path)
    for function in (find_bags, open_bag):
        with pytest.raises(InputError, match='no such'):
            function(tmp_path / 'nowhere')
    with pytest.raises(InputError, match='is no bag'):
        open_bag(tmp_path)
    with pytest.raises(InputError, match='neither an MCAP nor an sqlite3'):
        open_bag(tmp_path / 'notes.txt')
    for name in ('empty.db3', 'empty.mcap'):
        (tmp_path / name).touch()
        with pytest.raises(InputError, match=name):
            open_bag(tmp_path / name)


@pytest.mark.parametrize('function', [find_bags, open_bag])
def test_paths_at_which_nothing_can_be_are_an_error(tmp_path: Path, function: Any) -> None:
    (tmp_path / 'round').symlink_to(tmp_path / 'round')
    for path, words in ((tmp_path / ('x' * 300), 'File name too long'),
                        (tmp_path / 'round' / 'b', 'Too many levels'),
                        (f'{tmp_path}/a\0b', 'null')):
        with pytest.raises(InputError, match=rf'{words}.*give another path'):
            function(path)


def _refuse(monkeypatch: pytest.MonkeyPatch, name: str, owner: Any, where: Path) -> None:
    """Let a function refuse a path, as it does for everybody but root."""
    real = getattr(owner, name)

    def refusing(path: Any = '.', *rest: Any, **options: Any) -> Any:
        if Path(path) == where:
            raise PermissionError(errno.EACCES, 'Permission denied', str(path))
        return real(path, *rest, **options)
    monkeypatch.setattr(owner, name, refusing)


def test_what_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          ) -> None:
    own_bag(tmp_path / 'b')
    remedy = 'Permission denied.*chmod'
    with monkeypatch.context() as patched:
        _refuse(patched, 'scandir', os, tmp_path / 'b')
        with pytest.raises(InputError, match=rf'b: cannot be read \({remedy}'):
            find_bags(tmp_path)
    with monkeypatch.context() as patched:
        _refuse(patched, 'iterdir', Path, tmp_path / 'b')
        with pytest.raises(InputError, match=rf'b: cannot be read \({remedy}'):
            open_bag(tmp_path / 'b')
    with monkeypatch.context() as patched:
        _refuse(patched, 'open', Path, tmp_path / 'b' / 'b.mcap')
        with pytest.raises(InputError, match=rf'b\.mcap: cannot be read \({remedy}'):
            open_bag(tmp_path / 'b')
    with monkeypatch.context() as patched:
        _refuse(patched, 'stat', Path, tmp_path / 'b')
        with pytest.raises(InputError, match=rf'may not be entered \({remedy}'):
            open_bag(tmp_path / 'b')


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    own_bag(tmp_path / 'b')
    (tmp_path / 'b' / METADATA).unlink()
    os.mkfifo(tmp_path / 'b' / 'b_1.mcap')
    script = ('import sys; from sightplan.records.bag_reading import open_bag\n'
              'open_bag(sys.argv[1])')
    opened = subprocess.run([sys.executable, '-c', script, str(tmp_path / 'b')], timeout=240,
                            capture_output=True, text=True).stderr
    assert 'b_1.mcap: is not a regular file' in opened
    for function in (find_bags, open_bag):
        with pytest.raises(InputError, match='not a regular file.*copy what it gives'):
            function(tmp_path / 'b' / 'b_1.mcap')
    (tmp_path / 'pipe').mkdir()
    os.mkfifo(tmp_path / 'pipe' / METADATA)
    assert find_bags(tmp_path) == [tmp_path / 'b']


def test_images_keep_their_bytes(tmp_path: Path) -> None:
    writer, types = BagWriter(tmp_path / 'b'), MessageTypes()
    store = types.store
    name = 'sensor_msgs/msg/Image'
    topic = writer.add_topic('/image', types.get(name), Qos())
    picture = np.arange(60, dtype=np.uint8)
    header = store.types['std_msgs/msg/Header'](
        store.types['builtin_interfaces/msg/Time'](3, 4), 'camera')
    image = store.types[name](header, 4, 5, 'rgb8', 0, 15, picture)
    writer.write(topic, 1, bytes(store.serialize_cdr(image, name)))
    writer.close()
    bag = open_bag(tmp_path / 'b')
    decoded = bag.decode(next(bag.messages()))
    assert (decoded.height, decoded.width, decoded.header.stamp.nanosec) == (4, 5, 4)
    np.testing.assert_array_equal(decoded.data, picture)


def test_cases_are_as_they_claim(tmp_path: Path) -> None:
    written: Written = own_bag(tmp_path / 'b')
    assert len(written.messages) == 40
    assert written.messages != written.in_order(), 'else the order would not be tested'
