"""Crash-safe MCAP files.

An MCAP file is a data section, then a summary with the index, then a footer. Writers usually add
the last two when they close, so that the file of a process that was killed cannot be opened by
most readers. Here every ``flush`` leaves a complete file: the next one overwrites the summary with
new data and a new summary, in one system call. What is lost in a crash is what was not flushed.

Format: https://mcap.dev/spec (version 0). Only what rosbag2 needs is written: chunks with message
indexes, schemas, channels, statistics.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from sightplan.model import InfrastructureError
from sightplan.model.journal import cannot_write

MAGIC = b'\x89MCAP0\r\n'
LIBRARY = 'sightplan'

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
MESSAGE_INDEX, CHUNK_INDEX, STATISTICS = 0x07, 0x08, 0x0B
SUMMARY_OFFSET, DATA_END = 0x0E, 0x0F
U16, U32, U64 = struct.Struct('<H'), struct.Struct('<I'), struct.Struct('<Q')
MESSAGE_HEAD = struct.Struct('<HIQQ')
"""Channel, sequence, log time, time of publication; the serialized message follows."""
FOOTER_SIZE = 20
CHUNK_HEAD = struct.Struct('<QQQI')
"""First and last log time, size and CRC-32 of the unpacked bytes; compression and bytes follow."""
_FOOTER = struct.Struct('<BQQQI')
_NEVER = 2**64 - 1


def _string(text: str) -> bytes:
    data = text.encode()
    return U32.pack(len(data)) + data


def _record(opcode: int, content: bytes) -> bytes:
    return bytes((opcode,)) + U64.pack(len(content)) + content


@dataclass(frozen=True, slots=True)
class Schema:
    """A message type: name, encoding (``ros2msg``) and definition."""

    number: int
    name: str
    encoding: str
    definition: str

    def record(self) -> bytes:
        """Return the schema as a record of an MCAP file."""
        data = self.definition.encode()
        return _record(SCHEMA, U16.pack(self.number) + _string(self.name)
                       + _string(self.encoding) + U32.pack(len(data)) + data)


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic: name, number of its schema, message encoding (``cdr``) and metadata."""

    number: int
    schema: int
    topic: str
    encoding: str = 'cdr'
    metadata: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> bytes:
        """Return the channel as a record of an MCAP file."""
        metadata = b''.join(_string(k) + _string(v) for k, v in self.metadata.items())
        return _record(CHANNEL, U16.pack(self.number) + U16.pack(self.schema)
                       + _string(self.topic) + _string(self.encoding)
                       + U32.pack(len(metadata)) + metadata)


@dataclass(slots=True)
class _Chunk:
    """The messages that are not in the file yet."""

    data: BytesIO = field(default_factory=BytesIO)
    start: int = _NEVER
    end: int = 0
    index: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, channel: int, sequence: int, log_ns: int, publish_ns: int,
            payload: bytes) -> None:
        self.index.setdefault(channel, []).append((log_ns, self.data.tell()))
        self.start, self.end = min(self.start, log_ns), max(self.end, log_ns)
        head = MESSAGE_HEAD.pack(channel, sequence, log_ns, publish_ns)
        self.data.write(bytes((MESSAGE,)) + U64.pack(len(head) + len(payload)) + head)
        self.data.write(payload)


class McapWriter:
    """Writes one file; see the module for what a crash leaves.

    Not safe for use from several threads.
    """

    def __init__(self, path: Path, compress: Callable[[bytes], bytes] | None = None) -> None:
        """Create the file, complete from the first moment.

        Args:
            path: must not exist yet.
            compress: makes one zstd frame of a chunk; None: chunks are not compressed.

        Raises:
            InfrastructureError: the file exists or cannot be created.
            StorageError: the disk is full, or broken.
        """
        self.path = path
        self._compress = compress
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._chunk = _Chunk()
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._chunk_indexes: list[bytes] = []
        self.counts: dict[int, int] = {}
        self.start_ns, self.end_ns = _NEVER, 0
        head = MAGIC + _record(HEADER, _string('ros2') + _string(LIBRARY))
        self._position = len(head)
        try:
            self._write(head + self._tail(self._position), 0)
        except InfrastructureError:
            os.close(self._file)
            raise

    def add_channel(self, topic: str, type_name: str, definition: str, encoding: str = 'ros2msg',
                    metadata: Mapping[str, str] | None = None, coding: str = 'cdr') -> int:
        """Add a topic and, once, its type; returns the channel's number.

        The ``definition`` of the type is a text in ``encoding`` (ros2msg or ros2idl); ``coding``
        says how messages are serialized.
        """
        schema = self._schemas.get(type_name)
        if schema is None:
            schema = Schema(len(self._schemas) + 1, type_name, encoding, definition)
            self._schemas[type_name] = schema
            self._chunk.data.write(schema.record())
        channel = Channel(len(self._channels) + 1, schema.number, topic, coding, metadata or {})
        self._channels[channel.number] = channel
        self._chunk.data.write(channel.record())
        self.counts[channel.number] = 0
        return channel.number

    def write(self, channel: int, log_ns: int, payload: bytes, publish_ns: int | None = None,
              ) -> None:
        """Add a message; it is in the file after the next ``flush``.

        Args:
            channel: number of its channel.
            log_ns: time of recording [ns since 1970].
            payload: serialized message.
            publish_ns: time of sending [ns since 1970]; None: ``log_ns``.
        """
        self._chunk.add(channel, self.counts[channel], log_ns,
                        log_ns if publish_ns is None else publish_ns, payload)
        self.counts[channel] += 1
        self.start_ns, self.end_ns = min(self.start_ns, log_ns), max(self.end_ns, log_ns)

    @property
    def pending(self) -> int:
        """Number of bytes that wait for ``flush``."""
        return self._chunk.data.tell()

    def flush(self) -> None:
        """Put all messages into the file and leave it complete.

        Raises:
            StorageError: the disk is full, or broken.
        """
        if not self._chunk.data.tell():
            return
        chunk, self._chunk = self._chunk, _Chunk()
        data = self._encode(chunk)
        self._write(data + self._tail(self._position + len(data)), self._position)
        self._position += len(data)

    def close(self) -> None:
        """Flush, wait until the disk has it, and close."""
        if self._file < 0:
            return
        try:
            self.flush()
            os.fsync(self._file)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        finally:
            os.close(self._file)
            self._file = -1

    def _encode(self, chunk: _Chunk) -> bytes:
        """A chunk and its message indexes; notes its place in the summary to come."""
        raw = chunk.data.getvalue()
        start = 0 if chunk.start == _NEVER else chunk.start
        compressed = raw if self._compress is None else self._compress(raw)
        name = '' if self._compress is None else 'zstd'
        record = _record(CHUNK, CHUNK_HEAD.pack(start, chunk.end, len(raw), zlib.crc32(raw))
                         + _string(name) + U64.pack(len(compressed)) + compressed)
        indexes = bytearray()
        offsets = bytearray()
        for channel, entries in chunk.index.items():
            offsets += U16.pack(channel) + U64.pack(self._position + len(record) + len(indexes))
            packed = b''.join(U64.pack(ns) + U64.pack(at) for ns, at in entries)
            indexes += _record(MESSAGE_INDEX, U16.pack(channel) + U32.pack(len(packed))
                               + packed)
        self._chunk_indexes.append(_record(
            CHUNK_INDEX, U64.pack(start) + U64.pack(chunk.end) + U64.pack(self._position)
            + U64.pack(len(record)) + U32.pack(len(offsets)) + bytes(offsets)
            + U64.pack(len(indexes)) + _string(name) + U64.pack(len(compressed))
            + U64.pack(len(raw))))
        return record + bytes(indexes)

    def _tail(self, position: int) -> bytes:
        """All that follows the data section when it ends at ``position``."""
        data_end = _record(DATA_END, U32.pack(0))
        start = position + len(data_end)
        groups = ((SCHEMA, b''.join(s.record() for s in self._schemas.values())),
                  (CHANNEL, b''.join(c.record() for c in self._channels.values())),
                  (CHUNK_INDEX, b''.join(self._chunk_indexes)),
                  (STATISTICS, self._statistics()))
        summary, offsets, at = b'', b'', start
        for opcode, group in groups:
            if group:
                offsets += _record(SUMMARY_OFFSET, bytes((opcode,)) + U64.pack(at)
                                   + U64.pack(len(group)))
                summary += group
                at += len(group)
        footer = bytes((FOOTER,)) + U64.pack(FOOTER_SIZE) + U64.pack(start) + U64.pack(at)
        footer += U32.pack(zlib.crc32(summary + offsets + footer))
        return data_end + summary + offsets + footer + MAGIC

    def _statistics(self) -> bytes:
        counts = b''.join(U16.pack(n) + U64.pack(count) for n, count in self.counts.items())
        start = 0 if self.start_ns == _NEVER else self.start_ns
        return _record(STATISTICS, U64.pack(sum(self.counts.values()))
                       + U16.pack(len(self._schemas)) + U32.pack(len(self._channels))
                       + U32.pack(0) + U32.pack(0) + U32.pack(len(self._chunk_indexes))
                       + U64.pack(start) + U64.pack(self.end_ns)
                       + U32.pack(len(counts)) + counts)

    def _write(self, data: bytes, position: int) -> None:
        view = memoryview(data)
        try:
            while view:
                done = os.pwrite(self._file, view, position)
                view, position = view[done:], position + done
        except OSError as error:
            raise cannot_write(self.path, error) from error


@dataclass(frozen=True, slots=True)
class Message:
    """A message read from a file."""

    channel: int
    log_ns: int
    publish_ns: int
    payload: bytes


def is_complete(path: Path) -> bool:
    """Whether a file ends as an MCAP file must, with an index that fits its checksum.

    A writer that was killed may have written over the beginning of the index, and not its end.

    Raises:
        OSError: it cannot be read.
    """
    with path.open('rb') as file:
        size = file.seek(0, os.SEEK_END)
        end = size - len(MAGIC)
        footer = end - FOOTER_SIZE - 9
        if footer < len(MAGIC):
            return False
        file.seek(footer)
        tail = file.read()
        opcode, length, start, _, checksum = _FOOTER.unpack_from(tail)
        if not tail.endswith(MAGIC) or opcode != FOOTER or length != FOOTER_SIZE:
            return False
        if start > footer:
            return False
        if not checksum or not start:  # an index without a checksum, or none
            return True
        file.seek(start)
        return bool(zlib.crc32(file.read(end - start - 4)) == checksum)
