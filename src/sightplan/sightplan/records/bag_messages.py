"""Messages without ROS: as dataclasses of ``rosbags``, and their bytes."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from sightplan.model import InputError
from sightplan.records.bag import MessageTypes
from sightplan.records.messages import DEFINITIONS, PACKAGE


@functools.cache
def message_types() -> MessageTypes:
    """The message types that are recorded, by their definitions in this version."""
    return MessageTypes({PACKAGE: DEFINITIONS})


class BagMessages:
    """Makes messages without ROS, as dataclasses of ``rosbags``, and their bytes (CDR)."""

    def __init__(self, types: MessageTypes | None = None) -> None:
        """Make messages of ``types``; None: those of this version."""
        self.types = types or message_types()

    def __call__(self, name: str, /, **fields: Any) -> Any:
        """A message of a type; fields that are not given have their defaults.

        Raises:
            InputError: an unknown type or field.
        """
        known = self._fields(name)
        unknown = [field for field in fields if field not in known]
        if unknown:
            raise InputError(f'message type {name!r} has no field {", ".join(unknown)}')
        values = {field: (_fit(fields[field], kind) if field in fields else self._default(kind))
                  for field, kind in known.items()}
        return self.types.store.types[name](**values)

    def data(self, message: Any) -> bytes:
        """Return a message's bytes."""
        return bytes(self.types.store.serialize_cdr(message, message.__msgtype__))

    def read(self, data: bytes, name: str) -> Any:
        """The message of a type that these bytes are.

        Raises:
            InputError: an unknown type, or bytes that do not fit it.
        """
        from rosbags.serde import SerdeError
        self._fields(name)
        try:
            return self.types.store.deserialize_cdr(data, name)
        except (SerdeError, ValueError, struct.error) as error:
            raise InputError(f'{name}: its bytes cannot be read ({error})') from error

    def _fields(self, name: str) -> dict[str, Any]:
        try:
            return dict(self.types.store.get_msgdef(name).fields)
        except KeyError as error:
            raise InputError(f'message type {name!r} is unknown') from error

    def _default(self, kind: Any) -> Any:
        node, detail = kind
        if _is_name(node):
            return self(detail)
        if _is_base(node):
            return {'string': '', 'wstring': '', 'bool': False}.get(
                detail[0], 0.0 if detail[0].startswith('float') else 0)
        item, length = detail
        length = length if node.name == 'ARRAY' else 0
        return _fit([self._default(item) for _ in range(length)], kind)


def _is_base(node: Any) -> bool:
    return bool(node.name == 'BASE')


def _is_name(node: Any) -> bool:
    return bool(node.name == 'NAME')


def _fit(value: Any, kind: Any) -> Any:
    """Convert a value to the form of ``rosbags``: numbers of an array as a numpy array."""
    node, detail = kind
    if _is_base(node) or _is_name(node):
        return value
    item, base = detail[0]
    if not _is_base(item) or base[0] in ('string', 'wstring'):
        return list(value)
    names = {'octet': 'uint8', 'byte': 'uint8', 'char': 'uint8'}
    return np.asarray(value, names.get(base[0], base[0]))
