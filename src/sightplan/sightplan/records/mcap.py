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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from sightplan.model import InfrastructureError

MAGIC = b'\x89MCAP0\r\n'
LIBRARY = 'sightplan'

_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
_MESSAGE_INDEX, _CHUNK_INDEX, _STATISTICS = 0x07, 0x08, 0x0B
_SUMMARY_OFFSET, _DATA_END = 0x0E, 0x0F
_U16, _U32, _U64 = struct.Struct('<H'), struct.Struct('<I'), struct.Struct('<Q')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_CHUNK_HEAD = struct.Struct('<QQQI')
_NEVER = 2**64 - 1


def _string(text: str) -> bytes:
    data = text.encode()
    return _U32.pack(len(data)) + data


def _record(opcode: int, content: bytes) -> bytes:
    return bytes((opcode,)) + _U64.pack(len(content)) + content


@dataclass(frozen=True, slots=True)
class Schema:
    """A message type: name, encoding (``ros2msg``) and definition."""

    number: int
    name: str
    encoding: str
    definition: str

    def record(self) -> bytes:
        """The schema as it stands in a file."""
        data = self.definition.encode()
        return _record(_SCHEMA, _U16.pack(self.number) + _string(self.name)
                       + _string(self.encoding) + _U32.pack(len(data)) + data)


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic: name, number of its schema, message encoding (``cdr``) and metadata."""

    number: int
    schema: int
    topic: str
    encoding: str = 'cdr'
    metadata: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> bytes:
        """The channel as it stands in a file."""
        metadata = b''.join(_string(k) + _string(v) for k, v in self.metadata.items())
        return _record(_CHANNEL, _U16.pack(self.number) + _U16.pack(self.schema)
                       + _string(self.topic) + _string(self.encoding)
                       + _U32.pack(len(metadata)) + metadata)


@dataclass(slots=True)
class _Chunk:
    """Messages that are not in the file yet."""

    data: BytesIO = field(default_factory=BytesIO)
    start: int = _NEVER
    end: int = 0
    index: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, channel: int, sequence: int, log_ns: int, publish_ns: int,
            payload: bytes) -> None:
        self.index.setdefault(channel, []).append((log_ns, self.data.tell()))
        self.start, self.end = min(self.start, log_ns), max(self.end, log_ns)
        head = _MESSAGE_HEAD.pack(channel, sequence, log_ns, publish_ns)
        self.data.write(bytes((_MESSAGE,)) + _U64.pack(len(head) + len(payload)) + head)
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
        """
        self.path = path
        self._compress = compress
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise InfrastructureError(f'{path}: cannot be created: {error.strerror}') from error
        self._chunk = _Chunk()
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._chunk_indexes: list[bytes] = []
        self.counts: dict[int, int] = {}
        self.start_ns, self.end_ns = _NEVER, 0
        head = MAGIC + _record(_HEADER, _string('ros2') + _string(LIBRARY))
        self._position = len(head)
        self._write(head + self._tail(self._position), 0)

    def add_channel(self, topic: str, type_name: str, definition: str, encoding: str = 'ros2msg',
                    metadata: Mapping[str, str] | None = None) -> int:
        """Add a topic and, once, its type; returns the channel's number."""
        schema = self._schemas.get(type_name)
        if schema is None:
            schema = Schema(len(self._schemas) + 1, type_name, encoding, definition)
            self._schemas[type_name] = schema
            self._chunk.data.write(schema.record())
        channel = Channel(len(self._channels) + 1, schema.number, topic, 'cdr', metadata or {})
        self._channels[channel.number] = channel
        self._chunk.data.write(channel.record())
        self.counts[channel.number] = 0
        return channel.number

    def write(self, channel: int, log_ns: int, payload: bytes, publish_ns: int | None = None,
              ) -> None:
        """Add a message; it is in the file after the next ``flush``.

        Args:
            channel: number of its channel.
            log_ns: when it was recorded [ns since 1970].
            payload: serialized message.
            publish_ns: when it was sent; None: as log_ns.
        """
        self._chunk.add(channel, self.counts[channel], log_ns,
                        log_ns if publish_ns is None else publish_ns, payload)
        self.counts[channel] += 1
        self.start_ns, self.end_ns = min(self.start_ns, log_ns), max(self.end_ns, log_ns)

    @property
    def pending(self) -> int:
        """Bytes that wait for ``flush``."""
        return self._chunk.data.tell()

    def flush(self) -> None:
        """Put all messages into the file and leave it complete.

        Raises:
            InfrastructureError: the file cannot be written (disk full).
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
        finally:
            os.close(self._file)
            self._file = -1

    def _encode(self, chunk: _Chunk) -> bytes:
        """A chunk and its message indexes; notes its place in the summary to come."""
        raw = chunk.data.getvalue()
        start = 0 if chunk.start == _NEVER else chunk.start
        compressed = raw if self._compress is None else self._compress(raw)
        name = '' if self._compress is None else 'zstd'
        record = _record(_CHUNK, _CHUNK_HEAD.pack(start, chunk.end, len(raw), zlib.crc32(raw))
                         + _string(name) + _U64.pack(len(compressed)) + compressed)
        indexes = bytearray()
        offsets = bytearray()
        for channel, entries in chunk.index.items():
            offsets += _U16.pack(channel) + _U64.pack(self._position + len(record) + len(indexes))
            packed = b''.join(_U64.pack(ns) + _U64.pack(at) for ns, at in entries)
            indexes += _record(_MESSAGE_INDEX, _U16.pack(channel) + _U32.pack(len(packed))
                               + packed)
        self._chunk_indexes.append(_record(
            _CHUNK_INDEX, _U64.pack(start) + _U64.pack(chunk.end) + _U64.pack(self._position)
            + _U64.pack(len(record)) + _U32.pack(len(offsets)) + bytes(offsets)
            + _U64.pack(len(indexes)) + _string(name) + _U64.pack(len(compressed))
            + _U64.pack(len(raw))))
        return record + bytes(indexes)

    def _tail(self, position: int) -> bytes:
        """All that follows the data section when it ends at ``position``."""
        data_end = _record(_DATA_END, _U32.pack(0))
        start = position + len(data_end)
        groups = ((_SCHEMA, b''.join(s.record() for s in self._schemas.values())),
                  (_CHANNEL, b''.join(c.record() for c in self._channels.values())),
                  (_CHUNK_INDEX, b''.join(self._chunk_indexes)),
                  (_STATISTICS, self._statistics()))
        summary, offsets, at = b'', b'', start
        for opcode, group in groups:
            if group:
                offsets += _record(_SUMMARY_OFFSET, bytes((opcode,)) + _U64.pack(at)
                                   + _U64.pack(len(group)))
                summary += group
                at += len(group)
        footer = _record(_FOOTER, _U64.pack(start) + _U64.pack(at) + _U32.pack(0))
        return data_end + summary + offsets + footer + MAGIC

    def _statistics(self) -> bytes:
        counts = b''.join(_U16.pack(n) + _U64.pack(count) for n, count in self.counts.items())
        start = 0 if self.start_ns == _NEVER else self.start_ns
        return _record(_STATISTICS, _U64.pack(sum(self.counts.values()))
                       + _U16.pack(len(self._schemas)) + _U32.pack(len(self._channels))
                       + _U32.pack(0) + _U32.pack(0) + _U32.pack(len(self._chunk_indexes))
                       + _U64.pack(start) + _U64.pack(self.end_ns)
                       + _U32.pack(len(counts)) + counts)

    def _write(self, data: bytes, position: int) -> None:
        view = memoryview(data)
        try:
            while view:
                done = os.pwrite(self._file, view, position)
                view, position = view[done:], position + done
        except OSError as error:
            raise InfrastructureError(f'{self.path}: cannot be written: '
                                      f'{error.strerror}') from error


@dataclass(frozen=True, slots=True)
class Message:
    """A message read from a file."""

    channel: int
    log_ns: int
    publish_ns: int
    payload: bytes


def is_complete(path: Path) -> bool:
    """Whether a file ends as an MCAP file must."""
    with path.open('rb') as file:
        size = file.seek(0, os.SEEK_END)
        if size < 2 * len(MAGIC):
            return False
        file.seek(-len(MAGIC), os.SEEK_END)
        return file.read() == MAGIC


def scan(path: Path, decompress: Callable[[bytes], bytes],
         ) -> Iterator[Schema | Channel | Message]:
    """Read the data section of a file, as far as it is whole.

    This needs no summary, so it reads what is left of a file that was cut off. A chunk whose
    checksum is wrong ends the reading.

    Args:
        path: the file.
        decompress: reads a zstd frame.

    Raises:
        InfrastructureError: it is not an MCAP file at all.
    """
    with path.open('rb') as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InfrastructureError(f'{path}: is not an MCAP file')
        while (record := _next(file.read)) is not None:
            opcode, content = record
            if opcode in (_DATA_END, _FOOTER):
                return
            if opcode != _CHUNK:
                yield from _parse(opcode, content)
                continue
            raw = _unpack_chunk(content, decompress)
            if raw is None:
                return
            inner = BytesIO(raw)
            while (record := _next(inner.read)) is not None:
                yield from _parse(*record)


def _next(read: Callable[[int], bytes]) -> tuple[int, bytes] | None:
    head = read(9)
    if len(head) < 9:
        return None
    size = _U64.unpack_from(head, 1)[0]
    if size > 2**40:
        return None
    content = read(size)
    return (head[0], content) if len(content) == size else None


def _unpack_chunk(content: bytes, decompress: Callable[[bytes], bytes]) -> bytes | None:
    _, _, size, checksum = _CHUNK_HEAD.unpack_from(content)
    name, at = _read_string(content, _CHUNK_HEAD.size)
    compressed = content[at + 8:at + 8 + _U64.unpack_from(content, at)[0]]
    try:
        raw = decompress(compressed) if name == 'zstd' else compressed
    except Exception:  # whatever a decompressor makes of torn bytes
        return None
    return raw if len(raw) == size and checksum in (0, zlib.crc32(raw)) else None


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    size = _U32.unpack_from(data, at)[0]
    return data[at + 4:at + 4 + size].decode(), at + 4 + size


def _parse(opcode: int, content: bytes) -> Iterator[Schema | Channel | Message]:
    if opcode == _SCHEMA:
        name, at = _read_string(content, 2)
        encoding, at = _read_string(content, at)
        definition, _ = _read_string(content, at)
        yield Schema(_U16.unpack_from(content)[0], name, encoding, definition)
    elif opcode == _CHANNEL:
        topic, at = _read_string(content, 4)
        encoding, at = _read_string(content, at)
        end = at + 4 + _U32.unpack_from(content, at)[0]
        at += 4
        metadata = {}
        while at < end:
            key, at = _read_string(content, at)
            metadata[key], at = _read_string(content, at)
        yield Channel(_U16.unpack_from(content)[0], _U16.unpack_from(content, 2)[0], topic,
                      encoding, metadata)
    elif opcode == _MESSAGE:
        channel, _, log_ns, publish_ns = _MESSAGE_HEAD.unpack_from(content)
        yield Message(channel, log_ns, publish_ns, content[_MESSAGE_HEAD.size:])
