"""Reading rosbag2 bags (MCAP and sqlite3) without ROS, by the library ``rosbags``.

Nothing is ever written beside a bag, and a bag is never held in memory as a whole: messages of
files whose times overlap are merged while they are read. An MCAP file whose recorder was killed is
read up to its truncated end, from a temporary copy that has an index. Any other damaged file is an
error.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import operator
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pydantic
import yaml

from sightplan.model import InfrastructureError, InputError
from sightplan.model.journal import STORAGE_ERRORS, StorageError
from sightplan.model.paths import user_path
from sightplan.model.yaml_text import load_yaml
from sightplan.records.bag import METADATA, copy_records
from sightplan.records.bag_messages import message_types
from sightplan.records.mcap import is_complete
from sightplan.records.mcap_reading import unpack_whole, zstd_module

SUFFIXES = ('.mcap', '.db3')
CDR = 'cdr'

_ZSTD, _PACKED = b'\x28\xb5\x2f\xfd', '.zstd'
_SPLIT = re.compile(r'_\d+$')
_ALWAYS_UNPACKED, _MOST_RATIO, _PIECE = 2**28, 1000, 2**20
_INFORMATION = 'rosbag2_bagfile_information'
_WAITING = ('-wal', '-journal')
"""Endings of sqlite's files for data that are not in the main file yet."""
_RECOVER = {'.mcap': 'mcap recover {name} -o new.mcap',
            '.db3': 'sqlite3 {name} .recover | sqlite3 new.db3'}

Place = tuple[int, str, int, int]
"""Place of a message: number of its file, topic, log time [ns], and the count of earlier messages
with the same log time."""


@dataclass(frozen=True, slots=True)
class BagTopic:
    """A topic of a bag.

    Attributes:
        name: absolute, as recorded, for example ``/camera/image_raw``.
        type: for example ``sensor_msgs/msg/Image``; '' where the bag does not say.
        definition: text of the type and of all it uses; '' where the bag has none.
        encoding: encoding of the definition, ``ros2msg`` or ``ros2idl``.
        qos: the offered profiles, as metadata.yaml (version 9) has them.
        coding: serialization of the messages; only ``cdr`` can be decoded.
    """

    name: str
    type: str
    definition: str = ''
    encoding: str = 'ros2msg'
    qos: tuple[Mapping[str, Any], ...] = ()
    coding: str = CDR


@dataclass(frozen=True, slots=True)
class BagMessage:
    """A serialized message of a bag.

    Attributes:
        topic: name of its topic.
        log_ns: time of recording [ns since 1970].
        data: CDR, with its four bytes of header.
        place: place of the message in the bag, for ``Bag.data``.
    """

    topic: str
    log_ns: int
    data: bytes
    place: Place = field(default=(0, '', 0, 0), compare=False)


class Bag:
    """A bag that is open for reading.

    Attributes:
        path: the folder, or the single file.
        topics: topics by name.
        custom: the notes in metadata.yaml.
        warnings: sentences about missing or unusual data; may grow while the bag is read.
    """

    def __init__(self, path: Path, files: Collection[_File], custom: Mapping[str, str],
                 warnings: Collection[str] = ()) -> None:
        """See ``open_bag``."""
        self.path, self.custom = path, dict(custom)
        self._files, self.warnings = tuple(files), list(warnings)
        self.topics: Mapping[str, BagTopic] = self._merge_topics()

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """Yield the messages of some topics, or of all, in the order of their log times.

        Raises:
            InputError: a file is damaged; names it and the remedy.
        """
        wanted = self.topics.keys() if topics is None else frozenset(topics)
        for _, message in heapq.merge(*(file.messages(number, wanted)
                                        for number, file in enumerate(self._files)),
                                      key=operator.itemgetter(0)):
            if message is not None:
                yield message

    def data(self, place: Place) -> bytes:
        """The data of a message that was read before (``BagMessage.place``).

        Raises:
            InputError: its file is damaged.
        """
        return self._files[place[0]].data(place)

    def decode(self, message: BagMessage) -> Any:
        """Decode a message to a dataclass of ``rosbags``, by the bag's definition of its type.

        Raises:
            InputError: its type is unknown, or its data do not fit the type.
        """
        topic = self.topics[message.topic]
        if topic.coding != CDR:
            raise InputError(f'{self.path}: topic {topic.name} is serialized as {topic.coding!r}, '
                             f'not as {CDR!r}, and cannot be decoded')
        try:
            store = type_store(topic.type, topic.definition, topic.encoding)
            return store.deserialize_cdr(message.data, topic.type)
        except InputError as error:
            raise InputError(f'{self.path}: topic {topic.name}: {error}') from error
        except Exception as error:  # whatever a library makes of damaged bytes
            raise InputError(f'{self.path}: the message at {message.log_ns} ns on {topic.name} is '
                             f'no {topic.type}: {error}') from error

    def _warn(self, text: str) -> None:
        text = f'{self.path}: {text}'
        if text not in self.warnings:
            self.warnings.append(text)

    def _merge_topics(self) -> dict[str, BagTopic]:
        """Return the topics of all files; the first description of each topic counts."""
        found: dict[str, BagTopic] = {}
        for topic in (topic for file in self._files for topic in file.topics):
            first = found.setdefault(topic.name, topic)
            if first.type != topic.type:
                self._warn(f'topic {topic.name} has more than one type: {first.type} is '
                           f'taken, not {topic.type}')
            elif first.definition != topic.definition:
                self._warn(f'its files define {first.type} differently; the first definition '
                           'is taken')
        return found


# Types.

@functools.lru_cache(maxsize=256)
def type_store(name: str, definition: str = '', encoding: str = 'ros2msg') -> Any:
    """Return a typestore of ``rosbags`` that has a message type.

    Args:
        name: name of the type.
        definition: its text, that of all types it uses included; '' for what is known of it: ROS
            2 Jazzy's common types, and our own.
        encoding: encoding of the definition, ``ros2msg`` or ``ros2idl``.

    Raises:
        InputError: it is unknown or cannot be read; names the remedy.
    """
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
    known = message_types().store
    if not definition:
        if name not in known.types:
            raise InputError(f'message type {name!r} is unknown, and the bag has no definition of '
                             'it: record it again as MCAP, or convert it ("ros2 bag convert") '
                             'where its package is installed')
        return known
    try:
        if encoding == 'ros2msg':
            types = get_types_from_msg(definition, name)
        else:
            types = {}
            for text in re.split(r'^={80}\n', definition, flags=re.MULTILINE):
                types.update(get_types_from_idl(re.sub(r'\AIDL: .*\n', '', text)) if text else {})
        for used in _missing(types):
            types[used] = known.fielddefs[used]
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        if name not in store.types:
            raise InputError(f'the definition of message type {name!r} does not define it')
    except InputError:
        raise
    except Exception as error:  # whatever a library makes of damaged text
        raise InputError(f'the definition of message type {name!r} cannot be read: '
                         f'{error}') from error
    return store


@functools.lru_cache(maxsize=256)
def outdated(name: str, definition: str, encoding: str) -> bool:
    """Whether a recorded type differs from the one known here; unknown ones do not."""
    try:
        known = type_store(name)
        recorded = type_store(name, definition, encoding)
        return bool(known.hash_rihs01(name) != recorded.hash_rihs01(name))
    except Exception:  # whatever a library makes of damaged text
        return False


def _missing(types: Mapping[str, Any]) -> list[str]:
    """Return the known types that are used, but not defined."""
    known, found, open_names = message_types().store.fielddefs, dict(types), list(types)
    while open_names:
        for _, (kind, detail) in found[open_names.pop()][1]:
            if kind.name in ('ARRAY', 'SEQUENCE'):
                kind, detail = detail[0]
            if kind.name == 'NAME' and detail not in found and detail in known:
                found[detail] = known[detail]
                open_names.append(detail)
    return [name for name in found if name not in types]


# metadata.yaml.

class Metadata(pydantic.BaseModel):
    """Fields of metadata.yaml that a bag's files do not hold, named as in rosbag2."""

    relative_file_paths: list[str] = []
    custom_data: dict[str, str] | None = None


def read_metadata(path: Path) -> Metadata:
    """Read metadata.yaml, of any version.

    Raises:
        InputError: it cannot be read, or is no description of a bag.
    """
    try:
        with path.open('rb') as file:
            return Metadata.model_validate(load_yaml(file)[_INFORMATION])
    except (OSError, yaml.YAMLError, RecursionError, LookupError, TypeError,
            ValueError) as error:
        raise InputError(f'{path}: cannot be read ({type(error).__name__}: '
                         f'{(str(error).splitlines() or [""])[0]}); remove it: the files beside '
                         f'it can be read without it') from error


@functools.lru_cache(maxsize=1024)
def _parsed_qos(text: str) -> list[Any]:
    """Profiles of quality of service as ``rosbags`` has them; its own YAML reader is slow."""
    from rosbags.rosbag2.metadata import parse_qos
    return list(parse_qos(load_yaml(text) or []))


def _type_name(name: str) -> str:
    """Return the type with the ``/msg/`` that old recorders left out."""
    package, separator, rest = name.partition('/')
    return f'{package}/msg/{rest}' if separator and '/' not in rest else name


# Files.

class _File:
    """A single file of a bag, read by ``rosbags``."""

    def __init__(self, path: Path, warnings: list[str]) -> None:
        """Open it.

        Raises:
            InputError: the file is damaged, may not be read, or is no file of a bag.
            StorageError: there is no room for a temporary copy.
        """
        self.path = path
        self._lookup: Any = None
        self._lock = threading.Lock()
        with self._checked():
            if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block for ever
                raise _irregular(path)
            if Path(path.name.removesuffix(_PACKED)).suffix not in SUFFIXES:
                raise InputError(f'{path}: is neither an MCAP nor an sqlite3 file '
                                 f'({", ".join(SUFFIXES)}); give another one')
            place = path
            if path.suffix == _PACKED:
                place = self._scratch / path.stem
                _unpack_file(path, place)
            self._place = (self._indexed(place, warnings) if place.suffix == '.mcap' else
                           self._with_waiting(place, warnings))
            self._reader = self._open(self._place)
            self.topics = [_topic(connection) for connection in self._reader.connections]

    @functools.cached_property
    def _scratch(self) -> Path:
        """Temporary folder that is removed with this object."""
        folder = Path(tempfile.mkdtemp(prefix='sightplan-bag-'))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def messages(self, number: int, wanted: Collection[str],
                 ) -> Iterator[tuple[int, BagMessage | None]]:
        """Messages of some topics in order, with times; the first one stands for the start."""
        connections = [c for c in self._reader.connections if c.topic in wanted]
        if not connections:
            return
        yield self._reader.start_time, None  # nothing is read before its time has come
        last: dict[str, Place] = {}
        with self._checked():
            for connection, log_ns, data in self._reader.messages(connections):
                topic = connection.topic
                before = last.get(topic)
                again = before[3] + 1 if before is not None and before[2] == log_ns else 0
                last[topic] = number, topic, log_ns, again
                yield log_ns, BagMessage(topic, log_ns, _unpacked(data), last[topic])

    def data(self, place: Place) -> bytes:
        """A message's data again; may be called from several threads."""
        _, topic, log_ns, again = place
        with self._lock, self._checked():
            if self._lookup is None:  # apart from the one that messages are being read from
                self._lookup = self._open(self._place)
            connections = [c for c in self._lookup.connections if c.topic == topic]
            found = self._lookup.messages(connections, start=log_ns, stop=log_ns + 1)
            return _unpacked(next(itertools.islice(found, again, None))[2])

    def _open(self, place: Path) -> Any:
        """Reader of the file, closed when this object is no longer referred to."""
        reader = _opened(place)
        weakref.finalize(self, reader.close)
        return reader

    def _indexed(self, path: Path, warnings: list[str]) -> Path:
        """The MCAP file, or an indexed copy of one that has no index."""
        complete = is_complete(path)
        if complete:
            reader = _opened(path)
            indexed = sum(sum(chunk.channel_count.values()) for chunk in reader.storage.chunks)
            count = reader.message_count
            reader.close()
            if indexed == count:
                return path
        copy = self._scratch / f'indexed-{path.name}'
        whole, writer, _ = copy_records(path, copy)
        if not complete:
            count = sum(writer.counts.values())
            warnings.append(f'{self.path}: is truncated (its recorder was stopped hard, or the '
                            f'file was cut off): ' + (
                                'its index is lost, and no message' if whole else
                                f'{count} messages before that are read'))
        return copy

    def _with_waiting(self, path: Path, warnings: list[str]) -> Path:
        """The sqlite3 file, or a copy in which sqlite has put what waits beside the file."""
        waiting = [ending for ending in _WAITING
                   if (beside := Path(f'{path}{ending}')).is_file() and beside.stat().st_size]
        if not waiting:
            return path
        copy = self._scratch / 'copy.db3'
        for ending in ('', *waiting):
            shutil.copyfile(f'{path}{ending}', f'{copy}{ending}')
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute('PRAGMA journal_mode = DELETE').fetchone()
        warnings.append(f'{self.path}: its recorder was stopped hard; what it had put beside the '
                        f'file ({", ".join(waiting)}) is read, too')
        return copy

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        """Turn any exception that a damaged file causes into an error that names the file."""
        try:
            yield
        except InputError as error:
            if '_scratch' not in self.__dict__:
                raise
            # A copy of ours is at fault: the file that it was made of is the one to name.
            raise InputError(re.sub(f'{re.escape(str(self._scratch))}/[^:]*', lambda _: str(
                self.path), str(error))) from error
        except InfrastructureError:
            raise
        except OSError as error:
            if error.errno in STORAGE_ERRORS:
                raise StorageError.about(tempfile.gettempdir(), error) from error
            raise _unreadable(self.path, error) from error
        except Exception as error:
            recover = next((command for suffix, command in _RECOVER.items()
                            if suffix in self.path.suffixes), '')
            raise InputError(
                f'{self.path}: cannot be read ({type(error).__name__}: {error}); if it is damaged '
                f'record it again, or recover what is left of it '
                f'("{recover.format(name=self.path.name)}") and give that') from error


def _opened(path: Path) -> Any:
    from rosbags.rosbag2 import Reader, storage_mcap
    # Each topic has its profiles as YAML: 10 ms to open a bag for each, were it not for this.
    storage_mcap.parse_qos = _parsed_qos
    # Its own unpack whatever there is, however much that becomes.
    storage_mcap.DECOMPRESSORS.update({name: functools.partial(_chunk, name)
                                       for name in ('zstd', 'lz4')})
    reader = Reader(path)
    reader.open()
    return reader


def _topic(connection: Any) -> BagTopic:
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.rosbag2.metadata import dump_qos_v9
    idl = connection.msgdef.format is MessageDefinitionFormat.IDL
    return BagTopic(connection.topic, _type_name(connection.msgtype), connection.msgdef.data,
                    'ros2idl' if idl else 'ros2msg',
                    tuple(dump_qos_v9(connection.ext.offered_qos_profiles)),
                    connection.ext.serialization_format)


def _chunk(compression: str, data: bytes, size: int) -> bytes:
    """Return a chunk unpacked."""
    return unpack_whole(data, compression, size)


def _unpacked(data: bytes) -> bytes:
    """The data, unpacked where rosbag2 has compressed each message (CDR begins with 0)."""
    return unpack_whole(data, 'zstd') if data.startswith(_ZSTD) else data


def _unpack_file(path: Path, place: Path) -> None:
    """Unpack a file that was compressed as a whole.

    Raises:
        InputError: it unpacks to so much more that it was made to harm.
    """
    left = max(_ALWAYS_UNPACKED, _MOST_RATIO * path.stat().st_size)
    with zstd_module().open(path, 'rb') as packed, place.open('wb') as plain:
        while piece := packed.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise InputError(f'{path}: unpacks to more than {_MOST_RATIO} times its size, as '
                                 'no recording does; if you trust it, unpack it yourself '
                                 f'("zstd -d {path.name}")')
            plain.write(piece)


# Finding and opening.

def find_bags(path: Path | str) -> list[Path]:
    """The bags at or below a path: a bag, a file of one, a run, a sweep, or any folder of these.

    Returns:
        Folders of bags, and files that are bags of their own, in natural order (``b2`` before
        ``b10``). Hidden folders are skipped. Links to folders are followed, but none to a folder
        above the path, and each folder is given once, under its own name if that is below the
        path.

    Raises:
        InputError: there is none, or a folder may not be read; names the path and the remedy.
    """
    path = _existing(path)
    if path.is_file():
        return [path]
    found: list[Path] = []
    for here, files in _folders(path):
        names = _bag_files(files)
        if METADATA in files and (names or _describes_a_bag(here / METADATA)):
            found.append(here)
        elif len({_SPLIT.sub('', _stem(name)) for name in names}) > 1:
            found.extend(here / name for name in names)
        elif names:
            found.append(here)
    if not found:
        raise InputError(f'{path}: there is no bag in it or below it (a folder with {METADATA}, '
                         f'or files {", ".join(f"*{suffix}" for suffix in SUFFIXES)}); record '
                         f'one with "sightplan run --bags all", or give another folder'
                         f'{_of_replies(path)}')
    return sorted(found, key=lambda bag: _natural(str(bag)))


def _of_replies(folder: Path) -> str:
    """Command that repeats a run whose folder has a model's replies, but no bag; '' for others."""
    if not any(folder.glob('replies*.jsonl')):
        return ''
    return (f'; what its model replied was recorded, and is given again by "sightplan run '
            f'--backend replay --backend-option path={folder}"')


def _folders(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder at or below a path, once, with the names of its files; links come last."""
    above = {(found.st_dev, found.st_ino)
             for found in (folder.stat() for folder in top.resolve().parents)}
    seen: set[tuple[int, int]] = set()
    starts = [top]
    while starts:
        for folder, folders, files in os.walk(starts.pop(0), onerror=_raise_unreadable):
            here = Path(folder)
            try:
                found = here.stat()
            except FileNotFoundError:  # it was removed just now
                continue
            folders[:] = [name for name in folders if not name.startswith('.')]
            if (found.st_dev, found.st_ino) in seen | above:
                folders[:] = []
                continue
            seen.add((found.st_dev, found.st_ino))
            starts += sorted(here / name for name in folders if (here / name).is_symlink())
            yield here, files


def open_bag(path: Path | str) -> Bag:
    """Open a bag: a folder with or without ``metadata.yaml``, or a single .mcap or .db3 file.

    Raises:
        InputError: it is not there, or a file of it is damaged; names file and remedy.
        StorageError: there is no room for a temporary copy that it needs.
    """
    path = _existing(path)
    warnings: list[str] = []
    metadata = Metadata()
    try:
        if (path / METADATA).is_file():
            metadata = read_metadata(path / METADATA)
        files = [path] if path.is_file() else _files_of(path, metadata, warnings)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not files:
        below = find_bags(path)
        raise InputError(f'{path}: is no bag, but there are some below it; name one of them, such '
                         f'as {below[0]}')
    return Bag(path, [_File(file, warnings) for file in files], metadata.custom_data or {},
               warnings)


def _existing(given: Path | str) -> Path:
    path = user_path(given)
    if not path.exists():
        raise InputError(f'{path}: there is no such bag or folder')
    if not path.is_dir() and not path.is_file():
        raise _irregular(path)
    return path


def _irregular(path: Path) -> InputError:
    return InputError(f'{path}: is not a regular file (a pipe, socket or device cannot be read as '
                      'a bag); copy what it gives into a file')


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return InputError(f'{path}: cannot be read ({error.strerror}); allow it (chmod u+rX), or give '
                      'another path')


def _raise_unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # that was removed just now
        raise _unreadable(str(error.filename), error) from error


def _natural(text: str) -> list[Any]:
    return [(int(part), '') if part.isdecimal() else (-1, part)
            for part in re.split(r'(\d+)', text)]


def _bag_files(names: Collection[str]) -> list[str]:
    """The files of bags among some names; a compressed one only where the plain one is gone."""
    found = [name for name in names if not name.startswith('.')
             and name.removesuffix(_PACKED).endswith(SUFFIXES)
             and (not name.endswith(_PACKED) or name.removesuffix(_PACKED) not in names)]
    return sorted(found, key=_natural)


def _stem(name: str) -> str:
    return PurePosixPath(name.removesuffix(_PACKED)).stem


def _describes_a_bag(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open('rb') as file:
            return _INFORMATION.encode() in file.read(4096)
    except OSError:
        return False


def _files_of(folder: Path, metadata: Metadata, warnings: list[str]) -> list[Path]:
    """The files of a bag: those that metadata.yaml lists, or all; others are warned of.

    Raises:
        InputError: one that is listed is missing.
    """
    there = _bag_files([entry.name for entry in folder.iterdir()])
    # Before version 4 the paths have the bag's folder before them.
    listed = [PurePosixPath(path).name for path in metadata.relative_file_paths] or there
    for name in listed:
        if not (folder / name).exists():
            raise InputError(f'{folder / name}: is missing, though {METADATA} lists it; put it '
                             f'there, or remove {METADATA} to read the other files')
    warnings += [f'{folder / name}: {METADATA} does not list it; it is left out'
                 for name in there if name not in listed]
    return [folder / name for name in sorted(listed, key=_natural)]
