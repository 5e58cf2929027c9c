"""Labels of rows and comparisons in a report; no two things share a label.

A name has what people expect, such as method and model; what else names a group is added only
where two of those present could not be distinguished without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sightplan_report.grouping import grouped

KEYS = ('method', 'model', 'failure_probability', 'variant', 'calibrated', 'privileged', 'backend',
        'names')
"""Cells that name a group of runs or a row of several models, in the order of a label."""

_ALWAYS = ('failure_probability', 'variant')
_LONG = 32
PRIVILEGED = 'privileged facts: '
"""Start of a label that says when privileged facts are provided."""


def disambiguated(rows: Sequence[Mapping[str, Any]], shown: Sequence[str] = ('method', 'model'),
                  keys: Sequence[str] = KEYS) -> list[dict[str, str]]:
    """The words of each row's label, by key.

    Args:
        rows: cells of tables, see ``tables.common.group_cells``.
        shown: keys that every label has; failing actions and variants come with them.
        keys: those that make rows different things. Rows that agree in all of them have the same
            words, others have different ones.
    """
    things = [tuple(str(row.get(key)) for key in keys) for row in rows]
    always = (*shown, *(key for key in _ALWAYS if key in keys))
    chosen = {thing: {key: word(key, row) for key in always}
              for thing, row in zip(things, rows, strict=True)}
    cells = dict(zip(things, rows, strict=True))
    for key in (key for key in keys if key not in always):
        for clashing in grouped(chosen, lambda thing: _joined(chosen[thing])).values():
            if len({word(key, cells[thing]) for thing in clashing}) > 1:
                for thing in clashing:
                    chosen[thing][key] = word(key, cells[thing])
    seen: Counter[str] = Counter()
    for words in chosen.values():
        text = _joined(words)
        seen[text] += 1
        if seen[text] > 1:
            words['number'] = f'no. {seen[text]}'
    return [chosen[thing] for thing in things]


def labels(rows: Sequence[Mapping[str, Any]], shown: Sequence[str] = ('method', 'model'),
           keys: Sequence[str] = KEYS) -> list[str]:
    """A label for each row, see ``disambiguated``."""
    return [_joined(words) for words in disambiguated(rows, shown, keys)]


def _joined(words: Mapping[str, str]) -> str:
    return ', '.join(words[key] for key in (*KEYS, 'number') if words.get(key))


def word(key: str, row: Mapping[str, Any]) -> str:
    """Text of a cell in a label; '' if it adds nothing."""
    value = row.get(key)
    if key == 'failure_probability':
        return f'{100 * value:g}% of actions fail' if value else ''
    if key == 'calibrated':
        return {None: '', True: 'calibrated', False: 'not calibrated'}[value]
    if key == 'privileged':
        return f'{PRIVILEGED}{value}' if value else ''
    text = str(value or '')
    return f'{row.get("models")} models' if key == 'names' and len(text) > _LONG else text
