"""Names of fields: a table maps the names in files and replies to ours."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic

from sightplan.model import InputError
from sightplan.model.reading import Record, read_file

FILE = 'fields.yaml'
Names = Mapping[str, tuple[str, ...]]
"""Accepted names of each field."""


class FieldTable(Record):
    """Content of ``fields.yaml``: names of the fields of records, blocks, actions, predictions."""

    record: dict[str, tuple[str, ...]]
    block: dict[str, tuple[str, ...]]
    action: dict[str, tuple[str, ...]]
    prediction: dict[str, tuple[str, ...]]


class _FieldOverrides(Record):
    """Optional field names that a data folder overrides."""

    record: dict[str, tuple[str, ...]] = pydantic.Field({})
    block: dict[str, tuple[str, ...]] = pydantic.Field({})
    action: dict[str, tuple[str, ...]] = pydantic.Field({})
    prediction: dict[str, tuple[str, ...]] = pydantic.Field({})


def field_table(folder: Path | None = None) -> FieldTable:
    """The table that is shipped, with the names that a folder of data adds.

    Args:
        folder: of data; its own ``fields.yaml`` goes before ours.

    Raises:
        InputError: its file cannot be used, or names an unknown field.
    """
    shipped = _shipped()
    path = None if folder is None else folder / FILE
    if path is None or not path.is_file():
        return shipped
    more = read_file(_FieldOverrides, path)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for part in FieldTable.model_fields:
        known, added = getattr(shipped, part), getattr(more, part)
        for name in added:
            if name not in known:
                raise InputError(f'{path}: {part}.{name} is unknown (known: {", ".join(known)}); '
                                 'write our name, then what the files call it')
        found[part] = {name: tuple(dict.fromkeys((*added.get(name, ()), *names)))
                       for name, names in known.items()}
    return FieldTable(**found)


def renamed(entry: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Fields of an entry under our names; null values and unknown names are left out."""
    found = {}
    for name, called in names.items():
        for other in called:
            if entry.get(other) is not None:
                found[name] = entry[other]
                break
    return found


@functools.cache
def _shipped() -> FieldTable:
    return read_file(FieldTable, Path(__file__).with_name(FILE))
