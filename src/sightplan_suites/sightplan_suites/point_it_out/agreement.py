"""Ratings of traces by people and by models as judges, and how far they agree.

Ratings are JSON lines: ``{"id": "s3/4", "model": "...", "rater": "ann", "judge": false, "score":
4}``, where ``model`` drew the trace, ``judge`` says that the rater is a model, and a score of null
means that its reply could not be read; preferences between two models' traces are ``{"id": ...,
"models": ["...", "..."], "rater": ..., "judge": true, "better": "..."}``.

The paper has five people rate each trace; of the traces on which at least four agree, and of how
often a judge picks the model that people find best, or worst, it gives the fractions. A later
rating of the same trace by the same rater takes the place of the earlier one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import pydantic

from sightplan.metrics.intervals import fraction_of
from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.reading import Record, validated

RATERS, ALIKE = 5, 4
"""Number of people who rate each trace, and number of them that must agree."""

Score = Annotated[int, pydantic.Field(ge=1, le=5)]
Trace = tuple[str, str]
"""Names of item and model."""


class Rating(Record):
    """One rater's rating of one trace."""

    id: str
    model: str
    rater: str
    judge: bool = False
    score: Score | None
    unread: str = ''
    explanation: str = ''


class Preference(Record):
    """One choice between two models' traces for an item.

    ``better`` is null if it cannot be read.
    """

    id: str
    models: tuple[str, str]
    rater: str
    judge: bool = True
    better: str | None
    unread: str = ''
    explanation: str = ''

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Preference:
        if self.better is not None and self.better not in self.models:
            raise ValueError(f'better = {self.better!r} is none of {", ".join(self.models)}')
        return self


@dataclass(frozen=True)
class Ratings:
    """Ratings and preferences of all raters.

    Attributes:
        ratings: each rater's last one of each trace.
        preferences: in order.
    """

    ratings: tuple[Rating, ...]
    preferences: tuple[Preference, ...] = ()

    def of(self, judge: bool) -> dict[Trace, list[int]]:
        """Readable ratings of each trace by people, or by judges."""
        found: dict[Trace, list[int]] = defaultdict(list)
        for rating in self.ratings:
            if rating.judge is judge and rating.score is not None:
                found[rating.id, rating.model].append(rating.score)
        return dict(found)


def read_ratings(paths: Iterable[Path]) -> Ratings:
    """Read files of ratings and preferences.

    Raises:
        InputError: a file cannot be read, or a line is wrong; names file, line and remedy.
    """
    ratings: dict[tuple[str, str, str, bool], Rating] = {}
    preferences = []
    for path in paths:
        for where, content in _lines(path):
            if isinstance(content, dict) and 'better' in content:
                preferences.append(validated(Preference, content, where))
                continue
            rating = validated(Rating, content, where)
            ratings[rating.id, rating.model, rating.rater, rating.judge] = rating
    return Ratings(tuple(ratings.values()), tuple(preferences))


def summarise(found: Ratings, raters: int = RATERS, alike: int = ALIKE) -> dict[str, Any]:
    """Summarise ratings: means of models, agreement of people and of judges with them.

    Args:
        found: of people and judges.
        raters: people who must have rated a trace, that it counts for their agreement.
        alike: how many of them must give the same rating.

    Returns:
        plain JSON data: ``models`` (name to ``people`` and ``judge``, each with ``mean`` and
        ``traces``: the mean over traces of the mean rating), ``agreement`` of people, and
        ``picks_best`` and ``picks_worst`` of the judge, each a fraction with ``value``,
        ``interval95`` and ``n``; ``preferences`` (name to the fraction of choices that a model
        won); ``unread`` (how many replies of judges cannot be read).
    """
    people, judge = found.of(judge=False), found.of(judge=True)
    models = sorted({model for _, model in (*people, *judge)})
    return {
        'models': {model: {'people': mean_rating(people, model),
                           'judge': mean_rating(judge, model)} for model in models},
        'agreement': agreement(people, raters, alike),
        'picks_best': picks(people, judge, best=True),
        'picks_worst': picks(people, judge, best=False),
        'preferences': preferred(found.preferences),
        'unread': sum(rating.score is None for rating in found.ratings)
        + sum(choice.better is None for choice in found.preferences)}


def mean_rating(ratings: Mapping[Trace, Sequence[int]], model: str) -> dict[str, Any]:
    """The mean over a model's traces of the mean rating, as table 6 has it."""
    means = [fmean(scores) for (_, name), scores in ratings.items() if name == model]
    return {'mean': fmean(means) if means else None, 'traces': len(means)}


def agreement(people: Mapping[Trace, Sequence[int]], raters: int = RATERS, alike: int = ALIKE,
              ) -> dict[str, Any]:
    """The fraction of traces to which enough of the people give the same rating.

    Traces that another number of people has rated do not count.
    """
    counted = {trace: scores for trace, scores in people.items() if len(scores) == raters}
    return _fraction([max(Counter(scores).values()) >= alike for scores in counted.values()],
                     [item for item, _ in counted])


def picks(people: Mapping[Trace, Sequence[int]], judge: Mapping[Trace, Sequence[int]], *,
          best: bool) -> dict[str, Any]:
    """Fraction of items for which a judge picks the model whose trace people find best, or worst.

    An item counts if people and judge have rated the same two or more models' traces for it, and
    people do not find all alike. Of models that are best in the judge's view alike, one is drawn:
    the item counts by the chance that people agree.

    Returns:
        ``value``, ``interval95`` (of whole items; None where an item counts in part) and ``n``.
    """
    chances = []
    for item in sorted({item for item, _ in people}):
        theirs, its = (_by_model(ratings, item) for ratings in (people, judge))
        common = sorted(theirs.keys() & its.keys())
        if len(common) < 2 or len({theirs[model] for model in common}) < 2:
            continue
        wanted, picked = (_extreme(views, common, best) for views in (theirs, its))
        chances.append(len(wanted & picked) / len(picked))
    if all(chance in (0.0, 1.0) for chance in chances):
        return _fraction(chances, range(len(chances)))
    return {'value': fmean(chances), 'interval95': None, 'n': len(chances)}


def preferred(preferences: Sequence[Preference]) -> dict[str, dict[str, Any]]:
    """Fraction of choices that each model's trace won."""
    wins: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for choice in preferences:
        if choice.better is not None:
            for model in choice.models:
                wins[model].append((choice.id, model == choice.better))
    return {model: _fraction([better for _, better in won], [item for item, _ in won])
            for model, won in sorted(wins.items())}


def _by_model(ratings: Mapping[Trace, Sequence[int]], item: str) -> dict[str, float]:
    return {model: fmean(scores) for (name, model), scores in ratings.items() if name == item}


def _extreme(views: Mapping[str, float], models: Sequence[str], best: bool) -> set[str]:
    """The models with the best, or the worst, mean rating."""
    values = [views[model] for model in models]
    wanted = max(values) if best else min(values)
    return {model for model in models if views[model] == wanted}


def _fraction(values: Sequence[float], items: Iterable[Hashable]) -> dict[str, Any]:
    """Mean of values that are 0 or 1, with its interval; values of one item are a cluster."""
    found = fraction_of(values, items)
    return {'value': found.rate, 'interval95': list(found.interval) if found.n else None,
            'n': found.n}


def _lines(path: Path) -> Iterable[tuple[str, Any]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    for number, line in enumerate(content.split(b'\n'), start=1):
        if line.strip():
            where = f'{path}:{number}'
            try:
                yield where, load_json(line.decode())
            except (ValueError, RecursionError) as error:
                raise InputError(f'{where}: is not JSON ({error}); correct or remove the line'
                                 ) from error
