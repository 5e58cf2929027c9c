"""Reading YAML that anybody may have written: nothing of it ends the process, or fills the memory.

PyYAML's composers recurse: the fast one ends the process at some ten thousand levels, the other
one with a RecursionError. Aliases can stand for each other, so that a few lines are billions of
values. Its parsers of events do neither, so both are checked with these before. What its
constructors raise for values that are none, such as the date 2026-99-99, is an error of YAML, too.
"""

from __future__ import annotations

from typing import Any

import yaml

DEEPEST = 100
"""Levels of nesting that are read; no file here has as many as ten."""
MOST_REPEATED = 100_000
"""Values and characters that aliases may repeat, all together."""

_NO_VALUE = (ValueError, ArithmeticError, TypeError, AttributeError, LookupError, RecursionError)


def load_yaml(source: Any, loader: Any = yaml.CSafeLoader) -> Any:
    """The data of a YAML text.

    Args:
        source: the text, its bytes, or an open file.
        loader: a safe loader.

    Raises:
        yaml.YAMLError: it is not YAML, nested more than DEEPEST levels deep, or its aliases
            repeat too much.
    """
    text = checked(source)
    try:
        return yaml.load(text, loader)  # noqa: S506 - a safe one
    except yaml.YAMLError:
        raise
    except _NO_VALUE as error:
        raise _no_value(error) from error


def load_first(source: Any) -> Any:
    """The data of the first document of a YAML text, None of an empty one.

    Raises:
        yaml.YAMLError: see ``load_yaml``.
    """
    text = checked(source)
    try:
        return next(iter(yaml.load_all(text, yaml.CSafeLoader)), None)
    except yaml.YAMLError:
        raise
    except _NO_VALUE as error:
        raise _no_value(error) from error


def _no_value(error: Exception) -> yaml.YAMLError:
    return yaml.YAMLError(f'it holds a value that is none of its kind ({str(error)[:200]}); quote '
                          'what is meant as a text')


def checked(source: Any) -> Any:
    """A YAML text that can be composed, or that is none; an open file is read.

    Raises:
        yaml.YAMLError: it is nested more than DEEPEST levels deep, an alias stands in what it
            stands for, or aliases repeat more than MOST_REPEATED values and characters.
    """
    text = source.read() if hasattr(source, 'read') else source
    known: dict[str, int] = {}  # anchors, and how much stands for each
    opened: list[tuple[str | None, int]] = []  # collections: anchor, how much came before
    much = repeated = 0
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    while True:
        try:
            event = next(events, None)
        except (yaml.YAMLError, ValueError):  # the loader says it in its own words
            return text
        if event is None:
            return text
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, much))
            if len(opened) > DEEPEST:
                raise yaml.YAMLError(f'{_line(event)}: nested more than {DEEPEST} levels deep')
            much += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                known[anchor] = much - before
        elif isinstance(event, yaml.ScalarEvent):
            own = 1 + len(event.value)
            much += own
            if event.anchor is not None:
                known[event.anchor] = own
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise yaml.YAMLError(f'{_line(event)}: *{event.anchor} stands in what it stands '
                                     'for')
            own = known.get(event.anchor or '', 1)
            much += own
            repeated += own
            if repeated > MOST_REPEATED:
                raise yaml.YAMLError(f'{_line(event)}: aliases repeat more than {MOST_REPEATED} '
                                     'values and characters')


def _line(event: Any) -> str:
    return f'line {1 + (event.start_mark.line if event.start_mark else 0)}'
