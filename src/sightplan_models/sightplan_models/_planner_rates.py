"""Error rates of simulated planning models: those fitted to ViPlan's tables, and files of a user.

``data/planner_rates.json`` is made by ``studies/planner_rates.py``. A file of a user is JSON or
YAML of this form::

    name: my-planner                 # optional, default: the file's stem
    errors: {default: 0.2, hard: 0.5}    # by split; default stands for all others
    repeat: 0.9                      # optional, as the other fields
    shares: {illegal: 0.8, wrong_name: 0.1, unreadable: 0.05, empty: 0.05}
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from sightplan.model import InputError, user_path
from sightplan.model.reading import Record, read_file

_RATES = Path(__file__).parent / 'data' / 'planner_rates.json'
PERFECT, DEFAULT = 'perfect', 'default'

ILLEGAL, WRONG_NAME, UNREADABLE, EMPTY = 'illegal', 'wrong_name', 'unreadable', 'empty'
KINDS = (ILLEGAL, WRONG_NAME, UNREADABLE, EMPTY)
"""Kinds of wrong proposals."""

_Rate = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
_Shares = dict[Annotated[str, Field(pattern='^(' + '|'.join(KINDS) + ')$')], _Rate]
_Splits = Annotated[dict[str, _Rate], Field(min_length=1)]


class _File(Record):
    """A table of a user; ``repeat`` and ``shares`` are those of the package unless given."""

    name: str = ''
    errors: _Splits
    repeat: _Rate | None = None
    shares: _Shares | None = None

    @model_validator(mode='after')
    def _whole(self) -> Self:
        if self.shares is not None and abs(sum(self.shares.values()) - 1.0) > 1e-6:
            raise ValueError(f'the shares add up to {sum(self.shares.values()):g}; they must add '
                             'up to 1')
        return self


class RatesFile(Record):
    """Content of ``planner_rates.json``.

    Attributes:
        source, about: where the numbers come from, and what they mean.
        repeat: P(a wrong proposal is wrong again in the same way).
        shares: fractions of the kinds among first wrong proposals, by model; ``default`` for
            models of which the source says nothing.
        aliases: other names of models, in lower case, to the names in ``models``.
        models: model to domain to method to split to P(a proposal is wrong | the last was right).
    """

    source: str
    about: str
    repeat: _Rate
    shares: dict[str, _Shares]
    aliases: dict[str, str]
    models: dict[str, dict[str, dict[str, _Splits]]]


@dataclass(frozen=True, slots=True)
class PlannerTable:
    """Rates of one simulated planner.

    Attributes:
        name: what the table is called in results.
        repeat: P(a wrong proposal is wrong again in the same way).
        shares: fractions of the kinds among first wrong proposals.
        errors: domain to method to split to the error rate; a table of a user has ``default`` for
            any domain and method.
    """

    name: str
    repeat: float
    shares: Mapping[str, float]
    errors: Mapping[str, Mapping[str, Mapping[str, float]]]

    def error(self, domain: str, method: str, split: str) -> float:
        """P(a proposal is wrong | the last one was right).

        A split that the table does not know gets ``default``, else the mean over its splits.

        Raises:
            InputError: there are no rates for the domain or the method; names those there are.
        """
        methods = self.errors.get(domain, self.errors.get(DEFAULT))
        if methods is None:
            raise InputError(f'noisy_planner: table {self.name!r} has no rates for domain '
                             f'{domain!r} (it has {", ".join(self.errors)}); give a file of your '
                             'own, such as errors: {default: 0.2}')
        splits = methods.get(method, methods.get(DEFAULT))
        if splits is None:
            others = [model for model, own in bundled().models.items()
                      if method in own.get(domain, ())]
            raise InputError(f'noisy_planner: no success of {self.name} with method {method!r} '
                             f'was published (with {", ".join(methods)} it was); choose one of '
                             f'these, another model ({", ".join(others)}), or a file of your own')
        return splits.get(split, splits.get(DEFAULT, sum(splits.values()) / len(splits)))


@functools.cache
def bundled() -> RatesFile:
    """Return the rates that come with the package."""
    return read_file(RatesFile, _RATES)


def model_key(name: str) -> str:
    """Return a model's name without case and signs between words, which distinguish no models."""
    return re.sub(r'[\s_-]+', '-', name.strip().lower())


def load_table(name: str) -> PlannerTable:
    """Load a table by the name of a model or the path of a file.

    Args:
        name: 'perfect'; a model, by the paper's name or another one (any case); or the path of a
            user's file.

    Raises:
        InputError: there is no such table, or the file is not one; names file and field.
    """
    rates = bundled()
    if name == PERFECT:
        return PlannerTable(PERFECT, 0.0, rates.shares[DEFAULT],
                            {DEFAULT: {DEFAULT: {DEFAULT: 0.0}}})
    path = user_path(name)
    if path.suffix.lower() in ('.json', '.yaml', '.yml'):
        found = read_file(_File, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        return PlannerTable(
            f'{found.name or path.stem}@{digest}',
            rates.repeat if found.repeat is None else found.repeat,
            found.shares or rates.shares[DEFAULT], {DEFAULT: {DEFAULT: found.errors}})
    names = {model_key(model): model for model in rates.models}
    names |= {model_key(alias): names[model_key(model)] for alias, model in rates.aliases.items()}
    model = names.get(model_key(name)) or names.get(model_key(name.rpartition('/')[2]))
    if model is None:
        raise InputError(f'noisy_planner: there is no table {name!r}: give the path of a .json or '
                         f'.yaml file, or one of {PERFECT}, {", ".join(rates.models)}')
    return PlannerTable(model, rates.repeat, rates.shares.get(model, rates.shares[DEFAULT]),
                        rates.models[model])
