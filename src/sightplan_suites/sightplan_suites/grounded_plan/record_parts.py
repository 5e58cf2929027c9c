"""Instructions and paths of a record, in the forms in which people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sightplan.model import InputError, user_path
from sightplan.runs.dataset import Unusable

INSTRUCTION_KINDS = ('explicit', 'implicit')
WORDINGS = ('instruction', 'instructions', *INSTRUCTION_KINDS)
"""Fields of a record that hold an instruction, or several."""
_BOTH = 'instructions: {"explicit": ..., "implicit": ...}'
_TEXT, _KIND = ('text', 'instruction', 'wording'), ('type', 'kind', 'instruction_type')
_ADDRESS = re.compile(r'[A-Za-z][\w+.-]+://')


def wordings(entry: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """The instructions of a record by their kind, explicit first.

    Args:
        entry: the record, its fields under our names: ``instruction`` with ``instruction_type``;
            ``explicit`` and ``implicit``; or ``instructions``, a mapping of kinds to texts or a
            list of mappings with ``type`` and ``text``.

    Returns:
        Texts by kind; and what is wrong with them, naming field and remedy, '' if nothing is.
    """
    found: dict[str, Any] = {}
    for field in ('instruction', 'instructions'):
        given = entry.get(field)
        if isinstance(given, Mapping):
            if unknown := [name for name in given if _kind_of(name) is None]:
                return {}, f'{field}.{unknown[0]} is unknown (its names are explicit and implicit)'
            found |= {_kind_of(name) or '': text for name, text in given.items()}
        elif isinstance(given, list):
            parts = [_typed(one) for one in given]
            if None in parts:
                return {}, _mixed(field)
            found |= dict(part for part in parts if part is not None)
    found |= {kind: entry[kind] for kind in INSTRUCTION_KINDS if isinstance(entry.get(kind), str)}
    single = next((entry[field] for field in ('instruction', 'instructions')
                   if isinstance(entry.get(field), str)), None)
    if single is not None and single not in found.values():
        kind, wrong = _kind_of_record(entry)
        if wrong:
            return {}, wrong
        found.setdefault(kind, single)
    return _checked(found)


def _mixed(field: str) -> str:
    return (f'{field} is a list that does not tell explicit and implicit apart (write '
            f'{_BOTH})')


def _checked(found: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    if not found:
        return {}, f'instruction is missing (add it with its instruction_type, or {_BOTH})'
    for kind, text in found.items():
        if not isinstance(text, str) or not text.strip():
            return {}, (f'the {kind} instruction is empty (write what is to be done)'
                        if text in ('', None) or isinstance(text, str)
                        else f'the {kind} instruction = {text!r} must be a text')
    return {kind: found[kind] for kind in INSTRUCTION_KINDS if kind in found}, ''


def _kind_of_record(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of a record's one instruction, and what is wrong with it, '' if nothing is."""
    said = entry.get('instruction_type')
    if said is None:  # perhaps explicit: true
        flags = {kind: entry[kind] for kind in INSTRUCTION_KINDS if isinstance(entry.get(kind),
                                                                               bool)}
        if len(flags) == 1:
            (kind, yes), = flags.items()
            return kind if yes else next(one for one in INSTRUCTION_KINDS if one != kind), ''
        return '', ('instruction_type is missing (write explicit or implicit: explicit ones name '
                    f'actions and things, implicit ones only what is wanted; or {_BOTH})')
    meant = _kind_of(said)
    if meant is None:
        return '', f'instruction_type = {said!r} must be explicit or implicit'
    return meant, ''


def _kind_of(said: Any) -> str | None:
    name = said.strip().lower() if isinstance(said, str) else ''
    return name if name in INSTRUCTION_KINDS else None


def _typed(entry: Any) -> tuple[str, Any] | None:
    """Kind and text of an entry of a list; None if it does not tell both."""
    if not isinstance(entry, Mapping):
        return None
    kind = next((one for name in _KIND if (one := _kind_of(entry.get(name)))), None)
    text = next((entry[name] for name in _TEXT if name in entry), None)
    return None if kind is None or text is None else (kind, text)


def picture_path(text: str, field: str, where: str) -> str:
    """The path of a picture: absolute, or from the folder of data; ``~`` and ``file://`` are read.

    Args:
        text: as the record has it; backslashes count as slashes.
        field: name of the field.
        where: place of the record.

    Raises:
        Unusable: it is an address of the net, or no file can have this path.
    """
    path = text.strip()
    if path.lower().startswith('file://'):
        path = unquote(re.sub(r'^file://(?:localhost(?=/))?', '', path, flags=re.IGNORECASE))
    elif _ADDRESS.match(path):
        raise Unusable(where, f'{field} = {text!r} is an address (download the picture, and write '
                       'the path of its file)')
    path = path.replace('\\', '/')
    if not path or '\0' in path or not Path(path).name:
        raise Unusable(where, f'{field} = {text!r} is no path of a file (write it absolute, or '
                       'from the folder of the records)')
    if not path.startswith('~'):
        return str(Path(path))
    try:
        return str(user_path(path))
    except InputError as error:
        raise Unusable(where, f'{field}: {error}') from error
