"""Small bags for the tests of reading."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosbags.interfaces import Qos as RosbagsQos
from rosbags.interfaces import (
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from sightplan.records.bag import BagWriter, MessageTypes, Qos
from sightplan.records.bag_messages import message_types
from sightplan.records.bag_reading import BagMessage

STRING = 'std_msgs/msg/String'


@functools.cache
def known_types() -> MessageTypes:
    return message_types()


def texts(text: str) -> bytes:
    """A serialized std_msgs/String."""
    store = known_types().store
    return bytes(store.serialize_cdr(store.types[STRING](text), STRING))


def said(message: BagMessage) -> str:
    """What a std_msgs/String says."""
    return str(known_types().store.deserialize_cdr(message.data, STRING).data)


@dataclass
class Written:
    """What was written into a bag: its first file, and the messages as they were written."""

    path: Path
    messages: list[BagMessage] = field(default_factory=list)

    def add(self, topic: str, log_ns: int, text: str) -> bytes:
        message = BagMessage(topic, log_ns, texts(text))
        self.messages.append(message)
        return message.data

    def in_order(self) -> list[BagMessage]:
        return sorted(self.messages, key=lambda message: message.log_ns)


def own_bag(folder: Path, compression: str = 'none', length: int = 20,
            compress: Callable[[bytes], Any] | None = None) -> Written:
    """A bag of our writer: 40 messages on two topics in six chunks, each out of order."""
    writer = BagWriter(folder, compression)
    if compress is not None:
        writer._mcap._compress = compress
    written = Written(folder / f'{folder.name}.mcap')
    topics = {name: writer.add_topic(name, known_types().get(STRING), Qos(5, 'best_effort'))
              for name in ('/talk', '/other')}
    for number in range(40):
        name = '/other' if number % 3 == 0 else '/talk'
        stamp = 10 * (number ^ 1)
        writer.write(topics[name], stamp, written.add(name, stamp, f'x{number:03d}' * length))
        if number % 7 == 6:
            writer.flush()
    writer.close()
    return written


def rosbags_bag(folder: Path, plugin: StoragePlugin,
                compression: CompressionMode = CompressionMode.NONE,
                times: Iterable[int] = range(40), version: Any = 9, length: int = 20) -> Written:
    """A bag of the library ``rosbags``."""
    writer = Writer(folder, version=version, storage_plugin=plugin)
    writer.set_compression(compression, CompressionFormat.ZSTD)
    suffix = '.mcap' if plugin is StoragePlugin.MCAP else '.db3'
    written = Written(folder / f'{folder.name}{suffix}')
    qos = RosbagsQos(QosHistory.KEEP_LAST, 10, QosReliability.RELIABLE,
                     QosDurability.TRANSIENT_LOCAL, QosTime(0, 0), QosTime(0, 0),
                     QosLiveliness.AUTOMATIC, QosTime(0, 0), False)
    with writer:
        talk = writer.add_connection('/talk', STRING, typestore=known_types().store,
                                     offered_qos_profiles=[qos])
        for stamp in times:
            data = written.add('/talk', stamp, f'x{stamp:03d}' * length)
            writer.write(talk, stamp, data)
    return written


@dataclass
class Topic:
    """A topic with its messages, dataclasses of ``rosbags``, by their times [s].

    ``type`` is needed where there are none.
    """

    name: str
    messages: Sequence[tuple[float, Any]]
    type: str = ''


KINDS_OF_BAG = ((StoragePlugin.MCAP, CompressionMode.NONE),
                (StoragePlugin.MCAP, CompressionMode.MESSAGE),
                (StoragePlugin.MCAP, CompressionMode.STORAGE),
                (StoragePlugin.SQLITE3, CompressionMode.NONE),
                (StoragePlugin.SQLITE3, CompressionMode.MESSAGE),
                (StoragePlugin.SQLITE3, CompressionMode.FILE))


def record(folder: Path, *topics: Topic, plugin: StoragePlugin = StoragePlugin.MCAP,
           compression: CompressionMode = CompressionMode.NONE, store: Any = None) -> str:
    """Write a bag of messages, as ``ros2 bag record`` does; returns its folder."""
    known = store or known_types().store
    writer = Writer(folder, version=9, storage_plugin=plugin)
    writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        for topic in topics:
            kind = topic.type or topic.messages[0][1].__msgtype__
            connection = writer.add_connection(topic.name, kind, typestore=known)
            for seconds, message in topic.messages:
                writer.write(connection, 10**9 + int(seconds * 1e9),
                             known.serialize_cdr(message, message.__msgtype__))
    return str(folder)

