"""Reading files that people write, checked by pydantic models; errors name file and field."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from sightplan.model.errors import InputError, excerpt
from sightplan.model.json_text import load_json
from sightplan.model.yaml_text import load_yaml

_MOST_NAMED, _MOST_WORDS = 10, 500
"""Most wrong fields that an error names, and most characters about one of them."""

M = TypeVar('M')


class Record(pydantic.BaseModel):
    """Base of records read from files: no unknown fields, no silent conversions, immutable."""

    model_config = pydantic.ConfigDict(extra='forbid', frozen=True, strict=True)


def read_file(kind: type[M], path: Path) -> M:
    """Read a YAML or JSON file.

    Raises:
        InputError: it cannot be read, or a field of it is wrong; names file, field and remedy.
    """
    return validated(kind, read_data(path), path)


def read_data(path: Path) -> Any:
    """Return the plain content of a JSON file (by its suffix) or of a YAML file.

    Raises:
        InputError: it cannot be read; names the file.
    """
    try:
        text = path.read_text('utf-8-sig')
        return load_json(text) if path.suffix == '.json' else load_yaml(text)
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror or error})') from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {str(error)[:_MOST_WORDS]} (correct the file)'
                         ) from error


def validated(kind: type[M], data: Any, where: Path | str) -> M:
    """Check plain data and return it as an instance of a model.

    Args:
        kind: the model, or a dataclass.
        data: plain data, as YAML or JSON have it (lists stand for tuples, too).
        where: file or place it is from, for the message.

    Raises:
        InputError: a field is unknown, missing or wrong; names place, field and remedy.
    """
    try:
        read: M = _adapter(kind).validate_json(json.dumps(data))  # type: ignore[arg-type]
        return read
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False)
        more = [f'{where}: and {len(found) - _MOST_NAMED} more'] if len(
            found) > _MOST_NAMED else []
        raise InputError('\n'.join([*(f'{where}: {_wrong(item, kind)}'
                                      for item in found[:_MOST_NAMED]), *more])) from error
    except (TypeError, ValueError, RecursionError) as error:  # json: no plain data, or too deep
        raise InputError(f'{where}: {error}; write plain texts, numbers, lists and mappings'
                         ) from error


@functools.cache
def _adapter(kind: Any) -> Any:
    return pydantic.TypeAdapter(kind)


def _wrong(item: Any, kind: type) -> str:
    """Return one error as text: field, value, and what is allowed."""
    place = '.'.join(excerpt(part) for part in item['loc'])
    if item['type'] == 'missing':
        return f'{place} is missing (add it)'
    if item['type'] in ('extra_forbidden', 'unexpected_keyword_argument'):
        fields: Any = getattr(kind, 'model_fields', None) or [
            field.name for field in (dataclasses.fields(kind) if dataclasses.is_dataclass(kind)
                                     else ())]
        known = f' (known: {", ".join(fields)})' if len(item['loc']) == 1 else ''
        return f'{place} is unknown{known}; remove it, or correct its name'
    reason = excerpt(item['msg'].removeprefix('Value error, '), _MOST_WORDS)
    return (f'{place or "the content"} = {excerpt(repr(item["input"]), 100)}: '
            f'{reason[:1].lower()}{reason[1:]}')
