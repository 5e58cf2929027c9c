"""Compounding of errors: success over the number of answers that an episode needs.

The ViPlan paper's figure 16 sets the success rate of its grounding method against the number of
predictions that must all be right, of which a benchmark of single questions measures the case
"one". Here that number is what a grounder without any error is asked:

* exactly, where the results hold an error-free episode of the same problem and method: its number
  of questions (the least, if there are several);
* else estimated: the questions of the enumerations before the first action, and those of the
  checks of as many actions as the shortest plan has, at the episode's own mean sizes. An episode
  without a check, such as one in which no first plan was found, takes those of other episodes, and
  one of a problem whose shortest plan is not known a likely length: else mostly failures would be
  left out, and success would be that of episodes chosen by their success.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.intervals import Fraction, fraction_of
from sightplan.model import AskPurpose

_CHECKED = (AskPurpose.PRECONDITION.value, AskPurpose.EFFECT.value)


@dataclass(frozen=True, slots=True)
class Needed:
    """The number of answers that an episode needed.

    Attributes:
        answers: number of answers.
        exact: whether an error-free episode was asked so many; else they are estimated.
    """

    answers: float
    exact: bool


@dataclass(frozen=True, slots=True)
class CompoundingBin:
    """Episodes that needed about as many answers.

    Attributes:
        fewest: least number of answers that an episode in the bin needed.
        most: greatest number of answers that an episode in the bin needed.
        mean: number of answers needed, mean of the episodes.
        success: fraction of solved episodes.
        exact: number of episodes whose number of answers is exact.
        independent: the fraction that would be solved if each needed answer were right
            independently with the measured accuracy p: the mean of p^answers.
    """

    fewest: float
    most: float
    mean: float
    success: Fraction
    exact: int
    independent: float


def answers_right(lines: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the numbers of right and of all answers, of any purpose; unreadable is wrong."""
    tables = [counts for line in lines for table in line['predicates'].values()
              for counts in table.values()]
    return sum(counts['right'] for counts in tables), sum(counts['asked'] for counts in tables)


def error_free(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Answers that a perfect grounder is asked, by (split, problem).

    Args:
        lines: episodes of one domain and method, of any model, where no action fails in execution.

    Returns:
        for the problems of which one episode was solved with every answer right.
    """
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        right, asked = answers_right([line])
        if measures.solved(line) and asked and right == asked:
            key = (line['split'], line['problem'])
            found[key] = min(asked, found.get(key, asked))
    return found


def check_sizes(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str | None, str], float]:
    """Mean questions per check, by (split, purpose), and by (None, purpose) over all splits.

    Args:
        lines: scored episodes of one domain and method, of any model.

    Returns:
        for the purposes of which there is a check; 0 for those of which there is none although
        actions were carried out: the method does not check so.
    """
    asked: Counter[tuple[str | None, str]] = Counter()
    checks: Counter[tuple[str | None, str]] = Counter()
    executed: Counter[str | None] = Counter()
    for line in lines:
        for split in (line['split'], None):
            executed[split] += line['executed']
            for purpose in _CHECKED:
                asked[split, purpose] += _asked(line, purpose)
                checks[split, purpose] += _checks(line, purpose)
    return {key: asked[key] / n if n else 0.0 for key, n in checks.items()
            if n or (executed[None] and not checks[None, key[1]] and not asked[None, key[1]])}


def likely_lengths(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str | None], float]:
    """Likely lengths of shortest plans, by (split, problem), and means of these by (split, None).

    Of a problem it is the least of: actions carried out in an episode that solved it, and actions
    of a first plan that was made where no answer before it was wrong.

    Args:
        lines: scored episodes of one domain and method, of any model.
    """
    found: dict[tuple[str, str | None], float] = {}
    for line in lines:
        misled = any(step == 0 and not right for step, right in zip(
            line['enumerated_at'], line['enumerations'], strict=False))
        lengths = [] if misled else [plan['length'] for plan in line['plans'][:1]
                                     if plan['step'] == 0 and plan['length'] is not None]
        if measures.solved(line):
            lengths.append(line['executed'])
        if lengths:
            key = line['split'], line['problem']
            found[key] = min(*lengths, found.get(key, math.inf))
    for split in {split for split, _ in found}:
        own = [length for (place, _), length in found.items() if place == split]
        found[split, None] = sum(own) / len(own)
    return found


def needed(line: Mapping[str, Any], exact: Mapping[tuple[str, str], int],
           sizes: Mapping[tuple[str | None, str], float] | None = None,
           lengths: Mapping[tuple[str, str | None], float] | None = None) -> Needed | None:
    """The number of answers that an episode needed; None if it cannot be known.

    Args:
        line: the episode.
        exact: see ``error_free``.
        sizes: see ``check_sizes``, for what the episode itself does not say; None: not known.
        lengths: see ``likely_lengths``, for problems without a known shortest plan; None: not
            known.
    """
    known = exact.get((line['split'], line['problem']))
    if known is not None:
        return Needed(float(known), True)
    length, enumerations = line['optimal_length'], line['enumerations']
    if length is None and lengths:
        split = line['split']
        length = lengths.get((split, line['problem']), lengths.get((split, None)))
    found = [_check_size(line, purpose, sizes or {}) for purpose in _CHECKED]
    known_sizes = [size for size in found if size is not None]
    if (length is None or len(known_sizes) < len(found)
            or len(enumerations) != len(line['enumerated_at'])):
        return None
    first = sum(step == 0 for step in line['enumerated_at'])
    start = (_asked(line, AskPurpose.ENUMERATION.value) / len(enumerations) * first
             if enumerations else 0.0)
    return Needed(start + length * sum(known_sizes), False)


def _check_size(line: Mapping[str, Any], purpose: str,
                sizes: Mapping[tuple[str | None, str], float]) -> float | None:
    """Mean questions per check: of the episode, else of its split, else of all splits."""
    checks = _checks(line, purpose)
    if checks:
        return _asked(line, purpose) / checks
    return sizes.get((line['split'], purpose), sizes.get((None, purpose)))


def _checks(line: Mapping[str, Any], purpose: str) -> int:
    return sum(line['checks'].get(purpose, {}).values())


def _asked(line: Mapping[str, Any], purpose: str) -> int:
    return sum(int(counts['asked']) for counts in line['predicates'].get(purpose, {}).values())


def edges(answers: Sequence[float], bins: int = 6) -> list[float]:
    """Return lower edges of at most ``bins`` bins that hold about equally many episodes.

    Equal numbers of answers share a bin.
    """
    ordered = sorted(answers)
    cuts = [ordered[len(ordered) * number // bins] for number in range(bins)] if ordered else []
    return list(dict.fromkeys(cuts))


def compounding(episodes: Sequence[tuple[Needed, bool, str]], accuracy: float,
                lower: Sequence[float]) -> list[CompoundingBin]:
    """Success by the number of answers needed.

    Args:
        episodes: what each needed, whether it was solved, and its line's cluster.
        accuracy: fraction of right answers, for the curve of independent errors.
        lower: lower edges of the bins, ascending, see ``edges``.

    Returns:
        the bins that hold an episode.

    Raises:
        ValueError: an episode needs less than the lowest edge.
    """
    members: defaultdict[int, list[tuple[Needed, bool, str]]] = defaultdict(list)
    for need, solved, cluster in episodes:
        index = bisect.bisect_right(lower, need.answers) - 1
        if index < 0:
            raise ValueError(f'{need.answers} answers lie below the first bin')
        members[index].append((need, solved, cluster))
    found = []
    for _, inside in sorted(members.items()):
        answers = [need.answers for need, *_ in inside]
        found.append(CompoundingBin(
            min(answers), max(answers), sum(answers) / len(answers),
            fraction_of([solved for _, solved, _ in inside], [cluster for *_, cluster in inside]),
            sum(need.exact for need, *_ in inside),
            sum(accuracy ** value for value in answers) / len(answers)))
    return found
