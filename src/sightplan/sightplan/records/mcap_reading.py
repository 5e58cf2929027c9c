"""MCAP files without their index, from record to record, up to where they are truncated.

Whole files are read by ``rosbags``, which needs the index at the end of the file. This module
reads the files of a killed recorder: all data before the cut, also those inside a truncated chunk.

Format: https://mcap.dev/spec (version 0).
"""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from sightplan.model import InputError
from sightplan.records.mcap import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    SCHEMA,
    U16,
    U32,
    U64,
    Channel,
    Message,
    Schema,
)

MOST_BYTES = 2**30
"""Most bytes of an unpacked chunk or message; a greater length is treated as damage."""
_ALWAYS_UNPACKED = 2**26
_MOST_RATIO = 100

_RECORD_HEAD = 9  # opcode, length


def zstd_module() -> Any:
    """Return the Zstandard module of the standard library, or its backport for older Pythons."""
    if sys.version_info >= (3, 14):
        from compression import zstd
        return zstd
    from backports import zstd
    return zstd


def most_unpacked(packed: int) -> int:
    """Return the most bytes that ``packed`` bytes may unpack to; more is damage or an attack."""
    return min(MOST_BYTES, max(_ALWAYS_UNPACKED, _MOST_RATIO * packed))


def unpack_whole(data: bytes, compression: str, size: int | None = None) -> bytes:
    """Unpack a whole frame.

    Args:
        data: the frame.
        compression: ``zstd`` or ``lz4``.
        size: size of the unpacked data, if the file tells it.

    Raises:
        ValueError: the frame is damaged, or unpacks to another size, or to too many bytes.
    """
    most = most_unpacked(len(data))
    if size is not None and size > most:
        raise ValueError(f'{len(data)} bytes say that they unpack to {size}; at most {most} are '
                         'read')
    raw, whole = _unpack(data, compression, most if size is None else size)
    if not whole or size not in (None, len(raw)):
        raise ValueError(f'{len(data)} bytes are truncated, or unpack to more than they say, or '
                         f'than {most}, which is the most that is read')
    return raw


class McapRecords:
    """The schemas, channels and messages of a file, in its order, those of chunks included.

    Attributes:
        whole: whether the end of the data was reached; known when all records were given.
    """

    def __init__(self, path: Path) -> None:
        """Name the file.

        Raises:
            InputError: it is not an MCAP file.
        """
        self._path = path
        self.whole = False
        with path.open('rb') as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise InputError(f'{path}: is not an MCAP file; give another one')

    def __iter__(self) -> Iterator[Schema | Channel | Message]:
        with self._path.open('rb') as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(len(MAGIC))
            yield from self._records(file, size)

    def _records(self, file: IO[bytes], size: int) -> Iterator[Schema | Channel | Message]:
        """The records of a file, or of an unpacked chunk, up to the first that is not whole."""
        while len(head := file.read(_RECORD_HEAD)) == _RECORD_HEAD:
            opcode, length = head[0], U64.unpack_from(head, 1)[0]
            begin = file.tell()
            if opcode in (DATA_END, FOOTER):
                self.whole = True
                return
            if not opcode:  # blocks that never reached the disk
                return
            content = file.read(min(length, size - begin)) if opcode in _READ else b''
            if opcode == CHUNK:
                raw, sound = self._unpacked(content)
                yield from self._records(io.BytesIO(raw), len(raw))
                if not sound:
                    return
            if begin + length > size:
                return
            if opcode in _PARSERS:
                try:
                    record = _PARSERS[opcode](content)
                except (struct.error, ValueError):
                    return
                yield record
            file.seek(begin + length)

    def _unpacked(self, content: bytes) -> tuple[bytes, bool]:
        """The unpacked bytes of a chunk as far as they go, and whether they are all, and sound.

        Raises:
            InputError: the compression is not known.
        """
        try:
            _, _, raw_size, checksum = CHUNK_HEAD.unpack_from(content)
            compression, at = _string(content, CHUNK_HEAD.size)
            if compression not in ('', 'zstd', 'lz4'):
                raise InputError(f'{self._path}: its compression {compression!r} is not one of '
                                 f'zstd, lz4; record it again with one of these')
            data = content[at + 8:at + 8 + U64.unpack_from(content, at)[0]]
            raw, _ = _unpack(data, compression, min(raw_size, most_unpacked(len(data))))
        except (struct.error, ValueError):
            return b'', False
        return raw, len(raw) == raw_size and checksum in (0, zlib.crc32(raw))


def _unpack(data: bytes, compression: str, most: int) -> tuple[bytes, bool]:
    """Unpack a frame of zstd or lz4 that may be truncated; '' is no compression.

    Returns:
        the first ``most`` bytes, and whether that is all and the frame ends there.

    Raises:
        ValueError: it is damaged.
    """
    if not compression:
        return data[:most], len(data) <= most
    from lz4 import frame
    zstd = zstd_module()
    unpacker = (zstd.ZstdDecompressor() if compression == 'zstd' else
                frame.LZ4FrameDecompressor())
    try:
        raw = bytes(unpacker.decompress(data, most))
        if not unpacker.eof:  # where there is room for all, the end may not have been seen yet
            raw += bytes(unpacker.decompress(b'', 1))
        return raw[:most], bool(unpacker.eof and len(raw) <= most)
    except (zstd.ZstdError, EOFError, RuntimeError) as error:
        raise ValueError(str(error)) from error


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = at + 4 + U32.unpack_from(data, at)[0]
    if end > len(data):
        raise ValueError('a text that is longer than its record')
    return data[at + 4:end].decode(), end


def _schema(content: bytes) -> Schema:
    name, at = _string(content, 2)
    encoding, at = _string(content, at)
    definition, _ = _string(content, at)
    return Schema(U16.unpack_from(content)[0], name, encoding, definition)


def _channel(content: bytes) -> Channel:
    topic, at = _string(content, 4)
    encoding, at = _string(content, at)
    end = at + 4 + U32.unpack_from(content, at)[0]
    at += 4
    metadata = {}
    while at < end:
        key, at = _string(content, at)
        metadata[key], at = _string(content, at)
    return Channel(U16.unpack_from(content)[0], U16.unpack_from(content, 2)[0], topic, encoding,
                   metadata)


def _message(content: bytes) -> Message:
    channel, _, log_ns, publish_ns = MESSAGE_HEAD.unpack_from(content)
    return Message(channel, log_ns, publish_ns, content[MESSAGE_HEAD.size:])


_PARSERS: Mapping[int, Callable[[bytes], Schema | Channel | Message]] = {
    SCHEMA: _schema, CHANNEL: _channel, MESSAGE: _message}
_READ = (*_PARSERS, CHUNK)
