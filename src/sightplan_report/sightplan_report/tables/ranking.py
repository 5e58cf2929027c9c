"""Ranking of models and selection of the best ones: the ViPlan paper's figure 4, section 4.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics import measures
from sightplan.metrics.intervals import percentile_interval
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Results
from sightplan_report.tables.common import published
from sightplan_report.tables.model import Table, make
from sightplan_report.tables.scores import compared

_METHODS = ('plan', 'ground')
"""The methods by which the paper ranks models: one whose model plans, one whose model answers."""
_SELECTED = 5
_RESAMPLES, _SEED = 1000, 0
_OPEN = 'open_weights'
_WITH_PAPER = 'ours and the paper'

_Cell = tuple[str, str, str]
"""Method, domain and split."""
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Ranking:
    """Models with their success in every cell, and in resamples of the problems.

    Attributes:
        models: names of the models.
        cells: what a score is the mean of.
        success: (models, cells).
        resampled: (resamples, models, cells).
        paper: (models, cells), NaN where the paper has no number.
        selectable: (models,) whether a model is open, so that it can be selected.
        clusters: number of clusters (problems, unless some share a world) that were resampled,
            over all domains and splits.
        left_out: models that lack a cell, or have it twice.
        parts: the groups and splits that the success is of.
    """

    models: tuple[str, ...]
    cells: tuple[_Cell, ...]
    success: _Floats
    resampled: _Floats
    paper: _Floats
    selectable: NDArray[np.bool_]
    clusters: int
    left_out: tuple[str, ...]
    parts: tuple[tuple[Group, str], ...]


def ranking(results: Results) -> tuple[Table, Table]:
    """Tables of the models in order of their scores, and of how far orders agree.

    A score is the mean success over ``plan`` and ``ground``, all domains and all splits of the
    paper, each cell counting the same.
    """
    found = _ranking(results)
    if found is None:
        return make('ranking', ()), make('ranking_agreement', ())
    return make('ranking', _rows(found)), make('ranking_agreement', _agreements(found))


def _ranking(results: Results) -> _Ranking | None:
    """The models that can be ranked; None without both methods, or for fewer than two."""
    groups = [group for group in results.groups if group.method in _METHODS and group.model]
    cells = tuple(dict.fromkeys(
        (method, group.domain, split) for method in _METHODS for group in groups
        if group.method == method for split in results.splits
        if (suite := group.suite_with(split)) and split in suite.published_splits(group.domain)
        and split in group.splits))
    by_model = grouped(groups, lambda group: group.model)
    lines = {model: _lines(own, cells) for model, own in by_model.items()}
    whole = {model: own for model, own in lines.items() if own is not None}
    if len(whole) < 2 or {cell[0] for cell in cells} != set(_METHODS):
        return None
    clusters = {place: sorted({line['cluster'] for own in whole.values() for cell in cells
                               if cell[1:] == place for line in own[cell][1]})
                for place in dict.fromkeys(cell[1:] for cell in cells)}
    rng = np.random.default_rng(_SEED)
    drawn = {place: measures.times_drawn(rng.integers(
        len(names), size=(_RESAMPLES, len(names))), len(names)).astype(np.float64)
             for place, names in clusters.items()}
    counts = {cell: np.stack([_by_cluster(own[cell][1], clusters[cell[1:]])
                              for own in whole.values()]) for cell in cells}
    paper = np.array([[_paper(own[cell][0], cell[2]) for cell in cells]
                      for own in whole.values()])
    return _Ranking(
        tuple(whole), cells,
        np.stack([_means(counts[cell], np.ones((1, counts[cell].shape[1])))[0]
                  for cell in cells], axis=1),
        np.stack([_means(counts[cell], drawn[cell[1:]]) for cell in cells], axis=2),
        paper, np.array([_is_open(own[cells[0]][0], model) for model, own in whole.items()]),
        sum(map(len, clusters.values())), tuple(model for model in lines if model not in whole),
        tuple((own[cell][0], cell[2]) for own in whole.values() for cell in cells))


def _lines(groups: Sequence[Group], cells: Sequence[_Cell],
           ) -> dict[_Cell, tuple[Group, list[Mapping[str, Any]]]] | None:
    """The scored episodes of a model in each cell; None if it lacks one or has one twice."""
    found = {}
    for method, domain, split in cells:
        own = [group for group in groups if (group.method, group.domain) == (method, domain)
               and any(measures.scored(line) for line in group.by_split.get(split, ()))]
        if len(own) != 1:
            return None
        found[method, domain, split] = own[0], [
            line for line in own[0].by_split[split] if measures.scored(line)]
    return found


def _by_cluster(lines: Sequence[Mapping[str, Any]], clusters: Sequence[str]) -> _Floats:
    """Numbers of solved and of all episodes of each cluster, (clusters, 2)."""
    own = grouped(lines, lambda line: line['cluster'])
    return np.array([(sum(bool(measures.solved(line)) for line in own.get(name, ())),
                      len(own.get(name, ()))) for name in clusters], dtype=np.float64)


def _means(counts: _Floats, weights: _Floats) -> _Floats:
    """(R, models) mean success: ``counts`` (models, clusters, 2), ``weights`` (R, clusters)."""
    solved, every = (weights @ counts[..., part].T for part in (0, 1))
    return np.asarray(solved / np.maximum(every, 1.0))


def _paper(group: Group, split: str) -> float:
    value = published(group, split)[0]
    return np.nan if value is None else value


def _is_open(group: Group, model: str) -> bool:
    """Whether a model's weights are open, so that the paper would select it."""
    suite = group.runs[0].ruling_suite
    found = suite and suite.published.find(model, _OPEN, domain='all')
    return not found or bool(found.value)


def places(scores: _Floats) -> _Floats:
    """Ranks from 1 for the highest score along the last axis; equal scores share their mean."""
    higher = (scores[..., None, :] > scores[..., :, None]).sum(-1)
    equal = (scores[..., None, :] == scores[..., :, None]).sum(-1)
    return np.asarray(higher + (equal + 1) / 2.0)


def share_selected(scores: _Floats, selectable: NDArray[np.bool_]) -> _Floats:
    """Whether each model is among the best five of the open ones, along the last axis.

    Models with equal scores share the places that are left for them.
    """
    own = np.where(selectable, scores, -np.inf)
    higher = (own[..., None, :] > own[..., :, None]).sum(-1)
    equal = (own[..., None, :] == own[..., :, None]).sum(-1)
    share = np.clip((_SELECTED - higher) / equal, 0.0, 1.0)
    return np.asarray(np.where(selectable, share, 0.0))


def spearman(first: _Floats, second: _Floats) -> _Floats:
    """Rank correlation along the last axis; NaN where all ranks of one are the same."""
    a, b = (ranks - ranks.mean(-1, keepdims=True) for ranks in (places(first), places(second)))
    scale = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.asarray(np.divide((a * b).sum(-1), scale, where=scale > 0.0,
                                out=np.full(np.shape(scale), np.nan)))


def _interval(resampled: _Floats, clusters: int) -> tuple[float | None, float | None]:
    known = resampled[~np.isnan(resampled)]
    return percentile_interval(known, clusters) if known.size and clusters > 1 else (None, None)


def _rows(found: _Ranking) -> list[dict[str, Any]]:
    """One row for each model, the best first."""
    scores, theirs = found.success.mean(1), found.paper.mean(1)
    drawn = found.resampled.mean(2)
    ranks, resampled_ranks = places(scores), places(drawn)
    chosen = share_selected(drawn, found.selectable)
    own = share_selected(scores, found.selectable)
    known = ~np.isnan(theirs)
    paper_ranks = np.full(len(theirs), np.nan)
    paper_ranks[known] = places(theirs[known])
    paper_chosen = np.zeros(len(theirs))
    paper_chosen[known] = share_selected(theirs[known], found.selectable[known])
    rows = []
    for place in np.argsort(-scores, kind='stable'):
        low, high = _interval(drawn[:, place], found.clusters)
        first, last = np.quantile(resampled_ranks[:, place], (0.025, 0.975))
        rows.append({
            'model': found.models[place], 'open': bool(found.selectable[place]),
            'score': float(scores[place]), 'score_low': low, 'score_high': high,
            **{f'{method}_score': _mean_of(found.success[place], found.cells, method)
               for method in _METHODS},
            'rank': float(ranks[place]), 'rank_first': float(first), 'rank_last': float(last),
            'selected': float(own[place]) if found.selectable[place] else None,
            'selected_share': float(chosen[:, place].mean()) if found.selectable[place] else None,
            **({'paper_score': float(theirs[place]), 'paper_rank': float(paper_ranks[place]),
                'paper_selected': float(paper_chosen[place]) if found.selectable[place] else None}
               if known[place] else {})})
    return rows


def _mean_of(success: _Floats, cells: Sequence[_Cell], method: str) -> float:
    return float(np.mean([value for value, cell in zip(success, cells, strict=True)
                          if cell[0] == method]))


def _agreements(found: _Ranking) -> list[dict[str, Any]]:
    """Rank correlations, with intervals over resampled problems."""
    of = {method: [n for n, cell in enumerate(found.cells) if cell[0] == method]
          for method in _METHODS}
    known = np.nonzero(~np.isnan(found.paper).any(1))[0]
    pairs = [('plan and ground', np.arange(len(found.models)), *(
        (found.success[:, of[method]].mean(1), found.resampled[:, :, of[method]].mean(2))
        for method in _METHODS))]
    if len(known) > 1:
        theirs = found.paper[known].mean(1)
        pairs.append((_WITH_PAPER, known, (
            found.success[known].mean(1), found.resampled[:, known].mean(2)),
            (theirs, np.broadcast_to(theirs, (_RESAMPLES, len(known))))))
    rows = []
    for what, members, (first, firsts), (second, seconds) in pairs:
        value = float(spearman(first, second))
        low, high = _interval(spearman(firsts, seconds), found.clusters)
        rows.append({
            'between': what, 'models': len(members), 'correlation': None if np.isnan(value)
            else value, 'correlation_low': low, 'correlation_high': high,
            'cells': len(found.cells), 'problems': found.clusters,
            'of': '; '.join(' '.join(cell) for cell in found.cells),
            'left_out': ', '.join(found.left_out) or None,
            **(compared(found.parts) if what == _WITH_PAPER else {})})
    return rows
