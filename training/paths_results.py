"""Writes the file of results of learning about paths; the docs take their tables from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def update(path: Path, part: str, found: Any) -> None:
    """Write one part of the file; the others stay as they are."""
    content: dict[str, Any] = json.loads(path.read_text('utf-8')) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    content[part] = found
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + '\n', 'utf-8')
