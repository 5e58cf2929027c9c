"""Readers of bags: MCAP and sqlite3, compressed or not, whole folders, and episodes in them."""

from __future__ import annotations

import functools
import itertools
import sqlite3
from pathlib import Path
from typing import Any

from sightplan_bench.hostile.targets import Outcome, Seed, Target, beside

_STRING = 'std_msgs/msg/String'
_MOST_AGAIN = 140


def prepare(folder: Path, small: bool = False) -> None:
    """Record two short episodes unless it shall be small, and write bags of other kinds."""
    from sightplan.runs import RunSettings, run
    if not small:
        run(RunSettings(
            domain='blocksworld', split='simple', method='ground', backend='noisy_oracle',
            episodes=2, max_actions=2, seed=1, out=str(folder / 'run'), bags='all',
            answers_log=True, record=True, failure_images=False,
            backend_options={'table': 'gpt-4.1'}))
    _own(folder / 'bags' / 'plain', 'none')
    _own(folder / 'bags' / 'packed', 'zstd')
    _sqlite(folder / 'bags' / 'old')
    for number, content in enumerate(_bombs()):
        (folder / 'bags' / f'bomb{number}.mcap').write_bytes(content)
    (folder / 'bags' / 'bomb.zstd').write_bytes(_packed(bytes(64 << 20)) * 6)


def _texts() -> list[tuple[str, int, bytes]]:
    """Messages of two topics."""
    from sightplan.records.bag_messages import message_types
    store = message_types().store
    return [('/other' if number % 3 == 0 else '/talk', 10 * (number ^ 1), bytes(
        store.serialize_cdr(store.types[_STRING](f'text {number} ' * 20), _STRING)))
        for number in range(20)]


def _own(folder: Path, compression: str) -> None:
    from sightplan.records.bag import BagWriter, MessageTypes, Qos
    writer = BagWriter(folder, compression)
    kinds = MessageTypes()
    topics = {name: writer.add_topic(name, kinds.get(_STRING), Qos(5, 'best_effort'))
              for name in ('/talk', '/other')}
    for number, (topic, stamp, data) in enumerate(_texts()):
        writer.write(topics[topic], stamp, data)
        if number % 7 == 6:
            writer.flush()
    writer.close()


def _sqlite(folder: Path) -> None:
    """A bag as rosbag2 wrote it before MCAP."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / 'old_0.db3') as base:
        base.executescript(
            'CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);'
            "INSERT INTO schema VALUES (3, 'humble');"
            'CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, '
            'metadata TEXT NOT NULL);'
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, '
            'serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);'
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, '
            'timestamp INTEGER NOT NULL, data BLOB NOT NULL);'
            'CREATE INDEX timestamp_idx ON messages (timestamp ASC);')
        for number, topic in enumerate(('/talk', '/other'), 1):
            base.execute('INSERT INTO topics VALUES (?, ?, ?, ?, ?)',
                         (number, topic, _STRING, 'cdr', ''))
        base.executemany('INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)', [
            (1 if topic == '/talk' else 2, stamp, data) for topic, stamp, data in _texts()])
    base.close()


def make(folder: Path) -> list[Target]:
    """Readers of bags, as targets."""
    small = {name: beside(folder / 'bags' / name) for name in ('plain', 'packed', 'old')}
    episodes = [beside(path) for path in sorted((folder / 'run' / 'bags').rglob('*'))
                if (path / 'metadata.yaml').is_file()]
    mcap = [(name, content) for bag in (small['plain'], small['packed'], *episodes)
            for name, content in bag.items() if name.endswith('.mcap')]
    recorded = [content for name, content in mcap[2:]]
    old = small['old']['old_0.db3']
    bombs = [path.read_bytes() for path in sorted((folder / 'bags').glob('bomb*.mcap'))]
    large = (folder / 'bags' / 'bomb.zstd').read_bytes()
    described = [(name, bag) for bag in (small['plain'], *episodes[:1])
                 for name in bag if name == 'metadata.yaml']
    return [
        Target('mcap', 'bags', 'mcap', tuple(Seed(content, 'a.mcap') for _, content in mcap),
               _all_messages, turns=3),
        Target('mcap with bombs', 'bags', 'mcap', tuple(
            Seed(content, 'a.mcap') for content in bombs), _all_messages),
        Target('mcap, packed whole', 'bags', 'bytes', tuple(
            Seed(content, 'a.mcap.zstd') for content in (_packed(mcap[0][1]), large)),
            _all_messages),
        Target('sqlite3', 'bags', 'bytes', (Seed(old, 'a.db3'),), _all_messages, turns=3),
        Target('metadata.yaml of a bag', 'bags', 'yaml', tuple(
            Seed(bag[name], name, bag, '') for name, bag in described), _all_messages, turns=3),
        Target('episodes of a bag', 'bags', 'mcap', tuple(
            Seed(content, 'a.mcap') for content in recorded), _episodes, turns=3),
        Target('episodes of a bag, messages spoilt', 'bags', 'bytes', tuple(
            Seed(_joined(content), 'messages') for content in recorded), _spoilt_messages),
    ]


def _packed(content: bytes) -> bytes:
    from sightplan.records.mcap_reading import zstd_module
    return bytes(zstd_module().compress(content))


def _all_messages(path: Path) -> Outcome | None:
    """Read all messages of a bag, and some once more by their place."""
    from sightplan.model import InputError
    from sightplan.records.bag_reading import open_bag
    bag = open_bag(path)
    skipped = False
    for number, message in enumerate(bag.messages()):
        try:
            bag.decode(message)
        except InputError:
            skipped = True
        if number % 7 == 0 and number < _MOST_AGAIN:
            bag.data(message.place)
    for warning in bag.warnings:
        warning.encode()
    return Outcome.SKIPPED if skipped or bag.warnings else None


def _episodes(path: Path) -> Outcome | None:
    """Read the episodes of a bag, describe, score and picture them."""
    from sightplan.replay.rescored import score_again
    from sightplan.replay.sources import Sources, describe
    sources = Sources.find([path])
    for source in sources.read():
        describe(source)
    for _ in score_again(sources):
        pass
    for warnings in sources.warnings.values():
        ''.join(warnings).encode()
    return Outcome.SKIPPED if sources.warnings else None


def _bombs() -> list[bytes]:
    """MCAP files with chunks that unpack to much more than stated, or than there is memory."""
    def record(kind: int, content: bytes) -> bytes:
        return bytes([kind]) + len(content).to_bytes(8, 'little') + content

    def text(value: str) -> bytes:
        return len(value).to_bytes(4, 'little') + value.encode()

    found = []
    for size, said in ((10, 2**40), (10, 2**63), (256 << 20, 100), (256 << 20, 256 << 20),
                       (16 << 20, 16 << 20)):
        packed = _packed_zeros(size)
        chunk = (bytes(16) + said.to_bytes(8, 'little') + bytes(4) + text('zstd')
                 + len(packed).to_bytes(8, 'little') + packed)
        found.append(b'\x89MCAP0\r\n' + record(1, text('ros2') + text('x')) + record(6, chunk)
                     + record(15, bytes(4)) + record(2, bytes(20)) + b'\x89MCAP0\r\n')
    return found


@functools.cache
def _packed_zeros(size: int) -> bytes:
    from sightplan.records.mcap_reading import zstd_module
    return bytes(zstd_module().compress(bytes(size)))


# ----------------------------------------------------------------------- messages of a whole bag


@functools.cache
def _rows(content: bytes) -> tuple[Any, ...]:
    """Topics of a recorded bag, and its messages."""
    import tempfile

    from sightplan.records.bag_reading import open_bag
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'a.mcap'
        path.write_bytes(content)
        bag = open_bag(path)
        return dict(bag.topics), [(m.topic, m.log_ns, m.data) for m in bag.messages()]


_known: dict[bytes, tuple[Any, ...]] = {}


def _joined(content: bytes) -> bytes:
    """The data of all messages but pictures in one, with which bag they are of before them."""
    topics, rows = _rows(content)
    data = b''.join(data for topic, _, data in rows if len(data) < 20_000)
    key = f'{len(_known):04}'.encode()
    _known[key] = topics, rows
    return key + data


def _spoilt_messages(path: Path) -> Outcome | None:
    """Cut spoilt data into messages again, and read them as an intact bag."""
    from sightplan.records.bag import BagWriter
    from sightplan.records.bag_messages import message_types
    content = path.read_bytes()
    topics, rows = _known.get(content[:4], _known[b'0000'])
    place = path.parent / 'bag'
    for file in place.glob('*') if place.is_dir() else ():
        file.unlink()
    if place.is_dir():
        place.rmdir()
    writer, kinds, at = BagWriter(place, 'none'), message_types(), 4
    numbers = {name: writer.add_topic(name, kinds.get(topic.type))
               for name, topic in topics.items() if topic.type}
    for topic, stamp, data in rows:
        small = len(data) < 20_000
        writer.write(numbers[topic], stamp, content[at:at + len(data)] if small else data)
        at += len(data) * small
    writer.close()
    try:
        return _episodes(place)
    finally:
        for file in itertools.chain(place.glob('*')):
            file.unlink()
        place.rmdir()
