"""Confusion tables: how often a model says yes to true and to false atoms, per predicate.

Two sources: the tables of 16 real models that lie in ``data/`` (taken from published results, see
the ``source`` field there), and files of a user, JSON or YAML, of this form::

    name: my-model            # optional, default: the file's stem
    rates:                    # or  splits: {simple: {...}, hard: {...}}
      'on': {p_yes_true: 0.98, p_yes_false: 0.02}    # quoted: a bare on is true in YAML
      clear: {p_yes_true: 0.95, p_yes_false: 0.10, p_unparsed: 0.01}
      default: {p_yes_true: 0.99, p_yes_false: 0.01}     # optional: all other predicates
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError, user_path

_DATA = Path(__file__).parent / 'data'
_RATES = ('p_yes_true', 'p_yes_false', 'p_unparsed')
_COUNTS = ('n_true', 'n_false', 'unparsable')
_MAX_COUNT = 1e15
DEFAULT = 'default'


@dataclass(frozen=True, slots=True)
class Rates:
    """How a model answers about one predicate.

    Attributes:
        error_true: P(readable answer is "no" | atom true); None: never a readable answer.
        error_false: P(readable answer is "yes" | atom false); None: likewise.
        unparsed: P(answer cannot be read).
    """

    error_true: float | None
    error_false: float | None
    unparsed: float = 0.0


PERFECT = Rates(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Rates of one model.

    Attributes:
        name: what the table is called in results.
        splits: split name to predicate to rates.
        pooled: predicate to rates over all splits, for splits that the table does not know.
    """

    name: str
    splits: Mapping[str, Mapping[str, Rates]]
    pooled: Mapping[str, Rates]

    def rates(self, split: str, predicate: str) -> Rates:
        """Rates of a predicate in a split; pooled ones for an unknown split.

        Raises:
            InputError: the table says nothing about the predicate.
        """
        for row in (self.splits.get(split, {}), self.pooled):
            for key in (predicate, DEFAULT):
                if key in row:
                    return row[key]
        raise InputError(f'confusion table {self.name!r} has no rates for predicate '
                         f'{predicate!r}; it has {", ".join(sorted(self.pooled))}. Add it, or an '
                         f'entry {DEFAULT!r}')


def table_names() -> tuple[str, ...]:
    """Names of the tables that come with the package, 'perfect' first."""
    return ('perfect', *sorted(_bundled(), key=str.lower))


def load_table(name: str, cot: bool = False, pseudo_count: float = 0.0) -> ConfusionTable:
    """Load a table.

    Args:
        name: 'perfect', a name of ``table_names()`` (any case), or the path of a user's file.
        cot: of the bundled ones, that of the answers given after a chain of thought.
        pseudo_count: added to the numbers of right and of wrong answers behind each rate whose
            number of answers the table gives.

    Raises:
        InputError: there is no such table, or the file is not one; names file and field.
    """
    if name == 'perfect':
        return ConfusionTable('perfect', {}, {DEFAULT: PERFECT})
    for known, modes in _bundled().items():
        if known.lower() == name.lower():
            mode = 'cot' if cot else 'plain'
            return _table(_named(f'{known}/{mode}', pseudo_count), modes[mode],
                          f'bundled table {known}', pseudo_count)
    path = user_path(name)
    if path.suffix.lower() in ('.json', '.yaml', '.yml'):
        return _read_file(path, pseudo_count)
    raise InputError(f'there is no confusion table {name!r}: give the path of a .json or .yaml '
                     f'file, or one of {", ".join(table_names())}')


@functools.cache
def _bundled() -> dict[str, dict[str, dict[str, Any]]]:
    """Model to mode (plain, cot) to split to predicate to raw fields, over all domains.

    The domains' predicates have different names, so one table can hold them all.
    """
    merged: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(_DATA.glob('confusion_*.json')):
        for model, modes in json.loads(path.read_text('utf-8'))['models'].items():
            for mode, splits in modes.items():
                for split, rows in splits.items():
                    (merged.setdefault(model, {}).setdefault(mode, {}).setdefault(split, {})
                     .update(rows))
    return merged


def _named(name: str, pseudo_count: float) -> str:
    return f'{name}+{pseudo_count:g}' if pseudo_count else name


def _read_file(path: Path, pseudo_count: float) -> ConfusionTable:
    try:
        text = path.read_text('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'{path}: cannot be read ({error})') from error
    try:
        if path.suffix.lower() == '.json':
            raw = json.loads(text)
        else:
            import yaml
            raw = yaml.safe_load(text)
    except ValueError as error:
        raise InputError(f'{path}: is not valid JSON ({error})') from error
    except Exception as error:  # yaml.YAMLError, from a module that is imported only here
        raise InputError(f'{path}: is not valid YAML ({error})') from error
    if not isinstance(raw, dict):
        raise InputError(f'{path}: must be a mapping with a field "rates" or "splits"')
    unknown = set(raw) - {'name', 'source', 'rates', 'splits'}
    if unknown or ('rates' in raw) == ('splits' in raw):
        raise InputError(f'{path}: must have exactly one of the fields "rates" and "splits", '
                         f'and may have "name" and "source"'
                         + (f'; unknown: {", ".join(map(str, sorted(unknown, key=str)))}'
                            if unknown else ''))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = _named(f'{raw.get("name") or path.stem}@{digest}', pseudo_count)
    if 'rates' in raw:
        pooled = _row(raw['rates'], f'{path}: rates', pseudo_count)
        return ConfusionTable(name, {}, pooled)
    return _table(name, raw['splits'], f'{path}: splits', pseudo_count)


def _table(name: str, raw: object, where: str, pseudo_count: float) -> ConfusionTable:
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f'{where}: must map split names to predicates')
    for split, rows in raw.items():
        _check_row(rows, f'{where}: {split}')
    pooled = _row(_pool(list(raw.values())), where, pseudo_count)
    splits = {str(split): _row(rows, f'{where}: {split}', pseudo_count, pooled)
              for split, rows in raw.items()}
    return ConfusionTable(name, splits, pooled)


def _pool(rows: list[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Weighted means over splits, by the number of answers (equal weights where not given)."""
    pooled: dict[str, dict[str, Any]] = {}
    predicates = dict.fromkeys(p for row in rows for p in row)
    for predicate in predicates:
        entries = [r[predicate] for r in rows if isinstance(r.get(predicate), Mapping)]
        fields: dict[str, Any] = {}
        for rate, count in (('p_yes_true', 'n_true'), ('p_yes_false', 'n_false')):
            pairs = [(e[rate], e.get(count, 1)) for e in entries
                     if _is_number(e.get(rate)) and _is_number(e.get(count, 1))]
            total = sum(n for _, n in pairs)
            fields[rate] = sum(p * n for p, n in pairs) / total if total else None
            if all(count in e for e in entries):
                fields[count] = total
        fields['p_unparsed'] = (sum(_unparsed(e) for e in entries) / len(entries)
                                if entries else 0.0)
        pooled[predicate] = fields
    return pooled


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unparsed(entry: Mapping[str, Any]) -> float:
    if _is_number(entry.get('p_unparsed')):
        return float(entry['p_unparsed'])
    unread = entry.get('unparsable', 0)
    total = unread + entry.get('n_true', 0) + entry.get('n_false', 0)
    return float(unread / total) if total else 0.0


def _row(raw: object, where: str, pseudo_count: float,
         pooled: Mapping[str, Rates] | None = None) -> dict[str, Rates]:
    """Check and read predicate to rates; nulls are filled from the pooled rates."""
    rates: dict[str, Rates] = {}
    for predicate, entry in _check_row(raw, where).items():
        spare = (pooled or {}).get(predicate.lower())
        yes_true, yes_false = (_smooth(entry[f'p_yes_{side}'], entry.get(f'n_{side}', 0),
                                       pseudo_count) for side in ('true', 'false'))
        rates[predicate.lower()] = Rates(
            1.0 - yes_true if yes_true is not None else spare.error_true if spare else None,
            float(yes_false) if yes_false is not None else spare.error_false if spare else None,
            _unparsed(entry))
    return rates


def _check_row(raw: object, where: str) -> Mapping[str, Mapping[str, Any]]:
    """The same, once it is certain that it maps predicates to fields with usable numbers."""
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f'{where}: must map predicates to rates')
    for predicate, entry in raw.items():
        here = f'{where}: {predicate}'
        if not isinstance(predicate, str):
            raise InputError(f'{here}: a predicate must be text; write it in quotes (YAML reads '
                             f'a bare "on" as true)')
        if not isinstance(entry, Mapping):
            raise InputError(f'{here}: must have the fields p_yes_true and p_yes_false')
        for field in entry:
            if field not in (*_RATES, *_COUNTS):
                raise InputError(f'{here}: unknown field {field!r}; known are '
                                 f'{", ".join((*_RATES, *_COUNTS))}')
        for field in _RATES:
            value = entry.get(field, 0.0 if field == 'p_unparsed' else ...)
            if value is ...:
                raise InputError(f'{here}: field {field!r} is missing')
            if value is None and field != 'p_unparsed':
                continue
            if not _is_number(value) or not 0.0 <= value <= 1.0:
                raise InputError(f'{here}: {field} = {value!r} must be a number in [0, 1]')
        for field in _COUNTS:
            value = entry.get(field, 0)
            if not _is_number(value) or not 0 <= value <= _MAX_COUNT:
                raise InputError(f'{here}: {field} = {value!r} must be a count')
    return raw


def _smooth(share: float | None, n: float, pseudo_count: float) -> float | None:
    """The share after ``pseudo_count`` more answers of either kind; unknown n changes nothing."""
    if share is None or not n:
        return share
    return (share * n + pseudo_count) / (n + 2.0 * pseudo_count)
