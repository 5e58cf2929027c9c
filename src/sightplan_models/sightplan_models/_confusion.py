"""Confusion tables: P(yes) of a model for true and for false atoms, per predicate.

Rates of "yes" are among answers of yes or no, those of "unknown" (of a model that may say so)
among readable answers. Two sources: the tables of 16 real models that lie in ``data/`` (taken from
published results, see the ``source`` field there), and files of a user, JSON or YAML, of this
form::

    name: my-model            # optional, default: the file's stem
    rates:                    # or  splits: {simple: {...}, hard: {...}}
      'on': {p_yes_true: 0.98, p_yes_false: 0.02}    # quoted: a bare on is true in YAML
      clear: {p_yes_true: 0.95, p_yes_false: 0.10, p_unparsed: 0.01}
      open: {p_yes_true: 0.8, p_yes_false: 0.3, p_unknown_true: 0.3, p_unknown_false: 0.2}
      default: {p_yes_true: 0.99, p_yes_false: 0.01}     # optional: all other predicates
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from sightplan.model import InputError, user_path
from sightplan.model.perception import IN_WORDS
from sightplan.model.reading import Record, read_file, validated

_DATA = Path(__file__).parent / 'data'
DEFAULT = 'default'


def _predicate(name: str) -> str:
    if name in ('true', 'false'):
        raise ValueError('a predicate must be text; write it in quotes (YAML reads a bare "on" '
                         'as true)')
    return name


_Rate = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
_Count = Annotated[float, Field(ge=0.0, le=1e15, allow_inf_nan=False)]


class _Entry(Record):
    """Rates of a predicate in a file; a rate is null where no answer was readable."""

    p_yes_true: _Rate | None
    p_yes_false: _Rate | None
    p_unparsed: _Rate = 0.0
    p_unknown_true: _Rate = 0.0
    p_unknown_false: _Rate = 0.0
    n_true: _Count = 0.0
    n_false: _Count = 0.0
    unparsable: _Count = 0.0

    @property
    def unparsed(self) -> float:
        """P(answer cannot be read): as stated, else from the numbers of answers."""
        total = self.unparsable + self.n_true + self.n_false
        if 'p_unparsed' in self.model_fields_set or not total:
            return self.p_unparsed
        return self.unparsable / total


_Row = dict[Annotated[str, AfterValidator(_predicate)], _Entry]
_Filled = Annotated[_Row, Field(min_length=1)]


class _File(Record):
    name: str = ''
    source: str = ''
    rates: _Filled | None = None
    splits: Annotated[dict[str, _Filled], Field(min_length=1)] | None = None

    @model_validator(mode='after')
    def _one(self) -> Self:
        if (self.rates is None) == (self.splits is None):
            raise ValueError('give exactly one of the fields "rates" and "splits"')
        return self


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of a model's answers about one predicate.

    Attributes:
        error_true: P("no" | "yes" or "no", atom true); None: never a readable answer.
        error_false: P("yes" | "yes" or "no", atom false); None: likewise.
        unparsed: P(answer cannot be read).
        unknown_true: P("unknown" | readable answer, atom true), where the prompt offers it.
        unknown_false: P("unknown" | readable answer, atom false), likewise.
    """

    error_true: float | None
    error_false: float | None
    unparsed: float = 0.0
    unknown_true: float = 0.0
    unknown_false: float = 0.0


PERFECT = Rates(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Rates of one model.

    Attributes:
        name: what the table is called in results.
        splits: split name to predicate to rates.
        pooled: predicate to rates over all splits, for splits that the table does not know.
        overall: rates over all predicates and splits, for questions in words.
    """

    name: str
    splits: Mapping[str, Mapping[str, Rates]]
    pooled: Mapping[str, Rates]
    overall: Rates = PERFECT

    def rates(self, split: str, predicate: str) -> Rates:
        """Rates of a predicate in a split; pooled ones for an unknown split.

        A question in words has no predicate: it gets those of ``default``, else those overall.

        Raises:
            InputError: the table says nothing about the predicate.
        """
        for row in (self.splits.get(split, {}), self.pooled):
            for key in (predicate, DEFAULT):
                if key in row:
                    return row[key]
        if predicate == IN_WORDS:
            return self.overall
        raise InputError(f'confusion table {self.name!r} has no rates for predicate '
                         f'{predicate!r}; it has {", ".join(sorted(self.pooled))}. Add it, or an '
                         f'entry {DEFAULT!r}')


def table_names() -> tuple[str, ...]:
    """Names of the tables that come with the package, 'perfect' first."""
    return ('perfect', *sorted(_bundled(), key=str.lower))


def load_table(name: str, cot: bool = False, pseudo_count: float = 0.0) -> ConfusionTable:
    """Load a confusion table by its name or path.

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
    for known in _bundled():
        if known.lower() == name.lower():
            return _bundled_table(known, 'cot' if cot else 'plain', pseudo_count)
    path = user_path(name)
    if path.suffix.lower() in ('.json', '.yaml', '.yml'):
        return _read_file(path, pseudo_count)
    raise InputError(f'there is no confusion table {name!r}: give the path of a .json or .yaml '
                     f'file, or one of {", ".join(table_names())}')


@functools.lru_cache(maxsize=128)
def _bundled_table(name: str, mode: str, pseudo_count: float) -> ConfusionTable:
    table = validated(_File, {'splits': _bundled()[name][mode]}, f'bundled table {name}')
    return _table(_named(f'{name}/{mode}', pseudo_count), table.splits or {}, pseudo_count)


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
    found = read_file(_File, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    name = _named(f'{found.name or path.stem}@{digest}', pseudo_count)
    if found.rates is not None:
        return ConfusionTable(name, {}, _rates(found.rates, pseudo_count),
                              _overall([found.rates], pseudo_count))
    return _table(name, found.splits or {}, pseudo_count)


def _table(name: str, splits: Mapping[str, _Row], pseudo_count: float) -> ConfusionTable:
    pooled = _rates(_pool(list(splits.values())), pseudo_count)
    return ConfusionTable(name, {split: _rates(row, pseudo_count, pooled)
                                 for split, row in splits.items()}, pooled,
                          _overall(list(splits.values()), pseudo_count))


def _overall(rows: list[_Row], pseudo_count: float) -> Rates:
    """Rates over all splits and predicates, by the number of answers."""
    every = [{DEFAULT: entry} for row in rows for entry in row.values()]
    return _rates(_pool(every), pseudo_count)[DEFAULT]


def _pool(rows: list[_Row]) -> _Row:
    """Weighted means over splits, by the number of answers (equal weights where not given)."""
    pooled = {}
    for predicate in dict.fromkeys(p for row in rows for p in row):
        entries = [row[predicate] for row in rows if predicate in row]
        fields: dict[str, Any] = {
            'p_unparsed': sum(entry.unparsed for entry in entries) / len(entries)}
        for rate in ('p_unknown_true', 'p_unknown_false'):
            fields[rate] = sum(getattr(entry, rate) for entry in entries) / len(entries)
        for side in ('true', 'false'):
            rate, count = f'p_yes_{side}', f'n_{side}'
            known = [count in entry.model_fields_set for entry in entries]
            pairs = [(getattr(entry, rate), getattr(entry, count) if given else 1)
                     for entry, given in zip(entries, known, strict=True)
                     if getattr(entry, rate) is not None]
            total = sum(n for _, n in pairs)
            fields[rate] = sum(p * n for p, n in pairs) / total if total else None
            if all(known):
                fields[count] = total
        pooled[predicate] = _Entry.model_construct(**fields)
    return pooled


def _rates(row: _Row, pseudo_count: float,
           pooled: Mapping[str, Rates] | None = None) -> dict[str, Rates]:
    """Predicate to rates; nulls are filled from the pooled rates."""
    rates: dict[str, Rates] = {}
    for predicate, entry in row.items():
        spare = (pooled or {}).get(predicate.lower())
        yes_true = _smooth(entry.p_yes_true, entry.n_true, pseudo_count)
        yes_false = _smooth(entry.p_yes_false, entry.n_false, pseudo_count)
        rates[predicate.lower()] = Rates(
            1.0 - yes_true if yes_true is not None else spare.error_true if spare else None,
            yes_false if yes_false is not None else spare.error_false if spare else None,
            entry.unparsed, entry.p_unknown_true, entry.p_unknown_false)
    return rates


def _smooth(rate: float | None, n: float, pseudo_count: float) -> float | None:
    """The rate after adding ``pseudo_count`` answers of either kind.

    An unknown n changes nothing.
    """
    if rate is None or not n:
        return rate
    return (rate * n + pseudo_count) / (n + 2.0 * pseudo_count)
