"""MCAP files as far as they are whole: torn, damaged and unfinished ones, too.

A file is walked once, from record to record, without unpacking anything, which gives its *pieces*:
chunks, and runs of messages outside of chunks. Then pieces are read one at a time, in any order.
No index is needed. Where the walk meets something that is no record it goes on at the next chunk.

Format: https://mcap.dev/spec (version 0).
"""

from __future__ import annotations

import os
import re
import struct
import sys
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from sightplan.model import InfrastructureError
from sightplan.records.mcap import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    FOOTER_SIZE,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    MESSAGE_INDEX,
    SCHEMA,
    U16,
    U32,
    U64,
    Channel,
    Message,
    Schema,
)

MOST_BYTES = 2**30
"""Of a chunk or a message, unpacked: a length that is larger is taken for a damaged one."""

_RECORD_HEAD = 9  # opcode, length
_LAST_OPCODE, _FIRST_PRIVATE_OPCODE = 0x0F, 0x80
_PLAIN_PIECE = 2**20  # bytes of messages outside of chunks that are read at once
_MOST_DESCRIPTION = 2**26  # bytes
_BLOCK = 2**20
_CHUNK_START = re.compile(
    rb'\x06.{8}.{28}(?:\0\0\0\0|\x04\0\0\0zstd|\x03\0\0\0lz4)', re.DOTALL)
_LONGEST_START = _RECORD_HEAD + CHUNK_HEAD.size + 4 + 4


def clock_text(ns: int) -> str:
    """A log time for people, in UTC."""
    try:
        day = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ns // 10**9))
    except (OverflowError, ValueError, OSError):
        return f'{ns} ns'
    return f'{day}.{ns // 10**6 % 1000:03d} UTC'


def zstd_module() -> Any:
    """Zstandard of the standard library, or its twin for older Pythons."""
    if sys.version_info >= (3, 14):
        from compression import zstd
        return zstd
    from backports import zstd
    return zstd


def unpack(data: bytes, compression: str, most: int) -> bytes:
    """Unpack a frame as far as it goes.

    Args:
        data: the frame; it may be cut off.
        compression: ``zstd``, ``lz4`` or '' (none).
        most: limit of the result [bytes].

    Returns:
        What could be unpacked, less than the whole of a frame that is cut off.

    Raises:
        ValueError: it is damaged, or the compression is not known.
    """
    if not compression:
        return data[:most]
    if compression == 'zstd':
        zstd = zstd_module()
        unpacker, errors = zstd.ZstdDecompressor(), (zstd.ZstdError,)
    elif compression == 'lz4':
        try:
            from lz4 import frame
        except ImportError as error:
            raise ValueError('it is compressed with lz4, and the package lz4 is not installed '
                             '(pip install lz4)') from error
        unpacker, errors = frame.LZ4FrameDecompressor(), (RuntimeError,)
    else:
        raise ValueError(f'its compression {compression!r} is not one of zstd, lz4')
    try:
        return bytes(unpacker.decompress(data, most))
    except (*errors, EOFError, MemoryError) as error:
        raise ValueError(str(error)) from error


@dataclass(slots=True)
class Piece:
    """Consecutive records of a file, read at once: a chunk, or messages outside of chunks.

    Attributes:
        at: where its bytes begin in the file.
        size: how many of them are in the file.
        start_ns: log time of its first message, as the file has it.
        raw_size: bytes when unpacked.
        checksum: CRC-32 of the unpacked bytes; 0: none.
        compression: as in the file; '' for none.
        channels: numbers of the channels of its messages; empty: not known.
        torn: the file ends inside of it.
    """

    at: int
    size: int
    start_ns: int
    raw_size: int
    checksum: int = 0
    compression: str = ''
    channels: set[int] = field(default_factory=set)
    torn: bool = False


class Entry(NamedTuple):
    """Where a message lies in the unpacked bytes of a piece."""

    log_ns: int
    channel: int
    begin: int
    end: int
    publish_ns: int


class McapFile:
    """An MCAP file, as far as it is whole.

    Attributes:
        path: the file.
        pieces: in the order of the file.
        schemas, channels: by number, as far as they are known: all of a whole file; those of
            pieces that are read are added.
        complaints: what is wrong, in words; grows while pieces are read.
    """

    def __init__(self, path: Path, label: str = '') -> None:
        """Walk the file.

        Args:
            path: the file.
            label: its name in complaints; '': its path.

        Raises:
            InfrastructureError: it is not an MCAP file, or cannot be read.
        """
        self.path, self._label = path, label or str(path)
        self.pieces: list[Piece] = []
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.complaints: list[str] = []
        self._summary = 0  # where it begins; 0: not known
        try:
            with path.open('rb') as file:
                whole = self._walk(file, file.seek(0, os.SEEK_END))
        except OSError as error:
            raise InfrastructureError(
                f'{self._label}: cannot be read: {error.strerror}') from error
        if not whole or not self._summary or not self.channels:
            self._learn()

    def read(self, piece: Piece) -> bytes:
        """The unpacked bytes of a piece; empty, with a complaint, if it is damaged."""
        try:
            with self.path.open('rb') as file:
                file.seek(piece.at)
                data = file.read(piece.size)
            raw = unpack(data, piece.compression, min(piece.raw_size, MOST_BYTES))
        except (OSError, ValueError) as error:
            self._complain_of(piece, str(error))
            return b''
        if piece.torn:
            return raw
        if len(raw) != piece.raw_size:
            self._complain_of(piece, f'{len(raw)} bytes instead of {piece.raw_size}')
            return b''
        if piece.checksum not in (0, zlib.crc32(raw)):
            self._complain_of(piece, 'its checksum is wrong')
            return b''
        return raw

    def entries(self, piece: Piece, raw: bytes) -> list[Entry]:
        """The messages in the unpacked bytes of a piece, in their order.

        Schemas and channels among them are added to those of the file.
        """
        found: list[Entry] = []
        at, end = 0, len(raw)
        while at + _RECORD_HEAD <= end:
            opcode, size = raw[at], U64.unpack_from(raw, at + 1)[0]
            begin = at + _RECORD_HEAD
            at = begin + size
            if at > end:
                break
            if opcode == MESSAGE and size >= MESSAGE_HEAD.size:
                channel, _, log_ns, publish_ns = MESSAGE_HEAD.unpack_from(raw, begin)
                found.append(Entry(log_ns, channel, begin + MESSAGE_HEAD.size, at, publish_ns))
            elif opcode in (SCHEMA, CHANNEL):
                self._note(opcode, raw[begin:at])
        if at != end and not piece.torn and raw:
            self._complain_of(piece, 'its records do not fit into it', 'what follows in it is')
        return found

    def complain(self, text: str) -> None:
        """Note what is wrong with the file, once."""
        text = f'{self._label}: {text}'
        if text not in self.complaints:
            self.complaints.append(text)

    def _complain_of(self, piece: Piece, reason: str, what: str = 'its messages are') -> None:
        self.complain(f'the {piece.size} bytes from byte {piece.at} on are damaged ({reason}); '
                      f'{what} left out, from {clock_text(piece.start_ns)} on')

    def _learn(self) -> None:
        """Find the channels of a file without a whole summary: in the pieces they come in.

        A description may stand in any piece before the channel's first message.
        """
        used = set().union(*(piece.channels for piece in self.pieces))
        for piece in self.pieces:
            if not piece.channels or not used <= self.channels.keys():
                self.entries(piece, self.read(piece))

    def _note(self, opcode: int, content: bytes) -> None:
        try:
            if opcode == SCHEMA:
                schema = _schema(content)
                self.schemas.setdefault(schema.number, schema)
            else:
                channel = _channel(content)
                self.channels.setdefault(channel.number, channel)
        except (struct.error, ValueError):
            self.complain('the description of a topic is damaged')

    # The walk.

    def _walk(self, file: IO[bytes], size: int) -> bool:
        """Find the pieces; returns whether the end is there."""
        file.seek(0)
        at = len(MAGIC)
        if file.read(at) != MAGIC:
            at = self._next_chunk(file, 0, size)
            if at == size:
                raise InfrastructureError(f'{self._label}: is not an MCAP file')
            self.complain('the first bytes are not those of an MCAP file')
        while at < size:
            after = self._step(file, at, size)
            if after is None:
                if self.pieces:
                    self.pieces[-1].channels = set()  # its index may be torn or damaged
                after = self._damage(file, at, size)
                if after == size:
                    return False
            elif after < 0:
                return True
            at = after
        self.complain(f'ends at byte {size} without the end of an MCAP file: its recorder was '
                      'stopped hard, or the file is cut off')
        return False

    def _step(self, file: IO[bytes], at: int, size: int) -> int | None:
        """Take the record at a place; returns the next one's, -1 at the end, None: it is none."""
        file.seek(at)
        head = file.read(_RECORD_HEAD)
        if len(head) < _RECORD_HEAD:
            return None
        opcode, length = head[0], int(U64.unpack_from(head, 1)[0])
        begin = at + _RECORD_HEAD
        if (not opcode or _LAST_OPCODE < opcode < _FIRST_PRIVATE_OPCODE
                or begin + length > size):
            return None
        if opcode == CHUNK:
            piece = _chunk(file, at, size)
            if piece is None or piece.torn or piece.at + piece.size != begin + length:
                return None
            self.pieces.append(piece)
        elif opcode == MESSAGE:
            content = file.read(MESSAGE_HEAD.size)
            if length < MESSAGE_HEAD.size:
                return None
            self._add_plain(at, begin + length, MESSAGE_HEAD.unpack(content))
        elif opcode == MESSAGE_INDEX and self.pieces:
            content = file.read(min(6, length))
            if len(content) == 6 and U32.unpack_from(content, 2)[0]:
                self.pieces[-1].channels.add(U16.unpack_from(content)[0])
        elif opcode in (SCHEMA, CHANNEL):
            if length > _MOST_DESCRIPTION:
                return None
            self._note(opcode, file.read(length))
        elif opcode == DATA_END:
            self._summary = begin + length
        elif opcode == FOOTER:
            if length != FOOTER_SIZE:
                return None
            self._check_summary(file, begin + length)
            if file.read(len(MAGIC)) != MAGIC:
                self.complain('its last bytes are cut off or damaged; no message is lost')
            return -1
        return begin + length

    def _check_summary(self, file: IO[bytes], end: int) -> None:
        """Trust the summary as far as its checksum tells."""
        if not self._summary or end - self._summary > _MOST_DESCRIPTION:
            file.seek(end)
            return
        file.seek(self._summary)
        content = file.read(end - self._summary)
        checksum = U32.unpack_from(content, len(content) - 4)[0]
        if checksum not in (0, zlib.crc32(content[:-4])):
            self.complain(f'its index, from byte {self._summary} on, is damaged; no message is '
                          'lost')
            self.schemas.clear()
            self.channels.clear()

    def _add_plain(self, at: int, end: int, head: tuple[int, int, int, int]) -> None:
        """Add a message outside of chunks to the piece before it, or begin one."""
        channel, _, log_ns, _ = head
        last = self.pieces[-1] if self.pieces else None
        if (last is None or last.compression or last.checksum or last.at + last.size != at
                or last.size > _PLAIN_PIECE):
            last = Piece(at, 0, log_ns, 0)
            self.pieces.append(last)
        last.size = last.raw_size = end - last.at
        last.start_ns = min(last.start_ns, log_ns)
        last.channels.add(channel)

    def _damage(self, file: IO[bytes], at: int, size: int) -> int:
        """Get over what is no record; returns where to go on, the size for the end."""
        after = self._next_chunk(file, at + 1, size)
        if after < size:
            self.complain(f'the {after - at} bytes from byte {at} on are damaged; what they held '
                          'is left out')
            return after
        if self._summary:
            self.complain(f'its index is cut off or damaged from byte {at} on; no message is lost')
            return size
        torn = _chunk(file, at, size)
        if torn is not None:
            self.pieces.append(torn)
        since = f', messages from {clock_text(torn.start_ns)} on' if torn is not None else ''
        self.complain(f'is cut off or damaged from byte {at} on: of the last {size - at} bytes'
                      f'{since}, only messages that are whole are read')
        return size

    def _next_chunk(self, file: IO[bytes], at: int, size: int) -> int:
        """Where the next whole chunk begins, at a place or after it; the size if there is none."""
        while at < size:
            file.seek(at)
            block = file.read(_BLOCK + _LONGEST_START)
            for match in _CHUNK_START.finditer(block):
                if match.start() >= _BLOCK:
                    break
                piece = _chunk(file, at + match.start(), size)
                if piece is not None and not piece.torn:
                    return at + match.start()
            at += _BLOCK
        return size


def _chunk(file: IO[bytes], at: int, size: int) -> Piece | None:
    """The chunk that begins at a place; None: there is none that contradicts itself nowhere."""
    file.seek(at)
    head = file.read(_RECORD_HEAD + CHUNK_HEAD.size + 4)
    if len(head) < _RECORD_HEAD + CHUNK_HEAD.size + 4 or head[0] != CHUNK:
        return None
    length = U64.unpack_from(head, 1)[0]
    start_ns, _, raw_size, checksum = CHUNK_HEAD.unpack_from(head, _RECORD_HEAD)
    name_size = U32.unpack_from(head, _RECORD_HEAD + CHUNK_HEAD.size)[0]
    fixed = CHUNK_HEAD.size + 4 + name_size + 8
    if name_size > 16 or length < fixed:
        return None
    rest = file.read(name_size + 8)
    if len(rest) < name_size + 8:
        return None
    compression, packed = rest[:name_size].decode('latin-1'), U64.unpack_from(rest, name_size)[0]
    begin = at + _RECORD_HEAD + fixed
    if fixed + packed != length or (not compression and raw_size != packed):
        return None
    return Piece(begin, min(packed, size - begin), start_ns, raw_size, checksum, compression,
                 torn=begin + packed > size)


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


class PieceCache:
    """Unpacked pieces of files, the oldest given up when they are too large together.

    Whoever reads many pieces at once (their times overlap) needs little memory: what was given up
    is read again.
    """

    def __init__(self, most_bytes: int = 2**26) -> None:
        """Create it.

        Args:
            most_bytes: of all pieces together; the last one is kept however large it is.
        """
        self._most, self._size = most_bytes, 0
        self._pieces: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def get(self, file: McapFile, number: int) -> bytes:
        """The unpacked bytes of a piece of a file."""
        key = (id(file), number)
        raw = self._pieces.get(key)
        if raw is not None:
            self._pieces.move_to_end(key)
            return raw
        raw = self._pieces[key] = file.read(file.pieces[number])
        self._size += len(raw)
        while self._size > self._most and len(self._pieces) > 1:
            self._size -= len(self._pieces.popitem(last=False)[1])
        return raw


def scan(path: Path) -> Iterator[Schema | Channel | Message]:
    """All of a file in its order, as far as it is whole, schemas and channels before their use.

    Raises:
        InfrastructureError: it is not an MCAP file, or cannot be read.
    """
    file = McapFile(path)
    told: set[int] = set()

    def news() -> Iterator[Schema | Channel]:
        for number, channel in sorted(file.channels.items()):
            if number not in told and channel.schema in file.schemas:
                told.add(number)
                yield file.schemas[channel.schema]
                yield channel

    for piece in file.pieces:
        raw = file.read(piece)
        entries = file.entries(piece, raw)
        yield from news()
        for entry in entries:
            if entry.channel in told:
                yield Message(entry.channel, entry.log_ns, entry.publish_ns,
                              raw[entry.begin:entry.end])
    yield from news()
