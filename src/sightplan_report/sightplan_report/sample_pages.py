"""The samples of a report: which of them have a page, those pages, and the list of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sightplan.runs.suite_rules import SAMPLES
from sightplan_report import sample_page
from sightplan_report.chosen import Chosen, all_lines
from sightplan_report.grouping import grouped
from sightplan_report.html import NONE, fraction, words
from sightplan_report.labels import disambiguated
from sightplan_report.results import Results, split_of
from sightplan_report.sample_page import NOT_SCORED, RIGHT, SamplesOfRuns, result_of, spread
from sightplan_report.tables.common import group_cells

RIGHT_ONES = 2
"""Most right samples of each method that get a page where not all do."""


@dataclass
class SamplePages:
    """The samples of a report.

    Attributes:
        pages: key and HTML of each page, wrong samples first.
        gallery: picture of one sample of each cause, with its key.
        listed: rows of the list, wrong samples first.
        filters: of the list: name and values.
        primary: name of the primary measure, where all suites have the same one.
        count: number of all samples.
        left_out: number of samples that were chosen, but did not fit.
        unlisted: number of samples that are not in the list.
    """

    pages: list[dict[str, str]] = field(default_factory=list)
    gallery: list[dict[str, str]] = field(default_factory=list)
    listed: list[dict[str, str]] = field(default_factory=list)
    filters: list[tuple[str, list[str]]] = field(default_factory=list)
    primary: str = 'score'
    count: int = 0
    left_out: int = 0
    unlisted: int = 0


def choose(results: Results, most: int, few: int) -> list[Chosen]:
    """Samples that get a page: wrong ones first, and of these the causes take turns.

    Args:
        results: of samples.
        most: wrong samples of each cause, method and split, and those that are not scored.
        few: largest number of samples at which all get a page.
    """
    every = all_lines(results)
    shelves = grouped(every, lambda one: (
        one.line['suite'], id(one.group), split_of(one.line), result_of(one.line)))
    wrong = [shelf[:most] for (*_, result), shelf in shelves.items() if result != RIGHT]
    right = [shelf[:RIGHT_ONES] for (*_, result), shelf in shelves.items() if result == RIGHT]
    chosen = [*spread(wrong), *spread(right)]
    if len(every) <= few:
        keys = {one.key for one in chosen}
        chosen += [one for one in every if one.key not in keys]
    return chosen


def make_pages(results: Results, chosen: Sequence[Chosen], most_bytes: int, most_listed: int,
               progress: Callable[[int, int], None]) -> SamplePages:
    """Make the pages of samples in the order of their worth, until they are too large together.

    Args:
        results: of samples.
        chosen: what gets a page; the first one always does.
        most_bytes: of all pages.
        most_listed: largest number of rows of the list.
        progress: is told how many pages are made, and how many there will be.
    """
    found, samples = SamplePages(), SamplesOfRuns()
    keys: dict[tuple[str, str], str] = {}
    shown: dict[str, None] = {}
    size = 0
    for number, one in enumerate(chosen):
        progress(number, len(chosen))
        key = f's{number}'
        seen = sample_page.view(one.line, one.run.folder, one.run.info, one.run.suite, samples,
                                key, one.group.model)
        html = sample_page.section(seen)
        size += len(html)
        if keys and size > most_bytes:
            found.left_out = len(chosen) - number
            break
        keys[one.key] = key
        found.pages.append({'key': key, 'html': html, 'what': 'sample'})
        cause = one.line['cause']
        if cause and seen.uri and cause not in shown:
            shown[cause] = None
            found.gallery.append({'key': key, 'uri': seen.uri, 'cause': cause,
                                  'text': seen.asked[:200],
                                  'label': sample_page.subtitle_of(
                                      one.line, one.run.folder, one.group.model)
                                  + f', {one.line["id"]}'})
    progress(len(chosen), len(chosen))
    _list(found, results, keys, most_listed)
    return found


def _list(found: SamplePages, results: Results, keys: Mapping[tuple[str, str], str],
          most_listed: int) -> None:
    words_of = disambiguated([group_cells(group) for group in results.groups])
    beside = {id(group): ', '.join(text for key, text in own.items()
                                   if text and key not in ('method', 'model'))
              for group, own in zip(results.groups, words_of, strict=True)}
    primaries = {group.suite.primary(SAMPLES).name for group in results.groups
                 if group.suite is not None}
    if len(primaries) == 1:
        found.primary = words(next(iter(primaries)))
    order = {NOT_SCORED: 1, RIGHT: 2}
    every = sorted(all_lines(results), key=lambda one: order.get(result_of(one.line), 0))
    found.count = len(every)
    rows = [_row(one, keys.get(one.key, ''), beside[id(one.group)]) for one in every]
    if len(rows) > most_listed:
        rows.sort(key=lambda row: not row['key'])
        rows, found.unlisted = rows[:most_listed], len(rows) - most_listed
        rows.sort(key=lambda row: order.get(row['result'], 0))
    found.listed = rows
    values = {name: sorted({row[name] for row in rows})
              for name in ('result', 'suite', 'split', 'method', 'model')}
    found.filters = [(name, known) for name, known in values.items() if len(known) > 1]


def _row(one: Chosen, key: str, variant: str) -> dict[str, str]:
    line, result = one.line, result_of(one.line)
    suite = one.run.suite
    score = None if suite is None else line['measures'].get(suite.primary(SAMPLES).name)
    return {'key': key, 'name': line['id'], 'suite': line['suite'], 'method': one.group.method,
            'model': one.group.model or NONE, 'variant': variant, 'split': split_of(line),
            'mark': {RIGHT: '✓', NOT_SCORED: '·'}.get(result, '✗'), 'result': words(result),
            'score': fraction(score),
            'seconds': NONE if line['seconds'] is None else f'{line["seconds"]:.2f}'}
