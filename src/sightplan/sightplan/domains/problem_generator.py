"""The parts of a domain's problem generator, and the rules by which it draws a split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from sightplan.model import InputError, Plan, Problem

SettingsT = TypeVar('SettingsT')


@dataclass(frozen=True, slots=True)
class Split(Generic[SettingsT]):
    """Rules by which the problems of a benchmark split are drawn.

    Attributes:
        settings: of the generator.
        planner_lengths: range of the lengths that plans of the default planner may have; None:
            any.
        stretch: how many times longer than a shortest plan these may be.
        count: number of problems.
    """

    settings: SettingsT
    planner_lengths: tuple[int, int] | None = None
    stretch: float = 1.5
    count: int = 25

    def accepts(self, problem: Problem, planner_length: int) -> bool:
        """Whether a problem fits, given the length of the default planner's plan."""
        low, high = self.planner_lengths or (0, planner_length)
        return (low <= planner_length <= high and problem.optimal_length is not None
                and problem.optimal_length <= planner_length
                <= self.stretch * problem.optimal_length)


class Seeds:
    """Seeds one after the other, until enough of them gave a problem.

    Args:
        count: number of problems that are wanted.
        first: where to begin.
        most_vain: so many in a row without a problem: there are no more.
        wanted: what is counted, such as ``distinct problems``.
        nothing: what such a seed gave, such as ``nothing new``.
        remedy: what to ask for instead.

    Attributes:
        found: number of problems so far; see ``gave``.
    """

    def __init__(self, count: int, first: int, most_vain: int, wanted: str, nothing: str,
                 remedy: str) -> None:
        self._count, self._first, self._most_vain = count, first, most_vain
        self._words = wanted, nothing, remedy
        self.found = self._vain = 0

    def __iter__(self) -> Iterator[int]:
        """Yield seeds; raises InputError if too many in a row are in vain."""
        wanted, nothing, remedy = self._words
        for seed in itertools.count(self._first):
            if self.found == self._count:
                return
            if self._vain == self._most_vain:
                raise InputError(f'found only {self.found} of {self._count} {wanted}: '
                                 f'{self._vain} seeds in a row gave {nothing} ({remedy})')
            self._vain += 1
            yield seed

    def gave(self) -> None:
        """Count a problem that the last seed gave."""
        self.found, self._vain = self.found + 1, 0


class DrawnSplit(Protocol):
    """A split that a generator draws; ``Split`` is one."""

    @property
    def settings(self) -> Any:
        """Settings of the generator."""

    @property
    def count(self) -> int:
        """Number of problems of the split."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A domain's problem generator: the names that its module ``generator.py`` has.

    Attributes:
        Settings: the dataclass of its settings.
        generate: draws problems, ``generate(domain, settings, count, first_seed, accept=...)``;
            yields seed and problem.
        write_folder: writes drawn problems, see ``sightplan.domains.write_folder``.
        SPLITS: the splits that it draws, by name.
        optimal_plan: returns a shortest plan of a problem, None for one without a plan; raises
            InputError for a problem that it cannot read. None: the planner searches instead.
    """

    Settings: type[Any]
    generate: Callable[..., Iterator[tuple[int, Problem]]]
    write_folder: Callable[..., int]
    SPLITS: Mapping[str, DrawnSplit] = field(default_factory=dict)
    optimal_plan: Callable[[Problem], Plan | None] | None = None
