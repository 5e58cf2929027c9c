"""Reading rosbag2 bags (MCAP and sqlite3) without ROS, damaged ones as far as they go.

Nothing is ever written beside a bag, and a bag is never held in memory: messages of files whose
times overlap are merged chunk by chunk.
"""

from __future__ import annotations

import functools
import heapq
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import yaml
from numpy.typing import NDArray

from sightplan.model import InfrastructureError, InputError
from sightplan.model.paths import user_path
from sightplan.records import sqlite_reading
from sightplan.records.bag import METADATA
from sightplan.records.mcap import MAGIC
from sightplan.records.mcap_reading import (
    MOST_BYTES,
    McapFile,
    PieceCache,
    clock_text,
    unpack,
    zstd_module,
)
from sightplan.records.messages import message_types

SUFFIXES = ('.mcap', '.db3')
CDR = 'cdr'

_ZSTD, _PACKED = b'\x28\xb5\x2f\xfd', '.zstd'
_BLOCK = 2**20
_SPLIT = re.compile(r'_\d+$')
_INFORMATION = 'rosbag2_bagfile_information'
_File = TypeVar('_File', bound=McapFile | sqlite_reading.SqliteFile)
_QOS_NUMBERS = {
    # before version 9 metadata have the numbers of rmw
    'history': ('system_default', 'keep_last', 'keep_all', 'unknown'),
    'reliability': ('system_default', 'reliable', 'best_effort', 'unknown', 'best_available'),
    'durability': ('system_default', 'transient_local', 'volatile', 'unknown', 'best_available'),
    'liveliness': ('system_default', 'automatic', 'manual_by_node', 'manual_by_topic', 'unknown',
                   'best_available'),
}


@dataclass(frozen=True, slots=True)
class BagTopic:
    """A topic of a bag.

    Attributes:
        name: absolute, as recorded, for example ``/camera/image_raw``.
        type: for example ``sensor_msgs/msg/Image``; '' where the bag does not tell.
        definition: text of the type and of all it uses; '' where the bag has none.
        encoding: of the definition, ``ros2msg`` or ``ros2idl``.
        qos: the offered profiles, as metadata.yaml (version 9) has them.
        coding: how its messages are serialized; only ``cdr`` can be decoded.
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
        log_ns: when it was recorded [ns since 1970].
        data: CDR, with its four bytes of header.
        place: where it is in the bag, for ``Bag.data``.
    """

    topic: str
    log_ns: int
    data: bytes
    place: tuple[int, ...] = field(default=(), compare=False)


Part = tuple[int, Callable[[], Iterator[BagMessage]]]
"""Messages that are read together: log time of the first, and what reads them, in order."""


class Storage(Protocol):
    """One file of a bag."""

    @property
    def complaints(self) -> list[str]:
        """What is wrong with it, in words; grows while it is read."""

    @property
    def topics(self) -> Sequence[BagTopic]:
        """The topics that the file tells of."""

    def parts(self, number: int, wanted: Collection[str] | None) -> list[Part]:
        """Its messages of some topics, or of all.

        Args:
            number: of the file in its bag; places begin with it.
            wanted: names of topics; None: all.
        """

    def data(self, place: tuple[int, ...]) -> bytes:
        """A message's data again, by its place without the file's number."""


class Bag:
    """One bag, open for reading.

    Attributes:
        path: the folder, or the single file.
        topics: by name.
        custom: the notes in metadata.yaml.
    """

    def __init__(self, path: Path, storages: Sequence[Storage], metadata: Metadata,
                 complaints: Sequence[str] = ()) -> None:
        """See ``open_bag``."""
        self.path, self.custom = path, dict(metadata.custom)
        self._storages, self._metadata = tuple(storages), metadata
        self._complaints = list(complaints)
        self.topics: Mapping[str, BagTopic] = self._merge_topics()

    @property
    def complaints(self) -> list[str]:
        """What is wrong with it, in words; grows while it is read."""
        return [*self._complaints, *(text for s in self._storages for text in s.complaints)]

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """The messages of some topics, or of all, in the order of their log times."""
        wanted = None if topics is None else frozenset(topics)
        count, last = 0, -1
        for message in self._in_order(wanted):
            data = self._unpacked(message)
            if data is None:
                continue
            if message.log_ns < last:
                self._complain('not all messages could be put in the order of their times')
            count, last = count + 1, message.log_ns
            if message.topic not in self.topics:  # it came to light while pieces were read
                self.topics = self._merge_topics()
            yield message if data is message.data else BagMessage(
                message.topic, message.log_ns, data, message.place)
        if wanted is None and count < self._metadata.messages:
            self._complain(f'{METADATA} tells of {self._metadata.messages} messages, {count} '
                           'could be read')

    def data(self, place: tuple[int, ...]) -> bytes:
        """The data of a message that was read before (``BagMessage.place``)."""
        data = self._storages[place[0]].data(place[1:])
        return unpack(data, 'zstd', MOST_BYTES) if data.startswith(_ZSTD) else data

    def decode(self, message: BagMessage) -> Any:
        """A message as a dataclass of ``rosbags``, by the definition that the bag has of its type.

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
            raise InputError(f'{self.path}: the message of {clock_text(message.log_ns)} on '
                             f'{topic.name} is no {topic.type}: {error}') from error

    def _complain(self, text: str) -> None:
        text = f'{self.path}: {text}'
        if text not in self._complaints:
            self._complaints.append(text)

    def _merge_topics(self) -> dict[str, BagTopic]:
        """What the files and metadata.yaml tell of topics, together."""
        found: dict[str, BagTopic] = {}
        for topic in (*(t for s in self._storages for t in s.topics), *self._metadata.topics):
            first = found.setdefault(topic.name, topic)
            if first.type and topic.type and first.type != topic.type:
                self._complain(f'topic {topic.name} has more than one type: {first.type} is '
                               f'taken, not {topic.type}')
                continue
            if topic.definition and first.definition and topic.definition != first.definition:
                self._complain(f'its files define {first.type} differently; the first definition '
                               'is taken')
            teller = first if first.definition or not topic.definition else topic
            found[topic.name] = replace(
                first, type=first.type or topic.type, definition=teller.definition,
                encoding=teller.encoding, qos=first.qos or topic.qos)
        return found

    def _in_order(self, wanted: frozenset[str] | None) -> Iterator[BagMessage]:
        """Merge the parts of all files, each of which is opened when its time has come."""
        parts = [(start_ns, (number, index), read)
                 for number, storage in enumerate(self._storages)
                 for index, (start_ns, read) in enumerate(storage.parts(number, wanted))]
        parts.sort(key=lambda part: part[:2])
        heap: list[tuple[int, tuple[int, int], BagMessage, Iterator[BagMessage]]] = []

        def before(limit: tuple[int, tuple[int, int]] | None) -> Iterator[BagMessage]:
            while heap and (limit is None or heap[0][:2] < limit):
                _, order, message, rest = heap[0]
                yield message
                after = next(rest, None)
                if after is None:
                    heapq.heappop(heap)
                else:
                    heapq.heapreplace(heap, (after.log_ns, order, after, rest))

        for start_ns, order, read in parts:
            yield from before((start_ns, order))
            rest = read()
            first = next(rest, None)
            if first is not None:
                heapq.heappush(heap, (first.log_ns, order, first, rest))
        yield from before(None)

    def _unpacked(self, message: BagMessage) -> bytes | None:
        """The data, unpacked where rosbag2 has compressed each message (CDR begins with 0)."""
        if not message.data.startswith(_ZSTD):
            return message.data
        try:
            return unpack(message.data, 'zstd', MOST_BYTES)
        except ValueError as error:
            self._complain(f'the message of {clock_text(message.log_ns)} on {message.topic} is '
                           f'damaged ({error}) and left out')
            return None


# Types.

@functools.lru_cache(maxsize=256)
def type_store(name: str, definition: str = '', encoding: str = 'ros2msg') -> Any:
    """A typestore of ``rosbags`` that has a message type.

    Args:
        name: of the type.
        definition: its text, that of all types it uses included; '' for what is known of it: ROS
            2 Jazzy's common types, and our own.
        encoding: of the definition, ``ros2msg`` or ``ros2idl``.

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


def _missing(types: Mapping[str, Any]) -> list[str]:
    """Known types that are used, but not defined."""
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

@dataclass(frozen=True, slots=True)
class Metadata:
    """What metadata.yaml tells of a bag.

    Attributes:
        files: names of the bag's files.
        topics: without definitions.
        messages: how many there are.
        custom: notes.
    """

    files: tuple[str, ...] = ()
    topics: tuple[BagTopic, ...] = ()
    messages: int = 0
    custom: Mapping[str, str] = field(default_factory=dict)


def read_metadata(path: Path) -> Metadata:
    """Read metadata.yaml, of any version.

    Raises:
        InputError: it cannot be read, or is no description of a bag.
    """
    try:
        with path.open('rb') as file:
            content = _yaml(file)[_INFORMATION]
        topics = tuple(
            BagTopic(str(entry['name']), _type_name(str(entry['type'])),
                     qos=profiles(entry.get('offered_qos_profiles')))
            for entry in (item['topic_metadata']
                          for item in content.get('topics_with_message_count') or ()))
        # Before version 4 the paths have the bag's folder before them.
        files = tuple(PurePosixPath(str(name)).name for name in content['relative_file_paths'])
        return Metadata(files, topics, int(content.get('message_count') or 0),
                        {str(k): str(v) for k, v in (content.get('custom_data') or {}).items()})
    except (OSError, yaml.YAMLError, RecursionError, LookupError, TypeError, ValueError,
            AttributeError) as error:
        raise InputError(f'{path}: cannot be read: {type(error).__name__}: '
                         f'{str(error).splitlines()[0] if str(error) else ""}') from error


def _yaml(source: Any) -> Any:
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)(source)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def profiles(given: Any) -> tuple[Mapping[str, Any], ...]:
    """Profiles of quality of service as version 9 of metadata.yaml has them.

    Args:
        given: as metadata or storages of any version have them: YAML text, or a list of mappings.

    Returns:
        The profiles; none for what cannot be read.
    """
    try:
        entries = _yaml(given) if isinstance(given, str) else given
        found = []
        for entry in entries or ():
            profile = dict(entry)
            for name, words in _QOS_NUMBERS.items():
                value = profile.get(name)
                if isinstance(value, int):
                    profile[name] = words[value] if 0 <= value < len(words) else 'unknown'
            found.append(profile)
        return tuple(found)
    except (yaml.YAMLError, RecursionError, TypeError, ValueError):
        return ()


def _type_name(name: str) -> str:
    """Types of old recorders lack the ``msg``."""
    package, separator, rest = name.partition('/')
    return f'{package}/msg/{rest}' if separator and '/' not in rest else name


# Storages.

class Scratch:
    """A temporary folder that goes when nobody refers to this any more."""

    def __init__(self) -> None:
        """Make it."""
        self.folder = Path(tempfile.mkdtemp(prefix='sightplan-bag-'))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class _FileStorage(Generic[_File]):
    """A file of a bag, in whatever format."""

    def __init__(self, file: _File, scratch: Scratch | None) -> None:
        """Wrap a file.

        Args:
            file: the file.
            scratch: where the file is, if it is a temporary one.
        """
        self._file, self._scratch = file, scratch

    @property
    def complaints(self) -> list[str]:
        """What is wrong with it, in words; grows while it is read."""
        return self._file.complaints


class McapStorage(_FileStorage[McapFile]):
    """An MCAP file of a bag."""

    def __init__(self, file: McapFile, cache: PieceCache, scratch: Scratch | None = None,
                 ) -> None:
        """Wrap a file.

        Args:
            file: the file.
            cache: of all files of the bag.
            scratch: where the file is, if it is a temporary one.
        """
        super().__init__(file, scratch)
        self._cache = cache

    @property
    def topics(self) -> Sequence[BagTopic]:
        """The topics that the file tells of."""
        found = []
        for channel in self._file.channels.values():
            schema = self._file.schemas.get(channel.schema)
            topic = BagTopic(channel.topic, '' if schema is None else _type_name(schema.name),
                             qos=profiles(channel.metadata.get('offered_qos_profiles', '')),
                             coding=channel.encoding)
            if schema is not None and schema.encoding in sqlite_reading.ENCODINGS:
                topic = replace(topic, definition=schema.definition, encoding=schema.encoding)
            found.append(topic)
        return found

    def parts(self, number: int, wanted: Collection[str] | None) -> list[Part]:
        """Its pieces that hold messages of some topics, or of all."""
        file = self._file
        channels = {key for key, channel in file.channels.items()
                    if wanted is None or channel.topic in wanted}
        return [(piece.start_ns, functools.partial(self._read, number, index, wanted))
                for index, piece in enumerate(file.pieces)
                if not piece.channels or piece.channels & channels
                or not piece.channels <= file.channels.keys()]

    def data(self, place: tuple[int, ...]) -> bytes:
        """A message's data again."""
        piece, begin, end = place
        return self._cache.get(self._file, piece)[begin:end]

    def _read(self, number: int, index: int, wanted: Collection[str] | None,
              ) -> Iterator[BagMessage]:
        file = self._file
        entries = file.entries(file.pieces[index], self._cache.get(file, index))
        entries.sort(key=lambda entry: entry.log_ns)
        for entry in entries:
            channel = file.channels.get(entry.channel)
            if channel is None:
                file.complain('the description of a topic is lost, and its messages with it')
            elif wanted is None or channel.topic in wanted:
                yield BagMessage(channel.topic, entry.log_ns,
                                 self._cache.get(file, index)[entry.begin:entry.end],
                                 (number, index, entry.begin, entry.end))


class SqliteStorage(_FileStorage[sqlite_reading.SqliteFile]):
    """An sqlite3 file of a bag."""

    def __init__(self, path: Path, label: str, scratch: Scratch | None = None) -> None:
        """Open a file.

        Args:
            path: the file.
            label: its name in complaints.
            scratch: where the file is, if it is a temporary one.
        """
        copy = None
        if sqlite_reading.waiting(path):
            scratch = Scratch()
            copy = scratch.folder
        super().__init__(sqlite_reading.SqliteFile(path, label, copy), scratch)

    @property
    def topics(self) -> Sequence[BagTopic]:
        """The topics that the file tells of."""
        found = []
        for topic in self._file.topics.values():
            encoding, text = self._file.definitions.get(topic.type, ('', ''))
            known = encoding in sqlite_reading.ENCODINGS
            found.append(BagTopic(topic.name, _type_name(topic.type), text if known else '',
                                  encoding if known else 'ros2msg', profiles(topic.qos),
                                  topic.coding))
        return found

    def parts(self, number: int, wanted: Collection[str] | None) -> list[Part]:
        """Its messages of some topics, or of all, as one part."""
        rows = self._file.rows
        names = {key: topic.name for key, topic in self._file.topics.items()
                 if wanted is None or topic.name in wanted}
        rows = rows[np.isin(rows['topic'], list(names))]
        return [(int(rows['ns'][0]), lambda: self._read(number, rows, names))] if len(rows) else []

    def data(self, place: tuple[int, ...]) -> bytes:
        """A message's data again."""
        key, log_ns = place
        with self._file.reader() as read:
            return read(key, log_ns) or b''

    def _read(self, number: int, rows: NDArray[np.void], names: Mapping[int, str],
              ) -> Iterator[BagMessage]:
        with self._file.reader() as read:
            for row in rows:
                _, topic, log_ns, key = row.tolist()
                data = read(key, log_ns)
                if data is not None:
                    yield BagMessage(names[topic], log_ns, data, (number, key, log_ns))


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
                         'one, or give another folder')
    return sorted(found, key=lambda bag: _natural(str(bag)))


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
        InputError: it is not there, or nothing of it can be read.
    """
    path = _existing(path)
    complaints: list[str] = []
    metadata = Metadata()
    try:
        if path.is_file():
            files = [path]
        else:
            if (path / METADATA).is_file():
                try:
                    metadata = read_metadata(path / METADATA)
                except InputError as error:
                    complaints.append(f'{error}; the files of the bag are read without it')
            files = _files_of(path, metadata, complaints)
    except OSError as error:
        raise _unreadable(path, error) from error
    cache, storages, reasons = PieceCache(), [], []
    for file in files:
        try:
            storages.append(_open_storage(file, cache, complaints))
        except (InfrastructureError, InputError) as error:
            reasons.append(str(error))
    if not storages:
        told = '; '.join([*complaints, *reasons])
        raise InputError(f'{path}: nothing of it can be read: {told}' if files else
                         f'{path}: is no bag: there is no {" or ".join(SUFFIXES)} file in it'
                         + (f' ({told})' if told else ''))
    return Bag(path, storages, metadata, [*complaints, *reasons])


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


def _files_of(folder: Path, metadata: Metadata, complaints: list[str]) -> list[Path]:
    """The files of a bag, with complaints of those that are missing or not listed."""
    there = _bag_files([entry.name for entry in folder.iterdir()])
    if not metadata.files:
        return [folder / name for name in there]
    listed = []
    for name in metadata.files:
        # A recorder that was killed may not have compressed, or not have noted that it did.
        near = next((n for n in (name, name.removesuffix(_PACKED), name + _PACKED)
                     if (folder / n).is_file()), None)
        if near is None:
            complaints.append(f'{folder / name}: is missing, though {METADATA} lists it')
        else:
            listed.append(near)
    stems = {_SPLIT.sub('', _stem(name)) for name in metadata.files}
    for name in there:
        if name not in listed:
            ours = _SPLIT.sub('', _stem(name)) in stems
            complaints.append(f'{folder / name}: {METADATA} does not list it; it is '
                              f'{"read, too" if ours else "left out"}')
            if ours:
                listed.append(name)
    return [folder / name for name in sorted(listed, key=_natural)]


def _open_storage(path: Path, cache: PieceCache, complaints: list[str]) -> Storage:
    """Open a file of a bag, by what is in it, or else by its name.

    Args:
        path: the file.
        cache: of all files of the bag.
        complaints: what is wrong with it as a whole is added here.

    Raises:
        InputError, InfrastructureError: nothing of it can be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block for ever
            raise _irregular(path)
        with path.open('rb') as file:
            head = file.read(16)
    except OSError as error:
        raise _unreadable(path, error) from error
    label, suffixes = str(path), path.suffixes
    scratch = None
    if head.startswith(_ZSTD):
        scratch = Scratch()
        path = _unpacked_file(path, scratch.folder, complaints)
        with path.open('rb') as file:
            head = file.read(16)
    if head.startswith(MAGIC) or '.mcap' in suffixes[-2:]:
        storage: Storage = McapStorage(McapFile(path, label), cache, scratch)
    elif head.startswith(sqlite_reading.MAGIC) or '.db3' in suffixes[-2:]:
        storage = SqliteStorage(path, label, scratch)
    else:
        raise InputError(f'{label}: is neither an MCAP nor an sqlite3 file')
    return storage


def _unpacked_file(path: Path, folder: Path, complaints: list[str]) -> Path:
    """Unpack a file that rosbag2 has compressed as a whole, as far as it goes.

    Raises:
        InfrastructureError: there is no room for it.
    """
    target = folder / path.name.removesuffix(_PACKED)
    zstd = zstd_module()
    unpacker = zstd.ZstdDecompressor()
    try:
        with path.open('rb') as source, target.open('wb') as sink:
            while not unpacker.eof:
                block = source.read(_BLOCK) if unpacker.needs_input else b''
                if unpacker.needs_input and not block:
                    complaints.append(f'{path}: is cut off; {sink.tell()} bytes of what it held '
                                      'could be unpacked')
                    break
                sink.write(unpacker.decompress(block, _BLOCK))
    except zstd.ZstdError as error:
        complaints.append(f'{path}: is damaged ({error}); what comes before the damage is read')
    except OSError as error:
        raise InfrastructureError(f'{path}: cannot be unpacked in {folder}: '
                                  f'{error.strerror}') from error
    return target
