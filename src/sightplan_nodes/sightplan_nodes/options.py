"""Options of a backend, a method or a world, given as text in one parameter."""

from __future__ import annotations

from typing import Any

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.option_pairs import read_options


def parse_options(text: str, source: str, settings: type | None = None) -> dict[str, Any]:
    """Read ``key=value`` pairs separated by commas, or one JSON object.

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
        raise InputError(f'{source} is not JSON: {error}') from None  # nor told: it may hold a key
    return dict(options)
