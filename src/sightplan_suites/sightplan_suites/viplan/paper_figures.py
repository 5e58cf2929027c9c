"""The figures that the paper reports of a model's episodes on a split, by the paper's formulas.

Unreadable answers count as wrong, actions that were still planned count as wrong, and a problem
that was never planned counts as one wrong action. Predicate accuracy is over the questions of
enumerations alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from sightplan.metrics import measures
from sightplan.model import AskPurpose, PlanningStatus

FIRST = 'first_enumeration'
"""Detail of an imported episode: right answers and questions of its first enumeration."""
DIGITS = 2
"""Digits behind the point with which the paper prints its figures."""

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one model on one split; None where the episodes have no such thing.

    Attributes:
        task_accuracy: fraction of solved problems.
        fail_ratio: fraction of problems for which no plan was ever made.
        predicate_accuracy: fraction of right answers to questions of enumerations.
        macro_predicate_accuracy: mean over the predicates of that fraction.
        action_accuracy: fraction of actions with all answers about them right.
        enumeration_accuracy: mean over problems of the fraction of right first answers.
    """

    task_accuracy: float | None = None
    fail_ratio: float | None = None
    predicate_accuracy: float | None = None
    macro_predicate_accuracy: float | None = None
    action_accuracy: float | None = None
    enumeration_accuracy: float | None = None

    def as_json(self) -> dict[str, float | None]:
        """The figures by the names that the authors' files give them."""
        return asdict(self)


def figures_of(lines: Sequence[Line]) -> Figures:
    """Compute the figures of lines of results."""
    planned = [line['plans'] for line in lines if line['plans']]
    counts = enumerated(lines)
    known = [line for line in lines
             if line['actions_counted'] is not None and line['questions'] != 0]
    firsts = [line['details'][FIRST] for line in lines if (line['details'] or {}).get(FIRST)]
    solved = [bool(measures.solved(line)) for line in lines]
    return Figures(
        _mean(solved), _mean(not any(plan['status'] == PlanningStatus.SOLVED.value
                                     for plan in plans) for plans in planned),
        _ratio(sum(right for right, _ in counts.values()), sum(n for _, n in counts.values())),
        _mean(right / asked for right, asked in counts.values()),
        _ratio(sum(line['actions_right'] for line in known),
               sum(line['actions_counted'] for line in known)),
        _mean(right / asked for right, asked in firsts))


def enumerated(lines: Iterable[Line]) -> dict[str, tuple[int, int]]:
    """Right answers and questions of enumerations, by predicate."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for line in lines:
        for name, counts in line['predicates'].get(AskPurpose.ENUMERATION.value, {}).items():
            right[name] += counts['right']
            asked[name] += counts['asked']
    return {name: (right[name], asked[name]) for name in sorted(asked)}


def as_printed(value: float, printed: float) -> str:
    """``equal`` if a figure rounds to the printed one, else by how much it differs: ``+0.04``."""
    if abs(value - printed) <= 0.5 * 10 ** -DIGITS + 1e-9:
        return 'equal'
    return f'{value - printed:+.{DIGITS}f}'


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None
