"""Tables that the report adds for this suite: tables 1 to 3 and figure 2 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.runs.imported_runs import BACKEND
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan_report.conditions import samples_by_split
from sightplan_report.figures import Figure
from sightplan_report.grouping import grouped
from sightplan_report.panels import BarPanel, bars
from sightplan_report.plots import Dot
from sightplan_report.results import Results
from sightplan_report.tables.like_for_like import compared, paper_compared
from sightplan_report.tables.model import Table, make
from sightplan_suites.patheval.asking import CHOICE, PERCEPTION, key_of
from sightplan_suites.patheval.items import LARGE, LEVELS
from sightplan_suites.patheval.paper_figures import (
    CONDITIONS,
    ORDERS,
    PLACES,
    VIEWS,
    condition_of,
    figures_of,
    published_accuracy,
    published_count,
    published_perception,
)
from sightplan_suites.patheval.scoring import EVERY_LEVEL, lower_measure, measure_of, positions
from sightplan_suites.patheval.segments import KINDS
from sightplan_suites.paths.descriptors import NAMES

Line = Mapping[str, Any]
RowKey = tuple[str, str, str, str, str, str, str, str]
"""Method, its options, backend, model, hash of the data, form of the tasks, and what the row was
measured with and what of it is unlike the paper's ('' for nothing)."""
_BACKEND = 2
_FILE = Path(__file__).with_name('report.yaml')
_HERE, _PAPER = 'here', 'paper'
_FINE, _FINE_TOKENS = 'perception_fine', 500
"""The variant for which the paper allows another number of tokens, and that number."""
_TEST, _SEGMENTS = 'test', 'segments'
_SETS = dict(zip(('all', *LEVELS, LARGE), ('test', 'delta1', 'delta2', 'delta3'), strict=True))
"""Columns of table 3, and the paper's values in them."""


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of the suite; those without a row of ours are left out.

    Args:
        runs: of this suite (``RunResults``).
    """
    lines = _lines(runs)
    test = [(who, line) for who, line in lines if line['split'] == _TEST]
    segments = [(who, line) for who, line in lines if line['split'] == _SEGMENTS]
    suite = load_suite(Path(__file__).parent.name)
    made: tuple[tuple[Iterable[Any], Iterable[Any], str, dict[str, dict[str, str]]], ...] = (
        (_accuracy(test), _accuracy_published(suite), 'accuracy', {
            'condition': {name: heading for name, (heading, *_) in CONDITIONS.items()}}),
        (_positions(test), _positions_published(suite), 'positions', {'variant': ORDERS}),
        (_perception(test), _perception_published(suite), 'perception', {
            'level': {level: level for level in EVERY_LEVEL}}),
        (_segments(segments), _segments_published(suite), 'segments', {
            'kind': {kind: kind for kind in KINDS}}),
        (_parts(test), iter(()), 'parts', {}))
    imported = [line for who, line in test if who[_BACKEND] == BACKEND]
    figures = [] if not imported else figures_of(imported, suite.published)
    found = [] if not figures else [make('printed', [one.as_json() for one in figures], _FILE)]
    for ours, theirs, name, values in made:
        rows = list(ours)
        if rows:
            found.append(make(name, [*rows, *theirs], _FILE, **values))
    return found


def figures(runs: Iterable[Any]) -> Iterator[Figure]:
    """The suite's figure: segments by kind, as figure 2; empty without any.

    Args:
        runs: of this suite (``RunResults``).
    """
    suite = load_suite(Path(__file__).parent.name)
    lines = [(who, line) for who, line in _lines(runs) if line['split'] == _SEGMENTS]
    panels = []
    for kind in KINDS:
        dots = []
        for (who, view, variant), own in _groups(
                lines, (lambda line: line['details']['view'],
                        lambda line: line['details']['variant'])):
            found = aggregate([line for line in own if line['details']['kind'] == kind],
                              measure_of('solved'))
            if found.value is not None and found.low is not None and found.high is not None:
                label = ', '.join(filter(None, (
                    who[0], who[3] or who[2], who[1], VIEWS[view],
                    '' if variant == 'none' else ORDERS[variant])))
                dots.append(Dot(label, '', found.value, found.low, found.high, found.n))
        theirs = suite.published.find('GPT-4o', 'solved', split=_SEGMENTS, kind=kind, view='2d')
        if dots:
            panels.append(BarPanel(kind, tuple(dots), {} if theirs is None else {
                theirs.model: theirs.value}))
    yield Figure(
        bars('patheval-segments', panels, 'Which segment is nearer', 'fraction of right replies'),
        'Fraction of pairs of points, lines and curves whose nearer one is named, with 95 % '
        "intervals. Lines: GPT-4o in the paper's figure 2, on segments of its own"
        + ''.join(f'; ours: {words}' for words in dict.fromkeys(
            who[-1] for who, _ in lines if who[-1])) + '.')


# --------------------------------------------------------------------------- who, and what


def _lines(runs: Iterable[Any]) -> list[tuple[RowKey, Line]]:
    """Lines that are scored, with what they are of."""
    found = []
    for run in runs:
        options = ', '.join(f'{name} {value}' for name, value in sorted(
            run.identity['method'].items()) if name != 'name')
        group, = Results((run,)).groups
        parts = samples_by_split(run.identity)
        for split in dict.fromkeys(line['split'] for line in run.lines):
            part = parts.get(split, {})
            cells = compared(group, split,
                             _FINE_TOKENS if part.get('variant') == _FINE else None)
            who = (part.get('sha256', ''), part.get('form', ''), cells['measured'] or '',
                   cells['unlike'] or '')
            found += [((run.method, options, run.backend, line['model'], *who), line)
                      for line in run.lines if line['split'] == split
                      and line['measures'].get('solved') is not None]
    return found


def _named(who: RowKey) -> dict[str, Any]:
    source = BACKEND if who[_BACKEND] == BACKEND else _HERE
    return {'source': source, **{key: value or None for key, value in zip(
        ('method', 'options', 'backend', 'model', 'data', 'form', 'measured', 'unlike'), who,
        strict=True)}}


def _groups(lines: Iterable[tuple[RowKey, Line]], keys: Sequence[Callable[[Line], Any]],
            ) -> Iterator[tuple[tuple[Any, ...], list[Line]]]:
    """Group lines by row key and further keys."""
    found = grouped(lines, lambda pair: (pair[0], *(key(pair[1]) for key in keys)))
    for key, own in found.items():
        yield key, [line for _, line in own]


def _value(lines: Sequence[Line], name: str) -> float | None:
    return aggregate(lines, measure_of(name), resamples=0).value


def _interval(lines: Sequence[Line], measure: str, key: str) -> dict[str, Any]:
    found = aggregate(lines, measure_of(measure), resamples=0)
    return {key: found.value, f'{key}_low': found.low, f'{key}_high': found.high,
            f'{key}_n': found.n, 'n': found.n}


def _compared(lines: Iterable[tuple[RowKey, Line]], variants: Iterable[str]) -> list[
        tuple[RowKey, Line]]:
    known = set(variants)
    return [(who, line) for who, line in lines if line['details']['asks'] == CHOICE
            and line['details']['variant'] in known]


# ------------------------------------------------------------------------------------- table 1


def _accuracy(lines: Sequence[tuple[RowKey, Line]]) -> Iterator[dict[str, Any]]:
    known = _compared(lines, (variant for _, _, variant in CONDITIONS.values()))
    for (who,), own in _groups(known, ()):
        row = _named(who)
        for name, (_, view, variant) in CONDITIONS.items():
            part = condition_of(own, view, variant)
            if part:
                row |= {**_interval(part, 'solved', name),
                        f'{name}_lenient': _value(part, 'solved_lenient')}
        yield row


def _accuracy_published(suite: Suite) -> Iterator[dict[str, Any]]:
    for model in suite.published.models:
        values: dict[str, Any] = {}
        for name, (_, view, variant) in CONDITIONS.items():
            found = published_accuracy(suite.published, model, view, variant)
            if found is not None:
                values |= {name: found.value, f'{name}_n': found.n}
        if values:
            yield {'source': f'{_PAPER}, table 1', 'model': model, **paper_compared(suite),
                   **values}


# ------------------------------------------------------------------------------------- table 2


def _positions(lines: Sequence[tuple[RowKey, Line]]) -> Iterator[dict[str, Any]]:
    for (who, view), own in _groups(_compared(lines, ORDERS),
                                    (lambda line: line['details']['view'],)):
        row = {**_named(who), 'view': view}
        for variant in ORDERS:
            part = [line for line in own if line['details']['variant'] == variant]
            if part:
                found = positions(part)
                row |= {f'{variant}_{name}': found[name]
                        for name in ('first', 'second', 'neither')}
                row[f'{variant}_right'] = found['right_first']
        yield row


def _positions_published(suite: Suite) -> Iterator[dict[str, Any]]:
    for model in suite.published.models:
        row: dict[str, Any] = {}
        for variant in ORDERS:
            for place in PLACES:
                found = published_count(suite.published, model, '2d', variant, place)
                if found is not None:
                    row[f'{variant}_{place}'] = int(found.value)
        if row:
            yield {'source': f'{_PAPER}, table 2', 'model': model, 'view': '2d',
                   **paper_compared(suite), **row,
                   'none_right': 530, 'flipped_right': 520, 'random_right': 530}


# ------------------------------------------------------------------------------------- table 3


def _perception(lines: Sequence[tuple[RowKey, Line]]) -> Iterator[dict[str, Any]]:
    together = [(who, line) for who, line in lines if line['details']['asks'] == PERCEPTION]
    alone = _compared(lines, ('perception_fine',))
    for asked, known in (('together', together), ('one by one', alone)):
        for (who, view), own in _groups(known, (lambda line: line['details']['view'],)):
            for name in NAMES:
                yield {**_named(who), 'asked': asked, 'view': view, 'descriptor': key_of(name),
                       **_perceived(own, name)}


def _perceived(lines: Sequence[Line], name: str) -> dict[str, Any]:
    """Cells of one descriptor, of either way to ask."""
    row: dict[str, Any] = {}
    for part in ('all', *EVERY_LEVEL):
        if 'levels' in lines[0]['details']:
            measure = lower_measure(name)
            own = [line for line in lines if part in ('all', line['details']['levels'][name])]
        else:
            measure = 'solved'
            own = [line for line in lines if name in line['details']['descriptors']
                   and part in ('all', line['details']['level'])]
        found = _interval(own, measure, part)
        del found['n']
        row |= found
    return {**row, 'n': row['all_n']}


def _perception_published(suite: Suite) -> Iterator[dict[str, Any]]:
    for view in VIEWS:
        for name in NAMES:
            values = {column: found.value for column, theirs in _SETS.items()
                      if (found := published_perception(
                          suite.published, 'GPT-4o', view, name, theirs)) is not None}
            if values:
                yield {'source': f'{_PAPER}, table 3', 'model': 'GPT-4o', 'view': view,
                       'descriptor': key_of(name),
                       **paper_compared(suite, tokens=_FINE_TOKENS), **values}


# ----------------------------------------------------------------------- figure 2, and the rest


def _segments(lines: Sequence[tuple[RowKey, Line]]) -> Iterator[dict[str, Any]]:
    for (who, variant, view), own in _groups(
            lines, (lambda line: line['details']['variant'],
                    lambda line: line['details']['view'])):
        row = {**_named(who), 'variant': variant, 'view': view}
        for kind in KINDS:
            row |= _interval([line for line in own if line['details']['kind'] == kind], 'solved',
                             kind)
        yield row


def _segments_published(suite: Suite) -> Iterator[dict[str, Any]]:
    found = {kind: row for kind in KINDS if (row := suite.published.find(
        'GPT-4o', 'solved', split=_SEGMENTS, kind=kind, view='2d')) is not None}
    if found:
        yield {'source': f'{_PAPER}, figure 2', 'model': 'GPT-4o', 'variant': 'none',
               'view': '2d', **paper_compared(suite),
               **{kind: row.value for kind, row in found.items()},
               **{f'{kind}_n': row.n for kind, row in found.items()}}


def _parts(lines: Sequence[tuple[RowKey, Line]]) -> Iterator[dict[str, Any]]:
    known = [(who, line) for who, line in lines if 'scenario' in line['details']
             and line['details']['asks'] == CHOICE]
    parts: dict[str, Callable[[Line], Sequence[str]]] = {
        'task': lambda line: [f's{line["details"]["scenario"]:02}'],
        'difference': lambda line: [line['details']['level']] if (
            'level' in line['details']) else [],
        'descriptor': lambda line: list(map(key_of, line['details']['descriptors'])),
        'family': lambda line: [line['details']['family']]}
    for (who, variant, view), own in _groups(
            known, (lambda line: line['details']['variant'],
                    lambda line: line['details']['view'])):
        for kind, key in parts.items():
            for part in sorted({part for line in own for part in key(line)}):
                there = [line for line in own if part in key(line)]
                found = _interval(there, 'solved', 'solved')
                yield {**_named(who), 'variant': variant, 'view': view, 'kind': kind,
                       'part': part, **found,
                       'solved_lenient': _value(there, 'solved_lenient'),
                       'first': _value(there, 'first')}
