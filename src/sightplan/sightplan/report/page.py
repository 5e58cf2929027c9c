"""The report: one HTML file about runs and sweeps that needs nothing else.

``build`` takes what ``results.gather`` read and the tables made from it, draws the plots, chooses
episodes, makes their pages, and puts all into ``html/report.html.jinja``.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sightplan.metrics import RULES, measures, wilson
from sightplan.metrics.calibration import Bin, Reliability
from sightplan.metrics.measures import aggregate
from sightplan.model import InputError
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.report import episode_page, plots
from sightplan.report.html import NONE, jpeg_uri, render, seconds, words
from sightplan.report.labels import KEYS, disambiguated, labels
from sightplan.report.lines import EPISODE, SAMPLE
from sightplan.report.results import (
    Group,
    Line,
    Results,
    RunResults,
    cause_of,
    split_of,
    total,
)
from sightplan.report.shown import Shown, shown
from sightplan.report.tables import Table
from sightplan.report.tables.common import group_cells
from sightplan.runs import Suite

FAILED, ALL, NO_PAGES = 'failed', 'all', 'none'
MOST, MOST_BYTES, MOST_LISTED = 2, 15_000_000, 3000
FEW = 20
"""So few episodes all get a page."""
_MOST_ROWS, _MOST_GALLERY, _MOST_WARNINGS = 48, 12, 12
_MOST_PANELS = 24
_MOST_BINS = 4
_FOLDED = ('figure5', 'models', 'predicates', 'compounding', 'failures', 'stops', 'calibration',
           'paired', 'measures', 'runs')
"""Long tables, shown when they are opened."""

_ALL, _PERFECT = 'all', 'perfect'
_PAIR = ('compared', 'failure_probability', *(
    f'{side}_{key}' for side in ('first', 'second')
    for key in ('method', 'model', 'backend', 'variant')))
"""What a pair of groups is told by in the table of pairs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is shown.

    Attributes:
        title: of the page.
        episodes: which episodes get a page of their own: ``failed`` (failures of each cause, and
            one that was solved, of each method; all where there are no more than ``FEW``),
            ``all``, or ``none``.
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
        return str(self.run.folder), str(self.line['id'])


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
    strip: dict[str, Any] | None = None


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
    whole, results = results, results.of_kind(EPISODE)
    chosen = choose(results, settings.episodes, settings.most)
    episodes = _episodes(results, chosen, settings, progress, read)
    sections = [section for section in _sections(whole, results, tables, chosen, episodes)
                if section is not None]
    listed, filters, unlisted = _listed(results, episodes.keys)
    html = render(
        'report.html.jinja', script=True, title=settings.title or _title(whole),
        subtitle=_subtitle(whole), warnings=whole.warnings,
        most_warnings=_MOST_WARNINGS, tiles=_tiles(whole), sections=sections, folded=_FOLDED,
        strip=episodes.strip,
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
    found = ([c for c in every if c.line['id'] == episode]
             or [c for c in every if episode in c.line['id']])
    if len(found) != 1:
        names = [f'{c.line["id"]} of {c.run.name}' for c in found or every]
        more = f' and {len(names) - 5} more' if len(names) > 5 else ''
        remedy = 'give more of it, or one run only' if found else 'there are'
        if found and len({c.line['id'] for c in found}) == 1:
            one = found[0]
            key, value = (('method', one.run.method) if len({c.run.method for c in found}) == len(
                found) else ('run', one.run.name))
            remedy = f'choose a run, for example with --only {key}={value}'
        raise InputError(
            f'--episode {episode}: {"no" if not found else len(found)} episode'
            f'{"s have" if len(found) > 1 else " has"} this in the id; '
            f'{remedy}: '
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
        cause = cause_of(one.line)
        if cause is not None or measures.solved(one.line):
            shelves.setdefault((one.group.domain, one.group.method, cause or ''), []).append(one)
    chosen = []
    for (_, _, cause), shelf in shelves.items():
        chosen += [Chosen(one.group, one.run, one.line, rank) for rank, one in
                   enumerate(_spread(shelf)[:most if cause else 1])]
    chosen.sort(key=lambda one: one.rank)
    if len(every) <= FEW:
        keys = {one.key for one in chosen}
        chosen += [one for one in every if one.key not in keys]
    return chosen


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
    recorded, warning = episode_page.read_recorded(one.line, one.run.folder, read)
    return episode_page.view(one.line, one.run.folder, key, recorded,
                             model=one.group.model, warning=warning)


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
        seen = _view(one, key, read)
        if found.strip is None or (seen.solved and not found.strip['solved']):
            found.strip = _strip(seen) or found.strip
        html = episode_page.section(seen)
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


def _strip(episode: episode_page.EpisodeView) -> dict[str, Any] | None:
    """The first picture of each step of an episode, with the action; None without pictures."""
    frames = []
    for step in episode.steps:
        pictures = [block.picture for block in step.blocks
                    if block.picture is not None and block.picture.uri]
        if pictures:
            frames.append({'uri': pictures[0].uri, 'number': step.number, 'title': step.title})
    if not frames:
        return None
    return {'key': episode.key, 'title': episode.title, 'subtitle': episode.subtitle,
            'solved': bool(episode.solved), 'result': episode.result,
            'goal': [literal for literal, _ in episode.goal], 'frames': frames}


def _listed(results: Results, keys: Mapping[tuple[str, str], str],
            ) -> tuple[list[dict[str, str]], list[tuple[str, str, list[str]]], int]:
    """Rows of the list of episodes, its filters, and how many rows were left out."""
    rows = []
    beside = {id(group): ', '.join(word for key, word in words.items() if word and key not in (
        'method', 'model')) for group, words in zip(results.groups, disambiguated(
            [group_cells(group) for group in results.groups]), strict=True)}
    for one in _all_lines(results):
        line = one.line
        cause = cause_of(line)
        solved = measures.scored(line) and measures.solved(line)
        rows.append({
            'key': keys.get(one.key, ''), 'name': str(line['id']),
            'method': one.group.method, 'model': one.group.model or NONE,
            'variant': beside[id(one.group)],
            'split': split_of(line),
            'mark': '✓' if solved else '✗' if measures.scored(line) else '·',
            'result': 'solved' if solved else words(cause) if cause else words(line['stop']),
            'actions': str(one.line['steps']),
            'questions': str(one.line['questions']),
            'seconds': f'{line["seconds"]:.1f}'})
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


def _gallery(results: Results, chosen: Sequence[Chosen], keys: Mapping[tuple[str, str], str],
             ) -> list[dict[str, str]]:
    """A picture for each cause, as far as there are some."""
    found: dict[str, dict[str, str]] = {}
    names = _group_labels(results)
    for one in chosen:
        line = one.line
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
                'label': f'{names[id(one.group)]}, {line["id"]}'}
    return list(found.values())


# ------------------------------------------------------------------------------------ sections


_PLACES: Mapping[str, tuple[str, str]] = {
    # key of a section: title, what its tables are called (the beginning of their names)
    'errors': ('Episodes that are not scored', ''),
    'success': ('Success', 'success figure5'),
    'models': ('Models', 'model'),
    'predicates': ('Accuracy of each predicate', 'predicates'),
    'compounding': ('How errors add up', 'compounding'),
    'failures': ('Why episodes fail', 'failures stops'),
    'calibration': ('Calibration', 'calibration'),
    'cost': ('Questions and time', 'cost'),
    'paired': ('Paired comparisons', 'paired'),
    'suites': ('What suites add', 'suite_'),
    'measures': ('All measures', 'measures'),
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


_OF_EPISODES = ('success', 'compounding', 'failures', 'cost', 'episodes')


def _sections(whole: Results, results: Results, tables: Sequence[Table],
              chosen: Sequence[Chosen], episodes: _Episodes) -> Iterator[_Section]:
    """The sections; ``results`` are the runs of episodes among ``whole``."""
    shelves: dict[str, list[Table]] = {key: [] for key in _PLACES}
    for table in tables:
        if table.rows and _says_something(table):
            shelves[place_of(table.name)].append(table)
    for key, (title, _) in _PLACES.items():
        if key in _OF_EPISODES and not results.runs:
            continue
        drawn: list[Mapping[str, str]] = []
        texts: list[str] = []
        gallery: list[dict[str, str]] = []
        facts: list[tuple[str, str]] = []
        if key == 'errors':
            facts = list(_error_reasons(whole))
        elif key == 'success':
            drawn = list(_success_plots(results, tables))
        elif key == 'compounding':
            drawn = list(_compounding_plots(shelves[key]))
        elif key == 'failures':
            drawn = list(_failure_plots(results))
            gallery = _gallery(results, chosen, episodes.keys)
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
            facts = list(_provenance(whole))
        elif key == 'notes':
            texts = list(_NOTES)
        drawn = [plot for plot in drawn if plot['svg']]
        ready = [shown(table) for table in shelves[key]]
        if key == 'failures' and not ready:
            continue
        if drawn or texts or gallery or facts or ready:
            yield _Section(key, title, texts, drawn, ready, gallery, facts)


def _says_something(table: Table) -> bool:
    """Whether any column of results has a value: not so where nothing was scored."""
    results = [column.key for column in table.columns
               if column.kind not in ('text', 'bool', 'count')
               and column.key != 'failure_probability' and 'paper' not in column.key]
    return not results or place_of(table.name) == 'provenance' or any(
        row.get(key) is not None for row in table.rows for key in results)


def _error_reasons(results: Results) -> Iterator[tuple[str, str]]:
    """Why episodes are not scored, the most frequent reason first."""
    reasons = Counter(str(line.get('error') or line.get('message') or words(line.get('stop', '')))
                      for run in results.runs for line in run.lines if not measures.scored(line))
    found = reasons.most_common()
    for reason, count in found[:_MOST_WARNINGS]:
        yield f'{count:,} episode{"s" if count != 1 else ""}', reason
    if len(found) > _MOST_WARNINGS:
        left = sum(count for _, count in found[_MOST_WARNINGS:])
        yield f'{left:,} more', f'{len(found) - _MOST_WARNINGS} other reasons'


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


def _group_labels(results: Results, domain: bool = False) -> dict[int, str]:
    """What groups are called; with the domain where there are several, if that is wanted."""
    names = labels([group_cells(group) for group in results.groups])
    several = domain and len(results.domains) > 1
    return {id(group): f'{group.domain}: {name}' if several else name
            for group, name in zip(results.groups, names, strict=True)}


def _success_plots(results: Results, tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    """Success by domain: of each method over its models, then of each model."""
    for domain in results.domains:
        means = [row for row in _rows_of(tables, 'figure5')
                 if row['domain'] == domain and row['success'] is not None]
        names, parts = labels(means, ('method',)), _parts_of_models(results, means)
        methods = [plots.Dot(
            name + parts.get((row['backend'], row['names']), ''), row['split'], row['success'],
            *wilson(round(row['success'] * row['success_n']), row['success_n']),
            row['success_n'], row['paper']) for name, row in zip(names, means, strict=True)]
        own = [row for row in _rows_of(tables, 'models')
               if row['domain'] == domain and row['success'] is not None]
        models = [plots.Dot(name, row['split'], row['success'], row['success_low'],
                            row['success_high'], row['success_n'], row['paper_success'])
                  for name, row in zip(labels(own), own, strict=True)]
        several = any((row['models'] or 0) > 1 for row in means)
        for key, points, what in (
                ('success', methods, 'method and split'
                 + (', mean over models' if several else '')),
                ('success-models', models if several else [], 'method, model and split')):
            if len({point.row for point in points}) > _MOST_ROWS:
                continue
            hollow = ('; hollow: published, of the same models'
                      if any(p.published is not None for p in points) else '')
            some = (' Rows with "of" in brackets are means over some of the models only: compare '
                    'them model by model, not with means over others.'
                    if parts and key == 'success' else '')
            yield _plot(
                plots.dots(f'{key}-{_id(domain)}', points, f'Success in {domain} by {what}',
                           'share of episodes that are solved', order=results.splits),
                f'{domain}: share of solved episodes by {what}, with 95 % Wilson '
                f'intervals of the episodes{hollow}; n = {_range(p.n for p in points)} for each '
                f'point.{some}')


def _parts_of_models(results: Results, means: Sequence[Mapping[str, Any]],
                     ) -> dict[tuple[Any, Any], str]:
    """What rows whose means are not over all models of their backend say of that.

    Models without any error are rows of their own, and no part of others.
    """
    found = {}
    for row in means:
        alike = [other for other in means if other['backend'] == row['backend']
                 and other['names'] and other['names'] != _PERFECT]
        if row not in alike or len({other['names'] for other in alike}) == 1:
            continue
        all_models = {group.model for group in results.groups if group.domain == row['domain']
                      and group.backend == (row['backend'] or '') and group.model != _PERFECT}
        counts = [other['models'] for other in alike if other['names'] == row['names']]
        whole = max(len(all_models), *counts)
        if min(counts) < whole:
            found[row['backend'], row['names']] = (
                f' ({_range(counts)} of {whole} models)')
    return found


def _compounding_plots(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    rows = [row for row in _rows_of(tables, 'compounding')
            if row['what'] == 'episodes' and row['success'] is not None and row['answers']]
    for domain in dict.fromkeys(row['domain'] for row in rows):
        own = [row for row in rows if row['domain'] == domain]
        methods = labels(own, ('method',), [
            key for key in KEYS if key not in ('model', 'backend')])
        models = labels(own, ('model',), ('model', 'backend'))
        parts: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for panel, model, row in zip(methods, models, own, strict=True):
            parts.setdefault((panel, model or row['backend'] or ''), []).append(row)
        drawn = []
        ranges: dict[str, list[float]] = {}
        for panel, row in zip(methods, own, strict=True):
            ranges.setdefault(panel, []).append(row['answers'])
        for (panel, model), found in parts.items():
            points = tuple(_joined(found))
            accuracy = found[0]['accuracy']
            drawn.append(plots.Curve(model, points, tuple(
                (x, accuracy ** x) for x in _between(
                    min(ranges[panel]), max(ranges[panel]))
                if accuracy is not None), panel))
        yield _plot(
            plots.curves(f'compounding-{_id(domain)}', drawn[:_MOST_ROWS],
                         f'Success in {domain} by the answers that an episode needs',
                         'answers that an episode needs', 'share of episodes solved',
                         theory='if errors were independent'),
            f'{domain}: share of solved episodes, by the number of answers they need, with 95 % '
            'Wilson intervals; some rows of the table are one point here. Models are drawn a '
            'little beside each other. Thin lines: accuracy of a single answer, '
            'which the table has, to the power of the answers needed.')


def _joined(rows: Sequence[Mapping[str, Any]],
            ) -> Iterator[tuple[float, float, float, float, int]]:
    """Neighbouring rows put together until few are left: answers, share, low, high, n."""
    total = sum(row['success_n'] for row in rows)
    answers, solved, n = 0.0, 0, 0
    for number, row in enumerate(rows):
        answers += row['answers'] * row['success_n']
        solved += row['solved']
        n += row['success_n']
        left = sum(later['success_n'] for later in rows[number + 1:])
        if not left or (n >= total / _MOST_BINS <= 2 * left):
            yield (answers / n, solved / n, *wilson(solved, n), n)
            answers, solved, n = 0.0, 0, 0


def _between(low: float, high: float, count: int = 60) -> list[float]:
    """Numbers from low to high; a power of one of them is nearly straight between two."""
    return [low + (high - low) * number / (count - 1) for number in range(count)]


def _paired_plots(tables: Sequence[Table]) -> Iterator[Mapping[str, str]]:
    rows = _rows_of(tables, 'paired')
    for domain in dict.fromkeys(row['domain'] for row in rows):
        pairs: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
        for row in rows:
            if row['domain'] == domain:
                pairs.setdefault(tuple(row[key] for key in row if key in _PAIR), {})[
                    row['split']] = row
        whole = [row for found in pairs.values() for row in
                 ([found[_ALL]] if _ALL in found else found.values())]
        splits = list(dict.fromkeys(row['split'] for row in whole))
        numbers = sorted({row['n'] for row in whole})
        points: list[plots.Dot] = []
        none = sum(row['difference_low'] is None for row in whole)
        flat = sum(row['difference_low'] is not None
                   and row['difference_low'] == row['difference_high'] for row in whole)
        for label, row in zip(_pairs(whole), whole, strict=True):
            low, high = row['difference_low'], row['difference_high']
            notes = [f'n {row["n"]}' if len(numbers) > 1 else '',
                     row['split'] if len(splits) > 1 else '',
                     '' if max(flat, none) == len(whole) else
                     'no interval' if low is None else 'no width' if low == high else '']
            told = ', '.join(filter(None, notes))
            points.append(plots.Dot(
                f'{label} ({told})' if told else label, '', row['difference'],
                row['difference'] if low is None else low,
                row['difference'] if high is None else high, row['n']))
        left_out = len(points) - _MOST_ROWS
        over = ('over all splits' if splits == [_ALL] else f'split {splits[0]}'
                if len(splits) == 1 else 'over all splits of a pair or the one that is named')
        yield _plot(
            plots.dots(f'paired-{_id(domain)}', _apart(points[:_MOST_ROWS]),
                       f'Differences of success in {domain}', 'difference of success, first – '
                       'second', share=False, zero=True),
            f'{domain}: difference of success on the same episodes, {over}, with 95 % bootstrap '
            f'intervals over problems; n = {_range(numbers)} pairs of episodes for each. p-values '
            'are in the table.'
            + (f' {_some(flat, whole, "no width")}: all problems have the same difference, so '
               'that a bootstrap cannot say how uncertain it is.' if flat else '')
            + (f' {_some(none, whole, "no interval")}: all pairs are of one problem.'
               if none else '')
            + (f' {left_out} more comparisons are in the table.' if left_out > 0 else ''))


def _some(count: int, rows: Sequence[object], what: str) -> str:
    return (f'Intervals here have {what}' if what == 'no width' else 'There is no interval'
            ) if count == len(rows) else f'"{what}" ({count} of {len(rows)})'


def _apart(points: Sequence[plots.Dot]) -> list[plots.Dot]:
    """Points of which no two stand at the same place."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for point in points:
        seen[point.row, point.series, point.panel] += 1
        number = seen[point.row, point.series, point.panel]
        found.append(point if number == 1 else replace(point, row=f'{point.row}, no. {number}'))
    return found


def _pairs(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Comparisons in words, each of its own: what both have in common stands before it."""
    short = [_pair(row, False) for row in rows]
    return [_pair(row, True) if short.count(label) > 1 else label
            for label, row in zip(short, rows, strict=True)]


def _pair(row: Mapping[str, Any], whole: bool) -> str:
    """A comparison in words; not whole: without a backend and shared facts that say little."""
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
               and (whole or not text.startswith('told: '))]
    own = []
    for values, others, texts, more in ((first, second, *variants),
                                        (second, first, *reversed(variants))):
        parts = [a for a, b in zip(values, others, strict=True) if a and a != b]
        own.append(' '.join([*parts, *(t for t in texts if t and t not in more)]) or '-')
    if whole and row['failure_probability']:
        shared.append(f'{100 * row["failure_probability"]:g}% of actions fail')
    return (f'{", ".join(shared)}: ' if shared else '') + ' – '.join(own)


def _failure_plots(results: Results) -> Iterator[Mapping[str, str]]:
    rows = []
    names = _group_labels(results, domain=True)
    order = [rule.cause.value for rule in RULES]
    for group in results.groups:
        counts = group.summary['failures']['causes']
        rows.append((names[id(group)], counts))
    if len(rows) > _MOST_ROWS:
        rows = []
        merged: dict[str, dict[str, int]] = {}
        methods = labels([group_cells(group) for group in results.groups], ('method',), [
            key for key in KEYS if key not in ('model', 'backend')])
        for group, name in zip(results.groups, methods, strict=True):
            row = merged.setdefault(f'{group.domain}: {name}', {})
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
        own = [row for row in errors if row['source'] == source]
        for label, row in zip(labels(own), own, strict=True):
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
        names = _group_labels(results, domain=True)
        groups = results.groups if len(results.groups) <= _MOST_ROWS else ()
        for group in groups:
            for split in group.splits:
                values = sorted(float(line[key]) for line in group.by_split[split]
                                if measures.scored(line))
                if values and any(values):
                    points.append(plots.Dot(
                        names[id(group)], split, _quantile(values, 0.5),
                        _quantile(values, 0.25), _quantile(values, 0.75), len(values)))
        yield _plot(plots.dots(f'cost-{key}', points, title, xlabel, share=False, log=True,
                               order=results.splits),
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
    domains = dict.fromkeys(name for run in results.runs for name in run.domain.split(', '))
    parts = [', '.join(domains), f'{len(methods)} methods' if len(methods) > 3 else
             ', '.join(methods), f'{len(models)} models' if len(models) > 3 else
             ', '.join(models), f'splits {", ".join(results.splits)}']
    return ' · '.join(filter(None, parts))


def _tiles(results: Results) -> list[tuple[str, str]]:
    lines = [line for run in results.runs for line in run.lines]
    scored = [line for line in lines if measures.scored(line)]
    solved = sum(bool(measures.solved(line)) for line in scored)
    planned = total([*(run.planned for run in results.runs), results.waiting])
    of = f' of {planned:,}' if planned is not None and planned > len(lines) else ''
    several = 'samples' if results.runs and not results.of_kind(EPISODE).runs else (
        'episodes and samples' if results.of_kind(SAMPLE).runs else 'episodes')
    tiles = [(f'{len(lines):,}{of}', several), (f'{len(results.runs):,}', 'runs')]
    if attempts := sum(measures.solved(line) is not None for line in lines):
        tiles.append((f'{solved:,}', f'solved of {attempts:,} scored'))
    tiles += [(f'{found.value:.3f}', f'{measure.name.replace("_", " ")} in {suite.name}')
              for suite in _suites_of_samples(results) for measure in [suite.primary]
              if (found := aggregate([line for line in scored if line['suite'] == suite.name],
                                     measure)).value is not None]
    if len(lines) > len(scored):
        tiles.append((f'{len(lines) - len(scored):,}', 'not scored'))
    questions = sum(line.get('questions', 0) for line in lines)
    tiles += [(f'{questions:,}', 'questions')] if questions else []
    tiles.append((seconds(sum(line['seconds'] for line in lines)), 'in all'))
    return tiles


def _suites_of_samples(results: Results) -> list[Suite]:
    """The suites of the runs of samples, each once."""
    found = {run.suite.name: run.suite for run in results.of_kind(SAMPLE).runs
             if run.suite is not None}
    return list(found.values())


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
