"""The report: one HTML file about runs and sweeps that needs nothing else.

``build`` takes what ``results.gather`` read and the tables made from it, draws the plots, chooses
episodes, makes their pages, and puts all into ``html/report.html.jinja``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightplan.metrics import RULES, wilson
from sightplan.metrics.calibration import Bin, Reliability
from sightplan.metrics.failures import cause_of
from sightplan.model import InputError
from sightplan.records.evidence import failure_picture
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.report import episode_page, plots
from sightplan.report.failures_picture import for_page
from sightplan.report.html import NONE, jpeg_uri, render, seconds, words
from sightplan.report.results import (
    Group,
    Line,
    Results,
    RunResults,
    are_known,
    completed,
    split_of,
)
from sightplan.report.shown import Shown, shown
from sightplan.report.tables import Table

FAILED, ALL, NO_PAGES = 'failed', 'all', 'none'
MOST, MOST_BYTES, MOST_LISTED = 2, 15_000_000, 3000
_MOST_ROWS, _MOST_GALLERY, _MOST_COMPLAINTS = 48, 12, 12
_MOST_PANELS = 24
_LONG = 32
_FOLDED = ('figure5', 'models', 'predicates', 'compounding', 'failures', 'stops', 'calibration',
           'paired', 'runs')
"""Long tables, shown when they are opened."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is shown.

    Attributes:
        title: of the page.
        episodes: which episodes get a page of their own: ``failed`` (failures of each cause, and
            one that was solved, of each method), ``all``, or ``none``.
        most: failures of each cause and method that get a page.
        most_bytes: all pages of episodes together, about; what does not fit is left out.
    """

    title: str = ''
    episodes: str = FAILED
    most: int = MOST
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class Page:
    """The report.

    Attributes:
        html: the file.
        episodes: number of episodes that have a page of their own.
        left_out: number of those that were chosen, but did not fit.
    """

    html: str
    episodes: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """An episode that gets a page."""

    group: Group
    run: RunResults
    line: Line
    rank: int

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return str(self.run.folder), str(self.line['episode_id'])


@dataclass(frozen=True, slots=True)
class _Section:
    key: str
    title: str
    texts: Sequence[str] = ()
    plots: Sequence[Mapping[str, str]] = ()
    tables: Sequence[Shown] = ()
    gallery: Sequence[Mapping[str, str]] = ()
    facts: Sequence[tuple[str, str]] = ()


@dataclass
class _Episodes:
    """The pages of episodes, and their keys."""

    pages: list[dict[str, str]] = field(default_factory=list)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    left_out: int = 0


def build(results: Results, tables: Sequence[Table], settings: Settings | None = None,
          progress: Callable[[int, int], None] = lambda done, total: None,
          read: Callable[[Any], Iterable[RecordedEpisode]] = read_episodes) -> Page:
    """Make the report.

    Args:
        results: what was read.
        tables: made from it.
        settings: what is shown.
        progress: is told how many pages of episodes are made, and how many there will be.
        read: reads the episodes of a bag.
    """
    settings = settings or Settings()
    chosen = choose(results, settings.episodes, settings.most)
    episodes = _episodes(results, chosen, settings, progress, read)
    sections = [section for section in _sections(results, tables, chosen, episodes)
                if section is not None]
    listed, filters, unlisted = _listed(results, episodes.keys)
    html = render(
        'report.html.jinja', script=True, title=settings.title or _title(results),
        subtitle=_subtitle(results), complaints=results.complaints,
        most_complaints=_MOST_COMPLAINTS, tiles=_tiles(results), sections=sections, folded=_FOLDED,
        listed=listed, filters=filters, unlisted=unlisted, pages=episodes.pages)
    return Page(html, len(episodes.pages), episodes.left_out)


def one_episode(results: Results, episode: str,
                read: Callable[[Any], Iterable[RecordedEpisode]] = read_episodes) -> str:
    """The page of one episode alone.

    Args:
        results: of the run or runs that hold it.
        episode: its id, or a part of it that only one has.
        read: reads the episodes of a bag.

    Raises:
        InputError: no episode, or several, have such an id.
    """
    every = list(_all_lines(results))
    found = ([c for c in every if c.line['episode_id'] == episode]
             or [c for c in every if episode in c.line['episode_id']])
    if len(found) != 1:
        names = [f'{c.line["episode_id"]} of {c.run.name}' for c in found or every]
        more = f' and {len(names) - 5} more' if len(names) > 5 else ''
        raise InputError(
            f'--episode {episode}: {"no" if not found else len(found)} episode'
            f'{"s have" if len(found) > 1 else " has"} this in the id; '
            f'{"give more of it, or one run only" if found else "there are"}: '
            f'{", ".join(names[:5])}{more}')
    return episode_page.page(_view(found[0], 'episode', read))


# ------------------------------------------------------------------------------------ episodes


def choose(results: Results, which: str = FAILED, most: int = MOST) -> list[Chosen]:
    """The episodes that get a page, the most telling first.

    Args:
        results: what was read.
        which: ``failed``, ``all`` or ``none``, see ``Settings``.
        most: failures of each cause and method.
    """
    if which == NO_PAGES:
        return []
    every = list(_all_lines(results))
    if which == ALL:
        return every
    shelves: dict[tuple[str, str, str], list[Chosen]] = {}
    for one in every:
        cause = cause_of(completed(one.line))
        if cause is not None or one.line['solved']:
            shelves.setdefault((one.group.domain, one.group.method, cause or ''), []).append(one)
    chosen = []
    for (_, _, cause), shelf in shelves.items():
        chosen += [Chosen(one.group, one.run, one.line, rank) for rank, one in
                   enumerate(_spread(shelf)[:most if cause else 1])]
    return sorted(chosen, key=lambda one: one.rank)


def _all_lines(results: Results) -> Iterator[Chosen]:
    for group in results.groups:
        for run in group.runs:
            for line in run.lines:
                yield Chosen(group, run, line, 0)


def _spread(shelf: Sequence[Chosen]) -> list[Chosen]:
    """Those with a bag first, then those with a picture; over runs and splits in turn."""
    def worth(one: Chosen) -> int:
        return -2 * bool(one.line.get('bag')) - bool((one.line.get('failure') or {}).get(
            'picture'))
    places: dict[tuple[str, str], list[Chosen]] = {}
    for one in sorted(shelf, key=worth):
        places.setdefault((str(one.run.folder), split_of(one.line)), []).append(one)
    turns = itertools.zip_longest(*places.values())
    return sorted((one for turn in turns for one in turn if one is not None), key=worth)


def _view(one: Chosen, key: str, read: Callable[[Any], Iterable[RecordedEpisode]],
          ) -> episode_page.EpisodeView:
    recorded, complaint = episode_page.read_recorded(one.line, one.run.folder, read)
    return episode_page.view(completed(one.line), one.run.folder, key, recorded,
                             model=one.group.model, complaint=complaint)


def _episodes(results: Results, chosen: Sequence[Chosen], settings: Settings,
              progress: Callable[[int, int], None],
              read: Callable[[Any], Iterable[RecordedEpisode]]) -> _Episodes:
    """Make the pages in the order of their worth, until they are too large together."""
    found = _Episodes()
    made: list[tuple[Chosen, dict[str, str]]] = []
    size = 0
    for number, one in enumerate(chosen):
        progress(number, len(chosen))
        key = f'e{number}'
        html = episode_page.section(_view(one, key, read))
        size += len(html)
        if made and size > settings.most_bytes:
            found.left_out = len(chosen) - number
            break
        made.append((one, {'key': key, 'html': html}))
        found.keys[one.key] = key
    progress(len(chosen), len(chosen))
    # One turns from page to page in the order of the list.
    order = {one.key: number for number, one in enumerate(_all_lines(results))}
    found.pages = [page for _, page in sorted(made, key=lambda pair: order[pair[0].key])]
    return found


def _listed(results: Results, keys: Mapping[tuple[str, str], str],
            ) -> tuple[list[dict[str, str]], list[tuple[str, str, list[str]]], int]:
    """Rows of the list of episodes, its filters, and how many rows were left out."""
    rows = []
    for one in _all_lines(results):
        line = completed(one.line)
        cause = cause_of(line)
        solved = line['scored'] and line['solved']
        rows.append({
            'key': keys.get(one.key, ''), 'name': str(line['episode_id']),
            'method': one.group.method, 'model': one.group.model or NONE,
            'variant': _group_label(one.group, ()),
            'split': split_of(line), 'mark': '✓' if solved else '✗' if line['scored'] else '·',
            'result': 'solved' if solved else words(cause) if cause else words(line['stop']),
            'actions': str(one.line.get('steps', NONE)),
            'questions': str(one.line.get('questions', NONE)),
            'seconds': f'{line["seconds"]:.1f}' if 'seconds' in one.line else NONE})
    most = rows
    if len(rows) > MOST_LISTED:
        most = sorted(rows, key=lambda row: (not row['key'], row['result'] == 'solved'))
        most = most[:MOST_LISTED]
    filters = []
    for name in ('method', 'model', 'split', 'result'):
        values = sorted({row[name] for row in most})
        if len(values) > 1:
            filters.append((name, name, values))
    return most, filters, len(rows) - len(most)


def _gallery(chosen: Sequence[Chosen], keys: Mapping[tuple[str, str], str],
             ) -> list[dict[str, str]]:
    """A picture for each cause, as far as there are some."""
    found: dict[str, dict[str, str]] = {}
    for one in chosen:
        line = completed(one.line)
        failure = episode_page.failure_told(line)
        if not failure or one.key not in keys or failure['cause'] in found:
            continue
        if len(found) == _MOST_GALLERY:
            break
        data = failure_picture(one.run.folder, {**line, 'failure': failure})
        if data is not None:
            found[failure['cause']] = {
                'key': keys[one.key], 'uri': jpeg_uri(for_page(data)),
                'cause': words(failure['cause']), 'text': failure['evidence']['text'],
                'label': f'{_group_label(one.group)}, {line["episode_id"]}'}
    return list(found.values())


# ------------------------------------------------------------------------------------ sections


_PLACES: Mapping[str, tuple[str, str]] = {
    # key of a section: title, what its tables are called (the beginning of their names)
    'success': ('Success', 'success figure5'),
    'models': ('Models', 'model'),
    'predicates': ('Accuracy of each predicate', 'predicates'),
    'compounding': ('How errors add up', 'compounding'),
    'failures': ('Why episodes fail', 'failures stops'),
    'calibration': ('Calibration', 'calibration'),
    'cost': ('Questions and time', 'cost'),
    'paired': ('Paired comparisons', 'paired'),
    'episodes': ('Episodes', ''),
    'provenance': ('What was run, by what', 'runs'),
    'more': ('Further tables', ''),
    'notes': ('How to read the numbers', ''),
}


def place_of(name: str) -> str:
    """The section that a table belongs to."""
    for key, (_, prefixes) in _PLACES.items():
        if any(name.startswith(prefix) for prefix in prefixes.split()):
            return key
    return 'more'


def _sections(results: Results, tables: Sequence[Table], chosen: Sequence[Chosen],
              episodes: _Episodes) -> Iterator[_Section]:
    shelves: dict[str, list[Table]] = {key: [] for key in _PLACES}
    for table in tables:
        if table.rows:
            shelves[place_of(table.name)].append(table)
    for key, (title, _) in _PLACES.items():
        drawn: list[Mapping[str, str]] = []
        texts: list[str] = []
        gallery: list[dict[str, str]] = []
        facts: list[tuple[str, str]] = []
        if key == 'success':
            drawn = list(_success_plots(results, tables))
        elif key == 'compounding':
            drawn = list(_compounding_plots(shelves[key]))
        elif key == 'failures':
            drawn = list(_failure_plots(results))
            gallery = _gallery(chosen, episodes.keys)
            texts = [('Each failed episode has one cause: that of the first rule that applies. '
                      'Shares are of the failed episodes.')]
        elif key == 'calibration':
            drawn = list(_calibration_plots(shelves[key]))
        elif key == 'cost':
            drawn = list(_cost_plots(results))
        elif key == 'paired':
            drawn = list(_paired_plots(shelves[key]))
        elif key == 'episodes':
            texts = [_about_episodes(results, episodes)]
        elif key == 'provenance':
            facts = list(_provenance(results))
        elif key == 'notes':
            texts = list(_NOTES)
        drawn = [plot for plot in drawn if plot['svg']]
        ready = [shown(table) for table in shelves[key]]
        if key == 'failures' and not ready:
            continue
        if drawn or texts or gallery or facts or ready:
            yield _Section(key, title, texts, drawn, ready, gallery, facts)


_NOTES = (
    ('An episode is solved when the goal holds in the true final state, whatever the method '
     'believes. Episodes that ended in an infrastructure error or were cancelled are not scored: '
     'they count neither for a method nor against it.'),
    ('Intervals of shares are Wilson score intervals of 95 %, those of differences, of means over '
     'problems and of calibration errors are percentiles of a bootstrap over episodes or '
     'problems. Standard errors, where they stand, are those of the paper, sqrt(p (1 - p) / n), '
     'which are 0 at 0 and at 1; read the interval beside them.'),
    ('Hollow markers are published numbers, filled ones are measured here. Colours are told '
     'apart by colour-blind readers, and each has a marker or a hatch of its own.'),
    ('p-values are of the two-sided exact McNemar test on the episodes that both methods have in '
     'common; many comparisons make some of them small by chance.'),
    ('An accuracy is over answers that could be read, unless it says otherwise; predicate '
     'accuracies count the questions of enumerations only, as the paper does.'),
)


def _about_episodes(results: Results, episodes: _Episodes) -> str:
    total = sum(len(run.lines) for run in results.runs)
    text = f'{total:,} episodes; {len(episodes.pages)} of them have a page here, which is linked.'
    if episodes.left_out:
        text += (f' {episodes.left_out} more were chosen, but would have made this file too '
                 'large: "sightplan report RUN --episode ID --out page.html" writes any of them.')
    elif episodes.pages and len(episodes.pages) < total:
        text += (' Chosen were failures of each cause and method, and one that was solved of each '
                 'method; "--episodes all" or "--most N" takes more, "--episode ID" any one.')
    return text


# --------------------------------------------------------------------------------------- plots


def _rows_of(tables: Sequence[Table], name: str) -> Sequence[Mapping[str, Any]]:
    return next((table.rows for table in tables if table.name == name), ())


def _label(group: Group, domains: int) -> str:
    label = _group_label(group)
    return label if domains == 1 else f'{group.domain}: {label}'


def _group_label(group: Group, parts: Sequence[str] = ('method', 'model')) -> str:
    return _cells_label({key: getattr(group, key) for key in (
        *parts, 'failure_probability', 'variant')}, parts)


def _cells_label(cells: Mapping[str, Any], parts: Sequence[str] = ('method', 'model')) -> str:
    """What a row of a table is about, without the domain."""
    return ', '.join(filter(None, (
        *(str(cells.get(part) or '') for part in parts),
        _failing(cells.get('failure_probability')), str(cells.get('variant') or ''))))


def _failing(probability: float | None) -> str:
    return f'{100 * probability:g}% of actions fail' if probability else ''


def _success_plots(results: Results, tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    """Success by domain: of each method over its models, then of each model."""
    for domain in results.domains:
        means = [row for row in _rows_of(tables, 'figure5')
                 if row['domain'] == domain and row['success'] is not None]
        labels = [_cells_label(row, ('method',)) for row in means]
        twice = {label for label, row in zip(labels, means, strict=True)
                 if labels.count(label) > len({r['split'] for r in means})}
        methods = [plots.Dot(
            f'{label}, {_models(row)}' if label in twice and row['names'] else label,
            row['split'], row['success'],
            *wilson(round(row['success'] * row['success_n']), row['success_n']),
            row['success_n'], row['paper']) for label, row in zip(labels, means, strict=True)]
        models = [plots.Dot(_cells_label(row), row['split'], row['success'], row['success_low'],
                            row['success_high'], row['success_n'], row['paper_success'])
                  for row in _rows_of(tables, 'models')
                  if row['domain'] == domain and row['success'] is not None]
        several = any((row['models'] or 0) > 1 for row in means)
        for name, points, what in (
                ('success', methods, 'method and split'
                 + (', mean over models' if several else '')),
                ('success-models', models if several else [], 'method, model and split')):
            if len({point.row for point in points}) > _MOST_ROWS:
                continue
            hollow = ('; hollow: published, of the same models'
                      if any(p.published is not None for p in points) else '')
            yield _plot(
                plots.dots(f'{name}-{_id(domain)}', points, f'Success in {domain} by {what}',
                           'share of episodes that are solved'),
                f'{domain}: share of solved episodes by {what}, with 95 % Wilson '
                f'intervals of the episodes{hollow}; n = {_range(p.n for p in points)} for each '
                'point.')


def _models(row: Mapping[str, Any]) -> str:
    names = str(row['names'])
    return names if len(names) <= _LONG else f'{row["models"]} models'


def _compounding_plots(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    rows = _rows_of(tables, 'compounding')
    domains = list(dict.fromkeys(row['domain'] for row in rows))
    for domain in domains:
        lines: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in rows:
            if row['domain'] == domain and row['success'] is not None and row['answers']:
                lines.setdefault((_cells_label(row, ('method',)), row['model'] or row['backend']
                                  or ''), []).append(row)
        drawn = [plots.Curve(
            model, tuple((row['answers'], row['success'], row['success_low'], row['success_high'],
                          row['success_n']) for row in own),
            tuple((row['answers'], row['independent']) for row in own
                  if row['independent'] is not None), panel)
            for (panel, model), own in lines.items() if len(own) > 1]
        yield _plot(
            plots.curves(f'compounding-{_id(domain)}', drawn[:_MOST_ROWS],
                         f'Success in {domain} by the answers that an episode needs',
                         'answers needed (log)', 'share', theory='if errors were independent'),
            f'{domain}: at 1, the share of single answers that are right; then the share of '
            'episodes that are solved, by the number of answers they need. With 95 % Wilson '
            'intervals. Thin lines: accuracy to the power of the answers needed.')


def _paired_plots(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    rows = _rows_of(tables, 'paired')
    for domain in dict.fromkeys(row['domain'] for row in rows):
        own = [row for row in rows if row['domain'] == domain]
        whole = [row for row in own if row['split'] == 'all'] or own
        points = [plots.Dot(
            _pair(row) + ('' if row['split'] == 'all' else f', {row["split"]}'), '',
            row['difference'], row['difference_low'], row['difference_high'], row['n'])
            for row in whole]
        left_out = len(points) - _MOST_ROWS
        yield _plot(
            plots.dots(f'paired-{_id(domain)}', points[:_MOST_ROWS],
                       f'Differences of success in {domain}', 'difference of success, first – '
                       'second', share=False, zero=True),
            f'{domain}: difference of success on the same episodes, over all splits, with 95 % '
            'bootstrap intervals over problems; p-values are in the table.'
            + (f' {left_out} more comparisons are in the table.' if left_out > 0 else ''))


def _pair(row: Mapping[str, Any]) -> str:
    """A comparison in words: what both have in common stands before it."""
    keys = ['method', 'model', 'backend', 'variant']
    if (row['first_model'] or row['second_model']) and (
            row['first_model'] != row['second_model']
            or row['first_backend'] == row['second_backend']):
        keys.remove('backend')  # a model says enough, unless it was reached in two ways
    first, second = ([row[f'{side}_{key}'] for key in keys] for side in ('first', 'second'))
    pairs = list(zip(first, second, strict=True))
    shared = [a for a, b in pairs if a and a == b]
    own = [' '.join(pair[k] for pair in pairs if pair[k] and pair[0] != pair[1]) or '-'
           for k in (0, 1)]
    return (f'{", ".join(shared)}: ' if shared else '') + ' – '.join(own)


def _failure_plots(results: Results) -> Iterator[Mapping[str, str]]:
    rows = []
    order = [rule.cause.value for rule in RULES]
    for group in results.groups:
        counts = group.summary['failures']['causes']
        rows.append((_label(group, len(results.domains)), counts))
    if len(rows) > _MOST_ROWS:
        rows = []
        merged: dict[str, dict[str, int]] = {}
        for group in results.groups:
            row = merged.setdefault(f'{group.domain}: {_group_label(group, ("method",))}', {})
            for cause, count in group.summary['failures']['causes'].items():
                row[cause] = row.get(cause, 0) + count
        rows = list(merged.items())
    present = {cause for _, counts in rows for cause in counts}
    causes = [cause for cause in dict.fromkeys([*order, *sorted(present)]) if cause in present]
    ordered = [(label, {words(cause): counts.get(cause, 0) for cause in causes})
               for label, counts in rows]
    yield _plot(plots.shares('failures', ordered, 'Causes of failure', 'share of failed episodes'),
                'Causes of failure, with the number of episodes of each.')


def _calibration_plots(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    errors = _rows_of(tables, 'calibration_error')
    bins: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in _rows_of(tables, 'calibration'):
        bins.setdefault(_who(row), []).append(row)
    domains = {row['domain'] for row in errors}
    for source, about in (
            ('beliefs', ('Probabilities of atoms as they were believed at each step, against the '
                         'share of those atoms that was true')),
            ('answers', ('P(yes) as the model gave it, against the share of questions whose '
                         'answer is yes'))):
        panels = []
        for row in errors:
            if row['source'] != source:
                continue
            label = _cells_label(row)
            panels.append((label if len(domains) == 1 else f'{row["domain"]}: {label}',
                           Reliability(row['ece'], row['ece_low'], row['ece_high'], row['n'],
                                       row['episodes'], tuple(map(_bin, bins[_who(row)])))))
        yield _plot(plots.reliabilities(f'reliability-{source}', panels[:_MOST_PANELS],
                                        f'Reliability of {source}'),
                    f'{about}. What is calibrated lies on the diagonal. ECE: expected '
                    'calibration error; below: number of probabilities; hollow: fewer than 20.')


def _who(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ('domain', 'method', 'backend', 'model',
                                      'failure_probability', 'privileged', 'calibrated',
                                      'variant', 'source'))


def _bin(row: Mapping[str, Any]) -> Bin:
    return Bin(row['low'], row['high'], row['n'],
               *(math.nan if row[key] is None else row[key] for key in ('mean_p', 'frequency')))


def _cost_plots(results: Results) -> Iterator[Mapping[str, str]]:
    for key, title, xlabel in (('questions', 'Questions per episode', 'questions (log)'),
                               ('seconds', 'Seconds per episode', 'seconds (log)')):
        points = []
        groups = results.groups if len(results.groups) <= _MOST_ROWS else ()
        for group in groups:
            for split in group.splits:
                values = sorted(float(line[key]) for line in group.of_split(split)
                                if line['scored'] and key in line)
                if values and any(values):
                    points.append(plots.Dot(
                        _label(group, len(results.domains)), split, _quantile(values, 0.5),
                        _quantile(values, 0.25), _quantile(values, 0.75), len(values)))
        yield _plot(plots.dots(f'cost-{key}', points, title, xlabel, share=False, log=True),
                    f'{title}: median and middle half of the episodes (not an interval of the '
                    f'median).')


def _quantile(values: Sequence[float], q: float) -> float:
    """Of sorted values, linear between them."""
    place = q * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def _plot(svg: str, caption: str) -> Mapping[str, str]:
    return {'svg': svg, 'caption': caption}


def _id(text: str) -> str:
    return ''.join(c if c.isalnum() and c.isascii() else '-' for c in text) or 'x'


def _range(numbers: Iterable[int]) -> str:
    found = sorted(set(numbers)) or [0]
    return str(found[0]) if len(found) == 1 else f'{found[0]} to {found[-1]}'


# ---------------------------------------------------------------------------------------- head


def _title(results: Results) -> str:
    names = dict.fromkeys(run.folder.parent.name if len(results.runs) > 1 else run.name
                          for run in results.runs)
    return f'Report: {", ".join(itertools.islice(names, 3))}' + (' …' if len(names) > 3 else '')


def _subtitle(results: Results) -> str:
    methods = dict.fromkeys(run.method for run in results.runs)
    models = dict.fromkeys(run.model for run in results.runs if run.model)
    parts = [', '.join(results.domains), f'{len(methods)} methods' if len(methods) > 3 else
             ', '.join(methods), f'{len(models)} models' if len(models) > 3 else
             ', '.join(models), f'splits {", ".join(results.splits)}']
    return ' · '.join(filter(None, parts))


def _tiles(results: Results) -> list[tuple[str, str]]:
    lines = [line for run in results.runs for line in run.lines]
    scored = [line for line in lines if line['scored']]
    solved = sum(bool(line['solved']) for line in scored)
    planned = [run.planned for run in results.runs]
    of = f' of {sum(p for p in planned if p):,}' if all(planned) and sum(
        p for p in planned if p) > len(lines) else ''
    tiles = [(f'{len(lines):,}{of}', 'episodes'), (f'{len(results.runs):,}', 'runs'),
             (f'{solved:,}', f'solved of {len(scored):,} scored')]
    if len(lines) > len(scored):
        tiles.append((f'{len(lines) - len(scored):,}', 'not scored'))
    questions = sum(completed(line)['questions'] for line in lines)
    tiles += [(f'{questions:,}', 'questions')] if questions else []
    if are_known(lines, 'seconds'):
        tiles.append((seconds(sum(completed(line)['seconds'] for line in lines)), 'in episodes'))
    return tiles


def _provenance(results: Results) -> Iterator[tuple[str, str]]:
    sessions = [session for run in results.runs for session in run.sessions]

    def said(name: str) -> str:
        return ', '.join(dict.fromkeys(str(s[name]) for s in sessions if s.get(name)))
    commits = dict.fromkeys(commit for run in results.runs for commit in run.commits)
    short = [commit[:12] + ('+' if commit.endswith('+') else '') for commit in commits]
    yield 'commits', (', '.join(short) or 'not known') + (
        ' (+: with files that were changed)' if any(c.endswith('+') for c in short) else '')
    started = sorted(str(s['started']) for s in sessions if s.get('started'))
    if started:
        yield 'begun', started[0] + (f' to {started[-1]}' if started[-1] != started[0] else '')
    for name, label in (('sightplan', 'sightplan'), ('python', 'Python'), ('platform', 'platform'),
                        ('renderer', 'renderer')):
        if said(name):
            yield label, said(name)
    seeds = dict.fromkeys(str(run.seed) for run in results.runs if run.seed is not None)
    yield 'seeds', ', '.join(seeds) or 'not known'
    packages: dict[str, dict[str, None]] = {}
    for session in sessions:
        found = session.get('packages')
        for name, version in (found.items() if isinstance(found, dict) else ()):
            packages.setdefault(str(name), {})[str(version)] = None
    if packages:
        yield 'packages', ', '.join(f'{name} {"/".join(versions)}'
                                    for name, versions in sorted(packages.items()))
    models = dict.fromkeys(str(line['model']) for run in results.runs for line in run.lines
                           if line.get('model'))
    if models:
        yield 'exact models', '; '.join(models)
