"""Figures of a report, made from its tables and groups, with captions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sightplan.metrics import RULES, measures
from sightplan.metrics.calibration import Bin, Reliability
from sightplan.metrics.intervals import pooled
from sightplan_report import plots
from sightplan_report.grouping import grouped
from sightplan_report.html import words
from sightplan_report.labels import KEYS, PRIVILEGED, labels
from sightplan_report.results import Results
from sightplan_report.tables import Table
from sightplan_report.tables.answers import compounding_rows
from sightplan_report.tables.common import ALL, group_cells
from sightplan_report.tables.model import group_columns

_MOST_ROWS, _MOST_PANELS, _MOST_BINS = 48, 24, 4
_PERFECT = 'perfect'
_WITHOUT_MODEL = [key for key in KEYS if key not in ('model', 'backend')]
_PAIR = ('compared', 'failure_probability', *(
    f'{side}_{key}' for side in ('first', 'second')
    for key in ('method', 'model', 'backend', 'variant')))
"""Columns that identify a pair of groups in the table of pairs."""

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: an SVG element ('' without data), and its caption."""

    svg: str
    caption: str


def figures(results: Results, tables: Iterable[Table]) -> Iterator[tuple[str, Figure]]:
    """All figures with data, each with its section of the page.

    Args:
        results: runs of episodes.
        tables: made from them.
    """
    rows = {table.name: table.rows for table in tables}
    for section, made in (
            ('success', _success(results, rows.get('figure5', ()), rows.get('models', ()))),
            ('compounding', _compounding(tuple(compounding_rows(results))
                                         if 'compounding' in rows else ())),
            ('failures', _failures(results)),
            ('calibration', _calibration(rows.get('calibration', ()),
                                         rows.get('calibration_error', ()))),
            ('cost', _cost(results)),
            ('paired', _paired(rows.get('paired', ())))):
        yield from ((section, figure) for figure in made if figure.svg)


def of_suites(results: Results) -> Iterator[tuple[str, Figure]]:
    """The figures that suites draw themselves (``Suite.figures``), with their section.

    Args:
        results: runs of episodes and of samples.

    Raises:
        InputError: such a module cannot be imported.
    """
    for runs in grouped(results.runs, lambda run: run.suite and run.suite.name).values():
        suite = runs[0].suite
        if suite is not None:
            yield from (('suites', figure) for figure in suite.figures(runs) if figure.svg)


def group_labels(results: Results, domain: bool = False) -> list[str]:
    """Labels of groups; with ``domain``, they name the domain where there are several."""
    names = labels([group_cells(group) for group in results.groups])
    several = domain and len(results.domains) > 1
    return [f'{group.domain}: {name}' if several else name
            for group, name in zip(results.groups, names, strict=True)]


def _by_domain(rows: Iterable[_Row]) -> Iterable[tuple[str, list[_Row]]]:
    return grouped(rows, lambda row: str(row['domain'])).items()


def _success(results: Results, means: Sequence[_Row], models: Sequence[_Row]) -> Iterator[Figure]:
    """Success by domain: of each method over its models, then of each model."""
    means_of, models_of = (dict(_by_domain(row for row in rows if row['success'] is not None))
                           for rows in (means, models))
    for domain in results.domains:
        rows, own = means_of.get(domain, []), models_of.get(domain, [])
        parts = _parts_of_models(results, rows)
        names = [name + parts.get((row['backend'], row['names']), '')
                 for name, row in zip(labels(rows, ('method',)), rows, strict=True)]
        methods = [plots.Dot(
            name, row['split'], row['success'], row['success_low'], row['success_high'],
            row['success_n'], row['paper']) for name, row in zip(names, rows, strict=True)]
        several = any((row['models'] or 0) > 1 for row in rows)
        single = [plots.Dot(name, row['split'], row['success'], row['success_low'],
                            row['success_high'], row['success_n'], row['paper_success'])
                  for name, row in zip(labels(own), own, strict=True)] if several else []
        for key, points, what in (
                ('success', methods, 'method and split'
                 + (', mean over models' if several else '')),
                ('success-models', single, 'method, model and split')):
            if len({point.row for point in points}) > _MOST_ROWS:
                continue
            hollow = ('; hollow: published, of the same models'
                      if any(p.published is not None for p in points) else '')
            unlike = dict.fromkeys(row['success_unlike'] for row in own if row['success_unlike'])
            if hollow and unlike:
                hollow += (f' (not like for like: {"; ".join(unlike)}; column "what differs" of '
                           'the models)')
            some = (' Rows with "of" in brackets are means over some of the models only: compare '
                    'them model by model, not with means over others.'
                    if parts and key == 'success' else '')
            yield Figure(
                plots.dots(f'{key}-{_id(domain)}', points, f'Success in {domain} by {what}',
                           'fraction of episodes that are solved', order=results.splits),
                f'{domain}: fraction of solved episodes by {what}, with 95 % '
                f'intervals of the episodes{hollow}; n = {_range(p.n for p in points)} for each '
                f'point.{some}')


def _parts_of_models(results: Results, means: Sequence[_Row]) -> dict[tuple[Any, Any], str]:
    """Remark of rows whose means leave out models of their backend.

    Models without any error are rows of their own, and no part of others.
    """
    found = {}
    averaged = [row for row in means if row['names'] and row['names'] != _PERFECT]
    for backend, alike in grouped(averaged, lambda row: row['backend']).items():
        all_models = {group.model for group in results.groups
                      if group.domain == alike[0]['domain'] and group.model != _PERFECT
                      and group.backend == (backend or '')}
        by_names = grouped(alike, lambda row: row['names'])
        for names, rows in by_names.items():
            counts = [row['models'] for row in rows]
            whole = max(len(all_models), *counts)
            if len(by_names) > 1 and min(counts) < whole:
                found[backend, names] = f' ({_range(counts)} of {whole} models)'
    return found


def _compounding(rows: Sequence[_Row]) -> Iterator[Figure]:
    for domain, own in _by_domain(row for row in rows if row['what'] == 'episodes'
                                  and row['success'] is not None and row['answers']):
        panels = labels(own, ('method',), _WITHOUT_MODEL)
        models = labels(own, ('model',), ('model', 'backend'))
        named = [(panel, model or row['backend'] or '', row)
                 for panel, model, row in zip(panels, models, own, strict=True)]
        ranges = {panel: [row['answers'] for *_, row in part]
                  for panel, part in grouped(named, lambda one: one[0]).items()}
        drawn = []
        for (panel, model), part in grouped(named, lambda one: one[:2]).items():
            accuracy = part[0][2]['accuracy']
            # A power of neighbouring numbers is nearly straight between them.
            xs = np.linspace(min(ranges[panel]), max(ranges[panel]), 60).tolist()
            drawn.append(plots.Curve(model, tuple(_joined([row for *_, row in part])),
                                     tuple((x, accuracy ** x) for x in xs), panel))
        yield Figure(
            plots.curves(f'compounding-{_id(domain)}', drawn[:_MOST_ROWS],
                         f'Success in {domain} by the answers that an episode needs',
                         'answers that an episode needs', 'fraction of episodes solved',
                         theory='if errors were independent'),
            f'{domain}: fraction of solved episodes, by the number of answers they need, with '
            '95 % intervals; some rows of the table are one point here. Models are drawn a '
            'little beside each other. Thin lines: accuracy of a single answer, '
            'which the table has, to the power of the answers needed.')


def _joined(rows: Sequence[_Row]) -> Iterator[tuple[float, float, float, float, int]]:
    """Neighbouring rows put together until few are left: answers, fraction, low, high, n."""
    total = left = sum(row['success_n'] for row in rows)
    joined: list[_Row] = []
    for row in rows:
        joined.append(row)
        left -= row['success_n']
        n = sum(one['success_n'] for one in joined)
        if not left or (n >= total / _MOST_BINS <= 2 * left):
            found = pooled(one['rate'] for one in joined)
            yield (sum(one['answers'] * one['success_n'] for one in joined) / n,
                   found.successes / n, *found.interval, n)
            joined = []


def _paired(rows: Sequence[_Row]) -> Iterator[Figure]:
    for domain, own in _by_domain(rows):
        pairs = grouped(own, lambda row: tuple(row[key] for key in _PAIR)).values()
        whole = [row for found in pairs for row in
                 ([row for row in found if row['split'] == ALL] or found)]
        splits = list(dict.fromkeys(row['split'] for row in whole))
        numbers = {row['n'] for row in whole}
        none = sum(row['difference_low'] is None for row in whole)
        flat = sum(row['difference_low'] is not None
                   and row['difference_low'] == row['difference_high'] for row in whole)
        points = []
        for label, row in zip(_pairs(whole), whole, strict=True):
            low, high, value = (row[f'difference{end}'] for end in ('_low', '_high', ''))
            notes = [f'n {row["n"]}' if len(numbers) > 1 else '',
                     row['split'] if len(splits) > 1 else '',
                     '' if max(flat, none) == len(whole) else
                     'no interval' if low is None else 'no width' if low == high else '']
            note = ', '.join(filter(None, notes))
            points.append(plots.Dot(
                f'{label} ({note})' if note else label, '', value,
                value if low is None else low, value if high is None else high, row['n']))
        left_out = len(points) - _MOST_ROWS
        over = ('over all splits' if splits == [ALL] else f'split {splits[0]}'
                if len(splits) == 1 else 'over all splits of a pair or the one that is named')
        yield Figure(
            plots.dots(f'paired-{_id(domain)}', _numbered(points[:_MOST_ROWS]),
                       f'Differences of success in {domain}', 'difference of success, first – '
                       'second', fraction=False, zero=True),
            f'{domain}: difference of success on the same episodes, {over}, with 95 % bootstrap '
            f'intervals over problems; n = {_range(numbers)} pairs of episodes for each. p-values '
            'are in the table.'
            + (f' {_no_bars(flat, whole, "no width")}: all problems have the same difference, so '
               'that a bootstrap cannot say how uncertain it is.' if flat else '')
            + (f' {_no_bars(none, whole, "no interval")}: all pairs are of one problem.'
               if none else '')
            + (f' {left_out} more comparisons are in the table.' if left_out > 0 else ''))


def _no_bars(count: int, rows: Sequence[object], what: str) -> str:
    return (f'Intervals here have {what}' if what == 'no width' else 'There is no interval'
            ) if count == len(rows) else f'"{what}" ({count} of {len(rows)})'


def _numbered(points: Sequence[plots.Dot]) -> list[plots.Dot]:
    """Points of which no two have the same name."""
    seen: Counter[str] = Counter()
    found = []
    for point in points:
        seen[point.row] += 1
        number = seen[point.row]
        found.append(point if number == 1 else replace(point, row=f'{point.row}, no. {number}'))
    return found


def _pairs(rows: Sequence[_Row]) -> list[str]:
    """Short descriptions of comparisons; long ones where two would be equal."""
    short = [_pair(row, False) for row in rows]
    return [_pair(row, True) if short.count(label) > 1 else label
            for label, row in zip(short, rows, strict=True)]


def _pair(row: _Row, whole: bool) -> str:
    """Description of a comparison; the short form omits backend and shared facts."""
    keys = ['method', 'model', 'backend']
    if not whole and (row['first_model'] or row['second_model']) and (
            row['first_model'] != row['second_model']
            or row['first_backend'] == row['second_backend']):
        keys.remove('backend')  # a model says enough, unless it was reached in two ways
    first, second = ([*((row[f'{side}_{key}'] or '') for key in keys)]
                     for side in ('first', 'second'))
    variants = [str(row[f'{side}_variant'] or '').split(', ') for side in ('first', 'second')]
    shared = [a for a, b in zip(first, second, strict=True) if a and a == b]
    shared += [text for text in variants[0] if text and text in variants[1]
               and (whole or not text.startswith(PRIVILEGED))]
    own = []
    for values, others, texts, more in ((first, second, *variants),
                                        (second, first, *reversed(variants))):
        parts = [a for a, b in zip(values, others, strict=True) if a and a != b]
        own.append(' '.join([*parts, *(t for t in texts if t and t not in more)]) or '-')
    if whole and row['failure_probability']:
        shared.append(f'{100 * row["failure_probability"]:g}% of actions fail')
    return (f'{", ".join(shared)}: ' if shared else '') + ' – '.join(own)


def _failures(results: Results) -> Iterator[Figure]:
    names = group_labels(results, domain=True)
    if len(names) > _MOST_ROWS:  # all models of a method together
        methods = labels([group_cells(group) for group in results.groups], ('method',),
                         _WITHOUT_MODEL)
        names = [f'{group.domain}: {name}'
                 for group, name in zip(results.groups, methods, strict=True)]
    counts: dict[str, Counter[str]] = {}
    for name, group in zip(names, results.groups, strict=True):
        counts.setdefault(name, Counter()).update(group.summary['failures']['causes'])
    present = set(itertools.chain(*counts.values()))
    order = dict.fromkeys([*(rule.cause.value for rule in RULES), *sorted(present)])
    yield Figure(
        plots.fractions('failures', [
            (name, {words(cause): own[cause] for cause in order if cause in present})
            for name, own in counts.items()], 'Causes of failure', 'fraction of failed episodes'),
        'Causes of failure, with the number of episodes of each.')


def _calibration(bins: Sequence[_Row], errors: Sequence[_Row]) -> Iterator[Figure]:
    keys = [*(column.key for column in group_columns()), 'source']
    bins_of = grouped(bins, lambda row: tuple(row[key] for key in keys))
    domains = {row['domain'] for row in errors}
    for source, about in (
            ('beliefs', ('Probabilities of atoms as they were believed at each step, against the '
                         'fraction of those atoms that was true')),
            ('answers', ('P(yes) as the model gave it, against the fraction of questions whose '
                         'answer is yes'))):
        own = [row for row in errors if row['source'] == source]
        panels = [(label if len(domains) == 1 else f'{row["domain"]}: {label}', Reliability(
            row['ece'], row['ece_low'], row['ece_high'], row['n'], row['clusters'],
            tuple(map(_bin, bins_of[tuple(row[key] for key in keys)]))))
            for label, row in zip(labels(own), own, strict=True)]
        yield Figure(
            plots.reliabilities(f'reliability-{source}', panels[:_MOST_PANELS],
                                f'Reliability of {source}'),
            f'{about}. What is calibrated lies on the diagonal. ECE: expected '
            'calibration error; below: number of probabilities; hollow: fewer than 20.')


def _bin(row: _Row) -> Bin:
    return Bin(row['low'], row['high'], row['n'],
               *(math.nan if row[key] is None else row[key] for key in ('mean_p', 'frequency')))


def _cost(results: Results) -> Iterator[Figure]:
    names = group_labels(results, domain=True)
    for key, title in (('questions', 'Questions per episode'), ('seconds', 'Seconds per episode')):
        points = []
        for name, group in zip(names, results.groups, strict=True):
            for split, lines in group.by_split.items():
                values = [line[key] for line in lines
                          if measures.scored(line) and line[key] is not None]
                if len(names) <= _MOST_ROWS and any(values):
                    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
                    points.append(plots.Dot(name, split, middle, low, high, len(values)))
        yield Figure(
            plots.dots(f'cost-{key}', points, title, f'{key} (log)', fraction=False, log=True,
                       order=results.splits),
            f'{title}: median and middle half of the episodes (not an interval of the median).')


def _id(text: str) -> str:
    return ''.join(c if c.isalnum() and c.isascii() else '-' for c in text) or 'x'


def _range(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers)) or [0]
    return str(found[0]) if len(found) == 1 else f'{found[0]} to {found[-1]}'
