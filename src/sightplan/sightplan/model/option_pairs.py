"""Options that people give as ``key=value``: on a command line, or in a node's parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightplan.model.errors import InputError, did_you_mean
from sightplan.model.json_text import load_json
from sightplan.model.settings import settings_fields
from sightplan.model.type_words import type_in_words


def read_options(pairs: Sequence[str], settings: type | None, flag: str) -> dict[str, Any]:
    """Read KEY=VALUE pairs; values get the type of the setting they are for.

    Args:
        pairs: as on the command line.
        settings: settings dataclass; None: values are read as JSON, else taken as text.
        flag: name of the option, for messages.

    Raises:
        InputError: a pair has no "=", an unknown key, or a value of another type.
    """
    fields = {f.name: f for f in settings_fields(settings)} if settings is not None else {}
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition('=')
        if not equals or not key:
            raise InputError(f'{flag} {pair!r} must have the form KEY=VALUE')
        if settings is None:
            try:
                options[key] = load_json(text)
            except ValueError:
                options[key] = text
            continue
        if key not in fields:
            hint = did_you_mean(key, tuple(fields)) or ';'
            raise InputError(f'{flag}: there is no setting {key!r}{hint} there are '
                             f'{", ".join(fields) or "none"}')
        meant = fields[key].value(text)
        options[key] = _convert(text, fields[key].type, f'{flag} {pair!r}'
                                ) if meant == text else meant
    return options


def parse_options(text: str, source: str, settings: type | None = None) -> dict[str, Any]:
    """Read options from one text: ``key=value`` pairs separated by commas, or one JSON object.

    Args:
        text: for example ``table=gpt-4.1,repeat=0.5`` or ``{"table": "gpt-4.1"}``.
        source: name of the parameter, for messages.
        settings: settings dataclass the options are for; None: values are read as JSON, else
            taken as text.

    Raises:
        InputError: the text has another form, or names an unknown setting.
    """
    text = text.strip()
    if not text.startswith('{'):
        pairs = [pair.strip() for pair in text.split(',') if pair.strip()]
        return read_options(pairs, settings, source)
    try:
        options = load_json(text)
    except ValueError as error:
        raise InputError(f'{source} is not JSON: {error}') from None  # it may hold a key
    return dict(options)


def _convert(text: str, kind: type, where: str) -> Any:
    if kind is bool:
        if text.lower() not in ('true', 'false'):
            raise InputError(f'{where}: must be true or false')
        return text.lower() == 'true'
    try:
        return kind(text)
    except ValueError as error:
        raise InputError(f'{where}: must be {type_in_words(kind)}') from error
