"""The entries ``exclude`` of a sweep's file: which cells they leave out, and what is wrong there.

A field or value that no cell has is a mistake, and the cells that were meant would be run and
paid for. So each field must be one that cells have, and each value one that some cell has; whether
a cell has all of an entry together is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sightplan.model import InputError, did_you_mean, excerpt

Fields = Mapping[str, Any]
_MOST_NAMED = 20


class Exclusions:
    """The entries of one file; they remember the fields and values of the cells they tested."""

    def __init__(self, entries: Sequence[Fields], source: str) -> None:
        """Take the entries.

        Args:
            entries: as they are in the file: field to the value, or the list of values.
            source: what to call the file in messages.

        Raises:
            InputError: an entry is empty, or has an empty list.
        """
        self._source = source
        self._entries = [{key: value if isinstance(value, list) else [value]
                          for key, value in entry.items()} for entry in entries]
        self._keys: dict[str, None] = {}
        self._values: dict[str, dict[str, None]] = {
            key: {} for entry in self._entries for key in entry}
        self._met: set[tuple[int, str, int]] = set()
        for number, entry in enumerate(self._entries):
            if not entry:
                raise self._error(number, 'is empty; name the fields and values of the cells to '
                                          'leave out, or remove it')
            for key, wanted in entry.items():
                if not wanted:
                    raise self._error(number, f'{key}: the list is empty; give the values to '
                                              f'leave out, or remove the entry')

    def match(self, labels: Fields, fields: Fields,
              in_words: Callable[[Fields], Fields] = lambda entry: entry) -> bool:
        """Whether an entry leaves a cell out.

        Args:
            labels: of the cell, by axis; they count before fields of the same name.
            fields: of the cell.
            in_words: gives an entry with words in place of what YAML makes of them.
        """
        cell = {**fields, **labels}
        self._keys |= dict.fromkeys(cell)
        for key in self._values.keys() & cell.keys():
            self._values[key][_text(cell[key])] = None
        found = [self._matches(number, in_words(entry), cell)
                 for number, entry in enumerate(self._entries)]  # all of them: each remembers
        return any(found)

    def _matches(self, number: int, entry: Fields, cell: Fields) -> bool:
        all_match = True
        for key, wanted in entry.items():
            met = {(number, key, place) for place, value in enumerate(wanted)
                   if key in cell and value == cell[key]}
            self._met |= met
            all_match = all_match and bool(met)
        return all_match

    def check(self, known: Collection[str], options: Collection[str]) -> None:
        """Check that some cell had each field and each value; call it after all cells.

        Args:
            known: names of the fields that cells may have.
            options: what stands before the dot in the names of further ones.

        Raises:
            InputError: no cell had one; names entry, field and value, and what there is.
        """
        for number, entry in enumerate(self._entries):
            for key, wanted in entry.items():
                if key not in self._keys:
                    right = key in known or key.partition('.')[0] in options
                    raise self._error(number, f'{key}: ' + (
                        'no cell sets it' if right else
                        f'is unknown{did_you_mean(key, (*self._keys, *known))}')
                        + f'; cells have {_some(self._keys)}')
                for place, value in enumerate(wanted):
                    if (number, key, place) not in self._met:
                        values = self._values[key]
                        raise self._error(
                            number, f'{key} = {excerpt(repr(value))}: no cell has this value'
                            f'{did_you_mean(_text(value), tuple(values))}; values of {key} are '
                            f'{_some(values)}')

    def _error(self, number: int, words: str) -> InputError:
        return InputError(f'{self._source}: exclude, entry {number + 1}: {words}')


def _some(names: Collection[str]) -> str:
    shown = [excerpt(name) or "''" for name in names][:_MOST_NAMED]
    more = len(names) - len(shown)
    return ', '.join(shown) + (f' and {more} more' if more > 0 else '')


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
