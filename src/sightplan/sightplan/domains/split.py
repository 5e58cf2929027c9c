"""Rules by which a generator draws the problems of a benchmark split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from sightplan.model import Problem

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
