"""Reading files that people write, checked by pydantic models; errors name file and field."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, TypeVar

import pydantic
import yaml

from sightplan.model.errors import InputError
from sightplan.model.yaml_text import load_yaml

M = TypeVar('M')


class Record(pydantic.BaseModel):
    """Base of what is read from a file: no unknown fields, no silent conversions, immutable."""

    model_config = pydantic.ConfigDict(extra='forbid', frozen=True, strict=True)


def read_file(kind: type[M], path: Path) -> M:
    """Read a YAML or JSON file.

    Raises:
        InputError: it cannot be read, or a field of it is wrong; names file, field and remedy.
    """
    return validated(kind, read_data(path), path)


def read_data(path: Path) -> Any:
    """Plain content of a JSON file (by its suffix) or of a YAML file.

    Raises:
        InputError: it cannot be read; names the file.
    """
    try:
        text = path.read_text('utf-8')
        return json.loads(text) if path.suffix == '.json' else load_yaml(text)
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror or error})') from error
    except (ValueError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error} (correct the file)') from error


def validated(kind: type[M], data: Any, where: Path | str) -> M:
    """Data as a model.

    Args:
        kind: the model, or a dataclass.
        data: plain data, as YAML or JSON have it (lists stand for tuples, too).
        where: file or place it is from, for the message.

    Raises:
        InputError: a field is unknown, missing or wrong; names place, field and remedy.
    """
    try:
        found: M = _adapter(kind).validate_json(json.dumps(data))  # type: ignore[arg-type]
        return found
    except TypeError as error:
        raise InputError(f'{where}: {error}; write plain texts, numbers, lists and mappings'
                         ) from error
    except pydantic.ValidationError as error:
        raise InputError('\n'.join(f'{where}: {_wrong(item, kind)}' for item in error.errors(
            include_url=False))) from error


@functools.cache
def _adapter(kind: Any) -> Any:
    return pydantic.TypeAdapter(kind)


def _wrong(item: Any, kind: type) -> str:
    """One error in words: field, value, what is allowed."""
    place = '.'.join(map(str, item['loc']))
    if item['type'] == 'missing':
        return f'{place} is missing (add it)'
    if item['type'] in ('extra_forbidden', 'unexpected_keyword_argument'):
        fields: Any = getattr(kind, 'model_fields', None) or getattr(
            kind, '__dataclass_fields__', ())
        known = f' (known: {", ".join(fields)})' if len(item['loc']) == 1 else ''
        return f'{place} is unknown{known}; remove it, or correct its name'
    value, reason = repr(item['input']), item['msg'].removeprefix('Value error, ')
    shown = value if len(value) < 100 else f'{value[:97]}...'
    return f'{place or "the content"} = {shown}: {reason[:1].lower()}{reason[1:]}'
