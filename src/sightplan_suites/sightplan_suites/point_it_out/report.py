"""Tables that the report adds for this suite: tables 6 and 7 beside ours, sources, scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.runs.published import Published
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan_report.grouping import grouped
from sightplan_report.results import Results, short_model
from sightplan_report.tables.like_for_like import compared, paper_compared
from sightplan_report.tables.model import Table, make
from sightplan_suites.point_it_out.official import TRACES
from sightplan_suites.point_it_out.scoring import MEASURES, output_of

Line = Mapping[str, Any]
Who = tuple[str, str, str, str | None]
"""Method, backend, model and variant."""
Conditions = dict[tuple[Who, str], dict[str, str | None]]
"""Conditions of the lines of a row, and their differences from the paper's, by split."""
_FILE = Path(__file__).with_name('report.yaml')
_ALL = 'all'
_MEASURES = {measure.name: measure for measure in MEASURES}


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of the suite; those without a row are left out.

    Args:
        runs: of this suite (``RunResults``).
    """
    lines: list[tuple[Who, Line]] = []
    conditions: Conditions = {}
    for group in Results(tuple(runs)).groups:
        for line in group.lines:
            who = group.method, group.backend, line['model'], group.variant or None
            lines.append((who, line))
            if (who, line['split']) not in conditions:
                conditions[who, line['split']] = compared(group, line['split'])
    places = [(who, line) for who, line in lines if line['split'] != TRACES]
    traces = [(who, line) for who, line in lines if line['split'] == TRACES]
    suite = load_suite(Path(__file__).parent.name)
    made = (make('by_subclass', _by_subclass(suite, places, conditions), _FILE),
            make('by_part', _by_part(places), _FILE),
            make('traces', _traces(suite, traces, conditions), _FILE))
    return [table for table in made if table.rows]


def _by_subclass(suite: Suite, lines: Sequence[tuple[Who, Line]], conditions: Conditions,
                 ) -> Iterator[dict[str, Any]]:
    for part in (lambda line: line['details']['subclass'], lambda line: _ALL):
        for (who, split, subclass, output), own in _groups(lines, (
                lambda line: line['split'], part, output_of)):
            where = {'split': split, 'output': output} | (
                {} if subclass == _ALL else {'subclass': subclass})
            theirs = suite.published.find(short_model(who[2], suite), 'score_dropped', **where)
            row = {**_named(who), 'split': split, 'subclass': subclass, 'output': output,
                   **_interval('score', own), 'dropped': _value('score_dropped', own),
                   'iou_released': _value('iou_released', own),
                   'precision': _value('precision', own), 'unread': _value('unread', own),
                   **conditions[who, split]}
            yield row if theirs is None else {
                **row, **_beside(suite, theirs, row['n'], conditions[who, split]),
                'paper': theirs.value, 'paper_n': theirs.n, 'paper_source': theirs.source}


def _beside(suite: Suite, theirs: Published, count: int, own: Mapping[str, str | None],
            ) -> dict[str, str | None]:
    """Conditions of a published number, and how ours beside it was measured otherwise."""
    fewer = f'{count} items, not {theirs.n}' if theirs.n not in (None, count) else ''
    return {'paper_measured': paper_compared(suite, model=theirs.model)['measured'],
            'unlike': '; '.join(filter(None, (own['unlike'], fewer))) or None}


def _by_part(lines: Sequence[tuple[Who, Line]]) -> Iterator[dict[str, Any]]:
    for kind in ('source', 'scenario'):
        for (who, part, output), own in _groups(lines, (
                lambda line, kind=kind: line['details'][kind], output_of)):
            yield {**_named(who), 'kind': kind, 'part': part, 'output': output,
                   'unread': _value('unread', own), **_interval('score', own)}


def _traces(suite: Suite, lines: Sequence[tuple[Who, Line]], conditions: Conditions,
            ) -> Iterator[dict[str, Any]]:
    for (who, source), own in _groups(lines, (lambda line: line['details']['source'],)):
        theirs = {kind: suite.published.find(short_model(who[2], suite), f'rating_{kind}',
                                        split=TRACES, output='trace')
                  for kind in ('people', 'judge')}
        yield {**_named(who), 'source': source, 'unread': _value('unread', own),
               'start_error': _value('start_error', own), **_interval('done', own), 'n': len(own),
               **{f'paper_{kind}': row and row.value for kind, row in theirs.items()},
               **conditions[who, TRACES]}


def _groups(lines: Sequence[tuple[Who, Line]], keys: Sequence[Callable[..., Any]],
            ) -> Iterator[tuple[Any, list[Line]]]:
    """Group lines by row key and further keys."""
    found = grouped(lines, lambda pair: (pair[0], *(key(pair[1]) for key in keys)))
    for key, own in found.items():
        yield key, [line for _, line in own]


def _named(who: Who) -> dict[str, Any]:
    return dict(zip(('method', 'backend', 'model', 'variant'), who, strict=True))


def _value(name: str, lines: Sequence[Line]) -> float | None:
    return aggregate(lines, _MEASURES[name], resamples=0).value


def _interval(name: str, lines: Sequence[Line]) -> dict[str, Any]:
    found = aggregate(lines, _MEASURES[name])
    return {name: found.value, f'{name}_low': found.low, f'{name}_high': found.high,
            'n': found.n, 'pictures': found.clusters}
