"""Estimates of what is left of a sweep: episodes, questions, requests, tokens, money and hours.

An episode costs what the episodes of the same method, domain, split and model in the sweep's
directory did in the mean. Where there is none, the rules of ``sweeps.guesses`` guess it, and the
guess is corrected by how wrong it was about the nearest kind of episode that was measured: of the
same method and domain; of the methods of its class in the domain; of its class in any domain.

``NAME.estimate.json`` in the sweep's directory holds what was estimated before the first episode,
and the tokens that the model makes of text and pictures, see ``sweeps.token_probe``.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.agent import needs_visual_planner
from sightplan.metrics import measures
from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.records import RunStore
from sightplan.records.description import write_json
from sightplan.sweeps.cells import Cell, Sweep, is_samples, slug
from sightplan.sweeps.guesses import USUAL, Figures, TokenRates, guess

FIGURES = ('questions', 'requests', 'prompt_tokens', 'completion_tokens', 'cost_usd', 'seconds')

Kind = tuple[str, str, str, str, str]
"""Suite, method, domain, split and model: episodes of a kind take about as long."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of what is left of a sweep.

    Attributes:
        missing: number of episodes that are left.
        measured: number of missing episodes of a kind that has measured episodes.
        from_measured: cost of the missing episodes of measured kinds.
        from_rule: cost of the other missing episodes, guessed, and corrected where it can be.
        corrected: number of missing episodes whose guess is corrected by measured episodes.
    """

    missing: int
    measured: int
    from_measured: Figures
    from_rule: Figures
    corrected: int = 0

    @property
    def total(self) -> Figures:
        """The estimated cost of all missing episodes."""
        return self.from_measured + self.from_rule

    @property
    def basis(self) -> str:
        """The source of the figures: ``measured``, ``guessed`` or ``partly measured``."""
        if self.measured == self.missing:
            return 'measured'
        return 'partly measured' if self.measured else 'guessed'

    def as_json(self) -> dict[str, Any]:
        """Figures by name, each with its value, how much of it was guessed, and ``basis``."""
        found: dict[str, Any] = {}
        for name in FIGURES:
            value, guessed = getattr(self.total, name), getattr(self.from_rule, name)
            digits = 4 if name == 'cost_usd' else 1 if name == 'seconds' else 0
            found[name] = {'value': _rounded(value, digits),
                           'guessed': _rounded(guessed, digits), 'basis': self.basis}
        return found


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits) if digits else round(value)


def estimate(sweep: Sweep, out: Path) -> Estimate:
    """Estimate what is left of a sweep in ``out``; what ended in an error is repeated.

    A run whose lines of results are not readable has none, see ``damaged``.
    """
    return Estimator(sweep, out).left()


class Estimator:
    """Estimates of one sweep, which become better while it runs.

    Attributes:
        file: ``NAME.estimate.json``.
        rates: tokens that the model makes of a prompt, by ``rates_key``.
    """

    def __init__(self, sweep: Sweep, out: Path) -> None:
        """Read what was kept of earlier estimates in ``out``."""
        self._sweep, self._out = sweep, out.expanduser()
        self.file = self._out / f'{slug(sweep.name)}.estimate.json'
        self._kept: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            found = load_json(self.file.read_text('utf-8'))
            self._kept = found if isinstance(found, dict) else {}
        self.rates: dict[str, TokenRates] = {}
        with suppress(TypeError, AttributeError):  # a file of another version is made anew
            self.rates = {key: TokenRates(**values)
                          for key, values in self._kept.get('tokens', {}).items()}
        self._guesses: dict[Kind, Figures] = {}

    @property
    def begun(self) -> bool:
        """Whether a run of the sweep has begun."""
        return any((self._out / cell.name / 'run.json').is_file() for cell in self._sweep.every)

    def first(self) -> Mapping[str, Any] | None:
        """Estimate from before the first episode of these very cells; None if there was none."""
        found = self._kept.get('first')
        same = isinstance(found, dict) and found.get('cells') == self._cells
        return found if same else None

    def keep(self, left: Estimate) -> None:
        """Write the rates of tokens, and an estimate of the whole sweep if it is the first.

        Raises:
            StorageError: the file cannot be written.
        """
        first = self.first()
        if first is None and left.missing == self._sweep.episodes:
            first = {'cells': self._cells, 'episodes': left.missing, **left.as_json()}
        self._kept = {'tokens': {key: dataclasses.asdict(rates)
                                 for key, rates in self.rates.items()}, 'first': first}
        write_json(self.file, self._kept)

    def left(self) -> Estimate:
        """Estimate what is left by what was measured up to now."""
        sums: dict[Kind, tuple[Figures, int]] = {}
        missing: list[tuple[Cell, int]] = []
        for cell in self._sweep.every:
            lines = self._scored(cell)
            if lines:
                figures, n = sums.get(kind_of(cell), (Figures(), 0))
                sums[kind_of(cell)] = sum(map(_of_line, lines), figures), n + len(lines)
            if cell in self._sweep.cells and cell.episodes > len(lines):
                missing.append((cell, cell.episodes - len(lines)))
        families = self._families(sums) if any(kind_of(cell) not in sums
                                               for cell, _ in missing) else {}
        measured, corrected, from_measured, from_rule = 0, 0, Figures(), Figures()
        for cell, n in missing:
            kind = kind_of(cell)
            if kind in sums:
                figures, count = sums[kind]
                measured += n
                from_measured += figures * (n / count)
                continue
            figures = self._guess(cell)
            if near := next((families[key] for key in _nearest(cell) if key in families), None):
                corrected += n
                figures = figures.corrected(*near)
            from_rule += figures * n
        return Estimate(sum(n for _, n in missing), measured, from_measured, from_rule, corrected)

    @property
    def _cells(self) -> str:
        names = ' '.join(cell.name for cell in self._sweep.cells)
        return hashlib.sha256(names.encode()).hexdigest()[:12]

    def _scored(self, cell: Cell) -> list[dict[str, Any]]:
        try:
            return [line for line in RunStore(self._out / cell.name).lines()
                    if measures.scored(line)]
        except InputError:
            return []

    def _guess(self, cell: Cell) -> Figures:
        kind = kind_of(cell)
        if kind not in self._guesses:
            model = f'{kind[4]} '  # its tokens in another domain are better than none
            like = (rates for key, rates in self.rates.items() if key.startswith(model))
            self._guesses[kind] = guess(cell.settings, self.rates.get(rates_key(cell)) or next(
                like, USUAL))
        return self._guesses[kind]

    def _families(self, sums: Mapping[Kind, tuple[Figures, int]],
                  ) -> dict[tuple[str, ...], tuple[Figures, Figures]]:
        """Sums over the measured episodes of each family: figures measured, and guessed."""
        found: dict[tuple[str, ...], tuple[Figures, Figures]] = {}
        for cell in {kind_of(cell): cell for cell in self._sweep.every}.values():
            if kind_of(cell) in sums:
                took, count = sums[kind_of(cell)]
                for key in _nearest(cell):
                    before = found.get(key, (Figures(), Figures()))
                    found[key] = before[0] + took, before[1] + self._guess(cell) * count
        return found


def kind_of(cell: Cell) -> Kind:
    """The kind of a cell's episodes."""
    s = cell.settings
    model = ''
    if cell.content['backend'] is not None:
        options = s.backend_options
        model = f'{s.backend} {options.get("table", options.get("model", ""))}'
    return s.suite, s.method, s.domain, s.problems or s.split, model


def rates_key(cell: Cell) -> str:
    """Key of the tokens that a cell's model makes of the prompts of its domain."""
    s = cell.settings
    return f'{kind_of(cell)[4]} {s.domain} {sorted(s.world_options.items())}'


def _nearest(cell: Cell) -> Iterator[tuple[str, ...]]:
    """The families of kinds that a cell's kind belongs to, the nearest first."""
    suite, method, domain, _, model = kind_of(cell)
    by = ('samples' if is_samples(cell.settings) else
          'planner' if needs_visual_planner(method) else 'grounder')
    yield from ((suite, model, domain, method), (suite, model, domain, '', by),
                (suite, model, '', '', by))


def _of_line(line: Mapping[str, Any]) -> Figures:
    used = line.get('usage') or {}
    return Figures(line.get('questions', 1), used.get('requests', 0),
                   used.get('prompt_tokens', 0), used.get('completion_tokens', 0),
                   used.get('cost_usd'), line['seconds'])
