"""rosbag2 bags that stay readable when their writer is killed.

A bag is a folder with one MCAP file and ``metadata.yaml`` (rosbag2, version 9). Both are complete
after every ``flush``, so ``ros2 bag`` and ``rosbags`` read all that was flushed. ``repair`` fixes
a bag whose writer was killed in the very middle of writing.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sightplan.model import InfrastructureError, InputError
from sightplan.model.journal import cannot_write
from sightplan.model.yaml_text import load_yaml
from sightplan.records.mcap import McapWriter, Message, Schema, is_complete
from sightplan.records.mcap_reading import McapRecords, zstd_module

VERSION = 9
METADATA = 'metadata.yaml'
COMPRESSIONS = ('zstd', 'none')
_LEVEL = 1  # of zstd: rendered images shrink to a tenth, at more than 300 MB/s


@dataclass(frozen=True, slots=True)
class TopicType:
    """A message type as a bag must describe it.

    Attributes:
        name: for example ``sensor_msgs/msg/Image``.
        definition: text of the .msg file and of all types it uses, as rosbag2 concatenates them.
        type_hash: RIHS01 hash, as ROS computes it.
    """

    name: str
    definition: str
    type_hash: str


class MessageTypes:
    """Definitions of message types: the common ones, and those of packages' .msg files."""

    def __init__(self, folders: Mapping[str, Path] | None = None) -> None:
        """Read .msg files.

        Args:
            folders: package name to folder of its .msg files, for packages that do not belong to
                ROS's common interfaces.

        Raises:
            InputError: a folder holds no .msg file.
        """
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
        self._store = get_typestore(Stores.ROS2_JAZZY)
        found: dict[str, Any] = {}
        for package, folder in (folders or {}).items():
            paths = sorted(Path(folder).glob('*.msg'))
            if not paths:
                raise InputError(f'{folder}: holds no .msg file of package {package}')
            for path in paths:
                found.update(get_types_from_msg(path.read_text('utf-8'),
                                                f'{package}/msg/{path.stem}'))
        if found:
            self._store.register(found)

    def get(self, name: str) -> TopicType:
        """Describe a type.

        Raises:
            InputError: the type is unknown.
        """
        if name not in self._store.types:
            raise InputError(f'message type {name!r} is unknown')
        definition, _ = self._store.generate_msgdef(name, ros_version=2)
        return TopicType(name, definition, self._store.hash_rihs01(name))

    @property
    def store(self) -> Any:
        """The ``rosbags`` typestore, for reading."""
        return self._store


@dataclass(frozen=True, slots=True)
class Qos:
    """Quality of service of a topic, as a bag notes it."""

    depth: int = 10
    reliability: str = 'reliable'
    durability: str = 'volatile'

    def as_metadata(self) -> dict[str, Any]:
        """Return the profile as plain data, in the form that metadata.yaml has."""
        infinite = {'sec': 9223372036, 'nsec': 854775807}
        return {'history': 'keep_last', 'depth': self.depth, 'reliability': self.reliability,
                'durability': self.durability, 'deadline': dict(infinite),
                'lifespan': dict(infinite), 'liveliness': 'automatic',
                'liveliness_lease_duration': dict(infinite),
                'avoid_ros_namespace_conventions': False}


@dataclass(frozen=True, slots=True)
class _Topic:
    name: str
    type: str
    type_hash: str
    qos: Sequence[Mapping[str, Any]]


@functools.lru_cache(maxsize=32)
def _qos_text(qos: Qos) -> str:
    """Return profiles as text in the form of a channel's metadata."""
    return yaml.safe_dump([qos.as_metadata()], sort_keys=False).strip()


class BagWriter:
    """Writes one bag. Not safe for use from several threads."""

    def __init__(self, folder: Path, compression: str = 'zstd',
                 custom: Mapping[str, str] | None = None) -> None:
        """Create the bag.

        Args:
            folder: must not exist yet; its parents are made.
            compression: ``zstd`` or ``none``.
            custom: notes for metadata.yaml.

        Raises:
            InputError: the folder exists, or an unknown compression.
            InfrastructureError: it cannot be written; StorageError if the disk is full.
        """
        if compression not in COMPRESSIONS:
            raise InputError(f'bag compression {compression!r} is not one of '
                             f'{", ".join(COMPRESSIONS)}')
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise InputError(f'{folder}: exists already') from error
        except OSError as error:
            raise cannot_write(folder, error) from error
        self.folder = folder
        self._custom = dict(custom or {})
        self._topics: dict[int, _Topic] = {}
        self._mcap = McapWriter(folder / f'{folder.name}.mcap',
                                _compressor() if compression == 'zstd' else None)
        self._write_metadata()

    def add_topic(self, name: str, kind: TopicType, qos: Qos | None = None) -> int:
        """Add a topic; returns its number, for ``write``."""
        qos = qos or Qos()
        number = self._mcap.add_channel(
            name, kind.name, kind.definition,
            metadata={'offered_qos_profiles': _qos_text(qos), 'topic_type_hash': kind.type_hash})
        self._topics[number] = _Topic(name, kind.name, kind.type_hash, [qos.as_metadata()])
        return number

    def write(self, topic: int, log_ns: int, payload: bytes, publish_ns: int | None = None,
              ) -> None:
        """Add a serialized message; it is safe after the next ``flush``."""
        self._mcap.write(topic, log_ns, payload, publish_ns)

    @property
    def pending(self) -> int:
        """Number of bytes that wait for ``flush``."""
        return self._mcap.pending

    @property
    def messages(self) -> int:
        """Number of messages that were added so far."""
        return sum(self._mcap.counts.values())

    def flush(self, describe: bool = True) -> None:
        """Make everything so far readable, whatever happens to this process.

        Args:
            describe: whether metadata.yaml shall count it, too, which takes longer than the rest.

        Raises:
            StorageError: the disk is full, or broken.
        """
        if self._mcap.pending:
            self._mcap.flush()
            if describe:
                self._write_metadata()

    def close(self) -> None:
        """Flush and close."""
        self._mcap.close()
        self._write_metadata()

    def _write_metadata(self) -> None:
        path = self.folder / METADATA
        content = _metadata(self._mcap, self._topics, self._custom)
        temporary = path.with_suffix('.yaml.new')
        try:
            temporary.write_text(content, 'utf-8')
            os.replace(temporary, path)
        except OSError as error:
            raise cannot_write(path, error) from error


def _metadata(mcap: McapWriter, topics: Mapping[int, _Topic], custom: Mapping[str, str]) -> str:
    count = sum(mcap.counts.values())
    start = {'nanoseconds_since_epoch': mcap.start_ns if count else 0}
    duration = {'nanoseconds': mcap.end_ns - mcap.start_ns if count else 0}
    return yaml.dump({'rosbag2_bagfile_information': {
        'version': VERSION, 'storage_identifier': 'mcap', 'duration': duration,
        'starting_time': start, 'message_count': count,
        'topics_with_message_count': [
            {'topic_metadata': {'name': topic.name, 'type': topic.type,
                                'serialization_format': 'cdr',
                                'offered_qos_profiles': list(topic.qos),
                                'type_description_hash': topic.type_hash},
             'message_count': mcap.counts[number]} for number, topic in topics.items()],
        'compression_format': '', 'compression_mode': '',
        'relative_file_paths': [mcap.path.name],
        'files': [{'path': mcap.path.name, 'starting_time': start, 'duration': duration,
                   'message_count': count}],
        'custom_data': dict(custom) or None, 'ros_distro': 'jazzy',
    }}, Dumper=_Dumper, sort_keys=False)


class _Dumper(getattr(yaml, 'CSafeDumper', yaml.SafeDumper)):  # type: ignore[misc]
    """Writes equal values twice: anchors are more than some readers of metadata.yaml can take."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def repair(folder: Path) -> int:
    """Make a bag readable whose writer was killed while it was writing.

    Args:
        folder: the bag. One that is whole is left as it is; of a truncated one, all messages
            before the cut are kept.

    Returns:
        Number of messages in a bag that was repaired; -1: nothing was wrong.

    Raises:
        InfrastructureError: there is nothing to repair from.
        StorageError: there is no room for a copy; the bag is as it was.
    """
    path = folder / f'{folder.name}.mcap'
    if not path.is_file():
        raise InfrastructureError(f'{folder}: is not a bag (no {path.name})')
    if is_complete(path) and (folder / METADATA).is_file():
        return -1
    whole = path.with_suffix('.mcap.new')
    with contextlib.suppress(FileNotFoundError):
        whole.unlink()  # of an attempt that was itself cut short
    try:
        _, writer, topics = copy_records(path, whole)
    except InputError as error:
        raise InfrastructureError(str(error)) from error
    try:
        os.replace(whole, path)
        writer.path = path
        (folder / METADATA).write_text(
            _metadata(writer, topics, {'repaired': 'its writer was killed'}), 'utf-8')
    except OSError as error:
        raise cannot_write(folder, error) from error
    return sum(writer.counts.values())


def copy_records(path: Path, target: Path) -> tuple[bool, McapWriter, dict[int, _Topic]]:
    """Copy an MCAP file up to where it is truncated into a new one that has an index.

    Returns:
        whether nothing but the index was missing, the new file's writer, which is closed, and the
        topics by number.

    Raises:
        InputError: it is no MCAP file.
        InfrastructureError: the new file cannot be written.
    """
    records = McapRecords(path)
    writer = McapWriter(target, _compressor())
    topics: dict[int, _Topic] = {}
    schemas: dict[int, Schema] = {}
    numbers: dict[int, int] = {}
    try:
        for record in records:
            if isinstance(record, Schema):
                schemas[record.number] = record
            elif isinstance(record, Message):
                if record.channel in numbers:
                    writer.write(numbers[record.channel], record.log_ns, record.payload,
                                 record.publish_ns)
                if writer.pending > 2**22:
                    writer.flush()
            elif record.number not in numbers and record.schema in schemas:
                schema = schemas[record.schema]
                number = writer.add_channel(record.topic, schema.name, schema.definition,
                                            schema.encoding, record.metadata, record.encoding)
                numbers[record.number] = number
                profile = load_yaml(record.metadata.get('offered_qos_profiles', '')) or []
                topics[number] = _Topic(record.topic, schema.name,
                                        record.metadata.get('topic_type_hash', ''), profile)
    finally:
        writer.close()
    return records.whole, writer, topics


def _compressor() -> Callable[[bytes], bytes]:
    zstd = zstd_module()
    return lambda data: bytes(zstd.compress(data, _LEVEL))
