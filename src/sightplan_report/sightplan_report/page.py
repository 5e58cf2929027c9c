"""The report: one self-contained HTML file about runs and sweeps.

``build`` takes what ``results.gather`` read and the tables made from it, draws the figures,
chooses episodes, makes their pages, and puts all into ``html/report.html.jinja``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.measures import aggregate, known_sum
from sightplan.records.evidence import failure_picture
from sightplan.records.failure_picture import for_page
from sightplan.records.recorded import RecordedEpisode, read_episodes
from sightplan.runs.suite_rules import SAMPLES
from sightplan_report import episode_page, episode_reader, sample_pages
from sightplan_report.chosen import Chosen, all_lines
from sightplan_report.deciding_answers import decide
from sightplan_report.episode_view import EpisodeView
from sightplan_report.figures import Figure, figures, group_labels, of_suites
from sightplan_report.grouping import grouped
from sightplan_report.html import NONE, jpeg_uri, render, seconds, words
from sightplan_report.labels import disambiguated
from sightplan_report.lines import EPISODE, SAMPLE
from sightplan_report.results import Results, cause_of, split_of, total
from sightplan_report.sample_pages import SamplePages
from sightplan_report.table_cells import Shown, shown
from sightplan_report.tables import Table
from sightplan_report.tables.common import group_cells

FAILED, ALL, NO_PAGES = 'failed', 'all', 'none'
MOST, MOST_SAMPLES, MOST_BYTES, MOST_LISTED = 2, 10, 15_000_000, 3000
FEW = 20
"""Largest number of episodes, or of samples, at which each gets a page of its own."""
_MOST_GALLERY, _MOST_REASONS = 12, 12


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the report's content.

    Attributes:
        title: of the page.
        episodes: which episodes and samples get a page of their own: ``failed`` (failures of each
            cause, and some that are right, of each method; all where there are no more than
            ``FEW``), ``all``, or ``none``.
        most: failed episodes of each cause and method that get a page.
        most_samples: wrong samples of each cause, method and split that get a page.
        most_bytes: all pages of episodes together, and all of samples, about; what does not fit
            is left out.
    """

    title: str = ''
    episodes: str = FAILED
    most: int = MOST
    most_samples: int = MOST_SAMPLES
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class Page:
    """The report and its counts.

    Attributes:
        html: the file.
        episodes: number of episodes that have a page of their own.
        left_out: number of those that were chosen, but did not fit.
        samples: number of samples that have a page of their own.
        samples_left_out: number of those that were chosen, but did not fit.
    """

    html: str
    episodes: int
    left_out: int
    samples: int = 0
    samples_left_out: int = 0


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
        progress: is told how many pages are made, and how many there will be.
        read: reads the episodes of a bag.
    """
    settings = settings or Settings()
    whole, results = results, results.of_kind(EPISODE)
    samples = _samples(whole.of_kind(SAMPLE), settings, progress)
    chosen = choose(results, settings.episodes, settings.most)
    episodes = _episodes(results, chosen, settings, progress, read)
    listed, filters, unlisted = _listed(results, episodes.keys)
    html = render(
        'report.html.jinja', script=True, title=settings.title or _title(whole),
        subtitle=_subtitle(whole), warnings=whole.warnings, tiles=_tiles(whole),
        sections=list(_sections(whole, results, tables,
                                _gallery(results, chosen, episodes.keys), samples)),
        episodes=episodes, count=sum(len(run.lines) for run in results.runs), listed=listed,
        filters=filters, unlisted=unlisted, samples=samples)
    return Page(html, len(episodes.pages), episodes.left_out, len(samples.pages),
                samples.left_out)


def _samples(results: Results, settings: Settings, progress: Callable[[int, int], None],
             ) -> SamplePages:
    """The pages of samples, and their list."""
    chosen: list[Chosen] = []
    if settings.episodes != NO_PAGES:
        chosen = sample_pages.choose(results, *(
            (len(all_lines(results)),) * 2 if settings.episodes == ALL else
            (settings.most_samples, FEW)))
    return sample_pages.make_pages(results, chosen, settings.most_bytes, MOST_LISTED, progress)


# ------------------------------------------------------------------------------------ episodes


def choose(results: Results, which: str = FAILED, most: int = MOST) -> list[Chosen]:
    """The episodes that get a page, the most telling first.

    Args:
        results: what was read.
        which: ``failed``, ``all`` or ``none``, see ``Settings``.
        most: failures of each cause and method.
    """
    every = all_lines(results)
    if which in (ALL, NO_PAGES):
        return every if which == ALL else []
    telling = [one for one in every if cause_of(one.line) or measures.solved(one.line)]
    shelves = grouped(telling, lambda one: (one.group.domain, one.group.method,
                                            cause_of(one.line) or ''))
    chosen = [Chosen(one.group, one.run, one.line, rank)
              for (_, _, cause), shelf in shelves.items()
              for rank, one in enumerate(_spread(shelf)[:most if cause else 1])]
    chosen.sort(key=lambda one: one.rank)
    if len(every) <= FEW:
        keys = {one.key for one in chosen}
        chosen += [one for one in every if one.key not in keys]
    return chosen


def _spread(shelf: Sequence[Chosen]) -> list[Chosen]:
    """Order episodes: with a bag first, then with a picture; runs and splits take turns."""
    def worth(one: Chosen) -> int:
        return -2 * bool(one.line.get('bag')) - bool((one.line['failure'] or {}).get('picture'))
    places = grouped(sorted(shelf, key=worth),
                     lambda one: (str(one.run.folder), split_of(one.line)))
    turns = itertools.zip_longest(*places.values())
    return sorted((one for turn in turns for one in turn if one is not None), key=worth)


def _view(one: Chosen, key: str, read: Callable[[Any], Iterable[RecordedEpisode]],
          ) -> EpisodeView:
    recorded, why_not = episode_reader.read_recorded(
        one.line, one.run.folder, one.run.imported, read)
    return decide(episode_reader.view(
        one.line, recorded, folder=one.run.folder, key=key, model=one.group.model,
        notes=(why_not,) if why_not else ()), None, '"sightplan explain" does that')


def _episodes(results: Results, chosen: Sequence[Chosen], settings: Settings,
              progress: Callable[[int, int], None],
              read: Callable[[Any], Iterable[RecordedEpisode]]) -> _Episodes:
    """Make the pages in the order of their worth, until they are too large together."""
    found = _Episodes()
    made: dict[tuple[str, str], dict[str, str]] = {}
    size = 0
    for number, one in enumerate(chosen):
        progress(number, len(chosen))
        key = f'e{number}'
        seen = _view(one, key, read)
        if found.strip is None or (seen.solved and not found.strip['episode'].solved):
            found.strip = _strip(seen) or found.strip
        html = episode_page.section(seen)
        size += len(html)
        if made and size > settings.most_bytes:
            found.left_out = len(chosen) - number
            break
        made[one.key] = {'key': key, 'html': html}
    progress(len(chosen), len(chosen))
    # One turns from page to page in the order of the list.
    found.pages = [made[one.key] for one in all_lines(results) if one.key in made]
    found.keys = {key: page['key'] for key, page in made.items()}
    return found


def _strip(episode: EpisodeView) -> dict[str, Any] | None:
    """All steps of an episode, each with its first picture, if any; None without pictures."""
    frames = []
    for step in episode.steps:
        pictures = [entry.picture for entry in (*step.entries, *step.checks)
                    if entry.picture is not None and entry.picture.uri]
        frames.append({'uri': pictures[0].uri if pictures else '', 'step': step})
    return {'episode': episode, 'frames': frames} if any(
        frame['uri'] for frame in frames) else None


def _listed(results: Results, keys: Mapping[tuple[str, str], str],
            ) -> tuple[list[dict[str, str]], list[tuple[str, list[str]]], int]:
    """Rows of the list of episodes, its filters, and the number of rows left out."""
    words_of = disambiguated([group_cells(group) for group in results.groups])
    beside = {id(group): ', '.join(text for key, text in own.items()
                                   if text and key not in ('method', 'model'))
              for group, own in zip(results.groups, words_of, strict=True)}
    rows = []
    for one in all_lines(results):
        line, cause = one.line, cause_of(one.line)
        solved, scored = measures.solved(line), measures.scored(line)
        rows.append({
            'key': keys.get(one.key, ''), 'name': line['id'], 'method': one.group.method,
            'model': one.group.model or NONE, 'variant': beside[id(one.group)],
            'split': split_of(line), 'mark': '✓' if solved else '✗' if scored else '·',
            'result': 'solved' if solved else words(cause or line['stop']),
            'actions': line['steps'],
            'questions': NONE if line['questions'] is None else line['questions'],
            'seconds': NONE if line['seconds'] is None else f'{line["seconds"]:.1f}'})
    most = rows
    if len(rows) > MOST_LISTED:
        most = sorted(rows, key=lambda row: (not row['key'], row['result'] == 'solved'))
        most = most[:MOST_LISTED]
    values = {name: sorted({row[name] for row in most})
              for name in ('method', 'model', 'split', 'result')}
    return (most, [(name, found) for name, found in values.items() if len(found) > 1],
            len(rows) - len(most))


def _gallery(results: Results, chosen: Sequence[Chosen], keys: Mapping[tuple[str, str], str],
             ) -> list[dict[str, str]]:
    """One picture for each cause that has one."""
    found: dict[str, dict[str, str]] = {}
    names = dict(zip(map(id, results.groups), group_labels(results), strict=True))
    for one in chosen:
        cause, failure = cause_of(one.line), one.line['failure']
        if cause is None or one.key not in keys or cause in found:
            continue
        if len(found) == _MOST_GALLERY:
            break
        data = failure_picture(one.run.folder, one.line)
        if data is not None:
            found[cause] = {
                'key': keys[one.key], 'uri': jpeg_uri(for_page(data)), 'cause': cause,
                'text': failure['evidence']['text'],
                'label': f'{names[id(one.group)]}, {one.line["id"]}'}
    return list(found.values())


# ------------------------------------------------------------------------------------ sections


_PLACES: Mapping[str, tuple[str, str]] = {
    # key of a section: title, what its tables are called (the beginning of their names)
    'errors': ('What is not scored', ''),
    'success': ('Success', 'table1 success figure5 chains_of_thought'),
    'models': ('Models', 'model ranking'),
    'predicates': ('Accuracy of each predicate', 'predicates'),
    'compounding': ('How errors add up', 'compounding'),
    'failures': ('Why episodes fail', 'failures cut_off stops'),
    'causes': ('What went wrong with samples', 'causes'),
    'calibration': ('Calibration', 'calibration'),
    'cost': ('Questions and time', 'cost'),
    'paired': ('Paired comparisons', 'paired'),
    'samples': ('Samples', 'sample_scores wrong_samples'),
    'suites': ('What suites add', 'suite_'),
    'measures': ('All measures', 'measures'),
    'episodes': ('Episodes', ''),
    'each_sample': ('Samples, one by one', ''),
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


@dataclass(frozen=True, slots=True)
class _Section:
    key: str
    title: str
    figures: Sequence[Figure]
    tables: Sequence[Shown]
    gallery: Sequence[Mapping[str, str]]
    facts: Sequence[tuple[str, str]]


def _sections(whole: Results, results: Results, tables: Sequence[Table],
              gallery: Sequence[Mapping[str, str]], samples: SamplePages) -> Iterator[_Section]:
    """The sections; ``results`` are the runs of episodes among ``whole``."""
    shelves = grouped((table for table in tables if _has_content(table)),
                      lambda table: place_of(table.name))
    drawn = grouped(itertools.chain(figures(results, tables), of_suites(whole)),
                    lambda pair: pair[0])
    galleries = {'failures': gallery, 'causes': samples.gallery[:_MOST_GALLERY]}
    facts = {'errors': list(_error_reasons(whole)), 'provenance': list(_provenance(whole))}
    for key, (title, _) in _PLACES.items():
        found = _Section(key, title, [figure for _, figure in drawn.get(key, ())],
                         list(map(shown, shelves.get(key, ()))),
                         galleries.get(key, ()), facts.get(key, ()))
        if (found.figures or found.tables or found.facts or key == 'notes'
                or (key == 'episodes' and results.runs)
                or (key == 'each_sample' and samples.count)):
            yield found


def _has_content(table: Table) -> bool:
    """Whether any column of results has a value; none has if no episode was scored."""
    results = [column.key for column in table.columns
               if column.kind not in ('text', 'bool', 'count')
               and column.key != 'failure_probability' and 'paper' not in column.key]
    return not results or place_of(table.name) == 'provenance' or any(
        row.get(key) is not None for row in table.rows for key in results)


def _error_reasons(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the reasons why episodes or samples are not scored, the most frequent first."""
    reasons = Counter((str(line['error'] or line.get('message') or words(line.get('stop', ''))),
                       'sample' if line.get('kind') == SAMPLE else 'episode')
                      for run in results.runs for line in run.lines if not measures.scored(line))
    found = reasons.most_common()
    for (reason, what), count in found[:_MOST_REASONS]:
        yield f'{count:,} {what}{"s" if count != 1 else ""}', reason
    if len(found) > _MOST_REASONS:
        left = sum(count for _, count in found[_MOST_REASONS:])
        yield f'{left:,} more', f'{len(found) - _MOST_REASONS} other reasons'


def _title(results: Results) -> str:
    names = dict.fromkeys(run.folder.parent.name if len(results.runs) > 1 else run.name
                          for run in results.runs)
    return f'Report: {", ".join(itertools.islice(names, 3))}' + (' …' if len(names) > 3 else '')


def _subtitle(results: Results) -> str:
    def few(names: Mapping[str, None], what: str) -> str:
        return f'{len(names)} {what}' if len(names) > 3 else ', '.join(names)

    domains = dict.fromkeys(name for run in results.runs for name in run.domain.split(', '))
    methods = dict.fromkeys(run.method for run in results.runs)
    models = dict.fromkeys(
        f'{run.model} (simulated)' if run.backend.startswith('noisy_') else run.model
        for run in results.runs if run.model)
    return ' · '.join(filter(None, (', '.join(domains), few(methods, 'methods'),
                                    few(models, 'models'),
                                    f'splits {", ".join(results.splits)}')))


def _tiles(results: Results) -> list[tuple[str, str]]:
    lines = [line for run in results.runs for line in run.lines]
    scored = [line for line in lines if measures.scored(line)]
    attempts = [solved for line in lines if (solved := measures.solved(line)) is not None]
    planned = total([*(run.planned for run in results.runs), results.waiting])
    of = f' of {planned:,}' if planned is not None and planned > len(lines) else ''
    kinds = {EPISODE: 'episodes', SAMPLE: 'samples'}
    tiles = [(f'{len(lines):,}{of}', ' and '.join(
        name for kind, name in kinds.items() if results.of_kind(kind).runs)),
        (f'{len(results.runs):,}', 'runs')]
    if attempts:
        tiles.append((f'{sum(attempts):,}', f'solved of {len(attempts):,} scored'))
    suites = {run.suite.name: run.suite for run in results.of_kind(SAMPLE).runs
              if run.suite is not None}
    for name, suite in suites.items():
        groups = [group for group in results.of_kind(SAMPLE).groups
                  if group.suite is not None and group.suite.name == name]
        if len(groups) != 1 or len(groups[0].summary.get('outputs') or ()) > 1:
            continue  # numbers of several methods, variants or forms of answers are no one number
        primary = suite.primary(SAMPLES)
        found = aggregate([line for line in scored if line['suite'] == name
                           and line['kind'] == SAMPLE], primary)
        if found.value is not None:
            tiles.append((f'{found.value:.3f}', f'{primary.name.replace("_", " ")} in {name}'))
    if len(lines) > len(scored):
        tiles.append((f'{len(lines) - len(scored):,}', 'not scored'))
    if questions := known_sum(line.get('questions', 0) for line in lines):
        tiles.append((f'{questions:,}', 'questions'))
    took = known_sum(line['seconds'] for line in lines)
    return tiles if took is None else [*tiles, (seconds(took), 'in all')]


def _provenance(results: Results) -> Iterator[tuple[str, str]]:
    sessions = [session for run in results.runs for session in run.sessions]
    commits = dict.fromkeys(commit for run in results.runs for commit in run.commits)
    short = [commit[:12] + ('+' if commit.endswith('+') else '') for commit in commits]
    yield 'commits', (', '.join(short) or 'not known') + (
        ' (+: with files that were changed)' if any(c.endswith('+') for c in short) else '')
    started = sorted(session['started'] for session in sessions if session.get('started'))
    if started:
        yield 'begun', ' to '.join(dict.fromkeys((started[0], started[-1])))
    for name, label in (('sightplan', 'sightplan'), ('python', 'Python'), ('platform', 'platform'),
                        ('renderer', 'renderer')):
        if said := dict.fromkeys(str(s[name]) for s in sessions if s.get(name)):
            yield label, ', '.join(said)
    seeds = dict.fromkeys(str(run.seed) for run in results.runs if run.seed is not None)
    yield 'seeds', ', '.join(seeds) or 'not known'
    packages = grouped(((name, str(version)) for session in sessions for name, version in
                        session.get('packages', {}).items()), lambda pair: pair[0])
    if packages:
        yield 'packages', ', '.join(f'{name} {"/".join(dict.fromkeys(v for _, v in found))}'
                                    for name, found in sorted(packages.items()))
    models = dict.fromkeys(line['model'] for run in results.runs for line in run.lines
                           if line['model'])
    if models:
        yield 'exact models', '; '.join(models)
