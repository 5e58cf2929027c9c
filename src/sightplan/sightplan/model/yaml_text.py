"""Reading YAML that anybody may have written: too deep a nesting is an error, not a crash.

PyYAML's composers recurse: the fast one ends the process at some ten thousand levels, the other
one with a RecursionError. Its parsers of events do not, so depth is checked with these before.
"""

from __future__ import annotations

from typing import Any

import yaml

DEEPEST = 100
"""Levels of nesting that are read; no file here has as many as ten."""


def load_yaml(source: Any, loader: Any = yaml.CSafeLoader) -> Any:
    """The data of a YAML text.

    Args:
        source: the text, its bytes, or an open file.
        loader: a safe loader.

    Raises:
        yaml.YAMLError: it is not YAML, or nested more than DEEPEST levels deep.
    """
    text = checked(source)
    return yaml.load(text, loader)  # noqa: S506 - a safe one


def checked(source: Any) -> Any:
    """A YAML text whose nesting is not too deep, or that is none; an open file is read.

    Raises:
        yaml.YAMLError: it is nested more than DEEPEST levels deep.
    """
    text = source.read() if hasattr(source, 'read') else source
    depth, events = 0, yaml.parse(text, Loader=yaml.CSafeLoader)
    while True:
        try:
            event = next(events, None)
        except yaml.YAMLError:  # the loader says it in its own words, and comes no further
            return text
        if event is None:
            return text
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                line = 1 + (event.start_mark.line if event.start_mark else 0)
                raise yaml.YAMLError(f'line {line}: nested more than {DEEPEST} levels deep')
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
