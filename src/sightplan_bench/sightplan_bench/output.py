"""Printing of benchmarks' results: readable JSON, and paths of files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sightplan.commands.frame import DONE, FAILED, Result, json_wanted, note


def say(part: str, text: str) -> None:
    """Print a line about a part on standard error."""
    note(f'bench {part}: {text}')


def shown(result: Mapping[str, Any], good: bool) -> Result:
    """Print figures unless they come as ``--json``; the exit code is 1 if they are not good."""
    if not json_wanted():
        print(json.dumps(result, indent=2, allow_nan=False))
    return result, DONE if good else FAILED
