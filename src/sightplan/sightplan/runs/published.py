"""The numbers that a paper prints, to compare results with: ``published.json`` of a suite."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pydantic

from sightplan.model.reading import Record, read_file


class Published(Record):
    """A number that a paper published.

    Attributes:
        where: the settings that matter of domain, method, split and failure_probability.
        model: the paper's name of the model.
        measure: name of a measure, or of another value that is compared.
        value: the number.
        sem: its standard error as printed, None where the paper prints none.
        n: number of items, None where the paper does not say.
        source: the paper's table or figure with the number.
    """

    where: dict[str, str | float]
    model: str
    measure: str
    value: float
    sem: float | None = None
    n: int | None = None
    source: str


class PublishedConditions(Record):
    """Conditions of a paper's numbers, as far as ours may have been measured otherwise.

    Attributes:
        protocol: the suite's protocol that sets what the paper fixes.
        reply_tokens: most tokens of a reply to a model; None: not known.
        unread: what becomes of a reply that cannot be read, in words.
        prompts: whether it used prompts of its own, which only ``--prompts`` brings.
        prompts_published: whether its prompts can be had; if not, text files of a folder are not
            taken for them.
        items: what it measured on, in words, where the suite's own problems or samples are others.
        shown: dotted names of settings whose values stand beside figures, such as
            ``suite_options.form``.
        any: dotted names of settings of which the paper has numbers for several values, such as
            ``world_options.view``.
        asked: how a model was asked, as far as that differs between models, in words, by the
            paper's name of the model.
    """

    protocol: str
    reply_tokens: int | None = None
    unread: str = ''
    prompts: bool = True
    prompts_published: bool = True
    items: str = ''
    shown: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    asked: dict[str, str] = pydantic.Field({})


class PublishedFile(Record):
    """Content of ``published.json``: rows, and other names of models in lower case."""

    paper: str = ''
    about: str = ''
    conditions: PublishedConditions | None = None
    aliases: dict[str, str] = pydantic.Field({})
    rows: tuple[Published, ...]


class PublishedNumbers:
    """The numbers of one paper, found by all that they are of; no number where there is no file.

    The file is read when the first number is asked for.

    Raises:
        InputError: (all methods) the file cannot be used; names file, field and remedy.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Numbers of a file; None: there are none."""
        self._path = file if file is not None and file.is_file() else None

    def find(self, model: str, measure: str, **where: str | float) -> Published | None:
        """A number of the paper, None if it reports none.

        Args:
            model: as the paper calls it, or as ``aliases`` in published.json do; any case.
            measure: for example ``solved``.
            where: for example ``domain='blocksworld', method='ground', split='simple',
                failure_probability=0.0``: what the number is of, all of it.
        """
        return self._numbers.get((self.model_name(model), measure, frozenset(where.items())))

    def splits(self, domain: str) -> frozenset[str]:
        """Splits of a domain of which the paper has numbers."""
        return frozenset(str(row.where.get('split')) for row in self._rows
                         if row.where.get('domain') == domain)

    @property
    def methods(self) -> frozenset[str]:
        """The methods, and means over methods, that the paper has numbers of."""
        return frozenset(str(row.where['method']) for row in self._rows if 'method' in row.where)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the paper has numbers of, as it calls them, in the order of the file."""
        return tuple(dict.fromkeys(row.model for row in self._rows))

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names of models, in lower case, to the paper's names in lower case."""
        return self._file.aliases

    def model_name(self, model: str) -> str | None:
        """Return the paper's name of a model, None if the paper has no number for it.

        Args:
            model: the paper's name, or one of ``aliases`` in published.json, such as that of a
                repository: in any case, with spaces, underscores or hyphens between its words,
                with or without the folder or the organisation that it lies in.
        """
        return self._names.get(_model_key(model)) or self._names.get(
            _model_key(model.rstrip('/').rpartition('/')[2]))

    def model_with_other_weights(self, model: str) -> str | None:
        """The published model that another one is named after, None if there is none.

        Quantised and fine-tuned weights are called like the model that they were made of, with
        more words behind: ``Qwen2.5-VL-72B-Instruct-AWQ``, ``InternVL3-8B FP8``. The paper's
        numbers say nothing about them.

        Args:
            model: a name of which the paper has no number.
        """
        words = _model_key(model.rstrip('/').rpartition('/')[2]).split('-')
        return next(filter(None, (self.model_name('-'.join(words[:count]))
                                  for count in range(len(words) - 1, 0, -1))), None)

    @property
    def conditions(self) -> PublishedConditions | None:
        """Conditions of the paper's numbers; None: the file does not say."""
        return self._file.conditions

    @functools.cached_property
    def _file(self) -> PublishedFile:
        return PublishedFile(aliases={}, rows=()) if self._path is None else read_file(
            PublishedFile, self._path)

    @property
    def _rows(self) -> Iterable[Published]:
        return self._file.rows

    @functools.cached_property
    def _numbers(self) -> dict[tuple[str | None, str, frozenset[Any]], Published]:
        """The rows by model, measure and settings; the first of equal rows counts."""
        found: dict[tuple[str | None, str, frozenset[Any]], Published] = {}
        for row in self._rows:
            found.setdefault((row.model, row.measure, frozenset(row.where.items())), row)
        return found

    @functools.cached_property
    def _names(self) -> dict[str, str]:
        """The paper's names of models by the keys (``_model_key``) of all their names."""
        found = {_model_key(row.model): row.model for row in self._rows}
        aliases = {alias: found[_model_key(name)] for alias, name in self._file.aliases.items()
                   if _model_key(name) in found}
        return {**{_model_key(alias.rpartition('/')[2]): name for alias, name in aliases.items()},
                **{_model_key(alias): name for alias, name in aliases.items()}, **found}


def _model_key(name: str) -> str:
    """Return a model's name without case and signs between words, which distinguish no models."""
    return re.sub(r'[\s_-]+', '-', name.strip().lower())
